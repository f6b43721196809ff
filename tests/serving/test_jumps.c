/* Jumps against steps one by one: every time, count and gap equal as integers. */
#include "../test.h"
#include "serving/scheduler.h"

static int scheduler_check_blocks(const struct policy *p, uint32_t n, uint32_t n_in, uint32_t n_out)
{
    return scheduler_check(p, n, n_in, n_out, NULL);
}
#include "random_case.h"

/* What differs first; NULL: nothing. */
static const char *difference(const struct serve_result *a, const struct serve_result *b, size_t *at)
{
    for (*at = 0; *at < a->n; ++*at) {
        const struct serve_outcome *x = &a->out[*at], *y = &b->out[*at];
        if (x->sent_ps != y->sent_ps || x->due_ps != y->due_ps)
            return "arrival";
        if (x->start_ps != y->start_ps)
            return "start";
        if (x->first_ps != y->first_ps)
            return "first token";
        if (x->end_ps != y->end_ps)
            return "end";
        if (x->n_hit != y->n_hit)
            return "hit";
        if (x->n_preempt != y->n_preempt)
            return "preemptions of a request";
    }
    const struct serve_totals *x = &a->t, *y = &b->t;
    return x->n_step != y->n_step                 ? "steps"
           : x->n_preempt != y->n_preempt         ? "preemptions"
           : x->busy_ps != y->busy_ps             ? "busy time"
           : x->end_ps != y->end_ps               ? "end"
           : x->n_prompt_tok != y->n_prompt_tok   ? "prompt tokens"
           : x->n_decode_tok != y->n_decode_tok   ? "decode tokens"
           : x->n_wasted_tok != y->n_wasted_tok   ? "wasted tokens"
           : x->n_hit_tok != y->n_hit_tok         ? "hit tokens"
           : x->n_evicted != y->n_evicted         ? "evictions"
           : x->running_ps != y->running_ps       ? "running"
           : x->most_running != y->most_running   ? "most running"
           : x->most_used_blocks != y->most_used_blocks ? "most blocks"
           : a->gap.n != b->gap.n                 ? "gaps"
           : a->gap.sum_ps != b->gap.sum_ps       ? "sum of gaps"
           : histogram_quantile_s(&a->gap, 0.9) != histogram_quantile_s(&b->gap, 0.9) && a->gap.n > 0 ? "percentile of gaps"
                                                                                                      : NULL;
}

struct coverage {
    uint64_t n_preempt, n_hit_tok, n_evicted, n_wasted, n_step;
};

static void compare(uint64_t seed, struct coverage *sum)
{
    struct rng g;
    struct random_case c;
    struct serve_result slow, fast;
    struct error err;
    size_t at;
    rng_init(&g, seed);
    random_case(&g, &c);
    assert_ok(serve_simulate(&fast, &c.w, &c.o, &err), err);
    assert_false(fast.stepped);
    c.o.flags = SERVE_STEP_BY_STEP;
    assert_ok(serve_simulate(&slow, &c.w, &c.o, &err), err);
    const char *what = difference(&slow, &fast, &at);
    if (what)
        fail_msg("case %llu, request %zu of %zu: %s differs (%s, async %d, prefix cache %d, %u blocks of %u)", (unsigned long long)seed, at,
                 c.w.n, what, c.p.name, c.p.async_scheduling, c.p.enable_prefix_caching, c.o.n_block, c.p.block_size);
    sum->n_preempt += slow.t.n_preempt;
    sum->n_hit_tok += slow.t.n_hit_tok;
    sum->n_evicted += slow.t.n_evicted;
    sum->n_wasted += slow.t.n_wasted_tok;
    sum->n_step += slow.t.n_step;
    serve_result_free(&slow);
    serve_result_free(&fast);
    random_case_free(&c);
}

static void test_jumps_equal_steps(void **state)
{
    (void)state;
    struct coverage sum = { 0 };
    for (uint64_t seed = 0; seed < 20000; seed++)
        compare(seed, &sum);
    print_message("# 20,000 cases: %llu steps, %llu preemptions, %llu tokens hit, %llu evictions, %llu wasted tokens\n",
                  (unsigned long long)sum.n_step, (unsigned long long)sum.n_preempt, (unsigned long long)sum.n_hit_tok,
                  (unsigned long long)sum.n_evicted, (unsigned long long)sum.n_wasted);
    assert_true(sum.n_preempt > 10000 && sum.n_hit_tok > 100000 && sum.n_evicted > 10000 && sum.n_wasted > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_jumps_equal_steps) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
