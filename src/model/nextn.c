#include "model/nextn.h"
#include "model/arch.h"
#include "model/internal.h"
#include <stdlib.h>
#include <string.h>

/* ---- tensors ----------------------------------------------------------------------------------------------------------- */

/* Weights of a layer beyond its block's, [rows, cols]. */
struct glue {
    const char *name;
    uint32_t rows, cols;
    bool optional; /* else the model's */
};
enum { N_GLUE = 6, NAME_SIZE_GLUE = 64 };
enum { GLUE_PROJECTION, GLUE_NORM_E, GLUE_NORM_H, GLUE_EMBED, GLUE_HEAD, GLUE_NORM_S };

static void glue_of(struct glue g[N_GLUE], const struct hparams *hp)
{
    const uint32_t d = hp->n_embd;
    g[GLUE_PROJECTION] = (struct glue){ "eh_proj", d, 2 * d, false };
    g[GLUE_NORM_E] = (struct glue){ "enorm", 1, d, false };
    g[GLUE_NORM_H] = (struct glue){ "hnorm", 1, d, false };
    g[GLUE_EMBED] = (struct glue){ "embed_tokens", hp->n_vocab, d, true };
    g[GLUE_HEAD] = (struct glue){ "shared_head_head", hp->n_vocab, d, true };
    g[GLUE_NORM_S] = (struct glue){ "shared_head_norm", 1, d, true };
}

static const char *glue_name(char buf[NAME_SIZE_GLUE], uint32_t layer, const char *name)
{
    snprintf(buf, NAME_SIZE_GLUE, "blk.%u.nextn.%s.weight", layer, name);
    return buf;
}

static const struct tensor *glue_tensor(const struct model *m, const struct glue *g)
{
    char name[NAME_SIZE_GLUE];
    return model_find(m, glue_name(name, m->hp.n_layer, g->name));
}

/* The weights of one layer among those that an architecture declares. */
struct of_layer {
    char prefix[32]; /* "blk.61." */
    declare_fn *fn;
    void *ctx;
};

static int pass_on(void *ctx, const char *name, uint64_t rows, uint64_t cols, uint64_t n_mat, struct error *err)
{
    const struct of_layer *x = ctx;
    return strncmp(name, x->prefix, strlen(x->prefix)) == 0 ? x->fn(x->ctx, name, rows, cols, n_mat, err) : 0;
}

static int declare_layer(const struct model *m, uint32_t layer, declare_fn *fn, void *ctx, struct error *err)
{
    struct hparams hp = m->hp;
    struct of_layer x = { .fn = fn, .ctx = ctx };
    hp.n_layer = layer + 1;
    snprintf(x.prefix, sizeof x.prefix, "blk.%u.", layer);
    return arch_declare(m->arch, &hp, pass_on, &x, err);
}

static int check_tensor(void *ctx, const char *name, uint64_t rows, uint64_t cols, uint64_t n_mat, struct error *err)
{
    const struct model *m = ctx;
    const struct tensor *t = model_get(m, err, "%s", name);
    return t ? model_check_tensor(t, m->path, rows, cols, n_mat, err) : -1;
}

static int check_tensors(const struct model *m, struct error *err)
{
    struct glue g[N_GLUE];
    char name[NAME_SIZE_GLUE];
    glue_of(g, &m->hp);
    for (int i = 0; i < N_GLUE; i++)
        if ((!g[i].optional || glue_tensor(m, &g[i])) &&
            check_tensor((void *)(uintptr_t)m, glue_name(name, m->hp.n_layer, g[i].name), g[i].rows, g[i].cols, 1, err) != 0)
            return -1;
    return declare_layer(m, m->hp.n_layer, check_tensor, (void *)(uintptr_t)m, err);
}

static int check_arch(const struct arch *a, const char *what, struct error *err)
{
    char names[256];
    size_t len = 0;
    const struct arch *x;
    if (a->has & ARCH_NEXTN)
        return 0;
    for (size_t i = 0; (x = arch_at(i)) && len < sizeof names; i++)
        if (x->has & ARCH_NEXTN)
            len += (size_t)snprintf(names + len, sizeof names - len, "%s%s", len > 0 ? ", " : "", x->name);
    return error_set(err, ERROR_UNAVAILABLE, "%s: multi-token prediction layers of architecture %s are predicted, not executed (executed: %s)", what, a->name, names);
}

