/* Rows in every output format, to the byte. */
#include "../test.h"
#include "report/report.h"
#include <math.h>

struct row {
    const char *name;
    struct cell n; /* a count that may not be known */
    double x, rate, part, time;
    int fits;
    struct cell raw;
    uint32_t gap;
    char note[8];
    json_t *nested;
};

#define AT(m) COLUMN_AT(struct row, m)
static const struct column columns[] = {
    { "name", "name", COL_TEXT, NULL, COL_MAJOR, AT(name), EMPTY_VALUE, NULL, NULL },
    { "n", "n", COL_INT, NULL, COL_MAJOR, AT(n), EMPTY_VALUE, NULL, NULL },
    { "x", "x", COL_FLOAT, NULL, COL_MAJOR, AT(x), EMPTY_NULL, NULL, NULL },
    { "rate", "rate", COL_SI, "B/s", COL_MAJOR, AT(rate), EMPTY_NULL, NULL, NULL },
    { "part", "part", COL_FRACTION, NULL, COL_MAJOR, AT(part), EMPTY_NULL, NULL, NULL },
    { "time", "time", COL_SECONDS, "s", COL_MAJOR, AT(time), EMPTY_NULL, NULL, NULL },
    { "fits", "fits", COL_BOOL, NULL, COL_MAJOR, AT(fits), EMPTY_NULL, NULL, NULL },
    { "raw", NULL, COL_FLOAT, NULL, COL_DATA, AT(raw), EMPTY_VALUE, NULL, NULL },
};
#undef AT

static struct row *add(struct table_rows *rows, const char *name, struct cell n, double x)
{
    struct row *w = table_add(rows);
    *w = (struct row){ .name = name, .n = n, .x = x, .rate = NAN, .part = NAN, .time = NAN, .fits = -1 };
    return w;
}

static struct table_rows three_rows(void)
{
    struct table_rows rows = { .size = sizeof(struct row) };
    struct row *w = add(&rows, "plain", cell_whole(12), 1.5);
    w->rate = 41200000000.0;
    w->part = 0.873;
    w->time = 0.00478;
    w->fits = 1;
    w->raw = cell_real(0.1);
    w = add(&rows, "a,b \"c\"", cell_whole(9007199254740993), 0.30000000000000004);
    w->rate = 1.5;
    w->part = 1;
    w->time = 1234.4;
    w->fits = 0;
    w->raw = cell_real(1e300);
    w = add(&rows, "\xc3\xbc|\xe4\xb8\xad\n\x1b[31m", (struct cell){ 0 }, INFINITY);
    w->raw = cell_text("two\nlines");
    return rows;
}

/* What the format prints for these rows. */
static char *printed(enum report_format fmt, const struct table_rows *rows, const json_t *meta, const char *order)
{
    struct error err;
    char *out = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&out, &n);
    const struct table t = { "roofcast.test", 1, meta, columns, ARRAY_LEN(columns), rows, order };
    assert_ok(report_print(f, fmt, &t, 0, &err), err);
    fclose(f);
    return out;
}

static void expect(enum report_format fmt, struct table_rows rows, const char *order, const char *want)
{
    char *got = printed(fmt, &rows, NULL, order);
    assert_string_equal(got, want);
    free(got);
    table_rows_free(&rows);
}

static struct table_rows no_rows(void)
{
    return (struct table_rows){ .size = sizeof(struct row) };
}

static void test_table(void **state)
{
    (void)state;
    expect(
        REPORT_TABLE, three_rows(), NULL,
        "name                       n      x       rate     part     time  fits\n"
        "----------  ----------------  -----  ---------  -------  -------  ----\n"
        "plain                     12   1.50  41.2 GB/s   87.3 %  4.78 ms  yes\n"
        "a,b \"c\"     9007199254740993  0.300   1.50 B/s  100.0 %   1234 s  no\n"
        "\xc3\xbc|\xe4\xb8\xad??[31m                 -      -          -        -        -  ?\n");
    expect(REPORT_TABLE, no_rows(), NULL,
           "name  n  x  rate  part  time  fits\n"
           "----  -  -  ----  ----  ----  ----\n");
}

static void test_md(void **state)
{
    (void)state;
    struct table_rows rows = no_rows();
    struct row *w = add(&rows, "a|b", cell_whole(3), 12345.6);
    w->rate = 2e9;
    w->part = 0.5;
    w->time = 2;
    expect(
        REPORT_MD, rows, NULL,
        "| name |   n |     x |      rate |   part |   time | fits |\n"
        "| ---- | --: | ----: | --------: | -----: | -----: | ---- |\n"
        "| a\\|b |   3 | 12346 | 2.00 GB/s | 50.0 % | 2.00 s | ?    |\n");
}

