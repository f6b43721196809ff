/* doctor: the checks, one row each: finding and fix. */
#include "base/environment.h"
#include "bench/doctor.h"
#include "config.h"
#include "counters/counters.h"
#include "counters/energy.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Sources: cloud.google.com/compute/docs/pmu-overview; brendangregg.com, "The PMCs of EC2"; libvirt.org/formatdomain (features); QEMU's
 * -cpu help; VMware's "virtual CPU performance counters"; Microsoft's Set-VMProcessor.
 */
static const char pmu_in_vm[] =
    "bare metal, or a virtual machine with a PMU: KVM with -cpu host,pmu=on (libvirt: <pmu state='on'/> under <features>), "
    "Google C4 and C4A with --performance-monitoring-unit=standard, AWS .metal and the sizes that fill a socket, VMware with "
    "vpmc.enable = TRUE, Hyper-V with Set-VMProcessor -Perfmon";

static void say(char *text, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void say(char *text, size_t size, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, size, fmt, ap);
    va_end(ap);
}
#define FINDING(r, ...) say((r)->finding, sizeof (r)->finding, __VA_ARGS__)
#define FIX(r, ...)     say((r)->fix, sizeof (r)->fix, __VA_ARGS__)

static void fix_paranoid(struct doctor_row *r, int level)
{
    char program[512];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = 0;
    FIX(r,
        "sysctl -w kernel.perf_event_paranoid=%d (for good: echo kernel.perf_event_paranoid=%d >/etc/sysctl.d/50-perf.conf), or "
        "setcap cap_perfmon+ep %s",
        level, level, program);
}

static bool paranoid_above(const struct doctor_system *f, int level)
{
    return f->paranoid != DOCTOR_UNKNOWN && f->paranoid > level && !f->may_perf;
}

/* ---- counters ------------------------------------------------------------------------------- */

static void check_null(const struct doctor_system *f, struct doctor_row *r)
{
    (void)f;
    r->usable = true;
    FINDING(r, "time, and the bytes and FLOP counted by the engine");
}

static const char no_sys[] = "/sys is not mounted here, or cannot be read", no_proc[] = "/proc is not mounted here, or cannot be read";

/* Reports an unavailable source, which is unknown rather than absent. true: reported. */
static bool report_unavailable(struct doctor_row *r, bool missing, const char *where, const char *what)
{
    if (!missing)
        return false;
    FINDING(r, "%s: %s is not known", where, what);
    FIX(r, "mount -t %s; in a container, run it without a mask over that", where == no_sys ? "sysfs none /sys" : "proc none /proc");
    return true;
}

static void no_core_pmu(const struct doctor_system *f, struct doctor_row *r)
{
    if (report_unavailable(r, f->no_sys, no_sys, "which PMUs there are") ||
        report_unavailable(r, f->no_proc, no_proc, "no cpu in /sys/bus/event_source/devices, and whether this is a virtual machine"))
        return;
    if (f->virtual_machine) {
        FINDING(r, "this virtual machine has no PMU (no cpu in /sys/bus/event_source/devices): only software events");
        FIX(r, "%s", pmu_in_vm);
    } else {
        FINDING(r, "the kernel has no driver for this CPU's PMU (no cpu in /sys/bus/event_source/devices)");
        FIX(r, "a kernel with CONFIG_PERF_EVENTS that is newer than the CPU; on Arm firmware has to describe the PMU");
    }
}

static void check_perf(const struct doctor_system *f, struct doctor_row *r)
{
    const bool denied = f->cycles_errno == EACCES || f->cycles_errno == EPERM;
    if (f->cycles_errno == ENOSYS) {
        FINDING(r, "the kernel has no perf_event_open, or a sandbox forbids it");
        FIX(r, "a kernel with CONFIG_PERF_EVENTS; in a container --security-opt seccomp=unconfined");
    } else if (paranoid_above(f, 2) || (denied && f->paranoid > 2)) {
        FINDING(r, "kernel.perf_event_paranoid is %d: above 2 only CAP_PERFMON may count", f->paranoid);
        fix_paranoid(r, 2);
    } else if (denied) {
        FINDING(r, "perf_event_open is forbidden although kernel.perf_event_paranoid is %d: a sandbox or security module", f->paranoid);
        FIX(r, "in a container: docker run --cap-add PERFMON, or --security-opt seccomp=unconfined");
    } else if (!f->core_pmu[0]) {
        no_core_pmu(f, r);
    } else if (f->cycles_errno > 0) {
        FINDING(r, "PMU %s is there, but cycles cannot be counted: %s", f->core_pmu, strerror(f->cycles_errno));
        FIX(r, "another program may hold the counters: sysctl -w kernel.nmi_watchdog=0 frees one");
    } else {
        r->usable = true;
        FINDING(r, "events of the cores, PMU %s", f->core_pmu);
    }
}

