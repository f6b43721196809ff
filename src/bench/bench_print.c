/* What `roofcast bench` prints: a row a test, the table of batches, ops and roles, and notes on what was measured. */
#include "bench/bench.h"
#include <math.h>
#include <string.h>

#define AT(m) COLUMN_AT(struct run_row, m)
static const struct column bench_columns[] = {
    { "model", "model", COL_TEXT, NULL, COL_MAJOR, AT(model), EMPTY_VALUE, NULL, NULL },
    { "type", "type", COL_TEXT, NULL, COL_MAJOR, AT(type), EMPTY_VALUE, NULL, "tensor type or mixture" },
    { "n_threads", "threads", COL_INT, NULL, COL_MEDIUM, AT(n_threads), EMPTY_VALUE, NULL, NULL },
    { "test", "test", COL_TEXT, NULL, COL_KEY, AT(test), EMPTY_VALUE, NULL, "`pp512`, `tg128`, `tg128@d4096`" },
    { "phase", "phase", COL_TEXT, NULL, COL_DATA, AT(phase), EMPTY_VALUE, "`\"prefill\"` or `\"decode\"`", NULL },
    { "n_prompt", "n_prompt", COL_INT, "tokens", COL_DATA, AT(n_prompt), EMPTY_VALUE, NULL, "0 in decode" },
    { "n_gen", "n_gen", COL_INT, "tokens", COL_DATA, AT(n_gen), EMPTY_VALUE, NULL, "0 in prefill" },
    { "n_depth", "n_depth", COL_INT, "tokens", COL_DATA, AT(n_depth), EMPTY_VALUE, NULL, "context: tokens in the KV cache before the test" },
    { "n_batch", "n_batch", COL_INT, NULL, COL_DATA, AT(n_batch), EMPTY_VALUE, NULL, "sequences decoded together" },
    { "n_ubatch", "n_ubatch", COL_INT, "tokens", COL_DATA, AT(n_ubatch), EMPTY_VALUE, NULL, "prompt tokens per pass" },
    { "n_reps", "n_reps", COL_INT, NULL, COL_DATA, AT(n_reps), EMPTY_VALUE, NULL, "repetitions" },
    { "tok_s_mean", "t/s", COL_FLOAT, "tokens/s", COL_KEY, AT(tok_s_mean), EMPTY_NULL, NULL, "mean over repetitions" },
    { "tok_s_sd", "+-", COL_FLOAT, "tokens/s", COL_MEDIUM, AT(tok_s_sd), EMPTY_NULL, NULL, "sample standard deviation" },
    { "ttft_s", "TTFT", COL_SECONDS, "s", COL_MEDIUM, AT(ttft_s), EMPTY_NULL, NULL, "time to first token: the whole prompt; null in decode" },
    { "itl_p50_s", "ITL p50", COL_SECONDS, "s", COL_MEDIUM, AT(itl_p50_s), EMPTY_NULL, NULL, "median time between tokens; null in prefill" },
    { "itl_p99_s", "ITL p99", COL_SECONDS, "s", COL_MINOR, AT(itl_p99_s), EMPTY_NULL, NULL, "99 % quantile" },
    { "bytes_s", "weights+KV", COL_SI, "B/s", COL_MAJOR, AT(bytes_s), EMPTY_NULL, NULL, "weights and KV cache" },
    { "ceiling_bytes_s", "ceiling", COL_SI, "B/s", COL_MINOR, AT(ceiling_bytes_s), EMPTY_NULL, NULL, "DRAM read bandwidth of the probes adjacent to the test" },
    { "mbu", "MBU", COL_FRACTION, "fraction", COL_KEY, AT(mbu), EMPTY_NULL, NULL, "`bytes_s / ceiling_bytes_s`" },
    { "flop_s", "FLOP/s", COL_SI, "FLOP/s", COL_MEDIUM, AT(flop_s), EMPTY_NULL, NULL, NULL },
    { "ceiling_flop_s", "ceiling", COL_SI, "FLOP/s", COL_MINOR, AT(ceiling_flop_s), EMPTY_NULL, NULL, "peak of the arithmetic in use, of the probes adjacent to the test" },
    { "mfu", "MFU", COL_FRACTION, "fraction", COL_MAJOR, AT(mfu), EMPTY_NULL, NULL, "`flop_s / ceiling_flop_s`" },
    { "bound", "bound", COL_TEXT, NULL, COL_KEY, AT(bound), EMPTY_NULL, "`\"memory\"` or `\"compute\"` or null", "the roof that limits the test" },
    { "counters", "counters", COL_TEXT, NULL, COL_DATA, AT(counters), EMPTY_VALUE, NULL, "counter backend" },
    { "dram_bytes_s", "DRAM", COL_SI, "B/s", COL_DATA, AT(dram_bytes_s), EMPTY_NULL, NULL, "by hardware counters" },
    { "mbu_dram", "MBU DRAM", COL_FRACTION, "fraction", COL_DATA, AT(mbu_dram), EMPTY_NULL, NULL, "`dram_bytes_s / ceiling_bytes_s`" },
    { "dram_source", "DRAM source", COL_TEXT, NULL, COL_DATA, AT(dram_source), EMPTY_NULL, NULL, "`uncore counters: 8 x uncore_imc on 2` (sockets)" },
    { "dram_reason", "DRAM reason", COL_TEXT, NULL, COL_DATA, AT(dram_reason), EMPTY_NULL, NULL, "why `dram_bytes_s` is null" },
    { "energy_j", "energy", COL_SI, "J", COL_DATA, AT(energy_j), EMPTY_NULL, "number or null, optional", "of all packages and, where counted, memory, "
      "per repetition, mean; of the whole machine" },
    { "j_tok", "J/token", COL_SI, "J/token", COL_DATA, AT(j_tok), EMPTY_NULL, "number or null, optional", "`energy_j` by the tokens of a repetition" },
    { "energy_source", "energy from", COL_TEXT, NULL, COL_DATA, AT(energy_source), EMPTY_NULL, "string or null, optional", "zones or events" },
    { "energy_reason", "energy reason", COL_TEXT, NULL, COL_DATA, AT(energy_reason), EMPTY_NULL, "string or null, optional", "why `energy_j` is null" },
    { "weight_bytes", "weights", COL_SI, "B", COL_DATA, AT(weight_bytes), EMPTY_NULL, NULL, "of one repetition, as are the next four" },
    { "act_bytes", "activations", COL_SI, "B", COL_DATA, AT(act_bytes), EMPTY_NULL, NULL, "activations" },
    { "kv_bytes", "KV", COL_SI, "B", COL_DATA, AT(kv_bytes), EMPTY_NULL, NULL, "KV cache, read and written" },
    { "flop", "FLOP", COL_SI_BARE, "FLOP", COL_DATA, AT(flop), EMPTY_NULL, NULL, NULL },
    { "seconds", "seconds", COL_SECONDS, "s", COL_DATA, AT(seconds), EMPTY_ZERO, NULL, "mean" },
    { "type_k", "type_k", COL_TEXT, NULL, COL_DATA, AT(type_k), EMPTY_VALUE, NULL, "type of the keys in the KV cache" },
    { "type_v", "type_v", COL_TEXT, NULL, COL_DATA, AT(type_v), EMPTY_VALUE, NULL, "of the values" },
    { "act_scales", "act. scales", COL_TEXT, NULL, COL_DATA, AT(act_scales), EMPTY_NULL, "`\"exact\"` or `\"pow2\"` or null, optional",
      "scales of 8-bit activations in the largest pass of the test (`--act-scales`, methods.md (89)); null: no product quantizes activations" },
    { "experts_touched", "experts", COL_FLOAT, NULL, COL_DATA, AT(experts_touched), EMPTY_NULL, NULL, "distinct experts read per pass by a layer with experts, "
      "mean; null: a dense model" },
    { "ceiling_source", "ceiling from", COL_TEXT, NULL, COL_DATA, AT(ceiling_source), EMPTY_NULL, NULL, NULL },
    { "roof_moved", "probe variation", COL_FRACTION, "fraction", COL_DATA, AT(roof_moved), EMPTY_NULL, "number or null, optional",
      "variation of the DRAM bandwidth probes during the test: (largest - smallest) / median (methods.md (83))" },
    { "profile_bytes_s", "profile", COL_SI, "B/s", COL_DATA, AT(profile_bytes_s), EMPTY_NULL, "number or null, optional",
      "DRAM read of the stored profile (`roofcast profile`), as many threads" },
    { "mbu_profile", "MBU profile", COL_FRACTION, "fraction", COL_DATA, AT(mbu_profile), EMPTY_NULL, "number or null, optional", "`bytes_s / profile_bytes_s`" },
    { "profile_flop_s", "profile", COL_SI, "FLOP/s", COL_DATA, AT(profile_flop_s), EMPTY_NULL, "number or null, optional", "its peak of the arithmetic in use" },
    { "mfu_profile", "MFU profile", COL_FRACTION, "fraction", COL_DATA, AT(mfu_profile), EMPTY_NULL, "number or null, optional", "`flop_s / profile_flop_s`" },
    { "profile_reason", "profile reason", COL_TEXT, NULL, COL_DATA, AT(profile_reason), EMPTY_NULL, "string or null, optional", "why there are no such roofs" },
    { "steal", "steal", COL_FRACTION, "fraction", COL_DATA, AT(steal), EMPTY_NULL, "number or null, optional", "share of the CPUs' time that a "
      "hypervisor gave to other guests, mean over repetitions; null: too short to measure" },
    { "n_switch", "involuntary switches", COL_FLOAT, NULL, COL_DATA, AT(n_switch), EMPTY_NULL, "number or null, optional", "involuntary context "
      "switches per repetition, mean" },
    { "clock_hz", "clock", COL_SI, "Hz", COL_DATA, AT(clock_hz), EMPTY_NULL, "number or null, optional", "core clock after the repetitions, median" },
    { "cpu_share", "CPU share", COL_FRACTION, "fraction", COL_DATA, AT(cpu_share), EMPTY_NULL, "number or null, optional",
      "share of the threads' time spent on a CPU, minimum over repetitions; below 0.9: other processes ran there, or threads slept" },
    { "cache_bytes", "LLC", COL_SI, "B", COL_DATA, AT(cache_bytes), EMPTY_NULL, "number or null, optional", "last-level caches, total" },
    { "ops_ceiling_bytes_s", NULL, COL_SI, "B/s", COL_JSON, AT(ops_ceiling_bytes_s), EMPTY_NULL, "number or null, optional",
      "DRAM bandwidth during the pass that timed the ops (`--ops`), harmonic mean of the probes between its steps (methods.md (83))" },
    { "ops_ceiling_flop_s", NULL, COL_SI, "FLOP/s", COL_JSON, AT(ops_ceiling_flop_s), EMPTY_NULL, "number or null, optional", "peak of the arithmetic in use during that pass" },
    { "ops_lowest_bytes_s", NULL, COL_SI, "B/s", COL_JSON, AT(ops_lowest_bytes_s), EMPTY_NULL, "number or null, optional", "smallest of those probes of DRAM" },
    { "ops_highest_bytes_s", NULL, COL_SI, "B/s", COL_JSON, AT(ops_highest_bytes_s), EMPTY_NULL, "number or null, optional", "largest" },
};
#undef AT
const struct table_fields bench_fields = { "run.row", bench_columns, ARRAY_LEN(bench_columns) };
static const char row_order[] =
    "model type n_threads n_batch n_ubatch phase n_prompt n_gen n_depth n_reps test tok_s_mean tok_s_sd ttft_s itl_p50_s itl_p99_s bytes_s "
    "ceiling_bytes_s mbu flop_s ceiling_flop_s mfu bound dram_bytes_s mbu_dram dram_source dram_reason roof_moved profile_bytes_s mbu_profile "
    "profile_flop_s mfu_profile profile_reason steal n_switch cpu_share clock_hz cache_bytes energy_j j_tok energy_source energy_reason counters "
    "weight_bytes act_bytes kv_bytes flop seconds act_scales type_k type_v experts_touched ceiling_source";

