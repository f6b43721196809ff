/* The scheduler against schedules worked out by hand from vLLM's rules, and its properties under random loads. */
#include "../test.h"
#include "serving/scheduler.h"
#include "serving/draw.h"

static struct policy vllm(uint32_t budget)
{
    struct policy p;
    struct error err;
    assert_ok(policy_init(&p, "vllm-0.27", &(struct policy_device){ .memory_bytes = 80e9, .is_gpu = true }, &err), err);
    p.max_num_batched_tokens = budget;
    p.max_num_seqs = 64;
    p.max_model_len = 1 << 20;
    p.async_scheduling = false;
    return p;
}

/* A scheduler with its workload, driven by hand. */
struct bench {
    struct serve_workload w;
    size_t cap, run_cap;
    struct scheduler s;
    struct batch b;
    struct sched_seq *seq[64];
};

static void begin(struct bench *x, const struct policy *p, uint32_t n_block)
{
    struct error err;
    *x = (struct bench){ .w = { .run_tokens = 16 } };
    assert_ok(scheduler_init(&x->s, p, n_block, &err), err);
}

static void finish(struct bench *x)
{
    scheduler_forget(&x->b);
    batch_free(&x->b);
    scheduler_free(&x->s);
    serve_workload_free(&x->w);
}

/* A request whose tokens are those of all others with this identity; 0: its own. */
static struct sched_seq *add(struct bench *x, uint32_t n_in, uint32_t n_out, uint64_t identity)
{
    struct error err;
    struct serve_request r = { .parent = SERVE_NO_PARENT, .n_in = n_in, .n_out = n_out, .run0 = (uint32_t)x->w.n_run };
    if (identity > 0) {
        assert_true(serve_workload_add_run(&x->w, &x->run_cap, &(struct token_run){ identity << 32, n_in / 16 }));
        r.n_run = n_in >= 16;
    }
    assert_true(serve_workload_add(&x->w, &x->cap, &r));
    const uint32_t i = (uint32_t)x->w.n - 1;
    return x->seq[i] = scheduler_add(&x->s, &x->w, i, &err);
}

/* Forms a step: "0:2048 1:500" is request: tokens. */
static const char *form(struct bench *x)
{
    static char text[512];
    struct error err;
    size_t n = 0;
    text[0] = '\0';
    assert_ok(scheduler_form(&x->s, &x->b, &err), err);
    for (size_t i = 0; i < x->b.n; i++) {
        struct batch_entry *e = &x->b.e[i];
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%u:%u", i ? " " : "", e->seq->request, e->n_tok);
        e->n_new = e->samples;
    }
    assert_null(scheduler_broken(&x->s));
    return text;
}

static const char *step(struct bench *x)
{
    const char *text = form(x);
    scheduler_apply(&x->s, &x->b);
    for (size_t i = 0; i < x->b.n; i++)
        if (x->b.e[i].seq->state == SEQ_DONE && x->b.e[i].seq->n_flight == 0) {
            x->seq[x->b.e[i].seq->request] = NULL;
            scheduler_drop(x->b.e[i].seq);
        }
    x->b.n = 0;
    return text;
}

static void test_chunks_and_decode(void **state)
{
    (void)state;
    struct bench x;
    const struct policy p = vllm(2048);
    begin(&x, &p, 10000);
    add(&x, 3000, 10, 0);
    add(&x, 500, 10, 0);
    assert_string_equal(step(&x), "0:2048");
    assert_string_equal(step(&x), "0:952 1:500");
    add(&x, 6000, 10, 0);
    assert_string_equal(step(&x), "0:1 1:1 2:2046");
    assert_string_equal(step(&x), "0:1 1:1 2:2046");
    assert_string_equal(step(&x), "0:1 1:1 2:1908");
    assert_string_equal(step(&x), "0:1 1:1 2:1");
    finish(&x);
}

/* 300 blocks, two prompts of 125 blocks with long outputs: the younger is preempted once and returns when the older has ended; who comes
 * after waits behind it. */
