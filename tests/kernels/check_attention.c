/* tests/kernels/check_attention.c: attention of every rung against the formula in double,
 * and the work it says it did against the triangle counted by hand. */
#include "check.h"
#include <math.h>

struct shape {
    uint32_t n_tok, n_past, n_head, n_head_kv, head_dim, window;
};
static const struct shape shapes[] = {
    {1,    0,   4, 4, 64,  0  },
    { 1,   300, 8, 2, 64,  0  },
    { 7,   0,   6, 1, 48,  0  },
    { 33,  5,   4, 2, 80,  0  },
    { 70,  65,  9, 3, 64,  0  },
    { 130, 0,   2, 2, 128, 0  },
    { 40,  100, 4, 2, 64,  17 },
    { 1,   200, 4, 1, 8,   64 },
    { 200, 3,   2, 1, 32,  100},
    { 3,   63,  2, 2, 24,  0  },
    { 5,   126, 5, 1, 120, 1  },
    { 64,  64,  3, 3, 256, 0  },
};

struct buffers {
    struct attention_args a;
    float *q, *out;
    uint16_t *k, *v;
};

static void buffers_init(struct buffers *b, const struct shape *s, struct rng *r,
                         double scale)
{
    size_t n_kv = s->n_past + s->n_tok, kv = (size_t)s->n_head_kv * s->head_dim;
    size_t n_q = (size_t)s->n_tok * (s->n_head * s->head_dim + 4);
    float *f = random_floats(r, n_kv * kv, 1), *g = random_floats(r, n_kv * kv, 1);
    b->q = random_floats(r, n_q, scale);
    b->out = check_alloc(n_q * sizeof *b->out);
    b->k = check_alloc(n_kv * kv * sizeof *b->k);
    b->v = check_alloc(n_kv * kv * sizeof *b->v);
    for (size_t i = 0; i < n_kv * kv; i++)
        b->k[i] = f32_to_f16(f[i]), b->v[i] = f32_to_f16(g[i]);
    for (size_t i = 0; i < n_q; i++)
        b->out[i] = -77;
    free(f);
    free(g);
    b->a = (struct attention_args){ .q = b->q,
                                    .q_stride = s->n_head * s->head_dim + 4,
                                    .k = b->k,
                                    .v = b->v,
                                    .kv_stride = kv,
                                    .out = b->out,
                                    .out_stride = s->n_head * s->head_dim + 4,
                                    .n_tok = s->n_tok,
                                    .n_past = s->n_past,
                                    .n_head = s->n_head,
                                    .n_head_kv = s->n_head_kv,
                                    .head_dim = s->head_dim,
                                    .window = s->window,
                                    .scale = 1.0f / sqrtf((float)s->head_dim) };
    b->a.scratch = check_alloc(kernels_attention_scratch_bytes(
        n_kv, s->head_dim, s->n_head / s->n_head_kv, s->n_tok));
}

static void buffers_free(struct buffers *b)
{
    free(b->q);
    free(b->out);
    free(b->k);
    free(b->v);
    free(b->a.scratch);
}

/*
 * One output row in double. The error of a score is at most (dim + 4) * 2^-24 * sum |q||k|
 * * scale (e); it changes each weight by a factor exp(e); exp itself, the sums over keys
 * and their rescaling add (2 * keys + 16) * 2^-24. All relative to sum p|v|. methods.md
 * (22)
 */
