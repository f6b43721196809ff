#include "server/draft_model.h"
#include "serving/policy.h"
#include <stdlib.h>
#include <string.h>

/* A sequence in the draft model's cache. */
struct draft_seq {
    uint32_t *block;
    uint32_t n_block, cap;
    uint32_t n_past;        /* positions in the cache */
    uint32_t n_fed;         /* the last of them are drafts, which may have been rejected */
    int32_t fed[POLICY_MAX_DRAFT];
    uint64_t used;          /* the step that used it last; 0: never */
};

/* One run of a pass under way. */
struct draft_run {
    struct draft_want *w;
    struct draft_seq *q;
};

struct draft_model {
    struct engine *e;
    const struct model *m;
    uint32_t n_seq, n_ctx, n_tok, block_size;
    uint32_t *free_block; /* a stack */
    uint32_t n_free_block;
    struct draft_seq *seq; /* [n_place] by place */
    uint32_t n_place;
    uint64_t n_step;
    struct draft_run *todo;  /* [n_seq] of a step */
    struct engine_run *run;  /* [n_seq] */
    const uint32_t **table;  /* [n_seq] */
    int32_t *tok;            /* [n_tok] */
};

/* ---- life ------------------------------------------------------------------------------------------------------------ */

int draft_model_check(const struct model *draft, const struct model *target, struct error *err)
{
    static const char key[] = "tokenizer.ggml.tokens";
    if (draft->hp.n_vocab != target->hp.n_vocab)
        return error_set(err, ERROR_INPUT, "%s: a vocabulary of %u tokens, %s has %u: drafts need one vocabulary", draft->path, draft->hp.n_vocab, target->path,
                         target->hp.n_vocab);
    if (!draft->gguf || !target->gguf || !gguf_has(draft->gguf, key) || !gguf_has(target->gguf, key))
        return 0;
    return model_same_tokens(draft, target, err);
}

static int init(struct draft_model *d, const struct draft_model_options *o, struct error *err)
{
    struct engine_options eo = o->engine;
    eo.n_ctx = o->n_ctx;
    eo.n_seq = o->n_seq;
    eo.n_ubatch = o->n_tok > o->n_seq ? o->n_tok : o->n_seq;
    eo.n_out_max = o->n_seq;
    eo.n_block = o->n_block;
    eo.block_size = o->block_size;
    eo.groups = (struct kv_groups){ .n = 0 };
    d->n_tok = eo.n_ubatch;
    if (!(d->e = engine_new(d->m, &eo, err)))
        return -1;
    d->n_tok = engine_options(d->e)->n_ubatch;
    d->free_block = malloc(o->n_block * sizeof *d->free_block);
    d->todo = malloc(o->n_seq * sizeof *d->todo);
    d->run = malloc(o->n_seq * sizeof *d->run);
    d->table = malloc(o->n_seq * sizeof *d->table);
    d->tok = malloc(d->n_tok * sizeof *d->tok);
    if (!d->free_block || !d->todo || !d->run || !d->table || !d->tok)
        return error_oom(err, o->n_block * sizeof *d->free_block, "the draft model's cache");
    while (d->n_free_block < o->n_block) {
        d->free_block[d->n_free_block] = o->n_block - 1 - d->n_free_block;
        d->n_free_block++;
    }
    return 0;
}

struct draft_model *draft_model_new(const struct model *draft, const struct draft_model_options *o, struct error *err)
{
    struct draft_model *d = calloc(1, sizeof *d);
    if (!d) {
        error_oom(err, sizeof *d, "the draft model");
        return NULL;
    }
    *d = (struct draft_model){ .m = draft, .n_seq = o->n_seq, .n_ctx = o->n_ctx, .block_size = o->block_size };
    if (init(d, o, err) == 0)
        return d;
    draft_model_free(d);
    return NULL;
}

void draft_model_free(struct draft_model *d)
{
    if (!d)
        return;
    for (uint32_t i = 0; i < d->n_place; i++)
        free(d->seq[i].block);
    free(d->seq);
    free(d->free_block);
    free(d->todo);
    free(d->run);
    free((void *)(uintptr_t)d->table);
    free(d->tok);
    engine_free(d->e);
    free(d);
}

