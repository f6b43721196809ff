/*
 * avx512vnni/packed_gemm.c: products of packed weights with several tokens. A tile is 32 rows x up to 6 tokens: 12 integer and 12 float
 * accumulators, whose lanes are rows; each broadcast of 4 activations feeds two vpdpbusd. Integer sums are exact. A block of 32 columns
 * costs two multiply-adds a vector and scale (packed.h), or, if the activations' scale is a power of two, a subtraction and a
 * multiply-add (methods.md (90); two scales: (91)). Multiply-adds share two ports with vpdpbusd; subtractions do so on Intel
 * (CPU_TWO_PORTS) and have ports of their own on AMD.
 *
 * Loops: steps of up to 512 columns, whose activations are packed > panels, which stay in L1 > tiles of tokens. Each byte of weights is
 * read once, and prefetched during the tiles of the panel before. The first tile of a panel unpacks its weights for the others,
 * doc/notes/kernels.md. If one mask makes bytes of weights (in_place_tok) and the batch is small, all tiles read the packed weights.
 */
#include "kernels/avx512/simd512.h"
#include "kernels/avx512vnni/packed_acts.h"
#include "kernels/avx512vnni/packed_place.h"
#include "kernels/avx512vnni/vnni.h"

struct packed_scratch {
    struct panel_block panel[STEP_K / 32];
    struct tile_acts acts[]; /* [tiles][blocks] */
};
_Static_assert(sizeof(struct packed_scratch) + (TILE_TOK - 1) * SCRATCH_TOK_BYTES <= SCRATCH_PANEL_BYTES,
               "fixed part of the scratch, a tile that is not full included");
_Static_assert(STEP_K / 32 * sizeof(struct tile_acts) <= TILE_TOK_PAIRS * SCRATCH_TOK_BYTES, "many tokens: token part of the scratch");
_Static_assert((PACKED_FEW_TOK + TILE_TOK_PAIRS - 1) / TILE_TOK_PAIRS * sizeof(struct tile_acts) <= 32 * SCRATCH_COL_BYTES,
               "few: column part of the scratch");

/* What a tile reads and writes; pointers at its first token and chunk. */
struct tile {
    struct panel_block *panel;
    const unsigned char *packed[2]; /* the packed blocks of each half */
    const struct tile_acts *x; /* [n_blk] */
    float *y;
    size_t y_stride;
    unsigned n_blk; /* blocks of 32 in the chunk */
    bool first;     /* y is written, not added to */
    size_t rows;
    const unsigned char *ahead[2]; /* weights to prefetch, */
    unsigned lines;                /* lines of each a block */
};

/* Compile-time parameters of a tile. */
struct tile_kind {
    enum panel_kind panel;
    enum tile_sums sums;
    enum panel_place place;
    bool copies; /* stores the unpacked weights to the panel for the other tiles: on ports that products do not use */
};

/* ---- one tile ---------------------------------------------------------------------------------------------- */

/* A constant trip count, so that gcc and clang keep arrays in registers. */
#define EACH_TOKEN(t)                                                                                                   \
    _Pragma("GCC unroll 6") for (int t = 0; t < TILE_TOK; t++) if (t < n)

/* Quads [j0, j1) of block b: i[h][t] for the panel's two halves. */
INLINE void tile_quads(const struct tile *a, unsigned b, const struct place *p, const bool last_six, const struct tile_kind k,
                       const struct tile_acts *acts, const int j0, const int j1, const int n, __m512i i[2][TILE_TOK])
{
#pragma GCC unroll 8
    for (int j = j0; j < j1; j++) {
        const __m512i w0 = place_quad(p, 0, j, last_six, k.place, false), w1 = place_quad(p, 1, j, last_six, k.place, false);
        if (k.copies) {
            _mm512_store_si512(a->panel[b].w[0][j], w0);
            _mm512_store_si512(a->panel[b].w[1][j], w1);
        }
        EACH_TOKEN(t)
        {
            int32_t x4;
            __builtin_memcpy(&x4, acts->q[t] + 4 * j, sizeof x4);
            const __m512i x = _mm512_set1_epi32(x4);
            i[0][t] = _mm512_dpbusd_epi32(i[0][t], w0, x);
            i[1][t] = _mm512_dpbusd_epi32(i[1][t], w1, x);
        }
    }
}

