/*
 * The recurrences of hybrids, one line an op; from BUF_NORM to BUF_OUT.
 *
 *   Mamba-1 (Gu and Dao 2023)  x, z = W_in h;  x = silu(conv(x));  dt, B, C = W_x x;  dt = softplus(W_dt dt + b)
 *                              S = exp(dt A) S + dt x B^T;  y = S C + D x;  out = W_out (y * silu(z))
 *   Mamba-2 (Dao and Gu 2024)  z, x, B, C, dt = W_in h;  x, B, C = silu(conv(x, B, C));  dt = softplus(dt + b)
 *                              S, y as before, with one A a head;  out = W_out norm(y * silu(z))
 *   Gated DeltaNet (Yang et al. 2024)
 *                              q, k, v, z = W h;  b, a = W' h;  q, k, v = silu(conv(q, k, v));  q, k of length 1
 *                              S = exp(-exp(A) softplus(a + b_dt)) S (I - beta k k^T) + beta v k^T, beta = sigmoid(b)
 *                              out = W_out (norm(S q) * silu(z))
 *   Short convolution (LFM2, Liquid AI 2025)
 *                              B, C, x = W_in h;  out = W_out (C * conv(B * x))
 * Cost: methods.md (19).
 */
#include "model/hybrid.h"

uint8_t hybrid_parts(const struct builder *b)
{
    return b->layer >= 0 && b->layer < HYBRID_MAX_LAYER ? b->hp->hybrid.parts[b->layer] : 0;
}

/* Convolution over `width` channels of BUF_SSM_IN from element `at`. */
static void convolution(struct builder *b, const char *name, uint32_t at, uint32_t width, bool bias)
{
    const struct hybrid *h = &b->hp->hybrid;
    const struct tensor *w = build_weight(b, name, width, h->n_conv, 1);
    const struct tensor *added = bias ? build_bias(b, name, 1, width) : NULL;
    struct op *op = build_op(b, OP_CONV1D, ROLE_SSM_CONV, BUF_SSM_X, BUF_SSM_IN, width);
    op->src_at = at;
    op->n_state = h->n_conv - 1;
    op->w = w;
    op->bias = added;
}

/* Convolution and activation. */
static void convolve(struct builder *b, uint32_t at, uint32_t width, bool bias)
{
    convolution(b, "ssm_conv1d", at, width, bias);
    build_op(b, OP_ACT, ROLE_SSM_CONV, BUF_SSM_X, BUF_SSM_X, width)->glu = GLU_SILU;
}

/* softplus(dt + bias), n elements in place. bias false: already added. */
static void steps(struct builder *b, enum op_buf buf, uint32_t at, uint32_t n, bool bias)
{
    const struct tensor *added = bias ? build_bias(b, "ssm_dt", 1, n) : NULL;
    struct op *op = build_op(b, OP_ACT, ROLE_SSM_DT, buf, buf, n);
    op->src_at = op->dst_at = at;
    op->glu = GLU_SOFTPLUS;
    op->bias = added;
}

/* Mamba scan; rates: rows of A. extra: elements read per token in addition to x. */
static void scan(struct builder *b, uint32_t rates, uint32_t n_head, enum op_buf src2, uint32_t extra)
{
    const struct hybrid *h = &b->hp->hybrid;
    const uint32_t width = h->n_head * h->head_dim;
    const struct tensor *a = rates > 1 ? build_weight(b, "ssm_a", rates, h->n_state, 1)
                                       : build_weight(b, "ssm_a", 1, h->n_head, 1);
    const struct tensor *d = build_weight(b, "ssm_d", 1, h->n_head, 1);
    struct op *op = build_op(b, OP_SSM_SCAN, ROLE_SSM_SCAN, BUF_SSM, BUF_SSM_X, width);
    op->src2 = src2;
    op->rows = extra;
    op->n_head = n_head;
    op->n_state = h->n_state;
    op->w = a;
    op->bias = d;
}

/* BUF_SSM *= silu(z), then the output projection. */
static void gate(struct builder *b, enum op_buf z, uint32_t at, uint32_t width)
{
    struct op *op = build_op(b, OP_GLU, ROLE_SSM_GATE, BUF_SSM, z, width);
    op->src_at = at;
    op->src2 = BUF_SSM;
    op->glu = GLU_SILU;
}

static void leave(struct builder *b, uint32_t width)
{
    build_matmul(b, ROLE_SSM_OUT, BUF_OUT, BUF_SSM, "ssm_out", b->hp->n_embd, width, false);
}

void build_mamba1(struct builder *b)
{
    const struct hybrid *h = &b->hp->hybrid;
    const uint32_t width = h->n_head * h->head_dim, n = h->n_state, chosen = h->n_dt + 2 * n;
    build_matmul(b, ROLE_SSM_IN, BUF_SSM_IN, BUF_NORM, "ssm_in", 2 * width, b->hp->n_embd, false);
    convolve(b, 0, width, true);
    build_matmul(b, ROLE_SSM_X, BUF_SSM_DT, BUF_SSM_X, "ssm_x", chosen, width, false);
    if (h->norm) {
        build_norm_at(b, ROLE_SSM_NORM, BUF_SSM_DT, 0, 1, h->n_dt, "ssm_dt_norm");
        build_norm_at(b, ROLE_SSM_NORM, BUF_SSM_DT, h->n_dt, 1, n, "ssm_b_norm");
        build_norm_at(b, ROLE_SSM_NORM, BUF_SSM_DT, h->n_dt + n, 1, n, "ssm_c_norm");
    }
    /* dt is computed in the scan's output buffer */
    build_matmul(b, ROLE_SSM_DT, BUF_SSM, BUF_SSM_DT, "ssm_dt", width, h->n_dt, true);
    steps(b, BUF_SSM, 0, width, false);
    scan(b, width, 0, BUF_SSM_DT, width + 2 * n);
    gate(b, BUF_SSM_IN, width, width);
    leave(b, width);
}

