/* ref/init.c: the bottom rung fills every slot. */
#include "kernels/ref/ref.h"

void kernels_init_ref(struct kernels *k, unsigned cpu_flags)
{
    (void)cpu_flags;
    for (int t = 0; t < DTYPE_COUNT; t++)
        if (dtype_executable((enum dtype)t))
            k->mm[t] = (struct matmul_slot){ ACT_F32, ref_matmul, ref_matmul, 1, 1 };
    k->act_prepare[ACT_F32] = ref_act_prepare_f32;
    k->act_prepare[ACT_BF16] = ref_act_prepare_bf16;
    k->act_prepare[ACT_Q8] = ref_act_prepare_q8;
    k->rms_norm = ref_rms_norm;
    k->silu_mul = ref_silu_mul;
    k->gelu_mul = ref_gelu_mul;
    k->swiglu_oai = ref_swiglu_oai;
    k->add = ref_add;
    k->softmax = ref_softmax_row;
    k->softcap = ref_softcap;
    k->rope = ref_rope;
    k->rope_neox = ref_rope_neox;
    k->f32_to_f16 = ref_f32_to_f16;
    k->attention = ref_attention;
}
