/* Rows left out by algebra are predicted as a new fit without them predicts them; intervals made from them hold, of machines
 * that are known and of those that are not, where rows are normal and where they are not. */
#include "base/environment.h"
#include "fit/cross.h"
#include "fit/quantile.h"
#include "hwprofile/hwprofile.h"
#include "learn/half_width.h"
#include "tests/fit/toy.h"
#include "tests/test.h"
#include <math.h>

/* Of mean 0 and spread 1, with tails heavier than a normal's: Student's t with 4 degrees of freedom. */
static double heavy(void)
{
    double chi = 0;
    for (int i = 0; i < 4; i++) {
        const double x = normal();
        chi += x * x;
    }
    return normal() / sqrt(chi / 4) / sqrt(2);
}

/* Machines differ in the fraction of their rate by machine_sd, their rows by noise, both more in one class than in the other. */
enum { N_MACHINE = 40, PER_MACHINE = 6, N_ROW = N_MACHINE * PER_MACHINE, N_CLASS = 2 };
static const double machine_sd[N_CLASS] = { 0.05, 0.2 }, noise[N_CLASS] = { 0.03, 0.1 };
static const double rate = 0.6, cost_s = 5e-6, sigma = 0.07;
static struct work work[N_ROW];
static struct fit_row row[N_ROW];
static double truth[N_MACHINE]; /* effect of each machine */

static struct fit_row draw(struct fit *f, struct work *w, int machine, double effect, bool add)
{
    struct error err = { 0 };
    char name[40];
    const int class = machine % N_CLASS;
    *w = (struct work){ exp(6 * uniform()) * 1e-6, 1 + floor(3 * uniform()) };
    struct fit_row r = { .features = w, .sigma = sigma };
    for (int s = 0; s < FIT_MAX_PARAMETERS; s++)
        for (int k = 0; k < FIT_MAX_EFFECTS; k++)
            r.effect[s][k] = FIT_NO_EFFECT;
    r.effect[RATE][0] = fit_effect(f, "rate", log(0.8), 0.3, &err);
    r.effect[COST][0] = fit_effect(f, "cost", log(1e-5), 1, &err);
    snprintf(name, sizeof name, "rate machine=%d", machine);
    if (add)
        r.effect[RATE][1] = fit_effect(f, name, 0, 0.1, &err);
    else
        r.prior_var[RATE] = 0.1 * 0.1; /* a machine like any other, as far as the fit knows */
    r.ln_seconds = log(w->memory_s / (rate * exp(effect)) + w->count * cost_s) + noise[class] * heavy();
    return r;
}

static void make_rows(struct fit *f)
{
    struct error err = { 0 };
    fit_init(f);
    for (int m = 0; m < N_MACHINE; m++) {
        truth[m] = machine_sd[m % N_CLASS] * heavy();
        for (int i = 0; i < PER_MACHINE; i++)
            row[m * PER_MACHINE + i] = draw(f, &work[m * PER_MACHINE + i], m, truth[m], true);
    }
    assert_ok(fit_run(f, &model, row, N_ROW, NULL, &err), err);
}

/* ---- leaving out ------------------------------------------------------------------------------------ */

static void as_refitted(int (*leave_out)(struct cross *, const size_t *, size_t, const double *, bool, struct cross_row *, struct error *),
                        double most_error)
{
    struct fit f;
    struct error err = { 0 };
    double worst_error = 0, worst_sd = 0;
    seed = 11;
    make_rows(&f);
    struct cross *c = cross_new(&f, &model, row, N_ROW, &err);
    assert_non_null(c);
    for (int m = 0; m < N_MACHINE; m++) {
        size_t member[PER_MACHINE];
        struct cross_row out[PER_MACHINE];
        bool keep[N_ROW];
        struct fit again;
        for (int i = 0; i < PER_MACHINE; i++)
            member[i] = (size_t)(m * PER_MACHINE + i);
        for (int i = 0; i < N_ROW; i++)
            keep[i] = i / PER_MACHINE != m;
        assert_ok(leave_out(c, member, PER_MACHINE, NULL, false, out, &err), err);
        fit_init(&again);
        for (size_t j = 0; j < f.n_effect; j++)
            (void)fit_effect(&again, f.effect[j].name, f.effect[j].prior, f.effect[j].sd, &err);
        assert_ok(fit_run(&again, &model, row, N_ROW, keep, &err), err);
        for (int i = 0; i < PER_MACHINE; i++) {
            double sd;
            const double error = fit_predict(&again, &model, &row[member[i]], &sd, NULL) - row[member[i]].ln_seconds;
            worst_error = fmax(worst_error, fabs(out[i].error - error) / sd);
            worst_sd = fmax(worst_sd, fabs(out[i].sd / sd - 1));
        }
        fit_free(&again);
    }
    if (worst_error > most_error || worst_sd > 0.03)
        fail_msg("off by %.3f spreads, spreads by %.3f", worst_error, worst_sd);
    cross_free(c);
    fit_free(&f);
}

