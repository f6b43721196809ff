/* The values of a test's executions, and the test that fits what both sides have. methods.md (106) */
#include "report/comparison_internal.h"
#include <math.h>
#include <stdlib.h>

static bool is_probed(const struct compare_group *g, bool compute)
{
    bool all = true;
    for (size_t i = 0; i < g->n; i++) {
        const struct compare_entry *const e = compare_entry_at(g->side, g->at[i]);
        all = all && e->probed && e->compute == compute;
    }
    return all;
}

/* ln of a repetition's speed, over its probe. */
static double sample_ln(const struct compare_group *g, const struct compare_entry *e, size_t i, bool probed)
{
    const struct compare_sample *const x = table_row(&g->side->sample, e->sample + i);
    return log(x->rate) - (probed ? log(e->compute ? x->flop_s : x->bytes_s) : 0);
}

/* ln of an execution's speed. */
static double execution_ln(const struct compare_group *g, size_t i, bool probed)
{
    const struct compare_entry *const e = compare_entry_at(g->side, g->at[i]);
    double sum = 0;
    for (size_t k = 0; k < e->n_sample; k++)
        sum += sample_ln(g, e, k, probed);
    const double ln = e->n_sample > 0 ? sum / (double)e->n_sample : log(e->value);
    return e->lower ? -ln : ln;
}

/* Fills x[n] and returns n: executions, or the repetitions of the only one. */
static size_t fill(double *x, const struct compare_group *g, bool executions, bool probed)
{
    if (executions) {
        for (size_t i = 0; i < g->n; i++)
            x[i] = execution_ln(g, i, probed);
        return g->n;
    }
    const struct compare_entry *const e = compare_entry_at(g->side, g->at[0]);
    for (size_t i = 0; i < e->n_sample; i++)
        x[i] = sample_ln(g, e, i, probed);
    return e->n_sample;
}

static size_t room_of(const struct compare_group *g)
{
    const size_t n = compare_entry_at(g->side, g->at[0])->n_sample;
    return g->n > n ? g->n : n;
}

/* Mean and variance of ln of one execution, and the number of values that the variance is of (0: it is known). */
static void one_execution(const struct compare_group *g, double *mean, double *variance, size_t *n)
{
    const struct compare_entry *const e = compare_entry_at(g->side, g->at[0]);
    double *const x = malloc(room_of(g) * sizeof *x + sizeof *x);
    if (!x)
        interrupt_end_without_memory();
    const size_t n_x = fill(x, g, true, false);
    *mean = stats_mean(x, n_x);
    *variance = n_x > 1 ? pow(stats_sd(x, n_x), 2) : pow(e->ln_sd, 2);
    *n = n_x > 1 ? n_x : e->n;
    free(x);
}

const char *comparison_note(struct comparison *c, const char *before, const char *text)
{
    struct strbuf b = { 0 };
    strbuf_addf(&b, "%s%s%s", before ? before : "", before ? "; " : "", text);
    if (b.oom)
        interrupt_end_without_memory();
    const char *const note = table_text(&c->row, b.s);
    strbuf_free(&b);
    return note;
}

static json_t *pairs_json(struct comparison *c, const struct compare_group *a, const struct compare_group *b)
{
    json_t *const list = json_array();
    for (size_t i = 0; i < a->n; i++)
        json_array_append_new(list, json_pack("[o, o]", json_num(compare_entry_at(a->side, a->at[i])->value), json_num(compare_entry_at(b->side, b->at[i])->value)));
    return table_keep_json(&c->row, list);
}

/* Its values state their own uncertainty. */
static bool has_interval(const struct compare_side *s)
{
    return s->kind == COMPARE_PREDICTION || s->kind == COMPARE_PROFILE;
}

struct ratio comparison_test(struct comparison_row *row, struct comparison *c, const struct compare_group *a, const struct compare_group *b)
{
    const bool compute = compare_entry_at(a->side, a->at[0])->compute, probed = is_probed(a, compute) && is_probed(b, compute);
    const bool executions = a->n > 1 && b->n > 1, ranks = executions || (a->n == 1 && b->n == 1 && probed);
    struct ratio r;
    double mean_a, mean_b, v_a, v_b;
    size_t of_a, of_b;
    one_execution(a, &mean_a, &v_a, &of_a);
    one_execution(b, &mean_b, &v_b, &of_b);
    row->n_a = (int)of_a;
    row->n_b = (int)of_b;
    if (!ranks) {
        row->basis = has_interval(c->a) || has_interval(c->b) ? "intervals" : "one run each";
        return ratio_of_sd(mean_b - mean_a, sqrt(v_a + v_b), ratio_welch_df(v_a, of_a, v_b, of_b));
    }
    double *const x = calloc(room_of(a) + room_of(b), sizeof *x), *const y = x ? x + room_of(a) : NULL;
    if (!x)
        interrupt_end_without_memory();
    const size_t n_a = fill(x, a, executions, probed), n_b = fill(y, b, executions, probed);
    if (executions && n_a == n_b) {
        for (size_t i = 0; i < n_a; i++)
            x[i] = y[i] - x[i];
        r = ratio_paired(x, n_a);
        row->basis = probed ? "pairs by probe" : "pairs";
        row->pairs = pairs_json(c, a, b);
    } else {
        r = ratio_unpaired(x, n_a, y, n_b);
        row->basis = !executions ? "repetitions by probe" : probed ? "runs by probe" : "runs";
    }
    row->plain = probed ? exp(mean_b - mean_a) : NAN;
    free(x);
    return r;
}
