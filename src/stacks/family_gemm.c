/*
 * Products of m tokens by a [n, k] weight: gemm.csv of gpu_kernels. The library takes the tile, and the number of parts of k, that is fastest:
 * blocks of a tile run in waves over the multiprocessors, a step of k at a time. methods.md (108)
 */
#include "stacks/family_gemm.h"
#include "stacks/family.h"
#include <math.h>
#include <string.h>

enum { START, BANDWIDTH, COMPUTE, CACHE, STEP, SPLIT, WAVE, HOST, QUANTIZE, ROW, N_PARAMETER };
enum { TYPE, LIBRARY, STACK, GENERATION, HARDWARE };

/* Cycles are those of 1.9 GHz: seconds there, in proportion to the clock elsewhere. Priors: orders of magnitude of a launch (3 us),
 * of memory latency over the copies in flight (0.8 us / 4), and roofs less 15 to 20 % (confidence: low). */
static const struct family_parameter parameters[N_PARAMETER] = {
    [START] = { "start", 2.5e-6, .3, { .2, .5, .3, .1, .1 } },        /* seconds at 1.9 GHz until the first load */
    [BANDWIDTH] = { "bandwidth", .85, .1, { .1, .1, .1, .07, .07 } }, /* fraction of the memory's */
    [COMPUTE] = { "compute", .8, .2, { .15, .15, .15, .15, .1 } },    /* fraction of the peak */
    [CACHE] = { "cache", .65, .3, { .3, .3, .15, .1, .1 } },          /* fraction of the last cache's bandwidth */
    [STEP] = { "step", 2e-7, .4, { .15, .15, .15, .1, .1 } },         /* seconds at 1.9 GHz of a block's step of 128 bytes of k */
    [SPLIT] = { "split", 2e-6, .5, { .2, 1, .2, .1, .1 } },           /* seconds at 1.9 GHz of adding the parts of k */
    [WAVE] = { "wave", 1e-6, .5, { .2, .2, .2, .1, .1 } },            /* seconds at 1.9 GHz of a block without its steps */
    [HOST] = { "host", 3e-6, .3, { 0, 0, 2, 0, .3 } },                /* seconds of the host's call, which overlaps the previous one */
    [QUANTIZE] = { "quantize", 2e-6, .3, { 0, 0, 1, .1, .1 } },       /* seconds at 1.9 GHz of starting the kernels that round activations */
    [ROW] = { "row", 3e-7, .7, { 0, 0, 1, .1, .1 } },                 /* seconds at 1.9 GHz of a token's block of them on one multiprocessor */
};

static const double CLUSTER = 0.4; /* cache bytes of a block over its own tiles where blocks of a cluster share them: 2 share one side or both */

/*
 * Different weights that the measurement cycles through, which decides what stays in the last cache: collectors of ai-dynamo/aiconfigurator,
 * collector/{vllm,sglang,trtllm}/collect_gemm.py.
 */
static double n_copies(const struct measurement *m, double weight_bytes, double cache_bytes)
{
    if (strcmp(m->engine, "vllm") == 0)
        return strcmp(m->quant, "fp8_block") == 0 || strcmp(m->quant, "nvfp4") == 0 ? 1 : 6;
    if (strcmp(m->engine, "trtllm") == 0)
        return fmax(1, fmin(5, ceil(cache_bytes / weight_bytes)));
    return 6;
}

void gemm_features_init(struct gemm_features *f, const struct family_machine *on, const struct family_type *type, double m, double n, double k)
{
    *f = (struct gemm_features){ .n_unit = on->n_unit, .clock_hz = on->clock_hz, .memory_bytes_s = on->memory_bytes_s,
                                 .cache_bytes = on->cache_bytes, .cache_bytes_s = on->cache_bytes_s, .peak = on->peak[type->math],
                                 .async = on->async, .m = m, .n = n, .k = k, .weight_bytes = type->weight_bytes, .act_bytes = type->act_bytes,
                                 .rounds = type->quantized ? 3 : 0 };
}

static int init(void *features, family_value *dim, const struct workload *p, struct error *err)
{
    const struct measurement *m = p->m;
    const struct family_type *type = family_type_find(m->quant);
    struct family_machine on;
    struct gemm_features *f = features;
    if (!type)
        return error_set(err, ERROR_UNAVAILABLE, "column \"gemm_dtype\": no type \"%.64s\" is known", m->quant);
    if (!(m->m > 0) || !(m->n > 0) || !(m->k > 0))
        return error_set(err, ERROR_UNAVAILABLE, "a product needs the columns m, n and k");
    family_machine_init(&on, p);
    if (family_machine_check(&on, FAMILY_NEEDS_KERNEL, type->math, err) != 0)
        return -1;
    gemm_features_init(f, &on, type, m->m, m->n, m->k);
    f->copies = n_copies(m, m->n * m->k * type->weight_bytes, on.cache_bytes);
    if (type->quantized && strcmp(m->engine, "trtllm") == 0 && strcmp(m->quant, "fp8") == 0)
        f->rounds = 5; /* the scale of the whole tensor takes a pass of its own */
    snprintf(dim[TYPE], FAMILY_TEXT, "%.60s", m->quant);
    snprintf(dim[LIBRARY], FAMILY_TEXT, "%s", family_library(m->kernel));
    snprintf(dim[STACK], FAMILY_TEXT, "%.30s %.30s", m->engine, m->quant);
    snprintf(dim[GENERATION], FAMILY_TEXT, "%s", on.generation_name);
    snprintf(dim[HARDWARE], FAMILY_TEXT, "%s", on.name);
    return 0;
}

