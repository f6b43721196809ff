/* Limits and use of this process: control-group quota and memory, peak memory, CPU time. */
#include "base/base.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { PATH_SIZE = 4096, DIR_SIZE = 3 * PATH_SIZE /* root, mount point, group */ };

/* ---- control groups: cgroups(7), and proc(5) for mountinfo ---------------------------------------- */

/* Quota over period (microseconds) as CPUs; INFINITY: none. */
static double quota_v2(const char *dir)
{
    char path[DIR_SIZE + 32];
    double quota, period, cpus = INFINITY;
    snprintf(path, sizeof path, "%s/cpu.max", dir);
    FILE *f = fopen(path, "r");
    if (!f)
        return INFINITY;
    if (fscanf(f, "%lf %lf", &quota, &period) == 2 && quota > 0 && period > 0) /* "max": no quota */
        cpus = quota / period;
    fclose(f);
    return cpus;
}

static double first_number(const char *dir, const char *file)
{
    char path[DIR_SIZE + 32];
    double v = NAN;
    snprintf(path, sizeof path, "%s/%s", dir, file);
    FILE *f = fopen(path, "r");
    if (!f)
        return NAN;
    if (fscanf(f, "%lf", &v) != 1)
        v = NAN;
    fclose(f);
    return v;
}

static double quota_v1(const char *dir)
{
    const double quota = first_number(dir, "cpu.cfs_quota_us"), period = first_number(dir, "cpu.cfs_period_us");
    return quota > 0 && period > 0 ? quota / period : INFINITY; /* -1: no quota */
}

static double positive_or_none(double v)
{
    return v > 0 ? v : INFINITY;
}
static double memory_v2(const char *dir)
{
    return positive_or_none(first_number(dir, "memory.max")); /* "max": no limit */
}
static double memory_v1(const char *dir)
{
    return positive_or_none(first_number(dir, "memory.limit_in_bytes")); /* no limit: a huge number */
}

/* True when item is in the comma-separated list. */
static bool listed(const char *list, const char *item)
{
    const size_t n = strlen(item);
    for (const char *p = list; (p = strstr(p, item)) != NULL; p += n)
        if ((p == list || p[-1] == ',') && (p[n] == 0 || p[n] == ','))
            return true;
    return false;
}

/* Decodes mountinfo's octal escapes. */
static void unescape(char *s)
{
    char *to = s;
    for (; *s; s++) {
        unsigned c;
        if (s[0] == '\\' && sscanf(s + 1, "%3o", &c) == 1 && strspn(s + 1, "01234567") >= 3) {
            *to++ = (char)c;
            s += 3;
        } else {
            *to++ = *s;
        }
    }
    *to = 0;
}

/* Mount point of a hierarchy and the group mounted there. */
struct mount {
    char root[PATH_SIZE], point[PATH_SIZE];
};

static bool find_mount(struct mount *m, FILE *mountinfo, const char *controller)
{
    const bool v2 = !controller;
    char line[DIR_SIZE], type[32], options[256];
    rewind(mountinfo);
    while (fgets(line, sizeof line, mountinfo)) {
        const char *dash = strstr(line, " - ");
        if (!dash || sscanf(line, "%*s %*s %*s %4095s %4095s", m->root, m->point) != 2 ||
            sscanf(dash, " - %31s %*s %255s", type, options) != 2)
            continue;
        if (v2 ? strcmp(type, "cgroup2") == 0 : strcmp(type, "cgroup") == 0 && listed(options, controller)) {
            unescape(m->root);
            unescape(m->point);
            return true;
        }
    }
    return false;
}

/* This process's group in the hierarchy, from "5:cpu,cpuacct:/a/b" or, version 2, "0::/a/b". */
static bool find_group(char *group, FILE *own, const char *controller)
{
    char line[PATH_SIZE];
    rewind(own);
    while (fgets(line, sizeof line, own)) {
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        path[strcspn(path, "\n")] = 0;
        if (controller ? listed(controllers + 1, controller) : controllers[1] == 0) {
            snprintf(group, PATH_SIZE, "%s", path);
            return true;
        }
    }
    return false;
}

/* Limit of a group's folder; INFINITY: none. */
typedef double group_limit(const char *dir);

