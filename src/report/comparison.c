/* Two sides matched test by test, and what the repetitions say of each. methods.md (106) */
#include "report/comparison_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_ENTRIES = 5000 };

/* ---- which tests are the same ------------------------------------------------------------------------------------ */

/* How entries are told apart. */
struct matching {
    bool by_model;                 /* a side has several models */
    bool varies[COMPARE_SETTINGS]; /* a side has the same test with two values of it */
};

static bool same_model(const char *a, const char *b)
{
    char x[NAME_SIZE], y[NAME_SIZE];
    if (strcmp(a, b) == 0)
        return true;
    name_fold(x, sizeof x, a, NULL);
    name_fold(y, sizeof y, b, NULL);
    return strcmp(x, y) == 0;
}

static bool same_value(const char *a, const char *b)
{
    return !*a || !*b || strcasecmp(a, b) == 0;
}

static bool same_test(const struct matching *m, const struct compare_entry *a, const struct compare_entry *b, bool machines)
{
    bool same = strcmp(a->test, b->test) == 0 && strcmp(a->unit, b->unit) == 0 && (!m->by_model || same_model(a->model, b->model));
    for (int k = 0; same && k < COMPARE_SETTINGS; k++)
        same = !m->varies[k] || (k == SETTING_MACHINE && !machines) || same_value(a->setting[k], b->setting[k]);
    return same;
}

static void look_at(struct matching *m, const struct compare_side *s)
{
    for (size_t i = 0; i < s->entry.n; i++) {
        const struct compare_entry *const a = compare_entry_at(s, i);
        m->by_model |= !same_model(a->model, compare_entry_at(s, 0)->model);
        for (size_t k = 0; k < i; k++) {
            const struct compare_entry *const b = compare_entry_at(s, k);
            if (strcmp(a->test, b->test) != 0 || !same_model(a->model, b->model))
                continue;
            for (int j = 0; j < COMPARE_SETTINGS; j++)
                m->varies[j] |= !same_value(a->setting[j], b->setting[j]);
        }
    }
}

/* The entries of s that are the test of its entry `first`; n 0: an earlier one is too. */
static void group_of(struct compare_group *g, const struct matching *m, const struct compare_side *s, size_t first)
{
    g->side = s;
    g->n = 0;
    for (size_t i = 0; i < s->entry.n; i++) {
        if (!same_test(m, compare_entry_at(s, i), compare_entry_at(s, first), true))
            continue;
        if (i < first)
            return;
        g->at[g->n++] = i;
    }
}

/* ---- one row ------------------------------------------------------------------------------------------------------ */

static double middle(const struct compare_group *g)
{
    double *const x = malloc(g->n * sizeof *x);
    if (!x)
        interrupt_end_without_memory();
    for (size_t i = 0; i < g->n; i++)
        x[i] = compare_entry_at(g->side, g->at[i])->value;
    const double v = stats_median(x, g->n);
    free(x);
    return v;
}

/* "threads 4, ubatch 512": what tells the rows of a test apart. */
static const char *settings_text(struct comparison *c, const struct matching *m, const struct compare_entry *e)
{
    struct strbuf b = { 0 };
    for (int k = 0; k < COMPARE_SETTINGS; k++)
        if (m->varies[k] && *e->setting[k])
            strbuf_addf(&b, "%s%s %s", b.len ? ", " : "", compare_setting_name((enum compare_setting)k), e->setting[k]);
    if (b.oom)
        interrupt_end_without_memory();
    const char *const text = b.len ? table_text(&c->row, b.s) : NULL;
    strbuf_free(&b);
    return text;
}

static struct comparison_row row_of(struct comparison *c, const struct matching *m, const struct compare_entry *e)
{
    return (struct comparison_row){ .model = *e->model ? table_text(&c->row, e->model) : NULL, .test = table_text(&c->row, e->test), .unit = table_text(&c->row, e->unit),
                                    .settings = settings_text(c, m, e), .basis = "", .a = NAN, .b = NAN, .ratio = NAN, .low = NAN, .high = NAN, .plain = NAN,
                                    .p = NAN, .p_holm = NAN, .correlation = NAN, .regressed = -1 };
}

