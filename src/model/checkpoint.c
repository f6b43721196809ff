/* Table of checkpoint formats, and tensor sizes in them. methods.md (4) */
#include "model/checkpoint.h"
#include "model/mixture.h"
#include <string.h>
#include <strings.h>

/*
 * Sources: parameters created by vLLM's loaders (vllm/model_executor/layers/quantization): awq.py@000796a, gptq.py@02dd7b8,
 * compressed_tensors/schemes/compressed_tensors_w4a4_nvfp4.py@0094cb9, ..._w8a8_int8.py@00ba7ff; fp8.py, modelopt.py and
 * compressed-tensors' packed integers (confidence: medium). MLX: mlx.core.quantize (scales and biases in the weights' type), mlx_lm's
 * quantize_model (all linear layers and embeddings). DeepSeek-V3's weight_scale_inv: its README_WEIGHTS.md. Row scales count as F32, as
 * in vLLM; compressed-tensors stores them in the original weight type (initialize.py), mostly BF16.
 */
static const struct checkpoint table[] = {
    { .name = "FP8", .weights = "FP8 (E4M3), one F32 scale a matrix", .elem = DTYPE_FP8, .scheme = SCHEME_FP8,
      .scales = SCALES_MATRIX, .scale_bytes = 4, .kept = DTYPE_BF16 },
    { .name = "FP8_CHANNEL", .alias = "FP8_DYNAMIC", .weights = "FP8 (E4M3), one F32 scale a row", .elem = DTYPE_FP8,
      .scheme = SCHEME_FP8, .scales = SCALES_ROW, .scale_bytes = 4, .kept = DTYPE_BF16 },
    { .name = "FP8_BLOCK", .weights = "FP8 (E4M3), one F32 scale for 128 x 128", .elem = DTYPE_FP8, .scheme = SCHEME_FP8,
      .scales = SCALES_BLOCK, .group_rows = 128, .group = 128, .scale_bytes = 4, .kept = DTYPE_BF16 },
    { .name = "FP8_W8A16", .weights = "FP8 (E4M3), one F32 scale a row", .elem = DTYPE_FP8, .scheme = SCHEME_BF16,
      .scales = SCALES_ROW, .scale_bytes = 4, .kept = DTYPE_BF16 },
    { .name = "INT8", .alias = "W8A8", .weights = "INT8, one F32 scale a row", .elem = DTYPE_INT8, .scheme = SCHEME_INT8,
      .scales = SCALES_ROW, .scale_bytes = 4, .kept = DTYPE_BF16 },
    { .name = "INT8_W8A16", .alias = "W8A16", .weights = "INT8, one F32 scale a row", .elem = DTYPE_INT8,
      .scheme = SCHEME_BF16, .scales = SCALES_ROW, .scale_bytes = 4, .kept = DTYPE_BF16 },
    { .name = "AWQ", .weights = "INT4, an F16 scale and a 4-bit zero for 128 columns of a row", .elem = DTYPE_INT4,
      .scheme = SCHEME_FP16, .scales = SCALES_GROUP, .group = 128, .scale_bytes = 2, .words = true, .packs_rows = true,
      .zeros = true, .kept = DTYPE_F16 },
    { .name = "GPTQ", .weights = "INT4, an F16 scale and a 4-bit zero for 128 columns of a row; an int32 a column",
      .elem = DTYPE_INT4, .scheme = SCHEME_FP16, .scales = SCALES_GROUP, .group = 128, .scale_bytes = 2, .words = true,
      .zeros = true, .g_idx = true, .kept = DTYPE_F16 },
    { .name = "W4A16", .weights = "INT4, a 16-bit scale for 128 columns of a row", .elem = DTYPE_INT4,
      .scheme = SCHEME_BF16, .scales = SCALES_GROUP, .group = 128, .scale_bytes = 2, .matrix_bytes = 16, .words = true,
      .kept = DTYPE_BF16 },
    { .name = "W4A8_FP8", .weights = "INT4, a 16-bit scale for 128 columns of a row", .elem = DTYPE_INT4,
      .scheme = SCHEME_FP8, .scales = SCALES_GROUP, .group = 128, .scale_bytes = 2, .matrix_bytes = 16, .words = true,
      .kept = DTYPE_BF16 },
    { .name = "W4A8_INT8", .weights = "INT4, a 16-bit scale for 128 columns of a row", .elem = DTYPE_INT4,
      .scheme = SCHEME_INT8, .scales = SCALES_GROUP, .group = 128, .scale_bytes = 2, .matrix_bytes = 16, .words = true,
      .kept = DTYPE_BF16 },
    { .name = "NVFP4", .weights = "FP4 (E2M1), an FP8 scale for 16 columns of a row, one F32 scale a matrix",
      .elem = DTYPE_FP4, .scheme = SCHEME_FP4, .scales = SCALES_GROUP, .group = 16, .scale_bytes = 1, .matrix_bytes = 4,
      .kept = DTYPE_BF16 },
    { .name = "NVFP4_FFN", .weights = "feed-forward layers as NVFP4; attention 16 bits", .elem = DTYPE_FP4,
      .scheme = SCHEME_FP4, .scales = SCALES_GROUP, .group = 16, .scale_bytes = 1, .matrix_bytes = 4, .ffn_only = true,
      .kept = DTYPE_BF16 },
    { .name = "NVFP4A16", .weights = "as NVFP4", .elem = DTYPE_FP4, .scheme = SCHEME_BF16, .scales = SCALES_GROUP,
      .group = 16, .scale_bytes = 1, .matrix_bytes = 4, .kept = DTYPE_BF16 },
    { .name = "MLX_4BIT", .weights = "INT4, a 16-bit scale and bias for 64 columns of a row; the embedding and the LM head too", .elem = DTYPE_INT4,
      .scheme = SCHEME_BF16, .scales = SCALES_GROUP, .group = 64, .scale_bytes = 4, .bits = 4, .tables = true, .kept = DTYPE_BF16 },
    { .name = "MLX_8BIT", .weights = "INT8, a 16-bit scale and bias for 64 columns of a row; the embedding and the LM head too", .elem = DTYPE_INT8,
      .scheme = SCHEME_BF16, .scales = SCALES_GROUP, .group = 64, .scale_bytes = 4, .bits = 8, .tables = true, .kept = DTYPE_BF16 },
    { .name = "MXFP4_EXPERTS", .weights = "experts FP4 (E2M1), an E8M0 scale for 32 columns of a row; all else 16 bits",
      .elem = DTYPE_MXFP4, .scheme = SCHEME_BF16, .scales = SCALES_GROUP, .group = 32, .scale_bytes = 1,
      .experts_only = true, .kept = DTYPE_BF16 },
};

