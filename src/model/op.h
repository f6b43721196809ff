/*
 * op.h: the op list of a forward pass, executed by the engine, costed by the roofline model, printed by reports.
 *
 * Ops read and write named activation buffers ([n_tok, width] f32, row-major). The number of tokens is in struct pass, so one list serves
 * prefill and decode.
 */
#ifndef MODEL_OP_H
#define MODEL_OP_H

#include "model/model.h"

enum op_kind {
    OP_EMBED,         /* dst[t,:] = W[token[t],:] * scale            methods.md (6) */
    OP_RMS_NORM,      /* dst = src / rms(src) * w, per head               (7) */
    OP_MATMUL,        /* dst[t,r] = sum_c W[r,c] src[t,c] (+ bias)   (5) */
    OP_HEAD_MATMUL,   /* dst[t,h,r] = sum_c W[h][r,c] src[t,h,c]     (17) */
    OP_ROPE,          /* dst = src rotated by its position           (9) */
    OP_KV_STORE,      /* append src (K) and src2 (V) to the layer's cache (6) */
    OP_KV_EXPAND,     /* cached latents to keys and values of every head (17) */
    OP_ATTENTION,     /* dst = softmax(src K^T * scale) V            (11) */
    OP_GLU,           /* dst = activation(src) * src2                (13) */
    OP_ADD,           /* dst += src                                  (14) */
    OP_ROUTE,         /* dst = expert ids and weights of each token       (15) */
    OP_EXPERT_MATMUL, /* product with each routed expert's matrix         (16) */
    OP_EXPERT_SUM,    /* dst = weighted sum of src over a token's experts (15) */
    OP_SOFTCAP,       /* dst = cap * tanh(src / cap)                 (12) */
    /* predicted, not executed: */
    OP_LAYER_NORM, /* dst = (src - mean) / deviation * w + bias   (8) */
    OP_ACT,        /* dst = activation(src)                       (8) */
    OP_MUL,        /* dst = src * src2                            (8) */
    OP_SCALE,      /* dst = scale * src                           (8) */
    OP_CONV1D,     /* causal, per channel, over n_state + 1 positions (19) */
    OP_SSM_SCAN,   /* state-space recurrence per channel              (19) */
    OP_DELTA_RULE, /* gated delta rule per head                       (19) */
    OP_INDEX,      /* dst = the n_top keys with the highest indexer scores (18) */
    OP_ALL_REDUCE, /* sum over devices of cols elements per token      (24) */
    OP_ALL_GATHER, /* cols elements per token, from all devices        (24) */
    OP_ALL_TO_ALL, /* tokens to their experts' devices, or back        (24) */
    OP_SEND,       /* activations to the next pipeline stage      (24) */
    OP_KIND_COUNT,
};

