/* A simulation's outputs: summary, tables, rows of requests, vLLM's result file, trace, charts. */
#include "../near.h"
#include "../test.h"
#include "report/serving_report.h"
#include "serving/draw.h"
#include <math.h>
#include <unistd.h>

struct run {
    struct policy p;
    struct step_price price;
    struct serve_workload w;
    struct serve_options o;
    struct serve_result r;
    struct timeline t;
    struct step_tee tee;
    struct serving_trace trace;
    struct serve_metrics m;
    struct serve_study study;
    struct serve_slo slo;
    struct serving_subject s;
    char *trace_text;
    size_t trace_size;
    FILE *trace_file;
};

/* About Llama-3.1-8B on an H100. */
static void price(struct step_price *x, const struct policy *p)
{
    struct error err;
    assert_ok(step_price_alloc(x, p, &err), err);
    for (uint32_t i = 0; i <= x->max_decode; i++) {
        x->decode_ps[i] = UINT64_C(6000000000) + UINT64_C(8000000) * i;
        x->context_ps[i] = 43000;
    }
    for (uint32_t i = 0; i <= x->max_tok; i++)
        x->mixed_ps[i] = UINT64_C(7000000000) + UINT64_C(25000000) * i;
}

static void workload(struct serve_workload *w, size_t n, double rate)
{
    struct error err;
    size_t cap = 0;
    double s = 0;
    *w = (struct serve_workload){ 0 };
    snprintf(w->name, sizeof w->name, "random:in=512,out=128");
    for (size_t i = 0; i < n; i++) {
        s += draw_exponential(1, DRAW_GAP, i) / rate;
        struct serve_request r = { .parent = SERVE_NO_PARENT, .after_ps = isinf(rate) ? 0 : (uint64_t)(s * PS_PER_S) };
        r.n_in = 1 + (uint32_t)(512 * draw_exponential(1, DRAW_IN, i));
        r.n_out = 1 + (uint32_t)(128 * draw_exponential(1, DRAW_OUT, i));
        assert_true(serve_workload_add(w, &cap, &r));
    }
    assert_ok(serve_workload_finish(w, w->name, NULL, &err), err);
}

static void simulate(struct run *x, const char *policy, size_t n, double rate, uint32_t n_block, uint64_t trace_bytes)
{
    struct error err;
    *x = (struct run){ 0 };
    assert_ok(policy_init(&x->p, policy, &(struct policy_device){ .memory_bytes = 80e9, .is_gpu = true }, &err), err);
    policy_set_model_len(&x->p, 16384);
    if (x->p.max_num_seqs > 64)
        x->p.max_num_seqs = 64;
    price(&x->price, &x->p);
    workload(&x->w, n, rate);
    assert_ok(timeline_init(&x->t, &x->p, &err), err);
    x->trace_file = open_memstream(&x->trace_text, &x->trace_size);
    assert_non_null(x->trace_file);
    serving_trace_begin(&x->trace, x->trace_file, trace_bytes, n_block);
    x->tee = (struct step_tee){ { timeline_step, serving_trace_step }, { &x->t, &x->trace }, 2 };
    x->o = (struct serve_options){ .policy = &x->p, .price = &x->price, .n_block = n_block, .step = step_tee, .step_ctx = &x->tee };
    assert_ok(serve_simulate(&x->r, &x->w, &x->o, &err), err);
    assert_ok(serve_slo_parse(&x->slo, "p99:ttft=1s,itl=50ms", &err), err);
    const struct serve_metrics_options mo = { .slo = &x->slo, .timeline = &x->t, .options = &x->o, .hit_infinite = NAN };
    assert_ok(serve_metrics(&x->m, &x->r, &x->w, &mo, &err), err);
    serve_study_runs(&x->study, &x->m, 1);
    x->s = (struct serving_subject){ .model = "llama-3.1-8b", .hw = "h100", .rate = rate,
                                     .burstiness = 1, .date = "20261129-120000", .w = &x->w, .options = &x->o, .r = &x->r, .study = &x->study };
}

