/*
 * timing.h: from exact bytes and FLOP to attainable seconds, not bounds. A pass is reduced once to seconds at the machine's peaks; a few
 * parameters (parameters) are the fractions of each peak that software attains and the cost of starting an op. Fits (calibrate) and predictions
 * use this one function. Source: methods.md (35).
 */
#ifndef TIMING_TIMING_H
#define TIMING_TIMING_H

#include "timing/step.h"

/* Constants of the time model. Everywhere as natural logarithms, so that effects add up. */
enum time_parameter {
    TIME_BANDWIDTH,      /* attained fraction of the memory bandwidth, products */
    TIME_COMPUTE,        /* attained fraction of the peak, products */
    TIME_VECTOR,         /* vector operations per weight for unpacking, relative to those of its refinement */
    TIME_KV,             /* seconds of attention's memory over those at the products' bandwidth */
    TIME_ATTENTION,      /* attained fraction of the peak, attention */
    TIME_SMALL,          /* seconds of the small ops' memory over those at the products' bandwidth */
    TIME_LAUNCH,         /* seconds per op on top of its roofs */
    TIME_STEP,           /* seconds per pass on top of its ops */
    TIME_EXPERT,         /* seconds of experts' products over those of other products with their bytes and FLOP */
    TIME_OVERLAP,      /* overlap exponent: p - 1 of the smooth roof (p-norm); large: sharp corner */
    TIME_LINK,           /* fraction of the bandwidth between devices */
    TIME_HOP,            /* seconds a hop between devices */
    TIME_KERNEL,         /* seconds of an empty small kernel: (doc/notes/gpu-kernels.md) */
    TIME_CACHE_LATENCY,           /* cache latency: seconds of a dependent load */
    TIME_MEMORY_LATENCY,           /* memory latency over cache latency */
    TIME_ISSUE,          /* instructions of a small kernel over those counted in its source */
    TIME_CACHE,          /* seconds of cached bytes over those of memory */
    TIME_HEADS,          /* vector operations per element of the KV cache and query head that reads it */
    TIME_SCAN,           /* sequential scan: seconds per position of the KV cache, read by one block of threads */
    TIME_REQUEST,        /* measured seconds over those of the passes: 1 where the measurement is the passes */
    TIME_LAUNCH_EXPERT,  /* launch of an experts' product over that of another product */
    TIME_LAUNCH_SMALL,   /* launch of a small op, likewise */
    TIME_SEQUENCE,       /* server seconds per sequence and step */
    TIME_STAGE_BOUNDARY,         /* stage boundary: seconds between the layers of two devices, where the host hands a pass on */
    TIME_QUEUE,          /* queueing: prompts a prompt waits for, per other user */
    TIME_PARAMETER_COUNT,
};
const char *time_parameter_name(enum time_parameter s); /* "bandwidth" */
const char *time_parameter_unit(enum time_parameter s); /* "fraction", "s", "op/weight", "factor" */
int time_parameter_find(const char *name);         /* -1: unknown */

enum time_kind { TIME_PRODUCT, TIME_EXPERT_PRODUCT, TIME_ATTEND, TIME_OTHER, TIME_STAGED, TIME_SMALL_KERNEL, TIME_KERNEL_ALONE };

/* A small kernel of a GPU: blocks of threads that loop over an operand, with few dependent loads. (doc/notes/gpu-kernels.md) */
struct time_blocks {
    double n, threads;      /* blocks; threads of one */
    double trips;           /* iterations of its busiest thread */
    double instructions;    /* of one block: warps x iterations x instructions */
    double footprint_bytes; /* of the whole kernel: cached as far as it fits */
};

/* The grid on a machine. */
struct time_grid {
    double waves, last, resident; /* full waves of blocks; blocks of the busiest multiprocessor in the last wave, in a full one */
    double trips;
    double issue_s;               /* to issue one block's instructions */
    double in_cache;              /* cached fraction of the operands */
};
struct time_grid time_grid_of(const struct time_blocks *b, const struct gpu_units *u);

/*
 * A call of attention with its own constants, whatever the number of keys: seconds = start_s + (memory^p + scan^p + compute^p)^(1/p), p = sharp.
 * A sequence's keys are split among min(most_splits, ceil(keys / split_keys)) blocks, which scan whole tiles of keys. (46)
 */
