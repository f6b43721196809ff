/* See core.h. Tensors and the pieces of a block. */
#include "core.h"
#include <stdlib.h>
#include <string.h>

struct ref_block {
    struct ref_block *next;
    double v[];
};

static const struct ref_family *const families[] = {
    &ref_llama, &ref_qwen2, &ref_qwen3,   &ref_qwen3moe, &ref_gemma2,    &ref_gemma3,
    &ref_phi3,  &ref_olmo2, &ref_smollm3, &ref_gpt_oss,  &ref_deepseek2,
};

void ref_fail(struct ref_model *m, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!m->failed)
        error_set(m->err, ERROR_INPUT, "%s: reference: %s", gguf_path(m->g), text);
    m->failed = true;
}

/* ---- keys ---- */

static const char *full_key(const struct ref_model *m, const char *name, char *buf, size_t n)
{
    snprintf(buf, n, "%s.%s", m->arch, name);
    return buf;
}

int ref_key(struct ref_model *m, const char *name, int otherwise)
{
    char key[128];
    uint64_t v = (uint64_t)otherwise;
    if (gguf_opt_u64(m->g, full_key(m, name, key, sizeof key), &v, NULL) != 0 || v > 1 << 24)
        ref_fail(m, "key %s is malformed", key);
    return (int)v;
}

double ref_key_f(struct ref_model *m, const char *name, double otherwise)
{
    char key[128];
    double v = otherwise;
    if (gguf_opt_f64(m->g, full_key(m, name, key, sizeof key), &v, NULL) != 0)
        ref_fail(m, "key %s is malformed", key);
    return v;
}

bool ref_key_b(struct ref_model *m, const char *name, bool otherwise)
{
    char key[128];
    bool v = otherwise;
    if (gguf_opt_bool(m->g, full_key(m, name, key, sizeof key), &v, NULL) != 0)
        ref_fail(m, "key %s is malformed", key);
    return v;
}

/* ---- tensors ---- */

struct ref_mat ref_may(struct ref_model *m, int il, const char *name, int cols, int rows, int n)
{
    struct ref_mat a = { cols, rows, n, NULL };
    char full[128];
    if (il >= 0)
        snprintf(full, sizeof full, "blk.%d.%s", il, name);
    else
        snprintf(full, sizeof full, "%s", name);
    const struct gguf_tensor *t = gguf_tensor_find(m->g, full);
    if (!t)
        return a;
    uint64_t rest = t->dims[1] * t->dims[2] * t->dims[3];
    if (t->dims[0] != (uint64_t)cols || rest != (uint64_t)rows * (uint64_t)n) {
        ref_fail(m, "tensor %s is [%d * %d, %d] by the keys, not [%d, %d]", full, n, rows, cols, (int)rest,
                 (int)t->dims[0]);
        return a;
    }
    const struct dtype_info *d = dtype_find(t->type);
    size_t cells = (size_t)cols * (size_t)rest;
    float *f = malloc(cells * sizeof *f);
    a.w = ref_keep(m, cells);
    if (!d || !d->dequantize || !f)
        ref_fail(m, "tensor %s: no values of type %s", full, dtype_name(t->type));
    else
        d->dequantize(t->data, f, cells);
    for (size_t i = 0; i < cells && !m->failed; i++)
        a.w[i] = f[i];
    free(f);
    return a;
}

struct ref_mat ref_need(struct ref_model *m, int il, const char *name, int cols, int rows, int n)
{
    struct ref_mat a = ref_may(m, il, name, cols, rows, n);
    if (!a.w)
        ref_fail(m, "tensor %s of layer %d is missing", name, il);
    return a;
}

struct ref_mat ref_rows(const struct ref_mat *a, int at, int rows)
{
    return (struct ref_mat){ a->cols, rows, 1, a->w + (size_t)at * (size_t)a->cols };
}

