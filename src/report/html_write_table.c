/* Texts and tables of a page as HTML. */
#include "report/html_write_internal.h"
#include "report/svg.h"
#include <stdlib.h>
#include <string.h>

/* ---- texts ------------------------------------------------------------------------------------------------------ */

void html_add_text(struct strbuf *b, const char *s)
{
    svg_add_escaped(b, s, strlen(s));
}

/* A text from a struct or a file: cleaned and escaped. */
void html_add_unclean(struct strbuf *b, const char *s)
{
    struct strbuf clean = { 0 };
    page_clean(&clean, s, strlen(s));
    if (clean.len)
        svg_add_escaped(b, clean.s, clean.len);
    b->oom |= clean.oom;
    strbuf_free(&clean);
}

/* Figures carry their provenance as a title, which page.js shows on hover and focus. */
void html_add_figures(struct strbuf *b, const struct strbuf *text)
{
    const char *at = text->len ? text->s : "", *s, *source = NULL;
    size_t n, n_source = 0;
    for (enum page_piece kind; (kind = page_next(&at, &s, &n)) != PIECE_END;) {
        if (kind == PIECE_TEXT) {
            svg_add_escaped(b, s, n);
        } else if (kind == PIECE_FIGURE && page_next(&at, &source, &n_source) == PIECE_SOURCE) {
            strbuf_adds(b, "<data class=\"figure\" value=\"");
            svg_add_escaped(b, s, n);
            strbuf_adds(b, "\" title=\"");
            svg_add_escaped(b, source, n_source);
            strbuf_adds(b, "\">");
            svg_add_escaped(b, s, n);
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
    html_add_unclean(b, c->help ? c->help : c->header ? c->header : c->key);
    if (*unit) {
        strbuf_adds(b, " (");
        html_add_text(b, unit);
        strbuf_adds(b, ")");
    }
    strbuf_adds(b, "\">");
    html_add_unclean(b, c->header ? c->header : c->key);
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
        html_add_unclean(b, text.s);
    strbuf_adds(b, heads ? "</th>" : "</td>");
    b->oom |= text.oom || raw.oom;
    strbuf_free(&text);
    strbuf_free(&raw);
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

/* The first sentence of a caption, which has no figures. */
static void add_first(struct strbuf *b, const struct strbuf *text)
{
    const char *s = text->len ? text->s : "", *end = strstr(s, ". ");
    svg_add_escaped(b, s, end ? (size_t)(end - s) : strlen(s));
}

enum { PRINT_ROWS = 6 }; /* on paper; as .cut of page.css has it */

void html_add_table(struct strbuf *b, const struct page_block *x)
{
    const struct page_table *t = x->table;
    const bool cut = !x->wide && t->rows.n > PRINT_ROWS;
    bool *shown = calloc(t->n_col + 1, sizeof *shown);
    if (!shown)
        interrupt_end_without_memory();
    if (t->folded)
        strbuf_adds(b, "<details class=\"data\"><summary>Data of this chart</summary>\n");
    if (x->wide && !t->folded) {
        strbuf_adds(b, "<p class=\"paper\">Not printed: ");
        add_first(b, &x->text);
        strbuf_addf(b, ": %zu rows.</p>\n", t->rows.n);
    }
    strbuf_addf(b, "<div class=\"table%s%s\" role=\"region\" tabindex=\"0\" aria-labelledby=\"%s-caption\">\n<table id=\"%s\"%s>\n<caption id=\"%s-caption\">",
                x->wide ? " screen" : "", cut ? " cut" : "", x->id, x->id, t->filter ? " data-filter" : "", x->id);
    html_add_figures(b, &x->text);
    if (t->n_left_out)
        strbuf_addf(b, " %zu more rows are in the file.", t->n_left_out);
    if (cut)
        strbuf_addf(b, "<span class=\"paper\"> Shortened: %d of %zu rows.</span>", PRINT_ROWS, t->rows.n + t->n_left_out);
    strbuf_adds(b, "</caption>\n<thead><tr>");
    for (size_t k = 0; k < t->n_col; k++) {
        shown[k] = page_has_values(t, k);
        if (shown[k])
            add_column(b, &t->col[k], x->wide);
    }
    strbuf_adds(b, "</tr></thead>\n<tbody>\n");
    add_rows(b, t, shown, x->wide);
    strbuf_adds(b, t->folded ? "</tbody>\n</table>\n</div>\n</details>\n" : "</tbody>\n</table>\n</div>\n");
    free(shown);
}
