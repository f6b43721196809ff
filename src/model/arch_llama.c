/*
 * Llama (Touvron et al. 2023) and relatives: Llama 1-3, Mistral, TinyLlama, SmolLM2, stories; with experts
 * Mixtral (Jiang et al. 2024).
 *
 *   x  = embed(token)
 *   for each layer:
 *     h  = rms_norm(x);  q, k, v = Wq h, Wk h, Wv h;  rope(q), rope(k);  cache k, v
 *     x += Wo attention(q, K, V)
 *     h  = rms_norm(x)
 *     x += Wdown (silu(Wgate h) * (Wup h))         Mixtral: the weighted sum over the best experts of this
 *   logits = W_head rms_norm(x)                    W_head is the embedding table when tied
 */
#include "model/arch.h"

void llama_block(struct builder *b, const struct attention_spec *s, const struct experts_spec *e)
{
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    build_attention(b, BUF_NORM, s);
    build_residual(b, ROLE_ATTN_RESIDUAL);
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "ffn_norm");
    if (hparams_expert_layer(b->hp, (uint32_t)b->layer))
        build_experts(b, BUF_NORM, e);
    else
        build_ffn(b, BUF_NORM, GLU_SILU, s->fused);
    build_residual(b, ROLE_FFN_RESIDUAL);
}

/* Expert width: feed_forward_length. */
static int llama_gguf(const struct gguf *g, struct hparams *hp, struct error *err)
{
    (void)g;
    (void)err;
    if (hp->n_ff_exp == 0)
        hp->n_ff_exp = hp->n_expert ? hp->n_ff : 0;
    return 0;
}

static int llama_config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    (void)j;
    (void)what;
    return llama_gguf(NULL, hp, err);
}

const struct arch arch_llama = {
    .name = "llama",
    .hf = { { "llama", "LlamaForCausalLM" }, { "mistral", "MistralForCausalLM" }, { "mixtral", "MixtralForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_WINDOW | ARCH_ATTN_BIAS | ARCH_ATTN_OUTPUT_BIAS | ARCH_YARN,
    .n_expert = "num_local_experts",
    .n_expert_row = 2, /* Mixtral */
    .activations = "silu",
    .gguf = llama_gguf,
    .config = llama_config,
    .experts = { .glu = GLU_SILU, .route = { .gate = ROUTE_TOP_SOFTMAX } },
};
