/* The model as a value: sources, tensors, lookup. */
#include "model/arch.h"
#include "model/checkpoint.h"
#include "model/internal.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void model_free(struct model *m)
{
    free(m->tensors);
    gguf_close(m->gguf);
    *m = (struct model){ 0 };
}

struct tensor *model_add_tensor(struct model *m, struct error *err)
{
    /* capacity doubles at powers of two */
    if (m->n_tensors == 0 || (m->n_tensors >= 16 && (m->n_tensors & (m->n_tensors - 1)) == 0)) {
        size_t cap = m->n_tensors == 0 ? 16 : 2 * m->n_tensors, bytes;
        struct tensor *t = size_mul(cap, sizeof *t, &bytes) ? realloc(m->tensors, bytes) : NULL;
        if (!t) {
            error_oom(err, cap * sizeof *t, "the table of tensors");
            return NULL;
        }
        m->tensors = t;
    }
    struct tensor *t = &m->tensors[m->n_tensors++];
    memset(t, 0, sizeof *t);
    return t;
}

const struct tensor *model_find(const struct model *m, const char *name)
{
    for (size_t i = 0; i < m->n_tensors; i++)
        if (strcmp(m->tensors[i].name, name) == 0)
            return &m->tensors[i];
    return NULL;
}

void model_was_read(const struct model *m, const struct tensor *t, size_t at, size_t bytes)
{
    const struct gguf_tensor *in = m->gguf ? gguf_tensor_find(m->gguf, t->name) : NULL;
    if (in && in->data == t->data)
        gguf_was_read(m->gguf, in, at, bytes);
}

const char *model_arch_name(const struct model *m)
{
    return m->arch->name;
}

bool model_executable(const struct model *m)
{
    return !(m->arch->has & ARCH_PREDICT_ONLY);
}

const struct tensor *model_get(const struct model *m, struct error *err, const char *fmt, ...)
{
    char name[64];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    const struct tensor *t = model_find(m, name);
    if (!t)
        error_set(err, ERROR_INPUT, "%s: tensor %s is missing", m->path[0] ? m->path : m->name, name);
    return t;
}

void model_stem(char *buf, size_t n, const char *path)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    const char *dot = strrchr(base, '.');
    size_t len = dot && dot != base ? (size_t)(dot - base) : strlen(base);
    snprintf(buf, n, "%.*s", (int)(len < n ? len : n - 1), base);
}

const char *model_shape(char *buf, size_t n, uint64_t rows, uint64_t cols)
{
    if (rows == 1)
        snprintf(buf, n, "[%llu]", (unsigned long long)cols);
    else
        snprintf(buf, n, "[%llu, %llu]", (unsigned long long)rows, (unsigned long long)cols);
    return buf;
}

const char *model_printable(char *buf, size_t n, const char *s, size_t len)
{
    size_t k = 0;
    for (; k < len && k + 1 < n; k++)
        buf[k] = s[k] >= 0x20 && s[k] < 0x7f ? s[k] : '?';
    buf[k] = 0;
    return buf;
}

/* ---- from dimensions ---------------------------------------------------------------- */

/* Type and bytes of t, given name and shape. */
static int measure(const struct model_declaring *c, struct tensor *t, struct error *err)
{
    if (c->checkpoint)
        return checkpoint_tensor(c->checkpoint, c->m->name, t, err);
    size_t bytes;
    t->type = DTYPE_F32;
    if (t->rows > 1 && model_tensor_type(c->type, &c->m->hp, t->name, t->cols, &t->type, err) != 0)
        return -1;
    if (!size_mul(t->rows, dtype_row_bytes(t->type, t->cols), &bytes))
        return error_set(err, ERROR_INPUT, "%s: %s: too many bytes", c->m->name, t->name);
    t->bytes = bytes;
    return 0;
}

