/* Hugging Face config.json to hparams. Unsupported fields that would change the result are errors that name the field. */
#include "model/arch.h"
#include "model/internal.h"
#include <math.h>
#include <string.h>

/* A JSON text for messages. */
#define PRINTABLE(buf, s) model_printable(buf, sizeof(buf), s, strlen(s))

const char *config_field(const struct arch *a, const char *usual)
{
    for (const struct config_name *n = a ? a->names : NULL; n && n->usual; n++)
        if (strcmp(n->usual, usual) == 0)
            return n->own;
    return usual;
}

int config_count(const json_t *j, const char *what, const char *field, int64_t lo, int64_t hi, uint32_t *out, struct error *err)
{
    int64_t v = *out;
    if ((v ? json_get_int_opt(j, what, field, lo, hi, &v, err) : json_get_int(j, what, field, lo, hi, &v, err)) != 0)
        return -1;
    *out = (uint32_t)v;
    return 0;
}

int config_opt_count(const json_t *j, const char *what, const char *field, int64_t min, uint32_t *out, struct error *err)
{
    int64_t v = *out;
    if (json_get_int_opt(j, what, field, min, UINT32_MAX, &v, err) != 0)
        return -1;
    *out = (uint32_t)v;
    return 0;
}

int config_only(const json_t *j, const char *what, const char *field, bool only, struct error *err)
{
    bool v = only;
    if (json_get_bool_opt(j, what, field, &v, err) != 0)
        return -1;
    return v == only ? 0
                     : error_set(err, ERROR_INPUT, "%s: %s is %s, which is not supported yet", what, field, v ? "true" : "false");
}

int config_word(const json_t *j, const char *what, const char *field, const char *words, struct error *err)
{
    const char *s = words;
    char found[33];
    if (json_get_str_opt(j, what, field, &s, err) != 0)
        return -1;
    return s == words || text_lists(words, s)
               ? 0
               : error_set(err, ERROR_INPUT, "%s: %s is \"%s\", expected \"%s\"", what, field, PRINTABLE(found, s), words);
}

int config_absent(const json_t *j, const char *what, const char *field, struct error *err)
{
    const json_t *v = json_object_get(j, field);
    return !v || json_is_null(v) ? 0 : error_set(err, ERROR_INPUT, "%s: %s is not supported yet, expected null", what, field);
}

int config_rotary_part(const json_t *j, const char *what, const char *field, double usual, struct hparams *hp,
                       struct error *err)
{
    double part = usual;
    if (json_get_num_opt(j, what, field, &part, err) != 0 ||
        json_get_num_opt(json_object_get(j, "rope_parameters"), what, field, &part, err) != 0)
        return -1;
    if (!(part > 0 && part <= 1))
        return error_set(err, ERROR_INPUT, "%s: %s is %g, expected more than 0, at most 1", what, field, part);
    hp->n_rot = (uint32_t)(hp->head_dim * part);
    return 0;
}

/* Among the family's names of a field, the one in the file. */
const char *config_present(const json_t *j, const struct arch *a, const char *usual)
{
    for (const struct config_name *n = a->names; n && n->usual; n++)
        if (strcmp(n->usual, usual) == 0)
            return n->other && json_is_none(json_object_get(j, n->own)) && !json_is_none(json_object_get(j, n->other)) ? n->other : n->own;
    return usual;
}

static int read_heads(const json_t *j, const char *what, const struct arch *a, struct hparams *hp, struct error *err)
{
    if (config_count(j, what, config_present(j, a, "num_attention_heads"), 1, UINT32_MAX, &hp->n_head, err) != 0)
        return -1;
    if (hp->n_head_kv == 0)
        hp->n_head_kv = hp->n_head;
    if (config_opt_count(j, what, config_present(j, a, "num_key_value_heads"), 1, &hp->n_head_kv, err) != 0 ||
        config_opt_count(j, what, config_present(j, a, "head_dim"), 1, &hp->head_dim, err) != 0)
        return -1;
    if (hp->head_dim == 0) {
        if (hp->n_embd % hp->n_head != 0)
            return error_set(err, ERROR_INPUT,
                             "%s: %s is %u, expected a multiple of %s, which is %u (or a field \"%s\")", what,
                             config_present(j, a, "hidden_size"), hp->n_embd, config_present(j, a, "num_attention_heads"), hp->n_head,
                             config_present(j, a, "head_dim"));
        hp->head_dim = hp->n_embd / hp->n_head;
    }
    hp->n_rot = hp->head_dim;
    return 0;
}

