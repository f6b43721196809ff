/* roofcast predict: rows as a table, and the roofs that stood behind them. */
#include "report/predict_report.h"
#include <math.h>
#include <string.h>

static const struct column phase_columns[] = {
    { "model", "model", COL_TEXT, NULL, true },
    { "hw", "hw", COL_TEXT, NULL, COL_KEY },
    { "type", "type", COL_TEXT, NULL, false },
    { "layout", "devices", COL_TEXT, NULL, false },
    { "n_devices", NULL, COL_INT, NULL, true },
    { "phase", "phase", COL_TEXT, NULL, true },
    { "test", "test", COL_TEXT, NULL, COL_KEY },
    { "speedup", "ratio", COL_FLOAT, NULL, true },
    { "speedup_lo", "ratio low", COL_FLOAT, NULL, true },
    { "speedup_hi", "ratio high", COL_FLOAT, NULL, true },
    { "n_prompt", NULL, COL_INT, NULL, true },
    { "n_gen", NULL, COL_INT, NULL, true },
    { "n_depth", NULL, COL_INT, NULL, true },
    { "n_batch", NULL, COL_INT, NULL, true },
    { "n_ubatch", NULL, COL_INT, NULL, true },
    { "tok_s", "tokens/s", COL_FLOAT, NULL, COL_KEY },
    { "tok_s_lo", "low", COL_FLOAT, NULL, true },
    { "tok_s_hi", "high", COL_FLOAT, NULL, true },
    { "seconds", "TTFT / ITL", COL_SECONDS, NULL, false },
    { "seconds_lo", NULL, COL_SECONDS, NULL, true },
    { "seconds_hi", NULL, COL_SECONDS, NULL, true },
    { "slo_met", "SLO", COL_TEXT, NULL, true },
    { "slo_chance", "chance", COL_FRACTION, NULL, true },
    { "slo_chance_lo", NULL, COL_FRACTION, NULL, true },
    { "slo_chance_hi", NULL, COL_FRACTION, NULL, true },
    { "slo_correlation", NULL, COL_FLOAT, NULL, true },
    { "tokens_a_round", "tokens/round", COL_FLOAT, NULL, false },
    { "gain", "gain", COL_FLOAT, NULL, false },
    { "bound", "bound", COL_TEXT, NULL, false },
    { "memory_s", "memory", COL_SECONDS, NULL, COL_MEDIUM },
    { "compute_s", "compute", COL_SECONDS, NULL, COL_MEDIUM },
    { "link_s", "links", COL_SECONDS, NULL, COL_MEDIUM },
    { "compute_share", "busy", COL_FRACTION, NULL, COL_MEDIUM },
    { "memory_share", NULL, COL_FRACTION, NULL, true },
    { "weight_bytes", "weights", COL_SI, "B", COL_MINOR },
    { "act_bytes", NULL, COL_SI, "B", true },
    { "kv_bytes", "KV", COL_SI, "B", COL_MINOR },
    { "flop", "FLOP", COL_SI, "", COL_MINOR },
    { "ai", NULL, COL_FLOAT, NULL, true },
    { "link_bytes", NULL, COL_SI, "B", true },
    { "ttft_s", "TTFT", COL_SECONDS, NULL, true },
    { "itl_s", "ITL", COL_SECONDS, NULL, true },
    { "j_per_tok", "J/token", COL_FLOAT, NULL, COL_MINOR },
    { "j_per_request", "J/request", COL_FLOAT, NULL, true },
    { "usd_per_mtok", "$/Mtoken", COL_FLOAT, NULL, true },
    { "usd_per_request", "$/request", COL_FLOAT, NULL, true },
    { "power_w", NULL, COL_FLOAT, NULL, true },
    { "price_usd_h", NULL, COL_FLOAT, NULL, true },
    { "need_bytes", "needs", COL_SI, "B", COL_MEDIUM },
    { "memory_bytes", NULL, COL_SI, "B", true },
    { "usable_bytes", NULL, COL_SI, "B", true },
    { "fits", "fits", COL_BOOL, NULL, false },
    { "math", NULL, COL_TEXT, NULL, true },
    { "peak_flop_s", NULL, COL_SI, "FLOP/s", true },
    { "peak_source", NULL, COL_TEXT, NULL, true },
    { "bandwidth_bytes_s", NULL, COL_SI, "B/s", true },
    { "bandwidth_source", NULL, COL_TEXT, NULL, true },
    { "derived", NULL, COL_BOOL, NULL, true },
    { "role", NULL, COL_TEXT, NULL, true },
    { "flop_s", NULL, COL_SI, "FLOP/s", true },
    { "weight_total_bytes", NULL, COL_SI, "B", true },
    { "kv_total_bytes", NULL, COL_SI, "B", true },
    { "act_peak_bytes", NULL, COL_SI, "B", true },
    { "runtime_bytes", NULL, COL_SI, "B", true },
    { "weights_gb", NULL, COL_TEXT, NULL, true },
    { "weights_only", NULL, COL_BOOL, NULL, true },
    { "type_k", NULL, COL_TEXT, NULL, true },
    { "type_v", NULL, COL_TEXT, NULL, true },
    { "spec_kind", NULL, COL_TEXT, NULL, true },
    { "draft", NULL, COL_TEXT, NULL, true },
    { "gamma", NULL, COL_INT, NULL, true },
    { "tokens_a_round_sd", NULL, COL_FLOAT, NULL, true },
    { "round_s", NULL, COL_SECONDS, NULL, true },
    { "draft_s", NULL, COL_SECONDS, NULL, true },
    { "verify_s", NULL, COL_SECONDS, NULL, true },
    { "tok_s_sd", NULL, COL_FLOAT, NULL, true },
    { "flop_factor", NULL, COL_FLOAT, NULL, true },
    { "best_gamma", NULL, COL_INT, NULL, true },
    { "best_gain", NULL, COL_FLOAT, NULL, true },
    { "acceptance", NULL, COL_TEXT, NULL, true },
    { "ttft_s_lo", NULL, COL_SECONDS, NULL, true },
    { "ttft_s_hi", NULL, COL_SECONDS, NULL, true },
    { "itl_s_lo", NULL, COL_SECONDS, NULL, true },
    { "itl_s_hi", NULL, COL_SECONDS, NULL, true },
    { "stack", NULL, COL_TEXT, NULL, true },
    { "basis", NULL, COL_TEXT, NULL, true },
    { "slo", NULL, COL_TEXT, NULL, true },
    { "guess", NULL, COL_TEXT, NULL, true },
    { "note", NULL, COL_TEXT, NULL, true },
    { "reason", "no price", COL_TEXT, NULL, true },
    { "what_if", "what if", COL_TEXT, NULL, true },
    { "j_per_tok_lo", NULL, COL_FLOAT, NULL, true },
    { "j_per_tok_hi", NULL, COL_FLOAT, NULL, true },
    { "j_per_request_lo", NULL, COL_FLOAT, NULL, true },
    { "j_per_request_hi", NULL, COL_FLOAT, NULL, true },
    { "usd_per_mtok_lo", NULL, COL_FLOAT, NULL, true },
    { "usd_per_mtok_hi", NULL, COL_FLOAT, NULL, true },
    { "usd_per_request_lo", NULL, COL_FLOAT, NULL, true },
    { "usd_per_request_hi", NULL, COL_FLOAT, NULL, true },
    { "power_source", NULL, COL_TEXT, NULL, true },
    { "price_source", NULL, COL_TEXT, NULL, true },
};

