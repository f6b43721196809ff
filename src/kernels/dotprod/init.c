/* dotprod/init.c: quantized products by dot products of four bytes (FEAT_DotProd). */
#include "kernels/dotprod/dotprod.h"

#define SLOTS_FEW  dotprod_dot
#define SLOTS_MANY dotprod_dot
#include "kernels/neon/slots.h"

void kernels_init_dotprod(struct kernels *k, unsigned cpu_flags)
{
    (void)cpu_flags;
    set_products(k);
}
