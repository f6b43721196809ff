/*
 * special: finds control and user-defined tokens in text with a trie; leftmost match first, then longest.
 */
#include "model/tokenizer/internal.h"
#include <stdlib.h>
#include <string.h>

static int add_node(struct special *sp, struct error *err)
{
    if (sp->n_nodes == sp->cap) {
        uint32_t cap = sp->cap ? sp->cap * 2 : 64;
        int32_t *id = cap < UINT32_MAX / 8 ? realloc(sp->id, cap * sizeof *id) : NULL;
        if (!id)
            return error_oom(err, (size_t)cap * sizeof *id, "special tokens");
        sp->id = id;
        sp->cap = cap;
    }
    sp->id[sp->n_nodes++] = -1;
    return 0;
}

int special_init(struct special *sp, struct error *err)
{
    memset(sp, 0, sizeof *sp);
    if (pairmap_init(&sp->edge, 64, err) != 0)
        return -1;
    return add_node(sp, err);
}

void special_free(struct special *sp)
{
    pairmap_free(&sp->edge);
    free(sp->id);
    memset(sp, 0, sizeof *sp);
}

int special_add(struct special *sp, const char *s, size_t len, int32_t id,
                struct error *err)
{
    uint32_t node = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i];
        const struct pair *p = pairmap_find(&sp->edge, node, c);
        if (p) {
            node = p->value;
            continue;
        }
        struct pair edge = { .a = node, .b = c, .value = sp->n_nodes };
        if (add_node(sp, err) != 0 || pairmap_put(&sp->edge, edge, err) != 0)
            return -1;
        node = edge.value;
    }
    if (len && sp->id[node] < 0)
        sp->id[node] = id;
    if (len)
        sp->opens[(unsigned char)s[0]] = true;
    return 0;
}

/* Longest token at s, or -1; control tokens only within the first n_control bytes. */
static int32_t match_at(const struct tokenizer *t, const char *s, size_t n,
                        size_t n_control, size_t *match_len)
{
    const struct special *sp = &t->special;
    int32_t found = -1;
    uint32_t node = 0;
    for (size_t i = 0; i < n; i++) {
        const struct pair *p = pairmap_find(&sp->edge, node, (unsigned char)s[i]);
        if (!p)
            break;
        node = p->value;
        int32_t id = sp->id[node];
        if (id >= 0 && (i < n_control || t->type[id] == TOKEN_USER_DEFINED)) {
            found = id;
            *match_len = i + 1;
        }
    }
    return found;
}

int32_t special_next(const struct tokenizer *t, const struct marked_text *text, size_t from,
                     size_t *start, size_t *match_len)
{
    size_t k = 0; /* next plain span */
    for (size_t i = from; i < text->len; i++) {
        if (!t->special.opens[(unsigned char)text->s[i]])
            continue;
        while (k < text->n_plain && text->plain[k].end <= i)
            k++;
        size_t limit = k < text->n_plain ? text->plain[k].start : text->len;
        int32_t id = match_at(t, text->s + i, text->len - i, limit > i ? limit - i : 0,
                              match_len);
        if (id >= 0) {
            *start = i;
            return id;
        }
    }
    return -1;
}
