/* Where a prediction's seconds come from. */
#include "predict/explain.h"
#include "lib/internal.h"
#include "lib/predict.h"
#include <stdlib.h>

struct roofcast_explanation {
    struct explain e; /* texts point into it */
    struct roofcast_explained_op *op;
    struct roofcast_explained_constant *constant;
};

static void fill(struct roofcast_explanation *x)
{
    for (size_t i = 0; i < x->e.n; i++) {
        const struct explain_class *c = &x->e.c[i];
        x->op[i] = (struct roofcast_explained_op){
            .kind = op_kind_name(c->op.kind), .role = op_role_name(c->op.role), .count = c->sum.count, .n_pass = c->n_pass,
            .cost = lib_cost(&c->sum.cost), .seconds = c->sum.seconds, .memory_s = c->sum.memory_s, .compute_s = c->sum.compute_s,
            .link_s = c->sum.link_s, .launch_s = c->launch_s, .bound = (int)c->sum.bound, .math = math_name(c->sum.math), .roof = c->roof,
            .weight = c->weight, .act = c->act, .kv = c->kv, .flop = c->flop, .link = c->link,
        };
    }
    for (size_t i = 0; i < x->e.n_k; i++) {
        const struct explain_constant *k = &x->e.k[i];
        x->constant[i] = (struct roofcast_explained_constant){ k->name, k->value, k->unit, k->source, k->formula, k->spread, k->share };
    }
}

struct roofcast_explanation *roofcast_explain(const struct roofcast_model *m, const struct roofcast_machine *h,
                                              const struct roofcast_predict_options *o, int phase, struct roofcast_error *err)
{
    struct lib_pricing p;
    struct error e = { 0 };
    struct roofcast_explanation *x = NULL;
    if (phase != ROOFCAST_PREFILL && phase != ROOFCAST_DECODE) {
        lib_error(err, ROOFCAST_ERROR_USAGE, "phase: expected ROOFCAST_PREFILL or ROOFCAST_DECODE");
        return NULL;
    }
    if (lib_pricing_init(&p, m, h, o, false, err) != 0)
        goto done;
    if ((phase == ROOFCAST_PREFILL ? p.o.n_prompt : p.o.n_gen) == 0) {
        lib_error(err, ROOFCAST_ERROR_USAGE, "explain: expected n_prompt of at least 1 for prefill, n_gen of at least 1 for decode");
        goto done;
    }
    if (!(x = calloc(1, sizeof *x)) ||
        explain_init(&x->e, &m->m, &h->h, &p.o, phase == ROOFCAST_PREFILL ? PHASE_PREFILL : PHASE_DECODE, &e) != 0)
        goto fail;
    x->op = calloc(x->e.n + 1, sizeof *x->op);
    x->constant = calloc(x->e.n_k + 1, sizeof *x->constant);
    if (!x->op || !x->constant)
        goto fail;
    fill(x);
    goto done;
fail:
    if (e.kind == ERROR_NONE)
        error_oom(&e, sizeof *x, "an explanation");
    lib_fail(err, &e);
    roofcast_explanation_free(x);
    x = NULL;
done:
    lib_pricing_free(&p);
    return x;
}

void roofcast_explanation_free(struct roofcast_explanation *x)
{
    if (!x)
        return;
    explain_free(&x->e);
    free(x->op);
    free(x->constant);
    free(x);
}

size_t roofcast_explanation_n_op(const struct roofcast_explanation *x)
{
    return x->e.n;
}

const struct roofcast_explained_op *roofcast_explanation_op(const struct roofcast_explanation *x, size_t i)
{
    return i < x->e.n ? &x->op[i] : NULL;
}

size_t roofcast_explanation_n_constant(const struct roofcast_explanation *x)
{
    return x->e.n_k;
}

const struct roofcast_explained_constant *roofcast_explanation_constant(const struct roofcast_explanation *x, size_t i)
{
    return i < x->e.n_k ? &x->constant[i] : NULL;
}

double roofcast_explanation_seconds(const struct roofcast_explanation *x)
{
    return x->e.seconds;
}
