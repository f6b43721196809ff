/* Requests to the loop: what they may ask, how they end, what is refused. One reference decides what a request yields: a plain sampler on a
 * sequence alone. */
#include "../test.h"
#include "served.h"
#include <math.h>

enum { MOST = 40, TOP = 5, N_REQUEST = 40 };

struct request {
    struct loop_request r;
    int32_t prompt[SERVED_CTX], end[3], forced[4];
    struct loop_logprob bias[3];
    int32_t got[MOST];
    struct loop_logprob chosen[MOST], top[MOST][TOP];
    uint32_t n_got, n_last, n_hit, n_preempt, stop_after;
    enum loop_finish finish;
    char error[200];
    double now_s;
    struct loop *stop, *drain;
};

static bool take(void *ctx, const struct loop_tokens *t)
{
    struct request *q = ctx;
    assert_int_equal(q->n_last, 0);
    assert_true(t->n > 0 || t->finish != LOOP_RUNNING);
    assert_true((t->chosen != NULL) == (q->r.logprobs && t->n > 0) || t->n == 0);
    for (uint32_t i = 0; i < t->n; i++, q->n_got++) {
        assert_true(q->n_got < MOST);
        q->got[q->n_got] = t->id[i];
        if (t->n_top > 0)
            memcpy(q->top[q->n_got], t->top + (size_t)i * t->n_top, t->n_top * sizeof *t->top);
        if (t->chosen)
            q->chosen[q->n_got] = t->chosen[i];
    }
    q->finish = t->finish;
    q->n_last += t->finish != LOOP_RUNNING;
    q->n_hit = t->n_hit;
    q->n_preempt = t->n_preempt;
    q->now_s = t->now_s;
    assert_true(t->now_s >= t->submit_s && (t->start_s == 0 || (t->start_s >= t->submit_s && t->start_s <= t->now_s)));
    if (t->error)
        snprintf(q->error, sizeof q->error, "%s", t->error);
    if (q->stop)
        loop_stop(q->stop);
    if (q->drain)
        loop_drain(q->drain);
    return q->stop_after > 0 && q->n_got >= q->stop_after;
}

/* n_in tokens of a sequence that `which` chooses. */
static void request_init(struct request *q, const struct served *s, uint32_t which, uint32_t n_in, uint32_t n_max)
{
    int32_t tok[SERVED_CTX];
    random_tokens(&s->spec, tok, SERVED_CTX);
    *q = (struct request){ .r = { .n_in = n_in, .n_max = n_max, .sampler = sampler_default, .sink = take, .ignore_end = true } };
    for (uint32_t i = 0; i < n_in; i++)
        q->prompt[i] = tok[(i + which) % SERVED_CTX];
}

/* Pointers into q itself. */
static const struct loop_request *asked(struct request *q)
{
    q->r.prompt = q->prompt;
    q->r.end = q->end;
    q->r.forced = q->forced;
    q->r.bias = q->bias;
    q->r.sink_ctx = q;
    return &q->r;
}

static void submit(struct loop *l, struct request *q, uint64_t *id)
{
    struct error err = { 0 };
    assert_ok(loop_submit(l, asked(q), id, &err), err);
    assert_true(*id != 0);
}

/* A loop and all it needs. */
struct bench {
    struct served s;
    struct policy p;
    struct engine *e;
    struct loop *l;
    struct draft_ngram ngram;
    struct served_watch watch;
};

static struct loop_options options_of(struct bench *b, uint32_t n_block)
{
    b->ngram = (struct draft_ngram){ 3, 1 };
    return (struct loop_options){ .policy = b->p, .n_block = n_block, .seed = 9, .step = served_check_step, .step_ctx = &b->watch,
                                  .drafter = { .ctx = &b->ngram, .propose = draft_ngram_propose } };
}

