#include "timing/timing.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)ERROR_PARTS == (int)TIME_PARAMETER_COUNT, "a part of errors a constant");

static const struct {
    const char *name, *unit;
} parameters[TIME_PARAMETER_COUNT] = {
    [TIME_BANDWIDTH] = { "bandwidth", "fraction" }, [TIME_COMPUTE] = { "compute", "fraction" },
    [TIME_VECTOR] = { "vector", "factor" },         [TIME_KV] = { "kv", "factor" },
    [TIME_ATTENTION] = { "attention", "fraction" }, [TIME_SMALL] = { "small", "factor" },
    [TIME_LAUNCH] = { "launch", "s" },              [TIME_STEP] = { "step", "s" },
    [TIME_EXPERT] = { "expert", "factor" },         [TIME_OVERLAP] = { "sharpness", "factor" },
    [TIME_LINK] = { "link", "fraction" },           [TIME_HOP] = { "hop", "factor" },
    [TIME_KERNEL] = { "kernel", "s" },              [TIME_CACHE_LATENCY] = { "trip", "s" },
    [TIME_MEMORY_LATENCY] = { "miss", "factor" },             [TIME_ISSUE] = { "issue", "factor" },
    [TIME_CACHE] = { "cache", "factor" },           [TIME_REQUEST] = { "request", "factor" },
    [TIME_LAUNCH_EXPERT] = { "launch_expert", "factor" }, [TIME_LAUNCH_SMALL] = { "launch_small", "factor" },
    [TIME_SEQUENCE] = { "sequence", "s" },          [TIME_QUEUE] = { "queue", "prompt" },
    [TIME_HEADS] = { "heads", "op/element" },       [TIME_SCAN] = { "walk", "s" },
    [TIME_STAGE_BOUNDARY] = { "border", "s" },
};

const char *time_parameter_name(enum time_parameter s)
{
    return parameters[s].name;
}

const char *time_parameter_unit(enum time_parameter s)
{
    return parameters[s].unit;
}

int time_parameter_find(const char *name)
{
    for (int i = 0; i < TIME_PARAMETER_COUNT; i++)
        if (strcmp(parameters[i].name, name) == 0)
            return i;
    return -1;
}

/* Default hop between devices on one board: NCCL's, some microseconds. */
static const double default_hop_s = 3e-6;
/* A server's collective, whose kernels write to all devices at once. (52) */
static const double one_step_s = 8e-6;
/* Default operations to unpack a weight: a load, a shift, a mask, a conversion and a multiply-add or two. */
static const double default_ops_weight = 6;

/* ---- work of a pass --------------------------------------------------------------- */

static enum time_kind kind_of(enum op_kind k)
{
    if (k == OP_EXPERT_MATMUL)
        return TIME_EXPERT_PRODUCT;
    if (k == OP_MATMUL || k == OP_HEAD_MATMUL || k == OP_KV_EXPAND)
        return TIME_PRODUCT;
    return k == OP_ATTENTION ? TIME_ATTEND : TIME_OTHER;
}

void time_features_init(struct time_features *f)
{
    f->n_term = 0;
    f->n_pass = f->collective_s = f->wire_s = f->n_hop = f->hop_s = f->n_seq = f->n_queue = f->n_ahead = f->host_s = f->pipelined = f->n_kernel = 0;
    f->n_stage_boundary = f->n_tok = f->most_tok = 0;
    f->sequential = 1;
    f->one_step = f->prompt = f->decode = f->long_context = f->small_batch = f->batched = f->request = f->step = false;
    f->before = NULL;
}

/* Key of a product's class; experts' products have another one. */
static uint64_t product_key(const struct op_class *c)
{
    const struct op *op = &c->op;
    const uint64_t experts = op->kind == OP_EXPERT_MATMUL ? UINT64_C(1) << 62 : 0;
    return experts | time_key(op->rows, op->cols, op->w ? cost_weight_bits(op->w) : 0);
}

static bool is_first_of_key(const struct op_classes *l, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (op_is_product(&l->c[k].op) && product_key(&l->c[k]) == product_key(&l->c[i]))
            return false;
    return true;
}

