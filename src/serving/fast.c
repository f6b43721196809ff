/*
 * Simulation by jumps. Sequences that decode, have a token in every step and are not about to end are "steady": they change alike from step
 * to step, so that a step costs the same however many they are, and n steps in which nothing else happens are one closed form. All other
 * sequences are "irregular" and handled one by one, as in scheduler.c. Where a budget or the blocks do not suffice, all become irregular for
 * a step. Equal to simulate.c, picosecond by picosecond.
 *
 * Of a steady sequence, tokens known and computed are stored less the number of steps applied and formed so far, its end as the number of
 * applied steps at which it leaves. Its blocks with an identity lie in a common stash until it leaves: which of them it gets does not matter,
 * for none of them has a hash.
 */
#include "serving/arrivals.h"
#include "serving/blocks.h"
#include "serving/internal.h"
#include "serving/scheduler.h"
#include <stdlib.h>
#include <string.h>

/* The older and the newer step in flight sample a token of the sequence; its newest token came with the step applied last; it has one. */
enum { OLDER = 1, NEWER = 2, FRESH = 4, STARTED = 8 };
enum { MOST_FLIGHT = 2, NO_SEQ = UINT32_MAX };

/* Blocks with an identity. */
struct held {
    uint32_t *block, n, cap, n_hashed, n_hash;
    uint64_t *hash;
};

struct seq {
    uint64_t known, computed; /* tokens; of a steady one, modulo 2^64, less x->n_applied and x->n_formed */
    uint64_t last_ps;         /* of its newest token, where it is not FRESH */
    uint64_t order;           /* of admission */
    uint32_t request, last, stop; /* last: tokens at which it must end; stop: at which it does */
    uint32_t prev, next;      /* running, in order of admission */
    uint8_t flag;
    bool steady;
};

struct waiting {
    uint32_t request, known, flag;
    uint64_t last_ps;
    struct held held; /* hashes alone */
};

/* When a steady sequence leaves. */
struct leave {
    uint64_t n_applied;
    uint32_t seq;
};

struct fast {
    const struct serve_workload *w;
    const struct serve_options *o;
    const struct policy *p;
    struct serve_result *r;
    struct arrivals arrivals;
    struct block_pool pool;
    uint32_t n_reserve;
    /* running */
    struct seq *seq;         /* [cap] */
    struct held *held;       /* [cap] with identities */
    uint32_t *spare, n_spare; /* unused ones */
    uint32_t first_seq, last_seq, n, cap;
    uint64_t n_order;
    uint32_t *irregular, n_irregular; /* in order of admission */
    struct leave *heap;      /* of the steady ones, the first to leave on top */
    uint32_t n_steady;
    uint64_t sum_computed;   /* of the steady ones */
    uint32_t *residue;       /* [block_size]: steady ones by (computed - n_formed) mod block_size */
    uint64_t n_formed, n_applied;
    struct held stash;       /* blocks of the steady ones */
    uint32_t *hit;           /* [n_block]: blocks that a waiting request found */
    /* waiting: a ring, of which the first n_flown may have a token in flight */
    struct waiting *ring;
    size_t n_waiting, first, ring_cap, n_flown;
    uint64_t flight_ps[MOST_FLIGHT]; /* ends of the steps in flight */
    size_t n_flight;
    uint64_t now_ps, device_ps, applied_ps; /* now; the device's last end; the newest apply */
};

