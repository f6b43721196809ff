/* Hugging Face config.json -> hparams. A field that would change the result and is not supported
 * is refused by name: a config is never half understood. */
#include "model/internal.h"
#include <math.h>
#include <string.h>

/* model_type or architectures[0] -> architecture of archs[]. */
static const struct {
    const char *model_type, *class_name, *arch;
} families[] = {
    { "llama", "LlamaForCausalLM", "llama" },
    { "mistral", "MistralForCausalLM", "llama" },
};

/* What a JSON text says, for messages. */
#define PRINTABLE(buf, s) model_printable(buf, sizeof(buf), s, strlen(s))

/* Every class the file names: one that is not known is another model, whatever model_type says. */
static int check_classes(const json_t *j, const char *what, struct error *err)
{
    const json_t *list = json_object_get(j, "architectures"), *v;
    size_t i;
    char found[65];
    if (!list || json_is_null(list))
        return 0;
    if (!json_is_array(list))
        return error_set(err, ERROR_INPUT, "%s: field \"architectures\": expected an array of strings, found %s", what,
                         json_type_name(list));
    json_array_foreach(list, i, v)
    {
        bool known = false;
        if (!json_is_string(v))
            return error_set(err, ERROR_INPUT, "%s: architectures[%zu]: expected a string, found %s", what, i,
                             json_type_name(v));
        for (size_t k = 0; k < ARRAY_LEN(families); k++)
            known |= strcmp(json_string_value(v), families[k].class_name) == 0;
        if (!known)
            return error_set(err, ERROR_INPUT,
                             "%s: architectures[%zu] is \"%s\", which is not supported yet (known: LlamaForCausalLM, "
                             "MistralForCausalLM)",
                             what, i, PRINTABLE(found, json_string_value(v)));
    }
    return 0;
}

/* A profile or a run given as the model would otherwise be a model without a model_type. */
static int refuse_other_schema(const json_t *j, const char *what, struct error *err)
{
    const char *schema = json_string_value(json_object_get(j, "schema"));
    char found[65];
    if (!schema)
        return 0;
    return error_set(err, ERROR_INPUT, "%s: this is a %s document, a model is expected", what, PRINTABLE(found, schema));
}

int config_refuse_quantized(const json_t *j, const char *what, struct error *err)
{
    const json_t *q = json_object_get(j, "quantization_config");
    if (!q || json_is_null(q))
        return 0;
    const char *method = json_string_value(json_object_get(q, "quant_method"));
    char found[33];
    return error_set(err, ERROR_INPUT,
                     "%s: quantization_config (\"%s\"): weights of AWQ, GPTQ, FP8 and other quantized checkpoints are "
                     "not priced yet; name the type to price with -q, or remove the field",
                     what, method ? PRINTABLE(found, method) : "no quant_method");
}

static int find_family(const json_t *j, const char *what, const char **arch, struct error *err)
{
    const char *type = NULL;
    char found[65];
    if (refuse_other_schema(j, what, err) != 0 || json_get_str_opt(j, what, "model_type", &type, err) != 0 ||
        check_classes(j, what, err) != 0)
        return -1;
    const char *class_name = json_string_value(json_array_get(json_object_get(j, "architectures"), 0));
    if (!type && !class_name)
        return error_set(err, ERROR_INPUT, "%s: field \"model_type\" is missing, expected \"llama\" or "
                                           "\"mistral\"",
                         what);
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        if (type ? strcmp(type, families[i].model_type) == 0
                 : strcmp(class_name, families[i].class_name) == 0) {
            *arch = families[i].arch;
            return 0;
        }
    return error_set(err, ERROR_INPUT,
                     "%s: model_type \"%s\" is not supported yet (known: llama, mistral)", what,
                     PRINTABLE(found, type ? type : class_name));
}

static int count(const json_t *j, const char *what, const char *field, uint32_t *out,
                 struct error *err)
{
    int64_t v;
    if (json_get_int(j, what, field, 1, UINT32_MAX, &v, err) != 0)
        return -1;
    *out = (uint32_t)v;
    return 0;
}

