/*
 * Core clock without counters: a chain of dependent additions takes one cycle per step. Some cores clock lower while 512-bit
 * multiplications are in flight and recover within two microseconds, so a compute roof's chain includes a few of its instructions
 * (peak_kernel.chain). Source: methods.md (72).
 */
#include "ceilings/internal.h"
#include <math.h>

static void chain_plain(uint64_t n)
{
    uint64_t x = n | 1, y = n | 3;
#if defined(__x86_64__)
    __asm__ volatile(CHAIN_X86 CHAIN_X86_END : "+r"(n), "+r"(x) : "r"(y) : "cc");
#elif defined(__aarch64__)
    __asm__ volatile(".p2align 5\n1:\n\t" CHAIN_ADD32("add %1, %1, %2\n\t") "subs %0, %0, #1\n\t"
                                                                            "b.ne 1b"
                     : "+r"(n), "+r"(x)
                     : "r"(y)
                     : "cc");
#else
#define STEP x += y; __asm__ volatile("" : "+r"(x));
    for (; n; n--) {
        CHAIN_ADD32(STEP)
    }
#endif
}

double clock_chain_hz(void (*chain)(uint64_t n), uint64_t n)
{
    double t0 = clock_now_s();
    (chain ? chain : chain_plain)(n);
    double s = clock_now_s() - t0;
    return s > 0 ? 32.0 * (double)n / s : NAN;
}

double ceilings_clock_hz(void)
{
    enum { STEPS = 100000, RUNS = 9 };
    /* Best of nine: interruptions only make it slower. */
    double best = NAN;
    for (int i = 0; i < RUNS; i++)
        best = fmax(best, clock_chain_hz(NULL, STEPS));
    return best;
}
