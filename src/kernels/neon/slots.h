/*
 * neon/slots.h: a rung's products with quantized weights, packed and as in the file (packed
 * then, a chunk of a panel at a time). The includer says SLOTS_FEW and SLOTS_MANY, its
 * struct neon_dot for up to NEON_TOK tokens and for more. A slot is a plain function
 * pointer, so each type needs its own functions.
 */
#ifndef KERNELS_NEON_SLOTS_H
#define KERNELS_NEON_SLOTS_H

#include "kernels/neon/neon.h"

#define PRODUCT(name, format, is_packed)                                                   \
    static void name(const struct matmul_args *a, size_t row0, size_t row1)                \
    {                                                                                      \
        neon_product(a, row0, row1, &format, is_packed, &SLOTS_FEW, &SLOTS_MANY);          \
    }
PRODUCT(packed_q8_0, neon_q8_0, true)
PRODUCT(packed_q4_0, neon_q4_0, true)
PRODUCT(packed_q4_1, neon_q4_1, true)
PRODUCT(packed_q5_0, neon_q5_0, true)
PRODUCT(packed_q5_1, neon_q5_1, true)
PRODUCT(packed_q2_k, neon_q2_k, true)
PRODUCT(packed_q3_k, neon_q3_k, true)
PRODUCT(packed_q4_k, neon_q4_k, true)
PRODUCT(packed_q5_k, neon_q5_k, true)
PRODUCT(packed_q6_k, neon_q6_k, true)
PRODUCT(packed_iq4_nl, neon_iq4_nl, true)
PRODUCT(packed_iq4_xs, neon_iq4_xs, true)
PRODUCT(packed_mxfp4, neon_mxfp4, true)
PRODUCT(file_q8_0, neon_q8_0, false)
PRODUCT(file_q4_0, neon_q4_0, false)
PRODUCT(file_q4_1, neon_q4_1, false)
PRODUCT(file_q5_0, neon_q5_0, false)
PRODUCT(file_q5_1, neon_q5_1, false)
PRODUCT(file_q2_k, neon_q2_k, false)
PRODUCT(file_q3_k, neon_q3_k, false)
PRODUCT(file_q4_k, neon_q4_k, false)
PRODUCT(file_q5_k, neon_q5_k, false)
PRODUCT(file_q6_k, neon_q6_k, false)
PRODUCT(file_iq4_nl, neon_iq4_nl, false)
PRODUCT(file_iq4_xs, neon_iq4_xs, false)
PRODUCT(file_mxfp4, neon_mxfp4, false)

static void set_products(struct kernels *k)
{
    static const struct {
        enum dtype type;
        matmul_fn *packed, *file;
    } slots[] = {
        { DTYPE_Q8_0, packed_q8_0, file_q8_0 },       { DTYPE_Q4_0, packed_q4_0, file_q4_0 },
        { DTYPE_Q4_1, packed_q4_1, file_q4_1 },       { DTYPE_Q5_0, packed_q5_0, file_q5_0 },
        { DTYPE_Q5_1, packed_q5_1, file_q5_1 },       { DTYPE_Q2_K, packed_q2_k, file_q2_k },
        { DTYPE_Q3_K, packed_q3_k, file_q3_k },       { DTYPE_Q4_K, packed_q4_k, file_q4_k },
        { DTYPE_Q5_K, packed_q5_k, file_q5_k },       { DTYPE_Q6_K, packed_q6_k, file_q6_k },
        { DTYPE_IQ4_NL, packed_iq4_nl, file_iq4_nl }, { DTYPE_IQ4_XS, packed_iq4_xs, file_iq4_xs },
        { DTYPE_MXFP4, packed_mxfp4, file_mxfp4 },
    };
    for (size_t i = 0; i < ARRAY_LEN(slots); i++) {
        k->packed[slots[i].type] =
            (struct matmul_slot){ ACT_Q8, slots[i].packed, slots[i].packed, NEON_TOK, PACK_ROWS };
        k->mm[slots[i].type] = (struct matmul_slot){ ACT_Q8, slots[i].file, slots[i].file, NEON_TOK, PACK_ROWS };
    }
}

#endif
