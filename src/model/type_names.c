/*
 * Alternative names of weight types, for -q, model names and measurement columns. Names that model_load() accepts are not repeated.
 */
#include "model/checkpoint.h"
#include "model/internal.h"
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/*
 * Types by other names, lower case with dashes for blanks; some are not supported by model_load() at all. Bits: gpt-fast int4 has
 * groups of 32; gf4 is 8 weights in 32 bits; GPTQ's scales and zeros like AWQ's.
 */
static const struct {
    const char *name, *type;
    double bits; /* 0: the type's own */
} quants[] = {
    { "4bit", "MLX_4BIT", 0 }, { "4-bit", "MLX_4BIT", 0 }, { "mlx-4bit", "MLX_4BIT", 0 }, { "8bit", "MLX_8BIT", 0 }, { "8-bit", "MLX_8BIT", 0 },
    { "mlx-8bit", "MLX_8BIT", 0 }, { "fp16", "F16", 0 }, { "float16", "F16", 0 }, { "half", "F16", 0 }, { "bfloat16", "BF16", 0 }, { "mlx-bf16", "BF16", 0 }, { "fp32", "F32", 0 },
    { "mlx-fp16", "F16", 0 }, { "e4m3", "FP8", 0 }, { "e5m2", "FP8_W8A16", 0 }, { "fp8_e4m3", "FP8", 0 }, { "awq-int4", "AWQ", 0 },
    { "awq-int4-g128", "AWQ", 0 }, { "awq-4bit", "AWQ", 0 }, { "gptq-int4", "GPTQ", 0 }, { "gptq-4bit-128g", "GPTQ", 0 },
    { "gptq-int8", "INT8_W8A16", 8.16 }, { "int4", "W4A16", 4.5 }, { "int4-g32", "W4A16", 5 }, { "int4-g128", "W4A16", 0 },
    { "int4-g256", "W4A16", 4.07 }, { "gf4", "W4A16", 4 }, { "nf4", "W4A16", 4.5 }, { "bnb-4bit", "W4A16", 4.5 }, { "q4f16_1", "W4A16", 4.5 },
    { "q4f16", "W4A16", 4.5 }, { "fp4", "NVFP4", 0 }, { "w4a8kv4", "W4A8_INT8", 0 }, { "w4a4", "NVFP4", 0 }, { "w8a16", "INT8_W8A16", 0 },
    { "bfp8", "FP8_W8A16", 8.5 }, { "bfp4", "W4A16", 4.5 }, { "bfloat8_b", "FP8_W8A16", 8.5 }, { "bfloat4_b", "W4A16", 4.5 },
    { "q4_k_xl", "Q4_K_M", 0 }, { "q5_k_xl", "Q5_K_M", 0 }, { "q6_k_xl", "Q6_K", 0 }, { "q8_k_xl", "Q8_0", 0 }, { "q3_k_xl", "Q3_K_L", 0 },
    { "q2_k_xl", "Q2_K", 0 }, { "q2_k_l", "Q2_K", 0 }, { "q4_k_l", "Q4_K_M", 0 }, { "q5_k_l", "Q5_K_M", 0 }, { "q6_k_l", "Q6_K", 0 },
    { "q8_1", "Q8_0", 9 }, { "q2_k_m", "Q2_K", 0 }, { "mxfp4-q8", "MXFP4_MOE", 0 }, { "fp8-kv", "FP8", 0 }, { "fp8-e4m3", "FP8", 0 }, { "fp8-dynamic", "FP8_CHANNEL", 0 },
    { "fp8-block", "FP8_BLOCK", 0 }, { "int8-w8a8", "INT8", 0 }, { "w8a8-int8", "INT8", 0 }, { "w8a8-fp8", "FP8", 0 }, { "fp8-w8a8", "FP8", 0 },
    { "fp8_w8a8", "FP8", 0 }, { "int8-w8a16", "INT8_W8A16", 0 }, { "int4-w4a16", "W4A16", 0 }, { "w4a16-g128", "W4A16", 0 },
    { "autoround-int4", "W4A16", 0 }, { "int4-autoround", "W4A16", 0 }, { "autoround", "W4A16", 0 }, { "nvfp4a16", "NVFP4A16", 0 },
    { "quantized.w4a16", "W4A16", 0 }, { "quantized.w8a8", "INT8", 0 }, { "quantized.w8a16", "INT8_W8A16", 0 },
};

/* Suffixes of repacked types and prefixes of mixture authors. */
static const char *const packings[] = { "_r4", "_r8", "_r16", "_4_4", "_4_8", "_8_8", "-(custom)", "-(guessed)", "-ud" };
static const char *const makers[] = { "ud-", "i1-", "gguf-", "mlx-community/" };

/* In place. */
static void cut_ends(char *s)
{
    for (size_t i = 0; i < ARRAY_LEN(makers); i++) {
        const size_t n = strlen(makers[i]);
        if (strncmp(s, makers[i], n) == 0)
            memmove(s, s + n, strlen(s + n) + 1);
    }
    for (size_t i = 0; i < ARRAY_LEN(packings); i++) {
        const size_t n = strlen(s), k = strlen(packings[i]);
        if (n > k && strcmp(s + n - k, packings[i]) == 0)
            s[n - k] = 0;
    }
}

bool model_knows_type(const char *name)
{
    static const struct hparams any = { .n_layer = 1 };
    struct error unused = { 0 };
    enum dtype t;
    return checkpoint_find(name) || model_tensor_type(name, &any, "blk.0.ffn_up.weight", 256, &t, &unused) == 0;
}

void model_type_plain(char *out, size_t size, const char *text)
{
    char s[96];
    snprintf(s, sizeof s, "%s", text);
    alias_normalize(s, sizeof s);
    size_t n = 0;
    for (const char *p = s; *p && n + 1 < size; p++)
        out[n++] = *p == ' ' ? '-' : (char)tolower((unsigned char)*p);
    out[n] = 0;
    cut_ends(out);
}

static void take(struct quant_name *q, const char *type, double bits)
{
    *q = (struct quant_name){ .bits = bits > 0 ? bits : NAN, .known = true };
    snprintf(q->type, sizeof q->type, "%.23s", type);
}

bool model_type_named(struct quant_name *q, const char *text)
{
    char name[96];
    model_type_plain(name, sizeof name, text);
    *q = (struct quant_name){ .bits = NAN };
    for (size_t i = 0; i < ARRAY_LEN(quants) && !q->known; i++)
        if (strcmp(name, quants[i].name) == 0 && model_knows_type(quants[i].type))
            take(q, quants[i].type, quants[i].bits);
    if (!q->known && model_knows_type(name))
        take(q, checkpoint_find(name) ? checkpoint_find(name)->name : mixture_name(name), NAN);
    return q->known;
}
