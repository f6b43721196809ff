/*
 * Gemma (Gemma Team 2024): Llama with embeddings times sqrt(n_embd), heads of 256 elements, and GELU.
 *
 *   x  = embed(token) * sqrt(n_embd)
 *   x += Wo attention(...rms_norm(x))
 *   x += Wdown (gelu(Wgate h) * (Wup h)),  h = rms_norm(x)
 *   logits = W_embed rms_norm(x)
 */
#include "model/arch.h"
#include <math.h>

static void block(struct builder *b)
{
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    build_attention(b, BUF_NORM, &(struct attention_spec){ .neox = true });
    build_add(b, ROLE_ATTN_RESIDUAL, BUF_X, BUF_OUT);
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "ffn_norm");
    build_ffn(b, BUF_NORM, GLU_GELU, false);
    build_add(b, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT);
}

static void build(struct builder *b)
{
    build_model(b, sqrt((double)b->hp->n_embd), block);
}

const struct arch arch_gemma = {
    .name = "gemma",
    .hf = { { "gemma", "GemmaForCausalLM" } },
    .has = ARCH_PREDICT_ONLY,
    .activations = "gelu gelu_pytorch_tanh", /* both are the tanh approximation here */
    .defaults = &(const struct hparams){ .head_dim = 256, .n_ctx_train = 8192, .tied = true },
    .build = build,
};