/* Least limit of the groups from this process's own up to the mounted one; of the mounted one alone when the own group is outside
 * of it (containers). controller: version 1's; NULL: version 2. */
static double hierarchy_limit(const char *root, FILE *own, FILE *mountinfo, const char *controller, group_limit *limit)
{
    char group[PATH_SIZE], dir[DIR_SIZE];
    struct mount m;
    if (!find_mount(&m, mountinfo, controller) || !find_group(group, own, controller))
        return INFINITY;
    const size_t skip = strcmp(m.root, "/") == 0 ? 0 : strlen(m.root);
    const bool inside = strncmp(group, m.root, skip) == 0 && (group[skip] == '/' || group[skip] == 0) && !strstr(group, "/..");
    const int top = snprintf(dir, sizeof dir, "%s%s", root, m.point);
    snprintf(dir + top, sizeof dir - (size_t)top, "%s", inside ? group + skip : "");
    double least = INFINITY;
    for (;;) {
        least = fmin(least, limit(dir));
        char *slash = strrchr(dir, '/');
        if (!slash || slash < dir + top)
            return least;
        *slash = 0;
    }
}

static FILE *open_under(const char *root, const char *name)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s%s", root, name);
    return fopen(path, "r");
}

static double cgroup_limit(const char *root, group_limit *v2, const char *controller, group_limit *v1)
{
    FILE *own = open_under(root, "/proc/self/cgroup"), *mountinfo = open_under(root, "/proc/self/mountinfo");
    double least = INFINITY;
    if (own && mountinfo)
        least = fmin(hierarchy_limit(root, own, mountinfo, NULL, v2), hierarchy_limit(root, own, mountinfo, controller, v1));
    if (own)
        fclose(own);
    if (mountinfo)
        fclose(mountinfo);
    return least;
}

double cgroup_cpus(const char *root)
{
    return cgroup_limit(root, quota_v2, "cpu", quota_v1);
}

double cgroup_memory_bytes(const char *root)
{
    return cgroup_limit(root, memory_v2, "memory", memory_v1);
}

int threads_within(size_t n_cpus, double quota_cpus)
{
    if (quota_cpus >= (double)n_cpus)
        return (int)n_cpus;
    return quota_cpus >= 1 ? (int)quota_cpus : 1;
}

/* ---- memory ----------------------------------------------------------------------------------------- */

double memory_peak_bytes(const char *status, struct error *err)
{
    char line[256];
    double kib = NAN;
    FILE *f = fopen(status, "r");
    if (!f) {
        error_set(err, ERROR_UNAVAILABLE, "no %s here", status);
        return NAN;
    }
    while (isnan(kib) && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %lf kB", &kib) != 1)
            kib = NAN;
    fclose(f);
    if (isnan(kib))
        error_set(err, ERROR_UNAVAILABLE, "%s has no VmHWM", status);
    return kib * 1024;
}

void memory_peak_reset(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w"); /* proc(5): 5 resets VmHWM */
    if (!f)
        return;
    (void)fputs("5", f);
    (void)fclose(f);
}

/* ---- steal time and context switches ---- */

static bool has_cpu(const struct cpulist *l, int cpu)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->cpu[i] == cpu)
            return true;
    return false;
}

struct cpu_ticks cpu_ticks(const char *root, const struct cpulist *cpus)
{
    enum { USED = 8 /* user nice system idle iowait irq softirq steal; guests are part of user */ };
    char path[PATH_SIZE + 32], line[512];
    struct cpu_ticks t = { 0 };
    size_t found = 0;
    snprintf(path, sizeof path, "%s/proc/stat", root);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        int cpu;
        double v[USED];
        if (sscanf(line, "cpu%d %lf %lf %lf %lf %lf %lf %lf %lf", &cpu, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) !=
                USED + 1 ||
            !has_cpu(cpus, cpu))
            continue;
        for (int i = 0; i < USED; i++)
            t.all += v[i];
        t.stolen += v[USED - 1];
        found++;
    }
    if (f)
        fclose(f);
    return found > 0 && found == cpus->n ? t : (struct cpu_ticks){ NAN, NAN };
}

double process_involuntary_switches(void)
{
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) == 0 ? (double)u.ru_nivcsw : NAN;
}

double process_cpu_seconds(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0 ? (double)t.tv_sec + 1e-9 * (double)t.tv_nsec : NAN;
}
