/*
 * Continuous batching in plain code: what a step costs here grows with the sequences that run. fast.c jumps over steps that are alike and
 * is tested against this file.
 */
#include "serving/scheduler.h"
#include "serving/draw.h"
#include <stdlib.h>
#include <string.h>

void batch_free(struct batch *b)
{
    free(b->e);
    free(b->load);
    *b = (struct batch){ 0 };
}

/* ---- identities ----------------------------------------------------------------------------------------------- */

uint64_t *block_hashes(const struct serve_workload *w, const struct serve_request *r, uint32_t block_size, uint32_t *n, struct error *err)
{
    uint64_t n_tok = 0;
    for (uint32_t i = 0; i < r->n_run; i++)
        n_tok += (uint64_t)w->run[r->run0 + i].n * w->run_tokens;
    n_tok = u64_min(n_tok, (uint64_t)r->n_in + r->n_out);
    *n = (uint32_t)(n_tok / block_size);
    if (*n == 0)
        return NULL;
    uint64_t *hash = malloc(*n * sizeof *hash), h = 1;
    if (!hash) {
        (void)error_oom(err, *n * sizeof *hash, "the hashes of a prompt's blocks");
        return NULL;
    }
    /* A piece is what a block has of an identity. */
    const struct token_run *run = &w->run[r->run0];
    uint64_t identity = run->first, left = w->run_tokens; /* of it */
    for (uint32_t j = 0, in_run = 0; j < *n; j++) {
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
    return hash;
}

/* Blocks of different groups are different content. */
static uint64_t hash_of(const struct sched_seq *q, uint32_t j, uint32_t group)
{
    return q->hash[j] + 2 * (uint64_t)group * UINT64_C(0x9e3779b97f4a7c15);
}

/* ---- the queue ------------------------------------------------------------------------------------------------- */

static void queue_insert(struct scheduler *s, struct sched_seq *q, struct sched_seq *before)
{
    q->next = before;
    q->prev = before ? before->prev : s->last;
    if (q->prev)
        q->prev->next = q;
    else
        s->first = q;
    if (before)
        before->prev = q;
    else
        s->last = q;
    s->n_waiting++;
}

void scheduler_unqueue(struct scheduler *s, struct sched_seq *q)
{
    if (q->prev)
        q->prev->next = q->next;
    else
        s->first = q->next;
    if (q->next)
        q->next->prev = q->prev;
    else
        s->last = q->prev;
    q->next = q->prev = NULL;
    s->n_waiting--;
}

/* True if a is served before b. */
static bool before(const struct sched_seq *a, const struct sched_seq *b)
{
    return a->priority != b->priority ? a->priority < b->priority : a->order < b->order;
}

static void queue_by_priority(struct scheduler *s, struct sched_seq *q)
{
    struct sched_seq *at = s->first;
    while (at && !before(q, at))
        at = at->next;
    queue_insert(s, q, at);
}

/* ---- blocks of a sequence ---------------------------------------------------------------------------------------- */

static uint32_t blocks_of(const struct policy *p, uint64_t n_position)
{
    return (uint32_t)u64_ceil_div(n_position, p->block_size);
}

/* A window's blocks at most: the window before a step, and the step's own. */
static uint32_t most_blocks(const struct policy *p, uint32_t window, uint64_t n_position)
{
    const uint32_t all = blocks_of(p, n_position);
    if (window == 0)
        return all;
    return (uint32_t)u64_min(all, blocks_of(p, (uint64_t)window - 1 + p->max_num_batched_tokens) + 1);
}

uint64_t scheduler_blocks_of(const struct policy *p, uint64_t n_position)
{
    uint64_t n = 0;
    for (uint32_t g = 0; g < p->n_group; g++)
        n += most_blocks(p, p->window[g], n_position);
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
static void drop_outside(struct scheduler *s, struct sched_seq *q)
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
static void hash_blocks(struct scheduler *s, struct sched_seq *q, uint32_t n_tok)
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
static uint64_t missing_blocks(const struct scheduler *s, const struct sched_seq *q, uint64_t n_position)
{
    const uint32_t n = blocks_of(&s->p, n_position);
    uint64_t missing = 0;
    for (uint32_t i = 0; i < s->p.n_group; i++)
        missing += n > q->group[i].n ? n - q->group[i].n : 0;
    return missing;
}

static int take_blocks(struct scheduler *s, struct sched_seq *q, uint64_t n_position, struct error *err)
{
    const uint32_t n = blocks_of(&s->p, n_position);
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

static void release_all(struct scheduler *s, struct sched_seq *q)
{
    for (uint32_t i = 0; i < s->p.n_group; i++) {
        struct seq_blocks *g = &q->group[i];
        block_pool_release(&s->pool, g->n - g->n_dropped, g->block + g->n_dropped);
        g->n = g->n_hashed = g->n_dropped = 0;
    }
}

/* ---- the prefix cache --------------------------------------------------------------------------------------------- */

/* Blocks before `end` that a window needs: those of its positions but the newest. */
static uint32_t needed_before(const struct policy *p, uint32_t window, uint32_t end)
{
    const uint32_t n = window == 0 ? end : blocks_of(p, window - 1);
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
        if (n == needed_before(&s->p, window, end))
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
static uint32_t prefix_hit(const struct scheduler *s, const struct sched_seq *q)
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
static uint64_t hit_blocks_free(const struct scheduler *s, const struct sched_seq *q, uint32_t hit)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < s->p.n_group; i++)
        for (uint32_t j = hit - needed_before(&s->p, s->p.window[i], hit); j < hit; j++)
            n += block_pool_is_free(&s->pool, block_pool_find(&s->pool, hash_of(q, j, i)));
    return n;
}

static int share_hit(struct scheduler *s, struct sched_seq *q, uint32_t hit, struct error *err)
{
    for (uint32_t i = 0; i < s->p.n_group; i++) {
        struct seq_blocks *g = &q->group[i];
        const uint32_t from = hit - needed_before(&s->p, s->p.window[i], hit);
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
static uint32_t remote_tokens(const struct scheduler *s, const struct sched_seq *q, uint32_t hit)
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

/* ---- a step ----------------------------------------------------------------------------------------------------- */

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

struct batch_entry *batch_add(struct batch *b, struct error *err)
{
    if (b->n == b->cap) {
        const size_t cap = b->cap > 0 ? 2 * b->cap : 64;
        struct batch_entry *e = realloc(b->e, cap * sizeof *e);
        if (!e) {
            (void)error_oom(err, cap * sizeof *e, "a batch");
            return NULL;
        }
        b->e = e;
        b->cap = cap;
    }
    return &b->e[b->n++];
}

/* Puts n_tok tokens of q into the step. */
static int schedule_seq(struct scheduler *s, struct batch *b, struct sched_seq *q, uint32_t n_tok, struct error *err)
{
    struct batch_entry *e = batch_add(b, err);
    if (!e)
        return -1;
    const uint32_t target = q->n_known + q->n_placeholder, end = q->n_computed + n_tok;
    *e = (struct batch_entry){ .seq = q, .n_past = q->n_computed, .n_tok = n_tok, .samples = end >= target };
    e->n_draft = e->samples ? end - target : 0;
    e->prompt = n_tok > 1 + e->n_draft;
    b->n_tok += n_tok;
    q->n_computed = end;
    q->n_flight++;
    q->n_draft = 0;
    if (e->samples && s->p.async_scheduling) {
        q->n_placeholder += 1 + e->n_draft;
        q->n_draft = s->p.num_speculative_tokens;
    }
    return 0;
}

/* Takes the step's tokens of a victim out of the batch; how many. */
static uint32_t unschedule(struct batch *b, const struct sched_seq *q)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->e[i].seq == q) {
            const uint32_t n_tok = b->e[i].n_tok;
            if (b->e[i].samples)
                b->e[i].seq->n_placeholder -= b->e[i].seq->n_placeholder > 0 ? 1 + b->e[i].n_draft : 0;
            b->e[i].seq->n_flight--;
            b->n_tok -= n_tok;
            memmove(&b->e[i], &b->e[i + 1], (b->n - i - 1) * sizeof *b->e);
            b->n--;
            return n_tok;
        }
    return 0;
}

static size_t victim(const struct scheduler *s)
{
    size_t v = s->n_running - 1;
    for (size_t i = 0; s->p.priority && i < s->n_running; i++)
        if (before(s->running[v], s->running[i]))
            v = i;
    return v;
}

static void remove_running(struct scheduler *s, size_t i)
{
    memmove(&s->running[i], &s->running[i + 1], (s->n_running - i - 1) * sizeof *s->running);
    s->n_running--;
}

/* Recomputation: the blocks are free, what they hold can be found until they are taken. */
static void preempt(struct scheduler *s, size_t i)
{
    struct sched_seq *q = s->running[i];
    remove_running(s, i);
    release_all(s, q);
    q->n_computed = q->n_draft = 0;
    q->n_preempt++;
    s->n_preempt++;
    q->state = SEQ_PREEMPTED;
    if (s->p.priority)
        queue_by_priority(s, q);
    else
        queue_insert(s, q, s->first);
}

/* Its last token is in a step not applied: there is nothing to compute for it. */
static bool ends_in_flight(const struct sched_seq *q)
{
    return q->n_placeholder > 0 && q->n_computed + 2 - q->n_placeholder >= q->n_in + q->n_max;
}

static uint32_t needed_tokens(const struct scheduler *s, const struct sched_seq *q, uint32_t budget)
{
    if (ends_in_flight(q))
        return 0;
    uint32_t n = q->n_known + q->n_draft + q->n_placeholder - q->n_computed;
    if (s->p.long_prefill_token_threshold > 0)
        n = least(n, s->p.long_prefill_token_threshold);
    n = least(n, budget);
    return least(n, s->p.max_model_len - 1 - least(q->n_computed, s->p.max_model_len - 1));
}

static int form_running(struct scheduler *s, struct batch *b, uint32_t *budget, bool *preempted, struct error *err)
{
    for (size_t i = 0; i < s->n_running && *budget > 0; ) {
        struct sched_seq *q = s->running[i];
        const uint32_t n_tok = needed_tokens(s, q, *budget);
        if (n_tok == 0) {
            i++;
            continue;
        }
        drop_outside(s, q);
        const uint64_t end = (uint64_t)q->n_computed + n_tok + s->p.look_ahead;
        while (q->state == SEQ_RUNNING && missing_blocks(s, q, end) > s->pool.n_free) {
            const size_t v = victim(s);
            struct sched_seq *out = s->running[v];
            *budget += unschedule(b, out);
            preempt(s, v);
            *preempted = true;
            i -= v < i;
        }
        if (q->state != SEQ_RUNNING)
            break;
        if (take_blocks(s, q, end, err) != 0)
            return -1;
        hash_blocks(s, q, q->n_computed + n_tok);
        if (schedule_seq(s, b, q, n_tok, err) != 0)
            return -1;
        *budget -= n_tok;
        i++;
    }
    return 0;
}

/* Blocks that q takes out of the free queue when it starts with n_tok tokens after a hit; whole: as if with all its tokens. */
static uint64_t admission_blocks(const struct scheduler *s, const struct sched_seq *q, uint32_t hit, uint64_t n_position)
{
    uint64_t n = hit_blocks_free(s, q, hit);
    for (uint32_t i = 0; i < s->p.n_group; i++) {
        const uint32_t all = most_blocks(&s->p, s->p.window[i], n_position), held = needed_before(&s->p, s->p.window[i], hit);
        n += all > held ? all - held : 0;
    }
    return n;
}

static bool fits(const struct scheduler *s, const struct sched_seq *q, uint32_t hit, uint32_t n_tok)
{
    const uint32_t kept = s->n_running > 0 ? s->n_reserve : 0;
    const uint64_t n_hit = (uint64_t)hit * s->p.block_size;
    if (s->p.scheduler_reserve_full_isl && admission_blocks(s, q, hit, q->n_known) + kept > s->pool.n_free)
        return false;
    uint64_t n = hit_blocks_free(s, q, hit);
    n += s->p.n_group * (uint64_t)(blocks_of(&s->p, n_hit + n_tok + s->p.look_ahead) - hit);
    return n + kept <= s->pool.n_free;
}

static void note_admission(struct scheduler *s, struct sched_seq *q, uint32_t n_hit)
{
    if (!q->admitted) {
        q->n_hit = n_hit;
        s->n_query_tok += q->n_known;
        s->n_hit_tok += n_hit;
    }
    q->admitted = true;
}

static int admit(struct scheduler *s, struct sched_seq *q, uint32_t hit, struct error *err)
{
    if (s->n_running == s->cap_running) {
        const size_t cap = s->cap_running > 0 ? 2 * s->cap_running : 64;
        struct sched_seq **running = realloc(s->running, cap * sizeof *running);
        if (!running)
            return error_oom(err, cap * sizeof *running, "the running sequences");
        s->running = running;
        s->cap_running = cap;
    }
    scheduler_unqueue(s, q);
    s->running[s->n_running++] = q;
    q->state = SEQ_RUNNING;
    if (q->loaded) {
        q->loaded = false;
        return 0;
    }
    q->n_computed = hit * s->p.block_size;
    note_admission(s, q, q->n_computed);
    return share_hit(s, q, hit, err);
}

static int batch_add_load(struct batch *b, struct sched_seq *q, uint32_t n_tok, struct error *err)
{
    if (b->n_load == b->cap_load) {
        const size_t cap = b->cap_load > 0 ? 2 * b->cap_load : 16;
        struct batch_load *load = realloc(b->load, cap * sizeof *load);
        if (!load)
            return error_oom(err, cap * sizeof *load, "a batch");
        b->load = load;
        b->cap_load = cap;
    }
    b->load[b->n_load++] = (struct batch_load){ q, n_tok };
    return 0;
}

/* The first waiting sequence gets blocks for all its tokens, so that it can run when what is loaded is there, and leaves the queue until then.
 * *begun: there was room. */
static int begin_load(struct scheduler *s, struct batch *b, uint32_t hit, uint32_t n_remote, bool *begun, struct error *err)
{
    struct sched_seq *q = s->first;
    const uint32_t end = hit * s->p.block_size + n_remote;
    *begun = fits(s, q, hit, q->n_known - hit * s->p.block_size);
    if (!*begun)
        return 0;
    scheduler_unqueue(s, q);
    q->state = SEQ_LOADING;
    q->next = s->loading;
    s->loading = q;
    s->n_loading++;
    note_admission(s, q, hit * s->p.block_size);
    q->n_computed = end;
    q->n_remote = 0;
    s->n_loaded_tok += n_remote;
    if (share_hit(s, q, hit, err) != 0 || take_blocks(s, q, (uint64_t)q->n_known + s->p.look_ahead, err) != 0)
        return -1;
    return batch_add_load(b, q, n_remote, err);
}

static void unload(struct scheduler *s, struct sched_seq *q)
{
    struct sched_seq **at = &s->loading;
    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    q->next = NULL;
    s->n_loading--;
}

void scheduler_loaded(struct scheduler *s, struct sched_seq *q)
{
    unload(s, q);
    q->state = SEQ_WAITING;
    q->loaded = true;
    hash_blocks(s, q, q->n_computed);
    if (s->p.priority)
        queue_by_priority(s, q);
    else
        queue_insert(s, q, s->first);
}

/* Tokens of the first waiting sequence in a step of at most `budget`; 0: it does not start. */
static uint32_t startable(const struct scheduler *s, const struct sched_seq *q, uint32_t hit, uint32_t budget)
{
    uint32_t n_tok = q->n_known - (q->loaded ? q->n_computed : hit * s->p.block_size);
    if (s->p.long_prefill_token_threshold > 0)
        n_tok = least(n_tok, s->p.long_prefill_token_threshold);
    if (!s->p.enable_chunked_prefill && n_tok > budget)
        return 0;
    n_tok = least(n_tok, budget);
    if (q->loaded)
        return missing_blocks(s, q, (uint64_t)q->n_computed + n_tok + s->p.look_ahead) <= s->pool.n_free ? n_tok : 0;
    return fits(s, q, hit, n_tok) ? n_tok : 0;
}

/* Sequences that hold loaded blocks go before one that waits for blocks, or both would wait for ever. False: there is none. */
static bool prefer_loaded(struct scheduler *s)
{
    struct sched_seq *q = s->first;
    if (q->loaded)
        return false;
    while (q && !q->loaded)
        q = q->next;
    if (!q)
        return false;
    scheduler_unqueue(s, q);
    queue_insert(s, q, s->first);
    return true;
}

static int form_waiting(struct scheduler *s, struct batch *b, uint32_t *budget, struct error *err)
{
    if (s->p.batch_until_empty && s->n_running > 0)
        return 0;
    while (s->first && *budget > 0 && s->n_running < s->p.max_num_seqs) {
        struct sched_seq *q = s->first;
        const uint32_t hit = q->loaded ? 0 : prefix_hit(s, q), n_remote = q->loaded ? 0 : remote_tokens(s, q, hit);
        if (n_remote > 0) {
            bool begun;
            if (begin_load(s, b, hit, n_remote, &begun, err) != 0)
                return -1;
            if (!begun && !prefer_loaded(s))
                break;
            continue;
        }
        const uint32_t n_tok = startable(s, q, hit, *budget);
        if (n_tok == 0 && prefer_loaded(s))
            continue;
        if (n_tok == 0)
            break;
        if (admit(s, q, hit, err) != 0 || take_blocks(s, q, (uint64_t)q->n_computed + n_tok + s->p.look_ahead, err) != 0)
            return -1;
        hash_blocks(s, q, q->n_computed + n_tok);
        if (schedule_seq(s, b, q, n_tok, err) != 0)
            return -1;
        *budget -= n_tok;
    }
    return 0;
}

int scheduler_form(struct scheduler *s, struct batch *b, struct error *err)
{
    uint32_t budget = s->p.max_num_batched_tokens;
    bool preempted = false;
    b->n = b->n_load = 0;
    b->n_tok = 0;
    if (s->slot)
        return slots_form(s, b, err);
    if (form_running(s, b, &budget, &preempted, err) != 0)
        return -1;
    s->again = preempted && b->n == 0;
    if (!preempted && form_waiting(s, b, &budget, err) != 0)
        return -1;
    s->n_formed += b->n > 0;
    return 0;
}

/* ---- what came of a step --------------------------------------------------------------------------------------------- */

static void finish(struct scheduler *s, struct sched_seq *q)
{
    if (q->state == SEQ_RUNNING) {
        size_t i = 0;
        while (s->running[i] != q)
            i++;
        remove_running(s, i);
        release_all(s, q);
    } else {
        (q->state == SEQ_LOADING ? unload : scheduler_unqueue)(s, q);
        release_all(s, q);
    }
    q->state = SEQ_DONE;
}

static void apply(struct scheduler *s, const struct batch_entry *e)
{
    struct sched_seq *q = e->seq;
    q->n_flight--;
    if (q->state == SEQ_DONE || !e->samples)
        return;
    if (s->p.async_scheduling)
        q->n_placeholder -= 1 + e->n_draft;
    if (q->state == SEQ_RUNNING)
        q->n_computed -= e->n_draft + 1 - e->n_new;
    q->n_known += e->n_new;
    if (e->stop || q->n_known >= q->n_in + q->n_max) {
        q->n_known = least(q->n_known, q->n_in + q->n_max);
        finish(s, q);
        return;
    }
    if (q->state == SEQ_RUNNING) {
        hash_blocks(s, q, q->n_computed);
        if (!s->p.async_scheduling)
            q->n_draft = s->p.num_speculative_tokens;
    }
}

void scheduler_apply(struct scheduler *s, const struct batch *b)
{
    if (s->slot) {
        slots_apply(s, b);
        return;
    }
    for (size_t i = 0; i < b->n; i++)
        apply(s, &b->e[i]);
}

void scheduler_abort(struct scheduler *s, struct sched_seq *q)
{
    if (s->slot)
        slots_abort(s, q);
    else if (q->state != SEQ_DONE)
        finish(s, q);
}

/* ---- life ------------------------------------------------------------------------------------------------------ */

int scheduler_init(struct scheduler *s, const struct policy *p, uint32_t n_block, struct error *err)
{
    *s = (struct scheduler){ .p = *p, .n_reserve = (uint32_t)(p->watermark * n_block) };
    if (policy_check(p, err) != 0)
        return -1;
    if (p->kind == POLICY_LLAMA_SERVER)
        return block_pool_init(&s->pool, n_block, false, err) == 0 ? slots_init(s, err) : -1;
    if (p->n_host_block > 0 && block_pool_init(&s->host, p->n_host_block, true, err) != 0)
        return -1;
    return block_pool_init(&s->pool, n_block, p->enable_prefix_caching, err);
}

void scheduler_drop(struct sched_seq *q)
{
    for (int i = 0; i < POLICY_MAX_GROUPS; i++)
        free(q->group[i].block);
    free(q->hash);
    free(q);
}

void scheduler_forget(struct batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (--b->e[i].seq->n_flight == 0 && b->e[i].seq->state == SEQ_DONE)
            scheduler_drop(b->e[i].seq);
    b->n = 0;
}

void scheduler_free(struct scheduler *s)
{
    for (size_t i = 0; !s->slot && i < s->n_running; i++)
        scheduler_drop(s->running[i]);
    for (struct sched_seq *q = s->first, *next; q; q = next) {
        next = q->next;
        scheduler_drop(q);
    }
    for (struct sched_seq *q = s->loading, *next; q; q = next) {
        next = q->next;
        scheduler_drop(q);
    }
    free(s->running);
    block_pool_free(&s->host);
    slots_free(s);
    block_pool_free(&s->pool);
    *s = (struct scheduler){ 0 };
}

struct sched_seq *scheduler_add(struct scheduler *s, const struct serve_workload *w, uint32_t i, struct error *err)
{
    const struct serve_request *r = &w->r[i];
    struct sched_seq *q = calloc(1, sizeof *q);
    if (!q) {
        (void)error_oom(err, sizeof *q, "a request");
        return NULL;
    }
    *q = (struct sched_seq){ .request = i, .n_in = r->n_in, .n_known = r->n_in, .priority = r->priority, .order = s->n_order++ };
    q->n_max = r->end == SERVE_END_LENGTH ? r->n_out : s->p.max_model_len - r->n_in;
    const uint32_t unit = s->slot ? w->run_tokens : s->p.block_size; /* slots compare prompts identity by identity */
    if ((s->pool.identity || s->slot) && r->n_run > 0 && !(q->hash = block_hashes(w, r, unit, &q->n_hash, err)) && q->n_hash > 0) {
        free(q);
        return NULL;
    }
    q->n_unit = unit;
    if (s->p.priority)
        queue_by_priority(s, q);
    else
        queue_insert(s, q, NULL);
    return q;
}

void scheduler_set_remote(struct sched_seq *q, uint32_t n_remote)
{
    q->n_remote = n_remote;
}

uint32_t scheduler_used_blocks(const struct scheduler *s)
{
    return s->pool.n - s->pool.n_free;
}

const char *scheduler_broken(const struct scheduler *s)
{
    const char *what = block_pool_broken(&s->pool);
    uint64_t held = 0;
    if (s->slot)
        return what;
    for (size_t i = 0; i < s->n_running; i++)
        for (uint32_t g = 0; g < s->p.n_group; g++)
            held += s->running[i]->group[g].n - s->running[i]->group[g].n_dropped;
    for (const struct sched_seq *q = s->loading; q; q = q->next)
        for (uint32_t g = 0; g < s->p.n_group; g++)
            held += q->group[g].n - q->group[g].n_dropped;
    for (const struct sched_seq *q = s->first; q && !what; q = q->next)
        for (uint32_t g = 0; g < s->p.n_group; g++) {
            held += q->loaded ? q->group[g].n - q->group[g].n_dropped : 0;
            if (q->group[g].n > 0 && !q->loaded)
                what = "a waiting sequence holds blocks";
        }
    if (!what && !s->pool.identity && held != scheduler_used_blocks(s))
        what = "blocks in use and blocks of running sequences differ";
    if (!what && held < scheduler_used_blocks(s))
        what = "a block in use belongs to no sequence";
    return what;
}
