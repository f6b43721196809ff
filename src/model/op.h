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
    OP_EMBED,         /* dst[t,:] = W[token[t],:] * scale            methods.md (6) */
    OP_RMS_NORM,      /* dst = src / rms(src) * w, each head alone   (7) */
    OP_MATMUL,        /* dst[t,r] = sum_c W[r,c] src[t,c] (+ bias)   (5) */
    OP_HEAD_MATMUL,   /* dst[t,h,r] = sum_c W[h][r,c] src[t,h,c]     (17) */
    OP_ROPE,          /* dst = src rotated by its position           (9) */
    OP_KV_STORE,      /* append src (K) and src2 (V) to the layer's cache (6) */
    OP_KV_EXPAND,     /* latent rows of the cache to keys and values of every head (17) */
    OP_ATTENTION,     /* dst = softmax(src K^T * scale) V            (11) */
    OP_GLU,           /* dst = activation(src) * src2                (13) */
    OP_ADD,           /* dst += src                                  (14) */
    OP_ROUTE,         /* dst = the experts of each token and their weights (15) */
    OP_EXPERT_MATMUL, /* a product with the matrix of each routed expert   (16) */
    OP_EXPERT_SUM,    /* dst = sum of src over a token's experts, weighted (15) */
    OP_SOFTCAP,       /* dst = cap * tanh(src / cap)                 (12) */
    /* Priced, not executed: the engine refuses models that have them. */
    OP_LAYER_NORM,    /* dst = (src - mean) / deviation * w + bias   (8) */
    OP_ACT,           /* dst = activation(src)                       (8) */
    OP_MUL,           /* dst = src * src2                            (8) */
    OP_SCALE,         /* dst = scale * src                           (8) */
    OP_CONV1D,        /* causal, each channel alone, over n_state + 1 positions (19) */
    OP_SSM_SCAN,      /* state-space recurrence of every channel     (19) */
    OP_DELTA_RULE,    /* gated delta rule of every head              (19) */
    OP_INDEX,         /* dst = the n_top keys that an indexer scores highest (18) */
    OP_ALL_REDUCE,    /* sum over devices of cols elements a token   (24) */
    OP_ALL_GATHER,    /* cols elements a token, from all devices     (24) */
    OP_ALL_TO_ALL,    /* tokens to the devices of their experts, or back (24) */
    OP_SEND,          /* activations to the next pipeline stage      (24) */
    OP_KIND_COUNT,
};

/* What the op is for: the key reports group by. Weights have the names of GGUF tensors. */
enum op_role {
    ROLE_EMBED,
    ROLE_ATTN_NORM,
    ROLE_ATTN_Q,
    ROLE_ATTN_K,
    ROLE_ATTN_V,
    ROLE_ATTN_QKV,     /* fused */
    ROLE_ATTN_Q_A,     /* low-rank query of MLA, then its norm and the way up */
    ROLE_ATTN_Q_A_NORM,
    ROLE_ATTN_Q_B,
    ROLE_ATTN_KV_A,    /* latent of MLA with the shared rotary key */
    ROLE_ATTN_KV_A_NORM,
    ROLE_ATTN_K_B,     /* absorbed: query into the latent space */
    ROLE_ATTN_V_B,     /* absorbed: latent output to values */
    ROLE_ATTN_KV_B,    /* expanded: latents to keys and values */
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
    ROLE_FFN_GATE_UP,  /* fused */
    ROLE_FFN_ACT,
    ROLE_FFN_DOWN,
    ROLE_FFN_ROUTER,   /* logits of the experts */
    ROLE_FFN_ROUTE,    /* choice of the experts */
    ROLE_EXPERT_GATE,
    ROLE_EXPERT_UP,
    ROLE_EXPERT_ACT,
    ROLE_EXPERT_DOWN,
    ROLE_EXPERT_SUM,
    ROLE_SHARED_GATE,  /* the expert every token visits */
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
    ROLE_POS_EMBED,    /* learned positions, and adding them */
    ROLE_EMBED_NORM,
    ROLE_PROJ_IN,      /* between the residual stream and a narrower space: embeddings, routed experts */
    ROLE_PROJ_OUT,
    ROLE_COMPRESS,     /* keys of several positions to one */
    ROLE_HYPER,        /* from several residual streams and back (hyper-connections) */
    ROLE_LAYER_EMBED,  /* embeddings that every layer has of its own, and their way into it */
    ROLE_ATTN_GATE,    /* output of the attention times the sigmoid of a gate */
    ROLE_SHARED_ROUTER, /* gate of the shared expert */
    ROLE_SSM_IN,
    ROLE_SSM_CONV,
    ROLE_SSM_X,        /* Mamba-1: step, B and C of every token */
    ROLE_SSM_DT,
    ROLE_SSM_SCAN,
    ROLE_SSM_NORM,
    ROLE_SSM_GATE,
    ROLE_SSM_OUT,
    ROLE_INDEX_Q,      /* sparse attention's indexer */
    ROLE_INDEX_K,
    ROLE_INDEX_NORM,
    ROLE_INDEX_ROPE,
    ROLE_INDEX_WEIGHTS,
    ROLE_INDEX_STORE,
    ROLE_INDEX,
    ROLE_COMM_ATTN,    /* between devices: after the attention, after the FFN, ... */
    ROLE_COMM_FFN,
    ROLE_COMM_DISPATCH,
    ROLE_COMM_COMBINE,
    ROLE_COMM_LOGITS,
    ROLE_COMM_STAGE,
    ROLE_COUNT,
};

