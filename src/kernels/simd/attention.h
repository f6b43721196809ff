/*
 * kernels/simd/attention.h: causal attention with a streaming softmax, over the vector
 * names of an ISA's simd header. Static inline only. methods.md (7), (39)
 *
 * A tile of KV_TILE keys is converted to f32 once (K transposed, so that lanes are keys)
 * and used by every token and head of the call: two small products with the softmax between
 * them. A row is one head of one token; its running maximum and sum live in scratch, its
 * unnormalized output in out.
 */
#ifndef KERNELS_SIMD_ATTENTION_H
#define KERNELS_SIMD_ATTENTION_H

#include "kernels/simd/kv_tile.h"
#include "kernels/simd/vector.h"

struct att {
    const struct attention_args *a;
    uint32_t head0, group, tok0;
    size_t dim, dim_v;
    size_t v_stride;  /* the larger of both, padded to a multiple of VL */
    float *kt;        /* [dim][KV_TILE] */
    float *v;         /* [KV_TILE][v_stride] */
    float *p;         /* [ATT_ROWS][KV_TILE] scores, then weights */
    float *max, *sum; /* [rows] */
    float scale;      /* of the scores in p; 1 where a cap has it in already */
    uint32_t j0, j1;  /* keys of the tile */
};

INLINE const float *att_q(const struct att *s, size_t row)
{
    return s->a->q + (s->tok0 + row / s->group) * s->a->q_stride +
           (s->head0 + row % s->group) * s->a->q_head_stride;
}

INLINE float *att_out(const struct att *s, size_t row)
{
    return s->a->out + (s->tok0 + row / s->group) * s->a->out_stride +
           (s->head0 + row % s->group) * s->dim_v;
}

/* p[i] = q . k for n rows and all keys of the tile. */
INLINE void att_scores(const struct att *s, size_t row, const size_t n)
{
    const float *q[ATT_ROWS];
#pragma GCC unroll 6
    for (size_t i = 0; i < n; i++)
        q[i] = att_q(s, row + i);
    for (size_t j = 0; j < KV_TILE; j += ATT_VECS * VL) {
        vf acc[ATT_ROWS][ATT_VECS];
#pragma GCC unroll 6
        for (size_t i = 0; i < n; i++)
#pragma GCC unroll 4
            for (size_t c = 0; c < ATT_VECS; c++)
                acc[i][c] = vf_set1(0);
        for (size_t d = 0; d < s->dim; d++) {
            const float *k = s->kt + d * KV_TILE + j;
            vf kv[ATT_VECS];
#pragma GCC unroll 4
            for (size_t c = 0; c < ATT_VECS; c++)
                kv[c] = vf_load(k + c * VL);
#pragma GCC unroll 6
            for (size_t i = 0; i < n; i++) {
                vf x = vf_set1(q[i][d]);
#pragma GCC unroll 4
                for (size_t c = 0; c < ATT_VECS; c++)
                    acc[i][c] = vf_fma(x, kv[c], acc[i][c]);
            }
        }
#pragma GCC unroll 6
        for (size_t i = 0; i < n; i++)
#pragma GCC unroll 4
            for (size_t c = 0; c < ATT_VECS; c++)
                vf_store(s->p + i * KV_TILE + j + c * VL, acc[i][c]);
    }
}

/* n scores become cap * tanh(score * scale / cap). methods.md (39) */
static void att_softcap(float *p, size_t n, float scale, float cap)
{
    const vf inner = vf_set1(scale / cap), outer = vf_set1(cap);
    for (size_t j = 0; j < n; j += VL)
        vf_store(p + j, vf_mul(outer, vf_tanh(vf_mul(vf_load(p + j), inner))));
}

/*
 * Scores of a row become weights relative to its new maximum; returns what the output so
 * far must be multiplied by. Adds the row's work: from the keys it walks here.
 */
