/*
 * Thread blocks of the small kernels of gpu_ops.csv. PyTorch's kernels: 128 threads, four elements each per iteration; vLLM's (and
 * Sarathi's): one block per token, one element per thread and iteration. doc/notes/gpu-kernels.md Sources: pytorch
 * aten/src/ATen/native/cuda (thread_constants.h, layer_norm_kernel.cu), vllm csrc (activation_kernels.cu, layernorm_kernels.cu,
 * pos_encoding_kernels.cu), microsoft/vidur vidur/profiling/mlp (which of them is timed).
 */
#include "dataset/workload_internal.h"
#include <math.h>
#include <string.h>

enum { HALF = 2, WARP = 32 }; /* bytes of an FP16 element; threads of a warp */

/* Threads of a full block; instructions of an iteration, counted in the sources (accuracy: one third). */
enum { TORCH_THREADS = 128, TORCH_ELEMENTS = 4, TOKEN_THREADS = 1024, ROPE_THREADS = 512 };
static const double add_instructions = 8, gelu_instructions = 30; /* per element; erf takes about twenty */
static const double silu_instructions = 60;                       /* exp, a division, 64-bit addresses */
static const double rope_instructions = 80;                       /* an integer division, four loads, two stores */
static const double rms_instructions = 40, layer_norm_instructions = 40; /* both passes; Welford's update divides */

static double warps(double threads)
{
    return ceil(threads / WARP);
}

/* Elementwise kernel, 512 elements per block. */
static struct time_blocks by_element(double n, double instructions)
{
    const double block = TORCH_THREADS * TORCH_ELEMENTS;
    return (struct time_blocks){ .n = ceil(n / block), .threads = TORCH_THREADS, .trips = 1,
                                 .instructions = block / WARP * instructions };
}

/* One block per token; a thread takes every `threads`-th of `width` elements. */
static struct time_blocks by_token(double m, double width, double instructions)
{
    const double threads = fmin(width, TOKEN_THREADS);
    return (struct time_blocks){ .n = m, .threads = threads, .trips = ceil(width / threads),
                                 .instructions = warps(width) * instructions };
}

/* Query pairs, then key pairs, by min(query pairs, 512) threads. */
static struct time_blocks rope_blocks(double m, double queries, double keys)
{
    const double threads = fmin(queries / 2, ROPE_THREADS);
    return (struct time_blocks){ .n = m, .threads = threads, .trips = ceil(queries / 2 / threads) + ceil(keys / 2 / threads),
                                 .instructions = (warps(queries / 2) + warps(keys / 2)) * rope_instructions };
}

static void set(struct work_pass *w, struct step *c, const char *kernel, enum op_kind kind, enum op_role role, double bytes, double flop)
{
    w->kernel = kernel;
    c->kind = kind;
    c->role = role;
    c->math = MATH_FP32;
    c->cost = (struct cost){ .act_bytes = bytes, .flop = flop };
}

static void add_kernel(struct work_pass *w, struct step *c, double n, bool parallel)
{
    set(w, c, "add", OP_ADD, ROLE_FFN_RESIDUAL, HALF * 3 * n, n);
    c->count = parallel ? 2 : 1; /* attention + feed-forward + residual */
    w->blocks = by_element(n, add_instructions);
}

static void act_kernel(struct work_pass *w, struct step *c, double m, double width, bool gated)
{
    const double n = m * width;
    set(w, c, gated ? "silu" : "gelu", gated ? OP_GLU : OP_ACT, ROLE_FFN_ACT, HALF * (gated ? 3 : 2) * n, 5 * n);
    w->blocks = gated ? by_token(m, width, silu_instructions) : by_element(n, gelu_instructions);
}

static void norm_kernel(struct work_pass *w, struct step *c, double m, double width, bool layer_norm, enum op_role role)
{
    const double n = m * width;
    set(w, c, layer_norm ? "layer_norm" : "rms_norm", layer_norm ? OP_LAYER_NORM : OP_RMS_NORM, role, HALF * 2 * n, 4 * n);
    w->blocks = by_token(m, width, rms_instructions);
    if (layer_norm) {
        w->blocks.threads = TORCH_THREADS;
        w->blocks.trips = 2 * ceil(width / (TORCH_THREADS * TORCH_ELEMENTS));
        w->blocks.instructions = warps(width) * layer_norm_instructions;
    }
}

static void rope_kernel(struct work_pass *w, struct step *c, const struct measurement *m)
{
    const double tp = m->prefill.tp > 0 ? m->prefill.tp : 1;
    const double queries = m->query_width > 0 ? m->query_width : m->k / tp, keys = m->kv_width > 0 ? m->kv_width : queries;
    set(w, c, "rope", OP_ROPE, ROLE_ATTN_ROPE, HALF * 2 * m->m * (queries + keys), 3 * m->m * (queries + keys));
    w->blocks = rope_blocks(m->m, queries, keys);
}

static bool has_op(const struct row_model *s, enum op_kind kind)
{
    for (size_t i = 0; i < s->ops.n; i++)
        if (s->ops.ops[i].kind == kind)
            return true;
    return false;
}

/* Parallel attention and feed-forward: one norm before both. */
static bool is_parallel(const struct row_model *s)
{
    for (size_t i = 0; i < s->ops.n; i++)
        if (s->ops.ops[i].role == ROLE_FFN_NORM)
            return s->m.hp.parallel;
    return true;
}

bool small_kernel(struct work_pass *w, struct step *c, const struct measurement *m, const struct row_model *s)
{
    /* Unknown model: without gating it is as old as LayerNorm. */
    const bool gated = m->gated >= 0 ? m->gated : !s || has_op(s, OP_GLU);
    const bool layer_norm = s ? has_op(s, OP_LAYER_NORM) : !gated;
    const double m_tok = m->m, width = m->k;
    if (strcmp(m->op, "add") == 0)
        add_kernel(w, c, m_tok * width, s && is_parallel(s));
    else if (strcmp(m->op, "mlp_act") == 0) /* k is the width per device */
        act_kernel(w, c, m_tok, width, gated);
    else if (strcmp(m->op, "attn_rope") == 0)
        rope_kernel(w, c, m);
    else if (strcmp(m->op, "input_layernorm") == 0)
        norm_kernel(w, c, m_tok, width, layer_norm, ROLE_ATTN_NORM);
    else if (strcmp(m->op, "post_attention_layernorm") == 0)
        norm_kernel(w, c, m_tok, width, layer_norm, ROLE_FFN_NORM);
    else
        return false;
    w->blocks.footprint_bytes = c->cost.act_bytes;
    return true;
}
