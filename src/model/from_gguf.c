/* GGUF metadata and tensor infos to a model: every shape is checked against the architecture. */
#include "model/arch.h"
#include "model/internal.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- metadata ------------------------------------------------------------------------- */

struct keys {
    const struct gguf *g;
    const char *arch;
    uint32_t n_layer; /* block_count once known; else 0 */
};

static const char *key(const struct keys *k, char *buf, size_t n, const char *suffix)
{
    snprintf(buf, n, "%s.%s", k->arch, suffix);
    return buf;
}

static int fit_u32(const struct keys *k, const char *name, uint64_t v, uint32_t *out,
                   struct error *err)
{
    if (v > UINT32_MAX)
        return error_set(err, ERROR_INPUT, "%s: %s is %llu, expected at most %u", gguf_path(k->g), name,
                         (unsigned long long)v, UINT32_MAX);
    *out = (uint32_t)v;
    return 0;
}

/* Mandatory count; an array (layers that differ in other architectures) is accepted if all entries are equal. */
static int get_count(const struct keys *k, const char *suffix, uint32_t *out, struct error *err)
{
    char name[128];
    uint64_t v, n;
    enum gguf_type elem;
    key(k, name, sizeof name, suffix);
    if (!gguf_has(k->g, name) || gguf_get_arr(k->g, name, &elem, &n, NULL) != 0)
        return gguf_get_u64(k->g, name, &v, err) != 0 ? -1 : fit_u32(k, name, v, out, err);
    int64_t first = 0, x;
    for (uint64_t i = 0; i < n; i++) {
        if (gguf_arr_i64(k->g, name, i, &x, err) != 0)
            return -1;
        if (i > 0 && x != first)
            return error_set(err, ERROR_INPUT,
                             "%s: %s: layers differ (%lld, then %lld), which architecture %s does not "
                             "support yet",
                             gguf_path(k->g), name, (long long)first, (long long)x, k->arch);
        first = x;
    }
    if (k->n_layer > 0 && n != k->n_layer)
        return error_set(err, ERROR_INPUT, "%s: %s: %llu entries, expected one a layer, %u", gguf_path(k->g), name,
                         (unsigned long long)n, k->n_layer);
    if (n == 0 || first < 0)
        return error_set(err, ERROR_INPUT, "%s: %s: expected a positive count", gguf_path(k->g), name);
    return fit_u32(k, name, (uint64_t)first, out, err);
}

/* Absent: *out unchanged. */
static int opt_count(const struct keys *k, const char *suffix, uint32_t *out, struct error *err)
{
    char name[128];
    return gguf_has(k->g, key(k, name, sizeof name, suffix)) ? get_count(k, suffix, out, err) : 0;
}

/* ---- scalar keys, read here and written by synth ---- */

#define COUNT(suffix, field) { suffix, offsetof(struct hparams, field), HPARAM_U32 }
#define NUMBER(suffix, field) { suffix, offsetof(struct hparams, field), HPARAM_F64 }
#define WHOLE(suffix, field) { suffix, offsetof(struct hparams, field), HPARAM_WHOLE }
#define FLAG(suffix, field) { suffix, offsetof(struct hparams, field), HPARAM_BOOL }
static const struct hparam_key hparam_keys[] = {
    COUNT("attention.sliding_window", window),
    COUNT("expert_count", n_expert),
    COUNT("expert_used_count", n_expert_used),
    COUNT("expert_feed_forward_length", n_ff_exp),
    COUNT("expert_shared_count", n_expert_shared),
    COUNT("expert_shared_feed_forward_length", n_ff_shexp),
    COUNT("leading_dense_block_count", n_layer_dense),
    COUNT("expert_group_count", n_expert_group),
    COUNT("expert_group_used_count", n_expert_group_used),
    COUNT("attention.q_lora_rank", n_lora_q),
    COUNT("attention.kv_lora_rank", n_lora_kv),
    NUMBER("attention.scale", attn_scale),
    NUMBER("attn_logit_softcapping", attn_softcap),
    NUMBER("final_logit_softcapping", final_softcap),
    NUMBER("rope.freq_base", rope_theta),
    NUMBER("rope.freq_base_swa", rope_theta_swa),
    WHOLE("rope.scaling.original_context_length", rope_ctx_orig),
    NUMBER("rope.scaling.attn_factor", rope_attn_factor),
    NUMBER("rope.scaling.yarn_log_multiplier", yarn_log_mul),
    NUMBER("rope.scaling.yarn_beta_fast", yarn_beta_fast),
    NUMBER("rope.scaling.yarn_beta_slow", yarn_beta_slow),
    NUMBER("expert_weights_scale", expert_scale),
    FLAG("expert_weights_norm", expert_norm),
};