int time_check(const struct op_classes *l, bool request, struct error *err)
{
    enum { OTHERS = 3 }; /* attention, attention by a separate kernel, small ops; staged bytes of all passes */
    const int most = request ? (TIME_MAX_TERMS - 1) / 2 - OTHERS : TIME_MAX_TERMS - 1 - OTHERS;
    int n = 0;
    for (size_t i = 0; i < l->n; i++)
        n += op_is_product(&l->c[i].op) && is_first_of_key(l, i);
    if (n <= most)
        return 0;
    return error_set(err, ERROR_INPUT,
                     "cannot predict: %s has products of %d shapes and types; with constants of software %s has at most %d (--roof: any number)",
                     l->m->name, n, request ? "a request" : "a phase", most);
}

static struct time_term *term_of(struct time_features *f, enum time_kind k, uint64_t key)
{
    for (int i = 0; i < f->n_term; i++)
        if (f->term[i].kind == k && f->term[i].key == key)
            return &f->term[i];
    struct time_term *x = &f->term[f->n_term];
    *x = (struct time_term){ .kind = k, .key = key };
    if (f->n_term == TIME_MAX_TERMS)
        f->host_s = NAN;
    else
        f->n_term++;
    return x;
}

/* ---- small kernels ----------------------------------------------------------------------- */

static const double warp_threads = 32, warps_a_cycle = 4; /* of a multiprocessor, since Volta */
static const double most_blocks = 32;                     /* resident on one */
/* Usable part of the cache: its two halves hold copies of data that both read. */
static const double cache_share = 0.7;

struct time_grid time_grid_of(const struct time_blocks *b, const struct gpu_units *u)
{
    const double threads = warp_threads * ceil(max2(b->threads, 1) / warp_threads);
    const double resident = max2(1, fmin(most_blocks, floor(u->threads / threads)));
    const double busiest = ceil(b->n / u->n), waves = floor(busiest / resident);
    const double fill = b->footprint_bytes / (cache_share * u->cache_bytes);
    return (struct time_grid){ .waves = waves, .last = busiest - waves * resident, .resident = resident, .trips = b->trips,
                               .issue_s = b->instructions / (warps_a_cycle * u->clock_hz),
                               .in_cache = 1 / (1 + fill * fill * fill) };
}

/* Memory seconds of steps over those at its bandwidth, with latency-bound bandwidth. (38) */
static double latency_factor(const struct time_features *f, const struct roofs *r)
{
    const double wanted = f->decode && r->units.flight_bytes_s > 0 ? r->bytes_s / r->units.flight_bytes_s : 0;
    return pow(1 + pow(wanted, 8), 1.0 / 8);
}

static void add_alone(struct time_term *to, const struct time_kernel *k, double count)
{
    to->count += count;
    to->alone.name = k->name;
    to->alone.seconds += count * k->seconds;
    to->alone.start_s += count * k->start_s;
    to->alone.memory_s += count * max2(k->memory_s, k->scan_s);
    to->alone.compute_s += count * k->compute_s;
    to->memory_s = to->alone.memory_s;
    to->compute_s = to->alone.compute_s;
}

static const uint64_t STEPS_KEY = UINT64_C(1) << 63;

