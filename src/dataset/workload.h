/* workload.h: a measurement as a workload: bytes, FLOP and collectives of its passes, op by op, from the cost model. methods.md (55) */
#ifndef DATASET_WORKLOAD_H
#define DATASET_WORKLOAD_H

#include "dataset/machine.h"
#include "timing/timing.h"

/* Sums over the steps of passes, on one device. */
struct work_sum {
    struct cost cost;
    double product_weight_bytes;       /* products only */
    double flop_math[MATH_COUNT];
    double n_op, n_launch, n_collective; /* ops; GPU kernel launches; collectives */
    double comm_bytes;                 /* total message size of collectives */
    double least_s;                    /* lower bound at the machine's roofs (27) */
    double n_pass;
};

/* Passes of equal shape. */
struct work_pass {
    struct step_pass at;
    double times;                     /* number of passes */
    struct step *c;                   /* [n]; bits and sizes are the row's */
    size_t n;
    const char *kernel;               /* "rope", ...: the pass is this single small kernel; NULL: a pass of a model */
    struct time_blocks blocks;        /* thread blocks of that kernel */
    struct work_sum sum;              /* one pass on one device */
};

enum split { SPLIT_NONE, SPLIT_TENSOR, SPLIT_LAYER, SPLIT_DATA };
const char *split_name(enum split s); /* "none" "tensor" "layer" "data" */

struct offload_split; /* cost/offload.h */

/* Inputs of a workload that the row does not state. */
enum guess {
    GUESS_MODEL = 1 << 0,    /* no preset: dimensions follow from the number of parameters */
    GUESS_QUANT = 1 << 1,    /* weight type not stated, or unknown */
    GUESS_ACTIVE = 1 << 2,   /* active parameters of a mixture of experts */
    GUESS_CONTEXT = 1 << 3,
    GUESS_BATCH = 1 << 4,
    GUESS_LENGTH = 1 << 5,   /* prompt or generation length */
    GUESS_PEAK = 1 << 6,     /* peak, from the machine's bandwidth */
    GUESS_BANDWIDTH = 1 << 7,
    GUESS_LINK = 1 << 8,
    GUESS_LAYOUT = 1 << 9,   /* heads do not divide: costs are divided (replication) */
    GUESS_WEIGHT = 1 << 10,  /* weight_gib contradicts the model's type: ignored */
    GUESS_MACHINE = 1 << 11, /* profile of another variant */
    GUESS_HOST = 1 << 13,    /* the machine around a GPU that runs a part of the model */
    GUESS_BITS = 1 << 12,    /* bits of a weight: neither type nor bytes are stated */
};

/* Whose constants of kernels (stacks/family.h) a prediction must not use: a score leaves their rows out. */
enum unseen {
    UNSEEN_MACHINE = 1 << 0,
    UNSEEN_DESIGN = 1 << 1,  /* machines of its generation, itself included */
    UNSEEN_ENGINE = 1 << 2,
};

/* A row as a workload. */
struct workload {
    const struct measurement *m;
    const struct stack *stack;
    const struct machine *machine;
    char reason[256];          /* why there is no workload; "": there is one */
    char note[400];            /* what was assumed against the row; "": nothing */
    char preset[64];           /* "": guessed dimensions */
    char type[24];             /* weight type used */
    double n_params, n_active; /* parameters of the model; used by a token */
    double bits_weight;        /* mean of the weights read by a token */
    double model_bytes;        /* weights, all devices */
    uint32_t n_layer, n_embd, n_expert, n_expert_used;
    bool moe, hybrid;
    struct layout layout;
    enum dtype type_k, type_v; /* KV cache */
    double replication;             /* divisor of per-device costs where heads do not divide (GUESS_LAYOUT); 1: none */
    enum split split;
    double n_devices;
    unsigned guesses;
    unsigned unseen;           /* UNSEEN_MACHINE, ...; 0: all constants may be used */

    /*
     * Measured seconds: of the prompt, the mean decode step, a whole batch of requests, or an op; of a server's row the latency in
     * m->metric.
     */
    double measured_s;
    struct work_pass *pass; /* [n_pass]: prompt, then decode step */
    size_t n_pass;
    bool borrowed;          /* pass belongs to another workload */
    double batch;       /* concurrent sequences, all groups of devices */
    double prompt, context, out; /* tokens, as used here */
    double fits;        /* sequences of a server whose caches fit in the memory that it takes; NaN: unknown */
    double n_users;     /* users of a closed loop; NaN: none */
    double n_ahead;     /* prompts before a user's own, simulated (learn/ahead.h); NaN: not */
    struct workload_builder *builder; /* that made it */
    struct workload *host;  /* part of a model in the host's memory: its passes there, the others' here; NULL: none. methods.md (111) */
    double bus_s, bus_ln_sd; /* with it: seconds of what crosses the bus, and their spread */
    bool pinned;            /* host weights are page-locked */
    struct offload_split *split_offload; /* while passes are added */
    const struct roofs *roofs; /* roofs of one device and its link, owned by the machine; NULL: none */
};

