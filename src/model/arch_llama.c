/*
 * Llama (Touvron et al. 2023) and its kin: Llama 1-3, Mistral, TinyLlama, SmolLM2, stories.
 *
 *   x  = embed(token)
 *   for each layer:
 *     h  = rms_norm(x);  q, k, v = Wq h, Wk h, Wv h;  rope(q), rope(k);  cache k, v
 *     x += Wo attention(q, K, V)
 *     h  = rms_norm(x)
 *     x += Wdown (silu(Wgate h) * (Wup h))
 *   logits = W_head rms_norm(x)          W_head is the embedding table when tied
 */
#include "model/op.h"
#include <math.h>

/* A window below the context is another attention, which no op here computes. */
static int check_window(const struct gguf *g, struct error *err)
{
    uint64_t window = 0, n_ctx = UINT64_MAX;
    if (gguf_opt_u64(g, "llama.attention.sliding_window", &window, err) != 0 ||
        gguf_opt_u64(g, "llama.context_length", &n_ctx, err) != 0)
        return -1;
    if (window > 0 && window < n_ctx)
        return error_set(err, ERROR_INPUT,
                         "%s: llama.attention.sliding_window is %llu of %llu positions: sliding-window "
                         "attention is not supported yet (0, or a window of the whole context, is)",
                         gguf_path(g), (unsigned long long)window, (unsigned long long)n_ctx);
    return 0;
}

static int llama_hparams(const struct gguf *g, struct hparams *hp, struct error *err)
{
    uint64_t n_expert = 0;
    if (gguf_opt_u64(g, "llama.expert_count", &n_expert, err) != 0)
        return -1;
    if (n_expert > 0)
        return error_set(err, ERROR_INPUT,
                         "%s: llama.expert_count is %llu: mixtures of experts (Mixtral and others) "
                         "are not supported by architecture llama yet",
                         gguf_path(g), (unsigned long long)n_expert);
    hp->n_expert = hp->n_expert_used = 0;
    return check_window(g, err);
}

/* The weights of a model without a file, in the order a converter writes them. */
static int llama_tensors(const struct hparams *hp,
                         int (*add)(void *ctx, const char *name, uint64_t rows, uint64_t cols,
                                    struct error *err),
                         void *ctx, struct error *err)
{
    const uint64_t d = hp->n_embd, q = (uint64_t)hp->n_head * hp->head_dim,
                   kv = (uint64_t)hp->n_head_kv * hp->head_dim, ff = hp->n_ff;
    const struct {
        const char *suffix;
        uint64_t rows, cols;
    } block[] = {
        { "attn_norm", 1, d }, { "attn_q", q, d },      { "attn_k", kv, d },
        { "attn_v", kv, d },   { "attn_output", d, q }, { "ffn_norm", 1, d },
        { "ffn_gate", ff, d }, { "ffn_up", ff, d },     { "ffn_down", d, ff },
    };
    if (add(ctx, "token_embd.weight", hp->n_vocab, d, err) != 0)
        return -1;
    for (uint32_t i = 0; i < hp->n_layer; i++)
        for (size_t k = 0; k < ARRAY_LEN(block); k++) {
            char name[64];
            snprintf(name, sizeof name, "blk.%u.%s.weight", i, block[k].suffix);
            if (add(ctx, name, block[k].rows, block[k].cols, err) != 0)
                return -1;
        }
    if (add(ctx, "output_norm.weight", 1, d, err) != 0)
        return -1;
    if (!hp->tied && add(ctx, "output.weight", hp->n_vocab, d, err) != 0)
        return -1;
    if (hp->rope_scaling == ROPE_SCALING_LLAMA3)
        return add(ctx, "rope_freqs.weight", 1, hp->n_rot / 2, err);
    return 0;
}

/* ---- one line an op ------------------------------------------------------------ */

struct builder {
    struct op_list *l;
    const struct model *m;
    struct error *err;
    bool failed;
    int layer;
    bool out_rows;
};

static struct op *add(struct builder *b, enum op_kind k, enum op_role r, enum op_buf dst,
                      enum op_buf src, uint32_t width)
{
    struct op *op = op_append(b->l, k, r, b->layer);
    if (!op) {
        if (!b->failed)
            error_oom(b->err, sizeof *op, "the op list");
        b->failed = true;
        return NULL;
    }
    op->dst = dst;
    op->src = src;
    op->rows = 1;
    op->cols = width;
    op->out_rows = b->out_rows;
    if (b->l->width[dst] < width)
        b->l->width[dst] = width;
    return op;
}

