/*
 * step.h: the price of a step, fast. An op list is compiled once: the equal ops of many layers become one class with a
 * count. Laid out over devices, a class is a form (roofline.h); under a machine's roofs, a form and a pass are seconds.
 * After that, another batch, context or machine is a walk over some thirty classes.
 */
#ifndef ROOFLINE_STEP_H
#define ROOFLINE_STEP_H

#include "roofline/roofline.h"

/* ---- classes: what is equal, once ------------------------------------------------------ */

struct op_class {
    struct op op;        /* the first of them */
    double count;
    double tensor_bytes; /* of tensors that no class before reads: over all classes, every tensor once */
};

struct op_classes {
    const struct model *m;
    const struct op_list *ops; /* not owned */
    struct op_class *c;        /* in op order of their first op */
    size_t n;
};
int op_classes_init(struct op_classes *l, const struct model *m, const struct op_list *ops, struct error *err);
void op_classes_free(struct op_classes *l);

/* The op list of a model and its classes, which point to it: not to be copied. */
struct model_classes {
    struct op_list ops;
    struct op_classes classes;
};
int model_classes_init(struct model_classes *x, const struct model *m, struct error *err);
void model_classes_free(struct model_classes *x);

/* ---- over devices ------------------------------------------------------------------------ */

uint32_t layout_devices(const struct layout *l); /* tp pp dp */
/* "tp8", "tp4 pp2 dp4 ep16", "1 device" */
const char *layout_text(char *buf, size_t n, const struct layout *l);
/* Heads, widths, experts and layers divide; else ERROR_USAGE. (44) */
int layout_check(const struct layout *l, const struct op_classes *ops, struct error *err);
/* Devices that one link has to join: those that share every matrix or the experts, else neighbours of a pipeline; 1: none. */
uint32_t layout_joined(const struct layout *l);
/* The machine has such a link; else ERROR_INPUT. */
int layout_check_link(const struct layout *l, const struct hwprofile *h, struct error *err);

struct step_class {
    struct op op;          /* for its kind, role, types and names */
    double count;
    struct cost_form form; /* what one device does of it */
    uint32_t n_comm;       /* devices that exchange; 0: no traffic */
    enum dtype kv_type;    /* of the cache's keys and values; DTYPE_PRICED_END: they differ */
    double held_bytes;     /* weights that passes read on the device, of all classes: a cache that holds them keeps them from
                              pass to pass; 0: unknown */
    double held_position;  /* of its KV cache, of all classes that see all of it, for each position */
};

struct step_options {
    struct cost_options cost;
    struct layout layout;
    bool weights_only;    /* weight bytes and the FLOP of products alone */
    double weights_bytes; /* > 0: a nominal model, read once a pass, 2 FLOP a weight and token, nothing else */
    bool absorbed;        /* MLA's cache stays latent: never the expanded form (36) */
};

struct step_model {
    struct step_class *c;
    size_t n;
    struct step_options o;
    double stretch; /* slowest pipeline stage over their mean, in layers */
};
int step_model_init(struct step_model *s, const struct op_classes *l, const struct step_options *o, struct error *err);
void step_model_free(struct step_model *s);

/* Bytes on the device that holds most: its share of the tensors, and of one sequence's cache of n_ctx positions. (17) */
double step_weight_bytes(const struct op_classes *l, const struct layout *lay);
double step_kv_bytes(const struct op_classes *l, const struct layout *lay, const struct cost_options *o, uint64_t n_ctx,
                     uint32_t n_ubatch);

/* ---- under the roofs of a machine -------------------------------------------------------- */

/* A horizontal roof: peak FLOP/s for one operand type, before efficiency. */
struct peak {
    double flop_s;
    enum math math; /* whose it is: of the operands */
    char source[192];
    bool derived; /* taken from another operand type: source says which */
};

/*
 * The engine's own kernels as the profile measured them, for one number of threads: what an op of that kind and type reaches
 * here, instead of a peak and an efficiency factor. methods.md (61), (62)
 */
