/* Hardware threads as a table, and thread placement: cpu_topology.h. */
#include "base/cpu_topology.h"
#include "base/topology.h"
#include <stdlib.h>
#include <string.h>

static const hwloc_obj_type_t cache_types[CPU_TOPOLOGY_LEVELS] = { HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE,
                                                             HWLOC_OBJ_L4CACHE };

/* ---- from hwloc ---------------------------------------------------------------------------- */

static int ancestor(hwloc_topology_t topo, hwloc_obj_t pu, hwloc_obj_type_t type)
{
    hwloc_obj_t o = hwloc_get_ancestor_obj_by_type(topo, type, pu);
    return o ? (int)o->logical_index : -1;
}

/* hwloc numbers CPU kinds from the slowest up, when efficiencies are known. */
static int kind_of(hwloc_topology_t topo, hwloc_obj_t pu)
{
    const int n = hwloc_cpukinds_get_nr(topo, 0), i = hwloc_cpukinds_get_by_cpuset(topo, pu->cpuset, 0);
    int efficiency = -1;
    if (n < 2 || i < 0 || hwloc_cpukinds_get_info(topo, (unsigned)i, NULL, &efficiency, NULL, NULL, 0) != 0 || efficiency < 0)
        return 0;
    return n - 1 - i;
}

static int node_of(hwloc_topology_t topo, hwloc_obj_t pu)
{
    const int os_index = hwloc_bitmap_first(pu->nodeset);
    hwloc_obj_t node = os_index >= 0 ? hwloc_get_numanode_obj_by_os_index(topo, (unsigned)os_index) : NULL;
    return node ? (int)node->logical_index : -1;
}

static void fill_thread(struct hw_thread *p, hwloc_topology_t topo, hwloc_obj_t pu)
{
    *p = (struct hw_thread){ .cpu = (int)pu->os_index, .kind = kind_of(topo, pu), .node = node_of(topo, pu) };
    p->core = ancestor(topo, pu, HWLOC_OBJ_CORE);
    p->package = ancestor(topo, pu, HWLOC_OBJ_PACKAGE);
    for (int l = 0; l < CPU_TOPOLOGY_LEVELS; l++) {
        hwloc_obj_t c = hwloc_get_ancestor_obj_by_type(topo, cache_types[l], pu);
        p->cache[l] = c && c->attr->cache.size ? (int)c->logical_index : -1;
        p->cache_bytes[l] = c ? (double)c->attr->cache.size : 0;
    }
}

static int index_cpus(struct cpu_topology *p, struct error *err)
{
    for (size_t i = 0; i < p->n; i++)
        if ((size_t)p->thread[i].cpu >= p->n_of_cpu)
            p->n_of_cpu = (size_t)p->thread[i].cpu + 1;
    p->of_cpu = malloc((p->n_of_cpu ? p->n_of_cpu : 1) * sizeof *p->of_cpu);
    if (!p->of_cpu)
        return error_oom(err, p->n_of_cpu * sizeof *p->of_cpu, "the table of hardware threads");
    for (size_t i = 0; i < p->n_of_cpu; i++)
        p->of_cpu[i] = -1;
    for (size_t i = 0; i < p->n; i++)
        p->of_cpu[p->thread[i].cpu] = (int)i;
    return 0;
}

static int fill(struct cpu_topology *p, hwloc_topology_t topo, hwloc_const_cpuset_t set, struct error *err)
{
    const int n_pu = hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_PU), n_node = hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_NUMANODE);
    p->thread = calloc(n_pu > 0 ? (size_t)n_pu : 1, sizeof *p->thread);
    p->node = calloc(n_node > 0 ? (size_t)n_node : 1, sizeof *p->node);
    if (!p->thread || !p->node)
        return error_oom(err, (size_t)n_pu * sizeof *p->thread, "the table of hardware threads");
    for (int i = 0; i < n_pu; i++) {
        hwloc_obj_t pu = hwloc_get_obj_by_type(topo, HWLOC_OBJ_PU, (unsigned)i);
        if (hwloc_bitmap_isset(set, pu->os_index))
            fill_thread(&p->thread[p->n++], topo, pu);
    }
    for (int i = 0; i < n_node; i++) {
        hwloc_obj_t o = hwloc_get_obj_by_type(topo, HWLOC_OBJ_NUMANODE, (unsigned)i);
        p->node[p->n_node++] = (struct memory_node){ .node = i,
                                                     .os_index = (int)o->os_index,
                                                     .bytes = (double)o->attr->numanode.local_memory };
        for (size_t k = 0; k < p->n; k++)
            p->node[i].n_near += p->thread[k].node == i;
    }
    return p->n ? index_cpus(p, err) : error_set(err, ERROR_SYSTEM, "no CPU is allowed to this process");
}

int cpu_topology_load(struct cpu_topology *p, const char *description, struct error *err)
{
    int rc = -1;
    *p = (struct cpu_topology){ 0 };
    hwloc_topology_t topo = topology_open(description, err);
    if (!topo)
        return -1;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (!set)
        error_oom(err, sizeof set, "a CPU set");
    else {
        p->live = hwloc_topology_is_thissystem(topo) != 0;
        if (!p->live || hwloc_get_cpubind(topo, set, HWLOC_CPUBIND_PROCESS) != 0 || hwloc_bitmap_iszero(set))
            hwloc_bitmap_copy(set, hwloc_topology_get_allowed_cpuset(topo));
        rc = fill(p, topo, set, err);
    }
    hwloc_bitmap_free(set);
    topology_close(topo);
    if (rc != 0)
        cpu_topology_free(p);
    return rc;
}

