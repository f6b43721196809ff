/*
 * The loop on the engine: whatever the load, the order, preemptions, the prefix cache, scheduling ahead or drafts, every request gets the tokens, and
 * bit for bit the probabilities, that it gets alone.
 */
#include "../test.h"
#include "served.h"
#include <limits.h>
#include <math.h>

enum { N_REQUEST = 14, MOST_IN = 28, MOST_OUT = 24, N_TOP = 3 };

/* A request, and what it got. */
struct request {
    int32_t prompt[MOST_IN];
    uint32_t n_in, n_out, n_got, n_top, n_hit, n_preempt;
    int32_t got[MOST_OUT];
    struct loop_logprob chosen[MOST_OUT], top[MOST_OUT][N_TOP];
    enum loop_finish finish;
    int n_last; /* last calls */
    struct sampler_options sampler;
};

/* Prompts of three beginnings, so that some share blocks, others none. */
static void requests_init(struct request *r, const struct served *s, double temperature)
{
    enum { N_TOK = 64 };
    struct rng rng;
    int32_t tok[N_TOK];
    random_tokens(&s->spec, tok, N_TOK);
    rng_init(&rng, 7);
    for (uint32_t i = 0; i < N_REQUEST; i++) {
        r[i] = (struct request){ .n_in = 3 + (uint32_t)(rng_u64(&rng) % (MOST_IN - 2)), .n_out = 1 + (uint32_t)(rng_u64(&rng) % MOST_OUT), .n_top = N_TOP };
        for (uint32_t t = 0; t < r[i].n_in; t++)
            r[i].prompt[t] = tok[(t + (t < 17 ? i % 3 : i)) % N_TOK];
        r[i].sampler = sampler_default;
        r[i].sampler.temperature = temperature;
        r[i].sampler.seed = i + 1;
    }
}

static bool take(void *ctx, const struct loop_tokens *t)
{
    struct request *r = ctx;
    for (uint32_t i = 0; i < t->n; i++, r->n_got++) {
        assert_true(r->n_got < MOST_OUT);
        r->got[r->n_got] = t->id[i];
        r->chosen[r->n_got] = t->chosen[i];
        memcpy(r->top[r->n_got], t->top + i * t->n_top, t->n_top * sizeof *t->top);
    }
    r->finish = t->finish;
    r->n_last += t->finish != LOOP_RUNNING;
    r->n_hit = t->n_hit;
    r->n_preempt = t->n_preempt;
    return false;
}

/* A way to serve them. */
struct way {
    const char *what;
    uint32_t n_more, max_num_seqs, budget, n_draft;
    bool prefix, async, invariant;
    const char *policy;
    double temperature;
    unsigned flags;
    enum dtype kv;
};

/* As many as the longest request takes, and n_more; slots take them all at once. */
static uint32_t blocks_of(const struct way *w, const struct policy *p)
{
    const uint64_t most = MOST_IN + MOST_OUT + w->n_draft;
    return (uint32_t)(p->kind == POLICY_VLLM ? scheduler_blocks_of(p, most) : (1 + u64_ceil_div(most, SERVED_BLOCK)) * w->max_num_seqs) + w->n_more;
}

/* p NULL: for a request alone. */
static struct engine *engine_for(const struct served *s, const struct way *w, const struct policy *p)
{
    struct error err = { 0 };
    struct engine_options o = served_engine_options(s, p, p ? blocks_of(w, p) : 0, 1, w->flags);
    o.type_k = o.type_v = w->kv;
    o.batch_invariant = w->invariant;
    struct engine *e = engine_new(&s->m, &o, &err);
    if (!e)
        fail_msg("%s: %s", s->path, err.msg);
    return e;
}

static struct policy policy_for(const struct served *s, const struct way *w)
{
    struct policy p = served_policy(s, w->policy ? w->policy : "vllm-0.27", w->max_num_seqs, w->budget);
    p.enable_prefix_caching = w->prefix;
    p.async_scheduling = w->async;
    p.num_speculative_tokens = w->n_draft;
    return p;
}

static struct loop_request request_of(struct request *r)
{
    return (struct loop_request){ .prompt = r->prompt, .n_in = r->n_in, .n_max = r->n_out, .sampler = r->sampler, .ignore_end = true, .logprobs = true,
                                  .n_top = r->n_top, .sink = take, .sink_ctx = r };
}

static void serve(struct request *r, const struct served *s, const struct way *w, struct loop_stats *stats)
{
    struct error err = { 0 };
    const struct policy p = policy_for(s, w);
    struct engine *e = engine_for(s, w, &p);
    struct draft_ngram ngram = { 3, 1 };
    struct loop_options o = { .policy = p, .n_block = blocks_of(w, &p), .seed = 5, .drafter = { .ctx = &ngram, .propose = draft_ngram_propose } };
    if (w->max_num_seqs % 2) /* most drafts are wrong */
        o.drafter = (struct drafter){ .propose = draft_repeat_propose };
    struct loop *l = loop_new(e, &o, &err);
    if (!l)
        fail_msg("%s, %s: %s", s->path, w->what, err.msg);
    for (uint32_t i = 0; i < N_REQUEST; i++) {
        const struct loop_request x = request_of(&r[i]);
        uint64_t id;
        assert_ok(loop_submit(l, &x, &id, &err), err);
    }
    loop_drain(l);
    assert_ok(loop_run(l, &err), err);
    assert_true(loop_idle(l));
    loop_stats(l, stats);
    loop_free(l);
    engine_free(e);
}

