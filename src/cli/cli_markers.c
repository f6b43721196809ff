/* Markers for external tools: likwid-perfctr -m and PAPI's high-level API, both detected from the environment. */
#include "cli/cli.h"
#include "config.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/*
 * Binds this process to the CPUs that LIKWID measures: with -C LIKWID restricts it to the first of them and expects to pin
 * each new thread, which this program does itself; with -c it may use all CPUs.
 */
static void take_cpus(const char *list)
{
    struct cpulist l;
    struct error err;
    cpu_set_t set;
    if (cpulist_parse(&l, list, &err) != 0) {
        notify_warn("LIKWID_THREADS: %s", err.msg);
        return;
    }
    CPU_ZERO(&set);
    for (size_t i = 0; i < l.n; i++)
        if (l.cpu[i] >= 0 && l.cpu[i] < CPU_SETSIZE)
            CPU_SET((size_t)l.cpu[i], &set);
    cpulist_free(&l);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        notify_warn("this process may not use the CPUs that likwid-perfctr counts (%s): work on other CPUs is not counted", list);
}

/* PAPI's high-level API counts the events of PAPI_EVENTS in the regions. */
static const struct marker_tool *papi_markers(void)
{
    const char *events = getenv("PAPI_EVENTS");
    const struct marker_tool *tool = markers_papi();
    if (events && *events && tool)
        tool->open();
    return events && *events ? tool : NULL;
}

const struct marker_tool *cli_markers_open(void)
{
    static const char *const needed[] = { "LIKWID_MODE", "LIKWID_EVENTS", "LIKWID_THREADS", "LIKWID_FILEPATH" };
    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        if (!getenv(needed[i])) /* LIKWID would report an error */
            return papi_markers();
    char why[320];
    const struct marker_tool *tool = markers_likwid(why, sizeof why);
    if (!tool) {
        notify_warn("likwid-perfctr -m: no regions: %s", why);
        return NULL;
    }
    tool->open();
    take_cpus(getenv("LIKWID_THREADS"));
    return tool;
}

void cli_markers_close(const struct marker_tool *tool)
{
    char why[320] = "";
    if (tool)
        tool->close(why, sizeof why);
    if (why[0])
        notify_warn("regions: %s", why);
}