INLINE float att_softmax(const struct att *s, size_t row, float *p, struct work *w)
{
    const struct attention_args *a = s->a;
    uint32_t pos = a->n_past + s->tok0 + (uint32_t)(row / s->group);
    uint32_t first = window_first(pos, a->window);
    size_t from = first > s->j0 ? first - s->j0 : 0;
    size_t to = pos + 1 < s->j1 ? pos + 1 - s->j0 : s->j1 - s->j0;
    const vf none = vf_set1(-INFINITY), scale = vf_set1(s->scale);
    vf top = none;
    for (size_t j = 0; j < KV_TILE; j += VL) {
        vm m = vm_range(from > j ? from - j : 0, to > j ? to - j : 0);
        vf x = vf_select(m, vf_mul(vf_load(p + j), scale), none);
        vf_store(p + j, x);
        top = vf_max(top, x);
    }
    float old = s->max[row], max = vf_largest(top);
    if (!(max > old)) /* also when the row sees no key of this tile */
        max = old;
    vf sum = vf_set1(0), shift = vf_set1(max);
    for (size_t j = 0; j < KV_TILE; j += VL) {
        vm m = vm_range(from > j ? from - j : 0, to > j ? to - j : 0);
        vf e = vf_select(m, vf_exp(vf_sub(vf_load(p + j), shift)), vf_set1(0));
        vf_store(p + j, e);
        sum = vf_add(sum, e);
    }
    float fix = old == max ? 1.0f : expf(old - max);
    s->max[row] = max;
    s->sum[row] = s->sum[row] * fix + vf_sum(sum);
    w->flop += 2 * (uint64_t)(s->dim + s->dim_v) * (to > from ? to - from : 0);
    return fix;
}

/* out[i] = out[i] * fix[i] + p[i] . v for n rows, dims [d, d + vecs * VL). */
INLINE void att_output(const struct att *s, size_t row, const size_t n, size_t d,
                       const size_t vecs, const float *fix)
{
    vf acc[ATT_ROWS][ATT_VECS];
#pragma GCC unroll 6
    for (size_t i = 0; i < n; i++)
#pragma GCC unroll 4
        for (size_t c = 0; c < vecs; c++) {
            vm m = vm_first(s->dim_v - d - c * VL);
            acc[i][c] =
                vf_mul(vf_load_m(m, att_out(s, row + i) + d + c * VL), vf_set1(fix[i]));
        }
    const size_t keys = s->j1 - s->j0;
    for (size_t j = 0; j < keys; j++) {
        const float *v = s->v + j * s->v_stride + d;
        vf x[ATT_VECS];
#pragma GCC unroll 4
        for (size_t c = 0; c < vecs; c++)
            x[c] = vf_load(v + c * VL);
#pragma GCC unroll 6
        for (size_t i = 0; i < n; i++) {
            vf p = vf_set1(s->p[i * KV_TILE + j]);
#pragma GCC unroll 4
            for (size_t c = 0; c < vecs; c++)
                acc[i][c] = vf_fma(p, x[c], acc[i][c]);
        }
    }
#pragma GCC unroll 6
    for (size_t i = 0; i < n; i++)
#pragma GCC unroll 4
        for (size_t c = 0; c < vecs; c++)
            vf_store_m(att_out(s, row + i) + d + c * VL, vm_first(s->dim_v - d - c * VL),
                       acc[i][c]);
}

/* n rows against the tile; n is a constant of each caller. Works on a copy of *call, whose
 * fields can stay in registers whatever is stored. */
INLINE void att_rows(const struct att *call, size_t row, const size_t n, struct work *w)
{
    const struct att s = *call;
    float fix[ATT_ROWS];
    att_scores(&s, row, n);
    if (s.a->softcap != 0)
        att_softcap(s.p, n * KV_TILE, s.a->scale, s.a->softcap);
    for (size_t i = 0; i < n; i++)
        fix[i] = att_softmax(&s, row + i, s.p + i * KV_TILE, w);
    size_t d = 0;
    for (; d + (ATT_VECS - 1) * VL < s.dim_v; d += ATT_VECS * VL)
        att_output(&s, row, n, d, ATT_VECS, fix);
    for (; d < s.dim_v; d += VL)
        att_output(&s, row, n, d, 1, fix);
}

static void att_rows_full(const struct att *s, size_t row, struct work *w)
{
    att_rows(s, row, ATT_ROWS, w);
}
static void att_rows_two(const struct att *s, size_t row, struct work *w)
{
    att_rows(s, row, 2, w);
}
static void att_rows_one(const struct att *s, size_t row, struct work *w)
{
    att_rows(s, row, 1, w);
}

