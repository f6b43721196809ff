/* Tests of dtype: the table, exact half conversions, hand-written blocks, quantizers. */
#include "../test.h"
#include "dtype/dtype.h"
#include "golden.h"
#include <math.h>

/* ---- the table ------------------------------------------------------------------------- */
/* Bytes a block and elements a block of every id, once more: a typo has to be made twice. */
static const struct {
    int id;
    const char *name;
    unsigned elems, bytes;
} sizes[] = {
    { 0, "F32", 1, 4 },          { 1, "F16", 1, 2 },         { 2, "Q4_0", 32, 2 + 16 },
    { 3, "Q4_1", 32, 4 + 16 },   { 6, "Q5_0", 32, 2 + 4 + 16 },
    { 7, "Q5_1", 32, 4 + 4 + 16 },                           { 8, "Q8_0", 32, 2 + 32 },
    { 9, "Q8_1", 32, 4 + 32 },   { 10, "Q2_K", 256, 16 + 64 + 4 },
    { 11, "Q3_K", 256, 32 + 64 + 12 + 2 },
    { 12, "Q4_K", 256, 4 + 12 + 128 },
    { 13, "Q5_K", 256, 4 + 12 + 32 + 128 },
    { 14, "Q6_K", 256, 128 + 64 + 16 + 2 },
    { 15, "Q8_K", 256, 4 + 256 + 32 },
    { 16, "IQ2_XXS", 256, 66 },  { 17, "IQ2_XS", 256, 74 },  { 18, "IQ3_XXS", 256, 98 },
    { 19, "IQ1_S", 256, 50 },    { 20, "IQ4_NL", 32, 18 },   { 21, "IQ3_S", 256, 110 },
    { 22, "IQ2_S", 256, 82 },    { 23, "IQ4_XS", 256, 136 }, { 24, "I8", 1, 1 },
    { 25, "I16", 1, 2 },         { 26, "I32", 1, 4 },        { 27, "I64", 1, 8 },
    { 28, "F64", 1, 8 },         { 29, "IQ1_M", 256, 56 },   { 30, "BF16", 1, 2 },
    { 34, "TQ1_0", 256, 54 },    { 35, "TQ2_0", 256, 66 },   { 39, "MXFP4", 32, 17 },
    { 40, "NVFP4", 64, 36 },     { 41, "Q1_0", 128, 18 },    { 42, "Q2_0", 64, 18 },
};

static void table(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        const struct dtype_info *d = dtype_at(i);
        assert_non_null(d);
        assert_int_equal(d->id, sizes[i].id);
        assert_string_equal(d->name, sizes[i].name);
        assert_int_equal(d->block_elems, sizes[i].elems);
        assert_int_equal(d->block_bytes, sizes[i].bytes);
        assert_ptr_equal(d, dtype_find(sizes[i].id));
        assert_ptr_equal(d, dtype_find_name(sizes[i].name));
        assert_string_equal(dtype_name(d->id), sizes[i].name);
        assert_int_equal(dtype_executable(d->id), d->dequantize != NULL);
    }
    assert_null(dtype_at(ARRAY_LEN(sizes)));
    static const int64_t unknown[] = { -1, 4, 5, 31, 32, 33, 36, 37, 38, 43, 97, INT64_MAX, INT64_MIN };
    for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
        assert_null(dtype_find(unknown[i]));
}

