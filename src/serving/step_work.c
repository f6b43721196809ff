#include "serving/step_work.h"
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

static int set_weights(struct pass_work *w, const struct estimator *e, uint32_t most, struct error *err)
{
    w->max_tok = most;
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

static int pass_work_init(struct pass_work *w, const struct estimator *e, const struct policy *p, uint32_t context, struct error *err)
{
    uint32_t low, high;
    model_clock_contexts(p, context, &low, &high);
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
    return set_weights(w, e, p->max_num_batched_tokens, err);
}

int step_work_init(struct step_work *w, const struct estimator *e, const struct policy *p, const struct clock_options *o, struct error *err)
{
    *w = (struct step_work){ .n_draft = p->num_speculative_tokens, .draft_first = o->draft_first };
    set_peaks(w, e);
    if (pass_work_init(&w->model, e, p, o->context, err) != 0)
        return -1;
    return o->draft && w->n_draft > 0 ? pass_work_init(&w->draft, o->draft, p, o->context, err) : 0;
}

void step_work_free(struct step_work *w)
{
    free(w->model.weight_bytes);
    free(w->draft.weight_bytes);
    *w = (struct step_work){ .n_draft = 0 };
}

/* Of a pass of n tokens, a mean of steps; 0: no pass. */
static double weights_at(const struct pass_work *w, double n)
{
    const double x = fmin(fmax(n, 1), w->max_tok);
    const uint32_t below = (uint32_t)x, above = below < w->max_tok ? below + 1 : below;
    return n > 0 ? w->weight_bytes[below] + (x - below) * (w->weight_bytes[above] - w->weight_bytes[below]) : 0;
}

/* A step's passes of one model. */
struct passes {
    const struct pass_work *w;
    double weight_bytes;
    double n_pass;             /* of each decoding sequence */
    double n_decode, n_silent; /* tokens of decoding sequences with logits, and without, as prompts' */
    double n_sequence;         /* that decode */
};

static void add_passes(const struct passes *p, const struct step_price *x, const struct step_load *l, const uint32_t *grows, uint64_t n, double *bytes, double *flop)
{
    const double times = (double)n, more = times * (times - 1) / 2, decoded = p->n_decode + p->n_silent, a_sequence = p->n_sequence > 0 ? decoded / p->n_sequence : 0;
    *bytes += times * (p->weight_bytes + p->w->token_bytes * (decoded + l->n_prompt));
    *flop += times * (p->w->decode_flop * p->n_decode + p->w->prompt_flop * (p->n_silent + l->n_prompt));
    for (uint32_t g = 0; g < x->n_group; g++) {
        const double context = times * (double)l->context[g] + (grows ? more * grows[g] : 0);
        *bytes += p->w->position_bytes[g] * (p->n_pass * context + times * (double)l->read[g]);
        *flop += p->w->position_flop[g] * (a_sequence * context + times * (double)l->pairs[g]);
    }
}

void step_work_add(const struct step_work *w, const struct step_price *x, const struct step_load *l, const uint32_t *grows, uint64_t n, double *bytes,
                   double *flop)
{
    const double n_sequence = (double)l->n_decode / (1 + w->n_draft), first = n_sequence * w->draft_first;
    const struct passes model = { &w->model, w->model.weight_bytes[l->n_decode + l->n_prompt], 1, l->n_decode, 0, n_sequence };
    add_passes(&model, x, l, grows, n, bytes, flop);
    if (!w->draft.weight_bytes)
        return;
    const double draft_bytes = weights_at(&w->draft, first + l->n_prompt) + (w->n_draft - 1.0) * weights_at(&w->draft, n_sequence);
    const struct passes draft = { &w->draft, draft_bytes, w->n_draft, w->n_draft * n_sequence, first - n_sequence, n_sequence };
    add_passes(&draft, x, l, grows, n, bytes, flop);
}
