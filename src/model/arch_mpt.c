/*
 * MPT (MosaicML 2023): GPT-2's block without a bias anywhere, ALiBi instead of positions.
 *
 *   x  = embed(token)                                           + position(p) without ALiBi
 *   for each layer:
 *     x += Wo attention(Wqkv h),     h = layer_norm(x)
 *     x += Wdown gelu(Wup h),        h = layer_norm(x)
 *   logits = W_embed layer_norm(x)
 *
 * Fields: llm-foundry's MPTConfig, else transformers' MptConfig.
 */
#include "model/arch.h"
#include "model/internal.h"

static int attn_config(const json_t *a, const char *what, struct hparams *hp, struct error *err)
{
    if (json_get_bool_opt(a, what, "alibi", &hp->alibi, err) != 0 ||
        config_word(a, what, "attn_type", "multihead_attention", err) != 0 ||
        config_only(a, what, "qk_ln", false, err) != 0 || config_only(a, what, "prefix_lm", false, err) != 0 ||
        config_only(a, what, "rope", false, err) != 0 || config_absent(a, what, "clip_qkv", err) != 0)
        return -1;
    return config_absent(a, what, "softmax_scale", err);
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    const json_t *a = json_object_get(j, "attn_config");
    double ratio = 4;
    bool learned = true;
    if (a && !json_is_null(a) && !json_is_object(a))
        return error_set(err, ERROR_INPUT, "%s: field \"attn_config\": expected an object or null", what);
    char ctx[4200];
    snprintf(ctx, sizeof ctx, "%s: attn_config", what);
    if (json_get_num_opt(j, what, "expansion_ratio", &ratio, err) != 0 || attn_config(a, ctx, hp, err) != 0 ||
        json_get_bool_opt(j, what, "learned_pos_emb", &learned, err) != 0 ||
        config_only(j, what, "no_bias", true, err) != 0 || config_absent(j, what, "logit_scale", err) != 0 ||
        config_word(j, what, "norm_type", "low_precision_layernorm layernorm", err) != 0 ||
        config_word(json_object_get(j, "ffn_config"), what, "ffn_type", "mptmlp", err) != 0)
        return -1;
    if (!(ratio > 0 && ratio <= 256))
        return error_set(err, ERROR_INPUT, "%s: expansion_ratio is %g, expected more than 0, at most 256", what, ratio);
    if (!hp->alibi && !learned)
        return error_set(err, ERROR_INPUT, "%s: neither attn_config.alibi nor learned_pos_emb is true", what);
    hp->n_ff = (uint32_t)(ratio * u64_min(hp->n_embd, HPARAMS_MAX_EMBD));
    hp->n_pos = hp->alibi ? 0 : hp->n_ctx_train;
    return 0;
}

const struct arch arch_mpt = {
    .name = "mpt",
    .hf = { { "mpt", "MPTForCausalLM" }, { "mpt", "MptForCausalLM" } },
    .has = ARCH_PREDICT_ONLY,
    .activations = CONFIG_GELU,
    .names = (const struct config_name[]){
        { "hidden_size", "d_model", "hidden_size" },
        { "num_hidden_layers", "n_layers", "num_hidden_layers" },
        { "num_attention_heads", "n_heads", "num_attention_heads" },
        { "intermediate_size", "expansion_ratio", NULL }, /* for messages; read by config() */
        { "max_position_embeddings", "max_seq_len", NULL },
        { "rms_norm_eps", "layer_norm_epsilon", NULL },
        { 0 },
    },
    .ff_factor = 4,
    .defaults = &(const struct hparams){ .norm = NORM_LAYER_NO_BIAS, .tied = true, .alibi = true },
    .config = config,
    .block = gpt2_block,
};
