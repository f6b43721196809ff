/*
 * Fuzz target: the tokenizer and the chat templates. The first byte picks a vocabulary and
 * the options, the rest is the text; or, for 0xFF, the rest is a GGUF file whose vocabulary
 * and chat template are used; or, for 0xFE, a chat template. Texts must come back as they
 * were.
 */
#include "../model/tiny_vocab.h"
#include "fuzz.h"
#include "model/chat.h"
#include "model/tokenizer.h"

static void must(bool ok)
{
    if (!ok)
        abort();
}

/* Encode, decode again; the text comes back when nothing in it is more than text. */
static void there_and_back(const struct tokenizer *t, const char *text, size_t n, bool bos,
                           bool special, bool exact)
{
    struct token_list l = { 0 };
    struct strbuf b = { 0 };
    struct error err = { 0 };
    bool ok = tokenizer_encode(t, text, n, bos, special, &l, &err) == 0;
    must(ok || !exact);
    for (size_t i = 0; ok && i < l.n; i++) {
        must(l.id[i] >= 0 && (uint32_t)l.id[i] < tokenizer_n_vocab(t));
        must(tokenizer_decode(t, l.id[i], i == 0, special, &b, &err) == 0);
    }
    if (exact && !bos && !memchr(text, '<', n) && !memmem(text, n, "\xE2\x96\x81", 3))
        must(b.len == n && (n == 0 || memcmp(b.s, text, n) == 0));
    must(utf8_complete(text, n) <= n && n - utf8_complete(text, n) <= 3);
    strbuf_free(&b);
    token_list_free(&l);
}

/* Control tokens in the ends of a text and not in its middle. */
static void with_span(const struct tokenizer *t, const char *text, size_t n)
{
    const struct text_span middle = { n / 3, n - n / 3 };
    struct token_list l = { 0 };
    struct error err = { 0 };
    must(tokenizer_encode_spans(t, text, n, false, &middle, 1, &l, &err) == 0);
    for (size_t i = 0; i < l.n; i++)
        must(l.id[i] >= 0 && (uint32_t)l.id[i] < tokenizer_n_vocab(t));
    token_list_free(&l);
}

/* The family of a file's chat template, and a conversation in it. */
static void chat(const struct gguf *g)
{
    static const char hi[] = " Hi \n";
    const struct chat_message m[] = { { CHAT_SYSTEM, hi, 5 }, { CHAT_USER, hi, 5 }, { CHAT_ASSISTANT, hi, 5 },
                                      { CHAT_USER, hi, 5 } };
    struct error err = { 0 };
    struct chat_prompt p;
    bool writes_bos;
    const struct chat_template *c = chat_template_detect(g, &writes_bos, &err);
    must(c || err.msg[0]);
    if (!c)
        return;
    const bool system = chat_template_system(c) != CHAT_SYSTEM_NONE;
    must(chat_render(c, m + !system, 4 - !system, "</s>", &p, &err) == 0);
    must(p.n_message == 4u - !system);
    for (size_t i = 0; i < p.n_message; i++)
        must(p.message[i].start < p.message[i].end && p.message[i].end <= p.text.len);
    chat_prompt_free(&p);
}

/* A chat template from the input, as the only key of a file. */
static void chat_text(const char *text, size_t n)
{
    struct tiny t;
    struct error err = { 0 };
    tiny_begin(&t);
    tiny_key(&t, "tokenizer.chat_template", GGUF_STRING);
    tiny_text(&t, text, n);
    tiny_end(&t);
    struct gguf *g = gguf_parse("tiny", t.b.s, t.b.len, &err);
    if (g)
        chat(g);
    gguf_close(g);
    strbuf_free(&t.b);
}

/* A vocabulary from the input. */
static void load_any(const uint8_t *data, size_t size)
{
    static const char text[] = "ab abc</s> \xC3\xA9 <x> 123\xFF\n";
    struct error err = { 0 };
    struct gguf *g = gguf_parse("fuzz", data, size, &err);
    struct tokenizer *t = g ? tokenizer_new(g, &err) : NULL;
    must(t || err.msg[0]);
    if (t)
        there_and_back(t, text, sizeof text - 1, true, true, false);
    if (g)
        chat(g);
    tokenizer_free(t);
    gguf_close(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const pres[] = { "gpt-2",  "llama-bpe", "deepseek-llm",
                                        "gpt-4o", "default",   "deepseek-v3" };
    /* Built once: compiling the expressions takes longer than using them. */
    static struct tokenizer *known[2 + ARRAY_LEN(pres)];
    static struct tiny bytes[2 + ARRAY_LEN(pres)];
    static struct gguf *files[2 + ARRAY_LEN(pres)];
    if (size == 0)
        return 0;
    if (data[0] == 0xFF) {
        load_any(data + 1, size - 1);
        return 0;
    }
    if (data[0] == 0xFE) {
        chat_text((const char *)data + 1, size - 1);
        return 0;
    }
    size_t which = (data[0] & 15) % ARRAY_LEN(known);
    if (!known[which]) {
        struct error err = { 0 };
        if (which == 0)
            tiny_spm(&bytes[which]);
        else if (which == 1)
            tiny_unigram(&bytes[which], true, false);
        else
            tiny_bpe(&bytes[which], pres[which - 2]);
        files[which] = gguf_parse("tiny", bytes[which].b.s, bytes[which].b.len, &err);
        must(files[which] && (known[which] = tokenizer_new(files[which], &err)) != NULL);
    }
    there_and_back(known[which], (const char *)data + 1, size - 1, data[0] & 16,
                   data[0] & 32, true);
    with_span(known[which], (const char *)data + 1, size - 1);
    return 0;
}
