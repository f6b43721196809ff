/* Output of likwid-bench 5: lines of "Name:", tabs and a number. Source: its bench.c (RRZE-HPC/likwid). */
#include "ceilings/likwid.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CPU = 8192 };

struct line {
    const char *name;
    const char *unit; /* after the number */
    double *to;
    int n_seen;
};

/* The rest of a line as number and unit. */
static bool read_number(double *v, const char *s, size_t n, const char *unit)
{
    char text[64], *end;
    while (n && (*s == ' ' || *s == '\t'))
        s++, n--;
    if (n == 0 || n >= sizeof text || !((*s >= '0' && *s <= '9') || *s == '.'))
        return false;
    memcpy(text, s, n);
    text[n] = 0;
    *v = strtod(text, &end);
    while (*end == ' ')
        end++;
    return strlen(text) == n && isfinite(*v) && strcmp(end, unit) == 0;
}

static int parse_line(struct line *lines, size_t n_lines, const char *s, size_t n, struct error *err)
{
    for (size_t i = 0; i < n_lines; i++) {
        const size_t len = strlen(lines[i].name);
        if (n <= len || memcmp(s, lines[i].name, len) != 0 || s[len] != ':')
            continue;
        if (lines[i].n_seen++)
            return error_set(err, ERROR_INPUT, "likwid-bench: \"%s\" is listed twice", lines[i].name);
        if (!read_number(lines[i].to, s + len + 1, n - len - 1, lines[i].unit))
            return error_set(err, ERROR_INPUT, "likwid-bench: \"%s\": expected a number, found \"%.*s\"", lines[i].name,
                             n < 60 ? (int)n : 60, s);
    }
    return 0;
}

/* "Group: 0 Thread 1 Global Thread 1 running on hwthread 1 - ...", one per thread in any order. */
static int parse_place(struct likwid_result *r, uint64_t *seen, const char *s, size_t n, struct error *err)
{
    static const char group[] = "Group:", on[] = "running on hwthread ";
    if (n < sizeof group || memcmp(s, group, sizeof group - 1) != 0)
        return 0;
    const char *at = memmem(s, n, on, sizeof on - 1);
    size_t cpu = 0, digits = 0;
    if (at)
        for (at += sizeof on - 1; at < s + n && *at >= '0' && *at <= '9' && digits < 5; at++, digits++)
            cpu = 10 * cpu + (size_t)(*at - '0');
    if (digits == 0 || cpu >= MAX_CPU)
        return error_set(err, ERROR_INPUT, "likwid-bench: a thread's CPU: expected \"%s\" and a number below %d, found \"%.*s\"", on, MAX_CPU,
                         n < 100 ? (int)n : 100, s);
    r->n_threads++;
    r->n_cpus += !(seen[cpu / 64] >> cpu % 64 & 1);
    seen[cpu / 64] |= (uint64_t)1 << cpu % 64;
    return 0;
}

/* Its own error line, else the first line. */
static int refuse(const char *text, size_t n, const char *missing, struct error *err)
{
    for (size_t at = 0, end; at < n; at = end + 1) {
        for (end = at; end < n && text[end] != '\n'; end++)
            ;
        const bool fault = end - at > 5 && (memcmp(text + at, "ERROR", 5) == 0 || memcmp(text + at, "Error", 5) == 0);
        if (fault)
            return error_set(err, ERROR_INPUT, "likwid-bench: %.*s", end - at < 120 ? (int)(end - at) : 120, text + at);
    }
    return error_set(err, ERROR_INPUT, "likwid-bench: its output has no \"%s\"", missing);
}

int likwid_parse(struct likwid_result *r, const char *text, size_t n, struct error *err)
{
    struct line lines[] = {
        { "Time", "sec", &r->seconds, 0 },        { "MFlops/s", "", &r->flop_s, 0 },
        { "MByte/s", "", &r->bytes_s, 0 },        { "Size (Byte)", "", &r->size_bytes, 0 },
        { "Iterations", "", &r->iterations, 0 },
    };
    uint64_t seen[MAX_CPU / 64] = { 0 };
    *r = (struct likwid_result){ 0 };
    for (size_t at = 0, end; at < n; at = end + 1) {
        for (end = at; end < n && text[end] != '\n'; end++)
            ;
        const size_t len = end > at && text[end - 1] == '\r' ? end - at - 1 : end - at;
        if (parse_line(lines, ARRAY_LEN(lines), text + at, len, err) != 0 || parse_place(r, seen, text + at, len, err) != 0)
            return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        if (!lines[i].n_seen)
            return refuse(text, n, lines[i].name, err);
    if (!(r->seconds > 0) || !(r->iterations >= 1) || !(r->flop_s + r->bytes_s > 0))
        return error_set(err, ERROR_INPUT, "likwid-bench: %g s, %g iterations, %g MFlops/s and %g MByte/s are no measurement",
                         r->seconds, r->iterations, r->flop_s, r->bytes_s);
    r->flop_s *= 1e6;
    r->bytes_s *= 1e6;
    return 0;
}
