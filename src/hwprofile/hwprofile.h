/*
 * hwprofile: a machine as a value: what it is (topology, memory), what its datasheet says
 * (spec) and what was measured on it (ceilings), each number with unit and source, spec and
 * measured kept apart. File format: doc/formats.md.
 */
#ifndef HWPROFILE_HWPROFILE_H
#define HWPROFILE_HWPROFILE_H

#include "base/base.h"
#include "base/coherence.h"
#include "base/json.h"

enum hw_kind { HW_CPU, HW_GPU, HW_APU, HW_NPU };

/* Arithmetic a peak is for: the type of the multiplied operands. */
enum math { MATH_FP64, MATH_FP32, MATH_TF32, MATH_FP16, MATH_BF16, MATH_FP8, MATH_FP4, MATH_INT8, MATH_INT4, MATH_INT16, MATH_COUNT };
const char *math_name(enum math m); /* "fp16" */
int math_find(const char *name);    /* -1: unknown */
bool math_integer(enum math m);     /* counted in OP/s */

struct hw_value {
    double value; /* SI; NaN: unknown */
    char source[160]; /* "" only when unknown */
};

/*
 * One measured roof. Field names are the JSON's. NaN / "" / 0 until measured or where it means nothing.
 *
 * kind         unit            op
 * compute      FLOP/s, OP/s    -                       multiply-adds in registers, and additions beside them where pipes are left;
 *                              fma                     without these: what a product of matrices can reach. dtype is a math_name
 * bandwidth    B/s             read write write-nt copy triad gather; dtype ""
 * latency      s               chase (a dependent load), barrier, dispatch; dtype ""
 * kernel       B/s, FLOP/s, s  one of the engine's own: matvec matmat softmax rmsnorm rope quantize ...; dtype is a
 *                              tensor type ("Q4_K"); B/s counts weights (or values) as stored, FLOP/s as methods.md (2)
 */
struct ceiling {
    char name[64];  /* unique in a profile: "fp32 avx512 2t", "read DRAM 1t" */
    char kind[16];
    char op[16];    /* "" is "read" for a bandwidth */
    char dtype[16];
    char isa[24];
    char level[8];  /* "L1" "L2" "L3" "DRAM"; "" for compute */
    char pages[8];  /* "4K" "2M"; "": the default of the kernel (transparent large pages asked for) */
    char node[24];  /* "local 0", "remote 0-1": CPUs of node 0, memory of node 1; "": not of nodes apart */
    int n_threads;
    int n_tok;      /* kernel: tokens of a call; 0: means nothing */
    int head_dim;   /* kernel attention: elements of a key; 0: not said, or means nothing */
    int n_query, n_key; /* latency attention: tokens of the call, keys that the last of them sees; 0: means nothing */
    double footprint_bytes; /* of one thread */
    double value;   /* in unit: the median */
    char unit[8];   /* "FLOP/s" "OP/s" "B/s" "s" */
    double ci_lo, ci_hi; /* 95 % interval of the median */
    int n_samples;
    double between_rounds; /* sd between rounds beyond that within them, of the mean: methods.md (70) */
    double loads_bytes_s;  /* kernel, from memory: what plain loads read of it between the samples; NaN: not looked at. methods.md (79) */
    double product_flop_s; /* compute, kernel, latency: what a small product by as many threads did right before and after each sample, */
    double tile_flop_s;    /* of what multiplies by tiles: what one by tiles did; NaN: not looked at. methods.md (80) */
    char kernel[48];
    double clock_hz; /* measured beside it */
    double per_cycle; /* value / clock_hz / n_threads: FLOP, OP or B a core's cycle */
    double issue_fraction; /* compute: per_cycle of vector width x operations the core is known to issue a cycle */
    char cpus[64];
    char date[24];
};

/* In ceiling.kernel, of products of packed weights with 8-bit activations. */
#define CEILING_EXACT_SCALES ", exact scales"
/* A product of many tokens by AVX-512 VNNI kernels that does not say so: an older version's, which scaled activations by powers of two. It is
 * faster than what is priced, methods.md (89). */
bool ceiling_rounds_scales(const struct ceiling *c);

/* One value at x, with the 95 % interval of the median. */
struct hw_point {
    double x, value, ci_lo, ci_hi;
    int n_samples;
};

