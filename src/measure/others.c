/*
 * Results of servers' benchmarks: vLLM `bench serve|latency|throughput` (--save-result, --output-json), AIPerf and genai-perf
 * (CSV), and roofcast's own runs. What such a file does not say (model, machine) comes from the command line.
 * Sources: vllm-project/vllm vllm/benchmarks/{serve,latency,throughput}.py; ai-dynamo/aiperf csv exporter,
 * triton-inference-server/perf_analyzer genai-perf csv exporter.
 */
#include "measure/internal.h"
#include "run/run.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MS = 1000 };
/* vllm bench latency's defaults, which its file does not repeat. */
static const double LATENCY_IN = 32, LATENCY_OUT = 128, LATENCY_BATCH = 8;

static const char *given(const char *s)
{
    return s ? s : "";
}

/* A row's names and devices from the command line. -1: out of memory. */
static int name_row(struct measurements *l, struct measurement *m, const char *engine, const char *model,
                    const struct measure_context *x, struct error *err)
{
    const bool asked = x->asked && *model; /* then another name it may go by */
    char type[64];
    (void)quant_in_name(type, sizeof type, *model ? model : given(x->model));
    if (!(m->quant = measure_keep(l, *type ? type : given(x->type), err)))
        return -1;
    if (x->tp > 1) {
        m->n_devices = x->tp;
        m->tags |= TAG_TENSOR_PARALLEL;
        m->prefill.tp = m->decode.tp = x->tp;
    }
    m->engine = engine;
    m->model = measure_keep(l, *given(x->model) && !asked ? x->model : model, err);
    m->label = m->model ? measure_keep(l, asked ? given(x->model) : "", err) : NULL;
    m->hardware = m->label ? measure_keep(l, given(x->hardware), err) : NULL;
    return m->hardware ? 0 : -1;
}

static double said_or(double said, double otherwise)
{
    return said > 0 ? said : otherwise;
}

/* Of a closed loop they are a whole number, but for how it begins and ends. */
static double users(double little)
{
    const double whole = round(little);
    return !(little >= 1) ? 1 : fabs(little - whole) < 0.02 * little ? whole : little;
}

static const char *const one_at_a_time = "one request at a time: the file does not say how many there were (--batch-size does)";

