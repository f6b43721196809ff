/*
 * op.h: a forward pass described once, as a list of ops. The engine executes the list, the
 * roofline prices it, reports print it: neither has a description of its own.
 *
 * Ops read and write named activation buffers ([n_tok, width] f32, row-major). An op says
 * nothing about the number of tokens: a struct pass does, so one list serves prefill and
 * decode, the engine and the analysis.
 */
#ifndef MODEL_OP_H
#define MODEL_OP_H

#include "model/model.h"

enum op_kind {
    OP_EMBED,     /* dst[t,:] = W[token[t],:] */
    OP_RMS_NORM,  /* dst = src / rms(src) * w           methods.md (5) */
    OP_MATMUL,    /* dst[t,r] = sum_c W[r,c] src[t,c] (+ bias)  (4) */
    OP_ROPE,      /* rotate src in place                  (6) */
    OP_KV_STORE,  /* append src (K) and src2 (V) to the layer's cache */
    OP_ATTENTION, /* dst = softmax(src K^T * scale) V     (7) */
    OP_SILU_MUL,  /* dst = silu(src) * src2               (8) */
    OP_ADD,       /* dst += src                           (9) */
    OP_KIND_COUNT,
};

/* What the op is for: the key reports group by. */
enum op_role {
    ROLE_EMBED,
    ROLE_ATTN_NORM,
    ROLE_ATTN_Q,
    ROLE_ATTN_K,
    ROLE_ATTN_V,
    ROLE_ATTN_ROPE,
    ROLE_KV_STORE,
    ROLE_ATTN_CORE,
    ROLE_ATTN_OUTPUT,
    ROLE_ATTN_RESIDUAL,
    ROLE_FFN_NORM,
    ROLE_FFN_GATE,
    ROLE_FFN_UP,
    ROLE_FFN_ACT,
    ROLE_FFN_DOWN,
    ROLE_FFN_RESIDUAL,
    ROLE_OUTPUT_NORM,
    ROLE_LM_HEAD,
    ROLE_COUNT,
};

/* Activation buffers of one pass. BUF_NONE: unused operand. */
enum op_buf {
    BUF_NONE,
    BUF_X,    /* residual stream, n_embd */
    BUF_NORM, /* normed input, n_embd */
    BUF_Q,    /* n_head * head_dim */
    BUF_K,    /* n_head_kv * head_dim */
    BUF_V,
    BUF_ATTN, /* attention output, n_head * head_dim */
    BUF_OUT,  /* projection back to n_embd */
    BUF_GATE, /* n_ff */
    BUF_UP,   /* n_ff */
    BUF_LOGITS, /* n_vocab, n_out rows */
    BUF_COUNT,
};

struct op {
    enum op_kind kind;
    enum op_role role;
    int layer; /* -1: outside the blocks */
    const struct tensor *w;    /* weight, or NULL */
    const struct tensor *bias; /* or NULL */
    enum op_buf dst, src, src2;
    /* Works on the rows whose logits are wanted (the last n_out) instead of all tokens. */
    bool out_rows;
    uint32_t rows, cols;   /* MATMUL: W's shape; else rows = 1, cols = width of dst */
    uint32_t n_head, n_head_kv, head_dim; /* ATTENTION, ROPE (n_head: heads rotated), KV_STORE */
    uint32_t n_rot;
    uint32_t window;       /* ATTENTION: keys seen at most; 0: all */
    float scale;           /* ATTENTION: 1/sqrt(head_dim) */
};

struct op_list {
    struct op *ops;
    size_t n;
    uint32_t width[BUF_COUNT]; /* elements a token of each buffer; 0 when unused */
};

/* One forward pass: n_tok new tokens after n_past tokens in the cache (of each of n_seq
 * sequences; n_tok counts all of them together), logits for the last n_out. */
struct pass {
    uint32_t n_tok, n_past, n_seq, n_out;
};

int op_list_build(struct op_list *l, const struct model *m, struct error *err);
void op_list_free(struct op_list *l);

const char *op_kind_name(enum op_kind k);   /* "matmul" */
const char *op_role_name(enum op_role r);   /* "ffn_down" */
/* Rows of src the op works on in this pass: n_tok, or n_out for out_rows ops. */
uint32_t op_n_tok(const struct op *op, const struct pass *p);

/* ---- architectures: one file each, one row each ----------------------------- */
struct arch {
    const char *name; /* general.architecture */
    /* {arch}.* metadata -> hparams, arch-specific checks included. */
    int (*hparams)(const struct gguf *g, struct hparams *hp, struct error *err);
    /* Names, shapes of the tensors a model of these hparams has (for models without a file).
     * add(ctx, name, rows, cols): calls in file order. */
    int (*tensors)(const struct hparams *hp,
                   int (*add)(void *ctx, const char *name, uint64_t rows, uint64_t cols,
                              struct error *err),
                   void *ctx, struct error *err);
    /* Append the ops of the whole pass. */
    int (*build)(struct op_list *l, const struct model *m, struct error *err);
};
const struct arch *arch_find(const char *name, size_t len);
/* "llama, ..." for messages. */
const char *arch_names(void);

/* Used by the builders: append an op (zero-initialised with kind, role, layer), NULL on OOM. */
struct op *op_append(struct op_list *l, enum op_kind k, enum op_role r, int layer);

#endif
