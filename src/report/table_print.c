/* Rows printed as table, csv, json, jsonl, md or sql. */
#include "report/table_internal.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const format_names[] = { "table", "csv", "json", "jsonl", "md", "sql" };

int report_format_find(const char *name, enum report_format *out, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(format_names); i++)
        if (strcmp(name, format_names[i]) == 0) {
            *out = (enum report_format)i;
            return 0;
        }
    return error_set(err, ERROR_USAGE, "-o: expected table, csv, json, jsonl, md or sql, found \"%s\"",
                     name);
}

/* ---- one cell as text ------------------------------------------------------- */

/* Three significant digits without an exponent from 0.001 up. */
static void add_float(struct strbuf *b, double v)
{
    double a = fabs(v);
    if (v == 0)
        strbuf_adds(b, "0");
    else if (a < 0.001 || a >= 1e15)
        strbuf_addf(b, "%.3g", v);
    else
        strbuf_addf(b, "%.*f", a >= 99.95 ? 0 : a >= 9.995 ? 1 : a >= 0.9995 ? 2 : 3, v);
}

/* "4.78 ms"; above a thousand seconds still seconds, not ks. */
static void add_seconds(struct strbuf *b, double v)
{
    char s[48];
    if (fabs(v) >= 999.5)
        strbuf_addf(b, "%.0f s", v);
    else
        strbuf_adds(b, units_si(s, sizeof s, v, "s"));
}

static void add_number(struct strbuf *b, const struct column *c, double v)
{
    char s[64];
    if (!isfinite(v)) {
        strbuf_adds(b, "-");
        return;
    }
    switch (c->style) {
    case COL_INT:
        strbuf_addf(b, "%.0f", v);
        break;
    case COL_TEXT:
    case COL_FLOAT:
        add_float(b, v);
        break;
    case COL_SI:
    case COL_SI_BARE:
        strbuf_adds(b, units_si(s, sizeof s, v, c->unit && c->style == COL_SI ? c->unit : ""));
        break;
    case COL_FRACTION:
        strbuf_addf(b, "%.1f %%", 100 * v);
        break;
    case COL_SECONDS:
        add_seconds(b, v);
        break;
    case COL_BOOL:
        strbuf_adds(b, v != 0 ? "yes" : "no");
        break;
    }
}

/* The fewest digits that read back as the same double; whole numbers without an exponent. */
static void add_raw_number(struct strbuf *b, double v)
{
    char s[40];
    if (v == floor(v) && fabs(v) < 1e15) {
        strbuf_addf(b, "%.0f", v);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, v);
        if (strtod(s, NULL) == v)
            break;
    }
    strbuf_adds(b, s);
}

static void add_nested(struct strbuf *b, const json_t *j)
{
    char *s = json_dumps(j, JSON_COMPACT | JSON_ENCODE_ANY);
    if (s)
        strbuf_adds(b, s);
    else
        b->oom = true;
    free(s);
}

/* A cell of a table or of md, before escaping. */
static void add_cell(struct strbuf *b, const struct column *c, const struct cell *v)
{
    switch (v->kind) {
    case CELL_NULL:
    case CELL_ABSENT:
        strbuf_adds(b, c->style == COL_BOOL ? "?" : "-");
        break;
    case CELL_TEXT:
        strbuf_adds(b, v->text);
        break;
    case CELL_BOOL:
        strbuf_adds(b, v->whole ? "yes" : "no");
        break;
    case CELL_WHOLE:
        if (c->style == COL_INT || c->style == COL_TEXT)
            strbuf_addf(b, "%" PRId64, v->whole);
        else
            add_number(b, c, v->real);
        break;
    case CELL_REAL:
        add_number(b, c, v->real);
        break;
    case CELL_JSON:
        add_nested(b, v->json);
        break;
    }
}

static void add_raw_cell(struct strbuf *b, const struct cell *v)
{
    switch (v->kind) {
    case CELL_NULL:
    case CELL_ABSENT:
        break;
    case CELL_TEXT:
        strbuf_adds(b, v->text);
        break;
    case CELL_BOOL:
        strbuf_adds(b, v->whole ? "true" : "false");
        break;
    case CELL_WHOLE:
        strbuf_addf(b, "%" PRId64, v->whole);
        break;
    case CELL_REAL:
        add_raw_number(b, v->real);
        break;
    case CELL_JSON:
        add_nested(b, v->json);
        break;
    }
}

void table_cell_text(struct strbuf *b, const struct column *c, const struct cell *v)
{
    add_cell(b, c, v);
}

void table_cell_raw(struct strbuf *b, const struct cell *v)
{
    add_raw_cell(b, v);
}

