/* A synthetic SentencePiece-style vocabulary: three control tokens, byte tokens, then pieces of ASCII text. Every longer piece is a
 * shorter piece plus a syllable, both in the vocabulary with better scores, so that merging can reach it. */
#include "model/internal.h"
#include <stdlib.h>
#include <string.h>

/* token types of tokenizer.ggml.token_type */
enum { TOKEN_NORMAL = 1, TOKEN_UNKNOWN = 2, TOKEN_CONTROL = 3, TOKEN_BYTE = 6 };

static const char space[] = "\xe2\x96\x81"; /* U+2581, SentencePiece's space */
static const char consonants[] = "tnsrhldcmfpgwybvkxjqz";
static const char vowels[] = "eaoiu";
enum { N_SYLLABLES = (sizeof consonants - 1) * (sizeof vowels - 1) };

struct vocab {
    struct strbuf text; /* concatenated tokens */
    size_t *at, *len;   /* of each token in text */
    float *score;
    int32_t *type;
    uint32_t n, want;
};

static bool full(const struct vocab *v)
{
    return v->n == v->want;
}

static void add(struct vocab *v, const void *s, size_t len, int32_t type, float score)
{
    if (full(v))
        return;
    v->at[v->n] = v->text.len;
    v->len[v->n] = len;
    v->type[v->n] = type;
    v->score[v->n] = score;
    v->n++;
    strbuf_add(&v->text, s, len);
}

/* Scores decrease with the index: earlier pieces merge first. */
static void add_piece(struct vocab *v, const char *s, size_t len)
{
    add(v, s, len, TOKEN_NORMAL, -(float)(v->n - SYNTH_MIN_VOCAB));
}

static void add_control_and_bytes(struct vocab *v)
{
    add(v, "<unk>", 5, TOKEN_UNKNOWN, 0);
    add(v, "<s>", 3, TOKEN_CONTROL, 0);
    add(v, "</s>", 4, TOKEN_CONTROL, 0);
    for (unsigned b = 0; b < 256; b++) {
        char name[8];
        int n = snprintf(name, sizeof name, "<0x%02X>", b);
        add(v, name, (size_t)n, TOKEN_BYTE, 0);
    }
}

/* prefix + consonant + vowel */
static void add_syllable(struct vocab *v, const char *prefix, size_t len, int i)
{
    char buf[64];
    if (full(v) || v->text.oom || len + 2 > sizeof buf)
        return;
    memcpy(buf, prefix, len);
    buf[len] = consonants[i / (int)(sizeof vowels - 1)];
    buf[len + 1] = vowels[i % (int)(sizeof vowels - 1)];
    add_piece(v, buf, len + 2);
}

/* Characters; word-initial syllables, inner syllables, then pieces plus a syllable, shortest first. Unique: the last two letters
 * are the syllable, the rest is a unique piece. */
static void add_pieces(struct vocab *v)
{
    add_piece(v, space, sizeof space - 1);
    for (char c = '!'; c <= '~'; c++)
        add_piece(v, &c, 1);
    uint32_t begin = v->n;
    for (int i = 0; i < N_SYLLABLES; i++)
        add_syllable(v, space, sizeof space - 1, i);
    for (int i = 0; i < N_SYLLABLES; i++)
        add_syllable(v, "", 0, i);
    for (uint32_t p = begin; p < v->n && !full(v) && !v->text.oom; p++)
        for (int i = 0; i < N_SYLLABLES && !full(v); i++) {
            char prefix[64]; /* a copy: text grows */
            memcpy(prefix, v->text.s + v->at[p], v->len[p] < 62 ? v->len[p] : 62);
            add_syllable(v, prefix, v->len[p], i);
        }
}

static int write_arrays(const struct vocab *v, struct gguf_writer *w, struct error *err)
{
    const char **s = malloc(v->n * sizeof *s);
    if (!s)
        return error_oom(err, v->n * sizeof *s, "a vocabulary");
    for (uint32_t i = 0; i < v->n; i++)
        s[i] = v->text.s + v->at[i];
    gguf_writer_kv_str(w, "tokenizer.ggml.model", "llama");
    gguf_writer_kv_str(w, "tokenizer.ggml.pre", "default");
    gguf_writer_kv_arr_str(w, "tokenizer.ggml.tokens", s, v->len, v->n);
    gguf_writer_kv_arr_f32(w, "tokenizer.ggml.scores", v->score, v->n);
    gguf_writer_kv_arr_i32(w, "tokenizer.ggml.token_type", v->type, v->n);
    gguf_writer_kv_u32(w, "tokenizer.ggml.bos_token_id", 1);
    gguf_writer_kv_u32(w, "tokenizer.ggml.eos_token_id", 2);
    gguf_writer_kv_u32(w, "tokenizer.ggml.unknown_token_id", 0);
    gguf_writer_kv_bool(w, "tokenizer.ggml.add_bos_token", true);
    gguf_writer_kv_bool(w, "tokenizer.ggml.add_eos_token", false);
    gguf_writer_kv_bool(w, "tokenizer.ggml.add_space_prefix", true);
    free(s);
    return 0;
}

/* Replaces the last piece by a control token. */
static void name_last(struct vocab *v, const char *last)
{
    const uint32_t i = v->n - 1;
    v->at[i] = v->text.len;
    v->len[i] = strlen(last);
    v->type[i] = TOKEN_CONTROL;
    strbuf_add(&v->text, last, strlen(last));
}

int synth_vocab_write(struct gguf_writer *w, uint32_t n, const char *last, struct error *err)
{
    struct vocab v = { .want = n };
    int rc = -1;
    v.at = calloc(n, sizeof *v.at);
    v.len = calloc(n, sizeof *v.len);
    v.score = calloc(n, sizeof *v.score);
    v.type = calloc(n, sizeof *v.type);
    if (v.at && v.len && v.score && v.type) {
        add_control_and_bytes(&v);
        add_pieces(&v);
        if (last && v.n > 0 && !v.text.oom)
            name_last(&v, last);
    }
    if (!v.at || !v.len || !v.score || !v.type || v.text.oom)
        error_oom(err, n * 24UL, "a vocabulary");
    else
        rc = write_arrays(&v, w, err);
    strbuf_free(&v.text);
    free(v.at);
    free(v.len);
    free(v.score);
    free(v.type);
    return rc;
}
