/* What each op of a pass moves and computes: bytes of weights, activations and KV cache,
 * and FLOP. */
#include "roofline/internal.h"
#include <math.h>

/* Expanded keys and values of MLA stand in a workspace of F16, in the engine as on GPUs. (36) */
enum { WORKSPACE_ELEM_BYTES = 2 };

/* Sequences of a pass; a pass that leaves the field 0 means one. */
static double n_seq(const struct pass *p)
{
    return p->n_seq > 0 ? p->n_seq : 1;
}

/* New tokens of each sequence: n_tok counts all sequences together. */
static double tokens_seq(const struct pass *p)
{
    return p->n_tok / n_seq(p);
}

static double tensor_bytes(const struct tensor *t)
{
    return t ? (double)t->bytes : 0;
}

/* Bytes of n rows of a weight, cols elements each; 0 without the weight. */
static double row_bytes(const struct tensor *w, double n, uint64_t cols)
{
    return w ? n * (double)dtype_row_bytes(w->type, cols) : 0;
}

double cost_kv_row_bytes(const struct op *op, const struct cost_options *o)
{
    const bool v = op->head_dim_v > 0 && !op->v_in_k;
    return op->n_head_kv * ((double)dtype_row_bytes(o->type_k, op->head_dim) +
                            (v ? (double)dtype_row_bytes(o->type_v, op->head_dim_v) : 0));
}

/* ---- keys ------------------------------------------------------------------------- */

/* What the new tokens of one sequence meet in the cache. */
struct keys {
    double seen;    /* pairs of a new token and a key it attends to */
    double present; /* positions read: the union of what the tokens see */
};

/* Scores computed by t new tokens after n_past cached ones, causal: token i sees
 * min(n_past + i + 1, window) keys. The first `open` tokens do not fill the window yet. */
static double keys_seen(double t, double n_past, double window)
{
    const double open = window > 0 ? fmin(t, fmax(0, window - n_past)) : t;
    return open * n_past + open * (open + 1) / 2 + (t - open) * window;
}

static double keys_present(double t, double n_past, double window)
{
    return window > 0 ? fmin(n_past + t, window + t - 1) : n_past + t;
}

static struct keys keys_of_pass(const struct op *op, const struct pass *p)
{
    const double t = tokens_seq(p);
    return (struct keys){ .seen = keys_seen(t, p->n_past, op->window),
                          .present = keys_present(t, p->n_past, op->window) };
}

/* The mean of n steps of one token each: together they see what n tokens of one pass see. (14) */
static struct keys keys_of_steps(const struct op *op, const struct pass *first, double n)
{
    const double mean = keys_seen(n, first->n_past, op->window) / n;
    return (struct keys){ .seen = mean, .present = mean };
}

/* ---- one function an op kind ---------------------------------------------------- */

/* (11): the rows looked up, one a token. */
static struct cost cost_embed(const struct op *op, double n_tok,
                              const struct cost_options *o)
{
    return (struct cost){
        .weight_bytes = op->w ? row_bytes(op->w, n_tok, op->w->cols) : 0,
        .act_bytes = o->act_elem_bytes * n_tok * op->cols,
        .flop = op->scale != 0 ? n_tok * op->cols : 0,
    };
}

/* (5): of one row a token, or of each of its heads. */
static struct cost cost_rms_norm(const struct op *op, double n_tok,
                                 const struct cost_options *o)
{
    const double n = (double)(op->n_head > 1 ? op->n_head : 1) * op->cols;
    return (struct cost){ .weight_bytes = tensor_bytes(op->w),
                          .act_bytes = o->act_elem_bytes * n_tok * 2 * n,
                          .flop = n_tok * 4 * n };
}

/* (4): the weights once a pass, whatever the number of tokens. */
static struct cost cost_matmul(const struct op *op, double n_tok,
                               const struct cost_options *o)
{
    const double rows = op->rows, cols = op->cols;
    return (struct cost){
        .weight_bytes = tensor_bytes(op->w) + tensor_bytes(op->bias),
        .act_bytes = o->act_elem_bytes * n_tok * (rows + cols),
        .flop = n_tok * (2 * rows * cols + (op->bias ? rows : 0)),
    };
}