static const struct column role_columns[] = {
    { "model", "model", COL_TEXT, NULL, true },
    { "hw", "hw", COL_TEXT, NULL, COL_KEY },
    { "type", "type", COL_TEXT, NULL, true },
    { "layout", "devices", COL_TEXT, NULL, false },
    { "n_devices", NULL, COL_INT, NULL, true },
    { "phase", "phase", COL_TEXT, NULL, true },
    { "test", "test", COL_TEXT, NULL, COL_KEY },
    { "speedup", "ratio", COL_FLOAT, NULL, true },
    { "speedup_lo", "ratio low", COL_FLOAT, NULL, true },
    { "speedup_hi", "ratio high", COL_FLOAT, NULL, true },
    { "n_prompt", NULL, COL_INT, NULL, true },
    { "n_gen", NULL, COL_INT, NULL, true },
    { "n_depth", NULL, COL_INT, NULL, true },
    { "n_batch", NULL, COL_INT, NULL, true },
    { "role", "role", COL_TEXT, NULL, false },
    { "seconds", "seconds", COL_SECONDS, NULL, false },
    { "share", "of time", COL_FRACTION, NULL, false },
    { "bound", "bound", COL_TEXT, NULL, false },
    { "role_math", "math", COL_TEXT, NULL, false },
    { "weight_bytes", "weights", COL_SI, "B", COL_MINOR },
    { "act_bytes", "act", COL_SI, "B", COL_MINOR },
    { "kv_bytes", "KV", COL_SI, "B", COL_MINOR },
    { "link_bytes", "sent", COL_SI, "B", COL_MINOR },
    { "flop", "FLOP", COL_SI, "", COL_MINOR },
    { "ai", "FLOP/B", COL_FLOAT, NULL, COL_MEDIUM },
    { "flop_s", "FLOP/s", COL_SI, "", COL_MEDIUM },
    { "n_ubatch", NULL, COL_INT, NULL, true },
    { "tok_s", NULL, COL_FLOAT, NULL, true },
    { "tok_s_lo", NULL, COL_FLOAT, NULL, true },
    { "tok_s_hi", NULL, COL_FLOAT, NULL, true },
    { "slo_met", "SLO", COL_TEXT, NULL, true },
    { "slo_chance", "chance", COL_FRACTION, NULL, true },
    { "slo_chance_lo", NULL, COL_FRACTION, NULL, true },
    { "slo_chance_hi", NULL, COL_FRACTION, NULL, true },
    { "slo_correlation", NULL, COL_FLOAT, NULL, true },
    { "ttft_s", NULL, COL_SECONDS, NULL, true },
    { "itl_s", NULL, COL_SECONDS, NULL, true },
    { "need_bytes", NULL, COL_SI, "B", true },
    { "memory_bytes", NULL, COL_SI, "B", true },
    { "usable_bytes", NULL, COL_SI, "B", true },
    { "fits", NULL, COL_BOOL, NULL, true },
    { "weight_total_bytes", NULL, COL_SI, "B", true },
    { "kv_total_bytes", NULL, COL_SI, "B", true },
    { "act_peak_bytes", NULL, COL_SI, "B", true },
    { "runtime_bytes", NULL, COL_SI, "B", true },
    { "math", NULL, COL_TEXT, NULL, true },
    { "peak_flop_s", NULL, COL_SI, "FLOP/s", true },
    { "peak_source", NULL, COL_TEXT, NULL, true },
    { "bandwidth_bytes_s", NULL, COL_SI, "B/s", true },
    { "bandwidth_source", NULL, COL_TEXT, NULL, true },
    { "derived", NULL, COL_BOOL, NULL, true },
    { "weights_gb", NULL, COL_TEXT, NULL, true },
    { "weights_only", NULL, COL_BOOL, NULL, true },
    { "type_k", NULL, COL_TEXT, NULL, true },
    { "type_v", NULL, COL_TEXT, NULL, true },
    { "tokens_a_round", NULL, COL_FLOAT, NULL, true },
    { "gain", NULL, COL_FLOAT, NULL, true },
    { "spec_kind", NULL, COL_TEXT, NULL, true },
    { "draft", NULL, COL_TEXT, NULL, true },
    { "gamma", NULL, COL_INT, NULL, true },
    { "tokens_a_round_sd", NULL, COL_FLOAT, NULL, true },
    { "round_s", NULL, COL_SECONDS, NULL, true },
    { "draft_s", NULL, COL_SECONDS, NULL, true },
    { "verify_s", NULL, COL_SECONDS, NULL, true },
    { "tok_s_sd", NULL, COL_FLOAT, NULL, true },
    { "flop_factor", NULL, COL_FLOAT, NULL, true },
    { "best_gamma", NULL, COL_INT, NULL, true },
    { "best_gain", NULL, COL_FLOAT, NULL, true },
    { "acceptance", NULL, COL_TEXT, NULL, true },
    { "ttft_s_lo", NULL, COL_SECONDS, NULL, true },
    { "ttft_s_hi", NULL, COL_SECONDS, NULL, true },
    { "itl_s_lo", NULL, COL_SECONDS, NULL, true },
    { "itl_s_hi", NULL, COL_SECONDS, NULL, true },
    { "stack", NULL, COL_TEXT, NULL, true },
    { "basis", NULL, COL_TEXT, NULL, true },
    { "slo", NULL, COL_TEXT, NULL, true },
    { "guess", NULL, COL_TEXT, NULL, true },
    { "note", NULL, COL_TEXT, NULL, true },
    { "reason", "no price", COL_TEXT, NULL, true },
    { "what_if", "what if", COL_TEXT, NULL, true },
};

