/* Which roles of the ops make the difference of a test. */
#include "report/comparison_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct compare_op *op(const struct compare_side *s, size_t i)
{
    return table_row(&s->op, i);
}

static double mean_s(const struct compare_op *x)
{
    return x->seconds / (double)x->n_file;
}

/* Of all ops of a test; NaN: the side has none. */
static double seconds_of(const struct compare_side *s, const char *test)
{
    double sum = NAN;
    for (size_t i = 0; i < s->op.n; i++)
        if (strcmp(op(s, i)->test, test) == 0)
            sum = (isnan(sum) ? 0 : sum) + mean_s(op(s, i));
    return sum;
}

static const struct compare_op *find(const struct compare_side *s, const char *test, const char *role)
{
    for (size_t i = 0; i < s->op.n; i++)
        if (strcmp(op(s, i)->test, test) == 0 && strcmp(op(s, i)->role, role) == 0)
            return op(s, i);
    return NULL;
}

/* Roof of B over that of A, by the probes adjacent to the timed ops. */
static double machine_of(const struct compare_op *a, const struct compare_op *b)
{
    const bool compute = strcmp(a->bound, "compute") == 0;
    const double roof_a = (compute ? a->flop_s : a->bytes_s) / (double)a->n_file, roof_b = (compute ? b->flop_s : b->bytes_s) / (double)b->n_file;
    return roof_a > 0 && roof_b > 0 ? roof_b / roof_a : NAN;
}

/* One of a and b may be NULL. */
static void add_op(struct comparison *c, const struct compare_op *a, const struct compare_op *b, double difference_s)
{
    const struct compare_op *const one = a ? a : b;
    struct comparison_op *const x = table_add(&c->op);
    const double a_s = a ? mean_s(a) : 0, b_s = b ? mean_s(b) : 0;
    *x = (struct comparison_op){ table_text(&c->op, one->test), table_text(&c->op, one->role), table_text(&c->op, one->op), table_text(&c->op, one->bound),
                                 a_s, b_s, b_s - a_s, difference_s != 0 ? (b_s - a_s) / difference_s : NAN, a && b ? a_s / b_s : NAN, a && b ? machine_of(a, b) : NAN };
}

static int by_difference(const void *a, const void *b)
{
    const double x = fabs(((const struct comparison_op *)a)->difference_s), y = fabs(((const struct comparison_op *)b)->difference_s);
    return (x < y) - (x > y);
}

static void add_test(struct comparison *c, const char *test)
{
    const double a_s = seconds_of(c->a, test), b_s = seconds_of(c->b, test);
    const size_t first = c->op.n;
    if (isnan(a_s) || isnan(b_s))
        return;
    for (size_t i = 0; i < c->a->op.n; i++)
        if (strcmp(op(c->a, i)->test, test) == 0)
            add_op(c, op(c->a, i), find(c->b, test, op(c->a, i)->role), b_s - a_s);
    for (size_t i = 0; i < c->b->op.n; i++)
        if (strcmp(op(c->b, i)->test, test) == 0 && !find(c->a, test, op(c->b, i)->role))
            add_op(c, NULL, op(c->b, i), b_s - a_s);
    qsort(table_row(&c->op, first), c->op.n - first, sizeof(struct comparison_op), by_difference);
}

void comparison_add_ops(struct comparison *c)
{
    for (size_t i = 0; i < c->row.n; i++) {
        const struct comparison_row *const r = table_row(&c->row, i);
        bool done = false;
        for (size_t k = 0; k < c->op.n && !done; k++)
            done = strcmp(((struct comparison_op *)table_row(&c->op, k))->test, r->test) == 0;
        if (!done && !isnan(r->ratio))
            add_test(c, r->test);
    }
}
