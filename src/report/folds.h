/* folds.h: cross-validation of fits of constants, as a table. */
#ifndef REPORT_FOLDS_H
#define REPORT_FOLDS_H

#include "learn/constants.h"
#include "report/output.h"

extern const struct table_fields folds_fields;
/* A line for each fit and fold that has rows, to standard output. */
int folds_print(const struct constants_file *f, enum report_format format, struct error *err);

#endif
