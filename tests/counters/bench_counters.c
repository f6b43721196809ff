/*
 * What counting costs: the time of one reading of every backend that works here, and of a region's start and stop for a tool
 * that does nothing itself. `make bench-counters`; the median of many, on one thread, pinned by nobody.
 */
#include "counters/counters.h"
#include "counters/energy.h"
#include "counters/markers.h"
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 31, READS = 2000 };

static void print(const char *what, double *seconds)
{
    char a[32], b[32], c[32];
    printf("  %-40s %10s  (%s to %s)\n", what, units_si(a, sizeof a, stats_median(seconds, ROUNDS), "s"),
           units_si(b, sizeof b, stats_quantile(seconds, ROUNDS, 0.05), "s"),
           units_si(c, sizeof c, stats_quantile(seconds, ROUNDS, 0.95), "s"));
}

static void bench_backend(const char *name)
{
    struct counter_source src = { 0 };
    struct counter_sample s;
    struct error err = { 0 };
    const char *const dirs[] = { getenv("ROOFCAST_DATA") ? getenv("ROOFCAST_DATA") : ".", NULL };
    const double before = clock_now_s();
    struct counters *c = counters_open(&(struct counters_options){ .backend = name, .src = &src, .n_threads = 1, .data_dirs = dirs }, &err);
    double seconds[ROUNDS], opened = clock_now_s() - before;
    char what[64], buf[32];
    if (!c || counters_thread_start(c, 0, &err) != 0) {
        printf("  %-40s %s\n", name, err.msg);
        counters_close(c);
        return;
    }
    for (int r = 0; r < ROUNDS; r++) {
        const double start = clock_now_s();
        for (int i = 0; i < READS; i++)
            counters_read(c, 0, &s);
        seconds[r] = (clock_now_s() - start) / READS;
    }
    snprintf(what, sizeof what, "%s: a reading of %zu events", name, counters_n_event(c));
    print(what, seconds);
    printf("  %-40s %10s\n", "  opening, known work included", units_si(buf, sizeof buf, opened, "s"));
    counters_thread_stop(c, 0);
    counters_close(c);
}

static void bench_energy(void)
{
    struct error err = { 0 };
    struct energy_sample s;
    struct energy *e = energy_open("", &err);
    double seconds[ROUNDS];
    if (!e || energy_reason(e)[0]) {
        printf("  %-40s %s\n", "energy", e ? energy_reason(e) : err.msg);
        energy_close(e);
        return;
    }
    for (int r = 0; r < ROUNDS; r++) {
        const double start = clock_now_s();
        for (int i = 0; i < READS; i++)
            energy_read(e, &s);
        seconds[r] = (clock_now_s() - start) / READS;
    }
    print("energy: a reading", seconds);
    energy_close(e);
}

static void bench_markers(const struct marker_tool *tool, const char *what)
{
    double seconds[ROUNDS];
    char why[256] = "";
    if (!tool) {
        printf("  %-40s not built in\n", what);
        return;
    }
    tool->open();
    tool->thread();
    tool->add("region");
    for (int r = 0; r < ROUNDS; r++) {
        const double start = clock_now_s();
        for (int i = 0; i < READS / 10; i++) {
            tool->start("region");
            tool->stop("region");
        }
        seconds[r] = (clock_now_s() - start) / (READS / 10.0);
    }
    tool->close(why, sizeof why);
    if (why[0])
        printf("  %-40s %s\n", what, why);
    else
        print(what, seconds);
}

int main(void)
{
    char why[256];
    const char *name;
    printf("Counting:\n");
    for (size_t i = 0; (name = counters_backend_at(i, why, sizeof why)) != NULL; i++)
        if (strcmp(name, "replay") != 0)
            bench_backend(name);
    bench_energy();
    printf("Regions (start and stop on one thread):\n");
    if (getenv("PAPI_EVENTS"))
        bench_markers(markers_papi(), "PAPI's high-level API");
    else
        printf("  %-40s %s\n", "PAPI's high-level API", "PAPI_EVENTS is not set");
    if (getenv("LIKWID_MODE"))
        bench_markers(markers_likwid(why, sizeof why), "LIKWID");
    else
        printf("  %-40s %s\n", "LIKWID", "not under likwid-perfctr -m");
    return 0;
}