static void check_row(const struct kernels *k, const struct buffers *b, uint32_t t,
                      uint32_t h)
{
    const struct attention_args *a = &b->a;
    uint32_t pos = a->n_past + t, lo = 0, dim = a->head_dim,
             kv = h / (a->n_head / a->n_head_kv);
    if (a->window && pos + 1 > a->window)
        lo = pos + 1 - a->window;
    double *p = check_alloc((pos + 1) * sizeof *p), max = -INFINITY, sum = 0, e = 0;
    for (uint32_t j = lo; j <= pos; j++) {
        double s = 0, abs = 0;
        for (uint32_t d = 0; d < dim; d++) {
            double m = (double)a->q[t * a->q_stride + h * dim + d] *
                       (double)f16_to_f32(a->k[j * a->kv_stride + kv * dim + d]);
            s += m, abs += fabs(m);
        }
        p[j] = s * (double)a->scale;
        max = fmax(max, p[j]);
        e = fmax(e, (dim + 4) * 0x1p-24 * abs * (double)a->scale);
    }
    for (uint32_t j = lo; j <= pos; j++)
        sum += p[j] = exp(p[j] - max);
    for (uint32_t d = 0; d < dim; d++) {
        double want = 0, abs = 0, got = (double)a->out[t * a->out_stride + h * dim + d];
        for (uint32_t j = lo; j <= pos; j++) {
            double m =
                p[j] / sum * (double)f16_to_f32(a->v[j * a->kv_stride + kv * dim + d]);
            want += m, abs += fabs(m);
        }
        double bound = (2 * e + (2 * (pos - lo) + 16) * 0x1p-24) * abs + 1e-30;
        if (!(fabs(got - want) <= bound))
            fail_msg("%s: attention n_tok %u past %u heads %u/%u dim %u window %u: token "
                     "%u head %u "
                     "dim %u: %.9g, expected %.9g, bound %.3g",
                     k->isa, a->n_tok, a->n_past, a->n_head, a->n_head_kv, dim, a->window,
                     t, h, d, got, want, bound);
    }
    free(p);
}

/* As the engine calls it: a KV head at a time, tokens in two pieces. */
static void run_all(const struct kernels *k, const struct buffers *b, struct work *w)
{
    const struct attention_args *a = &b->a;
    uint32_t group = a->n_head / a->n_head_kv, mid = a->n_tok / 3;
    memset(w, 0, sizeof *w);
    for (uint32_t h = 0; h < a->n_head; h += group) {
        if (mid)
            k->attention(a, h, h + group, 0, mid, false, w);
        k->attention(a, h, h + group, mid, a->n_tok, true, w);
    }
}

void test_attention(void **state)
{
    (void)state;
    struct kernels k;
    struct rng r;
    rng_init(&r, 11);
    for (size_t i = 0; rung_at(i, &k); i++)
        for (size_t s = 0; s < ARRAY_LEN(shapes); s++) {
            struct buffers b;
            struct work w;
            buffers_init(&b, &shapes[s], &r, s % 3 == 2 ? 20 : 1); /* peaked softmax too */
            run_all(&k, &b, &w);
            for (uint32_t t = 0; t < b.a.n_tok; t++) {
                for (uint32_t h = 0; h < b.a.n_head; h++)
                    check_row(&k, &b, t, h);
                for (size_t g = b.a.n_head * b.a.head_dim; g < b.a.out_stride; g++)
                    assert_true(b.out[t * b.a.out_stride + g] == -77);
            }
            buffers_free(&b);
        }
}

/* FLOP: 4 * dim for each head, token and key seen; KV bytes: rows walked by the call that
 * counts. */
void test_attention_work(void **state)
{
    (void)state;
    struct kernels k;
    struct rng r;
    rng_init(&r, 13);
    for (size_t i = 0; rung_at(i, &k); i++)
        for (size_t s = 0; s < ARRAY_LEN(shapes); s++) {
            const struct shape *p = &shapes[s];
            struct buffers b;
            struct work w;
            buffers_init(&b, p, &r, 1);
            run_all(&k, &b, &w);
            uint64_t keys = 0, first = p->n_tok / 3 + p->n_past, rows;
            for (uint64_t t = 0; t < p->n_tok; t++)
                keys +=
                    p->window ? u64_min(p->n_past + t + 1, p->window) : p->n_past + t + 1;
            rows = p->n_past + p->n_tok;
            rows -= p->window && first + 1 > p->window ? first + 1 - p->window : 0;
            if (w.flop != 4 * p->head_dim * p->n_head * keys)
                fail_msg("%s: shape %zu: %llu FLOP counted, %llu expected", k.isa, s,
                         (unsigned long long)w.flop,
                         (unsigned long long)(4 * p->head_dim * p->n_head * keys));
            if (w.kv_bytes != 4 * p->head_dim * p->n_head_kv * rows)
                fail_msg("%s: shape %zu: %llu KV bytes counted, %llu expected", k.isa, s,
                         (unsigned long long)w.kv_bytes,
                         (unsigned long long)(4 * p->head_dim * p->n_head_kv * rows));
            buffers_free(&b);
        }
}
