/* The KV cache: one mapping for all layers. methods.md (22), (23) */
#include "base/notify.h"
#include "engine/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGN = 64 };

/* Layout [n_head_kv][position][dim]: attention streams a head's positions. *at: offset, advanced past the rows of a sequence or block. */
static int place(struct kv_rows *r, const char *what, enum dtype t, uint32_t n_head_kv, uint32_t dim, uint32_t n_row,
                 size_t *at, struct error *err)
{
    size_t bytes;
    if (dtype_check_kv(t, what, dim, err) != 0)
        return -1;
    r->type = t;
    r->n_row = n_row;
    r->row_bytes = dtype_row_bytes(t, dim);
    if (!size_mul(r->row_bytes, n_row, &r->head_bytes) || !size_mul(r->head_bytes, n_head_kv, &bytes) ||
        bytes > SIZE_MAX / 4 || !size_add(*at, size_align_up(bytes, ALIGN), at))
        return error_set(err, ERROR_USAGE, "context of %u positions: the KV cache's size overflows", n_row);
    return 0;
}

static int layout_sequence(struct engine *e, size_t *total, struct error *err)
{
    for (size_t i = 0; i < e->ops.n; i++) {
        const struct op *op = &e->ops.ops[i];
        if (op->kind != OP_KV_STORE)
            continue;
        struct kv_layer *l = &e->kv[op->layer];
        const uint64_t kept = op->window ? u64_min(e->o.n_ctx, (uint64_t)op->window + e->o.n_ubatch) : e->o.n_ctx;
        l->k_at = *total;
        if (place(&l->k, "keys", e->o.type_k, op->n_head_kv, op->head_dim, (uint32_t)kept, total, err) != 0)
            return -1;
        l->v_at = *total;
        if ((op->head_dim_v > 0 &&
             place(&l->v, "values", e->o.type_v, op->n_head_kv, op->head_dim_v, (uint32_t)kept, total, err) != 0))
            return -1;
    }
    return 0;
}

static void set_pages(struct kv_rows *r, const struct engine *e, size_t block_bytes)
{
    r->shift = (unsigned)__builtin_ctz(e->o.block_size);
    r->block_bytes = block_bytes;
}

/* In a block the values of a head follow its keys: with few pages of memory, and where the CPU's prefetchers run past the keys. methods.md (22) */
static int place_block(struct kv_layer *l, const struct engine *e, size_t *block, struct error *err)
{
    size_t k = 0, v = 0;
    if (place(&l->k, "keys", e->o.type_k, 1, l->head_dim, e->o.block_size, &k, err) != 0 ||
        (l->head_dim_v > 0 && place(&l->v, "values", e->o.type_v, 1, l->head_dim_v, e->o.block_size, &v, err) != 0))
        return -1;
    l->v_at = k;
    l->k.head_bytes = l->v.head_bytes = k + v;
    if (!size_mul(k + v, l->n_head_kv, block))
        return error_set(err, ERROR_USAGE, "blocks of %u positions: their size overflows", e->o.block_size);
    return 0;
}

_Static_assert(sizeof(struct kv_groups) == (2 + 2 * KV_MAX_GROUPS) * sizeof(uint32_t), "compared as bytes: without padding");

/*
 * The pool, layer by layer of a group: [size][n_block][n_head_kv][keys, values]. Layers with one place, of several groups, share their part: its blocks are as
 * large as the largest of them needs.
 */
static int layout_pool(struct engine *e, size_t *total, struct error *err)
{
    const uint32_t n_layer = e->n_layer, size = e->o.groups.size;
    uint32_t *group = calloc(2 * (size_t)n_layer, sizeof *group), *at_place = group ? group + n_layer : NULL;
    size_t *bytes = calloc(size ? size : 1, sizeof *bytes);
    int rc = group && bytes ? 0 : error_oom(err, n_layer * sizeof *group, "the KV cache");
    const struct kv_groups own = kv_groups_of_ops(&e->ops);
    if (rc == 0 && e->o.groups.n > 1 && memcmp(&own, &e->o.groups, sizeof own) != 0)
        rc = error_set(err, ERROR_USAGE, "engine: %u layer groups of %u, the model has %u of %u", e->o.groups.n, size, own.n, own.size);
    if (rc == 0)
        kv_groups_place(&e->o.groups, &e->ops, group, at_place);
    for (uint32_t i = 0; rc == 0 && i < n_layer; i++) {
        struct kv_layer *l = &e->kv[i];
        size_t block = 0;
        if (l->n_head_kv == 0)
            continue;
        rc = place_block(l, e, &block, err);
        l->group = group[i];
        bytes[at_place[i]] = block > bytes[at_place[i]] ? block : bytes[at_place[i]];
    }
    for (uint32_t p = 0; rc == 0 && p < size; p++) {
        size_t part;
        for (uint32_t i = 0; i < n_layer; i++)
            if (e->kv[i].n_head_kv > 0 && at_place[i] == p) {
                e->kv[i].k_at = *total;
                e->kv[i].v_at += *total;
                set_pages(&e->kv[i].k, e, bytes[p]);
                set_pages(&e->kv[i].v, e, bytes[p]);
            }
        if (!size_mul(bytes[p], e->o.n_block, &part) || !size_add(*total, part, total))
            rc = error_set(err, ERROR_USAGE, "%u blocks of %u positions: the KV cache's size overflows", e->o.n_block, e->o.block_size);
    }
    free(group);
    free(bytes);
    return rc;
}

