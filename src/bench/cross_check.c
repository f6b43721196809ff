/* Our ceilings beside likwid-bench's, as a table. */
#include "base/notify.h"
#include "bench/profiles.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct column columns[] = {
    { "name", "ceiling", COL_TEXT, NULL, COL_MAJOR, COLUMN_BY_KEY },    { "ours", "ours", COL_SI, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "theirs", "likwid-bench", COL_SI, NULL, COL_MAJOR, COLUMN_BY_KEY }, { "unit", "unit", COL_TEXT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "ratio", "ratio", COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },     { "verdict", "verdict", COL_TEXT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "test", "test", COL_TEXT, NULL, COL_MAJOR, COLUMN_BY_KEY },       { "note", "note", COL_TEXT, NULL, COL_MAJOR, COLUMN_BY_KEY },
};

struct check {
    json_t *rows;
    int n, n_pass, n_none;
};

static int add_row(void *ctx, const struct ceilings_check *c, struct error *err)
{
    struct check *k = ctx;
    const bool answered = !isnan(c->ratio);
    k->n += answered;
    k->n_pass += answered && c->pass;
    k->n_none += !answered;
    json_t *row = json_pack("{s:s, s:o, s:o, s:s, s:o, s:s, s:s, s:i, s:s?}", "name", c->name, "ours", json_num(c->ours), "theirs",
                            json_num(c->theirs), "unit", c->unit, "ratio", json_num(c->ratio), "verdict",
                            !answered ? "no answer" : c->pass ? "PASS" : "FAIL", "test", c->test, "n_turns", c->n_turns, "note",
                            c->note[0] ? c->note : NULL);
    return row && json_array_append_new(k->rows, row) == 0 ? 0 : error_oom(err, 0, "the table of the cross-check");
}

int profile_cross_check(const struct ceilings_options *o, enum report_format fmt, struct error *err)
{
    struct check k = { .rows = json_array() };
    if (!k.rows)
        return error_oom(err, 0, "the table of the cross-check");
    int rc = ceilings_cross_check(o, add_row, &k, err);
    notify_progress_done();
    if (rc == 0 && o->only && json_array_size(k.rows) == 0)
        rc = error_set(err, ERROR_USAGE, "--cross-check: no ceiling that likwid-bench has a kernel for has \"%.60s\" in its name", o->only);
    const bool keep = rc == 0 || (err->kind == ERROR_INTERRUPTED && json_array_size(k.rows) > 0);
    if (keep) {
        struct error print_err = { 0 };
        json_t *meta = json_pack("{s:i, s:i, s:i}", "n_compared", k.n, "n_pass", k.n_pass, "n_no_answer", k.n_none);
        const struct table d = { "roofcast.crosscheck", 1, meta, k.rows, columns, ARRAY_LEN(columns), NULL, NULL };
        if (!meta)
            rc = error_oom(err, 0, "the table of the cross-check");
        else if (report_write(NULL, fmt, &d, &print_err) != 0) {
            *err = print_err;
            rc = -1;
        } else if (fmt == REPORT_TABLE || fmt == REPORT_MD) {
            printf("\n%d of %d ceilings within 3 %% of likwid-bench's or above%s\n", k.n_pass, k.n,
                   k.n_none ? "; where it gave no answer the note says why" : "");
        }
        json_decref(meta);
    }
    json_decref(k.rows);
    return rc;
}
