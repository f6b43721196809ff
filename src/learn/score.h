/* score.h: predictions and measurements compared by groups, with groups left out of the fit. */
#ifndef LEARN_SCORE_H
#define LEARN_SCORE_H

#include "dataset/workload.h"

/* Estimate of a row by a time model. */
struct estimate {
    double seconds;
    double lo_s, hi_s; /* 90 % interval */
    const char *closed_form; /* a server's latency that could not be simulated: why; NULL: simulated, or no latency */
};

enum leave_out {
    LEAVE_NOTHING,
    LEAVE_HARDWARE,
    LEAVE_MODEL,
    LEAVE_ENGINE,
    LEAVE_TOPOLOGY,
    LEAVE_SOURCE,     /* a publisher: a repository, a site */
    LEAVE_GENERATION, /* machines of one design */
    LEAVE_CLASS,
    LEAVE_DATE,       /* half a year, and all that is later or has no date */
};

/* Rows that a fit must not use (a group left out), and rows that it may (anchors of every device). */
struct fit_scope {
    enum leave_out leave;
    const char *left_out; /* "", or the group's name: a profile's id or the machine's name, a preset or a model's name, a stack's family
                             ("llama.cpp"), "a100_dgx 8 of 8" */
    const struct workload *const *anchor; /* anchors (--anchor-rows) */
    size_t n_anchor;
    const struct workload *const *reference_rows; /* rows of hwprofiles/stacks/measured.csv outside the group: for kinds whose shipped constants
                                           are not used, because the group is among their rows */
    size_t n_reference_rows;
};

/*
 * A time model: seconds from work. fit() gets the training rows (estimated rows of the file that are not left out; none without refitting)
 * and discards constants trained on a left-out group; predict() has no side effects and does not get m->value (measured_s and m->value are
 * NaN there).
 */
struct time_model {
    const char *name;
    int (*fit)(void **params, const struct workload *const *rows, size_t n, const struct fit_scope *scope, struct error *err);
    int (*predict)(const void *params, const struct workload *row, struct estimate *out, struct error *err);
    void (*free)(void *params);
};

/* One line a row with every feature (doc/formats.md, roofcast.features). errors: writing */
int features_save(const struct workload *rows, size_t n, const char *path, struct error *err);

struct score_options {
    const struct time_model *model;
    enum leave_out leave;
    int n_anchor; /* anchors per device and phase: not scored, and used by the fit unless they are impossible (68); 0: none */
    const struct workload *reference_rows; /* rows of hwprofiles/stacks; NULL: none. Used where a group is left out */
    size_t n_reference_rows;
};

/* "hardware" "model" "engine" "topology" "source" "generation" "class" "date"; -1 with ERROR_USAGE. */
int leave_out_find(const char *name, enum leave_out *out, struct error *err);
const char *leave_out_name(enum leave_out l); /* NULL: nothing */
/* A fit that leaves `group` out must not see the row. */
bool leave_out_hides(const struct workload *p, enum leave_out l, const char *group);
/* The group of a row in leave-one-group-out; "": it states none. */
const char *left_out_text(const struct workload *p, enum leave_out l, char *buf, size_t size);

struct scored {
    const struct workload *p;
    bool anchor;        /* not scored */
    bool unstated;      /* not scored either: it states no value of the key that is left out, and no fit would be without its group */
    bool shown;         /* an anchor used by the fit: not above its roof (68) */
    bool priced;        /* else: p->reason, or reason */
    char reason[256];
    struct estimate e;
    double predicted, lo, hi; /* in the row's unit: tokens/s or seconds */
    double error;       /* predicted / measured - 1; no estimate: -1 (67) */
    double naive_error; /* of the roofs' seconds over one fraction a phase (61); NaN: no rate */
};

/* Fits and predicts rows[n] into out[n]. errors: of the model, out of memory */
int score_rows(struct scored *out, const struct workload *rows, size_t n, const struct score_options *o, struct error *err);

static inline bool is_scored_row(const struct scored *s)
{
    return !s->anchor && !s->unstated;
}

/* Rows that share the values of some keys. */
struct score_group {
    char *name;  /* "all", "class=CPU,phase=decode" */
    int n_key;
    size_t rows, unpriced;
    double bias, mape, median_ape, p90_ape, coverage90; /* fractions; of all rows, (67) */
    double naive_ape; /* median of the naive predictor's; NaN: it has none */
    double half90; /* median relative half-width of estimated rows; NaN: none */
};

struct score_groups {
    struct score_group *g;
    size_t n;
};

/* Keys by name, "class,engine,phase", in any order; -1 with ERROR_USAGE. */
int score_keys_find(const char *list, unsigned *keys, struct error *err);
/* "all" first, then all groups that have a row: of at most three keys, or of each of by[n_by], if any. */
int score_groups_init(struct score_groups *l, const struct scored *rows, size_t n, const unsigned *by, size_t n_by, struct error *err);
void score_groups_free(struct score_groups *l);
/* Reasons of errors: guesses, tags of the source; for errors above 50 % the position among other rows. (doc/notes/datasets.md) */
struct score_reasons;
struct score_reasons *score_reasons_new(const struct scored *rows, size_t n, struct error *err); /* the rows are the caller's */
void score_reasons_free(struct score_reasons *r);
const char *score_reason(const struct score_reasons *r, const struct scored *s, char *buf, size_t size); /* "": none; NULL: out of memory */

#endif
