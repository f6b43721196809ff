/* The parts of `roofcast profile`. */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include "ceilings/ceilings.h"
#include "cli/cli.h"

/* profile --compare A.json B.json (profile_compare.c): every ceiling of both, and a verdict. */
int profile_compare(const char *a, const char *b, enum report_format fmt, struct error *err);
/* profile --cross-check (profile_check.c): ceilings beside likwid-bench's. */
int profile_cross_check(const struct ceilings_options *o, enum report_format fmt, struct error *err);

#endif
