/* A simulation in words: each function adds a sentence. */
#include "report/serving_report.h"
#include <math.h>

static const char *time_text(char buf[static 32], double s)
{
    return units_si(buf, 32, s, "s");
}

/* "7.93": three digits. */
static const char *rate_text(char buf[static 32], double v)
{
    snprintf(buf, 32, fabs(v) >= 1000 ? "%.0f" : "%.3g", v);
    return buf;
}

/* ---- does it keep up ------------------------------------------------------------------------------------ */

static void add_draws(struct strbuf *b, const struct serve_study *s)
{
    if (s->n_draw > 0 && s->p_saturated > 0 && s->p_saturated < 1)
        strbuf_addf(b, " (saturated in %.0f %% of %zu draws of the step's times)", 100 * s->p_saturated, s->n_draw);
    else if (s->n_run > 1 && s->p_saturated > 0 && s->p_saturated < 1)
        strbuf_addf(b, " (saturated in %.0f %% of %zu runs)", 100 * s->p_saturated, s->n_run);
}

static double mean_of(const struct serving_subject *x, enum serve_metric m)
{
    return x->study->m.v[serve_time(m, STAT_MEAN)].value;
}

static void add_verdict(struct strbuf *b, const struct serving_subject *x)
{
    const struct serve_stability *s = &x->study->m.stability;
    char offered[32], served[32], other[32];
    const double rate = s->window_s > 0 ? (double)x->study->m.n / (double)x->study->n_run / s->window_s : NAN;
    switch (s->verdict) {
    case SERVE_STABLE:
        if (x->options->max_concurrency > 0 && isinf(x->rate))
            strbuf_addf(b, "Closed loop: %u requests at once, %s requests/s in the mean, ", x->options->max_concurrency, rate_text(offered, rate));
        else if (x->options->max_concurrency > 0 && mean_of(x, SERVE_CLIENT_QUEUE) > s->lifetime_s)
            strbuf_addf(b, "Held back: the client's limit of %u requests at once lets %s requests/s through, each waits for %s in the mean, ",
                        x->options->max_concurrency, rate_text(offered, rate), time_text(served, mean_of(x, SERVE_CLIENT_QUEUE)));
        else if (mean_of(x, SERVE_QUEUE) > s->lifetime_s)
            strbuf_addf(b, "Overloaded: %s requests/s arrive and wait for %s in the mean, longer than they are served (%s), ", rate_text(offered, rate),
                        time_text(served, mean_of(x, SERVE_QUEUE)), time_text(other, s->lifetime_s));
        else
            strbuf_addf(b, "Stable: %s requests/s arrive, the queue does not grow, ", rate_text(offered, rate));
        strbuf_addf(b, "%s busy %.0f %% of the time with %s sequences a step", x->options->n_replica > 1 ? "replicas are" : "the device is", 100 * s->busy,
                    rate_text(other, x->study->m.v[VALUE_BATCH].value));
        if (s->busy > 0.995)
            strbuf_adds(b, " (it always has work; it is not saturated)");
        break;
    case SERVE_SATURATED:
        strbuf_addf(b, "Saturated: %s requests/s arrive, the queue grows by %s requests/s (%s tokens/s offered, ", rate_text(offered, rate),
                    rate_text(other, s->backlog_request_s), rate_text(served, s->offered_tok_s));
        strbuf_addf(b, "%s served): percentiles of TTFT and E2E grow with the length of the run", rate_text(served, s->served_tok_s));
        break;
    case SERVE_BURST:
        strbuf_addf(b, "Burst: all %zu requests arrive at once: TTFT and E2E grow with their number", x->study->m.n);
        break;
    case SERVE_SHORT:
        strbuf_addf(b, "Too short to tell: requests arrive for %s, one takes %s in the mean", time_text(offered, s->window_s), time_text(other, s->lifetime_s));
        break;
    }
    add_draws(b, x->study);
    strbuf_adds(b, ".");
}

/* ---- what bounds it, what to change ----------------------------------------------------------------------- */

static void add_step_bound(struct strbuf *b, const struct serving_subject *x)
{
    const double mixed = x->study->m.mixed_share;
    strbuf_adds(b, " Not queue-limited: step time sets latency");
    if (!isnan(mixed))
        strbuf_addf(b, ", %.0f %% of its time with prompts", 100 * mixed);
    strbuf_adds(b, ".");
}

