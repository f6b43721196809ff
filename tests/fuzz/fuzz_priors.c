/* The files of priors, of software and of machines, as arbitrary bytes: refused with a reason, or good. */
#include "fuzz.h"
#include "stacks/priors.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct priors p;
    struct error err = { 0 };
    if (classes_check("input", data, size, &err) != 0 && (err.kind == ERROR_NONE || !err.msg[0]))
        abort(); /* a failure must say why */
    err = (struct error){ 0 };
    if (priors_parse(&p, "input", data, size, &err) != 0) {
        if (err.kind == ERROR_NONE || !err.msg[0])
            abort();
        return 0;
    }
    for (int k = 0; k < FITTED_KIND_COUNT; k++)
        for (size_t i = 0; i < p.n_effect[k]; i++)
            if (!(p.effect[k][i].sd > 0))
                abort();
    priors_free(&p);
    return 0;
}
