/*
 * Results of servers' benchmarks: vLLM `bench serve|latency|throughput` (--save-result, --output-json), AIPerf and genai-perf
 * (CSV), and roofcast's own runs. What such a file does not say (model, machine) comes from the command line.
 * Sources: vllm-project/vllm vllm/benchmarks/{serve,latency,throughput}.py; ai-dynamo/aiperf csv exporter,
 * triton-inference-server/perf_analyzer genai-perf csv exporter.
 */
#include "measure/internal.h"
#include "run/run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MS = 1000 };
/* vllm bench latency's defaults, which its file does not repeat. */
enum { LATENCY_IN = 32, LATENCY_OUT = 128, LATENCY_BATCH = 8 };

static const char *given(const char *s)
{
    return s ? s : "";
}

/* A row's names from the command line. -1: out of memory. */
static int name_row(struct measurements *l, struct measurement *m, const char *engine, const char *model,
                    const struct measure_context *x, struct error *err)
{
    m->engine = engine;
    m->model = measure_keep(l, *given(x->model) ? x->model : model, err);
    m->hardware = m->model ? measure_keep(l, given(x->hardware), err) : NULL;
    return m->hardware ? 0 : -1;
}

/* ---- vLLM --------------------------------------------------------------------------------------------------- */

static int add_latency_row(struct measurements *l, struct measurement m, enum measure_metric metric, double ms, struct error *err)
{
    if (!(ms > 0))
        return 0;
    m.metric = metric;
    m.value = ms / MS;
    return measure_add(l, &m, err);
}

static int vllm_serve(struct measurements *l, const json_t *o, const struct measure_context *x, struct error *err)
{
    struct measurement m = measure_empty(MEASURE_SERVING);
    const char *model = "";
    double completed = NAN, in = NAN, out = NAN, duration = NAN, ttft = NAN, tpot = NAN, concurrency = NAN;
    if (json_get_str_opt(o, l->name, "model_id", &model, err) != 0 || json_get_num(o, l->name, "completed", &completed, err) != 0 ||
        json_get_num(o, l->name, "total_input_tokens", &in, err) != 0 ||
        json_get_num(o, l->name, "total_output_tokens", &out, err) != 0 ||
        json_get_num(o, l->name, "duration", &duration, err) != 0 ||
        json_get_num_opt(o, l->name, "mean_ttft_ms", &ttft, err) != 0 ||
        json_get_num_opt(o, l->name, "mean_tpot_ms", &tpot, err) != 0 ||
        json_get_num_opt(o, l->name, "max_concurrency", &concurrency, err) != 0)
        return -1;
    if (!(completed >= 1 && in >= completed && out >= completed && duration > 0))
        return error_set(err, ERROR_INPUT, "%s: expected completed requests with tokens in and out in a duration above 0", l->name);
    m.phase = MEASURE_REQUEST;
    m.prompt = round(in / completed);
    m.out = round(out / completed);
    /* Requests at once: as many as allowed, or by Little's law what the means come to. */
    const double little = completed / duration * (ttft + tpot * (m.out - 1)) / MS;
    m.concurrency = concurrency >= 1 ? fmin(concurrency, completed) : little >= 1 ? little : 1;
    m.mode = "agg";
    if (name_row(l, &m, "vllm", model, x, err) != 0 || add_latency_row(l, m, METRIC_TTFT, ttft, err) != 0)
        return -1;
    return add_latency_row(l, m, METRIC_TPOT, tpot, err);
}

static int vllm_latency(struct measurements *l, const json_t *o, const struct measure_context *x, struct error *err)
{
    struct measurement m = measure_empty(MEASURE_RATE);
    double s;
    if (json_get_num(o, l->name, "avg_latency", &s, err) != 0)
        return -1;
    if (!(s > 0))
        return error_set(err, ERROR_INPUT, "%s: avg_latency: expected seconds above 0, found %g", l->name, s);
    m.phase = MEASURE_REQUEST;
    m.tags = TAG_E2E | TAG_DERIVED;
    m.prompt = LATENCY_IN;
    m.out = LATENCY_OUT;
    m.batch = LATENCY_BATCH;
    m.context = m.prompt + m.out / 2;
    m.value = m.batch * m.out / s;
    m.notes = "lengths and batch are the defaults of vllm bench latency: its file does not say them";
    return name_row(l, &m, "vllm", "", x, err) != 0 ? -1 : measure_add(l, &m, err);
}

