/* The roofs above an op: which peak and which bandwidth of a profile bound it, and the
 * seconds that follow. */
#include "timing/internal.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *bound_name(enum bound b)
{
    switch (b) {
    case BOUND_MEMORY:
        return "memory";
    case BOUND_COMPUTE:
        return "compute";
    case BOUND_LAUNCH:
        return "launch";
    case BOUND_LINK:
        return "link";
    case BOUND_COUNT:
        break;
    }
    return "?";
}

double attainable_flop_s(double ai, double peak_flop_s, double bytes_s)
{
    return fmin(peak_flop_s, ai * bytes_s);
}

/* ---- peaks -------------------------------------------------------------------------- */

static int math_bits(enum math m)
{
    switch (m) {
    case MATH_FP64:
        return 64;
    case MATH_FP32:
        return 32;
    case MATH_TF32:
        return 19;
    case MATH_FP16:
    case MATH_BF16:
    case MATH_INT16:
        return 16;
    case MATH_FP8:
    case MATH_INT8:
        return 8;
    case MATH_FP4:
    case MATH_INT4:
        return 4;
    case MATH_COUNT:
        break;
    }
    return 0;
}

/* Threads of the options; default: all. */
int threads_or_all(const struct predict_options *o)
{
    return o->n_threads > 0 ? o->n_threads : INT_MAX;
}

/* A datasheet's CPU peak is for all cores: n threads attain n/cores of it. */
static double core_share(const struct hwprofile *h, const struct predict_options *o)
{
    if (h->kind != HW_CPU || o->n_threads <= 0 || o->n_threads >= h->n_cores ||
        h->n_cores <= 0)
        return 1;
    return (double)o->n_threads / h->n_cores;
}

static bool peak_measured(struct peak *p, const struct hwprofile *h, enum math m,
                          const struct predict_options *o)
{
    const struct ceiling *c = hwprofile_peak(h, m, threads_or_all(o));
    if (!c || !(c->value > 0))
        return false;
    p->flop_s = c->value;
    p->math = m;
    snprintf(p->source, sizeof p->source, "measured: %s, %d thread%s", c->name,
             c->n_threads, c->n_threads == 1 ? "" : "s");
    return true;
}

static bool peak_spec(struct peak *p, const struct hwprofile *h, enum math m,
                      const struct predict_options *o)
{
    const double share = core_share(h, o);
    if (!(h->peak[m].value > 0))
        return false;
    p->flop_s = h->peak[m].value * share;
    p->math = m;
    if (share < 1)
        snprintf(p->source, sizeof p->source, "spec x %d/%d cores: %s", o->n_threads,
                 h->n_cores, h->peak[m].source);
    else
        snprintf(p->source, sizeof p->source, "spec: %s", h->peak[m].source);
    return true;
}

/* A CPU's datasheet peak is clock x width x cores at a clock that it may not hold: measured peaks come first there, the datasheet
 * elsewhere. */
static bool peak_own(struct peak *p, const struct hwprofile *h, enum math m,
                     const struct predict_options *o)
{
    if (h->kind == HW_CPU)
        return peak_measured(p, h, m, o) || peak_spec(p, h, m, o);
    return peak_spec(p, h, m, o) || peak_measured(p, h, m, o);
}

/* Distance of a stand-in: floats by how far their width is, of equals the wider; then integers, which hold no float. */
static int stand_in_rank(enum math want, enum math other)
{
    const int w = math_bits(want), b = math_bits(other);
    return (b >= w ? 2 * (b - w) : 2 * (w - b) + 1) + (math_integer(other) ? 1000 : 0);
}

/* Units of 8 and 4 bits exist or do not: without them operands are converted to 16 bits or more. FP16's do not hold BF16's range, and
 * 16-bit integers hold no float. */
static bool may_stand_in(enum math want, enum math other)
{
    if ((want == MATH_BF16 && other == MATH_FP16) || other == MATH_INT16)
        return false;
    return math_bits(want) > 8 || math_bits(other) > 8;
}

