/* The output of likwid-bench as arbitrary bytes: likwid_parse refuses it and says why, or has read a measurement. */
#include "ceilings/likwid.h"
#include "fuzz.h"
#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct likwid_result r;
    struct error err = { 0 };
    if (likwid_parse(&r, (const char *)data, size, &err) != 0) {
        if (err.kind == ERROR_NONE || !err.msg[0])
            abort(); /* a failure must say why */
        return 0;
    }
    if (!(r.seconds > 0) || !isfinite(r.flop_s) || !isfinite(r.bytes_s) || r.flop_s < 0 || r.bytes_s < 0 || !(r.iterations >= 1))
        abort();
    return 0;
}
