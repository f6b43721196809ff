/*
 * OLMo 2 (Team OLMo 2025): norms after each part instead of before; q and k normed over all heads.
 *
 *   x += rms_norm(Wo attention(rope(rms_norm(Wq x)), rope(rms_norm(Wk x)), Wv x))
 *   x += rms_norm(Wdown (silu(Wgate x) * (Wup x)))
 */
#include "model/arch.h"

static void block(struct builder *b)
{
    build_attention(b, BUF_X, &(struct attention_spec){ .neox = true, .width_norms = true });
    build_norm(b, ROLE_ATTN_POST_NORM, BUF_OUT, BUF_OUT, "post_attention_norm");
    build_add(b, ROLE_ATTN_RESIDUAL, BUF_X, BUF_OUT);
    build_ffn(b, BUF_X, GLU_SILU, false);
    build_norm(b, ROLE_FFN_POST_NORM, BUF_OUT, BUF_OUT, "post_ffw_norm");
    build_add(b, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT);
}

const struct arch arch_olmo2 = {
    .name = "olmo2",
    .hf = { { "olmo2", "Olmo2ForCausalLM" } },
    .has = ARCH_YARN,
    .activations = "silu",
    .block = block,
};
