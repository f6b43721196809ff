/* The body of a request of the HTTP API as arbitrary bytes, for every endpoint that has one. What is accepted is within its ranges; what is
 * refused has an error object that is JSON. */
#include "fuzz.h"
#include "server/api_fields.h"
#include "server/api_request.h"
#include "server/json_write.h"
#include <stdlib.h>
#include <string.h>

static const struct api_limits limits = { .n_vocab = 300, .max_model_len = 1000 };

static void check_error(const struct api_error *e, size_t size)
{
    struct strbuf b = { 0 };
    api_error_write(&b, e);
    json_t *j = json_loadb(b.s, b.len, 0, NULL);
    if ((e->status != 400 && e->status != 500) || !e->message[0] || !json_is_string(json_object_get(json_object_get(j, "error"), "message")) ||
        (e->status == 500 && size < 1 << 20))
        abort();
    json_decref(j);
    strbuf_free(&b);
}

static void check_ids(const int32_t *id, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (id[i] < 0 || (uint32_t)id[i] >= limits.n_vocab)
            abort();
}

static void check_request(const struct api_request *r)
{
    const struct sampler_options *s = &r->sampler;
    if (!(s->temperature >= 0 && s->temperature <= 100 && s->top_p > 0 && s->top_p <= 1 && s->min_p >= 0 && s->min_p <= 1 &&
          s->repeat_penalty >= 0.01 && s->repeat_penalty <= 100 && s->repeat_last_n >= -1))
        abort();
    if (r->n_top > LOOP_MAX_TOP || (r->n_top > 0 && !r->logprobs) || r->stops.n > API_MAX_STOP || r->n_bias > API_MAX_BIAS)
        abort();
    if (r->max_tokens < 0 || r->max_tokens > limits.max_model_len || r->min_tokens < 0 || (r->include_usage && !r->stream))
        abort();
    for (size_t i = 0; i < r->stops.n; i++)
        if (!r->stops.text[i][0] || strlen(r->stops.text[i]) > API_MAX_STOP_BYTES)
            abort();
    for (size_t i = 0; i < r->n_bias; i++)
        check_ids(&r->bias[i].id, 1);
    check_ids(r->id, r->n_id);
    check_ids(r->stop_id, r->n_stop_id);
    if (r->kind == API_CHAT ? r->n_message < 1 : !r->text == !r->id)
        abort();
    for (size_t i = 0; i < r->n_message; i++)
        if (strlen(r->message[i].text) != r->message[i].len)
            abort();
}

/* Any bytes as a JSON string. */
static void check_text(const char *body, size_t size)
{
    struct strbuf b = { 0 };
    json_write_text(&b, body, size);
    json_t *j = json_loadb(b.s, b.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (!json_is_string(j))
        abort();
    json_decref(j);
    strbuf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *body = size > 0 ? (const char *)data : "";
    struct api_request r;
    struct api_tokenize t;
    struct api_error e;
    for (int kind = API_COMPLETION; kind <= API_CHAT; kind++) {
        memset(&e, 0, sizeof e);
        if (api_request_parse(&r, (enum api_kind)kind, body, size, &limits, &e) != 0)
            check_error(&e, size);
        else
            check_request(&r);
        api_request_free(&r);
    }
    memset(&e, 0, sizeof e);
    if (api_tokenize_parse(&t, body, size, &limits, &e) != 0)
        check_error(&e, size);
    api_request_free(&t.prompt);
    if (api_detokenize_parse(&r, body, size, &limits, &e) != 0)
        check_error(&e, size);
    else
        check_ids(r.id, r.n_id);
    api_request_free(&r);
    check_text(body, size);
    return 0;
}
