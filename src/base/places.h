/*
 * places: the hardware threads of a machine as a table: which core, package, memory node and caches each one stands on.
 * Where n threads go, what share of a cache each of them has, and which level holds their bytes follow from it by pure
 * functions. From hwloc: a recorded or synthetic topology (HWLOC_XMLFILE, HWLOC_SYNTHETIC) takes the live one's place.
 */
#ifndef BASE_PLACES_H
#define BASE_PLACES_H

#include "base/base.h"

enum { PLACES_LEVELS = 4 }; /* caches L1 data to L4 */

/* One hardware thread. Numbers are hwloc's logical ones; -1: there is no such object. */
struct place {
    int cpu;                           /* the system's number */
    int core, package, node;           /* node: memory beside it, the first where there are several kinds */
    int kind;                          /* 0: the fastest cores, 1: the next (efficiency cores), ... */
    int cache[PLACES_LEVELS];          /* which instance of L1, L2, ... */
    double cache_bytes[PLACES_LEVELS]; /* of that instance; 0: there is none */
};

/* A memory node. */
struct memory_node {
    int node;     /* as in struct place */
    int os_index; /* the system's number */
    double bytes; /* 0: not known */
    int n_near;   /* hardware threads beside it; 0: memory alone (CXL, HBM reached from elsewhere) */
};

struct places {
    struct place *place; /* in hwloc's order */
    size_t n;
    int *of_cpu; /* the system's number to the row in place, -1: not ours; n_of_cpu of them */
    size_t n_of_cpu;
    struct memory_node *node;
    size_t n_node;
    bool live; /* this machine, not a description */
};

/* description: NULL, or hwloc's synthetic text ("package:2 core:4 pu:2"). Without one, only CPUs of this process' affinity. */
int places_load(struct places *p, const char *description, struct error *err);
void places_free(struct places *p);

/*
 * The CPUs in the order threads take them: one of every core before its siblings, fast cores before slow ones, and each
 * on the package, memory node, L3 and L2 that has the fewest threads so far. only: NULL, or just these CPUs.
 */
int places_order(const struct places *p, const struct cpulist *only, struct cpulist *out, struct error *err);

/* Bytes of cache `level` (1 to PLACES_LEVELS) that each of the threads on cpu[0..n) can call its own: the least of them;
 * 0: one of them has no such cache. */
double places_share_bytes(const struct places *p, const int *cpu, size_t n, int level);
/* Bytes of the last caches that these threads reach, each instance once. */
double places_last_bytes(const struct places *p, const int *cpu, size_t n);
/* The level that holds so many bytes of each of these threads: 1, 2, ...; 0: memory. */
int places_level(const struct places *p, const int *cpu, size_t n, double bytes);

#endif
