/* The shapes of make_random.h. */
#include "make_random.h"
#include <string.h>

const char *const random_families[] = { "llama", "mixtral", "qwen2",   "qwen3",   "qwen3moe",  "gemma2", "gemma3",
                                        "phi3",  "olmo2",   "smollm3", "gpt-oss", "deepseek2", NULL };

/* clang-format off */
static const struct random_spec shapes[] = {
    { .family = "llama", .n_layer = 2, .n_embd = 64, .n_head = 4, .n_head_kv = 2, .n_ff = 96, .weights = DTYPE_F16 },
    { .family = "llama", .n_layer = 2, .n_embd = 72, .n_head = 6, .n_head_kv = 1, .n_ff = 100, .tied = true, .scaling = RANDOM_LLAMA3,
      .scaling_factor = 8, .n_ctx_orig = 32, .rope_base = 500000 },
    { .family = "llama", .n_layer = 3, .n_embd = 64, .n_head = 4, .n_head_kv = 4, .head_dim = 24, .n_ff = 64, .scaling = RANDOM_LINEAR,
      .scaling_factor = 2.5 },
    { .family = "llama", .n_layer = 2, .n_embd = 64, .n_head = 2, .n_head_kv = 1, .head_dim = 16, .n_ff = 96, .scaling = RANDOM_YARN,
      .scaling_factor = 4, .n_ctx_orig = 4096, .weights = DTYPE_F16 },

    { .family = "mixtral", .n_layer = 2, .n_embd = 64, .n_head = 4, .n_head_kv = 2, .n_ff = 96, .n_expert = 8, .n_expert_used = 2,
      .weights = DTYPE_F16, .experts = DTYPE_F16 },
    { .family = "mixtral", .n_layer = 2, .n_embd = 40, .n_head = 2, .n_head_kv = 1, .n_ff = 52, .n_expert = 3, .n_expert_used = 1 },
    { .family = "mixtral", .n_layer = 2, .n_embd = 64, .n_head = 4, .n_head_kv = 4, .n_ff = 64, .n_expert = 4, .n_expert_used = 4,
      .tied = true, .weights = DTYPE_F16, .experts = DTYPE_Q8_0 },

    { .family = "qwen2", .n_layer = 2, .n_embd = 64, .n_head = 4, .n_head_kv = 2, .n_ff = 96, .weights = DTYPE_F16, .rope_base = 1e6 },
    { .family = "qwen2", .n_layer = 3, .n_embd = 84, .n_head = 7, .n_head_kv = 1, .n_ff = 90, .tied = true },
    { .family = "qwen2", .n_layer = 2, .n_embd = 64, .n_head = 4, .n_head_kv = 1, .n_ff = 96, .scaling = RANDOM_YARN, .scaling_factor = 4,
      .n_ctx_orig = 24 },

    { .family = "qwen3", .n_layer = 2, .n_embd = 64, .n_head = 4, .n_head_kv = 2, .head_dim = 32, .n_ff = 96, .tied = true,
      .weights = DTYPE_F16, .rope_base = 1e6 },
    { .family = "qwen3", .n_layer = 3, .n_embd = 68, .n_head = 3, .n_head_kv = 1, .head_dim = 20, .n_ff = 76 },
    { .family = "qwen3", .n_layer = 2, .n_embd = 64, .n_head = 4, .n_head_kv = 4, .head_dim = 8, .n_ff = 96, .scaling = RANDOM_YARN,
      .scaling_factor = 4, .n_ctx_orig = 20 },

    { .family = "qwen3moe", .n_layer = 2, .n_embd = 64, .n_head = 4, .n_head_kv = 2, .head_dim = 32, .n_ff = 128, .n_expert = 8,
      .n_expert_used = 3, .n_ff_exp = 32, .weights = DTYPE_F16, .experts = DTYPE_F16, .rope_base = 1e6 },
    { .family = "qwen3moe", .n_layer = 3, .n_embd = 60, .n_head = 6, .n_head_kv = 1, .head_dim = 12, .n_ff = 128, .n_expert = 5,
      .n_expert_used = 1, .n_ff_exp = 36 },
    { .family = "qwen3moe", .n_layer = 2, .n_embd = 64, .n_head = 2, .n_head_kv = 2, .head_dim = 16, .n_ff = 64, .n_expert = 16,
      .n_expert_used = 8, .n_ff_exp = 32, .tied = true, .weights = DTYPE_F16, .experts = DTYPE_MXFP4 },

    { .family = "gemma2", .n_layer = 4, .n_embd = 64, .n_head = 4, .n_head_kv = 2, .head_dim = 32, .n_ff = 96, .window = 5,
      .attn_cap = 3, .final_cap = 7, .weights = DTYPE_F16 },
    { .family = "gemma2", .n_layer = 3, .n_embd = 60, .n_head = 3, .n_head_kv = 1, .head_dim = 12, .n_ff = 76, .window = 11,
      .attn_cap = 50, .final_cap = 30 },
    { .family = "gemma2", .n_layer = 46, .n_embd = 32, .n_head = 2, .n_head_kv = 1, .head_dim = 8, .n_ff = 40, .window = 7,
      .attn_cap = 5, .final_cap = 10 },

    { .family = "gemma3", .n_layer = 7, .n_embd = 64, .n_head = 4, .n_head_kv = 2, .head_dim = 32, .n_ff = 96, .window = 5,
      .rope_base = 1e6, .weights = DTYPE_F16 },
    { .family = "gemma3", .n_layer = 6, .n_embd = 52, .n_head = 2, .n_head_kv = 1, .head_dim = 20, .n_ff = 60, .window = 9,
      .rope_base = 1e6, .scaling = RANDOM_LINEAR, .scaling_factor = 8 },

    { .family = "phi3", .n_layer = 2, .n_embd = 64, .n_head = 4, .n_head_kv = 4, .n_ff = 96, .n_ctx_orig = 4096, .n_ctx = 4096,
      .weights = DTYPE_F16 },
    { .family = "phi3", .n_layer = 2, .n_embd = 96, .n_head = 4, .n_head_kv = 1, .n_ff = 80, .n_rot = 18, .scaling = RANDOM_LONGROPE,
      .n_ctx_orig = 16, .n_ctx = 128 },
    { .family = "phi3", .n_layer = 3, .n_embd = 72, .n_head = 6, .n_head_kv = 2, .n_ff = 84, .scaling = RANDOM_LONGROPE,
      .n_ctx_orig = 1024, .n_ctx = 8192, .tied = true },
    { .family = "phi3", .n_layer = 2, .n_embd = 64, .n_head = 4, .n_head_kv = 2, .n_ff = 64, .window = 6, .n_ctx_orig = 128 },

    { .family = "olmo2", .n_layer = 2, .n_embd = 64, .n_head = 4, .n_head_kv = 4, .n_ff = 96, .rope_base = 500000, .weights = DTYPE_F16 },
    { .family = "olmo2", .n_layer = 3, .n_embd = 60, .n_head = 6, .n_head_kv = 1, .n_ff = 68, .rope_base = 500000 },
    { .family = "olmo2", .n_layer = 2, .n_embd = 64, .n_head = 8, .n_head_kv = 2, .n_ff = 96 },

    { .family = "smollm3", .n_layer = 5, .n_embd = 64, .n_head = 4, .n_head_kv = 1, .n_ff = 96, .tied = true, .rope_base = 2e6,
      .weights = DTYPE_F16 },
    { .family = "smollm3", .n_layer = 8, .n_embd = 60, .n_head = 6, .n_head_kv = 2, .n_ff = 52 },

    { .family = "gpt-oss", .n_layer = 4, .n_embd = 64, .n_head = 4, .n_head_kv = 2, .head_dim = 32, .n_ff = 64, .n_expert = 8,
      .n_expert_used = 4, .window = 5, .scaling = RANDOM_YARN, .scaling_factor = 8, .n_ctx_orig = 16, .rope_base = 150000,
      .weights = DTYPE_F16, .experts = DTYPE_MXFP4 },
    { .family = "gpt-oss", .n_layer = 3, .n_embd = 60, .n_head = 6, .n_head_kv = 1, .head_dim = 16, .n_ff = 44, .n_expert = 5,
      .n_expert_used = 1, .window = 12, .scaling = RANDOM_YARN, .scaling_factor = 32, .n_ctx_orig = 4096, .rope_base = 150000 },
    { .family = "gpt-oss", .n_layer = 2, .n_embd = 64, .n_head = 4, .n_head_kv = 4, .head_dim = 8, .n_ff = 32, .n_expert = 4,
      .n_expert_used = 4, .window = 128, .scaling = RANDOM_YARN, .scaling_factor = 2, .n_ctx_orig = 32, .rope_base = 10000,
      .weights = DTYPE_F16, .experts = DTYPE_F16 },

    /* V2-Lite, old layout: no low-rank Q, softmax, shared experts, YaRN with mscale */
    { .family = "deepseek2", .n_layer = 3, .n_embd = 64, .n_head = 4, .head_dim = 24, .n_rot = 8, .v_dim = 16, .rank = 32, .n_ff = 96,
      .n_dense = 1, .n_expert = 8, .n_expert_used = 3, .n_ff_exp = 32, .n_shared = 2, .expert_scale = 1, .scaling = RANDOM_YARN,
      .scaling_factor = 8, .n_ctx_orig = 16, .mscale_all_dim = 0.707, .weights = DTYPE_F16, .experts = DTYPE_F16 },
    /* V2, old layout: low-rank Q, softmax, groups by their best, scale 16 */
    { .family = "deepseek2", .n_layer = 3, .n_embd = 60, .n_head = 3, .head_dim = 20, .n_rot = 8, .v_dim = 14, .rank = 20, .q_rank = 28,
      .n_ff = 68, .n_dense = 1, .n_expert = 12, .n_expert_used = 3, .n_ff_exp = 20, .n_shared = 1, .n_group = 4, .n_group_used = 2,
      .expert_scale = 2.5 },
    /* V3, old layout: sigmoid with bias, groups by their two best, weights renormalized */
    { .family = "deepseek2", .n_layer = 3, .n_embd = 64, .n_head = 4, .head_dim = 24, .n_rot = 8, .v_dim = 16, .rank = 32, .q_rank = 48,
      .n_ff = 96, .n_dense = 1, .n_expert = 16, .n_expert_used = 4, .n_ff_exp = 32, .n_shared = 1, .n_group = 4, .n_group_used = 2,
      .sigmoid = true, .choice_bias = true, .renormalize = true, .expert_scale = 2.5, .scaling = RANDOM_YARN, .scaling_factor = 40,
      .n_ctx_orig = 16, .mscale_all_dim = 1, .weights = DTYPE_F16, .experts = DTYPE_F16 },
    /* V3, new layout */
    { .family = "deepseek2", .n_layer = 3, .n_embd = 64, .n_head = 4, .head_dim = 24, .n_rot = 8, .v_dim = 16, .rank = 32, .q_rank = 48,
      .n_ff = 96, .n_dense = 1, .n_expert = 16, .n_expert_used = 4, .n_ff_exp = 32, .n_shared = 1, .n_group = 4, .n_group_used = 2,
      .sigmoid = true, .choice_bias = true, .renormalize = true, .expert_scale = 2.5, .scaling = RANDOM_YARN, .scaling_factor = 40,
      .n_ctx_orig = 16, .mscale_all_dim = 1, .absorbed = true, .weights = DTYPE_F16, .experts = DTYPE_F16 },
    /* V2-Lite, new layout, odd widths, no dense layer, one expert, no scaling */
    { .family = "deepseek2", .n_layer = 2, .n_embd = 52, .n_head = 5, .head_dim = 18, .n_rot = 6, .v_dim = 22, .rank = 28, .n_ff = 60,
      .n_expert = 6, .n_expert_used = 1, .n_ff_exp = 24, .n_shared = 1, .expert_scale = 1, .absorbed = true },
    /* sigmoid without groups (Kimi K2), one expert group, new layout, 8-bit experts */
    { .family = "deepseek2", .n_layer = 3, .n_embd = 64, .n_head = 2, .head_dim = 48, .n_rot = 16, .v_dim = 32, .rank = 64, .q_rank = 32,
      .n_ff = 96, .n_dense = 1, .n_expert = 8, .n_expert_used = 2, .n_ff_exp = 32, .n_shared = 1, .n_group = 1, .n_group_used = 1,
      .sigmoid = true, .choice_bias = true, .renormalize = true, .expert_scale = 2.827, .absorbed = true, .weights = DTYPE_F16,
      .experts = DTYPE_Q8_0 },
};
/* clang-format on */

