/*
 * html_page.h: content of a report as a list of blocks, which html_write.c writes as HTML and html_markdown.c as Markdown. Texts are plain: what a file
 * says is cleaned when it is added, and escaped when it is written. Out of memory ends the process, as in table.h.
 */
#ifndef REPORT_HTML_PAGE_H
#define REPORT_HTML_PAGE_H

#include "report/table.h"

enum page_kind {
    PAGE_SECTION, /* begins a section: id, text is its heading */
    PAGE_LEAD,    /* the most important sentence of a section */
    PAGE_TEXT,    /* a paragraph */
    PAGE_ITEM,    /* an item of a list */
    PAGE_TABLE,
    PAGE_CHART,
    PAGE_STEP,    /* the section of html_step.h */
};

/* A table: rows of structs, or of cells (page_cells()), under columns of its own. */
struct page_table {
    struct column *col;
    size_t n_col, n_left_out; /* rows that are not in it */
    struct table_rows rows;   /* their texts too */
    bool filter;              /* long: with a field to filter rows, omitted in print */
    bool folded;              /* data behind a picture: shown on request */
};

/* A chart's picture: in the page, or a file next to it. */
struct page_chart {
    char *svg;    /* cleaned by html_svg_clean(); NULL: there is no picture */
    char file[128]; /* of Markdown: the name of the picture's file */
};

struct page_block {
    enum page_kind kind;
    char id[64];
    bool wide;          /* not in print */
    bool paper;         /* in print alone */
    struct strbuf text; /* heading, sentence, caption: marks of figures inside, see page_figure() */
    struct page_table *table;
    struct page_chart chart;
};

struct page {
    char title[160];
    struct page_block *block;
    size_t n, cap;
    size_t svg_bytes;  /* of all pictures */
    size_t n_row;      /* of all tables */
};
void page_free(struct page *p);

/* Opens a block, valid until the next one; id: letters, digits, dashes, unique in the page; "": none. */
struct page_block *page_add(struct page *p, enum page_kind kind, const char *id);
/* Adds to the text of the last block. A text from a file is an argument of printf: control characters, invalid UTF-8 and characters that reorder text
 * become '?'. */
void page_say(struct page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A figure with its provenance: value "29.5 GB/s", source "weights and KV cache over seconds of tg128, mean of 5 repetitions". */
void page_figure(struct page *p, const char *value, const char *source);

/* ---- texts with figures, for writers ------------------------------------------------------------------------ */

enum page_piece { PIECE_TEXT, PIECE_FIGURE, PIECE_SOURCE, PIECE_END };
/* The next piece of a text: *s, *n its bytes, without marks; moves *at. A figure is followed by its source. */
enum page_piece page_next(const char **at, const char **s, size_t *n);
/* As page_say() cleans it, appended. */
void page_clean(struct strbuf *b, const char *text, size_t n);

/* ---- tables --------------------------------------------------------------------------------------------------- */

/* The last block's table, of a PAGE_TABLE block: copies of these columns, of which `order` names the ones to show (blank-separated keys; NULL: all but
 * those of rank COL_JSON); rows of row_size bytes are added with table_add(). */
struct page_table *page_columns(struct page *p, const struct column *col, size_t n_col, const char *order, size_t row_size);
/* The same of n_col columns of cells, rows of struct cell [n_col]; name them with page_column(). */
struct page_table *page_cells(struct page *p, size_t n_col);
/* key and header are copied; unit NULL: none; help: what it is and where it comes from. */
void page_column(struct page_table *t, size_t i, const char *header, enum column_style style, const char *unit, const char *help);
/* A column without a value in any row is left out by writers. */
bool page_has_values(const struct page_table *t, size_t column);
/* A text that lives as long as the table. */
const char *page_keep(struct page_table *t, const char *text);
/* Rows of JSON objects as cells: a column a key, in the order of the first row that has it, at most PAGE_JSON_COLUMNS; nested values as their number of
 * elements. */
enum { PAGE_JSON_COLUMNS = 64 };
void page_json_rows(struct page *p, const json_t *rows, size_t most);

#endif
