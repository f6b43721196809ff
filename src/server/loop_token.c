/* From logits to the next token of a request, and the identity of its tokens for the prefix cache. */
#include "server/loop_internal.h"
#include "serving/draw.h"
#include <math.h>
#include <string.h>

/* ---- the next token ------------------------------------------------------------------------------------------------ */

bool loop_is_end(const struct job *j, int32_t id)
{
    for (uint32_t i = 0; i < j->n_end; i++)
        if (j->end[i] == id)
            return true;
    return false;
}

/* Counts a generated token for the penalties. */
static void count(struct job *j, int32_t id)
{
    uint32_t i = 0;
    while (i < j->n_used && j->used[i].id != id)
        i++;
    if (i == j->n_used)
        j->used[j->n_used++] = (struct token_count){ .id = id };
    j->used[i].n++;
}

/* The logits that j samples from: `logits`, or a changed copy. */
static const float *changed(struct loop *l, const struct job *j, const float *logits)
{
    const bool mask = j->n_tok - j->n_in < j->n_min && j->n_end > 0;
    if (j->n_used == 0 && !mask && j->n_bias == 0)
        return logits;
    memcpy(l->row, logits, l->n_vocab * sizeof *l->row);
    for (uint32_t i = 0; i < j->n_used; i++) /* source: OpenAI's API reference */
        l->row[j->used[i].id] -= j->presence + j->frequency * (float)j->used[i].n;
    for (uint32_t i = 0; i < j->n_bias; i++)
        l->row[j->bias[i].id] += j->bias[i].logprob;
    for (uint32_t i = 0; mask && i < j->n_end; i++)
        l->row[j->end[i]] = -INFINITY;
    return l->row;
}

/* Likeliest first; of equal ones the lower number. */
static void keep_top(struct loop_logprob *top, uint32_t n_top, const float *logits, uint32_t n_vocab)
{
    uint32_t n = 0;
    for (uint32_t id = 0; id < n_vocab; id++) {
        if (n == n_top && !(logits[id] > top[n - 1].logprob))
            continue;
        uint32_t at = n < n_top ? n++ : n - 1;
        for (; at > 0 && logits[id] > top[at - 1].logprob; at--)
            top[at] = top[at - 1];
        top[at] = (struct loop_logprob){ (int32_t)id, logits[id] };
    }
}

/* log(sum of exp(logits)) */
static float log_sum(const float *logits, uint32_t n)
{
    float max = logits[0];
    double sum = 0;
    for (uint32_t i = 1; i < n; i++)
        max = fmaxf(max, logits[i]);
    for (uint32_t i = 0; i < n; i++)
        sum += exp((double)(logits[i] - max));
    return max + (float)log(sum);
}

int32_t loop_pick(struct loop *l, struct job *j, const float *logits, uint32_t k, int32_t forced)
{
    const int32_t picked = sampler_pick(&j->sampler, changed(l, j, logits)), id = forced != NO_TOKEN ? forced : picked;
    if (j->chosen) {
        const float all = log_sum(logits, l->n_vocab);
        struct loop_logprob *top = j->n_top > 0 ? j->top + (size_t)k * j->n_top : NULL;
        j->chosen[k] = (struct loop_logprob){ id, logits[id] - all };
        if (j->n_top > 0)
            keep_top(top, j->n_top, logits, l->n_vocab);
        for (uint32_t i = 0; i < j->n_top; i++)
            top[i].logprob -= all;
    }
    sampler_accept(&j->sampler, id);
    if (j->used)
        count(j, id);
    return id;
}

/* ---- identity -------------------------------------------------------------------------------------------------------- */

static uint32_t unit(const struct loop *l)
{
    return l->s.slot ? 1 : l->s.p.block_size;
}

size_t loop_hash_room(const struct loop *l, const struct job *j)
{
    return ((size_t)j->n_in + j->n_max) / unit(l) + 1;
}

/* Chained over all tokens before, from a seed that clients do not know: tokens that collide cannot be made, and by chance two chains are equal once in
 * 2^64 pairs. */
void loop_hash(const struct loop *l, struct job *j, uint64_t *hash, uint32_t *n_hash)
{
    if (j->n_hashed == 0)
        j->hash = draw_mix(l->o.seed ^ draw_mix(j->salt + UINT64_C(0x9e3779b97f4a7c15)));
    for (const uint32_t of = unit(l); j->n_hashed < j->n_tok;) {
        j->hash = draw_mix(j->hash + (uint64_t)(uint32_t)j->tok[j->n_hashed] * UINT64_C(0xd6e8feb86659fd93) + 1);
        if (++j->n_hashed % of == 0)
            hash[(*n_hash)++] = j->hash | 1; /* 0: no hash */
    }
}
