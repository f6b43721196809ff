/*
 * Gather of rows: memory traffic of embedding lookups or paged KV. Each thread visits the rows of its memory in random order, each once
 * before any repeats, so that no cache hits. Source: methods.md (75).
 */
#include "ceilings/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LIST = 1 << 16, ROW_OF_CEILING = 256 /* a head of 128 F16 elements */ };

struct gather {
    size_t row_bytes;
    int bits; /* table of 2^bits rows per thread */
    uint32_t *row;   /* [LIST + GATHER_AHEAD] per thread */
    uint64_t *state; /* generator state per thread, one cache line each */
    const struct gather_kernel *kernel[BENCHMARK_MAX_VARIANTS];
};
enum { STATE_GAP = 8 };

/* Full-period linear congruential generator (Hull and Dobell 1962: multiplier 1 mod 4, odd increment), high bits folded into the
 * low ones, which have short periods. */
uint32_t gather_next(uint64_t *state, int bits)
{
    const uint32_t mask = bits >= 32 ? UINT32_MAX : ((uint32_t)1 << bits) - 1;
    *state = *state * 2891336453 + 12345;
    const uint32_t x = (uint32_t)*state & mask;
    return x ^ x >> (bits / 2 + 1);
}

struct gathering {
    struct harness *m;
    struct gather *d;
    const struct gather_kernel *k;
    size_t n;
};

static void fill_list(void *arg, int tid, int n_threads)
{
    const struct gathering *g = arg;
    uint32_t *row = g->d->row + (size_t)tid * (LIST + GATHER_AHEAD);
    (void)n_threads;
    for (size_t i = 0; i < g->n + GATHER_AHEAD; i++)
        row[i] = gather_next(&g->d->state[tid * STATE_GAP], g->d->bits);
}

static void run_gather(void *arg, int tid)
{
    const struct gathering *g = arg;
    size_t bytes;
    g->k->run(harness_memory(g->m, tid, &bytes), g->d->row + (size_t)tid * (LIST + GATHER_AHEAD), g->n, g->d->row_bytes);
}

/* A repetition is 64 KiB of rows; index lists are filled untimed. */
static void sample(struct benchmark *j, struct harness *m, int variant, uint64_t n, struct sample *s)
{
    struct gather *d = j->data;
    struct gathering g = { m, d, d->kernel[variant], 0 };
    size_t left = (size_t)n * (65536 / d->row_bytes);
    double seconds = 0, rows = 0, clock_hz = 0;
    bool disturbed = false;
    m->warm = j;
    for (; left > 0; left -= g.n) {
        g.n = left < LIST ? left : LIST;
        team_run(m->team, fill_list, &g);
        harness_time(m, run_gather, &g, NULL, s);
        seconds += s->seconds;
        clock_hz += s->clock_hz * s->seconds;
        rows += (double)g.n * m->n;
        disturbed |= s->disturbed;
    }
    *s = (struct sample){ .value = NAN, .seconds = seconds, .clock_hz = clock_hz / seconds, .disturbed = disturbed };
    if (seconds > 0)
        s->value = rows * (double)d->row_bytes / seconds;
}

static int prepare(struct benchmark *j, struct harness *m, struct error *err)
{
    struct gather *d = j->data;
    const size_t list = (size_t)m->n * (LIST + GATHER_AHEAD) * sizeof *d->row;
    d->row = malloc(list);
    d->state = calloc((size_t)m->n * STATE_GAP, sizeof *d->state);
    if (!d->row || !d->state)
        return error_oom(err, list, "lists of rows");
    for (int i = 0; i < m->n; i++)
        d->state[i * STATE_GAP] = (uint64_t)i * 7919;
    return 0;
}

static void free_gather(struct benchmark *j)
{
    struct gather *d = j->data;
    free(d->row);
    free(d->state);
    free(d);
}

static int keep(const struct benchmark *j, const struct harness *m, struct ceiling *c, struct hwprofile *h, struct error *err)
{
    const struct gather *d = j->data;
    const struct gather_kernel *k = d->kernel[j->variant];
    const struct roof_texts texts = { .kind = "bandwidth", .op = "gather", .level = "DRAM", .unit = "B/s", .isa = k->isa };
    struct hw_curve head;
    roof_curve(&head, c, "row_bytes", "the faster of two for each row", &texts);
    snprintf(head.name, sizeof head.name, "gather DRAM %dt", m->n);
    head.n_threads = m->n;
    const struct hw_point p = { (double)d->row_bytes, c->value, c->ci_lo, c->ci_hi, c->n_samples };
    if (!isnan(c->value) && curves_add_point(h, &head, &p, err) != 0)
        return -1;
    if (d->row_bytes != ROW_OF_CEILING)
        return 0;
    snprintf(c->name, sizeof c->name, "gather DRAM %dt", m->n);
    roof_describe(c, &texts);
    c->footprint_bytes = (double)(d->row_bytes << d->bits);
    if (!isnan(c->value))
        snprintf(c->kernel, sizeof c->kernel, "%.26s, rows %d B%s", k->text, ROW_OF_CEILING, m->mem_small ? " <4 LLC" : "");
    return hwprofile_add_ceiling(h, c, err);
}

static const struct benchmark_class gather_class = { .prepare = prepare, .sample = sample, .keep = keep, .free = free_gather };

static bool wanted(const struct gather_kernel *k, unsigned cpu_flags)
{
    const struct gather_kernel *o;
    if (k->need)
        return (k->need & cpu_flags) == k->need;
    for (size_t i = 0; (o = gather_kernel_at(i)) != NULL; i++)
        if (o->need && (o->need & cpu_flags) == o->need)
            return false;
    return true;
}

static int add(struct benchmark_list *l, const struct harness *m, size_t row_bytes, unsigned cpu_flags, struct error *err)
{
    const struct gather_kernel *k;
    struct gather *d = calloc(1, sizeof *d);
    struct benchmark *j = d ? benchmark_add(l, &gather_class, err) : NULL;
    if (!j) {
        free(d);
        return d ? -1 : error_oom(err, sizeof *d, "a gather");
    }
    j->data = d;
    j->n_variant = 0;
    d->row_bytes = row_bytes;
    while (d->bits < 31 && (row_bytes << (d->bits + 1)) <= m->chunk_bytes)
        d->bits++;
    for (size_t i = 0; (k = gather_kernel_at(i)) != NULL && j->n_variant < BENCHMARK_MAX_VARIANTS; i++)
        if (wanted(k, cpu_flags))
            d->kernel[j->n_variant++] = k;
    snprintf(j->what, sizeof j->what, "gather rows of %zu B", row_bytes);
    j->weight = 1;
    return 0;
}

int gather_plan(struct benchmark_list *l, struct harness *m, const struct memory_effort *e, unsigned cpu_flags, struct error *err)
{
    const size_t step = e->all_curves ? 2 : 4;
    for (size_t row = 64; row <= 16384; row *= step)
        if ((!e->brief || row == ROW_OF_CEILING) && add(l, m, row, cpu_flags, err) != 0)
            return -1;
    return 0;
}
