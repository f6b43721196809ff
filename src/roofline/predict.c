/* Price the op list: every pass of the prompt and the mean decode step, op by op, under a
 * machine's roofs. */
#include "roofline/internal.h"
#include <math.h>

/* The nominal model: how many bytes of weights, and how many weights. */
struct nominal {
    double bytes, elems;
};

/* What adding up a phase needs. */
struct pricing {
    const struct roofs *roofs;
    const struct op_list *ops;
    struct cost_options cost;
    const struct predict_options *o;
    uint32_t n_steps;                  /* passes that stand behind a price: decode's are averaged (14) */
    double matrix_bytes, matrix_elems; /* of all matrices */
    struct nominal nominal;            /* of a whole pass; with weights_bytes */
    double seen_bytes, seen_elems;     /* of the matrices of this pass so far */
    struct prediction *out;
    double bound_s[3]; /* seconds spent under each bound */
    double role_bound_s[ROLE_COUNT][3];
    double largest_flop; /* of the op whose roofs are reported */
};

/* Of a total spread over all matrices, what those up to here have: whole, so that the parts add up exactly. */
static double part(double total, double seen, double all)
{
    return floor(total * (seen / all));
}

/* The matrices a nominal model stands for. What MLA multiplies in two forms is left out: no pass runs both. */
static bool is_matrix(const struct op *op)
{
    return (op->kind == OP_MATMUL || op->kind == OP_EXPERT_MATMUL) && op->w;
}

static double matrix_elems(const struct op *op)
{
    return (double)op->rows * op->cols * (op->kind == OP_EXPERT_MATMUL ? op->n_expert : 1);
}

/*
 * The nominal model of a back-of-an-envelope: so many bytes of weights, each read once a
 * pass and each multiplied once a token, nothing else: a dense one, whatever the model's
 * experts. Spread over the matrices in proportion to their bytes.
 */
static struct cost cost_nominal(struct pricing *x, const struct op *op, const struct pass *p)
{
    if (!is_matrix(op))
        return (struct cost){ 0 };
    const double bytes = x->seen_bytes, elems = x->seen_elems;
    x->seen_bytes += (double)op->w->bytes;
    x->seen_elems += matrix_elems(op);
    const double n = part(x->nominal.elems, x->seen_elems, x->matrix_elems) -
                     part(x->nominal.elems, elems, x->matrix_elems);
    return (struct cost){ .weight_bytes = part(x->nominal.bytes, x->seen_bytes, x->matrix_bytes) -
                                          part(x->nominal.bytes, bytes, x->matrix_bytes),
                          .flop = 2.0 * n * p->n_tok };
}

static struct cost priced_cost(struct pricing *x, const struct op *op,
                               const struct pass *p)
{
    if (x->o->weights_bytes > 0)
        return cost_nominal(x, op, p);
    struct cost c = x->n_steps > 1 ? cost_decode(op, p, x->n_steps, &x->cost) : cost_op(op, p, &x->cost);
    if (x->o->weights_only)
        c = (struct cost){ .weight_bytes = c.weight_bytes,
                           .flop = cost_is_product(op) ? c.flop : 0 };
    return c;
}

/* The roofs shown for a phase are those of its largest op. */
static void note_roofs(struct pricing *x, const struct op *op, const struct cost *c)
{
    if (!cost_is_product(op) || c->flop <= x->largest_flop)
        return;
    x->largest_flop = c->flop;
    const enum math m = roofs_math(x->roofs, op);
    const struct peak *peak = &x->roofs->peak[m];
    x->out->peak_flop_s = peak->flop_s * x->roofs->e_compute;
    x->out->derived = peak->derived;
    snprintf(x->out->peak_source, sizeof x->out->peak_source, "%s", peak->source);
    snprintf(x->out->math, sizeof x->out->math, "%s", math_name(m));
}

static void price_op(struct pricing *x, const struct op *op, const struct pass *p)
{
    const struct cost c = priced_cost(x, op, p);
    if (cost_bytes(&c) == 0 && c.flop == 0)
        return; /* not run in this pass */
    const struct op_time t = roofs_time(x->roofs, op, &c);
    struct predict_role *role = &x->out->role[op->role];
    note_roofs(x, op, &c);
    x->out->cost = cost_add(x->out->cost, c);
    x->out->seconds += t.seconds;
    x->out->memory_s += t.memory_s;
    x->out->compute_s += t.compute_s;
    role->cost = cost_add(role->cost, c);
    role->seconds += t.seconds;
    x->bound_s[t.bound] += t.seconds;
    x->role_bound_s[op->role][t.bound] += t.seconds;
}

