#include "serving/draws.h"
#include "serving/internal.h"
#include <stdlib.h>
#include <string.h>

/* What the threads share. */
struct draws {
    const struct serve_workload *w;
    const struct serve_options *run;
    const struct serve_metrics_options *m;
    const struct step_price *price; /* [n]; empty: cannot be simulated */
    struct serve_metrics *out;      /* [n] */
    bool *done;                     /* [n] */
    uint32_t n;
    atomic_uint next, n_done, n_without; /* n_without: draws that cannot be simulated */
    atomic_bool failed;
    struct error *err; /* of the first that failed */
    draws_progress_fn *fn;
    void *ctx;
};

static int simulate_draw(const struct draws *x, uint32_t i, struct error *err)
{
    struct serve_options run = *x->run;
    struct serve_result r;
    run.price = &x->price[i];
    run.step = NULL;
    if (serve_simulate(&r, x->w, &run, err) != 0)
        return -1;
    struct serve_metrics_options m = *x->m;
    m.timeline = NULL;
    m.options = &run;
    const int rc = serve_metrics(&x->out[i], &r, x->w, &m, err);
    serve_result_free(&r);
    return rc;
}

static void work(void *arg, int tid, int n_thread)
{
    struct draws *x = arg;
    (void)n_thread;
    for (uint32_t i; (i = atomic_fetch_add(&x->next, 1)) < x->n && !atomic_load(&x->failed);) {
        struct error err = { 0 };
        x->done[i] = x->price[i].decode_ps && simulate_draw(x, i, &err) == 0;
        if (!x->done[i] && (!x->price[i].decode_ps || serve_cannot_run(&err)))
            atomic_fetch_add(&x->n_without, 1);
        else if (!x->done[i] && !atomic_exchange(&x->failed, true) && x->err)
            *x->err = err;
        const uint32_t done = atomic_fetch_add(&x->n_done, 1) + 1;
        if (tid == 0 && x->fn)
            x->fn(x->ctx, done, x->n);
    }
}

/* Copies of d's prices under n draws, each for step_price_free(); empty where the draw cannot be simulated. */
static struct step_price *prices_of(struct deployment *d, uint32_t n, uint64_t seed, struct error *err)
{
    struct step_price *price = calloc(n, sizeof *price), *means = malloc(sizeof *means);
    if (!price || !means) {
        free(price);
        free(means);
        (void)error_oom(err, n * sizeof *price, "draws of the constants");
        return NULL;
    }
    *means = d->price;
    int rc = 0;
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        struct error why = { 0 };
        rc = step_price_alloc(&d->price, &d->policy, err);
        if (rc == 0 && deployment_draw(d, i + 1, seed, &why) != 0) {
            step_price_free(&d->price);
            if (!serve_cannot_run(&why)) {
                rc = -1;
                if (err)
                    *err = why;
            }
        }
        price[i] = d->price;
    }
    d->price = *means;
    free(means);
    d->clock.draw = 0;
    if (rc == 0)
        return price;
    for (uint32_t i = 0; i < n; i++)
        step_price_free(&price[i]);
    free(price);
    return NULL;
}

static int run_draws(struct draws *x, uint32_t n_thread, struct error *err)
{
    if (n_thread <= 1) {
        work(x, 0, 1);
        return 0;
    }
    struct team *team = team_new((int)n_thread, NULL, err);
    if (!team)
        return -1;
    team_run(team, work, x);
    team_free(team);
    return 0;
}

/* Moves those that were done to the front: how many. */
static size_t draws_done(const struct draws *x)
{
    size_t n = 0;
    for (uint32_t i = 0; i < x->n; i++)
        if (x->done[i])
            x->out[n++] = x->out[i];
    return n;
}

int serve_draws(struct serve_study *s, struct deployment *d, const struct serve_workload *w, const struct serve_options *run,
                const struct serve_metrics_options *m, const struct draws_options *o, draws_progress_fn *fn, void *ctx, struct error *err)
{
    if (o->n_draw == 0 || !d->estimator.roofs.time)
        return 0;
    struct serve_workload part = *w;
    if (o->most > 0 && part.n > o->most)
        part.n = o->most;
    struct draws x = { .w = &part, .run = run, .m = m, .n = o->n_draw, .err = err, .fn = fn, .ctx = ctx };
    struct step_price *price = prices_of(d, o->n_draw, o->seed, err);
    x.price = price;
    x.out = calloc(x.n, sizeof *x.out);
    x.done = calloc(x.n, sizeof *x.done);
    int rc = -1;
    if (!price || !x.out || !x.done)
        rc = price ? error_oom(err, x.n * sizeof *x.out, "the metrics of draws") : -1;
    else if (run_draws(&x, o->n_thread, err) == 0 && !atomic_load(&x.failed))
        rc = interrupt_check(err);
    if (price && x.out && x.done && (rc == 0 || err->kind == ERROR_INTERRUPTED)) {
        serve_study_draws(s, x.out, draws_done(&x));
        s->n_draw_without = atomic_load(&x.n_without);
    }
    for (uint32_t i = 0; price && i < x.n; i++)
        step_price_free(&price[i]);
    free(price);
    free(x.out);
    free(x.done);
    return rc;
}
