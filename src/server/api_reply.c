/* Answers as JSON. */
#include "server/api_reply.h"
#include "server/json_write.h"
#include <math.h>

/* ---- log probabilities ---------------------------------------------------------------------------- */

/* JSON has no infinity; vLLM writes the same. */
static void write_logprob(struct strbuf *b, float v)
{
    json_write_num(b, isfinite(v) ? v : -9999.0);
}

static int token_text(struct strbuf *text, const struct tokenizer *t, int32_t id, struct error *err)
{
    text->len = 0;
    strbuf_add(text, "", 0);
    return tokenizer_decode(t, id, false, true, text, err);
}

/* "token", "logprob", "bytes" of an object. */
static int write_token(struct strbuf *b, struct strbuf *text, const struct tokenizer *t, const struct loop_logprob *p, struct error *err)
{
    if (token_text(text, t, p->id, err) != 0)
        return -1;
    strbuf_adds(b, "{\"token\":");
    json_write_text(b, text->s, text->len);
    strbuf_adds(b, ",\"logprob\":");
    write_logprob(b, p->logprob);
    strbuf_adds(b, ",\"bytes\":[");
    for (size_t i = 0; i < text->len; i++)
        strbuf_addf(b, "%s%u", i ? "," : "", (unsigned)(unsigned char)text->s[i]);
    strbuf_adds(b, "]");
    return 0;
}

static int add_chat(struct api_logprobs *l, struct strbuf *text, const struct tokenizer *t, const struct loop_logprob *chosen,
                    const struct loop_logprob *top, uint32_t n_top, struct error *err)
{
    struct strbuf *b = &l->part[0];
    if (write_token(b, text, t, chosen, err) != 0)
        return -1;
    strbuf_adds(b, ",\"top_logprobs\":[");
    for (uint32_t i = 0; i < n_top; i++) {
        strbuf_adds(b, i ? "," : "");
        if (write_token(b, text, t, &top[i], err) != 0)
            return -1;
        strbuf_adds(b, "}");
    }
    strbuf_adds(b, "]}");
    return 0;
}

/* "TEXT": LOGPROB of one token. */
static int write_pair(struct strbuf *b, struct strbuf *text, const struct tokenizer *t, const struct loop_logprob *p, bool first, struct error *err)
{
    if (token_text(text, t, p->id, err) != 0)
        return -1;
    strbuf_adds(b, first ? "" : ",");
    json_write_text(b, text->s, text->len);
    strbuf_adds(b, ":");
    write_logprob(b, p->logprob);
    return 0;
}

static size_t characters(const struct strbuf *text)
{
    size_t n = 0;
    for (size_t i = 0; i < text->len; i++)
        n += ((unsigned char)text->s[i] & 0xC0) != 0x80;
    return n;
}

static int add_completion(struct api_logprobs *l, struct strbuf *text, const struct tokenizer *t, const struct loop_logprob *chosen,
                          const struct loop_logprob *top, uint32_t n_top, struct error *err)
{
    bool listed = false;
    for (uint32_t i = 0; i < n_top; i++)
        listed = listed || top[i].id == chosen->id;
    strbuf_adds(&l->part[2], "{");
    for (uint32_t i = 0; i < n_top; i++)
        if (write_pair(&l->part[2], text, t, &top[i], i == 0, err) != 0)
            return -1;
    if (!listed && write_pair(&l->part[2], text, t, chosen, n_top == 0, err) != 0)
        return -1;
    strbuf_adds(&l->part[2], "}");
    if (token_text(text, t, chosen->id, err) != 0)
        return -1;
    json_write_text(&l->part[0], text->s, text->len);
    write_logprob(&l->part[1], chosen->logprob);
    strbuf_addf(&l->part[3], "%zu", l->offset);
    l->offset += characters(text);
    return 0;
}

int api_logprobs_add(struct api_logprobs *l, const struct tokenizer *t, const struct loop_logprob *chosen, const struct loop_logprob *top,
                     uint32_t n_top, struct error *err)
{
    struct strbuf text = { 0 };
    for (size_t i = 0; l->n > 0 && i < (l->kind == API_CHAT ? 1 : ARRAY_LEN(l->part)); i++)
        strbuf_adds(&l->part[i], ",");
    l->n++;
    const int rc = l->kind == API_CHAT ? add_chat(l, &text, t, chosen, top, n_top, err) : add_completion(l, &text, t, chosen, top, n_top, err);
    strbuf_free(&text);
    return rc;
}

void api_logprobs_clear(struct api_logprobs *l)
{
    l->n = 0;
    for (size_t i = 0; i < ARRAY_LEN(l->part); i++)
        l->part[i].len = 0;
}

void api_logprobs_free(struct api_logprobs *l)
{
    for (size_t i = 0; i < ARRAY_LEN(l->part); i++)
        strbuf_free(&l->part[i]);
}

static void write_logprobs(struct strbuf *b, const struct api_logprobs *l)
{
    static const char *const key[] = { "tokens", "token_logprobs", "top_logprobs", "text_offset" };
    if (!l || l->n == 0) {
        strbuf_adds(b, "null");
        return;
    }
    strbuf_adds(b, "{");
    for (size_t i = 0; i < (l->kind == API_CHAT ? 1 : ARRAY_LEN(key)); i++) {
        strbuf_addf(b, "%s\"%s\":[", i ? "," : "", l->kind == API_CHAT ? "content" : key[i]);
        strbuf_add(b, l->part[i].s, l->part[i].len);
        b->oom = b->oom || l->part[i].oom;
        strbuf_adds(b, "]");
    }
    strbuf_adds(b, "}");
}

