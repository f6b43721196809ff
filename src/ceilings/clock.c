/*
 * The core's clock without a counter: a chain of additions, each needing the one before, takes one
 * cycle a step. Some cores run slower while 512-bit multiplications are in flight and switch back
 * within two microseconds of the last one, so a compute roof's clock comes from a chain with a few of
 * its own instructions strewn in (peak_kernel.chain). Source: methods.md (72).
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
    /* The fastest of nine: a chain cannot be faster than the clock, only interrupted. */
    double best = NAN;
    for (int i = 0; i < RUNS; i++)
        best = fmax(best, clock_chain_hz(NULL, STEPS));
    return best;
}