static void att_walk_rows(const struct att *s, size_t row, size_t end, struct work *w)
{
    for (; row + ATT_ROWS <= end; row += ATT_ROWS)
        att_rows_full(s, row, w);
    for (; row + 2 <= end; row += 2)
        att_rows_two(s, row, w);
    for (; row < end; row++)
        att_rows_one(s, row, w);
}

/* A sink is a key whose value is zero. */
static void att_start(const struct att *s, size_t rows)
{
    const float *sinks = s->a->sinks;
    for (size_t r = 0; r < rows; r++) {
        s->max[r] = sinks ? sinks[s->head0 + r % s->group] : -INFINITY;
        s->sum[r] = sinks ? 1 : 0;
        memset(att_out(s, r), 0, s->dim_v * sizeof(float));
    }
}

static void att_finish(const struct att *s, size_t rows)
{
    for (size_t r = 0; r < rows; r++) {
        float *out = att_out(s, r);
        vf scale = vf_set1(1.0f / s->sum[r]);
        for (size_t d = 0; d < s->dim_v; d += VL) {
            vm m = vm_first(s->dim_v - d);
            vf_store_m(out + d, m, vf_mul(vf_load_m(m, out + d), scale));
        }
    }
}

/* The work of a call: scratch cut up (kernels_attention_scratch_bytes). */
static struct att att_init(const struct attention_args *a, uint32_t head0, uint32_t head1,
                           uint32_t tok0, uint32_t tok1)
{
    struct att s = { .a = a, .head0 = head0, .group = head1 - head0, .tok0 = tok0 };
    s.dim = a->head_dim;
    s.dim_v = a->head_dim_v;
    s.scale = a->softcap != 0 ? 1 : a->scale;
    s.v_stride = size_align_up(s.dim > s.dim_v ? s.dim : s.dim_v, VL);
    s.kt = a->scratch;
    s.v = s.kt + s.v_stride * KV_TILE;
    s.p = s.v + s.v_stride * KV_TILE;
    s.max = s.p + ATT_ROWS * KV_TILE;
    s.sum = s.max + (size_t)s.group * (tok1 - tok0);
    return s;
}

/* A tile ends where a ring does, so that its rows lie one after the other. */
INLINE uint32_t att_tile_end(const struct attention_args *a, uint32_t j0, uint32_t end)
{
    uint32_t run = kv_run(&a->k, j0), run_v = kv_run(&a->v, j0), n = end - j0;
    n = n < KV_TILE ? n : KV_TILE;
    n = n < run ? n : run;
    return j0 + (n < run_v ? n : run_v);
}

static void simd_attention(const struct attention_args *a, uint32_t head0, uint32_t head1,
                           uint32_t tok0, uint32_t tok1, bool count_kv, struct work *w)
{
    struct att s = att_init(a, head0, head1, tok0, tok1);
    const size_t rows = (size_t)s.group * (tok1 - tok0);
    const struct kv_type k_type = kv_type_find(a->k.type), v_type = kv_type_find(a->v.type);
    struct kv_tile k = { .rows = &a->k,
                         .head = head0 / (a->n_head / a->n_head_kv),
                         .dim = s.dim,
                         .straight = s.v,
                         .stride = s.v_stride,
                         .turned = s.kt };
    struct kv_tile v = k;
    v.rows = &a->v;
    v.dim = s.dim_v;
    att_start(&s, rows);
    const uint32_t end = a->n_past + tok1; /* keys of the last token */
    for (s.j0 = window_first(a->n_past + tok0, a->window); s.j0 < end; s.j0 = s.j1) {
        s.j1 = att_tile_end(a, s.j0, end);
        k.first = v.first = s.j0;
        k.n = v.n = s.j1 - s.j0;
        k_type.keys(&k); /* may use straight: values come after */
        v_type.values(&v);
        if (count_kv)
            w->kv_bytes += (uint64_t)k.n * kv_position_bytes(a);
        /* tokens that see a key of the tile: the last key from below, the first from above
         */
        uint32_t t0 = s.j0 > a->n_past + tok0 ? s.j0 - a->n_past : tok0, t1 = tok1;
        while (t1 > t0 && window_first(a->n_past + t1 - 1, a->window) >= s.j1)
            t1--;
        att_walk_rows(&s, (size_t)(t0 - tok0) * s.group, (size_t)(t1 - tok0) * s.group, w);
    }
    att_finish(&s, rows);
}

#endif
