#include "serving/model_clock.h"
#include "serving/draw.h"
#include "serving/workload.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a draw of the constants ------------------------------------------------------------------------------------- */

/* The constants' means, while a draw stands in their place. */
struct means {
    double parameter[TIME_CASES][TIME_PARAMETER_COUNT];
};

/* L of a = L L^T, row by row; a row without variance stays 0. */
static void cholesky(double l[TIME_PARAMETER_COUNT][TIME_PARAMETER_COUNT], const double a[TIME_PARAMETER_COUNT][TIME_PARAMETER_COUNT])
{
    memset(l, 0, sizeof(double) * TIME_PARAMETER_COUNT * TIME_PARAMETER_COUNT);
    for (int i = 0; i < TIME_PARAMETER_COUNT; i++)
        for (int j = 0; j <= i; j++) {
            double sum = a[i][j];
            for (int k = 0; k < j; k++)
                sum -= l[i][k] * l[j][k];
            if (i == j)
                l[i][i] = sum > 1e-14 ? sqrt(sum) : 0;
            else
                l[i][j] = l[j][j] > 0 ? sum / l[j][j] : 0;
        }
}

/* Every case moves along the same numbers: what is slow in one is slow in the others. */
static void set_draw(struct timing *t, struct means *m, const struct clock_options *o)
{
    double l[TIME_PARAMETER_COUNT][TIME_PARAMETER_COUNT];
    for (int c = 0; c < TIME_CASES; c++) {
        struct time_constants *k = t->of[c];
        if (!k)
            continue;
        memcpy(m->parameter[c], k->parameter, sizeof k->parameter);
        cholesky(l, k->cov);
        for (int i = 0; i < TIME_PARAMETER_COUNT; i++)
            for (int j = 0; j <= i; j++)
                k->parameter[i] += l[i][j] * draw_normal(o->seed, DRAW_CONSTANTS, o->draw * 64 + (uint64_t)j);
    }
}

static void set_means(struct timing *t, const struct means *m)
{
    for (int c = 0; c < TIME_CASES; c++)
        if (t->of[c])
            memcpy(t->of[c]->parameter, m->parameter[c], sizeof t->of[c]->parameter);
}

/* ---- passes --------------------------------------------------------------------------------------------------------- */

struct model_clock {
    struct estimator *e;
    const struct policy *p;
    const struct clock_options *o;
    struct means means;
    double wrong_s; /* of the first pass that takes no finite time; 0: all do */
    uint64_t wrong_tok; /* of that pass */
};

static double priced(const struct model_clock *x, enum phase phase, const struct scenario *s, unsigned *which)
{
    const struct step_sum sum = (phase == PHASE_PREFILL ? step_prefill : step_decode)(&x->e->step, &x->e->roofs, s, NULL, NULL);
    *which = sum.which;
    return sum.seconds;
}

/* Seconds of a pass under the draw: its deviation from the mean, and the residual, inflated as the interval of the case is. *of: the case. */
static double drawn_s(const struct model_clock *x, enum phase phase, const struct scenario *s, unsigned *of)
{
    unsigned which;
    struct timing *t = &x->e->timing;
    if (x->o->draw == 0 || !x->e->roofs.time)
        return priced(x, phase, s, of);
    double drawn[TIME_CASES][TIME_PARAMETER_COUNT];
    const double with = priced(x, phase, s, of);
    for (int c = 0; c < TIME_CASES; c++)
        if (t->of[c])
            memcpy(drawn[c], t->of[c]->parameter, sizeof drawn[c]);
    set_means(t, &x->means);
    const double mean = priced(x, phase, s, &which);
    for (int c = 0; c < TIME_CASES; c++)
        if (t->of[c])
            memcpy(t->of[c]->parameter, drawn[c], sizeof drawn[c]);
    const struct time_constants *k = t->of[which];
    const double residual = hypot(k->sigma, k->guess_ln_sd) * draw_normal(x->o->seed, DRAW_CONSTANTS, x->o->draw * 64 + TIME_PARAMETER_COUNT + phase);
    const double ln = log(with / mean) + residual;
    return mean * exp(ln * (ln > 0 ? k->widen : k->widen_fast));
}

/* Longest step: a step's picoseconds, and those of some steps, fit 64 bits. */
static const double MOST_S = 1e6;

