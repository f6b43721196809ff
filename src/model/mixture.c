/* Tensor types of a file type such as "Q4_K_M": methods.md (2). A mixture is a base type with exceptions by role; rows that its
 * blocks do not divide fall back to another type. */
#include "model/internal.h"
#include "model/mixture.h"
#include <string.h>
#include <strings.h>

/* Layers that an exception covers; `arg` is its parameter. */
enum where {
    NOWHERE,
    ALL,
    BELOW,  /* layer < arg */
    SHARE,  /* layer < n_layer / arg */
    MORE,   /* first and last eighth, and every third layer between */
    GQA,    /* n_head / n_head_kv >= arg */
    SMALL,  /* GQA, or n_expert >= arg: attn_v is small */
    INNER,  /* all but the first and last eighth */
};

struct exception {
    enum where where;
    uint32_t arg;
    enum dtype type;
};

/* First matching exception, else the base type. */
struct mixture {
    const char *name;
    const char *alias; /* llama-quantize's short name */
    int file_type;     /* general.file_type */
    enum dtype base;
    struct exception attn_v[2], ffn_down[2], attn_output, attn_qkv, attn_qk, ffn_gate_up;
    enum dtype output, embd; /* LM head, separate embedding table; 0 (F32): Q6_K, the base type */
    bool low;         /* with 8 experts or 80 layers attn_v and attn_k have at most Q4_K */
    bool moe_output;  /* with 8 experts attn_output is Q5_K */
    bool experts_only; /* base type for experts, Q8_0 for the rest */
};

