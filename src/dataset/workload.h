/* workload.h: a measurement as work: what the devices read, compute and exchange, op by op, as the cost model has it. */
#ifndef DATASET_WORKLOAD_H
#define DATASET_WORKLOAD_H

#include "dataset/machine.h"
#include "timing/timing.h"

/* Sums over steps. */
struct work_sum {
    struct cost cost;
    double product_weight_bytes;       /* of products alone */
    double flop_math[MATH_COUNT];
    double n_op, n_launch, n_exchange; /* ops, those that are kernels of their own on GPUs, exchanges */
    double comm_bytes;                 /* of the messages that devices exchange, whole */
    double least_s;                    /* at the machine's roofs (27) */
    double n_pass;
};

/* Passes of one shape. */
struct work_pass {
    struct step_pass at;
    double times;                     /* passes like this one */
    struct step *c;                   /* of no step model; bits and sizes as the row has them */
    size_t n;
    const char *kernel;               /* "rope", ...: its one step is a small kernel of known shape; NULL: none is */
    struct time_blocks blocks;        /* its */
    struct work_sum sum;              /* of one pass on one device */
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
/* All rows of l with their work, [l->n]; NULL with *err. The models are dropped. */
struct priced *priced_rows(const struct measurements *l, struct pricer *p, struct error *err);
void priced_rows_free(struct priced *rows, size_t n); /* rows may be NULL */

/* Passes have more than one sequence. */
bool priced_batched(const struct priced *p);
/* Seconds of all passes at the roofs; 0: something of it or of the machine is a guess, or devices work on parts of it at once. (27) */
double work_least_s(const struct priced *p);
/* Over a row's passes of a phase: times counted. */
struct work_sum work_sum(const struct priced *p, enum phase phase);
/* Does starting an op of the step count by itself? GPUs' software fuses small ops into the products around them. */
bool work_is_launched(const struct priced *p, const struct work_pass *w, const struct step *c);
/* Seconds of such FLOP, each operand type's at its own peak; flop_math [MATH_COUNT]. */
double work_compute_s(const struct priced *p, const double *flop_math);
/* Some of the layers that repeat ran elsewhere than on the GPU named; one more holds the head. And of those, on the CPU. */
bool priced_partly(const struct priced *p);
bool priced_offloaded(const struct priced *p);
/* Does it say itself that something was amiss, or that? (59) */
bool priced_doubtful(const struct priced *p);

/* More than the roofs of its machine allow, by (68): no measurement of this machine, type and batch. */
struct excess {
    bool memory;            /* of bytes; else of FLOP */
    double done_s, roof_s;  /* a second */
    double least_s;         /* that the machine takes */
};

bool priced_exceeds(const struct priced *p, struct excess *x);
/* "2030 GB/s of weights and keys, 2.01 times the 1008 GB/s of rtx-4090: is it ...?"; "": it does not. */
const char *excess_text(const struct priced *p, char *buf, size_t size);
/* The step of a server's time between tokens and of whole requests, the prompt of a time to the first token, as a row of rates with
 * an ln_sd. NULL, or why there is none. Texts are p's. (69) */
const char *priced_as_rate(const struct priced *p, struct measurement *out);
/* The source of a row as groups name it: the repository, without the file in it. */
const char *source_text(const struct measurement *m, char *buf, size_t size);
/* The machine's roofs for so many threads (0: all) and devices joined so: the same for all rows that ask for the same. NULL with *err: what roofs_init()
 * says, or out of memory. */
const struct roofs *machine_roofs(const struct machine *m, int n_threads, double link_bytes_s, double link_latency_s, struct error *err);
/* "model quant": what of a row is guessed. */
const char *guess_text(char *buf, size_t size, unsigned guesses);
/* Tagged neither e2e nor community. */
bool is_clean(const struct measurement *m);
/* The engine without its back end: "llama.cpp" of "llama.cpp-cuda". */
const char *engine_text(const struct stack *s, char *buf, size_t size);

/* Of the system or an interrupt: it ends the command. Other errors may be one row's affair, whose reason they are then. */
static inline bool error_is_fatal(const struct error *e)
{
    return e->kind == ERROR_SYSTEM || e->kind == ERROR_INTERRUPTED;
}

#endif
