/* output.h: results to files and to standard output, within the width of a terminal. */
#ifndef REPORT_OUTPUT_H
#define REPORT_OUTPUT_H

#include "hwprofile/hwprofile.h"
#include "report/report.h"

/* Tables have all of their columns, whatever the terminal's width: --wide. */
void report_set_wide(void);
/* Columns of the terminal that f is; 0: no terminal, or --wide. */
size_t report_width(FILE *f);
/* Text for people to standard output, as printf: on a terminal it breaks at the width, what follows stands behind indent blanks
 * (report_wrap()). What a terminal would obey is shown. */
void report_text(size_t indent, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same, which into a pipe breaks, too: at `most` columns. */
void report_text_within(size_t most, size_t indent, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* report_print to path ("-" or NULL: stdout), atomically. */
int report_write(const char *path, enum report_format fmt, const struct table *d, struct error *err);
/* What the curves of a profile say, a line each: levels, saturation (profile_findings.c). */
void report_findings(const struct hwprofile *h);

#endif
