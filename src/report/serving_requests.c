/* Rows of requests, and the result file of vllm bench serve. */
#include "report/serving_report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a row a request ------------------------------------------------------------------------------------ */

struct request_row {
    uint64_t id;
    double arrival_s, client_queue_s, queue_s, ttft_s, tpot_s, e2e_s;
    uint32_t in, out, hit, preemptions;
};

#define AT(m) COLUMN_AT(struct request_row, m)
static const struct column request_columns[] = {
    { "id", NULL, COL_INT, NULL, COL_MAJOR, AT(id), EMPTY_VALUE, NULL, "of the workload, from 0 on" },
    { "arrival_s", NULL, COL_SECONDS, "s", COL_MAJOR, AT(arrival_s), EMPTY_NULL, NULL, "when it was due" },
    { "client_queue_s", NULL, COL_SECONDS, "s", COL_MAJOR, AT(client_queue_s), EMPTY_NULL, NULL, "sent since due: held back by the client's limit" },
    { "queue_s", NULL, COL_SECONDS, "s", COL_MAJOR, AT(queue_s), EMPTY_NULL, NULL, "admitted since sent" },
    { "ttft_s", NULL, COL_SECONDS, "s", COL_MAJOR, AT(ttft_s), EMPTY_NULL, NULL, "first token since sent; null, as are the other times: it has none, or was refused" },
    { "tpot_s", NULL, COL_SECONDS, "s", COL_MAJOR, AT(tpot_s), EMPTY_NULL, NULL, "(last token - first) / (output tokens - 1); null: one token" },
    { "e2e_s", NULL, COL_SECONDS, "s", COL_MAJOR, AT(e2e_s), EMPTY_NULL, NULL, "last token since sent" },
    { "in", NULL, COL_INT, "tokens", COL_MAJOR, AT(in), EMPTY_VALUE, NULL, "of the prompt" },
    { "out", NULL, COL_INT, "tokens", COL_MAJOR, AT(out), EMPTY_VALUE, NULL, "generated" },
    { "hit", NULL, COL_INT, "tokens", COL_MAJOR, AT(hit), EMPTY_VALUE, NULL, "of the prompt, found in the prefix cache" },
    { "preemptions", NULL, COL_INT, NULL, COL_MAJOR, AT(preemptions), EMPTY_VALUE, NULL, NULL },
};
#undef AT
const struct table_fields serving_request_fields = { "simulate.request", request_columns, ARRAY_LEN(request_columns) };

static double span_s(uint64_t from_ps, uint64_t to_ps)
{
    return to_ps > from_ps ? (double)(to_ps - from_ps) / PS_PER_S : 0;
}

static void fill(struct request_row *x, size_t i, const struct serving_subject *s)
{
    const struct serve_outcome *o = &s->r->out[i];
    const struct serve_request *q = &s->w->r[i];
    const bool has = o->first_ps != SERVE_NOT_YET && !o->failed;
    *x = (struct request_row){ .id = i, .in = q->n_in, .out = q->n_out, .hit = o->n_hit, .preemptions = o->n_preempt, .arrival_s = (double)o->due_ps / PS_PER_S };
    x->client_queue_s = has ? span_s(o->due_ps, o->sent_ps) : NAN;
    x->queue_s = has ? span_s(o->sent_ps, o->start_ps) : NAN;
    x->ttft_s = has ? span_s(o->sent_ps, o->first_ps) : NAN;
    x->e2e_s = has ? span_s(o->sent_ps, o->end_ps) : NAN;
    x->tpot_s = has && q->n_out > 1 ? span_s(o->first_ps, o->end_ps) / (q->n_out - 1) : NAN;
}

