/* Peak loops of smmla (2x8 by 8x2 int8), as in neon/peak.c. */
#include "ceilings/internal.h"
#include "ceilings/neon/vreg.h"

static const _Alignas(64) int8_t i8[4][64] = {
    { TIMES16(17, 45, 93, 81) }, { TIMES16(57, 113, -31, 77) }, { TIMES16(-57, -113, 31, -77) }, { TIMES16(11, 23, 5, 9) }
};
#define F(r, y) "smmla v" #r ".4s, v29.16b, v" #y ".16b\n\t"
DOTS(i8, i8)

const struct peak_kernel ceilings_i8mm_peak[] = {
    DOT_ROWS("i8mm", CPU_NEON | CPU_DOTPROD | CPU_I8MM, MATH_INT8, "smmla 16b", i8, 32, ISSUE_MATRIX, 8),
    { .run = NULL },
};
