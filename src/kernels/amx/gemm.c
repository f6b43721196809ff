/*
 * amx/gemm.c: products of packed weights with many tokens by tdpbf16ps. Weights of any format are converted to bf16 once for all tokens,
 * and so are activations (d * q of the 8-bit ones). A tile product is 16 tokens x 32 columns (activations) times 32 columns x 16 rows
 * (pairs of columns of all rows interleaved: BF16 as it is packed), added to 16 x 16 sums of f32. methods.md (5), (93). F16 weights and
 * their float activations are split into two bf16 each, with three products; F32 into three each, with six: (94).
 *
 * Two tiles of tokens and two of rows are four sums, with four loads. Loops: blocks of 512 tokens > 256 rows > steps of columns (512 of
 * BF16, 256 of converted types, 128 of F32) > panels of 32 rows, in L1 > groups of 32 tokens. The sums of a step and group are stored to
 * one place in L1, and added by vectors to the sums in L2 (the last step's: to the results) during the next group's products. Conversion
 * of the next panel and prefetch of the next step's activations and weights are interleaved too.
 *
 * Loading and storing sums by tile instructions is slower: Granite Rapids, one thread, four products by steps of 512, GFLOP/s: without
 * sums 3380; stored to L1 3110-3270; and added by vectors 2920-3140; tiles loaded from L2 and stored 2490.
 *
 * Next to four products and their four loads (22 ns) 64 multiply-adds take 5 % more time, 64 loads 29 % (a tile load is one per row), 64
 * stores 40 %, 32 vcvtne2ps2bf16 40 %: loops have few loads, and no more tile loads than products.
 *
 * Results that exceed the caches (y_nontemporal) use non-temporal stores of whole lines. One thread, 256 rows a call, 512 tokens, GFLOP/s
 * without and with: 2048 columns BF16 800, 1250, Q4_K 750, 1040; 5632 columns Q4_K 720, 830, with activations prefetched 1020.
 */
#include "kernels/amx/amx.h"
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/simd512.h"
#include "kernels/avx512bf16/bf16.h"
#include "kernels/avx512vnni/packed.h"
#include "kernels/pack.h"

enum {
    TILE_ROWS = 16,
    TILE_K = 32,                    /* columns of a tile */
    TILE_BF16 = TILE_ROWS * TILE_K, /* numbers of one */
    GROUP_TOK = TILES_GROUP_TOK,
    STEP_K = 512,           /* columns of a panel that fits L1, */
    STEP_K_CONVERTED = 256, /* or of two, one of which is being written (not if split). Q8_0, Q4_K 1.03 times as fast as with 512 */
    STEP_K_THREE = 128,
    UNIT_ROWS = 256,            /* rows whose sums fit L2 */
    TURN_BLOCKS = 4,            /* blocks between two conversions: a call costs as much as a quad */
    BLOCK_BF16 = 2 * TILE_BF16, /* numbers of 32 columns of a group, or of a panel */
};

/* Conversion of the operands. */
enum operands {
    OPERANDS_PACKED,    /* BF16: none */
    OPERANDS_CONVERTED, /* 8-bit activations: to a bf16 */
    OPERANDS_TWO,       /* F16: to two, three products. Steps of 256 columns; 128 are 1.06 times as slow */
    OPERANDS_THREE,     /* F32: to three, six products */
};

/* Packed activations: bf16 numbers each, columns of a step. */
struct tiling {
    size_t planes, step;
};
static const struct tiling tilings[] = {
    [OPERANDS_PACKED] = { 1, STEP_K },
    [OPERANDS_CONVERTED] = { 1, STEP_K_CONVERTED },
    [OPERANDS_TWO] = { 2, STEP_K_CONVERTED },
    [OPERANDS_THREE] = { 3, STEP_K_THREE },
};