/*
 * No peak of this type: derive one. Wider operands hold narrower ones, so their peak is attained as it is; a narrower type's peak is scaled
 * by the ratio of widths (units of one area multiply twice as fast at half the width). methods.md (26)
 */
static bool peak_derived(struct peak *p, const struct hwprofile *h, enum math want,
                         const struct predict_options *o)
{
    struct peak best = { .flop_s = 0 }, q = best;
    int best_rank = INT_MAX;
    for (int i = 0; i < MATH_COUNT; i++) {
        const enum math m = (enum math)i;
        if (m == want || !may_stand_in(want, m) || stand_in_rank(want, m) >= best_rank || !peak_own(&q, h, m, o))
            continue;
        best_rank = stand_in_rank(want, m);
        const double scale = fmin(1, (double)math_bits(m) / math_bits(want));
        best.flop_s = q.flop_s * scale;
        char x[24] = "";
        if (scale < 1)
            snprintf(x, sizeof x, " x %.3g", scale);
        snprintf(best.source, sizeof best.source, "derived: %s peak%s (%.140s)",
                 math_name(m), x, q.source);
    }
    if (best_rank == INT_MAX)
        return false;
    best.derived = true;
    best.math = want;
    *p = best;
    return true;
}

static int init_peaks(struct roofs *r, const struct hwprofile *h,
                      const struct predict_options *o, struct error *err)
{
    bool any = false;
    for (int i = 0; i < MATH_COUNT; i++) {
        const enum math m = (enum math)i;
        r->peak[m] = (struct peak){ .flop_s = NAN, .math = m };
        any |= peak_own(&r->peak[m], h, m, o) || peak_derived(&r->peak[m], h, m, o);
    }
    if (any)
        return 0;
    return error_set(err, ERROR_INPUT,
                     "cannot predict: profile %s has no peak FLOP/s of any type, neither from a datasheet nor measured", h->id);
}

/* ---- bandwidth ---------------------------------------------------------------------- */

static bool bandwidth_measured(struct roofs *r, const struct hwprofile *h,
                               const struct predict_options *o)
{
    const struct ceiling *c = hwprofile_bandwidth(h, "DRAM", threads_or_all(o));
    if (!c || !(c->value > 0))
        return false;
    r->bytes_s = c->value;
    snprintf(r->bytes_source, sizeof r->bytes_source, "measured: %s, %d thread%s", c->name,
             c->n_threads, c->n_threads == 1 ? "" : "s");
    return true;
}

/*
 * Bytes a second of one core: lines in flight over memory latency (Little's law). Cores with registers of 32 bytes and more have some 48
 * lines in flight beyond their own caches, those with 16 bytes (16 FLOP a cycle) half of that; memory latency is some 100 ns. methods.md
 * (42)
 */
static double core_bytes_s(const struct hwprofile *h)
{
    const double line_bytes = 64, latency_s = 100e-9, most = 48, wide_flop = 32;
    const double cycles = h->n_cores * h->clock_hz.value, flop = cycles > 0 ? h->peak[MATH_FP32].value / cycles : wide_flop;
    return line_bytes * most * (flop > 0 ? fmin(1, flop / wide_flop) : 1) / latency_s;
}

static bool bandwidth_spec(struct roofs *r, const struct hwprofile *h, const struct predict_options *o)
{
    if (!(h->mem_bw.value > 0))
        return false;
    r->bytes_s = h->mem_bw.value;
    snprintf(r->bytes_source, sizeof r->bytes_source, "spec: %s", h->mem_bw.source);
    const double limit_bytes_s = h->kind == HW_CPU && o->n_threads > 0 ? o->n_threads * core_bytes_s(h) : INFINITY;
    if (limit_bytes_s < r->bytes_s) {
        r->bytes_s = limit_bytes_s;
        snprintf(r->bytes_source, sizeof r->bytes_source, "limit of %d core%s at %.3g GB/s each", o->n_threads,
                 o->n_threads == 1 ? "" : "s", limit_bytes_s / o->n_threads / 1e9);
    }
    return true;
}

