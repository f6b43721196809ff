/* tests/kernels/check_attention.c: attention of every rung and type of K and V against the
 * formula in double, and the work it says it did against the triangle counted by hand. */
#include "check.h"
#include <math.h>

/* Plain; odd heads; windows; rings as small as they may be, larger, and smaller than a
 * tile; MLA's keys of 512 + 64, whose first 512 are the values; the largest heads. */
struct shape {
    uint32_t n_tok, n_past, n_head, n_head_kv, dim, dim_v, window;
    uint32_t n_row; /* 0: as many as positions */
    float cap;
    bool sinks, v_in_k;
};
static const struct shape shapes[] = {
    {1,    0,    4,  4, 64,   64,   0,   0,   0,  false, false},
    { 1,   300,  8,  2, 64,   64,   0,   0,   0,  false, false},
    { 7,   0,    6,  1, 40,   40,   0,   0,   0,  false, false},
    { 33,  5,    4,  2, 80,   80,   0,   0,   0,  false, false},
    { 70,  65,   9,  3, 64,   64,   0,   0,   5,  false, false},
    { 130, 0,    2,  2, 128,  128,  0,   0,   0,  true,  false},
    { 3,   63,   2,  2, 24,   72,   0,   0,   50, false, false},
    { 5,   70,   6,  2, 112,  96,   0,   0,   0,  false, false},
    { 34,  64,   3,  3, 256,  256,  0,   0,   0,  false, false},
    { 5,   126,  5,  1, 120,  8,    1,   0,   0,  false, false},
    { 40,  100,  4,  2, 64,   64,   17,  0,   0,  false, false},
    { 1,   200,  4,  1, 8,    8,    64,  64,  30, true,  false},
    { 200, 30,   2,  1, 32,   32,   100, 299, 0,  false, false},
    { 50,  777,  4,  2, 64,   64,   100, 170, 0,  true,  false},
    { 3,   1000, 3,  3, 96,   96,   21,  23,  0,  false, false},
    { 1,   150,  16, 1, 576,  512,  0,   0,   0,  false, true },
    { 9,   60,   7,  1, 576,  512,  0,   0,   0,  true,  true },
    { 2,   70,   2,  1, 1024, 768,  0,   0,   0,  false, false},
    { 4,   66,   2,  1, 512,  1024, 0,   0,   0,  false, false},
    { 1,   333,  3,  1, 72,   64,   0,   0,   0,  true,  false},
    { 1,   270,  28, 4, 128,  128,  200, 210, 0,  false, false},
    { 1,   190,  12, 2, 96,   160,  0,   0,   9,  false, false},
};

/* Bytes after a row's heads, and floats after a head of q and a row of q and out. */
/* What BF16 rounds by: sums here stay below half of their bound. And a power of two that it is then rounded from. methods.md (95) */
#define ROUNDED      0x1.01p-9
#define ROUNDED_EXP2 8e-5

enum { ROW_GAP = 12, Q_GAP = 5, OUT_GAP = 4, GUARD = 64 };

struct buffers {
    struct attention_args a;
    uint32_t n_kv;
    float *q, *out, *sinks;
    float *k, *v; /* what the cache stands for: [n_kv, n_head_kv, dim] */
    unsigned char *k_rows, *v_rows, *scratch;
    size_t scratch_bytes;
};

/* Random rows of positions 0..n_kv - 1, written in order into the ring, and as f32; position by position, or
 * head by head. */
