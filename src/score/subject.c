/*
 * The model of a row: a preset, or, where none has its name, dimensions that its parameters make likely. methods.md (70)
 */
#include "score/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- likely dimensions ------------------------------------------------------------------------------- */

/* Widths and layers of models of such a size: Llama and Qwen, and mixtures of experts by what a token uses (Qwen3-30B-A3B,
 * gpt-oss-120b, GLM-4.5-Air, Qwen3-235B-A22B, DeepSeek-V3). */
struct likely {
    double params_b;
    uint32_t n_embd, n_layer;
};
static const struct likely dense[] = {
    { 0.5, 1024, 24 }, { 1.2, 2048, 16 }, { 3.2, 3072, 28 },   { 8, 4096, 32 },     { 14, 5120, 40 },
    { 32, 5120, 64 },  { 70, 8192, 80 },  { 123, 12288, 88 },  { 405, 16384, 126 }, { 1000, 20480, 160 },
};
static const struct likely experts[] = {
    { 1, 1536, 24 }, { 3, 2048, 48 }, { 5, 2880, 36 }, { 11, 4096, 46 }, { 20, 4096, 78 }, { 35, 7168, 61 },
};
enum { LIKELY_VOCAB = 128256, LIKELY_USED = 8, LIKELY_MULTIPLE = 256, LIKELY_HEAD = 128, LIKELY_KV = 8 };
static const double LIKELY_ACTIVE = 0.1; /* of a mixture of experts that says nothing */
/* Of "8x7B": two of the copies, and what they share (Mixtral 8x7B 12.9 of 46.7e9, 8x22B 39 of 141e9). */
static const double LIKELY_VISITED = 2, LIKELY_SHARED = 1.1;
static const double WHOLE_RANGE = 3; /* what a whole number of blocks, or of experts, is at most from the number wanted */
static const double LIKELY_CACHED = 0.25; /* layers with a cache, of hybrids: every fourth (Qwen3-Next, Qwen3.5) */

static const struct likely *nearest(const struct likely *l, size_t n, double params)
{
    const struct likely *best = l;
    for (size_t i = 1; i < n; i++)
        if (fabs(log(params / 1e9 / l[i].params_b)) < fabs(log(params / 1e9 / best->params_b)))
            best = &l[i];
    return best;
}

static uint32_t multiple(double v)
{
    const double n = round(v / LIKELY_MULTIPLE);
    return (uint32_t)(fmax(1, fmin(n, 2048)) * LIKELY_MULTIPLE);
}

struct guess_dims {
    double params, active; /* active NaN: dense */
    bool tied;
    uint32_t n_embd, n_layer, n_head, n_kv, n_ff, n_expert, n_used;
};

static double attention_params(const struct guess_dims *d)
{
    return (double)d->n_embd * LIKELY_HEAD * (2.0 * d->n_head + 2.0 * d->n_kv);
}

static void likely_dense(struct guess_dims *d)
{
    const struct likely *l = nearest(dense, ARRAY_LEN(dense), d->params);
    d->n_embd = l->n_embd;
    d->n_layer = l->n_layer;
    d->n_head = l->n_embd / LIKELY_HEAD;
    d->n_kv = LIKELY_KV;
    d->tied = d->params < 4e9;
    const double tables = (d->tied ? 1.0 : 2.0) * LIKELY_VOCAB * d->n_embd;
    d->n_ff = multiple(((d->params - tables) / d->n_layer - attention_params(d)) / (3.0 * d->n_embd));
}

static void likely_experts(struct guess_dims *d)
{
    const struct likely *l = nearest(experts, ARRAY_LEN(experts), d->active);
    d->n_embd = l->n_embd;
    d->n_layer = l->n_layer;
    d->n_head = 32;
    d->n_kv = 4;
    d->n_used = LIKELY_USED;
    const double rest = d->n_layer * attention_params(d), table = (double)LIKELY_VOCAB * d->n_embd;
    d->n_ff = multiple((d->active - rest - 2 * table) / (3.0 * d->n_layer * d->n_embd * d->n_used));
    const double n = (d->params - rest - 2 * table) / (3.0 * d->n_layer * d->n_embd * d->n_ff);
    d->n_expert = (uint32_t)fmax(d->n_used, fmin(8 * round(n / 8), 2048));
}

