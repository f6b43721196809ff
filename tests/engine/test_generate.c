/*
 * Long runs of the engine: greedy text is the same on every ISA and thread count, ten thousand tokens take no memory
 * beyond the cache, caches of every type, going back under a window.
 */
#include "../test.h"
#include "engine/engine.h"
#include "ref/make_random.h"
#include <malloc.h>
#include <math.h>
#include <unistd.h>

static struct engine *engine_for(const struct model *m, uint32_t n_ctx, uint32_t n_ubatch, unsigned flags, int threads,
                                 enum dtype kv)
{
    struct error err = { 0 };
    struct cpulist cpus;
    assert_ok(cpulist_usable(&cpus, &err), err);
    const struct engine_options o = { .n_ctx = n_ctx, .n_ubatch = n_ubatch, .n_out_max = 1,
                                      .n_threads = threads <= (int)cpus.n ? threads : (int)cpus.n, .cpus = &cpus,
                                      .cpu_flags = flags, .type_k = kv, .type_v = kv };
    struct engine *e = engine_new(m, &o, &err);
    if (!e)
        fail_msg("%s: %s", m->name, err.msg);
    cpulist_free(&cpus);
    return e;
}

static int32_t largest(const float *l, uint32_t n, float *gap)
{
    uint32_t best = 0;
    float second = -INFINITY;
    for (uint32_t i = 1; i < n; i++)
        if (l[i] > l[best])
            best = i;
    for (uint32_t i = 0; i < n; i++)
        if (i != best && l[i] > second)
            second = l[i];
    *gap = l[best] - second;
    return (int32_t)best;
}

/* ---- the same text everywhere ------------------------------------------------------------------ */

enum { N_PROMPT = 9, N_TEXT = 160 };

struct text {
    int32_t id[N_TEXT];
    float gap[N_TEXT]; /* between the two top logits */
};

static void greedy(const struct model *m, unsigned flags, int threads, struct text *t)
{
    struct error err = { 0 };
    struct engine *e = engine_for(m, N_TEXT + N_PROMPT, 64, flags, threads, DTYPE_F16);
    int32_t prompt[N_PROMPT];
    const float *l;
    for (int i = 0; i < N_PROMPT; i++)
        prompt[i] = (int32_t)((uint32_t)i * 7919u % m->hp.n_vocab);
    assert_ok(engine_eval(e, prompt, N_PROMPT, 0, 1, &l, &err), err);
    for (uint32_t i = 0; i < N_TEXT; i++) {
        t->id[i] = largest(l, m->hp.n_vocab, &t->gap[i]);
        if (i + 1 < N_TEXT)
            assert_ok(engine_eval(e, &t->id[i], 1, N_PROMPT + i, 1, &l, &err), err);
    }
    engine_free(e);
}

/* Equal, or apart first where the choice was closer than the bound. */
static void same_text(const char *what, const struct text *a, const struct text *b, float bound)
{
    for (int i = 0; i < N_TEXT; i++)
        if (a->id[i] != b->id[i]) {
            if (!(a->gap[i] < bound))
                fail_msg("%s: token %d is %d, not %d; the two top logits are %g apart, bound %g", what, i, b->id[i],
                         a->id[i], (double)a->gap[i], (double)bound);
            return;
        }
}

/*
 * Float weights: everywhere the same. With 8-bit activations sums are exact within a block, so threads and ISAs differ by
 * float rounding alone; it seldom moves an activation across the edge between two steps, which moves a logit by
 * max|x| / 127 of the largest head weight: about 4 / 127 * 4 / sqrt(256) = 0.008 here. Four of those at once are the bound.
 */