/* Activation buffers of one pass. BUF_NONE: unused operand. */
enum op_buf {
    BUF_NONE,
    BUF_X,    /* residual stream, n_embd */
    BUF_NORM, /* normed input, n_embd */
    BUF_Q,    /* n_head * head_dim */
    BUF_K,    /* n_head_kv * head_dim */
    BUF_V,    /* n_head_kv * head_dim_v */
    BUF_QKV,  /* the three side by side, where one matrix makes them */
    BUF_Q_A,  /* MLA: low-rank query */
    BUF_KV_A, /* MLA: latent, then the shared rotary key */
    BUF_Q_LATENT,    /* MLA absorbed: n_head * (latent + rotary) */
    BUF_ATTN_LATENT, /* MLA absorbed: n_head * latent */
    BUF_ATTN, /* attention output, n_head * head_dim_v */
    BUF_OUT,  /* projection back to n_embd */
    BUF_GATE, /* n_ff (fused: 2 n_ff) */
    BUF_UP,   /* n_ff */
    BUF_ROUTER, /* n_expert logits */
    BUF_ROUTE,  /* n_expert_used ids, then as many weights */
    BUF_EXPERT_GATE, /* n_expert_used * n_ff_exp; rows are grouped by expert */
    BUF_EXPERT_UP,
    BUF_EXPERT_OUT,  /* n_expert_used * n_embd */
    BUF_SHARED,      /* output of the shared expert, n_embd */
    BUF_POS,    /* rows of learned positions, n_embd */
    BUF_EMBED,  /* embeddings of all layers side by side, and embeddings, or what routed experts read and give, narrower than n_embd */
    BUF_ATTN_GATE, /* n_head * head_dim_v */
    BUF_SSM_IN, /* everything a mixer projects in */
    BUF_SSM_X,  /* after the convolution */
    BUF_SSM_DT, /* steps, B and C */
    BUF_SSM,    /* output of the recurrence */
    BUF_INDEX_Q,
    BUF_INDEX_K,
    BUF_INDEX_WEIGHTS,
    BUF_INDEX,  /* n_top ids */
    BUF_LOGITS, /* n_vocab, n_out rows */
    BUF_COUNT,
};

enum glu {
    GLU_SILU,
    GLU_GELU,       /* tanh approximation */
    GLU_SWIGLU_OAI, /* clamped; gpt-oss */
    /* priced, not executed */
    GLU_SIGMOID,
    GLU_RELU,
    GLU_RELU2,      /* its square */
    GLU_SOFTPLUS,   /* log(1 + exp x) */
};

/* MLA has two forms with equal results: queries carried into the latent space, or latents
 * expanded to keys and values. A pass runs the ops of the one with fewer FLOP. (17) */
enum op_form { FORM_ALWAYS, FORM_ABSORBED, FORM_EXPANDED };

/* How a router's logits become experts and weights. (15) */
struct route {
    enum { ROUTE_SOFTMAX, ROUTE_SIGMOID, ROUTE_TOP_SOFTMAX } gate; /* the last: softmax of the chosen */
    bool norm;            /* weights of the chosen add up to 1 */
    float scale;          /* of the weights; 0: 1 */
    uint32_t n_group, n_group_used; /* experts come from the best groups; 0 or 1: no groups */
};

