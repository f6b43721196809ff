/* A stored profile as it would be now, by the probes of some of its roofs; and its own roofs as they would all have been at one
 * moment. methods.md (82), (81), (79), (80), (33) */
#include "timing/internal.h"
#include <math.h>
#include <string.h>

/* ---- what a kernel that walks memory would reach from a cache, and memory with loads alone -------------------------------- */

int whatif_profile(struct hwprofile *copy, const struct hwprofile *h, struct error *err)
{
    *copy = *h;
    copy->ceiling = calloc(h->n_ceiling + 1, sizeof *copy->ceiling);
    copy->link = calloc(h->n_link + 1, sizeof *copy->link);
    if (!copy->ceiling || !copy->link) {
        whatif_profile_free(copy);
        return error_oom(err, h->n_ceiling * sizeof *copy->ceiling, "a profile");
    }
    for (size_t i = 0; i < h->n_ceiling; i++)
        copy->ceiling[i] = h->ceiling[i];
    for (size_t i = 0; i < h->n_link; i++)
        copy->link[i] = h->link[i];
    return 0;
}

void whatif_profile_free(struct hwprofile *copy)
{
    free(copy->ceiling);
    free(copy->link);
    copy->ceiling = NULL;
    copy->link = NULL;
    copy->n_ceiling = copy->n_link = 0;
}

static bool in_memory(const struct ceiling *c)
{
    return strcmp(c->level, "DRAM") == 0;
}

static bool is_kernel(const struct ceiling *c, const char *op, const struct ceiling *like)
{
    return strcmp(c->kind, "kernel") == 0 && strcmp(c->op, op) == 0 && strcmp(c->dtype, like->dtype) == 0 &&
           c->n_threads == like->n_threads && c->value > 0;
}

/* What the small product did on average (offset: of product_flop_s or tile_flop_s) while the roofs of so many threads were measured: the
 * moment that a profile is of. NaN: nobody looked. */
static double moment_of(const struct hwprofile *h, int n_threads, size_t offset)
{
    double sum = 0;
    int n = 0;
    for (size_t i = 0; i < h->n_ceiling; i++) {
        double rate;
        memcpy(&rate, (const char *)&h->ceiling[i] + offset, sizeof rate);
        if (h->ceiling[i].n_threads == n_threads && rate > 0) {
            sum += rate;
            n++;
        }
    }
    return n ? sum / n : NAN;
}

static double core_moment(const struct hwprofile *h, int n_threads)
{
    return moment_of(h, n_threads, offsetof(struct ceiling, product_flop_s));
}

static double tile_moment(const struct hwprofile *h, int n_threads)
{
    return moment_of(h, n_threads, offsetof(struct ceiling, tile_flop_s));
}

/* How much faster cores compute than they did beside the samples of c, when they compute k times as fast as in that moment. (80) */
static double core_beside(const struct hwprofile *h, const struct ceiling *c, double k)
{
    const double moment = c->product_flop_s > 0 ? core_moment(h, c->n_threads) : NAN;
    return moment > 0 ? k * moment / c->product_flop_s : k;
}

/* The same of tiles, of a ceiling beside whose samples somebody looked at them. */
static double tiles_beside(const struct hwprofile *h, const struct ceiling *c, double tiles)
{
    return tiles * tile_moment(h, c->n_threads) / c->tile_flop_s;
}

/* Of a rate, or of a call of attention: each of its tokens sees one key more than the one before. */
static double flop_s_of(const struct ceiling *c)
{
    const double keys = c->n_key - (c->n_query - 1) / 2.0;
    return strcmp(c->unit, "s") == 0 ? 4.0 * c->head_dim * c->n_tok * keys * c->n_threads / c->value : c->value;
}

/* What multiplies by tiles takes as long as the small product by tiles, for a part of its seconds, and is arithmetic as any for the rest. */
static double arithmetic_beside(const struct hwprofile *h, const struct ceiling *c, struct cores now)
{
    const double k = core_beside(h, c, now.core);
    if (!(c->tile_flop_s > 0) || !(c->value > 0) || strcmp(c->unit, "B/s") == 0)
        return k;
    const double part = fmin(1, flop_s_of(c) / c->tile_flop_s);
    return 1 / (part / tiles_beside(h, c, now.tiles) + (1 - part) / k);
}

