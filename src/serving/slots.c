/*
 * llama-server's scheduler: slots. A step has one token of every slot that generates, then prompts slot by slot until n_batch is full. A slot
 * keeps what it computed; a request takes the free slot with which it shares the longest prefix. Nothing is preempted: a KV cache too small
 * for a step is an error for all slots that work. Source: llama.cpp's tools/server/server-context.cpp.
 */
#include "serving/scheduler.h"
#include <stdlib.h>

/* Share of a prompt that a slot must hold to be chosen for it: --slot-prompt-similarity. */
static const double SIMILARITY = 0.10;

struct slot {
    struct sched_seq *seq; /* NULL: free */
    uint64_t *hash;        /* of what it holds, an identity each */
    uint32_t n_hash, n_tok; /* tokens that it holds */
    uint64_t used;         /* when it was last taken; 0: never */
};

int slots_init(struct scheduler *s, struct error *err)
{
    s->slot = calloc(s->p.max_num_seqs, sizeof *s->slot);
    return s->slot ? 0 : error_oom(err, s->p.max_num_seqs * sizeof *s->slot, "slots");
}

static void slot_forget(struct scheduler *s, struct slot *x)
{
    block_pool_release(&s->pool, x->n_tok, NULL);
    free(x->hash);
    x->hash = NULL;
    x->n_hash = x->n_tok = 0;
}

void slots_free(struct scheduler *s)
{
    for (uint32_t i = 0; s->slot && i < s->p.max_num_seqs; i++) {
        if (s->slot[i].seq)
            scheduler_drop(s->slot[i].seq);
        free(s->slot[i].hash);
    }
    free(s->slot);
}

static uint32_t common(const struct slot *x, const struct sched_seq *q)
{
    uint32_t n = 0;
    while (n < x->n_hash && n < q->n_hash && x->hash[n] == q->hash[n])
        n++;
    return n;
}

/* The free slot that holds most of the prompt, if that is enough of it; else the one not used for longest. */
static struct slot *choose(struct scheduler *s, const struct sched_seq *q, uint32_t *hit)
{
    struct slot *oldest = NULL, *best = NULL;
    uint32_t most = 0;
    for (uint32_t i = 0; i < s->p.max_num_seqs; i++) {
        struct slot *x = &s->slot[i];
        if (x->seq)
            continue;
        if (!oldest || x->used < oldest->used)
            oldest = x;
        const uint32_t n = u32_min(u32_min(common(x, q) * q->n_unit, x->n_tok), q->n_in - 1);
        if (n > most && n > SIMILARITY * q->n_in) {
            most = n;
            best = x;
        }
    }
    *hit = best ? most : oldest ? u32_min(u32_min(common(oldest, q) * q->n_unit, oldest->n_tok), q->n_in - 1) : 0;
    return best ? best : oldest;
}

static void assign(struct scheduler *s)
{
    while (s->first) {
        struct sched_seq *q = s->first;
        uint32_t hit;
        struct slot *x = choose(s, q, &hit);
        if (!x)
            return;
        scheduler_unqueue(s, q);
        block_pool_release(&s->pool, x->n_tok - hit, NULL);
        free(x->hash);
        *x = (struct slot){ .seq = q, .n_tok = hit, .used = ++s->n_order };
        q->state = SEQ_RUNNING;
        q->n_computed = q->n_hit = hit;
        s->n_query_tok += q->n_in;
        s->n_hit_tok += hit;
        s->n_running++;
    }
}

static bool generates(const struct sched_seq *q)
{
    return q->n_computed + 1 == q->n_known && q->n_known > q->n_in;
}

static int schedule(struct scheduler *s, struct batch *b, struct slot *x, uint32_t n_tok, struct error *err)
{
    struct sched_seq *q = x->seq;
    struct batch_entry *e = batch_add(b, err);
    if (!e)
        return -1;
    const uint32_t end = q->n_computed + n_tok;
    *e = (struct batch_entry){ .seq = q, .n_past = q->n_computed, .n_tok = n_tok, .samples = end >= q->n_known, .prompt = !generates(q) };
    e->n_draft = e->samples ? end - q->n_known : 0;
    b->n_tok += n_tok;
    block_pool_take(&s->pool, n_tok, NULL);
    x->n_tok += n_tok;
    q->n_computed = end;
    q->n_flight++;
    return 0;
}

