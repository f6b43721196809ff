/* A comparison in words and tables. */
#include "report/comparison.h"
#include <math.h>
#include <string.h>

/* ---- columns ------------------------------------------------------------------------------------------------- */

#define AT(m) COLUMN_AT(struct comparison_row, m)
static const struct column row_columns[] = {
    { "test", "test", COL_TEXT, NULL, COL_KEY, AT(test), EMPTY_VALUE, NULL, "as bench names it; of profiles the ceiling" },
    { "model", "model", COL_TEXT, NULL, COL_MINOR, AT(model), EMPTY_NULL, NULL, "as A names it" },
    { "settings", "settings", COL_TEXT, NULL, COL_MAJOR, AT(settings), EMPTY_NULL, NULL, "what tells rows of the same test apart: `threads 4, ubatch 512`" },
    { "a", "A", COL_SI_BARE, "as `unit`", COL_MAJOR, AT(a), EMPTY_NULL, NULL, "of the first side: median of its executions; null: it has no such test" },
    { "b", "B", COL_SI_BARE, "as `unit`", COL_MAJOR, AT(b), EMPTY_NULL, NULL, "of the second side" },
    { "unit", "unit", COL_TEXT, NULL, COL_MEDIUM, AT(unit), EMPTY_VALUE, NULL, NULL },
    { "ratio", "B / A", COL_FLOAT, NULL, COL_KEY, AT(ratio), EMPTY_NULL, NULL, "speed of B over that of A: above 1 B is faster, of seconds too; over the adjacent probes "
      "where `basis` says so" },
    { "ratio_low", "low", COL_FLOAT, NULL, COL_KEY, AT(low), EMPTY_NULL, NULL, "95 % interval of this row alone, methods.md (106); null: too few values" },
    { "ratio_high", "high", COL_FLOAT, NULL, COL_KEY, AT(high), EMPTY_NULL, NULL, NULL },
    { "verdict", "verdict", COL_TEXT, NULL, COL_KEY, AT(verdict), EMPTY_VALUE, "`\"faster\"` or `\"slower\"` or `\"cannot tell\"` or `\"only in A\"` or `\"only in B\"`",
      "of B: faster or slower if `p_holm` is below 0.05" },
    { "regressed", "regressed", COL_BOOL, NULL, COL_MEDIUM, AT(regressed), EMPTY_MINUS_1, NULL, "slower, and by more than `--fail-over`; null: not asked, or in one side only" },
    { "p_holm", "p", COL_FLOAT, NULL, COL_MAJOR, AT(p_holm), EMPTY_NULL, NULL, "of equal speeds, corrected for all rows (Holm)" },
    { "p", NULL, COL_FLOAT, NULL, COL_DATA, AT(p), EMPTY_NULL, NULL, "of this row alone; null: too few values for a test" },
    { "plain_ratio", "without probes", COL_FLOAT, NULL, COL_MINOR, AT(plain), EMPTY_NULL, NULL, "mean ratio without the probes; null: `ratio` is without them" },
    { "correlation", NULL, COL_FLOAT, NULL, COL_DATA, AT(correlation), EMPTY_NULL, NULL, "lag-1 correlation of the ranks, at least 0, which widens interval and p" },
    { "basis", "basis", COL_TEXT, NULL, COL_MEDIUM, AT(basis), EMPTY_VALUE, "`\"pairs\"` or `\"pairs by probe\"` or `\"runs\"` or `\"runs by probe\"` or `\"repetitions by probe\"` or "
      "`\"one run each\"` or `\"intervals\"` or `\"\"`", "what is compared, methods.md (106)" },
    { "n_a", "n A", COL_INT, NULL, COL_MINOR, AT(n_a), EMPTY_VALUE, NULL, "executions of A, or repetitions of one; 0: a value with an interval" },
    { "n_b", "n B", COL_INT, NULL, COL_MINOR, AT(n_b), EMPTY_VALUE, NULL, NULL },
    { "pairs", NULL, COL_TEXT, NULL, COL_JSON, AT(pairs), EMPTY_ABSENT, "array, optional", "`[a, b]` of executions in turn, in `unit`" },
    { "note", "note", COL_TEXT, NULL, COL_MEDIUM, AT(note), EMPTY_NULL, NULL, "assumptions; why it cannot be told" },
};
#undef AT
const struct table_fields comparison_fields = { "comparison.row", row_columns, ARRAY_LEN(row_columns) };