enum kernel_op {
    KERNEL_PRODUCT, KERNEL_ATTENTION, KERNEL_ATTENTION_ROUNDED /* to BF16 (117) */,
    KERNEL_ATTENTION_AGAIN, KERNEL_ATTENTION_ROUNDED_AGAIN /* with keys that a call has just read (98) */, KERNEL_QUANTIZE,
    KERNEL_ARRANGE, KERNEL_PREPARE /* both of these at once */, KERNEL_EMBED, KERNEL_KV_STORE, KERNEL_RMS_NORM, KERNEL_ROPE,
    KERNEL_SILU, KERNEL_ADD, KERNEL_KV_STORE_FAR /* into lines that come from memory */,
    KERNEL_EXCHANGE_READ, KERNEL_EXCHANGE_WRITE /* rows of others, lines that others have: beyond a thread's own (114) */, KERNEL_OP_COUNT,
};
enum { KERNEL_POINTS = 16, KERNEL_ROOFS = 128 };

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
    double memory_part[KERNEL_POINTS]; /* of these rates: they grow with what memory gives to so much. (89) */
    /* Attention: seconds of a call of so many rows, on one thread, beyond those of its keys. (98) */
    size_t n_call;
    double call_rows[KERNEL_POINTS], call_s[KERNEL_POINTS];
    double sd; /* of the logarithm of what was measured, the widest of them */
};

struct kernel_roofs {
    int n_threads;    /* of all of them */
    double barrier_s, dispatch_s; /* NaN: not measured */
    size_t n;         /* 0: the profile has none, or --roof */
    struct kernel_roof roof[KERNEL_ROOFS];
};

/* The last-level cache as threads find it: which part of so many bytes, read round and round, it keeps from one time to the next. (106) */
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

/* What the blocks of a GPU's kernel share out. Where a datasheet says nothing: guessed from its FP32 peak. (76) */
struct gpu_units {
    double n, threads;  /* multiprocessors; threads that one holds */
    double clock_hz, cache_bytes;
    double flight_bytes_s; /* of memory that all threads ask for, a load after the other (134); 0: not known */
};
struct timing; /* timing.h */

/* Operands by the units that may multiply them, whichever kernel it is. (156) */
enum roof_class { ROOF_FLOAT32, ROOF_FLOAT16, ROOF_BFLOAT16, ROOF_WIDENED /* to either of these */, ROOF_FLOAT8, ROOF_FLOAT4, ROOF_INT8, ROOF_MIXED /* 8 and 4 bits of any kind */, ROOF_CLASSES };

/* The roofs of a machine as one prediction uses them. */
struct roofs {
    bool cpu;  /* CPU rules for operand types; else GPU rules */
    bool roof; /* the bound alone is asked for */
    const struct timing *time; /* not owned. Constants make seconds of it all; NULL: the efficiency factors, op by op */
    bool parts; /* sums say what their errors are made of, which takes some microseconds */
    double kernel_sd; /* spread of the logarithm of seconds that measured kernels leave (88); 0: not wanted */
    struct peak peak[MATH_COUNT];
    struct peak fastest[ROOF_CLASSES]; /* of the units of a class */
    double kept_bytes; /* of a pass, which the last cache may keep for the next one; 0: unknown */
    double bytes_s; /* memory, before efficiency */
    char bytes_source[192];
    double e_compute, e_bandwidth, launch_s;
    double meets;         /* what an op's launch costs by a CPU's number of threads, over the usual (111) */
    struct last_cache last;
    double cache_bytes_s; /* bandwidth there, before efficiency; INFINITY: not a limit, or
                             unknown */
    double act_elem_bytes;
    double link_bytes_s, link_latency_s; /* between the devices of the layout; NaN: one device */
    bool link_ring;                      /* neighbours alone are joined */
    char link_source[192];
    struct gpu_units units;
    struct kernel_roofs kernels; /* last: what lies behind the first of n is not set */
};

/* Roofs from the measured ceilings and the datasheet. Fails with "cannot predict: ..." when
 * there is no bandwidth, no peak of any type, or no link between the devices of o->layout. */
int roofs_init(struct roofs *r, const struct hwprofile *h, const struct predict_options *o,
               struct error *err);
/* Operand type the arithmetic of this op runs in on such a machine. */
enum math roofs_math(const struct roofs *r, const struct op *op);
/* Every op has a peak to run at, else "cannot predict: ...": units of 8 and 4 bits are there or are not. Before
 * anything is priced. (13) */
int roofs_check(const struct roofs *r, const struct hwprofile *h, const struct op_classes *ops, struct error *err);

/* Seconds one op takes under the roofs and in the launch. methods.md (13), (44) */
struct op_time {
    double seconds, memory_s, compute_s, link_s;
    double link_bytes; /* sent in link_s */
    enum bound bound;
    double sd;         /* of the logarithm of seconds, from that of what was measured; 0 where constants are */
    const struct kernel_roof *kernel; /* of r, that it was priced with; NULL: bandwidth and peak */
    const char *alone;                /* the kernel of software that runs it, whose constants are its own (155); NULL: none is known */
    double kernel_tok;                /* the tokens its rate was taken at */
    double kernel_bytes_s, kept;      /* of products: stored bytes a second, and the part of them that the last cache has; 0: not
                                         measured */
};
struct op_time roofs_time(const struct roofs *r, const struct step_class *c, const struct cost *cost, const struct pass *p);
/* The least that any kernel takes for it: weights and keys cross the memory once, FLOP run on the fastest units that its operands may
 * meet. (156) */