struct amx_scratch {
    _Alignas(64) uint16_t panel[2][2 * STEP_K_CONVERTED / TILE_K * BLOCK_BF16]; /* the one that is multiplied, and the next; of one to three parts */
    struct panel_block meta[PANEL_BLOCKS];                    /* scales of 128 or 256 columns of that; of some formats weights, too */
    float made[GROUP_TOK * PANEL_ROWS];                       /* sums of a step and group */
    float sums[UNIT_ROWS * AMX_BLOCK_TOK];                    /* [panels][groups][tokens][rows of a panel] */
    uint16_t acts[AMX_BLOCK_TOK * STEP_K];                    /* of a step, if they are not packed */
};
_Static_assert(sizeof(struct amx_scratch) <= SCRATCH_AMX_BYTES, "scratch");
_Static_assert(3 * STEP_K_THREE <= 2 * STEP_K_CONVERTED && 3 * STEP_K_THREE <= STEP_K, "panels and activations of three parts");
_Static_assert(GROUP_TOK == 2 * TILE_ROWS && PANEL_ROWS == 2 * TILE_ROWS, "four sums");

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- tiles --------------------------------------------------------------------------------------------------- */

/* Sums are tmm0 to 3: [tokens][rows]. */
INLINE void sums_zero(void)
{
    __asm__ volatile("tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3" ::: "memory");
}

/* A group's sums, [tokens][rows of a panel]. */
INLINE void sums_store(float *sums)
{
    __asm__ volatile("tilestored %%tmm0, (%0,%1,1)\n\t"
                     "tilestored %%tmm1, 64(%0,%1,1)\n\t"
                     "tilestored %%tmm2, 2048(%0,%1,1)\n\t"
                     "tilestored %%tmm3, 2112(%0,%1,1)" ::"r"(sums),
                     "r"(PANEL_ROWS * sizeof *sums)
                     : "memory");
}

/* ---- activations ----------------------------------------------------------------------------------------------- */

/* 32 columns from c on of a token; 0 past the last. */
INLINE __m512i act_bf16(const struct acts *x, size_t t, size_t c)
{
    if (t >= x->n_tok)
        return _mm512_setzero_si512();
    const size_t at = t * x->stride + c;
    if (x->kind == ACT_BF16)
        return _mm512_loadu_si512(x->bf16 + at);
    const __m512 d = _mm512_set1_ps(x->d[at / 32]);
    const __m512 lo = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(x->q + at))));
    const __m512 hi = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(x->q + at + 16))));
    return (__m512i)_mm512_cvtne2ps_pbh(_mm512_mul_ps(hi, d), _mm512_mul_ps(lo, d));
}

INLINE __m512 widen(__m256i bf16)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bf16), 16));
}

/* The bf16 nearest to floats, then nearest to each remainder: to[planes][tokens][32]. methods.md (94) */
INLINE void act_split(uint16_t *to, size_t planes, const struct acts *x, size_t t, size_t c)
{
    __m512 a = _mm512_setzero_ps(), b = a;
    if (t < x->n_tok) {
        a = _mm512_loadu_ps(x->f32 + t * x->stride + c);
        b = _mm512_loadu_ps(x->f32 + t * x->stride + c + 16);
    }
    for (;; to += BLOCK_BF16) {
        const __m512i n = (__m512i)_mm512_cvtne2ps_pbh(b, a);
        _mm512_store_si512(to, n);
        if (--planes == 0)
            return;
        a = _mm512_sub_ps(a, widen(_mm512_castsi512_si256(n)));
        b = _mm512_sub_ps(b, widen(_mm512_extracti64x4_epi64(n, 1)));
    }
}

static size_t groups_of(size_t n_tok)
{
    return (n_tok + GROUP_TOK - 1) / GROUP_TOK;
}

/* Columns [k, k + n) of token t, to[n / 32][planes][tokens][32]: at its place among the tokens. */
static void pack_token(uint16_t *to, const struct acts *x, size_t planes, size_t t, size_t k, size_t n)
{
    if (planes > 1)
        for (size_t c = 0; c < n; c += TILE_K, to += planes * BLOCK_BF16)
            act_split(to, planes, x, t, k + c);
    else
        for (size_t c = 0; c < n; c += TILE_K, to += BLOCK_BF16)
            _mm512_store_si512(to, act_bf16(x, t, k + c));
}

/* Of n_tok tokens from tok on, to[groups] of these. */
static void pack_tokens(uint16_t *to, const struct acts *x, size_t planes, size_t k, size_t n, size_t tok, size_t n_tok)
{
    for (size_t g = 0; g < groups_of(n_tok); g++, to += planes * GROUP_TOK * n)
        for (size_t t = 0; t < GROUP_TOK; t++)
            pack_token(to + t * TILE_K, x, planes, tok + g * GROUP_TOK + t, k, n);
}

