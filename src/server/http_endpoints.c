/* Endpoints. */
#include "config.h"
#include "server/http_internal.h"
#include "server/json_write.h"
#include "server/metrics_page.h"
#include <string.h>

static const char *const json_mime = "application/json";

/* ---- GET ------------------------------------------------------------------------------------------------ */

static void health(struct http_server *s, struct call *c)
{
    if (s->draining || s->stopping)
        api_error_set(&c->error, 503, NULL, NULL, "the server drains");
    else
        strbuf_adds(&c->reply, "{\"status\":\"ok\"}");
    c->reply_type = json_mime;
}

static void version(struct http_server *s, struct call *c)
{
    (void)s;
    strbuf_adds(&c->reply, "{\"version\":\"" PACKAGE_VERSION "\"}");
    c->reply_type = json_mime;
}

static void metrics(struct http_server *s, struct call *c)
{
    struct loop_stats stats;
    loop_stats(s->loop, &stats);
    metrics_page_write(&c->reply, &stats, s->model.name, s->model.block_size);
    c->reply_type = "text/plain; version=0.0.4; charset=utf-8";
}

static void write_model(struct http_server *s, struct strbuf *b)
{
    const struct served_model *m = &s->model;
    const char *root = m->root[0] ? m->root : m->name;
    strbuf_adds(b, "{\"id\":");
    json_write_text(b, m->name, strlen(m->name));
    strbuf_addf(b, ",\"object\":\"model\",\"created\":%lld,\"owned_by\":\"roofcast\",\"root\":", (long long)s->started);
    json_write_text(b, root, strlen(root));
    strbuf_addf(b, ",\"parent\":null,\"max_model_len\":%u,\"meta\":{\"n_vocab\":%u,\"n_ctx_train\":%u,\"n_embd\":%u,\"n_params\":%llu,\"size\":%llu}}",
                m->max_model_len, tokenizer_n_vocab(m->tokenizer), m->n_ctx_train, m->n_embd, (unsigned long long)m->n_params,
                (unsigned long long)m->size_bytes);
}

static bool names_model(const struct http_server *s, const char *name)
{
    return strcmp(name, s->model.name) == 0 || (s->model.root[0] && strcmp(name, s->model.root) == 0);
}

static int no_model(struct api_error *e, const char *name)
{
    return api_error_set(e, 404, "model_not_found", "model", "the model \"%.200s\" does not exist", name);
}

static void models(struct http_server *s, struct call *c)
{
    const char *name = c->url + strlen("/v1/models");
    c->reply_type = json_mime;
    if (*name == '/' && name[1]) {
        if (names_model(s, name + 1))
            write_model(s, &c->reply);
        else
            no_model(&c->error, name + 1);
        return;
    }
    strbuf_adds(&c->reply, "{\"object\":\"list\",\"data\":[");
    write_model(s, &c->reply);
    strbuf_adds(&c->reply, "]}");
}

/* ---- POST: jobs of the helper ------------------------------------------------------------------------------ */

static int check_model(const struct http_server *s, const char *name, struct api_error *e)
{
    return !name || !*name || names_model(s, name) ? 0 : no_model(e, name);
}

/* The body; NULL and the call's error: no memory. */
static const char *body_of(struct call *c)
{
    struct error err;
    const char *body = strbuf_text(&c->body, "the body", &err);
    if (!body)
        api_error_set(&c->error, 500, NULL, NULL, "%s", err.msg);
    return body;
}

static void generate(struct http_server *s, struct call *c, enum api_kind kind)
{
    struct api_request r;
    const char *body = body_of(c);
    if (!body || api_request_parse(&r, kind, body, c->body.len, &s->limits, &c->error) != 0)
        return;
    if (check_model(s, r.model, &c->error) != 0)
        api_request_free(&r);
    else
        c->answer = answer_new(&r, &s->model, s->loop, rng_u64(&s->rng), &c->error);
}

