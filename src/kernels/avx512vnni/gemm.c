/*
 * avx512vnni/gemm.c: prefill. A chunk of 32 rows x 256 columns of any quantized format is
 * unpacked once to bytes interleaved for vpdpbusd, with float scales, and then used by all tokens.
 *
 * Layout of the chunk: 16 rows x 4 k in 64 bytes, so a vector of weights meets one broadcast of
 * 4 activations and each lane is a row. Tile: 32 rows x 6 tokens, 12 integer and 12 float
 * accumulators, every broadcast feeding two dot products. Weights are bytes >= 0 (quant + bias),
 * activations signed; the integer accumulators start at -bias * (sum of the activations), which
 * makes them exact sums of quant * activation.
 *
 * Loops: groups of row panels (their y stays in the L2 cache) > chunks of k > panels > tokens.
 * Each weight byte is read once. methods.md (4)
 */
#include "kernels/avx512/simd512.h"
#include "kernels/avx512vnni/vnni.h"

enum {
    GROUPS = CHUNK_K / 16,         /* scales or scales + mins of a row of a chunk */
    PANELS = 2,                    /* panels unpacked before walking the tokens */
    GROUP_Y_BYTES = 512 * 1024,    /* y of a group of panels, to stay in L2 */
};

struct panel {
    uint8_t w[CHUNK_K / 4][PANEL_ROWS][4];
    float meta[GROUPS][PANEL_ROWS];
};

/* Per token and chunk: start values of the accumulators, scales, and d * sum for the mins. */
struct tok {
    int32_t start[GROUPS];
    float d[CHUNK_K / 32], xsum[CHUNK_K / 32];
};

struct scratch {
    struct panel panel[PANELS];
    uint8_t linear[PANEL_ROWS][CHUNK_K];
    float meta[PANEL_ROWS][GROUPS];
    struct tok tok[];
};
_Static_assert(sizeof(struct scratch) <= SCRATCH_PANEL_BYTES, "fixed part of the scratch");
_Static_assert(sizeof(struct tok) <= SCRATCH_TOK_BYTES, "token part of the scratch");

/* What a tile reads and writes; pointers at its first token and chunk. */
struct tile {
    const struct panel *panel;
    const int8_t *q;
    const struct tok *tok;
    float *y;
    size_t q_stride, y_stride;
    unsigned n_blk; /* blocks of 32 in the chunk */
    bool first;     /* y is written, not added to */
    __mmask16 rows0, rows1;
};

/* Sums over one group of n k-quads: i[t] and i[n_tok + t] for the two halves of the panel. */
INLINE void dot_group(const struct tile *a, const int8_t *const *q, const uint8_t *w, int quads,
                      unsigned g, int n_tok, __m512i *i)
{
    const size_t k = (size_t)g * (size_t)quads * 4;
#pragma GCC unroll 6
    for (int t = 0; t < n_tok; t++)
        i[t] = i[n_tok + t] = _mm512_set1_epi32(a->tok[t].start[g]);
#pragma GCC unroll 8
    for (int j = 0; j < quads; j++) {
        __m512i w0 = _mm512_load_si512(w + j * 128), w1 = _mm512_load_si512(w + j * 128 + 64);
#pragma GCC unroll 6
        for (int t = 0; t < n_tok; t++) {
            int32_t x4;
            __builtin_memcpy(&x4, q[t] + k + (size_t)j * 4, sizeof x4);
            __m512i x = _mm512_set1_epi32(x4);
            i[t] = _mm512_dpbusd_epi32(i[t], w0, x);
            i[n_tok + t] = _mm512_dpbusd_epi32(i[n_tok + t], w1, x);
        }
    }
}

