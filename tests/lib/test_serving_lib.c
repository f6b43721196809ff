/* The boundary of the simulator: workloads, servers, simulations, capacity; options of older and newer callers; errors. */
#include "tests/lib/handles.h"
#include <math.h>
#include <pthread.h>

/* What most tests simulate on; made once. */
static struct roofcast_model *m;
static struct roofcast_machine *h;
static struct roofcast_software *software;

static int set_up(void **state)
{
    if (use_tree(state) != 0)
        return -1;
    m = model("llama-3.1-8b", "BF16");
    h = machine("h100-sxm");
    must(software = roofcast_software_load("vllm", 0, &err));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    roofcast_software_free(software);
    roofcast_machine_free(h);
    roofcast_model_free(m);
    return 0;
}

static struct roofcast_server_options server_options(void)
{
    struct roofcast_server_options o;
    roofcast_server_options_init(&o, sizeof o);
    o.software = software;
    return o;
}

static struct roofcast_simulate_options simulate_options(uint32_t n_draws)
{
    struct roofcast_simulate_options o;
    roofcast_simulate_options_init(&o, sizeof o);
    o.n_draws = n_draws;
    return o;
}

static struct roofcast_workload *workload(const char *text, double rate, uint64_t n)
{
    struct roofcast_workload_options o;
    struct roofcast_workload *w;
    roofcast_workload_options_init(&o, sizeof o);
    o.rate = rate;
    o.n_requests = n;
    must(w = roofcast_workload_load(text, &o, &err));
    return w;
}

static struct roofcast_simulation *simulate(const struct roofcast_workload *w, const struct roofcast_server_options *s,
                                            const struct roofcast_simulate_options *o)
{
    struct roofcast_simulation *x = roofcast_simulate(m, h, w, s, o, &err);
    must(x);
    return x;
}

static double value(const struct roofcast_simulation *s, const char *key)
{
    const struct roofcast_metric *x = roofcast_simulation_find(s, key);
    if (!x)
        fail_msg("no metric %s", key);
    return x->value;
}

/* The same requests at the same picoseconds. */
static void assert_same(const struct roofcast_simulation *a, const struct roofcast_simulation *b)
{
    assert_int_equal(roofcast_simulation_n_request(a), roofcast_simulation_n_request(b));
    for (size_t i = 0; i < roofcast_simulation_n_request(a); i++) {
        const struct roofcast_request *x = roofcast_simulation_request(a, i), *y = roofcast_simulation_request(b, i);
        assert_true(x->sent_s == y->sent_s && x->start_s == y->start_s && x->first_s == y->first_s && x->end_s == y->end_s);
    }
}

/* ---- workloads ---------------------------------------------------------------------------- */

static void test_workloads(void **state)
{
    const double at[] = { 0, 0.5, 2 };
    const uint32_t in[] = { 100, 200, 300 }, out[] = { 10, 1, 30 };
    struct roofcast_workload_options o;
    struct roofcast_workload *w;
    (void)state;
    must(w = roofcast_workload_new(at, in, out, 3, NULL, &err));
    const struct roofcast_workload_info *i = roofcast_workload_info(w);
    assert_int_equal(i->n_requests, 3);
    assert_int_equal(i->n_roots, 3);
    assert_int_equal(i->n_in_tok, 600);
    assert_int_equal(i->n_out_tok, 41);
    assert_int_equal(i->longest_tok, 330);
    assert_true(i->duration_s == 2 && i->rate == 1);
    assert_string_equal(i->note, "");
    roofcast_workload_free(w);

    roofcast_workload_options_init(&o, sizeof o);
    o.rate = 4;
    o.burstiness = INFINITY;
    must(w = roofcast_workload_new(NULL, in, out, 3, &o, &err));
    assert_true(roofcast_workload_info(w)->duration_s == 0.75);
    roofcast_workload_free(w);

    o.rate = NAN;
    o.ramp = 1;
    o.ramp_from = 4;
    o.ramp_to = 4;
    must(w = roofcast_workload_new(NULL, in, out, 3, &o, &err));
    assert_true(roofcast_workload_info(w)->duration_s == 0.75);
    roofcast_workload_free(w);

    must(w = roofcast_workload_load("random:in=1024,out=128", NULL, &err));
    assert_int_equal(roofcast_workload_info(w)->n_requests, 1000);
    assert_string_equal(roofcast_workload_info(w)->name, "random:in=1024,out=128");
    assert_true(isinf(roofcast_workload_info(w)->rate));
    roofcast_workload_free(w);
    w = workload("session:turns=4,in=100,new=10,out=10,think=1s", 1, 40);
    assert_int_equal(roofcast_workload_info(w)->n_roots, 10);
    roofcast_workload_free(w);
    roofcast_workload_free(NULL);
}

