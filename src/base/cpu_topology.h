/*
 * placement: hardware threads of a machine with their core, package, NUMA node and caches; thread placement order and cache shares
 * derived from them. A recorded or synthetic topology (HWLOC_XMLFILE, HWLOC_SYNTHETIC) replaces the live one.
 */
#ifndef BASE_CPU_TOPOLOGY_H
#define BASE_CPU_TOPOLOGY_H

#include "base/base.h"

enum { CPU_TOPOLOGY_LEVELS = 4 }; /* caches L1 data to L4 */

/* One hardware thread. Indices are hwloc's logical ones; -1: no such object. */
struct hw_thread {
    int cpu;                 /* OS index */
    int core, package, node; /* node: local NUMA node, the first when there are several kinds of memory */
    int kind;                /* 0: the fastest cores, 1: the next (efficiency cores), ... */
    int cache[CPU_TOPOLOGY_LEVELS];          /* instance of L1, L2, ... */
    double cache_bytes[CPU_TOPOLOGY_LEVELS]; /* of that instance; 0: none */
};

/* A memory node. */
struct memory_node {
    int node;     /* as in struct hw_thread */
    int os_index; /* OS index */
    double bytes; /* 0: unknown */
    int n_near;   /* local hardware threads; 0: memory only (CXL, HBM) */
};

struct cpu_topology {
    struct hw_thread *thread; /* in hwloc's order */
    size_t n;
    int *of_cpu; /* [n_of_cpu] OS index to row of thread; -1: not usable */
    size_t n_of_cpu;
    struct memory_node *node;
    size_t n_node;
    bool live; /* this machine, not a description */
};

/* description: NULL (this machine, CPUs of the affinity mask) or hwloc's synthetic text ("package:2 core:4 pu:2"). */
int cpu_topology_load(struct cpu_topology *p, const char *description, struct error *err);
void cpu_topology_free(struct cpu_topology *p);

/*
 * CPUs in placement order: one hardware thread per core before siblings, fast cores before slow ones, each on the package, NUMA node,
 * L3 and L2 with the fewest threads so far. only: NULL, or the CPUs to order.
 */
int cpu_topology_order(const struct cpu_topology *p, const struct cpulist *only, struct cpulist *out, struct error *err);

/* Smallest share, in bytes, of cache `level` (1 to CPU_TOPOLOGY_LEVELS) among the threads on cpu[0..n); 0: one has no such cache. */
double cpu_topology_share_bytes(const struct cpu_topology *p, const int *cpu, size_t n, int level);
/* Total bytes of the last-level caches of these threads, each instance once. */
double cpu_topology_llc_bytes(const struct cpu_topology *p, const int *cpu, size_t n);
/* Innermost cache level whose share holds `bytes` per thread: 1, 2, ...; 0: memory. */
int cpu_topology_level(const struct cpu_topology *p, const int *cpu, size_t n, double bytes);

#endif
