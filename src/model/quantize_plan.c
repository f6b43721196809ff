/* Type of each tensor, decided and checked before writing. */
#include "model/mixture.h"
#include "model/internal.h"
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

struct pattern {
    regex_t re;
    size_t n_found;
};

struct planner {
    const struct gguf *g;
    const struct quantize_options *o;
    struct quantized *q;
    struct mixture_shape shape;
    uint32_t *rank;          /* shape.attn_v_rank */
    struct pattern *pattern; /* compiled o->override */
    size_t n_pattern;
};

/* {arch}.suffix as a count (of the first layer, if an array); absent: *out unchanged. */
static int opt_count(const struct gguf *g, struct gguf_str arch, const char *suffix, uint32_t *out, struct error *err)
{
    char key[160];
    enum gguf_type elem;
    uint64_t n, v = *out;
    int64_t first;
    snprintf(key, sizeof key, "%.*s.%s", (int)u64_min(arch.len, 64), arch.s, suffix);
    if (gguf_has(g, key) && gguf_get_arr(g, key, &elem, &n, NULL) == 0) {
        if (gguf_arr_i64(g, key, 0, &first, err) != 0)
            return -1;
        v = first < 0 ? UINT64_MAX : (uint64_t)first;
    } else if (gguf_opt_u64(g, key, &v, err) != 0) {
        return -1;
    }
    if (v > HPARAMS_MAX_EMBD)
        return error_set(err, ERROR_INPUT, "%s: %s is not a count from 0 to %d", gguf_path(g), key, HPARAMS_MAX_EMBD);
    *out = (uint32_t)v;
    return 0;
}

/* Block of a tensor, or UINT32_MAX. */
static uint32_t layer_of(const char *name)
{
    unsigned layer;
    int at = 0;
    return sscanf(name, "blk.%5u.%n", &layer, &at) == 1 && at > 0 ? layer : UINT32_MAX;
}

/* Layers with their own attn_v. */
static int rank_attn_v(struct planner *z, struct error *err)
{
    struct mixture_shape *s = &z->shape;
    char role[64];
    z->rank = calloc((size_t)s->n_layer + 1, sizeof *z->rank);
    if (!z->rank)
        return error_oom(err, s->n_layer * sizeof *z->rank, "a list of layers");
    for (size_t i = 0; i < z->q->n_tensors; i++) {
        const char *name = z->q->tensor[i].name;
        const uint32_t layer = layer_of(name);
        if (layer >= s->n_layer)
            continue;
        quantize_role(role, sizeof role, name);
        const bool v = strcmp(role, "attn_v") == 0;
        s->n_attn_v += v || strcmp(role, "attn_qkv") == 0 || strcmp(role, "attn_kv_b") == 0;
        z->rank[layer + 1] += v;
    }
    for (uint32_t i = 0; i < s->n_layer; i++)
        z->rank[i + 1] += z->rank[i];
    s->attn_v_rank = z->rank;
    return 0;
}

static int read_shape(struct planner *z, struct error *err)
{
    struct mixture_shape *s = &z->shape;
    struct gguf_str arch;
    if (gguf_get_str(z->g, "general.architecture", &arch, err) != 0)
        return -1;
    s->pure = z->o->pure;
    s->tied = !gguf_tensor_find(z->g, "output.weight");
    s->n_head = 1;
    if (opt_count(z->g, arch, "block_count", &s->n_layer, err) != 0 ||
        opt_count(z->g, arch, "attention.head_count", &s->n_head, err) != 0)
        return -1;
    s->n_head_kv = s->n_head;
    if (opt_count(z->g, arch, "attention.head_count_kv", &s->n_head_kv, err) != 0 ||
        opt_count(z->g, arch, "expert_count", &s->n_expert, err) != 0)
        return -1;
    return rank_attn_v(z, err);
}

static int compile_patterns(struct planner *z, struct error *err)
{
    const struct quantize_options *o = z->o;
    z->pattern = calloc(o->n_override + 1, sizeof *z->pattern);
    if (!z->pattern)
        return error_oom(err, o->n_override * sizeof *z->pattern, "the patterns");
    for (; z->n_pattern < o->n_override; z->n_pattern++) {
        char why[128];
        regex_t *re = &z->pattern[z->n_pattern].re;
        int rc = regcomp(re, o->override[z->n_pattern].pattern, REG_EXTENDED | REG_NOSUB);
        if (rc == 0)
            continue;
        regerror(rc, re, why, sizeof why);
        return error_set(err, ERROR_USAGE, "pattern \"%s\": %s", o->override[z->n_pattern].pattern, why);
    }
    return 0;
}

static void free_patterns(struct planner *z)
{
    for (size_t i = 0; i < z->n_pattern; i++)
        regfree(&z->pattern[i].re);
    free(z->pattern);
}

/* A pattern without a match is an error. */
static int check_patterns(const struct planner *z, struct error *err)
{
    for (size_t i = 0; i < z->n_pattern; i++)
        if (z->pattern[i].n_found == 0)
            return error_set(err, ERROR_USAGE, "%s: no matrix has \"%s\" in its name", gguf_path(z->g),
                             z->o->override[i].pattern);
    return 0;
}

