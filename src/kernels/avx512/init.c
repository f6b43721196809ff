/* avx512/init.c: this rung's slots. Quantized products stay with the rung below: without
 * VNNI instructions, wider vectors gain little. */
#include "kernels/avx512/avx512.h"

void kernels_init_avx512(struct kernels *k, unsigned cpu_flags)
{
    avx512_dense_slots(k, cpu_flags);
    avx512_vector_slots(k);
    k->attention = cpu_flags & CPU_SW_PREFETCH && !(cpu_flags & CPU_HW_PREFETCH) ? avx512_attention_once : avx512_attention;
}
