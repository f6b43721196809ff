/*
 * avx512vnni/packed_gemv_k.c: decode from packed weights in blocks of 256: Q2_K, Q3_K, Q4_K,
 * Q5_K, Q6_K, IQ4_XS. Values of blocks: methods.md (1), layout: pack.h.
 *
 * A block is eight sub-blocks of 32; a scale serves one of them or half of one. Quants stay
 * at the bits where they are stored where that saves a shift: activations' scales make up
 * for it (act_format.shift).
 */
#include "kernels/avx512vnni/packed_gemv_rows.h"

/* What a block says once: packed sub-scales, four bytes a row and vector. */
struct kscales {
    __m512 d, dmin;
    __m512i scale[4], min[4];
    __m512i third[2][8]; /* Q3_K: third bits of each half */
};

/* Sums of products of a sub-block and each token: of its halves, or all in the first. */
struct sub_dots {
    __m512i v[2][VNNI_BATCH_MOST];
};

struct packed_k {
    unsigned block_bytes; /* of a row */
    bool halves;          /* a scale for each half of a sub-block */
    enum ahead ahead;
    struct act_format acts;
    void (*load)(const unsigned char *p, struct kscales *k);
    /* The eight units of sub-block s of the block at p. */
    void (*weights)(const unsigned char *p, const struct kscales *k, unsigned s, __m512i w[8]);
    /* Sub-blocks that share lines: adds to the dots of sub-blocks 4 half + 0..3. Each line is loaded once, in order, and
     * all it says used there and then. b: the first one's number in the row. Of at most four_tok tokens, for which there
     * are registers; 0: `weights` is as good. */
    int four_tok;
    void (*four)(const unsigned char *p, const struct kscales *k, unsigned half, const struct row_acts *x, size_t b,
                 int n_tok, enum ahead ahead, struct sub_dots d[4]);
    /* Scale number i of 8, or 16 with halves. */
    __m512 (*scale)(const struct kscales *k, unsigned i);
    /* Min of sub-block s, to be subtracted; NULL: none. With halves as pairs of int16. */
    __m512i (*min)(const struct kscales *k, unsigned s);
};

INLINE void dots_start(struct sub_dots *d, const struct row_acts *x, size_t b, int n_tok, const struct packed_k f)
{
#pragma GCC unroll 8
    for (int t = 0; t < n_tok; t++) {
        const int32_t *start = x[t].start + (f.halves ? 2 * b : b);
        d->v[0][t] = f.acts.bias ? _mm512_set1_epi32(start[0]) : _mm512_setzero_si512();
        d->v[1][t] = f.acts.bias && f.halves ? _mm512_set1_epi32(start[1]) : _mm512_setzero_si512();
    }
}

/* Unit u of sub-block b, to the sum of its half. */
INLINE void dots_add(struct sub_dots *d, __m512i w, const struct row_acts *x, size_t b, int u, int n_tok)
{
#pragma GCC unroll 8
    for (int t = 0; t < n_tok; t++)
        d->v[u / 4][t] = _mm512_dpbusd_epi32(d->v[u / 4][t], w, act4(x[t].q + 32 * b + 4 * u));
}

/* What the dots of sub-block s of the block, b of the row, are in floats, added to the block's sums. */
INLINE void add_scaled(const struct sub_dots *dots, const struct kscales *k, unsigned s, const struct row_acts *x, size_t b,
                       int n_tok, const struct packed_k f, __m512 *sum, __m512 *min)
{
    __m512i m = _mm512_setzero_si512();
    __m512 sc0 = f.scale(k, f.halves ? 2 * s : s), sc1 = sc0;
    if (f.halves)
        sc1 = f.scale(k, 2 * s + 1);
    if (f.min)
        m = f.min(k, s);
#pragma GCC unroll 8
    for (int t = 0; t < n_tok; t++) {
        const __m512 d = _mm512_set1_ps(x[t].d_quant[b]), dot = _mm512_cvtepi32_ps(dots->v[0][t]);
        if (f.halves) {
            __m512 v = _mm512_mul_ps(dot, sc0);
            v = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots->v[1][t]), sc1, v);
            sum[t] = _mm512_fmadd_ps(v, d, sum[t]);
        } else {
            sum[t] = _mm512_fmadd_ps(dot, _mm512_mul_ps(sc0, d), sum[t]);
        }
        if (f.min && f.halves) {
            int32_t pair;
            memcpy(&pair, x[t].sum + 2 * b, sizeof pair);
            __m512i v =
                _mm512_dpwssd_epi32(_mm512_setzero_si512(), m, _mm512_set1_epi32(pair));
            min[t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(v), _mm512_set1_ps(x[t].d[b]), min[t]);
        } else if (f.min) {
            min[t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(m), _mm512_set1_ps(x[t].xsum[b]),
                                     min[t]);
        }
    }
}

