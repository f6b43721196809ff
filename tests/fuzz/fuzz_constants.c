/* A file of constants as arbitrary bytes: refused with a reason, or written and read again. */
#include "fuzz.h"
#include "learn/constants.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct constants_file f;
    struct error err = { 0 };
    if (constants_parse(&f, "input", data, size, &err) != 0) {
        if (err.kind == ERROR_NONE || !err.msg[0])
            abort(); /* a failure must say why */
        return 0;
    }
    for (int k = 0; k < FITTED_KIND_COUNT; k++)
        for (size_t i = 0; i < f.kind[k].n; i++)
            if (!(f.kind[k].c[i].sd > 0))
                abort();
    constants_free(&f);
    return 0;
}
