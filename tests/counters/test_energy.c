/* Energy: made-up trees of powercap's zones, and perf's power PMU with a software event in its place. */
#include "tree.h"
#include "counters/energy.h"
#include <math.h>
#include <time.h>

static char root[64];

static void zone(const char *dir, const char *name, const char *energy, const char *range)
{
    char path[128];
    snprintf(path, sizeof path, "sys/class/powercap/%s/name", dir);
    tree_put(root, path, name);
    snprintf(path, sizeof path, "sys/class/powercap/%s/energy_uj", dir);
    tree_put(root, path, energy);
    snprintf(path, sizeof path, "sys/class/powercap/%s/max_energy_range_uj", dir);
    tree_put(root, path, range);
}

static void set(const char *dir, const char *energy)
{
    char path[128];
    snprintf(path, sizeof path, "sys/class/powercap/%s/energy_uj", dir);
    tree_put(root, path, energy);
}

static struct energy *must_open(void)
{
    struct error err = { 0 };
    struct energy *e = energy_open(root, &err);
    if (!e)
        fail_msg("energy_open: %s", err.msg);
    return e;
}

/* What went into it between two samples. */
static double used_j(const struct energy *e, const struct energy_sample *a, const struct energy_sample *b, double seconds,
                     char why[320])
{
    const struct energy_sample d = { b->package_j - a->package_j, b->dram_j - a->dram_j };
    return energy_of(e, &d, seconds, why, 320);
}

static int setup(void **state)
{
    (void)state;
    tree_new(root);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tree_free(root);
    return 0;
}

/* Two packages with memory each: parts of a package, the whole board and the second way to a package count nothing. */
static void two_packages(void **state)
{
    (void)state;
    struct energy_sample a, b;
    char why[320];
    zone("intel-rapl:0", "package-0\n", "1000000\n", "262143328850\n");
    zone("intel-rapl:0:0", "core\n", "400000\n", "262143328850\n");
    zone("intel-rapl:0:1", "dram\n", "10000\n", "65712999613\n");
    zone("intel-rapl:1", "package-1\n", "5000000\n", "262143328850\n");
    zone("intel-rapl:1:0", "dram\n", "20000\n", "65712999613\n");
    zone("intel-rapl:2", "psys\n", "90000000\n", "262143328850\n");
    zone("intel-rapl-mmio:0", "package-0\n", "1000000\n", "262143328850\n");
    struct energy *e = must_open();
    assert_string_equal(energy_reason(e), "");
    assert_string_equal(energy_source(e), "powercap intel-rapl: package-0, dram, package-1, dram");
    energy_read(e, &a);
    assert_true(a.package_j == 0 && a.dram_j == 0);
    set("intel-rapl:0", "4000000\n");
    set("intel-rapl:1", "5500000\n");
    set("intel-rapl:0:0", "999999999\n");
    set("intel-rapl:2", "999999999\n");
    set("intel-rapl-mmio:0", "4000000\n");
    set("intel-rapl:1:0", "270000\n");
    energy_read(e, &b);
    assert_true(fabs(b.package_j - 3.5) < 1e-9);
    assert_true(fabs(b.dram_j - 0.25) < 1e-9);
    assert_true(fabs(used_j(e, &a, &b, 1, why) - 3.75) < 1e-9);
    assert_string_equal(why, "");
    energy_close(e);
}

/* A counter that begins anew, twice. */
static void wrap_around(void **state)
{
    (void)state;
    struct energy_sample s;
    zone("intel-rapl:0", "package-0\n", "262143000000\n", "262143328850\n");
    struct energy *e = must_open();
    set("intel-rapl:0", "671150\n"); /* 328850 to the end, 671150 after it: 1 J */
    energy_read(e, &s);
    assert_true(fabs(s.package_j - 1) < 1e-9);
    assert_true(isnan(s.dram_j)); /* not 0: nobody counted it */
    set("intel-rapl:0", "262143000000\n");
    energy_read(e, &s);
    set("intel-rapl:0", "671150\n");
    energy_read(e, &s);
    assert_true(fabs(s.package_j - 262144.32885) < 1e-6);
    energy_close(e);
}

/* Only the second way is there: it counts. A part of it that is named like a package does not. */
static void second_way(void **state)
{
    (void)state;
    zone("intel-rapl-mmio:0", "package-0\n", "7\n", "1000\n");
    zone("intel-rapl-mmio:0:0", "package-9\n", "7\n", "1000\n");
    struct energy *e = must_open();
    assert_string_equal(energy_source(e), "powercap intel-rapl-mmio: package-0");
    energy_close(e);
}

static void check_nothing(const char *text)
{
    struct energy_sample a, b;
    char why[320];
    struct energy *e = must_open();
    if (!strstr(energy_reason(e), text))
        fail_msg("reason \"%s\" lacks \"%s\"", energy_reason(e), text);
    assert_string_equal(energy_source(e), "");
    energy_read(e, &a);
    energy_read(e, &b);
    assert_true(isnan(a.package_j) && isnan(a.dram_j));
    assert_true(isnan(used_j(e, &a, &b, 1, why)));
    assert_string_equal(why, energy_reason(e));
    energy_close(e);
}

static void nothing(void **state)
{
    (void)state;
    check_nothing("no zone of a package");
    zone("intel-rapl:0", "psys\n", "7\n", "1000\n");
    zone("dtpm:0", "package-0\n", "7\n", "1000\n"); /* another control type */
    check_nothing("no zone of a package");
}

