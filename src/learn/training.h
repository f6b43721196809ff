/* training: what a fit has seen, and what is new about a row to it. methods.md (59) */
#ifndef LEARN_TRAINING_H
#define LEARN_TRAINING_H

#include "learn/score.h"

/* What is new about a row to a fit, the most telling first found from the end. */
enum novelty {
    NOVELTY_NOTHING,    /* but perhaps its model: its publisher's rows of its machine are known */
    NOVELTY_PUBLISHER,  /* nothing but who measured */
    NOVELTY_WORK,       /* no rows of its model */
    NOVELTY_ENGINE,     /* none of its engine */
    NOVELTY_ANCHORED,   /* of its machine only anchors */
    NOVELTY_MACHINE,    /* none of its machine */
    NOVELTY_GENERATION, /* none of its machine's design */
    NOVELTY_CLASS,      /* none of its machine's class */
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
/* Adds the publication of a row, its publisher on its machine: fits learn what its rows share (57). errors: out of memory */
int training_add_publication(struct training_groups *k, const struct workload *p, struct error *err);
/* Rows of more than one publisher. */
bool training_has_publishers(const struct training_groups *k);
/* "example/bench on rtx-4090"; "": the row has no publisher */
const char *training_publication(const struct workload *p, char *buf, size_t size);
/* Their texts into (*out)[*n], which the caller frees, also after an error. errors: out of memory */
int training_copy(char ***out, size_t *n, const struct training_groups *k, struct error *err);
/* by: training groups of the fit; shown: machines of its anchors. */
enum novelty novelty_of(const struct training_groups *by, const struct training_groups *shown, const struct workload *p);
/* What a fit has seen of a row's groups, as bits. */
enum seen {
    SEEN_PUBLICATION = 1,
    SEEN_WORK = 2,
    SEEN_ENGINE = 4,
    SEEN_MACHINE = 8,
    SEEN_GENERATION = 16,
    SEEN_CLASS = 32,
};
/* The same from these bits; an engine counts where training_has_engine(). */
enum novelty novelty_from(const struct workload *p, unsigned seen);
/* Ops have no engine. */
bool training_has_engine(const struct workload *p);

#endif