#define AT(m) COLUMN_AT(struct comparison_op, m)
static const struct column op_columns[] = {
    { "test", "test", COL_TEXT, NULL, COL_KEY, AT(test), EMPTY_VALUE, NULL, NULL },
    { "role", "role", COL_TEXT, NULL, COL_KEY, AT(role), EMPTY_VALUE, NULL, "summed over layers" },
    { "op", NULL, COL_TEXT, NULL, COL_DATA, AT(op), EMPTY_NULL, NULL, "null: a prediction's" },
    { "bound", NULL, COL_TEXT, NULL, COL_DATA, AT(bound), EMPTY_NULL, NULL, "roof of A" },
    { "a_s", "A", COL_SECONDS, "s", COL_KEY, AT(a_s), EMPTY_NULL, NULL, "of the prompt, or of a decode step; timed op by op, predicted" },
    { "b_s", "B", COL_SECONDS, "s", COL_KEY, AT(b_s), EMPTY_NULL, NULL, NULL },
    { "difference_s", "B - A", COL_SECONDS, "s", COL_KEY, AT(difference_s), EMPTY_NULL, NULL, NULL },
    { "share", "of the difference", COL_FRACTION, "fraction", COL_KEY, AT(share), EMPTY_NULL, NULL, "of the sum of the test's differences" },
    { "ratio", "speed B / A", COL_FLOAT, NULL, COL_MAJOR, AT(ratio), EMPTY_NULL, NULL, "`a_s / b_s`; null: one side has no such role" },
    { "machine", "probes B / A", COL_FLOAT, NULL, COL_MAJOR, AT(machine), EMPTY_NULL, NULL, "probes adjacent to the timed ops, of the role's roof: what the machine's speed explains of `ratio`; null: a prediction" },
};
#undef AT
const struct table_fields comparison_op_fields = { "comparison.op", op_columns, ARRAY_LEN(op_columns) };

/* ---- words ----------------------------------------------------------------------------------------------------- */

static const struct comparison_row *row_at(const struct comparison *c, size_t i)
{
    return table_row(&c->row, i);
}

/* The told row that is furthest from 1, of those that are slower if any is. */
static const struct comparison_row *most_told(const struct comparison *c)
{
    const struct comparison_row *most = NULL;
    for (size_t i = 0; i < c->row.n; i++) {
        const struct comparison_row *const r = row_at(c, i);
        const bool slower = strcmp(r->verdict, "slower") == 0;
        if ((slower || (c->n_slower == 0 && strcmp(r->verdict, "faster") == 0)) && (!most || fabs(log(r->ratio)) > fabs(log(most->ratio))))
            most = r;
    }
    return most;
}

static void add_row(struct strbuf *b, const struct comparison_row *r)
{
    strbuf_addf(b, "%s%s%s %.3f", r->test, r->settings ? ", " : "", r->settings ? r->settings : "", r->ratio);
    if (!isnan(r->low))
        strbuf_addf(b, " (%.3f to %.3f)", r->low, r->high);
}

/* The role that makes most of the difference of a test. */
static void add_role(struct strbuf *b, const struct comparison *c, const char *test)
{
    char s[2][32];
    for (size_t i = 0; i < c->op.n; i++) {
        const struct comparison_op *const x = table_row(&c->op, i);
        if (strcmp(x->test, test) != 0 || isnan(x->share))
            continue;
        strbuf_addf(b, " Of %s most is in %s: %s", test, x->role, units_si(s[0], sizeof s[0], x->a_s, "s"));
        strbuf_addf(b, " in A, %s in B, %.0f %% of the difference.", units_si(s[1], sizeof s[1], x->b_s, "s"), 100 * x->share);
        return;
    }
}

void comparison_add_summary(struct strbuf *out, const struct comparison *c)
{
    const struct comparison_row *const most = most_told(c);
    strbuf_addf(out, "B is faster in %zu and slower in %zu of %zu test%s", c->n_faster, c->n_slower, c->n_row, c->n_row == 1 ? "" : "s");
    if (c->n_unsure > 0)
        strbuf_addf(out, "; %zu cannot be told", c->n_unsure);
    strbuf_adds(out, ".");
    if (most) {
        strbuf_adds(out, " Largest: ");
        add_row(out, most);
        strbuf_adds(out, ".");
        add_role(out, c, most->test);
    }
    if (!isnan(c->fail_over))
        strbuf_addf(out, " %zu test%s slower by more than %.3g %%.", c->n_regressed, c->n_regressed == 1 ? " is" : "s are", 100 * c->fail_over);
    strbuf_adds(out, "\n");
}

