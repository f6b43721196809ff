/* doctor: reads the state of the system. */
#include "base/environment.h"
#include "bench/doctor.h"
#include "config.h"
#include "counters/counters.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH_SIZE = 4200, CAP_SYS_ADMIN_BIT = 21, CAP_PERFMON_BIT = 38 /* linux/capability.h */ };

static const char *below(char path[PATH_SIZE], const char *root, const char *name)
{
    snprintf(path, PATH_SIZE, "%.4000s/%s", root, name);
    return path;
}

/* First line of a file; "": none. */
static void first_line(char *line, size_t size, const char *root, const char *name)
{
    char path[PATH_SIZE];
    FILE *f = fopen(below(path, root, name), "r");
    if (!f || !fgets(line, (int)size, f))
        line[0] = 0;
    if (f)
        fclose(f);
    line[strcspn(line, "\n")] = 0;
}

/* First "key   : value" of cpuinfo or status. */
static bool keyed(char *value, size_t size, const char *root, const char *name, const char *key)
{
    char path[PATH_SIZE], line[8192];
    bool found = false;
    value[0] = 0;
    FILE *f = fopen(below(path, root, name), "r");
    while (f && !found && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        const size_t n = strlen(key);
        found = colon && strncmp(line, key, n) == 0 && strspn(line + n, " \t") == (size_t)(colon - line) - n;
        if (found) {
            colon += 1 + strspn(colon + 1, " \t");
            snprintf(value, size, "%.*s", (int)strcspn(colon, "\n"), colon);
        }
    }
    if (f)
        fclose(f);
    return found;
}

static bool has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = list; (p = strstr(p, word)) != NULL; p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == 0))
            return true;
    return false;
}

static void read_cpu(struct doctor_system *f)
{
    char text[8192], path[PATH_SIZE];
    f->no_proc = access(below(path, f->root, "proc/cpuinfo"), R_OK) != 0;
    f->no_sys = access(below(path, f->root, "sys/kernel"), R_OK | X_OK) != 0;
    keyed(f->cpu, sizeof f->cpu, f->root, "proc/cpuinfo", "model name");
    keyed(f->vendor, sizeof f->vendor, f->root, "proc/cpuinfo", "vendor_id");
    f->family = keyed(text, sizeof text, f->root, "proc/cpuinfo", "cpu family") ? atoi(text) : -1;
    f->arm = keyed(text, sizeof text, f->root, "proc/cpuinfo", "CPU implementer");
    if (keyed(text, sizeof text, f->root, "proc/cpuinfo", "flags")) {
        f->virtual_machine = has_word(text, "hypervisor");
        f->steady_tsc = has_word(text, "constant_tsc") && has_word(text, "nonstop_tsc");
    }
    first_line(text, sizeof text, f->root, "sys/class/dmi/id/sys_vendor"); /* Arm has no CPU flag for virtual machines */
    f->virtual_machine |= strcmp(text, "QEMU") == 0 || strcmp(text, "Amazon EC2") == 0 || strcmp(text, "Google") == 0;
    f->steady_tsc |= f->arm;
    if (!f->cpu[0] && !*f->root)
        cpu_model_name(f->cpu, sizeof f->cpu);
}

static void read_rights(struct doctor_system *f)
{
    char text[256], path[PATH_SIZE];
    unsigned uid;
    first_line(text, sizeof text, f->root, "proc/sys/kernel/perf_event_paranoid");
    f->paranoid = text[0] ? atoi(text) : DOCTOR_UNKNOWN;
    if (keyed(text, sizeof text, f->root, "proc/self/status", "Uid")) /* real, effective, ... */
        f->is_root = sscanf(text, "%*u %u", &uid) == 1 && uid == 0;
    if (keyed(text, sizeof text, f->root, "proc/self/status", "CapEff")) {
        const unsigned long long caps = strtoull(text, NULL, 16);
        f->may_perf = (caps >> CAP_SYS_ADMIN_BIT | caps >> CAP_PERFMON_BIT) & 1;
    }
    f->container = file_exists(below(path, f->root, ".dockerenv")) || file_exists(below(path, f->root, "run/.containerenv"));
    f->msr_file = file_exists(below(path, f->root, "dev/cpu/0/msr"));
    const int fd = f->msr_file ? open(path, O_RDWR | O_CLOEXEC) : -1;
    f->msr = fd >= 0;
    if (fd >= 0)
        close(fd);
}