/* Room for n_tok more positions, from slots without a request if need be. */
static bool make_room(struct scheduler *s, uint64_t n_tok)
{
    for (uint32_t i = 0; i < s->p.max_num_seqs && s->pool.n_free < n_tok; i++)
        if (!s->slot[i].seq && s->slot[i].n_tok > 0)
            slot_forget(s, &s->slot[i]);
    return s->pool.n_free >= n_tok;
}

/* "Context size has been exceeded", to all that work. */
static int fail_all(struct scheduler *s, struct batch *b, struct error *err)
{
    for (uint32_t i = 0; i < s->p.max_num_seqs; i++) {
        struct slot *x = &s->slot[i];
        if (!x->seq)
            continue;
        struct batch_entry *e = batch_add(b, err);
        if (!e)
            return -1;
        *e = (struct batch_entry){ .seq = x->seq, .failed = true };
        x->seq->n_flight++;
        x->seq->state = SEQ_DONE;
        slot_forget(s, x);
        x->seq = NULL;
        s->n_running--;
    }
    return 0;
}

/* Tokens that a slot has in a step of which `room` are left. */
static uint32_t wants(const struct scheduler *s, const struct slot *x, bool prompts, uint32_t room)
{
    const struct sched_seq *q = x->seq;
    if (!q || generates(q) == prompts || (prompts && q->n_computed >= q->n_known)) /* in the step already, drafts included */
        return 0;
    return u32_min(prompts ? q->n_known - q->n_computed : 1 + s->p.num_speculative_tokens, room);
}

int slots_form(struct scheduler *s, struct batch *b, struct error *err)
{
    assign(s);
    uint64_t need = 0;
    for (int prompts = 0; prompts < 2; prompts++)
        for (uint32_t i = 0; i < s->p.max_num_seqs; i++)
            need += wants(s, &s->slot[i], prompts, (uint32_t)(s->p.max_num_batched_tokens - need));
    if (!make_room(s, need))
        return fail_all(s, b, err);
    for (int prompts = 0; prompts < 2; prompts++)
        for (uint32_t i = 0; i < s->p.max_num_seqs; i++) {
            const uint32_t n_tok = wants(s, &s->slot[i], prompts, s->p.max_num_batched_tokens - b->n_tok);
            if (n_tok > 0 && schedule(s, b, &s->slot[i], n_tok, err) != 0)
                return -1;
        }
    s->n_formed += b->n > 0;
    return 0;
}

static struct slot *slot_of(struct scheduler *s, const struct sched_seq *q)
{
    for (uint32_t i = 0; i < s->p.max_num_seqs; i++)
        if (s->slot[i].seq == q)
            return &s->slot[i];
    return NULL;
}

uint32_t scheduler_slot(const struct scheduler *s, const struct sched_seq *q)
{
    uint32_t i = 0;
    while (s->slot[i].seq != q)
        i++;
    return i;
}

uint32_t scheduler_slot_positions(const struct scheduler *s, uint32_t i)
{
    return s->slot[i].n_tok;
}

/* The slot keeps what was computed. */
static void finish(struct scheduler *s, struct slot *x)
{
    struct sched_seq *q = x->seq;
    x->hash = q->hash;
    x->n_hash = q->n_hash;
    q->hash = NULL;
    q->n_hash = 0;
    q->state = SEQ_DONE;
    x->seq = NULL;
    s->n_running--;
}

void slots_apply(struct scheduler *s, const struct batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct batch_entry *e = &b->e[i];
        struct sched_seq *q = e->seq;
        q->n_flight--;
        if (e->failed || q->state == SEQ_DONE || !e->samples)
            continue;
        struct slot *x = slot_of(s, q);
        const uint32_t rejected = e->n_draft + 1 - e->n_new;
        q->n_computed -= rejected;
        x->n_tok -= rejected;
        block_pool_release(&s->pool, rejected, NULL);
        q->n_known = u32_min(q->n_known + e->n_new, q->n_in + q->n_max);
        if (e->stop || q->n_known >= q->n_in + q->n_max)
            finish(s, x);
    }
}

void slots_abort(struct scheduler *s, struct sched_seq *q)
{
    struct slot *x = slot_of(s, q);
    if (x) {
        finish(s, x);
    } else if (q->state == SEQ_WAITING) {
        scheduler_unqueue(s, q);
        q->state = SEQ_DONE;
    }
}
