/* Ops on a GPU and its host. methods.md (111) */
#include "cost/offload.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double ACT_BYTES = 4; /* ggml's activations */

/* ---- where ops run -------------------------------------------------------------------------------------- */

enum { UNPLACED = -1 };

/* An op without a device gets that of the op before it in the list (down) or after it. of_gpu: only the GPU spreads, up to an op of the host. */
static void expand(int *at, size_t n, bool down, bool of_gpu)
{
    int now = UNPLACED;
    for (size_t k = 0; k < n; k++) {
        const size_t i = down ? k : n - 1 - k;
        if (at[i] == UNPLACED)
            at[i] = now;
        else
            now = of_gpu && at[i] == OFFLOAD_HOST ? UNPLACED : at[i];
    }
}

/* many: products with weights on the host run on the GPU, too. */
static void place_ops(int *at, const struct offload_places *p, const struct op_list *ops, bool host_kv, bool many)
{
    for (size_t i = 0; i < ops->n; i++) {
        const struct op *op = &ops->ops[i];
        at[i] = offload_place_of(p, op);
        if (many && at[i] == OFFLOAD_HOST && op->w && op->kind != OP_EMBED)
            at[i] = OFFLOAD_GPU;
        if (host_kv && op->kind == OP_ATTENTION)
            at[i] = OFFLOAD_HOST;
    }
    expand(at, ops->n, true, true);
    expand(at, ops->n, false, true);
    expand(at, ops->n, true, false);
    expand(at, ops->n, false, false);
}

/* Whether an op of the GPU reads weights or keys that are on the host. */
static bool is_copied(const struct offload_places *p, const struct op *op)
{
    if (op->kind == OP_ATTENTION)
        return op->layer >= 0 && p->block[op->layer] == OFFLOAD_HOST;
    return op->w && offload_place_of(p, op) == OFFLOAD_HOST;
}

/* A buffer is copied to the other device once after each write, at the first read there. */
static void count_traffic(struct offload_passes *x, const struct op_list *ops, const int *at)
{
    unsigned here[BUF_COUNT] = { 0 };
    for (size_t i = 0; i < ops->n; i++) {
        const struct op *op = &ops->ops[i];
        const unsigned bit = 1U << at[i];
        const enum op_buf read[] = { op->src, op->src2, op->kind == OP_ADD ? op->dst : BUF_NONE };
        for (size_t k = 0; k < ARRAY_LEN(read); k++) {
            if (read[k] == BUF_NONE || here[read[k]] == 0 || here[read[k]] & bit)
                continue;
            here[read[k]] |= bit;
            x->moved_elems += op->out_rows ? 0 : ops->width[read[k]];
        }
        if (op->dst != BUF_NONE)
            here[op->dst] = bit;
        x->n_split += i > 0 && at[i] != at[i - 1];
    }
}

/* ---- their lists ---------------------------------------------------------------------------------------------- */

static int take(struct model_classes *out, const struct model *m, const struct op_list *ops, const bool *taken, struct error *err)
{
    *out = (struct model_classes){ .ops = *ops };
    out->ops.n = 0;
    out->ops.ops = malloc((ops->n + 1) * sizeof *ops->ops);
    if (!out->ops.ops)
        return error_oom(err, ops->n * sizeof *ops->ops, "ops of a device");
    for (size_t i = 0; i < ops->n; i++)
        if (taken[i])
            out->ops.ops[out->ops.n++] = ops->ops[i];
    if (op_classes_init(&out->classes, m, &out->ops, err) == 0)
        return 0;
    op_list_free(&out->ops);
    return -1;
}

