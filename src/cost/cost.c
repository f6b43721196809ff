/* What each op of a pass moves and computes: bytes of weights, activations and KV cache,
 * and FLOP. An op becomes a form, coefficients of what varies from pass to pass; a form and a pass
 * make a cost. */
#include "cost/internal.h"
#include <math.h>

enum {
    WORKSPACE_ELEM_BYTES = 2, /* expanded keys and values of MLA: F16, in the engine as on GPUs. (17) */
    STATE_ELEM_BYTES = 4,     /* recurrent states are F32. (19) */
    TABLE_ENTRY_BYTES = 4,    /* a block's number in a block table. (22) */
};

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

/* Bytes of n rows of a weight, cols elements each, with their share of its scales; 0 without the weight. */
static double row_bytes(const struct tensor *w, double n, uint64_t cols)
{
    if (w && w->scheme)
        return (double)w->bytes / ((double)w->rows / n);
    return w ? n * (double)dtype_row_bytes(w->type, cols) : 0;
}

/* Rows of the cache that a position has: compressed keys stand for several. (18) */
static double rows_position(const struct op *op)
{
    return op->per_row > 1 ? 1.0 / op->per_row : 1;
}

double cost_kv_row_bytes(const struct op *op, const struct cost_options *o)
{
    const bool v = op->head_dim_v > 0 && !op->v_in_k;
    return rows_position(op) * op->n_head_kv * ((double)dtype_row_bytes(o->type_k, op->head_dim) +
                            (v ? (double)dtype_row_bytes(o->type_v, op->head_dim_v) : 0));
}

/* ---- keys ------------------------------------------------------------------------- */

/* What the new tokens of one sequence read of the KV cache. */
struct keys {
    double seen;    /* pairs of a new token and a key it attends to */
    double present; /* positions read: the union of what the tokens see */
};

/* Scores computed by t new tokens after n_past cached ones, causal: token i sees
 * min(n_past + i + 1, window) keys. The first `open` tokens do not fill the window yet. */
static double keys_in_window(double t, double n_past, double window)
{
    const double open = window > 0 ? min2(t, max2(0, window - n_past)) : t;
    return open * n_past + open * (open + 1) / 2 + (t - open) * window;
}

/* The same where position p sees its chunk of the context up to itself, p mod chunk + 1 keys: of positions below n. */
static double keys_of_chunks(double n, double chunk)
{
    const double whole = floor(n / chunk), rest = n - whole * chunk;
    return whole * chunk * (chunk + 1) / 2 + rest * (rest + 1) / 2;
}

static double keys_seen(const struct cost_form *f, double t, double n_past)
{
    if (f->chunked && f->window > 0)
        return keys_of_chunks(n_past + t, f->window) - keys_of_chunks(n_past, f->window);
    return keys_in_window(t, n_past, f->window > 0 ? f->window : f->n_top);
}

/* Positions of the cache that a pass reads. With an indexer each token selects its own n_top keys: their union is taken as the sum, at most
 * all positions. */
static double keys_present(const struct cost_form *f, double t, double n_past)
{
    if (f->chunked && f->window > 0)
        return n_past + t - floor(n_past / f->window) * f->window;
    if (f->n_top > 0)
        return min2(n_past + t, keys_seen(f, t, n_past));
    return f->window > 0 ? min2(n_past + t, f->window + t - 1) : n_past + t;
}

static struct keys keys_of_pass(const struct cost_form *f, const struct pass *p)
{
    const double t = tokens_seq(p);
    return (struct keys){ .seen = keys_seen(f, t, p->n_past), .present = keys_present(f, t, p->n_past) };
}

/* The mean of n steps of one token each: together they see what n tokens of one pass see. (21) */
static struct keys keys_of_steps(const struct cost_form *f, const struct pass *first, double n)
{
    const double mean = keys_seen(f, n, first->n_past) / n;
    return (struct keys){ .seen = mean, .present = mean };
}

/* ---- one function an op kind ---------------------------------------------------- */

