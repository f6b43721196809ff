/* roofcast choose: the front, the probability of a rate, published figures on one scale, prices, measured rows. methods.md (63), (105) */
#include "base/environment.h"
#include "../test.h"
#include "dataset/ppl_saved.h"
#include "dataset/published.h"
#include "hwprofile/prices.h"
#include "report/choose.h"
#include "tests/near.h"

static void test_front(void **state)
{
    (void)state;
    /* faster and worse in turn; the fourth is dominated by the second, the fifth equals the first, the sixth is as fast and loses more */
    const double speed[] = { 10, 20, 30, 15, 10, 30, NAN, 40 }, loss[] = { 0, 0.01, 0.05, 0.02, 0, 0.06, 0, NAN };
    const bool expected[] = { true, true, true, false, true, false, false, false };
    bool front[8];
    choose_front(speed, loss, 8, front);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(front[i], expected[i]);
    choose_front(speed, loss, 0, front); /* nothing to do */
}

static void test_chance(void **state)
{
    (void)state;
    /* ln t has sd 0.1 on both sides: 4 sequences of 25 tokens/s each */
    const struct prediction p = { .seconds = 0.04, .tok_s = 100, .sd_s = 0.004, .sd_fast_s = 0.004 };
    assert_near(choose_chance(&p, 4, 25), 0.5, 1e-9);
    assert_near(choose_chance(&p, 4, 25 * exp(-0.1)), 0.841344746, 1e-6); /* Phi(1) */
    assert_near(choose_chance(&p, 4, 25 * exp(0.2)), 0.022750132, 1e-6);  /* Phi(-2) */
    assert_near(choose_chance(&p, 1, 100 * exp(-0.1644853627)), 0.95, 1e-6);
    const struct prediction slow = { .seconds = 0.04, .tok_s = 100, .sd_s = 0.02, .sd_fast_s = 0.004 };
    assert_near(choose_chance(&slow, 1, 100 * exp(-0.5)), 0.841344746, 1e-6); /* a limit above the prediction: the slow side's spread */
    const struct prediction none = { .seconds = 0.04, .tok_s = 100, .sd_s = NAN, .sd_fast_s = NAN };
    assert_true(isnan(choose_chance(&none, 1, 50)));
}

/* Losses exp(T + M): T of A, B, C is ln 0.01, ln 0.02, ln 0.08, M 0, ln 2, ln 0.5. C is missing on the first model. */
static const char additive[] =
    "{\"schema\": \"roofcast.quality\", \"version\": 1, \"studies\": ["
    "{\"model\": \"one\", \"params\": 8e9, \"source\": \"s\", \"url\": \"u\", \"date\": \"d\", \"text\": \"t\", \"base\": \"F16\", \"figures\": ["
    "{\"type\": \"Q5_0\", \"ratio\": 1.01}, {\"type\": \"Q4_0\", \"ratio\": 1.02}]},"
    "{\"model\": \"two\", \"params\": 1e9, \"source\": \"s\", \"url\": \"u\", \"date\": \"d\", \"text\": \"t\", \"base\": \"F16\", \"base_ppl\": 10, \"figures\": ["
    "{\"type\": \"Q5_0\", \"ppl\": 10.2}, {\"type\": \"Q4_0\", \"ppl\": 10.4}, {\"type\": \"Q3_K_S\", \"ppl\": 11.6, \"kl\": 0.2}]},"
    "{\"model\": \"three\", \"params\": 64e9, \"source\": \"s\", \"url\": \"u\", \"date\": \"d\", \"text\": \"t\", \"base\": \"F16\", \"figures\": ["
    "{\"type\": \"Q5_0\", \"ratio\": 1.005}, {\"type\": \"Q3_K_S\", \"ratio\": 1.04}]},"
    "{\"model\": \"apart\", \"params\": 8e9, \"source\": \"s\", \"url\": \"u\", \"date\": \"d\", \"text\": \"t\", \"base\": \"F16\", \"figures\": ["
    "{\"type\": \"FP8\", \"ratio\": 1.003}, {\"type\": \"Q8_0\", \"kl\": 0.001}]}]}";

