/* kernels/pack.c: the file's rows to panels of interleaved rows. */
#include "kernels/pack.h"
#include <string.h>

/* Fields in the order in which kernels use them. Offsets of blocks: methods.md (1). */
const struct pack_format *pack_format(enum dtype type)
{
    static const struct pack_format formats[DTYPE_COUNT] = {
        [DTYPE_F32] = {1,    4,    1, { { 0, 4, 1 } }, 0 },
        [DTYPE_F16] = { 1,   2,   2, { { 0, 2, 1 } }, 0 },
        [DTYPE_BF16] = { 2,   4,   1, { { 0, 4, 1 } }, 0 },
        [DTYPE_Q8_0] = { 32,  34,  2, { { 0, 2, 1 }, { 2, 4, 8 } }, 0x80 }, /* quant + 128 */
        [DTYPE_Q4_0] = { 32,  18,  2, { { 0, 2, 1 }, { 2, 4, 4 } }, 0 },
        [DTYPE_IQ4_NL] = { 32,  18,  2, { { 0, 2, 1 }, { 2, 4, 4 } }, 0 },
        [DTYPE_Q4_1] = { 32,  20,  1, { { 0, 4, 1 }, { 4, 4, 4 } }, 0 },
        [DTYPE_Q5_0] = { 32,  22,  2, { { 0, 2, 1 }, { 2, 4, 1 }, { 6, 4, 4 } }, 0 },
        [DTYPE_Q5_1] = { 32,  24,  1, { { 0, 4, 1 }, { 4, 4, 1 }, { 8, 4, 4 } }, 0 },
        [DTYPE_MXFP4] = { 32,  17,  4, { { 0, 1, 1 }, { 1, 4, 4 } }, 0 },
        [DTYPE_Q2_K] = { 256, 84,  1, { { 80, 4, 1 }, { 0, 4, 4 }, { 16, 4, 16 } }, 0 },
        [DTYPE_Q3_K] = { 256, 110, 1, { { 108, 2, 1 }, { 96, 4, 3 }, { 0, 4, 8 }, { 32, 4, 16 } }, 0 },
        [DTYPE_Q4_K] = { 256, 144, 1, { { 0, 4, 1 }, { 4, 4, 3 }, { 16, 4, 32 } }, 0 },
        [DTYPE_Q5_K] = { 256, 176, 1, { { 0, 4, 1 }, { 4, 4, 3 }, { 16, 4, 8 }, { 48, 4, 32 } }, 0 },
        /* the halves of 128 one after the other: 64 bytes of nibbles, 32 of bit pairs */
        [DTYPE_Q6_K] = { 256, 210, 1,
                         { { 208, 2, 1 }, { 192, 4, 4 }, { 0, 4, 16 }, { 128, 4, 8 }, { 64, 4, 16 }, { 160, 4, 8 } }, 0 },
        [DTYPE_IQ4_XS] = { 256, 136, 1, { { 0, 4, 1 }, { 4, 4, 1 }, { 8, 4, 32 } }, 0 },
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

/* One field of one block of PACK_ROWS rows, n of which are there. */
static unsigned char *put_units(unsigned char *dst, const unsigned char *const *row, size_t at, struct pack_field f,
                                uint8_t flip, size_t n)
{
    const uint32_t flip4 = flip * 0x01010101u;
    for (size_t u = 0; u < f.count; u++, at += f.unit)
        for (size_t r = 0; r < PACK_ROWS; r++, dst += f.unit) {
            if (r >= n) {
                memset(dst, 0, f.unit);
            } else if (f.unit == 4) {
                uint32_t x;
                memcpy(&x, row[r] + at, sizeof x);
                x ^= flip4;
                memcpy(dst, &x, sizeof x);
            } else {
                memcpy(dst, row[r] + at, f.unit);
            }
        }
    return dst;
}

/* A field of four-byte units of a whole panel: the common case, in loops the compiler can unroll. */
static unsigned char *put_words(unsigned char *dst, const unsigned char *const *row, size_t at, size_t count,
                                uint8_t flip)
{
    const uint32_t flip4 = flip * 0x01010101u;
    for (size_t u = 0; u < count; u++, at += 4, dst += 4 * PACK_ROWS)
        for (size_t r = 0; r < PACK_ROWS; r++) {
            uint32_t x;
            memcpy(&x, row[r] + at, sizeof x);
            x ^= flip4;
            memcpy(dst + 4 * r, &x, sizeof x);
        }
    return dst;
}

static unsigned char *put_field(unsigned char *dst, const unsigned char *const *row, size_t at, struct pack_field f,
                                uint8_t flip, size_t n)
{
    at += f.offset;
    return n == PACK_ROWS && f.unit == 4 ? put_words(dst, row, at, f.count, flip) : put_units(dst, row, at, f, flip, n);
}

static void pack_panel(const struct pack_format *f, unsigned char *dst, const unsigned char *src, size_t row_bytes,
                       size_t n)
{
    const size_t blocks = row_bytes / f->bytes;
    const unsigned char *row[PACK_ROWS] = { NULL };
    for (size_t r = 0; r < n; r++)
        row[r] = src + r * row_bytes;
    for (size_t g = 0; g < blocks; g += f->group) {
        const size_t end = u64_min(g + f->group, blocks);
        for (size_t b = g; b < end; b++)
            dst = put_field(dst, row, b * f->bytes, f->field[0], 0, n);
        for (size_t b = g; b < end; b++)
            for (size_t i = 1; i < PACK_FIELDS && f->field[i].count; i++)
                dst = put_field(dst, row, b * f->bytes, f->field[i], f->flip, n);
    }
}

void pack_panels(enum dtype type, unsigned char *dst, const unsigned char *src, size_t rows, size_t cols,
                 size_t panel0, size_t panel1)
{
    const struct pack_format *f = pack_format(type);
    const size_t row_bytes = cols / f->elems * f->bytes, panel_bytes = PACK_ROWS * row_bytes;
    for (size_t p = panel0; p < panel1; p++)
        pack_panel(f, dst + p * panel_bytes, src + p * panel_bytes, row_bytes, u64_min(PACK_ROWS, rows - p * PACK_ROWS));
}