static void check_events(const struct doctor_system *f, struct doctor_row *r)
{
    r->usable = f->events == 1;
    if (f->events == 0 && report_unavailable(r, f->no_proc, no_proc, "which CPU this is"))
        return;
    if (f->events == 1)
        FINDING(r, "event definitions for this CPU: %s", f->events_text);
    else if (f->events == 0)
        FINDING(r, "no file in events/ covers this CPU (%s): only cycles, instructions and events that memory controllers list",
                f->events_text);
    else
        FINDING(r, "%s", f->events_text);
    if (f->events == 0)
        FIX(r, "write events/NAME.json (doc/formats.md) from the kernel's tools/perf/pmu-events");
    else if (f->events < 0)
        FIX(r, "repair or remove that file: perf and papi use no file while one of them is invalid");
}

static void no_dram_pmu(const struct doctor_system *f, struct doctor_row *r)
{
    if (report_unavailable(r, f->no_sys, no_sys, "whether memory controllers have a PMU"))
        return;
    const bool amd = strcmp(f->vendor, "AuthenticAMD") == 0, intel = strcmp(f->vendor, "GenuineIntel") == 0;
    FINDING(r, "no PMU of memory controllers in /sys/bus/event_source/devices%s",
            f->virtual_machine ? ": hypervisors do not expose them" : "");
    if (f->virtual_machine)
        FIX(r, "bare metal: these counters cover all machines of the host, so hypervisors do not expose them");
    else if (amd && f->family >= 25 && (f->kernel_major < 6 || (f->kernel_major == 6 && f->kernel_minor < 7)))
        FIX(r, "Linux 6.7 or newer, which counts at Zen 4's and 5's memory controllers (amd_umc); this is %s", f->kernel);
    else if (amd)
        FIX(r, "modprobe amd_uncore");
    else if (intel)
        FIX(r, "modprobe intel_uncore; a CPU newer than the kernel needs a newer kernel");
    else
        FIX(r, "modprobe arm-cmn, nvidia_cspmu or what the board's maker names");
}

static void check_uncore(const struct doctor_system *f, struct doctor_row *r)
{
    if (!f->dram_pmu[0]) {
        no_dram_pmu(f, r);
    } else if (paranoid_above(f, 0)) {
        FINDING(r, "%s is there, but kernel.perf_event_paranoid is %d: counting a whole socket needs 0", f->dram_pmu, f->paranoid);
        fix_paranoid(r, 0);
    } else {
        r->usable = true;
        FINDING(r, "bytes at the memory controllers, PMU %s", f->dram_pmu);
    }
}

const char *doctor_papi_fix(const char *reason, const struct doctor_system *f)
{
    if (strstr(reason, "not built in"))
        return "apt install libpapi-dev, then configure --with-papi=yes";
    /* PAPI 7.0.0 checks the level only, newer versions also CAP_PERFMON. */
    if (strstr(reason, "paranoid"))
        return "sysctl -w kernel.perf_event_paranoid=2: PAPI 7.0.0 refuses above 2 even to root; newer PAPI, and --counters perf, do not";
    if (!f->core_pmu[0])
        return "what helps perf: PAPI counts through it";
    if (strstr(reason, "no default PMU") || strstr(reason, "does not exist"))
        return "--counters perf, which needs no table of CPUs; or a newer PAPI: the libpfm of this one does not know the CPU";
    return "";
}

