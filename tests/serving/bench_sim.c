/* `make bench-sim`: requests a second of the simulator on one core, by jumps and step by step. */
#include "../test.h"
#include "serving/draw.h"
#include "serving/simulate.h"
#include <time.h>

/* About Llama-3.1-8B in BF16 on an H100. */
static void price(struct step_price *x, const struct policy *p)
{
    struct error err;
    if (step_price_alloc(x, p, &err) != 0)
        exit(1);
    for (uint32_t i = 0; i <= x->max_decode; i++) {
        x->decode_ps[i] = UINT64_C(6000000000) + UINT64_C(8000000) * i;
        x->context_ps[i] = 43000;
    }
    for (uint32_t i = 0; i <= x->max_tok; i++)
        x->mixed_ps[i] = UINT64_C(7000000000) + UINT64_C(25000000) * i;
    x->pair_ps_2_16[0] = 1000 << 16;
}

static struct serve_workload workload(size_t n, double in, double out, double rate, bool shared)
{
    struct serve_workload w = { .run_tokens = 16 };
    size_t cap = 0, run_cap = 0;
    double s = 0;
    for (size_t i = 0; i < n; i++) {
        s += draw_exponential(1, DRAW_GAP, i) / rate;
        struct serve_request r = { .parent = SERVE_NO_PARENT, .after_ps = (uint64_t)(s * PS_PER_S) };
        r.n_in = 1 + (uint32_t)(in * exp(0.5 * draw_normal(1, DRAW_IN, i) - 0.125));
        r.n_out = 1 + (uint32_t)(out * draw_exponential(1, DRAW_OUT, i));
        if (shared) {
            r.run0 = (uint32_t)w.n_run;
            r.n_run = 2;
            serve_workload_add_run(&w, &run_cap, &(struct token_run){ 100 * (i % 64), 16 });
            serve_workload_add_run(&w, &run_cap, &(struct token_run){ (i + 1) << 20, r.n_in / 16 > 16 ? r.n_in / 16 - 16 : 1 });
        }
        serve_workload_add(&w, &cap, &r);
    }
    struct error err;
    if (serve_workload_finish(&w, "bench", NULL, &err) != 0)
        exit(1);
    return w;
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double rate_of(const struct serve_workload *w, struct serve_options *o, struct serve_result *r)
{
    struct error err;
    const double start_s = cpu_s();
    if (serve_simulate(r, w, o, &err) != 0) {
        fprintf(stderr, "bench_sim: %s\n", err.msg);
        exit(1);
    }
    return (double)w->n / (cpu_s() - start_s);
}

static void row(size_t n, double in, double out, double rate, bool shared)
{
    struct policy p;
    struct step_price x;
    struct error err;
    struct serve_result r;
    if (policy_init(&p, "vllm-0.27", &(struct policy_device){ .memory_bytes = 80e9, .is_gpu = true }, &err) != 0)
        exit(1);
    p.max_num_seqs = 256;
    p.async_scheduling = false;
    policy_set_model_len(&p, 131072);
    price(&x, &p);
    const struct serve_workload w = workload(n, in, out, rate, shared);
    for (int async = 0; async < 2; async++) {
        p.async_scheduling = async;
        struct serve_options o = { .policy = &p, .price = &x, .n_block = 28648 };
        const double jumps = rate_of(&w, &o, &r);
        const double running = (double)r.t.running_ps / (double)r.t.busy_ps, hit = (double)r.t.n_hit_tok / (double)(r.t.n_query_tok + 1);
        serve_result_free(&r);
        o.flags = SERVE_STEP_BY_STEP;
        struct serve_workload part = w;
        part.n = n / 20;
        const double steps = rate_of(&part, &o, &r);
        printf("%6.0f %6.0f %6.1f  %-5s %-6s %6.1f %4.0f %%  %10.0f %10.0f\n", in, out, rate, async ? "async" : "sync", shared ? "prefix" : "-", running,
               100 * hit, jumps, steps);
        serve_result_free(&r);
    }
    serve_workload_free((struct serve_workload *)&w);
    step_price_free(&x);
}

int main(void)
{
    printf("tokens in, out; requests/s; scheduling; prefix cache; sequences running; hit rate; simulated requests/s by jumps, step by step\n");
    row(1000000, 1024, 250, 10, false);
    row(1000000, 1024, 1000, 4, false);
    row(500000, 1024, 4000, 0.5, false);
    row(300000, 1024, 1000, 10, false);
    row(500000, 1024, 250, 10, true);
    return 0;
}
