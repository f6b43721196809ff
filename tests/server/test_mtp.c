/*
 * Drafts of the model's own layer of multi-token prediction: outputs are those without speculation, greedy and sampled; whatever became of earlier drafts,
 * of blocks and of the order of passes, the layer drafts what it drafts for the sequence from scratch; a layer that is right is never refused.
 */
#include "../test.h"
#include "drafted.h"
#include "cost/cost.h"
#include "server/draft_mtp.h"
#include <limits.h>

enum { N_REQUEST = 16 };

static void requests_init(struct drafted_request *q, const struct served *s, double temperature)
{
    drafted_init(q, N_REQUEST, s, 3, temperature);
    for (uint32_t i = 2; i < N_REQUEST; i += 5)
        q[i].r.n_in = SERVED_CTX - q[i].r.n_max; /* to the end of the context */
}

/* ---- drafts from scratch --------------------------------------------------------------------------------------------- */

/* A drafter whose drafts are compared with those of engines that see the sequence for the first time. */
struct checked {
    struct draft_mtp *d;
    const struct served *s;
    struct engine *model, *layer;
    uint64_t n_call, n_checked;
    uint32_t every;
    uint64_t n_round, executed_flop; /* of rounds with all drafts */
    double priced_flop;
};

/* Of the passes after a step that yielded `kept` tokens. */
static double priced_flop(const struct draft_mtp *d, uint32_t n_past, uint32_t n_draft, double kept)
{
    const struct draft_passes p = draft_passes_of(1, n_past, n_draft, kept);
    const struct op_list *ops = engine_ops(draft_mtp_engine(d));
    const struct cost_options o = { .act_elem_bytes = 4, .type_k = DTYPE_F32, .type_v = DTYPE_F32 };
    double flop = 0;
    for (uint32_t k = 0; k < p.n; k++)
        for (size_t i = 0; i < ops->n; i++)
            flop += p.times[k] * cost_op(&ops->ops[i], &p.pass[k], &o).flop;
    return flop;
}

/* Of with_rates(): 1, then 0.5; 3 drafts. */
static const double kept_by_rates = 1 + 1 + 0.5 + 0.25;

static struct engine_options exact(struct engine_options o)
{
    o.batch_invariant = true; /* bits do not depend on passes */
    return o;
}

static void checked_init(struct checked *x, const struct served *s, uint32_t every)
{
    struct error err = { 0 };
    struct engine_options o = exact(served_engine_options(s, NULL, 0, 1, UINT_MAX));
    *x = (struct checked){ .s = s, .every = every };
    o.hidden = true;
    assert_non_null(x->model = engine_new(&s->m, &o, &err));
    o.hidden = false;
    o.nextn = true;
    o.shared = x->model;
    assert_non_null(x->layer = engine_new(&s->m, &o, &err));
}

static void from_scratch(struct checked *x, const struct draft_want *w, int32_t *draft)
{
    const uint32_t n = w->n_known - 1, width = x->s->m.hp.n_embd;
    struct error err = { 0 };
    const float *logits;
    size_t stride;
    float *hidden = malloc((size_t)n * width * sizeof *hidden);
    assert_ok(engine_eval(x->model, w->tok, n, 0, 1, &logits, &err), err);
    const float *h = engine_hidden(x->model, &stride);
    for (uint32_t t = 0; t < n; t++)
        memcpy(hidden + (size_t)t * width, h + t * stride, width * sizeof *h);
    for (uint32_t k = 0; k < w->n; k++) {
        const struct engine_run run = { .n_past = k == 0 ? 0 : n - 1 + k, .n_tok = k == 0 ? n : 1, .n_out = 1, .hidden = hidden };
        assert_ok(engine_eval_runs(x->layer, k == 0 ? w->tok + 1 : &draft[k - 1], &run, 1, &logits, &err), err);
        draft[k] = logits_largest(logits, x->s->m.hp.n_vocab);
        memcpy(hidden, engine_hidden(x->layer, &stride), width * sizeof *hidden);
    }
    free(hidden);
}

