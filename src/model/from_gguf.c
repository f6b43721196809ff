/* A GGUF's metadata and tensor infos become a model: every shape is compared with what the
 * architecture says a model of these dimensions has. */
#include "model/internal.h"
#include <stdlib.h>
#include <string.h>

/* ---- metadata ------------------------------------------------------------------------- */

struct keys {
    const struct gguf *g;
    const char *arch;
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

/* A count that must be there. Files of architectures whose layers differ store an array; it is
 * taken where all its entries are one value. */
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
    if (n == 0 || first < 0)
        return error_set(err, ERROR_INPUT, "%s: %s: expected a positive count", gguf_path(k->g), name);
    return fit_u32(k, name, (uint64_t)first, out, err);
}

/* *out keeps its value, the default, when the key is absent. */
static int opt_count(const struct keys *k, const char *suffix, uint32_t *out, struct error *err)
{
    char name[128];
    return gguf_has(k->g, key(k, name, sizeof name, suffix)) ? get_count(k, suffix, out, err) : 0;
}

static int read_rope(const struct keys *k, struct hparams *hp, struct error *err)
{
    char name[128], found[33];
    struct gguf_str type = { "none", 4 };
    hp->n_rot = hp->head_dim;
    hp->rope_theta = 10000;
    if (opt_count(k, "rope.dimension_count", &hp->n_rot, err) != 0 ||
        gguf_opt_f64(k->g, key(k, name, sizeof name, "rope.freq_base"), &hp->rope_theta, err) != 0)
        return -1;
    /* The old spelling of linear scaling; rope.scaling.* overrides it. */
    double factor = 1;
    if (gguf_opt_f64(k->g, key(k, name, sizeof name, "rope.scale_linear"), &factor, err) != 0)
        return -1;
    if (factor != 1 && factor != 0)
        type = (struct gguf_str){ "linear", 6 };
    if (gguf_opt_f64(k->g, key(k, name, sizeof name, "rope.scaling.factor"), &factor, err) != 0 ||
        gguf_opt_str(k->g, key(k, name, sizeof name, "rope.scaling.type"), &type, err) != 0)
        return -1;
    if (type.len == 6 && memcmp(type.s, "linear", 6) == 0) {
        hp->rope_scaling = ROPE_SCALING_LINEAR;
        hp->rope_factor = factor;
    } else if (type.len != 4 || memcmp(type.s, "none", 4) != 0) {
        return error_set(err, ERROR_INPUT,
                         "%s: %s is \"%s\": this kind of RoPE scaling is not supported yet (known: "
                         "none, linear, and llama3 by a rope_freqs.weight tensor)",
                         gguf_path(k->g), key(k, name, sizeof name, "rope.scaling.type"),
                         model_printable(found, sizeof found, type.s, type.len));
    }
    const struct gguf_tensor *freqs = gguf_tensor_find(k->g, "rope_freqs.weight");
    if (freqs && hp->rope_scaling == ROPE_SCALING_LINEAR)
        return error_set(err, ERROR_INPUT, "%s: both %s and rope_freqs.weight are given", gguf_path(k->g),
                         key(k, name, sizeof name, "rope.scaling.type"));
    if (freqs)
        hp->rope_scaling = ROPE_SCALING_LLAMA3;
    return 0;
}

/* The table decides the vocabulary; a key that disagrees is an error, not a choice. */
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
    uint32_t value_dim = hp->head_dim;
    if (opt_count(k, "attention.value_length", &value_dim, err) != 0)
        return -1;
    if (value_dim != hp->head_dim)
        return error_set(err, ERROR_INPUT,
                         "%s: %s is %u and the key length %u: heads whose keys and values differ are not "
                         "supported yet",
                         gguf_path(k->g), key(k, name, sizeof name, "attention.value_length"), value_dim,
                         hp->head_dim);
    return 0;
}

static int read_hparams(const struct keys *k, struct hparams *hp, struct error *err)
{
    char name[128];
    hp->rms_eps = 1e-5;
    if (get_count(k, "block_count", &hp->n_layer, err) != 0 ||
        get_count(k, "embedding_length", &hp->n_embd, err) != 0 ||
        get_count(k, "feed_forward_length", &hp->n_ff, err) != 0 ||
        get_count(k, "context_length", &hp->n_ctx_train, err) != 0 ||
        opt_count(k, "expert_count", &hp->n_expert, err) != 0 ||
        opt_count(k, "expert_used_count", &hp->n_expert_used, err) != 0)
        return -1;
    key(k, name, sizeof name, "attention.layer_norm_rms_epsilon");
    return gguf_get_f64(k->g, name, &hp->rms_eps, err) != 0 || read_heads(k, hp, err) != 0 ||
                   read_rope(k, hp, err) != 0 || read_vocab(k, hp, err) != 0
               ? -1
               : 0;
}

/* ---- tensors ---------------------------------------------------------------------------- */

