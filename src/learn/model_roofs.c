/*
 * The time model of step.h: each op under the machine's roofs with its kind's efficiency, in sequence. Its interval is that of its
 * residuals with training rows, else a default one. methods.md (26), (24), (67)
 */
#include "learn/score.h"
#include <math.h>
#include <stdlib.h>

/* Standard deviation of ln(measured / predicted) without training rows, and the addition for a guess. */
static const double PLAIN_SD = 0.4, GUESS_SD = 0.3;
static const double Z90 = 1.645; /* 90 % of a normal distribution lie within so many deviations */

struct params {
    double sd;
};

static double exchange_s(const struct priced *p, const struct step *c)
{
    const double n = c->n_comm, wire = c->cost.link_bytes / p->roofs->link_bytes_s, hop = p->roofs->link_latency_s;
    if (c->kind != OP_ALL_REDUCE)
        return wire + hop;
    const double ring = wire + 2 * (n - 1) * hop, direct = wire * n / 2 + hop;
    return p->roofs->link_ring ? ring : fmin(ring, direct);
}

static double step_s(const struct priced *p, const struct work_pass *w, const struct step *c)
{
    const struct roofs *r = p->roofs;
    if (c->n_comm > 0)
        return exchange_s(p, c);
    const double bytes_s = r->bytes_s * r->e_bandwidth, peak = r->peak[c->math].flop_s;
    const double cache_s = c->cost.act_bytes <= r->last.bytes ? r->cache_bytes_s * r->e_bandwidth : bytes_s;
    const double memory = (c->cost.weight_bytes + c->cost.kv_bytes) / bytes_s + c->cost.act_bytes / cache_s;
    /* A type that the machine does not multiply is converted. */
    const double flop_s = (peak > 0 ? peak : r->peak[r->cpu ? MATH_FP32 : MATH_FP16].flop_s) * r->e_compute;
    return fmax(memory, c->cost.flop / flop_s) + (work_is_launched(p, w, c) ? r->launch_s : 0);
}

static double phase_s(const struct priced *p, enum phase phase)
{
    double s = 0;
    for (size_t i = 0; i < p->n_pass; i++) {
        const struct work_pass *w = &p->pass[i];
        for (size_t k = 0; k < w->n && w->at.phase == phase; k++)
            s += w->times * w->c[k].count * step_s(p, w, &w->c[k]);
    }
    return s;
}

/* A closed loop: while a user's sequence decodes, the prompts of the other users are processed, once a request. */
static double serving_s(const struct priced *p)
{
    const double prompt_s = phase_s(p, PHASE_PREFILL), step_s = phase_s(p, PHASE_DECODE);
    if (p->m->metric == METRIC_TTFT)
        return prompt_s + 0.6 * step_s; /* half a step until it is scheduled, and its start */
    const bool apart = p->m->mode[0] == 'd';
    return step_s + (apart ? 0 : (p->batch - 1) / p->layout.dp * prompt_s / p->out);
}

static double row_s(const struct priced *p)
{
    if (p->m->kind == MEASURE_SERVING)
        return serving_s(p);
    return phase_s(p, PHASE_PREFILL) + phase_s(p, PHASE_DECODE);
}

static int fit(void **params, const struct priced *const *rows, size_t n, const struct fit_scope *scope, struct error *err)
{
    struct params *q = malloc(sizeof *q);
    double sum = 0;
    size_t used = 0;
    (void)scope;
    if (!q)
        return error_oom(err, sizeof *q, "a fit");
    for (size_t i = 0; i < n; i++) {
        const double x = log(rows[i]->measured_s / row_s(rows[i]));
        if (!isfinite(x))
            continue;
        sum += x * x;
        used++;
    }
    *q = (struct params){ used >= 20 ? sqrt(sum / (double)used) : PLAIN_SD };
    *params = q;
    return 0;
}

static int predict_row(const void *params, const struct priced *row, struct estimate *out, struct error *err)
{
    const struct params *q = params;
    const double s = row_s(row), sd = q->sd + (row->guesses ? GUESS_SD : 0);
    if (!(s > 0) || !isfinite(s))
        return error_set(err, ERROR_INPUT, "no roof for what it computes");
    *out = (struct estimate){ s, s * exp(-Z90 * sd), s * exp(Z90 * sd) };
    return 0;
}

const struct time_model time_model_roofs = { "roofs", fit, predict_row, free };
