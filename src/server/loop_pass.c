/* A batch on the engine, in one pass where it fits one: tables of blocks, tokens, and what the logits yield. */
#include "server/loop_internal.h"
#include "serving/draw.h"
#include <stdlib.h>
#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

static int place_slots_init(struct loop *l, struct error *err)
{
    const uint32_t n_slot = l->o.policy.max_num_seqs, most = (uint32_t)u64_ceil_div(l->o.policy.max_model_len, l->block_size);
    l->slot = calloc(n_slot, sizeof *l->slot);
    l->free_block = malloc(l->o.n_block * sizeof *l->free_block);
    if (!l->slot || !l->free_block)
        return error_oom(err, l->o.n_block * sizeof *l->free_block, "the slots");
    for (uint32_t i = 0; i < n_slot; i++)
        if (!(l->slot[i].block = malloc(most * sizeof *l->slot[i].block)))
            return error_oom(err, most * sizeof *l->slot[i].block, "the blocks of a slot");
    while (l->n_free_block < l->o.n_block) {
        l->free_block[l->n_free_block] = l->o.n_block - 1 - l->n_free_block;
        l->n_free_block++;
    }
    return 0;
}

int loop_pass_init(struct loop *l, struct error *err)
{
    l->tok = malloc(l->n_ubatch * sizeof *l->tok);
    l->row = malloc(l->n_vocab * sizeof *l->row);
    l->scratch = sampler_scratch(l->n_vocab);
    if (!l->tok || !l->row || !l->scratch)
        return error_oom(err, l->n_vocab * sizeof *l->row, "a step");
    return l->o.policy.kind == POLICY_LLAMA_SERVER ? place_slots_init(l, err) : 0;
}

void loop_pass_free(struct loop *l)
{
    for (uint32_t i = 0; l->slot && i < l->o.policy.max_num_seqs; i++)
        free(l->slot[i].block);
    free(l->slot);
    free(l->free_block);
    for (size_t i = 0; i < ARRAY_LEN(l->flight); i++) {
        batch_free(&l->flight[i].batch);
        free(l->flight[i].block);
        free(l->flight[i].first);
    }
    free(l->run);
    free(l->table);
    free(l->yield);
    free(l->hidden);
    free(l->tok);
    free(l->row);
    free(l->scratch);
}

/* Room for a batch of n entries. */
static int reserve(struct loop *l, size_t n, struct error *err)
{
    if (n <= l->cap_run)
        return 0;
    const size_t cap = n > 2 * l->cap_run ? n : 2 * l->cap_run;
    struct engine_run *run = realloc(l->run, cap * sizeof *run);
    l->run = run ? run : l->run;
    const uint32_t **table = realloc((void *)(uintptr_t)l->table, cap * POLICY_MAX_GROUPS * sizeof *table);
    l->table = table ? table : l->table;
    struct yield *yield = realloc(l->yield, cap * sizeof *yield);
    l->yield = yield ? yield : l->yield;
    if (!run || !table || !yield)
        return error_oom(err, cap * POLICY_MAX_GROUPS * sizeof *table, "a batch");
    l->cap_run = cap;
    return 0;
}

/* Room for the hidden states of a batch, where the drafter wants them. */
static int reserve_hidden(struct loop *l, uint32_t n_tok, struct error *err)
{
    if (!l->o.drafter.from_hidden || n_tok <= l->cap_hidden)
        return 0;
    l->n_embd = engine_ops(l->e)->width[BUF_HIDDEN];
    float *hidden = realloc(l->hidden, (size_t)n_tok * l->n_embd * sizeof *hidden);
    if (!hidden)
        return error_oom(err, (size_t)n_tok * l->n_embd * sizeof *hidden, "the hidden states of a batch");
    l->hidden = hidden;
    l->cap_hidden = n_tok;
    return 0;
}

