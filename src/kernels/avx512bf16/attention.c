/*
 * avx512bf16/attention.c: attention of prompts rounded to BF16 (rounded.h), two products a lane by vdpbf16ps. Else avx512/attention.c.
 */
#include "kernels/avx512/avx512.h"
#include "kernels/avx512bf16/bf16.h"
#include "kernels/avx512bf16/rounded.h"

/* acc[i] = q . k for n rows and keys [j, j + vecs * VL). */
INLINE void rounded_sums(const struct rounded *r, const uint16_t *const *q, const size_t n, size_t j, const size_t vecs,
                         vf acc[ATT_ROWS][ATT_VECS])
{
    const size_t dim = r->s.dim;
#pragma GCC unroll 6
    for (size_t i = 0; i < n; i++)
#pragma GCC unroll 4
        for (size_t c = 0; c < vecs; c++)
            acc[i][c] = vf_set1(0);
    const uint32_t *k = r->kt + j;
    for (size_t d = 0; d < dim; d += PAIR, k += KV_TILE) {
        vi kv[ATT_VECS];
#pragma GCC unroll 4
        for (size_t c = 0; c < vecs; c++)
            kv[c] = _mm512_loadu_si512(k + c * VL);
#pragma GCC unroll 6
        for (size_t i = 0; i < n; i++) {
            const vi x = pair_at(q[i] + d);
#pragma GCC unroll 4
            for (size_t c = 0; c < vecs; c++)
                acc[i][c] = pair_madd(acc[i][c], x, kv[c]);
        }
    }
}

INLINE void store_sums(const struct rounded *r, const size_t n, size_t j, const size_t vecs, vf acc[ATT_ROWS][ATT_VECS])
{
#pragma GCC unroll 6
    for (size_t i = 0; i < n; i++)
#pragma GCC unroll 4
        for (size_t c = 0; c < vecs; c++)
            vf_store(r->s.p + i * KV_TILE + j + c * VL, acc[i][c]);
}

/* p[i] = q . k for n rows and keys [j, j + vecs * VL). */
INLINE void rounded_scores(const struct rounded *r, const uint16_t *const *q, const size_t n, size_t j, const size_t vecs)
{
    vf acc[ATT_ROWS][ATT_VECS];
    rounded_sums(r, q, n, j, vecs, acc);
    store_sums(r, n, j, vecs, acc);
}

/* The same from the beginning, for a whole tile that all n rows see all of: scores stay in registers. */
INLINE void rounded_whole(const struct rounded *r, const uint16_t *const *q, size_t row, const size_t n, struct work *w)
{
    const struct att *s = &r->s;
    vf acc[ATT_ROWS][ATT_VECS];
    vm above = 0;
    rounded_sums(r, q, n, 0, ATT_VECS, acc);
    w->flop += 2 * (uint64_t)(s->dim + s->dim_v) * n * KV_TILE;
#pragma GCC unroll 6
    for (size_t i = 0; i < n; i++) {
        const vf top = vf_max(vf_max(acc[i][0], acc[i][1]), vf_max(acc[i][2], acc[i][3]));
        above |= _mm512_cmp_ps_mask(top, vf_set1(s->max[row + i] + s->lazy), _CMP_GT_OQ);
    }
    if (above) {
        store_sums(r, n, 0, ATT_VECS, acc);
        raise_rows(s, row, n, s->p, 0, KV_TILE);
#pragma GCC unroll 6
        for (size_t i = 0; i < n; i++)
#pragma GCC unroll 4
            for (size_t c = 0; c < ATT_VECS; c++)
                acc[i][c] = vf_load(s->p + i * KV_TILE + c * VL);
    }
#pragma GCC unroll 6
    for (size_t i = 0; i < n; i++) {
        const vf scale = vf_set1(s->scale), shift = vf_set1(s->max[row + i] * s->scale);
        uint16_t *weight = r->w + i * KV_TILE;
        vf sum = vf_load(s->sum + (row + i) * VL);
        rounded_weights(acc[i][0], acc[i][1], scale, shift, weight, &sum);
        rounded_weights(acc[i][2], acc[i][3], scale, shift, weight + STEP, &sum);
        vf_store(s->sum + (row + i) * VL, sum);
    }
}

/* out[i] += p[i] . v for n rows, keys of the span, dims [d, d + vecs * VL); one vector may end before. */
INLINE void rounded_output(const struct rounded *r, float *const *rows, const size_t n, struct span keys, size_t d,
                           const size_t vecs)
{
    const bool whole = vecs > 1;
    vf acc[ATT_ROWS][ATT_VECS];
    const size_t stride = r->s.v_stride, left = r->s.dim_v - d;
#pragma GCC unroll 6
    for (size_t i = 0; i < n; i++)
#pragma GCC unroll 4
        for (size_t c = 0; c < vecs; c++)
            acc[i][c] = whole ? vf_load(rows[i] + d + c * VL) : vf_load_m(vm_first(left - c * VL), rows[i] + d + c * VL);
    const uint32_t *v = r->v + keys.from / PAIR * stride + d;
    const uint16_t *w = r->w;
    for (size_t j = keys.from / PAIR * PAIR; j < keys.to; j += PAIR, v += stride) {
        vi x[ATT_VECS];
#pragma GCC unroll 4
        for (size_t c = 0; c < vecs; c++)
            x[c] = _mm512_loadu_si512(v + c * VL);
#pragma GCC unroll 6
        for (size_t i = 0; i < n; i++) {
            const vi weight = pair_at(w + i * KV_TILE + j);
#pragma GCC unroll 4
            for (size_t c = 0; c < vecs; c++)
                acc[i][c] = pair_madd(acc[i][c], weight, x[c]);
        }
    }
#pragma GCC unroll 6
    for (size_t i = 0; i < n; i++)
#pragma GCC unroll 4
        for (size_t c = 0; c < vecs; c++)
            if (whole)
                vf_store(rows[i] + d + c * VL, acc[i][c]);
            else
                vf_store_m(rows[i] + d + c * VL, vm_first(left - c * VL), acc[i][c]);
}

