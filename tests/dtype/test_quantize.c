/* Tests of the quantizers: their error, what they keep exactly, what they survive. */
#include "../test.h"
#include "dtype/dtype.h"
#include <math.h>

enum { N = 256 * 64 };
static float x[N], y[N];
static uint8_t raw[4 * N];

/* Normal weights into x. */
static void weights(void)
{
    struct rng rng;
    rng_init(&rng, 7);
    for (size_t i = 0; i < N; i++)
        x[i] = (float)(0.02 * rng_normal(&rng));
}

/* Quantize and back: root mean square error over root mean square. */
static double relative_rmse(const struct dtype_info *d)
{
    double e = 0, s = 0;
    d->quantize(x, raw, N);
    d->dequantize(raw, y, N);
    for (size_t i = 0; i < N; i++) {
        e += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
        s += (double)x[i] * (double)x[i];
    }
    return sqrt(e / s);
}

/*
 * Bound: what rounding to a uniform grid over the block's own range would give,
 * step / sqrt(12), with the expected largest of 32 normals 2.07 (of their magnitudes 2.33; of 16
 * 1.77 and 2.06), over the steps of the format; a K-quant's search has to beat it although its
 * scales are themselves quantized. The legacy symmetric formats get 5 % for the longer side.
 */
static void quantizer_error(void **state)
{
    (void)state;
    static const struct {
        enum dtype type;
        double range, steps;
    } bounds[] = {
        { DTYPE_F16, 0.001, 1 },      { DTYPE_BF16, 0.008, 1 },
        { DTYPE_Q8_0, 2.36, 127 },    { DTYPE_Q4_0, 2.33 * 1.05, 8 },
        { DTYPE_Q5_0, 2.33 * 1.05, 16 }, { DTYPE_Q5_1, 2 * 2.07, 31 },
        { DTYPE_Q4_K, 2 * 2.07, 15 }, { DTYPE_Q5_K, 2 * 2.07, 31 },
        { DTYPE_Q6_K, 2.06, 32 },     { DTYPE_Q4_1, 2 * 2.07, 15 },
        { DTYPE_Q2_K, 2 * 1.77, 3 },  { DTYPE_Q3_K, 2.06, 4 },
    };
    weights();
    for (size_t b = 0; b < ARRAY_LEN(bounds); b++) {
        const struct dtype_info *d = dtype_find(bounds[b].type);
        double e = relative_rmse(d), bound = bounds[b].range / bounds[b].steps / sqrt(12);
        if (!(e < bound) || !(e > 0))
            fail_msg("%s: relative error %.5f, expected below %.5f", d->name, e, bound);
    }
    assert_true(relative_rmse(dtype_find(DTYPE_F32)) == 0);
}

/*
 * Weights far above 0 cannot have a minimum below it in a K-quant: what is left is the grid 0..max,
 * here about 1.2 times the mean.
 */
static void all_positive(void **state)
{
    (void)state;
    static const struct {
        enum dtype type;
        double steps;
    } rows[] = { { DTYPE_Q2_K, 3 }, { DTYPE_Q4_K, 15 }, { DTYPE_Q5_K, 31 } };
    struct rng rng;
    rng_init(&rng, 11);
    for (size_t i = 0; i < N; i++)
        x[i] = (float)(1 + 0.1 * rng_normal(&rng));
    for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
        double e = relative_rmse(dtype_find(rows[r].type)), bound = 1.2 / rows[r].steps / sqrt(12);
        if (!(e < bound))
            fail_msg("%s: relative error %.5f, expected below %.5f", dtype_name(rows[r].type), e, bound);
    }
}

/* The integers or entries q stands for, ascending from grid[0]. */
struct grid {
    enum dtype type;
    size_t group; /* elements that share a scale */
    int n;
    double q[16];
};
#define IQ4_ENTRIES -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113
static const struct grid grids[] = {
    { DTYPE_Q4_1, 32, 16, { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 } },
    { DTYPE_Q2_K, 16, 4, { 0, 1, 2, 3 } },
    { DTYPE_Q3_K, 16, 8, { -4, -3, -2, -1, 0, 1, 2, 3 } },
    { DTYPE_IQ4_NL, 32, 16, { IQ4_ENTRIES } },
    { DTYPE_IQ4_XS, 32, 16, { IQ4_ENTRIES } },
    { DTYPE_MXFP4, 32, 15, { -6, -4, -3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4, 6 } },
};

