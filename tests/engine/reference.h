/*
 * A second forward pass of the llama architecture, for tests: one token after another, plain loops, everything in
 * double, written from the equations (Touvron et al. 2023; Su et al. 2021 for the rotation) and from
 * nothing in src/ but the GGUF reader. F32 and F16 weights; K and V are kept in double.
 */
#ifndef TESTS_ENGINE_REFERENCE_H
#define TESTS_ENGINE_REFERENCE_H

#include "gguf/gguf.h"

struct reference;

struct reference *reference_new(const struct gguf *g, int n_ctx);
void reference_free(struct reference *r);
/* Logits [n_vocab] after `token` at the next position. */
const double *reference_step(struct reference *r, int token);
int reference_n_vocab(const struct reference *r);

#endif
