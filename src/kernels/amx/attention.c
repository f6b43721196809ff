/*
 * amx/attention.c: attention of prompts rounded to BF16 (avx512bf16/rounded.h) by tiles: 16 rows at a time; the scores of 64 keys are four
 * tiles, and so are 64 dims of the outputs. Keys and values are laid out as second operands. Else avx512/attention.c. methods.md (95), (93)
 */
#include "kernels/amx/amx.h"
#include "kernels/avx512/avx512.h"
#include "kernels/avx512bf16/rounded.h"

enum { BLOCK_ROWS = 16, BLOCK_KEYS = 32 /* of a tile of weights */ };

struct tiled {
    struct rounded r; /* whose p and w have BLOCK_ROWS rows */
    float *sums;      /* [BLOCK_ROWS][dim_v] outputs of a tile of keys */
};

/* to[16][64] = a b: a is n horizontally adjacent tiles of 16 x 32 numbers, b n vertically adjacent ones of 16 pairs x 64; strides in bytes. */
static void tile_product(float *to, size_t to_stride, const uint16_t *a, size_t a_stride, const uint32_t *b, size_t b_stride, size_t n)
{
    __asm__ volatile("tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3" ::: "memory");
    for (; n > 0; n--, a += STEP, b += STEP / PAIR * (b_stride / sizeof *b))
        __asm__ volatile("tileloadd (%0,%2,1), %%tmm4\n\t"
                         "tileloadd (%1,%3,1), %%tmm5\n\t"
                         "tileloadd 64(%1,%3,1), %%tmm6\n\t"
                         "tdpbf16ps %%tmm5, %%tmm4, %%tmm0\n\t"
                         "tileloadd 128(%1,%3,1), %%tmm7\n\t"
                         "tdpbf16ps %%tmm6, %%tmm4, %%tmm1\n\t"
                         "tileloadd 192(%1,%3,1), %%tmm5\n\t"
                         "tdpbf16ps %%tmm7, %%tmm4, %%tmm2\n\t"
                         "tdpbf16ps %%tmm5, %%tmm4, %%tmm3" ::"r"(a),
                         "r"(b), "r"(a_stride), "r"(b_stride)
                         : "memory");
    __asm__ volatile("tilestored %%tmm0, (%0,%1,1)\n\t"
                     "tilestored %%tmm1, 64(%0,%1,1)\n\t"
                     "tilestored %%tmm2, 128(%0,%1,1)\n\t"
                     "tilestored %%tmm3, 192(%0,%1,1)" ::"r"(to),
                     "r"(to_stride)
                     : "memory");
}

/* sums[.][d..d + 16) = w . v of keys [from, to), whole BLOCK_KEYS. */
INLINE void tile_dims(const struct tiled *t, size_t d, size_t from, size_t to)
{
    const struct rounded *r = &t->r;
    const size_t stride = r->s.v_stride * sizeof *r->v;
    __asm__ volatile("tilezero %%tmm0" ::: "memory");
    for (size_t j = from; j < to; j += BLOCK_KEYS)
        __asm__ volatile("tileloadd (%0,%2,1), %%tmm4\n\t"
                         "tileloadd (%1,%3,1), %%tmm5\n\t"
                         "tdpbf16ps %%tmm5, %%tmm4, %%tmm0" ::"r"(r->w + j),
                         "r"(r->v + j / PAIR * r->s.v_stride + d), "r"(KV_TILE * sizeof *r->w), "r"(stride)
                         : "memory");
    __asm__ volatile("tilestored %%tmm0, (%0,%1,1)" ::"r"(t->sums + d), "r"(r->s.dim_v * sizeof *t->sums) : "memory");
}

