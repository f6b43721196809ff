/* Rows left out by algebra are predicted as a new fit without them predicts them. */
#include "base/environment.h"
#include "fit/cross.h"
#include "hwprofile/hwprofile.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_as_refitted), cmocka_unit_test(test_fit_again), cmocka_unit_test(test_many), cmocka_unit_test(test_shown) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
