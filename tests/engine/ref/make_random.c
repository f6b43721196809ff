/* See make_random.h. Two passes: everything is drawn into a list, then the list is written. */
#include "make_random.h"
#include "gguf/gguf.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct item {
    struct item *next;
    char name[64];
    uint32_t n_dims;
    uint64_t dims[4];
    enum dtype type;
    size_t bytes;
    unsigned char data[];
};

struct maker {
    const struct random_spec *s;
    const char *arch;
    struct gguf_writer *w;
    struct item *first, **last;
};

/* ---- drawing ---- */

static void seed(struct rng *r, const struct maker *k, int il, const char *name)
{
    char full[96];
    uint64_t h = 14695981039346656037u ^ k->s->seed * 0x9e3779b97f4a7c15u;
    snprintf(full, sizeof full, "blk.%d.%s", il, name);
    for (const char *p = full; *p; p++)
        h = (h ^ (unsigned char)*p) * 1099511628211u; /* FNV-1a */
    rng_init(r, h);
}

static float *draw(const struct maker *k, int il, const char *name, size_t n, double mean, double sd)
{
    struct rng r;
    float *v = malloc(n * sizeof *v);
    if (!v)
        abort();
    seed(&r, k, il, name);
    for (size_t i = 0; i < n; i++)
        v[i] = (float)(mean + sd * rng_normal(&r));
    return v;
}

static size_t cells(uint32_t n_dims, const uint64_t *dims)
{
    size_t n = 1;
    for (uint32_t i = 0; i < n_dims; i++)
        n *= dims[i];
    return n;
}

static struct item *add(struct maker *k, int il, const char *name, enum dtype type, uint32_t n_dims,
                        const uint64_t *dims)
{
    size_t bytes = dtype_row_bytes(type, dims[0]) * (cells(n_dims, dims) / dims[0]);
    struct item *t = calloc(1, sizeof *t + bytes);
    if (!t)
        abort();
    if (il >= 0)
        snprintf(t->name, sizeof t->name, "blk.%d.%s", il, name);
    else
        snprintf(t->name, sizeof t->name, "%s", name);
    t->n_dims = n_dims;
    memcpy(t->dims, dims, n_dims * sizeof *dims);
    t->type = type;
    t->bytes = bytes;
    *k->last = t;
    k->last = &t->next;
    return t;
}

/* Takes v. A type whose blocks do not divide a row gives way to F16, as quantizers do. */
static void put(struct maker *k, int il, const char *name, enum dtype type, uint32_t n_dims, const uint64_t *dims,
                float *v)
{
    const struct dtype_info *d = dtype_find(type);
    if (!d->quantize || dims[0] % d->block_elems)
        d = dtype_find(DTYPE_F16);
    d->quantize(v, add(k, il, name, d->id, n_dims, dims)->data, cells(n_dims, dims));
    free(v);
}

static void vector(struct maker *k, int il, const char *name, int n, double mean, double sd)
{
    put(k, il, name, DTYPE_F32, 1, (uint64_t[]){ (uint64_t)n }, draw(k, il, name, (size_t)n, mean, sd));
}

static void norm(struct maker *k, int il, const char *name, int n, double mean)
{
    vector(k, il, name, n, mean, 0.25 * mean);
}

/* A norm of the residual stream, four elements of which stand out where the spec says so. */
static void norm_outliers(struct maker *k, int il, const char *name, int n)
{
    float *v = draw(k, il, name, (size_t)n, 1, 0.25);
    for (int i = 0; i < 4 && k->s->outliers > 0; i++)
        v[(7 + i * n / 4) % n] *= (float)k->s->outliers;
    put(k, il, name, DTYPE_F32, 1, (uint64_t[]){ (uint64_t)n }, v);
}

/* [rows, cols] of sd gain / sqrt(cols): keeps the size of its input's elements, times gain. */
static float *matrix(const struct maker *k, int il, const char *name, int rows, int cols, double gain)
{
    return draw(k, il, name, (size_t)rows * (size_t)cols, 0, gain / sqrt(cols));
}

static void put_matrix(struct maker *k, int il, const char *name, int rows, int cols, float *v)
{
    put(k, il, name, k->s->weights, 2, (uint64_t[]){ (uint64_t)cols, (uint64_t)rows }, v);
}

