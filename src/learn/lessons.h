/* lessons.h: constants from files of measurements. */
#ifndef LEARN_LESSONS_H
#define LEARN_LESSONS_H

#include "dataset/workload.h"
#include "learn/constants.h"

enum { LESSONS_MAX_FILES = 64 };
/*
 * Fits f to the rows of the files; given: what files do not say themselves. Rows that nothing is learned from are noted, with the reason.
 * errors: a file; no usable row. The caller frees f, after an error too.
 */
int lessons_learn(struct constants_file *f, const char *const *file, size_t n_file, const struct measure_context *given, struct workload_builder *p, struct error *err);

#endif