static void test_as_refitted(void **state)
{
    (void)state;
    as_refitted(cross_leave_out, 0.05);
}

/* A few more steps: as near as the fit itself ends. */
static void test_fit_again(void **state)
{
    (void)state;
    as_refitted(cross_fit_again, 0.003);
}

/* More rows than constants: half of each machine's. Their rate is then known by three rows of six. */
static void test_many(void **state)
{
    (void)state;
    enum { N_OUT = N_ROW / 2 };
    struct fit f, again;
    struct error err = { 0 };
    size_t member[N_OUT], n = 0;
    struct cross_row out[N_OUT], apart[N_OUT];
    bool keep[N_ROW];
    seed = 13;
    make_rows(&f);
    assert_true(f.n_effect < N_OUT);
    for (size_t i = 0; i < N_ROW; i++) {
        keep[i] = i % 2 == 0;
        if (!keep[i])
            member[n++] = i;
    }
    struct cross *c = cross_new(&f, &model, row, N_ROW, &err);
    assert_ok(cross_leave_out(c, member, n, NULL, false, out, &err), err);
    assert_ok(cross_leave_out(c, member, n, NULL, true, apart, &err), err);
    fit_init(&again);
    for (size_t j = 0; j < f.n_effect; j++)
        (void)fit_effect(&again, f.effect[j].name, f.effect[j].prior, f.effect[j].sd, &err);
    assert_ok(fit_run(&again, &model, row, N_ROW, keep, &err), err);
    for (size_t i = 0; i < n; i++) {
        double sd;
        const double error = fit_predict(&again, &model, &row[member[i]], &sd, NULL) - row[member[i]].ln_seconds;
        assert_true(fabs(out[i].error - error) < 0.3 * sd && fabs(out[i].sd / sd - 1) < 0.1); /* one step far */
        assert_true(fabs(apart[i].error - out[i].error) < 1e-12 && apart[i].sd > 0.5 * out[i].sd);
    }
    struct cross_row few[1]; /* by the other form: alone it leaves more that is known */
    assert_ok(cross_leave_out(c, member, 1, NULL, false, few, &err), err);
    assert_true(few[0].sd < out[0].sd);
    fit_free(&again);
    cross_free(c);
    fit_free(&f);
}

/* A row that stays, and is worth more than before; constants taken one by one spread no less than all together. */
static void test_shown(void **state)
{
    (void)state;
    struct fit f, again;
    struct error err = { 0 };
    const size_t member[PER_MACHINE] = { 6, 7, 8, 9, 10, 11 };
    const double shown[PER_MACHINE] = { 0.02, 0, 0, 0, 0, 0 };
    struct cross_row out[PER_MACHINE], none[PER_MACHINE], apart[PER_MACHINE];
    bool keep[N_ROW];
    seed = 12;
    make_rows(&f);
    struct cross *c = cross_new(&f, &model, row, N_ROW, &err);
    assert_ok(cross_leave_out(c, member, PER_MACHINE, NULL, false, none, &err), err);
    assert_ok(cross_leave_out(c, member, PER_MACHINE, NULL, true, apart, &err), err);
    assert_ok(cross_leave_out(c, member, PER_MACHINE, shown, false, out, &err), err);
    for (int i = 0; i < N_ROW; i++)
        keep[i] = i / PER_MACHINE != 1 || i == 6;
    row[6].sigma = 0.02;
    fit_init(&again);
    for (size_t j = 0; j < f.n_effect; j++)
        (void)fit_effect(&again, f.effect[j].name, f.effect[j].prior, f.effect[j].sd, &err);
    assert_ok(fit_run(&again, &model, row, N_ROW, keep, &err), err);
    for (int i = 1; i < PER_MACHINE; i++) {
        double sd;
        const double error = fit_predict(&again, &model, &row[member[i]], &sd, NULL) - row[member[i]].ln_seconds;
        assert_true(fabs(out[i].error - error) < 0.3 * sd);
        assert_true(out[i].sd < none[i].sd && fabs(out[i].sd / sd - 1) < 0.25);
        assert_true(apart[i].error == none[i].error && apart[i].sd > 0.5 * none[i].sd);
    }
    fit_free(&again);
    cross_free(c);
    fit_free(&f);
}

