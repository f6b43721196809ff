/*
 * kernels/simd/attention.h: causal attention, over the vector names of an ISA's simd header
 * and a few of its attention.c: vf_fms(a, b, c) = a * b - c; vf_fraction(y) = y - floor(y);
 * vf_times2(x, y) = x * 2^floor(y); vf_any_above(a, b); vf_sums: of VL vectors, the sum of
 * each one's lanes. Static inline only. methods.md (11), (12)
 *
 * Keys come in tiles of KV_TILE. Many rows use a tile converted to f32 once, K transposed so
 * that lanes are keys (attention_tile.h); a few read K and V as they are stored
 * (attention_few.h).
 */
#ifndef KERNELS_SIMD_ATTENTION_H
#define KERNELS_SIMD_ATTENTION_H

#include "kernels/simd/attention_few.h"
#include "kernels/simd/attention_tile.h"

/* Tiles of a type: keys fills turned, values straight. */
#define KV_TYPE(keys, values, load)                                                                                              \
    static void keys(const struct kv_tile *t)                                                                                    \
    {                                                                                                                            \
        kv_turn(t, load);                                                                                                        \
    }                                                                                                                            \
    static void values(const struct kv_tile *t)                                                                                  \
    {                                                                                                                            \
        kv_values(t, load);                                                                                                      \
    }
KV_TYPE(kv_keys_f32, kv_values_f32, kv_f32)
KV_TYPE(kv_keys_f16, kv_values_f16, kv_f16)
KV_TYPE(kv_keys_bf16, kv_values_bf16, kv_bf16)
KV_TYPE(kv_keys_q8_0, kv_values_q8_0, kv_q8_0)
KV_TYPE(kv_keys_q4_0, kv_values_q4_0, kv_q4_0)
static void kv_keys_any(const struct kv_tile *t) /* straight before it is turned */
{
    kv_values_any(t);
    const struct kv_tile s = kv_tile_straight(t);
    kv_turn(&s, kv_f32);
}

/* Functions of a type; few: NULL if tiles are used instead. */
struct kv_type {
    enum dtype type;
    void (*keys)(const struct kv_tile *t), (*values)(const struct kv_tile *t);
    few_fn *few_scores, *few_output;
};

