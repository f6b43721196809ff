/*
 * The KV blocks of a sequence: identities of its tokens as chained hashes, blocks taken and released, the prefix cache, windows, and what host
 * memory or another device has of it. Source: vLLM's KVCacheManager (vllm/v1/core/kv_cache_manager.py).
 */
#include "serving/sequence.h"
#include "serving/draw.h"
#include <stdlib.h>

/* ---- identities ----------------------------------------------------------------------------------------------- */

uint32_t block_hash_count(const struct serve_workload *w, const struct serve_request *r, uint32_t block_size)
{
    uint64_t n_tok = 0;
    for (uint32_t i = 0; i < r->n_run; i++)
        n_tok += (uint64_t)w->run[r->run0 + i].n * w->run_tokens;
    return (uint32_t)(u64_min(n_tok, (uint64_t)r->n_in + r->n_out) / block_size);
}

void block_hashes_first(const struct serve_workload *w, const struct serve_request *r, uint32_t block_size, uint32_t n, uint64_t *hash)
{
    /* A piece is what a block has of an identity. */
    const struct token_run *run = &w->run[r->run0];
    uint64_t h = 1, identity = n > 0 ? run->first : 0, left = w->run_tokens; /* of it */
    for (uint32_t j = 0, in_run = 0; j < n; j++) {
        for (uint64_t need = block_size, piece; need > 0; need -= piece, left -= piece) {
            if (left == 0) {
                left = w->run_tokens;
                identity++;
                if (++in_run == run->n) {
                    identity = (++run)->first;
                    in_run = 0;
                }
            }
            piece = need < left ? need : left;
            h = draw_mix(h + identity * UINT64_C(0x9e3779b97f4a7c15) + left);
        }
        hash[j] = h | 1; /* 0: no hash */
    }
}

uint64_t *block_hashes(const struct serve_workload *w, const struct serve_request *r, uint32_t block_size, uint32_t *n, struct error *err)
{
    *n = block_hash_count(w, r, block_size);
    if (*n == 0)
        return NULL;
    uint64_t *hash = malloc(*n * sizeof *hash);
    if (!hash) {
        (void)error_oom(err, *n * sizeof *hash, "the hashes of a prompt's blocks");
        return NULL;
    }
    block_hashes_first(w, r, block_size, *n, hash);
    return hash;
}

/* Blocks of different groups are different content. */
static uint64_t hash_of(const struct sched_seq *q, uint32_t j, uint32_t group)
{
    return q->hash[j] + 2 * (uint64_t)group * UINT64_C(0x9e3779b97f4a7c15);
}

/* ---- blocks of a sequence ---------------------------------------------------------------------------------------- */

uint32_t seq_blocks_of(const struct policy *p, uint64_t n_position)
{
    return (uint32_t)u64_ceil_div(n_position, p->block_size);
}

/* A window's blocks at most: the window before a step, and the step's own. */
uint32_t seq_most_blocks(const struct policy *p, uint32_t window, uint64_t n_position)
{
    const uint32_t all = seq_blocks_of(p, n_position);
    if (window == 0)
        return all;
    return (uint32_t)u64_min(all, seq_blocks_of(p, (uint64_t)window - 1 + p->max_num_batched_tokens) + 1);
}

uint64_t scheduler_blocks_of(const struct policy *p, uint64_t n_position)
{
    uint64_t n = 0;
    for (uint32_t g = 0; g < p->n_group; g++)
        n += seq_most_blocks(p, p->window[g], n_position);
    return n;
}

int scheduler_check(const struct policy *p, uint32_t n_block, uint32_t n_in, uint32_t n_out, struct error *err)
{
    const uint64_t n = (uint64_t)n_in + n_out, most = n - 1 + p->num_speculative_tokens + p->look_ahead + p->async_scheduling;
    if (n > p->max_model_len)
        return error_set(err, ERROR_INPUT, "a request of %u + %u tokens: max-model-len is %u", n_in, n_out, p->max_model_len);
    if (scheduler_blocks_of(p, most) > n_block)
        return error_set(err, ERROR_INPUT, "a request of %u + %u tokens takes %llu KV blocks of %u positions: there are %u", n_in, n_out,
                         (unsigned long long)scheduler_blocks_of(p, most), p->block_size, n_block);
    return 0;
}

