/* Charts of curves: axes, what is in the frame, files, and what they refuse. */
#include "../test.h"
#include "report/draw.h"
#include <math.h>
#include <unistd.h>

static void axis_is(const struct chart_axis *a, double lo, double hi)
{
    assert_true(fabs(a->lo - lo) <= 1e-9 * fabs(hi) + 1e-12 * fabs(lo));
    assert_true(fabs(a->hi / hi - 1) < 1e-9);
}

static void test_axes(void **state)
{
    (void)state;
    struct chart_axis a = { 0 };
    axis_decades(&a, 14.5e9, 1.6e12);
    axis_is(&a, 1e10, 1e13);
    axis_decades(&a, 10.5e9, 95e9); /* too near the ends: a decade more */
    axis_is(&a, 1e9, 1e12);
    axis_linear(&a, 84e9);
    axis_is(&a, 0, 100e9);
    axis_linear(&a, 100e9);
    axis_is(&a, 0, 100e9);
    axis_linear_close(&a, 100.4);
    axis_is(&a, 0, 120);
    axis_linear_close(&a, 8.4);
    axis_is(&a, 0, 10);
    axis_linear(&a, 101e9);
    axis_is(&a, 0, 200e9);
    axis_linear(&a, 4.9);
    axis_is(&a, 0, 5);
    axis_powers(&a, 1024, 1.1e9);
    axis_is(&a, 1024, 2147483648.0);
    axis_powers(&a, 3, 8);
    axis_is(&a, 2, 8);
}

static struct hw_point points[] = {
    { 1024, 5e9, 4e9, 6e9, 9 },  { 4096, 50e9, NAN, NAN, 1 }, { 8192, 5e13, NAN, NAN, 1 },
    { 16384, NAN, NAN, NAN, 0 }, { 1e12, 5e9, NAN, NAN, 1 },
};

static struct curve_chart chart(struct chart_series *s, const char *style)
{
    *s = (struct chart_series){ .label = "it's a\tcurve", .point = points, .n_point = ARRAY_LEN(points), .line = true };
    struct curve_chart c = { .title = "t", .style = style, .series = s, .n_series = 1 };
    c.x.scale = AXIS_BYTES;
    axis_powers(&c.x, 1024, 1 << 20);
    axis_decades(&c.y, 2e9, 50e9);
    return c;
}

static bool file_has(const char *path, const char *text)
{
    struct filemap m;
    struct error err;
    if (filemap_open(&m, path, &err) != 0)
        return false;
    bool found = memmem(m.data, m.size, text, strlen(text)) != NULL;
    filemap_close(&m);
    return found;
}

/* Without gnuplot's help: a PATH that has none still gets the data and the script. */
static void test_files(void **state)
{
    (void)state;
    char dir[] = "/tmp/roofcast-curves-XXXXXX", base[128], path[160], style[512];
    struct chart_series s;
    struct strbuf notes = { 0 };
    struct error err = { 0 };
    assert_non_null(mkdtemp(dir));
    const char *data = getenv("ROOFCAST_DATA");
    snprintf(style, sizeof style, "%s/reports/charts/curves.gp", data ? data : ".");
    snprintf(base, sizeof base, "%s/c", dir);
    struct curve_chart c = chart(&s, style);
    struct chart_mark mark[2] = { { 4096, "L1" }, { 1e15, "far" } };
    struct chart_level level[2] = { { 2e10, "roof", false, -1 }, { 1e3, "low", true, 0 } };
    c.mark = mark;
    c.n_mark = 2;
    c.level = level;
    c.n_level = 2;
    setenv("PATH", dir, 1);
    assert_int_equal(chart_curves(&c, base, &notes, &err), -1);
    assert_int_equal(err.kind, ERROR_UNAVAILABLE);
    assert_string_equal(notes.s, "Outside the frame: it's a\tcurve (3 of 5 points)\n");
    snprintf(path, sizeof path, "%s.tsv", base);
    assert_true(file_has(path, "1\t1024\t5e+09\t4e+09\t6e+09\t9\t1\t1\t\tit's a curve\n"));
    assert_true(file_has(path, "1\t4096\t5e+10\tnan\tnan\t1\t1\t1\t"));
    assert_true(file_has(path, "1\t8192\t5e+13\tnan\tnan\t1\t0\t1\t"));
    assert_true(file_has(path, "1\t16384\tnan\tnan\tnan\t0\t0\t1\t"));
    unlink(path);
    snprintf(path, sizeof path, "%s.roofs.tsv", base);
    assert_true(file_has(path, "mark\t4096\t1\t0\t0\tL1\n") && file_has(path, "mark\t1e+15\t0\t0\t0\tfar\n"));
    assert_true(file_has(path, "roof\t2e+10\t1\t0\t0\troof\n") && file_has(path, "roof\t1000\t0\t1\t1\tlow\n"));
    unlink(path);
    snprintf(path, sizeof path, "%s.gp", base);
    assert_true(file_has(path, "NAME[1] = 'it''s a curve'"));
    assert_true(file_has(path, "set xtics ('1 KiB' 1024, '2 KiB' 2048, '4 KiB' 4096"));
    unlink(path);
    rmdir(dir);
    strbuf_free(&notes);
}

static void test_refusals(void **state)
{
    (void)state;
    struct chart_series s;
    struct strbuf notes = { 0 };
    struct error err = { 0 };
    unsigned formats;
    struct curve_chart c = chart(&s, "/dev/null");
    assert_fails(chart_curves(&c, "/tmp/x", &notes, &err), err, "/dev/null");
    c.y.lo = NAN;
    assert_fails(chart_curves(&c, "/tmp/x", &notes, &err), err, "axes are empty");
    c.n_series = 0;
    assert_fails(chart_curves(&c, "/tmp/x", &notes, &err), err, "no curve");
    assert_ok(chart_formats_parse(&formats, "txt,svg", &err), err);
    assert_int_equal(formats, CHART_SVG | CHART_TXT);
    assert_fails(chart_formats_parse(&formats, "svg,", &err), err, "found \"\"");
    assert_fails(chart_formats_parse(&formats, "sv", &err), err, "found \"sv\"");
    strbuf_free(&notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_axes),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("curves", tests, NULL, NULL);
}
