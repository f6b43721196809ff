/*
 * An op list over several devices: which part of every op one of them does, and what they exchange. methods.md (24)
 *
 * Tensor parallelism divides the matrices of a layer: those that make heads and hidden widths by their outputs, those that
 * lead back to the residual stream by their inputs, after which the devices add their parts up. Experts are spread over
 * ep devices; where these are more than tp, ep / tp groups of tokens share them. A pass is that of one group.
 */
#include "cost/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How tensor parallelism divides an op. */
enum shard {
    SHARD_NONE,    /* every device does all of it */
    SHARD_COLUMNS, /* of a product: the outputs */
    SHARD_ROWS,    /* of a product: the inputs */
    SHARD_WIDTH,   /* of all it works on: heads of queries, hidden elements, channels */
    SHARD_KEYS,    /* heads of keys and values, which stay whole: several devices may hold the same one */
    SHARD_KEY_COLUMNS, /* a product that makes them */
    SHARD_QKV,     /* a product that makes queries, keys and values */
    SHARD_CORE,    /* attention: queries are divided, the cache by its heads */
    SHARD_VOCAB,   /* a table by its rows, all of the row's elements exchanged */
    SHARD_EXPERT_COLUMNS,
    SHARD_EXPERT_ROWS,
    SHARD_EXPERT_WIDTH,
    SHARD_EXPERT_SUM,
};

static const enum shard shards[ROLE_COUNT] = {
    [ROLE_EMBED] = SHARD_VOCAB,
    [ROLE_ATTN_Q] = SHARD_COLUMNS,
    [ROLE_ATTN_K] = SHARD_KEY_COLUMNS,
    [ROLE_ATTN_V] = SHARD_KEY_COLUMNS,
    [ROLE_ATTN_QKV] = SHARD_QKV,
    [ROLE_ATTN_Q_B] = SHARD_COLUMNS,
    [ROLE_ATTN_K_B] = SHARD_WIDTH,
    [ROLE_ATTN_V_B] = SHARD_WIDTH,
    [ROLE_ATTN_KV_B] = SHARD_WIDTH,
    [ROLE_ATTN_Q_NORM] = SHARD_WIDTH,
    [ROLE_ATTN_K_NORM] = SHARD_KEYS,
    [ROLE_ATTN_ROPE] = SHARD_WIDTH,
    [ROLE_KV_STORE] = SHARD_KEYS,
    [ROLE_ATTN_CORE] = SHARD_CORE,
    [ROLE_ATTN_GATE] = SHARD_WIDTH,
    [ROLE_ATTN_OUTPUT] = SHARD_ROWS,
    [ROLE_FFN_GATE] = SHARD_COLUMNS,
    [ROLE_FFN_UP] = SHARD_COLUMNS,
    [ROLE_FFN_GATE_UP] = SHARD_COLUMNS,
    [ROLE_FFN_ACT] = SHARD_WIDTH,
    [ROLE_FFN_DOWN] = SHARD_ROWS,
    [ROLE_EXPERT_GATE] = SHARD_EXPERT_COLUMNS,
    [ROLE_EXPERT_UP] = SHARD_EXPERT_COLUMNS,
    [ROLE_EXPERT_ACT] = SHARD_EXPERT_WIDTH,
    [ROLE_EXPERT_DOWN] = SHARD_EXPERT_ROWS,
    [ROLE_EXPERT_SUM] = SHARD_EXPERT_SUM,
    [ROLE_SHARED_GATE] = SHARD_COLUMNS,
    [ROLE_SHARED_UP] = SHARD_COLUMNS,
    [ROLE_SHARED_ACT] = SHARD_WIDTH,
    [ROLE_SHARED_DOWN] = SHARD_ROWS,
    [ROLE_LM_HEAD] = SHARD_COLUMNS,
    [ROLE_LOGIT_SOFTCAP] = SHARD_WIDTH,
    [ROLE_LOGIT_SCALE] = SHARD_WIDTH,
    [ROLE_SSM_IN] = SHARD_COLUMNS,
    [ROLE_SSM_CONV] = SHARD_WIDTH,
    [ROLE_SSM_X] = SHARD_ROWS,
    [ROLE_SSM_DT] = SHARD_COLUMNS,
    [ROLE_SSM_SCAN] = SHARD_WIDTH,
    [ROLE_SSM_NORM] = SHARD_WIDTH,
    [ROLE_SSM_GATE] = SHARD_WIDTH,
    [ROLE_SSM_OUT] = SHARD_ROWS,
};

