/*
 * Threads that submit and abort at random while the loop runs. Every request ends once, with the tokens that it gets alone or a beginning of
 * them; blocks are neither lost nor written where another sequence reads; nothing is held at the end. Also under the thread sanitizer.
 */
#include "../test.h"
#include "served.h"
#include <pthread.h>
#include <stdatomic.h>

enum { N_PROMPT = 6, MOST = 30, N_THREAD = 3, SEND_EACH = 50 };

/* Prompts, of which some begin alike, and what each yields alone. */
struct prompts {
    int32_t prompt[N_PROMPT][SERVED_CTX], want[N_PROMPT][MOST];
    uint32_t n_in[N_PROMPT];
};

struct sender;

struct request {
    struct sender *from;
    uint32_t which, n_max, n_got, stop_after;
    atomic_bool ended;
    enum loop_finish finish;
};

/* Test programs assert on one thread: others note what is wrong. */
struct sender {
    pthread_t thread;
    struct loop *l;
    struct prompts *p;
    uint64_t seed;
    struct request r[SEND_EACH];
    uint64_t n_sent, n_refused;
    atomic_int *n_left; /* senders: the last one drains */
    atomic_int *wrong;  /* the line */
};

#define EXPECT(x)                                                                                                                                          \
    do {                                                                                                                                                   \
        if (!(x))                                                                                                                                          \
            atomic_store(from->wrong, __LINE__);                                                                                                           \
    } while (0)

static bool take(void *ctx, const struct loop_tokens *t)
{
    struct request *r = ctx;
    const struct sender *from = r->from;
    EXPECT(!atomic_load(&r->ended));
    if (from->l->n_flight > 0 && !from->l->slot)
        EXPECT(!served_writes_shared(from->l, &from->l->flight[0]));
    for (uint32_t i = 0; i < t->n; i++, r->n_got++)
        EXPECT(r->n_got < r->n_max && t->id[i] == from->p->want[r->which][r->n_got]);
    r->finish = t->finish;
    if (t->finish != LOOP_RUNNING) {
        EXPECT(t->finish != LOOP_FAILED && t->finish != LOOP_EOS);
        EXPECT(t->finish != LOOP_LENGTH || r->n_got == r->n_max);
        EXPECT(t->finish != LOOP_STOPPED || (r->stop_after > 0 && r->n_got >= r->stop_after));
        atomic_store(&r->ended, true);
    }
    return r->stop_after > 0 && r->n_got >= r->stop_after;
}

static void *send(void *ctx)
{
    struct sender *from = ctx;
    struct rng g;
    struct error err;
    uint64_t id[SEND_EACH];
    rng_init(&g, from->seed);
    for (uint32_t i = 0; i < SEND_EACH; i++) {
        struct request *r = &from->r[i];
        const uint32_t which = (uint32_t)(rng_u64(&g) % N_PROMPT);
        r->from = from;
        r->which = which;
        r->n_max = 1 + (uint32_t)(rng_u64(&g) % MOST);
        r->stop_after = rng_u64(&g) % 4 == 0 ? 1 + (uint32_t)(rng_u64(&g) % 10) : 0;
        const struct loop_request x = { .prompt = from->p->prompt[which], .n_in = from->p->n_in[which], .n_max = r->n_max, .sampler = sampler_default,
                                        .priority = (int32_t)(rng_u64(&g) % 3), .sink = take, .sink_ctx = r };
        int rc = -1;
        for (int tries = 0; rc != 0 && tries < 5000; tries++) {
            rc = loop_submit(from->l, &x, &id[i], &err);
            if (rc == 0)
                break;
            EXPECT(err.kind == ERROR_UNAVAILABLE && id[i] == 0); /* the queue is full: no call of the sink follows */
            from->n_refused++;
            usleep(1000);
        }
        if (rc == 0) {
            from->n_sent++;
            if (rng_u64(&g) % 8 == 0)
                loop_abort(from->l, id[i]);
        }
        if (rng_u64(&g) % 4 == 0) { /* any of those sent, ended or not */
            const uint32_t k = (uint32_t)(rng_u64(&g) % (i + 1));
            loop_abort(from->l, id[k]);
        }
        if (rng_u64(&g) % 3 == 0)
            usleep((useconds_t)(rng_u64(&g) % 2000));
        struct loop_stats stats;
        loop_stats(from->l, &stats);
        EXPECT(stats.n_block_used <= stats.n_block && stats.n_running <= 6);
        (void)loop_idle(from->l);
    }
    loop_abort(from->l, UINT64_MAX);
    if (atomic_fetch_sub(from->n_left, 1) == 1)
        loop_drain(from->l);
    return NULL;
}

