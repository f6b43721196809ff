/*
 * timing.h: from exact bytes and FLOP to seconds that are reached, not bounds. What a pass asks of a machine is summed up
 * once, in seconds at its peaks; a handful of constants (slots) says how much of each peak software reaches and what
 * starting an op costs. Fits (calibrate) and predictions use this one function. Source: methods.md (35).
 */
#ifndef TIMING_TIMING_H
#define TIMING_TIMING_H

#include "timing/step.h"

/* Constants of the time model. Everywhere as natural logarithms, so that effects add up. */
enum time_slot {
    TIME_BANDWIDTH,      /* fraction of the memory bandwidth that products reach */
    TIME_COMPUTE,        /* fraction of the peak that products reach */
    TIME_VECTOR,         /* vector operations a weight needs to become an operand, over those its refinement says */
    TIME_KV,             /* seconds of attention's memory over those at the products' bandwidth */
    TIME_ATTENTION,      /* fraction of the peak that attention reaches */
    TIME_SMALL,          /* seconds of the small ops' memory over those at the products' bandwidth */
    TIME_LAUNCH,         /* seconds an op costs beside its roofs */
    TIME_STEP,           /* seconds a pass costs beside its ops */
    TIME_EXPERT,         /* seconds of experts' products over those of other products with their bytes and FLOP */
    TIME_SHARPNESS,      /* p - 1 of the smooth roof: large, and it has a corner */
    TIME_LINK,           /* fraction of the bandwidth between devices */
    TIME_HOP,            /* seconds a hop between devices */
    TIME_KERNEL,         /* seconds a small kernel takes that has nothing to do: (doc/notes/gpu-kernels.md) */
    TIME_TRIP,           /* seconds between a load and what depends on it, in the cache */
    TIME_MISS,           /* the same from memory, over that */
    TIME_ISSUE,          /* instructions of a small kernel over those counted in its source */
    TIME_CACHE,          /* seconds of bytes that the cache holds over those of memory */
    TIME_HEADS,          /* vector operations an element of the cache takes for every query head that reads it */
    TIME_WALK,           /* seconds a position of the cache, where one block of threads walks along it */
    TIME_REQUEST,        /* seconds a measurement has over those of its passes: 1 where it has them alone */
    TIME_LAUNCH_EXPERT,  /* what starting a product of experts costs, over what another product's costs */
    TIME_LAUNCH_SMALL,   /* the same of the small ops */
    TIME_SEQUENCE,       /* seconds a server spends on a sequence in a step */
    TIME_BORDER,         /* seconds from one device's layers to the next one's, where the host hands a pass on */
    TIME_QUEUE,          /* prompts that a prompt waits for, of each other user */
    TIME_SLOT_COUNT,
};
const char *time_slot_name(enum time_slot s); /* "bandwidth" */
const char *time_slot_unit(enum time_slot s); /* "fraction", "s", "op/weight", "factor" */
int time_slot_find(const char *name);         /* -1: unknown */

enum time_kind { TIME_PRODUCT, TIME_EXPERT_PRODUCT, TIME_ATTEND, TIME_OTHER, TIME_STAGED, TIME_SMALL_KERNEL, TIME_KERNEL_ALONE };

/* A small kernel of a GPU: blocks of threads that walk an operand, a few loads after one another. (doc/notes/gpu-kernels.md) */
struct time_blocks {
    double n, threads;      /* blocks; threads of one */
    double trips;           /* iterations of its busiest thread */
    double instructions;    /* of one block: warps x iterations x instructions */
    double footprint_bytes; /* of the whole kernel: what fits the cache is there */
};

/* The same on a machine. */
struct time_grid {
    double waves, last, resident; /* full waves of blocks, blocks of the busiest multiprocessor in the last one, in a full one */
    double trips;
    double issue_s;               /* to issue one block's instructions */
    double in_cache;              /* share of the operands that the cache holds */
};
struct time_grid time_grid_of(const struct time_blocks *b, const struct gpu_units *u);

