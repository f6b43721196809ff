/* Perplexity and KL divergence against values worked out by hand: methods.md (98). */
#include "../test.h"
#include "engine/quality.h"
#include <math.h>

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-6 * fabs(expected) + 1e-12))
        fail_msg("expected %.12g, found %.12g", expected, found);
}

/* Logits {0, ln 3}: p = {1/4, 3/4}. */
static const float quarter[2] = { 0, 1.0986122886681098f }, half[2] = { 7, 7 };

static void one_token(void **state)
{
    (void)state;
    struct token_quality t = quality_token(quarter, NULL, 2, 0);
    near(t.nll, log(4));
    assert_true(isnan(t.kl) && isnan(t.nll_base));
    near(quality_token(quarter, NULL, 2, 1).nll, log(4. / 3));
    t = quality_token(quarter, half, 2, 0); /* KL(half || quarter) = 1/2 ln 2 + 1/2 ln 2/3 */
    near(t.kl, 0.5 * log(4. / 3));
    near(t.nll_base, log(2));
    assert_false(t.same_top);
    t = quality_token(half, quarter, 2, 0); /* the other way it is another number: 1/4 ln 1/2 + 3/4 ln 3/2 */
    near(t.kl, 0.25 * log(0.5) + 0.75 * log(1.5));
    near(t.nll_base, log(4));
}

static void same_is_zero(void **state)
{
    (void)state;
    enum { N = 1000 };
    float x[N], y[N];
    struct rng r;
    rng_init(&r, 5);
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < N; i++) {
            x[i] = (float)(10 * rng_normal(&r));
            y[i] = x[i] + (float)(1e-7 * round * rng_normal(&r));
        }
        struct token_quality t = quality_token(x, x, N, round);
        assert_true(t.kl == 0 && t.nll == t.nll_base && t.same_top);
        t = quality_token(y, x, N, round);
        assert_true(t.kl >= 0 && t.kl < 1e-9);
    }
}

/* Logits too large for exp, and a p too small for a double. */
static void extremes(void **state)
{
    (void)state;
    const float huge[3] = { 3e4f, 3e4f, -3e4f }, small[3] = { -3e38f, -3e38f, -3e38f };
    near(quality_token(huge, NULL, 3, 0).nll, log(2));
    near(quality_token(huge, NULL, 3, 2).nll, 6e4 + log(2));
    near(quality_token(small, NULL, 3, 1).nll, log(3));
    const struct token_quality t = quality_token(huge, huge, 3, 2);
    assert_true(t.kl == 0);
    /* A uniform base spends a third on what the other calls impossible. */
    near(quality_token(huge, small, 3, 0).kl, -log(3) + 2. / 3 * log(2) + (6e4 + log(2)) / 3);
}

/* A model that knows nothing: as hard as guessing among the whole vocabulary. */
static void uniform(void **state)
{
    (void)state;
    enum { N = 300, TOKENS = 10 };
    const float x[N] = { 0 };
    struct error err = { 0 };
    struct token_quality t[TOKENS];
    struct quality q;
    for (int i = 0; i < TOKENS; i++)
        t[i] = quality_token(x, NULL, N, 29 * i);
    assert_ok(quality_sum(&q, t, TOKENS, &err), err);
    near(q.ppl, N);
    assert_true(q.ppl_se < 1e-9 && q.n_tokens == TOKENS);
    assert_true(isnan(q.kl) && isnan(q.ppl_base) && isnan(q.same_top) && isnan(q.dp_rms) && isnan(q.ln_ratio));
}

/* Four tokens of probabilities 1/2, 1/4, 1/8, 1/16; by the base 1/2 each. */
static void sums(void **state)
{
    (void)state;
    const double ln2 = log(2);
    struct token_quality t[4];
    struct error err = { 0 };
    struct quality q;
    for (int i = 0; i < 4; i++)
        t[i] = (struct token_quality){ .nll = (i + 1) * ln2, .nll_base = ln2, .kl = 0.1 * i, .same_top = i > 0 };
    assert_ok(quality_sum(&q, t, 4, &err), err);
    near(q.nll, 2.5 * ln2);
    near(q.nll_se, ln2 * sqrt(5. / 3 / 4)); /* variance of 1 2 3 4: 5/3 */
    near(q.ppl, pow(2, 2.5));
    near(q.ppl_se, pow(2, 2.5) * ln2 * sqrt(5. / 12));
    near(q.ppl_base, 2);
    near(q.ppl_base_se, 0);
    near(q.ln_ratio, 1.5 * ln2);
    near(q.ln_ratio_se, ln2 * sqrt(5. / 12));
    near(q.dp_rms, sqrt((0 + 1. / 16 + 9. / 64 + 49. / 256) / 4));
    near(q.same_top, 0.75);
    near(q.same_top_se, 0.25);
    near(q.kl, 0.15);
    near(q.kl_se, 0.1 * sqrt(5. / 12));
    near(q.kl_median, 0.15);
    near(q.kl_p99, 0.297);
    near(q.kl_p999, 0.2997);
    near(q.kl_max, 0.3);
}

/* The errors of the two perplexities are of one text: a base that is worse by the same factor everywhere leaves none. */
static void paired(void **state)
{
    (void)state;
    struct token_quality t[3];
    struct error err = { 0 };
    struct quality q;
    for (int i = 0; i < 3; i++)
        t[i] = (struct token_quality){ .nll = 1 + i, .nll_base = 1.5 + i, .kl = 0 };
    assert_ok(quality_sum(&q, t, 3, &err), err);
    near(q.ln_ratio, -0.5);
    near(q.ln_ratio_se, 0);
    assert_true(q.ppl_se > 1);
    assert_ok(quality_sum(&q, t, 1, &err), err);
    near(q.ppl, exp(1));
    assert_true(isnan(q.ppl_se) && isnan(q.kl_se) && isnan(q.ln_ratio_se) && isnan(q.same_top_se));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_token), cmocka_unit_test(same_is_zero), cmocka_unit_test(extremes),
        cmocka_unit_test(uniform),   cmocka_unit_test(sums),         cmocka_unit_test(paired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
