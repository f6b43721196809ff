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
    { "max_num_seqs", "seqs", COL_INT, NULL, COL_DATA, AT(max_num_seqs), EMPTY_ZERO, NULL, "sequences that run at once" },
    { "max_num_batched_tokens", "budget", COL_INT, "tokens", COL_DATA, AT(max_num_batched_tokens), EMPTY_ZERO, NULL, "of a step" },
    { "num_speculative_tokens", "drafts", COL_INT, "tokens", COL_DATA, AT(num_speculative_tokens), EMPTY_VALUE, NULL, "drafted in a decode step" },
    { "n_block", NULL, COL_INT, NULL, COL_DATA, AT(n_block), EMPTY_ZERO, NULL, "KV blocks of a replica" },
    { "rate", "requests/s", COL_FLOAT, "1/s", COL_KEY, AT(c.rate), EMPTY_NULL, NULL, "by the central constants; 0: not even one request at a time" },
    { "rate_90", "with 0.9", COL_FLOAT, "1/s", COL_MAJOR, AT(rate_90), EMPTY_NULL, NULL, "highest rate that meets the objective with probability 0.9" },
    { "rate_50", "with 0.5", COL_FLOAT, "1/s", COL_MAJOR, AT(rate_50), EMPTY_NULL, NULL, "with probability 0.5" },
    { "rate_10", "with 0.1", COL_FLOAT, "1/s", COL_MEDIUM, AT(rate_10), EMPTY_NULL, NULL, "with probability 0.1" },
    { "unsteady", NULL, COL_BOOL, NULL, COL_DATA, AT(c.unsteady), EMPTY_VALUE, NULL, "the workload has too few requests for a steady state at higher rates: the rate may be too high or too low" },
    { "saturation", NULL, COL_FLOAT, "1/s", COL_DATA, AT(c.saturation), EMPTY_NULL, NULL, "served when all are sent at once, the drain at the end and think times included" },
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

static double rank_of(const struct capacity_row *r)
{
    return isnan(r->device_tok_s) ? r->c.rate == 0 ? -1 : -2 : r->device_tok_s;
}

static int best_first(const void *a, const void *b)
{
    const struct capacity_row *p = a, *q = b;
    const double x = rank_of(p), y = rank_of(q);
    return x != y ? (x < y) - (x > y) : (p->cell > q->cell) - (p->cell < q->cell);
}

/* Rows by tokens/s of a device, falling: those that give a user more than all before. */
static void mark_front(struct table_rows *rows)
{
    double most = 0;
    for (size_t i = 0, end; i < rows->n; i = end) {
        const struct capacity_row *first = table_row(rows, i);
        double best = 0; /* of those that give a device as much */
        for (end = i; end < rows->n && ((const struct capacity_row *)table_row(rows, end))->device_tok_s == first->device_tok_s; end++)
            best = fmax(best, ((const struct capacity_row *)table_row(rows, end))->c.at.user_tok_s);
        for (size_t k = i; k < end; k++) {
            struct capacity_row *r = table_row(rows, k);
            r->front = r->device_tok_s > 0 && r->c.at.user_tok_s == best && best > most;
        }
        most = fmax(most, best);
        end = end > i ? end : i + 1; /* NaN equals nothing */
    }
}

void capacity_rank(struct table_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        derive(table_row(rows, i));
    if (rows->n > 1)
        qsort(rows->v, rows->n, rows->size, best_first);
    mark_front(rows);
}

/* The answer: the best row, and how many of all have a rate. */
static void say(const struct table_rows *rows, const struct capacity_texts *x)
{
    const struct capacity_row *best = rows->n > 0 ? table_row(rows, 0) : NULL;
    size_t n = 0, n_reason = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const struct capacity_row *r = table_row(rows, i);
        n += r->c.rate > 0;
        n_reason += r->reason != NULL;
    }
    if (n_reason == rows->n && rows->n > 0) {
        report_text(0, "None of %zu deployments can run: %s.\n\n", rows->n, best->reason);
        return;
    }
    if (n == 0) {
        report_text(0, "None of %zu deployments meets %s with %s: loosen the objective, or take faster devices or a smaller type.\n\n", rows->n,
                    x->slo->text, x->workload);
        return;
    }
    struct strbuf b = { 0 };
    strbuf_addf(&b, "%s within %s: %.3g requests/s", best->model, x->slo->text, best->c.rate);
    if (!isnan(best->rate_90))
        strbuf_addf(&b, " (%.3g with probability 0.9, %.3g with 0.5)", best->rate_90, best->rate_50);
    strbuf_addf(&b, " on %s, %s, %s: %.0f tokens/s of a device, %.3g of a user.", best->hw, best->type, best->layout, best->device_tok_s, best->c.at.user_tok_s);
    if (rows->n > 1)
        strbuf_addf(&b, " No other gives a device more. %zu of %zu deployments meet the objective.", n, rows->n);
    if (best->c.unsteady)
        strbuf_adds(&b, " Not in a steady state at higher rates: the workload has too few requests, the rate may be too high or too low (--requests).");
    if (best->rate_50 < best->c.rate / 2)
        strbuf_adds(&b, " Half of the draws are far below it: a limit lies close to the time of one step, of which a smaller --max-num-batched-tokens takes "
                        "a part.");
    report_text(0, "%s\n\n", b.oom ? "" : b.s);
    strbuf_free(&b);
}