/*
 * The squared error of plain rounding of one group, its scale a real number: a grid from 0 over
 * min..max, another with its first entry on the element of largest magnitude; MXFP4 by the rule of
 * the standard, exponent floor(log2 max) - 2.
 */
static double plain_error(const struct grid *g, const float *v)
{
    double lo = v[0], hi = v[0], e = 0;
    for (size_t i = 1; i < g->group; i++) {
        lo = fmin(lo, (double)v[i]);
        hi = fmax(hi, (double)v[i]);
    }
    double max = hi > -lo ? hi : lo, low = g->q[0] < 0 ? 0 : lo;
    double step = g->q[0] < 0 ? max / g->q[0] : (hi - lo) / g->q[g->n - 1];
    if (g->type == DTYPE_MXFP4)
        step = exp2(floor(log2(fabs(max))) - 2);
    for (size_t i = 0; i < g->group; i++) {
        double nearest = INFINITY;
        for (int k = 0; k < g->n; k++)
            nearest = fmin(nearest, fabs(step * g->q[k] + low - (double)v[i]));
        e += nearest * nearest;
    }
    return e;
}

/* What the search for a scale is for. Measured: 10.7, 18.6, 7.1, 8.3, 7.4 and 1.9 %. */
static void better_than_plain(void **state)
{
    (void)state;
    static const double margin[ARRAY_LEN(grids)] = { 0.10, 0.18, 0.066, 0.078, 0.068, 0.017 };
    weights();
    for (size_t k = 0; k < ARRAY_LEN(grids); k++) {
        double plain = 0, s = 0, found = relative_rmse(dtype_find(grids[k].type));
        for (size_t i = 0; i < N; i += grids[k].group)
            plain += plain_error(grids + k, x + i);
        for (size_t i = 0; i < N; i++)
            s += (double)x[i] * (double)x[i];
        plain = sqrt(plain / s);
        if (!(found < plain * (1 - margin[k])))
            fail_msg("%s: relative error %.5f, plain rounding has %.5f", dtype_name(grids[k].type),
                     found, plain);
    }
}

/* More bits, smaller error. */
static void monotone_in_bits(void **state)
{
    (void)state;
    static const enum dtype chains[][8] = {
        { DTYPE_Q2_K, DTYPE_Q3_K, DTYPE_Q4_K, DTYPE_Q5_K, DTYPE_Q6_K, DTYPE_Q8_0, DTYPE_BF16,
          DTYPE_F16 },
        { DTYPE_MXFP4, DTYPE_Q4_0, DTYPE_Q4_1, DTYPE_Q5_0, DTYPE_Q5_1, DTYPE_Q8_0, DTYPE_F16,
          DTYPE_F32 },
        { DTYPE_Q3_K, DTYPE_MXFP4, DTYPE_IQ4_XS, DTYPE_IQ4_NL, DTYPE_Q5_0, DTYPE_Q6_K, DTYPE_BF16,
          DTYPE_F32 },
    };
    weights();
    for (size_t c = 0; c < ARRAY_LEN(chains); c++)
        for (size_t k = 1; k < ARRAY_LEN(chains[c]); k++) {
            enum dtype few = chains[c][k - 1], more = chains[c][k];
            double e = relative_rmse(dtype_find(few)), f = relative_rmse(dtype_find(more));
            if (!(f < e))
                fail_msg("%s: relative error %.5f, %s: %.5f", dtype_name(few), e, dtype_name(more), f);
        }
}

/*
 * What a format can hold exactly comes back exactly: every group holds every entry of its grid,
 * scales are multiples of the block's, the largest among them, minima likewise.
 */
