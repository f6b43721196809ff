/* roofcast predict: rows as a table, and the roofs used. */
#include "report/predict_report.h"
#include <math.h>
#include <string.h>

enum { SOURCE_AT = 14 + 2 + 6 + 2 + 12 + 2 }; /* columns of the lines under the table */

/* when: the phase; "": both. of: the machine, where it is not hw; NULL */
static void print_roof(const char *hw, const char *what, double v, const char *unit, const char *when, const char *of, const char *source)
{
    char b[40];
    report_text(SOURCE_AT, "%-14s  %-6s  %-12s  %s%s%s%s%s%s\n", hw, what, units_si(b, sizeof b, v, unit), when, *when ? "; " : "", of ? "of " : "", of ? of : "",
                of ? "; " : "", source);
}

static void print_use(const char *what, double v, const char *unit, const char *source, const char *option)
{
    char b[40] = "-", reason[96];
    if (!isnan(v))
        snprintf(b, sizeof b, "%.4g %s", v, unit);
    snprintf(reason, sizeof reason, "not in the profile (set it with %s)", option);
    report_text(SOURCE_AT, "%-14s  %-6s  %-12s  %s\n", "", what, b, isnan(v) ? reason : source);
}

static const struct predict_row *row_at(const struct table_rows *rows, size_t i)
{
    return table_row(rows, i);
}

/* The stack and the basis of its constants. */
static void print_stack(const struct predict_row *row)
{
    static const struct {
        const char *basis, *text;
    } known[] = {
        { "machine", "constants fitted to measurements on this machine" },
        { "class", "constants of this class of machines, or of other software on this machine: wider interval; --anchor narrows it" },
        { "priors", "no measurements of this machine or its class: constants common to all machines, wide interval; --anchor narrows it" },
        { "kernels", "kernels measured by `roofcast profile` on this machine; --anchor has no effect" },
    };
    for (size_t i = 0; row->basis && i < ARRAY_LEN(known); i++)
        if (strcmp(row->basis, known[i].basis) == 0)
            report_text(SOURCE_AT, "%-14s  %-6s  %-12s  %s\n", "", "stack", row->stack, known[i].text);
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Whether no earlier row has this row's machine and, unless of_machine, its operand type, the device that has it and (with a stack) phase. */
static bool is_first(const struct table_rows *rows, size_t i, bool of_machine)
{
    const struct predict_row *r = row_at(rows, i);
    for (size_t k = 0; k < i; k++) {
        const struct predict_row *p = row_at(rows, k);
        if (!p->reason && same_text(p->hw, r->hw) && (of_machine || (strcmp(p->p.math, r->p.math) == 0 && same_text(p->roofs_of, r->roofs_of) && (!r->stack || same_text(p->phase, r->phase)))))
            return false;
    }
    return true;
}

/* Each note once. */
static void print_notes(const struct table_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct predict_row *r = row_at(rows, i);
        bool said = !r->note;
        for (size_t k = 0; k < i; k++)
            said |= same_text(row_at(rows, k)->note, r->note);
        if (!said)
            report_text(0, "Note on %s on %s and similar rows: %s.\n", r->test, r->hw, r->note);
    }
}

/* Whether a --what-if row has a memory roof that no earlier row has. */
static bool has_other_memory(const struct table_rows *rows, size_t i)
{
    const struct predict_row *r = row_at(rows, i);
    bool other = r->what_if && !r->reason;
    for (size_t k = 0; k < i && other; k++) {
        const struct predict_row *p = row_at(rows, k);
        other = !same_text(p->hw, r->hw) || !same_text(p->roofs_of, r->roofs_of) || (r->stack && !same_text(p->phase, r->phase)) || strcmp(p->p.bandwidth_source, r->p.bandwidth_source) != 0;
    }
    return other;
}