/* The same, where it is a time; else 0, and x has it. */
static double seconds(struct model_clock *x, enum phase phase, const struct scenario *s, unsigned *of)
{
    const double v = drawn_s(x, phase, s, of);
    if (v > 0 && v < MOST_S)
        return v;
    if (x->wrong_tok == 0) {
        x->wrong_s = v;
        x->wrong_tok = phase == PHASE_PREFILL ? s->n_prompt : s->n_batch;
    }
    return 0;
}

/* Passes of the drafter, one a drafted token, for sequences whose n_tok tokens a step verifies. (53) */
static double draft_s(const struct model_clock *x, uint32_t n_tok, uint32_t context)
{
    const struct estimator *d = x->o->draft;
    const uint32_t k = x->p->num_speculative_tokens;
    if (!d || k == 0)
        return 0;
    const struct draft_passes p = draft_passes_of((uint32_t)u64_ceil_div(n_tok, k + 1), context, k, x->o->draft_first);
    double s = 0;
    for (uint32_t i = 0; i < p.n; i++)
        s += p.times[i] * step_price(&d->step, &d->roofs, &p.pass[i], 1, NULL, NULL).seconds;
    return s;
}

static double decode_s(struct model_clock *x, uint32_t n_tok, uint32_t context, unsigned *of)
{
    return seconds(x, PHASE_DECODE, &(struct scenario){ .n_gen = 1, .n_depth = context, .n_batch = n_tok, .n_ubatch = PREFILL_WHOLE }, of) +
           draft_s(x, n_tok, context);
}

/* A prompt of n_tok tokens after n_past, in one pass, and in one of the draft model. */
static double prompt_s(struct model_clock *x, uint32_t n_tok, uint32_t n_past)
{
    unsigned of;
    const struct estimator *d = x->p->num_speculative_tokens > 0 ? x->o->draft : NULL;
    const struct scenario s = { .n_prompt = n_tok, .n_depth = n_past, .n_batch = 1, .n_ubatch = PREFILL_WHOLE };
    return seconds(x, PHASE_PREFILL, &s, &of) + (d ? step_prefill(&d->step, &d->roofs, &s, NULL, NULL).seconds : 0);
}

/* ---- tables ------------------------------------------------------------------------------------------------------------ */

enum { SIZES_AN_OCTAVE = 8 };

/* What a step is priced by: its time without attention, that of one position for each group of layers, and what each sequence costs the host
 * by the constants of servers. */
struct priced_step {
    double base_ps, position_ps[POLICY_MAX_GROUPS], sequence_s;
};

double model_clock_share(const struct policy *p, uint32_t g)
{
    uint32_t full = 0, of = 0;
    for (uint32_t i = 0; i < p->n_group; i++)
        full += p->window[i] == 0 ? p->n_layer[i] : 0;
    of = p->n_layer[g];
    return full > 0 && of > 0 ? (double)of / full : 1;
}

void model_clock_contexts(const struct policy *p, uint32_t mean, uint32_t *low, uint32_t *high)
{
    const uint32_t middle = mean > 0 ? mean : 1024;
    uint32_t widest = 0;
    bool full = false;
    for (uint32_t g = 0; g < p->n_group; g++) {
        widest = p->window[g] > widest ? p->window[g] : widest;
        full |= p->window[g] == 0;
    }
    *low = full && widest > middle / 2 ? widest : middle / 2;
    *high = *low + middle;
    if (!full && *high > widest) { /* all layers have windows: within them */
        *low = widest / 4;
        *high = widest - 1 > *low ? widest - 1 : *low + 1;
    }
}

/* A decode step at two contexts: what does not depend on it, and a position's part. */
static struct priced_step decode_at(struct model_clock *x, uint32_t n)
{
    struct priced_step out = { 0 };
    uint32_t low, high;
    model_clock_contexts(x->p, x->o->context, &low, &high);
    unsigned of, unused;
    const double a = decode_s(x, n, low, &of), b = decode_s(x, n, high, &unused), slope = fmax(0, (b - a) / ((double)(high - low) * n));
    double base = a;
    for (uint32_t g = 0; g < x->p->n_group; g++) {
        const double position = slope * model_clock_share(x->p, g);
        base -= position * n * (double)window_of(x->p->window[g], low + UINT64_C(1));
        out.position_ps[g] = position * PS_PER_S;
    }
    out.base_ps = fmax(0, base) * PS_PER_S;
    if (x->e->roofs.time && x->e->timing.served)
        out.sequence_s = exp(x->e->timing.of[of]->parameter[TIME_SEQUENCE]);
    return out;
}

