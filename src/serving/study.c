/* Values of a run by name; several runs as one result. */
#include "serving/metrics.h"
#include <math.h>
#include <string.h>

/* ---- names ------------------------------------------------------------------------------------------- */

static const char *const stat_keys[SERVE_STATS] = { "mean", "std", "p50", "p90", "p95", "p99" };

#define INFO(v, key, name, unit, help) [VALUE_##v - VALUE_DURATION] = { key, name, unit, help }
static const struct serve_value_info infos[SERVE_VALUES - VALUE_DURATION] = {
    INFO(DURATION, "duration", "duration", "s", "first request sent to last token, the closing drain included, as vllm bench serve"),
    INFO(REQUEST_S, "request_throughput", "requests", "requests/s", "over the duration"),
    INFO(IN_TOK_S, "input_throughput", "tokens in", "tokens/s", "over the duration"),
    INFO(OUT_TOK_S, "output_throughput", "tokens out", "tokens/s", "over the duration"),
    INFO(TOTAL_TOK_S, "total_token_throughput", "tokens in and out", "tokens/s", "over the duration"),
    INFO(STEADY, "steady_window", "steady window", "s", "first request sent to last request sent: no drain"),
    INFO(STEADY_REQUEST_S, "steady_request_throughput", "requests, steady", "requests/s", "ended in the steady window"),
    INFO(STEADY_IN_TOK_S, "steady_input_throughput", "tokens in, steady", "tokens/s", "computed in the steady window"),
    INFO(STEADY_OUT_TOK_S, "steady_output_throughput", "tokens out, steady", "tokens/s", "generated in the steady window"),
    INFO(USER_TOK_S, "user_throughput", "tokens out of a user", "tokens/s", "1 / mean TPOT"),
    INFO(SLO_SHARE, "slo_share", "requests within the SLO", "fraction", "that meet all of its limits"),
    INFO(GOODPUT_REQUEST_S, "request_goodput", "goodput", "requests/s", "requests that meet all limits over the duration"),
    INFO(GOODPUT_TOK_S, "token_goodput", "goodput in tokens out", "tokens/s", "their output tokens over the duration"),
    INFO(BATCH, "batch", "batch", NULL, "sequences running, mean over busy time"),
    INFO(BATCH_MOST, "batch_max", "batch, largest", NULL, "sequences running at once"),
    INFO(WAITING, "waiting", "queue", "requests", "sent and not yet admitted, mean over the duration"),
    INFO(BUSY, "busy", "device busy", "fraction", "of the duration"),
    INFO(KV, "kv_usage", "KV cache used", "fraction", "referenced blocks, mean over busy time"),
    INFO(KV_MOST, "kv_usage_max", "KV cache used, most", "fraction", "referenced blocks"),
    INFO(MBU, "mbu", "MBU", "fraction", "weights, keys and values over busy time, of the memory bandwidth"),
    INFO(MFU, "mfu", "MFU", "fraction", "FLOP over busy time, of the peak of the operands of the largest product"),
    INFO(PREEMPTIONS, "preemptions", "preemptions", NULL, "sequences that lost their KV blocks and were computed again"),
    INFO(HIT, "prefix_hit_rate", "prefix hits", "fraction", "of prompt tokens, at first admission"),
    INFO(HIT_INFINITE, "prefix_hit_rate_infinite", "prefix hits, infinite cache", "fraction", "bound of the workload: a cache that never evicts"),
    INFO(EVICTED, "evictions", "evicted blocks", "blocks", "cached prefixes taken for other content"),
    INFO(LOADED, "kv_loaded", "KV loaded", "tokens", "of prompts, keys and values that were loaded, not computed: from host memory, or a prefill replica"),
    INFO(ACCEPTANCE, "acceptance_rate", "drafts accepted", "fraction", "of the drafted tokens"),
    INFO(ACCEPTED_LENGTH, "acceptance_length", "tokens of a decode step", "tokens", "of a sequence that verified drafts: 1 + accepted ones"),
    INFO(WASTED, "wasted_tokens", "wasted tokens", "tokens", "computed for sequences that had ended"),
    INFO(PEAK_OUT_TOK_S, "max_output_tokens_per_s", "tokens out, peak second", "tokens/s", "most in a second; of a request evenly from its first to its last"),
    INFO(PEAK_REQUESTS, "max_concurrent_requests", "requests at once, most", "requests", "sent and not ended"),
};

