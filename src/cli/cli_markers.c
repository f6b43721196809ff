/* Whether an outside tool counts this program: likwid-perfctr -m and users of PAPI's high-level API say so in the environment. */
#include "cli/cli.h"
#include "config.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/*
 * The CPUs that LIKWID counts are those that this program may use from now on: with -C LIKWID has left it the first of them
 * (and expects to pin each thread as it comes, which ours do by themselves), with -c all of the machine's.
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

/* PAPI's high-level API counts what PAPI_EVENTS names, in any program that has regions. */
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
        if (!getenv(needed[i])) /* LIKWID itself would complain */
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
