/* Records of a trace: cells by column, and their values with limits. */
#include "serving/trace_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int trace_refuse(const struct trace_reader *t, struct error *err, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return error_set(err, ERROR_INPUT, "%.255s:%u: %s", t->name, t->line, text);
}

int trace_refuse_cell(const struct trace_reader *t, int column, struct error *err, const char *expected)
{
    const struct cell *c = &t->cell[column];
    char found[64];
    const size_t n = c->n < sizeof found - 1 ? c->n : sizeof found - 1;
    if (n > 0)
        memcpy(found, c->s, n);
    text_show(found, n);
    return error_set(err, ERROR_INPUT, "%.255s:%u: %s is %s%.*s%s: expected %s", t->name, c->line ? c->line : t->line, t->format->column[column],
                     c->kind == CELL_STRING ? "\"" : "", (int)n, c->kind == CELL_NONE ? "nothing" : found, c->kind == CELL_STRING ? "\"" : "",
                     expected);
}

/* ---- records ----------------------------------------------------------------------------------------------------------- */

static int column_of(const struct trace_format *f, const struct cell *name)
{
    for (int i = 0; i < TRACE_MOST_COLUMNS && f->column[i]; i++)
        if (cell_is(name, f->column[i]))
            return i;
    return -1;
}

static int bad_text(struct trace_reader *t, struct error *err, const char *what)
{
    t->line = t->at.line;
    return trace_refuse(t, err, "%s", what);
}

static int csv_head(struct trace_reader *t, struct error *err)
{
    struct cell field[64];
    const char *what = "";
    const int n = text_fields(&t->at, field, 64, &what);
    if (n <= 0)
        return bad_text(t, err, n < 0 ? what : "no header line");
    t->n_field = (unsigned)n;
    for (int i = 0; i < n; i++) {
        t->column_of[i] = (signed char)column_of(t->format, &field[i]);
        for (int k = 0; k < i; k++)
            if (t->column_of[i] >= 0 && t->column_of[k] == t->column_of[i])
                return bad_text(t, err, "a column stands twice in the header line");
    }
    return 0;
}

static int csv_row(struct trace_reader *t, struct error *err)
{
    struct cell field[64];
    const char *what = "";
    if (t->n_field == 0 && csv_head(t, err) != 0)
        return -1;
    const int n = text_fields(&t->at, field, 64, &what);
    if (n == 0)
        return 0;
    if (n < 0)
        return bad_text(t, err, what);
    t->line = field[0].line;
    if ((unsigned)n != t->n_field)
        return trace_refuse(t, err, "%d fields: expected %u, as the header line has", n, t->n_field);
    for (int i = 0; i < n; i++)
        if (t->column_of[i] >= 0)
            t->cell[t->column_of[i]] = field[i];
    return 1;
}

int trace_object(struct trace_reader *t, struct error *err)
{
    struct cell key, value;
    const char *what = "";
    int rc = -1;
    bool first = true;
    memset(t->cell, 0, sizeof t->cell);
    t->line = t->at.line;
    if (*t->at.p != '{')
        return bad_text(t, err, "expected an object: {");
    while ((rc = text_key(&t->at, &first, &key, &what)) > 0) {
        if (!text_value(&t->at, &value, &what))
            return bad_text(t, err, what);
        const int column = column_of(t->format, &key);
        if (column < 0)
            continue;
        if (t->cell[column].s)
            return trace_refuse(t, err, "%s stands twice in an object", t->format->column[column]);
        t->cell[column] = value;
    }
    return rc < 0 ? bad_text(t, err, what) : 1;
}

int trace_next(struct trace_reader *t, struct error *err)
{
    int rc = 0;
    if (trace_full(t))
        return 0;
    if (t->notes->n_row % 4096 == 0 && interrupt_check(err) != 0)
        return -1;
    memset(t->cell, 0, sizeof t->cell);
    if (t->format->kind == TRACE_CSV)
        rc = csv_row(t, err);
    else if (text_more(&t->at))
        rc = trace_object(t, err);
    t->notes->n_row += rc > 0;
    return rc;
}

/* ---- values ------------------------------------------------------------------------------------------------------------ */

bool trace_has(const struct trace_reader *t, int column)
{
    return t->cell[column].kind != CELL_NONE;
}

int trace_need(const struct trace_reader *t, int column, struct error *err)
{
    if (trace_has(t, column))
        return 0;
    return trace_refuse(t, err, "no %s", t->format->column[column]);
}

int trace_number(const struct trace_reader *t, int column, double *v, struct error *err)
{
    if (trace_need(t, column, err) != 0)
        return -1;
    if (cell_number(&t->cell[column], v) && *v >= 0)
        return 0;
    return trace_refuse_cell(t, column, err, "a number of at least 0");
}