static unsigned char *cache_init(struct kv_rows *kv, const struct dtype_info *t,
                                 const struct shape *s, uint32_t dim, struct rng *r,
                                 bool by_head, float **as_f32)
{
    uint32_t n_kv = s->n_past + s->n_tok;
    size_t cols = (size_t)s->n_head_kv * dim, n = n_kv * cols,
           bytes = dtype_row_bytes(t->id, cols);
    unsigned char *rows;
    if (t->block_elems == 1) {
        float *x = random_floats(r, n, 1);
        rows = check_alloc(n * t->block_bytes);
        t->quantize(x, rows, n);
        free(x);
    } else
        rows = random_weights(r, t, n_kv, cols);
    *as_f32 = check_alloc(n * sizeof **as_f32);
    t->dequantize(rows, *as_f32, n);
    const size_t head = dtype_row_bytes(t->id, dim), n_row = s->n_row ? s->n_row : n_kv;
    *kv = (struct kv_rows){ .type = t->id,
                            .row_bytes = (by_head ? head : bytes) + ROW_GAP,
                            .head_bytes = by_head ? n_row * (head + ROW_GAP) : head,
                            .n_row = (uint32_t)n_row };
    const size_t all = n_row * (by_head ? s->n_head_kv : 1) * kv->row_bytes;
    unsigned char *ring = check_alloc(all);
    memset(ring, 0xff, all); /* NaN, where nothing may be read */
    for (uint32_t j = 0; j < n_kv; j++)
        for (uint32_t h = 0; h < s->n_head_kv; h++)
            memcpy(ring + j % n_row * kv->row_bytes + h * kv->head_bytes, rows + j * bytes + h * head, head);
    free(rows);
    kv->data = ring;
    return ring;
}

/* V is the beginning of each head of K. */
static void values_in_keys(struct buffers *b, const struct shape *s)
{
    b->a.v = b->a.k;
    b->v_rows = NULL;
    b->v = check_alloc((size_t)b->n_kv * s->n_head_kv * s->dim_v * sizeof *b->v);
    for (size_t i = 0; i < (size_t)b->n_kv * s->n_head_kv; i++)
        memcpy(b->v + i * s->dim_v, b->k + i * s->dim, s->dim_v * sizeof *b->v);
}

/* spread: about the standard deviation of the scores. */
static void buffers_init(struct buffers *b, const struct shape *s,
                         const struct dtype_info *kt, const struct dtype_info *vt,
                         struct rng *r, double spread)
{
    struct attention_args *a = &b->a;
    *b = (struct buffers){ .n_kv = s->n_past + s->n_tok };
    const bool by_head = (rng_u64(r) & 1) != 0;
    b->k_rows = cache_init(&a->k, kt, s, s->dim, r, by_head, &b->k);
    if (s->v_in_k)
        values_in_keys(b, s);
    else
        b->v_rows = cache_init(&a->v, vt, s, s->dim_v, r, !by_head, &b->v);
    double square = 1e-30;
    size_t n = (size_t)b->n_kv * s->n_head_kv * s->dim;
    for (size_t i = 0; i < n; i++)
        square += (double)b->k[i] * (double)b->k[i] / (double)n;
    a->q_head_stride = s->dim + Q_GAP;
    a->q_stride = s->n_head * a->q_head_stride + 3;
    a->out_stride = s->n_head * s->dim_v + OUT_GAP;
    a->q = b->q = random_floats(r, s->n_tok * a->q_stride, spread / sqrt(square));
    a->out = b->out = check_alloc(s->n_tok * a->out_stride * sizeof *b->out);
    for (size_t i = 0; i < s->n_tok * a->out_stride; i++)
        b->out[i] = -77;
    b->sinks = random_floats(r, s->n_head, 4);
    a->sinks = s->sinks ? b->sinks : NULL;
    a->n_tok = s->n_tok, a->n_past = s->n_past, a->window = s->window;
    a->n_head = s->n_head, a->n_head_kv = s->n_head_kv;
    a->head_dim = s->dim, a->head_dim_v = s->dim_v;
    a->scale = 1.0f / sqrtf((float)s->dim);
    a->softcap = s->cap;
    b->scratch_bytes = kernels_attention_scratch_bytes(
        b->n_kv, s->dim > s->dim_v ? s->dim : s->dim_v, s->n_head / s->n_head_kv, s->n_tok);
    a->scratch = b->scratch = check_scratch(b->scratch_bytes + GUARD);
    memset(b->scratch + b->scratch_bytes, 0x5a, GUARD);
}

static void buffers_free(struct buffers *b)
{
    for (size_t i = 0; i < GUARD; i++) /* nobody wrote past the scratch */
        assert_int_equal(b->scratch[b->scratch_bytes + i], 0x5a);
    free(b->q);
    free(b->out);
    free(b->sinks);
    free(b->k);
    free(b->v);
    free(b->k_rows);
    free(b->v_rows);
    free(b->scratch);
}

