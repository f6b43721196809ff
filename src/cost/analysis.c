/* The costs of a prefill and of a decode step, added up: a row an op, a layer or a role. */
#include "cost/analysis.h"
#include <stdlib.h>

const char *phase_name(enum phase p)
{
    switch (p) {
    case PHASE_PREFILL:
        return "prefill";
    case PHASE_DECODE:
        return "decode";
    case PHASE_COUNT:
        break;
    }
    return "?";
}

int check_scenario(uint32_t n_prompt, uint32_t n_gen, uint32_t n_depth, uint32_t n_batch,
                   uint32_t n_ubatch, struct error *err)
{
    if (n_prompt == 0 && n_gen == 0)
        return error_set(err, ERROR_USAGE,
                         "-p 0 and -n 0: neither a prompt nor a generation to look at");
    if (n_batch == 0 || n_ubatch == 0)
        return error_set(err, ERROR_USAGE, "-b %u, -ub %u: both must be at least 1",
                         n_batch, n_ubatch);
    const uint64_t context = (uint64_t)n_depth + n_prompt + n_gen;
    if (context > INT32_MAX || n_batch > INT32_MAX)
        return error_set(
            err, ERROR_USAGE,
            "-d, -p and -n: a context of %llu tokens in %u sequences, at most %d each",
            (unsigned long long)context, n_batch, INT32_MAX);
    const uint64_t passes = prefill_n_passes(n_prompt, n_ubatch, n_batch);
    if (passes > PREFILL_MAX_PASSES)
        return error_set(err, ERROR_USAGE,
                         "-p %u, -b %u, -ub %u: the prompt takes %llu passes, at most %d",
                         n_prompt, n_batch, n_ubatch, (unsigned long long)passes,
                         PREFILL_MAX_PASSES);
    return 0;
}

bool analysis_has(const struct analysis *a, enum phase p)
{
    return (p == PHASE_PREFILL ? a->o.n_prompt : a->o.n_gen) > 0;
}

/* ---- rows --------------------------------------------------------------------- */

/* Attention reads the cache, or expanded keys and values of F16 (17). */
static bool is_cache(const struct op *op)
{
    return op->kind == OP_KV_STORE || op->kind == OP_ATTENTION;
}

/* The type of the weights or of the keys; elementwise ops have none. */
static bool op_type(const struct analysis *a, const struct op *op, enum dtype *t)
{
    const enum dtype k = op->form == FORM_EXPANDED ? DTYPE_F16 : a->o.cost.type_k;
    *t = is_cache(op) ? k : op->w ? op->w->type : DTYPE_F32;
    return is_cache(op) || op->w;
}

/* Keys of one type and values of another. */
static bool two_types(const struct analysis *a, const struct op *op)
{
    return is_cache(op) && op->form != FORM_EXPANDED && op->head_dim_v > 0 && !op->v_in_k &&
           a->o.cost.type_k != a->o.cost.type_v;
}

const char *analysis_type(const struct analysis *a, const struct analysis_row *r)
{
    enum dtype t;
    if (!r->same_type)
        return "mixed";
    return op_type(a, r->first, &t) ? dtype_name(t) : NULL;
}

static bool same_row(enum analysis_by by, const struct op *x, const struct op *y)
{
    switch (by) {
    case ANALYSIS_BY_OP:
        return x == y;
    case ANALYSIS_BY_LAYER:
        return x->layer == y->layer && (x->layer >= 0 || x->role == y->role);
    case ANALYSIS_BY_ROLE:
        return x->role == y->role;
    }
    return false;
}

/* Index of the op's row, made when it is the first one. The list is in layer order, so a
 * layer's row is the last one; a role's is found from the front, within the first layer's
 * rows. */
static size_t find_row(struct analysis *a, const struct op *op)
{
    const enum analysis_by by = a->o.by;
    size_t i = by == ANALYSIS_BY_ROLE ? 0 : a->n_row > 0 ? a->n_row - 1 : 0;
    while (i < a->n_row && !same_row(by, a->row[i].first, op))
        i++;
    return i;
}

