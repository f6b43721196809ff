/* Bytes and FLOP of every op of a decode step: ops [MODEL [TYPE [N_PAST]]] */
#include <roofcast/roofcast.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const struct roofcast_error *err)
{
    fprintf(stderr, "ops: %s: %s\n", roofcast_error_name(err->kind), err->message);
    return 1;
}

int main(int argc, char **argv)
{
    struct roofcast_error err;
    const char *data = getenv("ROOFCAST_DATA");
    if (data && roofcast_set_data_dirs(&data, 1, &err) != 0)
        return fail(&err);
    struct roofcast_model *m = roofcast_model_load(argc > 1 ? argv[1] : "qwen3-0.6b", argc > 2 ? argv[2] : "Q8_0", &err);
    if (!m)
        return fail(&err);

    const struct roofcast_pass step = { .n_tok = 1, .n_past = argc > 3 ? (uint32_t)atoi(argv[3]) : 1024, .n_seq = 1, .n_out = 1 };
    struct roofcast_cost c, sum;
    printf("%5s  %-12s %-12s %-6s %14s %12s %12s %12s %8s\n", "layer", "op", "role", "type", "shape", "weight B", "act+KV B", "FLOP", "FLOP/B");
    for (size_t i = 0; i < roofcast_model_n_op(m); i++) {
        const struct roofcast_op *op = roofcast_model_op(m, i);
        char shape[32] = "";
        if (op->layer > 0) /* layers are alike: the first stands for all */
            continue;
        if (roofcast_cost_op(m, i, &step, NULL, &c, &err) != 0)
            return fail(&err);
        if (op->rows > 0)
            snprintf(shape, sizeof shape, "[%llu, %llu]", (unsigned long long)op->rows, (unsigned long long)op->cols);
        printf("%5d  %-12s %-12s %-6s %14s %12.0f %12.0f %12.0f %8.3f\n", op->layer, op->kind, op->role, op->type, shape, c.weight_bytes,
               c.act_bytes + c.kv_bytes, c.flop, roofcast_cost_ai(&c));
    }
    if (roofcast_cost_pass(m, &step, NULL, &sum, &err) != 0)
        return fail(&err);
    printf("%u layers: %.0f bytes of weights, %.0f of KV cache, %.0f FLOP\n", roofcast_model_info(m)->n_layer, sum.weight_bytes, sum.kv_bytes,
           sum.flop);
    roofcast_model_free(m);
    return 0;
}
