/*
 * Portable peak loops: independent multiply-adds on 16-byte vectors (gcc and clang extension). Twelve named sums: an array tends to
 * live in memory, which would measure the cache.
 */
#include "ceilings/internal.h"

typedef float f32x4 __attribute__((vector_size(16)));
typedef double f64x2 __attribute__((vector_size(16)));
typedef uint16_t u16x8 __attribute__((vector_size(16)));

#define EACH12(F) F(a) F(b) F(c) F(d) F(e) F(f) F(g) F(h) F(i) F(j) F(k) F(l)
#define STEP(s) s = s * x + y;
#define SUM(s) +s

/* s = s * x + y converges to y / (1 - x): finite and never denormal. */
static void muladd_f32(uint64_t n)
{
    volatile float seed = 0.96875F;
    float start = seed;
    f32x4 x = { start, start, start, start }, y = 1.0F - x;
#define START(s) f32x4 s = (x += 0.001F);
    EACH12(START)
    for (uint64_t it = 0; it < n; it++) {
        EACH12(STEP)
    }
    f32x4 sum = EACH12(SUM);
    seed = sum[0] + sum[1] + sum[2] + sum[3];
#undef START
}

static void muladd_f64(uint64_t n)
{
    volatile double seed = 0.96875;
    double start = seed;
    f64x2 x = { start, start }, y = 1.0 - x;
#define START(s) f64x2 s = (x += 0.001);
    EACH12(START)
    for (uint64_t it = 0; it < n; it++) {
        EACH12(STEP)
    }
    f64x2 sum = EACH12(SUM);
    seed = sum[0] + sum[1];
#undef START
}

/* int8 products fit in 16 bits; sums wrap. */
static void muladd_i16(uint64_t n)
{
    volatile uint16_t seed = 40503;
    uint16_t start = seed;
    u16x8 x = { start, start, start, start, start, start, start, start }, y = x;
#define START(s) u16x8 s = (y += 2);
    EACH12(START)
    for (uint64_t it = 0; it < n; it++) {
        EACH12(STEP)
    }
    u16x8 sum = EACH12(SUM);
    seed = sum[0];
#undef START
}

const struct peak_kernel ceilings_ref_peak[] = {
    { "ref", 0, MATH_FP64, "C f64x2 * + x12", 12 * 2 * 2, muladd_f64, NULL, ISSUE_NONE, 128, 64 },
    { "ref", 0, MATH_FP32, "C f32x4 * + x12", 12 * 4 * 2, muladd_f32, NULL, ISSUE_NONE, 128, 32 },
    { "ref", 0, MATH_BF16, "C f32x4 * + x12, widened", 12 * 4 * 2, muladd_f32, NULL, ISSUE_NONE, 128, 32 },
    { "ref", 0, MATH_INT16, "C u16x8 * + x12", 12 * 8 * 2, muladd_i16, NULL, ISSUE_NONE, 128, 16 },
    { "ref", 0, MATH_INT8, "C u16x8 * + x12", 12 * 8 * 2, muladd_i16, NULL, ISSUE_NONE, 128, 16 },
    { .run = NULL },
};