static void add_bound(struct strbuf *b, const struct serving_subject *x)
{
    const struct serve_metrics *m = &x->study->m;
    const struct policy *p = x->options->policy;
    switch (m->bound) {
    case WAIT_NONE:
        add_step_bound(b, x);
        return;
    case WAIT_SEQS:
        strbuf_addf(b, " Requests wait because max-num-seqs, %u, are running.", p->max_num_seqs);
        return;
    case WAIT_BUDGET:
        strbuf_addf(b, " Requests wait because steps are full: max-num-batched-tokens is %u.", p->max_num_batched_tokens);
        return;
    case WAIT_BATCH:
        strbuf_adds(b, " Requests wait until the whole batch before them has ended: static batching.");
        return;
    case WAIT_BLOCKS:
        strbuf_addf(b, " Requests wait for KV blocks: %.0f %% of %u are used in the mean, %.0f preemptions.", 100 * m->v[VALUE_KV].value, x->options->n_block,
                    m->v[VALUE_PREEMPTIONS].value);
        return;
    case SERVE_WAITS:
        return;
    }
}

/* A cache that keeps more would save prompts. */
static bool cache_helps(const struct serve_metrics *m)
{
    const double hit = m->v[VALUE_HIT].value, most = m->v[VALUE_HIT_INFINITE].value;
    return !isnan(most) && most > (isnan(hit) ? 0 : hit) + 0.1;
}

static const char *first_change(const struct serving_subject *x)
{
    const struct serve_metrics *m = &x->study->m;
    const struct policy *p = x->options->policy;
    switch (m->bound) {
    case WAIT_BLOCKS:
        return x->measured ? "KV cache memory: a larger --kv-cache-memory, or a KV cache of fewer bits"
                           : "KV cache memory: a higher gpu-memory-utilization, a KV cache of fewer bits, or more devices";
    case WAIT_SEQS:
        return m->v[VALUE_KV_MOST].value < 0.9 ? "a larger max-num-seqs: KV blocks are free" : "more devices: KV blocks are used up too";
    case WAIT_BUDGET:
        return "a larger max-num-batched-tokens for shorter TTFT, at the cost of longer ITL; then more devices";
    case WAIT_BATCH:
        return "continuous batching (policy vllm)";
    case WAIT_NONE:
    case SERVE_WAITS:
        break;
    }
    if (m->mixed_share > 0.5)
        return cache_helps(m) && !p->enable_prefix_caching ? "prefix caching" : cache_helps(m) ? "a larger prefix cache: hits are far from the workload's bound"
                                                                                              : "more compute for prompts: more devices (tp), or fewer bits in products";
    return "a cheaper decode step: weights of fewer bits, more devices (tp), or speculation while the batch is small";
}

static bool should_change(const struct serve_metrics *m)
{
    return m->stability.verdict == SERVE_SATURATED || (m->has_slo && !m->met) || m->bound != WAIT_NONE;
}

/* ---- the SLO ------------------------------------------------------------------------------------------------ */

static void add_limits(struct strbuf *b, const struct serve_metrics *m)
{
    char value[32], limit[32];
    size_t n = 0;
    for (size_t i = 0; i < m->slo.n; i++)
        if (!m->good[i].met)
            strbuf_addf(b, "%s %s %s against %s", n++ ? "," : ":", serve_metric_name(m->slo.limit[i].metric), time_text(value, m->good[i].value_s),
                        time_text(limit, m->slo.limit[i].limit_s));
}

static void add_slo(struct strbuf *b, const struct serve_study *s)
{
    const struct serve_metrics *m = &s->m;
    strbuf_addf(b, " The SLO %s %s", m->slo.text, m->met ? "holds" : "does not hold");
    if (m->slo.reading == SLO_JOINT)
        strbuf_addf(b, ": %.1f %% of the requests meet it, %.4g %% are asked for", 100 * m->v[VALUE_SLO_SHARE].value, 100 * m->slo.share);
    else if (!m->met)
        add_limits(b, m);
    if (s->n_draw > 0)
        strbuf_addf(b, "; probability %.2f over %zu draws of the step's times", s->p_slo, s->n_draw);
    strbuf_adds(b, ".");
}

void serving_add_summary(struct strbuf *out, const struct serving_subject *s)
{
    add_verdict(out, s);
    add_bound(out, s);
    if (s->study->m.n_failed > 0)
        strbuf_addf(out, " %zu requests were refused or have no token.", s->study->m.n_failed);
    if (s->study->m.has_slo)
        add_slo(out, s->study);
    if (should_change(&s->study->m))
        strbuf_addf(out, " First to change: %s.", first_change(s));
    strbuf_adds(out, "\n");
}
