/* Values of JSON and fields of CSV as pieces of the text, without copies: jansson takes 2 us a line. */
#include "serving/trace_internal.h"
#include <string.h>

bool text_more(struct trace_text *x)
{
    for (; x->p < x->end; x->p++) {
        if (*x->p == '\n')
            x->line++;
        else if (*x->p != ' ' && *x->p != '\t' && *x->p != '\r')
            return true;
    }
    return false;
}

static bool wrong(const char **what, const char *text)
{
    *what = text;
    return false;
}

static bool digit(const struct trace_text *x)
{
    return x->p < x->end && *x->p >= '0' && *x->p <= '9';
}

static bool pass_digits(struct trace_text *x)
{
    const char *p = x->p;
    while (digit(x))
        x->p++;
    return x->p > p;
}

static bool pass_number(struct trace_text *x, const char **what)
{
    x->p += *x->p == '-';
    const bool zero = digit(x) && *x->p == '0';
    x->p += zero;
    if ((!zero && !pass_digits(x)) || digit(x))
        return wrong(what, "expected a number");
    if (x->p < x->end && *x->p == '.') {
        x->p++;
        if (!pass_digits(x))
            return wrong(what, "expected digits after the point of a number");
    }
    if (x->p < x->end && (*x->p == 'e' || *x->p == 'E')) {
        x->p++;
        x->p += x->p < x->end && (*x->p == '+' || *x->p == '-');
        if (!pass_digits(x))
            return wrong(what, "expected digits in the exponent of a number");
    }
    return true;
}

/* From the quote on. */
static bool pass_string(struct trace_text *x, struct cell *c, const char **what)
{
    c->s = ++x->p;
    for (; x->p < x->end && *x->p != '"'; x->p++) {
        if ((unsigned char)*x->p < 0x20)
            return wrong(what, "a control character or line break in a string");
        if (*x->p == '\\' && ++x->p == x->end)
            break;
    }
    if (x->p == x->end)
        return wrong(what, "a string without its end");
    c->n = (size_t)(x->p++ - c->s);
    return true;
}

static bool pass_word(struct trace_text *x, const char **what)
{
    static const char *const word[] = { "null", "true", "false", "NaN", "Infinity", "-Infinity" };
    for (size_t i = 0; i < ARRAY_LEN(word); i++) {
        const size_t n = strlen(word[i]);
        if ((size_t)(x->end - x->p) >= n && memcmp(x->p, word[i], n) == 0) {
            x->p += n;
            return true;
        }
    }
    return wrong(what, "expected a JSON value");
}

static bool pass_scalar(struct trace_text *x, struct cell *c, const char **what)
{
    c->s = x->p;
    if (*x->p == '"') {
        c->kind = CELL_STRING;
        return pass_string(x, c, what);
    }
    const bool word = (*x->p >= 'A' && *x->p <= 'z') || (x->end - x->p > 1 && x->p[0] == '-' && x->p[1] == 'I');
    if (word ? !pass_word(x, what) : !pass_number(x, what))
        return false;
    c->n = (size_t)(x->p - c->s);
    c->kind = !word ? CELL_NUMBER : cell_is(c, "null") ? CELL_NONE : CELL_OTHER;
    return true;
}

/* What closes the container, in a stack of one bit a level. */
enum { MOST_DEPTH = 64 };

struct depth {
    uint64_t object;
    unsigned n;
};

/* After a value: closes containers and passes a comma. *value: another value follows. */
static bool pass_ends(struct trace_text *x, struct depth *d, const char **what)
{
    while (d->n > 0) {
        const bool object = d->object & 1;
        if (!text_more(x))
            return wrong(what, "the text ends within an object or array");
        if (*x->p == ',') {
            x->p++;
            return true;
        }
        if (*x->p != (object ? '}' : ']'))
            return wrong(what, object ? "expected \",\" or \"}\"" : "expected \",\" or \"]\"");
        x->p++;
        d->object >>= 1;
        d->n--;
    }
    return true;
}

static bool pass_key(struct trace_text *x, struct cell *key, const char **what)
{
    if (!text_more(x) || *x->p != '"')
        return wrong(what, "expected a key in quotes");
    key->line = x->line;
    key->kind = CELL_STRING;
    if (!pass_string(x, key, what))
        return false;
    if (!text_more(x) || *x->p != ':')
        return wrong(what, "expected \":\" after a key");
    x->p++;
    return true;
}

