/* drafted.h: requests served with drafts and without, whose outputs are compared, for the tests of drafters. */
#ifndef TESTS_SERVER_DRAFTED_H
#define TESTS_SERVER_DRAFTED_H

#include "served.h"
#include <math.h>

/* Of the longest output; likeliest tokens that are sampled, and tokens of a request of drafted_distribution(). */
enum { DRAFTED_MOST = 40, DRAFTED_KEPT = 6, DRAFTED_DRAW = 3 };

struct drafted_request {
    struct loop_request r;
    int32_t prompt[SERVED_CTX], got[DRAFTED_MOST];
    uint32_t n_got, n_last, n_hit, stop_after;
    uint32_t whole_from, n_draft; /* from this token on every step but the last yields 1 + n_draft; 0: does not matter */
    enum loop_finish finish;
    struct loop *l; /* aborts `other` with its third token */
    uint64_t other;
};

static inline bool drafted_take(void *ctx, const struct loop_tokens *t)
{
    struct drafted_request *q = ctx;
    if (q->whole_from > 0 && q->n_got >= q->whole_from && t->finish == LOOP_RUNNING)
        assert_int_equal(t->n, 1 + q->n_draft);
    for (uint32_t i = 0; i < t->n; i++)
        q->got[q->n_got++] = t->id[i];
    q->n_last += t->finish != LOOP_RUNNING;
    q->n_hit = t->n_hit;
    q->finish = t->finish;
    if (q->other != 0 && q->n_got >= 3)
        loop_abort(q->l, q->other);
    return q->stop_after > 0 && q->n_got >= q->stop_after;
}

/* q [n]: of random lengths, outputs of 1 + 4 k tokens; some begin alike, some stop after 5 tokens. */
static inline void drafted_init(struct drafted_request *q, uint32_t n, const struct served *s, uint64_t seed, double temperature)
{
    struct rng g;
    int32_t tok[SERVED_CTX + 4];
    rng_init(&g, seed);
    random_tokens(&s->spec, tok, ARRAY_LEN(tok));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t n_max = 1 + 4 * (uint32_t)(rng_u64(&g) % 6), n_in = 1 + (uint32_t)(rng_u64(&g) % 40);
        q[i] = (struct drafted_request){ .r = { .n_in = n_in, .n_max = n_max, .number = i, .sampler = sampler_default, .ignore_end = true, .sink = drafted_take },
                                         .stop_after = i % 7 == 3 ? 5 : 0 };
        memcpy(q[i].prompt, tok + i % 4, sizeof q[i].prompt);
        q[i].r.sampler.temperature = temperature;
        q[i].r.sampler.seed = i;
    }
}

/* stops: those of q with stop_after stop; aborts: each fifth aborts the one before it. */
static inline void drafted_serve(struct drafted_request *q, uint32_t n, struct engine *e, const struct loop_options *options, bool stops, bool aborts,
                                 struct loop_stats *stats)
{
    struct error err = { 0 };
    struct served_watch watch = { 0 };
    struct loop_options o = *options;
    o.step = served_check_step;
    o.step_ctx = &watch;
    struct loop *l = loop_new(e, &o, &err);
    if (!l)
        fail_msg("%s", err.msg);
    watch.l = l;
    uint64_t before = 0, id;
    for (uint32_t i = 0; i < n; i++) {
        q[i].r.prompt = q[i].prompt;
        q[i].r.sink_ctx = &q[i];
        q[i].stop_after = stops ? q[i].stop_after : 0;
        q[i].l = l;
        q[i].other = aborts && i % 5 == 4 ? before : 0;
        assert_ok(loop_submit(l, &q[i].r, &id, &err), err);
        before = id;
    }
    loop_drain(l);
    assert_ok(loop_run(l, &err), err);
    loop_stats(l, stats);
    served_check_end(l);
    loop_free(l);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(q[i].n_last, 1);
}

/* Drafting is part of steps: bytes of both engines. */
static inline void drafted_check_work(const struct engine *e, const struct engine *drafter, const struct loop_stats *stats)
{
    const struct work a = engine_work(e), b = engine_work(drafter);
    assert_true(b.flop > 0 && stats->bytes == (double)(a.weight_bytes + a.kv_bytes + b.weight_bytes + b.kv_bytes));
}

/* Outputs of q are those of alone, which were served without drafts; of aborted and stopped requests, as far as they go. */
static inline void drafted_check_same(const struct drafted_request *q, const struct drafted_request *alone, uint32_t n_request)
{
    for (uint32_t k = 0; k < n_request; k++) {
        const bool aborted = q[k].finish == LOOP_ABORTED;
        assert_true(aborted ? q[k].n_got <= alone[k].n_got : q[k].finish == alone[k].finish);
        assert_true(aborted || q[k].n_got == alone[k].n_got || (q[k].stop_after > 0 && q[k].n_got >= q[k].stop_after));
        const uint32_t n = q[k].n_got < alone[k].n_got ? q[k].n_got : alone[k].n_got; /* a stop takes whole steps */
        assert_memory_equal(q[k].got, alone[k].got, n * sizeof *q[k].got);
    }
}

