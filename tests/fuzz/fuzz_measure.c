/* A file of measurements as arbitrary bytes: CSV of every kind, llama-bench's outputs, vLLM's, AIPerf's, hardware.csv. What is
 * accepted has rows with values above 0, what is refused says where. */
#include "dataset/measure.h"
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct measurements l;
    struct measure_hws h;
    struct error err = { 0 };
    const struct measure_context x = { .hardware = "rtx-4090", .model = "" };
    if (measure_parse(&l, "input", data, size, &x, &err) == 0) {
        if (l.n == 0)
            abort();
        for (size_t i = 0; i < l.n; i++)
            if (!(l.row[i].value > 0) || !l.row[i].hardware || !l.row[i].model || !l.row[i].label)
                abort();
        measure_free(&l);
    } else if (err.kind == ERROR_NONE || !err.msg[0]) {
        abort(); /* a failure must say why */
    } else if (err.kind == ERROR_INPUT && (strncmp(err.msg, "input: line ", 12) != 0 || !strstr(err.msg, ", column "))) {
        abort();
    }
    err = (struct error){ 0 };
    if (measure_hws_parse(&h, "input", data, size, &err) == 0)
        measure_hws_free(&h);
    else if (!err.msg[0])
        abort();
    return 0;
}
