/* The language-model part of a config.json: location, family, unread fields. */
#include "model/arch.h"
#include "model/internal.h"
#include <stdlib.h>
#include <string.h>

#define PRINTABLE(buf, s) model_printable(buf, sizeof(buf), s, strlen(s))

/* ---- families ---- */

/*
 * Multimodal text models and renamed families whose forward pass is that of a row of archs[]. Source: transformers,
 * models/<model_type>: the text model inherits the other's layers.
 */
static const struct {
    const char *model_type, *class_name, *as;
} other_names[] = {
    { "ernie4_5", "Ernie4_5ForCausalLM", "llama" },
    { "seed_oss", "SeedOssForCausalLM", "llama" },
    { "ministral", "MinistralForCausalLM", "mistral" },
    { "ministral3", "Ministral3ForCausalLM", "mistral" },
    { "qwen2_vl", "Qwen2VLForConditionalGeneration", "qwen2" },
    { "qwen2_vl_text", "", "qwen2" },
    { "qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration", "qwen2" },
    { "qwen2_5_vl_text", "", "qwen2" },
    { "qwen2_5_omni_text", "", "qwen2" },
    { "qwen3_vl", "Qwen3VLForConditionalGeneration", "qwen3" },
    { "qwen3_vl_text", "", "qwen3" },
    { "qwen3_vl_moe", "Qwen3VLMoeForConditionalGeneration", "qwen3_moe" },
    { "qwen3_vl_moe_text", "", "qwen3_moe" },
    { "qwen3_omni_moe_text", "", "qwen3_moe" },
    { "glm4v_moe", "Glm4vMoeForConditionalGeneration", "glm4_moe" },
    { "glm4v_moe_text", "", "glm4_moe" },
    { "gemma4_unified", "Gemma4UnifiedForConditionalGeneration", "gemma4" },
    { "gemma4_unified_text", "Gemma4UnifiedForCausalLM", "gemma4_text" },
};

const char *config_type_name(const char *model_type, const char *class_name)
{
    for (size_t i = 0; i < ARRAY_LEN(other_names); i++)
        if (model_type ? strcmp(other_names[i].model_type, model_type) == 0
                       : class_name && *class_name && strcmp(other_names[i].class_name, class_name) == 0)
            return other_names[i].as;
    return model_type;
}

static const struct arch *of_class(const char *class_name)
{
    const char *as = config_type_name(NULL, class_name);
    return arch_find_hf(as, class_name);
}

/* model_types or class names of all architectures. */
static const char *known_families(char *buf, size_t n, bool classes)
{
    size_t len = 0;
    const struct arch *a;
    for (size_t i = 0; (a = arch_at(i)); i++)
        for (size_t k = 0; k < ARRAY_LEN(a->hf) && a->hf[k].model_type && len < n; k++)
            if (k == 0 || (classes ? strcmp(a->hf[k].class_name, a->hf[k - 1].class_name)
                                   : strcmp(a->hf[k].model_type, a->hf[k - 1].model_type)) != 0)
                len += (size_t)snprintf(buf + len, n - len, "%s%s", len ? ", " : "",
                                        classes ? a->hf[k].class_name : a->hf[k].model_type);
    return buf;
}

/* ---- location of the fields ---- */

const json_t *config_text(const json_t *top)
{
    static const char *const fields[] = { "text_config", "llm_config", "language_config" };
    const json_t *const thinker = json_object_get(top, "thinker_config"); /* omni models */
    const json_t *const in = json_is_object(thinker) ? thinker : top;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const json_t *const text = json_object_get(in, fields[i]);
        if (json_is_object(text))
            return text;
    }
    return top;
}

const json_t *config_either(const json_t *top, const char *field)
{
    const json_t *const v = json_object_get(config_text(top), field);
    return v && !json_is_null(v) ? v : json_object_get(top, field);
}

/* ---- family ------------------------------------------------------------------------------------------------- */

