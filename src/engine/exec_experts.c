/*
 * Mixture of experts. Rows of the expert buffers, one per token and chosen expert, are grouped by expert: one product per expert and
 * pass, and only touched experts are read. methods.md (15), (16)
 */
#include "engine/internal.h"
#include "kernels/pack.h"
#include <math.h>
#include <string.h>

/* ---- routing ---- */

/* Logits to gate scores, in place. */
static void gate(const struct kernels *k, const struct op *op, float *p)
{
    const uint32_t n = op->n_expert;
    switch (op->route.gate) {
    case ROUTE_SIGMOID:
        for (uint32_t i = 0; i < n; i++)
            p[i] = 1 / (1 + expf(-p[i]));
        return;
    case ROUTE_SOFTMAX:
        k->softmax(p, n);
        return;
    case ROUTE_TOP_SOFTMAX: /* softmax over the chosen logits, later */
        return;
    }
}

/* Selection score: probability plus bias. */
static float score(const struct op *op, const float *p, uint32_t i)
{
    const float *bias = op->w ? op->w->data : NULL;
    return bias ? p[i] + bias[i] : p[i];
}

/* First maximum among the untaken experts of [lo, hi); lo if none. */
static uint32_t best(const struct op *op, const float *p, const unsigned char *taken, uint32_t lo, uint32_t hi)
{
    uint32_t at = hi;
    for (uint32_t i = lo; i < hi; i++)
        if (!taken[i] && (at == hi || score(op, p, i) > score(op, p, at)))
            at = i;
    return at < hi ? at : lo;
}

/* Score of a group: its best expert, with sigmoid gates the sum of its two best. */
static float group_score(const struct op *op, const float *p, unsigned char *taken, uint32_t lo, uint32_t hi)
{
    const uint32_t first = best(op, p, taken, lo, hi);
    if (op->route.gate != ROUTE_SIGMOID || hi - lo < 2)
        return score(op, p, first);
    taken[first] = 1;
    const float sum = score(op, p, first) + score(op, p, best(op, p, taken, lo, hi));
    taken[first] = 0;
    return sum;
}

/* Mark experts outside the best groups as taken. */
static void limit_groups(const struct op *op, const float *p, unsigned char *taken, float *groups)
{
    const uint32_t n = op->route.n_group, each = op->n_expert / n;
    for (uint32_t g = 0; g < n; g++)
        groups[g] = group_score(op, p, taken, g * each, (g + 1) * each);
    memset(taken, 1, op->n_expert);
    for (uint32_t k = 0; k < op->route.n_group_used; k++) {
        uint32_t at = n;
        for (uint32_t g = 0; g < n; g++)
            if (taken[g * each] && (at == n || groups[g] > groups[at]))
                at = g;
        memset(taken + at * each, 0, each);
    }
}

/* Weights of the chosen experts. */
static void weigh(const struct op *op, const float *p, const float *ids, float *weights)
{
    const uint32_t k = op->n_expert_used;
    const bool logits = op->route.gate == ROUTE_TOP_SOFTMAX;
    const float scale = op->route.scale > 0 ? op->route.scale : 1;
    double sum = 0;
    for (uint32_t s = 0; s < k; s++) {
        const float v = p[(uint32_t)ids[s]];
        weights[s] = logits ? expf(v - p[(uint32_t)ids[0]]) : v;
        sum += (double)weights[s];
    }
    for (uint32_t s = 0; s < k; s++)
        weights[s] = (float)((logits || op->route.norm ? weights[s] / sum : (double)weights[s]) * (double)scale);
}

/* ids and weights of one token from its logits (overwritten by scores). */
static void choose(const struct kernels *k, const struct op *op, float *p, float *dst, unsigned char *taken, float *groups)
{
    memset(taken, 0, op->n_expert);
    gate(k, op, p);
    if (op->route.n_group > 1)
        limit_groups(op, p, taken, groups);
    for (uint32_t s = 0; s < op->n_expert_used; s++) {
        const uint32_t at = best(op, p, taken, 0, op->n_expert);
        dst[s] = (float)at; /* exact below 2^24 */
        taken[at] = 1;
    }
    weigh(op, p, dst, dst + op->n_expert_used);
}

