/*
 * score: predictions beside what was measured. A measurement becomes work: what the devices read, compute and exchange,
 * op by op, as the cost model has it; a time model makes seconds of it; the two are compared by groups.
 * Analytical side: nothing here measures.
 */
#ifndef SCORE_SCORE_H
#define SCORE_SCORE_H

#include "base/base.h"
#include "hwprofile/hwprofile.h"
#include "measure/measure.h"
#include "roofline/timing.h"

/* ---- work: what a row's seconds are made of ---------------------------------------------------- */

/* Equal ops of one pass. Bytes and FLOP are of one op on one device. */
struct work_class {
    enum op_kind kind;
    enum op_role role;
    enum math math;      /* of the operands; MATH_FP32 where nothing is multiplied */
    double count;        /* ops a pass */
    double n_tok;        /* rows it works on */
    double rows, cols;   /* of its matrix; 0: none */
    double bits;         /* of a weight; 0: no weights */
    double n_head, head_dim, group; /* attention's heads, elements of one, heads that share a key; 0: another op */
    struct cost cost;    /* link_bytes: that the device sends on a ring */
    double comm_bytes;   /* the message that the devices exchange, whole */
    double least_s;      /* at the machine's roofs (156) */
    uint32_t n_comm;     /* devices that exchange; 0: no traffic */
    bool launched;       /* a kernel of its own on GPUs: products, attention */
    const char *kernel;  /* "rope", ...: a small kernel of known shape; NULL: none */
    struct time_blocks blocks; /* its */
};

/* Passes of one shape. */
struct work_pass {
    enum phase phase;
    double times;              /* passes like this one */
    double n_tok, n_past, n_seq; /* of each */
    struct work_class *c;
    size_t n;
    /* sums over the classes, of one pass on one device */
    struct cost cost;
    double product_weight_bytes;      /* of products alone */
    double flop_math[MATH_COUNT];
    double n_op, n_launch, n_exchange; /* ops, launched ones, exchanges */
    double comm_bytes, least_s;
};

enum split { SPLIT_NONE, SPLIT_TENSOR, SPLIT_LAYER, SPLIT_DATA };
const char *split_name(enum split s); /* "none" "tensor" "layer" "data" */

/* What is guessed in the price of a row. */
enum guess {
    GUESS_MODEL = 1 << 0,    /* no preset: dimensions from the parameters */
    GUESS_QUANT = 1 << 1,    /* type not said, or not known */
    GUESS_ACTIVE = 1 << 2,   /* of a mixture of experts, the active parameters */
    GUESS_CONTEXT = 1 << 3,
    GUESS_BATCH = 1 << 4,
    GUESS_LENGTH = 1 << 5,   /* of prompts or answers */
    GUESS_PEAK = 1 << 6,     /* of the machine, from its bandwidth */
    GUESS_BANDWIDTH = 1 << 7,
    GUESS_LINK = 1 << 8,
    GUESS_LAYOUT = 1 << 9,   /* heads do not divide: costs are divided instead */
    GUESS_WEIGHT = 1 << 10,  /* weight_gib is far from what the model's type comes to: not used */
    GUESS_MACHINE = 1 << 11, /* the profile of another variant */
    GUESS_BITS = 1 << 12,    /* of a weight: neither a type nor bytes are said */
};

/* The machine of a row. */
struct machine {
    char hardware[128];   /* as the file names it */
    char profile[64];     /* "": none, the row of --hardware alone */
    char class_name[64];  /* as hardware.csv prints it */
    struct hwprofile h;
    bool loaded;
    unsigned guesses;     /* GUESS_PEAK, ... */
    double ln_sd;         /* spread of ln seconds from what is guessed of the machine; 0: nothing is (116) */
    char note[256];       /* where the file differs from the profile; what is guessed */
    char reason[256];     /* why there is none; "" when loaded */
    double link_bytes_s, link_latency_s; /* to its kind; guessed where the profile has none */
    struct roofs_kept *roofs; /* of its rows; of a pricer's machines alone */
};

/* Reads the file of classes, once; what asks for a class finds none where it cannot be read. */
int classes_load(struct error *err);
/* The file of classes as bytes: refused with a reason, or good. Fuzzed. */
int classes_check(const char *name, const void *data, size_t size, struct error *err);
/* The class of a profile in hardware.csv's words. */
const char *machine_class(const struct hwprofile *h);

/*
 * A machine that no profile is of: the class that its name says, with the memory that is believed of it, its figures as sources say (116); or a profile of
 * another variant. *found false: the name says nothing. note: what is guessed, in words; "" where another name of a profile is all it is.
 */
