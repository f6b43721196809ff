/* Qwen2 and Qwen2.5 (Yang et al. 2024): Llama with biases on q, k and v; rotation by halves. */
#include "model/arch.h"

static void block(struct builder *b)
{
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    build_attention(b, BUF_NORM, &(struct attention_spec){ .neox = true });
    build_add(b, ROLE_ATTN_RESIDUAL, BUF_X, BUF_OUT);
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "ffn_norm");
    build_ffn(b, BUF_NORM, GLU_SILU, false);
    build_add(b, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT);
}

static void build(struct builder *b)
{
    build_rope_table(b, b->hp->rope_theta, true);
    build_model(b, 0, block);
}

static void defaults(struct hparams *hp)
{
    hp->attn_bias = true;
}

const struct arch arch_qwen2 = {
    .name = "qwen2",
    .hf = { { "qwen2", "Qwen2ForCausalLM" } },
    .has = ARCH_ATTN_BIAS | ARCH_YARN,
    .activations = "silu",
    .defaults = defaults,
    .config = config_no_qwen_window,
    .build = build,
};
