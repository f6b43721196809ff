/* utf8: character boundaries in valid and invalid text. */
#include "model/tokenizer/internal.h"

/* Length by the lead byte, 0: invalid; lo and hi bound the second byte (no overlong forms, surrogates, or values above U+10FFFF). */
static size_t promised(unsigned char c, unsigned char *lo, unsigned char *hi)
{
    *lo = 0x80;
    *hi = 0xBF;
    if (c < 0x80)
        return 1;
    if (c >= 0xC2 && c <= 0xDF)
        return 2;
    if (c >= 0xE0 && c <= 0xEF) {
        *lo = c == 0xE0 ? 0xA0 : 0x80;
        *hi = c == 0xED ? 0x9F : 0xBF;
        return 3;
    }
    if (c >= 0xF0 && c <= 0xF4) {
        *lo = c == 0xF0 ? 0x90 : 0x80;
        *hi = c == 0xF4 ? 0x8F : 0xBF;
        return 4;
    }
    return 0;
}

/* Bytes at s that belong to one character; *want: its full length. */
static size_t matched(const char *s, size_t n, size_t *want)
{
    const unsigned char *u = (const unsigned char *)s;
    unsigned char lo, hi;
    *want = promised(u[0], &lo, &hi);
    if (*want == 0)
        return 0;
    size_t k = 1;
    while (k < *want && k < n && u[k] >= lo && u[k] <= hi) {
        lo = 0x80;
        hi = 0xBF;
        k++;
    }
    return k;
}

size_t utf8_char_len(const char *s, size_t n)
{
    size_t want, k = matched(s, n, &want);
    return k == want ? want : 0;
}

size_t utf8_complete(const char *buf, size_t n)
{
    /* Only the last three bytes can start an incomplete character. */
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        size_t want, k = matched(buf + n - back, back, &want);
        if (k == back && k < want)
            return n - back;
    }
    return n;
}