int machine_guess(struct hwprofile *h, const char *name, bool *found, char *note, size_t size, struct error *err);

/* A row with its work. */
struct priced {
    const struct measurement *m;
    const struct stack *stack;
    const struct machine *machine;
    char reason[256];          /* why it cannot be priced; "" when it is */
    char note[400];            /* what it was taken for, where the row says something else; "" when nothing */
    char preset[64];           /* "": dimensions are guessed */
    char type[24];             /* that is priced */
    double n_params, n_active; /* of the model; n_active: that a token uses */
    double bits_weight;        /* mean of all weights read by a token */
    double model_bytes;        /* of the weights, all devices */
    uint32_t n_layer, n_embd, n_expert, n_expert_used;
    bool moe, hybrid;
    struct layout layout;
    enum dtype type_k, type_v; /* of the KV cache */
    double dilute;             /* costs are divided by that, where heads do not divide (GUESS_LAYOUT); 1 */
    enum split split;
    double n_devices;
    unsigned guesses;

    /* Seconds measured: of the prompt, of a mean decode step, of a whole batch of requests, of an op; or as
     * m->metric says of a server. */
    double measured_s;
    struct work_pass *pass; /* in order: a prompt's, a decode step's */
    size_t n_pass;
    bool lent;          /* they are another row's */
    double batch;       /* sequences at once, of all groups of devices */
    double prompt, context, out; /* as priced */
    double n_users;     /* of a closed loop; NaN */
    const struct roofs *roofs; /* of one device, with the link: the machine's, which rows share; NULL: none */
};

/* What a time model says of a row. */
struct estimate {
    double seconds;
    double lo_s, hi_s; /* 90 % interval */
};

enum leave_out { LEAVE_NOTHING, LEAVE_HARDWARE, LEAVE_MODEL, LEAVE_ENGINE, LEAVE_TOPOLOGY };

/* Fits leave a group out, or are shown some rows of every device: what they must not know, and what they may. */
struct fit_scope {
    enum leave_out leave;
    const char *left_out; /* "", or the group's name: a profile's id or the machine's name, a preset or a model's name, a
                             stack's family ("llama.cpp"), "a100_dgx 8 of 8" */
    const struct priced *const *anchor; /* rows shown (--anchor-rows) */
    size_t n_anchor;
    const struct priced *const *beside; /* rows of hwprofiles/stacks/measured.csv that are not of the group: for kinds whose constants of
                                           them and others are not used, as the group is among those */
    size_t n_beside;
};

/*
 * A time model: seconds from work. fit() sees the rows that it may learn from (all those of the file that are priced and not
 * left out; none when nothing is refitted) and drops what it knows of a left-out group from elsewhere; predict() has no side
 * effects and never sees m->value of the row through the interface (measured_s and m->value are NaN there).
 */
struct time_model {
    const char *name;
    int (*fit)(void **params, const struct priced *const *rows, size_t n, const struct fit_scope *scope, struct error *err);
    int (*predict)(const void *params, const struct priced *row, struct estimate *out, struct error *err);
    void (*free)(void *params);
};
/* Today's prices: step.h under the machine's roofs, an interval of its residuals. */
extern const struct time_model time_model_roofs;

/* ---- pricing --------------------------------------------------------------------------------------- */

/* Machines and models met so far. */
struct pricer;
/* hws NULL: profiles alone. own: the one machine that may be a profile's path, as --hw has it; NULL: none. Both are the caller's. */
struct pricer *pricer_new(const struct measure_hws *hws, const char *own, struct error *err);
void pricer_free(struct pricer *p);
/* The work of a row; what cannot be priced has a reason (not an error). -1: out of memory, interrupted. */
int price_row(struct pricer *p, const struct measurement *m, struct priced *out, struct error *err);
/* Where its passes are those of *before (both latencies of a server's line), it has them from there, and *before has to outlive it. */
void priced_share(struct priced *p, const struct priced *before);
/* Models that rows were priced with; later rows load theirs again. */
void pricer_drop_models(struct pricer *p);
void priced_free(struct priced *p);

