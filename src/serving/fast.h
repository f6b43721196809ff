/*
 * fast.h: the state of a simulation by jumps (fast.c): what waits, what runs, of that what is steady, and its blocks (fast_state.c).
 */
#ifndef SERVING_FAST_H
#define SERVING_FAST_H

#include "serving/arrivals.h"
#include "serving/fast_cache.h"
#include "serving/internal.h"

/* The older and the newer step in flight sample a token of the sequence; its newest token came with the step applied last; it has one. */
enum { OLDER = 1, NEWER = 2, FRESH = 4, STARTED = 8 };
enum { MOST_FLIGHT = 2, NO_SEQ = UINT32_MAX };

/* The blocks of a request whose content has an identity. */
struct content {
    uint32_t n, n_shared; /* blocks; those of them, the first, that other requests may have too */
    uint64_t *hash;       /* [n_shared] */
    uint32_t *entry;      /* [n_shared], of which the sequence holds n_held; in the memory of hash */
    uint32_t n_held;
    uint32_t own;         /* while it waits: the entry of the others */
};

struct seq {
    uint64_t known, computed; /* tokens; of a steady one, modulo 2^64, less x->n_applied and x->n_formed */
    uint64_t last_ps;         /* of its newest token, where it is not FRESH */
    uint64_t order;           /* of admission */
    uint32_t request, last, stop; /* last: tokens at which it must end; stop: at which it does */
    uint32_t prev, next;      /* running, in order of admission */
    uint32_t need;            /* tokens of the step that is formed */
    uint8_t flag;
    bool steady;
};

struct waiting {
    uint32_t request, known, flag;
    uint64_t last_ps;
    struct content content;
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
    struct block_cache cache;
    struct run_starts starts;
    uint64_t per_block; /* 2^63 / block_size, rounded up */
    uint32_t n_reserve;
    /* running */
    struct seq *seq;         /* [cap] */
    struct content *content; /* [cap]; NULL: no request has identities */
    uint32_t *spare, n_spare; /* unused ones */
    uint32_t first_seq, last_seq, n, cap;
    uint64_t n_order;
    uint32_t *irregular, n_irregular; /* in order of admission */
    struct leave *heap;      /* of the steady ones, the first to leave on top */
    uint32_t n_steady;
    uint64_t sum_computed;   /* of the steady ones */
    uint32_t *residue;       /* [block_size]: steady ones by (computed - n_formed) mod block_size */
    uint32_t crossing;       /* -n_formed mod block_size: the class whose next token begins a block; after a step the class before */
    uint64_t n_formed, n_applied;
    /* waiting: a ring, of which the first n_flown may have a token in flight */
    struct waiting *ring;
    size_t n_waiting, first, ring_cap, n_flown;
    uint32_t refused;        /* the request that waits first and could not start in the newest step that tried; CACHE_NONE */
    uint64_t flight_ps[MOST_FLIGHT]; /* ends of the steps in flight */
    size_t n_flight;
    uint64_t now_ps, device_ps, applied_ps; /* now; the device's last end; the newest apply */
};

/* n / block_size */
static inline uint32_t full_blocks(const struct fast *x, uint64_t n)
{
    return (uint32_t)(((unsigned __int128)n * x->per_block) >> 63);
}

static inline uint32_t blocks_of(const struct fast *x, uint64_t n_position)
{
    return full_blocks(x, n_position + x->p->block_size - 1);
}

static inline struct waiting *waiting_at(struct fast *x, size_t i)
{
    return &x->ring[(x->first + i) & (x->ring_cap - 1)];
}

static inline struct content *content_of(struct fast *x, uint32_t i)
{
    return x->content ? &x->content[i] : NULL;
}

/* The class before, of block_size. */
static inline uint32_t class_before(const struct fast *x, uint32_t i)
{
    return (i > 0 ? i : x->p->block_size) - 1;
}

/* ---- waiting ---- */

/* Requests due by now. errors: out of memory */
int fast_take_arrivals(struct fast *x, struct error *err);
int fast_push_front(struct fast *x, const struct waiting *q, struct error *err);
void fast_pop_front(struct fast *x);
void fast_remove_waiting(struct fast *x, size_t i);

/* ---- blocks. c NULL without identities ---- */

/* Blocks whose content is complete with those tokens known and computed can be found. */
void fast_hash_blocks(struct fast *x, struct content *c, uint64_t known, uint64_t computed);
/* Releases all blocks of a sequence; known: tokens known when it was hashed last. */
void fast_release(struct fast *x, uint32_t i, uint64_t known);
/* Blocks of q's prefix that are cached; *n_free of them lie in the free queue. */
uint32_t fast_prefix_hit(struct fast *x, struct waiting *q, uint32_t *n_free);
/* The sequence, which has no block, holds those of a hit. */
void fast_take_hit(struct fast *x, struct content *c, uint32_t hit);

/* ---- running, in order of admission ---- */

uint32_t fast_list_append(struct fast *x);
void fast_list_remove(struct fast *x, uint32_t i);
/* Tokens known with which a sequence is irregular again: before its last one, and before it fills a block that can be found. */
uint64_t fast_steady_until(const struct fast *x, const struct seq *q, const struct content *c);
/* An irregular sequence, not in the list of those, becomes steady. */
void fast_join(struct fast *x, uint32_t i);
void fast_all_irregular(struct fast *x);
/* A steady one becomes irregular, which is not in the list of those yet. */
void fast_leave(struct fast *x, uint32_t i);
/* Steady ones that are about to end become irregular. */
void fast_let_leave(struct fast *x);

#endif
