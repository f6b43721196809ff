/* avx2/init.c: this rung's slots. */
#include "kernels/internal.h"

void kernels_init_avx2(struct kernels *k)
{
    (void)k;
}
