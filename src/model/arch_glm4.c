/*
 * GLM-4-0414 (GLM Team 2025): Llama's block with norms after attention and FFN too, fused gate and up, half of every head rotated, and (9B)
 * q, k, v biases. Tensor names: ggml-org/llama.cpp, glm4.
 */
#include "model/arch.h"

static void block(struct builder *b)
{
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    build_attention(b, BUF_NORM, &(struct attention_spec){ 0 });
    build_norm(b, ROLE_ATTN_POST_NORM, BUF_OUT, BUF_OUT, "post_attention_norm");
    build_add(b, ROLE_ATTN_RESIDUAL, BUF_X, BUF_OUT);
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "ffn_norm");
    build_ffn(b, BUF_NORM, GLU_SILU, true);
    build_norm(b, ROLE_FFN_POST_NORM, BUF_OUT, BUF_OUT, "post_ffw_norm");
    build_add(b, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT);
}

/* attention_bias covers q, k and v; half of a head rotates by default (transformers). */
static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    hp->attn_output_bias = false;
    return config_rotary_part(j, what, "partial_rotary_factor", 0.5, hp, err);
}

const struct arch arch_glm4 = {
    .name = "glm4",
    .hf = { { "glm4", "Glm4ForCausalLM" } },
    .has = ARCH_ATTN_BIAS | ARCH_YARN | ARCH_PREDICT_ONLY,
    .activations = "silu",
    .config = config,
    .block = block,
};
