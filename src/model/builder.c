/* Builder functions: one per op, then block parts. */
#include "model/arch.h"
#include <math.h>
#include <string.h>

/* ---- weights --------------------------------------------------------------------------- */

static const struct tensor *weight(struct builder *b, const char *name, const char *suffix, uint64_t rows,
                                   uint64_t cols, uint64_t n_mat)
{
    char full[64];
    if (b->failed)
        return NULL;
    if (b->layer < 0)
        snprintf(full, sizeof full, "%s.%s", name, suffix);
    else
        snprintf(full, sizeof full, "blk.%d.%s.%s", b->layer, name, suffix);
    if (b->declare) {
        b->failed = b->declare(b->ctx, full, rows, cols, n_mat, b->err) != 0;
        return NULL;
    }
    /* Tensors come in nearly this order: start at the last position. */
    for (size_t i = 0; i < b->m->n_tensors; i++) {
        const size_t at = (b->at + i) % b->m->n_tensors;
        if (strcmp(b->m->tensors[at].name, full) == 0) {
            b->at = at + 1;
            return &b->m->tensors[at];
        }
    }
    model_get(b->m, b->err, "%s", full); /* sets the error */
    b->failed = true;
    return NULL;
}

const struct tensor *build_weight(struct builder *b, const char *name, uint64_t rows, uint64_t cols,
                                  uint64_t n_mat)
{
    return weight(b, name, "weight", rows, cols, n_mat);
}

const struct tensor *build_bias(struct builder *b, const char *name, uint64_t rows, uint64_t cols)
{
    return weight(b, name, "bias", rows, cols, 1);
}

/* ---- one line an op ------------------------------------------------------------------------ */