static void test_refused_workloads(void **state)
{
    double at[] = { 0, 2, 1 };
    const uint32_t ones[] = { 1, 1, 1 }, none[] = { 1, 0, 1 }, many[] = { 1, 1, UINT32_MAX };
    struct roofcast_workload_options o;
    (void)state;
    refuses(roofcast_workload_new(at, ones, ones, 3, NULL, &err), ROOFCAST_ERROR_INPUT, "request 3: arrives at 1.0");
    at[1] = NAN;
    refuses(roofcast_workload_new(at, ones, ones, 3, NULL, &err), ROOFCAST_ERROR_INPUT, "request 2 arrives at nan");
    at[1] = 1e300;
    refuses(roofcast_workload_new(at, ones, ones, 3, NULL, &err), ROOFCAST_ERROR_INPUT, "request 2 arrives at 1e+300");
    refuses(roofcast_workload_new(NULL, none, ones, 3, NULL, &err), ROOFCAST_ERROR_INPUT, "request 2: the prompt's length is 0");
    refuses(roofcast_workload_new(NULL, ones, many, 3, NULL, &err), ROOFCAST_ERROR_INPUT, "request 3: the output's length is 4294967295");
    refuses(roofcast_workload_new(NULL, ones, ones, 0, NULL, &err), ROOFCAST_ERROR_INPUT, "expected 1 to");
    refuses(roofcast_workload_new(NULL, ones, ones, SIZE_MAX, NULL, &err), ROOFCAST_ERROR_INPUT, "expected 1 to");
    refuses(roofcast_workload_new(NULL, ones, NULL, 3, NULL, &err), ROOFCAST_ERROR_USAGE, "n_out");
    refuses(roofcast_workload_load("randm:in=1", NULL, &err), ROOFCAST_ERROR_USAGE, "random:in=1024");
    refuses(roofcast_workload_load("random:inn=1", NULL, &err), ROOFCAST_ERROR_USAGE, "inn");
    refuses(roofcast_workload_load("random:in=1e99", NULL, &err), ROOFCAST_ERROR_USAGE, "1e99");
    assert_null(roofcast_workload_load("random:in=1e99", NULL, NULL));
    roofcast_workload_options_init(&o, sizeof o);
    o.rate = 1;
    refuses(roofcast_workload_new(at, ones, ones, 3, &o, &err), ROOFCAST_ERROR_USAGE, "found both");
    o.ramp = 1;
    refuses(roofcast_workload_load("random:in=1", &o, &err), ROOFCAST_ERROR_USAGE, "ramp");
    o.ramp = 0;
    o.rate = -1;
    refuses(roofcast_workload_load("random:in=1", &o, &err), ROOFCAST_ERROR_USAGE, "rate above 0");
    o.rate = NAN;
    o.duration_s = 10;
    refuses(roofcast_workload_load("random:in=1", &o, &err), ROOFCAST_ERROR_USAGE, "duration without a rate");
    o.n_requests = 3;
    refuses(roofcast_workload_load("random:in=1", &o, &err), ROOFCAST_ERROR_USAGE, "found both");
    o.duration_s = 0;
    o.n_requests = UINT64_MAX;
    refuses(roofcast_workload_load("random:in=1", &o, &err), ROOFCAST_ERROR_USAGE, "n_requests below");
    o.n_requests = 0;
    o.burstiness = 0;
    refuses(roofcast_workload_load("random:in=1", &o, &err), ROOFCAST_ERROR_USAGE, "burstiness");
    o.size = 0;
    refuses(roofcast_workload_load("random:in=1", &o, &err), ROOFCAST_ERROR_USAGE, "options_init");
}

/* ---- simulations -------------------------------------------------------------------------- */