/* A stretch of a bandwidth or latency curve over footprints where it is level. */
struct hw_plateau {
    char level[8];       /* "L1" "L2" "L3" "DRAM" as hwloc's sizes say; "": none of them */
    double from_x, to_x; /* NaN: hwloc reports the level, the curve has no such stretch */
    double value;        /* median of its points; NaN as from_x */
    double edge_x;       /* where the curve has gone half of the way to the next one; NaN: the last */
    double stated_x;     /* a thread's share of that cache as hwloc reports it; NaN: none, or memory */
    char finding[128];   /* how edge_x and stated_x compare */
};
enum { HW_PLATEAUS = 8 };

/* A roof against what it depends on: bandwidth against footprint or threads, latency against load. Field names are
 * the JSON's; texts as in struct ceiling. */
struct hw_curve {
    char name[64]; /* unique in a profile: "read 4K 2t" */
    char kind[16]; /* "bandwidth" "latency" "kernel" */
    char op[16];
    char dtype[16];
    char x[20];    /* what x is: "footprint_bytes" (of one thread), "n_threads", "bytes_s" (load), "n_tok", "row_bytes" */
    char isa[24], level[8], pages[8], node[24];
    int n_threads; /* 0 where x is n_threads */
    char unit[8];  /* of the values */
    char kernel[48], cpus[64], date[24];
    struct hw_point *point; /* x ascending */
    size_t n_point;
    double saturation_x; /* x is n_threads: the first that reaches 95 % of the most; NaN or 0: not looked at */
    struct hw_plateau plateau[HW_PLATEAUS]; /* x is footprint_bytes: rising */
    size_t n_plateau;
};

struct hw_cache {
    int level;
    double size_bytes; /* of one instance */
    int n_instances, line_bytes, n_sharing; /* PUs sharing one */
};

/* How much of a peak and of the bandwidth software reaches (predict without --roof). */
struct hw_efficiency {
    struct hw_value compute, bandwidth; /* fractions */
    struct hw_value launch_s;           /* seconds an op; 0 allowed */
};

/* How a device reaches others of its kind. */
struct hw_link {
    char name[32];             /* "NVLink4" */
    struct hw_value bytes_s;   /* one direction, all such links of a device together */
    struct hw_value latency_s; /* of a hop: one step of a collective, with what starts it */
    int n_devices;             /* it joins at most so many; 0: any number */
    char topology[16];         /* "switch" "ring" "mesh" (also torus, cube) "pcie" "network" */
};

/* How steady the machine was while it was measured, over all ceilings with a between_rounds. methods.md (71). */
enum hw_steadiness { HW_NOISE_UNKNOWN, HW_QUIET, HW_UNSTEADY, HW_NOISY };
struct hw_noise {
    enum hw_steadiness verdict;
    int n_ceilings; /* looked at */
    double between; /* upper quartile of their between_rounds; NaN: unknown */
    char worst[64]; /* the ceiling that moved most, and by how much */
    double worst_between;
};
struct hwprofile {
    char id[64];    /* file name without .json: "h100-sxm" */
    char name[128]; /* "NVIDIA H100 SXM5" */
    enum hw_kind kind;
    char vendor[32];
    char path[4096]; /* where it was loaded from; "" when built in memory */
    char **alias;
    size_t n_alias;
    struct hw_value mem_bytes, mem_bw;    /* spec: capacity; B/s */
    struct hw_value peak[MATH_COUNT];     /* spec: dense FLOP/s (OP/s for int) */
    struct hw_value tdp_w, idle_w;
    struct hw_value n_unit, unit_threads; /* of a GPU: multiprocessors, and threads one of them holds at once */
    struct hw_value clock_hz;             /* of a GPU: boost; of a CPU: that the peaks are at */
    struct hw_value cache_bytes;          /* of a GPU: the cache before its memory */
    struct hw_value price_usd_h;          /* what a device costs to rent */
    struct hw_link *link;                 /* at most 8, fastest first */
    size_t n_link;
    char cpu_model[128], isa[64];         /* CPUs */
    int n_packages, n_cores, n_pus, n_numa;
    struct hw_cache *cache;
    size_t n_cache;
    struct ceiling *ceiling;
    size_t n_ceiling;
    struct hw_curve *curve;
    size_t n_curve;
    struct hw_noise noise;
    struct hw_efficiency eff; /* from the profile, else from its kind's row in hwprofiles/classes.json */
    char guess_class[64];     /* of a machine nobody described: what its name says it is (machine_guess); "": a profile is of it */
    double guess_ln_sd;       /* spread of the logarithm of its bandwidth, and so of seconds; 0: none is guessed */
    char date[24];
};