const struct checkpoint *checkpoint_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (strcasecmp(name, table[i].name) == 0 || (table[i].alias && strcasecmp(name, table[i].alias) == 0))
            return &table[i];
    return NULL;
}

void checkpoint_name(char *buf, size_t n, const struct checkpoint *c)
{
    const struct checkpoint *own = checkpoint_find(c->name);
    if (c->tables && own && (own->bits != c->bits || own->scale_bytes != c->scale_bytes))
        snprintf(buf, n, "MLX %s %ubit g%u", c->scale_bytes == 1 ? "MX" : "affine", c->bits, c->group);
    else if (own && own->group == c->group && own->group_rows == c->group_rows && own->elem == c->elem)
        snprintf(buf, n, "%s", c->name);
    else if (c->group == 0 && c->scales == SCALES_GROUP)
        snprintf(buf, n, "%s %s", c->name, own && own->elem != c->elem ? dtype_name(c->elem) : "rows");
    else if (own && own->elem != c->elem)
        snprintf(buf, n, "%s %s g%u", c->name, dtype_name(c->elem), c->group);
    else if (c->group_rows > 0)
        snprintf(buf, n, "%s %ux%u", c->name, c->group_rows, c->group);
    else
        snprintf(buf, n, "%s g%u", c->name, c->group);
}

static const char *scheme_name(const struct checkpoint *c)
{
    const bool four = c->elem == DTYPE_INT4 || c->elem == DTYPE_FP4 || c->elem == DTYPE_MXFP4;
    switch (c->scheme) {
    case SCHEME_BY_TYPE:
        break;
    case SCHEME_FP16:
    case SCHEME_BF16:
        return four ? "W4A16" : "W8A16";
    case SCHEME_FP8:
        return four ? "W4A8 (fp8)" : "W8A8 (fp8)";
    case SCHEME_INT8:
        return four ? "W4A8 (int8)" : "W8A8 (int8)";
    case SCHEME_FP4:
        return "W4A4 (fp4)";
    }
    return "";
}

bool model_checkpoint_at(size_t i, struct checkpoint_info *out)
{
    if (i >= ARRAY_LEN(table))
        return false;
    const struct checkpoint *c = &table[i];
    const uint64_t side = 4096;
    *out = (struct checkpoint_info){ c->name, c->alias, c->weights, scheme_name(c),
                                     8.0 * (double)checkpoint_matrix_bytes(c, side, side) / (double)(side * side) };
    return true;
}

/* ---- bytes --------------------------------------------------------------------------------------- */

/* Saturating at UINT64_MAX. */
static uint64_t mul(uint64_t a, uint64_t b)
{
    size_t out;
    return a == UINT64_MAX || b == UINT64_MAX || !size_mul(a, b, &out) ? UINT64_MAX : out;
}

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static unsigned elem_bits(enum dtype t)
{
    return t == DTYPE_FP8 || t == DTYPE_INT8 ? 8 : 4;
}

