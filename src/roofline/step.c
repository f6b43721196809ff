/* A step's price: a walk over the classes of a step model. Formulas: methods.md (13), (14), (44). */
#include "roofline/internal.h"
#include <math.h>
#include <stdlib.h>

static bool runs(const struct cost *c)
{
    return all_bytes(c) > 0 || c->flop > 0 || c->link_bytes > 0;
}

static void add(struct step_sum *s, const struct step_class *c, const struct cost *k, const struct op_time *t)
{
    const double n = c->count;
    s->cost.weight_bytes += n * k->weight_bytes;
    s->cost.act_bytes += n * k->act_bytes;
    s->cost.kv_bytes += n * k->kv_bytes;
    s->cost.flop += n * k->flop;
    s->cost.link_bytes += n * k->link_bytes;
    s->seconds += n * t->seconds;
    s->memory_s += n * t->memory_s;
    s->compute_s += n * t->compute_s;
    s->link_s += n * t->link_s;
    s->bound_s[t->bound] += n * t->seconds;
}

enum bound bound_largest(const double s[BOUND_COUNT])
{
    int best = BOUND_MEMORY;
    for (int b = 0; b < BOUND_COUNT; b++)
        if (s[b] > s[best])
            best = b;
    return (enum bound)best;
}

enum bound step_bound(const struct step_sum *s)
{
    return bound_largest(s->bound_s);
}

struct step_sum step_price(const struct step_model *s, const struct roofs *r, const struct pass *p, uint32_t n_steps,
                           step_fn *fn, void *ctx)
{
    struct step_sum sum = { 0 };
    struct cost_memo memo = { 0 };
    for (size_t i = 0; i < s->n; i++) {
        const struct step_class *c = &s->c[i];
        struct cost k = cost_eval(&c->form, p, n_steps, &s->o.cost, &memo);
        if (!runs(&k)) /* not in this pass */
            continue;
        const struct op_time t = roofs_time(r, c, &k);
        k.link_bytes = t.link_bytes; /* of the way they are exchanged */
        add(&sum, c, &k, &t);
        if (fn)
            fn(ctx, c, &k, &t);
    }
    if (s->o.weights_bytes > 0) { /* a nominal model: whole numbers, which counts were divided by */
        sum.cost.weight_bytes = round(sum.cost.weight_bytes);
        sum.cost.flop = round(sum.cost.flop);
    }
    return sum;
}

/* ---- a scenario ------------------------------------------------------------------------------ */

static uint32_t one(uint32_t n)
{
    return n > 0 ? n : 1;
}

/* Sequences spread over the groups of devices: as many each, and one more in some. */
struct groups {
    uint32_t fewer, more, n_more;
    bool together; /* they meet at the experts, and so keep pace with the fullest */
};

static struct groups groups_of(const struct step_model *s, const struct scenario *o)
{
    const uint32_t dp = one(s->o.layout.dp), fewer = o->n_batch / dp, rest = o->n_batch % dp;
    return (struct groups){ fewer, rest > 0 ? fewer + 1 : fewer, rest > 0 ? rest : dp,
                            one(s->o.layout.ep) > one(s->o.layout.tp) };
}

/* The same model, its experts seeing the tokens of groups that are not all full. */
static struct step_model with_fill(const struct step_model *s, const struct scenario *o, const struct groups *g)
{
    struct step_model m = *s;
    m.o.cost.expert_fill = g->together ? (double)o->n_batch / ((double)g->more * one(s->o.layout.dp)) : 1;
    return m;
}

/* Tokens a second of all groups, n of each sequence: the fullest need `seconds`, the others `fewer_s`. */
static double tokens_s(const struct scenario *o, const struct step_model *s, const struct groups *g, double n, double seconds,
                       double fewer_s)
{
    if (g->together || g->more == g->fewer || g->fewer == 0)
        return n * o->n_batch / seconds;
    return n * ((double)g->n_more * g->more / seconds +
                (double)(one(s->o.layout.dp) - g->n_more) * g->fewer / fewer_s);
}

struct adding {
    const struct step_model *s;
    const struct roofs *r;
    step_fn *fn;
    void *ctx;
    struct step_sum sum;
    double longest_s; /* of the passes */
};

static void add_pass(void *ctx, const struct pass *p)
{
    struct adding *x = ctx;
    if (interrupt_check(NULL) != 0) /* the caller says so */
        return;
    const struct step_sum one_pass = step_price(x->s, x->r, p, 1, x->fn, x->ctx);
    x->sum.cost = cost_add(x->sum.cost, one_pass.cost);
    x->sum.seconds += one_pass.seconds;
    x->sum.memory_s += one_pass.memory_s;
    x->sum.compute_s += one_pass.compute_s;
    x->sum.link_s += one_pass.link_s;
    for (int b = 0; b < BOUND_COUNT; b++)
        x->sum.bound_s[b] += one_pass.bound_s[b];
    x->longest_s = fmax(x->longest_s, one_pass.seconds);
}

