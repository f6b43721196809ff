/* Passes as callers ask for them: runs checked against the KV cache, and laid out for exec.c. */
#include "engine/internal.h"
#include <string.h>

/* Windowed layers keep the newest positions only: a pass at n_past must not need overwritten ones. */
static int check_rings(const struct engine *e, const struct engine_run *r, struct error *err)
{
    for (uint32_t i = 0; r->n_past > 0 && i < e->n_layer; i++) {
        const uint32_t window = e->kv[i].window, lost = e->kv_lost[r->seq];
        const uint32_t need = r->n_past + 1 > window ? r->n_past + 1 - window : 0;
        if (window > 0 && need < lost)
            return error_set(err, ERROR_USAGE,
                             "going back to position %u: layer %u needs positions from %u on, and its window of %u has "
                             "kept those from %u on",
                             r->n_past, i, need, window, lost);
    }
    return 0;
}

/* Records the positions that the next pass overwrites. */
static void mark_overwritten(struct engine *e, const struct engine_run *r)
{
    uint32_t *lost = &e->kv_lost[r->seq];
    if (r->n_past == 0)
        *lost = 0;
    for (uint32_t i = 0; i < e->n_layer; i++) {
        const uint32_t n_row = e->kv[i].k.n_row, end = r->n_past + r->n_tok;
        if (e->kv[i].window > 0 && end > n_row && end - n_row > *lost)
            *lost = end - n_row;
    }
}

/* Blocks of the positions that the pass reads and writes. */
static int check_blocks(const struct engine *e, const struct engine_run *r, struct error *err)
{
    const uint32_t size = e->o.block_size, end = r->n_past + r->n_tok;
    for (uint32_t g = 0; g < e->o.groups.n; g++) {
        const uint32_t window = e->o.groups.window[g], first = window && r->n_past + 1 > window ? r->n_past + 1 - window : 0;
        for (uint32_t b = first / size; b <= (end - 1) / size; b++)
            if (r->table[g][b] >= e->o.n_block)
                return error_set(err, ERROR_USAGE, "positions from %u on are in block %u, the pool has %u", b * size, r->table[g][b], e->o.n_block);
    }
    return 0;
}

static int check_run(const struct engine *e, const struct engine_run *r, struct error *err)
{
    if (e->o.n_block == 0 && r->seq >= e->o.n_seq)
        return error_set(err, ERROR_USAGE, "sequence %u of %u", r->seq, e->o.n_seq);
    if (e->o.nextn && !r->hidden)
        return error_set(err, ERROR_USAGE, "engine: multi-token prediction without hidden states: engine_eval_runs() with them");
    if (r->n_tok < 1 || r->n_tok > e->o.n_ctx || r->n_past > e->o.n_ctx - r->n_tok)
        return error_set(err, ERROR_USAGE, "%u tokens after %u do not fit the context of %u positions", r->n_tok, r->n_past,
                         e->o.n_ctx);
    return e->o.n_block > 0 ? check_blocks(e, r, err) : check_rings(e, r, err);
}

static int check_tokens(const struct engine *e, const int32_t *tokens, uint32_t n, struct error *err)
{
    for (uint32_t i = 0; i < n; i++)
        if (tokens[i] < 0 || (uint32_t)tokens[i] >= e->m->hp.n_vocab)
            return error_set(err, ERROR_INPUT, "token %u: id %d is outside the vocabulary of %u", i, tokens[i],
                             e->m->hp.n_vocab);
    return 0;
}

static int too_many(const struct engine *e, uint32_t n, uint32_t n_out, struct error *err)
{
    return error_set(err, ERROR_USAGE, "pass of %u tokens with %u outputs: at most %u outputs in one pass of at most %u tokens",
                     n, n_out, e->o.n_out_max, e->o.n_ubatch);
}

/* Runs that share a prompt's beginning have the same first blocks, whose expanded rows one of them writes. */
static void find_shared(struct engine *e, uint32_t n_run)
{
    const uint32_t size = e->o.block_size;
    for (uint32_t r = 0; r < n_run; r++) {
        const struct engine_run *x = &e->run[r];
        const uint32_t most = x->n_past / size;
        uint32_t n = 0;
        for (uint32_t k = 0; k < r && n < most; k++) {
            const struct engine_run *y = &e->run[k];
            const uint32_t of_y = (y->n_past + y->n_tok) / size;
            uint32_t same = 0;
            while (same < most && same < of_y && x->table[0][same] == y->table[0][same])
                same++;
            n = same > n ? same : n;
        }
        e->run_shared[r] = n * size;
    }
}