static void test_published(void **state)
{
    (void)state;
    struct published p;
    struct published_fit f;
    struct published_range r;
    struct error err = { 0 };
    assert_ok(published_parse(&p, "additive", additive, sizeof additive - 1, &err), err);
    assert_ok(published_fit_init(&f, &p, &err), err);
    assert_near(published_fit_loss(&f, "q3_k_s", 8e9, NULL), 0.08, 1e-6); /* never measured at that size */
    assert_near(published_fit_loss(&f, "Q4_0", 27e9, NULL), 0.02 * 2 / 3, 1e-6);
    assert_near(published_fit_loss(&f, "Q4_0", 512e9, NULL), 0.005, 1e-6); /* beyond the models: the line goes on */
    assert_near(published_fit_loss(&f, "Q4_0", 8e9, "Three"), 0.01, 1e-6); /* the named model's own level */
    assert_near(published_fit_loss(&f, "FP8", 100e9, NULL), 0.003, 1e-6);  /* no figure connects it with others */
    assert_true(isnan(published_fit_loss(&f, "Q8_0", 8e9, NULL)));  /* a KL alone has no loss */
    assert_true(isnan(published_fit_loss(&f, "Q2_K", 8e9, NULL)));
    assert_true(published_range(&p, "Q5_0", 6e9, &r) && r.of_size && r.n_study == 1);
    assert_near(r.lo, 0.01, 1e-9);
    assert_near(r.hi, 0.01, 1e-9);
    assert_true(published_range(&p, "Q3_K_S", 6e9, &r) && !r.of_size && r.params_lo == 1e9); /* 6 times smaller is nearer than 12 times larger */
    assert_near(r.kl_hi, 0.2, 1e-9);
    assert_false(published_range(&p, "Q2_K", 6e9, &r));
    published_fit_free(&f);
    published_free(&p);
}

/* Levels 0.6, 0, -0.6 and deviations (0.1, -0.2, 0.1), -(0.1, -0.2, 0.1): a figure's variance is 0.12 / 2, the models' (2 (0.36 + 0.36) - 3 * 0.06) / 6. */
static const char noisy[] =
    "{\"schema\": \"roofcast.quality\", \"version\": 1, \"studies\": ["
    "{\"model\": \"a\", \"params\": 8e9, \"source\": \"s\", \"url\": \"u\", \"date\": \"d\", \"text\": \"t\", \"base\": \"F16\", \"figures\": ["
    "{\"type\": \"Q5_0\", \"ratio\": 1.020137527075}, {\"type\": \"Q4_0\", \"ratio\": 1.032974425414}]},"
    "{\"model\": \"b\", \"params\": 8e9, \"source\": \"s\", \"url\": \"u\", \"date\": \"d\", \"text\": \"t\", \"base\": \"F16\", \"figures\": ["
    "{\"type\": \"Q5_0\", \"ratio\": 1.008187307531}, {\"type\": \"Q4_0\", \"ratio\": 1.024428055163}]},"
    "{\"model\": \"c\", \"params\": 8e9, \"source\": \"s\", \"url\": \"u\", \"date\": \"d\", \"text\": \"t\", \"base\": \"F16\", \"figures\": ["
    "{\"type\": \"Q5_0\", \"ratio\": 1.006065306597}, {\"type\": \"Q4_0\", \"ratio\": 1.009931706076}]}]}";

static void test_own_level(void **state)
{
    (void)state;
    struct published p;
    struct published_fit f;
    struct error err = { 0 };
    assert_ok(published_parse(&p, "noisy", noisy, sizeof noisy - 1, &err), err);
    assert_ok(published_fit_init(&f, &p, &err), err);
    assert_near(f.noise, 0.06 / 0.21, 1e-6);
    assert_near(published_fit_loss(&f, "Q5_0", 8e9, NULL), 0.01, 1e-7);
    assert_near(published_fit_loss(&f, "Q5_0", 8e9, "A"), 0.01 * exp(0.6 * 2 / (2 + 0.06 / 0.21)), 1e-7); /* towards the others of its size */
    published_fit_free(&f);
    published_free(&p);
}

static bool has_profile(const char *name)
{
    struct hwprofile h;
    struct error err = { 0 };
    bool found = false;
    assert_ok(hwprofile_find(&h, name, &found, &err), err);
    if (found)
        hwprofile_free(&h);
    return found;
}