#define KV_TYPES(kind)                                                                                                           \
    {                                                                                                                            \
        { DTYPE_F32, kv_keys_f32, kv_values_f32, few_scores_f32##kind, few_output_f32##kind },                                   \
            { DTYPE_F16, kv_keys_f16, kv_values_f16, few_scores_f16##kind, few_output_f16##kind },                               \
            { DTYPE_BF16, kv_keys_bf16, kv_values_bf16, few_scores_bf16##kind, few_output_bf16##kind },                          \
            { DTYPE_Q8_0, kv_keys_q8_0, kv_values_q8_0, few_scores_q8_0##kind, few_output_q8_0##kind },                          \
            { DTYPE_Q4_0, kv_keys_q4_0, kv_values_q4_0, few_scores_q4_0##kind, few_output_q4_0##kind },                          \
    }
/* once: for CPU_SW_PREFETCH. */
static struct kv_type kv_type_find(const struct kv_rows *r, bool once)
{
    static const struct kv_type types[FEW_ORDERS][5] = { [FEW_SEQUENCE] = KV_TYPES(), [FEW_SEQUENCE_ONCE] = KV_TYPES(_once),
                                                         [FEW_PAGED] = KV_TYPES(_paged), [FEW_PAGED_ONCE] = KV_TYPES(_paged_once) };
    const enum few_order order = r->table ? (once ? FEW_PAGED_ONCE : FEW_PAGED) : once ? FEW_SEQUENCE_ONCE : FEW_SEQUENCE;
    const enum dtype type = r->type;
    for (size_t i = 0; i < ARRAY_LEN(types[order]); i++)
        if (types[order][i].type == type)
            return types[order][i];
    return (struct kv_type){ .type = type, .keys = kv_keys_any, .values = kv_values_any };
}

/* A tile as f32, against all rows that see one of its keys. */
static void att_many(const struct att *s, const struct kv_type *k_type, const struct kv_type *v_type, uint32_t tok1,
                     struct work *w)
{
    const struct attention_args *a = s->a;
    struct kv_tile t = { .dim = s->dim, .straight = s->v, .stride = s->v_stride, .turned = s->kt };
    kv_tile_rows(&t, &a->k, s->kv_head, s->j0, s->j1 - s->j0);
    k_type->keys(&t); /* may use straight: values come after */
    t.dim = s->dim_v;
    kv_tile_rows(&t, &a->v, s->kv_head, s->j0, s->j1 - s->j0);
    v_type->values(&t);
    const struct row_range rows = att_rows_of_tile(s, tok1);
    att_walk_rows(s, rows, att_ahead(s, rows), w);
}

/* Keys and values of one KV head in a tile. */
struct few_kv {
    struct few_rows k, v;
};

/* A tile as it is stored, against the n_row rows of a KV head of one token, all of whose keys it sees. */
static void att_few(const struct att *s, const struct few_kv *kv, size_t row0, size_t n_row, const struct kv_type *k_type, const struct kv_type *v_type,
                    struct work *w)
{
    for (size_t row = row0, n; row < row0 + n_row; row += n) {
        n = row0 + n_row - row < FEW ? row0 + n_row - row : FEW;
        k_type->few_scores(s, &kv->k, row, n);
        for (size_t r = 0; r < n; r++)
            att_softmax(s, row + r, s->p + r * KV_TILE, att_span(s, row, n), w);
        v_type->few_output(s, &kv->v, row, n);
    }
}

/*
 * Tile by tile, each against KV head after KV head: heads of a block lie side by side. s: of the tile and KV head that come first; afterwards of the
 * ones that come next, false: none
 */
static bool few_next(struct att *s, uint32_t kv0, uint32_t n_kv)
{
    if (++s->kv_head < kv0 + n_kv)
        return true;
    s->kv_head = kv0;
    s->j0 = s->j1;
    s->j1 = s->j0 < s->end ? att_tile_end(s) : s->j0;
    return s->j0 < s->end;
}

static void few_kv_of(struct few_kv *x, const struct att *s)
{
    few_rows_of(&x->k, s, &s->a->k);
    few_rows_of(&x->v, s, &s->a->v);
}

static void att_few_all(struct att *s, uint32_t n_kv, const struct key_range *keys, const struct kv_type *k_type, const struct kv_type *v_type,
                        bool count_kv, struct work *w)
{
    const uint32_t kv0 = s->kv_head, n_row = s->group / n_kv;
    struct few_kv kv[2];
    struct att next = *s;
    bool more = true;
    few_kv_of(&kv[0], s);
    for (size_t i = 0; more; i = !i, *s = next) {
        more = few_next(&next, kv0, n_kv);
        if (more)
            few_kv_of(&kv[!i], &next);
        if (s->a->k.table)
            few_link(&kv[i].k, &kv[more ? !i : i].k);
        if (s->a->v.table)
            few_link(&kv[i].v, &kv[more ? !i : i].v);
        if (count_kv)
            att_count(s, keys, w);
        att_few(s, &kv[i], (s->kv_head - kv0) * n_row, n_row, k_type, v_type, w);
    }
}

static void simd_attention(const struct attention_args *a, uint32_t head0, uint32_t head1, uint32_t tok0, uint32_t tok1,
                           bool count_kv, bool once, struct work *w)
{
    struct att s = att_init(a, head0, head1, tok0, tok1);
    const size_t rows = (size_t)s.group * (tok1 - tok0);
    const uint32_t own = a->n_head / a->n_head_kv, n_kv = (head1 - 1) / own - head0 / own + 1;
    const struct kv_type k_type = kv_type_find(&a->k, once), v_type = kv_type_find(&a->v, once);
    const bool few = tok1 - tok0 == 1 && rows <= FEW_ROWS * n_kv && k_type.few_scores && v_type.few_output;
    const struct key_range keys = attention_keys(a, tok0, tok1);
    if (n_kv > 1 && !few) {
        for (uint32_t h = head0; h < head1; h += own)
            simd_attention(a, h, h + own, tok0, tok1, count_kv, once, w);
        return;
    }
    att_start(&s, rows);
    s.end = keys.end;
    s.j0 = keys.first;
    s.j1 = att_tile_end(&s);
    if (few)
        att_few_all(&s, n_kv, &keys, &k_type, &v_type, count_kv, w);
    for (; !few && s.j0 < keys.end; s.j0 = s.j1) {
        s.j1 = att_tile_end(&s);
        if (count_kv)
            att_count(&s, &keys, w);
        att_many(&s, &k_type, &v_type, tok1, w);
    }
    att_finish(&s, rows);
}

#endif