/* Seconds of a kernel whose constants are its own, and what they are made of: starting it; its bytes, its blocks one after the other along what they read, and
 * its FLOP, each by itself. (46) */
struct time_kernel {
    const char *name;
    double seconds, start_s, memory_s, walk_s, compute_s;
};

/* Ops alike, added up: seconds at the machine's peaks. */
struct time_term {
    enum time_kind kind;
    uint64_t key;          /* which ops: rows, columns and type */
    double count;          /* ops */
    double compute_s;      /* FLOP over the peak of their operands */
    double memory_s;       /* bytes over the bandwidth */
    struct time_grid grid; /* of a small kernel */
    double vector_s;       /* operations that widen weights, over the FP32 multiply-adds a second; 0: none */
    double heads_s;        /* elements of the cache times query heads that read them, over the same; 0: as compute_s */
    double walked;         /* positions of the cache walked one after another */
    double launched;       /* launches, times what one costs over a plain one */
    struct time_kernel alone; /* of TIME_KERNEL_ALONE, no slot has a say */
};

/* Positions from which attention's share of a step shows how it reads the cache. (36) */
enum { TIME_DEEP = 2000 };
/* Passes of many tokens are another regime than steps: kernels take longer than to launch the next one, and run on other units. A prompt
 * that passes fewer at a time (-ub 8) is steps. */
enum { TIME_PROMPT = 64 };

enum { TIME_MAX_TERMS = 64 };

struct time_features {
    struct time_term term[TIME_MAX_TERMS + 1]; /* the last: of what there was no room for; seconds are then NaN (time_check()) */
    int n_term;
    double n_pass;
    double host_s;       /* the device waits for the host */
    double wire_s;       /* bytes to other devices over the link's bandwidth */
    double n_hop;        /* steps of the exchanges */
    double hop_s;        /* of one of them, as the profile has it; the slot is a factor of it */
    double sequential;   /* stages one after another: 1 */
    bool one_step;       /* every exchange is one step, not a ring's: n_hop counts exchanges. (52) */
    double n_seq;        /* sequences of all passes that a server prepares and samples; 0: none */
    double n_queue;      /* others whose prompts a prompt may wait for; 0: none */
    bool prompt;         /* passes of prompts: of intervals, which differ by phase */
    bool decode, deep;   /* decode steps with the facts of (36); their caches are long */
    bool few;            /* prompts that pass fewer than TIME_PROMPT tokens at a time */
    bool batched;        /* passes have more than one sequence: of intervals (59) */
    bool request;        /* a prompt's passes and the steps behind it (50) */
    double n_border;     /* times that the host hands a pass on to the next device (45) */
    double n_tok, most_tok; /* tokens of all passes; of the fullest of them */
    const struct time_features *before; /* until then, which the queue does not multiply; NULL: nothing */
    double pipelined;    /* part of the seconds that is left where stages work at once on parts of a prompt; 0: 1 */
    double n_kernel;     /* that the host launches for all passes; 0: its queue takes any number */
};

/* What software does for a step in addition to what it costs. Zeros: nothing is known. */
struct refinement {
    uint64_t key;            /* equal ones are one term: shape and type of the matrix; 0: none */
    double flop_s;           /* peak of the units it runs on; 0: that of its math (43) */
    double of_fp32;          /* the same as a part of the FP32 peak, which depends on a CPU's threads; 0: flop_s (41) */
    double staged_bytes;     /* written and read again between kernels, which no cost counts; 0: none (43) */
    double host_s;           /* that the host takes and the device waits for (43) */
    bool border;             /* the host hands the pass on, which takes longer than a hop (45) */
    const struct time_blocks *blocks; /* a small kernel of known shape; NULL: none */
    double ops_weight;       /* vector operations that widen a weight; 0: 6, a load, a shift, a mask, a conversion, ... */
    double launches;         /* what starting it costs over a plain launch; 0: 1 */
    double heads;            /* attention of a decode step: elements of the cache times query heads; 0: priced by its FLOP */
    double walked;           /* positions that its attention walks one after another; 0: divided among blocks */
    struct time_kernel alone; /* seconds 0: by its roofs */
    double kernels;          /* of a prompt: that the host launches for one; 0: its queue takes any number (45) */
};
/* Products of as many shapes and types as there are terms for, of a phase or of a whole request, which has those of its steps apart; else ERROR_INPUT. */
int time_check(const struct op_classes *l, bool request, struct error *err);
void time_features_init(struct time_features *f); /* nothing asked for; the terms are left as they are */
void time_add(struct time_features *f, const struct roofs *r, const struct step *x, const struct refinement *how);
/* What was added since the last call was so many passes of n_tok tokens. */
void time_passes(struct time_features *f, double n, double n_tok);
/* How many passes like the fullest they all are, by their tokens: of 512 and one more hardly more than one. (45) */
double time_whole_passes(const struct time_features *f);

