/*
 * roofcast-likwid: the only program that calls LIKWID's perfmon library (GPL), started by `--counters likwid`: the library exits the
 * process when it cannot access counters.
 *
 *   roofcast-likwid GROUP,GROUP,... CPU,CPU,...
 *
 * Line protocol (> output, < input):
 *   > roofcast-likwid 1                        name and protocol version
 *   > refused WHY                              then exits; else one line per quantity
 *   > event SET FIELD NAME                     counted in set SET (a LIKWID group), in units of the field
 *   > ready N                                  N events
 *   < read          > counts V0 V1 ...         totals of all events; the selected set keeps counting
 *   < set K         > set K                    selects a set
 *   < (end)                                    exits
 * Groups "-" test availability: refused, or ready 0.
 */
#include <errno.h>
#include <likwid.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CPUS = 1024, EVENTS = 32, SETS = 16 };

/* The state of this single-threaded program. */
static struct event {
    int set, group, metric;
    bool rate; /* MFLOP/s; else GBytes */
    double total;
} events[EVENTS];
static int n_event, n_set, group_of[SETS], active;
static FILE *out;

/* Metrics of LIKWID's groups to fields; read and write precede their sum. */
static const struct metric {
    const char *name, *field;
    bool rate, sum;
} metrics[] = {
    { "Memory read data volume [GBytes]", "dram_read_bytes", false, false },
    { "Memory write data volume [GBytes]", "dram_write_bytes", false, false },
    { "Memory data volume [GBytes]", "dram_bytes", false, true },
    { "Memory data volume (channels 0-3) [GBytes]", "dram_bytes", false, true }, /* MEM1 and MEM2 of Zen 3 */
    { "Memory data volume (channels 4-7) [GBytes]", "dram_bytes", false, true },
    { "SP [MFLOP/s]", "flop", true, false },
    { "FP rate [MFLOP/s]", "flop", true, false },
    { "BF16 [MFLOP/s]", "bf16_flop", true, false },
};

static int refuse(const char *why)
{
    fprintf(out, "refused %s\n", why);
    fflush(out);
    return 3;
}

static int parse_cpus(char *text, int *cpu)
{
    int n = 0;
    for (char *t = strtok(text, ","); t && n < CPUS; t = strtok(NULL, ","))
        cpu[n++] = atoi(t);
    return n;
}

/* Checks registers or daemon first: LIKWID would wait 10 s and exit. */
static const char *no_access(int cpu)
{
    static char why[256];
    char path[64];
    struct stat s;
    init_configuration();
    const Configuration_t config = get_configuration();
    snprintf(path, sizeof path, "/dev/cpu/%d/msr", cpu);
    if (config->daemonMode == ACCESSMODE_PERF)
        return NULL;
    if (stat(path, &s) != 0) {
        snprintf(why, sizeof why, "no %s, with which LIKWID counts: modprobe msr (virtual machines have none)", path);
        return why;
    }
    if (access(path, R_OK | W_OK) == 0 && geteuid() == 0) {
        HPMmode(ACCESSMODE_DIRECT);
        return NULL;
    }
    if (config->daemonMode == ACCESSMODE_DAEMON && config->daemonPath && stat(config->daemonPath, &s) == 0 &&
        s.st_uid == 0 && (s.st_mode & S_ISUID))
        return NULL;
    snprintf(why, sizeof why, "%s is for root, and LIKWID's access daemon (%.80s) is not set-uid root", path,
             config->daemonPath ? config->daemonPath : "none");
    return why;
}

/* Equal but for trailing blanks. */
static bool named(const char *metric, const char *name)
{
    const size_t n = strlen(name);
    return metric && strncmp(metric, name, n) == 0 && metric[n + strspn(metric + n, " ")] == 0;
}

static void add_metrics(int set, int group, const char *name)
{
    bool parts = false;
    for (int pass = 0; pass < 2; pass++)
        for (int m = 0; m < perfmon_getNumberOfMetrics(group); m++)
            for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++) {
                if (!named(perfmon_getMetricName(group, m), metrics[k].name) || metrics[k].sum != (pass == 1) || (pass && parts) ||
                    n_event == EVENTS)
                    continue;
                parts = pass == 0;
                events[n_event++] = (struct event){ .set = set, .group = group, .metric = m, .rate = metrics[k].rate };
                fprintf(out, "event %d %s %s: %s\n", set, metrics[k].field, name, metrics[k].name);
            }
}

/* Starts the groups that this CPU has and that count something. */
static int begin(char *groups)
{
    for (char *g = strtok(groups, ","); g && n_set < SETS; g = strtok(NULL, ",")) {
        const int id = perfmon_addEventSet(g);
        if (id < 0)
            continue;
        const int before = n_event;
        add_metrics(n_set, id, g);
        if (n_event > before)
            group_of[n_set++] = id;
    }
    if (n_set == 0)
        return refuse("LIKWID has no group of this CPU that counts memory traffic or FLOP");
    if (perfmon_setupCounters(group_of[0]) != 0 || perfmon_startCounters() != 0)
        return refuse("LIKWID could not start the counters");
    fprintf(out, "ready %d\n", n_event);
    fflush(out);
    return 0;
}

/* Accumulates the selected set over all CPUs; a socket's counts are on its first CPU. */
static void collect(void)
{
    perfmon_readCounters();
    for (int i = 0; i < n_event; i++) {
        if (events[i].set != active)
            continue;
        const double time = perfmon_getLastTimeOfGroup(events[i].group);
        for (int t = 0; t < perfmon_getNumberOfThreads(); t++) {
            const double v = perfmon_getLastMetric(events[i].group, events[i].metric, t);
            events[i].total += events[i].rate ? 1e6 * v * time : 1e9 * v;
        }
    }
}

static void serve(void)
{
    char line[64];
    int set;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "set %d", &set) == 1 && set >= 0 && set < n_set) {
            collect();
            active = perfmon_switchActiveGroup(group_of[set]) == 0 ? set : active;
            fprintf(out, "set %d\n", active);
        } else if (strcmp(line, "read\n") == 0) {
            collect();
            fprintf(out, "counts");
            for (int i = 0; i < n_event; i++)
                fprintf(out, " %.17g", events[i].total);
            fprintf(out, "\n");
        }
        fflush(out);
    }
}

int main(int argc, char **argv)
{
    int cpu[CPUS];
    if (argc != 3) {
        fprintf(stderr, "roofcast-likwid is started by roofcast --counters likwid\n");
        return 2;
    }
    out = fdopen(dup(1), "w");
    if (!out || dup2(2, 1) < 0) /* keeps LIKWID's output out of the protocol */
        return 1;
    fprintf(out, "roofcast-likwid 1\n");
    const int n = parse_cpus(argv[2], cpu);
    const char *why = n ? no_access(cpu[0]) : "no CPU is named";
    if (why)
        return refuse(why);
    if (topology_init() != 0 || !get_cpuInfo()->short_name)
        return refuse("this LIKWID does not know the CPU");
    if (strcmp(argv[1], "-") == 0) {
        fprintf(out, "ready 0\n");
        return fclose(out) == 0 ? 0 : 1;
    }
    numa_init();
    affinity_init();
    if (perfmon_init(n, cpu) != 0)
        return refuse("LIKWID's perfmon_init failed");
    const int rc = begin(argv[1]);
    if (rc == 0) {
        serve();
        perfmon_stopCounters();
        perfmon_finalize();
    }
    return rc;
}
