/*
 * Results of server load generators: AIPerf and genai-perf (CSV and JSON), guidellm (JSON). Sources: ai-dynamo/aiperf CSV and JSON
 * exporters; triton-inference-server/perf_analyzer, genai-perf; vllm-project/guidellm, benchmark reports.
 */
#include "dataset/internal.h"
#include <math.h>
#include <string.h>

static const double MAX_MS = 3.2e10; /* one year */
enum { MS = 1000 };

/* Fields of a run; NaN, "": not stated. */
struct run_of_client {
    double ttft, itl, latency, in, out, rate; /* ms, tokens, requests/s */
    double concurrency;
    const char *engine, *model;
};

static struct run_of_client no_results(const char *engine)
{
    return (struct run_of_client){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, engine, "" };
}

/* Adds both latencies as rows. */
static int add_run(struct measurements *l, const struct run_of_client *r, struct measurement m, const struct measure_context *x, struct error *err)
{
    m.phase = MEASURE_REQUEST;
    m.mode = "agg";
    m.prompt = round(r->in);
    m.out = fmax(1, round(r->out));
    const double little = r->rate * r->latency / MS;
    m.concurrency = r->concurrency >= 1 ? r->concurrency : x->batch > 0 ? x->batch : measure_users(little);
    if (!(r->concurrency >= 1) && !(x->batch > 0) && isnan(little) && !(m.assumed = measure_copy_text(l, measure_one_at_a_time, err)))
        return -1;
    if (measure_name_row(l, &m, r->engine, r->model, x, err) != 0 || measure_add_latency(l, m, METRIC_TTFT, r->ttft, err) != 0)
        return -1;
    return measure_add_latency(l, m, METRIC_TPOT, r->itl, err);
}

static bool is_complete(const struct run_of_client *r)
{
    return r->in >= 1 && r->out >= 1 && (r->ttft > 0 || r->itl > 0);
}

static const char expected[] = "expected input and output sequence lengths, and a time to first token or an inter-token latency";

/* ---- AIPerf's CSV ------------------------------------------------------------------------------------------ */

static const struct {
    const char *begins, *key; /* CSV row prefix, JSON field */
    size_t at;
} metrics[] = {
    { "Time to First Token (ms)", "time_to_first_token", offsetof(struct run_of_client, ttft) },
    { "Time To First Token (ms)", NULL, offsetof(struct run_of_client, ttft) },
    { "Inter Token Latency (ms)", "inter_token_latency", offsetof(struct run_of_client, itl) },
    { "Request Latency (ms)", "request_latency", offsetof(struct run_of_client, latency) },
    { "Input Sequence Length", "input_sequence_length", offsetof(struct run_of_client, in) },
    { "Output Sequence Length", "output_sequence_length", offsetof(struct run_of_client, out) },
    { "Request Throughput", "request_throughput", offsetof(struct run_of_client, rate) },
};

/* "1,234.56": no commas, or one before each three integer digits. NaN: not a number. */
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

static int aiperf_section(struct run_of_client *a, const struct csv *c, struct error *err)
{
    const int avg = csv_find(c, "avg"), value = csv_find(c, "Value"), col = avg >= 0 ? avg : value;
    if (col < 0 || c->n_col < 2)
        return 0; /* another table, such as telemetry */
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
    struct run_of_client a = no_results("aiperf");
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
    if (!is_complete(&a))
        return error_set(err, ERROR_INPUT, "%s: line 1, column 1: %s", l->name, expected);
    return add_run(l, &a, measure_empty(MEASURE_SERVING), x, err);
}

/* ---- JSON ---------------------------------------------------------------------------------------------------- */

/* A JSON object of a result, and its position. */
struct client_object {
    const json_t *o;
    struct json_position at;
    const char *name;
};

static struct client_object inside(const struct client_object *p, const char *key)
{
    return (struct client_object){ json_object_get(p->o, key), json_position_field(&p->at, key), p->name };
}

/* Optional number above 0. */
static int number(const struct client_object *p, const char *key, double *out, struct error *err)
{
    const json_t *v = json_object_get(p->o, key);
    const double x = json_is_number(v) ? json_number_value(v) : NAN;
    if (json_is_none(v) || x == 0) /* 0: not measured */
        return 0;
    if (x > 0 && x <= MAX_MS) {
        *out = x;
        return 0;
    }
    char found[32];
    snprintf(found, sizeof found, "%.15g", x);
    const struct json_position at = json_position_field(&p->at, key);
    return json_position_error(&at, p->name, err, "%s: expected a number above 0, up to %g, found %s", key, MAX_MS, json_is_number(v) ? found : json_type_name(v));
}

