/*
 * counters/energy.c: joules from powercap zones or perf's power PMU.
 *
 * Zones are flat in /sys/class/powercap: intel-rapl:0 is a package (AMD too), intel-rapl:0:1 a subzone. A package includes its cores
 * and graphics, so packages and dram are summed. psys (the whole board) includes the packages and is skipped. intel-rapl-mmio:0
 * duplicates a package: used only when intel-rapl is missing.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "counters/energy.h"
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DOMAINS = 64, PATH_SIZE = 512, REASON_SIZE = 320 };

struct domain {
    bool dram, lost;
    char path[PATH_SIZE]; /* powercap: energy_uj */
    int fd;               /* power PMU event; else -1 */
    double unit_j;        /* joules per count */
    uint64_t range, last; /* counts wrap at range; 0: never */
    double sum_j;
};

struct energy {
    struct domain domain[DOMAINS];
    size_t n;
    bool dram; /* dram is counted */
    char source[128], reason[REASON_SIZE];
};

/* ---- files of sysfs ------------------------------------------------------------------- */

/* First line of a file; false with errno. */
static bool read_line(char *line, size_t size, const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    errno = 0;
    const bool ok = fgets(line, (int)size, f) != NULL;
    if (!ok && errno == 0)
        errno = ENODATA;
    const int failed = errno;
    fclose(f);
    errno = failed;
    if (ok)
        line[strcspn(line, "\n")] = 0;
    return ok;
}

static bool read_count(uint64_t *v, const char *path)
{
    char line[64], *end;
    if (!read_line(line, sizeof line, path))
        return false;
    errno = 0;
    *v = strtoull(line, &end, 10);
    if (end == line || *end || line[0] == '-')
        errno = EINVAL;
    return errno == 0;
}

/* ---- powercap --------------------------------------------------------------------------- */

/* Depth of "intel-rapl:0" (1) or "intel-rapl:0:1" (2) for control type "intel-rapl"; 0: another type. */
static int zone_depth(const char *zone, const char *type)
{
    const size_t n = strlen(type);
    int depth = 0;
    if (strncmp(zone, type, n) != 0)
        return 0;
    for (const char *p = zone + n; *p; depth++) {
        size_t digits;
        if (*p++ != ':' || (digits = strspn(p, "0123456789")) == 0)
            return 0;
        p += digits;
    }
    return depth;
}

static void add_name(struct energy *e, const char *name)
{
    const size_t len = strlen(e->source);
    snprintf(e->source + len, sizeof e->source - len, "%s%s", strchr(e->source, ':') ? ", " : ": ", name);
}

/* Adds a package or dram zone. An unreadable zone leaves its reason. */
static void add_zone(struct energy *e, const char *dir, int depth)
{
    char name[64], path[PATH_SIZE];
    struct domain d = { .fd = -1, .unit_j = 1e-6 };
    snprintf(path, sizeof path, "%.480s/name", dir);
    if (e->n == DOMAINS || !read_line(name, sizeof name, path))
        return;
    d.dram = depth == 2 && strcmp(name, "dram") == 0;
    if (!d.dram && !(depth == 1 && strncmp(name, "package-", 8) == 0))
        return;
    snprintf(d.path, sizeof d.path, "%.480s/energy_uj", dir);
    snprintf(path, sizeof path, "%.480s/max_energy_range_uj", dir);
    if (!read_count(&d.last, d.path))
        snprintf(e->reason, sizeof e->reason, "%.200s: %s%s", d.path, strerror(errno),
                 errno == EACCES ? " (since Linux 5.10 only root may: run as root, or chmod a+r it)" : "");
    else if (!read_count(&d.range, path) || d.range == 0)
        snprintf(e->reason, sizeof e->reason, "%.200s: no range, which wrap-arounds need", path);
    else {
        e->domain[e->n++] = d;
        add_name(e, name);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void open_powercap(struct energy *e, const char *root, const char *type)
{
    char dir[PATH_SIZE], zone[PATH_SIZE];
    struct dirent *entry;
    char *found[4 * DOMAINS];
    size_t n = 0;
    snprintf(dir, sizeof dir, "%.300s/sys/class/powercap", root);
    DIR *d = opendir(dir);
    if (!d)
        return;
    while ((entry = readdir(d)) != NULL && n < ARRAY_LEN(found))
        if (zone_depth(entry->d_name, type) > 0 && (found[n] = strdup(entry->d_name)) != NULL)
            n++;
    closedir(d);
    qsort(found, n, sizeof *found, by_name);
    snprintf(e->source, sizeof e->source, "powercap %s", type);
    for (size_t i = 0; i < n; i++) {
        snprintf(zone, sizeof zone, "%.400s/%.64s", dir, found[i]);
        add_zone(e, zone, zone_depth(found[i], type));
        free(found[i]);
    }
}

/* ---- perf's power PMU --------------------------------------------------------------------- */

/* "event=0x02" -> 2. */
static bool event_code(uint64_t *code, const char *text)
{
    char *end;
    if (strncmp(text, "event=", 6) != 0)
        return false;
    *code = strtoull(text + 6, &end, 0);
    return end != text + 6 && *end == 0;
}

/* Opens a PMU event on one CPU of each package, with the kernel's scale. */
static void add_event(struct energy *e, const char *pmu, uint32_t type, const struct cpulist *cpus, const char *event)
{
    char path[PATH_SIZE], line[64], *end;
    uint64_t code;
    snprintf(path, sizeof path, "%.400s/events/%s", pmu, event);
    if (!read_line(line, sizeof line, path) || !event_code(&code, line))
        return;
    snprintf(path, sizeof path, "%.400s/events/%s.scale", pmu, event);
    const double unit_j = read_line(line, sizeof line, path) ? strtod(line, &end) : 0;
    if (!(unit_j > 0) || *end)
        return;
    for (size_t i = 0; i < cpus->n && e->n < DOMAINS; i++) {
        struct perf_event_attr attr = { .type = type, .size = sizeof attr, .config = code };
        const int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpus->cpu[i], -1, PERF_FLAG_FD_CLOEXEC);
        if (fd < 0) {
            snprintf(e->reason, sizeof e->reason, "perf power/%s/ on CPU %d: %s%s", event, cpus->cpu[i], strerror(errno),
                     errno == EACCES || errno == EPERM ?
                         " (sysctl kernel.perf_event_paranoid=0, CAP_PERFMON, or root)" : "");
            return;
        }
        e->domain[e->n++] = (struct domain){ .dram = strcmp(event, "energy-ram") == 0, .fd = fd, .unit_j = unit_j };
    }
    add_name(e, event);
}

static void open_power_pmu(struct energy *e, const char *root)
{
    char pmu[PATH_SIZE], path[PATH_SIZE], line[256];
    struct cpulist cpus;
    uint64_t type;
    snprintf(pmu, sizeof pmu, "%.300s/sys/bus/event_source/devices/power", root);
    snprintf(path, sizeof path, "%.480s/type", pmu);
    if (!read_count(&type, path))
        return;
    snprintf(path, sizeof path, "%.480s/cpumask", pmu);
    if (!read_line(line, sizeof line, path) || cpulist_parse(&cpus, line, NULL) != 0)
        return;
    snprintf(e->source, sizeof e->source, "perf power PMU");
    add_event(e, pmu, (uint32_t)type, &cpus, "energy-pkg");
    if (e->n)
        add_event(e, pmu, (uint32_t)type, &cpus, "energy-ram");
    cpulist_free(&cpus);
}

/* ---- both ----------------------------------------------------------------------------------- */

static bool domain_count(const struct domain *d, uint64_t *v)
{
    return d->fd >= 0 ? read(d->fd, v, sizeof *v) == sizeof *v : read_count(v, d->path);
}

static void close_domains(struct energy *e)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->domain[i].fd >= 0)
            close(e->domain[i].fd);
    e->n = 0;
}

