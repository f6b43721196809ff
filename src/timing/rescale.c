/* Rescales a stored profile to probes of the present, and its own roofs to one mean machine speed. methods.md (82), (81), (79), (80),
 * (33) */
#include "timing/internal.h"
#include <math.h>
#include <string.h>

/* ---- copies ------------------------------------------------------------------------------------------------------------- */

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

/* ---- rates of kernels from a cache, and of loads alone -------------------------------------------------------------------- */

static bool in_memory(const struct ceiling *c)
{
    return strcmp(c->level, "DRAM") == 0;
}

static bool is_kernel(const struct ceiling *c, const char *op, const struct ceiling *like)
{
    return strcmp(c->kind, "kernel") == 0 && strcmp(c->op, op) == 0 && strcmp(c->dtype, like->dtype) == 0 &&
           c->n_threads == like->n_threads && c->value > 0;
}

/* Mean rate of the adjacent core probe (offset: of product_flop_s or tile_flop_s) over all roofs of so many threads: the profile's core
 * speed. NaN: not measured. */
static double product_rate_of(const struct hwprofile *h, int n_threads, size_t offset)
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
    return product_rate_of(h, n_threads, offsetof(struct ceiling, product_flop_s));
}

static double tile_moment(const struct hwprofile *h, int n_threads)
{
    return product_rate_of(h, n_threads, offsetof(struct ceiling, tile_flop_s));
}

/* Core speed relative to that at the samples of c, for cores k times as fast as the profile's mean. (80) */
static double core_ratio(const struct hwprofile *h, const struct ceiling *c, double k)
{
    const double moment = c->product_flop_s > 0 ? core_moment(h, c->n_threads) : NAN;
    return moment > 0 ? k * moment / c->product_flop_s : k;
}

/* The same of tiles, for a ceiling with an adjacent tile probe. */
static double tiles_ratio(const struct hwprofile *h, const struct ceiling *c, double tiles)
{
    return tiles * tile_moment(h, c->n_threads) / c->tile_flop_s;
}

/* FLOP/s of a rate or of an attention call, whose tokens each see one key more than the previous one. */
static double flop_s_of(const struct ceiling *c)
{
    const double keys = c->n_key - (c->n_query - 1) / 2.0;
    return strcmp(c->unit, "s") == 0 ? 4.0 * c->head_dim * c->n_tok * keys * c->n_threads / c->value : c->value;
}

/* Tile products take the tile probe's time for a part of their seconds, and follow core speed for the rest. */
static double arithmetic_ratio(const struct hwprofile *h, const struct ceiling *c, struct cores now)
{
    const double k = core_ratio(h, c, now.core);
    if (!(c->tile_flop_s > 0) || !(c->value > 0) || strcmp(c->unit, "B/s") == 0)
        return k;
    const double part = fmin(1, flop_s_of(c) / c->tile_flop_s);
    return 1 / (part / tiles_ratio(h, c, now.tiles) + (1 - part) / k);
}