/* Parameters of "llama3" scaling: all four are mandatory. */
static int read_llama3(const json_t *s, const char *what, struct hparams *hp, struct error *err)
{
    if (json_get_num(s, what, "factor", &hp->rope_factor, err) != 0 ||
        json_get_num(s, what, "low_freq_factor", &hp->rope_low, err) != 0 ||
        json_get_num(s, what, "high_freq_factor", &hp->rope_high, err) != 0 ||
        json_get_num(s, what, "original_max_position_embeddings", &hp->rope_ctx_orig, err) != 0)
        return -1;
    if (!(hp->rope_factor >= 1 && hp->rope_factor <= 1e6))
        return error_set(err, ERROR_INPUT, "%s: factor is %g, expected 1 to 1e6", what, hp->rope_factor);
    if (!(hp->rope_low > 0 && hp->rope_high >= hp->rope_low && hp->rope_high <= 1e6))
        return error_set(err, ERROR_INPUT,
                         "%s: low_freq_factor is %g and high_freq_factor %g, expected 0 < low <= high", what,
                         hp->rope_low, hp->rope_high);
    if (!(hp->rope_ctx_orig >= 1 && hp->rope_ctx_orig <= 1 << 30))
        return error_set(err, ERROR_INPUT, "%s: original_max_position_embeddings is %g, expected 1 to 2^30",
                         what, hp->rope_ctx_orig);
    hp->rope_scaling = ROPE_SCALING_LLAMA3;
    return 0;
}

/* YaRN amplitude for a scaling factor: methods.md (10) */
static double yarn_amplitude(double factor, double mul)
{
    return factor > 1 ? 1 + 0.1 * mul * log(factor) : 1;
}

/* Original context, or max_position_embeddings if missing. */
static int read_yarn(const json_t *s, const char *what, struct hparams *hp, struct error *err)
{
    double all = 0, all_dim = 0, fast = 32, slow = 1;
    hp->rope_ctx_orig = hp->n_ctx_train;
    if (json_get_num(s, what, "factor", &hp->rope_factor, err) != 0 ||
        json_get_num_opt(s, what, "original_max_position_embeddings", &hp->rope_ctx_orig, err) != 0 ||
        json_get_num_opt(s, what, "attention_factor", &hp->rope_attn_factor, err) != 0 ||
        json_get_num_opt(s, what, "mscale", &all, err) != 0 ||
        json_get_num_opt(s, what, "mscale_all_dim", &all_dim, err) != 0 ||
        json_get_num_opt(s, what, "beta_fast", &fast, err) != 0 || json_get_num_opt(s, what, "beta_slow", &slow, err) != 0)
        return -1;
    hp->rope_scaling = ROPE_SCALING_YARN;
    hp->yarn_log_mul = 0.1 * all_dim;
    hp->yarn_beta_fast = fast;
    hp->yarn_beta_slow = slow;
    if (hp->rope_attn_factor == 0 && all > 0 && all_dim > 0)
        hp->rope_attn_factor = yarn_amplitude(hp->rope_factor, all) / yarn_amplitude(hp->rope_factor, all_dim);
    /* Files give the total amplitude; hparams exclude YaRN's own. */
    hp->rope_attn_factor /= yarn_amplitude(hp->rope_factor, 1);
    return 0;
}

