/* Generation loop. */
#include "bench/generate.h"
#include <stdlib.h>

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
