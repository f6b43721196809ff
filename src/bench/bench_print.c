/* Output of `roofcast bench`: one row per test, the table of batches, ops and roles, notes. */
#include "bench/bench.h"
#include <math.h>
#include <string.h>

static const char row_order[] =
    "model type n_threads n_batch n_ubatch phase n_prompt n_gen n_depth n_reps test tok_s_mean tok_s_sd ttft_s itl_p50_s itl_p99_s bytes_s "
    "ceiling_bytes_s mbu flop_s ceiling_flop_s mfu bound dram_bytes_s mbu_dram dram_source dram_reason roof_moved profile_bytes_s mbu_profile "
    "profile_flop_s mfu_profile profile_reason steal n_switch cpu_share clock_hz cache_bytes energy_j j_tok energy_source energy_reason counters "
    "weight_bytes act_bytes kv_bytes flop seconds act_scales type_k type_v kv_block kv_ratio kv_ratio_low kv_ratio_high experts_touched ceiling_source";

static struct table_rows op_rows(const struct run *r)
{
    return (struct table_rows){ .size = sizeof *r->op, .n = r->n_op, .v = r->op };
}

static int print_table(enum report_format f, const struct table *t, struct error *err)
{
    printf("\n");
    return report_print(stdout, f, t, report_width(stdout), err);
}

static struct table op_table(const char *schema, const struct table_rows *rows)
{
    return (struct table){ schema, 1, NULL, run_op_fields.cols, run_op_fields.n, rows, NULL };
}

/* Rows of tests; tables show activation scales only if not exact, and what is of paged caches only if there are some. */
static int print_rows(FILE *out, enum report_format f, const struct run *r, const json_t *meta, struct error *err)
{
    const struct table_rows rows = { .size = sizeof *r->row, .n = r->n_row, .v = r->row };
    struct column cols[RUN_ROW_COLUMNS];
    memcpy(cols, run_row_fields.cols, sizeof cols);
    for (size_t i = 0; i < r->n_row; i++)
        if (strcmp(r->row[i].act_scales, "pow2") == 0)
            columns_rank(cols, ARRAY_LEN(cols), "act_scales", COL_MAJOR);
    for (size_t i = 0; i < r->n_row; i++)
        if (r->row[i].kv_block > 0)
            columns_rank(cols, ARRAY_LEN(cols), r->row[i].kv_ratio > 0 ? "kv_block kv_ratio" : "kv_block", COL_MAJOR);
    return report_print(out, f, &(struct table){ "roofcast.bench", 1, meta, cols, ARRAY_LEN(cols), &rows, row_order }, report_width(out), err);
}

static void print_energy(const struct run_row *r)
{
    char a[32], b[32], c[32];
    if (isnan(r->energy_j))
        printf("Energy of %s: unavailable: %s\n", r->test, r->energy_reason);
    else
        printf("Energy of %s: %s per token, %s (%s per repetition), by %s\n", r->test, units_si(a, sizeof a, r->j_tok, "J"),
               units_si(b, sizeof b, r->energy_j / r->seconds, "W"), units_si(c, sizeof c, r->energy_j, "J"),
               r->energy_source);
}

/* Notes under the tables: what was not measured, and why a figure exceeds its roof. */
static void print_notes(const struct bench_results *res, const struct bench_print *o)
{
    printf("\n");
    if (o->by_layer)
        printf("Layer -1: ops outside the layers.\n");
    bench_print_findings(&res->run);
    for (size_t i = 0; i < res->run.n_loading; i++) {
        const struct run_loading *l = &res->run.loading[i];
        char text[320], probes[64] = "", bytes[32];
        if (l->probe_bytes > 0)
            snprintf(probes, sizeof probes, ", plus %s for the bandwidth probes", units_si(bytes, sizeof bytes, l->probe_bytes, "B"));
        printf("Load of %s %s, %d thread%s: %s%s\n", l->model, l->type, l->n_threads, l->n_threads == 1 ? "" : "s",
               setup_loading_text(text, sizeof text, l), probes);
    }
    bench_print_conditions(&res->run);
    if (res->run.n_row && isnan(res->run.row[0].dram_bytes_s))
        printf("DRAM traffic by hardware counters: unavailable: %s\n", res->run.row[0].dram_reason);
    bench_print_counts(&res->run);
    bool none = true; /* same reason for all: printed once */
    for (size_t i = 0; i < res->run.n_row; i++)
        none &= isnan(res->run.row[i].energy_j) && strcmp(res->run.row[i].energy_reason, res->run.row[0].energy_reason) == 0;
    if (none && res->run.n_row)
        printf("Energy: unavailable: %s\n", res->run.row[0].energy_reason);
    for (size_t i = 0; !none && i < res->run.n_row; i++)
        print_energy(&res->run.row[i]);
}

