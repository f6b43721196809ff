/* JSON text. */
#include "server/json_write.h"
#include <math.h>

/* Length of the valid UTF-8 character at s (RFC 3629: no surrogates, nothing overlong); 0: none. */
static size_t character(const unsigned char *s, size_t n)
{
    const unsigned c = s[0];
    const size_t len = c < 0x80 ? 1 : c < 0xC2 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : 0;
    if (len == 0 || len > n)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    if ((c == 0xE0 && s[1] < 0xA0) || (c == 0xED && s[1] > 0x9F) || (c == 0xF0 && s[1] < 0x90) || (c == 0xF4 && s[1] > 0x8F))
        return 0;
    return len;
}

static void escape(struct strbuf *b, unsigned char c)
{
    switch (c) {
    case '"':
        strbuf_adds(b, "\\\"");
        break;
    case '\\':
        strbuf_adds(b, "\\\\");
        break;
    case '\n':
        strbuf_adds(b, "\\n");
        break;
    case '\r':
        strbuf_adds(b, "\\r");
        break;
    case '\t':
        strbuf_adds(b, "\\t");
        break;
    default:
        strbuf_addf(b, "\\u%04x", c);
    }
}

void json_write_text(struct strbuf *b, const char *s, size_t n)
{
    const unsigned char *u = (const unsigned char *)s;
    if (n == 0) {
        strbuf_adds(b, "\"\"");
        return;
    }
    size_t plain = 0; /* from here to i: copied as it is */
    strbuf_add(b, "\"", 1);
    for (size_t i = 0; i < n;) {
        const size_t len = character(u + i, n - i);
        if (len > 0 && u[i] >= 0x20 && u[i] != '"' && u[i] != '\\' && u[i] != 0x7F) {
            i += len;
            continue;
        }
        strbuf_add(b, s + plain, i - plain);
        if (len == 0)
            strbuf_adds(b, "\xEF\xBF\xBD");
        else
            escape(b, u[i]);
        plain = ++i;
    }
    strbuf_add(b, s + plain, n - plain);
    strbuf_add(b, "\"", 1);
}

void json_write_num(struct strbuf *b, double v)
{
    if (isfinite(v))
        strbuf_addf(b, "%.9g", v);
    else
        strbuf_adds(b, "null");
}
