/* What a deployment takes of its devices' memory, and what it leaves for the KV cache. methods.md (25) */
#include "cost/internal.h"
#include <math.h>
#include <stdlib.h>

/* ---- what one device needs ---------------------------------------------------------------------- */

/* A server samples when the pass is over: of it the residual stream is left, and the experts' workspace where that stays. Before the
 * first pass its compiler times the kernel of embedding and first norm on random arguments: a table, and two rows of the residual
 * stream for each token. Alone, all buffers stay. */
static double activations(const struct stage *s, const struct memory_options *o, const struct memory_load *l)
{
    const double pass = l->n_tok * s->act_bytes + l->n_expanded * s->expanded_bytes,
                 logits = l->n_row * s->n_logit * o->logit_bytes,
                 left = s->hidden_bytes + (o->experts_stay ? s->expert_bytes : 0),
                 tuned = o->compiles && s->embed_bytes > 0 ? s->embed_bytes + 2 * l->n_tok * s->hidden_bytes : 0;
    return o->max_seqs > 0 ? fmax(fmax(pass, tuned), logits + (logits > 0 ? l->n_tok * left : 0)) : pass + logits;
}

/* Batches that have a graph: 1, 2, 4, from 8 on every 8th, from 256 on every 16th, up to `most`. */
static double n_captured(uint32_t most)
{
    return (most >= 1) + (most >= 2) + (most >= 4) + (most < 248 ? most : 248) / 8 + (most >= 256 ? (most - 256) / 16 + 1 : 0);
}

/* Each of them in pieces between the layers' attention, for prompts, and those of decode as a whole besides. */
static double graphs(const struct stage *s, const struct memory_options *o)
{
    const uint64_t twice = 2 * (uint64_t)o->max_seqs;
    uint32_t most = o->max_captured < o->max_batched_tokens ? o->max_captured : o->max_batched_tokens;
    most = twice < most ? (uint32_t)twice : most;
    return o->graph_layer_bytes * s->n_layer * (n_captured(most) + n_captured(o->max_seqs < most ? o->max_seqs : most));
}

static struct memory_need with_cache(const struct stage *s, const struct memory_options *o, const struct memory_load *l, double kv)
{
    const bool several = o->layout.tp > 1 || o->layout.ep > 1;
    struct memory_need n = {
        .weight_bytes = s->weight_bytes,
        .kv_bytes = kv,
        .act_bytes = activations(s, o, l),
        .runtime_bytes = o->context_bytes + (several ? o->comm_bytes : 0) + (o->rotations ? s->rotation_bytes : 0),
        .graph_bytes = graphs(s, o),
    };
    n.total_bytes = n.weight_bytes + n.kv_bytes + n.act_bytes + n.runtime_bytes + n.graph_bytes;
    return n;
}

/*
 * Pages of n_seq sequences. Without a window: ceil(n_ctx / block) each. With one: those its positions touch, one more
 * than they fill, and besides what the pass adds, which has no more than n_tok tokens over all sequences.
 */
static double pages(uint32_t window, uint32_t block, double n_seq, double n_tok, uint64_t n_ctx)
{
    const double all = n_seq * (double)u64_ceil_div(n_ctx, block);
    if (window == 0 || n_ctx <= window)
        return all;
    const double added = fmin(n_tok, n_seq * (double)(n_ctx - window));
    return fmin(all, n_seq * (double)(u64_ceil_div(window, block) + 1) + ceil(added / block));
}

static double cache_bytes(const struct stage *s, const struct memory_options *o, const struct memory_load *l)
{
    if (o->block == 1)
        return l->n_seq * stage_kv_bytes(s, l->n_ctx, o->max_batched_tokens);
    double bytes = l->n_seq * s->state_bytes;
    for (size_t i = 0; i < s->n_kv; i++)
        bytes += s->kv[i].row_bytes * o->block * pages(s->kv[i].window, o->block, l->n_seq, l->n_tok, l->n_ctx);
    return bytes;
}