static void check_text(const char *path, bool quantized)
{
    struct error err = { 0 };
    struct model m = { 0 };
    struct text first = { 0 }, other;
    char what[4300];
    bool usable;
    const char *isa;
    int n = 0;
    assert_ok(model_load(&m, path, NULL, &err), err);
    for (size_t i = 0; (isa = kernels_isa_at(i, &usable)); i++) {
        unsigned flags;
        if (!usable || (quantized && strcmp(isa, "ref") == 0)) /* ref: float activations */
            continue;
        assert_ok(kernels_isa_flags(isa, &flags, &err), err);
        for (int threads = 1; threads <= 2; threads++) {
            struct text *t = n++ == 0 ? &first : &other;
            greedy(&m, flags, threads, t);
            snprintf(what, sizeof what, "%s on %s, %d threads", path, isa, threads);
            same_text(what, &first, t, quantized ? 0.032f : 0);
        }
    }
    model_free(&m);
}

/* Models of a list to take one of: checked kernels are slow, and test_archs has every family. */
static size_t step_over(size_t n)
{
    return getenv("ROOFCAST_SANITIZED") ? n : 1;
}

static void test_same_text(void **state)
{
    (void)state;
    static const char *const names[] = { "llama-gqa-F32", "llama-gqa-f16", "llama-mqa-f16", "llama-tied-f16", "qwen2-f16",
                                         "qwen3-f16",     "mixtral-f16",   "gemma3-f16",    "phi3-f16" };
    char path[4200];
    if (!shared_dir()) {
        print_message("# skipped: no shared data (set ROOFCAST_SHARED)\n");
        skip();
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i += step_over(ARRAY_LEN(names))) {
        snprintf(path, sizeof path, "%s/data/oracle/%s.gguf", shared_dir(), names[i]);
        check_text(path, false);
    }
}

static void test_same_quantized_text(void **state)
{
    (void)state;
    static const char *const names[] = { "Q8_0", "Q4_0", "Q4_K_M", "Q5_K_S", "Q6_K" };
    char path[4200];
    if (!shared_dir()) {
        print_message("# skipped: no shared data (set ROOFCAST_SHARED)\n");
        skip();
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i += step_over(ARRAY_LEN(names))) {
        snprintf(path, sizeof path, "%s/data/oracle/llama-gqa-%s.gguf", shared_dir(), names[i]);
        check_text(path, true);
    }
}

/* ---- ten thousand tokens ------------------------------------------------------------------------ */

static void random_model(struct model *m, const char *family, int shape, char *path, size_t n)
{
    struct random_spec s;
    struct error err = { 0 };
    random_spec_at(&s, family, shape);
    s.n_ctx = 1 << 14;
    snprintf(path, n, "test_generate.%s.%d.gguf", family, shape);
    assert_ok(random_write(path, &s, &err), err);
    assert_ok(model_load(m, path, NULL, &err), err);
}

/* Bytes this process holds, from the kernel. */
static size_t resident(void)
{
    unsigned long total = 0, rss = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f) {
        assert_int_equal(fscanf(f, "%lu %lu", &total, &rss), 2);
        fclose(f);
    }
    return rss * (size_t)sysconf(_SC_PAGESIZE);
}

static void generate(struct engine *e, struct sampler *s, uint32_t from, uint32_t to)
{
    struct error err = { 0 };
    int32_t id = 1;
    const float *l;
    for (uint32_t i = from; i < to; i++) {
        assert_ok(engine_eval(e, &id, 1, i, 1, &l, &err), err);
        id = sampler_pick(s, l);
        sampler_accept(s, id);
    }
}

