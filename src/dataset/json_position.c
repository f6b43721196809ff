/* Position of a value in a valid JSON text: one sequential scan visits all elements of an array. */
#include "dataset/internal.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void step(struct json_position *t)
{
    const bool line = *t->at++ == '\n';
    t->line += line;
    t->column = line ? 1 : t->column + 1;
}

static void skip_blanks(struct json_position *t)
{
    while (*t->at && strchr(" \t\r\n", *t->at))
        step(t);
}

/* Skips the string at its opening quote. */
static void skip_string(struct json_position *t)
{
    step(t);
    while (*t->at && *t->at != '"') {
        if (*t->at == '\\' && t->at[1])
            step(t);
        step(t);
    }
    if (*t->at)
        step(t);
}

static void skip_value(struct json_position *t)
{
    size_t depth = 0;
    if (*t->at != '{' && *t->at != '[' && *t->at != '"') {
        while (*t->at && !strchr(" \t\r\n,]}", *t->at))
            step(t);
        return;
    }
    do {
        if (*t->at == '"') {
            skip_string(t);
            continue;
        }
        depth += *t->at == '{' || *t->at == '[';
        depth -= depth && (*t->at == '}' || *t->at == ']');
        step(t);
    } while (*t->at && depth);
}

void json_position_init(struct json_position *t, const char *text, size_t line)
{
    *t = (struct json_position){ text, line, 1 };
    skip_blanks(t);
}

void json_position_enter(struct json_position *t)
{
    if (*t->at)
        step(t);
    skip_blanks(t);
}

void json_position_next(struct json_position *t)
{
    skip_value(t);
    skip_blanks(t);
    if (*t->at == ',')
        step(t);
    skip_blanks(t);
}

/* Next character of a string, ASCII escapes decoded; others become '?', which no key contains. */
static char character(const char **p)
{
    static const char *const escapes = "b\bf\fn\nr\rt\t";
    if (**p != '\\')
        return *(*p)++;
    const char c = *++*p;
    *p += c != 0;
    if (c == 'u') {
        char digits[5] = "";
        for (int i = 0; i < 4 && isxdigit((unsigned char)**p); i++)
            digits[i] = *(*p)++;
        const long code = strtol(digits, NULL, 16);
        return (char)(code > 0 && code < 0x80 ? code : '?');
    }
    const char *const match = c ? strchr(escapes, c) : NULL;
    return match && match[1] && !((match - escapes) & 1) ? match[1] : c;
}

/* The quoted text at p equals key. */
static bool is_key(const char *p, const char *key)
{
    for (p++; *p && *p != '"'; key++)
        if (!*key || character(&p) != *key)
            return false;
    return *key == 0;
}

struct json_position json_position_field(const struct json_position *o, const char *key)
{
    struct json_position t = *o;
    if (*t.at != '{')
        return *o;
    for (json_position_enter(&t); *t.at == '"'; json_position_next(&t)) {
        const bool found = is_key(t.at, key);
        skip_string(&t);
        skip_blanks(&t);
        if (*t.at == ':')
            step(&t);
        skip_blanks(&t);
        if (found)
            return t;
    }
    return *o;
}

static struct json_position element(const struct json_position *a, size_t i)
{
    struct json_position t = *a;
    if (*t.at != '[')
        return *a;
    for (json_position_enter(&t); i && *t.at && *t.at != ']'; i--)
        json_position_next(&t);
    return t;
}

/* Parses "rows[3]: layers[0]: field "layer": ...": names with indices, or a field, then the message. */
struct json_position json_position_of_error(const struct json_position *o, const char *message)
{
    static const char field[] = "field \"";
    struct json_position t = *o;
    for (const char *p = message; *p;) {
        char key[64];
        const bool last = strncmp(p, field, sizeof field - 1) == 0;
        p += last ? sizeof field - 1 : 0;
        const size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789_");
        if (n == 0 || n >= sizeof key)
            return t;
        snprintf(key, sizeof key, "%.*s", (int)n, p);
        p += n;
        char *end = NULL;
        const size_t i = *p == '[' ? strtoul(p + 1, &end, 10) : 0;
        if (last ? *p != '"' : strncmp(end ? end : p, end ? "]: " : ": ", end ? 3 : 2) != 0)
            return t;
        t = json_position_field(&t, key);
        if (last)
            return t;
        t = end ? element(&t, i) : t;
        p = end ? end + 3 : p + 2;
    }
    return t;
}

int json_position_error(const struct json_position *t, const char *name, struct error *err, const char *fmt, ...)
{
    char text[700];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return error_set(err, ERROR_INPUT, "%.255s: line %zu, column %zu: %s", name, t->line, t->column, text);
}
