/* Comparisons of runs, predictions, profiles and results of llama-bench: which tests match, what is compared, verdicts. */
#include "report/comparison.h"
#include "../test.h"
#include "../near.h"
#include "run/run.h"
#include <math.h>

/* ---- runs ------------------------------------------------------------------------------------------------------- */

/* One test of a made run: speed and probes of each repetition. */
struct made {
    const char *test;
    int n_threads, n;
    bool compute;
    double tok_s, probe; /* of the first repetition; the others differ by the wave below */
};
static const double wave[] = { 0, 0.010, -0.012, 0.006, -0.004, 0.008, -0.007, 0.003 };

static void make_row(struct run *r, const struct made *m)
{
    struct error err = { 0 };
    struct run_row row = { .n_threads = m->n_threads, .n_gen = m->compute ? 0 : 32, .n_prompt = m->compute ? 1024 : 0, .n_batch = 1, .n_ubatch = 512, .n_reps = m->n, .seconds = 1 };
    double sum = 0;
    strcpy(row.model, "m");
    strcpy(row.type, "Q8_0");
    strcpy(row.test, m->test);
    strcpy(row.phase, m->compute ? "prefill" : "decode");
    strcpy(row.bound, m->compute ? "compute" : "memory");
    row.ops_ceiling_bytes_s = m->probe;
    row.ops_ceiling_flop_s = 100 * m->probe;
    for (int i = 0; i < m->n; i++) {
        const double probe = m->probe * (1 + 5 * wave[(i + 3) % 8]), tok_s = m->tok_s * (1 + 5 * wave[(i + 3) % 8]) * (1 + 0.1 * wave[i % 8]);
        struct run_rep rep = { .n_threads = m->n_threads, .repetition = i, .seconds = 1, .tok_s = tok_s };
        strcpy(rep.model, "m");
        strcpy(rep.test, m->test);
        rep.ceiling_bytes_s = m->compute ? NAN : probe;
        rep.ceiling_flop_s = m->compute ? probe : NAN;
        rep.after_bytes_s = rep.after_flop_s = rep.mbu = rep.mfu = NAN;
        assert_ok(m->probe > 0 ? run_add_rep(r, &rep, &err) : 0, err);
        sum += tok_s;
    }
    row.tok_s_mean = sum / m->n;
    row.tok_s_sd = 0.02 * row.tok_s_mean;
    assert_ok(run_add_row(r, &row, &err), err);
}

static void add_op(struct run *r, const char *test, const char *role, int layer, double seconds, double share)
{
    struct error err = { 0 };
    struct run_op o = { .layer = layer, .seconds = seconds, .share = share };
    strcpy(o.test, test);
    strcpy(o.phase, "decode");
    strcpy(o.role, role);
    strcpy(o.op, "matmul");
    strcpy(o.bound, "memory");
    assert_ok(run_add_op(r, &o, &err), err);
}

/* Adds the run to a side and frees it. */
static void take(struct compare_side *s, struct run *r)
{
    struct error err = { 0 };
    r->prov.n_threads = 1;
    json_t *doc = run_to_json(r, &err);
    char *text = doc ? json_dumps(doc, 0) : NULL;
    assert_non_null(text);
    assert_ok(compare_side_parse(s, "run.json", text, strlen(text), &err), err);
    free(text);
    json_decref(doc);
    run_free(r);
}

static void side_of(struct compare_side *s, const struct made *m, size_t n)
{
    struct run r = { .n_row = 0 };
    for (size_t i = 0; i < n; i++)
        make_row(&r, &m[i]);
    take(s, &r);
}

static void text_side(struct compare_side *s, const char *text)
{
    struct error err = { 0 };
    assert_ok(compare_side_parse(s, "file", text, strlen(text), &err), err);
}

static const struct comparison_row *row_at(const struct comparison *c, size_t i)
{
    assert_true(i < c->row.n);
    return table_row(&c->row, i);
}

/* Compares and frees. */
#define WITH(c, a, b, fail_over)                                    \
    struct comparison c;                                            \
    struct error err = { 0 };                                       \
    assert_ok(comparison_make(&c, &a, &b, fail_over, &err), err)
#define END(c, a, b)          \
    do {                      \
        comparison_free(&c);  \
        compare_side_free(&a); \
        compare_side_free(&b); \
    } while (0)

