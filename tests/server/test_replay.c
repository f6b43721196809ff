/* A replay decides what the simulator decides: times differ, the steps, preemptions, hits and tokens do not. */
#include "../test.h"
#include "served.h"
#include "server/replay.h"
#include "serving/generate.h"
#include <math.h>

struct way {
    const char *policy, *workload, *family;
    uint32_t seqs, budget, n_block, n_draft, max_concurrency;
    bool async, no_prefix, by_eos, priority;
    uint32_t threshold;
    double watermark;
};

/* The same rates for every position. */
static void set_rates(double *accept)
{
    for (int i = 0; i < POLICY_MAX_DRAFT; i++)
        accept[i] = 0.6;
}

static void simulate(struct serve_result *r, const struct serve_workload *w, const struct serve_options *of, const struct policy *p, uint32_t n_block)
{
    struct error err = { 0 };
    struct step_price price;
    struct serve_options o = *of;
    assert_ok(step_price_alloc(&price, p, &err), err);
    for (uint32_t i = 0; i <= price.max_decode; i++)
        price.decode_ps[i] = 1000000 + i;
    for (uint32_t i = 0; i <= price.max_tok; i++)
        price.mixed_ps[i] = 1000000 + 10 * i;
    o.price = &price;
    o.flags = SERVE_STEP_BY_STEP;
    o.n_block = n_block;
    assert_ok(serve_simulate(r, w, &o, &err), err);
    step_price_free(&price);
}

