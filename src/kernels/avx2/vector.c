/* avx2/vector.c: the vector kernels of simd/vector.h for AVX2. */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/simd256.h"

#include "kernels/simd/vector.h" /* written in the names of the header above */

void avx2_vector_slots(struct kernels *k)
{
    simd_vector_slots(k);
    k->act_prepare[ACT_Q8] = simd_act_prepare_q8;
}
