/* analyze.h: how an analysis is printed. */
#ifndef REPORT_ANALYZE_H
#define REPORT_ANALYZE_H

#include "cost/analysis.h"
#include "report/output.h"

extern const struct table_fields analyze_fields;
/* To the file save (NULL: none) as JSON, and to standard output: for people both phases side by side and the sums, else a row a phase. */
int analyze_print(const struct analysis *a, enum report_format format, const char *save, struct error *err);

#endif
