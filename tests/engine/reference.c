/* See reference.h. Slow on purpose: nothing here is clever, so that it can be read against the paper. */
#include "reference.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct matrix {
    int rows, cols;
    double *w; /* [rows, cols] */
};

struct layer {
    struct matrix attn_norm, q, k, v, o, ffn_norm, gate, up, down;
    double *keys, *values; /* [n_ctx][n_kv * dim] */
};

struct reference {
    int n_layer, n_embd, n_head, n_kv, dim, n_rot, n_vocab, pos;
    double theta, eps;
    struct matrix embd, norm, head;
    double *factor; /* of each rotary frequency, or NULL */
    struct layer *layer;
    double *logits;
};

static double half_value(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    double v = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h >> 15 ? -v : v;
}

static struct matrix load(const struct gguf *g, const char *name)
{
    struct matrix a = { 0 };
    const struct gguf_tensor *t = gguf_tensor_find(g, name);
    if (!t)
        return a;
    a.cols = (int)t->dims[0];
    a.rows = (int)t->dims[1];
    size_t n = (size_t)a.rows * (size_t)a.cols;
    a.w = malloc(n * sizeof(double));
    const char *p = t->data;
    for (size_t i = 0; i < n; i++) {
        float f;
        uint16_t h;
        if (t->type == DTYPE_F32) {
            memcpy(&f, p + 4 * i, 4);
            a.w[i] = f;
        } else {
            memcpy(&h, p + 2 * i, 2);
            a.w[i] = half_value(h);
        }
    }
    return a;
}

static struct matrix load_block(const struct gguf *g, int i, const char *part)
{
    char name[64];
    snprintf(name, sizeof name, "blk.%d.%s.weight", i, part);
    return load(g, name);
}

static int number(const struct gguf *g, const char *key, int otherwise)
{
    uint64_t v = (uint64_t)otherwise;
    gguf_opt_u64(g, key, &v, NULL);
    return (int)v;
}

struct reference *reference_new(const struct gguf *g, int n_ctx)
{
    struct reference *r = calloc(1, sizeof *r);
    r->n_layer = number(g, "llama.block_count", 0);
    r->n_embd = number(g, "llama.embedding_length", 0);
    r->n_head = number(g, "llama.attention.head_count", 0);
    r->n_kv = number(g, "llama.attention.head_count_kv", r->n_head);
    r->dim = number(g, "llama.attention.key_length", r->n_embd / r->n_head);
    r->n_rot = number(g, "llama.rope.dimension_count", r->dim);
    r->theta = 10000;
    r->eps = 1e-5;
    gguf_opt_f64(g, "llama.rope.freq_base", &r->theta, NULL);
    gguf_opt_f64(g, "llama.attention.layer_norm_rms_epsilon", &r->eps, NULL);
    r->embd = load(g, "token_embd.weight");
    r->norm = load(g, "output_norm.weight");
    r->head = load(g, "output.weight");
    if (!r->head.w)
        r->head = load(g, "token_embd.weight");
    r->factor = load(g, "rope_freqs.weight").w;
    r->n_vocab = r->head.rows;
    r->logits = calloc((size_t)r->n_vocab, sizeof(double));
    r->layer = calloc((size_t)r->n_layer, sizeof *r->layer);
    for (int i = 0; i < r->n_layer; i++) {
        struct layer *l = &r->layer[i];
        l->attn_norm = load_block(g, i, "attn_norm");
        l->q = load_block(g, i, "attn_q");
        l->k = load_block(g, i, "attn_k");
        l->v = load_block(g, i, "attn_v");
        l->o = load_block(g, i, "attn_output");
        l->ffn_norm = load_block(g, i, "ffn_norm");
        l->gate = load_block(g, i, "ffn_gate");
        l->up = load_block(g, i, "ffn_up");
        l->down = load_block(g, i, "ffn_down");
        l->keys = calloc((size_t)(n_ctx * r->n_kv * r->dim), sizeof(double));
        l->values = calloc((size_t)(n_ctx * r->n_kv * r->dim), sizeof(double));
    }
    return r;
}

void reference_free(struct reference *r)
{
    for (int i = 0; i < r->n_layer; i++) {
        struct layer *l = &r->layer[i];
        double *all[] = { l->attn_norm.w, l->q.w,  l->k.w,    l->v.w,  l->o.w,     l->ffn_norm.w,
                          l->gate.w,      l->up.w, l->down.w, l->keys, l->values };
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            free(all[k]);
    }
    free(r->layer);
    free(r->embd.w);
    free(r->norm.w);
    free(r->head.w);
    free(r->factor);
    free(r->logits);
    free(r);
}