/* Score of key j and the bound of its error: methods.md (96). */
static double score(const struct buffers *b, uint32_t t, uint32_t h, uint32_t j,
                    double *error)
{
    const struct attention_args *a = &b->a;
    const float *q = a->q + t * a->q_stride + h * a->q_head_stride;
    const float *k =
        b->k + (size_t)(j * a->n_head_kv + h / (a->n_head / a->n_head_kv)) * a->head_dim;
    double s = 0, abs = 0;
    for (uint32_t d = 0; d < a->head_dim; d++) {
        double m = (double)q[d] * (double)k[d];
        s += m, abs += fabs(m);
    }
    s *= (double)a->scale;
    *error = ((a->head_dim + 4) * 0x1p-24 + (a->rounded ? 2 * ROUNDED : 0)) * abs * (double)a->scale;
    if (a->softcap != 0) {
        s = (double)a->softcap * tanh(s / (double)a->softcap);
        *error += 10 * 0x1p-24 * fabs(s);
    }
    return s;
}

/*
 * One output row in double. Scores off by e change each weight by a factor exp(e); exp
 * itself, the sums over keys and their rescaling add (2 * keys + 16) * 2^-24. All relative
 * to sum p|v|. Rounded weights of keys are off in the sum and in its divisor, and values. methods.md (96), (95)
 */
static void check_row(const struct kernels *k, const struct buffers *b, const char *what,
                      uint32_t t, uint32_t h)
{
    const struct attention_args *a = &b->a;
    uint32_t pos = a->n_past + t, lo = 0, dim = a->head_dim_v;
    if (a->window && pos + 1 > a->window)
        lo = pos + 1 - a->window;
    double *p = check_alloc((pos + 1) * sizeof *p), sum = 0, e = 0, e_j;
    double sink = a->sinks ? (double)a->sinks[h] : -INFINITY, max = sink;
    for (uint32_t j = lo; j <= pos; j++) {
        p[j] = score(b, t, h, j, &e_j);
        max = fmax(max, p[j]);
        e = fmax(e, e_j);
    }
    for (uint32_t j = lo; j <= pos; j++)
        sum += p[j] = exp(p[j] - max);
    sum += exp(sink - max);
    double *want = check_alloc(2 * dim * sizeof *want), *abs = want + dim;
    for (uint32_t d = 0; d < 2 * dim; d++)
        want[d] = 0;
    for (uint32_t j = lo; j <= pos; j++) {
        const size_t row = j * a->n_head_kv + h / (a->n_head / a->n_head_kv);
        const double w = p[j] / sum;
        for (uint32_t d = 0; d < dim; d++) {
            const double m = w * (double)b->v[row * dim + d];
            want[d] += m, abs[d] += fabs(m);
        }
    }
    for (uint32_t d = 0; d < dim; d++) {
        const double got = (double)a->out[t * a->out_stride + h * dim + d];
        const double rounded = a->rounded ? 3 * ROUNDED + 2 * ROUNDED_EXP2 : 0;
        double bound = (2 * e + rounded + (2 * (pos - lo) + 16) * 0x1p-24) * abs[d] + 1e-30;
        if (!(fabs(got - want[d]) <= bound))
            fail_msg("%s: attention, %s: token %u head %u dim %u: %.9g, expected %.9g, "
                     "bound %.3g",
                     k->isa, what, t, h, d, got, want[d], bound);
    }
    free(want);
    free(p);
}

/* As the engine calls it: some heads of a KV head at a time, tokens in two pieces. */
static void run_all(const struct kernels *k, const struct buffers *b, struct work *w)
{
    const struct attention_args *a = &b->a;
    uint32_t group = a->n_head / a->n_head_kv, mid = a->n_tok / 3, some = group / 3;
    memset(w, 0, sizeof *w);
    for (uint32_t h = 0; h < a->n_head; h += group) {
        if (mid)
            k->attention(a, h, h + group, 0, mid, true, w);
        if (some)
            k->attention(a, h, h + some, mid, a->n_tok, false, w);
        k->attention(a, h + some, h + group, mid, a->n_tok, true, w);
    }
}