/* Type by the overrides, or NULL. */
static const struct dtype_info *asked_type(struct planner *z, const char *name)
{
    const bool embd = strcmp(name, "token_embd.weight") == 0;
    const bool head = strcmp(name, "output.weight") == 0 || (embd && z->shape.tied);
    const struct dtype_info *type = NULL;
    for (size_t i = 0; i < z->n_pattern; i++)
        if (regexec(&z->pattern[i].re, name, 0, NULL, 0) == 0) {
            z->pattern[i].n_found++;
            type = type ? type : z->o->override[i].type;
        }
    if (embd && z->o->embd_type)
        return z->o->embd_type;
    return head && z->o->output_type ? z->o->output_type : type;
}

static int check_types(const struct planner *z, const struct quantized_tensor *r, struct error *err)
{
    const struct dtype_info *from = dtype_find(r->from), *to = dtype_find(r->to);
    const char *path = gguf_path(z->g);
    if (r->from == r->to)
        return 0;
    if (!from->dequantize)
        return error_set(err, ERROR_INPUT, "%s: %s is %s, whose values roofcast cannot read", path, r->name,
                         from->name);
    if (from->block_elems > 1 && !z->o->allow_requantize)
        return error_set(err, ERROR_INPUT,
                         "%s: %s is quantized already, to %s: writing it as %s keeps its error, and rounding "
                         "again adds a second one; start from the F16, BF16 or F32 file, or use --allow-requantize",
                         path, r->name, from->name, to->name);
    if (r->cols % to->block_elems != 0)
        return error_set(err, ERROR_INPUT,
                         "%s: %s: rows of %" PRIu64 " elements, expected a multiple of %u for type %s", path, r->name, r->cols, to->block_elems, to->name);
    if (!to->quantize)
        return error_set(err, ERROR_INPUT,
                         "%s: %s would be %s, which roofcast cannot write (rows of %" PRIu64 " elements)", path, r->name, to->name, r->cols);
    return 0;
}

static int choose_type(struct planner *z, size_t i, struct error *err)
{
    const struct gguf_tensor *t = gguf_tensor_at(z->g, i);
    struct quantized_tensor *r = &z->q->tensor[i];
    const uint64_t rows = t->dims[1] * t->dims[2] * t->dims[3];
    r->from = r->to = r->wanted = t->type;
    r->cols = t->dims[0];
    r->n_elems = r->cols * rows;
    r->in_bytes = t->bytes;
    r->matrix = rows > 1 && !mixture_keeps(r->name);
    if (r->matrix) {
        const struct dtype_info *asked = asked_type(z, r->name);
        if (asked)
            r->to = r->wanted = asked->id;
        else if (mixture_tensor_type(z->o->type, &z->shape, r->name, r->cols, &r->to, err) != 0 ||
                 mixture_tensor_type(z->o->type, &z->shape, r->name, 256, &r->wanted, err) != 0)
            return -1;
        if (check_types(z, r, err) != 0)
            return -1;
    }
    r->out_bytes = rows * dtype_row_bytes(r->to, r->cols);
    z->q->in_bytes += r->in_bytes;
    z->q->out_bytes += r->out_bytes;
    return 0;
}

static int plan(struct planner *z, struct error *err)
{
    const size_t n = gguf_n_tensors(z->g);
    struct quantized *q = z->q;
    if (mixture_file_type(z->o->type) < 0) /* an unknown type is reported first, whatever the file */
        return mixture_tensor_type(z->o->type, &z->shape, "", 1, &(enum dtype){ DTYPE_F32 }, err);
    if (n == 0)
        return error_set(err, ERROR_INPUT, "%s: has no tensors", gguf_path(z->g));
    q->tensor = calloc(n, sizeof *q->tensor);
    if (!q->tensor)
        return error_oom(err, n * sizeof *q->tensor, "a list of tensors");
    q->n_tensors = n;
    for (size_t i = 0; i < n; i++) {
        const struct gguf_str s = gguf_tensor_at(z->g, i)->name;
        if (s.len >= sizeof q->tensor[i].name || memchr(s.s, 0, s.len))
            return error_set(err, ERROR_INPUT, "%s: tensor %zu: a name of %zu bytes, expected 1 to %zu, none of them 0",
                             gguf_path(z->g), i, s.len, sizeof q->tensor[i].name - 1);
        memcpy(q->tensor[i].name, s.s, s.len);
    }
    if (read_shape(z, err) != 0 || compile_patterns(z, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (choose_type(z, i, err) != 0)
            return -1;
    return check_patterns(z, err);
}

int quantize_plan(const struct gguf *g, const struct quantize_options *o, struct quantized *q, struct error *err)
{
    struct planner z = { .g = g, .o = o, .q = q };
    int rc = plan(&z, err);
    free(z.rank);
    free_patterns(&z);
    return rc;
}
