/*
 * kernels/simd/attention_few.h: a few rows (the heads of one token that share keys) against
 * keys and values as they are stored: decode, which memory should limit. Static inline only.
 *
 * Every vector of K or V is converted in registers once for up to FEW rows. Lanes are dims:
 * the VL sums of lanes of a block of keys and rows become one vector of scores.
 */
#ifndef KERNELS_SIMD_ATTENTION_FEW_H
#define KERNELS_SIMD_ATTENTION_FEW_H

#include "kernels/simd/attention_tile.h"

enum {
    FEW = 4,       /* rows at once */
    FEW_ROWS = 8,  /* rows up to which this is faster than tiles */
    FEW_DIMS = 64, /* elements a step */
    FEW_FAR = 64,  /* positions ahead, */
    FEW_NEAR = 16, /* and again */
    CACHE_LINE = 64,
};

/* How rows are read and prefetched. ONCE: for CPU_SW_PREFETCH. */
enum few_order { FEW_SEQUENCE, FEW_SEQUENCE_ONCE, FEW_PAGED, FEW_PAGED_ONCE, FEW_ORDERS };

/* A type as it is read here; a constant of each caller. */
struct few_type {
    kv_load *load;
    size_t step_bytes; /* of FEW_DIMS elements */
    bool near;         /* contiguous: also prefetch from L2 into L1: arithmetic does not hide L2 latency */
    enum few_order order;
};

INLINE bool few_paged(const struct few_type t)
{
    return t.order == FEW_PAGED || t.order == FEW_PAGED_ONCE;
}

/* Rows of the tile that follow each other, and the bytes from a row to the ones FEW_FAR and FEW_NEAR positions on. */
struct few_piece {
    const unsigned char *row;
    size_t n;
    ptrdiff_t far, near;
};
/* Keys or values of a tile. */
struct few_rows {
    size_t n;
    struct few_piece piece[KV_TILE / 8 + 1]; /* blocks have 8 rows at least */
};

/* From position pos on. Paged: n is a multiple or part of FEW_NEAR, and few_link() sets far and near. */
INLINE struct few_piece few_piece(const struct att *s, const struct kv_rows *r, uint32_t pos)
{
    const ptrdiff_t row_bytes = (ptrdiff_t)r->row_bytes;
    struct few_piece x = { kv_at(r, s->kv_head, pos), kv_run(r, pos), FEW_FAR * row_bytes, FEW_NEAR * row_bytes };
    if (r->table)
        x.n = x.n < FEW_NEAR - pos % FEW_NEAR ? x.n : FEW_NEAR - pos % FEW_NEAR;
    x.n = x.n < s->j1 - pos ? x.n : s->j1 - pos;
    return x;
}

static void few_rows_of(struct few_rows *x, const struct att *s, const struct kv_rows *r)
{
    x->n = 0;
    for (uint32_t pos = s->j0; pos < s->j1; pos += (uint32_t)x->piece[x->n++].n)
        x->piece[x->n] = few_piece(s, r, pos);
}

/* Pages: far ahead are the rows that are read next, and near the next piece. */
static void few_link(struct few_rows *x, const struct few_rows *next)
{
    for (size_t i = 0; i < x->n; i++) {
        const unsigned char *far = next->piece[i < next->n ? i : next->n - 1].row, *near = i + 1 < x->n ? x->piece[i + 1].row : next->piece[0].row;
        x->piece[i].far = far - x->piece[i].row;
        x->piece[i].near = near - x->piece[i].row;
    }
}

/*
 * Prefetches a step of a later row into L2. Prefetches into L1 occupy its few miss buffers for all of
 * memory's latency, some 10 GB/s of a core: Zen 4, one thread, memory at 30 GB/s, F16, 1 and 4 rows of 128: 9 and 10 GB/s
 * that way, 20 and 20 this way; Q8_0, a step from L2 into L1 as well: 8.0 and 8.4, 10.5 and 8.6.
 * Zen 5 (CPU_SW_PREFETCH) is faster with one prefetch, into L1: llama-3.2-1b at 32768 tokens, one thread, F16, 4 rows of 64, GB/s
 * behind BF16 weights and behind Q4_0: 27 and 32 by L2, 36 and 34 by L1, 34 and 33 by prefetchnta, 28 and 28 without prefetch.
 * Paged: the CPU's own prefetchers do not follow from block to block, and a prefetch of a page whose translation is missing may be lost: both. Zen 5,
 * one thread, blocks of 16, 64 MB of F16, 1 and 3 rows of 64, part of the contiguous cache's speed: 0.60 and 0.87 by L1 alone, 0.78 and 0.79 by L2 and
 * L1, 0.88 and 0.85 by L1 twice.
 */
