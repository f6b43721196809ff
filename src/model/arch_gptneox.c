/*
 * GPT-NeoX (Black et al. 2022) and Pythia (Biderman et al. 2023):
 *
 *   x  = embed(token)
 *   for each layer:
 *     x += Wo attention(Wqkv h1 + b) + b + Wdown gelu(Wup h2 + b) + b,    h1 = layer_norm(x), h2 = layer_norm'(x)
 *   logits = W_head layer_norm(x)
 *
 * A quarter of each head rotates. Without use_parallel_residual the FFN follows the attention, as in GPT-2.
 * Fields: transformers' GPTNeoXConfig.
 */
#include "model/arch.h"

static const struct attention_spec attention = { .fused = true, .neox = true };

static void parallel_block(struct builder *b)
{
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    build_attention(b, BUF_NORM, &attention);
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "ffn_norm");
    build_add(b, ROLE_ATTN_RESIDUAL, BUF_X, BUF_OUT);
    build_mlp(b, BUF_NORM, GLU_GELU);
    build_add(b, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT);
}

static void block(struct builder *b)
{
    if (b->hp->parallel)
        parallel_block(b);
    else
        classic_block(b, &attention, GLU_GELU);
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    bool bias = true;
    if (json_get_bool_opt(j, what, "attention_bias", &bias, err) != 0 ||
        json_get_bool_opt(j, what, "use_parallel_residual", &hp->parallel, err) != 0 ||
        json_get_num_opt(j, what, "rotary_emb_base", &hp->rope_theta, err) != 0)
        return -1;
    hp->attn_bias = hp->attn_output_bias = bias;
    return config_rotary_part(j, what, "rotary_pct", 0.25, hp, err);
}

const struct arch arch_gptneox = {
    .name = "gptneox",
    .hf = { { "gpt_neox", "GPTNeoXForCausalLM" } },
    .has = ARCH_PREDICT_ONLY | ARCH_ATTN_BIAS | ARCH_ATTN_OUTPUT_BIAS,
    .activations = CONFIG_GELU,
    .names = (const struct config_name[]){ { "rms_norm_eps", "layer_norm_eps", NULL }, { 0 } },
    .defaults = &(const struct hparams){ .norm = NORM_LAYER, .ffn_bias = true, .parallel = true },
    .config = config,
    .block = block,
};
