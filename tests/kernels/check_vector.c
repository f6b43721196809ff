/* tests/kernels/check_vector.c: activation quantization to the bit; norm, gates, caps,
 * rotation within bounds. */
#include "check.h"
#include <float.h>
#include <math.h>

static void assert_same_acts(const struct kernels *k, enum act_kind kind, bool pow2, const float *x,
                             size_t n_tok, size_t cols, size_t ld)
{
    struct kernels ref;
    struct acts a, b;
    kernels_init(&ref, 0);
    void *want = prepare_acts_pow2(&ref, kind, pow2, &a, x, n_tok, cols, ld);
    void *got = prepare_acts_pow2(k, kind, pow2, &b, x, n_tok, cols, ld);
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

/* ref follows methods.md (89): d = max|x| / 127, or the power of two from there on, q the nearest integer, the sums its sums.
 */
static void check_q8_rule(const float *x, size_t cols, bool pow2)
{
    struct kernels ref;
    struct acts a;
    kernels_init(&ref, 0);
    void *buf = prepare_acts_pow2(&ref, ACT_Q8, pow2, &a, x, 1, cols, cols);
    for (size_t c = 0; c < a.stride; c += 16) {
        float max = 0;
        int sum = 0, exponent;
        for (size_t i = c / 32 * 32; i < c / 32 * 32 + 32 && i < cols; i++)
            max = fmaxf(max, fabsf(x[i]));
        const float d = a.d[c / 32];
        if (pow2)
            assert_true(max == 0 ? d == 0 : frexpf(d, &exponent) == 0.5f && d >= max / 127 && d / 2 < max / 127);
        else
            assert_true(d == max / 127);
        for (size_t i = c; i < c + 16; i++) {
            double v = i < cols ? pow2 ? (double)x[i] / (double)d : (double)x[i] * 127 / (double)max : 0;
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
                check_q8_rule(x, cols[c], false), check_q8_rule(x, cols[c], true);
            for (int kind = 0; kind < ACT_KIND_COUNT; kind++)
                for (int pow2 = 0; pow2 < (kind == ACT_Q8 ? 2 : 1); pow2++)
                    assert_same_acts(&k, (enum act_kind)kind, pow2, x, n_tok, cols[c], ld);
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
        assert_same_acts(&k, ACT_Q8, false, x, 1, COLS, COLS);
        assert_same_acts(&k, ACT_Q8, true, x, 1, COLS, COLS);
        assert_same_acts(&k, ACT_BF16, false, x, 1, COLS, COLS);
        void *buf = prepare_acts(&k, ACT_Q8, &a, x, 1, COLS, COLS);
        assert_true(isnan(a.d[2 * 7]) && isnan(a.d[2 * 8]) && isnan(a.d[2 * 9 + 1]));
        assert_true(a.d[0] == 0 && a.q[5] == 0);
        assert_true(a.d[20] == 1.0f / 127 && a.q[10 * 64 + 5] == 127 && a.sum[40] == 127);
        assert_true(a.d[22] == 1 && a.q[11 * 64 + 5] == -127);
        free(buf);
        buf = prepare_acts_pow2(&k, ACT_Q8, true, &a, x, 1, COLS, COLS);
        assert_true(isnan(a.d[2 * 6]) && isnan(a.d[2 * 7]) && isnan(a.d[2 * 8]) && isnan(a.d[2 * 9 + 1]));
        assert_true(a.d[0] == 0 && a.d[20] == 0x1p-6f && a.q[10 * 64 + 5] == 64 && a.sum[40] == 64);
        assert_true(a.d[22] == 1 && a.q[11 * 64 + 5] == -127);
        free(buf);
    }
}

/* n additions of squares in float, then a root, a quotient and two products. methods.md
 * (96) */
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

/*
 * x / (1 + exp(-y)) * z against the same in double. exp is off by 4 u, then come three
 * roundings; e, z_off: roundings of y, which the exponential turns into e |y| / (1 + e^y),
 * and of z. methods.md (96)
 */
struct gate {
    const char *name;
    size_t slot; /* offset in struct kernels */
    double e, z_off;
};
typedef void gate_fn(float *dst, const float *a, const float *b, size_t n);

static double exact_gate(const struct gate *g, double a, double b, double *bound)
{
    double x = a, y = a, z = b;
    if (strcmp(g->name, "gelu_mul") == 0)
        y = 2 * sqrt(2 / acos(-1)) * (a + 0.044715 * a * a * a);
    if (strcmp(g->name, "swiglu_oai") == 0) {
        x = fmin(a, 7);
        y = 1.702 * x;
        z = fmin(fmax(b, -7), 7) + 1;
    }
    double want = a == -INFINITY ? 0 : x / (1 + exp(-y)) * z;
    *bound = (8 + g->z_off + (fabs(y) < 200 ? g->e * fabs(y) / (1 + exp(y)) : 0)) * 0x1p-24;
    *bound = *bound * fabs(want) + 1e-36;
    return want;
}

static void check_gate(const struct kernels *k, const struct gate *g, const float *a,
                       const float *b, size_t n)
{
    gate_fn *fn;
    memcpy(&fn, (const char *)k + g->slot, sizeof fn);
    float *y = check_alloc((n + 1) * sizeof *y);
    memcpy(y, a, n * sizeof *y);
    y[n] = 77;
    fn(y, y, b, n); /* dst may be a */
    assert_true(y[n] == 77);
    for (size_t j = 0; j < n; j++) {
        double bound, want = exact_gate(g, (double)a[j], (double)b[j], &bound);
        if (!(fabs((double)y[j] - want) <= bound) && (double)y[j] != want)
            fail_msg("%s: %s(%.9g, %.9g) = %.9g, expected %.9g", k->isa, g->name,
                     (double)a[j], (double)b[j], (double)y[j], want);
    }
    float nan = NAN, one = 1, out = 0;
    fn(&out, &nan, &one, 1);
    assert_true(isnan(out));
    fn(&out, &one, &nan, 1);
    assert_true(isnan(out));
    free(y);
}

void test_gates(void **state)
{
    (void)state;
    static const float special[] = { -INFINITY, INFINITY, 0,     -0.0f,  1e-30f,  -1e-30f,
                                     -1000,     1000,     1e20f, -1e20f, FLT_MAX, -FLT_MAX,
                                     7,         7.5f,     -7.5f, 1e-42f };
    static const struct gate gates[] = {
        {"silu_mul",    offsetof(struct kernels, silu_mul),   0, 0},
        { "gelu_mul",   offsetof(struct kernels, gelu_mul),   6, 0},
        { "swiglu_oai", offsetof(struct kernels, swiglu_oai), 2, 1},
    };
    enum { N = 40011 };
    struct kernels k;
    struct rng r;
    rng_init(&r, 6);
    float *a = check_alloc(N * sizeof *a), *b = random_floats(&r, N, 5);
    for (size_t i = 0; i < N; i++)
        a[i] = (float)((double)i / N * 240 - 120);
    for (size_t i = 0; i < N / 2; i++) /* where GELU is between 0 and x */
        a[i] = (float)((double)i / N * 24 - 6);
    for (size_t i = 0; i < ARRAY_LEN(special); i++) {
        a[3 + i] = special[i];
        b[3 + i] = i % 2 ? 0.5f : -0.25f;
        b[103 + i] = isinf(special[i]) ? 9 : special[i] / FLT_MAX;
    }
    b[200] = -1, b[201] = -7, b[202] = 8, b[203] = -1 + 0x1p-20f;
    for (size_t i = 0; rung_at(i, &k); i++)
        for (size_t g = 0; g < ARRAY_LEN(gates); g++) {
            check_gate(&k, &gates[g], a, b, N);
            for (size_t n = 0; n < 40; n++)
                check_gate(&k, &gates[g], a + 50, b + 50, n);
        }
    free(a);
    free(b);
}

/* tanh is off by 6 u at most, the quotient and the product by one each. methods.md (96) */
void test_softcap(void **state)
{
    (void)state;
    static const float caps[] = { 30, 50, 1, 0.037f, 1e6f };
    enum { N = 30013 };
    struct kernels k;
    float *x = check_alloc(N * sizeof *x), *y = check_alloc((N + 1) * sizeof *y);
    for (size_t i = 0; rung_at(i, &k); i++)
        for (size_t c = 0; c < ARRAY_LEN(caps); c++) {
            for (size_t j = 0; j < N; j++) /* to 12 caps, then down to 1e-30 of one */
                x[j] = caps[c] * (j % 2 ? 1.0f : -1.0f) *
                       (float)(j < N / 2 ? 24.0 * (double)j / N
                                         : pow(10, 30 - 60 * (double)j / N));
            x[3] = 0, x[4] = INFINITY, x[5] = -INFINITY, x[6] = FLT_MAX, x[7] = -FLT_MAX;
            x[8] = NAN, x[9] = 1e-40f;
            memcpy(y, x, N * sizeof *y);
            y[N] = 77;
            k.softcap(y, N, caps[c]);
            assert_true(y[N] == 77 && isnan(y[8]));
            for (size_t j = 0; j < N; j++) {
                double cap = (double)caps[c], want = cap * tanh((double)x[j] / cap);
                if (j != 8 &&
                    !(fabs((double)y[j] - want) <= 8 * 0x1p-24 * fabs(want) + 1e-37))
                    fail_msg("%s: softcap(%.9g, %g) = %.9g, expected %.9g", k.isa,
                             (double)x[j], cap, (double)y[j], want);
            }
        }
    free(x);
    free(y);
}

/* x - max is rounded once, which the exponential turns into |x - max| u; exp is off by 4 u, the sum by n u of what it is, and
 * three roundings come behind. methods.md (96) */
void test_softmax(void **state)
{
    (void)state;
    static const size_t n[] = { 1, 2, 7, 16, 31, 64, 100, 4099 };
    static const float special[] = { NAN, INFINITY };
    struct kernels k;
    struct rng r;
    rng_init(&r, 7);
    for (size_t i = 0; rung_at(i, &k); i++)
        for (size_t c = 0; c < ARRAY_LEN(n); c++) {
            float *x = random_floats(&r, n[c], 20), *y = check_alloc((n[c] + 1) * sizeof *y);
            double max = -INFINITY, sum = 0;
            if (n[c] > 5)
                x[3] = -INFINITY, x[5] = -1e30f;
            memcpy(y, x, n[c] * sizeof *y);
            y[n[c]] = 77;
            k.softmax(y, n[c]);
            assert_true(y[n[c]] == 77);
            for (size_t j = 0; j < n[c]; j++)
                max = fmax(max, (double)x[j]);
            for (size_t j = 0; j < n[c]; j++)
                sum += exp((double)x[j] - max);
            for (size_t j = 0; j < n[c]; j++) {
                const double d = max - (double)x[j], want = exp(-d) / sum;
                if (!(fabs((double)y[j] - want) <= ((d < 200 ? d : 0) + (double)n[c] + 8) * 0x1p-24 * want + 1e-37))
                    fail_msg("%s: softmax of %zu: [%zu] = %.9g, expected %.9g", k.isa, n[c], j, (double)y[j], want);
            }
            for (size_t s = 0; s < ARRAY_LEN(special); s++) {
                memcpy(y, x, n[c] * sizeof *y);
                y[n[c] / 2] = special[s];
                k.softmax(y, n[c]);
                for (size_t j = 0; j < n[c]; j++)
                    assert_true(isnan(y[j]));
            }
            free(x);
            free(y);
        }
}

/* The dims of each pair: (2i, 2i + 1), or (i, i + rot / 2) as NeoX has them; nothing else
 * is written. */
static void check_rope(const struct kernels *k, struct rng *r, size_t n_head, size_t stride,
                       size_t rot, bool neox)
{
    size_t n = n_head * stride + 1;
    float *x = random_floats(r, n, 1), *y = check_alloc(n * sizeof *y);
    double *want = check_alloc(n * sizeof *want), *mag = check_alloc(n * sizeof *mag);
    float *cs = check_alloc(rot * sizeof *cs);
    for (size_t i = 0; i < n; i++)
        want[i] = (double)x[i], mag[i] = 0;
    for (size_t i = 0; i < rot / 2; i++) {
        double angle = rng_uniform(r) * 100;
        cs[2 * i] = (float)cos(angle), cs[2 * i + 1] = (float)sin(angle);
        for (size_t h = 0; h < n_head; h++) {
            size_t at = h * stride + (neox ? i : 2 * i), to = at + (neox ? rot / 2 : 1);
            double co = (double)cs[2 * i], s = (double)cs[2 * i + 1];
            want[at] = (double)x[at] * co - (double)x[to] * s;
            want[to] = (double)x[at] * s + (double)x[to] * co;
            mag[at] = mag[to] = fabs((double)x[at]) + fabs((double)x[to]);
        }
    }
    memcpy(y, x, n * sizeof *y);
    (neox ? k->rope_neox : k->rope)(y, n_head, stride, rot, cs);
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)y[i] - want[i]) <= 2 * 0x1p-24 * mag[i]))
            fail_msg("%s: %s %zu heads, %zu apart, n_rot %zu: [%zu] = %.9g, expected %.9g",
                     k->isa, neox ? "rope_neox" : "rope", n_head, stride, rot, i,
                     (double)y[i], want[i]);
    free(x);
    free(y);
    free(want);
    free(mag);
    free(cs);
}

void test_rope(void **state)
{
    (void)state;
    /* heads, distance, n_rot */
    static const size_t shapes[][3] = {
        {3,  64,  64 },
        { 2, 48,  48 },
        { 5, 80,  20 },
        { 1, 6,   4  },
        { 4, 72,  72 },
        { 2, 96,  34 },
        { 3, 192, 64 },
        { 2, 128, 128},
        { 2, 112, 28 },
        { 7, 41,  40 },
        { 2, 256, 62 }
    };
    struct kernels k;
    struct rng r;
    rng_init(&r, 10);
    for (size_t i = 0; rung_at(i, &k); i++)
        for (size_t s = 0; s < ARRAY_LEN(shapes); s++) {
            check_rope(&k, &r, shapes[s][0], shapes[s][1], shapes[s][2], false);
            check_rope(&k, &r, shapes[s][0], shapes[s][1], shapes[s][2], true);
        }
}

void test_add_f16(void **state)
{
    (void)state;
    struct kernels k;
    struct rng r;
    rng_init(&r, 9);
    for (size_t i = 0; rung_at(i, &k); i++) {
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
