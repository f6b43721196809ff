/*
 * Qwen3-Next (Qwen 2025) and Qwen3.5: three Gated DeltaNet layers per gated attention layer, a norm before each, and experts with a
 * gated shared one, or (Qwen3.5 dense) an FFN. Norms multiply by 1 + w, at the same cost. Tensor shapes: transformers,
 * models/qwen3_next and models/qwen3_5.
 */
#include "model/hybrid.h"

static void mix(struct builder *b, bool split)
{
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    if (hybrid_parts(b) & PART_RECURRENCE)
        build_delta_net(b, split);
    else
        build_attention(b, BUF_NORM, &(struct attention_spec){ .neox = true, .head_norms = true, .gated = true });
    build_residual(b, ROLE_ATTN_RESIDUAL);
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "post_attention_norm");
    if (hybrid_parts(b) & PART_EXPERTS)
        build_experts(b, BUF_NORM,
                      &(struct experts_spec){ .glu = GLU_SILU,
                                              .route = { .gate = ROUTE_SOFTMAX, .norm = b->hp->expert_norm } });
    else
        build_ffn(b, BUF_NORM, GLU_SILU, false);
    build_residual(b, ROLE_FFN_RESIDUAL);
}

static void block_next(struct builder *b)
{
    mix(b, false);
}

static void block_35(struct builder *b)
{
    mix(b, true);
}

static int shared_expert(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    if (config_opt_count(j, what, "shared_expert_intermediate_size", 0, &hp->n_ff_shexp, err) != 0 ||
        json_get_bool_opt(j, what, "norm_topk_prob", &hp->expert_norm, err) != 0)
        return -1;
    const bool norm = hp->expert_norm;
    hp->n_expert_shared = hp->n_ff_shexp > 0;
    hp->shared_gate = hp->n_expert_shared > 0;
    if (config_qwen_experts(j, what, hp, err) != 0)
        return -1;
    hp->expert_norm = norm;
    return 0;
}

/* layer_types, else every full_attention_interval-th layer is full attention. */
static int layers(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    const uint8_t mlp = hp->n_expert > 0 ? PART_EXPERTS : PART_FFN;
    const struct layer_word words[] = { { "linear_attention", PART_RECURRENCE | mlp },
                                        { "full_attention", PART_ATTENTION | mlp },
                                        { NULL, 0 } };
    uint32_t interval = 4; /* transformers' default */
    if (config_opt_count(j, what, "full_attention_interval", 1, &interval, err) != 0)
        return -1;
    if (json_is_array(json_object_get(j, "layer_types")))
        return hybrid_layers(j, what, "layer_types", words, hp, err);
    hybrid_every(hp, interval, interval - 1, PART_ATTENTION, PART_RECURRENCE);
    hybrid_every(hp, 1, 0, mlp, mlp);
    return 0;
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    static const struct hybrid_fields fields = { "linear_num_value_heads", "linear_value_head_dim", "linear_num_key_heads",
                                                 "linear_key_head_dim", "linear_conv_kernel_dim" };
    hp->hybrid.norm = true;
    if (hybrid_dimensions(j, what, &fields, hp, err) != 0 || hybrid_flag(j, what, "attn_output_gate", true, err) != 0 ||
        layers(j, what, hp, err) != 0 || (hp->n_expert > 0 && shared_expert(j, what, hp, err) != 0))
        return -1;
    return hybrid_check(what, "intermediate_size", hp, err);
}

static const struct hparams defaults = {
    .n_ff = 1, /* Qwen3.5 MoE has no intermediate_size; checked by hybrid_check */
    .expert_norm = true, /* not in Qwen3.5's files */
};

const struct arch arch_qwen3next = {
    .name = "qwen3next",
    .hf = { { "qwen3_next", "Qwen3NextForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_YARN | ARCH_HYBRID | ARCH_PREDICT_ONLY,
    .n_expert = "num_experts",
    .needs = "head_dim moe_intermediate_size",
    .activations = "silu",
    .defaults = &defaults,
    .config = config,
    .block = block_next,
};

const struct arch arch_qwen35 = {
    .name = "qwen35",
    .hf = { { "qwen3_5", "Qwen3_5ForConditionalGeneration" }, { "qwen3_5_text", "Qwen3_5ForCausalLM" } },
    .has = ARCH_YARN | ARCH_HYBRID | ARCH_PREDICT_ONLY,
    .needs = "head_dim",
    .activations = "silu",
    .defaults = &defaults,
    .config = config,
    .block = block_35,
};

const struct arch arch_qwen35moe = {
    .name = "qwen35moe",
    .hf = { { "qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration" }, { "qwen3_5_moe_text", "Qwen3_5MoeForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_YARN | ARCH_HYBRID | ARCH_PREDICT_ONLY,
    .n_expert = "num_experts",
    .needs = "head_dim moe_intermediate_size",
    .activations = "silu",
    .defaults = &defaults,
    .config = config,
    .block = block_35,
};
