/* Peak loops of sdot, as in neon/peak.c. */
#include "ceilings/internal.h"
#include "ceilings/neon/vreg.h"

static const _Alignas(64) int8_t i8[4][64] = {
    { TIMES16(17, 45, 93, 81) }, { TIMES16(57, 113, -31, 77) }, { TIMES16(-57, -113, 31, -77) }, { TIMES16(11, 23, 5, 9) }
};
#define F(r, y) "sdot v" #r ".4s, v29.16b, v" #y ".16b\n\t"
DOTS(i8, i8)

const struct peak_kernel ceilings_dotprod_peak[] = {
    DOT_ROWS("dotprod", CPU_NEON | CPU_DOTPROD, MATH_INT8, "sdot 16b", i8, 16, ISSUE_DOT8, 8),
    { .run = NULL },
};