/* FLOP: 2 (dim + dim_v) for each head, token and key seen. KV bytes: rows walked by the
 * call that counts, of K and of V unless it is in K. */
static void check_work(const struct kernels *k, const struct buffers *b, const char *what,
                       const struct work *w)
{
    const struct attention_args *a = &b->a;
    uint64_t keys = 0, first = a->n_past, rows = b->n_kv;
    for (uint64_t t = 0; t < a->n_tok; t++)
        keys += a->window ? u64_min(a->n_past + t + 1, a->window) : a->n_past + t + 1;
    rows -= a->window && first + 1 > a->window ? first + 1 - a->window : 0;
    uint64_t flop = 2 * (uint64_t)(a->head_dim + a->head_dim_v) * a->n_head * keys;
    uint64_t bytes = dtype_row_bytes(a->k.type, a->head_dim);
    if (b->v_rows)
        bytes += dtype_row_bytes(a->v.type, a->head_dim_v);
    bytes *= a->n_head_kv * rows;
    if (w->flop != flop || w->kv_bytes != bytes || w->weight_bytes || w->act_bytes)
        fail_msg("%s: attention, %s: counted %llu FLOP, %llu KV bytes; expected %llu, %llu",
                 k->isa, what, (unsigned long long)w->flop, (unsigned long long)w->kv_bytes,
                 (unsigned long long)flop, (unsigned long long)bytes);
}

static void check_shape(const struct kernels *k, size_t i, const struct dtype_info *kt,
                        const struct dtype_info *vt, struct rng *r, bool rounded)
{
    const struct shape *s = &shapes[i];
    struct buffers b;
    struct work w;
    char what[80];
    snprintf(what, sizeof what, "shape %zu, K %s, V %s%s", i, kt->name, vt->name, rounded ? ", rounded" : "");
    buffers_init(&b, s, kt, vt, r, i % 3 == 2 ? 20 : 1); /* peaked softmax too */
    b.a.rounded = rounded;
    run_all(k, &b, &w);
    check_work(k, &b, what, &w);
    for (uint32_t t = 0; t < s->n_tok; t++) {
        for (uint32_t h = 0; h < s->n_head; h++)
            check_row(k, &b, what, t, h);
        for (size_t g = s->n_head * s->dim_v; g < b.a.out_stride; g++)
            assert_true(b.out[t * b.a.out_stride + g] == -77);
    }
    buffers_free(&b);
}

/* Every type of K with itself and with F16 as V: each is K's and V's loader at least once.
 */
void test_attention(void **state)
{
    (void)state;
    const struct dtype_info *f16 = dtype_find(DTYPE_F16);
    struct kernels k;
    struct rng r;
    rng_init(&r, 11);
    for (size_t i = 0; rung_at(i, &k); i++)
        for (size_t d = 0; dtype_at(d); d++)
            for (size_t s = d % check_every(); s < ARRAY_LEN(shapes); s += check_every()) {
                const struct dtype_info *t = dtype_at(d);
                if (!dtype_executable(t->id) || shapes[s].dim % t->block_elems != 0)
                    continue;
                bool same =
                    shapes[s].dim_v % t->block_elems == 0 && (s % 2 || shapes[s].v_in_k);
                check_shape(&k, s, t, same ? t : f16, &r, false);
                if (k.rounded_min_tok > 0)
                    check_shape(&k, s, t, same ? t : f16, &r, true);
            }
}

