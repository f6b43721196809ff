/* fuzz_model.c: any bytes as a GGUF, as far as the list of ops. What is accepted has the tensors its
 * dimensions say, inside the file, and can be built into ops. */
#include "fuzz.h"
#include "model/model.h"
#include "model/op.h"
#include <stdlib.h>

static void check(const struct model *m, const uint8_t *data, size_t size)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < m->n_tensors; i++) {
        const struct tensor *t = &m->tensors[i];
        const uint8_t *p = t->data;
        if (p < data || t->bytes > size || p > data + size - t->bytes)
            abort(); /* weights outside the file */
        bytes += t->bytes;
    }
    struct op_list l = { 0 };
    struct error err = { 0 };
    if (bytes != m->weight_bytes || op_list_build(&l, m, &err) != 0 || l.n == 0)
        abort();
    op_list_free(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = { 0 };
    struct gguf *g = gguf_parse("fuzz", data, size, &err);
    if (!g)
        return 0;
    struct model m;
    if (model_from_gguf(&m, g, &err) == 0) {
        check(&m, data, size);
        model_free(&m);
    } else if (err.kind == ERROR_NONE || !err.msg[0]) {
        abort(); /* a failure that says nothing */
    }
    return 0;
}
