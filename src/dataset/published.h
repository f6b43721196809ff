/*
 * published.h: the quality of quantized models as others have published it: perplexity and KL divergence by type, with sources
 * (models/quality/published.json; doc/formats.md). The loss of a type is its perplexity over that of the unquantized model, less 1.
 */
#ifndef DATASET_PUBLISHED_H
#define DATASET_PUBLISHED_H

#include "base/base.h"

/* NaN: not stated. */
struct published_figure {
    char type[24]; /* as model_load() knows it: "Q4_K_M", "AWQ" */
    bool imatrix;  /* the source says that an importance matrix was used */
    double loss;
    double kl; /* mean KL(base || type), nats */
};

/* Figures of one model from one source. */
struct published_study {
    char model[64];
    double n_params;
    char source[160], url[200], date[24], text[96], base[16];
    struct published_figure *figure;
    size_t n;
};

/* A quantized format that a model was trained for and is published in: its loss is 0 by definition. */
struct published_native {
    char model[64], type[24], source[160], url[200], date[24];
};

struct published {
    struct published_study *study;
    size_t n;
    struct published_native *native;
    size_t n_native;
};

/* Strict: unknown types, figures without a value and studies without source are errors. Fuzzed. */
int published_parse(struct published *p, const char *name, const void *data, size_t size, struct error *err);
/* models/quality/published.json of the first data directory that has it. */
int published_load(struct published *p, struct error *err);
void published_free(struct published *p);
/* Adds a study of n figures, which are copied. */
int published_add(struct published *p, const struct published_study *s, struct error *err);

/* The model (names compare folded) is published in that type; NULL: no. */
const struct published_native *published_native(const struct published *p, const char *model, const char *type);

/* ---- figures of a type ------------------------------------------------------------------------------------ */

/* Models of one size differ in parameters by at most this factor. */
extern const double PUBLISHED_SIZE;
enum { PUBLISHED_SOURCES = 12 };

/* Figures of one type, of models of that size; without any of the models of the nearest size. */
struct published_range {
    double lo, hi, kl_lo, kl_hi; /* NaN: none */
    bool of_size;                /* false: of the nearest size */
    double params_lo, params_hi; /* of the models */
    size_t study[PUBLISHED_SOURCES]; /* indices, at most n_study */
    size_t n_study, n_figure;
};
/* False: no figure of the type. */
bool published_range(const struct published *p, const char *type, double n_params, struct published_range *out);

/* ---- one scale for all types ------------------------------------------------------------------------------ */

/*
 * ln loss = type + model, fitted to all figures by least squares, so that types measured on different models are comparable.
 * source   methods.md (105)
 */
struct published_fit {
    struct published_effect *type, *model;
    size_t n_type, n_model;
    double noise; /* variance of a figure over that of models of one size */
};
struct published_effect {
    char name[64];
    double value, n_params;
    size_t n;
    size_t part; /* types and models that figures connect have the same number */
};
int published_fit_init(struct published_fit *f, const struct published *p, struct error *err);
void published_fit_free(struct published_fit *f);
/* Loss of a type on models of that size; a named one (names compare folded) that has figures keeps its own level, the more the more figures.
 * NaN: no figure of the type. */
double published_fit_loss(const struct published_fit *f, const char *type, double n_params, const char *model);

#endif
