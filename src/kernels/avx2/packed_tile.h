/*
 * kernels/avx2/packed_tile.h: the products of packed.h as templates: a shape and a decoder, constants to the
 * compiler, become unpacking, tiles and decode of one token. Static inline only.
 */
#ifndef KERNELS_AVX2_PACKED_TILE_H
#define KERNELS_AVX2_PACKED_TILE_H

#include "kernels/avx2/packed.h"

/* Line v of step `step` of the block whose fields after the first begin at p, plus 32 for the upper 8 rows:
 * out[o] are columns step * PACKED_STEP + o * PACKED_SPAN + 4 v and the three after. */
typedef void packed_decode(const unsigned char *p, size_t step, size_t v, vi *out);
/* Scales, and mins, of block b of a chunk, whose first field is at p. */
typedef void packed_scales(const unsigned char *p, size_t b, struct packed_meta *m);

/* Half h of line i. */
INLINE vi line(const unsigned char *p, size_t i)
{
    return _mm256_loadu_si256((const __m256i *)(p + 64 * i));
}

/* Half-precision numbers in the lower halves of words whose upper halves are 0. */
INLINE vf packed_f16(vi w)
{
    return _mm256_cvtph_ps(_mm_packus_epi32(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1)));
}

/* Where block b of the n in a chunk at p has its first field, and what comes after. */
INLINE const unsigned char *block_head(const unsigned char *p, size_t b, const struct packed_shape f)
{
    return p + (b / f.group * f.group * f.bytes + b % f.group * f.head) * PACK_ROWS;
}
INLINE const unsigned char *block_rest(const unsigned char *p, size_t b, size_t n, const struct packed_shape f)
{
    const size_t g = b / f.group * f.group, in_group = n - g < f.group ? n - g : f.group;
    return p + (g * f.bytes + in_group * f.head + (b - g) * (f.bytes - f.head)) * PACK_ROWS;
}

INLINE vi even_bytes(vi w)
{
    return _mm256_and_si256(w, _mm256_set1_epi16(0xff));
}
INLINE vi odd_bytes(vi w)
{
    return _mm256_srli_epi16(w, 8);
}
INLINE vi broadcast4(const int8_t *p)
{
    int32_t x;
    __builtin_memcpy(&x, p, sizeof x);
    return _mm256_set1_epi32(x);
}

/* A sum + products, kept in its register and order: gcc would else add products in trees, and spill them. */
INLINE vi packed_add(vi sum, vi w, vi x, const struct packed_shape f)
{
    if (f.wide)
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(w, x));
    else
        sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(w, x));
    __asm__("" : "+x"(sum));
    return sum;
}

/* ---- unpacking ----------------------------------------------------------------------- */

INLINE void packed_unpack(struct packed_panel *panel, const unsigned char *p, size_t n_k, const struct packed_shape f,
                          packed_decode *decode, packed_scales *scales)
{
    const size_t n = n_k / f.elems;
    uint8_t *at = (uint8_t *)panel->w;
    for (size_t b = 0; b < n; b++) {
        const unsigned char *rest = block_rest(p, b, n, f);
        scales(block_head(p, b, f), b, &panel->meta);
        for (size_t step = 0; step < f.elems / PACKED_STEP(f); step++)
#pragma GCC unroll 8
            for (size_t v = 0; v < f.lines; v++)
#pragma GCC unroll 2
                for (size_t h = 0; h < 2; h++) {
                    vi out[4];
                    decode(rest + 32 * h, step, v, out);
#pragma GCC unroll 4
                    for (size_t o = 0; o < f.outs; o++) {
                        const size_t k = b * f.elems + step * PACKED_STEP(f) + o * PACKED_SPAN(f) + 4 * v;
                        vi_store(at + PACK_ROWS * k + 32 * h, f.wide ? even_bytes(out[o]) : out[o]);
                        if (f.wide)
                            vi_store(at + PACK_ROWS * (CHUNK_K + k) + 32 * h, odd_bytes(out[o]));
                    }
                }
    }
}

/* ---- sums ---------------------------------------------------------------------------- */

/* Sum g of half h in 32 bits, times its scale if that is an integer. */
INLINE vi packed_widen(vi i, size_t g, size_t h, const struct packed_meta *m, const struct packed_shape f)
{
    if (f.wide)
        return i;
    return _mm256_madd_epi16(i, f.int_scale ? vi_load(&m->pair[g][VL * h]) : _mm256_set1_epi16(1));
}

