/* A loop without an engine. */
#include "fake_loop.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct fake {
    struct fake *next;
    uint64_t id;
    struct loop_request r;
    int32_t *prompt, *end;
    uint32_t n_done;
    bool abort, stop;
    double submit_s, start_s;
};

struct loop {
    pthread_mutex_t lock;
    pthread_t thread;
    struct loop_options o;
    struct fake *first;
    uint64_t last_id;
    double step_s;
    uint32_t n_tok, n_hit;
    bool hold, fail, quit, drain;
    struct loop_request last;
    int32_t last_prompt[4096];
    struct loop_stats stats;
};

static const double bounds[] = { 0.001, 0.01, 0.1, 1, 10 };

static bool is_end(const struct fake *f, int32_t id)
{
    for (uint32_t i = 0; i < f->r.n_end && !f->r.ignore_end; i++)
        if (f->end[i] == id)
            return true;
    return false;
}

static void count(struct loop *l, enum loop_time t, double v)
{
    struct loop_histogram *h = &l->stats.h[t];
    uint32_t i = 0;
    while (i < h->n && v > h->bound[i])
        i++;
    h->count[i]++;
    h->sum += v;
}

/* One step of one request; true: it has ended. The lock is not held. */
static bool step(struct loop *l, struct fake *f, bool abort, bool fail)
{
    int32_t id[64];
    struct loop_logprob chosen[64], top[64 * LOOP_MAX_TOP];
    struct loop_tokens t = { .id = id, .submit_s = f->submit_s, .start_s = f->start_s, .now_s = clock_now_s(), .n_hit = l->n_hit };
    t.finish = f->stop ? LOOP_STOPPED : abort ? LOOP_ABORTED : fail ? LOOP_FAILED : LOOP_RUNNING;
    t.error = fail ? "the engine is broken" : NULL;
    for (uint32_t k = 0; t.finish == LOOP_RUNNING && k < l->n_tok; k++) {
        const int32_t next = f->prompt[f->n_done % f->r.n_in];
        if (is_end(f, next) && f->n_done >= f->r.n_min) {
            t.finish = LOOP_EOS;
            break;
        }
        chosen[t.n] = (struct loop_logprob){ next, -0.5f };
        for (uint32_t i = 0; i < f->r.n_top; i++)
            top[t.n * f->r.n_top + i] = (struct loop_logprob){ 3 + 'a' + (int32_t)i, -1.0f - (float)i };
        id[t.n++] = next;
        if (++f->n_done == f->r.n_max)
            t.finish = LOOP_LENGTH;
    }
    t.chosen = f->r.logprobs ? chosen : NULL;
    t.top = f->r.logprobs ? top : NULL;
    t.n_top = f->r.n_top;
    f->stop = f->r.sink(f->r.sink_ctx, &t);
    pthread_mutex_lock(&l->lock);
    l->stats.n_output_tok += t.n;
    if (f->n_done == t.n && t.n > 0)
        count(l, LOOP_TTFT, t.now_s - f->submit_s);
    if (t.finish != LOOP_RUNNING) {
        l->stats.n_finished[t.finish]++;
        count(l, LOOP_E2E, t.now_s - f->submit_s);
    }
    pthread_mutex_unlock(&l->lock);
    return t.finish != LOOP_RUNNING;
}

static void nap(double s)
{
    const struct timespec t = { (time_t)s, (long)((s - (double)(time_t)s) * 1e9) };
    nanosleep(&t, NULL);
}

/* One step of all requests. */
static void step_all(struct loop *l, bool quit, bool fail)
{
    struct fake *ended[4096];
    size_t n = 0;
    pthread_mutex_lock(&l->lock);
    struct fake *f = l->first;
    pthread_mutex_unlock(&l->lock);
    while (f) {
        pthread_mutex_lock(&l->lock);
        const bool abort = f->abort || quit;
        const bool run = !l->hold || abort || f->stop;
        struct fake *next = f->next;
        pthread_mutex_unlock(&l->lock);
        if (run && n < ARRAY_LEN(ended) && step(l, f, abort, fail))
            ended[n++] = f;
        f = next;
    }
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < n; i++) {
        struct fake **p = &l->first;
        while (*p != ended[i])
            p = &(*p)->next;
        *p = ended[i]->next;
        l->stats.n_running--;
        free(ended[i]->prompt);
        free(ended[i]->end);
        free(ended[i]);
    }
    l->stats.n_step++;
    pthread_mutex_unlock(&l->lock);
}

