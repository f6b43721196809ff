/*
 * Where threads go and how much they touch, on machines that are not here: one row a machine, from hwloc's synthetic text or
 * a small recorded file. Expected figures are worked out by hand beside each row.
 */
#include "base/environment.h"
#include "../test.h"
#include "ceilings/memory.h"
#include <math.h>
#include <unistd.h>

enum { KIB = 1024, MIB = 1048576 };

/* For so many threads: the CPUs they take, in order, and what each touches in L1, L2, L3; then 4 x the caches reached. */
struct count {
    int n;
    const char *cpus; /* the first ones, as far as the text goes */
    size_t l1, l2, l3, memory;
};

struct machine {
    const char *name, *synthetic, *xml; /* one of the two */
    const char *only; /* CPUs that may be used, NULL: all */
    int n_pus, n_nodes;
    struct count count[3]; /* one, half, all */
    double bytes[4];       /* of each of the second row's threads ... */
    int level[4];          /* ... are in this level; 0: memory */
};

static const struct machine machines[] = {
    /* Two sockets of 8 cores, SMT 2. L3 32 MiB: 1 thread sqrt(2 * 32) = 8 MiB; 8 threads, 4 a socket: sqrt(2 * 8) = 4 MiB;
     * 32: L1 24 K, L2 1 M, L3 2 M a thread, under twice the L2's 1 MiB only if less: sqrt(1 * 2) MiB. */
    { "dual socket", "package:2 l3:1(size=33554432) l2:8(size=2097152) l1d:1(size=49152) core:1 pu:2", NULL, NULL, 32, 1,
      { { 1, "0", 24 * KIB, MIB, 8 * MIB, 128u * MIB },
        { 8, "0,16,2,18,4,20,6,22", 24 * KIB, MIB, 4 * MIB, 256u * MIB },
        { 32, "0,16,2,18,4,20,6,22,8,24,10,26,12,28,14,30,1,17", 12 * KIB, 512 * KIB, 1482752 / 4096 * 4096, 256u * MIB } },
      { 48 * KIB, 2 * MIB, 8 * MIB, 9 * MIB }, { 1, 2, 3, 0 } },
    /* One socket in 4 sub-NUMA clusters of 2 cores, one L3 for all: the clusters take turns. */
    { "sub-NUMA clusters", "package:1 l3:1(size=16777216) numa:4 l2:2(size=1048576) l1d:1(size=32768) core:1 pu:1", NULL, NULL,
      8, 4,
      { { 1, "0", 16 * KIB, 512 * KIB, 4 * MIB, 64 * MIB },
        { 4, "0,2,4,6", 16 * KIB, 512 * KIB, 2 * MIB, 64 * MIB },
        { 8, "0,2,4,6,1,3,5,7", 16 * KIB, 512 * KIB, 1482752 / 4096 * 4096, 64 * MIB } },
      { 32 * KIB, MIB, 4 * MIB, 5 * MIB }, { 1, 2, 3, 0 } },
    /* Big cores numbered after little ones: they come first. Little L2 128 K, big 512 K, L3 3 MiB. L1 64 K and 32 K.
     * 1: L2 256 K, L3 sqrt(512 K * 3 M) = 1254 K; 4: L2 max(64 K, sqrt(32 K * 128 K)), L3 sqrt(128 K * 768 K). */
    { "big.LITTLE", NULL, "big-little.xml", NULL, 4, 1,
      { { 1, "2", 32 * KIB, 256 * KIB, 1284505 / 4096 * 4096, 12 * MIB },
        { 2, "2,3", 32 * KIB, 256 * KIB, 908285 / 4096 * 4096, 12 * MIB },
        { 4, "2,3,0,1", 16 * KIB, 64 * KIB, 321000 / 4096 * 4096, 12 * MIB } },
      { 64 * KIB, 512 * KIB, 1536 * KIB, 1537 * KIB }, { 1, 2, 3, 0 } },
    /* Two P cores of two threads, two E cores on one L2, two low-power ones without the L3: P before E before those, second
     * threads last. With a core that has no L3 among the threads there is none for them all. */
    { "island without L3", NULL, "island.xml", NULL, 8, 1,
      { { 1, "0", 24 * KIB, MIB, 5136979 / 4096 * 4096, 48 * MIB },
        { 4, "0,2,4,5", 16 * KIB, 512 * KIB, 1816187 / 4096 * 4096, 48 * MIB },
        { 8, "0,2,4,5,6,7,1,3", 12 * KIB, 512 * KIB, 0, 56 * MIB } },
      { 32 * KIB, MIB, 3 * MIB, 4 * MIB }, { 1, 2, 3, 0 } },
    /* Grace: 72 cores share 114 MiB. All: 1.58 MiB each, under twice the L2's 1 MiB: no L3 roof, and that is said.
     * 36: sqrt(1 * 3.1667) MiB. */
    { "Grace", "package:1 l3:1(size=119537664) l2:72(size=1048576) l1d:1(size=65536) core:1 pu:1", NULL, NULL, 72, 1,
      { { 1, "0", 32 * KIB, 512 * KIB, 11195782 / 4096 * 4096, 456u * MIB },
        { 36, "0,1,2,3", 32 * KIB, 512 * KIB, 1865964 / 4096 * 4096, 456u * MIB },
        { 72, "0,1,2,3", 32 * KIB, 512 * KIB, 0, 456u * MIB } },
      { 64 * KIB, MIB, 3 * MIB, 4 * MIB }, { 1, 2, 3, 0 } },
    { "one core", "package:1 l2:1(size=524288) l1d:1(size=32768) core:1 pu:1", NULL, NULL, 1, 1,
      { { 1, "0", 16 * KIB, 256 * KIB, 0, 2 * MIB }, { 1, "0", 16 * KIB, 256 * KIB, 0, 2 * MIB },
        { 1, "0", 16 * KIB, 256 * KIB, 0, 2 * MIB } },
      { 32 * KIB, 33 * KIB, 512 * KIB, 513 * KIB }, { 1, 2, 2, 0 } },
    { "SMT 2 laptop", "package:1 l3:1(size=8388608) l2:4(size=262144) l1d:1(size=32768) core:1 pu:2", NULL, NULL, 8, 1,
      { { 1, "0", 16 * KIB, 128 * KIB, 1482752 / 4096 * 4096, 32 * MIB },
        { 4, "0,2,4,6", 16 * KIB, 128 * KIB, 741455 / 4096 * 4096, 32 * MIB },
        { 8, "0,2,4,6,1,3,5,7", 8 * KIB, 64 * KIB, 370727 / 4096 * 4096, 32 * MIB } },
      { 32 * KIB, 256 * KIB, 2 * MIB, 3 * MIB }, { 1, 2, 3, 0 } },
    /* EPYC 9654: 12 CCX of 8 cores and 32 MiB, SMT 2: a CCX each before a second thread on any. */
    { "Zen, 12 CCX", "package:1 l3:12(size=33554432) l2:8(size=1048576) l1d:1(size=32768) core:1 pu:2", NULL, NULL, 192, 1,
      { { 1, "0", 16 * KIB, 512 * KIB, 5931641 / 4096 * 4096, 128u * MIB },
        { 96, "0,16,32,48,64,80,96,112,128,144,160,176,2,18", 16 * KIB, 512 * KIB, 2 * MIB, 1536u * MIB },
        { 192, "0,16,32,48,64,80,96,112,128,144,160,176,2,18", 8 * KIB, 256 * KIB, MIB, 1536u * MIB } },
      { 32 * KIB, MIB, 4 * MIB, 5 * MIB }, { 1, 2, 3, 0 } },
    /* Raspberry Pi 4: four cores on one L2 of 1 MiB. All: 256 K each, half of it 128 K. */
    { "Arm board without L3", "package:1 l2:1(size=1048576) l1d:4(size=32768) core:1 pu:1", NULL, NULL, 4, 1,
      { { 1, "0", 16 * KIB, 512 * KIB, 0, 4 * MIB },
        { 2, "0,1", 16 * KIB, 256 * KIB, 0, 4 * MIB },
        { 4, "0,1,2,3", 16 * KIB, 128 * KIB, 0, 4 * MIB } },
      { 32 * KIB, 512 * KIB, 513 * KIB, MIB }, { 1, 2, 0, 0 } },
    /* Two clusters of four cores, an L2 of 12 MiB each, no L3. */
    { "clusters that share L2", "package:1 l2:2(size=12582912) l1d:4(size=131072) core:1 pu:1", NULL, NULL, 8, 1,
      { { 1, "0", 64 * KIB, 6 * MIB, 0, 48 * MIB },
        { 4, "0,4,1,5", 64 * KIB, 3 * MIB, 0, 96 * MIB },
        { 8, "0,4,1,5,2,6,3,7", 64 * KIB, 1536 * KIB, 0, 96 * MIB } },
      { 128 * KIB, 6 * MIB, 7 * MIB, 12 * MIB }, { 1, 2, 0, 0 } },
    /* A container on the dual socket above: two cores of the first socket, the second threads of two cores of the other. 17 is
     * alone on its core here: a core like any other, taken before 2. 0's sibling 1 waits. */
    { "cpuset of a container", "package:2 l3:1(size=33554432) l2:8(size=2097152) l1d:1(size=49152) core:1 pu:2", NULL,
      "0,1,2,17,19", 32, 1,
      { { 1, "0", 24 * KIB, MIB, 8 * MIB, 128u * MIB },
        { 3, "0,17,2", 24 * KIB, MIB, 5931641 / 4096 * 4096, 256u * MIB },
        { 5, "0,17,2,19,1", 12 * KIB, 512 * KIB, 3424630 / 4096 * 4096, 256u * MIB } },
      { 48 * KIB, 2 * MIB, 16 * MIB, 17 * MIB }, { 1, 2, 3, 0 } },
    /* Two packages, and memory beside each that has no CPUs of its own (CXL, HBM): it is a node and no place for threads. */
    { "memory-only nodes", "package:2 [numa(memory=1073741824)] [numa(memory=1073741824)] l3:1(size=16777216) l2:2(size=1048576) l1d:1(size=32768) core:1 pu:1",
      NULL, NULL, 4, 4,
      { { 1, "0", 16 * KIB, 512 * KIB, 4 * MIB, 64 * MIB },
        { 2, "0,2", 16 * KIB, 512 * KIB, 4 * MIB, 128 * MIB },
        { 4, "0,2,1,3", 16 * KIB, 512 * KIB, 2965820 / 4096 * 4096, 128 * MIB } },
      { 32 * KIB, MIB, 16 * MIB, 17 * MIB }, { 1, 2, 3, 0 } },
    /* Knights Landing: tiles of two cores share an L2 of 1 MiB, four threads a core, no L3. */
    { "Knights Landing", "package:1 l2:8(size=1048576) l1d:2(size=32768) core:1 pu:4", NULL, NULL, 64, 1,
      { { 1, "0", 16 * KIB, 512 * KIB, 0, 4 * MIB },
        { 8, "0,8,16,24,32,40,48,56", 16 * KIB, 512 * KIB, 0, 32 * MIB },
        { 64, "0,8,16,24,32,40,48,56,4,12,20,28,36,44,52,60,1,9", 4 * KIB, 64 * KIB, 0, 32 * MIB } },
      { 32 * KIB, MIB, 2 * MIB, 3 * MIB }, { 1, 2, 0, 0 } },
    /* No cache is described, nor a core. */
    { "nothing but threads", "pu:3", NULL, NULL, 3, 1,
      { { 1, "0", 0, 0, 0, 0 }, { 2, "0,1", 0, 0, 0, 0 }, { 3, "0,1,2", 0, 0, 0, 0 } }, { 1, 4096, MIB, MIB }, { 0, 0, 0, 0 } },
};

