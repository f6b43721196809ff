/* dtype.c: the table of tensor types, indexed by GGML id, and its queries. */
#include "dtype/internal.h"
#include <string.h>
#include <strings.h>

#define K 256 /* elements of a super-block */
#define DS_INDEX_DIM 128 /* elements of a key of DeepSeek-V3.2's indexer */

/* Sizes: methods.md (1). Holes (4, 5, 31..33, 36..38) are ids that were given up. */
static const struct dtype_info dtypes[DTYPE_COUNT] = {
    [DTYPE_F32] = { DTYPE_F32, "F32", 1, 4, f32_dequantize, f32_quantize },
    [DTYPE_F16] = { DTYPE_F16, "F16", 1, 2, f16_dequantize, f16_quantize },
    [DTYPE_Q4_0] = { DTYPE_Q4_0, "Q4_0", Q4_0_ELEMS, Q4_0_BYTES, q4_0_dequantize, q4_0_quantize },
    [DTYPE_Q4_1] = { DTYPE_Q4_1, "Q4_1", Q4_1_ELEMS, Q4_1_BYTES, q4_1_dequantize, q4_1_quantize },
    [DTYPE_Q5_0] = { DTYPE_Q5_0, "Q5_0", Q5_0_ELEMS, Q5_0_BYTES, q5_0_dequantize, q5_0_quantize },
    [DTYPE_Q5_1] = { DTYPE_Q5_1, "Q5_1", Q5_1_ELEMS, Q5_1_BYTES, q5_1_dequantize, q5_1_quantize },
    [DTYPE_Q8_0] = { DTYPE_Q8_0, "Q8_0", Q8_0_ELEMS, Q8_0_BYTES, q8_0_dequantize, q8_0_quantize },
    [DTYPE_Q8_1] = { DTYPE_Q8_1, "Q8_1", 32, 36, NULL, NULL },
    [DTYPE_Q2_K] = { DTYPE_Q2_K, "Q2_K", Q2_K_ELEMS, Q2_K_BYTES, q2_k_dequantize, q2_k_quantize },
    [DTYPE_Q3_K] = { DTYPE_Q3_K, "Q3_K", Q3_K_ELEMS, Q3_K_BYTES, q3_k_dequantize, q3_k_quantize },
    [DTYPE_Q4_K] = { DTYPE_Q4_K, "Q4_K", Q4_K_ELEMS, Q4_K_BYTES, q4_k_dequantize, q4_k_quantize },
    [DTYPE_Q5_K] = { DTYPE_Q5_K, "Q5_K", Q5_K_ELEMS, Q5_K_BYTES, q5_k_dequantize, q5_k_quantize },
    [DTYPE_Q6_K] = { DTYPE_Q6_K, "Q6_K", Q6_K_ELEMS, Q6_K_BYTES, q6_k_dequantize, q6_k_quantize },
    [DTYPE_Q8_K] = { DTYPE_Q8_K, "Q8_K", K, 292, NULL, NULL },
    [DTYPE_IQ2_XXS] = { DTYPE_IQ2_XXS, "IQ2_XXS", K, 66, NULL, NULL },
    [DTYPE_IQ2_XS] = { DTYPE_IQ2_XS, "IQ2_XS", K, 74, NULL, NULL },
    [DTYPE_IQ3_XXS] = { DTYPE_IQ3_XXS, "IQ3_XXS", K, 98, NULL, NULL },
    [DTYPE_IQ1_S] = { DTYPE_IQ1_S, "IQ1_S", K, 50, NULL, NULL },
    [DTYPE_IQ4_NL] = { DTYPE_IQ4_NL, "IQ4_NL", IQ4_NL_ELEMS, IQ4_NL_BYTES, iq4_nl_dequantize, iq4_nl_quantize },
    [DTYPE_IQ3_S] = { DTYPE_IQ3_S, "IQ3_S", K, 110, NULL, NULL },
    [DTYPE_IQ2_S] = { DTYPE_IQ2_S, "IQ2_S", K, 82, NULL, NULL },
    [DTYPE_IQ4_XS] = { DTYPE_IQ4_XS, "IQ4_XS", IQ4_XS_ELEMS, IQ4_XS_BYTES, iq4_xs_dequantize, iq4_xs_quantize },
    [DTYPE_I8] = { DTYPE_I8, "I8", 1, 1, NULL, NULL },
    [DTYPE_I16] = { DTYPE_I16, "I16", 1, 2, NULL, NULL },
    [DTYPE_I32] = { DTYPE_I32, "I32", 1, 4, NULL, NULL },
    [DTYPE_I64] = { DTYPE_I64, "I64", 1, 8, NULL, NULL },
    [DTYPE_F64] = { DTYPE_F64, "F64", 1, 8, NULL, NULL },
    [DTYPE_IQ1_M] = { DTYPE_IQ1_M, "IQ1_M", K, 56, NULL, NULL },
    [DTYPE_BF16] = { DTYPE_BF16, "BF16", 1, 2, bf16_dequantize, bf16_quantize },
    [DTYPE_TQ1_0] = { DTYPE_TQ1_0, "TQ1_0", K, 54, NULL, NULL },
    [DTYPE_TQ2_0] = { DTYPE_TQ2_0, "TQ2_0", K, 66, NULL, NULL },
    [DTYPE_MXFP4] = { DTYPE_MXFP4, "MXFP4", MXFP4_ELEMS, MXFP4_BYTES, mxfp4_dequantize, mxfp4_quantize },
    [DTYPE_NVFP4] = { DTYPE_NVFP4, "NVFP4", 64, 36, NULL, NULL },
    [DTYPE_Q1_0] = { DTYPE_Q1_0, "Q1_0", 128, 18, NULL, NULL },
    [DTYPE_Q2_0] = { DTYPE_Q2_0, "Q2_0", 64, 18, NULL, NULL },
};

