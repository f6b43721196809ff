/* What the families share: tensors, the pieces of a block, the rotations. The first error stays in *m->err. */
#ifndef TESTS_ENGINE_REF_CORE_H
#define TESTS_ENGINE_REF_CORE_H

#include "ref.h"
#include <math.h>

/* y[r] = sum_c w[r, c] x[c]; n of them in a row for experts. w is NULL when the tensor is absent. */
struct ref_mat {
    int cols, rows, n;
    double *w;
};

/* A rotation of pairs by pos * freq[i]; both components are multiplied by amplitude. */
struct ref_rope {
    int n_rot;
    bool neox;    /* pairs (i, i + n_rot/2); else (2i, 2i+1) */
    double *freq; /* [n_rot/2] radians a position */
    double amplitude;
};

/* Where a tensor is absent (w NULL), what uses it does nothing. */
struct ref_layer {
    struct ref_mat attn_norm, post_attn_norm, ffn_norm, post_ffn_norm;
    struct ref_mat q, k, v, o, q_bias, k_bias, v_bias, o_bias, q_norm, k_norm, sinks;
    struct ref_mat gate, up, down;
    struct ref_mat router, router_bias, gates, ups, downs, gates_bias, ups_bias, downs_bias;
    struct ref_mat q_a, q_a_norm, q_b, kv_a, kv_a_norm, kv_b, k_b, v_b, choice_bias, shared_gate, shared_up,
        shared_down;
    struct ref_mat eh_proj, enorm, hnorm, nextn_embd, nextn_head, nextn_norm; /* of multi-token prediction */
    double *keys, *values; /* [n_ctx][n_kv * dim] */
};

struct ref_family;

struct ref_model {
    const struct gguf *g;
    const struct ref_family *family;
    char arch[32];
    struct error *err;
    bool failed;
    enum ref_cache cache;
    int n_ctx, pos;
    int n_nextn; /* layers of multi-token prediction after n_layer: deepseek2 */
    int n_layer, n_embd, n_head, n_kv, dim, v_dim, n_ff, n_vocab, n_rot;
    int n_expert, n_used, n_ff_exp, window;
    double eps, scale; /* scale: of q.k */
    struct ref_rope rope, local_rope;
    struct ref_mat embd, norm, head;
    struct ref_layer *layer;
    double *logits, *hidden, *nextn_logits, *nextn_hidden, margin;
    /* deepseek2 */
    int rank, q_rank, nope, n_dense, n_shared, n_group, n_group_used;
    bool sigmoid, renormalize;
    double expert_scale;
    /* gemma2 */
    double attn_cap, final_cap;
    struct ref_block *kept, *tmp; /* tensors and caches; vectors of the current token */
};

struct ref_family {
    const char *arch;
    void (*init)(struct ref_model *m); /* keys, rope, tensors of every layer */
    void (*block)(struct ref_model *m, int il, double *x);
    void (*embed)(struct ref_model *m, double *x);  /* NULL: nothing */
    void (*finish)(struct ref_model *m, double *y); /* on the logits; NULL: nothing */
};

extern const struct ref_family ref_llama, ref_qwen2, ref_qwen3, ref_qwen3moe, ref_gemma2, ref_gemma3, ref_phi3,
    ref_olmo2, ref_smollm3, ref_gpt_oss, ref_deepseek2;

/* ---- keys: ARCH.name ------------------------------------------------------ */
int ref_key(struct ref_model *m, const char *name, int otherwise);
double ref_key_f(struct ref_model *m, const char *name, double otherwise);
bool ref_key_b(struct ref_model *m, const char *name, bool otherwise);
void ref_fail(struct ref_model *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- tensors: NAME or, il >= 0, blk.IL.NAME ---------------------------------- */
/* [n, rows, cols]; absent or of another shape: the model fails. */
struct ref_mat ref_need(struct ref_model *m, int il, const char *name, int cols, int rows, int n);
/* The same, but absent is allowed. */
struct ref_mat ref_may(struct ref_model *m, int il, const char *name, int cols, int rows, int n);
/* `rows` rows of a from row `at`, and expert e; they share its memory. */
struct ref_mat ref_rows(const struct ref_mat *a, int at, int rows);
struct ref_mat ref_expert(const struct ref_mat *a, int e);
/* Q, K, V, O (biases where there are); norms before both halves; gate, up, down. */
void ref_need_attention(struct ref_model *m, int il);
void ref_need_norms(struct ref_model *m, int il);
void ref_need_mlp(struct ref_model *m, int il);
void ref_need_experts(struct ref_model *m, int il);

/* ---- vectors: they live until the token is done ------------------------------- */
double *ref_vec(struct ref_model *m, int n);
/* zeros that live as long as m */
double *ref_keep(struct ref_model *m, size_t n);
double *ref_mul(struct ref_model *m, const struct ref_mat *a, const double *x);
double *ref_mul_bias(struct ref_model *m, const struct ref_mat *a, const struct ref_mat *bias, const double *x);
void ref_plus(double *y, const double *x, int n);
/* x / sqrt(mean(x^2) + eps) * w, as a new vector; and in place for each of `heads` heads of w->cols. */
double *ref_rms(struct ref_model *m, const double *x, const struct ref_mat *w);
void ref_rms_heads(struct ref_model *m, double *x, int heads, const struct ref_mat *w);
void ref_softmax(double *x, int n);
double ref_silu(double x);
double ref_gelu(double x); /* the tanh form */
/* down(act(gate x) * (up x)) */
double *ref_mlp(struct ref_model *m, const struct ref_mat *gate, const struct ref_mat *up, const struct ref_mat *down,
                double (*act)(double), const double *x);

/* ---- rotation -------------------------------------------------------------------- */
enum ref_scaling {
    REF_PLAIN,  /* base^(-2i/n_rot) */
    REF_SCALED, /* what the file says: linear, yarn, rope_freqs (llama 3), rope_factors_* (longrope) */
};
void ref_rope_init(struct ref_model *m, struct ref_rope *r, double base, bool neox, enum ref_scaling scaling);
/* Rotates the first n_rot of each head of `stride` values, `heads` of them. */
void ref_rotate(const struct ref_model *m, const struct ref_rope *r, double *x, int heads, int stride);

/* ---- attention ---------------------------------------------------------------------- */
struct ref_attend {
    int n_head, n_kv, dim, v_dim;
    double scale, cap;   /* cap 0: none */
    int window;          /* 0: all; else the token itself and window-1 before it */
    const double *sinks; /* [n_head], joins the denominator; or NULL */
};
/* Keeps k [n_kv * dim] and v [n_kv * v_dim] as those of m->pos and mixes; [n_head * v_dim]. */
double *ref_attend(struct ref_model *m, int il, const struct ref_attend *a, const double *q, const double *k,
                   const double *v);
/* The common one: q, k, v with biases, QK-norm per head where there is one, rotation (or rope NULL), mix, output. */
double *ref_self(struct ref_model *m, int il, const double *h, const struct ref_rope *rope, int window);
double ref_half(double x); /* the nearest half, as a double */

/* ---- experts --------------------------------------------------------------------------- */
/* The k largest of score where allowed[i] (NULL: everywhere), into id; ties to the lower index; m->margin is kept. */
void ref_top(struct ref_model *m, const double *score, const bool *allowed, int n, int k, int *id);
/* softmax, top n_used, weights of them sum to 1 (mixtral, qwen3moe), silu. */
double *ref_mixture(struct ref_model *m, int il, const double *h);

#endif
