/*
 * ppl_saved.h: what `roofcast ppl` measured on this machine: a file a model in the user's folder, quality/NAME.json (doc/formats.md), with a
 * row a type, text and context. ppl writes, choose reads.
 */
#ifndef DATASET_PPL_SAVED_H
#define DATASET_PPL_SAVED_H

#include "base/base.h"

/* NaN: not measured. */
struct ppl_saved {
    char model[128], type[32], base_type[32]; /* of the file compared with; "": none */
    char text[128], date[24];
    double n_params;
    double n_ctx, n_tokens; /* of a chunk; scored */
    double ppl, ppl_se, ln_ratio, ln_ratio_se, kl, kl_se;
};
struct ppl_saved_list {
    struct ppl_saved *v;
    size_t n;
};

/* Fuzzed. */
int ppl_saved_parse(struct ppl_saved_list *l, const char *name, const void *data, size_t size, struct error *err);
/* Every file in the folder; a missing folder has none, NULL neither. */
int ppl_saved_load(struct ppl_saved_list *l, const char *dir, struct error *err);
void ppl_saved_free(struct ppl_saved_list *l);
/* Adds rows of one model to its file in the folder, in place of rows of the same type, base, text and context; path: of the file. */
int ppl_saved_add(const char *dir, const struct ppl_saved *row, size_t n, char *path, size_t size, struct error *err);
/* The row is of that model: one name contains the other, and both have the same number of parameters to 1 %. */
bool ppl_saved_of(const struct ppl_saved *s, const char *model, double n_params);
/* The best row of a type of that model: with a loss before one without, then with more tokens; NULL: none. */
const struct ppl_saved *ppl_saved_find(const struct ppl_saved_list *l, const char *model, double n_params, const char *type);

#endif
