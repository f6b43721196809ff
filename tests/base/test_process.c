/* base: what the system grants: NUMA orders on described machines, quotas in made-up control groups, peak memory. */
#include "../test.h"
#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- NUMA ------------------------------------------------------------------------------------ */

static void assert_order(enum numa_mode mode, const char *topology, int here, const char *expected)
{
    struct error err = { 0 };
    struct cpulist l;
    char text[512] = "";
    assert_ok(cpulist_numa(&l, mode, topology, here, &err), err);
    for (size_t i = 0, n = 0; i < l.n; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%d", i ? "," : "", l.cpu[i]);
    assert_string_equal(text, expected);
    cpulist_free(&l);
}

static void test_distribute(void **state)
{
    (void)state;
    /* Two nodes of four cores: any first n threads differ by one at most between them. */
    assert_order(NUMA_DISTRIBUTE, "node:2 core:4 pu:1", 0, "0,4,1,5,2,6,3,7");
    assert_order(NUMA_DISTRIBUTE, "node:3 core:1 pu:1", 2, "0,1,2");
    /* Cores before their second hardware threads, in each node. */
    assert_order(NUMA_DISTRIBUTE, "node:2 core:2 pu:2", 0, "0,4,2,6,1,5,3,7");
    assert_order(NUMA_DISTRIBUTE, "node:1 core:2 pu:2", 0, "0,2,1,3");
    /* Memory of two kinds: two nodes with the same CPUs are one. */
    assert_order(NUMA_DISTRIBUTE, "pack:2 [numa] [numa] core:2 pu:1", 0, "0,2,1,3");
}

static void test_isolate(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct cpulist l;
    assert_order(NUMA_ISOLATE, "node:2 core:4 pu:1", 0, "0,1,2,3");
    assert_order(NUMA_ISOLATE, "node:2 core:4 pu:1", 6, "4,5,6,7");
    assert_order(NUMA_ISOLATE, "node:2 core:2 pu:2", 7, "4,6,5,7");
    assert_order(NUMA_ISOLATE, "node:1 core:2 pu:1", 1, "0,1");
    assert_fails(cpulist_numa(&l, NUMA_ISOLATE, "node:2 core:4 pu:1", 99, &err), err, "no CPU");
    assert_fails(cpulist_numa(&l, NUMA_ISOLATE, "no such thing", 0, &err), err, "not a topology");
}

/* On this machine both give CPUs that may be used, each once; with one node, all of them. */
static void test_numa_here(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct cpulist all, l;
    assert_ok(cpulist_usable(&all, &err), err);
    for (int mode = NUMA_DISTRIBUTE; mode <= NUMA_ISOLATE; mode++) {
        assert_ok(cpulist_numa(&l, (enum numa_mode)mode, NULL, 0, &err), err);
        assert_true(l.n >= 1 && l.n <= all.n);
        for (size_t i = 0; i < l.n; i++) {
            size_t seen = 0, usable = 0;
            for (size_t k = 0; k < l.n; k++)
                seen += l.cpu[k] == l.cpu[i];
            for (size_t k = 0; k < all.n; k++)
                usable += all.cpu[k] == l.cpu[i];
            assert_int_equal(seen, 1);
            assert_int_equal(usable, 1);
        }
        cpulist_free(&l);
    }
    cpulist_free(&all);
}

/* ---- control groups ------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *s, int flag, struct FTW *f)
{
    (void)s;
    (void)flag;
    (void)f;
    return remove(path);
}

/* A folder that stands for /. */
static int make_root(void **state)
{
    char path[] = "/tmp/roofcast-process-XXXXXX";
    *state = mkdtemp(path) ? strdup(path) : NULL;
    return *state ? 0 : -1;
}

static int drop_root(void **state)
{
    nftw(*state, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return 0;
}

static void put(const char *root, const char *name, const char *text)
{
    char path[512];
    struct error err;
    snprintf(path, sizeof path, "%s/%s", root, name);
    *strrchr(path, '/') = 0;
    assert_ok(dir_make(path, &err), err);
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

#define V2_MOUNT "35 25 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"

/* The tightest quota between a process's own group and the top counts. */
static void test_quota_v2(void **state)
{
    const char *root = *state;
    put(root, "proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" V2_MOUNT);
    put(root, "proc/self/cgroup", "0::/user.slice/job\n");
    assert_true(isinf(cgroup_cpus(root))); /* no such files: no limit */
    put(root, "sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n");
    assert_true(isinf(cgroup_cpus(root)));
    put(root, "sys/fs/cgroup/user.slice/job/cpu.max", "250000 100000\n");
    assert_true(cgroup_cpus(root) == 2.5);
    put(root, "sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
    assert_true(cgroup_cpus(root) == 1.5);
    put(root, "sys/fs/cgroup/cpu.max", "50000 100000\n");
    assert_true(cgroup_cpus(root) == 0.5);
    put(root, "sys/fs/cgroup/cpu.max", "garbage\n");
    assert_true(cgroup_cpus(root) == 1.5);
    put(root, "sys/fs/cgroup/cpu.max", "0 0\n");
    assert_true(cgroup_cpus(root) == 1.5);
    /* A sibling with a name that begins alike is not on the way. */
    put(root, "sys/fs/cgroup/user.slice/jo/cpu.max", "10000 100000\n");
    assert_true(cgroup_cpus(root) == 1.5);
}

/* A container's view: the namespace's own top is "/", and a group above it shows as "/..". */
static void test_quota_container(void **state)
{
    const char *root = *state;
    put(root, "proc/self/mountinfo", V2_MOUNT);
    put(root, "sys/fs/cgroup/cpu.max", "300000 100000\n");
    put(root, "proc/self/cgroup", "0::/\n");
    assert_true(cgroup_cpus(root) == 3);
    put(root, "proc/self/cgroup", "0::/../other\n");
    put(root, "sys/fs/other/cpu.max", "1000 100000\n"); /* where that would lead */
    assert_true(cgroup_cpus(root) == 3);
}

static void test_quota_v1(void **state)
{
    const char *root = *state;
    /* docker without a cgroup namespace: the group that is mounted is the container's own */
    put(root, "proc/self/mountinfo",
        "30 25 0:26 /docker/abc /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n"
        "31 25 0:27 /docker/abc /sys/fs/cgroup/cpu\\040acct ro - cgroup cgroup rw,cpuacct,cpu\n");
    put(root, "proc/self/cgroup", "7:cpuset:/docker/abc\n4:cpuacct,cpu:/docker/abc/in\n0::/\n");
    put(root, "sys/fs/cgroup/cpu acct/cpu.cfs_quota_us", "-1\n");
    put(root, "sys/fs/cgroup/cpu acct/cpu.cfs_period_us", "50000\n");
    assert_true(isinf(cgroup_cpus(root)));
    put(root, "sys/fs/cgroup/cpu acct/cpu.cfs_quota_us", "200000\n");
    assert_true(cgroup_cpus(root) == 4);
    put(root, "sys/fs/cgroup/cpu acct/in/cpu.cfs_quota_us", "75000\n");
    put(root, "sys/fs/cgroup/cpu acct/in/cpu.cfs_period_us", "50000\n");
    assert_true(cgroup_cpus(root) == 1.5);
    /* cpuset's hierarchy has no say, whatever lies in it */
    put(root, "sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "100\n");
    put(root, "sys/fs/cgroup/cpuset/cpu.cfs_period_us", "50000\n");
    assert_true(cgroup_cpus(root) == 1.5);
}

static void test_memory_limit(void **state)
{
    const char *root = *state;
    put(root, "proc/self/mountinfo", V2_MOUNT "32 25 0:28 / /sys/fs/memory rw - cgroup cgroup rw,memory\n");
    put(root, "proc/self/cgroup", "3:memory:/a\n0::/user.slice/job\n");
    assert_true(isinf(cgroup_memory_bytes(root)));
    put(root, "sys/fs/cgroup/user.slice/job/memory.max", "max\n");
    assert_true(isinf(cgroup_memory_bytes(root)));
    put(root, "sys/fs/cgroup/user.slice/memory.max", "2147483648\n");
    assert_true(cgroup_memory_bytes(root) == 2147483648.0);
    put(root, "sys/fs/memory/a/memory.limit_in_bytes", "1073741824\n");
    assert_true(cgroup_memory_bytes(root) == 1073741824.0);
    put(root, "sys/fs/memory/a/memory.limit_in_bytes", "-1\n");
    assert_true(cgroup_memory_bytes(root) == 2147483648.0);
}

static void test_no_cgroups(void **state)
{
    assert_true(isinf(cgroup_cpus(*state)));
    put(*state, "proc/self/cgroup", "nonsense\n::::\n");
    put(*state, "proc/self/mountinfo", "nonsense - \n - cgroup2 x y\n");
    assert_true(isinf(cgroup_cpus(*state)));
    assert_true(cgroup_cpus("") > 0);
}

static void test_threads_within(void **state)
{
    (void)state;
    assert_int_equal(threads_within(8, INFINITY), 8);
    assert_int_equal(threads_within(8, 8), 8);
    assert_int_equal(threads_within(8, 7.99), 7);
    assert_int_equal(threads_within(8, 2), 2);
    assert_int_equal(threads_within(8, 0.3), 1);
    assert_int_equal(threads_within(2, 64), 2);
}

/* ---- memory ---------------------------------------------------------------------------------------- */

static void test_peak(void **state)
{
    struct error err = { 0 };
    char path[512];
    put(*state, "status", "Name:\tx\nVmPeak:\t  99 kB\nVmHWM:\t    1234 kB\n");
    snprintf(path, sizeof path, "%s/status", (const char *)*state);
    assert_true(memory_peak_bytes(path, &err) == 1234 * 1024.0);
    put(*state, "status", "Name:\tx\n");
    assert_true(isnan(memory_peak_bytes(path, &err)));
    assert_non_null(strstr(err.msg, "no VmHWM"));
    assert_true(isnan(memory_peak_bytes("/nonexistent/status", &err)));
    assert_non_null(strstr(err.msg, "no /nonexistent/status"));

    const size_t n = (size_t)64 << 20;
    const double before = memory_peak_bytes("/proc/self/status", &err);
    if (isnan(before)) {
        print_message("# skipped: %s\n", err.msg);
        return;
    }
    unsigned char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    memset(p, 1, n);
    munmap(p, n);
    const double with = memory_peak_bytes("/proc/self/status", &err);
    assert_true(with >= (double)n && with >= before);
    memory_peak_reset();
    assert_true(memory_peak_bytes("/proc/self/status", &err) <= with);
}

/* CPUs 1 and 3 of a made-up /proc/stat: 1000 and 500 ticks, 30 and 20 of them stolen; guests are in user already. */
static void test_ticks(void **state)
{
    const char *root = *state;
    put(root, "proc/stat", "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 9 9 9 9 9 9 9 9 9 9\ncpu1 400 10 100 400 20 10 30 30 77 7\n"
                           "cpu2 1\ncpu3 200 0 50 200 10 10 10 20 0 0\nintr 5\n");
    struct cpu_ticks t = cpu_ticks(root, &(struct cpulist){ (int[]){ 1, 3 }, 2 });
    assert_true(t.all == 1500 && t.stolen == 50);
    t = cpu_ticks(root, &(struct cpulist){ (int[]){ 1, 2 }, 2 }); /* one of them does not say */
    assert_true(isnan(t.all) && isnan(t.stolen));
    t = cpu_ticks("/no/such", &(struct cpulist){ (int[]){ 1 }, 1 });
    assert_true(isnan(t.all));
    assert_true(process_involuntary_switches() >= 0);
    const double cpu_s = process_cpu_seconds();
    const uint64_t t0 = clock_now_ns();
    while (process_cpu_seconds() < cpu_s + 0.002)
        ;
    assert_true(cpu_s > 0 && clock_now_ns() - t0 > 1000000); /* one thread: no faster than the clock on the wall */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distribute),
        cmocka_unit_test(test_isolate),
        cmocka_unit_test(test_numa_here),
        cmocka_unit_test_setup_teardown(test_quota_v2, make_root, drop_root),
        cmocka_unit_test_setup_teardown(test_quota_container, make_root, drop_root),
        cmocka_unit_test_setup_teardown(test_quota_v1, make_root, drop_root),
        cmocka_unit_test_setup_teardown(test_memory_limit, make_root, drop_root),
        cmocka_unit_test_setup_teardown(test_no_cgroups, make_root, drop_root),
        cmocka_unit_test_setup_teardown(test_ticks, make_root, drop_root),
        cmocka_unit_test(test_threads_within),
        cmocka_unit_test_setup_teardown(test_peak, make_root, drop_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
