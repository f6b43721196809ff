/* tests/kernels/check_vector.c: activation quantization to the bit; norm, gate, rotation
 * within bounds. */
#include "check.h"
#include <math.h>

static void assert_same_acts(const struct kernels *k, enum act_kind kind, const float *x,
                             size_t n_tok, size_t cols, size_t ld)
{
    struct kernels ref;
    struct acts a, b;
    kernels_init(&ref, 0);
    void *want = prepare_acts(&ref, kind, &a, x, n_tok, cols, ld);
    void *got = prepare_acts(k, kind, &b, x, n_tok, cols, ld);
    size_t n = a.stride * n_tok;
    const char *bad = NULL;
    if (kind == ACT_F32)
        bad = memcmp(a.f32, b.f32, n * sizeof *a.f32) ? "f32" : NULL;
    else if (kind == ACT_BF16)
        bad = memcmp(a.bf16, b.bf16, n * sizeof *a.bf16) ? "bf16" : NULL;
    else if (memcmp(a.q, b.q, n))
        bad = "q";
    else if (memcmp(a.d, b.d, n / 32 * sizeof *a.d))
        bad = "d";
    else if (memcmp(a.sum, b.sum, n / 16 * sizeof *a.sum))
        bad = "sum";
    if (bad)
        fail_msg("%s: act_prepare kind %d, %zu columns: %s differs from ref", k->isa,
                 (int)kind, cols, bad);
    free(want);
    free(got);
}

/* ref follows methods.md (10): d = max|x| / 127, q the nearest integer, the sums its sums.
 */
static void check_q8_rule(const float *x, size_t cols)
{
    struct kernels ref;
    struct acts a;
    kernels_init(&ref, 0);
    void *buf = prepare_acts(&ref, ACT_Q8, &a, x, 1, cols, cols);
    for (size_t c = 0; c < a.stride; c += 16) {
        float max = 0;
        int sum = 0;
        for (size_t i = c / 32 * 32; i < c / 32 * 32 + 32 && i < cols; i++)
            max = fmaxf(max, fabsf(x[i]));
        assert_true(a.d[c / 32] == max / 127);
        for (size_t i = c; i < c + 16; i++) {
            double v = i < cols ? (double)x[i] * 127 / (double)max : 0;
            assert_true(fabs(v - a.q[i]) <= 0.5 + 127 * 0x1p-22);
            sum += a.q[i];
        }
        assert_int_equal(a.sum[c / 16], sum);
    }
    free(buf);
}

void test_acts_exact(void **state)
{
    (void)state;
    static const size_t cols[] = { 32, 1, 31, 64, 96, 100, 288, 333, 2048 };
    struct kernels k;
    struct rng r;
    rng_init(&r, 3);
    for (size_t i = 0; rung_at(i, &k); i++)
        for (size_t c = 0; c < ARRAY_LEN(cols); c++) {
            size_t ld = cols[c] + 5, n_tok = 5;
            float *x = random_floats(&r, n_tok * ld, 1.0);
            for (size_t j = 0; j < n_tok * ld; j += 7) /* ties of the rounding */
                x[j] = (float)((int)(rng_u64(&r) % 255) - 127) * 0.5f;
            if (i == 0)
                check_q8_rule(x, cols[c]);
            for (int kind = 0; kind < ACT_KIND_COUNT; kind++)
                assert_same_acts(&k, (enum act_kind)kind, x, n_tok, cols[c], ld);
            free(x);
        }
}

/* Zeros, subnormals, huge values, infinities and NaN: the same bits too, and sane ones. */
void test_acts_special(void **state)
{
    (void)state;
    static const float v[] = { 0,       -0.0f,    1e-40f, -1e-38f,   0x1p-112f, 0x1.8p-113f,
                               3.4e38f, INFINITY, NAN,    -INFINITY, 1,         -127 };
    struct kernels k;
    enum { COLS = 64 * ARRAY_LEN(v) };
    float x[COLS] = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        x[i * 64 + 5] = v[i];
        for (size_t j = 0; j < 32; j++) /* a second block, with ordinary neighbours */
            x[i * 64 + 32 + j] = j == 17 ? v[i] : (float)j * 0.25f;
    }
    for (size_t i = 0; rung_at(i, &k); i++) {
        struct acts a;
        assert_same_acts(&k, ACT_Q8, x, 1, COLS, COLS);
        assert_same_acts(&k, ACT_BF16, x, 1, COLS, COLS);
        void *buf = prepare_acts(&k, ACT_Q8, &a, x, 1, COLS, COLS);
        assert_true(isnan(a.d[2 * 7]) && isnan(a.d[2 * 8]) && isnan(a.d[2 * 9 + 1]));
        assert_true(a.d[0] == 0 && a.q[5] == 0);
        assert_true(a.d[20] == 1.0f / 127 && a.q[10 * 64 + 5] == 127 && a.sum[40] == 127);
        assert_true(a.d[22] == 1 && a.q[11 * 64 + 5] == -127);
        free(buf);
    }
}

/* n additions of squares in float, then a root, a quotient and two products. methods.md
 * (22) */
