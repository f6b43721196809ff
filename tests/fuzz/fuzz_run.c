/* A saved run as arbitrary bytes: run_parse refuses it, or writes back what it can read
 * again. */
#include "fuzz.h"
#include "run/run.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run r, back;
    struct error err = { 0 };
    if (run_parse(&r, "input", data, size, &err) != 0) {
        if (err.kind == ERROR_NONE || !err.msg[0])
            abort(); /* a failure must say why */
        return 0;
    }
    json_t *j = run_to_json(&r, &err);
    char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;
    if (!text || run_parse(&back, "again", text, strlen(text), &err) != 0)
        abort(); /* what was accepted must survive a round trip */
    if (back.n_row != r.n_row || back.n_op != r.n_op || back.n_routing != r.n_routing)
        abort();
    free(text);
    json_decref(j);
    run_free(&back);
    run_free(&r);
    return 0;
}
