/* Checked arithmetic for sizes from files; aligned memory. */
#include "base/base.h"
#include <stdlib.h>
#include <sys/mman.h>

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

uint64_t u64_ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

size_t size_row_floats(size_t columns)
{
    enum { LINE = 16 };
    return (u64_ceil_div(columns, LINE) | 1) * LINE;
}

void *size_alloc(size_t bytes)
{
    enum { ALIGN = 64, LARGE_PAGE = 2 << 20 };
    const size_t align = bytes >= LARGE_PAGE ? LARGE_PAGE : ALIGN, n = size_align_up(bytes ? bytes : 1, align);
    void *p = n >= bytes ? aligned_alloc(align, n) : NULL;
#ifdef MADV_HUGEPAGE
    if (p && align == LARGE_PAGE)
        (void)madvise(p, n, MADV_HUGEPAGE); /* best effort */
#endif
    return p;
}
