/* avx512vnni/init.c: this rung's slots: products of quantized weights. */
#include "kernels/avx512vnni/packed.h"
#include "kernels/avx512vnni/vnni.h"

enum { ALIGN = 32 };

/* Products of up to a few tokens, by CPU: Zen 4 (CPU_HW_PREFETCH) takes streams_tok tokens a pass, others VNNI_BATCH_TOK. */
static matmul_fn *packed_gemv(const struct vnni_packed *f, unsigned cpu_flags)
{
    if (cpu_flags & CPU_HW_PREFETCH)
        return f->streams;
    return cpu_flags & CPU_SW_PREFETCH ? f->once : f->gemv;
}

static void packed_slot(struct kernels *k, enum dtype t, const struct vnni_packed *f, unsigned cpu_flags)
{
    const bool ports = cpu_flags & CPU_TWO_PORTS && f->two_ports.unpack;
    k->packed[t] = (struct matmul_slot){ ACT_Q8, packed_gemv(f, cpu_flags), ports ? vnni_packed_gemm_two_ports : vnni_packed_gemm,
                                         cpu_flags & CPU_HW_PREFETCH ? f->streams_tok : VNNI_BATCH_TOK, ALIGN };
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
