/* profiles.h: comparison of profiles with each other, and with likwid-bench. */
#ifndef BENCH_PROFILES_H
#define BENCH_PROFILES_H

#include "bench/setup.h"
#include "ceilings/ceilings.h"
#include "report/output.h"

/* profile --compare A.json B.json (compare.c): every ceiling of both, and a verdict. */
int profile_compare(const char *a, const char *b, enum report_format fmt, struct error *err);
/* profile --cross-check (cross_check.c): ceilings compared with likwid-bench's. */
int profile_cross_check(const struct ceilings_options *o, enum report_format fmt, struct error *err);

extern const struct table_fields compare_fields, crosscheck_fields;

#endif
