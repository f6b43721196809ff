/*
 * tests/kernels/check_matmul.c: every product of every rung against an exact sum in double
 * of the same weights and the same prepared activations.
 *
 * Bound, methods.md (96): a kernel adds n terms in float, each with at most 8 roundings of
 * its own (scales multiplied, converted), so |error| <= (n + 8) * 2^-24 * sum |w||x|, where
 * |w| is |scale * quant| + |min| and n <= cols + 16 for float products, cols / 16 + 16 for
 * quantized ones (one term a group of 16, or a scale and a min term a group of 32), twice
 * as much for Q2_K (a scale and a min term a group of 16).
 *
 * Products that round weights and activations to BF16 (kernels.bf16_min_tok) are compared with sums of the rounded ones, of
 * n <= cols + 16 terms. Those that take floats apart into two BF16 (F16 by tiles) or three (F32) lose the product of what both leave, and
 * what activations leave twice: methods.md (94).
 */
#include "config.h"
#include "check.h"
#include "kernels/pack.h"
#include "kernels/share.h"
#include <float.h>
#include <math.h>
#ifdef HAVE_ISA_AVX512VNNI
#include "kernels/avx512vnni/packed.h"
#endif

static const float guard = -1234.5f;

void problem_init(struct problem *p, struct rng *r, const struct dtype_info *t,
                  size_t rows, size_t cols, size_t n_tok)
{
    *p = (struct problem){ .type = t, .rows = rows, .cols = cols, .n_tok = n_tok };
    p->row_bytes = dtype_row_bytes(t->id, cols);
    p->y_stride = rows + 5;
    p->w = random_weights(r, t, rows, cols);
    p->x = random_floats(r, n_tok * (cols + 3), 1.0);
    p->x[0] = 40; /* an outlier */
}

void problem_free(struct problem *p)
{
    free(p->w);
    free(p->x);
}

const struct matmul_slot *problem_slot(const struct kernels *k, const struct problem *p)
{
    return p->packed ? &k->packed[p->type->id] : &k->mm[p->type->id];
}

unsigned char *weights_for_slot(const struct problem *p)
{
    size_t bytes = p->rows * p->row_bytes;
    if (p->packed)
        assert_true(pack_bytes(p->type->id, p->rows, p->cols, &bytes));
    unsigned char *w = check_alloc(bytes);
    if (p->packed)
        pack_panels(p->type->id, w, p->w, p->rows, p->cols, 0, u64_ceil_div(p->rows, PACK_ROWS));
    else
        memcpy(w, p->w, bytes);
    return w;
}

/* y[t * rows + r] in double, and the largest error allowed; what tiles of several tokens may be off by besides. */
struct exact {
    double *y, *bound, *lost;
};

static bool rounds_to_bf16(const struct problem *p, const struct kernels *k, const struct acts *a)
{
    return p->packed && a->kind == ACT_Q8 && k->bf16_min_tok > 0 && p->n_tok >= k->bf16_min_tok;
}

/* What numbers in parts leave out, of sum|w||x|: of three products, of six. methods.md (94) */
static double split_loses(const struct problem *p, const struct kernels *k)
{
    if ((p->type->id != DTYPE_F16 && p->type->id != DTYPE_F32) || !kernels_by_tiles(k, problem_slot(k, p), p->n_tok) || p->cols % 32)
        return 0;
    return p->type->id == DTYPE_F16 ? 0x1.8p-16 : 0x1.01p-24;
}

static void round_to_bf16(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = bf16_to_f32(f32_to_bf16(x[i]));
}

static bool sums_apart(const struct kernels *k)
{
#ifdef HAVE_ISA_AVX512VNNI
    return k->packed[DTYPE_Q6_K].gemm == vnni_packed_gemm_two_ports;
#else
    (void)k;
    return false;
#endif
}

/*
 * What tiles of bytes give up, of one row and token: of Q6_K, where activations' scales are exact and sums in pairs, the last bit of each
 * sum of 16, (91); of Q4_K and Q5_K what a step is off by in which sums of a block's 32 columns are counted, (92).
 */
