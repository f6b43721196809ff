/* check_finite.c: weights that are no numbers, or infinite, show in what they are multiplied to, and nowhere else. */
#include "config.h"
#include "check.h"
#include <math.h>

/* y of one token by both functions of a slot. */
static void run_both(const struct kernels *k, const struct problem *p, const struct acts *a,
                     float *gemv, float *gemm)
{
    const struct matmul_slot *s = problem_slot(k, p);
    unsigned char *w = weights_for_slot(p);
    struct matmul_args args = { w, p->type->id, p->row_bytes, p->cols, a, gemv, p->y_stride, NULL, false, false };
    args.scratch = check_scratch(kernels_scratch_bytes(p->cols, p->n_tok));
    s->gemv(&args, 0, p->rows);
    args.y = gemm;
    s->gemm(&args, 0, p->rows);
    free(w);
    free(args.scratch);
}

/* A NaN or an infinity in a block makes y of its row one, and of no other row. */
static void check_poison(const struct kernels *k, struct problem *p, size_t block, size_t i,
                         bool nan, bool pow2)
{
    enum { BAD = 5 };
    unsigned char *at = p->w + BAD * p->row_bytes + block * p->type->block_bytes,
                  saved[256];
    memcpy(saved, at, p->type->block_bytes);
    if (poison_block(p->type, at, i, nan)) {
        struct acts a;
        void *buf = prepare_acts_pow2(k, problem_slot(k, p)->act, pow2, &a, p->x, 1, p->cols, p->cols);
        float *y = check_alloc(2 * p->y_stride * sizeof *y), *gemm = y + p->y_stride;
        run_both(k, p, &a, y, gemm);
        for (size_t r = 0; r < p->rows; r++)
            if ((isfinite(y[r]) == 0) != (r == BAD) ||
                (isfinite(gemm[r]) == 0) != (r == BAD))
                fail_msg(
                    "%s %s: scale %zu of block %zu of row %d is %s: y[%zu] = %g by gemv, "
                    "%g by gemm",
                    k->isa, p->type->name, i, block, BAD, nan ? "NaN" : "infinite", r,
                    (double)y[r], (double)gemm[r]);
        free(y);
        free(buf);
    }
    memcpy(at, saved, p->type->block_bytes);
}

/* The same of weights without scales, by many tokens: a NaN of all bits, of either sign, an infinity. */
static void check_poison_many(const struct kernels *k, struct problem *p)
{
    enum { BAD = 5, AT = 33 };
    const bool half = p->type->id == DTYPE_F16;
    const uint32_t bad[] = { 0x7fffffff, 0xffffffff, 0x7f800000, 0x7f800001 };
    const uint16_t bad_half[] = { 0x7fff, 0xffff, 0x7c00, 0x7c01 };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (half)
            memcpy(p->w + BAD * p->row_bytes + AT * 2, &bad_half[i], 2);
        else
            memcpy(p->w + BAD * p->row_bytes + AT * 4, &bad[i], 4);
        struct acts a;
        unsigned char *w = weights_for_slot(p);
        void *buf = prepare_acts(k, problem_slot(k, p)->act, &a, p->x, p->n_tok, p->cols, p->cols);
        float *y = check_alloc(p->n_tok * p->y_stride * sizeof *y);
        struct matmul_args args = { .w = w, .type = p->type->id, .w_row_bytes = p->row_bytes, .cols = p->cols, .x = &a, .y = y, .y_stride = p->y_stride,
                                    .scratch = check_scratch(kernels_scratch_bytes(p->cols, p->n_tok)) };
        problem_slot(k, p)->gemm(&args, 0, p->rows);
        for (size_t n = 0; n < p->n_tok * p->rows; n++)
            if ((isfinite(y[n / p->rows * p->y_stride + n % p->rows]) == 0) != (n % p->rows == BAD))
                fail_msg("%s %s: %s %zu in row %d: row %zu of token %zu is %g", k->isa, p->type->name, half ? "half" : "float", i, BAD, n % p->rows,
                         n / p->rows, (double)y[n / p->rows * p->y_stride + n % p->rows]);
        free(args.scratch);
        free(y);
        free(buf);
        free(w);
    }
}

void test_matmul_poison_many(void **state)
{
    (void)state;
    static const enum dtype types[] = { DTYPE_F16, DTYPE_F32 };
    struct kernels k;
    struct rng r;
    rng_init(&r, 34);
    for (size_t i = 0; rung_at(i, &k); i++)
        for (size_t d = 0; d < ARRAY_LEN(types); d++) {
            struct problem p;
            problem_init(&p, &r, dtype_find(types[d]), 40, 96, 65);
            p.packed = k.packed[types[d]].gemm != NULL;
            check_poison_many(&k, &p);
            problem_free(&p);
        }
}

void test_matmul_poison(void **state)
{
    (void)state;
    enum { BLOCKS = 11 };
    struct kernels k;
    struct rng r;
    rng_init(&r, 8);
    for (size_t i = 0; rung_at(i, &k); i++)
        for (size_t d = 0; dtype_at(d); d++) {
            const struct dtype_info *t = dtype_at(d);
            if (!k.mm[t->id].gemm)
                continue;
            struct problem p;
            problem_init(&p, &r, t, 40, BLOCKS * (size_t)t->block_elems, 1);
            for (int packed = 0; packed <= (k.packed[t->id].gemv && p.cols % 2 == 0); packed++) {
                p.packed = packed;
                for (size_t j = 0; j < (size_t)BLOCKS * 4; j++)
                    check_poison(&k, &p, j / 4, j % 2, j / 2 % 2, packed && j % 3 == 0);
            }
            problem_free(&p);
        }
}
