/* Qwen3-MoE (Yang et al. 2025): Qwen3's attention, experts in every layer, weights from the softmax over all experts. */
#include "model/arch.h"

static int check_gguf(const struct gguf *g, struct hparams *hp, struct error *err)
{
    if (hp->n_expert == 0)
        return error_set(err, ERROR_INPUT, "%s: qwen3moe.expert_count is missing or 0", gguf_path(g));
    return 0;
}

/* Mixed dense and MoE layers are not supported. */
int config_qwen_experts(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    int64_t step = 1;
    hp->expert_norm = false; /* transformers' default */
    if (json_get_int_opt(j, what, "decoder_sparse_step", 1, UINT32_MAX, &step, err) != 0 ||
        json_get_bool_opt(j, what, "norm_topk_prob", &hp->expert_norm, err) != 0)
        return -1;
    if (step != 1 || json_array_size(json_object_get(j, "mlp_only_layers")) > 0)
        return error_set(err, ERROR_INPUT,
                         "%s: decoder_sparse_step is %lld and mlp_only_layers has %zu entries: only models with experts "
                         "in every layer are supported (1 and none)",
                         what, (long long)step, json_array_size(json_object_get(j, "mlp_only_layers")));
    return config_no_qwen_window(j, what, hp, err);
}

const struct arch arch_qwen3moe = {
    .name = "qwen3moe",
    .hf = { { "qwen3_moe", "Qwen3MoeForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_YARN,
    .n_expert = "num_experts",
    .needs = "head_dim moe_intermediate_size",
    .activations = "silu",
    .defaults = &(const struct hparams){
        .expert_norm = true, /* not in files */
    },
    .gguf = check_gguf,
    .config = config_qwen_experts,
    .attention = { .neox = true, .head_norms = true },
    .experts = { .glu = GLU_SILU, .route = { .gate = ROUTE_SOFTMAX }, .model_norm = true },
};