static void test_csv(void **state)
{
    (void)state;
    expect(REPORT_CSV, three_rows(), NULL,
           "name,n,x,rate,part,time,fits,raw\n"
           "plain,12,1.5,41200000000,0.873,0.00478,true,0.1\n"
           "\"a,b \"\"c\"\"\",9007199254740993,0.30000000000000004,1.5,1,1234.4,false,1e+300\n"
           "\"\xc3\xbc|\xe4\xb8\xad\n\x1b[31m\",,,,,,,\"two\nlines\"\n");
    expect(REPORT_CSV, no_rows(), NULL, "name,n,x,rate,part,time,fits,raw\n");
    expect(REPORT_CSV, three_rows(), "x name", "x,name\n1.5,plain\n0.30000000000000004,\"a,b \"\"c\"\"\"\n,\"\xc3\xbc|\xe4\xb8\xad\n\x1b[31m\"\n");
}

/* Every double comes back from csv as it was. */
static void test_csv_round_trip(void **state)
{
    (void)state;
    struct rng r;
    rng_init(&r, 7);
    for (int i = 0; i < 2000; i++) {
        double v = (rng_uniform(&r) - 0.5) * pow(10, (int)(rng_u64(&r) % 600) - 300);
        struct table_rows rows = no_rows();
        add(&rows, NULL, (struct cell){ 0 }, v);
        char *got = printed(REPORT_CSV, &rows, NULL, NULL);
        const char *line = strchr(got, '\n') + 1;
        assert_memory_equal(line, ",,", 2);
        assert_true(strtod(line + 2, NULL) == v);
        free(got);
        table_rows_free(&rows);
    }
}

static void test_json(void **state)
{
    (void)state;
    json_t *meta = json_pack("{s:s, s:s}", "model", "m", "schema", "someone else's");
    struct table_rows rows = no_rows();
    add(&rows, "x", (struct cell){ 0 }, 2);
    char *got = printed(REPORT_JSON, &rows, meta, NULL);
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
    add(&rows, "\xc3\xbc", cell_whole(1), 1e16);
    /* in the order of the columns, whatever the order of csv */
    expect(REPORT_JSONL, rows, "x n name",
           "{\"schema\":\"roofcast.test\",\"version\":1,\"name\":\"x\",\"n\":null,\"x\":2}\n"
           "{\"schema\":\"roofcast.test\",\"version\":1,\"name\":\"\xc3\xbc\",\"n\":1,\"x\":10000000000000000.0}\n");
}

/* 0 and "" are values, null, or not there; nested JSON is in JSON alone, where a row has it. */
static void test_empty(void **state)
{
    (void)state;
#define AT(m) COLUMN_AT(struct row, m)
    static const struct column cols[] = {
        { "a", NULL, COL_INT, NULL, COL_MAJOR, AT(gap), EMPTY_VALUE, NULL, NULL },   { "b", NULL, COL_INT, NULL, COL_MAJOR, AT(gap), EMPTY_NULL, NULL, NULL },
        { "c", NULL, COL_INT, NULL, COL_MAJOR, AT(gap), EMPTY_ABSENT, NULL, NULL },  { "d", NULL, COL_TEXT, NULL, COL_MAJOR, AT(note), EMPTY_VALUE, NULL, NULL },
        { "e", NULL, COL_TEXT, NULL, COL_MAJOR, AT(note), EMPTY_NULL, NULL, NULL },  { "f", NULL, COL_FLOAT, NULL, COL_MAJOR, AT(x), EMPTY_NULL, NULL, NULL },
        { "g", NULL, COL_FLOAT, NULL, COL_JSON, AT(rate), EMPTY_ABSENT, NULL, NULL }, { "h", NULL, COL_TEXT, NULL, COL_JSON, AT(nested), EMPTY_VALUE, NULL, NULL },
    };
#undef AT
    struct table_rows rows = no_rows();
    struct row *w = add(&rows, NULL, (struct cell){ 0 }, 0);
    w = add(&rows, NULL, (struct cell){ 0 }, 3);
    w->gap = 7;
    w->rate = 0;
    strcpy(w->note, "n");
    w->nested = json_pack("[i]", 1);
    const struct table t = { "t", 1, NULL, cols, ARRAY_LEN(cols), &rows, NULL };
    struct error err;
    char *out[2] = { NULL, NULL };
    size_t n;
    for (int i = 0; i < 2; i++) {
        FILE *f = open_memstream(&out[i], &n);
        assert_ok(report_print(f, i ? REPORT_JSONL : REPORT_CSV, &t, 0, &err), err);
        fclose(f);
    }
    assert_string_equal(out[0], "a,b,c,d,e,f\n0,,,,,0\n7,7,7,n,n,3\n");
    assert_string_equal(out[1], "{\"schema\":\"t\",\"version\":1,\"a\":0,\"b\":null,\"d\":\"\",\"e\":null,\"f\":0}\n"
                                "{\"schema\":\"t\",\"version\":1,\"a\":7,\"b\":7,\"c\":7,\"d\":\"n\",\"e\":\"n\",\"f\":3,\"g\":0,\"h\":[1]}\n");
    assert_true(table_has(&t, "b") && table_has(&t, "f") && !table_has(&t, "none"));
    rows.n = 1;
    assert_true(table_has(&t, "a") && !table_has(&t, "b") && !table_has(&t, "c"));
    rows.n = 2;
    json_decref(w->nested);
    free(out[0]);
    free(out[1]);
    table_rows_free(&rows);
}

