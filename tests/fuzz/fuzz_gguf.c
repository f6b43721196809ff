/* fuzz_gguf.c: parse any bytes as GGUF and touch everything that the reader then vouches for. */
#include "fuzz.h"
#include "gguf/gguf.h"
#include <stdlib.h>
#include <string.h>

/* Read the first and the last byte; volatile, so that the reads are not optimized away. */
static void touch(const void *p, uint64_t n)
{
    const volatile unsigned char *b = p;
    if (n) {
        (void)b[0];
        (void)b[n - 1];
    }
}

/* Key, NUL-terminated for the accessors; NULL when it holds a NUL itself. */
static char *key_text(struct gguf_str s)
{
    char *key = memchr(s.s, 0, s.len) ? NULL : malloc(s.len + 1);
    if (key) {
        memcpy(key, s.s, s.len);
        key[s.len] = 0;
    }
    return key;
}

static void walk_key(const struct gguf *g, const char *key)
{
    struct error err = { 0 };
    struct gguf_str s = { 0 };
    enum gguf_type elem;
    uint64_t u, n = 0;
    int64_t i;
    double f;
    bool t;
    gguf_opt_u64(g, key, &u, &err);
    gguf_opt_f64(g, key, &f, &err);
    gguf_opt_bool(g, key, &t, &err);
    if (gguf_get_str(g, key, &s, &err) == 0)
        touch(s.s, s.len);
    if (gguf_get_arr(g, key, &elem, &n, &err) != 0)
        return;
    uint64_t limit = n < 4096 ? n : 4096; /* and always the last one */
    for (uint64_t k = 0; k < limit; k++) {
        uint64_t at = k + 1 == limit ? n - 1 : k;
        if (gguf_arr_str(g, key, at, &s, &err) == 0)
            touch(s.s, s.len);
        gguf_arr_f64(g, key, at, &f, &err);
        gguf_arr_i64(g, key, at, &i, &err);
    }
    if (gguf_arr_f64(g, key, n, &f, &err) == 0 || gguf_arr_str(g, key, n, &s, &err) == 0)
        abort(); /* one past the end was found */
}

static void walk_tensor(const struct gguf *g, const struct gguf_tensor *t)
{
    touch(t->data, t->bytes);
    touch(t->name.s, t->name.len);
    if (t->bytes == 0 || t->offset + t->bytes > gguf_file_bytes(g))
        abort();
    const struct dtype_info *d = dtype_find((int64_t)t->type);
    if (d->dequantize) { /* the first and the last block, whatever their bits */
        float x[256];
        d->dequantize(t->data, x, d->block_elems);
        d->dequantize((const char *)t->data + t->bytes - d->block_bytes, x, d->block_elems);
    }
    char *name = key_text(t->name);
    if (name && gguf_tensor_find(g, name) != t)
        abort();
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = { 0 };
    struct gguf *g = gguf_parse("fuzz", data, size, &err);
    if (!g) {
        if (err.kind == ERROR_NONE || !err.msg[0])
            abort(); /* failed without a reason */
        return 0;
    }
    for (size_t i = 0; i < gguf_n_kv(g); i++) {
        enum gguf_type type;
        char *key = key_text(gguf_kv_at(g, i, &type));
        if (key && !gguf_has(g, key))
            abort();
        if (key)
            walk_key(g, key);
        free(key);
    }
    for (size_t i = 0; i < gguf_n_tensors(g); i++)
        walk_tensor(g, gguf_tensor_at(g, i));
    gguf_close(g);
    return 0;
}
