/* What `roofcast bench` prints: a row a test, the table of batches, ops and roles, and notes on what was measured. */
#include "bench/bench.h"
#include <math.h>
#include <string.h>

static const struct column row_columns[] = {
    { "model", "model", COL_TEXT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "type", "type", COL_TEXT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "n_threads", "threads", COL_INT, "", COL_MEDIUM, COLUMN_BY_KEY },
    { "n_batch", "n_batch", COL_INT, "", COL_DATA, COLUMN_BY_KEY },
    { "n_ubatch", "n_ubatch", COL_INT, "", COL_DATA, COLUMN_BY_KEY },
    { "phase", "phase", COL_TEXT, "", COL_DATA, COLUMN_BY_KEY },
    { "n_prompt", "n_prompt", COL_INT, "", COL_DATA, COLUMN_BY_KEY },
    { "n_gen", "n_gen", COL_INT, "", COL_DATA, COLUMN_BY_KEY },
    { "n_depth", "n_depth", COL_INT, "", COL_DATA, COLUMN_BY_KEY },
    { "n_reps", "n_reps", COL_INT, "", COL_DATA, COLUMN_BY_KEY },
    { "test", "test", COL_TEXT, "", COL_KEY, COLUMN_BY_KEY },
    { "tok_s_mean", "t/s", COL_FLOAT, "", COL_KEY, COLUMN_BY_KEY },
    { "tok_s_sd", "+-", COL_FLOAT, "", COL_MEDIUM, COLUMN_BY_KEY },
    { "ttft_s", "TTFT", COL_SECONDS, "", COL_MEDIUM, COLUMN_BY_KEY },
    { "itl_p50_s", "ITL p50", COL_SECONDS, "", COL_MEDIUM, COLUMN_BY_KEY },
    { "itl_p99_s", "ITL p99", COL_SECONDS, "", COL_MINOR, COLUMN_BY_KEY },
    { "bytes_s", "weights+KV", COL_SI, "B/s", COL_MAJOR, COLUMN_BY_KEY },
    { "ceiling_bytes_s", "ceiling", COL_SI, "B/s", COL_MINOR, COLUMN_BY_KEY },
    { "mbu", "MBU", COL_FRACTION, "", COL_KEY, COLUMN_BY_KEY },
    { "flop_s", "FLOP/s", COL_SI, "FLOP/s", COL_MEDIUM, COLUMN_BY_KEY },
    { "ceiling_flop_s", "ceiling", COL_SI, "FLOP/s", COL_MINOR, COLUMN_BY_KEY },
    { "mfu", "MFU", COL_FRACTION, "", COL_MAJOR, COLUMN_BY_KEY },
    { "bound", "bound", COL_TEXT, "", COL_KEY, COLUMN_BY_KEY },
    { "dram_bytes_s", "DRAM", COL_SI, "B/s", COL_DATA, COLUMN_BY_KEY },
    { "mbu_dram", "MBU DRAM", COL_FRACTION, "", COL_DATA, COLUMN_BY_KEY },
    { "dram_source", "DRAM source", COL_TEXT, "", COL_DATA, COLUMN_BY_KEY },
    { "dram_reason", "DRAM reason", COL_TEXT, "", COL_DATA, COLUMN_BY_KEY },
    { "roof_moved", "roof moved", COL_FRACTION, "", COL_DATA, COLUMN_BY_KEY },
    { "profile_bytes_s", "profile", COL_SI, "B/s", COL_DATA, COLUMN_BY_KEY },
    { "mbu_profile", "MBU profile", COL_FRACTION, "", COL_DATA, COLUMN_BY_KEY },
    { "profile_flop_s", "profile", COL_SI, "FLOP/s", COL_DATA, COLUMN_BY_KEY },
    { "mfu_profile", "MFU profile", COL_FRACTION, "", COL_DATA, COLUMN_BY_KEY },
    { "profile_reason", "profile reason", COL_TEXT, "", COL_DATA, COLUMN_BY_KEY },
    { "steal", "steal", COL_FRACTION, "", COL_DATA, COLUMN_BY_KEY },
    { "n_switch", "switches", COL_FLOAT, "", COL_DATA, COLUMN_BY_KEY },
    { "cpu_share", "CPU share", COL_FRACTION, "", COL_DATA, COLUMN_BY_KEY },
    { "clock_hz", "clock", COL_SI, "Hz", COL_DATA, COLUMN_BY_KEY },
    { "cache_bytes", "last cache", COL_SI, "B", COL_DATA, COLUMN_BY_KEY },
    { "energy_j", "energy", COL_SI, "J", COL_DATA, COLUMN_BY_KEY },
    { "j_tok", "J/token", COL_SI, "J", COL_DATA, COLUMN_BY_KEY },
    { "energy_source", "energy from", COL_TEXT, "", COL_DATA, COLUMN_BY_KEY },
    { "energy_reason", "energy reason", COL_TEXT, "", COL_DATA, COLUMN_BY_KEY },
    { "counters", "counters", COL_TEXT, "", COL_DATA, COLUMN_BY_KEY },
    { "weight_bytes", "weights", COL_SI, "B", COL_DATA, COLUMN_BY_KEY },
    { "act_bytes", "activations", COL_SI, "B", COL_DATA, COLUMN_BY_KEY },
    { "kv_bytes", "KV", COL_SI, "B", COL_DATA, COLUMN_BY_KEY },
    { "flop", "FLOP", COL_SI, "", COL_DATA, COLUMN_BY_KEY },
    { "seconds", "seconds", COL_SECONDS, "", COL_DATA, COLUMN_BY_KEY },
    { "act_scales", "act. scales", COL_TEXT, "", COL_DATA, COLUMN_BY_KEY }, /* print_rows() */
    { "type_k", "type_k", COL_TEXT, "", COL_DATA, COLUMN_BY_KEY },
    { "type_v", "type_v", COL_TEXT, "", COL_DATA, COLUMN_BY_KEY },
    { "experts_touched", "experts", COL_FLOAT, "", COL_DATA, COLUMN_BY_KEY },
    { "ceiling_source", "ceiling from", COL_TEXT, "", COL_DATA, COLUMN_BY_KEY },
};

