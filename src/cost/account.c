/* Every byte of a model's tensors accounted for: read by the step, embedding rows and experts
 * left alone, tables apart. methods.md (23) */
#include "cost/cost.h"
#include <stdlib.h>

bool *account_marks(const struct model *m, const struct op_list *l, struct error *err)
{
    bool *read = calloc(m->n_tensors + 1, sizeof *read);
    if (!read) {
        error_oom(err, m->n_tensors + 1, "the account of the weights");
        return NULL;
    }
    for (size_t i = 0; i < l->n; i++) {
        if (l->ops[i].w)
            read[l->ops[i].w - m->tensors] = true;
        if (l->ops[i].bias)
            read[l->ops[i].bias - m->tensors] = true;
    }
    return read;
}

/* The table is the LM head too: then all of it is read, and the rows looked up once more. */
static bool is_product(const struct op_list *l, const struct tensor *t)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->ops[i].kind == OP_MATMUL && l->ops[i].w == t)
            return true;
    return false;
}

/* What of the op's tensors a pass leaves alone; the op itself reads `read` bytes of them. */
static void add_unread(struct weight_account *a, const struct op_list *l, const struct op *op,
                       double read)
{
    const double bytes =
        (op->w ? (double)op->w->bytes : 0) + (op->bias ? (double)op->bias->bytes : 0);
    if (op->kind == OP_EXPERT_MATMUL)
        a->expert_unread_bytes += bytes - read;
    else if (op->kind == OP_EMBED && is_product(l, op->w))
        a->embed_again_bytes += read;
    else if (op->kind == OP_EMBED)
        a->embed_unread_bytes += bytes - read;
}

int account_weights(struct weight_account *a, const struct model *m, const struct op_list *l, uint32_t n_tok,
                    struct error *err)
{
    const struct pass p = decode_pass(0, n_tok);
    const struct cost_options o = { .act_elem_bytes = 4, .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
    bool *read_by_op = account_marks(m, l, err);
    *a = (struct weight_account){ 0 };
    if (!read_by_op)
        return -1;
    for (size_t i = 0; i < m->n_tensors; i++) {
        a->total_bytes += (double)m->tensors[i].bytes;
        if (!read_by_op[i]) {
            a->apart_bytes += (double)m->tensors[i].bytes;
            a->n_apart++;
        }
    }
    for (size_t i = 0; i < l->n; i++) {
        const double read = cost_op(&l->ops[i], &p, &o).weight_bytes;
        a->read_bytes += read;
        add_unread(a, l, &l->ops[i], read);
    }
    free(read_by_op);
    return 0;
}
