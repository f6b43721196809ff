/* A model with its op list, as tables of plain structs. */
#include "lib/internal.h"
#include <stdlib.h>

static void fill_info(struct roofcast_model *m)
{
    const struct hparams *hp = &m->m.hp;
    m->info = (struct roofcast_model_info){
        .name = m->m.name, .path = m->m.path, .type = m->m.type_name, .arch = model_arch_name(&m->m),
        .n_layer = hp->n_layer, .n_embd = hp->n_embd, .n_head = hp->n_head, .n_head_kv = hp->n_head_kv,
        .head_dim = hp->head_dim, .head_dim_v = hp->head_dim_v, .n_ff = hp->n_ff, .n_vocab = hp->n_vocab,
        .n_ctx_train = hp->n_ctx_train, .n_expert = hp->n_expert, .n_expert_used = hp->n_expert_used, .n_ff_exp = hp->n_ff_exp,
        .n_params = m->m.n_params, .weight_bytes = m->m.weight_bytes, .has_weights = m->m.gguf != NULL,
        .executable = model_executable(&m->m), .kv_type = dtype_name(m->m.kv_type_given ? m->m.kv_type : DTYPE_F16), .note = m->m.note,
    };
}

static void fill_op(struct roofcast_op *out, const struct op *op)
{
    *out = (struct roofcast_op){
        .kind = op_kind_name(op->kind), .role = op_role_name(op->role), .layer = op->layer, .tensor = "", .type = "",
        .n_head = op->n_head, .n_head_kv = op->n_head_kv, .head_dim = op->head_dim, .head_dim_v = op->head_dim_v,
        .window = op->window, .n_expert = op->n_expert, .n_expert_used = op->n_expert_used,
    };
    if (!op->w)
        return;
    out->tensor = op->w->name;
    out->type = dtype_name(op->w->type);
    op_weight_shape(op, &out->rows, &out->cols);
    out->n_matrix = op_n_matrix(op);
}

static int fill_tables(struct roofcast_model *m, struct error *err)
{
    m->tensor = calloc(m->m.n_tensors + 1, sizeof *m->tensor);
    m->op = calloc(m->x.ops.n + 1, sizeof *m->op);
    if (!m->tensor || !m->op)
        return error_oom(err, m->x.ops.n * sizeof *m->op, "a model's ops");
    for (size_t i = 0; i < m->m.n_tensors; i++) {
        const struct tensor *t = &m->m.tensors[i];
        m->tensor[i] = (struct roofcast_tensor){ t->name, dtype_name(t->type), t->rows, t->cols, t->bytes, t->n_mat };
    }
    for (size_t i = 0; i < m->x.ops.n; i++)
        fill_op(&m->op[i], &m->x.ops.ops[i]);
    return 0;
}

struct roofcast_model *roofcast_model_load(const char *spec, const char *type, struct roofcast_error *err)
{
    struct error e = { 0 };
    struct roofcast_model *m = calloc(1, sizeof *m);
    if (!m) {
        lib_error(err, ROOFCAST_ERROR_SYSTEM, "out of memory: a model");
        return NULL;
    }
    if (model_load(&m->m, spec, type, &e) != 0) {
        free(m);
        lib_fail(err, &e);
        return NULL;
    }
    if (model_classes_init(&m->x, &m->m, &e) != 0) {
        model_free(&m->m);
        free(m);
        lib_fail(err, &e);
        return NULL;
    }
    if (fill_tables(m, &e) != 0) {
        roofcast_model_free(m);
        lib_fail(err, &e);
        return NULL;
    }
    fill_info(m);
    return m;
}

void roofcast_model_free(struct roofcast_model *m)
{
    if (!m)
        return;
    free(m->tensor);
    free(m->op);
    model_classes_free(&m->x);
    model_free(&m->m);
    free(m);
}

const struct roofcast_model_info *roofcast_model_info(const struct roofcast_model *m)
{
    return &m->info;
}

size_t roofcast_model_n_tensor(const struct roofcast_model *m)
{
    return m->m.n_tensors;
}

const struct roofcast_tensor *roofcast_model_tensor(const struct roofcast_model *m, size_t i)
{
    return i < m->m.n_tensors ? &m->tensor[i] : NULL;
}

size_t roofcast_model_n_op(const struct roofcast_model *m)
{
    return m->x.ops.n;
}

const struct roofcast_op *roofcast_model_op(const struct roofcast_model *m, size_t i)
{
    return i < m->x.ops.n ? &m->op[i] : NULL;
}

int roofcast_model_names(char ***names, size_t *n, struct roofcast_error *err)
{
    struct error e = { 0 };
    return model_list(names, n, &e) == 0 ? 0 : lib_fail(err, &e);
}
