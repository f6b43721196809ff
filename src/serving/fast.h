/*
 * fast.h: the state of a simulation by jumps (fast.c): what waits, what runs, of that what is steady, and its blocks (fast_state.c).
 */
#ifndef SERVING_FAST_H
#define SERVING_FAST_H

#include "serving/arrivals.h"
#include "serving/blocks.h"
#include "serving/internal.h"

/* The older and the newer step in flight sample a token of the sequence; its newest token came with the step applied last; it has one. */
enum { OLDER = 1, NEWER = 2, FRESH = 4, STARTED = 8 };
enum { MOST_FLIGHT = 2, NO_SEQ = UINT32_MAX };

/* Blocks with an identity. */
struct held {
    uint32_t *block, n, cap, n_hashed, n_hash;
    uint64_t *hash;
};

struct seq {
    uint64_t known, computed; /* tokens; of a steady one, modulo 2^64, less x->n_applied and x->n_formed */
    uint64_t last_ps;         /* of its newest token, where it is not FRESH */
    uint64_t order;           /* of admission */
    uint32_t request, last, stop; /* last: tokens at which it must end; stop: at which it does */
    uint32_t prev, next;      /* running, in order of admission */
    uint8_t flag;
    bool steady;
};

struct waiting {
    uint32_t request, known, flag;
    uint64_t last_ps;
    struct held held; /* hashes alone */
};

/* When a steady sequence leaves. */
struct leave {
    uint64_t n_applied;
    uint32_t seq;
};

struct fast {
    const struct serve_workload *w;
    const struct serve_options *o;
    const struct policy *p;
    struct serve_result *r;
    struct arrivals arrivals;
    struct block_pool pool;
    uint32_t n_reserve;
    /* running */
    struct seq *seq;         /* [cap] */
    struct held *held;       /* [cap] with identities */
    uint32_t *spare, n_spare; /* unused ones */
    uint32_t first_seq, last_seq, n, cap;
    uint64_t n_order;
    uint32_t *irregular, n_irregular; /* in order of admission */
    struct leave *heap;      /* of the steady ones, the first to leave on top */
    uint32_t n_steady;
    uint64_t sum_computed;   /* of the steady ones */
    uint32_t *residue;       /* [block_size]: steady ones by (computed - n_formed) mod block_size */
    uint64_t n_formed, n_applied;
    struct held stash;       /* blocks of the steady ones */
    uint32_t *hit;           /* [n_block]: blocks that a waiting request found */
    /* waiting: a ring, of which the first n_flown may have a token in flight */
    struct waiting *ring;
    size_t n_waiting, first, ring_cap, n_flown;
    uint64_t flight_ps[MOST_FLIGHT]; /* ends of the steps in flight */
    size_t n_flight;
    uint64_t now_ps, device_ps, applied_ps; /* now; the device's last end; the newest apply */
};

static inline uint32_t blocks_of(const struct fast *x, uint64_t n_position)
{
    return (uint32_t)((n_position + x->p->block_size - 1) / x->p->block_size);
}

static inline struct waiting *waiting_at(struct fast *x, size_t i)
{
    return &x->ring[(x->first + i) & (x->ring_cap - 1)];
}

static inline struct held *held_of(struct fast *x, uint32_t i)
{
    return x->pool.identity ? &x->held[i] : NULL;
}

/* Steady ones whose next token begins a block, in a step formed so many steps from now. */
static inline uint32_t crossing(const struct fast *x, uint64_t steps)
{
    const uint32_t bs = x->p->block_size, at = (uint32_t)((x->n_formed + steps) % bs);
    return x->residue[at == 0 ? 0 : bs - at];
}

/* ---- waiting ---- */

/* Requests due by now. errors: out of memory */
int fast_take_arrivals(struct fast *x, struct error *err);
int fast_push_front(struct fast *x, const struct waiting *q, struct error *err);
void fast_pop_front(struct fast *x);
void fast_remove_waiting(struct fast *x, size_t i);

/* ---- blocks. h NULL without identities ---- */

bool fast_reserve(struct held *h, uint32_t n, struct error *err);
int fast_take_blocks(struct fast *x, struct held *h, uint32_t n, struct error *err);
void fast_hash_blocks(struct fast *x, struct held *h, uint64_t known, uint64_t computed);
/* All blocks of computed positions. */
void fast_release(struct fast *x, struct held *h, uint64_t computed);
/* Blocks of q's prefix that are cached, in x->hit; *n_free of them lie in the free queue. */
uint32_t fast_prefix_hit(struct fast *x, const struct waiting *q, uint32_t *n_free);

/* ---- running, in order of admission ---- */

uint32_t fast_list_append(struct fast *x);
void fast_list_remove(struct fast *x, uint32_t i);
/* Tokens known with which a sequence is irregular again: before its last one, and before it fills a block that can be found. */
uint64_t fast_steady_until(const struct fast *x, const struct seq *q, const struct held *h);
/* An irregular sequence, not in the list of those, becomes steady. */
void fast_join(struct fast *x, uint32_t i);
int fast_all_irregular(struct fast *x, struct error *err);
/* Steady ones that are about to end become irregular. */
int fast_let_leave(struct fast *x, struct error *err);

#endif