/* Class names of a part. An unknown class is another model whatever model_type says, unless it wraps the model (any). */
static int check_classes(const json_t *part, const char *what, bool any, struct error *err)
{
    const json_t *list = json_object_get(part, "architectures"), *v;
    size_t i;
    char found[65], known[2048];
    if (!list || json_is_null(list))
        return 0;
    if (!json_is_array(list))
        return error_set(err, ERROR_INPUT, "%s: field \"architectures\": expected an array of strings, found %s", what,
                         json_type_name(list));
    json_array_foreach(list, i, v)
    {
        if (!json_is_string(v))
            return error_set(err, ERROR_INPUT, "%s: architectures[%zu]: expected a string, found %s", what, i,
                             json_type_name(v));
        if (!any && !of_class(json_string_value(v)))
            return error_set(err, ERROR_INPUT, "%s: architectures[%zu] is \"%s\", which is not supported yet (known: %s)",
                             what, i, PRINTABLE(found, json_string_value(v)),
                             known_families(known, sizeof known, true));
        /* not a causal LM head */
        if (strstr(json_string_value(v), "Classification") || strstr(json_string_value(v), "Assistant"))
            return error_set(err, ERROR_INPUT, "%s: architectures[%zu] is \"%s\": expected a model that generates text", what, i,
                             PRINTABLE(found, json_string_value(v)));
    }
    return 0;
}

/* Type and class must agree. */
static int check_agree(const json_t *part, const char *what, const char *type, const struct arch *arch, struct error *err)
{
    const json_t *v;
    size_t i;
    char found[65], said[65];
    json_array_foreach(json_object_get(part, "architectures"), i, v)
    {
        const struct arch *other = of_class(json_string_value(v));
        if (other && other != arch)
            return error_set(err, ERROR_INPUT, "%s: architectures[%zu] is \"%s\" (%s), but model_type is \"%s\" (%s)", what, i,
                             PRINTABLE(found, json_string_value(v)), other->name, type ? PRINTABLE(said, type) : "missing",
                             arch->name);
    }
    return 0;
}

/* Rejects a profile or run file given as a model, with a helpful message. */
static int refuse_other_schema(const json_t *j, const char *what, struct error *err)
{
    const char *schema = json_string_value(json_object_get(j, "schema"));
    char found[65];
    if (!schema)
        return 0;
    return error_set(err, ERROR_INPUT, "%s: this is a %s document, a model is expected", what, PRINTABLE(found, schema));
}

int config_family(const json_t *top, const char *what, struct config_family *f, struct error *err)
{
    const json_t *const text = config_text(top);
    char found[65], known[2048];
    *f = (struct config_family){ 0 };
    const char *outer = NULL, *type = NULL;
    if (refuse_other_schema(top, what, err) != 0 || json_get_str_opt(top, what, "model_type", &outer, err) != 0 ||
        json_get_str_opt(text, what, "model_type", &type, err) != 0)
        return -1;
    const bool wrapped = text != top && type;
    if (check_classes(top, what, wrapped, err) != 0 || (wrapped && check_classes(text, what, false, err) != 0))
        return -1;
    type = type ? type : outer;
    const char *class_name = json_string_value(json_array_get(json_object_get(wrapped ? text : top, "architectures"), 0));
    if (!type && !class_name)
        return error_set(err, ERROR_INPUT, "%s: field \"model_type\" is missing, expected one of: %s", what,
                         known_families(known, sizeof known, false));
    f->model_type = config_type_name(type, class_name);
    f->class_name = class_name;
    f->arch = arch_find_hf(f->model_type, class_name);
    if (!f->arch)
        return error_set(err, ERROR_INPUT, "%s: %smodel_type \"%s\" is not supported yet (known: %s)", what, wrapped ? "text_config: " : "",
                         PRINTABLE(found, type ? type : class_name), known_families(known, sizeof known, false));
    const struct arch *const around = outer ? arch_find_hf(config_type_name(outer, NULL), NULL) : NULL;
    if (wrapped && around && around != f->arch)
        return error_set(err, ERROR_INPUT, "%s: model_type is \"%s\" (%s), but that of its text_config is \"%s\" (%s)", what,
                         PRINTABLE(found, outer), around->name, type, f->arch->name);
    return check_agree(top, what, type, f->arch, err) != 0 ? -1 : check_agree(text, what, type, f->arch, err);
}

/* ---- unread fields ---- */