static int check_proportional(const json_t *s, const char *what, struct error *err)
{
    double part = 1, factor = 1;
    if (json_get_num_opt(s, what, "partial_rotary_factor", &part, err) != 0 || json_get_num_opt(s, what, "factor", &factor, err) != 0)
        return -1;
    if (!(part > 0 && part <= 1))
        return error_set(err, ERROR_INPUT, "%s: partial_rotary_factor is %g, expected more than 0, at most 1", what, part);
    return factor == 1 ? 0 : error_set(err, ERROR_INPUT, "%s: factor is %g, expected 1 of rope_type \"proportional\"", what, factor);
}

static int rope_type(const json_t *s, const char *what, const char *type, struct hparams *hp, struct error *err)
{
    if (strcmp(type, "default") == 0 || strcmp(type, "none") == 0 || strcmp(type, "mrope") == 0) /* mrope equals plain rotation for text */
        return 0;
    if (strcmp(type, "proportional") == 0) /* Gemma 4: remaining pairs rotate by 0, at the same cost */
        return check_proportional(s, what, err);
    if (strcmp(type, "dynamic") == 0) /* plain rotation up to max_position_embeddings */
        return 0;
    if (strcmp(type, "llama3") == 0)
        return read_llama3(s, what, hp, err);
    if (strcmp(type, "yarn") == 0)
        return read_yarn(s, what, hp, err);
    if (strcmp(type, "longrope") == 0 || strcmp(type, "su") == 0) {
        hp->rope_scaling = ROPE_SCALING_LONGROPE;
        return 0;
    }
    if (strcmp(type, "linear") == 0) {
        hp->rope_scaling = ROPE_SCALING_LINEAR;
        return json_get_num(s, what, "factor", &hp->rope_factor, err);
    }
    char found[33];
    return error_set(err, ERROR_INPUT,
                     "%s: rope_type \"%s\" is not supported yet (known: default, dynamic, linear, llama3, yarn, longrope, mrope, proportional)", what,
                     PRINTABLE(found, type));
}

static int read_rope(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    /* Newer files use "rope_parameters", including rope_theta. */
    const char *field = "rope_scaling";
    const json_t *s = json_object_get(j, "rope_parameters");
    if (json_is_object(s))
        field = "rope_parameters";
    else
        s = json_object_get(j, "rope_scaling");
    if (hp->rope_theta == 0)
        hp->rope_theta = 10000; /* transformers' default */
    if (json_get_num_opt(j, what, "rope_theta", &hp->rope_theta, err) != 0)
        return -1;
    if (!s || json_is_null(s))
        return 0;
    if (!json_is_object(s))
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected an object or null", what, field);
    char ctx[4200];
    snprintf(ctx, sizeof ctx, "%s: %s", what, field);
    /* Per layer kind: windowed layers have their own base and no scaling. */
    const json_t *windowed = json_object_get(s, "sliding_attention");
    if (json_is_object(json_object_get(s, "full_attention"))) {
        s = json_object_get(s, "full_attention");
        if (json_get_num_opt(windowed, ctx, "rope_theta", &hp->rope_theta_swa, err) != 0)
            return -1;
    }
    const char *type = "default";
    if (json_get_num_opt(s, ctx, "rope_theta", &hp->rope_theta, err) != 0 ||
        json_get_str_opt(s, ctx, "type", &type, err) != 0 ||
        json_get_str_opt(s, ctx, "rope_type", &type, err) != 0)
        return -1;
    return rope_type(s, ctx, type, hp, err);
}

/* ---- windows ------------------------------------------------------------------------------- */