static bool begins(const char *name, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (strncmp(name, *prefixes, strlen(*prefixes)) == 0)
            return true;
    return false;
}

static void add_name(char *list, size_t size, const char *name)
{
    const size_t len = strlen(list);
    if (len + strlen(name) + 3 < size)
        snprintf(list + len, size - len, "%s%s", len ? " " : "", name);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* PMUs of cores and of memory traffic, by the names of kernel drivers. */
static void read_pmus(struct doctor_system *f)
{
    static const char *const core[] = { "cpu_core", "cpu_atom", "armv7_", "armv8_", "armv9_", "apple_", NULL };
    static const char *const dram[] = { "uncore_imc", "amd_umc", "amd_df", "arm_cmn", "arm_dmc", "nvidia_scf", "hisi_sccl", "imx", NULL };
    char path[PATH_SIZE];
    struct dirent **entry;
    const int n = scandir(below(path, f->root, "sys/bus/event_source/devices"), &entry, NULL, by_name);
    for (int i = 0; i < n; i++) {
        const char *name = entry[i]->d_name;
        if (strcmp(name, "cpu") == 0 || begins(name, core))
            add_name(f->core_pmu, sizeof f->core_pmu, name);
        if (begins(name, dram) && (strncmp(name, "hisi", 4) != 0 || strstr(name, "ddrc")))
            add_name(f->dram_pmu, sizeof f->dram_pmu, name);
        free(entry[i]);
    }
    if (n >= 0)
        free(entry);
}

/* Counts user-mode cycles of this thread, the minimum of a hardware backend. */
static int try_cycles(void)
{
    struct perf_event_attr a = { .type = PERF_TYPE_HARDWARE, .size = sizeof a, .config = PERF_COUNT_HW_CPU_CYCLES,
                                 .exclude_kernel = 1, .exclude_hv = 1 };
    const int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

void doctor_system_read(struct doctor_system *f, const char *root)
{
    struct error err = { 0 };
    *f = (struct doctor_system){ .root = root, .cycles_errno = DOCTOR_UNKNOWN };
    read_cpu(f);
    read_rights(f);
    read_pmus(f);
    f->events = counters_describe_events(f->events_text, sizeof f->events_text, environment()->data_dirs, root, &err);
    if (f->events < 0)
        snprintf(f->events_text, sizeof f->events_text, "%.300s", err.msg);
    first_line(f->kernel, sizeof f->kernel, root, "proc/sys/kernel/osrelease");
    sscanf(f->kernel, "%d.%d", &f->kernel_major, &f->kernel_minor);
    first_line(f->clocksource, sizeof f->clocksource, root, "sys/devices/system/clocksource/clocksource0/current_clocksource");
    first_line(f->huge_pages, sizeof f->huge_pages, root, "sys/kernel/mm/transparent_hugepage/enabled");
    if (!*root)
        f->cycles_errno = try_cycles();
}

json_t *doctor_system_json(const struct doctor_system *f)
{
    return json_pack("{s:o, s:o, s:o, s:b, s:b, s:b, s:b, s:o, s:o}", "cpu", *f->cpu ? json_text(f->cpu) : json_null(), "kernel",
                     *f->kernel ? json_text(f->kernel) : json_null(), "perf_event_paranoid",
                     f->paranoid == DOCTOR_UNKNOWN ? json_null() : json_integer(f->paranoid), "root", (int)f->is_root,
                     "may_perf", (int)f->may_perf, "virtual_machine", (int)f->virtual_machine, "container", (int)f->container,
                     "core_pmu", *f->core_pmu ? json_text(f->core_pmu) : json_null(), "dram_pmu",
                     *f->dram_pmu ? json_text(f->dram_pmu) : json_null());
}