const struct hparam_key *hparam_key_at(size_t i)
{
    return i < ARRAY_LEN(hparam_keys) ? &hparam_keys[i] : NULL;
}

static int read_key(const struct keys *k, const struct hparam_key *d, struct hparams *hp, struct error *err)
{
    char name[128];
    void *at = (char *)hp + d->offset;
    switch (d->kind) {
    case HPARAM_U32:
        return opt_count(k, d->suffix, at, err);
    case HPARAM_F64:
    case HPARAM_WHOLE: /* integer or float in files */
        return gguf_opt_f64(k->g, key(k, name, sizeof name, d->suffix), at, err);
    case HPARAM_BOOL:
        return gguf_opt_bool(k->g, key(k, name, sizeof name, d->suffix), at, err);
    }
    return -1;
}

/* ---- rotation ----------------------------------------------------------------------------------- */

static int rope_type(const struct keys *k, struct gguf_str type, struct hparams *hp, struct error *err)
{
    static const struct {
        const char *name;
        enum rope_scaling scaling;
    } types[] = { { "none", ROPE_SCALING_NONE },
                  { "linear", ROPE_SCALING_LINEAR },
                  { "yarn", ROPE_SCALING_YARN },
                  { "longrope", ROPE_SCALING_LONGROPE } };
    char name[128], found[33];
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (strlen(types[i].name) == type.len && memcmp(types[i].name, type.s, type.len) == 0) {
            hp->rope_scaling = types[i].scaling;
            return 0;
        }
    return error_set(err, ERROR_INPUT,
                     "%s: %s is \"%s\": this kind of RoPE scaling is not supported yet (known: none, linear, yarn, "
                     "longrope, and llama3 by a rope_freqs.weight tensor)",
                     gguf_path(k->g), key(k, name, sizeof name, "rope.scaling.type"),
                     model_printable(found, sizeof found, type.s, type.len));
}

static int read_rope(const struct keys *k, struct hparams *hp, struct error *err)
{
    char name[128];
    struct gguf_str type = { "none", 4 };
    hp->n_rot = hp->head_dim;
    if (opt_count(k, "rope.dimension_count", &hp->n_rot, err) != 0)
        return -1;
    /* Old key of linear scaling; rope.scaling.* takes precedence. */
    double factor = 1;
    if (gguf_opt_f64(k->g, key(k, name, sizeof name, "rope.scale_linear"), &factor, err) != 0)
        return -1;
    if (factor != 1 && factor != 0)
        type = (struct gguf_str){ "linear", 6 };
    if (gguf_opt_f64(k->g, key(k, name, sizeof name, "rope.scaling.factor"), &factor, err) != 0 ||
        gguf_opt_str(k->g, key(k, name, sizeof name, "rope.scaling.type"), &type, err) != 0 ||
        rope_type(k, type, hp, err) != 0)
        return -1;
    hp->rope_factor = factor;
    const bool tables = gguf_tensor_find(k->g, "rope_factors_long.weight") != NULL;
    if (!tables && gguf_tensor_find(k->g, "rope_factors_short.weight"))
        return error_set(err, ERROR_INPUT, "%s: tensor rope_factors_long.weight is missing, rope_factors_short.weight is there",
                         gguf_path(k->g));
    if (tables && hp->rope_scaling == ROPE_SCALING_NONE)
        hp->rope_scaling = ROPE_SCALING_LONGROPE;
    if (hp->rope_ctx_orig == 0 &&
        (hp->rope_scaling == ROPE_SCALING_YARN || hp->rope_scaling == ROPE_SCALING_LONGROPE))
        hp->rope_ctx_orig = hp->n_ctx_train;
    if (!gguf_tensor_find(k->g, "rope_freqs.weight"))
        return 0;
    if (hp->rope_scaling != ROPE_SCALING_NONE)
        return error_set(err, ERROR_INPUT, "%s: both %s and rope_freqs.weight are given", gguf_path(k->g),
                         key(k, name, sizeof name, "rope.scaling.type"));
    hp->rope_scaling = ROPE_SCALING_LLAMA3;
    return 0;
}