static void test_simulation(void **state)
{
    struct roofcast_model *own_m = model("llama-3.1-8b", "BF16");
    struct roofcast_machine *own_h = machine("h100-sxm");
    struct roofcast_workload *w = workload("random:in=512,out=64", 8, 200);
    struct roofcast_simulate_options o = simulate_options(16);
    struct roofcast_simulation *s;
    (void)state;
    o.slo = "p99:ttft=10s,itl=1s";
    must(s = roofcast_simulate(own_m, own_h, w, NULL, &o, &err));
    roofcast_workload_free(w); /* a result needs nothing of what it was made of */
    roofcast_machine_free(own_h);
    roofcast_model_free(own_m);
    const struct roofcast_simulation_info *i = roofcast_simulation_info(s);
    assert_string_equal(i->policy, "vllm-0.27");
    assert_string_equal(i->stack, "vllm");
    assert_int_equal(i->verdict, ROOFCAST_STABLE);
    assert_string_equal(roofcast_verdict_name(i->verdict), "stable");
    assert_string_equal(roofcast_verdict_name(-1), "?");
    assert_true(i->slo_met == 1 && i->p_slo > 0.5 && i->p_slo <= 1 && i->p_saturated < 0.5);
    assert_int_equal(i->n_requests, 200);
    assert_int_equal(i->n_draws, 16);
    assert_int_equal(i->n_devices, 1);
    assert_true(i->n_blocks > 20000 && i->block_size == 16 && i->max_num_seqs == 1024 && i->jumps);
    const struct roofcast_metric *t = roofcast_simulation_find(s, "ttft_mean");
    assert_true(t->sampling_low < t->value && t->value < t->sampling_high && t->model_low < t->model_high);
    assert_string_equal(t->unit, "s");
    assert_string_equal(t->reason, "");
    assert_true(roofcast_simulation_find(s, "ttft_p99")->reason[0]); /* too few requests for its interval */
    assert_string_equal(roofcast_simulation_find(s, "output_throughput")->unit, "tokens/s");
    assert_null(roofcast_simulation_find(s, "ttft"));
    assert_null(roofcast_simulation_metric(s, roofcast_simulation_n_metric(s)));
    double sum = 0;
    for (size_t k = 0; k < roofcast_simulation_n_request(s); k++) {
        const struct roofcast_request *r = roofcast_simulation_request(s, k);
        assert_true(r->due_s <= r->sent_s && r->sent_s <= r->start_s && r->start_s < r->first_s && r->first_s < r->end_s && !r->failed);
        sum += r->first_s - r->sent_s;
    }
    assert_true(fabs(sum / 200 / t->value - 1) < 1e-9);
    assert_null(roofcast_simulation_request(s, 200));
    roofcast_simulation_free(s);
    roofcast_simulation_free(NULL);
}

struct heard {
    uint64_t n_steps, n_prompt, n_decode;
    double last_s;
};

static void hear(void *ctx, const struct roofcast_step *x)
{
    struct heard *a = ctx;
    a->n_steps += x->n_steps;
    a->n_prompt += x->n_steps * x->n_prompt;
    a->n_decode += x->n_steps * x->n_decode;
    assert_true(x->start_s < x->end_s && x->start_s >= a->last_s - 1e-9 && x->n_running > 0 && x->replica == 0);
    a->last_s = x->end_s;
}

static void test_steps(void **state)
{
    struct roofcast_workload *w = workload("random:in=500,out=50,range=0.5", 20, 100);
    const struct roofcast_workload_info *wi = roofcast_workload_info(w);
    struct roofcast_server_options server = server_options();
    struct roofcast_simulate_options o = simulate_options(0);
    struct heard jumps = { 0 }, steps = { 0 };
    (void)state;
    o.step = hear;
    o.step_ctx = &jumps;
    struct roofcast_simulation *a = simulate(w, &server, &o);
    o.step_by_step = 1;
    o.step_ctx = &steps;
    struct roofcast_simulation *b = simulate(w, &server, &o);
    assert_same(a, b);
    assert_true(roofcast_simulation_info(a)->jumps && !roofcast_simulation_info(b)->jumps);
    assert_true(jumps.n_steps == steps.n_steps && jumps.n_steps == roofcast_simulation_info(a)->n_steps);
    assert_true(jumps.n_prompt == wi->n_in_tok && jumps.n_decode == wi->n_out_tok - wi->n_requests);
    roofcast_simulation_free(b);
    roofcast_simulation_free(a);

    /* llama-server: a prompt is computed once, in steps with slots that generate and verify drafts. */
    struct heard slots = { 0 };
    server.policy = "llama-server";
    server.num_speculative_tokens = 2;
    o.step_ctx = &slots;
    a = simulate(w, &server, &o);
    assert_true(slots.n_prompt == wi->n_in_tok && slots.n_decode >= wi->n_out_tok - wi->n_requests && slots.n_decode % 3 == 0);
    roofcast_simulation_free(a);
    roofcast_workload_free(w);
}

