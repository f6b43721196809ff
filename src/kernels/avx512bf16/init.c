/* avx512bf16/init.c: this rung's slots. */
#include "kernels/avx512bf16/bf16.h"

enum { BATCH_TOK = 32 /* a batch that decodes, not a prompt */ };

void kernels_init_avx512bf16(struct kernels *k, unsigned cpu_flags)
{
    bf16_dense_slots(k, cpu_flags);
    k->attention = cpu_flags & CPU_SW_PREFETCH && !(cpu_flags & CPU_HW_PREFETCH) ? bf16_attention_once : bf16_attention;
    k->rounded_min_tok = BATCH_TOK + 1;
}