static const struct column op_columns[] = {
    { "test", "test", COL_TEXT, "", COL_KEY, COLUMN_BY_KEY },
    { "phase", "phase", COL_TEXT, "", COL_DATA, COLUMN_BY_KEY },
    { "layer", "layer", COL_INT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "role", "role", COL_TEXT, "", COL_KEY, COLUMN_BY_KEY },
    { "op", "op", COL_TEXT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "type", "type", COL_TEXT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "rows", "rows", COL_INT, "", COL_MEDIUM, COLUMN_BY_KEY },
    { "cols", "cols", COL_INT, "", COL_MEDIUM, COLUMN_BY_KEY },
    { "n_tok", "n_tok", COL_INT, "", COL_DATA, COLUMN_BY_KEY },
    { "weight_bytes", "weights", COL_SI, "B", COL_MEDIUM, COLUMN_BY_KEY },
    { "act_bytes", "activations", COL_SI, "B", COL_MINOR, COLUMN_BY_KEY },
    { "kv_bytes", "KV", COL_SI, "B", COL_MINOR, COLUMN_BY_KEY },
    { "flop", "FLOP", COL_SI, "", COL_MINOR, COLUMN_BY_KEY },
    { "ai", "FLOP/B", COL_FLOAT, "", COL_MINOR, COLUMN_BY_KEY },
    { "share", "share", COL_FRACTION, "", COL_KEY, COLUMN_BY_KEY },
    { "seconds", "time", COL_SECONDS, "", COL_KEY, COLUMN_BY_KEY },
    { "bytes_s", "bytes/s", COL_SI, "B/s", COL_MAJOR, COLUMN_BY_KEY },
    { "flop_s", "FLOP/s", COL_SI, "FLOP/s", COL_MEDIUM, COLUMN_BY_KEY },
    { "roof_fraction", "of roof", COL_FRACTION, "", COL_KEY, COLUMN_BY_KEY },
    { "bound", "bound", COL_TEXT, "", COL_KEY, COLUMN_BY_KEY },
};

/* The same of a role: the layers and shapes that it sums are not in the table. */
static void role_columns(struct column *out)
{
    static const char *const summed[] = { "layer", "op", "rows", "cols" };
    memcpy(out, op_columns, sizeof op_columns);
    for (size_t i = 0; i < ARRAY_LEN(op_columns); i++)
        for (size_t k = 0; k < ARRAY_LEN(summed); k++)
            if (strcmp(out[i].key, summed[k]) == 0)
                out[i].rank = COL_DATA;
}