const char *predict_text(const json_t *row, const char *key)
{
    const char *s = json_string_value(json_object_get(row, key));
    return s ? s : "";
}

double predict_number(const json_t *row, const char *key)
{
    const json_t *v = json_object_get(row, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

enum { SOURCE_AT = 14 + 2 + 6 + 2 + 12 + 2 }; /* columns of the lines under the table */

/* when: in which phase; "": always */
static void print_roof(const char *hw, const char *what, double v, const char *unit, const char *when, const char *source)
{
    char b[40];
    report_text(SOURCE_AT, "%-14s  %-6s  %-12s  %s%s%s\n", hw, what, units_si(b, sizeof b, v, unit), when, *when ? "; " : "", source);
}

static void print_use(const char *what, double v, const char *unit, const char *source, const char *option)
{
    char b[40] = "-", reason[96];
    if (!isnan(v))
        snprintf(b, sizeof b, "%.4g %s", v, unit);
    snprintf(reason, sizeof reason, "the profile does not say (%s gives one)", option);
    report_text(SOURCE_AT, "%-14s  %-6s  %-12s  %s\n", "", what, b, isnan(v) ? reason : source);
}

static bool any(const json_t *rows, const char *key)
{
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (!isnan(predict_number(json_array_get(rows, i), key)))
            return true;
    return false;
}

static bool has_text(const json_t *rows, const char *key)
{
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (*predict_text(json_array_get(rows, i), key))
            return true;
    return false;
}

/* Whose constants, and how much is known of them. */
static void print_stack(const json_t *row)
{
    static const struct {
        const char *basis, *text;
    } known[] = {
        { "machine", "constants measured with it on this machine" },
        { "class", "constants of machines of its class, or of other software on it: a wider interval; --anchor narrows it" },
        { "priors", "neither machine nor class was measured: what all machines share, a wide interval; --anchor narrows it" },
        { "kernels", "the machine's own kernels, as `roofcast profile` measured them; --anchor changes nothing there" },
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcmp(predict_text(row, "basis"), known[i].basis) == 0)
            report_text(SOURCE_AT, "%-14s  %-6s  %-12s  %s\n", "", "stack", predict_text(row, "stack"), known[i].text);
}

static bool same_text(const json_t *a, const json_t *b, const char *key)
{
    return strcmp(predict_text(a, key), predict_text(b, key)) == 0;
}

/* The first row with this row's machine; with NULL, and its operands; and, of a stack, whose constants differ by phase, its phase. */
static bool is_first(const json_t *rows, size_t i, bool of_machine)
{
    const json_t *r = json_array_get(rows, i);
    for (size_t k = 0; k < i; k++) {
        const json_t *p = json_array_get(rows, k);
        if (!*predict_text(p, "reason") && same_text(p, r, "hw") &&
            (of_machine || (same_text(p, r, "math") && (!*predict_text(r, "stack") || same_text(p, r, "phase")))))
            return false;
    }
    return true;
}

/* Each note once. */
static void print_notes(const json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *r = json_array_get(rows, i);
        bool said = false;
        for (size_t k = 0; k < i; k++)
            said |= same_text(json_array_get(rows, k), r, "note");
        if (!said && *predict_text(r, "note"))
            report_text(0, "%s on %s, and its like: %s.\n", predict_text(r, "test"), predict_text(r, "hw"), predict_text(r, "note"));
    }
}

/* Does a changed row have memory of its own, which no row before has? */
static bool has_other_memory(const json_t *rows, size_t i)
{
    const json_t *r = json_array_get(rows, i);
    bool other = *predict_text(r, "what_if") && !*predict_text(r, "reason");
    for (size_t k = 0; k < i && other; k++) {
        const json_t *p = json_array_get(rows, k);
        other = !same_text(p, r, "hw") || (*predict_text(r, "stack") && !same_text(p, r, "phase")) || !same_text(p, r, "bandwidth_source");
    }
    return other;
}

/* Which roofs stood behind the rows: two lines a machine, operand type and phase. */
static void print_roofs(const json_t *rows, bool roof, bool changes)
{
    bool requests = false;
    printf("\n");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *r = json_array_get(rows, i);
        const bool again = !is_first(rows, i, true), fitted = *predict_text(r, "stack");
        const bool request = strcmp(predict_text(r, "phase"), "request") == 0; /* has the roofs of its parts */
        requests |= request;
        const bool first = !*predict_text(r, "reason") && is_first(rows, i, false) && !(request && again && fitted);
        if (first || has_other_memory(rows, i))
            print_roof(again ? "" : predict_text(r, "hw"), "memory", predict_number(r, "bandwidth_bytes_s"), "B/s", fitted ? predict_text(r, "phase") : "",
                       predict_text(r, "bandwidth_source"));
        if (!first)
            continue;
        print_roof("", predict_text(r, "math"), predict_number(r, "peak_flop_s"), "FLOP/s", fitted ? predict_text(r, "phase") : "",
                   predict_text(r, "peak_source"));
        if (!again)
            print_stack(r);
        if (again || !json_object_get(r, "power_w"))
            continue;
        print_use("power", predict_number(r, "power_w"), "W", predict_text(r, "power_source"), "--power");
        print_use("price", predict_number(r, "price_usd_h"), "USD/h", predict_text(r, "price_source"), "--price");
    }
    report_text(0, "\npp: seconds to the first token (TTFT); tg: seconds between tokens (ITL). memory, compute: what either side\n"
                "alone would take; busy: compute over the phase's seconds.\n");
    if (requests)
        report_text(0, "req: seconds of a whole request, TTFT and then every token after the first; tokens/s are those generated over it.\n");
    if (changes)
        report_text(0, "what if: the row above with these changes; ratio: its tokens/s over those of the row without%s.\n",
                    any(rows, "speedup_lo") ? ", and the ends of its 90 %\ninterval: what both rows err by alike is not in it (66)" : "");
    if (has_text(rows, "guess"))
        report_text(0, "*: no profile of it; taken for one of its class by its name (--hw FILE with a bandwidth and a peak says more).\n");
    print_notes(rows);
    if (any(rows, "tok_s_lo"))
        report_text(0, "low, high: the ends of the 90 %% interval; --explain has each constant's part of it.\n");
    report_text(0, "%s", roof                         ? "An upper bound on tokens/s: no constants of software, activations stay on the chip.\n"
                : has_text(rows, "stack") ? "Roofs are what the stack reaches of them; --roof prices the bound itself.\n"
                                               : "Roofs are after the profile's efficiency factors; --roof prices the bound itself.\n");
}

