/* kernels/i8mm/i8mm.h: the products of the rung with matrix instructions. */
#ifndef KERNELS_I8MM_I8MM_H
#define KERNELS_I8MM_I8MM_H

#include "kernels/neon/neon.h"

extern const struct neon_dot i8mm_dot;

#endif
