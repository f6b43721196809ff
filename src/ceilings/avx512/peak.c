/*
 * AVX-512 peak loops: multiply-adds alone and mixed with additions, which some cores issue in parallel (Zen: two FMA and two add
 * pipes), and integer products without VNNI. Assembly, because a spilled accumulator halves the result. The driver selects the number
 * of accumulators (latency times issue width) and the mix by measurement (driver.c). Operands: mix.h.
 */
#include "ceilings/internal.h"
#include "ceilings/avx512/zmm.h"

PEAK_OPERANDS(float, f32, TIMES8);
PEAK_OPERANDS(double, f64, TIMES4);

#define F(r, y) "vfmadd231ps %%zmm" #y ", %%zmm29, %%zmm" #r "\n\t"
#define A(r, y) "vaddps %%zmm" #y ", %%zmm" #r ", %%zmm" #r "\n\t"
FAMILY(f32, f32)
#undef F
#undef A
#define F(r, y) "vfmadd231pd %%zmm" #y ", %%zmm29, %%zmm" #r "\n\t"
#define A(r, y) "vaddpd %%zmm" #y ", %%zmm" #r ", %%zmm" #r "\n\t"
FAMILY(f64, f64)
#undef F
#undef A

/* x, y, -y, ones: products fit in 16 bits or saturate (only the rate matters). */
static const _Alignas(64) int16_t i16[4][32] = {
    { TIMES16(173, -91) }, { TIMES16(57, 113) }, { TIMES16(-57, -113) }, { TIMES16(1, 1) }
};
static const _Alignas(64) int8_t i8[4][64] = {
    { TIMES16(17, 45, 93, 81) }, { TIMES16(57, 113, -31, 77) }, { TIMES16(-57, -113, 31, -77) }, { TIMES16(1, 0, 1, 0) }
};
/* Register renaming: one temporary suffices. */
#define F(r, y) "vpmaddwd %%zmm" #y ", %%zmm29, %%zmm27\n\tvpaddd %%zmm27, %%zmm" #r ", %%zmm" #r "\n\t"
DOTS(i16, i16)
#undef F
#define F(r, y)                                                                                                        \
    "vpmaddubsw %%zmm" #y ", %%zmm29, %%zmm27\n\tvpmaddwd %%zmm28, %%zmm27, %%zmm27\n\t"                               \
    "vpaddd %%zmm27, %%zmm" #r ", %%zmm" #r "\n\t"
DOTS(i8, i8)

CHAIN(chain, "vfmadd231ps")

const struct peak_kernel ceilings_avx512_peak[] = {
    ROWS("avx512", CPU_AVX512, MATH_FP64, "fma pd zmm", f64, 8, 64),
    ROWS("avx512", CPU_AVX512, MATH_FP32, "fma ps zmm", f32, 16, 32),
    { "avx512", CPU_AVX512, MATH_BF16, "fma ps zmm 24, widened", 2 * 48 * 16, f32_24, chain, ISSUE_FMA_ONLY, 512, 32 },
    DOT_ROWS("avx512", CPU_AVX512, MATH_INT16, "vpmaddwd+vpaddd zmm", i16, 32, ISSUE_MADD16, 16),
    DOT_ROWS("avx512", CPU_AVX512, MATH_INT8, "vpmaddubsw+wd zmm", i8, 64, ISSUE_MADD8, 8),
    { .run = NULL },
};
