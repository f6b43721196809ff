/* What other tools wrote down on machines that are not here, through the same interface: FLOP and bytes by hand. */
#include "../test.h"
#include "counters/counters.h"
#include "counters/replay.h"
#include "tree.h"

static struct counters *open_file(const char *name)
{
    char backend[4200];
    struct error err = { 0 };
    snprintf(backend, sizeof backend, "replay:%s/tests/counters/replay/%s", data_dirs()[0], name);
    const struct counters_options o = { .backend = backend, .n_threads = 2, .data_dirs = data_dirs() };
    struct counters *c = counters_open(&o, &err);
    if (!c)
        fail_msg("%s", err.msg);
    assert_ok(counters_thread_start(c, 0, &err), err);
    assert_ok(counters_thread_start(c, 1, &err), err);
    return c;
}

/* A stretch between two readings, of both threads. */
static struct counter_sample stretch(struct counters *c)
{
    struct counter_sample a, b, d, sum = { 0 };
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++)
        sum.valid[f] = true;
    for (int t = 0; t < 2; t++) {
        counters_read(c, t, &a);
        counters_read(c, t, &b);
        counter_sample_diff(&d, &a, &b);
        counter_sample_add(&sum, &d);
    }
    return sum;
}

static void is(const struct counter_sample *s, enum counter_field f, uint64_t want)
{
    if (!s->valid[f] || s->value[f] != want)
        fail_msg("%s: %llu (valid %d), expected %llu", counter_field_name(f), (unsigned long long)s->value[f], s->valid[f],
                 (unsigned long long)want);
}

static void skylake(void **state)
{
    (void)state;
    struct counters *c = open_file("perf-skylake-sp.csv");
    const struct counter_sample s = stretch(c);
    is(&s, COUNTER_INSTRUCTIONS, 8000000000);
    is(&s, COUNTER_CYCLES, 6000000000);
    is(&s, COUNTER_FLOP, 1000 + 2000 * 4 + 3000 * 8 + 8000 * 16 + 100 + 200 * 2 + 300 * 4 + 400 * 8);
    is(&s, COUNTER_DRAM_READ_BYTES, 1536ull << 20);
    is(&s, COUNTER_DRAM_WRITE_BYTES, 256ull << 20);
    is(&s, COUNTER_DRAM_BYTES, 1792ull << 20);
    assert_int_equal(counters_field_source(c, COUNTER_DRAM_BYTES), SOURCE_UNCORE_COUNTERS);
    assert_int_equal(counters_field_source(c, COUNTER_FLOP), SOURCE_CORE_COUNTERS);
    assert_false(s.valid[COUNTER_CONTEXT_SWITCHES]);
    assert_non_null(strstr(counters_reason(c, COUNTER_CONTEXT_SWITCHES), "<not supported>"));
    counters_close(c);
}

static void zen4(void **state)
{
    (void)state;
    struct counters *c = open_file("perf-zen4.json");
    const struct counter_sample s = stretch(c);
    is(&s, COUNTER_INSTRUCTIONS, 3000000000);
    is(&s, COUNTER_BF16_FLOP, 12345678);
    is(&s, COUNTER_DRAM_READ_BYTES, 64000000);
    is(&s, COUNTER_DRAM_BYTES, 96000000);
    is(&s, COUNTER_TASK_CLOCK_NS, 12500000);
    /* Multiplexed: a guess, and no count. */
    assert_false(s.valid[COUNTER_L1_FILL_BYTES]);
    assert_non_null(strstr(counters_reason(c, COUNTER_L1_FILL_BYTES), "counted only 66.7 % of the time"));
    counters_close(c);
}

static void ice_lake_by_likwid(void **state)
{
    (void)state;
    struct counters *c = open_file("likwid-ice-lake-sp.csv");
    const struct counter_sample s = stretch(c);
    is(&s, COUNTER_INSTRUCTIONS, 6000);
    is(&s, COUNTER_CYCLES, 1500);
    is(&s, COUNTER_FLOP, 10 * 4 + 10 + 10 * 16);
    is(&s, COUNTER_DRAM_READ_BYTES, 300 * 64);
    is(&s, COUNTER_DRAM_WRITE_BYTES, 50 * 64);
    counters_close(c);
}

