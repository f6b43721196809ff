/*
 * roofs.h: the roofs of a machine as a prediction uses them - peaks, bandwidth, cache, links, measured kernels - and the seconds of one op
 * under them. methods.md (26)
 */
#ifndef TIMING_ROOFS_H
#define TIMING_ROOFS_H

#include "cost/classes.h"

const char *bound_name(enum bound b);
/* attainable FLOP/s at an intensity: min(peak, ai * bandwidth). (26) */
double attainable_flop_s(double ai, double peak_flop_s, double bytes_s);

/* What a what-if does to a constant of the time model (enum time_slot, timing.h). */
struct time_change {
    int slot;
    bool times; /* value multiplies it; else it is the value, known for sure */
    double value;
};

enum { TIME_MAX_CHANGES = 8 };
struct time_source;   /* timing.h */
struct predict_roles; /* predict/predict.h */

struct predict_options {
    struct layout layout;
    /* Constants of software, and with them intervals; NULL, or with .roof: the profile's efficiency factors, and none. */
    const struct time_source *time;
    struct time_change change[TIME_MAX_CHANGES];
    size_t n_change;
    const struct routing *routing; /* of tokens to experts; NULL: uniform */
    bool materialized; /* attention's scores pass through memory, as without FlashAttention */
    bool roof;         /* no efficiency factors, no launch cost */
    bool weights_only; /* price weight bytes and the FLOP of products alone */
    /* --weights-gb: a nominal model of this many bytes, read once a pass, 2 FLOP a weight
     * and token, nothing else priced; NaN: off */
    double weights_bytes;
    int n_threads; /* CPU profiles: which measured ceilings; 0: all */
    const struct last_cache *last; /* the last-level cache as it is now; NULL: as the profile's loads found it (32) */
    uint32_t n_prompt, n_gen, n_depth, n_batch, n_ubatch;
    enum dtype type_k, type_v; /* of the KV cache */
    bool server;         /* a server's share of the memory decides what fits, by its newest release (memory.h); else all of it */
    uint32_t n_batched;  /* of a server: tokens of a pass at most; 0: its default on the machine */
    struct predict_roles *roles; /* that seconds are divided over, filled in; NULL: not wanted */
    uint32_t n_look_ahead; /* drafted tokens of each sequence that memory has room for (53) */
};

/* 90 % of a normal distribution lie within so many standard deviations. */
#define PREDICT_Z90 1.6448536269514722

/* What the logarithm of seconds errs by, one standard deviation: along each of the normals that constants err by, and what is left. (64) */
enum { ERROR_PARTS = 25 };

struct error_parts {
    double of[ERROR_PARTS], left;
    double machine; /* what is guessed of it: the same in all predictions of one machine (56) */
};

/* A horizontal roof: peak FLOP/s for one operand type, before efficiency. */
struct peak {
    double flop_s;
    enum math math; /* whose it is: of the operands */
    char source[192];
    bool derived; /* taken from another operand type: source says which */
};

/*
 * The engine's own kernels as the profile measured them, for one number of threads: what an op of that kind and type reaches
 * here, instead of a peak and an efficiency factor. methods.md (78), (29)
 */
enum kernel_op {
    KERNEL_PRODUCT, KERNEL_ATTENTION, KERNEL_ATTENTION_ROUNDED /* to BF16 (95) */,
    KERNEL_ATTENTION_AGAIN, KERNEL_ATTENTION_ROUNDED_AGAIN /* with keys that a call has just read (31) */, KERNEL_QUANTIZE,
    KERNEL_ARRANGE, KERNEL_PREPARE /* both of these at once */, KERNEL_EMBED, KERNEL_KV_STORE, KERNEL_RMS_NORM, KERNEL_ROPE,
    KERNEL_SILU, KERNEL_ADD, KERNEL_KV_STORE_FAR /* into lines that come from memory */,
    KERNEL_EXCHANGE_READ, KERNEL_EXCHANGE_WRITE /* rows of others, lines that others have: beyond a thread's own (33) */, KERNEL_OP_COUNT,
};

enum { KERNEL_POINTS = 16, KERNEL_ROOFS = 128 /* of a profile at most */ };

struct kernel_roof {
    enum kernel_op op;
    enum dtype dtype;
    int head_dim; /* attention: elements of a key; else 0 */
    /* Products by one token, attention by one row: stored bytes a second from memory, from the last-level cache, and from
     * the level where it is most; NaN: not measured. */
    double dram_bytes_s, llc_bytes_s, best_bytes_s;
    /* Against tokens of a call (attention: rows of queries that share a key), ascending: FLOP/s of products and attention,
     * B/s of the others. */
    size_t n;
    double n_tok[KERNEL_POINTS], rate[KERNEL_POINTS];
    double memory_part[KERNEL_POINTS]; /* of these rates: they grow with what memory gives to so much. (82) */
    /* Attention: seconds of a call of so many rows, on one thread, beyond those of its keys. (31) */
    size_t n_call;
    double call_rows[KERNEL_POINTS], call_s[KERNEL_POINTS];
    double sd; /* of the logarithm of what was measured, the widest of them */
};