/* One scale a block of 32, and a min where the format has one. */
INLINE void block_32(const struct tile *a, const int8_t *const *q, unsigned b, int n_tok,
                     bool has_min, __m512 *acc)
{
    __m512i i[2 * TILE_TOK];
    dot_group(a, q, &a->panel->w[b * 8][0][0], 8, b, n_tok, i);
    __m512 s0 = _mm512_load_ps(a->panel->meta[b]), s1 = _mm512_load_ps(a->panel->meta[b] + 16);
#pragma GCC unroll 6
    for (int t = 0; t < n_tok; t++) {
        __m512 d = _mm512_set1_ps(a->tok[t].d[b]);
        acc[t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(i[t]), _mm512_mul_ps(s0, d), acc[t]);
        acc[n_tok + t] =
            _mm512_fmadd_ps(_mm512_cvtepi32_ps(i[n_tok + t]), _mm512_mul_ps(s1, d), acc[n_tok + t]);
    }
    if (!has_min)
        return;
    const float *m = a->panel->meta[CHUNK_K / 32 + b];
    __m512 m0 = _mm512_load_ps(m), m1 = _mm512_load_ps(m + 16);
#pragma GCC unroll 6
    for (int t = 0; t < n_tok; t++) {
        __m512 x = _mm512_set1_ps(a->tok[t].xsum[b]);
        acc[t] = _mm512_fnmadd_ps(m0, x, acc[t]);
        acc[n_tok + t] = _mm512_fnmadd_ps(m1, x, acc[n_tok + t]);
    }
}

/* Two scales a block of 32. */
INLINE void block_16(const struct tile *a, const int8_t *const *q, unsigned b, int n_tok,
                     __m512 *acc)
{
#pragma GCC unroll 2
    for (unsigned h = 0; h < 2; h++) {
        __m512i i[2 * TILE_TOK];
        unsigned g = 2 * b + h;
        dot_group(a, q, &a->panel->w[g * 4][0][0], 4, g, n_tok, i);
        __m512 s0 = _mm512_load_ps(a->panel->meta[g]), s1 = _mm512_load_ps(a->panel->meta[g] + 16);
#pragma GCC unroll 6
        for (int t = 0; t < n_tok; t++) {
            __m512 d = _mm512_set1_ps(a->tok[t].d[b]);
            acc[t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(i[t]), _mm512_mul_ps(s0, d), acc[t]);
            acc[n_tok + t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(i[n_tok + t]),
                                             _mm512_mul_ps(s1, d), acc[n_tok + t]);
        }
    }
}

/* Activations and y of the next tile, from L2: the walk jumps from token to token, which hardware
 * does not foresee. A block fetches one line of half the tokens. */
INLINE void prefetch_next(const struct tile *a, const int8_t *const *q, unsigned b, int n_tok)
{
    if (n_tok < TILE_TOK)
        return;
    const size_t ahead = TILE_TOK * a->q_stride + b / 2 * 64;
    if (b % 2) {
        _mm_prefetch((const char *)q[0] + ahead, _MM_HINT_T0);
        _mm_prefetch((const char *)q[1] + ahead, _MM_HINT_T0);
        _mm_prefetch((const char *)q[2] + ahead, _MM_HINT_T0);
    } else {
        _mm_prefetch((const char *)q[3] + ahead, _MM_HINT_T0);
        _mm_prefetch((const char *)q[4] + ahead, _MM_HINT_T0);
        _mm_prefetch((const char *)q[5] + ahead, _MM_HINT_T0);
    }
    const float *y = a->y + (TILE_TOK + b) * a->y_stride;
    _mm_prefetch((const char *)y, _MM_HINT_T0);
    _mm_prefetch((const char *)(y + 16), _MM_HINT_T0);
}