/* (36): a matrix a head, all of them once a pass; a transposed one is stored as [cols, rows]. */
static struct cost cost_head_matmul(const struct op *op, double n_tok,
                                    const struct cost_options *o)
{
    const double heads = op->n_head, rows = op->rows, cols = op->cols;
    return (struct cost){
        .weight_bytes = op->transposed ? row_bytes(op->w, heads * cols, op->rows)
                                       : row_bytes(op->w, heads * rows, op->cols),
        .act_bytes = o->act_elem_bytes * n_tok * heads * (rows + cols),
        .flop = n_tok * 2 * heads * rows * cols,
    };
}

/* (6) */
static struct cost cost_rope(const struct op *op, double n_tok,
                             const struct cost_options *o)
{
    const double rotated = (double)op->n_head * op->n_rot;
    return (struct cost){ .act_bytes = o->act_elem_bytes * n_tok * 2 * rotated,
                          .flop = n_tok * 3 * rotated };
}

/* (11) */
static struct cost cost_kv_store(const struct op *op, double n_tok,
                                 const struct cost_options *o)
{
    const double elems = (double)op->n_head_kv * ((double)op->head_dim + op->head_dim_v);
    return (struct cost){ .kv_bytes = n_tok * cost_kv_row_bytes(op, o),
                          .act_bytes = o->act_elem_bytes * n_tok * elems };
}

/* Expanded keys and values of so many positions. */
static double workspace_bytes(const struct op *op, double positions)
{
    return WORKSPACE_ELEM_BYTES * positions * op->n_head *
           ((double)op->head_dim + op->head_dim_v);
}

double cost_expanded_bytes(const struct op_list *l, uint64_t n_ctx)
{
    return (double)WORKSPACE_ELEM_BYTES * l->width_expanded * (double)n_ctx;
}

/* (36): every position's latent row, once a pass, to keys (but for their rotary part, which is
 * copied) and values of all heads. */
static struct cost cost_kv_expand(const struct op *op, double positions,
                                  const struct cost_options *o)
{
    const double rank = (double)op->cols - op->n_rot,
                 made = (double)op->head_dim - op->n_rot + op->head_dim_v;
    return (struct cost){
        .weight_bytes = tensor_bytes(op->w) + tensor_bytes(op->bias),
        .kv_bytes = positions * (double)dtype_row_bytes(o->type_k, op->cols),
        .act_bytes = workspace_bytes(op, positions),
        .flop = 2 * positions * op->n_head * rank * made,
    };
}

/* (7) */
static struct cost cost_attention(const struct op *op, double n_tok, double seqs,
                                  struct keys k, const struct cost_options *o)
{
    const double width = op->n_head * ((double)op->head_dim + op->head_dim_v);
    const bool expanded = op->form == FORM_EXPANDED;
    return (struct cost){
        .weight_bytes = tensor_bytes(op->w),
        .kv_bytes = expanded ? 0 : seqs * k.present * cost_kv_row_bytes(op, o),
        .act_bytes = o->act_elem_bytes * n_tok * width +
                     (expanded ? workspace_bytes(op, seqs * k.present) : 0),
        .flop = 2 * width * seqs * k.seen,
    };
}

/* (8), (9), (39): `operands` arrays of n elements read or written, `flop` operations an
 * element. */
static struct cost cost_elementwise(const struct op *op, double n_tok, double operands,
                                    double flop, const struct cost_options *o)
{
    return (struct cost){ .act_bytes = o->act_elem_bytes * n_tok * operands * op->cols,
                          .flop = n_tok * flop * op->cols };
}

/* (8) */
static double glu_flop(enum glu g)
{
    switch (g) {
    case GLU_SILU:
        return 5;
    case GLU_GELU:
        return 10;
    case GLU_SWIGLU_OAI:
        return 8;
    }
    return 0;
}

/* (34): logits in, ids and weights of the chosen out. */
static struct cost cost_route(const struct op *op, double n_tok, const struct cost_options *o)
{
    return (struct cost){
        .weight_bytes = tensor_bytes(op->w),
        .act_bytes =
            o->act_elem_bytes * n_tok * ((double)op->n_expert + 2.0 * op->n_expert_used),
        .flop = n_tok * 5 * op->n_expert,
    };
}

/* (35) */
static struct cost cost_expert_matmul(const struct op *op, double n_tok,
                                      const struct cost_options *o)
{
    const double rows = op->rows, cols = op->cols, visits = n_tok * op->n_expert_used,
                 touched = cost_experts_touched(op, n_tok);
    return (struct cost){
        .weight_bytes = row_bytes(op->w, touched * rows, op->cols) +
                        row_bytes(op->bias, touched, op->rows),
        .act_bytes = o->act_elem_bytes * visits * (rows + cols),
        .flop = visits * (2 * rows * cols + (op->bias ? rows : 0)),
    };
}