/* Columns [k, k + n) of a group of tokens in tiles: [blocks of tokens][steps][groups]. */
static uint16_t *tiles_at(const struct acts *x, size_t planes, size_t tok, size_t k, size_t n)
{
    const size_t block = tok / AMX_BLOCK_TOK * AMX_BLOCK_TOK, n_tok = groups_of(least(x->n_tok - block, AMX_BLOCK_TOK)) * GROUP_TOK;
    return (uint16_t *)x->tiles + planes * (block * x->cols + k * n_tok + (tok - block) * n);
}

static void pack_acts(struct acts *x, const struct tiling *as, unsigned part, unsigned parts)
{
    const size_t groups = groups_of(x->n_tok), g1 = groups * (part + 1) / parts;
    for (size_t g = groups * part / parts; g < g1; g++)
        for (size_t k = 0, n; k < x->cols; k += n) {
            n = least(x->cols - k, as->step);
            pack_tokens(tiles_at(x, as->planes, g * GROUP_TOK, k, n), x, as->planes, k, n, g * GROUP_TOK, 1);
        }
    x->tiles_for = as;
}

static void pack_row(struct acts *x, const struct tiling *as, size_t t, size_t c0, const struct acts *row)
{
    for (size_t c = c0, n; c < c0 + row->cols; c += n) { /* steps, and parts of them */
        const size_t k = c / as->step * as->step, n_k = least(x->cols - k, as->step);
        n = least(k + n_k, c0 + row->cols) - c;
        uint16_t *to = tiles_at(x, as->planes, t / GROUP_TOK * GROUP_TOK, k, n_k) + as->planes * (c - k) / TILE_K * BLOCK_BF16;
        pack_token(to + t % GROUP_TOK * TILE_K, row, as->planes, 0, c - c0, n);
    }
    x->tiles_for = as;
}

void amx_pack_acts_row(struct acts *x, size_t t, size_t c0, const struct acts *row)
{
    static const enum operands as[ACT_KIND_COUNT] = { [ACT_F32] = OPERANDS_TWO, [ACT_BF16] = OPERANDS_PACKED, [ACT_Q8] = OPERANDS_CONVERTED };
    pack_row(x, &tilings[as[x->kind]], t, c0, row);
}
void amx_pack_acts_row_f32(struct acts *x, size_t t, size_t c0, const struct acts *row)
{
    pack_row(x, &tilings[OPERANDS_THREE], t, c0, row);
}

/* ---- loops -------------------------------------------------------------------------------------------------- */

struct walk {
    const struct matmul_args *a;
    const struct dtype_info *type;
    const struct panel_format *f; /* NULL: BF16, read where it is packed */
    enum operands operands;
    amx_convert_fn *convert;
    struct amx_scratch *s;
    const uint16_t *acts; /* packed, of all steps; NULL: those of a step are packed into the scratch */
    bool far;             /* non-temporal stores of results */
    size_t panel_bytes;   /* of a panel of pack.h */
    size_t step;          /* columns of one */
    size_t planes;        /* bf16 of an activation, and of a weight */
    size_t chunk;         /* columns whose scales are unpacked at once */
    size_t row0, row1, row_end, tok, n_tok, groups;
};

/* A panel and a step. */
struct job {
    size_t row, n_rows, k, n;
};

/* The one after: rows, then columns. None: n is 0. */
static struct job job_after(const struct walk *w, struct job j)
{
    j.row += PANEL_ROWS;
    if (j.row >= w->row1) {
        j.row = w->row0;
        j.k += w->step;
    }
    const bool none = j.k >= w->a->cols;
    j.n_rows = none ? 0 : least(w->row1 - j.row, PANEL_ROWS);
    j.n = none ? 0 : least(w->a->cols - j.k, w->step);
    return j;
}

/* Column k of the panels that begin with row. */
static const unsigned char *chunk_at(const struct walk *w, size_t row, size_t k)
{
    const size_t elems = w->type->block_elems, bytes = w->type->block_bytes;
    return w->a->w + row * w->a->w_row_bytes + k / elems * bytes * PACK_ROWS;
}