static size_t join_row(struct analysis *a, const struct op *op)
{
    const size_t i = find_row(a, op);
    struct analysis_row *r = &a->row[i];
    if (i == a->n_row) {
        a->row[a->n_row++] = (struct analysis_row){
            .first = op, .n_ops = 1, .same_type = !two_types(a, op), .same_shape = true
        };
        return i;
    }
    enum dtype t, u;
    const bool typed = op_type(a, op, &t), first_typed = op_type(a, r->first, &u);
    r->n_ops++;
    r->same_type &= typed == first_typed && (!typed || t == u) && !two_types(a, op);
    r->same_shape &= op->rows == r->first->rows && op->cols == r->first->cols;
    return i;
}

struct adding {
    struct analysis *a;
    const size_t *row_of;
    enum phase phase;
    uint32_t n_steps; /* passes that *p stands for: decode's are averaged (21) */
};

/* The row's first op, or what runs in its place when a pass takes the other form of MLA. */
static bool is_first(const struct op *op, const struct op *first)
{
    const bool other_form = op->form != FORM_ALWAYS && first->form != FORM_ALWAYS && op->form != first->form;
    return op == first || (other_form && op->layer == first->layer && op->role == first->role);
}

static void add_pass(void *ctx, const struct pass *p)
{
    struct adding *x = ctx;
    struct analysis *a = x->a;
    if (interrupt_check(NULL) != 0) /* reported by analysis_init */
        return;
    for (size_t i = 0; i < a->ops.n; i++) {
        const struct op *op = &a->ops.ops[i];
        struct analysis_row *r = &a->row[x->row_of[i]];
        const struct cost c = x->n_steps > 1 ? cost_decode(op, p, x->n_steps, &a->o.cost)
                                             : cost_op(op, p, &a->o.cost);
        r->cost[x->phase] = cost_add(r->cost[x->phase], c);
        a->total[x->phase] = cost_add(a->total[x->phase], c);
        if (is_first(op, r->first))
            r->n_tok[x->phase] += op_n_tok(op, p);
    }
}

int analysis_init(struct analysis *a, const struct model *m,
                  const struct analysis_options *o, struct error *err)
{
    *a = (struct analysis){ .m = m, .o = *o };
    size_t *row_of = NULL;
    if (check_scenario(o->n_prompt, o->n_gen, o->n_depth, o->n_batch, o->n_ubatch, err) !=
            0 ||
        op_list_build(&a->ops, m, err) != 0)
        return -1;
    if (cost_check_kv(&a->ops, &o->cost, err) != 0)
        goto fail;
    a->row = calloc(a->ops.n, sizeof *a->row);
    row_of = calloc(a->ops.n, sizeof *row_of);
    if (!a->row || !row_of) {
        error_oom(err, a->ops.n * sizeof *a->row, "the analysis");
        goto fail;
    }
    for (size_t i = 0; i < a->ops.n; i++)
        row_of[i] = join_row(a, &a->ops.ops[i]);
    struct adding x = { .a = a, .row_of = row_of, .phase = PHASE_PREFILL, .n_steps = 1 };
    if (analysis_has(a, PHASE_PREFILL))
        prefill_passes(o->n_prompt, o->n_depth, o->n_ubatch, o->n_batch, add_pass, &x);
    if (analysis_has(a, PHASE_DECODE)) {
        const struct pass first = decode_pass(o->n_depth, o->n_batch);
        x.phase = PHASE_DECODE;
        x.n_steps = o->n_gen;
        add_pass(&x, &first);
    }
    if (interrupt_check(err) != 0 || account_weights(&a->weights, m, &a->ops, o->n_batch, err) != 0)
        goto fail;
    free(row_of);
    return 0;
fail:
    free(row_of);
    analysis_free(a);
    return -1;
}

void analysis_free(struct analysis *a)
{
    free(a->row);
    op_list_free(&a->ops);
    *a = (struct analysis){ 0 };
}
