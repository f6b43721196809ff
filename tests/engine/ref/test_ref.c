/*
 * The references themselves: against the oracles where there is one, against another program's numbers (golden.py), and
 * against each other: two models that must compute the same by their equations, and one that must not.
 */
#include "../../test.h"
#include "golden.h"
#include "make_random.h"
#include "ref.h"
#include <math.h>
#include <unistd.h>

enum { N = 28 };

/* ---- oracles ---- */

static double oracle_difference(const char *dir, const char *name)
{
    char path[4300];
    struct error err = { 0 };
    int32_t head[2], tok[256];
    snprintf(path, sizeof path, "%s/data/oracle/%s.logits", dir, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(head, sizeof head, 1, f), 1);
    assert_true(head[0] <= 256);
    assert_int_equal(fread(tok, sizeof *tok, (size_t)head[0], f), head[0]);
    snprintf(path, sizeof path, "%s/data/oracle/%s.gguf", dir, name);
    struct gguf *g = gguf_open(path, &err);
    struct ref_model *r = g ? ref_new(g, head[0], NULL, &err) : NULL;
    if (!r)
        fail_msg("%s", err.msg);
    assert_int_equal(ref_n_vocab(r), head[1]);
    double worst = 0;
    for (int i = 0; i < head[0]; i++) {
        const double *logits;
        ref_eval(r, tok[i], &logits);
        for (int k = 0; k < head[1]; k++) {
            float want;
            assert_int_equal(fread(&want, sizeof want, 1, f), 1);
            worst = fmax(worst, fabs(logits[k] - want));
        }
    }
    ref_free(r);
    gguf_close(g);
    fclose(f);
    return worst;
}

static void oracles(void **state)
{
    static const char *const names[] = { "llama-gqa-f16",  "llama-gqa-F32", "llama-mqa-f16",
                                         "llama-tied-f16", "mixtral-f16",   "qwen2-f16",
                                         "qwen3-f16",      "gemma3-f16",    "phi3-f16" };
    (void)state;
    if (!shared_dir()) {
        print_message("# no shared data: oracles skipped\n");
        skip();
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        double d = oracle_difference(shared_dir(), names[i]);
        print_message("# %-16s largest difference %.2g\n", names[i], d);
        if (!(d < 0.01))
            fail_msg("%s: %g", names[i], d);
    }
}

/* ---- pairs ---- */

struct result {
    double *logits; /* [N, n_vocab] */
    int n_vocab;
    double margin;
};

static struct result run_with(const struct random_spec *s, int n_ctx, enum ref_cache cache)
{
    char path[] = "test_ref.XXXXXX";
    struct error err = { 0 };
    int32_t tok[N];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_ok(random_write(path, s, &err), err);
    struct gguf *g = gguf_open(path, &err);
    unlink(path);
    struct ref_model *r = g ? ref_new(g, n_ctx, &(struct ref_options){ cache }, &err) : NULL;
    if (!r)
        fail_msg("%s: %s", s->family, err.msg);
    struct result x = { NULL, ref_n_vocab(r), 0 };
    x.logits = malloc((size_t)(N * x.n_vocab) * sizeof *x.logits);
    random_tokens(s, tok, N);
    for (int i = 0; i < N; i++) {
        const double *logits;
        ref_eval(r, tok[i], &logits);
        memcpy(x.logits + i * x.n_vocab, logits, (size_t)x.n_vocab * sizeof *logits);
    }
    x.margin = ref_margin(r);
    ref_free(r);
    gguf_close(g);
    return x;
}

/* Largest difference of the logits after tokens [from, to). */
static double difference(const struct random_spec *a, const struct random_spec *b, int from, int to)
{
    struct result x = run_with(a, N, REF_CACHE_EXACT), y = run_with(b, N, REF_CACHE_EXACT);
    double d = 0;
    assert_int_equal(x.n_vocab, y.n_vocab);
    for (int i = from * x.n_vocab; i < to * x.n_vocab; i++)
        d = fmax(d, fabs(x.logits[i] - y.logits[i]));
    free(x.logits);
    free(y.logits);
    return d;
}

static void same(const struct random_spec *a, const struct random_spec *b, const char *why)
{
    double d = difference(a, b, 0, N);
    if (!(d < 1e-4))
        fail_msg("%s and %s, %s: differ by %g", a->family, b->family, why, d);
}