/* The heap stays as it is; what comes resident is the cache alone, which windows bound. */
static void no_growth(const char *family, int shape)
{
    const bool slow = getenv("ROOFCAST_SANITIZED");
    const uint32_t warm = slow ? 400 : 2000, end = slow ? 1600 : 10000;
    struct error err = { 0 };
    struct model m = { 0 };
    char path[64];
    struct sampler s;
    struct sampler_options so = sampler_default;
    random_model(&m, family, shape, path, sizeof path);
    so.temperature = 1;
    so.top_k = 40;
    so.top_p = 0.95;
    so.repeat_penalty = 1.1;
    assert_ok(sampler_init(&s, &so, m.hp.n_vocab, &err), err);
    struct engine *e = engine_for(&m, end, 16, cpu_flags(), 1, DTYPE_F16);
    generate(e, &s, 0, warm);
    const size_t heap = mallinfo2().uordblks, rss = resident();
    generate(e, &s, warm, end);
    assert_int_equal(mallinfo2().uordblks, heap);
    const size_t grown = resident() > rss ? resident() - rss : 0;
    if (grown > engine_kv_bytes(e) + (1 << 20))
        fail_msg("%s: %zu bytes more after %u tokens than after %u, and the cache has %zu", family, grown, end, warm,
                 engine_kv_bytes(e));
    engine_free(e);
    sampler_free(&s);
    model_free(&m);
    unlink(path);
}

static void test_no_growth(void **state)
{
    (void)state;
    no_growth("llama", 0);
    no_growth("gemma3", 0);
    no_growth("deepseek2", 0);
}

/* A window bounds what is kept, however long the context. */
static void test_window_bounds_cache(void **state)
{
    (void)state;
    struct model m = { 0 };
    char path[64];
    random_model(&m, "gemma2", 0, path, sizeof path);
    struct engine *e = engine_for(&m, 1000, 8, cpu_flags(), 1, DTYPE_F16);
    struct engine *longer = engine_for(&m, 10000, 8, cpu_flags(), 1, DTYPE_F16);
    size_t full = 0;
    for (uint32_t i = 0; i < m.hp.n_layer; i++)
        full += !hparams_windowed(&m.hp, i);
    const size_t row = 2 * sizeof(uint16_t) * m.hp.n_head_kv * m.hp.head_dim;
    assert_true(m.hp.window > 0 && full < m.hp.n_layer);
    const size_t grown = engine_kv_bytes(longer) - engine_kv_bytes(e);
    assert_true(grown >= full * 9000 * row && grown < full * 9000 * row + 4096);
    engine_free(e);
    engine_free(longer);
    model_free(&m);
    unlink(path);
}

/* Going back a little is right, going back beyond what is kept is refused, and a new start always works. */
static void test_going_back(void **state)
{
    (void)state;
    enum { UBATCH = 4, N = 200 };
    struct error err = { 0 };
    struct model m = { 0 };
    char path[64];
    const float *l;
    int32_t tok[N];
    random_model(&m, "gemma3", 0, path, sizeof path);
    struct engine *e = engine_for(&m, N, UBATCH, cpu_flags(), 1, DTYPE_F16);
    float *want = malloc(m.hp.n_vocab * sizeof *want);
    assert_true(m.hp.window > 0 && m.hp.window < 100);
    for (int i = 0; i < N; i++)
        tok[i] = (int32_t)((uint32_t)i * 31u % m.hp.n_vocab);
    assert_ok(engine_eval(e, tok, N, 0, 1, &l, &err), err);
    memcpy(want, l, m.hp.n_vocab * sizeof *want);
    assert_ok(engine_eval(e, tok + N - 2, 2, N - 2, 1, &l, &err), err);
    for (uint32_t i = 0; i < m.hp.n_vocab; i++)
        assert_true(fabsf(l[i] - want[i]) < 1e-3f);
    assert_fails(engine_eval(e, tok, 1, N / 2, 1, &l, &err), err, "going back to position 100");
    assert_ok(engine_eval(e, tok, N, 0, 1, &l, &err), err);
    for (uint32_t i = 0; i < m.hp.n_vocab; i++)
        assert_true(fabsf(l[i] - want[i]) < 1e-3f);
    engine_free(e);
    free(want);
    model_free(&m);
    unlink(path);
}

/* ---- types of the cache --------------------------------------------------------------------------- */