INLINE void tile_dot(const struct tile *a, unsigned b, const struct tile_kind k, const struct tile_acts *acts, const int j0,
                     const int j1, const int n, __m512i i[2][TILE_TOK])
{
    const unsigned char *const units[2] = { k.place == PLACE_PANEL ? a->panel[b].w[0][0] : place_units(a->packed[0], b, a->n_blk, k.place),
                                            k.place == PLACE_PANEL ? a->panel[b].w[1][0] : place_units(a->packed[1], b, a->n_blk, k.place) };
    const struct place p = place_of(units, b, k.place);
    if (k.place == PLACE_SIXES && b % 4 == 3)
        tile_quads(a, b, &p, true, k, acts, j0, j1, n, i);
    else
        tile_quads(a, b, &p, false, k, acts, j0, j1, n, i);
}

/* scale * (i less where it started) * d + acc: products first that are exact, one multiply-add less where they started. */
INLINE __m512 tile_scaled(const struct tile_acts *x, const int t, const struct tile_kind k, __m512 scale, __m512i i, __m512 acc)
{
    const __m512 f = _mm512_castsi512_ps(i), d = _mm512_set1_ps(x->d[t]);
    if (k.sums == SUMS_POW2)
        return _mm512_fmadd_ps(_mm512_sub_ps(f, d), scale, acc);
    if (k.panel == PANEL_16)
        return _mm512_fmadd_ps(_mm512_fmadd_ps(f, scale, _mm512_mul_ps(scale, _mm512_set1_ps(-PANEL_ONE))), d, acc);
    return _mm512_fmadd_ps(_mm512_fmadd_ps(f, d, _mm512_set1_ps(x->less[t])), scale, acc);
}

/* The same, less what a format subtracts, for half h of a block. */
INLINE __m512 tile_add(const struct panel_block *p, const struct tile_acts *x, const int t, const struct tile_kind k, const int h,
                       const int scale_at, __m512i i, __m512 acc)
{
    if (k.panel == PANEL_2_MINS) {
        const __m512i m = _mm512_dpwssd_epi32(_mm512_setzero_si512(), _mm512_load_si512(p->meta[META_MINS][h]),
                                              _mm512_set1_epi32(x->sums[t]));
        const __m512 min = _mm512_mul_ps(_mm512_cvtepi32_ps(m), _mm512_set1_ps(k.sums == SUMS_POW2 ? x->scale[t] : x->d[t]));
        acc = _mm512_fnmadd_ps(min, _mm512_load_ps(p->meta[META_MIN][h]), acc);
    }
    acc = tile_scaled(x, t, k, _mm512_load_ps(p->meta[scale_at][h]), i, acc);
    if (k.panel == PANEL_32_MIN)
        acc = _mm512_fnmadd_ps(_mm512_load_ps(p->meta[META_MIN][h]), _mm512_set1_ps(x->xsum[t]), acc);
    return acc;
}

/* Subtracts the mins of 256 columns, whose blocks begin at p and x: four dot products and a multiply-add in place of eight multiply-adds.
 * methods.md (92) */
INLINE void tile_mins(const struct panel_block *p, const struct tile_acts *x, const int n, __m512 acc[2][TILE_TOK])
{
    __m512i i[2][TILE_TOK];
    EACH_TOKEN(t)
        i[0][t] = i[1][t] = _mm512_castps_si512(_mm512_set1_ps(x[1].unit[t]));
#pragma GCC unroll 4
    for (int b = 0; b < PANEL_BLOCKS / 2; b++) {
        const __m512i m0 = _mm512_load_si512(p[2 * b].meta[META_MINS][0]), m1 = _mm512_load_si512(p[2 * b].meta[META_MINS][1]);
        EACH_TOKEN(t)
        {
            const __m512i sums = _mm512_set1_epi32(x[2 * b].pairs[t]);
            i[0][t] = _mm512_dpwssd_epi32(i[0][t], m0, sums);
            i[1][t] = _mm512_dpwssd_epi32(i[1][t], m1, sums);
        }
    }
#pragma GCC unroll 2
    for (int h = 0; h < 2; h++) {
        const __m512 d = _mm512_load_ps(p[1].meta[META_MINS][h]);
        EACH_TOKEN(t)
        {
            const __m512 f = _mm512_sub_ps(_mm512_castsi512_ps(i[h][t]), _mm512_set1_ps(x[1].unit[t]));
            acc[h][t] = _mm512_fnmadd_ps(f, d, acc[h][t]);
        }
    }
}

