/*
 * kernels/avx512bf16/rounded.h: attention whose queries, keys, values and weights of keys are rounded to BF16, sums are f32.
 * methods.md (95)
 *
 * A tile of keys is pairs of dims, turned so that lanes are keys; a tile of values pairs of keys, whose lanes are dims.
 * A row's queries are rounded once a call, its weights once a tile; the row's sum is that of the rounded weights.
 * Static inline only.
 */
#ifndef KERNELS_AVX512BF16_ROUNDED_H
#define KERNELS_AVX512BF16_ROUNDED_H

#include "kernels/avx512/simd512.h"

#include "kernels/simd/attention_state.h" /* written in the names of the header above */

enum { PAIR = 2, STEP = PAIR * VL /* elements of a vector of pairs */ };

struct rounded {
    struct att s;
    uint32_t *kt;      /* [dim / 2][KV_TILE] pairs of dims */
    uint32_t *v;       /* [KV_TILE / 2][v_stride] pairs of keys */
    uint16_t *q, *w;   /* [rows][q_stride], [ATT_ROWS][KV_TILE] weights */
    size_t q_stride;
    float **out;       /* [rows] as att_out, and */
    uint32_t *pos;     /* [rows] as att_pos give them, but with divisions */
};

/* As att_span() of one row. */
INLINE struct span row_span(const struct rounded *r, size_t row)
{
    const uint32_t pos = r->pos[row], first = window_first(pos, r->s.a->window), j0 = r->s.j0, j1 = r->s.j1;
    return (struct span){ first > j0 ? first - j0 : 0, (pos < j1 ? pos + 1 : j1) - j0 };
}

INLINE vi rounded_pairs(vf first, vf second) /* 16 elements, then 16 */
{
    return (vi)_mm512_cvtne2ps_pbh(second, first);
}
INLINE vi pair_at(const uint16_t *p)
{
    uint32_t pair;
    memcpy(&pair, p, sizeof pair);
    return _mm512_set1_epi32((int)pair);
}
INLINE vf pair_madd(vf acc, vi a, vi b)
{
    return _mm512_dpbf16_ps(acc, (__m512bh)a, (__m512bh)b);
}

/* ---- tiles ----------------------------------------------------------------------------------------------------- */

/* Elements [d, d + 32) of a head of n elements; those past it 0. */
INLINE vi load_pairs(const unsigned char *head, size_t d, size_t n, kv_load *load)
{
    return rounded_pairs(load(head, d, n - d), d + VL < n ? load(head, d + VL, n - d - VL) : vf_set1(0));
}

/* Keys j >= t->n are 0 as far as a vector reaches that has one before. */
INLINE void turn_keys(const struct kv_tile *t, uint32_t *turned, kv_load *load)
{
    const size_t n = t->n, dim = t->dim;
    for (size_t j = 0; j < n; j += VL)
        for (size_t d = 0; d < dim; d += STEP) {
            vi r[VL];
#pragma GCC unroll 16
            for (size_t i = 0; i < VL; i++)
                r[i] = j + i < n ? load_pairs(t->row[j + i], d, dim, load) : vi_set1(0);
            vi_transpose(r);
            for (size_t i = 0; i < VL && d + PAIR * i < dim; i++)
                vi_store(turned + (d / PAIR + i) * KV_TILE + j, r[i]);
        }
}

INLINE void pair_values(const struct kv_tile *t, uint32_t *pairs, kv_load *load)
{
    const size_t n = t->n, dim = t->dim, stride = t->stride;
    const vi order = (vi)_mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4,
                                          19, 3, 18, 2, 17, 1, 16, 0);
    for (size_t j = 0; j < n; j += PAIR)
        for (size_t d = 0; d < dim; d += VL) {
            const vf first = load(t->row[j], d, dim - d), second = j + 1 < n ? load(t->row[j + 1], d, dim - d) : vf_set1(0);
            vi_store(pairs + j / PAIR * stride + d, _mm512_permutexvar_epi16(order, rounded_pairs(first, second)));
        }
}

