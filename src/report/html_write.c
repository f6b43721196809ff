/* A page as HTML: blocks in the template of reports/html, with its own style, script and content security policy. */
#include "report/html_write.h"
#include "base/environment.h"
#include "base/sha256.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts ------------------------------------------------------------------------------------------------------ */

static void add_escaped(struct strbuf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        switch (s[i]) {
        case '&':
            strbuf_adds(b, "&amp;");
            break;
        case '<':
            strbuf_adds(b, "&lt;");
            break;
        case '>':
            strbuf_adds(b, "&gt;");
            break;
        case '"':
            strbuf_adds(b, "&quot;");
            break;
        case '\'':
            strbuf_adds(b, "&#39;");
            break;
        default:
            strbuf_add(b, &s[i], 1);
        }
}

static void add_text(struct strbuf *b, const char *s)
{
    add_escaped(b, s, strlen(s));
}

/* A text from a struct or a file: cleaned and escaped. */
static void add_unclean(struct strbuf *b, const char *s)
{
    struct strbuf clean = { 0 };
    page_clean(&clean, s, strlen(s));
    if (clean.len)
        add_escaped(b, clean.s, clean.len);
    b->oom |= clean.oom;
    strbuf_free(&clean);
}

/* Figures carry their provenance as a title, which page.js shows on hover and focus. */
static void add_figures(struct strbuf *b, const struct strbuf *text)
{
    const char *at = text->len ? text->s : "", *s, *source = NULL;
    size_t n, n_source = 0;
    for (enum page_piece kind; (kind = page_next(&at, &s, &n)) != PIECE_END;) {
        if (kind == PIECE_TEXT) {
            add_escaped(b, s, n);
        } else if (kind == PIECE_FIGURE && page_next(&at, &source, &n_source) == PIECE_SOURCE) {
            strbuf_adds(b, "<data class=\"figure\" value=\"");
            add_escaped(b, s, n);
            strbuf_adds(b, "\" title=\"");
            add_escaped(b, source, n_source);
            strbuf_adds(b, "\">");
            add_escaped(b, s, n);
            strbuf_adds(b, "</data>");
        }
    }
}

/* ---- tables ----------------------------------------------------------------------------------------------------- */

static bool is_number(const struct column *c)
{
    return c->style != COL_TEXT && c->style != COL_BOOL;
}

/* n: a number; s: on screen, not on paper, whose tables have their main columns; long: of several lines. */
static const char *class_of(const struct column *c, bool wide, bool is_long)
{
    const bool screen = !wide && (c->rank == COL_MINOR || c->rank == COL_MEDIUM || c->rank == COL_DATA);
    if (is_number(c))
        return screen ? " class=\"n s\"" : " class=\"n\"";
    return is_long ? screen ? " class=\"long s\"" : " class=\"long\"" : screen ? " class=\"s\"" : "";
}

static void add_column(struct strbuf *b, const struct column *c, bool wide)
{
    const char *unit = c->unit ? c->unit : "";
    strbuf_addf(b, "<th scope=\"col\"%s title=\"", class_of(c, wide, false));
    add_unclean(b, c->help ? c->help : c->header ? c->header : c->key);
    if (*unit) {
        strbuf_adds(b, " (");
        add_text(b, unit);
        strbuf_adds(b, ")");
    }
    strbuf_adds(b, "\">");
    add_unclean(b, c->header ? c->header : c->key);
    strbuf_adds(b, "</th>");
}

enum { LONG_TEXT = 48 }; /* a cell of several lines needs a width */

/* data-v: the number as the file has it, for sorting and for the exact value. */
static void add_cell(struct strbuf *b, const struct column *c, const struct cell *v, bool heads, bool wide)
{
    struct strbuf text = { 0 }, raw = { 0 };
    const bool number = is_number(c) && (v->kind == CELL_REAL || v->kind == CELL_WHOLE);
    table_cell_text(&text, c, v);
    strbuf_adds(b, heads ? "<th scope=\"row\"" : "<td");
    strbuf_adds(b, class_of(c, wide, text.len > LONG_TEXT));
    if (number) {
        table_cell_raw(&raw, v);
        strbuf_addf(b, " data-v=\"%s\"", raw.len ? raw.s : "");
    }
    strbuf_adds(b, ">");
    if (text.len)
        add_unclean(b, text.s);
    strbuf_adds(b, heads ? "</th>" : "</td>");
    b->oom |= text.oom || raw.oom;
    strbuf_free(&text);
    strbuf_free(&raw);
}

/* A column without a value in any row says nothing. */
static bool has_values(const struct page_table *t, const struct column *c)
{
    for (size_t i = 0; i < t->rows.n; i++) {
        const enum cell_kind kind = column_cell(c, table_row(&t->rows, i)).kind;
        if (kind != CELL_NULL && kind != CELL_ABSENT)
            return true;
    }
    return false;
}

static void add_rows(struct strbuf *b, const struct page_table *t, const bool *shown, bool wide)
{
    for (size_t i = 0; i < t->rows.n; i++) {
        bool first = true;
        strbuf_adds(b, "<tr>");
        for (size_t k = 0; k < t->n_col; k++)
            if (shown[k]) {
                const struct cell v = column_cell(&t->col[k], table_row(&t->rows, i));
                add_cell(b, &t->col[k], &v, first, wide);
                first = false;
            }
        strbuf_adds(b, "</tr>\n");
    }
}

static void add_table(struct strbuf *b, const struct page_block *x)
{
    const struct page_table *t = x->table;
    bool *shown = calloc(t->n_col + 1, sizeof *shown);
    if (!shown)
        interrupt_end_without_memory();
    if (t->folded)
        strbuf_adds(b, "<details class=\"data\"><summary>Data of this chart</summary>\n");
    strbuf_addf(b, "<div class=\"table%s\" role=\"region\" tabindex=\"0\" aria-labelledby=\"%s-caption\">\n<table id=\"%s\"%s>\n<caption id=\"%s-caption\">",
                x->wide ? " screen" : "", x->id, x->id, t->filter ? " data-filter" : "", x->id);
    add_figures(b, &x->text);
    if (t->n_left_out)
        strbuf_addf(b, " %zu more rows are in the file.", t->n_left_out);
    strbuf_adds(b, "</caption>\n<thead><tr>");
    for (size_t k = 0; k < t->n_col; k++) {
        shown[k] = has_values(t, &t->col[k]);
        if (shown[k])
            add_column(b, &t->col[k], x->wide);
    }
    strbuf_adds(b, "</tr></thead>\n<tbody>\n");
    add_rows(b, t, shown, x->wide);
    strbuf_adds(b, t->folded ? "</tbody>\n</table>\n</div>\n</details>\n" : "</tbody>\n</table>\n</div>\n");
    free(shown);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static void add_chart(struct strbuf *b, const struct page_block *x)
{
    strbuf_addf(b, "<figure id=\"%s\" class=\"chart%s\">\n", x->id, x->wide ? " screen" : "");
    if (x->chart.svg)
        strbuf_adds(b, x->chart.svg);
    strbuf_addf(b, "\n<figcaption id=\"%s-caption\">", x->id);
    add_figures(b, &x->text);
    strbuf_adds(b, "</figcaption>\n</figure>\n");
}

static void add_line(struct strbuf *b, const char *open, const struct page_block *x, const char *close)
{
    strbuf_adds(b, open);
    add_figures(b, &x->text);
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
        add_figures(&w->b, &x->text);
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
        add_table(&w->b, x);
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
        add_figures(b, &p->block[i].text);
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
    add_text(&part[PART_TITLE], p->title);
    add_text(&part[PART_HEADING], p->title);
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