int reference_n_vocab(const struct reference *r)
{
    return r->n_vocab;
}

static void multiply(double *y, const struct matrix *a, const double *x)
{
    for (int i = 0; i < a->rows; i++) {
        y[i] = 0;
        for (int j = 0; j < a->cols; j++)
            y[i] += a->w[(size_t)i * (size_t)a->cols + (size_t)j] * x[j];
    }
}

static void normalize(double *y, const double *x, const struct matrix *w, int n, double eps)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += x[i] * x[i];
    for (int i = 0; i < n; i++)
        y[i] = x[i] / sqrt(s / n + eps) * w->w[i];
}

/* Pairs (2i, 2i+1) of each head turn by pos * theta^(-2i/n_rot). */
static void rotate(const struct reference *r, double *x, int heads)
{
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < r->n_rot / 2; i++) {
            double f = pow(r->theta, -2.0 * i / r->n_rot) / (r->factor ? r->factor[i] : 1);
            double c = cos(r->pos * f), s = sin(r->pos * f);
            double *p = x + h * r->dim + 2 * i, a = p[0], b = p[1];
            p[0] = a * c - b * s;
            p[1] = a * s + b * c;
        }
}

static void attend(const struct reference *r, const struct layer *l, const double *q, double *out)
{
    const int kv = r->n_kv * r->dim, share = r->n_head / r->n_kv;
    double *score = calloc((size_t)r->pos + 1, sizeof(double));
    for (int h = 0; h < r->n_head; h++) {
        const int at = h / share * r->dim;
        double top = -1e300, sum = 0;
        for (int t = 0; t <= r->pos; t++) {
            score[t] = 0;
            for (int i = 0; i < r->dim; i++)
                score[t] += q[h * r->dim + i] * l->keys[t * kv + at + i];
            score[t] /= sqrt(r->dim);
            top = score[t] > top ? score[t] : top;
        }
        for (int t = 0; t <= r->pos; t++)
            sum += score[t] = exp(score[t] - top);
        for (int i = 0; i < r->dim; i++) {
            out[h * r->dim + i] = 0;
            for (int t = 0; t <= r->pos; t++)
                out[h * r->dim + i] += score[t] / sum * l->values[t * kv + at + i];
        }
    }
    free(score);
}

static void block(struct reference *r, struct layer *l, double *x)
{
    const int q = r->n_head * r->dim, kv = r->n_kv * r->dim, ff = l->gate.rows;
    double *m = calloc((size_t)(2 * r->n_embd + 2 * q + 2 * ff), sizeof(double));
    double *h = m, *y = h + r->n_embd, *query = y + r->n_embd, *mixed = query + q, *gate = mixed + q, *up = gate + ff;
    double *key = l->keys + r->pos * kv, *value = l->values + r->pos * kv;
    normalize(h, x, &l->attn_norm, r->n_embd, r->eps);
    multiply(query, &l->q, h);
    multiply(key, &l->k, h);
    multiply(value, &l->v, h);
    rotate(r, query, r->n_head);
    rotate(r, key, r->n_kv);
    attend(r, l, query, mixed);
    multiply(y, &l->o, mixed);
    for (int i = 0; i < r->n_embd; i++)
        x[i] += y[i];
    normalize(h, x, &l->ffn_norm, r->n_embd, r->eps);
    multiply(gate, &l->gate, h);
    multiply(up, &l->up, h);
    for (int i = 0; i < ff; i++)
        gate[i] = gate[i] / (1 + exp(-gate[i])) * up[i];
    multiply(y, &l->down, gate);
    for (int i = 0; i < r->n_embd; i++)
        x[i] += y[i];
    free(m);
}

const double *reference_step(struct reference *r, int token)
{
    double *x = malloc(2 * (size_t)r->n_embd * sizeof(double)), *h = x + r->n_embd;
    memcpy(x, r->embd.w + (size_t)token * (size_t)r->n_embd, (size_t)r->n_embd * sizeof(double));
    for (int i = 0; i < r->n_layer; i++)
        block(r, &r->layer[i], x);
    normalize(h, x, &r->norm, r->n_embd, r->eps);
    multiply(r->logits, &r->head, h);
    free(x);
    r->pos++;
    return r->logits;
}
