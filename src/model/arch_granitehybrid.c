/*
 * Granite 4 (IBM 2025): Mamba-2 and some attention layers without rotation; then experts and a shared one (the small models have only the
 * shared one, an FFN). Multipliers: Granite 3's (arch_granite.c). Tensor shapes: transformers, models/granitemoehybrid.
 */
#include "model/hybrid.h"
#include <string.h>

static void block(struct builder *b)
{
    const unsigned parts = hybrid_parts(b);
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    if (parts & PART_RECURRENCE)
        build_mamba2(b);
    else
        build_attention(b, BUF_NORM, &(struct attention_spec){ .no_rope = b->hp->no_rope_period == 1 });
    build_residual(b, ROLE_ATTN_RESIDUAL);
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "ffn_norm");
    if (parts & PART_EXPERTS)
        build_experts(b, BUF_NORM, &(struct experts_spec){ .glu = GLU_SILU, .route = { .gate = ROUTE_TOP_SOFTMAX } });
    else
        build_ffn(b, BUF_NORM, GLU_SILU, false);
    build_residual(b, ROLE_FFN_RESIDUAL);
}

/* intermediate_size: expert width; shared_intermediate_size: shared expert width. */
static int widths(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    uint32_t shared = 0;
    if (config_opt_count(j, what, "shared_intermediate_size", 1, &shared, err) != 0)
        return -1;
    if (shared == 0)
        return error_set(err, ERROR_INPUT, "%s: shared_intermediate_size is missing", what);
    if (hp->n_expert == 0) {
        hp->n_ff = shared;
        return 0;
    }
    hp->n_ff_exp = hp->n_ff;
    hp->n_ff_shexp = shared;
    hp->n_expert_shared = 1;
    return 0;
}

static int dimensions(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    static const struct hybrid_fields fields = { "mamba_n_heads", "mamba_d_head", "mamba_n_groups", "mamba_d_state",
                                                 "mamba_d_conv" };
    int64_t expand = 2;
    hp->hybrid.norm = true;
    if (json_get_int_opt(j, what, "mamba_expand", 1, 64, &expand, err) != 0 ||
        hybrid_dimensions(j, what, &fields, hp, err) != 0)
        return -1;
    return hybrid_width(what, &fields, "mamba_expand x hidden_size", (uint64_t)expand * hp->n_embd, hp, err);
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    const char *positions = "rope";
    if (granite_config(j, what, hp, err) != 0 || widths(j, what, hp, err) != 0 || dimensions(j, what, hp, err) != 0 ||
        hybrid_flag(j, what, "mamba_conv_bias", true, err) != 0 ||
        hybrid_flag(j, what, "mamba_proj_bias", false, err) != 0 ||
        json_get_str_opt(j, what, "position_embedding_type", &positions, err) != 0)
        return -1;
    if (strcmp(positions, "rope") != 0 && strcmp(positions, "nope") != 0)
        return error_set(err, ERROR_INPUT, "%s: position_embedding_type is neither \"rope\" nor \"nope\"", what);
    hp->no_rope_period = strcmp(positions, "nope") == 0; /* all layers */
    const uint8_t mlp = hp->n_expert > 0 ? PART_EXPERTS : PART_FFN;
    const struct layer_word words[] = { { "mamba", PART_RECURRENCE | mlp },
                                        { "attention", PART_ATTENTION | mlp },
                                        { NULL, 0 } };
    return hybrid_layers(j, what, "layer_types", words, hp, err);
}

const struct arch arch_granitehybrid = {
    .name = "granitehybrid",
    .hf = { { "granitemoehybrid", "GraniteMoeHybridForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_HYBRID | ARCH_PREDICT_ONLY,
    .n_expert = "num_local_experts",
    .dense_too = true,
    .activations = "silu",
    .config = config,
    .block = block,
};