static void differ(const struct random_spec *a, const struct random_spec *b, const char *why)
{
    double d = difference(a, b, 0, N);
    if (!(d > 1e-2))
        fail_msg("%s and %s, %s: differ by %g only", a->family, b->family, why, d);
}

static struct random_spec shape(const char *family, int i)
{
    struct random_spec s;
    random_spec_at(&s, family, i);
    s.weights = s.experts = DTYPE_F32;
    return s;
}

/* A dense model of the given family with the sizes and names of weights all plain ones share. */
static struct random_spec plain(const char *family)
{
    struct random_spec s = shape("llama", 0);
    s.family = family;
    s.no_bias = true;
    s.n_ctx_orig = 128;
    return s;
}

/* ---- tests ---- */

static void shapes(void **state)
{
    (void)state;
    for (int f = 0; random_families[f]; f++)
        for (int i = 0; i < random_spec_count(random_families[f]); i++) {
            struct random_spec s;
            random_spec_at(&s, random_families[f], i);
            struct result x = run_with(&s, N, REF_CACHE_F16);
            double sum = 0;
            for (int k = 0; k < N * x.n_vocab; k++)
                sum += x.logits[k] * x.logits[k];
            sum = sqrt(sum / (N * x.n_vocab));
            print_message("# %-9s %d: rms of logits %6.2f, margin of routing %.2g\n", s.family, i, sum, x.margin);
            if (!(sum > 0.3 && sum < 30) || x.margin < 1e-7)
                fail_msg("%s %d: rms %g, margin %g", s.family, i, sum, x.margin);
            free(x.logits);
        }
}

static void golden(void **state)
{
    static const int at[] = { 0, 13, 27 };
    size_t n = 0;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(goldens); i++) {
        struct random_spec s = shape(goldens[i].family, goldens[i].shape);
        struct result x = run_with(&s, N, REF_CACHE_EXACT);
        for (int k = 0; k < 9; k++) {
            double d = x.logits[at[k / 3] * x.n_vocab + k % 3] - goldens[i].logit[k];
            if (!(fabs(d) < 1e-5))
                fail_msg("%s %d: logit %d after token %d is off by %g", s.family, goldens[i].shape, k % 3, at[k / 3],
                         d);
        }
        free(x.logits);
    }
    for (int f = 0; random_families[f]; f++)
        n += (size_t)random_spec_count(random_families[f]);
    assert_int_equal(n, ARRAY_LEN(goldens));
}

static void layouts(void **state)
{
    struct random_spec a = plain("llama"), b;
    (void)state;
    b = plain("qwen2");
    same(&a, &b, "rows of Q and K reordered against halves");
    b = plain("phi3");
    same(&a, &b, "fused against separate");
    a.n_layer = b.n_layer = 3;
    b = plain("smollm3");
    b.n_layer = 3;
    same(&a, &b, "three layers all rotate");
    a.n_layer = b.n_layer = 4;
    differ(&a, &b, "the fourth does not");
    a = plain("qwen2");
    b = a;
    b.no_bias = false;
    differ(&a, &b, "biases");
    for (int i = 0; i < random_spec_count("deepseek2"); i++) {
        a = b = shape("deepseek2", i);
        b.absorbed = !a.absorbed;
        same(&a, &b, "kv_b against k_b and v_b");
    }
}

static void scalings(void **state)
{
    static const char *const families[] = { "llama", "qwen2", "qwen3", "gpt-oss", "deepseek2" };
    struct random_spec a, b;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(families); i++) {
        a = b = shape(families[i], 0);
        a.scaling = RANDOM_NONE;
        a.mscale_all_dim = 0;
        b.scaling = RANDOM_YARN;
        b.n_ctx_orig = 16;
        b.scaling_factor = 1;
        same(&a, &b, "YaRN by 1");
        b.scaling_factor = 8;
        differ(&a, &b, "YaRN by 8");
        b.scaling = RANDOM_LINEAR;
        differ(&a, &b, "linear by 8");
    }
    a = b = shape("deepseek2", 0);
    a.mscale_all_dim = 0;
    a.gain_q = pow(1 + 0.1 * b.mscale_all_dim * log(b.scaling_factor), 2);
    same(&a, &b, "mscale squared as a factor on Q");
    a = b = shape("llama", 1);
    b.scaling = RANDOM_NONE;
    differ(&a, &b, "rope_freqs");
    a = b = shape("gemma3", 1);
    b.scaling = RANDOM_NONE;
    differ(&a, &b, "linear scaling of the global layer");
    b = a;
    a.n_layer = b.n_layer = 5;
    b.scaling = RANDOM_NONE;
    same(&a, &b, "linear scaling without a global layer");
}