static void test_servers(void **state)
{
    struct roofcast_workload *w = workload("random:in=400,out=100", NAN, 40);
    struct roofcast_server_options server = server_options();
    const struct roofcast_simulate_options o = simulate_options(0);
    const double accept[] = { 1, 0.5 };
    (void)state;
    struct roofcast_simulation *plain = simulate(w, &server, &o), *s;
    assert_int_equal(roofcast_simulation_info(plain)->verdict, ROOFCAST_BURST);
    server.software = NULL; /* loaded for the call: the same constants */
    s = simulate(w, &server, &o);
    assert_same(plain, s);
    roofcast_simulation_free(s);
    server.software = software;
    server.dp = 2;
    s = simulate(w, &server, &o);
    assert_true(roofcast_simulation_info(s)->n_replicas == 2 && roofcast_simulation_info(s)->n_devices == 2);
    assert_true(value(s, "duration") < value(plain, "duration"));
    roofcast_simulation_free(s);
    server.n_prefill = 1; /* one computes prompts, the other decodes */
    struct roofcast_simulation *fast = simulate(w, &server, &o);
    server.kv_load_bytes_s = 1e8;
    struct roofcast_simulation *slow = simulate(w, &server, &o);
    assert_true(value(fast, "ttft_mean") > value(plain, "ttft_mean") / 4 && value(slow, "duration") > 2 * value(fast, "duration"));
    roofcast_simulation_free(slow);
    roofcast_simulation_free(fast);
    server.n_prefill = 0;
    server.dp = 1;
    server.num_speculative_tokens = 2;
    server.acceptance = accept;
    server.n_acceptance = 2;
    s = simulate(w, &server, &o);
    assert_true(fabs(value(s, "acceptance_rate") - 0.75) < 0.05);
    roofcast_simulation_free(s);
    server.num_speculative_tokens = 0;
    server.max_num_seqs = 4;
    s = simulate(w, &server, &o);
    assert_true(value(s, "batch_max") == 4);
    assert_string_equal(roofcast_simulation_info(s)->limit, "max_num_seqs");
    roofcast_simulation_free(s);
    server.policy = "llama-server";
    server.software = NULL;
    s = simulate(w, &server, &o);
    assert_string_equal(roofcast_simulation_info(s)->policy, "llama-server");
    roofcast_simulation_free(s);
    server.policy = NULL;
    server.stack = "none"; /* no constants: nothing to draw */
    const struct roofcast_simulate_options draws = simulate_options(16);
    s = simulate(w, &server, &draws);
    assert_string_equal(roofcast_simulation_info(s)->stack, "");
    assert_true(isnan(roofcast_simulation_find(s, "ttft_mean")->model_low) && roofcast_simulation_info(s)->n_draws == 0);
    roofcast_simulation_free(s);
    roofcast_simulation_free(plain);
    roofcast_workload_free(w);
    assert_string_equal(roofcast_policy_name(0), "vllm-0.27");
    size_t n = 0;
    while (roofcast_policy_name(n))
        assert_true(roofcast_policy_help(n++)[0]);
    assert_null(roofcast_policy_help(n));
}

