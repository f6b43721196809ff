/* OLMoE (Muennighoff et al. 2024): Llama's block with q and k normed over all heads, and small experts in every layer. A clamp of
 * q, k, v (clip_qkv) is not counted. */
#include "model/arch.h"

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    if (json_get_bool_opt(j, what, "norm_topk_prob", &hp->expert_norm, err) != 0)
        return -1;
    return config_experts_ff(j, what, hp, err);
}

const struct arch arch_olmoe = {
    .name = "olmoe",
    .hf = { { "olmoe", "OlmoeForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_PREDICT_ONLY,
    .n_expert = "num_experts",
    .activations = "silu",
    .config = config,
    .attention = { .neox = true, .width_norms = true },
    .experts = { .glu = GLU_SILU, .route = { .gate = ROUTE_SOFTMAX }, .model_norm = true },
};
