/* Tokens of prompts. */
#include "server/prompt.h"
#include <string.h>

/* An error of the model's code: the client's unless memory is short. */
static int refuse(struct api_error *e, const char *param, const struct error *err)
{
    return api_error_set(e, err->kind == ERROR_SYSTEM ? 500 : 400, NULL, err->kind == ERROR_SYSTEM ? NULL : param, "%s", err->msg);
}

static int eos_text(struct strbuf *b, const struct tokenizer *t, struct error *err)
{
    strbuf_add(b, "", 0);
    return tokenizer_eos(t) >= 0 ? tokenizer_decode(t, tokenizer_eos(t), false, true, b, err) : 0;
}

static int render(struct token_list *out, const struct served_model *m, const struct api_request *r, struct error *err)
{
    struct chat_prompt p = { 0 };
    struct strbuf eos = { 0 };
    const char *end, *text;
    const bool writes_bos = m->chat_writes_bos && tokenizer_bos(m->tokenizer) >= 0;
    int rc = -1;
    if (eos_text(&eos, m->tokenizer, err) == 0 && (end = strbuf_text(&eos, "the token that ends a turn", err)) != NULL &&
        chat_render(m->chat, r->message, r->n_message, end, &p, err) == 0 && (text = strbuf_text(&p.text, "the prompt", err)) != NULL &&
        (!writes_bos || token_list_push(out, tokenizer_bos(m->tokenizer), err) == 0))
        rc = tokenizer_encode_spans(m->tokenizer, text, p.text.len, !writes_bos, p.message, p.n_message, out, err);
    chat_prompt_free(&p);
    strbuf_free(&eos);
    return rc;
}

static int copy_ids(struct token_list *out, const struct api_request *r, struct error *err)
{
    for (size_t i = 0; i < r->n_id; i++)
        if (token_list_push(out, r->id[i], err) != 0)
            return -1;
    return 0;
}

int prompt_encode(struct token_list *out, const struct served_model *m, const struct api_request *r, bool parse_special, struct api_error *e)
{
    struct error err = { 0 };
    const char *param = r->kind == API_CHAT ? "messages" : "prompt";
    int rc;
    if (r->kind == API_CHAT && !m->chat)
        return api_error_set(e, 400, "unsupported_value", "messages", "messages: the model has no chat template that is known here; use /v1/completions");
    if (r->kind == API_CHAT)
        rc = render(out, m, r, &err);
    else if (r->id)
        rc = copy_ids(out, r, &err);
    else
        rc = tokenizer_encode(m->tokenizer, r->text, r->text_len, r->add_special_tokens, parse_special, out, &err);
    return rc == 0 ? 0 : refuse(e, param, &err);
}

int model_end_tokens(struct token_list *out, const struct tokenizer *t, struct error *err)
{
    for (uint32_t id = 0; id < tokenizer_n_vocab(t); id++)
        if (tokenizer_is_end(t, (int32_t)id) && token_list_push(out, (int32_t)id, err) != 0)
            return -1;
    return 0;
}

/* A stop text that is one control token. */
static int push_control(struct token_list *out, const struct tokenizer *t, const char *text, struct error *err)
{
    struct token_list one = { 0 };
    int rc = tokenizer_encode(t, text, strlen(text), false, true, &one, err);
    if (rc == 0 && one.n == 1 && tokenizer_is_special(t, one.id[0]))
        rc = token_list_push(out, one.id[0], err);
    token_list_free(&one);
    return rc;
}

int prompt_end_tokens(struct token_list *out, const struct served_model *m, const struct api_request *r, struct api_error *e)
{
    struct error err = { 0 };
    int rc = 0;
    for (size_t i = 0; rc == 0 && !r->ignore_eos && i < m->end.n; i++)
        rc = token_list_push(out, m->end.id[i], &err);
    for (size_t i = 0; rc == 0 && i < r->n_stop_id; i++)
        rc = token_list_push(out, r->stop_id[i], &err);
    for (size_t i = 0; rc == 0 && i < r->stops.n; i++)
        rc = push_control(out, m->tokenizer, r->stops.text[i], &err);
    return rc == 0 ? 0 : refuse(e, "stop", &err);
}
