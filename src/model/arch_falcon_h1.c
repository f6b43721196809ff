/*
 * Falcon-H1 (TII 2025): parallel attention and Mamba-2 on the same normed input in every layer; their sum is added to the residual
 * stream; FFN after. muP multipliers can be folded into matrices and are not counted. Tensor shapes: transformers, models/falcon_h1.
 */
#include "model/hybrid.h"

static void block(struct builder *b)
{
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    build_mamba2(b);
    build_residual(b, ROLE_ATTN_RESIDUAL);
    build_attention(b, BUF_NORM, &(struct attention_spec){ .neox = true });
    build_residual(b, ROLE_ATTN_RESIDUAL);
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "ffn_norm");
    build_ffn(b, BUF_NORM, GLU_SILU, false);
    build_residual(b, ROLE_FFN_RESIDUAL);
}

static int dimensions(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    static const struct hybrid_fields fields = { "mamba_n_heads", "mamba_d_head", "mamba_n_groups", "mamba_d_state",
                                                 "mamba_d_conv" };
    int64_t expand = 2, width = 0;
    if (hybrid_dimensions(j, what, &fields, hp, err) != 0 ||
        json_get_int_opt(j, what, "mamba_expand", 1, 64, &expand, err) != 0)
        return -1;
    width = expand * (int64_t)hp->n_embd;
    if (json_get_int_opt(j, what, "mamba_d_ssm", 1, 1 << 24, &width, err) != 0)
        return -1;
    return hybrid_width(what, &fields, "mamba_d_ssm", (uint64_t)width, hp, err);
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    if (dimensions(j, what, hp, err) != 0 || hybrid_flag(j, what, "mamba_conv_bias", true, err) != 0 ||
        hybrid_flag(j, what, "mamba_proj_bias", false, err) != 0 || hybrid_flag(j, what, "projectors_bias", false, err) != 0 ||
        json_get_bool_opt(j, what, "mamba_rms_norm", &hp->hybrid.norm, err) != 0)
        return -1;
    const json_t *some = json_object_get(j, "attn_layer_indices");
    if (some && !json_is_null(some))
        return error_set(err, ERROR_INPUT, "%s: attn_layer_indices is not null: only attention in every layer is supported",
                         what);
    hybrid_every(hp, 1, 0, (enum layer_part)(PART_ATTENTION | PART_RECURRENCE | PART_FFN), PART_FFN);
    return 0;
}

const struct arch arch_falcon_h1 = {
    .name = "falcon-h1",
    .hf = { { "falcon_h1", "FalconH1ForCausalLM" } },
    .has = ARCH_HYBRID | ARCH_PREDICT_ONLY,
    .activations = "silu",
    .config = config,
    .block = block,
};
