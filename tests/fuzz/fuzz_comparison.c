/* A side of a comparison as arbitrary bytes: refused with a reason, or comparable with itself: no test is faster or slower. */
#include "fuzz.h"
#include "report/comparison.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void compare(struct compare_side *s)
{
    struct comparison c;
    struct strbuf b = { 0 };
    struct error err = { 0 };
    if (s->entry.n > 200) /* quadratic */
        return;
    if (comparison_make(&c, s, s, 0.05, &err) != 0)
        abort();
    for (size_t i = 0; i < c.row.n; i++) {
        const struct comparison_row *const r = table_row(&c.row, i);
        if (strcmp(r->verdict, "cannot tell") != 0 || fabs(log(r->ratio)) > 1e-9 || r->p < 1 - 1e-9)
            abort();
    }
    comparison_add_summary(&b, &c);
    if (!b.len)
        abort();
    strbuf_free(&b);
    comparison_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct compare_side s = { .file = NULL };
    struct error err = { 0 };
    if (compare_side_parse(&s, "input", data, size, &err) == 0)
        compare(&s);
    else if (err.kind == ERROR_NONE || !err.msg[0])
        abort(); /* a failure must say why */
    compare_side_free(&s);
    return 0;
}