static bool has_basis(const struct comparison *c, const char *one, const char *other)
{
    for (size_t i = 0; i < c->row.n; i++)
        if (strcmp(row_at(c, i)->basis, one) == 0 || strcmp(row_at(c, i)->basis, other) == 0)
            return true;
    return false;
}

/* Tests of one side are listed where they are few. */
static bool hides_alone(const struct comparison *c)
{
    return c->n_alone > c->n_row + 3 && !report_wide();
}

/* Limits of what was compared. */
static void add_limits(struct strbuf *b, const struct comparison *c)
{
    if (has_basis(c, "one run each", "one run each"))
        strbuf_adds(b, "One run each, without probes in both: repetitions of a run share the machine's speed, so a run counts as one value with the spread of its repetitions.\n");
    if (has_basis(c, "one run each", "repetitions by probe"))
        strbuf_adds(b, "One execution a side: what changes between executions (placement in memory, clocks) is part of the difference; `roofcast bench --against` repeats both in turn.\n");
    if (c->n_alone > 0)
        strbuf_addf(b, "%zu test%s in one side only%s.\n", c->n_alone, c->n_alone == 1 ? " is" : "s are", hides_alone(c) ? " (listed with --wide)" : "");
}

/* ---- for people -------------------------------------------------------------------------------------------------- */

/* Smaller p are printed as this. */
static const double LEAST_P = 1e-6;

static int print_rows(FILE *f, enum report_format format, const struct comparison *c, size_t width, struct error *err)
{
    struct column cols[ARRAY_LEN(row_columns)];
    struct table_rows rows = { .size = sizeof(struct comparison_row) };
    const struct table t = { "roofcast.comparison", 1, NULL, cols, ARRAY_LEN(cols), &rows, NULL };
    bool models = false;
    memcpy(cols, row_columns, sizeof cols);
    for (size_t i = 0; i < c->row.n; i++) {
        const char *const x = row_at(c, i)->model, *const y = row_at(c, 0)->model;
        models |= x && y && strcmp(x, y) != 0;
        if (isnan(row_at(c, i)->ratio) && hides_alone(c))
            continue;
        struct comparison_row *const r = table_add(&rows);
        *r = *row_at(c, i);
        r->p_holm = r->p_holm < LEAST_P ? LEAST_P : r->p_holm; /* NaN stays */
    }
    columns_rank(cols, ARRAY_LEN(cols), "settings regressed note plain_ratio", COL_DATA);
    columns_rank(cols, ARRAY_LEN(cols), "model", models ? COL_KEY : COL_DATA);
    columns_rank_known(cols, ARRAY_LEN(cols), &t, "settings", COL_MAJOR);
    columns_rank_known(cols, ARRAY_LEN(cols), &t, "regressed note", COL_MEDIUM);
    columns_rank_known(cols, ARRAY_LEN(cols), &t, "plain_ratio", COL_MINOR);
    const int rc = report_print(f, format, &t, width, err);
    table_rows_free(&rows);
    return rc;
}

/* Roles of a test that are listed without --wide. */
enum { MOST_ROLES = 6 };

static int print_ops(FILE *f, enum report_format format, const struct comparison *c, size_t width, struct error *err)
{
    struct table_rows rows = { .size = sizeof(struct comparison_op) };
    const struct table t = { "roofcast.comparison.ops", 1, NULL, op_columns, ARRAY_LEN(op_columns), &rows, NULL };
    for (size_t i = 0, n = 0; i < c->op.n; i++) {
        const struct comparison_op *const x = table_row(&c->op, i), *const before = table_row(&c->op, i > 0 ? i - 1 : 0);
        n = strcmp(x->test, before->test) == 0 ? n + 1 : 1;
        if (report_wide() || n <= MOST_ROLES)
            memcpy(table_add(&rows), x, sizeof *x);
    }
    int rc = rows.n > 0 && fputs("\n", f) < 0 ? -1 : rows.n > 0 ? report_print(f, format, &t, width, err) : 0;
    if (rc == 0 && rows.n < c->op.n)
        fprintf(f, "(%zu more roles with --wide, all with --ops -o csv, or json)\n", c->op.n - rows.n);
    table_rows_free(&rows);
    return rc;
}

static void add_side(struct strbuf *b, const char *name, const struct compare_side *s)
{
    strbuf_addf(b, "%s: %s", name, s->file);
    if (s->n_file > 1)
        strbuf_addf(b, ", %zu executions", s->n_file);
    strbuf_addf(b, ": %s\n", s->what ? s->what : compare_kind_name(s->kind));
}

