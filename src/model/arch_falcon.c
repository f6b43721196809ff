/*
 * Falcon (Almazrouei et al. 2023), in three forms:
 *
 *   7B            x += Wo attention(h) + Wdown gelu(Wup h),     h = layer_norm(x);  one key and value head
 *   40B, 180B     x += Wo attention(h1) + Wdown gelu(Wup h2),   h1 = layer_norm(x), h2 = layer_norm'(x)
 *                 (new_decoder_architecture; num_ln_in_parallel_attn 1: one norm, as in Falcon2 11B)
 *   RW            GPT-2's block, biases and ALiBi instead of rotation (not parallel_attn, bias, alibi)
 *   logits = W_embed layer_norm(x)
 *
 * Fields: transformers' FalconConfig.
 */
#include "model/arch.h"

static void parallel_block(struct builder *b, const struct attention_spec *s)
{
    /* With two norms attn_norm_2 is the attention's and attn_norm the FFN's. */
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, b->hp->shared_norm ? "attn_norm" : "attn_norm_2");
    build_attention(b, BUF_NORM, s);
    if (!b->hp->shared_norm)
        build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "attn_norm");
    build_add(b, ROLE_ATTN_RESIDUAL, BUF_X, BUF_OUT);
    build_mlp(b, BUF_NORM, GLU_GELU);
    build_add(b, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT);
}

static void block(struct builder *b)
{
    const struct attention_spec s = { .fused = true, .neox = true, .no_rope = b->hp->alibi };
    if (b->hp->parallel)
        parallel_block(b, &s);
    else
        classic_block(b, &s, GLU_GELU);
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    bool two = false, one_head = true, bias = false;
    if (json_get_bool_opt(j, what, "new_decoder_architecture", &two, err) != 0 ||
        json_get_bool_opt(j, what, "multi_query", &one_head, err) != 0 ||
        json_get_bool_opt(j, what, "parallel_attn", &hp->parallel, err) != 0 ||
        json_get_bool_opt(j, what, "alibi", &hp->alibi, err) != 0 || json_get_bool_opt(j, what, "bias", &bias, err) != 0)
        return -1;
    uint32_t n_norm = two ? 2 : 1;
    if (two && (config_only(j, what, "parallel_attn", true, err) != 0 ||
                config_opt_count(j, what, "num_ln_in_parallel_attn", 1, &n_norm, err) != 0))
        return -1;
    if (n_norm > 2)
        return error_set(err, ERROR_INPUT, "%s: num_ln_in_parallel_attn is %u, expected 1 or 2", what, n_norm);
    if (!two && one_head)
        hp->n_head_kv = 1; /* num_kv_heads does not apply */
    hp->shared_norm = n_norm == 1;
    classic_biases(hp, bias);
    return 0;
}

const struct arch arch_falcon = {
    .name = "falcon",
    .hf = { { "falcon", "FalconForCausalLM" } },
    .has = ARCH_PREDICT_ONLY | ARCH_ATTN_BIAS | ARCH_ATTN_OUTPUT_BIAS,
    .activations = CONFIG_GELU,
    .names = (const struct config_name[]){
        { "num_hidden_layers", "num_hidden_layers", "n_layer" },
        { "num_attention_heads", "num_attention_heads", "n_head" },
        { "num_key_value_heads", "num_kv_heads", NULL },
        { "intermediate_size", "ffn_hidden_size", NULL },
        { "rms_norm_eps", "layer_norm_epsilon", NULL },
        { "hidden_act", "activation", NULL },
        { 0 },
    },
    .ff_factor = 4,
    .defaults = &(const struct hparams){ .norm = NORM_LAYER, .tied = true, .parallel = true },
    .config = config,
    .block = block,
};