static int load_likely(struct subject *s, const char *name, const struct guess_dims *d, const char *type, struct error *err)
{
    char text[1024], short_name[64];
    struct hparams hp;
    const char *arch;
    const bool moe = d->n_expert > 0;
    snprintf(short_name, sizeof short_name, "%.60s", name);
    int n = snprintf(text, sizeof text,
                     "{\"model_type\":\"%s\",\"hidden_size\":%u,\"num_hidden_layers\":%u,\"num_attention_heads\":%u,"
                     "\"num_key_value_heads\":%u,\"head_dim\":%d,\"intermediate_size\":%u,\"vocab_size\":%d,"
                     "\"max_position_embeddings\":131072,\"rope_theta\":10000,\"rms_norm_eps\":1e-5,"
                     "\"tie_word_embeddings\":%s",
                     moe ? "qwen3_moe" : "llama", d->n_embd, d->n_layer, d->n_head, d->n_kv, LIKELY_HEAD, d->n_ff, LIKELY_VOCAB,
                     d->tied ? "true" : "false");
    if (moe)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      ",\"num_experts\":%u,\"num_experts_per_tok\":%u,\"moe_intermediate_size\":%u,\"norm_topk_prob\":true,"
                      "\"decoder_sparse_step\":1,\"mlp_only_layers\":[]",
                      d->n_expert, d->n_used, d->n_ff);
    snprintf(text + n, sizeof text - (size_t)n, "}");
    if (model_parse_config(short_name, text, strlen(text), &hp, &arch, err) != 0)
        return -1;
    return model_from_hparams(&s->m, short_name, arch, &hp, type, err);
}

/* ---- parameters ------------------------------------------------------------------------------------------ */

/* Bits of a weight of that type, tables and all, in a model of common size; NaN: no such type. */
static double type_bits(const char *type)
{
    struct guess_dims d = { .params = 8e9, .active = NAN };
    struct subject probe;
    struct error e = { 0 };
    likely_dense(&d);
    if (load_likely(&probe, "probe", &d, type, &e) != 0)
        return NAN;
    const double bits = 8 * (double)probe.m.weight_bytes / (double)probe.m.n_params;
    model_free(&probe.m);
    return bits;
}

/* Of the row, of the name, or of the bytes and bits: those of the type's name, or the type's. */
static double params_of(const struct measurement *m, double bits, const char *type)
{
    if (m->params_b > 0)
        return m->params_b * 1e9;
    const double named = model_named_params(m->model);
    if (named > 0)
        return named;
    if (!(m->weight_gib > 0))
        return NAN;
    return m->weight_gib * 0x1p30 * 8 / (bits > 0 ? bits : type_bits(type));
}

/* How far a preset's parameters may be from the row's: another vocabulary, tables counted twice or not. */
static const double PARAMS_TOLERANCE = 0.15;

static bool is_that_size(const struct model *m, const struct measurement *row)
{
    return !(row->params_b > 0) || fabs((double)m->n_params / (row->params_b * 1e9) - 1) <= PARAMS_TOLERANCE;
}

/* ---- names -------------------------------------------------------------------------------------------------- */

static bool cut_end(char *s, const char *end)
{
    const size_t n = strlen(s), k = strlen(end);
    if (n <= k || strcasecmp(s + n - k, end) != 0)
        return false;
    s[n - k] = 0;
    return true;
}

static void cut_out(char *s, const char *word)
{
    char *at = strcasestr(s, word);
    if (at)
        memmove(at, at + strlen(word), strlen(at + strlen(word)) + 1);
}

/* Endings that are another training of the same shape, and a file's. */
static bool cut_training(char *s)
{
    static const char *const ends[] = { "-Instruct", "-Chat", "-it", "-hf", "-Base", "-Thinking", "-2507", "-2512", "-2501",
                                        "-2503", "-2506", "-0528", "-FP8", "-NVFP4", "-FP4", "-bf16", "-v0.1", "-v0.2", "-v0.3",
                                        "-GPTQ-Int4", "-GPTQ-Int8", "-AWQ", "-4bit", "-8bit", "-qat", ".gguf" };
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (cut_end(s, ends[i]))
            return true;
    return false;
}