static void load(struct cpu_topology *p, const struct machine *m)
{
    struct error err;
    const char *src = getenv("ROOFCAST_DATA");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/ceilings/%s", src ? src : ".", m->xml ? m->xml : "");
    if (m->xml) {
        environment_set_topology(true);
        setenv("HWLOC_XMLFILE", path, 1);
        setenv("HWLOC_THISSYSTEM", "0", 1);
    }
    int rc = cpu_topology_load(p, m->synthetic, &err);
    unsetenv("HWLOC_XMLFILE");
    environment_set_topology(false);
    unsetenv("HWLOC_THISSYSTEM");
    assert_ok(rc, err);
    assert_false(p->live);
}

static void order(struct cpulist *l, const struct cpu_topology *p, const struct machine *m)
{
    struct error err;
    struct cpulist only = { 0 };
    if (m->only)
        assert_ok(cpulist_parse(&only, m->only, &err), err);
    assert_ok(cpu_topology_order(p, m->only ? &only : NULL, l, &err), err);
    assert_int_equal(l->n, m->only ? only.n : p->n);
    cpulist_free(&only);
}

static void text_of(char *buf, size_t size, const int *cpu, int n)
{
    size_t len = 0;
    buf[0] = 0;
    for (int i = 0; i < n && len < size; i++)
        len += (size_t)snprintf(buf + len, size - len, "%s%d", i ? "," : "", cpu[i]);
}

