/*
 * blocks.h: a pool of KV blocks with a prefix cache: reference counts, chained hashes, and the order in which free blocks are taken.
 * Freed blocks that hold a hashed prefix go to the tail of the free queue, others to its head; the head is taken first and loses its
 * hash then. Only full blocks are shared, written by the sequence that took them, and a sequence computes its last known token itself: none writes a block
 * that it shares, so copy on write has nothing to copy. Source: vLLM's BlockPool and FreeKVCacheBlockQueue (vllm/v1/core/block_pool.py).
 */
#ifndef SERVING_BLOCKS_H
#define SERVING_BLOCKS_H

#include "base/base.h"

enum { BLOCK_NONE = UINT32_MAX };

/* With identity off, blocks are only counted: nothing can hit. */
struct block_pool {
    uint32_t n;      /* usable blocks, 0 ... n - 1 */
    uint32_t n_free; /* without a reference, cached ones included */
    bool identity;
    struct block_link *link; /* [n + 1], the last: head and tail of the free queue */
    uint32_t *bucket;        /* first block of a hash; BLOCK_NONE */
    uint32_t mask;
    uint64_t n_evicted;      /* hashed blocks taken for other content */
};

/* errors: out of memory; p is then as freed. */
int block_pool_init(struct block_pool *p, uint32_t n, bool identity, struct error *err);
void block_pool_free(struct block_pool *p);
/* Takes k <= n_free blocks from the head of the queue, each with one reference; without identity
 * out[k] is zeros and may be NULL. */
void block_pool_take(struct block_pool *p, uint32_t k, uint32_t *out);
/* The block that holds this hash, the oldest of equal ones; BLOCK_NONE. */
uint32_t block_pool_find(const struct block_pool *p, uint64_t hash);
bool block_pool_is_free(const struct block_pool *p, uint32_t b);
/* One more reference to a found block; a free one leaves the queue. */
void block_pool_share(struct block_pool *p, uint32_t b);
/* The content of a taken block is complete: it can be found from now on. hash != 0. */
void block_pool_hash(struct block_pool *p, uint32_t b, uint64_t hash);
/* Drops one reference of each, last to first, so that a chain's end is evicted before its root; without identity b may be NULL. */
void block_pool_release(struct block_pool *p, uint32_t k, const uint32_t *b);
/* For tests: free queue, references and hashes agree; else what does not. NULL: all well. */
const char *block_pool_broken(const struct block_pool *p);

#endif
