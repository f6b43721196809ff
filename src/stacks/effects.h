/* Which effects a row's constants are sums of. */
#ifndef STACKS_EFFECTS_H
#define STACKS_EFFECTS_H

#include "dataset/workload.h"
#include "fit/fit.h"
#include "stacks/facts.h"
#include "timing/timing.h"

/* Rows of one kind are fitted together: what a kernel alone reaches is not what an engine does. */
enum fitted_kind {
    FITTED_RATE,       /* whole requests, and prompts that pass few tokens at a time */
    FITTED_DECODE,
    FITTED_PROMPT,
    FITTED_OP,
    FITTED_ALL_REDUCE,
    FITTED_TPOT,       /* of servers */
    FITTED_TTFT,
    FITTED_KIND_COUNT,
};

/* What rows have in common, or not. */
enum dimension {
    DIM_ALL,
    DIM_UNIT,     /* what products run on: "matrix" (units.h) */
    DIM_ATTEND,   /* what attention runs on */
    DIM_KERNEL,   /* the engine's attention on these units */
    DIM_PRODUCT,  /* its products there, of weights of so many bits */
    DIM_CLASS,    /* vendor and class of the machine: "NVIDIA consumer GPU" */
    DIM_STACK,    /* engine and back end */
    DIM_ERA,      /* an engine of long ago: it got faster since */
    DIM_TYPE,     /* bits of a weight: 32 16 8 4, and the engine's family */
    DIM_FORMAT,   /* the engine's kernels for weights of so many bits */
    DIM_OP,       /* of rows that are one op */
    DIM_LINK,     /* what joins the devices: "board", "pcie", "network" */
    DIM_GENERATION, /* of a server's machine: its maker and the narrowest units it has, "NVIDIA fp4" */
    DIM_MODE,     /* of a server that processes prompts elsewhere: "disagg" */
    DIM_VENDOR,   /* of the machine; CPUs are one */
    DIM_KIND,     /* "CPU" or "GPU" */
    DIM_PAIR,     /* engine and vendor: a back end's kernels on one maker's machines */
    DIM_PLACE,    /* engine and machine: its kernels on that one */
    DIM_HARDWARE,
    DIM_COUNT,
};

enum fitted_kind fitted_kind(const struct measurement *m);
/* Does a fit of that kind learn from the row? Rates of whole requests have prompts and decode steps in them: theirs does of both. (50) */
bool fitted_teaches(enum fitted_kind k, const struct measurement *m);
extern const char *const fitted_kind_names[FITTED_KIND_COUNT]; /* "rate" "decode" "prompt" "op" "all_reduce" "tpot" "ttft" */

/* A row as the fit sees it. */
struct fitted_row {
    enum fitted_kind kind;   /* of the fit it is for */
    struct facts facts;      /* of its engine and machine */
    struct time_features f;  /* f.before: wait, or NULL; a row is not copied */
    struct time_features wait;
    char dim[DIM_COUNT][64]; /* "": has none */
    double sigma;            /* spread of the logarithm expected of such a row */
    bool request;            /* more than its passes is in its seconds */
    double tick_s;           /* seconds are whole ticks; 0: finer */
    bool experts, computes;  /* it has products of experts; arithmetic is a part of its seconds */
    bool devices, borders;   /* that exchange; layer by layer, by the host (45) */
    bool serving, first;     /* a server's latency; to the first token */
    bool kernel;             /* a kernel alone */
    bool walks, deep;        /* its attention walks the cache; the cache is long enough to say how */
};

/* By its name in files, "class"; "": DIM_ALL; -1: unknown. */
int dimension_find(const char *name);

/* An effect before looking (priors.h): value where all share it (else 0, no difference), and the spread of its logarithm. */
struct effect_prior {
    enum time_slot slot;
    enum dimension dim;
    double value, sd;
};
/* What a server's latency is made of (52); wait: room for what is before it. And what joins its devices. */
void serving_features(struct time_features *f, struct time_features *wait, const struct facts *x);
const char *serving_link(const struct priced *p);
/* What the engine does for a step of such a pass, in addition to what every engine must: *c as it is costed, changed, and *how. decode: in a fit of
 * decode steps. */
void fitted_refine(const struct facts *x, const struct step_pass *at, bool decode, struct step *c, struct refinement *how);
/* The ops of `times` such passes, added to f. native: products are computed in the type of the weights. */
void fitted_add_pass(struct time_features *f, const struct facts *x, const struct work_pass *w, double times, bool native);

/* Which constants hold for a row, as far as its features say: below TIME_CASES (timing.h). */
unsigned fitted_case(const struct time_features *f);
/* The row of x->p, its features left out: what rows in such a case have in common. */
void fitted_row_of_case(struct fitted_row *out, const struct facts *x, unsigned which);
/* Features and dimensions of a priced row in a fit of that kind; false: it has no work. */
bool fitted_row_init(struct fitted_row *out, const struct priced *p, enum fitted_kind kind);
/* Spread of the logarithm of so many seconds: a row's, and that of whole ticks, half a tick to each side. */
double fitted_row_sigma(const struct fitted_row *r, double seconds);
/* What all rows of that kind share, where f does not have it yet: as believed before looking. */
int fitted_priors(struct fit *f, enum fitted_kind kind, struct error *err);
/* The effects of a row, added to f where they are new. -1: too many, or out of memory. */
int fitted_row_effects(struct fit *f, const struct fitted_row *r, struct fit_row *out, struct error *err);
/* The same without adding: an effect that f does not know has the value believed before looking, and its variance is loose. */
void fitted_row_known(const struct fit *f, const struct fitted_row *r, struct fit_row *out);
extern const struct fit_model fitted_model;

#endif
