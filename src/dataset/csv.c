/* CSV parser (RFC 4180) with line and column of each field. */
#include "dataset/csv.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CSV_MAX_COLUMNS = 1024, CSV_MAX_FIELD = 4096 };

struct reader {
    const char *at, *end;
    uint32_t line;
    const char *line_start;
    char *out; /* next field's text; never ahead of the input */
    const char *name;
    struct error *err;
};

static int refuse(const struct reader *r, uint32_t line, uint32_t column, const char *what)
{
    return error_set(r->err, ERROR_INPUT, "%s: line %u, column %u: %s", r->name, line, column, what);
}

static uint32_t column_of(const struct reader *r)
{
    return (uint32_t)(r->at - r->line_start) + 1;
}

/* End of line or of file. */
static bool at_line_end(const struct reader *r)
{
    return r->at == r->end || *r->at == '\n' || (*r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n');
}

static void next_line(struct reader *r)
{
    if (r->at < r->end && *r->at == '\r')
        r->at++;
    if (r->at < r->end)
        r->at++;
    r->line++;
    r->line_start = r->at;
}

static int quoted(struct reader *r, const struct csv_field *f)
{
    for (r->at++; r->at < r->end; r->at++) {
        if (*r->at == '"' && (r->at + 1 == r->end || r->at[1] != '"'))
            break;
        r->at += *r->at == '"'; /* escaped quote */
        if (*r->at == '\n') {
            r->line++;
            r->line_start = r->at + 1;
        }
        *r->out++ = *r->at;
    }
    if (r->at == r->end)
        return refuse(r, f->line, f->column, "an unterminated quoted field");
    r->at++;
    if (!at_line_end(r) && *r->at != ',')
        return refuse(r, r->line, column_of(r), "text after a closing quote");
    return 0;
}

/* Unquoted field, surrounding blanks stripped. */
static int bare(struct reader *r, const struct csv_field *f)
{
    while (r->at < r->end && *r->at == ' ')
        r->at++;
    for (; !at_line_end(r) && *r->at != ','; r->at++) {
        if (*r->at == '"')
            return refuse(r, r->line, column_of(r), "a quote inside an unquoted field");
        *r->out++ = *r->at;
    }
    while (r->out > f->s && r->out[-1] == ' ')
        r->out--;
    return 0;
}

static int read_field(struct reader *r, struct csv_field *f)
{
    *f = (struct csv_field){ r->out, r->line, column_of(r) };
    if ((r->at < r->end && *r->at == '"' ? quoted(r, f) : bare(r, f)) != 0)
        return -1;
    const size_t n = (size_t)(r->out - f->s);
    char what[96];
    if (n <= CSV_MAX_FIELD)
        return 0;
    snprintf(what, sizeof what, "a field of %zu bytes, expected at most %d", n, CSV_MAX_FIELD);
    return refuse(r, f->line, f->column, what);
}

static int grow(struct csv *c, size_t *cap, size_t need, struct error *err)
{
    size_t bytes;
    if (need <= *cap)
        return 0;
    const size_t n = need > 2 * *cap ? need : 2 * *cap;
    struct csv_field *f = size_mul(n, sizeof *f, &bytes) ? realloc(c->field, bytes) : NULL;
    if (!f)
        return error_oom(err, n * sizeof *f, "the fields of a CSV file");
    c->field = f;
    *cap = n;
    return 0;
}

/* Appends the fields of one line after the *n present; then r is at the next line. */
static int read_row(struct reader *r, struct csv *c, size_t *n, size_t *cap, struct error *err)
{
    for (;;) {
        if (grow(c, cap, *n + 1, err) != 0 || read_field(r, &c->field[*n]) != 0)
            return -1;
        (*n)++;
        const bool more = r->at < r->end && *r->at == ',';
        if (more)
            r->at++;
        else
            next_line(r);
        *r->out++ = 0;
        if (!more)
            return 0;
    }
}

static bool only_blank_lines(const struct reader *r)
{
    for (const char *p = r->at; p < r->end; p++)
        if (*p != '\n' && *p != '\r')
            return false;
    return true;
}

static int check_length(const struct csv *c, const struct reader *r, size_t first, size_t n)
{
    char what[96];
    if (n == c->n_col)
        return 0;
    snprintf(what, sizeof what, "expected %zu fields as in the header, found %zu", c->n_col, n);
    const struct csv_field *f = &c->field[first + (n > c->n_col ? c->n_col : n - 1)];
    return refuse(r, f->line, f->column, what);
}

static int check_header(const struct csv *c, const struct reader *r)
{
    char what[128];
    if (c->n_col > CSV_MAX_COLUMNS)
        return refuse(r, 1, 1, "more than 1024 columns");
    for (size_t i = 0; i < c->n_col; i++)
        for (size_t k = 0; k < i; k++) {
            if (c->header[i].s[0] == 0 || strcmp(c->header[i].s, c->header[k].s) != 0)
                continue;
            snprintf(what, sizeof what, "a second column \"%.64s\"", c->header[i].s);
            return refuse(r, c->header[i].line, c->header[i].column, what);
        }
    return 0;
}

static int read_rows(struct csv *c, struct reader *r, struct error *err)
{
    size_t n = 0, cap = 0;
    while (!only_blank_lines(r)) {
        const size_t first = n;
        if (first > 0 && c->n_col > 1 && at_line_end(r)) { /* blank line */
            next_line(r);
            continue;
        }
        if (read_row(r, c, &n, &cap, err) != 0)
            return -1;
        if (first == 0)
            c->n_col = n;
        else if (check_length(c, r, first, n - first) != 0)
            return -1;
    }
    if (n == 0)
        return error_set(err, ERROR_INPUT, "%s: line 1, column 1: expected a header, found nothing", c->name);
    c->n_row = n / c->n_col - 1;
    c->header = malloc(c->n_col * sizeof *c->header);
    c->requested = calloc(c->n_col, sizeof *c->requested);
    if (!c->header || !c->requested)
        return error_oom(err, c->n_col * sizeof *c->header, "a CSV header");
    memcpy(c->header, c->field, c->n_col * sizeof *c->header);
    return check_header(c, r);
}

int csv_parse(struct csv *c, const char *name, const void *data, size_t size, struct error *err)
{
    return csv_parse_at(c, name, data, size, 1, err);
}

int csv_parse_at(struct csv *c, const char *name, const void *data, size_t size, uint32_t line, struct error *err)
{
    const char *text = data, *nul;
    *c = (struct csv){ 0 };
    snprintf(c->name, sizeof c->name, "%s", name);
    if (text_begin(name, &text, &size, err) != 0)
        return -1;
    struct reader r = { text, text + size, line, text, NULL, name, err };
    if ((nul = size ? memchr(text, 0, size) : NULL) != NULL) {
        for (const char *p = text; p < nul; p++)
            if (*p == '\n') {
                r.line++;
                r.line_start = p + 1;
            }
        return refuse(&r, r.line, (uint32_t)(nul - r.line_start) + 1, "a byte of zero: not a text file");
    }
    c->text = r.out = malloc(size + 2);
    if (!c->text)
        return error_oom(err, size + 2, "a CSV file");
    if (read_rows(c, &r, err) == 0)
        return 0;
    csv_free(c);
    return -1;
}

void csv_free(struct csv *c)
{
    free(c->text);
    free(c->field);
    free(c->header);
    free(c->requested);
    c->requested = NULL;
    c->text = NULL;
    c->field = c->header = NULL;
    c->n_row = c->n_col = 0;
}

void csv_free_table(struct csv *c)
{
    free(c->field);
    c->field = NULL;
    c->n_row = 0;
}

int csv_find(const struct csv *c, const char *column)
{
    for (size_t i = 0; i < c->n_col; i++)
        if (strcmp(c->header[i].s, column) == 0) {
            c->requested[i] = true;
            return (int)i;
        }
    return -1;
}

int csv_find_all(const struct csv *c, const char *const *name, int n, const int *needed, size_t n_needed, int *column,
                 struct error *err)
{
    for (int i = 0; i < n; i++)
        column[i] = csv_find(c, name[i]);
    for (size_t i = 0; i < n_needed; i++)
        if (column[needed[i]] < 0)
            return error_set(err, ERROR_INPUT, "%s: line 1, column 1: no column \"%s\"", c->name, name[needed[i]]);
    return 0;
}

const struct csv_field *csv_at(const struct csv *c, size_t row, int column)
{
    static const struct csv_field none = { "", 0, 0 };
    return column < 0 ? &none : &c->field[(row + 1) * c->n_col + (size_t)column];
}

int csv_error(const struct csv *c, size_t row, int column, struct error *err, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    const struct csv_field *f = csv_at(c, row, column < 0 ? 0 : column);
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (char *p = text; *p; p++) /* line breaks and escapes in a field */
        *p = (unsigned char)*p < ' ' || *p == 0x7f ? '?' : *p;
    return error_set(err, ERROR_INPUT, "%s: line %u, column %u (%s): %s", c->name, f->line, f->column,
                     column < 0 ? "?" : c->header[column].s, text);
}

/* ---- numbers ---------------------------------------------------------------------------------- */

static const char *digits(const char *s)
{
    return s + strspn(s, "0123456789");
}

double csv_to_number(const char *s)
{
    const char *p = s + (*s == '-' || *s == '+'), *q = digits(p);
    bool any = q > p;
    if (*q == '.') {
        p = q + 1;
        q = digits(p);
        any |= q > p;
    }
    if (any && (*q == 'e' || *q == 'E')) {
        p = q + 1;
        p += *p == '-' || *p == '+';
        q = digits(p);
        any = q > p;
    }
    const double v = any && *q == 0 ? strtod(s, NULL) : NAN;
    return isfinite(v) ? v : NAN;
}

int csv_number(const struct csv *c, size_t row, int column, double lo, double hi, bool must, double *out,
               struct error *err)
{
    const char *s = csv_at(c, row, column)->s;
    *out = NAN;
    if (!*s && !must)
        return 0;
    const double v = csv_to_number(s);
    if (!(v >= lo && v <= hi))
        return csv_error(c, row, column, err, "expected a number from %g to %g, found \"%.64s\"", lo, hi, s);
    *out = v;
    return 0;
}

int csv_count(const struct csv *c, size_t row, int column, double lo, double hi, bool must, double *out,
              struct error *err)
{
    if (csv_number(c, row, column, lo, hi, must, out, err) != 0)
        return -1;
    if (!isnan(*out) && *out != floor(*out))
        return csv_error(c, row, column, err, "expected a whole number, found \"%.64s\"", csv_at(c, row, column)->s);
    return 0;
}
