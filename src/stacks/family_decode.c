/*
 * Attention of a decode step: generation_attention.csv and generation_mla.csv of gpu_kernels. Blocks scan their part of a sequence's keys in
 * turn; the bytes of the cache and the products bound all of them together. methods.md (46)
 */
#include "stacks/attend.h"
#include "stacks/family_attention.h"
#include "stacks/priors.h"
#include <math.h>
#include <string.h>

enum { KERNEL, LIBRARY, STACK, UNITS, GENERATION };
enum { START, BLOCK, KEY, TILE, BANDWIDTH, CACHE, COMBINE, N_ATTENTION };
enum { MLA_START, MLA_HOST, MLA_BLOCK, MLA_KEY, MLA_COMPUTE, MLA_BANDWIDTH, MLA_COMBINE, MLA_CONVERT, N_MLA };

/* Seconds are those of 1.9 GHz. Priors: orders of magnitude of a few launches, of a chain of loads and products, of a key streamed by one
 * multiprocessor, and of memory less 13 % (confidence: low). */
static const struct family_parameter attention_parameters[N_ATTENTION] = {
    [START] = { "start", 9e-6, .3, { .25, .2, .1, 0, .05 } },       /* seconds until the first load */
    [BLOCK] = { "block", 2e-6, .5, { .4, .4, 0, 0, .05 } },          /* seconds of a block without its keys, at any clock */
    [KEY] = { "key", 1.5e-8, .5, { .5, .4, 0, 0, .05 } },            /* seconds of a block's key and value of 256 elements */
    [TILE] = { "tile", 2e-9, .5, { .4, .3, 0, 0, .1 } },             /* and of each further 16 heads */
    [BANDWIDTH] = { "bandwidth", .87, .1, { .05, 0, 0, 0, .03 } },   /* fraction of the memory's */
    [CACHE] = { "cache", 9, .3, { 0, 0, 0, 0, .1 } },                /* bytes a cycle and multiprocessor from the last cache */
    [COMBINE] = { "combine", 1e-6, .5, { 0 } },                      /* seconds of adding a sequence's parts */
};
static const struct family_parameter mla_parameters[N_MLA] = {
    [MLA_START] = { "start", 8e-6, .15, { .15, 0, 0, .15, .1 } },
    [MLA_HOST] = { "host", 1.5e-4, .1, { .7, 0, 0, 0, 0 } },         /* seconds of the host's calls, where they are measured */
    [MLA_BLOCK] = { "block", 3e-6, .3, { .5, 0, 0, .2, .1 } },
    [MLA_KEY] = { "key", 1e-8, .5, { .7, 0, 0, .5, .1 } },
    [MLA_COMPUTE] = { "compute", .7, .2, { .5, 0, 0, 0, .1 } },      /* fraction of the peak */
    [MLA_BANDWIDTH] = { "bandwidth", .85, .05, { .05, 0, 0, 0, .03 } },
    [MLA_COMBINE] = { "combine", 2e-6, .3, { 0 } },
    [MLA_CONVERT] = { "convert", 6, .7, { 0 } },                     /* bytes moved an 8-bit element that is widened first */
};

static const double MLA_CACHE = 8; /* bytes a cycle and multiprocessor */

/* ---- features ------------------------------------------------------------------------------------------------- */