/* acc + scales * i, of the block of sum g */
INLINE vf packed_flush(vf acc, vi i, size_t g, size_t h, const struct packed_meta *m, const float *d,
                       const struct packed_shape f)
{
    const size_t b = g * f.sum_k / 32;
    vf s = vf_set1(d[b]);
    if (!f.int_scale)
        s = vf_mul(s, vf_load(&m->scale[b][VL * h]));
    return vf_fma(vi_to_vf(i), s, acc);
}

/* Tiles of n_tok tokens. */
INLINE void packed_sums(const struct packed_tile *a, const int n_tok, const struct packed_shape f, vf *acc)
{
    const size_t tok_bytes = f.wide ? PACKED_TOK_WIDE : PACKED_TOK_BYTES;
    const unsigned char *base = a->tok;
    const struct packed_panel *p = a->panel;
    const uint8_t *weights = (const uint8_t *)p->w;
    for (size_t g = 0; g < a->n_k / f.sum_k; g++) {
        vi i[2 * PACKED_TILE];
#pragma GCC unroll 3
        for (int t = 0; t < n_tok; t++) {
            const struct packed_tok *tok = (const void *)(base + (size_t)t * tok_bytes);
            i[2 * t] = i[2 * t + 1] = vi_set1(f.bias ? tok->start[g] : 0);
        }
#pragma GCC unroll 8
        for (size_t j = 0; j < f.sum_k / 4; j++) {
            const size_t k = g * f.sum_k + 4 * j;
#pragma GCC unroll 2
            for (size_t e = 0; e < 1 + (size_t)f.wide; e++) {
                const uint8_t *w = weights + PACK_ROWS * (e * CHUNK_K + k);
                const vi w0 = vi_load(w), w1 = vi_load(w + 32);
#pragma GCC unroll 3
                for (int t = 0; t < n_tok; t++) {
                    const struct packed_tok *tok = (const void *)(base + (size_t)t * tok_bytes);
                    const vi x = broadcast4(tok->q + e * CHUNK_K + k);
                    i[2 * t] = packed_add(i[2 * t], w0, x, f);
                    i[2 * t + 1] = packed_add(i[2 * t + 1], w1, x, f);
                }
            }
        }
#pragma GCC unroll 3
        for (int t = 0; t < n_tok; t++) {
            const struct packed_tok *tok = (const void *)(base + (size_t)t * tok_bytes);
#pragma GCC unroll 2
            for (size_t h = 0; h < 2; h++) {
                vi sum = packed_widen(i[2 * t + (int)h], g, h, &p->meta, f);
                acc[2 * t + (int)h] = packed_flush(acc[2 * t + (int)h], sum, g, h, &p->meta, tok->d, f);
            }
        }
    }
}

/* acc -= mins times the sums of activations */
INLINE void packed_mins(const struct packed_tile *a, const int n_tok, const struct packed_shape f, vf *acc)
{
    const size_t tok_bytes = f.wide ? PACKED_TOK_WIDE : PACKED_TOK_BYTES;
    const struct packed_meta *m = &a->panel->meta;
    vf sum[2 * PACKED_TILE];
#pragma GCC unroll 6
    for (int i = 0; i < 2 * n_tok; i++)
        sum[i] = vf_set1(0);
    for (size_t g = 0; g < a->n_k / f.min_k; g++)
#pragma GCC unroll 6
        for (int i = 0; i < 2 * n_tok; i++) {
            const struct packed_tok *tok = (const void *)(a->tok + (size_t)(i / 2) * tok_bytes);
            sum[i] = vf_fma(vf_load(&m->min[g][VL * (i % 2)]), vf_set1(tok->xsum[g]), sum[i]);
        }
#pragma GCC unroll 6
    for (int i = 0; i < 2 * n_tok; i++)
        acc[i] = f.int_scale ? vf_fnma(sum[i], vf_load(&m->dmin[VL * (i % 2)]), acc[i]) : vf_sub(acc[i], sum[i]);
}