/* ---- usage and timings ------------------------------------------------------------------------------ */

static void write_usage(struct strbuf *b, const struct api_usage *u)
{
    strbuf_addf(b, ",\"usage\":{\"prompt_tokens\":%u,\"completion_tokens\":%u,\"total_tokens\":%llu,\"prompt_tokens_details\":{\"cached_tokens\":%u}}",
                u->n_in, u->n_out, (unsigned long long)u->n_in + u->n_out, u->n_hit);
}

/* n tokens in t_s: milliseconds, a token, and a second; null where there are none. */
static void write_rate(struct strbuf *b, const char *what, uint32_t n, double t_s)
{
    const double ms = t_s * 1e3;
    const bool any = n > 0 && ms > 0;
    strbuf_addf(b, "\"%s_ms\":", what);
    json_write_num(b, ms);
    strbuf_addf(b, ",\"%s_per_token_ms\":", what);
    json_write_num(b, any ? ms / n : NAN);
    strbuf_addf(b, ",\"%s_per_second\":", what);
    json_write_num(b, any ? n / t_s : NAN);
}

/* llama-server's keys. Prompt: the tokens computed, until the first token is ready. Predicted: all tokens, and the time between the first and the
 * last; per token and a second of the n - 1 in that time. */
static void write_timings(struct strbuf *b, const struct api_usage *u)
{
    const uint32_t n = u->n_in - u->n_hit;
    strbuf_addf(b, ",\"timings\":{\"cache_n\":%u,\"prompt_n\":%u,", u->n_hit, n);
    write_rate(b, "prompt", n, max2(0, u->first_s - u->start_s));
    strbuf_addf(b, ",\"predicted_n\":%u,", u->n_out);
    write_rate(b, "predicted", u->n_out > 0 ? u->n_out - 1 : 0, max2(0, u->last_s - u->first_s));
    strbuf_adds(b, "}");
}

/* ---- answers ------------------------------------------------------------------------------------------ */

static void write_head(struct strbuf *b, const struct api_head *h, bool chunk)
{
    strbuf_addf(b, "{\"id\":\"%s\",\"object\":\"%s\",\"created\":%lld,\"model\":", h->id,
                h->kind == API_COMPLETION ? "text_completion" : chunk ? "chat.completion.chunk" : "chat.completion", (long long)h->created);
    json_write_text(b, h->model, strlen(h->model));
}

/* The only choice. member: "text", "delta", "message" */
static void write_choice(struct strbuf *b, const struct api_head *h, const struct api_piece *p, const char *member)
{
    strbuf_addf(b, ",\"choices\":[{\"index\":0,\"%s\":", member);
    if (h->kind == API_CHAT)
        strbuf_adds(b, p->first ? "{\"role\":\"assistant\",\"content\":" : "{\"content\":");
    json_write_text(b, p->text, p->len);
    strbuf_adds(b, h->kind == API_CHAT ? "},\"logprobs\":" : ",\"logprobs\":");
    write_logprobs(b, p->logprobs);
    if (p->ids) {
        strbuf_adds(b, ",\"token_ids\":[");
        strbuf_add(b, p->ids->s, p->ids->len);
        b->oom = b->oom || p->ids->oom;
        strbuf_adds(b, "]");
    }
    if (!p->finish) {
        strbuf_adds(b, ",\"finish_reason\":null}]");
        return;
    }
    strbuf_addf(b, ",\"finish_reason\":\"%s\",\"stop_reason\":", p->finish);
    if (p->stop_text)
        json_write_text(b, p->stop_text, strlen(p->stop_text));
    else
        strbuf_adds(b, "null");
    strbuf_adds(b, "}]");
}

void api_chunk_write(struct strbuf *b, const struct api_head *h, const struct api_piece *p, const struct api_usage *timings)
{
    strbuf_adds(b, "data: ");
    write_head(b, h, true);
    write_choice(b, h, p, h->kind == API_CHAT ? "delta" : "text");
    if (timings)
        write_timings(b, timings);
    strbuf_adds(b, "}\n\n");
}

void api_usage_chunk_write(struct strbuf *b, const struct api_head *h, const struct api_usage *u)
{
    strbuf_adds(b, "data: ");
    write_head(b, h, true);
    strbuf_adds(b, ",\"choices\":[]");
    write_usage(b, u);
    write_timings(b, u);
    strbuf_adds(b, "}\n\n");
}

void api_error_chunk_write(struct strbuf *b, const struct api_error *e)
{
    strbuf_adds(b, "data: ");
    api_error_write(b, e);
    strbuf_adds(b, "\n\n");
}

void api_done_write(struct strbuf *b)
{
    strbuf_adds(b, "data: [DONE]\n\n");
}

void api_answer_write(struct strbuf *b, const struct api_head *h, const struct api_piece *p, const struct api_usage *u)
{
    write_head(b, h, false);
    write_choice(b, h, p, h->kind == API_CHAT ? "message" : "text");
    write_usage(b, u);
    write_timings(b, u);
    strbuf_adds(b, "}");
}
