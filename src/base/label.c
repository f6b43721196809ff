/* Names in buffers of a fixed size. */
#include "base/label.h"
#include "base/base.h"
#include <string.h>

void label_fit(char *out, size_t size, const char *text)
{
    enum { MARK = 9 }; /* "~0123abcd" */
    const size_t n = strlen(text);
    size_t keep = size - 1 - MARK;
    if (n < size) {
        memcpy(out, text, n + 1);
        return;
    }
    while (keep > 0 && ((unsigned char)text[keep] & 0xc0) == 0x80) /* UTF-8: whole characters */
        keep--;
    snprintf(out, size, "%.*s~%08x", (int)keep, text, (unsigned)(hash_bytes(text, n) & UINT32_MAX));
}
