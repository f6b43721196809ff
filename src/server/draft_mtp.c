#include "server/draft_mtp.h"
#include <stdlib.h>
#include <string.h>

struct draft_mtp {
    struct engine *e;
    uint32_t n_seq, n_ctx, n_tok, n_embd;
    struct draft_want **of; /* [n_seq] the sequence of each run of a pass */
    struct engine_run *run; /* [n_seq] */
    const uint32_t **table; /* [n_seq] */
    int32_t *tok;           /* [n_tok] */
    struct draft_want **todo; /* [cap] sequences that want further drafts */
    float *hidden;          /* [cap][n_embd] input of the next draft of each */
    size_t cap;
};

/* ---- life ------------------------------------------------------------------------------------------------------------ */

static int init(struct draft_mtp *d, struct engine *target, const struct model *m, struct error *err)
{
    struct engine_options o = *engine_options(target);
    if (o.groups.n > 1)
        return error_set(err, ERROR_UNAVAILABLE, "%s: multi-token prediction of a model with windows is predicted, not executed", m->path);
    o.shared = target;
    o.hidden = false;
    o.nextn = true;
    o.groups = (struct kv_groups){ .n = 0 };
    o.n_out_max = o.n_seq;
    if (!(d->e = engine_new(m, &o, err)))
        return -1;
    const struct engine_options *is = engine_options(d->e);
    *d = (struct draft_mtp){ .e = d->e, .n_seq = is->n_seq, .n_ctx = is->n_ctx, .n_tok = is->n_ubatch, .n_embd = m->hp.n_embd };
    d->of = malloc(d->n_seq * sizeof(struct draft_want *));
    d->run = malloc(d->n_seq * sizeof *d->run);
    d->table = malloc(d->n_seq * sizeof *d->table);
    d->tok = malloc(d->n_tok * sizeof *d->tok);
    return d->of && d->run && d->table && d->tok ? 0 : error_oom(err, d->n_seq * sizeof *d->run, "drafts");
}

struct draft_mtp *draft_mtp_new(struct engine *target, const struct model *m, struct error *err)
{
    struct draft_mtp *d = calloc(1, sizeof *d);
    if (!d) {
        error_oom(err, sizeof *d, "drafts");
        return NULL;
    }
    if (init(d, target, m, err) == 0)
        return d;
    draft_mtp_free(d);
    return NULL;
}

void draft_mtp_free(struct draft_mtp *d)
{
    if (!d)
        return;
    free((void *)(uintptr_t)d->of);
    free(d->run);
    free((void *)(uintptr_t)d->table);
    free(d->tok);
    free((void *)(uintptr_t)d->todo);
    free(d->hidden);
    engine_free(d->e);
    free(d);
}

static struct work work(const void *ctx)
{
    return engine_work(((const struct draft_mtp *)ctx)->e);
}

static void free_ctx(void *ctx)
{
    draft_mtp_free(ctx);
}

const struct engine *draft_mtp_engine(const struct draft_mtp *d)
{
    return d->e;
}

struct drafter draft_mtp_drafter(struct draft_mtp *d)
{
    return (struct drafter){ .ctx = d, .propose = draft_mtp_propose, .work = work, .free = free_ctx, .from_hidden = true };
}

/* ---- passes ---------------------------------------------------------------------------------------------------------- */

static int reserve(struct draft_mtp *d, size_t n, struct error *err)
{
    if (n <= d->cap)
        return 0;
    struct draft_want **todo = realloc((void *)(uintptr_t)d->todo, n * sizeof(struct draft_want *));
    d->todo = todo ? todo : d->todo;
    float *hidden = realloc(d->hidden, n * d->n_embd * sizeof *hidden);
    d->hidden = hidden ? hidden : d->hidden;
    if (!todo || !hidden)
        return error_oom(err, n * d->n_embd * sizeof *hidden, "drafts");
    d->cap = n;
    return 0;
}

/* Run r of a pass that has n_tok tokens so far. next: [run.n_tok] the tokens after the run's positions. */
static void set_run(struct draft_mtp *d, uint32_t r, uint32_t n_tok, struct draft_want *w, struct engine_run run, const int32_t *next)
{
    d->of[r] = w;
    d->table[r] = w->table;
    run.seq = r;
    run.table = &d->table[r];
    d->run[r] = run;
    memcpy(d->tok + n_tok, next, run.n_tok * sizeof *next);
}

