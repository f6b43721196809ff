/*
 * roofs.h: the roofs of a machine as predictions use them (peaks, bandwidth, cache, links, measured kernels), and the seconds of one op
 * under them. methods.md (26)
 */
#ifndef TIMING_ROOFS_H
#define TIMING_ROOFS_H

#include "cost/classes.h"

const char *bound_name(enum bound b);
/* attainable FLOP/s at an intensity: min(peak, ai * bandwidth). (26) */
double attainable_flop_s(double ai, double peak_flop_s, double bytes_s);

/* Change of one constant of the time model (enum time_parameter, timing.h) by a what-if. */
struct time_change {
    int parameter;
    bool times; /* value multiplies the constant; else it replaces it, exactly known */
    double value;
};

enum { TIME_MAX_CHANGES = 8 };
struct time_source;   /* timing.h */
struct predict_roles;   /* predict/predict.h */
struct predict_offload; /* predict/offload.h */
struct predict_device;

struct predict_options {
    struct layout layout;
    /* Constants of software, which include intervals; NULL, or with .roof: the profile's efficiency factors, no intervals. */
    const struct time_source *time;
    struct time_change change[TIME_MAX_CHANGES];
    size_t n_change;
    const struct routing *routing; /* of tokens to experts; NULL: uniform */
    bool materialized; /* attention's scores pass through memory, as without FlashAttention */
    bool roof;         /* no efficiency factors, no launch cost */
    bool weights_only; /* cost of weight bytes and the FLOP of products alone */
    /* --weights-gb: a nominal model of this many bytes, read once per pass, 2 FLOP per weight and token, no other cost; NaN: off */
    double weights_bytes;
    int n_threads; /* CPU profiles: which measured ceilings; 0: all */
    const struct last_cache *last; /* the LLC as probed; NULL: as the profile's loads found it (32) */
    uint32_t n_prompt, n_gen, n_depth, n_batch, n_ubatch;
    enum dtype type_k, type_v; /* of the KV cache */
    bool server;         /* a server's share of the memory decides what fits, by its newest release (memory.h); else all of it */
    uint32_t n_batched;  /* of a server: tokens of a pass at most; 0: its default on the machine */
    struct predict_roles *roles; /* that seconds are divided over, filled in; NULL: not wanted */
    const struct predict_offload *offload; /* a part of the model stays on the host; NULL: none */
    struct predict_device *devices; /* [DEVICE_COUNT] filled in with offload; NULL: not wanted */
    uint32_t n_look_ahead; /* drafted tokens of each sequence that memory has room for (53) */
};

/* 90 % of a normal distribution lie within this many standard deviations. */
#define PREDICT_Z90 1.6448536269514722

/* Error of ln seconds, one standard deviation: along each principal component of the constants' covariance, and the residual. (64) */
enum { ERROR_PARTS = 25 };

struct error_parts {
    double of[ERROR_PARTS], left;
    double machine; /* of a guessed machine: the same in all its predictions (56) */
};

/* A horizontal roof: peak FLOP/s for one operand type, before efficiency. */
struct peak {
    double flop_s;
    enum math math; /* whose it is: of the operands */
    char source[192];
    bool derived; /* taken from another operand type: source says which */
};

/*
 * The engine's own kernels as the profile measured them, for one number of threads: rate of an op of that kind and type, in place of a peak
 * and an efficiency factor. methods.md (78), (29)
 */
enum kernel_op {
    KERNEL_PRODUCT, KERNEL_ATTENTION, KERNEL_ATTENTION_ROUNDED /* to BF16 (95) */,
    KERNEL_ATTENTION_AGAIN, KERNEL_ATTENTION_ROUNDED_AGAIN /* keys cached by a preceding call (31) */, KERNEL_QUANTIZE,
    KERNEL_PACK_ACTS, KERNEL_PREPARE /* both of these at once */, KERNEL_EMBED, KERNEL_KV_STORE, KERNEL_RMS_NORM, KERNEL_ROPE,
    KERNEL_SILU, KERNEL_ADD, KERNEL_KV_STORE_FAR /* into lines that are in memory */,
    KERNEL_COHERENCE_READ, KERNEL_COHERENCE_WRITE /* coherence: rows written, lines held by other cores, beyond a thread's own (33) */, KERNEL_OP_COUNT,
};

enum { KERNEL_POINTS = 16, KERNEL_ROOFS = 128 /* of a profile at most */ };

struct kernel_roof {
    enum kernel_op op;
    enum dtype dtype;
    int head_dim; /* attention: elements of a key; else 0 */
    /* Products by one token, attention by one row: stored bytes a second from memory, from the LLC, and from the fastest level; NaN: not
     * measured. */
    double dram_bytes_s, llc_bytes_s, best_bytes_s;
    /* By tokens of a call (attention: query rows that share a key), ascending: FLOP/s of products and attention, B/s of the others. */
    size_t n;
    double n_tok[KERNEL_POINTS], rate[KERNEL_POINTS];
    double memory_part[KERNEL_POINTS]; /* exponent with which these rates follow memory bandwidth. (82) */
    /* Attention: seconds of a call of so many rows, on one thread, without its keys. (31) */
    size_t n_call;
    double call_rows[KERNEL_POINTS], call_s[KERNEL_POINTS];
    double sd; /* of ln(measured), the largest of its ceilings */
};