/* n rows against the tile; n is a constant of each caller. Works on a copy of *call, so that stores do not force its fields out of
 * registers. */
INLINE void rounded_rows(const struct rounded *call, size_t row, const size_t n, struct work *w)
{
    const struct rounded r = *call;
    const struct span first = row_span(&r, row), last = row_span(&r, row + n - 1), keys = { first.from, last.to };
    const uint16_t *q[ATT_ROWS];
    float *out[ATT_ROWS];
#pragma GCC unroll 6
    for (size_t i = 0; i < n; i++) {
        q[i] = r.q + (row + i) * r.q_stride;
        out[i] = r.out[row + i];
        for (size_t d = 0; d < r.s.dim_v; d += VL) /* from the L2 cache */
            __builtin_prefetch(out[i] + d, 1, 3);
    }
    if (first.to == KV_TILE && last.from == 0 && r.s.a->softcap == 0)
        rounded_whole(&r, q, row, n, w);
    else {
        size_t j = keys.from / VL * VL;
        for (; j + (ATT_VECS - 1) * VL < keys.to; j += ATT_VECS * VL)
            rounded_scores(&r, q, n, j, ATT_VECS);
        for (; j + VL < keys.to; j += 2 * VL)
            rounded_scores(&r, q, n, j, 2);
        if (j < keys.to)
            rounded_scores(&r, q, n, j, 1);
        rounded_softmax(&r, row, n, keys, w);
    }
    size_t d = 0;
    for (; d + ATT_VECS * VL <= r.s.dim_v; d += ATT_VECS * VL)
        rounded_output(&r, out, n, keys, d, ATT_VECS);
    for (; d < r.s.dim_v; d += VL)
        rounded_output(&r, out, n, keys, d, 1);
}

static void rounded_rows_full(const struct rounded *r, size_t row, struct work *w)
{
    rounded_rows(r, row, ATT_ROWS, w);
}
static void rounded_rows_two(const struct rounded *r, size_t row, struct work *w)
{
    rounded_rows(r, row, 2, w);
}
static void rounded_rows_one(const struct rounded *r, size_t row, struct work *w)
{
    rounded_rows(r, row, 1, w);
}

/* The tile against all rows that see one of its keys. */
static void rounded_tile(const struct rounded *r, const struct tile_type *k_type, const struct tile_type *v_type, uint32_t tok1,
                         struct work *w)
{
    const struct att *s = &r->s;
    struct kv_tile x = { .dim = s->dim, .straight = s->v, .stride = s->v_stride };
    kv_tile_rows(&x, &s->a->k, s->kv_head, s->j0, s->j1 - s->j0);
    k_type->keys(&x, r->kt);
    x.dim = s->dim_v;
    kv_tile_rows(&x, &s->a->v, s->kv_head, s->j0, s->j1 - s->j0);
    v_type->values(&x, r->v);
    const struct row_range rows = att_rows_of_tile(s, tok1);
    struct att_ahead ahead = att_ahead(s, rows);
    size_t row = rows.from;
    for (; row + ATT_ROWS <= rows.to; row += ATT_ROWS) {
        rounded_rows_full(r, row, w);
        att_ask(s, &ahead);
    }
    for (; row + 2 <= rows.to; row += 2)
        rounded_rows_two(r, row, w);
    for (; row < rows.to; row++)
        rounded_rows_one(r, row, w);
    att_ask(s, &ahead);
}

static void prompt(const struct attention_args *a, uint32_t head0, uint32_t head1, uint32_t tok0, uint32_t tok1, bool count_kv, struct work *w)
{
    struct rounded r = rounded_init(a, head0, head1, tok0, tok1);
    struct att *s = &r.s;
    const size_t rows = (size_t)s->group * (tok1 - tok0);
    const struct tile_type k_type = tile_type_find(a->k.type), v_type = tile_type_find(a->v.type);
    const struct key_range keys = attention_keys(a, tok0, tok1);
    att_start(s, rows);
    s->end = keys.end;
    for (s->j0 = keys.first; s->j0 < keys.end; s->j0 = s->j1) {
        s->j1 = att_tile_end(s);
        if (count_kv)
            att_count(s, &keys, w);
        rounded_tile(&r, &k_type, &v_type, tok1, w);
    }
    att_finish(s, rows);
}

void bf16_attention(const struct attention_args *a, uint32_t head0, uint32_t head1, uint32_t tok0, uint32_t tok1, bool count_kv,
                    struct work *w)
{
    attention_fn *const fn = a->rounded && tok1 - tok0 > 1 ? prompt : avx512_attention;
    fn(a, head0, head1, tok0, tok1, count_kv, w);
}

void bf16_attention_once(const struct attention_args *a, uint32_t head0, uint32_t head1, uint32_t tok0, uint32_t tok1, bool count_kv,
                         struct work *w)
{
    attention_fn *const fn = a->rounded && tok1 - tok0 > 1 ? prompt : avx512_attention_once;
    fn(a, head0, head1, tok0, tok1, count_kv, w);
}