static void loop_begin(struct bench *b, const struct loop_options *o)
{
    struct error err = { 0 };
    b->e = served_engine(&b->s, &b->p, o->n_block, 1, 0);
    if (!(b->l = loop_new(b->e, o, &err)))
        fail_msg("%s", err.msg);
    b->watch = (struct served_watch){ .l = b->l };
}

static void loop_end(struct bench *b)
{
    loop_free(b->l);
    engine_free(b->e);
}

static void run_all(struct bench *b)
{
    struct error err = { 0 };
    loop_drain(b->l);
    assert_ok(loop_run(b->l, &err), err);
    assert_true(loop_idle(b->l));
    served_check_end(b->l);
}

static void begin(struct bench *b, const char *policy, uint32_t seqs, uint32_t budget, uint32_t n_block)
{
    *b = (struct bench){ 0 };
    served_open(&b->s, "test_requests", "llama", 0, NULL);
    b->p = served_policy(&b->s, policy, seqs, budget);
    const struct loop_options o = options_of(b, n_block);
    loop_begin(b, &o);
}

static void end(struct bench *b)
{
    loop_end(b);
    served_close(&b->s);
}

/* ---- against a reference -------------------------------------------------------------------------------------------- */

static bool is_end(const struct loop_request *r, int32_t id)
{
    bool any = false;
    for (uint32_t i = 0; i < r->n_end; i++)
        any |= r->end[i] == id;
    return any;
}

/* The logits that the request samples from. */
static void change(const struct request *q, uint32_t n_done, const uint32_t *times, float *x, uint32_t n_vocab)
{
    for (uint32_t t = 0; t < n_vocab; t++)
        if (times[t] > 0)
            x[t] -= q->r.presence_penalty + q->r.frequency_penalty * (float)times[t];
    for (uint32_t i = 0; i < q->r.n_bias; i++)
        x[q->bias[i].id] += q->bias[i].logprob;
    for (uint32_t i = 0; n_done < q->r.n_min && i < q->r.n_end; i++)
        x[q->end[i]] = -INFINITY;
}

static void check_row(const struct request *q, uint32_t i, const float *logits, uint32_t n_vocab, int32_t id)
{
    double sum = 0, max = -INFINITY;
    for (uint32_t t = 0; t < n_vocab; t++)
        max = fmax(max, (double)logits[t]);
    for (uint32_t t = 0; t < n_vocab; t++)
        sum += exp((double)logits[t] - max);
    assert_int_equal(q->chosen[i].id, id);
    assert_true(fabs((double)q->chosen[i].logprob - ((double)logits[id] - max - log(sum))) < 2e-5);
    for (uint32_t k = 0; k < q->r.n_top; k++) {
        uint32_t before = 0;
        for (uint32_t t = 0; t < n_vocab; t++)
            before += logits[t] > logits[q->top[i][k].id];
        assert_int_equal(before, k); /* no two logits are equal here */
        assert_true(fabs((double)q->top[i][k].logprob - ((double)logits[q->top[i][k].id] - max - log(sum))) < 2e-5);
    }
}

static void check_alone(const struct request *q, struct engine *e, const struct served *s)
{
    struct error err = { 0 };
    struct sampler sampler;
    const uint32_t v = s->m.hp.n_vocab;
    uint32_t *times = calloc(v, sizeof *times), n = 0;
    float *x = malloc(v * sizeof *x);
    enum loop_finish finish = LOOP_RUNNING;
    assert_ok(sampler_init(&sampler, &q->r.sampler, v, &err), err);
    for (uint32_t i = 0; i < q->r.n_in; i++)
        sampler_accept(&sampler, q->prompt[i]);
    for (int32_t id = 0; finish == LOOP_RUNNING; n++) {
        const float *logits;
        const uint32_t past = n == 0 ? 0 : q->r.n_in + n - 1;
        assert_ok(engine_eval(e, n == 0 ? q->prompt : &id, n == 0 ? q->r.n_in : 1, past, 1, &logits, &err), err);
        memcpy(x, logits, v * sizeof *x);
        change(q, n, times, x, v);
        id = sampler_pick(&sampler, x);
        if (n < q->r.n_forced)
            id = q->forced[n];
        sampler_accept(&sampler, id);
        times[id] += q->r.presence_penalty != 0 || q->r.frequency_penalty != 0;
        if (!q->r.ignore_end && is_end(&q->r, id)) {
            finish = LOOP_EOS;
            break;
        }
        assert_true(n < q->n_got);
        assert_int_equal(q->got[n], id);
        if (q->r.logprobs)
            check_row(q, n, logits, v, id);
        if (n + 1 == q->r.n_max)
            finish = LOOP_LENGTH;
        else if (q->stop_after > 0 && n + 1 >= q->stop_after)
            finish = LOOP_STOPPED;
    }
    assert_int_equal(n, q->n_got);
    assert_int_equal(q->finish, finish);
    assert_int_equal(q->n_last, 1);
    sampler_free(&sampler);
    free(times);
    free(x);
}

