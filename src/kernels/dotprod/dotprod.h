/* kernels/dotprod/dotprod.h: what the rung above shares of the dot products. */
#ifndef KERNELS_DOTPROD_DOTPROD_H
#define KERNELS_DOTPROD_DOTPROD_H

#include "kernels/neon/neon.h"

extern const struct neon_dot dotprod_dot;

#endif
