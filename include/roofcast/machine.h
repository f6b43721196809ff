/*
 * roofcast/machine.h: a machine as a value: what its datasheet says, and what was measured on it. File format: doc/formats.md.
 *
 * Threads  a machine does not change after it was loaded: any number of threads may read it.
 */
#ifndef ROOFCAST_MACHINE_H
#define ROOFCAST_MACHINE_H

#include <roofcast/error.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct roofcast_machine;

/*
 * spec     path of a profile (.json); the name or an alias of one ("h100-sxm", "NVIDIA GeForce RTX 4090": case, blanks and the vendor's
 *          words do not matter); or "this": roofcast_set_profile_path(). A name without a profile becomes a machine of the class that
 *          the name says, with a note and wider intervals (56)
 * errors   ROOFCAST_ERROR_USAGE   an empty name; "this" without a path of its profile
 *          ROOFCAST_ERROR_INPUT   unknown name: the message has the nearest; no such file; a damaged one: file and field
 *          ROOFCAST_ERROR_UNAVAILABLE  "this" before it was measured: its profile is not there
 *          ROOFCAST_ERROR_SYSTEM  out of memory
 */
ROOFCAST_API struct roofcast_machine *roofcast_machine_load(const char *spec, struct roofcast_error *err);

/* This computer as hwloc describes it: topology, caches, memory size, CPU name. It has no roofs until they are measured. */
ROOFCAST_API struct roofcast_machine *roofcast_machine_host(struct roofcast_error *err);

ROOFCAST_API void roofcast_machine_free(struct roofcast_machine *h);

/* NaN, 0 and "": not stated. */
struct roofcast_machine_info {
    const char *id;   /* "h100-sxm" */
    const char *name; /* "NVIDIA H100 SXM5" */
    const char *vendor;
    const char *kind; /* "cpu" "gpu" "apu" "npu" */
    const char *path; /* of its profile; "": none */
    const char *guessed_class; /* of a name without a profile: the class it was taken for; "": a profile describes it */
    double memory_bytes, bandwidth_bytes_s;
    const char *bandwidth_source;
    double tdp_w, price_usd_h;
    double link_bytes_s; /* one direction, to other devices, of its fastest link */
    int32_t link_devices; /* that this link joins at most; 0: any number */
    int32_t n_packages, n_cores, n_pus, n_numa; /* of a CPU */
    double cache_bytes;  /* of the last level: a CPU's all instances, a GPU's L2 */
    size_t n_ceiling;    /* measured roofs: roofcast_machine_ceiling() */
};
ROOFCAST_API const struct roofcast_machine_info *roofcast_machine_info(const struct roofcast_machine *h);

/*
 * Dense peak of the datasheet.
 *
 * math     type of the multiplied operands: "fp64" "fp32" "tf32" "fp16" "bf16" "fp8" "fp4" "int8" "int4" "int16"
 * source   NULL, or where the number is from; lives as long as h
 * return   FLOP/s (integers: OP/s); NaN: not stated, or no such type
 */
ROOFCAST_API double roofcast_machine_peak_flop_s(const struct roofcast_machine *h, const char *math, const char **source);

/* A measured roof. */
struct roofcast_ceiling {
    const char *name;  /* unique in a machine: "fp32 avx512 2t", "read DRAM 1t" */
    const char *kind;  /* "compute" "bandwidth" "latency" "kernel" */
    const char *op;    /* "read", "matvec", ... */
    const char *dtype; /* of operands or weights; "": none */
    const char *isa, *level; /* "avx512"; "L2", "DRAM" */
    int32_t n_threads;
    int32_t n_tok;     /* of a kernel: tokens of a call; 0: means nothing */
    double value;      /* in unit, the median of n_samples */
    double ci_lo, ci_hi; /* 95 % interval of the median */
    const char *unit;  /* "FLOP/s" "OP/s" "B/s" "s" */
    int32_t n_samples;
    const char *date;
};
ROOFCAST_API const struct roofcast_ceiling *roofcast_machine_ceiling(const struct roofcast_machine *h, size_t i); /* NULL past the end */

/*
 * Attainable FLOP/s at an arithmetic intensity: min(peak_flop_s, ai * bytes_s).
 *
 * ai       FLOP per byte
 * source   (26)
 */
ROOFCAST_API double roofcast_attainable_flop_s(double ai, double peak_flop_s, double bytes_s);

/* Names of the profiles in the data directories, sorted: [*n]; roofcast_names_free(). */
ROOFCAST_API int roofcast_machine_names(char ***names, size_t *n, struct roofcast_error *err);

#ifdef __cplusplus
}
#endif
#endif
