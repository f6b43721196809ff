/*
 * GPT-J (Wang and Komatsuzaki 2021), parallel attention and FFN:
 *
 *   x  = embed(token)
 *   for each layer:
 *     x += Wo attention(h) + Wdown gelu(Wup h + b) + b,   h = layer_norm(x)
 *   logits = W_head layer_norm(x) + b
 *
 * The first rotary_dim elements of each head rotate. Fields: transformers' GPTJConfig.
 */
#include "model/arch.h"

static void block(struct builder *b)
{
    gptj_block(b, &(struct attention_spec){ 0 }, GLU_GELU);
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    uint32_t n_rot = 64;
    if (config_only(j, what, "scale_attn_weights", true, err) != 0 ||
        config_opt_count(j, what, "rotary_dim", 2, &n_rot, err) != 0)
        return -1;
    if (n_rot > hp->head_dim || n_rot % 2 != 0)
        return error_set(err, ERROR_INPUT, "%s: rotary_dim is %u, expected an even number of at most %u, the width of a head",
                         what, n_rot, hp->head_dim);
    hp->n_rot = n_rot;
    hp->head_bias = true;
    return 0;
}

const struct arch arch_gptj = {
    .name = "gptj",
    .hf = { { "gptj", "GPTJForCausalLM" } },
    .has = ARCH_PREDICT_ONLY | ARCH_HEAD_BIAS,
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
    .defaults = &(const struct hparams){ .norm = NORM_LAYER, .ffn_bias = true },
    .config = config,
    .block = block,
};
