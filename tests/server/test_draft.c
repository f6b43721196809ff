/* Drafts of another model: outputs are those without speculation, greedy and sampled; a model that drafts for itself is never wrong. */
#include "../test.h"
#include "drafted.h"
#include "cost/cost.h"
#include "server/draft_model.h"

enum { N_REQUEST = 24, SEED = 11 };

struct way {
    uint32_t n_block, n_draft_block, n_draft, seqs, budget;
    bool stops, aborts;
    double temperature;
};

/* draft NULL: no speculation. */
static void serve(struct drafted_request *q, const struct served *s, const struct served *draft, const struct way *w, struct loop_stats *stats)
{
    struct error err = { 0 };
    struct policy p = served_policy(s, "vllm-0.27", w->seqs, w->budget);
    p.num_speculative_tokens = p.look_ahead = draft ? w->n_draft : 0;
    struct engine *e = served_engine(s, &p, w->n_block, 1, 0);
    struct loop_options o = { .policy = p, .n_block = w->n_block, .seed = 1 };
    struct draft_model *d = NULL;
    if (draft) {
        const struct draft_model_options x = { .engine = { .n_threads = 1, .type_k = DTYPE_F32, .type_v = DTYPE_F32, .team_of = e }, .n_seq = w->seqs,
                                               .n_ctx = SERVED_CTX + w->n_draft, .n_tok = w->budget, .n_block = w->n_draft_block, .block_size = SERVED_BLOCK };
        assert_ok(draft_model_check(&draft->m, &s->m, &err), err);
        if (!(d = draft_model_new(&draft->m, &x, &err)))
            fail_msg("%s", err.msg);
        o.drafter = draft_model_drafter(d);
    }
    drafted_serve(q, N_REQUEST, e, &o, w->stops, w->aborts, stats);
    if (d) {
        assert_int_equal(draft_model_used_blocks(d), 0);
        drafted_check_work(e, draft_model_engine(d), stats);
        o.drafter.free(o.drafter.ctx);
    }
    engine_free(e);
}

static void other_seed(struct random_spec *s)
{
    s->seed += 1000;
}

static void test_itself(void **state)
{
    (void)state;
    static struct drafted_request q[N_REQUEST], alone[N_REQUEST];
    static const struct way w = { .n_block = 200, .n_draft_block = 200, .n_draft = 3, .seqs = 8, .budget = 200 };
    struct served s;
    struct loop_stats stats, none;
    served_open(&s, "test_draft", "llama", 0, NULL);
    drafted_init(q, N_REQUEST, &s, SEED, 0);
    drafted_init(alone, N_REQUEST, &s, SEED, 0);
    serve(q, &s, &s, &w, &stats);
    serve(alone, &s, NULL, &w, &none);
    drafted_check_same(q, alone, N_REQUEST);
    drafted_check_right(&stats, &none, 100);
    assert_int_equal(stats.n_accepted_at[2], stats.n_draft);
    served_close(&s);
}

/* After tokens that were not its drafts, it drafts from what is known again. */
static void test_itself_after_others(void **state)
{
    (void)state;
    enum { N_FORCED = 6 };
    static struct drafted_request q[N_REQUEST];
    static const struct way w = { .n_block = 200, .n_draft_block = 200, .n_draft = 3, .seqs = 8, .budget = 200 };
    struct served s;
    struct loop_stats stats;
    int32_t forced[N_FORCED];
    served_open(&s, "test_draft", "llama", 0, NULL);
    drafted_init(q, N_REQUEST, &s, SEED, 0);
    random_tokens(&s.spec, forced, N_FORCED);
    for (uint32_t i = 0; i < N_REQUEST; i++) {
        q[i].r.forced = forced;
        q[i].r.n_forced = N_FORCED;
        q[i].r.n_max = N_FORCED + 20;
        q[i].whole_from = N_FORCED + 1;
        q[i].n_draft = w.n_draft;
    }
    serve(q, &s, &s, &w, &stats);
    printf("%llu of %llu drafts accepted\n", (unsigned long long)stats.n_accepted_tok, (unsigned long long)stats.n_draft_tok);
    assert_true(stats.n_accepted_tok < stats.n_draft_tok);
    served_close(&s);
}