static int checked_propose(void *ctx, struct draft_want *w, size_t n, struct error *err)
{
    struct checked *x = ctx;
    const uint64_t before = (uint64_t)engine_work(draft_mtp_engine(x->d)).flop;
    const int rc = draft_mtp_propose(x->d, w, n, err);
    if (n == 1 && w->n_hidden == 4 && w->n == 3) {
        x->n_round++;
        x->executed_flop += (uint64_t)engine_work(draft_mtp_engine(x->d)).flop - before;
        x->priced_flop += priced_flop(x->d, w->n_past, w->n, kept_by_rates);
    }
    for (size_t i = 0; i < n && x->every > 0; i++) {
        int32_t draft[POLICY_MAX_DRAFT];
        if (w[i].n == 0 || x->n_call++ % x->every != 0)
            continue;
        from_scratch(x, &w[i], draft);
        for (uint32_t k = 0; k < w[i].n; k++)
            if (draft[k] != w[i].draft[k])
                fail_msg("draft %u of %u after %u tokens is %d, from scratch %d", k + 1, w[i].n, w[i].n_known, w[i].draft[k], draft[k]);
        x->n_checked++;
    }
    return rc;
}

/* ---- serving --------------------------------------------------------------------------------------------------------- */

struct way {
    uint32_t n_block, n_draft, seqs, budget, n_ubatch;
    bool prefix, stops, aborts, forced;
    bool usual; /* forms and kernels by the size of a pass: bits depend on it */
    double temperature;
};

/* n_draft 0: no speculation. Returns the drafts that were compared. */
static uint64_t serve(struct drafted_request *q, uint32_t n_request, const struct served *s, const struct way *w, uint32_t every, struct loop_stats *stats)
{
    struct error err = { 0 };
    struct policy p = served_policy(s, "vllm-0.27", w->seqs, w->budget);
    p.num_speculative_tokens = p.look_ahead = w->n_draft;
    p.enable_prefix_caching = w->prefix;
    struct engine_options eo = served_engine_options(s, &p, w->n_block, 1, w->usual ? 0 : UINT_MAX);
    eo = w->usual ? eo : exact(eo);
    eo.hidden = w->n_draft > 0;
    eo.n_ubatch = w->n_ubatch > 0 ? w->n_ubatch : eo.n_ubatch;
    struct engine *e = engine_new(&s->m, &eo, &err);
    if (!e)
        fail_msg("%s", err.msg);
    struct checked x = { .d = NULL };
    struct loop_options o = { .policy = p, .n_block = w->n_block, .seed = 1, .forced_accept = w->forced };
    for (uint32_t k = 0; k < POLICY_MAX_DRAFT && w->forced; k++)
        o.accept[k] = k == 0 ? 1 : 0.5;
    if (w->n_draft > 0) {
        checked_init(&x, s, every);
        if (!(x.d = draft_mtp_new(e, &s->m, &err)))
            fail_msg("%s", err.msg);
        o.drafter = draft_mtp_drafter(x.d);
        o.drafter.ctx = &x;
        o.drafter.propose = checked_propose;
        o.drafter.work = NULL;
    }
    drafted_serve(q, n_request, e, &o, w->stops, w->aborts, stats);
    if (x.d) {
        assert_true(engine_work(draft_mtp_engine(x.d)).flop > 0);
        if (w->forced && w->seqs == 1) {
            printf("%llu rounds: executed / priced %.4f\n", (unsigned long long)x.n_round, (double)x.executed_flop / x.priced_flop);
            assert_true(x.n_round > 30);
            assert_true(fabs((double)x.executed_flop / x.priced_flop - 1) < 0.06);
        }
        draft_mtp_free(x.d);
        engine_free(x.layer);
        engine_free(x.model);
    }
    engine_free(e);
    return x.n_checked;
}

/* A layer of random weights, whose drafts are mostly wrong. */
static void with_layer(struct random_spec *s)
{
    s->n_nextn = 1;
}

/* A model that sees the newest token alone, and so does its layer, which predicts the same. */
static void with_right_layer(struct random_spec *s)
{
    s->n_nextn = 1;
    s->nextn_embed = true;
    s->n_mute = s->n_layer;
    s->n_dense = s->n_layer + 1;
}

