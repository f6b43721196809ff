/*
 * writer.c: GGUF version 3 in one pass. Metadata and infos are collected in memory; begin_data lays out the tensors, applies the reader's
 * checks to the header and writes it; tensor data is streamed.
 */
#include "gguf/internal.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

enum { VERSION = 3, MAX_WRITTEN_NAME = 63 /* some readers store a NUL in their 64 bytes */ };

struct gguf_writer {
    struct outfile out;
    struct strbuf kv; /* encoded entries */
    uint64_t n_kv;
    struct gguf_tensor *tensors; /* names owned; offset from the start of the data */
    size_t n_tensors, cap;
    uint64_t alignment;
    bool begun;
    size_t current; /* tensor being written */
    uint64_t done;  /* bytes of it written */
    struct error sticky;
};

static void put_le(struct strbuf *b, uint64_t v, size_t n)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(v >> 8 * i);
    strbuf_add(b, bytes, n);
}

static void put_str(struct strbuf *b, const char *s, size_t len)
{
    put_le(b, len, 8);
    strbuf_add(b, s, len);
}

static int sticky(const struct gguf_writer *w, struct error *err)
{
    if (w->sticky.kind == ERROR_NONE)
        return 0;
    return error_set(err, w->sticky.kind, "%s", w->sticky.msg);
}

struct gguf_writer *gguf_writer_new(const char *path, struct error *err)
{
    struct gguf_writer *w = calloc(1, sizeof *w);
    if (!w) {
        error_oom(err, sizeof *w, "a GGUF writer");
        return NULL;
    }
    if (outfile_open(&w->out, path, err) != 0) {
        free(w);
        return NULL;
    }
    w->alignment = GGUF_ALIGNMENT;
    return w;
}

/* Key and type of an entry; the caller appends the value. */
static void put_key(struct gguf_writer *w, struct gguf_str key, enum gguf_type type)
{
    if (key.len < 1 || key.len > GGUF_MAX_KEY)
        error_set(&w->sticky, ERROR_INPUT, "%s: a metadata key of %zu bytes, expected 1 to %d",
                  w->out.path, key.len, GGUF_MAX_KEY);
    if (w->begun)
        error_set(&w->sticky, ERROR_INPUT, "%s: key \"%s\" after the data began", w->out.path,
                  gguf_show(key).s);
    put_str(&w->kv, key.s, key.len);
    put_le(&w->kv, (uint64_t)type, 4);
    w->n_kv++;
}

static struct gguf_str str_of(const char *s)
{
    return (struct gguf_str){ s, strlen(s) };
}

static void set_alignment(struct gguf_writer *w, uint64_t alignment)
{
    if (gguf_alignment_ok(alignment))
        w->alignment = alignment;
    else
        error_set(&w->sticky, ERROR_INPUT,
                  "%s: %s %" PRIu64 ", expected a power of two that is at least 8", w->out.path,
                  GGUF_ALIGNMENT_KEY, alignment);
}

void gguf_writer_kv_u32(struct gguf_writer *w, const char *key, uint32_t v)
{
    put_key(w, str_of(key), GGUF_U32);
    put_le(&w->kv, v, 4);
    if (strcmp(key, GGUF_ALIGNMENT_KEY) == 0)
        set_alignment(w, v);
}

static void put_f32(struct strbuf *b, float v)
{
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    put_le(b, u, 4);
}

void gguf_writer_kv_f32(struct gguf_writer *w, const char *key, float v)
{
    put_key(w, str_of(key), GGUF_F32);
    put_f32(&w->kv, v);
}

void gguf_writer_kv_bool(struct gguf_writer *w, const char *key, bool v)
{
    put_key(w, str_of(key), GGUF_BOOL);
    put_le(&w->kv, v, 1);
}

void gguf_writer_kv_str(struct gguf_writer *w, const char *key, const char *v)
{
    put_key(w, str_of(key), GGUF_STRING);
    put_str(&w->kv, v, strlen(v));
}

static void put_array(struct gguf_writer *w, const char *key, enum gguf_type elem, size_t n)
{
    put_key(w, str_of(key), GGUF_ARRAY);
    put_le(&w->kv, (uint64_t)elem, 4);
    put_le(&w->kv, n, 8);
}

