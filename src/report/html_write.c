/* A page as HTML: blocks in the template of reports/html, with its own style, script and content security policy. */
#include "report/html_write_internal.h"
#include "base/environment.h"
#include "base/sha256.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static void add_chart(struct strbuf *b, const struct page_block *x)
{
    strbuf_addf(b, "<figure id=\"%s\" class=\"chart%s\">\n", x->id, x->wide ? " screen" : "");
    if (x->chart.svg)
        strbuf_adds(b, x->chart.svg);
    strbuf_addf(b, "\n<figcaption id=\"%s-caption\">", x->id);
    html_add_figures(b, &x->text);
    strbuf_adds(b, "</figcaption>\n</figure>\n");
}

static void add_line(struct strbuf *b, const char *open, const struct page_block *x, const char *close)
{
    strbuf_adds(b, open);
    html_add_figures(b, &x->text);
    strbuf_adds(b, close);
}

/* Sections are siblings; items next to one another are one list. */
struct blocks {
    struct strbuf b;
    bool in_section, in_list;
};

static void end_list(struct blocks *w)
{
    strbuf_adds(&w->b, w->in_list ? "</ul>\n" : "");
    w->in_list = false;
}

static void end_section(struct blocks *w)
{
    end_list(w);
    strbuf_adds(&w->b, w->in_section ? "</section>\n" : "");
    w->in_section = false;
}

static int add_step(struct blocks *w, const struct html_step *step, struct error *err)
{
    char *text = NULL;
    size_t n = 0;
    end_section(w);
    if (!step)
        return 0;
    FILE *f = open_memstream(&text, &n);
    if (!f)
        return error_oom(err, 0, "a page");
    int rc = html_step_write(f, step, err);
    if (fclose(f) != 0 && rc == 0)
        rc = error_oom(err, n, "a page");
    if (rc == 0)
        strbuf_add(&w->b, text, n);
    free(text);
    return rc;
}

static int add_block(struct blocks *w, const struct page_block *x, const struct html_step *step, struct error *err)
{
    if (x->kind != PAGE_ITEM)
        end_list(w);
    switch (x->kind) {
    case PAGE_SECTION:
        end_section(w);
        strbuf_addf(&w->b, "<section id=\"%s\"%s aria-labelledby=\"%s-heading\">\n<h2 id=\"%s-heading\">", x->id, x->wide ? " class=\"screen\"" : "", x->id, x->id);
        html_add_figures(&w->b, &x->text);
        strbuf_adds(&w->b, "</h2>\n");
        w->in_section = true;
        return 0;
    case PAGE_LEAD:
        add_line(&w->b, "<p class=\"lead\">", x, "</p>\n");
        return 0;
    case PAGE_TEXT:
        add_line(&w->b, "<p>", x, "</p>\n");
        return 0;
    case PAGE_ITEM:
        strbuf_adds(&w->b, w->in_list ? "" : "<ul>\n");
        w->in_list = true;
        add_line(&w->b, "<li>", x, "</li>\n");
        return 0;
    case PAGE_TABLE:
        html_add_table(&w->b, x);
        return 0;
    case PAGE_CHART:
        add_chart(&w->b, x);
        return 0;
    case PAGE_STEP:
        return add_step(w, step, err);
    }
    return 0;
}

static void add_contents(struct strbuf *b, const struct page *p, const struct html_step *step)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->block[i].kind == PAGE_STEP && step)
            strbuf_adds(b, "<li><a href=\"#step\">Step through one request</a></li>\n");
        if (p->block[i].kind != PAGE_SECTION)
            continue;
        strbuf_addf(b, "<li><a href=\"#%s\">", p->block[i].id);
        html_add_figures(b, &p->block[i].text);
        strbuf_adds(b, "</a></li>\n");
    }
}

/* ---- the template ------------------------------------------------------------------------------------------------- */

static int load(struct strbuf *b, const char *name, struct error *err)
{
    char path[4096];
    struct filemap m;
    if (!environment_file(path, sizeof path, name))
        return error_set(err, ERROR_INPUT, "%s: not found: a template of the page", path);
    if (filemap_open(&m, path, err) != 0)
        return -1;
    strbuf_add(b, m.data, m.size);
    filemap_close(&m);
    return 0;
}

