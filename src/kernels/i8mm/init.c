/* i8mm/init.c: quantized products with more than a few tokens by products of matrices of
 * bytes (FEAT_I8MM); few tokens leave half of such a matrix empty. */
#include "kernels/dotprod/dotprod.h"
#include "kernels/i8mm/i8mm.h"

#define SLOTS_FEW  dotprod_dot
#define SLOTS_MANY i8mm_dot
#include "kernels/neon/slots.h"

void kernels_init_i8mm(struct kernels *k, unsigned cpu_flags)
{
    (void)cpu_flags;
    set_products(k);
}