static void test_preemption_by_recompute(void **state)
{
    (void)state;
    struct bench x;
    const struct policy p = vllm(8192);
    begin(&x, &p, 300);
    struct sched_seq *a = add(&x, 2000, 2000, 0), *b = add(&x, 2000, 2000, 0), *c = NULL;
    assert_string_equal(step(&x), "0:2000 1:2000");
    while (b->state == SEQ_RUNNING)
        step(&x);
    assert_int_equal(a->n_known + b->n_known, 2 * 2401 + 1); /* 150 blocks each are full: a's next token takes one of b's */
    assert_int_equal(b->n_computed, 0);
    assert_int_equal(x.s.n_preempt, 1);
    c = add(&x, 16, 1, 0);
    while (x.seq[0]) {
        assert_true(b->state == SEQ_PREEMPTED && c->state == SEQ_WAITING);
        assert_string_equal(step(&x), "0:1");
    }
    assert_string_equal(step(&x), "1:2401 2:16"); /* prompt and output again */
    assert_int_equal(b->n_known, 2402);
    assert_int_equal(x.s.n_preempt, 1);
    finish(&x);
}

/* Whole prompts are admitted, or, before that rule, what the step has of them. */
static void test_admission_gate(void **state)
{
    (void)state;
    struct bench x;
    struct policy p = vllm(1024);
    for (int gate = 0; gate < 2; gate++) {
        p.scheduler_reserve_full_isl = gate;
        begin(&x, &p, 100);
        add(&x, 512, 100, 0);
        add(&x, 1500, 10, 0);
        assert_string_equal(step(&x), gate ? "0:512" : "0:512 1:512");
        finish(&x);
    }
    p.scheduler_reserve_full_isl = true;
    p.watermark = 0.5;
    begin(&x, &p, 100);
    add(&x, 512, 100, 0);
    add(&x, 400, 10, 0);
    assert_string_equal(step(&x), "0:512"); /* 32 + 25 + 50 > 100 blocks */
    finish(&x);
}

static void test_prefix_cache(void **state)
{
    (void)state;
    struct bench x;
    const struct policy p = vllm(8192);
    begin(&x, &p, 1000);
    add(&x, 1200, 3, 7);
    assert_string_equal(step(&x), "0:1200");
    add(&x, 1200, 3, 7); /* the last token is always computed: 1,184 of 1,200 */
    assert_string_equal(step(&x), "0:1 1:16");
    add(&x, 1201, 1, 7);
    assert_string_equal(step(&x), "0:1 1:1 2:1");
    assert_int_equal(scheduler_used_blocks(&x.s), 76); /* of the second: 74 hit, the last one of the prompt, one of the output */
    finish(&x);
    /* Blocks are hashed when a step is formed: requests of the same step hit them. */
    begin(&x, &p, 1000);
    add(&x, 160, 1, 7);
    add(&x, 170, 1, 7);
    assert_string_equal(step(&x), "0:160 1:10");
    finish(&x);
}

/* Free blocks are taken in the order of their release, the end of a chain before its root, blocks without a hash first. */
static void test_eviction_order(void **state)
{
    (void)state;
    struct bench x;
    const struct policy p = vllm(8192);
    begin(&x, &p, 10);
    add(&x, 72, 1, 1); /* 4 full blocks, one partial */
    step(&x);
    add(&x, 64, 1, 2); /* 4 full blocks */
    step(&x);
    add(&x, 48, 1, 0); /* the partial block, the unused one, and the end of the first chain */
    step(&x);
    add(&x, 72, 1, 1);
    assert_string_equal(form(&x), "3:24"); /* 3 blocks of the first chain are left */
    finish(&x);
}

/* Step N + 1 is formed while N runs. An end by length is foreseen; an end by the model wastes a step. */
static void test_async(void **state)
{
    (void)state;
    struct error err;
    struct bench x;
    struct batch older = { 0 };
    struct policy p = vllm(8192);
    p.async_scheduling = true;
    for (int stop = 0; stop < 2; stop++) {
        begin(&x, &p, 1000);
        struct sched_seq *q = add(&x, 100, 2, 0);
        q->n_max = stop ? 50 : 2;
        assert_ok(scheduler_form(&x.s, &older, &err), err);
        assert_int_equal(older.n_tok, 100);
        assert_string_equal(form(&x), "0:1");
        older.e[0].n_new = 1;
        scheduler_apply(&x.s, &older);
        assert_ok(scheduler_form(&x.s, &older, &err), err);
        assert_int_equal(older.n, stop); /* its third token, before the end is known */
        x.b.e[0].stop = true;
        scheduler_apply(&x.s, &x.b);
        assert_int_equal(q->state, SEQ_DONE);
        assert_int_equal(scheduler_used_blocks(&x.s), 0);
        x.b.n = 0;
        scheduler_apply(&x.s, &older);
        assert_int_equal(q->n_flight, 0);
        scheduler_drop(q);
        finish(&x);
    }
    batch_free(&older);
}

