/* avx512bf16/init.c: this rung's slots. */
#include "kernels/internal.h"

void kernels_init_avx512bf16(struct kernels *k)
{
    (void)k;
}
