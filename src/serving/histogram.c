#include "serving/histogram.h"
#include "serving/workload.h"
#include <math.h>
#include <stdlib.h>

enum { SUB_BITS = 10, SUB = 1 << SUB_BITS, LEAST_BITS = 10, MOST_BITS = 60, BINS = (MOST_BITS - LEAST_BITS + 1) * SUB };

int histogram_init(struct histogram *h, struct error *err)
{
    *h = (struct histogram){ .count = calloc(BINS, sizeof *h->count), .least_ps = UINT64_MAX };
    return h->count ? 0 : error_oom(err, BINS * sizeof *h->count, "a histogram");
}

void histogram_free(struct histogram *h)
{
    free(h->count);
    *h = (struct histogram){ 0 };
}

/* Values below 2^LEAST_BITS share the bins of their own value. */
static size_t bin_of(uint64_t ps)
{
    if (ps < SUB)
        return (size_t)ps;
    const int bits = 63 - __builtin_clzll(ps);
    if (bits >= MOST_BITS)
        return BINS - 1;
    return (size_t)(bits - LEAST_BITS + 1) * SUB + (size_t)((ps >> (bits - SUB_BITS)) & (SUB - 1));
}

static uint64_t bin_start(size_t bin)
{
    if (bin < SUB)
        return bin;
    const int bits = (int)(bin / SUB) - 1 + LEAST_BITS;
    return (UINT64_C(1) << bits) + ((uint64_t)(bin % SUB) << (bits - SUB_BITS));
}

static void note(struct histogram *h, uint64_t least_ps, uint64_t most_ps)
{
    h->least_ps = u64_min(h->least_ps, least_ps);
    h->most_ps = u64_max(h->most_ps, most_ps);
}

void histogram_add(struct histogram *h, uint64_t ps, uint64_t times)
{
    if (times == 0)
        return;
    h->count[bin_of(ps)] += times;
    h->n += times;
    h->sum_ps += (unsigned __int128)ps * times;
    note(h, ps, ps);
}

/* Samples first, first + by, ... that lie before bin `last`, in the bins of one width that begin with that of the first: each bin has
 * width / by samples, or one more, by how far its first one lies behind its start. Returns their number. */
static uint64_t add_to_octave(struct histogram *h, uint64_t first_ps, uint64_t by_ps, size_t last, uint64_t times)
{
    size_t bin = bin_of(first_ps);
    const size_t octave = (bin / SUB + 1) * SUB, end = last < octave ? last : octave;
    const uint64_t start = bin_start(bin), width = bin_start(bin + 1) - start, share = width / by_ps, rest = width % by_ps;
    uint64_t n = (start + width - first_ps - 1) / by_ps + 1, behind = first_ps + n * by_ps - start - width;
    h->count[bin] += n * times;
    while (++bin < end) {
        const bool more = behind < rest;
        h->count[bin] += (share + more) * times;
        n += share + more;
        behind += (more ? by_ps : 0) - rest;
    }
    return n;
}

void histogram_add_run(struct histogram *h, uint64_t first_ps, uint64_t by_ps, uint64_t n, uint64_t times)
{
    if (n == 0 || times == 0)
        return;
    const uint64_t last_ps = first_ps + (n - 1) * by_ps;
    const size_t last = bin_of(last_ps);
    uint64_t i = 0;
    while (bin_of(first_ps + i * by_ps) < last)
        i += add_to_octave(h, first_ps + i * by_ps, by_ps, last, times);
    h->count[last] += (n - i) * times;
    h->n += n * times;
    h->sum_ps += ((unsigned __int128)first_ps * n + (unsigned __int128)by_ps * (n * (n - 1) / 2)) * times;
    note(h, first_ps, last_ps);
}

/* The middle of a bin, within the extremes. */
static double middle_ps(const struct histogram *h, size_t bin)
{
    const uint64_t start = bin_start(bin), width = (bin + 1 < BINS ? bin_start(bin + 1) : h->most_ps) - start;
    return fmin(fmax((double)start + (double)(width - (width > 0)) / 2, (double)h->least_ps), (double)h->most_ps);
}

double histogram_quantile_s(const struct histogram *h, double q)
{
    if (h->n == 0)
        return NAN;
    const double at = q * (double)(h->n - 1);
    const uint64_t rank = (uint64_t)floor(at);
    uint64_t below = 0;
    size_t bin = 0;
    while ((below += h->count[bin]) <= rank)
        bin++;
    const double value = middle_ps(h, bin);
    if (below > rank + 1 || rank + 1 >= h->n)
        return value / PS_PER_S;
    while (h->count[++bin] == 0) /* that of the next sample */
        ;
    return (value + (at - (double)rank) * (middle_ps(h, bin) - value)) / PS_PER_S;
}

double histogram_mean_s(const struct histogram *h)
{
    return h->n > 0 ? (double)h->sum_ps / (double)h->n / PS_PER_S : NAN;
}

double histogram_sd_s(const struct histogram *h)
{
    const double mean = histogram_mean_s(h) * PS_PER_S;
    double ss = 0;
    for (size_t bin = 0; h->n > 0 && bin < BINS; bin++)
        if (h->count[bin] > 0)
            ss += (double)h->count[bin] * (middle_ps(h, bin) - mean) * (middle_ps(h, bin) - mean);
    return h->n > 0 ? sqrt(ss / (double)h->n) / PS_PER_S : NAN;
}

double histogram_share(const struct histogram *h, uint64_t ps)
{
    uint64_t n = 0;
    if (h->n == 0)
        return NAN;
    for (size_t bin = 0; bin <= bin_of(ps); bin++)
        n += h->count[bin];
    return (double)n / (double)h->n;
}