static struct work work(const void *ctx)
{
    return engine_work(((const struct draft_model *)ctx)->e);
}

static void free_ctx(void *ctx)
{
    draft_model_free(ctx);
}

const struct engine *draft_model_engine(const struct draft_model *d)
{
    return d->e;
}

uint32_t draft_model_used_blocks(const struct draft_model *d)
{
    return engine_options(d->e)->n_block - d->n_free_block;
}

/* ---- sequences --------------------------------------------------------------------------------------------------------- */

static void release(struct draft_model *d, struct draft_seq *q)
{
    while (q->n_block > 0)
        d->free_block[d->n_free_block++] = q->block[--q->n_block];
    q->n_past = q->n_fed = 0;
}

static void forget(void *ctx, uint32_t place)
{
    struct draft_model *d = ctx;
    if (place < d->n_place)
        release(d, &d->seq[place]);
}

static int reserve_places(struct draft_model *d, uint32_t place, struct error *err)
{
    if (place < d->n_place)
        return 0;
    const uint32_t n = 2 * (place + 1);
    struct draft_seq *seq = realloc(d->seq, n * sizeof *seq);
    if (!seq)
        return error_oom(err, n * sizeof *seq, "the draft model's sequences");
    memset(seq + d->n_place, 0, (n - d->n_place) * sizeof *seq);
    d->seq = seq;
    d->n_place = n;
    return 0;
}

/* Blocks of sequences that this step does not use, longest unused first, until n are free; false: there are not as many. */
static bool make_room(struct draft_model *d, uint32_t n)
{
    while (d->n_free_block < n) {
        struct draft_seq *oldest = NULL;
        for (uint32_t i = 0; i < d->n_place; i++) {
            struct draft_seq *q = &d->seq[i];
            if (q->n_block > 0 && q->used < d->n_step && (!oldest || q->used < oldest->used))
                oldest = q;
        }
        if (!oldest)
            return false;
        release(d, oldest);
    }
    return true;
}

/* Blocks for n positions; *room false: the pool has none. */
static int take_blocks(struct draft_model *d, struct draft_seq *q, uint32_t n_position, bool *room, struct error *err)
{
    const uint32_t n = (uint32_t)u64_ceil_div(n_position, d->block_size);
    *room = true;
    if (n <= q->n_block)
        return 0;
    if (!(*room = make_room(d, n - q->n_block)))
        return 0;
    if (n > q->cap) {
        const uint32_t cap = n > 2 * q->cap ? n : 2 * q->cap;
        uint32_t *block = realloc(q->block, cap * sizeof *block);
        if (!block)
            return error_oom(err, cap * sizeof *block, "the draft model's blocks");
        q->block = block;
        q->cap = cap;
    }
    while (q->n_block < n)
        q->block[q->n_block++] = d->free_block[--d->n_free_block];
    return 0;
}

/* Keeps the drafts that became known tokens; the newest known token is always computed, for its logits. */
static void go_back(struct draft_seq *q, const struct draft_want *w)
{
    const uint32_t known = q->n_past - q->n_fed;
    uint32_t n = 0;
    while (n < q->n_fed && known + n < w->n_tok && w->tok[known + n] == q->fed[n])
        n++;
    q->n_past = known + n;
    q->n_fed = 0;
    if (q->n_past >= w->n_tok)
        q->n_past = w->n_tok - 1;
}

/* ---- passes ---------------------------------------------------------------------------------------------------------- */

/* Adds up to `room` tokens of x as run r. Returns their number. */
static uint32_t add_run(struct draft_model *d, const struct draft_run *x, const int32_t *from, uint32_t left, uint32_t r, uint32_t n_tok)
{
    const uint32_t room = d->n_tok - n_tok, n = left < room ? left : room;
    d->table[r] = x->q->block;
    d->run[r] = (struct engine_run){ .seq = r, .n_past = x->q->n_past, .n_tok = n, .n_out = n == left && x->w->most > 0, .table = &d->table[r] };
    memcpy(d->tok + n_tok, from, n * sizeof *d->tok);
    x->q->n_past += n;
    return n;
}

