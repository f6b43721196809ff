/* Numbers with units: printed with SI prefixes, parsed with SI or binary ones. */
#include "base/base.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Three significant digits, never exponent notation for 0.001..99999. */
static void format3(char *buf, size_t n, double v, const char *tail)
{
    double a = fabs(v);
    int decimals = a >= 100 ? 0 : a >= 10 ? 1 : 2;
    if (a >= 99.95 && a < 100)
        decimals = 0;
    else if (a >= 9.995 && a < 10)
        decimals = 1;
    snprintf(buf, n, "%.*f%s", decimals, v, tail);
}

const char *units_si(char *buf, size_t n, double v, const char *unit)
{
    static const struct {
        double scale;
        const char *prefix;
    } si[] = { { 1e18, "E" }, { 1e15, "P" }, { 1e12, "T" }, { 1e9, "G" },  { 1e6, "M" },
               { 1e3, "k" },  { 1, "" },     { 1e-3, "m" }, { 1e-6, "u" }, { 1e-9, "n" } };
    if (isnan(v)) {
        snprintf(buf, n, "-");
        return buf;
    }
    size_t i = 0;
    while (i + 1 < ARRAY_LEN(si) && fabs(v) < si[i].scale * 0.9995)
        i++;
    if (v == 0)
        i = 6;
    char tail[32];
    snprintf(tail, sizeof tail, "%s%s%s", *si[i].prefix || *unit ? " " : "", si[i].prefix, unit);
    format3(buf, n, v / si[i].scale, tail);
    return buf;
}

const char *units_gib(char *buf, size_t n, double bytes)
{
    if (isnan(bytes))
        snprintf(buf, n, "-");
    else
        format3(buf, n, bytes / 1073741824.0, " GiB");
    return buf;
}

double units_parse(const char *s, const char *unit)
{
    char *end;
    double v = strtod(s, &end);
    if (end == s || !isfinite(v))
        return NAN;
    while (*end == ' ')
        end++;
    if (!*end)
        return v;
    static const struct {
        const char *prefix;
        double scale;
    } pre[] = { { "Ki", 1024.0 }, { "Mi", 1048576.0 }, { "Gi", 1073741824.0 },
                { "Ti", 1099511627776.0 }, { "k", 1e3 }, { "M", 1e6 }, { "G", 1e9 },
                { "T", 1e12 }, { "P", 1e15 }, { "m", 1e-3 }, { "u", 1e-6 }, { "n", 1e-9 },
                { "", 1 } };
    for (size_t i = 0; i < ARRAY_LEN(pre); i++) {
        size_t n = strlen(pre[i].prefix);
        if (strncmp(end, pre[i].prefix, n) == 0 && strcmp(end + n, unit) == 0)
            return v * pre[i].scale;
    }
    return NAN;
}

const char *number_source_name(enum number_source s)
{
    switch (s) {
    case SOURCE_UNCORE_COUNTERS:
        return "uncore counters";
    case SOURCE_CORE_COUNTERS:
        return "core counters";
    case SOURCE_EXACT_ORACLE:
        return "exact oracle";
    case SOURCE_CACHE_SIMULATION:
        return "cache simulation";
    case SOURCE_ANALYTICAL:
        return "analytical compulsory bytes";
    case SOURCE_COUNT:
        break;
    }
    return "?";
}
