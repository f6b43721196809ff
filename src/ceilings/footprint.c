/*
 * Footprints that are served by an intended cache level, from thread placement and hwloc's cache sizes. Source: methods.md (75).
 */
#include "ceilings/memory.h"
#include <math.h>

/* Share of the previous cache level that all these threads have; 0: none. */
static double inner_share(const struct cpu_topology *p, const int *cpu, size_t n, enum level level)
{
    double share = 0;
    for (int l = (int)level; l >= 1 && share <= 0; l--)
        share = cpu_topology_share_bytes(p, cpu, n, l);
    return share;
}

size_t footprint_of_cache(const struct cpu_topology *p, const int *cpu, size_t n, enum level level, const char **why)
{
    const double own = cpu_topology_share_bytes(p, cpu, n, (int)level + 1), inner = inner_share(p, cpu, n, level);
    *why = "";
    if (own <= 0) {
        *why = "hwloc reports none for these CPUs";
        return 0;
    }
    if (own < 2 * inner) {
        *why = "share under twice the inner cache's";
        return 0;
    }
    /* Between both levels. An L3 may be non-inclusive or shared: closer to the inner cache. */
    double bytes = level == LEVEL_L3 ? sqrt(inner * own) : fmax(own / 2, sqrt(inner * own));
    const size_t whole = (size_t)bytes / 4096 * 4096;
    return whole ? whole : 4096;
}

size_t footprint_of_memory(double cache_bytes, double free_bytes, double least_bytes, bool *small)
{
    double want = fmax(4 * cache_bytes, least_bytes);
    if (free_bytes > 0)
        want = fmin(want, free_bytes / 2);
    *small = want < 4 * cache_bytes;
    return (size_t)want;
}

size_t footprint_of_effort(const struct cpu_topology *p, const int *cpu, size_t n, enum ceilings_effort effort, bool *small)
{
    const double gib = 1073741824.0, caches = cpu_topology_llc_bytes(p, cpu, n);
    size_t bytes = footprint_of_memory(caches, ceilings_free_bytes(), effort == CEILINGS_BRIEF ? gib / 16 : gib, small);
    if (effort == CEILINGS_BRIEF && (double)bytes > gib / 8) {
        bytes = 1 << 27;
        *small = (double)bytes < 4 * caches;
    }
    return bytes;
}

int footprint_plan(const struct ceilings_options *o, int n, size_t cache[LEVEL_DRAM], size_t *memory, bool *small, struct error *err)
{
    struct cpu_topology p;
    struct cpulist usable = { 0 };
    const struct cpulist *cpus = o->cpus ? o->cpus : &usable;
    const char *why;
    if (cpu_topology_load(&p, NULL, err) != 0)
        return -1;
    int rc = o->cpus ? 0 : cpulist_usable(&usable, err);
    if (rc == 0 && cpus->n < (size_t)n)
        rc = error_set(err, ERROR_USAGE, "threads: %d requested, the CPU list has %zu", n, cpus->n);
    for (int l = LEVEL_L1; rc == 0 && l < LEVEL_DRAM; l++)
        cache[l] = footprint_of_cache(&p, cpus->cpu, (size_t)n, (enum level)l, &why);
    if (rc == 0)
        *memory = footprint_of_effort(&p, cpus->cpu, (size_t)n, o->effort, small);
    cpulist_free(&usable);
    cpu_topology_free(&p);
    return rc;
}

double ceilings_free_bytes(void)
{
    char line[256];
    double kib = 0, used = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    if (f) {
        while (fgets(line, sizeof line, f))
            if (sscanf(line, "MemAvailable: %lf kB", &kib) == 1)
                break;
        fclose(f);
    }
    double limit = cgroup_memory_bytes("");
    /* memory in use, at the container's root */
    f = isfinite(limit) ? fopen("/sys/fs/cgroup/memory.current", "r") : NULL;
    if (f && fscanf(f, "%lf", &used) == 1 && limit > used)
        limit -= used;
    if (f)
        fclose(f);
    const double bytes = kib * 1024;
    return isfinite(limit) && (bytes <= 0 || limit < bytes) ? limit : bytes;
}

size_t footprint_grid(double lo, double hi, int per_octave, size_t *bytes, size_t max)
{
    size_t n = 0;
    for (int i = 0; n < max; i++) {
        const double at = lo * exp2((double)i / per_octave);
        const size_t whole = (size_t)((at + 2048) / 4096) * 4096;
        if (at > hi * 1.0001)
            break;
        if (whole > 0 && (n == 0 || whole > bytes[n - 1]))
            bytes[n++] = whole;
    }
    return n;
}