struct op *build_op(struct builder *b, enum op_kind k, enum op_role r, enum op_buf dst, enum op_buf src,
                    uint32_t width)
{
    struct op *op = b->l && !b->failed ? op_append(b->l, k, r, b->layer) : NULL;
    if (b->l && !b->failed && !op) {
        error_oom(b->err, sizeof *op, "the op list");
        b->failed = true;
    }
    if (!op) {
        b->none = (struct op){ .kind = k, .role = r };
        return &b->none;
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

void build_embed(struct builder *b, double scale)
{
    const struct tensor *w = build_weight(b, "token_embd", b->hp->n_vocab, b->hp->n_embd, 1);
    struct op *op = build_op(b, OP_EMBED, ROLE_EMBED, BUF_X, BUF_NONE, b->hp->n_embd);
    op->w = w;
    op->scale = (float)scale;
}

struct op *build_norm(struct builder *b, enum op_role r, enum op_buf dst, enum op_buf src, const char *name)
{
    const struct hparams *hp = b->hp;
    const struct tensor *w = build_weight(b, name, 1, hp->n_embd, 1);
    const struct tensor *bias = hp->norm == NORM_LAYER ? build_bias(b, name, 1, hp->n_embd) : NULL;
    struct op *op = build_op(b, hp->norm == NORM_RMS ? OP_RMS_NORM : OP_LAYER_NORM, r, dst, src, hp->n_embd);
    op->w = w;
    op->bias = bias;
    op->n_head = 1;
    return op;
}

void build_norm_at(struct builder *b, enum op_role r, enum op_buf buf, uint32_t at, uint32_t n_head, uint32_t dim,
                   const char *name)
{
    const struct tensor *w = build_weight(b, name, 1, dim, 1);
    struct op *op = build_op(b, OP_RMS_NORM, r, buf, buf, dim);
    op->w = w;
    op->src_at = op->dst_at = at;
    op->src_stride = op->dst_stride = dim;
    op->n_head = n_head;
}

struct op *build_matmul(struct builder *b, enum op_role r, enum op_buf dst, enum op_buf src, const char *name,
                        uint32_t rows, uint32_t cols, bool bias)
{
    const struct tensor *w = build_weight(b, name, rows, cols, 1);
    const struct tensor *added = bias ? build_bias(b, name, 1, rows) : NULL;
    struct op *op = build_op(b, OP_MATMUL, r, dst, src, rows);
    op->w = w;
    op->bias = added;
    op->rows = rows;
    op->cols = cols;
    return op;
}

void build_add(struct builder *b, enum op_role r, enum op_buf dst, enum op_buf src)
{
    build_op(b, OP_ADD, r, dst, src, b->hp->n_embd);
}

void build_residual(struct builder *b, enum op_role r)
{
    const double scale = b->hp->residual_scale;
    if (scale > 0 && scale != 1)
        build_op(b, OP_SCALE, r, BUF_OUT, BUF_OUT, b->hp->n_embd)->scale = (float)scale;
    build_add(b, r, BUF_X, BUF_OUT);
}

void build_glu(struct builder *b, enum op_role r, enum glu g, uint32_t width)
{
    struct op *op = build_op(b, OP_GLU, r, BUF_GATE, BUF_GATE, width);
    op->src2 = BUF_UP;
    op->glu = g;
}

/* ---- rotation ------------------------------------------------------------------------------- */

static const struct tensor *factors(struct builder *b, const char *name)
{
    const int layer = b->layer;
    b->layer = -1;
    const struct tensor *t = build_weight(b, name, 1, b->hp->n_rot / 2, 1);
    b->layer = layer;
    return t;
}

void build_rope_table(struct builder *b, double theta, bool scaled)
{
    const struct hparams *hp = b->hp;
    struct rope r = { .n_rot = hp->n_rot, .theta = theta, .freq_scale = 1, .amplitude = 1 };
    switch (scaled ? hp->rope_scaling : ROPE_SCALING_NONE) {
    case ROPE_SCALING_NONE:
        break;
    case ROPE_SCALING_LINEAR:
        r.freq_scale = 1 / hp->rope_factor;
        break;
    case ROPE_SCALING_LLAMA3:
        r.factors = factors(b, "rope_freqs");
        break;
    case ROPE_SCALING_YARN:
        r.freq_scale = 1 / hp->rope_factor;
        r.ext_factor = 1;
        r.beta_fast = hp->yarn_beta_fast;
        r.beta_slow = hp->yarn_beta_slow;
        r.n_ctx_orig = hp->rope_ctx_orig;
        r.amplitude = hp->rope_attn_factor > 0 ? hp->rope_attn_factor : 1;
        break;
    case ROPE_SCALING_LONGROPE:
        r.factors = factors(b, "rope_factors_long");
        r.factors_short = factors(b, "rope_factors_short");
        r.n_ctx_orig = hp->rope_ctx_orig;
        r.amplitude = hp->rope_attn_factor > 0 ? hp->rope_attn_factor : 1;
        break;
    }
    if (!b->l || b->failed)
        return;
    if (b->l->n_rope < ROPE_MAX)
        b->l->rope[b->l->n_rope++] = r;
    else
        b->failed = error_set(b->err, ERROR_INPUT, "%s: more than %d rotations", b->m->name, ROPE_MAX) != 0;
}

/* ---- attention -------------------------------------------------------------------------------- */

/* q, k, v in separate buffers, or fused in one. */
struct qkv {
    enum op_buf q, k, v;
    uint32_t k_at, v_at;
};

static void heads(struct op *op, const struct hparams *hp, uint32_t n_head)
{
    op->n_head = n_head;
    op->n_head_kv = hp->n_head_kv;
    op->head_dim = hp->head_dim;
    op->head_dim_v = hp->head_dim_v;
}

/* Declares unused key weights that files contain. */
static struct qkv project_query(struct builder *b, enum op_buf src, uint32_t q, uint32_t k, uint32_t v)
{
    const struct hparams *hp = b->hp;
    build_matmul(b, ROLE_ATTN_Q, BUF_Q, src, "attn_q", q, hp->n_embd, hp->attn_bias);
    build_weight(b, "attn_k", k, hp->n_embd, 1);
    build_weight(b, "attn_v", v, hp->n_embd, 1);
    build_weight(b, "attn_k_norm", 1, hp->head_dim, 1);
    return (struct qkv){ BUF_Q, BUF_NONE, BUF_NONE, 0, 0 };
}

static struct qkv project(struct builder *b, enum op_buf src, const struct attention_spec *s)
{
    const struct hparams *hp = b->hp;
    const uint32_t q = hp->n_head * hp->head_dim, k = hp->n_head_kv * hp->head_dim,
                   v = hp->n_head_kv * hp->head_dim_v;
    if (s->fused) {
        build_matmul(b, ROLE_ATTN_QKV, BUF_QKV, src, "attn_qkv", q + k + v, hp->n_embd, hp->attn_bias);
        return (struct qkv){ BUF_QKV, BUF_QKV, BUF_QKV, q, q + k };
    }
    if (s->borrowed_kv)
        return project_query(b, src, q, k, v);
    build_matmul(b, ROLE_ATTN_Q, BUF_Q, src, "attn_q", s->gated ? 2 * q : q, hp->n_embd, hp->attn_bias);
    build_matmul(b, ROLE_ATTN_K, BUF_K, src, "attn_k", k, hp->n_embd, hp->attn_bias);
    if (s->shared_kv)
        return (struct qkv){ BUF_Q, BUF_K, BUF_K, 0, 0 };
    build_matmul(b, ROLE_ATTN_V, BUF_V, src, "attn_v", v, hp->n_embd, hp->attn_bias);
    return (struct qkv){ BUF_Q, BUF_K, BUF_V, 0, 0 };
}

/* Per head, or over the whole row. */
static void norm_heads(struct builder *b, enum op_role r, enum op_buf buf, uint32_t at, uint32_t n_head,
                       const char *name, bool whole)
{
    const uint32_t dim = b->hp->head_dim;
    if (whole)
        build_norm_at(b, r, buf, at, 1, n_head * dim, name);
    else
        build_norm_at(b, r, buf, at, n_head, dim, name);
}

static void rope(struct builder *b, const struct attention_spec *s, enum op_buf buf, uint32_t at, uint32_t n_head)
{
    struct op *op = build_op(b, OP_ROPE, ROLE_ATTN_ROPE, buf, buf, 0);
    heads(op, b->hp, n_head);
    op->cols = n_head * b->hp->head_dim;
    op->src_at = op->dst_at = at;
    op->src_stride = op->dst_stride = b->hp->head_dim;
    op->n_rot = b->hp->n_rot;
    op->rope = s->rope;
    op->neox = s->neox;
}

static void plain_norm(struct builder *b, enum op_role r, enum op_buf buf, uint32_t at, uint32_t n_head)
{
    const uint32_t dim = b->hp->head_dim;
    struct op *op = build_op(b, OP_RMS_NORM, r, buf, buf, dim);
    op->src_at = op->dst_at = at;
    op->src_stride = op->dst_stride = dim;
    op->n_head = n_head;
}

static void store(struct builder *b, const struct attention_spec *s, const struct qkv *x, uint32_t window)
{
    const struct hparams *hp = b->hp;
    struct op *op = build_op(b, OP_KV_STORE, ROLE_KV_STORE, BUF_NONE, x->k,
                             hp->n_head_kv * (hp->head_dim + hp->head_dim_v));
    heads(op, hp, hp->n_head);
    op->src_at = x->k_at;
    op->src2 = x->v;
    op->src2_at = x->v_at;
    op->window = window;
    op->chunked = s->chunked;
}

static void attend(struct builder *b, const struct attention_spec *s, const struct qkv *x)
{
    const struct hparams *hp = b->hp;
    const uint32_t window = hparams_windowed(hp, (uint32_t)b->layer) ? hp->window : 0;
    if (!s->borrowed_kv)
        store(b, s, x, window);
    const struct tensor *sinks = s->sinks ? build_weight(b, "attn_sinks", 1, hp->n_head, 1) : NULL;
    struct op *op = build_op(b, OP_ATTENTION, ROLE_ATTN_CORE, BUF_ATTN, x->q, hp->n_head * hp->head_dim_v);
    heads(op, hp, hp->n_head);
    op->src_stride = hp->head_dim;
    op->w = sinks;
    op->window = window;
    op->chunked = s->chunked;
    op->scale = (float)(hp->attn_scale > 0 ? hp->attn_scale : 1 / sqrt((double)hp->head_dim));
    op->softcap = (float)hp->attn_softcap;
    op->alibi = hp->alibi;
}

/* The gate follows the query of each head. */
static void gate_heads(struct builder *b, const struct qkv *x)
{
    struct op *op = build_op(b, OP_GLU, ROLE_ATTN_GATE, BUF_ATTN, x->q, b->hp->n_head * b->hp->head_dim_v);
    op->src_at = b->hp->head_dim;
    op->src2 = BUF_ATTN;
    op->glu = GLU_SIGMOID;
}

void build_attention(struct builder *b, enum op_buf src, const struct attention_spec *s)
{
    const struct hparams *hp = b->hp;
    const struct qkv x = project(b, src, s);
    if (s->head_norms || s->width_norms) {
        norm_heads(b, ROLE_ATTN_Q_NORM, x.q, 0, hp->n_head, "attn_q_norm", s->width_norms);
        if (!s->borrowed_kv)
            norm_heads(b, ROLE_ATTN_K_NORM, x.k, x.k_at, hp->n_head_kv, "attn_k_norm", s->width_norms);
    }
    if (s->layer_norms) {
        build_layer_norm_at(b, ROLE_ATTN_Q_NORM, x.q, 0, hp->n_head, hp->head_dim, "attn_q_norm");
        build_layer_norm_at(b, ROLE_ATTN_K_NORM, x.k, x.k_at, hp->n_head_kv, hp->head_dim, "attn_k_norm");
    }
    if (!s->no_rope) {
        rope(b, s, x.q, 0, hp->n_head);
        if (!s->borrowed_kv)
            rope(b, s, x.k, x.k_at, hp->n_head_kv);
    }
    if (s->plain_norms) {
        plain_norm(b, ROLE_ATTN_Q_NORM, x.q, 0, hp->n_head);
        plain_norm(b, ROLE_ATTN_K_NORM, x.k, x.k_at, hp->n_head_kv);
    }
    attend(b, s, &x);
    if (s->gated)
        gate_heads(b, &x);
    build_matmul(b, ROLE_ATTN_OUTPUT, BUF_OUT, BUF_ATTN, "attn_output", hp->n_embd, hp->n_head * hp->head_dim_v,
                 hp->attn_output_bias);
}

/* ---- feed-forward ------------------------------------------------------------------------------- */

void build_ffn(struct builder *b, enum op_buf src, enum glu g, bool fused)
{
    const struct hparams *hp = b->hp;
    if (fused) {
        build_matmul(b, ROLE_FFN_GATE_UP, BUF_UP, src, "ffn_up", 2 * hp->n_ff, hp->n_embd, hp->ffn_bias);
        struct op *op = build_op(b, OP_GLU, ROLE_FFN_ACT, BUF_GATE, BUF_UP, hp->n_ff);
        op->src2 = BUF_UP;
        op->src2_at = hp->n_ff;
        op->glu = g;
    } else {
        build_matmul(b, ROLE_FFN_GATE, BUF_GATE, src, "ffn_gate", hp->n_ff, hp->n_embd, hp->ffn_bias);
        build_matmul(b, ROLE_FFN_UP, BUF_UP, src, "ffn_up", hp->n_ff, hp->n_embd, hp->ffn_bias);
        build_glu(b, ROLE_FFN_ACT, g, hp->n_ff);
    }
    build_matmul(b, ROLE_FFN_DOWN, BUF_OUT, BUF_GATE, "ffn_down", hp->n_embd, hp->n_ff, hp->ffn_bias);
}

static struct op *expert_matmul(struct builder *b, enum op_role r, enum op_buf dst, enum op_buf src,
                                const char *name, uint32_t rows, uint32_t cols, bool bias)
{
    const struct hparams *hp = b->hp;
    const struct tensor *w = build_weight(b, name, rows, cols, hp->n_expert);
    const struct tensor *added = bias ? build_bias(b, name, hp->n_expert, rows) : NULL;
    struct op *op = build_op(b, OP_EXPERT_MATMUL, r, dst, src, hp->n_expert_used * rows);
    op->w = w;
    op->bias = added;
    op->rows = rows;
    op->cols = cols;
    op->n_expert = hp->n_expert;
    op->n_expert_used = hp->n_expert_used;
    op->src2 = BUF_ROUTE;
    return op;
}

/* Multiplies the shared expert's output by a sigmoid gate per token. */
static void weigh_shared(struct builder *b, enum op_buf src)
{
    const uint32_t width = b->hp->n_embd;
    build_matmul(b, ROLE_SHARED_ROUTER, BUF_ROUTER, src, "ffn_gate_inp_shexp", 1, width, false);
    build_op(b, OP_ACT, ROLE_SHARED_ROUTER, BUF_ROUTER, BUF_ROUTER, 1)->glu = GLU_SIGMOID;
    build_op(b, OP_SCALE, ROLE_SHARED_ROUTER, BUF_SHARED, BUF_SHARED, width)->src2 = BUF_ROUTER;
}

static void shared_expert(struct builder *b, enum op_buf src, const struct experts_spec *s)
{
    const struct hparams *hp = b->hp;
    if (!hp->hybrid.ungated)
        build_matmul(b, ROLE_SHARED_GATE, BUF_GATE, src, "ffn_gate_shexp", hp->n_ff_shexp, hp->n_embd, false);
    build_matmul(b, ROLE_SHARED_UP, BUF_UP, src, "ffn_up_shexp", hp->n_ff_shexp, hp->n_embd, false);
    if (hp->hybrid.ungated)
        build_op(b, OP_ACT, ROLE_SHARED_ACT, BUF_GATE, BUF_UP, hp->n_ff_shexp)->glu = s->glu;
    else
        build_glu(b, ROLE_SHARED_ACT, s->glu, hp->n_ff_shexp);
    build_matmul(b, ROLE_SHARED_DOWN, BUF_SHARED, BUF_GATE, "ffn_down_shexp", hp->n_embd, hp->n_ff_shexp, false);
    if (hp->shared_gate)
        weigh_shared(b, src);
    build_add(b, ROLE_SHARED_ADD, BUF_OUT, BUF_SHARED);
}

static struct op *routed(struct builder *b, enum op_kind k, enum op_role r, enum op_buf dst, enum op_buf src,
                         uint32_t width)
{
    struct op *op = build_op(b, k, r, dst, src, width);
    op->n_expert = b->hp->n_expert;
    op->n_expert_used = b->hp->n_expert_used;
    return op;
}

struct route model_route(const struct hparams *hp, enum route_gate gate)
{
    return (struct route){ .gate = gate, .norm = hp->expert_norm, .scale = (float)hp->expert_scale, .n_group = hp->n_expert_group,
                           .n_group_used = hp->n_expert_group_used };
}

void build_experts(struct builder *b, enum op_buf src, const struct experts_spec *s)
{
    const struct hparams *hp = b->hp;
    const uint32_t k = hp->n_expert_used, width = hp->n_embd_exp > 0 ? hp->n_embd_exp : hp->n_embd;
    const enum op_buf in = hp->n_embd_exp > 0 ? BUF_EMBED : src, out = hp->n_embd_exp > 0 ? BUF_EMBED : BUF_OUT;
    build_matmul(b, ROLE_FFN_ROUTER, BUF_ROUTER, src, "ffn_gate_inp", hp->n_expert, hp->n_embd, s->bias);
    const struct tensor *choice = hp->expert_bias ? build_bias(b, "exp_probs_b", 1, hp->n_expert) : NULL;
    struct op *op = routed(b, OP_ROUTE, ROLE_FFN_ROUTE, BUF_ROUTE, BUF_ROUTER, 2 * k);
    op->w = choice;
    op->route = s->route;
    op->route.norm |= s->model_norm && hp->expert_norm;
    if (hp->n_embd_exp > 0)
        build_matmul(b, ROLE_PROJ_IN, in, src, "ffn_latent_down", width, hp->n_embd, false);
    if (!hp->hybrid.ungated && !hp->expert_packed)
        expert_matmul(b, ROLE_EXPERT_GATE, BUF_EXPERT_GATE, in, "ffn_gate_exps", hp->n_ff_exp, width, s->bias);
    if (hp->expert_packed)
        expert_matmul(b, ROLE_EXPERT_UP, BUF_EXPERT_UP, in, "ffn_gate_up_exps", 2 * hp->n_ff_exp, width, s->bias);
    else
        expert_matmul(b, ROLE_EXPERT_UP, BUF_EXPERT_UP, in, "ffn_up_exps", hp->n_ff_exp, width, s->bias);
    op = build_op(b, hp->hybrid.ungated ? OP_ACT : OP_GLU, ROLE_EXPERT_ACT, BUF_EXPERT_GATE,
                  hp->hybrid.ungated || hp->expert_packed ? BUF_EXPERT_UP : BUF_EXPERT_GATE, k * hp->n_ff_exp);
    op->src2 = hp->hybrid.ungated ? BUF_NONE : BUF_EXPERT_UP;
    op->glu = s->glu;
    expert_matmul(b, ROLE_EXPERT_DOWN, BUF_EXPERT_OUT, BUF_EXPERT_GATE, "ffn_down_exps", width, hp->n_ff_exp, s->bias);
    op = routed(b, OP_EXPERT_SUM, ROLE_EXPERT_SUM, out, BUF_EXPERT_OUT, width);
    op->src2 = BUF_ROUTE;
    if (hp->n_embd_exp > 0)
        build_matmul(b, ROLE_PROJ_OUT, BUF_OUT, out, "ffn_latent_up", hp->n_embd, width, false);
    if (hp->n_expert_shared > 0)
        shared_expert(b, src, s);
}

/* ---- the whole ----------------------------------------------------------------------------------- */

void build_blocks(struct builder *b, void (*block)(struct builder *b))
{
    for (uint32_t i = 0; i < b->hp->n_layer && !b->failed; i++) {
        b->layer = (int)i;
        block(b);
    }
    b->layer = -1;
    b->out_rows = true;
}

void build_lm_head(struct builder *b, enum op_buf src, uint32_t cols)
{
    const struct hparams *hp = b->hp;
    const bool declared = hp->tied && b->declare; /* declared with the embedding */
    const struct tensor *w = declared ? NULL : build_weight(b, hp->tied ? "token_embd" : "output", hp->n_vocab, cols, 1);
    const struct tensor *bias = hp->head_bias ? build_bias(b, "output", 1, hp->n_vocab) : NULL;
    struct op *op = build_op(b, OP_MATMUL, ROLE_LM_HEAD, BUF_LOGITS, src, hp->n_vocab);
    op->w = w;
    op->bias = bias;
    op->rows = hp->n_vocab;
    op->cols = cols;
    if (hp->final_softcap > 0)
        build_op(b, OP_SOFTCAP, ROLE_LOGIT_SOFTCAP, BUF_LOGITS, BUF_LOGITS, hp->n_vocab)->scale = (float)hp->final_softcap;
    if (hp->logit_scale > 0 && hp->logit_scale != 1)
        build_op(b, OP_SCALE, ROLE_LOGIT_SCALE, BUF_LOGITS, BUF_LOGITS, hp->n_vocab)->scale = (float)hp->logit_scale;
}

void build_model(struct builder *b, double embed_scale, void (*block)(struct builder *b))
{
    const struct hparams *hp = b->hp;
    if (!hp->alibi && hp->n_pos == 0)
        build_rope_table(b, hp->rope_theta, true);
    build_embed(b, embed_scale);
    if (hp->n_pos > 0)
        build_positions(b, hp->n_pos);
    build_blocks(b, block);
    build_norm(b, ROLE_OUTPUT_NORM, BUF_NORM, BUF_X, "output_norm");
    build_lm_head(b, BUF_NORM, hp->n_embd);
}

static void own_llama_block(struct builder *b)
{
    llama_block(b, &b->arch->attention, &b->arch->experts);
}

static void start(struct builder *b, const struct arch *a)
{
    b->arch = a;
    const double scale = b->hp->embed_scale;
    b->layer = -1;
    if (a->build)
        a->build(b);
    else
        build_model(b, scale != 1 ? scale : 0, a->block ? a->block : own_llama_block);
}

int arch_declare(const struct arch *a, const struct hparams *hp, declare_fn *fn, void *ctx, struct error *err)
{
    struct builder b = { .hp = hp, .declare = fn, .ctx = ctx, .err = err };
    start(&b, a);
    return b.failed ? -1 : 0;
}

static void find_readers(struct op_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = i + 1; l->ops[i].kind == OP_ATTENTION && k < l->n; k++)
            if (l->ops[k].src == l->ops[i].dst || l->ops[k].dst == l->ops[i].dst) {
                l->ops[i].reader = l->ops[k].kind == OP_MATMUL || l->ops[k].kind == OP_HEAD_MATMUL ? l->ops[k].w : NULL;
                break;
            }
}

int op_list_build(struct op_list *l, const struct model *m, struct error *err)
{
    *l = (struct op_list){ 0 };
    struct builder b = { .hp = &m->hp, .m = m, .l = l, .err = err };
    start(&b, m->arch);
    if (!b.failed) {
        find_readers(l);
        return 0;
    }
    op_list_free(l);
    return -1;
}