/* Text at the width of the output, without control characters. */
static int put_text(FILE *f, struct strbuf *text, size_t width, size_t indent, struct error *err)
{
    struct strbuf b = { 0 };
    const char *const s = strbuf_text(text, "a comparison", err);
    report_wrap(&b, s ? s : "", width, indent);
    const char *const shown = s ? strbuf_text(&b, "a comparison", err) : NULL;
    if (shown && b.len)
        text_show(b.s, b.len);
    const int rc = shown && fputs(shown, f) >= 0 ? 0 : -1;
    strbuf_free(&b);
    return rc;
}

static int print_people(FILE *f, enum report_format format, const struct comparison *c, struct error *err)
{
    const size_t width = format == REPORT_TABLE ? report_width(f) : 0;
    struct strbuf head = { 0 }, sides = { 0 }, limits = { 0 };
    comparison_add_summary(&head, c);
    add_side(&sides, "A", c->a);
    add_side(&sides, "B", c->b);
    add_limits(&limits, c);
    const bool md = format == REPORT_MD;
    int rc = put_text(f, &head, width, 0, err) == 0 && fputs("\n", f) >= 0 && put_text(f, &sides, width, 4, err) == 0 && fputs("\n", f) >= 0 ? 0 : -1;
    rc = rc == 0 ? print_rows(f, format, c, width, err) : rc;
    rc = rc == 0 ? print_ops(f, format, c, width, err) : rc;
    if (rc == 0 && limits.len > 0)
        rc = fputs("\n", f) >= 0 && put_text(f, &limits, width, md ? 0 : 4, err) == 0 ? 0 : -1;
    strbuf_free(&head);
    strbuf_free(&sides);
    strbuf_free(&limits);
    return rc;
}

/* ---- for programs ------------------------------------------------------------------------------------------------ */

static json_t *side_json(const struct compare_side *s)
{
    return json_pack("{s:o, s:I, s:s, s:o}", "file", json_text(s->file), "files", (json_int_t)s->n_file, "kind", compare_kind_name(s->kind), "what",
                     s->what ? json_text(s->what) : json_null());
}

static json_t *meta_json(const struct comparison *c, const char *summary)
{
    const struct table ops = { "roofcast.comparison.ops", 1, NULL, op_columns, ARRAY_LEN(op_columns), &c->op, NULL };
    return json_pack("{s:o, s:o, s:o, s:o, s:f, s:o, s:I, s:I, s:I, s:I, s:I, s:o}", "summary", json_text(summary), "a", side_json(c->a), "b", side_json(c->b), "differences",
                     c->differences.len > 0 ? json_text(c->differences.s) : json_null(), "level", COMPARE_LEVEL, "fail_over", json_num(c->fail_over), "n_faster",
                     (json_int_t)c->n_faster, "n_slower", (json_int_t)c->n_slower, "n_cannot_tell", (json_int_t)c->n_unsure, "n_alone", (json_int_t)c->n_alone,
                     "n_regressed", (json_int_t)c->n_regressed, "ops", table_rows_json(&ops));
}

int comparison_table(struct table *out, json_t **meta, const struct comparison *c, struct error *err)
{
    struct strbuf b = { 0 };
    comparison_add_summary(&b, c);
    const char *const summary = strbuf_text(&b, "the summary", err);
    *meta = summary ? meta_json(c, summary) : NULL;
    if (summary && !*meta)
        error_oom(err, 0, "a comparison");
    strbuf_free(&b);
    *out = (struct table){ "roofcast.comparison", 1, *meta, row_columns, ARRAY_LEN(row_columns), &c->row, NULL };
    return *meta ? 0 : -1;
}

static int print_data(FILE *f, enum report_format format, const struct comparison *c, bool ops, struct error *err)
{
    const struct table op_table = { "roofcast.comparison.ops", 1, NULL, op_columns, ARRAY_LEN(op_columns), &c->op, NULL };
    struct table t;
    json_t *meta;
    if (ops && format != REPORT_JSON)
        return report_print(f, format, &op_table, 0, err);
    if (comparison_table(&t, &meta, c, err) != 0)
        return -1;
    const int rc = report_print(f, format, &t, 0, err);
    json_decref(meta);
    return rc;
}

int comparison_print(const char *path, enum report_format format, const struct comparison *c, bool ops, struct error *err)
{
    struct outfile o;
    if (outfile_open(&o, path ? path : "-", err) != 0)
        return -1;
    const bool people = format == REPORT_TABLE || format == REPORT_MD;
    return outfile_end(&o, people ? print_people(o.f, format, c, err) : print_data(o.f, format, c, ops, err), err);
}
