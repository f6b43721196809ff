#include "calibrate/effects.h"
#include "calibrate/units.h"
#include <math.h>
#include <string.h>

/* Latencies of servers and kernels alone have parts that (87) does not differentiate. */
static bool closed_gradient(const void *features, const double *slot, double *g)
{
    const struct time_features *f = features;
    if (f->before || f->n_queue != 0 || f->n_seq != 0)
        return false;
    for (int i = 0; i < f->n_term; i++)
        if (f->term[i].kind == TIME_SMALL_KERNEL)
            return false;
    time_gradient(f, slot, g, NULL);
    return true;
}

const struct fit_model fitted_model = { TIME_SLOT_COUNT, time_ln_seconds, closed_gradient };

/*
 * Effects and what is believed before looking: value where all share it, 0 (no difference) elsewhere, with its spread. Means
 * are from first principles: products reach most of the bandwidth (measured read loops do) and some half of the peak; a
 * weight of a quantized type takes a load, a shift, a mask, a conversion and a multiply-add or two; starting a kernel takes
 * microseconds. Spreads are wide where engines and machines differ by factors. methods.md (74)
 */
static const struct effect_prior priors[] = {
    { TIME_BANDWIDTH, DIM_ALL, 0.85, 0.15 },   { TIME_BANDWIDTH, DIM_CLASS, 0, 0.1 },
    { TIME_BANDWIDTH, DIM_STACK, 0, 0.1 },     { TIME_BANDWIDTH, DIM_HARDWARE, 0, 0.08 },
    { TIME_COMPUTE, DIM_ALL, 0.45, 0.2 },      { TIME_COMPUTE, DIM_UNIT, 0, 0.3 },
    { TIME_COMPUTE, DIM_CLASS, 0, 0.1 },
    { TIME_COMPUTE, DIM_STACK, 0, 0.2 },
    { TIME_COMPUTE, DIM_HARDWARE, 0, 0.12 },   { TIME_VECTOR, DIM_ALL, 1, 0.5 },
    { TIME_VECTOR, DIM_TYPE, 0, 0.4 },         { TIME_VECTOR, DIM_STACK, 0, 0.4 },
    { TIME_VECTOR, DIM_FORMAT, 0, 0.4 },       { TIME_COMPUTE, DIM_PRODUCT, 0, 0.3 },
    { TIME_KV, DIM_ALL, 1.2, 0.3 },
    { TIME_KV, DIM_STACK, 0, 0.3 },
    { TIME_KV, DIM_ERA, 0, 0.4 },              { TIME_ATTENTION, DIM_ALL, 0.25, 0.3 },
    { TIME_ATTENTION, DIM_ATTEND, 0, 0.15 },   { TIME_ATTENTION, DIM_KERNEL, 0, 0.4 },
    { TIME_ATTENTION, DIM_ERA, 0, 0.4 },
    { TIME_SMALL, DIM_ALL, 1.5, 0.4 },
    { TIME_SMALL, DIM_OP, 0, 0.5 },
    { TIME_LAUNCH, DIM_ALL, 4e-6, 0.7 },       { TIME_LAUNCH, DIM_CLASS, 0, 0.4 },
    { TIME_LAUNCH, DIM_STACK, 0, 0.6 },        { TIME_LAUNCH, DIM_ERA, 0, 0.4 },
    { TIME_LAUNCH, DIM_OP, 0, 0.4 },           { TIME_LAUNCH, DIM_HARDWARE, 0, 0.2 },
    { TIME_STEP, DIM_ALL, 2e-4, 1 },
    { TIME_EXPERT, DIM_ALL, 1.3, 0.3 },        { TIME_EXPERT, DIM_STACK, 0, 0.3 },
    { TIME_SHARPNESS, DIM_ALL, 1, 0.3 },       { TIME_LINK, DIM_ALL, 0.72, 0.08 },
    { TIME_LINK, DIM_STACK, 0, 0.3 },          { TIME_LINK, DIM_LINK, 0, 1 },
    { TIME_HOP, DIM_ALL, 1, 0.5 },             { TIME_HOP, DIM_STACK, 0, 0.5 },
    { TIME_HOP, DIM_LINK, 0, 0.5 },           { TIME_REQUEST, DIM_ALL, 1.1, 0.1 },
    { TIME_REQUEST, DIM_STACK, 0, 0.15 },
};

