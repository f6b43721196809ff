/* avx2/init.c: this rung's slots. */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/packed.h"
#include "kernels/pack.h"

void kernels_init_avx2(struct kernels *k, unsigned cpu_flags)
{
    const bool streams = cpu_flags & CPU_HW_PREFETCH;
    for (enum dtype t = 0; t < DTYPE_COUNT; t++) {
        const struct avx2_file *file = avx2_file(t);
        const struct packed_format *packed = avx2_packed(t);
        if (file)
            k->mm[t] = (struct matmul_slot){ ACT_Q8, file->gemv, avx2_gemm_q8, GEMV_MAX_TOK, 16 };
        if (packed) /* decode of one token only: two and more unpack once for all */
            k->packed[t] = (struct matmul_slot){ ACT_Q8, streams ? packed->gemv_streams : packed->gemv, avx2_packed_gemm, 1, PACK_ROWS };
    }
    avx2_dense_slots(k, streams);
    avx2_vector_slots(k);
    k->attention = avx2_attention;
}