/* Keys in parts, merged here: as if there were one. */
static void check_parts(const struct kernels *k, const struct shape *s, const struct dtype_info *t, struct rng *r)
{
    enum { PARTS = 3 };
    struct buffers b;
    struct work w = { 0 };
    buffers_init(&b, s, t, t, r, 4);
    struct attention_args a = b.a;
    const uint32_t group = s->n_head / s->n_head_kv;
    const uint32_t first = s->window && s->n_past + 1 > s->window ? s->n_past + 1 - s->window : 0;
    const uint32_t cut[PARTS + 1] = { first, first + 3, first + 90, s->n_past + 1 };
    const size_t n = (size_t)s->n_head * s->dim_v;
    float *out = check_alloc(PARTS * n * sizeof *out), *part = check_alloc(PARTS * 2 * s->n_head * sizeof *part);
    for (size_t p = 0; p < PARTS; p++) {
        a.key0 = cut[p], a.key1 = cut[p + 1];
        a.out = out + p * n, a.part = part + p * 2 * s->n_head;
        a.sinks = s->sinks && p == 0 ? b.sinks : NULL;
        for (uint32_t h = 0; h < s->n_head; h += group)
            k->attention(&a, h, h + group, 0, 1, true, &w);
    }
    check_work(k, &b, "parts", &w);
    for (uint32_t h = 0; h < s->n_head; h++)
        for (uint32_t d = 0; d < s->dim_v; d++) {
            double sum = 0, of = 0, top = (double)part[2 * h];
            for (size_t p = 0; p < PARTS; p++) {
                const float *of_part = part + (p * s->n_head + h) * 2;
                const double f = exp((double)of_part[0] - top);
                sum += f * (double)of_part[1];
                of += f * (double)out[p * n + h * s->dim_v + d];
            }
            b.out[h * s->dim_v + d] = (float)(of / sum);
        }
    for (uint32_t h = 0; h < s->n_head; h++)
        check_row(k, &b, "parts", 0, h);
    free(out);
    free(part);
    buffers_free(&b);
}

void test_attention_parts(void **state)
{
    (void)state;
    static const enum dtype types[] = { DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_Q8_0, DTYPE_Q4_0, DTYPE_Q5_1 };
    static const struct shape of[] = {
        {1,  300, 8,  2, 64,  64,  0,   0,   0,  false, false},
        { 1, 200, 3,  1, 128, 96,  120, 0,   0,  true,  false},
        { 1, 500, 14, 2, 64,  64,  130, 140, 20, true,  false},
        { 1, 150, 16, 1, 576, 512, 0,   0,   0,  false, true },
    };
    struct kernels k;
    struct rng r;
    rng_init(&r, 17);
    for (size_t i = 0; rung_at(i, &k); i++)
        for (size_t t = 0; t < ARRAY_LEN(types); t++)
            for (size_t s = 0; s < ARRAY_LEN(of); s++)
                check_parts(&k, &of[s], dtype_find(types[t]), &r);
}

/* The rows of a contiguous cache in blocks of 1 << shift positions in random places, and their table, as the seen ones need it: others are NaN. */
static struct kv_rows paged(const struct kv_rows *from, uint32_t n_kv, uint32_t first_seen, size_t heads, size_t head, unsigned shift, struct rng *r,
                            unsigned char **mem)
{
    const uint32_t n_row = 1u << shift, n = (n_kv + n_row - 1) >> shift;
    struct kv_rows to = *from;
    to.n_row = n_row, to.shift = shift;
    to.row_bytes = head;
    to.head_bytes = n_row * head;
    to.block_bytes = heads * to.head_bytes + ROW_GAP;
    uint32_t *table = check_alloc(n * sizeof *table);
    *mem = check_alloc((n + 1) * to.block_bytes);
    memset(*mem, 0xff, (n + 1) * to.block_bytes); /* the last stays so */
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t j = (uint32_t)(rng_u64(r) % (i + 1));
        table[i] = table[j];
        table[j] = i;
    }
    to.data = *mem;
    to.table = table;
    for (uint32_t pos = first_seen; pos < n_kv; pos++)
        for (size_t h = 0; h < heads; h++)
            memcpy(*mem + (kv_at(&to, h, pos) - *mem), kv_at(from, h, pos), head);
    for (uint32_t i = 0; i < first_seen >> shift; i++)
        table[i] = n;
    return to;
}

