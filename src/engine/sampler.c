/*
 * Sampling; methods.md (97). Every filter keeps a prefix of the tokens in descending order: a histogram rejects tokens far from the
 * best, and a heap yields the rest in order until the filters are satisfied. No full sort.
 */
#include "engine/engine.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct scored {
    float logit; /* later its sampling weight */
    int32_t id;
};

const struct sampler_options sampler_default = {
    .top_p = 1,
    .repeat_penalty = 1,
    .repeat_last_n = 64,
    .seed = 1,
};

bool logits_finite(const float *logits, size_t n)
{
    bool wrong = false;
    for (size_t i = 0; i < n; i++)
        wrong |= !(fabsf(logits[i]) <= FLT_MAX); /* without a branch: vectors */
    return !wrong;
}

/* ---- options and memory --------------------------------------------------------- */

static int check(const char *option, double v, bool ok, const char *expected, struct error *err)
{
    return ok ? 0 : error_set(err, ERROR_USAGE, "%s: expected %s, found %g", option, expected, v);
}

int sampler_check(const struct sampler_options *o, struct error *err)
{
    const double t = o->temperature, r = o->repeat_penalty;
    if (check("--temp", t, t >= 0 && t <= 100, "a number from 0 to 100", err) != 0 ||
        check("--top-p", o->top_p, o->top_p > 0 && o->top_p <= 1, "a number above 0, at most 1", err) != 0 ||
        check("--min-p", o->min_p, o->min_p >= 0 && o->min_p <= 1, "a number from 0 to 1", err) != 0 ||
        check("--repeat-penalty", r, r >= 0.01 && r <= 100, "a number from 0.01 to 100", err) != 0)
        return -1;
    return check("--repeat-last-n", o->repeat_last_n, o->repeat_last_n >= -1, "-1 (all), 0 (off) or more", err);
}

struct scored *sampler_scratch(uint32_t n_vocab)
{
    return malloc(n_vocab * sizeof(struct scored));
}

int sampler_init(struct sampler *s, const struct sampler_options *o, uint32_t n_vocab, struct error *err)
{
    return sampler_init_shared(s, o, n_vocab, NULL, err);
}

int sampler_init_shared(struct sampler *s, const struct sampler_options *o, uint32_t n_vocab, struct scored *scratch, struct error *err)
{
    *s = (struct sampler){ .opt = *o, .n_vocab = n_vocab, .shares = scratch != NULL };
    if (sampler_check(o, err) != 0)
        return -1;
    if (n_vocab == 0)
        return error_set(err, ERROR_INPUT, "a vocabulary without tokens: nothing to pick from");
    rng_init(&s->rng, o->seed);
    const bool penalty = o->repeat_penalty != 1 && o->repeat_last_n != 0;
    const size_t bytes = n_vocab * (sizeof *s->token + sizeof *s->count) +
                         (penalty && o->repeat_last_n > 0 ? (size_t)o->repeat_last_n * sizeof *s->last : 0);
    s->token = scratch ? scratch : sampler_scratch(n_vocab);
    if (penalty)
        s->count = calloc(n_vocab, sizeof *s->count);
    if (penalty && o->repeat_last_n > 0)
        s->last = malloc((size_t)o->repeat_last_n * sizeof *s->last);
    if (s->token && (!penalty || s->count) && (!penalty || o->repeat_last_n < 0 || s->last))
        return 0;
    sampler_free(s);
    return error_oom(err, bytes, "the sampler");
}

void sampler_free(struct sampler *s)
{
    if (!s->shares)
        free(s->token);
    free(s->count);
    free(s->last);
    memset(s, 0, sizeof *s);
}

void sampler_accept(struct sampler *s, int32_t id)
{
    if (!s->count || id < 0 || (uint32_t)id >= s->n_vocab)
        return;
    s->count[id]++;
    if (!s->last)
        return;
    if (s->n_last == (uint32_t)s->opt.repeat_last_n)
        s->count[s->last[s->at]]--;
    else
        s->n_last++;
    s->last[s->at] = id;
    s->at = (s->at + 1) % (uint32_t)s->opt.repeat_last_n;
}

/* ---- order ---- */

