/* Whether the server keeps up: methods in metrics.h. */
#include "serving/metrics_internal.h"
#include <math.h>

/* Adds a mass that is spread evenly over [from, to] to k equal bins of [lo, hi]; of no length: at from. */
void metrics_spread(double *bin, size_t k, double lo, double hi, double from, double to, double mass)
{
    const double width = (hi - lo) / (double)k;
    if (to <= from) {
        if (from >= lo && from < hi)
            bin[(size_t)fmin((from - lo) / width, (double)(k - 1))] += mass;
        return;
    }
    const double a = fmax(from, lo), b = fmin(to, hi);
    if (b <= a)
        return;
    for (size_t i = (size_t)fmin((a - lo) / width, (double)(k - 1)); i < k && lo + (double)i * width < b; i++) {
        const double start = lo + (double)i * width, end = start + width;
        bin[i] += mass * fmax(fmin(b, end) - fmax(a, start), 0) / (to - from);
    }
}

static void queue_thirds(const struct metrics_work *k, struct serve_stability *s)
{
    for (size_t i = 0; i < k->n; i++) {
        const struct serve_outcome *o = &k->r->out[k->order[i]];
        const double from = seconds(o->sent_ps), to = seconds(o->start_ps);
        if (to > from)
            metrics_spread(s->queue, 3, k->first_s, k->last_s, from, to, (to - from) / (s->window_s / 3));
    }
}

/* Tokens offered in the window and computed in it. */
static void token_rates(const struct metrics_work *k, struct serve_stability *s)
{
    double offered = 0, served = 0, life = 0;
    for (size_t i = 0; i < k->n; i++) {
        const struct serve_outcome *o = &k->r->out[k->order[i]];
        const struct serve_request *q = &k->w->r[k->order[i]];
        const double start = seconds(o->start_ps), first = seconds(o->first_ps), end = seconds(o->end_ps);
        offered += (double)q->n_in + q->n_out;
        life += end - start;
        metrics_spread(&served, 1, k->first_s, k->last_s, start, first, q->n_in);
        metrics_spread(&served, 1, k->first_s, k->last_s, first, first, 1);
        metrics_spread(&served, 1, k->first_s, k->last_s, first, end, q->n_out - 1.0);
    }
    s->lifetime_s = life / (double)k->n;
    s->offered_tok_s = offered / s->window_s;
    s->served_tok_s = served / s->window_s;
}

static enum serve_verdict verdict(const struct metrics_work *k, const struct serve_stability *s)
{
    const double growth = s->queue[2] - s->queue[0], sent = 2.0 / 3 * (double)k->n;
    if (!(s->window_s > s->lifetime_s / 10))
        return SERVE_BURST;
    if (s->queue[0] < s->queue[1] && s->queue[1] < s->queue[2] && growth >= 4 && growth >= SATURATED_GROWTH * sent && s->busy >= 0.95)
        return SERVE_SATURATED;
    if (s->served_tok_s < 0.9 * s->offered_tok_s && growth >= 4 && s->window_s >= 5 * s->lifetime_s)
        return SERVE_SATURATED;
    return s->window_s < 3 * s->lifetime_s ? SERVE_SHORT : SERVE_STABLE;
}

void metrics_stability(struct metrics_work *k)
{
    struct serve_stability *s = &k->m->stability;
    const double all_s = k->end_s - k->first_s;
    *s = (struct serve_stability){ .window_s = k->last_s - k->first_s };
    s->busy = all_s > 0 ? fmin(seconds(k->r->t.busy_ps) / all_s / metrics_replicas(k), 1) : NAN;
    if (s->window_s > 0)
        queue_thirds(k, s);
    token_rates(k, s);
    s->backlog_request_s = s->window_s > 0 ? fmax(s->queue[2] - s->queue[0], 0) / (2.0 / 3 * s->window_s) : NAN;
    if (!(s->window_s > 0))
        s->offered_tok_s = s->served_tok_s = NAN;
    s->verdict = verdict(k, s);
}