/*
 * Of single kernels, timed by the GPU's own clock: libraries' products reach three quarters of the peak, loads wait some 200
 * cycles for the cache and twice that for memory, a kernel with nothing to do is over in two microseconds. Sources: Jia et al.
 * 2018 and 2021, Luo et al. 2024 (arXiv 2402.13499) for latencies; (76)
 */
static const struct effect_prior op_priors[] = {
    { TIME_BANDWIDTH, DIM_ALL, 0.85, 0.1 },  { TIME_BANDWIDTH, DIM_HARDWARE, 0, 0.06 },
    { TIME_COMPUTE, DIM_ALL, 0.75, 0.15 },   { TIME_COMPUTE, DIM_HARDWARE, 0, 0.12 },
    { TIME_COMPUTE, DIM_OP, 0, 0.05 },       { TIME_SHARPNESS, DIM_ALL, 0.8, 0.4 },
    { TIME_LAUNCH, DIM_ALL, 4e-6, 0.4 },     { TIME_LAUNCH, DIM_OP, 0, 0.2 },
    { TIME_LAUNCH, DIM_HARDWARE, 0, 0.2 },   { TIME_SMALL, DIM_ALL, 1, 0.1 },
    { TIME_SMALL, DIM_OP, 0, 0.1 },          { TIME_KERNEL, DIM_ALL, 2e-6, 0.3 },
    { TIME_KERNEL, DIM_OP, 0, 0.4 },         { TIME_KERNEL, DIM_HARDWARE, 0, 0.15 },
    { TIME_TRIP, DIM_ALL, 2.5e-7, 0.3 },     { TIME_TRIP, DIM_OP, 0, 0.2 },
    { TIME_TRIP, DIM_HARDWARE, 0, 0.15 },    { TIME_MISS, DIM_ALL, 2, 0.3 },
    { TIME_MISS, DIM_OP, 0, 0.2 },           { TIME_ISSUE, DIM_ALL, 1, 0.2 },
    { TIME_ISSUE, DIM_OP, 0, 0.3 },          { TIME_CACHE, DIM_ALL, 0.4, 0.3 },
};

/*
 * Of decode steps, whose operations a weight and launches are facts of the engine (79): what is left are factors near 1.
 * Read loops reach nine tenths of most memories; a plain launch takes some 4 microseconds; an element of the cache takes a
 * load, a conversion and a multiply-add a head; a block that walks along a cache waits some 0.5 microseconds for memory with
 * 32 positions on the way.
 */
