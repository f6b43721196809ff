/* Equal ops of many layers, once. Two ops are equal when every pass costs the same for both, and on every device. */
#include "cost/classes.h"
#include "model/barriers.h"
#include <stdlib.h>

static bool same_tensor(const struct tensor *a, const struct tensor *b)
{
    return a == b || (a && b && a->type == b->type && a->rows == b->rows && a->cols == b->cols && a->n_mat == b->n_mat &&
                      a->bytes == b->bytes);
}

static bool same_heads(const struct op *a, const struct op *b)
{
    return a->n_head == b->n_head && a->n_head_kv == b->n_head_kv && a->head_dim == b->head_dim &&
           a->head_dim_v == b->head_dim_v && a->n_rot == b->n_rot && a->v_in_k == b->v_in_k && a->window == b->window &&
           a->chunked == b->chunked && a->n_top == b->n_top && a->per_row == b->per_row && a->n_state == b->n_state;
}

static bool same(const struct op *a, const struct op *b)
{
    return a->kind == b->kind && a->role == b->role && (a->layer < 0) == (b->layer < 0) && a->out_rows == b->out_rows &&
           a->rows == b->rows && a->cols == b->cols && a->form == b->form && a->form_tok == b->form_tok &&
           a->glu == b->glu && (a->scale != 0) == (b->scale != 0) && a->transposed == b->transposed &&
           a->n_expert == b->n_expert && a->n_expert_used == b->n_expert_used && same_heads(a, b) &&
           same_tensor(a->w, b->w) && same_tensor(a->bias, b->bias) && !a->reader == !b->reader &&
           (!a->reader || a->reader->type == b->reader->type);
}

/* Layers repeat: the class after the last op's is tried first. */
static struct op_class *join(struct op_classes *l, const struct op *op, size_t *at)
{
    for (size_t i = 0; i < l->n; i++) {
        const size_t k = (*at + i) % l->n;
        if (same(&l->c[k].op, op)) {
            *at = k + 1;
            l->c[k].count++;
            return &l->c[k];
        }
    }
    l->c[l->n] = (struct op_class){ .op = *op, .count = 1 };
    *at = l->n + 1;
    return &l->c[l->n++];
}

static bool in_table(const struct model *m, const struct tensor *t)
{
    return (uintptr_t)t >= (uintptr_t)m->tensors && (uintptr_t)t < (uintptr_t)(m->tensors + m->n_tensors);
}

/* A tensor of two ops (a tied table, MLA's halves) belongs to the first. One that stands for a tensor that m does not have is of one op. */
static void own(struct op_class *c, const struct model *m, const struct tensor *t, bool *seen)
{
    const bool in = t && in_table(m, t);
    if (!t || (in && seen[t - m->tensors]))
        return;
    if (in)
        seen[t - m->tensors] = true;
    c->tensor_bytes += (double)t->bytes;
}

static bool is_quantized(const struct tensor *w)
{
    const struct dtype_info *t = dtype_find(w->type);
    return t && t->block_elems > 1;
}

/* Products that read the same activations prepare them once, where their kernels use one form. */
static bool shares_acts(const struct op_list *ops, size_t i)
{
    if (!barriers_same_source(ops, i))
        return false;
    const struct tensor *w = ops->ops[i].w, *before = ops->ops[i - 1].w;
    return w && before && (w->type == before->type || (is_quantized(w) && is_quantized(before)));
}

/* Sums, over all ops of a class. */
static void add_barriers(struct op_class *c, const struct op_sync *s)
{
    for (int one = 0; one < 2; one++)
        c->barriers[one] += s->barrier[one] + s->prepares[one];
}

int op_classes_init(struct op_classes *l, const struct model *m, const struct op_list *ops, struct error *err)
{
    *l = (struct op_classes){ .m = m, .ops = ops };
    bool *seen = calloc(m->n_tensors + 1, sizeof *seen);
    struct op_sync *sync = calloc(ops->n + 1, sizeof *sync);
    size_t at = 0;
    l->c = calloc(ops->n + 1, sizeof *l->c);
    if (!l->c || !seen || !sync) {
        free(seen);
        free(sync);
        op_classes_free(l);
        return error_oom(err, ops->n * sizeof *l->c, "the classes of ops");
    }
    for (size_t i = 0; i < ops->n; i++)
        sync[i].reuses_acts = shares_acts(ops, i);
    barriers_plan(ops, sync);
    for (size_t i = 0; i < ops->n; i++) {
        struct op_class *c = join(l, &ops->ops[i], &at);
        add_barriers(c, &sync[i]);
        own(c, m, ops->ops[i].w, seen);
        own(c, m, ops->ops[i].bias, seen);
    }
    for (size_t i = 0; i < l->n; i++)
        for (int one = 0; one < 2; one++)
            l->c[i].barriers[one] /= l->c[i].count;
    free(seen);
    free(sync);
    struct op_class *fewer = realloc(l->c, (l->n + 1) * sizeof *l->c); /* than ops, mostly */
    l->c = fewer ? fewer : l->c;
    return 0;
}

int nextn_classes_init(struct op_classes *l, const struct nextn *x, const struct model *m, struct error *err)
{
    if (op_classes_init(l, m, &x->ops, err) != 0)
        return -1;
    const bool counted = m->gguf && nextn_n_layer(m) > 0; /* among the file's tensors */
    l->elsewhere_bytes = (double)m->weight_bytes;
    for (size_t i = 0; i < l->n; i++) {
        if (counted || l->c[i].op.layer < 0) /* table, last norm and head are the model's */
            l->c[i].tensor_bytes = 0;
        l->elsewhere_bytes -= l->c[i].tensor_bytes;
    }
    return 0;
}

void op_classes_free(struct op_classes *l)
{
    free(l->c);
    *l = (struct op_classes){ 0 };
}

int model_classes_init(struct model_classes *x, const struct model *m, struct error *err)
{
    if (op_list_build(&x->ops, m, err) != 0)
        return -1;
    if (op_classes_init(&x->classes, m, &x->ops, err) == 0)
        return 0;
    op_list_free(&x->ops);
    return -1;
}

void model_classes_free(struct model_classes *x)
{
    op_classes_free(&x->classes);
    op_list_free(&x->ops);
}

void step_shape(struct step *x, const struct pass *p)
{
    const struct op *op = &x->of->op;
    const bool product = op_is_product(op), attends = op->kind == OP_ATTENTION;
    x->n_tok = op_n_tok(op, p);
    x->rows = product ? op->rows : 0;
    x->cols = product ? op->cols : 0;
    x->bits = product && op->w ? cost_weight_bits(op->w) : 0;
    x->n_head = attends ? op->n_head : 0;
    x->head_dim = attends ? op->head_dim : 0;
    x->group = attends ? (double)op->n_head / op->n_head_kv : 0;
}