void gguf_writer_kv_arr_str(struct gguf_writer *w, const char *key, const char *const *v,
                            const size_t *len, size_t n)
{
    put_array(w, key, GGUF_STRING, n);
    for (size_t i = 0; i < n; i++)
        put_str(&w->kv, v[i], len ? len[i] : strlen(v[i]));
}

void gguf_writer_kv_arr_f32(struct gguf_writer *w, const char *key, const float *v, size_t n)
{
    put_array(w, key, GGUF_F32, n);
    for (size_t i = 0; i < n; i++)
        put_f32(&w->kv, v[i]);
}

void gguf_writer_kv_arr_i32(struct gguf_writer *w, const char *key, const int32_t *v, size_t n)
{
    put_array(w, key, GGUF_I32, n);
    for (size_t i = 0; i < n; i++)
        put_le(&w->kv, (uint32_t)v[i], 4);
}

void gguf_writer_kv_copy(struct gguf_writer *w, const struct gguf *g, size_t i)
{
    const struct gguf_kv *kv = g->kv + i;
    put_key(w, kv->key, kv->type);
    strbuf_add(&w->kv, kv->value, kv->bytes);
    if (gguf_str_cmp(kv->key, str_of(GGUF_ALIGNMENT_KEY)) == 0)
        set_alignment(w, g->alignment);
}

int gguf_writer_tensor(struct gguf_writer *w, const char *name, uint32_t n_dims,
                       const uint64_t *dims, enum dtype type, struct error *err)
{
    struct gguf_tensor t = { .name = str_of(name), .n_dims = n_dims, .type = type };
    if (sticky(w, err) != 0)
        return -1;
    if (w->begun)
        return error_set(err, ERROR_INPUT, "%s: tensor \"%s\" after the data began", w->out.path,
                         name);
    if (t.name.len < 1 || t.name.len > MAX_WRITTEN_NAME)
        return error_set(err, ERROR_INPUT, "%s: tensor name \"%s\" has %zu bytes, expected 1 to %d",
                         w->out.path, gguf_show(t.name).s, t.name.len, MAX_WRITTEN_NAME);
    for (uint32_t i = 0; i < GGUF_MAX_DIMS; i++)
        t.dims[i] = i < n_dims ? dims[i] : 1;
    if (gguf_tensor_measure(w->out.path, &t, err) != 0 ||
        gguf_grow(&w->tensors, w->n_tensors, &w->cap, sizeof *w->tensors, err) != 0)
        return -1;
    t.name.s = strdup(name);
    if (!t.name.s)
        return error_oom(err, t.name.len + 1, "a tensor's name");
    w->tensors[w->n_tensors++] = t;
    return 0;
}

static int write_bytes(struct gguf_writer *w, const void *p, size_t n, struct error *err)
{
    errno = 0;
    if (n && fwrite(p, 1, n, w->out.f) != n)
        return error_write(err, errno, "%s: cannot write", w->out.path);
    return 0;
}

static int write_zeros(struct gguf_writer *w, uint64_t n, struct error *err)
{
    static const char zeros[4096];
    for (; n; n -= u64_min(n, sizeof zeros))
        if (write_bytes(w, zeros, (size_t)u64_min(n, sizeof zeros), err) != 0)
            return -1;
    return 0;
}

static uint64_t padding(const struct gguf_writer *w, uint64_t n)
{
    return (w->alignment - n % w->alignment) % w->alignment;
}

/* Offsets of consecutive tensors; *total: bytes of the data section with padding. */
static int lay_out(struct gguf_writer *w, uint64_t *total, struct error *err)
{
    uint64_t at = 0;
    for (size_t i = 0; i < w->n_tensors; i++) {
        struct gguf_tensor *t = w->tensors + i;
        t->offset = at;
        if (__builtin_add_overflow(at, t->bytes, &at) ||
            __builtin_add_overflow(at, padding(w, at), &at))
            return error_set(err, ERROR_INPUT, "%s: tensor \"%s\": its offset overflows",
                             w->out.path, t->name.s);
    }
    *total = at;
    return 0;
}

static void put_header(const struct gguf_writer *w, struct strbuf *b)
{
    strbuf_add(b, "GGUF", 4);
    put_le(b, VERSION, 4);
    put_le(b, w->n_tensors, 8);
    put_le(b, w->n_kv, 8);
    strbuf_add(b, w->kv.s, w->kv.len);
    for (size_t i = 0; i < w->n_tensors; i++) {
        const struct gguf_tensor *t = w->tensors + i;
        put_str(b, t->name.s, t->name.len);
        put_le(b, t->n_dims, 4);
        for (uint32_t k = 0; k < t->n_dims; k++)
            put_le(b, t->dims[k], 8);
        put_le(b, (uint64_t)t->type, 4);
        put_le(b, t->offset, 8);
    }
}