/* Reason why a backend is unavailable; "": available. */
static void backend_reason(const char *name, char *why, size_t size)
{
    const char *backend;
    for (size_t i = 0; (backend = counters_backend_at(i, why, size)) != NULL; i++)
        if (strcmp(backend, name) == 0)
            return;
    snprintf(why, size, "not among the backends");
}

static void check_papi(const struct doctor_system *f, struct doctor_row *r)
{
    char why[256];
    struct counter_source none = { 0 };
    struct error err = { 0 };
    backend_reason("papi", why, sizeof why);
    struct counters *c = why[0] ? NULL :
                                  counters_open(&(struct counters_options){ .backend = "papi", .src = &none, .n_threads = 1,
                                                                            .uncalibrated = true },
                                                &err);
    /* queries PAPI itself, which ignores f->root */
    const char *hardware = c ? counters_reason(c, COUNTER_CYCLES) : why[0] ? why : err.msg;
    const bool software = c && !counters_reason(c, COUNTER_SW_BYTES)[0];
    r->usable = c && !hardware[0];
    if (r->usable)
        FINDING(r, "hardware events%s", software ? ", and roofcast's own as sde:::roofcast::BYTES, FLOP, TOKENS" : "");
    else
        FINDING(r, "%s%s", hardware, software ? " (roofcast's own events, sde:::roofcast::BYTES, FLOP, TOKENS, can be read)" : "");
    if (!r->usable)
        FIX(r, "%s", doctor_papi_fix(hardware, f));
    counters_close(c);
}

static void check_likwid(const struct doctor_system *f, struct doctor_row *r)
{
    char why[256] = "";
    if (!*f->root)
        backend_reason("likwid", why, sizeof why); /* runs LIKWID in a child process */
    if (strstr(why, "not built in")) {
        FINDING(r, "%s", why);
        FIX(r, "apt install likwid (liblikwid-dev elsewhere), then configure --with-likwid=yes (LIKWID is GPL)");
        return;
    }
    if (f->arm)
        FINDING(r, "on Arm LIKWID counts through perf events: as perf");
    else if (!f->msr_file && f->virtual_machine)
        FINDING(r, "no /dev/cpu/0/msr: this virtual machine has none of the registers that LIKWID counts with");
    else if (!f->msr_file)
        FINDING(r, "no /dev/cpu/0/msr, with which LIKWID counts");
    else if (!f->msr)
        FINDING(r, "/dev/cpu/0/msr cannot be opened for reading and writing");
    else
        FINDING(r, "%s", why[0] ? why : "--counters likwid, and likwid-perfctr -m roofcast bench ...: memory traffic and FLOP");
    r->usable = !why[0] && (f->msr || (f->arm && f->core_pmu[0]));
    if (!r->usable && (f->virtual_machine || f->arm))
        FIX(r, "%s", f->arm ? "what helps perf" : "bare metal");
    else if (!f->msr_file)
        FIX(r, "modprobe msr");
    else if (!f->msr)
        FIX(r, "run as root, or make the access daemon set-uid root (chown root:root, chmod 4755 likwid-accessD); a kernel that is "
               "locked down (secure boot) forbids it all the same");
}

static void check_energy(const struct doctor_system *f, struct doctor_row *r)
{
    struct error err = { 0 };
    struct energy *e = energy_open(f->root, &err);
    const char *why = e ? energy_reason(e) : err.msg;
    r->usable = e && !why[0];
    if (!r->usable && report_unavailable(r, f->no_sys, no_sys, "which energy counters exist")) {
        energy_close(e);
        return;
    }
    FINDING(r, "%s", r->usable ? energy_source(e) : why);
    if (!r->usable && strstr(why, "Permission denied"))
        FIX(r, "run as root, or chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj");
    else if (!r->usable && f->virtual_machine)
        FIX(r, "bare metal: virtual machines have no access to the energy counters of their host");
    else if (!r->usable && f->arm)
        FIX(r, "none is known for Arm: the board's own meters");
    else if (!r->usable && f->paranoid > 0 && strstr(why, "perf power"))
        fix_paranoid(r, 0);
    else if (!r->usable)
        FIX(r, "modprobe intel_rapl_msr (AMD's processors too)");
    energy_close(e);
}

