/* neon/init.c: this rung's slots. */
#include "kernels/neon/neon.h"

#define SLOTS_FEW  neon_dot
#define SLOTS_MANY neon_dot
#include "kernels/neon/slots.h"

void kernels_init_neon(struct kernels *k, unsigned cpu_flags)
{
    (void)cpu_flags;
    set_products(k);
    neon_dense_slots(k);
    neon_packed_dense_slots(k);
    neon_vector_slots(k);
    k->attention = neon_attention;
}
