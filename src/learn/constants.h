/*
 * constants.h: fitted constants as a file (roofcast.constants, doc/formats.md): what `roofcast calibrate` writes and
 * `roofcast score` reads where nothing is refitted. Each with its spread, the rows behind it, and what those rows were of.
 */
#ifndef LEARN_CONSTANTS_H
#define LEARN_CONSTANTS_H

#include "stacks/effects.h"

enum { CONSTANTS_SOURCE = 1024 }; /* bytes of the names of the files of a fit */

struct constant {
    char name[FIT_MAX_NAME]; /* of an effect: "bandwidth class=Apple GPU" */
    double value, sd;        /* of the logarithm */
    size_t n_row;
    uint64_t from; /* which of the files of `source` these are of: bits, as they are listed there */
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
    char source[CONSTANTS_SOURCE]; /* the files: "throughput.csv, measured.csv" */
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
/* What a row of --anchor counts as, beside the files. */
#define CONSTANTS_SHOWN (UINT64_C(1) << 63)
/* "throughput.csv, --anchor": those of the files of `source` that `from` has. */
const char *constants_from(char *buf, size_t size, const char *source, uint64_t from);
/* Source keeps the files alone that some constant is of. */
void constants_keep_files(struct constants *c);
/* key: "hardware", ...; the rows behind c had such a value. */
bool constants_saw(const struct constants *c, const char *key, const char *value);

/* Fits rows of each kind. source: their files, in the order of the rows' numbers of files (measurement.file). */
int constants_fit(struct constants_file *f, const struct priced *const *rows, size_t n, const char *source, struct error *err);

#endif