void decode_features_init(struct decode_features *f, const struct family_machine *on, const struct decode_kernel *k, const struct decode_call *c)
{
    enum { TILE_KEYS = 64, TILE_HEADS = 16, PART_KEYS = 256, WIDTH = 256, ACT_BYTES = 2 };
    const double group = c->n_head / c->n_kv, tiles = k->group ? ceil(group / k->rows) : group, heads = group / tiles;
    const double units = c->n_seq * c->n_kv * tiles, fill = floor(k->blocks_unit * on->n_unit / units);
    const double parts = k->parts > 0 ? k->parts : fmax(1, fmin(fill, ceil(c->keys / PART_KEYS)));
    const double rows = c->latent ? k->rows : on->async ? 64 : 16; /* of a matrix instruction, or as the kernel pads */
    const double flop_key = k->group ? 2 * rows * ceil(heads / rows) * (c->key_elems + c->value_elems) : 0; /* a single head is no tile */
    const bool alone = c->latent && on->async && k->rows >= 64;
    *f = (struct decode_features){
        .memory_bytes_s = on->memory_bytes_s,
        .cache_cycle_bytes_s = on->n_unit * on->clock_hz,
        .cycle = attention_cycle(on),
        .waves = fmax(1, ceil(units * parts / on->n_unit)),
        .keys = TILE_KEYS * ceil(c->keys / parts / TILE_KEYS),
        .width = (c->key_elems + c->value_elems) / WIDTH,
        .more_tiles = c->latent ? 0 : ceil(heads / TILE_HEADS) - 1,
        .parts = parts,
        .bytes = c->cache_bytes + c->weight_bytes + ACT_BYTES * c->n_seq * c->n_head * (c->key_elems + c->value_elems),
        .convert_bytes = c->convert_bytes,
        .compute_s = alone ? 0 : units * c->keys * flop_key / c->flop_s,
        .compute_key_s = alone ? flop_key / (c->flop_s / on->n_unit) : 0,
        .host = c->weight_bytes > 0,
    };
    f->hit = attention_hit(on, f->bytes, 0.1);
}

static void dimensions(family_value *dim, const struct workload *p, const struct family_machine *on, const struct decode_kernel *k, bool narrow)
{
    const struct measurement *m = p->m;
    snprintf(dim[KERNEL], FAMILY_TEXT, "%.40s%s", k->name, narrow ? " 8 bits" : "");
    snprintf(dim[LIBRARY], FAMILY_TEXT, "%.40s", k->library);
    snprintf(dim[STACK], FAMILY_TEXT, "%.30s %.30s", m->engine, m->type_k);
    snprintf(dim[UNITS], FAMILY_TEXT, "%s", on->async ? "asynchronous" : "synchronous");
    snprintf(dim[GENERATION], FAMILY_TEXT, "%s", on->generation_name);
}

/* ---- keys of their own ------------------------------------------------------------------------------------------ */

/* FlashAttention 3's kernels for mma.sync are FlashAttention 2's. Conversion of 8-bit keys by instructions makes a library of its own. */
static struct decode_kernel kernel_of(const struct family_machine *on, enum attend_id id, bool narrow)
{
    static const char *const libraries[ATTEND_COUNT] = {
        [ATTEND_FA2] = "flash-attention", [ATTEND_FA2_HEADS] = "flash-attention", [ATTEND_FA3] = "flash-attention", [ATTEND_FA3_MMA] = "flash-attention",
        [ATTEND_FLASHINFER] = "flashinfer", [ATTEND_FLASHINFER_SIMT] = "flashinfer", [ATTEND_TRITON] = "triton", [ATTEND_XQA] = "tensorrt-llm",
        [ATTEND_XQA_WGMMA] = "tensorrt-llm", [ATTEND_MMHA] = "tensorrt-llm", [ATTEND_MMHA_CONVERT] = "tensorrt-llm", [ATTEND_TRTLLM_GEN] = "trtllm-gen",
    };
    enum { ROWS = 64 };
    const enum attend_id of = id == ATTEND_FA3_MMA ? ATTEND_FA2 : id;
    const struct attend_kernel *k = &priors()->attend[of];
    const bool converts = narrow && !on->async && strcmp(libraries[of], "tensorrt-llm") == 0;
    return (struct decode_kernel){ .name = stack_attends[of], .library = converts ? "tensorrt-llm converting" : libraries[of], .group = k->group,
                                   .parts = !k->splits ? 1 : k->n_split, .blocks_unit = fmax(1, k->blocks_unit), .rows = ROWS };
}

