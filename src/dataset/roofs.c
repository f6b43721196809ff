/* Roofs of a machine, cached: they are large, and files have tens of thousands of rows. */
#include "dataset/workload_internal.h"
#include <math.h>
#include <stdlib.h>

struct machine_roofs {
    struct machine_roofs *next;
    int n_threads;
    struct roofs r;
};

struct roofs_cache {
    struct machine_roofs *first;
};

struct roofs_cache *roofs_cache_new(struct error *err)
{
    struct roofs_cache *k = calloc(1, sizeof *k);
    if (!k)
        error_oom(err, sizeof *k, "a machine's roofs");
    return k;
}

void roofs_cache_free(struct roofs_cache *k)
{
    if (!k)
        return;
    for (struct machine_roofs *x = k->first, *next; x; x = next) {
        next = x->next;
        roofs_free(&x->r);
        free(x);
    }
    free(k);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static struct machine_roofs *roofs_new(const struct machine *m, int n_threads, struct error *err)
{
    const struct predict_options o = { .weights_bytes = NAN, .n_threads = n_threads };
    struct machine_roofs *x = calloc(1, sizeof *x);
    if (!x) {
        error_oom(err, sizeof *x, "a machine's roofs");
        return NULL;
    }
    if (roofs_init(&x->r, &m->h, &o, err) != 0) {
        free(x);
        return NULL;
    }
    x->n_threads = n_threads;
    return x;
}

const struct roofs *machine_roofs(const struct machine *m, int n_threads, double link_bytes_s, double link_latency_s, struct error *err)
{
    struct machine_roofs *x = m->roofs->first;
    while (x && (x->n_threads != n_threads || !same(x->r.link_bytes_s, link_bytes_s) || !same(x->r.link_latency_s, link_latency_s)))
        x = x->next;
    if (x)
        return &x->r;
    if (!(x = roofs_new(m, n_threads, err)))
        return NULL;
    x->r.link_bytes_s = link_bytes_s;
    x->r.link_latency_s = link_latency_s;
    x->next = m->roofs->first;
    m->roofs->first = x;
    return &x->r;
}
