#include "server/replay.h"
#include "serving/arrivals.h"
#include "serving/draw.h"
#include <math.h>
#include <stdlib.h>

struct replay;

/* Of one request: what its sink needs. */
struct sent {
    struct replay *x;
    uint32_t request, n_got;
};

struct replay {
    const struct serve_workload *w;
    const struct replay_options *o;
    struct serve_result *r;
    struct loop *l;
    struct arrivals arrivals;
    struct sent *sent; /* [w->n] */
    size_t n_done;
    double start_s;
    uint32_t n_vocab;
    struct error err;
    bool failed;
};

static uint64_t now_ps(const struct replay *x, double now_s)
{
    return (uint64_t)(fmax(0, now_s - x->start_s) * PS_PER_S);
}

/* ---- tokens ------------------------------------------------------------------------------------------------------------ */

static int32_t token_of(const struct replay *x, uint64_t identity, uint64_t at)
{
    return (int32_t)(draw_mix(draw_mix(identity) + at * UINT64_C(0x9e3779b97f4a7c15)) % x->n_vocab);
}

/* The first n tokens of a request: of its identities as far as they go, then its own. */
static void fill_tokens(const struct replay *x, uint32_t request, int32_t *tok, uint32_t n)
{
    const struct serve_request *r = &x->w->r[request];
    uint32_t at = 0;
    for (uint32_t i = 0; i < r->n_run; i++) {
        const struct token_run *run = &x->w->run[r->run0 + i];
        for (uint64_t k = 0; k < (uint64_t)run->n * x->w->run_tokens && at < n; k++)
            tok[at++] = token_of(x, run->first + k / x->w->run_tokens, k % x->w->run_tokens);
    }
    for (; at < n; at++)
        tok[at] = token_of(x, ~(uint64_t)request, at);
}

/* ---- requests ---------------------------------------------------------------------------------------------------------- */

static void end_request(struct replay *x, const struct sent *s, const struct loop_tokens *t, uint64_t ps)
{
    struct serve_outcome *out = &x->r->out[s->request];
    out->n_hit = t->n_hit;
    out->n_preempt = t->n_preempt;
    out->failed = t->finish == LOOP_FAILED || t->finish == LOOP_ABORTED;
    if (out->failed)
        out->end_ps = ps;
    arrivals_end(&x->arrivals, s->request, ps);
    x->n_done++;
    if (x->o->progress)
        x->o->progress(x->o->progress_ctx, x->n_done, x->w->n);
}

static bool take(void *ctx, const struct loop_tokens *t)
{
    struct sent *s = ctx;
    struct replay *x = s->x;
    struct serve_outcome *out = &x->r->out[s->request];
    const uint64_t ps = now_ps(x, t->now_s);
    if (t->start_s > 0 && out->start_ps == SERVE_NOT_YET)
        out->start_ps = now_ps(x, t->start_s);
    if (t->n > 0) {
        if (out->first_ps == SERVE_NOT_YET)
            out->first_ps = ps;
        else
            histogram_add(&x->r->gap, ps - out->end_ps, 1);
        out->end_ps = ps;
        s->n_got += t->n;
    }
    const bool over = s->n_got >= x->w->r[s->request].n_out;
    if (t->finish != LOOP_RUNNING)
        end_request(x, s, t, ps);
    return over;
}

static int submit(struct replay *x, uint32_t request, struct error *err)
{
    const struct serve_request *r = &x->w->r[request];
    const uint32_t n = r->n_in + r->n_out;
    int32_t *tok = malloc(n * sizeof *tok);
    uint64_t id;
    if (!tok)
        return error_oom(err, n * sizeof *tok, "a request");
    fill_tokens(x, request, tok, n);
    x->sent[request] = (struct sent){ .x = x, .request = request };
    const struct loop_request q = { .prompt = tok, .n_in = r->n_in, .forced = tok + r->n_in, .n_forced = r->n_out, .sampler = sampler_default,
                                    .ignore_end = true, .priority = r->priority, .number = request, .sink = take, .sink_ctx = &x->sent[request],
                                    .n_max = r->end == SERVE_END_LENGTH ? r->n_out : x->o->serve->policy->max_model_len - r->n_in };
    const int rc = loop_submit(x->l, &q, &id, err);
    free(tok);
    return rc;
}

/* Sends what is due. */
static double send_due(void *ctx)
{
    struct replay *x = ctx;
    struct due due;
    uint64_t sent_ps;
    const uint64_t ps = now_ps(x, clock_now_s());
    if (interrupt_pending()) { /* a loop that stops takes no more */
        loop_stop(x->l);
        return INFINITY;
    }
    while (!x->failed && arrivals_take(&x->arrivals, ps, &due, &sent_ps)) {
        x->r->out[due.request].due_ps = due.ps;
        x->r->out[due.request].sent_ps = sent_ps;
        if (submit(x, due.request, &x->err) != 0) {
            x->failed = true;
            loop_stop(x->l);
        }
    }
    if (x->n_done == x->w->n)
        loop_drain(x->l);
    const uint64_t next_ps = arrivals_next_ps(&x->arrivals, ps);
    return next_ps == UINT64_MAX ? INFINITY : x->start_s + (double)next_ps / PS_PER_S;
}

static void note_step(void *ctx, const struct serve_step *step)
{
    struct replay *x = ctx;
    serve_note_steps(x->r, x->o->serve, step, step->used_blocks);
}

static int run(struct replay *x, struct engine *e, struct loop_stats *stats, struct error *err)
{
    struct loop_options o = x->o->loop;
    o.poll = send_due;
    o.poll_ctx = x;
    o.step = note_step;
    o.step_ctx = x;
    if (!(x->l = loop_new(e, &o, err)))
        return -1;
    x->start_s = loop_start_s(x->l);
    int rc = loop_run(x->l, err);
    loop_stats(x->l, stats);
    if (rc == 0 && x->failed) {
        *err = x->err;
        rc = -1;
    }
    if (rc == 0 && x->n_done < x->w->n)
        rc = interrupt_check(err);
    loop_free(x->l);
    struct serve_totals *t = &x->r->t;
    t->n_preempt = stats->n_preempt;
    t->n_evicted = stats->n_evicted;
    t->n_query_tok = stats->n_query_tok;
    t->n_hit_tok = stats->n_hit_tok;
    t->n_draft = stats->n_draft_tok;
    t->n_round = stats->n_draft;
    t->n_accepted = stats->n_accepted_tok;
    t->n_wasted_tok = stats->n_wasted_tok;
    for (size_t i = 0; i < x->r->n; i++)
        t->end_ps = x->r->out[i].end_ps > t->end_ps ? x->r->out[i].end_ps : t->end_ps;
    return rc;
}

int replay(struct serve_result *r, struct loop_stats *stats, struct engine *e, const struct serve_workload *w, const struct replay_options *o,
           struct error *err)
{
    struct replay x = { .w = w, .o = o, .r = r, .n_vocab = engine_n_vocab(e) };
    if (serve_result_init(r, w->n, err) != 0)
        return -1;
    r->stepped = true;
    int rc = arrivals_init(&x.arrivals, w, o->serve->max_concurrency, o->serve->gap_scale, err);
    if (rc == 0) {
        x.sent = calloc(w->n, sizeof *x.sent);
        rc = x.sent ? run(&x, e, stats, err) : error_oom(err, w->n * sizeof *x.sent, "a replay");
        arrivals_free(&x.arrivals);
    }
    free(x.sent);
    if (rc != 0 && err->kind != ERROR_INTERRUPTED)
        serve_result_free(r);
    return rc;
}
