/*
 * hwprofile: a machine as a value: topology and memory, datasheet figures (spec) and measured roofs (ceilings), each number with unit
 * and source; spec and measured are separate. File format: doc/formats.md.
 */
#ifndef HWPROFILE_HWPROFILE_H
#define HWPROFILE_HWPROFILE_H

#include "base/base.h"
#include "base/coherence.h"
#include "base/json.h"

enum hw_kind { HW_CPU, HW_GPU, HW_APU, HW_NPU };
const char *hw_kind_name(enum hw_kind k); /* "cpu" "gpu" "apu" "npu" */
int hw_kind_find(const char *name);       /* in any case; -1: none */

/* Data type of the multiplied operands of a peak. */
enum math { MATH_FP64, MATH_FP32, MATH_TF32, MATH_FP16, MATH_BF16, MATH_FP8, MATH_FP4, MATH_INT8, MATH_INT4, MATH_INT16, MATH_COUNT };
const char *math_name(enum math m); /* "fp16" */
int math_find(const char *name);    /* -1: unknown */
bool math_integer(enum math m);     /* unit is OP/s */

struct hw_value {
    double value;     /* SI; NaN: unknown */
    char source[160]; /* "" only when unknown */
};

/*
 * One measured roof. Field names are the JSON's. NaN / "" / 0: not measured or not applicable.
 *
 *  kind         unit            op
 *  compute      FLOP/s, OP/s    -                       register-only multiply-adds, with additions on free pipes;
 *                               fma                     multiply-adds only: upper bound of a matrix product. dtype is a math_name
 *  bandwidth    B/s             read write write-nt copy triad gather; dtype ""
 *  latency      s               chase (dependent loads), barrier, dispatch; dtype ""
 *  kernel       B/s, FLOP/s, s  engine kernels: matvec matmat softmax rmsnorm rope quantize ...; dtype is a tensor type ("Q4_K");
 *                               B/s counts weights (or values) as stored, FLOP/s as methods.md (2)
 */
struct ceiling {
    char name[64]; /* unique in a profile: "fp32 avx512 2t", "read DRAM 1t" */
    char kind[16];
    char op[16]; /* "" is "read" for a bandwidth */
    char dtype[16];
    char isa[24];
    char level[8]; /* "L1" "L2" "L3" "DRAM"; "" for compute */
    char pages[8]; /* "4K" "2M"; "": kernel default (transparent large pages requested) */
    char node[24]; /* "local 0", "remote 0-1": CPUs of node 0, memory of node 1; "": whole machine */
    int n_threads;
    int n_tok;              /* kernel: tokens per call; 0: n/a */
    int head_dim;           /* kernel attention: elements per key; 0: unknown or n/a */
    int n_query, n_key;     /* latency attention: tokens per call, keys seen by the last one; 0: n/a */
    double footprint_bytes; /* per thread */
    double value;           /* median, in unit */
    char unit[8];           /* "FLOP/s" "OP/s" "B/s" "s" */
    double ci_lo, ci_hi;    /* 95 % interval of the median */
    int n_samples;
    double between_rounds; /* relative sd between rounds in excess of that within: methods.md (70) */
    double loads_bytes_s;  /* kernel, DRAM: adjacent plain-load bandwidth probe; NaN: none. methods.md (79) */
    double product_flop_s; /* compute, kernel, latency: adjacent vector probe (small matrix product, same threads) before and after each sample */
    double tile_flop_s;    /* AMX kernels: adjacent tile probe; NaN: none. methods.md (80) */
    char kernel[48];
    double clock_hz;       /* during the measurement */
    double per_cycle;      /* value / clock_hz / n_threads: FLOP, OP or B per core and cycle */
    double issue_fraction; /* compute: per_cycle over the core's known issue width */
    char cpus[64];
    char date[24];
};

/* Suffix in ceiling.kernel: packed weights with exactly scaled 8-bit activations. */
#define CEILING_EXACT_SCALES ", exact scales"
/* True for an AVX-512 VNNI product of many tokens of an older version, with power-of-two activation scales: faster than what is
 * predicted, methods.md (89). */
bool ceiling_rounds_scales(const struct ceiling *c);

/* Value at x with the 95 % interval of the median. */
struct hw_point {
    double x, value, ci_lo, ci_hi;
    int n_samples;
};