struct op {
    enum op_kind kind;
    enum op_role role;
    int layer; /* -1: outside the blocks */
    const struct tensor *w;    /* weight, or NULL. ROUTE: bias of the choice; ATTENTION: sinks */
    const struct tensor *bias; /* or NULL */
    enum op_buf dst, src, src2;
    uint32_t dst_at, src_at, src2_at;  /* first element in a row of the buffer */
    uint32_t dst_stride, src_stride;   /* elements from head to head, where there are heads */
    /* Works on the rows whose logits are wanted (the last n_out) instead of all tokens. */
    bool out_rows;
    uint32_t rows, cols;   /* MATMUL and its kin: shape of (one head's, one expert's) W; else rows = 1,
                              cols = elements of dst a token (RMS_NORM: of one head) */
    uint32_t n_head, n_head_kv, head_dim, head_dim_v; /* ATTENTION, ROPE, RMS_NORM (n_head: heads worked on),
                                                         KV_STORE, HEAD_MATMUL, KV_EXPAND, INDEX, DELTA_RULE */
    uint32_t n_rot;
    uint32_t rope;         /* ROPE: index into op_list.rope */
    bool neox;             /* ROPE: pairs (i, i + n_rot/2) instead of (2i, 2i + 1) */
    uint32_t window;       /* ATTENTION, KV_STORE: keys seen at most; 0: all */
    float scale;           /* ATTENTION: of the scores. EMBED: of the row; 0: none. SOFTCAP: the cap */
    float softcap;         /* ATTENTION: of the scaled scores; 0: none */
    bool v_in_k;           /* ATTENTION: values are the first head_dim_v elements of the keys */
    bool chunked;          /* the window is the token's own chunk of that many positions (Llama 4) */
    bool alibi;            /* ATTENTION: scores are biased by distance */
    uint32_t n_top;        /* INDEX: keys chosen; ATTENTION: keys seen at most, chosen by an indexer; 0: all */
    uint32_t per_row;      /* ATTENTION, KV_STORE, INDEX: positions that a row of the cache stands for (DeepSeek-V4); 0: one */
    uint32_t n_state;      /* SSM_SCAN: state of a channel; CONV1D: positions remembered */
    enum glu glu;
    enum op_form form;
    const struct tensor *reader; /* ATTENTION: weights of the product that reads what it writes; NULL: none does at once */
    double form_tok;       /* tokens of a pass from which expanding pays, after a long past (17) */
    uint32_t n_expert, n_expert_used; /* ROUTE, EXPERT_* */
    struct route route;
    /* HEAD_MATMUL: where head h's matrix begins in w: row h * w_stride + w_row; transposed: that
     * matrix is [cols, rows]. KV_EXPAND: of the keys in w; of the values in bias, not transposed. */
    uint32_t w_stride, w_row;
    bool transposed;
};

/* Rotary frequencies of some ops. rope_frequencies() has the formula. methods.md (9), (10) */
struct rope {
    uint32_t n_rot;
    double theta;
    double freq_scale; /* 1 / factor of linear and YaRN scaling; 1: none */
    double ext_factor; /* YaRN: 1; else 0 */
    double beta_fast, beta_slow;
    double n_ctx_orig; /* context before scaling */
    double amplitude;  /* of cosine and sine */
    const struct tensor *factors; /* divisor of each frequency, or NULL */
    const struct tensor *factors_short; /* instead, while the context is at most n_ctx_orig */
};

enum { ROPE_MAX = 2 };

struct op_list {
    struct op *ops;
    size_t n;
    uint32_t width[BUF_COUNT]; /* elements a token of each buffer; 0 when unused */
    struct rope rope[ROPE_MAX];
    size_t n_rope;
    uint32_t width_expanded;   /* elements a cached position of KV_EXPAND's output; 0 when unused */
};

/* One forward pass: n_tok new tokens after n_past tokens in the cache (of each of n_seq
 * sequences; n_tok counts all of them together), logits for the last n_out. */
struct pass {
    uint32_t n_tok, n_past, n_seq, n_out;
};

/* A product with matrices of weights. */
static inline bool op_is_product(const struct op *op)
{
    return op->kind == OP_MATMUL || op->kind == OP_HEAD_MATMUL || op->kind == OP_KV_EXPAND || op->kind == OP_EXPERT_MATMUL;
}
/* Append an op, zeros but for what is given; NULL when out of memory. */
struct op *op_append(struct op_list *l, enum op_kind k, enum op_role r, int layer);
int op_list_build(struct op_list *l, const struct model *m, struct error *err);
void op_list_free(struct op_list *l);

const char *op_kind_name(enum op_kind k);   /* "matmul" */
const char *op_role_name(enum op_role r);   /* "ffn_down" */
/* Rows of src the op works on in this pass: n_tok, or n_out for out_rows ops; 0: it does not run. */
uint32_t op_n_tok(const struct op *op, const struct pass *p);
/* A pass takes MLA's expanded form, for ops whose form_tok this is. (17) */
bool op_expands(double form_tok, const struct pass *p);

/* Radians a position of each of n_rot / 2 pairs, and the amplitude of cosine and sine, for a context of
 * n_ctx positions. factors: the tensor's numbers, or NULL. methods.md (9), (10) */
double rope_frequencies(const struct rope *r, const float *factors, double *freq);
/* The tensor of factors that a context of n_ctx positions uses, or NULL. */
const struct tensor *rope_factors(const struct rope *r, uint32_t n_ctx);

/* The weight's shape as a tensor: all rows of an embedding table, stacked matrices one below the other. */
void op_weight_shape(const struct op *op, uint64_t *rows, uint64_t *cols);
/* Matrices stacked in it: experts, heads; else 1. */
uint32_t op_n_matrix(const struct op *op);

#endif