static int opt_count(const json_t *j, const char *what, const char *field, uint32_t *out,
                     struct error *err)
{
    int64_t v = *out;
    if (json_get_int_opt(j, what, field, 1, UINT32_MAX, &v, err) != 0)
        return -1;
    *out = (uint32_t)v;
    return 0;
}

static int read_heads(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    if (count(j, what, "num_attention_heads", &hp->n_head, err) != 0)
        return -1;
    hp->n_head_kv = hp->n_head;
    if (opt_count(j, what, "num_key_value_heads", &hp->n_head_kv, err) != 0)
        return -1;
    hp->head_dim = 0;
    if (opt_count(j, what, "head_dim", &hp->head_dim, err) != 0)
        return -1;
    if (hp->head_dim == 0) {
        if (hp->n_embd % hp->n_head != 0)
            return error_set(err, ERROR_INPUT,
                             "%s: hidden_size is %u, expected a multiple of num_attention_heads, which is "
                             "%u (or a field \"head_dim\")",
                             what, hp->n_embd, hp->n_head);
        hp->head_dim = hp->n_embd / hp->n_head;
    }
    hp->n_rot = hp->head_dim;
    return 0;
}

/* The parameters of "llama3" scaling: all four must be there and make sense. */
static int read_llama3(const json_t *s, const char *what, struct hparams *hp, struct error *err)
{
    if (json_get_num(s, what, "factor", &hp->rope_factor, err) != 0 ||
        json_get_num(s, what, "low_freq_factor", &hp->rope_low, err) != 0 ||
        json_get_num(s, what, "high_freq_factor", &hp->rope_high, err) != 0 ||
        json_get_num(s, what, "original_max_position_embeddings", &hp->rope_ctx_orig, err) != 0)
        return -1;
    if (!(hp->rope_factor >= 1 && hp->rope_factor <= 1e6))
        return error_set(err, ERROR_INPUT, "%s: factor is %g, expected 1 to 1e6", what, hp->rope_factor);
    if (!(hp->rope_low > 0 && hp->rope_high > hp->rope_low && hp->rope_high <= 1e6))
        return error_set(err, ERROR_INPUT,
                         "%s: low_freq_factor is %g and high_freq_factor %g, expected 0 < low < high", what,
                         hp->rope_low, hp->rope_high);
    if (!(hp->rope_ctx_orig >= 1 && hp->rope_ctx_orig <= 1 << 30))
        return error_set(err, ERROR_INPUT, "%s: original_max_position_embeddings is %g, expected 1 to 2^30",
                         what, hp->rope_ctx_orig);
    hp->rope_scaling = ROPE_SCALING_LLAMA3;
    return 0;
}

static int read_rope(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    /* Newer files hold everything in "rope_parameters", rope_theta included. */
    const char *field = "rope_scaling";
    const json_t *s = json_object_get(j, "rope_parameters");
    if (json_is_object(s))
        field = "rope_parameters";
    else
        s = json_object_get(j, "rope_scaling");
    hp->rope_theta = 10000; /* what transformers takes when a Llama config says nothing */
    if (json_get_num_opt(j, what, "rope_theta", &hp->rope_theta, err) != 0)
        return -1;
    if (!s || json_is_null(s))
        return 0;
    if (!json_is_object(s))
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected an object or null", what, field);
    char ctx[4200];
    snprintf(ctx, sizeof ctx, "%s: %s", what, field);
    const char *type = "default";
    if (json_get_num_opt(s, ctx, "rope_theta", &hp->rope_theta, err) != 0 ||
        json_get_str_opt(s, ctx, "type", &type, err) != 0 ||
        json_get_str_opt(s, ctx, "rope_type", &type, err) != 0)
        return -1;
    if (strcmp(type, "default") == 0 || strcmp(type, "none") == 0)
        return 0;
    if (strcmp(type, "llama3") == 0)
        return read_llama3(s, ctx, hp, err);
    if (strcmp(type, "linear") == 0) {
        hp->rope_scaling = ROPE_SCALING_LINEAR;
        return json_get_num(s, ctx, "factor", &hp->rope_factor, err);
    }
    char found[33];
    return error_set(err, ERROR_INPUT,
                     "%s: rope_type \"%s\" is not supported yet (known: default, linear, llama3)", ctx,
                     PRINTABLE(found, type));
}

