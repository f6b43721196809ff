/* run/run.c: the record in memory: rows and ops appended, everything freed. */
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

/* Room for one more in an array of n: capacity doubles at powers of two, so n tells when it
 * is full. */
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

int run_add_loading(struct run *r, const struct run_loading *l, struct error *err)
{
    struct run_loading *a = grow(r->loading, r->n_loading, sizeof *a, "loads of a run", err);
    if (!a)
        return -1;
    r->loading = a;
    r->loading[r->n_loading++] = *l;
    return 0;
}

void run_free(struct run *r)
{
    free(r->loading);
    free(r->row);
    free(r->op);
    json_decref(r->ceilings);
    memset(r, 0, sizeof *r);
}