/* (34) */
static struct cost cost_expert_sum(const struct op *op, double n_tok,
                                   const struct cost_options *o)
{
    const double used = op->n_expert_used, cols = op->cols;
    return (struct cost){ .act_bytes = o->act_elem_bytes * n_tok * (used + 1) * cols,
                          .flop = n_tok * 2 * used * cols };
}

static struct cost cost_with_keys(const struct op *op, const struct pass *p, struct keys k,
                                  const struct cost_options *o)
{
    const double n_tok = op_n_tok(op, p);
    if (n_tok == 0) /* no logits wanted, or the other form of MLA runs */
        return (struct cost){ 0 };
    switch (op->kind) {
    case OP_EMBED:
        return cost_embed(op, n_tok, o);
    case OP_RMS_NORM:
        return cost_rms_norm(op, n_tok, o);
    case OP_MATMUL:
        return cost_matmul(op, n_tok, o);
    case OP_HEAD_MATMUL:
        return cost_head_matmul(op, n_tok, o);
    case OP_ROPE:
        return cost_rope(op, n_tok, o);
    case OP_KV_STORE:
        return cost_kv_store(op, n_tok, o);
    case OP_KV_EXPAND:
        return cost_kv_expand(op, n_seq(p) * k.present, o);
    case OP_ATTENTION:
        return cost_attention(op, n_tok, n_seq(p), k, o);
    case OP_GLU:
        return cost_elementwise(op, n_tok, 3, glu_flop(op->glu), o);
    case OP_ADD:
        return cost_elementwise(op, n_tok, 3, 1, o);
    case OP_ROUTE:
        return cost_route(op, n_tok, o);
    case OP_EXPERT_MATMUL:
        return cost_expert_matmul(op, n_tok, o);
    case OP_EXPERT_SUM:
        return cost_expert_sum(op, n_tok, o);
    case OP_SOFTCAP:
        return cost_elementwise(op, n_tok, 2, 3, o);
    case OP_KIND_COUNT:
        break;
    }
    return (struct cost){ 0 };
}

struct cost cost_op(const struct op *op, const struct pass *p, const struct cost_options *o)
{
    return cost_with_keys(op, p, keys_of_pass(op, p), o);
}

struct cost cost_decode(const struct op *op, const struct pass *first, uint32_t n,
                        const struct cost_options *o)
{
    return cost_with_keys(op, first, keys_of_steps(op, first, n), o);
}

bool cost_is_product(const struct op *op)
{
    switch (op->kind) {
    case OP_MATMUL:
    case OP_HEAD_MATMUL:
    case OP_KV_EXPAND:
    case OP_EXPERT_MATMUL:
        return true;
    case OP_EMBED:
    case OP_RMS_NORM:
    case OP_ROPE:
    case OP_KV_STORE:
    case OP_ATTENTION:
    case OP_GLU:
    case OP_ADD:
    case OP_ROUTE:
    case OP_EXPERT_SUM:
    case OP_SOFTCAP:
    case OP_KIND_COUNT:
        break;
    }
    return false;
}

/* ---- sums and ratios ------------------------------------------------------------- */

struct cost cost_add(struct cost a, struct cost b)
{
    return (struct cost){ .weight_bytes = a.weight_bytes + b.weight_bytes,
                          .act_bytes = a.act_bytes + b.act_bytes,
                          .kv_bytes = a.kv_bytes + b.kv_bytes,
                          .flop = a.flop + b.flop };
}

double cost_bytes(const struct cost *c)
{
    return c->weight_bytes + c->act_bytes + c->kv_bytes;
}

double cost_ai(const struct cost *c)
{
    const double bytes = cost_bytes(c);
    return bytes > 0 ? c->flop / bytes : NAN;
}

double cost_experts_touched(const struct op *op, double n_tok)
{
    const double n = op->n_expert, k = op->n_expert_used;
    if (n_tok <= 1 || k >= n) /* exact: k are distinct */
        return n_tok > 0 ? k : 0;
    return -n * expm1(n_tok * log1p(-k / n));
}

uint64_t cost_score_len(const struct op *op, const struct pass *p)
{
    const uint64_t seen = (uint64_t)p->n_past + (uint64_t)tokens_seq(p);
    return op->window > 0 ? u64_min(seen, op->window) : seen;
}
