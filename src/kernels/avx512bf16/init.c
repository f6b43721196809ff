/* avx512bf16/init.c: this rung's slots. */
#include "kernels/avx512bf16/bf16.h"
#include "kernels/pack.h"

enum { FEW_TOK = 32 /* a batch that decodes, not a prompt */ };

void kernels_init_avx512bf16(struct kernels *k)
{
    k->mm[DTYPE_BF16] =
        (struct matmul_slot){ ACT_BF16, bf16_gemv, bf16_gemm, GEMV_MAX_TOK, 32 };
    k->packed[DTYPE_BF16] =
        (struct matmul_slot){ ACT_BF16, bf16_packed_few, bf16_packed_gemm, 12, PACK_ROWS };
    k->attention = bf16_attention;
    k->rounded_min_tok = FEW_TOK + 1;
}

void kernels_tune_avx512bf16(struct kernels *k, unsigned cpu_flags)
{
    struct matmul_slot *bf16 = &k->packed[DTYPE_BF16];
    if (cpu_flags & CPU_HW_PREFETCH) {
        bf16->gemv = bf16_packed_few_streams;
        bf16->gemv_max_tok = 6; /* as in avx512/init.c: 6 tokens 96 and 94 %, 7: 85 and 94, 12: 52 and 93 */
    } else if (cpu_flags & CPU_SW_PREFETCH) {
        bf16->gemv = bf16_packed_few_once;
        k->attention = bf16_attention_once;
    }
}