void time_add(struct time_features *f, const struct roofs *r, const struct step *x, const struct refinement *how)
{
    if (x->n_comm > 0) {
        const double n = x->n_comm;
        if (how->collective_s > 0) {
            f->collective_s += x->count * how->collective_s;
            return;
        }
        f->wire_s += x->count * x->cost.link_bytes / r->link_bytes_s;
        f->n_stage_boundary += how->stage_boundary ? x->count : 0;
        f->n_hop += how->stage_boundary ? 0 : x->count * (f->one_step ? 1 : x->kind == OP_ALL_REDUCE ? 2 * (n - 1) : n - 1);
        f->hop_s = f->one_step ? one_step_s : r->link_latency_s > 0 ? r->link_latency_s : default_hop_s;
        return;
    }
    const enum time_kind k = how->blocks ? TIME_SMALL_KERNEL : how->alone.seconds > 0 ? TIME_KERNEL_ALONE : kind_of(x->kind);
    /* Steps have separate terms: the compute of a request's prompt does not hide their bytes. */
    const uint64_t steps = f->decode || f->step ? STEPS_KEY : 0;
    struct time_term *to = term_of(f, k, (k == TIME_ATTEND || k == TIME_OTHER || k == TIME_KERNEL_ALONE ? 0 : how->key) ^ steps);
    if (k == TIME_KERNEL_ALONE) {
        add_alone(to, &how->alone, x->count);
        return;
    }
    if (how->blocks)
        to->grid = time_grid_of(how->blocks, &r->units);
    const double vector = r->peak[MATH_FP32].flop_s / 2;
    to->count += x->count;
    to->launched += x->count * (how->launches > 0 ? how->launches : 1) * (r->barrier_scale > 0 ? r->barrier_scale : 1);
    const double own = how->flop_s > 0 ? how->flop_s : r->peak[x->math].flop_s;
    to->compute_s += how->heads > 0 ? 0 : x->count * x->cost.flop / (how->of_fp32 > 0 ? how->of_fp32 * r->peak[MATH_FP32].flop_s : own);
    to->heads_s += x->count * how->heads / vector;
    to->scanned += x->count * how->scanned;
    to->memory_s += x->count * cost_bytes(&x->cost) / r->bytes_s * latency_factor(f, r);
    if ((k == TIME_PRODUCT || k == TIME_EXPERT_PRODUCT) && x->bits > 0)
        to->vector_s += x->count * (x->cost.weight_bytes * 8 / x->bits) * (how->ops_weight > 0 ? how->ops_weight : default_ops_weight) / vector;
    f->host_s += x->count * how->host_s;
    f->n_kernel += x->count * how->kernels;
    if (how->staged_bytes > 0) {
        struct time_term *y = term_of(f, TIME_STAGED, 0);
        y->count += x->count;
        y->launched += x->count * (r->barrier_scale > 0 ? r->barrier_scale : 1);
        y->memory_s += x->count * how->staged_bytes / r->bytes_s;
    }
}

void time_passes(struct time_features *f, double n, double n_tok)
{
    f->n_pass += n;
    f->n_tok += n * n_tok;
    f->most_tok = max2(f->most_tok, n_tok);
}

double time_whole_passes(const struct time_features *f)
{
    return f->most_tok > 0 ? f->n_tok / f->most_tok : 0;
}

/* By all of d devices. */
static double overlap(double n, double d, double copies, double n_kernel)
{
    double c = copies > 0 ? fmin(copies, d) : d;
    if (n_kernel > 0) /* a queue filled by one pass blocks the host before the next device, and the next pass */
        c = fmin(c, 1 + floor((TIME_LAUNCHED_AHEAD - 1) / (n_kernel / d)));
    const double rounds = floor(n / c), last = n - c * rounds; /* as long as its first pass */
    return (c < d ? d * (rounds + fmin(last, 1)) + fmin(c, n) - 1 : n + d - 1) / (n * d);
}

double time_overlap(double n, double d, double copies, double n_kernel)
{
    double least = 1;
    for (double e = 1; e <= d; e++) /* rounding to whole passes must not make more devices slower */
        least = fmin(least, overlap(n, e, copies, n_kernel));
    return least;
}

uint64_t time_key(double rows, double cols, double bits)
{
    return (uint64_t)rows * UINT64_C(1000003) ^ (uint64_t)cols * UINT64_C(8191) ^ (uint64_t)(bits * 16);
}

/* ---- seconds ------------------------------------------------------------------------------ */

/* Smooth cap at 1: identity up to one half. */
static double fraction(double ln)
{
    return exp(ln) / pow(1 + exp(16 * ln), 1.0 / 16);
}

/* (a^p + b^p + c^p)^(1/p), with the largest taken out. (35) */
static double smooth_max(double a, double b, double c, double p)
{
    const double top = max2(a, max2(b, c));
    if (!(top > 0))
        return 0;
    return top * pow(pow(a / top, p) + pow(b / top, p) + pow(c / top, p), 1 / p);
}