static void *run(void *arg)
{
    struct loop *l = arg;
    for (;;) {
        pthread_mutex_lock(&l->lock);
        const double step_s = l->step_s;
        const bool quit = l->quit, fail = l->fail && !l->hold;
        l->fail = l->fail && l->hold;
        pthread_mutex_unlock(&l->lock);
        step_all(l, quit, fail);
        if (quit)
            return NULL;
        nap(step_s);
    }
}

struct loop *loop_new(struct engine *e, const struct loop_options *o, struct error *err)
{
    struct loop *l = calloc(1, sizeof *l);
    (void)e;
    (void)err;
    l->o = *o;
    l->step_s = 1e-3;
    l->n_tok = 1;
    l->stats.n_block = o->n_block;
    for (int i = 0; i < LOOP_TIMES; i++) {
        l->stats.h[i].bound = bounds;
        l->stats.h[i].n = ARRAY_LEN(bounds);
    }
    pthread_mutex_init(&l->lock, NULL);
    pthread_create(&l->thread, NULL, run, l);
    return l;
}

void loop_free(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    l->quit = true;
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static int refuse(struct loop *l, const struct loop_request *r, struct error *err)
{
    const uint32_t n_pos = l->o.n_block * l->o.policy.block_size;
    if (l->drain)
        return error_set(err, ERROR_UNAVAILABLE, "the loop drains");
    if (r->n_in + r->n_max > n_pos)
        return error_set(err, ERROR_INPUT, "%u and %u tokens do not fit the pool of %u", r->n_in, r->n_max, n_pos);
    if (l->o.max_queued > 0 && l->stats.n_running >= l->o.max_queued)
        return error_set(err, ERROR_UNAVAILABLE, "%u requests wait", l->stats.n_running);
    return 0;
}

int loop_submit(struct loop *l, const struct loop_request *r, uint64_t *id, struct error *err)
{
    struct fake *f = calloc(1, sizeof *f), **end;
    f->r = *r;
    f->prompt = malloc(r->n_in * sizeof *f->prompt);
    memcpy(f->prompt, r->prompt, r->n_in * sizeof *f->prompt);
    f->end = malloc((r->n_end + 1) * sizeof *f->end);
    if (r->n_end > 0)
        memcpy(f->end, r->end, r->n_end * sizeof *f->end);
    f->submit_s = f->start_s = clock_now_s();
    pthread_mutex_lock(&l->lock);
    const int rc = refuse(l, r, err);
    if (rc == 0) {
        for (end = &l->first; *end; end = &(*end)->next) {
        }
        *end = f;
        f->id = *id = ++l->last_id;
        l->last = *r;
        memcpy(l->last_prompt, r->prompt, (r->n_in < ARRAY_LEN(l->last_prompt) ? r->n_in : ARRAY_LEN(l->last_prompt)) * sizeof *f->prompt);
        l->stats.n_running++;
        l->stats.n_prompt_tok += r->n_in;
    }
    pthread_mutex_unlock(&l->lock);
    if (rc != 0) {
        free(f->prompt);
        free(f->end);
        free(f);
    }
    return rc;
}

void loop_abort(struct loop *l, uint64_t id)
{
    pthread_mutex_lock(&l->lock);
    for (struct fake *f = l->first; f; f = f->next)
        if (f->id == id)
            f->abort = true;
    pthread_mutex_unlock(&l->lock);
}

void loop_drain(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    l->drain = true;
    pthread_mutex_unlock(&l->lock);
}

bool loop_idle(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    const bool idle = !l->first;
    pthread_mutex_unlock(&l->lock);
    return idle;
}

void loop_stats(struct loop *l, struct loop_stats *s)
{
    pthread_mutex_lock(&l->lock);
    *s = l->stats;
    pthread_mutex_unlock(&l->lock);
}

void fake_loop_pace(struct loop *l, double step_s, uint32_t n_tok)
{
    pthread_mutex_lock(&l->lock);
    l->step_s = step_s;
    l->n_tok = n_tok;
    pthread_mutex_unlock(&l->lock);
}

void fake_loop_hold(struct loop *l, bool hold)
{
    pthread_mutex_lock(&l->lock);
    l->hold = hold;
    pthread_mutex_unlock(&l->lock);
}

void fake_loop_fail(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    l->fail = true;
    pthread_mutex_unlock(&l->lock);
}

void fake_loop_hit(struct loop *l, uint32_t n_hit)
{
    pthread_mutex_lock(&l->lock);
    l->n_hit = n_hit;
    pthread_mutex_unlock(&l->lock);
}

struct loop_request fake_loop_last(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    const struct loop_request r = l->last;
    pthread_mutex_unlock(&l->lock);
    return r;
}

const int32_t *fake_loop_prompt(struct loop *l)
{
    return l->last_prompt;
}
