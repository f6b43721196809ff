/* GPUs for tests of families of kernels: an A100, an H200, a B200, an L40S. */
#ifndef TESTS_STACKS_FAMILY_H
#define TESTS_STACKS_FAMILY_H

#include "stacks/family.h"
#include <math.h>
#include <string.h>

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

#endif
