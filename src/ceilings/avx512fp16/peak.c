/* Peak loops of AVX512-FP16 with FP16 sums, as in avx512/peak.c. */
#include "ceilings/internal.h"
#include "ceilings/avx512/zmm.h"

/* 1.3125 and 0.8125; 1.1875 and 0.9375; their negatives; 1.6875 and 2.3125. */
static const _Alignas(64) uint16_t f16[4][32] = {
    { TIMES16(0x3d40, 0x3a80) }, { TIMES16(0x3cc0, 0x3b80) }, { TIMES16(0xbcc0, 0xbb80) }, { TIMES16(0x3ec0, 0x40a0) }
};
#define F(r, y) "vfmadd231ph %%zmm" #y ", %%zmm29, %%zmm" #r "\n\t"
#define A(r, y) "vaddph %%zmm" #y ", %%zmm" #r ", %%zmm" #r "\n\t"
FAMILY(f16, f16)
CHAIN(chain, "vfmadd231ph")

const struct peak_kernel ceilings_avx512fp16_peak[] = {
    ROWS("avx512fp16", CPU_AVX512 | CPU_AVX512FP16, MATH_FP16, "fma ph zmm", f16, 32, 16),
    { .run = NULL },
};