static const struct effect_prior decode_priors[] = {
    { TIME_BANDWIDTH, DIM_ALL, 0.88, 0.1 },    { TIME_BANDWIDTH, DIM_VENDOR, 0, 0.07 },
    { TIME_BANDWIDTH, DIM_CLASS, 0, 0.07 },    { TIME_BANDWIDTH, DIM_STACK, 0, 0.08 },
    { TIME_BANDWIDTH, DIM_PLACE, 0, 0.1 },     { TIME_LAUNCH, DIM_PLACE, 0, 0.3 },
    { TIME_BANDWIDTH, DIM_HARDWARE, 0, 0.08 }, { TIME_COMPUTE, DIM_ALL, 0.5, 0.4 },
    { TIME_COMPUTE, DIM_STACK, 0, 0.4 },       { TIME_VECTOR, DIM_ALL, 1, 0.3 },
    { TIME_VECTOR, DIM_KIND, 0, 0.3 },         { TIME_VECTOR, DIM_FORMAT, 0, 0.4 },
    { TIME_VECTOR, DIM_STACK, 0, 0.2 },        { TIME_KV, DIM_ALL, 1.1, 0.1 },
    { TIME_KV, DIM_STACK, 0, 0.15 },           { TIME_HEADS, DIM_ALL, 4, 0.7 },
    { TIME_HEADS, DIM_PAIR, 0, 1 },            { TIME_WALK, DIM_ALL, 16e-9, 0.4 },
    { TIME_WALK, DIM_STACK, 0, 0.5 },          { TIME_SMALL, DIM_ALL, 1.5, 0.4 },
    { TIME_LAUNCH, DIM_ALL, 4e-6, 0.4 },       { TIME_LAUNCH, DIM_CLASS, 0, 0.3 },
    { TIME_LAUNCH, DIM_STACK, 0, 0.5 },        { TIME_LAUNCH, DIM_HARDWARE, 0, 0.3 },
    { TIME_STEP, DIM_ALL, 2e-4, 1 },           { TIME_STEP, DIM_STACK, 0, 1 },
    { TIME_EXPERT, DIM_ALL, 1.2, 0.15 },
    { TIME_EXPERT, DIM_STACK, 0, 0.3 },        { TIME_SHARPNESS, DIM_ALL, 1, 0.3 },
    { TIME_LINK, DIM_ALL, 0.72, 0.08 },        { TIME_LINK, DIM_STACK, 0, 0.3 },
    { TIME_HOP, DIM_ALL, 1, 0.5 },             { TIME_HOP, DIM_STACK, 0, 0.5 },
    { TIME_REQUEST, DIM_ALL, 1.05, 0.05 },     { TIME_REQUEST, DIM_STACK, 0, 0.15 },
};

/* Of whole requests: prompts are passes of many tokens, steps what (79) says of them. */
static const struct effect_prior rate_priors[] = {
    { TIME_BANDWIDTH, DIM_ALL, 0.88, 0.1 },    { TIME_BANDWIDTH, DIM_VENDOR, 0, 0.07 },
    { TIME_BANDWIDTH, DIM_CLASS, 0, 0.07 },    { TIME_BANDWIDTH, DIM_STACK, 0, 0.08 },
    { TIME_BANDWIDTH, DIM_PLACE, 0, 0.1 },     { TIME_LAUNCH, DIM_PLACE, 0, 0.3 },
    { TIME_BANDWIDTH, DIM_HARDWARE, 0, 0.08 }, { TIME_COMPUTE, DIM_ALL, 0.45, 0.2 },
    { TIME_COMPUTE, DIM_UNIT, 0, 0.3 },        { TIME_COMPUTE, DIM_CLASS, 0, 0.1 },
    { TIME_COMPUTE, DIM_STACK, 0, 0.2 },       { TIME_COMPUTE, DIM_HARDWARE, 0, 0.12 },
    { TIME_COMPUTE, DIM_PRODUCT, 0, 0.3 },     { TIME_VECTOR, DIM_ALL, 1, 0.3 },
    { TIME_VECTOR, DIM_KIND, 0, 0.3 },         { TIME_VECTOR, DIM_FORMAT, 0, 0.4 },
    { TIME_VECTOR, DIM_STACK, 0, 0.2 },        { TIME_KV, DIM_ALL, 1.1, 0.1 },
    { TIME_KV, DIM_STACK, 0, 0.15 },           { TIME_HEADS, DIM_ALL, 4, 0.7 },
    { TIME_HEADS, DIM_PAIR, 0, 1 },            { TIME_WALK, DIM_ALL, 16e-9, 0.4 },
    { TIME_WALK, DIM_STACK, 0, 0.5 },          { TIME_ATTENTION, DIM_ALL, 0.25, 0.3 },
    { TIME_ATTENTION, DIM_ATTEND, 0, 0.15 },   { TIME_ATTENTION, DIM_KERNEL, 0, 0.4 },
    { TIME_SMALL, DIM_ALL, 1.5, 0.4 },
    { TIME_LAUNCH, DIM_ALL, 4e-6, 0.4 },       { TIME_LAUNCH, DIM_CLASS, 0, 0.3 },
    { TIME_LAUNCH, DIM_STACK, 0, 0.5 },        { TIME_LAUNCH, DIM_HARDWARE, 0, 0.3 },
    { TIME_STEP, DIM_ALL, 2e-4, 1 },           { TIME_STEP, DIM_STACK, 0, 1 },
    { TIME_EXPERT, DIM_ALL, 1.2, 0.15 },
    { TIME_EXPERT, DIM_STACK, 0, 0.3 },        { TIME_SHARPNESS, DIM_ALL, 1, 0.3 },
    { TIME_LINK, DIM_ALL, 0.72, 0.08 },        { TIME_LINK, DIM_STACK, 0, 0.3 },
    { TIME_HOP, DIM_ALL, 1, 0.5 },             { TIME_HOP, DIM_STACK, 0, 0.5 },
    { TIME_REQUEST, DIM_ALL, 1.05, 0.05 },     { TIME_REQUEST, DIM_STACK, 0, 0.15 },
};

