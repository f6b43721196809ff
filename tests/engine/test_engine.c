/* The engine against oracles: logits, step-by-step against prefill, ISAs, threads, refusals. */
#include "../test.h"
#include "engine/internal.h"
#include "ref/make_random.h"
#include "ref/ref.h"
#include <math.h>
#include <stdatomic.h>
#include <unistd.h>

struct oracle {
    int n, n_vocab;
    int32_t *tok;
    float *logits; /* [n, n_vocab] */
};

static int oracle_load(struct oracle *o, const char *path)
{
    int32_t head[2];
    FILE *f = fopen(path, "rb");
    if (!f)
        return -1;
    assert_int_equal(fread(head, sizeof head, 1, f), 1);
    o->n = head[0];
    o->n_vocab = head[1];
    size_t cells = (size_t)o->n * (size_t)o->n_vocab;
    o->tok = malloc((size_t)o->n * sizeof *o->tok);
    o->logits = malloc(cells * sizeof *o->logits);
    assert_int_equal(fread(o->tok, sizeof *o->tok, (size_t)o->n, f), o->n);
    assert_int_equal(fread(o->logits, sizeof *o->logits, cells, f), cells);
    fclose(f);
    return 0;
}

static void oracle_free(struct oracle *o)
{
    free(o->tok);
    free(o->logits);
}

/* KL(p || q) in nats between the softmaxes of two rows of logits. */
static double kl(const float *p, const float *q, int n)
{
    double mp = p[0], mq = q[0], sp = 0, sq = 0, d = 0;
    for (int i = 1; i < n; i++) {
        mp = fmax(mp, p[i]);
        mq = fmax(mq, q[i]);
    }
    for (int i = 0; i < n; i++) {
        sp += exp(p[i] - mp);
        sq += exp(q[i] - mq);
    }
    for (int i = 0; i < n; i++) {
        double lp = p[i] - mp - log(sp), lq = q[i] - mq - log(sq);
        d += exp(lp) * (lp - lq);
    }
    return d;
}

