/*
 * kernels/share.h: how the rows of a product are shared out among a team: the engine's way, which whoever measures a product
 * as the engine runs it takes too. Each thread has a part of its own, which it walks front to back, unit by unit, one stream
 * through memory; then it takes what is left of the others', so that threads end together when one core is slow.
 */
#ifndef KERNELS_SHARE_H
#define KERNELS_SHARE_H

#include "base/base.h"
#include "kernels/kernels.h"
#include <stdatomic.h>

enum {
    SHARE_GEMM_ROWS = 256,     /* that a thread takes at once, at most, where many tokens meet the rows: their results stay in its cache */
    SHARE_GEMM_UNIT = 64,      /* of a unit there, where a call costs nothing by itself: what the last of an op is shared out in */
    SHARE_RUN_BYTES = 1 << 20, /* of weights that a thread walks before it looks again, where few do */
    SHARE_FAR_BYTES = 1 << 20, /* of a thread's results that its own cache does not keep beside all else: half an L2 cache of 2 MiB */
};

/* Where thread tid's part of n units begins, at multiples of align. */
static inline size_t share_split(size_t n, size_t align, int tid, int n_threads)
{
    size_t units = (n + align - 1) / align;
    size_t at = units * (size_t)tid / (size_t)n_threads * align;
    return at < n ? at : n;
}

/* Units side by side. */
struct share_run {
    size_t first, n;
};

/* The next of owner's part of n units, of which *next are gone: half of what is left of it, but at most so many and no fewer than a
 * quarter of that (where there are), so that walks are long and threads still end together. False: nothing is left. doc/notes/kernels.md */
static inline bool share_take(atomic_uint *next, size_t n, int owner, int n_threads, size_t most, struct share_run *run)
{
    const size_t u0 = share_split(n, 1, owner, n_threads), count = share_split(n, 1, owner + 1, n_threads) - u0;
    unsigned at = atomic_load_explicit(next, memory_order_relaxed);
    do {
        if (at >= count)
            return false;
        const size_t left = count - at, least = u64_min(left, (most + 3) / 4);
        *run = (struct share_run){ u0 + at, u64_min(u64_max(left / 2, least), most) };
    } while (!atomic_compare_exchange_weak_explicit(next, &at, at + (unsigned)run->n, memory_order_relaxed, memory_order_relaxed));
    return true;
}

/* Rows of a unit. Few tokens: enough weights for a call to cost nothing, and parts that still come out even. Many: rows whose
 * results stay in the cache for what is fused; a quarter of them where activations are arranged (x->tiles_for), as else each call prepares
 * them anew. Of x n_tok and tiles_for are looked at. doc/notes/kernels.md */
size_t share_step(const struct matmul_slot *slot, const struct acts *x, size_t rows, size_t row_bytes, int n_threads);
/* Units of step rows that a thread takes at once, at most: SHARE_RUN_BYTES for few tokens; for many one, or four of those quarters. */
size_t share_most(const struct matmul_slot *slot, const struct acts *x, size_t step, size_t row_bytes);

/* Whether a thread's share of a product's results is more than its cache keeps for who reads them next. */
static inline bool share_far(size_t n_tok, size_t rows, int n_threads)
{
    return n_tok * rows * sizeof(float) / (size_t)n_threads >= SHARE_FAR_BYTES;
}

#endif