/* Sizes: methods.md (4). */
static const struct dtype_info priced[DTYPE_PRICED_END - DTYPE_FP8] = {
    { DTYPE_FP8, "FP8", 1, 1, NULL, NULL },
    { DTYPE_INT8, "INT8", 1, 1, NULL, NULL },
    { DTYPE_INT4, "INT4", 2, 1, NULL, NULL },
    { DTYPE_FP4, "FP4", 2, 1, NULL, NULL },
    { DTYPE_FP8_DS_MLA, "FP8_DS_MLA", 576, 656, NULL, NULL },
};

const struct dtype_info *dtype_find_ggml(int64_t id)
{
    if (id < 0 || id >= DTYPE_COUNT || !dtypes[id].name)
        return NULL;
    return &dtypes[id];
}

const struct dtype_info *dtype_find(int64_t id)
{
    if (id >= DTYPE_FP8 && id < DTYPE_PRICED_END)
        return &priced[id - DTYPE_FP8];
    return dtype_find_ggml(id);
}

const struct dtype_info *dtype_priced_at(size_t i)
{
    return i < ARRAY_LEN(priced) ? &priced[i] : NULL;
}

const struct dtype_info *dtype_at(size_t i)
{
    for (size_t id = 0; id < DTYPE_COUNT; id++)
        if (dtypes[id].name && i-- == 0)
            return &dtypes[id];
    return NULL;
}

const struct dtype_info *dtype_find_name(const char *name)
{
    for (size_t id = 0; id < DTYPE_COUNT; id++)
        if (dtypes[id].name && strcasecmp(dtypes[id].name, name) == 0)
            return &dtypes[id];
    for (size_t i = 0; i < ARRAY_LEN(priced); i++)
        if (strcasecmp(priced[i].name, name) == 0)
            return &priced[i];
    return NULL;
}

const char *dtype_names(char *buf, size_t n)
{
    size_t len = 0;
    buf[0] = '\0';
    for (size_t id = 0; id < DTYPE_COUNT && len < n; id++)
        if (dtypes[id].dequantize)
            len += (size_t)snprintf(buf + len, n - len, "%s%s", len ? ", " : "", dtypes[id].name);
    return buf;
}

const struct dtype_info *dtype_get_name(const char *name, struct error *err)
{
    const struct dtype_info *d = dtype_find_name(name);
    if (d && d->dequantize)
        return d;
    char names[512];
    error_set(err, ERROR_USAGE, "%s tensor type \"%s\"; expected one of: %s",
              d ? "unsupported" : "unknown", name, dtype_names(names, sizeof names));
    return NULL;
}

