/* The bound of an op, for any kernel of any software. methods.md (27) */
#include "timing/internal.h"
#include <math.h>
#include <string.h>

/* ---- the fastest units ----------------------------------------------------------------- */

static void take_faster(struct peak *p, const struct peak *q)
{
    if (q->flop_s > 0 && !(p->flop_s >= q->flop_s))
        *p = *q;
}

static void take_stated(struct peak *p, const struct peak *q)
{
    if (!q->derived)
        take_faster(p, q);
}

static void take_scaled(struct peak *p, const struct peak *q, double times, enum math math, const char *why)
{
    struct peak x = { .flop_s = times * q->flop_s, .math = math, .derived = math != q->math };
    snprintf(x.source, sizeof x.source, "%.3g x %s peak, %s (%.120s)", times, math_name(q->math), why, q->source);
    if (!q->derived)
        take_faster(p, &x);
}

/* Boards whose INT8 peak is four times their FP16 peak state the rate of FP32 accumulation for both floats, half of that of FP16
 * accumulation. */
static bool sums_16_bits(const struct roofs *r)
{
    const struct peak *k = r->peak;
    return !r->cpu && !k[MATH_INT8].derived && !k[MATH_FP16].derived && k[MATH_INT8].flop_s > 3 * k[MATH_FP16].flop_s;
}

/* CPUs: a float is three BF16 products (94). */
static void init_wide(struct roofs *r)
{
    struct peak *f = r->fastest;
    const struct peak *k = r->peak;
    f[ROOF_FLOAT32] = k[MATH_FP32];
    take_stated(&f[ROOF_FLOAT32], &k[MATH_TF32]);
    if (r->cpu)
        take_scaled(&f[ROOF_FLOAT32], &k[MATH_BF16], 1 / 3.0, MATH_FP32, "three products");
    f[ROOF_BFLOAT16] = k[MATH_BF16];
    take_faster(&f[ROOF_BFLOAT16], &f[ROOF_FLOAT32]);
    f[ROOF_FLOAT16] = r->cpu ? f[ROOF_FLOAT32] : k[MATH_FP16];
    take_stated(&f[ROOF_FLOAT16], &k[MATH_FP16]);
    take_faster(&f[ROOF_FLOAT16], &f[ROOF_FLOAT32]);
    if (sums_16_bits(r))
        take_scaled(&f[ROOF_FLOAT16], &k[MATH_FP16], 2, MATH_FP16, "sums of 16 bits");
    f[ROOF_WIDENED] = f[ROOF_BFLOAT16];
    take_faster(&f[ROOF_WIDENED], &f[ROOF_FLOAT16]);
}

/* Without a stated INT8 peak: packed dot products multiply four in a lane of 32 bits (dp4a, SDOT), except on Apple's GPUs. FP4 units
 * imply 8-bit units, half as fast. */
static void init_int8(struct roofs *r, const struct hwprofile *h)
{
    struct peak *p = &r->fastest[ROOF_INT8];
    *p = r->cpu ? r->peak[MATH_INT8] : r->fastest[ROOF_FLOAT16];
    take_faster(p, &r->fastest[ROOF_FLOAT16]);
    take_faster(p, &r->peak[MATH_INT8]);
    if (!r->peak[MATH_INT8].derived)
        return;
    if (h->kind != HW_NPU && strcmp(h->vendor, "Apple") != 0)
        take_scaled(p, &r->peak[MATH_FP32], 4, MATH_INT8, "four a lane");
    take_scaled(p, &r->peak[MATH_FP4], 0.5, MATH_INT8, "twice the width");
}