/* 32-bit words for n packed elements. */
static uint64_t n_words(const struct checkpoint *c, uint64_t n)
{
    return u64_ceil_div(n, 32 / elem_bits(c->elem));
}

static uint64_t elem_bytes(const struct checkpoint *c, uint64_t rows, uint64_t cols)
{
    if (c->bits > 0) /* rows are whole bytes: groups have at least 16 columns */
        return mul(rows, u64_ceil_div(mul(cols, c->bits), 8));
    if (c->words)
        return mul(4, c->packs_rows ? mul(n_words(c, rows), cols) : mul(rows, n_words(c, cols)));
    return mul(rows, u64_ceil_div(cols, 8 / elem_bits(c->elem)));
}

static uint64_t n_groups(uint64_t n, uint32_t group)
{
    return group > 0 ? u64_ceil_div(n, group) : 1;
}

static uint64_t n_scales(const struct checkpoint *c, uint64_t rows, uint64_t cols)
{
    switch (c->scales) {
    case SCALES_MATRIX:
        return 1;
    case SCALES_ROW:
        return rows;
    case SCALES_BLOCK:
        return mul(n_groups(rows, c->group_rows), n_groups(cols, c->group));
    case SCALES_GROUP:
        return mul(rows, n_groups(cols, c->group));
    }
    return 0;
}

uint64_t checkpoint_matrix_bytes(const struct checkpoint *c, uint64_t rows, uint64_t cols)
{
    uint64_t sum = add(elem_bytes(c, rows, cols), mul(c->scale_bytes, n_scales(c, rows, cols)));
    if (c->zeros)
        sum = add(sum, mul(4 * n_words(c, rows), n_groups(cols, c->group)));
    if (c->g_idx)
        sum = add(sum, mul(4, cols));
    return add(sum, c->matrix_bytes);
}

/* ---- tensors ---------------------------------------------------------------------------------------- */

/* Embedding, LM head, norms, biases and routers are never quantized. */
static int is_quantized(const struct checkpoint *c, const char *what, const struct tensor *t, struct error *err)
{
    const bool lookup = strcmp(t->name, "token_embd.weight") == 0 || strcmp(t->name, "output.weight") == 0;
    if (t->rows <= 1 || mixture_keeps(t->name) || (lookup && !c->tables) || (c->tables && t->cols % c->group != 0) || (c->experts_only && !strstr(t->name, "_exps.")) ||
        (c->ffn_only && !strstr(t->name, "ffn_")))
        return 0;
    const int listed = c->ignore ? module_listed(c->ignore, what, t->name, err) : 0;
    return listed < 0 ? -1 : !listed;
}

/* 16-bit type of the model, except for routing weights and tensors absent from checkpoints. */
static enum dtype kept_type(const struct checkpoint *c, const char *name)
{
    return strstr(name, "exp_probs_b") || strncmp(name, "rope_", 5) == 0 ? DTYPE_F32 : c->kept;
}

int checkpoint_tensor(const struct checkpoint *c, const char *what, struct tensor *t, struct error *err)
{
    const json_t *const own = module_find(c->modules, t->name);
    struct checkpoint of_module = *c;
    if (own && !json_is_true(own)) {
        const json_t *const group = json_object_get(own, "group_size"), *const bits = json_object_get(own, "bits"); /* checked by quant_config() */
        of_module.modules = NULL;
        if (!json_is_object(own))
            of_module.experts_only = of_module.ffn_only = true; /* unknown module: unchanged */
        of_module.group = group ? (uint32_t)json_number_value(group) : c->group;
        of_module.bits = bits ? (unsigned)json_number_value(bits) : c->bits;
        of_module.elem = of_module.bits > 4 ? DTYPE_INT8 : DTYPE_INT4;
        c = &of_module;
    }
    const int quantized = is_quantized(c, what, t, err);
    if (quantized < 0)
        return -1;
    t->type = quantized ? c->elem : kept_type(c, t->name);
    t->scheme = quantized ? c->scheme : SCHEME_BY_TYPE;
    if (quantized && t->type == DTYPE_MXFP4 && t->cols % c->group != 0)
        return error_set(err, ERROR_INPUT, "%s: %s: rows of %llu elements, expected a multiple of %u for %s", what, t->name,
                         (unsigned long long)t->cols, c->group, c->name);
    t->bytes = quantized ? mul(t->n_mat, checkpoint_matrix_bytes(c, t->rows / t->n_mat, t->cols))
                         : mul(t->rows, dtype_row_bytes(t->type, t->cols));
    if (t->bytes == UINT64_MAX)
        return error_set(err, ERROR_INPUT, "%s: %s: too many bytes", what, t->name);
    return 0;
}
