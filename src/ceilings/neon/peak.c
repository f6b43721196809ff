/* Peak loops of Neon, 16-byte vectors and scalars; see avx512/peak.c. */
#include "ceilings/internal.h"
#include "ceilings/neon/vreg.h"

PEAK_OPERANDS(float, f32, TIMES8);
PEAK_OPERANDS(double, f64, TIMES4);

#define F(r, y) "fmla v" #r ".4s, v29.4s, v" #y ".4s\n\t"
#define A(r, y) "fadd v" #r ".4s, v" #r ".4s, v" #y ".4s\n\t"
FAMILY(f32, f32)
#undef F
#undef A
#define F(r, y) "fmla v" #r ".2d, v29.2d, v" #y ".2d\n\t"
#define A(r, y) "fadd v" #r ".2d, v" #r ".2d, v" #y ".2d\n\t"
FAMILY(f64, f64)
#undef F
#undef A
#define F(r, y) "fmadd s" #r ", s29, s" #y ", s" #r "\n\t"
#define A(r, y) "fadd s" #r ", s" #r ", s" #y "\n\t"
FAMILY(s32, f32)
#undef F
#undef A
#define F(r, y) "fmadd d" #r ", d29, d" #y ", d" #r "\n\t"
#define A(r, y) "fadd d" #r ", d" #r ", d" #y "\n\t"
FAMILY(s64, f64)
#undef F
#undef A

static const _Alignas(64) int16_t i16[4][32] = {
    { TIMES16(173, -91) }, { TIMES16(57, 113) }, { TIMES16(-57, -113) }, { TIMES16(11, 23) }
};
static const _Alignas(64) int8_t i8[4][64] = {
    { TIMES16(17, 45, 93, 81) }, { TIMES16(57, 113, -31, 77) }, { TIMES16(-57, -113, 31, -77) }, { TIMES16(11, 23, 5, 9) }
};
/* int16: 32-bit sums, half a vector each; int8: 16-bit products, pairwise into 32-bit sums. */
#define F(r, y) "smlal v" #r ".4s, v29.4h, v" #y ".4h\n\tsmlal2 v" #r ".4s, v29.8h, v" #y ".8h\n\t"
DOTS(i16, i16)
#undef F
#define F(r, y)                                                                                                        \
    "smull v26.8h, v29.8b, v" #y ".8b\n\tsmlal2 v26.8h, v29.16b, v" #y ".16b\n\tsadalp v" #r ".4s, v26.8h\n\t"
DOTS(i8, i8)

const struct peak_kernel ceilings_neon_peak[] = {
    ROWS("scalar", CPU_NEON, MATH_FP64, "fmadd d", s64, 1, 64, 64),
    ROWS("scalar", CPU_NEON, MATH_FP32, "fmadd s", s32, 1, 32, 32),
    ROWS("neon", CPU_NEON, MATH_FP64, "fmla 2d", f64, 2, 128, 64),
    ROWS("neon", CPU_NEON, MATH_FP32, "fmla 4s", f32, 4, 128, 32),
    { "neon", CPU_NEON, MATH_BF16, "fmla 4s 24, widened", 2 * 48 * 4, f32_24, NULL, ISSUE_FMA_ONLY, 128, 32 },
    DOT_ROWS("neon", CPU_NEON, MATH_INT16, "smlal+smlal2", i16, 8, ISSUE_NONE, 16),
    DOT_ROWS("neon", CPU_NEON, MATH_INT8, "smull+smlal2+sadalp", i8, 16, ISSUE_NONE, 8),
    { .run = NULL },
};