static const struct mixture mixtures[] = {
    { .name = "F32", .file_type = 0, .base = DTYPE_F32 },
    { .name = "F16", .file_type = 1, .base = DTYPE_F16 },
    { .name = "BF16", .file_type = 32, .base = DTYPE_BF16 },
    { .name = "Q4_0", .file_type = 2, .base = DTYPE_Q4_0 },
    { .name = "Q4_1", .file_type = 3, .base = DTYPE_Q4_1 },
    { .name = "Q5_0", .file_type = 8, .base = DTYPE_Q5_0 },
    { .name = "Q5_1", .file_type = 9, .base = DTYPE_Q5_1 },
    { .name = "Q8_0", .file_type = 7, .base = DTYPE_Q8_0 },
    { .name = "Q2_K",
      .file_type = 10,
      .base = DTYPE_Q2_K,
      .attn_v = { { GQA, 4, DTYPE_Q4_K }, { ALL, 0, DTYPE_Q3_K } },
      .ffn_down = { { ALL, 0, DTYPE_Q3_K } },
      .attn_output = { ALL, 0, DTYPE_Q3_K },
      .moe_output = true },
    { .name = "Q2_K_S",
      .file_type = 21,
      .base = DTYPE_Q2_K,
      .attn_v = { { GQA, 4, DTYPE_Q4_K } },
      .ffn_down = { { SHARE, 8, DTYPE_Q4_K } } },
    { .name = "Q3_K_S", .file_type = 11, .base = DTYPE_Q3_K, .moe_output = true },
    { .name = "Q3_K_M",
      .alias = "Q3_K",
      .file_type = 12,
      .base = DTYPE_Q3_K,
      .attn_v = { { BELOW, 2, DTYPE_Q5_K }, { ALL, 0, DTYPE_Q4_K } },
      .ffn_down = { { SHARE, 16, DTYPE_Q5_K }, { ALL, 0, DTYPE_Q4_K } },
      .attn_output = { ALL, 0, DTYPE_Q4_K },
      .attn_qkv = { ALL, 0, DTYPE_Q4_K },
      .moe_output = true },
    { .name = "Q3_K_L",
      .file_type = 13,
      .base = DTYPE_Q3_K,
      .attn_v = { { ALL, 0, DTYPE_Q5_K } },
      .ffn_down = { { ALL, 0, DTYPE_Q5_K } },
      .attn_output = { ALL, 0, DTYPE_Q5_K },
      .attn_qkv = { ALL, 0, DTYPE_Q4_K } },
    { .name = "Q4_K_S",
      .file_type = 14,
      .base = DTYPE_Q4_K,
      .attn_v = { { BELOW, 4, DTYPE_Q5_K } },
      .ffn_down = { { SHARE, 8, DTYPE_Q5_K } },
      .moe_output = true },
    { .name = "Q4_K_M",
      .alias = "Q4_K",
      .file_type = 15,
      .base = DTYPE_Q4_K,
      .attn_v = { { MORE, 0, DTYPE_Q6_K } },
      .ffn_down = { { MORE, 0, DTYPE_Q6_K } },
      .attn_qkv = { ALL, 0, DTYPE_Q5_K },
      .moe_output = true },
    { .name = "Q5_K_S", .file_type = 16, .base = DTYPE_Q5_K },
    { .name = "Q5_K_M",
      .alias = "Q5_K",
      .file_type = 17,
      .base = DTYPE_Q5_K,
      .attn_v = { { MORE, 0, DTYPE_Q6_K } },
      .ffn_down = { { MORE, 0, DTYPE_Q6_K } },
      .attn_qkv = { ALL, 0, DTYPE_Q6_K } },
    { .name = "Q6_K", .file_type = 18, .base = DTYPE_Q6_K },
    { .name = "IQ4_NL",
      .file_type = 25,
      .base = DTYPE_IQ4_NL,
      .attn_v = { { GQA, 4, DTYPE_Q5_K } },
      .ffn_down = { { SHARE, 8, DTYPE_Q5_K } },
      .moe_output = true },
    { .name = "IQ4_XS",
      .file_type = 30,
      .base = DTYPE_IQ4_XS,
      .attn_v = { { GQA, 4, DTYPE_Q5_K } },
      .ffn_down = { { SHARE, 8, DTYPE_Q5_K } },
      .moe_output = true },
    { .name = "IQ1_S",
      .file_type = 24,
      .base = DTYPE_IQ1_S,
      .attn_v = { { SMALL, 4, DTYPE_Q4_K }, { ALL, 0, DTYPE_Q2_K } },
      .ffn_down = { { SHARE, 8, DTYPE_Q2_K } },
      .attn_output = { ALL, 0, DTYPE_IQ2_XXS },
      .output = DTYPE_Q5_K,
      .embd = DTYPE_Q2_K,
      .low = true,
      .moe_output = true },
    { .name = "IQ1_M",
      .file_type = 31,
      .base = DTYPE_IQ1_M,
      .attn_v = { { SMALL, 4, DTYPE_Q4_K }, { ALL, 0, DTYPE_Q2_K } },
      .ffn_down = { { SHARE, 8, DTYPE_Q2_K } },
      .attn_output = { ALL, 0, DTYPE_IQ2_XXS },
      .output = DTYPE_Q5_K,
      .embd = DTYPE_Q2_K,
      .low = true,
      .moe_output = true },
    { .name = "IQ2_XXS",
      .file_type = 19,
      .base = DTYPE_IQ2_XXS,
      .attn_v = { { SMALL, 4, DTYPE_Q4_K }, { ALL, 0, DTYPE_Q2_K } },
      .ffn_down = { { SHARE, 8, DTYPE_Q2_K } },
      .output = DTYPE_Q5_K,
      .embd = DTYPE_Q2_K,
      .low = true,
      .moe_output = true },
    { .name = "IQ2_XS",
      .file_type = 20,
      .base = DTYPE_IQ2_XS,
      .attn_v = { { SMALL, 4, DTYPE_Q4_K }, { ALL, 0, DTYPE_Q2_K } },
      .ffn_down = { { SHARE, 8, DTYPE_Q2_K } },
      .output = DTYPE_Q5_K,
      .embd = DTYPE_Q2_K,
      .low = true,
      .moe_output = true },
    { .name = "IQ2_S",
      .file_type = 28,
      .base = DTYPE_IQ2_XS,
      .attn_v = { { SMALL, 4, DTYPE_Q4_K }, { ALL, 0, DTYPE_IQ3_S } },
      .ffn_down = { { SHARE, 8, DTYPE_IQ3_S } },
      .attn_output = { ALL, 0, DTYPE_IQ3_S },
      .output = DTYPE_Q5_K,
      .embd = DTYPE_IQ3_S,
      .low = true,
      .moe_output = true },
    { .name = "IQ2_M",
      .file_type = 29,
      .base = DTYPE_IQ2_S,
      .attn_v = { { SMALL, 4, DTYPE_Q4_K }, { ALL, 0, DTYPE_IQ3_S } },
      .ffn_down = { { SHARE, 8, DTYPE_IQ3_S } },
      .attn_output = { ALL, 0, DTYPE_IQ3_S },
      .output = DTYPE_Q5_K,
      .embd = DTYPE_IQ3_S,
      .low = true,
      .moe_output = true },
    { .name = "IQ3_XXS",
      .file_type = 23,
      .base = DTYPE_IQ3_XXS,
      .attn_v = { { GQA, 4, DTYPE_Q4_K } },
      .attn_qk = { ALL, 0, DTYPE_IQ2_S },
      .attn_output = { ALL, 0, DTYPE_IQ3_S },
      .output = DTYPE_Q5_K,
      .embd = DTYPE_IQ3_S,
      .moe_output = true },
    { .name = "IQ3_XS",
      .file_type = 22,
      .base = DTYPE_IQ3_S,
      .attn_v = { { GQA, 4, DTYPE_Q4_K } },
      .attn_qk = { ALL, 0, DTYPE_IQ3_XXS },
      .ffn_gate_up = { INNER, 0, DTYPE_IQ3_XXS },
      .moe_output = true },
    { .name = "IQ3_S",
      .file_type = 26,
      .base = DTYPE_IQ3_S,
      .attn_v = { { GQA, 4, DTYPE_Q4_K } },
      .moe_output = true },
    { .name = "IQ3_M",
      .file_type = 27,
      .base = DTYPE_IQ3_S,
      .attn_v = { { ALL, 0, DTYPE_Q4_K } },
      .ffn_down = { { SHARE, 8, DTYPE_Q4_K } },
      .attn_output = { ALL, 0, DTYPE_Q4_K },
      .attn_qkv = { ALL, 0, DTYPE_Q4_K },
      .moe_output = true },
    { .name = "TQ1_0", .file_type = 36, .base = DTYPE_TQ1_0, .embd = DTYPE_Q4_K },
    { .name = "TQ2_0", .file_type = 37, .base = DTYPE_TQ2_0, .embd = DTYPE_Q4_K },
    { .name = "MXFP4_MOE",
      .alias = "MXFP4",
      .file_type = 38,
      .base = DTYPE_MXFP4,
      .experts_only = true },
};

