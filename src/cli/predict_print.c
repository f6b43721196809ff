/* roofcast predict: rows as a table, and the roofs that stood behind them. */
#include "cli/predict.h"
#include "roofline/step.h"
#include <math.h>
#include <string.h>

static const struct column phase_columns[] = {
    { "model", "model", COL_TEXT, NULL, true },
    { "hw", "hw", COL_TEXT, NULL, false },
    { "type", "type", COL_TEXT, NULL, false },
    { "layout", "devices", COL_TEXT, NULL, false },
    { "n_devices", NULL, COL_INT, NULL, true },
    { "phase", "phase", COL_TEXT, NULL, true },
    { "test", "test", COL_TEXT, NULL, false },
    { "n_prompt", NULL, COL_INT, NULL, true },
    { "n_gen", NULL, COL_INT, NULL, true },
    { "n_depth", NULL, COL_INT, NULL, true },
    { "n_batch", NULL, COL_INT, NULL, true },
    { "n_ubatch", NULL, COL_INT, NULL, true },
    { "tok_s", "tokens/s", COL_FLOAT, NULL, false },
    { "seconds", "TTFT / ITL", COL_SECONDS, NULL, false },
    { "tokens_a_round", "tokens/round", COL_FLOAT, NULL, false },
    { "gain", "gain", COL_FLOAT, NULL, false },
    { "bound", "bound", COL_TEXT, NULL, false },
    { "memory_s", "memory", COL_SECONDS, NULL, false },
    { "compute_s", "compute", COL_SECONDS, NULL, false },
    { "link_s", "links", COL_SECONDS, NULL, false },
    { "compute_share", "busy", COL_FRACTION, NULL, false },
    { "memory_share", NULL, COL_FRACTION, NULL, true },
    { "weight_bytes", "weights", COL_SI, "B", false },
    { "act_bytes", NULL, COL_SI, "B", true },
    { "kv_bytes", "KV", COL_SI, "B", false },
    { "flop", "FLOP", COL_SI, "", false },
    { "ai", NULL, COL_FLOAT, NULL, true },
    { "link_bytes", NULL, COL_SI, "B", true },
    { "ttft_s", "TTFT", COL_SECONDS, NULL, true },
    { "itl_s", "ITL", COL_SECONDS, NULL, true },
    { "need_bytes", "needs", COL_SI, "B", false },
    { "memory_bytes", NULL, COL_SI, "B", true },
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
};

static const struct column role_columns[] = {
    { "model", "model", COL_TEXT, NULL, true },
    { "hw", "hw", COL_TEXT, NULL, false },
    { "type", "type", COL_TEXT, NULL, true },
    { "layout", "devices", COL_TEXT, NULL, false },
    { "n_devices", NULL, COL_INT, NULL, true },
    { "phase", "phase", COL_TEXT, NULL, true },
    { "test", "test", COL_TEXT, NULL, false },
    { "n_prompt", NULL, COL_INT, NULL, true },
    { "n_gen", NULL, COL_INT, NULL, true },
    { "n_depth", NULL, COL_INT, NULL, true },
    { "n_batch", NULL, COL_INT, NULL, true },
    { "role", "role", COL_TEXT, NULL, false },
    { "seconds", "seconds", COL_SECONDS, NULL, false },
    { "share", "of time", COL_FRACTION, NULL, false },
    { "bound", "bound", COL_TEXT, NULL, false },
    { "weight_bytes", "weights", COL_SI, "B", false },
    { "act_bytes", "act", COL_SI, "B", false },
    { "kv_bytes", "KV", COL_SI, "B", false },
    { "link_bytes", "sent", COL_SI, "B", false },
    { "flop", "FLOP", COL_SI, "", false },
    { "ai", "FLOP/B", COL_FLOAT, NULL, false },
    { "flop_s", "FLOP/s", COL_SI, "", false },
    { "n_ubatch", NULL, COL_INT, NULL, true },
    { "tok_s", NULL, COL_FLOAT, NULL, true },
    { "ttft_s", NULL, COL_SECONDS, NULL, true },
    { "itl_s", NULL, COL_SECONDS, NULL, true },
    { "need_bytes", NULL, COL_SI, "B", true },
    { "memory_bytes", NULL, COL_SI, "B", true },
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
};

