/* A saved run of a server as arbitrary bytes: refused with a reason, or comparable with itself: no errors, no distance. */
#include "fuzz.h"
#include "report/serving_compare.h"
#include <math.h>
#include <stdlib.h>

static void compare(const struct serving_saved *s)
{
    struct serving_comparison c;
    struct strbuf b = { 0 };
    struct error err = { 0 };
    if (serving_compare(&c, s, s, &err) != 0)
        abort();
    for (size_t i = 0; i < c.figures.n; i++) {
        const struct compare_row *r = table_row(&c.figures, i);
        const bool place = i >= c.n_figure && isnan(r->error) && r->unit && r->unit[0] == 's';
        if (!place && (r->difference > 1e-9 || r->error > 0))
            abort();
    }
    for (size_t i = 0; i < c.steps.n; i++) {
        const struct compare_step *x = table_row(&c.steps, i);
        if (x->n_a != x->n_b || fabs(x->price_s) > 1e-6 || x->number_s > 0)
            abort();
    }
    serving_compare_add_summary(&b, &c);
    if (!b.len)
        abort();
    strbuf_free(&b);
    serving_comparison_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct serving_saved s;
    struct error err = { 0 };
    if (serving_saved_parse(&s, "input", data, size, &err) == 0) {
        compare(&s);
        serving_saved_free(&s);
    } else if (err.kind == ERROR_NONE || !err.msg[0]) {
        abort(); /* a failure must say why */
    }
    return 0;
}
