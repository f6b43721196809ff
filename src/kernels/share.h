/*
 * kernels/share.h: division of the rows of a product among threads, as the engine and its benchmarks use it. Each thread reads a part
 * of its own sequentially, unit by unit, then steals from the parts of the others, so that threads end together if one core is slow.
 */
#ifndef KERNELS_SHARE_H
#define KERNELS_SHARE_H

#include "base/base.h"
#include "kernels/kernels.h"
#include <stdatomic.h>

enum {
    SHARE_GEMM_ROWS = 256,     /* rows a thread takes at once, at most, in large batches: their results fit its cache */
    SHARE_GEMM_UNIT = 64,      /* rows of a unit there if activations are packed: the granularity at the end of an op */
    SHARE_RUN_BYTES = 1 << 20, /* weight bytes a thread takes at once, in small batches */
    SHARE_NONTEMPORAL_BYTES = 1 << 20, /* bytes of a thread's results from which stores are non-temporal: half of an L2 cache of 2 MiB */
};

/* Where thread tid's part of n units begins, at multiples of align. */
static inline size_t share_split(size_t n, size_t align, int tid, int n_threads)
{
    size_t units = (n + align - 1) / align;
    size_t at = units * (size_t)tid / (size_t)n_threads * align;
    return at < n ? at : n;
}

/* Consecutive units. */
struct share_run {
    size_t first, n;
};

/* Takes the next units of owner's part of n, of which *next are taken: half of the rest, at most `most` and at least a quarter of
 * `most` (if there are as many). False: none is left. doc/notes/kernels.md */
static inline bool share_steal(atomic_uint *next, size_t n, int owner, int n_threads, size_t most, struct share_run *run)
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

/* Rows of a unit. Small batches: enough weights to hide the cost of a call, and even parts. Large ones: rows whose results stay in the
 * cache for fused ops, a quarter of them if activations are packed (x->tiles_for); else each call packs them again. Uses x->n_tok and
 * x->tiles_for. doc/notes/kernels.md */
size_t share_step(const struct matmul_slot *slot, const struct acts *x, size_t rows, size_t row_bytes, int n_threads);
/* Units of step rows that a thread takes at once, at most: SHARE_RUN_BYTES in small batches; else one, or four of the quarters. */
size_t share_most(const struct matmul_slot *slot, const struct acts *x, size_t step, size_t row_bytes);

/* Whether a thread's results exceed its cache, so that stores are non-temporal. */
static inline bool share_nontemporal(size_t n_tok, size_t rows, int n_threads)
{
    return n_tok * rows * sizeof(float) / (size_t)n_threads >= SHARE_NONTEMPORAL_BYTES;
}

#endif