static double tiles_lose(const struct problem *p, const struct kernels *k, const struct acts *a, size_t t, size_t r)
{
    const bool pairs = p->type->id == DTYPE_Q6_K && !a->pow2 && !sums_apart(k);
    const bool mins = p->type->id == DTYPE_Q4_K || p->type->id == DTYPE_Q5_K;
    const bool tiles = k->pow2_min_tok > 0 || k->bf16_min_tok > 0; /* of avx512vnni, or beneath those of AMX */
    double lost = 0;
    if (!p->packed || !tiles || rounds_to_bf16(p, k, a) || (!pairs && !mins))
        return 0;
    for (size_t c = 0; c < p->cols; c += 256) {
        const unsigned char *const block = p->w + r * p->row_bytes + c / 256 * p->type->block_bytes;
        float min[256];
        double most = 0, sum = 0;
        if (mins)
            weight_mins(p->type, block, min, 256);
        for (size_t b = 0; b < 8; b++) {
            const size_t at = (t * a->stride + c) / 32 + b;
            const double d = (double)a->d[at];
            if (pairs) {
                const double scale = fabs((double)f16_to_f32((uint16_t)(block[208] | block[209] << 8)));
                sum += d * scale * (abs((int8_t)block[192 + 2 * b]) + abs((int8_t)block[193 + 2 * b]));
            } else {
                most = fmax(most, d * abs(a->sum[2 * at] + a->sum[2 * at + 1]));
                sum += fabs((double)min[32 * b]);
            }
        }
        lost += pairs ? sum : sum * most / 8191;
    }
    return lost;
}

/* Most of what these tests take: sums of a row's products with four tokens at a time, whose values of a column stand side by side. */
enum { FOUR = 4 };
typedef double two __attribute__((vector_size(2 * sizeof(double))));
typedef int64_t two_bits __attribute__((vector_size(2 * sizeof(double))));

static two without_sign(two x)
{
    const two_bits mask = { INT64_MAX, INT64_MAX };
    return (two)((two_bits)x & mask);
}

static void exact_four(const double *x, const float *w, const float *mag, size_t cols, double sum[FOUR], double abs[FOUR])
{
    const two *const at = (const two *)x;
    two s0 = { 0 }, s1 = { 0 }, a0 = { 0 }, a1 = { 0 };
    for (size_t c = 0; c < cols; c++) {
        const double v = (double)w[c], m = (double)mag[c];
        s0 += v * at[2 * c], s1 += v * at[2 * c + 1];
        a0 += m * without_sign(at[2 * c]), a1 += m * without_sign(at[2 * c + 1]);
    }
    sum[0] = s0[0], sum[1] = s0[1], sum[2] = s1[0], sum[3] = s1[1];
    abs[0] = a0[0], abs[1] = a0[1], abs[2] = a1[0], abs[3] = a1[1];
}

static void exact_init(struct exact *e, const struct problem *p, const struct kernels *k,
                       const struct acts *a)
{
    const bool bf16 = rounds_to_bf16(p, k, a);
    enum { FEW = 8 }; /* rows, which stay in caches beside all tokens */
    float *w = check_alloc(FEW * p->cols * sizeof *w), *mag = check_alloc(FEW * p->cols * sizeof *mag);
    const size_t n_x = u64_ceil_div(p->n_tok, FOUR) * FOUR * p->cols;
    double *x = check_alloc(n_x * sizeof *x);
    memset(x, 0, n_x * sizeof *x);
    for (size_t t = 0; t < p->n_tok; t++)
        for (size_t c = 0; c < p->cols; c++) {
            const float v = act_value(a, t, c);
            x[(t / FOUR * p->cols + c) * FOUR + t % FOUR] = (double)(bf16 ? bf16_to_f32(f32_to_bf16(v)) : v);
        }
    double n = (double)p->cols + 24;
    if (a->kind == ACT_Q8 && !bf16)
        n = (double)p->cols / (p->type->id == DTYPE_Q2_K ? 8 : 16) + 24;
    e->y = check_alloc(p->n_tok * p->rows * sizeof *e->y);
    e->bound = check_alloc(p->n_tok * p->rows * sizeof *e->bound);
    e->lost = check_alloc(p->n_tok * p->rows * sizeof *e->lost);
    for (size_t row0 = 0; row0 < p->rows; row0 += FEW) {
        const size_t n_row = p->rows - row0 < FEW ? p->rows - row0 : FEW;
        p->type->dequantize(p->w + row0 * p->row_bytes, w, n_row * p->cols);
        weight_magnitudes(p->type, p->w + row0 * p->row_bytes, mag, n_row * p->cols);
        if (bf16)
            round_to_bf16(w, n_row * p->cols);
        for (size_t t = 0; t < p->n_tok; t += FOUR)
            for (size_t i = 0; i < n_row; i++) {
                double sum[FOUR], abs[FOUR];
                exact_four(x + t * p->cols, w + i * p->cols, mag + i * p->cols, p->cols, sum, abs);
                for (size_t j = 0; j < FOUR && t + j < p->n_tok; j++) {
                    const size_t at = (t + j) * p->rows + row0 + i;
                    e->y[at] = sum[j];
                    e->bound[at] = n * 0x1p-24 * abs[j] + (double)p->cols * (double)FLT_MIN;
                    if (strcmp(k->isa, "ref") == 0) /* in double, rounded once */
                        e->bound[at] = 0x1p-24 * fabs(sum[j]) + n * 0x1p-52 * abs[j] + (double)FLT_MIN;
                    e->lost[at] = split_loses(p, k) * abs[j] + tiles_lose(p, k, a, t + j, row0 + i);
                }
            }
    }
    free(w);
    free(mag);
    free(x);
}

