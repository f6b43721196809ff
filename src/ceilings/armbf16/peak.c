/* Peak loops of Arm BF16: bfdot, and bfmmla (2x4 by 4x2), as in neon/peak.c. */
#include "ceilings/internal.h"
#include "ceilings/neon/vreg.h"

/* bf16 pairs near 1; FP32 sums start at 1.7 and 2.3. */
static const _Alignas(64) uint32_t bf16[4][16] = {
    { TIMES8(0x3fa03f50, 0x3f603fc0) },
    { TIMES8(0x3f983f70, 0x3fb03f50) },
    { TIMES8(0xbf98bf70, 0xbfb0bf50) },
    { TIMES8(0x3fd80000, 0x40140000) },
};
#define F(r, y) "bfdot v" #r ".4s, v29.8h, v" #y ".8h\n\t"
DOTS(dot, bf16)
#undef F
#define F(r, y) "bfmmla v" #r ".4s, v29.8h, v" #y ".8h\n\t"
DOTS(matrix, bf16)

#define NEED (CPU_NEON | CPU_ARM_BF16)
const struct peak_kernel ceilings_armbf16_peak[] = {
    DOT_ROWS("bf16", NEED, MATH_BF16, "bfdot 8h", dot, 8, ISSUE_NONE, 16),
    DOT_ROWS("bf16", NEED, MATH_BF16, "bfmmla 8h", matrix, 16, ISSUE_NONE, 16),
    { .run = NULL },
};