bool serve_can_jump(const struct serve_options *o, char *why, size_t size)
{
    const struct policy *p = o->policy;
    const char *text = o->n_replica > 1                ? "several replicas"
                       : p->kind != POLICY_VLLM        ? "the policy's batches are not vLLM's"
                       : p->num_speculative_tokens > 0 ? "speculation: steps yield different numbers of tokens"
                       : p->n_host_block > 0           ? "KV blocks in host memory"
                       : p->priority                   ? "priorities"
                       : p->n_group > 1 || p->window[0] > 0 ? "windows of attention"
                                                            : NULL;
    snprintf(why, size, "%s", text ? text : "");
    return !text;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t blocks_of(const struct fast *x, uint64_t n_position)
{
    return (uint32_t)((n_position + x->p->block_size - 1) / x->p->block_size);
}

/* ---- waiting ------------------------------------------------------------------------------------------------------- */

static struct waiting *waiting_at(struct fast *x, size_t i)
{
    return &x->ring[(x->first + i) & (x->ring_cap - 1)];
}

static int waiting_room(struct fast *x, struct error *err)
{
    if (x->n_waiting < x->ring_cap)
        return 0;
    const size_t cap = 2 * x->ring_cap;
    struct waiting *ring = malloc(cap * sizeof *ring);
    if (!ring)
        return error_oom(err, cap * sizeof *ring, "the waiting requests");
    for (size_t i = 0; i < x->n_waiting; i++)
        ring[i] = *waiting_at(x, i);
    free(x->ring);
    x->ring = ring;
    x->ring_cap = cap;
    x->first = 0;
    return 0;
}

static int push_front(struct fast *x, const struct waiting *q, struct error *err)
{
    if (waiting_room(x, err) != 0)
        return -1;
    x->first = (x->first + x->ring_cap - 1) & (x->ring_cap - 1);
    x->n_waiting++;
    x->n_flown++;
    *waiting_at(x, 0) = *q;
    return 0;
}

static void pop_front(struct fast *x)
{
    x->first = (x->first + 1) & (x->ring_cap - 1);
    x->n_waiting--;
    x->n_flown -= x->n_flown > 0;
}

static void remove_waiting(struct fast *x, size_t i)
{
    for (; i > 0; i--)
        *waiting_at(x, i) = *waiting_at(x, i - 1);
    pop_front(x);
}

static int take_arrivals(struct fast *x, struct error *err)
{
    struct due due;
    uint64_t sent_ps;
    while (arrivals_take(&x->arrivals, x->now_ps, &due, &sent_ps)) {
        const struct serve_request *r = &x->w->r[due.request];
        x->r->out[due.request].due_ps = due.ps;
        x->r->out[due.request].sent_ps = sent_ps;
        if (waiting_room(x, err) != 0)
            return -1;
        struct waiting q = { .request = due.request, .known = r->n_in };
        if (x->pool.identity && r->n_run > 0 && !(q.held.hash = block_hashes(x->w, r, x->p->block_size, &q.held.n_hash, err)) &&
            q.held.n_hash > 0)
            return -1;
        x->n_waiting++;
        *waiting_at(x, x->n_waiting - 1) = q;
    }
    return 0;
}

/* ---- blocks --------------------------------------------------------------------------------------------------------- */

static bool reserve(struct held *h, uint32_t n, struct error *err)
{
    if (n <= h->cap)
        return true;
    const uint32_t cap = n > 2 * h->cap ? n : 2 * h->cap;
    uint32_t *block = realloc(h->block, cap * sizeof *block);
    if (!block)
        return error_oom(err, cap * sizeof *block, "the blocks of a sequence") == 0;
    h->block = block;
    h->cap = cap;
    return true;
}

static int take_blocks(struct fast *x, struct held *h, uint32_t n, struct error *err)
{
    if (!x->pool.identity) {
        block_pool_take(&x->pool, n, NULL);
        return 0;
    }
    if (n == 0)
        return 0; /* there may be no array yet */
    if (!reserve(h, h->n + n, err))
        return -1;
    block_pool_take(&x->pool, n, h->block + h->n);
    h->n += n;
    return 0;
}

static void hash_blocks(struct fast *x, struct held *h, uint64_t known, uint64_t computed)
{
    const uint32_t full = (uint32_t)u64_min(u64_min(known, computed) / x->p->block_size, h->n_hash);
    for (; h->n_hashed < full; h->n_hashed++)
        block_pool_hash(&x->pool, h->block[h->n_hashed], h->hash[h->n_hashed]);
}

/* All blocks of computed positions, last to first. */
static void release(struct fast *x, struct held *h, uint64_t computed)
{
    if (!x->pool.identity) {
        block_pool_release(&x->pool, blocks_of(x, computed), NULL);
        return;
    }
    block_pool_release(&x->pool, h->n, h->block);
    free(h->block);
    h->block = NULL;
    h->n = h->cap = h->n_hashed = 0;
}

/* Blocks of q's prefix that are cached, in x->hit; *n_free of them lie in the free queue. */
static uint32_t prefix_hit(struct fast *x, const struct waiting *q, uint32_t *n_free)
{
    const uint32_t most = least(q->held.n_hash, (q->known - 1) / x->p->block_size);
    uint32_t n = 0, b;
    *n_free = 0;
    for (; n < most && (b = block_pool_find(&x->pool, q->held.hash[n])) != BLOCK_NONE; n++) {
        x->hit[n] = b;
        *n_free += block_pool_is_free(&x->pool, b);
    }
    return n;
}

/* ---- running ------------------------------------------------------------------------------------------------------------ */

static struct held *held_of(struct fast *x, uint32_t i)
{
    return x->pool.identity ? &x->held[i] : NULL;
}

static void list_remove(struct fast *x, uint32_t i)
{
    const uint32_t prev = x->seq[i].prev, next = x->seq[i].next;
    if (prev != NO_SEQ)
        x->seq[prev].next = next;
    else
        x->first_seq = next;
    if (next != NO_SEQ)
        x->seq[next].prev = prev;
    else
        x->last_seq = prev;
    x->spare[x->n_spare++] = i;
    x->n--;
}

static uint32_t list_append(struct fast *x)
{
    const uint32_t i = x->spare[--x->n_spare];
    x->seq[i] = (struct seq){ .prev = x->last_seq, .next = NO_SEQ, .order = x->n_order++ };
    if (x->last_seq != NO_SEQ)
        x->seq[x->last_seq].next = i;
    else
        x->first_seq = i;
    x->last_seq = i;
    x->n++;
    return i;
}

static void irregular_insert(struct fast *x, uint32_t i)
{
    uint32_t k = x->n_irregular++;
    for (; k > 0 && x->seq[x->irregular[k - 1]].order > x->seq[i].order; k--)
        x->irregular[k] = x->irregular[k - 1];
    x->irregular[k] = i;
}

/* ---- steady ones ---------------------------------------------------------------------------------------------------------- */

static void heap_push(struct fast *x, struct leave l)
{
    uint32_t i = x->n_steady++;
    for (; i > 0 && l.n_applied < x->heap[(i - 1) / 2].n_applied; i = (i - 1) / 2)
        x->heap[i] = x->heap[(i - 1) / 2];
    x->heap[i] = l;
}

static uint32_t heap_pop(struct fast *x)
{
    const uint32_t seq = x->heap[0].seq;
    const struct leave l = x->heap[--x->n_steady];
    uint32_t i = 0;
    for (uint32_t k; (k = 2 * i + 1) < x->n_steady; i = k) {
        k += k + 1 < x->n_steady && x->heap[k + 1].n_applied < x->heap[k].n_applied;
        if (x->heap[k].n_applied >= l.n_applied)
            break;
        x->heap[i] = x->heap[k];
    }
    x->heap[i] = l;
    return seq;
}

/* The class of a sequence by when it needs its next block. */
static uint32_t *residue_of(struct fast *x, uint64_t computed)
{
    const uint32_t bs = x->p->block_size;
    return &x->residue[(computed % bs + bs - x->n_formed % bs) % bs];
}

/* Steady ones whose next token begins a block, in a step formed so many steps from now. */
static uint32_t crossing(const struct fast *x, uint64_t steps)
{
    const uint32_t bs = x->p->block_size, at = (uint32_t)((x->n_formed + steps) % bs);
    return x->residue[at == 0 ? 0 : bs - at];
}

/* Tokens known with which a sequence is irregular again: before its last one, and before it fills a block that can be found. */
static uint64_t steady_until(const struct fast *x, const struct seq *q, const struct held *h)
{
    const uint64_t end = q->stop - 1;
    return h && h->n_hashed < h->n_hash ? u64_min(end, (h->n_hashed + UINT64_C(1)) * x->p->block_size - 1) : end;
}

static void join(struct fast *x, uint32_t i)
{
    struct seq *q = &x->seq[i];
    heap_push(x, (struct leave){ x->n_applied + (steady_until(x, q, held_of(x, i)) - q->known), i });
    ++*residue_of(x, q->computed);
    x->sum_computed += q->computed;
    q->known -= x->n_applied;
    q->computed -= x->n_formed;
    q->steady = true;
}

static int make_irregular(struct fast *x, uint32_t i, struct error *err)
{
    struct seq *q = &x->seq[i];
    q->steady = false;
    q->known += x->n_applied;
    q->computed += x->n_formed;
    q->flag = (uint8_t)(FRESH | STARTED | (x->n_flight > 0 ? OLDER : 0));
    --*residue_of(x, q->computed);
    x->sum_computed -= q->computed;
    if (!x->pool.identity)
        return 0;
    struct held *h = &x->held[i];
    const uint32_t more = blocks_of(x, q->computed) - h->n;
    if (more == 0)
        return 0;
    if (!reserve(h, h->n + more, err))
        return -1;
    x->stash.n -= more;
    memcpy(h->block + h->n, x->stash.block + x->stash.n, more * sizeof *h->block);
    h->n += more;
    return 0;
}

static int all_irregular(struct fast *x, struct error *err)
{
    if (x->n_steady == 0)
        return 0;
    x->n_irregular = 0;
    for (uint32_t i = x->first_seq; i != NO_SEQ; i = x->seq[i].next) {
        x->irregular[x->n_irregular++] = i;
        if (x->seq[i].steady && make_irregular(x, i, err) != 0)
            return -1;
    }
    x->n_steady = 0;
    return 0;
}

/* Those about to end. */
static int let_leave(struct fast *x, struct error *err)
{
    while (x->n_steady > 0 && x->heap[0].n_applied <= x->n_applied) {
        const uint32_t i = heap_pop(x);
        if (make_irregular(x, i, err) != 0)
            return -1;
        irregular_insert(x, i);
    }
    return 0;
}

/* ---- a step -------------------------------------------------------------------------------------------------------------- */

static uint32_t needed_tokens(const struct fast *x, const struct seq *q, uint64_t budget)
{
    const uint64_t placed = q->flag & OLDER, longest = x->p->max_model_len - 1;
    if (placed && q->computed + 1 >= q->last)
        return 0;
    uint64_t n = q->known + placed - q->computed;
    if (x->p->long_prefill_token_threshold > 0)
        n = u64_min(n, x->p->long_prefill_token_threshold);
    return (uint32_t)u64_min(u64_min(n, budget), longest - u64_min(q->computed, longest));
}

static uint32_t new_blocks(const struct fast *x, const struct seq *q, uint32_t n_tok)
{
    return blocks_of(x, q->computed + n_tok) - blocks_of(x, q->computed);
}

/* Puts n_tok tokens of an irregular sequence into the step. */
static int schedule(struct fast *x, uint32_t i, uint32_t n_tok, struct step_load *load, struct error *err)
{
    struct seq *q = &x->seq[i];
    struct held *h = held_of(x, i);
    if (take_blocks(x, h, new_blocks(x, q, n_tok), err) != 0)
        return -1;
    if (h)
        hash_blocks(x, h, q->known, q->computed + n_tok);
    (n_tok > 1 ? step_load_prompt : step_load_decode)(load, x->o->price, (uint32_t)q->computed, n_tok);
    if (q->computed + n_tok >= q->known + (q->flag & OLDER))
        q->flag |= (uint8_t)(OLDER << x->n_flight);
    q->computed += n_tok;
    return 0;
}

/* Every running sequence gets what it needs, but that the youngest may have to do with less: budget and blocks suffice. */
static bool all_fit(const struct fast *x, uint64_t budget)
{
    uint64_t n_tok = x->n_steady, n_block = x->n_steady > 0 ? crossing(x, 0) : 0;
    for (uint32_t k = 0; k < x->n_irregular; k++) {
        const uint32_t i = x->irregular[k];
        const bool youngest = i == x->last_seq;
        const uint32_t need = needed_tokens(x, &x->seq[i], youngest ? budget - u64_min(n_tok, budget) : UINT64_MAX);
        n_tok += need;
        n_block += need > 0 ? new_blocks(x, &x->seq[i], need) : 0;
    }
    return n_tok <= budget && n_block <= x->pool.n_free;
}

static int form_all(struct fast *x, uint64_t *budget, struct step_load *load, struct error *err)
{
    *budget -= x->n_steady;
    if (x->n_steady > 0) {
        if (take_blocks(x, &x->stash, crossing(x, 0), err) != 0)
            return -1;
        x->sum_computed += x->n_steady;
        load->n_decode = x->n_steady;
        load->context[0] = x->sum_computed;
    }
    x->n_formed++;
    for (uint32_t k = 0; k < x->n_irregular; k++) {
        const uint32_t n_tok = needed_tokens(x, &x->seq[x->irregular[k]], *budget);
        if (n_tok > 0 && schedule(x, x->irregular[k], n_tok, load, err) != 0)
            return -1;
        *budget -= n_tok;
    }
    return 0;
}

static int preempt_last(struct fast *x, struct error *err)
{
    const uint32_t i = x->last_seq;
    struct seq *s = &x->seq[i];
    struct waiting q = { .request = s->request, .known = (uint32_t)s->known, .flag = s->flag & (uint32_t)~FRESH };
    q.last_ps = s->flag & FRESH ? x->applied_ps : s->last_ps;
    struct held *h = held_of(x, i);
    release(x, h, s->computed);
    if (h)
        q.held = *h;
    list_remove(x, i);
    x->n_irregular--; /* the last of them */
    x->r->t.n_preempt++;
    x->r->out[q.request].n_preempt++;
    return push_front(x, &q, err);
}

/* One by one, as in scheduler.c. */
static int form_each(struct fast *x, uint64_t *budget, bool *preempted, struct step_load *load, struct error *err)
{
    if (all_irregular(x, err) != 0)
        return -1;
    x->n_formed++;
    for (uint32_t k = 0; k < x->n_irregular && *budget > 0; k++) {
        const uint32_t i = x->irregular[k], n_tok = needed_tokens(x, &x->seq[i], *budget);
        if (n_tok == 0)
            continue;
        const uint32_t n_block = new_blocks(x, &x->seq[i], n_tok);
        while (k < x->n_irregular && n_block > x->pool.n_free) {
            *preempted = true;
            if (preempt_last(x, err) != 0)
                return -1;
        }
        if (k == x->n_irregular)
            break;
        if (schedule(x, i, n_tok, load, err) != 0)
            return -1;
        *budget -= n_tok;
    }
    return 0;
}

/* The first waiting request can start with at most `budget` tokens: how many; 0: it cannot. */
static uint32_t admissible(struct fast *x, uint64_t budget, uint32_t *hit)
{
    if (x->n_waiting == 0 || budget == 0 || x->n >= x->p->max_num_seqs)
        return 0;
    const struct waiting *q = waiting_at(x, 0);
    uint32_t in_queue;
    *hit = prefix_hit(x, q, &in_queue);
    uint32_t n_tok = q->known - *hit * x->p->block_size;
    if (x->p->long_prefill_token_threshold > 0)
        n_tok = least(n_tok, x->p->long_prefill_token_threshold);
    if (!x->p->enable_chunked_prefill && n_tok > budget)
        return 0;
    n_tok = (uint32_t)u64_min(n_tok, budget);
    const uint32_t kept = x->n > 0 ? x->n_reserve : 0;
    const uint32_t whole = x->p->scheduler_reserve_full_isl ? blocks_of(x, q->known) : 0, part = blocks_of(x, (uint64_t)*hit * x->p->block_size + n_tok);
    const uint64_t blocks = (uint64_t)in_queue + (whole > part ? whole : part) - *hit + kept;
    return blocks <= x->pool.n_free ? n_tok : 0;
}

static int admit(struct fast *x, uint32_t hit, struct error *err)
{
    const struct waiting w = *waiting_at(x, 0);
    const struct serve_request *r = &x->w->r[w.request];
    struct serve_outcome *out = &x->r->out[w.request];
    const uint32_t i = list_append(x);
    struct seq *q = &x->seq[i];
    pop_front(x);
    x->irregular[x->n_irregular++] = i;
    q->request = w.request;
    q->known = w.known;
    q->computed = (uint64_t)hit * x->p->block_size;
    q->last = r->end == SERVE_END_LENGTH ? r->n_in + r->n_out : x->p->max_model_len;
    q->stop = r->n_in + r->n_out;
    q->flag = (uint8_t)w.flag;
    q->last_ps = w.last_ps;
    if (out->start_ps == SERVE_NOT_YET) {
        out->start_ps = x->now_ps;
        out->n_hit = (uint32_t)q->computed;
        x->r->t.n_query_tok += w.known;
        x->r->t.n_hit_tok += out->n_hit;
    }
    if (!x->pool.identity)
        return 0;
    struct held *h = &x->held[i];
    *h = w.held;
    if (!reserve(h, hit + 16, err))
        return -1;
    for (; h->n < hit; h->n++) {
        h->block[h->n] = x->hit[h->n];
        block_pool_share(&x->pool, x->hit[h->n]);
    }
    h->n_hashed = hit;
    return 0;
}

static int form_waiting(struct fast *x, uint64_t *budget, struct step_load *load, struct error *err)
{
    uint32_t hit = 0;
    if (x->p->batch_until_empty && x->n > 0)
        return 0;
    for (uint32_t n_tok; (n_tok = admissible(x, *budget, &hit)) > 0; *budget -= n_tok)
        if (admit(x, hit, err) != 0 || schedule(x, x->last_seq, n_tok, load, err) != 0)
            return -1;
    return 0;
}

static int form(struct fast *x, bool *formed, struct error *err)
{
    struct step_load load = { 0 };
    uint64_t budget = x->p->max_num_batched_tokens;
    bool preempted = false;
    const bool all = all_fit(x, budget);
    if ((all ? form_all(x, &budget, &load, err) : form_each(x, &budget, &preempted, &load, err)) != 0)
        return -1;
    if (!preempted && form_waiting(x, &budget, &load, err) != 0)
        return -1;
    *formed = load.n_decode + load.n_prompt > 0;
    if (!*formed) {
        x->n_formed--;
        return 0;
    }
    struct serve_step step = { .n = 1, .start_ps = u64_max(x->now_ps, x->device_ps), .n_decode = load.n_decode, .n_prompt = load.n_prompt,
                               .n_running = x->n, .n_waiting = (uint32_t)x->n_waiting, .used_blocks = x->pool.n - x->pool.n_free };
    const uint64_t ps = step_price_ps(x->o->price, &load);
    if (serve_check_end(x->w, step.start_ps, ps, err) != 0)
        return -1;
    step.end_ps = x->device_ps = x->flight_ps[x->n_flight] = step.start_ps + ps;
    serve_note_steps(x->r, x->o, &step, step.used_blocks);
    x->n_flight++;
    return 0;
}

/* ---- what came of it --------------------------------------------------------------------------------------------------------- */

static void end_request(struct fast *x, uint32_t request)
{
    x->r->out[request].end_ps = x->now_ps;
    arrivals_end(&x->arrivals, request, x->now_ps);
}

/* A token of a request whose newest one, if any, came at last_ps. */
static void note_token(struct fast *x, uint32_t request, bool started, uint64_t last_ps)
{
    if (started)
        histogram_add(&x->r->gap, x->now_ps - last_ps, 1);
    else
        x->r->out[request].first_ps = x->now_ps;
}

static uint32_t next_flight(uint32_t flag)
{
    return (flag & ~(uint32_t)(OLDER | NEWER)) | ((flag & NEWER) >> 1);
}

static void apply_waiting(struct fast *x)
{
    size_t flown = 0;
    for (size_t i = 0; i < x->n_flown; i++) {
        struct waiting *q = waiting_at(x, i);
        if (q->flag & OLDER) {
            note_token(x, q->request, q->flag & STARTED, q->last_ps);
            q->last_ps = x->now_ps;
            q->known++;
            q->flag |= STARTED;
        }
        q->flag = next_flight(q->flag);
        flown = q->flag & OLDER ? i + 1 : flown;
        if (q->known == x->w->r[q->request].n_in + x->w->r[q->request].n_out) {
            end_request(x, q->request);
            free(q->held.hash);
            remove_waiting(x, i);
            i--;
        }
    }
    x->n_flown = flown;
}

static void apply_token(struct fast *x, struct seq *q)
{
    if (q->flag & OLDER) {
        note_token(x, q->request, q->flag & STARTED, q->flag & FRESH ? x->applied_ps : q->last_ps);
        q->known++;
        q->flag |= FRESH | STARTED;
    } else if (q->flag & FRESH) {
        q->last_ps = x->applied_ps;
        q->flag &= (uint8_t)~FRESH;
    }
    q->flag = (uint8_t)next_flight(q->flag);
}

/* It has a token in every step, and will for some. */
static bool is_steady(const struct fast *x, const struct seq *q, const struct held *h)
{
    const uint64_t placed = q->flag & OLDER;
    return q->flag & FRESH && placed == x->n_flight && q->computed + 1 == q->known + placed && q->known < steady_until(x, q, h);
}

static void apply_irregular(struct fast *x)
{
    const uint32_t n = x->n_irregular;
    x->n_irregular = 0;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t i = x->irregular[k];
        struct seq *q = &x->seq[i];
        struct held *h = held_of(x, i);
        apply_token(x, q);
        if (q->known == q->stop) {
            end_request(x, q->request);
            x->r->t.n_wasted_tok += q->flag & OLDER;
            release(x, h, q->computed);
            if (h)
                free(h->hash);
            list_remove(x, i);
            continue;
        }
        if (h)
            hash_blocks(x, h, q->known, q->computed);
        if (is_steady(x, q, h))
            join(x, i);
        else
            x->irregular[x->n_irregular++] = i;
    }
}