static void test_priority(void **state)
{
    (void)state;
    struct bench x;
    struct policy p = vllm(8192);
    p.priority = true;
    begin(&x, &p, 12);
    struct sched_seq *late = add(&x, 80, 100, 0), *soon = add(&x, 80, 100, 0);
    late->priority = 1;
    assert_string_equal(step(&x), "0:80 1:80");
    while (late->state == SEQ_RUNNING)
        step(&x);
    assert_int_equal(soon->state, SEQ_RUNNING); /* the youngest is not the victim */
    finish(&x);
}

/* A window of 32 keeps 2 to 4 blocks of 16; full attention all of them. */
static void test_windows(void **state)
{
    (void)state;
    struct bench x;
    struct policy p = vllm(64);
    p.n_group = 2;
    p.window[1] = 32;
    begin(&x, &p, 200);
    struct sched_seq *q = add(&x, 640, 100, 0);
    for (int i = 0; i < 40; i++)
        step(&x);
    assert_int_equal(q->group[0].n, 42); /* 640 + 30 positions */
    assert_int_equal(q->group[1].n - q->group[1].n_dropped, 2 + 1);
    assert_int_equal(scheduler_used_blocks(&x.s), 42 + 3);
    finish(&x);
    /* A hit needs the window's blocks of the one group and all blocks of the other. */
    begin(&x, &p, 200);
    add(&x, 64, 1, 3);
    step(&x);
    q = add(&x, 80, 1, 3);
    assert_string_equal(step(&x), "1:16");
    finish(&x);
}

static void test_speculation(void **state)
{
    (void)state;
    struct bench x;
    struct policy p = vllm(8192);
    p.num_speculative_tokens = p.look_ahead = 3;
    begin(&x, &p, 100);
    struct sched_seq *q = add(&x, 32, 20, 0);
    assert_string_equal(step(&x), "0:32");
    assert_int_equal(q->group[0].n, 3); /* 32 + 3 slots */
    assert_string_equal(form(&x), "0:4"); /* the newest token and three drafts */
    assert_int_equal(x.b.e[0].n_draft, 3);
    x.b.e[0].n_new = 2; /* one of them accepted */
    scheduler_apply(&x.s, &x.b);
    assert_int_equal(q->n_known, 35);
    assert_int_equal(q->n_computed, 34);
    finish(&x);
}

/* llama-server: a token of each slot that generates, then prompts slot by slot until n_batch is full; who finds no slot waits. */
static void test_slots(void **state)
{
    (void)state;
    struct bench x;
    struct policy p;
    struct error err;
    assert_ok(policy_init(&p, "llama-server", &(struct policy_device){ .memory_bytes = 24e9, .is_gpu = true }, &err), err);
    p.max_num_seqs = 2;
    p.max_num_batched_tokens = 100;
    p.max_model_len = 4096;
    begin(&x, &p, 400);
    add(&x, 130, 3, 1);
    add(&x, 90, 4, 2);
    add(&x, 160, 1, 1);
    assert_string_equal(step(&x), "0:100");
    assert_string_equal(step(&x), "0:30 1:70");
    assert_string_equal(step(&x), "0:1 1:20");
    assert_string_equal(step(&x), "0:1 1:1"); /* the first ends: its slot holds 132 tokens */
    assert_string_equal(step(&x), "1:1 2:32"); /* 128 of them are a prefix in whole identities */
    finish(&x);
    /* More than the cache holds: none is preempted, all fail. */
    begin(&x, &p, 200);
    add(&x, 120, 30, 0);
    add(&x, 70, 30, 0);
    assert_string_equal(step(&x), "0:100");
    assert_string_equal(step(&x), "0:20 1:70");
    for (int i = 0; i < 5; i++)
        assert_string_equal(step(&x), "0:1 1:1");
    assert_string_equal(form(&x), "0:0 1:0");
    assert_true(x.b.e[0].failed && x.b.e[1].failed);
    finish(&x);
}

