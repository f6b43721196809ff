#include "model/kv_groups.h"

static uint32_t add(struct kv_groups *g, uint32_t n_layer, uint32_t window)
{
    for (uint32_t n; n_layer > 0 && g->n < KV_MAX_GROUPS; n_layer -= n) {
        n = n_layer < g->size ? n_layer : g->size;
        g->window[g->n] = window;
        g->n_layer[g->n++] = n;
    }
    return n_layer;
}

struct kv_groups kv_groups_of(uint32_t n_full, uint32_t n_windowed, uint32_t window)
{
    struct kv_groups g = { .size = n_full > 0 && n_full < n_windowed ? n_full : n_windowed };
    if (n_windowed > 0 && add(&g, n_full, 0) + add(&g, n_windowed, window) == 0)
        return g;
    return (struct kv_groups){ .n = 1, .size = n_full + n_windowed, .n_layer = { n_full + n_windowed } };
}

struct kv_groups kv_groups_of_ops(const struct op_list *l)
{
    uint32_t full = 0, windowed = 0, window = 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct op *op = &l->ops[i];
        if (op->kind != OP_KV_STORE)
            continue;
        ++*(op->window > 0 ? &windowed : &full);
        window = op->window > window ? op->window : window;
    }
    return kv_groups_of(full, windowed, window);
}

void kv_groups_place(const struct kv_groups *g, const struct op_list *l, uint32_t *group, uint32_t *place)
{
    uint32_t used[KV_MAX_GROUPS] = { 0 };
    for (size_t i = 0; i < l->n; i++) {
        const struct op *op = &l->ops[i];
        if (op->kind != OP_KV_STORE)
            continue;
        uint32_t k = 0;
        while (g->n > 1 && k + 1 < g->n && ((g->window[k] > 0) != (op->window > 0) || used[k] == g->n_layer[k]))
            k++;
        group[op->layer] = k;
        place[op->layer] = used[k]++;
    }
}