/* layer_types lists every layer; windows must be periodic. */
static int read_layer_types(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    const json_t *list = json_object_get(j, "layer_types"), *v;
    size_t i, full = 0; /* first full-attention layer, from 1 */
    if (!json_is_array(list))
        return 0;
    if (json_array_size(list) != hp->n_layer)
        return error_set(err, ERROR_INPUT, "%s: layer_types has %zu entries for %u layers", what, json_array_size(list),
                         hp->n_layer);
    json_array_foreach(list, i, v)
    {
        const char *s = json_string_value(v);
        const bool windowed = s && (strcmp(s, "sliding_attention") == 0 || strcmp(s, "chunked_attention") == 0); /* Llama 4 */
        if (!windowed && (!s || strcmp(s, "full_attention") != 0))
            return error_set(err, ERROR_INPUT, "%s: layer_types[%zu]: expected \"full_attention\" or "
                             "\"sliding_attention\"", what, i);
        if (!windowed && full == 0)
            full = i + 1;
        if (full > 0 && windowed == (i % full == full - 1))
            return error_set(err, ERROR_INPUT, "%s: layer_types[%zu]: windows do not repeat every %zu layers, and other "
                             "patterns are not supported", what, i, full);
    }
    if (full == 1) /* all full */
        hp->window = 0;
    if (hp->window > 0)
        hp->window_period = (uint32_t)full;
    return 0;
}

static int read_window(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    bool use = true;
    int64_t window = hp->window, period = hp->window_period;
    if (json_get_bool_opt(j, what, "use_sliding_window", &use, err) != 0 ||
        json_get_int_opt(j, what, "sliding_window", 0, INT64_MAX, &window, err) != 0 ||
        json_get_int_opt(j, what, "sliding_window_pattern", 1, UINT32_MAX, &period, err) != 0)
        return -1;
    if (!use || window >= hp->n_ctx_train) /* a window of the whole context is none */
        window = 0;
    hp->window = (uint32_t)window;
    hp->window_period = (uint32_t)period;
    return read_layer_types(j, what, hp, err);
}

int config_no_qwen_window(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    bool use = false; /* default without use_sliding_window */
    int64_t first = 0;
    if (json_get_bool_opt(j, what, "use_sliding_window", &use, err) != 0 ||
        json_get_int_opt(j, what, "max_window_layers", 0, INT64_MAX, &first, err) != 0)
        return -1;
    if (!use || first >= hp->n_layer)
        hp->window = 0;
    if (hp->window > 0)
        return error_set(err, ERROR_INPUT,
                         "%s: use_sliding_window is true: windows that begin at max_window_layers (%lld of %u) are not "
                         "supported",
                         what, (long long)first, hp->n_layer);
    return 0;
}

/* ---- other fields ---- */

static int read_rest(const json_t *j, const char *what, const struct arch *arch, struct hparams *hp, struct error *err)
{
    bool attn = hp->attn_bias, mlp = false, head = false, out;
    const char *act = arch->activations, *act_name = config_field(arch, "hidden_act");
    const json_t *rope = json_object_get(j, "rope_parameters");
    double rotary = 1;
    if (json_get_bool_opt(j, what, "attention_bias", &attn, err) != 0 ||
        json_get_bool_opt(j, what, "mlp_bias", &mlp, err) != 0 ||
        json_get_bool_opt(j, what, "lm_head_bias", &head, err) != 0 ||
        json_get_num_opt(j, what, "partial_rotary_factor", &rotary, err) != 0 ||
        json_get_num_opt(rope, what, "partial_rotary_factor", &rotary, err) != 0 ||
        json_get_str_opt(j, what, act_name, &act, err) != 0 ||
        json_get_str_opt(j, what, "hidden_activation", &act, err) != 0)
        return -1;
    char found[33];
    if (mlp || (head && !(arch->has & ARCH_HEAD_BIAS)))
        return error_set(err, ERROR_INPUT, "%s: %s is true: biases of the %s are not supported yet", what,
                         mlp ? "mlp_bias" : "lm_head_bias", mlp ? "feed-forward part" : "LM head");
    if (!text_lists(arch->activations, act))
        return error_set(err, ERROR_INPUT, "%s: %s is \"%s\", expected \"%s\"", what, act_name, PRINTABLE(found, act),
                         arch->activations);
    if (!(rotary > 0 && rotary <= 1))
        return error_set(err, ERROR_INPUT, "%s: partial_rotary_factor is %g, expected more than 0, at most 1", what, rotary);
    hp->head_bias = head;
    /* attention_bias includes the output projection, if set. */
    if (attn && !hp->attn_bias)
        hp->attn_bias = hp->attn_output_bias = true;
    out = hp->attn_output_bias;
    if (json_get_bool_opt(j, what, "attention_out_bias", &out, err) != 0) /* seed_oss */
        return -1;
    hp->attn_output_bias = out;
    hp->n_rot = (uint32_t)(hp->head_dim * rotary);
    return 0;
}

