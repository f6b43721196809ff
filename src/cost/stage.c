/* What a device holds: its pipeline stage's layers, of them what the layout gives it. methods.md (22), (25), (24) */
#include "base/notify.h"
#include "cost/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Layers with the same window are one entry. A model with more windows than there are entries: the rest keep everything. */
static struct stage_kv *kv_entry(struct stage *s, uint32_t window)
{
    for (size_t i = 0; i < s->n_kv; i++)
        if (s->kv[i].window == window)
            return &s->kv[i];
    if (s->n_kv == STAGE_WINDOWS - 1 && window > 0)
        return kv_entry(s, 0);
    s->kv[s->n_kv] = (struct stage_kv){ .window = window };
    return &s->kv[s->n_kv++];
}

/* What is added up of a stage. */
struct sum {
    struct stage *s;
    const struct op_classes *l;
    const struct layout *lay;
    const struct cost_options *o;
    double buf[BUF_COUNT]; /* a device's share of each buffer; 0: unused here */
};

/* `count` equal ops, whose tensors not seen before have tensor_bytes. */
static void hold(struct sum *x, const struct op *op, double count, double tensor_bytes)
{
    const struct share share = layout_share(op, &x->l->m->hp, x->lay);
    x->s->weight_bytes += share.weight * tensor_bytes;
    x->s->state_bytes += count * share.kv * cost_state_bytes(op);
    x->buf[op->dst] = fmax(x->buf[op->dst], share.out);
    if (op->kind == OP_EMBED && op->role == ROLE_EMBED && op->w)
        x->s->embed_bytes = share.weight * (double)op->w->bytes;
    if (op->kind == OP_KV_STORE)
        kv_entry(x->s, op->window)->row_bytes += count * share.kv * cost_kv_row_bytes(op, x->o);
    if (op->kind == OP_KV_EXPAND) /* one layer's at a time */
        x->s->expanded_bytes = fmax(x->s->expanded_bytes, share.flop * cost_expanded_bytes(x->l->ops, 1));
}

/* All buffers of a pass stay until it ends. Logits are gathered: every device has all of a row. */
static void add_buffers(struct sum *x)
{
    const uint32_t *width = x->l->ops->width;
    for (int b = BUF_NONE + 1; b < BUF_COUNT; b++) {
        const double bytes = b != BUF_LOGITS ? x->o->act_elem_bytes * x->buf[b] * width[b] : 0;
        x->s->act_bytes += bytes;
        if (b == BUF_EXPERT_GATE || b == BUF_EXPERT_UP || b == BUF_EXPERT_OUT)
            x->s->expert_bytes += bytes;
    }
    x->s->hidden_bytes = x->o->act_elem_bytes * width[BUF_X];
    x->s->n_logit = x->buf[BUF_LOGITS] > 0 ? width[BUF_LOGITS] : 0;
}

/* Bytes of the tensor, the first time. */
static double unseen(const struct op_classes *l, const struct tensor *t, bool *seen)
{
    if (!t || seen[t - l->m->tensors])
        return 0;
    seen[t - l->m->tensors] = true;
    return (double)t->bytes;
}

static bool on_stage(const struct op *op, uint32_t stage, uint32_t pp, int first, int end)
{
    if (op->layer >= 0)
        return op->layer >= first && op->layer < end;
    return stage == (op->out_rows ? pp - 1 : 0);
}

/* A table that embedding and head share is on the first stage and on the last. */
static void fill(struct sum *x, uint32_t stage, uint32_t pp, bool *seen)
{
    const struct op_classes *l = x->l;
    int first, end;
    layout_stage(l->m->hp.n_layer, pp, stage, &first, &end);
    x->s->n_layer = end - first;
    for (size_t i = 0; i < l->ops->n; i++) {
        const struct op *op = &l->ops->ops[i];
        if (on_stage(op, stage, pp, first, end))
            hold(x, op, 1, unseen(l, op->w, seen) + unseen(l, op->bias, seen));
    }
}

/* Of a tensor's name what follows "blk.N."; *layer: N, of other tensors -1. */
static const char *name_in_layer(const char *name, long *layer)
{
    char *end;
    *layer = -1;
    if (strncmp(name, "blk.", 4) != 0)
        return name;
    const long n = strtol(name + 4, &end, 10);
    if (end == name + 4 || *end != '.')
        return name;
    *layer = n;
    return end + 1;
}

