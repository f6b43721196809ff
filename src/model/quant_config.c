/* quantization_config of a config.json: checkpoint format and exclusions. Unsupported fields that would change bytes or FLOP are
 * errors that name the field. doc/formats.md, methods.md (4) */
#include "model/checkpoint.h"
#include <string.h>
#include <strings.h>

#define PRINTABLE(buf, s) model_printable(buf, sizeof(buf), s, strlen(s))

struct reader {
    const json_t *q;      /* the object */
    const char *what;     /* "file: quantization_config" */
    struct checkpoint *c;
    struct error *err;
};

static int use(struct reader *r, const char *name)
{
    *r->c = *checkpoint_find(name);
    return 0;
}

/* ---- fields ------------------------------------------------------------------------------------------ */

static int refuse_str(const struct reader *r, const char *field, const char *found, const char *expected)
{
    char text[65];
    return error_set(r->err, ERROR_INPUT, "%s: %s is \"%s\", expected %s; name the type with -q, or remove the field",
                     r->what, field, PRINTABLE(text, found), expected);
}

static int refuse_int(const struct reader *r, const char *field, int64_t found, const char *expected)
{
    return error_set(r->err, ERROR_INPUT, "%s: %s is %lld, expected %s; name the type with -q, or remove the field",
                     r->what, field, (long long)found, expected);
}

/* An empty object or array. */
static bool is_empty(const json_t *v)
{
    return !v || json_is_null(v) || json_is_false(v) || (json_is_array(v) && json_array_size(v) == 0) ||
           (json_is_object(v) && json_object_size(v) == 0);
}

/* Unknown fields are errors unless empty. */
static int check_fields(const struct reader *r, const json_t *o, const char *where, const char *known)
{
    const char *key;
    json_t *v;
    char text[65];
    json_object_foreach((json_t *)o, key, v)
        if (!text_lists(known, key) && (json_is_false(v) || !is_empty(v)))
            return error_set(r->err, ERROR_INPUT, "%s: %sfield \"%s\" is not understood (known: %s); name the type with -q, "
                             "or remove the field", r->what, where, PRINTABLE(text, key), known);
    return 0;
}

static int must_be_empty(const struct reader *r, const json_t *o, const char *field)
{
    const json_t *v = json_object_get(o, field);
    if (is_empty(v))
        return 0;
    return error_set(r->err, ERROR_INPUT, "%s: %s: expected null, false or nothing in it, found %s; name the type with "
                     "-q, or remove the field", r->what, field, json_type_name(v));
}

static int read_ignored(struct reader *r, const char *field)
{
    const json_t *v = json_object_get(r->q, field);
    if (!v || json_is_null(v))
        return 0;
    if (!json_is_array(v))
        return error_set(r->err, ERROR_INPUT, "%s: field \"%s\": expected an array of strings, found %s", r->what, field,
                         json_type_name(v));
    r->c->ignore = v;
    return module_listed(v, r->what, "blk.0.attn_q.weight", r->err) < 0 ? -1 : 0; /* validates the entries */
}

/* Columns per scale: -1 or null: all. */
static int read_group(struct reader *r, const json_t *o, const char *ctx)
{
    int64_t group = -1;
    if (json_get_int_opt(o, ctx, "group_size", -1, 1 << 20, &group, r->err) != 0)
        return -1;
    if (group == 0)
        return refuse_int(r, "group_size", 0, "-1 or 1 to 2^20");
    r->c->group = group < 0 ? 0 : (uint32_t)group;
    return 0;
}

/* [rows, columns] */
static int read_block(struct reader *r, const json_t *v, const char *field)
{
    int64_t rows = 0, cols = 0;
    if (json_array_size(v) != 2 || !json_whole(json_array_get(v, 0), &rows) || !json_whole(json_array_get(v, 1), &cols) || rows < 1 || cols < 1 || rows > 1 << 20 || cols > 1 << 20)
        return error_set(r->err, ERROR_INPUT, "%s: %s: expected two integers from 1 to 2^20, rows and columns of a block",
                         r->what, field);
    r->c->group_rows = (uint32_t)rows;
    r->c->group = (uint32_t)cols;
    return 0;
}