/* Purpose of an op: the key that reports group by. Weights have GGUF tensor names. */
enum op_role {
    ROLE_EMBED,
    ROLE_ATTN_NORM,
    ROLE_ATTN_Q,
    ROLE_ATTN_K,
    ROLE_ATTN_V,
    ROLE_ATTN_QKV, /* fused */
    ROLE_ATTN_Q_A, /* MLA: low-rank query, its norm, up projection */
    ROLE_ATTN_Q_A_NORM,
    ROLE_ATTN_Q_B,
    ROLE_ATTN_KV_A, /* MLA: latent and shared rotary key */
    ROLE_ATTN_KV_A_NORM,
    ROLE_ATTN_K_B,  /* absorbed: query into the latent space */
    ROLE_ATTN_V_B,  /* absorbed: latent output to values */
    ROLE_ATTN_KV_B, /* expanded: latents to keys and values */
    ROLE_ATTN_Q_NORM,
    ROLE_ATTN_K_NORM,
    ROLE_ATTN_ROPE,
    ROLE_KV_STORE,
    ROLE_ATTN_CORE,
    ROLE_ATTN_OUTPUT,
    ROLE_ATTN_POST_NORM,
    ROLE_ATTN_RESIDUAL,
    ROLE_FFN_NORM,
    ROLE_FFN_GATE,
    ROLE_FFN_UP,
    ROLE_FFN_GATE_UP, /* fused */
    ROLE_FFN_ACT,
    ROLE_FFN_DOWN,
    ROLE_FFN_ROUTER, /* expert logits */
    ROLE_FFN_ROUTE,  /* expert selection */
    ROLE_EXPERT_GATE,
    ROLE_EXPERT_UP,
    ROLE_EXPERT_ACT,
    ROLE_EXPERT_DOWN,
    ROLE_EXPERT_SUM,
    ROLE_SHARED_GATE, /* shared expert */
    ROLE_SHARED_UP,
    ROLE_SHARED_ACT,
    ROLE_SHARED_DOWN,
    ROLE_SHARED_ADD,
    ROLE_FFN_POST_NORM,
    ROLE_FFN_RESIDUAL,
    ROLE_OUTPUT_NORM,
    ROLE_LM_HEAD,
    ROLE_LOGIT_SOFTCAP,
    ROLE_LOGIT_SCALE,
    ROLE_POS_EMBED, /* learned positions and their addition */
    ROLE_EMBED_NORM,
    ROLE_PROJ_IN, /* to or from a narrower space: embeddings, routed experts */
    ROLE_PROJ_OUT,
    ROLE_COMPRESS,      /* several positions' keys to one */
    ROLE_HYPER,         /* hyper-connections */
    ROLE_LAYER_EMBED,   /* per-layer embeddings and their projections */
    ROLE_ATTN_GATE,     /* attention output times a sigmoid gate */
    ROLE_SHARED_ROUTER, /* gate of the shared expert */
    ROLE_SSM_IN,
    ROLE_SSM_CONV,
    ROLE_SSM_X, /* Mamba-1: dt, B, C */
    ROLE_SSM_DT,
    ROLE_SSM_SCAN,
    ROLE_SSM_NORM,
    ROLE_SSM_GATE,
    ROLE_SSM_OUT,
    ROLE_INDEX_Q, /* sparse attention indexer */
    ROLE_INDEX_K,
    ROLE_INDEX_NORM,
    ROLE_INDEX_ROPE,
    ROLE_INDEX_WEIGHTS,
    ROLE_INDEX_STORE,
    ROLE_INDEX,
    ROLE_COMM_ATTN, /* collectives after attention, after FFN, ... */
    ROLE_COMM_FFN,
    ROLE_COMM_DISPATCH,
    ROLE_COMM_COMBINE,
    ROLE_COMM_LOGITS,
    ROLE_COMM_STAGE,
    ROLE_COUNT,
};

/* Activation buffers of a pass. BUF_NONE: unused operand. */
enum op_buf {
    BUF_NONE,
    BUF_X,           /* residual stream, n_embd */
    BUF_NORM,        /* normed input, n_embd */
    BUF_Q,           /* n_head * head_dim */
    BUF_K,           /* n_head_kv * head_dim */
    BUF_V,           /* n_head_kv * head_dim_v */
    BUF_QKV,         /* fused q, k, v */
    BUF_Q_A,         /* MLA: low-rank query */
    BUF_KV_A,        /* MLA: latent, then the shared rotary key */
    BUF_Q_LATENT,    /* MLA absorbed: n_head * (latent + rotary) */
    BUF_ATTN_LATENT, /* MLA absorbed: n_head * latent */
    BUF_ATTN,        /* attention output, n_head * head_dim_v */
    BUF_OUT,         /* projection back to n_embd */
    BUF_GATE,        /* n_ff (fused: 2 n_ff) */
    BUF_UP,          /* n_ff */
    BUF_ROUTER,      /* n_expert logits */
    BUF_ROUTE,       /* n_expert_used ids, then n_expert_used weights */
    BUF_EXPERT_GATE, /* n_expert_used * n_ff_exp; rows grouped by expert */
    BUF_EXPERT_UP,
    BUF_EXPERT_OUT, /* n_expert_used * n_embd */
    BUF_SHARED,     /* output of the shared expert, n_embd */
    BUF_POS,        /* learned position rows, n_embd */
    BUF_EMBED,      /* per-layer embeddings; narrow embeddings; narrow input and output of routed experts */
    BUF_ATTN_GATE,  /* n_head * head_dim_v */
    BUF_SSM_IN,     /* projected mixer inputs */
    BUF_SSM_X,      /* after the convolution */
    BUF_SSM_DT,     /* dt, B and C */
    BUF_SSM,        /* output of the recurrence */
    BUF_INDEX_Q,
    BUF_INDEX_K,
    BUF_INDEX_WEIGHTS,
    BUF_INDEX,  /* n_top ids */
    BUF_HIDDEN, /* output of the last norm, n_embd; a layer of multi-token prediction reads the model's and writes its own (nextn.h) */
    BUF_NEXTN,  /* normed embedding and normed hidden state, 2 n_embd */
    BUF_LOGITS, /* n_vocab, n_out rows */
    BUF_COUNT,
};