static int apply(struct fast *x, struct error *err)
{
    x->now_ps = u64_max(x->now_ps, x->flight_ps[0]);
    x->flight_ps[0] = x->flight_ps[1];
    x->n_flight--;
    x->n_applied++;
    histogram_add(&x->r->gap, x->now_ps - x->applied_ps, x->n_steady);
    apply_irregular(x);
    if (x->n_flown > 0)
        apply_waiting(x);
    x->applied_ps = x->now_ps;
    return let_leave(x, err);
}

/* ---- a jump ------------------------------------------------------------------------------------------------------------------- */

/* Of n steps, those for which the blocks suffice; *taken: the blocks they take. */
static uint64_t steps_with_blocks(const struct fast *x, uint64_t n, uint64_t *taken)
{
    const uint32_t bs = x->p->block_size;
    const uint64_t rounds = u64_min(n / bs, x->pool.n_free / x->n_steady); /* of a block for each */
    uint64_t steps = rounds * bs;
    *taken = rounds * x->n_steady;
    for (uint32_t more; steps < n && *taken + (more = crossing(x, steps)) <= x->pool.n_free; steps++)
        *taken += more;
    return steps;
}

/* When step i of the jump is formed. */
static uint64_t formed_ps(const struct fast *x, const struct step_load *load, uint64_t i)
{
    if (i < x->n_flight) /* asynchronous: formed while the one before runs */
        return x->now_ps;
    const uint64_t ps = step_price_run_ps(x->o->price, load, &x->n_steady, i - x->n_flight);
    return ps > UINT64_MAX - x->device_ps ? UINT64_MAX : u64_max(x->now_ps, x->device_ps) + ps;
}