/* An object or array that is opened; an empty one is passed. */
static bool open_container(struct trace_text *x, struct depth *d, bool *empty, const char **what)
{
    const bool object = *x->p++ == '{';
    if (d->n == MOST_DEPTH)
        return wrong(what, "values nested more than 64 deep");
    *empty = text_more(x) && *x->p == (object ? '}' : ']');
    x->p += *empty;
    if (!*empty) {
        d->object = d->object << 1 | object;
        d->n++;
    }
    return true;
}

bool text_value(struct trace_text *x, struct cell *c, const char **what)
{
    struct depth d = { 0 };
    struct cell inner;
    if (!text_more(x))
        return wrong(what, "expected a value");
    *c = (struct cell){ .s = x->p, .line = x->line };
    if (*x->p != '{' && *x->p != '[')
        return pass_scalar(x, c, what);
    c->kind = *x->p == '[' ? CELL_ARRAY : CELL_OTHER;
    do {
        bool empty = false;
        if (d.n > 0 && d.object & 1 && !pass_key(x, &inner, what))
            return false;
        if (!text_more(x))
            return wrong(what, "expected a value");
        if (*x->p == '{' || *x->p == '[') {
            if (!open_container(x, &d, &empty, what))
                return false;
            if (!empty)
                continue;
        } else if (!pass_scalar(x, &inner, what)) {
            return false;
        }
        if (!pass_ends(x, &d, what))
            return false;
    } while (d.n > 0);
    c->n = (size_t)(x->p - c->s);
    return true;
}

int text_element(struct trace_text *x, bool *first, const char **what)
{
    if (!text_more(x))
        return wrong(what, "the text ends within an array") - 1;
    if (*x->p == ']') {
        x->p++;
        return 0;
    }
    if (!*first && *x->p++ != ',')
        return wrong(what, "expected \",\" or \"]\"") - 1;
    *first = false;
    return text_more(x) ? 1 : wrong(what, "expected a value") - 1;
}

int text_key(struct trace_text *x, bool *first, struct cell *key, const char **what)
{
    if (!text_more(x))
        return wrong(what, "the text ends within an object") - 1;
    if (*first && *x->p == '{')
        x->p++;
    if (!text_more(x))
        return wrong(what, "the text ends within an object") - 1;
    if (*x->p == '}') {
        x->p++;
        return 0;
    }
    if (!*first && *x->p++ != ',')
        return wrong(what, "expected \",\" or \"}\"") - 1;
    *first = false;
    return pass_key(x, key, what) ? 1 : -1;
}

/* ---- CSV --------------------------------------------------------------------------------------------------------------- */

static bool quoted_field(struct trace_text *x, const char *end, struct cell *f, const char **what)
{
    f->s = ++x->p;
    for (; x->p < end; x->p++) {
        if (*x->p != '"')
            continue;
        if (x->p + 1 < end && x->p[1] == '"') {
            x->p++; /* doubled: stays so, no column of interest has one */
            continue;
        }
        f->n = (size_t)(x->p++ - f->s);
        return x->p == end || *x->p == ',' || wrong(what, "text after the closing quote of a field");
    }
    return wrong(what, "a quoted field without its end in this line");
}

static bool bare_field(struct trace_text *x, const char *end, struct cell *f, const char **what)
{
    const char *comma = memchr(x->p, ',', (size_t)(end - x->p));
    f->s = x->p;
    x->p = comma ? comma : end;
    const char *last = x->p;
    while (last > f->s && (last[-1] == ' ' || last[-1] == '\t'))
        last--;
    f->n = (size_t)(last - f->s);
    return !memchr(f->s, '"', f->n) || wrong(what, "a quote within a field");
}

int text_fields(struct trace_text *x, struct cell *field, unsigned most, const char **what)
{
    if (!text_more(x))
        return 0;
    const char *newline = memchr(x->p, '\n', (size_t)(x->end - x->p)), *end = newline ? newline : x->end;
    while (end > x->p && end[-1] == '\r')
        end--;
    for (unsigned n = 0;;) {
        if (n == most)
            return wrong(what, "more than 64 fields in a line") - 1;
        struct cell *f = &field[n++];
        *f = (struct cell){ .line = x->line, .kind = CELL_FIELD };
        while (x->p < end && (*x->p == ' ' || *x->p == '\t'))
            x->p++;
        if (!(x->p < end && *x->p == '"' ? quoted_field : bare_field)(x, end, f, what))
            return -1;
        if (f->n == 0)
            f->kind = CELL_NONE;
        if (x->p == end)
            return (int)n;
        x->p++; /* the comma */
    }
}
