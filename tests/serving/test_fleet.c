/* Several replicas, prompts apart from decoding, KV blocks in host memory: against times worked out by hand, and their properties. */
#include "../test.h"
#include "serving/scheduler.h"
#include "serving/simulate.h"

/* A step takes 1,000 ps, a prompt's token 10 more, a position read 1. */
static void prices(struct step_price *x, const struct policy *p)
{
    struct error err;
    assert_ok(step_price_alloc(x, p, &err), err);
    for (uint32_t i = 0; i <= x->max_decode; i++) {
        x->decode_ps[i] = 1000;
        x->context_ps[i] = 1;
    }
    for (uint32_t i = 0; i <= x->max_tok; i++)
        x->mixed_ps[i] = 1000 + 10 * i;
}

struct fleet {
    struct policy p;
    struct step_price price;
    struct serve_workload w;
    size_t cap, run_cap;
    struct serve_options o;
    struct serve_result r;
};

static void begin(struct fleet *f)
{
    struct error err;
    *f = (struct fleet){ .w = { .run_tokens = 16 } };
    assert_ok(policy_init(&f->p, "vllm-0.27", &(struct policy_device){ .memory_bytes = 80e9, .is_gpu = true }, &err), err);
    f->p.max_model_len = 100000;
    f->p.async_scheduling = false;
    f->o = (struct serve_options){ .policy = &f->p, .price = &f->price, .n_block = 1000 };
}

static void add(struct fleet *f, uint64_t ps, uint32_t n_in, uint32_t n_out, uint64_t identity)
{
    struct serve_request r = { .after_ps = ps, .parent = SERVE_NO_PARENT, .n_in = n_in, .n_out = n_out, .run0 = (uint32_t)f->w.n_run };
    if (identity > 0 && n_in >= 16) {
        assert_true(serve_workload_add_run(&f->w, &f->run_cap, &(struct token_run){ identity << 32, n_in / 16 }));
        r.n_run = 1;
    }
    assert_true(serve_workload_add(&f->w, &f->cap, &r));
}

static void run(struct fleet *f)
{
    struct error err;
    prices(&f->price, &f->p);
    assert_ok(serve_workload_finish(&f->w, "fleet", NULL, &err), err);
    assert_ok(serve_simulate(&f->r, &f->w, &f->o, &err), err);
}

static void finish(struct fleet *f)
{
    serve_result_free(&f->r);
    serve_workload_free(&f->w);
    step_price_free(&f->price);
}

static void test_replicas_halve_the_batch(void **state)
{
    (void)state;
    struct fleet f;
    for (uint32_t n = 1; n <= 2; n++) {
        begin(&f);
        f.o.n_replica = n;
        f.p.max_num_seqs = 1;
        add(&f, 0, 100, 1, 0);
        add(&f, 0, 100, 1, 0);
        run(&f);
        assert_int_equal(f.r.out[0].end_ps, 2000);
        assert_int_equal(f.r.out[1].end_ps, n == 1 ? 4000 : 2000);
        finish(&f);
    }
}

/* Round-robin sends the third request behind the first; the least active replica is the one whose short request has ended. */
static void test_routes(void **state)
{
    (void)state;
    struct fleet f;
    const enum serve_route routes[] = { ROUTE_ROUND_ROBIN, ROUTE_LEAST_ACTIVE };
    for (int i = 0; i < 2; i++) {
        begin(&f);
        f.o.n_replica = 2;
        f.o.routing = routes[i];
        f.p.max_num_seqs = 1;
        add(&f, 0, 100, 50, 0);
        add(&f, 0, 100, 1, 0);
        add(&f, 10000, 100, 1, 0);
        run(&f);
        assert_int_equal(f.r.out[2].start_ps == 10000, i == 1);
        finish(&f);
    }
    begin(&f);
    f.o.n_replica = 2;
    f.o.routing = ROUTE_PREFIX;
    add(&f, 0, 160, 1, 1);
    add(&f, 0, 160, 1, 2);
    add(&f, 100000, 160, 1, 2);
    add(&f, 100000, 160, 1, 1);
    run(&f);
    assert_int_equal(f.r.out[2].n_hit, 144);
    assert_int_equal(f.r.out[3].n_hit, 144);
    finish(&f);
}