static void exact_round_trip(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 9);
    for (size_t k = 0; k < ARRAY_LEN(grids); k++)
        for (int rep = 0; rep < 200; rep++) {
            const struct grid *g = grids + k;
            const struct dtype_info *d = dtype_find(g->type);
            for (size_t i = 0; i < 256; i += g->group) {
                double step = 0.5, low = 0;
                int r = (int)(rng_u64(&rng) % 63), m = (int)(rng_u64(&rng) % 16);
                if (g->type == DTYPE_Q4_1)
                    low = 0.25 * (r - 31);
                else if (g->type == DTYPE_Q2_K) {
                    step *= i ? r % 16 : 15;
                    low = -0.25 * (i ? m : 15);
                } else if (g->type == DTYPE_MXFP4) /* subnormals among them */
                    step = i ? exp2(r - 38) : exp2(-127 + m);
                else if (g->type != DTYPE_IQ4_NL)
                    step *= i ? r - 31 : -32;
                for (size_t j = 0; j < g->group; j++) {
                    size_t q = j < (size_t)g->n ? j : rng_u64(&rng) % (size_t)g->n;
                    x[i + j] = (float)(step * g->q[q] + low);
                }
            }
            memset(raw, 0xff, 256);
            d->quantize(x, raw, 256);
            d->dequantize(raw, y, 256);
            for (size_t i = 0; i < 256; i++)
                if (!(x[i] == y[i]))
                    fail_msg("%s: element %zu of trial %d is %.9g, expected %.9g", d->name, i, rep,
                             (double)y[i], (double)x[i]);
        }
}

/*
 * MXFP4: half way between two codes is the even one: 0.25 0.75 1.25 1.75 2.5 3.5 5 are 0 1 1 2 2 4 4
 * (the 1.5s make 2^0 the better scale), and the codes of +-0 are 0.
 */
static void mxfp4_ties(void **state)
{
    (void)state;
    static const float in[] = { 6, 0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5, -0.25f, -5, -0.0f };
    static const uint8_t codes[] = { 7, 0, 2, 2, 4, 4, 6, 6, 0, 14, 0 };
    for (size_t i = 0; i < 32; i++)
        x[i] = i < ARRAY_LEN(in) ? in[i] : 1.5f;
    dtype_find(DTYPE_MXFP4)->quantize(x, raw, 32);
    assert_int_equal(raw[0], 127);
    for (size_t i = 0; i < 16; i++) {
        assert_int_equal(raw[1 + i] & 15, i < ARRAY_LEN(codes) ? codes[i] : 3);
        assert_int_equal(raw[1 + i] >> 4, 3);
    }
}

/* Largest error of an element against the largest magnitude in its block of scales. */
static void quantizer_worst_element(void **state)
{
    (void)state;
    static const struct {
        enum dtype type;
        size_t group;
        double worst; /* of the group's largest magnitude; 2^-10 is for the scale's own rounding */
    } bounds[] = {
        { DTYPE_Q8_0, 32, 0.5 / 127 * (1 + 0x1p-10) },
        { DTYPE_Q4_0, 32, 1.0 / 8 * (1 + 0x1p-10) }, /* the side with 7 steps clips by one */
        { DTYPE_Q5_0, 32, 1.0 / 16 * (1 + 0x1p-10) },
        { DTYPE_Q5_1, 32, 0.5 * 2 / 31 + 0x1p-10 },
        { DTYPE_MXFP4, 32, 0.25 }, /* almost 8 clipped at 6 */
    };
    struct rng rng;
    rng_init(&rng, 8);
    for (size_t i = 0; i < N; i++)
        x[i] = (float)(rng_normal(&rng) * exp(3 * rng_normal(&rng)));
    for (size_t b = 0; b < ARRAY_LEN(bounds); b++) {
        relative_rmse(dtype_find(bounds[b].type));
        for (size_t g = 0; g < N; g += bounds[b].group) {
            double max = 0, worst = 0;
            for (size_t i = g; i < g + bounds[b].group; i++) {
                max = fmax(max, fabs((double)x[i]));
                worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
            }
            if (worst > max * bounds[b].worst)
                fail_msg("%s: error %g in a block up to %g", dtype_name(bounds[b].type), worst, max);
        }
    }
}

