/*
 * tests/kernels/check_matmul.c: every product of every rung against an exact sum in double
 * of the same weights and the same prepared activations.
 *
 * Bound, methods.md (22): a kernel adds n terms in float, each with at most 8 roundings of
 * its own (scales multiplied, converted), so |error| <= (n + 8) * 2^-24 * sum |w||x|, where
 * |w| is |scale * quant| + |min| and n <= cols + 16 for float products, cols / 16 + 16 for
 * quantized ones (one term a group of 16, or a scale and a min term a group of 32).
 */
#include "check.h"
#include <float.h>
#include <math.h>

static const float guard = -1234.5f;

struct problem {
    const struct dtype_info *type;
    size_t rows, cols, n_tok, row_bytes, y_stride;
    unsigned char *w;
    float *x;
};

static void problem_init(struct problem *p, struct rng *r, const struct dtype_info *t,
                         size_t rows, size_t cols, size_t n_tok)
{
    *p = (struct problem){ .type = t, .rows = rows, .cols = cols, .n_tok = n_tok };
    p->row_bytes = dtype_row_bytes(t->id, cols);
    p->y_stride = rows + 5;
    p->w = random_weights(r, t, rows, cols);
    p->x = random_floats(r, n_tok * (cols + 3), 1.0);
    p->x[0] = 40; /* an outlier */
}

static void problem_free(struct problem *p)
{
    free(p->w);
    free(p->x);
}

static void check_result(const struct problem *p, const struct kernels *k, const char *what,
                         const struct acts *a, const float *y, size_t row0, size_t row1)
{
    float *w = check_alloc(p->cols * sizeof *w), *mag = check_alloc(p->cols * sizeof *mag);
    double n = a->kind == ACT_Q8 ? (double)p->cols / 16 + 24 : (double)p->cols + 24;
    for (size_t r = 0; r < p->rows; r++) {
        p->type->dequantize(p->w + r * p->row_bytes, w, p->cols);
        weight_magnitudes(p->type, p->w + r * p->row_bytes, mag, p->cols);
        for (size_t t = 0; t < p->n_tok; t++) {
            float got = y[t * p->y_stride + r];
            if (r < row0 || r >= row1) {
                if (got != guard)
                    fail_msg("%s %s %s: row %zu token %zu outside [%zu, %zu) written",
                             k->isa, p->type->name, what, r, t, row0, row1);
                continue;
            }
            double sum = 0, abs = 0;
            for (size_t c = 0; c < p->cols; c++) {
                double xv = (double)act_value(a, t, c);
                sum += (double)w[c] * xv;
                abs += (double)mag[c] * fabs(xv);
            }
            double bound = n * 0x1p-24 * abs + (double)p->cols * (double)FLT_MIN;
            if (strcmp(k->isa, "ref") == 0) /* in double, rounded once */
                bound = 0x1p-24 * fabs(sum) + n * 0x1p-52 * abs + (double)FLT_MIN;
            if (!(fabs((double)got - sum) <= bound))
                fail_msg("%s %s %s [%zu, %zu] x %zu: row %zu token %zu: %.9g, exact %.9g, "
                         "error %.3g, bound %.3g",
                         k->isa, p->type->name, what, p->rows, p->cols, p->n_tok, r, t,
                         (double)got, sum, fabs((double)got - sum), bound);
        }
    }
    for (size_t t = 0; t < p->n_tok; t++)
        for (size_t r = p->rows; r < p->y_stride; r++)
            if (y[t * p->y_stride + r] != guard)
                fail_msg("%s %s %s: written past the rows of token %zu", k->isa,
                         p->type->name, what, t);
    free(w);
    free(mag);
}

static void run_slot(const struct problem *p, const struct kernels *k, matmul_fn *fn,
                     const char *what, const struct acts *a, size_t row0, size_t row1)
{
    size_t n_y = p->n_tok * p->y_stride;
    float *y = check_alloc(n_y * sizeof *y);
    for (size_t i = 0; i < n_y; i++)
        y[i] = guard;
    struct matmul_args args = { p->w, p->row_bytes, p->cols, a, y, p->y_stride, NULL };
    args.scratch = check_alloc(kernels_scratch_bytes(p->cols, p->n_tok));
    size_t align = k->mm[p->type->id].row_align,
           mid = row0 + (row1 - row0) / 2 / align * align;
    fn(&args, row0, mid);
    fn(&args, mid, row1);
    check_result(p, k, what, a, y, row0, row1);
    free(args.scratch);
    free(y);
}