/* One pass over e->run[0 .. n_run), already checked. */
static void run_pass(struct engine *e, const int32_t *tokens, uint32_t n_run)
{
    uint32_t n = 0, past = 0, n_out = 0;
    for (uint32_t r = 0; r < n_run; r++) {
        e->run_first[r] = n;
        for (uint32_t t = 0; t < e->run[r].n_tok; t++)
            e->run_of[n++] = r;
        for (uint32_t t = 0; e->o.nextn && t < e->run[r].n_tok; t++)
            memcpy(engine_row(e, BUF_HIDDEN, e->run_first[r] + t, 0), e->run[r].hidden + (size_t)t * e->m->hp.n_embd, e->m->hp.n_embd * sizeof(float));
        past = e->run[r].n_past > past ? e->run[r].n_past : past;
        if (e->o.n_block == 0)
            mark_overwritten(e, &e->run[r]);
        for (uint32_t i = 0; i < e->run[r].n_out; i++)
            e->out_row[n_out++] = n - e->run[r].n_out + i;
    }
    if (e->o.n_block > 0 && e->expanded_bytes > 0)
        find_shared(e, n_run);
    e->tokens = tokens;
    e->n_run = n_run;
    e->pass = (struct pass){ .n_tok = n, .n_past = past, .n_seq = n_run, .n_out = n_out };
    engine_run_pass(e);
}

int engine_eval(struct engine *e, const int32_t *tokens, uint32_t n, uint32_t n_past, uint32_t n_out,
                const float **logits, struct error *err)
{
    if (n < 1 || n_out > e->o.n_out_max || n_out > n || (n_out > 1 && n > e->o.n_ubatch))
        return too_many(e, n, n_out, err);
    if (e->o.n_block > 0)
        return error_set(err, ERROR_USAGE, "engine: a sequence of a paged KV cache needs its blocks: engine_eval_runs()");
    if (check_run(e, &(struct engine_run){ .n_past = n_past, .n_tok = n }, err) != 0 || check_tokens(e, tokens, n, err) != 0)
        return -1;
    for (uint32_t at = 0; at < n; at += e->run[0].n_tok) {
        if (interrupt_check(err) != 0)
            return -1;
        const uint32_t step = (uint32_t)u64_min(e->o.n_ubatch, n - at);
        e->run[0] = (struct engine_run){ .n_past = n_past + at, .n_tok = step, .n_out = at + step == n ? n_out : 0 };
        run_pass(e, tokens + at, 1);
    }
    if (logits)
        *logits = e->buf[BUF_LOGITS];
    return 0;
}

int engine_eval_runs(struct engine *e, const int32_t *tokens, const struct engine_run *run, uint32_t n_run,
                     const float **logits, struct error *err)
{
    uint64_t n = 0, n_out = 0;
    if (n_run < 1 || n_run > e->o.n_seq)
        return error_set(err, ERROR_USAGE, "pass of %u sequences, expected 1 to %u", n_run, e->o.n_seq);
    for (uint32_t r = 0; r < n_run; r++) {
        if (check_run(e, &run[r], err) != 0)
            return -1;
        for (uint32_t k = 0; e->o.n_block == 0 && k < r; k++)
            if (run[k].seq == run[r].seq)
                return error_set(err, ERROR_USAGE, "pass with sequence %u twice", run[r].seq);
        if (run[r].n_out > run[r].n_tok)
            return error_set(err, ERROR_USAGE, "%u tokens of a sequence with %u outputs", run[r].n_tok, run[r].n_out);
        n += run[r].n_tok;
        n_out += run[r].n_out;
    }
    if (n > e->o.n_ubatch || n_out > e->o.n_out_max)
        return too_many(e, (uint32_t)u64_min(n, UINT32_MAX), (uint32_t)u64_min(n_out, UINT32_MAX), err);
    if (check_tokens(e, tokens, (uint32_t)n, err) != 0)
        return -1;
    memcpy(e->run, run, n_run * sizeof *run);
    run_pass(e, tokens, n_run);
    if (logits)
        *logits = n_out > 0 ? e->buf[BUF_LOGITS] : NULL;
    return 0;
}