static const char *text(const json_t *row, const char *key)
{
    const char *s = json_string_value(json_object_get(row, key));
    return s ? s : "?";
}

static double number(const json_t *row, const char *key)
{
    const json_t *v = json_object_get(row, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static void print_roof(const char *hw, const char *what, double v, const char *unit, const char *source)
{
    char b[40];
    printf("%-14s  %-6s  %-12s  %s\n", hw, what, units_si(b, sizeof b, v, unit), source);
}

/* Which roofs stood behind the rows: two lines a machine and operand type. */
static void print_roofs(const json_t *rows, bool roof)
{
    const json_t *last = NULL;
    printf("\n");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *r = json_array_get(rows, i);
        if (last && strcmp(text(r, "hw"), text(last, "hw")) == 0 && strcmp(text(r, "math"), text(last, "math")) == 0)
            continue;
        last = r;
        print_roof(text(r, "hw"), "memory", number(r, "bandwidth_bytes_s"), "B/s", text(r, "bandwidth_source"));
        print_roof("", text(r, "math"), number(r, "peak_flop_s"), "FLOP/s", text(r, "peak_source"));
    }
    printf("\npp: seconds to the first token (TTFT); tg: seconds between tokens (ITL). memory, compute: what either side\n"
           "alone would take; busy: compute over the phase's seconds.\n");
    printf(roof ? "An upper bound on tokens/s: no efficiency factors, activations stay on the chip.\n"
                : "Roofs are after the profile's efficiency factors; --roof prices the bound itself.\n");
}

static bool is_of_devices(const char *key)
{
    return strcmp(key, "layout") == 0 || strcmp(key, "link_s") == 0 || strcmp(key, "link_bytes") == 0;
}

/* One device exchanges nothing: the columns about devices would say so in every row. */
static void table_columns(struct column *out, const struct column *in, size_t n, const struct predict_cli *o)
{
    const struct layout *l = &o->price.layout;
    for (size_t i = 0; i < n; i++) {
        out[i] = in[i];
        out[i].csv_only |= layout_devices(l) == 1 && is_of_devices(in[i].key);
        out[i].csv_only |= predict_draft_hides(in[i].key, o);
    }
}

int predict_print(const json_t *rows, const struct predict_cli *o, const struct model *m, struct error *err)
{
    const bool readable = o->format == REPORT_TABLE || o->format == REPORT_MD;
    struct column columns[ARRAY_LEN(phase_columns) + ARRAY_LEN(role_columns)];
    const size_t n = o->by_role ? ARRAY_LEN(role_columns) : ARRAY_LEN(phase_columns);
    table_columns(columns, o->by_role ? role_columns : phase_columns, n, o);
    json_t *meta = json_pack("{s:s, s:s, s:b}", "model", m->name, "type", m->type_name, "roof", o->roof);
    const struct report_doc d = { "roofcast.predict", 1, meta, rows, columns, n };
    int rc = meta && predict_put_nominal(meta, o) == 0 ? 0 : error_oom(err, 0, "the prediction");
    if (rc == 0 && o->save)
        rc = cli_report(o->save, REPORT_JSON, &d, err);
    if (rc == 0 && o->format == REPORT_TABLE)
        printf("%s, %s\n\n", m->name, m->type_name);
    fflush(stdout);
    if (rc == 0)
        rc = cli_report(NULL, o->format, &d, err);
    if (rc == 0 && readable) {
        print_roofs(rows, o->roof);
        predict_draft_note(o);
    }
    json_decref(meta);
    return rc;
}