static void longrope(void **state)
{
    struct random_spec s = shape("phi3", 1), t;
    (void)state;
    struct result x = run_with(&s, N, REF_CACHE_EXACT);
    t = s;
    t.n_ctx_orig = N; /* short factors now, and another amplitude */
    struct result y = run_with(&t, N, REF_CACHE_EXACT);
    s = shape("phi3", 2);
    struct result z = run_with(&s, 1024, REF_CACHE_EXACT), w = run_with(&s, 1025, REF_CACHE_EXACT);
    double d = 0, e = 0, first = 0;
    for (int i = 0; i < N * x.n_vocab; i++)
        d = fmax(d, fabs(x.logits[i] - y.logits[i]));
    for (int i = 0; i < N * z.n_vocab; i++) {
        e = fmax(e, fabs(z.logits[i] - w.logits[i]));
        if (i < z.n_vocab)
            first = e;
    }
    assert_true(d > 1e-2);
    assert_true(e > 1e-2);
    assert_true(first < 1e-9); /* position 0 is not rotated; one key only */
    free(x.logits);
    free(y.logits);
    free(z.logits);
    free(w.logits);
}

static void windows(void **state)
{
    static const char *const families[] = { "gemma2", "gemma3", "gpt-oss", "phi3" };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(families); i++) {
        struct random_spec a = shape(families[i], 0), b = a;
        a.window = 1000;
        b.window = N;
        same(&a, &b, "a window of all");
        b.window = N - 1;
        assert_true(difference(&a, &b, 0, N - 1) < 1e-12);
        assert_true(difference(&a, &b, N - 1, N) > 1e-6);
        b.window = 4;
        differ(&a, &b, "a window of 4");
    }
    struct random_spec a = shape("phi3", 3), b = a;
    a.window = 0;
    b.window = 1000;
    same(&a, &b, "0 is no window");
}

static void mixtures(void **state)
{
    struct random_spec a, b;
    (void)state;
    for (int used = 1; used <= 5; used += 2) {
        a = shape("qwen3moe", 0);
        a.n_ff = a.n_ff_exp;
        a.n_expert_used = used;
        a.same_expert = true;
        b = a;
        b.family = "qwen3";
        b.n_expert = 0;
        same(&a, &b, "experts all alike");
        a.same_expert = false;
        differ(&a, &b, "experts");
        a.family = "mixtral";
        a.same_expert = true;
        b.family = "llama";
        same(&a, &b, "experts all alike");
        a = b = shape("gpt-oss", 0);
        a.same_expert = b.same_expert = true;
        a.n_expert_used = used;
        b.n_expert_used = 8;
        same(&a, &b, "experts all alike");
        for (int i = 1; i <= 2; i++) {
            a = b = shape("deepseek2", i);
            a.same_expert = a.renormalize = true;
            a.n_expert_used = used;
            a.n_shared = b.n_shared = 0;
            a.expert_scale = 1;
            a.n_ff = b.n_ff = a.n_ff_exp;
            b.n_dense = b.n_layer;
            same(&a, &b, "experts all alike");
            a.expert_scale = 2;
            differ(&a, &b, "scale");
        }
    }
    for (int i = 1; i <= 2; i++) {
        a = b = shape("deepseek2", i);
        b.n_group = b.n_group_used = 0;
        differ(&a, &b, "two groups of four");
        a.n_group_used = 4;
        same(&a, &b, "all groups");
    }
    a = b = shape("deepseek2", 3);
    b.choice_bias = false;
    differ(&a, &b, "bias of the choice");
}