static void linear(struct maker *k, int il, const char *name, int rows, int cols, double gain)
{
    put_matrix(k, il, name, rows, cols, matrix(k, il, name, rows, cols, gain));
}

/* a then b, both freed. */
static float *join(float *a, size_t na, float *b, size_t nb)
{
    a = realloc(a, (na + nb) * sizeof *a);
    if (!a)
        abort();
    memcpy(a + na, b, nb * sizeof *b);
    free(b);
    return a;
}

static bool is(const struct maker *k, const char *family)
{
    return strcmp(k->s->family, family) == 0;
}

static bool muted(const struct maker *k, int il)
{
    return k->s->n_mute > 0 && il >= k->s->n_layer - k->s->n_mute;
}

/* ---- attention ---- */

/* Row (h, half s, j) of a checkpoint becomes row (h, j, s): pairs that were half a head apart become neighbours. */
static float *reorder(float *v, int heads, int dim, int cols)
{
    float *to = malloc((size_t)(heads * dim * cols) * sizeof *to);
    if (!to)
        abort();
    for (int h = 0; h < heads; h++)
        for (int s = 0; s < 2; s++)
            for (int j = 0; j < dim / 2; j++)
                memcpy(to + (h * dim + 2 * j + s) * cols, v + (h * dim + s * dim / 2 + j) * cols,
                       (size_t)cols * sizeof *v);
    free(v);
    return to;
}

static bool paired(const struct maker *k)
{
    return is(k, "llama") || is(k, "mixtral") || is(k, "smollm3");
}

static void attention(struct maker *k, int il)
{
    const struct random_spec *s = k->s;
    const int nq = s->n_head * s->head_dim, nk = s->n_head_kv * s->head_dim, c = s->n_embd;
    float *q = matrix(k, il, "attn_q.weight", nq, c, 1.3 * s->gain_q), *kk = matrix(k, il, "attn_k.weight", nk, c, 1.3);
    float *v = matrix(k, il, "attn_v.weight", nk, c, 1);
    if (paired(k)) {
        q = reorder(q, s->n_head, s->head_dim, c);
        kk = reorder(kk, s->n_head_kv, s->head_dim, c);
    }
    if (is(k, "phi3")) {
        q = join(q, (size_t)(nq * c), kk, (size_t)(nk * c));
        q = join(q, (size_t)((nq + nk) * c), v, (size_t)(nk * c));
        put_matrix(k, il, "attn_qkv.weight", nq + 2 * nk, c, q);
    } else {
        put_matrix(k, il, "attn_q.weight", nq, c, q);
        put_matrix(k, il, "attn_k.weight", nk, c, kk);
        put_matrix(k, il, "attn_v.weight", nk, c, v);
    }
    linear(k, il, "attn_output.weight", c, nq, muted(k, il) ? 0 : s->gain_o);
    if ((is(k, "qwen2") && !s->no_bias) || is(k, "gpt-oss")) {
        vector(k, il, "attn_q.bias", nq, 0, 0.4);
        vector(k, il, "attn_k.bias", nk, 0, 0.4);
        vector(k, il, "attn_v.bias", nk, 0, 0.4);
    }
    if (is(k, "gpt-oss")) {
        vector(k, il, "attn_output.bias", c, 0, 0.3);
        vector(k, il, "attn_sinks.weight", s->n_head, s->sink + 0.5, 1.5);
    }
    if (is(k, "olmo2")) {
        norm(k, il, "attn_q_norm.weight", nq, 1.2);
        norm(k, il, "attn_k_norm.weight", nk, 1.2);
    }
    if (is(k, "qwen3") || is(k, "qwen3moe") || is(k, "gemma3")) {
        norm(k, il, "attn_q_norm.weight", s->head_dim, 1.2);
        norm(k, il, "attn_k_norm.weight", s->head_dim, 1.2);
    }
}

