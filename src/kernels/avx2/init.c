/* avx2/init.c: this rung's slots. */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/packed.h"
#include "kernels/pack.h"

/* Packed quantized weights; decode of one token only: two and more unpack once for all. */
static void init_packed(struct kernels *k)
{
    k->packed[DTYPE_Q8_0] = (struct matmul_slot){ ACT_Q8, avx2_packed_gemv_q8_0, avx2_packed_gemm_q8_0, 1, PACK_ROWS };
    k->packed[DTYPE_Q4_0] = (struct matmul_slot){ ACT_Q8, avx2_packed_gemv_q4_0, avx2_packed_gemm_q4_0, 1, PACK_ROWS };
    k->packed[DTYPE_Q4_1] = (struct matmul_slot){ ACT_Q8, avx2_packed_gemv_q4_1, avx2_packed_gemm_q4_1, 1, PACK_ROWS };
    k->packed[DTYPE_Q5_0] = (struct matmul_slot){ ACT_Q8, avx2_packed_gemv_q5_0, avx2_packed_gemm_q5_0, 1, PACK_ROWS };
    k->packed[DTYPE_Q5_1] = (struct matmul_slot){ ACT_Q8, avx2_packed_gemv_q5_1, avx2_packed_gemm_q5_1, 1, PACK_ROWS };
    k->packed[DTYPE_Q2_K] = (struct matmul_slot){ ACT_Q8, avx2_packed_gemv_q2_k, avx2_packed_gemm_q2_k, 1, PACK_ROWS };
    k->packed[DTYPE_Q3_K] = (struct matmul_slot){ ACT_Q8, avx2_packed_gemv_q3_k, avx2_packed_gemm_q3_k, 1, PACK_ROWS };
    k->packed[DTYPE_Q4_K] = (struct matmul_slot){ ACT_Q8, avx2_packed_gemv_q4_k, avx2_packed_gemm_q4_k, 1, PACK_ROWS };
    k->packed[DTYPE_Q5_K] = (struct matmul_slot){ ACT_Q8, avx2_packed_gemv_q5_k, avx2_packed_gemm_q5_k, 1, PACK_ROWS };
    k->packed[DTYPE_Q6_K] = (struct matmul_slot){ ACT_Q8, avx2_packed_gemv_q6_k, avx2_packed_gemm_q6_k, 1, PACK_ROWS };
    k->packed[DTYPE_IQ4_NL] = (struct matmul_slot){ ACT_Q8, avx2_packed_gemv_iq4_nl, avx2_packed_gemm_iq4_nl, 1, PACK_ROWS };
    k->packed[DTYPE_IQ4_XS] = (struct matmul_slot){ ACT_Q8, avx2_packed_gemv_iq4_xs, avx2_packed_gemm_iq4_xs, 1, PACK_ROWS };
    k->packed[DTYPE_MXFP4] = (struct matmul_slot){ ACT_Q8, avx2_packed_gemv_mxfp4, avx2_packed_gemm_mxfp4, 1, PACK_ROWS };
}

void kernels_tune_avx2(struct kernels *k, unsigned cpu_flags)
{
    if (!(cpu_flags & CPU_HW_PREFETCH))
        return;
    static const struct {
        enum dtype type;
        matmul_fn *gemv;
    } slots[] = {
        { DTYPE_F32, avx2_packed_few_f32_streams },       { DTYPE_F16, avx2_packed_few_f16_streams },
        { DTYPE_BF16, avx2_packed_few_bf16_streams },     { DTYPE_Q8_0, avx2_packed_gemv_q8_0_streams },
        { DTYPE_Q4_0, avx2_packed_gemv_q4_0_streams },    { DTYPE_Q4_1, avx2_packed_gemv_q4_1_streams },
        { DTYPE_Q5_0, avx2_packed_gemv_q5_0_streams },    { DTYPE_Q5_1, avx2_packed_gemv_q5_1_streams },
        { DTYPE_Q2_K, avx2_packed_gemv_q2_k_streams },    { DTYPE_Q3_K, avx2_packed_gemv_q3_k_streams },
        { DTYPE_Q4_K, avx2_packed_gemv_q4_k_streams },    { DTYPE_Q5_K, avx2_packed_gemv_q5_k_streams },
        { DTYPE_Q6_K, avx2_packed_gemv_q6_k_streams },    { DTYPE_IQ4_NL, avx2_packed_gemv_iq4_nl_streams },
        { DTYPE_IQ4_XS, avx2_packed_gemv_iq4_xs_streams }, { DTYPE_MXFP4, avx2_packed_gemv_mxfp4_streams },
    };
    for (size_t i = 0; i < ARRAY_LEN(slots); i++)
        k->packed[slots[i].type].gemv = slots[i].gemv;
}