/* All packages or none: a partial sum is wrong. dram needs packages too. */
static bool complete(struct energy *e)
{
    size_t packages = 0;
    e->dram = false;
    for (size_t i = 0; i < e->n; i++) {
        packages += !e->domain[i].dram;
        e->dram |= e->domain[i].dram;
    }
    if (packages && !e->reason[0])
        return true;
    close_domains(e);
    return false;
}

struct energy *energy_open(const char *root, struct error *err)
{
    static const char *const types[] = { "intel-rapl", "intel-rapl-mmio" };
    struct energy *e = calloc(1, sizeof *e);
    char powercap[REASON_SIZE] = "";
    if (!e) {
        error_oom(err, sizeof *e, "energy counters");
        return NULL;
    }
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        open_powercap(e, root, types[i]);
        if (complete(e))
            return e;
        if (e->reason[0])
            memcpy(powercap, e->reason, sizeof powercap);
        e->reason[0] = 0;
    }
    open_power_pmu(e, root);
    if (complete(e))
        return e;
    e->source[0] = 0;
    if (powercap[0]) /* more specific than the PMU's reason */
        memcpy(e->reason, powercap, sizeof powercap);
    if (!e->reason[0])
        snprintf(e->reason, sizeof e->reason, "no zone of a package in %s/sys/class/powercap and no perf power PMU: a virtual "
                 "machine, a processor without RAPL, or modprobe intel_rapl_msr", root);
    return e;
}

void energy_close(struct energy *e)
{
    if (e)
        close_domains(e);
    free(e);
}

const char *energy_source(const struct energy *e)
{
    return e->source;
}

const char *energy_reason(const struct energy *e)
{
    return e->reason;
}

void energy_read(struct energy *e, struct energy_sample *out)
{
    size_t n[2] = { 0 };
    double sum_j[2] = { 0 };
    for (size_t i = 0; i < e->n; i++) {
        struct domain *d = &e->domain[i];
        uint64_t now = d->last;
        d->lost |= !domain_count(d, &now);
        /* methods.md (88) */
        d->sum_j += d->unit_j * (double)(now >= d->last ? now - d->last : d->range - d->last + now);
        d->last = now;
        sum_j[d->dram] += d->lost ? NAN : d->sum_j;
        n[d->dram]++;
    }
    out->package_j = n[0] ? sum_j[0] : NAN;
    out->dram_j = n[1] ? sum_j[1] : NAN;
}

double energy_of(const struct energy *e, const struct energy_sample *d, double seconds, char *why, size_t size)
{
    why[0] = 0;
    if (e->reason[0])
        snprintf(why, size, "%s", e->reason);
    else if (isnan(d->package_j) || (e->dram && isnan(d->dram_j)))
        snprintf(why, size, "%s: can no longer be read", e->source);
    else if (seconds < ENERGY_SHORTEST_S)
        snprintf(why, size, "measured for %.0f ms: energy counters are renewed every millisecond, a figure takes %.0f ms", 1e3 * seconds,
                 1e3 * ENERGY_SHORTEST_S);
    else if (d->package_j == 0)
        snprintf(why, size, "%s: did not change for %.1f s", e->source, seconds);
    return why[0] ? NAN : d->package_j + (e->dram ? d->dram_j : 0);
}