/* All heads in one call: the same bits and work as KV head by KV head. */
static void check_together(const struct kernels *k, const struct shape *s, const struct buffers *b)
{
    struct attention_args a = b->a;
    struct work apart = { 0 }, together = { 0 };
    const uint32_t own = s->n_head / s->n_head_kv;
    const size_t bytes = (size_t)s->n_head * s->dim_v * sizeof *b->out;
    float *out = check_alloc(bytes);
    for (uint32_t h = 0; h < s->n_head; h += own)
        k->attention(&a, h, h + own, 0, 1, true, &apart);
    memcpy(out, b->out, bytes);
    memset(b->out, 0, bytes);
    a.scratch = check_alloc(kernels_attention_scratch_bytes(b->n_kv, s->dim > s->dim_v ? s->dim : s->dim_v, s->n_head, 1));
    k->attention(&a, 0, s->n_head, 0, 1, true, &together);
    if (memcmp(&together, &apart, sizeof apart) != 0)
        fail_msg("%s: attention of %u heads in one call counts otherwise than one by one", k->isa, s->n_head);
    if (memcmp(out, b->out, bytes) != 0)
        fail_msg("%s: attention of %u heads in one call: not the bits of one by one", k->isa, s->n_head);
    free(a.scratch);
    free(out);
}

/* The same bits as of a contiguous cache, and the same work. */
static void check_paged(const struct kernels *k, const struct shape *s, const struct dtype_info *t, unsigned shift, bool rounded, struct rng *r)
{
    struct buffers b;
    struct work w, paged_w;
    unsigned char *k_mem, *v_mem = NULL;
    buffers_init(&b, s, t, t, r, 2);
    b.a.rounded = rounded;
    const size_t bytes = s->n_tok * b.a.out_stride * sizeof *b.out;
    float *out = check_alloc(bytes);
    run_all(k, &b, &w);
    memcpy(out, b.out, bytes);
    memset(b.out, 0, bytes);
    const uint32_t first = s->window && s->n_past + 1 > s->window ? s->n_past + 1 - s->window : 0;
    struct kv_rows keys = paged(&b.a.k, b.n_kv, first, s->n_head_kv, dtype_row_bytes(t->id, s->dim), shift, r, &k_mem), values = keys;
    if (!s->v_in_k)
        values = paged(&b.a.v, b.n_kv, first, s->n_head_kv, dtype_row_bytes(t->id, s->dim_v), shift, r, &v_mem);
    b.a.k = keys, b.a.v = values;
    run_all(k, &b, &paged_w);
    assert_memory_equal(&w, &paged_w, sizeof w);
    for (size_t i = 0; i < s->n_tok; i++)
        if (memcmp(out + i * b.a.out_stride, b.out + i * b.a.out_stride, (size_t)s->n_head * s->dim_v * sizeof *out) != 0)
            fail_msg("%s: attention of %s in blocks of %u, %u tokens after %u, token %zu: not the bits of a contiguous cache", k->isa, t->name, 1u << shift,
                     s->n_tok, s->n_past, i);
    if (s->n_tok == 1)
        check_together(k, s, &b);
    free((void *)(uintptr_t)keys.table);
    if (values.table != keys.table)
        free((void *)(uintptr_t)values.table);
    free(k_mem);
    free(v_mem);
    free(out);
    buffers_free(&b);
}

void test_attention_paged(void **state)
{
    (void)state;
    static const enum dtype types[] = { DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_Q8_0, DTYPE_Q4_0, DTYPE_Q5_1 };
    static const struct shape of[] = {
        {1,   300, 8,  2, 64,  64,  0,   0,   0,  false, false},
        { 1,  203, 3,  1, 128, 96,  117, 0,   0,  true,  false},
        { 1,  129, 2,  2, 32,  32,  0,   0,   30, false, false},
        { 1,  150, 16, 1, 576, 512, 0,   0,   0,  false, true },
        { 1,  213, 15, 5, 64,  64,  100, 0,   0,  true,  false},
        { 1,  190, 36, 3, 64,  32,  0,   0,   30, false, false},
        { 40, 61,  4,  2, 64,  64,  0,   0,   0,  false, false},
        { 33, 200, 4,  2, 64,  64,  75,  0,   0,  true,  false},
        { 9,  60,  7,  1, 576, 512, 0,   0,   0,  true,  true },
    };
    struct kernels k;
    struct rng r;
    rng_init(&r, 23);
    for (size_t i = 0; rung_at(i, &k); i++)
        for (size_t t = 0; t < ARRAY_LEN(types); t++)
            for (size_t s = 0; s < ARRAY_LEN(of); s++) {
                const unsigned shift = 3 + (unsigned)((t + s) % 5);
                check_paged(&k, &of[s], dtype_find(types[t]), shift, false, &r);
                if (k.rounded_min_tok > 0)
                    check_paged(&k, &of[s], dtype_find(types[t]), shift, true, &r);
            }
}

