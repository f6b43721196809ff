/*
 * families_interval.h: 90 % intervals of a family of kernels, from the errors of machines left out of its fit; of all rows and of each class,
 * which is the value of the family's first dimension. methods.md (107)
 */
#ifndef LEARN_FAMILIES_INTERVAL_H
#define LEARN_FAMILIES_INTERVAL_H

#include "learn/constants.h"

/* Rows of one family as its fit has them. */
struct family_rows {
    const struct family *f;
    struct fit_row *row;
    char *features;
    family_value *dim; /* [n][FAMILY_DIMENSIONS] */
    const struct workload **workload;
    size_t n;
};

static inline struct fit_model family_model(const struct family *f)
{
    return (struct fit_model){ .n_parameter = f->n_parameter, .ln_seconds = f->ln_seconds };
}

enum family_side { FAMILY_SLOWER, FAMILY_FASTER, FAMILY_SIDES };
enum { FAMILY_CLASSES = 64 };

/* Half-widths of ln seconds of a class of rows; the class "" is of all. */
struct family_half {
    family_value class;
    double by[FAMILY_SIDES];
    size_t n; /* rows */
};
struct family_intervals {
    struct family_half half[FAMILY_CLASSES];
    size_t n;
};

/* By fits without each machine of s in turn; a single machine: out is unchanged. The fit is as before afterwards. errors: out of memory */
int family_intervals_fit(struct family_intervals *out, struct fit *fit, const struct family_rows *s, struct error *err);
/* The half-width of kernels.json; others than intervals are skipped. */
void family_intervals_take(struct family_intervals *x, const struct family *f, const struct constant *c);
/* Half-widths of a class, else of all rows, else of a machine that no row measured. */
void family_intervals_of(const struct family_intervals *x, const char *class, double *slower, double *faster);
/* Adds them to the constants of the family's fit. errors: out of memory */
int family_intervals_constants(const struct family_intervals *x, const struct family *f, struct constants *c, struct error *err);

#endif
