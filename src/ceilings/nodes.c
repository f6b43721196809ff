/* NUMA: bandwidth and latency from each node's CPUs to each node's memory. Source: methods.md (75), (77). */
#include "ceilings/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PAIRS = 256 };

static int node_of(const struct cpu_topology *p, int cpu)
{
    return cpu >= 0 && (size_t)cpu < p->n_of_cpu && p->of_cpu[cpu] >= 0 ? p->thread[p->of_cpu[cpu]].node : -1;
}

size_t nodes_pairs(const struct cpu_topology *p, const int *cpu, int n, struct node_pair *pair, size_t max)
{
    size_t found = 0;
    for (size_t i = 0; i < p->n_node && p->n_node > 1; i++) {
        int n_threads = 0;
        for (int t = 0; t < n; t++)
            n_threads += node_of(p, cpu[t]) == p->node[i].node;
        for (size_t k = 0; k < p->n_node && n_threads > 0; k++)
            if (p->node[k].bytes > 0 && found < max)
                pair[found++] = (struct node_pair){ (int)i, (int)k, n_threads };
    }
    return found;
}

/* "local 0", "remote 0-1" */
static void pair_text(char *buf, size_t size, const struct cpu_topology *p, const struct node_pair *pair)
{
    const int a = p->node[pair->cpu_node].os_index, b = p->node[pair->mem_node].os_index;
    if (pair->cpu_node == pair->mem_node)
        snprintf(buf, size, "local %d", a);
    else
        snprintf(buf, size, "remote %d-%d", a, b);
}

/* ---- bandwidth ------------------------------------------------------------------------------------------ */

struct node_read {
    struct node_pair pair;
    char node[24];
    int os_index;      /* of the memory */
    size_t bytes;      /* per thread */
    struct pages pages;
    const struct benchmark *like;
};

struct reading {
    struct harness *m;
    struct node_read *d;
    const struct mem_kernel *k;
    uint64_t n;
};

/* Rank of a thread among those of cpu_node; -1: on another node. */
static int rank_on_node(const struct harness *m, const struct node_pair *pair, int tid)
{
    const int node = m->topology.node[pair->cpu_node].node;
    int rank = 0;
    if (node_of(&m->topology, m->cpu[tid]) != node)
        return -1;
    for (int i = 0; i < tid; i++)
        rank += node_of(&m->topology, m->cpu[i]) == node;
    return rank;
}

static void touch_part(void *arg, int tid, int n_threads)
{
    const struct reading *r = arg;
    const int rank = rank_on_node(r->m, &r->d->pair, tid);
    (void)n_threads;
    if (rank >= 0)
        pages_touch(&r->d->pages, (size_t)rank * r->d->bytes, r->d->bytes);
}

static void read_part(void *arg, int tid)
{
    const struct reading *r = arg;
    const int rank = rank_on_node(r->m, &r->d->pair, tid);
    if (rank >= 0)
        mem_run(r->k, MEM_READ, r->d->pages.mem + (size_t)rank * r->d->bytes, r->d->bytes, r->n);
}

static int prepare_read(struct benchmark *j, struct harness *m, struct error *err)
{
    struct node_read *d = j->data;
    struct reading r = { m, d, NULL, 0 };
    if (pages_map(&d->pages, d->bytes * (size_t)d->pair.n_threads, PAGES_DEFAULT, err) != 0 ||
        pages_bind(&d->pages, d->os_index, err) != 0)
        return -1;
    team_run(m->team, touch_part, &r);
    return interrupt_check(err);
}

static void sample_read(struct benchmark *j, struct harness *m, int variant, uint64_t n, struct sample *s)
{
    struct node_read *d = j->data;
    const struct mem_kernel *k = streams_kernel(d->like, d->like->variant);
    struct reading r = { m, d, k, n };
    (void)variant;
    if (!k)
        return;
    m->warm = j;
    harness_time(m, read_part, &r, NULL, s);
    s->value = s->seconds > 0 ? (double)d->bytes * d->pair.n_threads * (double)n / s->seconds : NAN;
}

