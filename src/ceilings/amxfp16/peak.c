/* Peak loops of AMX-FP16 (Granite Rapids and later), as in amx/peak.c. */
#include "ceilings/internal.h"
#include "ceilings/amx/tile.h"

/* FP16 operands as in avx512fp16/peak.c; FP32 sums. */
static const _Alignas(64) uint32_t f16[4][16] = {
    { TIMES8(0x3d403a80, 0x3a803d40) },
    { TIMES8(0x3cc03b80, 0x3b803cc0) },
    { TIMES8(0xbcc0bb80, 0xbb80bcc0) },
    { TIMES8(0x3fd80000, 0x40140000) },
};
#define F(r, y) "tdpfp16ps %%tmm" #y ", %%tmm5, %%tmm" #r "\n\t"
TILES(f16, f16)

const struct peak_kernel ceilings_amxfp16_peak[] = {
    TILE_ROWS("amx", CPU_AMX_FP16, MATH_FP16, "tdpfp16ps", f16, 32, 16),
    { .run = NULL },
};
