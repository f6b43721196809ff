#include "serving/describe.h"
#include "serving/generate.h"
#include "serving/scheduler.h"
#include "serving/series.h"
#include <math.h>
#include <stdlib.h>

/* ---- an infinite prefix cache ----------------------------------------------------------------------------------------------- */

struct hashes {
    uint64_t *h; /* 0: empty */
    size_t mask, n;
};

static bool grow_hashes(struct hashes *s)
{
    struct hashes more = { .mask = s->h ? 2 * s->mask + 1 : 4095, .n = s->n };
    if (!(more.h = calloc(more.mask + 1, sizeof *more.h)))
        return false;
    for (size_t i = 0; s->h && i <= s->mask; i++) {
        if (s->h[i] == 0)
            continue;
        size_t k = s->h[i] >> 1 & more.mask; /* block_hashes sets the lowest bit */
        while (more.h[k] != 0)
            k = (k + 1) & more.mask;
        more.h[k] = s->h[i];
    }
    free(s->h);
    *s = more;
    return true;
}

/* *held: it was there already. False: out of memory. */
static bool put_hash(struct hashes *s, uint64_t h, bool *held)
{
    if (2 * (s->n + 1) > s->mask && !grow_hashes(s))
        return false;
    size_t k = h >> 1 & s->mask;
    while (s->h[k] != 0 && s->h[k] != h)
        k = (k + 1) & s->mask;
    *held = s->h[k] == h;
    s->n += !*held;
    s->h[k] = h;
    return true;
}

/* Prompt tokens of a request that earlier ones had: the full blocks at its start, without the last token. */
static int hit_tokens(struct hashes *s, const struct serve_workload *w, const struct serve_request *r, uint32_t block_size, uint32_t *n_hit,
                      struct error *err)
{
    uint32_t n = 0, n_held = 0;
    struct error why = { 0 };
    *n_hit = 0;
    uint64_t *hash = r->n_run > 0 ? block_hashes(w, r, block_size, &n, &why) : NULL;
    if (!hash && why.kind != ERROR_NONE)
        return error_set(err, why.kind, "%s", why.msg);
    bool ok = true;
    /* The last token of an output is never an input: its block is not computed whole. */
    const uint64_t computed = ((uint64_t)r->n_in + r->n_out - 1) / block_size;
    for (uint32_t i = 0; hash && ok && i < n && i < computed; i++) {
        bool held = false;
        ok = put_hash(s, hash[i], &held);
        n_held += held; /* hashes are chained: those held are the first ones */
    }
    free(hash);
    const uint32_t most = (r->n_in - 1) / block_size;
    *n_hit = (n_held < most ? n_held : most) * block_size;
    return ok ? 0 : error_oom(err, s->mask * 2 * sizeof *s->h, "an infinite prefix cache");
}

/* ---- figures ------------------------------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct describe_lengths lengths(double *x, size_t n)
{
    qsort(x, n, sizeof *x, ascending);
    return (struct describe_lengths){ stats_mean(x, n), series_quantile(x, n, 0.5), series_quantile(x, n, 0.9), series_quantile(x, n, 0.95),
                                      series_quantile(x, n, 0.99), x[n - 1] };
}

static void describe_arrivals(struct serve_workload_description *d, const struct serve_workload *w, double *x)
{
    uint64_t last_ps = 0;
    size_t n_gap = 0, n_think = 0;
    bool first = true;
    for (size_t i = 0; i < w->n; i++) {
        if (w->r[i].parent != SERVE_NO_PARENT)
            continue;
        if (!first)
            x[n_gap++] = (double)(w->r[i].after_ps - last_ps) / PS_PER_S;
        first = false;
        last_ps = w->r[i].after_ps;
        d->n_root++;
    }
    const double mean = n_gap > 0 ? stats_mean(x, n_gap) : 0;
    d->duration_s = (double)last_ps / PS_PER_S;
    d->rate_s = serve_workload_rate(w);
    d->gap_cv = n_gap > 1 && mean > 0 ? stats_sd(x, n_gap) / mean : NAN;
    d->burstiness = 1 / (d->gap_cv * d->gap_cv);
    d->turns = (double)d->n / (double)d->n_root;
    for (size_t i = 0; i < w->n; i++)
        if (w->r[i].parent != SERVE_NO_PARENT)
            x[n_think++] = (double)w->r[i].after_ps / PS_PER_S;
    d->think_p50_s = d->think_mean_s = NAN;
    if (n_think > 0) {
        const struct describe_lengths l = lengths(x, n_think);
        d->think_p50_s = l.p50;
        d->think_mean_s = l.mean;
    }
}

static int describe_fresh(struct serve_workload_description *d, const struct serve_workload *w, uint32_t block_size, double *x, struct error *err)
{
    struct hashes s = { 0 };
    double n_in = 0;
    int rc = 0;
    for (size_t i = 0; i < w->n && rc == 0; i++) {
        uint32_t n_hit;
        if (i % 4096 == 0 && (rc = interrupt_check(err)) != 0)
            break;
        rc = hit_tokens(&s, w, &w->r[i], block_size, &n_hit, err);
        x[i] = w->r[i].n_in - n_hit;
        n_in += w->r[i].n_in;
        d->hit_tok += n_hit;
    }
    free(s.h);
    if (rc == 0) {
        d->hit_share = d->hit_tok / n_in;
        d->fresh = lengths(x, w->n);
    }
    return rc;
}

int serve_workload_describe(struct serve_workload_description *d, const struct serve_workload *w, uint32_t block_size, struct error *err)
{
    *d = (struct serve_workload_description){ .n = w->n };
    if (block_size == 0)
        return error_set(err, ERROR_USAGE, "a block size of 0 tokens: expected at least 1");
    if (w->n == 0)
        return error_set(err, ERROR_INPUT, "%s: no requests", w->name);
    double *x = malloc(w->n * sizeof *x);
    if (!x)
        return error_oom(err, w->n * sizeof *x, "a description of a workload");
    for (size_t i = 0; i < w->n; i++)
        x[i] = w->r[i].n_in;
    d->in = lengths(x, w->n);
    for (size_t i = 0; i < w->n; i++)
        x[i] = w->r[i].n_out;
    d->out = lengths(x, w->n);
    describe_arrivals(d, w, x);
    const int rc = describe_fresh(d, w, block_size, x, err);
    free(x);
    return rc;
}
