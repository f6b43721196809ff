/* Expert routing: from the engine to a run file, and from there to cost. methods.md (16) */
#include "bench/routing.h"
#include <stdlib.h>

/* ---- recorded ------------------------------------------------------------------------- */

/* Number of MoE layers. */
static uint32_t n_route(const struct op_list *l, const struct op **first)
{
    uint32_t n = 0;
    for (size_t i = l->n; i-- > 0;)
        if (l->ops[i].kind == OP_ROUTE) {
            *first = &l->ops[i];
            n++;
        }
    return n;
}

static void copy_counts(struct run_routing *x, const struct engine *e)
{
    const struct op_list *l = engine_ops(e);
    uint64_t sum = 0;
    for (size_t i = 0, at = 0; i < l->n; i++) {
        if (l->ops[i].kind != OP_ROUTE)
            continue;
        x->layer[at] = (uint32_t)l->ops[i].layer;
        for (uint32_t k = 0; k < x->n_expert; k++) {
            const uint64_t n = engine_expert_uses(e, i)[k];
            x->counts[at * x->n_expert + k] = n;
            sum += at == 0 ? n : 0;
        }
        at++;
    }
    x->n_tok = sum / x->n_expert_used;
}

int routing_record(struct run *r, const struct engine *e, const struct model *m, struct error *err)
{
    const struct op *op = NULL;
    struct run_routing x = { .n_layer = n_route(engine_ops(e), &op) };
    if (x.n_layer == 0)
        return 0;
    x.n_expert = op->n_expert;
    x.n_expert_used = op->n_expert_used;
    snprintf(x.model, sizeof x.model, "%s", m->name);
    x.layer = calloc(x.n_layer, sizeof *x.layer);
    x.counts = calloc((size_t)x.n_layer * x.n_expert, sizeof *x.counts);
    int rc = x.layer && x.counts ? 0 : error_oom(err, (size_t)x.n_layer * x.n_expert * sizeof *x.counts, "the routing");
    if (rc == 0) {
        copy_counts(&x, e);
        rc = x.n_tok > 0 ? run_add_routing(r, &x, err) : 0;
    }
    free(x.layer);
    free(x.counts);
    return rc;
}

/* ---- read back -------------------------------------------------------------------------- */

static int take(struct routing *r, double **mem, const struct run *run, const char *path, struct error *err)
{
    if (run->n_routing != 1)
        return error_set(err, ERROR_INPUT, "%s: routing of %zu models with experts, expected one: `roofcast bench -m MODEL.gguf "
                                           "--save FILE` records it", path, run->n_routing);
    const struct run_routing *x = &run->routing[0];
    const size_t n = (size_t)x->n_layer * x->n_expert;
    *mem = malloc(n * sizeof **mem);
    if (!*mem)
        return error_oom(err, n * sizeof **mem, "the routing");
    for (size_t i = 0; i < n; i++)
        (*mem)[i] = (double)x->counts[i] / (double)x->n_tok;
    *r = (struct routing){ .popularity = *mem, .n = x->n_expert, .n_used = x->n_expert_used, .n_layer = x->n_layer };
    return 0;
}

int routing_load(struct routing *r, double **mem, const char *path, struct error *err)
{
    struct run run;
    if (run_load(&run, path, err) != 0)
        return -1;
    const int rc = take(r, mem, &run, path, err);
    run_free(&run);
    return rc;
}