static void mark(const struct compare_group *g)
{
    for (size_t i = 0; i < g->n; i++)
        ((struct compare_entry *)table_row(&g->side->entry, g->at[i]))->matched = true;
}

/* Values that differ in a setting which does not tell rows apart, each setting once. */
static void add_differences(struct comparison *c, bool *told, const struct matching *m, const struct compare_entry *a, const struct compare_entry *b)
{
    const bool model = !m->by_model && *a->model && *b->model && !same_model(a->model, b->model);
    if (model && !told[COMPARE_SETTINGS])
        strbuf_addf(&c->differences, "%smodel %s and %s", c->differences.len ? ", " : "", a->model, b->model);
    told[COMPARE_SETTINGS] |= model;
    for (int k = 0; k < COMPARE_SETTINGS; k++) {
        const bool comparable = k != SETTING_MACHINE || c->a->kind == c->b->kind;
        if (told[k] || m->varies[k] || !comparable || same_value(a->setting[k], b->setting[k]))
            continue;
        strbuf_addf(&c->differences, "%s%s %s and %s", c->differences.len ? ", " : "", compare_setting_name((enum compare_setting)k), a->setting[k], b->setting[k]);
        told[k] = true;
    }
}

static void add_row(struct comparison *c, const struct matching *m, const struct compare_group *a, const struct compare_group *b)
{
    struct comparison_row row = row_of(c, m, compare_entry_at(a->side, a->at[0]));
    row.a = middle(a);
    row.b = middle(b);
    const struct ratio r = comparison_test(&row, c, a, b);
    row.ratio = r.ratio;
    row.low = r.lo;
    row.high = r.hi;
    row.p = row.p_holm = r.p;
    row.correlation = r.correlation;
    if (compare_entry_at(a->side, a->at[0])->n_assumed || compare_entry_at(b->side, b->at[0])->n_assumed)
        row.note = comparison_note(c, row.note, "5 repetitions assumed, llama-bench's default: the file does not say how many");
    *(struct comparison_row *)table_add(&c->row) = row;
    c->n_row++;
}

static void add_alone(struct comparison *c, const struct matching *m, const struct compare_side *s)
{
    for (size_t i = 0; i < s->entry.n; i++) {
        const struct compare_entry *const e = compare_entry_at(s, i);
        if (e->matched)
            continue;
        struct comparison_row row = row_of(c, m, e);
        *(s == c->a ? &row.a : &row.b) = e->value;
        row.verdict = s == c->a ? "only in A" : "only in B";
        *(struct comparison_row *)table_add(&c->row) = row;
        c->n_alone++;
    }
}

/* ---- all rows ------------------------------------------------------------------------------------------------------ */

/* The least p that these repetitions can have, times the tests. */
static bool is_too_few(const struct comparison_row *r, size_t n_test)
{
    if (strncmp(r->basis, "pairs", 5) == 0)
        return (size_t)r->n_a < ratio_least_pairs(n_test, COMPARE_LEVEL);
    if (strcmp(r->basis, "repetitions by probe") != 0 && strncmp(r->basis, "runs", 4) != 0)
        return false;
    const double ways = exp(lgamma(r->n_a + r->n_b + 1) - lgamma(r->n_a + 1) - lgamma(r->n_b + 1));
    return 2 / ways * (double)n_test >= COMPARE_LEVEL;
}

static void judge(struct comparison *c, struct comparison_row *r)
{
    char text[160];
    const bool told = r->p_holm < COMPARE_LEVEL && r->ratio != 1;
    r->verdict = !told ? "cannot tell" : r->ratio > 1 ? "faster" : "slower";
    c->n_faster += told && r->ratio > 1;
    c->n_slower += told && r->ratio < 1;
    c->n_unsure += !told;
    if (isnan(r->p)) {
        r->note = comparison_note(c, r->note, strcmp(r->basis, "intervals") == 0 ? "no interval" : "a side has one repetition, or does not say how far they spread");
    } else if (!told && is_too_few(r, c->n_row)) {
        snprintf(text, sizeof text, "too few for %zu test%s: %d and %d repetitions cannot reach p < %g", c->n_row, c->n_row == 1 ? "" : "s", r->n_a, r->n_b, COMPARE_LEVEL);
        r->note = comparison_note(c, r->note, text);
    }
    if (isnan(c->fail_over))
        return;
    r->regressed = told && r->ratio < 1 - c->fail_over;
    c->n_regressed += r->regressed == 1;
}

