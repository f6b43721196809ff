/*
 * gguf: the GGUF container (v2, v3, little-endian): a checked reader over mapped bytes and a streaming writer. Counts, lengths,
 * offsets and sizes of a file are checked against its bytes before anything is allocated.
 */
#ifndef GGUF_GGUF_H
#define GGUF_GGUF_H

#include "base/base.h"
#include "dtype/dtype.h"

enum gguf_type {
    GGUF_U8, GGUF_I8, GGUF_U16, GGUF_I16, GGUF_U32, GGUF_I32, GGUF_F32, GGUF_BOOL,
    GGUF_STRING, GGUF_ARRAY, GGUF_U64, GGUF_I64, GGUF_F64,
};

/* Bytes of the file, not NUL-terminated. */
struct gguf_str {
    const char *s;
    size_t len;
};

struct gguf_tensor {
    struct gguf_str name;
    uint32_t n_dims;
    uint64_t dims[4]; /* GGUF order: dims[0] is contiguous; unused ones are 1 */
    enum dtype type;
    unsigned file;   /* index of the split's file: gguf_file_path */
    uint64_t offset; /* from the start of that file */
    uint64_t bytes;
    const void *data; /* [bytes] inside the mapping, unaligned */
};

/* "u8", "f32", "string", "array", ... */
const char *gguf_type_name(enum gguf_type t);

struct gguf; /* owns the mappings and the indexes */

/*
 * Map and parse. Any file of a split model, NAME-00001-of-0000N.gguf, opens all of them as one: the metadata is the first file's, the
 * tensor table is that of all.
 *
 * errors   name file, offset, key or tensor, found and expected value
 */
struct gguf *gguf_open(const char *path, struct error *err);
/* Parse bytes that the caller owns and keeps (tests, fuzzing). `name` is used in messages. One file of a split is an error. */
struct gguf *gguf_parse(const char *name, const void *data, size_t size, struct error *err);
void gguf_close(struct gguf *g);

/* File with the metadata: the first of a split. */
const char *gguf_path(const struct gguf *g);
size_t gguf_n_files(const struct gguf *g);                  /* 1 unless split */
const char *gguf_file_path(const struct gguf *g, size_t i); /* NULL past the end */
uint64_t gguf_file_bytes(const struct gguf *g);             /* all files */
size_t gguf_n_tensors(const struct gguf *g);
const struct gguf_tensor *gguf_tensor_at(const struct gguf *g, size_t i);
const struct gguf_tensor *gguf_tensor_find(const struct gguf *g, const char *name);
/* madvise hints for one sequential pass over a file larger than memory: bytes [at, at + bytes) of t are needed next, or no longer. */
void gguf_will_read(const struct gguf *g, const struct gguf_tensor *t, uint64_t at, uint64_t bytes);
void gguf_was_read(const struct gguf *g, const struct gguf_tensor *t, uint64_t at, uint64_t bytes);

/* Metadata. has: the key exists. get_*: integer widths are converted with range checks; an absent key or another type is an error
 * that names key, found and expected type. f64 accepts integers; bool counts as a number only inside arrays. */
size_t gguf_n_kv(const struct gguf *g);
bool gguf_has(const struct gguf *g, const char *key);
/* Name and type of entry i. */
struct gguf_str gguf_kv_at(const struct gguf *g, size_t i, enum gguf_type *type);
int gguf_get_u64(const struct gguf *g, const char *key, uint64_t *out, struct error *err);
int gguf_get_f64(const struct gguf *g, const char *key, double *out, struct error *err);
int gguf_get_str(const struct gguf *g, const char *key, struct gguf_str *out, struct error *err);
/* An absent key leaves *out unchanged; -1 only for a malformed value. */
int gguf_opt_u64(const struct gguf *g, const char *key, uint64_t *out, struct error *err);
int gguf_opt_f64(const struct gguf *g, const char *key, double *out, struct error *err);
int gguf_opt_bool(const struct gguf *g, const char *key, bool *out, struct error *err);
int gguf_opt_str(const struct gguf *g, const char *key, struct gguf_str *out, struct error *err);

/* Element type and count of an array; -1 when absent or no array. */
int gguf_get_arr(const struct gguf *g, const char *key, enum gguf_type *elem, uint64_t *n,
                 struct error *err);
/* Element i of a numeric or string array, index and type checked. O(1). */
int gguf_arr_str(const struct gguf *g, const char *key, uint64_t i, struct gguf_str *out,
                 struct error *err);
int gguf_arr_f64(const struct gguf *g, const char *key, uint64_t i, double *out,
                 struct error *err);
int gguf_arr_i64(const struct gguf *g, const char *key, uint64_t i, int64_t *out,
                 struct error *err);

/*
 * ---- writer: metadata, tensor infos, then the data of each tensor in order ----
 * Errors in metadata calls are sticky and reported by the next call with an err; gguf_writer_begin_data applies the reader's checks
 * (duplicate keys, ...). Alignment is 32 unless the metadata has general.alignment (u32).
 */
struct gguf_writer;
/* Writes to a temporary file until gguf_writer_finish. */
struct gguf_writer *gguf_writer_new(const char *path, struct error *err);
void gguf_writer_kv_u32(struct gguf_writer *w, const char *key, uint32_t v);
void gguf_writer_kv_f32(struct gguf_writer *w, const char *key, float v);
void gguf_writer_kv_bool(struct gguf_writer *w, const char *key, bool v);
void gguf_writer_kv_str(struct gguf_writer *w, const char *key, const char *v);
void gguf_writer_kv_arr_str(struct gguf_writer *w, const char *key, const char *const *v,
                            const size_t *len, size_t n); /* len NULL: strlen */
void gguf_writer_kv_arr_f32(struct gguf_writer *w, const char *key, const float *v, size_t n);
void gguf_writer_kv_arr_i32(struct gguf_writer *w, const char *key, const int32_t *v, size_t n);
/* Copy entry i of g unchanged. */
void gguf_writer_kv_copy(struct gguf_writer *w, const struct gguf *g, size_t i);
int gguf_writer_tensor(struct gguf_writer *w, const char *name, uint32_t n_dims,
                       const uint64_t *dims, enum dtype type, struct error *err);
/* Write header, metadata and infos after checking free disk space; only gguf_writer_data may follow. */
int gguf_writer_begin_data(struct gguf_writer *w, struct error *err);
/* Append data of the current tensor; pads and advances when it is complete. */
int gguf_writer_data(struct gguf_writer *w, const void *data, size_t n, struct error *err);
/* Renames the file into place and frees w (also on error). All tensors must be complete. */
int gguf_writer_finish(struct gguf_writer *w, struct error *err);
void gguf_writer_abort(struct gguf_writer *w);

#endif