static void threads_go_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(machines); i++) {
        const struct machine *m = &machines[i];
        struct cpu_topology p;
        struct cpulist l;
        load(&p, m);
        assert_int_equal(p.n, m->n_pus);
        assert_int_equal(p.n_node, m->n_nodes);
        order(&l, &p, m);
        for (size_t k = 0; k < ARRAY_LEN(m->count); k++) {
            const struct count *c = &m->count[k];
            char text[2048];
            assert_true((size_t)c->n <= l.n);
            text_of(text, sizeof text, l.cpu, c->n);
            const size_t len = strlen(c->cpus);
            if (strncmp(text, c->cpus, len) != 0 || (text[len] != 0 && text[len] != ','))
                fail_msg("%s, %d threads: on %s, expected %s", m->name, c->n, text, c->cpus);
        }
        cpulist_free(&l);
        cpu_topology_free(&p);
    }
}

static void check_bytes(const struct machine *m, const struct count *c, const char *what, size_t found, size_t expected)
{
    /* By hand within a page. */
    const size_t d = found > expected ? found - expected : expected - found;
    if (d > 4096 || (found == 0) != (expected == 0))
        fail_msg("%s, %d threads: %s %zu bytes, expected %zu", m->name, c->n, what, found, expected);
}

static void footprints_are_in_their_level(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(machines); i++) {
        const struct machine *m = &machines[i];
        struct cpu_topology p;
        struct cpulist l;
        load(&p, m);
        order(&l, &p, m);
        for (size_t k = 0; k < ARRAY_LEN(m->count); k++) {
            const struct count *c = &m->count[k];
            const size_t expected[3] = { c->l1, c->l2, c->l3 };
            for (int level = LEVEL_L1; level <= LEVEL_L3; level++) {
                const char *why = NULL;
                const size_t bytes = footprint_of_cache(&p, l.cpu, (size_t)c->n, (enum level)level, &why);
                check_bytes(m, c, level_names[level], bytes, expected[level]);
                assert_int_equal(bytes == 0, why[0] != 0); /* what cannot be has a reason */
                /* What a level's roof touches is in that level. */
                if (bytes)
                    assert_int_equal(cpu_topology_level(&p, l.cpu, (size_t)c->n, (double)bytes), level + 1);
            }
            bool small;
            const double caches = cpu_topology_llc_bytes(&p, l.cpu, (size_t)c->n);
            check_bytes(m, c, "memory", footprint_of_memory(caches, 0, 0, &small), c->memory);
            assert_false(small);
        }
        for (size_t k = 0; k < ARRAY_LEN(m->bytes); k++)
            if (cpu_topology_level(&p, l.cpu, (size_t)m->count[1].n, m->bytes[k]) != m->level[k])
                fail_msg("%s: %.0f bytes are in level %d, expected %d", m->name, m->bytes[k],
                         cpu_topology_level(&p, l.cpu, (size_t)m->count[1].n, m->bytes[k]), m->level[k]);
        cpulist_free(&l);
        cpu_topology_free(&p);
    }
}