/* Of n > 0 steps, those formed before the next arrival: at least the first. */
static uint64_t steps_before(const struct fast *x, const struct step_load *load, uint64_t arrival_ps, uint64_t n)
{
    if (formed_ps(x, load, n - 1) < arrival_ps)
        return n;
    uint64_t lo = 0, hi = n - 1; /* lo is formed before it, hi is not */
    while (hi - lo > 1) {
        const uint64_t middle = lo + (hi - lo) / 2;
        if (formed_ps(x, load, middle) < arrival_ps)
            lo = middle;
        else
            hi = middle;
    }
    return lo + 1;
}

/* A waiting request cannot be admitted however many steps pass. */
static bool stays_blocked(struct fast *x)
{
    uint32_t hit;
    const uint32_t budget = x->p->max_num_batched_tokens;
    return x->n >= x->p->max_num_seqs || x->n >= budget || x->p->batch_until_empty ||
           (x->n_waiting > 0 && admissible(x, budget - x->n, &hit) == 0);
}

/* Steps that can be jumped over, *load the first of them; *taken: the blocks of all of them. */
static uint64_t steps_alike(struct fast *x, struct step_load *load, uint64_t *taken)
{
    if (x->n_steady == 0 || x->n_irregular > 0 || x->n_flown > 0 || x->n_flight != (x->p->async_scheduling ? 1 : 0) ||
        x->n_steady > x->p->max_num_batched_tokens)
        return 0;
    const bool blocked = stays_blocked(x);
    if (!blocked && x->n_waiting > 0)
        return 0;
    uint64_t n = x->heap[0].n_applied - x->n_applied;
    *load = (struct step_load){ .n_decode = x->n_steady, .context[0] = x->sum_computed + x->n_steady };
    if (!blocked && n > 1)
        n = steps_before(x, load, arrivals_next_ps(&x->arrivals, x->now_ps), n);
    return steps_with_blocks(x, n, taken);
}

