/*
 * kernels/share.h: how the rows of a product are shared out among a team: the engine's way, which whoever measures a product
 * as the engine runs it takes too. Each thread has a part of its own, which it walks front to back, unit by unit, one stream
 * through memory; then it takes what is left of the others', so that threads end together when one core is slow.
 */
#ifndef KERNELS_SHARE_H
#define KERNELS_SHARE_H

#include "kernels/kernels.h"
#include <stdatomic.h>

enum { SHARE_GEMM_ROWS = 256 /* of a unit, at most, where many tokens meet the rows */ };

/* Where thread tid's part of n units begins, at multiples of align. */
static inline size_t share_split(size_t n, size_t align, int tid, int n_threads)
{
    size_t units = (n + align - 1) / align;
    size_t at = units * (size_t)tid / (size_t)n_threads * align;
    return at < n ? at : n;
}

/* The next of owner's part of n units, of which *next are gone. False: nothing is left of it. */
static inline bool share_take(atomic_uint *next, size_t n, int owner, int n_threads, size_t *unit)
{
    const size_t u0 = share_split(n, 1, owner, n_threads), count = share_split(n, 1, owner + 1, n_threads) - u0;
    if (atomic_load_explicit(next, memory_order_relaxed) >= count)
        return false;
    const size_t at = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
    *unit = u0 + at;
    return at < count;
}

/* Rows of a unit. Few tokens: enough weights for a call to cost nothing, and parts that still come out even. Many: rows
 * whose results stay in the cache for what is fused. */
size_t share_step(const struct matmul_slot *slot, size_t n_tok, size_t rows, size_t row_bytes, int n_threads);

#endif