static void test_refused_servers(void **state)
{
    struct roofcast_workload *w = workload("random:in=400,out=100", NAN, 4);
    struct roofcast_server_options s = server_options();
    const double accept[] = { 0.5, 1.5 };
    (void)state;
#define refused(field, v, kind, text)                               \
    do {                                                            \
        s = server_options();                                       \
        s.field = v;                                                \
        refuses(roofcast_simulate(m, h, w, &s, NULL, &err), kind, text); \
    } while (0)
    refused(policy, "vlm-0.27", ROOFCAST_ERROR_USAGE, "unknown policy \"vlm-0.27\": did you mean vllm-0.27?");
    refused(stack, "vllm", ROOFCAST_ERROR_USAGE, "found both");
    refused(type_k, "Q9", ROOFCAST_ERROR_USAGE, "Q9");
    refused(tp, 0, ROOFCAST_ERROR_USAGE, "tp");
    refused(tp, 3, ROOFCAST_ERROR_USAGE, "does not divide 32 heads");
    refused(dp, 1025, ROOFCAST_ERROR_USAGE, "dp of 1 to 1024");
    refused(n_prefill, 1, ROOFCAST_ERROR_USAGE, "fewer prefill replicas than dp");
    refused(kv_offloading_bytes, -1, ROOFCAST_ERROR_USAGE, "kv_offloading_bytes");
    refused(kv_load_bytes_s, 0, ROOFCAST_ERROR_USAGE, "kv_load_bytes_s");
    refused(route, 3, ROOFCAST_ERROR_USAGE, "route");
    refused(max_num_seqs, UINT32_MAX, ROOFCAST_ERROR_USAGE, "max-num-seqs is 4294967295");
    refused(max_num_batched_tokens, UINT32_MAX, ROOFCAST_ERROR_USAGE, "max-num-batched-tokens is 4294967295");
    refused(block_size, UINT32_MAX, ROOFCAST_ERROR_USAGE, "block-size is 4294967295");
    refused(num_speculative_tokens, 17, ROOFCAST_ERROR_USAGE, "num-speculative-tokens is 17");
    refused(num_gpu_blocks_override, 1, ROOFCAST_ERROR_USAGE, "expected 2 to");
    refused(num_gpu_blocks_override, UINT32_MAX, ROOFCAST_ERROR_USAGE, "expected 2 to");
    refused(gpu_memory_utilization, 1.5, ROOFCAST_ERROR_USAGE, "gpu_memory_utilization");
    refused(gpu_memory_utilization, 0.01, ROOFCAST_ERROR_INPUT, "no memory for a KV cache");
    refused(watermark, -1, ROOFCAST_ERROR_USAGE, "watermark");
    refused(enable_prefix_caching, 2, ROOFCAST_ERROR_USAGE, "enable_prefix_caching");
    refused(acceptance_spread, NAN, ROOFCAST_ERROR_USAGE, "acceptance_spread");
    refused(n_acceptance, 1, ROOFCAST_ERROR_USAGE, "acceptance");
    refused(size, 4, ROOFCAST_ERROR_USAGE, "options_init");
    refused(size, offsetof(struct roofcast_server_options, stack) + 4, ROOFCAST_ERROR_USAGE, "options_init"); /* half a pointer */
    refused(size, SIZE_MAX - 7, ROOFCAST_ERROR_USAGE, "options_init");
    refused(block_size, 16; s.policy = "llama-server"; s.software = NULL, ROOFCAST_ERROR_USAGE, "block-size is 16: llama-server has no blocks");
    /* A request that can never run: the KV cache, the positions of a sequence. */
    refused(num_gpu_blocks_override, 20, ROOFCAST_ERROR_INPUT, "request 1: a request of 400 + 100 tokens takes 32 KV blocks of 16 positions: there are 19");
    refused(max_model_len, 450, ROOFCAST_ERROR_INPUT, "request 1: a request of 400 + 100 tokens: max-model-len is 450");
    s = server_options();
    s.acceptance = accept;
    s.n_acceptance = 2;
    refuses(roofcast_simulate(m, h, w, &s, NULL, &err), ROOFCAST_ERROR_USAGE, "probabilities");
    s.n_acceptance = SIZE_MAX;
    refuses(roofcast_simulate(m, h, w, &s, NULL, &err), ROOFCAST_ERROR_USAGE, "n_acceptance");
    assert_null(roofcast_simulate(m, h, w, &s, NULL, NULL));
    struct roofcast_machine *small = machine("rtx-4060");
    s = server_options();
    refuses(roofcast_simulate(m, small, w, &s, NULL, &err), ROOFCAST_ERROR_INPUT, "GB are missing");
    roofcast_machine_free(small);
    roofcast_workload_free(w);
}