/* Windowed layers: a period, or flags per layer that must be periodic. */
static int read_window_pattern(const struct keys *k, struct hparams *hp, struct error *err)
{
    char name[128];
    uint64_t n = 0, period = hp->window_period;
    enum gguf_type elem;
    key(k, name, sizeof name, "attention.sliding_window_pattern");
    if (!gguf_has(k->g, name))
        return 0;
    if (gguf_get_arr(k->g, name, &elem, &n, NULL) != 0) {
        if (gguf_get_u64(k->g, name, &period, err) != 0)
            return -1;
        return fit_u32(k, name, period, &hp->window_period, err);
    }
    if (n < hp->n_layer)
        return error_set(err, ERROR_INPUT, "%s: %s has %llu entries for %u layers", gguf_path(k->g), name,
                         (unsigned long long)n, hp->n_layer);
    int64_t flag, first_full = -1;
    for (uint64_t i = 0; i < n; i++) {
        if (gguf_arr_i64(k->g, name, i, &flag, err) != 0)
            return -1;
        if (flag == 0 && first_full < 0)
            first_full = (int64_t)i;
        if (first_full >= 0 && (flag == 0) != (i % (uint64_t)(first_full + 1) == (uint64_t)first_full))
            return error_set(err, ERROR_INPUT, "%s: %s[%llu]: windows do not repeat every %lld layers, and other patterns "
                             "are not supported", gguf_path(k->g), name, (unsigned long long)i, (long long)first_full + 1);
    }
    return fit_u32(k, name, (uint64_t)(first_full + 1), &hp->window_period, err);
}

/* FFN biases, detected by tensors. */
static void read_biases(const struct keys *k, struct hparams *hp)
{
    hp->attn_bias |= gguf_tensor_find(k->g, "blk.0.attn_q.bias") || gguf_tensor_find(k->g, "blk.0.attn_qkv.bias");
    hp->attn_output_bias |= gguf_tensor_find(k->g, "blk.0.attn_output.bias") != NULL;
}

/* Vocabulary size from the token table; a contradicting key is an error. */
static int read_vocab(const struct keys *k, struct hparams *hp, struct error *err)
{
    char name[128];
    const struct gguf_tensor *embd = gguf_tensor_find(k->g, "token_embd.weight");
    if (!embd)
        return error_set(err, ERROR_INPUT,
                         "%s: tensor token_embd.weight is missing (a file of %zu tensors%s)",
                         gguf_path(k->g), gguf_n_tensors(k->g),
                         gguf_n_tensors(k->g) == 0 ? ": a vocabulary without weights" : "");
    if (fit_u32(k, "token_embd.weight's number of rows", embd->dims[1], &hp->n_vocab, err) != 0)
        return -1;
    uint32_t said = hp->n_vocab;
    if (opt_count(k, "vocab_size", &said, err) != 0)
        return -1;
    if (said != hp->n_vocab)
        return error_set(err, ERROR_INPUT, "%s: %s is %u, but token_embd.weight has %u rows",
                         gguf_path(k->g), key(k, name, sizeof name, "vocab_size"), said, hp->n_vocab);
    hp->tied = gguf_tensor_find(k->g, "output.weight") == NULL;
    return 0;
}