static int judge_all(struct comparison *c, struct error *err)
{
    double *const p = malloc((c->row.n + 1) * sizeof *p);
    if (!p)
        return error_oom(err, (c->row.n + 1) * sizeof *p, "the p values");
    for (size_t i = 0; i < c->row.n; i++)
        p[i] = ((struct comparison_row *)table_row(&c->row, i))->p;
    const int rc = ratio_holm(p, c->row.n, err);
    for (size_t i = 0; rc == 0 && i < c->row.n; i++) {
        struct comparison_row *const r = table_row(&c->row, i);
        r->p_holm = p[i];
        if (!r->verdict)
            judge(c, r);
    }
    free(p);
    return rc;
}

static void match(struct comparison *c, const struct matching *m, struct compare_group *a, struct compare_group *b)
{
    const bool machines = c->a->kind == c->b->kind;
    bool told[COMPARE_SETTINGS + 1] = { false };
    for (size_t i = 0; i < c->a->entry.n; i++) {
        group_of(a, m, c->a, i);
        for (size_t k = 0; a->n > 0 && k < c->b->entry.n; k++) {
            if (!same_test(m, compare_entry_at(c->a, i), compare_entry_at(c->b, k), machines))
                continue;
            group_of(b, m, c->b, k);
            if (b->n == 0)
                continue;
            add_differences(c, told, m, compare_entry_at(c->a, i), compare_entry_at(c->b, k));
            add_row(c, m, a, b);
            mark(a);
            mark(b);
        }
    }
}

static int check(const struct comparison *c, struct error *err)
{
    if ((c->a->kind == COMPARE_PROFILE) != (c->b->kind == COMPARE_PROFILE))
        return error_set(err, ERROR_INPUT, "%.300s (%s) and %.300s (%s): expected two profiles, or two of a run, measurements and a prediction", c->a->file,
                         compare_kind_name(c->a->kind), c->b->file, compare_kind_name(c->b->kind));
    const struct compare_side *const most = c->a->entry.n > c->b->entry.n ? c->a : c->b;
    if (most->entry.n > MOST_ENTRIES)
        return error_set(err, ERROR_INPUT, "%.300s: expected at most %d tests, found %zu", most->file, MOST_ENTRIES, most->entry.n);
    return 0;
}

int comparison_make(struct comparison *c, struct compare_side *a, struct compare_side *b, double fail_over, struct error *err)
{
    struct matching m = { .by_model = false };
    *c = (struct comparison){ .a = a, .b = b, .row.size = sizeof(struct comparison_row), .op.size = sizeof(struct comparison_op), .fail_over = fail_over };
    if (check(c, err) != 0)
        return -1;
    size_t *const at = malloc((a->entry.n + b->entry.n + 1) * sizeof *at);
    if (!at)
        return error_oom(err, (a->entry.n + b->entry.n) * sizeof *at, "the tests");
    look_at(&m, a);
    look_at(&m, b);
    match(c, &m, &(struct compare_group){ .at = at }, &(struct compare_group){ .at = at + a->entry.n });
    free(at);
    int rc = c->n_row > 0 ? 0 : error_set(err, ERROR_INPUT, "no test in common: %.300s has %.64s of %.100s, %.300s has %.64s of %.100s", a->file, compare_entry_at(a, 0)->test,
                                          *compare_entry_at(a, 0)->model ? compare_entry_at(a, 0)->model : "a machine", b->file, compare_entry_at(b, 0)->test,
                                          *compare_entry_at(b, 0)->model ? compare_entry_at(b, 0)->model : "a machine");
    add_alone(c, &m, a);
    add_alone(c, &m, b);
    rc = rc == 0 ? judge_all(c, err) : rc;
    if (rc == 0)
        comparison_add_ops(c);
    if (rc != 0)
        comparison_free(c);
    return rc;
}

void comparison_free(struct comparison *c)
{
    table_rows_free(&c->row);
    table_rows_free(&c->op);
    strbuf_free(&c->differences);
    *c = (struct comparison){ .a = NULL };
}
