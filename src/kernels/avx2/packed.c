/*
 * avx2/packed.c: the loops of a packed product with several tokens: slabs of tokens (their activations
 * stay in the L2 cache) > groups of panels (so does their y) > some chunks of columns, for which activations
 * are prepared > some panels, each chunk of them unpacked > tiles of tokens > these panels. Few tokens: all chunks at
 * once, a panel after the other, so that weights are read front to back. Zen 3, 512 tokens, GOP/s of one thread (medians of 15 in turn),
 * a chunk and four panels at a time against all activations that the scratch holds and one panel: Q8_0 76 and 69, Q4_0 121 and
 * 117, Q4_K 126 and 115, Q5_K 109 and 103, Q6_K 111 and 105.
 */
#include "kernels/avx2/packed.h"
#include <string.h>

enum {
    GROUP_BYTES = 1024 * 1024, /* y of a group of panels */
    ACT_BYTES = 256 * 1024,    /* prepared activations, walked for every panel */
};

/* -bias * (sums of the activations each lane of 16 bits meets), for sums of 16 columns and their total. */
INLINE void start_narrow(int32_t *start, __m256i q, const struct packed_shape *f)
{
    __m256i s = _mm256_maddubs_epi16(_mm256_set1_epi8(1), q);
    s = _mm256_add_epi16(s, _mm256_shuffle_epi32(s, 0x4e));
    s = _mm256_add_epi16(s, _mm256_shuffle_epi32(s, 0xb1));
    s = _mm256_mullo_epi16(s, _mm256_set1_epi16((short)-f->bias));
    __m128i lo = _mm256_castsi256_si128(s), hi = _mm256_extracti128_si256(s, 1);
    start[0] = _mm_cvtsi128_si32(f->sum_k == 16 ? lo : _mm_add_epi16(lo, hi));
    if (f->sum_k == 16)
        start[1] = _mm_cvtsi128_si32(hi);
}

void packed_prepare(struct packed_tok *tok, const struct acts *x, size_t t, size_t k, size_t n_k,
                    const struct packed_shape *f)
{
    const size_t at = t * x->stride + k;
    const int16_t *sum = x->sum + at / 16;
    for (size_t b = 0; b < n_k / 32; b++) {
        __m256i q = vi_load(x->q + at + 32 * b);
        if (f->wide) {
            vi_store(tok->q + 32 * b, _mm256_srai_epi16(_mm256_slli_epi16(q, 8), 8));
            vi_store(tok->q + CHUNK_K + 32 * b, _mm256_srai_epi16(q, 8));
            tok->start[b] = -f->bias * (sum[2 * b] + sum[2 * b + 1]);
        } else {
            vi_store(tok->q + 32 * b, q);
            if (f->bias)
                start_narrow(&tok->start[b * 32 / f->sum_k], q, f);
        }
        tok->d[b] = x->d[at / 32 + b];
        if (f->min_k == 32)
            tok->xsum[b] = tok->d[b] * (float)(sum[2 * b] + sum[2 * b + 1]);
        if (f->min_k == 16) {
            tok->xsum[2 * b] = tok->d[b] * (float)sum[2 * b];
            tok->xsum[2 * b + 1] = tok->d[b] * (float)sum[2 * b + 1];
        }
    }
}

static size_t min_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* State of the loops. */
struct walk {
    const struct matmul_args *a;
    const struct packed_format *f;
    struct packed_panel *panel;
    unsigned char *tok;     /* [chunks prepared][slab], tok_bytes each */
    size_t tok_bytes;
    size_t tok0, n_tok;     /* the slab */
    size_t row1;
};

/* Bytes of n columns of one panel. */
static size_t panel_bytes(const struct walk *w, size_t n)
{
    return n / w->f->shape.elems * w->f->shape.bytes * PACK_ROWS;
}

/* Columns [k, k + n_k) of n_panel panels from row on, tokens prepared at tok; a tile of tokens meets all of these panels while its
 * activations are in the L1 cache. The next tile's activations and y, which come from the L2 cache, are fetched ahead, and into
 * the L2 cache, a few lines a tile, the weights that come next. */