INLINE void few_prefetch(const unsigned char *row, const struct few_piece *x, size_t d, const struct few_type t)
{
    const unsigned char *p = row + d / FEW_DIMS * t.step_bytes;
#pragma GCC unroll 4
    for (size_t b = 0; b + CACHE_LINE / 2 <= t.step_bytes; b += CACHE_LINE) {
        if (t.order == FEW_SEQUENCE_ONCE || t.order == FEW_PAGED_ONCE)
            __builtin_prefetch(p + x->far + b, 0, 3);
        else
            __builtin_prefetch(p + x->far + b, 0, 2);
        if (few_paged(t) || (t.near && t.order == FEW_SEQUENCE))
            __builtin_prefetch(p + x->near + b, 0, 3);
    }
    if (!few_paged(t) || t.step_bytes % CACHE_LINE == 0)
        return;
    /* Lines between steps, which no prefetcher of the CPU adds. */
    if (t.order == FEW_PAGED_ONCE)
        __builtin_prefetch(p + x->far + t.step_bytes - 1, 0, 3);
    else
        __builtin_prefetch(p + x->far + t.step_bytes - 1, 0, 2);
}

/* Lanes [d, d + VL) of n rows and some keys: acc[r * keys + i] += q[r] k[i]. */
INLINE void few_dims(vf *acc, const float *const *q, const size_t n, const unsigned char *const *key, const size_t keys, size_t d,
                     size_t left, kv_load *load)
{
    vf k[VL];
#pragma GCC unroll 16
    for (size_t i = 0; i < keys; i++)
        k[i] = load(key[i], d, left);
#pragma GCC unroll 4
    for (size_t r = 0; r < n; r++) {
        vf x = left >= VL ? vf_load(q[r] + d) : vf_load_m(vm_first(left), q[r] + d);
#pragma GCC unroll 16
        for (size_t i = 0; i < keys; i++)
            acc[r * keys + i] = vf_fma(x, k[i], acc[r * keys + i]);
    }
}

/* p[r][j] = q[r] . k[j] for n <= FEW rows and the n_key keys j of a piece; keys past its end repeat the last one. p: [n][KV_TILE] */
INLINE void few_scores_piece(const struct att *s, const float *const *q, float *p, const size_t n, const struct few_piece *x, const size_t n_key,
                             const struct few_type t)
{
    const size_t keys = n == 1 ? VL : n == 2 ? VL / 2 : VL / 4; /* n * keys <= VL */
    const size_t dim = s->dim, last = n_key - 1, row_bytes = s->a->k.row_bytes;
    const unsigned char *key[VL];
    for (size_t j = 0; j <= last; j += keys) {
        vf acc[VL];
#pragma GCC unroll 16
        for (size_t i = 0; i < VL; i++)
            acc[i] = vf_set1(0);
#pragma GCC unroll 16
        for (size_t i = 0; i < keys; i++)
            key[i] = x->row + (j + i < last ? j + i : last) * row_bytes;
        size_t d = 0;
        for (; d + FEW_DIMS <= dim; d += FEW_DIMS) {
#pragma GCC unroll 16
            for (size_t i = 0; i < keys; i++)
                few_prefetch(key[i], x, d, t);
#pragma GCC unroll 8
            for (size_t c = 0; c < FEW_DIMS; c += VL)
                few_dims(acc, q, n, key, keys, d + c, VL, t.load);
        }
        for (; d + VL <= dim; d += VL)
            few_dims(acc, q, n, key, keys, d, VL, t.load);
        if (d < dim)
            few_dims(acc, q, n, key, keys, d, dim - d, t.load);
        float sums[VL];
        vf_store(sums, vf_sums(acc));
#pragma GCC unroll 4
        for (size_t r = 0; r < n; r++)
            memcpy(p + r * KV_TILE + j, sums + r * keys, (j + keys <= n_key ? keys : n_key - j) * sizeof *sums);
    }
}

/* Of the tile. */
INLINE void few_scores(const struct att *s, const struct few_rows *k, size_t row, const size_t n, const struct few_type t)
{
    const float *q[FEW];
    float *p = s->p;
#pragma GCC unroll 4
    for (size_t r = 0; r < n; r++)
        q[r] = att_q(s, row + r);
    for (const struct few_piece *x = k->piece, *end = x + k->n; x < end; p += x++->n)
        if (few_paged(t) && x->n == FEW_NEAR)
            few_scores_piece(s, q, p, n, x, FEW_NEAR, t);
        else
            few_scores_piece(s, q, p, n, x, x->n, t);
}

/* acc[r] += p[r] . v of the n_key rows of a piece, as few_output_dims. */
INLINE void few_output_piece(vf acc[FEW][ATT_VECS], const float *p, size_t row_bytes, const size_t n, size_t d, const size_t vecs, size_t last,
                             const struct few_piece *x, const size_t n_key, const struct few_type t)
{
    const unsigned char *v = x->row;
    for (size_t j = 0; j < n_key; j++, v += row_bytes, p++) {
        vf value[ATT_VECS];
        if (vecs * VL >= FEW_DIMS)
            few_prefetch(v, x, d, t);
#pragma GCC unroll 4
        for (size_t c = 0; c < vecs; c++)
            value[c] = t.load(v, d + c * VL, c + 1 < vecs ? VL : last);
#pragma GCC unroll 4
        for (size_t r = 0; r < n; r++) {
            vf weight = vf_set1(p[r * KV_TILE]);
#pragma GCC unroll 4
            for (size_t c = 0; c < vecs; c++)
                acc[r][c] = vf_fma(weight, value[c], acc[r][c]);
        }
    }
}

