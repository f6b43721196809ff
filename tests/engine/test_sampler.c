/* The sampler against distributions computed by hand, its options, its memory of the last tokens, large vocabularies. */
#include "../test.h"
#include "engine/engine.h"
#include <math.h>

static const float five[] = { 0, 3, 1, 3, -2 };

static void open_sampler(struct sampler *s, const struct sampler_options *o, uint32_t n)
{
    struct error err = { 0 };
    assert_ok(sampler_init(s, o, n, &err), err);
}

/* The share of each of n tokens in `draws` picks. */
static void shares(const struct sampler_options *o, const float *logits, uint32_t n, double *share)
{
    enum { DRAWS = 20000 };
    struct sampler s;
    open_sampler(&s, o, n);
    memset(share, 0, n * sizeof *share);
    for (int i = 0; i < DRAWS; i++)
        share[sampler_pick(&s, logits)] += 1.0 / DRAWS;
    sampler_free(&s);
}

/* Four standard deviations of a share of 20000 draws are at most 0.0142. */
static void expect_shares(const struct sampler_options *o, const double *want)
{
    double found[5];
    shares(o, five, 5, found);
    for (int i = 0; i < 5; i++) {
        if (want[i] == 0 ? found[i] > 0 : fabs(found[i] - want[i]) > 0.0142)
            fail_msg("token %d: share %g, expected %g", i, found[i], want[i]);
    }
}

static void greedy(void **state)
{
    (void)state;
    struct sampler_options o = sampler_default;
    struct sampler s;
    open_sampler(&s, &o, 5);
    assert_int_equal(sampler_pick(&s, five), 1); /* the lower id of two equals */
    sampler_free(&s);
    o.top_k = 2, o.top_p = 0.5, o.min_p = 0.1; /* keep the best one whatever they are */
    open_sampler(&s, &o, 5);
    assert_int_equal(sampler_pick(&s, five), 1);
    sampler_free(&s);
}

/* Wherever it stands, among infinities and numbers that are none. */
static void greedy_anywhere(void **state)
{
    (void)state;
    float l[101];
    struct sampler s;
    open_sampler(&s, &sampler_default, 101);
    for (int at = 0; at < 101; at++) {
        for (int i = 0; i < 101; i++)
            l[i] = i % 7 == 3 ? -INFINITY : i % 11 == 5 ? NAN : -5 - (float)(i % 13);
        l[at] = -4;
        l[100] = at == 99 ? -4 : l[100]; /* the lower id of two equals */
        assert_int_equal(sampler_pick(&s, l), at);
    }
    for (int i = 0; i < 101; i++)
        l[i] = NAN;
    assert_int_equal(sampler_pick(&s, l), 0);
    sampler_free(&s);
}

static void finite_logits(void **state)
{
    (void)state;
    float l[37];
    for (int at = -1; at < 37; at++)
        for (int k = 0; k < 3; k++) {
            for (int i = 0; i < 37; i++)
                l[i] = (float)i - 18;
            if (at >= 0)
                l[at] = (float[]){ NAN, INFINITY, -INFINITY }[k];
            assert_int_equal(logits_finite(l, 37), at < 0);
        }
}