static int read_heads(const struct keys *k, struct hparams *hp, struct error *err)
{
    char name[128];
    if (get_count(k, "attention.head_count", &hp->n_head, err) != 0)
        return -1;
    hp->n_head_kv = hp->n_head;
    if (opt_count(k, "attention.head_count_kv", &hp->n_head_kv, err) != 0)
        return -1;
    if (!gguf_has(k->g, key(k, name, sizeof name, "attention.key_length")) &&
        (hp->n_head == 0 || hp->n_embd % hp->n_head != 0))
        return error_set(err, ERROR_INPUT,
                         "%s: %s.embedding_length is %u, expected a multiple of "
                         "%s.attention.head_count, which is %u",
                         gguf_path(k->g), k->arch, hp->n_embd, k->arch, hp->n_head);
    hp->head_dim = hp->n_head ? hp->n_embd / hp->n_head : 0;
    if (opt_count(k, "attention.key_length", &hp->head_dim, err) != 0)
        return -1;
    hp->head_dim_v = hp->head_dim;
    return opt_count(k, "attention.value_length", &hp->head_dim_v, err);
}

/* Layers of multi-token prediction follow the model's own and are not part of its pass (nextn.h). */
static int split_nextn_layers(const struct keys *k, struct hparams *hp, struct error *err)
{
    uint32_t extra = 0;
    if (opt_count(k, "nextn_predict_layers", &extra, err) != 0)
        return -1;
    if (extra >= hp->n_layer)
        return extra == 0 ? 0
                          : error_set(err, ERROR_INPUT, "%s: %s.nextn_predict_layers is %u of %u layers",
                                      gguf_path(k->g), k->arch, extra, hp->n_layer);
    hp->n_layer -= extra;
    hp->n_layer_nextn = extra;
    return 0;
}

static int read_gate(const struct keys *k, struct hparams *hp, struct error *err)
{
    char name[128];
    uint64_t v = hp->expert_gate;
    if (gguf_opt_u64(k->g, key(k, name, sizeof name, "expert_gating_func"), &v, err) != 0)
        return -1;
    if (v > EXPERT_GATE_SIGMOID)
        return error_set(err, ERROR_INPUT, "%s: %s is %llu, expected 1 (softmax) or 2 (sigmoid)", gguf_path(k->g), name,
                         (unsigned long long)v);
    hp->expert_gate = (enum expert_gate)v;
    return 0;
}

static int read_hparams(struct keys *k, struct hparams *hp, struct error *err)
{
    char name[128];
    hp->rms_eps = 1e-5;
    hp->yarn_beta_fast = 32;
    hp->yarn_beta_slow = 1;
    hp->n_ff = 0;
    if (hp->rope_theta == 0)
        hp->rope_theta = 10000;
    if (get_count(k, "block_count", &hp->n_layer, err) != 0)
        return -1;
    k->n_layer = hp->n_layer;
    if (split_nextn_layers(k, hp, err) != 0 ||
        get_count(k, "embedding_length", &hp->n_embd, err) != 0 ||
        opt_count(k, "feed_forward_length", &hp->n_ff, err) != 0 ||
        get_count(k, "context_length", &hp->n_ctx_train, err) != 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(hparam_keys); i++)
        if (read_key(k, &hparam_keys[i], hp, err) != 0)
            return -1;
    /* optional for models with experts only */
    if (hp->n_ff == 0 && hp->n_ff_exp == 0 && get_count(k, "feed_forward_length", &hp->n_ff, err) != 0)
        return -1;
    if (hp->n_ff == 0)
        hp->n_ff = hp->n_ff_exp;
    key(k, name, sizeof name, "attention.layer_norm_rms_epsilon");
    return gguf_get_f64(k->g, name, &hp->rms_eps, err) != 0 || read_heads(k, hp, err) != 0 ||
                   read_rope(k, hp, err) != 0 || read_window_pattern(k, hp, err) != 0 || read_gate(k, hp, err) != 0 ||
                   read_vocab(k, hp, err) != 0
               ? -1
               : 0;
}