/* Fields without effect on bytes and FLOP: training, tokens, generation, tooling. '*' matches any text. */
static const char *const harmless[] = {
    "*token*", "*dropout*", "*_drop", "initializer_*", "*_init_*", "*_init", "init_*", "*aux_loss*", "*_loss*", "use_cache", "cache_implementation",
    "transformers_version", "transformers.js_config", "_name_or_path", "name_or_path", "name", "aliases", "source", "architectures", "model_type",
    "auto_map", "custom_pipelines", "torch_dtype", "dtype", "params_dtype", "torchscript", "pretraining_tp", "gradient_checkpointing*", "output_*",
    "return_dict*", "id2label", "label2id", "num_labels", "problem_type", "tokenizer_class", "task_specific_params", "finetuning_task", "is_decoder",
    "is_encoder_decoder", "add_cross_attention", "tie_encoder_decoder", "chunk_size_feed_forward", "pruned_heads", "*_penalty", "num_beam*",
    "do_sample", "early_stopping", "*_length", "temperature", "top_k", "top_p", "typical_p", "remove_invalid_values", "bad_words_ids", "prefix",
    "suppress_tokens", "use_bfloat16", "tf_legacy_loss", "diversity_penalty", "exponential_decay_length_penalty", "attn_implementation",
    "_attn_implementation*", "_flash_attn_2_enabled", "use_flash_attn", "unsloth_*", "quantization", "quantization_config", "compression_config",
    "max_window_layers", "mtp_*", "vocab_size_per_layer_input", "rope_parameters", "rope_scaling", "*norm_eps*", "*epsilon*", "vocab_size", "max_position_embeddings",
    "scoring_func", "gegelu_limit", "seq_aux", "ep_size", "*_training", "vision_feature_*", "image_*", "video_*", "audio_*", "*_id", "*_ids", "*_config",
    "*_index", "projector_*", "multimodal_*", "mm_*", "rescale_prenorm_residual", "residual_in_fp32", "time_step_*", "mamba_chunk_size", "chunk_size",
    "*_kernels", "mamba_ssm_dtype", "moe_router_dtype", "use_mamba_kernels", "*position_ids*", "mrope_*", "spatial_merge_size", "use_bidirectional_attention",
    "swiglu_limit", "*jitter*", "layernorm_*_beta", "shared_moe_mode", "ssm_*multiplier*", "key_multiplier",
    "lm_head_multiplier", "mlp_multipliers", "attention_*multiplier", "embedding_multiplier", "use_mtp", "num_mtp_modules", "expand", "mamba_hidden_act",
    "mlp_expansion_factor", "mamba_norm_before_gate", "mamba_use_mlp", "attn_scale", "floor_scale", "attn_temperature_tuning", "for_llm_compressor", "*image*", "*patch*", "select_layer", "template", "ps_version", "downsample_ratio", "use_thumbnail", "pad2square", "use_backbone_lora",
    "use_llm_lora", "layer_norm_elementwise_affine", "language_model_only", "num_logits_to_keep", "calc_logits_for_entire_prompt", "summary_*",
};

/* Wildcard match: "*_id". */
static bool matches(const char *pattern, const char *name)
{
    if (*pattern != '*')
        return *pattern == *name && (!*pattern || matches(pattern + 1, name + 1));
    for (;; name++)
        if (matches(pattern + 1, name))
            return true;
        else if (!*name)
            return false;
}

static bool is_harmless(const char *key)
{
    for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
        if (matches(harmless[i], key))
            return true;
    return false;
}

static bool says_nothing(const json_t *v)
{
    return json_is_null(v) || json_is_false(v) || (json_is_number(v) && json_number_value(v) == 0) ||
           (json_is_string(v) && !*json_string_value(v)) || (json_is_array(v) && json_array_size(v) == 0) ||
           (json_is_object(v) && json_object_size(v) == 0);
}

/* True if removing the field does not change the parsed result: no reader uses it. -1: out of memory. */
static int is_unread(const json_t *top, json_t *part, const char *key, const char *what, const struct hparams *hp)
{
    json_t *const odd[] = { json_pack("{s:s}", "?", "?"), json_string("?"), json_pack("[s]", "?") };
    json_t *const had = json_incref(json_object_get(part, key));
    int unread = 1;
    for (size_t i = 0; i < ARRAY_LEN(odd) && unread > 0; i++) {
        struct hparams other;
        const char *arch;
        struct error ignored = { 0 };
        memset(&other, 0, sizeof other);
        if (!odd[i] || json_object_set(part, key, odd[i]) != 0)
            unread = -1;
        else
            unread = config_parse(top, what, &other, &arch, &ignored) == 0 && memcmp(&other, hp, sizeof other) == 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(odd); i++)
        json_decref(odd[i]);
    const int rc = json_object_set(part, key, had);
    json_decref(had);
    return rc != 0 ? -1 : unread;
}

