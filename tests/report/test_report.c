/* Rows in every output format, to the byte. */
#include "../test.h"
#include "report/report.h"
#include <math.h>

static const struct column columns[] = {
    { "name", "name", COL_TEXT, NULL, false },     { "n", "n", COL_INT, NULL, false },
    { "x", "x", COL_FLOAT, NULL, false },          { "rate", "rate", COL_SI, "B/s", false },
    { "part", "part", COL_FRACTION, NULL, false }, { "time", "time", COL_SECONDS, NULL, false },
    { "fits", "fits", COL_BOOL, NULL, false },     { "raw", NULL, COL_FLOAT, NULL, true },
};

static const char rows_text[] = "[{\"name\": \"plain\", \"n\": 12, \"x\": 1.5, \"rate\": "
                                "41200000000, \"part\": 0.873, \"time\": 0.00478,"
                                "  \"fits\": true, \"raw\": 0.1},"
                                " {\"name\": \"a,b \\\"c\\\"\", \"n\": 9007199254740993, \"x\": "
                                "0.30000000000000004, \"rate\": 1.5, \"part\": 1,"
                                "  \"time\": 1234.4, \"fits\": false, \"raw\": 1e300},"
                                " {\"name\": \"\\u00fc|\\u4e2d\\n\\u001b[31m\", \"n\": null, "
                                "\"rate\": null, \"part\": null, \"time\": null,"
                                "  \"fits\": null, \"raw\": [1, {\"k\": null}]}]";

/* What the format prints for these rows. */
static char *printed(enum report_format fmt, const char *rows_json, const json_t *meta)
{
    struct error err;
    char *out = NULL;
    size_t n = 0;
    json_t *rows = json_loads(rows_json, 0, NULL);
    assert_non_null(rows);
    FILE *f = open_memstream(&out, &n);
    const struct report_doc d = { "roofcast.test", 1, meta, rows, columns, ARRAY_LEN(columns) };
    assert_ok(report_print(f, fmt, &d, 0, &err), err);
    fclose(f);
    json_decref(rows);
    return out;
}

static void expect(enum report_format fmt, const char *rows_json, const char *want)
{
    char *got = printed(fmt, rows_json, NULL);
    assert_string_equal(got, want);
    free(got);
}

static void test_table(void **state)
{
    (void)state;
    expect(
        REPORT_TABLE, rows_text,
        "name                       n      x       rate     part     time  fits\n"
        "----------  ----------------  -----  ---------  -------  -------  ----\n"
        "plain                     12   1.50  41.2 GB/s   87.3 %  4.78 ms  yes\n"
        "a,b \"c\"     9007199254740993  0.300   1.50 B/s  100.0 %   1234 s  no\n"
        "\xc3\xbc|\xe4\xb8\xad??[31m                 -      -          -        -        -  ?\n");
    expect(REPORT_TABLE, "[]",
           "name  n  x  rate  part  time  fits\n"
           "----  -  -  ----  ----  ----  ----\n");
}

static void test_md(void **state)
{
    (void)state;
    expect(
        REPORT_MD,
        "[{\"name\": \"a|b\", \"n\": 3, \"x\": 12345.6, \"rate\": 2e9, \"part\": 0.5, \"time\": 2, "
        "\"fits\": null}]",
        "| name |   n |     x |      rate |   part |   time | fits |\n"
        "| ---- | --: | ----: | --------: | -----: | -----: | ---- |\n"
        "| a\\|b |   3 | 12346 | 2.00 GB/s | 50.0 % | 2.00 s | ?    |\n");
}

static void test_csv(void **state)
{
    (void)state;
    expect(REPORT_CSV, rows_text,
           "name,n,x,rate,part,time,fits,raw\n"
           "plain,12,1.5,41200000000,0.873,0.00478,true,0.1\n"
           "\"a,b \"\"c\"\"\",9007199254740993,0.30000000000000004,1.5,1,1234.4,false,1e+300\n"
           "\"\xc3\xbc|\xe4\xb8\xad\n\x1b[31m\",,,,,,,\"[1,{\"\"k\"\":null}]\"\n");
    expect(REPORT_CSV, "[]", "name,n,x,rate,part,time,fits,raw\n");
}