/* Sets the layers' shapes, and one group where none are asked for. */
static void shapes(struct engine *e)
{
    uint32_t n = 0;
    for (size_t i = 0; i < e->ops.n; i++) {
        const struct op *op = &e->ops.ops[i];
        if (op->kind != OP_KV_STORE)
            continue;
        struct kv_layer *l = &e->kv[op->layer];
        l->window = op->window;
        l->n_head_kv = op->n_head_kv, l->head_dim = op->head_dim, l->head_dim_v = op->head_dim_v;
        n++;
    }
    if (e->o.groups.n == 0)
        e->o.groups = kv_groups_of(n, 0, 0);
}

static unsigned char *map(struct engine *e, size_t bytes, const char *what, struct error *err)
{
    const double have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if ((double)bytes > have) {
        char need[32], is[32];
        units_gib(need, sizeof need, (double)bytes);
        units_gib(is, sizeof is, have);
        if (e->o.n_block > 0)
            error_set(err, ERROR_USAGE, "%u blocks of %u positions: %s needs %s, this machine has %s", e->o.n_block, e->o.block_size, what, need, is);
        else
            error_set(err, ERROR_USAGE, "context of %u positions: %s needs %s, this machine has %s", e->o.n_ctx, what, need, is);
        return NULL;
    }
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p != MAP_FAILED) {
        (void)madvise(p, bytes, MADV_HUGEPAGE); /* best effort */
        return p;
    }
    error_set(err, ERROR_SYSTEM, "cannot map %zu bytes of %s: %s", bytes, what, strerror(errno));
    return NULL;
}

/* It holds one layer at a time, so that engines that run in turn on one pool can have one. */
static bool shares_expanded(const struct engine *e)
{
    const struct engine *s = e->o.shared;
    return s && s->expanded_bytes > 0 && e->o.n_block > 0 && e->o.n_block == s->o.n_block && e->o.block_size == s->o.block_size;
}

/* Expanded keys and values of all heads of an MLA layer: paged as the cache is. */
static int expanded_init(struct engine *e, struct error *err)
{
    const struct op *op = NULL;
    for (size_t i = 0; i < e->ops.n && !op; i++)
        if (e->ops.ops[i].kind == OP_KV_EXPAND)
            op = &e->ops.ops[i];
    if (!op)
        return 0;
    const bool pages = e->o.n_block > 0;
    if (shares_expanded(e)) {
        e->expanded_shared = true;
        e->expanded_k = e->o.shared->expanded_k;
        e->expanded_v = e->o.shared->expanded_v;
        e->expanded_bytes = e->o.shared->expanded_bytes;
        e->expanded_seq_bytes = e->o.shared->expanded_seq_bytes;
        return 0;
    }
    const uint32_t n_row = pages ? e->o.block_size : e->o.n_ctx;
    size_t at = 0, k_bytes;
    if (place(&e->expanded_k, "keys", DTYPE_F16, op->n_head, op->head_dim, n_row, &at, err) != 0)
        return -1;
    k_bytes = at;
    if (place(&e->expanded_v, "values", DTYPE_F16, op->n_head, op->head_dim_v, n_row, &at, err) != 0)
        return -1;
    e->expanded_seq_bytes = at;
    if (pages) {
        set_pages(&e->expanded_k, e, at);
        set_pages(&e->expanded_v, e, at);
    }
    if (!size_mul(at, pages ? e->o.n_block : e->o.n_seq, &e->expanded_bytes))
        return error_set(err, ERROR_USAGE, "%u %s: the expanded cache's size overflows", pages ? e->o.n_block : e->o.n_seq, pages ? "blocks" : "sequences");
    e->expanded_k.data = map(e, e->expanded_bytes, "the expanded cache of a layer", err);
    if (!e->expanded_k.data)
        return -1;
    e->expanded_v.data = e->expanded_k.data + k_bytes;
    return 0;
}

int kv_init(struct engine *e, struct error *err)
{
    size_t total = 0;
    e->kv = calloc(e->n_layer, sizeof *e->kv);
    e->kv_lost = calloc(e->o.n_seq, sizeof *e->kv_lost);
    if (!e->kv || !e->kv_lost)
        return error_oom(err, e->n_layer * sizeof *e->kv, "the KV cache");
    shapes(e);
    const bool pages = e->o.n_block > 0;
    if ((pages ? layout_pool : layout_sequence)(e, &total, err) != 0)
        return -1;
    e->kv_seq_bytes = total;
    if (!size_mul(total, pages ? 1 : e->o.n_seq, &e->kv_bytes))
        return error_set(err, ERROR_USAGE, "%u sequences of %u positions: the KV cache's size overflows", e->o.n_seq,
                         e->o.n_ctx);
    if (!(e->kv_mem = map(e, e->kv_bytes, "the KV cache", err)))
        return -1;
    for (uint32_t i = 0; i < e->n_layer; i++) {
        struct kv_layer *l = &e->kv[i];
        l->k.data = e->kv_mem + l->k_at;
        l->v.data = l->head_dim_v > 0 ? e->kv_mem + l->v_at : NULL;
    }
    return expanded_init(e, err);
}