void build_mamba2(struct builder *b)
{
    const struct hybrid *h = &b->hp->hybrid;
    const uint32_t width = h->n_head * h->head_dim, shared = 2 * h->n_group * h->n_state;
    build_matmul(b, ROLE_SSM_IN, BUF_SSM_IN, BUF_NORM, "ssm_in", 2 * width + shared + h->n_head, b->hp->n_embd, false);
    convolve(b, width, width + shared, true);
    steps(b, BUF_SSM_IN, 2 * width + shared, h->n_head, true);
    scan(b, 1, h->n_head, BUF_SSM_IN, shared + h->n_head);
    gate(b, BUF_SSM_IN, 0, width);
    if (h->norm) /* per group */
        build_norm_at(b, ROLE_SSM_NORM, BUF_SSM, 0, 1, width, "ssm_norm");
    leave(b, width);
}

/* q, k, v, then z in BUF_SSM_IN; two gate scalars per head in BUF_SSM_DT. */
static void delta_inputs(struct builder *b, bool split, uint32_t qkv, uint32_t width)
{
    const uint32_t n_embd = b->hp->n_embd, n = b->hp->hybrid.n_head;
    if (!split) {
        build_matmul(b, ROLE_SSM_IN, BUF_SSM_IN, BUF_NORM, "ssm_in", qkv + width, n_embd, false);
        build_matmul(b, ROLE_SSM_DT, BUF_SSM_DT, BUF_NORM, "ssm_ba", 2 * n, n_embd, false);
        return;
    }
    build_matmul(b, ROLE_SSM_IN, BUF_SSM_IN, BUF_NORM, "ssm_qkv", qkv, n_embd, false);
    build_matmul(b, ROLE_SSM_IN, BUF_SSM_IN, BUF_NORM, "ssm_z", width, n_embd, false)->dst_at = qkv;
    build_matmul(b, ROLE_SSM_DT, BUF_SSM_DT, BUF_NORM, "ssm_b", n, n_embd, false);
    build_matmul(b, ROLE_SSM_DT, BUF_SSM_DT, BUF_NORM, "ssm_alpha", n, n_embd, false)->dst_at = n;
    if (b->l) { /* two projections */
        b->l->width[BUF_SSM_IN] = qkv + width;
        b->l->width[BUF_SSM_DT] = 2 * n;
    }
}

/* L2-normalizes queries and keys. */
static void unit_length(struct builder *b)
{
    const struct hybrid *h = &b->hp->hybrid;
    struct op *op = build_op(b, OP_RMS_NORM, ROLE_SSM_NORM, BUF_SSM_X, BUF_SSM_X, h->n_state);
    op->n_head = 2 * h->n_group;
    op->src_stride = op->dst_stride = h->n_state;
}

void build_delta_net(struct builder *b, bool split)
{
    const struct hybrid *h = &b->hp->hybrid;
    const uint32_t width = h->n_head * h->head_dim, keys = h->n_group * h->n_state, qkv = 2 * keys + width;
    delta_inputs(b, split, qkv, width);
    convolve(b, 0, qkv, false);
    unit_length(b);
    build_op(b, OP_ACT, ROLE_SSM_DT, BUF_SSM_DT, BUF_SSM_DT, h->n_head)->glu = GLU_SIGMOID;
    steps(b, BUF_SSM_DT, h->n_head, h->n_head, true);
    const struct tensor *a = build_weight(b, "ssm_a", 1, h->n_head, 1);
    struct op *op = build_op(b, OP_DELTA_RULE, ROLE_SSM_SCAN, BUF_SSM, BUF_SSM_X, width);
    op->src2 = BUF_SSM_DT;
    op->rows = 2 * keys + 2 * h->n_head;
    op->n_head = h->n_head;
    op->n_head_kv = h->n_group;
    op->head_dim = h->n_state;
    op->head_dim_v = h->head_dim;
    op->w = a;
    build_norm_at(b, ROLE_SSM_NORM, BUF_SSM, 0, h->n_head, h->head_dim, "ssm_norm");
    gate(b, BUF_SSM_IN, qkv, width);
    leave(b, width);
}

/* Gate and input are adjacent: B, C, x. */
static void gate_conv(struct builder *b, enum op_buf dst, enum op_buf src, uint32_t gate_at)
{
    struct op *op = build_op(b, OP_MUL, ROLE_SSM_GATE, dst, src, b->hp->n_embd);
    op->src2 = BUF_SSM_IN;
    op->src2_at = gate_at;
}

void build_short_conv(struct builder *b)
{
    const uint32_t width = b->hp->n_embd;
    build_matmul(b, ROLE_SSM_IN, BUF_SSM_IN, BUF_NORM, "shortconv.in_proj", 3 * width, width, false);
    gate_conv(b, BUF_SSM_IN, BUF_SSM_IN, 2 * width);
    convolution(b, "shortconv.conv", 0, width, false);
    gate_conv(b, BUF_SSM, BUF_SSM_X, width);
    build_matmul(b, ROLE_SSM_OUT, BUF_OUT, BUF_SSM, "shortconv.out_proj", width, width, false);
}
