/* What likwid-bench 5 prints: lines of "Name:", tabs and a number. Source: its bench.c (RRZE-HPC/likwid). */
#include "ceilings/likwid.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct line {
    const char *name;
    const char *unit; /* what follows the number */
    double *to;
    int n_seen;
};

/* The whole rest of a line as a number and its unit. */
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
            return error_set(err, ERROR_INPUT, "likwid-bench: \"%s\" stands twice", lines[i].name);
        if (!read_number(lines[i].to, s + len + 1, n - len - 1, lines[i].unit))
            return error_set(err, ERROR_INPUT, "likwid-bench: \"%s\": expected a number, found \"%.*s\"", lines[i].name,
                             n < 60 ? (int)n : 60, s);
    }
    return 0;
}

/* It names its own faults; of other words the first line is as good as any. */
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
    *r = (struct likwid_result){ 0 };
    for (size_t at = 0, end; at < n; at = end + 1) {
        for (end = at; end < n && text[end] != '\n'; end++)
            ;
        const size_t len = end > at && text[end - 1] == '\r' ? end - at - 1 : end - at;
        if (parse_line(lines, ARRAY_LEN(lines), text + at, len, err) != 0)
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