INLINE void tile_run(const struct tile *arg, int n_tok, unsigned group, bool has_min)
{
    const struct tile a = *arg;
    const int8_t *q[TILE_TOK];
    __m512 acc[2 * TILE_TOK];
#pragma GCC unroll 6
    for (int t = 0; t < n_tok; t++) {
        q[t] = a.q + (size_t)t * a.q_stride;
        /* one register each: gcc would else keep an address for every load of the block */
        __asm__("" : "+r"(q[t]));
    }
#pragma GCC unroll 6
    for (int t = 0; t < n_tok; t++) {
        float *y = a.y + (size_t)t * a.y_stride;
        acc[t] = acc[n_tok + t] = _mm512_setzero_ps();
        if (!a.first) {
            acc[t] = _mm512_maskz_loadu_ps(a.rows0, y);
            acc[n_tok + t] = _mm512_maskz_loadu_ps(a.rows1, y + 16);
        }
    }
    for (unsigned b = 0; b < a.n_blk; b++) {
        prefetch_next(&a, q, b, n_tok);
        if (group == 32)
            block_32(&a, q, b, n_tok, has_min, acc);
        else
            block_16(&a, q, b, n_tok, acc);
    }
#pragma GCC unroll 6
    for (int t = 0; t < n_tok; t++) {
        float *y = a.y + (size_t)t * a.y_stride;
        _mm512_mask_storeu_ps(y, a.rows0, acc[t]);
        _mm512_mask_storeu_ps(y + 16, a.rows1, acc[n_tok + t]);
    }
}

/* The number of tokens becomes a compile-time constant, so that accumulators are registers. */
INLINE void tile_any(const struct tile *a, size_t n_tok, unsigned group, bool has_min)
{
    switch (n_tok) {
    case 1:
        tile_run(a, 1, group, has_min);
        break;
    case 2:
        tile_run(a, 2, group, has_min);
        break;
    case 3:
        tile_run(a, 3, group, has_min);
        break;
    case 4:
        tile_run(a, 4, group, has_min);
        break;
    case 5:
        tile_run(a, 5, group, has_min);
        break;
    default:
        tile_run(a, TILE_TOK, group, has_min);
        break;
    }
}

typedef void tile_fn(const struct tile *a, size_t n_tok);

static void tile_32(const struct tile *a, size_t n_tok)
{
    tile_any(a, n_tok, 32, false);
}
static void tile_32_min(const struct tile *a, size_t n_tok)
{
    tile_any(a, n_tok, 32, true);
}
static void tile_16(const struct tile *a, size_t n_tok)
{
    tile_any(a, n_tok, 16, false);
}

/* Rows of 4-byte groups become 16-row columns of them: a 16x16 transpose for each 64 k. */
static void interleave(const struct scratch *s, struct panel *p, size_t n_k)
{
    for (size_t h = 0; h < 2; h++) {
        __m512i r[16];
        for (size_t k = 0; k < n_k; k += 64) {
            for (size_t i = 0; i < 16; i++)
                r[i] = _mm512_load_si512(&s->linear[16 * h + i][k]);
            vi_transpose(r);
            for (size_t i = 0; i < 16; i++)
                _mm512_store_si512(&p->w[k / 4 + i][16 * h], r[i]);
        }
        for (size_t i = 0; i < 16; i++)
            r[i] = _mm512_load_si512(s->meta[16 * h + i]);
        vi_transpose(r);
        for (size_t i = 0; i < 16; i++)
            _mm512_store_si512(&p->meta[i][16 * h], r[i]);
    }
}

/* src: the chunk in the panel's first row. Rows past n_rows keep old bytes: never stored. */
static void unpack_panel(struct scratch *s, struct panel *p, const struct gemm_format *f,
                         const unsigned char *src, size_t row_bytes, size_t n_rows, size_t n_k)
{
    for (size_t r = 0; r < n_rows && r < PANEL_ROWS; r++)
        f->unpack(src + r * row_bytes, n_k, s->linear[r], s->meta[r]);
    interleave(s, p, n_k);
}

static void prepare_tokens(struct tok *tok, const struct acts *x, const struct gemm_format *f,
                           size_t k, size_t n_k)
{
    __mmask16 groups = vm_first(n_k / 16);
    __mmask8 blocks = (__mmask8)vm_first(n_k / 32);
    __m512i bias = _mm512_set1_epi32(-f->bias);
    for (size_t t = 0; t < x->n_tok; t++) {
        size_t at = t * x->stride + k;
        __m256i sum16 = _mm256_maskz_loadu_epi16(groups, x->sum + at / 16);
        __m256i sum32 = _mm256_madd_epi16(sum16, _mm256_set1_epi16(1));
        __m256 d = _mm256_maskz_loadu_ps(blocks, x->d + at / 32);
        __m512i sum = f->group == 16 ? _mm512_cvtepi16_epi32(sum16) : _mm512_castsi256_si512(sum32);
        _mm512_store_si512(tok[t].start, _mm512_mullo_epi32(sum, bias));
        _mm256_store_ps(tok[t].d, d);
        _mm256_store_ps(tok[t].xsum, _mm256_mul_ps(_mm256_cvtepi32_ps(sum32), d));
    }
}

