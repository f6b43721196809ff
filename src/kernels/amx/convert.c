/*
 * amx/convert.c: packed weights to bf16, the second operand of a tile product: pairs of columns of 16 rows interleaved. Weights are read
 * in packed form; formats that need more than masks, shifts and a table (PLACE_PANEL) are unpacked first. methods.md (5)
 *
 * vcvtne2ps2bf16 uses port 5 twice (Granite Rapids: two cycles, three with a vpermb), and permutations use that port alone: bytes are
 * converted in the order that needs no permutation of pairs, one vpermb each.
 */
#include "kernels/amx/amx.h"
#include "kernels/avx512vnni/packed_place.h"

/* Of four bytes each of 16 rows: bytes c and c + 1 of rows r to r + 7, as dwords. Lines begin with their last byte. */
#define TWO_OF(c, r)      0, 0, 0, 4 * (r) + (c) + 1, 0, 0, 0, 4 * (r) + (c)
#define DWORDS_OF(c, r)                                                                                              \
    _mm512_set_epi8(TWO_OF(c, (r) + 7), TWO_OF(c, (r) + 6), TWO_OF(c, (r) + 5), TWO_OF(c, (r) + 4), TWO_OF(c, (r) + 3), \
                    TWO_OF(c, (r) + 2), TWO_OF(c, (r) + 1), TWO_OF(c, r))
enum { EVERY_FOURTH = 0x11111111 };

/* Eight rows' numbers, twice each. */
INLINE void twice(__m512 x, __m512 out[2])
{
    const __m512i row = _mm512_srli_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), 1);
    out[0] = _mm512_permutexvar_ps(row, x);
    out[1] = _mm512_permutexvar_ps(_mm512_add_epi32(row, _mm512_set1_epi32(8)), x);
}

/* Quads [q, end), which share their scales: scale * byte - min, rounded once as dequantizing has it, to the nearest bf16. Biases
 * are powers of two, so scale * bias is exact (an infinite scale makes NaN of all its weights). E2M1's scale may be too large for that:
 * there the bias is subtracted first. */
INLINE void convert_some(uint16_t *to, const struct amx_packed *from, size_t q, size_t end, const struct panel_format *f,
                         const enum panel_kind kind, const enum panel_place place, const bool last_six)
{
    const __m512i at[4] = { DWORDS_OF(0, 0), DWORDS_OF(0, 8), DWORDS_OF(2, 0), DWORDS_OF(2, 8) };
    const __mmask64 low = (__mmask64)EVERY_FOURTH << 32 | EVERY_FOURTH;
    const bool has_min = kind == PANEL_32_MIN || kind == PANEL_8_MINS || kind == PANEL_2_MINS, second = q % 8 >= 4;
    const size_t b = q / 16, h = q / 8 % 2;
    const struct panel_block *m = from->meta + b;
    const __m512 scale = _mm512_load_ps(m->meta[kind == PANEL_16 && second ? META_SCALE2 : META_SCALE][h]);
    __m512 min = has_min ? _mm512_load_ps(m->meta[META_MIN][h]) : _mm512_mul_ps(scale, _mm512_set1_ps((float)f->bias));
    if (kind == PANEL_2_MINS) {
        const __m512i mins = _mm512_load_si512(m->meta[META_MINS][h]);
        min = _mm512_mul_ps(min, _mm512_cvtepi32_ps(second ? _mm512_srli_epi32(mins, 16) : _mm512_and_si512(mins, _mm512_set1_epi32(0xffff))));
    }
    __m512 scales[2], less[2];
    twice(scale, scales);
    twice(min, less);
    struct place p = { .mask = _mm512_setzero_si512() };
    if (place != PLACE_PANEL) {
        const unsigned char *const u = place_units(from->half[h], (unsigned)b, from->blocks, place);
        p = place_of((const unsigned char *const[]){ u, u }, (unsigned)b, place);
    }
    for (; q < end; q++) {
        const int j = (int)(q % 8);
        const __m512i w = place == PLACE_PANEL ? _mm512_load_si512(m->w[h][j]) : place_quad(&p, 0, j, last_six, place, true);
        __m512 x[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            x[i] = _mm512_cvtepi32_ps(_mm512_maskz_permutexvar_epi8(low, at[i], w));
            x[i] = place == PLACE_E2M1 ? _mm512_mul_ps(_mm512_sub_ps(x[i], _mm512_set1_ps((float)f->bias)), scales[i % 2]) :
                                         _mm512_fmsub_ps(x[i], scales[i % 2], less[i % 2]);
        }
        _mm512_store_si512(to + q * 64, (__m512i)_mm512_cvtne2ps_pbh(x[1], x[0]));
        _mm512_store_si512(to + q * 64 + 32, (__m512i)_mm512_cvtne2ps_pbh(x[3], x[2]));
    }
}

INLINE void convert(uint16_t *to, const struct amx_packed *from, size_t first, size_t n, const struct panel_format *f,
                    const enum panel_kind kind, const enum panel_place place)
{
    const size_t shared = kind == PANEL_16 || kind == PANEL_2_MINS ? 4 : 8; /* quads with the same scales */
    for (size_t q = first, end; q < first + n; q = end) {
        end = u64_min((q / shared + 1) * shared, first + n);
        if (place == PLACE_SIXES && q / 16 % 4 == 3)
            convert_some(to, from, q, end, f, kind, place, true);
        else
            convert_some(to, from, q, end, f, kind, place, false);
    }
}

