/*
 * Attention of a prompt: context_attention.csv and context_mla.csv of gpu_kernels. Tiles of queries by keys, causal or in a window, spread over
 * the multiprocessors; products and exponentials of a tile overlap where copies and products are asynchronous. methods.md (110)
 */
#include "stacks/family_attention.h"
#include <math.h>
#include <string.h>

enum { KERNEL, LIBRARY, STACK, UNITS, GENERATION };
enum { START, HOST, COMPUTE, EXPONENTIALS, BLOCK, APPEND, CACHE, N_PARAMETER };

/* Seconds of start are those of 1.9 GHz. Priors: orders of magnitude; fractions of the peak that FlashAttention publishes; 1.5 times the
 * exponential unit's cycles for the other operations of a softmax (confidence: low). */
static const struct family_parameter parameters[N_PARAMETER] = {
    [START] = { "start", 9e-6, .2, { .2, 0, .2, .15, .1 } },          /* seconds until the first load */
    [HOST] = { "host", 1.5e-4, .1, { .5, 0, 0, 0, 0 } },              /* seconds of the host's calls, where they are measured */
    [COMPUTE] = { "compute", .65, .2, { .12, .5, 0, 0, .1 } },        /* fraction of the peak */
    [EXPONENTIALS] = { "exponentials", 1.5, .1, { 0 } },              /* cycles of an exponential unit a score */
    [BLOCK] = { "block", 1.5e-6, .5, { .3, .4, 0, .2, .1 } },         /* seconds of a block without its tiles */
    [APPEND] = { "append", 1, .3, { 0, 0, .5, 0, 0 } },               /* bytes moved before attention over those of keys, values and queries */
    [CACHE] = { "cache", 14, .3, { 0, 0, 0, 0, .1 } },                /* bytes a cycle and multiprocessor from the last cache */
};

static const double BANDWIDTH = 0.9;

/* ---- features ---------------------------------------------------------------------------------------------------- */

/* Tiles of the queries from row first on: keys that they see, causally, in whole tiles. */
static double tiles_of(const struct prompt_call *c, double first, double rows, double tile_keys)
{
    const double hi = c->past + fmin(ceil((first + rows) / c->packed), c->n_tok);
    const double lo = c->window > 0 ? fmax(0, c->past + floor(first / c->packed) - c->window + 1) : 0;
    return ceil(hi / tile_keys) - floor(lo / tile_keys);
}

void prompt_features_init(struct prompt_features *f, const struct family_machine *on, const struct prompt_call *c)
{
    enum { MOST = 128, TILE_KEYS = 64, EXPONENTIALS_CYCLE = 16 }; /* a multiprocessor's, CUDA C++ Programming Guide */
    const double rows = c->n_tok * c->packed, heads = c->n_head / c->packed, least = on->async ? 64 : 16;
    double tile = MOST, tiles = 0, longest = 0;
    while (tile > least && tile / 2 >= rows)
        tile /= 2;
    for (double at = 0; at < rows; at += tile) {
        const double n = tiles_of(c, at, tile, TILE_KEYS);
        tiles += n;
        longest = fmax(longest, n);
    }
    *f = (struct prompt_features){
        .memory_bytes_s = on->memory_bytes_s,
        .cache_cycle_bytes_s = on->n_unit * on->clock_hz,
        .cycle = attention_cycle(on),
        .tiles = fmax(c->n_seq * heads * tiles / on->n_unit, longest),
        .blocks = fmax(c->n_seq * heads * ceil(rows / tile) / on->n_unit, 1),
        .tile_compute_s = 2 * tile * TILE_KEYS * (c->key_elems + c->value_elems) / (c->flop_s / on->n_unit),
        .tile_exp_s = tile * TILE_KEYS / EXPONENTIALS_CYCLE / on->clock_hz,
        .bytes = c->bytes,
        .append_bytes = c->append_bytes,
        .hit = attention_hit(on, c->bytes + c->append_bytes, 0.5),
        .project_s = c->project_flop / (0.7 * c->flop_s),
        .async = on->async,
        .host = c->host,
    };
}

/* ---- kernels --------------------------------------------------------------------------------------------------------- */

struct prompt_kernel {
    const char *name;
    bool packs;    /* queries of the heads that share a key are rows of one tile */
    bool compiled; /* Triton: scans all keys of a window, too */
};