/* Kernels of a stream that have not begun, when the host waits for one to. Source: forums.developer.nvidia.com, t/68937 ("the buffer size is about
 * 1000 kernels"; three streams have one each). */
enum { TIME_LAUNCHED_AHEAD = 1000 };
/* d devices that have layers each: the part of the seconds of n passes one behind the other that is left where they overlap. copies: passes that may be
 * under way, 0: any number; n_kernel: kernels of a pass on all devices, 0: the host is never held up. n need not be whole: what is left of it is a
 * short pass. (24), (45) */
double time_overlap(double n, double d, double copies, double n_kernel);

/* Products of one shape and type. */
uint64_t time_key(double rows, double cols, double bits);

/* What the fullest group of devices is asked for in a phase. */
void step_features(struct time_features *f, const struct step_model *s, const struct roofs *r, const struct scenario *o,
                   enum phase phase);

/* The same of a prompt and the steps behind it, terms apart (50): steps->n_gen of them from steps->n_depth on. */
void request_features(struct time_features *f, const struct step_model *s, const struct roofs *r, const struct scenario *prompt,
                      const struct scenario *steps);

/* Natural logarithm of the seconds of all passes, under slots of natural logarithms. features: struct time_features */
double time_ln_seconds(const void *features, const double *slot);

/* ---- constants, and how well they are known ------------------------------------------------- */

/* Of what is priced. */
struct time_constants {
    double slot[TIME_SLOT_COUNT];                  /* logarithms */
    double cov[TIME_SLOT_COUNT][TIME_SLOT_COUNT];  /* of them */
    double sigma;                                  /* spread of the logarithm of seconds that is left beside theirs */
    double guess_ln_sd;                            /* the same from what is guessed of the machine; 0: nothing is (56) */
    double widen, widen_fast;                      /* nine in ten of the rows that are slower, and of those that are faster, lie
                                                      within so many times what a normal's would; 1: as those */
};

/* What the seconds of all passes are made of: each side alone, and seconds by what bounds them. */
struct time_sides {
    double memory_s, compute_s, link_s;
    double bound_s[BOUND_COUNT];
};
/* Derivatives of time_ln_seconds() by the slots, g[TIME_SLOT_COUNT], and the sides (may be NULL). methods.md (62) */
void time_gradient(const struct time_features *f, const double *slot, double *g, struct time_sides *sides);
/* Spread of the logarithm of seconds: of the constants and of what is left. share (may be NULL): the part of the variance that
 * each slot brings, with half of what two of them share; the last one's that of what is left. (62) */
double time_spread(const struct time_constants *k, const double *g, double share[TIME_SLOT_COUNT + 1]);
/* What that spread is made of, before it is widened. (64) */
void time_error_parts(const struct time_constants *k, const double *g, double guess_ln_sd, struct error_parts *out);
/* "bandwidth" as it is reached: slots of fractions are capped at 1. */
double time_slot_value(enum time_slot s, double ln);

/*
 * Software on a machine, with weights of a type: which constants hold depends on what is asked for. calibrate fills it in;
 * roofline knows no more of it than this.
 */
