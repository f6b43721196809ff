/*
 * dtype: the table of GGML tensor types: block layout, bytes, reference (de)quantization.
 *
 * A tensor is rows; a row is cut into blocks of block_elems elements stored in block_bytes
 * bytes. Ids are GGML's, so a GGUF's type field indexes the table. Layouts: doc/methods.md (1).
 */
#ifndef DTYPE_DTYPE_H
#define DTYPE_DTYPE_H

#include "base/base.h"

enum dtype {
    DTYPE_F32 = 0,
    DTYPE_F16 = 1,
    DTYPE_Q4_0 = 2,
    DTYPE_Q4_1 = 3,
    DTYPE_Q5_0 = 6,
    DTYPE_Q5_1 = 7,
    DTYPE_Q8_0 = 8,
    DTYPE_Q8_1 = 9,
    DTYPE_Q2_K = 10,
    DTYPE_Q3_K = 11,
    DTYPE_Q4_K = 12,
    DTYPE_Q5_K = 13,
    DTYPE_Q6_K = 14,
    DTYPE_Q8_K = 15,
    DTYPE_IQ2_XXS = 16,
    DTYPE_IQ2_XS = 17,
    DTYPE_IQ3_XXS = 18,
    DTYPE_IQ1_S = 19,
    DTYPE_IQ4_NL = 20,
    DTYPE_IQ3_S = 21,
    DTYPE_IQ2_S = 22,
    DTYPE_IQ4_XS = 23,
    DTYPE_I8 = 24,
    DTYPE_I16 = 25,
    DTYPE_I32 = 26,
    DTYPE_I64 = 27,
    DTYPE_F64 = 28,
    DTYPE_IQ1_M = 29,
    DTYPE_BF16 = 30,
    DTYPE_TQ1_0 = 34,
    DTYPE_TQ2_0 = 35,
    DTYPE_MXFP4 = 39,
    DTYPE_NVFP4 = 40,
    DTYPE_Q1_0 = 41,
    DTYPE_Q2_0 = 42,
    DTYPE_COUNT = 43, /* array bound; holes have no row */

    /* Not ggml's, so no GGUF has them: elements of other checkpoints (model/checkpoint.h), whose scales are counted
     * there, and of servers' KV caches. Bytes only. (4) */
    DTYPE_FP8 = 256, /* E4M3 */
    DTYPE_INT8,
    DTYPE_INT4,
    DTYPE_FP4, /* E2M1 */
    DTYPE_FP8_DS_MLA, /* a row of a latent cache, scales included */
    DTYPE_PRICED_END,
};

struct dtype_info {
    enum dtype id;
    const char *name;     /* "Q4_K", as llama.cpp prints it */
    unsigned block_elems; /* elements a block */
    unsigned block_bytes; /* bytes a block, scales included */
    /* n elements, n % block_elems == 0. NULL: bytes known, values not supported. */
    void (*dequantize)(const void *src, float *dst, size_t n);
    /* NULL: cannot be written by roofcast. Round to nearest; never fails (NaN becomes 0). */
    void (*quantize)(const float *src, void *dst, size_t n);
};

/* The row of an id, or NULL when the id is unknown. */
const struct dtype_info *dtype_find(int64_t id);
/* The same of an id in a GGUF: ggml's types alone. */
const struct dtype_info *dtype_find_ggml(int64_t id);
/* By name, case-insensitive ("q8_0", "F16"), or NULL. */
const struct dtype_info *dtype_find_name(const char *name);
/* By name, else ERROR_USAGE with the list of names that can be executed. */
/* "F32, F16, ...": the types whose values can be read, for messages. */
const char *dtype_names(char *buf, size_t n);
const struct dtype_info *dtype_get_name(const char *name, struct error *err);
/* Rows of ggml's types in id order; i from 0; NULL past the end. */
const struct dtype_info *dtype_at(size_t i);
/* Likewise of the types that are only priced. */
const struct dtype_info *dtype_priced_at(size_t i);
/* True when the engine can execute weights of this type (dequantize exists). */
/* The types a KV cache may have: those ggml's flash attention reads too, then those that are only priced. i from 0;
 * false past the end. */
bool dtype_kv_at(size_t i, enum dtype *t);
/* what ("keys") of that type and heads of head_dim elements, which are whole blocks; else ERROR_USAGE. The first: for a
 * cache that is filled; the second: also the types that are only priced. */
int dtype_check_kv(enum dtype t, const char *what, uint32_t head_dim, struct error *err);
int dtype_check_kv_priced(enum dtype t, const char *what, uint32_t head_dim, struct error *err);
bool dtype_executable(enum dtype t);
const char *dtype_name(enum dtype t);

/* Bytes of a row of cols elements; cols % block_elems == 0 is the caller's duty (FP8_DS_MLA: or 128, an indexer's key). */
size_t dtype_row_bytes(enum dtype t, uint64_t cols);
/* Bits a weight, scales included: 8 * block_bytes / block_elems. */
double dtype_bits(enum dtype t);

/* What a nibble of IQ4_NL and IQ4_XS stands for, ascending; twice what one of MXFP4 does (the E2M1
 * numbers 0, 0.5, 1, 1.5, 2, 3, 4, 6, then their negatives). */
extern const int8_t dtype_iq4[16];
extern const int8_t dtype_e2m1[16];

/* Half-precision conversions, exact (f16 -> f32) and round to nearest even (f32 -> f16 / bf16;
 * overflow to infinity, NaN kept quiet, subnormals kept). */
float f16_to_f32(uint16_t h);
uint16_t f32_to_f16(float f);
float bf16_to_f32(uint16_t h);
uint16_t f32_to_bf16(float f);

#endif