/* A server's passes are bounded whatever it serves; a program by itself makes them for what there is. */
struct memory_load memory_load_of(const struct memory_options *o, uint64_t n_seq, uint64_t n_ctx)
{
    const uint32_t groups = o->layout.dp > 0 ? o->layout.dp : 1;
    const double seqs = (double)u64_ceil_div(n_seq, groups), tok = o->max_batched_tokens;
    struct memory_load l = { .n_seq = seqs, .n_tok = tok, .n_row = o->max_seqs, .n_expanded = tok, .n_ctx = n_ctx };
    if (o->max_seqs == 0) {
        l.n_tok = fmax(tok, seqs);
        l.n_row = seqs;
        l.n_expanded = seqs * (double)n_ctx;
    }
    return l;
}

struct memory_need memory_need_of(const struct stage *s, uint32_t n_stage, const struct memory_options *o,
                                  const struct memory_load *l)
{
    struct memory_need most = { 0 };
    for (uint32_t i = 0; i < n_stage; i++) {
        const struct memory_need n = with_cache(&s[i], o, l, cache_bytes(&s[i], o, l));
        if (i == 0 || n.total_bytes > most.total_bytes)
            most = n;
    }
    return most;
}

struct memory_need memory_need(const struct memory_model *m, uint64_t n_seq, uint64_t n_ctx)
{
    const struct memory_load l = memory_load_of(&m->o, n_seq, n_ctx);
    return memory_need_of(m->stage, m->n_stage, &m->o, &l);
}

int memory_fits(const struct memory_model *m, uint64_t n_seq, uint64_t n_ctx)
{
    return isnan(m->usable_bytes) ? -1 : memory_need(m, n_seq, n_ctx).total_bytes <= m->usable_bytes;
}

/* ---- a layout on a machine ------------------------------------------------------------------------- */

static int check_options(const struct memory_options *o, struct error *err)
{
    if (o->block < 1 || o->max_batched_tokens < 1)
        return error_set(err, ERROR_USAGE, "memory: blocks of %u positions, passes of %u tokens: expected at least one",
                         o->block, o->max_batched_tokens);
    if (o->max_seqs > o->max_batched_tokens)
        return error_set(err, ERROR_USAGE, "memory: %u sequences in a pass of %u tokens: expected no more sequences than tokens",
                         o->max_seqs, o->max_batched_tokens);
    if (!(o->utilization > 0 && o->utilization <= 1) || !(o->reserved >= 0 && o->reserved < 1))
        return error_set(err, ERROR_USAGE, "memory: a utilization of %g with %g reserved: expected fractions", o->utilization,
                         o->reserved);
    return 0;
}

int memory_model_init(struct memory_model *m, const struct op_classes *l, const struct hwprofile *h,
                      const struct memory_options *o, struct error *err)
{
    const struct cost_options c = { .act_elem_bytes = o->act_elem_bytes, .type_k = o->type_k, .type_v = o->type_v };
    const bool known = h->mem_bytes.value > 0;
    *m = (struct memory_model){ .o = *o,
                                .n_stage = o->layout.pp > 0 ? o->layout.pp : 1,
                                .memory_bytes = known ? h->mem_bytes.value : NAN };
    m->reserved_bytes = m->memory_bytes * o->reserved;
    m->usable_bytes = (m->memory_bytes - m->reserved_bytes) * o->utilization;
    if (o->release != MEMORY_ALONE && memory_rules_load(err) != 0)
        return -1;
    if (check_options(o, err) != 0 || cost_check_kv(l->ops, &c, err) != 0 || layout_check(&o->layout, l, err) != 0)
        return -1;
    m->stage = stages_new(l, &o->layout, &c);
    return m->stage ? 0 : error_oom(err, m->n_stage * sizeof *m->stage, "the memory of a stage");
}

void memory_model_free(struct memory_model *m)
{
    free(m->stage);
    *m = (struct memory_model){ 0 };
}