static const struct mixture *find(const char *type)
{
    for (size_t i = 0; i < ARRAY_LEN(mixtures); i++)
        if (strcasecmp(type, mixtures[i].name) == 0 ||
            (mixtures[i].alias && strcasecmp(type, mixtures[i].alias) == 0))
            return &mixtures[i];
    return NULL;
}

const char *model_mixture_at(size_t i)
{
    return i < ARRAY_LEN(mixtures) ? mixtures[i].name : NULL;
}

const char *mixture_name(const char *type)
{
    const struct mixture *x = find(type);
    return x ? x->name : NULL;
}

const char *mixture_of_file_type(uint64_t file_type)
{
    for (size_t i = 0; i < ARRAY_LEN(mixtures); i++)
        if ((uint64_t)mixtures[i].file_type == file_type)
            return mixtures[i].name;
    return NULL;
}

int mixture_file_type(const char *name)
{
    const struct mixture *x = find(name);
    return x ? x->file_type : -1;
}

static int unknown_type(const char *type, struct error *err)
{
    char known[512] = "";
    for (size_t i = 0, n = 0; i < ARRAY_LEN(mixtures) && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s%s%s%s", i ? ", " : "", mixtures[i].name,
                              mixtures[i].alias ? " (" : "", mixtures[i].alias ? mixtures[i].alias : "",
                              mixtures[i].alias ? ")" : "");
    return error_set(err, ERROR_USAGE, "type \"%.32s\" is unknown (known: %s)", type, known);
}

