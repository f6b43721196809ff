/*
 * draft_model.h: drafts by a smaller model of the same vocabulary, on an engine of its own with a paged KV cache of its own. Sequences keep what
 * they have there while the target's scheduler preempts them; where the pool is full, those not drafted for longest give their blocks back, and
 * a sequence that has no room gets no drafts. source: Leviathan et al., Fast Inference from Transformers via Speculative Decoding, 2023
 */
#ifndef SERVER_DRAFT_MODEL_H
#define SERVER_DRAFT_MODEL_H

#include "engine/engine.h"
#include "server/draft.h"

struct draft_model;

struct draft_model_options {
    struct engine_options engine; /* threads, instruction set, types of the KV cache; its sizes are set from the following */
    uint32_t n_seq;               /* sequences of a step at most */
    uint32_t n_ctx;               /* positions of a sequence at most, drafts included */
    uint32_t n_tok;               /* of a pass */
    uint32_t n_block, block_size; /* of the KV cache */
};

/* errors   ERROR_INPUT  vocabularies that differ, in size or, where both files have a tokenizer, in a token: names both files */
int draft_model_check(const struct model *draft, const struct model *target, struct error *err);
/* draft outlives it. errors: those of engine_new() */
struct draft_model *draft_model_new(const struct model *draft, const struct draft_model_options *o, struct error *err);
void draft_model_free(struct draft_model *d);
/* Its drafter, which frees it. */
struct drafter draft_model_drafter(struct draft_model *d);
/* Likeliest tokens, without a sampler. errors: the engine's; out of memory */
int draft_model_propose(void *ctx, struct draft_want *w, size_t n, struct error *err);
const struct engine *draft_model_engine(const struct draft_model *d);
/* For tests: blocks that sequences hold. */
uint32_t draft_model_used_blocks(const struct draft_model *d);

#endif
