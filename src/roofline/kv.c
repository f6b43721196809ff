/* The KV cache: which types it may have, and what it takes. methods.md (12) */
#include "roofline/internal.h"
#include <string.h>

/* ggml's flash attention reads these; so does the engine. */
static const enum dtype kv_types[] = { DTYPE_F32,  DTYPE_F16,  DTYPE_BF16, DTYPE_Q8_0,  DTYPE_Q4_0,
                                       DTYPE_Q4_1, DTYPE_Q5_0, DTYPE_Q5_1, DTYPE_IQ4_NL };

static int check_type(enum dtype t, struct error *err)
{
    char list[160] = "";
    for (size_t i = 0; i < ARRAY_LEN(kv_types); i++) {
        if (kv_types[i] == t)
            return 0;
        const size_t n = strlen(list);
        snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", dtype_name(kv_types[i]));
    }
    return error_set(err, ERROR_USAGE, "KV cache of type %s: expected one of %s", dtype_name(t), list);
}

/* Heads are cached one after the other, whole blocks each. */
static int check_heads(enum dtype t, const char *what, uint32_t head_dim, struct error *err)
{
    const unsigned block = dtype_find((int64_t)t)->block_elems;
    if (head_dim % block == 0)
        return 0;
    return error_set(err, ERROR_USAGE,
                     "KV cache of type %s: its blocks of %u elements do not divide the %u of a %s head", dtype_name(t),
                     block, head_dim, what);
}

int cost_check_kv(const struct op_list *l, const struct cost_options *o, struct error *err)
{
    if (check_type(o->type_k, err) != 0 || check_type(o->type_v, err) != 0)
        return -1;
    for (size_t i = 0; i < l->n; i++) {
        const struct op *op = &l->ops[i];
        if (op->kind == OP_KV_STORE && (check_heads(o->type_k, "key", op->head_dim, err) != 0 ||
                                        check_heads(o->type_v, "value", op->head_dim_v, err) != 0))
            return -1;
    }
    return 0;
}

double cost_kv_bytes_token(const struct op_list *l, const struct cost_options *o)
{
    return cost_kv_bytes(l, o, 1, 1);
}

double cost_kv_bytes(const struct op_list *l, const struct cost_options *o, uint64_t n_ctx, uint32_t n_ubatch)
{
    double sum = 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct op *op = &l->ops[i];
        if (op->kind != OP_KV_STORE)
            continue;
        const uint64_t kept = op->window > 0 ? u64_min(n_ctx, (uint64_t)op->window + n_ubatch) : n_ctx;
        sum += (double)kept * cost_kv_row_bytes(op, o);
    }
    return sum;
}
