/*
 * avx512vnni/packed_acts.h: packing of activations in the order in which tiles (packed_gemm.c) read them: step of columns, tile, block.
 * Static inline only.
 */
#ifndef KERNELS_AVX512VNNI_PACKED_ACTS_H
#define KERNELS_AVX512VNNI_PACKED_ACTS_H

#include "kernels/avx512/simd512.h"
#include "kernels/avx512vnni/packed.h"

#include "kernels/simd/blocks.h" /* written in the names of the headers above */

enum {
    TILE_TOK = TILES_TOK,
    TILE_TOK_PAIRS = TILES_TOK_PAIRS, /* pairs of sums take registers. Zen 4, cycles of 32 rows x 32 columns, 4, 5, 6 tokens: 85, 106, 137 */
    STEP_K = 512, /* a panel of so many columns shares the L1 cache with a tile's activations; y comes and goes once a step.
                     Zen 5, 512 tokens, 2048 columns, % of two vpdpbusd a cycle by steps of 256, 512, 768, 1024: Q8_0 78, 80, 80, 78;
                     Q4_K 73, 75, 75, 74; with panels in L2 and activations where they were, 3072: 70, 65. 8, 16, 32 tokens, Q8_0:
                     with 256 62, 65, 69, with 512 63, 68, 71, with 1024 54, 69, 71 */
};

/*
 * Packed activations: 32 columns of a tile's tokens, with the scales and sums that a format needs. A tile has room for six tokens.
 */
struct tile_acts {
    int8_t q[TILE_TOK][32];
    float d[8]; /* a token: scale; SUMS_EXACT, but PANEL_16: in 22 digits; SUMS_POW2: times PANEL_ONE */
    union {
        int32_t start[8]; /* of the accumulators: the bits of PANEL_ONE (times the power of two; SUMS_PAIRS: 0) less bias sum, of
                             32 columns or of the first 16 */
        float xsum[8];    /* d * sum */
        int32_t sums[8];  /* PANEL_2_MINS: two int16, of 16 columns each */
        /* PANEL_8_MINS. methods.md (92) */
        int32_t pairs[8]; /* of an even block: two int16, d * sum of it and of the next, in units of a power of two, */
        float unit[8];    /* of block 1 of 8: which this is, times PANEL_ONE */
    };
    union {
        int32_t start2[8]; /* PANEL_16: of the second 16 columns; SUMS_PAIRS: one more, which rounds up what loses its last bit */
        float less[8];     /* SUMS_EXACT, but PANEL_16: d * -PANEL_ONE, exact */
        float scale[8];    /* SUMS_POW2, PANEL_2_MINS: d */
    };
};

_Static_assert(sizeof(struct tile_acts) == TILES_BLOCK_BYTES * TILE_TOK, "acts_tiles_bytes()");

INLINE size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How the integer sums of a block become floats. methods.md (90), (91) */
enum tile_sums {
    SUMS_EXACT, /* times the activations' scale, then times the row's; PANEL_16: the other way round */
    SUMS_POW2,  /* they start in units of the activations' scale, a power of two */
    SUMS_PAIRS, /* PANEL_16 */
};
INLINE enum tile_sums sums_of(const struct acts *x, const struct panel_format *f)
{
    return x->pow2 ? SUMS_POW2 : f->pairs ? SUMS_PAIRS : SUMS_EXACT;
}

/* Of a token and 256 columns, a lane a block: scales and sums. */
struct tok_chunk {
    __m256 d;
    __m256i u, v; /* as in struct tile_acts */
};

/* x[0..7] in units of the least power of two of which none has more than 8191: eight of them times 63 stay below 2^22,
 * beyond which sums from the bits of PANEL_ONE would leave its binade. Lanes: methods.md (92), pairs and unit of struct
 * tile_acts. */
