/* kv.c: the metadata table, checked and sorted by key. Counts are checked against the remaining bytes; memory grows with entries
 * read. */
#include "gguf/internal.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Smallest entry: key length, one byte of key, type, a one-byte value. */
enum { MIN_KV_BYTES = 8 + 1 + 4 + 1 };

static const struct {
    const char *name;
    size_t bytes; /* 0: variable size */
} types[] = {
    [GGUF_U8] = { "u8", 1 },         [GGUF_I8] = { "i8", 1 },       [GGUF_U16] = { "u16", 2 },
    [GGUF_I16] = { "i16", 2 },       [GGUF_U32] = { "u32", 4 },     [GGUF_I32] = { "i32", 4 },
    [GGUF_F32] = { "f32", 4 },       [GGUF_BOOL] = { "bool", 1 },   [GGUF_STRING] = { "string", 0 },
    [GGUF_ARRAY] = { "array", 0 },   [GGUF_U64] = { "u64", 8 },     [GGUF_I64] = { "i64", 8 },
    [GGUF_F64] = { "f64", 8 },
};

const char *gguf_type_name(enum gguf_type t)
{
    return (size_t)t < ARRAY_LEN(types) ? types[t].name : "unknown";
}

size_t gguf_type_bytes(enum gguf_type t)
{
    return (size_t)t < ARRAY_LEN(types) ? types[t].bytes : 0;
}

/* Error about an entry, at the offset of its value. */
static int kv_error(const struct gguf_cursor *c, const struct gguf_kv *kv, const char *text,
                    uint64_t v)
{
    return error_set(c->err, ERROR_INPUT, "%s: key \"%s\" at offset %zu: %s %" PRIu64,
                     c->g->path, gguf_show(kv->key).s, (size_t)(kv->value - c->g->data), text, v);
}

/* A bool other than 0 or 1 means a damaged file. */
static int check_bools(struct gguf_cursor *c, const struct gguf_kv *kv, const unsigned char *p,
                       uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (p[i] > 1)
            return kv_error(c, kv, "a bool must be 0 or 1, found", p[i]);
    return 0;
}

static int read_string(struct gguf_cursor *c, const struct gguf_kv *kv)
{
    uint64_t len;
    size_t left = c->g->size - c->pos;
    if (left < 8)
        return kv_error(c, kv, "truncated: a string needs 8 bytes of length, left:", left);
    gguf_take_u64(c, &len, "a string");
    if (len > c->g->size - c->pos)
        return kv_error(c, kv, "truncated or damaged: a string is longer than the file:", len);
    c->pos += (size_t)len;
    return 0;
}

/* Walks all strings before allocating the index. */
static int read_strings(struct gguf_cursor *c, struct gguf_kv *kv)
{
    size_t start = c->pos, bytes;
    for (uint64_t i = 0; i < kv->n; i++)
        if (read_string(c, kv) != 0)
            return -1;
    if (!size_mul(kv->n, sizeof *kv->str_at, &bytes))
        return error_oom(c->err, SIZE_MAX, "an index of strings");
    kv->str_at = malloc(bytes ? bytes : 1);
    if (!kv->str_at)
        return error_oom(c->err, bytes, "an index of strings");
    const unsigned char *p = c->g->data + start;
    for (uint64_t i = 0; i < kv->n; i++) {
        kv->str_at[i] = (uint64_t)(p - kv->value);
        p += 8 + gguf_load_le(p, 8);
    }
    return 0;
}

