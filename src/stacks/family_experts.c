/*
 * Routed experts of a layer: moe.csv of gpu_kernels. Two products over the tokens of each expert touched, and what moves tokens to experts and
 * back. methods.md (109)
 */
#include "stacks/family_experts.h"
#include "stacks/family_gemm.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { START, BANDWIDTH, COMPUTE, CACHE, STEP, WAVE, MOVE, ALL, N_PARAMETER };
enum { TYPE, LIBRARY, STACK, GENERATION, HARDWARE };

/* As of products (family_gemm.c); libraries and their tuning differ more. Moves: what permutes, activates and adds tokens' rows moves at
 * least once (confidence: low). */
static const struct family_parameter parameters[N_PARAMETER] = {
    [START] = { "start", 1.5e-5, .5, { .2, 1, 1.8, .1, .1 } },         /* seconds at 1.9 GHz of all kernels' starts */
    [BANDWIDTH] = { "bandwidth", .8, .15, { .1, .3, .6, .07, .07 } },  /* fraction of the memory's */
    [COMPUTE] = { "compute", .65, .3, { .15, .4, 1.2, .1, .1 } },      /* fraction of the peak */
    [CACHE] = { "cache", .65, .3, { .2, .6, 1.2, .1, .1 } },           /* fraction of the last cache's bandwidth */
    [STEP] = { "step", 2e-7, .5, { .2, .6, 1.2, .07, .07 } },          /* seconds at 1.9 GHz of a block's step of 128 bytes of k */
    [WAVE] = { "wave", 1e-6, .6, { .2, .6, 1.2, .1, .1 } },            /* seconds at 1.9 GHz of a block without its steps */
    [MOVE] = { "move", 1, .5, { 0, .8, 1.8, .07, .07 } },              /* bytes moved around the products, over their least */
    [ALL] = { "all", .3, .7, { 0, 1.4, 1.8, .07, .07 } },              /* the same, of visits to other devices' experts */
};

/* ---- tokens of experts --------------------------------------------------------------------------- */

enum { EXPERTS_MOST = 4096, DRAWS = 4 };

struct share {
    double tokens;
    int expert;
};

static int by_tokens(const void *a, const void *b)
{
    const struct share *x = a, *y = b;
    return x->tokens != y->tokens ? (x->tokens < y->tokens) - (x->tokens > y->tokens) : x->expert - y->expert;
}

static double uniform(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 11) * 0x1p-53;
}

/* Tokens of each expert: shares from x^-skew between 1 and 0.8 n_tok, rounded; what rounding adds or lacks is the most visited ones'. */
static void draw(double *tokens, int n_expert, double n_tok, double visits, double skew, uint64_t *state, struct share *s)
{
    const double e = 1 - skew, lo = 1, hi = fmax(1.01, 0.8 * n_tok), a = pow(lo, e), b = pow(hi, e);
    double sum = 0, left = visits;
    for (int i = 0; i < n_expert; i++)
        sum += tokens[i] = fabs(e) > 1e-6 ? pow((b - a) * uniform(state) + a, 1 / e) : lo * pow(hi / lo, uniform(state));
    for (int i = 0; i < n_expert; i++) {
        tokens[i] = round(tokens[i] / sum * visits);
        left -= tokens[i];
        s[i] = (struct share){ tokens[i], i };
    }
    qsort(s, (size_t)n_expert, sizeof *s, by_tokens);
    for (int i = 0; left > 0.5; i++, left--)
        tokens[s[i % n_expert].expert]++;
    for (int i = 0; left < -0.5; i++, left++)
        tokens[tokens[s[n_expert - 1 - i % n_expert].expert] > 0 ? s[n_expert - 1 - i % n_expert].expert : s[0].expert]--;
}

/* Adds the experts of the device with the most tokens, each with n_tok at most. */
static void add_fullest(struct experts_load *l, const double *tokens, int n_expert, int n_local, double n_tok)
{
    double most = -1;
    int best = 0;
    for (int i = 0; i + n_local <= n_expert; i += n_local) {
        double sum = 0;
        for (int k = i; k < i + n_local; k++)
            sum += tokens[k];
        best = sum > most ? i : best;
        most = fmax(most, sum);
    }
    for (int k = best; k < best + n_local; k++) {
        const double n = fmin(n_tok, fmax(0, tokens[k]));
        l->touched += (n > 0) / (double)DRAWS;
        l->visits += n / DRAWS;
        l->tiles += ceil(n / l->tile_m) / DRAWS;
    }
}

