/* Model of a row: a preset, else likely dimensions from its parameters. doc/notes/datasets.md */
#include "dataset/stacks.h"
#include "dataset/workload_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- likely dimensions ------------------------------------------------------------------------------- */

/*
 * Widths and layers by size: Llama and Qwen; mixtures by active parameters (Qwen3-30B-A3B, gpt-oss-120b, GLM-4.5-Air, Qwen3-235B-A22B,
 * DeepSeek-V3).
 */
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
static const double LIKELY_ACTIVE = 0.1; /* default active fraction of a mixture */
/* "8x7B": two experts, and the shared part (Mixtral 8x7B 12.9 of 46.7e9, 8x22B 39 of 141e9). */
static const double LIKELY_VISITED = 2, LIKELY_SHARED = 1.1;
static const double WHOLE_RANGE = 3; /* largest factor between a whole number of blocks or experts and the number required */
static const double LIKELY_CACHED = 0.25; /* fraction of layers with a KV cache in hybrids: every fourth (Qwen3-Next, Qwen3.5) */

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

static int load_likely(struct row_model *s, const char *name, const struct guess_dims *d, const char *type, struct error *err)
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

/* Bits per weight of a type, tables included, in a model of common size; NaN: *err. */
static double type_bits(const char *type, struct error *err)
{
    struct guess_dims d = { .params = 8e9, .active = NAN };
    struct row_model probe;
    likely_dense(&d);
    if (load_likely(&probe, "probe", &d, type, err) != 0)
        return NAN;
    const double bits = 8 * (double)probe.m.weight_bytes / (double)probe.m.n_params;
    model_free(&probe.m);
    return bits;
}

/* Parameters: of the row, of the name, or bytes over bits. */
static double params_of(const struct measurement *m, double bits, const char *type, struct error *err)
{
    if (m->params_b > 0)
        return m->params_b * 1e9;
    const double named = model_named_params(m->model);
    if (named > 0)
        return named;
    if (!(m->weight_gib > 0))
        return NAN;
    return m->weight_gib * 0x1p30 * 8 / (bits > 0 ? bits : type_bits(type, err));
}

/* ---- as many parameters as stated ------------------------------------------------------------------------------ */

bool row_model_is_expert(const struct tensor *t)
{
    return strstr(t->name, "_exps") != NULL;
}

static bool is_feed_forward(const struct tensor *t)
{
    return row_model_is_expert(t) || strstr(t->name, "ffn_gate.") || strstr(t->name, "ffn_up.") || strstr(t->name, "ffn_down.");
}

double row_model_share(const struct row_model *s, const struct tensor *t)
{
    return is_feed_forward(t) ? s->width * (row_model_is_expert(t) ? s->experts : 1) : 1;
}

static bool in_range(double share)
{
    return share > 1 / WHOLE_RANGE && share < WHOLE_RANGE;
}

/*
 * Quantization blocks and experts are whole numbers: 256 feed-forward columns are 0.6 of 3e9 active parameters. The remaining factor of
 * width and experts is kept, so that A3.1B and A3.5B have the parameters stated. Tables and attention that exceed them alone stay.
 */
static void scale_parameters(struct row_model *s, const struct guess_dims *d)
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

/* Parameters of the file over the model's; 1 with a preset. */
static double file_share(const struct row_model *s, const struct measurement *row)
{
    return s->preset[0] || !(row->params_b > 0) ? 1 : row->params_b * 1e9 / ((double)s->m.n_params * (1 + s->extra));
}

static const double WEIGHT_RANGE = 2.5;

/* Factor of product bytes so that all tensors have the row's bytes; 1 if impossible. */
static double weight_scale(struct row_model *s, const struct measurement *row)
{
    double products = 0, rest = 0;
    for (size_t i = 0; i < s->m.n_tensors; i++) {
        const struct tensor *t = &s->m.tensors[i];
        *(t->rows > 1 && t->cols > 1 ? &products : &rest) += (double)t->bytes * row_model_share(s, t);
    }
    const double want = row->weight_gib * 0x1p30 / (1 + s->extra), x = products > 0 ? (want - rest) / products : NAN;
    const double share = file_share(s, row);
    if (x > share / WEIGHT_RANGE && x < share * WEIGHT_RANGE)
        return x;
    if (row->weight_gib > 0)
        s->guesses |= GUESS_WEIGHT;
    return NAN;
}