/* The machine is half as fast in B; B is 10 % faster by the probes. */
static void test_by_probes(void **state)
{
    const struct made in_a[] = { { "tg32", 1, 5, false, 100, 1e10 }, { "pp1024", 1, 5, true, 1000, 1e12 } };
    const struct made in_b[] = { { "tg32", 1, 5, false, 55, 0.5e10 }, { "pp1024", 1, 5, true, 450, 0.5e12 } };
    struct compare_side a = { 0 }, b = { 0 };
    (void)state;
    side_of(&a, in_a, 2);
    side_of(&b, in_b, 2);
    WITH(c, a, b, 0.05);
    const struct comparison_row *const tg = row_at(&c, 0), *const pp = row_at(&c, 1);
    assert_string_equal(tg->basis, "repetitions by probe");
    assert_string_equal(tg->verdict, "faster");
    assert_near(tg->ratio, 1.1, 0.002);
    assert_near(tg->plain, 0.55, 0.001);
    assert_true(tg->low < 1.1 && tg->high > 1.1 && tg->low > 1.09 && tg->high < 1.11 && tg->n_a == 5 && tg->n_b == 5);
    assert_near(tg->p, 2 / 252.0, 1e-12);
    assert_near(tg->p_holm, 4 / 252.0, 1e-12);
    assert_string_equal(pp->verdict, "slower");
    assert_near(pp->ratio, 0.9, 0.002);
    assert_true(tg->regressed == 0 && pp->regressed == 1 && c.n_regressed == 1 && c.n_faster == 1 && c.n_slower == 1);
    END(c, a, b);
}

/* Without probes a run is one value with the spread of its repetitions. */
static void test_without_probes(void **state)
{
    const struct made in_a[] = { { "tg32", 1, 5, false, 100, 0 } }, in_b[] = { { "tg32", 1, 5, false, 103, 1e10 } }, in_c[] = { { "tg32", 1, 5, false, 80, 0 } };
    struct compare_side a = { 0 }, b = { 0 }, d = { 0 };
    (void)state;
    side_of(&a, in_a, 1);
    side_of(&b, in_b, 1);
    side_of(&d, in_c, 1);
    WITH(c, a, b, NAN);
    assert_string_equal(row_at(&c, 0)->basis, "one run each");
    assert_string_equal(row_at(&c, 0)->verdict, "cannot tell");
    assert_int_equal(row_at(&c, 0)->regressed, -1);
    comparison_free(&c);
    assert_ok(comparison_make(&c, &a, &d, 0.25, &err), err);
    assert_string_equal(row_at(&c, 0)->verdict, "slower");
    assert_int_equal(row_at(&c, 0)->regressed, 0); /* by 20 % */
    comparison_free(&c);
    compare_side_free(&d);
    compare_side_free(&a);
    compare_side_free(&b);
}

/* Files of a side are executions, compared in pairs. */
static void test_rounds(void **state)
{
    struct compare_side a = { 0 }, b = { 0 };
    (void)state;
    for (int i = 0; i < 8; i++) {
        const double speed = i % 2 ? 2 : 1; /* doubles and halves */
        const struct made in_a = { "tg32", 1, 2, false, 100 * speed, 0 }, in_b = { "tg32", 1, 2, false, 94 * speed * (1 + 0.2 * wave[i]), 0 };
        side_of(&a, &in_a, 1);
        side_of(&b, &in_b, 1);
        if (i == 4) {
            WITH(c, a, b, 0.05);
            assert_string_equal(row_at(&c, 0)->verdict, "cannot tell");
            assert_true(row_at(&c, 0)->ratio < 0.95 && row_at(&c, 0)->regressed == 0); /* not told from equal */
            assert_non_null(strstr(row_at(&c, 0)->note, "too few for 1 test: 5 and 5 repetitions cannot reach p < 0.05"));
            comparison_free(&c);
        }
    }
    WITH(c, a, b, 0.05);
    const struct comparison_row *const r = row_at(&c, 0);
    assert_string_equal(r->basis, "pairs");
    assert_true(r->n_a == 8 && r->n_b == 8 && json_array_size(r->pairs) == 8 && r->regressed == 1);
    assert_near(r->p, 2 / 256.0, 1e-12);
    assert_near(r->ratio, 0.94, 0.002);
    assert_true(isnan(r->plain));
    END(c, a, b);
}

