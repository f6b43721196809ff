/*
 * How far 8-bit activations take logits from those of float ones, in passes of many tokens and of few: no further than another engine's
 * 8-bit activations do, and no further in prompts than token by token. methods.md (89)
 */
#include "../test.h"
#include "engine/engine.h"
#include "engine/quality.h"
#include "model/model.h"
#include "ref/make_random.h"
#include <math.h>
#include <unistd.h>

enum { FEW = 16, MANY = 40 }; /* tokens of a pass, with exact scales whatever is asked for, and with those that are */

static struct engine *engine_for(const struct model *m, uint32_t n, uint32_t n_ubatch, unsigned flags, bool pow2)
{
    struct error err = { 0 };
    const struct engine_options o = { .n_ctx = n, .n_ubatch = n_ubatch, .n_out_max = n_ubatch, .n_threads = 1, .cpu_flags = flags,
                                      .type_k = DTYPE_F16, .type_v = DTYPE_F16, .pow2_scales = pow2 };
    struct engine *e = engine_new(m, &o, &err);
    if (!e)
        fail_msg("engine_new: %s", err.msg);
    return e;
}

/* Logits [n, n_vocab] by passes of at most n_ubatch tokens. Caller frees. */
static float *logits_by(const struct model *m, const int32_t *tok, uint32_t n, uint32_t n_ubatch, unsigned flags, bool pow2)
{
    const size_t v = m->hp.n_vocab;
    struct error err = { 0 };
    struct engine *e = engine_for(m, n, n_ubatch, flags, pow2);
    float *out = malloc(n * v * sizeof *out);
    const float *l;
    for (uint32_t i = 0, k; i < n; i += k) {
        k = n - i < n_ubatch ? n - i : n_ubatch;
        assert_ok(engine_eval(e, tok + i, k, i, k, &l, &err), err);
        memcpy(out + i * v, l, k * v * sizeof *out);
    }
    engine_free(e);
    return out;
}

/* Mean KL(base || x) of the first n rows. */
static double mean_kl(const float *base, const float *x, size_t n, uint32_t n_vocab)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += quality_token(x + i * n_vocab, base + i * n_vocab, n_vocab, 0).kl;
    return sum / (double)n;
}

/* ---- against another engine ------------------------------------------------------------------- */

/* The oracle's 32 tokens at the front of a pass of more: no token sees those behind it. */
static void check_oracle(const char *name)
{
    char path[4200];
    int32_t head[2], tok[MANY];
    struct error err = { 0 };
    struct model m = { 0 };
    snprintf(path, sizeof path, "%s/data/oracle/%s.logits", shared_dir(), name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(head, sizeof head, 1, f), 1);
    const uint32_t n = (uint32_t)head[0], v = (uint32_t)head[1];
    assert_in_range(n, 1, MANY - 7);
    float *theirs = malloc((size_t)n * v * sizeof *theirs);
    assert_int_equal(fread(tok, sizeof *tok, n, f), n);
    assert_int_equal(fread(theirs, sizeof *theirs * v, n, f), n);
    fclose(f);
    for (uint32_t i = n; i < MANY; i++)
        tok[i] = tok[i - n];
    snprintf(path, sizeof path, "%s/data/oracle/%s.gguf", shared_dir(), name);
    assert_ok(model_load(&m, path, NULL, &err), err);
    float *exact = logits_by(&m, tok, MANY, MANY, 0, false), *ours = logits_by(&m, tok, MANY, MANY, cpu_flags(), false);
    const double their_kl = mean_kl(exact, theirs, n, v), our_kl = mean_kl(exact, ours, n, v);
    print_message("# %s: KL from float activations %.3g, the other engine's %.3g\n", name, our_kl, their_kl);
    if (!(our_kl <= 1.1 * their_kl))
        fail_msg("%s: KL from float activations %g, the other engine's is %g", name, our_kl, their_kl);
    free(exact);
    free(ours);
    free(theirs);
    model_free(&m);
}

static void test_oracles(void **state)
{
    static const char *const names[] = { "Q8_0", "Q4_0", "Q4_K_S", "Q4_K_M", "Q5_K_S", "Q6_K" };
    (void)state;
    if (!shared_dir()) {
        print_message("# skipped: no shared data (set ROOFCAST_SHARED)\n");
        skip();
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char name[48];
        snprintf(name, sizeof name, "llama-gqa-%s", names[i]);
        check_oracle(name);
    }
}

/* ---- many tokens against few ------------------------------------------------------------------- */

