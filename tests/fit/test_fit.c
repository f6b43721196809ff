/* The fit: recovers the constants of synthetic measurements despite outliers; spreads are calibrated. */
#include "fit/fit.h"
#include "fit/least.h"
#include "tests/fit/toy.h"
#include "tests/test.h"
#include <math.h>
#include <string.h>

enum { N_ROW = 120, N_GROUP = 4 };
static struct work work[N_ROW];
static struct fit_row row[N_ROW];
static const double true_rate[N_GROUP] = { 0.9, 0.7, 0.8, 0.5 }, true_cost = 5e-6;

static void no_effects(struct fit_row *r)
{
    for (int s = 0; s < FIT_MAX_PARAMETERS; s++)
        for (int k = 0; k < FIT_MAX_EFFECTS; k++)
            r->effect[s][k] = FIT_NO_EFFECT;
}

static void make_rows(struct fit *f, double noise)
{
    struct error err = { 0 };
    fit_init(f);
    uint16_t rate = fit_effect(f, "rate", log(0.8), 0.3, &err), cost = fit_effect(f, "cost", log(1e-5), 1, &err);
    for (int i = 0; i < N_ROW; i++) {
        char name[32];
        snprintf(name, sizeof name, "rate group=%d", i % N_GROUP);
        work[i] = (struct work){ exp(8 * uniform()) * 1e-6, 1 + floor(10 * uniform()) };
        row[i] = (struct fit_row){ .features = &work[i], .sigma = fmax(noise, 0.01) };
        no_effects(&row[i]);
        row[i].effect[RATE][0] = rate;
        row[i].effect[RATE][1] = fit_effect(f, name, 0, 0.3, &err);
        row[i].effect[COST][0] = cost;
        row[i].ln_seconds = log(work[i].memory_s / true_rate[i % N_GROUP] + work[i].count * true_cost) + noise * normal();
    }
}

static double rate_of(const struct fit *f, int i)
{
    double parameter[FIT_MAX_PARAMETERS];
    fit_parameters(f, &model, &row[i], parameter);
    return exp(parameter[RATE]);
}

static void test_found_again(void **state)
{
    (void)state;
    struct fit f;
    struct error err = { 0 };
    seed = 1;
    make_rows(&f, 0);
    assert_ok(fit_run(&f, &model, row, N_ROW, NULL, &err), err);
    for (int g = 0; g < N_GROUP; g++)
        assert_true(fabs(rate_of(&f, g) / true_rate[g] - 1) < 0.01);
    assert_true(fabs(exp(f.effect[fit_find(&f, "cost")].value) / true_cost - 1) < 0.01);
    assert_int_equal(f.effect[fit_find(&f, "rate group=1")].n_row, N_ROW / N_GROUP);
    fit_free(&f);
}

/* One row in ten is off by a factor of three. */
static void test_robust(void **state)
{
    (void)state;
    struct fit f;
    struct error err = { 0 };
    seed = 2;
    make_rows(&f, 0.03);
    for (int i = 0; i < N_ROW; i += 10)
        row[i].ln_seconds += log(3);
    assert_ok(fit_run(&f, &model, row, N_ROW, NULL, &err), err);
    for (int g = 0; g < N_GROUP; g++)
        assert_true(fabs(rate_of(&f, g) / true_rate[g] - 1) < 0.08);
    fit_free(&f);
}

/* Left-out rows have no influence, and an unmeasured group has the common value, with its prior's spread. */
static void test_left_out(void **state)
{
    (void)state;
    struct fit f, g;
    struct error err = { 0 };
    bool keep[N_ROW];
    double sd, sd_known;
    for (int i = 0; i < N_ROW; i++)
        keep[i] = i % N_GROUP != 3;
    seed = 3;
    make_rows(&f, 0.02);
    assert_ok(fit_run(&f, &model, row, N_ROW, keep, &err), err);
    double before = fit_predict(&f, &model, &row[3], &sd, NULL);
    (void)fit_predict(&f, &model, &row[1], &sd_known, NULL);
    seed = 3;
    fit_free(&f);
    make_rows(&g, 0.02);
    for (int i = 3; i < N_ROW; i += N_GROUP)
        row[i].ln_seconds += log(3);
    assert_ok(fit_run(&g, &model, row, N_ROW, keep, &err), err);
    assert_true(fit_predict(&g, &model, &row[3], NULL, NULL) == before);
    assert_true(g.effect[fit_find(&g, "rate group=3")].value == 0);
    assert_true(fabs(g.effect[fit_find(&g, "rate group=3")].se - 0.3) < 1e-9);
    assert_true(sd > 3 * sd_known);
    fit_free(&g);
}

/* Over many draws, the interval of a constant has its nominal coverage. */
static void test_coverage(void **state)
{
    (void)state;
    enum { DRAWS = 200 };
    int held = 0;
    for (int d = 0; d < DRAWS; d++) {
        struct fit f;
        struct error err = { 0 };
        double sd;
        seed = 100 + (uint64_t)d;
        make_rows(&f, 0.05);
        assert_ok(fit_run(&f, &model, row, N_ROW, NULL, &err), err);
        double ln = fit_predict(&f, &model, &row[0], &sd, NULL);
        double truth = log(work[0].memory_s / true_rate[0] + work[0].count * true_cost);
        held += fabs(ln - truth) < 1.645 * sd;
        fit_free(&f);
    }
    assert_in_range(held, (int)(0.84 * DRAWS), (int)(0.97 * DRAWS));
}

