/* amx/init.c: this rung's slots, and whether they are to be had. */
#include "kernels/amx/amx.h"
#include "kernels/pack.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define AMX_SLOT(TYPE, type)                              \
    k->packed[DTYPE_##TYPE].gemm = amx_gemm_##type;       \
    k->arrange[DTYPE_##TYPE] = amx_arrange_##type;        \
    k->arrange_row[DTYPE_##TYPE] = amx_arrange_row

void kernels_init_amx(struct kernels *k)
{
    k->pow2_min_tok = 0; /* scales cost nothing here */
    k->attention = amx_attention;
    k->bf16_min_tok = AMX_MIN_TOK;
    k->f32_min_tok = AMX_MIN_TOK_F32;
    AMX_SLOT(BF16, bf16);
    AMX_SLOT(F16, f16);
    AMX_SLOT(F32, f32);
    k->arrange_row[DTYPE_F32] = amx_arrange_row_f32;
    k->packed[DTYPE_BF16].gemv_max_tok = AMX_MIN_TOK_BF16 - 1;
    k->packed[DTYPE_F16].gemv_max_tok = AMX_MIN_TOK_F16 - 1;
    AMX_SLOT(Q8_0, q8_0);
    AMX_SLOT(Q4_0, q4_0);
    AMX_SLOT(Q4_1, q4_1);
    AMX_SLOT(Q5_0, q5_0);
    AMX_SLOT(Q5_1, q5_1);
    AMX_SLOT(Q2_K, q2_k);
    AMX_SLOT(Q3_K, q3_k);
    AMX_SLOT(Q4_K, q4_k);
    AMX_SLOT(Q5_K, q5_k);
    AMX_SLOT(Q6_K, q6_k);
    AMX_SLOT(IQ4_NL, iq4_nl);
    AMX_SLOT(IQ4_XS, iq4_xs);
    AMX_SLOT(MXFP4, mxfp4);
}

/* ---- the first use ------------------------------------------------------------------- */

enum { TRY_ROWS = 32, TRY_COLS = 96, TRY_TOK = 40 };

struct trial {
    _Alignas(64) uint16_t w[TRY_ROWS * TRY_COLS];
    float y[TRY_TOK][TRY_ROWS];
    _Alignas(64) unsigned char acts[2 * TRY_TOK * (TRY_COLS + 128)];
};

/* Small integers, which bf16 and sums of products have exactly. */
static float try_w(size_t r, size_t c)
{
    return (float)((r * 7 + c * 3) % 11) - 5;
}
static float try_x(size_t t, size_t c)
{
    return (float)((t * 5 + c) % 13) - 6;
}

static void try_weights(struct trial *v)
{
    for (size_t r = 0; r < TRY_ROWS; r++)
        for (size_t c = 0; c < TRY_COLS; c++) { /* as pack.h has them: pairs of 16 rows side by side */
            const size_t at = r / PACK_ROWS * PACK_ROWS * TRY_COLS + c / 2 * 2 * PACK_ROWS + r % PACK_ROWS * 2 + c % 2;
            v->w[at] = f32_to_bf16(try_w(r, c));
        }
}

static bool try_product(struct trial *v, void *scratch)
{
    struct acts a;
    acts_bind(&a, ACT_BF16, TRY_TOK, TRY_COLS, v->acts);
    memset(v->acts, 0, sizeof v->acts);
    for (size_t t = 0; t < TRY_TOK; t++)
        for (size_t c = 0; c < TRY_COLS; c++)
            a.bf16[t * a.stride + c] = f32_to_bf16(try_x(t, c));
    try_weights(v);
    const struct matmul_args args = { (const unsigned char *)v->w, 2 * TRY_COLS, TRY_COLS, &a, v->y[0], TRY_ROWS, scratch, false, false };
    amx_gemm_bf16(&args, 0, TRY_ROWS);
    for (size_t t = 0; t < TRY_TOK; t++)
        for (size_t r = 0; r < TRY_ROWS; r++) {
            float want = 0;
            for (size_t c = 0; c < TRY_COLS; c++)
                want += try_w(r, c) * try_x(t, c);
            if (v->y[t][r] != want)
                return false;
        }
    return true;
}

bool kernels_amx_works(void)
{
    enum { UNKNOWN, WORKS, BROKEN };
    static atomic_int known;
    if (atomic_load(&known) == UNKNOWN) {
        struct trial *v = aligned_alloc(64, size_align_up(sizeof *v, 64));
        void *scratch = aligned_alloc(64, size_align_up(kernels_scratch_bytes(TRY_COLS, TRY_TOK), 64));
        const bool works = v && scratch && acts_bytes(ACT_BF16, TRY_TOK, TRY_COLS) <= sizeof v->acts && try_product(v, scratch);
        free(v);
        free(scratch);
        atomic_store(&known, works ? WORKS : BROKEN);
    }
    return atomic_load(&known) == WORKS;
}
