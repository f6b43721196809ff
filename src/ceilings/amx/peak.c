/* Peak loops of AMX: tile products of int8 and bf16. compute.c requests the tile state. */
#include "ceilings/internal.h"
#include "ceilings/amx/tile.h"

static const _Alignas(64) int8_t i8[4][64] = {
    { TIMES16(17, 45, 93, 81) }, { TIMES16(57, 113, -31, 77) }, { TIMES16(-57, -113, 31, -77) }, { TIMES16(11, 23, 5, 9) }
};
static const _Alignas(64) uint32_t bf16[4][16] = {
    { TIMES8(0x3fa03f50, 0x3f603fc0) },
    { TIMES8(0x3f983f70, 0x3fb03f50) },
    { TIMES8(0xbf98bf70, 0xbfb0bf50) },
    { TIMES8(0x3fd80000, 0x40140000) },
};
#define F(r, y) "tdpbusd %%tmm" #y ", %%tmm5, %%tmm" #r "\n\t"
TILES(i8, i8)
#undef F
#define F(r, y) "tdpbf16ps %%tmm" #y ", %%tmm5, %%tmm" #r "\n\t"
TILES(bf16, bf16)

const struct peak_kernel ceilings_amx_peak[] = {
    TILE_ROWS("amx", CPU_AMX_INT8, MATH_INT8, "tdpbusd", i8, 64, 8),
    TILE_ROWS("amx", CPU_AMX_BF16, MATH_BF16, "tdpbf16ps", bf16, 32, 16),
    { .run = NULL },
};
