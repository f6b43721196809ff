/* fuzz_hwprofile.c: any bytes as a hwprofile; what is accepted must survive being written
 * and read. */
#include "fuzz.h"
#include "hwprofile/hwprofile.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_value(const struct hw_value *v)
{
    /* A number is finite and has a source, or neither is there. */
    if (isnan(v->value) != (v->source[0] == 0) ||
        (!isnan(v->value) && !(isfinite(v->value) && v->value >= 0)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hwprofile h, again;
    struct error err = { 0 };
    if (hwprofile_parse(&h, "fuzz.json", data, size, &err) != 0) {
        if (err.kind == ERROR_NONE || !err.msg[0])
            abort(); /* a failure that says nothing */
        return 0;
    }
    check_value(&h.mem_bytes);
    check_value(&h.mem_bw);
    check_value(&h.tdp_w);
    check_value(&h.eff.compute);
    check_value(&h.eff.bandwidth);
    check_value(&h.eff.launch_s);
    for (int m = 0; m < MATH_COUNT; m++) {
        check_value(&h.peak[m]);
        const struct ceiling *c = hwprofile_peak(&h, (enum math)m, 4);
        if (c && !(c->value > 0))
            abort();
    }
    json_t *a = hwprofile_to_json(&h, &err);
    char *text = a ? json_dumps(a, 0) : NULL;
    if (!text || hwprofile_parse(&again, "again.json", text, strlen(text), &err) != 0)
        abort();
    json_t *b = hwprofile_to_json(&again, &err);
    if (!b || !json_equal(a, b))
        abort();
    json_decref(a);
    json_decref(b);
    free(text);
    hwprofile_free(&h);
    hwprofile_free(&again);
    return 0;
}