static void test_refused_runs(void **state)
{
    const uint32_t in[] = { 4, 4 }, out[] = { 60000000, 60000000 };
    struct roofcast_workload *w = workload("random:in=400,out=100", NAN, 4), *timed = workload("random:in=400,out=100", 1, 4), *endless;
    struct roofcast_server_options s = server_options();
    struct roofcast_simulate_options o = simulate_options(0);
    (void)state;
    o.rate = 2;
    refuses(roofcast_simulate(m, h, w, &s, &o, &err), ROOFCAST_ERROR_USAGE, "all requests are due at once");
    o.rate = -2;
    refuses(roofcast_simulate(m, h, timed, &s, &o, &err), ROOFCAST_ERROR_USAGE, "a rate of -2");
    o.rate = 1e-9;
    refuses(roofcast_simulate(m, h, timed, &s, &o, &err), ROOFCAST_ERROR_USAGE, "expected at most 4.61e+06 s");
    o.rate = NAN;
    o.slo = "p99:ttft";
    refuses(roofcast_simulate(m, h, w, &s, &o, &err), ROOFCAST_ERROR_USAGE, "no '='");
    o.slo = NULL;
    o.n_draws = 1025;
    refuses(roofcast_simulate(m, h, w, &s, &o, &err), ROOFCAST_ERROR_USAGE, "n_draws");
    o.n_draws = 0;
    o.size = 7;
    refuses(roofcast_simulate(m, h, w, &s, &o, &err), ROOFCAST_ERROR_USAGE, "options_init");
    /* Longer than picoseconds can count. */
    must(endless = roofcast_workload_new(NULL, in, out, 2, NULL, &err));
    o = simulate_options(0);
    o.max_concurrency = 1;
    s.num_gpu_blocks_override = 1 << 23;
    s.max_model_len = 1 << 26;
    refuses(roofcast_simulate(m, h, endless, &s, &o, &err), ROOFCAST_ERROR_INPUT, "the simulation lasts longer than 9.22e+06 s");
    roofcast_workload_free(endless);
    roofcast_workload_free(timed);
    roofcast_workload_free(w);
}

/* What a program built against another version of the header passes. */
static void test_options_of_other_versions(void **state)
{
    struct roofcast_workload *w = workload("random:in=400,out=100", 4, 40);
    const size_t old_server = offsetof(struct roofcast_server_options, routing_zipf), old_run = offsetof(struct roofcast_simulate_options, slo);
    const struct roofcast_simulate_options o = simulate_options(0);
    struct roofcast_server_options s = server_options(), old;
    struct roofcast_simulate_options old_o;
    struct {
        struct roofcast_server_options o;
        uint64_t later;
    } newer = { .later = 7 };
    (void)state;
    struct roofcast_simulation *a = simulate(w, &s, &o), *b;
    memset(&old, 0xff, sizeof old); /* beyond an older struct is other memory of its program */
    roofcast_server_options_init(&old, old_server);
    assert_true(old.size == old_server && isnan(old.routing_zipf));
    old.software = software;
    memset(&old_o, 0xff, sizeof old_o);
    roofcast_simulate_options_init(&old_o, old_run);
    b = simulate(w, &old, &old_o);
    assert_same(a, b);
    assert_int_equal(roofcast_simulation_info(b)->n_draws, 32);
    roofcast_simulation_free(b);
    roofcast_server_options_init(&newer.o, sizeof newer);
    assert_int_equal(newer.later, 0);
    newer.o.software = software;
    b = simulate(w, &newer.o, &o);
    assert_same(a, b);
    roofcast_simulation_free(b);
    roofcast_simulation_free(a);
    roofcast_workload_free(w);
}

/* ---- threads ------------------------------------------------------------------------------ */

struct shared {
    const struct roofcast_workload *w;
    struct roofcast_simulation *s;
};

static void *simulate_in_thread(void *arg)
{
    struct shared *x = arg;
    const struct roofcast_server_options s = server_options();
    const struct roofcast_simulate_options o = simulate_options(12);
    x->s = roofcast_simulate(m, h, x->w, &s, &o, NULL);
    return NULL;
}

