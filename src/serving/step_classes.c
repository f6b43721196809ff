#include "serving/step_classes.h"

/* Largest number of tokens of a class of prompts; from the fifth on powers of two. */
static uint32_t prompt_most(uint32_t i)
{
    static const uint32_t most[] = { 0, 16, 64, 256 };
    return i < ARRAY_LEN(most) ? most[i] : UINT32_C(512) << (i - ARRAY_LEN(most));
}

static uint32_t decode_most(uint32_t i)
{
    return i == 0 ? 0 : UINT32_C(1) << (i - 1);
}

uint32_t step_decode_class(uint32_t n_tok)
{
    uint32_t i = 0;
    while (i + 1 < STEP_DECODES && decode_most(i) < n_tok)
        i++;
    return i;
}

uint32_t step_prompt_class(uint32_t n_tok)
{
    uint32_t i = 0;
    while (i + 1 < STEP_PROMPTS && prompt_most(i) < n_tok)
        i++;
    return i;
}

struct step_range step_decode_range(uint32_t i)
{
    return (struct step_range){ i == 0 ? 0 : decode_most(i - 1) + 1, decode_most(i) };
}

struct step_range step_prompt_range(uint32_t i)
{
    return (struct step_range){ i == 0 ? 0 : prompt_most(i - 1) + 1, prompt_most(i) };
}

void step_classes_add(void *ctx, const struct serve_step *x)
{
    struct step_classes *all = ctx;
    struct step_class *c = &all->at[step_decode_class(x->n_decode)][step_prompt_class(x->n_prompt)];
    c->n += x->n;
    c->decode_tok += (double)x->n * x->n_decode;
    c->prompt_tok += (double)x->n * x->n_prompt;
    c->s += (double)(x->end_ps - x->start_ps) / PS_PER_S;
    c->bytes += x->bytes;
    c->flop += x->flop;
}
