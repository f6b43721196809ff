/* Published and measured quality as arbitrary bytes: refused with a reason, or every type has a range and a finite loss. */
#include "dataset/ppl_saved.h"
#include "dataset/published.h"
#include "fuzz.h"
#include <math.h>
#include <stdlib.h>

static void check_error(const struct error *err)
{
    if (err->kind == ERROR_NONE || !err->msg[0])
        abort(); /* a failure must say why */
}

static void ask(const struct published *p)
{
    struct published_fit f;
    struct error err = { 0 };
    if (published_fit_init(&f, p, &err) != 0)
        return;
    for (size_t i = 0; i < p->n && i < 50; i++)
        for (size_t k = 0; k < p->study[i].n && k < 50; k++) {
            const struct published_figure *x = &p->study[i].figure[k];
            struct published_range r;
            if (!published_range(p, x->type, 7e9, &r) || r.n_figure == 0 || r.lo > r.hi)
                abort();
            if (!isnan(x->loss) && !isfinite(published_fit_loss(&f, x->type, 7e9, NULL)))
                abort();
        }
    published_fit_free(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct published p;
    struct ppl_saved_list l;
    struct error err = { 0 };
    if (published_parse(&p, "input", data, size, &err) == 0) {
        ask(&p);
        published_free(&p);
    } else {
        check_error(&err);
    }
    err = (struct error){ 0 };
    if (ppl_saved_parse(&l, "input", data, size, &err) == 0) {
        for (size_t i = 0; i < l.n; i++)
            if (!(l.v[i].ppl >= 1))
                abort();
        (void)ppl_saved_find(&l, "llama", 7e9, "Q4_0");
        ppl_saved_free(&l);
    } else {
        check_error(&err);
    }
    return 0;
}