struct time_attend {
    double units, processors;        /* blocks without splits; multiprocessors */
    double most_splits, split_keys;
    double tile_keys, block_s, key_s; /* of a block: without keys, and a key scanned */
    double start_s, combine_s, split_s; /* launch; with several splits: once, and each */
    double byte_s, compute_key_s;    /* of all blocks: a byte from memory, a key's FLOP */
    double sharp;
    double keys, flop_key;           /* of this call: of a sequence; FLOP of a key, by pass_attend() */
};

/* Seconds of a kernel with its own constants, and their parts: launch; bytes, sequential scan and FLOP, each alone. (46) */
struct time_kernel {
    const char *name;
    double seconds, start_s, memory_s, scan_s, compute_s;
};

/* Ops alike, added up: seconds at the machine's peaks. */
struct time_term {
    enum time_kind kind;
    uint64_t key;          /* which ops: rows, columns and type */
    double count;          /* ops */
    double compute_s;      /* FLOP over the peak of their operands */
    double memory_s;       /* bytes over the bandwidth */
    struct time_grid grid; /* of a small kernel */
    double vector_s;       /* unpacking operations over the FP32 multiply-adds a second; 0: none */
    double heads_s;        /* elements of the KV cache times query heads that read them, likewise; 0: as compute_s */
    double scanned;         /* positions of the KV cache scanned sequentially */
    double launched;       /* launches, in units of a plain one */
    struct time_kernel alone; /* of TIME_KERNEL_ALONE, without parameters */
};

/* Long context: positions from which attention's part of a step shows how it reads the cache. (36) */
enum { TIME_LONG_CONTEXT = 2000 };
/* Passes of many tokens are another regime than decode steps: kernels run longer than a launch takes, and on other units. A prompt of
 * smaller passes (-ub 8) counts as steps. */
enum { TIME_PROMPT = 64 };

enum { TIME_MAX_TERMS = 64 };

struct time_features {
    struct time_term term[TIME_MAX_TERMS + 1]; /* the last: terms without room; seconds are then NaN (time_check()) */
    int n_term;
    double n_pass;
    double host_s;       /* the device waits for the host */
    double wire_s;       /* bytes to other devices over the link's bandwidth */
    double collective_s; /* of exchanges with constants of their own, without parameters (47) */
    double n_hop;        /* steps of the other exchanges */
    double hop_s;        /* of one of them, as the profile states it; the parameter is a factor of it */
    double sequential;   /* stages one after another: 1 */
    bool one_step;       /* every collective is one step, not a ring's: n_hop counts collectives. (52) */
    double n_seq;        /* sequences of all passes that a server prepares and samples; 0: none */
    double n_queue;      /* others whose prompts a prompt may wait for; 0: none */
    double n_ahead;      /* prompts that a prompt waits for, as simulated; 0: none */
    bool prompt;         /* passes of prompts: of intervals, which differ by phase */
    bool decode, long_context;   /* decode steps with the traits of (36); long context */
    bool small_batch;            /* prompts that pass fewer than TIME_PROMPT tokens at a time */
    bool batched;        /* passes have more than one sequence */
    bool request;        /* the passes of a prompt and the steps after it (50) */
    bool step;           /* what is added is of steps, in addition to prompts: separate terms */
    double n_stage_boundary;     /* stage boundaries crossed by the host (45) */
    double n_tok, most_tok; /* tokens of all passes; of the largest */
    const struct time_features *before; /* work that the queue does not multiply; NULL: none */
    double pipelined;    /* fraction of the seconds left by overlap of pipeline stages; 0: 1 */
    double n_kernel;     /* kernels the host launches for all passes; 0: launches do not limit */
};