/* A preset of the row's name and of another size. */
struct other_size {
    char preset[64];
    double params; /* 0: none was met */
};

/* model_load() that only takes what it knows; a file of that name is not meant. */
static bool try_load(struct model *m, const char *name, const struct measurement *row, struct other_size *other)
{
    struct error e = { 0 };
    if (strchr(name, '\\') || strstr(name, ".gguf") || strstr(name, ".json") || file_exists(name))
        return false;
    if (model_load(m, name, NULL, &e) != 0)
        return false;
    if (is_that_size(m, row))
        return true;
    if (!(other->params > 0)) {
        snprintf(other->preset, sizeof other->preset, "%.60s", m->name);
        other->params = (double)m->n_params;
    }
    model_free(m);
    return false;
}

/* The name a preset has; "" when none: *other is the first that the row's parameters are not of. */
static void find_preset(char *preset, size_t size, const struct measurement *row, struct other_size *other)
{
    const char *const names[] = { row->model, row->label };
    char name[128];
    struct model m;
    *preset = 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *alias = model_alias(names[i]);
        if (*alias && try_load(&m, alias, row, other)) {
            model_free(&m);
            snprintf(preset, size, "%s", alias);
            return;
        }
        if (!*names[i] || strlen(names[i]) >= sizeof name)
            continue;
        snprintf(name, sizeof name, "%s", names[i]);
        cut_out(name, " mostly"); /* "llama 7B mostly Q4_0", as llama-bench had it until 2024 */
        do {
            if (!try_load(&m, name, row, other))
                continue;
            snprintf(preset, size, "%.60s", m.name);
            model_free(&m);
            return;
        } while (cut_training(name));
    }
}

/* ---- as many parameters as stated ------------------------------------------------------------------------------ */

bool subject_is_expert(const struct tensor *t)
{
    return strstr(t->name, "_exps") != NULL;
}

static bool is_feed_forward(const struct tensor *t)
{
    return subject_is_expert(t) || strstr(t->name, "ffn_gate.") || strstr(t->name, "ffn_up.") || strstr(t->name, "ffn_down.");
}

double subject_share(const struct subject *s, const struct tensor *t)
{
    return is_feed_forward(t) ? s->width * (subject_is_expert(t) ? s->experts : 1) : 1;
}

static bool in_range(double share)
{
    return share > 1 / WHOLE_RANGE && share < WHOLE_RANGE;
}

/*
 * Blocks of types are whole, and so are experts, which devices divide: a feed-forward of 256 columns more or less is 0.6 of 3e9 active
 * parameters. The rest of the width and of the experts is a factor, so that A3.1B and A3.5B are what they say. What tables and attention
 * alone exceed stays as it is.
 */
static void fit_parameters(struct subject *s, const struct guess_dims *d)
{
    double wide = 0, rest = 0;
    for (size_t i = 0; i < s->m.n_tensors; i++)
        *(is_feed_forward(&s->m.tensors[i]) ? &wide : &rest) += (double)s->m.tensors[i].rows * (double)s->m.tensors[i].cols;
    const double used = d->n_expert > 0 ? (double)d->n_used / d->n_expert : 1, want = d->n_expert > 0 ? d->active : d->params;
    const double width = (want - rest) / (wide * used);
    if (!in_range(width))
        return;
    s->width = width;
    const double copies = (d->params - rest) / (wide * width);
    if (d->n_expert > 0 && in_range(copies) && copies * d->n_expert >= d->n_used)
        s->experts = copies;
}

/* ---- weights --------------------------------------------------------------------------------------------------- */

static const double WEIGHT_RANGE = 2.5;

/* What the products' bytes are multiplied by, so that all tensors come to what the row says; 1 where that cannot be. */
static double weight_scale(struct subject *s, const struct measurement *row)
{
    double products = 0, rest = 0;
    for (size_t i = 0; i < s->m.n_tensors; i++) {
        const struct tensor *t = &s->m.tensors[i];
        *(t->rows > 1 && t->cols > 1 ? &products : &rest) += (double)t->bytes * subject_share(s, t);
    }
    const double want = row->weight_gib * 0x1p30, x = products > 0 ? (want - rest) / products : NAN;
    if (x > 1 / WEIGHT_RANGE && x < WEIGHT_RANGE)
        return x;
    if (row->weight_gib > 0)
        s->guesses |= GUESS_WEIGHT;
    return NAN;
}