/* Sum of the roles below 1 % of their test's time; fraction of roof weighted by time. */
struct others {
    const char *test;
    int n;
    double share, seconds, roof;
};

static void put_others(struct table_rows *rows, struct others *x)
{
    if (x->n > 0) {
        struct run_op *w = table_add(rows);
        *w = (struct run_op){ .type = "-", .weight_bytes = NAN, .act_bytes = NAN, .kv_bytes = NAN, .flop = NAN, .ai = NAN, .share = x->share,
                              .seconds = x->seconds, .bytes_s = NAN, .flop_s = NAN, .roof_fraction = x->roof / x->share };
        snprintf(w->test, sizeof w->test, "%s", x->test);
        snprintf(w->role, sizeof w->role, "%d others", x->n);
    }
    *x = (struct others){ 0 };
}

/* The roles shown in a table. */
static struct table_rows main_roles(const struct run *r)
{
    const double least = 0.01;
    struct table_rows rows = { .size = sizeof *r->op };
    struct others x = { 0 };
    for (size_t i = 0; i < r->n_op; i++) {
        const struct run_op *op = &r->op[i];
        if (x.n && strcmp(x.test, op->test) != 0)
            put_others(&rows, &x);
        if (op->share >= least)
            memcpy(table_add(&rows), op, sizeof *op);
        else
            x = (struct others){ op->test, x.n + 1, x.share + op->share, x.seconds + op->seconds,
                                 x.roof + (isnan(op->roof_fraction) ? 0 : op->share * fmin(op->roof_fraction, 1)) };
    }
    put_others(&rows, &x);
    return rows;
}

/* In tables roles are last, with their losses, at the end of the output. */
static int print_roles(const struct bench_results *res, const struct bench_print *o, struct error *err)
{
    struct column cols[RUN_OP_COLUMNS];
    struct table_rows rows = main_roles(&res->roles);
    memcpy(cols, run_op_fields.cols, sizeof cols);
    columns_rank(cols, ARRAY_LEN(cols), "layer op rows cols", COL_DATA); /* constant or summed in a role */
    int rc = print_table(o->format, &(struct table){ "roofcast.bench.roles", 1, NULL, cols, ARRAY_LEN(cols), &rows, NULL }, err);
    printf("\n");
    if (rc == 0)
        rc = bench_print_lost(&res->roles, err);
    table_rows_free(&rows);
    return rc;
}

int bench_print(struct bench_results *res, const struct bench_print *o, struct error *err)
{
    json_t *doc = run_to_json(&res->run, err);
    const struct table_rows op = op_rows(&res->run), role = op_rows(&res->roles);
    const struct table batches = { "roofcast.bench.batches", 1, NULL, bench_batch_fields.cols, bench_batch_fields.n, &res->batches, NULL };
    const struct table ops = op_table("roofcast.bench.ops", &op), roles = op_table("roofcast.bench.roles", &role);
    if (!doc)
        return -1;
    json_t *meta = json_pack("{s:O s:o s:o s:o s:O s:O s:O s:O s:O s:O s:O s:O*}", "provenance", json_object_get(doc, "provenance"), "ops", table_rows_json(&ops),
                             "roles", table_rows_json(&roles), "batches", table_rows_json(&batches), "ceilings", json_object_get(doc, "ceilings"), "loads",
                             json_object_get(doc, "loads"), "counts", json_object_get(doc, "counts"), "counting",
                             json_object_get(doc, "counting"), "certificate", json_object_get(doc, "certificate"),
                             "repetitions", json_object_get(doc, "repetitions"), "findings", res->run.findings,
                             "incomplete", json_object_get(doc, "incomplete"));
    json_decref(doc);
    if (!meta)
        return error_oom(err, 0, "the report");
    int rc = print_rows(stdout, o->format, &res->run, meta, err);
    if (rc == 0 && o->also)
        rc = print_rows(o->also, o->also_format, &res->run, meta, err);
    json_decref(meta);
    if (rc == 0 && res->batches.n && o->format != REPORT_JSON)
        rc = print_table(o->format, &batches, err);
    const bool people = o->format == REPORT_TABLE || o->format == REPORT_MD;
    if (rc == 0 && o->ops && o->format != REPORT_JSON && (!people || o->by_layer))
        rc = print_table(o->format, &ops, err);
    if (rc == 0 && o->ops && o->format != REPORT_JSON && !people)
        rc = print_table(o->format, &roles, err);
    if (rc == 0 && o->format == REPORT_TABLE)
        print_notes(res, o);
    if (rc == 0 && o->ops && people)
        rc = print_roles(res, o, err);
    return rc;
}