double gemm_waves_seconds(const struct gemm_rates *r, const struct gemm_tile *t)
{
    const double step_k = GEMM_STEP_BYTES / t->act_bytes;
    const double flop_s = 2 * t->m * t->n * step_k / r->flop_unit_s;
    const double load_s = (r->async ? CLUSTER : 1) * step_k * (t->m * t->act_bytes + t->n * t->weight_bytes) / r->cache_unit_bytes_s;
    return ceil(t->blocks / r->n_unit) * (r->wave_s + t->steps * family_overlap(family_overlap(flop_s, load_s), r->step_s));
}

/* Seconds with m x n tiles, k in so many parts. */
static double tile_seconds(const struct gemm_features *f, const struct gemm_rates *r, double split_s, double memory_s, struct gemm_tile t, double parts)
{
    const double cache_bytes_s = r->cache_unit_bytes_s * r->n_unit;
    t.act_bytes = f->act_bytes;
    t.weight_bytes = f->weight_bytes;
    t.blocks = ceil(f->m / t.m) * ceil(f->n / t.n) * parts;
    t.steps = ceil(ceil(f->k * f->act_bytes / GEMM_STEP_BYTES) / parts);
    const double add_s = parts > 1 ? split_s + 2 * parts * f->m * f->n * GEMM_SUM_BYTES / cache_bytes_s : 0;
    return family_overlap(gemm_waves_seconds(r, &t), memory_s) + add_s;
}

/* The fastest tile: a power of two each way, at most 256 x 128 in all; each part of k has four steps at least. */
static double fastest(const struct gemm_features *f, const struct gemm_rates *r, double split_s, double memory_s)
{
    enum { LEAST_M = 16, LEAST_N = 32, MOST = 256, AREA = 256 * 128, PARTS = 64, LEAST_STEPS = 4 };
    const double steps = ceil(f->k * f->act_bytes / GEMM_STEP_BYTES);
    double best = INFINITY;
    for (double tm = LEAST_M; tm <= MOST && (tm == LEAST_M || tm / 2 < f->m); tm *= 2)
        for (double tn = LEAST_N; tn <= MOST && tm * tn <= AREA && (tn == LEAST_N || tn / 2 < f->n); tn *= 2)
            for (double parts = 1; parts <= PARTS && (parts == 1 || steps / parts >= LEAST_STEPS); parts *= 2) {
                best = fmin(best, tile_seconds(f, r, split_s, memory_s, (struct gemm_tile){ .m = tm, .n = tn }, parts));
                if (ceil(f->m / tm) * ceil(f->n / tn) * parts > 4 * f->n_unit)
                    break;
            }
    return best;
}

double gemm_ln_seconds(const void *features, const double *parameter)
{
    const struct gemm_features *f = features;
    const double cycle = FAMILY_CLOCK_HZ / f->clock_hz, cache_bytes_s = exp(parameter[CACHE]) * f->cache_bytes_s;
    const double bytes_s = exp(parameter[BANDWIDTH]) * f->memory_bytes_s;
    const double weight = f->n * f->k * f->weight_bytes, act = f->m * (f->k * f->act_bytes + f->n * GEMM_OUT_BYTES);
    const double hit = family_cache_hit(f->copies * weight + act, f->cache_bytes);
    const struct gemm_rates r = {
        .n_unit = f->n_unit,
        .flop_unit_s = exp(parameter[COMPUTE]) * f->peak / f->n_unit,
        .cache_unit_bytes_s = cache_bytes_s / f->n_unit,
        .step_s = exp(parameter[STEP]) * cycle * (f->async ? GEMM_ASYNC_STEP : 1),
        .wave_s = exp(parameter[WAVE]) * cycle,
        .async = f->async,
    };
    const double memory_s = (weight + act) * ((1 - hit) / bytes_s + hit / cache_bytes_s);
    double seconds = exp(parameter[START]) * cycle + fastest(f, &r, exp(parameter[SPLIT]) * cycle, memory_s);
    if (f->rounds > 0) {
        const double elements = f->m * f->k;
        seconds += (exp(parameter[QUANTIZE]) + exp(parameter[ROW]) * f->m / f->n_unit) * cycle + f->rounds * elements * (1 / cache_bytes_s + (3 * elements > f->cache_bytes ? 1 / bytes_s : 0));
    }
    const double host = exp(parameter[HOST]);
    return log(seconds) + log1p(pow(host / seconds, 6)) / 6;
}

static const char *const ops[] = { "gemm", NULL };

const struct family family_gemm = {
    .name = "gemm",
    .ops = ops,
    .parameter = parameters,
    .n_parameter = N_PARAMETER,
    .dimension = { "type", "library", "stack", "generation", "hardware" },
    .feature_bytes = sizeof(struct gemm_features),
    .sigma = 0.12,
    .init = init,
    .ln_seconds = gemm_ln_seconds,
};
