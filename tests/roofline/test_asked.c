/* Questions whose answers have an interval: targets, limits together, ratios, requests. methods.md (48), (87), (88) */
#include "../test.h"
#include "near.h"
#include "roofline/ask.h"
#include "source.h"

struct on {
    struct model m;
    struct hwprofile h;
    struct time_constants k;
    struct time_source t;
};

static int load(void **state)
{
    static struct on x;
    struct error err = { 0 };
    model_set_dirs(data_dirs());
    hwprofile_set_dirs(data_dirs());
    assert_ok(model_load(&x.m, "llama-3-8b", "F16", &err), err);
    assert_ok(hwprofile_load(&x.h, "h100-sxm", &err), err);
    x.k = source_constants();
    x.t = (struct time_source){ &x.k, source_same, source_explain, source_whole };
    *state = &x;
    return 0;
}

static int unload(void **state)
{
    struct on *x = *state;
    hwprofile_free(&x->h);
    model_free(&x->m);
    return 0;
}

static struct predict_result predicted(const struct on *x, const struct predict_options *o)
{
    struct predict_result r;
    struct error err = { 0 };
    assert_ok(predict(&r, &x->m, &x->h, o, &err), err);
    return r;
}

/* ---- targets --------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static struct solution answer(const struct on *x, const struct predict_options *o, const char *fmt, ...)
{
    char text[64];
    struct question q;
    struct solution s;
    struct error err = { 0 };
    va_list a;
    va_start(a, fmt);
    vsnprintf(text, sizeof text, fmt, a);
    va_end(a);
    assert_ok(question_parse(&q, text, &err), err);
    assert_ok(solve(&s, &q, &x->m, &x->h, o, &err), err);
    return s;
}

__attribute__((format(printf, 2, 3))) static void check_says(const struct solution *s, const char *fmt, ...)
{
    char text[64];
    va_list a;
    va_start(a, fmt);
    vsnprintf(text, sizeof text, fmt, a);
    va_end(a);
    if (!strstr(s->text, text))
        fail_msg("\"%s\" does not say \"%s\"", s->text, text);
}

/* Chance that a step of so many sequences takes at most so long. */
static double chance_of(const struct on *x, double n_batch, double most_s)
{
    struct predict_options o = source_options(&x->t);
    o.n_batch = (uint32_t)n_batch;
    const struct predict_result r = predicted(x, &o);
    return prediction_chance(&r.decode, most_s);
}

/* The last with a chance of p: one more has less. */
static void check_last(const struct on *x, double n_batch, double most_s, double p)
{
    assert_true(chance_of(x, n_batch, most_s) >= p && chance_of(x, n_batch + 1, most_s) < p);
}

/* 3 % less than one sequence takes: no batch reaches it as predicted, and some may. */
static void test_missed(void **state)
{
    const struct on *x = *state;
    const struct predict_options o = source_options(&x->t);
    const double most_s = 0.97 * predicted(x, &o).itl_s;
    const struct solution s = answer(x, &o, "batch=itl<=%.9gs", most_s);
    assert_true(!s.found && isnan(s.value) && isnan(s.value_safe));
    assert_near(s.value_nearest, 1, 0);
    assert_near(s.chance, chance_of(x, 1, most_s), 1e-6);
    check_last(x, s.value_good, most_s, 0.05);
    assert_non_null(strstr(s.text, "no batch does at the prediction: at 1 "));
    check_says(&s, "with a chance of %.0f %%", 100 * s.chance);
    check_says(&s, "; %.0f for 5 %%", s.value_good);
    /* Half the time is beyond the interval: no value is told, and no doubt. */
    const struct solution never = answer(x, &o, "batch=itl<=%.9gs", most_s / 2);
    assert_true(!never.found && isnan(never.value_good) && never.chance < 1e-6);
    assert_non_null(strstr(never.text, "no batch does: at 1 "));
    check_says(&never, ", with a chance below 1 %%");
    assert_null(strstr(never.text, "for 5 %"));
}

static void test_reached(void **state)
{
    const struct on *x = *state;
    const struct predict_options o = source_options(&x->t);
    const double most_s = 1.3 * predicted(x, &o).itl_s;
    const struct solution s = answer(x, &o, "batch=itl<=%.9gs", most_s);
    assert_true(s.found && isnan(s.value_nearest));
    check_last(x, s.value, most_s, 0.5);
    check_last(x, s.value_good, most_s, 0.05);
    check_last(x, s.value_safe, most_s, 0.95);
    check_says(&s, "with a chance of %.0f %%", 100 * s.chance);
    check_says(&s, "; %.0f for 95 %%", s.value_safe);
    check_says(&s, ", %.0f for 5 %%", s.value_good);
    /* No sequence is enough for 95 %: the prediction itself has a chance of three in four or so. */
    const struct solution risky = answer(x, &o, "batch=itl<=%.9gs", 1.05 * predicted(x, &o).itl_s);
    assert_true(risky.found && isnan(risky.value_safe));
    assert_non_null(strstr(risky.text, "; none for 95 %, "));
}

/* Hops that take longer than all else: one device is nearest, and not the eight that were tried last. */
static void test_nearest(void **state)
{
    const struct on *x = *state;
    struct on slow = *x;
    slow.k.slot[TIME_HOP] = log(1000);
    slow.t.knows = &slow.k;
    const struct predict_options o = source_options(&slow.t);
    const struct predict_result r = predicted(&slow, &o);
    const struct solution s = answer(&slow, &o, "tp=itl<=%.9gs", 0.97 * r.itl_s);
    assert_false(s.found);
    assert_near(s.value_nearest, 1, 0);
    assert_near(s.r.itl_s, r.itl_s, 1e-12);
    assert_non_null(strstr(s.text, "no tp does at the prediction: tp 1 comes nearest, "));
    assert_non_null(strstr(s.text, "; cannot predict: "));
}

/* Of all machines: the chance is that of the one named. */
static void test_machines(void **state)
{
    const struct on *x = *state;
    struct predict_options o = source_options(&x->t);
    struct predict_result r;
    struct hwprofile h;
    struct error err = { 0 };
    struct solution s = answer(x, &o, "machine=tok_s>=1e9"), met = s;
    assert_true(!s.found && *s.machine_nearest && !*s.machine_good && s.chance < 1e-9);
    double tok_s = s.r.decode.tok_s;
    for (met = answer(x, &o, "machine=tok_s>=%.9g", tok_s); (s = answer(x, &o, "machine=tok_s>=%.9g", 1.01 * tok_s)).found; met = s)
        tok_s = s.r.decode.tok_s;
    assert_ok(hwprofile_load(&h, s.machine_nearest, &err), err);
    assert_ok(predict(&r, &x->m, &h, &o, &err), err);
    hwprofile_free(&h);
    assert_near(s.chance, prediction_chance(&r.decode, 1 / (1.01 * tok_s)), 1e-6);
    assert_true(s.chance > 0.05 && *s.machine_good && !*s.machine_safe);
    check_says(&s, ": %s comes nearest, %.4g tokens/s, with a chance of %.0f %%", s.machine_nearest, r.decode.tok_s, 100 * s.chance);
    assert_true(met.found && !*met.machine_nearest && !*met.machine_safe);
    check_says(&met, ", with a chance of %.0f %%; the smallest of %d that do, ", 100 * met.chance, met.n_reach);
    assert_non_null(strstr(met.text, "; none for 95 %"));
    const struct solution safe = answer(x, &o, "machine=tok_s>=%.9g", tok_s / 2);
    assert_true(safe.found && *safe.machine_safe);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missed),
        cmocka_unit_test(test_reached),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_machines),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