enum glu {
    GLU_SILU,
    GLU_GELU,       /* tanh approximation */
    GLU_SWIGLU_OAI, /* clamped; gpt-oss */
    /* predicted, not executed */
    GLU_SIGMOID,
    GLU_RELU,
    GLU_RELU2,    /* squared */
    GLU_SOFTPLUS, /* log(1 + exp x) */
};

/* MLA's two equivalent forms: queries projected into the latent space, or latents expanded to keys and values. A pass runs the one
 * with fewer FLOP. (17) */
enum op_form { FORM_ALWAYS, FORM_ABSORBED, FORM_EXPANDED };

/* Router logits to experts and weights. (15) */
struct route {
    enum route_gate { ROUTE_SOFTMAX, ROUTE_SIGMOID, ROUTE_TOP_SOFTMAX } gate; /* TOP_SOFTMAX: softmax over the chosen */
    bool norm;                      /* weights of the chosen sum to 1 */
    float scale;                    /* of weights; 0: 1 */
    uint32_t n_group, n_group_used; /* experts are chosen from the best groups; 0 or 1: no groups */
};

struct op {
    enum op_kind kind;
    enum op_role role;
    int layer;                 /* -1: outside the blocks */
    const struct tensor *w;    /* weight, or NULL. ROUTE: selection bias; ATTENTION: sinks */
    const struct tensor *bias; /* or NULL */
    enum op_buf dst, src, src2;
    uint32_t dst_at, src_at, src2_at; /* first element within a buffer row */
    uint32_t dst_stride, src_stride;  /* elements between heads */
    /* processes only the rows whose logits are wanted (the last n_out) */
    bool out_rows;
    uint32_t rows, cols; /* MATMUL etc.: shape of (one head's, one expert's) W; else rows = 1, cols = elements of dst per token (RMS_NORM: per head) */
    /* ATTENTION, ROPE, RMS_NORM (n_head: heads processed), KV_STORE, HEAD_MATMUL, KV_EXPAND, INDEX, DELTA_RULE */
    uint32_t n_head, n_head_kv, head_dim, head_dim_v;
    uint32_t n_rot;
    uint32_t rope;    /* ROPE: index in op_list.rope */
    bool neox;        /* ROPE: pairs (i, i + n_rot/2) instead of (2i, 2i + 1) */
    uint32_t window;  /* ATTENTION, KV_STORE: visible keys; 0: all */
    float scale;      /* ATTENTION: of scores. EMBED: of the row; 0: none. SOFTCAP: the cap */
    float softcap;    /* ATTENTION: of scaled scores; 0: none */
    bool v_in_k;      /* ATTENTION: values are the first head_dim_v elements of the keys */
    bool chunked;     /* window: the token's own chunk of that many positions (Llama 4) */
    bool alibi;       /* ATTENTION: distance bias on scores */
    uint32_t n_top;   /* INDEX: keys selected; ATTENTION: limit of keys selected by an indexer; 0: all */
    uint32_t per_row; /* ATTENTION, KV_STORE, INDEX: positions per cache row (DeepSeek-V4); 0: one */
    uint32_t n_state; /* SSM_SCAN: state per channel; CONV1D: positions kept */
    enum glu glu;
    enum op_form form;
    const struct tensor *reader;      /* ATTENTION: weights of the product that consumes the output; NULL: none directly */
    double form_tok;                  /* tokens per pass from which expansion pays after a long past (17) */
    uint32_t n_expert, n_expert_used; /* ROUTE, EXPERT_* */
    struct route route;
    /* HEAD_MATMUL: where head h's matrix begins in w: row h * w_stride + w_row; transposed: that
     * matrix is [cols, rows]. KV_EXPAND: of the keys in w; of the values in bias, not transposed. */
    uint32_t w_stride, w_row;
    bool transposed;
};