/* deepseek2: [head, nope + v_dim, rank] of the checkpoint, kept, or split with the part of K transposed. */
static void up_projection(struct maker *k, int il)
{
    const struct random_spec *s = k->s;
    const int nope = s->head_dim - s->n_rot, wide = nope + s->v_dim, rank = s->rank;
    float *kv = matrix(k, il, "attn_kv_b.weight", s->n_head * wide, rank, 1.2);
    if (!s->absorbed) {
        put_matrix(k, il, "attn_kv_b.weight", s->n_head * wide, rank, kv);
        return;
    }
    float *kb = malloc((size_t)(s->n_head * rank * nope) * sizeof *kb),
          *vb = malloc((size_t)(s->n_head * s->v_dim * rank) * sizeof *vb);
    if (!kb || !vb)
        abort();
    for (int h = 0; h < s->n_head; h++)
        for (int r = 0; r < rank; r++) {
            for (int i = 0; i < nope; i++)
                kb[(h * rank + r) * nope + i] = kv[(h * wide + i) * rank + r];
            for (int i = 0; i < s->v_dim; i++)
                vb[(h * s->v_dim + i) * rank + r] = kv[(h * wide + nope + i) * rank + r];
        }
    free(kv);
    put(k, il, "attn_k_b.weight", s->weights, 3, (uint64_t[]){ (uint64_t)nope, (uint64_t)rank, (uint64_t)s->n_head },
        kb);
    put(k, il, "attn_v_b.weight", s->weights, 3,
        (uint64_t[]){ (uint64_t)rank, (uint64_t)s->v_dim, (uint64_t)s->n_head }, vb);
}

static void latent_attention(struct maker *k, int il)
{
    const struct random_spec *s = k->s;
    const int nq = s->n_head * s->head_dim;
    if (s->q_rank) {
        linear(k, il, "attn_q_a.weight", s->q_rank, s->n_embd, 1);
        norm(k, il, "attn_q_a_norm.weight", s->q_rank, 1);
        linear(k, il, "attn_q_b.weight", nq, s->q_rank, 1.3 * s->gain_q);
    } else
        linear(k, il, "attn_q.weight", nq, s->n_embd, 1.3 * s->gain_q);
    linear(k, il, "attn_kv_a_mqa.weight", s->rank + s->n_rot, s->n_embd, 1);
    norm(k, il, "attn_kv_a_norm.weight", s->rank, 1);
    up_projection(k, il);
    linear(k, il, "attn_output.weight", s->n_embd, s->n_head * s->v_dim, muted(k, il) ? 0 : s->gain_o);
}

/* ---- feed-forward ---- */

static double mlp_gain(const struct maker *k)
{
    return is(k, "gpt-oss") ? 3 : 1; /* some beyond the clamp at 7 */
}

static void mlp(struct maker *k, int il)
{
    const struct random_spec *s = k->s;
    const size_t n = (size_t)(s->n_ff * s->n_embd);
    if (is(k, "phi3"))
        put_matrix(k, il, "ffn_up.weight", 2 * s->n_ff, s->n_embd,
                   join(matrix(k, il, "ffn_gate.weight", s->n_ff, s->n_embd, 1), n,
                        matrix(k, il, "ffn_up.weight", s->n_ff, s->n_embd, 1), n));
    else {
        linear(k, il, "ffn_gate.weight", s->n_ff, s->n_embd, 1);
        linear(k, il, "ffn_up.weight", s->n_ff, s->n_embd, 1);
    }
    linear(k, il, "ffn_down.weight", s->n_embd, s->n_ff, muted(k, il) ? 0 : 1);
}

/* Blocks of 32: a power of two and 32 codes of FP4, all sixteen equally often (rms 2.93). */
static void mxfp4_experts(struct maker *k, int il, const char *name, int rows, int cols, double gain)
{
    struct rng r;
    struct item *t =
        add(k, il, name, DTYPE_MXFP4, 3, (uint64_t[]){ (uint64_t)cols, (uint64_t)rows, (uint64_t)k->s->n_expert });
    const int e = 127 + (int)lround(log2(gain / sqrt(cols) / 2.93));
    seed(&r, k, il, name);
    for (size_t i = 0; i < t->bytes; i++)
        t->data[i] = (unsigned char)(i % 17 ? rng_u64(&r) : (uint64_t)e + rng_u64(&r) % 3 - 1);
}

static void experts(struct maker *k, int il, const char *part, int rows, int cols, double gain)
{
    const struct random_spec *s = k->s;
    const size_t n = (size_t)(rows * cols);
    char name[64], one[64];
    float *v = NULL;
    snprintf(name, sizeof name, "%s_exps.weight", part);
    if (s->experts == DTYPE_MXFP4) {
        mxfp4_experts(k, il, name, rows, cols, gain);
        return;
    }
    for (int e = 0; e < s->n_expert; e++) {
        snprintf(one, sizeof one, s->same_expert ? "%s.weight" : "%s_exps.%d", part, e);
        v = join(v, (size_t)e * n, matrix(k, il, one, rows, cols, gain), n);
    }
    put(k, il, name, s->experts, 3, (uint64_t[]){ (uint64_t)cols, (uint64_t)rows, (uint64_t)s->n_expert }, v);
}