/* ---- the layout -------------------------------------------------------------------------------- */

static uint32_t one(uint32_t n)
{
    return n > 0 ? n : 1;
}

uint32_t layout_devices(const struct layout *l)
{
    return one(l->tp) * one(l->pp) * one(l->dp);
}

const char *layout_text(char *buf, size_t n, const struct layout *l)
{
    const struct {
        const char *name;
        uint32_t n;
    } parts[] = { { "tp", l->tp }, { "pp", l->pp }, { "dp", l->dp }, { "ep", l->ep } };
    size_t len = 0;
    snprintf(buf, n, "1 device");
    for (size_t i = 0; i < ARRAY_LEN(parts) && len < n; i++)
        if (parts[i].n > 1)
            len += (size_t)snprintf(buf + len, n - len, "%s%s%u", len ? " " : "", parts[i].name, parts[i].n);
    return buf;
}

/* What the divisions come to. */
struct parts {
    double tp, ep;
    double etp;    /* devices an expert's matrices are divided over */
    double groups; /* of tp devices that share the experts */
};

static struct parts parts_of(const struct layout *l)
{
    const double tp = one(l->tp), ep = one(l->ep);
    return (struct parts){ .tp = tp, .ep = ep, .etp = ep < tp ? tp / ep : 1, .groups = ep > tp ? ep / tp : 1 };
}

/* Heads of keys are whole: more devices than heads hold copies. */
static double key_share(double n_head_kv, double tp)
{
    return n_head_kv > 0 ? 1 / fmin(tp, n_head_kv) : 1;
}

static int not_divided(const char *axis, uint32_t n, uint64_t of, const char *what, struct error *err)
{
    return error_set(err, ERROR_USAGE, "cannot predict: %s %u does not divide %llu %s", axis, n,
                     (unsigned long long)of, what);
}

static int check_op(const struct op *op, uint32_t tp, struct error *err)
{
    const enum shard s = shards[op->role];
    if (s == SHARD_CORE && op->n_head % tp != 0)
        return not_divided("tp", tp, op->n_head, "heads", err);
    if (s == SHARD_CORE && op->n_head_kv % tp != 0 && tp % op->n_head_kv != 0)
        return error_set(err, ERROR_USAGE, "cannot predict: tp %u neither divides nor is a multiple of %u KV heads", tp,
                         op->n_head_kv);
    if (s == SHARD_ROWS && op->cols % tp != 0)
        return not_divided("tp", tp, op->cols, op_role_name(op->role), err);
    return 0;
}

int layout_check(const struct layout *l, const struct op_classes *ops, struct error *err)
{
    const uint32_t tp = one(l->tp), pp = one(l->pp), dp = one(l->dp), ep = one(l->ep);
    const struct hparams *hp = &ops->m->hp;
    if (tp > 1024 || pp > 1024 || dp > 4096 || (uint64_t)tp * pp * dp > 65536)
        return error_set(err, ERROR_USAGE, "cannot predict: tp %u, pp %u, dp %u: expected at most 65536 devices", tp, pp, dp);
    if (pp > hp->n_layer)
        return error_set(err, ERROR_USAGE, "cannot predict: pp %u: the model has %u layers", pp, hp->n_layer);
    if (ep > 1 && hp->n_expert == 0)
        return error_set(err, ERROR_USAGE, "cannot predict: ep %u: the model has no experts", ep);
    if (ep > 1 && hp->n_expert % ep != 0)
        return not_divided("ep", ep, hp->n_expert, "experts", err);
    if ((uint64_t)tp * dp % ep != 0 || (ep % tp != 0 && tp % ep != 0))
        return error_set(err, ERROR_USAGE,
                         "cannot predict: ep %u: expected a divisor of tp x dp = %u that is a divisor or a multiple of tp",
                         ep, tp * dp);
    for (size_t i = 0; i < ops->n; i++)
        if (check_op(&ops->c[i].op, tp, err) != 0)
            return -1;
    if (ep < tp && hp->n_ff_exp % (tp / ep) != 0)
        return not_divided("tp", tp / ep, hp->n_ff_exp, "elements of an expert", err);
    return 0;
}

/* ---- one op on one device --------------------------------------------------------------------------- */

/* Queries by tp, keys and values by their heads; rows of the product stand for both. */
static double qkv_share(const struct op *op, double tp, double n_head, double n_head_kv)
{
    const double keys = 2 * n_head_kv / (n_head + 2 * n_head_kv);
    (void)op;
    return (1 - keys) / tp + keys * key_share(n_head_kv, tp);
}