/* From the first 16 rows to the others; a panel that has no others repeats the first. */
static size_t other_half(const struct walk *w, struct job j)
{
    return j.n_rows > PACK_ROWS ? w->panel_bytes : 0;
}

/* Destination of the sums of a step. */
enum keep {
    KEEP_NONE,     /* none yet */
    KEEP_FIRST,    /* the first: stored to sums */
    KEEP_ADD,      /* added to sums */
    KEEP_LAST,     /* added to sums, stored to y, */
    KEEP_LAST_FAR, /* by non-temporal stores */
};

/* Work interleaved with the products of a job, a part each block: the next panel is converted to bf16, the one after that and the
 * activations of the next step are prefetched, and the sums of the group before are stored. */
struct overlap {
    const struct walk *w;
    struct job next;
    uint16_t *to;
    struct amx_packed from;
    size_t quad, quads, each;  /* done, in all, a turn */
    unsigned block;            /* of a turn */
    const char *line;          /* of weights of the first half */
    size_t other, prefetch;    /* bytes to the second half; lines a block */
    const char *act;           /* lines of activations of the next step, this panel's share of them */
    size_t act_ask;            /* a block */
    enum keep how;             /* destination of */
    const float *made;         /* the group before, */
    float *sums, *y;
    size_t y_stride, n_tok;
    bool only;                 /* last: there are no sums */
    __mmask16 mask[2];
};

static void convert_next(struct overlap *s, size_t n)
{
    const struct walk *w = s->w;
    const size_t quads = w->chunk / TILE_K * 16;
    for (size_t m; n > 0 && s->quad < s->quads; n -= m, s->quad += m) {
        const size_t chunk = s->quad / quads, first = s->quad % quads, last = least(quads, s->quads - chunk * quads);
        if (first == 0) {
            const unsigned char *p = chunk_at(w, s->next.row, s->next.k + chunk * w->chunk);
            amx_convert_begin(&s->from, w->f, p, p + other_half(w, s->next), last / 16, w->s->meta);
        }
        m = least(n, last - first);
        w->convert(s->to + w->planes * chunk * quads * 64, &s->from, first, m, w->f);
    }
}

/* Activations of a step. */
static size_t act_numbers(const struct walk *w, size_t k)
{
    return w->planes * least(w->a->cols - k, w->step) * w->groups * GROUP_TOK;
}

/* After the last step the first, for other rows; a single step is already cached. */
static void ask_acts(struct overlap *s, struct job j, size_t blocks)
{
    const struct walk *w = s->w;
    size_t k = j.k + j.n;
    if (j.n == w->a->cols)
        return;
    if (k == w->a->cols) {
        if (w->row1 == w->row_end && !w->a->prefetch_next)
            return;
        k = 0;
    }
    const size_t panels = (w->row1 - w->row0 + PANEL_ROWS - 1) / PANEL_ROWS, panel = (j.row - w->row0) / PANEL_ROWS;
    const size_t lines = act_numbers(w, k) * sizeof *w->acts / 64, first = lines * panel / panels;
    s->act = (const char *)(w->acts + w->planes * k * w->groups * GROUP_TOK) + first * 64;
    s->act_ask = (lines * (panel + 1) / panels - first + blocks - 1) / blocks;
}

/* The interleaved work of job j with `blocks` blocks. */
static struct overlap overlap_with(const struct walk *w, struct job j, struct job next, uint16_t *to, size_t blocks)
{
    struct overlap s = { .w = w, .next = next, .to = to };
    if (w->acts)
        ask_acts(&s, j, blocks);
    const struct job after = w->f && next.n ? job_after(w, next) : next;
    if (w->f) {
        s.quads = next.n / TILE_K * 16;
        s.each = ((w->planes > 1 ? 1 : TURN_BLOCKS) * s.quads + blocks - 1) / blocks;
    }
    if (after.n) {
        s.line = (const char *)chunk_at(w, after.row, after.k);
        s.other = other_half(w, after);
        const size_t lines = (size_t)(chunk_at(w, after.row, after.k + after.n) - chunk_at(w, after.row, after.k)) / 64;
        s.prefetch = (lines + blocks - 1) / blocks;
    }
    return s;
}