static int read_dimensions(const json_t *top, const json_t *j, const char *what, const struct arch *a, struct hparams *hp, struct error *err)
{
    if (hp->n_ctx_train == 0)
        hp->n_ctx_train = 2048; /* transformers' defaults */
    hp->rms_eps = 1e-6;
    if (config_count(j, what, config_present(j, a, "hidden_size"), 1, UINT32_MAX, &hp->n_embd, err) != 0)
        return -1;
    if (a->ff_factor > 0)
        hp->n_ff = (uint32_t)u64_min((uint64_t)a->ff_factor * hp->n_embd, UINT32_MAX);
    if (config_count(j, what, config_present(j, a, "num_hidden_layers"), 1, UINT32_MAX, &hp->n_layer, err) != 0 ||
        config_count(j, what, config_present(j, a, "intermediate_size"), 1, UINT32_MAX, &hp->n_ff, err) != 0 ||
        config_count(j, what, config_present(j, a, "vocab_size"), 1, UINT32_MAX, &hp->n_vocab, err) != 0 ||
        config_opt_count(j, what, "num_nextn_predict_layers", 0, &hp->n_layer_nextn, err) != 0 ||
        config_opt_count(j, what, "mtp_num_hidden_layers", 0, &hp->n_layer_nextn, err) != 0 ||
        config_opt_count(j, what, config_present(j, a, "max_position_embeddings"), 1, &hp->n_ctx_train, err) != 0 ||
        json_get_num_opt(j, what, config_present(j, a, "rms_norm_eps"), &hp->rms_eps, err) != 0 ||
        json_get_bool_opt(top, what, "tie_word_embeddings", &hp->tied, err) != 0 || /* top level since transformers 5 */
        json_get_bool_opt(j, what, "tie_word_embeddings", &hp->tied, err) != 0 || read_heads(j, what, a, hp, err) != 0)
        return -1;
    hp->head_dim_v = hp->head_dim;
    return 0;
}

int config_parse(const json_t *j, const char *what, struct hparams *hp, const char **arch_out,
                 struct error *err)
{
    const struct arch *arch;
    struct config_family family;
    *arch_out = NULL;
    if (!json_is_object(j))
        return error_set(err, ERROR_INPUT, "%s: expected a JSON object with the fields of a config.json",
                         what);
    if (config_family(j, what, &family, err) != 0)
        return -1;
    arch = family.arch;
    *arch_out = arch->name;
    /* Multimodal models have a separate language-model part. */
    const json_t *const top = j;
    j = config_text(top);
    memcpy(hp, arch_defaults(arch), sizeof *hp); /* padding too: config_notes compares bytes */
    if (config_numbers(j, what, hp, err) != 0 || read_dimensions(top, j, what, arch, hp, err) != 0 ||
        read_rope(j, what, hp, err) != 0 ||
        (!(arch->has & ARCH_HYBRID) && read_window(j, what, hp, err) != 0) ||
        config_experts(&family, j, what, hp, err) != 0 || config_needs(j, what, arch->needs, false, err) != 0 ||
        config_needs(j, what, arch->says, true, err) != 0 || read_rest(j, what, arch, hp, err) != 0 || (arch->config && arch->config(j, what, hp, err) != 0) ||
        hparams_supported(arch, hp, what, err) != 0)
        return -1;
    return hparams_check(hp, HPARAMS_CONFIG, what, *arch_out, err);
}
