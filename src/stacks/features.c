/* Rows as input of a fit: their fit, their features, and their dimensions. methods.md (55), (57), (35), (36), (43), (44) */
#include "base/label.h"
#include "stacks/attend.h"
#include "stacks/cpus.h"
#include "stacks/decode.h"
#include "stacks/effects.h"
#include "stacks/priors.h"
#include "stacks/units.h"
#include <math.h>
#include <string.h>

const char *const fitted_kind_names[FITTED_KIND_COUNT] = { "rate", "decode", "prompt", "op", "tpot", "ttft" };

/* A server's latency, or the seconds of one of its steps. */
static bool is_served(const struct measurement *m)
{
    return m->kind == MEASURE_SERVING || (m->kind == MEASURE_RATE && m->phase == MEASURE_DECODE && m->server_step);
}

static bool is_prompt(const struct measurement *m)
{
    return m->phase == MEASURE_PREFILL && !(m->n_ubatch > 0 && m->n_ubatch < TIME_PROMPT) && !(m->prompt < TIME_PROMPT);
}

enum fitted_kind fitted_kind(const struct measurement *m)
{
    switch (m->kind) {
    case MEASURE_OP:
    case MEASURE_KERNEL: /* these teach families of kernels (107) */
    case MEASURE_ALL_REDUCE:
        return FITTED_OP;
    case MEASURE_SERVING:
        return m->metric == METRIC_TTFT ? FITTED_TTFT : FITTED_TPOT;
    case MEASURE_RATE:
        break;
    }
    if (is_served(m))
        return FITTED_TPOT;
    return m->phase == MEASURE_DECODE ? FITTED_DECODE : is_prompt(m) ? FITTED_PROMPT : FITTED_RATE;
}

bool fitted_learns_from(enum fitted_kind k, const struct measurement *m)
{
    const enum fitted_kind own = fitted_kind(m);
    return m->kind != MEASURE_KERNEL && m->kind != MEASURE_ALL_REDUCE && (own == k || (k == FITTED_RATE && (own == FITTED_DECODE || own == FITTED_PROMPT)));
}

/* ---- a row's features ------------------------------------------------------------------- */

/* A conversion kernel writes weights as so many bytes each, which the product reads; 0: it reads them as stored. */
static void stage(struct step *c, struct refinement *how, double bytes)
{
    if (!(bytes > 0))
        return;
    const double wider = bytes * 8 / c->bits;
    how->staged_bytes = c->cost.weight_bytes * (1 + wider);
    c->cost.weight_bytes *= wider;
    c->bits = bytes * 8;
}

/* Unpacking is part of the rate of CPU products (41). */
static const double counted = 1e-3;

/* Math unit of an op, and its staged bytes. (43) */
static void choose_units(struct step *c, struct refinement *how, const struct stack_traits *x, const struct step_pass *at)
{
    if (x->p->m->kind != MEASURE_RATE || is_served(x->p->m) || c->n_comm > 0)
        return;
    if (at->phase == PHASE_PREFILL)
        how->kernels = unit_kernels(x, c->kind, c->bits, c->n_tok);
    if (c->bits > 0) {
        const double bits = c->bits, weights = c->cost.weight_bytes * 8 / bits;
        const struct unit_use u = x->cpu ? cpu_product(x, c->math, bits, c->kind == OP_EXPERT_MATMUL) : unit_of_product(x, c->math, bits, c->n_tok);
        how->flop_s = u.flop_s;
        if (x->cpu) {
            how->of_fp32 = u.flop_s / x->p->roofs->peak[MATH_FP32].flop_s;
            how->ops_weight = counted;
        }
        if (c->kind != OP_EXPERT_MATMUL && u.staged_bytes == 0 && bits < QUANTIZED && !x->cpu)
            how->ops_weight = decode_ops_several(x, bits, c->n_tok);
        stage(c, how, u.staged_bytes);
        if (c->kind != OP_EXPERT_MATMUL) {
            how->flop_s /= unit_padding(x, c->n_tok, 1);
            return;
        }
        const double touched = weights / (c->rows * c->cols);
        how->host_s = unit_expert_s(x, bits, c->n_tok) * touched;
        how->flop_s /= unit_padding(x, c->cost.flop / (2 * c->rows * c->cols), touched);
    } else if (c->kind == OP_ATTENTION && at->phase == PHASE_PREFILL) { /* attention of a step is memory-bound */
        const struct unit_use u = unit_of_attention(x, c->head_dim, c->group, c->n_tok);
        how->flop_s = u.flop_s;
        if (x->cpu)
            how->of_fp32 = u.flop_s / x->p->roofs->peak[MATH_FP32].flop_s;
        how->staged_bytes = u.staged_bytes * c->n_head * at->n_tok * (at->n_past + at->n_tok / fmax(at->n_seq, 1));
    } else if (c->cost.act_bytes <= x->cache_bytes) { /* (doc/notes/stacks.md) */
        c->cost.act_bytes *= prior(PRIOR_CACHED_ACTS);
    }
}