/* ---- what people see ------------------------------------------------------------------------------------------------------- */

/* Columns of settings that differ between rows are shown, those of figures that no row has are not. */
static void rank_columns(struct column *c, size_t n, const struct table_rows *rows)
{
    const struct capacity_row *first = table_row(rows, 0); /* one with a rate, if any has one */
    bool seqs = false, tokens = false, drafts = false, model = false, draws = false, price = false;
    for (size_t i = 0; i < rows->n; i++) {
        const struct capacity_row *r = table_row(rows, i);
        if (r->reason)
            continue;
        seqs |= r->max_num_seqs != first->max_num_seqs;
        tokens |= r->max_num_batched_tokens != first->max_num_batched_tokens;
        drafts |= r->num_speculative_tokens != first->num_speculative_tokens;
        model |= strcmp(r->model, first->model) != 0;
        draws |= !isnan(r->rate_50);
        price |= !isnan(r->usd_mtok);
    }
    const struct {
        bool shown;
        const char *names;
        enum column_rank rank;
    } x[] = { { seqs, "max_num_seqs", COL_KEY }, { tokens, "max_num_batched_tokens", COL_KEY }, { drafts, "num_speculative_tokens", COL_KEY },
              { model, "model", COL_MINOR }, { draws, "rate_90 rate_50", COL_MAJOR }, { draws, "rate_10", COL_MEDIUM }, { price, "usd_mtok", COL_MEDIUM },
              { rows->n > 1, "front", COL_MEDIUM } };
    for (size_t i = 0; i < ARRAY_LEN(x); i++)
        columns_rank(c, n, x[i].names, x[i].shown ? x[i].rank : COL_DATA);
}

/* Rows of a table: the best ones and the front. */
static bool is_shown(const struct capacity_row *r, size_t i, size_t most)
{
    return most == 0 || i < most || r->front;
}

static int print_people(const char *path, enum report_format format, const struct table_rows *rows, const struct capacity_texts *x, json_t *meta,
                        struct error *err)
{
    struct column cols[ARRAY_LEN(columns)];
    struct table_rows shown = { .size = rows->size };
    const struct capacity_row *without = NULL;
    size_t n_without = 0;
    memcpy(cols, columns, sizeof cols);
    rank_columns(cols, ARRAY_LEN(cols), rows);
    for (size_t i = 0; i < rows->n; i++) {
        const struct capacity_row *r = table_row(rows, i);
        if (r->reason && n_without++ == 0)
            without = r;
        if (is_shown(r, i, x->most))
            memcpy(table_add(&shown), r, rows->size);
    }
    const struct table t = { .schema = "roofcast.capacity", .version = 1, .meta = meta, .cols = cols, .n_cols = ARRAY_LEN(cols), .rows = &shown };
    if (!path)
        say(rows, x);
    const int rc = report_write(path, format, &t, err);
    if (rc == 0 && !path && shown.n < rows->n)
        report_text(0, "(%zu more deployments with --top %zu, all with -o csv or json)\n", rows->n - shown.n, rows->n);
    if (rc == 0 && !path && without)
        report_text(0, "%zu deployments cannot be; %s, %s, %s: %s\n", n_without, without->hw, without->type, without->layout, without->reason);
    table_rows_free(&shown);
    return rc;
}

int capacity_print(const char *path, enum report_format format, const struct table_rows *rows, const struct capacity_texts *x, struct error *err)
{
    json_t *meta = json_pack("{s:s, s:s, s:s?}", "slo", x->slo->text, "workload", x->workload, "constants", x->constants);
    if (!meta)
        return error_oom(err, 256, "JSON");
    const struct table t = { .schema = "roofcast.capacity", .version = 1, .meta = meta, .cols = columns, .n_cols = ARRAY_LEN(columns), .rows = rows };
    const bool people = rows->n > 0 && (format == REPORT_TABLE || format == REPORT_MD);
    const int rc = people ? print_people(path, format, rows, x, meta, err) : report_write(path, format, &t, err);
    json_decref(meta);
    return rc;
}
