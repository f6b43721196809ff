#include "serving/blocks.h"
#include <stdlib.h>

struct block_link {
    uint64_t hash;      /* 0: none */
    uint32_t prev, next; /* free queue */
    uint32_t ref;
    uint32_t chain;     /* next block of the same bucket */
};

static void insert_between(struct block_pool *p, uint32_t b, uint32_t before, uint32_t after)
{
    p->link[b].prev = before;
    p->link[b].next = after;
    p->link[before].next = b;
    p->link[after].prev = b;
    p->n_free++;
}

static void unlink_free(struct block_pool *p, uint32_t b)
{
    p->link[p->link[b].prev].next = p->link[b].next;
    p->link[p->link[b].next].prev = p->link[b].prev;
    p->n_free--;
}

int block_pool_init(struct block_pool *p, uint32_t n, bool identity, struct error *err)
{
    *p = (struct block_pool){ .n = n, .n_free = n, .identity = identity };
    if (!identity)
        return 0;
    uint32_t n_bucket = 16;
    while (n_bucket < n && n_bucket < (UINT32_C(1) << 31))
        n_bucket *= 2;
    p->mask = n_bucket - 1;
    p->link = calloc((size_t)n + 1, sizeof *p->link);
    p->bucket = malloc(n_bucket * sizeof *p->bucket);
    if (!p->link || !p->bucket) {
        block_pool_free(p);
        return error_oom(err, n * sizeof *p->link, "a pool of KV blocks");
    }
    for (uint32_t i = 0; i < n_bucket; i++)
        p->bucket[i] = BLOCK_NONE;
    p->link[n] = (struct block_link){ .prev = n, .next = n };
    p->n_free = 0;
    for (uint32_t b = 0; b < n; b++)
        insert_between(p, b, p->link[n].prev, n);
    return 0;
}

void block_pool_free(struct block_pool *p)
{
    free(p->link);
    free(p->bucket);
    *p = (struct block_pool){ 0 };
}

static void forget(struct block_pool *p, uint32_t b)
{
    uint32_t *at = &p->bucket[p->link[b].hash & p->mask];
    while (*at != b)
        at = &p->link[*at].chain;
    *at = p->link[b].chain;
    p->link[b].hash = 0;
    p->n_evicted++;
}

void block_pool_take(struct block_pool *p, uint32_t k, uint32_t *out)
{
    if (!p->identity) {
        p->n_free -= k;
        for (uint32_t i = 0; out && i < k; i++)
            out[i] = 0;
        return;
    }
    uint32_t b = p->link[p->n].next;
    for (uint32_t i = 0; i < k; i++) {
        if (p->link[b].hash != 0)
            forget(p, b);
        p->link[b].ref = 1;
        out[i] = b;
        b = p->link[b].next;
    }
    p->link[p->n].next = b;
    p->link[b].prev = p->n;
    p->n_free -= k;
}

uint32_t block_pool_find(const struct block_pool *p, uint64_t hash)
{
    uint32_t found = BLOCK_NONE;
    if (p->identity)
        for (uint32_t b = p->bucket[hash & p->mask]; b != BLOCK_NONE; b = p->link[b].chain)
            if (p->link[b].hash == hash)
                found = b; /* newer ones stand first */
    return found;
}

bool block_pool_is_free(const struct block_pool *p, uint32_t b)
{
    return p->link[b].ref == 0;
}

void block_pool_share(struct block_pool *p, uint32_t b)
{
    if (p->link[b].ref++ == 0)
        unlink_free(p, b);
}

void block_pool_hash(struct block_pool *p, uint32_t b, uint64_t hash)
{
    if (!p->identity)
        return;
    p->link[b].hash = hash;
    p->link[b].chain = p->bucket[hash & p->mask];
    p->bucket[hash & p->mask] = b;
}

void block_pool_release(struct block_pool *p, uint32_t k, const uint32_t *b)
{
    if (!p->identity) {
        p->n_free += k;
        return;
    }
    uint32_t tail = p->link[p->n].prev; /* of the queue so far: the sentinel follows at the end */
    for (uint32_t i = k; i-- > 0;) {
        struct block_link *l = &p->link[b[i]];
        if (--l->ref > 0)
            continue;
        if (l->hash == 0) {
            insert_between(p, b[i], p->n, p->link[p->n].next);
            tail = tail == p->n ? b[i] : tail;
            continue;
        }
        l->prev = tail;
        p->link[tail].next = b[i];
        tail = b[i];
        p->n_free++;
    }
    p->link[tail].next = p->n;
    p->link[p->n].prev = tail;
}

const char *block_pool_broken(const struct block_pool *p)
{
    if (!p->identity)
        return p->n_free > p->n ? "more free blocks than blocks" : NULL;
    uint32_t n_queue = 0, n_unreferenced = 0;
    for (uint32_t b = p->link[p->n].next; b != p->n && n_queue <= p->n; b = p->link[b].next, n_queue++)
        if (p->link[b].ref != 0)
            return "a referenced block in the free queue";
    for (uint32_t b = 0; b < p->n; b++) {
        n_unreferenced += p->link[b].ref == 0;
        if (p->link[b].hash != 0 && block_pool_find(p, p->link[b].hash) == BLOCK_NONE)
            return "a hashed block that cannot be found";
    }
    return n_queue != p->n_free ? "the free queue and its length differ" : n_unreferenced != n_queue ? "a block is lost" : NULL;
}