#define AT(m) COLUMN_AT(struct run_op, m)
static const struct column bench_op_columns[] = {
    { "test", "test", COL_TEXT, NULL, COL_KEY, AT(test), EMPTY_VALUE, NULL, NULL },
    { "phase", "phase", COL_TEXT, NULL, COL_DATA, AT(phase), EMPTY_VALUE, "`\"prefill\"` or `\"decode\"`", NULL },
    { "layer", "layer", COL_INT, NULL, COL_MAJOR, AT(layer), EMPTY_VALUE, NULL, "-1: outside the blocks, or summed over layers" },
    { "role", "role", COL_TEXT, NULL, COL_KEY, AT(role), EMPTY_VALUE, NULL, "role in the model: `ffn_down`, `attn_core`, ..." },
    { "op", "op", COL_TEXT, NULL, COL_MAJOR, AT(op), EMPTY_VALUE, NULL, "operation: `matmul`, `attention`, ..." },
    { "type", "type", COL_TEXT, NULL, COL_MAJOR, AT(type), EMPTY_VALUE, NULL, "tensor type; `mixed` in a sum" },
    { "rows", "rows", COL_INT, NULL, COL_MEDIUM, AT(rows), EMPTY_VALUE, NULL, "shape of the weight" },
    { "cols", "cols", COL_INT, NULL, COL_MEDIUM, AT(cols), EMPTY_VALUE, NULL, NULL },
    { "n_tok", "n_tok", COL_INT, "tokens", COL_DATA, AT(n_tok), EMPTY_VALUE, NULL, "rows of activations per pass" },
    { "weight_bytes", "weights", COL_SI, "B", COL_MEDIUM, AT(weight_bytes), EMPTY_NULL, NULL, "of one pass, as are the next four and `seconds`" },
    { "act_bytes", "activations", COL_SI, "B", COL_MINOR, AT(act_bytes), EMPTY_NULL, NULL, NULL },
    { "kv_bytes", "KV", COL_SI, "B", COL_MINOR, AT(kv_bytes), EMPTY_NULL, NULL, NULL },
    { "flop", "FLOP", COL_SI_BARE, "FLOP", COL_MINOR, AT(flop), EMPTY_NULL, NULL, NULL },
    { "ai", "FLOP/B", COL_FLOAT, "FLOP/B", COL_MINOR, AT(ai), EMPTY_NULL, NULL, "arithmetic intensity" },
    { "share", "share", COL_FRACTION, "fraction", COL_KEY, AT(share), EMPTY_NULL, NULL, "of the seconds of the pass" },
    { "seconds", "time", COL_SECONDS, "s", COL_KEY, AT(seconds), EMPTY_ZERO, NULL, NULL },
    { "bytes_s", "bytes/s", COL_SI, "B/s", COL_MAJOR, AT(bytes_s), EMPTY_NULL, NULL, NULL },
    { "flop_s", "FLOP/s", COL_SI, "FLOP/s", COL_MEDIUM, AT(flop_s), EMPTY_NULL, NULL, NULL },
    { "roof_fraction", "of roof", COL_FRACTION, "fraction", COL_KEY, AT(roof_fraction), EMPTY_NULL, NULL, "time under its roof / time taken" },
    { "bound", "bound", COL_TEXT, NULL, COL_KEY, AT(bound), EMPTY_NULL, "`\"memory\"` or `\"compute\"` or null", NULL },
};
#undef AT
const struct table_fields bench_op_fields = { "run.op", bench_op_columns, ARRAY_LEN(bench_op_columns) };

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
    return (struct table){ schema, 1, NULL, bench_op_columns, ARRAY_LEN(bench_op_columns), rows, NULL };
}