/* ---- the KV cache ------------------------------------------------------------------------------------- */

/*
 * vLLM's --kv-cache-dtype auto takes the type from checkpoints of modelopt (kv_cache_quant_algo, kv_cache_scheme) and
 * compressed-tensors (kv_cache_scheme). Source: vllm/utils/torch_utils.py@0024350 resolve_kv_cache_dtype_string;
 * vllm/attention/layer.py (confidence: medium). Types other than FP8 and NVFP4 are noted and ignored.
 */
static void kv_cache(struct reader *r, const char *field, const char *found, bool fp8, bool nvfp4)
{
    char text[33];
    r->c->kv_type_given = fp8 || nvfp4;
    r->c->kv_type = fp8 ? DTYPE_FP8 : DTYPE_NVFP4;
    if (!r->c->kv_type_given)
        snprintf(r->c->note, sizeof r->c->note, "%s (%s) is not supported: the KV cache has 16 bits unless --kv-type names a type", field,
                 PRINTABLE(text, found));
}

static int read_kv_scheme(struct reader *r)
{
    const json_t *o = json_object_get(r->q, "kv_cache_scheme");
    char ctx[4400], found[33];
    const char *type = "float";
    int64_t bits = 8;
    if (is_empty(o))
        return 0;
    if (!json_is_object(o))
        return error_set(r->err, ERROR_INPUT, "%s: kv_cache_scheme: expected an object or null, found %s", r->what, json_type_name(o));
    snprintf(ctx, sizeof ctx, "%s: kv_cache_scheme", r->what);
    if (json_get_int_opt(o, ctx, "num_bits", 1, 64, &bits, r->err) != 0 || json_get_str_opt(o, ctx, "type", &type, r->err) != 0)
        return -1;
    snprintf(found, sizeof found, "%s, %lld bits", strcmp(type, "float") == 0 ? "float" : "int", (long long)bits);
    const bool floats = strcmp(type, "float") == 0;
    kv_cache(r, "kv_cache_scheme", found, floats && bits == 8, floats && bits == 4);
    return 0;
}

/* Methods whose KV cache type vLLM ignores. */
static void leave_kv(struct reader *r, const char *field)
{
    if (!is_empty(json_object_get(r->q, field)))
        snprintf(r->c->note, sizeof r->c->note, "%s: vLLM uses an FP8 cache for such files only on request (--kv-type FP8 here)", field);
}

/* ---- methods ------------------------------------------------------------------------------------------- */

static int read_fp8(struct reader *r)
{
    const json_t *block = json_object_get(r->q, "weight_block_size");
    const char *fmt = "e4m3", *activations = "dynamic";
    if (check_fields(r, r->q, "", "quant_method activation_scheme fmt weight_block_size modules_to_not_convert ignored_layers "
                                  "scale_fmt kv_cache_scheme kv_cache_quant_method dequantize") != 0 || must_be_empty(r, r->q, "dequantize") != 0 ||
        json_get_str_opt(r->q, r->what, "fmt", &fmt, r->err) != 0 ||
        json_get_str_opt(r->q, r->what, "activation_scheme", &activations, r->err) != 0)
        return -1;
    if (!text_lists("e4m3 float8_e4m3 float8_e4m3fn", fmt))
        return refuse_str(r, "fmt", fmt, "\"e4m3\"");
    if (!text_lists("dynamic static", activations))
        return refuse_str(r, "activation_scheme", activations, "\"dynamic\" or \"static\"");
    use(r, is_empty(block) ? "FP8" : "FP8_BLOCK");
    if (!is_empty(block) && read_block(r, block, "weight_block_size") != 0)
        return -1;
    leave_kv(r, "kv_cache_scheme");
    leave_kv(r, "kv_cache_quant_method");
    return read_ignored(r, "ignored_layers") != 0 ? -1 : read_ignored(r, "modules_to_not_convert");
}