void cpu_topology_free(struct cpu_topology *p)
{
    free(p->thread);
    free(p->of_cpu);
    free(p->node);
    *p = (struct cpu_topology){ 0 };
}

/* ---- placement order ---- */

/* Sort keys of a hardware thread, most significant first. */
enum { BY_SIBLING, BY_KIND, BY_PACKAGE, BY_NODE, BY_L3, BY_L2, N_KEYS };

static bool wanted(const struct cpulist *only, int cpu)
{
    for (size_t i = 0; only && i < only->n; i++)
        if (only->cpu[i] == cpu)
            return true;
    return only == NULL;
}

/* Count a thread on t in everything it shares with a. */
static void count_neighbour(int *key, const struct hw_thread *a, const struct hw_thread *t)
{
    key[BY_PACKAGE] += a->package == t->package;
    key[BY_NODE] += a->node == t->node;
    key[BY_L3] += a->cache[2] >= 0 && a->cache[2] == t->cache[2];
    key[BY_L2] += a->cache[1] >= 0 && a->cache[1] == t->cache[1];
}

static bool before(const int *a, const int *b)
{
    for (int i = 0; i < N_KEYS; i++)
        if (a[i] != b[i])
            return a[i] < b[i];
    return false;
}

/* Siblings count among the usable CPUs only. */
static void fill_keys(int (*key)[N_KEYS], const struct cpu_topology *p, const struct cpulist *only)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct hw_thread *a = &p->thread[i];
        key[i][BY_KIND] = a->kind;
        for (size_t k = 0; k < i; k++)
            key[i][BY_SIBLING] += a->core >= 0 && p->thread[k].core == a->core && wanted(only, p->thread[k].cpu);
    }
}

int cpu_topology_order(const struct cpu_topology *p, const struct cpulist *only, struct cpulist *out, struct error *err)
{
    int (*key)[N_KEYS] = calloc(p->n ? p->n : 1, sizeof *key);
    bool *taken = calloc(p->n ? p->n : 1, sizeof *taken);
    *out = (struct cpulist){ .cpu = calloc(p->n ? p->n : 1, sizeof *out->cpu) };
    int rc = key && taken && out->cpu ? 0 : error_oom(err, p->n * sizeof *key, "the order of CPUs");
    if (rc == 0)
        fill_keys(key, p, only);
    for (size_t i = 0; rc == 0 && i < p->n; i++)
        taken[i] = !wanted(only, p->thread[i].cpu);
    for (size_t best = 0; rc == 0 && best < p->n;) {
        best = p->n;
        for (size_t i = 0; i < p->n; i++)
            if (!taken[i] && (best == p->n || before(key[i], key[best])))
                best = i;
        if (best == p->n)
            break;
        taken[best] = true;
        out->cpu[out->n++] = p->thread[best].cpu;
        for (size_t i = 0; i < p->n; i++)
            count_neighbour(key[i], &p->thread[i], &p->thread[best]);
    }
    free(key);
    free(taken);
    if (rc != 0)
        cpulist_free(out);
    return rc;
}

/* ---- cache shares ---- */

static const struct hw_thread *find(const struct cpu_topology *p, int cpu)
{
    return cpu >= 0 && (size_t)cpu < p->n_of_cpu && p->of_cpu[cpu] >= 0 ? &p->thread[p->of_cpu[cpu]] : NULL;
}

double cpu_topology_share_bytes(const struct cpu_topology *p, const int *cpu, size_t n, int level)
{
    double least = 0;
    if (level < 1 || level > CPU_TOPOLOGY_LEVELS)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const struct hw_thread *a = find(p, cpu[i]);
        int sharing = 0;
        if (!a || a->cache[level - 1] < 0)
            return 0;
        for (size_t k = 0; k < n; k++) {
            const struct hw_thread *b = find(p, cpu[k]);
            sharing += b && b->cache[level - 1] == a->cache[level - 1];
        }
        const double share = a->cache_bytes[level - 1] / sharing;
        if (i == 0 || share < least)
            least = share;
    }
    return least;
}

/* Outermost cache level of a hardware thread: 1 to CPU_TOPOLOGY_LEVELS; 0: none. */
static int last_level(const struct hw_thread *a)
{
    for (int l = CPU_TOPOLOGY_LEVELS; a && l > 0; l--)
        if (a->cache[l - 1] >= 0)
            return l;
    return 0;
}

double cpu_topology_llc_bytes(const struct cpu_topology *p, const int *cpu, size_t n)
{
    double bytes = 0;
    for (size_t i = 0; i < n; i++) {
        const struct hw_thread *a = find(p, cpu[i]);
        const int l = last_level(a);
        bool seen = l == 0;
        for (size_t k = 0; k < i && !seen; k++) {
            const struct hw_thread *b = find(p, cpu[k]);
            seen = last_level(b) == l && b->cache[l - 1] == a->cache[l - 1];
        }
        if (!seen)
            bytes += a->cache_bytes[l - 1];
    }
    return bytes;
}

int cpu_topology_level(const struct cpu_topology *p, const int *cpu, size_t n, double bytes)
{
    for (int l = 1; l <= CPU_TOPOLOGY_LEVELS; l++)
        if (cpu_topology_share_bytes(p, cpu, n, l) >= bytes)
            return l;
    return 0;
}