static bool one_in(struct rng *g, uint32_t n)
{
    return rng_u64(g) % n == 0;
}

/* Anything that a request may ask. */
static void random_request(struct request *q, const struct served *s, struct rng *g)
{
    const uint32_t v = s->m.hp.n_vocab;
    request_init(q, s, (uint32_t)(rng_u64(g) % 3), 1 + (uint32_t)(rng_u64(g) % 40), 1 + (uint32_t)(rng_u64(g) % 24));
    q->r.ignore_end = one_in(g, 4);
    q->r.n_end = (uint32_t)(rng_u64(g) % 4);
    q->r.n_min = one_in(g, 2) ? (uint32_t)(rng_u64(g) % 10) : 0;
    q->r.n_bias = one_in(g, 2) ? (uint32_t)(rng_u64(g) % 4) : 0;
    q->r.n_forced = one_in(g, 3) ? (uint32_t)(rng_u64(g) % 5) : 0;
    for (uint32_t i = 0; i < 3; i++) {
        q->end[i] = (int32_t)(rng_u64(g) % v);
        q->bias[i] = (struct loop_logprob){ (int32_t)(rng_u64(g) % v), (float)rng_uniform(g) * 8 - 4 };
    }
    for (uint32_t i = 0; i < 4; i++)
        q->forced[i] = (int32_t)(rng_u64(g) % v);
    if (one_in(g, 2)) {
        q->r.presence_penalty = (float)rng_uniform(g) * 4 - 2;
        q->r.frequency_penalty = (float)rng_uniform(g) * 4 - 2;
    }
    q->r.sampler.temperature = one_in(g, 2) ? rng_uniform(g) * 1.5 : 0;
    q->r.sampler.seed = rng_u64(g);
    q->r.sampler.repeat_penalty = one_in(g, 3) ? 1.3 : 1;
    q->r.sampler.repeat_last_n = one_in(g, 2) ? 8 : -1;
    q->r.sampler.top_k = one_in(g, 3) ? 7 : 0;
    q->r.sampler.top_p = one_in(g, 3) ? 0.8 : 1;
    q->r.logprobs = one_in(g, 2);
    q->r.n_top = q->r.logprobs ? (uint32_t)(rng_u64(g) % (TOP + 1)) : 0;
    q->stop_after = one_in(g, 4) ? 1 + (uint32_t)(rng_u64(g) % 8) : 0;
    q->r.priority = (int32_t)(rng_u64(g) % 3);
}

struct way {
    const char *policy;
    uint32_t seqs, budget, n_block, n_draft;
    bool async, priority, prefix;
};

