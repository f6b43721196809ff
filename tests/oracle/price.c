/* What the analytical side says of an op. */
#include "oracle.h"
#include "timing/levels.h"
#include <stdio.h>

int oracle_price(const char *name, const struct op *op, const struct pass *p, double d1_bytes, double ll_bytes,
                 struct error *err)
{
    struct hw_cache cache[2] = { { 1, d1_bytes, 1, 64, 1 }, { 2, ll_bytes, 1, 64, 1 } };
    const struct hwprofile h = { .id = "simulated", .kind = HW_CPU, .isa = "avx2", .cache = cache, .n_cache = 2 };
    const struct cost_options o = { .act_elem_bytes = 4, .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
    const struct level_state cold = { 0 };
    const struct cost c = cost_op(op, p, &o);
    struct level_bytes l;
    if (roofline_level_bytes(&l, op, p, &o, &h, &cold, err) != 0)
        return -1;
    const double weights = op->kind == OP_MATMUL ? (double)op->rows * op->cols : 0;
    printf("%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\n", name, weights, cost_bytes(&c), l.level[1].read_bytes,
           l.level[2].read_bytes, l.level[2].write_bytes);
    return 0;
}