static void test_two_threads_at_once(void **state)
{
    struct roofcast_workload *w = workload("session:turns=3,in=400,new=50,out=60,think=1s,prefix=128", 4, 120);
    struct shared x[2] = { { w, NULL }, { w, NULL } };
    struct roofcast_server_options s = server_options();
    struct roofcast_simulate_options o = simulate_options(12);
    pthread_t t[2];
    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&t[i], NULL, simulate_in_thread, &x[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    assert_true(x[0].s && x[1].s);
    assert_same(x[0].s, x[1].s);
    o.n_threads = 0; /* threads of its own */
    struct roofcast_simulation *all = simulate(w, &s, &o);
    for (size_t i = 0; i < roofcast_simulation_n_metric(all); i++) {
        const struct roofcast_metric *a = roofcast_simulation_metric(all, i), *b = roofcast_simulation_metric(x[1].s, i);
        assert_true(memcmp(&a->model_low, &b->model_low, sizeof a->model_low) == 0 && memcmp(&a->value, &b->value, sizeof a->value) == 0);
    }
    roofcast_simulation_free(all);
    roofcast_simulation_free(x[0].s);
    roofcast_simulation_free(x[1].s);
    roofcast_workload_free(w);
}

/* ---- capacity ----------------------------------------------------------------------------- */

static void test_capacity(void **state)
{
    static const char *const slos[] = { "p99:ttft=200ms", "p99:itl=30ms", "95%:ttft=200ms,tpot=20ms", "mean:e2e=1s", "p99:ttft=1s,itl=50ms" };
    struct roofcast_workload *w = workload("random:in=512,out=64", 1, 400);
    struct roofcast_server_options s = server_options();
    struct roofcast_simulate_options o = simulate_options(0);
    struct roofcast_capacity_options co;
    struct roofcast_capacity *c;
    (void)state;
    roofcast_capacity_options_init(&co, sizeof co);
    co.n_draws = 0;
    for (size_t i = 0; i < ARRAY_LEN(slos); i++) {
        must(c = roofcast_capacity_find(m, h, w, slos[i], &s, &co, &err));
        assert_true(c->rate > 0 && c->rate <= c->saturation && isnan(c->rate_50) && c->n_devices == 1);
        o.slo = slos[i];
        o.rate = c->rate; /* holds there, and not far above */
        struct roofcast_simulation *at = simulate(w, &s, &o);
        o.rate = 1.5 * c->rate;
        struct roofcast_simulation *above = simulate(w, &s, &o);
        if (roofcast_simulation_info(at)->slo_met != 1 || roofcast_simulation_info(above)->slo_met != 0)
            fail_msg("%s: %g requests/s: %d, half as many more: %d", slos[i], c->rate, roofcast_simulation_info(at)->slo_met,
                     roofcast_simulation_info(above)->slo_met);
        assert_true(fabs(value(at, "tpot_mean") / c->tpot_mean_s - 1) < 1e-9);
        roofcast_simulation_free(above);
        roofcast_simulation_free(at);
        roofcast_capacity_free(c);
    }
    co.n_draws = 12;
    must(c = roofcast_capacity_find(m, h, w, "p99:ttft=1s", &s, &co, &err));
    assert_true(c->rate_90 < c->rate_50 && c->rate_50 < c->rate_10);
    roofcast_capacity_free(c);
    must(c = roofcast_capacity_find(m, h, w, "p99:ttft=1us", &s, &co, &err)); /* not even one request */
    assert_true(c->rate == 0 && isnan(c->out_tok_s));
    roofcast_capacity_free(c);
    roofcast_capacity_free(NULL);
    refuses(roofcast_capacity_find(m, h, w, NULL, &s, &co, &err), ROOFCAST_ERROR_USAGE, "expected an objective");
    refuses(roofcast_capacity_find(m, h, w, "ttft", &s, &co, &err), ROOFCAST_ERROR_USAGE, "no '='");
    co.precision = 0;
    refuses(roofcast_capacity_find(m, h, w, "p99:ttft=1s", &s, &co, &err), ROOFCAST_ERROR_USAGE, "precision");
    co.size = 1;
    refuses(roofcast_capacity_find(m, h, w, "p99:ttft=1s", &s, &co, &err), ROOFCAST_ERROR_USAGE, "options_init");
    roofcast_workload_free(w);
    w = workload("random:in=512,out=64", NAN, 10);
    refuses(roofcast_capacity_find(m, h, w, "p99:ttft=1s", &s, NULL, &err), ROOFCAST_ERROR_USAGE, "due at once");
    roofcast_workload_free(w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workloads),           cmocka_unit_test(test_refused_workloads),
        cmocka_unit_test(test_simulation),          cmocka_unit_test(test_steps),
        cmocka_unit_test(test_servers),             cmocka_unit_test(test_refused_servers),
        cmocka_unit_test(test_refused_runs),        cmocka_unit_test(test_options_of_other_versions),
        cmocka_unit_test(test_two_threads_at_once), cmocka_unit_test(test_capacity),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