/* Rotary frequencies, shared by ops. Formula: rope_frequencies(). methods.md (9), (10) */
struct rope {
    uint32_t n_rot;
    double theta;
    double freq_scale; /* 1 / factor of linear and YaRN scaling; 1: none */
    double ext_factor; /* YaRN: 1; else 0 */
    double beta_fast, beta_slow;
    double n_ctx_orig;                  /* original context */
    double amplitude;                   /* of cosine and sine */
    const struct tensor *factors;       /* divisor per frequency, or NULL */
    const struct tensor *factors_short; /* used for contexts up to n_ctx_orig */
};

enum { ROPE_MAX = 2 };

struct op_list {
    struct op *ops;
    size_t n;
    uint32_t width[BUF_COUNT]; /* elements per token; 0: unused */
    struct rope rope[ROPE_MAX];
    size_t n_rope;
    uint32_t width_expanded; /* elements per cached position of KV_EXPAND's output; 0: unused */
};

/* One forward pass: n_tok new tokens in all (of n_seq sequences), each after n_past cached ones; logits of the last n_out. */
struct pass {
    uint32_t n_tok, n_past, n_seq, n_out;
};

/* A product with matrices of weights. */
static inline bool op_is_product(const struct op *op)
{
    return op->kind == OP_MATMUL || op->kind == OP_HEAD_MATMUL || op->kind == OP_KV_EXPAND || op->kind == OP_EXPERT_MATMUL;
}
/* Appends a zeroed op with these fields; NULL: out of memory. */
struct op *op_append(struct op_list *l, enum op_kind k, enum op_role r, int layer);
int op_list_build(struct op_list *l, const struct model *m, struct error *err);
void op_list_free(struct op_list *l);

const char *op_kind_name(enum op_kind k); /* "matmul" */
const char *op_role_name(enum op_role r); /* "ffn_down" */
/* Rows of src processed in this pass: n_tok, or n_out for out_rows ops; 0: not run. */
uint32_t op_n_tok(const struct op *op, const struct pass *p);
/* True if a pass uses MLA's expanded form, for ops with this form_tok. (17) */
bool op_expands(double form_tok, const struct pass *p);

/* freq[n_rot / 2]: radians per position. Returns the amplitude of cosine and sine, for a context of n_ctx. factors: tensor values,
 * or NULL. methods.md (9), (10) */
double rope_frequencies(const struct rope *r, const float *factors, double *freq);
/* Factor tensor for a context of n_ctx positions, or NULL. */
const struct tensor *rope_factors(const struct rope *r, uint32_t n_ctx);

/* Shape of the weight as a tensor: whole embedding table, stacked matrices. */
void op_weight_shape(const struct op *op, uint64_t *rows, uint64_t *cols);
/* Stacked matrices: experts, heads; else 1. */
uint32_t op_n_matrix(const struct op *op);

#endif