static const char *const dim_names[DIM_COUNT] = { "",       "unit", "attend",     "kernel", "product", "class", "stack", "era",     "type",
                                                 "format", "op",   "link",       "generation", "mode",  "vendor", "kind", "pair", "place", "hardware" };

/* ---- effects ------------------------------------------------------------------------------- */

/* Where a slot has next to no say in a row's seconds, differences of it are not learned from the row (learns); they hold for it all the same, so
 * that seconds have no step where it begins to have one. */
static bool applies(const struct fitted_row *r, enum time_slot s, enum dimension d, bool learns)
{
    if (learns && d != DIM_ALL && !r->computes && (s == TIME_COMPUTE || s == TIME_ATTENTION))
        return false;
    if (s == TIME_HEADS && d != DIM_ALL)
        return r->deep || !learns;
    if (s == TIME_WALK)
        return r->walks;
    const bool small = r->f.n_term > 0 && r->f.term[0].kind == TIME_SMALL_KERNEL;
    if (s == TIME_KERNEL || s == TIME_TRIP || s == TIME_MISS || s == TIME_ISSUE || s == TIME_CACHE || (s == TIME_SMALL && r->kernel))
        return small;
    if (r->kernel && small)
        return s == TIME_BANDWIDTH;
    if (s == TIME_EXPERT || s == TIME_LAUNCH_EXPERT)
        return r->experts;
    if (s == TIME_QUEUE)
        return r->first;
    if (s == TIME_REQUEST)
        return r->request && (!r->serving || d == DIM_MODE);
    if (s == TIME_LINK || s == TIME_HOP)
        return r->devices;
    return true;
}

/*
 * What is known of units before looking, over DIM_ALL's value. Matrix units are fed through shared memory, vector units and
 * Apple's grid from registers; products of blocks with scales wait for more than the scales.
 */
static const struct {
    enum unit unit;
    double compute, attention;
} unit_priors[] = {
    { UNIT_MATRIX, 1.2, 1 }, { UNIT_INTEGER, 0.8, 1 }, { UNIT_DOT, 0.9, 1 }, { UNIT_VECTOR, 1.3, 1 }, { UNIT_GRID, 1.4, 2 },
    { UNIT_STEPS, 2, 1 },
};

/* Servers attend by FlashAttention 2 and 3 or FlashInfer: causal, heads of 128, 0.5 to 0.6 of an A100's, 0.6 to 0.65 of an H100's peak.
 * Source: Dao 2023 (arXiv 2307.08691), fig. 5; Shah et al. 2024 (arXiv 2407.08608), fig. 5. */
static const double server_attention = 2;

/* Servers and PyTorch multiply prompts by cuBLAS and CUTLASS, which reach three quarters of the peak (op_priors): over 0.45 x 1.2 of all engines'
 * matrix units. (132) */
static const double library_products = 1.4;

