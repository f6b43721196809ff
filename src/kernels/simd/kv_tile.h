/*
 * kernels/simd/kv_tile.h: keys and values of any type as f32, vector by vector or a tile at
 * a time, over the vector names of an ISA's simd header. Static inline only.
 */
#ifndef KERNELS_SIMD_KV_TILE_H
#define KERNELS_SIMD_KV_TILE_H

#include "kernels/internal.h"

/* One head of n <= KV_TILE positions. */
struct kv_tile {
    enum dtype type;
    size_t dim, n;
    const unsigned char *row[KV_TILE];
    float *straight; /* [KV_TILE][stride], aligned */
    size_t stride;   /* >= dim, a multiple of VL */
    float *turned;   /* [dim][KV_TILE], aligned: lanes are keys; those past n are zero */
};

/* Elements [d, d + VL) of a head; those from the n-th on, if any, 0. */
typedef vf kv_load(const unsigned char *head, size_t d, size_t n);

INLINE vf kv_f32(const unsigned char *head, size_t d, size_t n)
{
    const float *p = (const float *)(const void *)head + d;
    return n >= VL ? vf_load(p) : vf_load_m(vm_first(n), p);
}
INLINE vf kv_f16(const unsigned char *head, size_t d, size_t n)
{
    return vf_from_f16(head + 2 * d, n);
}
INLINE vf kv_bf16(const unsigned char *head, size_t d, size_t n)
{
    return vf_from_bf16(head + 2 * d, n);
}
/* Blocks of 32, methods.md (1): an f16 scale, then bytes, or 16 pairs of nibbles whose low
 * ones come first. */
INLINE vf kv_q8_0(const unsigned char *head, size_t d, size_t n)
{
    const unsigned char *b = head + d / 32 * Q8_0_BYTES;
    (void)n;
    return vf_mul(vf_set1(f16_at(b)), vf_from_i8(b + Q8_0_Q + d % 32));
}
INLINE vf kv_q4_0(const unsigned char *head, size_t d, size_t n)
{
    const unsigned char *b = head + d / 32 * Q4_0_BYTES;
    (void)n;
    return vf_mul(vf_set1(f16_at(b)), vf_from_nibbles(b + Q4_0_Q + d % 16, d % 32 < 16 ? 0 : 4));
}

/* Head `head` of positions [first, first + n). */
INLINE void kv_tile_rows(struct kv_tile *t, const struct kv_rows *r, size_t head, uint32_t first, uint32_t n)
{
    t->type = r->type;
    t->n = n;
    for (uint32_t j = 0, run; j < n; j += run) {
        const unsigned char *row = kv_at(r, head, first + j);
        run = kv_run(r, first + j);
        run = run < n - j ? run : n - j;
        for (uint32_t i = 0; i < run; i++)
            t->row[j + i] = row + i * r->row_bytes;
    }
}

/* The tile itself, of type F32, once straight is filled. */
INLINE struct kv_tile kv_tile_straight(const struct kv_tile *t)
{
    struct kv_tile s = *t;
    s.type = DTYPE_F32;
    for (size_t j = 0; j < t->n; j++)
        s.row[j] = (const unsigned char *)(t->straight + j * t->stride);
    return s;
}

INLINE void kv_turn(const struct kv_tile *t, kv_load *load)
{
    const size_t n = t->n, dim = t->dim; /* locals, as vector stores may alias *t */
    float *turned = t->turned;
    for (size_t j = 0; j < KV_TILE; j += VL)
        for (size_t d = 0; d < dim; d += VL) {
            vi r[VL];
#pragma GCC unroll 16
            for (size_t i = 0; i < VL; i++)
                r[i] = j + i < n ? vf_bits(load(t->row[j + i], d, dim - d)) : vi_set1(0);
            vi_transpose(r);
            for (size_t i = 0; i < VL && d + i < dim; i++)
                vi_store(turned + (d + i) * KV_TILE + j, r[i]);
        }
}

INLINE void kv_values(const struct kv_tile *t, kv_load *load)
{
    const size_t n = t->n, dim = t->dim, stride = t->stride;
    float *straight = t->straight;
    for (size_t j = 0; j < n; j++)
        for (size_t d = 0; d < dim; d += VL)
            vf_store(straight + j * stride + d, load(t->row[j], d, dim - d));
}

/* Any other type: through the table of types. */
static void kv_values_any(const struct kv_tile *t)
{
    const struct dtype_info *type = dtype_find(t->type);
    for (size_t j = 0; j < t->n; j++)
        type->dequantize(t->row[j], t->straight + j * t->stride, t->dim);
}

#endif