struct ref_mat ref_expert(const struct ref_mat *a, int e)
{
    return ref_rows(a, e * a->rows, a->rows);
}

void ref_need_attention(struct ref_model *m, int il)
{
    struct ref_layer *l = &m->layer[il];
    l->q = ref_need(m, il, "attn_q.weight", m->n_embd, m->n_head * m->dim, 1);
    l->k = ref_need(m, il, "attn_k.weight", m->n_embd, m->n_kv * m->dim, 1);
    l->v = ref_need(m, il, "attn_v.weight", m->n_embd, m->n_kv * m->v_dim, 1);
    l->o = ref_need(m, il, "attn_output.weight", m->n_head * m->v_dim, m->n_embd, 1);
    l->q_bias = ref_may(m, il, "attn_q.bias", m->n_head * m->dim, 1, 1);
    l->k_bias = ref_may(m, il, "attn_k.bias", m->n_kv * m->dim, 1, 1);
    l->v_bias = ref_may(m, il, "attn_v.bias", m->n_kv * m->v_dim, 1, 1);
    l->o_bias = ref_may(m, il, "attn_output.bias", m->n_embd, 1, 1);
}

void ref_need_norms(struct ref_model *m, int il)
{
    m->layer[il].attn_norm = ref_need(m, il, "attn_norm.weight", m->n_embd, 1, 1);
    m->layer[il].ffn_norm = ref_need(m, il, "ffn_norm.weight", m->n_embd, 1, 1);
}

void ref_need_mlp(struct ref_model *m, int il)
{
    m->layer[il].gate = ref_need(m, il, "ffn_gate.weight", m->n_embd, m->n_ff, 1);
    m->layer[il].up = ref_need(m, il, "ffn_up.weight", m->n_embd, m->n_ff, 1);
    m->layer[il].down = ref_need(m, il, "ffn_down.weight", m->n_ff, m->n_embd, 1);
}

void ref_need_experts(struct ref_model *m, int il)
{
    struct ref_layer *l = &m->layer[il];
    l->router = ref_need(m, il, "ffn_gate_inp.weight", m->n_embd, m->n_expert, 1);
    l->gates = ref_need(m, il, "ffn_gate_exps.weight", m->n_embd, m->n_ff_exp, m->n_expert);
    l->ups = ref_need(m, il, "ffn_up_exps.weight", m->n_embd, m->n_ff_exp, m->n_expert);
    l->downs = ref_need(m, il, "ffn_down_exps.weight", m->n_ff_exp, m->n_embd, m->n_expert);
}

/* ---- vectors ---- */

static double *add_block(struct ref_block **list, size_t n)
{
    struct ref_block *b = calloc(1, sizeof *b + n * sizeof(double));
    if (!b)
        abort();
    b->next = *list;
    *list = b;
    return b->v;
}

static void free_blocks(struct ref_block **list)
{
    while (*list) {
        struct ref_block *b = *list;
        *list = b->next;
        free(b);
    }
}

double *ref_vec(struct ref_model *m, int n)
{
    return add_block(&m->tmp, (size_t)n);
}

double *ref_keep(struct ref_model *m, size_t n)
{
    return add_block(&m->kept, n);
}

double *ref_mul(struct ref_model *m, const struct ref_mat *a, const double *x)
{
    double *y = ref_vec(m, a->rows);
    for (int r = 0; r < a->rows; r++) {
        const double *const w = a->w + (size_t)r * (size_t)a->cols;
        double sum = 0; /* in a register: y might be x for all the compiler knows */
        for (int c = 0; c < a->cols; c++)
            sum += w[c] * x[c];
        y[r] = sum;
    }
    return y;
}

double *ref_mul_bias(struct ref_model *m, const struct ref_mat *a, const struct ref_mat *bias, const double *x)
{
    double *y = ref_mul(m, a, x);
    if (bias->w)
        ref_plus(y, bias->w, a->rows);
    return y;
}