static int attention_init(void *features, family_value *dim, const struct workload *p, struct error *err)
{
    const struct measurement *m = p->m;
    struct family_machine on;
    struct stack_traits f;
    double elem_bytes;
    family_machine_init(&on, p);
    stack_traits_init(&f, p);
    if (attention_check(&on, m, &elem_bytes, err) != 0)
        return -1;
    if (!(m->n_kv > 0) || !(m->head_dim > 0) || m->prompt > 1)
        return error_set(err, ERROR_UNAVAILABLE, "attention of a step needs num_key_value_heads, head_dim and an isl of 1");
    const double keys = m->window > 0 ? fmin(m->window, m->context + 1) : m->context + 1;
    const double cache_bytes = 2 * m->batch * m->n_kv * keys * m->head_dim * elem_bytes;
    const struct attend_call call = { .n_seq = m->batch, .n_head = m->n_head, .n_kv = m->n_kv, .head_dim = m->head_dim, .keys = keys,
                                      .kv_bytes = cache_bytes, .windowed = m->window > 0 };
    const struct decode_kernel k = kernel_of(&on, attend_choose(&f, &call), elem_bytes < 1.5);
    const struct decode_call c = { .n_seq = m->batch, .n_head = m->n_head, .n_kv = m->n_kv, .keys = keys, .key_elems = m->head_dim,
                                   .value_elems = m->head_dim, .cache_bytes = cache_bytes, .flop_s = attention_peak(&on, false) };
    decode_features_init(features, &on, &k, &c);
    dimensions(dim, p, &on, &k, elem_bytes < 1.5);
    return 0;
}

/* ---- MLA ----------------------------------------------------------------------------------------------------------- */

/* By the names of kernel_source: Triton's of vLLM has 4 parts, of SGLang 8; FlashMLA pads to 128 heads; TensorRT-LLM's "default". */
static struct decode_kernel latent_kernel(const struct family_machine *on, const struct measurement *m)
{
    static const struct decode_kernel vllm_triton = { "vllm-triton", "triton", true, 4, 1, 16 }, triton = { "triton", "triton", true, 8, 1, 16 },
                                      flashmla = { "flashmla", "flashmla", true, 0, 1, 128 }, flash = { "fa3", "flash-attention", true, 0, 1, 64 },
                                      gen = { "trtllm-gen", "trtllm-gen", true, 0, 1, 64 }, sync = { "trtllm", "tensorrt-llm", true, 1, 1, 64 };
    if (strstr(m->kernel, "triton"))
        return strstr(m->kernel, "vllm") ? vllm_triton : triton;
    if (strstr(m->kernel, "flashmla"))
        return flashmla;
    if (strstr(m->kernel, "flash_att"))
        return flash;
    return on->async ? gen : sync;
}

static int mla_init(void *features, family_value *dim, const struct workload *p, struct error *err)
{
    const struct measurement *m = p->m;
    struct family_machine on;
    double elem_bytes;
    family_machine_init(&on, p);
    if (attention_check(&on, m, &elem_bytes, err) != 0)
        return -1;
    const struct decode_kernel k = latent_kernel(&on, m);
    const bool host = strcmp(m->engine, "vllm") == 0, sync = strcmp(k.name, "trtllm") == 0;
    if (sync)
        elem_bytes = 2; /* these kernels keep a cache of 16 bits */
    const bool narrow = elem_bytes < 1.5, widens = narrow && strcmp(k.name, "fa3") == 0;
    const bool eight = narrow && strcmp(k.name, "trtllm-gen") == 0 && on.generation == GENERATION_BLACKWELL;
    const double keys = m->context + 1, latents = m->batch * keys * LATENT_KEY;
    /* vLLM's rows include the products that absorb keys and expand values. */
    const struct decode_call c = { .n_seq = m->batch, .n_head = m->n_head, .n_kv = 1, .keys = keys, .key_elems = LATENT_KEY, .value_elems = LATENT_VALUE,
                                   .cache_bytes = latents * elem_bytes, .convert_bytes = widens ? latents : 0,
                                   .weight_bytes = host ? 2 * 2 * m->n_head * EXPANDED_PLAIN * LATENT_VALUE : 0, .latent = true,
                                   .flop_s = eight ? on.peak[MATH_FP8] : attention_peak(&on, strcmp(k.library, "triton") == 0) };
    decode_features_init(features, &on, &k, &c);
    dimensions(dim, p, &on, &k, narrow);
    return 0;
}