/* rank: index among the n layers with such a tensor. */
static bool holds(const struct exception *e, const struct mixture_shape *s, uint32_t rank, uint32_t n)
{
    const uint32_t eighth = n / 8;
    switch (e->where) {
    case NOWHERE:
        return false;
    case ALL:
        return true;
    case BELOW:
        return rank < e->arg;
    case SHARE:
        return rank < n / e->arg;
    case MORE:
        return rank < eighth || rank >= 7 * (uint64_t)n / 8 || (rank - eighth) % 3 == 2;
    case GQA:
        return s->n_head_kv > 0 && s->n_head / s->n_head_kv >= e->arg;
    case SMALL:
        return s->n_expert >= e->arg || (s->n_head_kv > 0 && s->n_head / s->n_head_kv >= e->arg);
    case INNER:
        return rank >= eighth && rank < 7 * (uint64_t)n / 8;
    }
    return false;
}

static enum dtype pick(const struct exception *e, size_t n_exception, const struct mixture_shape *s,
                       uint32_t rank, uint32_t n, enum dtype base)
{
    for (size_t i = 0; i < n_exception; i++)
        if (holds(&e[i], s, rank, n))
            return e[i].type;
    return base;
}

static enum dtype attn_v(const struct mixture *x, const struct mixture_shape *s, uint32_t layer)
{
    const bool all = !s->attn_v_rank || layer >= s->n_layer; /* every layer has one */
    const uint32_t rank = all ? layer : s->attn_v_rank[layer], n = all ? s->n_layer : s->n_attn_v;
    enum dtype t = pick(x->attn_v, ARRAY_LEN(x->attn_v), s, rank, n, x->base);
    /* Llama 70B: attn_v is small, 5 bits. */
    if (s->n_layer == 80 && s->n_head != s->n_head_kv && !x->low && (t == DTYPE_Q3_K || t == DTYPE_Q4_K))
        t = DTYPE_Q5_K;
    return t;
}

static bool starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* role: name after "blk.N." */
static enum dtype in_block(const struct mixture *x, const struct mixture_shape *s, const char *role,
                           uint32_t layer)
{
    const bool eight = s->n_expert == 8; /* attention is small, 8 bits */
    const bool q = strcmp(role, "attn_q.weight") == 0, k = strcmp(role, "attn_k.weight") == 0;
    if (strcmp(role, "attn_v.weight") == 0)
        return eight && !x->low ? DTYPE_Q8_0 : attn_v(x, s, layer);
    if (eight && k)
        return x->low ? DTYPE_Q4_K : DTYPE_Q8_0;
    if (q || k)
        return pick(&x->attn_qk, 1, s, layer, s->n_layer, x->base);
    if (starts_with(role, "ffn_gate") || starts_with(role, "ffn_up"))
        return pick(&x->ffn_gate_up, 1, s, layer, s->n_layer, x->base);
    if (starts_with(role, "ffn_down")) /* _exps and _shexp too */
        return pick(x->ffn_down, ARRAY_LEN(x->ffn_down), s, layer, s->n_layer, x->base);
    if (strcmp(role, "attn_output.weight") == 0 && eight)
        return x->moe_output ? DTYPE_Q5_K : x->base;
    if (strcmp(role, "attn_output.weight") == 0)
        return pick(&x->attn_output, 1, s, layer, s->n_layer, x->base);
    if (strcmp(role, "attn_qkv.weight") == 0)
        return pick(&x->attn_qkv, 1, s, layer, s->n_layer, x->base);
    return x->base;
}