/* Inline ECC adds bytes on the memory bus (39), for the same weights. */
static void add_check_bytes(struct step *c)
{
    const double more = prior(PRIOR_ECC_BYTES);
    c->cost.weight_bytes *= more;
    c->bits *= more;
    c->cost.kv_bytes *= more;
    c->cost.act_bytes *= more;
}

/* Arithmetic of whole tiles, for each matrix touched. A tile that streams weights attains a larger fraction of the peak than the prior
 * of other products. (40) */
static void fill_tiles(struct step *c, const struct stack_traits *x, double touched)
{
    const double tile = decode_tile(x, c->bits, c->kind == OP_EXPERT_MATMUL);
    if (tile > 1)
        c->cost.flop = fmax(c->cost.flop, 2 * c->rows * c->cols * tile * touched * prior(PRIOR_TILE_PART));
}

/* Operations per weight. CPUs multiply an expert by its own tokens, GPU kernels by whole tiles. */
static double step_ops(const struct step *c, const struct stack_traits *x, double touched)
{
    const bool experts = c->kind == OP_EXPERT_MATMUL;
    if (x->cpu) {
        const double each = experts ? c->cost.flop / (2 * c->rows * c->cols * touched) : c->n_tok;
        return cpu_ops_several(x, c->math, c->bits, each, experts);
    }
    const double several = experts ? 0 : decode_ops_several(x, c->bits, c->n_tok);
    return several > 0 ? several : decode_ops_weight(x, c->bits);
}

/* The engine's changes to a decode step. (36), (doc/notes/stacks.md) */
static void add_stack_traits(struct step *c, struct refinement *how, const struct stack_traits *x, const struct step_pass *at)
{
    how->launches = stack_traits_launches(x, at->n_tok);
    if (c->bits > 0) {
        const double touched = c->cost.weight_bytes * 8 / c->bits / (c->rows * c->cols);
        how->ops_weight = step_ops(c, x, touched);
        if (!x->cpu)
            how->flop_s = unit_of_product(x, c->math, c->bits, c->n_tok).flop_s;
        fill_tiles(c, x, touched);
        how->host_s = decode_host_s(x, c->bits);
        if (c->kind == OP_EXPERT_MATMUL)
            how->host_s = unit_expert_s(x, c->bits, c->n_tok) * touched;
        stage(c, how, decode_staged_bytes(x, c->math, c->bits));
    }
    if (x->inline_ecc)
        add_check_bytes(c);
    if (c->kind != OP_ATTENTION)
        return;
    how->heads = c->cost.flop / 2;
    /* layers with a window: keys they see */
    const double seen = c->cost.flop / (4 * c->n_head * c->head_dim * c->n_tok);
    how->scanned = !x->scans ? 0 : seen > 0 ? fmin(at->n_past + 1, seen) : at->n_past + 1;
}

/* The algorithm that the engine takes for an all-reduce of M bytes, 2 (n - 1) / n M in two rounds. (47) */
static void choose_rounds(struct step *c, double once_bytes)
{
    const double n = c->n_comm, devices_bytes = c->rounds_bytes * n * n / (2 * (n - 1));
    c->cost.link_bytes = c->rounds_bytes * (devices_bytes < once_bytes ? n / 2 : 1);
}