/* One pass. Each run with logits yields a draft; its hidden state and its sequence are appended to d->hidden and d->todo at *row. */
static int run_pass(struct draft_mtp *d, uint32_t n_run, size_t *row, struct error *err)
{
    const uint32_t v = engine_n_vocab(d->e);
    const float *logits;
    size_t stride;
    if (engine_eval_runs(d->e, d->tok, d->run, n_run, &logits, err) != 0)
        return error_prefix(err, "multi-token prediction");
    const float *hidden = engine_hidden(d->e, &stride);
    for (uint32_t r = 0; r < n_run; r++) {
        if (d->run[r].n_out == 0)
            continue;
        struct draft_want *w = d->of[r];
        w->draft[w->n++] = logits_largest(logits, v);
        memcpy(d->hidden + *row * d->n_embd, hidden, d->n_embd * sizeof *hidden);
        d->todo[(*row)++] = w;
        logits += v;
        hidden += stride;
    }
    return 0;
}

/* Number of the step's positions whose next token is known. */
static uint32_t known_positions(const struct draft_want *w)
{
    const uint32_t n = w->n_known > w->n_past + 1 ? w->n_known - 1 - w->n_past : 0;
    return n < w->n_hidden ? n : w->n_hidden;
}

/* Computes the step's tokens of all sequences, and the first drafts. *n_todo: sequences with a draft, in d->todo. */
static int follow(struct draft_mtp *d, struct draft_want *w, size_t n, size_t *n_todo, struct error *err)
{
    uint32_t done = 0; /* of w[i] */
    *n_todo = 0;
    for (size_t i = 0; i < n;) {
        uint32_t n_run = 0, n_tok = 0;
        for (; i < n && n_run < d->n_seq && n_tok < d->n_tok; i++, done = 0) {
            const uint32_t left = known_positions(&w[i]) - done, room = d->n_tok - n_tok, k = left < room ? left : room, at = w[i].n_past + done;
            if (k == 0)
                continue;
            set_run(d, n_run++, n_tok, &w[i],
                    (struct engine_run){ .n_past = at, .n_tok = k, .n_out = k == left && w[i].most > 0, .hidden = w[i].hidden + (size_t)done * d->n_embd },
                    w[i].tok + at + 1);
            n_tok += k;
            done += k;
            if (k < left)
                break; /* continued by the next pass */
        }
        if (n_run > 0 && run_pass(d, n_run, n_todo, err) != 0)
            return -1;
    }
    return 0;
}

/* One more draft of each of the first *n of d->todo that wants more than n_have; *n becomes their number, the others leave d->todo. */
static int draft_more(struct draft_mtp *d, size_t *n, uint32_t n_have, struct error *err)
{
    size_t row = 0;
    for (size_t i = 0; i < *n;) {
        uint32_t n_run = 0;
        for (; i < *n && n_run < d->n_seq && n_run < d->n_tok; i++) {
            struct draft_want *w = d->todo[i];
            if (w->most <= n_have)
                continue;
            /* the first draft came from position n_known - 2 */
            set_run(d, n_run, n_run, w, (struct engine_run){ .n_past = w->n_known - 2 + n_have, .n_tok = 1, .n_out = 1, .hidden = d->hidden + i * d->n_embd },
                    &w->draft[n_have - 1]);
            n_run++;
        }
        if (n_run > 0 && run_pass(d, n_run, &row, err) != 0)
            return -1;
    }
    *n = row;
    return 0;
}

int draft_mtp_propose(void *ctx, struct draft_want *w, size_t n, struct error *err)
{
    struct draft_mtp *d = ctx;
    size_t n_todo;
    if (reserve(d, n, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const uint64_t positions = u64_min(w[i].n_position, d->n_ctx), room = positions + 2 > w[i].n_known ? positions + 2 - w[i].n_known : 0;
        w[i].n = 0;
        w[i].most = (uint32_t)u64_min(w[i].most, room);
    }
    if (follow(d, w, n, &n_todo, err) != 0)
        return -1;
    for (uint32_t k = 1; n_todo > 0; k++)
        if (draft_more(d, &n_todo, k, err) != 0)
            return -1;
    return 0;
}