/* A wave of blocks has sequential loads, and the instructions of all its blocks. (doc/notes/gpu-kernels.md) */
static double wave_s(const struct time_grid *g, double blocks, double cache_latency_s, double miss, double issue)
{
    const double fixed = 2; /* latencies of any block: load of its operand, store */
    return blocks > 0 ? (fixed + g->trips * (g->in_cache + (1 - g->in_cache) * miss)) * cache_latency_s + blocks * g->issue_s * issue : 0;
}

static double small_kernel_s(const struct time_term *x, const double *parameter, double memory_s)
{
    const struct time_grid *g = &x->grid;
    const double cache_latency_s = exp(parameter[TIME_CACHE_LATENCY]), miss = exp(parameter[TIME_MEMORY_LATENCY]), issue = exp(parameter[TIME_ISSUE]);
    const double blocks = g->waves * wave_s(g, g->resident, cache_latency_s, miss, issue) + wave_s(g, g->last, cache_latency_s, miss, issue);
    const double bytes = memory_s * (g->in_cache * exp(parameter[TIME_CACHE]) + 1 - g->in_cache);
    return x->count * (exp(parameter[TIME_KERNEL]) + smooth_max(blocks, bytes / x->count, 0, 4));
}

double time_ln_seconds(const void *features, const double *parameter)
{
    const struct time_features *f = features;
    const double p = 1 + exp(parameter[TIME_OVERLAP]), e_b = fraction(parameter[TIME_BANDWIDTH]);
    const double e_c = exp(parameter[TIME_COMPUTE]), e_a = exp(parameter[TIME_ATTENTION]), vector = exp(parameter[TIME_VECTOR]);
    const double launch = exp(parameter[TIME_LAUNCH]), kv = exp(parameter[TIME_KV]), small = exp(parameter[TIME_SMALL]);
    const double launch_expert = launch * exp(parameter[TIME_LAUNCH_EXPERT]), launch_small = launch * exp(parameter[TIME_LAUNCH_SMALL]);
    const double heads = exp(parameter[TIME_HEADS]), scan = exp(parameter[TIME_SCAN]);
    double s = f->n_pass * exp(parameter[TIME_STEP]) + f->n_seq * exp(parameter[TIME_SEQUENCE]) + f->host_s;
    for (int i = 0; i < f->n_term; i++) {
        const struct time_term *x = &f->term[i];
        const double memory = x->memory_s / e_b;
        double roof = 0, start = launch;
        switch (x->kind) {
        case TIME_PRODUCT:
        case TIME_EXPERT_PRODUCT:
            roof = smooth_max(x->compute_s / e_c, memory, x->vector_s * vector, p);
            if (x->kind == TIME_EXPERT_PRODUCT) {
                roof *= exp(parameter[TIME_EXPERT]);
                start = launch_expert;
            }
            break;
        case TIME_ATTEND:
            roof = smooth_max(x->compute_s / e_a, memory * kv, x->heads_s * heads, p) + x->scanned * scan;
            break;
        case TIME_OTHER:
            roof = memory * small;
            start = launch_small;
            break;
        case TIME_SMALL_KERNEL:
            s += small_kernel_s(x, parameter, memory * small);
            continue;
        case TIME_STAGED:
            roof = memory;
            break;
        case TIME_KERNEL_ALONE:
            s += x->alone.seconds;
            continue;
        }
        s += roof + x->launched * start;
    }
    /* Optimally chunked and pipelined: square roots add up. (47) */
    const double wire = f->wire_s / fraction(parameter[TIME_LINK]), hops = f->n_hop * f->hop_s * exp(parameter[TIME_HOP]);
    s += f->collective_s + wire + hops + (f->one_step ? 0 : 2 * sqrt(wire * hops)) + f->n_stage_boundary * exp(parameter[TIME_STAGE_BOUNDARY]);
    s *= max2(f->sequential, 1) * (f->pipelined > 0 ? f->pipelined : 1) *
         (1 + f->n_queue * exp(parameter[TIME_QUEUE]) + f->n_ahead);
    if (f->before)
        s += exp(time_ln_seconds(f->before, parameter) - parameter[TIME_REQUEST]);
    return log(s) + parameter[TIME_REQUEST];
}

/* ---- uncertainty ------------------------------------------------------------------ */