static void make_model(struct model *m, enum dtype weights, double outliers)
{
    struct random_spec s;
    struct error err = { 0 };
    char path[64];
    random_spec_at(&s, "llama", 0);
    s.weights = weights;
    s.n_layer = 2;
    s.n_embd = s.n_ff = 512;
    s.n_head = 8;
    s.n_head_kv = 2;
    s.head_dim = s.n_rot = 64;
    s.n_vocab = 512;
    s.n_ctx = 256;
    s.outliers = outliers;
    snprintf(path, sizeof path, "test_scales.%s.gguf", dtype_name(weights));
    assert_ok(random_write(path, &s, &err), err);
    assert_ok(model_load(m, path, NULL, &err), err);
    unlink(path);
}

/* Of all types together: of one the figure is off by some percent. */
static void check_many(double outliers)
{
    static const enum dtype types[] = { DTYPE_Q8_0, DTYPE_Q4_0, DTYPE_Q4_K, DTYPE_Q6_K };
    enum { N = 4 * MANY };
    double few_kl = 0, many_kl = 0, pow2_kl = 0;
    bool faster = false;
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        int32_t tok[N];
        struct model m = { 0 };
        make_model(&m, types[i], outliers);
        for (int k = 0; k < N; k++)
            tok[k] = (k * 149 + k * k % 61) % (int)m.hp.n_vocab;
        float *exact = logits_by(&m, tok, N, N, 0, false), *few = logits_by(&m, tok, N, FEW, cpu_flags(), true);
        float *many = logits_by(&m, tok, N, N, cpu_flags(), false), *pow2 = logits_by(&m, tok, N, N, cpu_flags(), true);
        few_kl += mean_kl(exact, few, N, m.hp.n_vocab);
        many_kl += mean_kl(exact, many, N, m.hp.n_vocab);
        pow2_kl += mean_kl(exact, pow2, N, m.hp.n_vocab);
        struct engine *e = engine_for(&m, N, N, cpu_flags(), true);
        faster = engine_act_scales(e, 0) == ACT_SCALES_POW2;
        engine_free(e);
        free(exact);
        free(few);
        free(many);
        free(pow2);
        model_free(&m);
    }
    print_message("# outliers %g: KL of passes of %d tokens %.3g, of %d %.3g, with powers of two %.3g\n", outliers, FEW, few_kl, N, many_kl, pow2_kl);
    if (!(many_kl <= 1.1 * few_kl))
        fail_msg("outliers %g: KL from float activations of passes of %d tokens %g, of %d %g", outliers, N, many_kl, FEW, few_kl);
    if (faster && !(pow2_kl > 1.25 * many_kl))
        fail_msg("outliers %g: powers of two were asked for: KL %g, of exact scales %g", outliers, pow2_kl, many_kl);
}

static void test_many_tokens(void **state)
{
    (void)state;
    if (!getenv("ROOFCAST_CHECK_EVERY")) /* programs run fast */
        check_many(1);
    check_many(8);
}

/* ---- what is said of them --------------------------------------------------------------------- */

static void test_names(void **state)
{
    (void)state;
    static const struct {
        enum dtype weights;
        bool ref, pow2;
    } cases[] = { { DTYPE_Q8_0, false, false }, { DTYPE_Q8_0, false, true }, { DTYPE_F16, false, true }, { DTYPE_Q8_0, true, true } };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct model m = { 0 };
        make_model(&m, cases[i].weights, 1);
        const unsigned flags = cases[i].ref ? 0 : cpu_flags();
        struct engine *e = engine_for(&m, 64, 64, flags, cases[i].pow2);
        const bool none = cases[i].weights == DTYPE_F16 || engine_kernels(e)->packed[DTYPE_Q8_0].act != ACT_Q8;
        const bool gains = cases[i].pow2 && engine_kernels(e)->pow2_min_tok > 0;
        assert_int_equal(engine_act_scales(e, 1), none ? ACT_SCALES_NONE : ACT_SCALES_EXACT);
        assert_int_equal(engine_act_scales(e, 0), none ? ACT_SCALES_NONE : gains ? ACT_SCALES_POW2 : ACT_SCALES_EXACT);
        engine_free(e);
        model_free(&m);
    }
    assert_string_equal(act_scales_name(ACT_SCALES_NONE), "");
    assert_string_equal(act_scales_name(ACT_SCALES_EXACT), "exact");
    assert_string_equal(act_scales_name(ACT_SCALES_POW2), "pow2");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracles),
        cmocka_unit_test(test_many_tokens),
        cmocka_unit_test(test_names),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