static bool is_of_devices(const char *key)
{
    return strcmp(key, "layout") == 0 || strcmp(key, "link_s") == 0 || strcmp(key, "link_bytes") == 0;
}

/* Shown where a row has them. */
static const char *const where_known[] = { "tok_s_lo", "tok_s_hi", "speedup_lo", "speedup_hi", "slo_chance",
                                           "usd_per_mtok", "usd_per_request", "j_per_request" };

/* Questions that were asked, and can be answered. */
static bool is_asked(const char *key, const json_t *rows, const struct predict_ask *a)
{
    if (strcmp(key, "ttft_s") == 0 || strcmp(key, "itl_s") == 0)
        return a->n_request > 0;
    if (strcmp(key, "what_if") == 0 || strcmp(key, "speedup") == 0)
        return a->n_change > 0;
    if (strcmp(key, "slo_met") == 0 || strcmp(key, "reason") == 0)
        return has_text(rows, key);
    for (size_t i = 0; i < ARRAY_LEN(where_known); i++)
        if (strcmp(key, where_known[i]) == 0)
            return any(rows, key);
    return false;
}

/* One device exchanges nothing: the columns about devices would say so in every row. */
static void table_columns(struct column *out, const struct column *in, size_t n, const json_t *rows,
                          const struct predict_cli *o)
{
    bool alone = layout_devices(&o->price.layout) == 1;
    for (size_t i = 0; i < json_array_size(rows); i++)
        alone &= predict_number(json_array_get(rows, i), "n_devices") == 1;
    for (size_t i = 0; i < n; i++) {
        out[i] = in[i];
        if (in[i].header && is_asked(in[i].key, rows, &o->ask))
            out[i].rank = strcmp(in[i].key, "what_if") == 0 || strcmp(in[i].key, "speedup") == 0 || strcmp(in[i].key, "reason") == 0 ? COL_KEY : COL_MAJOR;
        else if (alone && is_of_devices(in[i].key))
            out[i].rank = COL_DATA;
        if (predict_draft_hides(in[i].key, o))
            out[i].rank = COL_DATA;
    }
}

