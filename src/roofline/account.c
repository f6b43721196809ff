/* Every byte of a model's tensors accounted for: read by the pass, embedding rows left
 * alone, tables apart. */
#include "roofline/roofline.h"

bool account_reads(const struct op_list *l, const struct tensor *t)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct op *op = &l->ops[i];
        const bool weighs =
            op->kind == OP_EMBED || op->kind == OP_RMS_NORM || op->kind == OP_MATMUL;
        if (weighs && (op->w == t || op->bias == t))
            return true;
    }
    return false;
}

/* The table is the LM head too: then all of it is read, and the rows looked up once more.
 */
static bool is_product(const struct op_list *l, const struct tensor *t)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->ops[i].kind == OP_MATMUL && l->ops[i].w == t)
            return true;
    return false;
}

void account_weights(struct weight_account *a, const struct model *m,
                     const struct op_list *l, uint32_t n_tok)
{
    const struct pass p = { .n_tok = n_tok, .n_seq = 1, .n_out = 1 };
    const struct cost_options o = { .act_elem_bytes = 4, .kv_type = DTYPE_F16 };
    *a = (struct weight_account){ 0 };
    for (size_t i = 0; i < m->n_tensors; i++) {
        a->total_bytes += (double)m->tensors[i].bytes;
        if (!account_reads(l, &m->tensors[i])) {
            a->apart_bytes += (double)m->tensors[i].bytes;
            a->n_apart++;
        }
    }
    for (size_t i = 0; i < l->n; i++) {
        const struct op *op = &l->ops[i];
        const double read = cost_op(op, &p, &o).weight_bytes;
        a->read_bytes += read;
        if (op->kind != OP_EMBED || !op->w)
            continue;
        if (is_product(l, op->w))
            a->embed_again_bytes += read;
        else
            a->embed_unread_bytes += (double)op->w->bytes - read;
    }
}
