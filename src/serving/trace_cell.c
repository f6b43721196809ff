/* Values of cells. */
#include "serving/trace_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool cell_is(const struct cell *c, const char *text)
{
    return c->n == strlen(text) && memcmp(c->s, text, c->n) == 0;
}

bool cell_number(const struct cell *c, double *v)
{
    static const double ten[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
                                  1e19, 1e20, 1e21, 1e22 };
    const char *what;
    struct cell value;
    if (c->n == 0 || c->n > 63 || (c->kind != CELL_NUMBER && c->kind != CELL_FIELD))
        return false;
    struct trace_text x = { .p = c->s, .end = c->s + c->n };
    if (c->kind == CELL_FIELD && (!text_value(&x, &value, &what) || value.kind != CELL_NUMBER || x.p != x.end))
        return false;
    /* Up to 15 digits and no exponent: exact in one division. */
    uint64_t m = 0;
    unsigned n_digit = 0, n_after = 0;
    bool point = false, simple = true;
    for (const char *p = c->s; p < c->s + c->n; p++) {
        if (*p >= '0' && *p <= '9') {
            m = 10 * m + (uint64_t)(*p - '0');
            simple &= ++n_digit <= 15;
            n_after += point;
        } else {
            point |= *p == '.';
            simple &= *p == '.' || *p == '-';
        }
    }
    if (simple) {
        *v = (double)m / ten[n_after];
        *v = *c->s == '-' ? -*v : *v;
        return true;
    }
    char buf[64];
    memcpy(buf, c->s, c->n);
    buf[c->n] = '\0';
    *v = strtod(buf, NULL);
    return isfinite(*v);
}

bool cell_u64(const struct cell *c, uint64_t *v)
{
    *v = 0;
    if (c->n == 0 || c->n > 19 || (c->kind != CELL_NUMBER && c->kind != CELL_FIELD))
        return false;
    for (size_t i = 0; i < c->n; i++) {
        if (c->s[i] < '0' || c->s[i] > '9')
            return false;
        *v = 10 * *v + (uint64_t)(c->s[i] - '0');
    }
    return true;
}

static int hex4(const char *p, const char *end)
{
    int v = 0;
    for (int i = 0; i < 4; i++, p++) {
        if (p >= end)
            return -1;
        const char lower = (char)(*p | 0x20);
        const int d = *p >= '0' && *p <= '9' ? *p - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
        if (d < 0)
            return -1;
        v = 16 * v + d;
    }
    return v;
}

static size_t put_utf8(char *to, unsigned u)
{
    const size_t n = u < 0x80 ? 1 : u < 0x800 ? 2 : u < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (size_t i = n; i-- > 1; u >>= 6)
        to[i] = (char)(0x80 | (u & 0x3f));
    to[0] = (char)(lead[n] | u);
    return n;
}

/* An escape behind its backslash; returns what it took. */
static size_t unescape(const char *p, const char *end, char *to, size_t *n_to)
{
    static const char from[] = "\"\\/bfnrt", as[] = "\"\\/\b\f\n\r\t";
    if (p >= end)
        return *n_to = 0;
    const char *at = *p ? strchr(from, *p) : NULL;
    *n_to = 1;
    *to = at ? as[at - from] : '?';
    if (*p != 'u')
        return 1;
    const int u = hex4(p + 1, end);
    if (u < 0)
        return 1;
    const bool high = u >= 0xd800 && u < 0xdc00, second = high && end - p >= 11 && p[5] == '\\' && p[6] == 'u';
    const int low = second ? hex4(p + 7, end) : -1;
    if (low >= 0xdc00 && low < 0xe000) {
        *n_to = put_utf8(to, 0x10000u + ((unsigned)(u - 0xd800) << 10) + (unsigned)(low - 0xdc00));
        return 11;
    }
    if (!(u >= 0xd800 && u < 0xe000))
        *n_to = put_utf8(to, (unsigned)u);
    return 5;
}

char *cell_string(const struct cell *c, size_t *n)
{
    char *out = malloc(c->n + 4);
    *n = 0;
    if (!out)
        return NULL;
    for (const char *p = c->s, *end = c->s + c->n; p < end;) {
        if (*p != '\\') {
            out[(*n)++] = *p++;
            continue;
        }
        size_t more;
        p++;
        p += unescape(p, end, out + *n, &more);
        *n += more;
    }
    return out;
}
