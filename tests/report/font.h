/* font.h: metrics of a TrueType font's glyphs, as a renderer uses them: advance widths and heights of outlines. No kerning. */
#ifndef TESTS_REPORT_FONT_H
#define TESTS_REPORT_FONT_H

#include "base/base.h"

struct font {
    struct filemap file;
    const unsigned char *cmap, *hmtx, *loca, *glyf; /* cmap: the subtable of format 4 */
    const unsigned char *end;
    int units_em, n_hmtx, n_glyph;
    bool long_loca;
};
/* errors: ERROR_INPUT, no TrueType outlines with a Unicode map of format 4 */
int font_open(struct font *f, const char *path, struct error *err);
void font_close(struct font *f);
/* Of a line of UTF-8 at that size: advance width; ink above and below the baseline. */
struct extent {
    double width_px, up_px, down_px;
};
struct extent font_extent(const struct font *f, const char *text, double size_px);

#endif
