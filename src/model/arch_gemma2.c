/*
 * Gemma 2 (Gemma Team 2024):
 *
 *   x  = embed(token) * sqrt(n_embd)
 *   for each layer:
 *     x += rms_norm(Wo attention(...rms_norm(x)))           norms before and after each part
 *     x += rms_norm(Wdown (gelu(Wgate h) * (Wup h))),  h = rms_norm(x)
 *   logits = W_embed rms_norm(x)
 *
 * Every other layer is windowed; scores and logits are soft-capped. Norm weights in files are the multipliers:
 * converters add the 1 of Gemma's (1 + w). Gemma 3 (arch_gemma3.c) has the same block.
 */
#include "model/arch.h"
#include <math.h>

void gemma_block(struct builder *b, const struct attention_spec *s)
{
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    build_attention(b, BUF_NORM, s);
    build_norm(b, ROLE_ATTN_POST_NORM, BUF_OUT, BUF_OUT, "post_attention_norm");
    build_add(b, ROLE_ATTN_RESIDUAL, BUF_X, BUF_OUT);
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "ffn_norm");
    build_ffn(b, BUF_NORM, GLU_GELU, false);
    build_norm(b, ROLE_FFN_POST_NORM, BUF_OUT, BUF_OUT, "post_ffw_norm");
    build_add(b, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT);
}

/* The 27B models scale scores by n_embd / n_head. */
void gemma_scale_27b(struct hparams *hp, uint32_t n_layer)
{
    if (hp->attn_scale == 0 && hp->n_layer == n_layer && hp->n_head > 0)
        hp->attn_scale = 1 / sqrt((double)hp->n_embd / hp->n_head);
}

int gemma_config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    double scalar = 0, attn = hp->attn_softcap, final = hp->final_softcap;
    if (json_get_num_opt(j, what, "query_pre_attn_scalar", &scalar, err) != 0 ||
        json_get_num_opt(j, what, "attn_logit_softcapping", &attn, err) != 0 ||
        json_get_num_opt(j, what, "final_logit_softcapping", &final, err) != 0)
        return -1;
    if (scalar > 0)
        hp->attn_scale = 1 / sqrt(scalar);
    hp->attn_softcap = json_is_null(json_object_get(j, "attn_logit_softcapping")) ? 0 : attn;
    hp->final_softcap = json_is_null(json_object_get(j, "final_logit_softcapping")) ? 0 : final;
    return 0;
}

static void block(struct builder *b)
{
    gemma_block(b, &(struct attention_spec){ .neox = true });
}

static void build(struct builder *b)
{
    build_model(b, sqrt((double)b->hp->n_embd), block);
}

static int gguf(const struct gguf *g, struct hparams *hp, struct error *err)
{
    (void)g;
    (void)err;
    gemma_scale_27b(hp, 46);
    return 0;
}

const struct arch arch_gemma2 = {
    .name = "gemma2",
    .hf = { { "gemma2", "Gemma2ForCausalLM" } },
    .has = ARCH_WINDOW,
    .activations = "gelu_pytorch_tanh",
    .defaults = &(const struct hparams){
        .n_head = 8, .n_head_kv = 4, .head_dim = 256, .tied = true, .n_ctx_train = 8192,
        .window = 4096, .window_period = 2, .attn_softcap = 50, .final_softcap = 30,
    },
    .gguf = gguf,
    .config = gemma_config,
    .build = build,
};