/* Changes of a step's cost by the software. Zeros: unknown. */
struct refinement {
    uint64_t key;            /* equal ones are one term: shape and type of the matrix; 0: none */
    double flop_s;           /* peak of its math units; 0: that of its math (43) */
    double of_fp32;          /* the same as a part of the FP32 peak, which depends on a CPU's threads; 0: flop_s (41) */
    double staged_bytes;     /* intermediate results written and read between kernels, not in the cost; 0: none (43) */
    double host_s;           /* host time during which the device waits (43) */
    bool stage_boundary;             /* stage boundary by the host, slower than a hop (45) */
    const struct time_blocks *blocks; /* a small kernel of known shape; NULL: none */
    double ops_weight;       /* vector operations that unpack a weight; 0: 6 (load, shift, mask, conversion, ...) */
    double launches;         /* launch cost in units of a plain launch; 0: 1 */
    double heads;            /* attention of a decode step: elements of the KV cache times query heads; 0: by its FLOP */
    double scanned;           /* positions that its attention scans sequentially; 0: divided among blocks */
    struct time_kernel alone; /* seconds 0: by its roofs */
    struct time_attend attend; /* of alone, where it is set */
    double collective_s;     /* of a server's collective by its family; 0: by the link's roof (47) */
    double kernels;          /* of a prompt: kernels launched per op; 0: launches do not limit (45) */
};
/* At most as many shapes and types of products as there are terms, in a phase or in a whole request (which has its steps' terms
 * separately); else ERROR_INPUT. */
int time_check(const struct op_classes *l, bool request, struct error *err);
void time_features_init(struct time_features *f); /* zeros; the terms are */
void time_add(struct time_features *f, const struct roofs *r, const struct step *x, const struct refinement *how);
/* The features added since the last call are n passes of n_tok tokens. */
void time_passes(struct time_features *f, double n, double n_tok);
/* Number of passes in units of the largest, by tokens: 512 and 1 are hardly more than one. (45) */
double time_whole_passes(const struct time_features *f);

/* Launches queued in a stream before the host blocks. Source: forums.developer.nvidia.com, t/68937 ("the buffer size is about 1000
 * kernels"; three streams have one each) (confidence: medium). */
enum { TIME_LAUNCHED_AHEAD = 1000 };
/* Pipeline of d devices: fraction of the seconds of n consecutive passes left by overlap. copies: passes in flight, 0: unlimited;
 * n_kernel: kernels of a pass on all devices, 0: the host never blocks. A fractional n ends in a short pass. (24), (45) */
double time_overlap(double n, double d, double copies, double n_kernel);

/* Products of one shape and type. */
uint64_t time_key(double rows, double cols, double bits);

/* Work of the most loaded device group in a phase. */
void step_features(struct time_features *f, const struct step_model *s, const struct roofs *r, const struct scenario *o,
                   enum phase phase);

/* Features of one pass as step_price() evaluates it, with constants. */
void pass_features(struct time_features *f, const struct step_model *s, const struct roofs *r, const struct pass *p);
/* In such a pass class c is attention with its own constants: *out is a call of it. False: no call, *out is unchanged. */
bool pass_attend(struct time_attend *out, const struct step_model *s, const struct op_class *c, const struct roofs *r, const struct pass *p);

/* The same of a prompt and the steps after it, with separate terms (50): steps->n_gen of them from steps->n_depth on. */
void request_features(struct time_features *f, const struct step_model *s, const struct roofs *r, const struct scenario *prompt,
                      const struct scenario *steps);

/* Natural logarithm of the seconds of all passes, under parameters of natural logarithms. features: struct time_features */
double time_ln_seconds(const void *features, const double *parameter);

/* ---- constants, and their uncertainty ---------------------------------------------------- */

/* Constants of one case. */
struct time_constants {
    double parameter[TIME_PARAMETER_COUNT];                  /* logarithms */
    double cov[TIME_PARAMETER_COUNT][TIME_PARAMETER_COUNT];  /* of them */
    double sigma;                                  /* residual spread of ln seconds */
    double guess_ln_sd;                            /* the same, of a guessed machine; 0: not guessed (56) */
    double widen, widen_fast;                      /* 90 % interval inflation, slow and fast side; 1 = normal */
};

/* Parts of the seconds of all passes: each side alone, and seconds by bound. */
struct time_sides {
    double memory_s, compute_s, link_s;
    double bound_s[BOUND_COUNT];
};
/* Derivatives of time_ln_seconds() by the parameters, g[TIME_PARAMETER_COUNT], and the sides (may be NULL). methods.md (62) */
void time_gradient(const struct time_features *f, const double *parameter, double *g, struct time_sides *sides);
/* Spread of ln seconds: constants and residual. share (may be NULL): each parameter's part of the variance, with half of its covariances; the
 * last one: the residual's. (62) */