static const struct tensor *weight(struct builder *b, const char *name)
{
    if (b->failed)
        return NULL;
    const struct tensor *t = b->layer < 0
                                 ? model_get(b->m, b->err, "%s.weight", name)
                                 : model_get(b->m, b->err, "blk.%d.%s.weight", b->layer, name);
    b->failed = !t;
    return t;
}

static void norm(struct builder *b, enum op_role r, enum op_buf dst, enum op_buf src,
                 const char *name)
{
    const struct tensor *w = weight(b, name);
    struct op *op = w ? add(b, OP_RMS_NORM, r, dst, src, (uint32_t)w->cols) : NULL;
    if (op)
        op->w = w;
}

static void matmul(struct builder *b, enum op_role r, enum op_buf dst, enum op_buf src,
                   const char *name)
{
    const struct tensor *w = weight(b, name);
    struct op *op = w ? add(b, OP_MATMUL, r, dst, src, (uint32_t)w->rows) : NULL;
    if (!op)
        return;
    op->w = w;
    op->rows = (uint32_t)w->rows;
    op->cols = (uint32_t)w->cols;
}

static void heads(struct op *op, const struct hparams *hp, uint32_t n_head)
{
    if (!op)
        return;
    op->n_head = n_head;
    op->n_head_kv = hp->n_head_kv;
    op->head_dim = hp->head_dim;
    op->n_rot = hp->n_rot;
    op->scale = 1.0f / sqrtf((float)hp->head_dim);
}

static void attention(struct builder *b)
{
    const struct hparams *hp = &b->m->hp;
    const uint32_t q = hp->n_head * hp->head_dim, kv = hp->n_head_kv * hp->head_dim;
    norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    matmul(b, ROLE_ATTN_Q, BUF_Q, BUF_NORM, "attn_q");
    matmul(b, ROLE_ATTN_K, BUF_K, BUF_NORM, "attn_k");
    matmul(b, ROLE_ATTN_V, BUF_V, BUF_NORM, "attn_v");
    heads(add(b, OP_ROPE, ROLE_ATTN_ROPE, BUF_Q, BUF_Q, q), hp, hp->n_head);
    heads(add(b, OP_ROPE, ROLE_ATTN_ROPE, BUF_K, BUF_K, kv), hp, hp->n_head_kv);
    struct op *store = add(b, OP_KV_STORE, ROLE_KV_STORE, BUF_NONE, BUF_K, kv);
    heads(store, hp, hp->n_head_kv);
    if (store)
        store->src2 = BUF_V;
    heads(add(b, OP_ATTENTION, ROLE_ATTN_CORE, BUF_ATTN, BUF_Q, q), hp, hp->n_head);
    matmul(b, ROLE_ATTN_OUTPUT, BUF_OUT, BUF_ATTN, "attn_output");
    add(b, OP_ADD, ROLE_ATTN_RESIDUAL, BUF_X, BUF_OUT, hp->n_embd);
}

static void ffn(struct builder *b)
{
    const struct hparams *hp = &b->m->hp;
    norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "ffn_norm");
    matmul(b, ROLE_FFN_GATE, BUF_GATE, BUF_NORM, "ffn_gate");
    matmul(b, ROLE_FFN_UP, BUF_UP, BUF_NORM, "ffn_up");
    struct op *act = add(b, OP_SILU_MUL, ROLE_FFN_ACT, BUF_GATE, BUF_GATE, hp->n_ff);
    if (act)
        act->src2 = BUF_UP;
    matmul(b, ROLE_FFN_DOWN, BUF_OUT, BUF_GATE, "ffn_down");
    add(b, OP_ADD, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT, hp->n_embd);
}

static int llama_build(struct op_list *l, const struct model *m, struct error *err)
{
    struct builder b = { .l = l, .m = m, .err = err, .layer = -1 };
    const struct tensor *embd = weight(&b, "token_embd");
    struct op *op = embd ? add(&b, OP_EMBED, ROLE_EMBED, BUF_X, BUF_NONE, (uint32_t)embd->cols) : NULL;
    if (op)
        op->w = embd;
    for (uint32_t i = 0; i < m->hp.n_layer && !b.failed; i++) {
        b.layer = (int)i;
        attention(&b);
        ffn(&b);
    }
    b.layer = -1;
    b.out_rows = true;
    norm(&b, ROLE_OUTPUT_NORM, BUF_NORM, BUF_X, "output_norm");
    matmul(&b, ROLE_LM_HEAD, BUF_LOGITS, BUF_NORM, m->hp.tied ? "token_embd" : "output");
    return b.failed ? -1 : 0;
}

const struct arch arch_llama = {
    .name = "llama", .hparams = llama_hparams, .tensors = llama_tensors, .build = llama_build
};
