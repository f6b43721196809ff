/* What waits and what runs in a simulation by jumps. */
#include "serving/fast.h"
#include "serving/scheduler.h"
#include <stdlib.h>
#include <string.h>

/* ---- waiting ------------------------------------------------------------------------------------------------------- */

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

int fast_push_front(struct fast *x, const struct waiting *q, struct error *err)
{
    if (waiting_room(x, err) != 0)
        return -1;
    x->first = (x->first + x->ring_cap - 1) & (x->ring_cap - 1);
    x->n_waiting++;
    x->n_flown++;
    *waiting_at(x, 0) = *q;
    return 0;
}

void fast_pop_front(struct fast *x)
{
    x->first = (x->first + 1) & (x->ring_cap - 1);
    x->n_waiting--;
    x->n_flown -= x->n_flown > 0;
}

void fast_remove_waiting(struct fast *x, size_t i)
{
    for (; i > 0; i--)
        *waiting_at(x, i) = *waiting_at(x, i - 1);
    fast_pop_front(x);
}

/* The blocks of a new request with an identity. */
static int find_content(struct fast *x, const struct serve_request *r, struct content *c, struct error *err)
{
    const uint32_t bs = x->p->block_size;
    c->n = block_hash_count(x->w, r, bs);
    c->n_shared = (uint32_t)u64_min(c->n, run_starts_shared(&x->starts, x->w, r) / bs);
    c->own = CACHE_NONE;
    if (c->n_shared == 0)
        return 0;
    const size_t bytes = c->n_shared * (sizeof *c->hash + sizeof *c->entry);
    c->hash = malloc(bytes);
    if (!c->hash)
        return error_oom(err, bytes, "the hashes of a prompt's blocks");
    c->entry = (uint32_t *)(c->hash + c->n_shared);
    block_hashes_first(x->w, r, bs, c->n_shared, c->hash);
    return 0;
}

int fast_take_arrivals(struct fast *x, struct error *err)
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
        if (x->content && r->n_run > 0 && find_content(x, r, &q.content, err) != 0)
            return -1;
        x->n_waiting++;
        *waiting_at(x, x->n_waiting - 1) = q;
    }
    return 0;
}

/* ---- blocks --------------------------------------------------------------------------------------------------------- */

void fast_hash_blocks(struct fast *x, struct content *c, uint64_t known, uint64_t computed)
{
    if (c->n_held == c->n_shared)
        return;
    const uint32_t full = u32_min(full_blocks(x, u64_min(known, computed)), c->n_shared);
    for (; c->n_held < full; c->n_held++)
        c->entry[c->n_held] = cache_add(&x->cache, c->hash[c->n_held]);
}

/* Last to first: the end of a chain is evicted before its root. */
void fast_release(struct fast *x, uint32_t i, uint64_t known)
{
    const struct seq *q = &x->seq[i];
    struct content *c = content_of(x, i);
    uint32_t blank = blocks_of(x, q->computed);
    if (c && c->n > 0) {
        const uint32_t full = u32_min(full_blocks(x, u64_min(known, q->computed)), c->n), own = full - u32_min(full, c->n_shared);
        blank -= own + c->n_held;
        c->own = cache_release_own(&x->cache, q->request, own);
        while (c->n_held > 0)
            cache_release(&x->cache, c->entry[--c->n_held]);
    }
    cache_release_blank(&x->cache, blank);
}

/*
 * Own blocks that are left are all found, as are the shared ones before them:
 *
 *     The shared ones precede them in the chain and are released after them: they stand behind them in the queue, if they are in it, and are
 *     evicted later.
 *     The last token of q is computed anyway, and is in none of them. When q was preempted its computed tokens were fewer than those known, or as
 *     many with a token in flight; that one is known by now, since the steps in flight are applied before the next one that admits.
 *
 * So no own content is cached twice, of which scheduler.c would find the older.
 */