/* ---- quantiles ---------------------------------------------------------------------------------------- */

static struct quantile_row ratio(struct fit *f, int class, double value)
{
    static const char *const name[N_CLASS] = { "interval class=a", "interval class=b" };
    struct error err = { 0 };
    struct quantile_row r = { .ln_ratio = log(fmax(fabs(value), 1e-3)), .weight = 1 };
    r.effect[r.n_effect++] = fit_effect(f, "interval", log(1.645), 0.5, &err);
    r.effect[r.n_effect++] = fit_effect(f, name[class], 0, 0.5, &err);
    return r;
}

/* Many rows of a kind have their own quantile, few keep near that of all. */
static void test_quantiles(void **state)
{
    (void)state;
    enum { N = 4000 };
    static struct quantile_row r[N];
    struct fit f;
    struct error err = { 0 };
    seed = 21;
    fit_init(&f);
    for (int i = 0; i < N; i++)
        r[i] = ratio(&f, i % 2, (i % 2 ? 3 : 1) * normal());
    assert_ok(quantile_run(&f, r, N, 0.9, &err), err);
    assert_true(fabs(exp(quantile_predict(&f, &r[0])) / 1.645 - 1) < 0.08);
    assert_true(fabs(exp(quantile_predict(&f, &r[1])) / (3 * 1.645) - 1) < 0.08);
    fit_free(&f);
    fit_init(&f);
    for (int i = 0; i < 401; i++)
        r[i] = ratio(&f, i == 400, (i == 400 ? 10 : 1) * 1.5 * (i % 2 ? 1 : 0.7));
    assert_ok(quantile_run(&f, r, 401, 0.9, &err), err);
    const double few = quantile_predict(&f, &r[400]) - quantile_predict(&f, &r[0]);
    assert_true(few > 0.05 && few < 0.5); /* 2.3 if it had its own */
    /* what f does not know makes it wider */
    const double known = quantile_predict(&f, &r[0]);
    r[0].prior_var = 0.1;
    assert_true(quantile_predict(&f, &r[0]) > known + 0.05);
    fit_free(&f);
}

/* A thousand rows of one origin, each a thirtieth of a row, weigh as much as thirty others. */
static void test_weights(void **state)
{
    (void)state;
    enum { MANY = 1000, N = MANY + 33 };
    static struct quantile_row r[N];
    struct fit f;
    struct error err = { 0 };
    double half[2];
    for (int light = 0; light < 2; light++) {
        seed = 22;
        fit_init(&f);
        for (int i = 0; i < N; i++) {
            r[i] = ratio(&f, 0, (i < MANY ? 1 : 5) * normal());
            r[i].weight = light && i < MANY ? 0.03 : 1;
        }
        assert_ok(quantile_run(&f, r, N, 0.9, &err), err);
        half[light] = exp(quantile_predict(&f, &r[0]));
        fit_free(&f);
    }
    assert_true(half[0] < 2.2 && half[1] > 3);
}

/* ---- how far to either side ------------------------------------------------------------------------------ */

/* Rows that are faster lie within a fifth of a half, those that are slower far out: skew times as far. */
static void skewed(struct half_width_row *r, size_t n, double skew)
{
    for (size_t i = 0; i < n; i++) {
        const double z = normal(), out = z < 0 ? -0.1 * z : skew * 0.1 * z;
        r[i] = (struct half_width_row){ .ln_out = log(fmax(out, 1e-3)), .ln_half = log(0.5), .weight = 1, .faster = z < 0 };
    }
}

static double held(const struct half_width_row *r, size_t n, const struct half_width *x)
{
    size_t in = 0;
    for (size_t i = 0; i < n; i++)
        in += r[i].ln_out <= (r[i].faster ? x->faster : x->slower);
    return (double)in / (double)n;
}