static void exact_free(struct exact *e)
{
    free(e->y);
    free(e->bound);
    free(e->lost);
}

static void check_result(const struct problem *p, const struct kernels *k, const char *what, bool tiles,
                         const struct exact *e, const float *y, size_t row0, size_t row1)
{
    for (size_t t = 0; t < p->n_tok; t++) {
        for (size_t r = 0; r < p->rows; r++) {
            float got = y[t * p->y_stride + r];
            const size_t at = t * p->rows + r;
            double want = e->y[at], bound = e->bound[at] + (tiles ? e->lost[at] : 0);
            if (r < row0 || r >= row1) {
                if (got != guard)
                    fail_msg("%s %s %s: row %zu token %zu outside [%zu, %zu) written",
                             k->isa, p->type->name, what, r, t, row0, row1);
            } else if (!(fabs((double)got - want) <= bound))
                fail_msg("%s %s %s [%zu, %zu] x %zu: row %zu token %zu: %.9g, exact %.9g, "
                         "error %.3g, bound %.3g",
                         k->isa, p->type->name, what, p->rows, p->cols, p->n_tok, r, t,
                         (double)got, want, fabs((double)got - want), bound);
        }
        for (size_t r = p->rows; r < p->y_stride; r++)
            if (y[t * p->y_stride + r] != guard)
                fail_msg("%s %s %s: written past the rows of token %zu", k->isa,
                         p->type->name, what, t);
    }
}

static void run_slot(const struct problem *p, const struct kernels *k, matmul_fn *fn,
                     const char *what, const struct acts *a, const struct exact *e,
                     size_t row0, size_t row1)
{
    size_t n_y = p->n_tok * p->y_stride;
    float *y = check_alloc(n_y * sizeof *y);
    for (size_t i = 0; i < n_y; i++)
        y[i] = guard;
    unsigned char *w = weights_for_slot(p);
    struct matmul_args args = { w, p->type->id, p->row_bytes, p->cols, a, y, p->y_stride, NULL, false, true };
    args.scratch = check_scratch(kernels_scratch_bytes(p->cols, p->n_tok));
    size_t align = problem_slot(k, p)->row_align,
           mid = row0 + (row1 - row0) / 2 / align * align;
    fn(&args, row0, mid);
    fn(&args, mid, row1);
    check_result(p, k, what, fn == problem_slot(k, p)->gemm, e, y, row0, row1);
    if (row1 - row0 > SHARE_GEMM_ROWS) { /* more than the engine asks for at once */
        args.prefetch_next = true;
        fn(&args, row0, row1);
        check_result(p, k, what, fn == problem_slot(k, p)->gemm, e, y, row0, row1);
    }
    free(args.scratch);
    free(w);
    free(y);
}

