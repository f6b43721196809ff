/* Numbers from the command line: the whole string, in range. Start of a text file. */
#include "base/base.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int parse_int(const char *s, int64_t lo, int64_t hi, const char *what, int64_t *out,
              struct error *err)
{
    char *end;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (end == s || *end)
        return error_set(err, ERROR_USAGE, "%s: expected a whole number, found \"%s\"", what, s);
    if (errno == ERANGE || v < lo || v > hi)
        return error_set(err, ERROR_USAGE, "%s: expected %lld to %lld, found %s", what,
                         (long long)lo, (long long)hi, s);
    *out = v;
    return 0;
}

int parse_double(const char *s, double lo, double hi, const char *what, double *out,
                 struct error *err)
{
    char *end;
    double v = strtod(s, &end);
    if (end == s || *end || !isfinite(v) || strpbrk(s, " \t\n\v\f\rxX"))
        return error_set(err, ERROR_USAGE, "%s: expected a number, found \"%s\"", what, s);
    if (v < lo || v > hi)
        return error_set(err, ERROR_USAGE, "%s: expected %g to %g, found %s", what, lo, hi, s);
    *out = v;
    return 0;
}

bool text_ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), k = strlen(end);
    return n >= k && memcmp(s + n - k, end, k) == 0;
}

bool text_lists(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = list; n > 0 && (p = strstr(p, word)); p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == 0 || p[n] == ' '))
            return true;
    return false;
}

/* UTF-16 or UTF-32: by mark, or by a zero byte in the first character. */
static bool is_wide(const char *s, size_t n)
{
    return n >= 2 && (memcmp(s, "\xff\xfe", 2) == 0 || memcmp(s, "\xfe\xff", 2) == 0 || (n % 2 == 0 && (s[0] == 0) != (s[1] == 0)));
}

int text_begin(const char *name, const char **text, size_t *size, struct error *err)
{
    if (is_wide(*text, *size))
        return error_set(err, ERROR_INPUT, "%s: line 1, column 1: expected UTF-8, found UTF-16, as PowerShell's > and some editors write it: "
                         "save it as UTF-8 (PowerShell: | Out-File -Encoding utf8 FILE)", name);
    if (*size >= 3 && memcmp(*text, "\xef\xbb\xbf", 3) == 0) {
        *text += 3;
        *size -= 3;
    }
    return 0;
}

/* ---- terminal-safe texts ---- */

void text_show(char *s, size_t n)
{
    unsigned char *u = (unsigned char *)s;
    for (size_t i = 0; i < n; i++)
        if ((u[i] < 0x20 && u[i] != '\n' && u[i] != '\t') || u[i] == 0x7f)
            s[i] = '?';
        else if (u[i] == 0xc2 && i + 1 < n && u[i + 1] >= 0x80 && u[i + 1] < 0xa0)
            s[i] = s[i + 1] = '?';
}