/* Sub-block s of the block at p, b of the row. */
INLINE void sub_block(const unsigned char *p, const struct kscales *k, unsigned s, const struct row_acts *x, size_t b,
                      int n_tok, const struct packed_k f, __m512 *sum, __m512 *min)
{
    __m512i w[8];
    struct sub_dots d;
    f.weights(p, k, s, w);
    dots_start(&d, x, b, n_tok, f);
#pragma GCC unroll 8
    for (int t = 0; t < n_tok; t++) {
        const int8_t *q = x[t].q + 32 * b;
        d.v[0][t] = dot_units(d.v[0][t], w, q, f.halves ? 4 : 8);
        if (f.halves)
            d.v[1][t] = dot_units(d.v[1][t], w + 4, q + 16, 4);
    }
    add_scaled(&d, k, s, x, b, n_tok, f, sum, min);
}

/* Sub-blocks 4 half + 0..3 of the block at p, b the first of them. */
INLINE void four_blocks(const unsigned char *p, const struct kscales *k, unsigned half, const struct row_acts *x, size_t b,
                        int n_tok, const struct packed_k f, __m512 *sum, __m512 *min)
{
    struct sub_dots d[4];
#pragma GCC unroll 4
    for (unsigned j = 0; j < 4; j++)
        dots_start(&d[j], x, b + j, n_tok, f);
    f.four(p, k, half, x, b, n_tok, f.ahead, d);
#pragma GCC unroll 4
    for (unsigned j = 0; j < 4; j++)
        add_scaled(&d[j], k, 4 * half + j, x, b + j, n_tok, f, sum, min);
}

INLINE void panel_k(const unsigned char *p, size_t cols, const struct row_acts *x, int n_tok,
                    const struct packed_k f, struct row_sums *y)
{
    const unsigned lines = f.block_bytes * PACK_ROWS / 64;
    for (size_t b = 0; b < cols / 32; b += 8, p += (size_t)f.block_bytes * PACK_ROWS) {
        struct kscales k;
        __m512 sum[VNNI_BATCH_MOST], min[VNNI_BATCH_MOST];
        f.load(p, &k);
        if (x->leave)
            prefetch_acts(x, b, 8, n_tok, f.ahead, f.acts);
#pragma GCC unroll 8
        for (int t = 0; t < n_tok; t++)
            sum[t] = min[t] = _mm512_setzero_ps();
        if (n_tok <= f.four_tok) {
            four_blocks(p, &k, 0, x, b, n_tok, f, sum, min);
            four_blocks(p, &k, 1, x, b + 4, n_tok, f, sum, min);
        } else if (n_tok > VNNI_FEW_TOK) {
#pragma GCC unroll 1
            for (unsigned half = 0; half < 2; half++)
#pragma GCC unroll 4
                for (unsigned j = 0; j < 4; j++) {
                    const unsigned s = 4 * half + j;
                    prefetch_lines(p, f.ahead, s * lines / 8, (s + 1) * lines / 8);
                    sub_block(p, &k, s, x, b + s, n_tok, f, sum, min);
                }
        } else {
#pragma GCC unroll 8
            for (unsigned s = 0; s < 8; s++) {
                prefetch_lines(p, f.ahead, s * lines / 8, (s + 1) * lines / 8);
                sub_block(p, &k, s, x, b + s, n_tok, f, sum, min);
            }
        }
#pragma GCC unroll 8
        for (int t = 0; t < n_tok; t++) {
            y->v[0][t] = _mm512_fmadd_ps(k.d, sum[t], y->v[0][t]);
            if (f.min)
                y->v[1][t] = _mm512_fnmadd_ps(k.dmin, min[t], y->v[1][t]);
        }
    }
}