static void expert_bias(struct maker *k, int il, const char *name, int rows, double sd)
{
    const struct random_spec *s = k->s;
    float *v = NULL;
    char one[64];
    for (int e = 0; e < s->n_expert; e++) {
        snprintf(one, sizeof one, "%s.%d", name, s->same_expert ? 0 : e);
        v = join(v, (size_t)(e * rows), draw(k, il, one, (size_t)rows, 0, sd), (size_t)rows);
    }
    put(k, il, name, DTYPE_F32, 2, (uint64_t[]){ (uint64_t)rows, (uint64_t)s->n_expert }, v);
}

static void mixture(struct maker *k, int il)
{
    const struct random_spec *s = k->s;
    put(k, il, "ffn_gate_inp.weight", DTYPE_F32, 2, (uint64_t[]){ (uint64_t)s->n_embd, (uint64_t)s->n_expert },
        matrix(k, il, "ffn_gate_inp.weight", s->n_expert, s->n_embd, 1.5));
    experts(k, il, "ffn_gate", s->n_ff_exp, s->n_embd, mlp_gain(k));
    experts(k, il, "ffn_up", s->n_ff_exp, s->n_embd, mlp_gain(k));
    experts(k, il, "ffn_down", s->n_embd, s->n_ff_exp, 1 / mlp_gain(k));
    if (is(k, "gpt-oss")) {
        vector(k, il, "ffn_gate_inp.bias", s->n_expert, 0, 0.5);
        expert_bias(k, il, "ffn_gate_exps.bias", s->n_ff_exp, 0.5);
        expert_bias(k, il, "ffn_up_exps.bias", s->n_ff_exp, 0.5);
        expert_bias(k, il, "ffn_down_exps.bias", s->n_embd, 0.3);
    }
    if (s->choice_bias)
        vector(k, il, "exp_probs_b.bias", s->n_expert, 0.1, 0.2);
    if (s->n_shared) {
        linear(k, il, "ffn_gate_shexp.weight", s->n_ff_exp * s->n_shared, s->n_embd, 1);
        linear(k, il, "ffn_up_shexp.weight", s->n_ff_exp * s->n_shared, s->n_embd, 1);
        linear(k, il, "ffn_down_shexp.weight", s->n_embd, s->n_ff_exp * s->n_shared, 1);
    }
}

/* ---- the tensors of a file ---- */

static void rope_tensors(struct maker *k)
{
    const struct random_spec *s = k->s;
    const int n = s->n_rot / 2;
    float *f = draw(k, -1, "rope_freqs.weight", (size_t)n, 0, 0);
    for (int i = 0; i < n; i++) { /* Llama 3.1: low_freq_factor 1, high_freq_factor 4 */
        double wave = 2 * acos(-1) * pow(s->rope_base, 2.0 * i / s->n_rot), t = (s->n_ctx_orig / wave - 1) / 3;
        f[i] = (float)(t > 1 ? 1 : t < 0 ? s->scaling_factor : 1 / ((1 - t) / s->scaling_factor + t));
    }
    if (s->scaling == RANDOM_LLAMA3)
        put(k, -1, "rope_freqs.weight", DTYPE_F32, 1, (uint64_t[]){ (uint64_t)n }, f);
    else
        free(f);
    if (s->scaling != RANDOM_LONGROPE)
        return;
    vector(k, -1, "rope_factors_long.weight", n, 6, 1);
    vector(k, -1, "rope_factors_short.weight", n, 1.3, 0.1);
}

/* [n, 2 n]: the identity of the first n. */
static float *first_half(int n)
{
    float *v = calloc((size_t)(2 * n * n), sizeof *v);
    if (!v)
        abort();
    for (int i = 0; i < n; i++)
        v[(size_t)i * 2 * (size_t)n + (size_t)i] = 1;
    return v;
}

