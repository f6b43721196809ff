/* Generation loop; text is held back while it may become a stop text. */
#include "bench/generate.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *finish_name(enum finish f)
{
    switch (f) {
    case FINISH_LENGTH:
        return "length";
    case FINISH_STOP:
        return "stop";
    case FINISH_EOS:
        return "eos";
    }
    return "?";
}

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

/* ---- the loop ---------------------------------------------------------------------------- */

static bool is_in(const struct token_list *l, int32_t id)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->id[i] == id)
            return true;
    return false;
}

static int check_text(const struct text_stream *t, struct error *err)
{
    if (!strbuf_text(&t->held, "the text", err) || !strbuf_text(&t->out, "the text", err))
        return -1;
    return t->failed ? error_write(err, t->failed, "cannot write the text") : 0;
}

static int emit(struct generation *g, const struct tokenizer *t, int32_t id, struct strbuf *piece, struct error *err)
{
    piece->len = 0;
    if (tokenizer_decode(t, id, false, false, piece, err) != 0)
        return -1;
    const char *s = strbuf_text(piece, "the text", err);
    if (!s)
        return -1;
    text_stream_add(&g->text, s, piece->len);
    return check_text(&g->text, err);
}

/* One pass, as a region of a counting tool (markers), if there is one. */
static int eval(struct engine *e, const struct token_list *ids, uint32_t past, bool prefill, const float **logits, struct error *err)
{
    const char *region = prefill ? "prefill" : "decode";
    engine_region_start(e, region);
    const int rc = engine_eval(e, ids->id + past, (uint32_t)ids->n - past, past, 1, logits, err);
    engine_region_stop(e, region);
    return rc;
}

static int loop(struct generation *g, struct engine *e, const struct tokenizer *t, const struct generate_options *o,
                struct sampler *s, struct strbuf *piece, struct error *err)
{
    const double start = clock_now_s();
    double last = start;
    for (size_t i = 0; i < g->n_prompt; i++)
        sampler_accept(s, g->ids.id[i]);
    for (int64_t i = 0; i < o->n_gen; i++) {
        const uint32_t n = (uint32_t)g->ids.n;
        const uint32_t past = i == 0 || o->no_kv_cache ? 0 : n - 1;
        const float *logits;
        if (eval(e, &g->ids, past, i == 0, &logits, err) != 0)
            return -1;
        if (!logits_finite(logits, s->n_vocab))
            return error_set(err, ERROR_INPUT, "the logits after token %u are not finite: damaged weights?", n);
        const int32_t id = sampler_pick(s, logits);
        const double now = clock_now_s();
        if (i == 0)
            g->ttft_s = now - start;
        else
            g->itl_s[i - 1] = now - last;
        g->total_s = now - start;
        last = now;
        if (token_list_push(&g->ids, id, err) != 0)
            return -1;
        sampler_accept(s, id);
        if (!o->ignore_eos && tokenizer_is_end(t, id)) {
            g->finish = FINISH_EOS;
            break;
        }
        if (emit(g, t, id, piece, err) != 0)
            return -1;
        if (g->text.stopped_by || is_in(&o->stop_ids, id)) {
            g->finish = FINISH_STOP;
            break;
        }
    }
    text_stream_end(&g->text);
    return check_text(&g->text, err);
}

int generate(struct generation *g, struct engine *e, const struct tokenizer *t, const struct generate_options *o,
             uint32_t n_vocab, struct error *err)
{
    struct sampler s;
    struct strbuf piece = { 0 };
    g->n_prompt = g->ids.n;
    g->finish = FINISH_LENGTH;
    g->itl_s = calloc((size_t)o->n_gen, sizeof *g->itl_s);
    if (!g->itl_s)
        return error_oom(err, (size_t)o->n_gen * sizeof *g->itl_s, "the latencies");
    if (sampler_init(&s, &o->sampler, n_vocab, err) != 0)
        return -1;
    const int rc = loop(g, e, t, o, &s, &piece, err);
    sampler_free(&s);
    strbuf_free(&piece);
    return rc;
}

void generation_free(struct generation *g)
{
    token_list_free(&g->ids);
    free(g->itl_s);
    text_stream_free(&g->text);
}
