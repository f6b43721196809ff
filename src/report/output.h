/* output.h: results to files and to standard output, within the width of a terminal. */
#ifndef REPORT_OUTPUT_H
#define REPORT_OUTPUT_H

#include "hwprofile/hwprofile.h"
#include "report/report.h"

/* Print all columns of tables on terminals of any width: --wide. */
void report_set_wide(void);
/* Width of the terminal f in columns; 0: no terminal, or --wide. */
size_t report_width(FILE *f);
/* printf() to standard output, wrapped at the width of a terminal with continuation lines indented (report_wrap()). Control characters
 * are replaced. */
void report_text(size_t indent, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same, also wrapped in a pipe: at `most` columns. */
void report_text_within(size_t most, size_t indent, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* report_print to path ("-" or NULL: stdout), atomically. */
int report_write(const char *path, enum report_format fmt, const struct table *d, struct error *err);
/* Findings of a profile's curves, a line each: levels, saturation (profile_findings.c). */
void report_findings(const struct hwprofile *h);

#endif