/* Milliseconds of a time unit; 0: unknown. */
static double in_ms(const char *unit)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = { { "ms", 1 }, { "milliseconds", 1 }, { "s", 1e3 }, { "sec", 1e3 }, { "seconds", 1e3 }, { "us", 1e-3 }, { "microseconds", 1e-3 }, { "ns", 1e-6 },
                  { "nanoseconds", 1e-6 } };
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (strcmp(units[i].name, unit) == 0)
            return units[i].ms;
    return 0;
}

/* First text of an array, or the text itself; "": neither. */
static const char *first_text(const json_t *v)
{
    const json_t *const first = json_is_array(v) ? json_array_get(v, 0) : v;
    const char *const s = json_string_value(first);
    return s && strlen(s) <= MEASURE_MAX_TEXT ? s : "";
}

static const char *first_nonempty(const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (*texts[i])
            return texts[i];
    return "";
}

/* ---- AIPerf's JSON -------------------------------------------------------------------------------------------- */

bool aiperf_is(const json_t *o)
{
    return json_is_object(json_object_get(o, "input_sequence_length")) && json_is_object(json_object_get(o, "output_sequence_length"));
}

/* Concurrency of a closed loop: AIPerf's load generator or phases, both forms of genai-perf. */
static double aiperf_concurrency(const json_t *config)
{
    const json_t *phase, *const phases = json_object_get(config, "phases"), *const loadgen = json_object_get(config, "loadgen"),
                 *const analyzer = json_object_get(json_object_get(config, "perf_analyzer"), "stimulus");
    size_t i;
    double n = NAN;
    const json_t *const stated[] = { json_object_get(loadgen, "concurrency"), json_object_get(analyzer, "concurrency"), json_object_get(config, "concurrency"),
                                   json_object_get(json_object_get(phases, "profiling"), "concurrency") };
    for (i = 0; i < ARRAY_LEN(stated); i++)
        n = json_is_number(stated[i]) ? json_number_value(stated[i]) : n;
    json_array_foreach(phases, i, phase)
    {
        const char *const name = json_string_value(json_object_get(phase, "name"));
        const json_t *const v = json_object_get(phase, "concurrency");
        n = name && strcmp(name, "profiling") == 0 && json_is_number(v) ? json_number_value(v) : n;
    }
    return n >= 1 && n <= 1e9 ? n : NAN;
}

static int aiperf_metric(const struct client_object *p, size_t k, struct run_of_client *r, struct error *err)
{
    const struct client_object stat = inside(p, metrics[k].key);
    const bool time = metrics[k].at <= offsetof(struct run_of_client, latency);
    double v = NAN;
    if (json_is_none(stat.o))
        return 0;
    const char *const unit = first_text(json_object_get(stat.o, "unit"));
    const double scale = time && *unit ? in_ms(unit) : 1;
    if (!json_is_object(stat.o) || scale == 0)
        return json_position_error(&stat.at, p->name, err, "%s: expected an object with avg%s, found %s%.32s", metrics[k].key, time ? " in ms" : "",
                                json_is_object(stat.o) ? "the unit " : json_type_name(stat.o), json_is_object(stat.o) ? unit : "");
    if (number(&stat, "avg", &v, err) != 0)
        return -1;
    v *= scale;
    memcpy((char *)r + metrics[k].at, &v, sizeof v);
    return 0;
}

int aiperf_json(struct measurements *l, const json_t *o, const struct json_position *at, const struct measure_context *x, struct error *err)
{
    const struct client_object p = { o, *at, l->name };
    struct measurement m = measure_empty(MEASURE_SERVING);
    struct run_of_client r = no_results("aiperf");
    for (size_t k = 0; k < ARRAY_LEN(metrics); k++)
        if (metrics[k].key && aiperf_metric(&p, k, &r, err) != 0)
            return -1;
    if (!is_complete(&r))
        return json_position_error(at, l->name, err, "%s", expected);
    const json_t *const config = json_object_get(o, "input_config"), *const endpoint = json_object_get(config, "endpoint");
    const char *const models[] = { first_text(json_object_get(endpoint, "model_names")), first_text(json_object_get(config, "model_names")),
                                   first_text(json_object_get(config, "model")), first_text(json_object_get(endpoint, "model")) };
    r.model = first_nonempty(models, ARRAY_LEN(models));
    r.concurrency = aiperf_concurrency(config);
    m.line = at->line;
    if (json_is_true(json_object_get(o, "was_cancelled")))
        m.remark = "the run was cancelled before its end";
    return add_run(l, &r, m, x, err);
}

