#include "stacks/attend.h"
#include "stacks/priors.h"
#include <math.h>
#include <string.h>

const char *const attend_names[ATTEND_COUNT] = {
    [ATTEND_FA2] = "fa2",
    [ATTEND_FA2_HEADS] = "fa2-heads",
    [ATTEND_FA3] = "fa3",
    [ATTEND_FA3_MMA] = "fa3-mma",
    [ATTEND_FLASHINFER] = "flashinfer",
    [ATTEND_FLASHINFER_SIMT] = "flashinfer-simt",
    [ATTEND_TRITON] = "triton",
    [ATTEND_XQA] = "xqa",
    [ATTEND_XQA_WGMMA] = "xqa-wgmma",
    [ATTEND_MMHA] = "mmha",
    [ATTEND_MMHA_CONVERT] = "mmha-convert",
    [ATTEND_TRTLLM_GEN] = "trtllm-gen",
};

/* ---- which kernel --------------------------------------------------------------------------- */

/* Libraries that engines call. */
enum library { LIBRARY_FA2, LIBRARY_FA3, LIBRARY_FLASHINFER, LIBRARY_TRITON, LIBRARY_TRTLLM, LIBRARY_TRTLLM_GEN };

static bool is_datacenter_blackwell(const struct facts *f)
{
    return f->warp_groups && f->p->machine->h.peak[MATH_FP4].value > 0;
}

/* Elements of 8 bits or fewer. */
static bool is_narrow(const struct attend_call *c)
{
    return c->kv_bytes < 1.5 * 2 * c->n_seq * c->n_kv * c->head_dim * c->keys;
}

/* As ai-dynamo/aiconfigurator names them (kernel_source): "vllm_flash_attn_fa3", "torch_flow" (TensorRT-LLM), "trtllm_mha", ... */
static bool named_library(const char *kernel, enum library *out)
{
    static const struct {
        const char *part;
        enum library library;
    } names[] = {
        { "torch_flow_flashinfer", LIBRARY_TRTLLM_GEN }, { "torch_flow", LIBRARY_TRTLLM }, { "trtllm", LIBRARY_TRTLLM_GEN },
        { "triton", LIBRARY_TRITON }, { "fa3", LIBRARY_FA3 }, { "fa4", LIBRARY_FA3 }, { "flashinfer", LIBRARY_FLASHINFER },
        { "vllm_flash_attn", LIBRARY_FA2 }, { "flash_attention", LIBRARY_FA3 },
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strstr(kernel, names[i].part)) {
            *out = names[i].library;
            return true;
        }
    return false;
}

/*
 * What an engine takes by itself. FlashAttention 3 is for Hopper, and alone of the two has caches of FP8. Source: vLLM's get_flash_attn_version and
 * CudaPlatform.get_attn_backend_cls, SGLang's ServerArgs (attention_backend), TensorRT-LLM's attentionOp.
 */
static enum library library_of(const struct facts *f, bool narrow)
{
    if (strcmp(f->p->stack->id, "tensorrt-llm") == 0)
        return LIBRARY_TRTLLM;
    if (f->warp_groups)
        return is_datacenter_blackwell(f) ? LIBRARY_TRTLLM_GEN : LIBRARY_FA3;
    return narrow || strcmp(f->p->stack->id, "sglang") == 0 ? LIBRARY_FLASHINFER : LIBRARY_FA2;
}

/* XQA has tiles of 32 heads; other groups, and heads that share nothing, have a block each. Source: TensorRT-LLM's decoderXQARunner, attentionOp. */
enum { XQA_MOST = 32 };

static enum attend_id trtllm(const struct facts *f, double group, bool narrow)
{
    if (group <= XQA_MOST && is_datacenter_blackwell(f))
        return ATTEND_TRTLLM_GEN;
    if (group <= 1 || group > XQA_MOST)
        return narrow && !f->warp_groups ? ATTEND_MMHA_CONVERT : ATTEND_MMHA;
    return narrow && f->warp_groups ? ATTEND_XQA_WGMMA : ATTEND_XQA;
}

