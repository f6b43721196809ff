/* Wall time for measurements, calendar time for provenance. */
#include "base/base.h"
#include <time.h>

uint64_t clock_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double clock_now_s(void)
{
    return (double)clock_now_ns() * 1e-9;
}

const char *clock_date(char *buf, size_t n)
{
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    if (strftime(buf, n, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0 && n)
        buf[0] = 0;
    return buf;
}
