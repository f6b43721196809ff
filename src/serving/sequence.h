/* sequence.h: the KV blocks of a sequence in the scheduler's pool; of scheduler.c alone. Positions and blocks count from 0. */
#ifndef SERVING_SEQUENCE_H
#define SERVING_SEQUENCE_H

#include "serving/scheduler.h"

uint32_t seq_blocks_of(const struct policy *p, uint64_t n_position);
/* Blocks at most of a group with that window (0: none): the window before a step, and the step's own. */
uint32_t seq_most_blocks(const struct policy *p, uint32_t window, uint64_t n_position);
/* Releases blocks that lie whole before the window of the next token. */
void seq_drop_outside(struct scheduler *s, struct sched_seq *q);
/* Makes full blocks of known tokens below n_tok findable. */
void seq_hash_blocks(struct scheduler *s, struct sched_seq *q, uint32_t n_tok);
/* Blocks, in all groups, that positions below n_position lack; takes them: the pool has that many free. errors: out of memory */
uint64_t seq_missing_blocks(const struct scheduler *s, const struct sched_seq *q, uint64_t n_position);
int seq_take_blocks(struct scheduler *s, struct sched_seq *q, uint64_t n_position, struct error *err);
void seq_release_all(struct scheduler *s, struct sched_seq *q);

/* ---- the prefix cache ---- */

/* Blocks found in all groups. The last token is always computed. */
uint32_t seq_prefix_hit(const struct scheduler *s, const struct sched_seq *q);
/* Blocks before `end` that a group with that window needs. */
uint32_t seq_needed_before(const struct policy *p, uint32_t window, uint32_t end);
/* Those of a hit that lie in the free queue, which they leave with it. */
uint64_t seq_hit_blocks_free(const struct scheduler *s, const struct sched_seq *q, uint32_t hit);
/* q, which has no blocks, holds those of the hit. errors: out of memory */
int seq_share_hit(struct scheduler *s, struct sched_seq *q, uint32_t hit, struct error *err);
/* Tokens beyond a hit that need not be computed: another device's, or blocks in host memory. */
uint32_t seq_remote_tokens(const struct scheduler *s, const struct sched_seq *q, uint32_t hit);

#endif
