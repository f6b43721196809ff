/* neon/init.c: this rung's slots. */
#include "kernels/neon/neon.h"

#define SLOTS_FEW  neon_dot
#define SLOTS_MANY neon_dot
#include "kernels/neon/slots.h"

void kernels_init_neon(struct kernels *k)
{
    const unsigned max = GEMV_MAX_TOK, align = 8;
    set_products(k);
    k->mm[DTYPE_F32] = (struct matmul_slot){ ACT_F32, neon_gemv_f32, neon_gemm_f32, max, align };
    k->mm[DTYPE_F16] = (struct matmul_slot){ ACT_F32, neon_gemv_f16, neon_gemm_f16, max, align };
    k->mm[DTYPE_BF16] = (struct matmul_slot){ ACT_F32, neon_gemv_bf16, neon_gemm_bf16, max, align };
    k->packed[DTYPE_F32] = (struct matmul_slot){ ACT_F32, neon_packed_f32, neon_packed_f32, NEON_TOK, PACK_ROWS };
    k->packed[DTYPE_F16] = (struct matmul_slot){ ACT_F32, neon_packed_f16, neon_packed_f16, NEON_TOK, PACK_ROWS };
    k->packed[DTYPE_BF16] = (struct matmul_slot){ ACT_F32, neon_packed_bf16, neon_packed_bf16, NEON_TOK, PACK_ROWS };
    k->act_prepare[ACT_BF16] = neon_act_prepare_bf16;
    k->act_prepare[ACT_Q8] = neon_act_prepare_q8;
    k->rms_norm = neon_rms_norm;
    k->silu_mul = neon_silu_mul;
    k->gelu_mul = neon_gelu_mul;
    k->swiglu_oai = neon_swiglu_oai;
    k->add = neon_add;
    k->softmax = neon_softmax;
    k->softcap = neon_softcap;
    k->rope = neon_rope;
    k->rope_neox = neon_rope_neox;
    k->f32_to_f16 = neon_f32_to_f16;
    k->attention = neon_attention;
}