static void names(void **state)
{
    (void)state;
    struct error err = { 0 };
    assert_int_equal(dtype_find_name("q4_k")->id, DTYPE_Q4_K);
    assert_int_equal(dtype_get_name("bf16", &err)->id, DTYPE_BF16);
    assert_null(dtype_find_name("q4"));
    assert_null(dtype_find_name(""));
    assert_null(dtype_get_name("q9_9", &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_non_null(strstr(err.msg, "unknown tensor type \"q9_9\""));
    assert_non_null(strstr(err.msg, "F32, F16, Q4_0, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K, BF16"));
    assert_null(dtype_get_name("IQ2_XXS", &err));
    assert_non_null(strstr(err.msg, "unsupported tensor type"));
}

static void row_bytes(void **state)
{
    (void)state;
    assert_int_equal(dtype_row_bytes(DTYPE_F16, 4096), 8192);
    assert_int_equal(dtype_row_bytes(DTYPE_Q4_0, 4096), 2304);
    assert_int_equal(dtype_row_bytes(DTYPE_Q8_0, 32), 34);
    assert_int_equal(dtype_row_bytes(DTYPE_Q6_K, 14336), 11760);
    assert_int_equal(dtype_row_bytes(DTYPE_Q4_K, 0), 0);
    assert_true(dtype_row_bytes(DTYPE_F64, UINT64_MAX) == SIZE_MAX);
    assert_true(dtype_bits(DTYPE_Q4_K) == 4.5);
    assert_true(dtype_bits(DTYPE_Q6_K) == 6.5625);
    assert_true(dtype_bits(DTYPE_BF16) == 16);
}

/* ---- halves ------------------------------------------------------------------------------ */
static double f16_by_definition(unsigned h)
{
    unsigned exp = (h >> 10) & 31, frac = h & 1023;
    double v = exp ? ldexp(1024 + (double)frac, (int)exp - 25) : ldexp((double)frac, -24);
    return h & 0x8000 ? -v : v;
}

static double bf16_by_definition(unsigned h)
{
    unsigned exp = (h >> 7) & 255, frac = h & 127;
    double v = exp ? ldexp(128 + (double)frac, (int)exp - 134) : ldexp((double)frac, -133);
    return h & 0x8000 ? -v : v;
}

struct half_format {
    float (*to_f32)(uint16_t);
    uint16_t (*from_f32)(float);
    double (*by_definition)(unsigned);
    unsigned infinity;
};
static const struct half_format halves[] = {
    { f16_to_f32, f32_to_f16, f16_by_definition, 0x7c00 },
    { bf16_to_f32, f32_to_bf16, bf16_by_definition, 0x7f80 },
};

/* All 65,536 bit patterns, there and back. */
static void half_round_trip(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(halves); k++)
        for (unsigned h = 0; h <= 0xffff; h++) {
            const struct half_format *f = halves + k;
            float v = f->to_f32((uint16_t)h);
            if ((h & 0x7fff) > f->infinity) {
                unsigned back = f->from_f32(v);
                assert_true(isnan(v));
                assert_true((back & 0x7fff) > f->infinity);
                assert_int_equal(back & 0x8000, h & 0x8000);
                continue;
            }
            if ((h & 0x7fff) == f->infinity)
                assert_true(isinf(v) && (v < 0) == (h >> 15));
            else
                assert_true((double)v == f->by_definition(h));
            assert_int_equal(f->from_f32(v), h);
        }
}

/* Between every two neighbours: the midpoint goes to the even one, either side to the nearer. */
static void half_rounding(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(halves); k++) {
        const struct half_format *f = halves + k;
        for (unsigned h = 0; h < f->infinity; h++) {
            /* above the largest finite value the neighbour would be the next power of two */
            double here = f->by_definition(h), next = f->by_definition(h + 1);
            double mid = here + (next - here) / 2;
            float m = (float)mid;
            assert_true((double)m == mid);
            assert_int_equal(f->from_f32(m), h & 1 ? h + 1 : h);
            assert_int_equal(f->from_f32(-m), (h & 1 ? h + 1 : h) | 0x8000);
            assert_int_equal(f->from_f32(nextafterf(m, 0)), h);
            assert_int_equal(f->from_f32(nextafterf(m, INFINITY)), h + 1);
        }
    }
    assert_int_equal(f32_to_f16(1e30f), 0x7c00);
    assert_int_equal(f32_to_f16(-INFINITY), 0xfc00);
    assert_int_equal(f32_to_f16(1e-30f), 0);
    assert_int_equal(f32_to_bf16(INFINITY), 0x7f80);
    assert_true(isnan(f16_to_f32(f32_to_f16(NAN))));
    assert_true(isnan(bf16_to_f32(f32_to_bf16(NAN))));
}