static void price_pass(void *ctx, const struct pass *p)
{
    struct pricing *x = ctx;
    x->seen_bytes = x->seen_elems = 0;
    if (interrupt_check(NULL) != 0) /* predict says so */
        return;
    for (size_t i = 0; i < x->ops->n; i++)
        price_op(x, &x->ops->ops[i], p);
}

/* The bound under which most of the time is spent. */
static enum bound main_bound(const double s[3])
{
    enum bound b = BOUND_MEMORY;
    if (s[BOUND_COMPUTE] > s[b])
        b = BOUND_COMPUTE;
    if (s[BOUND_LAUNCH] > s[b])
        b = BOUND_LAUNCH;
    return b;
}

static void begin(struct pricing *x, struct prediction *out, uint32_t n_steps)
{
    *out = (struct prediction){ .bandwidth_bytes_s =
                                    x->roofs->bytes_s * x->roofs->e_bandwidth };
    snprintf(out->bandwidth_source, sizeof out->bandwidth_source, "%s",
             x->roofs->bytes_source);
    for (int i = 0; i < ROLE_COUNT; i++)
        out->role[i].role = (enum op_role)i;
    x->out = out;
    x->n_steps = n_steps;
    x->largest_flop = 0;
    for (int b = 0; b < 3; b++) {
        x->bound_s[b] = 0;
        for (int i = 0; i < ROLE_COUNT; i++)
            x->role_bound_s[i][b] = 0;
    }
}

static void end(struct pricing *x, double n_tok)
{
    x->out->tok_s = n_tok / x->out->seconds;
    x->out->bound = main_bound(x->bound_s);
    for (int i = 0; i < ROLE_COUNT; i++)
        x->out->role[i].bound = main_bound(x->role_bound_s[i]);
}

static void nothing(struct prediction *out)
{
    *out = (struct prediction){ .seconds = NAN,
                                .tok_s = NAN,
                                .memory_s = NAN,
                                .compute_s = NAN,
                                .bandwidth_bytes_s = NAN,
                                .peak_flop_s = NAN };
    for (int i = 0; i < ROLE_COUNT; i++)
        out->role[i] = (struct predict_role){ .role = (enum op_role)i, .seconds = NAN };
}

static void count_matrices(struct pricing *x)
{
    for (size_t i = 0; i < x->ops->n; i++) {
        const struct op *op = &x->ops->ops[i];
        if (!is_matrix(op))
            continue;
        x->matrix_bytes += (double)op->w->bytes;
        x->matrix_elems += matrix_elems(op);
    }
    x->nominal.bytes = round(x->o->weights_bytes);
    x->nominal.elems = round(x->o->weights_bytes * (x->matrix_elems / x->matrix_bytes));
}

static int check_options(const struct predict_options *o, struct error *err)
{
    if (check_scenario(o->n_prompt, o->n_gen, o->n_depth, o->n_batch, o->n_ubatch, err) !=
        0)
        return -1;
    if (!isnan(o->weights_bytes) && !(o->weights_bytes > 0 && o->weights_bytes < 1e18))
        return error_set(err, ERROR_USAGE, "cannot predict: weights of %g bytes",
                         o->weights_bytes);
    return 0;
}

static void price_phases(struct pricing *x, struct predict_result *r)
{
    const struct predict_options *o = x->o;
    nothing(&r->prefill);
    nothing(&r->decode);
    if (o->n_prompt > 0) {
        begin(x, &r->prefill, 1);
        prefill_passes(o->n_prompt, o->n_depth, o->n_ubatch, o->n_batch, price_pass, x);
        end(x, (double)o->n_prompt * o->n_batch);
    }
    if (o->n_gen > 0) {
        const struct pass first = decode_pass(o->n_depth, o->n_batch);
        begin(x, &r->decode, o->n_gen);
        price_pass(x, &first);
        end(x, o->n_batch);
    }
    r->ttft_s = r->prefill.seconds; /* the prompt's last logits give the first token (15) */
    r->itl_s = r->decode.seconds;
}

int predict(struct predict_result *r, const struct model *m, const struct hwprofile *h,
            const struct predict_options *o, struct error *err)
{
    struct roofs roofs;
    struct op_list ops;
    if (check_options(o, err) != 0 || roofs_init(&roofs, h, o, err) != 0 ||
        op_list_build(&ops, m, err) != 0)
        return -1;
    struct pricing x = {
        .roofs = &roofs,
        .ops = &ops,
        .cost = { .act_elem_bytes = roofs.act_elem_bytes, .type_k = o->type_k, .type_v = o->type_v },
        .o = o,
    };
    int rc = cost_check_kv(&ops, &x.cost, err);
    *r = (struct predict_result){ 0 };
    if (rc == 0) {
        count_matrices(&x);
        price_phases(&x, r);
        memory_fit(r, m, &ops, h, &roofs, o);
        rc = interrupt_check(err);
    }
    op_list_free(&ops);
    return rc;
}
