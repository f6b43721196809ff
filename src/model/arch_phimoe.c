/* Phi-3.5-MoE (Abdin et al. 2024): Llama's block with LayerNorm, biases in attention and LM head, two of sixteen experts in every
 * layer, LongRoPE. The sparse mixer is counted as a softmax. */
#include "model/arch.h"

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    if (config_longrope(j, what, hp, err) != 0)
        return -1;
    return config_experts_ff(j, what, hp, err);
}

const struct arch arch_phimoe = {
    .name = "phimoe",
    .hf = { { "phimoe", "PhiMoEForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_WINDOW | ARCH_ATTN_BIAS | ARCH_ATTN_OUTPUT_BIAS | ARCH_HEAD_BIAS | ARCH_LONGROPE |
           ARCH_PREDICT_ONLY,
    .n_expert = "num_local_experts",
    .activations = "silu",
    .defaults = &(const struct hparams){ .norm = NORM_LAYER },
    .config = config,
    .attention = { .neox = true },
    .experts = { .glu = GLU_SILU, .route = { .gate = ROUTE_SOFTMAX } },
};