/* out[r] += p[r] . v for n <= FEW rows, vecs vectors of dims from d on; the last of them has
 * `last` elements. */
INLINE void few_output_dims(const struct att *s, const struct few_rows *v, size_t row, const size_t n, size_t d, const size_t vecs, size_t last,
                            const struct few_type t)
{
    const size_t row_bytes = s->a->v.row_bytes;
    const vm m = vm_first(last);
    const float *p = s->p;
    vf acc[FEW][ATT_VECS];
#pragma GCC unroll 4
    for (size_t r = 0; r < n; r++)
#pragma GCC unroll 4
        for (size_t c = 0; c < vecs; c++)
            acc[r][c] = vf_set1(0);
    for (const struct few_piece *x = v->piece, *end = x + v->n; x < end; p += x++->n)
        if (few_paged(t) && x->n == FEW_NEAR)
            few_output_piece(acc, p, row_bytes, n, d, vecs, last, x, FEW_NEAR, t);
        else
            few_output_piece(acc, p, row_bytes, n, d, vecs, last, x, x->n, t);
#pragma GCC unroll 4
    for (size_t r = 0; r < n; r++) {
        float *out = att_out(s, row + r) + d;
#pragma GCC unroll 4
        for (size_t c = 0; c < vecs; c++, out += VL)
            if (c + 1 < vecs)
                vf_store(out, vf_add(vf_load(out), acc[r][c]));
            else
                vf_store_m(out, m, vf_add(vf_load_m(m, out), acc[r][c]));
    }
}

INLINE void few_output(const struct att *s, const struct few_rows *v, size_t row, const size_t n, const struct few_type t)
{
    size_t d = 0;
    for (; d + ATT_VECS * VL <= s->dim_v; d += ATT_VECS * VL)
        few_output_dims(s, v, row, n, d, ATT_VECS, VL, t);
    for (; d + VL <= s->dim_v; d += VL)
        few_output_dims(s, v, row, n, d, 1, VL, t);
    if (d < s->dim_v)
        few_output_dims(s, v, row, n, d, 1, s->dim_v - d, t);
}

/* Scores and outputs of n <= FEW rows over a type. */
typedef void few_fn(const struct att *s, const struct few_rows *rows, size_t row, size_t n);
#define FEW_TYPE(name, load, bytes, near)                                                                                        \
    FEW_KIND(few_scores_##name, few_output_##name, load, bytes, near, FEW_SEQUENCE)                                              \
    FEW_KIND(few_scores_##name##_once, few_output_##name##_once, load, bytes, near, FEW_SEQUENCE_ONCE)                           \
    FEW_KIND(few_scores_##name##_paged, few_output_##name##_paged, load, bytes, near, FEW_PAGED)                                 \
    FEW_KIND(few_scores_##name##_paged_once, few_output_##name##_paged_once, load, bytes, near, FEW_PAGED_ONCE)
#define FEW_KIND(scores, output, load, bytes, near, order)                                                                       \
    static void scores(const struct att *call, const struct few_rows *x, size_t row, size_t n)                                   \
    {                                                                                                                            \
        FEW_EACH(few_scores, load, bytes, near, order)                                                                           \
    }                                                                                                                            \
    static void output(const struct att *call, const struct few_rows *x, size_t row, size_t n)                                   \
    {                                                                                                                            \
        FEW_EACH(few_output, load, bytes, near, order)                                                                           \
    }
#define FEW_EACH(fn, load, bytes, near, order)                                                                                   \
    const struct att s = *call;                                                                                                  \
    const struct few_type t = { load, bytes, near, order };                                                                      \
    if (n == 1)                                                                                                                  \
        fn(&s, x, row, 1, t);                                                                                                    \
    else if (n == 2)                                                                                                             \
        fn(&s, x, row, 2, t);                                                                                                    \
    else if (n == 3)                                                                                                             \
        fn(&s, x, row, 3, t);                                                                                                    \
    else                                                                                                                         \
        fn(&s, x, row, 4, t);
FEW_TYPE(f32, kv_f32, 4 * FEW_DIMS, false)
FEW_TYPE(f16, kv_f16, 2 * FEW_DIMS, false)
FEW_TYPE(bf16, kv_bf16, 2 * FEW_DIMS, false)
FEW_TYPE(q8_0, kv_q8_0, Q8_0_BYTES * FEW_DIMS / 32, true)
FEW_TYPE(q4_0, kv_q4_0, Q4_0_BYTES * FEW_DIMS / 32, true)

#endif
