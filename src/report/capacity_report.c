#include "report/capacity_report.h"
#include "report/output.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT(m) COLUMN_AT(struct capacity_row, m)
static const struct column columns[] = {
    { "model", NULL, COL_TEXT, NULL, COL_MINOR, AT(model), EMPTY_VALUE, NULL, NULL },
    { "hw", NULL, COL_TEXT, NULL, COL_KEY, AT(hw), EMPTY_VALUE, NULL, "id of the profile" },
    { "type", NULL, COL_TEXT, NULL, COL_KEY, AT(type), EMPTY_VALUE, NULL, "of the weights" },
    { "layout", "devices", COL_TEXT, NULL, COL_KEY, AT(layout), EMPTY_VALUE, NULL, "how they divide the work: \"tp4 pp2\"" },
    { "n_devices", NULL, COL_INT, NULL, COL_DATA, AT(n_devices), EMPTY_VALUE, NULL, "of all replicas" },
    { "policy", NULL, COL_TEXT, NULL, COL_DATA, AT(policy), EMPTY_NULL, NULL, "of the scheduler" },
    { "max_num_seqs", NULL, COL_INT, NULL, COL_DATA, AT(max_num_seqs), EMPTY_ZERO, NULL, "sequences that run at once" },
    { "max_num_batched_tokens", NULL, COL_INT, "tokens", COL_DATA, AT(max_num_batched_tokens), EMPTY_ZERO, NULL, "of a step" },
    { "num_speculative_tokens", NULL, COL_INT, "tokens", COL_DATA, AT(num_speculative_tokens), EMPTY_VALUE, NULL, "drafted in a decode step" },
    { "n_block", NULL, COL_INT, NULL, COL_DATA, AT(n_block), EMPTY_ZERO, NULL, "KV blocks of a replica" },
    { "rate_90", "rate 90 %", COL_FLOAT, "1/s", COL_MAJOR, AT(rate_90), EMPTY_NULL, NULL, "highest rate that meets the objective with probability 0.9" },
    { "rate_50", "50 %", COL_FLOAT, "1/s", COL_MAJOR, AT(rate_50), EMPTY_NULL, NULL, "with probability 0.5" },
    { "rate_10", "10 %", COL_FLOAT, "1/s", COL_MEDIUM, AT(rate_10), EMPTY_NULL, NULL, "with probability 0.1" },
    { "rate", "rate", COL_FLOAT, "1/s", COL_MAJOR, AT(c.rate), EMPTY_NULL, NULL, "by the central constants; 0: not even one request at a time" },
    { "saturation", NULL, COL_FLOAT, "1/s", COL_DATA, AT(c.saturation), EMPTY_NULL, NULL, "served when all requests are sent at once" },
    { "out_tok_s", "tokens/s", COL_FLOAT, "tokens/s", COL_MAJOR, AT(c.at.out_tok_s), EMPTY_NULL, NULL, "output tokens at `rate`" },
    { "device_tok_s", "a device", COL_FLOAT, "tokens/s", COL_MAJOR, AT(device_tok_s), EMPTY_NULL, NULL, "output tokens of a device" },
    { "user_tok_s", "a user", COL_FLOAT, "tokens/s", COL_MAJOR, AT(c.at.user_tok_s), EMPTY_NULL, NULL, "1 / mean TPOT" },
    { "good_request_s", NULL, COL_FLOAT, "1/s", COL_DATA, AT(c.at.good_request_s), EMPTY_NULL, NULL, "requests that meet all limits" },
    { "device_good_tok_s", NULL, COL_FLOAT, "tokens/s", COL_DATA, AT(device_good_tok_s), EMPTY_NULL, NULL, "their output tokens of a device" },
    { "usd_mtok", "USD/Mtok", COL_FLOAT, "USD", COL_MEDIUM, AT(usd_mtok), EMPTY_NULL, NULL, "devices' price of a million output tokens" },
    { "ttft_p50_s", NULL, COL_SECONDS, "s", COL_DATA, AT(c.at.ttft_p50_s), EMPTY_NULL, NULL, "time to the first token, median" },
    { "ttft_p99_s", "TTFT p99", COL_SECONDS, "s", COL_MEDIUM, AT(c.at.ttft_p99_s), EMPTY_NULL, NULL, "time to the first token" },
    { "itl_p99_s", "ITL p99", COL_SECONDS, "s", COL_MEDIUM, AT(c.at.itl_p99_s), EMPTY_NULL, NULL, "between tokens, all gaps" },
    { "tpot_mean_s", NULL, COL_SECONDS, "s", COL_DATA, AT(c.at.tpot_mean_s), EMPTY_NULL, NULL, "mean of the requests' means" },
    { "e2e_mean_s", NULL, COL_SECONDS, "s", COL_DATA, AT(c.at.e2e_mean_s), EMPTY_NULL, NULL, "a request from sent to last token" },
    { "batch", "batch", COL_FLOAT, NULL, COL_MINOR, AT(c.at.batch), EMPTY_NULL, NULL, "sequences running, mean over busy time" },
    { "kv", NULL, COL_FRACTION, "fraction", COL_DATA, AT(c.at.kv), EMPTY_NULL, NULL, "of the KV blocks, mean over busy time" },
    { "front", "front", COL_BOOL, NULL, COL_MEDIUM, AT(front), EMPTY_VALUE, NULL, "no other row gives both a user and a device more" },
    { "reason", "why not", COL_TEXT, NULL, COL_DATA, AT(reason), EMPTY_NULL, NULL, "why there is no rate" },
    { "launch", NULL, COL_TEXT, NULL, COL_DATA, AT(launch), EMPTY_NULL, NULL, "command that starts such a server" },
};
#undef AT
const struct table_fields capacity_fields = { "capacity.row", columns, ARRAY_LEN(columns) };

