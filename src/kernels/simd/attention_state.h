/*
 * kernels/simd/attention_state.h: state of a call of attention, whatever its products are
 * made of: rows, the keys they see, the streaming softmax's maxima and sums. Over the vector names of an
 * ISA's simd header. Static inline only. methods.md (11), (12)
 *
 * A row is one head of one token. Its maximum and sum live in scratch, its unnormalized
 * output in out.
 */
#ifndef KERNELS_SIMD_ATTENTION_STATE_H
#define KERNELS_SIMD_ATTENTION_STATE_H

#include "kernels/simd/kv_tile.h"
#include "kernels/simd/vector.h"

struct att {
    const struct attention_args *a;
    uint32_t head0, group, tok0, kv_head;
    size_t dim, dim_v;
    size_t k_bytes, v_bytes; /* of a head at a position */
    size_t v_stride;         /* the larger of both, padded to a multiple of VL */
    float *kt;               /* [dim][KV_TILE] */
    float *v;                /* [KV_TILE][v_stride] */
    float *p;                /* [ATT_ROWS][KV_TILE] scores, then weights */
    float *max, *sum;        /* [rows], [rows][VL]: sums of lanes */
    float scale;             /* a score times this is an exponent of 2 */
    float lazy;              /* scores may exceed the maximum they are relative to by this */
    uint32_t j0, j1;         /* keys of the tile */
    uint32_t end;            /* of the call's keys */
};

/* Keys of the tile that a block of rows sees, from its first key: each row a part of them. */
struct span {
    size_t from, to;
};

INLINE uint32_t att_pos(const struct att *s, size_t row)
{
    return s->a->n_past + s->tok0 + (uint32_t)(row / s->group);
}

/* Rows [row, row + n) see a key of the tile. */
INLINE struct span att_span(const struct att *s, size_t row, size_t n)
{
    uint32_t first = window_first(att_pos(s, row), s->a->window);
    uint32_t end = att_pos(s, row + n - 1) + 1;
    return (struct span){ first > s->j0 ? first - s->j0 : 0, (end < s->j1 ? end : s->j1) - s->j0 };
}

INLINE const float *att_q(const struct att *s, size_t row)
{
    return s->a->q + (s->tok0 + row / s->group) * s->a->q_stride + (s->head0 + row % s->group) * s->a->q_head_stride;
}

INLINE float *att_out(const struct att *s, size_t row)
{
    return s->a->out + (s->tok0 + row / s->group) * s->a->out_stride + (s->head0 + row % s->group) * s->dim_v;
}

/* ---- softmax ---------------------------------------------------------------------------- */

/* Scores become cap * tanh(score * scale / cap). methods.md (12) */
static void att_softcap(float *p, struct span keys, float scale, float cap)
{
    const vf inner = vf_set1(scale / cap), outer = vf_set1(cap);
    for (size_t j = keys.from / VL * VL; j < keys.to; j += VL)
        vf_store(p + j, vf_mul(outer, vf_tanh(vf_mul(vf_load(p + j), inner))));
}

/* Scores of keys that the row does not see are -infinity from here on. */
INLINE void att_mask(float *p, struct span block, struct span own)
{
    for (size_t j = block.from / VL * VL; j < block.to; j += VL) {
        vm m = vm_range(own.from > j ? own.from - j : 0, own.to > j ? own.to - j : 0);
        vf_store(p + j, vf_select(m, vf_load(p + j), vf_set1(-INFINITY)));
    }
}

/* Raises the row's maximum to the largest of these scores and scales its sums down. */
static void att_raise(const struct att *s, size_t row, vf top)
{
    float old = s->max[row], max = vf_largest(top);
    float *sum = s->sum + row * VL, *out = att_out(s, row);
    vf fix = vf_set1(exp2f((old - max) * s->scale));
    s->max[row] = max;
    vf_store(sum, vf_mul(vf_load(sum), fix));
    for (size_t d = 0; d < s->dim_v; d += VL) {
        vm m = vm_first(s->dim_v - d);
        vf_store_m(out + d, m, vf_mul(vf_load_m(m, out + d), fix));
    }
}

/* ---- a call ----------------------------------------------------------------------------- */

#define ATT_LOWEST (-1e30f) /* below any score */

/* A sink is a key whose value is zero. Without one a row starts below any score. */
static void att_start(const struct att *s, size_t rows)
{
    const struct attention_args *a = s->a;
    for (size_t r = 0; r < rows; r++) {
        float sink = ATT_LOWEST;
        if (a->sinks)
            sink = a->sinks[s->head0 + r % s->group] / (a->softcap != 0 ? 1 : a->scale);
        const bool counts = sink > ATT_LOWEST;
        s->max[r] = counts ? sink : ATT_LOWEST;
        memset(s->sum + r * VL, 0, VL * sizeof *s->sum);
        s->sum[r * VL] = counts ? 1 : 0;
        memset(att_out(s, r), 0, s->dim_v * sizeof(float));
    }
}