int random_spec_count(const char *family)
{
    int n = 0;
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
        n += strcmp(shapes[i].family, family) == 0;
    return n;
}

void random_spec_at(struct random_spec *s, const char *family, int i)
{
    size_t at = 0;
    for (int k = -1; at < ARRAY_LEN(shapes); at++)
        if (strcmp(shapes[at].family, family) == 0 && ++k == i)
            break;
    *s = shapes[at < ARRAY_LEN(shapes) ? at : 0];
    s->seed = 1 + (uint64_t)i;
    s->n_vocab = 96 + 7 * i;
    if (!s->n_head_kv)
        s->n_head_kv = s->n_head;
    if (!s->head_dim)
        s->head_dim = s->n_embd / s->n_head;
    if (!s->n_rot)
        s->n_rot = s->head_dim;
    if (!s->n_ff_exp)
        s->n_ff_exp = s->n_ff;
    if (s->rope_base == 0)
        s->rope_base = 10000;
    if (s->scaling_factor == 0)
        s->scaling_factor = 1;
    if (!s->n_ctx)
        s->n_ctx = s->scaling == RANDOM_YARN ? (int)(s->n_ctx_orig * s->scaling_factor) : 128;
    if (strncmp(s->family, "gemma", 5) == 0)
        s->tied = true;
    s->gain_q = s->gain_o = 1;
}

void random_tokens(const struct random_spec *s, int32_t *tok, int n)
{
    struct rng r;
    rng_init(&r, s->seed * 77 + 5);
    for (int i = 0; i < n; i++)
        tok[i] = (int32_t)(rng_u64(&r) % (uint64_t)s->n_vocab);
}