static json_t *ops_json(const struct run *r)
{
    json_t *a = json_array();
    for (size_t i = 0; a && i < r->n_op; i++)
        if (json_array_append_new(a, run_op_json(&r->op[i])) != 0) {
            json_decref(a);
            return NULL;
        }
    return a;
}

static int print_table(enum report_format f, const json_t *rows, const struct column *cols, size_t n,
                       const char *schema, const json_t *meta, struct error *err)
{
    const struct table d = { schema, 1, meta, rows, cols, n, NULL, NULL };
    return report_print(stdout, f, &d, report_width(stdout), err);
}

/* The tests; scales of activations are in tables where they are not exact. */
static int print_rows(FILE *out, enum report_format f, const json_t *rows, const json_t *meta, struct error *err)
{
    struct column cols[ARRAY_LEN(row_columns)];
    const struct table d = { "roofcast.bench", 1, meta, rows, cols, ARRAY_LEN(cols), NULL, NULL };
    size_t i;
    json_t *row;
    memcpy(cols, row_columns, sizeof cols);
    json_array_foreach(rows, i, row) {
        const char *scales = json_string_value(json_object_get(row, "act_scales"));
        for (size_t k = 0; scales && strcmp(scales, "pow2") == 0 && k < ARRAY_LEN(cols); k++)
            if (strcmp(cols[k].key, "act_scales") == 0)
                cols[k].rank = COL_MAJOR;
    }
    return report_print(out, f, &d, report_width(out), err);
}

static void print_energy(const struct run_row *r)
{
    char a[32], b[32], c[32];
    if (isnan(r->energy_j))
        printf("Energy of %s: unavailable: %s\n", r->test, r->energy_reason);
    else
        printf("Energy of %s: %s a token, %s (%s a repetition), by %s\n", r->test, units_si(a, sizeof a, r->j_tok, "J"),
               units_si(b, sizeof b, r->energy_j / r->seconds, "W"), units_si(c, sizeof c, r->energy_j, "J"),
               r->energy_source);
}

/* What a reader of the tables must know: what was not measured, and why a figure can exceed its roof. */
static void print_notes(const struct bench_results *res, const struct bench_print *o)
{
    printf("\n");
    if (o->by_layer)
        printf("Layer -1: outside the layers.\n");
    bench_print_findings(&res->run);
    for (size_t i = 0; i < res->run.n_loading; i++) {
        const struct run_loading *l = &res->run.loading[i];
        char text[320], probes[64] = "", bytes[32];
        if (l->probe_bytes > 0)
            snprintf(probes, sizeof probes, ", and %s of the bandwidth probes", units_si(bytes, sizeof bytes, l->probe_bytes, "B"));
        printf("Load of %s %s, %d thread%s: %s%s\n", l->model, l->type, l->n_threads, l->n_threads == 1 ? "" : "s",
               setup_loading_text(text, sizeof text, l), probes);
    }
    bench_print_conditions(&res->run);
    if (res->run.n_row && isnan(res->run.row[0].dram_bytes_s))
        printf("DRAM traffic by hardware counters: unavailable: %s\n", res->run.row[0].dram_reason);
    bench_print_counts(&res->run);
    bool none = true; /* the same reason for all: said once */
    for (size_t i = 0; i < res->run.n_row; i++)
        none &= isnan(res->run.row[i].energy_j) && strcmp(res->run.row[i].energy_reason, res->run.row[0].energy_reason) == 0;
    if (none && res->run.n_row)
        printf("Energy: unavailable: %s\n", res->run.row[0].energy_reason);
    for (size_t i = 0; !none && i < res->run.n_row; i++)
        print_energy(&res->run.row[i]);
}

/* Roles of less than a hundredth of their test's time, as one row: their sums, and their part of the roof weighted by time. */
struct others {
    const char *test;
    int n;
    double share, seconds, roof;
};

static int put_others(json_t *rows, struct others *x)
{
    char role[32];
    snprintf(role, sizeof role, "%d others", x->n);
    const int rc = x->n == 0 ? 0
                             : json_array_append_new(rows, json_pack("{s:s s:s s:f s:f s:o}", "test", x->test, "role", role, "share", x->share,
                                                                     "seconds", x->seconds, "roof_fraction", json_num(x->roof / x->share)));
    *x = (struct others){ 0 };
    return rc;
}

