/*
 * gpt-oss (OpenAI 2025): experts in MXFP4, biases everywhere, every other layer windowed, and attention sinks: a learned logit per head
 * in the softmax's denominator.
 */
#include "model/arch.h"

static void block(struct builder *b)
{
    static const struct experts_spec experts = { .glu = GLU_SWIGLU_OAI, .route = { .gate = ROUTE_TOP_SOFTMAX }, .bias = true };
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    build_attention(b, BUF_NORM, &(struct attention_spec){ .neox = true, .sinks = true });
    build_add(b, ROLE_ATTN_RESIDUAL, BUF_X, BUF_OUT);
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "post_attention_norm");
    build_experts(b, BUF_NORM, &experts);
    build_add(b, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT);
}

static int gguf(const struct gguf *g, struct hparams *hp, struct error *err)
{
    if (hp->n_expert == 0)
        return error_set(err, ERROR_INPUT, "%s: gpt-oss.expert_count is missing or 0", gguf_path(g));
    if (hp->n_ff_exp == 0)
        hp->n_ff_exp = hp->n_ff;
    return 0;
}

const struct arch arch_gpt_oss = {
    .name = "gpt-oss",
    .hf = { { "gpt_oss", "GptOssForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_WINDOW | ARCH_ATTN_BIAS | ARCH_ATTN_OUTPUT_BIAS | ARCH_YARN,
    .n_expert = "num_local_experts",
    .needs = "num_key_value_heads head_dim",
    .activations = "silu",
    .defaults = &(const struct hparams){
        .attn_bias = true, .attn_output_bias = true, .window = 128, .window_period = 2, .rope_theta = 150000,
    },
    .gguf = gguf,
    .config = config_experts_ff,
    .block = block,
};