/* Where the accumulators of a token begin. */
INLINE __m512i tile_start(const struct tile_acts *x, const int t, const struct tile_kind k, const int j0)
{
    switch (k.panel) {
    case PANEL_32:
        return _mm512_set1_epi32(x->start[t]);
    case PANEL_16:
        return _mm512_set1_epi32(j0 > 0 ? x->start2[t] : x->start[t]);
    case PANEL_32_MIN:
    case PANEL_2_MINS:
    case PANEL_8_MINS:
        break;
    }
    return k.sums == SUMS_POW2 ? _mm512_castps_si512(_mm512_set1_ps(x->d[t])) : _mm512_set1_epi32(PANEL_ONE_BITS);
}

/* Integer sums of quads [j0, j1) of a block, on top of where they start. */
INLINE void tile_sums(const struct tile *a, const struct tile_acts *x, unsigned b, const struct tile_kind k, const int j0, const int j1,
                      const int n, __m512i i[2][TILE_TOK])
{
    EACH_TOKEN(t)
        i[0][t] = i[1][t] = tile_start(x, t, k, j0);
    tile_dot(a, b, k, x, j0, j1, n, i);
}

/* Quads [j0, j1) of a block, which have one scale. */
INLINE void tile_group(const struct tile *a, const struct tile_acts *x, unsigned b, const struct tile_kind k, const int j0, const int j1,
                       const int n, __m512 acc[2][TILE_TOK])
{
    const struct panel_block *p = a->panel + b;
    __m512i i[2][TILE_TOK];
    tile_sums(a, x, b, k, j0, j1, n, i);
#pragma GCC unroll 2
    for (int h = 0; h < 2; h++)
        EACH_TOKEN(t)
            acc[h][t] = tile_add(p, x, t, k, h, j0 > 0 ? META_SCALE2 : META_SCALE, i[h][t], acc[h][t]);
}

/* Bits 1 to 16 of two sums. */
INLINE __m512i two_sums(__m512i low, __m512i high)
{
    return _mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_srli_epi32(low, 1), _mm512_slli_epi32(high, 15));
}

/* A block with two scales: both sums, less their last bit, times both in one operation. methods.md (91) */
INLINE void tile_halves(const struct tile *a, const struct tile_acts *x, unsigned b, const struct tile_kind k, const int n,
                        __m512 acc[2][TILE_TOK])
{
    const __m512i scales0 = _mm512_load_si512(a->panel[b].meta[META_SCALE][0]), scales1 = _mm512_load_si512(a->panel[b].meta[META_SCALE][1]);
    __m512i i[2][TILE_TOK], first[TILE_TOK];
    tile_sums(a, x, b, k, 0, 4, n, i);
    EACH_TOKEN(t)
        first[t] = two_sums(i[0][t], i[1][t]);
    tile_sums(a, x, b, k, 4, 8, n, i);
    EACH_TOKEN(t)
    {
        const __m512 d = _mm512_set1_ps(x->d[t]);
        const __m512i two0 = _mm512_mask_blend_epi16(0xaaaaaaaa, first[t], _mm512_slli_epi32(i[0][t], 15));
        const __m512i two1 = _mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_srli_epi32(i[1][t], 1), first[t]);
        acc[0][t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_madd_epi16(two0, scales0)), d, acc[0][t]);
        acc[1][t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_madd_epi16(two1, scales1)), d, acc[1][t]);
    }
}

/* Prefetches the weights of the next chunk and the results of the next tile, whose addresses hardware prefetch does not predict. */
INLINE void tile_prefetch(const struct tile *a, unsigned b, const int n)
{
    for (unsigned i = 0; i < a->lines; i++) {
        const size_t at = ((size_t)b * a->lines + i) * 64;
        _mm_prefetch((const char *)a->ahead[0] + at, _MM_HINT_T1);
        _mm_prefetch((const char *)a->ahead[1] + at, _MM_HINT_T1);
    }
    if (b >= (unsigned)n)
        return;
    const float *y = a->y + ((size_t)n + b) * a->y_stride;
    _mm_prefetch((const char *)y, _MM_HINT_T0);
    _mm_prefetch((const char *)(y + 16), _MM_HINT_T0);
}

