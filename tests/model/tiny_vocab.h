/*
 * tiny_vocab: GGUF metadata built in memory, and two vocabularies small enough to tokenize
 * by hand. Shared by the tokenizer's tests and its fuzz target.
 */
#ifndef TESTS_TINY_VOCAB_H
#define TESTS_TINY_VOCAB_H

#include "gguf/gguf.h"
#include <stdlib.h>
#include <string.h>

struct tiny {
    struct strbuf b;
    uint64_t n_kv;
};

static inline void tiny_u32(struct tiny *t, uint32_t v)
{
    unsigned char c[4] = { v & 255, v >> 8 & 255, v >> 16 & 255, v >> 24 };
    strbuf_add(&t->b, c, 4);
}

static inline void tiny_u64(struct tiny *t, uint64_t v)
{
    tiny_u32(t, (uint32_t)v);
    tiny_u32(t, (uint32_t)(v >> 32));
}

static inline void tiny_text(struct tiny *t, const char *s, size_t len)
{
    tiny_u64(t, len);
    strbuf_add(&t->b, s, len);
}

/* magic, version, no tensors, and room for the count of keys */
static inline void tiny_begin(struct tiny *t)
{
    *t = (struct tiny){ 0 };
    strbuf_add(&t->b, "GGUF", 4);
    tiny_u32(t, 3);
    tiny_u64(t, 0);
    tiny_u64(t, 0);
}

static inline void tiny_key(struct tiny *t, const char *key, enum gguf_type type)
{
    tiny_text(t, key, strlen(key));
    tiny_u32(t, type);
    t->n_kv++;
}

static inline void tiny_str(struct tiny *t, const char *key, const char *v)
{
    tiny_key(t, key, GGUF_STRING);
    tiny_text(t, v, strlen(v));
}

static inline void tiny_int(struct tiny *t, const char *key, uint32_t v)
{
    tiny_key(t, key, GGUF_U32);
    tiny_u32(t, v);
}

static inline void tiny_bool(struct tiny *t, const char *key, bool v)
{
    unsigned char c = v;
    tiny_key(t, key, GGUF_BOOL);
    strbuf_add(&t->b, &c, 1);
}

static inline void tiny_array(struct tiny *t, const char *key, enum gguf_type elem,
                              uint64_t n)
{
    tiny_key(t, key, GGUF_ARRAY);
    tiny_u32(t, elem);
    tiny_u64(t, n);
}

/* The count of keys goes where tiny_begin left room. */
static inline void tiny_end(struct tiny *t)
{
    for (int i = 0; i < 8; i++)
        t->b.s[16 + i] = (char)(t->n_kv >> (8 * i) & 255);
}

/* One token a row: text, score, type (1 normal, 2 unknown, 3 control, 4 user-defined, 6
 * byte). */
struct tiny_token {
    const char *text;
    float score;
    int32_t type;
};

#define TINY_TOKENS 320
struct tiny_list {
    struct tiny_token tok[TINY_TOKENS];
    char name[256][8];
    size_t n;
};

static inline void tiny_add(struct tiny_list *l, const char *text, float score,
                            int32_t type)
{
    if (l->n < TINY_TOKENS)
        l->tok[l->n++] = (struct tiny_token){ text, score, type };
}

static inline void tiny_put_tokens(struct tiny *t, const struct tiny_list *l)
{
    tiny_array(t, "tokenizer.ggml.tokens", GGUF_STRING, l->n);
    for (size_t i = 0; i < l->n; i++)
        tiny_text(t, l->tok[i].text, strlen(l->tok[i].text));
}

static inline void tiny_put_types(struct tiny *t, const struct tiny_list *l)
{
    tiny_array(t, "tokenizer.ggml.token_type", GGUF_I32, l->n);
    for (size_t i = 0; i < l->n; i++)
        tiny_u32(t, (uint32_t)l->tok[i].type);
}

static inline void tiny_put_scores(struct tiny *t, const struct tiny_list *l)
{
    tiny_array(t, "tokenizer.ggml.scores", GGUF_F32, l->n);
    for (size_t i = 0; i < l->n; i++) {
        uint32_t bits;
        memcpy(&bits, &l->tok[i].score, 4);
        tiny_u32(t, bits);
    }
}

static inline void tiny_put_merges(struct tiny *t, const char *const *m, size_t n)
{
    tiny_array(t, "tokenizer.ggml.merges", GGUF_STRING, n);
    for (size_t i = 0; i < n; i++)
        tiny_text(t, m[i], strlen(m[i]));
}

/* 0 <unk>, 1 <s>, 2 </s>, 3 + byte; from 259 on the pieces below. */
static inline void tiny_spm_list(struct tiny_list *l)
{
    /* clang-format off */
    static const struct tiny_token pieces[] = {
        { "\xE2\x96\x81", -10, 1 },   /* 259: the space */
        { "a", -11, 1 },              /* 260 */
        { "b", -12, 1 },              /* 261 */
        { "c", -13, 1 },              /* 262 */
        { "ab", -1, 1 },              /* 263 */
        { "bc", -2, 1 },              /* 264 */
        { "\xE2\x96\x81" "a", -3, 1 },   /* 265 */
        { "abc", -4, 1 },             /* 266 */
        { "\xE2\x96\x81" "ab", -0.5f, 1 }, /* 267 */
        { "<x>", 0, 4 },              /* 268 */
        { "aa", -1, 1 },              /* 269 */
        { "<x>>", 0, 4 },             /* 270 */
        { "\xE2\x96\x81\xE2\x96\x81", -20, 1 }, /* 271: two spaces */
    };
    /* clang-format on */
    l->n = 0;
    tiny_add(l, "<unk>", 0, 2);
    tiny_add(l, "<s>", 0, 3);
    tiny_add(l, "</s>", 0, 3);
    for (int i = 0; i < 256; i++) {
        snprintf(l->name[i], sizeof l->name[i], "<0x%02X>", (unsigned)i & 255);
        tiny_add(l, l->name[i], 0, 6);
    }
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++)
        tiny_add(l, pieces[i].text, pieces[i].score, pieces[i].type);
}

