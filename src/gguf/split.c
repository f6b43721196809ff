/*
 * split.c: a split model, NAME-00001-of-0000N.gguf to NAME-0000N-of-0000N.gguf, opened as one. Each file has split.no (from 0), split.count
 * and split.tensors.count (total); the first has the metadata. Names follow from the given one. A merged file keeps the keys with
 * count 0.
 */
#include "gguf/internal.h"
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_FILES = UINT16_MAX /* the key is a u16 */, SUFFIX_SIZE = 48 };

struct split {
    uint64_t no, count, n_tensors; /* count 1: no split */
};

static int read_split(const struct gguf *g, struct split *s, struct error *err)
{
    *s = (struct split){ .count = 1 };
    if (gguf_opt_u64(g, "split.count", &s->count, err) != 0)
        return -1;
    if (s->count <= 1) {
        s->count = 1;
        return 0;
    }
    if (s->count > MAX_FILES)
        return error_set(err, ERROR_INPUT, "%s: split.count is %" PRIu64 ", expected at most %d", g->path, s->count,
                         MAX_FILES);
    if (gguf_get_u64(g, "split.no", &s->no, err) != 0 ||
        gguf_get_u64(g, "split.tensors.count", &s->n_tensors, err) != 0)
        return -1;
    if (s->no >= s->count)
        return error_set(err, ERROR_INPUT,
                         "%s: split.no is %" PRIu64 ", expected 0 to %" PRIu64 ": split.count is %" PRIu64, g->path, s->no, s->count - 1, s->count);
    return 0;
}

int gguf_check_whole(const struct gguf *g, struct error *err)
{
    struct split s;
    if (read_split(g, &s, err) != 0)
        return -1;
    if (s.count > 1)
        return error_set(err, ERROR_INPUT,
                         "%s: is file %" PRIu64 " of a model in %" PRIu64 ", whose others are not known here", g->path, s.no + 1, s.count);
    return 0;
}

/* ---- names -------------------------------------------------------------------------------- */

static void suffix(char buf[SUFFIX_SIZE], uint64_t no, uint64_t count)
{
    snprintf(buf, SUFFIX_SIZE, "-%05" PRIu64 "-of-%05" PRIu64 ".gguf", no + 1, count);
}

/* `path` without its suffix, to be freed; NULL when it has another ending. */
static char *stem(const char *path, const char *end)
{
    const size_t n = strlen(path), k = strlen(end);
    return n >= k && strcmp(path + n - k, end) == 0 ? strndup(path, n - k) : NULL;
}

/* Common start of all file names. A link with another name is resolved. */
static char *find_stem(const struct gguf *g, const struct split *s, struct error *err)
{
    char end[SUFFIX_SIZE];
    suffix(end, s->no, s->count);
    char *found = stem(g->path, end), *real = found ? NULL : realpath(g->path, NULL);
    if (real)
        found = stem(real, end);
    free(real);
    if (!found)
        error_set(err, ERROR_INPUT,
                  "%s: is file %" PRIu64 " of a model in %" PRIu64 ", expected a name ending in \"%s\", from which "
                  "the others' names follow",
                  g->path, s->no + 1, s->count, end);
    return found;
}

static struct gguf *open_sibling(const char *start, uint64_t no, uint64_t count, struct error *err)
{
    char end[SUFFIX_SIZE], path[PATH_MAX];
    struct error why = { 0 };
    suffix(end, no, count);
    if ((size_t)snprintf(path, sizeof path, "%s%s", start, end) >= sizeof path) {
        error_set(err, ERROR_INPUT, "%.200s...%s: the name is too long", start, end);
        return NULL;
    }
    struct gguf *g = gguf_open_file(path, &why);
    if (!g)
        error_set(err, why.kind, "%.900s (file %" PRIu64 " of the %" PRIu64 " of this model)", why.msg, no + 1, count);
    return g;
}

/* ---- consistency of the files ---- */

static int differ(const struct gguf *g, const char *key, uint64_t found, uint64_t expected, const char *why,
                  struct error *err)
{
    return error_set(err, ERROR_INPUT, "%s: %s is %" PRIu64 ", expected %" PRIu64 " %s", g->path, key, found, expected,
                     why);
}

/* A later file that repeats the model's identity must agree. */
static int check_same_model(const struct gguf *first, const struct gguf *g, struct error *err)
{
    static const char *const keys[] = { "general.architecture", "general.name" };
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct gguf_str a = { 0 }, b = { 0 };
        if (gguf_opt_str(first, keys[i], &a, err) != 0 || gguf_opt_str(g, keys[i], &b, err) != 0)
            return -1;
        if (b.s && (!a.s || gguf_str_cmp(a, b) != 0)) {
            struct gguf_shown x = a.s ? gguf_show(a) : (struct gguf_shown){ "nothing" }, y = gguf_show(b);
            return error_set(err, ERROR_INPUT, "%s: is a file of another model: %s is \"%s\", expected \"%s\" as in %s",
                             g->path, keys[i], y.s, x.s, first->path);
        }
    }
    return 0;
}

