/* Where a value stands in a JSON text that was already read without a mistake. */
#include "measure/internal.h"
#include <string.h>

/* Behind the string whose opening quote is at p. */
static const char *behind_string(const char *p)
{
    for (p++; *p && *p != '"'; p++)
        p += *p == '\\' && p[1];
    return p + (*p == '"');
}

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t\r\n");
}

/* The value of the key in quotes at p, if it is this one. */
static const char *value_of(const char *p, const char *key)
{
    const char *const end = behind_string(p), *colon = skip_blanks(end);
    const bool same = (size_t)(end - p) == strlen(key) + 2 && strncmp(p + 1, key, strlen(key)) == 0;
    return same && *colon == ':' ? skip_blanks(colon + 1) : NULL;
}

/* Of the index-th value of an array, or the only one: its field, or where it begins; NULL: there is none. */
static const char *find(const char *text, size_t index, const char *key)
{
    const char *p = skip_blanks(text), *value = NULL;
    const int of = *p == '[' ? 1 : 0;
    int depth = 0;
    while (*p) {
        if (depth == of && !value && index == 0 && !strchr(" \t\r\n,]", *p))
            value = p;
        else if (depth == of && value && strchr(",]", *p))
            return value;
        if (*p == '"') {
            const char *const v = value && depth == of + 1 ? value_of(p, key) : NULL;
            if (v)
                return v;
            p = behind_string(p);
            continue;
        }
        index -= *p == ',' && depth == of;
        depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
        p++;
    }
    return value;
}

void json_place(const struct json_text *t, const char *key, size_t *line, size_t *column)
{
    const char *const at = find(t->text, t->index, key);
    *line = t->line;
    *column = 1;
    for (const char *p = t->text; at && p < at; p++) {
        *line += *p == '\n';
        *column = *p == '\n' ? 1 : *column + 1;
    }
}
