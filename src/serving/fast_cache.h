/*
 * fast_cache.h: the KV blocks of a simulation by jumps: how many are free and which content is cached. Finds, evicts and counts what blocks.c
 * does, without an identity for each block. Three kinds of block:
 *
 *     blank    without content that can be found. Free ones precede all others in the free queue, so that they need only be counted.
 *     shared   content that several requests may have: an entry in a hash table for each block.
 *     own      content of one request alone: nothing looks it up while the request runs. When it is preempted or ends, its own blocks enter the
 *              queue as one entry, which is evicted from the end of the chain.
 */
#ifndef SERVING_FAST_CACHE_H
#define SERVING_FAST_CACHE_H

#include "serving/workload.h"

enum { CACHE_NONE = UINT32_MAX };

struct cache_entry {
    uint64_t hash;       /* of a shared block */
    uint32_t prev, next; /* free queue, where n_ref is 0; next: unused entries too */
    uint32_t chain;      /* next entry of the same bucket, a newer one first */
    uint32_t n_ref, n;   /* sequences that hold it; blocks */
    uint32_t owner;      /* request; CACHE_NONE: shared */
};

struct block_cache {
    uint32_t n, n_free, n_blank; /* blocks; free ones, blank ones among them */
    struct cache_entry *entry;   /* [n + 1], the last: head and tail of the free queue; NULL: no content, all blocks are blank */
    uint32_t n_used, unused;     /* entries ever used; list of those unused again */
    uint32_t *bucket, mask;
    uint64_t n_evicted;          /* blocks with content taken for other content */
};

int cache_init(struct block_cache *c, uint32_t n, bool content, struct error *err);
void cache_free(struct block_cache *c);
/* k <= n_free blocks, blank from now on; blank ones give way first, then the head of the queue. */
void cache_take(struct block_cache *c, uint32_t k);
void cache_release_blank(struct block_cache *c, uint32_t k);

/* ---- shared blocks ---- */

/* A taken block has this content, with one reference. */
uint32_t cache_add(struct block_cache *c, uint64_t hash);
/* The oldest block of that content; CACHE_NONE. */
uint32_t cache_find(const struct block_cache *c, uint64_t hash);
void cache_share(struct block_cache *c, uint32_t entry);
void cache_release(struct block_cache *c, uint32_t entry);

/* ---- own blocks ---- */

/* Releases k of them. Their entry; CACHE_NONE: k is 0. */
uint32_t cache_release_own(struct block_cache *c, uint32_t owner, uint32_t k);
/* Those not evicted since. */
uint32_t cache_own_left(const struct block_cache *c, uint32_t entry, uint32_t owner);
/* The owner holds those again. */
void cache_take_own(struct block_cache *c, uint32_t entry);

/* ---- which blocks are shared ---- */

/* Starts of runs of consecutive identities, by a hash of all identities up to them. */
struct run_starts {
    uint64_t *start; /* 0: empty; lowest bit: several requests have it */
    size_t mask;
};

int run_starts_init(struct run_starts *s, const struct serve_workload *w, struct error *err);
void run_starts_free(struct run_starts *s);
/* Tokens from which on no other request has the tokens of r; what stands before may be shared. */
uint64_t run_starts_shared(const struct run_starts *s, const struct serve_workload *w, const struct serve_request *r);

#endif
