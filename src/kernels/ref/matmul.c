/* ref/matmul.c: y = W x for every type that can be dequantized, accumulated in double. */
#include "kernels/ref/ref.h"

/* Columns dequantized at a time: every type's block divides it. */
enum { CHUNK = 256 };

/* methods.md (5); a row's weights are walked once, whatever the number of tokens. */
static void matmul(const struct matmul_args *a, size_t row0, size_t row1, enum dtype t)
{
    const struct dtype_info *type = dtype_find(t);
    const struct acts *x = a->x;
    double *acc = a->scratch;
    float w[CHUNK];
    for (size_t r = row0; r < row1; r++) {
        const unsigned char *row = a->w + r * a->w_row_bytes;
        for (size_t i = 0; i < x->n_tok; i++)
            acc[i] = 0;
        for (size_t c = 0; c < a->cols; c += CHUNK) {
            size_t n = a->cols - c < CHUNK ? a->cols - c : CHUNK;
            type->dequantize(row + c / type->block_elems * type->block_bytes, w, n);
            for (size_t i = 0; i < x->n_tok; i++) {
                const float *xi = x->f32 + i * x->stride + c;
                double s = 0;
                for (size_t j = 0; j < n; j++)
                    s += (double)w[j] * (double)xi[j];
                acc[i] += s;
            }
        }
        for (size_t i = 0; i < x->n_tok; i++)
            a->y[i * a->y_stride + r] = (float)acc[i];
    }
}

/* A slot is a plain function pointer, so each type needs its own function. */
#define REF_MATMUL(name, type)                                                             \
    static void name(const struct matmul_args *a, size_t row0, size_t row1)                \
    {                                                                                      \
        matmul(a, row0, row1, type);                                                       \
    }
REF_MATMUL(mm_f32, DTYPE_F32)
REF_MATMUL(mm_f16, DTYPE_F16)
REF_MATMUL(mm_bf16, DTYPE_BF16)
REF_MATMUL(mm_q8_0, DTYPE_Q8_0)
REF_MATMUL(mm_q4_0, DTYPE_Q4_0)
REF_MATMUL(mm_q4_1, DTYPE_Q4_1)
REF_MATMUL(mm_q5_0, DTYPE_Q5_0)
REF_MATMUL(mm_q5_1, DTYPE_Q5_1)
REF_MATMUL(mm_q2_k, DTYPE_Q2_K)
REF_MATMUL(mm_q3_k, DTYPE_Q3_K)
REF_MATMUL(mm_q4_k, DTYPE_Q4_K)
REF_MATMUL(mm_q5_k, DTYPE_Q5_K)
REF_MATMUL(mm_q6_k, DTYPE_Q6_K)
REF_MATMUL(mm_iq4_nl, DTYPE_IQ4_NL)
REF_MATMUL(mm_iq4_xs, DTYPE_IQ4_XS)
REF_MATMUL(mm_mxfp4, DTYPE_MXFP4)

static matmul_fn *const table[DTYPE_COUNT] = {
    [DTYPE_F32] = mm_f32,     [DTYPE_F16] = mm_f16,       [DTYPE_BF16] = mm_bf16,
    [DTYPE_Q8_0] = mm_q8_0,   [DTYPE_Q4_0] = mm_q4_0,     [DTYPE_Q4_1] = mm_q4_1,
    [DTYPE_Q5_0] = mm_q5_0,   [DTYPE_Q5_1] = mm_q5_1,     [DTYPE_Q2_K] = mm_q2_k,
    [DTYPE_Q3_K] = mm_q3_k,   [DTYPE_Q4_K] = mm_q4_k,     [DTYPE_Q5_K] = mm_q5_k,
    [DTYPE_Q6_K] = mm_q6_k,   [DTYPE_IQ4_NL] = mm_iq4_nl, [DTYPE_IQ4_XS] = mm_iq4_xs,
    [DTYPE_MXFP4] = mm_mxfp4,
};

matmul_fn *ref_matmul(enum dtype t)
{
    return dtype_executable(t) ? table[t] : NULL;
}