static struct engine *engine_for(const struct model *m, int n, unsigned flags, int threads)
{
    struct error err = { 0 };
    struct cpulist cpus;
    assert_ok(cpulist_usable(&cpus, &err), err);
    if ((size_t)threads > cpus.n)
        threads = (int)cpus.n;
    const struct engine_options o = { .n_ctx = (uint32_t)n, .n_ubatch = (uint32_t)n, .n_out_max = (uint32_t)n,
                                      .n_threads = threads, .cpus = &cpus, .cpu_flags = flags,
                                      .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
    struct engine *e = engine_new(m, &o, &err);
    if (!e)
        fail_msg("engine_new: %s", err.msg);
    cpulist_free(&cpus);
    return e;
}

/* All logits: the first `prompt` tokens in one pass, the rest one by one. Caller frees. */
static float *run_all(const struct model *m, const int32_t *tok, int n, int prompt, unsigned flags, int threads)
{
    struct error err = { 0 };
    const size_t v = m->hp.n_vocab;
    struct engine *e = engine_for(m, n, flags, threads);
    float *out = malloc((size_t)n * v * sizeof *out);
    const float *l;
    assert_ok(engine_eval(e, tok, (uint32_t)prompt, 0, (uint32_t)prompt, &l, &err), err);
    memcpy(out, l, (size_t)prompt * v * sizeof *out);
    for (int i = prompt; i < n; i++) {
        assert_ok(engine_eval(e, tok + i, 1, (uint32_t)i, 1, &l, &err), err);
        memcpy(out + (size_t)i * v, l, v * sizeof *out);
    }
    engine_free(e);
    return out;
}

static double max_diff(const float *a, const float *b, size_t n)
{
    double d = 0;
    for (size_t i = 0; i < n; i++)
        d = fmax(d, isnan(a[i]) ? INFINITY : fabs((double)a[i] - b[i]));
    return d;
}

struct bound {
    const char *name;
    double diff; /* largest difference of a logit, or */
    double kl;   /* mean KL, with 8-bit activations: 5e-4 is ample, 1.9e-4 what exact scales have, and prompts of 24 tokens keep those (89) */
};

static const struct bound cases[] = {
    { "llama-gqa-F32", 0.01, 0 },      { "llama-gqa-f16", 0.01, 0 },      { "llama-mqa-f16", 0.01, 0 },
    { "llama-tied-f16", 0.01, 0 },     { "llama-gqa-BF16", 0.06, 0 },     { "llama-gqa-Q8_0", 0, 3e-4 },
    { "llama-gqa-Q4_0", 0, 3e-4 },     { "llama-gqa-Q4_K_S", 0, 3e-4 },   { "llama-gqa-Q4_K_M", 0, 3e-4 },
    { "llama-gqa-Q5_K_S", 0, 3e-4 },   { "llama-gqa-Q6_K", 0, 3e-4 },     { "qwen2-f16", 0.01, 0 },
    { "qwen3-f16", 0.01, 0 },          { "mixtral-f16", 0.01, 0 },        { "gemma3-f16", 0.01, 0 },
    { "phi3-f16", 0.01, 0 },
};

static void compare(const struct bound *b, const struct oracle *o, const float *mine, const char *isa, bool is_ref)
{
    const size_t v = (size_t)o->n_vocab;
    if (b->diff > 0) {
        const double d = max_diff(mine, o->logits, (size_t)o->n * v);
        if (!(d < b->diff))
            fail_msg("%s %s: largest difference %g, bound %g", b->name, isa, d, b->diff);
        return;
    }
    double sum = 0;
    for (int i = 0; i < o->n; i++)
        sum += kl(o->logits + (size_t)i * v, mine + (size_t)i * v, o->n_vocab);
    const double bound = is_ref ? 2e-4 : b->kl;
    if (!(sum / o->n < bound))
        fail_msg("%s %s: mean KL %g, bound %g", b->name, isa, sum / o->n, bound);
}

enum { ALONE = 1 << 20 }; /* a model that every rung goes over */
/* Where programs run slowly (an emulator, sanitizers) rungs beneath the best one go over every third model, each over others. */
static bool goes_over(size_t isa, size_t model)
{
    const bool slow = getenv("ROOFCAST_CHECK_EVERY") && atoi(getenv("ROOFCAST_CHECK_EVERY")) > 1;
    bool usable, best = true;
    for (size_t i = isa + 1; kernels_isa_at(i, &usable); i++)
        best = best && !usable;
    return !slow || best || model == ALONE || (isa + model) % 3 == 0;
}

/* model: its number among those that are compared. */
static void check_oracle(const char *dir, const struct bound *b, size_t model)
{
    char path[4200];
    struct error err = { 0 };
    struct model m = { 0 };
    struct oracle o;
    snprintf(path, sizeof path, "%s/%s.logits", dir, b->name);
    if (oracle_load(&o, path) != 0)
        fail_msg("%s: cannot be read", path);
    snprintf(path, sizeof path, "%s/%s.gguf", dir, b->name);
    assert_ok(model_load(&m, path, NULL, &err), err);
    bool usable;
    const char *isa;
    for (size_t i = 0; (isa = kernels_isa_at(i, &usable)) != NULL; i++) {
        unsigned flags = 0;
        if (!usable || !goes_over(i, model))
            continue;
        assert_ok(kernels_isa_flags(isa, &flags, &err), err);
        float *mine = run_all(&m, o.tok, o.n, o.n - 8, flags, 2);
        compare(b, &o, mine, isa, strcmp(isa, "ref") == 0);
        free(mine);
    }
    model_free(&m);
    oracle_free(&o);
}

static void test_shared_oracles(void **state)
{
    (void)state;
    char dir[4200];
    if (!shared_dir()) {
        print_message("# skipped: no shared data (set ROOFCAST_SHARED)\n");
        skip();
    }
    snprintf(dir, sizeof dir, "%s/data/oracle", shared_dir());
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_oracle(dir, &cases[i], i);
}

static const char *fixture(char *buf, size_t n, const char *name)
{
    snprintf(buf, n, "%s/tests/fixtures/%s", getenv("top_srcdir") ? getenv("top_srcdir") : ".", name);
    return buf;
}

static void test_own_oracle(void **state)
{
    (void)state;
    char dir[4200];
    fixture(dir, sizeof dir, ".");
    const struct bound own = { "llama-2l", 0.01, 0 };
    check_oracle(dir, &own, ALONE);
}

/* The committed logits are what the reference computes. */
static void test_reference_reproduces(void **state)
{
    (void)state;
    char path[4200];
    struct error err = { 0 };
    struct oracle o;
    assert_int_equal(oracle_load(&o, fixture(path, sizeof path, "llama-2l.logits")), 0);
    struct gguf *g = gguf_open(fixture(path, sizeof path, "llama-2l.gguf"), &err);
    if (!g)
        fail_msg("%s", err.msg);
    const struct ref_options exact = { .cache = REF_CACHE_EXACT };
    struct ref_model *r = ref_new(g, o.n, &exact, &err);
    if (!r)
        fail_msg("%s", err.msg);
    assert_int_equal(ref_n_vocab(r), o.n_vocab);
    for (int i = 0; i < o.n; i++) {
        const double *l;
        ref_eval(r, o.tok[i], &l);
        for (int k = 0; k < o.n_vocab; k++)
            assert_true(fabs(l[k] - o.logits[(size_t)i * (size_t)o.n_vocab + (size_t)k]) < 1e-4);
    }
    ref_free(r);
    gguf_close(g);
    oracle_free(&o);
}

static void own_model(struct model *m)
{
    char path[4200];
    struct error err = { 0 };
    assert_ok(model_load(m, fixture(path, sizeof path, "llama-2l.gguf"), NULL, &err), err);
}

static const int32_t some_tokens[] = { 1, 17, 250, 3, 99, 42, 42, 7, 200, 11, 5, 260, 33, 64, 128, 8, 19 };
enum { N_SOME = sizeof some_tokens / sizeof *some_tokens };

static void test_prefill_agrees_with_decode(void **state)
{
    (void)state;
    struct model m = { 0 };
    own_model(&m);
    for (int threads = 1; threads <= 2; threads++) {
        float *once = run_all(&m, some_tokens, N_SOME, N_SOME, cpu_flags(), threads);
        float *steps = run_all(&m, some_tokens, N_SOME, 1, cpu_flags(), threads);
        assert_true(max_diff(once, steps, (size_t)N_SOME * m.hp.n_vocab) < 2e-3);
        free(once);
        free(steps);
    }
    model_free(&m);
}

/* After a long past one token's keys are cut into parts: what they give together is what a prompt gives. */
static void check_long_decode(const struct model *m, const int32_t *tok, uint32_t n, unsigned flags, int threads)
{
    enum { LAST = 3 };
    struct error err = { 0 };
    const size_t v = m->hp.n_vocab;
    struct engine *e = engine_for(m, (int)n, flags, threads);
    float *once = malloc(LAST * v * sizeof *once);
    const float *l;
    assert_ok(engine_eval(e, tok, n, 0, LAST, &l, &err), err);
    memcpy(once, l, LAST * v * sizeof *once);
    for (uint32_t i = 0; i < LAST; i++) { /* its own keys again, over those of the prompt */
        const uint32_t t = n - LAST + i;
        assert_ok(engine_eval(e, tok + t, 1, t, 1, &l, &err), err);
        assert_true(max_diff(once + i * v, l, v) < 2e-3);
    }
    free(once);
    engine_free(e);
}

static void test_long_decode(void **state)
{
    (void)state;
    enum { N = 1300, SLOW_N = 1030 }; /* three parts each (ENGINE_PART_KEYS), the last of another length */
    const uint32_t n = getenv("ROOFCAST_SANITIZED") ? SLOW_N : N;
    struct model m = { 0 };
    own_model(&m);
    int32_t tok[N];
    for (int i = 0; i < N; i++)
        tok[i] = some_tokens[i * 7 % N_SOME] + i % 40;
    const unsigned flags[] = { 0, cpu_flags() };
    for (size_t f = 0; f < ARRAY_LEN(flags); f++)
        for (int threads = 1; threads <= 2; threads++)
            check_long_decode(&m, tok, n, flags[f], threads);
    model_free(&m);
}

/* So it is in a pass of several sequences, with the parts of each apart: one with as many as there are, one with two, one with one. */
static void test_long_decode_runs(void **state)
{
    (void)state;
    enum { N_CTX = 1030, N_RUN = 3 };
    static const uint32_t past[N_RUN] = { N_CTX - 1, 700, 40 };
    struct error err = { 0 };
    struct cpulist cpus;
    struct model m = { 0 };
    own_model(&m);
    assert_ok(cpulist_usable(&cpus, &err), err);
    const struct engine_options o = { .n_ctx = N_CTX, .n_seq = N_RUN, .n_ubatch = N_CTX, .n_out_max = N_RUN,
                                      .n_threads = (int)u64_min(2, cpus.n), .cpus = &cpus, .cpu_flags = cpu_flags(),
                                      .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
    struct engine *e = engine_new(&m, &o, &err);
    if (!e)
        fail_msg("engine_new: %s", err.msg);
    const size_t v = m.hp.n_vocab;
    float *alone = malloc(N_RUN * v * sizeof *alone);
    const float *l;
    struct engine_run run[N_RUN];
    int32_t tok[N_CTX], next[N_RUN];
    for (uint32_t r = 0; r < N_RUN; r++) {
        for (uint32_t i = 0; i <= past[r]; i++)
            tok[i] = some_tokens[(i * 7 + r) % N_SOME] + (int32_t)(i % 40);
        run[r] = (struct engine_run){ r, 0, past[r] + 1, .n_out = 1 };
        assert_ok(engine_eval_runs(e, tok, &run[r], 1, &l, &err), err);
        memcpy(alone + r * v, l, v * sizeof *alone);
        run[r] = (struct engine_run){ r, past[r], 1, .n_out = 1 }; /* its own keys again */
        next[r] = tok[past[r]];
    }
    for (int again = 0; again < 2; again++) {
        assert_ok(engine_eval_runs(e, next, run, N_RUN, &l, &err), err);
        assert_true(max_diff(alone, l, N_RUN * v) < 2e-3);
    }
    free(alone);
    engine_free(e);
    cpulist_free(&cpus);
    model_free(&m);
}

static void test_threads_agree(void **state)
{
    (void)state;
    struct model m = { 0 };
    own_model(&m);
    float *one = run_all(&m, some_tokens, N_SOME, 9, cpu_flags(), 1);
    float *two = run_all(&m, some_tokens, N_SOME, 9, cpu_flags(), 2);
    assert_true(max_diff(one, two, (size_t)N_SOME * m.hp.n_vocab) == 0);
    free(one);
    free(two);
    model_free(&m);
}

/* What goes together, in memory of the threads' own from so many tokens on, gives what every op by itself does. gates: AMX takes what they
 * make to tiles. */
static void check_fused(const struct model *m, uint32_t n, int threads, bool gates)
{
    enum { LAST = 4 };
    struct error err = { 0 };
    const size_t v = m->hp.n_vocab;
    int32_t tok[ENGINE_SCRATCH_MAX_TOKENS + 33];
    for (uint32_t i = 0; i < n; i++)
        tok[i] = (some_tokens[i * 7 % N_SOME] + (int32_t)(i % 40)) % (int32_t)v;
    struct engine *e = engine_for(m, (int)n, cpu_flags(), threads);
    size_t fused = 0, tiles = 0;
    for (size_t i = 0; i < e->ops.n; i++) {
        tiles += e->plan[i].packed_by_glu;
        fused += e->sync[i].fuse != FUSE_NONE;
        assert_int_equal(e->plan[i].scratch_results, e->sync[i].fuse != FUSE_NONE);
    }
    assert_true(fused >= m->hp.n_layer);
    assert_int_equal(tiles, gates && strcmp(e->k.isa, "amx") == 0 ? m->hp.n_layer : 0);
    float *alone = malloc(LAST * v * sizeof *alone);
    const float *l;
    engine_profile(e, true);
    assert_ok(engine_eval(e, tok, n, 0, LAST, &l, &err), err);
    memcpy(alone, l, LAST * v * sizeof *alone);
    engine_profile(e, false);
    assert_ok(engine_eval(e, tok, n, 0, LAST, &l, &err), err);
    if (max_diff(alone, l, LAST * v) != 0)
        fail_msg("%s, %u tokens, %d threads: %g from ops one by one", m->name, n, threads, (double)max_diff(alone, l, LAST * v));
    free(alone);
    engine_free(e);
}

static void test_fused_agrees(void **state)
{
    (void)state;
    static const uint32_t n[] = { ENGINE_SCRATCH_MIN_TOKENS - 1, ENGINE_SCRATCH_MIN_TOKENS, 200, ENGINE_SCRATCH_MAX_TOKENS + 1 };
    struct model m = { 0 };
    own_model(&m);
    for (int threads = 1; threads <= 2; threads++)
        for (size_t i = 0; i < ARRAY_LEN(n); i++)
            check_fused(&m, n[i], threads, true);
    model_free(&m);
}

/* Weights that are packed, biases, experts; but under sanitizers, results of products by themselves go past the caches where AMX is. */
static void test_fused_wide(void **state)
{
    (void)state;
    static const struct {
        const char *family;
        enum dtype weights;
        int n_head, n_ff; /* two threads would take 44 rows of 352 at once: more than a block of 32 columns, less than two */
    } models[] = { { "qwen2", DTYPE_Q8_0, 4, 608 }, { "qwen3", DTYPE_BF16, 16, 352 }, { "mixtral", DTYPE_Q8_0, 4, 608 }, { "llama", DTYPE_F16, 4, 352 },
                   { "llama", DTYPE_F16, 4, 608 }, { "llama", DTYPE_F32, 4, 352 } };
    for (size_t i = 0; i < ARRAY_LEN(models); i++) {
        struct random_spec s;
        struct model m = { 0 };
        struct error err = { 0 };
        char path[64];
        random_spec_at(&s, models[i].family, 0);
        s.weights = s.experts = models[i].weights;
        s.n_layer = 2;
        s.n_embd = 256;
        s.n_head = models[i].n_head;
        s.n_head_kv = 2;
        s.head_dim = s.n_rot = 64;
        s.n_ff = s.n_ff_exp = (uint32_t)models[i].n_ff;
        s.n_ctx = ENGINE_SCRATCH_MAX_TOKENS + 33;
        s.window = 0;
        snprintf(path, sizeof path, "test_engine.%s.gguf", models[i].family);
        assert_ok(random_write(path, &s, &err), err);
        assert_ok(model_load(&m, path, NULL, &err), err);
        check_fused(&m, getenv("ROOFCAST_SANITIZED") ? 100 : ENGINE_SCRATCH_MAX_TOKENS, 1 + (int)i % 2, strcmp(models[i].family, "mixtral") != 0);
        if (!getenv("ROOFCAST_SANITIZED") && (models[i].weights == DTYPE_F16 || models[i].weights == DTYPE_F32)) /* more tokens than tiles have in a block */
            check_fused(&m, ENGINE_SCRATCH_MAX_TOKENS + 33, 2, true);
        model_free(&m);
        unlink(path);
    }
}

/* Queries of F16 beside keys and values of F32: tiles of AMX have other numbers of the same activations for each. */
static void test_tiles_of_two_types(void **state)
{
    (void)state;
    enum { N = 100 };
    int32_t tok[N];
    struct model m = { 0 };
    own_model(&m);
    void *queries[8] = { NULL };
    size_t n = 0;
    for (size_t i = 0; i < m.n_tensors; i++) {
        struct tensor *t = &m.tensors[i];
        if (!strstr(t->name, "attn_q.weight"))
            continue;
        assert_true(t->type == DTYPE_F32 && n < ARRAY_LEN(queries));
        const float *from = t->data;
        uint16_t *to = queries[n++] = malloc(t->bytes / 2);
        for (size_t k = 0; k < t->bytes / sizeof *from; k++)
            to[k] = f32_to_f16(from[k]);
        t->type = DTYPE_F16;
        t->bytes /= 2;
        t->data = to;
    }
    assert_true(n > 0);
    for (int i = 0; i < N; i++)
        tok[i] = some_tokens[i * 7 % N_SOME] + i % 40;
    float *steps = run_all(&m, tok, N, 1, cpu_flags(), 1), *once = run_all(&m, tok, N, N, cpu_flags(), 2);
    assert_true(max_diff(once, steps, (size_t)N * m.hp.n_vocab) < 2e-3);
    free(once);
    free(steps);
    while (n > 0)
        free(queries[--n]);
    model_free(&m);
}

/* A prompt in several passes is the same prompt. */
static void test_ubatch(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct model m = { 0 };
    own_model(&m);
    float *whole = run_all(&m, some_tokens, N_SOME, N_SOME, 0, 1);
    const struct engine_options o = { .n_ctx = N_SOME, .n_ubatch = 5, .n_out_max = 1, .n_threads = 1,
                                      .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
    struct engine *e = engine_new(&m, &o, &err);
    const float *l;
    if (!e)
        fail_msg("%s", err.msg);
    assert_ok(engine_eval(e, some_tokens, N_SOME, 0, 1, &l, &err), err);
    assert_true(max_diff(l, whole + (size_t)(N_SOME - 1) * m.hp.n_vocab, m.hp.n_vocab) < 1e-4);
    engine_free(e);
    free(whole);
    model_free(&m);
}

static void test_refusals(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct model m = { 0 };
    own_model(&m);
    struct engine *e = engine_for(&m, 8, 0, 1);
    const int32_t bad[] = { 1, (int32_t)m.hp.n_vocab }, negative = -1;
    assert_fails(engine_eval(e, bad, 2, 0, 1, NULL, &err), err, "token 1: id 300 is outside the vocabulary of 300");
    assert_fails(engine_eval(e, &negative, 1, 0, 1, NULL, &err), err, "outside the vocabulary");
    assert_fails(engine_eval(e, some_tokens, 9, 0, 1, NULL, &err), err, "do not fit the context of 8");
    assert_fails(engine_eval(e, some_tokens, 1, UINT32_MAX, 1, NULL, &err), err, "do not fit the context of 8");
    assert_fails(engine_eval(e, some_tokens, 2, 0, 3, NULL, &err), err, "outputs");
    engine_free(e);
    const struct engine_options none = { .n_ctx = 0, .n_ubatch = 1, .n_out_max = 1, .n_threads = 1 };
    assert_null(engine_new(&m, &none, &err));
    struct engine_options huge = { .n_ctx = UINT32_MAX, .n_ubatch = 1, .n_out_max = 1, .n_threads = 1 };
    assert_null(engine_new(&m, &huge, &err));
    assert_non_null(strstr(err.msg, "KV cache"));
    huge = (struct engine_options){ .n_ctx = 8, .n_ubatch = 1, .n_out_max = 1, .n_threads = 10000 };
    assert_null(engine_new(&m, &huge, &err));
    assert_non_null(strstr(err.msg, "threads: 10000"));
    model_free(&m);
}

static void test_batch_refusals(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct model m = { 0 };
    own_model(&m);
    const struct engine_options o = { .n_ctx = 8, .n_seq = 2, .n_ubatch = 4, .n_out_max = 2, .n_threads = 1,
                                      .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
    struct engine *e = engine_new(&m, &o, &err);
    if (!e)
        fail_msg("%s", err.msg);
    const struct engine_run twice[] = { { .seq = 1, .n_tok = 1 }, { .seq = 1, .n_tok = 1 } }, other[] = { { .seq = 2, .n_tok = 1 } },
                            many[] = { { .n_tok = 3 }, { .seq = 1, .n_tok = 2 } }, far[] = { { .n_past = 7, .n_tok = 2 } }, none[] = { { 0 } },
                            outputs[] = { { .n_tok = 2, .n_out = 3 } }, most[] = { { .n_tok = 3, .n_out = 3 } };
    assert_fails(engine_eval_runs(e, some_tokens, twice, 2, NULL, &err), err, "sequence 1 twice");
    assert_fails(engine_eval_runs(e, some_tokens, other, 1, NULL, &err), err, "sequence 2 of 2");
    assert_fails(engine_eval_runs(e, some_tokens, many, 2, NULL, &err), err, "pass of 5 tokens");
    assert_fails(engine_eval_runs(e, some_tokens, far, 1, NULL, &err), err, "2 tokens after 7 do not fit the context of 8");
    assert_fails(engine_eval_runs(e, some_tokens, none, 1, NULL, &err), err, "0 tokens after 0");
    assert_fails(engine_eval_runs(e, some_tokens, twice, 0, NULL, &err), err, "pass of 0 sequences");
    assert_fails(engine_eval_runs(e, some_tokens, many, 3, NULL, &err), err, "pass of 3 sequences, expected 1 to 2");
    assert_fails(engine_eval_runs(e, some_tokens, outputs, 1, NULL, &err), err, "2 tokens of a sequence with 3 outputs");
    assert_fails(engine_eval_runs(e, some_tokens, most, 1, NULL, &err), err, "3 outputs: at most 2 outputs");
    engine_free(e);
    model_free(&m);
}

/* A pool of blocks: what it refuses, and two sequences that share a block and go on alike in their own. */
static void test_paged(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct model m = { 0 };
    own_model(&m);
    struct engine_options o = { .n_ctx = 32, .n_seq = 2, .n_ubatch = 24, .n_out_max = 2, .n_threads = 1, .n_block = 4, .block_size = 12,
                                .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
    assert_true(!engine_new(&m, &o, &err) && strstr(err.msg, "blocks of 12 positions: expected 8, 16, 32, 64 or 128"));
    o.block_size = 8;
    struct engine *e = engine_new(&m, &o, &err);
    if (!e)
        fail_msg("%s", err.msg);
    const uint32_t own[] = { 2, 0 }, other[] = { 2, 3 }, wrong[] = { 1, 4 };
    const uint32_t *const of_own[] = { own }, *const of_other[] = { other }, *const of_wrong[] = { wrong };
    const struct engine_run prompt = { .n_tok = 12, .table = of_own }, rest = { .n_past = 8, .n_tok = 4, .table = of_other }, outside = { .n_past = 8, .n_tok = 1, .table = of_wrong };
    const float *l;
    assert_fails(engine_eval(e, some_tokens, 1, 0, 1, &l, &err), err, "engine_eval_runs");
    assert_fails(engine_eval_runs(e, some_tokens, &outside, 1, &l, &err), err, "positions from 8 on are in block 4, the pool has 4");
    assert_ok(engine_eval_runs(e, some_tokens, &prompt, 1, &l, &err), err);
    assert_null(l);
    assert_ok(engine_eval_runs(e, some_tokens + 8, &rest, 1, &l, &err), err);
    const struct engine_run both[] = { { .n_past = 12, .n_tok = 1, .n_out = 1, .table = of_own }, { .n_past = 12, .n_tok = 1, .n_out = 1, .table = of_other } };
    const int32_t twice[] = { some_tokens[12 % ARRAY_LEN(some_tokens)], some_tokens[12 % ARRAY_LEN(some_tokens)] };
    assert_ok(engine_eval_runs(e, twice, both, 2, &l, &err), err);
    assert_memory_equal(l, l + m.hp.n_vocab, m.hp.n_vocab * sizeof *l);
    engine_free(e);
    model_free(&m);
}

/* Samples: every op timed once a pass, work adds up to the total. */
static void test_samples(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct model m = { 0 };
    own_model(&m);
    struct engine *e = engine_for(&m, 16, cpu_flags(), 2);
    engine_profile(e, true);
    assert_ok(engine_eval(e, some_tokens, 12, 0, 1, NULL, &err), err);
    assert_ok(engine_eval(e, some_tokens + 12, 1, 12, 1, NULL, &err), err);
    const struct op_sample *s = engine_samples(e);
    struct work sum = { 0 };
    for (size_t i = 0; i < engine_ops(e)->n; i++) {
        assert_int_equal(s[i].n, 2);
        assert_true(s[i].seconds > 0);
        sum.weight_bytes += s[i].work.weight_bytes;
        sum.kv_bytes += s[i].work.kv_bytes;
        sum.flop += s[i].work.flop;
    }
    const struct work total = engine_work(e);
    assert_int_equal(sum.weight_bytes, total.weight_bytes);
    assert_int_equal(sum.kv_bytes, total.kv_bytes);
    assert_int_equal(sum.flop, total.flop);
    engine_reset(e);
    assert_int_equal(engine_work(e).flop, 0);
    engine_free(e);
    model_free(&m);
}

/* ---- regions: a tool that only keeps the books --------------------------------------------------------------------- */

static struct {
    atomic_int threads, adds, starts, stops, role_starts, role_stops, unequal;
    _Atomic(const struct counter_source *) source;
    atomic_llong flop; /* published when the first thread left the region of the logits; 0: none has */
} book;

static void book_thread(void)
{
    atomic_fetch_add(&book.threads, 1);
}

static void book_add(const char *region)
{
    atomic_fetch_add(&book.adds, strcmp(region, "decode") == 0);
}

static void book_start(const char *region)
{
    atomic_fetch_add(strcmp(region, "decode") == 0 ? &book.starts : &book.role_starts, 1);
}

static void book_stop(const char *region)
{
    atomic_fetch_add(strcmp(region, "decode") == 0 ? &book.stops : &book.role_stops, 1);
    if (strcmp(region, "decode_lm_head") != 0)
        return;
    long long none = 0, now = atomic_load(&book.source)->flop;
    if (!atomic_compare_exchange_strong(&book.flop, &none, now))
        atomic_fetch_add(&book.unequal, none != now);
}

static void book_publish(const struct counter_source *src)
{
    atomic_store(&book.source, src);
}

static const struct marker_tool book_tool = { .name = "book", .thread = book_thread, .add = book_add, .start = book_start,
                                              .stop = book_stop, .publish = book_publish };

/* A region is on every thread of the team, added once; roles are regions only while they are asked for. */
static void test_regions(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct model m = { 0 };
    struct cpulist cpus;
    own_model(&m);
    assert_ok(cpulist_usable(&cpus, &err), err);
    const int n = cpus.n > 1 ? 2 : 1;
    const struct engine_options o = { .n_ctx = 8, .n_ubatch = 4, .n_out_max = 1, .n_threads = n, .cpus = &cpus,
                                      .markers = &book_tool, .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
    struct engine *e = engine_new(&m, &o, &err);
    if (!e)
        fail_msg("%s", err.msg);
    assert_int_equal(book.threads, n);
    for (int i = 0; i < 3; i++) {
        engine_region_start(e, "decode");
        assert_ok(engine_eval(e, some_tokens + i, 1, (uint32_t)i, 1, NULL, &err), err);
        engine_region_stop(e, "decode");
    }
    assert_int_equal(book.adds, n);
    assert_int_equal(book.starts, 3 * n);
    assert_int_equal(book.stops, 3 * n);
    assert_int_equal(book.role_starts, 0);
    assert_int_equal(book.source->flop, engine_work(e).flop);
    assert_int_equal(book.source->tokens, 3);
    engine_profile(e, true);
    engine_region_roles(e, "decode");
    assert_ok(engine_eval(e, some_tokens + 3, 1, 3, 1, NULL, &err), err);
    engine_region_roles(e, NULL);
    assert_ok(engine_eval(e, some_tokens + 4, 1, 4, 1, NULL, &err), err);
    assert_int_equal(book.role_starts, n * (int)engine_ops(e)->n);
    assert_int_equal(book.role_stops, book.role_starts);
    assert_true(book.flop > 0);
    assert_int_equal(book.unequal, 0); /* what is published of an op is there when any thread leaves its region */
    engine_free(e);
    assert_null(book.source);
    cpulist_free(&cpus);
    model_free(&m);
}

/* test_engine [CASE]: one of them. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_oracle),      cmocka_unit_test(test_reference_reproduces),
        cmocka_unit_test(test_shared_oracles),  cmocka_unit_test(test_prefill_agrees_with_decode),
        cmocka_unit_test(test_threads_agree),   cmocka_unit_test(test_fused_agrees),
        cmocka_unit_test(test_fused_wide),      cmocka_unit_test(test_tiles_of_two_types),
        cmocka_unit_test(test_ubatch),          cmocka_unit_test(test_long_decode),
        cmocka_unit_test(test_refusals),        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_regions),         cmocka_unit_test(test_batch_refusals), cmocka_unit_test(test_paged),
        cmocka_unit_test(test_long_decode_runs),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