static void init_fastest(struct roofs *r, const struct hwprofile *h)
{
    struct peak *f = r->fastest;
    init_wide(r);
    init_int8(r, h);
    f[ROOF_FLOAT8] = r->peak[MATH_FP8];
    take_faster(&f[ROOF_FLOAT8], &f[ROOF_FLOAT16]);
    if (sums_16_bits(r))
        take_scaled(&f[ROOF_FLOAT8], &r->peak[MATH_FP8], 2, MATH_FP8, "sums of 16 bits");
    if (r->peak[MATH_FP8].derived)
        take_scaled(&f[ROOF_FLOAT8], &r->peak[MATH_FP4], 0.5, MATH_FP8, "twice the width");
    f[ROOF_FLOAT4] = r->peak[MATH_FP4];
    take_faster(&f[ROOF_FLOAT4], &f[ROOF_FLOAT8]);
    f[ROOF_MIXED] = f[ROOF_FLOAT4];
    take_faster(&f[ROOF_MIXED], &f[ROOF_INT8]);
}

/* A cache that holds all that a pass reads holds it for the next one. */
static void init_llc_pass(struct roofs *r, const struct hwprofile *h, const struct predict_options *o)
{
    struct last_cache l = { .bytes = 0 };
    if (h->kind != HW_CPU)
        r->llc_pass_bytes = h->cache_bytes.value > 0 ? h->cache_bytes.value : 0;
    else if (last_cache_init(&l, h, threads_or_all(o)) > 0)
        r->llc_pass_bytes = l.n > 0 ? fmax(l.bytes, l.footprint[l.n - 1]) : l.bytes;
}

void bound_init(struct roofs *r, const struct hwprofile *h, const struct predict_options *o)
{
    init_fastest(r, h);
    init_llc_pass(r, h, o);
}

/* ---- an op ------------------------------------------------------------------------------ */

static bool is_fp4(enum dtype t)
{
    return t == DTYPE_MXFP4 || t == DTYPE_NVFP4;
}

static enum roof_class class_of_type(enum dtype t)
{
    if (t == DTYPE_F32 || t == DTYPE_F64)
        return ROOF_FLOAT32;
    if (t == DTYPE_BF16)
        return ROOF_BFLOAT16;
    return t == DTYPE_F16 ? ROOF_FLOAT16 : is_fp4(t) ? ROOF_MIXED : ROOF_INT8;
}

static enum roof_class class_of_weights(enum scheme s, enum dtype t)
{
    switch (s) {
    case SCHEME_BY_TYPE:
        return class_of_type(t);
    case SCHEME_FP16:
        return ROOF_FLOAT16;
    case SCHEME_BF16:
        return ROOF_WIDENED;
    case SCHEME_FP8:
        return ROOF_FLOAT8;
    case SCHEME_INT8:
        return ROOF_INT8;
    case SCHEME_FP4:
        return ROOF_FLOAT4;
    }
    return ROOF_MIXED;
}

enum roof_class roofs_class(const struct roofs *r, const struct op_class *c)
{
    if (op_is_product(&c->op))
        return c->op.w ? class_of_weights(c->op.w->scheme, c->op.w->type) : ROOF_FLOAT32;
    if (c->op.kind == OP_ATTENTION && (c->kv_type >= DTYPE_PRICED_END || dtype_bits(c->kv_type) < 16))
        return ROOF_MIXED;
    return roofs_math(r, &c->op) == MATH_BF16 ? ROOF_BFLOAT16 : ROOF_FLOAT16;
}

/* Weights and keys that stay cached from pass to pass cross the memory once in all. */
static double memory_s(const struct roofs *r, const struct step *x)
{
    const bool cached = x->pass_read_bytes > 0 && x->pass_read_bytes <= r->llc_pass_bytes;
    return cached ? 0 : (x->cost.weight_bytes + x->cost.kv_bytes) / r->bytes_s;
}

static double compute_s(const struct roofs *r, const struct step *x)
{
    return x->cost.flop / r->fastest[roofs_class(r, x->of)].flop_s;
}

void roofs_bound(const struct roofs *r, struct step *x)
{
    step_set_seconds(x, memory_s(r, x), compute_s(r, x), 0);
}

double roofs_least_s(const struct roofs *r, const struct step *x)
{
    double bytes = x->cost.link_bytes;
    return x->n_comm > 0 ? link_collective_s(r, x, &bytes, 0) : max2(memory_s(r, x), compute_s(r, x));
}