double time_parameter_value(enum time_parameter s, double ln)
{
    return s == TIME_BANDWIDTH || s == TIME_LINK ? fraction(ln) : exp(ln);
}

/* d ln fraction() / d ln */
static double fraction_slope(double ln)
{
    return 1 / (1 + exp(16 * ln));
}

/* smooth_max() of three sides, and the effect of a relative change of each: fractions; *by_p: its logarithm's by p. */
struct roof {
    double seconds, a, b, c, by_p;
};

static struct roof smooth_roof(double a, double b, double c, double p)
{
    const double top = max2(a, max2(b, c));
    if (!(top > 0))
        return (struct roof){ .seconds = 0 };
    const double x[3] = { a / top, b / top, c / top };
    double w[3], sum = 0, logs = 0;
    for (int i = 0; i < 3; i++) {
        const double ln = x[i] > 0 ? log(x[i]) : 0;
        w[i] = x[i] > 0 ? exp(p * ln) : 0;
        sum += w[i];
        logs += w[i] * ln;
    }
    const double ln_sum = log(sum), t = top * exp(ln_sum / p);
    return (struct roof){ t, t * w[0] / sum, t * w[1] / sum, t * w[2] / sum, t * (logs / (p * sum) - ln_sum / (p * p)) };
}

static void add_bound(struct time_sides *x, const struct roof *r, double compute, double memory, double launch)
{
    const enum bound b = launch > r->seconds ? BOUND_LAUNCH : memory >= compute ? BOUND_MEMORY : BOUND_COMPUTE;
    x->memory_s += memory;
    x->compute_s += compute;
    x->bound_s[b] += r->seconds + launch;
}

void time_gradient(const struct time_features *f, const double *parameter, double *g, struct time_sides *sides)
{
    const double sharp = exp(parameter[TIME_OVERLAP]), p = 1 + sharp, e_b = fraction(parameter[TIME_BANDWIDTH]);
    const double e_c = exp(parameter[TIME_COMPUTE]), e_a = exp(parameter[TIME_ATTENTION]), vector = exp(parameter[TIME_VECTOR]);
    const double launch = exp(parameter[TIME_LAUNCH]), kv = exp(parameter[TIME_KV]), small = exp(parameter[TIME_SMALL]),
                 expert = exp(parameter[TIME_EXPERT]), slope_b = fraction_slope(parameter[TIME_BANDWIDTH]);
    const double launch_expert = launch * exp(parameter[TIME_LAUNCH_EXPERT]), launch_small = launch * exp(parameter[TIME_LAUNCH_SMALL]);
    const double heads = exp(parameter[TIME_HEADS]), scan = exp(parameter[TIME_SCAN]);
    double d[TIME_PARAMETER_COUNT] = { 0 }, s = f->n_pass * exp(parameter[TIME_STEP]) + f->host_s;
    struct time_sides side = { 0 };
    d[TIME_STEP] = s - f->host_s;
    side.bound_s[BOUND_LAUNCH] = s;
    for (int i = 0; i < f->n_term; i++) {
        const struct time_term *x = &f->term[i];
        const double memory = x->memory_s / e_b;
        const double factor = x->kind == TIME_EXPERT_PRODUCT ? expert : 1;
        double start = launch;
        struct roof r = { .seconds = 0 };
        switch (x->kind) {
        case TIME_PRODUCT:
        case TIME_EXPERT_PRODUCT:
            r = smooth_roof(factor * x->compute_s / e_c, factor * memory, factor * x->vector_s * vector, p);
            d[TIME_COMPUTE] -= r.a;
            d[TIME_VECTOR] += r.c;
            if (x->kind == TIME_EXPERT_PRODUCT) {
                start = launch_expert;
                d[TIME_EXPERT] += r.seconds;
                d[TIME_LAUNCH_EXPERT] += x->launched * start;
            }
            add_bound(&side, &r, factor * max2(x->compute_s / e_c, x->vector_s * vector), factor * memory, x->launched * start);
            break;
        case TIME_ATTEND:
            r = smooth_roof(x->compute_s / e_a, memory * kv, x->heads_s * heads, p);
            d[TIME_ATTENTION] -= r.a;
            d[TIME_KV] += r.b;
            d[TIME_HEADS] += r.c;
            d[TIME_SCAN] += x->scanned * scan;
            r.seconds += x->scanned * scan;
            add_bound(&side, &r, max2(x->compute_s / e_a, x->heads_s * heads), memory * kv + x->scanned * scan, x->launched * launch);
            break;
        case TIME_OTHER:
            r = (struct roof){ .seconds = memory * small, .b = memory * small };
            start = launch_small;
            d[TIME_SMALL] += r.b;
            d[TIME_LAUNCH_SMALL] += x->launched * start;
            add_bound(&side, &r, 0, r.b, x->launched * start);
            break;
        case TIME_STAGED:
            r = (struct roof){ .seconds = memory, .b = memory };
            add_bound(&side, &r, 0, r.b, x->launched * start);
            break;
        case TIME_SMALL_KERNEL: /* a single kernel, not a pass */
            continue;
        case TIME_KERNEL_ALONE:
            r.seconds = x->alone.seconds - x->alone.start_s;
            add_bound(&side, &r, x->alone.compute_s, x->alone.memory_s, x->alone.start_s);
            s += x->alone.seconds;
            continue;
        }
        d[TIME_BANDWIDTH] -= slope_b * r.b;
        d[TIME_OVERLAP] += sharp * r.by_p;
        d[TIME_LAUNCH] += x->launched * start;
        s += r.seconds + x->launched * start;
    }
    const double wire = f->wire_s / fraction(parameter[TIME_LINK]), hops = f->n_hop * f->hop_s * exp(parameter[TIME_HOP]);
    const double both = f->one_step ? 0 : sqrt(wire * hops);
    d[TIME_LINK] = -fraction_slope(parameter[TIME_LINK]) * (wire + both);
    d[TIME_HOP] = hops + both;
    d[TIME_STAGE_BOUNDARY] = f->n_stage_boundary * exp(parameter[TIME_STAGE_BOUNDARY]);
    side.link_s = side.bound_s[BOUND_LINK] = f->collective_s + wire + hops + 2 * both + d[TIME_STAGE_BOUNDARY];
    s += side.link_s;
    for (int i = 0; i < TIME_PARAMETER_COUNT; i++)
        g[i] = d[i] / s;
    g[TIME_REQUEST] = 1;
    if (sides)
        *sides = side;
}

