/*
 * Second forward passes, for tests: one token after another, plain loops, everything in double. Each family is
 * written from its paper and from the equations of Hugging Face transformers (modeling_<family>.py); how a checkpoint
 * becomes tensors and keys, from llama.cpp's converter. Nothing of src/ is used but the GGUF reader and the tables of
 * tensor types.
 *
 *     struct gguf *g = gguf_open(path, &err);
 *     struct ref_model *r = ref_new(g, n_ctx, NULL, &err);
 *     const double *logits;
 *     for (int i = 0; i < n; i++)
 *         ref_eval(r, token[i], &logits);      position i; logits [ref_n_vocab(r)] after token i
 *     ref_free(r);                             then gguf_close(g)
 *
 * Families by general.architecture: llama (dense, and mixtral where it has experts), qwen2, qwen3, qwen3moe, gemma2,
 * gemma3, phi3, olmo2, smollm3, gpt-oss, deepseek2. Weights of every type that dtype_find(type)->dequantize knows. A
 * model must be small: its weights are kept in double.
 */
#ifndef TESTS_ENGINE_REF_REF_H
#define TESTS_ENGINE_REF_REF_H

#include "gguf/gguf.h"

/* What is kept of a past token. */
enum ref_cache {
    REF_CACHE_EXACT,  /* K and V in double */
    REF_CACHE_F16,    /* K (rotated) and V rounded to half */
    REF_CACHE_LATENT, /* deepseek2: the latent and the rotated shared key rounded to half, K and V made of them; others:
                         as F16 */
};

struct ref_options {
    enum ref_cache cache; /* what NULL options mean: REF_CACHE_F16 */
};

struct ref_model;

/*
 * NULL with a message: unknown architecture, a tensor that is missing, of another shape than the keys say, or of a type
 * without dequantize. n_ctx: tokens there will be at most; phi3 takes its long factors when it is above
 * rope.scaling.original_context_length.
 */
struct ref_model *ref_new(const struct gguf *g, int n_ctx, const struct ref_options *opt, struct error *err);
void ref_free(struct ref_model *m);
int ref_n_vocab(const struct ref_model *m);
/* *logits: [n_vocab], valid until the next call. token is in [0, n_vocab); at most n_ctx calls. */
void ref_eval(struct ref_model *m, int32_t token, const double **logits);
/* After ref_eval(): [n_embd] what the last norm gave, from which the logits are. It lives until the next call. */
const double *ref_hidden(const struct ref_model *m);
/*
 * The file's first layer of multi-token prediction (DeepSeek-V3, 2.2): of the hidden state h [n_embd] at a position and the token after it the logits of the
 * token after that, and its own hidden state in place of h, which both live until the next call of ref_nextn(). Positions of its keys and values are
 * those of the calls: 0, 1, ... A position again forgets those after it.
 */
void ref_nextn(struct ref_model *m, int position, const double *h, int32_t token, const double **logits, const double **hidden);
/*
 * The smallest distance there was, over all tokens and layers so far, between the last expert (or group of experts)
 * taken and the best one left, in what the choice is made by (logits, probabilities, or probabilities + bias); infinity
 * without a choice. An engine in float may choose otherwise when this is near its rounding error (1e-5 for F32 and F16
 * weights, 1e-2 for 8-bit activations): such a sequence compares nothing.
 */
double ref_margin(const struct ref_model *m);

#endif
