/* compare.h: comparisons of tests, of the commands compare and bench --against. */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include "cli/cli.h"
#include "report/comparison.h"

/* "5%" as 0.05. errors: ERROR_USAGE */
int compare_parse_percent(const char *arg, double *fraction, struct error *err);
/* Prints a comparison, saves its JSON (save NULL: not), warns of settings that differ. errors: ERROR_REGRESSION  a row has regressed */
int compare_report(const struct comparison *c, enum report_format format, bool ops, const char *save, struct error *err);

#endif