static struct memory_plan plan_of(const struct memory_model *m, const struct stage *s)
{
    const struct memory_load l = memory_load_of(&m->o, 1, 0);
    struct memory_plan p = { .need = with_cache(s, &m->o, &l, 0),
                             .kv_token_bytes = stage_kv_bytes(s, 1, 1) - s->state_bytes,
                             .kv_state_bytes = s->state_bytes,
                             .waste_tokens = (m->o.block - 1) / 2.0 };
    p.free_bytes = m->usable_bytes - p.need.total_bytes;
    p.block_bytes = p.kv_token_bytes * m->o.block;
    p.blocks = p.block_bytes > 0 ? floor(fmax(p.free_bytes, 0) / p.block_bytes) : NAN;
    if (isnan(p.free_bytes))
        p.blocks = NAN;
    p.tokens = p.blocks * m->o.block;
    return p;
}

static bool tighter(const struct memory_plan *a, const struct memory_plan *b)
{
    if (!isnan(a->blocks) && !isnan(b->blocks) && a->blocks != b->blocks)
        return a->blocks < b->blocks;
    return a->need.total_bytes > b->need.total_bytes;
}

struct memory_plan memory_plan(const struct memory_model *m)
{
    struct memory_plan least = plan_of(m, &m->stage[0]);
    for (uint32_t i = 1; i < m->n_stage; i++) {
        const struct memory_plan p = plan_of(m, &m->stage[i]);
        if (tighter(&p, &least))
            least = p;
    }
    return least;
}

/* ---- the most that fits ------------------------------------------------------------------------------ */

enum what { SEQUENCES, POSITIONS };

static bool holds(const struct memory_model *m, enum what w, uint64_t n, uint64_t other)
{
    return memory_fits(m, w == SEQUENCES ? n : other, w == SEQUENCES ? other : n) == 1;
}

/* The need grows with either: the largest n that fits, to the last one. */
static double largest_of(const struct memory_model *m, enum what w, uint64_t other)
{
    const uint64_t any = UINT64_C(1) << 40;
    uint64_t fits = 0, too_many = any;
    if (isnan(m->usable_bytes))
        return NAN;
    if (holds(m, w, any, other))
        return INFINITY;
    while (too_many - fits > 1) {
        const uint64_t mid = fits + (too_many - fits) / 2;
        if (holds(m, w, mid, other))
            fits = mid;
        else
            too_many = mid;
    }
    return (double)fits;
}

double memory_max_batch(const struct memory_model *m, uint64_t n_ctx)
{
    return largest_of(m, SEQUENCES, n_ctx);
}

double memory_max_context(const struct memory_model *m, uint64_t n_seq)
{
    return largest_of(m, POSITIONS, n_seq);
}

static uint32_t most_joined(const struct hwprofile *h)
{
    uint32_t most = 1;
    for (size_t i = 0; i < h->n_link; i++) {
        const uint32_t n = h->link[i].n_devices > 0 ? (uint32_t)h->link[i].n_devices : UINT32_MAX;
        most = n > most ? n : most;
    }
    return most;
}

struct tp_needed memory_tp_needed(const struct op_classes *l, const struct hwprofile *h, const struct memory_options *o,
                                  uint64_t n_seq, uint64_t n_ctx)
{
    struct tp_needed needed = { .joined = most_joined(h) };
    struct memory_options with = *o;
    for (uint32_t tp = 1; tp <= 1024 && needed.tp == 0; tp++) {
        struct memory_model m;
        with.layout.tp = tp;
        if (memory_model_init(&m, l, h, &with, NULL) != 0)
            continue;
        const bool enough = memory_fits(&m, n_seq, n_ctx) == 1;
        memory_model_free(&m);
        if (enough && layout_check_link(&with.layout, h, NULL) == 0)
            needed.tp = tp;
        else if (enough && needed.apart == 0)
            needed.apart = tp;
    }
    return needed;
}
