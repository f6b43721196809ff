/* The rules of mixtures (methods.md (2)), for models and for files of architectures that only a file knows. */
#ifndef MODEL_MIXTURE_H
#define MODEL_MIXTURE_H

#include "model/model.h"
#include "model/quantize.h"

/* What the rules look at. */
struct mixture_shape {
    uint32_t n_layer, n_head, n_head_kv, n_expert; /* heads of the first layer */
    bool tied; /* token_embd.weight is the LM head too */
    bool pure; /* one type for all: no exceptions */
    /* Where some layers have no attn_v: how many have one, and for each layer how many of those below do. NULL: all. */
    uint32_t n_attn_v;
    const uint32_t *attn_v_rank; /* [n_layer] */
};

/* True for tensors that no mixture touches, whatever their shape: norms, biases, routers, ... */
bool mixture_keeps(const char *name);
/* Type of a tensor that is not kept, with rows of cols elements. ERROR_USAGE when the mixture is unknown. */
int mixture_tensor_type(const char *type, const struct mixture_shape *s, const char *name, uint64_t cols,
                        enum dtype *out, struct error *err);

/* quantize_plan.c: q->tensor and the sums of bytes, but for the errors, which are 0. *q is the caller's to free,
 * on error too. */
int quantize_plan(const struct gguf *g, const struct quantize_options *o, struct quantized *q, struct error *err);

#endif