/* Every double comes back from csv as it was. */
static void test_csv_round_trip(void **state)
{
    (void)state;
    struct rng r;
    rng_init(&r, 7);
    for (int i = 0; i < 2000; i++) {
        double v = (rng_uniform(&r) - 0.5) * pow(10, (int)(rng_u64(&r) % 600) - 300);
        json_t *row = json_pack("[{s:f}]", "x", v);
        char *text = json_dumps(row, JSON_REAL_PRECISION(17)),
             *got = printed(REPORT_CSV, text, NULL);
        const char *line = strchr(got, '\n') + 1;
        assert_memory_equal(line, ",,", 2);
        assert_true(strtod(line + 2, NULL) == v);
        free(text);
        free(got);
        json_decref(row);
    }
}

static void test_json(void **state)
{
    (void)state;
    json_t *meta = json_pack("{s:s, s:s}", "model", "m", "schema", "someone else's");
    char *got = printed(REPORT_JSON, "[{\"name\": \"x\", \"n\": null}]", meta);
    json_t *j = json_loads(got, 0, NULL);
    assert_non_null(j);
    assert_string_equal(json_string_value(json_object_get(j, "schema")), "roofcast.test");
    assert_int_equal(json_integer_value(json_object_get(j, "version")), 1);
    assert_string_equal(json_string_value(json_object_get(j, "model")), "m");
    const json_t *row = json_array_get(json_object_get(j, "rows"), 0);
    assert_true(json_is_null(json_object_get(row, "n")));
    assert_memory_equal(got, "{\n  \"schema\": ", 14);
    json_decref(j);
    json_decref(meta);
    free(got);
    expect(REPORT_JSONL, "[{\"n\": 1}, {\"n\": null, \"name\": \"\\u00fc\"}]",
           "{\"schema\":\"roofcast.test\",\"version\":1,\"n\":1}\n"
           "{\"schema\":\"roofcast.test\",\"version\":1,\"n\":null,\"name\":\"\xc3\xbc\"}\n");
}

/* Columns leave a table by rank, of one rank from the right, and are named; the first stays. */
static void test_width(void **state)
{
    (void)state;
    static const struct column cols[] = {
        { "a", "first", COL_TEXT, NULL, COL_MINOR }, { "b", "minor", COL_TEXT, NULL, COL_MINOR },   { "c", "medium", COL_TEXT, NULL, COL_MEDIUM },
        { "d", "data", COL_TEXT, NULL, COL_DATA },   { "e", "major1", COL_TEXT, NULL, COL_MAJOR }, { "f", "major2", COL_TEXT, NULL, COL_MAJOR },
    };
    static const struct {
        size_t width;
        const char *head, *foot;
    } want[] = {
        { 0, "first  minor  medium  major1  major2\n", NULL },
        { 36, "first  minor  medium  major1  major2\n", NULL },
        { 35, "first  medium  major1  major2\n", "(not shown: minor; --wide shows all\n columns)\n" },
        { 28, "first  major1  major2\n", "(not shown: minor, medium;\n --wide shows all columns)\n" },
        { 20, "first  major1\n", "(not shown: minor,\n medium, major2;\n --wide shows all\n columns)\n" },
        { 1, "first\n", "(not\n shown:\n minor,\n medium,\n major1,\n major2;\n --wide\n shows\n all\n columns)\n" },
    };
    json_t *rows = json_pack("[{s:s}]", "a", "x");
    const struct report_doc d = { "roofcast.test", 1, NULL, rows, cols, ARRAY_LEN(cols) };
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        struct error err = { 0 };
        char *out = NULL;
        size_t n;
        FILE *f = open_memstream(&out, &n);
        assert_ok(report_print(f, REPORT_TABLE, &d, want[i].width, &err), err);
        fclose(f);
        assert_memory_equal(out, want[i].head, strlen(want[i].head));
        if (want[i].foot)
            assert_non_null(strstr(out, want[i].foot));
        else
            assert_null(strstr(out, "not shown"));
        free(out);
    }
    json_decref(rows);
}