/* By the names of kernel_source. FlashAttention 2 packs single queries alone; FlashInfer has kernels of CUTLASS since Hopper. */
static struct prompt_kernel kernel_of(const struct family_machine *on, const struct measurement *m)
{
    const bool single = m->prompt <= 1 && !(m->window > 0);
    if (strstr(m->kernel, "triton"))
        return (struct prompt_kernel){ "triton", false, true };
    if (strstr(m->kernel, "fa3") || strstr(m->kernel, "fa4"))
        return (struct prompt_kernel){ "fa3", true, false };
    if (strstr(m->kernel, "trtllm"))
        return (struct prompt_kernel){ "trtllm-gen", true, false };
    if (strstr(m->kernel, "flashinfer"))
        return (struct prompt_kernel){ on->async ? "cutlass" : "flashinfer", true, false };
    if (strcmp(m->kernel, "torch_flow") == 0)
        return (struct prompt_kernel){ "tensorrt-llm", false, false };
    if (strstr(m->kernel, "fa2") || strstr(m->kernel, "flash"))
        return (struct prompt_kernel){ "fa2", single, false };
    return (struct prompt_kernel){ on->async ? "fa3" : "fa2", single, false };
}

/* FP8 products: of FP8 queries, and TensorRT-LLM's with an FP8 cache since Hopper. */
static bool is_eight(const struct family_machine *on, const struct measurement *m, bool narrow)
{
    return on->peak[MATH_FP8] > on->peak[MATH_BF16] &&
           (strcmp(m->quant, "fp8") == 0 || (narrow && on->async && strcmp(m->kernel, "torch_flow") == 0));
}

/* Bytes: attention reads queries, keys and values and writes results; before it keys and values are copied into the cache, and TensorRT-LLM
 * rotates queries, too. */
static struct prompt_call plain_call(const struct family_machine *on, const struct measurement *m, const struct prompt_kernel *k, double elem_bytes)
{
    const double tokens = m->batch * m->prompt, queries = 2 * tokens * m->n_head * m->head_dim, keys = 2 * 2 * tokens * m->n_kv * m->head_dim;
    const double cached = elem_bytes / 2 * keys * (1 + m->context / m->prompt), peak = attention_peak(on, k->compiled);
    const bool eight = is_eight(on, m, elem_bytes < 1.5);
    return (struct prompt_call){ .n_seq = m->batch, .n_tok = m->prompt, .past = m->context, .window = k->compiled ? 0 : m->window,
                                 .n_head = m->n_head, .n_kv = m->n_kv, .packed = k->packs ? m->n_head / m->n_kv : 1,
                                 .key_elems = m->head_dim, .value_elems = m->head_dim, .bytes = 2 * queries + cached,
                                 .append_bytes = keys * (1 + elem_bytes / 2) + (strcmp(m->engine, "trtllm") == 0 ? 2 * queries : 0),
                                 .flop_s = eight ? peak * on->peak[MATH_FP8] / on->peak[MATH_BF16] : peak };
}

/* SGLang's own kernels attend to latents, others to expanded keys and values; vLLM's rows include the product that expands them. */
static struct prompt_call latent_call(const struct family_machine *on, const struct measurement *m, bool absorbed, bool host)
{
    const double key = absorbed ? LATENT_KEY : EXPANDED_KEY, value = absorbed ? LATENT_VALUE : EXPANDED_VALUE;
    const double tokens = m->batch * m->prompt, queries = 2 * tokens * m->n_head * key, results = 2 * tokens * m->n_head * value;
    const double latents = 2 * tokens * LATENT_KEY, keys = absorbed ? latents : 2 * tokens * m->n_head * (key + value);
    const double product = 2 * tokens * LATENT_VALUE * m->n_head * (EXPANDED_PLAIN + EXPANDED_VALUE);
    const bool trtllm = strcmp(m->engine, "trtllm") == 0;
    return (struct prompt_call){ .n_seq = m->batch, .n_tok = m->prompt, .past = m->context, .n_head = m->n_head, .n_kv = absorbed ? 1 : m->n_head,
                                 .packed = absorbed ? m->n_head : 1, .key_elems = key, .value_elems = value, .bytes = queries + results + keys,
                                 .append_bytes = latents + (trtllm ? queries + keys : 0) + (host ? 2 * keys : 0), .project_flop = host ? product : 0,
                                 .flop_s = attention_peak(on, absorbed && strstr(m->kernel, "triton")), .host = host };
}