static void prompts_init(struct prompts *p, const struct served *s)
{
    struct error err = { 0 };
    struct engine *e = served_engine(s, NULL, 0, 1, 0);
    int32_t tok[SERVED_CTX];
    random_tokens(&s->spec, tok, SERVED_CTX);
    for (uint32_t i = 0; i < N_PROMPT; i++) {
        p->n_in[i] = 1 + 9 * i;
        for (uint32_t t = 0; t < p->n_in[i]; t++)
            p->prompt[i][t] = tok[(t + (t < 20 ? i % 2 : i)) % SERVED_CTX];
        for (uint32_t k = 0, past = 0; k < MOST; k++) {
            const float *logits;
            const uint32_t n = k == 0 ? p->n_in[i] : 1;
            assert_ok(engine_eval(e, k == 0 ? p->prompt[i] : &p->want[i][k - 1], n, past, 1, &logits, &err), err);
            past += n;
            p->want[i][k] = 0;
            for (uint32_t t = 1; t < s->m.hp.n_vocab; t++)
                p->want[i][k] = logits[t] > logits[p->want[i][k]] ? (int32_t)t : p->want[i][k];
        }
    }
    engine_free(e);
}

struct way {
    const char *policy, *family;
    uint32_t n_block, n_draft, max_queued;
    bool async, priority;
};

/* How often running sequences had the same block. */
static uint64_t run_way(const struct way *w, uint64_t seed)
{
    struct error err = { 0 };
    struct served s;
    static struct prompts prompts;
    static struct sender sender[N_THREAD];
    atomic_int n_left = N_THREAD, wrong = 0;
    served_open(&s, "test_threads", w->family, 0, NULL);
    prompts_init(&prompts, &s);
    struct policy p = served_policy(&s, w->policy, w->n_block < 50 || w->async ? 6 : 4, 40);
    p.async_scheduling = w->async;
    p.priority = w->priority;
    p.num_speculative_tokens = w->n_draft;
    struct engine *e = served_engine(&s, &p, w->n_block, strcmp(w->family, "deepseek2") == 0 ? 2 : 1, 0);
    struct draft_ngram ngram = { 3, 1 };
    struct served_watch watch = { 0 };
    const struct loop_options o = { .policy = p, .n_block = w->n_block, .seed = seed, .max_queued = w->max_queued, .step = served_check_step, .step_ctx = &watch,
                                    .drafter = { .ctx = &ngram, .propose = draft_ngram_propose } };
    struct loop *l = loop_new(e, &o, &err);
    if (!l)
        fail_msg("%s", err.msg);
    watch.l = l;
    memset(sender, 0, sizeof sender);
    for (uint32_t i = 0; i < N_THREAD; i++) {
        sender[i] = (struct sender){ .l = l, .p = &prompts, .seed = seed * N_THREAD + i, .n_left = &n_left, .wrong = &wrong };
        assert_int_equal(pthread_create(&sender[i].thread, NULL, send, &sender[i]), 0);
    }
    assert_ok(loop_run(l, &err), err);
    for (uint32_t i = 0; i < N_THREAD; i++)
        assert_int_equal(pthread_join(sender[i].thread, NULL), 0);
    struct loop_stats stats;
    loop_stats(l, &stats);
    served_check_end(l);
    loop_free(l);
    engine_free(e);
    served_close(&s);
    if (wrong != 0)
        fail_msg("%s, %s: line %d", w->family, w->policy, (int)wrong);
    uint64_t n_sent = 0, n_refused = 0, n_ended = 0, n_counted = 0, n_tok = 0, n_by[LOOP_FAILED + 1] = { 0 };
    for (uint32_t i = 0; i < N_THREAD; i++) {
        n_sent += sender[i].n_sent;
        n_refused += sender[i].n_refused;
        for (uint32_t k = 0; k < SEND_EACH; k++) {
            n_ended += sender[i].r[k].ended;
            n_tok += sender[i].r[k].n_got;
            n_by[sender[i].r[k].finish] += sender[i].r[k].ended;
        }
    }
    for (int f = 0; f <= LOOP_FAILED; f++) {
        assert_int_equal(stats.n_finished[f], n_by[f]);
        n_counted += stats.n_finished[f];
    }
    assert_int_equal(n_ended, n_sent);
    assert_int_equal(n_counted, n_sent);
    assert_int_equal(stats.n_output_tok, n_tok);
    printf("%s, %s: %llu steps, %llu preemptions, %llu aborted, %llu stopped, %llu whole, %llu refused, blocks shared %llu times\n", w->family, w->policy,
           (unsigned long long)stats.n_step, (unsigned long long)stats.n_preempt, (unsigned long long)n_by[LOOP_ABORTED],
           (unsigned long long)n_by[LOOP_STOPPED], (unsigned long long)n_by[LOOP_LENGTH], (unsigned long long)n_refused, (unsigned long long)watch.n_shared);
    assert_true(n_by[LOOP_ABORTED] > 5 && n_by[LOOP_STOPPED] > 5 && n_by[LOOP_LENGTH] > 5);
    assert_true(w->max_queued == 0 || n_refused > 0);
    return watch.n_shared;
}

