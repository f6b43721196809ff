/* avx512/init.c: this rung's slots. Quantized products stay with the rung below: without
 * VNNI instructions, wider vectors gain little. */
#include "kernels/avx512/avx512.h"
#include "kernels/pack.h"

void kernels_init_avx512(struct kernels *k)
{
    const unsigned max = GEMV_MAX_TOK, align = 32;
    k->mm[DTYPE_F32] =
        (struct matmul_slot){ ACT_F32, avx512_gemv_f32, avx512_gemm_f32, max, align };
    k->mm[DTYPE_F16] =
        (struct matmul_slot){ ACT_F32, avx512_gemv_f16, avx512_gemm_f16, max, align };
    k->mm[DTYPE_BF16] =
        (struct matmul_slot){ ACT_F32, avx512_gemv_bf16, avx512_gemm_bf16, max, align };
    const unsigned few = 12, panel = PACK_ROWS;
    k->packed[DTYPE_F32] =
        (struct matmul_slot){ ACT_F32, avx512_packed_few_f32, avx512_packed_gemm_f32, few, panel };
    k->packed[DTYPE_F16] =
        (struct matmul_slot){ ACT_F32, avx512_packed_few_f16, avx512_packed_gemm_f16, few, panel };
    k->packed[DTYPE_BF16] =
        (struct matmul_slot){ ACT_F32, avx512_packed_few_bf16, avx512_packed_gemm_bf16, few, panel };
    k->act_prepare[ACT_BF16] = avx512_act_prepare_bf16;
    k->act_prepare[ACT_Q8] = avx512_act_prepare_q8;
    k->rms_norm = avx512_rms_norm;
    k->silu_mul = avx512_silu_mul;
    k->gelu_mul = avx512_gelu_mul;
    k->swiglu_oai = avx512_swiglu_oai;
    k->add = avx512_add;
    k->softmax = avx512_softmax;
    k->softcap = avx512_softcap;
    k->rope = avx512_rope;
    k->rope_neox = avx512_rope_neox;
    k->f32_to_f16 = avx512_f32_to_f16;
    k->attention = avx512_attention;
}

void kernels_streams_avx512(struct kernels *k)
{
    k->packed[DTYPE_F32].gemv = avx512_packed_few_f32_streams;
    k->packed[DTYPE_F16].gemv = avx512_packed_few_f16_streams;
    k->packed[DTYPE_BF16].gemv = avx512_packed_few_bf16_streams;
}