/* Sizes a to b, on lines between them. */
static void decode_lines(struct step_price *out, uint32_t a, uint32_t b, const struct priced_step *at_a, const struct priced_step *at_b)
{
    step_price_line(out->decode_ps, 1, a, b, at_a->base_ps, at_b->base_ps);
    for (uint32_t g = 0; g < out->n_group; g++)
        step_price_line(out->context_ps + g, out->n_group, a, b, at_a->position_ps[g], at_b->position_ps[g]);
}

static void decode_table(struct model_clock *x, struct step_price *out)
{
    const uint32_t graph_max = x->o->graphs ? policy_graph_max(x->p, x->o->blackwell) : 0;
    struct priced_step last = decode_at(x, 1);
    decode_lines(out, 1, 1, &last, &last);
    for (uint32_t a = 1, b; a < out->max_decode; a = b) {
        b = step_price_next_size(a, out->max_decode, SIZES_AN_OCTAVE);
        const struct priced_step next = decode_at(x, b);
        decode_lines(out, a, b, &last, &next);
        last = next;
    }
    for (uint32_t n = out->max_decode; n > 0; n--) /* downwards: sizes above are still their own */
        out->decode_ps[n] = out->decode_ps[policy_graph_size(n, graph_max < out->max_decode ? graph_max : out->max_decode)];
}

/* A step of n tokens without the positions they attend to, by the constants of prompts and by those of steps: which kernels and costs a
 * mixed step has changes with its tokens, and either estimate is high where the other's hold. */
static double mixed_s(struct model_clock *x, uint32_t n, const struct step_price *price)
{
    struct step_load load = { 0 };
    double pairs_s = 0;
    step_load_prompt(&load, price, 0, n);
    for (uint32_t g = 0; g < price->n_group; g++)
        pairs_s += (double)price->pair_ps_2_16[g] / 65536 / PS_PER_S * (double)load.pairs[g];
    const struct priced_step step = decode_at(x, n);
    return fmin(fmax(0, prompt_s(x, n, 0) - pairs_s), step.base_ps / PS_PER_S - (n - 1) * step.sequence_s); /* a prompt is one sequence */
}

/* Prompts without the pairs of a token and a position, which depend on what was before. */
static void mixed_table(struct model_clock *x, struct step_price *out)
{
    double last_ps = 0;
    for (uint32_t a = 0, b; a < out->max_tok; a = b) {
        b = step_price_next_size(a, out->max_tok, SIZES_AN_OCTAVE);
        const double ps = fmax(last_ps, mixed_s(x, b, out) * PS_PER_S);
        step_price_line(out->mixed_ps, 1, a > 0 ? a : b, b, a > 0 ? last_ps : ps, ps);
        last_ps = ps;
    }
}

static void pairs(struct model_clock *x, struct step_price *out)
{
    uint32_t low, high;
    model_clock_contexts(x->p, x->o->context, &low, &high);
    const uint32_t n = (uint32_t)u64_min(x->p->max_num_batched_tokens, 2048), from = x->p->n_group > 1 ? low : 0, past = 8192;
    const double s = (prompt_s(x, n, from + past) - prompt_s(x, n, from)) / ((double)n * past);
    for (uint32_t g = 0; g < out->n_group; g++)
        out->pair_ps_2_16[g] = (uint64_t)(fmax(0, s) * model_clock_share(x->p, g) * PS_PER_S * 65536 + 0.5);
}

static int check(const struct model_clock *x, struct error *err)
{
    if (x->wrong_tok == 0)
        return 0;
    return error_set(err, ERROR_INPUT, "cannot simulate: a step of %llu tokens takes %.3g s: expected more than 0 and less than %.0e s",
                     (unsigned long long)x->wrong_tok, x->wrong_s, MOST_S);
}

int model_clock(struct step_price *out, struct estimator *e, const struct policy *p, const struct clock_options *o, struct error *err)
{
    struct model_clock *x = malloc(sizeof *x);
    if (!x)
        return error_oom(err, sizeof *x, "the seconds of steps");
    *x = (struct model_clock){ .e = e, .p = p, .o = o };
    if (o->draw > 0 && e->roofs.time)
        set_draw(&e->timing, &x->means, o);
    decode_table(x, out);
    pairs(x, out);
    mixed_table(x, out);
    if (o->draw > 0 && e->roofs.time)
        set_means(&e->timing, &x->means);
    const int rc = interrupt_check(err) != 0 ? -1 : check(x, err);
    free(x);
    return rc;
}
