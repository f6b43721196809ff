/*
 * Phi-1.5 and Phi-2 (Li et al. 2023; Javaheripi et al. 2023): GPT-J's block with biases everywhere, part of each head
 * rotating.
 *
 *   x  = embed(token)
 *   for each layer:
 *     x += Wo attention(h) + b + Wdown gelu(Wup h + b) + b,   h = layer_norm(x)
 *   logits = W_head layer_norm(x) + b
 *
 * Fields: transformers' PhiConfig.
 */
#include "model/arch.h"

static void block(struct builder *b)
{
    gptj_block(b, &(struct attention_spec){ .neox = true }, GLU_GELU);
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    if (config_only(j, what, "qk_layernorm", false, err) != 0)
        return -1;
    hp->head_bias = true;
    return config_rotary_part(j, what, "partial_rotary_factor", 0.5, hp, err);
}

const struct arch arch_phi2 = {
    .name = "phi2",
    .hf = { { "phi", "PhiForCausalLM" } },
    .has = ARCH_PREDICT_ONLY | ARCH_ATTN_BIAS | ARCH_ATTN_OUTPUT_BIAS | ARCH_HEAD_BIAS,
    .activations = CONFIG_GELU,
    .names = (const struct config_name[]){ { "rms_norm_eps", "layer_norm_eps", NULL }, { 0 } },
    .defaults = &(const struct hparams){
        .attn_bias = true, .attn_output_bias = true, .ffn_bias = true, .norm = NORM_LAYER,
    },
    .config = config,
    .block = block,
};
