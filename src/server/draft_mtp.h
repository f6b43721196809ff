/*
 * draft_mtp.h: drafts by the model's own layer of multi-token prediction (model/nextn.h). Its KV cache has the model's block numbers, so the scheduler's
 * decisions hold for both caches: prefix hits, preemption, rejected drafts. After a step the layer computes the step's tokens whose next token is known,
 * from the step's hidden states. The last of them yields the first draft; each further draft is computed from the layer's own hidden state of the draft
 * before it. source: vLLM's proposer (vllm/v1/spec_decode/eagle.py)
 *
 * The layer's key and value at a position depend on the token at the next one. A prefix hit keeps the last matched block, whose last position was
 * computed with the token that followed then. Another token may follow now: drafts may differ from those without a hit, outputs do not.
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
/* The loop's interface to d; its free() frees d. */
struct drafter draft_mtp_drafter(struct draft_mtp *d);
/* The likeliest tokens, unsampled; fewer than w->most where the sequence's blocks have no room. errors: the engine's */
int draft_mtp_propose(void *ctx, struct draft_want *w, size_t n, struct error *err);
const struct engine *draft_mtp_engine(const struct draft_mtp *d);

#endif