/* ---- seconds ---------------------------------------------------------------------------------------------------------- */

struct decode_constants {
    double start_s, block_s, key_s, tile_s, compute, bandwidth, cache, combine_s, extra_s;
};

static double decode_ln_seconds(const struct decode_features *f, const struct decode_constants *c)
{
    const double bytes_s = f->memory_bytes_s * fmin(1, c->bandwidth), cache_bytes_s = fmax(bytes_s, c->cache * f->cache_cycle_bytes_s);
    const double memory_s = f->bytes * (f->hit / cache_bytes_s + (1 - f->hit) / bytes_s);
    const double key_s = f->width * (c->key_s + f->more_tiles * c->tile_s) * f->cycle + f->compute_key_s / c->compute;
    const double scan_s = f->waves * (c->block_s + f->keys * key_s);
    const double start_s = (c->start_s + (f->parts > 1 ? c->combine_s * (1 + f->parts / 8) : 0)) * f->cycle + c->extra_s;
    return log(start_s + family_overlap(family_overlap(memory_s, scan_s), f->compute_s / c->compute));
}

double attention_decode_ln_seconds(const void *features, const double *p)
{
    static const double compute = 0.8;
    const struct decode_constants c = { .start_s = exp(p[START]), .block_s = exp(p[BLOCK]), .key_s = exp(p[KEY]), .tile_s = exp(p[TILE]), .compute = compute,
                                        .bandwidth = exp(p[BANDWIDTH]), .cache = exp(p[CACHE]), .combine_s = exp(p[COMBINE]) };
    return decode_ln_seconds(features, &c);
}

double mla_decode_ln_seconds(const void *features, const double *p)
{
    const struct decode_features *f = features;
    const double convert_s = f->convert_bytes * exp(p[MLA_CONVERT]) / f->memory_bytes_s;
    const struct decode_constants c = { .start_s = exp(p[MLA_START]), .block_s = exp(p[MLA_BLOCK]), .key_s = exp(p[MLA_KEY]),
                                        .compute = fmin(1, exp(p[MLA_COMPUTE])), .bandwidth = exp(p[MLA_BANDWIDTH]), .cache = MLA_CACHE,
                                        .combine_s = exp(p[MLA_COMBINE]), .extra_s = convert_s + (f->host ? exp(p[MLA_HOST]) : 0) };
    return decode_ln_seconds(f, &c);
}

static const char *const attention_ops[] = { "generation_attention", NULL }, *const mla_ops[] = { "generation_mla", "mla_generation", NULL };

const struct family family_attention = {
    .name = "attention",
    .ops = attention_ops,
    .parameter = attention_parameters,
    .n_parameter = N_ATTENTION,
    .dimension = { "kernel", "library", "stack", "units", "generation" },
    .feature_bytes = sizeof(struct decode_features),
    .sigma = 0.1,
    .init = attention_init,
    .ln_seconds = attention_decode_ln_seconds,
};

const struct family family_mla = {
    .name = "mla",
    .ops = mla_ops,
    .parameter = mla_parameters,
    .n_parameter = N_MLA,
    .dimension = { "kernel", "library", "stack", "units", "generation" },
    .feature_bytes = sizeof(struct decode_features),
    .sigma = 0.1,
    .init = mla_init,
    .ln_seconds = mla_decode_ln_seconds,
};
