#include "report/serving_policies.h"
#include "report/output.h"
#include <math.h>

#define AT(m) COLUMN_AT(struct serving_policy_row, m)
static const struct column columns[] = {
    { "name", "scheduler", COL_TEXT, NULL, COL_KEY, AT(name), EMPTY_VALUE, NULL, NULL },
    { "adds", "what it adds", COL_TEXT, NULL, COL_MINOR, AT(adds), EMPTY_NULL, NULL, "to the row before" },
    { "out_tok_s", "tokens/s", COL_FLOAT, "tokens/s", COL_MAJOR, AT(out_tok_s), EMPTY_NULL, NULL, "output tokens over the duration" },
    { "gain", "times", COL_FLOAT, NULL, COL_MAJOR, AT(gain), EMPTY_NULL, NULL, "over those of the first row" },
    { "request_s", NULL, COL_FLOAT, "1/s", COL_DATA, AT(request_s), EMPTY_NULL, NULL, "requests over the duration" },
    { "ttft_mean_s", "TTFT", COL_SECONDS, "s", COL_MAJOR, AT(ttft_mean_s), EMPTY_NULL, NULL, "mean" },
    { "ttft_p99_s", "p99", COL_SECONDS, "s", COL_MEDIUM, AT(ttft_p99_s), EMPTY_NULL, NULL, NULL },
    { "itl_mean_s", "ITL", COL_SECONDS, "s", COL_MAJOR, AT(itl_mean_s), EMPTY_NULL, NULL, "mean of all gaps between tokens" },
    { "itl_p99_s", "ITL p99", COL_SECONDS, "s", COL_MEDIUM, AT(itl_p99_s), EMPTY_NULL, NULL, NULL },
    { "e2e_mean_s", "E2E", COL_SECONDS, "s", COL_MAJOR, AT(e2e_mean_s), EMPTY_NULL, NULL, "mean, a request from sent to last token" },
    { "batch", "batch", COL_FLOAT, NULL, COL_MEDIUM, AT(batch), EMPTY_NULL, NULL, "sequences running, mean over busy time" },
    { "kv", "KV used", COL_FRACTION, "fraction", COL_MINOR, AT(kv), EMPTY_NULL, NULL, "of the KV blocks, mean over busy time" },
    { "hit", "prefix hits", COL_FRACTION, "fraction", COL_MINOR, AT(hit), EMPTY_NULL, NULL, "of prompt tokens" },
    { "preemptions", NULL, COL_FLOAT, NULL, COL_DATA, AT(preemptions), EMPTY_NULL, NULL, NULL },
    { "goodput_request_s", NULL, COL_FLOAT, "1/s", COL_DATA, AT(goodput_request_s), EMPTY_NULL, NULL, "requests that meet the objective" },
    { "verdict", "verdict", COL_TEXT, NULL, COL_MEDIUM, AT(verdict), EMPTY_NULL, NULL, "stable, saturated (percentiles grow with the run), burst, short" },
    { "reason", NULL, COL_TEXT, NULL, COL_DATA, AT(reason), EMPTY_NULL, NULL, "why it cannot be simulated" },
};
#undef AT
const struct table_fields serving_policy_fields = { "simulate.policy", columns, ARRAY_LEN(columns) };

static const char *verdict_text(enum serve_verdict v)
{
    switch (v) {
    case SERVE_STABLE:
        return "stable";
    case SERVE_SATURATED:
        return "saturated";
    case SERVE_BURST:
        return "burst";
    case SERVE_SHORT:
        return "short";
    }
    return NULL;
}

void serving_policy_fill(struct serving_policy_row *r, const struct serve_study *s)
{
    if (!s) {
        r->out_tok_s = r->request_s = r->ttft_mean_s = r->ttft_p99_s = r->itl_mean_s = r->itl_p99_s = r->e2e_mean_s = NAN;
        r->batch = r->kv = r->hit = r->preemptions = r->goodput_request_s = NAN;
        return;
    }
    const struct sampled *v = s->m.v;
    r->out_tok_s = v[VALUE_OUT_TOK_S].value;
    r->request_s = v[VALUE_REQUEST_S].value;
    r->ttft_mean_s = v[serve_time(SERVE_TTFT, STAT_MEAN)].value;
    r->ttft_p99_s = v[serve_time(SERVE_TTFT, STAT_P99)].value;
    r->itl_mean_s = v[serve_time(SERVE_ITL, STAT_MEAN)].value;
    r->itl_p99_s = v[serve_time(SERVE_ITL, STAT_P99)].value;
    r->e2e_mean_s = v[serve_time(SERVE_E2E, STAT_MEAN)].value;
    r->batch = v[VALUE_BATCH].value;
    r->kv = v[VALUE_KV].value;
    r->hit = v[VALUE_HIT].value;
    r->preemptions = v[VALUE_PREEMPTIONS].value;
    r->goodput_request_s = v[VALUE_GOODPUT_REQUEST_S].value;
    r->verdict = verdict_text(s->m.stability.verdict);
}

int serving_policies_print(const char *path, enum report_format format, const struct table_rows *rows, const char *workload, struct error *err)
{
    for (size_t i = 0; i < rows->n; i++) {
        struct serving_policy_row *r = table_row(rows, i), *first = table_row(rows, 0);
        r->gain = r->out_tok_s / first->out_tok_s;
    }
    json_t *meta = json_pack("{s:s}", "workload", workload);
    if (!meta)
        return error_oom(err, 128, "JSON");
    const struct table t = { .schema = "roofcast.policies", .version = 1, .meta = meta, .cols = columns, .n_cols = ARRAY_LEN(columns), .rows = rows };
    const int rc = report_write(path, format, &t, err);
    json_decref(meta);
    return rc;
}