static int read_awq(struct reader *r)
{
    const char *version = "gemm";
    int64_t bits = 4;
    bool zeros = true;
    use(r, "AWQ");
    if (check_fields(r, r->q, "", "quant_method bits group_size zero_point version modules_to_not_convert backend do_fuse "
                                  "exllama_config fuse_max_seq_len modules_to_fuse") != 0 ||
        json_get_int(r->q, r->what, "bits", 1, 64, &bits, r->err) != 0 || read_group(r, r->q, r->what) != 0 ||
        json_get_bool_opt(r->q, r->what, "zero_point", &zeros, r->err) != 0 ||
        json_get_str_opt(r->q, r->what, "version", &version, r->err) != 0)
        return -1;
    if (bits != 4)
        return refuse_int(r, "bits", bits, "4");
    if (!text_lists("gemm GEMM gemv GEMV", version))
        return refuse_str(r, "version", version, "\"gemm\" or \"gemv\"");
    r->c->packs_rows = text_lists("gemm GEMM", version);
    r->c->zeros = zeros;
    return read_ignored(r, "modules_to_not_convert");
}

static int read_gptq(struct reader *r)
{
    const char *format = "gptq";
    int64_t bits = 4;
    use(r, "GPTQ");
    if (check_fields(r, r->q, "", "quant_method bits group_size desc_act sym static_groups true_sequential damp_percent "
                                  "damp_auto_increment model_name_or_path model_file_base_name dataset tokenizer lm_head "
                                  "checkpoint_format meta quantizer backend batch_size block_name_to_quantize "
                                  "cache_block_outputs exllama_config max_input_length model_seqlen module_name_preceding_first_block "
                                  "modules_in_block_to_quantize pad_token_id use_cuda_fp16 use_exllama pack_dtype dynamic "
                                  "is_marlin_format mse") != 0 ||
        json_get_int(r->q, r->what, "bits", 1, 64, &bits, r->err) != 0 || read_group(r, r->q, r->what) != 0 ||
        json_get_str_opt(r->q, r->what, "checkpoint_format", &format, r->err) != 0 ||
        must_be_empty(r, r->q, "lm_head") != 0 || must_be_empty(r, r->q, "dynamic") != 0 ||
        must_be_empty(r, r->q, "modules_in_block_to_quantize") != 0 || must_be_empty(r, r->q, "is_marlin_format") != 0)
        return -1;
    if (bits != 4 && bits != 8)
        return refuse_int(r, "bits", bits, "4 or 8");
    if (!text_lists("gptq gptq_v2", format))
        return refuse_str(r, "checkpoint_format", format, "\"gptq\" or \"gptq_v2\"");
    r->c->elem = bits == 8 ? DTYPE_INT8 : DTYPE_INT4;
    return 0;
}

/* ---- compressed-tensors --------------------------------------------------------------------------------- */

/* Number format of a group. */
struct numbers {
    int64_t bits; /* 0: not quantized */
    bool floats, symmetric;
    const char *strategy;
};

static int read_numbers(struct reader *r, const json_t *o, const char *field, struct numbers *n)
{
    char ctx[4400];
    const char *type = "int";
    *n = (struct numbers){ .symmetric = true, .strategy = "tensor" };
    if (!o || json_is_null(o))
        return 0;
    if (!json_is_object(o))
        return error_set(r->err, ERROR_INPUT, "%s: %s: expected an object or null, found %s", r->what, field, json_type_name(o));
    snprintf(ctx, sizeof ctx, "%s: %s", r->what, field);
    if (check_fields(r, o, "weights and activations: ",
                     "num_bits type symmetric strategy group_size block_structure dynamic actorder scale_dtype zp_dtype "
                     "observer observer_kwargs is_mx") != 0 ||
        json_get_int(o, ctx, "num_bits", 1, 64, &n->bits, r->err) != 0 || json_get_str_opt(o, ctx, "type", &type, r->err) != 0 ||
        json_get_bool_opt(o, ctx, "symmetric", &n->symmetric, r->err) != 0 ||
        json_get_str_opt(o, ctx, "strategy", &n->strategy, r->err) != 0)
        return -1;
    n->floats = strcmp(type, "float") == 0;
    return n->floats || strcmp(type, "int") == 0 ? 0 : refuse_str(r, "type", type, "\"int\" or \"float\"");
}

