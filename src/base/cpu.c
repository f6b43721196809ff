/* CPU features, and the CPUs this process may use (hwloc). */
#include "base/cpu_topology.h"
#include "base/topology.h"
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
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
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & (1u << 21)))
        f |= CPU_AMX_FP16;
    return f;
}

/* Source: AMD APM 3, Intel SDM 2A, CPUID function 0. */
static bool is_vendor(unsigned ebx, unsigned ecx, unsigned edx)
{
    unsigned a, b, c, d;
    return __get_cpuid(0, &a, &b, &c, &d) && b == ebx && c == ecx && d == edx;
}

/* Models [from, to] of a family. Source: AMD APM 3, CPUID function 1. */
static bool is_amd(unsigned family, unsigned from, unsigned to)
{
    unsigned a, b, c, d;
    if (!is_vendor(signature_AMD_ebx, signature_AMD_ecx, signature_AMD_edx) || !__get_cpuid(1, &a, &b, &c, &d))
        return false;
    const unsigned model = (a >> 12 & 0xf0) | (a >> 4 & 0xf);
    return (a >> 8 & 0xf) == 0xf && 0xf + (a >> 20 & 0xff) == family && model >= from && model <= to;
}

static bool has_avxvnni(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & (1u << 4));
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
    if (__builtin_cpu_supports("sse4.2"))
        f |= CPU_SSE42;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        f |= CPU_AVX2;
    if ((f & CPU_AVX2) && has_avxvnni())
        f |= CPU_AVXVNNI;
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
        if (__builtin_cpu_supports("avx512vbmi"))
            f |= CPU_AVX512VBMI;
        f |= amx_flags();
        /* Zen 4: decode without software prefetch reads 1.05 to 1.36 times as fast (doc/notes/kernels.md). */
        if (is_amd(0x19, 0, 0xff))
            f |= CPU_HW_PREFETCH;
        /* Zen 5 with 512-bit data paths (ceilings/core.c); measured on Turin: kernels/avx512vnni/packed_gemv_rows.h. */
        if (is_amd(0x1a, 0, 0x1f) || is_amd(0x1a, 0x40, 0x4f))
            f |= CPU_SW_PREFETCH;
        /* Intel: 512-bit operations issue on ports 0 and 5 (Optimization Reference Manual), and vdpbf16ps every second cycle, half
         * the rate of two FP32 FMA (cpufp, Gold 6455B; measured on Emerald Rapids). AMD issues as many as FMA. */
        if (is_vendor(signature_INTEL_ebx, signature_INTEL_ecx, signature_INTEL_edx))
            f |= CPU_TWO_PORTS | (f & CPU_AVX512BF16 ? (unsigned)CPU_SLOW_DOT_BF16 : 0);
    }
#elif defined(__aarch64__)
    f |= CPU_NEON;
    if (getauxval(AT_HWCAP) & HWCAP_ASIMDDP)
        f |= CPU_DOTPROD;
    if (getauxval(AT_HWCAP2) & HWCAP2_I8MM)
        f |= CPU_I8MM;
    if (getauxval(AT_HWCAP) & HWCAP_ASIMDHP)
        f |= CPU_ARM_FP16;
    if (getauxval(AT_HWCAP2) & HWCAP2_BF16)
        f |= CPU_ARM_BF16;
#endif
    return f;
}

bool cpu_request_amx_tiles(void)
{
#if defined(__x86_64__) && defined(SYS_arch_prctl)
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 }; /* asm/prctl.h; Documentation/arch/x86/xstate.rst */
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
#else
    return false;
#endif
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
            return error_set(err, ERROR_USAGE, "CPU list: CPU %d is listed twice", cpu);
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
    error_set(err, ERROR_USAGE, "CPU list: expected CPUs from 0 to %d and ascending ranges, such as 0-3,8, found \"%.64s%s\"", CPU_MAX,
              text, strlen(text) > 64 ? "..." : "");
fail:
    cpulist_free(l);
    return -1;
}

/* Hardware thread `smt` of every core in `set`. */
static int push_smt(struct cpulist *l, hwloc_topology_t topo, hwloc_const_cpuset_t set, int smt, struct error *err)
{
    int cores = hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_CORE);
    for (int i = 0; i < cores; i++) {
        hwloc_obj_t core = hwloc_get_obj_by_type(topo, HWLOC_OBJ_CORE, (unsigned)i);
        int k = 0;
        for (int pu = hwloc_bitmap_first(core->cpuset); pu >= 0;
             pu = hwloc_bitmap_next(core->cpuset, pu), k++)
            if (k == smt && hwloc_bitmap_isset(set, (unsigned)pu) && cpulist_push(l, pu, err) != 0)
                return -1;
    }
    return 0;
}

/* CPUs of a set, one hardware thread per core first. */
static int push_set(struct cpulist *l, hwloc_topology_t topo, hwloc_const_cpuset_t set, struct error *err)
{
    const size_t before = l->n;
    for (int smt = 0; smt < 8; smt++)
        if (push_smt(l, topo, set, smt, err) != 0)
            return -1;
    /* No cores in the topology (some containers): mask order. */
    if (l->n == before)
        for (int pu = hwloc_bitmap_first(set); pu >= 0; pu = hwloc_bitmap_next(set, pu))
            if (cpulist_push(l, pu, err) != 0)
                return -1;
    return 0;
}