/* Fields whose values other than the one meant would be another model. */
static int refuse_unsupported(const json_t *j, const char *what, uint32_t n_ctx, struct error *err)
{
    static const char *const must_be_false[] = { "attention_bias", "mlp_bias" };
    static const char *const experts[] = { "num_local_experts", "num_experts", "n_routed_experts" };
    for (size_t i = 0; i < ARRAY_LEN(must_be_false); i++) {
        bool b = false;
        if (json_get_bool_opt(j, what, must_be_false[i], &b, err) != 0)
            return -1;
        if (b)
            return error_set(err, ERROR_INPUT, "%s: %s is true: biases are not supported yet", what,
                             must_be_false[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(experts); i++) {
        int64_t n = 0;
        if (json_get_int_opt(j, what, experts[i], 0, INT64_MAX, &n, err) != 0)
            return -1;
        if (n > 0)
            return error_set(err, ERROR_INPUT,
                             "%s: %s is %lld: mixtures of experts are not supported by architecture llama "
                             "yet",
                             what, experts[i], (long long)n);
    }
    const char *act = "silu";
    double rotary = 1;
    int64_t window = 0;
    if (json_get_str_opt(j, what, "hidden_act", &act, err) != 0 ||
        json_get_num_opt(j, what, "partial_rotary_factor", &rotary, err) != 0 ||
        json_get_int_opt(j, what, "sliding_window", 0, INT64_MAX, &window, err) != 0)
        return -1;
    char found[33];
    if (strcmp(act, "silu") != 0)
        return error_set(err, ERROR_INPUT, "%s: hidden_act is \"%s\", expected \"silu\"", what,
                         PRINTABLE(found, act));
    if (rotary != 1)
        return error_set(err, ERROR_INPUT, "%s: partial_rotary_factor is %g, expected 1", what, rotary);
    if (window > 0 && window < n_ctx)
        return error_set(err, ERROR_INPUT,
                         "%s: sliding_window is %lld of %u positions: sliding-window attention is not "
                         "supported yet (null, or a window of the whole context, is)",
                         what, (long long)window, n_ctx);
    return 0;
}

int config_parse(const json_t *j, const char *what, struct hparams *hp, const char **arch_out,
                 struct error *err)
{
    *hp = (struct hparams){ 0 };
    *arch_out = NULL;
    if (!json_is_object(j))
        return error_set(err, ERROR_INPUT, "%s: expected a JSON object with the fields of a config.json",
                         what);
    /* Defaults of transformers' LlamaConfig, which config.json files leave out. */
    hp->n_ctx_train = 2048;
    hp->rms_eps = 1e-6;
    if (find_family(j, what, arch_out, err) != 0 ||
        count(j, what, "hidden_size", &hp->n_embd, err) != 0 ||
        count(j, what, "num_hidden_layers", &hp->n_layer, err) != 0 ||
        count(j, what, "intermediate_size", &hp->n_ff, err) != 0 ||
        count(j, what, "vocab_size", &hp->n_vocab, err) != 0 ||
        opt_count(j, what, "max_position_embeddings", &hp->n_ctx_train, err) != 0 ||
        json_get_num_opt(j, what, "rms_norm_eps", &hp->rms_eps, err) != 0 ||
        json_get_bool_opt(j, what, "tie_word_embeddings", &hp->tied, err) != 0 ||
        read_heads(j, what, hp, err) != 0 || read_rope(j, what, hp, err) != 0 ||
        refuse_unsupported(j, what, hp->n_ctx_train, err) != 0)
        return -1;
    return hparams_check(hp, HPARAMS_CONFIG, what, *arch_out, err);
}
