/*
 * draft_mtp.h: drafts by the model's own layer of multi-token prediction (model/nextn.h). Its keys and values lie in blocks of the numbers that the model's
 * have, so that the scheduler's decisions hold for both: what the prefix cache finds, what preemption takes, what a draft that was wrong leaves behind.
 * After a step it computes the step's tokens whose next one is known, from the step's hidden states; from the last of them it drafts, and from its own
 * hidden state further tokens. source: vLLM's proposer (vllm/v1/spec_decode/eagle.py)
 *
 * The last position of a cached block has the token that followed it when it was computed; where another follows, drafts are made from that.
 */
#ifndef SERVER_DRAFT_MTP_H
#define SERVER_DRAFT_MTP_H

#include "engine/engine.h"
#include "server/draft.h"

struct draft_mtp;

/* target: with options.hidden and one table of blocks a sequence; it outlives the drafter. errors: those of nextn_check() and engine_new(); ERROR_UNAVAILABLE
 * windows with block tables of their own */
struct draft_mtp *draft_mtp_new(struct engine *target, const struct model *m, struct error *err);
void draft_mtp_free(struct draft_mtp *d);
/* Its drafter, which frees it. */
struct drafter draft_mtp_drafter(struct draft_mtp *d);
/* Likeliest tokens, without a sampler: as many as are wanted and the sequence's blocks have room for. errors: the engine's */
int draft_mtp_propose(void *ctx, struct draft_want *w, size_t n, struct error *err);
const struct engine *draft_mtp_engine(const struct draft_mtp *d);

#endif