double time_spread(const struct time_constants *k, const double *g, double share[TIME_PARAMETER_COUNT + 1])
{
    double part[TIME_PARAMETER_COUNT + 1], all = k->sigma * k->sigma;
    part[TIME_PARAMETER_COUNT] = all;
    for (int s = 0; s < TIME_PARAMETER_COUNT; s++) {
        double sum = 0;
        for (int t = 0; t < TIME_PARAMETER_COUNT; t++)
            sum += g[t] * k->cov[s][t];
        part[s] = g[s] * sum;
        all += part[s];
    }
    for (int s = 0; share && s <= TIME_PARAMETER_COUNT; s++)
        share[s] = all > 0 ? part[s] / all : 0;
    return sqrt(max2(all, 0));
}

/* ---- software on a machine ---------------------------------------------------------------------- */

const char *time_basis_name(enum time_basis b)
{
    switch (b) {
    case TIME_BY_KERNELS:
        return "kernels";
    case TIME_BY_MACHINE:
        return "machine";
    case TIME_BY_CLASS:
        return "class";
    case TIME_BY_PRIORS:
        break;
    }
    return "priors";
}

uint64_t time_cases(bool experts, bool devices)
{
    uint64_t cases = 0;
    for (unsigned c = 0; c < TIME_CASES; c++)
        if (((c & TIME_CASE_EXPERTS) != 0) <= experts && ((c & TIME_CASE_DEVICES) != 0) <= devices)
            cases |= UINT64_C(1) << c;
    return cases;
}

/* Inverse of fraction(). */
static double ln_of_fraction(double e)
{
    const double most = 0.9999, x = e < most ? e : most;
    return log(x) - log1p(-pow(x, 16)) / 16;
}