/* What a roof of c would be on cores that differ from their average as those beside the samples of like do. (80) */
static double with_core_of(const struct hwprofile *h, const struct ceiling *c, const struct ceiling *like)
{
    return c->value * core_beside(h, c, 1) / core_beside(h, like, 1);
}

/* Stored bytes a second that products of this type read at most from a cache; NaN: not measured. */
static double cached_bytes_s(const struct hwprofile *h, const struct ceiling *like)
{
    double most = NAN;
    for (size_t i = 0; i < h->n_ceiling; i++)
        if (is_kernel(&h->ceiling[i], "matvec", like) && !in_memory(&h->ceiling[i]))
            most = fmax(most, with_core_of(h, &h->ceiling[i], like));
    return most;
}

/* The product by one token that reads the same weights from memory; NULL: not measured. */
static const struct ceiling *walk_of(const struct hwprofile *h, const struct ceiling *like)
{
    for (size_t i = 0; i < h->n_ceiling; i++)
        if (is_kernel(&h->ceiling[i], "matvec", like) && in_memory(&h->ceiling[i]))
            return &h->ceiling[i];
    return NULL;
}

/* The rate, in the unit of c, of the longest call of attention by as many rows of one token that was timed in a cache. */
static double attention_cached(const struct hwprofile *h, const struct ceiling *c)
{
    const struct dtype_info *t = dtype_find_name(c->dtype);
    const struct ceiling *best = NULL;
    for (size_t i = 0; i < h->n_ceiling; i++) {
        const struct ceiling *k = &h->ceiling[i];
        if (strcmp(k->kind, "latency") == 0 && strcmp(k->op, "attention") == 0 && strcmp(k->dtype, c->dtype) == 0 &&
            k->n_threads == c->n_threads && k->n_tok == c->n_tok && k->head_dim == c->head_dim && k->n_query == 1 && k->value > 0 &&
            !in_memory(k) && (!best || k->n_key > best->n_key))
            best = k;
    }
    if (!best || !t)
        return NAN;
    const double pairs = (double)best->n_tok * best->n_key * best->n_threads, elems = 2.0 * best->head_dim;
    return pairs * elems * (strcmp(c->unit, "B/s") == 0 ? dtype_bits(t->id) / 8 / best->n_tok : 2) / best->value *
           (with_core_of(h, best, c) / best->value);
}

/* Bytes of keys and values that a row's FLOP stand for, or 1 where the unit is bytes. */
static double bytes_a_unit(const struct ceiling *c)
{
    const struct dtype_info *t = dtype_find_name(c->dtype);
    return strcmp(c->unit, "B/s") == 0 || !t ? 1 : dtype_bits(t->id) / 16.0 / c->n_tok;
}

/* What loads alone get from the memory that the kernels walk; else from memory, by the nearest number of threads: the moment that a
 * profile is of. NULL: not measured. */
static const struct ceiling *loads_in(const struct hwprofile *h, int n_threads)
{
    const struct ceiling *c = hwprofile_ceiling(h, "kernel", "load", "F32", "DRAM", 1, n_threads);
    if (!c || c->n_threads != n_threads || !(c->value > 0))
        c = hwprofile_bandwidth(h, "DRAM", n_threads);
    return c && c->value > 0 ? c : NULL;
}

static double loads_bytes_s(const struct hwprofile *h, int n_threads)
{
    const struct ceiling *c = loads_in(h, n_threads);
    return c ? c->value : NAN;
}

/* What loads alone get from L3, which is waited for as memory is; NaN: not measured by as many threads. */
static double l3_loads(const struct hwprofile *h, int n_threads)
{
    const struct ceiling *c = hwprofile_bandwidth(h, "L3", n_threads);
    return c && c->n_threads == n_threads && c->value > 0 ? c->value : NAN;
}

/* The same roof of one thread; NULL: not measured, or it is of one. */
static const struct ceiling *one_thread(const struct hwprofile *h, const struct ceiling *c)
{
    for (size_t i = 0; c->n_threads > 1 && i < h->n_ceiling; i++) {
        const struct ceiling *one = &h->ceiling[i];
        if (one->n_threads == 1 && one->value > 0 && strcmp(one->kind, c->kind) == 0 && strcmp(one->op, c->op) == 0 &&
            strcmp(one->dtype, c->dtype) == 0 && strcmp(one->level, c->level) == 0 && one->n_tok == c->n_tok &&
            one->head_dim == c->head_dim)
            return one;
    }
    return NULL;
}

