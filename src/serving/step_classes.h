/*
 * step_classes.h: steps by what is in them: classes of decode tokens and prompt tokens, their number, tokens and seconds. Two runs of the same load
 * are compared by them: which kind of step took longer than its price.
 */
#ifndef SERVING_STEP_CLASSES_H
#define SERVING_STEP_CLASSES_H

#include "serving/simulate.h"

/* Decode tokens: 0, 1, 2, 3-4, 5-8, 9-16, ...; prompt tokens: 0, 1-16, 17-64, 65-256, 257-512, 513-1024, ... The last of each has all that are more. */
enum { STEP_DECODES = 22, STEP_PROMPTS = 16 };

/* Sums over the steps of a class. */
struct step_class {
    uint64_t n;
    double decode_tok, prompt_tok, s;
    double bytes, flop; /* counted by the engine; 0: not counted */
};

struct step_classes {
    struct step_class at[STEP_DECODES][STEP_PROMPTS];
};

/* Of a number of tokens: the index of its class. */
uint32_t step_decode_class(uint32_t n_tok);
uint32_t step_prompt_class(uint32_t n_tok);
/* Tokens of a class, from lo to hi. */
struct step_range {
    uint32_t lo, hi;
};
struct step_range step_decode_range(uint32_t i);
struct step_range step_prompt_range(uint32_t i);
/* ctx: struct step_classes, zeros at first; serve_options.step */
void step_classes_add(void *ctx, const struct serve_step *x);

#endif