static void run_way(const struct way *x)
{
    struct error err = { 0 };
    struct served s;
    struct serve_workload w;
    struct serve_result sim, real;
    struct loop_stats stats;
    served_open(&s, "test_replay", x->family, 0, NULL);
    struct policy p = served_policy(&s, x->policy, x->seqs, x->budget);
    p.async_scheduling = x->async;
    p.num_speculative_tokens = x->n_draft;
    p.priority = x->priority;
    p.enable_prefix_caching = !x->no_prefix && p.kind == POLICY_VLLM;
    p.long_prefill_token_threshold = x->threshold;
    p.watermark = x->watermark;
    const struct serve_workload_options wo = { .arrivals = { .rate_s = INFINITY }, .n = 40, .seed = 3, .end = x->by_eos ? PLAN_END_STOP : PLAN_END_LENGTH,
                                               .identify = true };
    assert_ok(serve_workload_from_text(&w, x->workload, &wo, NULL, &err), err);
    for (size_t i = 0; i < w.n; i++)
        w.r[i].priority = (int32_t)(i * 7 % 3);
    struct serve_options so = { .policy = &p, .n_block = x->n_block, .seed = 5, .max_concurrency = x->max_concurrency };
    struct engine *e = served_engine(&s, &p, x->n_block, 1, 0);
    struct replay_options ro = { .serve = &so, .loop = { .policy = p, .n_block = x->n_block, .seed = 5, .forced_accept = x->n_draft > 0,
                                                         .drafter = { .propose = draft_repeat_propose } } };
    set_rates(so.accept);
    set_rates(ro.loop.accept);
    assert_ok(replay(&real, &stats, e, &w, &ro, &err), err);
    const bool slots = p.kind == POLICY_LLAMA_SERVER;
    simulate(&sim, &w, &so, &p, slots ? (x->n_block - x->seqs) * SERVED_BLOCK : x->n_block);
    printf("%s, %s, %s: %llu steps, %llu preemptions, %llu evictions, %llu tokens hit, %llu + %llu computed, %llu wasted, %llu drafts\n", x->family, x->policy,
           x->workload, (unsigned long long)real.t.n_step, (unsigned long long)real.t.n_preempt, (unsigned long long)real.t.n_evicted,
           (unsigned long long)real.t.n_hit_tok, (unsigned long long)real.t.n_prompt_tok, (unsigned long long)real.t.n_decode_tok,
           (unsigned long long)real.t.n_wasted_tok, (unsigned long long)real.t.n_draft);
#define SAME(field)                                                                                                                                        \
    do {                                                                                                                                                   \
        if (sim.t.field != real.t.field)                                                                                                                   \
            fail_msg("%s, %s: " #field " is %llu, simulated %llu", x->policy, x->workload, (unsigned long long)real.t.field, (unsigned long long)sim.t.field); \
    } while (0)
    SAME(n_step);
    SAME(n_preempt);
    SAME(n_hit_tok);
    SAME(n_query_tok);
    SAME(n_evicted);
    SAME(n_prompt_tok);
    SAME(n_decode_tok);
    SAME(n_wasted_tok);
    SAME(most_running);
    SAME(n_draft);
    SAME(n_accepted);
    SAME(n_round);
    if (!slots) /* positions there, blocks here */
        SAME(most_used_blocks);
#undef SAME
    uint64_t n_tok = 0;
    for (size_t i = 0; i < w.n; i++) {
        assert_true(real.out[i].n_hit == sim.out[i].n_hit && real.out[i].n_preempt == sim.out[i].n_preempt && real.out[i].failed == sim.out[i].failed);
        n_tok += w.r[i].n_out;
    }
    assert_true(stats.n_output_tok == n_tok || stats.n_finished[LOOP_FAILED] > 0);
    /* a step whose tokens are wasted may run beyond the last output */
    assert_true(real.t.busy_ps > 0 && (real.t.n_wasted_tok > 0 || real.t.busy_ps <= real.t.end_ps));
    serve_result_free(&sim);
    serve_result_free(&real);
    engine_free(e);
    serve_workload_free(&w);
    served_close(&s);
}

static void test_same_decisions(void **state)
{
    (void)state;
    static const struct way ways[] = {
        { "vllm-0.27", "random:in=30,out=20,range=0.6", "llama", 6, 40, 20, .n_draft = 0 },
        { "vllm-0.27", "random:in=30,out=20,range=0.6", "llama", 6, 40, 20, .async = true },
        { "vllm-0.27", "random:in=30,out=20,range=0.6", "llama", 6, 40, 20, .async = true, .by_eos = true },
        { "vllm-0.27", "random:in=30,out=20,range=0.6", "llama", 6, 40, 20, .no_prefix = true, .by_eos = true },
        { "vllm-0.27", "random:in=30,out=20,range=0.6", "llama", 6, 40, 20, .priority = true, .threshold = 16, .watermark = 0.1 },
        { "vllm-0.27", "random:in=30,out=20,range=0.6", "llama", 6, 60, 20, .n_draft = 3 },
        { "vllm-0.15", "session:turns=3,in=24,new=8,out=8,prefix=16,think=0", "llama", 4, 48, 24, .n_draft = 0 },
        { "vllm-0.27", "session:turns=3,in=24,new=8,out=8,prefix=16,think=0", "llama", 4, 48, 24, .async = true },
        { "vllm-0.27", "session:turns=3,in=24,new=8,out=8,prefix=16,think=0", "gemma3", 4, 48, 90, .async = true },
        { "vllm-0.27", "session:turns=3,in=24,new=8,out=8,prefix=16,think=0", "llama", 4, 48, 24, .max_concurrency = 5 },
        { "vllm-0.27", "session:turns=3,in=24,new=8,out=8,prefix=16,think=0", "llama", 4, 48, 24, .n_draft = 2 },
        { "static", "random:in=30,out=20,range=0.6", "llama", 4, 100, 50, .n_draft = 0 },
        { "one-by-one", "random:in=30,out=20,range=0.6", "llama", 1, 100, 50, .n_draft = 0 },
        { "llama-server", "random:in=30,out=20,range=0.6", "llama", 4, 40, 4 + 48, .n_draft = 0 },
        { "llama-server", "session:turns=3,in=24,new=8,out=8,prefix=16,think=0", "llama", 4, 40, 4 + 24, .n_draft = 0 },
        { "llama-server", "random:in=30,out=20,range=0.6", "llama", 4, 40, 4 + 14, .n_draft = 0 }, /* the cache fills up */
    };
    for (size_t i = 0; i < ARRAY_LEN(ways); i++)
        run_way(&ways[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_same_decisions) };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
