/* kernels/share.c: the size of the units that the rows of a product are shared out in. */
#include "kernels/share.h"

size_t share_step(const struct matmul_slot *slot, size_t n_tok, size_t rows, size_t row_bytes, int n_threads)
{
    enum { UNIT_BYTES = 64 << 10, UNITS_A_THREAD = 4 };
    const size_t align = slot->row_align;
    size_t step = n_tok > slot->gemv_max_tok ? SHARE_GEMM_UNIT : UNIT_BYTES / row_bytes;
    step = u64_min(step, u64_ceil_div(rows, (uint64_t)n_threads * UNITS_A_THREAD));
    if (rows * row_bytes / (size_t)n_threads <= UNIT_BYTES) /* too little to share out twice */
        step = u64_ceil_div(rows, (uint64_t)n_threads);
    return size_align_up(step ? step : 1, align);
}

size_t share_most(const struct matmul_slot *slot, size_t n_tok, size_t step, size_t row_bytes)
{
    const size_t most = (n_tok > slot->gemv_max_tok ? SHARE_GEMM_ROWS : SHARE_RUN_BYTES / row_bytes) / step;
    return most ? most : 1;
}