/* What a screen has room for. */
static json_t *main_roles(const struct run *r, struct error *err)
{
    const double least = 0.01;
    json_t *rows = json_array();
    struct others x = { 0 };
    int rc = rows ? 0 : -1;
    for (size_t i = 0; i < r->n_op && rc == 0; i++) {
        const struct run_op *op = &r->op[i];
        if (x.n && strcmp(x.test, op->test) != 0)
            rc = put_others(rows, &x);
        if (op->share >= least)
            rc |= json_array_append_new(rows, run_op_json(op));
        else if (rc == 0)
            x = (struct others){ op->test, x.n + 1, x.share + op->share, x.seconds + op->seconds,
                                 x.roof + (isnan(op->roof_fraction) ? 0 : op->share * fmin(op->roof_fraction, 1)) };
    }
    if (rc == 0 && put_others(rows, &x) == 0)
        return rows;
    json_decref(rows);
    error_oom(err, r->n_op * sizeof *r->op, "the table of roles");
    return NULL;
}

/* For people the roles come last, with what they lose: the end of the output is what a screen shows. */
static int print_roles(const struct bench_results *res, const struct bench_print *o, struct error *err)
{
    struct column columns[ARRAY_LEN(op_columns)];
    json_t *rows = main_roles(&res->roles, err);
    role_columns(columns);
    int rc = rows ? 0 : -1;
    printf("\n");
    if (rc == 0)
        rc = print_table(o->format, rows, columns, ARRAY_LEN(columns), "roofcast.bench.roles", NULL, err);
    printf("\n");
    if (rc == 0)
        rc = bench_print_lost(&res->roles, err);
    json_decref(rows);
    return rc;
}

int bench_print(struct bench_results *res, const struct bench_print *o, struct error *err)
{
    json_t *doc = run_to_json(&res->run, err), *ops = ops_json(&res->run), *roles = ops_json(&res->roles);
    int rc = -1;
    if (!doc || !ops || !roles)
        goto out;
    json_t *rows = json_object_get(doc, "rows");
    json_t *meta = json_pack("{s:O s:O s:O s:O s:O s:O s:O s:O s:O s:O s:O s:O*}", "provenance", json_object_get(doc, "provenance"), "ops", ops,
                             "roles", roles, "batches", res->batches, "ceilings", json_object_get(doc, "ceilings"), "loads",
                             json_object_get(doc, "loads"), "counts", json_object_get(doc, "counts"), "counting",
                             json_object_get(doc, "counting"), "certificate", json_object_get(doc, "certificate"),
                             "repetitions", json_object_get(doc, "repetitions"), "findings", res->run.findings,
                             "incomplete", json_object_get(doc, "incomplete"));
    if (!meta) {
        error_oom(err, 0, "the report");
        goto out;
    }
    rc = print_rows(stdout, o->format, rows, meta, err);
    if (rc == 0 && o->also_error)
        rc = print_rows(stderr, o->error_format, rows, meta, err);
    json_decref(meta);
    if (rc == 0 && json_array_size(res->batches) && o->format != REPORT_JSON) {
        printf("\n");
        rc = print_table(o->format, res->batches, bench_batch_columns, bench_n_batch_column, "roofcast.bench.batches", NULL, err);
    }
    const bool people = o->format == REPORT_TABLE || o->format == REPORT_MD;
    if (rc == 0 && o->ops && o->format != REPORT_JSON && (!people || o->by_layer)) {
        printf("\n");
        rc = print_table(o->format, ops, op_columns, ARRAY_LEN(op_columns), "roofcast.bench.ops", NULL, err);
    }
    if (rc == 0 && o->ops && o->format != REPORT_JSON && !people) {
        printf("\n");
        rc = print_table(o->format, roles, op_columns, ARRAY_LEN(op_columns), "roofcast.bench.roles", NULL, err);
    }
    if (rc == 0 && o->format == REPORT_TABLE)
        print_notes(res, o);
    if (rc == 0 && o->ops && people)
        rc = print_roles(res, o, err);
out:
    json_decref(doc);
    json_decref(ops);
    json_decref(roles);
    return rc;
}