static void test_share(void **state)
{
    (void)state;
    struct fit f;
    struct error err = { 0 };
    double sd, share[FIT_MAX_PARAMETERS];
    seed = 5;
    make_rows(&f, 0.02);
    work[0] = (struct work){ 1e-2, 1 }; /* all memory */
    (void)fit_predict(&f, &model, &row[0], &sd, share);
    assert_true(share[RATE] > 0.99 && share[COST] < 0.01);
    assert_true(fabs(sd - sqrt(0.3 * 0.3 + 0.3 * 0.3)) < 1e-3);
    work[0] = (struct work){ 0, 1 };
    row[0].ln_seconds = NAN;
    assert_fails(fit_run(&f, &model, row, N_ROW, NULL, &err), err, "not a finite number");
    fit_free(&f);
}

/* Rosenbrock's valley: residuals 10 (y - x^2) and 1 - x, with the minimum at the end of a bend that a full step leaves. */
static int valley(void *ctx, const double *x, double *sum)
{
    const double a = 10 * (x[1] - x[0] * x[0]), b = 1 - x[0];
    ++*(int *)ctx;
    *sum = a * a + b * b;
    return 0;
}

static int valley_normal(void *ctx, const double *x, double *jj, double *jf)
{
    const double a = 10 * (x[1] - x[0] * x[0]), b = 1 - x[0], da = -20 * x[0];
    (void)ctx;
    jj[0] += da * da + 1;
    jj[1] += da * 10;
    jj[3] += 100;
    jf[0] += da * a - b;
    jf[1] += 10 * a;
    return 0;
}

static void test_bend(void **state)
{
    (void)state;
    struct error err = { 0 };
    int looks = 0;
    double x[2] = { -1.2, 1 }, inverse[4];
    const struct least_problem p = { 2, &looks, valley, valley_normal };
    assert_ok(least_run(&p, x, inverse, &err), err);
    assert_true(fabs(x[0] - 1) < 1e-4 && fabs(x[1] - 1) < 1e-4);
    assert_true(looks <= 25); /* lmder takes 21 */
    /* of [401 -200; -200 100] */
    assert_true(fabs(inverse[0] - 1) < 0.01 && fabs(inverse[1] - 2) < 0.02 && inverse[1] == inverse[2] && fabs(inverse[3] - 4.01) < 0.04);
}

/* A triangle's inverse, solutions by it, and what has none. */
static void test_triangles(void **state)
{
    (void)state;
    enum { N = 7 };
    double a[N * N], u[N * N], inverse[N * N], x[N];
    seed = 5;
    for (int i = 0; i < N; i++)
        for (int j = i; j < N; j++)
            a[i * N + j] = a[j * N + i] = i == j ? N : (i + j) % 3 ? uniform() : 0;
    memcpy(u, a, sizeof u);
    assert_int_equal(least_cholesky(u, N), 0);
    for (int i = 0; i < N; i++)
        x[i] = a[i * N + 2];
    least_solve(u, N, x);
    least_inverse(u, N, inverse);
    for (int i = 0; i < N; i++) {
        assert_true(fabs(x[i] - (i == 2)) < 1e-12);
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int k = 0; k < N; k++)
                s += a[i * N + k] * inverse[k * N + j];
            assert_true(fabs(s - (i == j)) < 1e-12);
        }
    }
    a[0] = -1;
    assert_int_equal(least_cholesky(a, N), -1);
}

/* As many effects as one likes: each is found by its whole name, however alike, and those that were never added are not. */
static void test_names(void **state)
{
    (void)state;
    enum { N = 3000 };
    struct fit f;
    struct error err = { 0 };
    char name[32];
    fit_init(&f);
    assert_int_equal(fit_find(&f, "effect 0"), FIT_NO_EFFECT);
    for (int round = 0; round < 2; round++) /* those that are there are not added again */
        for (int i = 0; i < N; i++) {
            snprintf(name, sizeof name, "effect %d", i);
            assert_int_equal(fit_effect(&f, name, i, 1, &err), i);
        }
    assert_int_equal(f.n_effect, N);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "effect %d", i);
        assert_int_equal(fit_find(&f, name), i);
        assert_true(f.effect[i].value == i);
        snprintf(name, sizeof name, "effect %d", N + i);
        assert_int_equal(fit_find(&f, name), FIT_NO_EFFECT);
    }
    fit_free(&f);
}

/* Names are built from pieces, and cut where they are full, at whichever piece. */
static void test_name_of_pieces(void **state)
{
    (void)state;
    char name[FIT_MAX_NAME + 1], long_text[200];
    memset(name, 'x', sizeof name);
    char *at = fit_name_begin(name, "rate");
    assert_string_equal(name, "rate");
    at = fit_name_add(name, at, "group", "1");
    assert_string_equal(name, "rate group=1");
    at = fit_name_add(name, at, "", "");
    assert_string_equal(name, "rate group=1 =");
    assert_ptr_equal(at, name + strlen(name));
    memset(long_text, 'y', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    at = fit_name_add(name, at, "kind", long_text);
    at = fit_name_add(name, at, "z", "z");
    assert_int_equal(strlen(name), FIT_MAX_NAME - 1);
    assert_ptr_equal(at, name + FIT_MAX_NAME - 1);
    assert_int_equal(name[FIT_MAX_NAME - 2], 'y');
    assert_int_equal(name[FIT_MAX_NAME], 'x');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bend),
        cmocka_unit_test(test_triangles),
        cmocka_unit_test(test_found_again), cmocka_unit_test(test_robust),   cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_coverage),    cmocka_unit_test(test_share), cmocka_unit_test(test_names),
        cmocka_unit_test(test_name_of_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
