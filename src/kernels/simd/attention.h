/*
 * kernels/simd/attention.h: causal attention, over the vector names of an ISA's simd header
 * and a few of its attention.c: vf_fms(a, b, c) = a * b - c; vf_fraction(y) = y - floor(y);
 * vf_times2(x, y) = x * 2^floor(y); vf_any_above(a, b); vf_sums: of VL vectors, the sum of
 * each one's lanes. Static inline only. methods.md (7), (39)
 *
 * Keys come in tiles of KV_TILE. Many rows use a tile converted to f32 once, K transposed so
 * that lanes are keys (attention_tile.h); a few read K and V as they are stored
 * (attention_few.h).
 */
#ifndef KERNELS_SIMD_ATTENTION_H
#define KERNELS_SIMD_ATTENTION_H

#include "kernels/simd/attention_few.h"
#include "kernels/simd/attention_tile.h"

/* What a type brings; few: NULL where its tiles must do. */
struct kv_type {
    enum dtype type;
    void (*keys)(const struct kv_tile *t), (*values)(const struct kv_tile *t);
    few_fn *few_scores, *few_output;
};

static struct kv_type kv_type_find(enum dtype type)
{
    static const struct kv_type types[] = {
        {DTYPE_F32,   kv_keys_f32,  kv_values_f32,  few_scores_f32,  few_output_f32 },
        { DTYPE_F16,  kv_keys_f16,  kv_values_f16,  few_scores_f16,  few_output_f16 },
        { DTYPE_BF16, kv_keys_bf16, kv_values_bf16, few_scores_bf16, few_output_bf16},
        { DTYPE_Q8_0, kv_keys_q8_0, kv_values_q8_0, few_scores_q8_0, few_output_q8_0},
        { DTYPE_Q4_0, kv_keys_q4_0, kv_values_q4_0, few_scores_q4_0, few_output_q4_0},
    };
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (types[i].type == type)
            return types[i];
    return (struct kv_type){ .type = type, .keys = kv_keys_any, .values = kv_values_any };
}

/* A sink is a key whose value is zero. Without one a row starts below any score. */
static void att_start(const struct att *s, size_t rows)
{
    const struct attention_args *a = s->a;
    const float lowest = -1e30f;
    for (size_t r = 0; r < rows; r++) {
        float sink = lowest;
        if (a->sinks)
            sink = a->sinks[s->head0 + r % s->group] / (a->softcap != 0 ? 1 : a->scale);
        const bool counts = sink > lowest;
        s->max[r] = counts ? sink : lowest;
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
static struct att att_init(const struct attention_args *a, uint32_t head0, uint32_t head1,
                           uint32_t tok0, uint32_t tok1)
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

/* A tile ends where a ring does, so that its rows lie one after the other. */
INLINE uint32_t att_tile_end(const struct attention_args *a, uint32_t j0, uint32_t end)
{
    uint32_t run = kv_run(&a->k, j0), run_v = kv_run(&a->v, j0), n = end - j0;
    n = n < KV_TILE ? n : KV_TILE;
    n = n < run ? n : run;
    return j0 + (n < run_v ? n : run_v);
}

/* A tile as f32, against all rows that see one of its keys: the last token's from below, the
 * first's from above. */
static void att_many(const struct att *s, const struct kv_type *k_type,
                     const struct kv_type *v_type, uint32_t tok1, struct work *w)
{
    const struct attention_args *a = s->a;
    struct kv_tile k = { .rows = &a->k, .head = s->kv_head, .dim = s->dim };
    k.straight = s->v, k.stride = s->v_stride, k.turned = s->kt;
    k.first = s->j0, k.n = s->j1 - s->j0;
    struct kv_tile v = k;
    v.rows = &a->v, v.dim = s->dim_v;
    k_type->keys(&k); /* may use straight: values come after */
    v_type->values(&v);
    uint32_t t0 = s->j0 > a->n_past + s->tok0 ? s->j0 - a->n_past : s->tok0, t1 = tok1;
    while (t1 > t0 && window_first(a->n_past + t1 - 1, a->window) >= s->j1)
        t1--;
    att_walk_rows(s, (size_t)(t0 - s->tok0) * s->group, (size_t)(t1 - s->tok0) * s->group, w);
}

/* A tile as it is stored, against the rows of one token, all of whose keys it sees. */
static void att_few(const struct att *s, const struct kv_type *k_type,
                    const struct kv_type *v_type, struct work *w)
{
    for (size_t row = 0, n; row < s->group; row += n) {
        n = s->group - row < FEW ? s->group - row : FEW;
        k_type->few_scores(s, row, n);
        for (size_t r = 0; r < n; r++)
            att_softmax(s, row + r, s->p + r * KV_TILE, att_span(s, row, n), w);
        v_type->few_output(s, row, n);
    }
}

static void simd_attention(const struct attention_args *a, uint32_t head0, uint32_t head1,
                           uint32_t tok0, uint32_t tok1, bool count_kv, struct work *w)
{
    struct att s = att_init(a, head0, head1, tok0, tok1);
    const size_t rows = (size_t)s.group * (tok1 - tok0);
    const struct kv_type k_type = kv_type_find(a->k.type), v_type = kv_type_find(a->v.type);
    const bool few = tok1 - tok0 == 1 && rows <= FEW_ROWS && k_type.few_scores && v_type.few_output;
    const struct key_range keys = attention_keys(a, tok0, tok1);
    att_start(&s, rows);
    for (s.j0 = keys.first; s.j0 < keys.end; s.j0 = s.j1) {
        s.j1 = att_tile_end(a, s.j0, keys.end);
        if (count_kv && s.j0 < keys.counted)
            w->kv_bytes += (s.j1 < keys.counted ? s.j1 - s.j0 : keys.counted - s.j0) * kv_position_bytes(a);
        if (few)
            att_few(&s, &k_type, &v_type, w);
        else
            att_many(&s, &k_type, &v_type, tok1, w);
    }
    att_finish(&s, rows);
}

#endif
