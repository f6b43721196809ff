/*
 * Command R and Aya (Cohere 2024): parallel attention and gated FFN, LayerNorm without bias.
 *
 *   x  = embed(token)
 *   for each layer:
 *     x += Wo attention(h) + Wdown (silu(Wgate h) * (Wup h)),   h = layer_norm(x)
 *   logits = W_embed layer_norm(x) * logit_scale
 *
 * Command R+ norms every query and key head, with weights of its own (use_qk_norm). Command R7B (cohere2) has windows in
 * three of four layers; the fourth sees everything and does not rotate.
 * Fields: transformers' CohereConfig and Cohere2Config.
 */
#include "model/arch.h"

static void block(struct builder *b)
{
    const struct hparams *hp = b->hp;
    const uint32_t period = hp->no_rope_period;
    const bool no_rope = period > 0 && ((uint32_t)b->layer + 1) % period == 0;
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    build_attention(b, BUF_NORM, &(struct attention_spec){ .no_rope = no_rope, .layer_norms = hp->qk_norm });
    build_add(b, ROLE_ATTN_RESIDUAL, BUF_X, BUF_OUT);
    build_ffn(b, BUF_NORM, GLU_SILU, false);
    build_add(b, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT);
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    if (json_get_bool_opt(j, what, "use_qk_norm", &hp->qk_norm, err) != 0)
        return -1;
    return json_get_num_opt(j, what, "logit_scale", &hp->logit_scale, err);
}

/* Training context: model_max_length if present. */
static const struct config_name names[] = {
    { "max_position_embeddings", "model_max_length", "max_position_embeddings" },
    { "rms_norm_eps", "layer_norm_eps", NULL },
    { 0 },
};

const struct arch arch_command_r = {
    .name = "command-r",
    .hf = { { "cohere", "CohereForCausalLM" } },
    .has = ARCH_PREDICT_ONLY | ARCH_ATTN_BIAS | ARCH_ATTN_OUTPUT_BIAS,
    .activations = "silu",
    .names = names,
    .defaults = &(const struct hparams){
        .norm = NORM_LAYER_NO_BIAS, .tied = true, .n_ctx_train = 8192, .logit_scale = 0.0625,
    },
    .config = config,
    .block = block,
};

static int cohere2_config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    if (config_only(j, what, "use_qk_norm", false, err) != 0 || config_only(j, what, "use_parallel_block", true, err) != 0 ||
        config_only(j, what, "use_gated_activation", true, err) != 0 ||
        config_word(j, what, "order_of_interleaved_layers", "local_attn_first", err) != 0 ||
        config_word(j, what, "position_embedding_type", "rope_gptj", err) != 0 ||
        config_rotary_part(j, what, "rotary_pct", 1, hp, err) != 0)
        return -1;
    hp->no_rope_period = hp->window_period;
    return json_get_num_opt(j, what, "logit_scale", &hp->logit_scale, err);
}

const struct arch arch_cohere2 = {
    .name = "cohere2",
    .hf = { { "cohere2", "Cohere2ForCausalLM" } },
    .has = ARCH_PREDICT_ONLY | ARCH_ATTN_BIAS | ARCH_ATTN_OUTPUT_BIAS | ARCH_WINDOW,
    .activations = "silu",
    .names = names,
    .defaults = &(const struct hparams){
        .norm = NORM_LAYER_NO_BIAS, .tied = true, .n_ctx_train = 8192, .logit_scale = 0.0625,
        .window = 4096, .window_period = 4,
    },
    .config = cohere2_config,
    .block = block,
};