/* Sums over a row's passes: times counted. */
struct work_sum {
    double weight_bytes, product_weight_bytes, kv_bytes, act_bytes, flop, n_op, n_launch, n_exchange, comm_bytes, n_pass;
    double flop_math[MATH_COUNT];
};
/* Passes have more than one sequence. */
bool priced_batched(const struct priced *p);
/* Seconds of all passes at the roofs; 0: something of it or of the machine is a guess, or devices work on parts of it at once. (156) */
double work_least_s(const struct priced *p);
struct work_sum work_sum(const struct priced *p, enum phase phase);
/* Seconds of such FLOP, each operand type's at its own peak; flop_math [MATH_COUNT]. */
double work_compute_s(const struct priced *p, const double *flop_math);
/* Some of the layers that repeat ran elsewhere than on the GPU named; one more holds the head. And of those, on the CPU. */
bool priced_partly(const struct priced *p);
bool priced_offloaded(const struct priced *p);
/* Does it say itself that something was amiss, or that? (105) */
bool priced_doubtful(const struct priced *p);
/* More than the roofs of its machine allow, by (145): no measurement of this machine, type and batch. */
struct excess {
    bool memory;            /* of bytes; else of FLOP */
    double done_s, roof_s;  /* a second */
    double least_s;         /* that the machine takes */
};
bool priced_exceeds(const struct priced *p, struct excess *x);
/* "2030 GB/s of weights and keys, 2.01 times the 1008 GB/s of rtx-4090: is it ...?"; "": it does not. */
const char *excess_text(const struct priced *p, char *buf, size_t size);
/* The step of a server's time between tokens and of whole requests, the prompt of a time to the first token, as a row of rates with
 * an ln_sd. NULL, or why there is none. Texts are p's. (146) */
const char *priced_as_rate(const struct priced *p, struct measurement *out);
/* One line a row with every feature (doc/formats.md, roofcast.features). */
int features_save(const struct priced *rows, size_t n, const char *path, struct error *err);

/* ---- scores ------------------------------------------------------------------------------------------ */

struct score_options {
    const struct time_model *model;
    enum leave_out leave;
    int n_anchor; /* rows of each device and phase that are not scored, and shown to the fit unless they are impossible (145); 0: none */
    const struct priced *beside; /* rows that hwprofiles/stacks has; NULL: none. Used where something is left out */
    size_t n_beside;
};
/* "hardware" "model" "engine" "topology"; -1 with ERROR_USAGE. */
int leave_out_find(const char *name, enum leave_out *out, struct error *err);
const char *leave_out_name(enum leave_out l); /* NULL: nothing */

/* The source of a row as groups name it: the repository, without the file in it. */
const char *source_text(const struct measurement *m, char *buf, size_t size);
/* The group of a row that is left out with it. */
const char *left_out_text(const struct priced *p, enum leave_out l, char *buf, size_t size);

struct scored {
    const struct priced *p;
    bool anchor;        /* not scored */
    bool shown;         /* an anchor that the fit sees: its machine can have done it (145) */
    bool priced;        /* else: p->reason, or reason */
    char reason[256];
    struct estimate e;
    double predicted, lo, hi; /* in the row's unit: tokens/s or seconds */
    double error;       /* predicted / measured - 1; unpriced: -1 (72) */
};
/* Fits and predicts rows[n] into out[n]. */
int score_rows(struct scored *out, const struct priced *rows, size_t n, const struct score_options *o, struct error *err);

/* Rows that share the values of some keys. */
struct score_group {
    char *name;  /* "all", "class=CPU,phase=decode" */
    int n_key;
    size_t rows, unpriced;
    double bias, mape, median_ape, p90_ape, coverage90; /* fractions; of all rows, (72) */
    double half90; /* median half width of the interval over the prediction, of priced rows; NaN: none is */
};
struct score_groups {
    struct score_group *g;
    size_t n;
};
/* Keys by name, "class,engine,phase", in any order; -1 with ERROR_USAGE. */
int score_keys_find(const char *list, unsigned *keys, struct error *err);
/* "all" first, then all groups that have a row: of at most three keys, or of each of by[n_by], where there is any. */
int score_groups_init(struct score_groups *l, const struct scored *rows, size_t n, const unsigned *by, size_t n_by, struct error *err);
void score_groups_free(struct score_groups *l);
const struct score_group *score_groups_find(const struct score_groups *l, const char *name); /* NULL: none */
/* Why rows are off: what was guessed, what the source says; of those more than 50 % off, where they stand among the others. (141) */
struct score_reasons;
struct score_reasons *score_reasons_new(const struct scored *rows, size_t n, struct error *err); /* the rows are the caller's */
void score_reasons_free(struct score_reasons *r);
const char *score_reason(const struct score_reasons *r, const struct scored *s, char *buf, size_t size); /* "": nothing to say; NULL: no memory */

#endif
