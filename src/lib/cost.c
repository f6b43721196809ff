/* Costs of ops, passes and phases. */
#include "cost/cost.h"
#include "lib/internal.h"

struct roofcast_cost lib_cost(const struct cost *c)
{
    return (struct roofcast_cost){ c->weight_bytes, c->act_bytes, c->kv_bytes, c->flop, c->link_bytes };
}

double roofcast_cost_bytes(const struct roofcast_cost *c)
{
    return c->weight_bytes + c->act_bytes + c->kv_bytes;
}

double roofcast_cost_ai(const struct roofcast_cost *c)
{
    return cost_ai(&(struct cost){ c->weight_bytes, c->act_bytes, c->kv_bytes, c->flop, c->link_bytes });
}

int lib_kv_types(enum dtype *k, enum dtype *v, const struct roofcast_model *m, const char *type_k, const char *type_v,
                 struct roofcast_error *err)
{
    struct error e = { 0 };
    *k = *v = m->m.kv_type_given ? m->m.kv_type : DTYPE_F16;
    if ((type_k && dtype_get_kv(k, type_k, &e) != 0) || (type_v && dtype_get_kv(v, type_v, &e) != 0))
        return lib_fail(err, &e);
    return 0;
}

void roofcast_cost_options_init(struct roofcast_cost_options *o, size_t size)
{
    const struct roofcast_cost_options defaults = { .size = sizeof defaults, .act_elem_bytes = 4 };
    lib_options_init(o, size, &defaults, sizeof defaults);
}

/* Options as the modules take them; routing is where o->routing points. */
static int cost_options(struct cost_options *o, struct routing *routing, const struct roofcast_model *m,
                        const struct roofcast_cost_options *asked, struct roofcast_error *err)
{
    struct error e = { 0 };
    struct roofcast_cost_options a;
    roofcast_cost_options_init(&a, sizeof a);
    if (lib_options(&a, sizeof a, asked, err) != 0)
        return -1;
    if (!(a.act_elem_bytes > 0 && a.act_elem_bytes <= 8) || !(a.routing_zipf >= 0 && a.routing_zipf <= 10))
        return lib_error(err, ROOFCAST_ERROR_USAGE, "cost options: expected act_elem_bytes above 0 and up to 8, routing_zipf of 0 to 10");
    *routing = (struct routing){ .zipf = a.routing_zipf };
    *o = (struct cost_options){ .act_elem_bytes = a.act_elem_bytes, .routing = routing, .materialized = a.materialized != 0 };
    if (lib_kv_types(&o->type_k, &o->type_v, m, a.type_k, a.type_v, err) != 0)
        return -1;
    return cost_check_kv(&m->x.ops, o, &e) == 0 ? 0 : lib_fail(err, &e);
}

static int check_pass(struct pass *out, const struct roofcast_pass *p, struct roofcast_error *err)
{
    struct error e;
    *out = (struct pass){ p->n_tok, p->n_past, p->n_seq, p->n_out };
    if (p->n_seq > 0 && p->n_tok > 0 && p->n_tok % p->n_seq == 0 && p->n_out <= p->n_tok && p->n_past <= INT32_MAX && p->n_tok <= INT32_MAX)
        return 0;
    error_set(&e, ERROR_USAGE, "a pass of %u tokens, %u sequences, %u logits: expected tokens that divide by sequences and at most as many logits",
              p->n_tok, p->n_seq, p->n_out);
    return lib_fail(err, &e);
}

int roofcast_cost_op(const struct roofcast_model *m, size_t op, const struct roofcast_pass *p,
                     const struct roofcast_cost_options *asked, struct roofcast_cost *out, struct roofcast_error *err)
{
    struct cost_options o;
    struct routing routing;
    struct pass pass;
    if (op >= m->x.ops.n)
        return lib_error(err, ROOFCAST_ERROR_USAGE, "no op of that index");
    if (check_pass(&pass, p, err) != 0 || cost_options(&o, &routing, m, asked, err) != 0)
        return -1;
    const struct cost c = cost_op(&m->x.ops.ops[op], &pass, &o);
    *out = lib_cost(&c);
    return 0;
}

/* All ops of passes, or of the mean of n_steps decode steps. */
struct summing {
    const struct op_list *ops;
    const struct cost_options *o;
    uint32_t n_steps;
    struct cost sum;
};

static void add_pass(void *ctx, const struct pass *p)
{
    struct summing *x = ctx;
    for (size_t i = 0; i < x->ops->n; i++) {
        const struct op *op = &x->ops->ops[i];
        x->sum = cost_add(x->sum, x->n_steps > 1 ? cost_decode(op, p, x->n_steps, x->o) : cost_op(op, p, x->o));
    }
}

int roofcast_cost_pass(const struct roofcast_model *m, const struct roofcast_pass *p, const struct roofcast_cost_options *asked,
                       struct roofcast_cost *out, struct roofcast_error *err)
{
    struct cost_options o;
    struct routing routing;
    struct pass pass;
    struct summing x = { .ops = &m->x.ops, .o = &o, .n_steps = 1 };
    if (check_pass(&pass, p, err) != 0 || cost_options(&o, &routing, m, asked, err) != 0)
        return -1;
    add_pass(&x, &pass);
    *out = lib_cost(&x.sum);
    return 0;
}

static int cost_phase(const struct roofcast_model *m, const struct roofcast_scenario *s, enum phase phase,
                      const struct roofcast_cost_options *asked, struct roofcast_cost *out, struct roofcast_error *err)
{
    struct cost_options o;
    struct routing routing;
    struct error e = { 0 };
    struct summing x = { .ops = &m->x.ops, .o = &o, .n_steps = 1 };
    const uint32_t n_prompt = phase == PHASE_PREFILL ? s->n_prompt : 0, n_gen = phase == PHASE_DECODE ? s->n_gen : 0;
    if (check_scenario(n_prompt, n_gen, s->n_depth, s->n_batch, s->n_ubatch, &e) != 0)
        return lib_fail(err, &e);
    if (cost_options(&o, &routing, m, asked, err) != 0)
        return -1;
    if (phase == PHASE_PREFILL) {
        prefill_passes(n_prompt, s->n_depth, s->n_ubatch, s->n_batch, add_pass, &x);
    } else {
        const struct pass first = decode_pass(s->n_depth, s->n_batch);
        x.n_steps = n_gen;
        add_pass(&x, &first);
    }
    *out = lib_cost(&x.sum);
    return 0;
}

int roofcast_cost_prefill(const struct roofcast_model *m, const struct roofcast_scenario *s, const struct roofcast_cost_options *o,
                          struct roofcast_cost *out, struct roofcast_error *err)
{
    return cost_phase(m, s, PHASE_PREFILL, o, out, err);
}

int roofcast_cost_decode(const struct roofcast_model *m, const struct roofcast_scenario *s, const struct roofcast_cost_options *o,
                         struct roofcast_cost *out, struct roofcast_error *err)
{
    return cost_phase(m, s, PHASE_DECODE, o, out, err);
}

int roofcast_cost_kv_bytes(const struct roofcast_model *m, uint64_t n_ctx, uint32_t n_ubatch, const struct roofcast_cost_options *asked,
                           double *bytes, struct roofcast_error *err)
{
    struct cost_options o;
    struct routing routing;
    if (cost_options(&o, &routing, m, asked, err) != 0)
        return -1;
    *bytes = cost_kv_bytes(&m->x.ops, &o, n_ctx, n_ubatch);
    return 0;
}
