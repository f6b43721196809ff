/*
 * Results of servers' benchmarks: vLLM `bench serve|latency|throughput` (--save-result, --output-json), SGLang's bench_serving; and
 * roofcast's runs. Missing fields (model, machine) come from the command line. Sources: vllm-project/vllm
 * vllm/benchmarks/{serve,latency,throughput}.py; sgl-project/sglang python/sglang/bench_serving.py.
 */
#include "dataset/internal.h"
#include "run/run.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MS = 1000 };
/* Defaults of vllm bench latency, which its file does not repeat. */
static const double LATENCY_IN = 32, LATENCY_OUT = 128, LATENCY_BATCH = 8;

static const char *given(const char *s)
{
    return s ? s : "";
}

int measure_name_row(struct measurements *l, struct measurement *m, const char *engine, const char *model,
                    const struct measure_context *x, struct error *err)
{
    const bool use_label = x->model_is_query && *model; /* the query's name becomes the label */
    char type[64];
    (void)quant_in_name(type, sizeof type, *model ? model : given(x->model));
    if (!(m->quant = measure_copy_text(l, *type ? type : given(x->type), err)))
        return -1;
    if (x->tp > 1) {
        m->n_devices = x->tp;
        m->tags |= TAG_TENSOR_PARALLEL;
        m->prefill.tp = m->decode.tp = x->tp;
    }
    m->engine = engine;
    m->model = measure_copy_text(l, *given(x->model) && !use_label ? x->model : model, err);
    m->label = m->model ? measure_copy_text(l, use_label ? given(x->model) : "", err) : NULL;
    m->hardware = m->label ? measure_copy_text(l, given(x->hardware), err) : NULL;
    return m->hardware ? 0 : -1;
}

static double value_or(double stated, double otherwise)
{
    return stated > 0 ? stated : otherwise;
}

double measure_users(double little)
{
    const double whole = round(little);
    return !(little >= 1) ? 1 : fabs(little - whole) < 0.02 * little ? whole : little;
}

const char measure_one_at_a_time[] = "one request at a time: the file does not state the concurrency (--batch-size sets it)";