/* Counting sort of rows by expert, tokens ascending. */
static void group(struct engine *e, const struct op *op, size_t n_tok)
{
    struct routing *r = &e->routing;
    const uint32_t used = op->n_expert_used;
    memset(r->first, 0, ((size_t)op->n_expert + 1) * sizeof *r->first);
    for (size_t t = 0; t < n_tok; t++)
        for (uint32_t s = 0; s < used; s++)
            r->first[(uint32_t)engine_row(e, op->dst, t, s)[0] + 1]++;
    r->n_touched = 0;
    for (uint32_t x = 0; x < op->n_expert; x++) {
        if (r->first[x + 1] > 0)
            r->touched[r->n_touched++] = x;
        r->first[x + 1] += r->first[x];
    }
    for (size_t t = 0; t < n_tok; t++)
        for (uint32_t s = 0; s < used; s++) {
            const uint32_t row = r->first[(uint32_t)engine_row(e, op->dst, t, s)[0]]++;
            r->row_of[t * used + s] = row;
            r->token[row] = (uint32_t)t;
        }
    for (uint32_t x = op->n_expert; x > 0; x--) /* first[] was advanced to the next expert's start */
        r->first[x] = r->first[x - 1];
    r->first[0] = 0;
}

void exec_route(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const size_t n_tok = e->pass.n_tok, n = op->n_expert, used = op->n_expert_used;
    float *groups = e->thread[tid].scratch;
    unsigned char *taken = (unsigned char *)(groups + op->n_expert);
    const size_t t1 = engine_split(n_tok, 1, tid + 1, nt);
    for (size_t t = engine_split(n_tok, 1, tid, nt); t < t1; t++) {
        choose(&e->k, op, engine_row(e, op->src, t, 0), engine_row(e, op->dst, t, 0), taken, groups);
        w->act_bytes += (n + 2 * used) * sizeof(float);
        w->flop += 5 * n;
    }
    team_barrier(e->team);
    if (tid != 0)
        return;
    w->weight_bytes += op->w ? op->w->bytes : 0;
    group(e, op, n_tok);
    for (uint32_t k = 0, x; k < e->routing.n_touched; k++) {
        x = e->routing.touched[k];
        e->expert_uses[i][x] += e->routing.first[x + 1] - e->routing.first[x];
    }
    e->sample[i].n_pass++;
    e->sample[i].n_expert += e->routing.n_touched;
}

/* ---- the products ---------------------------------------------------------------------------- */

/* True if a token's experts read the same row (gate, up). */
static bool shares_row(const struct engine *e, const struct op *op)
{
    return e->pass.n_tok == 1 && !buf_is_grouped(op->src);
}

static const float *source_row(const struct engine *e, const struct op *op, size_t row)
{
    if (buf_is_grouped(op->src))
        return e->buf[op->src] + row * op->cols;
    return engine_row(e, op->src, e->routing.token[row], op->src_at);
}

/* Prepared activations of all grouped rows; of a single shared row, a copy per thread. */
static const struct acts *prepare(struct engine *e, size_t i, size_t n_row, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const enum act_kind kind = e->plan[i].act;
    const bool own = shares_row(e, op);
    struct acts *a = own ? &e->thread[tid].acts[kind] : &e->thread[tid].shared[kind];
    if (e->sync[i].reuses_acts)
        return a;
    if (own) {
        acts_bind(a, kind, 1, op->cols, e->thread[tid].act_mem[kind]);
        e->k.act_prepare[kind](a, engine_row(e, op->src, 0, op->src_at), 0, 0, 1);
        return a;
    }
    acts_bind(a, kind, n_row, op->cols, e->act_mem[kind]);
    a->pow2 = kernels_acts_pow2(&e->k, e->plan[i].packed, e->pass.n_tok); /* decided by tokens, not rows */
    const size_t r1 = engine_split(n_row, 1, tid + 1, nt);
    for (size_t r = engine_split(n_row, 1, tid, nt); r < r1; r++)
        e->k.act_prepare[kind](a, source_row(e, op, r), 0, r, r + 1);
    team_barrier(e->team);
    return a;
}

/* Rows [r0, r1) of prepared activations. */
static struct acts slice(const struct acts *a, size_t r0, size_t r1)
{
    struct acts s = *a;
    const size_t at = r0 * a->stride;
    s.n_tok = r1 - r0;
    s.f32 = a->f32 ? a->f32 + at : NULL;
    s.bf16 = a->bf16 ? a->bf16 + at : NULL;
    s.q = a->q ? a->q + at : NULL;
    s.d = a->d ? a->d + at / 32 : NULL;
    s.sum = a->sum ? a->sum + at / 16 : NULL;
    return s;
}