static int passes_init(struct offload_passes *x, const struct offload_places *p, const struct op_list *ops, bool host_kv, bool many, struct error *err)
{
    int *at = malloc((ops->n + 1) * sizeof *at);
    bool *taken = calloc(ops->n + 1, sizeof *taken);
    int rc = at && taken ? 0 : error_oom(err, ops->n * sizeof *at, "places of ops");
    *x = (struct offload_passes){ .n_split = 0 };
    if (rc == 0) {
        place_ops(at, p, ops, host_kv, many);
        count_traffic(x, ops, at);
    }
    for (int d = 0; d < OFFLOAD_DEVICES && rc == 0; d++) {
        for (size_t i = 0; i < ops->n; i++)
            taken[i] = at[i] == d;
        rc = take(&x->on[d], p->m, ops, taken, err);
    }
    for (size_t i = 0; i < ops->n && rc == 0; i++) {
        taken[i] = at[i] == OFFLOAD_GPU && is_copied(p, &ops->ops[i]);
        if (taken[i] && ops->ops[i].w && ops->ops[i].kind != OP_ATTENTION)
            x->copied_most_bytes = fmax(x->copied_most_bytes, (double)ops->ops[i].w->bytes);
    }
    rc = rc ? rc : take(&x->copied, p->m, ops, taken, err);
    free(at);
    free(taken);
    return rc;
}

static void passes_free(struct offload_passes *x)
{
    for (int d = 0; d < OFFLOAD_DEVICES; d++)
        model_classes_free(&x->on[d]);
    model_classes_free(&x->copied);
}

/* Bytes of tensors by device; a tied table that the GPU multiplies and the host looks up counts on both. */
static void count_weights(struct offload_split *s, const struct op_list *ops)
{
    const struct model *m = s->places.m;
    for (size_t i = 0; i < m->n_tensors; i++)
        s->weight_bytes[s->places.tensor[i]] += (double)m->tensors[i].bytes;
    for (size_t i = 0; i < ops->n; i++) {
        const struct op *op = &ops->ops[i];
        const int at = offload_place_of(&s->places, op);
        if (op->w && op->kind == OP_MATMUL && at == OFFLOAD_GPU && s->places.tensor[op->w - m->tensors] == OFFLOAD_HOST)
            s->weight_bytes[OFFLOAD_GPU] += (double)op->w->bytes;
    }
}

static bool is_alone(const struct offload_split *s, const struct op_list *ops)
{
    for (size_t i = 0; i < ops->n; i++)
        if (ops->ops[i].kind != OP_EMBED && offload_place_of(&s->places, &ops->ops[i]) == OFFLOAD_HOST)
            return false;
    return true;
}

int offload_split_init(struct offload_split *s, const struct offload_rule *r, const struct model *m, const struct op_list *ops, struct error *err)
{
    *s = (struct offload_split){ .many = { .n_split = -1 } };
    if (offload_places_init(&s->places, r, m, err) != 0)
        return -1;
    s->many_tokens = r->copied_tokens > 0 ? r->copied_tokens : OFFLOAD_COPIED_TOKENS;
    s->alone = is_alone(s, ops);
    count_weights(s, ops);
    int rc = passes_init(&s->few, &s->places, ops, r->host_kv, false, err);
    if (rc == 0 && !r->host_multiplies)
        rc = passes_init(&s->many, &s->places, ops, r->host_kv, true, err);
    /* What the other device holds is not this one's. */
    for (int d = 0; d < OFFLOAD_DEVICES; d++)
        s->few.on[d].classes.elsewhere_bytes = s->many.on[d].classes.elsewhere_bytes = (double)m->weight_bytes - s->weight_bytes[d];
    if (rc != 0)
        offload_split_free(s);
    return rc;
}

void offload_split_free(struct offload_split *s)
{
    offload_places_free(&s->places);
    passes_free(&s->few);
    passes_free(&s->many);
    *s = (struct offload_split){ .alone = false };
}

const struct offload_passes *offload_passes_of(const struct offload_split *s, double n_tok)
{
    return s->many.n_split >= 0 && n_tok >= s->many_tokens ? &s->many : &s->few;
}

struct offload_traffic offload_traffic(const struct offload_passes *x, const struct cost_options *o, const struct pass *p)
{
    struct offload_traffic t = { .act_bytes = ACT_BYTES * x->moved_elems * p->n_tok, .n_split = x->n_split };
    for (size_t i = 0; i < x->copied.classes.n; i++) {
        const struct op_class *c = &x->copied.classes.c[i];
        const struct cost cost = cost_op(&c->op, p, o);
        t.copied_bytes += c->count * (cost.weight_bytes + cost.kv_bytes);
    }
    return t;
}
