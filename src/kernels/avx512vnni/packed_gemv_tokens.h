/*
 * kernels/avx512vnni/packed_gemv_tokens.h: decode of one panel after the other, for each number of tokens a pass of its own. The
 * includer defines gemv_format, what a format knows at compile time, with its members acts and ahead, and
 *     void gemv_panel(const unsigned char *p, size_t cols, const struct row_acts *x, int n_tok, gemv_format f, struct row_sums *y):
 * one panel from p on. Static inline only.
 */
#ifndef KERNELS_AVX512VNNI_PACKED_GEMV_TOKENS_H
#define KERNELS_AVX512VNNI_PACKED_GEMV_TOKENS_H

/* 16 rows from r on. */
INLINE void packed_panel(const struct matmul_args *a, size_t r, size_t row1, const struct row_acts *x, const int n_tok, const gemv_format f)
{
    struct row_sums y;
#pragma GCC unroll 8
    for (int t = 0; t < n_tok; t++)
        y.v[0][t] = y.v[1][t] = _mm512_setzero_ps();
    gemv_panel(a->w + r * a->w_row_bytes, a->cols, x, n_tok, f, &y);
#pragma GCC unroll 8
    for (int t = 0; t < n_tok; t++)
        _mm512_mask_storeu_ps(a->y + (size_t)t * a->y_stride + r, vm_first(row1 - r),
                              _mm512_add_ps(y.v[0][t], y.v[1][t]));
}

INLINE void packed_acts(struct row_acts *x, const struct matmul_args *a, const size_t n_tok, const struct act_format f)
{
    const size_t per_tok = row_acts_bytes(a->cols);
    for (size_t t = 0; t < n_tok; t++) {
        row_acts_init(&x[t], (char *)a->scratch + t * per_tok, a->x, t, f);
        x[t].leave = PACK_ROWS * a->w_row_bytes > ACTS_STAY;
    }
}

INLINE void packed_rows(const struct matmul_args *a, size_t row0, size_t row1, const int n_tok, const gemv_format f)
{
    struct row_acts x[VNNI_BATCH_MOST];
    packed_acts(x, a, (size_t)n_tok, f.acts);
    for (size_t r = row0; r < row1; r += PACK_ROWS)
        packed_panel(a, r, row1, x, n_tok, f);
}

/* At most VNNI_FEW_TOK tokens. */
INLINE void packed_few(const struct matmul_args *a, size_t row0, size_t row1, const gemv_format f)
{
    switch (a->x->n_tok) {
    case 1:
        packed_rows(a, row0, row1, 1, f);
        break;
    case 2:
        packed_rows(a, row0, row1, 2, f);
        break;
    default: /* VNNI_FEW_TOK */
        packed_rows(a, row0, row1, VNNI_FEW_TOK, f);
        break;
    }
}

/* More than VNNI_FEW_TOK tokens, at most `most`, each number with code of its own: padding would make batches of 5 slower than those of 4. */
INLINE void packed_batch(const struct matmul_args *a, size_t row0, size_t row1, const int most, const gemv_format f)
{
    switch (a->x->n_tok) {
    case 4:
        packed_rows(a, row0, row1, 4, f);
        break;
    case 5:
        packed_rows(a, row0, row1, 5, f);
        break;
    case VNNI_BATCH_TOK:
        packed_rows(a, row0, row1, VNNI_BATCH_TOK, f);
        break;
    default:
        if (most == VNNI_BATCH_TOK)
            break;
        if (a->x->n_tok == VNNI_BATCH_TOK + 1)
            packed_rows(a, row0, row1, VNNI_BATCH_TOK + 1, f);
        else
            packed_rows(a, row0, row1, VNNI_BATCH_MOST, f);
        break;
    }
}

/* gemv_NAME: the format's members are the last arguments; few tokens with prefetch `few`, more, at most `most`, with `many`. */
#define GEMV(name, most, few, many, ...)                                                 \
    PRODUCT(batch_##name, packed_batch, most, (gemv_format){ __VA_ARGS__, .ahead = many }) \
    static void gemv_##name(const struct matmul_args *a, size_t row0, size_t row1)      \
    {                                                                                    \
        if (a->x->n_tok > VNNI_FEW_TOK)                                                  \
            batch_##name(a, row0, row1);                                                 \
        else                                                                             \
            packed_few(a, row0, row1, (gemv_format){ __VA_ARGS__, .ahead = few });       \
    }
/* One and two tokens without prefetch, more as gemv_MORE. */
#define GEMV_STREAMS(name, more, ...)                                                    \
    static void gemv_##name(const struct matmul_args *a, size_t row0, size_t row1)      \
    {                                                                                    \
        if (a->x->n_tok > 2)                                                             \
            gemv_##more(a, row0, row1);                                                  \
        else                                                                             \
            packed_few(a, row0, row1, (gemv_format){ __VA_ARGS__, .ahead = AHEAD_NONE }); \
    }

#endif