/* A client that goes away: while its request waits, between steps, in a step that runs, after a preemption, while its blocks are loaded. */
static void test_abort(void **state)
{
    (void)state;
    struct bench x;
    struct policy p = vllm(8192);
    p.max_num_seqs = 2;
    begin(&x, &p, 300);
    add(&x, 1600, 1000, 0);
    add(&x, 1600, 1000, 0);
    add(&x, 160, 1000, 0);
    assert_string_equal(step(&x), "0:1600 1:1600");
    scheduler_abort(&x.s, x.seq[2]); /* waits */
    assert_int_equal(x.seq[2]->state, SEQ_DONE);
    assert_true(x.s.n_waiting == 0);
    scheduler_drop(x.seq[2]);
    assert_string_equal(form(&x), "0:1 1:1");
    const uint32_t used = scheduler_used_blocks(&x.s);
    scheduler_abort(&x.s, x.seq[1]); /* in a step that runs: its blocks are free for the next one */
    assert_true(x.s.n_running == 1 && scheduler_used_blocks(&x.s) < used);
    assert_null(scheduler_broken(&x.s));
    scheduler_abort(&x.s, x.seq[1]); /* twice: nothing */
    add(&x, 3000, 10, 0); /* 188 blocks, with 101 in use */
    scheduler_apply(&x.s, &x.b);
    assert_true(x.seq[1]->n_flight == 0 && x.seq[0]->n_known == 1602);
    scheduler_drop(x.seq[1]);
    x.b.n = 0;
    assert_string_equal(step(&x), "0:1 3:3000");
    scheduler_abort(&x.s, x.seq[0]);
    scheduler_drop(x.seq[0]);
    scheduler_abort(&x.s, x.seq[3]);
    scheduler_drop(x.seq[3]);
    assert_true(scheduler_idle(&x.s) && scheduler_used_blocks(&x.s) == 0);
    assert_string_equal(step(&x), "");
    finish(&x);

    p.max_num_seqs = 64;
    begin(&x, &p, 300);
    add(&x, 2000, 2000, 0);
    add(&x, 2000, 2000, 0);
    while (x.s.n_preempt == 0)
        (void)step(&x);
    assert_int_equal(x.seq[1]->state, SEQ_PREEMPTED);
    scheduler_abort(&x.s, x.seq[1]);
    scheduler_drop(x.seq[1]);
    assert_string_equal(step(&x), "0:1");
    assert_true(x.s.n_waiting == 0);
    finish(&x);

    begin(&x, &p, 300);
    struct sched_seq *q = add(&x, 2000, 10, 0);
    scheduler_set_remote(q, 1999);
    assert_string_equal(step(&x), "");
    assert_int_equal(q->state, SEQ_LOADING);
    scheduler_abort(&x.s, q);
    scheduler_drop(q);
    assert_true(scheduler_idle(&x.s) && scheduler_used_blocks(&x.s) == 0);
    finish(&x);
}

/* Slots keep what they computed of a request that was given up. */
static void test_abort_of_slots(void **state)
{
    (void)state;
    struct bench x;
    struct policy p;
    struct error err;
    assert_ok(policy_init(&p, "llama-server", &(struct policy_device){ .memory_bytes = 80e9, .is_gpu = true }, &err), err);
    p.max_num_seqs = 1;
    p.max_model_len = 1 << 20;
    begin(&x, &p, 10000);
    add(&x, 3200, 10, 7);
    add(&x, 3200, 10, 7);
    add(&x, 3200, 10, 7);
    assert_string_equal(form(&x), "0:2048");
    scheduler_abort(&x.s, x.seq[1]); /* waits */
    scheduler_drop(x.seq[1]);
    scheduler_abort(&x.s, x.seq[0]);
    assert_true(x.seq[0]->state == SEQ_DONE && x.seq[0]->n_flight == 1 && x.s.n_running == 0);
    scheduler_apply(&x.s, &x.b);
    scheduler_drop(x.seq[0]);
    x.b.n = 0;
    assert_string_equal(step(&x), "2:1152"); /* 2048 are there */
    assert_int_equal(x.seq[2]->n_hit, 2048);
    scheduler_abort(&x.s, x.seq[2]);
    scheduler_drop(x.seq[2]);
    assert_true(scheduler_idle(&x.s));
    finish(&x);
}

static void test_refuses(void **state)
{
    (void)state;
    struct error err;
    struct policy p = vllm(2048);
    assert_fails(scheduler_check(&p, 100, 1600, 2, &err), err, "takes 101 KV blocks of 16 positions: there are 100");
    assert_fails(scheduler_check(&p, 100, 1 << 20, 1, &err), err, "max-model-len is 1048576");
    p.max_num_seqs = 4096;
    assert_fails(policy_check(&p, &err), err, "expected at least max-num-seqs, 4096");
    assert_fails(policy_init(&p, "vlm", &(struct policy_device){ 0 }, &err), err, "did you mean");
}

/* ---- properties ------------------------------------------------------------------------------------------------ */