/* The roofs used: two lines per machine, operand type and phase. */
static void print_roofs(const struct table *t, const struct predict_cli *o)
{
    const struct table_rows *rows = t->rows;
    bool requests = false;
    printf("\n");
    for (size_t i = 0; i < rows->n; i++) {
        const struct predict_row *r = row_at(rows, i);
        const bool again = !is_first(rows, i, true);
        const bool request = strcmp(r->phase, "request") == 0; /* uses the roofs of its phases */
        const char *when = r->stack ? r->phase : "";
        requests |= request;
        const bool first = !r->reason && is_first(rows, i, false) && !(request && again && r->stack);
        if (first || has_other_memory(rows, i))
            print_roof(again ? "" : r->hw, "memory", r->p.bandwidth_bytes_s, "B/s", when, r->roofs_of, r->p.bandwidth_source);
        if (!first)
            continue;
        print_roof("", r->p.math, r->p.peak_flop_s, "FLOP/s", when, r->roofs_of, r->p.peak_source);
        if (!again)
            print_stack(r);
        if (again || o->by_role)
            continue;
        print_use("power", r->running.power_w, "W", r->running.power_source, "--power");
        print_use("price", r->running.price_usd_h, "USD/h", r->running.price_source, "--price");
    }
    report_text(0, "\npp: prefill, time to first token (TTFT); tg: decode, inter-token latency (ITL). memory time, compute time: bytes / bandwidth\n"
                "and FLOP / peak, summed over ops; compute, %% of total: compute time / total time.\n");
    if (requests)
        report_text(0, "req: time of a whole request, TTFT and all further tokens; tokens/s: generated tokens over that time.\n");
    if (o->ask.n_change > 0)
        report_text(0, "what if: the row above with this change; ratio: tokens/s relative to the unchanged row%s.\n",
                    table_has(t, "speedup_lo") ? ", low and high: its 90 % interval\n(errors common to both rows cancel, (66))" : "");
    if (table_has(t, "guess"))
        report_text(0, "*: no profile; estimated from its class by name (--hw FILE with a bandwidth and a peak is more accurate).\n");
    print_notes(rows);
    if (table_has(t, "tok_s_lo"))
        report_text(0, "low, high: 90 %% interval%s.\n", offload_is_given(&o->offload.rule) ? "" : "; --explain shows the share of each constant");
    report_text(0, "%s", o->roof                         ? "Upper bound on tokens/s: no software constants, activations stay on the chip.\n"
                : table_has(t, "stack") ? "Roofs above include the efficiency of the stack; --roof prints the roofline bound.\n"
                                               : "Roofs above include the profile's efficiency factors; --roof prints the roofline bound.\n");
}

/* Columns shown if some row has a value. */
static const char where_known[] = "tok_s_lo tok_s_hi speedup_lo speedup_hi slo_chance usd_per_mtok usd_per_request j_per_request slo_met";

/* Columns that the options need and the rows have; columns of links only with several devices. */
static void show_columns(struct column *cols, size_t n, const struct table *t, const struct predict_cli *o)
{
    bool alone = layout_devices(&o->price.layout) == 1;
    for (size_t i = 0; i < t->rows->n; i++)
        alone &= row_at(t->rows, i)->n_devices == 1 && !row_at(t->rows, i)->devices;
    columns_rank_known(cols, n, t, where_known, COL_MAJOR);
    columns_rank_known(cols, n, t, "reason", COL_KEY);
    if (o->by_role)
        columns_rank(cols, n, "tok_s_lo tok_s_hi", COL_DATA);
    else if (o->ask.n_request > 0)
        columns_rank(cols, n, "ttft_s itl_s", COL_MAJOR);
    if (o->ask.n_change > 0)
        columns_rank(cols, n, "what_if speedup", COL_KEY);
    if (alone)
        columns_rank(cols, n, "layout link_s link_bytes", COL_DATA);
    if (!o->draft.spec)
        columns_rank(cols, n, "tokens_a_round gain", COL_DATA);
}

int predict_print(struct table_rows *rows, const struct predict_cli *o, const struct model *m, struct error *err)
{
    const bool readable = o->format == REPORT_TABLE || o->format == REPORT_MD;
    struct column cols[PREDICT_MAX_COLUMNS];
    const size_t n = predict_columns(cols, o->by_role);
    json_t *meta = predict_meta(o, m);
    const struct table t = { "roofcast.predict", 1, meta, cols, n, rows, o->by_role ? predict_role_order : predict_order };
    int rc = meta ? 0 : error_oom(err, 0, "the prediction");
    if (!o->by_role && (o->save || o->format == REPORT_JSON || o->format == REPORT_JSONL))
        predict_nest(rows);
    show_columns(cols, n, &t, o);
    if (rc == 0 && o->save)
        rc = report_write(o->save, REPORT_JSON, &t, err);
    if (rc == 0 && o->format == REPORT_TABLE)
        report_text(0, "%s, %s\n\n", m->name, m->type_name);
    fflush(stdout);
    if (rc == 0)
        rc = report_write(NULL, o->format, &t, err);
    if (rc == 0 && readable) {
        print_roofs(&t, o);
        predict_draft_note(o);
        rc = predict_print_devices(rows, o->format, err);
    }
    if (rc == 0 && readable && o->ask.explain)
        predict_print_explain(rows);
    json_decref(meta);
    return rc;
}
