/* The scheduler on a clock of prices, step by step. */
#include "serving/arrivals.h"
#include "serving/draw.h"
#include "serving/internal.h"
#include "serving/scheduler.h"
#include <stdlib.h>
#include <string.h>

/* ---- speculation ------------------------------------------------------------------------------------------------ */

/* A request's rate: the logit of the policy's, moved by the request. */
static double rate_of(const struct serve_options *o, uint32_t request, uint32_t k)
{
    const double p = o->accept[k];
    if (!(o->accept_sd > 0) || !(p > 0 && p < 1))
        return p;
    return 1 / (1 + exp(-(log(p / (1 - p)) + o->accept_sd * draw_normal(o->seed, DRAW_ACCEPT_RATE, request))));
}

uint32_t serve_accepted(const struct serve_options *o, uint32_t request, uint32_t n_known, uint32_t n_draft)
{
    uint32_t n = 0;
    while (n < n_draft && draw_uniform(o->seed, DRAW_ACCEPT, (((uint64_t)request << 27) + n_known) * POLICY_MAX_DRAFT + n) < rate_of(o, request, n))
        n++;
    return n;
}

/* ---- bookkeeping ------------------------------------------------------------------------------------------------- */

int serve_result_init(struct serve_result *r, size_t n, struct error *err)
{
    *r = (struct serve_result){ .n = n, .out = calloc(n, sizeof *r->out) };
    if (!r->out)
        return error_oom(err, n * sizeof *r->out, "the times of requests");
    for (size_t i = 0; i < n; i++)
        r->out[i].start_ps = r->out[i].first_ps = SERVE_NOT_YET;
    if (histogram_init(&r->gap, err) == 0)
        return 0;
    serve_result_free(r);
    return -1;
}

void serve_result_free(struct serve_result *r)
{
    free(r->out);
    histogram_free(&r->gap);
    *r = (struct serve_result){ 0 };
}

/* A jump's blocks lie between used_before and those of x. */
void serve_note_steps(struct serve_result *r, const struct serve_options *o, const struct serve_step *x, uint32_t used_before)
{
    struct serve_totals *t = &r->t;
    const uint64_t ps = x->end_ps - x->start_ps;
    t->n_step += x->n;
    t->busy_ps += ps;
    t->n_decode_tok += x->n * x->n_decode;
    t->n_prompt_tok += x->n * x->n_prompt;
    t->running_ps += (unsigned __int128)x->n_running * ps;
    t->used_block_ps += ((unsigned __int128)x->used_blocks + used_before) * ps / 2;
    t->most_running = x->n_running > t->most_running ? x->n_running : t->most_running;
    t->most_used_blocks = x->used_blocks > t->most_used_blocks ? x->used_blocks : t->most_used_blocks;
    if (o->step)
        o->step(o->step_ctx, x);
}

int serve_check(const struct workload *w, const struct serve_options *o, struct error *err)
{
    if (policy_check(o->policy, err) != 0)
        return -1;
    for (size_t i = 0; i < w->n; i++)
        if (scheduler_check(o->policy, o->n_block, w->r[i].n_in, w->r[i].n_out, err) != 0)
            return error_prefix(err, "%s, request %zu", w->name, i + 1);
    return 0;
}

/* ---- step by step -------------------------------------------------------------------------------------------------- */

enum { MOST_FLIGHT = 2 };

struct flight {
    struct batch batch;
    uint64_t end_ps;
};

struct simulation {
    const struct workload *w;
    const struct serve_options *o;
    struct serve_result *r;
    struct arrivals arrivals;
    struct scheduler s;
    struct flight flight[MOST_FLIGHT]; /* [0]: the older */
    size_t n_flight;
    uint64_t now_ps, device_ps; /* now; when the device has done all steps formed */
};

static int take_arrivals(struct simulation *x, struct error *err)
{
    struct due due;
    uint64_t sent_ps;
    while (arrivals_take(&x->arrivals, x->now_ps, &due, &sent_ps)) {
        x->r->out[due.request].due_ps = due.ps;
        x->r->out[due.request].sent_ps = sent_ps;
        if (!scheduler_add(&x->s, x->w, due.request, err))
            return -1;
    }
    return 0;
}

/* A step in passes of at most n_ubatch tokens, where the policy has them; else in one. */
static uint64_t price(const struct simulation *x, const struct batch *b, struct serve_step *step)
{
    const uint32_t most = x->s.p.n_ubatch > 0 ? x->s.p.n_ubatch : UINT32_MAX;
    struct step_load load = { 0 };
    uint64_t ps = 0;
    for (size_t i = 0; i < b->n; i++) {
        const struct batch_entry *e = &b->e[i];
        for (uint32_t done = 0, n; done < e->n_tok; done += n) {
            const uint32_t room = most - load.n_decode - load.n_prompt;
            n = e->n_tok - done < room ? e->n_tok - done : room;
            (e->prompt ? step_load_prompt : step_load_decode)(&load, x->o->price, e->n_past + done, n);
            *(e->prompt ? &step->n_prompt : &step->n_decode) += n;
            if (load.n_decode + load.n_prompt == most) {
                ps += step_price_ps(x->o->price, &load);
                load = (struct step_load){ 0 };
            }
        }
    }
    return ps + (load.n_decode + load.n_prompt > 0 ? step_price_ps(x->o->price, &load) : 0);
}