static void test_as_alone(void **state)
{
    static const struct way ways[] = { { "vllm-0.27", 6, 24, 12, 0, .prefix = true },
                                       { "vllm-0.27", 6, 24, 12, 0, .async = true, .prefix = true },
                                       { "vllm-0.27", 6, 40, 12, 4, .prefix = true },
                                       { "vllm-0.27", 6, 40, 12, 3, .priority = true },
                                       { "static", 4, 40, 40, 0, .async = false },
                                       { "llama-server", 4, 40, 4 + 4 * SERVED_CTX / SERVED_BLOCK, 0, .async = false } };
    static struct request q[N_REQUEST];
    (void)state;
    uint64_t n_preempt = 0, n_hit = 0, n_accepted = 0, n_by[LOOP_FAILED + 1] = { 0 };
    for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
        struct bench b = { 0 };
        struct rng g;
        struct loop_stats stats;
        uint64_t id;
        rng_init(&g, w + 1);
        served_open(&b.s, "test_requests", "llama", 0, NULL);
        b.p = served_policy(&b.s, ways[w].policy, ways[w].seqs, ways[w].budget);
        b.p.async_scheduling = ways[w].async;
        b.p.priority = ways[w].priority;
        b.p.enable_prefix_caching = ways[w].prefix && b.p.kind == POLICY_VLLM;
        b.p.num_speculative_tokens = ways[w].n_draft;
        const struct loop_options o = options_of(&b, ways[w].n_block);
        loop_begin(&b, &o);
        for (uint32_t i = 0; i < N_REQUEST; i++) {
            random_request(&q[i], &b.s, &g);
            submit(b.l, &q[i], &id);
        }
        run_all(&b);
        loop_stats(b.l, &stats);
        struct engine *alone = served_engine(&b.s, NULL, 0, 1, 0);
        for (uint32_t i = 0; i < N_REQUEST; i++)
            check_alone(&q[i], alone, &b.s);
        engine_free(alone);
        assert_int_equal(stats.n_running + stats.n_waiting + stats.n_block_used * (b.p.kind == POLICY_VLLM), 0);
        uint64_t n = 0, n_tok = 0;
        for (uint32_t i = 0; i < N_REQUEST; i++)
            n_tok += q[i].n_got;
        for (int f = 0; f <= LOOP_FAILED; f++) {
            n += stats.n_finished[f];
            n_by[f] += stats.n_finished[f];
        }
        assert_int_equal(n, N_REQUEST);
        assert_int_equal(stats.n_output_tok, n_tok);
        n_preempt += stats.n_preempt;
        n_hit += stats.n_hit_tok;
        n_accepted += stats.n_accepted_tok;
        end(&b);
    }
    printf("%llu preemptions, %llu tokens hit, %llu drafts accepted; ends: %llu length, %llu end tokens, %llu stopped\n", (unsigned long long)n_preempt,
           (unsigned long long)n_hit, (unsigned long long)n_accepted, (unsigned long long)n_by[LOOP_LENGTH], (unsigned long long)n_by[LOOP_EOS],
           (unsigned long long)n_by[LOOP_STOPPED]);
    assert_true(n_preempt > 10 && n_hit > 100 && n_accepted > 5 && n_by[LOOP_LENGTH] > 20 && n_by[LOOP_EOS] > 3 && n_by[LOOP_STOPPED] > 10);
}

/* ---- one at a time --------------------------------------------------------------------------------------------------- */

static void test_order_by_priority(void **state)
{
    static struct request q[4];
    static const int32_t priority[] = { 5, 1, 3, 1 };
    uint64_t id;
    struct bench b = { 0 };
    (void)state;
    served_open(&b.s, "test_requests", "llama", 0, NULL);
    b.p = served_policy(&b.s, "vllm-0.27", 1, 32);
    b.p.priority = true;
    const struct loop_options o = options_of(&b, 12);
    loop_begin(&b, &o);
    for (uint32_t i = 0; i < ARRAY_LEN(q); i++) {
        request_init(&q[i], &b.s, i, 5, 3);
        q[i].r.priority = priority[i];
        submit(b.l, &q[i], &id);
    }
    run_all(&b);
    assert_true(q[1].now_s < q[3].now_s && q[3].now_s < q[2].now_s && q[2].now_s < q[0].now_s);
    end(&b);
}