/* Stores tokens [t, t + n). */
INLINE void keep(const struct overlap *s, size_t t, size_t n, const enum keep how)
{
    const bool last = how == KEEP_LAST || how == KEEP_LAST_FAR, add = how == KEEP_ADD || (last && !s->only);
    const float *made = s->made + t * PANEL_ROWS;
    float *sums = s->sums + t * PANEL_ROWS, *y = s->y + t * s->y_stride;
    for (size_t i = 0; i < n; i++, made += PANEL_ROWS, sums += PANEL_ROWS, y += s->y_stride) {
        __m512 a = _mm512_load_ps(made), b = _mm512_load_ps(made + 16);
        if (add) {
            a = _mm512_add_ps(a, _mm512_load_ps(sums));
            b = _mm512_add_ps(b, _mm512_load_ps(sums + 16));
        }
        if (how == KEEP_LAST_FAR) {
            _mm512_stream_ps(y, a);
            _mm512_stream_ps(y + 16, b);
        } else if (last) {
            _mm512_mask_storeu_ps(y, s->mask[0], a);
            _mm512_mask_storeu_ps(y + 16, s->mask[1], b);
        } else {
            _mm512_store_ps(sums, a);
            _mm512_store_ps(sums + 16, b);
        }
    }
}

/* Stores tokens from t on, the rest. */
static void keep_rest(struct overlap *s, size_t t)
{
    const size_t n = t < s->n_tok ? s->n_tok - t : 0;
    switch (s->how) {
    case KEEP_NONE:
        break;
    case KEEP_FIRST:
        keep(s, t, n, KEEP_FIRST);
        break;
    case KEEP_ADD:
        keep(s, t, n, KEEP_ADD);
        break;
    case KEEP_LAST:
        keep(s, t, n, KEEP_LAST);
        break;
    case KEEP_LAST_FAR:
        keep(s, t, n, KEEP_LAST_FAR);
        break;
    }
    s->how = KEEP_NONE;
}

/* 16 rows at b0 and b1 each. */
struct weights {
    const uint16_t *b0, *b1;
    size_t step; /* numbers from block to block */
};

static struct weights weights(const struct walk *w, struct job j, const uint16_t *panel)
{
    if (w->f)
        return (struct weights){ panel, panel + TILE_BF16, w->planes * BLOCK_BF16 };
    const unsigned char *p = chunk_at(w, j.row, j.k);
    return (struct weights){ (const uint16_t *)(const void *)p, (const uint16_t *)(const void *)(p + other_half(w, j)), TILE_BF16 };
}

/* A block of tokens and of a panel: tmm4 and, if two, tmm5, by tmm6 and tmm7, which stay there. */
INLINE void block_multiply(const uint16_t *x, const uint16_t *b0, const uint16_t *b1, const bool two)
{
    if (two)
        __asm__ volatile("tileloaddt1 (%0,%3,1), %%tmm4\n\t"
                         "tileloadd (%1,%3,1), %%tmm6\n\t"
                         "tileloadd (%2,%3,1), %%tmm7\n\t"
                         "tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n\t"
                         "tileloaddt1 1024(%0,%3,1), %%tmm5\n\t"
                         "tdpbf16ps %%tmm7, %%tmm4, %%tmm1\n\t"
                         "tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n\t"
                         "tdpbf16ps %%tmm7, %%tmm5, %%tmm3" ::"r"(x),
                         "r"(b0), "r"(b1), "r"((size_t)64)
                         : "memory");
    else
        __asm__ volatile("tileloaddt1 (%0,%3,1), %%tmm4\n\t"
                         "tileloadd (%1,%3,1), %%tmm6\n\t"
                         "tileloadd (%2,%3,1), %%tmm7\n\t"
                         "tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n\t"
                         "tdpbf16ps %%tmm7, %%tmm4, %%tmm1" ::"r"(x),
                         "r"(b0), "r"(b1), "r"((size_t)64)
                         : "memory");
}