/* Part of a tensor of a multi-token prediction layer that a device holds: that of a layer's tensor of the same name, of the table or of the head. */
static double nextn_share(const struct op_classes *l, const struct layout *lay, const char *name)
{
    const bool embed = strcmp(name, "nextn.embed_tokens.weight") == 0, head = strcmp(name, "nextn.shared_head_head.weight") == 0;
    for (size_t i = 0; i < l->ops->n; i++) {
        const struct op *op = &l->ops->ops[i];
        long layer;
        const bool same = (op->w && strcmp(name_in_layer(op->w->name, &layer), name) == 0) || (op->bias && strcmp(name_in_layer(op->bias->name, &layer), name) == 0);
        if (same || (embed && op->role == ROLE_EMBED) || (head && op->role == ROLE_LM_HEAD))
            return layout_share(op, &l->m->hp, lay).weight;
    }
    return 1;
}

/* Tensors that no op reads: on every device, or, of multi-token prediction layers, divided as other layers' and on the last stage. */
struct apart {
    double every_bytes, last_bytes;
};

static struct apart apart_of(const struct op_classes *l, const struct layout *lay)
{
    struct apart a = { .every_bytes = (double)l->m->weight_bytes - l->elsewhere_bytes };
    for (size_t i = 0; i < l->n; i++)
        a.every_bytes -= l->c[i].tensor_bytes;
    for (size_t i = 0; i < l->m->n_tensors && !(l->elsewhere_bytes > 0); i++) { /* classes of a part of the model have none */
        const struct tensor *t = &l->m->tensors[i];
        long layer;
        const char *name = name_in_layer(t->name, &layer);
        if (layer < (long)l->m->hp.n_layer)
            continue;
        a.every_bytes -= (double)t->bytes;
        a.last_bytes += nextn_share(l, lay, name) * (double)t->bytes;
    }
    return a;
}

static void whole(struct sum *x)
{
    x->s->n_layer = x->l->m->hp.n_layer;
    for (size_t i = 0; i < x->l->n; i++)
        hold(x, &x->l->c[i].op, x->l->c[i].count, x->l->c[i].tensor_bytes);
}

/* One table for each set of frequencies, as long as the model's context. */
static double rotation_bytes(const struct op_classes *l)
{
    double bytes = 0;
    for (size_t i = 0; i < l->ops->n_rope; i++)
        bytes += 2.0 * l->ops->rope[i].n_rot * l->m->hp.n_ctx_train;
    return bytes;
}

struct stage *stages_new(const struct op_classes *l, const struct layout *lay, const struct cost_options *o)
{
    const uint32_t pp = lay->pp > 0 ? lay->pp : 1;
    struct stage *s = calloc(pp, sizeof *s);
    const struct apart apart = apart_of(l, lay);
    for (uint32_t i = 0; s && i < pp; i++) {
        struct sum x = { .s = &s[i], .l = l, .lay = lay, .o = o };
        bool *seen = pp > 1 ? calloc(l->m->n_tensors + 1, sizeof *seen) : NULL;
        if (pp > 1 && !seen) {
            free(s);
            return NULL;
        }
        s[i].weight_bytes = apart.every_bytes + (i == pp - 1 ? apart.last_bytes : 0);
        s[i].rotation_bytes = rotation_bytes(l);
        if (pp > 1)
            fill(&x, i, pp, seen);
        else
            whole(&x);
        add_buffers(&x);
        free(seen);
    }
    return s;
}

double stage_kv_bytes(const struct stage *s, uint64_t n_ctx, uint64_t n_ubatch)
{
    double bytes = s->state_bytes;
    for (size_t i = 0; i < s->n_kv; i++)
        bytes += s->kv[i].row_bytes * (double)cost_kept(s->kv[i].window, n_ctx, n_ubatch);
    return bytes;
}

double step_weight_bytes(const struct op_classes *l, const struct layout *lay)
{
    const struct cost_options o = { .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
    struct stage *s = stages_new(l, lay, &o);
    double most = 0;
    if (!s)
        return notify_out_of_memory();
    for (uint32_t i = 0; i == 0 || i < lay->pp; i++)
        most = fmax(most, s[i].weight_bytes);
    free(s);
    return most;
}

double step_kv_bytes(const struct op_classes *l, const struct layout *lay, const struct cost_options *o, uint64_t n_ctx,
                     uint32_t n_ubatch)
{
    struct stage *s = stages_new(l, lay, o);
    double most = 0;
    if (!s)
        return notify_out_of_memory();
    for (uint32_t i = 0; i == 0 || i < lay->pp; i++)
        most = fmax(most, stage_kv_bytes(&s[i], n_ctx, n_ubatch));
    free(s);
    return most;
}
