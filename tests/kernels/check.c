/* tests/kernels/check.c: random operands for checkkernel. */
#include "check.h"
#include <math.h>

bool rung_at(size_t i, struct kernels *k)
{
    bool usable;
    const char *only = getenv("ROOFCAST_CHECK_ISA");
    for (size_t r = 0; kernels_isa_at(r, &usable); r++) {
        struct error err;
        unsigned flags;
        if (!usable || (only && strcmp(only, kernels_isa_at(r, NULL)) != 0) || i-- > 0)
            continue;
        assert_ok(kernels_isa_flags(kernels_isa_at(r, NULL), &flags, &err), err);
        kernels_init(k, flags);
        return true;
    }
    return false;
}

void rung_of_other_ports(struct kernels *k)
{
    struct error err;
    unsigned flags;
    assert_ok(kernels_isa_flags(k->isa, &flags, &err), err);
    kernels_init(k, flags ^ CPU_TWO_PORTS);
}

size_t check_every(void)
{
    const char *s = getenv("ROOFCAST_CHECK_EVERY");
    const unsigned long n = s ? strtoul(s, NULL, 10) : 1;
    return n > 0 ? n : 1;
}

void *check_alloc(size_t n)
{
    void *p = NULL;
    if (posix_memalign(&p, 64, n ? n : 1))
        fail_msg("out of memory");
    return p;
}

void *check_scratch(size_t n)
{
    return memset(check_alloc(n), 0xff, n);
}

/* Numbers of a normal distribution take a logarithm and a cosine each: from a store of a prime number of them, from a place and at a
 * step that r says, so that no two rows are alike. */
float *random_floats(struct rng *r, size_t n, double scale)
{
    enum { STORE = 32749 };
    static double store[STORE];
    if (store[0] == 0) {
        struct rng once;
        rng_init(&once, 5);
        for (size_t i = 0; i < STORE; i++)
            store[i] = rng_normal(&once);
    }
    float *x = check_alloc(n * sizeof *x);
    size_t at = rng_u64(r) % STORE;
    const size_t step = 1 + rng_u64(r) % (STORE - 1);
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)(store[at] * scale);
        at += step;
        at -= at < STORE ? 0 : STORE;
    }
    return x;
}

/* Where a block keeps half-precision scales, and the quants of formats with a min. No half:
 * the scale is the exponent in the first byte. */
struct layout {
    enum dtype t;
    int half[2];     /* offsets, -1: none */
    int quants, end; /* bytes that hold quants, for formats with a min */
};
static const struct layout layouts[] = {
    {DTYPE_Q8_0,    { 0, -1 },   0,  0  },
    { DTYPE_Q4_0,   { 0, -1 },   0,  0  },
    { DTYPE_Q4_1,   { 0, 2 },    4,  20 },
    { DTYPE_Q5_0,   { 0, -1 },   0,  0  },
    { DTYPE_Q5_1,   { 0, 2 },    4,  24 },
    { DTYPE_Q2_K,   { 80, 82 },  16, 80 },
    { DTYPE_Q3_K,   { 108, -1 }, 0,  0  },
    { DTYPE_Q4_K,   { 0, 2 },    16, 144},
    { DTYPE_Q5_K,   { 0, 2 },    16, 176},
    { DTYPE_Q6_K,   { 208, -1 }, 0,  0  },
    { DTYPE_IQ4_NL, { 0, -1 },   0,  0  },
    { DTYPE_IQ4_XS, { 0, -1 },   0,  0  },
    { DTYPE_MXFP4,  { -1, -1 },  0,  0  },
};

static const struct layout *layout_find(enum dtype t)
{
    for (size_t i = 0; i < ARRAY_LEN(layouts); i++)
        if (layouts[i].t == t)
            return &layouts[i];
    return NULL;
}

static void set_half(unsigned char *p, float x)
{
    uint16_t h = f32_to_f16(x);
    memcpy(p, &h, sizeof h);
}

unsigned char *random_weights(struct rng *r, const struct dtype_info *t, size_t rows,
                              size_t cols)
{
    const struct layout *l = layout_find(t->id);
    size_t n_blocks = rows * cols / t->block_elems;
    unsigned char *w = check_alloc(n_blocks * t->block_bytes);
    if (!l) {
        float *x = random_floats(r, rows * cols, 0.1);
        t->quantize(x, w, rows * cols);
        free(x);
        return w;
    }
    for (size_t i = 0; i < n_blocks * t->block_bytes; i++)
        w[i] = (unsigned char)(rng_u64(r) >> 40);
    for (size_t b = 0; b < n_blocks; b++) {
        unsigned char *block = w + b * t->block_bytes;
        if (l->half[0] < 0)
            block[0] = (unsigned char)(110 + block[0] % 12);
        for (size_t h = 0; h < 2; h++)
            if (l->half[h] >= 0)
                set_half(block + l->half[h], (float)((rng_uniform(r) - 0.3) * 0.01));
    }
    return w;
}

bool poison_block(const struct dtype_info *t, unsigned char *block, size_t i, bool nan)
{
    const struct layout *l = layout_find(t->id);
    if (l && l->half[0] < 0 && i == 0 && nan)
        block[0] = 255;
    else if (l && i < ARRAY_LEN(l->half) && l->half[i] >= 0)
        set_half(block + l->half[i], nan ? NAN : INFINITY);
    else
        return false;
    return true;
}

bool weight_mins(const struct dtype_info *t, const unsigned char *w, float *min, size_t n)
{
    const struct layout *l = layout_find(t->id);
    if (!l || !l->end)
        return false;
    unsigned char block[512];
    for (size_t b = 0; b < n / t->block_elems; b++) { /* quants 0: what is left is the min */
        memcpy(block, w + b * t->block_bytes, t->block_bytes);
        memset(block + l->quants, 0, (size_t)(l->end - l->quants));
        t->dequantize(block, min + b * t->block_elems, t->block_elems);
    }
    return true;
}

void weight_magnitudes(const struct dtype_info *t, const unsigned char *w, float *mag,
                       size_t n)
{
    float *min = check_alloc(n * sizeof *min);
    t->dequantize(w, mag, n);
    const bool mins = weight_mins(t, w, min, n);
    for (size_t i = 0; i < n; i++)
        mag[i] = mins ? fabsf(mag[i] - min[i]) + fabsf(min[i]) : fabsf(mag[i]);
    free(min);
}

void *prepare_acts(const struct kernels *k, enum act_kind kind, struct acts *a,
                   const float *x, size_t n_tok, size_t cols, size_t ld)
{
    return prepare_acts_pow2(k, kind, false, a, x, n_tok, cols, ld);
}

void *prepare_acts_pow2(const struct kernels *k, enum act_kind kind, bool pow2, struct acts *a, const float *x,
                        size_t n_tok, size_t cols, size_t ld)
{
    void *buf = check_alloc(acts_bytes(kind, n_tok, cols));
    acts_bind(a, kind, n_tok, cols, buf);
    a->pow2 = pow2;
    k->act_prepare[kind](a, x, ld, 0, n_tok / 2);
    k->act_prepare[kind](a, x, ld, n_tok / 2, n_tok);
    return buf;
}

float act_value(const struct acts *a, size_t t, size_t c)
{
    size_t i = t * a->stride + c;
    switch (a->kind) {
    case ACT_F32:
        return a->f32[i];
    case ACT_BF16:
        return bf16_to_f32(a->bf16[i]);
    case ACT_Q8:
        return a->d[i / 32] * (float)a->q[i];
    case ACT_KIND_COUNT:
        break;
    }
    return NAN;
}
