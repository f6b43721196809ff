/* tests/kernels/check_pack.c: every byte of a matrix, and of PACK_SIXES every weight, stands where pack.h says, told by a
 * walk of its own. */
#include "check.h"
#include "kernels/pack.h"

static const size_t rows[] = { 1, 16, 17, 40 };

/* Position of the unit that holds byte `at` of block b of a row, and of that byte within it; from the units that
 * stand before it. */
static size_t place(const struct pack_format *f, size_t blocks, size_t row, size_t b, size_t at)
{
    const size_t group = b / f->group * f->group, in_group = u64_min(f->group, blocks - group);
    size_t before = group * f->bytes * PACK_ROWS;
    for (size_t i = 0; i < PACK_FIELDS && f->field[i].count; i++) {
        const struct pack_field *d = &f->field[i];
        const size_t bytes = (size_t)d->unit * d->count;
        const bool here = at >= d->offset && at < d->offset + bytes;
        if (i == 0)
            before += here ? (b - group) * bytes * PACK_ROWS : in_group * bytes * PACK_ROWS;
        if (i == 1)
            before += (b - group) * (f->bytes - (size_t)f->field[0].unit * f->field[0].count) * PACK_ROWS;
        if (here)
            return before + (at - d->offset) / d->unit * d->unit * PACK_ROWS + row * d->unit + (at - d->offset) % d->unit;
        if (i > 0)
            before += bytes * PACK_ROWS;
    }
    return SIZE_MAX; /* in no field */
}

/* Column c of a block of Q6_K as methods.md (1) has it in the file, and of row `row` in the panel whose sixes begin at p. */
static unsigned six_of_file(const unsigned char *block, size_t c)
{
    const size_t half = c / 128, j = c % 128 / 32, l = c % 32;
    const unsigned low = block[64 * half + 32 * (j % 2) + l], high = block[128 + 32 * half + l];
    return (j < 2 ? low & 15 : low >> 4) + 16 * (high >> 2 * j & 3);
}
static unsigned six_of_panel(const unsigned char *p, size_t row, size_t c)
{
    const size_t half = c / 128, j = c % 128 / 32, u = c % 32 / 4;
    const unsigned char *at = p + (24 * half + 3 * u) * 4 * PACK_ROWS + 4 * row + c % 4;
    const size_t unit = 4 * PACK_ROWS;
    return j < 3 ? at[j * unit] & 63 : at[0] / 64 * 16u + at[unit] / 64 * 4u + at[2 * unit] / 64;
}
static void check_sixes(const unsigned char *dst, const unsigned char *src, size_t n_row, size_t panels, size_t blocks)
{
    const size_t bytes = 210, before = (2 + 16) * PACK_ROWS;
    for (size_t row = 0; row < panels * PACK_ROWS; row++)
        for (size_t c = 0; c < blocks * 256; c++) {
            const size_t b = c / 256, panel = (row / PACK_ROWS * blocks + b) * bytes * PACK_ROWS;
            const unsigned want = row < n_row ? six_of_file(src + (row * blocks + b) * bytes, c % 256) : 0;
            const unsigned got = six_of_panel(dst + panel + before, row % PACK_ROWS, c % 256);
            if (got != want)
                fail_msg("Q6_K: column %zu of row %zu: found %u, expected %u", c, row, got, want);
        }
}

static void check_type(const struct dtype_info *t, const struct pack_format *f, size_t n_row, size_t blocks, struct rng *r)
{
    const size_t row_bytes = blocks * f->bytes, cols = blocks * f->elems, panels = u64_ceil_div(n_row, PACK_ROWS);
    size_t bytes;
    assert_true(pack_bytes(t->id, n_row, cols, &bytes));
    assert_int_equal(bytes, panels * PACK_ROWS * row_bytes);
    unsigned char *src = check_alloc(n_row * row_bytes), *dst = check_alloc(bytes);
    for (size_t i = 0; i < n_row * row_bytes; i++)
        src[i] = (unsigned char)rng_u64(r);
    memset(dst, 0xee, bytes);
    pack_panels(t->id, dst, src, n_row, cols, 0, panels / 2);
    pack_panels(t->id, dst, src, n_row, cols, panels / 2, panels);
    const size_t head = (size_t)f->field[0].unit * f->field[0].count;
    for (size_t row = 0; row < panels * PACK_ROWS; row++)
        for (size_t i = 0; i < row_bytes; i++) {
            const size_t at = i % f->bytes, to = place(f, blocks, row % PACK_ROWS, i / f->bytes, at);
            if (to == SIZE_MAX && f->bits == PACK_SIXES)
                continue;
            assert_true(to < bytes);
            const bool scale = at >= f->field[0].offset && at < f->field[0].offset + head;
            const unsigned want = row >= n_row ? 0 : src[row * row_bytes + i] ^ (scale || f->bits != PACK_TOP_FLIPPED ? 0 : 0x80);
            const unsigned got = dst[row / PACK_ROWS * PACK_ROWS * row_bytes + to];
            if (got != want)
                fail_msg("%s [%zu, %zu]: byte %zu of row %zu: found %u, expected %u", t->name, n_row, cols, i, row, got, want);
        }
    switch (f->bits) {
    case PACK_AS_FILED:
    case PACK_TOP_FLIPPED:
        break;
    case PACK_SIXES:
        check_sixes(dst, src, n_row, panels, blocks);
        break;
    }
    free(src);
    free(dst);
}

void test_pack(void **state)
{
    (void)state;
    struct rng r;
    rng_init(&r, 11);
    for (size_t d = 0; dtype_at(d); d++) {
        const struct dtype_info *t = dtype_at(d);
        const struct pack_format *f = pack_format(t->id);
        if (!f)
            continue;
        assert_int_equal(f->bytes, (size_t)f->elems / t->block_elems * t->block_bytes);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
            for (size_t blocks = 1; blocks <= 5; blocks++)
                check_type(t, f, rows[i], blocks, &r);
    }
}

void test_pack_limits(void **state)
{
    (void)state;
    size_t bytes;
    assert_false(pack_bytes(DTYPE_Q4_K, 16, 255, &bytes)); /* not whole blocks */
    assert_false(pack_bytes(DTYPE_BF16, 16, 3, &bytes));   /* pairs */
    assert_false(pack_bytes(DTYPE_F32, SIZE_MAX / 2, SIZE_MAX / 2, &bytes));
    assert_false(pack_bytes(DTYPE_F32, SIZE_MAX - 3, 1, &bytes));
    assert_true(pack_bytes(DTYPE_Q8_0, 0, 32, &bytes));
    assert_int_equal(bytes, 0);
}