/* Larger logit first, then lower id. */
static bool before(struct scored a, struct scored b)
{
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

static void sift_down(struct scored *t, uint32_t at, uint32_t n)
{
    const struct scored x = t[at];
    uint32_t child;
    while ((child = 2 * at + 1) < n) {
        child += child + 1 < n && before(t[child + 1], t[child]);
        if (!before(t[child], x))
            break;
        t[at] = t[child];
        at = child;
    }
    t[at] = x;
}

static void heap_make(struct scored *t, uint32_t n)
{
    for (uint32_t i = n / 2; i-- > 0;)
        sift_down(t, i, n);
}

/* Move the best of n to the end. */
static struct scored heap_take(struct scored *t, uint32_t n)
{
    const struct scored best = t[0];
    t[0] = t[n - 1];
    sift_down(t, 0, n - 1);
    return t[n - 1] = best;
}

/* ---- filters ---------------------------------------------------------------------- */

enum { BINS = 256, BINS_A_UNIT = 8 }; /* distance from the best logit: 32 units, then one bin */

static unsigned bin_of(float logit, float top)
{
    const float d = (top - logit) * BINS_A_UNIT; /* may be infinite */
    return d < BINS - 1 ? (unsigned)d : BINS - 1;
}

static double weight(struct scored t, float top)
{
    return exp((double)t.logit - top);
}

/*
 * Move candidates for the best `most`, or for the best with a share of the total weight, to the front of token[]; returns their number.
 * Histogram by distance from the best. total: weight of all tokens, computed for share < 1.
 */
static uint32_t candidates(struct sampler *s, float top, uint32_t most, double share, double *total)
{
    uint32_t count[BINS] = { 0 }, last = 0, n = 0;
    double mass[BINS] = { 0 }, sum = 0;
    *total = 0;
    for (uint32_t i = 0; i < s->n_vocab; i++) {
        const unsigned b = bin_of(s->token[i].logit, top);
        count[b]++;
        if (share < 1)
            mass[b] += weight(s->token[i], top);
    }
    for (unsigned b = 0; b < BINS; b++)
        *total += mass[b];
    while (last < BINS - 1 && (n += count[last]) < most && (share >= 1 || (sum += mass[last]) < share * *total))
        last++;
    last += share < 1; /* rounding: one extra bin to be safe */
    n = 0;
    for (uint32_t i = 0; i < s->n_vocab; i++)
        if (bin_of(s->token[i].logit, top) <= last)
            s->token[n++] = s->token[i];
    return n;
}

/* Tokens that top-k, top-p and min-p keep: *kept, and their number. */
static uint32_t keep_best(struct sampler *s, float top, struct scored **kept)
{
    const struct sampler_options *o = &s->opt;
    const bool limited = o->top_k && o->top_k < s->n_vocab;
    /* min-p as a logit: exp(logit - top) >= min_p */
    const double least = o->min_p > 0 ? top + log(o->min_p) : -INFINITY;
    double total, sum = 0;
    if (!limited && o->top_p >= 1) { /* order is irrelevant */
        uint32_t n = 0;
        for (uint32_t i = 0; i < s->n_vocab; i++)
            if (s->token[i].logit >= least || s->token[i].logit >= top)
                s->token[n++] = s->token[i];
        *kept = s->token;
        return n;
    }
    /* top-p applies to what top-k keeps: cut by count only */
    const uint32_t n = limited ? candidates(s, top, o->top_k, 1, &total)
                               : candidates(s, top, s->n_vocab, o->top_p, &total);
    uint32_t most = limited ? o->top_k : n, k = 0;
    heap_make(s->token, n);
    if (limited) {
        for (uint32_t i = 0; i < most; i++)
            total += weight(heap_take(s->token, n - i), top);
    }
    while (k < most) {
        const struct scored t = limited ? s->token[n - 1 - k] : heap_take(s->token, n - k);
        if (k > 0 && t.logit < least)
            break;
        k++;
        sum += weight(t, top);
        if (o->top_p < 1 && sum >= o->top_p * total)
            break;
    }
    *kept = s->token + n - k;
    return k;
}

/* ---- sampling ---- */

int32_t logits_largest(const float *logits, uint32_t n)
{
    enum { LANES = 32 }; /* independent maxima: vectors; a chain of comparisons takes ten times as long */
    float lane[LANES];
    for (int k = 0; k < LANES; k++)
        lane[k] = -INFINITY;
    uint32_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] = logits[i + k] > lane[k] ? logits[i + k] : lane[k];
    float most = -INFINITY;
    for (; i < n; i++)
        most = logits[i] > most ? logits[i] : most;
    for (int k = 0; k < LANES; k++)
        most = lane[k] > most ? lane[k] : most;
    i = 0;
    while (i < n && logits[i] != most)
        i++;
    return i < n ? (int32_t)i : 0; /* all NaN: 0 */
}

/* token[] in id order with penalised logits; returns the best index. */
static uint32_t score(struct sampler *s, const float *logits)
{
    const float r = (float)s->opt.repeat_penalty;
    uint32_t best = 0;
    float top = -INFINITY;
    for (uint32_t i = 0; i < s->n_vocab; i++) {
        float x = logits[i];
        if (s->count && s->count[i])
            x = x > 0 ? x / r : x * r;
        /* Clamp to finite, NaN to the minimum: differences must not be NaN. */
        x = x > FLT_MAX ? FLT_MAX : x >= -FLT_MAX ? x : -FLT_MAX;
        s->token[i] = (struct scored){ x, (int32_t)i };
        best = x > top ? i : best;
        top = x > top ? x : top;
    }
    return best;
}

/* Draw one of n tokens by weights exp((logit - top) / temperature), by inversion. */
static int32_t draw(struct sampler *s, struct scored *t, uint32_t n, float top)
{
    double sum = 0;
    uint32_t last = 0;
    for (uint32_t i = 0; i < n; i++) {
        t[i].logit = (float)exp(((double)t[i].logit - top) / s->opt.temperature);
        sum += (double)t[i].logit;
    }
    double at = rng_uniform(&s->rng) * sum;
    for (uint32_t i = 0; i < n; i++) {
        if (t[i].logit > 0)
            last = i;
        at -= (double)t[i].logit;
        if (at < 0)
            return t[i].id;
    }
    return t[last].id; /* rounding remainder */
}

int32_t sampler_pick(struct sampler *s, const float *logits)
{
    const struct sampler_options *o = &s->opt;
    if (o->temperature <= 0 && !s->count)
        return logits_largest(logits, s->n_vocab);
    const uint32_t best = score(s, logits);
    const float top = s->token[best].logit;
    if (o->temperature <= 0)
        return s->token[best].id;
    struct scored *kept;
    const uint32_t n = keep_best(s, top, &kept);
    return draw(s, kept, n, top);
}
