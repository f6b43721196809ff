/* Tests of families of kernels: GPUs, seconds at the priors, monotony, limits. */
#ifndef TESTS_STACKS_FAMILY_H
#define TESTS_STACKS_FAMILY_H

#include "stacks/family.h"
#include <math.h>
#include <string.h>

static const char *const family_gpus[] = { "A100", "H200", "B200", "L40S" };

static inline struct family_machine family_gpu(const char *name)
{
    const bool a100 = strcmp(name, "A100") == 0, h200 = strcmp(name, "H200") == 0, b200 = strcmp(name, "B200") == 0;
    struct family_machine m = { .n_unit = a100 ? 108 : h200 ? 132 : b200 ? 148 : 142,
                                .clock_hz = a100 ? 1.41e9 : h200 ? 1.98e9 : b200 ? 1.965e9 : 2.52e9,
                                .memory_bytes_s = a100 ? 2.039e12 : h200 ? 4.8e12 : b200 ? 7.7e12 : 864e9,
                                .cache_bytes = a100 ? 40e6 : h200 ? 50e6 : b200 ? 126e6 : 96e6,
                                .async = h200 || b200 };
    const double peak = a100 ? 312e12 : h200 ? 989e12 : b200 ? 2250e12 : 362e12;
    m.cache_bytes_s = 5120 * (b200 ? 2 : a100 || h200 ? 1 : 0.6) * m.clock_hz;
    m.peak[MATH_BF16] = m.peak[MATH_FP16] = peak;
    m.peak[MATH_FP8] = m.peak[MATH_INT8] = a100 ? peak : 2 * peak;
    m.peak[MATH_FP4] = b200 ? 4 * peak : m.peak[MATH_FP8];
    snprintf(m.name, sizeof m.name, "%.60s", name);
    return m;
}

/* Logarithms of the priors of a family's parameters. */
static inline void family_priors(const struct family *f, double *parameter)
{
    for (int i = 0; i < f->n_parameter; i++)
        parameter[i] = log(f->parameter[i].value);
}

/* Of a call with the family's features, where every parameter is its prior. */
static inline double family_seconds(const struct family *f, const void *features)
{
    double parameter[FAMILY_PARAMETERS];
    family_priors(f, parameter);
    return exp(f->ln_seconds(features, parameter));
}

/* Seconds of a call of size x on a GPU; at: what else describes it, as its test has it. */
typedef double family_curve(const char *gpu, double x, const void *at);

/* On every GPU a call of twice the size takes no less, but for a fraction: sizes from `first`, doubled, to `last`. */
static inline void family_check_grows(family_curve *seconds, const void *at, double first, double last, double fraction)
{
    for (size_t g = 0; g < ARRAY_LEN(family_gpus); g++)
        for (double x = first, before = 0; x <= last; x *= 2) {
            const double t = seconds(family_gpus[g], x, at);
            if (!(t >= before * (1 - fraction)))
                fail_msg("%s: size %g takes %g s, half of it %g s", family_gpus[g], x, t, before);
            before = t;
        }
}

/* Of those sizes, a call at `more` takes no less than one at `less`, but for a fraction. */
static inline void family_check_no_less(family_curve *seconds, const void *more, const void *less, double first, double last, double fraction)
{
    for (size_t g = 0; g < ARRAY_LEN(family_gpus); g++)
        for (double x = first; x <= last; x *= 2) {
            const double a = seconds(family_gpus[g], x, more), b = seconds(family_gpus[g], x, less);
            if (!(a >= b * (1 - fraction)))
                fail_msg("%s, size %g: the larger call takes %g s, the smaller %g s", family_gpus[g], x, a, b);
        }
}

/* A rate is below its roof, and above a fraction of it. */
static inline void family_check_within(const char *gpu, double rate, double roof, double fraction)
{
    if (!(rate < roof && rate > fraction * roof))
        fail_msg("%s: %g a second, expected %g to 1 times %g", gpu, rate, fraction, roof);
}

#endif