/* What a quantizer must survive: zeros, NaN, infinities, tiny, huge, constant, one spike. */
static void quantizer_extremes(void **state)
{
    (void)state;
    static const float fills[][3] = {
        { 0, 0, 0 },          { -0.0f, 0, -0.0f },   { NAN, 1, -1 },       { NAN, NAN, NAN },
        { INFINITY, 1, 2 },   { -INFINITY, 1, 2 },   { 1e30f, -1e30f, 0 }, { 1e-9f, -1e-9f, 0 },
        { 1e-40f, 2e-40f, 0 }, { 3, 3, 3 },          { -3, -3, -3 },       { -100, -100.001f, -100 },
        { 65504, 1, -1 },     { 1e-6f, 1e6f, -1e6f }, { 6e-8f, -1.4e-7f, 9e-7f },
        { -1e30f, 1e30f, 1e30f }, { 1e30f, 1, 1 },   { 70000, 70001, 69999 },
    };
    static uint8_t again[1024];
    const struct dtype_info *d;
    for (size_t t = 0; (d = dtype_at(t)); t++) {
        if (!d->quantize || d->block_elems == 1)
            continue;
        for (size_t f = 0; f < ARRAY_LEN(fills); f++) {
            for (size_t i = 0; i < 256; i++)
                x[i] = fills[f][i == 77 ? 0 : 1 + i % 2];
            memset(raw, 0xaa, sizeof again);
            memset(again, 0x55, sizeof again);
            d->quantize(x, raw, 256);
            d->quantize(x, again, 256);
            size_t bytes = dtype_row_bytes(d->id, 256);
            assert_memory_equal(raw, again, bytes); /* every byte is written, none beyond */
            assert_int_equal(raw[bytes], 0xaa);
            d->dequantize(raw, y, 256);
            for (size_t i = 0; i < 256; i++)
                if (!isfinite(y[i]))
                    fail_msg("%s: fill %zu: element %zu is %g", d->name, f, i, (double)y[i]);
            if (f < 2 || f == 3) /* zeros and NaN alone become zeros */
                for (size_t i = 0; i < 256; i++)
                    assert_true(y[i] == 0);
            if (f == 4 || f == 5) /* an infinity becomes the most the format has, its sign kept */
                assert_true((f == 4 ? y[77] : -y[77]) > 1e4f);
            if (f == 9 || f == 10)
                for (size_t i = 0; i < 256; i++)
                    assert_true(fabsf(y[i] - x[i]) < 0.02f);
        }
    }
}

/*
 * The quantizer puts every element where the reader looks for it: an impulse at each position in
 * turn comes back at that position alone.
 */
static void quantizer_positions(void **state)
{
    (void)state;
    const struct dtype_info *d;
    for (size_t t = 0; (d = dtype_at(t)); t++) {
        if (!d->quantize)
            continue;
        for (size_t at = 0; at < 256; at++) {
            memset(x, 0, 256 * sizeof *x);
            x[at] = at % 2 ? -3.0f : 6.0f;
            d->quantize(x, raw, 256);
            d->dequantize(raw, y, 256);
            for (size_t i = 0; i < 256; i++)
                if (fabsf(y[i] - x[i]) > 0.01f * fabsf(x[at]))
                    fail_msg("%s: impulse at %zu: element %zu is %g", d->name, at, i, (double)y[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantizer_error),
        cmocka_unit_test(all_positive),
        cmocka_unit_test(better_than_plain),
        cmocka_unit_test(monotone_in_bits),
        cmocka_unit_test(exact_round_trip),
        cmocka_unit_test(mxfp4_ties),
        cmocka_unit_test(quantizer_worst_element),
        cmocka_unit_test(quantizer_extremes),
        cmocka_unit_test(quantizer_positions),
    };
    return cmocka_run_group_tests_name("quantize", tests, NULL, NULL);
}