/* ---- a row model -------------------------------------------------------------------------------------------------- */

/* Without a preset: a mixture if its name, its experts or its family imply it. -1: unknown. */
static int guess_active(struct row_model *s, const struct measurement *row, struct guess_dims *d, struct error *err)
{
    const double copies = model_named_experts(row->model);
    const enum model_kind kind = model_named_kind(*row->label ? row->label : row->model, d->params);
    if (!isnan(d->active))
        return 0;
    if (copies > LIKELY_VISITED) {
        d->active = d->params * LIKELY_SHARED * LIKELY_VISITED / copies;
    } else if ((row->tags & TAG_MOE) || kind == KIND_MIXTURE || model_named_kind(row->model, d->params) == KIND_MIXTURE) {
        d->active = d->params * LIKELY_ACTIVE;
    } else if (kind == KIND_EITHER) {
        return error_set(err, ERROR_INPUT, "no preset of \"%.64s\" with %.3ge9 parameters, and its family has dense models and mixtures of experts, which read a tenth "
                                           "of them a token: use a name that states which (A3B)", row->model, d->params / 1e9);
    }
    s->guesses |= isnan(d->active) ? 0U : GUESS_ACTIVE;
    return 0;
}

static int load_model(struct row_model *s, const struct measurement *row, const char *type, struct error *err)
{
    if (s->preset[0])
        return model_load(&s->m, s->preset, type, err);
    struct guess_dims d = { .params = params_of(row, s->bits, type, err), .active = model_active_params(row->model) };
    s->guesses |= GUESS_MODEL;
    if (isnan(d.params) && error_is_fatal(err))
        return -1;
    if (isnan(d.params))
        return error_set(err, ERROR_INPUT, "no preset of \"%.64s\", and neither parameters nor bytes of its weights", row->model);
    if (!(d.params > 5e7 && d.params < 2e13))
        return error_set(err, ERROR_INPUT, "no preset of \"%.64s\" has %.4g parameters, and of others 5e7 to 2e13 are expected", row->model, d.params);
    if (guess_active(s, row, &d, err) != 0)
        return -1;
    const bool moe = d.active > 0 && d.active < 0.9 * d.params;
    if (moe)
        likely_experts(&d);
    else
        likely_dense(&d);
    if (row->tags & TAG_HYBRID)
        s->kv_share = LIKELY_CACHED;
    if (load_likely(s, row->model, &d, type, err) != 0)
        return -1;
    scale_parameters(s, &d);
    return 0;
}

/*
 * NVIDIA's NVFP4 checkpoints of mixtures of experts do not quantize attention (exclude_modules in the hf_quant_config.json of
 * DeepSeek-R1-NVFP4: "*self_attn*").
 */
static const char *const nvfp4_of_experts = "NVFP4_FFN";

/* Input errors become the row's reason; system errors are returned. */
static int row_reason(struct row_model *s, const struct error *e, struct error *err)
{
    if (error_is_fatal(e)) {
        *err = *e;
        return -1;
    }
    snprintf(s->reason, sizeof s->reason, "%.250s", e->msg);
    return 0;
}

/* Type by name, by bits in the name, or 16 bits. */
static int load_typed(struct row_model *s, const struct measurement *row, const struct quant_name *q, struct error *err)
{
    const bool known = *q->type && model_knows_type(q->type);
    const char *const type = known ? q->type : "F16";
    struct error e = { 0 };
    if (load_model(s, row, type, &e) != 0)
        return row_reason(s, &e, err);
    const bool ffn_only = s->m.hp.n_expert > 0 && strcasecmp(type, "NVFP4") == 0;
    if (ffn_only) {
        model_free(&s->m);
        if (load_model(s, row, nvfp4_of_experts, &e) != 0)
            return row_reason(s, &e, err);
    }
    snprintf(s->type, sizeof s->type, "%.20s", ffn_only ? nvfp4_of_experts : type);
    if (!q->known || !known)
        s->guesses |= GUESS_QUANT;
    return 0;
}

