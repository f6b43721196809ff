/*
 * Nemotron-H and Nemotron 3 (NVIDIA 2025): each layer is a norm and one mixer: Mamba-2, attention without rotation, experts, or FFN.
 * Experts and FFN are ungated: Wdown relu(Wup h)^2. Routed experts of Nemotron 3 Super and Ultra work in a narrower space
 * (moe_latent_size) between two projections. Tensor shapes: the model's modeling_nemotron_h.py.
 */
#include "model/hybrid.h"
#include <string.h>

static void network(struct builder *b)
{
    const struct hparams *hp = b->hp;
    build_matmul(b, ROLE_FFN_UP, BUF_UP, BUF_NORM, "ffn_up", hp->n_ff, hp->n_embd, false);
    build_op(b, OP_ACT, ROLE_FFN_ACT, BUF_GATE, BUF_UP, hp->n_ff)->glu = GLU_RELU2;
    build_matmul(b, ROLE_FFN_DOWN, BUF_OUT, BUF_GATE, "ffn_down", hp->n_embd, hp->n_ff, false);
}

static void block(struct builder *b)
{
    const unsigned parts = hybrid_parts(b);
    const bool ffn = parts & (PART_FFN | PART_EXPERTS);
    build_norm(b, ffn ? ROLE_FFN_NORM : ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    if (parts & PART_RECURRENCE)
        build_mamba2(b);
    else if (parts & PART_ATTENTION)
        build_attention(b, BUF_NORM, &(struct attention_spec){ .no_rope = true });
    else if (parts & PART_EXPERTS)
        build_experts(b, BUF_NORM, &(struct experts_spec){ .glu = GLU_RELU2, .route = model_route(b->hp, ROUTE_SIGMOID) });
    else
        network(b);
    build_residual(b, ffn ? ROLE_FFN_RESIDUAL : ROLE_ATTN_RESIDUAL);
}

static int layers(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    static const struct layer_word letters[] = {
        { "M", PART_RECURRENCE }, { "*", PART_ATTENTION }, { "E", PART_EXPERTS }, { "-", PART_FFN }, { NULL, 0 }
    };
    static const struct layer_word words[] = {
        { "mamba", PART_RECURRENCE }, { "attention", PART_ATTENTION }, { "moe", PART_EXPERTS }, { "mlp", PART_FFN }, { NULL, 0 }
    };
    const bool listed = json_is_array(json_object_get(j, "layers_block_type"));
    return hybrid_layers(j, what, listed ? "layers_block_type" : "hybrid_override_pattern", listed ? words : letters, hp, err);
}

static int expert_fields(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    if (config_needs(j, what, "moe_intermediate_size", false, err) != 0 ||
        config_opt_count(j, what, "moe_shared_expert_intermediate_size", 0, &hp->n_ff_shexp, err) != 0 ||
        config_opt_count(j, what, "n_shared_experts", 0, &hp->n_expert_shared, err) != 0 ||
        config_opt_count(j, what, "moe_latent_size", 1, &hp->n_embd_exp, err) != 0 ||
        config_opt_count(j, what, "n_group", 0, &hp->n_expert_group, err) != 0 ||
        config_opt_count(j, what, "topk_group", 0, &hp->n_expert_group_used, err) != 0 ||
        json_get_bool_opt(j, what, "norm_topk_prob", &hp->expert_norm, err) != 0 ||
        json_get_num_opt(j, what, "routed_scaling_factor", &hp->expert_scale, err) != 0)
        return -1;
    hp->expert_bias = true;
    return 0;
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    static const struct hybrid_fields fields = { "mamba_num_heads", "mamba_head_dim", "n_groups", "ssm_state_size",
                                                 "conv_kernel" };
    const char *act = "relu2";
    hp->hybrid.norm = true;
    if (json_get_num_opt(j, what, "layer_norm_epsilon", &hp->rms_eps, err) != 0 ||
        json_get_str_opt(j, what, "mlp_hidden_act", &act, err) != 0 || hybrid_dimensions(j, what, &fields, hp, err) != 0 ||
        hybrid_flag(j, what, "use_conv_bias", true, err) != 0 || hybrid_flag(j, what, "use_bias", false, err) != 0 ||
        layers(j, what, hp, err) != 0 || (hp->n_expert > 0 && expert_fields(j, what, hp, err) != 0))
        return -1;
    if (strcmp(act, "relu2") != 0)
        return error_set(err, ERROR_INPUT, "%s: mlp_hidden_act is not \"relu2\"", what);
    return hybrid_check(what, "intermediate_size", hp, err);
}

const struct arch arch_nemotron_h = {
    .name = "nemotron_h",
    .hf = { { "nemotron_h", "NemotronHForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_HYBRID | ARCH_PREDICT_ONLY,
    .activations = "relu2 silu",
    .defaults = &(const struct hparams){ .expert_scale = 1, .expert_norm = true, .hybrid.ungated = true },
    .config = config,
    .block = block,
};