/* Groups of four heads and caches of 8 bits run on tensor cores. Source: SGLang's and vLLM's flashinfer back ends, should_use_tensor_core. */
enum { FLASHINFER_GROUP = 4 };

enum attend_id attend_choose(const struct facts *f, const struct attend_call *c)
{
    const double group = c->n_head / c->n_kv;
    const bool narrow = is_narrow(c);
    enum library library = library_of(f, narrow);
    if (f->p->m->kernel)
        (void)named_library(f->p->m->kernel, &library);
    switch (library) {
    case LIBRARY_FA2: /* source: flash_api.cpp, seqlenq_ngroups_swapped, which splits too */
        return group <= 1 || c->windowed ? ATTEND_FA2_HEADS : ATTEND_FA2;
    case LIBRARY_FA3:
        return f->warp_groups ? ATTEND_FA3 : ATTEND_FA3_MMA;
    case LIBRARY_FLASHINFER:
        return !narrow && group < FLASHINFER_GROUP ? ATTEND_FLASHINFER_SIMT : ATTEND_FLASHINFER;
    case LIBRARY_TRITON:
        return ATTEND_TRITON;
    case LIBRARY_TRTLLM:
        return trtllm(f, group, narrow);
    case LIBRARY_TRTLLM_GEN:
        break;
    }
    return ATTEND_TRTLLM_GEN;
}

/* ---- what a pass asks of it ------------------------------------------------------------------- */

/* Wider heads are MLA's, whose kernels are others. */
enum { HEAD_MOST = 512 };

static bool is_measured(const struct facts *f)
{
    const enum hw_kind kind = f->p->machine->h.kind;
    return f->p->stack->family == STACK_SERVER && (kind == HW_GPU || kind == HW_APU) && f->has_matrix && !f->before_ampere &&
           (f->maker == MAKER_NVIDIA || f->maker == MAKER_INTEL);
}

bool attend_call_of(const struct facts *f, const struct step_pass *at, const struct step *x, struct attend_call *c)
{
    const struct cost *k = &x->cost;
    if (!is_measured(f) || !f->flash || at->phase != PHASE_DECODE || !(x->n_head > 0) || !(at->n_seq > 0) || x->head_dim > HEAD_MOST || !(k->kv_bytes > 0))
        return false;
    /* Devices divide heads: the bytes of queries and results (11) say how many a device has. */
    const double tokens = fmax(1, at->n_tok / at->n_seq), heads = k->act_bytes / (f->p->roofs->act_elem_bytes * 2 * x->head_dim * x->n_tok);
    const double keys = k->flop / (4 * heads * x->head_dim * x->n_tok);
    if (!(heads > 0) || !(keys > 0))
        return false;
    const double n_kv = fmax(1, round(heads / x->group));
    /* Several tokens of a sequence are more rows of its tile. */
    *c = (struct attend_call){ .n_seq = at->n_seq, .n_head = heads * tokens, .n_kv = n_kv, .head_dim = x->head_dim, .keys = fmax(1, keys),
                               .kv_bytes = k->kv_bytes, .act_bytes = k->act_bytes, .windowed = keys < at->n_past + 0.5 };
    return true;
}

/* ---- seconds ------------------------------------------------------------------------------------ */

/* Kernels that have a cache of 8 bits do something to queries or scales before it. */
static double narrow_start_cycles(const struct facts *f)
{
    const char *id = f->p->stack->id;
    return prior(strcmp(id, "sglang") == 0         ? PRIOR_NARROW_CYCLES_SGLANG
                 : strcmp(id, "tensorrt-llm") == 0 ? PRIOR_NARROW_CYCLES_TRTLLM
                                                   : PRIOR_NARROW_CYCLES_VLLM);
}

/* Parts that the keys of a sequence are split into, as fill the machine and have enough keys each. */
static double splits_of(const struct attend_kernel *k, double units, double slots, double keys)
{
    enum { TRITON_KEYS = 32 };
    if (!k->splits)
        return 1;
    if (k->n_split > 0)
        return fmax(1, fmin(k->n_split, ceil(keys / TRITON_KEYS)));
    return fmax(1, fmin(floor(slots / units), ceil(keys / prior(PRIOR_ATTEND_SPLIT_KEYS))));
}

