/*
 * BLOOM (BigScience 2022): GPT-2 without positions; scores are biased by distance instead (ALiBi: Press et al. 2022),
 * and the embeddings are normed.
 *
 *   x  = layer_norm(embed(token))
 *   for each layer:
 *     x += Wo attention(Wqkv h + b) + b,     h = layer_norm(x);   score(i, j) - m_head (i - j)
 *     x += Wdown gelu(Wup h + b) + b,        h = layer_norm(x)
 *   logits = W_embed layer_norm(x)
 *
 * Fields: transformers' BloomConfig.
 */
#include "model/arch.h"

static void build(struct builder *b)
{
    build_embed(b, 0);
    build_norm(b, ROLE_EMBED_NORM, BUF_X, BUF_X, "token_embd_norm");
    build_blocks(b, gpt2_block);
    build_norm(b, ROLE_OUTPUT_NORM, BUF_NORM, BUF_X, "output_norm");
    build_lm_head(b, BUF_NORM, b->hp->n_embd);
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    (void)hp;
    return config_only(j, what, "apply_residual_connection_post_layernorm", false, err);
}

const struct arch arch_bloom = {
    .name = "bloom",
    .hf = { { "bloom", "BloomForCausalLM" } },
    .has = ARCH_PREDICT_ONLY | ARCH_ATTN_BIAS | ARCH_ATTN_OUTPUT_BIAS,
    .activations = CONFIG_GELU,
    .names = (const struct config_name[]){
        { "hidden_size", "hidden_size", "n_embed" },
        { "num_hidden_layers", "n_layer", "num_hidden_layers" },
        { "num_attention_heads", "n_head", "num_attention_heads" },
        { "max_position_embeddings", "seq_length", "max_position_embeddings" },
        { "rms_norm_eps", "layer_norm_epsilon", NULL },
        { 0 },
    },
    .ff_factor = 4,
    .defaults = &(const struct hparams){
        .attn_bias = true, .attn_output_bias = true, .ffn_bias = true, .norm = NORM_LAYER, .tied = true, .alibi = true,
    },
    .config = config,
    .build = build,
};
