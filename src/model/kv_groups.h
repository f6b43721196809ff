/*
 * kv_groups.h: layer groups of a paged KV cache: layers with one attention window, as many in each group as the rarer kind of layer has. Groups
 * share one pool: a block holds the keys and values of `size` layers for the positions of one group of a sequence, and blocks that left a window are
 * used again. source: vLLM's hybrid KV cache (vllm/v1/core/kv_cache_utils.py)
 */
#ifndef MODEL_KV_GROUPS_H
#define MODEL_KV_GROUPS_H

#include "model/op.h"

enum { KV_MAX_GROUPS = 8 };

struct kv_groups {
    uint32_t n, size; /* groups; layers of a block */
    uint32_t window[KV_MAX_GROUPS], n_layer[KV_MAX_GROUPS]; /* window 0: all positions */
};

/* n_full layers see all positions, n_windowed some; without the latter, or with more groups than KV_MAX_GROUPS: one group that keeps all positions. */
struct kv_groups kv_groups_of(uint32_t n_full, uint32_t n_windowed, uint32_t window);
/* Group of each layer of l with a KV cache and its place there, in order of layers. group, place: [n_layer] */
void kv_groups_place(const struct kv_groups *g, const struct op_list *l, uint32_t *group, uint32_t *place);
/* Counts the layers of l: kv_groups_of() of the whole model. */
struct kv_groups kv_groups_of_ops(const struct op_list *l);

#endif
