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
};

static double priced(const struct model_clock *x, enum phase phase, const struct scenario *s, unsigned *which)
{
    const struct step_sum sum = (phase == PHASE_PREFILL ? step_prefill : step_decode)(&x->e->step, &x->e->roofs, s, NULL, NULL);
    *which = sum.which;
    return sum.seconds;
}

/* Seconds of a pass under the draw: its deviation from the mean, and the residual, inflated as the interval of the case is. */
static double seconds(const struct model_clock *x, enum phase phase, const struct scenario *s)
{
    unsigned which;
    struct timing *t = &x->e->timing;
    if (x->o->draw == 0 || !x->e->roofs.time)
        return priced(x, phase, s, &which);
    double drawn[TIME_CASES][TIME_PARAMETER_COUNT];
    const double with = priced(x, phase, s, &which);
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

static double decode_s(const struct model_clock *x, uint32_t n_tok, uint32_t context)
{
    return seconds(x, PHASE_DECODE, &(struct scenario){ .n_gen = 1, .n_depth = context, .n_batch = n_tok, .n_ubatch = PREFILL_WHOLE });
}

/* A prompt of n_tok tokens after n_past, in one pass. */
static double prompt_s(const struct model_clock *x, uint32_t n_tok, uint32_t n_past)
{
    return seconds(x, PHASE_PREFILL, &(struct scenario){ .n_prompt = n_tok, .n_depth = n_past, .n_batch = 1, .n_ubatch = PREFILL_WHOLE });
}

/* ---- tables ------------------------------------------------------------------------------------------------------------ */

static uint64_t ps_of(double s)
{
    return s > 0 ? (uint64_t)(s * PS_PER_S + 0.5) : 0;
}

static double host_s(const struct model_clock *x, uint32_t n_seq)
{
    return x->p->async_scheduling ? 0 : x->o->host_s + n_seq * x->o->sequence_s;
}

/* The next size at which a pass is priced: eight an octave. Between them seconds are linear. */
static uint32_t next_size(uint32_t n, uint32_t most)
{
    const uint32_t next = n < 8 ? n + 1 : n + n / 8;
    return next < most ? next : most;
}

/* Fills v[a ... b] with a line. */
static void line(uint64_t *v, size_t stride, uint32_t a, uint32_t b, uint64_t at_a, uint64_t at_b)
{
    for (uint32_t n = a; n <= b; n++) {
        const double part = b > a ? (double)(n - a) / (b - a) : 0;
        v[n * stride] = ps_of(((double)at_a + part * ((double)at_b - (double)at_a)) / PS_PER_S);
    }
}

/* What a step is priced by: seconds without attention, and of one position for each group of layers. */
struct priced_step {
    uint64_t base_ps, position_ps[POLICY_MAX_GROUPS];
};

/* Layers of group g over those of groups without a window, whose positions the difference of two long contexts is. */
static double layer_share(const struct policy *p, uint32_t g)
{
    uint32_t full = 0, of = 0;
    for (uint32_t i = 0; i < p->n_group; i++)
        full += p->window[i] == 0 ? p->n_layer[i] : 0;
    of = p->n_layer[g];
    return full > 0 && of > 0 ? (double)of / full : 1;
}

/* Two contexts of a sequence: around the workload's mean, but where some layers have all positions and others a window, beyond the window. */
static void contexts(const struct model_clock *x, uint32_t *low, uint32_t *high)
{
    const uint32_t middle = x->o->context > 0 ? x->o->context : 1024;
    uint32_t widest = 0;
    bool full = false;
    for (uint32_t g = 0; g < x->p->n_group; g++) {
        widest = x->p->window[g] > widest ? x->p->window[g] : widest;
        full |= x->p->window[g] == 0;
    }
    *low = full && widest > middle / 2 ? widest : middle / 2;
    *high = *low + middle;
    if (!full && *high > widest) { /* all layers have windows: within them */
        *low = widest / 4;
        *high = widest - 1 > *low ? widest - 1 : *low + 1;
    }
}

/* A decode step at two contexts: what does not depend on it, and a position's part. */
static struct priced_step decode_at(const struct model_clock *x, uint32_t n)
{
    struct priced_step out = { 0 };
    uint32_t low, high;
    contexts(x, &low, &high);
    const double a = decode_s(x, n, low), b = decode_s(x, n, high), slope = fmax(0, (b - a) / ((double)(high - low) * n));
    double base = a;
    for (uint32_t g = 0; g < x->p->n_group; g++) {
        const double position = slope * layer_share(x->p, g);
        base -= position * n * (double)window_of(x->p->window[g], low + UINT64_C(1));
        out.position_ps[g] = ps_of(position);
    }
    out.base_ps = ps_of(fmax(0, base) + host_s(x, n));
    return out;
}

static void decode_table(const struct model_clock *x, struct step_price *out)
{
    const uint32_t graph_max = x->o->graphs ? policy_graph_max(x->p, x->o->blackwell) : 0;
    struct priced_step at_a = decode_at(x, 1), at_b = at_a;
    uint32_t a = 1;
    for (uint32_t b = 1; a <= out->max_decode; a = b + 1, at_a = at_b) {
        b = a == 1 ? 1 : next_size(a - 1, out->max_decode);
        at_b = decode_at(x, b);
        line(out->decode_ps, 1, a > 1 ? a - 1 : 1, b, at_a.base_ps, at_b.base_ps);
        for (uint32_t g = 0; g < out->n_group; g++)
            line(out->context_ps + g, out->n_group, a > 1 ? a - 1 : 1, b, at_a.position_ps[g], at_b.position_ps[g]);
    }
    for (uint32_t n = out->max_decode; n > 0; n--) /* downwards: sizes above are still their own */
        out->decode_ps[n] = out->decode_ps[policy_graph_size(n, graph_max < out->max_decode ? graph_max : out->max_decode)];
}

/* What each sequence of a step of n costs the host, by the constants of servers: a prompt's tokens are one sequence. */
static double sequence_s(const struct model_clock *x, uint32_t n)
{
    unsigned which;
    const struct scenario s = { .n_gen = 1, .n_batch = n, .n_ubatch = PREFILL_WHOLE };
    if (!x->e->roofs.time || !x->e->timing.served)
        return 0;
    (void)priced(x, PHASE_DECODE, &s, &which);
    return exp(x->e->timing.of[which]->parameter[TIME_SEQUENCE]);
}

/* A step of n tokens without the positions they attend to, by the constants of prompts and by those of steps: which kernels and costs a
 * mixed step has changes with its tokens, and either estimate is high where the other's hold. */
static double mixed_s(const struct model_clock *x, uint32_t n, const struct step_price *price)
{
    struct step_load load = { 0 };
    double pairs_s = 0;
    step_load_prompt(&load, price, 0, n);
    for (uint32_t g = 0; g < price->n_group; g++)
        pairs_s += (double)price->pair_ps_2_16[g] / 65536 / PS_PER_S * (double)load.pairs[g];
    const double prompts = fmax(0, prompt_s(x, n, 0) - pairs_s) + host_s(x, 1),
                 steps = (double)decode_at(x, n).base_ps / PS_PER_S - (n - 1) * sequence_s(x, n);
    return fmin(prompts, steps);
}

/* Prompts without the pairs of a token and a position, which depend on what was before. */
static void mixed_table(const struct model_clock *x, struct step_price *out)
{
    uint64_t last_ps = 0;
    uint32_t a = 0;
    while (a < out->max_tok) {
        const uint32_t b = next_size(a, out->max_tok);
        uint64_t ps = ps_of(mixed_s(x, b, out));
        if (b <= out->max_decode)
            ps = u64_max(ps, out->decode_ps[b]);
        ps = u64_max(ps, last_ps);
        line(out->mixed_ps, 1, a > 0 ? a : b, b, a > 0 ? last_ps : ps, ps);
        last_ps = ps;
        a = b;
    }
}

static void pairs(const struct model_clock *x, struct step_price *out)
{
    uint32_t low, high;
    contexts(x, &low, &high);
    const uint32_t n = (uint32_t)u64_min(x->p->max_num_batched_tokens, 2048), from = x->p->n_group > 1 ? low : 0, past = 8192;
    const double s = (prompt_s(x, n, from + past) - prompt_s(x, n, from)) / ((double)n * past);
    for (uint32_t g = 0; g < out->n_group; g++)
        out->pair_ps_2_16[g] = (uint64_t)(fmax(0, s) * layer_share(x->p, g) * PS_PER_S * 65536 + 0.5);
}

static int check(const struct step_price *x, struct error *err)
{
    if (x->decode_ps[1] > 0 && x->decode_ps[1] < UINT64_C(1) << 60 && x->mixed_ps[x->max_tok] < UINT64_C(1) << 60)
        return 0;
    return error_set(err, ERROR_INPUT, "cannot simulate: a step of one token takes %.3g s", (double)x->decode_ps[1] / PS_PER_S);
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
    free(x);
    return interrupt_check(err) != 0 ? -1 : check(out, err);
}