/* That times the threads: what they reach while memory has enough for each; NaN: not measured. */
static double unshared(const struct hwprofile *h, const struct ceiling *c)
{
    const struct ceiling *one = one_thread(h, c);
    return one ? c->n_threads * with_core_of(h, one, c) : NAN;
}

/*
 * A kernel that reaches rate from memory, cached from a cache and of which loads alone would allow `loads`, when memory gives m
 * times as much and the core computes k times as fast: seconds are a p-norm of those of either, p as the three numbers have it,
 * and a sum where it waits longer than for one after the other; never faster than loads are then. (81)
 */
static double walked_rate(double rate, double cached, double loads, double m, double k)
{
    enum { STEPS = 40 };
    double lo = 1, hi = 32;
    if (!(cached > 0) || !(loads > 0))
        return rate * m;
    for (int i = 0; i < STEPS; i++) {
        const double p = (lo + hi) / 2;
        *(pow(rate / cached, p) + pow(rate / loads, p) > 1 ? &lo : &hi) = p;
    }
    /* More than 1 together: it is as fast as the cache and the loads allow, and noise beyond. Less: it waits longer than for one after the other. */
    const double a = pow(rate / cached, lo), computes = a / fmax(1, a + pow(rate / loads, lo));
    return fmin(rate * pow(computes * pow(k, -lo) + (1 - computes) * pow(m, -lo), -1 / lo), m * fmax(rate, loads));
}

/* ---- the profile ----------------------------------------------------------------------------------------------- */

struct cores profile_cores_now(const struct hwprofile *h, int n_threads, double product_flop_s, double tile_flop_s)
{
    const struct ceiling *peak = hwprofile_peak(h, MATH_FP32, n_threads);
    const int n = peak ? peak->n_threads : n_threads;
    const double each = (double)n / n_threads;
    return (struct cores){ product_flop_s * each / core_moment(h, n), tile_flop_s * each / tile_moment(h, n), { 0 } };
}

/* How much more memory gives than it gave beside the samples of c, when it gives m times what the profile has of it. (79) */
static double memory_beside(const struct hwprofile *h, const struct ceiling *c, double m)
{
    const double loads = loads_bytes_s(h, c->n_threads);
    return c->loads_bytes_s > 0 && loads > 0 ? m * loads / c->loads_bytes_s : m;
}

/* Plain loads while c was measured: beside its samples, or of the whole profile. */
static double loads_of(const struct hwprofile *h, const struct ceiling *c)
{
    return c->loads_bytes_s > 0 ? c->loads_bytes_s : loads_bytes_s(h, c->n_threads);
}

/* What loads by as many threads gave while c was measured; NaN: nobody looked. */
static double loads_then(const struct hwprofile *h, const struct ceiling *c)
{
    const struct ceiling *l = loads_in(h, c->n_threads);
    return c->loads_bytes_s > 0 ? c->loads_bytes_s : l && l->n_threads == c->n_threads ? l->value : NAN;
}

/* Two moments of n threads' memory: the profile's, which they shared, and that in which each has enough, as if it were alone. Between
 * them a rate is on a line in logarithms. (81) */
struct moments {
    double enough; /* times the memory of the profile's */
    double memory; /* exponent with which the rate follows memory */
};

/* most: the part of its seconds in which c can have waited. False: the profile knows one moment alone, or both are much the same. */
static bool two_moments(const struct hwprofile *h, const struct ceiling *c, double most, struct moments *t)
{
    static const double clearly = 1.2;
    const struct ceiling *one = one_thread(h, c);
    t->enough = one ? c->n_threads * loads_then(h, one) / loads_then(h, c) : NAN;
    t->memory = fmin(most, fmax(0, log(unshared(h, c) / c->value) / log(t->enough)));
    return t->enough > clearly;
}

/* A kernel that walks memory. */
struct walk {
    double cached;       /* its rate from a cache; NaN: not measured */
    double bytes_a_unit; /* of memory, that a unit of the rate takes */
    bool waits;          /* its threads wait for memory by themselves, more than for their shares of it */
};