/* Breaks stand at blanks; ends of lines that begin a line of their own stay. */
static void test_wrap(void **state)
{
    (void)state;
    static const struct {
        size_t width, indent;
        const char *text, *want;
    } cases[] = {
        { 0, 2, "one two\nthree  \n\n four\n", "one two\nthree  \n\n four\n" },
        { 7, 2, "one two three\n", "one two\n  three\n" },
        { 6, 0, "one two three\n", "one\ntwo\nthree\n" },
        { 20, 0, "one two\nthree\n\n four\n  five\n", "one two three\n\n four\n  five\n" },
        { 8, 0, "  a  b  cccccccccccc d", "  a  b\ncccccccccccc\nd" },
        { 12, 7, "a     b cccccc d", "a     b\n    cccccc d" },
        { 4, 0, "\xc3\xa4\xc3\xa4 \xe6\xbc\xa2 b", "\xc3\xa4\xc3\xa4\n\xe6\xbc\xa2 b" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf b = { 0 };
        report_wrap(&b, cases[i].text, cases[i].width, cases[i].indent);
        assert_string_equal(b.s, cases[i].want);
        strbuf_free(&b);
    }
}

static void test_sql(void **state)
{
    (void)state;
    static const struct column cols[] = { { "name", "n", COL_TEXT, NULL, COL_MAJOR }, { "rate", "r", COL_SI, "B/s", COL_DATA }, { "n", "n", COL_INT, NULL, COL_MAJOR } };
    struct error err = { 0 };
    json_t *rows = json_pack("[{s:s, s:f, s:i}, {s:s, s:n, s:i}]", "name", "it's; DROP", "rate", 1.5, "n", 3, "name", "", "rate", "n", 4);
    const struct report_doc d = { "roofcast.test", 1, NULL, rows, cols, ARRAY_LEN(cols) };
    char *out = NULL;
    size_t n;
    FILE *f = open_memstream(&out, &n);
    assert_ok(report_print(f, REPORT_SQL, &d, 0, &err), err);
    fclose(f);
    assert_string_equal(out, "CREATE TABLE IF NOT EXISTS roofcast_test (\n  \"name\" TEXT,\n  \"rate\" REAL,\n  \"n\" INTEGER\n);\n"
                             "INSERT INTO roofcast_test (\"name\", \"rate\", \"n\") VALUES ('it''s; DROP', 1.5, 3);\n"
                             "INSERT INTO roofcast_test (\"name\", \"rate\", \"n\") VALUES ('', NULL, 4);\n");
    free(out);
    json_decref(rows);
}

static void test_full_disk(void **state)
{
    (void)state;
    struct error err;
    json_t *rows = json_loads(rows_text, 0, NULL);
    const struct report_doc d = { "roofcast.test", 1, NULL, rows, columns, ARRAY_LEN(columns) };
    FILE *f = fopen("/dev/full", "w");
    if (!f) {
        print_message("# /dev/full is not here\n");
        json_decref(rows);
        skip();
    }
    setvbuf(f, NULL, _IONBF, 0);
    assert_fails(report_print(f, REPORT_CSV, &d, 0, &err), err, "cannot write");
    fclose(f);
    json_decref(rows);
}

static void test_format_names(void **state)
{
    (void)state;
    struct error err;
    enum report_format f;
    assert_ok(report_format_find("jsonl", &f, &err), err);
    assert_int_equal(f, REPORT_JSONL);
    assert_fails(report_format_find("xml", &f, &err), err,
                 "expected table, csv, json, jsonl, md or sql");
    assert_int_equal(err.kind, ERROR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),        cmocka_unit_test(test_md),
        cmocka_unit_test(test_csv),          cmocka_unit_test(test_csv_round_trip),
        cmocka_unit_test(test_json),         cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_width),        cmocka_unit_test(test_wrap),
                cmocka_unit_test(test_sql),
        cmocka_unit_test(test_format_names),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