/* Copies the hidden states of a pass, whose tokens are the batch's from n_before on. Returns the number of its tokens. */
static uint32_t keep_hidden(struct loop *l, uint32_t n_run, uint32_t n_before)
{
    uint32_t n = 0;
    size_t stride;
    const float *hidden = engine_hidden(l->e, &stride);
    for (uint32_t r = 0; r < n_run; r++)
        n += l->run[r].n_tok;
    for (uint32_t t = 0; l->hidden && t < n; t++)
        memcpy(l->hidden + (size_t)(n_before + t) * l->n_embd, hidden + t * stride, l->n_embd * sizeof *hidden);
    return n;
}

/* ---- tables ---------------------------------------------------------------------------------------------------------- */

/* Gives every slot the blocks of the positions that it holds since the newest batch was formed: first those that hold fewer give back theirs. */
static void place_slots(struct loop *l)
{
    for (int grow = 0; grow < 2; grow++)
        for (uint32_t i = 0; i < l->o.policy.max_num_seqs; i++) {
            struct slot_table *x = &l->slot[i];
            const uint32_t n = (uint32_t)u64_ceil_div(scheduler_slot_positions(&l->s, i), l->block_size);
            while (!grow && x->n > n)
                l->free_block[l->n_free_block++] = x->block[--x->n];
            while (grow && x->n < n)
                x->block[x->n++] = l->free_block[--l->n_free_block];
        }
}

/* A later batch is formed before this one runs: a sequence may lose blocks of a window meanwhile, or all of them, which are not written before. */
int loop_keep_tables(struct loop *l, struct flight *f, struct error *err)
{
    const uint32_t n_group = l->o.policy.n_group;
    size_t n = 0, at = 0;
    if (l->slot)
        place_slots(l);
    if (!l->o.policy.async_scheduling)
        return 0;
    for (size_t i = 0; i < f->batch.n; i++)
        for (uint32_t g = 0; g < n_group; g++)
            n += f->batch.e[i].seq->group[g].n;
    uint32_t *block = n > 0 ? realloc(f->block, n * sizeof *block) : f->block;
    f->block = block ? block : f->block;
    size_t *first = f->batch.n > 0 ? realloc(f->first, f->batch.n * n_group * sizeof *first) : f->first;
    f->first = first ? first : f->first;
    if ((n > 0 && !block) || (f->batch.n > 0 && !first))
        return error_oom(err, n * sizeof *block, "the tables of a batch");
    for (size_t i = 0; i < f->batch.n; i++)
        for (uint32_t g = 0; g < n_group; g++) {
            const struct seq_blocks *b = &f->batch.e[i].seq->group[g];
            f->first[i * n_group + g] = at;
            memcpy(f->block + at, b->block, b->n * sizeof *b->block);
            at += b->n;
        }
    return 0;
}

/* l->table[i * POLICY_MAX_GROUPS + group] of every entry. */
static void set_tables(struct loop *l, const struct flight *f)
{
    const uint32_t n_group = l->o.policy.n_group;
    for (size_t i = 0; i < f->batch.n; i++) {
        const struct batch_entry *e = &f->batch.e[i];
        for (uint32_t g = 0; g < n_group && !e->failed; g++) {
            const uint32_t *own = l->slot ? l->slot[scheduler_slot(&l->s, e->seq)].block : e->seq->group[g].block;
            l->table[i * POLICY_MAX_GROUPS + g] = l->o.policy.async_scheduling ? f->block + f->first[i * n_group + g] : own;
        }
    }
}

/* ---- tokens ---------------------------------------------------------------------------------------------------------- */

/* Drafts of the step that are accepted whatever the model says. */
static uint32_t forced(const struct loop *l, const struct job *j, uint32_t n_draft)
{
    struct serve_options o = { .seed = l->o.seed };
    memcpy(o.accept, l->o.accept, sizeof o.accept);
    return l->o.forced_accept ? serve_accepted(&o, j->number, j->n_tok, n_draft) : 0;
}

