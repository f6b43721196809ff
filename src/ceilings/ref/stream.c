/*
 * Portable streams of 64-bit words. Each value passes through an empty asm statement; otherwise compilers substitute memset and memcpy.
 */
#include "ceilings/memory.h"

#define KEEP(v) __asm__ volatile("" : "+r"(v))

static void write_u64(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    (void)a, (void)b;
    for (uint64_t s = 0; s < sweeps; s++) {
        uint64_t v = 0x5a5a5a5a5a5a5a5a;
        for (uint64_t *d = dst, *end = d + bytes / sizeof *d; d < end; d += 8) {
            KEEP(v);
            d[0] = v, d[1] = v, d[2] = v, d[3] = v, d[4] = v, d[5] = v, d[6] = v, d[7] = v;
            __asm__ volatile("" ::: "memory");
        }
    }
}

static void copy_u64(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    (void)b;
    for (uint64_t s = 0; s < sweeps; s++) {
        const uint64_t *x = a;
        for (uint64_t *d = dst, *end = d + bytes / sizeof *d; d < end; d++, x++) {
            uint64_t v = *x;
            KEEP(v);
            *d = v;
        }
        __asm__ volatile("" ::: "memory");
    }
}

static void triad_f32(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    for (uint64_t s = 0; s < sweeps; s++) {
        const float *x = a, *y = b;
        for (float *d = dst, *end = d + bytes / sizeof *d; d < end; d++, x++, y++)
            *d = *x + 0.5F * *y;
        __asm__ volatile("" ::: "memory");
    }
}

const struct stream_kernel ceilings_ref_stream[] = {
    { "ref", 0, MEM_WRITE, "C 64-bit words x8", 64, write_u64, true, true },
    { "ref", 0, MEM_COPY, "C 64-bit words", 64, copy_u64, true, true },
    { "ref", 0, MEM_TRIAD, "C floats", 64, triad_f32, true, true },
    { 0 },
};

static void gather_u64(const void *table, const uint32_t *row, size_t n, size_t row_bytes)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t *w = (const uint64_t *)((const char *)table + row[i] * row_bytes);
        for (const uint64_t *end = w + row_bytes / sizeof *w; w < end; w++) {
            uint64_t v = *w;
            KEEP(v);
        }
    }
}

const struct gather_kernel ceilings_ref_gather[] = {
    { "ref", 0, "C 64-bit words", gather_u64 },
    { 0 },
};
