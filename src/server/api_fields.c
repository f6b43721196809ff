/* Fields of a JSON body. */
#include "server/api_fields.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *field_parse(const char *body, size_t size, struct api_error *e)
{
    json_error_t at;
    json_t *o = json_loadb(body, size, 0, &at);
    if (!o && json_error_code(&at) == json_error_out_of_memory)
        field_oom(e);
    else if (!o)
        api_error_set(e, 400, NULL, NULL, "the body is not JSON: line %d, column %d: %s", at.line, at.column, at.text);
    else if (!json_is_object(o)) {
        api_error_set(e, 400, NULL, NULL, "the body: expected an object, found %s", json_type_name(o));
        json_decref(o);
        return NULL;
    }
    return o;
}

const json_t *field(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_null(v) ? NULL : v;
}

int field_type(struct api_error *e, const char *key, const char *expected, const json_t *found)
{
    return api_error_set(e, 400, NULL, key, "%s: expected %s, found %s", key, expected, json_type_name(found));
}

int field_oom(struct api_error *e)
{
    return api_error_set(e, 500, NULL, NULL, "out of memory");
}

int field_bool(const json_t *o, const char *key, bool *out, struct api_error *e)
{
    const json_t *v = field(o, key);
    if (!v)
        return 0;
    if (!json_is_boolean(v))
        return field_type(e, key, "true or false", v);
    *out = json_is_true(v);
    return 0;
}

int field_num(const json_t *o, const char *key, double lo, double hi, double *out, struct api_error *e)
{
    const json_t *v = field(o, key);
    if (!v)
        return 0;
    if (!json_is_number(v))
        return field_type(e, key, "a number", v);
    const double d = json_number_value(v);
    if (!(d >= lo && d <= hi))
        return api_error_set(e, 400, NULL, key, "%s: expected %g to %g, found %g", key, lo, hi, d);
    *out = d;
    return 0;
}

int field_int(const json_t *o, const char *key, int64_t lo, int64_t hi, int64_t *out, struct api_error *e)
{
    const json_t *v = field(o, key);
    int64_t i;
    if (!v)
        return 0;
    if (!json_is_number(v))
        return field_type(e, key, "a whole number", v);
    if (!json_whole(v, &i))
        return api_error_set(e, 400, NULL, key, "%s: expected a whole number, found %g", key, json_number_value(v));
    if (i < lo || i > hi)
        return api_error_set(e, 400, NULL, key, "%s: expected %lld to %lld, found %lld", key, (long long)lo, (long long)hi, (long long)i);
    *out = i;
    return 0;
}

int field_text(const json_t *o, const char *key, char **out, struct api_error *e)
{
    const json_t *v = field(o, key);
    if (!v)
        return 0;
    if (!json_is_string(v))
        return field_type(e, key, "a string", v);
    char *copy = strdup(json_string_value(v));
    if (!copy)
        return field_oom(e);
    free(*out);
    *out = copy;
    return 0;
}

int field_tokens(const json_t *v, const char *key, uint32_t n_vocab, int32_t **out, size_t *n, struct api_error *e)
{
    if (!json_is_array(v))
        return field_type(e, key, "an array of token ids", v);
    const size_t count = json_array_size(v);
    int32_t *id = malloc((count ? count : 1) * sizeof *id);
    if (!id)
        return field_oom(e);
    for (size_t i = 0; i < count; i++) {
        const json_t *t = json_array_get(v, i);
        const json_int_t value = json_is_integer(t) ? json_integer_value(t) : -1;
        if (value < 0 || value >= (json_int_t)n_vocab) {
            free(id);
            return json_is_integer(t) ? api_error_set(e, 400, NULL, key, "%s[%zu]: token id %lld is not in the vocabulary of %u", key, i,
                                                      (long long)json_integer_value(t), n_vocab)
                                      : api_error_set(e, 400, NULL, key, "%s[%zu]: expected a token id, found %s", key, i, json_type_name(t));
        }
        id[i] = (int32_t)value;
    }
    free(*out);
    *out = id;
    *n = count;
    return 0;
}

/* ---- what is refused ------------------------------------------------------------------------- */

enum harmless {
    NONE,   /* null alone */
    FALSE_, /* false */
    ONE,    /* 1 */
    EMPTY,  /* an empty array, object or string */
    ZERO,   /* 0 */
    TRUE_,  /* true */
};