static bool reserve(struct seq_blocks *g, uint32_t n)
{
    if (n <= g->cap)
        return true;
    const uint32_t cap = n > 2 * g->cap ? n : 2 * g->cap;
    uint32_t *block = realloc(g->block, cap * sizeof *block);
    if (!block)
        return false;
    g->block = block;
    g->cap = cap;
    return true;
}

/* Blocks that lie whole before the window of the next token, from the newest back. */
void seq_drop_outside(struct scheduler *s, struct sched_seq *q)
{
    for (uint32_t i = 0; i < s->p.n_group; i++) {
        struct seq_blocks *g = &q->group[i];
        const uint32_t window = s->p.window[i];
        if (window == 0 || q->n_computed + 1 <= window)
            continue;
        uint32_t keep = (q->n_computed - window + 1) / s->p.block_size;
        keep = keep < g->n ? keep : g->n;
        for (uint32_t j = keep; j > g->n_dropped; j--) {
            if (g->block[j - 1] != BLOCK_NONE)
                block_pool_release(&s->pool, 1, &g->block[j - 1]);
            g->block[j - 1] = BLOCK_NONE;
        }
        g->n_dropped = keep > g->n_dropped ? keep : g->n_dropped;
    }
}

/* Host memory has a copy of every full block, the least recently used ones leave. */
static void keep_in_host(struct scheduler *s, uint64_t hash)
{
    if (s->host.n == 0)
        return;
    uint32_t b = block_pool_find(&s->host, hash);
    if (b != BLOCK_NONE) {
        block_pool_share(&s->host, b);
    } else {
        block_pool_take(&s->host, 1, &b);
        block_pool_hash(&s->host, b, hash);
    }
    block_pool_release(&s->host, 1, &b);
}

/* Makes full blocks of known, computed tokens findable. */
void seq_hash_blocks(struct scheduler *s, struct sched_seq *q, uint32_t n_tok)
{
    if (!s->pool.identity)
        return;
    const uint32_t full = (uint32_t)u64_min((q->n_known < n_tok ? q->n_known : n_tok) / s->p.block_size, q->n_hash);
    for (uint32_t i = 0; i < s->p.n_group; i++) {
        struct seq_blocks *g = &q->group[i];
        for (; g->n_hashed < full; g->n_hashed++)
            if (g->block[g->n_hashed] != BLOCK_NONE) {
                block_pool_hash(&s->pool, g->block[g->n_hashed], hash_of(q, g->n_hashed, i));
                keep_in_host(s, hash_of(q, g->n_hashed, i));
            }
    }
}

/* New blocks so that positions below n_position have one. */
uint64_t seq_missing_blocks(const struct scheduler *s, const struct sched_seq *q, uint64_t n_position)
{
    const uint32_t n = seq_blocks_of(&s->p, n_position);
    uint64_t missing = 0;
    for (uint32_t i = 0; i < s->p.n_group; i++)
        missing += n > q->group[i].n ? n - q->group[i].n : 0;
    return missing;
}

int seq_take_blocks(struct scheduler *s, struct sched_seq *q, uint64_t n_position, struct error *err)
{
    const uint32_t n = seq_blocks_of(&s->p, n_position);
    for (uint32_t i = 0; i < s->p.n_group; i++) {
        struct seq_blocks *g = &q->group[i];
        if (n <= g->n)
            continue;
        if (!reserve(g, n))
            return error_oom(err, n * sizeof *g->block, "the blocks of a sequence");
        block_pool_take(&s->pool, n - g->n, g->block + g->n);
        g->n = n;
    }
    return 0;
}

void seq_release_all(struct scheduler *s, struct sched_seq *q)
{
    for (uint32_t i = 0; i < s->p.n_group; i++) {
        struct seq_blocks *g = &q->group[i];
        if (g->n > g->n_dropped) /* a waiting one has none */
            block_pool_release(&s->pool, g->n - g->n_dropped, g->block + g->n_dropped);
        g->n = g->n_hashed = g->n_dropped = 0;
    }
}

