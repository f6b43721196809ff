/* Rows of one machine, engine, type and date, and what is known of their kernels. */
#ifndef TESTS_CALIBRATE_ROWS_H
#define TESTS_CALIBRATE_ROWS_H

#include "stacks/decode.h"
#include <math.h>
#include <stdio.h>

static const struct stack cuda = { "llama.cpp-cuda", STACK_LLAMA_CPP, 512, true },
                          rocm = { "llama.cpp-rocm", STACK_LLAMA_CPP, 512, false }, sycl = { "llama.cpp-sycl", STACK_LLAMA_CPP, 512, false },
                          vulkan = { "llama.cpp-vulkan", STACK_LLAMA_CPP, 512, false }, vllm = { "vllm", STACK_SERVER, 8192, true },
                          eager = { "transformers", STACK_PYTORCH, 0, false }, on_cpu = { "llama.cpp-cpu", STACK_CPU, 512, false },
                          ik = { "ik_llama.cpp", STACK_IK, 512, false }, lookup = { "t-mac", STACK_CPU, 512, false },
                          npu = { "neuronx", STACK_NPU, 0, true };

/* A row of one machine, engine, type and date. */
struct fixture {
    struct measurement m;
    struct machine machine;
    struct roofs roofs;
    struct workload p;
};

static inline struct workload *row(struct fixture *f, const char *hardware, enum hw_kind kind, const struct stack *s, const char *quant,
                                 const char *date)
{
    *f = (struct fixture){ .m = { .quant = quant, .date = date, .notes = "", .engine = "", .version = "", .source = "", .phase = MEASURE_DECODE } };
    snprintf(f->machine.hardware, sizeof f->machine.hardware, "%s", hardware);
    snprintf(f->machine.h.vendor, sizeof f->machine.h.vendor, "?");
    f->machine.h.kind = kind;
    f->p = (struct workload){ .m = &f->m, .machine = &f->machine, .roofs = &f->roofs, .stack = s };
    return &f->p;
}

static inline struct stack_traits stack_traits_of(const struct workload *p)
{
    struct stack_traits f;
    stack_traits_init(&f, p);
    return f;
}

static inline bool near(double got, double want)
{
    return fabs(got / want - 1) < 2e-3;
}

static inline double ops(const char *hardware, enum hw_kind kind, const struct stack *s, const char *quant, const char *date, double bits)
{
    struct fixture f;
    const struct stack_traits x = stack_traits_of(row(&f, hardware, kind, s, quant, date));
    return decode_ops_weight(&x, bits);
}

#endif
