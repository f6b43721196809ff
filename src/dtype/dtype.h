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
     * there, and of servers' KV caches. Sizes only. (4) */
    DTYPE_FP8 = 256, /* E4M3 */
    DTYPE_INT8,
    DTYPE_INT4,
    DTYPE_FP4, /* E2M1 */
    DTYPE_FP8_DS_MLA, /* a row of a latent cache, scales included */
    DTYPE_PRICED_END,
};

/*
 * Blocks of the quantized types that can be executed: elements, bytes, and the byte at which each field begins (the first
 * at 0). Stated here alone, as constants: kernels are compiled for them. Values: methods.md (1)
 */
/* clang-format off */
enum dtype_block {
    Q8_0_ELEMS = 32, Q8_0_BYTES = 34, Q8_0_Q = 2,                  /* half d; i8 q[32] */
    Q4_0_ELEMS = 32, Q4_0_BYTES = 18, Q4_0_Q = 2,                  /* half d; u8 q[16] */
    Q4_1_ELEMS = 32, Q4_1_BYTES = 20, Q4_1_M = 2, Q4_1_Q = 4,      /* half d, m; u8 q[16] */
    Q5_0_ELEMS = 32, Q5_0_BYTES = 22, Q5_0_HIGH = 2, Q5_0_Q = 6,   /* half d; u32 high; u8 q[16] */
    Q5_1_ELEMS = 32, Q5_1_BYTES = 24, Q5_1_M = 2, Q5_1_HIGH = 4, Q5_1_Q = 8, /* half d, m; u32 high; u8 q[16] */
    IQ4_NL_ELEMS = 32, IQ4_NL_BYTES = 18, IQ4_NL_Q = 2,            /* half d; u8 q[16] */
    MXFP4_ELEMS = 32, MXFP4_BYTES = 17, MXFP4_Q = 1,               /* u8 e; u8 q[16] */
    Q2_K_ELEMS = 256, Q2_K_BYTES = 84, Q2_K_Q = 16, Q2_K_D = 80, Q2_K_DMIN = 82, /* u8 scales[16], q[64]; half d, dmin */
    Q3_K_ELEMS = 256, Q3_K_BYTES = 110, Q3_K_Q = 32, Q3_K_SCALES = 96, Q3_K_D = 108, /* u8 high[32], q[64], scales[12]; half d */
    Q4_K_ELEMS = 256, Q4_K_BYTES = 144, Q4_K_DMIN = 2, Q4_K_SCALES = 4, Q4_K_Q = 16, /* half d, dmin; u8 scales[12], q[128] */
    Q5_K_ELEMS = 256, Q5_K_BYTES = 176, Q5_K_DMIN = 2, Q5_K_SCALES = 4, Q5_K_HIGH = 16, Q5_K_Q = 48, /* the same with u8 high[32] before q */
    Q6_K_ELEMS = 256, Q6_K_BYTES = 210, Q6_K_HIGH = 128, Q6_K_SCALES = 192, Q6_K_D = 208, /* u8 q[128], high[64]; i8 scales[16]; half d */
    IQ4_XS_ELEMS = 256, IQ4_XS_BYTES = 136, IQ4_XS_HIGH = 2, IQ4_XS_SCALES = 4, IQ4_XS_Q = 8, /* half d; u16 high; u8 scales[4], q[128] */
};
/* clang-format on */

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
/* "F32, F16, ...": the types whose values can be read, for messages. */
const char *dtype_names(char *buf, size_t n);
/* By name, else ERROR_USAGE with the list of names that can be executed. */
const struct dtype_info *dtype_get_name(const char *name, struct error *err);
/* Rows of ggml's types in id order; i from 0; NULL past the end. */
const struct dtype_info *dtype_at(size_t i);
/* Likewise of the types with sizes only. */
const struct dtype_info *dtype_priced_at(size_t i);
/* The types a KV cache may have: those ggml's flash attention reads too, then those with sizes only. i from 0; false past the end. */
bool dtype_kv_at(size_t i, enum dtype *t);
/* The one of these of that name, case-insensitive; else ERROR_USAGE with the list. */
int dtype_get_kv(enum dtype *t, const char *name, struct error *err);
/* Checks type and head_dim of a KV cache (what: "keys"); head_dim must be whole blocks; else ERROR_USAGE. The first: for a cache that is
 * filled; the second: also the types with sizes only. */
int dtype_check_kv(enum dtype t, const char *what, uint32_t head_dim, struct error *err);
int dtype_check_kv_priced(enum dtype t, const char *what, uint32_t head_dim, struct error *err);
/* Whether the engine can execute weights of this type (dequantize exists). */
bool dtype_executable(enum dtype t);
const char *dtype_name(enum dtype t);

/* Bytes of a row of cols elements; cols % block_elems == 0 (FP8_DS_MLA: or 128, an indexer's key). */
size_t dtype_row_bytes(enum dtype t, uint64_t cols);
/* Bits a weight, scales included: 8 * block_bytes / block_elems. */
double dtype_bits(enum dtype t);

/* Values of the nibbles of IQ4_NL and IQ4_XS, ascending; twice those of MXFP4 (the E2M1
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
