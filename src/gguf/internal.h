/*
 * gguf/internal.h: what the reader's files and the writer share.
 *
 * A value is kept as its bytes in the file, decoded at each access: nothing in the mapping is
 * assumed to be aligned. Only arrays of strings get an index, so that element i is found in O(1).
 */
#ifndef GGUF_INTERNAL_H
#define GGUF_INTERNAL_H

#include "gguf/gguf.h"

#define GGUF_ALIGNMENT_KEY "general.alignment"

enum {
    GGUF_ALIGNMENT = 32,      /* unless general.alignment says otherwise */
    GGUF_MAX_KEY = 65535,     /* bytes, by the specification */
    GGUF_MAX_NAME = 64,       /* bytes of a tensor's name, by the specification */
    GGUF_MAX_DIMS = 4,
    GGUF_HEADER_BYTES = 24,   /* magic, version, two counts */
    GGUF_ARRAY_HEAD = 12,     /* element type, count */
};

struct gguf_kv {
    struct gguf_str key;
    enum gguf_type type;
    enum gguf_type elem;        /* arrays: type of the elements */
    uint64_t n;                 /* arrays: how many */
    const unsigned char *value; /* first byte after the type field; arrays: the array head */
    size_t bytes;               /* of the value */
    uint64_t *str_at;           /* string arrays: offset in the value of each element's length */
};

struct gguf {
    char *path;
    struct filemap map; /* empty when the caller owns the bytes */
    const unsigned char *data;
    size_t size;        /* bytes at data */
    uint64_t file_size; /* size, but for a writer's header, which is checked before the data is there */
    uint64_t alignment;
    struct gguf_kv *kv;
    size_t n_kv;
    const struct gguf_kv **kv_by_key;
    struct gguf_tensor *tensors;
    size_t n_tensors;
    const struct gguf_tensor **tensors_by_name;
    struct gguf **parts; /* split.c: the files after this one; their tensors are in this one's table */
    size_t n_parts;
};

/* A position in the bytes. take fails when they end before the n bytes of `what`. */
struct gguf_cursor {
    const struct gguf *g;
    size_t pos;
    struct error *err;
};
const unsigned char *gguf_take(struct gguf_cursor *c, uint64_t n, const char *what);
int gguf_take_u32(struct gguf_cursor *c, uint32_t *out, const char *what);
int gguf_take_u64(struct gguf_cursor *c, uint64_t *out, const char *what);
/* A length and that many bytes, 1..max of them. */
int gguf_take_name(struct gguf_cursor *c, uint64_t max, struct gguf_str *out, const char *what);

/* kv.c: all entries; then g->kv, g->kv_by_key and g->alignment are set. */
int gguf_read_kvs(struct gguf *g, struct gguf_cursor *c, uint64_t n);
/* tensors.c: all infos, and where their data is; then g->tensors and the index are set. */
int gguf_read_tensors(struct gguf *g, struct gguf_cursor *c, uint64_t n);
/* g->tensors_by_name anew from g->tensors; a name twice is an error. */
int gguf_index_names(struct gguf *g, struct error *err);

/* reader.c: one file, whatever it says of others. */
struct gguf *gguf_open_file(const char *path, struct error *err);
/* split.c: g with the other files of its split, as the first of them; g when there are none. g is closed on error. */
struct gguf *gguf_join(struct gguf *g, struct error *err);
/* An error when g is one file of several. */
int gguf_check_whole(const struct gguf *g, struct error *err);

/*
 * t->bytes from t->dims and t->type. Checks the number of dimensions, that each is positive, that
 * the first is whole blocks, and that nothing overflows.
 */
int gguf_tensor_measure(const char *path, struct gguf_tensor *t, struct error *err);

/* The rules of the reader for the header that a writer made for a file of file_size bytes. */
int gguf_check_header(const char *path, const void *data, size_t size, uint64_t file_size,
                      struct error *err);

/* Room for one more element of elem_bytes in a growing array of n used and *cap allocated. */
int gguf_grow(void *array, size_t n, size_t *cap, size_t elem_bytes, struct error *err);

/* Order of names: bytes, then length. */
int gguf_str_cmp(struct gguf_str a, struct gguf_str b);
bool gguf_alignment_ok(uint64_t a);

/* Bytes of an element of a fixed size, 0 for strings and arrays. */
size_t gguf_type_bytes(enum gguf_type t);
/* Little-endian integer of n <= 8 bytes. */
uint64_t gguf_load_le(const unsigned char *p, size_t n);

/* A name from the file, fit for a message: printable, at most 80 bytes. */
struct gguf_shown {
    char s[96];
};
struct gguf_shown gguf_show(struct gguf_str s);

#endif
