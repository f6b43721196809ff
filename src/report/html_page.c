/* The content of a report: blocks, texts with figures, tables. */
#include "report/html_page.h"
#include <stdlib.h>
#include <string.h>

/* Marks inside a text: before a figure, between it and its source, after that. A cleaned text has none of them. */
enum { MARK_FIGURE = 1, MARK_SOURCE = 2, MARK_END = 3 };

static void check_memory(const struct strbuf *b)
{
    if (b->oom)
        interrupt_end_without_memory();
}

static void table_free(struct page_table *t)
{
    if (!t)
        return;
    table_rows_free(&t->rows);
    free(t->col);
    free(t);
}

void page_free(struct page *p)
{
    for (size_t i = 0; i < p->n; i++) {
        strbuf_free(&p->block[i].text);
        table_free(p->block[i].table);
        free(p->block[i].chart.svg);
    }
    free(p->block);
    *p = (struct page){ .n = 0 };
}

struct page_block *page_add(struct page *p, enum page_kind kind, const char *id)
{
    if (p->n == p->cap) {
        const size_t cap = p->cap ? 2 * p->cap : 32;
        struct page_block *v = realloc(p->block, cap * sizeof *v);
        if (!v)
            interrupt_end_without_memory();
        p->block = v;
        p->cap = cap;
    }
    struct page_block *b = &p->block[p->n++];
    *b = (struct page_block){ .kind = kind };
    snprintf(b->id, sizeof b->id, "%s", id);
    return b;
}

/* ---- texts -------------------------------------------------------------------------------------------------- */

/* Length of a valid UTF-8 sequence at s; 0: none. *c: its code point. */
static size_t utf8_length(const unsigned char *s, size_t n, uint32_t *c)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const size_t len = *s < 0x80 ? 1 : *s >= 0xc2 && *s < 0xe0 ? 2 : *s >= 0xe0 && *s < 0xf0 ? 3 : *s >= 0xf0 && *s < 0xf5 ? 4 : 0;
    if (len == 0 || len > n)
        return 0;
    *c = len == 1 ? *s : *s & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        *c = *c << 6 | (s[i] & 0x3fu);
    }
    return *c < least[len] || *c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000) ? 0 : len;
}

/* Control characters, those that reorder or hide text (Unicode, UAX #9), and what XML 1.0 does not allow. */
static bool is_harmful(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff ||
           c == 0xfffe || c == 0xffff;
}

void page_clean(struct strbuf *b, const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t c = 0;
        const size_t len = utf8_length((const unsigned char *)text + i, n - i, &c);
        if (len > 0 && !is_harmful(c))
            strbuf_add(b, text + i, len);
        else
            strbuf_adds(b, text[i] == '\n' || text[i] == '\t' ? " " : "?");
        i += len > 0 ? len : 1;
    }
}

static void add_clean(struct strbuf *b, const char *text)
{
    page_clean(b, text, strlen(text));
    check_memory(b);
}

void page_say(struct page *p, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *text = NULL;
    const int n = vasprintf(&text, fmt, args);
    va_end(args);
    if (n < 0)
        interrupt_end_without_memory();
    add_clean(&p->block[p->n - 1].text, text);
    free(text);
}

void page_figure(struct page *p, const char *value, const char *source)
{
    static const char figure[] = { MARK_FIGURE, 0 }, between[] = { MARK_SOURCE, 0 }, end[] = { MARK_END, 0 };
    struct strbuf *b = &p->block[p->n - 1].text;
    strbuf_adds(b, figure);
    add_clean(b, value);
    strbuf_adds(b, between);
    add_clean(b, source);
    strbuf_adds(b, end);
    check_memory(b);
}

enum page_piece page_next(const char **at, const char **s, size_t *n)
{
    static const char marks[] = { MARK_FIGURE, MARK_SOURCE, MARK_END, 0 };
    while (**at == MARK_END)
        ++*at;
    if (!**at)
        return PIECE_END;
    const enum page_piece kind = **at == MARK_FIGURE ? PIECE_FIGURE : **at == MARK_SOURCE ? PIECE_SOURCE : PIECE_TEXT;
    *s = *at + (kind != PIECE_TEXT);
    *n = strcspn(*s, marks);
    *at = *s + *n;
    return kind;
}

/* ---- tables -------------------------------------------------------------------------------------------------- */

static struct page_table *new_table(struct page *p, size_t n_col, size_t row_size)
{
    struct page_table *t = calloc(1, sizeof *t);
    struct column *col = calloc(n_col ? n_col : 1, sizeof *col);
    if (!t || !col)
        interrupt_end_without_memory();
    *t = (struct page_table){ .col = col, .n_col = n_col, .rows.size = row_size };
    p->block[p->n - 1].table = t;
    return t;
}

