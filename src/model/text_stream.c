/* Text is held back while it may become a stop text, or a character is incomplete. */
#include "model/text_stream.h"
#include "model/tokenizer.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- stop texts --------------------------------------------------------------------- */

int stop_list_add(struct stop_list *l, const char *text, struct error *err)
{
    if (!*text)
        return error_set(err, ERROR_USAGE, "--stop: expected a text, found an empty one");
    if (l->n == l->cap) {
        const size_t cap = l->cap ? 2 * l->cap : 8;
        const char **grown = realloc(l->text, cap * sizeof *grown);
        if (!grown)
            return error_oom(err, cap * sizeof *grown, "stop texts");
        l->text = grown;
        l->cap = cap;
    }
    l->text[l->n++] = text;
    return 0;
}

void stop_list_free(struct stop_list *l)
{
    free(l->text);
    *l = (struct stop_list){ 0 };
}

/* Earliest stop text in s, the longest of several there; NULL: none. */
static const char *find_stop(const struct stop_list *l, const char *s, size_t n, size_t *at)
{
    const char *found = NULL;
    *at = n;
    for (size_t i = 0; l && i < l->n; i++) {
        const char *stop = l->text[i], *p = memmem(s, n, stop, strlen(stop));
        if (!p)
            continue;
        const size_t where = (size_t)(p - s);
        if (where < *at || (found && where == *at && strlen(stop) > strlen(found))) {
            *at = where;
            found = stop;
        }
    }
    return found;
}

/* Number of trailing bytes of s that may begin a stop text. */
static size_t undecided(const struct stop_list *l, const char *s, size_t n)
{
    size_t most = 0;
    for (size_t i = 0; l && i < l->n; i++) {
        const size_t len = strlen(l->text[i]);
        for (size_t k = len - 1 < n ? len - 1 : n; k > most; k--)
            if (memcmp(s + n - k, l->text[i], k) == 0)
                most = k;
    }
    return most;
}

/* ---- text as it becomes certain --------------------------------------------------------- */

static void write_text(struct text_stream *t, size_t n)
{
    if (n == 0)
        return;
    strbuf_add(&t->out, t->held.s, n);
    if (t->sink && !t->failed) {
        if (isatty(fileno(t->sink))) /* terminal: whole characters */
            text_show(t->held.s, n);
        errno = 0;
        if (fwrite(t->held.s, 1, n, t->sink) != n || fflush(t->sink) != 0)
            t->failed = errno ? errno : EIO;
    }
    memmove(t->held.s, t->held.s + n, t->held.len - n + 1);
    t->held.len -= n;
}

void text_stream_add(struct text_stream *t, const char *s, size_t n)
{
    size_t at;
    if (t->stopped_by)
        return;
    strbuf_add(&t->held, s, n);
    if (t->held.oom || t->held.len == 0)
        return;
    t->stopped_by = find_stop(t->stops, t->held.s, t->held.len, &at);
    if (t->stopped_by) {
        write_text(t, at);
        t->held.len = 0;
        return;
    }
    const size_t whole = utf8_complete(t->held.s, t->held.len);
    const size_t sure = t->held.len - undecided(t->stops, t->held.s, t->held.len);
    write_text(t, sure < whole ? utf8_complete(t->held.s, sure) : whole);
}

void text_stream_end(struct text_stream *t)
{
    if (!t->held.oom && t->held.len)
        write_text(t, utf8_complete(t->held.s, t->held.len));
}

void text_stream_free(struct text_stream *t)
{
    strbuf_free(&t->out);
    strbuf_free(&t->held);
}
