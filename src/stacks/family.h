/*
 * family.h: families of kernels of servers' engines (products, experts, attention, collectives, ...): seconds of one call from a few
 * parameters with priors, which learn/families.h fits to measurements of single kernels. A family is one file, src/stacks/family_<name>.c, and
 * one row of families[] in family.c. Source: methods.md (107)
 */
#ifndef STACKS_FAMILY_H
#define STACKS_FAMILY_H

#include "dataset/workload.h"
#include "stacks/stack_traits.h"

enum { FAMILY_PARAMETERS = 12, FAMILY_DIMENSIONS = 5, FAMILY_TEXT = 64, FAMILY_MOST = 8 };

/* One device as kernels see it. */
struct family_machine {
    double n_unit, clock_hz;       /* multiprocessors */
    double memory_bytes_s;         /* as stated, less in-line ECC (39) */
    double cache_bytes;            /* last-level cache; */
    double cache_bytes_s;          /* its bandwidth by width and clock, all multiprocessors together */
    double peak[MATH_COUNT];       /* dense FLOP/s; a type without units has the rate of what it is converted to (26) */
    bool async;                    /* copies to shared memory run by themselves and feed a cluster of blocks: TMA, since Hopper */
    enum generation generation;
    char generation_name[FAMILY_TEXT], name[FAMILY_TEXT]; /* for effects: "Hopper", "h200-sxm" */
};
void family_machine_init(struct family_machine *out, const struct workload *p);
/* What a family needs of a machine, as bits; a peak of the operands' type follows from math (MATH_COUNT: none). */
enum family_need { FAMILY_NEEDS_UNITS = 1, FAMILY_NEEDS_CLOCK = 2, FAMILY_NEEDS_MEMORY = 4, FAMILY_NEEDS_KERNEL = 7 };
/* errors: ERROR_UNAVAILABLE, the machine and the first fact that is missing */
int family_machine_check(const struct family_machine *on, unsigned needs, enum math math, struct error *err);
void family_generation_name(char *out, const struct stack_traits *x); /* out [FAMILY_TEXT] */
bool family_is_async(enum generation g);                              /* of struct family_machine */

/* Operands of products, by the files' names: "fp8_block". */
struct family_type {
    const char *name;
    enum math math;
    double weight_bytes, act_bytes; /* an element, scales included */
    bool quantized;                 /* activations are rounded by a kernel before the product */
};
const struct family_type *family_type_find(const char *name); /* NULL: unknown */
/* Library of a kernel, from the name that the file gives it: "deepgemm"; "default" where it names none. */
const char *family_library(const char *kernel);
/* (x^4 + y^4)^(1/4): what overlaps, but not entirely. */
double family_overlap(double x, double y);
/* Hit fraction of a working set that is read again and again: 1 / (1 + (bytes / cache)^6); no cache: 0. */
double family_cache_hit(double bytes, double cache_bytes);
/* Reference clock: parameters in seconds that count cycles are seconds at this clock, and in proportion to the cycle at others. */
#define FAMILY_CLOCK_HZ 1.9e9

/* One parameter: prior of the value common to all rows, and spreads of the logarithm of effects by dimension. */
struct family_parameter {
    const char *name;
    double value, sd;               /* sd: of ln value */
    double of[FAMILY_DIMENSIONS];   /* sd of the effects of each dimension; 0: not distinguished */
};

typedef char family_value[FAMILY_TEXT];

struct family {
    const char *name;                        /* "gemm": of its fit in kernels.json */
    const char *const *ops;                  /* op_name of its rows, up to NULL */
    const struct family_parameter *parameter;
    int n_parameter;
    const char *dimension[FAMILY_DIMENSIONS]; /* "type" "library" ...; the first is the class of intervals, too; NULL: no more */
    size_t feature_bytes;                    /* of the family's own struct: flat, copied by memcpy */
    double sigma;                            /* expected spread of ln seconds of a row */
    /*
     * features [feature_bytes] of the row p, and its value of each dimension ("": none). errors: ERROR_UNAVAILABLE, why the row has no price
     */
    int (*init)(void *features, family_value *dim, const struct workload *p, struct error *err);
    double (*weight)(const void *features); /* of a row in the fit; NULL: 1 */
    /* ln seconds; parameter [n_parameter]: logarithms */
    double (*ln_seconds)(const void *features, const double *parameter);
};

const struct family *family_of(const char *op);  /* NULL: none */
const struct family *family_at(size_t i);        /* NULL past the end */
size_t family_index(const struct family *f);     /* in the table */
int family_parameter_find(const struct family *f, const char *name); /* -1: none */

#endif