/* Figures and prices without source or date are refused. */
static void test_sources(void **state)
{
    static const char study[] = "{\"schema\": \"roofcast.quality\", \"version\": 1, \"studies\": [{\"model\": \"m\", \"params\": 8e9, %s \"url\": \"u\", \"text\": \"t\", "
                                "\"base\": \"F16\", \"figures\": [{\"type\": \"Q4_0\", \"ratio\": 1.02}]}]}",
                      offer[] = "{\"schema\": \"roofcast.prices\", \"version\": 1, \"prices\": [{%s \"hw\": \"h100-sxm\", \"usd_h\": 2}]}";
    static const struct {
        const char *stated, *refusal;
    } cases[] = { { "\"source\": \"s\", \"date\": \"d\",", NULL }, { "\"date\": \"d\",", "field \"source\"" }, { "\"source\": \"\", \"date\": \"d\",", "field \"source\"" },
                  { "\"source\": \"s\",", "field \"date\"" }, { "\"source\": \"s\", \"date\": \"\",", "field \"date\"" } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        struct published p;
        struct prices prices;
        struct error err = { 0 };
        const int n = snprintf(text, sizeof text, study, cases[i].stated);
        if (cases[i].refusal)
            assert_fails(published_parse(&p, "study", text, (size_t)n, &err), err, cases[i].refusal);
        else
            assert_ok(published_parse(&p, "study", text, (size_t)n, &err), err);
        published_free(&p);
        err = (struct error){ 0 };
        const int m = snprintf(text, sizeof text, offer, cases[i].stated);
        if (cases[i].refusal)
            assert_fails(prices_parse(&prices, "offer", text, (size_t)m, &err), err, cases[i].refusal);
        else
            assert_ok(prices_parse(&prices, "offer", text, (size_t)m, &err), err);
        prices_free(&prices);
    }
}

/* The installed files: types that people use have figures of 7B to 9B; prices are of listed machines. */
static void test_files(void **state)
{
    (void)state;
    static const char *const used[] = { "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "IQ4_XS", "Q3_K_M", "Q2_K", "IQ2_M", "AWQ", "GPTQ", "NVFP4", "FP8", "INT8" };
    struct published p;
    struct prices prices;
    struct published_range r;
    struct error err = { 0 };
    assert_ok(published_load(&p, &err), err);
    for (size_t i = 0; i < sizeof used / sizeof *used; i++)
        assert_true(published_range(&p, used[i], 8e9, &r) && r.of_size);
    published_free(&p);
    assert_ok(prices_load(&prices, NULL, &err), err);
    for (size_t i = 0; i < prices.n; i++)
        assert_true(has_profile(prices.v[i].hw) && strlen(prices.v[i].date) >= 7);
    const struct price *one = prices_find(&prices, "h100-sxm", 1, false), *eight = prices_find(&prices, "b200-sxm", 8, false);
    assert_true(one && one->devices == 1 && eight && eight->usd_h <= prices_find(&prices, "b200-sxm", 1, false)->usd_h);
    assert_null(prices_find(&prices, "h100-sxm", 1, true));
    prices_free(&prices);
}

static void test_measured(void **state)
{
    (void)state;
    char dir[] = "/tmp/roofcast-choose-XXXXXX", path[4352];
    struct error err = { 0 };
    struct ppl_saved_list l;
    struct ppl_saved s = { .model = "Meta Llama 3.1 8B Instruct", .type = "Q4_0", .base_type = "F16", .text = "wiki", .date = "d", .n_params = 8.03e9, .n_ctx = 512,
                           .n_tokens = 100, .ppl = 6.5, .ppl_se = NAN, .ln_ratio = 0.02, .ln_ratio_se = NAN, .kl = 0.03, .kl_se = NAN };
    assert_non_null(mkdtemp(dir));
    assert_ok(ppl_saved_load(&l, dir, &err), err); /* no folder yet */
    assert_int_equal(l.n, 0);
    assert_ok(ppl_saved_add(dir, &s, 1, path, sizeof path, &err), err);
    s.ln_ratio = 0.03; /* takes its place */
    assert_ok(ppl_saved_add(dir, &s, 1, path, sizeof path, &err), err);
    strcpy(s.base_type, "");
    s.ln_ratio = NAN;
    s.n_tokens = 1e6; /* more tokens, but no base */
    assert_ok(ppl_saved_add(dir, &s, 1, path, sizeof path, &err), err);
    assert_ok(ppl_saved_load(&l, dir, &err), err);
    assert_int_equal(l.n, 2);
    const struct ppl_saved *found = ppl_saved_find(&l, "llama-3.1-8b", 8.03e9, "q4_0");
    assert_non_null(found);
    assert_near(found->ln_ratio, 0.03, 1e-12);
    assert_true(isnan(found->kl_se));
    assert_null(ppl_saved_find(&l, "llama-3.1-8b", 7e9, "Q4_0")); /* another size */
    assert_null(ppl_saved_find(&l, "qwen3-8b", 8.03e9, "Q4_0"));
    ppl_saved_free(&l);
    remove(path);
    *strrchr(path, '/') = 0;
    remove(path);
    remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_front), cmocka_unit_test(test_chance), cmocka_unit_test(test_published),
                                        cmocka_unit_test(test_own_level), cmocka_unit_test(test_sources), cmocka_unit_test(test_files), cmocka_unit_test(test_measured) };
    environment_set_dirs(data_dirs());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
