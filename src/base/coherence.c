#include "base/coherence.h"

static const struct {
    const char *op;
    int n_tok;
} kinds[COHERENCE_COUNT] = {
    [COHERENCE_READ_SMALL] = { "exchange-read", COHERENCE_SMALL_BATCH },     [COHERENCE_READ_LARGE] = { "exchange-read", COHERENCE_LARGE_BATCH },
    [COHERENCE_WRITE_SMALL] = { "exchange-write", COHERENCE_SMALL_BATCH },   [COHERENCE_WRITE_LARGE] = { "exchange-write", COHERENCE_LARGE_BATCH },
    [COHERENCE_BARRIER] = { "barrier", 0 },
};

const char *coherence_op(enum coherence_kind k)
{
    return kinds[k].op;
}

int coherence_tokens(enum coherence_kind k)
{
    return kinds[k].n_tok;
}