INLINE __m256i prepare_mins(__m256 x)
{
    const __m256 abs = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
    __m128 top = _mm_max_ps(_mm256_castps256_ps128(abs), _mm256_extractf128_ps(abs, 1));
    top = _mm_max_ps(top, _mm_movehl_ps(top, top));
    top = _mm_max_ps(top, _mm_shuffle_ps(top, top, 1));
    top = _mm_mul_ps(_mm_max_ps(top, _mm_set1_ps(0x1p-112f)), _mm_set1_ps(1.0f / 8191));
    const __m128i bits = _mm_add_epi32(_mm_castps_si128(top), _mm_set1_epi32(0x007fffff));
    const __m128i unit = _mm_and_si128(bits, _mm_set1_epi32(0x7f800000)), inverse = _mm_sub_epi32(_mm_set1_epi32(254 << 23), unit);
    const __m256i q = _mm256_cvtps_epi32(_mm256_mul_ps(x, _mm256_broadcastss_ps(_mm_castsi128_ps(inverse))));
    const __m128i pairs = _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
    const __m256 one = _mm256_mul_ps(_mm256_broadcastss_ps(_mm_castsi128_ps(unit)), _mm256_set1_ps(PANEL_ONE));
    return _mm256_blend_epi32(_mm256_cvtepu32_epi64(pairs), _mm256_castps_si256(one), 1 << 1);
}

/* d in 22 digits: as many as times PANEL_ONE leave all. */
INLINE __m256 short_scales(__m256 d)
{
    const __m256i bits = _mm256_add_epi32(_mm256_castps_si256(d), _mm256_set1_epi32(2));
    return _mm256_castsi256_ps(_mm256_and_si256(bits, _mm256_set1_epi32(~3)));
}

INLINE struct tok_chunk prepare_token(const struct acts *x, size_t at, size_t n_blk, const enum panel_kind kind,
                                      const enum tile_sums sums, int bias)
{
    const bool pow2 = sums == SUMS_POW2, pairs = sums == SUMS_PAIRS;
    const __m256i sum = _mm256_maskz_loadu_epi16(vm_first(2 * n_blk), x->sum + at / 16);
    __m256 d = _mm256_maskz_loadu_ps((__mmask8)vm_first(n_blk), x->d + at / 32);
    if (sums == SUMS_EXACT && kind != PANEL_16)
        d = short_scales(d);
    const __m256 one = pow2 ? _mm256_mul_ps(d, _mm256_set1_ps(PANEL_ONE)) : _mm256_set1_ps(PANEL_ONE);
    const __m256i bits = _mm256_castps_si256(one);
    struct tok_chunk c = { .d = pow2 ? one : d, .u = _mm256_setzero_si256(), .v = _mm256_setzero_si256() };
    switch (kind) {
    case PANEL_32:
        c.u = _mm256_dpwssd_epi32(bits, sum, _mm256_set1_epi16((short)-bias));
        break;
    case PANEL_16:
        c.u = _mm256_dpwssd_epi32(pairs ? _mm256_setzero_si256() : bits, sum, _mm256_set1_epi32((uint16_t)-bias));
        c.v = _mm256_dpwssd_epi32(pairs ? _mm256_set1_epi32(1) : bits, sum, _mm256_slli_epi32(_mm256_set1_epi32(-bias), 16));
        return c;
    case PANEL_32_MIN:
    case PANEL_8_MINS: {
        const __m256 xsum = _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_madd_epi16(sum, _mm256_set1_epi16(1))));
        c.u = kind == PANEL_8_MINS ? prepare_mins(xsum) : _mm256_castps_si256(xsum);
        break;
    }
    case PANEL_2_MINS:
        c.u = sum;
        c.v = _mm256_castps_si256(d);
        break;
    }
    if (sums == SUMS_EXACT)
        c.v = _mm256_castps_si256(_mm256_mul_ps(d, _mm256_set1_ps(-PANEL_ONE)));
    return c;
}