/* One of two packages is worse than none: half a sum looks like a whole one. */
static void half(void **state)
{
    (void)state;
    char path[512];
    zone("intel-rapl:0", "package-0\n", "7\n", "1000\n");
    zone("intel-rapl:1", "package-1\n", "not a number\n", "1000\n");
    check_nothing("intel-rapl:1/energy_uj: Invalid argument");
    set("intel-rapl:1", "9\n");
    tree_put(root, "sys/class/powercap/intel-rapl:1/max_energy_range_uj", "0\n");
    check_nothing("no range");
    assert_int_equal(remove(tree_path(path, root, "sys/class/powercap/intel-rapl:1/energy_uj")), 0);
    check_nothing("No such file");
}

static void permission(void **state)
{
    (void)state;
    char path[512];
    zone("intel-rapl:0", "package-0\n", "7\n", "1000\n");
    assert_int_equal(chmod(tree_path(path, root, "sys/class/powercap/intel-rapl:0/energy_uj"), 0400), 0);
    if (geteuid() == 0 && seteuid(65534) != 0)
        skip();
    if (access(path, R_OK) == 0 && geteuid() != 65534) /* our own file */
        assert_int_equal(chmod(path, 0), 0);
    check_nothing("Permission denied (since Linux 5.10 only root may");
    if (getuid() == 0)
        assert_int_equal(seteuid(0), 0);
}

/* What was counted can go away (a module unloaded): from then on it is not known. */
static void lost(void **state)
{
    (void)state;
    struct energy_sample a, b;
    char path[512], why[320];
    zone("intel-rapl:0", "package-0\n", "0\n", "1000000\n");
    zone("intel-rapl:0:0", "dram\n", "0\n", "1000000\n");
    struct energy *e = must_open();
    energy_read(e, &a);
    set("intel-rapl:0", "500000\n");
    assert_int_equal(remove(tree_path(path, root, "sys/class/powercap/intel-rapl:0:0/energy_uj")), 0);
    energy_read(e, &b);
    assert_true(b.package_j == 0.5 && isnan(b.dram_j));
    assert_true(isnan(used_j(e, &a, &b, 1, why)));
    assert_non_null(strstr(why, "can no longer be read"));
    energy_close(e);
}

static void too_short_or_dead(void **state)
{
    (void)state;
    struct energy_sample a, b;
    char why[320];
    zone("intel-rapl:0", "package-0\n", "7\n", "1000\n");
    struct energy *e = must_open();
    energy_read(e, &a);
    energy_read(e, &b);
    assert_true(isnan(used_j(e, &a, &b, 2, why)));
    assert_non_null(strstr(why, "did not change for 2.0 s"));
    set("intel-rapl:0", "9\n");
    energy_read(e, &b);
    assert_true(isnan(used_j(e, &a, &b, 0.01, why)));
    assert_non_null(strstr(why, "measured for 10 ms"));
    energy_close(e);
}

/* The software PMU's clock of CPU 0 in the power PMU's clothes: nanoseconds times 1e-9 are "joules", so that the event is opened,
 * scaled and read for real. */
static void power_pmu(void **state)
{
    (void)state;
    struct energy_sample a, b;
    tree_put(root, "sys/bus/event_source/devices/power/type", "1\n");
    tree_put(root, "sys/bus/event_source/devices/power/cpumask", "0\n");
    tree_put(root, "sys/bus/event_source/devices/power/events/energy-pkg", "event=0x00\n");
    tree_put(root, "sys/bus/event_source/devices/power/events/energy-pkg.scale", "1e-9\n");
    tree_put(root, "sys/bus/event_source/devices/power/events/energy-ram", "event=0x00\n");
    tree_put(root, "sys/bus/event_source/devices/power/events/energy-ram.scale", "2e-9\n");
    struct energy *e = must_open();
    if (energy_reason(e)[0]) {
        print_message("# %s\n", energy_reason(e));
        energy_close(e);
        skip();
    }
    assert_string_equal(energy_source(e), "perf power PMU: energy-pkg, energy-ram");
    energy_read(e, &a);
    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    energy_read(e, &b);
    assert_true(b.package_j - a.package_j >= 0.015 && b.package_j - a.package_j < 60);
    assert_true(b.dram_j - a.dram_j > 1.5 * (b.package_j - a.package_j));
    energy_close(e);
    tree_put(root, "sys/bus/event_source/devices/power/type", "4242\n");
    check_nothing("perf power/energy-pkg/ on CPU 0: ");
    tree_put(root, "sys/bus/event_source/devices/power/type", "1\n");
    tree_put(root, "sys/bus/event_source/devices/power/events/energy-pkg.scale", "fast\n");
    check_nothing("no zone of a package");
}

/* This machine, whatever it has. */
static void here(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct energy_sample s;
    struct energy *e = energy_open("", &err);
    assert_non_null(e);
    print_message("# %s\n", energy_reason(e)[0] ? energy_reason(e) : energy_source(e));
    energy_read(e, &s);
    assert_true(isnan(s.package_j) == (energy_reason(e)[0] != 0));
    energy_close(e);
}

#define ENERGY_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        ENERGY_TEST(two_packages), ENERGY_TEST(wrap_around), ENERGY_TEST(second_way), ENERGY_TEST(nothing),
        ENERGY_TEST(half),         ENERGY_TEST(permission),  ENERGY_TEST(lost),       ENERGY_TEST(too_short_or_dead),
        ENERGY_TEST(power_pmu),    ENERGY_TEST(here),
    };
    return cmocka_run_group_tests_name("energy", tests, NULL, NULL);
}