static void check_problem(const struct problem *p, const struct kernels *k)
{
    const struct matmul_slot *s = &k->mm[p->type->id];
    struct acts a;
    void *buf = prepare_acts(k, s->act, &a, p->x, p->n_tok, p->cols, p->cols + 3);
    size_t row0 = p->rows > 2 * (size_t)s->row_align ? s->row_align : 0;
    run_slot(p, k, s->gemm, "gemm", &a, 0, p->rows);
    if (row0)
        run_slot(p, k, s->gemm, "gemm", &a, row0, p->rows - 1);
    if (p->n_tok <= s->gemv_max_tok) {
        run_slot(p, k, s->gemv, "gemv", &a, 0, p->rows);
        if (row0)
            run_slot(p, k, s->gemv, "gemv", &a, row0, p->rows - 1);
    }
    free(buf);
}

void test_matmul(void **state)
{
    (void)state;
    static const size_t tok[] = { 1, 2, 3, 4, 5, 6, 7, 13, 33 };
    static const size_t rows[] = { 1, 17, 32, 67, 100, 129 };
    static const size_t blocks[] = { 1, 3, 11, 2, 8, 20 };
    struct kernels k;
    struct rng r;
    rng_init(&r, 7);
    for (size_t i = 0; rung_at(i, &k); i++)
        for (size_t d = 0; dtype_at(d); d++) {
            const struct dtype_info *t = dtype_at(d);
            if (!k.mm[t->id].gemm)
                continue;
            for (size_t s = 0; s < ARRAY_LEN(tok) * 4; s++) {
                size_t n_blocks = blocks[s % ARRAY_LEN(blocks)];
                size_t cols = n_blocks * t->block_elems;
                if (t->block_elems == 1) /* any width; around the chunk sizes too */
                    cols = n_blocks * 37 - (s % 3);
                struct problem p;
                problem_init(&p, &r, t, rows[(s / 2) % ARRAY_LEN(rows)], cols,
                             tok[s % ARRAY_LEN(tok)]);
                check_problem(&p, &k);
                problem_free(&p);
            }
        }
}

/* Every type that can be executed has slots on every rung, with act kinds that can be
 * prepared. */
void test_matmul_slots(void **state)
{
    (void)state;
    struct kernels k;
    for (size_t i = 0; rung_at(i, &k); i++)
        for (size_t d = 0; dtype_at(d); d++) {
            const struct dtype_info *t = dtype_at(d);
            const struct matmul_slot *s = &k.mm[t->id];
            if (dtype_executable(t->id) != (s->gemv && s->gemm))
                fail_msg("%s: %s: executable and slots disagree", k.isa, t->name);
            if (s->gemv && (!s->gemv_max_tok || !s->row_align || !k.act_prepare[s->act]))
                fail_msg("%s: %s: slot is not complete", k.isa, t->name);
        }
}

void test_isa_names(void **state)
{
    (void)state;
    struct error err;
    unsigned flags = ~0u;
    struct kernels k;
    bool usable = false;
    assert_string_equal(kernels_isa_at(0, &usable), "ref");
    assert_true(usable);
    assert_ok(kernels_isa_flags("ref", &flags, &err), err);
    assert_int_equal(flags, 0);
    assert_ok(kernels_isa_flags("auto", &flags, &err), err);
    assert_int_equal(flags, cpu_flags());
    assert_fails(kernels_isa_flags("avx1024", &flags, &err), err, "avx1024");
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_non_null(strstr(err.msg, "ref"));
    for (size_t i = 0; kernels_isa_at(i, &usable); i++) {
        const char *name = kernels_isa_at(i, NULL);
        if (!usable) {
            assert_fails(kernels_isa_flags(name, &flags, &err), err, name);
            assert_int_equal(err.kind, ERROR_UNAVAILABLE);
            continue;
        }
        assert_ok(kernels_isa_flags(name, &flags, &err), err);
        kernels_init(&k, flags);
        assert_string_equal(k.isa, name);
    }
}