/* Detects a full disk before gigabytes are written. Devices and pipes are not checked. */
static int check_space(const struct gguf_writer *w, uint64_t file_bytes, struct error *err)
{
    struct statvfs fs;
    char a[32], b[32];
    if (!w->out.tmp || fstatvfs(fileno(w->out.f), &fs) != 0)
        return 0;
    const double need = (double)file_bytes, avail = (double)fs.f_bavail * (double)fs.f_frsize;
    if (need <= avail)
        return 0;
    return error_set(err, ERROR_SYSTEM, "%s: the file needs %s, and its disk has %s free", w->out.path,
                     units_si(a, sizeof a, need, "B"), units_si(b, sizeof b, avail, "B"));
}

int gguf_writer_begin_data(struct gguf_writer *w, struct error *err)
{
    struct strbuf head = { 0 };
    uint64_t data_bytes = 0, file_bytes = 0, pad;
    if (sticky(w, err) != 0)
        return -1;
    if (w->begun)
        return error_set(err, ERROR_INPUT, "%s: the data was begun twice", w->out.path);
    if (lay_out(w, &data_bytes, err) != 0)
        return -1;
    put_header(w, &head);
    if (head.oom || w->kv.oom) {
        error_oom(err, head.len + w->kv.len, "GGUF metadata");
        goto fail;
    }
    pad = w->n_tensors ? padding(w, head.len) : 0;
    if (__builtin_add_overflow(data_bytes, head.len + pad, &file_bytes)) {
        error_set(err, ERROR_INPUT, "%s: the size of the file overflows", w->out.path);
        goto fail;
    }
    if (gguf_check_header(w->out.path, head.s, head.len, file_bytes, err) != 0 ||
        check_space(w, file_bytes, err) != 0 || write_bytes(w, head.s, head.len, err) != 0 ||
        write_zeros(w, pad, err) != 0)
        goto fail;
    strbuf_free(&head);
    w->begun = true;
    return 0;
fail:
    strbuf_free(&head);
    return -1;
}

int gguf_writer_data(struct gguf_writer *w, const void *data, size_t n, struct error *err)
{
    if (!w->begun || w->current == w->n_tensors)
        return error_set(err, ERROR_INPUT, "%s: %zu bytes of data, but %s", w->out.path, n,
                         w->begun ? "every tensor is complete" : "the data was not begun");
    const struct gguf_tensor *t = w->tensors + w->current;
    if (n > t->bytes - w->done)
        return error_set(err, ERROR_INPUT,
                         "%s: tensor \"%s\": %zu bytes of data, %" PRIu64 " of %" PRIu64
                         " are missing",
                         w->out.path, t->name.s, n, t->bytes - w->done, t->bytes);
    if (write_bytes(w, data, n, err) != 0)
        return -1;
    w->done += n;
    if (w->done < t->bytes)
        return 0;
    w->current++;
    w->done = 0;
    return write_zeros(w, padding(w, t->bytes), err);
}

static void writer_free(struct gguf_writer *w)
{
    for (size_t i = 0; i < w->n_tensors; i++)
        free((void *)(uintptr_t)w->tensors[i].name.s);
    free(w->tensors);
    strbuf_free(&w->kv);
    free(w);
}

int gguf_writer_finish(struct gguf_writer *w, struct error *err)
{
    int rc = sticky(w, err);
    if (rc == 0 && !w->begun)
        rc = error_set(err, ERROR_INPUT, "%s: finished before the data was begun", w->out.path);
    if (rc == 0 && w->current < w->n_tensors) {
        const struct gguf_tensor *t = w->tensors + w->current;
        rc = error_set(err, ERROR_INPUT,
                       "%s: tensor \"%s\" is incomplete: %" PRIu64 " of %" PRIu64 " bytes",
                       w->out.path, t->name.s, w->done, t->bytes);
    }
    rc = outfile_end(&w->out, rc, err);
    writer_free(w);
    return rc;
}

void gguf_writer_abort(struct gguf_writer *w)
{
    if (!w)
        return;
    outfile_abort(&w->out);
    writer_free(w);
}
