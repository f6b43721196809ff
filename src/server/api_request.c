/* Bodies of requests. */
#include "server/api_request.h"
#include "server/api_fields.h"
#include <stdlib.h>
#include <string.h>

/* ---- the prompt ------------------------------------------------------------------------------- */

static int text_parse(struct api_request *r, const json_t *v, struct api_error *e)
{
    r->text_len = json_string_length(v);
    r->text = malloc(r->text_len + 1);
    if (!r->text)
        return field_oom(e);
    memcpy(r->text, json_string_value(v), r->text_len + 1);
    return 0;
}

/* A text, a list of one text, token ids, or a list of one list of them. */
static int prompt_parse(struct api_request *r, const json_t *o, uint32_t n_vocab, struct api_error *e)
{
    const json_t *v = field(o, "prompt");
    const json_t *first = json_array_get(v, 0);
    if (!v)
        return api_error_set(e, 400, NULL, "prompt", "prompt: expected a string or token ids, found nothing");
    if (json_is_array(v) && (json_is_string(first) || json_is_array(first))) {
        if (json_array_size(v) > 1)
            return api_error_set(e, 400, "unsupported_value", "prompt", "prompt: not supported: %zu prompts in a request (one)", json_array_size(v));
        v = first;
    }
    if (json_is_string(v))
        return text_parse(r, v, e);
    if (!json_is_array(v))
        return field_type(e, "prompt", "a string or token ids", v);
    if (json_array_size(v) == 0)
        return api_error_set(e, 400, NULL, "prompt", "prompt: expected at least one token id, found an empty array");
    return field_tokens(v, "prompt", n_vocab, &r->id, &r->n_id, e);
}

/* ---- stop texts, biases ------------------------------------------------------------------------- */

static int stop_add(struct api_request *r, const json_t *v, struct api_error *e)
{
    const size_t n = json_string_length(v);
    struct error err;
    if (!json_is_string(v))
        return field_type(e, "stop", "a string or an array of strings", v);
    if (n < 1 || n > API_MAX_STOP_BYTES)
        return api_error_set(e, 400, NULL, "stop", "stop: expected a text of 1 to %d bytes, found %zu", API_MAX_STOP_BYTES, n);
    char *text = strdup(json_string_value(v));
    if (!text || stop_list_add(&r->stops, text, &err) != 0) {
        free(text);
        return field_oom(e);
    }
    r->stop_of[r->stops.n - 1] = text;
    return 0;
}

static int stops_parse(struct api_request *r, const json_t *o, struct api_error *e)
{
    const json_t *v = field(o, "stop");
    if (!v)
        return 0;
    const size_t n = json_is_array(v) ? json_array_size(v) : 1;
    if (n > API_MAX_STOP)
        return api_error_set(e, 400, NULL, "stop", "stop: expected at most %d texts, found %zu", API_MAX_STOP, n);
    r->stop_of = calloc(n ? n : 1, sizeof *r->stop_of);
    if (!r->stop_of)
        return field_oom(e);
    for (size_t i = 0; i < n; i++)
        if (stop_add(r, json_is_array(v) ? json_array_get(v, i) : v, e) != 0)
            return -1;
    return 0;
}

/* {"TOKEN ID": BIAS} */
static int bias_parse(struct api_request *r, const json_t *o, uint32_t n_vocab, struct api_error *e)
{
    json_t *v = json_object_get(o, "logit_bias");
    const char *key;
    json_t *b;
    if (!v || json_is_null(v))
        return 0;
    if (!json_is_object(v))
        return field_type(e, "logit_bias", "an object", v);
    if (json_object_size(v) > API_MAX_BIAS)
        return api_error_set(e, 400, NULL, "logit_bias", "logit_bias: expected at most %d tokens, found %zu", API_MAX_BIAS, json_object_size(v));
    r->bias = calloc(json_object_size(v) + 1, sizeof *r->bias);
    if (!r->bias)
        return field_oom(e);
    json_object_foreach(v, key, b)
    {
        int64_t id;
        struct error err;
        if (parse_int(key, 0, (int64_t)n_vocab - 1, "a token id", &id, &err) != 0)
            return api_error_set(e, 400, NULL, "logit_bias", "logit_bias: expected token ids of 0 to %u as keys, found \"%.40s\"", n_vocab - 1, key);
        const double d = json_number_value(b);
        if (!json_is_number(b) || !(d >= -100 && d <= 100))
            return api_error_set(e, 400, NULL, "logit_bias", "logit_bias[\"%.40s\"]: expected a number of -100 to 100", key);
        r->bias[r->n_bias++] = (struct loop_logprob){ (int32_t)id, (float)d };
    }
    return 0;
}

/* ---- sampling ---------------------------------------------------------------------------------- */

