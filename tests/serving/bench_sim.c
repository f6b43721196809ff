/*
 * bench_sim [ROOFCAST]: what the simulator takes, against its limits; `make bench-sim` runs it. Simulated requests a second of CPU time on one
 * core, by jumps and step by step. With the path of the program also whole commands: a trace from a file, draws of the constants, a search
 * over deployments.
 */
#include "../test.h"
#include "serving/draw.h"
#include "serving/simulate.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Requests a second without and with the prefix cache, at 250 output tokens; least part of the former at more of them. */
static const double plain_limit = 3e6, prefix_limit = 0.7e6, length_limit = 0.8;
/* Whole commands. */
static const double trace_limit_s = 2, trace_limit_mb = 150, draws_limit_s = 1, search_limit_s = 30;

static const char *verdict(bool within)
{
    return within ? "ok" : "MISS";
}

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

/* The least of both kinds of scheduling, by jumps. limit 0: none. */
static double row(size_t n, double in, double out, double rate, bool shared, double limit)
{
    struct policy p;
    struct step_price x;
    struct error err;
    struct serve_result r;
    double least = INFINITY;
    if (policy_init(&p, "vllm-0.27", &(struct policy_device){ .memory_bytes = 80e9, .is_gpu = true }, &err) != 0)
        exit(1);
    p.max_num_seqs = 256;
    policy_set_model_len(&p, 131072);
    price(&x, &p);
    struct serve_workload w = workload(n, in, out, rate, shared);
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
        printf("%6.0f %6.0f %6.1f  %-5s %-6s %6.1f %4.0f %%  %10.0f %10.0f", in, out, rate, async ? "async" : "sync", shared ? "prefix" : "-", running,
               100 * hit, steps, jumps);
        if (limit > 0)
            printf(" %10.0f  %s", limit, verdict(jumps >= limit));
        printf("\n");
        serve_result_free(&r);
        least = fmin(least, jumps);
    }
    serve_workload_free(&w);
    step_price_free(&x);
    return least;
}

/* ---- whole commands ------------------------------------------------------------------------------------------------------ */

struct used {
    double wall_s, cpu_s, mb; /* mb: largest resident size */
};

static double wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs the program without its output; ends this one where it fails. */
static struct used run(const char *program, const char *const *args)
{
    const char *argv[40] = { program };
    for (size_t i = 0; args[i] && i + 2 < ARRAY_LEN(argv); i++)
        argv[i + 1] = args[i];
    const double start_s = wall_s();
    const pid_t pid = fork();
    if (pid == 0) {
        const int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        execv(program, (char *const *)argv);
        _exit(127);
    }
    struct rusage u;
    int status;
    if (pid < 0 || wait4(pid, &status, 0, &u) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "bench_sim: failed: %s %s ...\n", program, args[0]);
        exit(1);
    }
    return (struct used){ wall_s() - start_s,
                          (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec),
                          (double)u.ru_maxrss * 1024 / 1e6 };
}

static void write_trace(const char *path, size_t n)
{
    FILE *f = fopen(path, "w");
    double s = 0;
    if (!f)
        exit(1);
    fprintf(f, "arrival_s,in,out\n");
    for (size_t i = 0; i < n; i++) {
        s += draw_exponential(2, DRAW_GAP, i) / 10;
        fprintf(f, "%.6f,%d,%d\n", s, 200 + (int)(1600 * draw_uniform(2, DRAW_IN, i)), 50 + (int)(400 * draw_uniform(2, DRAW_OUT, i)));
    }
    if (fclose(f) != 0)
        exit(1);
}

static void trace(const char *program)
{
    char path[] = "/tmp/roofcast-bench-sim-XXXXXX";
    const int fd = mkstemp(path);
    if (fd < 0)
        exit(1);
    close(fd);
    write_trace(path, 1000000);
    char workload[64];
    snprintf(workload, sizeof workload, "plain:%s", path);
    const char *args[] = { "simulate", "llama-3.1-8b", "-q", "BF16", "--hw", "h100-sxm", "--draws", "0", "--workload", workload, NULL, NULL };
    const struct used u = run(program, args);
    args[10] = "--step-by-step";
    const struct used steps = run(program, args);
    unlink(path);
    printf("a trace of 1,000,000 requests from a file:         %6.2f s, at most %4.1f  %-4s  %4.0f MB, at most %.0f  %-4s  step by step %.1f s\n", u.wall_s,
           trace_limit_s, verdict(u.wall_s <= trace_limit_s), u.mb, trace_limit_mb, verdict(u.mb <= trace_limit_mb), steps.wall_s);
}

static void draws(const char *program)
{
    const char *args[] = { "simulate", "llama-3.1-8b", "-q", "BF16", "--hw", "h100-sxm", "--rate", "10", "--requests", "10000", "--draws", "64", NULL };
    const struct used u = run(program, args);
    printf("64 draws of a run of 10,000 requests:              %6.2f s, at most %4.1f  %-4s  CPU %.2f s\n", u.wall_s, draws_limit_s,
           verdict(u.wall_s <= draws_limit_s), u.cpu_s);
}

/* 25 machines x 4 types x 5 degrees of tensor parallelism x 4 x 5 settings of the server. */
static void search(const char *program)
{
    const char *args[] = { "capacity", "llama-3.1-8b", "--types", "BF16,FP8,AWQ,INT8", "--hw",
                           "h100-sxm,h200-sxm,a100-sxm-80gb,l40s,rtx-4090,b200-sxm,h100-pcie,rtx-5090,rtx-3090,a10,l4,a40,rtx-a6000,a100-pcie-80gb,"
                           "b300-sxm,h20,rtx-6000-ada,mi300x,mi325x,mi355x,gh200-144gb,h100-nvl,h200-nvl,l40,a30",
                           "--tps", "1,2,4,8,16", "--seqs", "64,128,256,512", "--budgets", "1024,2048,4096,8192,16384", "--workload",
                           "random:in=512,out=128", "--requests", "300", "--slo", "p99:ttft=1s,itl=50ms", "-o", "csv", NULL };
    const struct used u = run(program, args);
    printf("the best of 10,000 deployments, on all CPUs:       %6.2f s, at most %4.1f  %-4s  CPU %.2f s\n", u.wall_s, search_limit_s,
           verdict(u.wall_s <= search_limit_s), u.cpu_s);
}

int main(int argc, char **argv)
{
    printf("tokens in, out; requests/s; scheduling; prefix cache; sequences running; hit rate; simulated requests a second step by step, by jumps, "
           "at least\n");
    const double plain = row(1000000, 1024, 250, 10, false, plain_limit);
    const double longer = row(1000000, 1024, 1000, 4, false, 0), longest = row(500000, 1024, 4000, 0.5, false, 0);
    row(300000, 1024, 1000, 10, false, 0);
    row(500000, 1024, 250, 10, true, prefix_limit);
    printf("by jumps at 1,000 and 4,000 output tokens, of those at 250: %.2f, %.2f, at least %.1f  %s\n", longer / plain, longest / plain, length_limit,
           verdict(fmin(longer, longest) >= length_limit * plain));
    if (argc < 2)
        return 0;
    trace(argv[1]);
    draws(argv[1]);
    search(argv[1]);
    return 0;
}
