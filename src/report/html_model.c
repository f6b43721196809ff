/* Whether the model that predictions take is the one that a run measured: a file names its model, and may hold another of that name. */
#include "cost/cost.h"
#include "report/html_internal.h"
#include <math.h>
#include <string.h>

/* Relative difference of weight bytes that is another model: padding and the embedding row stay below it. */
static const double SAME_BYTES = 0.05;

/* Layers with timed ops; 0: ops were not timed. */
static int run_layers(const struct run *r)
{
    int n = 0;
    for (size_t i = 0; i < r->n_op; i++)
        n = r->op[i].layer >= n ? r->op[i].layer + 1 : n;
    return n;
}

/* Weight bytes that a decode step reads, by the run and by the model's op list; false: unknown, or of experts, which depend on the text. */
static bool step_bytes(double *measured, double *model, const struct run *r, const struct model *m)
{
    const struct run_row *row = NULL;
    struct op_list ops;
    struct weight_account a;
    struct error ignored = { 0 };
    for (size_t i = 0; i < r->n_row && !row; i++)
        row = strcmp(r->row[i].phase, "decode") == 0 && r->row[i].n_gen > 0 && r->row[i].weight_bytes > 0 ? &r->row[i] : NULL;
    if (!row || m->hp.n_expert > 0 || op_list_build(&ops, m, &ignored) != 0)
        return false;
    const int rc = account_weights(&a, m, &ops, (uint32_t)row->n_batch, &ignored);
    op_list_free(&ops);
    *measured = row->weight_bytes / row->n_gen;
    *model = a.read_bytes;
    return rc == 0 && *model > 0;
}

void html_compare_model(struct html_data *d)
{
    const struct run *r = NULL;
    for (size_t i = 0; d->have_model && i < d->tests.n && !r; i++) {
        const struct html_test *t = &d->tests.v[i];
        d->other_file = t->file;
        r = strcmp(t->preset, d->main->preset) == 0 && strcmp(t->type, d->main->type) == 0 ? d->run[t->file] : NULL;
    }
    if (!r)
        return;
    char a[32], b[32];
    double measured, model;
    const int n = run_layers(r);
    const bool layers = n > 0 && (uint32_t)n != d->m.hp.n_layer;
    if (layers)
        snprintf(d->other, sizeof d->other, "%d layers instead of %u", n, d->m.hp.n_layer);
    if (step_bytes(&measured, &model, r, &d->m) && fabs(measured / model - 1) > SAME_BYTES) {
        const size_t at = strlen(d->other);
        snprintf(d->other + at, sizeof d->other - at, "%s%s of weights a decode step instead of %s", layers ? ", " : "", units_si(a, sizeof a, measured, "B"),
                 units_si(b, sizeof b, model, "B"));
    }
}

const char *html_other_model(char *buf, size_t n, const struct html_data *d)
{
    snprintf(buf, n, "of the model %.60s with %u layers, not of the measured file (%s)", d->m.name, d->m.hp.n_layer, d->other);
    return buf;
}
