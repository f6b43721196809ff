/*
 * DeepSeekMoE (Dai et al. 2024), before latent attention: Llama's block; after a leading dense layer many small experts, and shared experts
 * merged into one of their total width.
 */
#include "model/arch.h"

/* Experts in every layer after first_k_dense_replace, plus shared experts of one expert's width each. */
int config_shared_experts(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    int64_t freq = 1;
    if (json_get_int_opt(j, what, "moe_layer_freq", 0, UINT32_MAX, &freq, err) != 0 ||
        config_opt_count(j, what, "n_shared_experts", 0, &hp->n_expert_shared, err) != 0 ||
        config_opt_count(j, what, "first_k_dense_replace", 0, &hp->n_layer_dense, err) != 0 ||
        config_opt_count(j, what, "n_group", 0, &hp->n_expert_group, err) != 0 ||
        config_opt_count(j, what, "topk_group", 0, &hp->n_expert_group_used, err) != 0 ||
        json_get_bool_opt(j, what, "norm_topk_prob", &hp->expert_norm, err) != 0 ||
        json_get_num_opt(j, what, "routed_scaling_factor", &hp->expert_scale, err) != 0)
        return -1;
    if (freq != 1)
        return error_set(err, ERROR_INPUT, "%s: moe_layer_freq is %lld, and only 1, experts in every layer, is supported",
                         what, (long long)freq);
    return config_shared_width(what, hp, err);
}

const struct arch arch_deepseek = {
    .name = "deepseek",
    .hf = { { "deepseek", "DeepseekForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_PREDICT_ONLY,
    .n_expert = "n_routed_experts",
    .needs = "moe_intermediate_size first_k_dense_replace",
    .says = "n_shared_experts",
    .activations = "silu",
    .config = config_shared_experts,
    .experts = { .glu = GLU_SILU, .route = { .gate = ROUTE_SOFTMAX }, .model_norm = true },
};