static void memory_is_limited(void **state)
{
    (void)state;
    bool small;
    const double mib = 1048576;
    assert_int_equal(footprint_of_memory(32 * mib, 0, 1024 * mib, &small), 1024u * MIB); /* at least that */
    assert_false(small);
    assert_int_equal(footprint_of_memory(512 * mib, 8192 * mib, 1024 * mib, &small), 2048u * MIB);
    assert_false(small);
    assert_int_equal(footprint_of_memory(512 * mib, 2048 * mib, 1024 * mib, &small), 1024u * MIB); /* half of what is free */
    assert_true(small);
    assert_int_equal(footprint_of_memory(32 * mib, 512 * mib, 1024 * mib, &small), 256u * MIB);
    assert_false(small); /* still four times the caches */
    assert_true(ceilings_free_bytes() >= 0);
}

static void grids(void **state)
{
    (void)state;
    size_t b[256];
    assert_int_equal(footprint_grid(4096, 65536, 1, b, 256), 5);
    assert_true(b[0] == 4096 && b[1] == 8192 && b[4] == 65536);
    const size_t n = footprint_grid(4096, 128 * 1048576.0, 8, b, 256);
    assert_true(b[n - 1] == 128 * MIB && n > 100 && n < 121);
    for (size_t i = 0; i < n; i++)
        assert_true(b[i] % 4096 == 0 && (i == 0 || b[i] > b[i - 1]));
    assert_int_equal(footprint_grid(4096, 1e12, 8, b, 10), 10);
}