/* Whatever became of its drafts, and whether it was asked in between, it drafts what it drafts for a sequence that it has not seen before. */
static void test_what_is_cached(void **state)
{
    (void)state;
    enum { N_PLACE = 5, FRESH = 100, N_CALL = 120, LONGEST = 60 };
    struct served s;
    struct error err = { 0 };
    struct rng g;
    static int32_t tok[N_PLACE][LONGEST + 40], drafts[N_PLACE][POLICY_MAX_DRAFT], fresh[POLICY_MAX_DRAFT];
    uint32_t n[N_PLACE] = { 0 }, n_short = 0;
    rng_init(&g, 4);
    served_open(&s, "test_draft", "gemma3", 0, NULL);
    const struct draft_model_options o = { .engine = { .n_threads = 1, .type_k = DTYPE_F32, .type_v = DTYPE_F32 }, .n_seq = 3, .n_ctx = LONGEST + 20, .n_tok = 16,
                                           .n_block = 15, .block_size = SERVED_BLOCK };
    struct draft_model *d = draft_model_new(&s.m, &o, &err);
    assert_non_null(d);
    for (int call = 0; call < N_CALL; call++) {
        struct draft_want w[3];
        const uint32_t n_want = 1 + (uint32_t)(rng_u64(&g) % 3), first = (uint32_t)(rng_u64(&g) % N_PLACE);
        for (uint32_t i = 0; i < n_want; i++) {
            const uint32_t p = (first + i) % N_PLACE;
            if (n[p] > LONGEST) { /* it ends; another has its place */
                draft_model_drafter(d).forget(d, p);
                n[p] = 0;
            }
            for (uint64_t k = rng_u64(&g) % 3; n[p] > 0 && k > 0; k--, n[p]++) /* accepted */
                tok[p][n[p]] = drafts[p][k % 2];
            for (uint64_t k = 1 + rng_u64(&g) % (n[p] == 0 ? 20 : 4); k > 0; k--)
                tok[p][n[p]++] = (int32_t)(rng_u64(&g) % s.m.hp.n_vocab);
            w[i] = (struct draft_want){ .place = p, .tok = tok[p], .n_tok = n[p], .draft = drafts[p], .most = (uint32_t)(rng_u64(&g) % 5) };
        }
        assert_ok(draft_model_propose(d, w, n_want, &err), err);
        for (uint32_t i = 0; i < n_want; i++) {
            struct draft_want alone = w[i];
            const uint32_t most = w[i].most < o.n_ctx - w[i].n_tok + 1 ? w[i].most : o.n_ctx - w[i].n_tok + 1;
            assert_true(w[i].n == most || w[i].n == 0);
            n_short += w[i].n < w[i].most;
            alone.place = FRESH;
            alone.draft = fresh;
            alone.most = w[i].n;
            assert_ok(draft_model_propose(d, &alone, 1, &err), err);
            assert_int_equal(alone.n, w[i].n);
            assert_memory_equal(fresh, w[i].draft, w[i].n * sizeof *fresh);
            draft_model_drafter(d).forget(d, FRESH);
        }
    }
    for (uint32_t p = 0; p < N_PLACE; p++)
        draft_model_drafter(d).forget(d, p);
    assert_int_equal(draft_model_used_blocks(d), 0);
    assert_true(n_short > 5); /* for want of room */
    draft_model_free(d);
    served_close(&s);
}