/* ---- guidellm -------------------------------------------------------------------------------------------------- */

bool guidellm_is(const json_t *o)
{
    return json_is_object(json_object_get(json_array_get(json_object_get(o, "benchmarks"), 0), "metrics"));
}

/* Mean over successful requests; older reports have one mean. */
static int guidellm_mean(const struct client_object *metrics_of, const char *key, double scale, double *out, struct error *err)
{
    const struct client_object metric = inside(metrics_of, key);
    const struct client_object good = json_is_object(json_object_get(metric.o, "successful")) ? inside(&metric, "successful") : metric;
    if (json_is_none(metric.o))
        return 0;
    if (!json_is_object(metric.o))
        return json_position_error(&metric.at, metrics_of->name, err, "%s: expected an object, found %s", key, json_type_name(metric.o));
    if (number(&good, "mean", out, err) != 0)
        return -1;
    *out *= scale;
    return 0;
}

/* Streams of a closed loop; synchronous: 1. Older reports have the strategy under args. */
static double guidellm_streams(const json_t *b)
{
    const json_t *const config = json_object_get(b, "config"), *const in = json_object_get(config ? config : json_object_get(b, "args"), "strategy");
    const json_t *const streams = json_object_get(in, "streams");
    const char *const type = json_string_value(json_object_get(in, "type_"));
    if (json_is_number(streams) && json_number_value(streams) >= 1)
        return json_number_value(streams);
    return type && strcmp(type, "synchronous") == 0 ? 1 : NAN;
}

static const char *guidellm_model(const json_t *o, const json_t *b)
{
    const json_t *const config = json_object_get(b, "config"), *const backend = json_object_get(config, "backend");
    const char *const models[] = { first_text(json_object_get(backend, "model")), first_text(json_object_get(json_object_get(b, "worker"), "backend_model")),
                                   first_text(json_object_get(json_object_get(b, "benchmarker"), "backend_model")),
                                   first_text(json_object_get(json_object_get(o, "args"), "model")), first_text(json_object_get(config, "model")) };
    return first_nonempty(models, ARRAY_LEN(models));
}

static int guidellm_benchmark(struct measurements *l, const json_t *o, const struct client_object *b, const struct measure_context *x, struct error *err)
{
    struct run_of_client r = no_results("guidellm");
    struct measurement m = measure_empty(MEASURE_SERVING);
    const struct client_object in = inside(b, "metrics");
    double users = NAN;
    if (guidellm_mean(&in, "time_to_first_token_ms", 1, &r.ttft, err) != 0 || guidellm_mean(&in, "inter_token_latency_ms", 1, &r.itl, err) != 0 ||
        guidellm_mean(&in, "request_latency", MS, &r.latency, err) != 0 || guidellm_mean(&in, "prompt_token_count", 1, &r.in, err) != 0 ||
        guidellm_mean(&in, "output_token_count", 1, &r.out, err) != 0 || guidellm_mean(&in, "requests_per_second", 1, &r.rate, err) != 0 ||
        guidellm_mean(&in, "request_concurrency", 1, &users, err) != 0)
        return -1;
    if (!is_complete(&r))
        return json_position_error(&b->at, l->name, err, "expected prompt_token_count and output_token_count, and time_to_first_token_ms or inter_token_latency_ms");
    r.model = guidellm_model(o, b->o);
    r.concurrency = guidellm_streams(b->o);
    if (!(r.concurrency >= 1) && users >= 1) /* measured concurrency */
        r.concurrency = measure_users(users);
    m.line = b->at.line;
    return add_run(l, &r, m, x, err);
}

int guidellm_json(struct measurements *l, const json_t *o, const struct json_position *at, const struct measure_context *x, struct error *err)
{
    const struct client_object p = { o, *at, l->name };
    struct client_object b = inside(&p, "benchmarks");
    const json_t *const list = b.o;
    json_position_enter(&b.at);
    for (size_t i = 0; i < json_array_size(list); i++, json_position_next(&b.at)) {
        b.o = json_array_get(list, i);
        if (guidellm_benchmark(l, o, &b, x, err) != 0)
            return -1;
    }
    return 0;
}