/* ---- a subject ---------------------------------------------------------------------------------------------------- */

static int load_model(struct subject *s, const struct measurement *row, const char *type, struct error *err)
{
    if (s->preset[0])
        return model_load(&s->m, s->preset, type, err);
    struct guess_dims d = { .params = params_of(row, s->bits, type), .active = model_active_params(row->model) };
    s->guesses |= GUESS_MODEL;
    if (isnan(d.params))
        return error_set(err, ERROR_INPUT, "no preset of \"%.64s\", and neither parameters nor bytes of its weights", row->model);
    if (!(d.params > 5e7 && d.params < 2e13))
        return error_set(err, ERROR_INPUT, "no preset of \"%.64s\" has %.4g parameters, and of others 5e7 to 2e13 are expected", row->model, d.params);
    const double copies = model_named_experts(row->model);
    if (isnan(d.active) && (copies > LIKELY_VISITED || (row->tags & TAG_MOE))) {
        d.active = d.params * (copies > LIKELY_VISITED ? LIKELY_SHARED * LIKELY_VISITED / copies : LIKELY_ACTIVE);
        s->guesses |= GUESS_ACTIVE;
    }
    const bool moe = d.active > 0 && d.active < 0.9 * d.params;
    if (moe)
        likely_experts(&d);
    else
        likely_dense(&d);
    if (row->tags & TAG_HYBRID)
        s->kv_share = LIKELY_CACHED;
    if (load_likely(s, row->model, &d, type, err) != 0)
        return -1;
    fit_parameters(s, &d);
    return 0;
}

/* NVIDIA's checkpoints of mixtures of experts leave attention as it was (exclude_modules in the hf_quant_config.json of
 * DeepSeek-R1-NVFP4: "*self_attn*"). */
static const char *const nvfp4_of_experts = "NVFP4_FFN";

/* The type by its name in the table, by its own, by the bits in its name, or 16 bits. */
static int load_typed(struct subject *s, const struct measurement *row, const struct quant_name *q, struct error *err)
{
    const char *types[] = { q->known ? q->type : "", row->quant, q->type, "F16" };
    struct error e = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (!*types[i])
            continue;
        if (load_model(s, row, types[i], &e) != 0)
            continue;
        if (s->m.hp.n_expert > 0 && strcasecmp(types[i], "NVFP4") == 0) {
            model_free(&s->m);
            types[i] = nvfp4_of_experts;
            if (load_model(s, row, types[i], &e) != 0)
                continue;
        }
        snprintf(s->type, sizeof s->type, "%.20s", types[i]);
        if (i >= 2)
            s->guesses |= GUESS_QUANT;
        if (i == 1)
            s->bits = NAN; /* of the name's bits: the type has its own */
        return 0;
    }
    snprintf(s->reason, sizeof s->reason, "%.250s", e.msg);
    return interrupt_check(err);
}

/* A type that says how experts alone are stored, of what is published so. */
static struct quant_name quant_of(const struct measurement *row, const struct stack *stack, const char *preset)
{
    const bool gguf = stack->family == STACK_LLAMA_CPP || stack->family == STACK_IK || stack->family == STACK_CPU;
    const double bits = row->weight_gib * 0x1p30 * 8 / (row->params_b * 1e9);
    const bool said = *row->quant || (gguf && bits > 3 && bits < 6.5); /* what most people run is about that */
    struct quant_name q = quant_find(row->quant, stack);
    if (!said && bits > 0) { /* the bytes say what the name does not */
        char text[32];
        snprintf(text, sizeof text, "%.2fbpw", bits);
        q = quant_find(text, stack);
    }
    if (strncmp(preset, "gpt-oss", 7) == 0 && !gguf)
        q = (struct quant_name){ "MXFP4_EXPERTS", NAN, true };
    else if (strncmp(preset, "gpt-oss", 7) == 0 && !*row->quant)
        q = (struct quant_name){ "MXFP4", NAN, false };
    return q;
}

