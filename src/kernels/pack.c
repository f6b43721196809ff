/* kernels/pack.c: packing of rows into panels. */
#include "kernels/pack.h"
#include <string.h>

/* Fields in the order in which kernels use them. Offsets of blocks: methods.md (1). */
const struct pack_format *pack_format(enum dtype type)
{
    static const struct pack_format formats[DTYPE_COUNT] = {
        [DTYPE_F32] = { 1, 4, 1, { { 0, 4, 1 } }, PACK_AS_FILED },
        [DTYPE_F16] = { 1, 2, 2, { { 0, 2, 1 } }, PACK_AS_FILED },
        [DTYPE_BF16] = { 2, 4, 1, { { 0, 4, 1 } }, PACK_AS_FILED },
        [DTYPE_Q8_0] = { Q8_0_ELEMS, Q8_0_BYTES, 2, { { 0, 2, 1 }, { Q8_0_Q, 4, 8 } }, PACK_TOP_FLIPPED }, /* quant + 128 */
        [DTYPE_Q4_0] = { Q4_0_ELEMS, Q4_0_BYTES, 2, { { 0, 2, 1 }, { Q4_0_Q, 4, 4 } }, PACK_AS_FILED },
        [DTYPE_IQ4_NL] = { IQ4_NL_ELEMS, IQ4_NL_BYTES, 2, { { 0, 2, 1 }, { IQ4_NL_Q, 4, 4 } }, PACK_AS_FILED },
        [DTYPE_Q4_1] = { Q4_1_ELEMS, Q4_1_BYTES, 1, { { 0, 4, 1 }, { Q4_1_Q, 4, 4 } }, PACK_AS_FILED },
        [DTYPE_Q5_0] = { Q5_0_ELEMS, Q5_0_BYTES, 2, { { 0, 2, 1 }, { Q5_0_HIGH, 4, 1 }, { Q5_0_Q, 4, 4 } }, PACK_AS_FILED },
        [DTYPE_Q5_1] = { Q5_1_ELEMS, Q5_1_BYTES, 1, { { 0, 4, 1 }, { Q5_1_HIGH, 4, 1 }, { Q5_1_Q, 4, 4 } }, PACK_AS_FILED },
        [DTYPE_MXFP4] = { MXFP4_ELEMS, MXFP4_BYTES, 4, { { 0, 1, 1 }, { MXFP4_Q, 4, 4 } }, PACK_AS_FILED },
        [DTYPE_Q2_K] = { Q2_K_ELEMS, Q2_K_BYTES, 1, { { Q2_K_D, 4, 1 }, { 0, 4, 4 }, { Q2_K_Q, 4, 16 } }, PACK_AS_FILED },
        [DTYPE_Q3_K] = { Q3_K_ELEMS, Q3_K_BYTES, 1, { { Q3_K_D, 2, 1 }, { Q3_K_SCALES, 4, 3 }, { 0, 4, 8 }, { Q3_K_Q, 4, 16 } }, PACK_AS_FILED },
        [DTYPE_Q4_K] = { Q4_K_ELEMS, Q4_K_BYTES, 1, { { 0, 4, 1 }, { Q4_K_SCALES, 4, 3 }, { Q4_K_Q, 4, 32 } }, PACK_AS_FILED },
        [DTYPE_Q5_K] = { Q5_K_ELEMS, Q5_K_BYTES, 1, { { 0, 4, 1 }, { Q5_K_SCALES, 4, 3 }, { Q5_K_HIGH, 4, 8 }, { Q5_K_Q, 4, 32 } }, PACK_AS_FILED },
        [DTYPE_Q6_K] = { Q6_K_ELEMS, Q6_K_BYTES, 1, { { Q6_K_D, 2, 1 }, { Q6_K_SCALES, 4, 4 } }, PACK_SIXES },
        [DTYPE_IQ4_XS] = { IQ4_XS_ELEMS, IQ4_XS_BYTES, 1, { { 0, 4, 1 }, { IQ4_XS_SCALES, 4, 1 }, { IQ4_XS_Q, 4, 32 } }, PACK_AS_FILED },
    };
    return formats[type].group ? &formats[type] : NULL;
}

bool pack_bytes(enum dtype type, size_t rows, size_t cols, size_t *bytes)
{
    const struct pack_format *f = pack_format(type);
    if (!f || cols % f->elems || rows > SIZE_MAX - PACK_ROWS)
        return false;
    return size_mul(size_align_up(rows, PACK_ROWS), cols / f->elems * f->bytes, bytes);
}

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* 16 bytes, for compilers to turn into vectors of any ISA that has them. */
typedef uint16_t halves_t __attribute__((vector_size(16)));
typedef uint32_t words_t __attribute__((vector_size(16)));
typedef uint64_t pairs_t __attribute__((vector_size(16)));

