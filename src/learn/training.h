/* training: what a fit has seen, and what is new about a row to it. methods.md (59) */
#ifndef LEARN_TRAINING_H
#define LEARN_TRAINING_H

#include "learn/score.h"

/* What is new about a row to a fit, the most telling first found from the end. */
enum novelty {
    NOVELTY_PUBLISHER,  /* nothing but who measured */
    NOVELTY_WORK,       /* no rows of its model */
    NOVELTY_ENGINE,     /* none of its engine */
    NOVELTY_ANCHORED,   /* of its machine only anchors */
    NOVELTY_MACHINE,    /* none of its machine */
    NOVELTY_GENERATION, /* none of its machine's design */
    NOVELTY_COUNT,
};

/* Training groups of rows, as texts "hardware=NVIDIA RTX 4090", sorted. */
struct training_groups {
    char **text;
    size_t n, cap;
};
void training_free(struct training_groups *k);
int training_add_text(struct training_groups *k, const char *text, struct error *err);
/* Adds machine, model, engine, topology, publisher, design and class of a row. errors: out of memory */
int training_add_row(struct training_groups *k, const struct workload *p, struct error *err);
/* Their texts into (*out)[*n], which the caller frees, also after an error. errors: out of memory */
int training_copy(char ***out, size_t *n, const struct training_groups *k, struct error *err);
/* by: training groups of the fit; shown: machines of its anchors. */
enum novelty novelty_of(const struct training_groups *by, const struct training_groups *shown, const struct workload *p);
/* The same of a row whose groups the fit has seen or not; its engine counts where training_has_engine(). */
enum novelty novelty_from(const struct workload *p, bool machine, bool generation, bool engine, bool work);
/* Ops have no engine. */
bool training_has_engine(const struct workload *p);

#endif
