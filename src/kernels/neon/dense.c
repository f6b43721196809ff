/* neon/dense.c: products with F32, F16 and BF16 weights as they are in the file. */
#include "kernels/neon/neon.h"
#include "kernels/neon/simd128.h"

#include "kernels/simd/dense_floats.h" /* written in the names of the header above */

void neon_dense_slots(struct kernels *k)
{
    dense_file_slots(k);
}
