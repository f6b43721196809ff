/* LLC hit fraction of a working set that is read every pass. methods.md (32) */
#include "timing/roofs.h"
#include <math.h>
#include <string.h>

static const double noise = 0.1; /* of a hit fraction */

/* Plain loads against footprint by n_threads, or by the nearest smaller number measured; NULL: not measured. */
static const struct hw_curve *loads_of(const struct hwprofile *h, int n_threads)
{
    const struct hw_curve *best = NULL;
    for (size_t i = 0; i < h->n_curve; i++) {
        const struct hw_curve *c = &h->curve[i];
        if (strcmp(c->op, "read") == 0 && strcmp(c->x, "footprint_bytes") == 0 && c->n_threads <= n_threads &&
            (!best || c->n_threads > best->n_threads))
            best = c;
    }
    return best;
}

/* The last plateau that is clearly faster than memory, labelled with the last level or with none: a virtual machine sees the full size
 * of a cache that it shares, and a plateau there may be memory. NULL: none after those of the other caches. */
static const struct hw_plateau *cache_plateau(const struct hw_curve *c, const char *level, double memory)
{
    const double clearly = 1.1;
    const struct hw_plateau *found = NULL;
    for (size_t i = 0; i < c->n_plateau; i++) {
        const struct hw_plateau *p = &c->plateau[i];
        if (p->level[0] && strcmp(p->level, level) != 0)
            found = strcmp(p->level, "DRAM") == 0 ? found : NULL;
        else if (p->value > clearly * memory && p->to_x > 0)
            found = p;
    }
    return found;
}

static const struct hw_plateau *memory_plateau(const struct hw_curve *c)
{
    const struct hw_plateau *last = c->n_plateau ? &c->plateau[c->n_plateau - 1] : NULL;
    return last && strcmp(last->level, "DRAM") == 0 ? last : NULL;
}

/* Seconds per byte are the mean of cache and memory, weighted by the hit fraction. */
static double hit_fraction(double bytes_s, double cache_bytes_s, double memory_bytes_s)
{
    return fmin(1, fmax(0, (1 / bytes_s - 1 / memory_bytes_s) / (1 / cache_bytes_s - 1 / memory_bytes_s)));
}

/* Points from the last at the cache's rate to the first at memory's. Beyond twice the stated size the hit fraction is 0, whatever the
 * noise of memory; it never rises with the footprint. */
static void find_points(struct last_cache *l, const struct hw_curve *c, const struct hw_plateau *cache, double memory, double stated)
{
    double least = 1;
    for (size_t i = 0; i < c->n_point && least > 0 && l->n < LAST_CACHE_POINTS; i++) {
        const struct hw_point *p = &c->point[i];
        const double bytes = p->x * c->n_threads, hit = hit_fraction(p->value, cache->value, memory);
        if (p->x < cache->to_x || !(p->value > 0) || !(bytes > 0))
            continue;
        least = l->n == 0 ? 1 : bytes > 2 * stated || hit < noise ? 0 : fmin(least, hit);
        l->footprint[l->n] = bytes;
        l->hit[l->n++] = least;
    }
    if (l->n < 2)
        l->n = 0; /* the curve ends with the cache */
}

static double half_hit(const struct last_cache *l, double otherwise)
{
    for (size_t i = 1; i < l->n; i++)
        if (l->hit[i] <= 0.5)
            return l->footprint[i - 1] + (l->footprint[i] - l->footprint[i - 1]) * (l->hit[i - 1] - 0.5) / (l->hit[i - 1] - l->hit[i]);
    return otherwise;
}

int last_cache_init(struct last_cache *l, const struct hwprofile *h, int n_threads)
{
    char name[16];
    int level;
    *l = (struct last_cache){ .bytes = hwprofile_llc(h, &level), .bytes_s = NAN };
    snprintf(name, sizeof name, "L%d", level);
    const struct hw_curve *c = level ? loads_of(h, n_threads) : NULL;
    const struct hw_plateau *memory = c ? memory_plateau(c) : NULL, *cache = memory ? cache_plateau(c, name, memory->value) : NULL;
    if (cache)
        find_points(l, c, cache, memory->value, l->bytes);
    if (l->n > 0) {
        l->bytes_s = cache->value;
        l->bytes = fmin(l->bytes, half_hit(l, l->bytes));
    }
    return level;
}

double last_cache_hit(const struct last_cache *l, double bytes)
{
    size_t i = 0;
    if (!(bytes > 0))
        return 0;
    if (l->n == 0)
        return bytes <= l->bytes;
    while (i < l->n && l->footprint[i] < bytes)
        i++;
    if (i == 0)
        return 1;
    if (i == l->n)
        return 0;
    return l->hit[i - 1] + (l->hit[i] - l->hit[i - 1]) * (bytes - l->footprint[i - 1]) / (l->footprint[i] - l->footprint[i - 1]);
}

double last_cache_found(struct last_cache *l, double bytes, double bytes_s, double memory_bytes_s)
{
    const double first = l->footprint[0], last = l->footprint[l->n - 1];
    const double hit = bytes_s > memory_bytes_s && l->bytes_s > memory_bytes_s ? hit_fraction(bytes_s, l->bytes_s, memory_bytes_s) : 0;
    double as = last; /* the footprint with that hit fraction */
    if (fabs(hit - last_cache_hit(l, bytes)) <= noise)
        return last_cache_hit(l, bytes);
    for (size_t i = 1; i < l->n && as == last; i++)
        if (l->hit[i] <= hit && l->hit[i] < l->hit[i - 1])
            as = l->footprint[i] - (l->footprint[i] - l->footprint[i - 1]) * (hit - l->hit[i]) / (l->hit[i - 1] - l->hit[i]);
    if (hit > 1 - noise)
        as = first;
    l->bytes *= fmin(1, bytes / as);
    for (size_t i = 0; i < l->n; i++)
        l->footprint[i] *= bytes / as;
    if (as == last) {
        l->footprint[l->n - 1] = bytes;
        l->hit[l->n - 1] = fmin(l->hit[l->n - 1], hit);
    }
    return last_cache_hit(l, bytes);
}