/* Of two vectors, element by element in turn: their first halves, their second halves. */
#define HALVES_LOW(a, b)  __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HALVES_HIGH(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define WORDS_LOW(a, b)   __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define WORDS_HIGH(a, b)  __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define PAIRS_LOW(a, b)   __builtin_shufflevector(a, b, 0, 2)
#define PAIRS_HIGH(a, b)  __builtin_shufflevector(a, b, 1, 3)

ALWAYS_INLINE words_t load(const unsigned char *p, uint32_t flip)
{
    words_t x;
    memcpy(&x, p, sizeof x);
    return x ^ (words_t){ flip, flip, flip, flip };
}

/* x[i], four words of row i of four, to four units of these rows, `lines` lines of PACK_ROWS words apart. */
ALWAYS_INLINE void put_4x4(unsigned char *dst, const size_t lines, words_t a, words_t b, words_t c, words_t d)
{
    const pairs_t low[] = { (pairs_t)WORDS_LOW(a, b), (pairs_t)WORDS_LOW(c, d) };
    const pairs_t high[] = { (pairs_t)WORDS_HIGH(a, b), (pairs_t)WORDS_HIGH(c, d) };
    const pairs_t unit[] = { PAIRS_LOW(low[0], low[1]), PAIRS_HIGH(low[0], low[1]), PAIRS_LOW(high[0], high[1]),
                             PAIRS_HIGH(high[0], high[1]) };
#pragma GCC unroll 4
    for (size_t u = 0; u < 4; u++)
        memcpy(dst + u * lines * PACK_ROWS * 4, &unit[u], sizeof unit[u]);
}

/* Four units of four bytes, from byte `at` of PACK_ROWS rows on. */
ALWAYS_INLINE void put_words(unsigned char *dst, const unsigned char *const *row, size_t at, uint32_t flip)
{
#pragma GCC unroll 4
    for (size_t r = 0; r < PACK_ROWS; r += 4)
        put_4x4(dst + 4 * r, 1, load(row[r] + at, flip), load(row[r + 1] + at, flip), load(row[r + 2] + at, flip),
                load(row[r + 3] + at, flip));
}

/* Eight units of two bytes. */
ALWAYS_INLINE void put_halves(unsigned char *dst, const unsigned char *const *row, size_t at, uint32_t flip)
{
#pragma GCC unroll 2
    for (size_t r = 0; r < PACK_ROWS; r += 8) {
        halves_t x[8];
        words_t y[8];
        pairs_t z[8];
        for (size_t i = 0; i < 8; i++)
            x[i] = (halves_t)load(row[r + i] + at, flip);
        for (size_t i = 0; i < 4; i++) { /* y[i]: rows 2i, 2i + 1, units 0-3; y[4 + i]: units 4-7 */
            y[i] = (words_t)HALVES_LOW(x[2 * i], x[2 * i + 1]);
            y[4 + i] = (words_t)HALVES_HIGH(x[2 * i], x[2 * i + 1]);
        }
        for (size_t i = 0; i < 8; i += 4) { /* z[i], z[i + 1]: rows 0-3 and 4-7 of two units, z[i + 2], z[i + 3] of the next two */
            z[i] = (pairs_t)WORDS_LOW(y[i], y[i + 1]);
            z[i + 1] = (pairs_t)WORDS_LOW(y[i + 2], y[i + 3]);
            z[i + 2] = (pairs_t)WORDS_HIGH(y[i], y[i + 1]);
            z[i + 3] = (pairs_t)WORDS_HIGH(y[i + 2], y[i + 3]);
        }
        for (size_t u = 0; u < 8; u += 2) {
            const pairs_t even = PAIRS_LOW(z[u], z[u + 1]), odd = PAIRS_HIGH(z[u], z[u + 1]);
            memcpy(dst + (u * PACK_ROWS + r) * 2, &even, sizeof even);
            memcpy(dst + ((u + 1) * PACK_ROWS + r) * 2, &odd, sizeof odd);
        }
    }
}

/* count units from byte `at` of PACK_ROWS rows, n of which exist, one by one. With constants, memcpy is a move. */
ALWAYS_INLINE unsigned char *put_units(unsigned char *dst, const unsigned char *const *row, size_t at, size_t count,
                                       size_t unit, uint32_t flip, size_t n)
{
    for (size_t u = 0; u < count; u++, at += unit, dst += PACK_ROWS * unit)
#pragma GCC unroll 16
        for (size_t r = 0; r < PACK_ROWS; r++) {
            uint32_t x = 0;
            if (r < n) {
                memcpy(&x, row[r] + at, unit);
                x ^= flip;
            }
            memcpy(dst + r * unit, &x, unit);
        }
    return dst;
}