void ref_plus(double *y, const double *x, int n)
{
    for (int i = 0; i < n; i++)
        y[i] += x[i];
}

static void rms(double *y, const double *x, const double *w, int n, double eps)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += x[i] * x[i];
    s = sqrt(s / n + eps);
    for (int i = 0; i < n; i++)
        y[i] = x[i] / s * w[i];
}

double *ref_rms(struct ref_model *m, const double *x, const struct ref_mat *w)
{
    double *y = ref_vec(m, w->cols);
    rms(y, x, w->w, w->cols, m->eps);
    return y;
}

void ref_rms_heads(struct ref_model *m, double *x, int heads, const struct ref_mat *w)
{
    for (int h = 0; h < heads && w->w; h++)
        rms(x + h * w->cols, x + h * w->cols, w->w, w->cols, m->eps);
}

void ref_softmax(double *x, int n)
{
    double top = x[0], sum = 0;
    for (int i = 1; i < n; i++)
        top = fmax(top, x[i]);
    for (int i = 0; i < n; i++)
        sum += x[i] = exp(x[i] - top);
    for (int i = 0; i < n; i++)
        x[i] /= sum;
}

double ref_silu(double x)
{
    return x / (1 + exp(-x));
}

double ref_gelu(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

double *ref_mlp(struct ref_model *m, const struct ref_mat *gate, const struct ref_mat *up, const struct ref_mat *down,
                double (*act)(double), const double *x)
{
    double *a = ref_mul(m, gate, x), *b = ref_mul(m, up, x);
    for (int i = 0; i < gate->rows; i++)
        a[i] = act(a[i]) * b[i];
    return ref_mul(m, down, a);
}

/* ---- the model ---- */

static void read_keys(struct ref_model *m)
{
    m->n_nextn = ref_key(m, "nextn_predict_layers", 0);
    m->n_layer = ref_key(m, "block_count", 0) - m->n_nextn;
    m->n_embd = ref_key(m, "embedding_length", 0);
    m->n_ff = ref_key(m, "feed_forward_length", 0);
    m->n_head = ref_key(m, "attention.head_count", 1);
    m->n_kv = ref_key(m, "attention.head_count_kv", m->n_head);
    m->dim = ref_key(m, "attention.key_length", m->n_embd / m->n_head);
    m->v_dim = ref_key(m, "attention.value_length", m->n_embd / m->n_head);
    m->n_rot = ref_key(m, "rope.dimension_count", m->dim);
    m->n_expert = ref_key(m, "expert_count", 0);
    m->n_used = ref_key(m, "expert_used_count", 0);
    m->n_ff_exp = ref_key(m, "expert_feed_forward_length", m->n_ff);
    m->window = ref_key(m, "attention.sliding_window", 0);
    m->eps = ref_key_f(m, "attention.layer_norm_rms_epsilon", 1e-5);
    m->scale = 1 / sqrt(m->dim);
    if (m->n_layer < 1 || m->n_embd < 1 || m->n_head < 1 || m->n_kv < 1 || m->n_head % m->n_kv ||
        m->n_used > m->n_expert)
        ref_fail(m, "sizes that do not fit each other");
}

static void read_ends(struct ref_model *m)
{
    const struct gguf_tensor *t = gguf_tensor_find(m->g, "token_embd.weight");
    m->n_vocab = t ? (int)t->dims[1] : 0;
    m->embd = ref_need(m, -1, "token_embd.weight", m->n_embd, m->n_vocab, 1);
    m->norm = ref_need(m, -1, "output_norm.weight", m->n_embd, 1, 1);
    m->head = ref_may(m, -1, "output.weight", m->n_embd, m->n_vocab, 1);
    m->logits = ref_keep(m, (size_t)m->n_vocab);
    m->hidden = ref_keep(m, (size_t)m->n_embd);
    m->nextn_logits = ref_keep(m, (size_t)m->n_vocab);
    m->nextn_hidden = ref_keep(m, (size_t)m->n_embd);
}

struct ref_model *ref_new(const struct gguf *g, int n_ctx, const struct ref_options *opt, struct error *err)
{
    struct gguf_str arch;
    if (gguf_get_str(g, "general.architecture", &arch, err) != 0)
        return NULL;
    struct ref_model *m = calloc(1, sizeof *m);
    if (!m)
        abort();
    m->g = g;
    m->err = err;
    m->n_ctx = n_ctx;
    m->margin = INFINITY;
    m->cache = opt ? opt->cache : REF_CACHE_F16;
    snprintf(m->arch, sizeof m->arch, "%.*s", (int)arch.len, arch.s);
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        if (strcmp(families[i]->arch, m->arch) == 0)
            m->family = families[i];
    if (!m->family)
        ref_fail(m, "no family %s", m->arch);
    if (!m->failed)
        read_keys(m);
    if (!m->failed)
        read_ends(m);
    if (!m->failed) {
        m->layer = calloc((size_t)(m->n_layer + m->n_nextn), sizeof *m->layer);
        m->family->init(m);
    }
    m->err = NULL;
    if (m->failed) {
        ref_free(m);
        return NULL;
    }
    return m;
}

void ref_free(struct ref_model *m)
{
    if (!m)
        return;
    free_blocks(&m->tmp);
    free_blocks(&m->kept);
    free(m->layer);
    free(m);
}

int ref_n_vocab(const struct ref_model *m)
{
    return m->n_vocab;
}

double ref_margin(const struct ref_model *m)
{
    return m->margin;
}

void ref_eval(struct ref_model *m, int32_t token, const double **logits)
{
    double *x = ref_vec(m, m->n_embd);
    memcpy(x, m->embd.w + (size_t)token * (size_t)m->n_embd, (size_t)m->n_embd * sizeof *x);
    if (m->family->embed)
        m->family->embed(m, x);
    for (int i = 0; i < m->n_layer; i++)
        m->family->block(m, i, x);
    const double *h = ref_rms(m, x, &m->norm);
    memcpy(m->hidden, h, (size_t)m->n_embd * sizeof *h);
    double *y = ref_mul(m, m->head.w ? &m->head : &m->embd, h);
    if (m->family->finish)
        m->family->finish(m, y);
    memcpy(m->logits, y, (size_t)m->n_vocab * sizeof *y);
    free_blocks(&m->tmp);
    m->pos++;
    *logits = m->logits;
}

const double *ref_hidden(const struct ref_model *m)
{
    return m->hidden;
}

void ref_nextn(struct ref_model *m, int position, const double *h, int32_t token, const double **logits, const double **hidden)
{
    const int il = m->n_layer, n = m->n_embd, pos = m->pos;
    const struct ref_layer *l = &m->layer[il];
    const struct ref_mat *embd = l->nextn_embd.w ? &l->nextn_embd : &m->embd, *head = l->nextn_head.w ? &l->nextn_head : m->head.w ? &m->head : &m->embd;
    double *both = ref_vec(m, 2 * n);
    m->pos = position;
    memcpy(both, ref_rms(m, embd->w + (size_t)token * (size_t)n, &l->enorm), (size_t)n * sizeof *both);
    memcpy(both + n, ref_rms(m, h, &l->hnorm), (size_t)n * sizeof *both);
    double *x = ref_mul(m, &l->eh_proj, both);
    m->family->block(m, il, x);
    const double *out = ref_rms(m, x, l->nextn_norm.w ? &l->nextn_norm : &m->norm);
    memcpy(m->nextn_hidden, out, (size_t)n * sizeof *out);
    memcpy(m->nextn_logits, ref_mul(m, head, out), (size_t)m->n_vocab * sizeof *out);
    free_blocks(&m->tmp);
    m->pos = pos;
    *logits = m->nextn_logits;
    *hidden = m->nextn_hidden;
}