struct serve_value_info serve_value_info(int v, char buf[static 48])
{
    if (v >= VALUE_DURATION)
        return infos[v - VALUE_DURATION];
    snprintf(buf, 48, "%s_%s", serve_metric_key((enum serve_metric)(v / SERVE_STATS)), stat_keys[v % SERVE_STATS]);
    return (struct serve_value_info){ buf, buf, "s", NULL };
}

/* ---- replications ---------------------------------------------------------------------------------------- */

/* NaN where a run has no value. */
static struct sampled combine(const struct serve_metrics *m, size_t n, int v)
{
    struct sampled e = { .n_eff = 0 };
    double ss = 0;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(m[i].v[v].value)) {
            e.value += m[i].v[v].value;
            e.n_eff += m[i].v[v].n_eff;
            k++;
        }
    if (k < n)
        return sampled_none(k > 0 ? e.value / (double)k : NAN, k > 0 ? "not every run has it" : m[0].v[v].reason);
    e.value /= (double)n;
    for (size_t i = 0; i < n; i++)
        ss += (m[i].v[v].value - e.value) * (m[i].v[v].value - e.value);
    const double half = student_t_95(n - 1) * sqrt(ss / (double)(n - 1) / (double)n);
    e.lo = e.value - half;
    e.hi = e.value + half;
    return e;
}

static enum serve_verdict majority(const struct serve_metrics *m, size_t n)
{
    size_t count[SERVE_SHORT + 1] = { 0 };
    enum serve_verdict best = SERVE_STABLE;
    for (size_t i = 0; i < n; i++)
        count[m[i].stability.verdict]++;
    for (int i = 0; i <= SERVE_SHORT; i++)
        best = count[i] > count[best] ? (enum serve_verdict)i : best;
    return best;
}

static double share_saturated(const struct serve_metrics *m, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        k += m[i].stability.verdict == SERVE_SATURATED;
    return (double)k / (double)n;
}

void serve_study_runs(struct serve_study *s, const struct serve_metrics *m, size_t n)
{
    size_t met = 0;
    *s = (struct serve_study){ .m = m[0], .n_run = n, .p_slo = NAN, .p_saturated = share_saturated(m, n) };
    for (int v = 0; v < SERVE_VALUES; v++)
        s->model[v] = (struct model_spread){ NAN, NAN, NAN, "no draws of the step's constants" };
    if (n < 2)
        return;
    for (int v = 0; v < SERVE_VALUES; v++)
        s->m.v[v] = combine(m, n, v);
    s->m.stability.verdict = majority(m, n);
    for (size_t i = 0; i < n; i++) {
        met += m[i].met;
        s->m.n += i > 0 ? m[i].n : 0;
        s->m.n_failed += i > 0 ? m[i].n_failed : 0;
    }
    s->m.met = 2 * met > n;
}

/* ---- draws --------------------------------------------------------------------------------------------------- */

enum { DRAWS_LEAST = 10, DRAWS_MOST = 1024 };

static struct model_spread spread_of(const struct serve_metrics *m, size_t n, int v)
{
    double x[DRAWS_MOST], scratch[DRAWS_MOST];
    for (size_t i = 0; i < n; i++) {
        x[i] = m[i].v[v].value;
        if (isnan(x[i]))
            return (struct model_spread){ NAN, NAN, NAN, "not every draw has it" };
    }
    series_sort(x, scratch, n);
    return (struct model_spread){ series_quantile(x, n, 0.05), series_quantile(x, n, 0.5), series_quantile(x, n, 0.95), NULL };
}

void serve_study_draws(struct serve_study *s, const struct serve_metrics *m, size_t n)
{
    size_t met = 0;
    n = n < DRAWS_MOST ? n : DRAWS_MOST;
    s->n_draw = n;
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        met += m[i].met && m[i].stability.verdict != SERVE_SATURATED;
    s->p_saturated = share_saturated(m, n);
    s->p_slo = s->m.has_slo ? (double)met / (double)n : NAN;
    for (int v = 0; v < SERVE_VALUES; v++)
        s->model[v] = n < DRAWS_LEAST ? (struct model_spread){ NAN, NAN, NAN, "fewer than 10 draws" } : spread_of(m, n, v);
}