static void test_reach(void **state)
{
    (void)state;
    enum { N = 20000, FEW = 100 };
    static struct half_width_row r[N], more[N];
    seed = 31;
    skewed(r, N, 8);
    skewed(more, N, 8);
    const struct half_width x = half_width_shortest(r, N);
    assert_true(fabs(held(more, N, &x) - 0.9) < 0.01);
    const struct half_width both = { half_width_within(r, N), half_width_within(r, N) };
    assert_true(fabs(held(more, N, &both) - 0.9) < 0.01);
    const double length = exp(0.5 * exp(x.slower)) - exp(-0.5 * exp(x.faster)),
                 one = exp(0.5 * exp(both.slower)) - exp(-0.5 * exp(both.faster));
    if (!(length < 0.8 * one && x.faster < x.slower - 1))
        fail_msg("%g is not shorter than %g: %g faster, %g slower", length, one, exp(x.faster), exp(x.slower));
    /* few rows do not resolve tails; a heavy row is as many light ones */
    const struct half_width few = half_width_shortest(r, FEW);
    assert_true(few.slower == few.faster);
    for (size_t i = 0; i < FEW; i++)
        r[i] = (struct half_width_row){ .ln_out = i < 10 ? 1 : 0, .weight = i < 10 ? 10 : 0.1 };
    assert_true(half_width_within(r, FEW) == 1);
}

/* ---- the whole: coverage ------------------------------------------------------------------------------- */

static void spreads(struct fit *to, struct fit *f, bool by_machine)
{
    static struct quantile_row q[N_ROW];
    struct error err = { 0 };
    struct cross *c = cross_new(f, &model, row, N_ROW, &err);
    const size_t n = by_machine ? PER_MACHINE : 1;
    fit_init(to);
    for (size_t i = 0; i < N_ROW; i += n) {
        size_t member[PER_MACHINE];
        struct cross_row out[PER_MACHINE];
        for (size_t k = 0; k < n; k++)
            member[k] = i + k;
        assert_ok(cross_leave_out(c, member, n, NULL, false, out, &err), err);
        for (size_t k = 0; k < n; k++)
            q[i + k] = ratio(to, (int)(i / PER_MACHINE) % N_CLASS, out[k].error / sqrt(out[k].sd * out[k].sd + sigma * sigma));
    }
    assert_ok(quantile_run(to, q, N_ROW, 0.9, &err), err);
    cross_free(c);
}

static bool holds(const struct fit *f, struct fit *spread, const struct fit_row *r, int class)
{
    double sd;
    const double ln = fit_predict(f, &model, r, &sd, NULL);
    const struct quantile_row q = ratio(spread, class, 1);
    return fabs(ln - r->ln_seconds) < exp(quantile_predict(spread, &q)) * sqrt(sd * sd + sigma * sigma);
}

/* Rows to come, of machines that the fit had and of others, of both classes: nine in ten are held. Rows of one new machine
 * are off together, so one is drawn of each; limits are three deviations of a binomial. */
static void test_coverage(void **state)
{
    (void)state;
    enum { DRAWS = 40, NEW = 20 };
    int held[2][N_CLASS] = { { 0 } };
    for (int d = 0; d < DRAWS; d++) {
        struct fit f, spread[2];
        seed = 1000 + (uint64_t)d;
        make_rows(&f);
        spreads(&spread[0], &f, false);
        spreads(&spread[1], &f, true);
        for (int i = 0; i < NEW; i++) {
            struct work w;
            const struct fit_row more = draw(&f, &w, i, truth[i], true);
            held[0][i % N_CLASS] += holds(&f, &spread[0], &more, i % N_CLASS);
            const struct fit_row fresh = draw(&f, &w, i, machine_sd[i % N_CLASS] * heavy(), false);
            held[1][i % N_CLASS] += holds(&f, &spread[1], &fresh, i % N_CLASS);
        }
        fit_free(&spread[0]);
        fit_free(&spread[1]);
        fit_free(&f);
    }
    const double n = DRAWS * NEW / N_CLASS, limit = 3 * sqrt(0.9 * 0.1 / n);
    for (int k = 0; k < 2 * N_CLASS; k++)
        if (fabs(held[k / N_CLASS][k % N_CLASS] / n - 0.9) > limit)
            fail_msg("%s, class %d: %d of %g are held", k / N_CLASS ? "new machines" : "known machines", k % N_CLASS,
                     held[k / N_CLASS][k % N_CLASS], n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_refitted), cmocka_unit_test(test_fit_again), cmocka_unit_test(test_many), cmocka_unit_test(test_shown), cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_weights), cmocka_unit_test(test_reach), cmocka_unit_test(test_coverage),
    };
    environment_set_dirs(data_dirs());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
