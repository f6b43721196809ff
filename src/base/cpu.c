/* What the CPU can do, and which CPUs this process may use (hwloc). */
#include "base/base.h"
#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#if defined(__x86_64__)
static unsigned amx_flags(void)
{
    unsigned a, b, c, d, f = 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        if (d & (1u << 25))
            f |= CPU_AMX_INT8;
        if (d & (1u << 22))
            f |= CPU_AMX_BF16;
    }
    return f;
}

static bool has_avx512fp16(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & (1u << 23));
}
#endif

unsigned cpu_flags(void)
{
    unsigned f = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        f |= CPU_AVX2;
    if ((f & CPU_AVX2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        f |= CPU_AVX512;
    if (f & CPU_AVX512) {
        if (__builtin_cpu_supports("avx512vnni"))
            f |= CPU_AVX512VNNI;
        if (__builtin_cpu_supports("avx512bf16"))
            f |= CPU_AVX512BF16;
        if (has_avx512fp16())
            f |= CPU_AVX512FP16;
        f |= amx_flags();
    }
#endif
    return f;
}

const char *cpu_model_name(char *buf, size_t n)
{
    char line[512];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(buf, n, "unknown CPU");
    if (!f)
        return buf;
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, "model name", 10) != 0)
            continue;
        char *s = strchr(line, ':');
        if (!s)
            continue;
        s += strspn(s, ": \t");
        s[strcspn(s, "\n")] = 0;
        snprintf(buf, n, "%s", s);
        break;
    }
    fclose(f);
    return buf;
}

static int cpulist_push(struct cpulist *l, int cpu, struct error *err)
{
    int *p = realloc(l->cpu, (l->n + 1) * sizeof *p);
    if (!p)
        return error_oom(err, (l->n + 1) * sizeof *p, "a CPU list");
    l->cpu = p;
    l->cpu[l->n++] = cpu;
    return 0;
}

static int cpulist_push_once(struct cpulist *l, int cpu, struct error *err)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->cpu[i] == cpu)
            return error_set(err, ERROR_USAGE, "CPU list: CPU %d stands twice", cpu);
    return cpulist_push(l, cpu, err);
}

int cpulist_parse(struct cpulist *l, const char *text, struct error *err)
{
    enum { CPU_MAX = 4095 };
    *l = (struct cpulist){ 0 };
    const char *s = text;
    do {
        char *end;
        long a = strtol(s, &end, 10), b = a;
        if (end == s)
            goto bad;
        if (*end == '-') {
            s = end + 1;
            b = strtol(s, &end, 10);
            if (end == s)
                goto bad;
        }
        if (a < 0 || b < a || b > CPU_MAX || (*end && *end != ','))
            goto bad;
        for (long c = a; c <= b; c++)
            if (cpulist_push_once(l, (int)c, err) != 0)
                goto fail;
        s = end;
    } while (*s++ == ',');
    return 0;
bad:
    error_set(err, ERROR_USAGE, "CPU list: expected numbers and ranges such as 0-3,8, found \"%s\"",
              text);
fail:
    cpulist_free(l);
    return -1;
}

/* Hardware thread number `smt` of every core that this process may run on. */
static int push_smt(struct cpulist *l, hwloc_topology_t topo, hwloc_const_cpuset_t allowed, int smt,
                    struct error *err)
{
    int cores = hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_CORE);
    for (int i = 0; i < cores; i++) {
        hwloc_obj_t core = hwloc_get_obj_by_type(topo, HWLOC_OBJ_CORE, (unsigned)i);
        int k = 0;
        for (int pu = hwloc_bitmap_first(core->cpuset); pu >= 0;
             pu = hwloc_bitmap_next(core->cpuset, pu), k++)
            if (k == smt && hwloc_bitmap_isset(allowed, (unsigned)pu) &&
                cpulist_push(l, pu, err) != 0)
                return -1;
    }
    return 0;
}

int cpulist_usable(struct cpulist *l, struct error *err)
{
    *l = (struct cpulist){ 0 };
    hwloc_topology_t topo;
    if (hwloc_topology_init(&topo) != 0)
        return error_set(err, ERROR_SYSTEM, "hwloc: cannot start");
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int rc = -1;
    if (!set || hwloc_topology_load(topo) != 0) {
        error_set(err, ERROR_SYSTEM, "hwloc: cannot read this machine's topology");
        goto out;
    }
    if (hwloc_get_cpubind(topo, set, HWLOC_CPUBIND_PROCESS) != 0 || hwloc_bitmap_iszero(set))
        hwloc_bitmap_copy(set, hwloc_topology_get_allowed_cpuset(topo));
    for (int smt = 0; smt < 8; smt++)
        if (push_smt(l, topo, set, smt, err) != 0)
            goto out;
    /* A topology without cores (some containers): the mask as it is. */
    if (l->n == 0)
        for (int pu = hwloc_bitmap_first(set); pu >= 0; pu = hwloc_bitmap_next(set, pu))
            if (cpulist_push(l, pu, err) != 0)
                goto out;
    rc = l->n ? 0 : error_set(err, ERROR_SYSTEM, "no CPU is allowed to this process");
out:
    hwloc_bitmap_free(set);
    hwloc_topology_destroy(topo);
    if (rc != 0)
        cpulist_free(l);
    return rc;
}

void cpulist_free(struct cpulist *l)
{
    free(l->cpu);
    *l = (struct cpulist){ 0 };
}
