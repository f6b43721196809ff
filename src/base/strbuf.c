/* A growing string. Allocation failure is sticky; strbuf_text() reports it. */
#include "base/base.h"
#include <stdlib.h>
#include <string.h>

void strbuf_free(struct strbuf *b)
{
    free(b->s);
    *b = (struct strbuf){ 0 };
}

static bool strbuf_grow(struct strbuf *b, size_t extra)
{
    size_t need;
    if (b->oom || !size_add(b->len, extra, &need) || !size_add(need, 1, &need))
        goto fail;
    if (need <= b->cap)
        return true;
    size_t cap = b->cap ? b->cap : 64;
    while (cap < need)
        if (!size_mul(cap, 2, &cap))
            goto fail;
    char *s = realloc(b->s, cap);
    if (!s)
        goto fail;
    b->s = s;
    b->cap = cap;
    return true;
fail:
    b->oom = true;
    return false;
}

const char *strbuf_text(const struct strbuf *b, const char *what, struct error *err)
{
    if (b->oom) {
        error_oom(err, b->len, what);
        return NULL;
    }
    return b->s ? b->s : "";
}

void strbuf_add(struct strbuf *b, const void *data, size_t n)
{
    if (!strbuf_grow(b, n))
        return;
    if (n)
        memcpy(b->s + b->len, data, n);
    b->len += n;
    b->s[b->len] = 0;
}

void strbuf_adds(struct strbuf *b, const char *s)
{
    strbuf_add(b, s, strlen(s));
}

void strbuf_addf(struct strbuf *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        b->oom = true; /* vsnprintf(3) fails on allocation or %ls (not used) */
    else if (strbuf_grow(b, (size_t)n)) {
        (void)vsnprintf(b->s + b->len, (size_t)n + 1, fmt, again); /* second pass with enough room */
        b->len += (size_t)n;
    }
    va_end(again);
}