/* Of a block, with so many heads and keys. */
static double block_s(const struct attend_kernel *k, double heads, double keys, double width, bool narrow, double clock_hz)
{
    enum { TILE_HEADS = 16, TILE_KEYS = 64 };
    const double tiles = ceil(heads / TILE_HEADS), walked = TILE_KEYS * ceil(keys / TILE_KEYS);
    const double key_cycles = narrow && k->narrow_key_cycles > 0 ? k->narrow_key_cycles : k->key_cycles;
    const double cycles = k->block_cycles + k->head_cycles * (heads - 1) + walked * width * (key_cycles + k->tile_cycles * (tiles - 1));
    return k->block_s + walked * width * k->key_s + cycles / clock_hz;
}

/* The cache's part of what a call reads that the L2 still has from the call before: all that fits; of more it keeps nothing for long. */
static double memory_s(const struct facts *f, const struct attend_call *c)
{
    static const double beyond = 0.1; /* of its size */
    const struct gpu_units *u = &f->p->roofs->units;
    const double bytes = c->kv_bytes + c->act_bytes;
    const double bytes_s = f->p->roofs->bytes_s * prior(PRIOR_ATTEND_BANDWIDTH) / (f->inline_ecc ? prior(PRIOR_ECC_BYTES) : 1);
    const double hit = c->resident ? fmax(0, fmin(1, 1 - (bytes - u->cache_bytes) / (beyond * u->cache_bytes))) : 0;
    const double cache_bytes_s = fmax(bytes_s, prior(PRIOR_L2_BYTES_CYCLE) * u->n * u->clock_hz);
    return bytes * (hit / cache_bytes_s + (1 - hit) / bytes_s);
}

/* Products of whole tiles, whose rows are the block's heads: 64 of an instruction since Hopper, 16 before. */
static double compute_s(const struct facts *f, const struct attend_call *c, double tiles, double heads)
{
    enum { ROWS_GROUP = 64, ROWS_WARP = 16 };
    const double rows = f->warp_groups ? ROWS_GROUP : ROWS_WARP, padded = rows * ceil(heads / rows);
    return 4 * c->n_seq * c->n_kv * tiles * padded * c->head_dim * c->keys / f->p->roofs->peak[MATH_FP16].flop_s;
}

struct time_kernel attend_time(const struct facts *f, enum attend_id id, const struct attend_call *c)
{
    enum { BLOCK_HEADS = 64, WIDTH = 128, SHARP = 4 };
    const struct attend_kernel *k = &priors()->attend[id];
    const struct gpu_units *u = &f->p->roofs->units;
    const bool narrow = is_narrow(c);
    const double group = c->n_head / c->n_kv, tiles = k->group ? ceil(group / BLOCK_HEADS) : group;
    const double units = c->n_seq * c->n_kv * tiles, splits = splits_of(k, units, k->blocks_unit * u->n, c->keys);
    const double waves = fmax(1, ceil(units * splits / u->n));
    const double combine = splits > 1 ? prior(PRIOR_ATTEND_COMBINE_CYCLES) + prior(PRIOR_ATTEND_SPLIT_CYCLES) * splits : 0;
    struct time_kernel t = {
        .name = attend_names[id],
        .start_s = (k->start_cycles + (narrow ? narrow_start_cycles(f) : 0) + combine) / u->clock_hz,
        .memory_s = memory_s(f, c),
        .compute_s = k->group ? compute_s(f, c, tiles, group / tiles) : 0, /* a head alone is no tile */
        .walk_s = waves * block_s(k, group / tiles, c->keys / splits, c->head_dim / WIDTH, narrow, u->clock_hz),
    };
    t.seconds = t.start_s + pow(pow(t.memory_s, SHARP) + pow(t.walk_s, SHARP) + pow(t.compute_s, SHARP), 1.0 / SHARP);
    return t;
}
