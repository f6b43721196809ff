#include "serving/step_price.h"
#include <math.h>
#include <stdlib.h>

int step_price_alloc(struct step_price *x, const struct policy *p, struct error *err)
{
    *x = (struct step_price){ .max_tok = p->max_num_batched_tokens, .n_group = p->n_group };
    x->max_decode = (uint32_t)u64_min((uint64_t)p->max_num_seqs * (1 + p->num_speculative_tokens), p->max_num_batched_tokens);
    for (uint32_t g = 0; g < p->n_group; g++)
        x->window[g] = p->window[g];
    x->decode_ps = calloc((size_t)x->max_decode + 1, sizeof *x->decode_ps);
    x->context_ps = calloc(((size_t)x->max_decode + 1) * x->n_group, sizeof *x->context_ps);
    x->mixed_ps = calloc((size_t)x->max_tok + 1, sizeof *x->mixed_ps);
    if (x->decode_ps && x->context_ps && x->mixed_ps)
        return 0;
    step_price_free(x);
    return error_oom(err, ((size_t)x->max_tok + x->max_decode) * sizeof *x->mixed_ps, "the seconds of steps");
}

void step_price_free(struct step_price *x)
{
    free(x->decode_ps);
    free(x->context_ps);
    free(x->mixed_ps);
    *x = (struct step_price){ 0 };
}

uint32_t step_price_next_size(uint32_t n, uint32_t most, uint32_t an_octave)
{
    const uint32_t next = n < an_octave ? n + 1 : n + n / an_octave;
    return next < most ? next : most;
}

void step_price_line(uint64_t *v, size_t stride, uint32_t a, uint32_t b, double at_a_ps, double at_b_ps)
{
    for (uint32_t n = a; n <= b; n++) {
        const double ps = at_a_ps + (b > a ? (double)(n - a) / (b - a) * (at_b_ps - at_a_ps) : 0);
        v[n * stride] = ps > 0 ? (uint64_t)(ps + 0.5) : 0;
    }
}

void step_load_decode(struct step_load *l, const struct step_price *x, uint32_t n_past, uint32_t n_tok)
{
    l->n_decode += n_tok;
    for (uint32_t g = 0; g < x->n_group; g++)
        l->context[g] += window_of(x->window[g], (uint64_t)n_past + 1);
}

/* 1 + 2 + ... + n */
static uint64_t triangle(uint64_t n)
{
    return n * (n + 1) / 2;
}

/* Sum over n tokens after n_past positions of the positions each attends to. */
static uint64_t pairs_of(uint32_t window, uint64_t n_past, uint64_t n)
{
    const uint64_t all = triangle(n_past + n) - triangle(n_past);
    if (window == 0 || n_past + n <= window)
        return all;
    const uint64_t full_from = u64_max(n_past, window), growing = triangle(full_from) - triangle(u64_min(n_past, full_from));
    return growing + (n_past + n - full_from) * window;
}

void step_load_prompt(struct step_load *l, const struct step_price *x, uint32_t n_past, uint32_t n_tok)
{
    l->n_prompt += n_tok;
    for (uint32_t g = 0; g < x->n_group; g++) {
        l->pairs[g] += pairs_of(x->window[g], n_past, n_tok);
        l->read[g] += x->window[g] > 0 ? u64_min(x->window[g] + (uint64_t)n_tok, (uint64_t)n_past + n_tok) : (uint64_t)n_past + n_tok;
    }
}

static uint64_t mul_2_16(uint64_t a, uint64_t b)
{
    return (uint64_t)(((unsigned __int128)a * b) >> 16);
}

uint64_t step_price_ps(const struct step_price *x, const struct step_load *l)
{
    uint64_t ps = l->n_prompt == 0 ? x->decode_ps[l->n_decode]
                  : x->apart     ? x->decode_ps[l->n_decode] + x->mixed_ps[l->n_prompt]
                                 : u64_max(x->mixed_ps[l->n_prompt + l->n_decode], x->decode_ps[l->n_decode]);
    const uint64_t *context_ps = x->context_ps + (size_t)l->n_decode * x->n_group;
    for (uint32_t g = 0; g < x->n_group; g++) {
        ps += context_ps[g] * l->context[g];
        if (l->n_prompt > 0)
            ps += mul_2_16(x->pair_ps_2_16[g], l->pairs[g]);
    }
    return ps;
}

struct step_run step_price_run(const struct step_price *x, uint32_t n_decode, uint64_t context)
{
    const uint64_t context_ps = x->context_ps[n_decode];
    return (struct step_run){ x->decode_ps[n_decode] + context_ps * context, context_ps * n_decode };
}

uint64_t step_run_ps(const struct step_run *r, uint64_t n)
{
    const unsigned __int128 ps = (unsigned __int128)r->first_ps * n + (unsigned __int128)r->by_ps * (n * (n - 1) / 2);
    return ps > UINT64_MAX ? UINT64_MAX : (uint64_t)ps;
}

uint64_t step_run_until(const struct step_run *r, uint64_t ps, uint64_t most)
{
    if (step_run_ps(r, most) < ps)
        return most;
    const double by = (double)r->by_ps, b = (double)r->first_ps - by / 2, end = (double)ps; /* the root, then exact */
    uint64_t n = (uint64_t)min2(2 * end / (b + sqrt(b * b + 2 * by * end)), (double)most);
    while (n > 0 && step_run_ps(r, n - 1) >= ps)
        n--;
    while (step_run_ps(r, n) < ps)
        n++;
    return n;
}