/* Lines that step i of n in a half of a block of `lines` asks for. */
INLINE void prefetch_step(const unsigned char *p, const enum ahead ahead, unsigned lines, unsigned half, unsigned i,
                          unsigned n)
{
    const unsigned at = half * n + i;
    prefetch_lines(p, ahead, at * lines / (2 * n), (at + 1) * lines / (2 * n));
}

/* ---- bytes of sub-scales ------------------------------------------------------------------ */

/* Byte i of each row's word, as an int. */
INLINE __m512i byte_of(__m512i v, int i)
{
    const __m128i row = _mm_setr_epi8(0, -1, -1, -1, 4, -1, -1, -1, 8, -1, -1, -1, 12, -1, -1, -1);
    return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(_mm_add_epi8(row, _mm_setr_epi32(i, i, i, i))));
}
/* The same, signed, times 2^24. */
INLINE __m512i signed_byte_of(__m512i v, int i)
{
    const __m128i row = _mm_setr_epi8(-1, -1, -1, 0, -1, -1, -1, 4, -1, -1, -1, 8, -1, -1, -1, 12);
    const int top = i << 24;
    return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(_mm_add_epi8(row, _mm_setr_epi32(top, top, top, top))));
}

INLINE __m512 scale_unsigned(const struct kscales *k, unsigned i)
{
    return _mm512_cvtepi32_ps(byte_of(k->scale[i / 4], (int)i % 4));
}
/* A block's scale for them. */
INLINE __m512 signed_scale(const unsigned char *p)
{
    return _mm512_mul_ps(f16_rows(p), _mm512_set1_ps(0x1p-24f));
}
INLINE __m512 scale_signed(const struct kscales *k, unsigned i)
{
    return _mm512_cvtepi32_ps(signed_byte_of(k->scale[i / 4], (int)i % 4));
}
INLINE __m512i min_unsigned(const struct kscales *k, unsigned s)
{
    return byte_of(k->min[s / 4], (int)s % 4);
}

/* v shifted right by n bits, left where n is negative; bits of neighbours come along. */
INLINE __m512i shift_right(__m512i v, int n)
{
    return n > 0 ? _mm512_srli_epi16(v, (unsigned)n) : n < 0 ? _mm512_slli_epi16(v, (unsigned)-n) : v;
}

INLINE __m512i bytes(int x)
{
    return _mm512_set1_epi8((char)x);
}

/* ---- Q4_K, Q5_K: d, dmin; 6-bit scales and mins as k_scales() has them ---------------------- */

INLINE void load_45(const unsigned char *p, struct kscales *k)
{
    const __m512i low = bytes(15), six = bytes(63);
    f16_pairs(p, &k->d, &k->dmin);
    __m512i a = load_unit(p, 1), b = load_unit(p, 2), c = load_unit(p, 3);
    k->scale[0] = _mm512_and_si512(a, six);
    k->min[0] = _mm512_and_si512(b, six);
    k->scale[1] = _mm512_and_si512(bits_select(low, c, shift_right(a, 2)), six);
    k->min[1] = _mm512_and_si512(bits_select(low, shift_right(c, 4), shift_right(b, 2)), six);
}

/* 32 bytes of nibbles: low ones are sub-block 2c, high ones 2c + 1, in place. */
INLINE void weights_q4_k(const unsigned char *p, const struct kscales *k, unsigned s,
                         __m512i w[8])
{
    (void)k;
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++)
        w[u] = _mm512_and_si512(load_unit(p + 256, (int)(s / 2 * 8) + u),
                                bytes(s % 2 ? 0xf0 : 15));
}

