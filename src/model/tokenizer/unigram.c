/*
 * unigram: SentencePiece's unigram model: the segmentation with the highest sum of scores (log probabilities), spaces as U+2581;
 * doc/notes/tokenizers.md. Characters without a token become byte tokens, or one unknown token per run.
 */
#include "model/tokenizer/internal.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN_PENALTY 10 /* below the lowest score: SentencePiece's kUnkPenalty */

int unigram_init(struct tokenizer *t, struct error *err)
{
    float lowest = FLT_MAX;
    if (special_init(&t->pieces, err) != 0)
        return -1;
    for (uint32_t i = 0; i < t->n_vocab; i++) {
        const struct symbol *y = &t->symbols.sym[i];
        if (t->type[i] == TOKEN_NORMAL)
            lowest = fminf(lowest, t->score[i]);
        if (t->type[i] != TOKEN_NORMAL && t->type[i] != TOKEN_UNUSED)
            continue; /* user-defined tokens were split off before */
        if (y->len > SPECIAL_MAX_BYTES)
            return error_set(err, ERROR_INPUT,
                             "%s: tokenizer.ggml.tokens[%u] has %u bytes, more than %d",
                             t->file, i, y->len, SPECIAL_MAX_BYTES);
        if (special_add(&t->pieces, y->s, y->len, (int32_t)i, err) != 0)
            return -1;
    }
    t->unknown_score = (lowest < FLT_MAX ? lowest : 0) - UNKNOWN_PENALTY;
    return 0;
}

/* Best segmentation up to here: last token, its start, score sum. */
struct best {
    double sum;
    uint32_t from;
    int32_t id; /* -1: unknown character */
};

static void offer(struct best *b, double sum, size_t from, int32_t id)
{
    if (sum > b->sum)
        *b = (struct best){ sum, (uint32_t)from, id };
}

/* Viterbi: best[0..n] for s[0..n). */
static void search(const struct tokenizer *t, const char *s, size_t n, struct best *best)
{
    for (size_t i = 0; i <= n; i++)
        best[i].sum = -INFINITY;
    best[0].sum = 0;
    for (size_t at = 0, len; at < n; at += len) {
        const double sum = best[at].sum;
        bool is_token = false;
        uint32_t node = 0;
        if ((len = utf8_char_len(s + at, n - at)) == 0)
            len = 1;
        for (size_t i = at; i < n; i++) {
            const struct pair *p = pairmap_find(&t->pieces.edge, node, (unsigned char)s[i]);
            if (!p)
                break;
            node = p->value;
            const int32_t id = t->pieces.id[node];
            if (id < 0)
                continue;
            is_token = is_token || i + 1 - at == len;
            offer(&best[i + 1], sum + (double)t->score[id], at, id);
        }
        if (!is_token)
            offer(&best[at + len], sum + (double)t->unknown_score, at, -1);
    }
}

/* Byte tokens of an unknown character; without them one unknown token per run. */
static int put_unknown(const struct tokenizer *t, const char *s, size_t n, bool after_unknown,
                       struct token_list *out, struct error *err)
{
    bool bytes = true;
    for (size_t i = 0; i < n; i++)
        bytes = bytes && t->byte_token[(unsigned char)s[i]] >= 0;
    for (size_t i = 0; bytes && i < n; i++)
        if (token_list_push(out, t->byte_token[(unsigned char)s[i]], err) != 0)
            return -1;
    return bytes || after_unknown || t->unk < 0 ? 0 : token_list_push(out, t->unk, err);
}

static int emit(const struct tokenizer *t, const char *s, size_t n, struct best *best,
                struct token_list *out, struct error *err)
{
    /* Backtrack: store each token's end in place of the sum. */
    for (size_t to = n, next = n; to > 0; next = to, to = best[to].from)
        best[to].sum = (double)next;
    size_t first = 0, at = n;
    while (at > 0) {
        first = at;
        at = best[at].from;
    }
    bool unknown = false;
    for (size_t to = first;; to = (size_t)best[to].sum) {
        const struct best *b = &best[to];
        const int rc = b->id >= 0 ? token_list_push(out, b->id, err)
                                  : put_unknown(t, s + b->from, to - b->from, unknown, out, err);
        if (rc != 0)
            return -1;
        unknown = b->id < 0;
        if (to == n)
            return 0;
    }
}

/* Collapses runs of spaces and trims. Returns the new length. */
static size_t merge_spaces(char *s, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (s[i] != ' ' || (k > 0 && s[k - 1] != ' '))
            s[k++] = s[i];
    return k > 0 && s[k - 1] == ' ' ? k - 1 : k;
}

int unigram_encode(const struct tokenizer *t, const char *text, size_t len, bool open,
                   struct token_list *out, struct error *err)
{
    char *copy = NULL, *marked = NULL;
    struct best *best = NULL;
    size_t n = 0, bytes;
    int rc = -1;
    if (t->merge_spaces && len > 0) {
        copy = malloc(len);
        if (!copy)
            return error_oom(err, len, "tokenizing");
        memcpy(copy, text, len);
        text = copy;
        len = merge_spaces(copy, len);
    }
    if (len == 0) {
        free(copy);
        return 0;
    }
    marked = mark_spaces(text, len, open && t->add_space_prefix, &n, err);
    if (!marked)
        goto out;
    if (size_mul(n + 1, sizeof *best, &bytes))
        best = malloc(bytes);
    if (!best) {
        error_oom(err, n * sizeof *best, "tokenizing");
        goto out;
    }
    search(t, marked, n, best);
    rc = emit(t, marked, n, best, out, err);
out:
    free(copy);
    free(marked);
    free(best);
    return rc;
}