/* Activations in tiles: another format's are not used; its own are, and nothing but them. */
static void check_arranged(const struct problem *p, const struct kernels *k, struct acts *a, const struct exact *e)
{
    enum { PARTS = 3 };
    const enum dtype own = p->type->id;
    const bool q8 = a->kind == ACT_Q8, floats = a->kind == ACT_F32;
    const enum dtype others[] = { q8 ? DTYPE_Q8_0 : floats ? DTYPE_F16 : own, q8 ? DTYPE_Q6_K : own, q8 ? DTYPE_Q4_K : floats ? DTYPE_F32 : own, own };
    a->tiles = check_alloc(acts_tiles_bytes(a->kind, DTYPE_F32, p->n_tok, p->cols));
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        if (i + 1 == ARRAY_LEN(others))
            a->tiles_for = NULL;
        if (k->pack_acts[others[i]] && (i + 1 == ARRAY_LEN(others) || others[i] != own))
            for (unsigned part = PARTS; part-- > 0;)
                k->pack_acts[others[i]](a, others[i], part, PARTS);
        const bool uses = a->tiles_for != NULL; /* those of 16 bits may not: of few tokens, or of columns that are no whole tiles */
        if (i + 1 == ARRAY_LEN(others) && a->kind == ACT_Q8)
            memset(a->q, 0, p->n_tok * a->stride);
        else if (i + 1 == ARRAY_LEN(others) && uses && a->kind == ACT_BF16)
            memset(a->bf16, 0, p->n_tok * a->stride * sizeof *a->bf16);
        else if (i + 1 == ARRAY_LEN(others) && uses)
            memset((void *)(uintptr_t)a->f32, 0, p->n_tok * a->stride * sizeof *a->f32); /* ours */
        run_slot(p, k, problem_slot(k, p)->gemm, "packed gemm, activations in tiles", a, e, 0, p->rows);
    }
    free(a->tiles);
}

/* Tiles made from floats row by row, and these in pieces, are those of prepared activations. */
static void check_arranged_rows(const struct problem *p, const struct kernels *k, struct acts *a)
{
    const enum dtype type = p->type->id;
    const size_t planes = a->kind != ACT_F32 ? 1 : type == DTYPE_F32 ? 3 : 2, whole = size_align_up(p->n_tok, 32) * p->cols * 2 * planes;
    const size_t bytes = acts_tiles_bytes(a->kind, type, p->n_tok, p->cols);
    unsigned char *const want = check_alloc(bytes), *const got = check_alloc(bytes);
    void *const mem = check_alloc(acts_bytes(a->kind, 1, p->cols));
    memset(got, 0xff, bytes);
    a->tiles = want;
    k->pack_acts[type](a, type, 0, 1);
    a->tiles = got;
    a->tiles_for = NULL;
    for (size_t c = 0, n = 32; c < p->cols; c += n, n = 3 * n < p->cols - c ? 3 * n : p->cols - c)
        for (size_t t = 0; t < p->n_tok; t++) {
            struct acts row;
            acts_bind(&row, a->kind, 1, n, mem);
            row.pow2 = a->pow2;
            kernels_pack_acts_row(k, type, a, t, c, &row, p->x + t * (p->cols + 3) + c);
        }
    assert_non_null(a->tiles_for);
    assert_memory_equal(got, want, whole);
    free(mem);
    free(got);
    free(want);
}

static void check_acts(const struct problem *p, const struct kernels *k, bool pow2)
{
    const struct matmul_slot *s = problem_slot(k, p);
    struct acts a;
    void *buf = prepare_acts_pow2(k, s->act, pow2, &a, p->x, p->n_tok, p->cols, p->cols + 3);
    size_t row0 = p->rows > 2 * (size_t)s->row_align ? s->row_align : 0;
    struct exact e;
    exact_init(&e, p, k, &a);
    const char *gemm = p->packed ? "packed gemm" : "gemm", *gemv = p->packed ? "packed gemv" : "gemv";
    run_slot(p, k, s->gemm, gemm, &a, &e, 0, p->rows);
    if (row0)
        run_slot(p, k, s->gemm, gemm, &a, &e, row0, p->rows - 1);
    if (p->n_tok <= s->gemv_max_tok) {
        run_slot(p, k, s->gemv, gemv, &a, &e, 0, p->rows);
        if (row0)
            run_slot(p, k, s->gemv, gemv, &a, &e, row0, p->rows - 1);
    }
    if (p->packed && k->pack_acts[p->type->id])
        check_arranged(p, k, &a, &e);
    if (p->packed && kernels_packs_acts_rows(k, p->type->id, p->n_tok, p->cols)) {
        acts_bind(&a, s->act, p->n_tok, p->cols, buf);
        a.pow2 = pow2;
        k->act_prepare[s->act](&a, p->x, p->cols + 3, 0, p->n_tok);
        check_arranged_rows(p, k, &a);
    }
    exact_free(&e);
    free(buf);
}