static void finish(struct run *x)
{
    fclose(x->trace_file);
    free(x->trace_text);
    timeline_free(&x->t);
    serve_result_free(&x->r);
    serve_workload_free(&x->w);
    step_price_free(&x->price);
}

/* ---- words ---------------------------------------------------------------------------------------------- */

static void summary_has(struct run *x, const char *const *texts, size_t n)
{
    struct strbuf b = { 0 };
    serving_add_summary(&b, &x->s);
    for (size_t i = 0; i < n; i++)
        if (!strstr(b.s, texts[i]))
            fail_msg("no \"%s\" in: %s", texts[i], b.s);
    print_message("# %s", b.s);
    strbuf_free(&b);
}

static void test_summary(void **state)
{
    (void)state;
    struct run x;
    simulate(&x, "vllm-0.15", 600, 8, 20000, 0);
    static const char *const stable[] = { "Stable: ", "does not grow", "step itself sets the pace", "The SLO p99:ttft=1s,itl=50ms holds." };
    summary_has(&x, stable, ARRAY_LEN(stable));
    finish(&x);
    simulate(&x, "vllm-0.15", 3000, 200, 1000000, 0);
    static const char *const seqs[] = { "Saturated: ", "max-num-seqs, 64, are running", "does not hold: TTFT 78.2 s against 1.00 s, ITL ", "First to change: a larger max-num-seqs" };
    summary_has(&x, seqs, ARRAY_LEN(seqs));
    finish(&x);
    simulate(&x, "vllm-0.15", 3000, 60, 1100, 0);
    static const char *const blocks[] = { "Saturated: ", "wait for KV blocks", "gpu-memory-utilization" };
    summary_has(&x, blocks, ARRAY_LEN(blocks));
    finish(&x);
    simulate(&x, "static", 300, 8, 1000000, 0);
    static const char *const batch[] = { "Saturated: ", "whole batch", "continuous batching" };
    summary_has(&x, batch, ARRAY_LEN(batch));
    finish(&x);
    simulate(&x, "vllm-0.15", 300, INFINITY, 1000000, 0);
    static const char *const burst[] = { "Burst: all 300 requests" };
    summary_has(&x, burst, ARRAY_LEN(burst));
    struct serve_metrics draw[20];
    for (size_t i = 0; i < 20; i++) {
        draw[i] = x.m;
        draw[i].met = i < 9;
        draw[i].stability.verdict = i < 15 ? SERVE_STABLE : SERVE_SATURATED;
    }
    serve_study_draws(&x.study, draw, 20);
    static const char *const chance[] = { "saturated in 25 % of 20 draws", "probability 0.45 over 20 draws" };
    summary_has(&x, chance, ARRAY_LEN(chance));
    finish(&x);
}

/* ---- tables ------------------------------------------------------------------------------------------------ */

static char *printed(struct run *x, enum report_format format, json_t **json)
{
    char path[] = "/tmp/roofcast-serving-XXXXXX";
    struct error err;
    struct filemap m;
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_ok(serving_print(path, format, &x->s, &err), err);
    if (json) {
        *json = json_load_path(path, &err);
        assert_non_null(*json);
    }
    assert_ok(filemap_open(&m, path, &err), err);
    char *text = strndup((const char *)m.data, m.size);
    filemap_close(&m);
    unlink(path);
    return text;
}

static void test_tables(void **state)
{
    (void)state;
    struct run x;
    json_t *j;
    simulate(&x, "vllm-0.15", 600, 8, 20000, 0);
    char *text = printed(&x, REPORT_TABLE, NULL);
    assert_true(strstr(text, "Stable: ") == text && strstr(text, "TTFT") && strstr(text, "p99 low") && strstr(text, "tokens out"));
    assert_null(strstr(text, "model low")); /* no draws */
    assert_null(strstr(text, "client queue"));
    free(text);
    text = printed(&x, REPORT_CSV, NULL);
    assert_true(strncmp(text, "figure,name,value,unit,lo,hi,", 29) == 0 && strstr(text, "\nttft_p99,"));
    free(text);
    text = printed(&x, REPORT_JSON, &j);
    assert_int_equal(json_array_size(json_object_get(j, "rows")), SERVE_VALUES);
    assert_string_equal(json_string_value(json_object_get(json_object_get(j, "stability"), "verdict")), "stable");
    const json_t *p99 = json_array_get(json_object_get(j, "rows"), (size_t)serve_time(SERVE_TTFT, STAT_P99));
    assert_string_equal(json_string_value(json_object_get(p99, "figure")), "ttft_p99");
    assert_near(json_number_value(json_object_get(p99, "value")), x.m.v[serve_time(SERVE_TTFT, STAT_P99)].value, 1e-12);
    const json_t *limits = json_object_get(json_object_get(j, "slo"), "limits");
    assert_int_equal(json_array_size(limits), 2);
    assert_true(json_is_true(json_object_get(json_array_get(limits, 0), "met")));
    json_decref(j);
    free(text);
    finish(&x);
}