struct page_table *page_columns(struct page *p, const struct column *col, size_t n_col, const char *order, size_t row_size)
{
    struct page_table *t = new_table(p, n_col, row_size);
    const struct column **chosen = calloc(n_col ? n_col : 1, sizeof *chosen);
    if (!chosen)
        interrupt_end_without_memory();
    const struct table all = { .cols = col, .n_cols = n_col, .order = order };
    t->n_col = table_columns(&all, chosen);
    for (size_t i = 0; i < t->n_col; i++)
        t->col[i] = *chosen[i];
    free(chosen);
    return t;
}

struct page_table *page_cells(struct page *p, size_t n_col)
{
    struct page_table *t = new_table(p, n_col, n_col * sizeof(struct cell));
    for (size_t i = 0; i < n_col; i++)
        t->col[i] = (struct column){ .field = FIELD_CELL, .offset = i * sizeof(struct cell), .size = sizeof(struct cell), .key = "" };
    return t;
}

const char *page_keep(struct page_table *t, const char *text)
{
    struct strbuf b = { 0 };
    add_clean(&b, text ? text : "");
    const char *kept = table_text(&t->rows, b.s);
    strbuf_free(&b);
    return kept;
}

void page_column(struct page_table *t, size_t i, const char *header, enum column_style style, const char *unit, const char *help)
{
    const char *kept = page_keep(t, header);
    t->col[i].key = t->col[i].header = kept ? kept : "";
    t->col[i].style = style;
    t->col[i].unit = unit;
    t->col[i].help = help && *help ? page_keep(t, help) : NULL;
}

bool page_has_values(const struct page_table *t, size_t column)
{
    for (size_t i = 0; i < t->rows.n; i++) {
        const enum cell_kind kind = column_cell(&t->col[column], table_row(&t->rows, i)).kind;
        if (kind != CELL_NULL && kind != CELL_ABSENT)
            return true;
    }
    return false;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static struct cell json_cell(struct page_table *t, const json_t *v)
{
    char text[32];
    if (json_is_string(v))
        return cell_text(page_keep(t, json_string_value(v)));
    if (json_is_boolean(v))
        return (struct cell){ .kind = CELL_BOOL, .whole = json_is_true(v) };
    if (json_is_integer(v))
        return cell_whole(json_integer_value(v));
    if (json_is_real(v))
        return cell_real(json_real_value(v));
    if (json_array_size(v) == 0 && json_object_size(v) == 0)
        return (struct cell){ .kind = CELL_NULL };
    snprintf(text, sizeof text, "%zu values", json_array_size(v) + json_object_size(v));
    return cell_text(page_keep(t, text));
}

static size_t find_key(const char *const *key, size_t n, const char *name)
{
    size_t i = 0;
    while (i < n && strcmp(key[i], name) != 0)
        i++;
    return i;
}

static enum column_style style_of(const json_t *v)
{
    return json_is_integer(v) ? COL_INT : json_is_number(v) ? COL_FLOAT : COL_TEXT;
}

/* Keys of the rows, with a style that all their values have; those that are null in every row are left out. */
static size_t json_keys(const char **key, enum column_style *style, const json_t *rows, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(rows) && i < most; i++) {
        const char *name;
        json_t *v;
        json_object_foreach(json_array_get(rows, i), name, v) {
            const size_t k = find_key(key, n, name);
            if (json_is_null(v) || (k == n && n == PAGE_JSON_COLUMNS))
                continue;
            if (k == n) {
                key[n] = name;
                style[n++] = style_of(v);
            }
            if (style[k] != style_of(v))
                style[k] = style[k] != COL_TEXT && json_is_number(v) ? COL_FLOAT : COL_TEXT;
        }
    }
    return n;
}

void page_json_rows(struct page *p, const json_t *rows, size_t most)
{
    const char *key[PAGE_JSON_COLUMNS];
    enum column_style style[PAGE_JSON_COLUMNS];
    const size_t n = json_keys(key, style, rows, most), n_row = json_array_size(rows);
    struct page_table *t = page_cells(p, n);
    for (size_t k = 0; k < n; k++)
        page_column(t, k, key[k], style[k], NULL, NULL);
    for (size_t i = 0; i < n_row && i < most; i++) {
        struct cell *c = table_add(&t->rows);
        for (size_t k = 0; k < n; k++)
            c[k] = json_cell(t, json_object_get(json_array_get(rows, i), key[k]));
    }
    t->n_left_out = n_row > most ? n_row - most : 0;
    t->filter = n_row > 12;
}