static int copy_tensor(struct model *m, const struct gguf_tensor *gt, struct error *err)
{
    struct tensor *t = model_add_tensor(m, err);
    if (!t)
        return -1;
    model_printable(t->name, sizeof t->name, gt->name.s, gt->name.len);
    if (strlen(t->name) != gt->name.len || memcmp(t->name, gt->name.s, gt->name.len) != 0)
        return error_set(err, ERROR_INPUT,
                         "%s: the tensor name of %zu bytes \"%.32s\": expected at most %zu, printable ASCII", m->path,
                         gt->name.len, t->name, sizeof t->name - 1);
    size_t rows, n;
    if (!size_mul(gt->dims[1], gt->dims[2], &rows) || !size_mul(rows, gt->dims[3], &rows) ||
        !size_mul(rows, gt->dims[0], &n))
        return error_set(err, ERROR_INPUT, "%s: %s: its dimensions overflow", m->path, t->name);
    t->type = gt->type;
    t->rows = rows;
    t->cols = gt->dims[0];
    t->bytes = gt->bytes;
    t->data = gt->data;
    size_t bytes;
    if (!dtype_find(t->type) || t->cols % dtype_find(t->type)->block_elems != 0 ||
        !size_mul(rows, dtype_row_bytes(t->type, t->cols), &bytes) || bytes != t->bytes)
        return error_set(err, ERROR_INPUT, "%s: %s: rows of %llu elements do not fit its type %s",
                         m->path, t->name, (unsigned long long)t->cols, dtype_name(t->type));
    size_t sum;
    if (!size_add(m->weight_bytes, bytes, &sum) || !size_add(m->n_params, n, &n))
        return error_set(err, ERROR_INPUT, "%s: %s: the sum of all tensors overflows", m->path, t->name);
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

static bool has_suffix(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);
    return n >= k && strcmp(s + n - k, suffix) == 0;
}

static int check_expected(void *ctx, const char *name, uint64_t rows, uint64_t cols,
                          struct error *err)
{
    struct check_ctx *c = ctx;
    size_t i = sorted_find(c, name);
    if (i == SIZE_MAX)
        return error_set(err, ERROR_INPUT, "%s: tensor %s is missing", c->m->path, name);
    const struct tensor *t = c->sorted[i];
    c->used[i] = true;
    char found[64], want[64];
    /* Vectors are read as float, here as in llama.cpp. */
    if ((has_suffix(name, "_norm.weight") || has_suffix(name, "rope_freqs.weight")) &&
        t->type != DTYPE_F32)
        return error_set(err, ERROR_INPUT, "%s: tensor %s is %s, expected F32", c->m->path, name,
                         dtype_name(t->type));
    if (t->rows == rows && t->cols == cols)
        return 0;
    return error_set(err, ERROR_INPUT, "%s: tensor %s has shape %s, expected %s", c->m->path, name,
                     model_shape(found, sizeof found, t->rows, t->cols),
                     model_shape(want, sizeof want, rows, cols));
}

/* A bias or a norm that the architecture's op list does not know would be left out of every
 * result: refused. Other tensors nobody uses stay in the table, so that sums of bytes hold. */
static int check_extra(const struct check_ctx *c, struct error *err)
{
    for (size_t i = 0; i < c->m->n_tensors; i++) {
        const char *name = c->sorted[i]->name;
        if (!c->used[i] && (has_suffix(name, ".bias") || has_suffix(name, "_norm.weight")))
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
    if (m->arch->tensors(&m->hp, check_expected, &c, err) == 0)
        rc = check_extra(&c, err);
out:
    free(c.sorted);
    free(c.used);
    return rc;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* general.file_type where it is known, else the type most matrices have. */
static int name_type(struct model *m, const struct gguf *g, struct error *err)
{
    uint64_t ft = UINT64_MAX;
    if (gguf_opt_u64(g, "general.file_type", &ft, err) != 0)
        return -1;
    const char *name = mixture_of_file_type(ft & ~UINT64_C(1024)); /* 1024: a guess of the writer */
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

static int name_model(struct model *m, const struct gguf *g, struct error *err)
{
    struct gguf_str s = { NULL, 0 };
    if (gguf_opt_str(g, "general.name", &s, err) != 0)
        return -1;
    if (s.len)
        snprintf(m->name, sizeof m->name, "%.*s",
                 (int)(s.len < sizeof m->name ? s.len : sizeof m->name - 1), s.s);
    else
        model_stem(m->name, sizeof m->name, m->path);
    for (char *p = m->name; *p; p++) /* names are printed: a control character would not be a name */
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
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
    char found[65];
    return error_set(err, ERROR_INPUT, "%s: architecture \"%s\" is not supported yet (known: %s)", m->path,
                     model_printable(found, sizeof found, s.s, s.len), arch_names());
}

int model_from_gguf(struct model *m, struct gguf *g, struct error *err)
{
    *m = (struct model){ 0 };
    m->gguf = g;
    snprintf(m->path, sizeof m->path, "%s", gguf_path(g));
    if (find_arch(m, g, err) != 0)
        goto fail;
    struct keys k = { g, m->arch->name };
    /* The architecture first: it refuses by name what the common keys cannot say. */
    if (m->arch->hparams(g, &m->hp, err) != 0 || read_hparams(&k, &m->hp, err) != 0 ||
        hparams_check(&m->hp, HPARAMS_GGUF, m->path, m->arch->name, err) != 0)
        goto fail;
    for (size_t i = 0; i < gguf_n_tensors(g); i++)
        if (copy_tensor(m, gguf_tensor_at(g, i), err) != 0)
            goto fail;
    if (check_tensors(m, err) != 0 || name_type(m, g, err) != 0 || name_model(m, g, err) != 0)
        goto fail;
    return 0;
fail:
    model_free(m);
    return -1;
}
