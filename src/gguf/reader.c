/* reader.c: open, header, and checked byte access. */
#include "gguf/internal.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

uint64_t gguf_load_le(const unsigned char *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)p[i] << 8 * i;
    return v;
}

const unsigned char *gguf_take(struct gguf_cursor *c, uint64_t n, const char *what)
{
    const struct gguf *g = c->g;
    if (n > g->size - c->pos) {
        error_set(c->err, ERROR_INPUT,
                  "%s: truncated or damaged: %s at offset %zu needs %" PRIu64
                  " bytes, %zu are left",
                  g->path, what, c->pos, n, g->size - c->pos);
        return NULL;
    }
    const unsigned char *p = g->data + c->pos;
    c->pos += (size_t)n;
    return p;
}

int gguf_take_u32(struct gguf_cursor *c, uint32_t *out, const char *what)
{
    const unsigned char *p = gguf_take(c, 4, what);
    if (!p)
        return -1;
    *out = (uint32_t)gguf_load_le(p, 4);
    return 0;
}

int gguf_take_u64(struct gguf_cursor *c, uint64_t *out, const char *what)
{
    const unsigned char *p = gguf_take(c, 8, what);
    if (!p)
        return -1;
    *out = gguf_load_le(p, 8);
    return 0;
}

int gguf_take_name(struct gguf_cursor *c, uint64_t max, struct gguf_str *out, const char *what)
{
    size_t at = c->pos;
    uint64_t len;
    if (gguf_take_u64(c, &len, what) != 0)
        return -1;
    if (len < 1 || len > max)
        return error_set(c->err, ERROR_INPUT,
                         "%s: %s at offset %zu: length %" PRIu64 ", expected 1 to %" PRIu64,
                         c->g->path, what, at, len, max);
    const unsigned char *p = gguf_take(c, len, what);
    if (!p)
        return -1;
    *out = (struct gguf_str){ (const char *)p, (size_t)len };
    return 0;
}

int gguf_grow(void *array, size_t n, size_t *cap, size_t elem_bytes, struct error *err)
{
    void *p;
    size_t want, bytes;
    if (n < *cap)
        return 0;
    want = *cap ? *cap : 16;
    if (!size_mul(want, 2, &want) || !size_mul(want, elem_bytes, &bytes))
        return error_oom(err, SIZE_MAX, "a GGUF index");
    memcpy(&p, array, sizeof p); /* array points to a pointer of any object type */
    p = realloc(p, bytes);
    if (!p)
        return error_oom(err, bytes, "a GGUF index");
    memcpy(array, &p, sizeof p);
    *cap = want;
    return 0;
}

int gguf_str_cmp(struct gguf_str a, struct gguf_str b)
{
    int c = memcmp(a.s, b.s, a.len < b.len ? a.len : b.len);
    return c ? c : (a.len > b.len) - (a.len < b.len);
}

bool gguf_alignment_ok(uint64_t a)
{
    return a >= 8 && (a & (a - 1)) == 0;
}

struct gguf_shown gguf_show(struct gguf_str s)
{
    struct gguf_shown out;
    size_t n = s.len < 80 ? s.len : 80;
    for (size_t i = 0; i < n; i++)
        out.s[i] = s.s[i] >= ' ' && s.s[i] <= '~' ? s.s[i] : '?';
    snprintf(out.s + n, sizeof out.s - n, "%s", s.len > 80 ? "..." : "");
    return out;
}

/* Magic and version. A byte-swapped version means a big-endian file. */
static int read_version(struct gguf_cursor *c)
{
    const char *path = c->g->path;
    const unsigned char *magic = gguf_take(c, 4, "the magic bytes");
    uint32_t version;
    if (!magic)
        return -1;
    if (memcmp(magic, "GGUF", 4) != 0)
        return error_set(c->err, ERROR_INPUT,
                         "%s: not a GGUF file: the first bytes are %02x %02x %02x %02x, "
                         "expected 47 47 55 46 (\"GGUF\")",
                         path, magic[0], magic[1], magic[2], magic[3]);
    if (gguf_take_u32(c, &version, "the version") != 0)
        return -1;
    if (version == 2 || version == 3)
        return 0;
    if (version == 1)
        return error_set(c->err, ERROR_INPUT,
                         "%s: GGUF version 1 is obsolete; expected version 2 or 3", path);
    if (version && (version & 0x00ffffff) == 0)
        return error_set(c->err, ERROR_INPUT,
                         "%s: a big-endian GGUF file (version bytes 00 00 00 %02x); "
                         "only little-endian files are supported",
                         path, version >> 24);
    return error_set(c->err, ERROR_INPUT, "%s: GGUF version %" PRIu32 ", expected 2 or 3", path,
                     version);
}

static int read_all(struct gguf *g, struct error *err)
{
    struct gguf_cursor c = { g, 0, err };
    uint64_t n_tensors, n_kv;
    if (read_version(&c) != 0 || gguf_take_u64(&c, &n_tensors, "the tensor count") != 0 ||
        gguf_take_u64(&c, &n_kv, "the metadata count") != 0)
        return -1;
    if (gguf_read_kvs(g, &c, n_kv) != 0)
        return -1;
    return gguf_read_tensors(g, &c, n_tensors);
}

static struct gguf *new_gguf(const char *name, struct error *err)
{
    struct gguf *g = calloc(1, sizeof *g);
    if (!g || !(g->path = strdup(name))) {
        error_oom(err, sizeof *g + strlen(name), "a GGUF index");
        free(g);
        return NULL;
    }
    g->alignment = GGUF_ALIGNMENT;
    return g;
}

struct gguf *gguf_open_file(const char *path, struct error *err)
{
    struct gguf *g = new_gguf(path, err);
    if (!g)
        return NULL;
    if (filemap_open(&g->map, path, err) != 0)
        goto fail;
    g->data = g->map.data;
    g->size = g->map.size;
    g->file_size = g->size;
    if (read_all(g, err) != 0)
        goto fail;
    return g;
fail:
    gguf_close(g);
    return NULL;
}

struct gguf *gguf_open(const char *path, struct error *err)
{
    struct gguf *g = gguf_open_file(path, err);
    return g ? gguf_join(g, err) : NULL;
}

struct gguf *gguf_parse(const char *name, const void *data, size_t size, struct error *err)
{
    struct gguf *g = new_gguf(name, err);
    if (!g)
        return NULL;
    g->data = data;
    g->size = size;
    g->file_size = size;
    if (read_all(g, err) == 0 && gguf_check_whole(g, err) == 0)
        return g;
    gguf_close(g);
    return NULL;
}

int gguf_check_header(const char *path, const void *data, size_t size, uint64_t file_size,
                      struct error *err)
{
    struct gguf *g = new_gguf(path, err);
    if (!g)
        return -1;
    g->data = data;
    g->size = size;
    g->file_size = file_size;
    int rc = read_all(g, err);
    gguf_close(g);
    return rc;
}

void gguf_close(struct gguf *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n_kv; i++)
        free(g->kv[i].str_at);
    free(g->kv);
    free(g->kv_by_key);
    free(g->tensors);
    free(g->tensors_by_name);
    for (size_t i = 0; i < g->n_parts; i++)
        gguf_close(g->parts[i]);
    free(g->parts);
    filemap_close(&g->map);
    free(g->path);
    free(g);
}

const char *gguf_path(const struct gguf *g)
{
    return g->path;
}
