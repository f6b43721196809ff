/* Compares ceilings with likwid-bench, as a table. */
#include "base/notify.h"
#include "bench/profiles.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct check_row {
    struct ceilings_check c;
    const char *verdict;
};

#define AT(m) COLUMN_AT(struct check_row, m)
static const struct column crosscheck_columns[] = {
    { "name", "ceiling", COL_TEXT, NULL, COL_MAJOR, AT(c.name), EMPTY_VALUE, NULL, "of the ceiling" },
    { "ours", "ours", COL_SI_BARE, "as `unit`", COL_MAJOR, AT(c.ours), EMPTY_NULL, NULL, "median of the turns" },
    { "theirs", "likwid-bench", COL_SI_BARE, "as `unit`", COL_MAJOR, AT(c.theirs), EMPTY_NULL, NULL, NULL },
    { "unit", "unit", COL_TEXT, NULL, COL_MAJOR, AT(c.unit), EMPTY_VALUE, NULL, NULL },
    { "ratio", "ratio", COL_FLOAT, NULL, COL_MAJOR, AT(c.ratio), EMPTY_NULL, NULL, "median of ours / theirs, turn by turn" },
    { "verdict", "verdict", COL_TEXT, NULL, COL_MAJOR, AT(verdict), EMPTY_VALUE, "`\"PASS\"` or `\"FAIL\"` or `\"no answer\"`", "PASS: 0.97 or more" },
    { "test", "test", COL_TEXT, NULL, COL_MAJOR, AT(c.test), EMPTY_VALUE, NULL, "`likwid-bench -t`" },
    { "n_turns", NULL, COL_INT, NULL, COL_JSON, AT(c.n_turns), EMPTY_VALUE, NULL, NULL },
    { "note", "note", COL_TEXT, NULL, COL_MAJOR, AT(c.note), EMPTY_NULL, NULL, NULL },
};
#undef AT
const struct table_fields crosscheck_fields = { "crosscheck.row", crosscheck_columns, ARRAY_LEN(crosscheck_columns) };

struct check {
    struct table_rows rows;
    int n, n_pass, n_none;
};

static int add_row(void *ctx, const struct ceilings_check *c, struct error *err)
{
    struct check *k = ctx;
    (void)err;
    const bool answered = !isnan(c->ratio);
    k->n += answered;
    k->n_pass += answered && c->pass;
    k->n_none += !answered;
    *(struct check_row *)table_add(&k->rows) = (struct check_row){ *c, !answered ? "no answer" : c->pass ? "PASS" : "FAIL" };
    return 0;
}

int profile_cross_check(const struct ceilings_options *o, enum report_format fmt, struct error *err)
{
    struct check k = { .rows = { .size = sizeof(struct check_row) } };
    int rc = ceilings_cross_check(o, add_row, &k, err);
    notify_progress_done();
    if (rc == 0 && o->only && k.rows.n == 0)
        rc = error_set(err, ERROR_USAGE, "--cross-check: likwid-bench has no kernel for a ceiling with \"%.60s\" in its name", o->only);
    const bool keep = rc == 0 || (err->kind == ERROR_INTERRUPTED && k.rows.n > 0);
    if (keep) {
        struct error print_err = { 0 };
        json_t *meta = json_pack("{s:i, s:i, s:i}", "n_compared", k.n, "n_pass", k.n_pass, "n_no_answer", k.n_none);
        const struct table d = { "roofcast.crosscheck", 1, meta, crosscheck_columns, ARRAY_LEN(crosscheck_columns), &k.rows, NULL };
        if (!meta)
            rc = error_oom(err, 0, "the table of the cross-check");
        else if (report_write(NULL, fmt, &d, &print_err) != 0) {
            *err = print_err;
            rc = -1;
        } else if (fmt == REPORT_TABLE || fmt == REPORT_MD) {
            printf("\n%d of %d ceilings are at least 97 %% of likwid-bench's%s\n", k.n_pass, k.n,
                   k.n_none ? "; the note gives the reason for each without an answer" : "");
        }
        json_decref(meta);
    }
    table_rows_free(&k.rows);
    return rc;
}