static void test_requests(void **state)
{
    (void)state;
    struct run x;
    struct error err;
    char *text = NULL;
    size_t size = 0, lines = 0, heads = 0;
    simulate(&x, "vllm-0.15", 5000, 20, 100000, 0); /* more than a chunk */
    FILE *f = open_memstream(&text, &size);
    assert_ok(serving_write_requests(f, REPORT_CSV, &x.s, &err), err);
    fclose(f);
    for (char *p = text; (p = strchr(p, '\n')); p++)
        lines++;
    for (char *p = text; (p = strstr(p, "id,arrival_s,")); p++)
        heads++;
    assert_int_equal(lines, 5001);
    assert_int_equal(heads, 1);
    unsigned id, in, out;
    double arrival, client, queue, ttft, tpot, e2e;
    const char *last = strstr(text, "\n4999,");
    assert_non_null(last);
    assert_int_equal(sscanf(last, "%u,%lf,%lf,%lf,%lf,%lf,%lf,%u,%u", &id, &arrival, &client, &queue, &ttft, &tpot, &e2e, &in, &out), 9);
    assert_int_equal(in, x.w.r[4999].n_in);
    assert_near(arrival, (double)x.r.out[4999].due_ps / 1e12, 1e-6);
    assert_near(ttft + tpot * (out - 1), e2e, 1e-6);
    free(text);
    assert_fails(serving_write_requests(stdout, REPORT_MD, &x.s, &err), err, "csv or jsonl");
    finish(&x);
}

/* ---- vLLM ------------------------------------------------------------------------------------------------------ */

static void test_vllm(void **state)
{
    (void)state;
    static const char *const keys[] = { "date", "endpoint_type", "backend", "label", "model_id", "tokenizer_id", "num_prompts", "request_rate", "burstiness",
                                        "max_concurrency", "duration", "completed", "failed", "total_input_tokens", "total_output_tokens",
                                        "request_throughput", "request_goodput", "output_throughput", "total_token_throughput", "latencies", "queue_times",
                                        "max_output_tokens_per_s", "max_concurrent_requests", "rtfx", "mean_ttft_ms", "median_ttft_ms", "std_ttft_ms" };
    struct run x;
    struct error err;
    simulate(&x, "vllm-0.15", 400, 8, 20000, 0);
    json_t *j = serving_vllm_json(&x.s, false, &err);
    const char *key;
    json_t *v;
    size_t i = 0;
    json_object_foreach(j, key, v) {
        if (i < ARRAY_LEN(keys))
            assert_string_equal(key, keys[i]);
        i++;
    }
    assert_int_equal(i, 24 + 4 * 7);
    assert_near(json_number_value(json_object_get(j, "p99_ttft_ms")), 1e3 * x.m.v[serve_time(SERVE_TTFT, STAT_P99)].value, 1e-9);
    assert_near(json_number_value(json_object_get(j, "mean_e2el_ms")), 1e3 * x.m.v[serve_time(SERVE_E2E, STAT_MEAN)].value, 1e-9);
    double sum = 0;
    for (i = 0; i < 400; i++)
        sum += json_number_value(json_array_get(json_object_get(j, "latencies"), i));
    assert_near(1e3 * sum / 400, json_number_value(json_object_get(j, "mean_e2el_ms")), 1e-6);
    assert_null(json_object_get(j, "ttfts"));
    json_decref(j);
    const struct serve_metrics two[2] = { x.m, x.m };
    serve_study_runs(&x.study, two, 2);
    assert_null(serving_vllm_json(&x.s, false, &err));
    assert_non_null(strstr(err.msg, "of one run"));
    serve_study_runs(&x.study, two, 1);
    x.s.rate = INFINITY;
    x.o.max_concurrency = 8;
    j = serving_vllm_json(&x.s, true, &err);
    assert_string_equal(json_string_value(json_object_get(j, "request_rate")), "inf");
    assert_int_equal(json_array_size(json_object_get(j, "ttfts")), 400);
    assert_non_null(json_object_get(j, "p99_client_queue_time_ms"));
    assert_null(json_object_get(j, "p99_e2el_including_client_queue_ms"));
    json_decref(j);
    finish(&x);
}