/* Prompts share blocks where their salts are equal. */
static void test_salts(void **state)
{
    static struct request q[4];
    static const uint64_t salt[] = { 0, 7, 7, 0 };
    static const uint32_t hit[] = { 0, 0, 32, 32 };
    uint64_t id;
    struct bench b;
    (void)state;
    begin(&b, "vllm-0.27", 1, 64, 40);
    for (uint32_t i = 0; i < ARRAY_LEN(q); i++) {
        request_init(&q[i], &b.s, 0, 33, 2);
        q[i].r.salt = salt[i];
        submit(b.l, &q[i], &id);
    }
    run_all(&b);
    for (uint32_t i = 0; i < ARRAY_LEN(q); i++)
        assert_int_equal(q[i].n_hit, hit[i]);
    end(&b);
}

static void test_full_queue(void **state)
{
    static struct request q[3];
    struct error err = { 0 };
    uint64_t id;
    struct bench b = { 0 };
    (void)state;
    served_open(&b.s, "test_requests", "llama", 0, NULL);
    b.p = served_policy(&b.s, "vllm-0.27", 2, 32);
    struct loop_options o = options_of(&b, 20);
    o.max_queued = 2;
    loop_begin(&b, &o);
    for (uint32_t i = 0; i < 3; i++)
        request_init(&q[i], &b.s, i, 5, 3);
    submit(b.l, &q[0], &id);
    submit(b.l, &q[1], &id);
    assert_fails(loop_submit(b.l, asked(&q[2]), &id, &err), err, "2 requests wait");
    assert_int_equal(err.kind, ERROR_UNAVAILABLE);
    assert_int_equal(id, 0);
    assert_false(loop_idle(b.l));
    run_all(&b);
    assert_fails(loop_submit(b.l, asked(&q[2]), &id, &err), err, "shutting down");
    assert_int_equal(err.kind, ERROR_UNAVAILABLE);
    assert_true(q[0].n_got == 3 && q[1].n_got == 3 && q[2].n_last == 0);
    end(&b);
}

/* A sink drains the loop, or stops it; loop_free() ends what is left. */
static void test_drain_and_stop(void **state)
{
    static struct request q[5];
    struct error err = { 0 };
    uint64_t id;
    (void)state;
    for (int stop = 0; stop < 2; stop++) {
        struct bench b;
        begin(&b, "vllm-0.27", 2, 32, 20);
        for (uint32_t i = 0; i < ARRAY_LEN(q); i++) {
            request_init(&q[i], &b.s, i, 6, 10);
            submit(b.l, &q[i], &id);
        }
        *(stop ? &q[0].stop : &q[0].drain) = b.l;
        assert_ok(loop_run(b.l, &err), err);
        assert_int_equal(loop_idle(b.l), !stop);
        assert_int_equal(q[0].n_got, stop ? 1 : 10);
        assert_fails(loop_submit(b.l, asked(&q[0]), &id, &err), err, "shutting down");
        end(&b);
        for (uint32_t i = 0; i < ARRAY_LEN(q); i++)
            assert_true(q[i].n_last == 1 && q[i].finish == (stop ? LOOP_ABORTED : LOOP_LENGTH));
    }
}