/* Path of a .json, or a name / alias (case, spaces, dashes, vendor's words ignored) in the hwprofile
 * directories; a near miss is suggested. Errors name file and field. */
int hwprofile_load(struct hwprofile *h, const char *spec, struct error *err);
bool hwprofile_same_name(const char *a, const char *b); /* "rtx-5050", "NVIDIA GeForce RTX 5050" */
bool hwprofile_is_path(const char *spec); /* what hwprofile_load takes for one */
/* The same of a name, never a path, that nobody may have: *found false, and *h is empty. A profile that cannot be read is an error,
 * whoever is looked for. */
int hwprofile_find(struct hwprofile *h, const char *name, bool *found, struct error *err);
/* Parse a JSON text (fuzzed). */
int hwprofile_parse(struct hwprofile *h, const char *name, const void *data, size_t size, struct error *err);
json_t *hwprofile_to_json(const struct hwprofile *h, struct error *err);
int hwprofile_save(const struct hwprofile *h, const char *path, struct error *err);
void hwprofile_free(struct hwprofile *h);
/* Fill topology, caches, CPU name, memory size of the live host (hwloc). No ceilings. */
int hwprofile_host(struct hwprofile *h, struct error *err);

/* Path of DIR/sub/name.json in those directories; false: in none. */
bool hwprofile_data_file(char *path, size_t size, const char *sub, const char *name);
int hwprofile_list(char ***names, size_t *n, struct error *err);

/* The best measured ceiling of that kind for n_threads (the largest thread count <= n_threads, else the
 * smallest), or NULL. level is "DRAM" etc.; dtype a math. A bandwidth is that of op "read" on this node;
 * where a profile has none, of op "update" (an imported one of a tool that only reads and writes in place). */
const struct ceiling *hwprofile_bandwidth(const struct hwprofile *h, const char *level, int n_threads);
const struct ceiling *hwprofile_peak(const struct hwprofile *h, enum math m, int n_threads);
/* The fastest link that joins n devices; NULL: none does, or there is nothing to join (n < 2). */
const struct hw_link *hwprofile_link(const struct hwprofile *h, int n);
/* What one of n threads has of a cache: all of an instance while there is one for each, doc/notes/charts.md. */
double hw_cache_share(const struct hw_cache *c, int n);
/* Bytes of all instances of the highest cache level that is listed; both 0: none is. */
double hwprofile_last_cache(const struct hwprofile *h, int *level);
/* c, a copy, in the place of the one of its name. Errors: out of memory. */
int hwprofile_add_ceiling(struct hwprofile *h, const struct ceiling *c, struct error *err);
/* The same, unless that of its name is as high, or c's value is 0 or NaN. */
int hwprofile_raise_ceiling(struct hwprofile *h, const struct ceiling *c, struct error *err);
/* op: "read" "write" ...; dtype: "" where it means nothing; n_tok: the nearest in ratio. NULL: not measured. */
const struct ceiling *hwprofile_ceiling(const struct hwprofile *h, const char *kind, const char *op, const char *dtype,
                                        const char *level, int n_tok, int n_threads);
/* By exactly so many threads: bytes a second of all of them, a barrier's seconds; NULL: not measured. (33) */
const struct ceiling *hwprofile_coherence(const struct hwprofile *h, enum coherence_kind what, int n_threads);
const struct hw_curve *hwprofile_curve(const struct hwprofile *h, const char *name); /* NULL: none of that name */
/* Copies c, its points too; one of that name is replaced. */
int hwprofile_add_curve(struct hwprofile *h, const struct hw_curve *c, struct error *err);
/* Of the ceilings that h has now (h->noise is what was found when they were measured). */
struct hw_noise hwprofile_noise(const struct hwprofile *h);
const char *hw_steadiness_name(enum hw_steadiness s); /* "quiet" "unsteady" "noisy"; NULL: unknown */
json_t *ceiling_to_json(const struct ceiling *c, struct error *err);

/* ---- profiles as users name them ---- */
/* The path that "this" stands for, this machine's profile, which has to be there; other names stay. NULL stays NULL. */
int hwprofile_this_path(const char **out, const char *spec, struct error *err);
/* ERROR_USAGE: no HOME, so that nobody knows where it is. */
int hwprofile_no_this_path(struct error *err);
/* hwprofile_load() with "this" as above; notes what of it is left out. */
int hwprofile_open(struct hwprofile *h, const char *spec, struct error *err);

#endif