/* ---- the prefix cache --------------------------------------------------------------------------------------------- */

/* Blocks before `end` that a window needs: those of its positions but the newest. */
uint32_t seq_needed_before(const struct policy *p, uint32_t window, uint32_t end)
{
    const uint32_t n = window == 0 ? end : seq_blocks_of(p, window - 1);
    return n < end ? n : end;
}

/* The longest hit of at most `most` blocks in one group. */
static uint32_t longest_hit(const struct scheduler *s, const struct sched_seq *q, uint32_t group, uint32_t most)
{
    const uint32_t window = s->p.window[group];
    if (window == 0) {
        uint32_t n = 0;
        while (n < most && block_pool_find(&s->pool, hash_of(q, n, group)) != BLOCK_NONE)
            n++;
        return n;
    }
    uint32_t end = most;
    for (uint32_t n = 0; end > 0; ) { /* n cached blocks end at `end` */
        if (n == seq_needed_before(&s->p, window, end))
            return end;
        if (block_pool_find(&s->pool, hash_of(q, end - n - 1, group)) != BLOCK_NONE) {
            n++;
        } else {
            end -= n + 1;
            n = 0;
        }
    }
    return 0;
}

/* Blocks found in all groups: a fixed point, for each group may shorten the hit of the others. The last token is always computed. */
uint32_t seq_prefix_hit(const struct scheduler *s, const struct sched_seq *q)
{
    if (!s->pool.identity)
        return 0;
    uint32_t hit = (uint32_t)u64_min(q->n_hash, (q->n_known - 1) / s->p.block_size), last;
    do {
        last = hit;
        for (uint32_t i = 0; i < s->p.n_group; i++)
            hit = longest_hit(s, q, i, hit);
    } while (hit != last);
    return hit;
}

/* Free blocks of the hit: they leave the free queue with it. */
uint64_t seq_hit_blocks_free(const struct scheduler *s, const struct sched_seq *q, uint32_t hit)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < s->p.n_group; i++)
        for (uint32_t j = hit - seq_needed_before(&s->p, s->p.window[i], hit); j < hit; j++)
            n += block_pool_is_free(&s->pool, block_pool_find(&s->pool, hash_of(q, j, i)));
    return n;
}

int seq_share_hit(struct scheduler *s, struct sched_seq *q, uint32_t hit, struct error *err)
{
    for (uint32_t i = 0; i < s->p.n_group; i++) {
        struct seq_blocks *g = &q->group[i];
        const uint32_t from = hit - seq_needed_before(&s->p, s->p.window[i], hit);
        if (!reserve(g, hit))
            return error_oom(err, hit * sizeof *g->block, "the blocks of a sequence");
        for (uint32_t j = 0; j < hit; j++) {
            g->block[j] = j < from ? BLOCK_NONE : block_pool_find(&s->pool, hash_of(q, j, i));
            if (j >= from)
                block_pool_share(&s->pool, g->block[j]);
        }
        g->n = g->n_hashed = hit;
        g->n_dropped = from;
    }
    return 0;
}

/* Tokens beyond a hit that need not be computed: another device's, or blocks in host memory. The last token is always computed. */
uint32_t seq_remote_tokens(const struct scheduler *s, const struct sched_seq *q, uint32_t hit)
{
    const uint32_t local = hit * s->p.block_size;
    if (q->n_remote > 0)
        return q->n_remote > local ? q->n_remote - local : 0;
    if (s->host.n == 0 || s->p.n_group > 1 || s->p.window[0] > 0)
        return 0;
    const uint32_t most = (uint32_t)u64_min(q->n_hash, (q->n_known - 1) / s->p.block_size);
    uint32_t n = hit;
    while (n < most && block_pool_find(&s->host, hash_of(q, n, 0)) != BLOCK_NONE)
        n++;
    return (n - hit) * s->p.block_size;
}