int model_declare_tensor(void *ctx, const char *name, uint64_t rows, uint64_t cols, uint64_t n_mat, struct error *err)
{
    struct model_declaring *c = ctx;
    rows *= n_mat;
    struct tensor *t = model_add_tensor(c->m, err);
    if (!t)
        return -1;
    snprintf(t->name, sizeof t->name, "%s", name);
    t->rows = rows;
    t->cols = cols;
    t->n_mat = (uint32_t)n_mat;
    if (measure(c, t, err) != 0)
        return -1;
    c->m->weight_bytes += t->bytes;
    c->m->n_params += rows * cols;
    return 0;
}

/* Unknown type: the message lists mixtures and checkpoints. */
static int check_type(const char *type, const struct hparams *hp, struct error *err)
{
    enum dtype unused;
    struct checkpoint_info x;
    if (model_tensor_type(type, hp, "output.weight", 256, &unused, err) == 0)
        return 0;
    for (size_t i = 0; err && model_checkpoint_at(i, &x); i++) {
        const size_t n = strlen(err->msg);
        snprintf(err->msg + n, sizeof err->msg - n, "%s%s", i ? ", " : "; checkpoints: ", x.name);
    }
    return -1;
}

static int from_hparams(struct model *m, const char *name, const char *arch, const struct hparams *hp,
                        const struct checkpoint *checkpoint, const char *type, struct error *err)
{
    *m = (struct model){ 0 };
    snprintf(m->name, sizeof m->name, "%s", name);
    m->hp = *hp;
    if (hp->head_dim_v == 0)
        m->hp.head_dim_v = hp->head_dim;
    m->arch = arch_find(arch, strlen(arch));
    char known[1024];
    if (!m->arch)
        return error_set(err, ERROR_INPUT, "%s: architecture \"%s\" is not supported (known: %s)", name,
                         arch, arch_names(known, sizeof known));
    if (hparams_check(&m->hp, HPARAMS_PLAIN, name, arch, err) != 0 || hparams_supported(m->arch, &m->hp, name, err) != 0)
        return -1;
    /* canonical name: "q4_k" and "Q4_K_M" are equal */
    if (checkpoint)
        checkpoint_name(m->type_name, sizeof m->type_name, checkpoint);
    else if (check_type(type, hp, err) != 0)
        return -1;
    else
        snprintf(m->type_name, sizeof m->type_name, "%s", mixture_name(type));
    struct model_declaring ctx = { m, type, checkpoint };
    if (arch_declare(m->arch, &m->hp, model_declare_tensor, &ctx, err) != 0) {
        model_free(m);
        return -1;
    }
    return 0;
}

int model_from_hparams(struct model *m, const char *name, const char *arch,
                       const struct hparams *hp, const char *type, struct error *err)
{
    type = type ? type : "F16";
    return from_hparams(m, name, arch, hp, checkpoint_find(type), type, err);
}

int model_from_config(struct model *m, const char *name, const json_t *j, const char *what, const char *arch,
                      const struct hparams *hp, const char *type, struct error *err)
{
    struct checkpoint c;
    const int found = type ? 0 : quant_config(j, what, &c, err);
    if (found < 0)
        return -1;
    if (found == 0)
        return model_from_hparams(m, name, arch, hp, type, err);
    if (from_hparams(m, name, arch, hp, &c, NULL, err) != 0)
        return -1;
    m->kv_type_given = c.kv_type_given;
    m->kv_type = c.kv_type;
    snprintf(m->note, sizeof m->note, "%s", c.note);
    return 0;
}

/* ---- from a name or a path ------------------------------------------------------------ */

int model_parse_config(const char *name, const void *data, size_t size, struct hparams *hp,
                       const char **arch_out, struct error *err)
{
    json_t *j = json_load_mem(name, data, size, err);
    if (!j)
        return -1;
    int rc = config_parse(j, name, hp, arch_out, err);
    struct checkpoint c;
    if (rc == 0 && quant_config(j, name, &c, err) < 0)
        rc = -1;
    json_decref(j);
    return rc;
}