/* 200 tokens in one replica (1,000 + 2,000 ps), their keys over a link, the last token again in the other one (1,000 + 200 ps). */
static void test_prompts_apart(void **state)
{
    (void)state;
    struct fleet f;
    for (int layers = 0; layers < 2; layers++) {
        begin(&f);
        f.o.n_replica = 2;
        f.o.n_prefill = 1;
        f.o.kv_token_bytes = 100;
        f.o.load_bytes_s = 199 * 100 / 500e-12;
        f.o.load_latency_s = 7e-12;
        f.o.load_layers = layers ? 10 : 0;
        add(&f, 0, 200, 3, 0);
        run(&f);
        const uint64_t ready = 3000 + 7 + (layers ? 50 : 500);
        assert_int_equal(f.r.out[0].start_ps, 0);
        assert_int_equal(f.r.out[0].first_ps, ready + 1200);
        assert_int_equal(f.r.out[0].end_ps, ready + 1200 + 1201 + 1202);
        assert_int_equal(f.r.t.n_loaded_tok, 199);
        assert_int_equal(f.r.gap.n, 2);
        finish(&f);
    }
}

/* 20 blocks on the device: the second prompt evicts all but the first block of the first, which come back from host memory in place of
 * being computed: 240 positions of a byte in 281 ps. */
static void test_host_memory(void **state)
{
    (void)state;
    struct fleet f;
    for (int host = 0; host < 2; host++) {
        begin(&f);
        f.o.n_block = 20;
        f.p.n_host_block = host ? 100 : 0;
        f.o.kv_token_bytes = 1;
        f.o.load_bytes_s = 256 / 300e-12;
        add(&f, 0, 272, 1, 1);
        add(&f, 10000, 304, 1, 2);
        add(&f, 20000, 272, 1, 1);
        run(&f);
        assert_int_equal(f.r.t.n_loaded_tok, host ? 240 : 0);
        assert_int_equal(f.r.out[2].end_ps, host ? 20000 + 281 + 1000 + 160 : 20000 + 1000 + 2560);
        finish(&f);
    }
}

/* ---- properties ------------------------------------------------------------------------------------------------ */

static uint32_t pick(struct rng *g, uint32_t lo, uint32_t hi)
{
    return lo + (uint32_t)(rng_u64(g) % (hi - lo + 1));
}

/* Everybody is served, whatever the fleet: blocks that are reserved for loads do not lock it. */
static void fleet(uint64_t seed)
{
    struct rng g;
    struct fleet f;
    uint64_t ps = 0;
    rng_init(&g, seed);
    begin(&f);
    f.p.max_num_seqs = pick(&g, 1, 8);
    f.p.max_num_batched_tokens = f.p.max_num_seqs + pick(&g, 0, 100);
    f.p.async_scheduling = pick(&g, 0, 1);
    f.p.priority = pick(&g, 0, 1);
    f.p.n_host_block = pick(&g, 0, 1) ? pick(&g, 1, 60) : 0;
    f.o.n_replica = pick(&g, 1, 4);
    f.o.n_prefill = pick(&g, 0, 1) ? pick(&g, 0, f.o.n_replica - 1) : 0;
    f.o.routing = (enum serve_route)pick(&g, 0, 2);
    f.o.n_block = 24 + pick(&g, 0, 20);
    f.o.kv_token_bytes = 1;
    f.o.load_bytes_s = 1e10 * pick(&g, 1, 1000);
    const uint32_t n = pick(&g, 1, 40);
    for (uint32_t i = 0; i < n; i++) {
        add(&f, ps += pick(&g, 0, 3000), pick(&g, 1, 240), pick(&g, 1, 120), pick(&g, 0, 3));
        f.w.r[i].priority = (int32_t)pick(&g, 0, 2);
        f.w.r[i].end = pick(&g, 0, 1) ? SERVE_END_STOP : SERVE_END_LENGTH;
    }
    run(&f);
    uint64_t n_out = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct serve_outcome *o = &f.r.out[i];
        if (o->first_ps == SERVE_NOT_YET || o->end_ps < o->first_ps || o->first_ps <= o->start_ps || o->start_ps < o->sent_ps || o->failed)
            fail_msg("case %llu: request %u is not served", (unsigned long long)seed, i);
        n_out += f.w.r[i].n_out - 1;
    }
    assert_int_equal(f.r.gap.n, n_out);
    finish(&f);
}

static void test_everybody_is_served(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3000; seed++)
        fleet(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replicas_halve_the_batch), cmocka_unit_test(test_routes),     cmocka_unit_test(test_prompts_apart),
        cmocka_unit_test(test_host_memory),              cmocka_unit_test(test_everybody_is_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