static int sampler_parse(struct api_request *r, const json_t *o, struct api_error *e)
{
    struct sampler_options *s = &r->sampler;
    int64_t top_k = 0, seed = 0, window = -1;
    *s = (struct sampler_options){ .temperature = 1, .top_p = 1, .repeat_penalty = 1 };
    if (field_num(o, "temperature", 0, 100, &s->temperature, e) != 0 || field_num(o, "top_p", 0, 1, &s->top_p, e) != 0 ||
        field_num(o, "min_p", 0, 1, &s->min_p, e) != 0 || field_num(o, "repetition_penalty", 0.01, 100, &s->repeat_penalty, e) != 0 ||
        field_num(o, "repeat_penalty", 0.01, 100, &s->repeat_penalty, e) != 0 || field_int(o, "repeat_last_n", -1, 1 << 24, &window, e) != 0 ||
        field_int(o, "top_k", -1, INT32_MAX, &top_k, e) != 0 || field_int(o, "seed", INT64_MIN, INT64_MAX, &seed, e) != 0 ||
        field_num(o, "presence_penalty", -2, 2, &r->presence_penalty, e) != 0 ||
        field_num(o, "frequency_penalty", -2, 2, &r->frequency_penalty, e) != 0)
        return -1;
    if (!(s->top_p > 0))
        return api_error_set(e, 400, NULL, "top_p", "top_p: expected more than 0, at most 1, found %g", s->top_p);
    s->top_k = top_k > 0 ? (uint32_t)top_k : 0;
    s->repeat_last_n = (int32_t)window;
    r->has_seed = field(o, "seed") != NULL;
    s->seed = (uint64_t)seed;
    return 0;
}

/* Completions: a number of likely tokens; chats: true, and a number. */
static int logprobs_parse(struct api_request *r, const json_t *o, struct api_error *e)
{
    int64_t n = 0;
    if (r->kind == API_COMPLETION) {
        const json_t *v = field(o, "logprobs");
        if (json_is_false(v))
            return 0;
        if (field_int(o, "logprobs", 0, LOOP_MAX_TOP, &n, e) != 0)
            return -1;
        r->logprobs = v != NULL;
    } else {
        if (field_bool(o, "logprobs", &r->logprobs, e) != 0 || field_int(o, "top_logprobs", 0, LOOP_MAX_TOP, &n, e) != 0)
            return -1;
        if (n > 0 && !r->logprobs)
            return api_error_set(e, 400, NULL, "top_logprobs", "top_logprobs: logprobs must be true");
    }
    r->n_top = (uint32_t)n;
    return 0;
}

/* ---- lengths, streams ----------------------------------------------------------------------------- */

static int lengths_parse(struct api_request *r, const json_t *o, uint32_t max_model_len, struct api_error *e)
{
    int64_t old = 0;
    r->max_tokens = r->kind == API_COMPLETION ? 16 : 0;
    if (field_int(o, "max_tokens", 1, INT32_MAX, &r->max_tokens, e) != 0)
        return -1;
    if (field_int(o, "max_completion_tokens", 1, INT32_MAX, &old, e) != 0)
        return -1;
    r->max_tokens = old > 0 ? old : r->max_tokens;
    if (r->max_tokens > max_model_len)
        return api_error_set(e, 400, "context_length_exceeded", old > 0 ? "max_completion_tokens" : "max_tokens",
                             "max_tokens: expected at most the model's context of %u, found %lld", max_model_len, (long long)r->max_tokens);
    if (field_int(o, "min_tokens", 0, INT32_MAX, &r->min_tokens, e) != 0)
        return -1;
    if (r->max_tokens > 0 && r->min_tokens > r->max_tokens)
        return api_error_set(e, 400, NULL, "min_tokens", "min_tokens: expected at most max_tokens (%lld), found %lld", (long long)r->max_tokens,
                             (long long)r->min_tokens);
    return 0;
}

static int stream_parse(struct api_request *r, const json_t *o, struct api_error *e)
{
    const json_t *v = field(o, "stream_options");
    if (field_bool(o, "stream", &r->stream, e) != 0)
        return -1;
    if (!v)
        return 0;
    if (!json_is_object(v))
        return field_type(e, "stream_options", "an object", v);
    if (!r->stream)
        return api_error_set(e, 400, NULL, "stream_options", "stream_options: stream must be true");
    return field_bool(v, "include_usage", &r->include_usage, e);
}