/* Recipe for these weight and activation formats, or NULL. */
static const char *recipe_of(const struct numbers *w, const struct numbers *a)
{
    static const struct {
        int w_bits, a_bits;
        bool w_floats, a_floats;
        const char *name;
    } recipes[] = {
        { 8, 8, true, true, "FP8_CHANNEL" }, { 8, 0, true, false, "FP8_W8A16" }, { 8, 8, false, false, "INT8" },
        { 8, 0, false, false, "INT8_W8A16" }, { 4, 0, false, false, "W4A16" },   { 4, 8, false, true, "W4A8_FP8" },
        { 4, 8, false, false, "W4A8_INT8" },  { 4, 4, true, true, "NVFP4" },     { 4, 0, true, false, "NVFP4A16" },
    };
    for (size_t i = 0; i < ARRAY_LEN(recipes); i++)
        if (w->bits == recipes[i].w_bits && a->bits == recipes[i].a_bits && w->floats == recipes[i].w_floats &&
            (a->bits == 0 || a->floats == recipes[i].a_floats))
            return recipes[i].name;
    return NULL;
}

static int read_strategy(struct reader *r, const json_t *weights, const struct numbers *w)
{
    struct checkpoint *c = r->c;
    if (c->elem == DTYPE_FP4) {
        if (read_group(r, weights, r->what) != 0)
            return -1;
        if (strcmp(w->strategy, "tensor_group") != 0 || c->group != 16)
            return refuse_str(r, "strategy", w->strategy, "\"tensor_group\" with group_size 16 for 4-bit floats");
        return 0;
    }
    if (strcmp(w->strategy, "tensor") == 0 && !c->words) {
        c->scales = SCALES_MATRIX;
    } else if (strcmp(w->strategy, "channel") == 0) {
        c->scales = SCALES_ROW;
    } else if (strcmp(w->strategy, "group") == 0) {
        c->scales = SCALES_GROUP;
        c->scale_bytes = 2;
        return read_group(r, weights, r->what);
    } else if (strcmp(w->strategy, "block") == 0 && c->elem == DTYPE_FP8) {
        c->scales = SCALES_BLOCK;
        return read_block(r, json_object_get(weights, "block_structure"), "block_structure");
    } else {
        return refuse_str(r, "strategy", w->strategy, "\"tensor\", \"channel\", \"group\" or (8-bit floats) \"block\"");
    }
    c->group = 0;
    return 0;
}

/* config_groups: exactly one, for all linear layers. */
static const json_t *only_group(struct reader *r)
{
    json_t *groups = json_object_get(r->q, "config_groups"), *group = NULL;
    const char *key;
    json_t *v;
    if (!json_is_object(groups) || json_object_size(groups) != 1) {
        error_set(r->err, ERROR_INPUT, "%s: config_groups: expected an object with one group, found %s with %zu; name the type "
                  "with -q", r->what, groups ? json_type_name(groups) : "nothing", json_object_size(groups));
        return NULL;
    }
    json_object_foreach(groups, key, v)
        group = v;
    const json_t *targets = json_object_get(group, "targets");
    const char *target = json_string_value(json_array_get(targets, 0));
    if (!json_is_object(group) || (targets && (json_array_size(targets) != 1 || !target || strcmp(target, "Linear") != 0))) {
        error_set(r->err, ERROR_INPUT, "%s: config_groups: targets: expected [\"Linear\"]; name the type with -q",
                  r->what);
        return NULL;
    }
    return check_fields(r, group, "config_groups: ", "targets weights input_activations output_activations format") == 0 ? group : NULL;
}

