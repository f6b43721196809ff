/*
 * DBRX (Databricks 2024): LayerNorm without bias, fused q, k, v, four of sixteen experts in every layer. The clamp of q, k, v
 * (clip_qkv) is not counted.
 */
#include "model/arch.h"

static void block(struct builder *b)
{
    static const struct experts_spec experts = { .glu = GLU_SILU, .route = { .gate = ROUTE_SOFTMAX, .norm = true } };
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    build_attention(b, BUF_NORM, &(struct attention_spec){ .neox = true, .fused = true });
    build_add(b, ROLE_ATTN_RESIDUAL, BUF_X, BUF_OUT);
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "attn_output_norm");
    build_experts(b, BUF_NORM, &experts);
    build_add(b, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT);
}

/* attn_config and ffn_config. */
static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    const json_t *attn = json_object_get(j, "attn_config"), *ffn = json_object_get(j, "ffn_config");
    char ctx[4200];
    int64_t n = 0, used = 0, width = 0;
    snprintf(ctx, sizeof ctx, "%s: %s", what, json_is_object(attn) ? "ffn_config" : "attn_config");
    if (!json_is_object(attn) || !json_is_object(ffn))
        return error_set(err, ERROR_INPUT, "%s: expected an object", ctx);
    if (json_get_int(ffn, ctx, "ffn_hidden_size", 1, UINT32_MAX, &width, err) != 0 ||
        json_get_int(ffn, ctx, "moe_num_experts", 1, UINT32_MAX, &n, err) != 0 ||
        json_get_int(ffn, ctx, "moe_top_k", 1, UINT32_MAX, &used, err) != 0)
        return -1;
    if (used > n)
        return error_set(err, ERROR_INPUT, "%s: moe_top_k is %lld, expected 1 to moe_num_experts, which is %lld", ctx,
                         (long long)used, (long long)n);
    snprintf(ctx, sizeof ctx, "%s: attn_config", what);
    if (config_opt_count(attn, ctx, "kv_n_heads", 1, &hp->n_head_kv, err) != 0 ||
        json_get_num_opt(attn, ctx, "rope_theta", &hp->rope_theta, err) != 0)
        return -1;
    hp->n_expert = (uint32_t)n;
    hp->n_expert_used = (uint32_t)used;
    hp->n_ff = hp->n_ff_exp = (uint32_t)width;
    return 0;
}

const struct arch arch_dbrx = {
    .name = "dbrx",
    .hf = { { "dbrx", "DbrxForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_PREDICT_ONLY,
    .names = (const struct config_name[]){
        { "hidden_size", "d_model", NULL },
        { "num_hidden_layers", "n_layers", NULL },
        { "num_attention_heads", "n_heads", NULL },
        { "max_position_embeddings", "max_seq_len", NULL },
        { 0 },
    },
    .activations = "silu",
    .defaults = &(const struct hparams){
        .norm = NORM_LAYER_NO_BIAS,
        .n_ff = 1, /* all layers have experts; width in ffn_config */
    },
    .config = config,
    .block = block,
};