static int others_parse(struct api_request *r, const json_t *o, const struct api_limits *l, struct api_error *e)
{
    int64_t priority = 0;
    char *salt = NULL;
    const json_t *ids = field(o, "stop_token_ids");
    if (field_text(o, "model", &r->model, e) != 0 || field_bool(o, "ignore_eos", &r->ignore_eos, e) != 0 ||
        field_bool(o, "skip_special_tokens", &r->skip_special_tokens, e) != 0 || field_bool(o, "return_token_ids", &r->token_ids, e) != 0 ||
        field_bool(o, "add_special_tokens", &r->add_special_tokens, e) != 0 ||
        field_int(o, "priority", INT32_MIN, INT32_MAX, &priority, e) != 0 || field_text(o, "cache_salt", &salt, e) != 0)
        return -1;
    if (field(o, "cache_salt") && !*salt) {
        free(salt);
        return api_error_set(e, 400, NULL, "cache_salt", "cache_salt: expected a text, found an empty one");
    }
    if (salt) {
        const uint64_t h = hash_bytes(salt, strlen(salt));
        r->salt = h ? h : 1;
    }
    free(salt);
    r->priority = (int32_t)priority;
    return ids ? field_tokens(ids, "stop_token_ids", l->n_vocab, &r->stop_id, &r->n_stop_id, e) : 0;
}

/* ---- whole bodies ------------------------------------------------------------------------------- */

static int parse(struct api_request *r, const json_t *o, const struct api_limits *l, struct api_error *e)
{
    if (refused_parse(o, e) != 0)
        return -1;
    if (r->kind == API_CHAT ? messages_parse(r, json_object_get(o, "messages"), e) != 0 : prompt_parse(r, o, l->n_vocab, e) != 0)
        return -1;
    if (sampler_parse(r, o, e) != 0 || logprobs_parse(r, o, e) != 0 || lengths_parse(r, o, l->max_model_len, e) != 0 || stream_parse(r, o, e) != 0)
        return -1;
    return stops_parse(r, o, e) == 0 && bias_parse(r, o, l->n_vocab, e) == 0 ? others_parse(r, o, l, e) : -1;
}

int api_request_parse(struct api_request *r, enum api_kind kind, const char *body, size_t size, const struct api_limits *l, struct api_error *e)
{
    *r = (struct api_request){ .kind = kind, .add_special_tokens = true, .skip_special_tokens = true };
    json_t *o = field_parse(body, size, e);
    const int rc = o ? parse(r, o, l, e) : -1;
    json_decref(o);
    if (rc != 0)
        api_request_free(r);
    return rc;
}

void api_request_free(struct api_request *r)
{
    for (size_t i = 0; i < r->n_message; i++)
        free(r->text_of[i]);
    for (size_t i = 0; i < r->stops.n; i++)
        free(r->stop_of[i]);
    stop_list_free(&r->stops);
    free(r->stop_of);
    free(r->message);
    free(r->text_of);
    free(r->id);
    free(r->text);
    free(r->bias);
    free(r->stop_id);
    free(r->model);
    *r = (struct api_request){ 0 };
}

static int tokenize_parse(struct api_tokenize *t, const json_t *o, const struct api_limits *l, struct api_error *e)
{
    struct api_request *r = &t->prompt;
    const json_t *content = field(o, "content");
    t->parse_special = true;
    if (field_bool(o, "add_special_tokens", &r->add_special_tokens, e) != 0 || field_bool(o, "return_token_strs", &t->with_texts, e) != 0 ||
        field_text(o, "model", &r->model, e) != 0)
        return -1;
    if (field(o, "messages")) {
        r->kind = API_CHAT;
        return messages_parse(r, field(o, "messages"), e);
    }
    if (!content)
        return prompt_parse(r, o, l->n_vocab, e);
    r->add_special_tokens = false; /* llama-server's default */
    if (!json_is_string(content))
        return field_type(e, "content", "a string", content);
    if (field_bool(o, "add_special", &r->add_special_tokens, e) != 0 || field_bool(o, "parse_special", &t->parse_special, e) != 0)
        return -1;
    return text_parse(r, content, e);
}

int api_tokenize_parse(struct api_tokenize *t, const char *body, size_t size, const struct api_limits *l, struct api_error *e)
{
    *t = (struct api_tokenize){ .prompt = { .kind = API_COMPLETION, .add_special_tokens = true } };
    json_t *o = field_parse(body, size, e);
    const int rc = o ? tokenize_parse(t, o, l, e) : -1;
    json_decref(o);
    if (rc != 0)
        api_request_free(&t->prompt);
    return rc;
}

int api_detokenize_parse(struct api_request *r, const char *body, size_t size, const struct api_limits *l, struct api_error *e)
{
    *r = (struct api_request){ .kind = API_COMPLETION };
    json_t *o = field_parse(body, size, e);
    int rc = o ? field_text(o, "model", &r->model, e) : -1;
    if (rc == 0)
        rc = field_tokens(json_object_get(o, "tokens"), "tokens", l->n_vocab, &r->id, &r->n_id, e);
    json_decref(o);
    if (rc != 0)
        api_request_free(r);
    return rc;
}