static void distributions(void **state)
{
    (void)state;
    struct sampler_options o = sampler_default;
    const double e1 = exp(1), e3 = exp(3), em2 = exp(-2), all = 1 + 2 * e3 + e1 + em2;
    o.temperature = 1;
    expect_shares(&o, (double[]){ 1 / all, e3 / all, e1 / all, e3 / all, em2 / all });
    o.temperature = 2; /* square roots of the weights */
    const double half = 1 + 2 * exp(1.5) + exp(0.5) + exp(-1);
    expect_shares(&o, (double[]){ 1 / half, exp(1.5) / half, exp(0.5) / half, exp(1.5) / half, exp(-1) / half });
    o.temperature = 1;
    o.top_k = 3;
    const double three = 2 * e3 + e1;
    expect_shares(&o, (double[]){ 0, e3 / three, e1 / three, e3 / three, 0 });
    o.top_k = 100; /* more than there are */
    expect_shares(&o, (double[]){ 1 / all, e3 / all, e1 / all, e3 / all, em2 / all });
    o.top_k = 1;
    expect_shares(&o, (double[]){ 0, 1, 0, 0, 0 });
    o.top_k = 0;
    /* sorted: 1 and 3 with 0.456 each, 2 with 0.0617, 0 with 0.0227, 4 */
    o.top_p = 0.45;
    expect_shares(&o, (double[]){ 0, 1, 0, 0, 0 });
    o.top_p = 0.9;
    expect_shares(&o, (double[]){ 0, 0.5, 0, 0.5, 0 });
    o.top_p = 0.95;
    expect_shares(&o, (double[]){ 0, e3 / three, e1 / three, e3 / three, 0 });
    /* of the two that top-k keeps each has a half: top-p comes after it */
    o.top_k = 2, o.top_p = 0.49;
    expect_shares(&o, (double[]){ 0, 1, 0, 0, 0 });
    o.top_k = 0, o.top_p = 1;
    o.min_p = 0.1; /* exp(1 - 3) = 0.135 stays, exp(0 - 3) = 0.0498 goes */
    expect_shares(&o, (double[]){ 0, e3 / three, e1 / three, e3 / three, 0 });
    o.top_k = 4; /* the same among sorted tokens */
    expect_shares(&o, (double[]){ 0, e3 / three, e1 / three, e3 / three, 0 });
    o.top_k = 0;
    o.min_p = 1;
    expect_shares(&o, (double[]){ 0, 0.5, 0, 0.5, 0 });
    /* min-p looks at probabilities before the temperature */
    o.min_p = 0.1, o.temperature = 2;
    const double warm = 2 * exp(1.5) + exp(0.5);
    expect_shares(&o, (double[]){ 0, exp(1.5) / warm, exp(0.5) / warm, exp(1.5) / warm, 0 });
}

