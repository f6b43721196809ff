/*
 * step_price.h: picoseconds of a step, as an integer affine function of what is in it, so that n alike steps have a closed form that
 * equals their sum. A step takes
 *
 *     decode_ps[B]                    of B tokens of decoding sequences alone, or
 *     max(mixed_ps[T], decode_ps[B])  of T tokens, prompts' among them; apart: decode_ps[B] + mixed_ps[P] of B and P of either,
 *     + context_ps[B][g] * S_g        S_g: positions of the KV cache that the decoding sequences read in layer group g
 *     + pair_ps_2_16[g] * pairs_g / 65536    pairs of a prompt's token and a position it attends to
 *
 * Source: methods.md (100)
 */
#ifndef SERVING_STEP_PRICE_H
#define SERVING_STEP_PRICE_H

#include "serving/policy.h"

struct step_price {
    uint32_t max_decode, max_tok; /* tokens of decoding sequences, and all of them, in a step at most */
    uint32_t n_group;
    uint32_t window[POLICY_MAX_GROUPS]; /* 0: all */
    uint64_t *decode_ps;  /* [max_decode + 1] */
    uint64_t *context_ps; /* [max_decode + 1][n_group], a position */
    uint64_t *mixed_ps;   /* [max_tok + 1] */
    bool apart;           /* prompts' tokens add their own time to that of the decoding sequences */
    uint64_t pair_ps_2_16[POLICY_MAX_GROUPS];
};

/* Zeros. errors: out of memory, x is then empty. */
int step_price_alloc(struct step_price *x, const struct policy *p, struct error *err);
void step_price_free(struct step_price *x);

/* What a step computes. */
struct step_load {
    uint32_t n_decode;   /* tokens of decoding sequences, drafts included */
    uint32_t n_prompt;   /* tokens of prompts' chunks */
    uint64_t context[POLICY_MAX_GROUPS];
    uint64_t pairs[POLICY_MAX_GROUPS];
    uint64_t read[POLICY_MAX_GROUPS]; /* positions of the KV cache that the chunks read */
};

/* For makers of tables: the next size above n that is priced, so many in an octave; times at sizes between are linear. */
uint32_t step_price_next_size(uint32_t n, uint32_t most, uint32_t an_octave);
/* v[n * stride], n from a to b: whole picoseconds on the line from at_a to at_b, at least 0; b == a: at_a. */
void step_price_line(uint64_t *v, size_t stride, uint32_t a, uint32_t b, double at_a_ps, double at_b_ps);

static inline uint64_t window_of(uint32_t window, uint64_t n)
{
    return window > 0 && n > window ? window : n;
}

/* Nothing, in the groups that the price has. */
static inline void step_load_clear(struct step_load *l, const struct step_price *x)
{
    l->n_decode = l->n_prompt = 0;
    for (uint32_t g = 0; g < x->n_group; g++)
        l->context[g] = l->pairs[g] = l->read[g] = 0;
}

/* Adds a decoding sequence: n_tok tokens after n_past positions. */
void step_load_decode(struct step_load *l, const struct step_price *x, uint32_t n_past, uint32_t n_tok);
/* Adds a chunk of a prompt. Its t-th token attends to n_past + t + 1 positions, or a window's. */
void step_load_prompt(struct step_load *l, const struct step_price *x, uint32_t n_past, uint32_t n_tok);
uint64_t step_price_ps(const struct step_price *x, const struct step_load *l);

/* Consecutive decode steps of the same sequences, each of whose context grows by one: a step takes by_ps more than the one before. Only for
 * prices of one layer group without a window. */
struct step_run {
    uint64_t first_ps, by_ps;
};
/* Of n_decode sequences, which attend to so many positions in the first step. */
struct step_run step_price_run(const struct step_price *x, uint32_t n_decode, uint64_t context);
/* Of n steps. Saturates at UINT64_MAX. */
uint64_t step_run_ps(const struct step_run *r, uint64_t n);
/* The fewest steps that take ps > 0 or more; `most` where those take less. */
uint64_t step_run_until(const struct step_run *r, uint64_t ps, uint64_t most);

#endif