/* Formatted text, owned by l; NULL: out of memory. */
static const char *format_text(struct measurements *l, struct error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static const char *format_text(struct measurements *l, struct error *err, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return measure_copy_text(l, text, err);
}

/* ---- vLLM --------------------------------------------------------------------------------------------------- */

int measure_add_latency(struct measurements *l, struct measurement m, enum measure_metric metric, double ms, struct error *err)
{
    if (!(ms > 0))
        return 0;
    m.metric = metric;
    m.value = ms / MS;
    return measure_add(l, &m, err);
}

/* A result and its position. */
struct result {
    const json_t *o;
    const struct json_position *at;
    const char *name;
};

static int refuse(const struct result *r, const char *key, struct error *err, const char *expected)
{
    const struct json_position at = json_position_field(r->at, key);
    const json_t *v = json_object_get(r->o, key);
    if (json_is_number(v))
        return json_position_error(&at, r->name, err, "%s: expected %s, found %g", key, expected, json_number_value(v));
    if (v && json_is_none(v) && json_is_string(v))
        return json_position_error(&at, r->name, err, "%s: expected %s, found %s", key, expected, json_string_value(v));
    return json_position_error(&at, r->name, err, "%s: expected %s, found %s", key, expected, v ? json_type_name(v) : "none");
}

/* Number of a field; NaN: missing, and not required. */
static int number(const struct result *r, const char *key, double lo, double hi, bool must, double *out, struct error *err)
{
    const json_t *v = json_object_get(r->o, key);
    char expected[64];
    *out = NAN;
    if (!must && json_is_none(v))
        return 0;
    const double x = json_is_number(v) ? json_number_value(v) : NAN;
    if (x >= lo && x <= hi) {
        *out = x;
        return 0;
    }
    snprintf(expected, sizeof expected, "%g to %g", lo, hi);
    return refuse(r, key, err, json_is_number(v) ? expected : "a number");
}

/* Plausibility limits: a year, 1e8 tokens a request. */
static const double MAX_MS = 3.2e10, MAX_S = 3.2e7, MAX_TOKENS = 1e15, MAX_REQUESTS = 1e9, MAX_LENGTH = 1e8;

/* SGLang's bench_serving writes vLLM's fields; both name the server. */
static const char *server_of(const json_t *o)
{
    static const char *const known[] = { "sglang", "lmdeploy", "trt", "tensorrt" };
    const char *backend = json_string_value(json_object_get(o, "backend"));
    for (size_t i = 0; backend && i < ARRAY_LEN(known); i++)
        if (strstr(backend, known[i]))
            return i < 2 ? known[i] : "tensorrt-llm";
    return "vllm";
}

/* Tokens per step and sequence with speculative decoding: accepted ones and one of the target. 1: none. */
static int read_drafts(struct measurements *l, struct measurement *m, const struct result *r, struct error *err)
{
    static const double MOST = 1000;
    double vllm, sglang, drafts, accepted;
    if (number(r, "spec_decode_acceptance_length", 0, MOST, false, &vllm, err) != 0 || number(r, "accept_length", 0, MOST, false, &sglang, err) != 0 ||
        number(r, "spec_decode_num_drafts", 0, 1e15, false, &drafts, err) != 0 ||
        number(r, "spec_decode_accepted_tokens", 0, 1e15, false, &accepted, err) != 0)
        return -1;
    const double counted = drafts > 0 ? 1 + accepted / drafts : NAN, length = vllm >= 1 ? vllm : sglang >= 1 ? sglang : counted;
    if (!(length > 1))
        return 0;
    m->step_tokens = length;
    m->remark = format_text(l, err, "speculative decoding: a step makes %.3g tokens of a sequence; the draft's own work is not counted", length);
    return m->remark ? 0 : -1;
}

static void take_devices(struct measurement *m, double tp, const struct measure_context *x)
{
    if (!(tp > 1 && tp <= 65536 && tp == floor(tp)) || x->tp > 0)
        return;
    m->n_devices = m->prefill.tp = m->decode.tp = (int)tp;
    m->tags |= TAG_TENSOR_PARALLEL;
}

/* Server settings: SGLang writes devices and the model's path; vLLM writes --metadata, with names from its documentation. */
static int read_server(struct measurement *m, const struct result *r, const struct measure_context *x, const char **model, struct error *err)
{
    static const char *const stated[] = { "tp", "tp_size", "tensor_parallel_size" };
    const struct result server = { json_object_get(r->o, "server_info"), r->at, r->name };
    double tp;
    for (size_t i = 0; i < ARRAY_LEN(stated); i++) {
        const json_t *const v = json_object_get(r->o, stated[i]);
        take_devices(m, json_is_string(v) ? csv_to_number(json_string_value(v)) : json_number_value(v), x);
    }
    if (!json_is_object(server.o))
        return 0;
    if (number(&server, "tp_size", 1, 65536, false, &tp, err) != 0)
        return -1;
    take_devices(m, tp, x);
    const char *const path = json_string_value(json_object_get(server.o, "model_path"));
    if (!**model && path && strlen(path) <= MEASURE_MAX_TEXT)
        *model = path;
    return 0;
}

/* Server option from the result or SGLang's server_info; NULL: not stated, or default. */
static const char *server_text(const struct result *r, const char *key)
{
    const json_t *const here = json_object_get(r->o, key), *const inner = json_object_get(json_object_get(r->o, "server_info"), key);
    const char *const s = json_string_value(json_is_string(here) ? here : inner);
    return s && *s && strlen(s) <= 64 && strcmp(s, "auto") != 0 && strcmp(s, "none") != 0 ? s : NULL;
}

/* Weight type, unless in the model's name, and cache type; remark on failed requests. */
static int take_server_types(struct measurements *l, struct measurement *m, const struct result *r, struct error *err)
{
    const char *const quant = server_text(r, "quantization"), *const cache = server_text(r, "kv_cache_dtype");
    char text[320] = "";
    if (quant && !*m->quant && !(m->quant = measure_copy_text(l, quant, err)))
        return -1;
    if (cache && strncmp(cache, "fp8", 3) == 0)
        m->type_k = m->type_v = "FP8";
    else if (cache && strncmp(cache, "bfloat16", 8) != 0 && strncmp(cache, "float16", 7) != 0)
        snprintf(text, sizeof text, "kv_cache_dtype %.64s is unknown: assumed 16 bits", cache);
    const double failed = json_number_value(json_object_get(r->o, "failed"));
    if (failed > 0)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.0f requests failed: times are those of the others", *text ? "; " : "", failed);
    if (!*text)
        return 0;
    m->remark = format_text(l, err, "%s%s%s", given(m->remark), *given(m->remark) ? "; " : "", text);
    return m->remark ? 0 : -1;
}

static int vllm_serve(struct measurements *l, const struct result *r, const struct measure_context *x, struct error *err)
{
    struct measurement m = measure_empty(MEASURE_SERVING);
    const json_t *const id = json_object_get(r->o, "model_id");
    const char *model = given(json_string_value(id));
    double completed, in, out, duration, ttft, tpot, concurrency;
    if (id && !json_is_null(id) && (!json_is_string(id) || strlen(model) > MEASURE_MAX_TEXT))
        return refuse(r, "model_id", err, json_is_string(id) ? "at most 4096 bytes" : "a text");
    if (number(r, "completed", 1, MAX_REQUESTS, true, &completed, err) != 0 ||
        number(r, "total_input_tokens", completed, MAX_LENGTH * completed, true, &in, err) != 0 ||
        number(r, "total_output_tokens", completed, MAX_LENGTH * completed, true, &out, err) != 0 ||
        number(r, "duration", 1e-9, MAX_S, true, &duration, err) != 0 || number(r, "mean_ttft_ms", 0, MAX_MS, false, &ttft, err) != 0 ||
        number(r, "mean_tpot_ms", 0, MAX_MS, false, &tpot, err) != 0 ||
        number(r, "max_concurrency", 1, 1e18, false, &concurrency, err) != 0 || read_drafts(l, &m, r, err) != 0 ||
        read_server(&m, r, x, &model, err) != 0)
        return -1;
    if (!(ttft > 0) && !(tpot > 0)) /* vLLM writes 0 for not measured */
        return refuse(r, "mean_ttft_ms", err, "a time above 0, or mean_tpot_ms");
    m.phase = MEASURE_REQUEST;
    m.prompt = round(in / completed);
    m.out = round(out / completed);
    /* Concurrency: the limit, or Little's law applied to the means. */
    const double little = completed / duration * (ttft + tpot * (m.out - 1)) / MS;
    m.concurrency = fmin(concurrency >= 1 ? concurrency : value_or(x->batch, measure_users(little)), completed);
    if (!(concurrency >= 1) && !(x->batch > 0) && isnan(little) && !(m.assumed = format_text(l, err, "%s", measure_one_at_a_time)))
        return -1;
    m.mode = "agg";
    const char *const drafts = m.remark;
    m.remark = "";
    if (measure_name_row(l, &m, server_of(r->o), model, x, err) != 0 || take_server_types(l, &m, r, err) != 0)
        return -1;
    struct measurement first = m; /* speculative decoding affects steps only */
    if (*given(drafts) && !(m.remark = format_text(l, err, "%s%s%s", drafts, *m.remark ? "; " : "", m.remark)))
        return -1;
    first.step_tokens = 1;
    if (measure_add_latency(l, first, METRIC_TTFT, ttft, err) != 0)
        return -1;
    return measure_add_latency(l, m, METRIC_TPOT, tpot, err);
}

/* Text of the defaults assumed. NULL: out of memory. */
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
    return format_text(l, err, "%s%s%sthe defaults of vllm bench latency: its file does not state them (--input-len, --output-len, --batch-size set them)", in,
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
    m.prompt = value_or(x->input_len, LATENCY_IN);
    m.out = value_or(x->output_len, LATENCY_OUT);
    m.batch = value_or(x->batch, LATENCY_BATCH);
    m.context = m.prompt + m.out / 2;
    m.value = m.batch * m.out / s;
    m.assumed = latency_defaults(l, x, err);
    return !m.assumed ? -1 : measure_name_row(l, &m, "vllm", "", x, err) != 0 ? -1 : measure_add(l, &m, err);
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
    /* Prompt and output tokens are not separated: as in ShareGPT, about equal. */
    const double all = tokens / requests;
    const bool stated = x->input_len > 0 || x->output_len > 0;
    m.prompt = x->input_len > 0 ? x->input_len : x->output_len > 0 ? all - x->output_len : round(all / 2);
    m.out = x->output_len > 0 ? x->output_len : all - m.prompt;
    if (!(m.prompt > 0 && m.out > 0 && fabs(m.prompt + m.out - all) < 0.02 * all)) {
        const struct json_position at = json_position_field(r->at, "total_num_tokens");
        return json_position_error(&at, l->name, err, "total_num_tokens: expected %g requests of %g and %g tokens (--input-len, --output-len), found %g tokens each",
                                requests, x->input_len, x->output_len, all);
    }
    m.context = m.prompt + m.out / 2;
    m.batch = x->batch > 0 ? x->batch : fmin(requests, 65536);
    if (!stated)
        m.assumed = format_text(l, err, "input %g, output %g tokens: halves of a request's tokens, which the file does not separate (--input-len or "
                              "--output-len does)", m.prompt, m.out);
    return !m.assumed ? -1 : measure_name_row(l, &m, "vllm", "", x, err) != 0 ? -1 : measure_add(l, &m, err);
}

int vllm_read(struct measurements *l, const json_t *o, const struct json_position *at, const struct measure_context *x, struct error *err)
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

/* Adds line and column to an error of run_from_json(). */
static int locate_error(const struct measurements *l, const struct json_position *at, struct error *err)
{
    const size_t n = strlen(l->name);
    if (err->kind != ERROR_INPUT || strncmp(err->msg, l->name, n) != 0 || strncmp(err->msg + n, ": ", 2) != 0)
        return -1;
    char message[sizeof err->msg];
    snprintf(message, sizeof message, "%s", err->msg + n + 2);
    const struct json_position position = json_position_of_error(at, message);
    return json_position_error(&position, l->name, err, "%s", message);
}

int run_read(struct measurements *l, const json_t *doc, const char *schema, const struct json_position *at, const struct measure_context *x,
             struct error *err)
{
    struct run r;
    struct json_position position = json_position_field(at, "rows");
    int rc = run_from_json(&r, doc, l->name, schema, err);
    if (rc != 0)
        return locate_error(l, at, err);
    json_position_enter(&position);
    for (size_t i = 0; i < r.n_row && rc == 0; i++, json_position_next(&position)) {
        const struct run_row *row = &r.row[i];
        struct measurement m = measure_empty(MEASURE_RATE);
        m.line = position.line;
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
        rc = measure_name_row(l, &m, "roofcast", row->model, x, err);
        if (rc == 0)
            rc = (m.named = measure_copy_text(l, r.prov.cpu, err)) ? 0 : -1;
        if (!*m.hardware)
            m.hardware = m.named;
        if (rc == 0)
            rc = (m.quant = measure_copy_text(l, row->type, err)) ? 0 : -1;
        if (rc == 0)
            rc = measure_add(l, &m, err);
    }
    run_free(&r);
    return rc;
}
