/* tensors.c: the tensor table: names, shapes, types, and data ranges that are in the file and disjoint. */
#include "gguf/internal.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Smallest info: name length and one byte, n_dims, one dimension, type, offset. */
enum { MIN_INFO_BYTES = 8 + 1 + 4 + 8 + 4 + 8 };

int gguf_tensor_measure(const char *path, struct gguf_tensor *t, struct error *err)
{
    const struct dtype_info *d = dtype_find_ggml((int64_t)t->type);
    size_t n_elems = 1, bytes;
    struct gguf_shown name = gguf_show(t->name);
    if (!d)
        return error_set(err, ERROR_INPUT, "%s: tensor \"%s\": unknown type %d", path, name.s,
                         (int)t->type);
    if (t->n_dims < 1 || t->n_dims > GGUF_MAX_DIMS)
        return error_set(err, ERROR_INPUT,
                         "%s: tensor \"%s\": %" PRIu32 " dimensions, expected 1 to %d", path,
                         name.s, t->n_dims, GGUF_MAX_DIMS);
    for (uint32_t i = 0; i < t->n_dims; i++) {
        if (t->dims[i] == 0)
            return error_set(err, ERROR_INPUT, "%s: tensor \"%s\": dimension %" PRIu32 " is zero",
                             path, name.s, i);
        if (t->dims[i] > INT64_MAX || !size_mul(n_elems, t->dims[i], &n_elems) ||
            n_elems > INT64_MAX)
            return error_set(err, ERROR_INPUT,
                             "%s: tensor \"%s\": the product of its dimensions overflows at "
                             "dimension %" PRIu32 " = %" PRIu64,
                             path, name.s, i, t->dims[i]);
    }
    if (t->dims[0] % d->block_elems != 0)
        return error_set(err, ERROR_INPUT,
                         "%s: tensor \"%s\": rows of %" PRIu64
                         " elements, expected a multiple of %u for type %s",
                         path, name.s, t->dims[0], d->block_elems, d->name);
    if (!size_mul(n_elems / d->block_elems, d->block_bytes, &bytes) || bytes > INT64_MAX)
        return error_set(err, ERROR_INPUT, "%s: tensor \"%s\": its size in bytes overflows", path,
                         name.s);
    t->bytes = bytes;
    return 0;
}

/* The message lists the supported types. */
static int unknown_type(const struct gguf_cursor *c, struct gguf_str name, uint32_t type)
{
    char known[600];
    size_t len = 0;
    const struct dtype_info *d;
    known[0] = '\0';
    for (size_t i = 0; (d = dtype_at(i)) && len < sizeof known - 32; i++)
        len += (size_t)snprintf(known + len, sizeof known - len, "%s%d %s", i ? ", " : "",
                                (int)d->id, d->name);
    return error_set(c->err, ERROR_INPUT,
                     "%s: tensor \"%s\": unknown type %" PRIu32 "; the known ones are %s",
                     c->g->path, gguf_show(name).s, type, known);
}

static int read_info(struct gguf_cursor *c, struct gguf_tensor *t)
{
    uint32_t type;
    if (gguf_take_name(c, GGUF_MAX_NAME, &t->name, "a tensor's name") != 0 ||
        gguf_take_u32(c, &t->n_dims, "a tensor's number of dimensions") != 0)
        return -1;
    for (uint32_t i = 0; i < GGUF_MAX_DIMS; i++) {
        t->dims[i] = 1;
        if (i < t->n_dims && gguf_take_u64(c, t->dims + i, "a tensor's dimension") != 0)
            return -1;
    }
    if (t->n_dims > GGUF_MAX_DIMS) /* the position of the type is unknown: measure reports n_dims */
        return gguf_tensor_measure(c->g->path, t, c->err);
    if (gguf_take_u32(c, &type, "a tensor's type") != 0 ||
        gguf_take_u64(c, &t->offset, "a tensor's offset") != 0)
        return -1;
    const struct dtype_info *d = dtype_find_ggml(type);
    if (!d)
        return unknown_type(c, t->name, type);
    t->type = d->id;
    if (t->offset % c->g->alignment != 0)
        return error_set(c->err, ERROR_INPUT,
                         "%s: tensor \"%s\": offset %" PRIu64
                         " is not a multiple of the alignment %" PRIu64,
                         c->g->path, gguf_show(t->name).s, t->offset, c->g->alignment);
    return gguf_tensor_measure(c->g->path, t, c->err);
}

static int by_name(const void *a, const void *b)
{
    const struct gguf_tensor *const *x = a, *const *y = b;
    return gguf_str_cmp((*x)->name, (*y)->name);
}

static int by_offset(const void *a, const void *b)
{
    const struct gguf_tensor *const *x = a, *const *y = b;
    return ((*x)->offset > (*y)->offset) - ((*x)->offset < (*y)->offset);
}

