/* Prices as arbitrary bytes: refused with a reason, or positive and found again. */
#include "hwprofile/prices.h"
#include "fuzz.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct prices p;
    struct error err = { 0 };
    if (prices_parse(&p, "input", data, size, &err) != 0) {
        if (err.kind == ERROR_NONE || !err.msg[0])
            abort(); /* a failure must say why */
        return 0;
    }
    for (size_t i = 0; i < p.n; i++) {
        const bool buy = p.v[i].usd > 0;
        const struct price *x = prices_find(&p, p.v[i].hw, p.v[i].devices, buy);
        if (!x || !((buy ? x->usd : x->usd_h) > 0) || !x->source[0] || !x->date[0])
            abort();
    }
    prices_free(&p);
    return 0;
}
