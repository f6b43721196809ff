/*
 * bpe: byte-level byte-pair encoding. A pre-tokenizer splits the text into pieces, whose bytes map to 256 printable characters; the
 * adjacent pair with the lowest merge rank (leftmost first) is joined until none is left; doc/notes/tokenizers.md.
 */
#include "model/tokenizer/internal.h"
#include <stdlib.h>
#include <string.h>

/* A symbol of a piece; SYM_NONE: merged into the previous one. */
struct node {
    uint32_t sym, prev, next;
};

struct bpe {
    const struct tokenizer *t;
    struct token_list *out;
    struct node *node;
    size_t cap_node;
    struct heap heap; /* candidates: left_was and right_was are symbols */
};

/*
 * Byte alphabet: printable Latin-1 (33-126, 161-172, 174-255) maps to itself, the other 68 bytes to U+0100 and up.
 */
void bpe_alphabet_init(struct tokenizer *t)
{
    for (size_t i = 0; i < ARRAY_LEN(t->alphabet_byte); i++)
        t->alphabet_byte[i] = -1;
    unsigned next = 256;
    for (unsigned b = 0; b < 256; b++) {
        bool prints = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        unsigned c = prints ? b : next++;
        t->alphabet_byte[c] = (int16_t)b;
        if (c < 0x80) {
            t->alphabet_text[b][0] = (char)c;
            t->alphabet_len[b] = 1;
        } else {
            t->alphabet_text[b][0] = (char)(0xC0 | c >> 6);
            t->alphabet_text[b][1] = (char)(0x80 | (c & 0x3F));
            t->alphabet_len[b] = 2;
        }
    }
}

size_t alphabet_char(const struct tokenizer *t, const char *s, size_t n,
                     unsigned char *byte)
{
    unsigned code = (unsigned char)s[0];
    size_t len = utf8_char_len(s, n);
    if (len == 2)
        code = (code & 0x1F) << 6 | ((unsigned char)s[1] & 0x3Fu);
    bool known = (len == 1 || len == 2) && code < ARRAY_LEN(t->alphabet_byte) &&
                 t->alphabet_byte[code] >= 0;
    *byte = known ? (unsigned char)t->alphabet_byte[code] : (unsigned char)s[0];
    return known ? len : 1;
}

static int propose(struct bpe *w, uint32_t left, struct error *err)
{
    if (left == SYM_NONE || w->node[left].next == SYM_NONE)
        return 0;
    uint32_t l = w->node[left].sym, r = w->node[w->node[left].next].sym;
    const struct pair *p = pairmap_find(&w->t->merges, l, r);
    if (!p)
        return 0;
    return heap_push(&w->heap,
                     (struct candidate){ (uint64_t)p->rank << 32 | left, l, r, p->value },
                     err);
}

static int merge_all(struct bpe *w, struct error *err)
{
    while (w->heap.n) {
        struct candidate c = heap_pop(&w->heap);
        uint32_t left = (uint32_t)c.order;
        struct node *l = &w->node[left];
        if (l->sym != c.left_was || l->next == SYM_NONE ||
            w->node[l->next].sym != c.right_was)
            continue;
        struct node *r = &w->node[l->next];
        l->sym = c.merged;
        r->sym = SYM_NONE;
        l->next = r->next;
        if (r->next != SYM_NONE)
            w->node[r->next].prev = left;
        if (propose(w, l->prev, err) != 0 || propose(w, left, err) != 0)
            return -1;
    }
    return 0;
}

/* Bytes of a symbol's characters. */
static int emit_bytes(const struct bpe *w, const struct symbol *y, struct error *err)
{
    unsigned char byte;
    for (uint32_t i = 0; i < y->len;) {
        i += (uint32_t)alphabet_char(w->t, y->s + i, y->len - i, &byte);
        if (encode_byte(w->t, byte, w->out, err) != 0)
            return -1;
    }
    return 0;
}

/* Whole-piece token, for pre-tokenizers with ignore_merges. */
static int32_t whole_token(const struct tokenizer *t, const char *s, size_t len)
{
    char word[512];
    size_t n = 0;
    if (len > sizeof word / 2)
        return -1;
    for (size_t i = 0; i < len; i++) {
        unsigned char b = (unsigned char)s[i];
        memcpy(word + n, t->alphabet_text[b], t->alphabet_len[b]);
        n += t->alphabet_len[b];
    }
    uint32_t id = symtab_find(&t->symbols, word, n);
    if (id >= t->n_vocab || t->type[id] == TOKEN_CONTROL || t->type[id] == TOKEN_UNKNOWN)
        return -1;
    return (int32_t)id;
}

static int piece_nodes(struct bpe *w, const char *s, size_t len, struct error *err)
{
    if (len >= UINT32_MAX)
        return error_set(err, ERROR_INPUT, "a text of %zu bytes is too long to tokenize",
                         len);
    if (len > w->cap_node) {
        size_t cap = len < 128 ? 256 : len * 2, bytes;
        struct node *node =
            size_mul(cap, sizeof *node, &bytes) ? realloc(w->node, bytes) : NULL;
        if (!node)
            return error_oom(err, cap * sizeof *node, "tokenizing");
        w->node = node;
        w->cap_node = cap;
    }
    for (uint32_t i = 0; i < len; i++)
        w->node[i] = (struct node){ w->t->alphabet_sym[(unsigned char)s[i]],
                                    i ? i - 1 : SYM_NONE, i + 1 };
    w->node[len - 1].next = SYM_NONE;
    return 0;
}

static int encode_piece(void *ctx, const char *s, size_t len, struct error *err)
{
    struct bpe *w = ctx;
    const struct tokenizer *t = w->t;
    if (t->ignore_merges) {
        int32_t id = whole_token(t, s, len);
        if (id >= 0)
            return token_list_push(w->out, id, err);
    }
    if (piece_nodes(w, s, len, err) != 0)
        return -1;
    for (uint32_t i = 0; i + 1 < len; i++)
        if (propose(w, i, err) != 0)
            return -1;
    if (merge_all(w, err) != 0)
        return -1;
    for (uint32_t i = 0; i != SYM_NONE; i = w->node[i].next) {
        uint32_t sym = w->node[i].sym;
        int rc = sym < t->n_vocab ? token_list_push(w->out, (int32_t)sym, err)
                                  : emit_bytes(w, &t->symbols.sym[sym], err);
        if (rc != 0)
            return -1;
    }
    return 0;
}

int bpe_encode(const struct tokenizer *t, const char *text, size_t len,
               struct token_list *out, struct error *err)
{
    struct bpe w = { .t = t, .out = out };
    int rc = pre_split(t->pre, text, len, encode_piece, &w, err);
    free(w.node);
    free(w.heap.at);
    return rc;
}
