#include "server/draft.h"
#include <string.h>

/* Tokens after the newest earlier place of the last n tokens; 0: it stands nowhere else. */
static uint32_t after_match(const int32_t *tok, uint32_t n_tok, uint32_t n)
{
    const int32_t *last = tok + n_tok - n;
    for (uint32_t at = n_tok - n; at-- > 0;)
        if (tok[at] == last[0] && memcmp(tok + at, last, n * sizeof *tok) == 0)
            return at + n;
    return 0;
}

int draft_ngram_propose(void *ctx, struct draft_want *w, size_t n, struct error *err)
{
    const struct draft_ngram *o = ctx;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        uint32_t from = 0;
        for (uint32_t len = w[i].most > 0 ? o->longest : 0; from == 0 && len >= o->shortest && len > 0; len--)
            from = len < w[i].n_tok ? after_match(w[i].tok, w[i].n_tok, len) : 0;
        w[i].n = from > 0 ? (uint32_t)u64_min(w[i].most, w[i].n_tok - from) : 0;
        memcpy(w[i].draft, w[i].tok + from, w[i].n * sizeof *w[i].draft);
    }
    return 0;
}

int draft_repeat_propose(void *ctx, struct draft_want *w, size_t n, struct error *err)
{
    (void)ctx;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < w[i].most; k++)
            w[i].draft[k] = w[i].tok[w[i].n_tok - 1];
        w[i].n = w[i].most;
    }
    return 0;
}