int nextn_check(const struct model *m, struct error *err)
{
    const char *what = m->path[0] ? m->path : m->name;
    if (m->hp.n_layer_nextn == 0)
        return error_set(err, ERROR_INPUT, "%s: no multi-token prediction layers: %s.nextn_predict_layers is missing or 0", what, m->arch->name);
    return check_arch(m->arch, what, err) != 0 ? -1 : check_tensors(m, err);
}

uint32_t nextn_n_layer(const struct model *m)
{
    uint32_t n = 0;
    for (size_t i = 0; i < m->n_tensors; i++)
        n += text_ends_with(m->tensors[i].name, ".nextn.eh_proj.weight");
    return n;
}

int nextn_add_tensors(struct model *m, uint32_t n, struct error *err)
{
    struct model_declaring d = { .m = m, .type = m->type_name };
    struct glue g[N_GLUE];
    char name[NAME_SIZE_GLUE];
    if (check_arch(m->arch, m->name, err) != 0)
        return -1;
    if (n > HPARAMS_MAX_LAYER || m->hp.n_layer > HPARAMS_MAX_LAYER - n)
        return error_set(err, ERROR_USAGE, "--n-layer-nextn: found %u after %u blocks, expected at most %u: %d layers in all", n, m->hp.n_layer,
                         HPARAMS_MAX_LAYER - m->hp.n_layer, HPARAMS_MAX_LAYER);
    glue_of(g, &m->hp);
    for (uint32_t layer = m->hp.n_layer; layer < m->hp.n_layer + n; layer++) {
        if (declare_layer(m, layer, model_declare_tensor, &d, err) != 0)
            return -1;
        for (int i = 0; i < N_GLUE; i++)
            if ((!g[i].optional || i == GLUE_NORM_S) && model_declare_tensor(&d, glue_name(name, layer, g[i].name), g[i].rows, g[i].cols, 1, err) != 0)
                return -1;
    }
    m->hp.n_layer_nextn = n;
    return 0;
}

/* ---- op list ----------------------------------------------------------------------------------------------------------- */

static int append(struct op_list *l, const struct op *op, struct error *err)
{
    struct op *p = op_append(l, op->kind, op->role, op->layer);
    if (!p)
        return error_oom(err, sizeof *p, "the op list");
    *p = *op;
    return 0;
}

/* Norms of both inputs and their projection to the residual stream. */
static int append_inputs(struct nextn *x, int layer, uint32_t d, const struct tensor *const w[3], struct error *err)
{
    const struct op norm_e = { .kind = OP_RMS_NORM, .role = ROLE_EMBED_NORM, .layer = layer, .w = w[GLUE_NORM_E], .dst = BUF_NEXTN, .src = BUF_X, .rows = 1,
                               .cols = d, .n_head = 1 };
    const struct op projection = { .kind = OP_MATMUL, .role = ROLE_PROJ_IN, .layer = layer, .w = w[GLUE_PROJECTION], .dst = BUF_X, .src = BUF_NEXTN, .rows = d,
                                   .cols = 2 * d };
    struct op norm_h = norm_e;
    norm_h.w = w[GLUE_NORM_H];
    norm_h.src = BUF_HIDDEN;
    norm_h.dst_at = d;
    return append(&x->ops, &norm_e, err) != 0 || append(&x->ops, &norm_h, err) != 0 ? -1 : append(&x->ops, &projection, err);
}

/* Type of the layer's matrices that, like the projection, read the residual stream. */
static enum dtype projection_type(const struct op_list *l, int layer, uint32_t n_embd)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->ops[i].layer == layer && l->ops[i].kind == OP_MATMUL && l->ops[i].w && l->ops[i].cols == n_embd)
            return l->ops[i].w->type;
    return DTYPE_F16;
}

static void stand_in(struct tensor *t, const struct glue *g, enum dtype type)
{
    *t = (struct tensor){ .type = type, .rows = g->rows, .cols = g->cols, .n_mat = 1, .bytes = g->rows * dtype_row_bytes(type, g->cols) };
    snprintf(t->name, sizeof t->name, "nextn.%s.weight", g->name);
}

