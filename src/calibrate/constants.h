/*
 * constants.h: fitted constants as a file (roofcast.constants, doc/formats.md): what `roofcast calibrate` writes and
 * `roofcast score` reads where nothing is refitted. Each with its spread, the rows behind it, and what those rows were of.
 */
#ifndef CALIBRATE_CONSTANTS_H
#define CALIBRATE_CONSTANTS_H

#include "calibrate/effects.h"

struct constant {
    char name[FIT_MAX_NAME]; /* of an effect: "bandwidth class=Apple GPU" */
    double value, sd;        /* of the logarithm */
    size_t n_row;
};

/* Of one kind of rows. */
struct constants {
    struct constant *c;
    size_t n;
    double sigma;     /* what is left over, in sigmas of a row */
    struct constant *interval; /* of intervals: "interval situation=new machine"; none: their priors */
    size_t n_interval;
    size_t n_row;
    char **group;     /* "hardware=NVIDIA RTX 4090", "model=...", "engine=...": what the rows were of */
    size_t n_group;
    char source[256]; /* the files */
};

struct constants_file {
    struct constants kind[FITTED_KIND_COUNT];
};

void constants_free(struct constants_file *f);
/* Strict: names, numbers and their ranges. */
int constants_load(struct constants_file *f, const char *path, struct error *err);
int constants_parse(struct constants_file *f, const char *name, const void *data, size_t size, struct error *err); /* fuzzed */
/* The file of that name in the data directories' hwprofiles/stacks; ERROR_UNAVAILABLE: there is none. */
int constants_find(struct constants_file *f, const char *name, struct error *err);
int constants_save(const struct constants_file *f, const char *path, struct error *err);
/* key: "hardware", ...; the rows behind c had such a value. */
bool constants_saw(const struct constants *c, const char *key, const char *value);

/* Fits rows of each kind. */
int constants_fit(struct constants_file *f, const struct priced *const *rows, size_t n, const char *source, struct error *err);

#endif