/* ---- what measuring rests on ------------------------------------------------------------------ */

static void check_tsc(const struct doctor_system *f, struct doctor_row *r)
{
    r->usable = f->steady_tsc;
    if (report_unavailable(r, f->no_proc, no_proc, "the clock source"))
        return;
    FINDING(r, "%s, clock source %s", f->arm ? "the Arm timer" : f->steady_tsc ? "constant and nonstop TSC" :
                                                                           "the TSC stops or changes its rate",
            f->clocksource[0] ? f->clocksource : "unknown");
    if (!r->usable)
        FIX(r, "none in software: the kernel's clock is correct but slower to read");
    else if (strcmp(f->clocksource, "hpet") == 0 || strcmp(f->clocksource, "acpi_pm") == 0)
        FIX(r, "boot with clocksource=tsc: reading this clock takes microseconds");
}

static void check_huge_pages(const struct doctor_system *f, struct doctor_row *r)
{
    r->usable = strstr(f->huge_pages, "[always]") || strstr(f->huge_pages, "[madvise]");
    if (!f->huge_pages[0] && report_unavailable(r, f->no_sys, no_sys, "whether there are huge pages"))
        return;
    if (f->huge_pages[0])
        FINDING(r, "transparent huge pages: %s", f->huge_pages);
    else
        FINDING(r, "the kernel has no transparent huge pages");
    if (!r->usable && f->huge_pages[0])
        FIX(r, "echo madvise >/sys/kernel/mm/transparent_hugepage/enabled: packed weights are read a third faster");
}

/* ---- programs ------------------------------------------------------------------------------------ */

static void check_program(struct doctor_row *r, const char *program, const char *use, const char *package)
{
    const char *path = environment()->program_path;
    char file[1024];
    for (; path && *path; path += strcspn(path, ":") + (path[strcspn(path, ":")] == ':')) {
        snprintf(file, sizeof file, "%.*s/%s", (int)(strcspn(path, ":") < 900 ? strcspn(path, ":") : 900), path, program);
        if (access(file, X_OK) == 0) {
            r->usable = true;
            FINDING(r, "%s: %s", file, use);
            return;
        }
    }
    FINDING(r, "not in PATH: %s", use);
    FIX(r, "apt install %s", package);
}

static void check_likwid_bench(const struct doctor_system *f, struct doctor_row *r)
{
    (void)f;
    check_program(r, "likwid-bench", "independent bandwidth measurements (tests/bench/peers.sh)", "likwid");
}

static void check_gnuplot(const struct doctor_system *f, struct doctor_row *r)
{
    (void)f;
    check_program(r, "gnuplot", "draws charts; without it plot writes only .gp and .tsv", "gnuplot-nox");
}

static void check_mpirun(const struct doctor_system *f, struct doctor_row *r)
{
    (void)f;
    check_program(r, "mpirun", "sweep on many ranks", "openmpi-bin");
#ifndef HAVE_MPI
    r->usable = false;
    FINDING(r, "this roofcast was built without MPI: sweep on many ranks");
    FIX(r, "apt install libopenmpi-dev openmpi-bin, then configure --with-mpi=yes");
#endif
}

static const struct check {
    const char *name;
    void (*run)(const struct doctor_system *f, struct doctor_row *r);
} checks[] = {
    { "null", check_null },
    { "perf", check_perf },
    { "papi", check_papi },
    { "likwid", check_likwid },
    { "events", check_events },
    { "uncore", check_uncore },
    { "energy", check_energy },
    { "tsc", check_tsc },
    { "hugepages", check_huge_pages },
    { "likwid-bench", check_likwid_bench },
    { "gnuplot", check_gnuplot },
    { "mpirun", check_mpirun },
};

const char *doctor_check_name(size_t i)
{
    return i < ARRAY_LEN(checks) ? checks[i].name : NULL;
}

bool doctor_check(size_t i, const struct doctor_system *f, struct doctor_row *r)
{
    if (i >= ARRAY_LEN(checks))
        return false;
    *r = (struct doctor_row){ .usable = false };
    snprintf(r->name, sizeof r->name, "%s", checks[i].name);
    checks[i].run(f, r);
    return true;
}
