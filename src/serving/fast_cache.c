#include "serving/fast_cache.h"
#include "serving/draw.h"
#include <stdlib.h>
#include <string.h>

int cache_init(struct block_cache *c, uint32_t n, bool content, struct error *err)
{
    *c = (struct block_cache){ .n = n, .n_free = n, .n_blank = n, .unused = CACHE_NONE };
    if (!content)
        return 0;
    uint32_t n_bucket = 16;
    while (n_bucket < n && n_bucket < (UINT32_C(1) << 31))
        n_bucket *= 2;
    c->mask = n_bucket - 1;
    c->entry = malloc(((size_t)n + 1) * sizeof *c->entry);
    c->bucket = malloc(n_bucket * sizeof *c->bucket);
    if (!c->entry || !c->bucket) {
        cache_free(c);
        return error_oom(err, n * sizeof *c->entry, "a cache of KV blocks");
    }
    memset(c->bucket, 0xff, n_bucket * sizeof *c->bucket); /* CACHE_NONE */
    c->entry[n] = (struct cache_entry){ .prev = n, .next = n };
    return 0;
}

void cache_free(struct block_cache *c)
{
    free(c->entry);
    free(c->bucket);
    *c = (struct block_cache){ 0 };
}

/* ---- entries ------------------------------------------------------------------------------------------------------ */

static uint32_t new_entry(struct block_cache *c)
{
    const uint32_t i = c->unused;
    if (i == CACHE_NONE)
        return c->n_used++;
    c->unused = c->entry[i].next;
    return i;
}

static void drop_entry(struct block_cache *c, uint32_t i)
{
    c->entry[i].owner = CACHE_NONE;
    c->entry[i].next = c->unused;
    c->unused = i;
}

static void append(struct block_cache *c, uint32_t i)
{
    const uint32_t tail = c->entry[c->n].prev;
    c->entry[i].prev = tail;
    c->entry[i].next = c->n;
    c->entry[tail].next = c->entry[c->n].prev = i;
    c->n_free += c->entry[i].n;
}

static void unlink_entry(struct block_cache *c, uint32_t i)
{
    c->entry[c->entry[i].prev].next = c->entry[i].next;
    c->entry[c->entry[i].next].prev = c->entry[i].prev;
}

static void forget(struct block_cache *c, uint32_t i)
{
    uint32_t *at = &c->bucket[c->entry[i].hash & c->mask];
    while (*at != i)
        at = &c->entry[*at].chain;
    *at = c->entry[i].chain;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------- */

/* Of the queue's head. */
static void evict(struct block_cache *c, uint32_t k)
{
    c->n_evicted += k;
    while (k > 0) {
        const uint32_t i = c->entry[c->n].next;
        struct cache_entry *e = &c->entry[i];
        if (e->n > k) {
            e->n -= k;
            return;
        }
        k -= e->n;
        unlink_entry(c, i);
        if (e->owner == CACHE_NONE)
            forget(c, i);
        drop_entry(c, i);
    }
}

void cache_take(struct block_cache *c, uint32_t k)
{
    const uint32_t blank = k < c->n_blank ? k : c->n_blank;
    c->n_free -= k;
    c->n_blank -= blank;
    if (k > blank)
        evict(c, k - blank);
}

void cache_release_blank(struct block_cache *c, uint32_t k)
{
    c->n_free += k;
    c->n_blank += k;
}

uint32_t cache_add(struct block_cache *c, uint64_t hash)
{
    const uint32_t i = new_entry(c);
    uint32_t *bucket = &c->bucket[hash & c->mask];
    c->entry[i] = (struct cache_entry){ .hash = hash, .chain = *bucket, .n_ref = 1, .n = 1, .owner = CACHE_NONE };
    *bucket = i;
    return i;
}

uint32_t cache_find(const struct block_cache *c, uint64_t hash)
{
    uint32_t found = CACHE_NONE;
    for (uint32_t i = c->bucket[hash & c->mask]; i != CACHE_NONE; i = c->entry[i].chain)
        if (c->entry[i].hash == hash)
            found = i;
    return found;
}

void cache_share(struct block_cache *c, uint32_t i)
{
    if (c->entry[i].n_ref++ > 0)
        return;
    unlink_entry(c, i);
    c->n_free--;
}

void cache_release(struct block_cache *c, uint32_t i)
{
    if (--c->entry[i].n_ref == 0)
        append(c, i);
}

uint32_t cache_release_own(struct block_cache *c, uint32_t owner, uint32_t k)
{
    if (k == 0)
        return CACHE_NONE;
    const uint32_t i = new_entry(c);
    c->entry[i] = (struct cache_entry){ .n = k, .owner = owner };
    append(c, i);
    return i;
}

uint32_t cache_own_left(const struct block_cache *c, uint32_t i, uint32_t owner)
{
    return i != CACHE_NONE && c->entry[i].owner == owner ? c->entry[i].n : 0;
}

void cache_take_own(struct block_cache *c, uint32_t i)
{
    c->n_free -= c->entry[i].n;
    unlink_entry(c, i);
    drop_entry(c, i);
}

/* ---- which blocks are shared ------------------------------------------------------------------------------------------ */

/*
 * Two requests that share tokens beyond the start of a run have the same starts of runs up to it, with the same identities before: a start that
 * one request alone has begins tokens that no other has. A run that continues the identities of the one before it is no start.
 */
struct run_walk {
    const struct token_run *run;
    uint32_t n, i;
    uint64_t hash, n_before; /* of the newest start: never 0, lowest bit clear; identities before it */
};

static bool next_start(struct run_walk *k)
{
    bool start = false;
    for (; k->i < k->n && !start; k->i++) {
        const struct token_run *run = &k->run[k->i];
        const uint64_t n = k->i > 0 ? run[-1].n : 0;
        k->n_before += n;
        start = k->i == 0 || run->first != run[-1].first + n;
        if (start)
            k->hash = (draw_mix(k->hash + run->first * UINT64_C(0x9e3779b97f4a7c15) + k->n_before) | 2) & ~UINT64_C(1);
    }
    return start;
}

static uint64_t *slot(const struct run_starts *s, uint64_t hash)
{
    size_t i = hash >> 2 & s->mask;
    while (s->start[i] != 0 && (s->start[i] & ~UINT64_C(1)) != hash)
        i = (i + 1) & s->mask;
    return &s->start[i];
}

int run_starts_init(struct run_starts *s, const struct serve_workload *w, struct error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        n += w->r[i].n_run;
    *s = (struct run_starts){ .mask = 15 };
    while (s->mask < 2 * n)
        s->mask = 2 * s->mask + 1;
    s->start = calloc(s->mask + 1, sizeof *s->start);
    if (!s->start)
        return error_oom(err, (s->mask + 1) * sizeof *s->start, "the identities of requests");
    for (size_t i = 0; i < w->n; i++) {
        struct run_walk k = { .run = &w->run[w->r[i].run0], .n = w->r[i].n_run };
        while (next_start(&k)) {
            uint64_t *at = slot(s, k.hash);
            *at = k.hash | (*at != 0);
        }
    }
    return 0;
}

void run_starts_free(struct run_starts *s)
{
    free(s->start);
    *s = (struct run_starts){ 0 };
}

uint64_t run_starts_shared(const struct run_starts *s, const struct serve_workload *w, const struct serve_request *r)
{
    struct run_walk k = { .run = &w->run[r->run0], .n = r->n_run };
    while (next_start(&k))
        if ((*slot(s, k.hash) & 1) == 0)
            return k.n_before * w->run_tokens;
    return (uint64_t)r->n_in + r->n_out;
}
