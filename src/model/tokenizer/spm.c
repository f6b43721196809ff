/*
 * spm: SentencePiece's merge model. The text, with spaces as U+2581, starts as characters; the adjacent pair whose concatenation is the
 * token with the highest score (leftmost first) is joined until none is left; doc/notes/tokenizers.md. Characters without a token
 * become byte tokens.
 */
#include "model/tokenizer/internal.h"
#include <stdlib.h>
#include <string.h>

/* A run of text; len 0: merged into the previous one. */
struct piece {
    uint32_t start, len, prev, next;
};

struct spm {
    const struct tokenizer *t;
    char *text;
    struct piece *piece;
    struct heap heap; /* candidates: left_was and right_was are lengths */
};

/* Control, unknown and byte tokens are never results of merges: a user's "</s>" is text. */
static int32_t text_token(const struct tokenizer *t, const char *s, size_t len)
{
    if (len > t->max_token_bytes)
        return -1;
    uint32_t id = symtab_find(&t->symbols, s, len);
    if (id == SYM_NONE)
        return -1;
    uint8_t type = t->type[id];
    return type == TOKEN_CONTROL || type == TOKEN_UNKNOWN || type == TOKEN_BYTE
               ? -1
               : (int32_t)id;
}

/* Descending score as an unsigned key: order-preserving float bits, inverted. */
static uint64_t order_of(float score, uint32_t left)
{
    uint32_t bits;
    score += 0.0f; /* -0 to 0 */
    memcpy(&bits, &score, sizeof bits);
    bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return (uint64_t)~bits << 32 | left;
}

static int propose(struct spm *w, uint32_t left, struct error *err)
{
    if (left == SYM_NONE || w->piece[left].next == SYM_NONE)
        return 0;
    const struct piece *l = &w->piece[left], *r = &w->piece[l->next];
    int32_t id = text_token(w->t, w->text + l->start, (size_t)l->len + r->len);
    if (id < 0)
        return 0;
    return heap_push(
        &w->heap, (struct candidate){ order_of(w->t->score[id], left), l->len, r->len, 0 },
        err);
}

static int merge_all(struct spm *w, struct error *err)
{
    while (w->heap.n) {
        struct candidate c = heap_pop(&w->heap);
        uint32_t left = (uint32_t)c.order;
        struct piece *l = &w->piece[left];
        if (l->len != c.left_was || l->next == SYM_NONE ||
            w->piece[l->next].len != c.right_was)
            continue;
        struct piece *r = &w->piece[l->next];
        l->len += r->len;
        r->len = 0;
        l->next = r->next;
        if (r->next != SYM_NONE)
            w->piece[r->next].prev = left;
        if (propose(w, l->prev, err) != 0 || propose(w, left, err) != 0)
            return -1;
    }
    return 0;
}

char *mark_spaces(const char *text, size_t len, bool open, size_t *n, struct error *err)
{
    size_t bytes = open ? SPACE_MARK_LEN : 0;
    for (size_t i = 0; i < len; i++)
        bytes += text[i] == ' ' ? SPACE_MARK_LEN : 1;
    if (bytes >= UINT32_MAX) { /* 32-bit piece indices */
        error_set(err, ERROR_INPUT, "a text of %zu bytes is too long to tokenize", len);
        return NULL;
    }
    char *marked = malloc(bytes + 1), *p = marked;
    if (!marked) {
        error_oom(err, bytes, "tokenizing");
        return NULL;
    }
    if (open) {
        memcpy(p, SPACE_MARK, SPACE_MARK_LEN);
        p += SPACE_MARK_LEN;
    }
    for (size_t i = 0; i < len; i++) {
        if (text[i] == ' ') {
            memcpy(p, SPACE_MARK, SPACE_MARK_LEN);
            p += SPACE_MARK_LEN;
        } else {
            *p++ = text[i];
        }
    }
    *n = bytes;
    return marked;
}

/* One piece per character; an invalid byte is its own piece. */
static int split_chars(struct spm *w, size_t n, uint32_t *n_pieces, struct error *err)
{
    size_t count = 0, len;
    for (size_t i = 0; i < n; i += len, count++)
        if ((len = utf8_char_len(w->text + i, n - i)) == 0)
            len = 1;
    w->piece = malloc(count * sizeof *w->piece);
    if (!w->piece)
        return error_oom(err, count * sizeof *w->piece, "tokenizing");
    uint32_t k = 0;
    for (size_t i = 0; i < n; i += len, k++) {
        if ((len = utf8_char_len(w->text + i, n - i)) == 0)
            len = 1;
        w->piece[k] =
            (struct piece){ (uint32_t)i, (uint32_t)len, k ? k - 1 : SYM_NONE, k + 1 };
    }
    w->piece[k - 1].next = SYM_NONE;
    *n_pieces = k;
    return 0;
}

static int emit(const struct spm *w, struct token_list *out, struct error *err)
{
    for (uint32_t i = 0; i != SYM_NONE; i = w->piece[i].next) {
        const char *s = w->text + w->piece[i].start;
        int32_t id = text_token(w->t, s, w->piece[i].len);
        if (id >= 0) {
            if (token_list_push(out, id, err) != 0)
                return -1;
            continue;
        }
        for (uint32_t k = 0; k < w->piece[i].len; k++)
            if (encode_byte(w->t, (unsigned char)s[k], out, err) != 0)
                return -1;
    }
    return 0;
}

int spm_encode(const struct tokenizer *t, const char *text, size_t len, bool open,
               struct token_list *out, struct error *err)
{
    struct spm w = { .t = t };
    int rc = -1;
    size_t n = 0;
    uint32_t n_pieces = 0;
    if (len == 0)
        return 0;
    w.text = mark_spaces(text, len, open && t->add_space_prefix, &n, err);
    if (!w.text || split_chars(&w, n, &n_pieces, err) != 0)
        goto fail;
    for (uint32_t i = 0; i + 1 < n_pieces; i++)
        if (propose(&w, i, err) != 0)
            goto fail;
    if (merge_all(&w, err) == 0)
        rc = emit(&w, out, err);
fail:
    free(w.text);
    free(w.piece);
    free(w.heap.at);
    return rc;
}
