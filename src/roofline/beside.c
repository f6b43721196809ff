/* A stored profile as it would be now, by the probes of two of its roofs. methods.md (89) */
#include "roofline/internal.h"
#include "roofline/ask.h"
#include <math.h>
#include <string.h>

/* Attention by a row or a few computes longer than it reads: it follows the clock. */
static bool computes(const struct hwprofile *h, const struct ceiling *c)
{
    const struct ceiling *read = hwprofile_bandwidth(h, "DRAM", c->n_threads);
    return strcmp(c->op, "attention") == 0 && read && c->value < 0.7 * read->value;
}

/* Stored bytes a second that products of this type read from memory with as many threads; NaN: not measured. */
static double matvec_bytes_s(const struct hwprofile *h, const struct ceiling *like)
{
    for (size_t i = 0; i < h->n_ceiling; i++) {
        const struct ceiling *c = &h->ceiling[i];
        if (strcmp(c->kind, "kernel") == 0 && strcmp(c->op, "matvec") == 0 && strcmp(c->level, "DRAM") == 0 &&
            strcmp(c->dtype, like->dtype) == 0 && c->n_threads == like->n_threads)
            return c->value;
    }
    return NAN;
}

/* Which part of a product by a few tokens is memory's: it is near 1 where the rate is what one walk over the weights allows. */
static double memory_part(const struct hwprofile *h, const struct ceiling *c)
{
    const struct dtype_info *t = dtype_find_name(c->dtype);
    const double bytes_s = t ? matvec_bytes_s(h, c) : NAN;
    if (strcmp(c->op, "matmat") != 0 || !(bytes_s > 0) || !(c->n_tok > 0))
        return 0;
    const double most = 16 * c->n_tok * bytes_s / dtype_bits(t->id), part = fmin(1, c->value / most);
    return part * part * part * part;
}

static bool reads_memory(const struct ceiling *c)
{
    const bool kernel = strcmp(c->kind, "kernel") == 0, bandwidth = strcmp(c->kind, "bandwidth") == 0;
    return (kernel || bandwidth) && strcmp(c->level, "DRAM") == 0 && strcmp(c->unit, "B/s") == 0;
}

int profile_beside(struct hwprofile *copy, const struct hwprofile *h, double memory, double compute, struct error *err)
{
    const double m = memory > 0 ? memory : 1, k = compute > 0 ? compute : 1;
    if (whatif_profile(copy, h, err) != 0)
        return -1;
    for (size_t i = 0; i < copy->n_ceiling; i++) {
        struct ceiling *c = &copy->ceiling[i];
        if (reads_memory(c) && !computes(h, &h->ceiling[i]))
            c->value *= m;
        else if (strcmp(c->unit, "s") == 0)
            c->value /= strcmp(c->level, "DRAM") == 0 ? 1 : k;
        else {
            const double part = memory_part(h, &h->ceiling[i]);
            c->value *= pow(m, part) * pow(k, 1 - part);
        }
    }
    return 0;
}