/* Two executions and three: 2 / C(5, 2) is the least p. */
static void test_unequal_rounds(void **state)
{
    struct compare_side a = { 0 }, b = { 0 };
    (void)state;
    for (int i = 0; i < 3; i++) {
        const struct made in_a = { "tg32", 1, 2, false, 100 * (1 + wave[i]), 0 }, in_b = { "tg32", 1, 2, false, 50 * (1 + wave[i]), 0 };
        if (i < 2)
            side_of(&a, &in_a, 1);
        side_of(&b, &in_b, 1);
    }
    WITH(c, a, b, NAN);
    assert_string_equal(row_at(&c, 0)->basis, "runs");
    assert_string_equal(row_at(&c, 0)->verdict, "cannot tell");
    assert_non_null(strstr(row_at(&c, 0)->note, "too few for 1 test: 2 and 3 repetitions cannot reach p < 0.05"));
    END(c, a, b);
}

static void test_matching(void **state)
{
    const struct made in_a[] = { { "tg32", 1, 5, false, 100, 1e10 }, { "tg32", 2, 5, false, 180, 1e10 }, { "tg64", 1, 5, false, 100, 1e10 } };
    const struct made in_b[] = { { "tg32", 2, 5, false, 180, 1e10 }, { "tg32", 1, 5, false, 100, 1e10 }, { "tg96", 1, 5, false, 100, 1e10 } };
    const struct made other[] = { { "tg7", 1, 5, false, 100, 1e10 } }, alone[] = { { "tg32", 4, 5, false, 100, 1e10 } };
    struct compare_side a = { 0 }, b = { 0 }, d = { 0 }, e = { 0 };
    (void)state;
    side_of(&a, in_a, 3);
    side_of(&b, in_b, 3);
    side_of(&d, other, 1);
    side_of(&e, alone, 1);
    WITH(c, a, b, NAN);
    assert_true(c.n_row == 2 && c.n_alone == 2 && c.row.n == 4);
    assert_string_equal(row_at(&c, 0)->settings, "threads 1");
    assert_string_equal(row_at(&c, 1)->settings, "threads 2");
    assert_near(row_at(&c, 0)->ratio, 1, 1e-9);
    assert_near(row_at(&c, 1)->ratio, 1, 1e-9);
    assert_string_equal(row_at(&c, 2)->verdict, "only in A");
    assert_string_equal(row_at(&c, 2)->test, "tg64");
    assert_string_equal(row_at(&c, 3)->verdict, "only in B");
    assert_true(isnan(row_at(&c, 3)->a) && isnan(row_at(&c, 3)->ratio));
    comparison_free(&c);
    assert_fails(comparison_make(&c, &a, &d, NAN, &err), err, "no test in common: run.json has tg32 of m, run.json has tg7 of m");
    const struct made first[] = { { "tg32", 1, 5, false, 100, 1e10 } };
    struct compare_side f = { 0 };
    side_of(&f, first, 1);
    assert_ok(comparison_make(&c, &f, &e, NAN, &err), err);
    assert_string_equal(c.differences.s, "threads 1 and 4");
    END(c, f, e);
    compare_side_free(&d);
    compare_side_free(&a);
    compare_side_free(&b);
}

/* ffn_down takes twice as long in B; B's probe is 0.8 of A's. */
static void test_ops(void **state)
{
    const struct made in_a = { "tg32", 1, 5, false, 100, 1e10 }, in_b = { "tg32", 1, 5, false, 70, 0.8e10 };
    struct compare_side side[2] = { { 0 }, { 0 } };
    struct strbuf b = { 0 };
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct run r = { .n_row = 0 };
        const double down = k ? 4e-4 : 2e-4, all = 2 * down + 3e-4 + (k ? 1e-4 : 0);
        make_row(&r, k ? &in_b : &in_a);
        add_op(&r, "tg32", "ffn_up", 0, 3e-4, 3e-4 / all);
        add_op(&r, "tg32", "ffn_down", 0, down, down / all);
        add_op(&r, "tg32", "ffn_down", 1, down, down / all);
        if (k)
            add_op(&r, "tg32", "ffn_new", 0, 1e-4, 1e-4 / all);
        take(&side[k], &r);
    }
    WITH(c, side[0], side[1], NAN);
    assert_int_equal(c.op.n, 3);
    const struct comparison_op *const first = table_row(&c.op, 0), *const second = table_row(&c.op, 1), *const third = table_row(&c.op, 2);
    assert_string_equal(first->role, "ffn_down");
    assert_near(first->difference_s, 4e-4, 1e-12);
    assert_near(first->share, 0.8, 1e-9);
    assert_near(first->ratio, 0.5, 1e-9);
    assert_near(first->machine, 0.8, 1e-9);
    assert_string_equal(second->role, "ffn_new");
    assert_true(second->a_s == 0 && isnan(second->ratio));
    assert_near(second->share, 0.2, 1e-9);
    assert_near(third->difference_s, 0, 1e-12);
    comparison_add_summary(&b, &c);
    assert_non_null(strstr(b.s, "Of tg32 most is in ffn_down: 400 us in A, 800 us in B, 80 % of the difference."));
    strbuf_free(&b);
    END(c, side[0], side[1]);
}

