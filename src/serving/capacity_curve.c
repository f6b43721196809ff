/* Percentiles against the rate, with the spread of draws. */
#include "serving/capacity.h"
#include "serving/internal.h"
#include <math.h>
#include <stdlib.h>

/* What the points have of every draw: ttft[point][draw], itl[point][draw]. */
struct curve {
    double *ttft, *itl, *v; /* v: [w->n], to sort in */
    double own_rate, q;
    struct serve_options run;
    const struct serve_workload *w;
};

static int at_rate(struct curve *x, double rate, double *ttft_s, double *itl_s, struct error *err)
{
    struct serve_result r;
    x->run.gap_scale = x->own_rate / rate;
    if (serve_simulate(&r, x->w, &x->run, err) != 0)
        return -1;
    *ttft_s = serve_percentile(&r, x->w, SERVE_TTFT, x->q, x->v);
    *itl_s = histogram_quantile_s(&r.gap, x->q);
    serve_result_free(&r);
    return 0;
}

/* All points under a draw: the k-th of which they have. */
static int draw_all(struct curve *x, const struct capacity_point *p, size_t n, uint32_t k, struct deployment *d, uint32_t draw,
                    const struct capacity_options *o, struct error *err)
{
    int rc = deployment_draw(d, draw, o->seed, err);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = at_rate(x, p[i].rate, &x->ttft[i * o->n_draw + k], &x->itl[i * o->n_draw + k], err);
    return rc;
}

static int draw_points(struct curve *x, struct capacity_point *p, size_t n, struct deployment *d, const struct capacity_options *o, struct error *err)
{
    uint32_t n_draw = 0; /* that can be simulated */
    for (size_t i = 0; i < n; i++)
        if (at_rate(x, p[i].rate, &p[i].ttft_s, &p[i].itl_s, err) != 0)
            return -1;
    for (uint32_t draw = 1; draw <= o->n_draw; draw++) {
        struct error why = { 0 };
        const bool done = draw_all(x, p, n, n_draw, d, draw, o, &why) == 0;
        n_draw += done;
        if (!done && !serve_cannot_run(&why)) {
            *err = why;
            return -1;
        }
    }
    for (size_t i = 0; i < n; i++) {
        const double *ttft = x->ttft + i * o->n_draw, *itl = x->itl + i * o->n_draw;
        p[i].ttft_lo_s = stats_quantile(ttft, n_draw, 0.05);
        p[i].ttft_hi_s = stats_quantile(ttft, n_draw, 0.95);
        p[i].itl_lo_s = stats_quantile(itl, n_draw, 0.05);
        p[i].itl_hi_s = stats_quantile(itl, n_draw, 0.95);
    }
    return 0;
}

int capacity_curve(struct capacity_point *p, size_t n, double q, struct deployment *d, const struct serve_workload *w,
                   const struct serve_options *run, const struct capacity_options *o, struct error *err)
{
    const size_t n_value = n * (o->n_draw > 0 ? o->n_draw : 1);
    struct curve x = { .q = q, .run = *run, .w = w, .ttft = calloc(n_value, sizeof *x.ttft), .itl = calloc(n_value, sizeof *x.itl),
                       .v = malloc(w->n * sizeof *x.v) };
    int rc = x.ttft && x.itl && x.v ? 0 : error_oom(err, n_value * sizeof *x.ttft, "percentiles against the rate");
    if (rc == 0)
        rc = capacity_own_rate(&x.own_rate, w, err);
    if (rc == 0)
        rc = draw_points(&x, p, n, d, o, err);
    free(x.ttft);
    free(x.itl);
    free(x.v);
    return rc == 0 ? deployment_draw(d, 0, 0, err) : -1;
}