/* Weights of the next panels, fetched into L2 a few rows at a time while tokens are walked. */
struct prefetch {
    const unsigned char *src;
    size_t row_bytes, chunk_bytes, rows, done, step;
};

static void prefetch_some(struct prefetch *p)
{
    size_t end = p->done + p->step;
    for (; p->done < end && p->done < p->rows; p->done++)
        for (size_t i = 0; i < p->chunk_bytes + 63; i += 64)
            _mm_prefetch((const char *)p->src + p->done * p->row_bytes + i, _MM_HINT_T1);
}

static void walk_tokens(const struct matmul_args *a, struct scratch *s, tile_fn *run, size_t row,
                        size_t n_rows, size_t k, size_t n_k, struct prefetch *next)
{
    const struct acts *x = a->x;
    for (size_t t = 0; t < x->n_tok; t += TILE_TOK) {
        size_t at = t * x->stride + k, left = x->n_tok - t;
        prefetch_some(next);
        for (size_t p = 0; p * PANEL_ROWS < n_rows; p++) {
            size_t rows = n_rows - p * PANEL_ROWS;
            struct tile tile = {
                .panel = &s->panel[p], .q = x->q + at, .tok = s->tok + t,
                .y = a->y + t * a->y_stride + row + p * PANEL_ROWS, .q_stride = x->stride,
                .y_stride = a->y_stride, .n_blk = (unsigned)(n_k / 32), .first = k == 0,
                .rows0 = vm_first(rows), .rows1 = vm_first(rows < 16 ? 0 : rows - 16),
            };
            run(&tile, left < TILE_TOK ? left : TILE_TOK);
        }
    }
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

void vnni_gemm(const struct matmul_args *a, size_t row0, size_t row1, const struct gemm_format *f)
{
    struct scratch *s = a->scratch;
    tile_fn *run = f->group == 16 ? tile_16 : f->has_min ? tile_32_min : tile_32;
    size_t step = PANELS * PANEL_ROWS, tiles = (a->x->n_tok + TILE_TOK - 1) / TILE_TOK;
    size_t per_group = GROUP_Y_BYTES / (step * sizeof(float) * a->x->n_tok);
    size_t group = step * (per_group ? per_group : 1);
    for (size_t g = row0; g < row1; g += group) {
        size_t end = min_size(g + group, row1);
        for (size_t k = 0; k < a->cols; k += CHUNK_K) {
            size_t n_k = min_size(a->cols - k, CHUNK_K);
            size_t chunk_bytes = n_k / f->block_elems * f->block_bytes;
            const unsigned char *src = a->w + k / f->block_elems * f->block_bytes;
            prepare_tokens(s->tok, a->x, f, k, n_k);
            for (size_t r = g; r < end; r += step) {
                size_t n_rows = min_size(end - r, step);
                const unsigned char *w = src + r * a->w_row_bytes;
                for (size_t p = 0; p * PANEL_ROWS < n_rows; p++)
                    unpack_panel(s, &s->panel[p], f, w + p * PANEL_ROWS * a->w_row_bytes,
                                 a->w_row_bytes, n_rows - p * PANEL_ROWS, n_k);
                struct prefetch next = { 0 };
                if (r + step < end)
                    next = (struct prefetch){ w + step * a->w_row_bytes, a->w_row_bytes,
                                              chunk_bytes, min_size(end - r - step, step), 0,
                                              (step + tiles - 1) / tiles };
                walk_tokens(a, s, run, r, n_rows, k, n_k, &next);
            }
        }
    }
}