double time_spread(const struct time_constants *k, const double *g, double share[TIME_PARAMETER_COUNT + 1]);
/* Parts of that spread, before inflation. (64) */
void time_error_parts(const struct time_constants *k, const double *g, double guess_ln_sd, struct error_parts *out);
/* Attained value of a parameter: fractions are capped at 1. */
double time_parameter_value(enum time_parameter s, double ln);

/*
 * Software on a machine, with weights of a type: cases select the constants. Filled in by learn/software.c.
 */
enum {
    TIME_CASE_REQUEST = 1, /* prompt and steps at once (50) */
    TIME_CASE_EXPERTS = 2,
    TIME_CASE_DEVICES = 4,
    TIME_CASE_PROMPT = 8,
    TIME_CASE_LONG_CONTEXT = 16, /* of steps */
    TIME_CASE_SMALL_BATCH = 16,  /* of prompts */
    TIME_CASE_BATCHED = 32,
    TIME_CASES = 64,
};
enum time_basis {
    TIME_BY_KERNELS, /* the machine's measured kernels: no constants */
    TIME_BY_MACHINE, /* measured on this machine with this software */
    TIME_BY_CLASS,   /* on machines of its class, or with other software on it */
    TIME_BY_PRIORS,  /* neither: what all machines share */
};
const char *time_basis_name(enum time_basis b); /* "kernels" "machine" "class" "priors" */

struct timing {
    const char *stack;
    bool one_step; /* collectives on a board are one kernel (52) */
    bool served;   /* constants and features are of a server's steps: with what each sequence costs the host (52) */
    bool absorbed; /* MLA's cache stays latent, never expanded (17) */
    double copies; /* passes of a prompt in flight in a pipeline (45); 0: unlimited */
    enum time_basis basis;
    double kernel_sd; /* TIME_BY_KERNELS: residual spread of ln seconds (63) */
    unsigned (*which)(const struct time_features *f); /* case, below TIME_CASES */
    struct time_constants *of[TIME_CASES];            /* of the cases requested; NULL: not requested */
    struct time_constants *block;                     /* owns them */
    /* Applies the software's changes to a step of such a pass: x with its cost, and *how; NULL: none. */
    void (*refine)(const void *what, const struct step_pass *at, bool decode, struct step *x, struct refinement *how);
    void *what; /* owned, from malloc(); NULL: none */
};
/* Room for the constants of the bits in `cases`, zeros. */
int timing_alloc(struct timing *t, uint64_t cases, struct error *err);
void timing_free(struct timing *t);
/* Possible cases, as bits: with experts, with several devices. */
uint64_t time_cases(bool experts, bool devices);

/* Provider of the constants. */
struct time_source {
    const void *context;
    /* Of the bits in `cases`, *out zeros before; timing_free() it. errors: out of memory. */
    int (*timing)(const void *context, const struct hwprofile *h, const struct model *m, uint64_t cases, struct timing *out,
                  struct error *err);
    /* Provenance of a parameter's value, as text. */
    const char *(*explain)(const void *context, const struct hwprofile *h, const struct model *m, unsigned which,
                           enum time_parameter s, char *buf, size_t size);
    /* Default prompt tokens of a pass; 0: all of them. */
    uint32_t (*n_ubatch)(const void *context, const struct hwprofile *h, const struct model *m);
    /* A server, which allocates its share of the memory at start. NULL: it is not. */
    bool (*serves)(const void *context, const struct hwprofile *h, const struct model *m);
};

/* Default of --ubatch-size: the software's, PREFILL_WHOLE for all of a prompt; without t TIME_UBATCH. */
uint32_t time_ubatch(const struct time_source *t, const struct hwprofile *h, const struct model *m);
bool time_serves(const struct time_source *t, const struct hwprofile *h, const struct model *m);

/* Roofs of roofs_init() with these constants, which must outlive them; without constants where t's basis is measured kernels that the
 * machine has. */
void roofs_use_time(struct roofs *r, const struct timing *t);
/* The same with the constants of o->time, *t filled with them and changed as *o states; nothing without o->time, and with o->roof. For a
 * phase of these ops: time_check(). */
int roofs_set_time(struct roofs *r, struct timing *t, const struct hwprofile *h, const struct op_classes *ops,
                   const struct predict_options *o, struct error *err);
/* Applies what-if changes to all cases; set values are exactly known. */
void time_change(struct timing *t, const struct time_change *c, size_t n);

#endif
