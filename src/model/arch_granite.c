/*
 * Granite 3 and 4.1 (IBM 2024): Llama, or its mixture of experts, with the multipliers of muP (Yang et al. 2022):
 *
 *   x  = embed(token) * embedding_multiplier
 *   x += residual_multiplier * (each part)
 *   scores are q . k * attention_multiplier
 *   logits = W_embed rms_norm(x) / logits_scaling
 */
#include "model/arch.h"

int granite_config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    double logits = 1;
    if (json_get_num_opt(j, what, "embedding_multiplier", &hp->embed_scale, err) != 0 ||
        json_get_num_opt(j, what, "residual_multiplier", &hp->residual_scale, err) != 0 ||
        json_get_num_opt(j, what, "attention_multiplier", &hp->attn_scale, err) != 0 ||
        json_get_num_opt(j, what, "logits_scaling", &logits, err) != 0)
        return -1;
    if (!(logits > 0))
        return error_set(err, ERROR_INPUT, "%s: logits_scaling is %g, expected more than 0", what, logits);
    hp->logit_scale = 1 / logits;
    return 0;
}

static int moe_config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    return granite_config(j, what, hp, err) != 0 || config_experts_ff(j, what, hp, err) != 0 ? -1 : 0;
}

const struct arch arch_granite = {
    .name = "granite",
    .hf = { { "granite", "GraniteForCausalLM" } },
    .has = ARCH_ATTN_BIAS | ARCH_ATTN_OUTPUT_BIAS | ARCH_YARN | ARCH_PREDICT_ONLY,
    .activations = "silu",
    .config = granite_config,
    .experts = { .glu = GLU_SILU, .route = { .gate = ROUTE_TOP_SOFTMAX } },
};

const struct arch arch_granitemoe = {
    .name = "granitemoe",
    .hf = { { "granitemoe", "GraniteMoeForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_ATTN_BIAS | ARCH_ATTN_OUTPUT_BIAS | ARCH_PREDICT_ONLY,
    .n_expert = "num_local_experts",
    .activations = "silu",
    .config = moe_config,
    .experts = { .glu = GLU_SILU, .route = { .gate = ROUTE_TOP_SOFTMAX } },
};