/* Token b stands for byte b; from 256 on the merged ones below. */
static inline void tiny_bpe_list(struct tiny_list *l)
{
    /* clang-format off */
    static const struct tiny_token pieces[] = {
        { "ab", 0, 1 },         /* 256 */
        { "\xC4\xA0" "ab", 0, 1 }, /* 257: " ab" */
        { "bc", 0, 1 },         /* 258 */
        { "abc", 0, 1 },        /* 259 */
        { "aa", 0, 1 },         /* 260 */
        { "<|end|>", 0, 3 },    /* 261 */
        { "<u>", 0, 4 },        /* 262 */
        { "xyz", 0, 1 },        /* 263 */
        { "qqq", 0, 1 },        /* 264: no merge makes it */
    };
    /* clang-format on */
    unsigned next = 256;
    l->n = 0;
    for (unsigned b = 0; b < 256; b++) {
        unsigned c =
            (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174 ? b : next++;
        char *s = l->name[b];
        if (c < 128)
            snprintf(s, sizeof l->name[b], "%c", (int)c);
        else
            snprintf(s, sizeof l->name[b], "%c%c", (int)(0xC0 | c >> 6),
                     (int)(0x80 | (c & 63)));
        tiny_add(l, s, 0, 1);
    }
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++)
        tiny_add(l, pieces[i].text, pieces[i].score, pieces[i].type);
}

/* "xy" is made on the way to "xyz" and is no token itself. */
static const char *const tiny_merges[] = { "a b", "\xC4\xA0 ab", "b c", "ab c",
                                           "a a", "x y",         "xy z" };

static inline void tiny_spm(struct tiny *t)
{
    struct tiny_list l;
    tiny_spm_list(&l);
    tiny_begin(t);
    tiny_str(t, "tokenizer.ggml.model", "llama");
    tiny_put_tokens(t, &l);
    tiny_put_scores(t, &l);
    tiny_put_types(t, &l);
    tiny_int(t, "tokenizer.ggml.bos_token_id", 1);
    tiny_int(t, "tokenizer.ggml.eos_token_id", 2);
    tiny_int(t, "tokenizer.ggml.unknown_token_id", 0);
    tiny_end(t);
}

/* A unigram vocabulary: <unk>, </s>, <pad>, pieces with log probabilities, a user-defined token; with bytes, the 256
 * byte tokens behind them. */
static inline void tiny_unigram(struct tiny *t, bool bytes, bool merge_spaces)
{
    /* clang-format off */
    static const struct tiny_token pieces[] = {
        { "<pad>", 0, 3 },            /* 0 */
        { "</s>", 0, 3 },             /* 1 */
        { "<unk>", 0, 2 },            /* 2 */
        { "\xE2\x96\x81", -2, 1 },    /* 3: the space */
        { "a", -3, 1 },               /* 4 */
        { "b", -3, 1 },               /* 5 */
        { "c", -4, 1 },               /* 6 */
        { "ab", -5, 1 },              /* 7 */
        { "bc", -4, 1 },              /* 8 */
        { "abc", -9, 1 },             /* 9 */
        { "\xE2\x96\x81" "a", -4, 1 }, /* 10 */
        { "<x>", -50, 4 },            /* 11 */
        { "\xC3\xA9", -6, 1 },        /* 12: e acute */
        { "aab", -8, 5 },             /* 13: unused, and still a piece */
        { "qr", -9, 1 },              /* 14: q and r alone are unknown */
    };
    /* clang-format on */
    struct tiny_list l = { .n = 0 };
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++)
        tiny_add(&l, pieces[i].text, pieces[i].score, pieces[i].type);
    for (int i = 0; bytes && i < 256; i++) {
        snprintf(l.name[i], sizeof l.name[i], "<0x%02X>", (unsigned)i & 255);
        tiny_add(&l, l.name[i], 0, 6);
    }
    tiny_begin(t);
    tiny_str(t, "tokenizer.ggml.model", "t5");
    tiny_put_tokens(t, &l);
    tiny_put_scores(t, &l);
    tiny_put_types(t, &l);
    tiny_bool(t, "tokenizer.ggml.remove_extra_whitespaces", merge_spaces);
    tiny_array(t, "tokenizer.ggml.precompiled_charsmap", GGUF_U8, 0);
    tiny_end(t);
}

static inline void tiny_bpe(struct tiny *t, const char *pre)
{
    struct tiny_list l;
    tiny_bpe_list(&l);
    tiny_begin(t);
    tiny_str(t, "tokenizer.ggml.model", "gpt2");
    tiny_str(t, "tokenizer.ggml.pre", pre);
    tiny_put_tokens(t, &l);
    tiny_put_types(t, &l);
    tiny_put_merges(t, tiny_merges, ARRAY_LEN(tiny_merges));
    tiny_int(t, "tokenizer.ggml.eos_token_id", 261);
    tiny_end(t);
}

#endif
