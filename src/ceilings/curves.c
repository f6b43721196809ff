/*
 * Bandwidth over footprint and over threads: one benchmark per point, with the kernel of its level's row; plateaus, compared with
 * hwloc's cache sizes, and saturation. Source: methods.md (75), (76), doc/notes/charts.md.
 */
#include "ceilings/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SATURATED = 0.95; /* doc/notes/charts.md */
enum { MAX_GRID = 512 };

int curves_add_point(struct hwprofile *h, const struct hw_curve *head, const struct hw_point *point, struct error *err)
{
    const struct hw_curve *old = hwprofile_curve(h, head->name);
    struct hw_curve c = old ? *old : *head;
    const size_t n = old ? old->n_point : 0;
    struct hw_point *p = malloc((n + 1) * sizeof *p);
    if (!p)
        return error_oom(err, (n + 1) * sizeof *p, "a curve");
    size_t before = 0;
    while (before < n && old->point[before].x < point->x)
        before++;
    const size_t same = before < n && old->point[before].x == point->x;
    if (n) {
        memcpy(p, old->point, before * sizeof *p);
        memcpy(p + before + 1, old->point + before + same, (n - before - same) * sizeof *p);
    }
    p[before] = *point;
    c.point = p;
    c.n_point = n + 1 - same;
    int rc = hwprofile_add_curve(h, &c, err);
    free(p);
    return rc;
}

/* Curve fields common to all points. */
static void fill_head(struct hw_curve *c, const struct ceiling *of, const char *op, const char *x, const char *kernel)
{
    roof_curve(c, of, x, kernel, &(struct roof_texts){ .kind = "bandwidth", .op = op, .unit = "B/s" });
}

static int keep(const struct benchmark *j, const struct ceiling *c, const struct hw_curve *head, struct hwprofile *h,
                struct error *err)
{
    const struct streams *d = j->data;
    const struct hw_point p = { d->x, c->value, c->ci_lo, c->ci_hi, c->n_samples };
    return isnan(c->value) ? 0 : curves_add_point(h, head, &p, err); /* missing points are omitted */
}

/* ---- over footprint ---- */

static int keep_footprint(const struct benchmark *j, const struct harness *m, struct ceiling *c, struct hwprofile *h, struct error *err)
{
    const struct streams *d = j->data;
    struct hw_curve head;
    fill_head(&head, c, mem_op_name(d->op), "footprint_bytes", "the fastest of each level");
    snprintf(head.name, sizeof head.name, "%s footprint %dt", mem_op_name(d->op), m->n);
    head.n_threads = m->n;
    return keep(j, c, &head, h, err);
}

static const struct benchmark_class footprint_class = { .sample = streams_sample, .keep = keep_footprint, .free = streams_free };

/* Row whose kernel fits the footprint: of its level, else the next outer one, else the last. */
static const struct benchmark *row_for(const struct harness *m, double bytes, struct benchmark *const rows[LEVEL_COUNT])
{
    const int level = cpu_topology_level(&m->topology, m->cpu, (size_t)m->n, bytes);
    for (int i = level >= 1 && level <= 3 ? level - 1 : LEVEL_DRAM; i < LEVEL_COUNT; i++)
        if (rows[i])
            return rows[i];
    return NULL;
}

int curves_plan_footprints(struct benchmark_list *l, struct harness *m, enum mem_op op, struct benchmark *const rows[LEVEL_COUNT],
                           const struct memory_effort *e, struct error *err)
{
    size_t bytes[MAX_GRID];
    const double caches = cpu_topology_llc_bytes(&m->topology, m->cpu, (size_t)m->n) / m->n;
    const double room = (double)(m->chunk_bytes - MEM_GAPS);
    const size_t n = footprint_grid(4096, fmin(fmax(4 * caches, 1 << 22), room), e->per_octave, bytes, MAX_GRID);
    for (size_t i = 0; i < n; i++) {
        struct streams d = { .op = op, .bytes = bytes[i], .n_active = m->n, .x = (double)bytes[i],
                             .like = row_for(m, (double)bytes[i], rows) };
        struct benchmark *j = d.like ? streams_add(l, &footprint_class, &d, err) : NULL;
        if (!d.like)
            continue;
        if (!j)
            return -1;
        snprintf(j->what, sizeof j->what, "%s %zu KiB", mem_op_name(op), bytes[i] / 1024);
        j->of_curve = true;
        j->weight = op == MEM_READ ? 0.5 : 0.25;
    }
    return 0;
}