static void test_refused(void **state)
{
    static struct request q;
    struct error err = { 0 };
    uint64_t id;
    struct bench b;
    (void)state;
    begin(&b, "vllm-0.27", 2, 32, 6);
#define REFUSED(kind_, text, ...)                                                                                                                          \
    do {                                                                                                                                                   \
        request_init(&q, &b.s, 0, 5, 3);                                                                                                                   \
        __VA_ARGS__;                                                                                                                                       \
        assert_fails(loop_submit(b.l, asked(&q), &id, &err), err, text);                                                                                   \
        assert_int_equal(err.kind, kind_);                                                                                                                 \
        assert_int_equal(id, 0);                                                                                                                           \
    } while (0)
    REFUSED(ERROR_INPUT, "80 + 17 tokens: max-model-len is 96", q.r.n_in = 80; q.r.n_max = 17);
    REFUSED(ERROR_INPUT, "30 + 20 tokens takes 7 KV blocks of 8 positions: there are 6", q.r.n_in = 30; q.r.n_max = 20);
    REFUSED(ERROR_INPUT, "4294967295 + 4294967295 tokens", q.r.n_in = q.r.n_max = UINT32_MAX; (void)0);
    REFUSED(ERROR_INPUT, "at least one of each", q.r.n_in = 0);
    REFUSED(ERROR_INPUT, "at least one of each", q.r.n_max = 0);
    REFUSED(ERROR_INPUT, "token 3 of the prompt is -1", q.prompt[2] = -1);
    REFUSED(ERROR_INPUT, "token 1 of the prompt is 96: the vocabulary has 96", q.prompt[0] = 96);
    REFUSED(ERROR_INPUT, "forced token 200", q.r.n_forced = 1; q.forced[0] = 200);
    REFUSED(ERROR_INPUT, "a bias of token -2", q.r.n_bias = 1; q.bias[0].id = -2);
    REFUSED(ERROR_INPUT, "the bias of token 3", q.r.n_bias = 1; q.bias[0] = (struct loop_logprob){ 3, NAN });
    REFUSED(ERROR_INPUT, "end token 96", q.r.n_end = 1; q.end[0] = 96);
    REFUSED(ERROR_INPUT, "21 likely tokens", q.r.logprobs = true; q.r.n_top = LOOP_MAX_TOP + 1);
    REFUSED(ERROR_INPUT, "penalties of 2.5 and 0", q.r.presence_penalty = 2.5F);
    REFUSED(ERROR_INPUT, "penalties of 0 and nan", q.r.frequency_penalty = NAN);
    REFUSED(ERROR_USAGE, "temp", q.r.sampler.temperature = -1);
#undef REFUSED
    assert_true(loop_idle(b.l));
    request_init(&q, &b.s, 0, 1, 1); /* the smallest, and the largest that fits: 48 positions, of which the last token needs none */
    submit(b.l, &q, &id);
    static struct request largest;
    request_init(&largest, &b.s, 0, 29, 20);
    submit(b.l, &largest, &id);
    run_all(&b);
    assert_true(q.n_got == 1 && largest.n_got == 20);
    end(&b);
}

/* ---- failures -------------------------------------------------------------------------------------------------------- */

/* Drafts that are no tokens, in the third call; NULL in ctx: an error. */
struct bad_drafts {
    int n_call, n_free, n_forget;
    bool error;
};

static int bad_propose(void *ctx, struct draft_want *w, size_t n, struct error *err)
{
    struct bad_drafts *x = ctx;
    const bool bad = ++x->n_call == 3;
    for (size_t i = 0; i < n; i++) {
        w[i].n = w[i].most;
        for (uint32_t k = 0; k < w[i].n; k++)
            w[i].draft[k] = bad ? -5 : 1;
    }
    return bad && x->error ? error_set(err, ERROR_SYSTEM, "no drafts today") : 0;
}

static void bad_forget(void *ctx, uint32_t place)
{
    (void)place;
    ((struct bad_drafts *)ctx)->n_forget++;
}

static void test_engine_fails(void **state)
{
    static struct request q[6];
    (void)state;
    for (int how = 0; how < 2; how++) {
        struct error err = { 0 };
        struct bad_drafts x = { .error = how == 1 };
        uint64_t id;
        struct bench b = { 0 };
        served_open(&b.s, "test_requests", "llama", 0, NULL);
        b.p = served_policy(&b.s, "vllm-0.27", 4, 40);
        b.p.num_speculative_tokens = 2;
        struct loop_options o = options_of(&b, 40);
        o.drafter = (struct drafter){ .ctx = &x, .propose = bad_propose, .forget = bad_forget };
        loop_begin(&b, &o);
        for (uint32_t i = 0; i < ARRAY_LEN(q); i++) {
            request_init(&q[i], &b.s, i, 6, 10);
            submit(b.l, &q[i], &id);
        }
        const char *const text = how == 1 ? "no drafts today" : "id -5 is outside the vocabulary";
        assert_fails(loop_run(b.l, &err), err, text);
        for (uint32_t i = 0; i < ARRAY_LEN(q); i++) {
            assert_true(q[i].n_last == 1 && q[i].finish == LOOP_FAILED && q[i].n_got < 10);
            assert_true(strstr(q[i].error, text) != NULL);
        }
        assert_true(loop_idle(b.l));
        assert_int_equal(x.n_forget, ARRAY_LEN(q));
        served_check_end(b.l);
        assert_fails(loop_submit(b.l, asked(&q[0]), &id, &err), err, "shutting down");
        end(&b);
    }
}