uint32_t fast_prefix_hit(struct fast *x, struct waiting *q, uint32_t *n_free)
{
    struct content *c = &q->content;
    *n_free = 0;
    if (c->n == 0)
        return 0;
    const uint32_t most = u32_min(c->n_shared, full_blocks(x, q->known - 1));
    uint32_t n = 0;
    for (; n < most && (c->entry[n] = cache_find(&x->cache, c->hash[n])) != CACHE_NONE; n++)
        *n_free += x->cache.entry[c->entry[n]].n_ref == 0;
    if (n < c->n_shared)
        return n;
    const uint32_t own = cache_own_left(&x->cache, c->own, q->request);
    *n_free += own;
    return n + own;
}

void fast_take_hit(struct fast *x, struct content *c, uint32_t hit)
{
    while (c->n_held < u32_min(hit, c->n_shared))
        cache_share(&x->cache, c->entry[c->n_held++]);
    if (hit > c->n_shared)
        cache_take_own(&x->cache, c->own);
}

/* ---- running ------------------------------------------------------------------------------------------------------------ */

void fast_list_remove(struct fast *x, uint32_t i)
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

uint32_t fast_list_append(struct fast *x)
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

static void heap_remove(struct fast *x, uint32_t i)
{
    const struct leave l = x->heap[--x->n_steady];
    for (; i > 0 && l.n_applied < x->heap[(i - 1) / 2].n_applied; i = (i - 1) / 2)
        x->heap[i] = x->heap[(i - 1) / 2];
    for (uint32_t k; (k = 2 * i + 1) < x->n_steady; i = k) {
        k += k + 1 < x->n_steady && x->heap[k + 1].n_applied < x->heap[k].n_applied;
        if (x->heap[k].n_applied >= l.n_applied)
            break;
        x->heap[i] = x->heap[k];
    }
    x->heap[i] = l;
}

/* The class of a sequence by when it needs its next block. */
static uint32_t *residue_of(struct fast *x, uint64_t computed)
{
    const uint64_t n = computed + x->crossing;
    return &x->residue[n - (uint64_t)full_blocks(x, n) * x->p->block_size];
}

/* Tokens known with which a sequence is irregular again: before its last one, and before it fills a block that can be found. */
uint64_t fast_steady_until(const struct fast *x, const struct seq *q, const struct content *c)
{
    const uint64_t end = q->stop - 1;
    return c && c->n_held < c->n_shared ? u64_min(end, (c->n_held + UINT64_C(1)) * x->p->block_size - 1) : end;
}

void fast_join(struct fast *x, uint32_t i)
{
    struct seq *q = &x->seq[i];
    heap_push(x, (struct leave){ x->n_applied + (fast_steady_until(x, q, content_of(x, i)) - q->known), i });
    ++*residue_of(x, q->computed);
    x->sum_computed += q->computed;
    q->known -= x->n_applied;
    q->computed -= x->n_formed;
    q->steady = true;
}

static void make_irregular(struct fast *x, uint32_t i)
{
    struct seq *q = &x->seq[i];
    q->steady = false;
    q->known += x->n_applied;
    q->computed += x->n_formed;
    q->flag = (uint8_t)(FRESH | STARTED | (x->n_flight > 0 ? OLDER : 0));
    --*residue_of(x, q->computed);
    x->sum_computed -= q->computed;
}

void fast_all_irregular(struct fast *x)
{
    if (x->n_steady == 0)
        return;
    x->n_irregular = 0;
    for (uint32_t i = x->first_seq; i != NO_SEQ; i = x->seq[i].next) {
        x->irregular[x->n_irregular++] = i;
        if (x->seq[i].steady)
            make_irregular(x, i);
    }
    x->n_steady = 0;
}

void fast_leave(struct fast *x, uint32_t i)
{
    uint32_t k = 0;
    while (x->heap[k].seq != i)
        k++;
    heap_remove(x, k);
    make_irregular(x, i);
}

/* Those about to end. */
void fast_let_leave(struct fast *x)
{
    while (x->n_steady > 0 && x->heap[0].n_applied <= x->n_applied) {
        const uint32_t i = x->heap[0].seq;
        heap_remove(x, 0);
        make_irregular(x, i);
        irregular_insert(x, i);
    }
}