static void walk_tokens(const struct walk *w, const unsigned char *tok, size_t row, size_t n_panel, size_t k, size_t n_k,
                        const unsigned char *const next[PACKED_PANELS])
{
    const size_t tiles = (w->n_tok + PACKED_TILE - 1) / PACKED_TILE, bytes = panel_bytes(w, n_k);
    const size_t step = (bytes + tiles * 64 - 1) / (tiles * 64) * 64;
    const struct matmul_args *a = w->a;
    for (size_t p = 0; p < n_panel; p++)
        w->f->unpack(w->panel + p, a->w + (row + p * PACK_ROWS) * a->w_row_bytes + panel_bytes(w, k), n_k);
    float *y = a->y + w->tok0 * a->y_stride + row;
    for (size_t i = 0, at = 0; i < w->n_tok; i += PACKED_TILE, at += step) {
        for (size_t j = 0; j < PACKED_TILE * w->tok_bytes; j += 64)
            _mm_prefetch((const char *)tok + PACKED_TILE * w->tok_bytes + j, _MM_HINT_T0);
        for (size_t p = 0; p < n_panel; p++) {
            for (size_t j = at; j < min_of(at + step, bytes); j += 64)
                _mm_prefetch((const char *)next[p] + j, _MM_HINT_T1);
            for (size_t j = 0; j < PACKED_TILE; j++)
                _mm_prefetch((const char *)(y + (PACKED_TILE + j) * a->y_stride + p * PACK_ROWS), _MM_HINT_T0);
            const struct packed_tile t = { w->panel + p, tok, y + p * PACK_ROWS, a->y_stride, n_k,
                                           w->row1 - row - p * PACK_ROWS, k == 0 };
            w->f->tile(&t, min_of(w->n_tok - i, PACKED_TILE));
        }
        tok += PACKED_TILE * w->tok_bytes;
        y += PACKED_TILE * a->y_stride;
    }
}

/* Rows [row0, row1), a group of panels, columns [k0, k1). */
static void walk_panels(const struct walk *w, size_t row0, size_t row1, size_t k0, size_t k1)
{
    const struct matmul_args *a = w->a;
    for (size_t k = k0; k < k1; k += CHUNK_K)
        for (size_t t = 0; t < w->n_tok; t++)
            packed_prepare((struct packed_tok *)(void *)(w->tok + ((k - k0) / CHUNK_K * w->n_tok + t) * w->tok_bytes),
                           a->x, w->tok0 + t, k, min_of(k1 - k, CHUNK_K), &w->f->shape);
    const size_t panels = k1 - k0 > CHUNK_K ? 1 : PACKED_PANELS; /* several chunks: weights are read front to back */
    for (size_t r = row0; r < row1; r += panels * PACK_ROWS)
        for (size_t k = k0; k < k1; k += CHUNK_K) {
            const bool last = k + CHUNK_K >= k1;
            const unsigned char *next[PACKED_PANELS];
            for (size_t p = 0; p < panels; p++)
                next[p] = a->w + (r + (last ? panels + p : p) * PACK_ROWS) * a->w_row_bytes +
                          panel_bytes(w, last ? k0 : k + CHUNK_K);
            const size_t n_panel = min_of(panels, (row1 - r + PACK_ROWS - 1) / PACK_ROWS);
            walk_tokens(w, w->tok + (k - k0) / CHUNK_K * w->n_tok * w->tok_bytes, r, n_panel, k, min_of(k1 - k, CHUNK_K), next);
        }
}

void avx2_packed_gemm(const struct matmul_args *a, size_t row0, size_t row1)
{
    const struct packed_format *f = avx2_packed(a->type);
    struct walk w = { .a = a, .f = f, .panel = a->scratch, .row1 = row1 };
    w.tok = (unsigned char *)a->scratch + PACKED_PANELS * sizeof *w.panel;
    w.tok_bytes = f->shape.wide ? PACKED_TOK_WIDE : PACKED_TOK_BYTES;
    const size_t n = a->x->n_tok, room = min_of(kernels_scratch_bytes(a->cols, n) - PACKED_PANELS * sizeof *w.panel, ACT_BYTES);
    for (w.tok0 = 0; w.tok0 < n; w.tok0 += PACKED_SLAB) {
        w.n_tok = min_of(n - w.tok0, PACKED_SLAB);
        const size_t chunks = room / (w.tok_bytes * w.n_tok), step = (chunks ? chunks : 1) * CHUNK_K;
        const size_t panels = GROUP_BYTES / (PACK_ROWS * sizeof(float) * w.n_tok);
        const size_t group = PACK_ROWS * (panels ? panels : 1);
        for (size_t r = row0; r < row1; r += group)
            for (size_t k = 0; k < a->cols; k += step)
                walk_panels(&w, r, min_of(r + group, row1), k, min_of(k + step, a->cols));
    }
}