void kernels_init_avx2(struct kernels *k)
{
    const unsigned max = GEMV_MAX_TOK, align = 16;
    k->mm[DTYPE_Q8_0] =
        (struct matmul_slot){ ACT_Q8, avx2_gemv_q8_0, avx2_gemm_q8_0, max, align };
    k->mm[DTYPE_Q4_0] =
        (struct matmul_slot){ ACT_Q8, avx2_gemv_q4_0, avx2_gemm_q4_0, max, align };
    k->mm[DTYPE_Q4_1] =
        (struct matmul_slot){ ACT_Q8, avx2_gemv_q4_1, avx2_gemm_q4_1, max, align };
    k->mm[DTYPE_Q5_0] =
        (struct matmul_slot){ ACT_Q8, avx2_gemv_q5_0, avx2_gemm_q5_0, max, align };
    k->mm[DTYPE_Q5_1] =
        (struct matmul_slot){ ACT_Q8, avx2_gemv_q5_1, avx2_gemm_q5_1, max, align };
    k->mm[DTYPE_Q2_K] =
        (struct matmul_slot){ ACT_Q8, avx2_gemv_q2_k, avx2_gemm_q2_k, max, align };
    k->mm[DTYPE_Q3_K] =
        (struct matmul_slot){ ACT_Q8, avx2_gemv_q3_k, avx2_gemm_q3_k, max, align };
    k->mm[DTYPE_Q4_K] =
        (struct matmul_slot){ ACT_Q8, avx2_gemv_q4_k, avx2_gemm_q4_k, max, align };
    k->mm[DTYPE_Q5_K] =
        (struct matmul_slot){ ACT_Q8, avx2_gemv_q5_k, avx2_gemm_q5_k, max, align };
    k->mm[DTYPE_Q6_K] =
        (struct matmul_slot){ ACT_Q8, avx2_gemv_q6_k, avx2_gemm_q6_k, max, align };
    k->mm[DTYPE_IQ4_NL] =
        (struct matmul_slot){ ACT_Q8, avx2_gemv_iq4_nl, avx2_gemm_iq4_nl, max, align };
    k->mm[DTYPE_IQ4_XS] =
        (struct matmul_slot){ ACT_Q8, avx2_gemv_iq4_xs, avx2_gemm_iq4_xs, max, align };
    k->mm[DTYPE_MXFP4] =
        (struct matmul_slot){ ACT_Q8, avx2_gemv_mxfp4, avx2_gemm_mxfp4, max, align };
    k->mm[DTYPE_F32] =
        (struct matmul_slot){ ACT_F32, avx2_gemv_f32, avx2_gemm_f32, max, align };
    k->mm[DTYPE_F16] =
        (struct matmul_slot){ ACT_F32, avx2_gemv_f16, avx2_gemm_f16, max, align };
    k->mm[DTYPE_BF16] =
        (struct matmul_slot){ ACT_F32, avx2_gemv_bf16, avx2_gemm_bf16, max, align };
    const unsigned few = 6, panel = PACK_ROWS;
    k->packed[DTYPE_F32] =
        (struct matmul_slot){ ACT_F32, avx2_packed_few_f32, avx2_packed_gemm_f32, few, panel };
    k->packed[DTYPE_F16] =
        (struct matmul_slot){ ACT_F32, avx2_packed_few_f16, avx2_packed_gemm_f16, few, panel };
    k->packed[DTYPE_BF16] =
        (struct matmul_slot){ ACT_F32, avx2_packed_few_bf16, avx2_packed_gemm_bf16, few, panel };
    init_packed(k);
    k->act_prepare[ACT_BF16] = avx2_act_prepare_bf16;
    k->act_prepare[ACT_Q8] = avx2_act_prepare_q8;
    k->rms_norm = avx2_rms_norm;
    k->silu_mul = avx2_silu_mul;
    k->gelu_mul = avx2_gelu_mul;
    k->swiglu_oai = avx2_swiglu_oai;
    k->add = avx2_add;
    k->softmax = avx2_softmax;
    k->softcap = avx2_softcap;
    k->rope = avx2_rope;
    k->rope_neox = avx2_rope_neox;
    k->f32_to_f16 = avx2_f32_to_f16;
    k->attention = avx2_attention;
}