static void test_other_models(void **state)
{
    (void)state;
    static struct drafted_request q[N_REQUEST], alone[N_REQUEST];
    static const char *const families[] = { "llama", "gemma3" };
    static const struct way ways[] = {
        { .n_block = 200, .n_draft_block = 200, .n_draft = 3, .seqs = 8, .budget = 60 },
        { .n_block = 14, .n_draft_block = 60, .n_draft = 4, .seqs = 6, .budget = 40, .stops = true },
        { .n_block = 14, .n_draft_block = 14, .n_draft = 2, .seqs = 6, .budget = 20, .stops = true, .aborts = true }, /* some have no room for drafts */
        { .n_block = 14, .n_draft_block = 30, .n_draft = 16, .seqs = 6, .budget = 120, .temperature = 0.7 },
        { .n_block = 200, .n_draft_block = 30, .n_draft = 1, .seqs = 6, .budget = 40, .temperature = 1.5, .aborts = true },
    };
    struct served s;
    uint64_t n_preempt = 0, n_accepted = 0, n_rejected = 0, n_aborted = 0;
    served_open(&s, "test_draft", "llama", 0, NULL);
    for (size_t f = 0; f < (getenv("ROOFCAST_SANITIZED") ? 1 : ARRAY_LEN(families)); f++) {
        struct served draft;
        served_open(&draft, "test_draft", families[f], 0, other_seed);
        for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
            struct loop_stats stats, none;
            drafted_init(q, N_REQUEST, &s, SEED, ways[i].temperature);
            drafted_init(alone, N_REQUEST, &s, SEED, ways[i].temperature);
            serve(q, &s, &draft, &ways[i], &stats);
            struct way whole = ways[i];
            whole.aborts = false;
            serve(alone, &s, NULL, &whole, &none);
            drafted_check_same(q, alone, N_REQUEST);
            n_preempt += stats.n_preempt;
            n_accepted += stats.n_accepted_tok;
            n_rejected += stats.n_draft_tok - stats.n_accepted_tok;
            n_aborted += stats.n_finished[LOOP_ABORTED];
        }
        served_close(&draft);
    }
    printf("%llu preemptions, %llu drafts accepted, %llu not, %llu requests aborted\n", (unsigned long long)n_preempt, (unsigned long long)n_accepted,
           (unsigned long long)n_rejected, (unsigned long long)n_aborted);
    assert_true(n_preempt > 20 && n_accepted > 2 && n_rejected > 500 && n_aborted > 2);
    served_close(&s);
}

/* A drafter of one sequence whose FLOP are compared with those of the passes that predictions price, of rounds after others whose drafts were all accepted. */
struct counted {
    struct draft_model *d;
    uint32_t n_known, n_round; /* tokens at the round before */
    uint64_t executed_flop;
    double priced_flop;
};

static int counted_propose(void *ctx, struct draft_want *w, size_t n, struct error *err)
{
    struct counted *x = ctx;
    const uint64_t before = (uint64_t)engine_work(draft_model_engine(x->d)).flop;
    const int rc = draft_model_propose(x->d, w, n, err);
    if (n == 1 && w->n == 3 && w->n_tok == x->n_known + 4) {
        const struct draft_passes p = draft_passes_of(1, w->n_tok - 2, 3, 2);
        const struct op_list *ops = engine_ops(draft_model_engine(x->d));
        const struct cost_options o = { .act_elem_bytes = 4, .type_k = DTYPE_F32, .type_v = DTYPE_F32 };
        x->n_round++;
        x->executed_flop += (uint64_t)engine_work(draft_model_engine(x->d)).flop - before;
        for (uint32_t k = 0; k < p.n; k++)
            for (size_t i = 0; i < ops->n; i++)
                x->priced_flop += p.times[k] * cost_op(&ops->ops[i], &p.pass[k], &o).flop;
    }
    x->n_known = n == 1 ? w->n_tok : 0;
    return rc;
}