/* in and out: elements of activations a token. */
static void activations(struct cost_form *f, double in, double out, const struct cost_options *o)
{
    f->act_in_tok = o->act_elem_bytes * in;
    f->act_out_tok = o->act_elem_bytes * out;
}

/* (13), (14), (12), (8), (19): `in` arrays read, one written, `flop` operations an element. */
static void form_elementwise(struct cost_form *f, const struct op *op, double in, double flop, const struct cost_options *o)
{
    f->weight = tensor_bytes(op->bias);
    activations(f, in * op->cols, op->cols, o);
    f->flop_tok = (flop + (op->bias ? 1 : 0)) * op->cols;
}

/* (6): the rows looked up, one a token. */
static void form_embed(struct cost_form *f, const struct op *op, const struct cost_options *o)
{
    f->weight_tok = op->w ? row_bytes(op->w, 1, op->w->cols) : 0;
    activations(f, 0, op->cols, o);
    f->flop_tok = op->scale != 0 ? op->cols : 0;
}

/* (7), (8): of one row a token, or of each of its heads. */
static void form_norm(struct cost_form *f, const struct op *op, double flop, const struct cost_options *o)
{
    const double n = (double)(op->n_head > 1 ? op->n_head : 1) * op->cols;
    f->weight = tensor_bytes(op->w) + tensor_bytes(op->bias);
    activations(f, n, n, o);
    f->flop_tok = flop * n;
}

/* (5): the weights once a pass, whatever the number of tokens. */
static void form_matmul(struct cost_form *f, const struct op *op, const struct cost_options *o)
{
    const double rows = op->rows, cols = op->cols;
    f->weight = tensor_bytes(op->w) + tensor_bytes(op->bias);
    activations(f, cols, rows, o);
    f->flop_tok = 2 * rows * cols + (op->bias ? rows : 0);
}

/* (17): a matrix a head, all of them once a pass; a transposed one is stored as [cols, rows]. */
static void form_head_matmul(struct cost_form *f, const struct op *op, const struct cost_options *o)
{
    const double heads = op->n_head, rows = op->rows, cols = op->cols;
    f->weight = op->transposed ? row_bytes(op->w, heads * cols, op->rows) : row_bytes(op->w, heads * rows, op->cols);
    activations(f, heads * cols, heads * rows, o);
    f->flop_tok = 2 * heads * rows * cols;
}

/* (9) */
static void form_rope(struct cost_form *f, const struct op *op, const struct cost_options *o)
{
    const double rotated = (double)op->n_head * op->n_rot;
    activations(f, rotated, rotated, o);
    f->flop_tok = 3 * rotated;
}

/* (6) */
static void form_kv_store(struct cost_form *f, const struct op *op, const struct cost_options *o)
{
    f->kv_tok = cost_kv_row_bytes(op, o);
    activations(f, rows_position(op) * op->n_head_kv * ((double)op->head_dim + op->head_dim_v), 0, o);
}

/* Expanded keys and values of a position. */
static double workspace_bytes(const struct op *op)
{
    return WORKSPACE_ELEM_BYTES * (double)op->n_head * ((double)op->head_dim + op->head_dim_v);
}

double cost_expanded_bytes(const struct op_list *l, uint64_t n_ctx)
{
    return (double)WORKSPACE_ELEM_BYTES * l->width_expanded * (double)n_ctx;
}

/* (17): every position's latent row, once a pass, to keys (but for their rotary part, which is
 * copied) and values of all heads. */
static void form_kv_expand(struct cost_form *f, const struct op *op, const struct cost_options *o)
{
    const double rank = (double)op->cols - op->n_rot, made = (double)op->head_dim - op->n_rot + op->head_dim_v;
    f->weight = tensor_bytes(op->w) + tensor_bytes(op->bias);
    f->kv_present = (double)dtype_row_bytes(o->type_k, op->cols);
    f->act_present = workspace_bytes(op);
    f->flop_present = 2 * op->n_head * rank * made;
}