/* ---- trace ------------------------------------------------------------------------------------------------------- */

static json_t *trace(struct run *x, struct strbuf *note)
{
    struct error err;
    assert_ok(serving_trace_end(&x->trace, &x->s, note, &err), err);
    fflush(x->trace_file);
    json_t *j = json_load_mem("trace", x->trace_text, x->trace_size, &err);
    if (!j)
        fail_msg("%s", err.msg);
    return j;
}

static void test_trace(void **state)
{
    (void)state;
    struct run x;
    struct strbuf note = { 0 };
    simulate(&x, "vllm-0.15", 200, 8, 20000, 0);
    json_t *j = trace(&x, &note);
    const json_t *events = json_object_get(j, "traceEvents");
    double steps = 0, queue = 0;
    size_t lives = 0, i;
    const json_t *e;
    json_array_foreach(events, i, e) {
        const char *name = json_string_value(json_object_get(e, "name"));
        const double us = json_number_value(json_object_get(e, "dur"));
        if (json_integer_value(json_object_get(e, "pid")) == 1 && json_object_get(e, "dur"))
            steps += us;
        lives += strncmp(name, "request ", 8) == 0;
        queue += strcmp(name, "queue") == 0 ? us : 0;
    }
    assert_int_equal(lives, 200);
    assert_near(steps, (double)x.r.t.busy_ps / 1e6, 1);
    assert_near(queue / 200 / 1e6, x.m.v[serve_time(SERVE_QUEUE, STAT_MEAN)].value, 1e-9);
    assert_int_equal(note.len, 0);
    json_decref(j);
    finish(&x);
    simulate(&x, "vllm-0.15", 2000, 8, 20000, 100000);
    json_decref(trace(&x, &note));
    assert_true(x.trace_size < 110000);
    assert_true(strstr(note.s, "limited to 0 MB: steps end at ") && strstr(note.s, "requests sent after "));
    strbuf_free(&note);
    finish(&x);
}

/* ---- charts -------------------------------------------------------------------------------------------------------- */

static void test_front(void **state)
{
    (void)state;
    const struct serving_config x[] = { { "a", 10, 100, NAN, NAN, "" }, { "a", 20, 90, NAN, NAN, "" }, { "b", 15, 80, NAN, NAN, "" },   { "b", 30, 90, NAN, NAN, "" },
                                        { "b", 40, 10, NAN, NAN, "" },  { "c", NAN, 500, NAN, NAN, "" }, { "c", 40, 5, NAN, NAN, "" },  { "c", 10, 100, NAN, NAN, "" } };
    size_t front[8];
    assert_int_equal(serving_front(x, 8, front), 3);
    assert_int_equal(front[0], 0);
    assert_int_equal(front[1], 3);
    assert_int_equal(front[2], 4);
    assert_int_equal(serving_front(x, 0, front), 0);
}

/* CHARTS=DIR: where the pictures stay. */
static const char *base_of(char buf[static 256], const char *dir, const char *name)
{
    snprintf(buf, 256, "%s/%s", dir, name);
    return buf;
}

