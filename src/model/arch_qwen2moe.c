/*
 * Qwen1.5-MoE and Qwen2-MoE (Yang et al. 2024): Qwen2's attention, routed experts and a shared expert weighted by its own sigmoid gate:
 *
 *   x += sum of w_e Wdown_e (silu(Wgate_e h) * (Wup_e h)) + sigmoid(w_s . h) Wdown_s (silu(Wgate_s h) * (Wup_s h))
 */
#include "model/arch.h"

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    if (config_opt_count(j, what, "shared_expert_intermediate_size", 1, &hp->n_ff_shexp, err) != 0)
        return -1;
    hp->n_expert_shared = hp->n_ff_shexp > 0;
    hp->shared_gate = hp->n_ff_shexp > 0;
    return config_qwen_experts(j, what, hp, err);
}

const struct arch arch_qwen2moe = {
    .name = "qwen2moe",
    .hf = { { "qwen2_moe", "Qwen2MoeForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_ATTN_BIAS | ARCH_YARN | ARCH_PREDICT_ONLY,
    .n_expert = "num_experts",
    .needs = "moe_intermediate_size",
    .activations = "silu",
    .defaults = &(const struct hparams){ .attn_bias = true },
    .config = config,
    .attention = { .neox = true },
    .experts = { .glu = GLU_SILU, .route = { .gate = ROUTE_SOFTMAX }, .model_norm = true },
};
