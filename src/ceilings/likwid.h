/* likwid-bench as a second opinion: run it, and read what it prints. It is a program beside this one: nothing is linked. */
#ifndef CEILINGS_LIKWID_H
#define CEILINGS_LIKWID_H

#include "base/base.h"

struct likwid_result {
    double seconds;
    double flop_s, bytes_s; /* 0: the kernel does none */
    double size_bytes;      /* of all threads, as it made it */
    double iterations;
};

/* Its output, in full. Every line that counts stands once and holds one number of its kind; else ERROR_INPUT, with its own
 * words where it gave some ("ERROR - ..."). */
int likwid_parse(struct likwid_result *r, const char *text, size_t n, struct error *err);
/* `test` on the first n_threads CPUs of the machine, `bytes` for all of them; iterations 0: its own calibration to a
 * second. ERROR_UNAVAILABLE: not installed. No answer within timeout_s: killed, and said. */
int likwid_run(struct likwid_result *r, const char *test, double bytes, int n_threads, uint64_t iterations,
               double timeout_s, struct error *err);

#endif