void fitted_refine(const struct stack_traits *x, const struct step_pass *at, bool decode, struct step *c, struct refinement *how)
{
    if (x->p->m->kind == MEASURE_OP)
        how->ops_weight = 1; /* a library's product of 16-bit numbers */
    if (c->kind == OP_ALL_REDUCE && x->once_bytes > 0)
        choose_rounds(c, x->once_bytes);
    how->collective_s = collective_price_s(x, c);
    c->n_comm *= x->ranks;
    struct attend_call call;
    if (c->kind == OP_ATTENTION && attend_call_of(x, at, c, &call)) {
        how->alone = attend_time(x, attend_choose(x, &call), &call, &how->attend);
        return;
    }
    if (c->kind == OP_SEND)
        how->stage_boundary = decode && x->stage_boundaries; /* hidden by a prompt's kernels */
    if (decode)
        add_stack_traits(c, how, x, at);
    else
        choose_units(c, how, x, at);
}

void fitted_add_pass(struct time_features *f, const struct stack_traits *x, const struct work_pass *w, double times, bool native)
{
    for (size_t i = 0; i < w->n; i++) {
        struct step c = w->c[i];
        struct refinement how = { .key = time_key(c.rows, c.cols, c.bits), .blocks = w->kernel ? &w->blocks : NULL };
        c.count *= times;
        c.bits = native ? 0 : c.bits;
        fitted_refine(x, &w->at, f->decode, &c, &how);
        time_add(f, x->p->roofs, &c, &how);
    }
    time_passes(f, times, w->at.n_tok);
}

/* Interconnect between a row's devices. */
static const char *link_of(const struct workload *p)
{
    return p->m->kind == MEASURE_SERVING ? serving_link(p) : "board";
}

static void features(struct fitted_row *r, const struct workload *p)
{
    struct time_features *f = &r->f;
    *f = (struct time_features){ .sequential = 1, .pipelined = 1, .prompt = p->m->phase == MEASURE_PREFILL,
                                .decode = r->kind == FITTED_DECODE, .long_context = p->context > TIME_LONG_CONTEXT,
                                .one_step = r->traits.one_step, .small_batch = p->m->phase == MEASURE_PREFILL && !is_prompt(p->m),
                                .batched = workload_is_batched(p),
                                .request = p->m->kind == MEASURE_RATE && p->m->phase == MEASURE_REQUEST };
    if (p->m->kind == MEASURE_SERVING) {
        serving_features(f, &r->wait, &r->traits);
        return;
    }
    for (size_t i = 0; i < p->n_pass; i++) {
        f->decode = r->kind == FITTED_DECODE || (r->kind == FITTED_RATE && p->pass[i].at.phase == PHASE_DECODE);
        fitted_add_pass(f, &r->traits, &p->pass[i], p->pass[i].times, is_served(p->m));
    }
    if (is_served(p->m)) {
        f->one_step = true;
        f->n_seq = p->batch;
    }
    if (p->m->kind == MEASURE_OP)
        f->n_pass = 0; /* a single kernel */
    if (p->split == SPLIT_LAYER && is_prompt(p->m))
        f->pipelined = time_overlap(time_whole_passes(f), p->n_devices, r->traits.copies, f->n_kernel / fmax(f->n_pass, 1));
}

/* ---- its dimensions ----------------------------------------------------------------------- */

static void generation(char *out, size_t size, const struct workload *p)
{
    static const enum math narrow[] = { MATH_FP4, MATH_FP8, MATH_INT8, MATH_FP16 };
    for (size_t i = 0; i < ARRAY_LEN(narrow) && !*out; i++)
        if (p->machine->h.peak[narrow[i]].value > 0)
            snprintf(out, size, "%.32s %s", p->machine->h.vendor, math_name(narrow[i]));
}

static int type_bits(double bits)
{
    return bits > 24 ? 32 : bits > 12 ? 16 : bits > 7 ? 8 : 4;
}

