/*
 * Grok-1 (xAI 2024): experts with GELU, norms before and after each part, soft-capped scores, multipliers of
 * embeddings and logits.
 *
 *   x  = embed(token) * embedding_multiplier_scale
 *   x += rms_norm(Wo attention(...rms_norm(x)))
 *   x += rms_norm(sum of w_e Wdown_e (gelu(Wgate_e h) * (Wup_e h))),  h = rms_norm(x)
 *   logits = W_embed rms_norm(x) * output_multiplier_scale
 */
#include "model/arch.h"

static void block(struct builder *b)
{
    static const struct experts_spec experts = { .glu = GLU_GELU, .route = { .gate = ROUTE_SOFTMAX } };
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    build_attention(b, BUF_NORM, &(struct attention_spec){ .neox = true });
    build_norm(b, ROLE_ATTN_POST_NORM, BUF_OUT, BUF_OUT, "attn_output_norm");
    build_add(b, ROLE_ATTN_RESIDUAL, BUF_X, BUF_OUT);
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "ffn_norm");
    build_experts(b, BUF_NORM, &experts);
    build_norm(b, ROLE_FFN_POST_NORM, BUF_OUT, BUF_OUT, "layer_output_norm");
    build_add(b, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT);
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    if (json_get_num_opt(j, what, "attn_output_multiplier", &hp->attn_scale, err) != 0 ||
        json_get_num_opt(j, what, "max_attn_value", &hp->attn_softcap, err) != 0 ||
        json_get_num_opt(j, what, "embedding_multiplier_scale", &hp->embed_scale, err) != 0 ||
        json_get_num_opt(j, what, "output_multiplier_scale", &hp->logit_scale, err) != 0)
        return -1;
    return config_experts_ff(j, what, hp, err);
}

const struct arch arch_grok = {
    .name = "grok",
    .hf = { { "grok-1", "Grok1ModelForCausalLM" }, { "grok", "Grok1ForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_PREDICT_ONLY,
    .n_expert = "num_experts",
    .activations = "gelu",
    /* Values of xAI's run.py that configs may omit. */
    .defaults = &(const struct hparams){
        .n_ctx_train = 8192, .n_head_kv = 8, .tied = true, .attn_scale = 0.08838834764831845, .attn_softcap = 30,
        .embed_scale = 78.38367176906169, .logit_scale = 0.5773502691896257,
    },
    .config = config,
    .block = block,
};
