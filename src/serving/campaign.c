#include "serving/campaign.h"
#include "serving/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Consecutive items that a thread takes at once, so that it meets a group's estimator again; as many are of one part. */
enum { CHUNK = 8 };

/* ---- a thread ------------------------------------------------------------------------------------------------------ */

/* The deployment that a thread has at hand. */
struct worker {
    struct deployment *d;
    size_t cell;     /* whose it is; SIZE_MAX: none's */
    uint32_t group;  /* whose estimator it has; UINT32_MAX: none's */
    struct serve_options run;
};

static void worker_drop(struct worker *w)
{
    if (w->group != UINT32_MAX)
        deployment_free(w->d);
    w->group = UINT32_MAX;
    w->cell = SIZE_MAX;
}

/* Sets up cell i, unless it is there. */
static int worker_take(struct worker *x, const struct campaign *k, size_t i, struct error *err)
{
    const struct campaign_cell *c = &k->cell[i];
    if (x->cell == i)
        return 0;
    x->cell = SIZE_MAX;
    if (x->group == c->group) {
        if (deployment_change(x->d, c->classes, c->h, &c->predict, &c->deploy, k->w, err) != 0)
            return -1;
    } else {
        worker_drop(x);
        if (layout_check_link(&c->predict.layout, c->h, err) != 0 ||
            deployment_init(x->d, c->classes, c->h, &c->predict, &c->deploy, k->w, err) != 0)
            return -1;
        x->group = c->group;
    }
    x->cell = i;
    const struct serve_options own = deployment_serve_options(x->d, &c->deploy, k->search->seed);
    x->run = *k->run;
    x->run.policy = own.policy;
    x->run.price = own.price;
    x->run.n_block = own.n_block;
    x->run.n_replica = own.n_replica;
    x->run.kv_token_bytes = own.kv_token_bytes;
    x->run.seed = own.seed;
    return 0;
}

/* ---- threads ---------------------------------------------------------------------------------------------------------- */

struct job;
typedef int item_fn(struct job *j, struct worker *w, size_t i, struct error *err);

/* Items 0 ... n - 1 among threads. */
struct job {
    struct campaign *k;
    const uint32_t *which;
    double *rate;
    item_fn *fn;
    size_t n;
    atomic_size_t next, n_done; /* chunks, items of this part */
    atomic_bool stop;
    struct error err;           /* of the first that failed */
    bool failed;
};

static uint32_t parts(const struct campaign *k)
{
    return k->n_part > 1 ? k->n_part : 1;
}

static void do_chunk(struct job *j, struct worker *w, size_t chunk)
{
    const size_t end = (chunk + 1) * CHUNK < j->n ? (chunk + 1) * CHUNK : j->n;
    for (size_t i = chunk * CHUNK; i < end && !atomic_load(&j->stop); i++) {
        struct error err = { 0 };
        if (j->fn(j, w, i, &err) != 0 && !atomic_exchange(&j->stop, true)) {
            j->err = err;
            j->failed = true;
        }
        atomic_fetch_add(&j->n_done, 1);
    }
}

static void work(void *arg, int tid, int n_thread)
{
    struct job *j = arg;
    const struct campaign *k = j->k;
    struct worker w = { .d = malloc(sizeof *w.d), .cell = SIZE_MAX, .group = UINT32_MAX };
    (void)n_thread;
    if (!w.d) {
        if (!atomic_exchange(&j->stop, true)) {
            (void)error_oom(&j->err, sizeof *w.d, "a deployment");
            j->failed = true;
        }
        return;
    }
    for (size_t c; (c = atomic_fetch_add(&j->next, 1) * parts(k) + k->part) * CHUNK < j->n && !atomic_load(&j->stop);) {
        do_chunk(j, &w, c);
        if (tid == 0 && k->progress)
            k->progress(k->ctx, fmin(1, (double)atomic_load(&j->n_done) * parts(k) / (double)j->n));
    }
    worker_drop(&w);
    free(w.d);
}

static int run(struct job *j, struct error *err)
{
    if (j->k->n_thread <= 1)
        work(j, 0, 1);
    else {
        struct team *team = team_new((int)j->k->n_thread, NULL, err);
        if (!team)
            return -1;
        team_run(team, work, j);
        team_free(team);
    }
    if (!j->failed)
        return interrupt_check(err);
    if (err)
        *err = j->err;
    return -1;
}

bool campaign_is_mine(const struct campaign *k, size_t i)
{
    return i / CHUNK % parts(k) == k->part;
}

/* ---- rates --------------------------------------------------------------------------------------------------------------- */

static int find(struct worker *w, struct campaign *k, size_t i, struct error *err)
{
    struct campaign_result *r = &k->result[i];
    if (worker_take(w, k, i, err) != 0)
        return -1;
    r->policy = w->d->policy;
    r->n_block = w->d->n_block;
    return capacity_central(&r->c, k->w, &w->run, k->search, err);
}

static int find_rate(struct job *j, struct worker *w, size_t i, struct error *err)
{
    struct campaign_result *r = &j->k->result[i];
    *r = (struct campaign_result){ .c = capacity_none() };
    if (find(w, j->k, i, err) != 0) {
        if (!serve_cannot_run(err))
            return -1;
        r->c = capacity_none();
        r->kind = err->kind;
        snprintf(r->reason, sizeof r->reason, "%.239s", err->msg);
    }
    r->done = true;
    return 0;
}

int campaign_rates(struct campaign *k, struct error *err)
{
    struct job j = { .k = k, .fn = find_rate, .n = k->n };
    return run(&j, err);
}

/* ---- draws ---------------------------------------------------------------------------------------------------------------- */

static int find_draw(struct job *j, struct worker *w, size_t i, struct error *err)
{
    const struct campaign *k = j->k;
    const uint32_t n = k->search->n_draw;
    if (worker_take(w, k, j->which[i / n], err) != 0)
        return -1;
    return capacity_draw(&j->rate[i], w->d, (uint32_t)(i % n) + 1, k->w, &w->run, k->search, err);
}

int campaign_draws(struct campaign *k, const uint32_t *which, size_t n_which, double *rate, struct error *err)
{
    struct job j = { .k = k, .which = which, .rate = rate, .fn = find_draw, .n = n_which * k->search->n_draw };
    for (size_t i = 0; i < j.n; i++)
        if (campaign_is_mine(k, i))
            rate[i] = NAN;
    return run(&j, err);
}

void campaign_restore(struct campaign *k, size_t i)
{
    k->result[i].policy.name = k->cell[i].deploy.policy ? k->cell[i].deploy.policy : policy_name(0);
}