static void change_constants(struct time_constants *k, const struct time_change *c)
{
    const int s = c->parameter;
    if (c->times) {
        k->parameter[s] += log(c->value);
        return;
    }
    k->parameter[s] = s == TIME_BANDWIDTH || s == TIME_LINK ? ln_of_fraction(c->value) : log(c->value);
    for (int t = 0; t < TIME_PARAMETER_COUNT; t++)
        k->cov[s][t] = k->cov[t][s] = 0;
}

int timing_alloc(struct timing *t, uint64_t cases, struct error *err)
{
    size_t n = 0;
    for (int c = 0; c < TIME_CASES; c++)
        n += cases >> c & 1;
    t->block = calloc(n, sizeof *t->block);
    if (!t->block)
        return error_oom(err, n * sizeof *t->block, "the constants of seconds");
    for (int c = TIME_CASES - 1; c >= 0; c--)
        t->of[c] = cases >> c & 1 ? &t->block[--n] : NULL;
    return 0;
}

void timing_free(struct timing *t)
{
    free(t->block);
    free(t->what);
    *t = (struct timing){ 0 };
}

void time_change(struct timing *t, const struct time_change *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < TIME_CASES; k++)
            if (t->of[k])
                change_constants(t->of[k], &c[i]);
}

uint32_t time_ubatch(const struct time_source *t, const struct hwprofile *h, const struct model *m)
{
    const uint32_t n = t ? t->n_ubatch(t->context, h, m) : TIME_UBATCH;
    return n > 0 ? n : PREFILL_WHOLE;
}

bool time_serves(const struct time_source *t, const struct hwprofile *h, const struct model *m)
{
    return t && t->serves && t->serves(t->context, h, m);
}

/* Cholesky factor L, L L' = C, row by row; a constant that is exact, or follows from those before it, has a column of zeros. */
static void triangle(double l[TIME_PARAMETER_COUNT][TIME_PARAMETER_COUNT], const double c[TIME_PARAMETER_COUNT][TIME_PARAMETER_COUNT])
{
    for (int j = 0; j < TIME_PARAMETER_COUNT; j++) {
        double d = c[j][j];
        for (int k = 0; k < j; k++)
            d -= l[j][k] * l[j][k];
        const double root = d > 1e-12 * c[j][j] ? sqrt(d) : 0;
        for (int i = 0; i < TIME_PARAMETER_COUNT; i++) {
            double sum = c[i][j];
            for (int k = 0; i >= j && k < j; k++)
                sum -= l[i][k] * l[j][k];
            l[i][j] = i < j || !(root > 0) ? 0 : i == j ? root : sum / root;
        }
    }
}

void time_error_parts(const struct time_constants *k, const double *g, double guess_ln_sd, struct error_parts *out)
{
    double l[TIME_PARAMETER_COUNT][TIME_PARAMETER_COUNT];
    triangle(l, k->cov);
    *out = (struct error_parts){ .left = k->sigma, .machine = guess_ln_sd };
    for (int i = 0; i < TIME_PARAMETER_COUNT; i++)
        for (int j = 0; j <= i; j++)
            out->of[j] += l[i][j] * g[i];
}

void roofs_use_time(struct roofs *r, const struct timing *t)
{
    if (t->basis == TIME_BY_KERNELS) {
        r->kernel_sd = t->kernel_sd;
        return;
    }
    r->time = t;
    r->e_compute = r->e_bandwidth = 1;
    r->launch_s = 0;
    r->kernels.n = 0;
}

int roofs_set_time(struct roofs *r, struct timing *t, const struct hwprofile *h, const struct op_classes *ops,
                   const struct predict_options *o, struct error *err)
{
    if (!o->time || o->roof)
        return 0;
    const bool devices = layout_devices(&o->layout) > 1 || o->layout.ep > 1;
    if (o->time->timing(o->time->context, h, ops->m, time_cases(ops->m->hp.n_expert > 0, devices), t, err) != 0)
        return -1;
    if (t->basis != TIME_BY_KERNELS)
        time_change(t, o->change, o->n_change);
    roofs_use_time(r, t);
    return r->time ? time_check(ops, false, err) : 0;
}