/* Type with 32-element blocks of the nearest size, for rows not divisible by 256. */
static enum dtype fall_back(enum dtype t, uint64_t cols)
{
    if (cols % dtype_find(t)->block_elems == 0)
        return t;
    enum dtype f = DTYPE_F16;
    if (t == DTYPE_Q2_K || t == DTYPE_Q3_K || t == DTYPE_IQ4_XS || dtype_bits(t) < dtype_bits(DTYPE_Q3_K) || t == DTYPE_IQ3_S)
        f = DTYPE_IQ4_NL;
    else if (t == DTYPE_Q4_K)
        f = DTYPE_Q5_0;
    else if (t == DTYPE_Q5_K)
        f = DTYPE_Q5_1;
    else if (t == DTYPE_Q6_K)
        f = DTYPE_Q8_0;
    return cols % dtype_find(f)->block_elems == 0 ? f : DTYPE_F16;
}

bool mixture_keeps(const char *name)
{
    /* Small tensors that stay unquantized: norms, routers, positions, recurrent parts, multimodal parts. */
    static const char *const kept[] = {
        "_norm.weight", "ffn_gate_inp.weight", "ffn_gate_inp_shexp.weight", "rope_f", "position_embd", "token_types",
        "ssm_conv1d.weight", "ssm_a.weight", "shortconv.conv.weight", "attn_rel_b.weight", "attn_sinks", "time_mix_first.weight",
        "time_mix_w0.weight", "time_mix_w1.weight", "time_mix_w2.weight", "time_mix_v0.weight", "time_mix_v1.weight",
        "time_mix_v2.weight", "time_mix_a0.weight", "time_mix_a1.weight", "time_mix_a2.weight", "time_mix_g1.weight",
        "time_mix_g2.weight", "time_mix_decay_w1.weight", "time_mix_decay_w2.weight", "time_mix_lerp_fused.weight",
        ".rel_pos", ".patch_embd", ".patch_merger",
    };
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        if (strstr(name, kept[i]))
            return true;
    return !text_ends_with(name, ".weight");
}

int mixture_tensor_type(const char *type, const struct mixture_shape *s, const char *name, uint64_t cols,
                        enum dtype *out, struct error *err)
{
    const struct mixture *x = find(type);
    if (!x)
        return unknown_type(type, err);
    const bool head = strcmp(name, "output.weight") == 0 ||
                      (s->tied && strcmp(name, "token_embd.weight") == 0);
    const bool floats = x->base == DTYPE_F32 || x->base == DTYPE_F16 || x->base == DTYPE_BF16;
    unsigned layer = 0;
    int at = 0;
    enum dtype t = x->base;
    if (floats || s->pure)
        t = x->base;
    else if (x->experts_only)
        t = strstr(name, "_exps.") ? x->base : DTYPE_Q8_0;
    else if (head)
        t = x->base == DTYPE_Q8_0 || cols % 256 != 0 ? DTYPE_Q8_0 : x->output ? x->output : DTYPE_Q6_K;
    else if (x->embd && strcmp(name, "token_embd.weight") == 0)
        t = x->embd;
    else if (sscanf(name, "blk.%5u.%n", &layer, &at) == 1 && at > 0)
        t = in_block(x, s, name + at, layer);
    *out = fall_back(t, cols);
    return 0;
}

int model_tensor_type(const char *type, const struct hparams *hp, const char *tensor_name,
                      uint64_t cols, enum dtype *out, struct error *err)
{
    const struct mixture_shape s = {
        .n_layer = hp->n_layer,
        .n_head = hp->n_head,
        .n_head_kv = hp->n_head_kv,
        .n_expert = hp->n_expert,
        .tied = hp->tied,
    };
    if (mixture_tensor_type(type, &s, tensor_name, cols, out, err) != 0)
        return -1;
    if (mixture_keeps(tensor_name))
        *out = DTYPE_F32; /* norms, biases, RoPE factors, routers */
    return 0;
}