/* Sub-blocks 2c and 2c + 1 of the four share lines; each sum in two parts, half as long a chain. */
INLINE void four_q4_k(const unsigned char *p, const struct kscales *k, unsigned half, const struct row_acts *x, size_t b,
                      int n_tok, enum ahead ahead, struct sub_dots d[4])
{
    (void)k;
#pragma GCC unroll 2
    for (unsigned c = 0; c < 2; c++) {
        struct sub_dots *const low = &d[2 * c], *const high = low + 1;
#pragma GCC unroll 8
        for (int u = 0; u < 8; u++) {
            prefetch_step(p, ahead, 144 * PACK_ROWS / 64, half, 8 * c + (unsigned)u, 16);
            const __m512i a = load_unit(p + 256, (int)(2 * half + c) * 8 + u);
            dots_add(low, _mm512_and_si512(a, bytes(15)), x, b + 2 * c, u, n_tok);
            dots_add(high, _mm512_and_si512(a, bytes(0xf0)), x, b + 2 * c + 1, u, n_tok);
        }
#pragma GCC unroll 8
        for (int t = 0; t < n_tok; t++) {
            low->v[0][t] = _mm512_add_epi32(low->v[0][t], low->v[1][t]);
            high->v[0][t] = _mm512_add_epi32(high->v[0][t], high->v[1][t]);
        }
    }
}

/* Bit s of byte l of the first 32 is the fifth of element l of sub-block s. */
INLINE void weights_q5_k(const unsigned char *p, const struct kscales *k, unsigned s,
                         __m512i w[8])
{
    (void)k;
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++) {
        __m512i a = load_unit(p + 768, (int)(s / 2 * 8) + u), h = load_unit(p + 256, u);
        a = bits_select(bytes(15), shift_right(a, s % 2 ? 4 : 0), shift_right(h, (int)s - 4));
        w[u] = _mm512_and_si512(a, bytes(31));
    }
}

/* ---- IQ4_XS: d, upper bits of the scales, then their nibbles -------------------------------- */

INLINE void load_iq4_xs(const unsigned char *p, struct kscales *k)
{
    __m512 none;
    f16_pairs(p, &k->d, &none);
    k->scale[0] = load_unit(p, 1);                         /* nibble s at bit 4s */
    k->scale[1] = _mm512_srli_epi32(load_unit(p, 0), 12); /* pair s at bit 2s + 4 */
}

INLINE __m512 scale_iq4_xs(const struct kscales *k, unsigned s)
{
    __m512i lo = _mm512_srli_epi32(k->scale[0], 4 * s);
    __m512i hi = _mm512_srli_epi32(k->scale[1], 2 * s);
    __m512i v = bits_select(_mm512_set1_epi32(15), lo, hi);
    v = _mm512_and_si512(v, _mm512_set1_epi32(63));
    return _mm512_cvtepi32_ps(_mm512_sub_epi32(v, _mm512_set1_epi32(32)));
}

INLINE void weights_iq4_xs(const unsigned char *p, const struct kscales *k, unsigned s,
                         __m512i w[8])
{
    (void)k;
    const __m512i table = _mm512_broadcast_i32x4(iq4_biased());
#pragma GCC unroll 4
    for (int u = 0; u < 4; u++) {
        __m512i a = load_unit(p + 128, (int)(4 * s) + u);
        w[u] = _mm512_shuffle_epi8(table, _mm512_and_si512(a, bytes(15)));
        w[u + 4] = _mm512_shuffle_epi8(table, _mm512_and_si512(shift_right(a, 4), bytes(15)));
    }
}

/* ---- Q2_K: d, dmin; bytes of a 4-bit scale and a 4-bit min; bit pairs, in place -------------- */

INLINE void load_q2_k(const unsigned char *p, struct kscales *k)
{
    f16_pairs(p, &k->d, &k->dmin);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        k->scale[i] = load_unit(p, 1 + i);
        k->min[i] = _mm512_and_si512(shift_right(k->scale[i], 4), bytes(15));
    }
}