/* File offsets and data pointers; all data must be inside the file. */
static int place(struct gguf *g, size_t infos_end, struct error *err)
{
    const struct gguf_tensor *last = NULL;
    uint64_t mask = g->alignment - 1, last_end = 0;
    if (g->n_tensors == 0)
        return 0;
    uint64_t start = ((uint64_t)infos_end + mask) & ~mask;
    for (size_t i = 0; i < g->n_tensors; i++) {
        struct gguf_tensor *t = g->tensors + i;
        uint64_t end;
        if (start < infos_end || __builtin_add_overflow(t->offset, start, &t->offset) ||
            __builtin_add_overflow(t->offset, t->bytes, &end))
            return error_set(err, ERROR_INPUT, "%s: tensor \"%s\": its offset overflows", g->path,
                             gguf_show(t->name).s);
        if (!last || end > last_end) {
            last = t;
            last_end = end;
        }
    }
    if (last_end > g->file_size)
        return error_set(err, ERROR_INPUT,
                         "%s: truncated: tensor \"%s\" ends at byte %" PRIu64
                         ", the file has %" PRIu64 ": %" PRIu64 " bytes are missing",
                         g->path, gguf_show(last->name).s, last_end, g->file_size,
                         last_end - g->file_size);
    if (g->file_size == g->size)
        for (size_t i = 0; i < g->n_tensors; i++)
            g->tensors[i].data = g->data + g->tensors[i].offset;
    return 0;
}

/* g->tensors_by_name in table order. */
static int list_tensors(struct gguf *g, struct error *err)
{
    size_t bytes = g->n_tensors * sizeof *g->tensors_by_name; /* no overflow: g->tensors is larger */
    const struct gguf_tensor **t = realloc(g->tensors_by_name, bytes ? bytes : 1);
    if (!t)
        return error_oom(err, bytes, "an index of tensors");
    g->tensors_by_name = t;
    for (size_t i = 0; i < g->n_tensors; i++)
        t[i] = g->tensors + i;
    return 0;
}

static int check_overlap(struct gguf *g, struct error *err)
{
    if (list_tensors(g, err) != 0)
        return -1;
    const struct gguf_tensor **t = g->tensors_by_name; /* temporarily sorted by offset */
    qsort(t, g->n_tensors, sizeof *t, by_offset);
    for (size_t i = 1; i < g->n_tensors; i++)
        if (t[i - 1]->offset + t[i - 1]->bytes > t[i]->offset)
            return error_set(err, ERROR_INPUT,
                             "%s: tensors \"%s\" (bytes %" PRIu64 " to %" PRIu64
                             ") and \"%s\" (from %" PRIu64 ") overlap",
                             g->path, gguf_show(t[i - 1]->name).s, t[i - 1]->offset,
                             t[i - 1]->offset + t[i - 1]->bytes, gguf_show(t[i]->name).s,
                             t[i]->offset);
    return 0;
}

int gguf_index_names(struct gguf *g, struct error *err)
{
    if (list_tensors(g, err) != 0)
        return -1;
    const struct gguf_tensor **t = g->tensors_by_name;
    qsort(t, g->n_tensors, sizeof *t, by_name);
    for (size_t i = 1; i < g->n_tensors; i++)
        if (by_name(t + i - 1, t + i) == 0)
            return error_set(err, ERROR_INPUT, "%s: tensor \"%s\" appears twice%s%s",
                             gguf_file_path(g, t[i - 1]->file), gguf_show(t[i]->name).s,
                             t[i]->file != t[i - 1]->file ? ", here and in " : "",
                             t[i]->file != t[i - 1]->file ? gguf_file_path(g, t[i]->file) : "");
    return 0;
}

int gguf_read_tensors(struct gguf *g, struct gguf_cursor *c, uint64_t n)
{
    size_t cap = 0, left = g->size - c->pos;
    if (n > left / MIN_INFO_BYTES)
        return error_set(c->err, ERROR_INPUT,
                         "%s: truncated or damaged: %" PRIu64
                         " tensors cannot be listed in the %zu bytes that are left",
                         g->path, n, left);
    for (uint64_t i = 0; i < n; i++) {
        if (gguf_grow(&g->tensors, g->n_tensors, &cap, sizeof *g->tensors, c->err) != 0)
            return -1;
        struct gguf_tensor *t = g->tensors + g->n_tensors++;
        *t = (struct gguf_tensor){ 0 };
        if (read_info(c, t) != 0)
            return -1;
    }
    if (place(g, c->pos, c->err) != 0 || check_overlap(g, c->err) != 0)
        return -1;
    return gguf_index_names(g, c->err);
}

size_t gguf_n_tensors(const struct gguf *g)
{
    return g->n_tensors;
}

const struct gguf_tensor *gguf_tensor_at(const struct gguf *g, size_t i)
{
    return i < g->n_tensors ? g->tensors + i : NULL;
}

const struct gguf_tensor *gguf_tensor_find(const struct gguf *g, const char *name)
{
    struct gguf_str k = { name, strlen(name) };
    size_t lo = 0, hi = g->n_tensors;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = gguf_str_cmp(g->tensors_by_name[mid]->name, k);
        if (c == 0)
            return g->tensors_by_name[mid];
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}