static void check_problem(const struct problem *p, const struct kernels *k)
{
    check_acts(p, k, false);
    if (p->packed && k->pow2_min_tok > 0 && problem_slot(k, p)->act == ACT_Q8) /* whatever takes them is right by the others */
        check_acts(p, k, true);
}

/* Every so many products of type d of a list, packed weights too if k has them; only_packed: those alone. */
static void check_type(const struct kernels *k, const struct dtype_info *t, size_t d, bool only_packed, struct rng *r)
{
    /* lengths without a common factor: every pair meets */
    static const size_t tok[] = { 1, 2, 3, 4, 5, 6, 7, 10, 13, 16, 33, 89, 97 };
    static const size_t rows[] = { 1, 17, 32, 67, 100, 129 };
    static const size_t blocks[] = { 1, 3, 13, 2, 8, 20, 5 };
    for (size_t s = d % check_every(); s < ARRAY_LEN(tok) * 4; s += check_every()) {
        size_t n_blocks = blocks[s % ARRAY_LEN(blocks)];
        size_t cols = n_blocks * t->block_elems;
        if (t->block_elems == 1) /* any width; around the chunk sizes too; whole tiles */
            cols = s % 5 == 4 ? n_blocks * 64 : n_blocks * 37 - (s % 3);
        struct problem p;
        problem_init(&p, r, t, rows[(s / 2) % ARRAY_LEN(rows)], cols, tok[s % ARRAY_LEN(tok)]);
        if (!only_packed)
            check_problem(&p, k);
        size_t bytes;
        p.packed = k->packed[t->id].gemv && pack_bytes(t->id, p.rows, p.cols, &bytes);
        if (p.packed)
            check_problem(&p, k);
        problem_free(&p);
    }
}

/* Products of packed weights that this CPU's ports do not ask for, of other ports, are tried too. */
void test_matmul(void **state)
{
    (void)state;
    struct kernels k, other;
    struct rng r;
    rng_init(&r, 7);
    for (size_t i = 0; rung_at(i, &k); i++) {
        other = k;
        rung_of_other_ports(&other);
        for (size_t d = 0; dtype_at(d); d++) {
            const enum dtype id = dtype_at(d)->id;
            if (k.mm[id].gemm)
                check_type(&k, dtype_at(d), d, false, &r);
            if (other.packed[id].gemm != k.packed[id].gemm)
                check_type(&other, dtype_at(d), d, true, &r);
        }
    }
}

/*
 * Sums of Q6_K in pairs, methods.md (91): where all sums of 16 are odd and the two scales of a block alike, what one is rounded down by the
 * other is rounded up by; sums as large as there are, times the largest scale, are exact.
 */
void test_matmul_pairs(void **state)
{
    (void)state;
    enum { ROWS = 40, COLS = 512, TOK = 11, BYTES = 210 };
    const struct dtype_info *t = dtype_find(DTYPE_Q6_K);
    struct kernels k;
    struct rng r;
    rng_init(&r, 31);
    for (size_t i = 0; rung_at(i / 4, &k); i++) {
        const bool large = i % 2;
        struct problem p;
        if (i / 2 % 2)
            rung_of_other_ports(&k);
        problem_init(&p, &r, t, ROWS, COLS, TOK);
        p.packed = k.packed[t->id].gemm != NULL;
        for (size_t b = 0; b < ROWS * COLS / 256; b++) {
            unsigned char *const block = p.w + b * BYTES;
            memset(block, large ? 0 : 0x11, 128); /* q - 32 is -32, or 1 */
            memset(block + 128, large ? 0 : 0xaa, 64);
            memset(block + 192, large ? -128 : 5, 16);
            block[208] = 0, block[209] = 0x3c; /* 1 */
        }
        for (size_t n = 0; n < TOK * (COLS + 3); n++) /* 127 and 14 times 1 of 16, or 127 in all of them, times 1.5 */
            p.x[n] = 1.5f * (float)(large || n % (COLS + 3) % 16 == 3 ? 127 : n % (COLS + 3) % 16 != 5);
        struct acts a;
        void *buf = prepare_acts(&k, problem_slot(&k, &p)->act, &a, p.x, TOK, COLS, COLS + 3);
        struct exact e;
        exact_init(&e, &p, &k, &a);
        memset(e.lost, 0, TOK * ROWS * sizeof *e.lost);
        run_slot(&p, &k, problem_slot(&k, &p)->gemm, "gemm in pairs", &a, &e, 0, ROWS);
        exact_free(&e);
        free(buf);
        problem_free(&p);
    }
}