/* A permutation looks at four bits of its index: a table of 16 floats converts them. */
INLINE __m512 scale_q2_k(const struct kscales *k, unsigned i)
{
    const __m512 table = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_permutexvar_ps(_mm512_srli_epi32(k->scale[i / 4], 8 * (i % 4)), table);
}

INLINE __m512i min_q2_k(const struct kscales *k, unsigned s)
{
    const __m128i even = _mm_setr_epi8(0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1);
    const __m128i odd = _mm_setr_epi8(2, -1, 3, -1, 6, -1, 7, -1, 10, -1, 11, -1, 14, -1, 15, -1);
    return _mm512_shuffle_epi8(k->min[s / 2], _mm512_broadcast_i32x4(s % 2 ? odd : even));
}

/* Pair s % 4 of the bytes of half s / 4. */
INLINE void weights_q2_k(const unsigned char *p, const struct kscales *k, unsigned s,
                         __m512i w[8])
{
    (void)k;
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++)
        w[u] = _mm512_and_si512(load_unit(p + 320, (int)(s / 4 * 8) + u),
                                bytes(3 << 2 * (s % 4)));
}

/* Sub-block j of four: pair j. */
INLINE void four_q2_k(const unsigned char *p, const struct kscales *k, unsigned half, const struct row_acts *x, size_t b,
                      int n_tok, enum ahead ahead, struct sub_dots d[4])
{
    (void)k;
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++) {
        prefetch_step(p, ahead, 84 * PACK_ROWS / 64, half, (unsigned)u, 8);
        const __m512i a = load_unit(p + 320, (int)half * 8 + u);
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++)
            dots_add(&d[j], _mm512_and_si512(a, bytes(3 << 2 * j)), x, b + (size_t)j, u, n_tok);
    }
}

/* ---- Q3_K: d; scales as q3_k_scales() has them; third bits; bit pairs ------------------------ */

/* Lower nibbles of bytes: bits 0 to 3 to bits 2, 4, 6, 5, above the pairs they belong to. */
INLINE __m512i third_bits(__m512i v)
{
    const __m512i places = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 4, 16, 20, 64, 68, 80, 84, 32, 36, 48, 52, 96, 100, 112, 116));
    return _mm512_shuffle_epi8(places, _mm512_and_si512(v, bytes(15)));
}

INLINE void load_q3_k(const unsigned char *p, struct kscales *k)
{
    k->d = k->dmin = signed_scale(p);
    const __m512i a = _mm512_loadu_si512(p + 32), b = _mm512_loadu_si512(p + 96);
    const __m512i h = _mm512_loadu_si512(p + 160);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        __m512i lo = shift_right(i % 2 ? b : a, i / 2 * 4);
        __m512i v = bits_select(bytes(15), lo, shift_right(h, 2 * i - 4));
        k->scale[i] = _mm512_sub_epi8(_mm512_and_si512(v, bytes(63)), bytes(32));
    }
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++) {
        const __m512i t = load_unit(p + 224, u);
        k->third[0][u] = third_bits(t);
        k->third[1][u] = third_bits(shift_right(t, 4));
    }
}

/* Pair s % 4 of the bytes of half s / 4 stays in place, the last moves down to bits 3 and 4. */
INLINE void weights_q3_k(const unsigned char *p, const struct kscales *k, unsigned s,
                         __m512i w[8])
{
    const int at = s % 4 < 3 ? 2 * (int)(s % 4) : 3;
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++) {
        __m512i a = shift_right(load_unit(p + 736, (int)(s / 4 * 8) + u), s % 4 == 3 ? 3 : 0);
        a = bits_select(bytes(3 << at), a, k->third[s / 4][u]);
        w[u] = _mm512_and_si512(a, bytes(7 << at));
    }
}

