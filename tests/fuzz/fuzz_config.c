/* fuzz_config.c: any bytes as a config.json. What is accepted makes a model whose sums hold and whose op list can be
 * built. */
#include "fuzz.h"
#include "model/op.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hparams hp;
    const char *arch;
    struct error err = { 0 };
    if (model_parse_config("fuzz", data, size, &hp, &arch, &err) != 0) {
        if (err.kind == ERROR_NONE || !err.msg[0])
            abort(); /* a failure that says nothing */
        return 0;
    }
    struct model m;
    if (hp.n_layer > 16) /* thousands of layers are the same layer: keep an execution short */
        hp.n_layer = 16;
    if (model_from_hparams(&m, "fuzz", arch, &hp, "Q4_K_M", &err) != 0)
        abort(); /* what the parser accepts, the model takes */
    uint64_t bytes = 0, n = 0;
    for (size_t i = 0; i < m.n_tensors; i++) {
        bytes += m.tensors[i].bytes;
        n += m.tensors[i].rows * m.tensors[i].cols;
    }
    if (bytes != m.weight_bytes || n != m.n_params)
        abort();
    struct op_list l;
    if (op_list_build(&l, &m, &err) != 0 || l.n == 0)
        abort();
    op_list_free(&l);
    model_free(&m);
    return 0;
}