void experts_load_init(struct experts_load *l, double n_tok, double n_used, double n_expert, double n_ep, double skew)
{
    enum { LEAST_TILE = 16, MOST_TILE = 128 };
    const double visits = n_tok * n_used, each = visits / n_expert, local = fmax(1, floor(n_expert / n_ep));
    *l = (struct experts_load){ .tile_m = LEAST_TILE };
    while (l->tile_m < MOST_TILE && l->tile_m < each)
        l->tile_m *= 2;
    if (skew > 0 && visits > n_expert && n_expert <= EXPERTS_MOST) {
        double tokens[EXPERTS_MOST];
        struct share s[EXPERTS_MOST];
        for (int d = 0; d < DRAWS; d++) {
            uint64_t state = UINT64_C(0x9E3779B97F4A7C15) * (uint64_t)(d + 1) ^ UINT64_C(0xD1B54A32D192ED03);
            (void)uniform(&state);
            draw(tokens, (int)n_expert, n_tok, visits, skew, &state, s);
            add_fullest(l, tokens, (int)n_expert, (int)local, n_tok);
        }
        return;
    }
    /* few tokens: independent choices (16); evenly: each expert as many */
    l->touched = fmax(1, skew > 0 ? local * (1 - pow(1 - n_used / n_expert, n_tok)) : local * fmin(1, each));
    l->visits = fmax(1, each * local);
    l->tiles = l->touched * ceil(fmax(1, skew > 0 ? 1 : each) / l->tile_m - 1e-9);
}

/* ---- a row --------------------------------------------------------------------------------------- */

/* Experts of two matrices, without a gate: named by the kernel, or those of Nemotron 3 (mlp_hidden_act relu2 of its config.json). */
static bool is_gated(const struct measurement *m)
{
    const bool nemotron = (m->n_expert == 512 && m->n_expert_used == 22) || (m->n_expert == 128 && m->n == 1856);
    return !nemotron && !strstr(m->kernel, "nongated");
}

static int init(void *features, family_value *dim, const struct workload *p, struct error *err)
{
    const struct measurement *m = p->m;
    const struct family_type *type = family_type_find(m->quant);
    struct family_machine on;
    struct experts_features *f = features;
    if (!type)
        return error_set(err, ERROR_UNAVAILABLE, "column \"moe_dtype\": no type \"%.64s\" is known", m->quant);
    if (!(m->m > 0) || !(m->n > 0) || !(m->k > 0) || !(m->n_expert > 0) || !(m->n_expert_used > 0) || !(m->n_tensor > 0) || !(m->n_ep > 0))
        return error_set(err, ERROR_UNAVAILABLE, "experts need num_tokens, hidden_size, inter_size, topk, num_experts, moe_tp_size and moe_ep_size");
    family_machine_init(&on, p);
    if (family_machine_check(&on, FAMILY_NEEDS_KERNEL, type->math, err) != 0)
        return -1;
    *f = (struct experts_features){ .n_unit = on.n_unit, .clock_hz = on.clock_hz, .memory_bytes_s = on.memory_bytes_s, .cache_bytes = on.cache_bytes,
                                    .cache_bytes_s = on.cache_bytes_s, .peak = on.peak[type->math], .async = on.async, .n_embd = m->k,
                                    .n_ff = m->n / m->n_tensor, .n_tok = m->m, .n_expert_used = m->n_expert_used, .weight_bytes = type->weight_bytes,
                                    .act_bytes = type->act_bytes, .gated = is_gated(m), .quantized = type->quantized };
    experts_load_init(&f->load, m->m, m->n_expert_used, m->n_expert, m->n_ep, m->skew);
    snprintf(dim[TYPE], FAMILY_TEXT, "%.60s", m->quant);
    snprintf(dim[LIBRARY], FAMILY_TEXT, "%s", family_library(m->kernel));
    snprintf(dim[STACK], FAMILY_TEXT, "%.15s %.24s %.20s", m->engine, m->quant, dim[LIBRARY]);
    snprintf(dim[GENERATION], FAMILY_TEXT, "%s", on.generation_name);
    snprintf(dim[HARDWARE], FAMILY_TEXT, "%s", on.name);
    return 0;
}

