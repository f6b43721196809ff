/*
 * gguf: the GGUF container (v2, v3, little-endian): a checked reader over mapped bytes and a
 * streaming writer. Nothing read from a file is trusted: counts, lengths, offsets and sizes
 * are checked against the bytes that are there before anything is allocated.
 */
#ifndef GGUF_GGUF_H
#define GGUF_GGUF_H

#include "base/base.h"
#include "dtype/dtype.h"

enum gguf_type {
    GGUF_U8, GGUF_I8, GGUF_U16, GGUF_I16, GGUF_U32, GGUF_I32, GGUF_F32, GGUF_BOOL,
    GGUF_STRING, GGUF_ARRAY, GGUF_U64, GGUF_I64, GGUF_F64,
};

/* Bytes inside the file; not NUL-terminated. */
struct gguf_str {
    const char *s;
    size_t len;
};

struct gguf_tensor {
    struct gguf_str name;
    uint32_t n_dims;
    uint64_t dims[4]; /* GGUF order: dims[0] is contiguous; missing ones are 1 */
    enum dtype type;
    unsigned file;   /* which file of a split it is in, from 0: gguf_file_path */
    uint64_t offset; /* from the start of that file */
    uint64_t bytes;
    const void *data; /* bytes of them, all inside the mapping; any alignment */
};

/* "u8", "f32", "string", "array", ... */
const char *gguf_type_name(enum gguf_type t);

struct gguf; /* opaque: owns the mappings and the indexes */

/*
 * Map and parse. Errors name file, offset, key or tensor, found and expected.
 *
 * Any file of a model in several, NAME-00001-of-0000N.gguf, opens all of them as one: the metadata is the first's,
 * the tensors of all stand in one table, each with its data in its own mapping.
 */
struct gguf *gguf_open(const char *path, struct error *err);
/* Parse bytes that the caller keeps alive (tests, fuzzing). `name` stands in messages. One file of several is
 * refused: the others are not known. */
struct gguf *gguf_parse(const char *name, const void *data, size_t size, struct error *err);
void gguf_close(struct gguf *g);

/* The file with the metadata: of a split the first. */
const char *gguf_path(const struct gguf *g);
size_t gguf_n_files(const struct gguf *g); /* 1 unless split */
const char *gguf_file_path(const struct gguf *g, size_t i); /* NULL past the end */
uint64_t gguf_file_bytes(const struct gguf *g); /* of all files */
size_t gguf_n_tensors(const struct gguf *g);
const struct gguf_tensor *gguf_tensor_at(const struct gguf *g, size_t i);
const struct gguf_tensor *gguf_tensor_find(const struct gguf *g, const char *name);
/* For reading a file that is larger than the memory once, front to back: bytes of t's data, from `at` on, will be read
 * soon, or were read and may leave memory. Hints: what is read stays the same. */
void gguf_will_read(const struct gguf *g, const struct gguf_tensor *t, uint64_t at, uint64_t bytes);
void gguf_was_read(const struct gguf *g, const struct gguf_tensor *t, uint64_t at, uint64_t bytes);

/* Metadata. has: the key exists. The get_* convert between integer widths with range checks
 * and fail (naming key, found type, expected) when the key is absent or of another kind. f64
 * takes integers too; a bool is not a number, except as an element of an array. */
size_t gguf_n_kv(const struct gguf *g);
bool gguf_has(const struct gguf *g, const char *key);
/* Name and type of entry i, for listing. */
struct gguf_str gguf_kv_at(const struct gguf *g, size_t i, enum gguf_type *type);
int gguf_get_u64(const struct gguf *g, const char *key, uint64_t *out, struct error *err);
int gguf_get_f64(const struct gguf *g, const char *key, double *out, struct error *err);
int gguf_get_str(const struct gguf *g, const char *key, struct gguf_str *out, struct error *err);
/* *out keeps its value (the default) when the key is absent; -1 only when it is malformed. */
int gguf_opt_u64(const struct gguf *g, const char *key, uint64_t *out, struct error *err);
int gguf_opt_f64(const struct gguf *g, const char *key, double *out, struct error *err);
int gguf_opt_bool(const struct gguf *g, const char *key, bool *out, struct error *err);
int gguf_opt_str(const struct gguf *g, const char *key, struct gguf_str *out, struct error *err);

/* Arrays: element type and count; 0 / -1 when absent or not an array. */
int gguf_get_arr(const struct gguf *g, const char *key, enum gguf_type *elem, uint64_t *n,
                 struct error *err);
/* Element i of a numeric or string array. Index and kind are checked. Strings are found in O(1). */
int gguf_arr_str(const struct gguf *g, const char *key, uint64_t i, struct gguf_str *out,
                 struct error *err);
int gguf_arr_f64(const struct gguf *g, const char *key, uint64_t i, double *out,
                 struct error *err);
int gguf_arr_i64(const struct gguf *g, const char *key, uint64_t i, int64_t *out,
                 struct error *err);

/* ---- writer: metadata, then tensor infos, then the data of each tensor in order ----------
 * Metadata that cannot be written (out of memory, a key of no or over 65535 bytes) is remembered
 * and reported by the next call that has an err. What a reader would refuse (keys or tensors
 * twice, ...) is refused by gguf_writer_begin_data. The alignment is 32 unless the metadata has
 * general.alignment (u32). */
struct gguf_writer;
/* Starts PATH.tmp-like outfile; nothing is visible under `path` before gguf_writer_finish. */
struct gguf_writer *gguf_writer_new(const char *path, struct error *err);
void gguf_writer_kv_u32(struct gguf_writer *w, const char *key, uint32_t v);
void gguf_writer_kv_f32(struct gguf_writer *w, const char *key, float v);
void gguf_writer_kv_bool(struct gguf_writer *w, const char *key, bool v);
void gguf_writer_kv_str(struct gguf_writer *w, const char *key, const char *v);
void gguf_writer_kv_arr_str(struct gguf_writer *w, const char *key, const char *const *v,
                            const size_t *len, size_t n); /* len may be NULL: strlen */
void gguf_writer_kv_arr_f32(struct gguf_writer *w, const char *key, const float *v, size_t n);
void gguf_writer_kv_arr_i32(struct gguf_writer *w, const char *key, const int32_t *v, size_t n);
/* Copy entry i of g as it is (any type). */
void gguf_writer_kv_copy(struct gguf_writer *w, const struct gguf *g, size_t i);
int gguf_writer_tensor(struct gguf_writer *w, const char *name, uint32_t n_dims,
                       const uint64_t *dims, enum dtype type, struct error *err);
/* Write header, metadata and infos, if the disk has room for the whole file; after this only gguf_writer_data. */
int gguf_writer_begin_data(struct gguf_writer *w, struct error *err);
/* Next bytes of the current tensor; advances to the next tensor (padding included) when full. */
int gguf_writer_data(struct gguf_writer *w, const void *data, size_t n, struct error *err);
/* All tensors must be complete. Renames into place and frees w (also on error). */
int gguf_writer_finish(struct gguf_writer *w, struct error *err);
void gguf_writer_abort(struct gguf_writer *w);

#endif