/* Math units of the product and of the attention with most FLOP; of a request its prompt's. */
static void units(struct fitted_row *r, const struct workload *p)
{
    const bool request = p->m->kind == MEASURE_RATE && p->m->phase == MEASURE_REQUEST;
    double most = 0, most_attention = -1;
    for (size_t i = 0; i < p->n_pass; i++) {
        if (request && p->pass[i].at.phase == PHASE_DECODE)
            continue;
        for (size_t k = 0; k < p->pass[i].n; k++) {
            const struct step *c = &p->pass[i].c[k];
            const double flop = p->pass[i].times * c->count * c->cost.flop;
            if (c->kind == OP_ATTENTION && flop > most_attention) {
                most_attention = flop;
                snprintf(r->dim[DIM_ATTEND], sizeof r->dim[0], "%s",
                         unit_name(unit_of_attention(&r->traits, c->head_dim, c->group, c->n_tok).unit));
            }
            if (!(c->bits > 0) || flop <= most)
                continue;
            most = flop;
            snprintf(r->dim[DIM_UNIT], sizeof r->dim[0], "%s", unit_name(unit_of_product(&r->traits, c->math, c->bits, c->n_tok).unit));
        }
    }
}

static void publication(char *out, size_t size, const struct workload *p, const char *hardware)
{
    char source[256], both[400];
    snprintf(both, sizeof both, "%s on %s", measure_publisher(p->m, source, sizeof source), hardware);
    label_fit(out, size, both);
}

static void dimensions(struct fitted_row *r, const struct workload *p)
{
    const char *era = r->traits.old ? " before 2024-08" : "";
    char place[128];
    const bool op = p->m->kind == MEASURE_OP;
    snprintf(r->dim[DIM_ALL], sizeof r->dim[0], "all");
    snprintf(r->dim[DIM_CLASS], sizeof r->dim[0], "%.24s %.32s", r->traits.vendor, p->machine->class_name);
    units(r, p);
    if (r->dim[DIM_UNIT][0] && p->bits_weight > 0)
        snprintf(r->dim[DIM_PRODUCT], sizeof r->dim[0], "%.24s%s %.10s %d bits", p->stack->id, era,
                 r->dim[DIM_UNIT], type_bits(p->bits_weight));
    if (r->dim[DIM_ATTEND][0])
        snprintf(r->dim[DIM_KERNEL], sizeof r->dim[0], "%.40s %.16s%s", p->stack->id, r->dim[DIM_ATTEND],
                 r->traits.cpu || r->traits.flash ? "" : " apart");
    /* All names of a machine are one: predictions have the profile only. */
    label_fit(r->dim[DIM_HARDWARE], sizeof r->dim[0], p->machine->profile[0] ? p->machine->profile : p->machine->hardware);
    if (r->devices)
        snprintf(r->dim[DIM_LINK], sizeof r->dim[0], "%s", link_of(p));
    if (op) {
        snprintf(r->dim[DIM_OP], sizeof r->dim[0], "%.40s", p->n_pass > 0 && p->pass[0].kernel ? p->pass[0].kernel : p->m->op);
        return;
    }
    snprintf(r->dim[DIM_STACK], sizeof r->dim[0], "%.40s", p->stack->id);
    if (is_served(p->m)) {
        generation(r->dim[DIM_GENERATION], sizeof r->dim[0], p);
        if (strcmp(p->m->mode, "disagg") == 0)
            snprintf(r->dim[DIM_MODE], sizeof r->dim[0], "%.16s %.40s", p->m->mode, p->stack->id);
    }
    snprintf(place, sizeof place, "%.30s %s", p->stack->id, r->dim[DIM_HARDWARE]);
    label_fit(r->dim[DIM_PLACE], sizeof r->dim[0], place);
    if (p->m->kind == MEASURE_RATE)
        publication(r->dim[DIM_PUBLICATION], sizeof r->dim[0], p, r->dim[DIM_HARDWARE]);
    if (r->traits.old)
        snprintf(r->dim[DIM_ERA], sizeof r->dim[0], "%.40s%s", p->stack->id, era);
    if (p->bits_weight > 0)
        snprintf(r->dim[DIM_TYPE], sizeof r->dim[0], "%d bits", type_bits(p->bits_weight));
    if (p->bits_weight > 0)
        snprintf(r->dim[DIM_FORMAT], sizeof r->dim[0], "%.36s%s %d bits", p->stack->id, era,
                 type_bits(p->bits_weight));
}