/* One row of logits of an entry: the token after its newest known one. A draft that is equal keeps the rows behind it valid. */
static void take_row(struct loop *l, const struct batch_entry *e, struct job *j, struct yield *y, const float *logits)
{
    if (y->done)
        return;
    if (!logits_finite(logits, l->n_vocab)) {
        y->broken = y->done = true;
        return;
    }
    const uint32_t k = y->n, at = j->n_tok - j->n_in;
    const bool drafted = k < e->n_draft;
    const int32_t draft = j->tok[j->n_tok];
    const bool by_force = drafted && k < y->n_forced;
    const int32_t id = loop_pick(l, j, logits, k, at < j->n_forced ? j->forced[at] : by_force ? draft : NO_TOKEN);
    const bool accepted = by_force || (drafted && !l->o.forced_accept && id == draft);
    j->tok[j->n_tok++] = id;
    y->n++;
    y->n_accepted += accepted && !l->o.forced_accept;
    y->end = !j->ignore_end && loop_is_end(j, id);
    y->done = !accepted || y->end || j->n_tok == j->n_in + j->n_max;
}

/* Rows of the pass whose runs are of entries first ... first + n_run. */
static void take_rows(struct loop *l, const struct flight *f, size_t first, uint32_t n_run, const float *logits)
{
    for (uint32_t r = 0; r < n_run; r++) {
        const struct batch_entry *e = &f->batch.e[first + r];
        for (uint32_t i = 0; i < l->run[r].n_out; i++, logits += l->n_vocab)
            if (e->seq->state != SEQ_DONE)
                take_row(l, e, loop_job(l, e->seq), &l->yield[first + r], logits);
    }
}

/* Where the next pass of a batch begins: an entry, and how many of its tokens are done. */
struct cursor {
    size_t i;
    uint32_t done;
};

/* Tokens of entry at->i as run r, from token n_tok of the pass on: as many as fit. Returns their number. */
static uint32_t add_run(struct loop *l, const struct flight *f, const struct cursor *at, uint32_t r, uint32_t n_tok)
{
    const struct batch_entry *e = &f->batch.e[at->i];
    const struct job *j = loop_job(l, e->seq);
    const uint32_t room = l->n_ubatch - n_tok, left = e->n_tok - at->done, n = left < room ? left : room;
    const uint32_t silent = e->samples ? e->n_tok - 1 - e->n_draft : e->n_tok, end = at->done + n, first = at->done > silent ? at->done : silent;
    l->run[r] = (struct engine_run){ .seq = r, .n_past = e->n_past + at->done, .n_tok = n, .n_out = end > first ? end - first : 0,
                                     .table = l->table + at->i * POLICY_MAX_GROUPS };
    memcpy(l->tok + n_tok, j->tok + e->n_past + at->done, n * sizeof *l->tok);
    return n;
}

/* The runs of a pass, which begins at *at, and moves it; their number. An entry that does not fit is continued by the next pass. */
static uint32_t fill_pass(struct loop *l, const struct flight *f, struct cursor *at)
{
    uint32_t n_run = 0, n_tok = 0;
    while (at->i < f->batch.n && n_tok < l->n_ubatch) {
        const uint32_t n = add_run(l, f, at, n_run, n_tok);
        n_tok += n;
        n_run++;
        at->done += n;
        if (at->done < f->batch.e[at->i].n_tok)
            break;
        at->i++;
        at->done = 0;
    }
    return n_run;
}

int loop_run_batch(struct loop *l, struct flight *f, struct error *err)
{
    struct cursor at = { 0 };
    uint32_t n_tok = 0;
    if (reserve(l, f->batch.n, err) != 0 || reserve_hidden(l, f->batch.n_tok, err) != 0)
        return -1;
    set_tables(l, f);
    for (size_t i = 0; i < f->batch.n; i++) {
        const struct job *j = loop_job(l, f->batch.e[i].seq);
        const uint32_t n_forced = forced(l, j, f->batch.e[i].n_draft);
        l->yield[i] = (struct yield){ .first = j->n_tok, .n_forced = n_forced, .n_accepted = n_forced };
    }
    while (at.i < f->batch.n && !f->batch.e[at.i].failed) { /* all entries fail or none */
        const size_t first = at.i;
        const uint32_t n_run = fill_pass(l, f, &at);
        const float *logits;
        if (engine_eval_runs(l->e, l->tok, l->run, n_run, &logits, err) != 0)
            return -1;
        n_tok += keep_hidden(l, n_run, n_tok);
        take_rows(l, f, first, n_run, logits);
    }
    return 0;
}