/* Well formed, and no count all the same: each says why. */
static void no_counts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum counter_field field;
        const char *says;
    } t[] = {
        { "5,,cycles:u,1,100.00,,\n6,,cycles,1,100.00,,\n", COUNTER_CYCLES, "cycles: recorded with and without a modifier" },
        { "5,MiB,umc_cas_cmd.rd,1,100,,\n6,,umc_cas_cmd.rd,1,100.00,,\n", COUNTER_DRAM_READ_BYTES, "recorded in several units" },
        { "5,GB,umc_cas_cmd.rd,1,100.00,,\n", COUNTER_DRAM_READ_BYTES, "umc_cas_cmd.rd: in units of \"GB\"" },
        { "99999999999999999999,,cycles,1,100.00,,\n", COUNTER_CYCLES, "cycles: 1e+20 counted, which no counter can" },
        { "7000000000000000000,MiB,umc_cas_cmd.rd,1,100.00,,\n", COUNTER_DRAM_READ_BYTES, "which no counter can" },
        { "5,,l2_pf_miss_l2_l3.all,1,100.00,,\n", COUNTER_L2_FILL_BYTES, "the record lacks l2_cache_req_stat.ls_rd_blk_c, which" },
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        char root[64], backend[100];
        tree_put(tree_new(root), "record", t[i].text);
        snprintf(backend, sizeof backend, "replay:%s/record", root);
        const struct counters_options o = { .backend = backend, .n_threads = 1, .data_dirs = data_dirs() };
        struct error err = { 0 };
        struct counters *c = counters_open(&o, &err);
        if (!c)
            fail_msg("%s", err.msg);
        if (!strstr(counters_reason(c, t[i].field), t[i].says))
            fail_msg("record %zu: \"%s\", expected %s", i, counters_reason(c, t[i].field), t[i].says);
        counters_close(c);
        tree_free(root);
    }
}

/* A file of events that cannot be read matters where nothing else knows the record's. */
static void a_broken_file_of_events(void **state)
{
    (void)state;
    char root[64], backend[100];
    tree_put(tree_new(root), "record", "5,,cycles,1,100.00,,\n6,,instructions,1,100.00,,\n");
    tree_put(root, "strange", "7,,no_such_event,1,100.00,,\n");
    tree_put(root, "events/broken.json", "{");
    const char *const dirs[] = { root, NULL };
    const struct counters_options o = { .backend = backend, .n_threads = 1, .data_dirs = dirs };
    struct error err = { 0 };
    snprintf(backend, sizeof backend, "replay:%s/record", root);
    struct counters *c = counters_open(&o, &err);
    if (!c)
        fail_msg("%s", err.msg);
    assert_string_equal(counters_reason(c, COUNTER_CYCLES), "");
    counters_close(c);
    snprintf(backend, sizeof backend, "replay:%s/strange", root);
    assert_null(counters_open(&o, &err));
    assert_non_null(strstr(err.msg, "broken.json"));
    tree_free(root);
}

static void bad_records(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        { "", "no counts: expected the output of perf stat" },
        { "1,,cycles,1,100.00\n2,,instructions,1,1", "line 2: found \"2,,instructions,1,1\", expected an end of the line" },
        { "TABLE,Group 1 Raw,X,1\nEvent,Counter,HWThread 0\nA,PMC0,12", "line 3: found \"A,PMC0,12\", expected an end of the line" },
        { "12\n", "line 1: found \"12\", expected VALUE,UNIT,EVENT" },
        { "1,,cycles,1,100.00\nx,,cycles,1,100.00\n", "line 2: found \"x\", expected a count" },
        { "-5,,cycles,1,100.00\n1,,instructions,1,many\n", "line 2: found \"many\"" },
        { "1,,,1,100.00\n", "expected the name of an event" },
        { "{\"counter-value\": \"abc\", \"event\": \"x\"}\n", "found \"abc\", expected a count" },
        { "{\"counter-value\": \"1\"}\n", "line 1: field \"event\"" },
        { "{\"counter-value\": \"1\", \"event\": \"x\", \"pcnt-running\": 120}\n", "expected 0 to 100" },
        { "TABLE,Group 1 Raw,X,1\nEvent,Counter,HWThread 0\nA,PMC0,nope\n", "line 3: found \"nope\", expected a count" },
    };
    struct error err = { 0 };
    static struct replay r;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_fails(replay_parse(&r, "bad", bad[i].text, strlen(bad[i].text), &err), err, bad[i].says);
        assert_non_null(strstr(err.msg, "bad: "));
    }
    const struct counters_options o = { .backend = "replay", .n_threads = 1 };
    assert_null(counters_open(&o, &err));
    assert_non_null(strstr(err.msg, "expected replay:FILE"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skylake),
        cmocka_unit_test(zen4),
        cmocka_unit_test(ice_lake_by_likwid),
        cmocka_unit_test(no_counts), cmocka_unit_test(a_broken_file_of_events),
        cmocka_unit_test(bad_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