static uint32_t pick(struct rng *g, uint32_t lo, uint32_t hi)
{
    return lo + (uint32_t)(rng_u64(g) % (hi - lo + 1));
}

/* Every request ends once with its tokens, no block is lost, whatever the policy and the order. */
static void property(uint64_t seed)
{
    struct rng g;
    struct bench x;
    rng_init(&g, seed);
    struct policy p = vllm(pick(&g, 64, 200));
    p.max_num_seqs = pick(&g, 1, 16);
    p.max_model_len = 400;
    p.async_scheduling = pick(&g, 0, 1);
    p.priority = pick(&g, 0, 1);
    p.enable_prefix_caching = pick(&g, 0, 1);
    p.num_speculative_tokens = pick(&g, 0, 1) ? pick(&g, 0, 4) : 0;
    p.look_ahead = pick(&g, 0, p.num_speculative_tokens);
    p.n_group = pick(&g, 1, 3);
    for (uint32_t i = 1; i < p.n_group; i++)
        p.window[i] = pick(&g, 1, 100);
    const uint32_t n = pick(&g, 1, 30);
    uint32_t known[64] = { 0 }, ended = 0, n_flight = 0;
    begin(&x, &p, (uint32_t)scheduler_blocks_of(&p, 330) + pick(&g, 0, 60));
    struct batch flight[2] = { { 0 }, { 0 } };
    for (uint32_t added = 0, idle = 0; ended < n && idle < 10000; idle++) {
        struct error err;
        for (uint32_t k = pick(&g, 0, 2); k > 0 && added < n; k--, added++) {
            add(&x, pick(&g, 1, 200), pick(&g, 1, 100), pick(&g, 0, 3))->priority = (int32_t)pick(&g, 0, 2);
            known[added] = 0;
        }
        assert_ok(scheduler_form(&x.s, &flight[n_flight], &err), err);
        const char *broken = scheduler_broken(&x.s);
        if (broken)
            fail_msg("case %llu: %s", (unsigned long long)seed, broken);
        assert_true(flight[n_flight].n_tok <= p.max_num_batched_tokens && x.s.n_running <= p.max_num_seqs);
        n_flight += flight[n_flight].n > 0;
        if (n_flight == 0 || (n_flight < 2 && p.async_scheduling && pick(&g, 0, 3) > 0))
            continue;
        idle = 0;
        struct batch *b = &flight[0];
        for (size_t i = 0; i < b->n; i++) {
            struct batch_entry *e = &b->e[i];
            const uint32_t left = x.w.r[e->seq->request].n_out - known[e->seq->request];
            e->n_new = e->samples && e->seq->state != SEQ_DONE ? 1 + pick(&g, 0, e->n_draft) : 0;
            e->n_new = e->n_new < left ? e->n_new : left;
            known[e->seq->request] += e->n_new;
            e->stop = e->n_new == left;
        }
        scheduler_apply(&x.s, b);
        for (size_t i = 0; i < b->n; i++)
            if (b->e[i].seq->state == SEQ_DONE && b->e[i].n_new > 0) {
                assert_int_equal(known[b->e[i].seq->request], x.w.r[b->e[i].seq->request].n_out);
                ended++;
            }
        for (size_t i = 0; i < b->n; i++)
            if (b->e[i].seq->state == SEQ_DONE && b->e[i].seq->n_flight == 0)
                scheduler_drop(b->e[i].seq);
        b->n = 0;
        const struct batch spare = flight[0];
        flight[0] = flight[1];
        flight[1] = spare;
        n_flight--;
    }
    if (ended != n)
        fail_msg("case %llu: %u of %u requests ended", (unsigned long long)seed, ended, n);
    if (p.async_scheduling)
        scheduler_forget(&flight[0]);
    assert_int_equal(scheduler_used_blocks(&x.s), 0);
    batch_free(&flight[0]);
    batch_free(&flight[1]);
    finish(&x);
}

static void test_properties(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++)
        property(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunks_and_decode), cmocka_unit_test(test_preemption_by_recompute), cmocka_unit_test(test_admission_gate),
        cmocka_unit_test(test_prefix_cache),         cmocka_unit_test(test_eviction_order),          cmocka_unit_test(test_async),
        cmocka_unit_test(test_priority),             cmocka_unit_test(test_windows),                 cmocka_unit_test(test_speculation),
        cmocka_unit_test(test_slots),                cmocka_unit_test(test_abort), cmocka_unit_test(test_abort_of_slots), cmocka_unit_test(test_refuses),              cmocka_unit_test(test_properties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