static void completions(struct http_server *s, struct call *c)
{
    generate(s, c, API_COMPLETION);
}

static void chat_completions(struct http_server *s, struct call *c)
{
    generate(s, c, API_CHAT);
}

static void write_token_texts(struct strbuf *b, const struct tokenizer *t, const struct token_list *l)
{
    struct strbuf text = { 0 };
    struct error err;
    for (size_t i = 0; i < l->n; i++) {
        const char *out = NULL;
        text.len = 0;
        if (tokenizer_decode(t, l->id[i], false, true, &text, &err) == 0)
            out = strbuf_text(&text, "a token", &err);
        strbuf_adds(b, i ? "," : "");
        if (out)
            json_write_text(b, out, text.len);
        else
            b->oom = true;
    }
    strbuf_free(&text);
}

static void tokenize(struct http_server *s, struct call *c)
{
    struct api_tokenize t;
    struct token_list l = { 0 };
    const char *body = body_of(c);
    c->reply_type = json_mime;
    if (!body || api_tokenize_parse(&t, body, c->body.len, &s->limits, &c->error) != 0)
        return;
    if (check_model(s, t.prompt.model, &c->error) == 0 && prompt_encode(&l, &s->model, &t.prompt, t.parse_special, &c->error) == 0) {
        strbuf_addf(&c->reply, "{\"count\":%zu,\"max_model_len\":%u,\"tokens\":[", l.n, s->model.max_model_len);
        for (size_t i = 0; i < l.n; i++)
            strbuf_addf(&c->reply, "%s%d", i ? "," : "", l.id[i]);
        strbuf_adds(&c->reply, t.with_texts ? "],\"token_strs\":[" : "],\"token_strs\":null}");
        if (t.with_texts) {
            write_token_texts(&c->reply, s->model.tokenizer, &l);
            strbuf_adds(&c->reply, "]}");
        }
    }
    token_list_free(&l);
    api_request_free(&t.prompt);
}

/* vLLM's "prompt" and llama-server's "content". */
static void detokenize(struct http_server *s, struct call *c)
{
    struct api_request r;
    struct strbuf text = { 0 };
    struct error err;
    const char *body = body_of(c), *out;
    c->reply_type = json_mime;
    if (!body || api_detokenize_parse(&r, body, c->body.len, &s->limits, &c->error) != 0)
        return;
    int rc = check_model(s, r.model, &c->error);
    for (size_t i = 0; rc == 0 && i < r.n_id; i++)
        if (tokenizer_decode(s->model.tokenizer, r.id[i], i == 0, true, &text, &err) != 0)
            rc = api_error_set(&c->error, 500, NULL, NULL, "%s", err.msg);
    if (rc == 0 && (out = strbuf_text(&text, "the text", &err)) == NULL)
        rc = api_error_set(&c->error, 500, NULL, NULL, "%s", err.msg);
    if (rc == 0) {
        strbuf_adds(&c->reply, "{\"prompt\":");
        json_write_text(&c->reply, out, text.len);
        strbuf_adds(&c->reply, ",\"content\":");
        json_write_text(&c->reply, out, text.len);
        strbuf_adds(&c->reply, "}");
    }
    strbuf_free(&text);
    api_request_free(&r);
}

static const struct endpoint endpoints[] = {
    { "/health", false, true, health },
    { "/version", false, false, version },
    { "/metrics", false, false, metrics },
    { "/v1/models", false, false, models },
    { "/v1/completions", true, false, completions },
    { "/v1/chat/completions", true, false, chat_completions },
    { "/tokenize", true, false, tokenize },
    { "/detokenize", true, false, detokenize },
};

const struct endpoint *endpoint_find(const char *url)
{
    for (size_t i = 0; i < ARRAY_LEN(endpoints); i++)
        if (strcmp(url, endpoints[i].path) == 0)
            return &endpoints[i];
    return strncmp(url, "/v1/models/", strlen("/v1/models/")) == 0 ? endpoint_find("/v1/models") : NULL;
}
