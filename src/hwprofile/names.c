/* Names of machines: what counts as the same name, and what was probably meant. */
#include "hwprofile/internal.h"
#include <ctype.h>
#include <string.h>

const char *const hw_kind_names[4] = { "cpu", "gpu", "apu", "npu" };

static const char *const math_names[MATH_COUNT] = { "fp64", "fp32", "tf32", "fp16", "bf16",
                                                    "fp8",  "fp4",  "int8", "int4" };

const char *math_name(enum math m)
{
    return math_names[m];
}

int math_find(const char *name)
{
    for (int i = 0; i < MATH_COUNT; i++)
        if (strcmp(math_names[i], name) == 0)
            return i;
    return -1;
}

void hw_normalize(char *out, size_t size, const char *name)
{
    size_t n = 0;
    for (const char *s = name; *s && n + 1 < size; s++)
        if (isalnum((unsigned char)*s) || *s == '+')
            out[n++] = (char)tolower((unsigned char)*s);
    out[n] = 0;
}

size_t hw_edit_distance(const char *a, const char *b)
{
    enum { MAX = 64 };
    size_t row[MAX + 1];
    size_t na = strnlen(a, MAX), nb = strnlen(b, MAX);
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            size_t add = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = change < add ? change : add;
        }
    }
    return row[nb];
}
