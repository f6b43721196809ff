/* Random workloads, policies and prices, small enough for everything to happen: preemptions, blocked heads, hits, evictions. */
#ifndef TESTS_SERVING_RANDOM_CASE_H
#define TESTS_SERVING_RANDOM_CASE_H

#include "serving/simulate.h"

struct random_case {
    struct policy p;
    struct step_price price;
    struct serve_workload w;
    struct serve_options o;
};

static inline uint32_t up_to(struct rng *g, uint32_t lo, uint32_t hi)
{
    return lo + (uint32_t)(rng_u64(g) % (hi - lo + 1));
}

static inline bool one_in(struct rng *g, uint32_t n)
{
    return rng_u64(g) % n == 0;
}

/* A few roots of shared identities, after them those of one request or of several. */
static inline void random_runs(struct rng *g, struct serve_workload *w, size_t *cap, struct serve_request *r)
{
    r->run0 = (uint32_t)w->n_run;
    const uint32_t shared = up_to(g, 1, 6);
    assert_true(serve_workload_add_run(w, cap, &(struct token_run){ 1000 * (uint64_t)up_to(g, 0, 3), shared }));
    r->n_run = 1;
    if (one_in(g, 4)) { /* the identities of the first go on */
        const struct token_run *run = &w->run[r->run0];
        assert_true(serve_workload_add_run(w, cap, &(struct token_run){ run->first + run->n, up_to(g, 1, 4) }));
        r->n_run++;
    }
    if (one_in(g, 2)) {
        assert_true(serve_workload_add_run(w, cap, &(struct token_run){ one_in(g, 4) ? 500 : rng_u64(g) >> 1, up_to(g, 1, 8) }));
        r->n_run++;
    }
}

static inline void random_workload(struct rng *g, struct serve_workload *w, bool shared)
{
    size_t cap = 0, run_cap = 0;
    uint64_t ps = 0;
    const uint32_t n = up_to(g, 1, 60), most_in = up_to(g, 1, 200), most_out = up_to(g, 1, 120);
    const uint64_t gap = (uint64_t)1 << up_to(g, 0, 24);
    const bool sessions = one_in(g, 3), stops = one_in(g, 3);
    *w = (struct serve_workload){ .run_tokens = shared ? 1u << up_to(g, 1, 5) : 0 };
    for (uint32_t i = 0; i < n; i++) {
        struct serve_request r = { .parent = SERVE_NO_PARENT, .n_in = up_to(g, 1, most_in), .n_out = up_to(g, 1, most_out) };
        r.end = stops && one_in(g, 2) ? SERVE_END_STOP : SERVE_END_LENGTH;
        if (sessions && i > 0 && one_in(g, 2)) {
            r.parent = up_to(g, 0, i - 1);
            r.after_ps = rng_u64(g) % gap;
        } else {
            r.after_ps = ps += one_in(g, 4) ? 0 : rng_u64(g) % gap;
        }
        r.priority = (int32_t)up_to(g, 0, 2);
        if (shared && !one_in(g, 5))
            random_runs(g, w, &run_cap, &r);
        assert_true(serve_workload_add(w, &cap, &r));
    }
}

static inline void random_policy(struct rng *g, struct policy *p, const struct serve_workload *w)
{
    struct error err;
    const struct policy_device d = { .memory_bytes = 80e9, .is_gpu = true };
    assert_ok(policy_init(p, one_in(g, 2) ? "vllm-0.15" : "vllm-0.27", &d, &err), err);
    p->max_model_len = 400;
    p->max_num_seqs = up_to(g, 1, 24);
    p->max_num_batched_tokens = p->max_num_seqs + up_to(g, 0, 200);
    p->block_size = one_in(g, 4) ? up_to(g, 1, 9) : 1u << up_to(g, 1, 4);
    p->enable_prefix_caching = !one_in(g, 3);
    p->async_scheduling = one_in(g, 2);
    p->scheduler_reserve_full_isl = one_in(g, 2);
    p->long_prefill_token_threshold = one_in(g, 4) ? up_to(g, 1, 40) : 0;
    p->watermark = one_in(g, 4) ? 0.1 : 0;
    p->batch_until_empty = one_in(g, 12);
    if (one_in(g, 8)) {
        p->enable_chunked_prefill = false;
        p->max_num_batched_tokens = 400;
    }
    (void)w;
}

static inline void random_price(struct rng *g, struct step_price *x, const struct policy *p)
{
    struct error err;
    assert_ok(step_price_alloc(x, p, &err), err);
    uint64_t a = up_to(g, 1, 1000), b = up_to(g, 1, 1000);
    for (uint32_t i = 0; i <= x->max_decode; i++)
        x->decode_ps[i] = a += up_to(g, 0, 3) * 8;
    for (uint32_t i = 0; i < (x->max_decode + 1) * x->n_group; i++)
        x->context_ps[i] = up_to(g, 0, 3);
    for (uint32_t i = 0; i <= x->max_tok; i++)
        x->mixed_ps[i] = b += up_to(g, 0, 10);
    x->apart = b & 1;
    for (uint32_t i = 0; i < x->n_group; i++)
        x->pair_ps_2_16[i] = rng_u64(g) % 100000;
}

/* As many blocks as the largest request needs, and a few. */
static inline void random_case(struct rng *g, struct random_case *c)
{
    struct error err;
    random_workload(g, &c->w, one_in(g, 2));
    random_policy(g, &c->p, &c->w);
    for (size_t i = 0; i < c->w.n; i++)
        c->w.r[i].n_in = c->w.r[i].n_in + c->w.r[i].n_out > 400 ? 400 - c->w.r[i].n_out : c->w.r[i].n_in;
    assert_ok(serve_workload_finish(&c->w, "random", NULL, &err), err);
    random_price(g, &c->price, &c->p);
    uint32_t need = 1;
    for (size_t i = 0; i < c->w.n; i++)
        while (scheduler_check_blocks(&c->p, need, c->w.r[i].n_in, c->w.r[i].n_out) != 0)
            need++;
    c->o = (struct serve_options){ .policy = &c->p, .price = &c->price, .seed = rng_u64(g) };
    c->o.n_block = need + (one_in(g, 3) ? 0 : up_to(g, 0, one_in(g, 2) ? 200 : 20));
    c->o.max_concurrency = one_in(g, 4) ? up_to(g, 1, 10) : 0;
}

static inline void random_case_free(struct random_case *c)
{
    serve_workload_free(&c->w);
    step_price_free(&c->price);
}

#endif