/* A plateau of a bandwidth or latency curve over footprint. */
struct hw_plateau {
    char level[8];       /* level by hwloc's sizes: "L1" "L2" "L3" "DRAM"; "": none */
    double from_x, to_x; /* NaN: hwloc reports the level, the curve shows no plateau */
    double value;        /* median of its points; NaN like from_x */
    double edge_x;       /* midpoint of the transition to the next plateau; NaN: last one */
    double stated_x;     /* share of that cache per thread by hwloc; NaN: none, or memory */
    char finding[128];   /* comparison of edge_x and stated_x */
};
enum { HW_PLATEAUS = 8 };

/* A roof as a function of footprint, threads or load. Field names are the JSON's; texts as in struct ceiling. */
struct hw_curve {
    char name[64]; /* unique in a profile: "read 4K 2t" */
    char kind[16]; /* "bandwidth" "latency" "kernel" */
    char op[16];
    char dtype[16];
    char x[20]; /* "footprint_bytes" (per thread), "n_threads", "bytes_s" (load), "n_tok", "row_bytes" */
    char isa[24], level[8], pages[8], node[24];
    int n_threads; /* 0 if x is n_threads */
    char unit[8];  /* of the values */
    char kernel[48], cpus[64], date[24];
    struct hw_point *point; /* ascending x */
    size_t n_point;
    double saturation_x;                    /* x is n_threads: first that reaches 95 % of the maximum; NaN or 0: unknown */
    struct hw_plateau plateau[HW_PLATEAUS]; /* x is footprint_bytes: ascending */
    size_t n_plateau;
};

struct hw_cache {
    int level;
    double size_bytes;                      /* per instance */
    int n_instances, line_bytes, n_sharing; /* n_sharing: PUs per instance */
};

/* Fraction of peak and bandwidth that software reaches (predict without --roof). */
struct hw_efficiency {
    struct hw_value compute, bandwidth; /* fractions */
    struct hw_value launch_s;           /* seconds per op; 0 allowed */
};

/* Interconnect to devices of the same kind. */
struct hw_link {
    char name[32];             /* "NVLink4" */
    struct hw_value bytes_s;   /* one direction, all such links of a device */
    struct hw_value latency_s; /* per hop: one step of a collective, launch included */
    int n_devices;             /* largest number of devices it joins; 0: any */
    char topology[16];         /* "switch" "ring" "mesh" (torus, cube) "pcie" "network" */
};

/* Stability of the machine during measurement, from all ceilings with between_rounds. methods.md (71). */
enum hw_steadiness { HW_NOISE_UNKNOWN, HW_QUIET, HW_UNSTEADY, HW_NOISY };
struct hw_noise {
    enum hw_steadiness verdict;
    int n_ceilings; /* with between_rounds */
    double between; /* upper quartile of between_rounds; NaN: unknown */
    char worst[64]; /* least stable ceiling and its variation */
    double worst_between;
};
struct hwprofile {
    char id[64];    /* file name without .json: "h100-sxm" */
    char name[128]; /* "NVIDIA H100 SXM5" */
    enum hw_kind kind;
    char vendor[32];
    char path[4096]; /* file it was loaded from; "": built in memory */
    char **alias;
    size_t n_alias;
    struct hw_value mem_bytes, mem_bw; /* spec: capacity (B), bandwidth (B/s) */
    struct hw_value peak[MATH_COUNT];  /* spec: dense FLOP/s (OP/s for int) */
    struct hw_value tdp_w, idle_w;
    struct hw_value n_unit, unit_threads; /* GPU: multiprocessors, resident threads per multiprocessor */
    struct hw_value clock_hz;             /* GPU: boost clock; CPU: clock of the peaks */
    struct hw_value cache_bytes;          /* GPU: last-level cache */
    struct hw_value price_usd_h;          /* rental price per device */
    struct hw_link *link;                 /* at most 8, fastest first */
    size_t n_link;
    char cpu_model[128], isa[64]; /* CPUs */
    int n_packages, n_cores, n_pus, n_numa;
    struct hw_cache *cache;
    size_t n_cache;
    struct ceiling *ceiling;
    size_t n_ceiling;
    struct hw_curve *curve;
    size_t n_curve;
    struct hw_noise noise;
    struct hw_efficiency eff; /* from the profile, else from its class in hwprofiles/classes.json */
    char guess_class[64];     /* machine without a profile: class guessed from its name (machine_guess); "": has a profile */
    double guess_ln_sd;       /* sd of ln(bandwidth) of that guess, and so of ln(seconds); 0: no guess */
    char date[24];
    char kernel[72], roofcast[32]; /* Linux release and roofcast version of the measurement; "": unknown */
};