/* ---- other files -------------------------------------------------------------------------------------------------- */

#define PREDICTED(hw, rows) "{\"schema\": \"roofcast.predict\", \"version\": 1, \"rows\": [" rows "]}"
#define PHASE(hw, more) "{\"model\": \"m\", \"test\": \"tg32\", \"type\": \"q8_0\", \"hw\": \"" hw "\", \"n_ubatch\": 512, \"tok_s\": 100, \"tok_s_lo\": 80, \"tok_s_hi\": 125" more "}"

static void test_prediction(void **state)
{
    const struct made near_it = { "tg32", 1, 5, false, 110, 1e10 }, far = { "tg32", 1, 5, false, 50, 1e10 };
    struct compare_side a = { 0 }, b = { 0 }, d = { 0 }, e = { 0 };
    (void)state;
    side_of(&a, &near_it, 1);
    side_of(&d, &far, 1);
    text_side(&b, PREDICTED("", PHASE("x", ", \"what_if\": \"bandwidth=x2\"") "," PHASE("x", ", \"role\": \"embed\"") "," PHASE("x", "")));
    assert_int_equal(b.entry.n, 1);
    WITH(c, a, b, NAN);
    assert_string_equal(row_at(&c, 0)->verdict, "cannot tell");
    assert_int_equal(row_at(&c, 0)->n_b, 0);
    comparison_free(&c);
    assert_ok(comparison_make(&c, &d, &b, NAN, &err), err);
    assert_string_equal(row_at(&c, 0)->verdict, "faster");
    assert_near(row_at(&c, 0)->ratio, 2, 0.02);
    comparison_free(&c);
    const char two[] = PREDICTED("", PHASE("x", "") "," PHASE("y", "")), bad[] = PREDICTED("", "{\"model\": \"m\", \"test\": \"tg1\", \"type\": \"\", \"hw\": \"\", \"tok_s\": -1}"),
               none[] = PREDICTED("", "");
    assert_fails(compare_side_parse(&e, "p.json", two, strlen(two), &err), err, "p.json: rows[1]: field \"hw\": expected one machine in the file; found x and y");
    compare_side_free(&e);
    assert_fails(compare_side_parse(&e, "p.json", bad, strlen(bad), &err), err, "p.json: rows[0]: field \"tok_s\": expected a number above 0");
    compare_side_free(&e);
    assert_fails(compare_side_parse(&e, "p.json", none, strlen(none), &err), err, "p.json: rows: expected a test with a speed; found none");
    compare_side_free(&e);
    compare_side_free(&d);
    compare_side_free(&a);
    compare_side_free(&b);
}

#define LLAMA(rate, more) "{\"model_filename\": \"m.gguf\", \"model_type\": \"llama 1B Q8_0\", \"n_prompt\": 0, \"n_gen\": 32, \"avg_ts\": " rate more "}"