/* 'sha256-...' of an inline script or style. CSP Level 3, 8.3 */
static void add_hash(struct strbuf *b, const struct strbuf *text)
{
    unsigned char hash[32];
    char digits[45];
    sha256(hash, text->len ? text->s : "", text->len);
    base64(digits, hash, sizeof hash);
    strbuf_addf(b, " 'sha256-%s'", digits);
}

enum { PART_TITLE, PART_POLICY, PART_STYLE, PART_HEADING, PART_CONTENTS, PART_BODY, PART_SCRIPT, PARTS };

/* Styles and scripts: the page's, the charts' in dark mode, the stepper's. */
static int add_assets(struct strbuf part[PARTS], bool step, struct error *err)
{
    static const char *const names[2][3] = { { "reports/html/page.css", "reports/charts/dark.css", "reports/html/step.css" },
                                             { "reports/html/page.js", "reports/html/step.js", NULL } };
    const int n[2] = { 2 + step, 1 + step };
    static const char *const tags[2][2] = { { "<style>", "</style>\n" }, { "<script>", "</script>\n" } };
    static const char *const policies[2] = { "; style-src", "; script-src" };
    strbuf_adds(&part[PART_POLICY], "default-src 'none'; base-uri 'none'; form-action 'none'");
    for (int kind = 0; kind < 2; kind++) {
        strbuf_adds(&part[PART_POLICY], policies[kind]);
        for (int i = 0; i < n[kind]; i++) {
            struct strbuf text = { 0 };
            if (load(&text, names[kind][i], err) != 0)
                return -1;
            struct strbuf *to = &part[kind == 0 ? PART_STYLE : PART_SCRIPT];
            strbuf_adds(to, tags[kind][0]);
            strbuf_add(to, text.len ? text.s : "", text.len);
            strbuf_adds(to, tags[kind][1]);
            add_hash(&part[PART_POLICY], &text);
            to->oom |= text.oom;
            strbuf_free(&text);
        }
    }
    return 0;
}

static int fill_template(struct strbuf *out, const struct strbuf part[PARTS], struct error *err)
{
    static const char *const marks[PARTS] = { "{{title}}", "{{policy}}", "{{style}}", "{{heading}}", "{{contents}}", "{{body}}", "{{script}}" };
    struct strbuf text = { 0 };
    int rc = load(&text, "reports/html/page.html", err);
    const char *at = text.len ? text.s : "";
    for (int i = 0; i < PARTS && rc == 0; i++) {
        const char *mark = strstr(at, marks[i]);
        if (!mark) {
            rc = error_set(err, ERROR_INPUT, "reports/html/page.html: expected the marks {{title}} {{policy}} {{style}} {{heading}} {{contents}} {{body}} {{script}} in this order; "
                           "found no %s", marks[i]);
            break;
        }
        strbuf_add(out, at, (size_t)(mark - at));
        strbuf_add(out, part[i].len ? part[i].s : "", part[i].len);
        out->oom |= part[i].oom;
        at = mark + strlen(marks[i]);
    }
    strbuf_adds(out, rc == 0 ? at : "");
    strbuf_free(&text);
    return rc;
}

int html_write(FILE *f, const struct page *p, const struct html_step *step, struct error *err)
{
    struct strbuf part[PARTS] = { 0 }, out = { 0 };
    struct blocks w = { 0 };
    int rc = 0;
    html_add_text(&part[PART_TITLE], p->title);
    html_add_text(&part[PART_HEADING], p->title);
    add_contents(&part[PART_CONTENTS], p, step);
    for (size_t i = 0; i < p->n && rc == 0; i++)
        rc = add_block(&w, &p->block[i], step, err);
    end_section(&w);
    part[PART_BODY] = w.b;
    rc = rc ? rc : add_assets(part, step != NULL, err);
    rc = rc ? rc : fill_template(&out, part, err);
    const char *text = rc == 0 ? strbuf_text(&out, "a page", err) : NULL;
    rc = text ? rc : -1;
    if (rc == 0 && out.len > PAGE_BYTES)
        rc = error_set(err, ERROR_INPUT, "the page has %zu bytes: expected at most %d; take fewer files", out.len, PAGE_BYTES);
    errno = 0;
    if (rc == 0 && fwrite(text, 1, out.len, f) != out.len)
        rc = error_write(err, errno, "the page");
    for (int i = 0; i < PARTS; i++)
        strbuf_free(&part[i]);
    strbuf_free(&out);
    return rc;
}