/* Types that apply to experts only, for checkpoints published so. */
static struct quant_name quant_of(const struct measurement *row, const struct stack *stack, const char *preset)
{
    const bool gguf = stack_trait(stack, ENGINE_GGUF) > 0;
    const double bits = row->weight_gib * 0x1p30 * 8 / (row->params_b * 1e9);
    const bool stated = *row->quant || (gguf && bits > 3 && bits < 6.5); /* typical of the default */
    struct quant_name q = quant_find(row->quant, stack);
    if (!stated && bits > 0) { /* type from bytes */
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

static int load_as(struct row_model *s, const struct measurement *row, const struct quant_name *q, struct error *err)
{
    s->bits = q->bits;
    return load_typed(s, row, q, err);
}

/* A mixture with a separate expert type consists mostly of experts. Types of equal width ("fp8", "fp8_block") are not distinguished. */
static int load_experts(struct row_model *s, const struct measurement *row, const struct stack *stack, const struct quant_name *q, struct error *err)
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

/* ---- a type that the bytes contradict ------------------------------------------------------------------------------ */

/* Widths of types differ by factors of two: beyond half of that (as a logarithm) it is another type. */
static const double TYPE_RANGE = 1.4142135623730951;

static double bytes_as_typed(const struct row_model *s)
{
    double bytes = 0;
    for (size_t i = 0; i < s->m.n_tensors; i++) {
        const struct tensor *t = &s->m.tensors[i];
        const double bits = cost_weight_bits(t);
        const double scale = s->bits > 0 && t->rows > 1 && (bits < 15 || s->whole) ? s->bits / bits : 1;
        bytes += (double)t->bytes * row_model_share(s, t) * scale;
    }
    return bytes * (1 + s->extra);
}

/* Type with the nearest bytes among those the engine loads; experts may have a separate type. */
static int nearest_type(struct row_model *s, const struct measurement *row, bool gguf, const char **best, double *apart, struct error *err)
{
    static const char *const of_gguf[] = { "MXFP4_EXPERTS", "MXFP4_MOE", "Q2_K", "Q3_K_M", "Q4_K_M", "Q5_K_M", "Q6_K", "Q8_0", "F16", "F32" };
    static const char *const of_others[] = { "MXFP4_EXPERTS", "W4A16", "INT8_W8A16", "F16", "F32" };
    const char *const *const types = gguf ? of_gguf : of_others;
    *apart = INFINITY;
    for (size_t i = 0; i < (gguf ? ARRAY_LEN(of_gguf) : ARRAY_LEN(of_others)); i++) {
        struct error e = { 0 };
        if (strncmp(types[i], "MXFP4", 5) == 0 && s->m.hp.n_expert == 0)
            continue;
        model_free(&s->m);
        s->bits = NAN;
        if (load_model(s, row, types[i], &e) != 0)
            return row_reason(s, &e, err);
        const double x = row->weight_gib * 0x1p30 / (bytes_as_typed(s) * file_share(s, row));
        if (fabs(log(x)) < fabs(log(*apart))) {
            *apart = x;
            *best = types[i];
        }
    }
    return 0;
}

/*
 * Bytes and parameters override a contradicting label ("F16" of a file whose experts are MXFP4), with a note. No program reads more than
 * its file.
 */
static int check_type(struct row_model *s, const struct measurement *row, const struct stack *stack, struct error *err)
{
    const double params = (double)s->m.n_params * (1 + s->extra) * file_share(s, row), file_bytes = row->weight_gib * 0x1p30;
    const double x = file_bytes / (bytes_as_typed(s) * file_share(s, row)), bits = 8 * file_bytes / params;
    const bool gguf = stack_trait(stack, ENGINE_GGUF) > 0;
    const char *type = s->type;
    double apart;
    struct error e = { 0 };
    if (!*row->quant || !(x > 0) || (x < TYPE_RANGE && x > 1 / TYPE_RANGE))
        return 0;
    const bool few = bits < dtype_bits(DTYPE_IQ1_S);
    if (few || bits > TYPE_RANGE * dtype_bits(DTYPE_F32)) {
        snprintf(s->reason, sizeof s->reason, "%.4g GiB of weights are %.2g bits for each of %.4ge9 parameters: %s than any type has", row->weight_gib, bits,
                 params / 1e9, few ? "fewer" : "more");
        model_free(&s->m);
        return 0;
    }
    if (nearest_type(s, row, gguf, &type, &apart, err) != 0 || s->reason[0])
        return s->reason[0] ? 0 : -1;
    model_free(&s->m);
    if (load_model(s, row, apart < TYPE_RANGE ? type : s->type, &e) != 0) /* otherwise another model: no type has these bytes */
        return row_reason(s, &e, err);
    if (apart >= TYPE_RANGE)
        return 0;
    s->guesses |= GUESS_QUANT;
    snprintf(s->type, sizeof s->type, "%s", type);
    snprintf(s->note, sizeof s->note, "%.4g GiB are %.3g bits a weight, not those of \"%.32s\": estimated as %s", row->weight_gib, bits, row->quant, type);
    return 0;
}

/* Notes differences between row and preset. */
static void note_preset(struct row_model *s, const struct measurement *row, const struct preset_found *f)
{
    const size_t n = strlen(s->reason);
    if (f->by_family && !*s->note)
        snprintf(s->note, sizeof s->note, "assumed to be %s: same family and %.4ge9 parameters", f->name, row->params_b);
    if (s->preset[0] || !(f->other_params > 0))
        return;
    if (n > 0)
        snprintf(s->reason + n, sizeof s->reason - n, "; preset %s of that name has %.4ge9", f->other, f->other_params / 1e9);
    else
        snprintf(s->note, sizeof s->note, "params_b is %.4ge9 parameters, preset %s of that name has %.4ge9: estimated with likely dimensions of %.4ge9",
                 row->params_b, f->other, f->other_params / 1e9, row->params_b);
}

void row_model_key(char *key, size_t size, const struct measurement *m, const struct stack *stack)
{
    snprintf(key, size, "%.4096s|%.40s|%.40s|%s|%.9g|%.9g|%d", m->model, m->quant, m->quant_experts, stack->id, m->params_b, m->weight_gib,
             (m->tags & (TAG_MOE | TAG_HYBRID)) != 0);
}

/* llama.cpp never expands MLA's latent cache; the cost model takes the cheaper form (17). */
static void disable_expansion(struct op_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->ops[i].form != FORM_ALWAYS)
            l->ops[i].form_tok = INFINITY;
}

static int build_ops(struct row_model *s, const struct stack *stack, struct error *err)
{
    if (op_list_build(&s->ops, &s->m, err) != 0)
        return -1;
    if (stack_trait(stack, ENGINE_ABSORBED) > 0)
        disable_expansion(&s->ops);
    return op_classes_init(&s->classes, &s->m, &s->ops, err);
}

int row_model_load(struct row_model *s, const struct measurement *row, const struct stack *stack, struct presets *presets, struct error *err)
{
    struct preset_found found;
    *s = (struct row_model){ .bits = NAN, .kv_share = 1, .width = 1, .experts = 1, .scale = NAN, .whole = stack_trait(stack, ENGINE_QUANTIZES_HEAD) > 0 };
    row_model_key(s->key, sizeof s->key, row, stack);
    if (preset_find(&found, row, presets, err) != 0)
        return -1;
    snprintf(s->preset, sizeof s->preset, "%s", found.name);
    s->extra = found.extra;
    const struct quant_name q = quant_of(row, stack, s->preset);
    if (!*row->quant && !(row->weight_gib > 0) && strncmp(s->preset, "gpt-oss", 7) != 0) /* published with one type only */
        s->guesses |= GUESS_BITS;
    if (load_as(s, row, &q, err) != 0 || load_experts(s, row, stack, &q, err) != 0 || (!s->reason[0] && check_type(s, row, stack, err) != 0))
        return -1;
    note_preset(s, row, &found);
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

void row_model_free(struct row_model *s)
{
    if (!s->loaded)
        return;
    op_classes_free(&s->classes);
    op_list_free(&s->ops);
    model_free(&s->m);
    s->loaded = false;
}
