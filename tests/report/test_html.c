/* A report's page: texts with figures, escaping, pictures, the hash of the policy. */
#include "../test.h"
#include "base/environment.h"
#include "base/sha256.h"
#include "report/html_page.h"
#include "report/html_svg.h"
#include "report/html_write.h"
#include <stdlib.h>
#include <string.h>

/* FIPS 180-4's examples (csrc.nist.gov, SHA256.pdf), and one block more of zeros, by coreutils. */
static void test_hash(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        const char *hash;
    } cases[] = { { "", 0, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=" },
                  { "abc", 3, "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=" },
                  { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, "JI1qYdIGOLjlwCaTDD5gOaM85Flk/yFn9uzt1BnbBsE=" } };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        unsigned char hash[32];
        char text[45];
        sha256(hash, cases[i].text, cases[i].n);
        base64(text, hash, sizeof hash);
        assert_string_equal(text, cases[i].hash);
    }
    char text[9];
    base64(text, (const unsigned char *)"ab", 2);
    assert_string_equal(text, "YWI=");
    base64(text, (const unsigned char *)"a", 1);
    assert_string_equal(text, "YQ==");
}

static char *written(int (*write)(FILE *, const struct page *, struct error *), const struct page *p)
{
    char *text = NULL;
    size_t n = 0;
    struct error err = { 0 };
    FILE *f = open_memstream(&text, &n);
    assert_non_null(f);
    assert_ok(write(f, p, &err), err);
    fclose(f);
    return text;
}

static int write_html(FILE *f, const struct page *p, struct error *err)
{
    return html_write(f, p, NULL, err);
}

static void test_texts(void **state)
{
    struct page p = { .title = "a <b> & \"c\"" };
    (void)state;
    page_add(&p, PAGE_SECTION, "one");
    page_say(&p, "Heading");
    page_add(&p, PAGE_LEAD, "");
    page_say(&p, "reads %s, ", "<i>\x01\x02\x03\x1b[31m\xe2\x80\xae\xff&");
    page_figure(&p, "29.5 GB/s", "measured \"so\" <x>\x02");
    page_say(&p, ".");
    char *html = written(write_html, &p), *md = written(markdown_write, &p);
    assert_non_null(strstr(html, "<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"));
    assert_non_null(strstr(html, "<p class=\"lead\">reads &lt;i&gt;????[31m??&amp;, <data class=\"figure\" value=\"29.5 GB/s\" "
                                 "title=\"measured &quot;so&quot; &lt;x&gt;?\">29.5 GB/s</data>.</p>"));
    assert_non_null(strstr(md, "**reads &#60;i&#62;????\\[31m??&#38;, 29.5 GB/s.**"));
    free(html);
    free(md);
    page_free(&p);
}

static void test_table(void **state)
{
    struct page p = { .title = "t" };
    (void)state;
    page_add(&p, PAGE_TABLE, "rows");
    page_say(&p, "Caption");
    struct page_table *t = page_cells(&p, 3);
    page_column(t, 0, "na|me", COL_TEXT, NULL, "what it is");
    page_column(t, 1, "rate", COL_SI, "B/s", "where from");
    page_column(t, 2, "nothing", COL_TEXT, NULL, NULL);
    struct cell *row = table_add(&t->rows);
    row[0] = cell_text(page_keep(t, "a|b<script>"));
    row[1] = cell_real(1.5e9);
    t->n_left_out = 3;
    char *html = written(write_html, &p), *md = written(markdown_write, &p);
    assert_non_null(strstr(html, "<th scope=\"col\" class=\"n\" title=\"where from (B/s)\">rate</th></tr>")); /* the empty column is left out */
    assert_non_null(strstr(html, "<th scope=\"row\">a|b&lt;script&gt;</th><td class=\"n\" data-v=\"1500000000\">1.50 GB/s</td></tr>"));
    assert_non_null(strstr(html, "3 more rows are in the file."));
    assert_non_null(strstr(md, "| na\\|me | rate |\n| --- | ---: |\n| a\\|b&#60;script&#62; | 1.50 GB/s |\n"));
    free(html);
    free(md);
    page_free(&p);
}

/* "": refused. */
static char *cleaned(const char *svg)
{
    struct strbuf b = { 0 };
    struct error err = { 0 };
    const int rc = html_svg_clean(&b, svg, strlen(svg), "c1", " role=\"img\"", &err);
    char *text = strdup(rc == 0 ? b.s : "");
    assert_true(rc == 0 || err.kind == ERROR_INPUT);
    strbuf_free(&b);
    return text;
}

static void test_pictures(void **state)
{
    static const struct {
        const char *svg, *clean;
    } cases[] = {
        { "<?xml version=\"1.0\"?><svg viewBox='0 0 1 1' onload=\"x()\" width=\"3\"><!-- <script> --></svg>", "<svg role=\"img\" viewBox=\"0 0 1 1\" width=\"3\"></svg>" },
        { "<svg><title>Gnuplot</title><g id=\"a\"><title>decode</title><use xlink:href='#p' fill=\"#0a0b0c\"/></g></svg>",
          "<svg role=\"img\"><g id=\"c1-a\"><title>decode</title><use xlink:href=\"#c1-p\" fill=\"#0a0b0c\"/></g></svg>" },
        { "<svg><g><title>gnuplot_plot_1</title></g><g><title>x using 1:2</title></g></svg>", "<svg role=\"img\"><g></g><g></g></svg>" },
        { "<svg><script>alert(1)</script><foreignObject><p>x</p></foreignObject><style>p{}</style><a href=\"#x\"><path d=\"M0\"/></a></svg>", "<svg role=\"img\"></svg>" },
        { "<svg><use href=\"http://x/#a\"/><use href=\"javascript:x\"/><path filter='url(#f)' style=\"fill:red\"/><path fill=\"url(http://x)\"/></svg>",
          "<svg role=\"img\"><use/><use/><path filter=\"url(#c1-f)\"/><path/></svg>" },
        { "<svg><text>a &lt;b&gt; > c</text></svg>", "<svg role=\"img\"><text>a &lt;b&gt; &gt; c</text></svg>" },
        { "<svg><g></svg>", "" }, { "<svg>", "" }, { "<g></g>", "" }, { "<svg><path d=x/></svg>", "" }, { "<svg/><svg/>", "" }, { "<svg ", "" }, { "", "" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *clean = cleaned(cases[i].svg);
        assert_string_equal(clean, cases[i].clean);
        free(clean);
    }
}

int main(void)
{
    static const char *dirs[2];
    dirs[0] = getenv("ROOFCAST_DATA");
    environment_set_dirs(dirs);
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_hash), cmocka_unit_test(test_texts), cmocka_unit_test(test_table), cmocka_unit_test(test_pictures) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