static void test_submit_and_abort(void **state)
{
    (void)state;
    static const struct way ways[] = {
        { "vllm-0.27", "llama", 14, 0, 0, false, false },   { "vllm-0.27", "llama", 14, 0, 12, true, false },   { "vllm-0.27", "llama", 14, 3, 0, false, true },
        { "vllm-0.27", "gemma3", 80, 0, 0, true, false },   { "vllm-0.27", "deepseek2", 14, 0, 0, false, false },
        { "llama-server", "llama", 4 + 48, 0, 0, false, false },
    };
    uint64_t n_shared = 0;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++)
        n_shared += run_way(&ways[i], i + 1);
    assert_true(n_shared > 10);
}

/* Latents that two runs share are expanded once: two threads write no row. Logits are those of each run by itself. */
static void test_shared_latents(void **state)
{
    (void)state;
    enum { SHARED = 4, NEW = 24, N_BLOCK = SHARED + 2 * NEW / SERVED_BLOCK };
    struct served s;
    struct error err = { 0 };
    int32_t tok[SHARED * SERVED_BLOCK + NEW], two[2 * NEW];
    const float *l;
    served_open(&s, "test_threads", "deepseek2", 0, NULL);
    random_tokens(&s.spec, tok, SHARED * SERVED_BLOCK + NEW);
    struct policy p = served_policy(&s, "vllm-0.27", 2, 2 * NEW);
    struct engine *e = served_engine(&s, &p, N_BLOCK, 2, 0);
    const uint32_t block[2][SHARED + NEW / SERVED_BLOCK] = { { 0, 1, 2, 3, 4, 5, 6 }, { 0, 1, 2, 3, 7, 8, 9 } };
    const uint32_t *table[2] = { block[0], block[1] };
    const size_t v = s.m.hp.n_vocab;
    float *want = malloc(2 * v * sizeof *want);
    struct engine_run r[2] = { { .n_tok = SHARED * SERVED_BLOCK, .table = &table[0] } };
    assert_ok(engine_eval_runs(e, tok, r, 1, NULL, &err), err);
    for (uint32_t i = 0; i < 2; i++) {
        r[i] = (struct engine_run){ .seq = i, .n_past = SHARED * SERVED_BLOCK, .n_tok = NEW, .n_out = 1, .table = &table[i] };
        for (uint32_t t = 0; t < NEW; t++)
            two[i * NEW + t] = tok[SHARED * SERVED_BLOCK + (t + 5 * i) % NEW];
        assert_ok(engine_eval_runs(e, two + i * NEW, &r[i], 1, &l, &err), err);
        memcpy(want + i * v, l, v * sizeof *l);
    }
    for (int round = 0; round < 20; round++) {
        assert_ok(engine_eval_runs(e, two, r, 2, &l, &err), err);
        assert_memory_equal(l, want, 2 * v * sizeof *l);
    }
    free(want);
    engine_free(e);
    served_close(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_submit_and_abort), cmocka_unit_test(test_shared_latents) };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
