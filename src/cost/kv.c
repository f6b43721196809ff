/* The KV cache and the states of recurrences: which types they may have, and what they take. methods.md (22), (19) */
#include "cost/internal.h"

int cost_check_kv(const struct op_list *l, const struct cost_options *o, struct error *err)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct op *op = &l->ops[i];
        if (op->kind != OP_KV_STORE)
            continue;
        if (dtype_check_kv_priced(o->type_k, "keys", op->head_dim, err) != 0 ||
            dtype_check_kv_priced(o->type_v, "values", op->head_dim_v, err) != 0)
            return -1;
        if (op->head_dim_v > 0 && (o->type_k == DTYPE_FP8_DS_MLA || o->type_v == DTYPE_FP8_DS_MLA))
            return error_set(err, ERROR_USAGE, "KV cache: type FP8_DS_MLA holds latents (of DeepSeek's attention); this "
                                               "model's layers keep keys and values");
    }
    return 0;
}

double cost_state_bytes_sequence(const struct op_list *l)
{
    double sum = 0;
    for (size_t i = 0; i < l->n; i++)
        sum += cost_state_bytes(&l->ops[i]);
    return sum;
}

double cost_kv_bytes_token(const struct op_list *l, const struct cost_options *o)
{
    double sum = 0;
    for (size_t i = 0; i < l->n; i++)
        sum += l->ops[i].kind == OP_KV_STORE ? cost_op_kv_bytes(&l->ops[i], o, 1, 1) : 0;
    return sum;
}

uint64_t cost_kept(uint32_t window, uint64_t n_ctx, uint64_t n_ubatch)
{
    return window > 0 ? u64_min(n_ctx, window + n_ubatch) : n_ctx;
}

uint32_t cost_filled(uint32_t n_ubatch, uint32_t n_prompt)
{
    return (uint32_t)u64_min(n_ubatch, n_prompt > TIME_UBATCH ? n_prompt : TIME_UBATCH);
}

double cost_op_kv_bytes(const struct op *op, const struct cost_options *o, uint64_t n_ctx, uint32_t n_ubatch)
{
    const uint64_t kept = cost_kept(op->window, n_ctx, n_ubatch);
    return op->kind == OP_KV_STORE ? (double)kept * cost_kv_row_bytes(op, o) : cost_state_bytes(op);
}

double cost_kv_bytes(const struct op_list *l, const struct cost_options *o, uint64_t n_ctx, uint32_t n_ubatch)
{
    double sum = 0;
    for (size_t i = 0; i < l->n; i++)
        sum += cost_op_kv_bytes(&l->ops[i], o, n_ctx, n_ubatch);
    return sum;
}