static void nextn(struct maker *k, int il)
{
    const struct random_spec *s = k->s;
    const int n = s->n_embd;
    if (s->nextn_embed) { /* norms of 1: the model's norm of it is that of the embedding */
        put_matrix(k, il, "nextn.eh_proj.weight", n, 2 * n, first_half(n));
        vector(k, il, "nextn.enorm.weight", n, 1, 0);
    } else {
        linear(k, il, "nextn.eh_proj.weight", n, 2 * n, 1.4);
        norm(k, il, "nextn.enorm.weight", n, 1);
    }
    norm(k, il, "nextn.hnorm.weight", n, 1);
    if (!s->nextn_own)
        return;
    put_matrix(k, il, "nextn.embed_tokens.weight", s->n_vocab, n, draw(k, il, "nextn.embed_tokens.weight", (size_t)(s->n_vocab * n), 0, 1));
    linear(k, il, "nextn.shared_head_head.weight", s->n_vocab, n, 2);
    norm(k, il, "nextn.shared_head_norm.weight", n, 1);
}

static void tensors(struct maker *k)
{
    const struct random_spec *s = k->s;
    const bool gemma = strncmp(s->family, "gemma", 5) == 0, post = gemma || is(k, "olmo2");
    const double embd = gemma ? 3 / sqrt(s->n_embd) : s->tied ? 2 / sqrt(s->n_embd) : 1;
    put_matrix(k, -1, "token_embd.weight", s->n_vocab, s->n_embd,
               draw(k, -1, "token_embd.weight", (size_t)(s->n_vocab * s->n_embd), 0, embd));
    norm(k, -1, "output_norm.weight", s->n_embd, is(k, "gemma2") ? 3 : 1); /* logits that reach the cap */
    if (!s->tied)
        linear(k, -1, "output.weight", s->n_vocab, s->n_embd, 2);
    rope_tensors(k);
    for (int il = 0; il < s->n_layer + s->n_nextn; il++) {
        if (!is(k, "olmo2"))
            norm_outliers(k, il, "attn_norm.weight", s->n_embd);
        if (is(k, "deepseek2"))
            latent_attention(k, il);
        else
            attention(k, il);
        if (post || is(k, "gpt-oss"))
            norm(k, il, "post_attention_norm.weight", s->n_embd, 1);
        if (!is(k, "olmo2") && !is(k, "gpt-oss"))
            norm_outliers(k, il, "ffn_norm.weight", s->n_embd);
        if (s->n_expert && il >= s->n_dense)
            mixture(k, il);
        else
            mlp(k, il);
        if (post)
            norm(k, il, "post_ffw_norm.weight", s->n_embd, 1);
        if (il >= s->n_layer)
            nextn(k, il);
    }
}

/* ---- its keys ---- */

static void u32(struct maker *k, const char *name, int v)
{
    char key[96];
    snprintf(key, sizeof key, "%s.%s", k->arch, name);
    gguf_writer_kv_u32(k->w, key, (uint32_t)v);
}

static void f32(struct maker *k, const char *name, double v)
{
    char key[96];
    snprintf(key, sizeof key, "%s.%s", k->arch, name);
    gguf_writer_kv_f32(k->w, key, (float)v);
}

static void scaling_keys(struct maker *k)
{
    const struct random_spec *s = k->s;
    char key[96];
    snprintf(key, sizeof key, "%s.rope.scaling.type", k->arch);
    if (s->scaling == RANDOM_LINEAR || s->scaling == RANDOM_YARN) {
        gguf_writer_kv_str(k->w, key, s->scaling == RANDOM_YARN ? "yarn" : "linear");
        f32(k, "rope.scaling.factor", s->scaling_factor);
    }
    if (s->scaling == RANDOM_YARN || is(k, "phi3"))
        u32(k, "rope.scaling.original_context_length", s->n_ctx_orig);
    if (s->scaling == RANDOM_LONGROPE)
        f32(k, "rope.scaling.attn_factor", sqrt(1 + log((double)s->n_ctx / s->n_ctx_orig) / log(s->n_ctx_orig)));
    if (s->mscale_all_dim != 0)
        f32(k, "rope.scaling.yarn_log_multiplier", 0.1 * s->mscale_all_dim);
}