/* A chunk, whose first block is b. */
INLINE void tile_chunk(const struct tile *a, const struct tile_acts *x, unsigned b, const struct tile_kind k, const int n,
                       __m512 acc[2][TILE_TOK])
{
    const unsigned n_blk = a->n_blk - b < PANEL_BLOCKS ? a->n_blk - b : PANEL_BLOCKS;
    const bool halves = k.sums == SUMS_PAIRS;
    __m512 sum[2][TILE_TOK];
    EACH_TOKEN(t)
        sum[0][t] = sum[1][t] = _mm512_setzero_ps();
    for (unsigned i = 0; i < n_blk; i++) {
        tile_prefetch(a, b + i, n);
        if (halves) {
            tile_halves(a, x + i, b + i, k, n, sum);
        } else if (k.panel == PANEL_16) {
            tile_group(a, x + i, b + i, k, 0, 4, n, acc);
            tile_group(a, x + i, b + i, k, 4, 8, n, acc);
        } else {
            tile_group(a, x + i, b + i, k, 0, 8, n, acc);
        }
    }
    if (halves)
#pragma GCC unroll 2
        for (int h = 0; h < 2; h++)
            EACH_TOKEN(t)
                acc[h][t] = _mm512_fmadd_ps(sum[h][t], _mm512_load_ps(a->panel[b].meta[META_D][h]), acc[h][t]);
    if (k.panel == PANEL_8_MINS)
        tile_mins(a->panel + b, x, n, acc);
}

INLINE void tile_run(const struct tile *arg, const struct tile_kind k, const int n)
{
    const struct tile a = *arg;
    const __mmask16 m0 = vm_first(a.rows), m1 = vm_first(a.rows < 16 ? 0 : a.rows - 16);
    __m512 acc[2][TILE_TOK];
    EACH_TOKEN(t)
    {
        acc[0][t] = acc[1][t] = _mm512_setzero_ps();
        if (!a.first) {
            acc[0][t] = _mm512_maskz_loadu_ps(m0, a.y + (size_t)t * a.y_stride);
            acc[1][t] = _mm512_maskz_loadu_ps(m1, a.y + (size_t)t * a.y_stride + 16);
        }
    }
    const struct tile_acts *x = a.x;
    for (unsigned b = 0; b < a.n_blk; b += PANEL_BLOCKS, x += PANEL_BLOCKS)
        tile_chunk(&a, x, b, k, n, acc);
    EACH_TOKEN(t)
    {
        _mm512_mask_storeu_ps(a.y + (size_t)t * a.y_stride, m0, acc[0][t]);
        _mm512_mask_storeu_ps(a.y + (size_t)t * a.y_stride + 16, m1, acc[1][t]);
    }
}

/* The number of tokens becomes a compile-time constant, so that accumulators are registers. */
INLINE void tile_any(const struct tile *a, const struct tile_kind k, size_t n)
{
    switch (n) {
    case 1:
        tile_run(a, k, 1);
        break;
    case 2:
        tile_run(a, k, 2);
        break;
    case 3:
        tile_run(a, k, 3);
        break;
    case 4:
        tile_run(a, k, 4);
        break;
    case 5:
        tile_run(a, k, 5);
        break;
    default:
        tile_run(a, k, TILE_TOK);
        break;
    }
}

typedef void tile_fn(const struct tile *a, size_t n);

#define TILE_SUMS(name, sum, ...)                                               \
    static void name(const struct tile *a, size_t n)                            \
    {                                                                           \
        tile_any(a, (struct tile_kind){ __VA_ARGS__, .sums = sum }, n);         \
    }
