#include "serving/step_work.h"
#include "serving/model_clock.h"
#include <math.h>
#include <stdlib.h>

enum { SIZES_AN_OCTAVE = 8, TOKENS = 512, PAST = 8192 };

static struct cost decode_cost(const struct estimator *e, uint32_t context)
{
    const struct scenario s = { .n_gen = 1, .n_depth = context, .n_batch = 1, .n_ubatch = PREFILL_WHOLE };
    return step_decode(&e->step, &e->roofs, &s, NULL, NULL).cost;
}

static struct cost prompt_cost(const struct estimator *e, uint32_t n_tok, uint32_t n_past)
{
    const struct scenario s = { .n_prompt = n_tok, .n_depth = n_past, .n_batch = 1, .n_ubatch = PREFILL_WHOLE };
    return step_prefill(&e->step, &e->roofs, &s, NULL, NULL).cost;
}

/* The class of ops with the most FLOP, whose operands are of one kind. */
struct largest {
    double flop;
    enum math math;
};

static void look(void *ctx, const struct step *x)
{
    struct largest *l = ctx;
    if (x->math == MATH_COUNT || x->count * x->cost.flop <= l->flop)
        return;
    l->flop = x->count * x->cost.flop;
    l->math = x->math;
}

static void set_peaks(struct step_work *w, const struct estimator *e)
{
    struct largest l = { 0 };
    const struct scenario s = { .n_prompt = TOKENS, .n_batch = 1, .n_ubatch = PREFILL_WHOLE };
    (void)step_prefill(&e->step, &e->roofs, &s, look, &l);
    w->peak_bytes_s = e->roofs.bytes_s > 0 ? e->roofs.bytes_s : NAN;
    w->peak_flop_s = l.flop > 0 && e->roofs.peak[l.math].flop_s > 0 ? e->roofs.peak[l.math].flop_s : NAN;
}

static int set_weights(struct step_work *w, const struct estimator *e, uint32_t most, struct error *err)
{
    w->weight_bytes = calloc((size_t)most + 1, sizeof *w->weight_bytes);
    if (!w->weight_bytes)
        return error_oom(err, ((size_t)most + 1) * sizeof *w->weight_bytes, "the bytes of steps");
    for (uint32_t a = 0, b; a < most; a = b) {
        b = step_price_next_size(a, most, SIZES_AN_OCTAVE);
        const double at_b = prompt_cost(e, b, 0).weight_bytes, at_a = a > 0 ? w->weight_bytes[a] : at_b;
        for (uint32_t n = a + 1; n <= b; n++)
            w->weight_bytes[n] = at_a + (at_b - at_a) * (n - a) / (b - a);
    }
    return 0;
}

int step_work_init(struct step_work *w, const struct estimator *e, const struct policy *p, uint32_t context, struct error *err)
{
    uint32_t low, high;
    model_clock_contexts(p, context, &low, &high);
    *w = (struct step_work){ .weight_bytes = NULL };
    const struct cost a = decode_cost(e, low), b = decode_cost(e, high);
    const double position_bytes = (b.kv_bytes - a.kv_bytes) / (high - low), position_flop = (b.flop - a.flop) / (high - low);
    const uint32_t n = (uint32_t)u64_min(p->max_num_batched_tokens, TOKENS), from = p->n_group > 1 ? low : 0;
    const struct cost c = prompt_cost(e, n, from);
    struct step_load one = { 0 };
    struct step_price windows = { .n_group = p->n_group };
    w->token_bytes = a.kv_bytes;
    w->decode_flop = a.flop;
    w->prompt_flop = c.flop;
    for (uint32_t g = 0; g < p->n_group; g++) {
        windows.window[g] = p->window[g];
        w->position_bytes[g] = position_bytes * model_clock_share(p, g);
        w->position_flop[g] = position_flop * model_clock_share(p, g);
    }
    step_load_decode(&one, &windows, low, 1);
    step_load_prompt(&one, &windows, from, n);
    for (uint32_t g = 0; g < p->n_group; g++) {
        w->token_bytes -= w->position_bytes[g] * (double)one.context[g];
        w->decode_flop -= w->position_flop[g] * (double)one.context[g];
        w->prompt_flop -= w->position_flop[g] * (double)one.pairs[g];
    }
    w->token_bytes = fmax(0, w->token_bytes);
    w->decode_flop = fmax(0, w->decode_flop);
    w->prompt_flop = fmax(0, w->prompt_flop / n);
    set_peaks(w, e);
    return set_weights(w, e, p->max_num_batched_tokens, err);
}

void step_work_free(struct step_work *w)
{
    free(w->weight_bytes);
    *w = (struct step_work){ .weight_bytes = NULL };
}

void step_work_add(const struct step_work *w, const struct step_price *x, const struct step_load *l, const uint32_t *grows, uint64_t n, double *bytes,
                   double *flop)
{
    const double n_tok = (double)l->n_decode + l->n_prompt, times = (double)n, pairs = times * (times - 1) / 2;
    *bytes += times * (w->weight_bytes[l->n_decode + l->n_prompt] + w->token_bytes * n_tok);
    *flop += times * (w->decode_flop * l->n_decode + w->prompt_flop * l->n_prompt);
    for (uint32_t g = 0; g < x->n_group; g++) {
        const double context = times * (double)l->context[g] + (grows ? pairs * grows[g] : 0);
        *bytes += w->position_bytes[g] * (context + times * (double)l->read[g]);
        *flop += w->position_flop[g] * (context + times * (double)l->pairs[g]);
    }
}