/* One expert's product. */
struct expert {
    struct acts x;
    struct matmul_args a;
    const float *bias;
};

static void bind(const struct engine *e, size_t i, const struct acts *all, uint32_t id, int tid, struct expert *x)
{
    const struct op *op = &e->ops.ops[i];
    const struct routing *r = &e->routing;
    const size_t rows = e->plan[i].packed ? size_align_up(op->rows, PACK_ROWS) : op->rows; /* rows of a matrix in memory */
    const size_t row_bytes = dtype_row_bytes(op->w->type, op->cols), first = r->first[id];
    x->x = shares_row(e, op) ? *all : slice(all, first, r->first[id + 1]);
    x->bias = op->bias ? (const float *)op->bias->data + (size_t)id * op->rows : NULL;
    x->a = (struct matmul_args){ .w = e->plan[i].w + (size_t)id * rows * row_bytes,
                                 .type = op->w->type,
                                 .w_row_bytes = row_bytes,
                                 .cols = op->cols,
                                 .x = &x->x,
                                 .y = e->buf[op->dst] + first * op->rows,
                                 .y_stride = op->rows,
                                 .scratch = e->thread[tid].scratch };
}

/* Few rows per expert: each thread computes a row range of every touched matrix. */
static void by_rows(struct engine *e, size_t i, const struct acts *all, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const struct matmul_slot *slot = e->plan[i].slot;
    const size_t r0 = engine_split(op->rows, slot->row_align, tid, nt);
    const size_t r1 = engine_split(op->rows, slot->row_align, tid + 1, nt);
    struct expert x;
    for (uint32_t k = 0; r0 < r1 && k < e->routing.n_touched; k++) {
        bind(e, i, all, e->routing.touched[k], tid, &x);
        exec_rows(e, slot, &x.a, op, x.bias, r0, r1, w);
    }
}

/* Many rows per expert: threads claim panels of touched matrices. */
static void by_panels(struct engine *e, size_t i, const struct acts *all, struct work *w, int tid)
{
    const struct op *op = &e->ops.ops[i];
    const struct matmul_slot *slot = e->plan[i].slot;
    const size_t n_panel = u64_ceil_div(op->rows, SHARE_GEMM_ROWS);
    struct expert x;
    for (;;) {
        const size_t u = engine_take(e, i), k = u / n_panel, r = u % n_panel * SHARE_GEMM_ROWS;
        if (k >= e->routing.n_touched)
            return;
        bind(e, i, all, e->routing.touched[k], tid, &x);
        exec_rows(e, slot, &x.a, op, x.bias, r, u64_min(r + SHARE_GEMM_ROWS, op->rows), w);
    }
}

void exec_expert_matmul(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const size_t n_row = (size_t)e->pass.n_tok * op->n_expert_used;
    const struct acts *all = prepare(e, i, n_row, tid, nt);
    if (tid == 0)
        w->act_bytes += n_row * op->cols * sizeof(float);
    if (e->pass.n_tok == 1)
        by_rows(e, i, all, w, tid, nt);
    else
        by_panels(e, i, all, w, tid);
}

/* methods.md (15) */
void exec_expert_sum(struct engine *e, size_t i, struct work *w, int tid, int nt)
{
    const struct op *op = &e->ops.ops[i];
    const size_t used = op->n_expert_used;
    const size_t c0 = engine_split(op->cols, 64, tid, nt), c1 = engine_split(op->cols, 64, tid + 1, nt);
    for (size_t t = 0; c0 < c1 && t < e->pass.n_tok; t++) {
        float *dst = engine_row(e, op->dst, t, 0);
        const float *weights = engine_row(e, op->src2, t, op->n_expert_used);
        memset(dst + c0, 0, (c1 - c0) * sizeof *dst);
        for (size_t s = 0; s < used; s++) {
            const float *x = e->buf[op->src] + (size_t)e->routing.row_of[t * used + s] * op->cols;
            for (size_t c = c0; c < c1; c++)
                dst[c] += weights[s] * x[c];
        }
        w->act_bytes += (used + 1) * (c1 - c0) * sizeof *dst;
        w->flop += 2 * used * (c1 - c0);
    }
}
