/* How the rows of a product are shared out: kernels/share.h, doc/notes/kernels.md. */
#include "check.h"
#include "kernels/share.h"
#include <stdlib.h>
#include <string.h>


/* Rows of a product by n_tok tokens, taken by n threads in turn: each row once, and how many the longest and the last take had. */
static void take_all(size_t rows, size_t n_tok, bool arranged, size_t row_bytes, unsigned align, int n, size_t *longest, size_t *last)
{
    const struct matmul_slot slot = { .gemv_max_tok = 1, .row_align = align };
    const struct acts x = { .n_tok = n_tok, .tiles_for = arranged ? "tiles" : NULL };
    const size_t step = share_step(&slot, &x, rows, row_bytes, n), most = share_most(&slot, &x, step, row_bytes);
    const size_t units = u64_ceil_div(rows, step);
    atomic_uint *next = calloc((size_t)n, sizeof *next);
    unsigned char *seen = calloc(rows, 1);
    assert_non_null(next);
    assert_non_null(seen);
    assert_true(step > 0 && step % align == 0 && most > 0);
    *longest = *last = 0;
    for (int left = 1; left;) {
        left = 0;
        for (int tid = 0; tid < n; tid++) {
            struct share_run run;
            for (int k = 0; k < n; k++)
                if (share_steal(&next[(tid + k) % n], units, (tid + k) % n, n, most, &run)) {
                    const size_t r0 = run.first * step, r1 = u64_min(r0 + run.n * step, rows);
                    assert_true(run.n > 0 && r0 < r1);
                    for (size_t r = r0; r < r1; r++)
                        assert_int_equal(seen[r]++, 0);
                    *longest = u64_max(*longest, r1 - r0);
                    *last = r1 - r0;
                    left = 1;
                    break;
                }
        }
    }
    for (size_t r = 0; r < rows; r++)
        assert_int_equal(seen[r], 1);
    free(next);
    free(seen);
}

void test_shares(void **state)
{
    (void)state;
    static const size_t rows[] = { 1, 31, 32, 33, 100, 256, 257, 2048, 5632, 32000 };
    static const int threads[] = { 1, 2, 3, 7, 64 };
    size_t longest, last;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t k = 0; k < ARRAY_LEN(threads); k++)
            for (unsigned align = 1; align <= 64; align *= 4)
                for (size_t n_tok = 1; n_tok <= 512; n_tok *= 8) {
                    take_all(rows[i], n_tok, n_tok == 64, 1152, align, threads[k], &longest, &last);
                    assert_true(n_tok == 1 || longest <= SHARE_GEMM_ROWS || longest <= size_align_up(u64_ceil_div(rows[i], (uint64_t)threads[k]), align));
                }
    /* Many tokens, arranged: long walks at first, short ones at last. */
    take_all(2048, 512, true, 1152, 32, 2, &longest, &last);
    assert_int_equal(longest, SHARE_GEMM_ROWS);
    assert_int_equal(last, SHARE_GEMM_UNIT);
    take_all(4096, 32, true, 1152, 32, 64, &longest, &last);
    assert_int_equal(last, 32);
    /* Where each call prepares activations: no more calls than it takes. */
    take_all(2048, 512, false, 1152, 32, 2, &longest, &last);
    assert_int_equal(longest, SHARE_GEMM_ROWS);
    assert_int_equal(last, SHARE_GEMM_ROWS);
    /* One: 1 MiB of weights at first, a quarter of that at last. */
    take_all(32000, 1, false, 1152, 32, 2, &longest, &last);
    assert_true(longest * 1152 <= SHARE_RUN_BYTES && longest * 1152 > SHARE_RUN_BYTES / 8 * 7);
    assert_true(last * 1152 <= SHARE_RUN_BYTES / 2);
}