/* Name of a config.json's model: its own, else folder or file name. */
static void config_name(char *buf, size_t n, const json_t *j, const char *path)
{
    const char *s = json_string_value(json_object_get(j, "name"));
    if (!s)
        s = json_string_value(json_object_get(j, "_name_or_path"));
    if (s && *s) {
        snprintf(buf, n, "%s", s);
        return;
    }
    model_stem(buf, n, path);
    const char *base = strrchr(path, '/');
    if (!base || base == path || strcmp(base, "/config.json") != 0)
        return;
    char dir[4096];
    snprintf(dir, sizeof dir, "%.*s", (int)(base - path), path);
    const char *folder = strrchr(dir, '/');
    snprintf(buf, n, "%.*s", (int)n - 1, folder ? folder + 1 : dir);
}

/* modelopt's separate hf_quant_config.json, which vLLM and TensorRT-LLM read if config.json has no quantization_config. */
static int take_hf_quant_config(json_t *j, const char *path, struct error *err)
{
    char path_quant[4200];
    const char *const base = strrchr(path, '/');
    const json_t *const here = config_either(j, "quantization_config"), *const mlx = config_either(j, "quantization");
    if (strcmp(base ? base + 1 : path, "config.json") != 0 || !json_is_none(here) || !json_is_none(mlx))
        return 0;
    snprintf(path_quant, sizeof path_quant, "%.*shf_quant_config.json", base ? (int)(base + 1 - path) : 0, path);
    if (!file_exists(path_quant))
        return 0;
    json_t *const other = json_load_path(path_quant, err);
    if (!other)
        return -1;
    json_t *const q = json_object_get(other, "quantization");
    const bool known = json_is_object(q) && json_object_get(q, "quant_algo");
    const int rc = known && json_object_set_new(q, "quant_method", json_string("modelopt")) == 0 && json_object_set(j, "quantization_config", q) == 0 ? 0 : -1;
    json_decref(other);
    if (rc == 0)
        return 0;
    return known ? error_oom(err, 0, "a checkpoint's types") : error_set(err, ERROR_INPUT, "%s: expected an object \"quantization\" with quant_algo", path_quant);
}

static int load_config(struct model *m, const char *path, const char *type, struct error *err)
{
    *m = (struct model){ 0 };
    json_t *j = json_load_path(path, err);
    if (!j)
        return -1;
    if (json_is_object(j) && !type && take_hf_quant_config(j, path, err) != 0) {
        json_decref(j);
        return -1;
    }
    struct hparams hp;
    const char *arch;
    char name[sizeof m->name], note[sizeof m->note - sizeof((struct checkpoint *)NULL)->note];
    memset(&hp, 0, sizeof hp); /* padding too: config_notes compares bytes */
    int rc = config_parse(j, path, &hp, &arch, err);
    if (rc == 0)
        rc = config_notes(j, path, &hp, note, sizeof note, err);
    if (rc == 0) {
        config_name(name, sizeof name, j, path);
        model_clean_name(name);
        rc = model_from_config(m, name, j, path, arch, &hp, type, err);
    }
    if (rc == 0) {
        const size_t n = strlen(m->note);
        snprintf(m->path, sizeof m->path, "%s", path);
        snprintf(m->note + n, sizeof m->note - n, "%s%s", n && *note ? "; " : "", note);
    }
    json_decref(j);
    return rc;
}

static int load_gguf(struct model *m, const char *path, const char *type, struct error *err)
{
    *m = (struct model){ 0 };
    if (type)
        return error_set(err, ERROR_USAGE,
                         "%s: a GGUF file has its own tensor types; -q %s is for a config.json or a "
                         "name from `roofcast list models`",
                         path, type);
    struct gguf *g = gguf_open(path, err);
    return g ? model_from_gguf(m, g, err) : -1;
}

void model_clean_name(char *s)
{
    json_t *j = json_string(s);
    for (char *p = s; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f || (!j && (unsigned char)*p >= 0x80))
            *p = '?';
    json_decref(j);
}

