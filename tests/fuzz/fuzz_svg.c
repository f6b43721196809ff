/* Any bytes as gnuplot's SVG: an error or a picture, and no attribute that a page refuses. */
#include "fuzz.h"
#include "report/svg.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct svg_tip tips[] = { { 10, 20, "a <point> & \"more\"" }, { 200, 100, "a box" } };
    const struct svg_about about = { "a <title>", "what it \"shows\"", "svg { }", tips, ARRAY_LEN(tips) };
    struct strbuf out = { 0 };
    struct error err;
    const bool made = svg_finish(&out, (const char *)data, size, &about, &err) == 0;
    if (!made && !*err.msg)
        __builtin_trap();
    strbuf_free(&out);
    return 0;
}
