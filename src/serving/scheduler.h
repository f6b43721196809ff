/*
 * scheduler.h: continuous batching, step by step. The scheduler decides what a step computes; a caller with a clock (a model of a machine,
 * or the engine) runs the step and tells what came of it. Rules of vLLM's V1 scheduler (vllm/v1/core/sched/scheduler.py).
 *
 *     scheduler_form(s, &batch)      decides a step; tokens count as computed from then on
 *     ... run batch, fill in n_new and stop of its entries ...
 *     scheduler_apply(s, &batch)     sampled tokens become known; sequences end
 *
 * Synchronous: form, apply, form, apply. Asynchronous (policy.async_scheduling): form N + 1 before apply N, at most two batches between.
 */
#ifndef SERVING_SCHEDULER_H
#define SERVING_SCHEDULER_H

#include "serving/blocks.h"
#include "serving/policy.h"
#include "serving/workload.h"

enum seq_state {
    SEQ_WAITING,
    SEQ_LOADING, /* has its blocks, whose content is on its way: scheduler_loaded() */
    SEQ_RUNNING,
    SEQ_PREEMPTED,
    SEQ_DONE,
};

/* The blocks of a sequence in one group of layers, by position; BLOCK_NONE: left the window. */
struct seq_blocks {
    uint32_t *block;
    uint32_t n, cap, n_hashed, n_dropped;
};

/* A request in the scheduler. Fields are read by callers, written by the scheduler. */
struct sched_seq {
    uint32_t request; /* the caller's number */
    uint32_t n_in, n_max; /* tokens of the prompt; of the output at most */
    uint32_t n_known;     /* tokens known: prompt and output */
    uint32_t n_computed;  /* in the KV cache once all formed steps have run */
    uint32_t n_placeholder; /* of steps not applied: tokens that will be known, at most */
    uint32_t n_draft;     /* drafted tokens that its next step verifies */
    uint32_t n_hit;       /* prompt tokens found in the prefix cache at its first admission */
    uint32_t n_remote;      /* tokens whose keys and values another device has: loaded before it runs, once */
    uint32_t n_preempt;
    uint32_t n_flight;    /* batches formed and not applied that have it */
    int32_t priority;
    uint64_t order;       /* of arrival */
    enum seq_state state;
    bool admitted;        /* once */
    bool loaded;          /* waits with n_computed tokens in its blocks */
    uint64_t *hash;       /* [n_hash]: chained hashes of its full blocks with an identity */
    uint32_t n_hash, n_unit; /* tokens of one */
    struct seq_blocks group[POLICY_MAX_GROUPS];
    struct sched_seq *next, *prev; /* queue of waiting ones */
};

struct batch_entry {
    struct sched_seq *seq;
    uint32_t n_past, n_tok; /* positions in the cache before; tokens of this step, drafts included */
    uint32_t n_draft;       /* drafts verified */
    bool samples;           /* yields tokens: its last known token is in the step */
    bool failed;            /* refused for want of KV cache: it is done, n_tok is 0 */
    bool prompt;            /* more than its newest token and drafts: a chunk of a prompt or of a recomputation */
    /* The caller's, before scheduler_apply(): */
    uint32_t n_new; /* tokens it yielded: 1 + accepted drafts; 0 where !samples */
    bool stop;      /* ended by the model with the last of them */
};

/* Blocks to be filled from elsewhere: n_tok positions of seq. */
struct batch_load {
    struct sched_seq *seq;
    uint32_t n_tok;
};

struct batch {
    struct batch_entry *e;
    size_t n, cap;
    uint32_t n_tok;
    struct batch_load *load; /* formed with it, not part of its computation; a batch may have these alone */
    size_t n_load, cap_load;
};
void batch_free(struct batch *b);

struct slot;

struct scheduler {
    struct policy p;
    struct block_pool pool;
    uint32_t n_reserve; /* blocks that the watermark keeps */
    struct sched_seq **running; /* in order of admission */
    size_t n_running, cap_running;
    struct sched_seq *first, *last; /* waiting */
    size_t n_waiting;
    struct sched_seq *loading; /* a list by next */
    size_t n_loading;
    struct block_pool host;    /* with policy.n_host_block: blocks in host memory, by last use */
    uint64_t n_loaded_tok;
    uint64_t n_order;
    uint64_t n_preempt, n_formed;
    bool again; /* the newest step preempted and is empty: with no other in flight form another one at once */
    uint64_t n_query_tok, n_hit_tok; /* of the prefix cache, first admissions only */
    struct slot *slot; /* [max_num_seqs] of POLICY_LLAMA_SERVER */
};

/* p is copied. n_block: usable blocks (vLLM's number less its null block). errors: those of policy_check(); out of memory. scheduler_free() after
 * either. */