static void penalty(void **state)
{
    (void)state;
    const float logits[] = { 2, 1.5f, -1, -1.2f };
    struct sampler_options o = sampler_default;
    struct sampler s;
    o.repeat_penalty = 1.5;
    o.repeat_last_n = 2;
    open_sampler(&s, &o, 4);
    assert_int_equal(sampler_pick(&s, logits), 0);
    sampler_accept(&s, 0); /* 2 / 1.5 = 1.33 < 1.5 */
    assert_int_equal(sampler_pick(&s, logits), 1);
    sampler_accept(&s, 0); /* twice is not more than once */
    sampler_accept(&s, 3);
    assert_int_equal(sampler_pick(&s, logits), 1);
    sampler_accept(&s, 2); /* 0 is forgotten: 2 > 1.5 again */
    assert_int_equal(sampler_pick(&s, logits), 0);
    sampler_accept(&s, -1); /* no such tokens: nothing happens */
    sampler_accept(&s, 4);
    assert_int_equal(sampler_pick(&s, logits), 0);
    sampler_free(&s);
    /* A negative logit goes down too: -1 * 1.5 = -1.5 < -1.2. */
    const float low[] = { -1, -1.2f };
    o.repeat_last_n = -1;
    open_sampler(&s, &o, 2);
    sampler_accept(&s, 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(sampler_pick(&s, low), 1);
    sampler_free(&s);
    o.repeat_last_n = 0; /* off */
    open_sampler(&s, &o, 2);
    sampler_accept(&s, 0);
    assert_int_equal(sampler_pick(&s, low), 0);
    sampler_free(&s);
}

static void seeds(void **state)
{
    (void)state;
    struct sampler_options o = sampler_default;
    struct sampler a, b, c;
    int differ = 0;
    o.temperature = 1, o.top_k = 4, o.seed = 7;
    open_sampler(&a, &o, 5);
    open_sampler(&b, &o, 5);
    o.seed = 8;
    open_sampler(&c, &o, 5);
    for (int i = 0; i < 200; i++) {
        const int32_t x = sampler_pick(&a, five);
        assert_int_equal(x, sampler_pick(&b, five));
        differ += x != sampler_pick(&c, five);
    }
    assert_true(differ > 20);
    sampler_free(&a), sampler_free(&b), sampler_free(&c);
}

/* Logits no model gives: the draw stays within the vocabulary, and on the right side. */
static void extremes(void **state)
{
    (void)state;
    const float rows[][3] = { { INFINITY, 0, 0 }, { NAN, 5, -INFINITY }, { -INFINITY, -INFINITY, -INFINITY },
                              { 3e38f, -3e38f, 0 }, { NAN, NAN, NAN }, { 1e-40f, 0, -1e-40f } };
    const int32_t only[] = { 0, 1, -1, 0, -1, -1 };
    for (size_t r = 0; r < ARRAY_LEN(rows); r++)
        for (int mode = 0; mode < 8; mode++) {
            struct sampler_options o = sampler_default;
            struct sampler s;
            o.temperature = 1e-300;
            o.top_k = mode & 1 ? 2 : 0;
            o.top_p = mode & 2 ? 0.5 : 1;
            o.min_p = mode & 4 ? 0.5 : 0;
            open_sampler(&s, &o, 3);
            for (int i = 0; i < 10; i++) {
                const int32_t id = sampler_pick(&s, rows[r]);
                assert_in_range(id, 0, 2);
                if (only[r] >= 0)
                    assert_int_equal(id, only[r]);
            }
            sampler_free(&s);
        }
}

static void refusals(void **state)
{
    (void)state;
    const struct sampler_options d = sampler_default;
    const struct {
        double temperature, top_p, min_p, repeat;
        int32_t last_n;
        const char *text;
    } rows[] = {
        { -1, 1, 0, 1, 64, "--temp: expected a number from 0 to 100, found -1" },
        { NAN, 1, 0, 1, 64, "--temp" },
        { 0, 0, 0, 1, 64, "--top-p: expected a number above 0, at most 1, found 0" },
        { 0, 1.5, 0, 1, 64, "--top-p" },
        { 0, 1, -0.1, 1, 64, "--min-p: expected a number from 0 to 1, found -0.1" },
        { 0, 1, 2, 1, 64, "--min-p" },
        { 0, 1, 0, 0, 64, "--repeat-penalty: expected a number from 0.01 to 100, found 0" },
        { 0, 1, 0, INFINITY, 64, "--repeat-penalty" },
        { 0, 1, 0, 1, -2, "--repeat-last-n: expected -1 (all), 0 (off) or more, found -2" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sampler_options o = d;
        struct sampler s;
        struct error err = { 0 };
        o.temperature = rows[i].temperature, o.top_p = rows[i].top_p, o.min_p = rows[i].min_p;
        o.repeat_penalty = rows[i].repeat, o.repeat_last_n = rows[i].last_n;
        assert_fails(sampler_init(&s, &o, 5, &err), err, rows[i].text);
        sampler_free(&s);
    }
    struct sampler s;
    struct error err = { 0 };
    assert_fails(sampler_init(&s, &d, 0, &err), err, "without tokens");
}

static int descending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* What is picked lies among the tokens that a full sort keeps. */
static void large_vocabulary(void **state)
{
    (void)state;
    enum { N = 262144 };
    float *logits = malloc(N * sizeof *logits), *sorted = malloc(N * sizeof *sorted);
    struct rng r;
    assert_non_null(logits);
    assert_non_null(sorted);
    rng_init(&r, 3);
    for (int i = 0; i < N; i++)
        sorted[i] = logits[i] = (float)(3 * rng_normal(&r));
    qsort(sorted, N, sizeof *sorted, descending);
    double total = 0, sum = 0;
    for (int i = 0; i < N; i++)
        total += exp((double)sorted[i] - sorted[0]);
    int kept = 0; /* by top-p 0.1 */
    while (sum < 0.1 * total)
        sum += exp((double)sorted[kept++] - sorted[0]);
    for (int mode = 0; mode < 2; mode++) {
        struct sampler_options o = sampler_default;
        struct sampler s;
        o.temperature = 5; /* nearly flat */
        o.top_k = mode ? 0 : 40;
        o.top_p = mode ? 0.1 : 1;
        const float least = mode ? sorted[kept - 1] : sorted[39];
        float lowest = INFINITY;
        open_sampler(&s, &o, N);
        const double start = clock_now_s();
        for (int i = 0; i < 300; i++)
            lowest = fminf(lowest, logits[sampler_pick(&s, logits)]);
        print_message("# %s of %d logits: %.2f ms a pick\n", mode ? "top-p 0.1" : "top-k 40", N,
                      (clock_now_s() - start) / 300 * 1e3);
        assert_true(lowest >= least);
        assert_true(lowest < (mode ? sorted[kept / 4] : sorted[35])); /* and the tail of them is reached */
        sampler_free(&s);
    }
    free(logits);
    free(sorted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greedy),
        cmocka_unit_test(greedy_anywhere),
        cmocka_unit_test(finite_logits),   cmocka_unit_test(distributions), cmocka_unit_test(penalty),
        cmocka_unit_test(seeds),    cmocka_unit_test(extremes),      cmocka_unit_test(refusals),
        cmocka_unit_test(large_vocabulary),
    };
    return cmocka_run_group_tests_name("sampler", tests, NULL, NULL);
}