/* ---- blocks written by hand ----------------------------------------------------------------- */
static void golden_blocks(void **state)
{
    (void)state;
    size_t seen[DTYPE_COUNT] = { 0 };
    for (size_t g = 0; g < ARRAY_LEN(goldens); g++) {
        uint8_t raw[301];
        float expected[300], found[300];
        size_t n_bytes = 0, n = 0;
        for (const struct byte_run *r = goldens[g].bytes; r->n; r++)
            for (int i = 0; i < r->n; i++)
                raw[1 + n_bytes++] = r->byte; /* an odd address: blocks are not aligned */
        for (const struct value_run *r = goldens[g].values; r->n; r++)
            for (int i = 0; i < r->n; i++)
                expected[n++] = r->value;
        const struct dtype_info *d = dtype_find(goldens[g].type);
        assert_int_equal(n % d->block_elems, 0);
        assert_int_equal(n_bytes, dtype_row_bytes(d->id, n));
        d->dequantize(raw + 1, found, n);
        for (size_t i = 0; i < n; i++)
            if (!(found[i] == expected[i]))
                fail_msg("%s: element %zu is %.9g, expected %.9g", goldens[g].what, i,
                         (double)found[i], (double)expected[i]);
        seen[d->id] += n / d->block_elems;
    }
    for (size_t i = 0; i < DTYPE_COUNT; i++) /* no type that runs is left without two blocks */
        if (dtype_executable((enum dtype)i) && seen[i] < 2)
            fail_msg("%s has %zu golden blocks", dtype_name((enum dtype)i), seen[i]);
}

/* ---- quantizers -------------------------------------------------------------------------------- */
enum { N = 256 * 64 };

/* Quantize and back: root mean square error over root mean square. */
static double relative_rmse(const struct dtype_info *d, const float *x, float *y, uint8_t *raw)
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
 * Normal weights. Bound: what rounding to a uniform grid over the block's own range would give,
 * step / sqrt(12), with the expected largest of 32 normals 2.07 (of their magnitudes 2.33; of 16
 * magnitudes 2.06), over the steps of the format; a K-quant's search has to beat it although its
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
        { DTYPE_Q6_K, 2.06, 32 },
    };
    static float x[N], y[N];
    static uint8_t raw[4 * N];
    struct rng rng;
    rng_init(&rng, 7);
    for (size_t i = 0; i < N; i++)
        x[i] = (float)(0.02 * rng_normal(&rng));
    for (size_t b = 0; b < ARRAY_LEN(bounds); b++) {
        const struct dtype_info *d = dtype_find(bounds[b].type);
        double e = relative_rmse(d, x, y, raw), bound = bounds[b].range / bounds[b].steps / sqrt(12);
        if (!(e < bound) || !(e > 0))
            fail_msg("%s: relative error %.5f, expected below %.5f", d->name, e, bound);
    }
    assert_true(relative_rmse(dtype_find(DTYPE_F32), x, y, raw) == 0);
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
    };
    static float x[N], y[N];
    static uint8_t raw[4 * N];
    struct rng rng;
    rng_init(&rng, 8);
    for (size_t i = 0; i < N; i++)
        x[i] = (float)(rng_normal(&rng) * exp(3 * rng_normal(&rng)));
    for (size_t b = 0; b < ARRAY_LEN(bounds); b++) {
        relative_rmse(dtype_find(bounds[b].type), x, y, raw);
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
    };
    float x[256], y[256];
    uint8_t raw[1024], again[1024];
    const struct dtype_info *d;
    for (size_t t = 0; (d = dtype_at(t)); t++) {
        if (!d->quantize || d->block_elems == 1)
            continue;
        for (size_t f = 0; f < ARRAY_LEN(fills); f++) {
            for (size_t i = 0; i < 256; i++)
                x[i] = fills[f][i == 77 ? 0 : 1 + i % 2];
            memset(raw, 0xaa, sizeof raw);
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
            float x[256] = { 0 }, y[256];
            uint8_t raw[1024];
            x[at] = at % 2 ? -3.0f : 5.0f;
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
        cmocka_unit_test(table),
        cmocka_unit_test(names),
        cmocka_unit_test(row_bytes),
        cmocka_unit_test(half_round_trip),
        cmocka_unit_test(half_rounding),
        cmocka_unit_test(golden_blocks),
        cmocka_unit_test(quantizer_error),
        cmocka_unit_test(quantizer_worst_element),
        cmocka_unit_test(quantizer_extremes),
        cmocka_unit_test(quantizer_positions),
    };
    return cmocka_run_group_tests_name("dtype", tests, NULL, NULL);
}