static int read_group_scheme(struct reader *r)
{
    const json_t *group = only_group(r);
    struct numbers w, a;
    if (!group || read_numbers(r, json_object_get(group, "weights"), "weights", &w) != 0 ||
        read_numbers(r, json_object_get(group, "input_activations"), "input_activations", &a) != 0 ||
        must_be_empty(r, group, "output_activations") != 0)
        return -1;
    const char *name = recipe_of(&w, &a);
    if (!name)
        return error_set(r->err, ERROR_INPUT,
                         "%s: config_groups: weights of %lld bits (%s) and activations of %lld (%s): expected 8 and 8, 8 and 16, 4 "
                         "and 16, 4 and 8 or (both float) 4 and 4; name the type with -q",
                         r->what, (long long)w.bits, w.floats ? "float" : "int", (long long)(a.bits ? a.bits : 16),
                         a.bits == 0 || a.floats ? "float" : "int");
    use(r, name);
    const char *format = "";
    if (json_get_str_opt(r->q, r->what, "format", &format, r->err) != 0)
        return -1;
    r->c->words |= strcmp(format, "pack-quantized") == 0;
    if (strcmp(format, "pack-quantized") == 0)
        r->c->matrix_bytes = 16; /* weight_shape: two int64 */
    if (!w.symmetric && (w.floats || !r->c->words))
        return error_set(r->err, ERROR_INPUT, "%s: symmetric is false, expected true for weights that are not packed integers",
                         r->what);
    r->c->zeros = !w.symmetric;
    return read_strategy(r, json_object_get(group, "weights"), &w);
}

static int read_compressed(struct reader *r)
{
    static const char known[] = "dense int-quantized float-quantized naive-quantized pack-quantized nvfp4-pack-quantized";
    const char *format = "dense";
    if (check_fields(r, r->q, "", "quant_method config_groups format ignore kv_cache_scheme quantization_status "
                                  "global_compression_ratio sparsity_config transform_config version provider") != 0 ||
        json_get_str_opt(r->q, r->what, "format", &format, r->err) != 0 || must_be_empty(r, r->q, "sparsity_config") != 0)
        return -1;
    if (!text_lists(known, format))
        return refuse_str(r, "format", format, "int-quantized, float-quantized, naive-quantized, pack-quantized or "
                                               "nvfp4-pack-quantized");
    return read_group_scheme(r) != 0 || read_kv_scheme(r) != 0 ? -1 : read_ignored(r, "ignore");
}

/* ---- method selection ---- */

static int read_modelopt(struct reader *r)
{
    const char *algo = NULL, *kv = NULL;
    int64_t group = 16;
    if (check_fields(r, r->q, "", "quant_method quant_algo kv_cache_quant_algo kv_cache_scheme group_size config_groups ignore "
                                  "exclude_modules producer") != 0 ||
        json_get_str(r->q, r->what, "quant_algo", &algo, r->err) != 0 || json_get_str_opt(r->q, r->what, "kv_cache_quant_algo", &kv, r->err) != 0 ||
        json_get_int_opt(r->q, r->what, "group_size", 1, 1 << 20, &group, r->err) != 0)
        return -1;
    if (strcmp(algo, "NVFP4") == 0 && group != 16)
        return refuse_int(r, "group_size", group, "16 for NVFP4");
    if (strcmp(algo, "FP8") == 0 || strcmp(algo, "NVFP4") == 0)
        use(r, algo);
    else if (strcmp(algo, "FP8_PER_CHANNEL_PER_TOKEN") == 0)
        use(r, "FP8_CHANNEL");
    else
        return refuse_str(r, "quant_algo", algo, "\"FP8\", \"FP8_PER_CHANNEL_PER_TOKEN\" or \"NVFP4\"");
    if (read_kv_scheme(r) != 0)
        return -1;
    if (kv && *kv && strcasecmp(kv, "none") != 0 && strcasecmp(kv, "auto") != 0)
        kv_cache(r, "kv_cache_quant_algo", kv, strcasecmp(kv, "FP8") == 0, strcasecmp(kv, "NVFP4") == 0);
    return read_ignored(r, "exclude_modules") != 0 ? -1 : read_ignored(r, "ignore");
}