static int load_as(struct subject *s, const struct measurement *row, const struct quant_name *q, struct error *err)
{
    s->bits = q->bits;
    return load_typed(s, row, q, err);
}

/* A mixture whose experts have a type of their own is nearly all of that. Names of one width ("fp8", "fp8_block") make no difference. */
static int load_experts(struct subject *s, const struct measurement *row, const struct stack *stack, const struct quant_name *q, struct error *err)
{
    struct measurement as = *row;
    as.quant = row->quant_experts;
    const struct quant_name own = quant_of(&as, stack, s->preset);
    const double bytes = (double)s->m.weight_bytes;
    const unsigned guesses = s->guesses;
    if (!*as.quant || !*own.type || s->reason[0] || s->m.hp.n_expert == 0 || strcmp(own.type, q->type) == 0)
        return 0;
    model_free(&s->m);
    if (load_as(s, &as, &own, err) != 0)
        return -1;
    if (!s->reason[0] && fabs((double)s->m.weight_bytes / bytes - 1) > 0.1)
        return 0;
    if (!s->reason[0])
        model_free(&s->m);
    s->reason[0] = 0;
    s->guesses = guesses;
    return load_as(s, row, q, err);
}

/* A row's parameters win over its name, and somebody has to know. */
static void say_other_size(struct subject *s, const struct measurement *row, const struct other_size *other)
{
    const size_t n = strlen(s->reason);
    if (s->preset[0] || !(other->params > 0))
        return;
    if (n > 0)
        snprintf(s->reason + n, sizeof s->reason - n, "; preset %s of that name has %.4ge9", other->preset, other->params / 1e9);
    else
        snprintf(s->note, sizeof s->note, "params_b says %.4ge9 parameters, preset %s of that name has %.4ge9: priced with likely dimensions of %.4ge9",
                 row->params_b, other->preset, other->params / 1e9, row->params_b);
}

void subject_key(char *key, size_t size, const struct measurement *m, const struct stack *stack)
{
    snprintf(key, size, "%.4096s|%.40s|%.40s|%s|%.9g|%.9g|%d", m->model, m->quant, m->quant_experts, stack->id, m->params_b, m->weight_gib,
             (m->tags & (TAG_MOE | TAG_HYBRID)) != 0);
}

/* llama.cpp keeps MLA's cache latent and never expands it; the cost model takes the cheaper of both (36). */
static void keep_absorbed(struct op_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->ops[i].form != FORM_ALWAYS)
            l->ops[i].form_tok = INFINITY;
}

static int build_ops(struct subject *s, const struct stack *stack, struct error *err)
{
    if (op_list_build(&s->ops, &s->m, err) != 0)
        return -1;
    if (stack->family == STACK_LLAMA_CPP)
        keep_absorbed(&s->ops);
    return op_classes_init(&s->classes, &s->m, &s->ops, err);
}

int subject_load(struct subject *s, const struct measurement *row, const struct stack *stack, struct error *err)
{
    *s = (struct subject){ .bits = NAN, .kv_share = 1, .width = 1, .experts = 1, .scale = NAN, .whole = stack->family == STACK_MLX };
    subject_key(s->key, sizeof s->key, row, stack);
    struct other_size other = { .params = 0 };
    find_preset(s->preset, sizeof s->preset, row, &other);
    const struct quant_name q = quant_of(row, stack, s->preset);
    if (!*row->quant && !(row->weight_gib > 0) && strncmp(s->preset, "gpt-oss", 7) != 0) /* which is published with one type */
        s->guesses |= GUESS_BITS;
    if (load_as(s, row, &q, err) != 0 || load_experts(s, row, stack, &q, err) != 0)
        return -1;
    say_other_size(s, row, &other);
    if (s->reason[0])
        return 0;
    s->scale = weight_scale(s, row);
    if (build_ops(s, stack, err) != 0) {
        op_list_free(&s->ops);
        model_free(&s->m);
        return -1;
    }
    s->loaded = true;
    return 0;
}

void subject_free(struct subject *s)
{
    if (!s->loaded)
        return;
    op_classes_free(&s->classes);
    op_list_free(&s->ops);
    model_free(&s->m);
    s->loaded = false;
}