struct capacity_row *capacity_add_row(struct table_rows *rows)
{
    struct capacity_row *r = table_add(rows);
    r->price_usd_h = r->c.rate = r->c.saturation = NAN;
    r->c.at = (struct capacity_at){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
    for (int i = 0; i < CAPACITY_RATES; i++)
        r->c.probable[i] = NAN;
    return r;
}

static void derive(struct capacity_row *r)
{
    r->rate_90 = r->c.probable[CAPACITY_90];
    r->rate_50 = r->c.probable[CAPACITY_50];
    r->rate_10 = r->c.probable[CAPACITY_10];
    r->device_tok_s = r->c.at.out_tok_s / r->n_devices;
    r->device_good_tok_s = r->c.at.good_tok_s / r->n_devices;
    r->usd_mtok = r->n_devices * r->price_usd_h / (r->c.at.out_tok_s * 3600) * 1e6;
}

static bool beaten(const struct table_rows *rows, const struct capacity_row *r)
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct capacity_row *x = table_row(rows, i);
        if (x->device_tok_s >= r->device_tok_s && x->c.at.user_tok_s >= r->c.at.user_tok_s &&
            (x->device_tok_s > r->device_tok_s || x->c.at.user_tok_s > r->c.at.user_tok_s))
            return true;
    }
    return false;
}

static double rank_of(const struct capacity_row *r)
{
    return isnan(r->device_tok_s) ? r->c.rate == 0 ? -1 : -2 : r->device_tok_s;
}

static int best_first(const void *a, const void *b)
{
    const double x = rank_of(a), y = rank_of(b);
    return (x < y) - (x > y);
}

/* The answer: the best row, and how many of all have a rate. */
static void say(const struct table_rows *rows, const struct serve_slo *slo, const char *workload)
{
    const struct capacity_row *best = rows->n > 0 ? table_row(rows, 0) : NULL;
    size_t n = 0;
    for (size_t i = 0; i < rows->n; i++)
        n += ((const struct capacity_row *)table_row(rows, i))->c.rate > 0;
    if (n == 0) {
        report_text(0, "None of %zu deployments meets %s with %s: loosen the objective, or take faster devices or a smaller type.\n\n", rows->n,
                    slo->text, workload);
        return;
    }
    report_text(0, "%s: %s, %s on %s sustains %.3g requests/s", slo->text, best->model, best->type, best->layout, best->c.rate);
    if (!isnan(best->rate_90))
        report_text(0, " (%.3g with probability 0.9)", best->rate_90);
    report_text(0, ", %.3g tokens/s of a device and %.3g of a user: the most of a device, on %s. %zu of %zu deployments meet it.\n\n", best->device_tok_s,
                best->c.at.user_tok_s, best->hw, n, rows->n);
}

int capacity_print(const char *path, enum report_format format, struct table_rows *rows, const struct serve_slo *slo, const char *workload,
                   struct error *err)
{
    for (size_t i = 0; i < rows->n; i++)
        derive(table_row(rows, i));
    for (size_t i = 0; i < rows->n; i++) {
        struct capacity_row *r = table_row(rows, i);
        r->front = r->device_tok_s > 0 && !beaten(rows, r);
    }
    if (rows->n > 1)
        qsort(rows->v, rows->n, rows->size, best_first);
    json_t *meta = json_pack("{s:s, s:s}", "slo", slo->text, "workload", workload);
    if (!meta)
        return error_oom(err, 256, "JSON");
    const struct table t = { .schema = "roofcast.capacity", .version = 1, .meta = meta, .cols = columns, .n_cols = ARRAY_LEN(columns), .rows = rows };
    if (!path && (format == REPORT_TABLE || format == REPORT_MD))
        say(rows, slo, workload);
    const int rc = report_write(path, format, &t, err);
    json_decref(meta);
    return rc;
}
