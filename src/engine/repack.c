/*
 * repack: copies product weights from the file mapping into panels (kernels/pack.h) in large pages. The mapping stays for readers of
 * the file layout (embedding, MLA heads); its copied pages are released, so that one copy is resident.
 */
#include "engine/internal.h"
#include "kernels/pack.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LARGE_PAGE = 2 << 20, CACHE_LINE = 64 };

/* Matrices of a tensor per op. */
static size_t n_matrix(const struct op *op)
{
    return op->kind == OP_EXPERT_MATMUL ? op->n_expert : 1;
}

static bool packable(const struct engine *e, const struct op *op, size_t *bytes)
{
    size_t one;
    return (op->kind == OP_MATMUL || op->kind == OP_EXPERT_MATMUL) && e->k.packed[op->w->type].gemv &&
           pack_bytes(op->w->type, op->rows, op->cols, &one) && size_mul(one, n_matrix(op), bytes);
}

/* Earlier op that multiplies by the same tensor, or i. */
static size_t first_user(const struct engine *e, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (e->ops.ops[k].w == e->ops.ops[i].w && e->plan[k].packed)
            return k;
    return i;
}

/* True if a copy of n bytes fits in memory (the mapped file may be larger). SIZE_MAX never fits. */
static bool fits(size_t n)
{
    const double have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    return (double)n < 0.8 * fmin(have, cgroup_memory_bytes(""));
}

/* The plan of a product by the same tensor in the engine whose weights e uses; NULL: e packs it itself. */
static const struct plan *shared_plan(const struct engine *e, const struct op *op)
{
    const struct engine *s = e->o.shared;
    for (size_t i = 0; s && i < s->ops.n; i++)
        if (op_is_product(&s->ops.ops[i]) && s->ops.ops[i].w == op->w)
            return &s->plan[i];
    return NULL;
}

void repack_plan(struct engine *e)
{
    size_t total = 0, bytes;
    for (size_t i = 0; i < e->ops.n; i++) {
        const struct op *op = &e->ops.ops[i];
        if (!op_is_product(op))
            continue;
        struct plan *p = &e->plan[i];
        p->slot = &e->k.mm[op->w->type];
        p->w = op->w->data;
        const struct plan *shared = shared_plan(e, op);
        if (shared ? !shared->packed : e->o.no_repack || !packable(e, op, &bytes))
            continue;
        p->packed = true;
        p->slot = &e->k.packed[op->w->type];
        if (!shared && first_user(e, i) == i && !size_add(total, size_align_up(bytes, CACHE_LINE), &total))
            total = SIZE_MAX;
    }
    if (fits(total)) {
        e->packed_bytes = total;
        return;
    }
    for (size_t i = 0; i < e->ops.n; i++)
        if (e->plan[i].packed && !shared_plan(e, &e->ops.ops[i])) {
            e->plan[i].packed = false;
            e->plan[i].slot = &e->k.mm[e->ops.ops[i].w->type];
        }
}

struct job {
    const struct model *m;
    const struct op *op;
    unsigned char *dst;
    size_t matrix_bytes;
};

/* Offset of panel u in the file layout; past the last: the end. */
static size_t source_at(const struct op *op, size_t u)
{
    const size_t panels = u64_ceil_div(op->rows, PACK_ROWS);
    return (u / panels * op->rows + u64_min(u % panels * PACK_ROWS, op->rows)) * dtype_row_bytes(op->w->type, op->cols);
}

/* Pack panels of all matrices in parallel, releasing their part of the mapping. */
static void pack_main(void *arg, int tid, int nt)
{
    const struct job *j = arg;
    const struct op *op = j->op;
    const size_t panels = u64_ceil_div(op->rows, PACK_ROWS), n = panels * n_matrix(op);
    const size_t src_bytes = op->rows * dtype_row_bytes(op->w->type, op->cols);
    const size_t first = engine_split(n, 1, tid, nt), end = engine_split(n, 1, tid + 1, nt);
    for (size_t u = first; u < end;) {
        const size_t m = u / panels, p = u % panels, p1 = u64_min(panels, p + end - u);
        pack_panels(op->w->type, j->dst + m * j->matrix_bytes, (const unsigned char *)op->w->data + m * src_bytes,
                    op->rows, op->cols, p, p1);
        u += p1 - p;
    }
    const size_t at = source_at(op, first), to = source_at(op, end);
    if (to > at)
        model_was_read(j->m, op->w, at, to - at);
}

/* Weights as another engine of the model has packed them. */
static void share(struct engine *e)
{
    for (size_t i = 0; i < e->ops.n; i++)
        if (e->plan[i].packed) {
            const struct plan *shared = shared_plan(e, &e->ops.ops[i]);
            e->plan[i].w = shared ? shared->w : e->plan[i].w;
        }
}

int repack(struct engine *e, struct error *err)
{
    if (e->o.shared)
        share(e);
    if (e->packed_bytes == 0)
        return 0;
    const uint64_t t0 = clock_now_ns();
    e->packed_map = e->packed_bytes + LARGE_PAGE;
    e->packed = mmap(NULL, e->packed_map, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (e->packed == MAP_FAILED) {
        e->packed = NULL;
        return error_set(err, ERROR_SYSTEM, "cannot map %zu bytes of packed weights: %s", e->packed_map, strerror(errno));
    }
    (void)madvise(e->packed, e->packed_map, MADV_HUGEPAGE);
    unsigned char *at = (unsigned char *)size_align_up((size_t)e->packed, LARGE_PAGE);
    for (size_t i = 0; i < e->ops.n; i++) {
        const struct op *op = &e->ops.ops[i];
        struct plan *p = &e->plan[i];
        if (!p->packed || shared_plan(e, op))
            continue;
        const size_t first = first_user(e, i);
        if (first < i) {
            p->w = e->plan[first].w;
            continue;
        }
        if (interrupt_check(err) != 0)
            return -1;
        struct job j = { e->m, op, at, 0 };
        (void)pack_bytes(op->w->type, op->rows, op->cols, &j.matrix_bytes); /* cannot fail: repack_plan checked */
        team_run(e->team, pack_main, &j);
        p->w = at;
        at += size_align_up(j.matrix_bytes * n_matrix(op), CACHE_LINE);
    }
    e->packed_seconds = (double)(clock_now_ns() - t0) * 1e-9;
    return 0;
}

void repack_free(struct engine *e)
{
    if (e->packed)
        munmap(e->packed, e->packed_map);
}
