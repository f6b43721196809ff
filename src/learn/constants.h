/*
 * constants.h: fitted constants as a file (roofcast.constants, doc/formats.md): what `roofcast calibrate` writes and
 * `roofcast score` reads where nothing is refitted. Each with its spread, its training rows, and their groups.
 */
#ifndef LEARN_CONSTANTS_H
#define LEARN_CONSTANTS_H

#include "learn/interval.h"
#include "stacks/family.h"

enum { CONSTANTS_SOURCE = 1024 }; /* bytes of the names of the files of a fit */

struct constant {
    char name[FIT_MAX_NAME]; /* of an effect: "bandwidth class=Apple GPU" */
    double value, sd;        /* of the logarithm */
    size_t n_row;
    uint64_t from; /* origin: files of `source`, as bits in that order */
};

/* Constants of one kind of rows. */
struct constants {
    struct constant *c;
    size_t n;
    double sigma;     /* residual error, in sigma of a row */
    struct constant *interval; /* of intervals: "interval novelty=machine side=slower"; none: a normal's */
    size_t n_interval;
    size_t n_row;
    char **group;     /* training groups: "hardware=NVIDIA RTX 4090", "model=...", "engine=..." */
    size_t n_group;
    char source[CONSTANTS_SOURCE]; /* the files: "throughput.csv, measured.csv" */
    struct fold_figure fold[FOLD_COUNT]; /* of cross-validation, as constants_fit() sets them; not in files */
};

/* Kinds of rows, then families of kernels (stacks/family.h). */
enum { CONSTANTS_FITS = FITTED_KIND_COUNT + FAMILY_MOST };

struct constants_file {
    struct constants kind[CONSTANTS_FITS];
};

void constants_free(struct constants_file *f);
/* Strict: names, numbers and their ranges. errors: file, field, expected and found */
int constants_load(struct constants_file *f, const char *path, struct error *err);
int constants_parse(struct constants_file *f, const char *name, const void *data, size_t size, struct error *err); /* fuzzed */
/* The file of that name in the data directories' hwprofiles/stacks; ERROR_UNAVAILABLE: there is none. */
int constants_find(struct constants_file *f, const char *name, struct error *err);
/*
 * Which constants a result is from, as 16 hexadecimal digits: FNV-1a of those of the bytes of constants.json and, where there is one, of
 * kernels.json. errors: no constants.json, or a file that is unreadable
 */
int constants_digest(char out[17], struct error *err);
int constants_save(const struct constants_file *f, const char *path, struct error *err);
/* Origin of rows of --anchor, in addition to the files. */
#define CONSTANTS_SHOWN (UINT64_C(1) << 63)
/* "throughput.csv, --anchor": the files of `source` in `from`. */
const char *constants_from(char *buf, size_t size, const char *source, uint64_t from);
/* Removes files from source that no constant is from. */
void constants_keep_files(struct constants *c);
/* c was trained on rows with that value of key ("hardware", ...). */
bool constants_saw(const struct constants *c, const char *key, const char *value);

/* Fits rows of each kind. source: their files, in the order of the rows' file numbers (measurement.file). errors: out of memory; a value
 * that is not finite */
int constants_fit(struct constants_file *f, const struct workload *const *rows, size_t n, const char *source, struct error *err);

#endif
