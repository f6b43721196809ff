/* avx512vnni/init.c: this rung's slots: products of quantized weights. */
#include "kernels/avx512vnni/packed.h"
#include "kernels/avx512vnni/packed_gemv.h"
#include "kernels/avx512vnni/vnni.h"

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

    const unsigned few = VNNI_BATCH_TOK;
    k->pow2_min_tok = PACKED_FEW_TOK + 1; /* short prompts and batches keep exact scales (10) */
    k->packed[DTYPE_Q8_0] = (struct matmul_slot){ ACT_Q8, vnni_packed_gemv_q8_0, packed_gemm_q8_0, few, align };
    k->packed[DTYPE_Q4_0] = (struct matmul_slot){ ACT_Q8, vnni_packed_gemv_q4_0, packed_gemm_q4_0, few, align };
    k->packed[DTYPE_Q4_1] = (struct matmul_slot){ ACT_Q8, vnni_packed_gemv_q4_1, packed_gemm_q4_1, few, align };
    k->packed[DTYPE_Q5_0] = (struct matmul_slot){ ACT_Q8, vnni_packed_gemv_q5_0, packed_gemm_q5_0, few, align };
    k->packed[DTYPE_Q5_1] = (struct matmul_slot){ ACT_Q8, vnni_packed_gemv_q5_1, packed_gemm_q5_1, few, align };
    k->packed[DTYPE_Q2_K] = (struct matmul_slot){ ACT_Q8, vnni_packed_gemv_q2_k, packed_gemm_q2_k, few, align };
    k->packed[DTYPE_Q3_K] = (struct matmul_slot){ ACT_Q8, vnni_packed_gemv_q3_k, packed_gemm_q3_k, few, align };
    k->packed[DTYPE_Q4_K] = (struct matmul_slot){ ACT_Q8, vnni_packed_gemv_q4_k, packed_gemm_q4_k, few, align };
    k->packed[DTYPE_Q5_K] = (struct matmul_slot){ ACT_Q8, vnni_packed_gemv_q5_k, packed_gemm_q5_k, few, align };
    k->packed[DTYPE_Q6_K] = (struct matmul_slot){ ACT_Q8, vnni_packed_gemv_q6_k, packed_gemm_q6_k, few, align };
    k->packed[DTYPE_IQ4_NL] = (struct matmul_slot){ ACT_Q8, vnni_packed_gemv_iq4_nl, packed_gemm_iq4_nl, few, align };
    k->packed[DTYPE_IQ4_XS] = (struct matmul_slot){ ACT_Q8, vnni_packed_gemv_iq4_xs, packed_gemm_iq4_xs, few, align };
    k->packed[DTYPE_MXFP4] = (struct matmul_slot){ ACT_Q8, vnni_packed_gemv_mxfp4, packed_gemm_mxfp4, few, align };

    k->arrange[DTYPE_Q8_0] = packed_arrange_q8_0;
    k->arrange[DTYPE_Q4_0] = packed_arrange_q4_0;
    k->arrange[DTYPE_Q4_1] = packed_arrange_q4_1;
    k->arrange[DTYPE_Q5_0] = packed_arrange_q5_0;
    k->arrange[DTYPE_Q5_1] = packed_arrange_q5_1;
    k->arrange[DTYPE_Q2_K] = packed_arrange_q2_k;
    k->arrange[DTYPE_Q3_K] = packed_arrange_q3_k;
    k->arrange[DTYPE_Q4_K] = packed_arrange_q4_k;
    k->arrange[DTYPE_Q5_K] = packed_arrange_q5_k;
    k->arrange[DTYPE_Q6_K] = packed_arrange_q6_k;
    k->arrange[DTYPE_IQ4_NL] = packed_arrange_iq4_nl;
    k->arrange[DTYPE_IQ4_XS] = packed_arrange_iq4_xs;
    k->arrange[DTYPE_MXFP4] = packed_arrange_mxfp4;
}

void kernels_streams_avx512vnni(struct kernels *k)
{
    k->packed[DTYPE_Q8_0].gemv = vnni_packed_gemv_q8_0_streams;
    k->packed[DTYPE_Q4_0].gemv = vnni_packed_gemv_q4_0_streams;
    k->packed[DTYPE_Q4_1].gemv = vnni_packed_gemv_q4_1_streams;
    k->packed[DTYPE_Q5_0].gemv = vnni_packed_gemv_q5_0_streams;
    k->packed[DTYPE_Q5_1].gemv = vnni_packed_gemv_q5_1_streams;
    k->packed[DTYPE_Q4_K].gemv = vnni_packed_gemv_q4_k_streams;
    k->packed[DTYPE_Q6_K].gemv = vnni_packed_gemv_q6_k_streams;
    k->packed[DTYPE_IQ4_NL].gemv = vnni_packed_gemv_iq4_nl_streams;
    k->packed[DTYPE_IQ4_XS].gemv = vnni_packed_gemv_iq4_xs_streams;
    k->packed[DTYPE_MXFP4].gemv = vnni_packed_gemv_mxfp4_streams;
}