int scheduler_init(struct scheduler *s, const struct policy *p, uint32_t n_block, struct error *err);
/* The same for a caller that keeps keys and values: sched_seq.group has the blocks' numbers without a prefix cache too. Of slots, n_block are
 * positions, and the caller places them: scheduler_slot(). */
int scheduler_init_addressed(struct scheduler *s, const struct policy *p, uint32_t n_block, struct error *err);
void scheduler_free(struct scheduler *s); /* sequences not done too */
/* Blocks that a sequence of so many positions takes at most, in all groups. */
uint64_t scheduler_blocks_of(const struct policy *p, uint64_t n_position);
/* errors  ERROR_INPUT: can never run: longer than max_model_len, or than all blocks */
int scheduler_check(const struct policy *p, uint32_t n_block, uint32_t n_in, uint32_t n_out, struct error *err);

/* Adds r, the caller's number i of w. The sequence lives until scheduler_drop(). NULL: out of memory. */
struct sched_seq *scheduler_add(struct scheduler *s, const struct serve_workload *w, uint32_t i, struct error *err);
/* The same with its hashes, from scheduler_hashes() of a scheduler of the same policy, which become the sequence's, or are freed with an error. */
struct sched_seq *scheduler_add_hashed(struct scheduler *s, const struct serve_workload *w, uint32_t i, uint64_t *hash, uint32_t n_hash, struct error *err);
/* Hashes by which s finds the prompt of request i: of blocks, or of identities where it has slots. NULL with *n 0: none. errors: out of memory. */
uint64_t *scheduler_hashes(const struct scheduler *s, const struct serve_workload *w, uint32_t i, uint32_t *n, struct error *err);
/* The same of a request that no workload has. hash: [n_hash], of its full blocks (slots: of its tokens), chained, none of them 0; the sequence's from
 * then on, freed on an error too. The caller may append to it as tokens become known: sched_seq.hash, n_hash. */
struct sched_request {
    uint32_t number, n_in, n_max;
    int32_t priority;
    uint64_t *hash;
    uint32_t n_hash;
};
struct sched_seq *scheduler_add_request(struct scheduler *s, const struct sched_request *r, struct error *err);
/* Before it is in a batch: n_remote tokens of its prompt are computed elsewhere and loaded. */
void scheduler_set_remote(struct sched_seq *q, uint32_t n_remote);
/* Decides the next step; an empty batch: nothing can run before another arrives or a step is applied. errors: out of memory; s and b are then
 * only to be freed. */
int scheduler_form(struct scheduler *s, struct batch *b, struct error *err);
void scheduler_apply(struct scheduler *s, const struct batch *b);
/* Its content has arrived: it runs from the next step on, as soon as there is room. */
void scheduler_loaded(struct scheduler *s, struct sched_seq *q);
/* The client is gone: its blocks are free from the next step on. */
void scheduler_abort(struct scheduler *s, struct sched_seq *q);
/* A formed batch is given up: frees its sequences that are done and in no other. */
void scheduler_forget(struct batch *b);
/* Frees a sequence that is done and in no batch. */
void scheduler_drop(struct sched_seq *q);
static inline bool scheduler_idle(const struct scheduler *s)
{
    return s->n_running == 0 && s->n_waiting == 0 && s->n_loading == 0;
}
/* Of a policy with slots: the slot of a running sequence, and the positions that slot i holds. */
uint32_t scheduler_slot(const struct scheduler *s, const struct sched_seq *q);
uint32_t scheduler_slot_positions(const struct scheduler *s, uint32_t i);
/* For the files of the scheduler: */
struct batch_entry *batch_add(struct batch *b, struct error *err);
int slots_init(struct scheduler *s, struct error *err);
void slots_free(struct scheduler *s);
int slots_form(struct scheduler *s, struct batch *b, struct error *err);
void slots_apply(struct scheduler *s, const struct batch *b);
void slots_abort(struct scheduler *s, struct sched_seq *q);
void scheduler_unqueue(struct scheduler *s, struct sched_seq *q);
uint32_t scheduler_used_blocks(const struct scheduler *s); /* referenced ones */
/* For tests: blocks are neither lost nor held twice; NULL: all well. */
const char *scheduler_broken(const struct scheduler *s);

/* Blocks of r that its identities cover whole; chained hashes of the first n of them. */
uint32_t block_hash_count(const struct serve_workload *w, const struct serve_request *r, uint32_t block_size);
void block_hashes_first(const struct serve_workload *w, const struct serve_request *r, uint32_t block_size, uint32_t n, uint64_t *hash);
/* Of all of them, *n. NULL with *n 0: none. errors: out of memory. */
uint64_t *block_hashes(const struct serve_workload *w, const struct serve_request *r, uint32_t block_size, uint32_t *n, struct error *err);

#endif
