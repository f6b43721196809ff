/* Six significant digits as printf's %.6g, faster, for output of millions of numbers. */
#include "base/base.h"
#include <math.h>

enum { DIGITS = 6, LARGEST = 22 }; /* exact powers of ten in a double */

static const double tens[LARGEST + 1] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                          1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

/* v = d.ddddd * 10^*e, digits as an integer; 0: near a rounding tie or out of range, use printf. */
static uint32_t six_digits(double v, int *e)
{
    *e = (int)floor(log10(v));
    const int shift = DIGITS - 1 - *e;
    if (shift > LARGEST || shift < -LARGEST)
        return 0;
    const long double x = shift >= 0 ? (long double)v * tens[shift] : (long double)v / tens[-shift];
    const long double whole = floorl(x), part = x - whole;
    if (fabsl(part - 0.5L) < 1e-6L)
        return 0;
    uint32_t n = (uint32_t)whole + (part > 0.5L);
    if (n == 1000000) {
        n = 100000;
        ++*e;
    }
    return n >= 100000 && n < 1000000 ? n : 0;
}

size_t digits_six(char out[DIGITS_SIX], double v)
{
    const double a = fabs(v);
    int e = 0;
    const uint32_t n = a > 0 && a < 1e300 ? six_digits(a, &e) : 0;
    if (n == 0)
        return (size_t)snprintf(out, DIGITS_SIX, "%.6g", v);
    char d[DIGITS], *to = out;
    int last = 0; /* last non-zero digit */
    uint32_t rest = n;
    for (int i = DIGITS - 1; i >= 0; i--, rest /= 10)
        d[i] = (char)('0' + rest % 10);
    for (int i = 0; i < DIGITS; i++)
        last = d[i] != '0' ? i : last;
    if (v < 0)
        *to++ = '-';
    const bool scientific = e < -4 || e >= DIGITS;
    const int point = scientific ? 0 : e; /* digit before the decimal point */
    if (point < 0) {
        *to++ = '0';
        *to++ = '.';
        for (int i = -1; i > point; i--)
            *to++ = '0';
    }
    for (int i = 0; i <= last || i <= point; i++) {
        *to++ = d[i];
        if (i == point && last > point)
            *to++ = '.';
    }
    if (scientific)
        to += snprintf(to, 8, "e%c%02d", e < 0 ? '-' : '+', e < 0 ? -e : e);
    return (size_t)(to - out);
}