/* The value of c at the core speed of the samples of `like`. (80) */
static double with_core_of(const struct hwprofile *h, const struct ceiling *c, const struct ceiling *like)
{
    return c->value * core_ratio(h, c, 1) / core_ratio(h, like, 1);
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

/* The product by one token of the same weights from memory; NULL: not measured. */
static const struct ceiling *matvec_of(const struct hwprofile *h, const struct ceiling *like)
{
    for (size_t i = 0; i < h->n_ceiling; i++)
        if (is_kernel(&h->ceiling[i], "matvec", like) && in_memory(&h->ceiling[i]))
            return &h->ceiling[i];
    return NULL;
}

/* Cached rate, in the unit of c, of the longest attention call timed with as many rows of one token. */
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

/* Bytes of keys and values per FLOP of a row, or 1 where the unit is bytes. */
static double bytes_a_unit(const struct ceiling *c)
{
    const struct dtype_info *t = dtype_find_name(c->dtype);
    return strcmp(c->unit, "B/s") == 0 || !t ? 1 : dtype_bits(t->id) / 16.0 / c->n_tok;
}

/* Load bandwidth of the memory that kernels use; else of memory, at the nearest number of threads: the profile's memory speed. NULL: not
 * measured. */
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

/* Load bandwidth of L3, whose latency limits like memory's; NaN: not measured by as many threads. */
static double l3_loads(const struct hwprofile *h, int n_threads)
{
    const struct ceiling *c = hwprofile_bandwidth(h, "L3", n_threads);
    return c && c->n_threads == n_threads && c->value > 0 ? c->value : NAN;
}

/* The same roof of one thread; NULL: not measured, or c is of one. */
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

/* Its multiple by threads: the rate without contention for memory; NaN: not measured. */
static double unshared(const struct hwprofile *h, const struct ceiling *c)
{
    const struct ceiling *one = one_thread(h, c);
    return one ? c->n_threads * with_core_of(h, one, c) : NAN;
}

/*
 * Rate of a kernel when memory is m times and cores are k times as fast. rate: from memory; cached: from a cache; loads: of loads alone.
 * Seconds are a p-norm of compute and memory, with p solved from the three rates (a sum where they do not overlap), capped at the rescaled
 * loads. (81)
 */
static double rescaled_rate(double rate, double cached, double loads, double m, double k)
{
    enum { STEPS = 40 };
    double lo = 1, hi = 32;
    if (!(cached > 0) || !(loads > 0))
        return rate * m;
    for (int i = 0; i < STEPS; i++) {
        const double p = (lo + hi) / 2;
        *(pow(rate / cached, p) + pow(rate / loads, p) > 1 ? &lo : &hi) = p;
    }
    /* Above 1: limited by cache and loads, the excess is noise. Below 1: no overlap. */
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

/* Memory speed relative to that at the samples of c, for memory m times as fast as the profile's. (79) */
static double memory_ratio(const struct hwprofile *h, const struct ceiling *c, double m)
{
    const double loads = loads_bytes_s(h, c->n_threads);
    return c->loads_bytes_s > 0 && loads > 0 ? m * loads / c->loads_bytes_s : m;
}

/* Plain loads adjacent to the samples of c, or of the whole profile. */
static double loads_of(const struct hwprofile *h, const struct ceiling *c)
{
    return c->loads_bytes_s > 0 ? c->loads_bytes_s : loads_bytes_s(h, c->n_threads);
}

/* Loads by as many threads adjacent to c; NaN: not measured. */
static double adjacent_loads(const struct hwprofile *h, const struct ceiling *c)
{
    const struct ceiling *l = loads_in(h, c->n_threads);
    return c->loads_bytes_s > 0 ? c->loads_bytes_s : l && l->n_threads == c->n_threads ? l->value : NAN;
}

/* Memory of n threads at two loads: the profile's, shared by them, and without contention. Rates between are log-linear. (81) */
struct moments {
    double enough; /* uncontended bandwidth over the profile's */
    double memory; /* exponent with which the rate follows memory */
};

/* most: largest part of its seconds that can be memory latency. False: one load only is known, or both are alike. */
static bool two_moments(const struct hwprofile *h, const struct ceiling *c, double most, struct moments *t)
{
    static const double clearly = 1.2;
    const struct ceiling *one = one_thread(h, c);
    t->enough = one ? c->n_threads * adjacent_loads(h, one) / adjacent_loads(h, c) : NAN;
    t->memory = fmin(most, fmax(0, log(unshared(h, c) / c->value) / log(t->enough)));
    return t->enough > clearly;
}

/* A kernel that scans memory. */
struct scan {
    double cached;       /* its rate from a cache; NaN: not measured */
    double bytes_a_unit; /* of memory, per unit of the rate */
    bool waits;          /* latency-bound threads */
};

/* Rescaled rate of c, capped by the cache and by the rescaled loads. */
static double scan_rescaled(const struct hwprofile *h, const struct ceiling *c, struct scan w, double m, double k)
{
    const double loads = loads_of(h, c) / w.bytes_a_unit, ratio = memory_ratio(h, c, m), bounded = fmin(w.cached, unshared(h, c));
    struct moments t;
    if (w.waits && ratio < 1)
        return rescaled_rate(c->value, bounded, loads, 1, k) * rescaled_rate(c->value, w.cached, loads, ratio, 1) / c->value;
    if (!(ratio > 1) || !two_moments(h, c, 1, &t))
        return rescaled_rate(c->value, bounded, loads, ratio, k);
    double rate = rescaled_rate(c->value, bounded, loads, 1, k) * pow(fmin(ratio, t.enough), t.memory);
    if (w.cached > 0 && ratio > t.enough)
        rate = rescaled_rate(rate, w.cached, t.enough * loads, ratio / t.enough, 1);
    if (w.cached > 0)
        rate = fmin(rate, fmax(k * w.cached, c->value));
    return fmin(rate, ratio * fmax(c->value, loads));
}

/* A product by one token from memory. */
static double matvec_rescaled(const struct hwprofile *h, const struct ceiling *c, double m, double k)
{
    return scan_rescaled(h, c, (struct scan){ .cached = cached_bytes_s(h, c), .bytes_a_unit = 1 }, m, k);
}

/* Seconds of one scan of its weights in memory, over those of a product; 0: unknown. */
static double scan_part(const struct hwprofile *h, const struct ceiling *c)
{
    const struct dtype_info *t = dtype_find_name(c->dtype);
    const struct ceiling *matvec = strcmp(c->op, "matmat") == 0 && in_memory(c) ? matvec_of(h, c) : NULL;
    if (!t || !matvec || !(c->n_tok > 0))
        return 0;
    const double then = c->loads_bytes_s > 0 && matvec->loads_bytes_s > 0 ? matvec_rescaled(h, matvec, 1 / memory_ratio(h, c, 1), 1) : matvec->value;
    return fmin(1, c->value / (16 * c->n_tok * then / dtype_bits(t->id)));
}

/* Exponent with which a product follows memory, from its scan_part. (82) */
static double memory_part(double scan)
{
    return scan * scan * scan * scan;
}

double kernel_memory_part(const struct hwprofile *h, const struct ceiling *c)
{
    return memory_part(scan_part(h, c));
}

/* Its rate for memory m times as fast as the profile's, and cores at `now`. */
static double rate_rescaled(const struct hwprofile *h, const struct ceiling *c, double m, struct cores now)
{
    const double k = core_ratio(h, c, now.core);
    const bool kernel = strcmp(c->kind, "kernel") == 0, bytes = strcmp(c->unit, "B/s") == 0;
    const double ratio = memory_ratio(h, c, m);
    if (kernel && in_memory(c) && strcmp(c->op, "matvec") == 0 && bytes)
        return matvec_rescaled(h, c, m, k);
    if (kernel && strcmp(c->level, "L3") == 0 && strcmp(c->op, "matvec") == 0 && bytes && l3_loads(h, c->n_threads) > 0)
        return rescaled_rate(c->value, fmin(cached_bytes_s(h, c), unshared(h, c)), l3_loads(h, c->n_threads), 1, k);
    if (kernel && in_memory(c) && strcmp(c->op, "attention") == 0 && c->n_tok > 0) {
        const struct scan w = { attention_cached(h, c), bytes_a_unit(c), true };
        return w.cached > 0 ? scan_rescaled(h, c, w, m, k) : c->value * k;
    }
    if (in_memory(c) && bytes)
        return c->value * ratio;
    const double scan = scan_part(h, c), part = memory_part(scan);
    const double at_once = c->value * pow(arithmetic_ratio(h, c, now), 1 - part);
    struct moments t;
    if (!(part > 0) || !(ratio > 1) || !two_moments(h, c, scan, &t))
        return at_once * pow(ratio, part);
    return at_once * pow(fmin(ratio, t.enough), t.memory) * pow(fmax(1, ratio / t.enough), part);
}

/* ---- coherence traffic (33) ------------------------------------------------------------------------------------ */

void profile_coherence_now(struct cores *to, const struct hwprofile *h, int n_threads, const double now[COHERENCE_COUNT])
{
    for (int i = 0; i < COHERENCE_COUNT; i++) {
        const struct ceiling *c = hwprofile_coherence(h, (enum coherence_kind)i, n_threads);
        to->coherence[i] = c && now[i] > 0 ? now[i] / c->value : 0;
    }
}

/* Rows written by other cores: bytes per element in a kernel's rate; 0: it reads none, or one thread. */
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

/* Rate of a kernel that reads rows of other cores, for cores k times as fast and coherence traffic as now: seconds per element change by
 * those of the row read alone. */
static double rows_rescaled(const struct hwprofile *h, const struct ceiling *c, double rate, struct cores now)
{
    const double bytes = row_elem_bytes(c), middle = sqrt((double)COHERENCE_SMALL_BATCH * COHERENCE_LARGE_BATCH);
    const enum coherence_kind what = c->n_tok < middle ? COHERENCE_READ_SMALL : COHERENCE_READ_LARGE;
    const struct ceiling *read = bytes > 0 && now.coherence[what] > 0 ? hwprofile_coherence(h, what, c->n_threads) : NULL;
    if (!read)
        return rate;
    const double k = core_ratio(h, read, now.core), faster = now.coherence[what] / k;
    const double element_s = bytes / rate + sizeof(float) / (k * read->value) * (1 / faster - 1);
    return bytes / fmax(element_s, bytes / rate / fmax(1, faster));
}

/* Kind of coherence traffic of c; COHERENCE_COUNT: another ceiling, or one thread. */
static enum coherence_kind coherence_of(const struct ceiling *c)
{
    int i = 0;
    while (i < COHERENCE_COUNT && (c->n_threads <= 1 || c->n_tok != coherence_tokens((enum coherence_kind)i) ||
                                  strcmp(c->op, coherence_op((enum coherence_kind)i)) != 0))
        i++;
    return (enum coherence_kind)i;
}

/* c rescaled: a rate, or seconds. */
static double value_rescaled(const struct hwprofile *h, const struct ceiling *c, double m, struct cores now)
{
    const enum coherence_kind what = coherence_of(c);
    if (what < COHERENCE_COUNT && now.coherence[what] > 0)
        return c->value * now.coherence[what];
    if (strcmp(c->unit, "s") == 0)
        return c->value / (in_memory(c) ? 1 : arithmetic_ratio(h, c, now));
    return rows_rescaled(h, c, rate_rescaled(h, c, m, now), now);
}

static const struct cores as_profiled = { 1, 1, { 0 } };

double kernel_at_once(const struct hwprofile *h, const struct ceiling *c)
{
    return (c->loads_bytes_s > 0 || c->product_flop_s > 0) && c->value > 0 ? value_rescaled(h, c, 1, as_profiled) : c->value;
}

int rescale_profile(struct hwprofile *copy, const struct hwprofile *h, double memory, struct cores cores, struct error *err)
{
    const double m = memory > 0 ? memory : 1;
    struct cores now = cores;
    now.core = cores.core > 0 ? cores.core : 1;
    now.tiles = cores.tiles > 0 ? cores.tiles : 1;
    if (whatif_profile(copy, h, err) != 0)
        return -1;
    for (size_t i = 0; i < copy->n_ceiling; i++) {
        struct ceiling *c = &copy->ceiling[i];
        c->loads_bytes_s *= memory_ratio(h, c, m); /* at one machine speed */
        c->product_flop_s *= core_ratio(h, &h->ceiling[i], now.core);
        if (c->tile_flop_s > 0)
            c->tile_flop_s *= tiles_ratio(h, &h->ceiling[i], now.tiles);
        c->value = value_rescaled(h, &h->ceiling[i], m, now);
    }
    return 0;
}
