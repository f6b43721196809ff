/* draft.h: where a loop's drafts come from: tokens proposed for a sequence, which the next step verifies in one pass. */
#ifndef SERVER_DRAFT_H
#define SERVER_DRAFT_H

#include "kernels/kernels.h"

/* A sequence that wants drafts. */
struct draft_want {
    uint32_t place;     /* identifies the sequence, until forget() */
    const int32_t *tok; /* [n_tok] known tokens */
    uint32_t n_tok;
    int32_t *draft;     /* room for `most` */
    uint32_t most, n;   /* drafted at most; drafted. most 0: a chunk of a prompt, which a draft model may compute already */
    /* What a drafter with from_hidden reads: */
    uint32_t n_known;        /* known tokens in tok: n_tok; of a chunk of a prompt all of the prompt */
    uint32_t n_past, n_hidden; /* first position of the step's tokens, and their number */
    const float *hidden;     /* [n_hidden, n_embd] the model's hidden states at positions n_past, ...; those of rejected drafts are among them */
    const uint32_t *table;   /* blocks of the sequence, by position */
    uint32_t n_position;     /* positions that these blocks have room for */
};

struct drafter {
    void *ctx;
    /* For all sequences of a step at once. errors: a draft model's engine */
    int (*propose)(void *ctx, struct draft_want *w, size_t n, struct error *err);
    void (*forget)(void *ctx, uint32_t place); /* the sequence has ended; NULL: not asked for */
    bool from_hidden; /* needs an engine with options.hidden; propose() also gets sequences that ended with the step, with most 0 */
    struct work (*work)(const void *ctx);      /* bytes and FLOP so far; NULL: none that count */
    void (*free)(void *ctx);                   /* NULL: nothing to free */
};

/*
 * Prompt lookup: the tokens that followed the last place where the newest n tokens stood before, n from `longest` down to `shortest`.
 * source   Saxena, Prompt Lookup Decoding, 2023; vLLM's ngram drafter
 */
struct draft_ngram {
    uint32_t longest, shortest;
};
int draft_ngram_propose(void *ctx, struct draft_want *w, size_t n, struct error *err); /* ctx: struct draft_ngram */
/* The last token again, as many as wanted: for forced acceptance. */
int draft_repeat_propose(void *ctx, struct draft_want *w, size_t n, struct error *err);

#endif