/* Expected spread of rows: some depend on more than engine and machine. */
static double row_sigma(const struct workload *p)
{
    double s = p->m->kind != MEASURE_SERVING ? 0.07 : p->m->metric == METRIC_TTFT ? 0.3 : 0.1;
    if (workload_is_suspect(p))
        s *= 3;
    if (p->m->tags & (TAG_COMMUNITY | TAG_SUMMARY))
        s *= 2;
    if (p->m->tags & (TAG_E2E | TAG_TTFT_BASED | TAG_DERIVED | TAG_MAX_THROUGHPUT))
        s *= 1.5;
    if (p->guesses & (GUESS_MODEL | GUESS_QUANT | GUESS_ACTIVE | GUESS_BATCH | GUESS_PEAK | GUESS_BANDWIDTH))
        s *= 2;
    if (p->m->kind == MEASURE_SERVING && (p->guesses & GUESS_BATCH)) /* sequences per replica are guessed */
        s *= 2;
    return hypot(s, p->m->ln_sd);
}

/* Seconds depend on arithmetic: the rates of products and attention can be learned from the row. */
static bool computes(const struct time_features *f)
{
    double compute_s = 0, memory_s = 0;
    for (int i = 0; i < f->n_term; i++) {
        compute_s += f->term[i].compute_s;
        memory_s += f->term[i].memory_s;
    }
    return compute_s > memory_s / 8;
}

unsigned fitted_case(const struct time_features *f)
{
    bool experts = false;
    for (int i = 0; i < f->n_term; i++)
        experts |= f->term[i].kind == TIME_EXPERT_PRODUCT;
    return (f->request ? TIME_CASE_REQUEST : 0U) | (experts ? TIME_CASE_EXPERTS : 0U) |
           (f->wire_s > 0 ? TIME_CASE_DEVICES : 0U) | (f->batched ? TIME_CASE_BATCHED : 0U) |
           (f->prompt ? TIME_CASE_PROMPT | (f->small_batch ? TIME_CASE_SMALL_BATCH : 0U) : f->long_context ? TIME_CASE_LONG_CONTEXT : 0U);
}

static void set_case(struct fitted_row *out, const struct workload *p, unsigned which)
{
    out->experts = which & TIME_CASE_EXPERTS;
    out->devices = which & TIME_CASE_DEVICES;
    out->stage_boundaries = out->devices && !(which & TIME_CASE_PROMPT) && out->traits.stage_boundaries;
    out->long_context = !(which & TIME_CASE_PROMPT) && which & TIME_CASE_LONG_CONTEXT;
    out->scans = (out->kind == FITTED_DECODE || out->kind == FITTED_RATE) && out->traits.scans;
    out->request = (p->m->tags & TAG_E2E) || p->m->phase == MEASURE_REQUEST || p->m->metric == METRIC_TTFT;
    dimensions(out, p);
}

static void row_start(struct fitted_row *out, const struct workload *p, enum fitted_kind kind)
{
    *out = (struct fitted_row){ .kind = kind, .sigma = row_sigma(p) };
    out->kernel = p->m->kind == MEASURE_OP;
    out->tick_s = p->m->tick_s;
    out->serving = p->m->kind == MEASURE_SERVING;
    out->first = p->m->metric == METRIC_TTFT;
}

bool fitted_row_init(struct fitted_row *out, const struct workload *p, enum fitted_kind kind)
{
    row_start(out, p, kind);
    stack_traits_init(&out->traits, p);
    features(out, p);
    set_case(out, p, fitted_case(&out->f));
    /* Product rates of a request are learned from prompts, not from steps of small batches in the same fit. */
    out->computes = computes(&out->f) && !(out->kind == FITTED_RATE && p->m->phase == MEASURE_DECODE);
    return out->f.n_term > 0 || out->f.wire_s > 0;
}

double fitted_row_sigma(const struct fitted_row *r, double seconds)
{
    const double tick = r->tick_s / (sqrt(12) * seconds);
    return sqrt(r->sigma * r->sigma + tick * tick);
}

void fitted_row_of_case(struct fitted_row *out, const struct stack_traits *x, unsigned which)
{
    row_start(out, x->p, fitted_kind(x->p->m));
    out->traits = *x;
    set_case(out, x->p, which);
}