INLINE void packed_tile_run(const struct packed_tile *a, const int n_tok, const struct packed_shape f)
{
    const vm m[2] = { vm_first(a->n_rows), vm_first(a->n_rows < VL ? 0 : a->n_rows - VL) };
    const struct packed_meta *meta = &a->panel->meta;
    vf acc[2 * PACKED_TILE];
#pragma GCC unroll 6
    for (int i = 0; i < 2 * n_tok; i++)
        acc[i] = vf_set1(0);
    packed_sums(a, n_tok, f, acc);
#pragma GCC unroll 6
    for (int i = 0; i < 2 * n_tok; i++) {
        const size_t h = (size_t)i % 2;
        const float *y = a->y + (size_t)(i / 2) * a->y_stride + VL * h;
        vf old = a->first ? vf_set1(0) : vf_load_m(m[h], y);
        acc[i] = f.int_scale ? vf_fma(acc[i], vf_load(&meta->d[VL * h]), old) : vf_add(acc[i], old);
    }
    if (f.min_k)
        packed_mins(a, n_tok, f, acc);
#pragma GCC unroll 6
    for (int i = 0; i < 2 * n_tok; i++)
        vf_store_m(a->y + (size_t)(i / 2) * a->y_stride + VL * (i % 2), m[i % 2], acc[i]);
}

/* The number of tokens becomes a constant, so that accumulators are registers. */
INLINE void packed_tile_any(const struct packed_tile *a, size_t n_tok, const struct packed_shape f)
{
    switch (n_tok) {
    case 1:
        packed_tile_run(a, 1, f);
        break;
    case 2:
        packed_tile_run(a, 2, f);
        break;
    default:
        packed_tile_run(a, PACKED_TILE, f);
        break;
    }
}

/* ---- decode -------------------------------------------------------------------------- */

INLINE vi packed_dot(vi sum, vi w, const int8_t *q, const struct packed_shape f)
{
    if (!f.wide)
        return packed_add(sum, w, broadcast4(q), f);
    sum = packed_add(sum, even_bytes(w), broadcast4(q), f);
    return packed_add(sum, odd_bytes(w), broadcast4(q + CHUNK_K), f);
}

/* A step whose first column in the chunk is k0. Vectors of a line whose columns are nearer than sum_k share a
 * sum. */
INLINE void packed_step(const unsigned char *p, size_t step, size_t k0, const struct packed_tok *tok,
                        const struct packed_meta *m, const bool ahead, const struct packed_shape f, packed_decode *decode, vf *acc)
{
    const size_t n_sum = PACKED_SPAN(f) < f.sum_k ? 1 : f.outs;
    const size_t step_bytes = f.bytes * PACK_ROWS * PACKED_STEP(f) / f.elems, n_line = (step_bytes + 63) / 64;
    vi sum[4][2], first[4][2];
#pragma GCC unroll 8
    for (size_t v = 0; v < f.lines; v++) {
#pragma GCC unroll 4
        for (size_t i = 0; ahead && i < 4; i++)
            if (v * n_line / f.lines + i < (v + 1) * n_line / f.lines)
                PREFETCH_LINE(p + step * step_bytes + 64 * (v * n_line / f.lines + i));
        const bool begins = v * 4 % f.sum_k == 0, ends = v + 1 == f.lines || (v + 1) * 4 % f.sum_k == 0;
#pragma GCC unroll 4
        for (size_t o = 0; begins && o < n_sum; o++)
            sum[o][0] = sum[o][1] = vi_set1(f.bias ? tok->start[(k0 + o * PACKED_SPAN(f) + 4 * v) / f.sum_k] : 0);
#pragma GCC unroll 2
        for (size_t h = 0; h < 2; h++) {
            vi w[4];
            decode(p + 32 * h, step, v, w);
#pragma GCC unroll 4
            for (size_t o = 0; o < f.outs; o++) {
                vi *s = &sum[o < n_sum ? o : 0][h];
                *s = packed_dot(*s, w[o], tok->q + k0 + o * PACKED_SPAN(f) + 4 * v, f);
            }
        }
#pragma GCC unroll 4
        for (size_t o = 0; ends && o < n_sum; o++)
#pragma GCC unroll 2
            for (size_t h = 0; h < 2; h++) {
                const size_t g = (k0 + o * PACKED_SPAN(f) + 4 * v) / f.sum_k;
                vi total = packed_widen(sum[o][h], g, h, m, f);
                if (f.pairs && v == 3) {
                    first[o][h] = total;
                } else {
                    if (f.pairs)
                        total = _mm256_add_epi32(total, first[o][h]);
                    acc[h] = packed_flush(acc[h], total, g, h, m, tok->d, f);
                }
            }
    }
}