/* Kind of file by content (GGUF), else by name (JSON). */
enum file_kind { FILE_NONE, FILE_DIR, FILE_GGUF, FILE_JSON, FILE_OTHER };

static enum file_kind classify(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return FILE_NONE;
    if (S_ISDIR(st.st_mode))
        return FILE_DIR;
    char magic[4] = { 0 };
    FILE *f = S_ISREG(st.st_mode) ? fopen(path, "rb") : NULL;
    size_t n = f ? fread(magic, 1, sizeof magic, f) : 0;
    if (f)
        fclose(f);
    if (n == 4 && memcmp(magic, "GGUF", 4) == 0)
        return FILE_GGUF;
    if (text_ends_with(path, ".json"))
        return FILE_JSON;
    return text_ends_with(path, ".gguf") ? FILE_GGUF : FILE_OTHER; /* the reader reports the problem */
}

int model_load(struct model *m, const char *spec, const char *type, struct error *err)
{
    *m = (struct model){ 0 };
    bool path_like = text_ends_with(spec, ".gguf") || text_ends_with(spec, ".json") || spec[0] == '/' ||
                     strncmp(spec, "./", 2) == 0 || strncmp(spec, "../", 3) == 0;
    if (!*spec)
        return error_set(err, ERROR_INPUT, "the model's name is empty");
    if (strlen(spec) >= sizeof m->path)
        return error_set(err, ERROR_INPUT, "the model's name is %zu bytes long", strlen(spec));
    switch (classify(spec)) {
    case FILE_GGUF:
        return load_gguf(m, spec, type, err);
    case FILE_JSON:
        return load_config(m, spec, type, err);
    case FILE_DIR: {
        char path[sizeof m->path + 16];
        snprintf(path, sizeof path, "%s/config.json", spec);
        if (file_exists(path) && strlen(path) < sizeof m->path)
            return load_config(m, path, type, err);
        if (path_like)
            return error_set(err, ERROR_INPUT, "%s: a directory without a config.json", spec);
        break;
    }
    case FILE_OTHER:
        return error_set(err, ERROR_INPUT,
                         "%s: neither a GGUF file (its first bytes are not \"GGUF\") nor a .json", spec);
    case FILE_NONE:
        if (path_like)
            return error_set(err, ERROR_INPUT, "%s: no such file", spec);
        break;
    }
    return preset_load(m, spec, type, NULL, err);
}

int model_same_tokens(const struct model *m, const struct model *ref, struct error *err)
{
    static const char key[] = "tokenizer.ggml.tokens";
    enum gguf_type elem;
    struct gguf_str a, b;
    uint64_t n, n_ref;
    if (gguf_has(m->gguf, key) != gguf_has(ref->gguf, key))
        return error_set(err, ERROR_INPUT, "%s: %s is %s, but not in %s", m->path, key,
                         gguf_has(m->gguf, key) ? "there" : "absent", ref->path);
    if (!gguf_has(m->gguf, key))
        return 0;
    if (gguf_get_arr(m->gguf, key, &elem, &n, err) != 0 || gguf_get_arr(ref->gguf, key, &elem, &n_ref, err) != 0)
        return -1;
    if (n != n_ref)
        return error_set(err, ERROR_INPUT, "%s: %llu tokens in the tokenizer, %s has %llu", m->path,
                         (unsigned long long)n, ref->path, (unsigned long long)n_ref);
    for (uint64_t i = 0; i < n; i++) {
        if (gguf_arr_str(m->gguf, key, i, &a, err) != 0 || gguf_arr_str(ref->gguf, key, i, &b, err) != 0)
            return -1;
        if (a.len != b.len || memcmp(a.s, b.s, a.len) != 0)
            return error_set(err, ERROR_INPUT, "%s: token %llu differs from that of %s: different vocabularies", m->path,
                             (unsigned long long)i, ref->path);
    }
    return 0;
}