/* files[0..count) in order. */
static int check_files(struct gguf *const *files, uint64_t count, struct error *err)
{
    struct split first, s;
    uint64_t n = 0;
    if (read_split(files[0], &first, err) != 0)
        return -1;
    for (uint64_t i = 0; i < count; i++) {
        const struct gguf *g = files[i];
        if (read_split(g, &s, err) != 0)
            return -1;
        if (s.count != count)
            return differ(g, "split.count", s.count, count, "by its name", err);
        if (s.no != i)
            return differ(g, "split.no", s.no, i, "by its name", err);
        if (s.n_tensors != first.n_tensors)
            return differ(g, "split.tensors.count", s.n_tensors, first.n_tensors, "as in the first file", err);
        if (check_same_model(files[0], g, err) != 0)
            return -1;
        n += g->n_tensors;
    }
    if (n != first.n_tensors)
        return error_set(err, ERROR_INPUT,
                         "%s: split.tensors.count is %" PRIu64 ", found %" PRIu64 " tensors in its %" PRIu64 " files",
                         files[0]->path, first.n_tensors, n, count);
    return 0;
}

/* ---- joined tensor table ---- */

static int join_tensors(struct gguf *g, struct error *err)
{
    size_t n = g->n_tensors, bytes;
    for (size_t i = 0; i < g->n_parts; i++)
        n += g->parts[i]->n_tensors; /* no overflow: fewer than the bytes of each file */
    if (!size_mul(n, sizeof *g->tensors, &bytes))
        return error_oom(err, SIZE_MAX, "an index of tensors");
    struct gguf_tensor *t = realloc(g->tensors, bytes ? bytes : 1);
    if (!t)
        return error_oom(err, bytes, "an index of tensors");
    g->tensors = t;
    for (size_t i = 0; i < g->n_parts; i++) {
        struct gguf *part = g->parts[i];
        for (size_t k = 0; k < part->n_tensors; k++) {
            t[g->n_tensors] = part->tensors[k];
            t[g->n_tensors++].file = (unsigned)i + 1;
        }
    }
    return gguf_index_names(g, err);
}

struct gguf *gguf_join(struct gguf *g, struct error *err)
{
    struct split s;
    if (read_split(g, &s, err) != 0) {
        gguf_close(g);
        return NULL;
    }
    if (s.count == 1)
        return g;
    struct gguf **files = calloc(s.count, sizeof *files), *first;
    char *start = find_stem(g, &s, err);
    if (!files) {
        error_oom(err, s.count * sizeof *files, "a list of files");
        gguf_close(g);
        goto fail;
    }
    files[s.no] = g;
    if (!start)
        goto fail;
    for (uint64_t i = 0; i < s.count; i++)
        if (!files[i] && !(files[i] = open_sibling(start, i, s.count, err)))
            goto fail;
    if (check_files(files, s.count, err) != 0)
        goto fail;
    free(start);
    first = files[0];
    first->n_parts = s.count - 1;
    memmove(files, files + 1, first->n_parts * sizeof *files);
    first->parts = files;
    if (join_tensors(first, err) == 0)
        return first;
    gguf_close(first);
    return NULL;
fail:
    for (uint64_t i = 0; files && i < s.count; i++)
        gguf_close(files[i]);
    free(files);
    free(start);
    return NULL;
}

size_t gguf_n_files(const struct gguf *g)
{
    return g->n_parts + 1;
}

const char *gguf_file_path(const struct gguf *g, size_t i)
{
    return i == 0 ? g->path : i <= g->n_parts ? g->parts[i - 1]->path : NULL;
}

uint64_t gguf_file_bytes(const struct gguf *g)
{
    uint64_t n = g->file_size;
    for (size_t i = 0; i < g->n_parts; i++)
        n += g->parts[i]->file_size;
    return n;
}

/* ---- sequential reading ---- */

/* Mappings only: MADV_DONTNEED would discard the caller's own bytes. */
static void advise(const struct gguf *g, const struct gguf_tensor *t, uint64_t at, uint64_t bytes, int advice)
{
    const struct gguf *file = t->file == 0 ? g : g->parts[t->file - 1];
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), from = (t->offset + at) / page * page;
    if (file->map.size && bytes)
        (void)madvise((void *)(uintptr_t)(file->data + from), (size_t)(t->offset + at + bytes - from), advice);
}

void gguf_will_read(const struct gguf *g, const struct gguf_tensor *t, uint64_t at, uint64_t bytes)
{
    advise(g, t, at, bytes, MADV_WILLNEED);
}

void gguf_was_read(const struct gguf *g, const struct gguf_tensor *t, uint64_t at, uint64_t bytes)
{
    advise(g, t, at, bytes, MADV_DONTNEED);
}
