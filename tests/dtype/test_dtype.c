/* Tests of dtype: the table, exact half conversions, hand-written blocks, any bytes. */
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

/* Types that no file has: known by name, but not by the ids of a GGUF; the engine's cache is not of them. */
static void priced(void **state)
{
    (void)state;
    struct error err = { 0 };
    static const struct {
        const char *name;
        size_t row_1152; /* bytes of a row of 1152 elements */
    } types[] = { { "FP8", 1152 }, { "INT8", 1152 }, { "INT4", 576 }, { "FP4", 576 }, { "FP8_DS_MLA", 1312 } };
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        const struct dtype_info *d = dtype_priced_at(i);
        assert_non_null(d);
        assert_string_equal(d->name, types[i].name);
        assert_ptr_equal(d, dtype_find_name(types[i].name));
        assert_ptr_equal(d, dtype_find(d->id));
        assert_null(dtype_find_ggml(d->id));
        assert_int_equal(dtype_row_bytes(d->id, 1152), types[i].row_1152);
        assert_false(dtype_executable(d->id));
        assert_null(dtype_get_name(types[i].name, &err));
    }
    assert_null(dtype_priced_at(ARRAY_LEN(types)));
    assert_null(dtype_find(DTYPE_PRICED_END));
    /* A row of latents: 512 of 1 byte, 4 F32 scales, 64 of 2 bytes; a key of the indexer: 128 of 1 byte, one scale. */
    assert_int_equal(dtype_row_bytes(DTYPE_FP8_DS_MLA, 576), 512 + 4 * 4 + 64 * 2);
    assert_int_equal(dtype_row_bytes(DTYPE_FP8_DS_MLA, 128), 132);
    assert_int_equal(dtype_check_kv_priced(DTYPE_FP8, "keys", 80, &err), 0);
    assert_int_equal(dtype_check_kv_priced(DTYPE_FP8_DS_MLA, "keys", 576, &err), 0);
    assert_int_equal(dtype_check_kv_priced(DTYPE_FP8_DS_MLA, "keys", 128, &err), 0);
    assert_int_equal(dtype_check_kv_priced(DTYPE_FP8_DS_MLA, "keys", 64, &err), -1);
    assert_int_equal(dtype_check_kv_priced(DTYPE_INT4, "keys", 64, &err), -1);
    assert_int_equal(dtype_check_kv(DTYPE_FP8, "keys", 64, &err), -1);
    assert_non_null(strstr(err.msg, "KV cache: keys of type FP8 can be predicted (predict, analyze), not executed: expected one of F32"));
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
    assert_non_null(strstr(err.msg, "F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, "
                                   "IQ4_NL, IQ4_XS, BF16, MXFP4"));
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

/* ---- any bytes ---------------------------------------------------------------------------- */
/* Blocks of random bytes are finite when their halves are (MXFP4: below exponent 253). */
static void any_bytes(void **state)
{
    (void)state;
    static const struct {
        enum dtype type;
        int halves[2]; /* offsets, -1: none */
    } rows[] = {
        { DTYPE_Q4_0, { 0, -1 } },    { DTYPE_Q4_1, { 0, 2 } },    { DTYPE_Q5_0, { 0, -1 } },
        { DTYPE_Q5_1, { 0, 2 } },     { DTYPE_Q8_0, { 0, -1 } },   { DTYPE_Q2_K, { 80, 82 } },
        { DTYPE_Q3_K, { 108, -1 } },  { DTYPE_Q4_K, { 0, 2 } },    { DTYPE_Q5_K, { 0, 2 } },
        { DTYPE_Q6_K, { 208, -1 } },  { DTYPE_IQ4_NL, { 0, -1 } }, { DTYPE_IQ4_XS, { 0, -1 } },
        { DTYPE_MXFP4, { -1, -1 } },
    };
    struct rng rng;
    rng_init(&rng, 3);
    for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
        const struct dtype_info *d = dtype_find(rows[r].type);
        for (int rep = 0; rep < 2000; rep++) {
            uint8_t raw[256];
            float y[256], scale[2] = { 0 };
            for (size_t i = 0; i < d->block_bytes; i++)
                raw[i] = (uint8_t)rng_u64(&rng);
            for (int h = 0; h < 2 && rows[r].halves[h] >= 0; h++) {
                uint8_t *p = raw + rows[r].halves[h];
                p[1] &= (p[1] & 0x7c) == 0x7c ? 0xfb : 0xff;
                scale[h] = f16_to_f32((uint16_t)(p[0] | p[1] << 8));
            }
            if (d->id == DTYPE_MXFP4)
                raw[0] = (uint8_t)(raw[0] % 253);
            d->dequantize(raw, y, d->block_elems);
            for (size_t i = 0; i < d->block_elems; i++)
                if (!isfinite(y[i]))
                    fail_msg("%s: element %zu is %g, scales %g and %g", d->name, i, (double)y[i],
                             (double)scale[0], (double)scale[1]);
        }
    }
}

/* MXFP4 above what a float can hold, and the exponent that is NaN. */
static void mxfp4_exponents(void **state)
{
    (void)state;
    const struct dtype_info *d = dtype_find(DTYPE_MXFP4);
    uint8_t raw[17] = { 254, 0x20, 0xe3, 0x85 }; /* 0 and 1, 1.5 and -4, 3 and 0 */
    float y[32];
    d->dequantize(raw, y, 32);
    assert_true(y[0] == 0 && y[16] == 0x1p127f && y[1] == 0x1.8p127f);
    assert_true(isinf(y[17]) && y[17] < 0 && isinf(y[2]) && y[2] > 0 && y[18] == 0);
    raw[0] = 255;
    d->dequantize(raw, y, 32);
    for (size_t i = 0; i < 32; i++)
        assert_true(isnan(y[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),
        cmocka_unit_test(priced),
        cmocka_unit_test(names),
        cmocka_unit_test(row_bytes),
        cmocka_unit_test(half_round_trip),
        cmocka_unit_test(half_rounding),
        cmocka_unit_test(golden_blocks),
        cmocka_unit_test(any_bytes),
        cmocka_unit_test(mxfp4_exponents),
    };
    return cmocka_run_group_tests_name("dtype", tests, NULL, NULL);
}