/* n rows, at most 16, against the tile of keys. */
static void tiled_rows(const struct tiled *t, size_t row, size_t n, struct work *w)
{
    const struct rounded *r = &t->r;
    const size_t dim_v = r->s.dim_v;
    const struct span first = row_span(r, row), last = row_span(r, row + n - 1), keys = { first.from, last.to };
    for (size_t i = 0; i < n; i++)
        for (size_t d = 0; d < dim_v; d += VL) /* from the L2 cache */
            __builtin_prefetch(r->out[row + i] + d, 1, 3);
    /* Missing rows and keys read other parts of the scratch; their results are not used. */
    tile_product(r->s.p, KV_TILE * sizeof *r->s.p, r->q + row * r->q_stride, r->q_stride * sizeof *r->q, r->kt,
                 KV_TILE * sizeof *r->kt, r->s.dim / STEP);
    rounded_softmax(r, row, n, keys, w);
    const size_t from = keys.from / BLOCK_KEYS * BLOCK_KEYS, to = size_align_up(keys.to, BLOCK_KEYS);
    size_t d = 0;
    for (; d + 4 * VL <= dim_v; d += 4 * VL)
        tile_product(t->sums + d, dim_v * sizeof *t->sums, r->w + from, KV_TILE * sizeof *r->w,
                     r->v + from / PAIR * r->s.v_stride + d, r->s.v_stride * sizeof *r->v, (to - from) / BLOCK_KEYS);
    for (; d < dim_v; d += VL)
        tile_dims(t, d, from, to);
    for (size_t i = 0; i < n; i++) {
        float *out = r->out[row + i];
        for (d = 0; d < dim_v; d += VL)
            vf_store(out + d, vf_add(vf_load(out + d), vf_load(t->sums + i * dim_v + d)));
    }
}

/* The tile against all rows that see one of its keys. */
static void tiled_keys(const struct tiled *t, const struct tile_type *k_type, const struct tile_type *v_type, uint32_t tok1,
                       struct work *w)
{
    const struct rounded *r = &t->r;
    const struct att *s = &r->s;
    const size_t n = s->j1 - s->j0, pairs = (n + 1) / PAIR;
    struct kv_tile x = { .dim = s->dim, .straight = s->v, .stride = s->v_stride };
    kv_tile_rows(&x, &s->a->k, s->kv_head, s->j0, (uint32_t)n);
    k_type->keys(&x, r->kt);
    x.dim = s->dim_v;
    kv_tile_rows(&x, &s->a->v, s->kv_head, s->j0, (uint32_t)n);
    v_type->values(&x, r->v);
    /* Weights of missing keys are 0; their values must be finite. */
    memset(r->v + pairs * s->v_stride, 0, (size_align_up(n, BLOCK_KEYS) / PAIR - pairs) * s->v_stride * sizeof *r->v);
    const struct row_range rows = att_rows_of_tile(s, tok1);
    struct att_ahead ahead = att_ahead(s, rows);
    for (size_t row = rows.from; row < rows.to; row += BLOCK_ROWS) {
        tiled_rows(t, row, u64_min(BLOCK_ROWS, rows.to - row), w);
        for (size_t i = 0; i < BLOCK_ROWS; i += ATT_ROWS)
            att_ask(s, &ahead);
    }
    att_ask(s, &ahead);
}

static struct tiled tiled_init(const struct attention_args *a, uint32_t head0, uint32_t head1, uint32_t tok0, uint32_t tok1)
{
    struct tiled t = { .r = rounded_init(a, head0, head1, tok0, tok1) };
    const size_t rows = (size_t)t.r.s.group * (tok1 - tok0);
    t.r.s.p = (float *)size_align_up((size_t)(t.r.pos + rows), 64);
    t.r.w = (uint16_t *)(void *)(t.r.s.p + BLOCK_ROWS * KV_TILE);
    t.sums = (float *)(void *)(t.r.w + BLOCK_ROWS * KV_TILE);
    return t;
}

void amx_attention(const struct attention_args *a, uint32_t head0, uint32_t head1, uint32_t tok0, uint32_t tok1, bool count_kv,
                   struct work *w)
{
    if (!a->rounded || tok1 - tok0 == 1 || a->head_dim % STEP || a->head_dim_v % VL) {
        avx512_attention(a, head0, head1, tok0, tok1, count_kv, w);
        return;
    }
    struct tiled t = tiled_init(a, head0, head1, tok0, tok1);
    struct att *s = &t.r.s;
    const size_t rows = (size_t)s->group * (tok1 - tok0);
    const struct tile_type k_type = tile_type_find(a->k.type), v_type = tile_type_find(a->v.type);
    const struct key_range keys = attention_keys(a, tok0, tok1);
    att_start(s, rows);
    amx_tiles_begin();
    s->end = keys.end;
    for (s->j0 = keys.first; s->j0 < keys.end; s->j0 = s->j1) {
        s->j1 = att_tile_end(s);
        if (count_kv)
            att_count(s, &keys, w);
        tiled_keys(&t, &k_type, &v_type, tok1, w);
    }
    amx_tiles_end();
    att_finish(s, rows);
}