int predict_print(const json_t *rows, const struct predict_cli *o, const struct model *m, struct error *err)
{
    const bool readable = o->format == REPORT_TABLE || o->format == REPORT_MD;
    struct column columns[ARRAY_LEN(phase_columns) + ARRAY_LEN(role_columns)];
    const size_t n = o->by_role ? ARRAY_LEN(role_columns) : ARRAY_LEN(phase_columns);
    table_columns(columns, o->by_role ? role_columns : phase_columns, n, rows, o);
    json_t *meta = json_pack("{s:s, s:s, s:b}", "model", m->name, "type", m->type_name, "roof", o->roof);
    const struct report_doc d = { "roofcast.predict", 1, meta, rows, columns, n };
    int rc = meta && predict_put_nominal(meta, o) == 0 ? 0 : error_oom(err, 0, "the prediction");
    if (rc == 0 && o->save)
        rc = report_write(o->save, REPORT_JSON, &d, err);
    if (rc == 0 && o->format == REPORT_TABLE)
        report_text(0, "%s, %s\n\n", m->name, m->type_name);
    fflush(stdout);
    if (rc == 0)
        rc = report_write(NULL, o->format, &d, err);
    if (rc == 0 && readable) {
        print_roofs(rows, o->roof, o->ask.n_change > 0);
        predict_draft_note(o);
    }
    if (rc == 0 && readable && o->ask.explain)
        predict_print_explain(rows);
    json_decref(meta);
    return rc;
}