/* A .json path, or a name or alias (case, blanks, dashes and vendor words ignored) in the profile directories; an error suggests
 * the nearest name. Errors name file and field. */
int hwprofile_load(struct hwprofile *h, const char *spec, struct error *err);
bool hwprofile_same_name(const char *a, const char *b); /* "rtx-5050", "NVIDIA GeForce RTX 5050" */
bool hwprofile_is_path(const char *spec);               /* spec is a path, not a name */
/* Lookup by name only; an unknown name gives *found false and an empty *h. An unreadable profile is an error. */
int hwprofile_find(struct hwprofile *h, const char *name, bool *found, struct error *err);
/* Parse JSON text (fuzzed). */
int hwprofile_parse(struct hwprofile *h, const char *name, const void *data, size_t size, struct error *err);
json_t *hwprofile_to_json(const struct hwprofile *h, struct error *err);
int hwprofile_save(const struct hwprofile *h, const char *path, struct error *err);
bool hwprofile_has_kernels(const struct hwprofile *h); /* a CPU on which `roofcast profile` measured the engine's kernels */
void hwprofile_free(struct hwprofile *h);
/* Topology, caches, CPU name and memory size of the live host (hwloc); no ceilings. */
int hwprofile_host(struct hwprofile *h, struct error *err);
/* Changes of the live host since h was measured: "CPU was A, is B; Linux was ..., is ..."; "": none known. */
const char *hwprofile_changed(char *buf, size_t size, const struct hwprofile *h);

/* Path of DIR/sub/name.json in the profile directories; false: not found. */
bool hwprofile_data_file(char *path, size_t size, const char *sub, const char *name);
int hwprofile_list(char ***names, size_t *n, struct error *err);

/* Best measured ceiling for n_threads (most threads <= n_threads, else the fewest), or NULL. level: "DRAM", ...; dtype: a math.
 * Bandwidth is that of op "read", else of "update" (imports from tools that update in place). */
const struct ceiling *hwprofile_bandwidth(const struct hwprofile *h, const char *level, int n_threads);
const struct ceiling *hwprofile_peak(const struct hwprofile *h, enum math m, int n_threads);
/* Fastest link that joins n devices; NULL: none, or n < 2. */
const struct hw_link *hwprofile_link(const struct hwprofile *h, int n);
/* Cache share of one of n threads: an instance each while there are enough, doc/notes/charts.md. */
double hw_cache_share(const struct hw_cache *c, int n);
/* Total bytes of the highest cache level; 0 with *level 0: no caches listed. */
double hwprofile_llc(const struct hwprofile *h, int *level);
/* Adds a copy of c, or replaces the ceiling of that name. Errors: out of memory. */
int hwprofile_add_ceiling(struct hwprofile *h, const struct ceiling *c, struct error *err);
/* The same, unless the existing value is as high or c's is 0 or NaN. */
int hwprofile_raise_ceiling(struct hwprofile *h, const struct ceiling *c, struct error *err);
/* op: "read" "write" ...; dtype: "" if n/a; n_tok: nearest by ratio. NULL: not measured. */
const struct ceiling *hwprofile_ceiling(const struct hwprofile *h, const char *kind, const char *op, const char *dtype,
                                        const char *level, int n_tok, int n_threads);
/* For exactly n_threads: B/s of all of them, or a barrier's seconds; NULL: not measured. (33) */
const struct ceiling *hwprofile_coherence(const struct hwprofile *h, enum coherence_kind what, int n_threads);
const struct hw_curve *hwprofile_curve(const struct hwprofile *h, const char *name); /* NULL: no such curve */
/* Adds a deep copy of c, or replaces the curve of that name. */
int hwprofile_add_curve(struct hwprofile *h, const struct hw_curve *c, struct error *err);
/* From the current ceilings (h->noise is from measurement time). */
struct hw_noise hwprofile_noise(const struct hwprofile *h);
const char *hw_steadiness_name(enum hw_steadiness s); /* "quiet" "unsteady" "noisy"; NULL: unknown */
json_t *ceiling_to_json(const struct ceiling *c, struct error *err);

/* ---- profiles as users name them ---- */
/* "this" becomes the path of this machine's profile, which must exist; a stale one is noted once. Other names and NULL are unchanged. */
int hwprofile_this_path(const char **out, const char *spec, struct error *err);
/* ERROR_USAGE: HOME is unset, so there is no path. */
int hwprofile_no_path_error(struct error *err);
/* hwprofile_load() that accepts "this"; notes parts of it that are ignored. */
int hwprofile_open(struct hwprofile *h, const char *spec, struct error *err);

#endif
