/* Peak loops of vpdpbusd and vpdpwssd, as in avx512/peak.c; 32-bit sums wrap. */
#include "ceilings/internal.h"
#include "ceilings/avx512/zmm.h"

static const _Alignas(64) int16_t i16[4][32] = {
    { TIMES16(173, -91) }, { TIMES16(57, 113) }, { TIMES16(-57, -113) }, { TIMES16(11, 23) }
};
static const _Alignas(64) int8_t i8[4][64] = {
    { TIMES16(17, 45, 93, 81) }, { TIMES16(57, 113, -31, 77) }, { TIMES16(-57, -113, 31, -77) }, { TIMES16(11, 23, 5, 9) }
};
#define F(r, y) "vpdpbusd %%zmm" #y ", %%zmm29, %%zmm" #r "\n\t"
DOTS(i8, i8)
#undef F
#define F(r, y) "vpdpwssd %%zmm" #y ", %%zmm29, %%zmm" #r "\n\t"
DOTS(i16, i16)

CHAIN(chain, "vpdpbusd")

#define NEED (CPU_AVX512 | CPU_AVX512VNNI)
const struct peak_kernel ceilings_avx512vnni_peak[] = {
    DOT_ROWS("avx512vnni", NEED, MATH_INT16, "vpdpwssd zmm", i16, 32, ISSUE_DOT16, 16),
    DOT_ROWS("avx512vnni", NEED, MATH_INT8, "vpdpbusd zmm", i8, 64, ISSUE_DOT8, 8),
    { .run = NULL },
};