/* ---- MLX ---------------------------------------------------------------------------------------------------- */

/* bits and group_size, global or per module. Source: mlx.core.quantize, its modes. */
static int read_mlx_size(const struct reader *r, const json_t *o, const char *ctx, int64_t *bits, int64_t *group)
{
    if (json_get_int_opt(o, ctx, "bits", 2, 8, bits, r->err) != 0 || json_get_int_opt(o, ctx, "group_size", 16, 128, group, r->err) != 0)
        return -1;
    if (*bits == 7)
        return refuse_int(r, "bits", *bits, "2, 3, 4, 5, 6 or 8");
    if (*group != 16 && *group != 32 && *group != 64 && *group != 128)
        return refuse_int(r, "group_size", *group, "16, 32, 64 or 128");
    return 0;
}

/* A module entry: its size, true: default, false: not quantized. */
static int read_mlx_module(struct reader *r, const char *key, const json_t *v)
{
    char ctx[4400], text[65];
    int64_t bits = 4, group = 64;
    snprintf(ctx, sizeof ctx, "%s: %s", r->what, PRINTABLE(text, key));
    if (!json_is_object(v) && !json_is_boolean(v))
        return error_set(r->err, ERROR_INPUT, "%s: expected an object with bits and group_size, true or false, found %s", ctx, json_type_name(v));
    if (json_is_object(v) && read_mlx_size(r, v, ctx, &bits, &group) != 0)
        return -1;
    r->c->modules = r->q;
    if (!module_known(key) && !json_is_true(v) && !*r->c->note)
        snprintf(r->c->note, sizeof r->c->note, "quantization: the size of %s (and of others whose names are not known) is taken as that of the rest", text);
    return 0;
}

static int read_mlx(struct reader *r)
{
    static const struct {
        const char *mode, *base;
        enum dtype elem;
        unsigned scale_bytes;
        int bits, group; /* defaults */
    } modes[] = { { "affine", "MLX_4BIT", DTYPE_INT4, 4, 4, 64 },
                  { "mxfp4", "MLX_4BIT", DTYPE_FP4, 1, 4, 32 },
                  { "nvfp4", "MLX_4BIT", DTYPE_FP4, 1, 4, 16 },
                  { "mxfp8", "MLX_8BIT", DTYPE_FP8, 1, 8, 32 } };
    const char *mode = "affine", *key;
    json_t *v;
    size_t m = 0;
    if (json_get_str_opt(r->q, r->what, "mode", &mode, r->err) != 0)
        return -1;
    while (m < ARRAY_LEN(modes) && strcmp(mode, modes[m].mode) != 0)
        m++;
    if (m == ARRAY_LEN(modes))
        return refuse_str(r, "mode", mode, "\"affine\", \"mxfp4\", \"mxfp8\" or \"nvfp4\"");
    int64_t bits = modes[m].bits, group = modes[m].group;
    if (read_mlx_size(r, r->q, r->what, &bits, &group) != 0)
        return -1;
    const bool affine = m == 0;
    use(r, affine && bits == 8 ? "MLX_8BIT" : modes[m].base);
    r->c->elem = affine ? (bits > 4 ? DTYPE_INT8 : DTYPE_INT4) : modes[m].elem;
    r->c->bits = (unsigned)bits;
    r->c->group = (uint32_t)group;
    r->c->scale_bytes = modes[m].scale_bytes;
    json_object_foreach((json_t *)r->q, key, v)
        if (!text_lists("mode bits group_size quant_method", key) && read_mlx_module(r, key, v) != 0)
            return -1;
    return 0;
}

static int read_mxfp4(struct reader *r)
{
    use(r, "MXFP4_EXPERTS");
    return check_fields(r, r->q, "", "quant_method modules_to_not_convert") != 0 ? -1 : read_ignored(r, "modules_to_not_convert");
}