static void counts(void **state)
{
    (void)state;
    static const struct {
        int n;
        const char *expected;
    } t[] = {
        { 1, "1" }, { 2, "1,2" }, { 8, "1,2,3,4,5,6,7,8" }, { 9, "1,2,3,4,6,8,9" }, { 16, "1,2,3,4,6,8,12,16" },
        { 72, "1,2,3,4,6,8,12,16,24,32,48,64,72" },
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        int c[64];
        char text[256];
        text_of(text, sizeof text, c, (int)curves_counts(t[i].n, c, 64));
        assert_string_equal(text, t[i].expected);
    }
}

/* Two nodes of four threads: two active ones have all of their node's memory, three as much as the fullest node allows. */
static void chunks(void **state)
{
    (void)state;
    struct cpu_topology p;
    struct error err;
    int n = 0;
    static const int cpu[8] = { 0, 4, 1, 5, 2, 6, 3, 7 };
    assert_ok(cpu_topology_load(&p, "numa:2 core:4 pu:1", &err), err);
    for (int active = 1; active <= 8; active++) {
        bool used[8] = { false };
        int *chunk = curves_share_chunks(&p, cpu, 8, active, &n, &err);
        assert_non_null(chunk);
        assert_int_equal(n, active <= 2 ? 4 : active <= 4 ? 2 : 1);
        for (int i = 0; i < active * n; i++) {
            assert_true(chunk[i] >= 0 && chunk[i] < 8 && !used[chunk[i]]); /* nobody reads what another one does */
            used[chunk[i]] = true;
            assert_int_equal(cpu[chunk[i]] / 4, cpu[i / n] / 4); /* and all of it is near */
        }
        free(chunk);
    }
    cpu_topology_free(&p);
}

static void node_pairs(void **state)
{
    (void)state;
    static const struct {
        const char *machine;
        int n; /* threads, in their order */
        const char *expected;
    } t[] = {
        { "package:2 core:4 pu:1", 8, "" }, /* one node: nothing to compare */
        { "package:2 numa:1 core:2 pu:1", 4, "0-0x2 0-1x2 1-0x2 1-1x2" },
        { "package:2 numa:1 core:2 pu:1", 1, "0-0x1 0-1x1" }, /* no threads on the second */
        /* Memory alone is read, and reads nothing. */
        { "package:1 [numa(memory=1073741824)] [numa(memory=1073741824)] core:2 pu:1", 2, "0-0x2 0-1x2" },
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        struct cpu_topology p;
        struct cpulist l;
        struct error err;
        struct node_pair pair[16];
        char text[256] = "";
        assert_ok(cpu_topology_load(&p, t[i].machine, &err), err);
        assert_ok(cpu_topology_order(&p, NULL, &l, &err), err);
        const size_t n = nodes_pairs(&p, l.cpu, t[i].n, pair, 16);
        for (size_t k = 0, len = 0; k < n; k++)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%d-%dx%d", k ? " " : "", pair[k].cpu_node, pair[k].mem_node,
                                    pair[k].n_threads);
        assert_string_equal(text, t[i].expected);
        cpulist_free(&l);
        cpu_topology_free(&p);
    }
}

/* This machine: all of it, each CPU once. */
static void here(void **state)
{
    (void)state;
    struct cpu_topology p;
    struct error err;
    struct cpulist l;
    assert_ok(cpu_topology_load(&p, NULL, &err), err);
    assert_true(p.live && p.n >= 1 && p.n_node >= 1);
    assert_ok(cpulist_usable(&l, &err), err);
    assert_int_equal(l.n, p.n);
    for (size_t i = 0; i < l.n; i++)
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(l.cpu[i], l.cpu[k]);
    assert_true(cpu_topology_share_bytes(&p, l.cpu, 1, 9) == 0); /* no such level */
    cpulist_free(&l);
    cpu_topology_free(&p);
    assert_fails(cpu_topology_load(&p, "nonsense", &err), err, "not a topology");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_go_there), cmocka_unit_test(footprints_are_in_their_level), cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(grids),            cmocka_unit_test(counts),                        cmocka_unit_test(chunks),
        cmocka_unit_test(node_pairs),       cmocka_unit_test(here),
    };
    return cmocka_run_group_tests_name("cpu_topology", tests, NULL, NULL);
}