static void drawn(int rc, struct error *err, const char *base)
{
    char path[300];
    if (rc != 0 && err->kind != ERROR_UNAVAILABLE)
        fail_msg("%s: %s", base, err->msg);
    static const char *const ext[] = { ".tsv", ".gp", ".roofs.tsv", ".svg", ".png" };
    for (size_t i = 0; i < ARRAY_LEN(ext); i++) {
        snprintf(path, sizeof path, "%s%s", base, ext[i]);
        if (rc == 0 || i < 3)
            assert_true(file_exists(path));
        if (!getenv("CHARTS"))
            unlink(path);
    }
}

static void test_charts(void **state)
{
    (void)state;
    char dir[] = "/tmp/roofcast-serving-XXXXXX", style[512], base[256];
    const char *data = getenv("ROOFCAST_DATA"), *to = getenv("CHARTS");
    struct run x, y;
    struct strbuf notes = { 0 };
    struct error err;
    assert_non_null(mkdtemp(dir));
    to = to ? to : dir;
    snprintf(style, sizeof style, "%s/reports/charts/curves.gp", data ? data : ".");
    simulate(&x, "vllm-0.15", 1500, 25, 1200, 0);
    struct serving_chart c = { .style = style, .title = "llama-3.1-8b on h100", .subtitle = "vllm-0.15, random:in=512,out=128, 25 requests/s" };
    c.out_base = base_of(base, to, "cdf");
    drawn(serving_chart_cdf(&c, &x.s, &notes, &err), &err, base);
    c.out_base = base_of(base, to, "timeline");
    drawn(serving_chart_timeline(&c, &x.s, &x.t, &notes, &err), &err, base);
    simulate(&y, "static", 1500, 25, 1200, 0);
    const struct serving_policy policies[] = { { "vllm-0.15", &x.study }, { "static", &y.study } };
    c.out_base = base_of(base, to, "policies");
    drawn(serving_chart_policies(&c, policies, 2, &notes, &err), &err, base);
    struct serving_rate ttft[6], itl[6];
    for (size_t i = 0; i < 6; i++) {
        const double rate = 4 * (double)(i + 1), q = rate < 24 ? 0.1 / (1 - rate / 24.5) : NAN;
        ttft[i] = (struct serving_rate){ rate, q, q / 1.3, q * (1.2 + 0.02 * rate) };
        itl[i] = (struct serving_rate){ rate, 0.01 + 0.001 * rate, 0.009 + 0.0009 * rate, 0.011 + 0.0012 * rate };
    }
    const struct serving_rate_line lines[] = { { "TTFT p99", ttft, 6, 1 }, { "ITL p99", itl, 6, 0.05 } };
    c.out_base = base_of(base, to, "rates");
    drawn(serving_chart_rates(&c, lines, 2, 24.5, &notes, &err), &err, base);
    struct serving_config configs[30];
    for (size_t i = 0; i < 30; i++) {
        const double user = 20 + 4 * (double)i + 10 * draw_uniform(1, DRAW_SAMPLE, i), device = 4000 * exp(-user / 60) * (0.6 + 0.4 * draw_uniform(1, DRAW_SAMPLE, 100 + i));
        configs[i] = (struct serving_config){ "h100", user, device, 0.9 * device, 1.1 * device, "" };
        snprintf(configs[i].group, sizeof configs[i].group, "%s", i % 3 ? "h100" : "a100");
    }
    c.out_base = base_of(base, to, "pareto");
    drawn(serving_chart_pareto(&c, configs, 30, &notes, &err), &err, base);
    assert_fails(serving_chart_pareto(&c, configs, 0, &notes, &err), err, "nothing to draw");
    assert_fails(serving_chart_rates(&c, lines, 0, NAN, &notes, &err), err, "nothing to draw");
    print_message("# %s\n", notes.s ? notes.s : "no notes");
    strbuf_free(&notes);
    finish(&x);
    finish(&y);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_summary), cmocka_unit_test(test_tables), cmocka_unit_test(test_requests), cmocka_unit_test(test_vllm),
        cmocka_unit_test(test_trace),   cmocka_unit_test(test_front),  cmocka_unit_test(test_charts),
    };
    return cmocka_run_group_tests_name("serving outputs", tests, NULL, NULL);
}
