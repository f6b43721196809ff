/* The tokenizer of a GGUF, with the memory that its last answer is in. */
#include "model/tokenizer.h"
#include "lib/internal.h"
#include <stdlib.h>

struct roofcast_tokenizer {
    struct tokenizer *t;
    struct token_list ids;
    struct strbuf text;
};

struct roofcast_tokenizer *roofcast_tokenizer_new(const struct roofcast_model *m, struct roofcast_error *err)
{
    struct error e = { 0 };
    struct roofcast_tokenizer *x = m->m.gguf ? calloc(1, sizeof *x) : NULL;
    if (!m->m.gguf) {
        lib_error(err, ROOFCAST_ERROR_USAGE, "a model without a file has no tokenizer: expected a GGUF");
        return NULL;
    }
    if (!x) {
        lib_error(err, ROOFCAST_ERROR_SYSTEM, "out of memory: a tokenizer");
        return NULL;
    }
    x->t = tokenizer_new(m->m.gguf, &e);
    if (x->t)
        return x;
    lib_fail(err, &e);
    free(x);
    return NULL;
}

void roofcast_tokenizer_free(struct roofcast_tokenizer *x)
{
    if (!x)
        return;
    tokenizer_free(x->t);
    token_list_free(&x->ids);
    strbuf_free(&x->text);
    free(x);
}

const int32_t *roofcast_tokenizer_encode(struct roofcast_tokenizer *x, const char *text, size_t len, int special, size_t *n,
                                         struct roofcast_error *err)
{
    static const int32_t none;
    struct error e = { 0 };
    x->ids.n = 0;
    if (tokenizer_encode(x->t, text, len, true, special != 0, &x->ids, &e) != 0) {
        lib_fail(err, &e);
        return NULL;
    }
    *n = x->ids.n;
    return x->ids.n > 0 ? x->ids.id : &none;
}

const char *roofcast_tokenizer_decode(struct roofcast_tokenizer *x, int32_t id, size_t *len, struct roofcast_error *err)
{
    struct error e = { 0 };
    x->text.len = 0;
    x->text.oom = false;
    if (x->text.s)
        x->text.s[0] = 0;
    const char *s = tokenizer_decode(x->t, id, false, false, &x->text, &e) == 0 ? strbuf_text(&x->text, "a token", &e) : NULL;
    if (!s)
        lib_fail(err, &e);
    else if (len)
        *len = x->text.len;
    return s;
}

int roofcast_tokenizer_is_end(const struct roofcast_tokenizer *x, int32_t id)
{
    return tokenizer_is_end(x->t, id);
}