/* A text that lives as long as l; NULL: out of memory. */
static const char *keep_text(struct measurements *l, struct error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static const char *keep_text(struct measurements *l, struct error *err, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return measure_keep(l, text, err);
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

/* A result and where it stands. */
struct result {
    const json_t *o;
    const struct json_text *at;
    const char *name;
};

static int refuse(const struct result *r, const char *key, struct error *err, const char *expected)
{
    const struct json_text at = json_text_field(r->at, key);
    const json_t *v = json_object_get(r->o, key);
    if (json_is_number(v))
        return json_text_refuse(&at, r->name, err, "%s: expected %s, found %g", key, expected, json_number_value(v));
    return json_text_refuse(&at, r->name, err, "%s: expected %s, found %s", key, expected, v ? json_type_name(v) : "none");
}

/* A number of a field; NaN where it may be missing and is. */
static int number(const struct result *r, const char *key, double lo, double hi, bool must, double *out, struct error *err)
{
    const json_t *v = json_object_get(r->o, key);
    char expected[64];
    *out = NAN;
    if (!must && (!v || json_is_null(v)))
        return 0;
    const double x = json_is_number(v) ? json_number_value(v) : NAN;
    if (x >= lo && x <= hi) {
        *out = x;
        return 0;
    }
    snprintf(expected, sizeof expected, "%g to %g", lo, hi);
    return refuse(r, key, err, json_is_number(v) ? expected : "a number");
}

/* What no run reaches: a year, 1e8 tokens a request. */
static const double MAX_MS = 3.2e10, MAX_S = 3.2e7, MAX_TOKENS = 1e15, MAX_REQUESTS = 1e9, MAX_LENGTH = 1e8;

/* SGLang's bench_serving writes vLLM's fields, and both name the server that answered. */
static const char *server_of(const json_t *o)
{
    static const char *const known[] = { "sglang", "lmdeploy", "trt", "tensorrt" };
    const char *backend = json_string_value(json_object_get(o, "backend"));
    for (size_t i = 0; backend && i < ARRAY_LEN(known); i++)
        if (strstr(backend, known[i]))
            return i < 2 ? known[i] : "tensorrt-llm";
    return "vllm";
}

static int vllm_serve(struct measurements *l, const struct result *r, const struct measure_context *x, struct error *err)
{
    struct measurement m = measure_empty(MEASURE_SERVING);
    const json_t *const id = json_object_get(r->o, "model_id");
    const char *const model = given(json_string_value(id));
    double completed, in, out, duration, ttft, tpot, concurrency;
    if (id && !json_is_null(id) && (!json_is_string(id) || strlen(model) > MEASURE_MAX_TEXT))
        return refuse(r, "model_id", err, json_is_string(id) ? "at most 4096 bytes" : "a text");
    if (number(r, "completed", 1, MAX_REQUESTS, true, &completed, err) != 0 ||
        number(r, "total_input_tokens", completed, MAX_LENGTH * completed, true, &in, err) != 0 ||
        number(r, "total_output_tokens", completed, MAX_LENGTH * completed, true, &out, err) != 0 ||
        number(r, "duration", 1e-9, MAX_S, true, &duration, err) != 0 || number(r, "mean_ttft_ms", 0, MAX_MS, false, &ttft, err) != 0 ||
        number(r, "mean_tpot_ms", 0, MAX_MS, false, &tpot, err) != 0 ||
        number(r, "max_concurrency", 1, 1e18, false, &concurrency, err) != 0)
        return -1;
    if (!(ttft > 0) && !(tpot > 0)) /* 0: none was measured, as vLLM writes it */
        return refuse(r, "mean_ttft_ms", err, "a time above 0, or mean_tpot_ms");
    m.phase = MEASURE_REQUEST;
    m.prompt = round(in / completed);
    m.out = round(out / completed);
    /* Requests at once: as many as allowed, or by Little's law what the means come to. */
    const double little = completed / duration * (ttft + tpot * (m.out - 1)) / MS;
    m.concurrency = fmin(concurrency >= 1 ? concurrency : said_or(x->batch, users(little)), completed);
    if (!(concurrency >= 1) && !(x->batch > 0) && isnan(little) && !(m.assumed = keep_text(l, err, "%s", one_at_a_time)))
        return -1;
    m.mode = "agg";
    if (name_row(l, &m, server_of(r->o), model, x, err) != 0 || add_latency_row(l, m, METRIC_TTFT, ttft, err) != 0)
        return -1;
    return add_latency_row(l, m, METRIC_TPOT, tpot, err);
}

/* Which of them were taken. NULL: out of memory. */
static const char *latency_defaults(struct measurements *l, const struct measure_context *x, struct error *err)
{
    char in[40] = "", out[40] = "", batch[40] = "";
    if (!(x->input_len > 0))
        snprintf(in, sizeof in, "input %g tokens, ", LATENCY_IN);
    if (!(x->output_len > 0))
        snprintf(out, sizeof out, "output %g tokens, ", LATENCY_OUT);
    if (!(x->batch > 0))
        snprintf(batch, sizeof batch, "%g sequences, ", LATENCY_BATCH);
    if (!*in && !*out && !*batch)
        return "";
    return keep_text(l, err, "%s%s%sas vllm bench latency has by default: its file does not say (--input-len, --output-len, --batch-size do)", in,
                     out, batch);
}

static int vllm_latency(struct measurements *l, const struct result *r, const struct measure_context *x, struct error *err)
{
    struct measurement m = measure_empty(MEASURE_RATE);
    double s;
    if (number(r, "avg_latency", 1e-9, MAX_S, true, &s, err) != 0)
        return -1;
    m.phase = MEASURE_REQUEST;
    m.tags = TAG_E2E | TAG_DERIVED;
    m.prompt = said_or(x->input_len, LATENCY_IN);
    m.out = said_or(x->output_len, LATENCY_OUT);
    m.batch = said_or(x->batch, LATENCY_BATCH);
    m.context = m.prompt + m.out / 2;
    m.value = m.batch * m.out / s;
    m.assumed = latency_defaults(l, x, err);
    return !m.assumed ? -1 : name_row(l, &m, "vllm", "", x, err) != 0 ? -1 : measure_add(l, &m, err);
}

static int vllm_throughput(struct measurements *l, const struct result *r, const struct measure_context *x, struct error *err)
{
    struct measurement m = measure_empty(MEASURE_RATE);
    double requests, tokens, rate, seconds, per_s;
    if (number(r, "elapsed_time", 1e-9, MAX_S, true, &seconds, err) != 0 ||
        number(r, "requests_per_second", 1e-9, 1e12, true, &per_s, err) != 0 || number(r, "num_requests", 1, MAX_REQUESTS, true, &requests, err) != 0 ||
        number(r, "total_num_tokens", requests, MAX_TOKENS, true, &tokens, err) != 0 ||
        number(r, "tokens_per_second", 1e-9, 1e12, true, &rate, err) != 0)
        return -1;
    m.phase = MEASURE_REQUEST;
    m.tags = TAG_E2E | TAG_TOTAL_TOKENS | TAG_MAX_THROUGHPUT;
    m.value = rate;
    /* Prompts and answers are not told apart there: as ShareGPT's, about equal. */
    const double all = tokens / requests;
    const bool said = x->input_len > 0 || x->output_len > 0;
    m.prompt = x->input_len > 0 ? x->input_len : x->output_len > 0 ? all - x->output_len : round(all / 2);
    m.out = x->output_len > 0 ? x->output_len : all - m.prompt;
    if (!(m.prompt > 0 && m.out > 0 && fabs(m.prompt + m.out - all) < 0.02 * all)) {
        const struct json_text at = json_text_field(r->at, "total_num_tokens");
        return json_text_refuse(&at, l->name, err, "total_num_tokens: expected %g requests of %g and %g tokens (--input-len, --output-len), found %g tokens each",
                                requests, x->input_len, x->output_len, all);
    }
    m.context = m.prompt + m.out / 2;
    m.batch = x->batch > 0 ? x->batch : fmin(requests, 65536);
    if (!said)
        m.assumed = keep_text(l, err, "input %g, output %g tokens: halves of what a request has, as the file does not tell them apart (--input-len or "
                              "--output-len does)", m.prompt, m.out);
    return !m.assumed ? -1 : name_row(l, &m, "vllm", "", x, err) != 0 ? -1 : measure_add(l, &m, err);
}

int vllm_read(struct measurements *l, const json_t *o, const struct json_text *at, const struct measure_context *x, struct error *err)
{
    const struct result r = { o, at, l->name };
    if (json_object_get(o, "avg_latency"))
        return vllm_latency(l, &r, x, err);
    if (json_object_get(o, "requests_per_second"))
        return vllm_throughput(l, &r, x, err);
    return vllm_serve(l, &r, x, err);
}

bool vllm_is(const json_t *o)
{
    return json_object_get(o, "avg_latency") || (json_object_get(o, "requests_per_second") && json_object_get(o, "elapsed_time")) ||
           (json_object_get(o, "total_output_tokens") && json_object_get(o, "completed"));
}

/* ---- roofcast ---------------------------------------------------------------------------------------------------- */

/* The run's refusals say which row and field; where that is. */
static int place_refusal(const struct measurements *l, const struct json_text *at, struct error *err)
{
    const size_t n = strlen(l->name);
    if (err->kind != ERROR_INPUT || strncmp(err->msg, l->name, n) != 0 || strncmp(err->msg + n, ": ", 2) != 0)
        return -1;
    char said[sizeof err->msg];
    snprintf(said, sizeof said, "%s", err->msg + n + 2);
    const struct json_text place = json_text_said(at, said);
    return json_text_refuse(&place, l->name, err, "%s", said);
}

int run_read(struct measurements *l, const json_t *doc, const char *schema, const struct json_text *at, const struct measure_context *x,
             struct error *err)
{
    struct run r;
    struct json_text place = json_text_field(at, "rows");
    int rc = run_from_json(&r, doc, l->name, schema, err);
    if (rc != 0)
        return place_refusal(l, at, err);
    json_text_enter(&place);
    for (size_t i = 0; i < r.n_row && rc == 0; i++, json_text_next(&place)) {
        const struct run_row *row = &r.row[i];
        struct measurement m = measure_empty(MEASURE_RATE);
        m.line = place.line;
        m.phase = strcmp(row->phase, "prefill") == 0 ? MEASURE_PREFILL : MEASURE_DECODE;
        m.value = row->tok_s_mean;
        m.prompt = m.phase == MEASURE_PREFILL ? row->n_prompt : row->n_depth;
        m.context = m.phase == MEASURE_PREFILL ? row->n_depth : row->n_depth + row->n_gen / 2.0;
        m.batch = row->n_batch;
        m.out = m.phase == MEASURE_DECODE ? row->n_gen : NAN;
        m.read_bytes = row->weight_bytes / (m.phase == MEASURE_DECODE ? row->n_gen : 1);
        m.n_threads = row->n_threads;
        m.n_ubatch = row->n_ubatch;
        m.tags = TAG_CPU;
        if (!(m.value > 0))
            continue; /* not measured */
        rc = name_row(l, &m, "roofcast", row->model, x, err);
        if (rc == 0)
            rc = (m.named = measure_keep(l, r.prov.cpu, err)) ? 0 : -1;
        if (!*m.hardware)
            m.hardware = m.named;
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

/* "1,234.56": commas stand before each three digits of the whole part, or nowhere. NAN: no such number. */
static double grouped_number(const char *s)
{
    char text[64];
    size_t n = 0, digits = 0; /* since the last comma */
    bool grouped = false;
    const size_t whole = strcspn(s, ".");
    for (size_t i = 0; s[i] && n + 1 < sizeof text; i++) {
        if (s[i] == ',') {
            if (i > whole || digits == 0 || digits > 3 || (grouped && digits != 3))
                return NAN;
            grouped = true;
            digits = 0;
            continue;
        }
        digits += i < whole;
        text[n++] = s[i];
    }
    text[n] = 0;
    return grouped && digits != 3 ? NAN : csv_to_number(text);
}

static int aiperf_section(struct aiperf *a, const struct csv *c, struct error *err)
{
    const int avg = csv_find(c, "avg"), value = csv_find(c, "Value"), col = avg >= 0 ? avg : value;
    if (col < 0 || c->n_col < 2)
        return 0; /* of something else, such as telemetry */
    for (size_t i = 0; i < c->n_row; i++)
        for (size_t k = 0; k < ARRAY_LEN(metrics); k++) {
            const char *name = csv_at(c, i, 0)->s;
            const size_t unit = strcspn(metrics[k].begins, "(");
            if (strncmp(name, metrics[k].begins, strlen(metrics[k].begins)) != 0) {
                if (metrics[k].begins[unit] && strncmp(name, metrics[k].begins, unit) == 0 && name[unit] == '(')
                    return csv_error(c, i, 0, err, "expected \"%s\", found \"%.64s\"", metrics[k].begins, name);
                continue;
            }
            const double v = grouped_number(csv_at(c, i, col)->s);
            double had;
            if (!(v > 0 && v <= MAX_MS))
                return csv_error(c, i, col, err, "expected a number above 0, up to %g, found \"%.64s\"", MAX_MS, csv_at(c, i, col)->s);
            memcpy(&had, (char *)a + metrics[k].at, sizeof had);
            if (!isnan(had))
                return csv_error(c, i, 0, err, "a second \"%.64s\": the file is of one run", name);
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
    m.concurrency = said_or(x->batch, users(little));
    if (!(x->batch > 0) && isnan(little) && !(m.assumed = keep_text(l, err, "%s", one_at_a_time)))
        return -1;
    if (name_row(l, &m, "aiperf", "", x, err) != 0 || add_latency_row(l, m, METRIC_TTFT, a.ttft, err) != 0)
        return -1;
    return add_latency_row(l, m, METRIC_TPOT, a.itl, err);
}