static int jump(struct fast *x, const struct step_load *load, uint64_t n, uint64_t taken, struct error *err)
{
    const struct step_price *price = x->o->price;
    const uint32_t used = x->pool.n - x->pool.n_free;
    const uint64_t first_ps = step_price_ps(price, load), by_ps = price->context_ps[load->n_decode] * x->n_steady;
    struct serve_step step = { .n = n, .n_decode = x->n_steady, .n_running = x->n, .n_waiting = (uint32_t)x->n_waiting };
    step.start_ps = u64_max(x->now_ps, x->device_ps);
    const uint64_t all_ps = step_price_run_ps(price, load, &x->n_steady, n);
    if (serve_check_end(x->w, step.start_ps, all_ps, err) != 0)
        return -1;
    if (take_blocks(x, &x->stash, (uint32_t)taken, err) != 0)
        return -1;
    x->sum_computed += n * x->n_steady;
    x->n_formed += n;
    x->n_applied += n;
    if (x->n_flight > 0)
        histogram_add(&x->r->gap, x->flight_ps[0] - x->applied_ps, x->n_steady);
    histogram_add_run(&x->r->gap, first_ps, by_ps, n - x->n_flight, x->n_steady);
    step.end_ps = step.start_ps + all_ps;
    x->now_ps = x->applied_ps = step.start_ps + step_price_run_ps(price, load, &x->n_steady, n - x->n_flight);
    x->device_ps = x->flight_ps[0] = step.end_ps;
    step.used_blocks = x->pool.n - x->pool.n_free;
    serve_note_steps(x->r, x->o, &step, used);
    return let_leave(x, err);
}

