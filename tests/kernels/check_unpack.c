/* tests/kernels/check_unpack.c: panels that packed weights are unpacked to, as tiles of bytes and AMX read them: values of all weights. */
#include "config.h"
#include "check.h"
#include "kernels/pack.h"
#include <math.h>
#include <stdlib.h>

#ifdef HAVE_ISA_AVX512VNNI
#include "kernels/avx512vnni/packed.h"

/* What a panel says of column c of row r of half h. */
static double panel_value(const struct panel_block *p, const struct panel_format *f, size_t h, size_t r, size_t c)
{
    const struct panel_block *b = p + c / 32;
    const size_t j = c % 32 / 4;
    const double w = b->w[h][j][4 * r + c % 4], scale = (double)b->meta[META_SCALE][h][r], second = (double)b->meta[META_MIN][h][r];
    int16_t two[2];
    memcpy(two, &b->meta[META_MINS][h][r], sizeof two);
    switch (f->kind) {
    case PANEL_32:
        break;
    case PANEL_16:
        return (j < 4 ? scale : second) * (w - f->bias);
    case PANEL_32_MIN:
    case PANEL_8_MINS:
        return scale * w - second;
    case PANEL_2_MINS:
        return scale * w - second * two[j / 4];
    }
    return scale * (w - f->bias);
}

/* PANEL_8_MINS: the mins once more, as integers and what all eight times. */
static double integer_min(const struct panel_block *p, size_t h, size_t r, size_t b)
{
    int16_t two[2];
    memcpy(two, &p[b / 2 * 2].meta[META_MINS][h][r], sizeof two);
    return two[b % 2] * (double)p[1].meta[META_MINS][h][r];
}

static void check_format(const struct dtype_info *t, const struct panel_format *f, size_t n_blk, struct rng *rng)
{
    const size_t rows = 2 * PACK_ROWS, cols = 32 * n_blk, row_bytes = dtype_row_bytes(t->id, cols);
    unsigned char *w = random_weights(rng, t, rows, cols), *packed = check_alloc(rows * row_bytes + 4096);
    float *exact = check_alloc(cols * sizeof *exact), *mag = check_alloc(cols * sizeof *mag);
    struct panel_block *p = aligned_alloc(64, 3 * PANEL_BLOCKS * sizeof *p), *scales = p + PANEL_BLOCKS, *pairs = scales + PANEL_BLOCKS;
    memset(p, 0, 3 * PANEL_BLOCKS * sizeof *p);
    pack_panels(t->id, packed, w, rows, cols, 0, 2);
    for (size_t h = 0; h < 2; h++) {
        const unsigned char *const src = packed + h * PACK_ROWS * row_bytes;
        f->unpack(src, n_blk, p, h);
        if (f->scales)
            f->scales(src, n_blk, scales, h);
        if (f->pairs)
            f->pairs(src, n_blk, pairs, h);
        for (size_t r = 0; r < PACK_ROWS; r++) {
            const unsigned char *const row = w + (h * PACK_ROWS + r) * row_bytes;
            t->dequantize(row, exact, cols);
            weight_magnitudes(t, row, mag, cols);
            for (size_t c = 0; c < cols; c++) {
                const size_t b = c / 32, first = c % 32 < 16;
                const double got = panel_value(p, f, h, r, c), bound = 0x1p-22 * (double)mag[c] + 0x1p-149;
                if (!(fabs(got - (double)exact[c]) <= bound))
                    fail_msg("%s: column %zu of row %zu of half %zu: found %g, expected %g", t->name, c, r, h, got, (double)exact[c]);
                if (f->bias == 0 && p[b].w[h][c % 32 / 4][4 * r + c % 4] > 127) /* AMX reads signed bytes then */
                    fail_msg("%s: column %zu: byte %u is above 127", t->name, c, p[b].w[h][c % 32 / 4][4 * r + c % 4]);
                const float times = f->place == PLACE_NIBBLES_K && b % 2 ? 16 : 1;
                if (f->scales)
                    assert_float_equal(scales[b].meta[META_SCALE][h][r] * times, p[b].meta[META_SCALE][h][r], 0);
                if (f->kind == PANEL_8_MINS)
                    assert_float_equal((float)integer_min(p, h, r, b), p[b].meta[META_MIN][h][r], 0);
                if (f->pairs) { /* rows of the other half have their two the other way round */
                    int16_t two[2];
                    memcpy(two, &pairs[b].meta[META_SCALE][h][r], sizeof two);
                    assert_float_equal((float)two[first ? h : 1 - h] * pairs[0].meta[META_D][h][r] / 2,
                                       p[b].meta[first ? META_SCALE : META_SCALE2][h][r], 0);
                }
            }
        }
    }
    free(p);
    free(exact);
    free(mag);
    free(packed);
    free(w);
}

void test_unpack(void **state)
{
    (void)state;
    struct kernels k;
    struct rng rng;
    bool vnni = false;
    for (size_t i = 0; rung_at(i, &k); i++)
        vnni |= strcmp(k.isa, "avx512vnni") == 0;
    if (!vnni)
        skip();
    rng_init(&rng, 23);
    size_t formats = 0;
    for (size_t i = 0; dtype_at(i); i++) {
        const struct dtype_info *t = dtype_at(i);
        const struct panel_format *f = panel_format(t->id, false);
        formats += f != NULL;
        for (size_t n = t->block_elems == 256 ? PANEL_BLOCKS : 1; f && n <= PANEL_BLOCKS; n++)
            check_format(t, f, n, &rng);
    }
    assert_true(formats >= 13);
}
#else
void test_unpack(void **state)
{
    (void)state;
    skip();
}
#endif
