/* What each op of a pass moves and computes: bytes of weights, activations and KV cache,
 * and FLOP. */
#include "roofline/roofline.h"
#include <math.h>

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

static double kv_elem_bytes(enum dtype kv_type)
{
    return dtype_bits(kv_type) / 8;
}

static double tensor_bytes(const struct tensor *t)
{
    return t ? (double)t->bytes : 0;
}

/* K and V elements of one position in this op's layer. */
static double kv_width(const struct op *op)
{
    return 2.0 * op->n_head_kv * op->head_dim;
}

/* ---- one function an op kind ---------------------------------------------------- */

/* (11): the rows looked up, one a token. */
static struct cost cost_embed(const struct op *op, double n_tok,
                              const struct cost_options *o)
{
    return (struct cost){
        .weight_bytes =
            op->w ? n_tok * (double)dtype_row_bytes(op->w->type, op->w->cols) : 0,
        .act_bytes = o->act_elem_bytes * n_tok * op->cols,
    };
}

/* (5) */
static struct cost cost_rms_norm(const struct op *op, double n_tok,
                                 const struct cost_options *o)
{
    const double n = op->cols;
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
    return (struct cost){ .kv_bytes = n_tok * kv_width(op) * kv_elem_bytes(o->kv_type),
                          .act_bytes = o->act_elem_bytes * n_tok * kv_width(op) };
}

/* Scores computed by t new tokens after n_past cached ones, causal: token i sees
 * min(n_past + i + 1, window) keys. The first `open` tokens do not fill the window yet. */
static double keys_seen(double t, double n_past, double window)
{
    const double open = window > 0 ? fmin(t, fmax(0, window - n_past)) : t;
    return open * n_past + open * (open + 1) / 2 + (t - open) * window;
}

/* Positions of the cache read: the union of what the t tokens see. */
static double keys_present(double t, double n_past, double window)
{
    return window > 0 ? fmin(n_past + t, window + t - 1) : n_past + t;
}

/* (7) */
static struct cost cost_attention(const struct op *op, const struct pass *p,
                                  const struct cost_options *o)
{
    const double t = tokens_seq(p), q = (double)op->n_head * op->head_dim;
    return (struct cost){
        .kv_bytes = n_seq(p) * keys_present(t, p->n_past, op->window) * kv_width(op) *
                    kv_elem_bytes(o->kv_type),
        .act_bytes = o->act_elem_bytes * p->n_tok * 2 * q,
        .flop = n_seq(p) * 4 * q * keys_seen(t, p->n_past, op->window),
    };
}

/* (8), (9): `operands` arrays of n elements read or written, `flop` operations an element.
 */
static struct cost cost_elementwise(const struct op *op, double n_tok, double operands,
                                    double flop, const struct cost_options *o)
{
    return (struct cost){ .act_bytes = o->act_elem_bytes * n_tok * operands * op->cols,
                          .flop = n_tok * flop * op->cols };
}

struct cost cost_op(const struct op *op, const struct pass *p, const struct cost_options *o)
{
    const double n_tok = op_n_tok(op, p);
    if (n_tok == 0) /* the last norm and the LM head of a pass that wants no logits */
        return (struct cost){ 0 };
    switch (op->kind) {
    case OP_EMBED:
        return cost_embed(op, n_tok, o);
    case OP_RMS_NORM:
        return cost_rms_norm(op, n_tok, o);
    case OP_MATMUL:
        return cost_matmul(op, n_tok, o);
    case OP_ROPE:
        return cost_rope(op, n_tok, o);
    case OP_KV_STORE:
        return cost_kv_store(op, n_tok, o);
    case OP_ATTENTION:
        return cost_attention(op, p, o);
    case OP_SILU_MUL:
        return cost_elementwise(op, n_tok, 3, 5, o);
    case OP_ADD:
        return cost_elementwise(op, n_tok, 3, 1, o);
    case OP_KIND_COUNT:
        break;
    }
    return (struct cost){ 0 };
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

double cost_kv_bytes_token(const struct model *m, enum dtype kv_type)
{
    return 2.0 * m->hp.n_layer * m->hp.n_head_kv * m->hp.head_dim * kv_elem_bytes(kv_type);
}

uint64_t cost_score_len(const struct op *op, const struct pass *p)
{
    const uint64_t seen = (uint64_t)p->n_past + (uint64_t)tokens_seq(p);
    return op->window > 0 ? u64_min(seen, op->window) : seen;
}

/* ---- passes ------------------------------------------------------------------------ */

/* Tokens of each sequence in a pass. */
static uint32_t pass_step(uint32_t n_ubatch, uint32_t seqs)
{
    return n_ubatch / seqs > 0 ? n_ubatch / seqs : 1;
}

uint64_t prefill_n_passes(uint32_t n, uint32_t n_ubatch, uint32_t n_seq_)
{
    return u64_ceil_div(n, pass_step(n_ubatch, n_seq_ > 0 ? n_seq_ : 1));
}

void prefill_passes(uint32_t n, uint32_t depth, uint32_t n_ubatch, uint32_t n_seq_,
                    pass_fn *fn, void *ctx)
{
    const uint32_t seqs = n_seq_ > 0 ? n_seq_ : 1, step = pass_step(n_ubatch, seqs);
    for (uint32_t at = 0; at < n;) {
        const uint32_t t = n - at < step ? n - at : step;
        const struct pass p = { .n_tok = t * seqs,
                                .n_past = depth + at,
                                .n_seq = seqs,
                                .n_out = t == n - at ? seqs : 0 };
        fn(ctx, &p);
        at += t;
    }
}

struct pass decode_pass(uint32_t depth, uint32_t n_gen, uint32_t n_seq_)
{
    const uint32_t seqs = n_seq_ > 0 ? n_seq_ : 1;
    return (struct pass){
        .n_tok = seqs, .n_past = depth + n_gen / 2, .n_seq = seqs, .n_out = seqs
    };
}
