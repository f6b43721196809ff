/* `roofcast doctor`: what this program could use here, why it cannot, and what to do about it. */
#ifndef BENCH_DOCTOR_H
#define BENCH_DOCTOR_H

#include "bench/setup.h"
#include "report/output.h"

/* What the system says of itself in /proc, /sys and /dev, below a root that stands for /. */
struct doctor_facts {
    const char *root;      /* "": this machine, alive; else a tree of files: nothing is tried */
    bool no_proc, no_sys;  /* /proc, /sys are not mounted or cannot be read: what they would say is unknown, not absent */
    char cpu[96], vendor[32], kernel[96];
    int family;            /* x86; -1: none */
    int kernel_major, kernel_minor;
    int paranoid;          /* kernel.perf_event_paranoid; DOCTOR_UNKNOWN */
    bool is_root, may_perf; /* uid 0; CAP_PERFMON or CAP_SYS_ADMIN is in effect */
    bool virtual_machine, container;
    char core_pmu[64], dram_pmu[128]; /* names in /sys/bus/event_source/devices, the second of what counts memory traffic */
    int cycles_errno;      /* of counting cycles on this thread: 0, or why not; DOCTOR_UNKNOWN: not tried */
    int events;            /* counters_describe_events(): 1, 0 or -1, and what it says */
    char events_text[320];
    bool msr;              /* /dev/cpu/0/msr is there and, alive, opens for reading and writing */
    bool msr_file;
    char clocksource[32], huge_pages[64]; /* "always [madvise] never" */
    bool steady_tsc;       /* constant_tsc and nonstop_tsc, or an Arm timer */
    bool arm;
};
enum { DOCTOR_UNKNOWN = -100 };
void doctor_facts_read(struct doctor_facts *f, const char *root);
json_t *doctor_facts_json(const struct doctor_facts *f);

struct doctor_row {
    char name[16];
    bool usable;
    char finding[640]; /* what there is, or why it cannot be used */
    char fix[960];     /* what to do; "": nothing is needed, or nothing helps */
};
/* The i-th check, carried out; false past the end. */
bool doctor_check(size_t i, const struct doctor_facts *f, struct doctor_row *r);
const char *doctor_check_name(size_t i); /* NULL past the end */

/* What helps PAPI, which gave this reason for not counting cycles; "": nothing is known. */
const char *doctor_papi_fix(const char *reason, const struct doctor_facts *f);

#endif
