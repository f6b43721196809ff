/* Messages of a chat. */
#include "server/api_fields.h"
#include <stdlib.h>
#include <string.h>

static int role_parse(enum chat_role *role, const json_t *m, size_t i, struct api_error *e)
{
    static const struct {
        const char *name;
        enum chat_role role;
    } roles[] = { { "system", CHAT_SYSTEM }, { "developer", CHAT_SYSTEM }, { "user", CHAT_USER }, { "assistant", CHAT_ASSISTANT } };
    const json_t *v = json_object_get(m, "role");
    if (!json_is_string(v))
        return api_error_set(e, 400, NULL, "messages", "messages[%zu].role: expected a string, found %s", i, json_type_name(v));
    for (size_t k = 0; k < ARRAY_LEN(roles); k++)
        if (strcmp(json_string_value(v), roles[k].name) == 0) {
            *role = roles[k].role;
            return 0;
        }
    return api_error_set(e, 400, "unsupported_value", "messages",
                         "messages[%zu].role: expected system, developer, user or assistant, found \"%.40s\"", i, json_string_value(v));
}

/* Parts of type text, joined. */
static int parts_parse(struct strbuf *b, const json_t *parts, size_t i, struct api_error *e)
{
    for (size_t k = 0; k < json_array_size(parts); k++) {
        const json_t *p = json_array_get(parts, k), *type = json_object_get(p, "type"), *text = json_object_get(p, "text");
        if (json_is_string(p)) {
            strbuf_add(b, json_string_value(p), json_string_length(p));
            continue;
        }
        if (!json_is_string(type))
            return api_error_set(e, 400, NULL, "messages", "messages[%zu].content[%zu].type: expected a string, found %s", i, k, json_type_name(type));
        if (strcmp(json_string_value(type), "text") != 0)
            return api_error_set(e, 400, "unsupported_value", "messages", "messages[%zu].content[%zu].type: expected text, found \"%.40s\"", i, k,
                                 json_string_value(type));
        if (!json_is_string(text))
            return api_error_set(e, 400, NULL, "messages", "messages[%zu].content[%zu].text: expected a string, found %s", i, k, json_type_name(text));
        strbuf_add(b, json_string_value(text), json_string_length(text));
    }
    return 0;
}

static int content_parse(struct strbuf *b, const json_t *m, size_t i, struct api_error *e)
{
    const json_t *v = json_object_get(m, "content");
    if (json_is_string(v)) {
        strbuf_add(b, json_string_value(v), json_string_length(v));
        return 0;
    }
    if (json_is_array(v))
        return parts_parse(b, v, i, e);
    return api_error_set(e, 400, NULL, "messages", "messages[%zu].content: expected a string or an array of parts, found %s", i, json_type_name(v));
}

static int message_parse(struct api_request *r, const json_t *m, size_t i, struct api_error *e)
{
    struct strbuf b = { 0 };
    if (!json_is_object(m))
        return api_error_set(e, 400, NULL, "messages", "messages[%zu]: expected an object, found %s", i, json_type_name(m));
    const json_t *calls = field(m, "tool_calls");
    if (calls && !(json_is_array(calls) && json_array_size(calls) == 0))
        return api_error_set(e, 400, "unsupported_value", "messages", "messages[%zu].tool_calls: not supported: no tools", i);
    if (role_parse(&r->message[i].role, m, i, e) != 0)
        return -1;
    strbuf_add(&b, "", 0);
    const int rc = content_parse(&b, m, i, e);
    const char *text = rc == 0 ? strbuf_text(&b, "a message", NULL) : NULL;
    if (!text) {
        strbuf_free(&b);
        return rc != 0 ? rc : field_oom(e);
    }
    r->text_of[i] = b.s;
    r->message[i].text = b.s;
    r->message[i].len = b.len;
    r->n_message = i + 1;
    return 0;
}

int messages_parse(struct api_request *r, const json_t *messages, struct api_error *e)
{
    if (!json_is_array(messages))
        return field_type(e, "messages", "an array", messages);
    const size_t n = json_array_size(messages);
    if (n < 1 || n > API_MAX_MESSAGES)
        return api_error_set(e, 400, NULL, "messages", "messages: expected 1 to %d of them, found %zu", API_MAX_MESSAGES, n);
    r->message = calloc(n, sizeof *r->message);
    r->text_of = calloc(n, sizeof *r->text_of);
    if (!r->message || !r->text_of)
        return field_oom(e);
    for (size_t i = 0; i < n; i++)
        if (message_parse(r, json_array_get(messages, i), i, e) != 0)
            return -1;
    return 0;
}
