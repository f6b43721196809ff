/* A page as Markdown for issues and pull requests (GitHub's dialect), with its pictures next to it. */
#include "report/html_write.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>

/*
 * A text as text: what Markdown or GitHub would interpret is escaped or written as a character reference: mentions (@), issue numbers (#), addresses (:), HTML.
 * Source: CommonMark 0.31, 2.4 and 2.5
 */
static void add_text(struct strbuf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strchr("&<>@#:", s[i]) && s[i])
            strbuf_addf(b, s[i] == ':' && !(i + 1 < n && s[i + 1] == '/') ? ":" : "&#%d;", s[i]);
        else if (s[i] && strchr("\\`*_{}[]|~!$", s[i]) && !(s[i] == '_' && i > 0 && i + 1 < n && isalnum((unsigned char)s[i - 1]) && isalnum((unsigned char)s[i + 1])))
            strbuf_addf(b, "\\%c", s[i]);
        else
            strbuf_add(b, &s[i], 1);
    }
}

static void add_unclean(struct strbuf *b, const char *s)
{
    struct strbuf clean = { 0 };
    page_clean(&clean, s, strlen(s));
    if (clean.len)
        add_text(b, clean.s, clean.len);
    b->oom |= clean.oom;
    strbuf_free(&clean);
}

static void add_figures(struct strbuf *b, const struct strbuf *text)
{
    const char *at = text->len ? text->s : "", *s;
    size_t n;
    for (enum page_piece kind; (kind = page_next(&at, &s, &n)) != PIECE_END;)
        if (kind != PIECE_SOURCE)
            add_text(b, s, n);
}

/* ---- tables ------------------------------------------------------------------------------------------------------- */

static void add_row(struct strbuf *b, const struct page_table *t, size_t row)
{
    for (size_t k = 0; k < t->n_col; k++) {
        struct strbuf cell = { 0 };
        const struct cell v = column_cell(&t->col[k], table_row(&t->rows, row));
        if (!page_has_values(t, k))
            continue;
        table_cell_text(&cell, &t->col[k], &v);
        strbuf_adds(b, "| ");
        add_unclean(b, cell.len ? cell.s : "");
        strbuf_adds(b, " ");
        b->oom |= cell.oom;
        strbuf_free(&cell);
    }
    strbuf_adds(b, "|\n");
}

enum { MARKDOWN_ROWS = 40 }; /* of a table: a comment is read, a page is searched */

static void add_table(struct strbuf *b, const struct page_block *x)
{
    const struct page_table *t = x->table;
    const size_t n = t->rows.n < MARKDOWN_ROWS ? t->rows.n : MARKDOWN_ROWS;
    strbuf_adds(b, "**");
    add_figures(b, &x->text);
    strbuf_adds(b, "**\n\n");
    for (size_t k = 0; k < t->n_col; k++)
        if (page_has_values(t, k)) {
            strbuf_adds(b, "| ");
            add_unclean(b, t->col[k].header ? t->col[k].header : t->col[k].key);
            strbuf_adds(b, " ");
        }
    strbuf_adds(b, "|\n");
    for (size_t k = 0; k < t->n_col; k++)
        if (page_has_values(t, k))
            strbuf_adds(b, t->col[k].style == COL_TEXT || t->col[k].style == COL_BOOL ? "| --- " : "| ---: ");
    strbuf_adds(b, "|\n");
    for (size_t i = 0; i < n; i++)
        add_row(b, t, i);
    if (t->rows.n + t->n_left_out > n)
        strbuf_addf(b, "\n%zu more rows are in the file.\n", t->rows.n + t->n_left_out - n);
    strbuf_adds(b, "\n");
}

/* ---- blocks -------------------------------------------------------------------------------------------------------- */

static void add_line(struct strbuf *b, const char *open, const struct page_block *x, const char *close)
{
    strbuf_adds(b, open);
    add_figures(b, &x->text);
    strbuf_adds(b, close);
}

/* The first sentence of a caption, without its full stop: what stands for a picture that is not shown. */
static void add_first(struct strbuf *b, const struct strbuf *text)
{
    const char *s = text->len ? text->s : "", *end = strstr(s, ". ");
    add_text(b, s, end ? (size_t)(end - s) : strlen(s));
}

static void add_block(struct strbuf *b, const struct page_block *x, bool after_list)
{
    if (after_list && x->kind != PAGE_ITEM)
        strbuf_adds(b, "\n");
    switch (x->kind) {
    case PAGE_SECTION:
        add_line(b, "\n## ", x, "\n\n");
        break;
    case PAGE_LEAD:
        add_line(b, "**", x, "**\n\n");
        break;
    case PAGE_TEXT:
        if (!x->paper)
            add_line(b, "", x, "\n\n");
        break;
    case PAGE_ITEM:
        add_line(b, "- ", x, "\n");
        break;
    case PAGE_TABLE:
        if (!x->table->folded)
            add_table(b, x);
        break;
    case PAGE_CHART:
        if (*x->chart.file) {
            strbuf_adds(b, "![");
            add_first(b, &x->text);
            strbuf_addf(b, "](%s)\n\n", x->chart.file);
            add_line(b, "", x, "\n\n");
        } else {
            add_line(b, "", x, "\n\n");
        }
        break;
    case PAGE_STEP:
        break;
    }
}

int markdown_write(FILE *f, const struct page *p, struct error *err)
{
    struct strbuf b = { 0 };
    strbuf_adds(&b, "# ");
    add_unclean(&b, p->title);
    strbuf_adds(&b, "\n");
    for (size_t i = 0; i < p->n; i++)
        add_block(&b, &p->block[i], i > 0 && p->block[i - 1].kind == PAGE_ITEM);
    const char *text = strbuf_text(&b, "a page", err);
    int rc = text ? 0 : -1;
    errno = 0;
    if (rc == 0 && fwrite(text, 1, b.len, f) != b.len)
        rc = error_write(err, errno, "the page");
    strbuf_free(&b);
    return rc;
}