enum {
    TIME_CASE_REQUEST = 1, /* prompt and steps at once (50) */
    TIME_CASE_EXPERTS = 2,
    TIME_CASE_DEVICES = 4,
    TIME_CASE_PROMPT = 8,
    TIME_CASE_DEEP = 16, /* of steps */
    TIME_CASE_FEW = 16,  /* of prompts */
    TIME_CASE_BATCHED = 32,
    TIME_CASES = 64,
};
enum time_basis {
    TIME_BY_KERNELS, /* the machine's own measured kernels: no constants */
    TIME_BY_MACHINE, /* measured on this machine with this software */
    TIME_BY_CLASS,   /* on machines of its class, or with other software on it */
    TIME_BY_PRIORS,  /* neither: what all machines share */
};
const char *time_basis_name(enum time_basis b); /* "kernels" "machine" "class" "priors" */

struct timing {
    const char *stack;
    bool one_step; /* devices of a board exchange by one kernel (52) */
    bool absorbed; /* it keeps MLA's cache latent and never expands it (17) */
    double copies; /* passes of a prompt that may be under way where devices have layers each (45); 0: any number */
    enum time_basis basis;
    double kernel_sd; /* where that is the machine's kernels: what they leave, of the logarithm of seconds (63) */
    unsigned (*which)(const struct time_features *f); /* case, below TIME_CASES */
    struct time_constants *of[TIME_CASES];            /* those of the cases asked for; NULL: not asked for */
    struct time_constants *block;                     /* that they are in */
    /* What the software does for a step of such a pass: x as it is costed, changed, and *how; NULL: nothing is known. */
    void (*refine)(const void *what, const struct step_pass *at, bool decode, struct step *x, struct refinement *how);
    void *what; /* its own, from malloc(); NULL: none */
};
/* Room for the constants of the bits in `cases`, zeros. */
int timing_alloc(struct timing *t, uint64_t cases, struct error *err);
void timing_free(struct timing *t);
/* Those that may come up, as bits: experts, devices that exchange. */
uint64_t time_cases(bool experts, bool devices);

/* Who knows the constants. */
struct time_source {
    const void *knows;
    /* Of the bits in `cases`, *out zeros before; timing_free() it. Errors: out of memory. */
    int (*timing)(const void *knows, const struct hwprofile *h, const struct model *m, uint64_t cases, struct timing *out,
                  struct error *err);
    /* Where a slot's value comes from, in words. */
    const char *(*explain)(const void *knows, const struct hwprofile *h, const struct model *m, unsigned which,
                           enum time_slot s, char *buf, size_t size);
    /* Prompt tokens of a pass where nobody says; 0: all of them. */
    uint32_t (*n_ubatch)(const void *knows, const struct hwprofile *h, const struct model *m);
    /* It is a server, which takes its share of the memory when it starts. NULL: it is not. */
    bool (*serves)(const void *knows, const struct hwprofile *h, const struct model *m);
};

/* What --ubatch-size is where nobody says: what the software takes, PREFILL_WHOLE for all of a prompt; without t TIME_UBATCH. */
uint32_t time_ubatch(const struct time_source *t, const struct hwprofile *h, const struct model *m);
bool time_serves(const struct time_source *t, const struct hwprofile *h, const struct model *m);

/* Roofs of roofs_init() with these constants, which have to stay; where the machine's own kernels were measured and are what is asked
 * for, without. */
void roofs_use_time(struct roofs *r, const struct timing *t);
/* The same with those that o->time knows, *t filled with them and changed as *o says; nothing without o->time, and with o->roof. For a phase of these
 * ops: time_check(). */
int roofs_set_time(struct roofs *r, struct timing *t, const struct hwprofile *h, const struct op_classes *ops,
                   const struct predict_options *o, struct error *err);
/* What a what-if sets or multiplies, in all cases: what is set is known for sure. */
void time_change(struct timing *t, const struct time_change *c, size_t n);

#endif