static void make_infinite(struct random_spec *s)
{
    s->gain_o = INFINITY;
}

/* Damaged weights are an error, not a token. */
static void test_not_finite(void **state)
{
    static struct request q[2];
    uint64_t id;
    struct bench b = { 0 };
    (void)state;
    served_open(&b.s, "test_requests", "llama", 0, make_infinite);
    b.p = served_policy(&b.s, "vllm-0.27", 4, 40);
    const struct loop_options o = options_of(&b, 40);
    loop_begin(&b, &o);
    for (uint32_t i = 0; i < ARRAY_LEN(q); i++) {
        request_init(&q[i], &b.s, i, 6, 10);
        submit(b.l, &q[i], &id);
    }
    run_all(&b);
    for (uint32_t i = 0; i < ARRAY_LEN(q); i++)
        assert_true(q[i].n_got == 0 && q[i].finish == LOOP_FAILED && strstr(q[i].error, "not finite"));
    end(&b);
}

/* llama-server without room for a step: all that work fail, and the next ones are served. */
static void test_slots_full(void **state)
{
    static struct request q[3];
    uint64_t id;
    struct bench b;
    (void)state;
    begin(&b, "llama-server", 2, 40, 2 + 8);
    for (uint32_t i = 0; i < ARRAY_LEN(q); i++) {
        request_init(&q[i], &b.s, i, i < 2 ? 30 : 20, i < 2 ? 10 : 6);
        submit(b.l, &q[i], &id);
    }
    run_all(&b);
    for (uint32_t i = 0; i < 2; i++)
        assert_true(q[i].finish == LOOP_FAILED && strstr(q[i].error, "context size has been exceeded"));
    assert_true(q[2].finish == LOOP_LENGTH && q[2].n_got == 6);
    end(&b);
}

static void test_wrong_options(void **state)
{
    struct error err = { 0 };
    struct bench b;
    (void)state;
    begin(&b, "vllm-0.27", 2, 32, 6);
    struct loop_options o = options_of(&b, 7);
    assert_null(loop_new(b.e, &o, &err));
    assert_non_null(strstr(err.msg, "an engine of 6 blocks"));
    o = options_of(&b, 6);
    o.policy.num_speculative_tokens = 2;
    o.policy.async_scheduling = true;
    assert_null(loop_new(b.e, &o, &err));
    assert_non_null(strstr(err.msg, "--no-async-scheduling"));
    o.policy.async_scheduling = false;
    o.drafter.propose = NULL;
    assert_null(loop_new(b.e, &o, &err));
    assert_non_null(strstr(err.msg, "expected a source of drafts"));
    o = options_of(&b, 6);
    o.policy.n_host_block = 3;
    assert_null(loop_new(b.e, &o, &err));
    assert_non_null(strstr(err.msg, "host memory"));
    end(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_alone),   cmocka_unit_test(test_order_by_priority), cmocka_unit_test(test_salts),      cmocka_unit_test(test_full_queue),
        cmocka_unit_test(test_drain_and_stop), cmocka_unit_test(test_refused),       cmocka_unit_test(test_engine_fails), cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_slots_full), cmocka_unit_test(test_wrong_options),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("requests", tests, NULL, NULL);
}
