/* Passes of a row's model at other sizes, priced: tables of a server's steps. methods.md (52), doc/notes/servers.md */
#include "learn/loop_price.h"
#include "serving/workload.h"
#include "stacks/effects.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Prompts are priced in steps with half of the sequences, as in a server that fills. */
enum { HALVES = 2, PAST = 8192, MOST_PAIRED = 2048, FIRST_SIZE = 16, SIZES_AN_OCTAVE = 4 };

struct pricing {
    const struct stack_traits *x;
    const struct loop_shape *shape;
    const double *steps, *prompts; /* constants; prompts NULL: steps' */
    double passes[TIME_PARAMETER_COUNT]; /* of prompts, without the taking in of a request */
    struct workload half; /* decode of half of the sequences, where prompts have no constants of their own */
    double half_s;
    struct time_features f;
};

/* Seconds of a step of either or both; NULL: none. */
static double seconds(struct pricing *x, const struct workload *decode, const struct workload *prompt, const double *constants)
{
    serving_step_features(&x->f, x->x, decode ? decode->pass : NULL, prompt ? prompt->pass : NULL);
    return exp(time_ln_seconds(&x->f, constants));
}

static int decode_s(struct pricing *x, uint32_t n_seq, uint32_t context, double *s, struct error *err)
{
    struct workload w;
    if (workload_of_pass(x->x->p, PHASE_DECODE, n_seq, context, n_seq, &w, err) != 0)
        return -1;
    *s = seconds(x, &w, NULL, x->steps);
    workload_free(&w);
    return 0;
}

static int half_init(struct pricing *x, struct error *err)
{
    const uint32_t n_decode = (x->shape->n_user + HALVES - 1) / HALVES, context = x->shape->n_in + x->shape->n_out / 2;
    if (x->prompts)
        return 0;
    if (workload_of_pass(x->x->p, PHASE_DECODE, n_decode, context, n_decode, &x->half, err) != 0)
        return -1;
    x->half_s = seconds(x, &x->half, NULL, x->steps);
    return 0;
}

/* What n_tok tokens of n_prompt prompts after n_past positions add to a step. */
static int prompt_s(struct pricing *x, uint32_t n_tok, uint32_t n_past, uint32_t n_prompt, double *s, struct error *err)
{
    struct workload p;
    if (workload_of_pass(x->x->p, PHASE_PREFILL, n_tok, n_past, n_prompt, &p, err) != 0)
        return -1;
    *s = x->prompts ? seconds(x, NULL, &p, x->passes) : seconds(x, &x->half, &p, x->steps) - x->half_s;
    workload_free(&p);
    return 0;
}

/* Of seconds at two sizes. */
static void fill(uint64_t *v, uint32_t a, uint32_t b, double at_a, double at_b)
{
    step_price_line(v, 1, a, b, at_a * PS_PER_S, at_b * PS_PER_S);
}

/* Steps at two contexts: what does not depend on it, and a position's part. */
static int decode_tables(struct pricing *x, struct step_price *out, struct error *err)
{
    const uint32_t middle = x->shape->n_in + x->shape->n_out / 2, low = middle / 2, high = low + middle;
    double base[2] = { 0 }, position[2] = { 0 };
    for (uint32_t a = 0, b; a < out->max_decode; a = b) {
        double at_low, at_high;
        b = step_price_next_size(a, out->max_decode, SIZES_AN_OCTAVE);
        if (decode_s(x, b, low, &at_low, err) != 0 || decode_s(x, b, high, &at_high, err) != 0)
            return -1;
        position[1] = fmax(0, (at_high - at_low) / ((double)(high - low) * b));
        base[1] = fmax(0, at_low - position[1] * b * (low + 1.0));
        fill(out->decode_ps, a > 0 ? a : b, b, base[a == 0], base[1]);
        fill(out->context_ps, a > 0 ? a : b, b, position[a == 0], position[1]);
        base[0] = base[1];
        position[0] = position[1];
    }
    return 0;
}

static int pair_price(struct pricing *x, double *pair_s, struct error *err)
{
    const uint32_t n = (uint32_t)u64_min(x->shape->n_in, MOST_PAIRED);
    double with, without;
    if (prompt_s(x, n, PAST, 1, &with, err) != 0 || prompt_s(x, n, 0, 1, &without, err) != 0)
        return -1;
    *pair_s = fmax(0, (with - without) / ((double)n * PAST));
    return 0;
}

/* Prompts' tokens without the pairs of a token and a position before it, of whole prompts where there is room for several. */
static int prompt_table(struct pricing *x, struct step_price *out, struct error *err)
{
    double pair_s, last = 0;
    if (pair_price(x, &pair_s, err) != 0)
        return -1;
    out->pair_ps_2_16[0] = (uint64_t)(pair_s * 65536 * PS_PER_S + 0.5);
    for (uint32_t a = 0, b; a < out->max_tok; a = b) {
        b = a < FIRST_SIZE ? (uint32_t)u64_min(a + FIRST_SIZE, out->max_tok) : step_price_next_size(a, out->max_tok, SIZES_AN_OCTAVE);
        const uint32_t n_prompt = b < x->shape->n_in ? 1 : (b + x->shape->n_in / 2) / x->shape->n_in;
        const double each = (double)b / n_prompt;
        double s;
        if (prompt_s(x, b, 0, n_prompt, &s, err) != 0)
            return -1;
        const double now = fmax(last, s - pair_s * n_prompt * 0.5 * each * (each + 1));
        fill(out->mixed_ps, a > 0 ? a : 1, b, a > 0 ? last : now, now);
        last = now;
    }
    return 0;
}

int loop_price(struct step_price *out, const struct stack_traits *x, const struct loop_shape *shape, const struct closed_loop_constants *k,
               struct error *err)
{
    static const double no_s = -60; /* its logarithm */
    struct pricing *p = calloc(1, sizeof *p);
    if (!p)
        return error_oom(err, sizeof *p, "estimates of steps");
    p->x = x;
    p->shape = shape;
    p->steps = k->steps;
    p->prompts = k->prompts;
    if (k->prompts) {
        memcpy(p->passes, k->prompts, sizeof p->passes);
        p->passes[TIME_STEP] = no_s;
    }
    out->apart = true;
    const int rc = half_init(p, err) != 0 || decode_tables(p, out, err) != 0 || prompt_table(p, out, err) != 0 ? -1 : 0;
    workload_free(&p->half);
    free(p);
    return rc;
}