/* Appends a name while there is room. */
static void list_name(char *buf, size_t n, const char *before, const char *key)
{
    char name[49];
    const size_t len = strlen(buf);
    model_printable(name, sizeof name, key, strlen(key));
    if (len + strlen(before) + strlen(name) + 8 < n)
        snprintf(buf + len, n - len, "%s%s", len ? ", " : before, name);
    else if (len > 3 && strcmp(buf + len - 3, "...") != 0 && len + 6 < n)
        snprintf(buf + len, n - len, ", ...");
}

/* A top-level field that repeats the language-model part. */
static bool is_repeated(const json_t *top, const json_t *part, const char *key)
{
    const json_t *const text = config_text(top);
    return part == top && text != top && json_equal(json_object_get(text, key), json_object_get(top, key));
}

static int list_unread(const json_t *top, json_t *part, const char *what, const struct hparams *hp, char *buf, size_t n)
{
    /* Iterates over a copy of the keys, as the object is modified. */
    json_t *const keys = json_array();
    const char *key;
    json_t *v;
    size_t i;
    int rc = keys ? 0 : -1;
    json_object_foreach(part, key, v) if (rc == 0 && !says_nothing(v) && !is_harmless(key) && !is_repeated(top, part, key)) rc = json_array_append_new(keys, json_string(key));
    json_array_foreach(keys, i, v)
    {
        const int unread = rc == 0 ? is_unread(top, part, json_string_value(v), what, hp) : -1;
        rc = unread < 0 ? -1 : rc;
        if (unread > 0)
            list_name(buf, n, "ignored unknown fields: ", json_string_value(v));
    }
    json_decref(keys);
    return rc;
}

/* Parts of multimodal models. */
static void list_parts(const json_t *top, char *buf, size_t n)
{
    const char *key;
    json_t *v;
    const json_t *const text = config_text(top);
    json_object_foreach((json_t *)top, key, v)
        if (v != text && json_is_object(v) && json_object_size(v) > 0 && matches("*_config", key) && strcmp(key, "quantization_config") != 0 &&
            strcmp(key, "compression_config") != 0 && strcmp(key, "thinker_config") != 0 && strcmp(key, "attn_config") != 0 && strcmp(key, "ffn_config") != 0 &&
            strcmp(key, "generation_config") != 0 && strcmp(key, "transformers.js_config") != 0)
            list_name(buf, n, "the language model alone is read, not ", key);
}

int config_notes(const json_t *top, const char *what, const struct hparams *hp, char *buf, size_t n, struct error *err)
{
    char parts[200] = "", tie[160] = "";
    buf[0] = 0;
    json_t *const copy = json_deep_copy(top);
    int rc = copy ? 0 : -1;
    if (rc == 0 && config_text(copy) != copy)
        rc = list_unread(copy, (json_t *)config_text(copy), what, hp, buf, n);
    if (rc == 0)
        rc = list_unread(copy, copy, what, hp, buf, n);
    json_decref(copy);
    if (rc != 0)
        return error_oom(err, 0, "a config.json");
    list_parts(top, parts, sizeof parts);
    const json_t *const own = json_object_get(config_text(top), "tie_word_embeddings"), *const outer = json_object_get(top, "tie_word_embeddings");
    if (json_is_boolean(own) && json_is_boolean(outer) && own != outer && config_text(top) != top)
        snprintf(tie, sizeof tie, "tie_word_embeddings is %s, as its text_config says, not %s, as outside it", json_is_true(own) ? "true" : "false",
                 json_is_true(outer) ? "true" : "false");
    const char *const more[] = { parts, tie };
    for (size_t i = 0; i < ARRAY_LEN(more); i++) {
        const size_t len = strlen(buf);
        if (*more[i] && len < n)
            snprintf(buf + len, n - len, "%s%s", len ? "; " : "", more[i]);
    }
    return 0;
}