static int vllm_throughput(struct measurements *l, const json_t *o, const struct measure_context *x, struct error *err)
{
    struct measurement m = measure_empty(MEASURE_RATE);
    double requests, tokens, rate;
    if (json_get_num(o, l->name, "num_requests", &requests, err) != 0 ||
        json_get_num(o, l->name, "total_num_tokens", &tokens, err) != 0 ||
        json_get_num(o, l->name, "tokens_per_second", &rate, err) != 0)
        return -1;
    if (!(requests >= 1 && tokens >= requests && rate > 0))
        return error_set(err, ERROR_INPUT, "%s: expected requests with tokens at a rate above 0", l->name);
    m.phase = MEASURE_REQUEST;
    m.tags = TAG_E2E | TAG_TOTAL_TOKENS | TAG_MAX_THROUGHPUT;
    m.value = rate;
    /* Prompts and answers are not told apart there: as ShareGPT's, about equal. */
    m.prompt = round(tokens / requests / 2);
    m.out = tokens / requests - m.prompt;
    m.context = m.prompt + m.out / 2;
    m.batch = fmin(requests, 65536);
    return name_row(l, &m, "vllm", "", x, err) != 0 ? -1 : measure_add(l, &m, err);
}

int vllm_read(struct measurements *l, const json_t *o, const struct measure_context *x, struct error *err)
{
    if (json_object_get(o, "avg_latency"))
        return vllm_latency(l, o, x, err);
    if (json_object_get(o, "requests_per_second"))
        return vllm_throughput(l, o, x, err);
    return vllm_serve(l, o, x, err);
}

bool vllm_is(const json_t *o)
{
    return json_object_get(o, "avg_latency") || (json_object_get(o, "requests_per_second") && json_object_get(o, "elapsed_time")) ||
           (json_object_get(o, "total_output_tokens") && json_object_get(o, "completed"));
}

/* ---- roofcast ---------------------------------------------------------------------------------------------------- */

int run_read(struct measurements *l, const json_t *doc, const char *schema, const struct measure_context *x, struct error *err)
{
    struct run r;
    int rc = run_from_json(&r, doc, l->name, schema, err);
    if (rc != 0)
        return -1;
    for (size_t i = 0; i < r.n_row && rc == 0; i++) {
        const struct run_row *row = &r.row[i];
        struct measurement m = measure_empty(MEASURE_RATE);
        m.line = i + 1;
        m.phase = strcmp(row->phase, "prefill") == 0 ? MEASURE_PREFILL : MEASURE_DECODE;
        m.value = row->tok_s_mean;
        m.prompt = m.phase == MEASURE_PREFILL ? row->n_prompt : row->n_depth;
        m.context = m.phase == MEASURE_PREFILL ? row->n_depth : row->n_depth + row->n_gen / 2.0;
        m.batch = row->n_batch;
        m.n_threads = row->n_threads;
        m.n_ubatch = row->n_ubatch;
        m.tags = TAG_CPU;
        if (!(m.value > 0))
            continue; /* not measured */
        rc = name_row(l, &m, "roofcast", row->model, x, err);
        if (rc == 0 && !*m.hardware)
            rc = (m.hardware = measure_keep(l, r.prov.cpu, err)) ? 0 : -1;
        if (rc == 0)
            rc = (m.quant = measure_keep(l, row->type, err)) ? 0 : -1;
        if (rc == 0)
            rc = measure_add(l, &m, err);
    }
    run_free(&r);
    return rc;
}