int trace_whole(const struct trace_reader *t, int column, uint64_t hi, uint64_t *v, struct error *err)
{
    double x;
    char expected[64];
    if (trace_need(t, column, err) != 0)
        return -1;
    if (cell_u64(&t->cell[column], v) && *v <= hi)
        return 0;
    /* 4096.0, as tables of floating-point columns write it. */
    if (cell_number(&t->cell[column], &x) && x >= 0 && x <= 0x1p53 && x == floor(x) && (uint64_t)x <= hi) {
        *v = (uint64_t)x;
        return 0;
    }
    snprintf(expected, sizeof expected, "a whole number, 0 to %llu", (unsigned long long)hi);
    return trace_refuse_cell(t, column, err, expected);
}

int trace_tokens(const struct trace_reader *t, int column, uint32_t lo, uint32_t *v, struct error *err)
{
    double x;
    char expected[64];
    if (trace_need(t, column, err) != 0)
        return -1;
    if (cell_number(&t->cell[column], &x) && x >= lo && x <= SERVE_MAX_TOKENS && x == floor(x)) {
        *v = (uint32_t)x;
        return 0;
    }
    snprintf(expected, sizeof expected, "%u to %d tokens", lo, SERVE_MAX_TOKENS);
    return trace_refuse_cell(t, column, err, expected);
}

static int to_ps(const struct trace_reader *t, int column, double s, uint64_t *ps, struct error *err)
{
    if (!(s * PS_PER_S < (double)SERVE_MAX_PS))
        return trace_refuse(t, err, "%s: %.3g s: expected at most %.3g s", t->format->column[column], s, (double)SERVE_MAX_PS / PS_PER_S);
    *ps = (uint64_t)(s * PS_PER_S + 0.5);
    return 0;
}

int trace_duration(const struct trace_reader *t, int column, double unit_s, uint64_t *ps, struct error *err)
{
    double x;
    return trace_number(t, column, &x, err) == 0 ? to_ps(t, column, x * unit_s, ps, err) : -1;
}

int trace_time(struct trace_reader *t, int column, double unit_s, uint64_t *ps, struct error *err)
{
    double x;
    if (trace_number(t, column, &x, err) != 0)
        return -1;
    if (isnan(t->first_time))
        t->first_time = t->last_time = x;
    if (x < t->last_time) {
        char expected[96];
        snprintf(expected, sizeof expected, "ascending times: at least %.17g, that of the request before", t->last_time);
        return trace_refuse_cell(t, column, err, expected);
    }
    t->last_time = x;
    t->notes->timed = true;
    return to_ps(t, column, (x - t->first_time) * unit_s, ps, err);
}

int trace_ids(struct trace_reader *t, int column, struct error *err)
{
    const struct cell *c = &t->cell[column];
    const char *what = "";
    t->n_id = 0;
    if (c->kind == CELL_NONE)
        return 0;
    /* A CSV field holds the array in quotes: "[1, 2]". */
    struct trace_text x = { .p = c->s, .end = c->s + c->n, .line = c->line };
    bool first = true;
    int rc = 0;
    if ((c->kind != CELL_ARRAY && c->kind != CELL_FIELD) || *x.p != '[')
        return trace_refuse_cell(t, column, err, "an array of identities");
    for (x.p++; (rc = text_element(&x, &first, &what)) > 0;) {
        struct cell v;
        uint64_t id;
        if (!text_value(&x, &v, &what) || !cell_u64(&v, &id) || id >> TRACE_MOST_ID_BITS)
            return trace_refuse_cell(t, column, err, "whole numbers of at least 0 and below 2^62");
        if (t->n_id == t->id_cap) {
            const size_t cap = t->id_cap > 0 ? 2 * t->id_cap : 256;
            uint64_t *p = realloc(t->id, cap * sizeof *p);
            if (!p)
                return error_oom(err, cap * sizeof *p, "the identities of a prompt");
            t->id = p;
            t->id_cap = cap;
        }
        t->id[t->n_id++] = id;
    }
    if (rc < 0 || x.p != x.end)
        return trace_refuse_cell(t, column, err, "an array of identities");
    return 0;
}

int trace_count(struct trace_reader *t, const struct cell *c, const char *what, uint32_t *v, struct error *err)
{
    size_t n, n_tok = 0;
    if (c->kind != CELL_STRING)
        return trace_refuse(t, err, "%s is no text: expected a string", what);
    char *text = cell_string(c, &n);
    if (!text)
        return error_oom(err, c->n, "a prompt");
    if (t->o->count) {
        struct error why = { 0 };
        n_tok = t->o->count(t->o->count_ctx, text, n, &why);
        if (n_tok == 0 && why.kind != ERROR_NONE) {
            free(text);
            return trace_refuse(t, err, "%s", why.msg);
        }
    } else {
        for (size_t i = 0; i < n; i++)
            n_tok += ((unsigned char)text[i] & 0xc0) != 0x80;
        n_tok = (n_tok + 3) / 4;
        t->notes->estimated = true;
    }
    free(text);
    if (n_tok > SERVE_MAX_TOKENS)
        return trace_refuse(t, err, "%s has %zu tokens: expected at most %d", what, n_tok, SERVE_MAX_TOKENS);
    *v = (uint32_t)n_tok;
    return 0;
}