#define CONVERT(name, kind, place)                                                                                              \
    static void name(uint16_t *to, const struct amx_packed *from, size_t first, size_t n, const struct panel_format *f)         \
    {                                                                                                                           \
        convert(to, from, first, n, f, kind, place);                                                                            \
    }
CONVERT(convert_bytes, PANEL_32, PLACE_BYTES)
CONVERT(convert_nibbles_0, PANEL_32, PLACE_NIBBLES)
CONVERT(convert_nibbles_1, PANEL_32_MIN, PLACE_NIBBLES_1)
CONVERT(convert_fives_0, PANEL_32, PLACE_FIVES)
CONVERT(convert_fives_1, PANEL_32_MIN, PLACE_FIVES_1)
CONVERT(convert_nl, PANEL_32, PLACE_NL)
CONVERT(convert_e2m1, PANEL_32, PLACE_E2M1)
CONVERT(convert_nibbles_k, PANEL_8_MINS, PLACE_NIBBLES_K)
CONVERT(convert_fives_k, PANEL_8_MINS, PLACE_FIVES_K)
CONVERT(convert_sixes, PANEL_16, PLACE_SIXES)
CONVERT(convert_nl_k, PANEL_32, PLACE_NL_K)
CONVERT(convert_unpacked, PANEL_32, PLACE_PANEL)
CONVERT(convert_unpacked_2_mins, PANEL_2_MINS, PLACE_PANEL)

/* Bits of a bf16 in the upper half: x cut off; near x, off by half its last bit at most. */
INLINE __m512i upper_half(__m512 x)
{
    return _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32((int32_t)0xffff0000));
}
INLINE __m512i near_bf16(__m512 x)
{
    return upper_half(_mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000))));
}

/* Splits 16-bit numbers into two bf16, 32-bit ones into three, which hold all their bits: each is the nearest to the remainder, the last is
 * exact, so a NaN stays one. Blocks: [parts][2 halves][pairs of 16 rows]. methods.md (94) */
INLINE void convert_parts(uint16_t *to, const struct amx_packed *from, size_t first, size_t n, const size_t parts)
{
    const size_t line = parts == 2 ? 32 : 64; /* bytes of a column of 16 rows */
    for (size_t q = first; q < first + n; q++) {
        const unsigned char *p = from->half[q / 8 % 2] + (q / 16 * 8 + q % 8) * 4 * line;
        uint16_t *at = to + q / 16 * parts * 1024 + q % 16 * 64;
#pragma GCC unroll 2
        for (size_t i = 0; i < 2; i++, p += 2 * line, at += 32) {
            __m512 a = parts == 2 ? _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p)) : _mm512_loadu_ps(p);
            __m512 b = parts == 2 ? _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(p + line))) : _mm512_loadu_ps(p + line);
#pragma GCC unroll 3
            for (size_t part = 0; part < parts; part++) {
                const bool last = part + 1 == parts;
                const __m512i na = last ? upper_half(a) : near_bf16(a), nb = last ? upper_half(b) : near_bf16(b);
                _mm512_store_si512(at + part * 1024, _mm512_or_si512(_mm512_srli_epi32(na, 16), nb));
                a = _mm512_sub_ps(a, _mm512_castsi512_ps(na));
                b = _mm512_sub_ps(b, _mm512_castsi512_ps(nb));
            }
        }
    }
}
static void convert_f16(uint16_t *to, const struct amx_packed *from, size_t first, size_t n, const struct panel_format *f)
{
    (void)f;
    convert_parts(to, from, first, n, 2);
}
static void convert_f32(uint16_t *to, const struct amx_packed *from, size_t first, size_t n, const struct panel_format *f)
{
    (void)f;
    convert_parts(to, from, first, n, 3);
}
const struct panel_format amx_f16, amx_f32;

amx_convert_fn *amx_convert_of(const struct panel_format *f)
{
    static amx_convert_fn *const at_place[PLACES] = {
        [PLACE_PANEL] = convert_unpacked,
        [PLACE_BYTES] = convert_bytes,
        [PLACE_NIBBLES] = convert_nibbles_0,
        [PLACE_NIBBLES_1] = convert_nibbles_1,
        [PLACE_FIVES] = convert_fives_0,
        [PLACE_FIVES_1] = convert_fives_1,
        [PLACE_NL] = convert_nl,
        [PLACE_E2M1] = convert_e2m1,
        [PLACE_NIBBLES_K] = convert_nibbles_k,
        [PLACE_FIVES_K] = convert_fives_k,
        [PLACE_SIXES] = convert_sixes,
        [PLACE_NL_K] = convert_nl_k,
    };
    if (f == &amx_f16)
        return convert_f16;
    if (f == &amx_f32)
        return convert_f32;
    return f->kind == PANEL_2_MINS ? convert_unpacked_2_mins : at_place[f->place];
}

void amx_convert_begin(struct amx_packed *from, const struct panel_format *f, const unsigned char *first, const unsigned char *second, size_t blocks,
                       struct panel_block *room)
{
    panel_unpack_fn *const scales = f->floats ? f->floats : f->unpack;
    *from = (struct amx_packed){ { first, second }, room, (unsigned)blocks };
    if (!scales)
        return;
    scales(first, blocks, room, 0);
    scales(second, blocks, room, 1);
}
