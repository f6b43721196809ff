/* fuzz_counts.c: any bytes as the output of perf stat or likwid-perfctr. */
#include "fuzz.h"
#include "counters/replay.h"
#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct replay r;
    struct error err = { 0 };
    if (replay_parse(&r, "fuzz.csv", data, size, &err) != 0) {
        if (err.kind == ERROR_NONE || !err.msg[0])
            abort();
        return 0;
    }
    if (r.n == 0 || r.n > REPLAY_MAX)
        abort();
    for (size_t i = 0; i < r.n; i++)
        if (!r.event[i].name[0] || !isfinite(r.event[i].value) || r.event[i].value < 0 || r.event[i].running < 0)
            abort();
    return 0;
}