/* Fields that change the answer in ways that this server does not know, unless they have the harmless value. */
static const struct refusal {
    const char *key;
    enum harmless harmless;
    const char *why;
} refusals[] = {
    { "n", ONE, "one answer a request (n = 1)" },
    { "best_of", ONE, "one answer a request (best_of = 1)" },
    { "use_beam_search", FALSE_, "no beam search" },
    { "echo", FALSE_, "the prompt is not repeated (echo = false)" },
    { "suffix", EMPTY, "no insertion (suffix)" },
    { "tools", EMPTY, "no tools" },
    { "functions", EMPTY, "no functions" },
    { "function_call", NONE, "no functions" },
    { "audio", NONE, "no audio" },
    { "prediction", NONE, "no predicted outputs" },
    { "web_search_options", NONE, "no web search" },
    { "prompt_embeds", NONE, "no embeddings as prompt" },
    { "prompt_logprobs", NONE, "no log probabilities of the prompt" },
    { "guided_json", NONE, "no constrained output" },
    { "guided_regex", NONE, "no constrained output" },
    { "guided_choice", NONE, "no constrained output" },
    { "guided_grammar", NONE, "no constrained output" },
    { "structured_outputs", NONE, "no constrained output" },
    { "grammar", EMPTY, "no constrained output" },
    { "json_schema", NONE, "no constrained output" },
    { "logits_processors", EMPTY, "no processors of logits" },
    { "bad_words", EMPTY, "no bad_words" },
    { "allowed_token_ids", NONE, "no allowed_token_ids" },
    { "truncate_prompt_tokens", NONE, "prompts are not truncated" },
    { "include_stop_str_in_output", FALSE_, "a stop text is not part of the output" },
    { "length_penalty", ONE, "no beam search (length_penalty = 1)" },
    { "chat_template", NONE, "the chat template is the model file's" },
    { "documents", EMPTY, "no documents" },
    { "continue_final_message", FALSE_, "the last message is not continued" },
    { "add_generation_prompt", TRUE_, "a chat's prompt ends with the start of an answer" },
    { "lora_adapter", NONE, "no adapters" },
    { "typical_p", ONE, "no locally typical sampling" },
    { "mirostat", ZERO, "no mirostat" },
    { "dry_multiplier", ZERO, "no DRY sampling" },
    { "xtc_probability", ZERO, "no XTC sampling" },
};

static bool is_harmless(const json_t *v, enum harmless h)
{
    switch (h) {
    case NONE:
        return false;
    case FALSE_:
        return json_is_false(v);
    case TRUE_:
        return json_is_true(v);
    case ONE:
        return json_is_number(v) && json_number_value(v) == 1;
    case ZERO:
        return json_is_number(v) && json_number_value(v) == 0;
    case EMPTY:
        return (json_is_array(v) && json_array_size(v) == 0) || (json_is_object(v) && json_object_size(v) == 0) ||
               (json_is_string(v) && json_string_length(v) == 0) || json_is_false(v);
    }
    return false;
}

static int refuse_choice(const json_t *o, struct api_error *e)
{
    const json_t *v = field(o, "tool_choice");
    if (v && !(json_is_string(v) && (strcmp(json_string_value(v), "none") == 0 || strcmp(json_string_value(v), "auto") == 0)))
        return api_error_set(e, 400, "unsupported_value", "tool_choice", "tool_choice: not supported: no tools");
    v = field(o, "response_format");
    const json_t *type = json_object_get(v, "type");
    if (v && !json_is_object(v))
        return field_type(e, "response_format", "an object", v);
    if (v && !(json_is_string(type) && strcmp(json_string_value(type), "text") == 0))
        return api_error_set(e, 400, "unsupported_value", "response_format", "response_format: not supported: no constrained output (type text alone)");
    v = field(o, "modalities");
    if (v && !(json_is_array(v) && json_array_size(v) == 1 && json_is_string(json_array_get(v, 0)) &&
               strcmp(json_string_value(json_array_get(v, 0)), "text") == 0))
        return api_error_set(e, 400, "unsupported_value", "modalities", "modalities: not supported: text alone");
    return 0;
}

int refused_parse(const json_t *o, struct api_error *e)
{
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        const json_t *v = field(o, refusals[i].key);
        if (v && !is_harmless(v, refusals[i].harmless))
            return api_error_set(e, 400, "unsupported_value", refusals[i].key, "%s: not supported: %s", refusals[i].key, refusals[i].why);
    }
    return refuse_choice(o, e);
}