double cost_score_bytes(double n_head, const struct cost_options *o)
{
    return 4 * o->act_elem_bytes * n_head;
}

/* (11) */
static void form_attention(struct cost_form *f, const struct op *op, const struct cost_options *o)
{
    const double q = (double)op->n_head * op->head_dim, v = (double)op->n_head * op->head_dim_v;
    f->weight = tensor_bytes(op->w);
    activations(f, q, v, o);
    f->flop_seen = 2 * (q + v) * rows_position(op);
    if (o->materialized) /* of masked ones too */
        f->act_score = cost_score_bytes(op->n_head, o) * rows_position(op);
    if (op->form == FORM_EXPANDED)
        f->act_present = workspace_bytes(op);
    else
        f->kv_present = cost_kv_row_bytes(op, o);
    if (o->kv_block > 0) /* (22) */
        f->kv_present += (double)TABLE_ENTRY_BYTES / o->kv_block;
}

/* (18): the scores of every key: a product a head, its ReLU, and the weighted sum over heads. Comparisons are no FLOP. */
static void form_index(struct cost_form *f, const struct op *op, const struct cost_options *o)
{
    f->kv_present = rows_position(op) * (double)dtype_row_bytes(o->type_k, op->head_dim);
    activations(f, (double)op->n_head * (op->head_dim + 1.0), op->n_top, o);
    f->flop_seen = rows_position(op) * (2.0 * op->n_head * op->head_dim + 3.0 * op->n_head);
    f->n_top = 0; /* it looks at all of them */
}

/* (13), the product with the other half included */
static double glu_flop(enum glu g)
{
    switch (g) {
    case GLU_SILU:
    case GLU_SIGMOID:
        return 5;
    case GLU_GELU:
        return 10;
    case GLU_SWIGLU_OAI:
        return 8;
    case GLU_RELU:
        return 2;
    case GLU_RELU2:
        return 3;
    case GLU_SOFTPLUS:
        return 4;
    }
    return 0;
}

/* (15): logits in, ids and weights of the chosen out. */
static void form_route(struct cost_form *f, const struct op *op, const struct cost_options *o)
{
    f->weight = tensor_bytes(op->w);
    activations(f, op->n_expert, 2.0 * op->n_expert_used, o);
    f->flop_tok = 5.0 * op->n_expert;
}

/* (16) */
static void form_expert_matmul(struct cost_form *f, const struct op *op, const struct cost_options *o)
{
    const double rows = op->rows, cols = op->cols, used = op->n_expert_used;
    f->weight_expert = row_bytes(op->w, rows, op->cols) + row_bytes(op->bias, 1, op->rows);
    f->n_expert = op->n_expert;
    f->n_expert_used = used;
    f->expert_groups = 1;
    activations(f, used * cols, used * rows, o);
    f->flop_tok = used * (2 * rows * cols + (op->bias ? rows : 0));
}

/* (15) */
static void form_expert_sum(struct cost_form *f, const struct op *op, const struct cost_options *o)
{
    const double used = op->n_expert_used, cols = op->cols;
    activations(f, used * cols, cols, o);
    f->flop_tok = 2 * used * cols;
}

/* (19): what a mixer remembers of a sequence, in elements; read and written once a pass. */
static double state_elems(const struct op *op)
{
    if (op->kind == OP_CONV1D || op->kind == OP_SSM_SCAN)
        return (double)op->cols * op->n_state;
    return op->kind == OP_DELTA_RULE ? (double)op->n_head * op->head_dim * op->head_dim_v : 0;
}

double cost_state_bytes(const struct op *op)
{
    return STATE_ELEM_BYTES * state_elems(op);
}

/* (19): B (dt x), S = decay S + it, and S C for every element of the state; dt x and D x for every channel. A decay is
 * exp(dt A), one a head, or with Mamba-1 (no heads) one an element. */
