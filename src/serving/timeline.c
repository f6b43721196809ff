#include "serving/timeline.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void step_tee(void *ctx, const struct serve_step *x)
{
    const struct step_tee *t = ctx;
    for (size_t i = 0; i < t->n; i++)
        t->fn[i](t->ctx[i], x);
}

int timeline_init(struct timeline *t, const struct policy *p, struct error *err)
{
    *t = (struct timeline){ .policy = *p, .width_ps = TIMELINE_LEAST_PS, .slice_ps = TIMELINE_LEAST_PS };
    t->point = calloc(TIMELINE_POINTS, sizeof *t->point);
    t->slice = calloc(TIMELINE_SLICES, sizeof *t->slice);
    if (t->point && t->slice)
        return 0;
    timeline_free(t);
    return error_oom(err, TIMELINE_SLICES * sizeof *t->slice, "a time series");
}

void timeline_free(struct timeline *t)
{
    free(t->point);
    free(t->slice);
    *t = (struct timeline){ 0 };
}

double timeline_width_s(const struct timeline *t)
{
    return (double)t->width_ps / PS_PER_S;
}

/* ---- coarser ---------------------------------------------------------------------------------------- */

static void add_point(struct timeline_point *to, const struct timeline_point *x, double share)
{
    to->busy_s += share * x->busy_s;
    to->prompt_s += share * x->prompt_s;
    to->running_s += share * x->running_s;
    to->waiting_s += share * x->waiting_s;
    to->block_s += share * x->block_s;
    to->n_prompt += share * x->n_prompt;
    to->n_decode += share * x->n_decode;
    to->bytes += share * x->bytes;
    to->flop += share * x->flop;
}

static void halve_points(struct timeline *t)
{
    for (size_t i = 0; i < TIMELINE_POINTS / 2; i++) {
        struct timeline_point p = t->point[2 * i];
        add_point(&p, &t->point[2 * i + 1], 1);
        t->point[i] = p;
    }
    memset(&t->point[TIMELINE_POINTS / 2], 0, TIMELINE_POINTS / 2 * sizeof *t->point);
    t->n = (t->n + 1) / 2;
    t->width_ps *= 2;
}

static void halve_slices(struct timeline *t)
{
    for (size_t i = 0; i < TIMELINE_SLICES / 2; i++) {
        if (i > 0)
            t->slice[i] = t->slice[2 * i];
        t->slice[i].n += t->slice[2 * i + 1].n;
        for (size_t b = 0; b < GAP_BINS; b++)
            t->slice[i].count[b] += t->slice[2 * i + 1].count[b];
    }
    memset(&t->slice[TIMELINE_SLICES / 2], 0, TIMELINE_SLICES / 2 * sizeof *t->slice);
    t->n_slice = (t->n_slice + 1) / 2;
    t->slice_ps *= 2;
}

/* ---- steps -------------------------------------------------------------------------------------------- */

static void add_steps(struct timeline *t, const struct serve_step *x)
{
    const uint64_t ps = x->end_ps - x->start_ps;
    const double s = (double)ps / PS_PER_S;
    const struct timeline_point all = { .busy_s = s, .prompt_s = x->n_prompt > 0 ? s : 0, .running_s = s * x->n_running, .waiting_s = s * x->n_waiting,
                                        .block_s = s * x->used_blocks, .n_prompt = (double)x->n * x->n_prompt, .n_decode = (double)x->n * x->n_decode,
                                        .bytes = x->bytes, .flop = x->flop };
    while (x->end_ps / t->width_ps >= TIMELINE_POINTS)
        halve_points(t);
    const uint64_t first = x->start_ps / t->width_ps, last = x->end_ps / t->width_ps;
    for (uint64_t i = first; i <= last; i++) {
        const uint64_t from = u64_max(x->start_ps, i * t->width_ps), to = u64_min(x->end_ps, (i + 1) * t->width_ps);
        add_point(&t->point[i], &all, ps > 0 ? (double)(to - from) / (double)ps : 1);
    }
    t->n = last + 1 > t->n ? (size_t)last + 1 : t->n;
}

/* Bins of a power of two divided into GAP_SUB equal ones; below GAP_SUB ps they do not differ. */
static size_t gap_bin(uint64_t ps)
{
    if (ps < GAP_SUB)
        return 0;
    const int bits = 63 - __builtin_clzll(ps);
    return (size_t)bits * GAP_SUB + (size_t)(ps >> (bits - 5) & (GAP_SUB - 1));
}

/* Each of its steps is a gap of every sequence that decodes in it. */
static void add_gaps(struct timeline *t, const struct serve_step *x)
{
    const uint64_t n = x->n * x->n_decode;
    if (n == 0)
        return;
    while (x->start_ps / t->slice_ps >= TIMELINE_SLICES)
        halve_slices(t);
    const size_t i = (size_t)(x->start_ps / t->slice_ps);
    t->slice[i].n += n;
    t->slice[i].count[gap_bin((x->end_ps - x->start_ps) / x->n)] += n;
    t->n_slice = i + 1 > t->n_slice ? i + 1 : t->n_slice;
}

static enum serve_wait wait_of(const struct policy *p, const struct serve_step *x)
{
    if (x->n_waiting == 0)
        return WAIT_NONE;
    if (x->n_running >= p->max_num_seqs)
        return WAIT_SEQS;
    /* Whole prompts: the next one does not fit what others left of the budget. */
    if (x->n_prompt + x->n_decode >= p->max_num_batched_tokens || (!p->enable_chunked_prefill && !p->batch_until_empty && x->n_prompt > 0))
        return WAIT_BUDGET;
    return p->batch_until_empty ? WAIT_BATCH : WAIT_BLOCKS;
}

void timeline_step(void *ctx, const struct serve_step *x)
{
    struct timeline *t = ctx;
    const double s = (double)(x->end_ps - x->start_ps) / PS_PER_S;
    add_steps(t, x);
    add_gaps(t, x);
    t->wait_s[wait_of(&t->policy, x)] += s;
    *(x->n_prompt > 0 ? &t->mixed_s : &t->decode_s) += s;
}

double timeline_gaps_within(const struct timeline_slice *x, double s)
{
    const double ps = s * PS_PER_S;
    const size_t bin = gap_bin(ps < 9e18 ? (uint64_t)ps : UINT64_MAX);
    const int bits = (int)(bin / GAP_SUB);
    const double width = ldexp(1, bits) / GAP_SUB, start = ldexp(1, bits) + (double)(bin % GAP_SUB) * width;
    uint64_t n = 0;
    for (size_t b = 0; b < bin; b++)
        n += x->count[b];
    return (double)n + (double)x->count[bin] * fmin(fmax((ps - start) / width, 0), 1);
}

enum serve_wait timeline_bound(const struct timeline *t)
{
    enum serve_wait best = WAIT_SEQS;
    double all = t->wait_s[WAIT_NONE];
    for (int w = WAIT_SEQS; w < SERVE_WAITS; w++) {
        all += t->wait_s[w];
        best = t->wait_s[w] > t->wait_s[best] ? (enum serve_wait)w : best;
    }
    return t->wait_s[best] > 0.1 * all ? best : WAIT_NONE;
}