/* ---- seconds ------------------------------------------------------------------------------------- */

struct rates {
    struct gemm_rates gemm;
    double bytes_s, cache_bytes_s; /* memory's and the last cache's */
};

/* One product of all experts touched: [rows, cols] each. */
static double product_seconds(const struct experts_features *f, const struct rates *r, double rows, double cols)
{
    enum { LEAST_N = 64, MOST_N = 256, AREA = 256 * 128 };
    const struct experts_load *l = &f->load;
    const double matrices = f->gated ? 3 : 2, all = l->touched * matrices * f->n_embd * f->n_ff * f->weight_bytes;
    const double hit = family_cache_hit(all, f->cache_bytes), act = l->visits * (cols * f->act_bytes + rows * GEMM_OUT_BYTES);
    const double memory_s = l->touched * rows * cols * f->weight_bytes * ((1 - hit) / r->bytes_s + hit / r->cache_bytes_s) + act / r->cache_bytes_s;
    double best = INFINITY;
    for (double n = LEAST_N; n <= MOST_N && l->tile_m * n <= AREA && (n == LEAST_N || n / 2 < rows); n *= 2) {
        const struct gemm_tile t = { .m = l->tile_m, .n = n, .act_bytes = f->act_bytes, .weight_bytes = f->weight_bytes,
                                     .blocks = l->tiles * ceil(rows / n), .steps = ceil(cols * f->act_bytes / GEMM_STEP_BYTES) };
        best = fmin(best, family_overlap(gemm_waves_seconds(&r->gemm, &t), memory_s));
    }
    return best;
}

double experts_ln_seconds(const void *features, const double *parameter)
{
    const struct experts_features *f = features;
    const struct experts_load *l = &f->load;
    const double cycle = FAMILY_CLOCK_HZ / f->clock_hz, gates = f->gated ? 2 : 1;
    const struct rates r = {
        .gemm = { .n_unit = f->n_unit,
                  .flop_unit_s = exp(parameter[COMPUTE]) * f->peak / f->n_unit,
                  .cache_unit_bytes_s = exp(parameter[CACHE]) * f->cache_bytes_s / f->n_unit,
                  .step_s = exp(parameter[STEP]) * cycle * (f->async ? GEMM_ASYNC_STEP : 1),
                  .wave_s = exp(parameter[WAVE]) * cycle,
                  .async = f->async },
        .bytes_s = exp(parameter[BANDWIDTH]) * f->memory_bytes_s,
        .cache_bytes_s = exp(parameter[CACHE]) * f->cache_bytes_s,
    };
    /* tokens in; gates, their product and a row out of each visit; rounding before both products */
    const double visit = GEMM_OUT_BYTES * ((1 + gates) * f->n_ff + f->n_embd);
    const double rounds = f->quantized ? 3 * l->visits * (f->n_embd / f->n_expert_used + f->n_ff) : 0;
    const double moved = exp(parameter[MOVE]) * (GEMM_OUT_BYTES * f->n_tok * f->n_embd + l->visits * visit + rounds) +
                         exp(parameter[ALL]) * fmax(0, f->n_tok * f->n_expert_used - l->visits) * visit;
    const double move_s = moved * (1 / r.cache_bytes_s + (moved > f->cache_bytes ? 1 / r.bytes_s : 0));
    return log(exp(parameter[START]) * cycle + move_s + product_seconds(f, &r, gates * f->n_ff, f->n_embd) + product_seconds(f, &r, f->n_embd, f->n_ff));
}

static const char *const ops[] = { "moe", NULL };

const struct family family_experts = {
    .name = "experts",
    .ops = ops,
    .parameter = parameters,
    .n_parameter = N_PARAMETER,
    .dimension = { "type", "library", "stack", "generation", "hardware" },
    .feature_bytes = sizeof(struct experts_features),
    .sigma = 0.15,
    .init = init,
    .ln_seconds = experts_ln_seconds,
};