static double scan_flop(const struct op *op)
{
    const double width = op->cols, decays = op->n_head > 0 ? op->n_head : width * op->n_state;
    return 5 * width * op->n_state + 3 * width + 2 * decays;
}

/* (19): decay, S k, what is new times k, and S q for every element of the state; beta (v - S k) for every value. */
static double delta_flop(const struct op *op)
{
    return 7 * state_elems(op) + 2.0 * op->n_head * op->head_dim_v + 2.0 * op->n_head;
}

/* (19): rows: elements per token read in addition to the channels (steps, B and C; gates). */
static void form_recurrence(struct cost_form *f, const struct op *op, double out, double flop, const struct cost_options *o)
{
    f->weight = tensor_bytes(op->w) + tensor_bytes(op->bias);
    f->kv_seq = 2 * cost_state_bytes(op);
    activations(f, (double)op->cols + (op->rows > 1 ? op->rows : 0), out, o);
    f->flop_tok = flop;
}

/* Zeros but for the fields common to all ops. Field by field: sweeps clear millions of forms, and compilers clear a whole struct of this
 * size with an instruction of long start-up. */
static void form_begin(struct cost_form *f, const struct op *op)
{
    f->form = op->form;
    f->out_rows = op->out_rows;
    f->chunked = op->chunked;
    f->form_tok = op->form_tok;
    f->window = op->window;
    f->n_top = op->n_top;
    f->n_expert = f->n_expert_used = f->expert_groups = 0;
    f->weight = f->weight_tok = f->weight_expert = 0;
    f->act_in_tok = f->act_out_tok = f->act_present = f->act_score = 0;
    f->kv_tok = f->kv_seq = f->kv_present = 0;
    f->flop_tok = f->flop_seen = f->flop_present = 0;
    f->link_tok = 0;
    _Static_assert(sizeof *f == 8 + 20 * sizeof(double), "struct cost_form has another field: it is to be cleared here too");
}

void cost_form_at(struct cost_form *f, const struct op *op, const struct cost_options *o)
{
    form_begin(f, op);
    switch (op->kind) {
    case OP_EMBED:
        form_embed(f, op, o);
        break;
    case OP_RMS_NORM:
        form_norm(f, op, 4, o);
        break;
    case OP_LAYER_NORM:
        form_norm(f, op, op->bias ? 7 : 6, o);
        break;
    case OP_MATMUL:
        form_matmul(f, op, o);
        break;
    case OP_HEAD_MATMUL:
        form_head_matmul(f, op, o);
        break;
    case OP_ROPE:
        form_rope(f, op, o);
        break;
    case OP_KV_STORE:
        form_kv_store(f, op, o);
        break;
    case OP_KV_EXPAND:
        form_kv_expand(f, op, o);
        break;
    case OP_ATTENTION:
        form_attention(f, op, o);
        break;
    case OP_GLU:
        form_elementwise(f, op, 2, glu_flop(op->glu), o);
        break;
    case OP_ACT:
        form_elementwise(f, op, 1, glu_flop(op->glu) - 1, o);
        break;
    case OP_ADD:
    case OP_MUL:
        form_elementwise(f, op, 2, 1, o);
        break;
    case OP_SCALE:
        form_elementwise(f, op, 1, 1, o);
        break;
    case OP_ROUTE:
        form_route(f, op, o);
        break;
    case OP_EXPERT_MATMUL:
        form_expert_matmul(f, op, o);
        break;
    case OP_EXPERT_SUM:
        form_expert_sum(f, op, o);
        break;
    case OP_SOFTCAP:
        form_elementwise(f, op, 1, 3, o);
        break;
    case OP_CONV1D:
        form_recurrence(f, op, op->cols, 2.0 * op->cols * (op->n_state + 1.0) + (op->bias ? op->cols : 0), o);
        break;
    case OP_SSM_SCAN:
        form_recurrence(f, op, op->cols, scan_flop(op), o);
        break;
    case OP_DELTA_RULE:
        form_recurrence(f, op, (double)op->n_head * op->head_dim_v, delta_flop(op), o);
        break;
    case OP_INDEX:
        form_index(f, op, o);
        break;
    case OP_ALL_REDUCE:
    case OP_ALL_GATHER:
    case OP_ALL_TO_ALL:
    case OP_SEND:
        f->link_tok = o->act_elem_bytes * op->cols;
        break;
    case OP_KIND_COUNT:
        break;
    }
}