/* A part of a mapping that the team's threads make resident: pages in turn, so that on several NUMA nodes each has its share. */
struct resident {
    unsigned char *at;
    size_t bytes;
};
enum { POPULATE_STEP = 2 << 20, POPULATE_PART = 128 * POPULATE_STEP, SMALL_PAGE = 4096 };

static void populate_main(void *arg, int tid, int nt)
{
    const struct resident *x = arg;
    for (size_t from = (size_t)tid * POPULATE_STEP; from < x->bytes; from += (size_t)nt * POPULATE_STEP)
        for (size_t i = from; i < x->bytes && i < from + POPULATE_STEP; i += SMALL_PAGE)
            *(volatile unsigned char *)(x->at + i) = 0;
}

static int populate(struct engine *e, unsigned char *at, size_t bytes, struct error *err)
{
    for (size_t i = 0; i < bytes; i += POPULATE_PART) {
        struct resident x = { at + i, bytes - i < POPULATE_PART ? bytes - i : POPULATE_PART };
        if (interrupt_check(err) != 0)
            return -1;
        if (bytes > POPULATE_PART)
            notify_progress(NULL, "KV cache", (double)i / (double)bytes);
        team_run(e->team, populate_main, &x);
    }
    notify_progress_done();
    return 0;
}

int kv_populate(struct engine *e, struct error *err)
{
    if (e->o.n_block == 0)
        return 0;
    return populate(e, e->kv_mem, e->kv_bytes, err) != 0 ? -1 : e->expanded_shared ? 0 : populate(e, (unsigned char *)(uintptr_t)e->expanded_k.data, e->expanded_bytes, err);
}

void kv_free(struct engine *e)
{
    if (e->kv_mem)
        munmap(e->kv_mem, e->kv_bytes);
    if (e->expanded_k.data && !e->expanded_shared)
        munmap((void *)(uintptr_t)e->expanded_k.data, e->expanded_bytes);
    free(e->kv);
    free(e->kv_lost);
}

const void *engine_kv(const struct engine *e, size_t *bytes)
{
    *bytes = e->kv_bytes;
    return e->kv_mem;
}

size_t engine_kv_bytes(const struct engine *e)
{
    return e->kv_bytes;
}

void engine_assume_kv(struct engine *e)
{
    memset(e->kv_lost, 0, e->o.n_seq * sizeof *e->kv_lost);
}

/* Small random rows, +-0.125 .. 0.25. */
enum { NOISE_ROWS = 16 };

/* Positions [0, n) of one head. */
static void fill_head(const struct kv_rows *r, unsigned char *base, uint32_t n, size_t dim, uint32_t *x)
{
    const struct dtype_info *d = dtype_find(r->type);
    const size_t block = d->block_elems;
    float noise[256];
    for (uint32_t j = 0; j < n && j < NOISE_ROWS; j++)
        for (size_t c = 0; c < dim; c += block) {
            for (size_t i = 0; i < block; i++) {
                *x = *x * 1664525u + 1013904223u;
                noise[i] = (float)((*x >> 16 & 1023) + 1024) * (*x >> 31 ? 0x1p-13f : -0x1p-13f);
            }
            d->quantize(noise, base + j * r->row_bytes + c / block * d->block_bytes, block);
        }
    for (uint32_t j = NOISE_ROWS; j < n; j++)
        memcpy(base + j * r->row_bytes, base + j % NOISE_ROWS * r->row_bytes, r->row_bytes);
}

/* n_part sequences or blocks, stride bytes apart. */
static void fill_rows(struct engine *e, const struct kv_rows *r, uint32_t n_part, size_t stride, uint32_t n, size_t heads, size_t dim, uint32_t *x)
{
    for (uint32_t i = 0; i < n_part; i++)
        for (size_t h = 0; h < heads; h++)
            fill_head(r, e->kv_mem + (r->data - e->kv_mem) + i * stride + h * r->head_bytes, n < r->n_row ? n : r->n_row, dim, x);
}

void engine_fill_kv(struct engine *e, uint32_t n_past)
{
    uint32_t x = 0x9e3779b9u;
    engine_assume_kv(e);
    const uint32_t n_part = e->o.n_block > 0 ? e->o.n_block : e->o.n_seq;
    for (uint32_t i = 0; i < e->n_layer; i++) {
        const struct kv_layer *l = &e->kv[i];
        const size_t stride = e->o.n_block > 0 ? l->k.block_bytes : e->kv_seq_bytes;
        fill_rows(e, &l->k, n_part, stride, n_past, l->n_head_kv, l->head_dim, &x);
        if (l->v.data)
            fill_rows(e, &l->v, n_part, stride, n_past, l->n_head_kv, l->head_dim_v, &x);
    }
}