/* ---- tensors ---------------------------------------------------------------------------- */

static int copy_tensor(struct model *m, const struct gguf_tensor *gt, struct error *err)
{
    const char *path = gguf_file_path(m->gguf, gt->file);
    struct tensor *t = model_add_tensor(m, err);
    if (!t)
        return -1;
    model_printable(t->name, sizeof t->name, gt->name.s, gt->name.len);
    if (strlen(t->name) != gt->name.len || memcmp(t->name, gt->name.s, gt->name.len) != 0)
        return error_set(err, ERROR_INPUT,
                         "%s: the tensor name of %zu bytes \"%.32s\": expected at most %zu, printable ASCII", path,
                         gt->name.len, t->name, sizeof t->name - 1);
    size_t rows, n;
    if (!size_mul(gt->dims[1], gt->dims[2], &rows) || !size_mul(rows, gt->dims[3], &rows) ||
        !size_mul(rows, gt->dims[0], &n))
        return error_set(err, ERROR_INPUT, "%s: %s: its dimensions overflow", path, t->name);
    t->type = gt->type;
    t->rows = rows;
    t->cols = gt->dims[0];
    t->n_mat = (uint32_t)u64_min(gt->dims[2], UINT32_MAX);
    t->bytes = gt->bytes;
    t->data = gt->data;
    size_t bytes;
    if (!dtype_find(t->type) || t->cols % dtype_find(t->type)->block_elems != 0 ||
        !size_mul(rows, dtype_row_bytes(t->type, t->cols), &bytes) || bytes != t->bytes)
        return error_set(err, ERROR_INPUT, "%s: %s: rows of %llu elements do not fit its type %s",
                         path, t->name, (unsigned long long)t->cols, dtype_name(t->type));
    size_t sum;
    if (!size_add(m->weight_bytes, bytes, &sum) || !size_add(m->n_params, n, &n))
        return error_set(err, ERROR_INPUT, "%s: %s: the sum of all tensors overflows", path, t->name);
    m->weight_bytes = sum;
    m->n_params = n;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

struct check_ctx {
    const struct model *m;
    const struct tensor **sorted;
    bool *used; /* parallel to sorted */
};

static size_t sorted_find(const struct check_ctx *c, const char *name)
{
    size_t lo = 0, hi = c->m->n_tensors;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int d = strcmp(c->sorted[mid]->name, name);
        if (d == 0)
            return mid;
        if (d < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return SIZE_MAX;
}

/* Vectors must be F32, as in llama.cpp. */
static bool must_be_f32(const char *name)
{
    static const char *const ends[] = { "norm.weight", ".bias", "rope_freqs.weight", "rope_factors_long.weight",
                                        "rope_factors_short.weight", "attn_sinks.weight" };
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (text_ends_with(name, ends[i]))
            return true;
    return false;
}

/* "[8, 4096, 14336]" of stacked matrices. */
static const char *stack_shape(char *buf, size_t n, uint64_t n_mat, uint64_t rows, uint64_t cols)
{
    if (n_mat == 1)
        return model_shape(buf, n, rows, cols);
    snprintf(buf, n, "[%llu, %llu, %llu]", (unsigned long long)n_mat, (unsigned long long)(rows / n_mat),
             (unsigned long long)cols);
    return buf;
}

/* Rotary frequency divisors must not be 0 (NaN). */
static int check_divisors(const struct model *m, const struct tensor *t, struct error *err)
{
    float f;
    for (uint64_t i = 0; i < t->cols; i++) {
        memcpy(&f, (const unsigned char *)t->data + i * sizeof f, sizeof f);
        if (!(f > 0) || !isfinite(f))
            return error_set(err, ERROR_INPUT, "%s: %s: element %llu is %g, expected more than 0", m->path, t->name,
                             (unsigned long long)i, (double)f);
    }
    return 0;
}

int model_check_tensor(const struct tensor *t, const char *path, uint64_t rows, uint64_t cols, uint64_t n_mat, struct error *err)
{
    char found[64], want[64];
    if (must_be_f32(t->name) && t->type != DTYPE_F32)
        return error_set(err, ERROR_INPUT, "%s: tensor %s is %s, expected F32", path, t->name, dtype_name(t->type));
    if (t->rows != rows * n_mat || t->cols != cols || t->n_mat != n_mat)
        return error_set(err, ERROR_INPUT, "%s: tensor %s has shape %s, expected %s", path, t->name,
                         stack_shape(found, sizeof found, t->n_mat, t->rows, t->cols),
                         stack_shape(want, sizeof want, n_mat, rows * n_mat, cols));
    return 0;
}

static int check_expected(void *ctx, const char *name, uint64_t rows, uint64_t cols, uint64_t n_mat,
                          struct error *err)
{
    struct check_ctx *c = ctx;
    size_t i = sorted_find(c, name);
    if (i == SIZE_MAX)
        return error_set(err, ERROR_INPUT, "%s: tensor %s is missing%s", c->m->path, name,
                         strstr(name, "_exps.") && model_find(c->m, "blk.0.ffn_gate.0.weight")
                             ? " (an old file, with a tensor an expert: convert the model again)"
                             : "");
    const struct tensor *t = c->sorted[i];
    c->used[i] = true;
    if (model_check_tensor(t, c->m->path, rows, cols, n_mat, err) != 0)
        return -1;
    return strncmp(name, "rope_f", 6) == 0 ? check_divisors(c->m, t, err) : 0;
}

/* Unknown block tensors, biases and norms are errors, as they would be ignored. Other unused tensors stay in the table for byte
 * sums, as do the two redundant ones. */
static int check_extra(const struct check_ctx *c, struct error *err)
{
    for (size_t i = 0; i < c->m->n_tensors; i++) {
        const char *name = c->sorted[i]->name;
        unsigned layer = 0;
        const bool in_block = sscanf(name, "blk.%9u.", &layer) == 1;
        const bool nextn = layer >= c->m->hp.n_layer && layer - c->m->hp.n_layer < c->m->hp.n_layer_nextn;
        if (in_block && (nextn ||
                         text_ends_with(name, "attn_kv_b.weight") || text_ends_with(name, "attn_rot_embd.weight")))
            continue;
        if (!c->used[i] && (in_block || text_ends_with(name, ".bias") || text_ends_with(name, "_norm.weight")))
            return error_set(err, ERROR_INPUT,
                             "%s: tensor %s: architecture %s does not use it yet, and leaving it out would "
                             "give wrong results",
                             c->m->path, name, c->m->arch->name);
    }
    return 0;
}

static int check_tensors(const struct model *m, struct error *err)
{
    struct check_ctx c = { .m = m };
    int rc = -1;
    size_t n = m->n_tensors;
    c.sorted = malloc((n + 1) * sizeof(const struct tensor *));
    c.used = calloc(n + 1, sizeof *c.used);
    if (!c.sorted || !c.used) {
        error_oom(err, (n + 1) * sizeof(const struct tensor *), "checking the tensors");
        goto out;
    }
    for (size_t i = 0; i < n; i++)
        c.sorted[i] = &m->tensors[i];
    qsort(c.sorted, n, sizeof(const struct tensor *), by_name);
    if (arch_declare(m->arch, &m->hp, check_expected, &c, err) == 0)
        rc = check_extra(&c, err);
out:
    free(c.sorted);
    free(c.used);
    return rc;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* general.file_type if known, else the most frequent matrix type. */
static int name_type(struct model *m, const struct gguf *g, struct error *err)
{
    uint64_t ft = UINT64_MAX;
    if (gguf_opt_u64(g, "general.file_type", &ft, err) != 0)
        return -1;
    const char *name = mixture_of_file_type(ft & ~UINT64_C(1024)); /* flag 1024: guessed by the writer */
    if (!name) {
        size_t count[DTYPE_COUNT] = { 0 };
        enum dtype best = DTYPE_F32;
        for (size_t i = 0; i < m->n_tensors; i++)
            if (m->tensors[i].rows > 1)
                count[m->tensors[i].type]++;
        for (int t = 0; t < DTYPE_COUNT; t++)
            if (count[t] > count[best])
                best = (enum dtype)t;
        name = dtype_name(best);
    }
    snprintf(m->type_name, sizeof m->type_name, "%s", name);
    return 0;
}

/* Base name of the file, without split suffix. */
static void name_by_file(struct model *m)
{
    int part, of, end = 0;
    model_stem(m->name, sizeof m->name, m->path);
    const size_t n = strlen(m->name), tail = strlen("-00001-of-00001");
    if (n > tail && sscanf(m->name + n - tail, "-%5d-of-%5d%n", &part, &of, &end) == 2 && (size_t)end == tail)
        m->name[n - tail] = 0;
}

static int name_model(struct model *m, const struct gguf *g, struct error *err)
{
    struct gguf_str s = { NULL, 0 };
    if (gguf_opt_str(g, "general.name", &s, err) != 0)
        return -1;
    if (s.len)
        snprintf(m->name, sizeof m->name, "%.*s",
                 (int)(s.len < sizeof m->name ? s.len : sizeof m->name - 1), s.s);
    else
        name_by_file(m);
    model_clean_name(m->name);
    return 0;
}

static int find_arch(struct model *m, const struct gguf *g, struct error *err)
{
    struct gguf_str s;
    if (gguf_get_str(g, "general.architecture", &s, err) != 0)
        return -1;
    m->arch = arch_find(s.s, s.len);
    if (m->arch)
        return 0;
    char found[65], known[1024];
    return error_set(err, ERROR_INPUT, "%s: architecture \"%s\" is not supported yet (known: %s)", m->path,
                     model_printable(found, sizeof found, s.s, s.len), arch_names(known, sizeof known));
}

int model_from_gguf(struct model *m, struct gguf *g, struct error *err)
{
    struct gguf_str name;
    *m = (struct model){ 0 };
    m->gguf = g;
    snprintf(m->path, sizeof m->path, "%s", gguf_path(g));
    if (gguf_get_str(g, "general.architecture", &name, err) != 0)
        goto fail;
    const struct arch *const predicted = gguf_predict_only_arch(name.s, name.len);
    if (predicted) {
        if (gguf_predict_only(m, g, predicted, name, err) != 0 || name_type(m, g, err) != 0 || name_model(m, g, err) != 0)
            goto fail;
        gguf_unread_keys(g, m->note, sizeof m->note);
        gguf_close(g);
        m->gguf = NULL;
        return 0;
    }
    if (find_arch(m, g, err) != 0)
        goto fail;
    struct keys k = { g, m->arch->name, 0 };
    m->hp = *arch_defaults(m->arch);
    if (read_hparams(&k, &m->hp, err) != 0)
        goto fail;
    read_biases(&k, &m->hp);
    if ((m->arch->gguf && m->arch->gguf(g, &m->hp, err) != 0) ||
        hparams_supported(m->arch, &m->hp, m->path, err) != 0 ||
        hparams_check(&m->hp, HPARAMS_GGUF, m->path, m->arch->name, err) != 0)
        goto fail;
    for (size_t i = 0; i < gguf_n_tensors(g); i++)
        if (copy_tensor(m, gguf_tensor_at(g, i), err) != 0)
            goto fail;
    if (check_tensors(m, err) != 0 || name_type(m, g, err) != 0 || name_model(m, g, err) != 0)
        goto fail;
    gguf_unread_keys(g, m->note, sizeof m->note);
    return 0;
fail:
    model_free(m);
    return -1;
}