/* Some requests; of csv the heading only with the first. */
static int write_some(FILE *f, enum report_format format, const struct serving_subject *s, size_t from, size_t to, struct error *err)
{
    struct table_rows rows = { .size = sizeof(struct request_row) };
    const struct table t = { "roofcast.simulate.request", 1, NULL, request_columns, ARRAY_LEN(request_columns), &rows, NULL };
    char *text = NULL;
    size_t size = 0;
    for (size_t i = from; i < to; i++)
        fill(table_add(&rows), i, s);
    FILE *m = open_memstream(&text, &size);
    int rc = m ? report_print(m, format, &t, 0, err) : error_oom(err, 0, "the rows of requests");
    if (m && fclose(m) != 0 && rc == 0)
        rc = error_oom(err, size, "the rows of requests");
    if (rc == 0) {
        const char *end = format == REPORT_CSV && from > 0 ? memchr(text, '\n', size) : NULL;
        const char *start = end ? end + 1 : text;
        fwrite(start, 1, size - (size_t)(start - text), f); /* the caller checks f when it closes it */
    }
    free(text);
    table_rows_free(&rows);
    return rc;
}

int serving_write_requests(FILE *f, enum report_format format, const struct serving_subject *s, struct error *err)
{
    enum { CHUNK = 4096 };
    if (format != REPORT_CSV && format != REPORT_JSONL)
        return error_set(err, ERROR_USAGE, "requests are written as csv or jsonl");
    for (size_t i = 0; i < s->r->n; i += CHUNK) {
        if (interrupt_check(err) != 0 || write_some(f, format, s, i, s->r->n - i < CHUNK ? s->r->n : i + CHUNK, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- vllm bench serve ---------------------------------------------------------------------------------------- */

/* numpy's mean of nothing is taken of 0 there. */
static json_t *number(double v)
{
    return json_real(isfinite(v) ? v : 0);
}

static void put_head(json_t *j, const struct serving_subject *s)
{
    json_object_set_new(j, "date", s->date ? json_text(s->date) : json_null());
    json_object_set_new(j, "endpoint_type", json_string("vllm"));
    json_object_set_new(j, "backend", json_string("vllm"));
    json_object_set_new(j, "label", json_null());
    json_object_set_new(j, "model_id", s->model ? json_text(s->model) : json_null());
    json_object_set_new(j, "tokenizer_id", s->model ? json_text(s->model) : json_null());
    json_object_set_new(j, "num_prompts", json_integer((json_int_t)s->r->n));
    json_object_set_new(j, "request_rate", isinf(s->rate) ? json_string("inf") : json_num(s->rate));
    json_object_set_new(j, "burstiness", json_num(s->burstiness));
    json_object_set_new(j, "max_concurrency", s->options->max_concurrency > 0 ? json_integer(s->options->max_concurrency) : json_null());
}

static void put_totals(json_t *j, const struct serve_metrics *m)
{
    json_object_set_new(j, "duration", number(m->v[VALUE_DURATION].value));
    json_object_set_new(j, "completed", json_integer((json_int_t)m->n));
    json_object_set_new(j, "failed", json_integer((json_int_t)m->n_failed));
    json_object_set_new(j, "total_input_tokens", json_integer((json_int_t)m->n_in_tok));
    json_object_set_new(j, "total_output_tokens", json_integer((json_int_t)m->n_out_tok));
    json_object_set_new(j, "request_throughput", number(m->v[VALUE_REQUEST_S].value));
    json_object_set_new(j, "request_goodput", m->has_slo ? number(m->v[VALUE_GOODPUT_REQUEST_S].value) : json_null());
    json_object_set_new(j, "output_throughput", number(m->v[VALUE_OUT_TOK_S].value));
    json_object_set_new(j, "total_token_throughput", number(m->v[VALUE_TOTAL_TOK_S].value));
}

/* Of every request: lengths, times in seconds. */
static void put_requests(json_t *j, const struct serving_subject *s, bool detailed)
{
    static const char *const keys[] = { "input_lens", "output_lens", "ttfts", "latencies", "start_times", "queue_times", "errors" };
    json_t *a[ARRAY_LEN(keys)];
    for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
        a[k] = detailed || k == 3 || k == 5 ? json_array() : NULL;
        if (a[k])
            json_object_set_new(j, keys[k], a[k]);
    }
    for (size_t i = 0; i < s->r->n; i++) {
        struct request_row x;
        fill(&x, i, s);
        const bool has = !isnan(x.e2e_s);
        json_array_append_new(a[3], number(x.e2e_s));
        json_array_append_new(a[5], number(x.client_queue_s));
        if (!detailed)
            continue;
        json_array_append_new(a[0], json_integer(x.in));
        json_array_append_new(a[1], json_integer(has ? x.out : 0));
        json_array_append_new(a[2], number(x.ttft_s));
        json_array_append_new(a[4], number((double)s->r->out[i].sent_ps / PS_PER_S));
        json_array_append_new(a[6], json_string(has ? "" : s->r->out[i].failed ? "refused for want of KV cache" : "no token"));
    }
}

static void put_times(json_t *j, const struct serve_metrics *m, enum serve_metric metric, const char *name)
{
    static const struct {
        enum serve_stat s;
        const char *prefix;
    } stats[] = { { STAT_MEAN, "mean" }, { STAT_P50, "median" }, { STAT_STD, "std" }, { STAT_P50, "p50" }, { STAT_P90, "p90" }, { STAT_P95, "p95" }, { STAT_P99, "p99" } };
    char key[64];
    for (size_t i = 0; i < ARRAY_LEN(stats); i++) {
        snprintf(key, sizeof key, "%s_%s_ms", stats[i].prefix, name);
        json_object_set_new(j, key, number(1e3 * m->v[serve_time(metric, stats[i].s)].value));
    }
}

static void put_speculation(json_t *j, const struct serving_subject *s)
{
    const struct serve_totals *t = &s->r->t;
    if (t->n_draft == 0)
        return;
    json_object_set_new(j, "spec_decode_acceptance_rate", number(100 * (double)t->n_accepted / (double)t->n_draft));
    json_object_set_new(j, "spec_decode_acceptance_length", number(1 + (double)t->n_accepted / (double)t->n_round));
    json_object_set_new(j, "spec_decode_num_drafts", json_integer((json_int_t)t->n_round));
    json_object_set_new(j, "spec_decode_draft_tokens", json_integer((json_int_t)t->n_draft));
    json_object_set_new(j, "spec_decode_accepted_tokens", json_integer((json_int_t)t->n_accepted));
}

json_t *serving_vllm_json(const struct serving_subject *s, bool detailed, struct error *err)
{
    const struct serve_metrics *m = &s->study->m;
    if (s->study->n_run > 1) {
        (void)error_set(err, ERROR_USAGE, "vLLM's result file is of one run: found %zu", s->study->n_run);
        return NULL;
    }
    json_t *j = json_object();
    if (!j) {
        (void)error_oom(err, 0, "the result file");
        return NULL;
    }
    put_head(j, s);
    put_totals(j, m);
    put_requests(j, s, detailed);
    json_object_set_new(j, "max_output_tokens_per_s", number(m->v[VALUE_PEAK_OUT_TOK_S].value));
    json_object_set_new(j, "max_concurrent_requests", json_integer((json_int_t)m->v[VALUE_PEAK_REQUESTS].value));
    json_object_set_new(j, "rtfx", json_real(0)); /* of audio */
    put_speculation(j, s);
    put_times(j, m, SERVE_TTFT, "ttft");
    put_times(j, m, SERVE_TPOT, "tpot");
    put_times(j, m, SERVE_ITL, "itl");
    put_times(j, m, SERVE_E2E, "e2el");
    if (s->options->max_concurrency > 0) {
        put_times(j, m, SERVE_CLIENT_QUEUE, "client_queue_time");
        if (!isinf(s->rate))
            put_times(j, m, SERVE_E2E_CLIENT, "e2el_including_client_queue");
    }
    return j;
}
