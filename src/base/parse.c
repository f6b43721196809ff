/* Numbers from the command line: the whole string, in range, or an error that says both. */
#include "base/base.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

int parse_int(const char *s, int64_t lo, int64_t hi, const char *what, int64_t *out,
              struct error *err)
{
    char *end;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (end == s || *end)
        return error_set(err, ERROR_USAGE, "%s: expected a whole number, found \"%s\"", what, s);
    if (errno == ERANGE || v < lo || v > hi)
        return error_set(err, ERROR_USAGE, "%s: expected %lld to %lld, found %s", what,
                         (long long)lo, (long long)hi, s);
    *out = v;
    return 0;
}

int parse_double(const char *s, double lo, double hi, const char *what, double *out,
                 struct error *err)
{
    char *end;
    double v = strtod(s, &end);
    if (end == s || *end || !isfinite(v))
        return error_set(err, ERROR_USAGE, "%s: expected a number, found \"%s\"", what, s);
    if (v < lo || v > hi)
        return error_set(err, ERROR_USAGE, "%s: expected %g to %g, found %s", what, lo, hi, s);
    *out = v;
    return 0;
}
