/*
 * nextn.h: multi-token prediction. A layer after the model's own drafts: it takes the model's hidden state h[i], the output of the last norm, and the
 * token after it, and predicts the one after that:
 *
 *   x = Wproj [norm_e(E[t[i+1]]), norm_h(h[i])],  h' = norm_s(block(x)),  logits = Whead h'
 *
 * block: one of the model's, with a KV cache of its own, at position i. h' takes the place of h for a further token. A file may have E, norm_s and Whead
 * of the layer's own; else they are the model's. Several such layers: the first one drafts.
 *
 * price    methods.md (53)
 * source   DeepSeek-V3 report (arXiv 2412.19437), 2.2; order of the halves and names of tensors: llama.cpp src/models/deepseek2.cpp (graph_mtp) and vLLM
 *          vllm/model_executor/models/deepseek_mtp.py; normed hidden states, of h' too: llama.cpp pull request 25980, vLLM 47448. vLLM has zeros for the
 *          embedding at position 0.
 */
#ifndef MODEL_NEXTN_H
#define MODEL_NEXTN_H

#include "model/op.h"

/* The op list of such a layer: reads and writes BUF_HIDDEN. Its ops point into it: not to be copied. */
struct nextn {
    struct op_list ops;
    bool own;                              /* with the file's tensors; else it is like the model's last layer, of whose tensors it has copies */
    struct tensor norm_e, norm_h, projection; /* not own: as large as they would be */
};
/* own where the engine executes the architecture's layer and m has its tensors. errors: their shapes; out of memory. nextn_free() after success */
int nextn_init(struct nextn *x, const struct model *m, struct error *err);
void nextn_free(struct nextn *x);
/*
 * That the engine can run m's layer.
 *
 * errors   ERROR_INPUT        m has none, or a tensor is missing or has another shape: names the file
 *          ERROR_UNAVAILABLE  not of this architecture: names it, and those it is done of
 */
int nextn_check(const struct model *m, struct error *err);
/* Adds an op to a model's list: the last norm of every token to BUF_HIDDEN. errors: a model without a last norm; out of memory */
int nextn_add_hidden(struct op_list *l, const struct model *m, struct error *err);
/* Such layers whose tensors m has: a model of a config.json that names some has none. */
uint32_t nextn_n_layer(const struct model *m);
/* Adds the tensors of n such layers to a model without a file, in its types, for model_synth(). errors: as nextn_check() */
int nextn_add_tensors(struct model *m, uint32_t n, struct error *err);

#endif