static void deepseek2_keys(struct maker *k)
{
    const struct random_spec *s = k->s;
    char key[96];
    u32(k, "vocab_size", s->n_vocab);
    u32(k, "rope.dimension_count", s->n_rot);
    u32(k, "leading_dense_block_count", s->n_dense);
    if (s->q_rank)
        u32(k, "attention.q_lora_rank", s->q_rank);
    u32(k, "attention.kv_lora_rank", s->rank);
    u32(k, "attention.key_length", s->absorbed ? s->rank + s->n_rot : s->head_dim);
    u32(k, "attention.value_length", s->absorbed ? s->rank : s->v_dim);
    if (s->absorbed) {
        u32(k, "attention.key_length_mla", s->head_dim);
        u32(k, "attention.value_length_mla", s->v_dim);
    }
    u32(k, "expert_shared_count", s->n_shared);
    f32(k, "expert_weights_scale", s->expert_scale);
    if (s->renormalize || !s->absorbed) { /* the new converter writes it only when true */
        snprintf(key, sizeof key, "%s.expert_weights_norm", k->arch);
        gguf_writer_kv_bool(k->w, key, s->renormalize);
    }
    u32(k, "expert_gating_func", s->sigmoid ? 2 : 1);
    if (s->n_group) {
        u32(k, "expert_group_count", s->n_group);
        u32(k, "expert_group_used_count", s->n_group_used);
    }
}

static void keys(struct maker *k)
{
    const struct random_spec *s = k->s;
    gguf_writer_kv_str(k->w, "general.architecture", k->arch);
    gguf_writer_kv_u32(k->w, "general.file_type", s->weights == DTYPE_F32 ? 0 : 1);
    u32(k, "block_count", s->n_layer + s->n_nextn);
    if (s->n_nextn)
        u32(k, "nextn_predict_layers", s->n_nextn);
    u32(k, "context_length", s->n_ctx);
    u32(k, "embedding_length", s->n_embd);
    u32(k, "feed_forward_length", s->n_ff);
    u32(k, "attention.head_count", s->n_head);
    u32(k, "attention.head_count_kv", is(k, "deepseek2") && s->absorbed ? 1 : s->n_head_kv);
    f32(k, "attention.layer_norm_rms_epsilon", is(k, "llama") ? 1e-5 : 1e-6);
    if (!is(k, "gemma2"))
        f32(k, "rope.freq_base", s->rope_base);
    if (s->n_expert) {
        u32(k, "expert_count", s->n_expert);
        u32(k, "expert_used_count", s->n_expert_used);
        if (!is(k, "mixtral"))
            u32(k, "expert_feed_forward_length", s->n_ff_exp);
    }
    const bool says_dim = is(k, "qwen3") || is(k, "qwen3moe") || is(k, "gemma2") || is(k, "gemma3") || is(k, "gpt-oss");
    if (says_dim || (paired(k) && s->head_dim != s->n_embd / s->n_head)) {
        u32(k, "attention.key_length", s->head_dim);
        u32(k, "attention.value_length", s->head_dim);
    }
    if (paired(k))
        u32(k, "vocab_size", s->n_vocab);
    if (paired(k) || is(k, "phi3"))
        u32(k, "rope.dimension_count", s->n_rot);
    if (s->window || is(k, "phi3"))
        u32(k, "attention.sliding_window", s->window);
    if (is(k, "gemma2")) {
        f32(k, "attn_logit_softcapping", s->attn_cap);
        f32(k, "final_logit_softcapping", s->final_cap);
    }
    if (is(k, "deepseek2"))
        deepseek2_keys(k);
    scaling_keys(k);
}

static int write_items(struct maker *k, struct error *err)
{
    for (const struct item *t = k->first; t; t = t->next)
        if (gguf_writer_tensor(k->w, t->name, t->n_dims, t->dims, t->type, err) != 0)
            return -1;
    if (gguf_writer_begin_data(k->w, err) != 0)
        return -1;
    for (const struct item *t = k->first; t; t = t->next)
        if (gguf_writer_data(k->w, t->data, t->bytes, err) != 0)
            return -1;
    return 0;
}

int random_write(const char *path, const struct random_spec *s, struct error *err)
{
    struct maker k = { .s = s,
                       .arch = strcmp(s->family, "mixtral") == 0 ? "llama" : s->family,
                       .w = gguf_writer_new(path, err) };
    if (!k.w)
        return -1;
    k.last = &k.first;
    keys(&k);
    tensors(&k);
    int rc = write_items(&k, err);
    while (k.first) {
        struct item *t = k.first;
        k.first = t->next;
        free(t);
    }
    if (rc == 0)
        return gguf_writer_finish(k.w, err);
    gguf_writer_abort(k.w);
    return -1;
}