/* CPUs of a set, round-robin over NUMA nodes. Nodes without CPUs of their own (memory only) add none. */
static int push_spread(struct cpulist *l, hwloc_topology_t topo, hwloc_const_cpuset_t set, struct error *err)
{
    const int found = hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_NUMANODE);
    const unsigned n = found > 0 ? (unsigned)found : 0;
    struct cpulist *node = calloc(n + 1, sizeof *node);
    hwloc_bitmap_t left = hwloc_bitmap_dup(set), mine = hwloc_bitmap_alloc();
    int rc = node && left && mine ? 0 : error_oom(err, n * sizeof *node, "the NUMA nodes");
    for (unsigned i = 0; rc == 0 && i < n; i++) {
        hwloc_bitmap_and(mine, left, hwloc_get_obj_by_type(topo, HWLOC_OBJ_NUMANODE, i)->cpuset);
        hwloc_bitmap_andnot(left, left, mine);
        rc = push_set(&node[i], topo, mine, err);
    }
    for (size_t rank = 0, before = SIZE_MAX; rc == 0 && l->n != before; rank++) {
        before = l->n;
        for (unsigned i = 0; rc == 0 && i < n; i++)
            if (rank < node[i].n)
                rc = cpulist_push(l, node[i].cpu[rank], err);
    }
    for (unsigned i = 0; node && i < n; i++)
        cpulist_free(&node[i]);
    free(node);
    hwloc_bitmap_free(left);
    hwloc_bitmap_free(mine);
    return rc;
}

/* CPUs of a set in the NUMA node of CPU `here`. */
static int push_node(struct cpulist *l, hwloc_topology_t topo, hwloc_const_cpuset_t set, int here, struct error *err)
{
    const int n = hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_NUMANODE);
    hwloc_bitmap_t mine = hwloc_bitmap_alloc();
    int rc = mine ? 0 : error_oom(err, sizeof here, "a NUMA node");
    for (int i = 0; rc == 0 && i < n; i++) {
        hwloc_const_cpuset_t node = hwloc_get_obj_by_type(topo, HWLOC_OBJ_NUMANODE, (unsigned)i)->cpuset;
        if (!hwloc_bitmap_isset(node, (unsigned)here))
            continue;
        hwloc_bitmap_and(mine, set, node);
        rc = push_set(l, topo, mine, err);
        break;
    }
    hwloc_bitmap_free(mine);
    return rc;
}

/* A loaded topology and its usable CPUs: the affinity mask, or all of a description. */
struct machine {
    hwloc_topology_t topo;
    hwloc_bitmap_t set;
};

static void machine_free(struct machine *m)
{
    hwloc_bitmap_free(m->set);
    topology_close(m->topo);
}

static int machine_init(struct machine *m, const char *description, struct error *err)
{
    *m = (struct machine){ .set = hwloc_bitmap_alloc() };
    if (!m->set)
        return error_oom(err, sizeof m->set, "a CPU set");
    if ((m->topo = topology_open(description, err))) {
        if (description || hwloc_get_cpubind(m->topo, m->set, HWLOC_CPUBIND_PROCESS) != 0 || hwloc_bitmap_iszero(m->set))
            hwloc_bitmap_copy(m->set, hwloc_topology_get_allowed_cpuset(m->topo));
        return 0;
    }
    machine_free(m);
    return -1;
}

static int close_list(struct cpulist *l, struct machine *m, int rc, struct error *err)
{
    machine_free(m);
    if (rc == 0 && l->n == 0)
        rc = error_set(err, ERROR_SYSTEM, "no CPU is allowed to this process");
    if (rc != 0)
        cpulist_free(l);
    return rc;
}

int cpulist_usable(struct cpulist *l, struct error *err)
{
    struct cpu_topology p;
    *l = (struct cpulist){ 0 };
    if (cpu_topology_load(&p, NULL, err) != 0)
        return -1;
    int rc = cpu_topology_order(&p, NULL, l, err);
    cpu_topology_free(&p);
    return rc;
}

int cpulist_numa(struct cpulist *l, enum numa_mode mode, const char *topology, int here, struct error *err)
{
    struct machine m;
    int rc = -1;
    *l = (struct cpulist){ 0 };
    if (machine_init(&m, topology, err) != 0)
        return -1;
    if (!topology && (here = sched_getcpu()) < 0)
        here = hwloc_bitmap_first(m.set);
    switch (mode) {
    case NUMA_DISTRIBUTE:
        rc = push_spread(l, m.topo, m.set, err);
        break;
    case NUMA_ISOLATE:
        rc = push_node(l, m.topo, m.set, here, err);
        break;
    }
    return close_list(l, &m, rc, err);
}

void cpulist_free(struct cpulist *l)
{
    free(l->cpu);
    *l = (struct cpulist){ 0 };
}
