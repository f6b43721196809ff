/* Fusion and barriers of a pass: a barrier precedes an op with a data dependence on another thread since the last barrier. */
#include "model/barriers.h"

/* Buffer bit set; shared prepared activations, the cache and its expansion are extra buffers. */
enum { ACTS = BUF_COUNT, CACHE, EXPANDED, N_BITS };
#define BIT(b) ((uint64_t)1 << (b))
_Static_assert(N_BITS <= 64, "buffers fit a bit set");

static uint64_t bit(enum op_buf b)
{
    return b == BUF_NONE ? 0 : BIT(b);
}

bool buf_is_grouped(enum op_buf b)
{
    return b == BUF_EXPERT_GATE || b == BUF_EXPERT_UP || b == BUF_EXPERT_OUT;
}

static bool shares_acts(const struct op *op)
{
    return op->kind == OP_MATMUL || op->kind == OP_EXPERT_MATMUL;
}

bool barriers_same_source(const struct op_list *l, size_t i)
{
    if (i == 0)
        return false;
    const struct op *op = &l->ops[i], *before = op - 1;
    return shares_acts(op) && before->kind == op->kind && before->src == op->src && before->src_at == op->src_at &&
           before->cols == op->cols && before->dst != op->src && before->out_rows == op->out_rows;
}

/* ---- fusion ---- */

static bool plain(const struct op *op)
{
    return !op->out_rows && op->dst_at == 0;
}

/* The next op adds this product to the residual. */
static bool fuses_add(const struct op *op, const struct op *next)
{
    return next->kind == OP_ADD && plain(op) && plain(next) && next->src == op->dst && next->dst != op->dst &&
           next->dst != op->src && next->src_at == 0 && next->cols == op->rows;
}

/* Gate and up projections followed by their GLU. */
static bool fuses_glu(const struct op *gate, const struct op_sync *sync)
{
    const struct op *up = gate + 1, *glu = gate + 2;
    return up->kind == OP_MATMUL && glu->kind == OP_GLU && plain(gate) && plain(up) && plain(glu) && sync[1].reuses_acts && up->rows == gate->rows &&
           up->dst != gate->dst && glu->cols == gate->rows && glu->src == gate->dst && glu->src2 == up->dst && glu->src_at == 0 &&
           glu->src2_at == 0 && glu->dst != gate->src;
}

/* Fuse products with the ops that follow them. */
static void plan_fusion(const struct op_list *l, struct op_sync *sync)
{
    for (size_t i = 0; i + 1 < l->n; i++) {
        const struct op *op = &l->ops[i];
        struct op_sync *p = &sync[i];
        if (op->kind != OP_MATMUL || p->fused_away)
            continue;
        if (fuses_add(op, op + 1))
            p->fuse = FUSE_ADD;
        else if (i + 2 < l->n && fuses_glu(op, p))
            p->fuse = FUSE_GLU;
        for (size_t k = 1; k <= (p->fuse == FUSE_GLU ? 2 : p->fuse == FUSE_ADD); k++)
            p[k].fused_away = true;
    }
}

/* One-token norms read by products only are replicated on every thread: cheaper than a barrier. */
static void plan_replicated_norms(const struct op_list *l, struct op_sync *sync)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct op *norm = &l->ops[i];
        size_t last = i;
        bool own = norm->kind == OP_RMS_NORM && norm->n_head == 1 && plain(norm) && norm->dst != norm->src;
        for (size_t k = i + 1; own && k < l->n; k++) {
            const struct op *op = &l->ops[k];
            const bool reads = op->src == norm->dst || op->src2 == norm->dst;
            own = !reads || (op->kind == OP_MATMUL && op->src2 != norm->dst && op->src_at == 0 && op->cols == norm->cols);
            last = reads ? k : last;
            if (op->dst == norm->dst)
                break;
        }
        if (!own || last == i)
            continue;
        sync[i].replicated = true;
        for (size_t k = i + 1; k <= last; k++)
            sync[k].replicated = l->ops[k].src == norm->dst;
    }
}

/* ---- accesses ---- */

/* Work division of an op: with equal divisions, the same thread touches the same parts. */
enum split { SPLIT_ANY, SPLIT_TOKENS, SPLIT_COLS /* plus the number of columns */ };

/* Accesses by kind, in addition to reading src and src2 and writing dst. Kinds not listed have no others. */
static const struct {
    enum split split;
    bool updates; /* reads dst */
    uint64_t reads, writes;
} kinds[OP_KIND_COUNT] = {
    [OP_EMBED] = { .split = SPLIT_TOKENS },
    [OP_RMS_NORM] = { .split = SPLIT_TOKENS },
    [OP_ROPE] = { .split = SPLIT_TOKENS, .updates = true },
    [OP_KV_STORE] = { .split = SPLIT_TOKENS, .writes = BIT(CACHE) },
    [OP_ADD] = { .split = SPLIT_COLS, .updates = true },
    [OP_EXPERT_SUM] = { .split = SPLIT_COLS }, /* reads rows and weights of all experts */
    [OP_MATMUL] = { .reads = BIT(ACTS) },
    [OP_EXPERT_MATMUL] = { .reads = BIT(ACTS) },
    [OP_KV_EXPAND] = { .reads = BIT(CACHE), .writes = BIT(EXPANDED) },
    [OP_ATTENTION] = { .reads = BIT(CACHE) },
};