/* ---- AIPerf ---------------------------------------------------------------------------------------------------- */

/* Sections of "Metric,avg,..." and "Metric,Value", a blank line between them. */
struct aiperf {
    double ttft, itl, latency, in, out, rate; /* ms, tokens, requests/s; NaN: not there */
};

static const struct {
    const char *begins;
    size_t at;
} metrics[] = {
    { "Time to First Token (ms)", offsetof(struct aiperf, ttft) },   { "Time To First Token (ms)", offsetof(struct aiperf, ttft) },
    { "Inter Token Latency (ms)", offsetof(struct aiperf, itl) },    { "Request Latency (ms)", offsetof(struct aiperf, latency) },
    { "Input Sequence Length", offsetof(struct aiperf, in) },        { "Output Sequence Length", offsetof(struct aiperf, out) },
    { "Request Throughput", offsetof(struct aiperf, rate) },
};

/* "1,234.56" */
static double grouped_number(const char *s)
{
    char text[64];
    size_t n = 0;
    for (; *s && n + 1 < sizeof text; s++)
        if (*s != ',')
            text[n++] = *s;
    text[n] = 0;
    return csv_to_number(text);
}

static int aiperf_section(struct aiperf *a, const struct csv *c, struct error *err)
{
    const int avg = csv_find(c, "avg"), value = csv_find(c, "Value"), col = avg >= 0 ? avg : value;
    if (col < 0 || c->n_col < 2)
        return 0; /* of something else, such as telemetry */
    for (size_t i = 0; i < c->n_row; i++)
        for (size_t k = 0; k < ARRAY_LEN(metrics); k++) {
            const char *name = csv_at(c, i, 0)->s;
            if (strncmp(name, metrics[k].begins, strlen(metrics[k].begins)) != 0)
                continue;
            const double v = grouped_number(csv_at(c, i, col)->s);
            if (!(v >= 0))
                return csv_error(c, i, col, err, "expected a number, found \"%.64s\"", csv_at(c, i, col)->s);
            memcpy((char *)a + metrics[k].at, &v, sizeof v);
        }
    return 0;
}

int aiperf_read(struct measurements *l, const char *text, const struct measure_context *x, struct error *err)
{
    struct aiperf a = { NAN, NAN, NAN, NAN, NAN, NAN };
    uint32_t line = 1;
    int rc = 0;
    for (const char *p = text; *p && rc == 0;) {
        const char *end = strstr(p, "\n\n"), *crlf = strstr(p, "\n\r\n");
        if (!end || (crlf && crlf < end))
            end = crlf ? crlf : end;
        const size_t n = end ? (size_t)(end - p) + 1 : strlen(p);
        struct csv c;
        rc = csv_parse_at(&c, l->name, p, n, line, err);
        if (rc == 0) {
            rc = aiperf_section(&a, &c, err);
            csv_free(&c);
        }
        for (size_t i = 0; i < n; i++)
            line += p[i] == '\n';
        for (p += n; *p == '\n' || *p == '\r'; p++)
            line += *p == '\n';
    }
    if (rc != 0)
        return -1;
    struct measurement m = measure_empty(MEASURE_SERVING);
    if (!(a.in >= 1) || !(a.out >= 1) || (!(a.ttft > 0) && !(a.itl > 0)))
        return error_set(err, ERROR_INPUT, "%s: line 1, column 1: expected input and output sequence lengths, and a time to first "
                         "token or an inter-token latency", l->name);
    m.phase = MEASURE_REQUEST;
    m.mode = "agg";
    m.prompt = round(a.in);
    m.out = fmax(1, round(a.out));
    const double little = a.rate * a.latency / MS;
    m.concurrency = little >= 1 ? little : 1;
    if (name_row(l, &m, "aiperf", "", x, err) != 0 || add_latency_row(l, m, METRIC_TTFT, a.ttft, err) != 0)
        return -1;
    return add_latency_row(l, m, METRIC_TPOT, a.itl, err);
}