struct cost_form cost_form(const struct op *op, const struct cost_options *o)
{
    struct cost_form f;
    cost_form_at(&f, op, o);
    return f;
}

/* ---- a form in a pass --------------------------------------------------------------------- */

/* n_steps > 1: the mean of so many passes of one token a sequence, of which *p is the first. */
static struct keys keys_of(const struct cost_form *f, const struct pass *p, uint32_t n_steps)
{
    if (f->flop_seen == 0 && f->kv_present == 0 && f->act_present == 0 && f->act_score == 0 && f->flop_present == 0)
        return (struct keys){ 0 };
    return n_steps > 1 ? keys_of_steps(f, p, n_steps) : keys_of_pass(f, p);
}

/* Tokens the op works on; 0: no logits wanted, or the other form of MLA runs. */
static double form_n_tok(const struct cost_form *f, const struct pass *p)
{
    if (f->form != FORM_ALWAYS && (f->form == FORM_EXPANDED) != op_expands(f->form_tok, p))
        return 0;
    return f->out_rows ? p->n_out : p->n_tok;
}

/* Consecutive ops of a layer need the same number. */
static double touched(const struct cost_form *f, double n_tok, const struct cost_options *o, struct cost_memo *m)
{
    const double n = n_tok * f->expert_groups * (o->expert_fill > 0 ? o->expert_fill : 1);
    if (m->n_tok != n || m->n_expert != f->n_expert || m->n_expert_used != f->n_expert_used)
        *m = (struct cost_memo){ n, f->n_expert, f->n_expert_used,
                                 experts_touched(o->routing, f->n_expert, f->n_expert_used, n) };
    return m->touched;
}

struct cost cost_eval(const struct cost_form *f, const struct pass *p, uint32_t n_steps, const struct cost_options *o,
                      struct cost_memo *memo)
{
    const double n_tok = form_n_tok(f, p), seqs = n_seq(p);
    if (!(n_tok > 0))
        return (struct cost){ 0 };
    const struct keys k = keys_of(f, p, n_steps);
    const double experts = f->weight_expert > 0 ? f->weight_expert * touched(f, n_tok, o, memo) : 0;
    return (struct cost){
        .weight_bytes = f->weight + f->weight_tok * n_tok + experts,
        .act_bytes = (f->act_in_tok + f->act_out_tok) * n_tok + f->act_present * seqs * k.present +
                     f->act_score * n_tok * k.present,
        .kv_bytes = f->kv_tok * n_tok + f->kv_seq * seqs + f->kv_present * seqs * k.present,
        .flop = f->flop_tok * n_tok + seqs * (f->flop_seen * k.seen + f->flop_present * k.present),
        .link_bytes = f->link_tok * n_tok,
    };
}

struct cost cost_decode(const struct op *op, const struct pass *first, uint32_t n, const struct cost_options *o)
{
    const struct cost_form f = cost_form(op, o);
    struct cost_memo memo = { 0 };
    return cost_eval(&f, first, n, o, &memo);
}

struct cost cost_op(const struct op *op, const struct pass *p, const struct cost_options *o)
{
    return cost_decode(op, p, 1, o);
}

/* ---- sums and ratios ------------------------------------------------------------- */

double cost_ai(const struct cost *c)
{
    const double bytes = cost_bytes(c);
    return bytes > 0 ? c->flop / bytes : NAN;
}

uint64_t cost_score_len(const struct op *op, const struct pass *p)
{
    const uint64_t seen = (uint64_t)p->n_past + (uint64_t)tokens_seq(p);
    return op->window > 0 ? u64_min(seen, op->window) : seen;
}