struct access {
    uint64_t reads, writes;
    uint64_t split;
};

static uint64_t split_of(const struct op *op)
{
    const enum split s = kinds[op->kind].split;
    if (s == SPLIT_COLS)
        return plain(op) && op->src_at == 0 ? SPLIT_COLS + (uint64_t)op->cols : SPLIT_ANY;
    return op->out_rows || (op->kind == OP_RMS_NORM && op->n_head > 1) ? SPLIT_ANY : s;
}

/* Accesses excluding preparation of shared activations; own: one token, with op_sync.replicated. */
static struct access access_of(const struct op *op, bool own)
{
    struct access a = { bit(op->src) | bit(op->src2) | kinds[op->kind].reads, bit(op->dst) | kinds[op->kind].writes, split_of(op) };
    if (kinds[op->kind].updates)
        a.reads |= bit(op->dst);
    if (op->kind == OP_ATTENTION && op->form == FORM_EXPANDED)
        a.reads ^= BIT(CACHE) | BIT(EXPANDED);
    if (own && op->kind == OP_MATMUL)
        a.reads &= ~bit(op->src);
    if (own && op->kind == OP_RMS_NORM) { /* every thread reads all of it */
        a.writes = 0;
        a.split = SPLIT_ANY;
    }
    return a;
}

bool barriers_is_dead(const struct op_list *l, size_t i, enum op_buf buf)
{
    for (; i < l->n; i++) {
        const struct op *op = &l->ops[i];
        const struct access a = access_of(op, false);
        if (a.reads & bit(buf))
            return false;
        if (a.writes & bit(buf) && plain(op) && op->form == FORM_ALWAYS && op->kind != OP_HEAD_MATMUL)
            return true;
    }
    return true;
}

/* ---- barriers ---- */

/* Buffers accessed since the last barrier. */
struct touched {
    uint64_t read, written;
    uint64_t split[N_BITS]; /* [buffer] division of all accesses; SPLIT_ANY: differing */
};

static bool conflicts(const struct touched *t, const struct access *a)
{
    const uint64_t shared = (a->reads & t->written) | (a->writes & (t->read | t->written));
    for (int b = 0; b < N_BITS; b++)
        if (shared >> b & 1 && (a->split == SPLIT_ANY || t->split[b] != a->split))
            return true;
    return false;
}

static void touch(struct touched *t, const struct access *a)
{
    for (int b = 0; b < N_BITS; b++) {
        if (!((a->reads | a->writes) >> b & 1))
            continue;
        const bool first = !((t->read | t->written) >> b & 1);
        t->split[b] = first || t->split[b] == a->split ? a->split : SPLIT_ANY;
    }
    t->read |= a->reads;
    t->written |= a->writes;
}

/* True if activations are prepared in shared memory, by tokens, with a barrier after; one token's are private. */
static bool prepares(const struct op *op, const struct op_sync *p, bool one)
{
    if (!shares_acts(op) || p->reuses_acts)
        return false;
    return op->kind == OP_EXPERT_MATMUL ? !one || buf_is_grouped(op->src) : !one && !op->out_rows;
}

static void plan_barriers(const struct op_list *l, struct op_sync *sync, bool one)
{
    struct touched t = { 0 };
    for (size_t i = 0; i < l->n; i++) {
        const struct op *op = &l->ops[i];
        struct op_sync *p = &sync[i];
        if (p->fused_away)
            continue;
        struct access a = access_of(op, one && p->replicated);
        for (size_t k = 1; i + k < l->n && p[k].fused_away; k++) {
            const struct access b = access_of(op + k, one && p[k].replicated);
            a.reads |= b.reads;
            a.writes |= b.writes;
        }
        const struct access prepare = { bit(op->src) | bit(op->src2), BIT(ACTS), op->kind == OP_MATMUL ? SPLIT_TOKENS : SPLIT_ANY };
        p->prepares[one] = prepares(op, p, one);
        if (!p->prepares[one] && shares_acts(op) && !p->reuses_acts)
            a.writes |= BIT(ACTS); /* shared if several logits rows are wanted */
        p->barrier[one] = conflicts(&t, p->prepares[one] ? &prepare : &a);
        if (p->barrier[one] || p->prepares[one])
            t = (struct touched){ 0 };
        touch(&t, &a);
    }
}

void barriers_plan(const struct op_list *l, struct op_sync *sync)
{
    plan_fusion(l, sync);
    plan_replicated_norms(l, sync);
    plan_barriers(l, sync, false);
    plan_barriers(l, sync, true);
}