/* A request alone, its prompt in one pass: tokens by the same sampler. */
static void check_alone(const struct request *r, struct engine *e, const struct served *s, const struct way *w)
{
    struct error err = { 0 };
    struct sampler sampler;
    const size_t v = s->m.hp.n_vocab;
    const float *l;
    assert_int_equal(r->finish, LOOP_LENGTH);
    assert_int_equal(r->n_last, 1);
    assert_int_equal(r->n_got, r->n_out);
    assert_ok(sampler_init(&sampler, &r->sampler, (uint32_t)v, &err), err);
    for (uint32_t i = 0, past = 0; i < r->n_out; i++) {
        const int32_t *tok = i == 0 ? r->prompt : &r->got[i - 1];
        const uint32_t n = i == 0 ? r->n_in : 1;
        assert_ok(engine_eval(e, tok, n, past, 1, &l, &err), err);
        past += n;
        const int32_t id = sampler_pick(&sampler, l);
        sampler_accept(&sampler, id);
        double sum = 0, max = -INFINITY;
        for (size_t k = 0; k < v; k++)
            max = fmax(max, (double)l[k]);
        for (size_t k = 0; k < v; k++)
            sum += exp((double)l[k] - max);
        /* Adding up the exponentials in another order. The form of MLA's attention depends on the pass, and one is rounded to F16; fast kernels add up
         * products of many tokens in another order. */
        const float bound = (s->spec.rank > 0 || w->flags) && !w->invariant ? 1e-2F : 1e-5F;
        const float want = (float)((double)l[id] - max - log(sum));
        if (id != r->got[i] || !(fabsf(r->chosen[i].logprob - want) <= bound))
            fail_msg("%s, %s: a request of %u + %u tokens (%u hit, %u preemptions): token %u is %d (%.9g), alone %d (%.9g)", s->path, w->what, r->n_in, r->n_out,
                     r->n_hit, r->n_preempt, i, r->got[i], (double)r->chosen[i].logprob, id, (double)want);
        assert_true(r->top[i][0].logprob >= r->top[i][1].logprob && r->top[i][1].logprob >= r->top[i][2].logprob);
    }
    sampler_free(&sampler);
}

static const struct way ways[] = {
    { "roomy", 200, 8, 64, .kv = DTYPE_F32 },
    { "small pool", 0, 4, 16, .kv = DTYPE_F32 },
    { "prefixes", 200, 8, 20, .prefix = true, .kv = DTYPE_F32 },
    { "prefixes in a small pool", 1, 6, 16, .prefix = true, .kv = DTYPE_F32 },
    { "scheduled ahead", 2, 5, 16, .prefix = true, .async = true, .kv = DTYPE_F32 },
    { "drafts", 2, 6, 24, .prefix = true, .n_draft = 3, .kv = DTYPE_F32 },
    { "wrong drafts", 2, 5, 24, .prefix = true, .n_draft = 4, .kv = DTYPE_F32 },
    { "sampled", 2, 6, 24, .prefix = true, .n_draft = 2, .temperature = 0.8, .kv = DTYPE_F32 },
    { "this machine's kernels", 2, 6, 24, .prefix = true, .n_draft = 2, .flags = UINT_MAX, .kv = DTYPE_F16 },
    { "batch-invariant", 2, 6, 24, .prefix = true, .n_draft = 2, .flags = UINT_MAX, .invariant = true, .kv = DTYPE_F16 },
    { "batch-invariant, slots", 4, 4, 20, .policy = "llama-server", .flags = UINT_MAX, .invariant = true, .kv = DTYPE_F16 },
    { "slots", 4, 4, 20, .policy = "llama-server", .kv = DTYPE_F32 },
};

static void check_family(const char *family, int shape)
{
    struct served s;
    served_open(&s, "test_loop", family, shape, NULL);
    uint64_t n_preempt = 0, n_hit = 0, n_accepted = 0;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        if (ways[i].flags && !ways[i].invariant && s.spec.n_expert > 0) /* quantized ones: fast kernels round activations, and a choice may be near */
            continue;
        struct request r[N_REQUEST];
        struct loop_stats stats;
        requests_init(r, &s, ways[i].temperature);
        serve(r, &s, &ways[i], &stats);
        struct engine *alone = engine_for(&s, &ways[i], NULL);
        for (uint32_t k = 0; k < N_REQUEST; k++)
            check_alone(&r[k], alone, &s, &ways[i]);
        engine_free(alone);
        n_preempt += stats.n_preempt;
        n_hit += stats.n_hit_tok;
        n_accepted += stats.n_accepted_tok;
    }
    assert_true(n_preempt > 3 && n_hit > 50);
    printf("%s: %llu preemptions, %llu tokens hit, %llu drafts accepted\n", s.path, (unsigned long long)n_preempt, (unsigned long long)n_hit,
           (unsigned long long)n_accepted);
    served_close(&s);
}

static void test_same_tokens(void **state)
{
    (void)state;
    static const char *const families[] = { "llama", "gemma3", "gpt-oss", "deepseek2", "qwen3moe" };
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        check_family(families[i], (int)i % 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_same_tokens) };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