static void test_outputs(void **state)
{
    (void)state;
    static struct drafted_request q[N_REQUEST], alone[N_REQUEST];
    static const struct way ways[] = {
        { .n_block = 200, .n_draft = 1, .seqs = 8, .budget = 60 },
        { .n_block = 14, .n_draft = 3, .seqs = 6, .budget = 40, .stops = true },
        { .n_block = 15, .n_draft = 2, .seqs = 6, .budget = 24, .n_ubatch = 7, .stops = true, .aborts = true },
        { .n_block = 16, .n_draft = 4, .seqs = 6, .budget = 60, .temperature = 0.8, .aborts = true },
        { .n_block = 40, .n_draft = 3, .seqs = 5, .budget = 40, .prefix = true }, /* drafts of shared blocks are others: not compared */
        { .n_block = 15, .n_draft = 2, .seqs = 6, .budget = 50, .prefix = true, .temperature = 1.2 },
        { .n_block = 20, .n_draft = 2, .seqs = 6, .budget = 60, .usual = true }, /* latents of prompts are expanded */
    };
    struct served s;
    uint64_t n_preempt = 0, n_rejected = 0, n_checked = 0, n_hit = 0;
    served_open(&s, "test_mtp", "deepseek2", 3, with_layer);
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        struct loop_stats stats, none;
        struct way plain = ways[i];
        plain.n_draft = plain.n_ubatch = 0;
        plain.aborts = false;
        requests_init(q, &s, ways[i].temperature);
        requests_init(alone, &s, ways[i].temperature);
        n_checked += serve(q, N_REQUEST, &s, &ways[i], ways[i].prefix || ways[i].usual ? 0 : 12, &stats);
        (void)serve(alone, N_REQUEST, &s, &plain, 0, &none);
        drafted_check_same(q, alone, N_REQUEST);
        n_preempt += stats.n_preempt;
        n_rejected += stats.n_draft_tok - stats.n_accepted_tok;
        n_hit += stats.n_hit_tok;
    }
    printf("%llu preemptions, %llu drafts not accepted, %llu compared, %llu tokens cached\n", (unsigned long long)n_preempt, (unsigned long long)n_rejected,
           (unsigned long long)n_checked, (unsigned long long)n_hit);
    assert_true(n_preempt > 15 && n_rejected > 300 && n_checked > 20 && n_hit > 50);
    served_close(&s);
}

static void test_right(void **state)
{
    (void)state;
    static struct drafted_request q[N_REQUEST], alone[N_REQUEST];
    static const struct way w = { .n_block = 200, .n_draft = 3, .seqs = 8, .budget = 200 }, plain = { .n_block = 200, .seqs = 8, .budget = 200 };
    struct served s;
    struct loop_stats stats, none;
    served_open(&s, "test_mtp", "deepseek2", 1, with_right_layer);
    requests_init(q, &s, 0);
    requests_init(alone, &s, 0);
    for (uint32_t i = 0; i < N_REQUEST; i++)
        q[i].r.n_in = alone[i].r.n_in = q[i].r.n_in < 60 ? q[i].r.n_in : 60; /* room for all drafts */
    (void)serve(q, N_REQUEST, &s, &w, 0, &stats);
    (void)serve(alone, N_REQUEST, &s, &plain, 0, &none);
    drafted_check_same(q, alone, N_REQUEST);
    drafted_check_right(&stats, &none, 60);
    served_close(&s);
}

/* Accepted by chance: the text is the drafts', and further drafts follow from it. */
static void test_forced(void **state)
{
    (void)state;
    static struct drafted_request q[N_REQUEST];
    static const struct way w = { .n_block = 30, .n_draft = 3, .seqs = 6, .budget = 60, .forced = true };
    struct served s;
    struct loop_stats stats;
    served_open(&s, "test_mtp", "deepseek2", 3, with_layer);
    requests_init(q, &s, 0);
    const uint64_t n_checked = serve(q, N_REQUEST, &s, &w, 5, &stats);
    printf("%llu of %llu drafts accepted, %llu compared\n", (unsigned long long)stats.n_accepted_tok, (unsigned long long)stats.n_draft_tok,
           (unsigned long long)n_checked);
    assert_true(n_checked > 5);
    assert_int_equal(stats.n_accepted_at[0], stats.n_draft);
    assert_true(stats.n_accepted_at[1] > stats.n_draft / 4 && stats.n_accepted_at[1] < 3 * stats.n_draft / 4);
    served_close(&s);
}