/* ---- over threads ---- */

static int keep_threads(const struct benchmark *j, const struct harness *m, struct ceiling *c, struct hwprofile *h, struct error *err)
{
    const struct streams *d = j->data;
    const struct mem_kernel *k = streams_kernel(j, 0);
    struct hw_curve head;
    (void)m;
    fill_head(&head, c, mem_op_name(d->op), "n_threads", k ? mem_kernel_text(k) : "");
    snprintf(head.name, sizeof head.name, "%s threads %s", mem_op_name(d->op), level_names[d->level]);
    snprintf(head.level, sizeof head.level, "%s", level_names[d->level]);
    snprintf(head.isa, sizeof head.isa, "%s", k ? mem_kernel_isa(k) : "");
    return keep(j, c, &head, h, err);
}

static const struct benchmark_class threads_class = { .sample = streams_sample, .keep = keep_threads, .free = streams_free };

size_t curves_counts(int n, int *count, size_t max)
{
    size_t k = 0;
    for (int i = 1; i < n && k + 1 < max; i = n <= 8 || i < 4 ? i + 1 : (i & (i - 1)) == 0 ? i / 2 * 3 : i / 3 * 4)
        count[k++] = i;
    if (n >= 1 && max > 0)
        count[k++] = n;
    return k;
}

static int node_at(const struct cpu_topology *p, int cpu)
{
    const bool known = cpu >= 0 && (size_t)cpu < p->n_of_cpu && p->of_cpu[cpu] >= 0;
    return known ? p->thread[p->of_cpu[cpu]].node : -1;
}

/* Threads of a node among the first k. */
static int threads_on_node(const struct cpu_topology *p, const int *cpu, int k, int node)
{
    int n = 0;
    for (int i = 0; i < k; i++)
        n += node_at(p, cpu[i]) == node;
    return n;
}

int *curves_share_chunks(const struct cpu_topology *p, const int *cpu, int n, int n_active, int *n_chunk, struct error *err)
{
    int each = n;
    for (int t = 0; t < n_active; t++) {
        const int node = node_at(p, cpu[t]), share = threads_on_node(p, cpu, n, node) / threads_on_node(p, cpu, n_active, node);
        each = share < each ? share : each;
    }
    int *chunk = malloc((size_t)n_active * (size_t)each * sizeof *chunk);
    if (!chunk) {
        error_oom(err, (size_t)n_active * (size_t)each * sizeof *chunk, "a bandwidth roof");
        return NULL;
    }
    for (int t = 0; t < n_active; t++) {
        /* The k-th active thread of a node uses the memory of threads k * each, ... */
        const int node = node_at(p, cpu[t]), from = threads_on_node(p, cpu, t, node) * each;
        for (int u = 0, seen = 0; u < n; u++)
            if (node_at(p, cpu[u]) == node && seen++ >= from && seen <= from + each)
                chunk[t * each + seen - 1 - from] = u;
    }
    *n_chunk = each;
    return chunk;
}

/* Adds one point if there is a kernel. */
static int add_threads(struct benchmark_list *l, struct streams *d, struct error *err)
{
    struct benchmark *j = streams_add(l, &threads_class, d, err);
    if (!j)
        return -1;
    snprintf(j->what, sizeof j->what, "read %s, %d thread%s", level_names[d->level], d->n_active, d->n_active == 1 ? "" : "s");
    j->of_curve = true;
    j->once = d->n_window > 0;
    return 0;
}