/* Of the op's own layer. */
static double key_heads(const struct op *op, const struct hparams *hp)
{
    if (hp->n_lora_kv > 0)
        return 1;
    return hp->n_head_kv_full > 0 && op->layer >= 0 && !hparams_windowed(hp, (uint32_t)op->layer) ? hp->n_head_kv_full : hp->n_head_kv;
}

static struct share share_of(const struct op *op, const struct hparams *hp, const struct parts *p)
{
    const double s = 1 / p->tp, visits = p->groups / p->ep;
    const double keys = key_share(key_heads(op, hp), p->tp);
    double q;
    switch (shards[op->role]) {
    case SHARD_NONE:
        break;
    case SHARD_COLUMNS:
        return (struct share){ s, 1, s, s, s, 1 };
    case SHARD_ROWS:
        return (struct share){ s, s, 1, s, s, 1 };
    case SHARD_WIDTH:
        /* the rotary key that all heads of MLA share, the rotation of keys */
        q = op->kind == OP_ROPE && op->n_head == 1 ? 1 : op->kind == OP_ROPE && op->n_head < hp->n_head ? keys : s;
        /* MLA's latents are whole on every device; states are divided */
        return (struct share){ op->kind == OP_RMS_NORM ? 1 : q, q, q, q, q, op->kind == OP_KV_EXPAND ? 1 : q };
    case SHARD_KEYS:
        return (struct share){ 1, keys, keys, keys, keys, op->head_dim_v > 0 ? keys : 1 };
    case SHARD_KEY_COLUMNS:
        return (struct share){ keys, 1, keys, keys, keys, 1 };
    case SHARD_QKV:
        q = qkv_share(op, p->tp, hp->n_head, key_heads(op, hp));
        return (struct share){ q, 1, q, q, q, 1 };
    case SHARD_CORE:
        return (struct share){ s, s, s, s, s, key_share(op->n_head_kv, p->tp) };
    case SHARD_VOCAB:
        return (struct share){ s, 1, 1, 1, 1, 1 };
    case SHARD_EXPERT_COLUMNS:
        return (struct share){ 1 / (p->ep * p->etp), visits, visits / p->etp, visits / p->etp, 1, 1 };
    case SHARD_EXPERT_ROWS:
        return (struct share){ 1 / (p->ep * p->etp), visits / p->etp, visits, visits / p->etp, 1, 1 };
    case SHARD_EXPERT_WIDTH:
        return (struct share){ 1, visits / p->etp, visits / p->etp, visits / p->etp, 1, 1 };
    case SHARD_EXPERT_SUM:
        return (struct share){ 1, visits, 1, visits, 1, 1 };
    }
    return (struct share){ 1, 1, 1, 1, 1, 1 };
}

/* The whole op's form becomes one device's. */
static void divide(struct cost_form *f, const struct op *op, const struct share *s, const struct parts *p)
{
    f->weight *= s->weight;
    f->weight_tok *= s->weight;
    f->weight_expert *= s->weight;
    f->expert_groups = p->groups;
    f->act_in_tok *= s->in;
    f->act_out_tok *= s->out;
    f->act_present *= s->seen;
    f->act_score *= s->seen;
    f->kv_tok *= s->kv;
    f->kv_seq *= s->kv;
    f->kv_present *= s->kv;
    f->flop_tok *= s->flop;
    f->flop_seen *= s->seen;
    f->flop_present *= op->kind == OP_KV_EXPAND ? s->flop : s->seen;
}

/* ---- what they exchange --------------------------------------------------------------------------------- */

static void exchange(struct op_class *c, enum op_kind kind, enum op_role role, double count, double elems, uint32_t n,
                     const struct op *after, const struct cost_options *o)
{
    const double peers = (double)n - 1, sent = kind == OP_ALL_REDUCE ? 2 * peers / n : kind == OP_SEND ? 1 : peers / n;
    c->op = (struct op){ .kind = kind, .role = role, .layer = after->layer, .cols = (uint32_t)elems, .out_rows = after->out_rows };
    c->count = count;
    c->form = (struct cost_form){ .out_rows = after->out_rows, .link_tok = sent * o->act_elem_bytes * elems };
    c->n_comm = n;
    c->kv_type = DTYPE_PRICED_END;
    c->barriers[0] = c->barriers[1] = 0;
}