static struct prompt_kernel latent_kernel(const struct family_machine *on, const struct measurement *m, bool host)
{
    if (strstr(m->kernel, "triton"))
        return (struct prompt_kernel){ host ? "mla vllm-triton" : "mla triton", false, !host };
    if (strstr(m->kernel, "flash"))
        return (struct prompt_kernel){ host ? "mla vllm-fa3" : "mla fa3", false, false };
    return (struct prompt_kernel){ on->generation == GENERATION_BLACKWELL ? "mla trtllm-gen" : "mla tensorrt-llm", false, false };
}

static int init(void *features, family_value *dim, const struct workload *p, struct error *err)
{
    const struct measurement *m = p->m;
    const bool latent = strstr(m->op, "mla") != NULL, host = latent && strcmp(m->engine, "vllm") == 0;
    struct family_machine on;
    double elem_bytes;
    family_machine_init(&on, p);
    if (attention_check(&on, m, &elem_bytes, err) != 0)
        return -1;
    if (!latent && (!(m->n_kv > 0) || !(m->head_dim > 0)))
        return error_set(err, ERROR_UNAVAILABLE, "attention of a prompt needs num_key_value_heads and head_dim");
    const bool narrow = elem_bytes < 1.5, eight = !latent && is_eight(&on, m, narrow);
    const struct prompt_kernel k = latent ? latent_kernel(&on, m, host) : kernel_of(&on, m);
    const bool absorbed = latent && strcmp(m->engine, "sglang") == 0 && !strstr(m->kernel, "trtllm");
    const struct prompt_call c = latent ? latent_call(&on, m, absorbed, host) : plain_call(&on, m, &k, elem_bytes);
    prompt_features_init(features, &on, &c);
    snprintf(dim[KERNEL], FAMILY_TEXT, "%.40s%s", k.name, eight ? " FP8" : narrow ? " 8 bits" : "");
    snprintf(dim[LIBRARY], FAMILY_TEXT, "%s%s%s", latent ? "mla " : "", k.compiled ? "compiled" : "library", eight ? " FP8" : "");
    snprintf(dim[STACK], FAMILY_TEXT, "%.20s %.20s %.20s", m->engine, m->quant, m->type_k);
    snprintf(dim[UNITS], FAMILY_TEXT, "%s", on.async ? "asynchronous" : "synchronous");
    snprintf(dim[GENERATION], FAMILY_TEXT, "%s", on.generation_name);
    return 0;
}

/* ---- seconds ------------------------------------------------------------------------------------------------------------ */

/* (x^p + y^p)^(1/p) */
static double overlap(double x, double y, double p)
{
    const double most = fmax(x, y);
    return most > 0 ? most * pow(1 + pow(fmin(x, y) / most, p), 1 / p) : 0;
}

double prompt_ln_seconds(const void *features, const double *parameter)
{
    static const double asynchronous = 2.5; /* products and exponentials overlap; by turns before */
    const struct prompt_features *f = features;
    const double tile_s = overlap(f->tile_compute_s / exp(parameter[COMPUTE]), f->tile_exp_s * exp(parameter[EXPONENTIALS]), f->async ? asynchronous : 1);
    const double bytes_s = BANDWIDTH * f->memory_bytes_s, cache_bytes_s = exp(parameter[CACHE]) * f->cache_cycle_bytes_s;
    const double byte_s = family_overlap((1 - f->hit) / bytes_s, 1 / cache_bytes_s);
    const double block_s = f->tiles * tile_s + f->blocks * exp(parameter[BLOCK]) + f->bytes / cache_bytes_s;
    return log(exp(parameter[START]) * f->cycle + (f->host ? exp(parameter[HOST]) : 0) + f->append_bytes * exp(parameter[APPEND]) * byte_s + f->project_s +
               overlap(block_s, f->bytes * (1 - f->hit) / bytes_s, 2));
}

static const char *const ops[] = { "context_attention", "context_mla", "mla_context", NULL };

const struct family family_prompt = {
    .name = "prompts",
    .ops = ops,
    .parameter = parameters,
    .n_parameter = N_PARAMETER,
    .dimension = { "kernel", "library", "stack", "units", "generation" },
    .feature_bytes = sizeof(struct prompt_features),
    .sigma = 0.1,
    .init = init,
    .ln_seconds = prompt_ln_seconds,
};