static const enum dtype kv_types[] = { DTYPE_F32,  DTYPE_F16,  DTYPE_BF16, DTYPE_Q8_0,   DTYPE_Q4_0, DTYPE_Q4_1,
                                       DTYPE_Q5_0, DTYPE_Q5_1, DTYPE_IQ4_NL, DTYPE_FP8, DTYPE_INT8, DTYPE_FP8_DS_MLA, DTYPE_NVFP4 };

bool dtype_kv_at(size_t i, enum dtype *t)
{
    if (i < ARRAY_LEN(kv_types))
        *t = kv_types[i];
    return i < ARRAY_LEN(kv_types);
}

int dtype_get_kv(enum dtype *t, const char *name, struct error *err)
{
    const struct dtype_info *found = dtype_find_name(name);
    char list[160] = "";
    for (size_t i = 0; i < ARRAY_LEN(kv_types); i++) {
        const size_t n = strlen(list);
        if (found && found->id == kv_types[i]) {
            *t = kv_types[i];
            return 0;
        }
        snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", dtype_name(kv_types[i]));
    }
    return error_set(err, ERROR_USAGE, "type of the KV cache \"%.32s\": expected one of %s", name, list);
}

static bool is_kv(enum dtype t)
{
    bool is = false;
    for (size_t i = 0; i < ARRAY_LEN(kv_types); i++)
        is |= kv_types[i] == t;
    return is;
}

static int check_kv(enum dtype t, const char *what, uint32_t head_dim, bool with_priced, struct error *err)
{
    char list[160] = "";
    bool known = false;
    for (size_t i = 0; i < ARRAY_LEN(kv_types); i++) {
        const size_t n = strlen(list);
        if (!dtype_executable(kv_types[i]) && !with_priced)
            continue;
        known |= kv_types[i] == t;
        snprintf(list + n, sizeof list - n, "%s%s", n > 0 ? ", " : "", dtype_name(kv_types[i]));
    }
    if (!known && is_kv(t) && !dtype_executable(t) && !with_priced)
        return error_set(err, ERROR_USAGE, "KV cache: %s of type %s can be predicted (predict, analyze), not executed: expected one of %s",
                         what, dtype_name(t), list);
    if (!known)
        return error_set(err, ERROR_USAGE, "KV cache: %s of type %s: expected one of %s", what, dtype_name(t), list);
    const unsigned block = dtype_find((int64_t)t)->block_elems;
    if (head_dim % block == 0 || (t == DTYPE_FP8_DS_MLA && head_dim == DS_INDEX_DIM))
        return 0;
    return error_set(err, ERROR_USAGE, "KV cache: %s of type %s come in blocks of %u, the model's heads have %u elements", what,
                     dtype_name(t), block, head_dim);
}

int dtype_check_kv(enum dtype t, const char *what, uint32_t head_dim, struct error *err)
{
    return check_kv(t, what, head_dim, false, err);
}

int dtype_check_kv_priced(enum dtype t, const char *what, uint32_t head_dim, struct error *err)
{
    return check_kv(t, what, head_dim, true, err);
}

bool dtype_executable(enum dtype t)
{
    const struct dtype_info *d = dtype_find((int64_t)t);
    return d && d->dequantize;
}

const char *dtype_name(enum dtype t)
{
    const struct dtype_info *d = dtype_find((int64_t)t);
    return d ? d->name : "unknown";
}

size_t dtype_row_bytes(enum dtype t, uint64_t cols)
{
    const struct dtype_info *d = dtype_find((int64_t)t);
    size_t bytes;
    if (!d)
        return 0;
    if (t == DTYPE_FP8_DS_MLA && cols == DS_INDEX_DIM)
        return DS_INDEX_DIM + 4; /* FP8 with one F32 scale */
    return size_mul(cols / d->block_elems, d->block_bytes, &bytes) ? bytes : SIZE_MAX;
}

double dtype_bits(enum dtype t)
{
    const struct dtype_info *d = dtype_find((int64_t)t);
    return d ? 8.0 * d->block_bytes / d->block_elems : 0;
}
