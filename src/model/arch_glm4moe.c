/*
 * GLM-4.5 to 4.7 (GLM Team 2025): sigmoid-routed experts with a bias, a shared expert, some leading dense layers; q, k, v biases, half
 * of every head rotated, in the larger models query and key head norms. The FFN's norm is called post_attention_norm.
 */
#include "model/arch.h"

static void block(struct builder *b)
{
    const struct hparams *hp = b->hp;
    const struct experts_spec experts = { .glu = GLU_SILU, .route = model_route(hp, ROUTE_SIGMOID) };
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    build_attention(b, BUF_NORM, &(struct attention_spec){ .neox = true, .head_norms = hp->qk_norm });
    build_add(b, ROLE_ATTN_RESIDUAL, BUF_X, BUF_OUT);
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "post_attention_norm");
    if (hparams_expert_layer(hp, (uint32_t)b->layer))
        build_experts(b, BUF_NORM, &experts);
    else
        build_ffn(b, BUF_NORM, GLU_SILU, false);
    build_add(b, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT);
}

/* attention_bias covers q, k and v. */
static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    hp->attn_output_bias = false;
    hp->expert_bias = true;
    hp->expert_norm = true;
    return config_shared_experts(j, what, hp, err) != 0 ||
                   json_get_bool_opt(j, what, "use_qk_norm", &hp->qk_norm, err) != 0
               ? -1
               : 0;
}

const struct arch arch_glm4moe = {
    .name = "glm4moe",
    .hf = { { "glm4_moe", "Glm4MoeForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_ATTN_BIAS | ARCH_YARN | ARCH_PREDICT_ONLY,
    .n_expert = "n_routed_experts",
    .needs = "moe_intermediate_size first_k_dense_replace",
    .says = "n_shared_experts",
    .activations = "silu",
    .config = config,
    .block = block,
};