static unsigned char *put(unsigned char *dst, const unsigned char *const *row, size_t at, size_t count, size_t unit,
                          uint32_t flip, size_t n)
{
    if (n < PACK_ROWS) /* the last panel of a matrix */
        return put_units(dst, row, at, count, unit, flip, n);
    switch (unit) {
    case 1:
        return put_units(dst, row, at, count, 1, flip, PACK_ROWS);
    case 2:
        for (; count >= 8; count -= 8, at += 16, dst += PACK_ROWS * 16)
            put_halves(dst, row, at, flip);
        return put_units(dst, row, at, count, 2, flip, PACK_ROWS);
    default:
        for (; count >= 4; count -= 4, at += 16, dst += PACK_ROWS * 16)
            put_words(dst, row, at, flip);
        return put_units(dst, row, at, count, 4, flip, PACK_ROWS);
    }
}

/* Units 3 u to 3 u + 2 of 128 columns, from three words of the file: nibbles (a), nibbles 32 bytes further (b), and bit pairs (h). */
#define SIX_0(a, b, h) (((a) & 0x0f0f0f0f) | ((h) << 4 & 0x30303030) | ((h) & 0xc0c0c0c0))
#define SIX_1(a, b, h) (((b) & 0x0f0f0f0f) | ((h) << 2 & 0x30303030) | ((b) & 0xc0c0c0c0))
#define SIX_2(a, b, h) (((a) >> 4 & 0x0f0f0f0f) | ((h) & 0x30303030) | ((b) << 2 & 0xc0c0c0c0))

/* PACK_SIXES of one block, `at` bytes into the rows, of which n exist. The file has 64 bytes of nibbles for each 128 columns
 * (the first 64 in the lower ones), and, from byte 128 on, 32 of bit pairs, the first 32 columns in the lowest. methods.md (1) */
ALWAYS_INLINE unsigned char *put_sixes(unsigned char *dst, const unsigned char *const *row, size_t at, size_t n)
{
    for (size_t half = 0; half < 2; half++)
        for (size_t u = 0; u < 8; u += 4, dst += 4 * 3 * 4 * PACK_ROWS) {
            const size_t low = at + 64 * half + 4 * u, pairs = at + 128 + 32 * half + 4 * u;
            for (size_t r = 0; r < PACK_ROWS; r += 4) {
                words_t a[4] = { { 0 } }, b[4] = { { 0 } }, h[4] = { { 0 } }; /* missing rows are 0 */
#pragma GCC unroll 4
                for (size_t i = 0; i < 4; i++)
                    if (r + i < n) {
                        a[i] = load(row[r + i] + low, 0);
                        b[i] = load(row[r + i] + low + 32, 0);
                        h[i] = load(row[r + i] + pairs, 0);
                    }
#define PUT_SIX(f, i)                                                                                              \
    put_4x4(dst + (i * PACK_ROWS + r) * 4, 3, f(a[0], b[0], h[0]), f(a[1], b[1], h[1]), f(a[2], b[2], h[2]), f(a[3], b[3], h[3]))
                PUT_SIX(SIX_0, 0);
                PUT_SIX(SIX_1, 1);
                PUT_SIX(SIX_2, 2);
#undef PUT_SIX
            }
        }
    return dst;
}

void pack_panel(const struct pack_format *f, unsigned char *dst, const unsigned char *src, size_t row_bytes,
                size_t blocks, size_t n)
{
    const struct pack_field *d = f->field;
    const uint32_t flip = f->bits == PACK_TOP_FLIPPED ? 0x80808080 : 0;
    const unsigned char *row[PACK_ROWS] = { NULL };
    for (size_t r = 0; r < n; r++)
        row[r] = src + r * row_bytes;
    if (d[1].count == 0) { /* the first field only: groups make no difference */
        put(dst, row, 0, blocks * d[0].count, d[0].unit, 0, n);
        return;
    }
    for (size_t g = 0; g < blocks; g += f->group) {
        const size_t end = u64_min(g + f->group, blocks);
        for (size_t b = g; b < end; b++)
            dst = put(dst, row, b * f->bytes + d[0].offset, d[0].count, d[0].unit, 0, n);
        for (size_t b = g; b < end; b++) {
            for (size_t i = 1; i < PACK_FIELDS && d[i].count; i++)
                dst = put(dst, row, b * f->bytes + d[i].offset, d[i].count, d[i].unit, flip, n);
            switch (f->bits) {
            case PACK_AS_FILED:
            case PACK_TOP_FLIPPED:
                break;
            case PACK_SIXES:
                dst = n < PACK_ROWS ? put_sixes(dst, row, b * f->bytes, n) : put_sixes(dst, row, b * f->bytes, PACK_ROWS);
                break;
            }
        }
    }
}

void pack_panels(enum dtype type, unsigned char *dst, const unsigned char *src, size_t rows, size_t cols,
                 size_t panel0, size_t panel1)
{
    const struct pack_format *f = pack_format(type);
    const size_t row_bytes = cols / f->elems * f->bytes, panel_bytes = PACK_ROWS * row_bytes;
    for (size_t p = panel0; p < panel1; p++)
        pack_panel(f, dst + p * panel_bytes, src + p * panel_bytes, row_bytes, cols / f->elems,
                   u64_min(PACK_ROWS, rows - p * PACK_ROWS));
}