static double of_unit(enum time_slot slot, enum dimension d, const char *unit, enum stack_family family)
{
    if (slot == TIME_ATTENTION && d == DIM_KERNEL)
        return family == STACK_SERVER ? server_attention : 1;
    if (slot == TIME_COMPUTE && d == DIM_PRODUCT)
        return family == STACK_SERVER || family == STACK_PYTORCH ? library_products : 1;
    for (size_t i = 0; (d == DIM_UNIT || d == DIM_ATTEND) && i < ARRAY_LEN(unit_priors); i++)
        if (strcmp(unit, unit_name(unit_priors[i].unit)) == 0)
            return slot == TIME_COMPUTE ? unit_priors[i].compute : unit_priors[i].attention;
    return 1;
}

static void effect_name(char *name, const struct effect_prior *e, const struct fitted_row *r)
{
    char *const at = fit_name_begin(name, time_slot_name(e->slot));
    if (e->dim != DIM_ALL)
        (void)fit_name_add(name, at, dim_names[e->dim], r->dim[e->dim]);
}

static const struct effect_prior *priors_of(enum fitted_kind kind, size_t *n)
{
    switch (kind) {
    case FITTED_OP:
        *n = ARRAY_LEN(op_priors);
        return op_priors;
    case FITTED_TPOT:
    case FITTED_TTFT:
        return serving_priors(kind == FITTED_TTFT, n);
    case FITTED_DECODE:
        *n = ARRAY_LEN(decode_priors);
        return decode_priors;
    case FITTED_RATE:
        *n = ARRAY_LEN(rate_priors);
        return rate_priors;
    case FITTED_PROMPT:
    case FITTED_ALL_REDUCE:
    case FITTED_KIND_COUNT:
        break;
    }
    *n = ARRAY_LEN(priors);
    return priors;
}

/* What memory a CPU's machine has, in which NUMA mode, how many watts: nobody says, and its own effects are as many times wider. */
static const double cpu_apart = 3;

/* f is not touched unless add. */
static int set_effects(struct fit *f, bool add, const struct fitted_row *r, struct fit_row *out, struct error *err)
{
    int n[FIT_MAX_SLOTS] = { 0 };
    *out = (struct fit_row){ .features = &r->f, .sigma = r->sigma };
    for (int s = 0; s < FIT_MAX_SLOTS; s++)
        for (int k = 0; k < FIT_MAX_EFFECTS; k++)
            out->effect[s][k] = FIT_NO_EFFECT;
    size_t n_prior;
    const struct effect_prior *p = priors_of(r->kind, &n_prior);
    for (size_t i = 0; i < n_prior; i++) {
        const enum time_slot s = p[i].slot;
        char name[FIT_MAX_NAME];
        if (!applies(r, s, p[i].dim, add) || !r->dim[p[i].dim][0])
            continue;
        effect_name(name, &p[i], r);
        const double value = log(p[i].dim == DIM_ALL ? p[i].value : of_unit(s, p[i].dim, r->dim[p[i].dim], r->facts.p->stack->family));
        const double sd = p[i].sd * (r->facts.cpu && p[i].dim == DIM_HARDWARE ? cpu_apart : 1);
        const uint16_t e = add ? fit_effect(f, name, value, sd, err) : fit_find(f, name);
        if (add && e == FIT_NO_EFFECT)
            return -1;
        if (e != FIT_NO_EFFECT) {
            out->effect[s][n[s]++] = e;
            continue;
        }
        out->base[s] += value;
        out->loose[s] += sd * sd;
    }
    return 0;
}

int fitted_priors(struct fit *f, enum fitted_kind kind, struct error *err)
{
    size_t n_prior;
    const struct effect_prior *const from = priors_of(kind, &n_prior);
    for (size_t i = 0; i < n_prior; i++)
        if (from[i].dim == DIM_ALL &&
            fit_effect(f, time_slot_name(from[i].slot), log(from[i].value), from[i].sd, err) == FIT_NO_EFFECT)
            return -1;
    return 0;
}

int fitted_row_effects(struct fit *f, const struct fitted_row *r, struct fit_row *out, struct error *err)
{
    return set_effects(f, true, r, out, err);
}

void fitted_row_known(const struct fit *f, const struct fitted_row *r, struct fit_row *out)
{
    struct error unused = { 0 };
    (void)set_effects((struct fit *)(uintptr_t)f, false, r, out, &unused);
}