static const struct {
    const char *name;
    int (*read)(struct reader *r);
} methods[] = {
    { "fp8", read_fp8 },
    { "awq", read_awq },
    { "gptq", read_gptq },
    { "compressed-tensors", read_compressed },
    { "modelopt", read_modelopt },
    { "modelopt_fp4", read_modelopt },
    { "mxfp4", read_mxfp4 },
};

/* 16-bit type of unquantized tensors: the model's. */
static int read_dtype(const json_t *j, const char *what, struct checkpoint *c, struct error *err)
{
    const char *type = NULL;
    char found[33];
    if (json_get_str_opt(j, what, "torch_dtype", &type, err) != 0)
        return -1;
    const char *field = json_is_string(json_object_get(j, "dtype")) ? "dtype" : "torch_dtype"; /* "dtype" takes precedence */
    if (json_get_str_opt(j, what, "dtype", &type, err) != 0)
        return -1;
    if (!type)
        return 0;
    if (strcmp(type, "bfloat16") != 0 && strcmp(type, "float16") != 0)
        return error_set(err, ERROR_INPUT, "%s: %s is \"%s\", expected \"bfloat16\" or \"float16\" with a "
                         "quantization_config", what, field, PRINTABLE(found, type));
    const bool half = strcmp(type, "float16") == 0;
    c->kept = half ? DTYPE_F16 : DTYPE_BF16;
    if (c->scheme == SCHEME_FP16 || c->scheme == SCHEME_BF16)
        c->scheme = half ? SCHEME_FP16 : SCHEME_BF16;
    return 0;
}

/* MLX: sizes without a method, under "quantization", in newer files under both names. */
static bool is_mlx(const json_t *q)
{
    return json_is_object(q) && !json_object_get(q, "quant_method") && (json_object_get(q, "bits") || json_object_get(q, "group_size"));
}

static int read_method(struct reader *r, const json_t *j, const char *file)
{
    const char *method = json_string_value(json_object_get(r->q, "quant_method"));
    char found[33];
    int (*read)(struct reader *r) = is_mlx(r->q) ? read_mlx : NULL;
    for (size_t i = 0; method && !read && i < ARRAY_LEN(methods); i++)
        if (strcmp(method, methods[i].name) == 0)
            read = methods[i].read;
    if (read)
        return read(r) != 0 || read_dtype(j, file, r->c, r->err) != 0 ? -1 : 1;
    return error_set(r->err, ERROR_INPUT,
                     "%s: quant_method is %s%s%s, expected fp8, awq, gptq, compressed-tensors, modelopt or mxfp4 (or MLX's bits and group_size "
                     "without one); name the type with -q, or remove the field",
                     r->what, method ? "\"" : "", method ? PRINTABLE(found, method) : "missing", method ? "\"" : "");
}

int quant_config(const json_t *j, const char *what, struct checkpoint *c, struct error *err)
{
    /* compression_config: older name; source: vLLM's get_quant_config */
    const json_t *const now = config_either(j, "quantization_config"), *const old = config_either(j, "compression_config");
    const json_t *q = now && !json_is_null(now) ? now : old, *const mlx = config_either(j, "quantization"), *const text = config_text(j);
    const bool own = mlx && !json_is_null(mlx);
    char ctx[4300];
    if (!q || json_is_null(q))
        q = own ? mlx : NULL;
    if (!q)
        return 0;
    snprintf(ctx, sizeof ctx, "%s: %s", what, q == mlx ? "quantization" : "quantization_config");
    if (own && q != mlx && !json_equal(q, mlx))
        return error_set(err, ERROR_INPUT, "%s: quantization and quantization_config differ, expected one of them, or both alike; name the type "
                         "with -q", what);
    if (q == mlx && !is_mlx(q))
        return error_set(err, ERROR_INPUT, "%s: expected MLX's object with bits and group_size, found %s; name the type with -q, or remove "
                         "the field", ctx, json_type_name(q));
    struct reader r = { .q = q, .what = ctx, .c = c, .err = err };
    return read_method(&r, text != j && !json_object_get(j, "torch_dtype") && !json_object_get(j, "dtype") ? text : j, what);
}
