/*
 * Phi-3-small (Abdin et al. 2024): LayerNorm, biases, and a gate, with z = clamp(Wup h + b):
 *
 *   x  = embed(token) * mup_embedding_multiplier
 *   for each layer:
 *     x += Wo attention(Wqkv h + b) + b,                      h = layer_norm(x)
 *     x += Wdown (g / (1 + exp(-1.702 g)) (u + 1)) + b,       g, u = the halves of z, h = layer_norm(x)
 *   logits = W_embed layer_norm(x) / mup_width_multiplier
 *
 * The gate is gpt-oss's with another limit: methods.md (13). In all layers but every dense_attention_every_n_layers-th
 * a head sees blocks only: the latest ones, and one in blocksparse_vert_stride of the others. They are counted as dense:
 * FLOP and cache bytes are then upper bounds. Source: microsoft/Phi-3-small-8k-instruct, modeling_phi3_small.py (confidence: medium).
 */
#include "model/arch.h"

static void block(struct builder *b)
{
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    build_attention(b, BUF_NORM, &(struct attention_spec){ .fused = true, .neox = true });
    build_add(b, ROLE_ATTN_RESIDUAL, BUF_X, BUF_OUT);
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "ffn_norm");
    build_ffn(b, BUF_NORM, GLU_SWIGLU_OAI, true);
    build_add(b, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT);
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    double stretch = 1, embed = 10, width = 8, attn = 1;
    bool mup = true;
    hp->rope_theta = 1e6;
    if (json_get_num_opt(j, what, "rope_embedding_base", &hp->rope_theta, err) != 0 ||
        json_get_num_opt(j, what, "rope_position_scale", &stretch, err) != 0 ||
        json_get_num_opt(j, what, "mup_embedding_multiplier", &embed, err) != 0 ||
        json_get_num_opt(j, what, "mup_width_multiplier", &width, err) != 0 ||
        json_get_num_opt(j, what, "mup_attn_multiplier", &attn, err) != 0 ||
        json_get_bool_opt(j, what, "mup_use_scaling", &mup, err) != 0)
        return -1;
    if (stretch != 1)
        return error_set(err, ERROR_INPUT, "%s: rope_position_scale is %g, which is not supported yet", what, stretch);
    if (!(width >= 1e-3 && width <= 1e6))
        return error_set(err, ERROR_INPUT, "%s: mup_width_multiplier is %g, expected 0.001 to 1e6", what, width);
    hp->embed_scale = embed;
    hp->logit_scale = 1 / width;
    hp->attn_scale = mup ? attn / hp->head_dim : 0;
    return 0;
}

const struct arch arch_phi3small = {
    .name = "phi3small",
    .hf = { { "phi3small", "Phi3SmallForCausalLM" } },
    .has = ARCH_PREDICT_ONLY | ARCH_ATTN_BIAS | ARCH_ATTN_OUTPUT_BIAS,
    .activations = "gegelu",
    .names = (const struct config_name[]){
        { "intermediate_size", "ff_intermediate_size", NULL },
        { "rms_norm_eps", "layer_norm_epsilon", NULL },
        { 0 },
    },
    .defaults = &(const struct hparams){
        .attn_bias = true, .attn_output_bias = true, .ffn_bias = true, .norm = NORM_LAYER, .tied = true,
        .n_ctx_train = 8192,
    },
    .config = config,
    .block = block,
};
