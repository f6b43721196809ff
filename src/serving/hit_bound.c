/* Prefix hits of a cache that never evicts: a set of the blocks' hashes. */
#include "serving/metrics.h"
#include "serving/scheduler.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct hash_set {
    uint64_t *slot; /* 0: empty; hashes are odd */
    size_t n, mask;
};

static bool set_grow(struct hash_set *s)
{
    const size_t cap = s->slot ? 2 * (s->mask + 1) : 1024;
    uint64_t *old = s->slot, *slot = calloc(cap, sizeof *slot);
    if (!slot)
        return false;
    for (size_t i = 0; old && i <= s->mask; i++) {
        size_t at = (size_t)old[i] >> 1 & (cap - 1);
        while (old[i] && slot[at])
            at = (at + 1) & (cap - 1);
        if (old[i])
            slot[at] = old[i];
    }
    free(old);
    s->slot = slot;
    s->mask = cap - 1;
    return true;
}

static size_t set_find(const struct hash_set *s, uint64_t h)
{
    size_t at = (size_t)h >> 1 & s->mask;
    while (s->slot[at] && s->slot[at] != h)
        at = (at + 1) & s->mask;
    return at;
}

/* Blocks found from the first on, at most `most`; all n are there afterwards. False: out of memory. */
static bool take(struct hash_set *s, const uint64_t *hash, uint32_t n, uint32_t most, uint32_t *found)
{
    *found = 0;
    while (*found < most && s->slot && s->slot[set_find(s, hash[*found])])
        ++*found;
    for (uint32_t i = *found; i < n; i++) {
        if ((!s->slot || 2 * (s->n + 1) > s->mask) && !set_grow(s))
            return false;
        const size_t at = set_find(s, hash[i]);
        s->n += s->slot[at] == 0;
        s->slot[at] = hash[i];
    }
    return true;
}

double serve_hit_bound(const struct workload *w, uint32_t block_size, struct error *err)
{
    struct hash_set s = { 0 };
    double hit = 0, all = 0;
    for (size_t i = 0; i < w->n; i++) {
        const struct serve_request *r = &w->r[i];
        uint32_t n = 0, found = 0;
        all += r->n_in;
        uint64_t *hash = r->n_run > 0 ? block_hashes(w, r, block_size, &n, err) : NULL;
        const uint32_t most = (r->n_in - 1) / block_size;
        if ((n > 0 && !hash) || !take(&s, hash, n, most < n ? most : n, &found)) {
            if (hash)
                (void)error_oom(err, (s.mask + 1) * sizeof *s.slot, "the blocks of a workload");
            free(hash);
            free(s.slot);
            return NAN;
        }
        free(hash);
        hit += (double)found * block_size;
    }
    free(s.slot);
    return hit / all;
}