/* How many classes exchanges() appends at most. */
static size_t most_exchanges(enum op_role role)
{
    if (role == ROLE_EXPERT_SUM)
        return 3;
    return role == ROLE_ATTN_OUTPUT || role == ROLE_SSM_OUT || role == ROLE_FFN_DOWN || role == ROLE_EMBED || role == ROLE_LM_HEAD;
}

/* Appends what follows ops of this class. */
static void exchanges(struct step_model *s, const struct op_class *c, const struct hparams *hp, const struct parts *p)
{
    const uint32_t tp = (uint32_t)p->tp, ep = (uint32_t)p->ep;
    const struct cost_options *o = &s->o.cost;
    const enum op_role role = c->op.role;
    struct op_class *next = &s->c[s->n];
    if (role == ROLE_EXPERT_SUM && ep > tp) {
        /* Each device of a group sends its part of the group's tokens, once an expert; then the group shares the sums. */
        const double elems = (double)hp->n_expert_used * c->op.cols / tp;
        exchange(next++, OP_ALL_TO_ALL, ROLE_COMM_DISPATCH, c->count, elems, ep, &c->op, o);
        exchange(next++, OP_ALL_TO_ALL, ROLE_COMM_COMBINE, c->count, elems, ep, &c->op, o);
        if (tp > 1)
            exchange(next++, OP_ALL_GATHER, ROLE_COMM_FFN, c->count, hp->n_embd, tp, &c->op, o);
    } else if (tp > 1 && (role == ROLE_ATTN_OUTPUT || role == ROLE_SSM_OUT)) {
        exchange(next++, OP_ALL_REDUCE, ROLE_COMM_ATTN, c->count, hp->n_embd, tp, &c->op, o);
    } else if (tp > 1 && (role == ROLE_FFN_DOWN || role == ROLE_EXPERT_SUM)) {
        exchange(next++, OP_ALL_REDUCE, ROLE_COMM_FFN, c->count, hp->n_embd, tp, &c->op, o);
    } else if (tp > 1 && role == ROLE_EMBED) {
        exchange(next++, OP_ALL_REDUCE, ROLE_COMM_FFN, 1, c->op.cols, tp, &c->op, o);
    } else if (tp > 1 && role == ROLE_LM_HEAD) {
        exchange(next++, OP_ALL_GATHER, ROLE_COMM_LOGITS, 1, c->op.rows, tp, &c->op, o);
    }
    s->n = (size_t)(next - s->c);
}

/* ---- the model of a step ------------------------------------------------------------------------------------ */

/* The matrices a nominal model stands for. What MLA multiplies in two forms is left out: no pass runs both. */
static bool is_matrix(const struct op *op)
{
    return (op->kind == OP_MATMUL || op->kind == OP_EXPERT_MATMUL) && op->w;
}

/* The nominal model of a back-of-an-envelope: so many bytes of weights, each read once a pass and each multiplied once a
 * token, nothing else: a dense one, whatever the model's experts. Spread over the matrices in proportion to their bytes. */
static void make_nominal(struct step_model *s, double bytes)
{
    double matrix_bytes = 0, matrix_elems = 0;
    for (size_t i = 0; i < s->n; i++)
        if (is_matrix(&s->c[i].op)) {
            matrix_bytes += s->c[i].count * (double)s->c[i].op.w->bytes;
            matrix_elems += s->c[i].count * (double)s->c[i].op.w->rows * (double)s->c[i].op.w->cols;
        }
    const double elems = round(bytes * (matrix_elems / matrix_bytes));
    double seen_bytes = 0, seen_elems = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct op_class *c = &s->c[i];
        c->form = (struct cost_form){ .form = c->op.form, .form_tok = c->op.form_tok };
        if (!is_matrix(&c->op))
            continue;
        const double before = seen_bytes, before_elems = seen_elems;
        seen_bytes += c->count * (double)c->op.w->bytes;
        seen_elems += c->count * (double)c->op.w->rows * (double)c->op.w->cols;
        /* Whole numbers a class, so that they add up exactly. */
        c->form.weight = (floor(bytes * (seen_bytes / matrix_bytes)) - floor(bytes * (before / matrix_bytes))) / c->count;
        c->form.flop_tok =
            2 * (floor(elems * (seen_elems / matrix_elems)) - floor(elems * (before_elems / matrix_elems))) / c->count;
    }
}

