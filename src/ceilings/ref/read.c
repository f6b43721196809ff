/* Portable read loop: eight sums of 64-bit words. */
#include "ceilings/internal.h"

static void read_u64(const void *p, size_t bytes, uint64_t sweeps)
{
    volatile uint64_t sink;
    uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
    for (uint64_t s = 0; s < sweeps; s++) {
        const uint64_t *w = p, *end = w + bytes / sizeof *w;
        for (; w < end; w += 8) {
            a += w[0], b ^= w[1], c += w[2], d ^= w[3];
            e += w[4], f ^= w[5], g += w[6], h ^= w[7];
        }
        /* forces the next sweep to read again */
        __asm__ volatile("" ::: "memory");
    }
    sink = a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
    (void)sink;
}

const struct read_kernel ceilings_ref_read[] = {
    { "ref", 0, "C 64-bit words x8", 64, read_u64, true, true },
    { 0 },
};