/* Weights that are 0 give 0 and nothing else, whatever digits the activations' scales have: sums start at a large number, methods.md (90). */
void test_matmul_zero(void **state)
{
    (void)state;
    enum { ROWS = 40, COLS = 512, BYTES = 34 };
    static const size_t tok[] = { 1, 4, 9, 33 };
    const struct dtype_info *t = dtype_find(DTYPE_Q8_0);
    struct kernels k;
    struct rng r;
    rng_init(&r, 32);
    for (size_t i = 0; rung_at(i, &k); i++)
        for (size_t n = 0; n < ARRAY_LEN(tok); n++) {
            struct problem p;
            problem_init(&p, &r, t, ROWS, COLS, tok[n]);
            for (size_t b = 0; b < ROWS * COLS / 32; b++)
                memset(p.w + b * BYTES + 2, 0, BYTES - 2);
            for (int packed = 0; packed <= (k.packed[t->id].gemm != NULL); packed++) {
                p.packed = packed;
                check_problem(&p, &k);
            }
            problem_free(&p);
        }
}

/* Rows with a single weight have nothing that sums may be off by: every part of a number that is taken apart counts. methods.md (94) */
void test_matmul_parts(void **state)
{
    (void)state;
    enum { ROWS = 40, COLS = 320, TOK = 67, TERMS = 8 };
    struct kernels k;
    struct rng r;
    rng_init(&r, 33);
    for (size_t i = 0; rung_at(i, &k); i++) {
        struct problem p;
        problem_init(&p, &r, dtype_find(DTYPE_F32), ROWS, COLS, TOK);
        for (size_t n = 0; n < ROWS * COLS; n++)
            if (n % COLS != n / COLS * 7 % COLS)
                memset(p.w + n * sizeof(float), 0, sizeof(float));
        p.packed = k.packed[DTYPE_F32].gemm != NULL;
        struct acts a;
        void *buf = prepare_acts(&k, problem_slot(&k, &p)->act, &a, p.x, TOK, COLS, COLS + 3);
        struct exact e;
        exact_init(&e, &p, &k, &a);
        for (size_t n = 0; n < ROWS * TOK; n++)
            e.bound[n] = TERMS * 0x1p-24 * fabs(e.y[n]) + (double)FLT_MIN;
        run_slot(&p, &k, problem_slot(&k, &p)->gemm, "gemm of single weights", &a, &e, 0, ROWS);
        exact_free(&e);
        free(buf);
        problem_free(&p);
    }
}

/* More of everything than kernels take at once: rows and tokens of a block, columns of a step; and, of every other type, results
 * whose rows stand whole lines apart, which may go past the caches. */
void test_matmul_blocks(void **state)
{
    (void)state;
    enum { LINES = 19 };
    static const enum dtype types[] = { DTYPE_Q8_0, DTYPE_Q2_K, DTYPE_Q6_K, DTYPE_Q5_1, DTYPE_BF16, DTYPE_F16, DTYPE_F32 };
    struct kernels k;
    struct rng r;
    rng_init(&r, 11);
    for (size_t i = 0; rung_at(i, &k); i++)
        for (size_t d = 0; d < ARRAY_LEN(types); d++) {
            struct problem p;
            if (!k.packed[types[d]].gemv || (d + i) % check_every())
                continue;
            problem_init(&p, &r, dtype_find(types[d]), 290, 1280, 523);
            p.packed = true;
            if (d % 2 == 0)
                p.y_stride = LINES * 16;
            check_problem(&p, &k);
            problem_free(&p);
        }
}

/* y of all tokens by the slot of packed weights' gemv: of more quantized ones than it takes the first, and then the last of them once
 * more; floats it takes all. */