/* Forms a step and starts it when the device is free; *formed: there was something to do. */
static int form(struct simulation *x, bool *formed, struct error *err)
{
    struct flight *f = &x->flight[x->n_flight];
    if (scheduler_form(&x->s, &f->batch, err) != 0)
        return -1;
    *formed = f->batch.n > 0;
    if (!*formed)
        return 0;
    struct serve_step step = { .n = 1, .start_ps = u64_max(x->now_ps, x->device_ps), .n_running = (uint32_t)x->s.n_running,
                               .n_waiting = (uint32_t)x->s.n_waiting, .used_blocks = scheduler_used_blocks(&x->s) };
    step.end_ps = f->end_ps = x->device_ps = step.start_ps + price(x, &f->batch, &step);
    for (size_t i = 0; i < f->batch.n; i++) {
        struct serve_outcome *out = &x->r->out[f->batch.e[i].seq->request];
        if (out->start_ps == SERVE_NOT_YET)
            out->start_ps = x->now_ps;
    }
    serve_note_steps(x->r, x->o, &step, step.used_blocks);
    x->n_flight++;
    return 0;
}

/* How many tokens a step yielded to a sequence. */
static void outcome_of(struct simulation *x, struct batch_entry *e)
{
    const struct sched_seq *q = e->seq;
    const struct serve_request *r = &x->w->r[q->request];
    if (!e->samples || q->state == SEQ_DONE)
        return;
    const uint32_t left = r->n_in + r->n_out - q->n_known, accepted = serve_accepted(x->o, q->request, q->n_known, e->n_draft);
    x->r->t.n_draft += e->n_draft;
    x->r->t.n_accepted += accepted;
    e->n_new = 1 + accepted < left ? 1 + accepted : left;
    e->stop = e->n_new == left;
}

static void note_tokens(struct simulation *x, const struct batch_entry *e)
{
    const struct sched_seq *q = e->seq;
    struct serve_outcome *out = &x->r->out[q->request];
    if (e->failed) {
        out->failed = true;
        out->end_ps = x->now_ps;
        arrivals_end(&x->arrivals, q->request, x->now_ps);
    }
    if (e->n_new == 0)
        return;
    if (out->first_ps == SERVE_NOT_YET)
        out->first_ps = x->now_ps;
    else
        histogram_add(&x->r->gap, x->now_ps - out->end_ps, 1);
    out->end_ps = x->now_ps; /* of its newest token */
    if (q->state != SEQ_DONE)
        return;
    out->n_hit = q->n_hit;
    out->n_preempt = q->n_preempt;
    arrivals_end(&x->arrivals, q->request, x->now_ps);
}

/* The oldest step is done. */
static void apply(struct simulation *x)
{
    struct flight *f = &x->flight[0];
    x->now_ps = u64_max(x->now_ps, f->end_ps);
    for (size_t i = 0; i < f->batch.n; i++) {
        f->batch.e[i].n_new = 0;
        if (f->batch.e[i].seq->state == SEQ_DONE)
            x->r->t.n_wasted_tok += f->batch.e[i].n_tok;
        outcome_of(x, &f->batch.e[i]);
    }
    scheduler_apply(&x->s, &f->batch);
    for (size_t i = 0; i < f->batch.n; i++) {
        struct batch_entry *e = &f->batch.e[i];
        note_tokens(x, e);
        if (e->seq->state == SEQ_DONE && e->seq->n_flight == 0)
            scheduler_drop(e->seq);
    }
    const struct batch spare = f->batch;
    x->flight[0] = x->flight[1];
    x->flight[1].batch = spare;
    x->n_flight--;
}

static int run(struct simulation *x, struct error *err)
{
    const size_t most = x->s.p.async_scheduling ? MOST_FLIGHT : 1;
    for (uint64_t n = 0;; n++) {
        bool formed = false;
        if (n % 4096 == 0 && interrupt_check(err) != 0)
            return -1;
        if (take_arrivals(x, err) != 0 || form(x, &formed, err) != 0)
            return -1;
        if (formed && x->n_flight < most)
            continue;
        if (x->n_flight > 0) {
            apply(x);
            continue;
        }
        const uint64_t next_ps = arrivals_next_ps(&x->arrivals, x->now_ps);
        if (next_ps == UINT64_MAX)
            return scheduler_idle(&x->s) ? 0 : error_set(err, ERROR_INPUT, "%s: requests wait for KV blocks that never become free", x->w->name);
        x->now_ps = next_ps;
    }
}

int serve_step_by_step(struct serve_result *r, const struct workload *w, const struct serve_options *o, struct error *err)
{
    struct simulation x = { .w = w, .o = o, .r = r };
    int rc = -1;
    if (arrivals_init(&x.arrivals, w, o->max_concurrency, err) == 0) {
        if (scheduler_init(&x.s, o->policy, o->n_block, err) == 0) {
            rc = run(&x, err);
            r->t.n_preempt = x.s.n_preempt;
            r->t.n_evicted = x.s.pool.n_evicted;
            r->t.n_query_tok = x.s.n_query_tok;
            r->t.n_hit_tok = x.s.n_hit_tok;
            r->t.end_ps = x.now_ps;
        }
        for (size_t i = 0; i < MOST_FLIGHT; i++) {
            if (i < x.n_flight)
                scheduler_forget(&x.flight[i].batch);
            batch_free(&x.flight[i].batch);
        }
        scheduler_free(&x.s);
        arrivals_free(&x.arrivals);
    }
    return rc;
}

int serve_simulate(struct serve_result *r, const struct workload *w, const struct serve_options *o, struct error *err)
{
    if (serve_check(w, o, err) != 0 || serve_result_init(r, w->n, err) != 0)
        return -1;
    r->stepped = o->flags & SERVE_STEP_BY_STEP || !serve_can_jump(o, r->why, sizeof r->why);
    const int rc = r->stepped ? serve_step_by_step(r, w, o, err) : serve_jumping(r, w, o, err);
    if (rc != 0)
        serve_result_free(r);
    return rc;
}
