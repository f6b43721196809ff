/* Mixture rules (methods.md (2)), for models and for files of unknown architectures. */
#ifndef MODEL_MIXTURE_H
#define MODEL_MIXTURE_H

#include "model/model.h"
#include "model/quantize.h"

/* Inputs of the rules. */
struct mixture_shape {
    uint32_t n_layer, n_head, n_head_kv, n_expert; /* heads of the first layer */
    bool tied; /* token_embd.weight is also the LM head */
    bool pure; /* base type only */
    /* Layers with attn_v: their number, and per layer the number below. NULL: all layers. */
    uint32_t n_attn_v;
    const uint32_t *attn_v_rank; /* [n_layer] */
};

/* Tensors that are never quantized: norms, biases, routers, ... */
bool mixture_keeps(const char *name);
/* Type of a quantizable tensor with rows of cols elements. ERROR_USAGE: unknown mixture. */
int mixture_tensor_type(const char *type, const struct mixture_shape *s, const char *name, uint64_t cols,
                        enum dtype *out, struct error *err);

/* quantize_plan.c: fills q->tensor and byte sums; errors are 0. The caller frees *q, on error too. */
int quantize_plan(const struct gguf *g, const struct quantize_options *o, struct quantized *q, struct error *err);

#endif