/* The passes of a round are the ones that predictions price, the first of the tokens that the step kept. */
static void test_priced(void **state)
{
    (void)state;
    static struct drafted_request q[N_REQUEST];
    static const struct way w = { .n_block = 30, .n_draft = 3, .seqs = 1, .budget = 60, .forced = true };
    struct served s;
    struct loop_stats stats;
    served_open(&s, "test_mtp", "deepseek2", 3, with_layer);
    requests_init(q, &s, 0);
    for (uint32_t i = 0; i < N_REQUEST; i++) {
        q[i].r.n_in = 5 + i;
        q[i].r.n_max = 21;
        q[i].stop_after = 0;
    }
    (void)serve(q, N_REQUEST, &s, &w, 0, &stats);
    served_close(&s);
}

/* Blocks of a request that ended with its first step have the layer's keys and values, too: another that goes on from them is drafted for as if it had
 * computed them. */
static void test_cached_prefix(void **state)
{
    (void)state;
    enum { N_PROMPT = 3 * SERVED_BLOCK + 1, N_LATER = 9 };
    static struct drafted_request q[2];
    static const struct way w = { .n_block = 40, .n_draft = 3, .seqs = 1, .budget = 60, .prefix = true };
    struct served s;
    struct loop_stats stats;
    int32_t tok[SERVED_CTX];
    served_open(&s, "test_mtp", "deepseek2", 3, with_layer);
    random_tokens(&s.spec, tok, SERVED_CTX);
    for (uint32_t i = 0; i < 2; i++) {
        q[i] = (struct drafted_request){ .r = { .n_in = N_PROMPT + i * N_LATER, .n_max = i == 0 ? 1 : 13, .sampler = sampler_default, .ignore_end = true, .sink = drafted_take } };
        memcpy(q[i].prompt, tok, sizeof tok);
    }
    const uint64_t n_checked = serve(q, 2, &s, &w, 1, &stats);
    assert_int_equal(q[1].n_hit, 3 * SERVED_BLOCK);
    assert_true(n_checked >= 4);
    served_close(&s);
}

static void test_distribution(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct served s;
    struct loop_stats stats;
    int32_t tok[SERVED_CTX];
    served_open(&s, "test_mtp", "deepseek2", 1, with_right_layer);
    random_tokens(&s.spec, tok, SERVED_CTX);
    struct policy policy = served_policy(&s, "vllm-0.27", 16, 200);
    policy.num_speculative_tokens = policy.look_ahead = 2;
    struct engine_options eo = served_engine_options(&s, &policy, 100, 1, 0);
    eo.hidden = true;
    struct engine *e = engine_new(&s.m, &eo, &err);
    assert_non_null(e);
    struct draft_mtp *d = draft_mtp_new(e, &s.m, &err);
    assert_non_null(d);
    const struct loop_options o = { .policy = policy, .n_block = 100, .drafter = draft_mtp_drafter(d) };
    drafted_check_distribution(&s, tok, 2000, e, &o, &stats);
    drafted_check_work(e, draft_mtp_engine(d), &stats);
    o.drafter.free(o.drafter.ctx);
    engine_free(e);
    served_close(&s);
}

static void test_refused(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct served s;
    served_open(&s, "test_mtp", "deepseek2", 3, NULL); /* no such layer */
    struct policy p = served_policy(&s, "vllm-0.27", 2, 20);
    p.num_speculative_tokens = p.look_ahead = 2;
    struct engine *e = served_engine(&s, &p, 20, 1, 0);
    assert_null(draft_mtp_new(e, &s.m, &err));
    assert_non_null(strstr(err.msg, "no multi-token prediction layers"));
    const struct loop_options o = { .policy = p, .n_block = 20, .drafter = { .propose = draft_mtp_propose, .from_hidden = true } };
    assert_null(loop_new(e, &o, &err));
    assert_non_null(strstr(err.msg, "without hidden states"));
    engine_free(e);
    served_close(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_outputs),       cmocka_unit_test(test_right),        cmocka_unit_test(test_forced), cmocka_unit_test(test_priced),
                                        cmocka_unit_test(test_cached_prefix), cmocka_unit_test(test_distribution), cmocka_unit_test(test_refused) };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("multi-token prediction", tests, NULL, NULL);
}