/* Builds workloads; caches machines and models. */
struct workload_builder;
/*
 * hws: machines of hardware.csv; NULL: profiles only. own: the one name that may be a path (--hw); NULL: none. Both must outlive the
 * builder. errors: out of memory (NULL)
 */
struct workload_builder *workload_builder_new(const struct measure_hws *hws, const char *own, struct error *err);
void workload_builder_free(struct workload_builder *p);
/* *out: the workload of m, or its reason. errors: out of memory, interrupted, a file of the data directories that cannot be read */
int workload_init(struct workload_builder *p, const struct measurement *m, struct workload *out, struct error *err);
/* Takes the passes of *before where they are equal (both latencies of a server's line); *before must outlive p. */
void workload_share_passes(struct workload *p, const struct workload *before);
/* Frees cached models; workloads stay valid. */
void workload_builder_drop_models(struct workload_builder *p);
void workload_free(struct workload *p);
/*
 * *out: p with one other pass, under the layout of its steps: n_tok tokens of n_seq sequences after n_past positions each; workload_free() it.
 * errors: as of workload_init(). Not thread-safe: loads p's model where its builder has dropped it
 */
int workload_of_pass(const struct workload *p, enum phase phase, uint32_t n_tok, uint32_t n_past, uint32_t n_seq, struct workload *out,
                     struct error *err);
/* Workloads of all rows, [l->n]; NULL: *err. Frees cached models. */
struct workload *workload_rows(const struct measurements *l, struct workload_builder *p, struct error *err);
void workload_rows_free(struct workload *rows, size_t n); /* rows may be NULL */

/* Batch above 1. */
bool workload_is_batched(const struct workload *p);
/* Lower bound of the seconds of all passes; 0: something is guessed, or several devices. (27) */
double work_least_s(const struct workload *p);
/* Sum over the passes of a phase. */
struct work_sum work_sum(const struct workload *p, enum phase phase);
/* The step is a kernel launch of its own. GPU software fuses small ops into the adjacent products. */
bool work_is_launched(const struct workload *p, const struct work_pass *w, const struct step *c);
/* Seconds of flop_math[MATH_COUNT] at the peak of each operand type. */
double work_compute_s(const struct workload *p, const double *flop_math);
/* Part of the repeated layers ran on devices not named by the row (partial), or on the CPU (offloaded). */
bool workload_is_partial(const struct workload *p);
bool workload_is_offloaded(const struct workload *p);
/* The row is tagged as suspect (TAG_SUSPECT), or partial. (57) */
bool workload_is_suspect(const struct workload *p);

/* A row above its machine's roofs: not a measurement of this machine, type and batch. methods.md (68) */
struct roof_violation {
    bool memory;            /* bytes; else FLOP */
    double done_s, roof_s;  /* attained rate, and the roof */
    double least_s;         /* lower bound */
};

bool workload_exceeds_roof(const struct workload *p, struct roof_violation *x);
/* "2030 GB/s of weights and keys, 2.01 times the 1008 GB/s of rtx-4090: is it ...?"; "": below the roofs. */
const char *roof_violation_text(const struct workload *p, char *buf, size_t size);
/*
 * A server's row as a rate with an ln_sd: the decode step of a TPOT or of whole requests, the prompt of a TTFT. Returns NULL, or why it is
 * none. Texts are p's. methods.md (69)
 */
const char *workload_as_rate(const struct workload *p, struct measurement *out);
/*
 * Roofs of the machine for n_threads (0: all) and such a link; cached, equal arguments share one. NULL: *err, as of roofs_init(), or out of
 * memory.
 */
const struct roofs *machine_roofs(const struct machine *m, int n_threads, double link_bytes_s, double link_latency_s, struct error *err);
/* "model quant": names of the bits in guesses. */
const char *guess_text(char *buf, size_t size, unsigned guesses);
/* Tagged neither e2e nor community. */
bool is_clean(const struct measurement *m);
/* Engine without its back end: "llama.cpp" of "llama.cpp-cuda". */
const char *engine_text(const struct stack *s, char *buf, size_t size);

/* System errors and interrupts end the command; others may be the reason of one row. */
static inline bool error_is_fatal(const struct error *e)
{
    return e->kind == ERROR_SYSTEM || e->kind == ERROR_INTERRUPTED;
}

#endif
