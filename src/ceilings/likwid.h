/* likwid-bench as a second opinion: run it, and read what it prints. It is a program beside this one: nothing is linked. */
#ifndef CEILINGS_LIKWID_H
#define CEILINGS_LIKWID_H

#include "base/base.h"

struct likwid_result {
    double seconds;
    double flop_s, bytes_s; /* 0: the kernel does none */
    double size_bytes;      /* of all threads, as it made it */
    double iterations;
    int n_threads, n_cpus;  /* threads it started, and the CPUs that they ran on */
};

/* Its output, in full. Every line that counts stands once and holds one number of its kind; else ERROR_INPUT, with its own
 * words where it gave some ("ERROR - ..."). */
int likwid_parse(struct likwid_result *r, const char *text, size_t n, struct error *err);
/* `test` on the n CPUs at cpu, a thread on each, `bytes` for all of them; iterations 0: its own calibration to a second. It takes
 * its CPUs from the thread that starts it, which therefore has these for a moment, and then its own again. ERROR_UNAVAILABLE:
 * not installed; ERROR_SYSTEM: threads that shared a CPU, or no answer within timeout_s (killed). */
int likwid_run(struct likwid_result *r, const char *test, double bytes, const int *cpu, int n, uint64_t iterations,
               double timeout_s, struct error *err);

#endif
