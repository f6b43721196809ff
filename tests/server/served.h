/* served.h: small random models served by a loop, for the tests of src/server. */
#ifndef TESTS_SERVER_SERVED_H
#define TESTS_SERVER_SERVED_H

#include "../engine/ref/make_random.h"
#include "server/loop_internal.h"
#include <unistd.h>

enum { SERVED_CTX = 96, SERVED_BLOCK = 8 };

struct served {
    struct model m;
    struct random_spec spec;
    char path[96];
};

/* who: of the test program, for its file; change: adapts the spec; NULL. */
static inline void served_open(struct served *s, const char *who, const char *family, int shape, void (*change)(struct random_spec *))
{
    struct error err = { 0 };
    *s = (struct served){ 0 };
    random_spec_at(&s->spec, family, shape);
    if (change)
        change(&s->spec);
    snprintf(s->path, sizeof s->path, "%s.%s.%d.%llu.gguf", who, family, shape, (unsigned long long)s->spec.seed);
    assert_ok(random_write(s->path, &s->spec, &err), err);
    assert_ok(model_load(&s->m, s->path, NULL, &err), err);
}

static inline void served_close(struct served *s)
{
    model_free(&s->m);
    unlink(s->path);
}

static inline struct policy served_policy(const struct served *s, const char *name, uint32_t max_num_seqs, uint32_t budget)
{
    struct error err = { 0 };
    struct policy p;
    struct op_list ops;
    assert_ok(policy_init(&p, name, &(struct policy_device){ .memory_bytes = 16e9 }, &err), err);
    p.max_num_seqs = max_num_seqs;
    p.max_num_batched_tokens = budget;
    p.block_size = p.kind == POLICY_LLAMA_SERVER ? 1 : SERVED_BLOCK;
    p.n_ubatch = p.kind == POLICY_LLAMA_SERVER ? 7 : 0;
    p.enable_chunked_prefill = p.kind == POLICY_VLLM;
    p.async_scheduling = false;
    policy_set_model_len(&p, SERVED_CTX);
    assert_ok(op_list_build(&ops, &s->m, &err), err);
    const struct kv_groups g = kv_groups_of_ops(&ops);
    op_list_free(&ops);
    if (g.n > 1 && p.kind == POLICY_VLLM) {
        p.n_group = g.n;
        memcpy(p.window, g.window, sizeof p.window);
        memcpy(p.n_layer, g.n_layer, sizeof p.n_layer);
    }
    return p;
}

/* For the policy's steps; p NULL: with a contiguous cache, for a sequence alone. */
static inline struct engine_options served_engine_options(const struct served *s, const struct policy *p, uint32_t n_block, int n_threads, unsigned flags)
{
    struct error err = { 0 };
    struct engine_options o = { .n_ctx = SERVED_CTX, .n_ubatch = SERVED_CTX, .n_out_max = 1, .n_threads = n_threads, .cpu_flags = flags & cpu_flags(),
                                .type_k = DTYPE_F32, .type_v = DTYPE_F32 };
    if (p) {
        o.n_ubatch = p->n_ubatch > 0 ? p->n_ubatch : p->max_num_batched_tokens;
        o.n_seq = p->max_num_seqs;
        o.n_out_max = o.n_ubatch;
        o.n_block = n_block;
        o.block_size = SERVED_BLOCK;
        if (p->n_group > 1) {
            struct op_list ops;
            assert_ok(op_list_build(&ops, &s->m, &err), err);
            o.groups = kv_groups_of_ops(&ops);
            op_list_free(&ops);
        }
    }
    return o;
}

static inline struct engine *served_engine(const struct served *s, const struct policy *p, uint32_t n_block, int n_threads, unsigned flags)
{
    struct error err = { 0 };
    const struct engine_options o = served_engine_options(s, p, n_block, n_threads, flags);
    struct engine *e = engine_new(&s->m, &o, &err);
    if (!e)
        fail_msg("%s: %s", s->path, err.msg);
    return e;
}

/* ---- what must hold on the real pool ---------------------------------------------------------------------------------- */

/* Blocks of a table of a batch that runs now, in group g. */
static inline const uint32_t *served_table(const struct loop *l, const struct flight *f, size_t i, uint32_t g)
{
    return l->o.policy.async_scheduling ? f->block + f->first[i * l->o.policy.n_group + g] : f->batch.e[i].seq->group[g].block;
}

/*
 * Of the batch that has run, before it is applied: in a sink. A block that the batch writes is written by one entry alone, and another entry's table
 * has it only below that entry's own positions: it was found in the prefix cache in the same step, and is read after it is written. So nothing is
 * ever written where others read something else.
 */
static inline const char *served_writes_shared(const struct loop *l, const struct flight *f)
{
    const struct policy *p = &l->o.policy;
    for (size_t i = 0; i < f->batch.n; i++) {
        const struct batch_entry *w = &f->batch.e[i];
        for (uint32_t g = 0; g < p->n_group; g++)
            for (uint32_t b = w->n_past / p->block_size; w->n_tok > 0 && b <= (w->n_past + w->n_tok - 1) / p->block_size; b++)
                for (size_t k = 0; k < f->batch.n; k++) {
                    const struct batch_entry *r = &f->batch.e[k];
                    const uint32_t n = (r->n_past + r->n_tok - 1) / p->block_size + 1;
                    for (uint32_t at = 0; k != i && r->n_tok > 0 && at < n; at++)
                        if (served_table(l, f, k, g)[at] == served_table(l, f, i, g)[b] &&
                            ((at + 1) * p->block_size > r->n_past || (b + 1) * p->block_size > w->n_past + w->n_tok || at != b || k < i))
                            return "a shared block is written";
                }
    }
    return NULL;
}

/* After every step, as a loop's function of it: ctx is struct served_watch. */
struct served_watch {
    struct loop *l;
    uint64_t n_step, n_shared; /* steps seen; blocks that several running sequences had */
};

static inline void served_check_step(void *ctx, const struct serve_step *step)
{
    struct served_watch *x = ctx;
    const struct loop *l = x->l;
    const char *broken = scheduler_broken(&l->s);
    assert_true(step->end_ps > step->start_ps);
    x->n_step++;
    if (broken)
        fail_msg("step %llu: %s", (unsigned long long)x->n_step, broken);
    if (l->slot) { /* no position of a slot is another's */
        uint8_t *seen = calloc(l->o.n_block, 1);
        for (uint32_t i = 0; i < l->o.policy.max_num_seqs; i++)
            for (uint32_t k = 0; k < l->slot[i].n; k++)
                assert_int_equal(seen[l->slot[i].block[k]]++, 0);
        for (uint32_t i = 0; i < l->n_free_block; i++)
            assert_int_equal(seen[l->free_block[i]]++, 0);
        for (uint32_t b = 0; b < l->o.n_block; b++)
            assert_int_equal(seen[b], 1);
        free(seen);
        return;
    }
    for (size_t i = 1; i < l->s.n_running; i++)
        for (uint32_t b = 0; b < l->s.running[i]->group[0].n && b < l->s.running[0]->group[0].n; b++)
            x->n_shared += l->s.running[i]->group[0].block[b] == l->s.running[0]->group[0].block[b];
}

/* Before a loop ends: nothing is held. */
static inline void served_check_end(const struct loop *l)
{
    const char *broken = scheduler_broken(&l->s);
    if (broken)
        fail_msg("at the end: %s", broken);
    assert_true(scheduler_idle(&l->s));
    if (!l->slot)
        assert_int_equal(scheduler_used_blocks(&l->s), 0);
}

#endif