/* A prompt of each of so many sequences. */
static struct step_sum prefill_group(const struct step_model *s, const struct roofs *r, const struct scenario *o,
                                     uint32_t n_seq, step_fn *fn, void *ctx)
{
    struct adding x = { .s = s, .r = r, .fn = fn, .ctx = ctx };
    const uint32_t pp = one(s->o.layout.pp);
    prefill_passes(o->n_prompt, o->n_depth, o->n_ubatch, n_seq, add_pass, &x);
    if (pp > 1) /* passes follow each other through the stages: all but the longest overlap */
        x.sum.seconds = x.longest_s + (x.sum.seconds - x.longest_s) * s->stretch / pp;
    return x.sum;
}

struct step_sum step_prefill(const struct step_model *s, const struct roofs *r, const struct scenario *o, step_fn *fn,
                             void *ctx)
{
    const struct groups g = groups_of(s, o);
    const struct step_model m = with_fill(s, o, &g);
    struct step_sum sum = prefill_group(&m, r, o, g.more, fn, ctx);
    const bool two = g.fewer != g.more && g.fewer > 0 && !g.together;
    const double fewer_s = two ? prefill_group(&m, r, o, g.fewer, NULL, NULL).seconds : NAN;
    sum.tok_s = tokens_s(o, s, &g, o->n_prompt, sum.seconds, fewer_s);
    return sum;
}

/* A step of so many sequences. A pipeline has parts of them in every stage, some with one more; the stages pass on
 * what they have when the slowest is done. */
static struct step_sum decode_group(const struct step_model *s, const struct roofs *r, const struct scenario *o,
                                    uint32_t n_seq, step_fn *fn, void *ctx)
{
    const uint32_t pp = one(s->o.layout.pp), fewer = n_seq / pp, n_more = n_seq % pp;
    struct pass p = decode_pass(o->n_depth, fewer + (n_more > 0));
    struct step_sum sum = step_price(s, r, &p, o->n_gen, fn, ctx);
    if (n_seq < pp) /* each alone, from stage to stage */
        return sum;
    if (n_more > 0) {
        p = decode_pass(o->n_depth, fewer);
        const double fewer_s = step_price(s, r, &p, o->n_gen, NULL, NULL).seconds;
        sum.seconds = (n_more * sum.seconds + (pp - n_more) * fewer_s) / pp;
    }
    sum.seconds *= s->stretch;
    return sum;
}

struct step_sum step_decode(const struct step_model *s, const struct roofs *r, const struct scenario *o, step_fn *fn,
                            void *ctx)
{
    const struct groups g = groups_of(s, o);
    const struct step_model m = with_fill(s, o, &g);
    struct step_sum sum = decode_group(&m, r, o, g.more, fn, ctx);
    const bool two = g.fewer != g.more && g.fewer > 0 && !g.together;
    const double fewer_s = two ? decode_group(&m, r, o, g.fewer, NULL, NULL).seconds : NAN;
    sum.tok_s = tokens_s(o, s, &g, 1, sum.seconds, fewer_s);
    return sum;
}

/* ---- remembered prices ---------------------------------------------------------------------- */

enum { N_SLOT = 1 << 14 };

struct step_slot {
    struct pass p; /* n_tok 0: empty */
    double seconds;
};

int step_cache_init(struct step_cache *c, const struct step_model *s, const struct roofs *r, struct error *err)
{
    *c = (struct step_cache){ .s = s, .r = r, .slot = calloc(N_SLOT, sizeof *c->slot) };
    return c->slot ? 0 : error_oom(err, N_SLOT * sizeof *c->slot, "the table of prices");
}

void step_cache_free(struct step_cache *c)
{
    free(c->slot);
    *c = (struct step_cache){ 0 };
}

static size_t slot_of(const struct pass *p)
{
    uint64_t h = p->n_tok * UINT64_C(0x9e3779b97f4a7c15) ^ p->n_past * UINT64_C(0xc2b2ae3d27d4eb4f) ^
                 p->n_seq * UINT64_C(0x165667b19e3779f9) ^ p->n_out * UINT64_C(0x27d4eb2f165667c5);
    h ^= h >> 29;
    return (size_t)((h * UINT64_C(0xbf58476d1ce4e5b9)) >> (64 - 14));
}

double step_cache_seconds(struct step_cache *c, const struct pass *p)
{
    struct step_slot *s = &c->slot[slot_of(p)];
    if (s->p.n_tok == p->n_tok && s->p.n_past == p->n_past && s->p.n_seq == p->n_seq && s->p.n_out == p->n_out &&
        p->n_tok > 0) {
        c->n_hit++;
        return s->seconds;
    }
    c->n_miss++;
    *s = (struct step_slot){ *p, step_price(c->s, c->r, p, 1, NULL, NULL).seconds };
    return s->seconds;
}