#define TILE(name, ...)                                                         \
    TILE_SUMS(name, SUMS_EXACT, __VA_ARGS__)                                    \
    TILE_SUMS(name##_pow2, SUMS_POW2, __VA_ARGS__)
#define TILE_16(name, ...)                                                      \
    TILE(name, .panel = PANEL_16, __VA_ARGS__)                                  \
    TILE_SUMS(name##_pairs, SUMS_PAIRS, .panel = PANEL_16, __VA_ARGS__)
TILE(tile_32, .panel = PANEL_32)
TILE(tile_32_min, .panel = PANEL_32_MIN)
TILE_16(tile_16, .copies = false)
TILE(tile_2_mins, .panel = PANEL_2_MINS)
TILE(tile_8_mins, .panel = PANEL_8_MINS)
TILE(place_bytes, .panel = PANEL_32, .place = PLACE_BYTES)
TILE(place_nibbles, .panel = PANEL_32, .place = PLACE_NIBBLES)
TILE(place_nibbles_k, .panel = PANEL_8_MINS, .place = PLACE_NIBBLES_K)
TILE(copy_bytes, .panel = PANEL_32, .place = PLACE_BYTES, .copies = true)
TILE(copy_nibbles, .panel = PANEL_32, .place = PLACE_NIBBLES, .copies = true)
TILE(copy_nibbles_1, .panel = PANEL_32_MIN, .place = PLACE_NIBBLES_1, .copies = true)
TILE(copy_fives, .panel = PANEL_32, .place = PLACE_FIVES, .copies = true)
TILE(copy_fives_1, .panel = PANEL_32_MIN, .place = PLACE_FIVES_1, .copies = true)
TILE(copy_nl, .panel = PANEL_32, .place = PLACE_NL, .copies = true)
TILE(copy_e2m1, .panel = PANEL_32, .place = PLACE_E2M1, .copies = true)
TILE(copy_nibbles_k, .panel = PANEL_8_MINS, .place = PLACE_NIBBLES_K, .copies = true)
TILE(copy_fives_k, .panel = PANEL_8_MINS, .place = PLACE_FIVES_K, .copies = true)
TILE_16(copy_sixes, .place = PLACE_SIXES, .copies = true)
TILE(copy_nl_k, .panel = PANEL_32, .place = PLACE_NL_K, .copies = true)

/* ---- loops ---------------------------------------------------------------------------------------------- */

struct walk {
    const struct matmul_args *a;
    const struct panel_format *f;
    struct tile_acts *packed_acts; /* packed activations of all rows; NULL: packed here */
    panel_unpack_fn *unpack; /* weights and scales, or scales alone */
    tile_fn *first, *run;    /* the first tile of a panel, which may copy its weights, and the others */
    struct packed_scratch *s;
    size_t panel_bytes; /* of a panel of pack.h */
    size_t chunk_bytes; /* of a whole chunk of it */
};

/* Where the chunk at column k of the panel of 16 rows that begins with row is. */
static const unsigned char *chunk_at(const struct walk *w, size_t row, size_t k)
{
    return w->a->w + row * w->a->w_row_bytes + k / PANEL_K * w->chunk_bytes;
}

/* Columns [k, k + n) of n_rows rows, at most a panel; one whose second half has no rows repeats the first. */
static void unpack_rows(const struct walk *w, size_t row, size_t n_rows, size_t k, size_t n)
{
    for (size_t i = 0; i < n; i += PANEL_K) {
        const unsigned char *p = chunk_at(w, row, k + i);
        struct panel_block *dst = w->s->panel + i / 32;
        const size_t n_blk = least(n - i, PANEL_K) / 32;
        w->unpack(p, n_blk, dst, 0);
        w->unpack(n_rows > 16 ? p + w->panel_bytes : p, n_blk, dst, 1);
    }
}

/* The rows after the panel that begins with r, to prefetch, or NULL; they may lie past the matrix, which is harmless. */
static const unsigned char *next_rows(const struct walk *w, size_t r, size_t row1)
{
    return r + PANEL_ROWS < row1 || w->a->prefetch_next ? chunk_at(w, r + PANEL_ROWS, 0) : NULL;
}

/* All tokens times the unpacked rows. ahead: the next n_cols columns of weights, to prefetch, or NULL. */
static void walk_tokens(const struct walk *w, const struct tile_acts *acts, size_t row, size_t n_rows, size_t k, size_t n_cols,
                        const unsigned char *ahead)
{
    const struct matmul_args *a = w->a;
    const struct tiles tiles = tiles_of(a->x, w->f);
    const size_t n_blk = n_cols / 32;
    const size_t lines = (w->chunk_bytes * ((n_cols + PANEL_K - 1) / PANEL_K) + 63) / 64;
    const size_t each = (lines + tiles.n * n_blk - 1) / (tiles.n * n_blk); /* a block of a tile */
    const unsigned char *packed = chunk_at(w, row, k);
    size_t prefetched = 0;
    for (size_t i = 0, t = 0, n; i < tiles.n; i++, t += n) {
        n = tile_tokens(tiles, i);
        const bool more = ahead && prefetched < lines;
        const unsigned char *from = more ? ahead + prefetched * 64 : NULL;
        const struct tile tile = {
            .panel = w->s->panel,
            .packed = { packed, n_rows > 16 ? packed + w->panel_bytes : packed },
            .x = acts + i * n_blk,
            .y = a->y + t * a->y_stride + row,
            .y_stride = a->y_stride,
            .n_blk = (unsigned)n_blk,
            .first = k == 0,
            .rows = n_rows,
            .ahead = { from, more ? from + w->panel_bytes : NULL },
            .lines = more ? (unsigned)each : 0,
        };
        (i == 0 ? w->first : w->run)(&tile, n);
        prefetched += each * n_blk;
    }
}

static void prepare_step(struct tile_acts *to, const struct walk *w, size_t k, size_t n)
{
    prepare_tokens(to, w->a->x, w->f, k, n, 0, tiles_of(w->a->x, w->f).n);
}

/* Large batches: a step of columns for all rows, then the next, so that its activations stay in L2. */
static void walk_many(const struct walk *w, size_t row0, size_t row1)
{
    const struct matmul_args *a = w->a;
    const size_t step = step_of(a->cols);
    for (size_t k = 0; k < a->cols; k += step) {
        const size_t n = least(a->cols - k, step);
        const struct tile_acts *acts = w->packed_acts ? step_acts(w->packed_acts, a->x, w->f, k) : w->s->acts;
        if (!w->packed_acts)
            prepare_step(w->s->acts, w, k, n);
        for (size_t r = row0; r < row1; r += PANEL_ROWS) {
            const size_t n_rows = least(row1 - r, PANEL_ROWS);
            const bool last = r + PANEL_ROWS >= row1, more = k + step < a->cols;
            const unsigned char *ahead = !last ? chunk_at(w, r + PANEL_ROWS, k) : more ? chunk_at(w, row0, k + step) : next_rows(w, r, row1);
            unpack_rows(w, r, n_rows, k, n);
            walk_tokens(w, acts, r, n_rows, k, n, ahead);
        }
    }
}

/* Small batches, whose activations all stay in L2: weights in sequence. */
static void walk_few(const struct walk *w, size_t row0, size_t row1)
{
    const struct matmul_args *a = w->a;
    const size_t step = step_of(a->cols);
    struct tile_acts *const acts = w->packed_acts ? w->packed_acts : w->s->acts;
    for (size_t k = 0; !w->packed_acts && k < a->cols; k += step)
        prepare_step(step_acts(acts, a->x, w->f, k), w, k, least(a->cols - k, step));
    for (size_t r = row0; r < row1; r += PANEL_ROWS)
        for (size_t k = 0; k < a->cols; k += step) {
            const size_t n_rows = least(row1 - r, PANEL_ROWS), n = least(a->cols - k, step);
            const bool more = k + step < a->cols;
            const unsigned char *ahead = more ? chunk_at(w, r, k + step) : next_rows(w, r, row1);
            unpack_rows(w, r, n_rows, k, n);
            walk_tokens(w, step_acts(acts, a->x, w->f, k), r, n_rows, k, n, ahead);
        }
}

/* Formats whose tiles want the same of activations. */
static bool same_tiles(const struct panel_format *f, const struct panel_format *g)
{
    return f && f->kind == g->kind && f->bias == g->bias && !f->pairs == !g->pairs;
}

static void pack_acts(struct acts *x, const struct panel_format *f, unsigned part, unsigned parts)
{
    const size_t tiles = tiles_of(x, f).n, tile0 = tiles * part / parts, tile1 = tiles * (part + 1) / parts, step = step_of(x->cols);
    for (size_t k = 0; k < x->cols; k += step) {
        const size_t n = least(x->cols - k, step);
        prepare_tokens(step_acts(x->tiles, x, f, k) + tile0 * (n / 32), x, f, k, n, tile0, tile1);
    }
    x->tiles_for = f;
}

static void packed_gemm(const struct matmul_args *a, size_t row0, size_t row1, const struct panel_format *f)
{
    static tile_fn *const in_place[PLACES][2] = {
        [PLACE_BYTES] = { place_bytes, place_bytes_pow2 },
        [PLACE_NIBBLES] = { place_nibbles, place_nibbles_pow2 },
        [PLACE_NIBBLES_K] = { place_nibbles_k, place_nibbles_k_pow2 },
    };
    static tile_fn *const copying[PLACES][3] = { /* by enum tile_sums */
        [PLACE_BYTES] = { copy_bytes, copy_bytes_pow2 },
        [PLACE_NIBBLES] = { copy_nibbles, copy_nibbles_pow2 },
        [PLACE_NIBBLES_1] = { copy_nibbles_1, copy_nibbles_1_pow2 },
        [PLACE_FIVES] = { copy_fives, copy_fives_pow2 },
        [PLACE_FIVES_1] = { copy_fives_1, copy_fives_1_pow2 },
        [PLACE_NL] = { copy_nl, copy_nl_pow2 },
        [PLACE_E2M1] = { copy_e2m1, copy_e2m1_pow2 },
        [PLACE_NIBBLES_K] = { copy_nibbles_k, copy_nibbles_k_pow2 },
        [PLACE_FIVES_K] = { copy_fives_k, copy_fives_k_pow2 },
        [PLACE_SIXES] = { copy_sixes, copy_sixes_pow2, copy_sixes_pairs },
        [PLACE_NL_K] = { copy_nl_k, copy_nl_k_pow2 },
    };
    static tile_fn *const panels[][3] = {
        [PANEL_32] = { tile_32, tile_32_pow2 },
        [PANEL_32_MIN] = { tile_32_min, tile_32_min_pow2 },
        [PANEL_16] = { tile_16, tile_16_pow2, tile_16_pairs },
        [PANEL_2_MINS] = { tile_2_mins, tile_2_mins_pow2 },
        [PANEL_8_MINS] = { tile_8_mins, tile_8_mins_pow2 },
    };
    const enum tile_sums sums = sums_of(a->x, f);
    struct walk w = {
        .a = a,
        .f = f,
        .packed_acts = same_tiles(a->x->tiles_for, f) ? a->x->tiles : NULL,
        .unpack = sums == SUMS_PAIRS ? f->pairs : f->scales,
        .first = copying[f->place][sums],
        .run = panels[f->kind][sums],
        .s = a->scratch,
        .panel_bytes = (size_t)16 * a->w_row_bytes,
        .chunk_bytes = 16 * dtype_row_bytes(a->type, PANEL_K),
    };
    if (a->x->n_tok <= f->in_place_tok) {
        w.first = w.run = in_place[f->place][sums];
    } else if (!w.first) {
        w.first = w.run;
        w.unpack = f->unpack;
    }
    (a->x->n_tok <= PACKED_FEW_TOK ? walk_few : walk_many)(&w, row0, row1);
}

const struct vnni_packed *vnni_packed(enum dtype type)
{
    const struct vnni_packed *const f = vnni_packed_32(type);
    return f ? f : vnni_packed_k(type);
}

const struct panel_format *panel_format(enum dtype type, bool two_ports)
{
    const struct vnni_packed *const f = vnni_packed(type);
    return !f ? NULL : two_ports && f->two_ports.unpack ? &f->two_ports : &f->panel;
}

void vnni_packed_gemm(const struct matmul_args *a, size_t row0, size_t row1)
{
    packed_gemm(a, row0, row1, panel_format(a->type, false));
}
void vnni_packed_gemm_two_ports(const struct matmul_args *a, size_t row0, size_t row1)
{
    packed_gemm(a, row0, row1, panel_format(a->type, true));
}
void vnni_pack_acts(struct acts *x, enum dtype type, unsigned part, unsigned parts)
{
    pack_acts(x, panel_format(type, false), part, parts);
}
void vnni_pack_acts_two_ports(struct acts *x, enum dtype type, unsigned part, unsigned parts)
{
    pack_acts(x, panel_format(type, true), part, parts);
}