/* Mean square difference of the logits from those with a cache of F32, over their variance. */
static double cache_error(const struct model *m, enum dtype kv, unsigned flags)
{
    enum { N = 48 };
    struct error err = { 0 };
    struct engine *e = engine_for(m, N, 16, flags, 2, kv), *exact = engine_for(m, N, 16, 0, 1, DTYPE_F32);
    double d2 = 0, x2 = 0;
    for (uint32_t i = 0; i < N; i++) {
        const int32_t id = (int32_t)(i * 7919u % m->hp.n_vocab);
        const float *a, *b;
        assert_ok(engine_eval(e, &id, 1, i, 1, &a, &err), err);
        assert_ok(engine_eval(exact, &id, 1, i, 1, &b, &err), err);
        for (uint32_t k = 0; k < m->hp.n_vocab; k++) {
            d2 += pow((double)a[k] - (double)b[k], 2);
            x2 += pow((double)b[k], 2);
        }
    }
    engine_free(e);
    engine_free(exact);
    return d2 / x2;
}

/* Each type within what its rounding gives (relative mean square of an element: F16 2^-24 / 3, BF16 2^-18 / 3, Q8_0 2e-5,
 * Q4_0 4e-3), times 10 for the layers it passes; and no better than a tenth of the finer one, or the type was not used. */
static void test_cache_types(void **state)
{
    (void)state;
    static const struct {
        enum dtype type;
        double lo, hi;
    } cases[] = { { DTYPE_F32, 0, 1e-9 },       { DTYPE_F16, 1e-10, 1e-6 },   { DTYPE_BF16, 1e-7, 1e-4 },
                  { DTYPE_Q8_0, 1e-7, 1e-3 },   { DTYPE_Q5_1, 1e-5, 2e-2 },   { DTYPE_Q4_0, 1e-4, 1e-1 },
                  { DTYPE_IQ4_NL, 1e-4, 1e-1 } };
    struct model m = { 0 };
    struct error err = { 0 };
    char path[4200];
    snprintf(path, sizeof path, "%s/tests/fixtures/llama-2l.gguf", getenv("top_srcdir") ? getenv("top_srcdir") : ".");
    assert_ok(model_load(&m, path, NULL, &err), err);
    if (m.hp.head_dim % 32 != 0) { /* blocks of 32 need a model with wider heads */
        model_free(&m);
        random_model(&m, "llama", 0, path, sizeof path);
    }
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (m.hp.head_dim % dtype_find(cases[i].type)->block_elems != 0)
            continue;
        const unsigned flags[] = { 0, cpu_flags() };
        for (size_t k = 0; k < ARRAY_LEN(flags); k++) {
            const double d = cache_error(&m, cases[i].type, flags[k]);
            if (!(d >= cases[i].lo && d < cases[i].hi))
                fail_msg("cache of %s: relative error %g, expected %g to %g", dtype_name(cases[i].type), d, cases[i].lo,
                         cases[i].hi);
        }
    }
    model_free(&m);
}

static void test_cache_refusals(void **state)
{
    (void)state;
    struct model m = { 0 };
    struct error err = { 0 };
    char path[64];
    random_model(&m, "llama", 0, path, sizeof path);
    struct engine_options o = { .n_ctx = 8, .n_ubatch = 1, .n_out_max = 1, .n_threads = 1, .type_k = DTYPE_Q4_K,
                                .type_v = DTYPE_F16 };
    assert_null(engine_new(&m, &o, &err));
    assert_non_null(strstr(err.msg, "keys of type Q4_K: expected one of F32"));
    o.type_k = DTYPE_F16;
    o.type_v = DTYPE_TQ1_0;
    assert_null(engine_new(&m, &o, &err));
    assert_non_null(strstr(err.msg, "values of type TQ1_0"));
    model_free(&m);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_text),   cmocka_unit_test(test_same_quantized_text),
        cmocka_unit_test(test_no_growth),   cmocka_unit_test(test_window_bounds_cache),
        cmocka_unit_test(test_going_back),  cmocka_unit_test(test_cache_types),
        cmocka_unit_test(test_cache_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