/*
 * Barriers after each op: the counter's line moves from core to core, so seconds grow with the threads. Launch cost (35) is that of 16; one
 * thread has no barrier but starts ops like the others. methods.md (42)
 */
static double barrier_scale_of(const struct hwprofile *h, const struct predict_options *o)
{
    const double usual = 16, least = 0.25;
    const int n = o->n_threads > 0 ? o->n_threads : h->n_cores;
    return h->kind == HW_CPU && n > 0 ? fmax(least, n / usual) : 1;
}

static int init_bandwidth(struct roofs *r, const struct hwprofile *h,
                          const struct predict_options *o, struct error *err)
{
    const bool found = h->kind == HW_CPU
                           ? bandwidth_measured(r, h, o) || bandwidth_spec(r, h, o)
                           : bandwidth_spec(r, h, o) || bandwidth_measured(r, h, o);
    if (!found)
        return error_set(
            err, ERROR_INPUT,
            "cannot predict: profile %s has no memory bandwidth, neither from a "
            "datasheet nor measured",
            h->id);
    return 0;
}

/*
 * Level of activations. A bound includes only unavoidable traffic, so with --roof they stay on chip; else they do when an op's operands fit
 * the last-level cache. methods.md (26)
 */
static void init_cache(struct roofs *r, const struct hwprofile *h,
                       const struct predict_options *o)
{
    r->last = (struct last_cache){ .bytes = INFINITY };
    r->cache_bytes_s = INFINITY;
    if (o->roof)
        return;
    char name[16];
    const int level = last_cache_init(&r->last, h, threads_or_all(o));
    if (o->last)
        r->last = *o->last;
    snprintf(name, sizeof name, "L%d", level);
    const struct ceiling *c =
        level > 0 ? hwprofile_bandwidth(h, name, threads_or_all(o)) : NULL;
    if (c && c->value > 0)
        r->cache_bytes_s = c->value;
}

static double fraction_or_1(const struct hw_value *v)
{
    return v->value > 0 && v->value <= 1 ? v->value : 1;
}

/* The fastest link between the devices with most of the traffic. */
static int init_link(struct roofs *r, const struct hwprofile *h, const struct predict_options *o, struct error *err)
{
    r->link_bytes_s = r->link_latency_s = NAN;
    if (layout_check_link(&o->layout, h, err) != 0)
        return -1;
    const struct hw_link *l = hwprofile_link(h, (int)layout_joined(&o->layout));
    if (!l)
        return 0;
    r->link_bytes_s = l->bytes_s.value;
    r->link_latency_s = l->latency_s.value >= 0 && !o->roof ? l->latency_s.value : 0;
    r->link_ring = strcmp(l->topology, "ring") == 0 || strcmp(l->topology, "mesh") == 0;
    snprintf(r->link_source, sizeof r->link_source, "%.30s, spec: %.150s", l->name, l->bytes_s.source);
    return 0;
}

static double known_or(const struct hw_value *v, double otherwise)
{
    return v->value > 0 ? v->value : otherwise;
}

/*
 * Products of a step scan rows of weights: registers limit a multiprocessor to half of its threads, each with two wide loads of 16 bytes in
 * flight. Latency of loaded memory is 0.8 us. (38)
 */
static const double load_bytes = 2 * 16, resident = 0.5, loaded_s = 0.8e-6;

/* Typical NVIDIA GPU: 128 FP32 lanes a multiprocessor, 1536 threads (2048 in data centers), 1.7 GHz, a cache of tens of megabytes.
 * (doc/notes/gpu-kernels.md) */
