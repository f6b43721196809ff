/*
 * timing.h: from exact bytes and FLOP to seconds that are reached, not bounds. What a pass asks of a machine is summed up
 * once, in seconds at its peaks; a handful of constants (slots) says how much of each peak software reaches and what
 * starting an op costs. Fits (calibrate) and predictions use this one function. Source: methods.md (74).
 */
#ifndef ROOFLINE_TIMING_H
#define ROOFLINE_TIMING_H

#include "roofline/step.h"

/* Constants of the time model. Everywhere as natural logarithms, so that effects add up. */
enum time_slot {
    TIME_BANDWIDTH,      /* fraction of the memory bandwidth that products reach */
    TIME_COMPUTE,        /* fraction of the peak that products reach */
    TIME_VECTOR,         /* vector operations a weight needs to become an operand, per weight */
    TIME_KV,             /* seconds of attention's memory over those at the products' bandwidth */
    TIME_ATTENTION,      /* fraction of the peak that attention reaches */
    TIME_SMALL,          /* seconds of the small ops' memory over those at the products' bandwidth */
    TIME_LAUNCH,         /* seconds an op costs beside its roofs */
    TIME_STEP,           /* seconds a pass costs beside its ops */
    TIME_EXPERT,         /* seconds of experts' products over those of other products with their bytes and FLOP */
    TIME_SHARPNESS,      /* p - 1 of the smooth roof: large, and it has a corner */
    TIME_LINK,           /* fraction of the bandwidth between devices */
    TIME_HOP,            /* seconds a hop between devices */
    TIME_KERNEL,         /* seconds a small kernel takes that has nothing to do: (76) */
    TIME_TRIP,           /* seconds between a load and what depends on it, in the cache */
    TIME_MISS,           /* the same from memory, over that */
    TIME_ISSUE,          /* instructions of a small kernel over those counted in its source */
    TIME_CACHE,          /* seconds of bytes that the cache holds over those of memory */
    TIME_REQUEST,        /* seconds a measurement has over those of its passes: 1 where it has them alone */
    TIME_LAUNCH_EXPERT,  /* what starting a product of experts costs, over what another product's costs */
    TIME_LAUNCH_SMALL,   /* the same of the small ops */
    TIME_SEQUENCE,       /* seconds a server spends on a sequence in a step */
    TIME_QUEUE,          /* prompts that a prompt waits for, of each other user */
    TIME_SLOT_COUNT,
};
const char *time_slot_name(enum time_slot s); /* "bandwidth" */
const char *time_slot_unit(enum time_slot s); /* "fraction", "s", "op/weight", "factor" */
int time_slot_find(const char *name);         /* -1: unknown */

enum time_kind { TIME_PRODUCT, TIME_EXPERT_PRODUCT, TIME_ATTEND, TIME_OTHER, TIME_SMALL_KERNEL };

/* A small kernel of a GPU: blocks of threads that walk an operand, a few loads after one another. (76) */
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

/* Ops alike, added up: seconds at the machine's peaks. */
struct time_term {
    enum time_kind kind;
    uint64_t key;          /* which ops: rows, columns and type */
    double count;          /* launches */
    double compute_s;      /* FLOP over the peak of their operands */
    double memory_s;       /* bytes over the bandwidth */
    double vector_s;       /* weights to widen, over the FP32 multiply-adds a second: of one operation each; 0: none */
    struct time_grid grid; /* of a small kernel */
};

enum { TIME_MAX_TERMS = 64 };

struct time_features {
    struct time_term term[TIME_MAX_TERMS];
    int n_term;
    double n_pass;
    double wire_s;       /* bytes to other devices over the link's bandwidth */
    double n_hop;        /* steps of the exchanges */
    double hop_s;        /* of one of them, as the profile has it; the slot is a factor of it */
    double sequential;   /* stages one after another: 1 */
    bool one_step;       /* every exchange is one step, not a ring's: n_hop counts exchanges. (84) */
    double n_seq;        /* sequences of all passes that a server prepares and samples; 0: none */
    double n_queue;      /* others whose prompts a prompt may wait for; 0: none */
    const struct time_features *before; /* until then, which the queue does not multiply; NULL: nothing */
};

/* Equal ops of a pass, as the features need them. */
struct time_op {
    enum op_kind kind;
    enum math math;          /* of the operands */
    double count;
    uint64_t key;            /* equal ones are one term: shape and type of the matrix; 0: none */
    double bits;             /* of a weight; 0: no weights */
    struct cost cost;        /* of one op */
    uint32_t n_comm;         /* devices that exchange; 0: no traffic */
    double link_bytes;       /* that a device sends in one */
    const struct time_blocks *blocks; /* a small kernel of known shape; NULL: none */
};
void time_add(struct time_features *f, const struct roofs *r, const struct time_op *o);

/* A step_fn that adds a step's classes; ctx: a struct time_sink. */
struct time_sink {
    struct time_features *f;
    const struct roofs *r;
};
void time_add_class(void *ctx, const struct step_class *c, const struct cost *cost, const struct op_time *t);

/* Natural logarithm of the seconds of all passes, under slots of natural logarithms. features: struct time_features */
double time_ln_seconds(const void *features, const double *slot);

#endif