static void weights_only(struct step_model *s)
{
    for (size_t i = 0; i < s->n; i++) {
        struct cost_form *f = &s->c[i].form;
        f->act_in_tok = f->act_out_tok = f->act_present = f->act_score = f->kv_tok = f->kv_seq = f->kv_present = f->flop_seen = 0;
        if (!op_is_product(&s->c[i].op))
            f->flop_tok = f->flop_present = 0;
    }
}

/* Of experts all, not only those that a pass touches. */
static void note_held(struct step_model *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct op *op = &s->c[i].op;
        const bool all = op->kind == OP_ATTENTION && op->window == 0 && !op->chunked && op->n_top == 0; /* others see few of them */
        s->held_position += all ? s->c[i].count * s->c[i].form.kv_present : 0;
        s->held_bytes += s->c[i].count * (s->c[i].form.weight + s->c[i].form.weight_expert * s->c[i].form.n_expert);
    }
}

int step_model_init(struct step_model *s, const struct op_classes *l, const struct step_options *o, struct error *err)
{
    const struct hparams *hp = &l->m->hp;
    const struct parts p = parts_of(&o->layout);
    const uint32_t pp = one(o->layout.pp);
    *s = (struct step_model){ .o = *o, .stretch = (double)pp * (double)u64_ceil_div(hp->n_layer, pp) / hp->n_layer };
    if (layout_check(&o->layout, l, err) != 0 || routing_check(o->cost.routing, hp, err) != 0)
        return -1;
    size_t most = l->n + 1; /* the last between stages */
    for (size_t i = 0; i < l->n; i++)
        most += most_exchanges(l->c[i].op.role);
    s->c = malloc(most * sizeof *s->c);
    if (!s->c)
        return error_oom(err, most * sizeof *s->c, "the model of a step");
    for (size_t i = 0; i < l->n; i++) {
        const struct op_class *c = &l->c[i];
        struct op_class *k = &s->c[s->n++];
        k->op = c->op;
        if (o->absorbed && k->op.form != FORM_ALWAYS)
            k->op.form_tok = INFINITY;
        k->count = c->count;
        memcpy(k->barriers, c->barriers, sizeof k->barriers);
        k->n_comm = 0;
        k->kv_type = o->cost.type_k == o->cost.type_v ? o->cost.type_k : DTYPE_PRICED_END;
        cost_form_at(&k->form, &k->op, &o->cost);
        const struct share share = share_of(&c->op, hp, &p);
        divide(&k->form, &c->op, &share, &p);
        exchanges(s, c, hp, &p);
    }
    if (pp > 1)
        exchange(&s->c[s->n++], OP_SEND, ROLE_COMM_STAGE, pp - 1, hp->n_embd, 2, &(struct op){ .layer = -1 }, &o->cost);
    if (o->weights_bytes > 0)
        make_nominal(s, round(o->weights_bytes));
    else if (o->weights_only)
        weights_only(s);
    note_held(s);
    return 0;
}

void step_model_free(struct step_model *s)
{
    free(s->c);
    *s = (struct step_model){ 0 };
}

double step_read_bytes(const struct step_model *s, const struct pass *p)
{
    return s->held_bytes + s->held_position * ((double)p->n_past * p->n_seq + p->n_tok);
}

/* ---- for the memory of a device (stage.c) ----------------------------------------------------------------------- */

struct share layout_share(const struct op *op, const struct hparams *hp, const struct layout *l)
{
    const struct parts p = parts_of(l);
    return share_of(op, hp, &p);
}

/* As many layers each, and one more for some before the last, which has the head. */
void layout_stage(uint32_t n_layer, uint32_t pp, uint32_t stage, int *first, int *end)
{
    const uint32_t each = n_layer / pp, more = n_layer % pp;
    int at = 0;
    for (uint32_t s = 0; s < pp; s++) {
        const bool extra = more > 0 && s + 1 < pp && s + 1 + more >= pp;
        *first = at;
        at += (int)(each + extra);
        *end = at;
        if (s == stage)
            return;
    }
}

uint32_t layout_joined(const struct layout *l)
{
    const uint32_t n = l->tp > l->ep ? l->tp : l->ep;
    return n > 1 ? n : l->pp > 1 ? 2 : 1;
}

int layout_check_link(const struct layout *l, const struct hwprofile *h, struct error *err)
{
    const uint32_t joined = layout_joined(l);
    if (joined == 1 || hwprofile_link(h, (int)joined))
        return 0;
    return error_set(err, ERROR_INPUT,
                     "cannot predict: profile %s has no link that joins %u devices (spec.links; doc/formats.md)", h->id, joined);
}