/* A chunk of n_k columns, added to y[2]. */
INLINE void packed_chunk(const unsigned char *p, size_t n_k, const struct packed_tok *tok, const bool ahead,
                         const struct packed_shape f, packed_decode *decode, packed_scales *scales, vf *y)
{
    const size_t n = n_k / f.elems;
    struct packed_meta m;
    vf acc[2] = { f.int_scale ? vf_set1(0) : y[0], f.int_scale ? vf_set1(0) : y[1] };
    for (size_t b = 0; b < n; b++) {
        const unsigned char *rest = block_rest(p, b, n, f);
        scales(block_head(p, b, f), b, &m);
        for (size_t step = 0; step < f.elems / PACKED_STEP(f); step++)
            packed_step(rest, step, b * f.elems + step * PACKED_STEP(f), tok, &m, ahead, f, decode, acc);
    }
    vf mins[2] = { vf_set1(0), vf_set1(0) };
    for (size_t g = 0; f.min_k && g < n_k / f.min_k; g++)
#pragma GCC unroll 2
        for (size_t h = 0; h < 2; h++)
            mins[h] = vf_fma(vf_load(&m.min[g][VL * h]), vf_set1(tok->xsum[g]), mins[h]);
#pragma GCC unroll 2
    for (size_t h = 0; h < 2; h++) {
        y[h] = f.int_scale ? vf_fma(acc[h], vf_load(&m.d[VL * h]), y[h]) : acc[h];
        if (f.min_k)
            y[h] = f.int_scale ? vf_fnma(mins[h], vf_load(&m.dmin[VL * h]), y[h]) : vf_sub(y[h], mins[h]);
    }
}

/* ahead: prefetch; slower on CPU_HW_PREFETCH. Zen 4, one thread, % of plain loads, with (twice a line) and without: Q8_0 65 and 85, Q4_0 70
 * and 89, Q4_K_M 63 and 87, Q6_K 50 and 86. */
INLINE void packed_gemv(const struct matmul_args *a, size_t row0, size_t row1, const bool ahead, const struct packed_shape f,
                        packed_decode *decode, packed_scales *scales)
{
    const size_t tok_bytes = f.wide ? PACKED_TOK_WIDE : PACKED_TOK_BYTES;
    unsigned char *const toks = a->scratch;
    const struct packed_shape shape = f; /* f itself stays a constant: its address is not taken */
    for (size_t k = 0; k < a->cols; k += CHUNK_K)
        packed_prepare((void *)(toks + k / CHUNK_K * tok_bytes), a->x, 0, k,
                       a->cols - k < CHUNK_K ? a->cols - k : CHUNK_K, &shape);
    for (size_t r = row0; r < row1; r += PACK_ROWS) {
        const unsigned char *p = a->w + r * a->w_row_bytes;
        vf y[2] = { vf_set1(0), vf_set1(0) };
        for (size_t k = 0; k < a->cols; k += CHUNK_K) {
            const struct packed_tok *tok = (const void *)(toks + k / CHUNK_K * tok_bytes);
            if (f.elems == CHUNK_K || a->cols - k >= CHUNK_K)
                packed_chunk(p, CHUNK_K, tok, ahead, f, decode, scales, y);
            else
                packed_chunk(p, a->cols - k, tok, ahead, f, decode, scales, y);
            p += (size_t)CHUNK_K / f.elems * f.bytes * PACK_ROWS;
        }
        vf_store_m(a->y + r, vm_first(row1 - r), y[0]);
        vf_store_m(a->y + r + VL, vm_first(row1 - r < VL ? 0 : row1 - r - VL), y[1]);
    }
}

/* A format's decoder and shape as functions. */
#define PACKED(name, SHAPE, decode, scales)                                                           \
    PRODUCT(gemv_##name, packed_gemv, true, SHAPE, decode, scales)                                    \
    PRODUCT(gemv_streams_##name, packed_gemv, false, SHAPE, decode, scales)                           \
    static void unpack_##name(struct packed_panel *panel, const unsigned char *p, size_t n_k)         \
    {                                                                                                 \
        packed_unpack(panel, p, n_k, SHAPE, decode, scales);                                          \
    }

#endif
