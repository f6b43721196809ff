/*
 * How many bytes to read so that they come from the level that is meant: from hwloc's cache sizes.
 * Source: methods.md (18).
 */
#include "ceilings/internal.h"
#include <math.h>

/* Largest instance of a cache level, and bytes of all its instances. */
static const struct hw_cache *find_cache(const struct hwprofile *h, int level)
{
    const struct hw_cache *best = NULL;
    for (size_t i = 0; i < h->n_cache; i++)
        if (h->cache[i].level == level && (!best || h->cache[i].size_bytes > best->size_bytes))
            best = &h->cache[i];
    return best;
}

static double last_level_bytes(const struct hwprofile *h)
{
    double bytes = 0;
    int level = 0;
    for (size_t i = 0; i < h->n_cache; i++) {
        const struct hw_cache *c = &h->cache[i];
        if (c->level > level)
            bytes = 0;
        if (c->level >= level) {
            level = c->level;
            bytes += c->size_bytes * c->n_instances;
        }
    }
    return bytes;
}

/* Bytes of an instance that one of n threads can call its own. The first threads sit on cores of
 * their own (cpulist_usable's order), neighbours first. */
static double cache_share(const struct hwprofile *h, const struct hw_cache *c, int n)
{
    int smt = h->n_cores > 0 && h->n_pus > h->n_cores ? h->n_pus / h->n_cores : 1;
    int cores = c->n_sharing / smt > 1 ? c->n_sharing / smt : 1;
    int sharers = n < cores ? n : cores;
    if (n > h->n_cores && h->n_cores > 0 && c->n_sharing > sharers)
        sharers = n < c->n_sharing ? n : c->n_sharing;
    return c->size_bytes / sharers;
}

size_t footprint_cache(const struct hwprofile *h, enum level level, int n)
{
    const struct hw_cache *c = find_cache(h, (int)level + 1);
    if (!c)
        return 0;
    double bytes = cache_share(h, c, n) / 2;
    const struct hw_cache *l2 = find_cache(h, 2);
    if (level == LEVEL_L3 && l2)
        bytes = sqrt(cache_share(h, l2, n) * cache_share(h, c, n));
    size_t b = (size_t)bytes / 4096 * 4096;
    return b ? b : 4096;
}

/* Bytes that may be taken without pushing others out; 0: unknown. */
static double available_bytes(void)
{
    char line[256];
    double kib = 0, limit = 0, used = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    if (f) {
        while (fgets(line, sizeof line, f))
            if (sscanf(line, "MemAvailable: %lf kB", &kib) == 1)
                break;
        fclose(f);
    }
    /* A container's limit, where there is one ("max" does not parse). */
    f = fopen("/sys/fs/cgroup/memory.max", "r");
    bool limited = f && fscanf(f, "%lf", &limit) == 1;
    if (f)
        fclose(f);
    f = limited ? fopen("/sys/fs/cgroup/memory.current", "r") : NULL;
    if (f && fscanf(f, "%lf", &used) == 1 && limit > used)
        limit -= used;
    if (f)
        fclose(f);
    double bytes = kib * 1024;
    return limited && (bytes <= 0 || limit < bytes) ? limit : bytes;
}

size_t footprint_dram(const struct hwprofile *h, enum ceilings_effort effort, bool *small)
{
    const double gib = 1073741824.0;
    double llc = last_level_bytes(h), free_bytes = available_bytes();
    double want = fmin(fmax(4 * llc, gib), 4 * gib);
    if (free_bytes > 0)
        want = fmin(want, free_bytes / 2);
    if (effort == CEILINGS_BRIEF)
        want = fmin(want, gib / 8);
    *small = want < 4 * llc;
    return (size_t)want;
}