/* Other tokens times the loaded panel; the loaded tokens times another panel. */
INLINE void tokens_multiply(const uint16_t *x, const bool two)
{
    __asm__ volatile("tileloaddt1 (%0,%1,1), %%tmm4\n\t"
                     "tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n\t"
                     "tdpbf16ps %%tmm7, %%tmm4, %%tmm1" ::"r"(x),
                     "r"((size_t)64)
                     : "memory");
    if (two)
        __asm__ volatile("tileloaddt1 1024(%0,%1,1), %%tmm5\n\t"
                         "tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n\t"
                         "tdpbf16ps %%tmm7, %%tmm5, %%tmm3" ::"r"(x),
                         "r"((size_t)64)
                         : "memory");
}
INLINE void panel_multiply(const uint16_t *b0, const uint16_t *b1, const bool two)
{
    __asm__ volatile("tileloadd (%0,%2,1), %%tmm6\n\t"
                     "tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n\t"
                     "tileloadd (%1,%2,1), %%tmm7\n\t"
                     "tdpbf16ps %%tmm7, %%tmm4, %%tmm1" ::"r"(b0),
                     "r"(b1), "r"((size_t)64)
                     : "memory");
    if (two)
        __asm__ volatile("tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n\t"
                         "tdpbf16ps %%tmm7, %%tmm5, %%tmm3" ::
                             : "memory");
}

/* A block of numbers in two parts, rest times near, near times near, near times rest; in three, of x and w each the first, second and third,
 * x3 w1, x2 w1, x2 w2, x1 w2, x1 w3, x1 w1. Each product but the first loads one side. methods.md (94) */
INLINE void two_multiply(const uint16_t *x, struct weights w, const bool two)
{
    block_multiply(x + BLOCK_BF16, w.b0, w.b1, two);
    tokens_multiply(x, two);
    panel_multiply(w.b0 + BLOCK_BF16, w.b1 + BLOCK_BF16, two);
}
INLINE void three_multiply(const uint16_t *x, struct weights w, const bool two)
{
    block_multiply(x + 2 * BLOCK_BF16, w.b0, w.b1, two);
    tokens_multiply(x + BLOCK_BF16, two);
    panel_multiply(w.b0 + BLOCK_BF16, w.b1 + BLOCK_BF16, two);
    tokens_multiply(x, two);
    panel_multiply(w.b0 + 2 * BLOCK_BF16, w.b1 + 2 * BLOCK_BF16, two);
    panel_multiply(w.b0, w.b1, two);
}

/* n_blk blocks of a group's tokens times those of a panel; two: there are tokens beyond the first 16.
 * Activations are read once a panel and must not evict it from L1: tileloaddt1 (tileloadd for both: 13 % slower). */
INLINE void sums_make(const uint16_t *x, struct weights w, size_t n_blk, struct overlap *s, const bool two, const enum operands are, const enum keep how)
{
    const size_t n_tok = GROUP_TOK * TILE_K / tilings[are].step; /* per block of a whole step */
    const bool split = are == OPERANDS_TWO || are == OPERANDS_THREE;
    const size_t x_step = tilings[are].planes * BLOCK_BF16;
    const char *line = s->line, *act = s->act;
    for (size_t b = 0; b < n_blk; b++, x += x_step, w.b0 += w.step, w.b1 += w.step) {
        if (are == OPERANDS_THREE)
            three_multiply(x, w, two);
        else if (are == OPERANDS_TWO)
            two_multiply(x, w, two);
        else
            block_multiply(x, w.b0, w.b1, two);
        if (how != KEEP_NONE)
            keep(s, b * n_tok, n_tok, how);
        for (size_t i = 0; i < s->prefetch; i++, line += 64) {
            _mm_prefetch(line, _MM_HINT_T1);
            _mm_prefetch(line + s->other, _MM_HINT_T1);
        }
        for (size_t i = 0; i < s->act_ask; i++, act += 64)
            _mm_prefetch(act, _MM_HINT_T1);
        if (are != OPERANDS_PACKED && s->quad < s->quads && ++s->block >= (split ? 1 : TURN_BLOCKS)) {
            s->block = 0;
            convert_next(s, s->each);
        }
    }
    s->line = line;
    s->act = act;
    if (how != KEEP_NONE)
        keep_rest(s, n_blk * n_tok);
}