#define TILE_TYPE(type)                                                                                                  \
    static void keys_##type(const struct kv_tile *t, uint32_t *to)                                                      \
    {                                                                                                                   \
        turn_keys(t, to, kv_##type);                                                                                    \
    }                                                                                                                   \
    static void values_##type(const struct kv_tile *t, uint32_t *to)                                                    \
    {                                                                                                                   \
        pair_values(t, to, kv_##type);                                                                                  \
    }
TILE_TYPE(f32)
TILE_TYPE(f16)
TILE_TYPE(bf16)
TILE_TYPE(q8_0)
TILE_TYPE(q4_0)

/* Any other type: as f32 first. */
static void keys_any(const struct kv_tile *t, uint32_t *to)
{
    kv_values_any(t);
    const struct kv_tile s = kv_tile_straight(t);
    turn_keys(&s, to, kv_f32);
}
static void values_any(const struct kv_tile *t, uint32_t *to)
{
    kv_values_any(t);
    const struct kv_tile s = kv_tile_straight(t);
    pair_values(&s, to, kv_f32);
}

struct tile_type {
    enum dtype type;
    void (*keys)(const struct kv_tile *t, uint32_t *to), (*values)(const struct kv_tile *t, uint32_t *to);
};

static struct tile_type tile_type_find(enum dtype type)
{
    static const struct tile_type types[] = {
        {DTYPE_F32,   keys_f32,  values_f32 },
        { DTYPE_F16,  keys_f16,  values_f16 },
        { DTYPE_BF16, keys_bf16, values_bf16},
        { DTYPE_Q8_0, keys_q8_0, values_q8_0},
        { DTYPE_Q4_0, keys_q4_0, values_q4_0},
    };
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (types[i].type == type)
            return types[i];
    return (struct tile_type){ type, keys_any, values_any };
}

/* ---- rows against a tile --------------------------------------------------------------------------------------- */

/*
 * 2^y for y up to 126 to a relative error of 7.5e-5, a 26th of what BF16 rounds by; 0 below 2^-120. y = n + f, n the
 * nearest integer, whose bits are what y plus 1.5 2^23 ends with. The polynomial has the smallest largest relative
 * error of degree 3 on [-1/2, 1/2], by linear programming.
 */
INLINE vf exp2_short(vf y)
{
    const vf magic = vf_set1(0x1.8p23f), t = vf_add(y, magic), f = vf_sub(y, vf_sub(t, magic));
    vf p = vf_fma(f, vf_set1(0x1.c3f6dap-5f), vf_set1(0x1.f0de2p-3f));
    p = vf_fma(p, f, vf_set1(0x1.62f31cp-1f));
    p = vf_fma(p, f, vf_set1(0x1.fff692p-1f));
    const vm normal = _mm512_cmp_ps_mask(y, vf_set1(-120), _CMP_NLT_UQ); /* NaN stays */
    return (vf)_mm512_maskz_add_epi32(normal, (vi)p, _mm512_slli_epi32((vi)t, 23));
}

/* Two vectors of scores to weights; adds them to *sum. */
INLINE void rounded_weights(vf p0, vf p1, vf scale, vf shift, uint16_t *weight, vf *sum)
{
    const vi pairs = rounded_pairs(exp2_short(vf_fms(p0, scale, shift)), exp2_short(vf_fms(p1, scale, shift)));
    _mm512_storeu_si512(weight, pairs);
    *sum = pair_madd(*sum, pairs, vi_set1(0x3f803f80));
}

/* Raises the maxima of n rows, whose scores of keys [from, to) are at p, if exceeded: rarely. */
static __attribute__((noinline)) void raise_rows(const struct att *s, size_t row, size_t n, const float *p, size_t from, size_t to)
{
    for (size_t i = 0; i < n; i++, p += KV_TILE) {
        vf top = vf_load(p + from);
        for (size_t j = from + VL; j < to; j += VL)
            top = vf_max(top, vf_load(p + j));
        if (!vf_any_above(top, vf_set1(s->max[row + i] + s->lazy)))
            continue;
        if (s->max[row + i] > ATT_LOWEST)
            att_raise(s, row + i, top);
        else /* its first keys: no sums to scale down */
            s->max[row + i] = vf_largest(top);
    }
}

/* Scores of n rows become rounded weights, relative to maxima as att_softmax of attention_tile.h has them: whole vectors
 * of pairs. */
INLINE void rounded_softmax(const struct rounded *r, size_t row, const size_t n, struct span block, struct work *w)
{
    const struct att *s = &r->s;
    const struct span all = { block.from / STEP * STEP, size_align_up(block.to, STEP) };
    for (size_t i = 0; i < n; i++) {
        const struct span own = row_span(r, row + i);
        float *p = s->p + i * KV_TILE;
        w->flop += 2 * (uint64_t)(s->dim + s->dim_v) * (own.to - own.from);
        if (s->a->softcap != 0)
            att_softcap(p, block, s->a->scale, s->a->softcap);
        if (own.from > all.from || own.to < all.to)
            att_mask(p, all, own);
    }
    raise_rows(s, row, n, s->p, all.from, all.to);
    for (size_t i = 0; i < n; i++) {
        const vf scale = vf_set1(s->scale), shift = vf_set1(s->max[row + i] * s->scale);
        const float *p = s->p + i * KV_TILE;
        vf sum = vf_load(s->sum + (row + i) * VL);
        for (size_t j = all.from; j < all.to; j += STEP)
            rounded_weights(vf_load(p + j), vf_load(p + j + VL), scale, shift, r->w + i * KV_TILE + j, &sum);
        vf_store(s->sum + (row + i) * VL, sum);
    }
}

/* ---- a call ---------------------------------------------------------------------------------------------------- */

INLINE struct rounded rounded_init(const struct attention_args *a, uint32_t head0, uint32_t head1, uint32_t tok0, uint32_t tok1)
{
    struct rounded r = { .s = att_init(a, head0, head1, tok0, tok1) };
    const size_t rows = (size_t)r.s.group * (tok1 - tok0);
    r.kt = (uint32_t *)(void *)r.s.kt; /* both where attention_tile.h has keys alone, as f32 */
    r.v = r.kt + r.s.v_stride / PAIR * KV_TILE;
    r.q_stride = size_align_up(r.s.dim, STEP);
    r.w = (uint16_t *)(void *)(r.s.max + size_align_up(rows, VL));
    r.q = r.w + ATT_ROWS * KV_TILE;
    r.out = (float **)(void *)(r.q + rows * r.q_stride);
    r.pos = (uint32_t *)(void *)(r.out + rows);
    for (size_t row = 0; row < rows; row++) {
        r.out[row] = att_out(&r.s, row);
        r.pos[row] = att_pos(&r.s, row);
        for (size_t d = 0; d < r.s.dim; d += STEP)
            vi_store(r.q + row * r.q_stride + d, load_pairs((const unsigned char *)att_q(&r.s, row), d, r.s.dim, kv_f32));
    }
    return r;
}

#endif
