/*
 * ChatGLM2 to GLM-4-9B (GLM Team 2024): Llama's block with fused q, k, v (with bias), fused gate and up, and half of every head rotated.
 */
#include "model/arch.h"

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    bool qkv = hp->attn_bias, linear = false, multi = true, post = true, rms = true;
    double ratio = 1;
    if (json_get_bool_opt(j, what, "add_qkv_bias", &qkv, err) != 0 ||
        json_get_bool_opt(j, what, "add_bias_linear", &linear, err) != 0 ||
        json_get_bool_opt(j, what, "multi_query_attention", &multi, err) != 0 ||
        json_get_bool_opt(j, what, "post_layer_norm", &post, err) != 0 ||
        json_get_bool_opt(j, what, "rmsnorm", &rms, err) != 0 || json_get_num_opt(j, what, "rope_ratio", &ratio, err) != 0)
        return -1;
    if (linear || !post || !rms)
        return error_set(err, ERROR_INPUT, "%s: %s: only models without biases of all products and with RMSNorm, a last one "
                         "too, are supported", what,
                         linear ? "add_bias_linear is true" : rms ? "post_layer_norm is false" : "rmsnorm is false");
    if (!multi)
        hp->n_head_kv = hp->n_head;
    hp->attn_bias = qkv;
    hp->rope_theta *= ratio;
    hp->n_rot = hp->head_dim / 2;
    return 0;
}

const struct arch arch_chatglm = {
    .name = "chatglm",
    .hf = { { "chatglm", "ChatGLMModel" }, { "chatglm", "ChatGLMForConditionalGeneration" } },
    .has = ARCH_ATTN_BIAS | ARCH_PREDICT_ONLY,
    .names = (const struct config_name[]){
        { "num_hidden_layers", "num_layers", NULL },
        { "intermediate_size", "ffn_hidden_size", NULL },
        { "vocab_size", "padded_vocab_size", NULL },
        { "max_position_embeddings", "seq_length", NULL },
        { "num_key_value_heads", "multi_query_group_num", NULL },
        { "head_dim", "kv_channels", NULL },
        { "rms_norm_eps", "layernorm_epsilon", NULL },
        { 0 },
    },
    .activations = "silu",
    .defaults = &(const struct hparams){ .attn_bias = true },
    .config = config,
    .attention = { .fused = true },
};