void test_rms_norm(void **state)
{
    (void)state;
    static const size_t n[] = { 1, 7, 16, 64, 100, 288, 2048, 4099 };
    struct kernels k;
    struct rng r;
    rng_init(&r, 5);
    for (size_t i = 0; rung_at(i, &k); i++)
        for (size_t c = 0; c < ARRAY_LEN(n); c++) {
            float *x = random_floats(&r, n[c], 3), *w = random_floats(&r, n[c], 1);
            float *y = check_alloc((n[c] + 1) * sizeof *y);
            double ss = 0, bound = ((double)n[c] + 8) * 0x1p-24;
            y[n[c]] = 77;
            k.rms_norm(y, x, w, n[c], 1e-5f);
            for (size_t j = 0; j < n[c]; j++)
                ss += (double)x[j] * (double)x[j];
            double s = 1 / sqrt(ss / (double)n[c] + (double)1e-5f);
            for (size_t j = 0; j < n[c]; j++) {
                double want = (double)x[j] * s * (double)w[j];
                if (!(fabs((double)y[j] - want) <= bound * fabs(want)))
                    fail_msg("%s: rms_norm of %zu: [%zu] = %.9g, expected %.9g", k.isa,
                             n[c], j, (double)y[j], want);
            }
            assert_true(y[n[c]] == 77);
            free(x);
            free(w);
            free(y);
        }
}

/* Relative error of exp at most 4 * 2^-24 (measured in the same sweep), then three
 * roundings. */
void test_silu_mul(void **state)
{
    (void)state;
    enum { N = 20011 };
    struct kernels k;
    float *a = check_alloc(N * sizeof *a), *b = check_alloc(N * sizeof *b);
    float *y = check_alloc((N + 1) * sizeof *y);
    for (size_t i = 0; i < N; i++) {
        a[i] = (float)((double)i / N * 240 - 120);
        b[i] = i % 2 ? 1.0f : -2.5f;
    }
    a[3] = -INFINITY, a[4] = INFINITY, a[5] = 0, a[6] = -0.0f, a[7] = 1e-30f, a[8] = -1000,
    a[9] = 1000;
    for (size_t i = 0; rung_at(i, &k); i++) {
        y[N] = 77;
        k.silu_mul(y, a, b, N);
        assert_true(y[N] == 77);
        for (size_t j = 0; j < N; j++) {
            double x = (double)a[j], want = x / (1 + exp(-x)) * (double)b[j];
            if (j == 3) /* -inf / (1 + inf) */
                continue;
            if (!(fabs((double)y[j] - want) <= 8 * 0x1p-24 * fabs(want) + 1e-36) &&
                (double)y[j] != want)
                fail_msg("%s: silu(%.9g) * %g = %.9g, expected %.9g", k.isa, x,
                         (double)b[j], (double)y[j], want);
        }
        float nan = NAN, one = 1, out = 0;
        k.silu_mul(&out, &nan, &one, 1);
        assert_true(isnan(out));
    }
    free(a);
    free(b);
    free(y);
}

static void check_rope(const struct kernels *k, struct rng *r, size_t n_head, size_t dim,
                       size_t rot)
{
    float *x = random_floats(r, n_head * dim + 1, 1),
          *y = check_alloc((n_head * dim + 1) * sizeof *y);
    float *cs = check_alloc(rot * sizeof *cs);
    for (size_t i = 0; i < rot / 2; i++) {
        double angle = rng_uniform(r) * 100;
        cs[2 * i] = (float)cos(angle), cs[2 * i + 1] = (float)sin(angle);
    }
    memcpy(y, x, (n_head * dim + 1) * sizeof *y);
    k->rope(y, n_head, dim, rot, cs);
    for (size_t i = 0; i < n_head * dim + 1; i++) {
        size_t c = i % dim;
        double want = (double)x[i], mag = fabs(want);
        if (i < n_head * dim && c < rot) {
            double x0 = (double)x[i & ~(size_t)1], x1 = (double)x[i | 1];
            double co = (double)cs[c & ~(size_t)1], s = (double)cs[c | 1];
            want = c & 1 ? x0 * s + x1 * co : x0 * co - x1 * s;
            mag = fabs(x0) + fabs(x1);
        } else if (y[i] != x[i])
            fail_msg("%s: rope wrote dim %zu past n_rot %zu", k->isa, c, rot);
        if (!(fabs((double)y[i] - want) <= 2 * 0x1p-24 * mag))
            fail_msg("%s: rope [%zu] = %.9g, expected %.9g", k->isa, i, (double)y[i], want);
    }
    free(x);
    free(y);
    free(cs);
}

void test_add_rope_f16(void **state)
{
    (void)state;
    struct kernels k;
    struct rng r;
    rng_init(&r, 9);
    for (size_t i = 0; rung_at(i, &k); i++) {
        check_rope(&k, &r, 3, 64, 64);
        check_rope(&k, &r, 2, 48, 48);
        check_rope(&k, &r, 5, 80, 20);
        check_rope(&k, &r, 1, 6, 4);
        for (size_t n = 0; n < 70; n += 3) {
            float *x = random_floats(&r, n + 1, 1), *y = random_floats(&r, n + 1, 1);
            float *z = check_alloc((n + 1) * sizeof *z);
            memcpy(z, y, (n + 1) * sizeof *z);
            k.add(z, x, n);
            for (size_t j = 0; j < n; j++)
                assert_true(z[j] == y[j] + x[j]);
            assert_true(z[n] == y[n]);
            uint16_t h[80];
            memset(h, 0x5a, sizeof h);
            if (n)
                x[n / 2] = n % 2 ? 70000.0f : 1e-7f;
            k.f32_to_f16(h, x, n);
            for (size_t j = 0; j < n; j++)
                assert_int_equal(h[j], f32_to_f16(x[j]));
            assert_int_equal(h[n], 0x5a5a);
            free(x);
            free(y);
            free(z);
        }
    }
}
