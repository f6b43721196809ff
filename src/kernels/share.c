/* kernels/share.c: rows of a unit. */
#include "kernels/share.h"

size_t share_step(const struct matmul_slot *slot, const struct acts *x, size_t rows, size_t row_bytes, int n_threads)
{
    enum { UNIT_BYTES = 64 << 10, UNITS_A_THREAD = 4 };
    const size_t align = slot->row_align;
    size_t step = x->n_tok <= slot->gemv_max_tok ? UNIT_BYTES / row_bytes : x->tiles_for ? SHARE_GEMM_UNIT : SHARE_GEMM_ROWS;
    step = u64_min(step, u64_ceil_div(rows, (uint64_t)n_threads * UNITS_A_THREAD));
    if (rows * row_bytes / (size_t)n_threads <= UNIT_BYTES) /* too few to divide again */
        step = u64_ceil_div(rows, (uint64_t)n_threads);
    return size_align_up(step ? step : 1, align);
}

size_t share_most(const struct matmul_slot *slot, const struct acts *x, size_t step, size_t row_bytes)
{
    if (x->n_tok > slot->gemv_max_tok)
        return x->tiles_for ? SHARE_GEMM_ROWS / SHARE_GEMM_UNIT : 1;
    const size_t most = SHARE_RUN_BYTES / (step * row_bytes);
    return most ? most : 1;
}