/* Never faster than the cache allows, nor than loads are then. */
static double walk_beside(const struct hwprofile *h, const struct ceiling *c, struct walk w, double m, double k)
{
    const double loads = loads_of(h, c) / w.bytes_a_unit, beside = memory_beside(h, c, m), bounded = fmin(w.cached, unshared(h, c));
    struct moments t;
    if (w.waits && beside < 1)
        return walked_rate(c->value, bounded, loads, 1, k) * walked_rate(c->value, w.cached, loads, beside, 1) / c->value;
    if (!(beside > 1) || !two_moments(h, c, 1, &t))
        return walked_rate(c->value, bounded, loads, beside, k);
    double rate = walked_rate(c->value, bounded, loads, 1, k) * pow(fmin(beside, t.enough), t.memory);
    if (w.cached > 0 && beside > t.enough)
        rate = walked_rate(rate, w.cached, t.enough * loads, beside / t.enough, 1);
    if (w.cached > 0)
        rate = fmin(rate, fmax(k * w.cached, c->value));
    return fmin(rate, beside * fmax(c->value, loads));
}

/* A product by one token from memory. */
static double matvec_beside(const struct hwprofile *h, const struct ceiling *c, double m, double k)
{
    return walk_beside(h, c, (struct walk){ .cached = cached_bytes_s(h, c), .bytes_a_unit = 1 }, m, k);
}

/* Seconds of one walk over its weights in memory, over those of a product; 0: not known. */
static double walked_part(const struct hwprofile *h, const struct ceiling *c)
{
    const struct dtype_info *t = dtype_find_name(c->dtype);
    const struct ceiling *walk = strcmp(c->op, "matmat") == 0 && in_memory(c) ? walk_of(h, c) : NULL;
    if (!t || !walk || !(c->n_tok > 0))
        return 0;
    const double then = c->loads_bytes_s > 0 && walk->loads_bytes_s > 0 ? matvec_beside(h, walk, 1 / memory_beside(h, c, 1), 1) : walk->value;
    return fmin(1, c->value / (16 * c->n_tok * then / dtype_bits(t->id)));
}

/* How much of a product's logarithm is memory's, of which walked_part is the walk. (82) */
static double memory_part(double walked)
{
    return walked * walked * walked * walked;
}

double kernel_memory_part(const struct hwprofile *h, const struct ceiling *c)
{
    return memory_part(walked_part(h, c));
}

/* Its rate when memory gives m times what the profile has of it, and cores what they give now over the profile's moment. */
static double rate_beside(const struct hwprofile *h, const struct ceiling *c, double m, struct cores now)
{
    const double k = core_beside(h, c, now.core);
    const bool kernel = strcmp(c->kind, "kernel") == 0, bytes = strcmp(c->unit, "B/s") == 0;
    const double beside = memory_beside(h, c, m);
    if (kernel && in_memory(c) && strcmp(c->op, "matvec") == 0 && bytes)
        return matvec_beside(h, c, m, k);
    if (kernel && strcmp(c->level, "L3") == 0 && strcmp(c->op, "matvec") == 0 && bytes && l3_loads(h, c->n_threads) > 0)
        return walked_rate(c->value, fmin(cached_bytes_s(h, c), unshared(h, c)), l3_loads(h, c->n_threads), 1, k);
    if (kernel && in_memory(c) && strcmp(c->op, "attention") == 0 && c->n_tok > 0) {
        const struct walk w = { attention_cached(h, c), bytes_a_unit(c), true };
        return w.cached > 0 ? walk_beside(h, c, w, m, k) : c->value * k;
    }
    if (in_memory(c) && bytes)
        return c->value * beside;
    const double walked = walked_part(h, c), part = memory_part(walked);
    const double at_once = c->value * pow(arithmetic_beside(h, c, now), 1 - part);
    struct moments t;
    if (!(part > 0) || !(beside > 1) || !two_moments(h, c, walked, &t))
        return at_once * pow(beside, part);
    return at_once * pow(fmin(beside, t.enough), t.memory) * pow(fmax(1, beside / t.enough), part);
}

/* ---- what cores exchange (33) ------------------------------------------------------------------------------------ */