static void name_row(struct ceiling *c, const char *kind, const char *op, const char *unit, int n_threads, const char *node)
{
    snprintf(c->name, sizeof c->name, "%s DRAM %dt %s", op, n_threads, node);
    roof_describe(c, &(struct roof_texts){ .kind = kind, .op = op, .level = "DRAM", .unit = unit, .node = node });
    c->n_threads = n_threads;
}

static int keep_read(const struct benchmark *j, const struct harness *m, struct ceiling *c, struct hwprofile *h, struct error *err)
{
    const struct node_read *d = j->data;
    const struct mem_kernel *k = streams_kernel(d->like, d->like->variant);
    name_row(c, "bandwidth", "read", "B/s", d->pair.n_threads, d->node);
    c->footprint_bytes = (double)d->bytes;
    c->per_cycle = c->per_cycle * m->n / d->pair.n_threads;
    if (k && !isnan(c->value)) {
        snprintf(c->isa, sizeof c->isa, "%s", mem_kernel_isa(k));
        snprintf(c->kernel, sizeof c->kernel, "%s", mem_kernel_text(k));
    }
    return hwprofile_add_ceiling(h, c, err);
}

static void free_read(struct benchmark *j)
{
    struct node_read *d = j->data;
    pages_unmap(&d->pages);
    free(d);
}

static const struct benchmark_class read_class = { .prepare = prepare_read, .sample = sample_read, .keep = keep_read,
                                             .free = free_read };

/* ---- latency -------------------------------------------------------------------------------------------- */

static int keep_chase(const struct benchmark *j, const struct harness *m, struct ceiling *c, struct hwprofile *h, struct error *err)
{
    const struct chase *d = j->data;
    (void)m;
    name_row(c, "latency", "chase", "s", 1, d->node);
    snprintf(c->isa, sizeof c->isa, "scalar");
    c->footprint_bytes = (double)d->bytes;
    c->per_cycle = NAN;
    if (!isnan(c->value))
        snprintf(c->kernel, sizeof c->kernel, "a load a line, %.1f cycles", c->value * c->clock_hz);
    return hwprofile_add_ceiling(h, c, err);
}

static const struct benchmark_class node_chase_class = { .lower = true, .prepare = chase_prepare, .sample = chase_sample,
                                                   .keep = keep_chase, .free = chase_free };

/* ---- the matrix ------------------------------------------------------------------------------------------ */

int nodes_add_pair(struct benchmark_list *l, struct harness *m, const struct node_pair *pair, const struct benchmark *read, struct error *err)
{
    const struct memory_node *mem = &m->topology.node[pair->mem_node];
    const double all = fmin(harness_dram_bytes(m), mem->bytes / 8);
    struct node_read *d = calloc(1, sizeof *d);
    struct benchmark *j = d ? benchmark_add(l, &read_class, err) : NULL;
    if (!j) {
        free(d);
        return d ? -1 : error_oom(err, sizeof *d, "a node's bandwidth");
    }
    j->data = d;
    *d = (struct node_read){ .pair = *pair, .os_index = mem->os_index, .like = read };
    d->bytes = (size_t)(all / pair->n_threads) / 4096 * 4096;
    pair_text(d->node, sizeof d->node, &m->topology, pair);
    snprintf(j->what, sizeof j->what, "read, %s", d->node);
    struct chase c = { .level = LEVEL_DRAM, .bytes = (size_t)all / 4096 * 4096 };
    while (c.tid < m->n && rank_on_node(m, pair, c.tid) != 0)
        c.tid++;
    snprintf(c.node, sizeof c.node, "%s", d->node);
    struct benchmark *chase = chase_add(l, &node_chase_class, &c, PAGES_DEFAULT, err);
    if (!chase)
        return -1;
    ((struct chase *)chase->data)->mem->mem_node = mem->os_index;
    snprintf(chase->what, sizeof chase->what, "latency, %s", c.node);
    return 0;
}

int nodes_plan(struct benchmark_list *l, struct harness *m, const struct benchmark *read, const struct memory_effort *e, struct error *err)
{
    struct node_pair pair[MAX_PAIRS];
    const size_t n = read && !e->brief ? nodes_pairs(&m->topology, m->cpu, m->n, pair, MAX_PAIRS) : 0;
    for (size_t i = 0; i < n; i++)
        if (nodes_add_pair(l, m, &pair[i], read, err) != 0)
            return -1;
    return 0;
}