struct kernel_roofs {
    int n_threads;    /* of all of them */
    double barrier_s, dispatch_s; /* NaN: not measured */
    size_t n;         /* 0: the profile has none, or constants are used */
    struct kernel_roof *roof;
};

/* The last-level cache as threads find it: which part of so many bytes, read round and round, it keeps from one time to the next. (32) */
enum { LAST_CACHE_POINTS = 32 };

struct last_cache {
    double bytes;   /* half of which it keeps, at most what is stated: operands up to this size stay on the chip; 0: unknown */
    double bytes_s; /* plain loads from it; NaN: nobody looked */
    size_t n;       /* 0: nobody looked; all of what is no larger than bytes is kept, and nothing of the rest */
    double walked[LAST_CACHE_POINTS], kept[LAST_CACHE_POINTS]; /* ascending; from 1 down to what the curve ends with */
};

/* As the profile's loads by n_threads, or by as many as were measured, find it. The level; 0: the profile lists no caches. */
int last_cache_init(struct last_cache *l, const struct hwprofile *h, int n_threads);
double last_cache_kept(const struct last_cache *l, double bytes); /* a fraction */
/* Loads that walked so many bytes round and round got bytes_s, where memory gives memory_bytes_s: the part that the cache keeps now,
 * and *l as it is now, so that it says that. Others have more or less of a cache that is shared. n is not 0. */
double last_cache_found(struct last_cache *l, double bytes, double bytes_s, double memory_bytes_s);

/* What the blocks of a GPU's kernel share out. Where a datasheet says nothing: guessed from its FP32 peak. (doc/notes/gpu-kernels.md) */
struct gpu_units {
    double n, threads;  /* multiprocessors; threads that one holds */
    double clock_hz, cache_bytes;
    double flight_bytes_s; /* of memory that all threads ask for, a load after the other (38); 0: not known */
};

struct timing; /* timing.h */

/* Operands by the units that may multiply them, whichever kernel it is. (27) */
enum roof_class { ROOF_FLOAT32, ROOF_FLOAT16, ROOF_BFLOAT16, ROOF_WIDENED /* to either of these */, ROOF_FLOAT8, ROOF_FLOAT4, ROOF_INT8, ROOF_MIXED /* 8 and 4 bits of any kind */, ROOF_CLASSES };

/* The roofs of a machine as one prediction uses them. */
struct roofs {
    bool cpu;  /* CPU rules for operand types; else GPU rules */
    bool roof; /* the bound alone is asked for */
    const struct timing *time; /* not owned. Constants make seconds of it all; NULL: the efficiency factors, op by op */
    bool parts; /* sums say what their errors are made of, which takes some microseconds */
    double kernel_sd; /* spread of the logarithm of seconds that measured kernels leave (63); 0: not wanted */
    struct peak peak[MATH_COUNT];
    struct peak fastest[ROOF_CLASSES]; /* of the units of a class */
    double kept_bytes; /* of a pass, which the last cache may keep for the next one; 0: unknown */
    double bytes_s; /* memory, before efficiency */
    char bytes_source[192];
    double e_compute, e_bandwidth, launch_s;
    double meets;         /* what an op's launch costs by a CPU's number of threads, over the usual (42) */
    struct last_cache last;
    double cache_bytes_s; /* bandwidth there, before efficiency; INFINITY: not a limit, or
                             unknown */
    double act_elem_bytes;
    double link_bytes_s, link_latency_s; /* between the devices of the layout; NaN: one device */
    bool link_ring;                      /* neighbours alone are joined */
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
/* Every op has a peak to run at, else "cannot predict: ...": units of 8 and 4 bits are there or are not. Before
 * anything is priced. (26) */
int roofs_check(const struct roofs *r, const struct hwprofile *h, const struct op_classes *ops, struct error *err);

/* Seconds that one op of x takes under the roofs and in the launch: x has its class, cost and walked_bytes, and gets seconds, what they rest on, and the
 * bytes that an exchange sends. methods.md (26), (24) */
void roofs_time(const struct roofs *r, struct step *x, const struct pass *p);
/* The least that any kernel takes for one: weights and keys cross the memory once, FLOP run on the fastest units that its operands may
 * meet. (27) */
double roofs_least_s(const struct roofs *r, const struct step *x);
enum roof_class roofs_class(const struct roofs *r, const struct op_class *c);
/* The bound under which most seconds are spent. */
enum bound bound_largest(const double s[BOUND_COUNT]);
/* FLOP/s (or B/s) at so many tokens: between two that were measured seconds are on a line, else it is the nearest one's. */
double kernel_roof_rate(const struct kernel_roof *k, double n_tok);
/* What an op was priced with: "matvec Q4_K DRAM 2t, matmat Q4_K at 512 tokens". */
const char *kernel_roof_text(char *buf, size_t n, const struct roofs *r, const struct step *x);

#endif
