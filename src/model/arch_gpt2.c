/*
 * GPT-2 (Radford et al. 2019):
 *
 *   x  = embed(token) + position(p)                       learned rows, one a position
 *   for each layer:
 *     x += Wo attention(Wqkv h + b) + b,     h = layer_norm(x)
 *     x += Wdown gelu(Wup h + b) + b,        h = layer_norm(x)
 *   logits = W_embed layer_norm(x)
 *
 * Fields: transformers' GPT2Config.
 */
#include "model/arch.h"

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    if (config_only(j, what, "scale_attn_weights", true, err) != 0 ||
        config_only(j, what, "scale_attn_by_inverse_layer_idx", false, err) != 0 ||
        config_only(j, what, "add_cross_attention", false, err) != 0)
        return -1;
    hp->n_pos = hp->n_ctx_train;
    return 0;
}

const struct arch arch_gpt2 = {
    .name = "gpt2",
    .hf = { { "gpt2", "GPT2LMHeadModel" } },
    .has = ARCH_PREDICT_ONLY | ARCH_ATTN_BIAS | ARCH_ATTN_OUTPUT_BIAS,
    .activations = CONFIG_GELU,
    .names = (const struct config_name[]){
        { "hidden_size", "n_embd", "hidden_size" },
        { "num_hidden_layers", "n_layer", "num_hidden_layers" },
        { "num_attention_heads", "n_head", "num_attention_heads" },
        { "intermediate_size", "n_inner", NULL },
        { "max_position_embeddings", "n_positions", "max_position_embeddings" },
        { "rms_norm_eps", "layer_norm_epsilon", NULL },
        { "hidden_act", "activation_function", NULL },
        { 0 },
    },
    .ff_factor = 4,
    .defaults = &(const struct hparams){
        .attn_bias = true, .attn_output_bias = true, .ffn_bias = true, .norm = NORM_LAYER, .tied = true,
        .n_ctx_train = 1024,
    },
    .config = config,
    .block = gpt2_block,
};
