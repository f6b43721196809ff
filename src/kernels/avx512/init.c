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

/* CPU_HW_PREFETCH: nothing is asked of memory while it alone counts: with more tokens these CPUs see no further than the arithmetic in flight,
 * and gemm, which asks, is faster. Measured from DRAM on Zen 4, % of plain loads, not asking and asking: F16 of 2 tokens
 * 99 and 98, 3: 93 and 97, 5: 70 and 97; F32 of 5: 96 and 93, 6: 92 and 95, 8: 82 and 96. */
void kernels_tune_avx512(struct kernels *k, unsigned cpu_flags)
{
    struct matmul_slot *f32 = &k->packed[DTYPE_F32], *f16 = &k->packed[DTYPE_F16], *bf16 = &k->packed[DTYPE_BF16];
    if (cpu_flags & CPU_TWO_PORTS) {
        f16->gemm = avx512_packed_gemm_f16_two_ports;
        bf16->gemm = avx512_packed_gemm_bf16_two_ports;
    }
    if (cpu_flags & CPU_HW_PREFETCH) {
        f32->gemv = avx512_packed_few_f32_streams;
        f16->gemv = avx512_packed_few_f16_streams;
        bf16->gemv = avx512_packed_few_bf16_streams;
        f32->gemv_max_tok = 5;
        f16->gemv_max_tok = bf16->gemv_max_tok = 2;
    } else if (cpu_flags & CPU_SW_PREFETCH) {
        f32->gemv = avx512_packed_few_f32_once;
        f16->gemv = avx512_packed_few_f16_once;
        bf16->gemv = avx512_packed_few_bf16_once;
        k->attention = avx512_attention_once;
    }
}
