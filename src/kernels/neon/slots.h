/*
 * neon/slots.h: a rung's products with quantized weights, packed and as in the file (a chunk of a panel at a time is packed
 * then). The includer defines SLOTS_FEW and SLOTS_MANY, its struct neon_dot for up to NEON_TOK tokens and for more.
 */
#ifndef KERNELS_NEON_SLOTS_H
#define KERNELS_NEON_SLOTS_H

#include "kernels/neon/neon.h"

static void packed_product(const struct matmul_args *a, size_t row0, size_t row1)
{
    neon_product(a, row0, row1, true, &SLOTS_FEW, &SLOTS_MANY);
}
static void file_product(const struct matmul_args *a, size_t row0, size_t row1)
{
    neon_product(a, row0, row1, false, &SLOTS_FEW, &SLOTS_MANY);
}

static void set_products(struct kernels *k)
{
    for (enum dtype t = 0; t < DTYPE_COUNT; t++)
        if (neon_format(t)) {
            k->packed[t] = (struct matmul_slot){ ACT_Q8, packed_product, packed_product, NEON_TOK, PACK_ROWS };
            k->mm[t] = (struct matmul_slot){ ACT_Q8, file_product, file_product, NEON_TOK, PACK_ROWS };
        }
}

#endif
