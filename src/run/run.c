/* run/run.c: building and freeing a run. */
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

/* Room for one more of n elements. Capacity doubles at powers of two, so n tells when the array is full. */
static void *grow(void *a, size_t n, size_t elem, const char *what, struct error *err)
{
    size_t bytes;
    if (n & (n - 1))
        return a;
    if (!size_mul(n ? 2 * n : 1, elem, &bytes)) {
        error_set(err, ERROR_SYSTEM, "too many %s: %zu", what, n);
        return NULL;
    }
    void *b = realloc(a, bytes);
    if (!b)
        error_oom(err, bytes, what);
    return b;
}

struct run_mark run_mark(const struct run *r)
{
    return (struct run_mark){ r->n_row, r->n_rep, r->n_op, r->n_count, r->n_counting };
}

void run_cut(struct run *r, const struct run_mark *mark)
{
    r->n_row = mark->n_row;
    r->n_rep = mark->n_rep;
    r->n_op = mark->n_op;
    r->n_count = mark->n_count;
    r->n_counting = mark->n_counting;
}

int run_add_row(struct run *r, const struct run_row *row, struct error *err)
{
    struct run_row *a = grow(r->row, r->n_row, sizeof *a, "rows of a run", err);
    if (!a)
        return -1;
    r->row = a;
    r->row[r->n_row++] = *row;
    return 0;
}

int run_add_op(struct run *r, const struct run_op *op, struct error *err)
{
    struct run_op *a = grow(r->op, r->n_op, sizeof *a, "ops of a run", err);
    if (!a)
        return -1;
    r->op = a;
    r->op[r->n_op++] = *op;
    return 0;
}

int run_add_rep(struct run *r, const struct run_rep *rep, struct error *err)
{
    struct run_rep *a = grow(r->rep, r->n_rep, sizeof *a, "repetitions of a run", err);
    if (!a)
        return -1;
    r->rep = a;
    r->rep[r->n_rep++] = *rep;
    return 0;
}

int run_add_loading(struct run *r, const struct run_loading *l, struct error *err)
{
    struct run_loading *a = grow(r->loading, r->n_loading, sizeof *a, "loads of a run", err);
    if (!a)
        return -1;
    r->loading = a;
    r->loading[r->n_loading++] = *l;
    return 0;
}

int run_add_count(struct run *r, const struct run_count *c, struct error *err)
{
    struct run_count *a = grow(r->count, r->n_count, sizeof *a, "counts of a run", err);
    if (!a)
        return -1;
    r->count = a;
    r->count[r->n_count++] = *c;
    return 0;
}

int run_add_counting(struct run *r, const struct run_counting *c, struct error *err)
{
    struct run_counting *a = grow(r->counting, r->n_counting, sizeof *a, "counted tests of a run", err);
    if (!a)
        return -1;
    r->counting = a;
    r->counting[r->n_counting++] = *c;
    return 0;
}

/* Entry of the same model: name, layers and experts match. */
static struct run_routing *routing_of(struct run *r, const struct run_routing *x)
{
    for (size_t i = 0; i < r->n_routing; i++) {
        struct run_routing *a = &r->routing[i];
        if (strcmp(a->model, x->model) == 0 && a->n_expert == x->n_expert && a->n_expert_used == x->n_expert_used &&
            a->n_layer == x->n_layer && memcmp(a->layer, x->layer, x->n_layer * sizeof *x->layer) == 0)
            return a;
    }
    return NULL;
}

int run_add_routing(struct run *r, const struct run_routing *x, struct error *err)
{
    const size_t n = (size_t)x->n_layer * x->n_expert;
    struct run_routing *old = routing_of(r, x), copy = *x;
    if (old) {
        old->n_tok += x->n_tok;
        for (size_t i = 0; i < n; i++)
            old->counts[i] += x->counts[i];
        return 0;
    }
    struct run_routing *a = grow(r->routing, r->n_routing, sizeof *a, "routings of a run", err);
    if (!a)
        return -1;
    r->routing = a;
    copy.layer = malloc(x->n_layer * sizeof *copy.layer);
    copy.counts = malloc(n * sizeof *copy.counts);
    if (!copy.layer || !copy.counts) {
        free(copy.layer);
        free(copy.counts);
        return error_oom(err, n * sizeof *copy.counts, "the routing");
    }
    memcpy(copy.layer, x->layer, x->n_layer * sizeof *copy.layer);
    memcpy(copy.counts, x->counts, n * sizeof *copy.counts);
    a[r->n_routing++] = copy;
    return 0;
}

void run_free(struct run *r)
{
    free(r->loading);
    for (size_t i = 0; i < r->n_routing; i++) {
        free(r->routing[i].layer);
        free(r->routing[i].counts);
    }
    free(r->routing);
    free(r->row);
    free(r->op);
    free(r->count);
    free(r->counting);
    json_decref(r->certificate);
    free(r->rep);
    json_decref(r->ceilings);
    json_decref(r->findings);
    memset(r, 0, sizeof *r);
}