static int read_array(struct gguf_cursor *c, struct gguf_kv *kv)
{
    uint32_t elem;
    if (gguf_take_u32(c, &elem, "an array's element type") != 0 ||
        gguf_take_u64(c, &kv->n, "an array's length") != 0)
        return -1;
    if (elem >= ARRAY_LEN(types))
        return kv_error(c, kv, "unknown type of array elements:", elem);
    kv->elem = (enum gguf_type)elem;
    if (kv->elem == GGUF_ARRAY)
        return kv_error(c, kv, "arrays of arrays are not supported; outer length", kv->n);
    size_t left = c->g->size - c->pos, bytes = types[elem].bytes;
    if (kv->n > left / (bytes ? bytes : 8)) /* a string has a length of 8 bytes at least */
        return kv_error(c, kv, "truncated or damaged: an array is longer than the file:", kv->n);
    if (kv->elem == GGUF_STRING)
        return read_strings(c, kv);
    const unsigned char *p = gguf_take(c, kv->n * bytes, "an array");
    return kv->elem == GGUF_BOOL ? check_bools(c, kv, p, kv->n) : 0;
}

static int read_kv(struct gguf_cursor *c, struct gguf_kv *kv)
{
    uint32_t type;
    int rc;
    if (gguf_take_name(c, GGUF_MAX_KEY, &kv->key, "a metadata key") != 0 ||
        gguf_take_u32(c, &type, "a metadata type") != 0)
        return -1;
    kv->value = c->g->data + c->pos;
    if (type >= ARRAY_LEN(types))
        return kv_error(c, kv, "unknown value type:", type);
    kv->type = (enum gguf_type)type;
    if (kv->type == GGUF_ARRAY) {
        rc = read_array(c, kv);
    } else if (kv->type == GGUF_STRING) {
        rc = read_string(c, kv);
    } else {
        const unsigned char *p = gguf_take(c, types[type].bytes, "a metadata value");
        rc = !p ? -1 : kv->type == GGUF_BOOL ? check_bools(c, kv, p, 1) : 0;
    }
    kv->bytes = c->pos - (size_t)(kv->value - c->g->data);
    return rc;
}

static int by_key(const void *a, const void *b)
{
    const struct gguf_kv *const *x = a, *const *y = b;
    return gguf_str_cmp((*x)->key, (*y)->key);
}

static int index_kvs(struct gguf *g, struct error *err)
{
    size_t bytes = g->n_kv * sizeof *g->kv_by_key; /* no overflow: g->kv is larger */
    g->kv_by_key = malloc(bytes ? bytes : 1);
    if (!g->kv_by_key)
        return error_oom(err, bytes, "an index of keys");
    for (size_t i = 0; i < g->n_kv; i++)
        g->kv_by_key[i] = g->kv + i;
    qsort(g->kv_by_key, g->n_kv, sizeof *g->kv_by_key, by_key);
    for (size_t i = 1; i < g->n_kv; i++)
        if (by_key(g->kv_by_key + i - 1, g->kv_by_key + i) == 0)
            return error_set(err, ERROR_INPUT, "%s: key \"%s\" appears twice", g->path,
                             gguf_show(g->kv_by_key[i]->key).s);
    return 0;
}

int gguf_read_kvs(struct gguf *g, struct gguf_cursor *c, uint64_t n)
{
    size_t cap = 0, left = g->size - c->pos;
    if (n > left / MIN_KV_BYTES)
        return error_set(c->err, ERROR_INPUT,
                         "%s: truncated or damaged: %" PRIu64
                         " metadata entries cannot fit in the %zu bytes that are left",
                         g->path, n, left);
    for (uint64_t i = 0; i < n; i++) {
        if (gguf_grow(&g->kv, g->n_kv, &cap, sizeof *g->kv, c->err) != 0)
            return -1;
        struct gguf_kv *kv = g->kv + g->n_kv++;
        *kv = (struct gguf_kv){ 0 };
        if (read_kv(c, kv) != 0)
            return -1;
    }
    if (index_kvs(g, c->err) != 0 ||
        gguf_opt_u64(g, GGUF_ALIGNMENT_KEY, &g->alignment, c->err) != 0)
        return -1;
    if (!gguf_alignment_ok(g->alignment))
        return error_set(c->err, ERROR_INPUT,
                         "%s: key \"%s\": %" PRIu64
                         ", expected a power of two that is at least 8",
                         g->path, GGUF_ALIGNMENT_KEY, g->alignment);
    return 0;
}