/* Small groups store the previous sums before their own products. */
INLINE void sums_make_keep(const uint16_t *x, struct weights w, size_t n_blk, struct overlap *s, const bool two, const enum operands are)
{
    if (!two || s->n_tok < GROUP_TOK)
        keep_rest(s, 0);
    if (!two) {
        sums_make(x, w, n_blk, s, false, are, KEEP_NONE);
        return;
    }
    switch (s->how) {
    case KEEP_NONE:
        sums_make(x, w, n_blk, s, true, are, KEEP_NONE);
        break;
    case KEEP_FIRST:
        sums_make(x, w, n_blk, s, true, are, KEEP_FIRST);
        break;
    case KEEP_ADD:
        sums_make(x, w, n_blk, s, true, are, KEEP_ADD);
        break;
    case KEEP_LAST:
        sums_make(x, w, n_blk, s, true, are, KEEP_LAST);
        break;
    case KEEP_LAST_FAR:
        sums_make(x, w, n_blk, s, true, are, KEEP_LAST_FAR);
        break;
    }
}

static void run_job(const struct walk *w, struct job j, struct weights b, struct overlap *side)
{
    const struct matmul_args *a = w->a;
    const uint16_t *x = w->acts ? w->acts + w->planes * j.k * w->groups * GROUP_TOK : w->s->acts;
    const bool last = j.k + j.n == a->cols;
    float *sums = w->s->sums + (j.row - w->row0) / PANEL_ROWS * w->groups * GROUP_TOK * PANEL_ROWS;
    for (size_t g = 0; g < w->groups; g++, x += w->planes * GROUP_TOK * j.n) {
        const size_t t = g * GROUP_TOK, n = least(w->n_tok - t, GROUP_TOK);
        float *to = sums + g * GROUP_TOK * PANEL_ROWS;
        sums_zero();
        switch (w->operands) {
        case OPERANDS_PACKED:
            sums_make_keep(x, b, j.n / TILE_K, side, n > TILE_ROWS, OPERANDS_PACKED);
            break;
        case OPERANDS_CONVERTED:
            sums_make_keep(x, b, j.n / TILE_K, side, n > TILE_ROWS, OPERANDS_CONVERTED);
            break;
        case OPERANDS_TWO:
            sums_make_keep(x, b, j.n / TILE_K, side, n > TILE_ROWS, OPERANDS_TWO);
            break;
        case OPERANDS_THREE:
            sums_make_keep(x, b, j.n / TILE_K, side, n > TILE_ROWS, OPERANDS_THREE);
            break;
        }
        sums_store(w->s->made);
        side->made = w->s->made;
        side->sums = to;
        side->y = a->y + (w->tok + t) * a->y_stride + j.row;
        side->y_stride = a->y_stride;
        side->n_tok = n;
        side->only = j.k == 0;
        side->how = !last ? (j.k == 0 ? KEEP_FIRST : KEEP_ADD) : w->far && j.n_rows == PANEL_ROWS ? KEEP_LAST_FAR : KEEP_LAST;
        side->mask[0] = vm_first(j.n_rows);
        side->mask[1] = vm_first(j.n_rows < 16 ? 0 : j.n_rows - 16);
    }
    keep_rest(side, 0);
}

/* Rows [row0, row1), at most UNIT_ROWS, of at most AMX_BLOCK_TOK tokens. */
static void walk_rows(const struct walk *w)
{
    size_t packed_cols = 0, panel = 0; /* columns; of the two */
    struct job j = { w->row0, least(w->row1 - w->row0, PANEL_ROWS), 0, least(w->a->cols, w->step) };
    struct overlap first = { .w = w, .next = j, .to = w->s->panel[0], .quads = w->f ? j.n / TILE_K * 16 : 0 };
    convert_next(&first, first.quads);
    for (struct job next; j.n; j = next, panel ^= 1) {
        if (!w->acts && packed_cols <= j.k) {
            pack_tokens(w->s->acts, w->a->x, w->planes, j.k, j.n, w->tok, w->n_tok);
            packed_cols = j.k + j.n;
        }
        next = job_after(w, j);
        struct overlap side = overlap_with(w, j, next, w->s->panel[panel ^ 1], w->groups * (j.n / TILE_K));
        run_job(w, j, weights(w, j, w->s->panel[panel]), &side);
        if (side.quad < side.quads)
            convert_next(&side, side.quads);
    }
}

