/* tokenizer: splits off special tokens and passes the rest to the model's encoder; decoding. */
#include "model/tokenizer/internal.h"
#include <stdlib.h>
#include <string.h>

void token_list_free(struct token_list *l)
{
    free(l->id);
    memset(l, 0, sizeof *l);
}

int token_list_push(struct token_list *l, int32_t id, struct error *err)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 64, bytes;
        int32_t *grown =
            size_mul(cap, sizeof *grown, &bytes) ? realloc(l->id, bytes) : NULL;
        if (!grown)
            return error_oom(err, cap * sizeof *grown, "tokens");
        l->id = grown;
        l->cap = cap;
    }
    l->id[l->n++] = id;
    return 0;
}

int encode_byte(const struct tokenizer *t, unsigned char byte, struct token_list *out,
                struct error *err)
{
    int32_t id = t->byte_token[byte] >= 0 ? t->byte_token[byte] : t->unk;
    return id >= 0 ? token_list_push(out, id, err) : 0;
}

static int encode_text(const struct tokenizer *t, const char *text, size_t len, bool open,
                       struct token_list *out, struct error *err)
{
    switch (t->kind) {
    case TOKENIZER_SPM:
        return spm_encode(t, text, len, open, out, err);
    case TOKENIZER_BPE:
        return bpe_encode(t, text, len, out, err);
    case TOKENIZER_UNIGRAM:
        return unigram_encode(t, text, len, open, out, err);
    }
    return -1;
}

/* Phi-3: this special token absorbs following white space (all but three). */
static bool strips_right(const struct tokenizer *t, int32_t id)
{
    static const char *const keeps[] = { "<unk>", "<s>", "<|endoftext|>" };
    const struct symbol *y = &t->symbols.sym[id];
    if (!t->strips_right)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(keeps); i++)
        if (y->len == strlen(keeps[i]) && memcmp(y->s, keeps[i], y->len) == 0)
            return false;
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int encode(const struct tokenizer *t, const struct marked_text *text,
                  struct token_list *out, struct error *err)
{
    bool open = true;
    for (size_t at = 0; at < text->len;) {
        size_t start = text->len, n = 0;
        int32_t id = special_next(t, text, at, &start, &n);
        if (start > at && encode_text(t, text->s + at, start - at, open, out, err) != 0)
            return -1;
        if (id < 0)
            return 0;
        if (token_list_push(out, id, err) != 0)
            return -1;
        open = true;
        at = start + n;
        while (at < text->len && strips_right(t, id) && is_space(text->s[at]))
            at++;
    }
    return 0;
}

int tokenizer_encode_spans(const struct tokenizer *t, const char *text, size_t len, bool add_bos,
                           const struct text_span *plain, size_t n_plain, struct token_list *out,
                           struct error *err)
{
    const struct marked_text m = { text, len, plain, n_plain };
    size_t before = out->n;
    if (add_bos && t->add_bos && token_list_push(out, t->bos, err) != 0)
        return -1;
    if (encode(t, &m, out, err) != 0) {
        out->n = before;
        return -1;
    }
    return 0;
}

int tokenizer_encode(const struct tokenizer *t, const char *text, size_t len, bool add_bos,
                     bool parse_special, struct token_list *out, struct error *err)
{
    const struct text_span all = { 0, len };
    return tokenizer_encode_spans(t, text, len, add_bos, &all, !parse_special, out, err);
}

/* ---- decoding ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

/* Byte of a token "<0xXX>", -1: none. */
static int byte_of(const struct symbol *y)
{
    if (y->len != 6 || memcmp(y->s, "<0x", 3) != 0 || y->s[5] != '>')
        return -1;
    int hi = hex_digit(y->s[3]), lo = hex_digit(y->s[4]);
    return hi < 0 || lo < 0 ? -1 : hi * 16 + lo;
}

static void decode_spm(const struct tokenizer *t, const struct symbol *y, bool first,
                       struct strbuf *out)
{
    for (uint32_t i = 0; i < y->len;) {
        if (y->len - i >= SPACE_MARK_LEN &&
            memcmp(y->s + i, SPACE_MARK, SPACE_MARK_LEN) == 0) {
            if (i > 0 || !first || !t->add_space_prefix)
                strbuf_add(out, " ", 1);
            i += SPACE_MARK_LEN;
        } else {
            strbuf_add(out, y->s + i++, 1);
        }
    }
}

static void decode_bpe(const struct tokenizer *t, const struct symbol *y,
                       struct strbuf *out)
{
    unsigned char byte;
    for (uint32_t i = 0; i < y->len;) {
        i += (uint32_t)alphabet_char(t, y->s + i, y->len - i, &byte);
        strbuf_add(out, &byte, 1);
    }
}

int tokenizer_decode(const struct tokenizer *t, int32_t id, bool first, bool special,
                     struct strbuf *out, struct error *err)
{
    if (id < 0 || (uint32_t)id >= t->n_vocab)
        return error_set(err, ERROR_INPUT, "token %d is not in the vocabulary of %u", id,
                         t->n_vocab);
    const struct symbol *y = &t->symbols.sym[id];
    enum token_type type = t->type[id];
    int byte = type == TOKEN_BYTE ? byte_of(y) : -1;
    if (type == TOKEN_CONTROL || type == TOKEN_UNKNOWN) {
        if (special)
            strbuf_add(out, y->s, y->len);
    } else if (type == TOKEN_USER_DEFINED) {
        strbuf_add(out, y->s, y->len);
    } else if (byte >= 0) {
        unsigned char c = (unsigned char)byte;
        strbuf_add(out, &c, 1);
    } else if (t->kind != TOKENIZER_BPE) {
        decode_spm(t, y, first, out);
    } else {
        decode_bpe(t, y, out);
    }
    return out->oom ? error_oom(err, out->len, "text") : 0;
}

/* ---- queries ---- */

int32_t tokenizer_bos(const struct tokenizer *t)
{
    return t->bos;
}

int32_t tokenizer_eos(const struct tokenizer *t)
{
    return t->eos;
}

bool tokenizer_is_end(const struct tokenizer *t, int32_t id)
{
    for (size_t i = 0; i < t->n_end; i++)
        if (t->end[i] == id)
            return true;
    return false;
}

bool tokenizer_is_special(const struct tokenizer *t, int32_t id)
{
    return id >= 0 && (uint32_t)id < t->n_vocab &&
           (t->type[id] == TOKEN_CONTROL || t->type[id] == TOKEN_USER_DEFINED ||
            t->type[id] == TOKEN_UNKNOWN);
}

uint32_t tokenizer_n_vocab(const struct tokenizer *t)
{
    return t->n_vocab;
}
