/* avx512vnni/init.c: this rung's slots: products of quantized weights. */
#include "kernels/avx512vnni/packed.h"
#include "kernels/avx512vnni/vnni.h"

enum { ALIGN = 32 };

/* CPU_HW_PREFETCH is Zen 4 here, whose passes take more tokens. */
static void packed_slot(struct kernels *k, enum dtype t, const struct vnni_packed *f, unsigned cpu_flags)
{
    const bool streams = cpu_flags & CPU_HW_PREFETCH, once = cpu_flags & CPU_SW_PREFETCH, ports = cpu_flags & CPU_TWO_PORTS && f->two_ports.unpack;
    k->packed[t] = (struct matmul_slot){ ACT_Q8, streams ? f->streams : once ? f->once : f->gemv,
                                         ports ? vnni_packed_gemm_two_ports : vnni_packed_gemm,
                                         streams ? f->streams_tok : VNNI_BATCH_TOK, ALIGN };
    k->pack_acts[t] = ports ? vnni_pack_acts_two_ports : vnni_pack_acts;
}

void kernels_init_avx512vnni(struct kernels *k, unsigned cpu_flags)
{
    k->pow2_min_tok = PACKED_FEW_TOK + 1; /* short prompts and batches gain little (89) */
    for (enum dtype t = 0; t < DTYPE_COUNT; t++) {
        if (vnni_file(t))
            k->mm[t] = (struct matmul_slot){ ACT_Q8, vnni_file(t)->gemv, vnni_gemm, GEMV_MAX_TOK, ALIGN };
        if (vnni_packed(t))
            packed_slot(k, t, vnni_packed(t), cpu_flags);
    }
}