/* Of more than n drafts none is refused; none: without drafts. Outputs of 1 + 4 k tokens end with a whole step of 3. */
static inline void drafted_check_right(const struct loop_stats *stats, const struct loop_stats *none, uint64_t n)
{
    printf("%llu of %llu drafts accepted, %llu steps, %llu without\n", (unsigned long long)stats->n_accepted_tok, (unsigned long long)stats->n_draft_tok,
           (unsigned long long)stats->n_step, (unsigned long long)none->n_step);
    assert_true(stats->n_draft_tok > n);
    assert_int_equal(stats->n_accepted_tok, stats->n_draft_tok);
    assert_true(2 * stats->n_step < none->n_step);
}

/* ---- distribution ---------------------------------------------------------------------------------------------------- */

struct drafted_draw {
    int32_t got[DRAFTED_DRAW];
    uint32_t n;
};

static inline bool drafted_take_draw(void *ctx, const struct loop_tokens *t)
{
    struct drafted_draw *d = ctx;
    for (uint32_t i = 0; i < t->n && d->n < DRAFTED_DRAW; i++)
        d->got[d->n++] = t->id[i];
    return false;
}

/* Probabilities of the token after tok[n - 1]: the DRAFTED_KEPT likeliest. */
static inline void drafted_next_token(const struct served *s, const int32_t *tok, uint32_t n, int32_t *id, double *p)
{
    struct error err = { 0 };
    struct engine *e = served_engine(s, NULL, 0, 1, 0);
    const float *l;
    double sum = 0;
    assert_ok(engine_eval(e, tok, n, 0, 1, &l, &err), err);
    for (int k = 0; k < DRAFTED_KEPT; k++) {
        id[k] = -1;
        for (int32_t t = 0; t < (int32_t)s->m.hp.n_vocab; t++) {
            bool taken = false;
            for (int i = 0; i < k; i++)
                taken |= id[i] == t;
            id[k] = !taken && (id[k] < 0 || l[t] > l[id[k]]) ? t : id[k];
        }
        sum += p[k] = exp((double)l[id[k]] - (double)l[id[0]]);
    }
    for (int k = 0; k < DRAFTED_KEPT; k++)
        p[k] /= sum;
    engine_free(e);
}

/* n_draw requests of tok's first four tokens, whose first output is forced to be the fifth. */
static inline void drafted_serve_draws(struct drafted_draw *draw, uint32_t n_draw, const int32_t *tok, struct engine *e, const struct loop_options *o,
                                       struct loop_stats *stats)
{
    struct error err = { 0 };
    struct loop *l = loop_new(e, o, &err);
    assert_non_null(l);
    for (uint32_t i = 0; i < n_draw; i++) {
        struct loop_request r = { .prompt = tok, .n_in = 4, .n_max = DRAFTED_DRAW, .sampler = sampler_default, .ignore_end = true, .forced = tok + 4,
                                  .n_forced = 1, .sink = drafted_take_draw, .sink_ctx = &draw[i] };
        uint64_t id;
        r.sampler.temperature = 1;
        r.sampler.top_k = DRAFTED_KEPT;
        r.sampler.seed = i;
        assert_ok(loop_submit(l, &r, &id, &err), err);
    }
    loop_drain(l);
    assert_ok(loop_run(l, &err), err);
    loop_stats(l, stats);
    loop_free(l);
}

/* Drafts that are often the sampled token, and often not: the second token, whose first is fixed, has the distribution that it has without drafts.
 * tok: [5 or more] tokens of the model s; n_draw: requests, in sanitized builds a tenth. */
static inline void drafted_check_distribution(const struct served *s, const int32_t *tok, uint32_t n_draw, struct engine *e, const struct loop_options *o,
                                              struct loop_stats *stats)
{
    int32_t kept[DRAFTED_KEPT];
    double p[DRAFTED_KEPT], chi = 0;
    n_draw = getenv("ROOFCAST_SANITIZED") ? n_draw / 10 : n_draw;
    struct drafted_draw *draw = calloc(n_draw, sizeof *draw);
    drafted_next_token(s, tok, 5, kept, p);
    drafted_serve_draws(draw, n_draw, tok, e, o, stats);
    for (int k = 0; k < DRAFTED_KEPT; k++) {
        double n = 0;
        for (uint32_t i = 0; i < n_draw; i++)
            n += draw[i].got[1] == kept[k];
        printf("token %d: %.4f of %u, expected %.4f\n", kept[k], n / n_draw, n_draw, p[k]);
        chi += (n - n_draw * p[k]) * (n - n_draw * p[k]) / (n_draw * p[k]);
    }
    printf("chi squared %.2f; %llu of %llu drafts accepted\n", chi, (unsigned long long)stats->n_accepted_tok, (unsigned long long)stats->n_draft_tok);
    for (uint32_t i = 0; i < n_draw; i++)
        assert_true(draw[i].n == DRAFTED_DRAW && draw[i].got[0] == tok[4]);
    assert_true(chi < 20.5); /* 1 in 1,000 beyond, 5 degrees of freedom */
    assert_true(stats->n_accepted_tok > n_draw / 4 && stats->n_accepted_tok < stats->n_draft_tok);
    free(draw);
}

#endif