struct kernel_roofs {
    int n_threads;    /* of all of them */
    double barrier_s, dispatch_s; /* NaN: not measured */
    size_t n;         /* 0: the profile has none, or constants are used */
    struct kernel_roof *roof;
};

/* The last-level cache: hit fraction of a working set of so many bytes that is scanned repeatedly. (32) */
enum { LAST_CACHE_POINTS = 32 };

struct last_cache {
    double bytes;   /* working set with a hit fraction of one half, at most the size stated: operands up to this size stay on chip; 0:
                       unknown */
    double bytes_s; /* plain loads from it; NaN: not measured */
    size_t n;       /* 0: no curve; step function at `bytes` */
    double footprint[LAST_CACHE_POINTS], hit[LAST_CACHE_POINTS]; /* bytes, ascending; fractions, descending from 1 */
};

/* From the profile's loads by n_threads, or by the nearest measured number. Returns the cache level; 0: the profile lists no caches. */
int last_cache_init(struct last_cache *l, const struct hwprofile *h, int n_threads);
double last_cache_hit(const struct last_cache *l, double bytes); /* a fraction */
/* Adapts *l to a probe: repeated sequential loads of so many bytes ran at bytes_s, memory gives memory_bytes_s. Returns the hit fraction
 * now. Virtual machines share a cache whose free part varies. l->n is not 0. */
double last_cache_found(struct last_cache *l, double bytes, double bytes_s, double memory_bytes_s);

/* Execution resources of a GPU. Estimated from its FP32 peak where the datasheet does not state them. (doc/notes/gpu-kernels.md) */
struct gpu_units {
    double n, threads;  /* multiprocessors; resident threads of one */
    double clock_hz, cache_bytes;
    double flight_bytes_s; /* latency-bound memory bandwidth of all threads, one load at a time (38); 0: unknown */
};

struct timing; /* timing.h */

/* Operands by the units that can multiply them, in any kernel. (27) */
enum roof_class {
    ROOF_FLOAT32, ROOF_FLOAT16, ROOF_BFLOAT16, ROOF_WIDENED /* to either of these */, ROOF_FLOAT8, ROOF_FLOAT4, ROOF_INT8,
    ROOF_MIXED /* 8 and 4 bits of any kind */, ROOF_CLASSES
};

/* The roofs of a machine as one prediction uses them. */
struct roofs {
    bool cpu;  /* CPU rules for operand types; else GPU rules */
    bool roof; /* bound only */
    const struct timing *time; /* not owned. Constants of the time model; NULL: efficiency factors, op by op */
    bool parts; /* sums include error_parts, which takes some microseconds */
    double kernel_sd; /* residual spread of ln seconds with measured kernels (63); 0: not wanted */
    struct peak peak[MATH_COUNT];
    struct peak fastest[ROOF_CLASSES]; /* of the math units of a class */
    double llc_pass_bytes; /* LLC capacity for data that the next pass reads again; 0: unknown */
    double bytes_s; /* memory, before efficiency */
    char bytes_source[192];
    double e_compute, e_bandwidth, launch_s;
    double barrier_scale;        /* launch cost by a CPU's number of threads, relative to that of 16 (42) */
    struct last_cache last;
    double cache_bytes_s; /* bandwidth there, before efficiency; INFINITY: not a limit, or
                             unknown */
    double act_elem_bytes;
    double link_bytes_s, link_latency_s; /* between the devices of the layout; NaN: one device */
    bool link_ring;                      /* only neighbours are linked */
    char link_source[192];
    struct gpu_units units;
    struct kernel_roofs kernels;
};

/* Roofs from the measured ceilings and the datasheet. Fails with "cannot predict: ..." when
 * there is no bandwidth, no peak of any type, or no link between the devices of o->layout. */
int roofs_init(struct roofs *r, const struct hwprofile *h, const struct predict_options *o,
               struct error *err);
void roofs_free(struct roofs *r); /* its kernels; the others stay as they are */
/* Operand type the arithmetic of this op runs in on such a machine. */
enum math roofs_math(const struct roofs *r, const struct op *op);
/* Every op has a peak (units of 8 and 4 bits exist or do not); else "cannot predict: ...". Call before any cost. (26) */
int roofs_check(const struct roofs *r, const struct hwprofile *h, const struct op_classes *ops, struct error *err);

/* Seconds of one op of x under the roofs, launch included: x has its class, cost and pass_read_bytes, and gets seconds, what they rest
 * on, and the link bytes sent. methods.md (26), (24) */
void roofs_time(const struct roofs *r, struct step *x, const struct pass *p);
/* Lower bound of one op's seconds for any kernel: weights and keys cross the memory once, FLOP run on the fastest units that can
 * multiply its operands. (27) */
double roofs_least_s(const struct roofs *r, const struct step *x);
enum roof_class roofs_class(const struct roofs *r, const struct op_class *c);
/* The bound under which most seconds are spent. */
enum bound bound_largest(const double s[BOUND_COUNT]);
/* FLOP/s (or B/s) at so many tokens: seconds interpolated linearly between two measured points, else the nearest point's. */
double kernel_roof_rate(const struct kernel_roof *k, double n_tok);
/* The kernel roof that determines x's seconds: "matvec Q4_K DRAM 2t, matmat Q4_K at 512 tokens". */
const char *kernel_roof_text(char *buf, size_t n, const struct roofs *r, const struct step *x);

#endif