/* The last norm writes the hidden state, which the head reads. */
static void set_ends(struct nextn *x, const struct tensor *embed, const struct tensor *norm, const struct tensor *head)
{
    bool normed = false;
    for (size_t i = 0; i < x->ops.n; i++) {
        struct op *op = &x->ops.ops[i];
        if (op->kind == OP_EMBED && embed)
            op->w = embed;
        if (op->role == ROLE_OUTPUT_NORM) {
            normed = true;
            op->dst = BUF_HIDDEN;
            op->w = norm ? norm : op->w;
        }
        if (op->role == ROLE_LM_HEAD) {
            op->src = normed ? BUF_HIDDEN : op->src;
            op->w = head ? head : op->w;
        }
    }
}

/* all: a model's list; of its layers only that one remains. */
static int take_layer(struct nextn *x, const struct op_list *all, int layer, uint32_t d, const struct tensor *const w[3], struct error *err)
{
    bool joined = false;
    x->ops.n_rope = all->n_rope;
    memcpy(x->ops.rope, all->rope, sizeof x->ops.rope);
    memcpy(x->ops.width, all->width, sizeof x->ops.width);
    x->ops.width_expanded = all->width_expanded;
    x->ops.width[BUF_NEXTN] = 2 * d;
    x->ops.width[BUF_HIDDEN] = d;
    for (size_t i = 0; i < all->n; i++) {
        const struct op *op = &all->ops[i];
        if (op->layer >= 0 && !joined && append_inputs(x, layer, d, w, err) != 0)
            return -1;
        joined |= op->layer >= 0;
        if ((op->layer < 0 || op->layer == layer) && append(&x->ops, op, err) != 0)
            return -1;
    }
    return 0;
}

int nextn_init(struct nextn *x, const struct model *m, struct error *err)
{
    struct model with = *m; /* a model of one layer more has its block in its list */
    struct op_list all;
    struct glue g[N_GLUE];
    glue_of(g, &m->hp);
    *x = (struct nextn){ .own = m->hp.n_layer_nextn > 0 && m->arch->has & ARCH_NEXTN && glue_tensor(m, &g[GLUE_PROJECTION]) };
    with.hp.n_layer += x->own;
    if ((x->own && check_tensors(m, err) != 0) || op_list_build(&all, &with, err) != 0)
        return -1;
    const int layer = (int)with.hp.n_layer - 1;
    const enum dtype type = projection_type(&all, layer, m->hp.n_embd);
    stand_in(&x->projection, &g[GLUE_PROJECTION], type);
    stand_in(&x->norm_e, &g[GLUE_NORM_E], DTYPE_F32);
    stand_in(&x->norm_h, &g[GLUE_NORM_H], DTYPE_F32);
    const struct tensor *w[3] = { &x->projection, &x->norm_e, &x->norm_h };
    for (int i = 0; x->own && i < 3; i++)
        w[i] = glue_tensor(m, &g[i]);
    const int rc = take_layer(x, &all, layer, m->hp.n_embd, w, err);
    op_list_free(&all);
    if (rc == 0)
        set_ends(x, x->own ? glue_tensor(m, &g[GLUE_EMBED]) : NULL, x->own ? glue_tensor(m, &g[GLUE_NORM_S]) : NULL,
                 x->own ? glue_tensor(m, &g[GLUE_HEAD]) : NULL);
    else
        nextn_free(x);
    return rc;
}

void nextn_free(struct nextn *x)
{
    op_list_free(&x->ops);
}

int nextn_add_hidden(struct op_list *l, const struct model *m, struct error *err)
{
    size_t at = 0;
    while (at < l->n && l->ops[at].role != ROLE_OUTPUT_NORM)
        at++;
    if (at == l->n)
        return error_set(err, ERROR_INPUT, "%s: no last norm, whose output multi-token prediction needs", m->name);
    struct op norm = l->ops[at];
    norm.dst = BUF_HIDDEN;
    norm.out_rows = false;
    if (append(l, &norm, err) != 0)
        return -1;
    memmove(l->ops + at + 1, l->ops + at, (l->n - 1 - at) * sizeof *l->ops);
    l->ops[at] = norm;
    l->width[BUF_HIDDEN] = norm.cols;
    return 0;
}
