/* Service level objectives as arbitrary text: refused with a reason, or usable. */
#include "fuzz.h"
#include "serving/slo.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[256];
    struct serve_slo s;
    struct error err = { 0 };
    const size_t n = size < sizeof text - 1 ? size : sizeof text - 1;
    memcpy(text, data, n);
    text[n] = 0;
    if (serve_slo_parse(&s, text, &err) != 0) {
        if (err.kind != ERROR_USAGE || !err.msg[0])
            abort(); /* a failure must say why */
        return 0;
    }
    if (s.n == 0 || s.n > SLO_MOST || (s.reading != SLO_MEAN && !(s.share > 0 && s.share < 1)))
        abort();
    for (size_t i = 0; i < s.n; i++)
        if (!(s.limit[i].limit_s > 0 && s.limit[i].limit_s < 1e7) || (s.reading == SLO_JOINT && s.limit[i].metric == SERVE_ITL))
            abort();
    return 0;
}