static float *packed_few(const struct kernels *k, const struct problem *p)
{
    const struct matmul_slot *s = &k->packed[p->type->id];
    const size_t n = s->act != ACT_Q8 || p->n_tok < s->gemv_max_tok ? p->n_tok : s->gemv_max_tok;
    unsigned char *w = weights_for_slot(p);
    float *y = check_alloc(p->n_tok * p->y_stride * sizeof *y);
    memset(y, 0, p->n_tok * p->y_stride * sizeof *y);
    void *scratch = check_scratch(kernels_scratch_bytes(p->cols, n));
    for (size_t done = 0; done < p->n_tok; done += n) {
        const size_t t = done + n <= p->n_tok ? done : p->n_tok - n;
        struct acts a;
        void *buf = prepare_acts(k, s->act, &a, p->x + t * (p->cols + 3), n, p->cols, p->cols + 3);
        const struct matmul_args args = { w, p->type->id, p->row_bytes, p->cols, &a, y + t * p->y_stride, p->y_stride, scratch, false, false };
        s->gemv(&args, 0, p->rows);
        free(buf);
    }
    free(w);
    free(scratch);
    return y;
}

static void check_streams(const struct kernels *k, const struct kernels *other, const struct dtype_info *t, struct rng *r)
{
    const unsigned mine = k->packed[t->id].gemv_max_tok, others = other->packed[t->id].gemv_max_tok, most = mine > others ? mine : others;
    for (size_t n = 1; n <= most; n++) {
        struct problem p;
        const size_t cols = t->block_elems == 1 ? 418 : (t->block_elems == 32 ? 19 : 11) * t->block_elems; /* long steps, short ones (where runs are shorter), a rest */
        problem_init(&p, r, t, 50, cols, n);
        p.packed = true;
        float *y = packed_few(k, &p), *z = packed_few(other, &p);
        if (memcmp(y, z, n * p.y_stride * sizeof *y) != 0)
            fail_msg("%s: %s, %zu tokens: what a CPU's memory likes changes the results", k->isa, t->name, n);
        free(y);
        free(z);
        problem_free(&p);
    }
}

/* How memory is asked for lines to come (CPU_HW_PREFETCH, CPU_SW_PREFETCH) changes no bit; the functions that this host does not use
 * are held to those that test_matmul has tried. */
void test_matmul_streams(void **state)
{
    (void)state;
    struct rng r;
    rng_init(&r, 12);
    bool usable;
    for (size_t i = 0; kernels_isa_at(i, &usable); i++) {
        struct error err;
        unsigned flags;
        struct kernels k, other;
        if (!usable)
            continue;
        assert_ok(kernels_isa_flags(kernels_isa_at(i, NULL), &flags, &err), err);
        kernels_init(&k, flags);
        const unsigned likes[] = { 0, CPU_HW_PREFETCH, CPU_SW_PREFETCH };
        for (size_t j = 0; j < ARRAY_LEN(likes); j++) {
            kernels_init(&other, (flags & ~(unsigned)CPU_LIKES) | likes[j]);
            for (size_t d = 0; dtype_at(d); d++) {
                const struct dtype_info *t = dtype_at(d);
                const struct matmul_slot *a = &k.packed[t->id], *b = &other.packed[t->id];
                if (a->gemv != b->gemv || a->gemv_max_tok != b->gemv_max_tok)
                    check_streams(&k, &other, t, &r);
            }
        }
    }
}

/* The two scales of MXFP4 that a float holds as subnormals, with activations that bring the
 * products back among the normal ones. */
void test_matmul_subnormal(void **state)
{
    (void)state;
    struct kernels k;
    struct rng r;
    rng_init(&r, 9);
    for (size_t i = 0; rung_at(i, &k); i++)
        for (unsigned char e = 0; e < 4; e++) {
            struct problem p;
            problem_init(&p, &r, dtype_find(DTYPE_MXFP4), 40, 96, 1);
            for (size_t b = 0; b < p.rows * p.cols / 32; b++)
                p.w[b * p.type->block_bytes] = e;
            for (size_t c = 0; c < p.cols; c++)
                p.x[c] *= 0x1p40f;
            check_problem(&p, &k);
            p.packed = k.packed[DTYPE_MXFP4].gemv != NULL;
            if (p.packed)
                check_problem(&p, &k);
            problem_free(&p);
        }
}
