/* One benchmark of a model: a prefill test and a decode test on an engine of their own. */
#include "bench/bench.h"
#include "base/environment.h"
#include "lib/internal.h"
#include <stdlib.h>

struct roofcast_bench {
    struct run run; /* texts point into it */
    struct roofcast_bench_test *test; /* [run.n_row] */
};

void roofcast_bench_options_init(struct roofcast_bench_options *o, size_t size)
{
    const struct roofcast_bench_options defaults = { .size = sizeof defaults, .n_prompt = 512, .n_gen = 128, .n_batch = 1, .n_ubatch = 512,
                                                     .n_reps = 5 };
    lib_options_init(o, size, &defaults, sizeof defaults);
}

static int check(const struct roofcast_model *m, const struct roofcast_bench_options *a, struct roofcast_error *err)
{
    const uint64_t context = (uint64_t)a->n_depth + (a->n_prompt > a->n_gen ? a->n_prompt : a->n_gen);
    if (!m->m.gguf)
        return lib_error(err, ROOFCAST_ERROR_USAGE, "a model without weights: a benchmark needs a GGUF file");
    if ((a->n_prompt == 0 && a->n_gen == 0) || a->n_batch == 0 || a->n_ubatch == 0 || a->n_reps == 0 || a->n_reps > 10000 ||
        context > INT32_MAX || a->n_batch > 4096 || a->n_ubatch > 65536)
        return lib_error(err, ROOFCAST_ERROR_USAGE, "bench options: expected n_prompt or n_gen, and n_batch, n_ubatch and n_reps of at least 1");
    return 0;
}

static int run_tests(struct run *r, const struct bench *b, const struct roofcast_bench_options *a, struct error *err)
{
    struct bench_test t = { .depth = a->n_depth, .n_batch = a->n_batch, .n_ubatch = a->n_ubatch, .type_k = DTYPE_F16, .type_v = DTYPE_F16,
                            .reps = (int)a->n_reps };
    double median_s;
    t.prefill = true;
    t.n = a->n_prompt;
    if (t.n > 0 && bench_run(r, b, &t, 1, &median_s, err) != 0)
        return -1;
    t.prefill = false;
    t.n = a->n_gen;
    return t.n > 0 ? bench_run(r, b, &t, 1, &median_s, err) : 0;
}

/* What a bench of the program opens, and closes again. */
struct opened {
    struct setup machine;
    struct bench_stored stored;
    struct bench b;
};

static int run_opened(struct opened *x, struct run *r, const struct roofcast_model *m, const struct roofcast_bench_options *a, struct error *err)
{
    const struct setup_options so = { .isa = a->isa, .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
    if (setup_model_warm(&m->m, err) != 0 || setup_init(&x->machine, a->n_threads, &so, err) != 0 ||
        !(x->b.energy = energy_open(environment()->root, err)) || bench_stored_open(&x->stored, err) != 0)
        return -1;
    struct ceilings_options probe = { .effort = a->brief ? CEILINGS_BRIEF : CEILINGS_QUICK, .n_threads = x->machine.n_threads,
                                      .cpu_flags = x->machine.cpu_flags, .cpus = &x->machine.cpus };
    struct engine_options eo = setup_engine_options(&x->machine, &so);
    const uint64_t longest = a->n_prompt > a->n_gen ? a->n_prompt : a->n_gen;
    eo.n_ctx = (uint32_t)(a->n_depth + longest);
    eo.n_seq = eo.n_out_max = a->n_batch;
    eo.n_ubatch = (uint32_t)u64_max(a->n_batch, u64_min(a->n_ubatch, u64_max(a->n_prompt, 1) * a->n_batch));
    x->b.m = &m->m;
    x->b.machine = &x->machine;
    x->b.run = r;
    x->b.stored = &x->stored;
    if (!(x->b.e = engine_new(&m->m, &eo, err)))
        return -1;
    bench_share_memory(&probe, x->b.e, x->stored.cache_bytes, false, false);
    x->b.prober = ceilings_prober_new(bench_math(x->b.e), x->machine.n_threads, &probe, err);
    return x->b.prober ? run_tests(r, &x->b, a, err) : -1;
}

static void opened_close(struct opened *x)
{
    ceilings_prober_free(x->b.prober);
    engine_free(x->b.e);
    bench_stored_close(&x->stored);
    energy_close(x->b.energy);
    setup_free(&x->machine);
}

static int fill(struct roofcast_bench *x, struct error *err)
{
    x->test = calloc(x->run.n_row + 1, sizeof *x->test);
    if (!x->test)
        return error_oom(err, x->run.n_row * sizeof *x->test, "a benchmark");
    for (size_t i = 0; i < x->run.n_row; i++) {
        const struct run_row *r = &x->run.row[i];
        x->test[i] = (struct roofcast_bench_test){
            .name = r->test, .tok_s = r->tok_s_mean, .tok_s_sd = r->tok_s_sd, .ttft_s = r->ttft_s, .itl_p50_s = r->itl_p50_s,
            .itl_p99_s = r->itl_p99_s, .cost = { r->weight_bytes, r->act_bytes, r->kv_bytes, r->flop, 0 }, .bytes_s = r->bytes_s,
            .ceiling_bytes_s = r->ceiling_bytes_s, .flop_s = r->flop_s, .ceiling_flop_s = r->ceiling_flop_s, .mbu = r->mbu,
            .mfu = r->mfu, .bound = r->bound, .roof_moved = r->roof_moved,
        };
    }
    return 0;
}

struct roofcast_bench *roofcast_bench_run(const struct roofcast_model *m, const struct roofcast_bench_options *o, struct roofcast_error *err)
{
    struct error e = { 0 };
    struct roofcast_bench_options a;
    struct roofcast_bench *out;
    struct opened *x;
    roofcast_bench_options_init(&a, sizeof a);
    if (lib_options(&a, sizeof a, o, err) != 0 || check(m, &a, err) != 0)
        return NULL;
    out = calloc(1, sizeof *out);
    x = calloc(1, sizeof *x);
    int rc = out && x ? run_opened(x, &out->run, m, &a, &e) : error_oom(&e, sizeof *x, "a benchmark");
    rc = rc ? rc : fill(out, &e);
    if (x)
        opened_close(x);
    free(x);
    if (rc == 0)
        return out;
    lib_fail(err, &e);
    roofcast_bench_free(out);
    return NULL;
}

void roofcast_bench_free(struct roofcast_bench *b)
{
    if (!b)
        return;
    run_free(&b->run);
    free(b->test);
    free(b);
}

size_t roofcast_bench_n_test(const struct roofcast_bench *b)
{
    return b->run.n_row;
}

const struct roofcast_bench_test *roofcast_bench_test(const struct roofcast_bench *b, size_t i)
{
    return i < b->run.n_row ? &b->test[i] : NULL;
}
