/* doctor.h: `roofcast doctor`: capabilities of this machine, causes of missing ones, and fixes. */
#ifndef BENCH_DOCTOR_H
#define BENCH_DOCTOR_H

#include "bench/setup.h"
#include "report/output.h"

/* State of the system from /proc, /sys and /dev below a root. */
struct doctor_system {
    const char *root;      /* "": this machine; else a directory tree, without live tests */
    bool no_proc, no_sys;  /* /proc, /sys are unavailable: their facts are unknown, not absent */
    char cpu[96], vendor[32], kernel[96];
    int family;            /* x86 family; -1: other */
    int kernel_major, kernel_minor;
    int paranoid;          /* kernel.perf_event_paranoid; DOCTOR_UNKNOWN */
    bool is_root, may_perf; /* uid 0; effective CAP_PERFMON or CAP_SYS_ADMIN */
    bool virtual_machine, container;
    char core_pmu[64], dram_pmu[128]; /* names in /sys/bus/event_source/devices; dram_pmu: PMUs of memory traffic */
    int cycles_errno;      /* errno of counting cycles on this thread; 0: works; DOCTOR_UNKNOWN: not tried */
    int events;            /* counters_describe_events(): 1, 0 or -1, and its text */
    char events_text[320];
    bool msr;              /* /dev/cpu/0/msr exists and (live) opens for reading and writing */
    bool msr_file;
    char clocksource[32], huge_pages[64]; /* "always [madvise] never" */
    bool steady_tsc;       /* constant_tsc and nonstop_tsc, or an Arm timer */
    bool arm;
};
enum { DOCTOR_UNKNOWN = -100 };
void doctor_system_read(struct doctor_system *f, const char *root);
json_t *doctor_system_json(const struct doctor_system *f);

struct doctor_row {
    char name[16];
    bool usable;
    char finding[640]; /* what is available, or why not */
    char fix[960];     /* fix; "": none needed or known */
};
/* Runs the i-th check; false past the end. */
bool doctor_check(size_t i, const struct doctor_system *f, struct doctor_row *r);
const char *doctor_check_name(size_t i); /* NULL past the end */

/* Fix for PAPI's reason for not counting cycles; "": none known. */
const char *doctor_papi_fix(const char *reason, const struct doctor_system *f);

#endif