/* ---- tables ------------------------------------------------------------------- */

/* Next code point of UTF-8; an invalid byte counts as itself. */
static uint32_t utf8_next(const unsigned char **s, const unsigned char *end)
{
    const unsigned char *p = *s;
    int extra = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc0 ? 1 : 0;
    uint32_t c = extra == 3 ? *p & 7u : extra == 2 ? *p & 15u : extra == 1 ? *p & 31u : *p;
    p++;
    for (; extra > 0 && p < end && (*p & 0xc0) == 0x80; extra--)
        c = c << 6 | (*p++ & 0x3fu);
    *s = p;
    return c;
}

static size_t codepoint_width(uint32_t c)
{
    if ((c >= 0x300 && c <= 0x36f) || c == 0x200b || c == 0x200d || (c >= 0xfe00 && c <= 0xfe0f))
        return 0;
    if ((c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
        (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
        (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
        (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd))
        return 2;
    return 1;
}

static size_t text_width(const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s, *end = p + n;
    size_t w = 0;
    while (p < end)
        w += codepoint_width(utf8_next(&p, end));
    return w;
}

/*
 * Names come from files: control characters, which a terminal would interpret, become '?'. md also needs its column separator
 * escaped.
 */
static void add_printable(struct strbuf *b, const char *s, size_t n, bool md)
{
    const unsigned char *p = (const unsigned char *)s, *end = p + n;
    while (p < end) {
        const unsigned char *start = p;
        uint32_t c = utf8_next(&p, end);
        if (c < 0x20 || (c >= 0x7f && c < 0xa0))
            strbuf_adds(b, "?");
        else if (md && c == '|')
            strbuf_adds(b, "\\|");
        else
            strbuf_add(b, start, (size_t)(p - start));
    }
}

static bool right_aligned(const struct column *c)
{
    return c->style != COL_TEXT && c->style != COL_BOOL;
}

static void add_spaces(struct strbuf *b, size_t n)
{
    while (n-- > 0)
        strbuf_add(b, " ", 1);
}

/* The columns of an output, in order. */
struct view {
    const struct table *t;
    const struct column **cols;
    size_t n;
    size_t *width; /* [n], of tables; 0: not in the table */
    bool md;
};

enum { HEADING = -1 };

/* The text of a cell in a table or md, into *cell. */
static void cell_print(struct strbuf *cell, const struct view *v, const struct column *c, ptrdiff_t row)
{
    struct strbuf raw = { 0 };
    const struct cell value = row == HEADING ? cell_text(c->header ? c->header : c->key) : column_cell(c, table_row(v->t->rows, (size_t)row));
    add_cell(&raw, c, &value);
    cell->len = 0;
    strbuf_adds(cell, "");
    if (raw.len)
        add_printable(cell, raw.s, raw.len, v->md);
    cell->oom |= raw.oom;
    strbuf_free(&raw);
}

static void add_line(struct strbuf *line, const struct view *v, ptrdiff_t row)
{
    struct strbuf cell = { 0 };
    bool first = true;
    for (size_t i = 0; i < v->n; i++) {
        const struct column *c = v->cols[i];
        if (!v->width[i])
            continue;
        cell_print(&cell, v, c, row);
        size_t w = cell.s ? text_width(cell.s, cell.len) : 0;
        size_t pad = v->width[i] > w ? v->width[i] - w : 0;
        strbuf_adds(line, v->md ? "| " : first ? "" : "  ");
        if (right_aligned(c))
            add_spaces(line, pad);
        if (cell.s)
            strbuf_add(line, cell.s, cell.len);
        if (!right_aligned(c))
            add_spaces(line, pad);
        strbuf_adds(line, v->md ? " " : "");
        first = false;
    }
    while (!v->md && line->len && line->s[line->len - 1] == ' ')
        line->len--;
    strbuf_adds(line, v->md ? "|\n" : "\n");
    line->oom |= cell.oom;
    strbuf_free(&cell);
}

static void add_rule(struct strbuf *line, const struct view *v)
{
    bool first = true;
    for (size_t i = 0; i < v->n; i++) {
        if (!v->width[i])
            continue;
        strbuf_adds(line, v->md ? "| " : first ? "" : "  ");
        bool colon = v->md && right_aligned(v->cols[i]);
        for (size_t k = colon; k < v->width[i]; k++)
            strbuf_adds(line, "-");
        strbuf_adds(line, colon ? ": " : v->md ? " " : "");
        first = false;
    }
    strbuf_adds(line, v->md ? "|\n" : "\n");
}

/* Omits columns until the table is at most `most` wide: lowest rank first, rightmost first, never the first column. */
static void fit_width(const struct view *v, size_t most)
{
    static const enum column_rank order[] = { COL_MINOR, COL_MEDIUM, COL_MAJOR, COL_KEY };
    size_t total = 0, first = v->n;
    for (size_t i = v->n; i-- > 0;)
        if (v->width[i]) {
            total += v->width[i] + 2;
            first = i;
        }
    for (size_t k = 0; k < ARRAY_LEN(order); k++)
        for (size_t i = v->n; i-- > first + 1;)
            if (total > most + 2 && v->width[i] && v->cols[i]->rank == (int)order[k]) {
                total -= v->width[i] + 2;
                v->width[i] = 0;
            }
}

void report_wrap(struct strbuf *out, const char *text, size_t width, size_t indent)
{
    const size_t after = indent > 4 && indent > width / 2 ? 4 : indent;
    size_t at = 0; /* columns of the line */
    if (!width)
        strbuf_adds(out, text);
    for (const char *p = text; width && *p;) {
        if (*p == '\n' && (!at || !p[1] || strchr(" \n", p[1]))) {
            strbuf_adds(out, "\n");
            at = 0;
            p++;
            continue;
        }
        const size_t n_blank = *p == '\n' ? 1 : strspn(p, " "), n = strcspn(p + n_blank, " \n"), w = text_width(p + n_blank, n);
        const bool breaks = n && at > after && at + n_blank + w > width;
        strbuf_adds(out, breaks ? "\n" : "");
        add_spaces(out, breaks ? after : n_blank);
        strbuf_add(out, p + n_blank, n);
        at = (breaks ? after : at + n_blank) + w;
        p += n_blank + n;
    }
}

/* "(not shown: a, b; --wide shows all columns)" */
static void add_hidden(struct strbuf *out, const struct view *v, size_t most)
{
    struct strbuf names = { 0 };
    const char *sep = "(not shown: ";
    for (size_t i = 0; i < v->n; i++)
        if (!v->width[i] && v->cols[i]->rank != COL_DATA) {
            strbuf_addf(&names, "%s%s", sep, v->cols[i]->header ? v->cols[i]->header : v->cols[i]->key);
            sep = ", ";
        }
    if (sep[0] == ',')
        strbuf_adds(&names, "; --wide shows all columns)\n");
    if (names.s)
        report_wrap(out, names.s, most, 1);
    out->oom |= names.oom;
    strbuf_free(&names);
}

static int build_table(struct strbuf *out, struct view *v, size_t most, struct error *err)
{
    const ptrdiff_t n_row = (ptrdiff_t)v->t->rows->n;
    v->width = calloc(v->n + 1, sizeof *v->width);
    if (!v->width)
        return error_oom(err, v->n * sizeof *v->width, "a table");
    struct strbuf cell = { 0 };
    for (size_t i = 0; i < v->n; i++) {
        if (v->cols[i]->rank == COL_DATA)
            continue;
        v->width[i] = v->md ? 3 : 1;
        for (ptrdiff_t r = HEADING; r < n_row; r++) {
            cell_print(&cell, v, v->cols[i], r);
            size_t w = cell.s ? text_width(cell.s, cell.len) : 0;
            v->width[i] = w > v->width[i] ? w : v->width[i];
        }
    }
    if (most && !v->md)
        fit_width(v, most);
    add_line(out, v, HEADING);
    add_rule(out, v);
    for (ptrdiff_t r = 0; r < n_row; r++)
        add_line(out, v, r);
    add_hidden(out, v, most);
    out->oom |= cell.oom;
    strbuf_free(&cell);
    free(v->width);
    return 0;
}

/* ---- csv: RFC 4180 quoting, raw SI values, keys as heading --------------------- */

static void add_quoted(struct strbuf *b, const char *s, size_t n)
{
    if (!n)
        return;
    bool quote = s[0] == ' ' || s[n - 1] == ' ';
    for (size_t i = 0; i < n; i++)
        quote |= s[i] == ',' || s[i] == '"' || s[i] == '\n' || s[i] == '\r';
    if (!quote) {
        strbuf_add(b, s, n);
        return;
    }
    strbuf_adds(b, "\"");
    for (size_t i = 0; i < n; i++)
        strbuf_add(b, s[i] == '"' ? "\"\"" : &s[i], s[i] == '"' ? 2 : 1);
    strbuf_adds(b, "\"");
}

static void build_csv(struct strbuf *out, const struct view *v)
{
    struct strbuf cell = { 0 };
    for (ptrdiff_t r = HEADING; r < (ptrdiff_t)v->t->rows->n; r++) {
        for (size_t i = 0; i < v->n; i++) {
            const struct cell value = r == HEADING ? cell_text(v->cols[i]->key) : column_cell(v->cols[i], table_row(v->t->rows, (size_t)r));
            cell.len = 0;
            add_raw_cell(&cell, &value);
            strbuf_adds(out, i ? "," : "");
            add_quoted(out, cell.s, cell.len);
        }
        strbuf_adds(out, "\n");
    }
    out->oom |= cell.oom;
    strbuf_free(&cell);
}

/* ---- sql: SQLite and PostgreSQL read it ----------------------------------------- */

static void add_sql_text(struct strbuf *b, const char *s, size_t n)
{
    strbuf_adds(b, "'");
    for (size_t i = 0; i < n; i++)
        strbuf_add(b, s[i] == '\'' ? "''" : &s[i], s[i] == '\'' ? 2 : 1);
    strbuf_adds(b, "'");
}

static void add_sql_value(struct strbuf *b, const struct cell *v)
{
    struct strbuf cell = { 0 };
    add_raw_cell(&cell, v);
    if (v->kind == CELL_NULL || v->kind == CELL_ABSENT)
        strbuf_adds(b, "NULL");
    else if (v->kind == CELL_WHOLE || v->kind == CELL_REAL)
        strbuf_add(b, cell.s, cell.len);
    else
        add_sql_text(b, cell.s, cell.len);
    b->oom |= cell.oom;
    strbuf_free(&cell);
}

static const char *sql_type(const struct column *c)
{
    switch (c->style) {
    case COL_INT:
        return "INTEGER";
    case COL_FLOAT:
    case COL_SI:
    case COL_SI_BARE:
    case COL_FRACTION:
    case COL_SECONDS:
        return "REAL";
    case COL_TEXT:
    case COL_BOOL:
        break;
    }
    return "TEXT";
}

/* The schema as a name: "roofcast_bench". */
static void add_sql_name(struct strbuf *b, const char *schema)
{
    for (const char *p = schema; *p; p++)
        strbuf_add(b, *p == '.' ? "_" : p, 1);
}

static void build_sql(struct strbuf *out, const struct view *v)
{
    strbuf_adds(out, "CREATE TABLE IF NOT EXISTS ");
    add_sql_name(out, v->t->schema);
    for (size_t i = 0; i < v->n; i++)
        strbuf_addf(out, "%s\n  \"%s\" %s", i ? "," : " (", v->cols[i]->key, sql_type(v->cols[i]));
    strbuf_adds(out, "\n);\n");
    for (size_t r = 0; r < v->t->rows->n; r++) {
        strbuf_adds(out, "INSERT INTO ");
        add_sql_name(out, v->t->schema);
        for (size_t i = 0; i < v->n; i++)
            strbuf_addf(out, "%s\"%s\"", i ? ", " : " (", v->cols[i]->key);
        for (size_t i = 0; i < v->n; i++) {
            const struct cell value = column_cell(v->cols[i], table_row(v->t->rows, r));
            strbuf_adds(out, i ? ", " : ") VALUES (");
            add_sql_value(out, &value);
        }
        strbuf_adds(out, ");\n");
    }
}

/* ---- all of them ----------------------------------------------------------------- */

static int print_json(FILE *out, const struct table *t, struct error *err)
{
    json_t *doc = table_json(t);
    int rc = json_print(doc, out, false, err);
    json_decref(doc);
    return rc;
}

/* The formats that are text. */
static int build(struct strbuf *b, enum report_format fmt, struct view *v, size_t width, struct error *err)
{
    if (fmt == REPORT_CSV)
        build_csv(b, v);
    else if (fmt == REPORT_SQL)
        build_sql(b, v);
    else
        return build_table(b, v, width, err);
    return 0;
}

int report_print(FILE *out, enum report_format fmt, const struct table *t, size_t width, struct error *err)
{
    if (fmt == REPORT_JSON)
        return print_json(out, t, err);
    if (fmt == REPORT_JSONL)
        return table_print_jsonl(out, t, err);
    struct strbuf b = { 0 };
    struct view v = { .t = t, .cols = calloc(t->n_cols + 1, sizeof *v.cols), .md = fmt == REPORT_MD };
    if (!v.cols)
        return error_oom(err, t->n_cols * sizeof *v.cols, "a table");
    v.n = table_columns(t, v.cols);
    int rc = build(&b, fmt, &v, width, err);
    free(v.cols);
    const char *text = rc == 0 ? strbuf_text(&b, "a report", err) : NULL;
    rc = text ? rc : -1;
    errno = 0;
    if (rc == 0 && b.len && (fwrite(text, 1, b.len, out) != b.len || fflush(out) != 0))
        rc = error_write(err, errno, "cannot write the report");
    strbuf_free(&b);
    return rc;
}
