/* amx/init.c: slots of AMX, and the trial product. */
#include "kernels/amx/amx.h"
#include "kernels/pack.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void kernels_init_amx(struct kernels *k, unsigned cpu_flags)
{
    (void)cpu_flags;
    k->pow2_min_tok = 0; /* scales cost nothing here */
    k->attention = amx_attention;
    k->bf16_min_tok = AMX_MIN_TOK;
    k->f32_min_tok = AMX_MIN_TOK_F32;
    for (enum dtype t = 0; t < DTYPE_COUNT; t++) {
        struct matmul_slot *const slot = &k->packed[t];
        if (!slot->gemm)
            continue;
        slot->gemm = slot->act == ACT_Q8 ? amx_gemm_q8 : amx_gemm_numbers;
        k->pack_acts[t] = slot->act == ACT_Q8 ? amx_pack_acts_q8 : amx_pack_acts_numbers;
        k->pack_acts_row[t] = t == DTYPE_F32 ? amx_pack_acts_row_f32 : amx_pack_acts_row;
    }
    k->packed[DTYPE_BF16].gemv_max_tok = AMX_MIN_TOK_BF16 - 1;
    k->packed[DTYPE_F16].gemv_max_tok = AMX_MIN_TOK_F16 - 1;
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
    const struct matmul_args args = { (const unsigned char *)v->w, DTYPE_BF16, 2 * TRY_COLS, TRY_COLS, &a, v->y[0], TRY_ROWS, scratch, false, false };
    amx_gemm_numbers(&args, 0, TRY_ROWS);
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