/* Sub-block j of four: pair j of the bytes, where it stands, the last moved down to bits 3 and 4; the third bit above. */
INLINE void four_q3_k(const unsigned char *p, const struct kscales *k, unsigned half, const struct row_acts *x, size_t b,
                      int n_tok, enum ahead ahead, struct sub_dots d[4])
{
    (void)k;
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++) {
        prefetch_step(p, ahead, 110 * PACK_ROWS / 64, half, (unsigned)u, 8);
        const __m512i third = third_bits(shift_right(load_unit(p + 224, u), 4 * (int)half));
        const __m512i a = load_unit(p + 736, (int)half * 8 + u);
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) {
            const int at = j < 3 ? 2 * j : 3;
            __m512i w = bits_select(bytes(3 << at), j < 3 ? a : shift_right(a, 3), third);
            dots_add(&d[j], _mm512_and_si512(w, bytes(7 << at)), x, b + (size_t)j, u, n_tok);
        }
    }
}

/* ---- Q6_K: d; signed bytes; pack.h's sixes ---------------------------------------------------- */

INLINE void load_q6_k(const unsigned char *p, struct kscales *k)
{
    k->d = k->dmin = signed_scale(p);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        k->scale[i] = _mm512_loadu_si512(p + 32 + 64 * i);
}

/* The last of four sub-blocks, times 4: what the lines of the other three have above their six bits. */
INLINE __m512i last_sixes(__m512i a, __m512i b, __m512i c)
{
    const __m512i rest = bits_select(bytes(0xf0), shift_right(b, 2), shift_right(c, 4));
    return _mm512_and_si512(bits_select(bytes(0xc0), a, rest), bytes(0xfc));
}

INLINE void weights_q6_k(const unsigned char *p, const struct kscales *k, unsigned s,
                         __m512i w[8])
{
    (void)k;
    const unsigned char *half = p + 288 + s / 4 * 1536;
    const int j = (int)(s % 4);
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++)
        w[u] = j < 3 ? _mm512_and_si512(load_unit(half, 3 * u + j), bytes(63))
                     : last_sixes(load_unit(half, 3 * u), load_unit(half, 3 * u + 1), load_unit(half, 3 * u + 2));
}

INLINE void four_q6_k(const unsigned char *p, const struct kscales *k, unsigned half, const struct row_acts *x, size_t b,
                      int n_tok, enum ahead ahead, struct sub_dots d[4])
{
    (void)k;
    const unsigned char *at = p + 288 + half * 1536;
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++) {
        prefetch_step(p, ahead, 210 * PACK_ROWS / 64, half, (unsigned)u, 8);
        __m512i line[3];
#pragma GCC unroll 3
        for (int j = 0; j < 3; j++) {
            line[j] = load_unit(at, 3 * u + j);
            dots_add(&d[j], _mm512_and_si512(line[j], bytes(63)), x, b + (size_t)j, u, n_tok);
        }
        dots_add(&d[3], last_sixes(line[0], line[1], line[2]), x, b + 3, u, n_tok);
    }
}

/* ---- formats ------------------------------------------------------------------------------- */

/* As CPUs need it that have to be asked for lines to come, and for CPU_HW_PREFETCH (CPU_SW_PREFETCH: PACKED_GEMV_ONCE): formats whose lines
 * are not read in order or take long lose there too when nothing is asked for (Q2_K, Q3_K, Q5_K), and so do 3 tokens (packed_gemv32.c). */
#define PACKED_GEMV_ASKING(linkage, name, most, few, many, ...)                            \
    static void batch_##name(const struct matmul_args *a, size_t row0, size_t row1);       \
    PACKED_GEMV_ASKS(linkage, name, __VA_ARGS__, .ahead = few)                             \
    PACKED_BATCH(name, most, __VA_ARGS__, .ahead = many)