struct op_time roofs_bound(const struct roofs *r, const struct step_class *c, const struct cost *cost, const struct pass *p);
enum roof_class roofs_class(const struct roofs *r, const struct step_class *c);

/* What a device does in a step, and how long it takes: sums over the classes. */
struct step_sum {
    struct cost cost;
    double seconds, memory_s, compute_s, link_s;
    double sd_s, sd_fast_s;      /* spread of the seconds to the slower side, to the faster; NaN: not known. Of several sums: as if all
                                    erred together. (87) */
    struct error_parts parts;    /* with roofs.parts */
    unsigned which;              /* with constants: the case of them */
    double bound_s[BOUND_COUNT]; /* seconds spent under each bound */
    double n_kernel;             /* that the host launches for a pass; 0: its queue takes any number */
    double n_whole;              /* passes like the fullest, by their tokens, with constants (148) */
    double least_s;              /* seconds of it at the roofs; of a scenario: those at which its tok_s are the bound's. (156) */
    double longest_least_s;      /* the same of the longest pass */
    double tok_s;                /* of a scenario: tokens of all groups of devices in a second */
};
/* Of a scenario's sum; those of measured kernels are not told apart. */
struct error_parts step_error_parts(const struct step_sum *s, const struct roofs *r);
/* The bound under which most of it is spent. */
enum bound step_bound(const struct step_sum *s);
/* fn, when not NULL, is called for every class that runs, with its cost and time (of one op; it counts c->count times). With
 * constants (r->time) the seconds are those of all ops together, which those of single ops need not add up to.
 * n_steps > 1: the mean of so many decode steps, of which *p is the first. (14) */
typedef void step_fn(void *ctx, const struct step_class *c, const struct cost *cost, const struct op_time *t);
bool step_few(uint32_t n_prompt, uint32_t n_ubatch); /* fewer than TIME_PROMPT tokens at a time */
/* A pass of a prompt; few: step_few() of it. */
struct step_sum step_price_prompt(const struct step_model *s, const struct roofs *r, const struct pass *p, bool few, step_fn *fn, void *ctx);
struct step_sum step_price(const struct step_model *s, const struct roofs *r, const struct pass *p, uint32_t n_steps,
                           step_fn *fn, void *ctx);

/* The sequences, prompts and generations of a prediction. */
struct scenario {
    uint32_t n_prompt, n_gen, n_depth, n_batch, n_ubatch;
};
/* The prompt's passes, and the mean decode step, through the layout: what a device does, and the seconds until all is done. A
 * pipeline works on several passes, or groups of sequences, at once. (14), (44) */
struct step_sum step_prefill(const struct step_model *s, const struct roofs *r, const struct scenario *o, step_fn *fn,
                             void *ctx);
struct step_sum step_decode(const struct step_model *s, const struct roofs *r, const struct scenario *o, step_fn *fn,
                            void *ctx);

/* With constants (r->time), no pipeline: seconds, spreads and bounds of a prompt and steps->n_gen steps from steps->n_depth on, by what whole
 * requests say; its cost is not filled in. (120) */
struct step_sum step_request(const struct step_model *s, const struct roofs *r, const struct scenario *prompt,
                             const struct scenario *steps);

/* Weights, KV cache and activations against the machine's memory. methods.md (17) */
int memory_fit(struct predict_result *res, const struct op_classes *l, const struct hwprofile *h, const struct roofs *r,
               const struct predict_options *o, struct error *err);
/* predict() for an op list compiled before. */
int predict_classes(struct predict_result *r, const struct op_classes *classes, const struct hwprofile *h,
                    const struct predict_options *o, struct error *err);

/* ---- remembered prices --------------------------------------------------------------------- */

/* Prices of passes priced before: a direct-mapped table. */
struct step_cache {
    const struct step_model *s;
    const struct roofs *r;
    struct step_slot *slot;
    size_t n_hit, n_miss;
};
int step_cache_init(struct step_cache *c, const struct step_model *s, const struct roofs *r, struct error *err);
void step_cache_free(struct step_cache *c);
/* Seconds of the pass. */
double step_cache_seconds(struct step_cache *c, const struct pass *p);

#endif
