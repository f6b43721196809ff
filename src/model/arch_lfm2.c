/*
 * LFM2 (Liquid AI 2025): gated short convolutions, some grouped-query attention layers with head norms; an FFN, or (from
 * num_dense_layers on) sigmoid-routed experts with a bias. Tensor shapes: transformers, models/lfm2 and models/lfm2_moe; names:
 * ggml-org/llama.cpp, lfm2.
 */
#include "model/hybrid.h"
#include <math.h>

static void block(struct builder *b)
{
    const unsigned parts = hybrid_parts(b);
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    if (parts & PART_RECURRENCE)
        build_short_conv(b);
    else
        build_attention(b, BUF_NORM, &(struct attention_spec){ .neox = true, .head_norms = true });
    build_residual(b, ROLE_ATTN_RESIDUAL);
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "ffn_norm");
    if (parts & PART_EXPERTS)
        build_experts(b, BUF_NORM, &(struct experts_spec){ .glu = GLU_SILU, .route = model_route(b->hp, ROUTE_SIGMOID) });
    else
        build_ffn(b, BUF_NORM, GLU_SILU, false);
    build_residual(b, ROLE_FFN_RESIDUAL);
}

/* Attention layers: layer_types, or full_attn_idxs in older files. */
static int mixers(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    static const struct layer_word words[] = { { "conv", PART_RECURRENCE }, { "full_attention", PART_ATTENTION }, { NULL, 0 } };
    const json_t *list = json_object_get(j, "full_attn_idxs"), *v;
    size_t i;
    if (json_is_array(json_object_get(j, "layer_types")) || !json_is_array(list))
        return hybrid_layers(j, what, "layer_types", words, hp, err);
    hybrid_every(hp, 1, 0, PART_RECURRENCE, PART_RECURRENCE);
    json_array_foreach(list, i, v)
    {
        const json_int_t n = json_is_integer(v) ? json_integer_value(v) : -1;
        if (n < 0 || n >= hp->n_layer)
            return error_set(err, ERROR_INPUT, "%s: full_attn_idxs[%zu]: expected a layer from 0 to %u", what, i, hp->n_layer - 1);
        hp->hybrid.parts[n] = PART_ATTENTION;
    }
    return 0;
}

static int layers(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    if (mixers(j, what, hp, err) != 0)
        return -1;
    for (uint32_t i = 0; i < hp->n_layer; i++)
        hp->hybrid.parts[i] |= hp->n_expert > 0 && i >= hp->n_layer_dense ? PART_EXPERTS : PART_FFN;
    return 0;
}

/* block_ff_dim is the ungated width: the gated one is two thirds of it, rounded up to a multiple. */
static int adjust_ff(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    bool adjust = false;
    uint32_t multiple = 256;
    double factor = 1;
    if (config_opt_count(j, what, "block_ff_dim", 1, &hp->n_ff, err) != 0 ||
        json_get_bool_opt(j, what, "block_auto_adjust_ff_dim", &adjust, err) != 0 ||
        config_opt_count(j, what, "block_multiple_of", 1, &multiple, err) != 0 ||
        json_get_num_opt(j, what, "block_ffn_dim_multiplier", &factor, err) != 0)
        return -1;
    if (!(factor > 0 && factor <= 16) || multiple > 1 << 16 || hp->n_ff > 1 << 22)
        return error_set(err, ERROR_INPUT, "%s: block_ffn_dim_multiplier is %g and block_multiple_of %u, expected more than 0, at "
                         "most 16, and at most 65536", what, factor, multiple);
    if (!adjust)
        return 0;
    const uint32_t width = (uint32_t)floor(factor * (2 * (uint64_t)hp->n_ff / 3));
    hp->n_ff = (width + multiple - 1) / multiple * multiple;
    return 0;
}

static int expert_fields(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    return config_needs(j, what, "moe_intermediate_size", false, err) != 0 ||
                   config_opt_count(j, what, "num_dense_layers", 0, &hp->n_layer_dense, err) != 0 ||
                   json_get_bool_opt(j, what, "use_expert_bias", &hp->expert_bias, err) != 0 ||
                   json_get_bool_opt(j, what, "norm_topk_prob", &hp->expert_norm, err) != 0 ||
                   json_get_num_opt(j, what, "routed_scaling_factor", &hp->expert_scale, err) != 0
               ? -1
               : 0;
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    static const struct hybrid_fields fields = { NULL, NULL, NULL, NULL, "conv_L_cache" };
    hp->hybrid.n_head = hp->n_embd;
    hp->hybrid.head_dim = hp->hybrid.n_group = hp->hybrid.n_state = 1;
    if (hybrid_dimensions(j, what, &fields, hp, err) != 0 || hybrid_flag(j, what, "conv_bias", false, err) != 0 ||
        json_get_num_opt(j, what, "norm_eps", &hp->rms_eps, err) != 0 || adjust_ff(j, what, hp, err) != 0 ||
        (hp->n_expert > 0 && expert_fields(j, what, hp, err) != 0) || layers(j, what, hp, err) != 0)
        return -1;
    return hybrid_check(what, "intermediate_size", hp, err);
}

static const struct hparams defaults = {
    .tied = true,
    .n_ff = 1, /* older files: block_ff_dim, checked by hybrid_check */
    .rope_theta = 1e6, .n_ctx_train = 128000, .hybrid.n_conv = 3, .expert_scale = 1,
    .expert_norm = true, .expert_bias = true,
};

const struct arch arch_lfm2 = {
    .name = "lfm2",
    .hf = { { "lfm2", "Lfm2ForCausalLM" } },
    .has = ARCH_HYBRID | ARCH_PREDICT_ONLY,
    .activations = "silu",
    .defaults = &defaults,
    .config = config,
    .block = block,
};

const struct arch arch_lfm2moe = {
    .name = "lfm2moe",
    .hf = { { "lfm2_moe", "Lfm2MoeForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_HYBRID | ARCH_PREDICT_ONLY,
    .n_expert = "num_experts",
    .activations = "silu",
    .defaults = &defaults,
    .config = config,
    .block = block,
};