/* ---- a simulation ---------------------------------------------------------------------------------------------------------------- */

static int run(struct fast *x, struct error *err)
{
    const size_t most = x->p->async_scheduling ? MOST_FLIGHT : 1;
    for (uint64_t n = 0;; n++) {
        struct step_load load;
        uint64_t taken, n_alike;
        bool formed = false;
        if (n % 4096 == 0 && interrupt_check(err) != 0)
            return -1;
        if (take_arrivals(x, err) != 0)
            return -1;
        if ((n_alike = steps_alike(x, &load, &taken)) > 1) {
            if (jump(x, &load, n_alike, taken, err) != 0)
                return -1;
            continue;
        }
        if (form(x, &formed, err) != 0)
            return -1;
        if (formed && x->n_flight < most)
            continue;
        if (x->n_flight > 0) {
            if (apply(x, err) != 0)
                return -1;
            continue;
        }
        const uint64_t next_ps = arrivals_next_ps(&x->arrivals, x->now_ps);
        if (next_ps == UINT64_MAX)
            return x->n + x->n_waiting == 0 ? 0 : error_set(err, ERROR_INPUT, "%s: requests wait for KV blocks that never become free", x->w->name);
        x->now_ps = next_ps;
    }
}

static int fast_init(struct fast *x, struct error *err)
{
    bool shared = false;
    for (size_t i = 0; x->p->enable_prefix_caching && i < x->w->n && !shared; i++)
        shared = x->w->r[i].n_run > 0;
    x->n_reserve = (uint32_t)(x->p->watermark * x->o->n_block);
    x->cap = (uint32_t)u64_min(x->p->max_num_seqs, x->w->n);
    x->ring_cap = 64;
    x->first_seq = x->last_seq = NO_SEQ;
    const size_t n = x->cap;
    x->seq = malloc(n * sizeof *x->seq);
    x->held = shared ? calloc(n, sizeof *x->held) : NULL;
    x->spare = malloc(n * sizeof *x->spare);
    x->irregular = malloc(n * sizeof *x->irregular);
    x->heap = malloc(n * sizeof *x->heap);
    x->hit = shared ? malloc(x->o->n_block * sizeof *x->hit) : NULL;
    x->residue = calloc(x->p->block_size, sizeof *x->residue);
    x->ring = malloc(x->ring_cap * sizeof *x->ring);
    if (!x->seq || (shared && (!x->held || !x->hit)) || !x->spare || !x->irregular || !x->heap || !x->residue || !x->ring)
        return error_oom(err, n * sizeof *x->seq, "the running sequences");
    while (x->n_spare < x->cap) {
        x->spare[x->n_spare] = x->cap - 1 - x->n_spare;
        x->n_spare++;
    }
    /* Without identities nothing can hit: blocks need only be counted. */
    if (block_pool_init(&x->pool, x->o->n_block, shared, err) != 0)
        return -1;
    return arrivals_init(&x->arrivals, x->w, x->o->max_concurrency, x->o->gap_scale, err);
}

static void fast_free(struct fast *x)
{
    for (uint32_t i = x->first_seq; x->pool.identity && i != NO_SEQ; i = x->seq[i].next) {
        free(x->held[i].block);
        free(x->held[i].hash);
    }
    for (size_t i = 0; i < x->n_waiting; i++)
        free(waiting_at(x, i)->held.hash);
    free(x->seq);
    free(x->held);
    free(x->spare);
    free(x->irregular);
    free(x->heap);
    free(x->residue);
    free(x->hit);
    free(x->stash.block);
    free(x->ring);
    block_pool_free(&x->pool);
    arrivals_free(&x->arrivals);
}

int serve_jumping(struct serve_result *r, const struct serve_workload *w, const struct serve_options *o, struct error *err)
{
    struct fast x = { .w = w, .o = o, .p = o->policy, .r = r };
    int rc = fast_init(&x, err);
    if (rc == 0)
        rc = run(&x, err);
    r->t.end_ps = x.now_ps;
    r->t.n_evicted = x.pool.n_evicted;
    fast_free(&x);
    return rc;
}