/* Rows of y are whole lines. */
static bool far(const struct matmul_args *a)
{
    return a->y_nontemporal && (uintptr_t)a->y % 64 == 0 && a->y_stride % 16 == 0;
}

static void amx_gemm(const struct matmul_args *a, size_t row0, size_t row1, const struct panel_format *f)
{
    struct walk w = { .a = a, .f = f, .convert = f ? amx_convert_of(f) : NULL, .s = a->scratch, .panel_bytes = PACK_ROWS * a->w_row_bytes };
    w.operands = !f ? OPERANDS_PACKED : f == &amx_f16 ? OPERANDS_TWO : f == &amx_f32 ? OPERANDS_THREE : OPERANDS_CONVERTED;
    const struct tiling *const as = &tilings[w.operands];
    w.step = as->step;
    w.planes = as->planes;
    w.type = dtype_find(a->type);
    w.chunk = w.type->block_elems > 1 && w.type->block_elems < PANEL_K ? 4 * w.type->block_elems : PANEL_K; /* whole groups of pack.h */
    w.far = far(a);
    w.row_end = row1;
    amx_tiles_begin();
    for (; w.tok < a->x->n_tok; w.tok += AMX_BLOCK_TOK) {
        w.n_tok = least(a->x->n_tok - w.tok, AMX_BLOCK_TOK);
        w.groups = groups_of(w.n_tok);
        w.acts = a->x->tiles_for == as ? (const uint16_t *)a->x->tiles + w.planes * w.tok * a->cols : NULL;
        for (w.row0 = row0; w.row0 < row1; w.row0 = w.row1) {
            w.row1 = least(row1, w.row0 + UNIT_ROWS);
            walk_rows(&w);
        }
    }
    amx_tiles_end();
    if (w.far)
        _mm_sfence(); /* orders non-temporal stores before the barrier that follows */
}

/* Fewer tokens than AMX_MIN_TOK: by vpdpbusd. Every CPU with tiles has two ports. */
void amx_gemm_q8(const struct matmul_args *a, size_t row0, size_t row1)
{
    if (a->x->n_tok < AMX_MIN_TOK)
        vnni_packed_gemm_two_ports(a, row0, row1);
    else
        amx_gemm(a, row0, row1, panel_format(a->type, false));
}
void amx_pack_acts_q8(struct acts *x, enum dtype type, unsigned part, unsigned parts)
{
    if (x->n_tok < AMX_MIN_TOK)
        vnni_pack_acts_two_ports(x, type, part, parts);
    else
        pack_acts(x, &tilings[OPERANDS_CONVERTED], part, parts);
}

/* Types without blocks: operands, and the product for fewer tokens or columns that are not whole tiles. */
static const struct number {
    size_t min_tok;
    const struct panel_format *format;
    enum operands operands;
    matmul_fn *few;
} numbers[DTYPE_COUNT] = {
    [DTYPE_F16] = { AMX_MIN_TOK_F16, &amx_f16, OPERANDS_TWO, avx512_packed_gemm_f16_two_ports },
    [DTYPE_F32] = { AMX_MIN_TOK_F32, &amx_f32, OPERANDS_THREE, avx512_packed_gemm_f32 },
    [DTYPE_BF16] = { AMX_MIN_TOK_BF16, NULL, OPERANDS_PACKED, bf16_packed_gemm },
};

static bool fits(const struct acts *x, size_t min_tok)
{
    return x->n_tok >= min_tok && x->cols % TILE_K == 0;
}
void amx_gemm_numbers(const struct matmul_args *a, size_t row0, size_t row1)
{
    const struct number *n = &numbers[a->type];
    if (fits(a->x, n->min_tok))
        amx_gemm(a, row0, row1, n->format);
    else
        n->few(a, row0, row1);
}
void amx_pack_acts_numbers(struct acts *x, enum dtype type, unsigned part, unsigned parts)
{
    if (fits(x, numbers[type].min_tok))
        pack_acts(x, &tilings[numbers[type].operands], part, parts);
}
