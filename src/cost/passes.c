/* The passes of a prompt and the first one of a generation. methods.md (21) */
#include "cost/cost.h"
#include <math.h>

/* Tokens of each sequence in a pass. */
static uint32_t pass_step(uint32_t n_ubatch, uint32_t seqs)
{
    return n_ubatch / seqs > 0 ? n_ubatch / seqs : 1;
}

uint64_t prefill_n_passes(uint32_t n, uint32_t n_ubatch, uint32_t n_seq_)
{
    return u64_ceil_div(n, pass_step(n_ubatch, n_seq_ > 0 ? n_seq_ : 1));
}

void prefill_passes(uint32_t n, uint32_t depth, uint32_t n_ubatch, uint32_t n_seq_,
                    pass_fn *fn, void *ctx)
{
    const uint32_t seqs = n_seq_ > 0 ? n_seq_ : 1, step = pass_step(n_ubatch, seqs);
    for (uint32_t at = 0; at < n;) {
        const uint32_t t = n - at < step ? n - at : step;
        const struct pass p = { .n_tok = t * seqs,
                                .n_past = depth + at,
                                .n_seq = seqs,
                                .n_out = t == n - at ? seqs : 0 };
        fn(ctx, &p);
        at += t;
    }
}

struct grouping {
    struct pass_group equal, last;
    double past;
};

static void group(void *ctx, const struct pass *p)
{
    struct grouping *x = ctx;
    if (p->n_out > 0) {
        x->last = (struct pass_group){ *p, 1 };
        return;
    }
    x->equal.p = *p;
    x->equal.n++;
    x->past += p->n_past;
}

size_t prefill_groups(uint32_t n, uint32_t depth, uint32_t n_ubatch, uint32_t n_seq_, struct pass_group out[2])
{
    struct grouping x = { .past = 0 };
    size_t k = 0;
    prefill_passes(n, depth, n_ubatch, n_seq_, group, &x);
    if (x.equal.n > 0) {
        x.equal.p.n_past = (uint32_t)round(x.past / x.equal.n);
        out[k++] = x.equal;
    }
    if (x.last.n > 0)
        out[k++] = x.last;
    return k;
}

struct pass decode_pass(uint32_t depth, uint32_t n_seq_)
{
    const uint32_t seqs = n_seq_ > 0 ? n_seq_ : 1;
    return (struct pass){ .n_tok = seqs, .n_past = depth, .n_seq = seqs, .n_out = seqs };
}

static void add_pass(struct draft_passes *p, struct pass pass, double times, uint32_t n_steps)
{
    if (!(times > 0))
        return;
    p->pass[p->n] = pass;
    p->times[p->n] = times;
    p->n_steps[p->n++] = n_steps;
}

struct draft_passes draft_passes_of(uint32_t n_seq, uint32_t n_past, uint32_t gamma, double first)
{
    const double n = first > 1 ? n_seq * first : n_seq, part = n - floor(n);
    struct pass pass = { .n_tok = (uint32_t)n, .n_past = n_past, .n_seq = n_seq, .n_out = n_seq };
    struct draft_passes p = { .n = 0 };
    const uint32_t n_first = n > n_seq;
    if (n_first) {
        add_pass(&p, pass, 1 - part, 1);
        pass.n_tok++;
        add_pass(&p, pass, part, 1);
    }
    add_pass(&p, decode_pass(n_past, n_seq), gamma - n_first, gamma - n_first);
    return p;
}

void phase_test_name(char *buf, size_t size, enum phase p, uint32_t n, uint32_t n_batch, uint32_t n_depth)
{
    char batch[16] = "", depth[16] = "";
    if (n_batch > 1)
        snprintf(batch, sizeof batch, "x%u", n_batch);
    if (n_depth > 0)
        snprintf(depth, sizeof depth, "@d%u", n_depth);
    snprintf(buf, size, "%s%u%s%s", p == PHASE_PREFILL ? "pp" : "tg", n, batch, depth);
}