/* How memory is asked for lines to come (CPU_SW_PREFETCH) changes no bit; the functions that this host does not use are held to those that
 * test_attention has tried. */
void test_attention_asks(void **state)
{
    (void)state;
    static const enum dtype types[] = { DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_Q8_0, DTYPE_Q4_0, DTYPE_Q5_1 };
    static const struct shape of[] = {
        {1,   300, 8, 2, 64,  64, 0, 0, 0, false, false},
        { 1,  200, 3, 1, 128, 96, 0, 0, 0, false, false},
        { 40, 60,  4, 2, 64,  64, 0, 0, 0, false, false},
    };
    struct rng r;
    rng_init(&r, 19);
    bool usable;
    for (size_t i = 0; kernels_isa_at(i, &usable); i++) {
        struct error err;
        unsigned flags;
        struct kernels k, once;
        if (!usable)
            continue;
        assert_ok(kernels_isa_flags(kernels_isa_at(i, NULL), &flags, &err), err);
        kernels_init(&k, flags & ~(unsigned)CPU_TUNING);
        kernels_init(&once, (flags & ~(unsigned)CPU_TUNING) | CPU_SW_PREFETCH);
        for (size_t j = 0; k.attention != once.attention && j < ARRAY_LEN(types) * ARRAY_LEN(of); j++) {
            const struct shape *s = &of[j % ARRAY_LEN(of)];
            const struct dtype_info *t = dtype_find(types[j / ARRAY_LEN(of)]);
            struct buffers b;
            struct work w;
            buffers_init(&b, s, t, t, &r, 1);
            b.a.rounded = k.rounded_min_tok > 0;
            const size_t bytes = s->n_tok * b.a.out_stride * sizeof *b.out;
            float *out = check_alloc(bytes);
            run_all(&k, &b, &w);
            memcpy(out, b.out, bytes);
            memset(b.out, 0, bytes);
            run_all(&once, &b, &w);
            for (size_t h = 0; h < s->n_tok; h++)
                if (memcmp(out + h * b.a.out_stride, b.out + h * b.a.out_stride, (size_t)s->n_head * s->dim_v * sizeof *out) != 0)
                    fail_msg("%s: attention of %s, token %zu: what a CPU's memory likes changes the results", k.isa, t->name, h);
            free(out);
            buffers_free(&b);
        }
    }
}

/* A sink far above every score leaves nothing of the values, one of -infinity everything;
 * a cap far above every score changes nothing. */
void test_attention_limits(void **state)
{
    (void)state;
    const struct shape s = { 2, 69, 3, 1, 64, 64, 0, 0, 0, false, false };
    struct kernels k;
    struct rng r;
    rng_init(&r, 13);
    for (size_t i = 0; rung_at(i, &k); i++) {
        struct buffers b;
        struct work w;
        enum { N = 3 * 64 };
        float plain[N];
        buffers_init(&b, &s, dtype_find(DTYPE_F16), dtype_find(DTYPE_F16), &r, 1);
        run_all(&k, &b, &w);
        memcpy(plain, b.out, sizeof plain);
        for (uint32_t h = 0; h < s.n_head; h++)
            b.sinks[h] = -INFINITY;
        b.a.sinks = b.sinks;
        b.a.softcap = 1e6f;
        run_all(&k, &b, &w);
        for (size_t j = 0; j < N; j++)
            assert_true(fabsf(plain[j] - b.out[j]) <= 1e-4f);
        for (uint32_t h = 0; h < s.n_head; h++)
            b.sinks[h] = 1000;
        run_all(&k, &b, &w);
        for (size_t j = 0; j < N; j++)
            assert_true(b.out[j] == 0);
        buffers_free(&b);
    }
}