static void init_units(struct gpu_units *u, const struct hwprofile *h)
{
    const double lanes = 128, clock_hz = known_or(&h->clock_hz, 1.7e9), peak = h->peak[MATH_FP32].value;
    *u = (struct gpu_units){ .clock_hz = clock_hz,
                             .n = known_or(&h->n_unit, peak > 0 ? max2(1, round(peak / (2 * lanes * clock_hz))) : 100),
                             .threads = known_or(&h->unit_threads, 1536),
                             .cache_bytes = known_or(&h->cache_bytes, 32e6) };
    if (h->n_unit.value > 0 && h->unit_threads.value > 0)
        u->flight_bytes_s = h->n_unit.value * h->unit_threads.value * resident * load_bytes / loaded_s;
}

int roofs_init(struct roofs *r, const struct hwprofile *h, const struct predict_options *o,
               struct error *err)
{
    *r = (struct roofs){ .cpu = h->kind == HW_CPU, .roof = o->roof, .e_compute = 1, .e_bandwidth = 1 };
    r->act_elem_bytes = r->cpu ? 4 : 2;
    r->barrier_scale = barrier_scale_of(h, o);
    if (init_bandwidth(r, h, o, err) != 0 || init_peaks(r, h, o, err) != 0 || init_link(r, h, o, err) != 0)
        return -1;
    bound_init(r, h, o);
    init_cache(r, h, o);
    init_units(&r->units, h);
    if (!o->roof) {
        r->e_compute = fraction_or_1(&h->eff.compute);
        r->e_bandwidth = fraction_or_1(&h->eff.bandwidth);
        r->launch_s = h->eff.launch_s.value > 0 ? h->eff.launch_s.value : 0;
    }
    return kernel_roofs_init(&r->kernels, h, o, err);
}

void roofs_free(struct roofs *r)
{
    free(r->kernels.roof);
    r->kernels = (struct kernel_roofs){ .n = 0 };
}

/* ---- an op under the roofs ---------------------------------------------------------- */

/*
 * Products: CPUs multiply quantized weights by 8-bit activations and convert F16 to FP32; GPUs convert quantized weights to FP16 for their
 * matrix units. methods.md (26)
 */
static enum math matmul_math(bool cpu, enum dtype t)
{
    if (t == DTYPE_F32 || t == DTYPE_F64)
        return MATH_FP32;
    if (t == DTYPE_BF16)
        return MATH_BF16;
    if (t == DTYPE_F16)
        return cpu ? MATH_FP32 : MATH_FP16;
    return cpu ? MATH_INT8 : MATH_FP16;
}

/* The math of a checkpoint's scheme, else of the type. (4) */
static enum math scheme_math(const struct roofs *r, enum scheme s, enum dtype t)
{
    switch (s) {
    case SCHEME_BY_TYPE:
        return matmul_math(r->cpu, t);
    case SCHEME_FP16:
        return r->cpu ? MATH_FP32 : MATH_FP16;
    case SCHEME_BF16:
        return MATH_BF16;
    case SCHEME_FP8:
        return MATH_FP8;
    case SCHEME_INT8:
        return MATH_INT8;
    case SCHEME_FP4:
        return MATH_FP4;
    }
    return MATH_FP32;
}

int roofs_check(const struct roofs *r, const struct hwprofile *h, const struct op_classes *ops, struct error *err)
{
    for (size_t i = 0; i < ops->n; i++) {
        const enum math m = roofs_math(r, &ops->c[i].op);
        if (r->peak[m].flop_s > 0)
            continue;
        return error_set(err, ERROR_INPUT,
                         "cannot predict: profile %s has no %s peak, which the products of %s need%s", h->id, math_name(m),
                         ops->m->type_name, math_bits(m) <= 8 ? "; try -q with 16-bit math (BF16, AWQ, W8A16, ...)" : "");
    }
    return 0;
}

enum math roofs_math(const struct roofs *r, const struct op *op)
{
    if (op_is_product(op))
        return op->w ? scheme_math(r, op->w->scheme, op->w->type) : matmul_math(r->cpu, DTYPE_F32);
    if (op->kind == OP_ATTENTION && !r->cpu)
        return MATH_FP16;
    return attention_roofs_rounded(r, op) && r->peak[MATH_BF16].flop_s > 0 ? MATH_BF16 : MATH_FP32;
}