void profile_exchange_now(struct cores *to, const struct hwprofile *h, int n_threads, const double now[COHERENCE_COUNT])
{
    for (int i = 0; i < COHERENCE_COUNT; i++) {
        const struct ceiling *c = hwprofile_coherence(h, (enum coherence_kind)i, n_threads);
        to->exchange[i] = c && now[i] > 0 ? now[i] / c->value : 0;
    }
}

/* Of rows that others wrote: bytes that a kernel's rate counts of an element; 0: it reads none, or of one thread. */
static double row_elem_bytes(const struct ceiling *c)
{
    static const struct {
        const char *op;
        double bytes;
    } row[] = { { "quantize", 4 }, { "prepare", 4 }, { "kvstore", 4 }, { "rmsnorm", 8 }, { "rope", 8 } };
    for (size_t i = 0; i < ARRAY_LEN(row); i++)
        if (c->n_tok > 1 && c->n_threads > 1 && c->level[0] == 0 && strcmp(c->kind, "kernel") == 0 && strcmp(c->op, row[i].op) == 0)
            return row[i].bytes;
    return 0;
}

/* A rate of cores that are k times as fast, when they pass rows on as they do now: an element takes so much longer as it does of rows that
 * are read alone, which such cores had read k times as fast, too. */
static double rows_beside(const struct hwprofile *h, const struct ceiling *c, double rate, struct cores now)
{
    const double bytes = row_elem_bytes(c), middle = sqrt((double)COHERENCE_SMALL_BATCH * COHERENCE_LARGE_BATCH);
    const enum coherence_kind what = c->n_tok < middle ? COHERENCE_READ_SMALL : COHERENCE_READ_LARGE;
    const struct ceiling *read = bytes > 0 && now.exchange[what] > 0 ? hwprofile_coherence(h, what, c->n_threads) : NULL;
    if (!read)
        return rate;
    const double k = core_beside(h, read, now.core), faster = now.exchange[what] / k;
    const double element_s = bytes / rate + sizeof(float) / (k * read->value) * (1 / faster - 1);
    return bytes / fmax(element_s, bytes / rate / fmax(1, faster));
}

/* What c is of; COHERENCE_COUNT: something else, or of one thread. */
static enum coherence_kind exchange_of(const struct ceiling *c)
{
    int i = 0;
    while (i < COHERENCE_COUNT && (c->n_threads <= 1 || c->n_tok != coherence_tokens((enum coherence_kind)i) ||
                                  strcmp(c->op, coherence_op((enum coherence_kind)i)) != 0))
        i++;
    return (enum coherence_kind)i;
}

/* What c would be then: a rate, or seconds. */
static double value_beside(const struct hwprofile *h, const struct ceiling *c, double m, struct cores now)
{
    const enum coherence_kind what = exchange_of(c);
    if (what < COHERENCE_COUNT && now.exchange[what] > 0)
        return c->value * now.exchange[what];
    if (strcmp(c->unit, "s") == 0)
        return c->value / (in_memory(c) ? 1 : arithmetic_beside(h, c, now));
    return rows_beside(h, c, rate_beside(h, c, m, now), now);
}

static const struct cores as_profiled = { 1, 1, { 0 } };

double kernel_at_once(const struct hwprofile *h, const struct ceiling *c)
{
    return (c->loads_bytes_s > 0 || c->product_flop_s > 0) && c->value > 0 ? value_beside(h, c, 1, as_profiled) : c->value;
}

int profile_beside(struct hwprofile *copy, const struct hwprofile *h, double memory, struct cores cores, struct error *err)
{
    const double m = memory > 0 ? memory : 1;
    struct cores now = cores;
    now.core = cores.core > 0 ? cores.core : 1;
    now.tiles = cores.tiles > 0 ? cores.tiles : 1;
    if (whatif_profile(copy, h, err) != 0)
        return -1;
    for (size_t i = 0; i < copy->n_ceiling; i++) {
        struct ceiling *c = &copy->ceiling[i];
        c->loads_bytes_s *= memory_beside(h, c, m); /* as of one moment */
        c->product_flop_s *= core_beside(h, &h->ceiling[i], now.core);
        if (c->tile_flop_s > 0)
            c->tile_flop_s *= tiles_beside(h, &h->ceiling[i], now.tiles);
        c->value = value_beside(h, &h->ceiling[i], m, now);
    }
    return 0;
}