static void att_finish(const struct att *s, size_t rows)
{
    const struct attention_args *a = s->a;
    for (size_t r = 0; r < rows; r++) {
        float *out = att_out(s, r), sum = vf_sum(vf_load(s->sum + r * VL));
        if (a->part) {
            float *part = a->part + 2 * (s->head0 + r);
            part[0] = s->max[r] * (a->softcap != 0 ? 1 : a->scale);
            part[1] = sum;
            continue;
        }
        vf scale = vf_set1(1.0f / sum);
        for (size_t d = 0; d < s->dim_v; d += VL) {
            vm m = vm_first(s->dim_v - d);
            vf_store_m(out + d, m, vf_mul(vf_load_m(m, out + d), scale));
        }
    }
}

/* The work of a call: scratch cut up (kernels_attention_scratch_bytes). */
static struct att att_init(const struct attention_args *a, uint32_t head0, uint32_t head1, uint32_t tok0, uint32_t tok1)
{
    const double log2_e = 1.4426950408889634, most = 16; /* weights up to 2^16 */
    struct att s = { .a = a, .head0 = head0, .group = head1 - head0, .tok0 = tok0 };
    const size_t rows = (size_t)s.group * (tok1 - tok0);
    s.kv_head = head0 / (a->n_head / a->n_head_kv);
    s.dim = a->head_dim;
    s.dim_v = a->head_dim_v;
    s.k_bytes = dtype_row_bytes(a->k.type, s.dim);
    s.v_bytes = dtype_row_bytes(a->v.type, s.dim_v);
    s.scale = (float)(log2_e * (a->softcap != 0 ? 1 : (double)a->scale));
    s.lazy = (float)most / s.scale;
    s.v_stride = size_align_up(s.dim > s.dim_v ? s.dim : s.dim_v, VL);
    s.kt = a->scratch;
    s.v = s.kt + s.v_stride * KV_TILE;
    s.p = s.v + s.v_stride * KV_TILE;
    s.sum = s.p + ATT_ROWS * KV_TILE;
    s.max = s.sum + rows * VL;
    return s;
}

INLINE uint32_t att_tile_end(const struct att *s)
{
    return s->end - s->j0 < KV_TILE ? s->end : s->j0 + KV_TILE;
}

/* The bytes of the tile's keys and values. */
INLINE void att_count(const struct att *s, const struct key_range *keys, struct work *w)
{
    if (s->j0 < keys->counted)
        w->kv_bytes += ((s->j1 < keys->counted ? s->j1 : keys->counted) - s->j0) * kv_position_bytes(s->a);
}

/* Rows of the call, whose last token comes before tok1, that see one of the tile's keys: the last token's from below, the
 * first's from above. */
struct row_range {
    size_t from, to;
};

INLINE struct row_range att_rows_of_tile(const struct att *s, uint32_t tok1)
{
    const struct attention_args *a = s->a;
    uint32_t t0 = s->j0 > a->n_past + s->tok0 ? s->j0 - a->n_past : s->tok0, t1 = tok1;
    while (t1 > t0 && window_first(a->n_past + t1 - 1, a->window) >= s->j1)
        t1--;
    return (struct row_range){ (size_t)(t0 - s->tok0) * s->group, (size_t)(t1 - s->tok0) * s->group };
}

/* Prefetch of the keys and values of the next tile, some after each block of rows: where a prompt follows many keys, its
 * calls read them from there. */
struct att_ahead {
    uint32_t from, to; /* positions */
    uint32_t step;
};

INLINE struct att_ahead att_ahead(const struct att *s, struct row_range rows)
{
    const uint32_t n = s->end - s->j1 < KV_TILE ? s->end - s->j1 : KV_TILE, blocks = (uint32_t)((rows.to - rows.from) / ATT_ROWS) + 1;
    return (struct att_ahead){ s->j1, s->j1 + n, (n + blocks - 1) / blocks };
}

INLINE void att_ask(const struct att *s, struct att_ahead *x)
{
    for (uint32_t i = 0; i < x->step && x->from < x->to; i++, x->from++) {
        const unsigned char *k = kv_at(&s->a->k, s->kv_head, x->from), *v = kv_at(&s->a->v, s->kv_head, x->from);
        for (size_t b = 0; b < s->k_bytes; b += 64)
            __builtin_prefetch(k + b, 0, 2);
        for (size_t b = 0; b < s->v_bytes; b += 64)
            __builtin_prefetch(v + b, 0, 2);
    }
}

#endif
