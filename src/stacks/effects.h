/* effects.h: the effects whose sums are a row's constants. methods.md (57), (35) */
#ifndef STACKS_EFFECTS_H
#define STACKS_EFFECTS_H

#include "dataset/workload.h"
#include "fit/fit.h"
#include "stacks/stack_traits.h"
#include "timing/timing.h"

/* Kinds of rows, each with its own fit: single kernels differ from engines. */
enum fitted_kind {
    FITTED_RATE,       /* whole requests, and prompts in passes of few tokens */
    FITTED_DECODE,
    FITTED_PROMPT,
    FITTED_OP,
    FITTED_TPOT,       /* of servers */
    FITTED_TTFT,
    FITTED_KIND_COUNT,
};

/* Dimensions by which effects distinguish rows. */
enum dimension {
    DIM_ALL,
    DIM_UNIT,     /* math unit of products: "matrix" (units.h) */
    DIM_ATTEND,   /* math unit of attention */
    DIM_KERNEL,   /* the engine's attention kernel on that unit */
    DIM_PRODUCT,  /* its product kernel there, by bits of a weight */
    DIM_CLASS,    /* vendor and class of the machine: "NVIDIA consumer GPU" */
    DIM_STACK,    /* engine and back end */
    DIM_ERA,      /* an old version of the engine */
    DIM_TYPE,     /* bits of a weight: 32 16 8 4, and the engine's family */
    DIM_FORMAT,   /* the engine's kernels by bits of a weight */
    DIM_OP,       /* op, of rows of one op */
    DIM_LINK,     /* interconnect: "board", "pcie", "network" */
    DIM_GENERATION, /* of a server's machine: vendor and narrowest math unit, "NVIDIA fp4" */
    DIM_MODE,     /* of a server with separate prefill: "disagg vllm" */
    DIM_PLACE,    /* engine and machine */
    DIM_PUBLICATION, /* who measured, and on what: power limits, cooling, hosts and protocols that rows of one publisher share */
    DIM_HARDWARE,
    DIM_COUNT,
};

enum fitted_kind fitted_kind(const struct measurement *m);
/* The fit of that kind learns from the row. Whole requests contain prompts and decode steps and teach both. (50) */
bool fitted_learns_from(enum fitted_kind k, const struct measurement *m);
extern const char *const fitted_kind_names[FITTED_KIND_COUNT]; /* "rate" "decode" "prompt" "op" "tpot" "ttft" */

/* A row as the fit sees it. */
struct fitted_row {
    enum fitted_kind kind;   /* of the fit it is for */
    struct stack_traits traits;      /* of its engine and machine */
    struct time_features f;  /* f.before: wait, or NULL; must not be copied */
    struct time_features wait;
    char dim[DIM_COUNT][64]; /* "": none */
    double sigma;            /* expected spread of ln seconds of the row */
    bool request;            /* seconds include more than the passes */
    double tick_s;           /* resolution of the seconds; 0: fine */
    bool experts, computes;  /* it has products of experts; seconds depend on arithmetic */
    bool devices, stage_boundaries;   /* collectives; stage boundaries by the host (45) */
    bool serving, first;     /* a server's latency; TTFT */
    bool kernel;             /* a single kernel */
    bool scans, long_context;        /* sequential scan of the KV cache by attention; long context */
};

/* By its name in files, "class"; "": DIM_ALL; -1: unknown. */
int dimension_find(const char *name);

/* Prior of an effect (priors.h): value where all share it (else 0, no difference), and the spread of its logarithm. */
struct effect_prior {
    enum time_parameter parameter;
    enum dimension dim;
    double value, sd;
};
/* Features of a server's latency (52); wait: room for what is before it. Also sets the interconnect. */
void serving_features(struct time_features *f, struct time_features *wait, const struct stack_traits *x);
/* Features of one step of a server: of decoding sequences, of prompts' tokens, or both; NULL: none. */
void serving_step_features(struct time_features *f, const struct stack_traits *x, const struct work_pass *decode, const struct work_pass *prompt);
const char *serving_link(const struct workload *p);
/* Applies the engine's changes to a step of such a pass: *c as costed, changed, and *how. decode: for a fit of decode steps. */
void fitted_refine(const struct stack_traits *x, const struct step_pass *at, bool decode, struct step *c, struct refinement *how);
/* Adds the ops of `times` such passes to f. native: products are computed in the type of the weights. */
void fitted_add_pass(struct time_features *f, const struct stack_traits *x, const struct work_pass *w, double times, bool native);

/* Case of constants of a row, from its features: below TIME_CASES (timing.h). */
unsigned fitted_case(const struct time_features *f);
/* The row of x->p without features: dimensions common to rows in that case. */
void fitted_row_of_case(struct fitted_row *out, const struct stack_traits *x, unsigned which);
/* Features and dimensions of an estimated row in a fit of that kind; false: it has no work. */
bool fitted_row_init(struct fitted_row *out, const struct workload *p, enum fitted_kind kind);
/* Spread of ln seconds: of the row, and of half a tick of resolution. */
double fitted_row_sigma(const struct fitted_row *r, double seconds);
/* Adds the priors of effects common to all rows of that kind, where f does not have them. errors: out of memory */
int fitted_priors(struct fit *f, enum fitted_kind kind, struct error *err);
/* The effects of a row, added to f where new. -1: too many, or out of memory. */
int fitted_row_effects(struct fit *f, const struct fitted_row *r, struct fit_row *out, struct error *err);
/* The same without adding: effects that f does not have get their prior value and count in prior_var. */
void fitted_row_predict(const struct fit *f, const struct fitted_row *r, struct fit_row *out);
extern const struct fit_model fitted_model;

#endif
