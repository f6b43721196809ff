/* avx512vnni/init.c: this rung's slots: products of quantized weights. */
#include "kernels/avx512vnni/packed.h"
#include "kernels/avx512vnni/packed_gemv.h"
#include "kernels/avx512vnni/vnni.h"

#define PACKED_SLOT(TYPE, type)                                                                              \
    k->packed[DTYPE_##TYPE] =                                                                                \
        (struct matmul_slot){ ACT_Q8, vnni_packed_gemv_##type, packed_gemm_##type, VNNI_BATCH_TOK, align };  \
    k->arrange[DTYPE_##TYPE] = packed_arrange_##type

#define TWO_PORTS_SLOT(TYPE, type)                                  \
    k->packed[DTYPE_##TYPE].gemm = packed_gemm_##type##_two_ports;  \
    k->arrange[DTYPE_##TYPE] = packed_arrange_##type##_two_ports

void kernels_init_avx512vnni(struct kernels *k)
{
    const unsigned max = GEMV_MAX_TOK, align = 32;
    k->mm[DTYPE_Q8_0] =
        (struct matmul_slot){ ACT_Q8, vnni_gemv_q8_0, vnni_gemm_q8_0, max, align };
    k->mm[DTYPE_Q4_0] =
        (struct matmul_slot){ ACT_Q8, vnni_gemv_q4_0, vnni_gemm_q4_0, max, align };
    k->mm[DTYPE_Q4_1] =
        (struct matmul_slot){ ACT_Q8, vnni_gemv_q4_1, vnni_gemm_q4_1, max, align };
    k->mm[DTYPE_Q5_0] =
        (struct matmul_slot){ ACT_Q8, vnni_gemv_q5_0, vnni_gemm_q5_0, max, align };
    k->mm[DTYPE_Q5_1] =
        (struct matmul_slot){ ACT_Q8, vnni_gemv_q5_1, vnni_gemm_q5_1, max, align };
    k->mm[DTYPE_Q2_K] =
        (struct matmul_slot){ ACT_Q8, vnni_gemv_q2_k, vnni_gemm_q2_k, max, align };
    k->mm[DTYPE_Q3_K] =
        (struct matmul_slot){ ACT_Q8, vnni_gemv_q3_k, vnni_gemm_q3_k, max, align };
    k->mm[DTYPE_Q4_K] =
        (struct matmul_slot){ ACT_Q8, vnni_gemv_q4_k, vnni_gemm_q4_k, max, align };
    k->mm[DTYPE_Q5_K] =
        (struct matmul_slot){ ACT_Q8, vnni_gemv_q5_k, vnni_gemm_q5_k, max, align };
    k->mm[DTYPE_Q6_K] =
        (struct matmul_slot){ ACT_Q8, vnni_gemv_q6_k, vnni_gemm_q6_k, max, align };
    k->mm[DTYPE_IQ4_NL] =
        (struct matmul_slot){ ACT_Q8, vnni_gemv_iq4_nl, vnni_gemm_iq4_nl, max, align };
    k->mm[DTYPE_IQ4_XS] =
        (struct matmul_slot){ ACT_Q8, vnni_gemv_iq4_xs, vnni_gemm_iq4_xs, max, align };
    k->mm[DTYPE_MXFP4] =
        (struct matmul_slot){ ACT_Q8, vnni_gemv_mxfp4, vnni_gemm_mxfp4, max, align };

    k->pow2_min_tok = PACKED_FEW_TOK + 1; /* short prompts and batches gain little (89) */
    PACKED_SLOT(Q8_0, q8_0);
    PACKED_SLOT(Q4_0, q4_0);
    PACKED_SLOT(Q4_1, q4_1);
    PACKED_SLOT(Q5_0, q5_0);
    PACKED_SLOT(Q5_1, q5_1);
    PACKED_SLOT(Q2_K, q2_k);
    PACKED_SLOT(Q3_K, q3_k);
    PACKED_SLOT(Q4_K, q4_k);
    PACKED_SLOT(Q5_K, q5_k);
    PACKED_SLOT(Q6_K, q6_k);
    PACKED_SLOT(IQ4_NL, iq4_nl);
    PACKED_SLOT(IQ4_XS, iq4_xs);
    PACKED_SLOT(MXFP4, mxfp4);
}

void kernels_tune_avx512vnni(struct kernels *k, unsigned cpu_flags)
{
    static const struct {
        enum dtype type;
        unsigned streams_tok; /* of a pass, where CPU_HW_PREFETCH, which here stands for Zen 4 */
        matmul_fn *streams, *once; /* NULL: as it is */
    } slots[] = {
        { DTYPE_Q8_0, VNNI_BATCH_TOK, vnni_packed_gemv_q8_0_streams, vnni_packed_gemv_q8_0_once },
        { DTYPE_Q4_0, VNNI_BATCH_TOK, vnni_packed_gemv_q4_0_streams, vnni_packed_gemv_q4_0_once },
        { DTYPE_Q4_1, VNNI_BATCH_MOST, vnni_packed_gemv_q4_1_streams, vnni_packed_gemv_q4_1_once },
        { DTYPE_Q5_0, VNNI_BATCH_MOST, vnni_packed_gemv_q5_0_streams, vnni_packed_gemv_q5_0_once },
        { DTYPE_Q5_1, VNNI_BATCH_MOST, vnni_packed_gemv_q5_1_streams, vnni_packed_gemv_q5_1_once },
        { DTYPE_IQ4_NL, VNNI_BATCH_MOST, vnni_packed_gemv_iq4_nl_streams, vnni_packed_gemv_iq4_nl_once },
        { DTYPE_MXFP4, VNNI_BATCH_TOK, vnni_packed_gemv_mxfp4_streams, vnni_packed_gemv_mxfp4_once },
        { DTYPE_Q2_K, VNNI_BATCH_MOST, vnni_packed_gemv_q2_k_streams, vnni_packed_gemv_q2_k_once },
        { DTYPE_Q3_K, VNNI_BATCH_MOST, vnni_packed_gemv_q3_k_streams, vnni_packed_gemv_q3_k_once },
        { DTYPE_Q4_K, VNNI_BATCH_TOK, vnni_packed_gemv_q4_k_streams, vnni_packed_gemv_q4_k_once },
        { DTYPE_Q5_K, VNNI_BATCH_MOST, vnni_packed_gemv_q5_k_streams, vnni_packed_gemv_q5_k_once },
        { DTYPE_Q6_K, VNNI_BATCH_MOST, vnni_packed_gemv_q6_k_streams, vnni_packed_gemv_q6_k_once },
        { DTYPE_IQ4_XS, VNNI_BATCH_MOST, vnni_packed_gemv_iq4_xs_streams, vnni_packed_gemv_iq4_xs_once },
    };
    if (cpu_flags & CPU_TWO_PORTS) {
        TWO_PORTS_SLOT(Q4_0, q4_0);
        TWO_PORTS_SLOT(Q4_K, q4_k);
        TWO_PORTS_SLOT(Q6_K, q6_k);
    }
    for (size_t i = 0; i < ARRAY_LEN(slots); i++) {
        matmul_fn *const streams = cpu_flags & CPU_HW_PREFETCH ? slots[i].streams : NULL;
        matmul_fn *const once = cpu_flags & CPU_SW_PREFETCH ? slots[i].once : NULL;
        struct matmul_slot *const slot = &k->packed[slots[i].type];
        if (streams || once)
            slot->gemv = streams ? streams : once;
        if (cpu_flags & CPU_HW_PREFETCH)
            slot->gemv_max_tok = slots[i].streams_tok;
    }
}
