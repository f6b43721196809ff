/* The few tables of a TrueType file that widths and heights need (Apple's and Microsoft's specification: head hhea maxp hmtx cmap loca glyf). */
#include "font.h"
#include <string.h>

static unsigned u16(const struct font *f, const unsigned char *p)
{
    return p && p + 2 <= f->end ? (unsigned)p[0] << 8 | p[1] : 0;
}

static uint32_t u32(const struct font *f, const unsigned char *p)
{
    return (uint32_t)u16(f, p) << 16 | u16(f, p + 2);
}

static int s16(const struct font *f, const unsigned char *p)
{
    return (int16_t)u16(f, p);
}

static const unsigned char *table(const struct font *f, const char *tag)
{
    const unsigned char *data = f->file.data;
    for (unsigned i = 0, n = u16(f, data + 4); i < n; i++) {
        const unsigned char *row = data + 12 + 16 * i;
        if (row + 16 <= f->end && memcmp(row, tag, 4) == 0)
            return u32(f, row + 8) < f->file.size ? data + u32(f, row + 8) : NULL;
    }
    return NULL;
}

int font_open(struct font *f, const char *path, struct error *err)
{
    *f = (struct font){ 0 };
    if (filemap_open(&f->file, path, err) != 0)
        return -1;
    f->end = (const unsigned char *)f->file.data + f->file.size;
    const unsigned char *head = table(f, "head"), *hhea = table(f, "hhea"), *maxp = table(f, "maxp"), *cmap = table(f, "cmap");
    f->hmtx = table(f, "hmtx");
    f->loca = table(f, "loca");
    f->glyf = table(f, "glyf");
    for (unsigned i = 0, n = cmap ? u16(f, cmap + 2) : 0; i < n; i++) {
        const unsigned char *sub = cmap + u32(f, cmap + 4 + 8 * i + 4);
        if (u16(f, cmap + 4 + 8 * i) == 3 && u16(f, sub) == 4)
            f->cmap = sub;
    }
    if (!head || !hhea || !maxp || !f->cmap || !f->hmtx || !f->loca || !f->glyf || u16(f, head + 18) == 0) {
        font_close(f);
        return error_set(err, ERROR_INPUT, "%s: expected TrueType outlines with a Unicode map of format 4", path);
    }
    f->units_em = (int)u16(f, head + 18);
    f->long_loca = u16(f, head + 50) == 1;
    f->n_hmtx = (int)u16(f, hhea + 34);
    f->n_glyph = (int)u16(f, maxp + 4);
    return 0;
}

void font_close(struct font *f)
{
    filemap_close(&f->file);
}

/* Format 4: segments with their last character, first character, difference, and an offset into an array of glyphs. */
static int glyph_of(const struct font *f, unsigned c)
{
    const unsigned n = u16(f, f->cmap + 6) / 2;
    const unsigned char *last = f->cmap + 14, *first = last + 2 * n + 2, *delta = first + 2 * n, *range = delta + 2 * n;
    for (unsigned i = 0; i < n && c <= 0xffff; i++) {
        if (c > u16(f, last + 2 * i))
            continue;
        if (c < u16(f, first + 2 * i))
            return 0;
        const unsigned offset = u16(f, range + 2 * i);
        if (!offset)
            return (int)((c + u16(f, delta + 2 * i)) & 0xffff);
        const unsigned g = u16(f, range + 2 * i + offset + 2 * (c - u16(f, first + 2 * i)));
        return g ? (int)((g + u16(f, delta + 2 * i)) & 0xffff) : 0;
    }
    return 0;
}

static unsigned next_char(const unsigned char **p)
{
    unsigned c = *(*p)++;
    const int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
    c &= more ? 0x3fu >> more : 0x7f;
    for (int i = 0; i < more && (**p & 0xc0) == 0x80; i++)
        c = c << 6 | (*(*p)++ & 0x3f);
    return c;
}

struct extent font_extent(const struct font *f, const char *text, double size_px)
{
    struct extent e = { 0 };
    const double em = size_px / f->units_em;
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        const int g = glyph_of(f, next_char(&p)), h = g < f->n_hmtx ? g : f->n_hmtx - 1;
        const uint32_t at = f->long_loca ? u32(f, f->loca + 4 * g) : 2 * u16(f, f->loca + 2 * g);
        const uint32_t to = f->long_loca ? u32(f, f->loca + 4 * g + 4) : 2 * u16(f, f->loca + 2 * g + 2);
        e.width_px += em * u16(f, f->hmtx + 4 * h);
        if (to <= at) /* no outline: a space */
            continue;
        const double up = em * s16(f, f->glyf + at + 8), down = -em * s16(f, f->glyf + at + 4);
        e.up_px = up > e.up_px ? up : e.up_px;
        e.down_px = down > e.down_px ? down : e.down_px;
    }
    return e;
}