/* The tests; scales of activations are in tables where they are not exact. */
static int print_rows(FILE *out, enum report_format f, const struct run *r, const json_t *meta, struct error *err)
{
    const struct table_rows rows = { .size = sizeof *r->row, .n = r->n_row, .v = r->row };
    struct column cols[ARRAY_LEN(bench_columns)];
    memcpy(cols, bench_columns, sizeof cols);
    for (size_t i = 0; i < r->n_row; i++)
        if (strcmp(r->row[i].act_scales, "pow2") == 0)
            columns_rank(cols, ARRAY_LEN(cols), "act_scales", COL_MAJOR);
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

/* What a reader of the tables must know: what was not measured, and why a figure can exceed its roof. */
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

/* What a screen has room for. */
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

/* For people the roles come last, with what they lose: the end of the output is what a screen shows. */
static int print_roles(const struct bench_results *res, const struct bench_print *o, struct error *err)
{
    struct column cols[ARRAY_LEN(bench_op_columns)];
    struct table_rows rows = main_roles(&res->roles);
    memcpy(cols, bench_op_columns, sizeof cols);
    columns_rank(cols, ARRAY_LEN(cols), "layer op rows cols", COL_DATA); /* a role sums them */
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
    if (rc == 0 && o->also_error)
        rc = print_rows(stderr, o->error_format, &res->run, meta, err);
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
