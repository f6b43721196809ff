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
        if (x->pool.identity && r->n_run > 0 && !(q.held.hash = block_hashes(x->w, r, x->p->block_size, &q.held.n_hash, err)) &&
            q.held.n_hash > 0)
            return -1;
        x->n_waiting++;
        *waiting_at(x, x->n_waiting - 1) = q;
    }
    return 0;
}

/* ---- blocks --------------------------------------------------------------------------------------------------------- */

bool fast_reserve(struct held *h, uint32_t n, struct error *err)
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

int fast_take_blocks(struct fast *x, struct held *h, uint32_t n, struct error *err)
{
    if (!x->pool.identity) {
        block_pool_take(&x->pool, n, NULL);
        return 0;
    }
    if (n == 0)
        return 0; /* there may be no array yet */
    if (!fast_reserve(h, h->n + n, err))
        return -1;
    block_pool_take(&x->pool, n, h->block + h->n);
    h->n += n;
    return 0;
}

void fast_hash_blocks(struct fast *x, struct held *h, uint64_t known, uint64_t computed)
{
    const uint32_t full = (uint32_t)u64_min(u64_min(known, computed) / x->p->block_size, h->n_hash);
    for (; h->n_hashed < full; h->n_hashed++)
        block_pool_hash(&x->pool, h->block[h->n_hashed], h->hash[h->n_hashed]);
}

/* All blocks of computed positions, last to first. */
void fast_release(struct fast *x, struct held *h, uint64_t computed)
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
uint32_t fast_prefix_hit(struct fast *x, const struct waiting *q, uint32_t *n_free)
{
    const uint32_t most = u32_min(q->held.n_hash, (q->known - 1) / x->p->block_size);
    uint32_t n = 0, b;
    *n_free = 0;
    for (; n < most && (b = block_pool_find(&x->pool, q->held.hash[n])) != BLOCK_NONE; n++) {
        x->hit[n] = b;
        *n_free += block_pool_is_free(&x->pool, b);
    }
    return n;
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

/* Tokens known with which a sequence is irregular again: before its last one, and before it fills a block that can be found. */
uint64_t fast_steady_until(const struct fast *x, const struct seq *q, const struct held *h)
{
    const uint64_t end = q->stop - 1;
    return h && h->n_hashed < h->n_hash ? u64_min(end, (h->n_hashed + UINT64_C(1)) * x->p->block_size - 1) : end;
}

void fast_join(struct fast *x, uint32_t i)
{
    struct seq *q = &x->seq[i];
    heap_push(x, (struct leave){ x->n_applied + (fast_steady_until(x, q, held_of(x, i)) - q->known), i });
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
    if (!fast_reserve(h, h->n + more, err))
        return -1;
    x->stash.n -= more;
    memcpy(h->block + h->n, x->stash.block + x->stash.n, more * sizeof *h->block);
    h->n += more;
    return 0;
}

int fast_all_irregular(struct fast *x, struct error *err)
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
int fast_let_leave(struct fast *x, struct error *err)
{
    while (x->n_steady > 0 && x->heap[0].n_applied <= x->n_applied) {
        const uint32_t i = heap_pop(x);
        if (make_irregular(x, i, err) != 0)
            return -1;
        irregular_insert(x, i);
    }
    return 0;
}
