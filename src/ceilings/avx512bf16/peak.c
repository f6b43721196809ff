/* Peak loops of vdpbf16ps, as in avx512/peak.c. */
#include "ceilings/internal.h"
#include "ceilings/avx512/zmm.h"

/* x, y, -y: bf16 pairs near 1; FP32 sums start at 1.7 and 2.3. */
static const _Alignas(64) uint32_t bf16[4][16] = {
    { TIMES8(0x3fa03f50, 0x3f603fc0) },
    { TIMES8(0x3f983f70, 0x3fb03f50) },
    { TIMES8(0xbf98bf70, 0xbfb0bf50) },
    { TIMES8(0x3fd80000, 0x40140000) },
};
#define F(r, y) "vdpbf16ps %%zmm" #y ", %%zmm29, %%zmm" #r "\n\t"
DOTS(bf16, bf16)
CHAIN(chain, "vdpbf16ps")

const struct peak_kernel ceilings_avx512bf16_peak[] = {
    DOT_ROWS("avx512bf16", CPU_AVX512 | CPU_AVX512BF16, MATH_BF16, "vdpbf16ps zmm", bf16, 32, ISSUE_DOT_BF16, 16),
    { .run = NULL },
};