int curves_plan_threads(struct benchmark_list *l, struct harness *m, struct benchmark *const rows[LEVEL_COUNT], struct error *err)
{
    int count[64];
    const struct benchmark *dram = rows[LEVEL_DRAM], *l3 = rows[LEVEL_L3] ? rows[LEVEL_L3] : dram;
    const size_t n = dram ? curves_counts(m->n, count, ARRAY_LEN(count)) : 0;
    for (size_t i = 0; i < n; i++) {
        const struct streams *of = dram->data;
        const char *why;
        struct streams d = { .op = MEM_READ, .level = LEVEL_DRAM, .bytes = of->bytes, .n_window = of->n_window,
                             .n_active = count[i], .x = count[i], .like = dram };
        /* Active threads also read idle threads' memory: their own part may fit in cache. */
        d.chunk = curves_share_chunks(&m->topology, m->cpu, m->n, count[i], &d.n_chunk, err);
        if (!d.chunk || add_threads(l, &d, err) != 0)
            return -1;
        d = (struct streams){ .op = MEM_READ, .level = LEVEL_L3, .n_active = count[i], .x = count[i], .like = l3 };
        d.bytes = footprint_of_cache(&m->topology, m->cpu, (size_t)count[i], LEVEL_L3, &why);
        if (d.bytes > 0 && d.bytes <= m->chunk_bytes && add_threads(l, &d, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- analysis of finished curves ---- */

/* Plateau after `from` whose end is nearest to a share, within a factor of two; n: none. */
static size_t nearest(const struct plateau *p, size_t n, size_t from, double share)
{
    size_t best = n;
    for (size_t i = from; i < n; i++)
        if (!isnan(p[i].edge_x) && fabs(log2(p[i].edge_x / share)) <= 1 &&
            (best == n || fabs(log2(p[i].edge_x / share)) < fabs(log2(p[best].edge_x / share))))
            best = i;
    return best;
}

static const char *size_text(char *buf, size_t size, double bytes)
{
    if (bytes >= 1048576)
        snprintf(buf, size, "%.3g MiB", bytes / 1048576);
    else
        snprintf(buf, size, "%.3g KiB", bytes / 1024);
    return buf;
}

static void add_plateau(struct hw_curve *c, const struct plateau *p, const char *level, double stated_x)
{
    char edge[24], stated[24];
    if (c->n_plateau == HW_PLATEAUS)
        return;
    struct hw_plateau *o = &c->plateau[c->n_plateau++];
    *o = (struct hw_plateau){ .from_x = NAN, .to_x = NAN, .value = NAN, .edge_x = NAN, .stated_x = stated_x };
    snprintf(o->level, sizeof o->level, "%s", level);
    size_text(stated, sizeof stated, stated_x);
    if (!p) {
        snprintf(o->finding, sizeof o->finding, "differs: no level end near the %s that hwloc reports", stated);
        return;
    }
    o->from_x = p->from_x, o->to_x = p->to_x, o->value = p->value, o->edge_x = p->edge_x;
    size_text(edge, sizeof edge, p->edge_x);
    if (!isnan(stated_x))
        snprintf(o->finding, sizeof o->finding, "agrees: ends at %s, hwloc reports %s", edge, stated);
    else if (!isnan(p->edge_x))
        snprintf(o->finding, sizeof o->finding, "differs: ends at %s, where hwloc reports no cache", edge);
    else if (!level[0])
        snprintf(o->finding, sizeof o->finding, "differs: level to the end, within a cache that hwloc reports");
}

void curves_compare(struct hw_curve *c, const struct plateau *found, size_t n, const double share[3])
{
    size_t at = 0;
    double most = 0;
    c->n_plateau = 0;
    for (int l = LEVEL_L1; l <= LEVEL_L3; l++) {
        most = fmax(most, share[l]);
        if (share[l] <= 0)
            continue;
        const size_t i = nearest(found, n, at, share[l]);
        for (; i < n && at < i; at++)
            add_plateau(c, &found[at], "", NAN);
        add_plateau(c, i < n ? &found[i] : NULL, level_names[l], share[l]);
        at += i < n;
    }
    for (; at < n; at++)
        add_plateau(c, &found[at], at + 1 == n && isnan(found[at].edge_x) && found[at].to_x > most ? "DRAM" : "", NAN);
}

int curves_finish(struct hwprofile *h, const struct harness *m, struct error *err)
{
    double share[3];
    for (int l = 0; l < 3; l++)
        share[l] = cpu_topology_share_bytes(&m->topology, m->cpu, (size_t)m->n, l + 1);
    for (size_t i = 0; i < h->n_curve; i++) {
        struct hw_curve *c = &h->curve[i];
        struct plateau found[PLATEAUS_MAX];
        size_t n;
        if (strcmp(c->x, "n_threads") == 0 && strcmp(c->kind, "bandwidth") == 0)
            c->saturation_x = plateaus_saturation(c->point, c->n_point, SATURATED);
        if (strcmp(c->x, "footprint_bytes") != 0 || c->n_threads != m->n)
            continue;
        if (plateaus_find(c->point, c->n_point, found, &n, err) != 0)
            return -1;
        curves_compare(c, found, n, share);
    }
    return 0;
}