static void test_llama_bench(void **state)
{
    struct compare_side a = { 0 }, b = { 0 }, md = { 0 }, single = { 0 }, e = { 0 };
    (void)state;
    text_side(&a, "[" LLAMA("100", ", \"stddev_ts\": 0.5, \"samples_ts\": [100, 100.5, 99.5, 100.2, 99.8]") "]");
    text_side(&b, "[" LLAMA("110", ", \"samples_ts\": [110, 110.5, 109.5, 110.2, 109.8]") "]");
    text_side(&md, "| model | size | params | backend | threads | test | t/s |\n| --- | --- | --- | --- | --- | --- | --- |\n"
                   "| llama 1B Q8_0 | 1.0 GiB | 1.0 B | CPU | 2 | tg32 | 90.00 \xc2\xb1 0.90 |\n");
    WITH(c, a, b, NAN);
    const struct comparison_row *r = row_at(&c, 0);
    assert_string_equal(r->basis, "one run each");
    assert_string_equal(r->verdict, "faster");
    assert_true(r->n_a == 5 && r->n_b == 5 && r->low > 1.08 && r->high < 1.12 && !r->note);
    comparison_free(&c);
    assert_ok(comparison_make(&c, &a, &md, 0.05, &err), err);
    r = row_at(&c, 0);
    assert_string_equal(r->verdict, "slower");
    assert_non_null(strstr(r->note, "5 repetitions assumed"));
    assert_int_equal(r->regressed, 1);
    comparison_free(&c);
    text_side(&single, "[" LLAMA("90", ", \"stddev_ts\": 0") "]"); /* -r 1, or a spread that is rounded to 0 */
    assert_ok(comparison_make(&c, &a, &single, 0.05, &err), err);
    r = row_at(&c, 0);
    assert_string_equal(r->verdict, "cannot tell");
    assert_non_null(strstr(r->note, "a side has one repetition"));
    assert_true(isnan(r->p) && isnan(r->low) && r->regressed == 0);
    comparison_free(&c);
    compare_side_free(&single);
    const char bad[] = "[" LLAMA("100", ", \"samples_ts\": [100, \"x\"]") "]", many[] = "[" LLAMA("100", ", \"stddev_ts\": -2") "]";
    assert_fails(compare_side_parse(&e, "l.json", bad, strlen(bad), &err), err, "samples_ts[1]: expected a number");
    compare_side_free(&e);
    assert_fails(compare_side_parse(&e, "l.json", many, strlen(many), &err), err, "stddev_ts: expected a number from 0");
    compare_side_free(&e);
    const char other[] = "{\"schema\": \"roofcast.predict\", \"version\": 1, \"rows\": [" PHASE("x", "") "]}", server[] = "{\"schema\": \"roofcast.simulate\"}";
    assert_fails(compare_side_parse(&a, "p.json", other, strlen(other), &err), err, "p.json: found prediction; expected measurements, as file is");
    assert_fails(compare_side_parse(&e, "s.json", server, strlen(server), &err), err, "s.json: a run of a server");
    compare_side_free(&e);
    compare_side_free(&md);
    compare_side_free(&a);
    compare_side_free(&b);
}

/* A profile's ceilings have intervals; those in seconds are faster below 1. */
static void test_profiles(void **state)
{
    static const char text[] = "{\"schema\": \"roofcast.hwprofile\", \"version\": 1, \"name\": \"A CPU\", \"kind\": \"cpu\", \"ceilings\": ["
                               "{\"name\": \"read DRAM 1t\", \"kind\": \"bandwidth\", \"level\": \"DRAM\", \"op\": \"read\", \"n_threads\": 1, \"value\": %g, \"unit\": \"B/s\", \"ci_lo\": %g, \"ci_hi\": %g},"
                               "{\"name\": \"barrier 2t\", \"kind\": \"latency\", \"op\": \"barrier\", \"n_threads\": 2, \"value\": %g, \"unit\": \"s\", \"ci_lo\": %g, \"ci_hi\": %g}]}";
    char one[1024], two[1024];
    struct compare_side a = { 0 }, b = { 0 }, run = { 0 };
    const struct made made = { "tg32", 1, 5, false, 100, 1e10 };
    (void)state;
    snprintf(one, sizeof one, text, 1e10, 0.99e10, 1.01e10, 1e-6, 0.99e-6, 1.01e-6);
    snprintf(two, sizeof two, text, 1.005e10, 0.99e10, 1.02e10, 2e-6, 1.98e-6, 2.02e-6);
    text_side(&a, one);
    text_side(&b, two);
    side_of(&run, &made, 1);
    WITH(c, a, b, NAN);
    assert_int_equal(c.n_row, 2);
    assert_string_equal(row_at(&c, 0)->verdict, "cannot tell");
    assert_string_equal(row_at(&c, 0)->basis, "intervals");
    assert_string_equal(row_at(&c, 1)->verdict, "slower");
    assert_near(row_at(&c, 1)->ratio, 0.5, 1e-9);
    comparison_free(&c);
    assert_fails(comparison_make(&c, &a, &run, NAN, &err), err, "expected two profiles, or two of a run, measurements and a prediction");
    compare_side_free(&run);
    compare_side_free(&a);
    compare_side_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_probes), cmocka_unit_test(test_without_probes), cmocka_unit_test(test_rounds), cmocka_unit_test(test_unequal_rounds), cmocka_unit_test(test_matching),
        cmocka_unit_test(test_ops), cmocka_unit_test(test_prediction), cmocka_unit_test(test_llama_bench), cmocka_unit_test(test_profiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
