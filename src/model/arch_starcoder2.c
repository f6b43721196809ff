/*
 * StarCoder2 (Lozhkov et al. 2024): GPT-2's block with rotation, shared key and value heads and a window.
 *
 *   x  = embed(token)
 *   for each layer:
 *     x += Wo attention(h) + b,              h = layer_norm(x)
 *     x += Wdown gelu(Wup h + b) + b,        h = layer_norm(x)
 *   logits = W_head layer_norm(x)
 *
 * Fields: transformers' Starcoder2Config.
 */
#include "model/arch.h"

static void block(struct builder *b)
{
    classic_block(b, &(struct attention_spec){ .neox = true }, GLU_GELU);
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    bool bias = true;
    if (json_get_bool_opt(j, what, "use_bias", &bias, err) != 0)
        return -1;
    classic_biases(hp, bias);
    return 0;
}

const struct arch arch_starcoder2 = {
    .name = "starcoder2",
    .hf = { { "starcoder2", "Starcoder2ForCausalLM" } },
    .has = ARCH_PREDICT_ONLY | ARCH_ATTN_BIAS | ARCH_ATTN_OUTPUT_BIAS | ARCH_WINDOW,
    .activations = CONFIG_GELU,
    .names = (const struct config_name[]){ { "rms_norm_eps", "norm_epsilon", NULL }, { 0 } },
    .defaults = &(const struct hparams){ .norm = NORM_LAYER, .tied = true, .n_ctx_train = 4096 },
    .config = config,
    .block = block,
};
