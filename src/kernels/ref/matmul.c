/* ref/matmul.c: y = W x for every type that can be dequantized, accumulated in double. */
#include "kernels/ref/ref.h"

/* Columns dequantized at a time: every type's block divides it. */
enum { CHUNK = 256 };

/* methods.md (5); a row's weights are read once for all tokens. */
void ref_matmul(const struct matmul_args *a, size_t row0, size_t row1)
{
    const struct dtype_info *type = dtype_find(a->type);
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