/* CPUs have a barrier after every op; GPU software fuses small ops into the adjacent products. */
static bool is_launched(const struct roofs *r, const struct op *op)
{
    return r->cpu || op_is_product(op) || op->kind == OP_ATTENTION;
}

/*
 * A collective of n devices; bytes: sent per device on a ring; hop: seconds of a step. An all-reduce has two rounds, of n - 1 steps on a
 * ring, of one step each where all devices are joined; or each device sends all to all at once: one step, more bytes. (24)
 */
double link_collective_s(const struct roofs *r, const struct step *x, double *bytes, double hop)
{
    const double n = x->n_comm, wire = *bytes / r->link_bytes_s;
    if (x->kind == OP_ALL_REDUCE) {
        const double rounds = wire + 2 * (r->link_ring ? n - 1 : 1) * hop, direct = wire * n / 2 + hop;
        if (r->link_ring || !(direct < rounds))
            return rounds;
        *bytes *= n / 2;
        return direct;
    }
    if (x->kind == OP_ALL_GATHER && r->link_ring)
        return wire + (n - 1) * hop;
    if (x->kind == OP_ALL_TO_ALL && r->link_ring) /* a quarter of an all-gather, on a ring in both directions */
        return fmax(wire, wire * n * n / (4 * (n - 1))) + n / 2 * hop;
    return wire + hop;
}

/* Spread of ln seconds of an op without a measured kernel on a machine with others: as without data. (63) */
static const double UNMEASURED_SD = 0.4;

void step_set_seconds(struct step *x, double memory_s, double compute_s, double launch_s)
{
    const double roof = max2(memory_s, compute_s);
    x->memory_s = memory_s;
    x->compute_s = compute_s;
    x->seconds = roof + launch_s;
    x->bound = launch_s > roof ? BOUND_LAUNCH : memory_s >= compute_s ? BOUND_MEMORY : BOUND_COMPUTE;
}

static void exchange(const struct roofs *r, struct step *x, double hop)
{
    step_set_seconds(x, 0, 0, 0);
    x->rounds_bytes = x->kind == OP_ALL_REDUCE ? x->cost.link_bytes : 0;
    x->seconds = x->link_s = link_collective_s(r, x, &x->cost.link_bytes, hop);
    x->bound = BOUND_LINK;
}

/* Measurements above the bound hold: the machine attains them. */
static void bound_or_measured(const struct roofs *r, struct step *x, const struct pass *p)
{
    roofs_bound(r, x);
    if (r->kernels.n == 0)
        return;
    struct step k = *x;
    if (kernel_roofs_time(r, &k, p) && k.seconds < x->seconds)
        *x = k;
}

void roofs_time(const struct roofs *r, struct step *x, const struct pass *p)
{
    x->link_s = x->sd = x->rounds_bytes = 0;
    x->kernel = NULL;
    x->alone = NULL;
    x->kernel_tok = x->kernel_bytes_s = x->llc_hit = 0;
    if (x->n_comm > 0) {
        x->math = MATH_FP32;
        exchange(r, x, r->roof ? 0 : r->link_latency_s);
        return;
    }
    x->math = roofs_math(r, &x->of->op);
    if (r->roof) {
        bound_or_measured(r, x, p);
        return;
    }
    const struct cost *k = &x->cost;
    const double memory = r->bytes_s * r->e_bandwidth, cache = k->act_bytes <= r->last.bytes ? r->cache_bytes_s * r->e_bandwidth : memory;
    step_set_seconds(x, (k->weight_bytes + k->kv_bytes) / memory + k->act_bytes / cache, k->flop / (r->peak[x->math].flop_s * r->e_compute),
                     is_launched(r, &x->of->op) ? r->launch_s : 0);
    if (r->kernels.n == 0 || !kernel_roofs_time(r, x, p))
        x->sd = r->kernel_sd > 0 ? UNMEASURED_SD : 0;
}