#define PACKED_GEMV(name, most, far, ...)                                                  \
    PACKED_GEMV_ASKING(, name, most, AHEAD_PAIR_CLOSE, AHEAD_PAIR_CLOSE, __VA_ARGS__)                  \
    PACKED_GEMV_ASKING(, name##_streams, most, far, AHEAD_FAR, __VA_ARGS__)
#define PACKED_GEMV_BOTH(name, most, ...)                                                  \
    PACKED_GEMV_ASKING(, name, most, AHEAD_PAIR_CLOSE, AHEAD_PAIR_CLOSE, __VA_ARGS__)                  \
    PACKED_GEMV_ASKING(static, name##_far, most, AHEAD_FAR, AHEAD_FAR, __VA_ARGS__)        \
    PACKED_GEMV_STREAMS(name, 2, name##_far, __VA_ARGS__, .ahead = AHEAD_NONE)
#define PACKED_FORMAT struct packed_k
#define PACKED_PANEL(name, ...)                                                            \
    INLINE void panel_##name(const unsigned char *p, size_t cols,                          \
                             const struct row_acts *x, int n_tok, struct row_sums *y)      \
    {                                                                                      \
        panel_k(p, cols, x, n_tok, (struct packed_k){ __VA_ARGS__ }, y);                   \
    }

/* clang-format off */
#define Q2_K .block_bytes = 84, .halves = true, .acts = { .shift = { 1, 4, 16, 64, 1, 4, 16, 64 } }, .load = load_q2_k, \
            .weights = weights_q2_k, .four = four_q2_k, .four_tok = 1, .scale = scale_q2_k, .min = min_q2_k
PACKED_GEMV(q2_k, VNNI_BATCH_MOST, AHEAD_FAR, Q2_K)
PACKED_GEMV_ONCE(q2_k, Q2_K, .ahead = AHEAD_ONCE)
#define Q3_K .block_bytes = 110, .halves = true, .acts = { .bias = 4, .halves = true, .shift = { 1, 4, 16, 8, 1, 4, 16, 8 } }, \
            .load = load_q3_k, .weights = weights_q3_k, .four = four_q3_k, .four_tok = 1, .scale = scale_signed
PACKED_GEMV(q3_k, VNNI_BATCH_MOST, AHEAD_FAR, Q3_K)
PACKED_GEMV_ONCE(q3_k, Q3_K, .ahead = AHEAD_ONCE)
#define Q4_K .block_bytes = 144, .acts = { .mins = true, .shift = { 1, 16, 1, 16, 1, 16, 1, 16 } }, .load = load_45, \
            .weights = weights_q4_k, .scale = scale_unsigned, .min = min_unsigned
PACKED_GEMV_BOTH(q4_k, VNNI_BATCH_TOK, Q4_K)
PACKED_GEMV_ONCE(q4_k, Q4_K, .four = four_q4_k, .four_tok = 2, .ahead = AHEAD_ONCE)
#define Q5_K .block_bytes = 176, .acts = { .mins = true }, .load = load_45, .weights = weights_q5_k, .scale = scale_unsigned, \
            .min = min_unsigned
PACKED_GEMV(q5_k, VNNI_BATCH_MOST, AHEAD_FAR_CLOSE, Q5_K)
PACKED_GEMV_ONCE(q5_k, Q5_K, .ahead = AHEAD_ONCE_FAR)
#define Q6_K .block_bytes = 210, .halves = true, .acts = { .bias = 32, .halves = true, .shift = { 1, 1, 1, 4, 1, 1, 1, 4 } }, \
            .load = load_q6_k, .weights = weights_q6_k, .four = four_q6_k, .four_tok = 2, .scale = scale_signed
PACKED_GEMV_BOTH(q6_k, VNNI_BATCH_MOST, Q6_K)
PACKED_GEMV_ONCE(q6_k, Q6_K, .ahead = AHEAD_ONCE)
#define IQ4_XS .block_bytes = 136, .acts = { .bias = IQ4_BIAS }, .load = load_iq4_xs, .weights = weights_iq4_xs, .scale = scale_iq4_xs
PACKED_GEMV_BOTH(iq4_xs, VNNI_BATCH_MOST, IQ4_XS)
PACKED_GEMV_ONCE(iq4_xs, IQ4_XS, .ahead = AHEAD_ONCE)
/* clang-format on */
