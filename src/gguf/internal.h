/*
 * gguf/internal.h: shared by reader and writer. Values stay in the mapping, unaligned, and are decoded at each access. Only string
 * arrays have an index, for O(1) access.
 */
#ifndef GGUF_INTERNAL_H
#define GGUF_INTERNAL_H

#include "gguf/gguf.h"

#define GGUF_ALIGNMENT_KEY "general.alignment"

enum {
    GGUF_ALIGNMENT = 32,  /* default of general.alignment */
    GGUF_MAX_KEY = 65535, /* bytes; GGUF specification */
    GGUF_MAX_NAME = 64,   /* bytes of a tensor's name; GGUF specification */
    GGUF_MAX_DIMS = 4,
    GGUF_HEADER_BYTES = 24, /* magic, version, two counts */
    GGUF_ARRAY_HEAD = 12,   /* element type, count */
};

struct gguf_kv {
    struct gguf_str key;
    enum gguf_type type;
    enum gguf_type elem;        /* arrays: type of the elements */
    uint64_t n;                 /* arrays: count */
    const unsigned char *value; /* first byte after the type field; arrays: the array head */
    size_t bytes;               /* of value */
    uint64_t *str_at;           /* string arrays: [n] offset of each element's length in value */
};

struct gguf {
    char *path;
    struct filemap map; /* empty when the caller owns the bytes */
    const unsigned char *data;
    size_t size;        /* of data */
    uint64_t file_size; /* size; for a writer's header the size the finished file will have */
    uint64_t alignment;
    struct gguf_kv *kv;
    size_t n_kv;
    const struct gguf_kv **kv_by_key;
    struct gguf_tensor *tensors;
    size_t n_tensors;
    const struct gguf_tensor **tensors_by_name;
    struct gguf **parts; /* split.c: the following files; this one's table holds their tensors */
    size_t n_parts;
};

/* A read position. take fails when fewer than n bytes of `what` are left. */
struct gguf_cursor {
    const struct gguf *g;
    size_t pos;
    struct error *err;
};
const unsigned char *gguf_take(struct gguf_cursor *c, uint64_t n, const char *what);
int gguf_take_u32(struct gguf_cursor *c, uint32_t *out, const char *what);
int gguf_take_u64(struct gguf_cursor *c, uint64_t *out, const char *what);
/* A length-prefixed string of 1..max bytes. */
int gguf_take_name(struct gguf_cursor *c, uint64_t max, struct gguf_str *out, const char *what);

/* kv.c: reads n entries; sets g->kv, g->kv_by_key and g->alignment. */
int gguf_read_kvs(struct gguf *g, struct gguf_cursor *c, uint64_t n);
/* tensors.c: reads n infos and locates their data; sets g->tensors and the index. */
int gguf_read_tensors(struct gguf *g, struct gguf_cursor *c, uint64_t n);
/* Rebuilds g->tensors_by_name; a duplicate name is an error. */
int gguf_index_names(struct gguf *g, struct error *err);

/* reader.c: one file, ignoring split keys. */
struct gguf *gguf_open_file(const char *path, struct error *err);
/* split.c: opens the other files of g's split and joins them; g itself when there are none. Closes g on error. */
struct gguf *gguf_join(struct gguf *g, struct error *err);
/* Error if g is one file of a split. */
int gguf_check_whole(const struct gguf *g, struct error *err);

/* t->bytes from t->dims and t->type. Checks dimension count, positive dimensions, whole blocks and overflow. */
int gguf_tensor_measure(const char *path, struct gguf_tensor *t, struct error *err);

/* Applies the reader's checks to a writer's header for a file of file_size bytes. */
int gguf_check_header(const char *path, const void *data, size_t size, uint64_t file_size,
                      struct error *err);

/* Grows an array of n used and *cap allocated elements by at least one. */
int gguf_grow(void *array, size_t n, size_t *cap, size_t elem_bytes, struct error *err);

/* Bytewise order, then length. */
int gguf_str_cmp(struct gguf_str a, struct gguf_str b);
bool gguf_alignment_ok(uint64_t a);

/* Bytes of a fixed-size type; 0: strings and arrays. */
size_t gguf_type_bytes(enum gguf_type t);
/* Little-endian integer of n <= 8 bytes. */
uint64_t gguf_load_le(const unsigned char *p, size_t n);

/* A name from the file for messages: printable, at most 80 bytes. */
struct gguf_shown {
    char s[96];
};
struct gguf_shown gguf_show(struct gguf_str s);

#endif