/* to[b * step], a lane a token, of x[token], a lane a block; b < n. */
INLINE void transpose(char *to, size_t step, size_t n, const __m256 x[8])
{
    __m256 p[8], q[8];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        p[2 * i] = _mm256_unpacklo_ps(x[2 * i], x[2 * i + 1]);
        p[2 * i + 1] = _mm256_unpackhi_ps(x[2 * i], x[2 * i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        q[4 * i] = _mm256_shuffle_ps(p[4 * i], p[4 * i + 2], 0x44);
        q[4 * i + 1] = _mm256_shuffle_ps(p[4 * i], p[4 * i + 2], 0xee);
        q[4 * i + 2] = _mm256_shuffle_ps(p[4 * i + 1], p[4 * i + 3], 0x44);
        q[4 * i + 3] = _mm256_shuffle_ps(p[4 * i + 1], p[4 * i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (size_t b = 0; b < 4; b++) {
        if (b < n)
            _mm256_storeu_ps((float *)(to + b * step), _mm256_permute2f128_ps(q[b], q[b + 4], 0x20));
        if (b + 4 < n)
            _mm256_storeu_ps((float *)(to + (b + 4) * step), _mm256_permute2f128_ps(q[b], q[b + 4], 0x31));
    }
}

/* Columns [k, k + 32 n_blk), at most 256, of n_tok tokens from tok, at most a tile. */
INLINE void prepare_tile(struct tile_acts *to, const struct acts *x, size_t tok, size_t n_tok, size_t k, size_t n_blk,
                         const enum panel_kind kind, const enum tile_sums sums, int bias)
{
    __m256 d[8], u[8], v[8];
#pragma GCC unroll 8
    for (size_t t = 0; t < 8; t++) {
        d[t] = u[t] = v[t] = _mm256_setzero_ps();
        if (t >= n_tok)
            continue;
        const size_t at = (tok + t) * x->stride + k;
        const struct tok_chunk c = prepare_token(x, at, n_blk, kind, sums, bias);
        d[t] = c.d;
        u[t] = _mm256_castsi256_ps(c.u);
        v[t] = _mm256_castsi256_ps(c.v);
        for (size_t b = 0; b < n_blk; b++)
            _mm256_storeu_si256((__m256i *)to[b].q[t], _mm256_loadu_si256((const __m256i *)(x->q + at + 32 * b)));
    }
    transpose((char *)to->d, sizeof *to, n_blk, d);
    transpose((char *)to->start, sizeof *to, n_blk, u);
    if (sums == SUMS_EXACT || kind == PANEL_16 || kind == PANEL_2_MINS)
        transpose((char *)to->start2, sizeof *to, n_blk, v);
}

/* Tiles are of like size: a short last one would leave arithmetic idle. */
struct tiles {
    size_t n_tok, n;
};

INLINE struct tiles tiles_of(const struct acts *x, const struct panel_format *f)
{
    const size_t most = sums_of(x, f) == SUMS_PAIRS ? TILE_TOK_PAIRS : TILE_TOK;
    return (struct tiles){ x->n_tok, (x->n_tok + most - 1) / most };
}

INLINE size_t tile_tokens(struct tiles t, size_t tile)
{
    return t.n_tok / t.n + (tile < t.n_tok % t.n);
}

INLINE size_t tile_first(struct tiles t, size_t tile)
{
    return t.n_tok / t.n * tile + least(tile, t.n_tok % t.n);
}

/* Columns [k, k + n) of tiles [tile0, tile1), to[tiles][n / 32]. */
INLINE void prepare_tokens(struct tile_acts *to, const struct acts *x, const struct panel_format *f, size_t k, size_t n, size_t tile0,
                           size_t tile1)
{
    const enum panel_kind kind = f->kind;
    const struct tiles tiles = tiles_of(x, f);
    for (size_t i = tile0; i < tile1; i++) {
        const size_t t = tile_first(tiles, i), n_tok = tile_tokens(tiles, i);
        for (size_t c = 0, n_blk; c < n; c += PANEL_K, to += n_blk) {
            n_blk = least(n - c, PANEL_K) / 32;
            switch (sums_of(x, f)) {
            case SUMS_EXACT:
                prepare_tile(to, x, t, n_tok, k + c, n_blk, kind, SUMS_EXACT, f->bias);
                break;
            case SUMS_POW2:
                prepare_tile(to, x, t, n_tok, k + c, n_blk, kind, SUMS_POW2, f->bias);
                break;
            case SUMS_PAIRS:
                prepare_tile(to, x, t, n_tok, k + c, n_blk, PANEL_16, SUMS_PAIRS, f->bias);
                break;
            }
        }
    }
}

/* Columns of a step: all but the last of a matrix have as many, in whole chunks, and nearly as many has that. */
INLINE size_t step_of(size_t cols)
{
    const size_t steps = (cols + STEP_K - 1) / STEP_K, chunks = (cols + PANEL_K - 1) / PANEL_K;
    return (chunks + steps - 1) / steps * PANEL_K;
}

/* Activations of the step that begins at column k, to[tiles][blocks] of all steps before it. */
INLINE struct tile_acts *step_acts(struct tile_acts *to, const struct acts *x, const struct panel_format *f, size_t k)
{
    return to + k / 32 * tiles_of(x, f).n;
}

#endif