static void invariances(void **state)
{
    static const char *const qk[] = { "olmo2", "qwen3", "qwen3moe", "gemma3" }, *const post[] = { "olmo2", "gemma2",
                                                                                                  "gemma3" };
    struct random_spec a, b;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(qk); i++) {
        a = b = shape(qk[i], 0);
        b.gain_q = 1000;
        a.gain_q = 100; /* eps vanishes beside it */
        same(&a, &b, "Q is normalized");
    }
    for (size_t i = 0; i < ARRAY_LEN(post); i++) {
        a = b = shape(post[i], 0);
        b.gain_o = 1000;
        a.gain_o = 100;
        same(&a, &b, "the output is normalized");
    }
    a = b = shape("llama", 0);
    b.gain_q = 2;
    differ(&a, &b, "Q is not normalized");
    a = b = shape("gpt-oss", 0);
    a.sink = 1e4;
    b.gain_o = 0;
    same(&a, &b, "a sink that takes all");
    b.gain_o = 1;
    differ(&a, &b, "a sink that does not");
}

static void caps(void **state)
{
    struct random_spec a = shape("gemma2", 0), b = a;
    (void)state;
    b.final_cap = 100;
    struct result x = run_with(&a, N, REF_CACHE_EXACT), y = run_with(&b, N, REF_CACHE_EXACT);
    double d = 0, bend = 0;
    for (int i = 0; i < N * x.n_vocab; i++) {
        double raw = 100 * atanh(y.logits[i] / 100);
        d = fmax(d, fabs(x.logits[i] - a.final_cap * tanh(raw / a.final_cap)));
        bend = fmax(bend, fabs(raw - x.logits[i]));
    }
    assert_true(d < 1e-6);
    assert_true(bend > 1);
    free(x.logits);
    free(y.logits);
    b = a;
    b.attn_cap = 1000;
    differ(&a, &b, "cap of the scores");
    a = b = shape("gemma2", 2);
    a.n_mute = 1;
    b.n_layer = 45;
    differ(&a, &b, "46 layers, heads of n_embd / n_head");
    b.gain_q = sqrt((double)a.head_dim / (a.n_embd / a.n_head));
    same(&a, &b, "46 layers take n_embd / n_head");
}

static void caches(void **state)
{
    (void)state;
    for (int f = 0; random_families[f]; f++) {
        struct random_spec s = shape(random_families[f], 0);
        struct result x = run_with(&s, N, REF_CACHE_EXACT), y = run_with(&s, N, REF_CACHE_F16),
                      z = run_with(&s, N, REF_CACHE_LATENT);
        double d = 0, e = 0;
        for (int i = 0; i < N * x.n_vocab; i++) {
            d = fmax(d, fabs(x.logits[i] - y.logits[i]));
            e = fmax(e, fabs(x.logits[i] - z.logits[i]));
        }
        if (!(d > 1e-7 && d < 5e-2 && e > 1e-7 && e < 5e-2))
            fail_msg("%s: F16 %g, latent %g", s.family, d, e);
        free(x.logits);
        free(y.logits);
        free(z.logits);
    }
}

static void refusals(void **state)
{
    char path[] = "test_ref.XXXXXX";
    struct error err = { 0 };
    (void)state;
    struct random_spec s = shape("olmo2", 0);
    close(mkstemp(path));
    s.window = 8;
    assert_ok(random_write(path, &s, &err), err);
    struct gguf *g = gguf_open(path, &err);
    assert_non_null(g);
    assert_null(ref_new(g, N, NULL, &err));
    assert_non_null(strstr(err.msg, "sliding window"));
    gguf_close(g);
    s = shape("gemma2", 0);
    s.family = "gemma";
    assert_ok(random_write(path, &s, &err), err);
    g = gguf_open(path, &err);
    assert_non_null(g);
    assert_null(ref_new(g, N, NULL, &err));
    assert_non_null(strstr(err.msg, "no family gemma"));
    gguf_close(g);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oracles), cmocka_unit_test(golden),   cmocka_unit_test(shapes),
        cmocka_unit_test(layouts), cmocka_unit_test(scalings), cmocka_unit_test(longrope),
        cmocka_unit_test(windows), cmocka_unit_test(mixtures), cmocka_unit_test(invariances),
        cmocka_unit_test(caps),    cmocka_unit_test(caches),   cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
