/*
 * StableLM (Tow et al. 2023; Bellagente et al. 2024): Llama with LayerNorm, a quarter of each head rotating.
 *
 *   x  = embed(token)
 *   for each layer:
 *     x += Wo attention(h),                             h = layer_norm(x);  2-1.6B: q, k and v have biases
 *     x += Wdown (silu(Wgate h) * (Wup h)),             h = layer_norm(x)
 *   logits = W_head layer_norm(x)
 *
 * 2-12B runs attention and FFN in parallel after one norm (use_parallel_residual) and norms query and key heads with
 * weights of its own and no bias (qk_layernorm). Fields: transformers' StableLmConfig.
 */
#include "model/arch.h"

static void block(struct builder *b)
{
    const struct hparams *hp = b->hp;
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    build_attention(b, BUF_NORM, &(struct attention_spec){ .neox = true, .layer_norms = hp->qk_norm });
    build_add(b, ROLE_ATTN_RESIDUAL, BUF_X, BUF_OUT);
    if (!hp->parallel)
        build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "ffn_norm");
    build_ffn(b, BUF_NORM, GLU_SILU, false);
    build_add(b, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT);
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    if (json_get_bool_opt(j, what, "use_qkv_bias", &hp->attn_bias, err) != 0 ||
        json_get_bool_opt(j, what, "qk_layernorm", &hp->qk_norm, err) != 0 ||
        json_get_bool_opt(j, what, "use_parallel_residual", &hp->parallel, err) != 0)
        return -1;
    return config_rotary_part(j, what, "partial_rotary_factor", 0.25, hp, err);
}

const struct arch arch_stablelm = {
    .name = "stablelm",
    .hf = { { "stablelm", "StableLmForCausalLM" } },
    .has = ARCH_PREDICT_ONLY | ARCH_ATTN_BIAS,
    .activations = "silu",
    .names = (const struct config_name[]){ { "rms_norm_eps", "layer_norm_eps", NULL }, { 0 } },
    .defaults = &(const struct hparams){ .norm = NORM_LAYER, .n_ctx_train = 4096 },
    .config = config,
    .block = block,
};