/* Runs the pass of todo[first ... first + n_run); the rows of its logits are next drafts. */
static int run_pass(struct draft_model *d, size_t first, uint32_t n_run, struct error *err)
{
    const uint32_t v = engine_n_vocab(d->e);
    const float *logits;
    if (n_run == 0)
        return 0;
    if (engine_eval_runs(d->e, d->tok, d->run, n_run, &logits, err) != 0)
        return error_prefix(err, "the draft model");
    for (uint32_t r = 0; r < n_run; r++) {
        struct draft_want *w = d->todo[first + r].w;
        if (d->run[r].n_out == 0)
            continue;
        w->draft[w->n++] = logits_largest(logits, v);
        logits += v;
    }
    return 0;
}

/* Tokens that the cache lacks, of all sequences, in as few passes as they take. */
static int catch_up(struct draft_model *d, size_t n, struct error *err)
{
    for (size_t i = 0; i < n;) {
        const size_t first = i;
        uint32_t n_run = 0, n_tok = 0;
        while (i < n && n_tok < d->n_tok) {
            const struct draft_run *x = &d->todo[i];
            n_tok += add_run(d, x, x->w->tok + x->q->n_past, x->w->n_tok - x->q->n_past, n_run++, n_tok);
            if (x->q->n_past < x->w->n_tok)
                break; /* continued by the next pass */
            i++;
        }
        if (run_pass(d, first, n_run, err) != 0)
            return -1;
    }
    return 0;
}

/* One more draft of every sequence that wants more, after those it has: todo has those first that want most. */
static int draft_more(struct draft_model *d, size_t n, uint32_t n_have, struct error *err)
{
    uint32_t n_run = 0;
    for (size_t i = 0; i < n && d->todo[i].w->most > n_have; i++) {
        const struct draft_run *x = &d->todo[i];
        const int32_t *newest = &x->w->draft[n_have - 1];
        x->q->fed[x->q->n_fed++] = *newest;
        (void)add_run(d, x, newest, 1, n_run, n_run);
        n_run++;
    }
    return run_pass(d, 0, n_run, err);
}

static int wants_more(const void *a, const void *b)
{
    const uint32_t x = ((const struct draft_run *)a)->w->most, y = ((const struct draft_run *)b)->w->most;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Puts w into the step if there is room for it and something to do. */
static int add_want(struct draft_model *d, struct draft_want *w, size_t *n, struct error *err)
{
    struct draft_seq *q = &d->seq[w->place];
    bool room;
    w->n = 0;
    if (*n == d->n_seq || w->n_tok > d->n_ctx)
        return 0;
    w->most = (uint32_t)u64_min(w->most, u64_min(POLICY_MAX_DRAFT, d->n_ctx - w->n_tok + 1));
    if (w->most == 0 && q->n_past - q->n_fed >= w->n_tok)
        return 0;
    if (take_blocks(d, q, w->n_tok + (w->most > 0 ? w->most - 1 : 0), &room, err) != 0)
        return -1;
    if (!room)
        return 0;
    go_back(q, w);
    d->todo[(*n)++] = (struct draft_run){ w, q };
    return 0;
}

static int begin_step(struct draft_model *d, struct draft_want *w, size_t n_want, size_t *n, struct error *err)
{
    *n = 0;
    d->n_step++;
    for (size_t i = 0; i < n_want; i++) {
        if (reserve_places(d, w[i].place, err) != 0)
            return -1;
        d->seq[w[i].place].used = d->n_step;
    }
    for (size_t i = 0; i < n_want; i++)
        if (add_want(d, &w[i], n, err) != 0)
            return -1;
    qsort(d->todo, *n, sizeof *d->todo, wants_more);
    return 0;
}

int draft_model_propose(void *ctx, struct draft_want *w, size_t n_want, struct error *err)
{
    struct draft_model *d = ctx;
    size_t n;
    if (begin_step(d, w, n_want, &n, err) != 0 || catch_up(d, n, err) != 0)
        return -1;
    for (uint32_t k = 1; n > 0 && k < d->todo[0].w->most; k++)
        if (draft_more(d, n, k, err) != 0)
            return -1;
    return 0;
}

struct drafter draft_model_drafter(struct draft_model *d)
{
    return (struct drafter){ .ctx = d, .propose = draft_model_propose, .forget = forget, .work = work, .free = free_ctx };
}
