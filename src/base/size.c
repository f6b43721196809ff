/* Checked arithmetic for sizes that come from files. */
#include "base/base.h"

bool size_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

bool size_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

size_t size_align_up(size_t n, size_t align)
{
    return (n + align - 1) & ~(align - 1);
}

uint64_t u64_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t u64_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t u64_ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}