/* Texts are copies, as UTF-8, and live as long as the rows. */
static void test_rows(void **state)
{
    (void)state;
    struct table_rows rows = no_rows();
    char text[] = "one \xff";
    for (int i = 0; i < 100; i++)
        add(&rows, table_text(&rows, text), cell_whole(i), 0);
    text[0] = 'x';
    for (size_t i = 0; i < 100; i++) {
        const struct row *w = table_row(&rows, i);
        assert_string_equal(w->name, "one ?");
        assert_int_equal(w->n.whole, i);
    }
    assert_null(table_text(&rows, ""));
    assert_null(table_text(&rows, NULL));
    struct column cols[ARRAY_LEN(columns)];
    memcpy(cols, columns, sizeof cols);
    columns_rank(cols, ARRAY_LEN(cols), "n time", COL_KEY); /* not name */
    assert_int_equal(cols[0].rank, COL_MAJOR);
    assert_int_equal(cols[1].rank, COL_KEY);
    assert_int_equal(cols[5].rank, COL_KEY);
    columns_rank(cols, ARRAY_LEN(cols), "name rates", COL_MINOR); /* neither n nor rate */
    assert_int_equal(cols[0].rank, COL_MINOR);
    assert_int_equal(cols[1].rank, COL_KEY);
    assert_int_equal(cols[3].rank, COL_MAJOR);
    table_rows_free(&rows);
    assert_int_equal(rows.n, 0);
}

/* Columns leave a table by rank, of one rank from the right, and are named; the first stays. */
static void test_width(void **state)
{
    (void)state;
#define AT COLUMN_AT(struct row, name), EMPTY_VALUE, NULL, NULL
    static const struct column cols[] = {
        { "a", "first", COL_TEXT, NULL, COL_MINOR, AT }, { "b", "minor", COL_TEXT, NULL, COL_MINOR, AT },   { "c", "medium", COL_TEXT, NULL, COL_MEDIUM, AT },
        { "d", "data", COL_TEXT, NULL, COL_DATA, AT },   { "e", "major1", COL_TEXT, NULL, COL_MAJOR, AT }, { "f", "major2", COL_TEXT, NULL, COL_MAJOR, AT },
    };
#undef AT
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
    struct table_rows rows = no_rows();
    add(&rows, "x", (struct cell){ 0 }, 0);
    const struct table d = { "roofcast.test", 1, NULL, cols, ARRAY_LEN(cols), &rows, NULL };
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
    table_rows_free(&rows);
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
    struct table_rows rows = no_rows();
    add(&rows, "it's; DROP", cell_whole(3), 1.5);
    add(&rows, "", cell_whole(4), NAN);
    expect(REPORT_SQL, rows, "name x n",
           "CREATE TABLE IF NOT EXISTS roofcast_test (\n  \"name\" TEXT,\n  \"x\" REAL,\n  \"n\" INTEGER\n);\n"
           "INSERT INTO roofcast_test (\"name\", \"x\", \"n\") VALUES ('it''s; DROP', 1.5, 3);\n"
           "INSERT INTO roofcast_test (\"name\", \"x\", \"n\") VALUES ('', NULL, 4);\n");
}

static void test_full_disk(void **state)
{
    (void)state;
    struct error err;
    FILE *f = fopen("/dev/full", "w");
    if (!f) {
        print_message("# /dev/full is not here\n");
        skip();
    }
    struct table_rows rows = three_rows();
    const struct table d = { "roofcast.test", 1, NULL, columns, ARRAY_LEN(columns), &rows, NULL };
    setvbuf(f, NULL, _IONBF, 0);
    assert_fails(report_print(f, REPORT_CSV, &d, 0, &err), err, "cannot write");
    fclose(f);
    table_rows_free(&rows);
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
        cmocka_unit_test(test_sql),          cmocka_unit_test(test_empty),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_format_names),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
