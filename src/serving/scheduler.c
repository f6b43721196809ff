/*
 * Continuous batching in plain code: what a step costs here grows with the sequences that run. fast.c jumps over steps that are alike and
 * is tested against this file.
 */
#include "serving/sequence.h"
#include <stdlib.h>
#include <string.h>

void batch_free(struct batch *b)
{
    free(b->e);
    free(b->load);
    *b = (struct batch){ 0 };
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

/* ---- a step ----------------------------------------------------------------------------------------------------- */

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
    seq_release_all(s, q);
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
        n = u32_min(n, s->p.long_prefill_token_threshold);
    n = u32_min(n, budget);
    return u32_min(n, s->p.max_model_len - 1 - u32_min(q->n_computed, s->p.max_model_len - 1));
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
        seq_drop_outside(s, q);
        const uint64_t end = (uint64_t)q->n_computed + n_tok + s->p.look_ahead;
        while (q->state == SEQ_RUNNING && seq_missing_blocks(s, q, end) > s->pool.n_free) {
            const size_t v = victim(s);
            struct sched_seq *out = s->running[v];
            *budget += unschedule(b, out);
            preempt(s, v);
            *preempted = true;
            i -= v < i;
        }
        if (q->state != SEQ_RUNNING)
            break;
        if (seq_take_blocks(s, q, end, err) != 0)
            return -1;
        seq_hash_blocks(s, q, q->n_computed + n_tok);
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
    uint64_t n = seq_hit_blocks_free(s, q, hit);
    for (uint32_t i = 0; i < s->p.n_group; i++) {
        const uint32_t all = seq_most_blocks(&s->p, s->p.window[i], n_position), held = seq_needed_before(&s->p, s->p.window[i], hit);
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
    uint64_t n = seq_hit_blocks_free(s, q, hit);
    n += s->p.n_group * (uint64_t)(seq_blocks_of(&s->p, n_hit + n_tok + s->p.look_ahead) - hit);
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
    return seq_share_hit(s, q, hit, err);
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
    if (seq_share_hit(s, q, hit, err) != 0 || seq_take_blocks(s, q, (uint64_t)q->n_known + s->p.look_ahead, err) != 0)
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
    seq_hash_blocks(s, q, q->n_computed);
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
        n_tok = u32_min(n_tok, s->p.long_prefill_token_threshold);
    if (!s->p.enable_chunked_prefill && n_tok > budget)
        return 0;
    n_tok = u32_min(n_tok, budget);
    if (q->loaded)
        return seq_missing_blocks(s, q, (uint64_t)q->n_computed + n_tok + s->p.look_ahead) <= s->pool.n_free ? n_tok : 0;
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
        const uint32_t hit = q->loaded ? 0 : seq_prefix_hit(s, q), n_remote = q->loaded ? 0 : seq_remote_tokens(s, q, hit);
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
        if (admit(s, q, hit, err) != 0 || seq_take_blocks(s, q, (uint64_t)q->n_computed + n_tok + s->p.look_ahead, err) != 0)
            return -1;
        seq_hash_blocks(s, q, q->n_computed + n_tok);
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
        seq_release_all(s, q);
    } else {
        (q->state == SEQ_LOADING ? unload : scheduler_unqueue)(s, q);
        seq_release_all(s, q);
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
        q->n_known = u32_min(q->n_known, q->n_in + q->n_max);
        finish(s, q);
        return;
    }
    if (q->state == SEQ_RUNNING) {
        seq_hash_blocks(s, q, q->n_computed);
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

static int init(struct scheduler *s, const struct policy *p, uint32_t n_block, bool addressed, struct error *err)
{
    *s = (struct scheduler){ .p = *p, .n_reserve = (uint32_t)(p->watermark * n_block) };
    if (policy_check(p, err) != 0)
        return -1;
    if (p->kind == POLICY_LLAMA_SERVER)
        return block_pool_init(&s->pool, n_block, false, err) == 0 ? slots_init(s, err) : -1;
    if (p->n_host_block > 0 && block_pool_init(&s->host, p->n_host_block, true, err) != 0)
        return -1;
    return block_pool_init(&s->pool, n_block, p->enable_prefix_caching || addressed, err);
}

int scheduler_init(struct scheduler *s, const struct policy *p, uint32_t n_block, struct error *err)
{
    return init(s, p, n_block, false, err);
}

int scheduler_init_addressed(struct scheduler *s, const struct policy *p, uint32_t n_block, struct error *err)
{
    return init(s, p, n_block, true, err);
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

static struct sched_seq *add(struct scheduler *s, const struct sched_request *r, uint32_t unit, struct error *err)
{
    struct sched_seq *q = calloc(1, sizeof *q);
    if (!q) {
        free(r->hash);
        (void)error_oom(err, sizeof *q, "a request");
        return NULL;
    }
    *q = (struct sched_seq){ .request = r->number, .n_in = r->n_in, .n_known = r->n_in, .n_max = r->n_max, .priority = r->priority,
                             .order = s->n_order++, .hash = r->hash, .n_hash = r->n_hash, .n_unit = unit };
    if (s->p.priority)
        queue_by_priority(s, q);
    else
        queue_insert(s, q, NULL);
    return q;
}

struct sched_seq *scheduler_add_request(struct scheduler *s, const struct sched_request *r, struct error *err)
{
    return add(s, r, s->slot ? 1 : s->p.block_size, err);
}

/* Slots compare prompts identity by identity. */
static uint32_t hash_unit(const struct scheduler *s, const struct serve_workload *w)
{
    return s->slot ? w->run_tokens : s->p.block_size;
}

uint64_t *scheduler_hashes(const struct scheduler *s, const struct serve_workload *w, uint32_t i, uint32_t *n, struct error *err)
{
    *n = 0;
    return (s->pool.identity || s->slot) && w->r[i].n_run > 0 ? block_hashes(w, &w->r[i], hash_unit(s, w), n, err) : NULL;
}

struct sched_seq *scheduler_add_hashed(struct scheduler *s, const struct serve_workload *w, uint32_t i, uint64_t *hash, uint32_t n_hash, struct error *err)
{
    const struct serve_request *r = &w->r[i];
    const struct sched_request x = { .number = i, .n_in = r->n_in, .n_max = r->end == SERVE_END_LENGTH ? r->n_out : s->p.max_model_len - r->n_in,
                                     .priority = r->priority, .hash = hash, .n_hash = n_hash };
    return add(s, &x, hash_unit(s, w), err);
}

struct sched_seq *scheduler_add(struct scheduler *s, const struct serve_workload *w, uint32_t i, struct error *err)
{
    uint32_t n_hash;
    uint64_t *hash = scheduler_hashes(s, w, i, &n_hash, err);
    return !hash && n_hash > 0 ? NULL : scheduler_add_hashed(s, w, i, hash, n_hash, err);
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
