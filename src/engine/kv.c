/* The KV cache: one mapping, each layer's keys and values in it. methods.md (12), (40) */
#include "engine/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGN = 64 };

/* Shape of n_head_kv heads of dim elements; *at: where in the mapping they begin, and then end. */
static int place(struct kv_rows *r, const char *what, enum dtype t, uint32_t n_head_kv, uint32_t dim, uint32_t n_row,
                 size_t *at, struct error *err)
{
    size_t bytes;
    if (dtype_check_kv(t, what, dim, err) != 0)
        return -1;
    r->type = t;
    r->n_row = n_row;
    r->head_bytes = dtype_row_bytes(t, dim);
    if (!size_mul(r->head_bytes, n_head_kv, &r->row_bytes) || !size_mul(r->row_bytes, n_row, &bytes) ||
        bytes > SIZE_MAX / 4 || !size_add(*at, size_align_up(bytes, ALIGN), at))
        return error_set(err, ERROR_USAGE, "context of %u positions: the KV cache's size overflows", n_row);
    return 0;
}

static int layout(struct engine *e, size_t *total, struct error *err)
{
    for (size_t i = 0; i < e->ops.n; i++) {
        const struct op *op = &e->ops.ops[i];
        if (op->kind != OP_KV_STORE)
            continue;
        struct kv_layer *l = &e->kv[op->layer];
        const uint64_t kept = op->window ? u64_min(e->o.n_ctx, (uint64_t)op->window + e->o.n_ubatch) : e->o.n_ctx;
        l->window = op->window;
        if (place(&l->k, "keys", e->o.type_k, op->n_head_kv, op->head_dim, (uint32_t)kept, total, err) != 0 ||
            (op->head_dim_v > 0 &&
             place(&l->v, "values", e->o.type_v, op->n_head_kv, op->head_dim_v, (uint32_t)kept, total, err) != 0))
            return -1;
    }
    return 0;
}

static unsigned char *map(struct engine *e, size_t bytes, const char *what, struct error *err)
{
    const double have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if ((double)bytes > have) {
        char need[32], is[32];
        error_set(err, ERROR_USAGE, "context of %u positions: %s needs %s, this machine has %s", e->o.n_ctx, what,
                  units_gib(need, sizeof need, (double)bytes), units_gib(is, sizeof is, have));
        return NULL;
    }
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p != MAP_FAILED)
        return p;
    error_set(err, ERROR_SYSTEM, "cannot map %zu bytes of %s: %s", bytes, what, strerror(errno));
    return NULL;
}

/* Keys and values of all heads of a layer of MLA, for passes that expand them. */
static int wide_init(struct engine *e, struct error *err)
{
    const struct op *op = NULL;
    for (size_t i = 0; i < e->ops.n && !op; i++)
        if (e->ops.ops[i].kind == OP_KV_EXPAND)
            op = &e->ops.ops[i];
    if (!op)
        return 0;
    size_t at = 0, k_bytes;
    if (place(&e->wide_k, "keys", DTYPE_F16, op->n_head, op->head_dim, e->o.n_ctx, &at, err) != 0)
        return -1;
    k_bytes = at;
    if (place(&e->wide_v, "values", DTYPE_F16, op->n_head, op->head_dim_v, e->o.n_ctx, &at, err) != 0)
        return -1;
    e->wide_seq_bytes = at;
    if (!size_mul(at, e->o.n_seq, &e->wide_bytes))
        return error_set(err, ERROR_USAGE, "%u sequences: the expanded cache's size overflows", e->o.n_seq);
    e->wide_k.data = map(e, e->wide_bytes, "the expanded cache of a layer", err);
    if (!e->wide_k.data)
        return -1;
    e->wide_v.data = e->wide_k.data + k_bytes;
    return 0;
}

int kv_init(struct engine *e, struct error *err)
{
    size_t total = 0;
    e->kv = calloc(e->m->hp.n_layer, sizeof *e->kv);
    e->kv_lost = calloc(e->o.n_seq, sizeof *e->kv_lost);
    if (!e->kv || !e->kv_lost)
        return error_oom(err, e->m->hp.n_layer * sizeof *e->kv, "the KV cache");
    if (layout(e, &total, err) != 0)
        return -1;
    e->kv_seq_bytes = total;
    if (!size_mul(total, e->o.n_seq, &e->kv_bytes))
        return error_set(err, ERROR_USAGE, "%u sequences of %u positions: the KV cache's size overflows", e->o.n_seq,
                         e->o.n_ctx);
    if (!(e->kv_mem = map(e, e->kv_bytes, "the KV cache", err)))
        return -1;
    unsigned char *at = e->kv_mem;
    for (uint32_t i = 0; i < e->m->hp.n_layer; i++) {
        struct kv_layer *l = &e->kv[i];
        l->k.data = at;
        at += size_align_up(l->k.row_bytes * l->k.n_row, ALIGN);
        if (l->v.row_bytes == 0)
            continue;
        l->v.data = at;
        at += size_align_up(l->v.row_bytes * l->v.n_row, ALIGN);
    }
    return wide_init(e, err);
}

void kv_free(struct engine *e)
{
    if (e->kv_mem)
        munmap(e->kv_mem, e->kv_bytes);
    if (e->wide_k.data)
        munmap((void *)(uintptr_t)e->wide_k.data, e->wide_bytes);
    free(e->kv);
    free(e->kv_lost);
}

size_t engine_kv_bytes(const struct engine *e)
{
    return e->kv_bytes;
}

void engine_assume_kv(struct engine *e)
{
    memset(e->kv_lost, 0, e->o.n_seq * sizeof *e->kv_lost);
}

/* Rows of small random numbers, +-0.125 .. 0.25, as the cache would hold them. */
enum { NOISE_ROWS = 16 };

static void fill_rows(struct engine *e, const struct kv_rows *r, uint32_t n, uint32_t *x)
{
    const struct dtype_info *d = dtype_find(r->type);
    const size_t block = d->block_elems, row_elems = r->row_bytes / d->block_bytes * block;
    unsigned char *base = e->kv_mem + (r->data - e->kv_mem);
    float noise[256];
    n = n < r->n_row ? n : r->n_row;
    for (uint32_t j = 0; j < n && j < NOISE_ROWS; j++)
        for (size_t c = 0; c < row_elems; c += block) {
            for (size_t i = 0; i < block; i++) {
                *x = *x * 1664525u + 1013904223u;
                noise[i] = (float)((*x >> 16 & 1023) + 1024) * (*x >> 31 ? 0x1p-13f : -0x1p-13f);
            }
            d->quantize(noise, base + j * r->row_bytes + c / block * d->block_bytes, block);
        }
    for (uint32_t j = NOISE_ROWS; j < n; j++)
        memcpy(base + j * r->row_bytes, base + j % NOISE_ROWS * r->row_bytes, r->row_bytes);
}

void engine_fill_kv(struct engine *e, uint32_t n_past)
{
    uint32_t x = 0x9e3779b9u;
    engine_assume_kv(e);
    for (uint32_t s = 0; s < e->o.n_seq; s++)
        for (uint32_t i = 0; i < e->m->hp.n_layer; i++) {
            const struct kv_rows k = engine_rows_of(&e->kv[i].k, s, e->kv_seq_bytes);
            const struct kv_rows v = engine_rows_of(&e->kv[i].v, s, e->kv_seq_bytes);
            fill_rows(e, &k, n_past, &x);
            if (e->kv[i].v.data)
                fill_rows(e, &v, n_past, &x);
        }
}
