/* Peak loops of Arm FP16 with FP16 sums, as in neon/peak.c. */
#include "ceilings/internal.h"
#include "ceilings/neon/vreg.h"

/* 1.3125 and 0.8125; 1.1875 and 0.9375; their negatives; 1.6875 and 2.3125. */
static const _Alignas(64) uint16_t f16[4][32] = {
    { TIMES16(0x3d40, 0x3a80) }, { TIMES16(0x3cc0, 0x3b80) }, { TIMES16(0xbcc0, 0xbb80) }, { TIMES16(0x3ec0, 0x40a0) }
};
#define F(r, y) "fmla v" #r ".8h, v29.8h, v" #y ".8h\n\t"
#define A(r, y) "fadd v" #r ".8h, v" #r ".8h, v" #y ".8h\n\t"
FAMILY(f16, f16)

const struct peak_kernel ceilings_armfp16_peak[] = {
    ROWS("fp16", CPU_NEON | CPU_ARM_FP16, MATH_FP16, "fmla 8h", f16, 8, 128, 16),
    { .run = NULL },
};