static void test_priced(void **state)
{
    (void)state;
    static struct drafted_request q[4];
    struct error err = { 0 };
    struct served s;
    struct loop_stats stats;
    struct counted x = { .n_round = 0 };
    served_open(&s, "test_draft", "llama", 0, NULL);
    struct policy p = served_policy(&s, "vllm-0.27", 1, 60);
    p.num_speculative_tokens = p.look_ahead = 3;
    struct engine *e = served_engine(&s, &p, 40, 1, 0);
    const struct draft_model_options d = { .engine = { .n_threads = 1, .type_k = DTYPE_F32, .type_v = DTYPE_F32, .team_of = e }, .n_seq = 1, .n_ctx = SERVED_CTX + 3,
                                           .n_tok = 60, .n_block = 40, .block_size = SERVED_BLOCK };
    assert_non_null(x.d = draft_model_new(&s.m, &d, &err));
    struct loop_options o = { .policy = p, .n_block = 40, .seed = 1, .forced_accept = true, .drafter = draft_model_drafter(x.d) };
    for (uint32_t k = 0; k < POLICY_MAX_DRAFT; k++)
        o.accept[k] = 1;
    o.drafter.ctx = &x;
    o.drafter.propose = counted_propose;
    o.drafter.forget = NULL;
    o.drafter.work = NULL;
    drafted_init(q, ARRAY_LEN(q), &s, SEED, 0);
    for (uint32_t i = 0; i < ARRAY_LEN(q); i++) {
        q[i].r.n_in = 5 + i;
        q[i].r.n_max = 37;
        q[i].r.number = i;
    }
    drafted_serve(q, ARRAY_LEN(q), e, &o, false, false, &stats);
    printf("%u rounds: executed / priced %.4f\n", x.n_round, (double)x.executed_flop / x.priced_flop);
    assert_true(x.n_round > 20);
    assert_true(fabs((double)x.executed_flop / x.priced_flop - 1) < 0.02);
    draft_model_free(x.d);
    engine_free(e);
    served_close(&s);
}

/* The model drafts for itself, greedily. */
static void test_distribution(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct served s;
    struct loop_stats stats;
    int32_t tok[SERVED_CTX];
    served_open(&s, "test_draft", "llama", 0, NULL);
    random_tokens(&s.spec, tok, SERVED_CTX);
    struct policy policy = served_policy(&s, "vllm-0.27", 16, 200);
    policy.num_speculative_tokens = 2;
    struct engine *e = served_engine(&s, &policy, 100, 1, 0);
    const struct draft_model_options x = { .engine = { .n_threads = 1, .type_k = DTYPE_F32, .type_v = DTYPE_F32, .team_of = e }, .n_seq = 16,
                                           .n_ctx = SERVED_CTX, .n_tok = 64, .n_block = 64, .block_size = SERVED_BLOCK };
    struct draft_model *d = draft_model_new(&s.m, &x, &err);
    assert_non_null(d);
    const struct loop_options o = { .policy = policy, .n_block = 100, .drafter = draft_model_drafter(d) };
    drafted_check_distribution(&s, tok, 4000, e, &o, &stats);
    o.drafter.free(o.drafter.ctx);
    engine_free(e);
    served_close(&s);
}

static void test_vocabularies(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct served s, other;
    served_open(&s, "test_draft", "llama", 0, NULL);
    served_open(&other, "test_draft", "llama", 1, NULL);
    char text[300];
    snprintf(text, sizeof text, "%s: a vocabulary of %u tokens, %s has %u", other.path, other.m.hp.n_vocab, s.path, s.m.hp.n_vocab);
    assert_fails(draft_model_check(&other.m, &s.m, &err), err, text);
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_ok(draft_model_check(&s.m, &s.m, &err), err);
    served_close(&other);
    served_close(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_itself), cmocka_unit_test(test_itself_after_others), cmocka_unit_test(test_what_is_cached), cmocka_unit_test(test_other_models), cmocka_unit_test(test_distribution), cmocka_unit_test(test_priced),
                                        cmocka_unit_test(test_vocabularies) };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("drafts", tests, NULL, NULL);
}
