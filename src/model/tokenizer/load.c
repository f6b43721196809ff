/* load: reads and checks tokenizer.ggml.* keys. */
#include "model/tokenizer/internal.h"
#include "model/internal.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KEY(name) "tokenizer.ggml." name

/* <|end_of_sentence|> with U+FF5C and U+2581 */
#define DEEPSEEK_END "<\xEF\xBD\x9C" "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>"

/* Texts of tokens that end generation in published models, whatever the file's eos. "<|end|>" ends only a part of the answer if
 * "<|return|>" exists (gpt-oss). */
static const char *const end_texts[] = {
    "<|eot_id|>",    "<|eom_id|>",      "<|eot|>",       "<|eom|>",
    "<|im_end|>",    "<|end|>",         "<|return|>",    "<|call|>",
    "<EOT>",         "_<EOT>",          "<|EOT|>",       "[EOT]",
    "<end_of_turn>", "<|end_of_turn|>", "<|endofturn|>", "[|endofturn|]",
    "<|endoftext|>", "<|end_of_text|>", "<turn|>",       "<|END_OF_TURN_TOKEN|>",
    "<end_of_utterance>",
    DEEPSEEK_END,
};

/* Array length, 0: absent; -1: no array or other element type. */
static int array_length(const struct gguf *g, const char *key, bool strings, uint64_t *n,
                        struct error *err)
{
    enum gguf_type elem;
    *n = 0;
    if (!gguf_has(g, key))
        return 0;
    if (gguf_get_arr(g, key, &elem, n, err) != 0)
        return -1;
    if ((elem == GGUF_STRING) != strings || elem == GGUF_ARRAY)
        return error_set(err, ERROR_INPUT, "%s: %s must be an array of %s", gguf_path(g),
                         key, strings ? "strings" : "numbers");
    return 0;
}

static int load_tokens(struct tokenizer *t, const struct gguf *g, struct error *err)
{
    uint64_t n;
    if (array_length(g, KEY("tokens"), true, &n, err) != 0)
        return -1;
    if (n == 0)
        return error_set(err, ERROR_INPUT, "%s: %s", t->file,
                         gguf_has(g, KEY("tokens"))
                             ? KEY("tokens") " is empty"
                             : "no vocabulary: " KEY("tokens") " is missing");
    if (n > INT32_MAX / 4)
        return error_set(err, ERROR_INPUT, "%s: %llu tokens are too many", t->file,
                         (unsigned long long)n);
    t->n_vocab = (uint32_t)n;
    if (symtab_init(&t->symbols, t->n_vocab, err) != 0)
        return -1;
    for (uint32_t i = 0; i < t->n_vocab; i++) {
        struct gguf_str s;
        if (gguf_arr_str(g, KEY("tokens"), i, &s, err) != 0)
            return -1;
        if (s.len > TOKEN_MAX_BYTES)
            return error_set(err, ERROR_INPUT,
                             "%s: " KEY("tokens") "[%u] has %zu bytes, more than %d",
                             t->file, i, s.len, TOKEN_MAX_BYTES);
        if (symtab_append(&t->symbols, s.s, s.len, err) != 0)
            return -1;
        if (s.len > t->max_token_bytes)
            t->max_token_bytes = s.len;
    }
    return 0;
}

/* token_type and scores: absent, or [n_vocab]. */
static int load_attributes(struct tokenizer *t, const struct gguf *g, struct error *err)
{
    uint64_t n_type, n_score;
    if (array_length(g, KEY("token_type"), false, &n_type, err) != 0 ||
        array_length(g, KEY("scores"), false, &n_score, err) != 0)
        return -1;
    bool has_type = gguf_has(g, KEY("token_type")), has_score = gguf_has(g, KEY("scores"));
    if ((has_type && n_type != t->n_vocab) || (has_score && n_score != t->n_vocab))
        return error_set(
            err, ERROR_INPUT, "%s: %s has %llu entries for %u tokens", t->file,
            has_type && n_type != t->n_vocab ? KEY("token_type") : KEY("scores"),
            (unsigned long long)(has_type && n_type != t->n_vocab ? n_type : n_score),
            t->n_vocab);
    if (t->kind != TOKENIZER_BPE && !has_score)
        return error_set(err, ERROR_INPUT,
                         "%s: " KEY("scores") " is missing, model \"%s\" needs it", t->file,
                         t->kind == TOKENIZER_SPM ? "llama" : "t5");
    t->type = malloc(t->n_vocab);
    t->score = malloc(t->n_vocab * sizeof *t->score);
    if (!t->type || !t->score)
        return error_oom(err, t->n_vocab * (1 + sizeof *t->score), "the vocabulary");
    for (uint32_t i = 0; i < t->n_vocab; i++) {
        int64_t type = TOKEN_NORMAL;
        double score = 0;
        if (has_type && gguf_arr_i64(g, KEY("token_type"), i, &type, err) != 0)
            return -1;
        if (type < TOKEN_UNDEFINED || type > TOKEN_BYTE)
            return error_set(err, ERROR_INPUT,
                             "%s: " KEY("token_type") "[%u] is %lld, expected 0 to 6",
                             t->file, i, (long long)type);
        if (t->kind != TOKENIZER_BPE && gguf_arr_f64(g, KEY("scores"), i, &score, err) != 0)
            return -1;
        /* Merging only orders scores, unigram adds them. */
        if (isnan(score) || (t->kind == TOKENIZER_UNIGRAM && !isfinite((float)score)))
            return error_set(err, ERROR_INPUT, "%s: " KEY("scores") "[%u] is not %s", t->file,
                             i, isnan(score) ? "a number" : "finite");
        t->type[i] = (uint8_t)type;
        t->score[i] = (float)score;
    }
    return 0;
}

/* Token of byte b: "<0xB>" (SentencePiece), else the byte as text. */
static void load_byte_tokens(struct tokenizer *t)
{
    for (unsigned b = 0; b < 256; b++) {
        char name[8], raw = (char)b;
        uint32_t id = SYM_NONE;
        snprintf(name, sizeof name, "<0x%02X>", b);
        if (t->kind == TOKENIZER_BPE)
            id = t->alphabet_sym[b];
        if (id >= t->n_vocab)
            id = symtab_find(&t->symbols, name, 6);
        if (id >= t->n_vocab && t->kind == TOKENIZER_SPM)
            id = symtab_find(&t->symbols, &raw, 1);
        t->byte_token[b] = id < t->n_vocab ? (int32_t)id : -1;
    }
}

/* "left right": symbols and their concatenation; doc/notes/tokenizers.md. */
static int load_merge(struct tokenizer *t, uint32_t rank, struct gguf_str s,
                      struct error *err)
{
    char joined[TOKEN_MAX_BYTES], found[41];
    const char *space = s.len > 2 ? memchr(s.s + 1, ' ', s.len - 2) : NULL;
    if (!space || s.len > sizeof joined)
        return error_set(err, ERROR_INPUT,
                         "%s: " KEY("merges") "[%u] \"%s\" is not two %s", t->file, rank,
                         model_printable(found, sizeof found, s.s, s.len),
                         space ? "texts of a sane length" : "texts with a space between");
    size_t l = (size_t)(space - s.s), r = s.len - l - 1;
    memcpy(joined, s.s, l);
    memcpy(joined + l, space + 1, r);
    struct pair p = { .rank = rank };
    if (symtab_intern(&t->symbols, s.s, l, false, &p.a, err) != 0 ||
        symtab_intern(&t->symbols, space + 1, r, false, &p.b, err) != 0 ||
        symtab_intern(&t->symbols, joined, l + r, true, &p.value, err) != 0)
        return -1;
    return pairmap_put(&t->merges, p, err);
}

static int load_bpe(struct tokenizer *t, const struct gguf *g, struct error *err)
{
    struct gguf_str name = { "default", 7 };
    if (gguf_opt_str(g, KEY("pre"), &name, err) != 0)
        return -1;
    t->pre = pre_new(name.s, name.len, err);
    if (!t->pre)
        return error_prefix(err, "%s", t->file);
    t->ignore_merges = pre_ignores_merges(t->pre);
    t->add_bos = pre_adds_bos(t->pre);
    bpe_alphabet_init(t);
    for (int b = 0; b < 256; b++)
        if (symtab_intern(&t->symbols, t->alphabet_text[b], t->alphabet_len[b], false,
                          &t->alphabet_sym[b], err) != 0)
            return -1;
    uint64_t n;
    if (array_length(g, KEY("merges"), true, &n, err) != 0)
        return -1;
    if (!gguf_has(g, KEY("merges")))
        return error_set(err, ERROR_INPUT,
                         "%s: " KEY("merges") " is missing, model \"gpt2\" needs it",
                         t->file);
    if (n > INT32_MAX / 4)
        return error_set(err, ERROR_INPUT, "%s: %llu merges are too many", t->file,
                         (unsigned long long)n);
    if (pairmap_init(&t->merges, n, err) != 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        struct gguf_str s;
        if (gguf_arr_str(g, KEY("merges"), i, &s, err) != 0 ||
            load_merge(t, i, s, err) != 0)
            return -1;
    }
    return 0;
}

static int load_unigram(struct tokenizer *t, const struct gguf *g, struct error *err)
{
    static const char key[] = KEY("precompiled_charsmap");
    enum gguf_type elem;
    uint64_t n = 0;
    if (gguf_has(g, key) && gguf_get_arr(g, key, &elem, &n, err) != 0)
        return -1;
    if (n > 0)
        return error_set(err, ERROR_INPUT,
                         "%s: %s, a table of character replacements, is not supported; expected "
                         "none, found %llu entries",
                         t->file, key, (unsigned long long)n);
    if (gguf_opt_bool(g, KEY("remove_extra_whitespaces"), &t->merge_spaces, err) != 0)
        return -1;
    return unigram_init(t, err);
}

/* Phi-3: special tokens absorb white space on the right; detected by architecture or, in vocabulary-only files, name. */
static int load_stripping(struct tokenizer *t, const struct gguf *g, struct error *err)
{
    struct gguf_str name = { "", 0 }, arch = { "", 0 };
    char low[64] = "";
    if (gguf_opt_str(g, "general.name", &name, err) != 0 ||
        gguf_opt_str(g, "general.architecture", &arch, err) != 0)
        return -1;
    for (size_t i = 0; i < name.len && i + 1 < sizeof low; i++)
        low[i] = (char)tolower((unsigned char)name.s[i]);
    t->strips_right =
        t->kind == TOKENIZER_SPM && (strstr(low, "phi3") || strstr(low, "phi-3") ||
                                     (arch.len == 4 && memcmp(arch.s, "phi3", 4) == 0));
    return 0;
}

static int load_specials(struct tokenizer *t, const struct gguf *g, struct error *err)
{
    if (special_init(&t->special, err) != 0)
        return -1;
    for (uint32_t i = 0; i < t->n_vocab; i++) {
        const struct symbol *y = &t->symbols.sym[i];
        if (t->type[i] != TOKEN_CONTROL && t->type[i] != TOKEN_USER_DEFINED &&
            t->type[i] != TOKEN_UNKNOWN)
            continue;
        if (y->len > SPECIAL_MAX_BYTES)
            return error_set(
                err, ERROR_INPUT,
                "%s: " KEY("tokens") "[%u], a control or user-defined token, has %u bytes, "
                                     "more than %d",
                t->file, i, y->len, SPECIAL_MAX_BYTES);
        if (special_add(&t->special, y->s, y->len, (int32_t)i, err) != 0)
            return -1;
    }
    return load_stripping(t, g, err);
}

/* Id from the file, else `fallback` if it exists. */
static int load_id(const struct tokenizer *t, const struct gguf *g, const char *key,
                   int32_t fallback, int32_t *out, struct error *err)
{
    uint64_t id = UINT64_MAX;
    *out = fallback >= 0 && (uint32_t)fallback < t->n_vocab ? fallback : -1;
    if (!gguf_has(g, key))
        return 0;
    if (gguf_opt_u64(g, key, &id, err) != 0)
        return -1;
    if (id >= t->n_vocab)
        return error_set(err, ERROR_INPUT, "%s: %s is %llu, the vocabulary has %u tokens",
                         t->file, key, (unsigned long long)id, t->n_vocab);
    *out = (int32_t)id;
    return 0;
}

static void add_end(struct tokenizer *t, int32_t id)
{
    for (size_t i = 0; i < t->n_end; i++)
        if (t->end[i] == id)
            return;
    if (id >= 0 && t->n_end < ARRAY_LEN(t->end))
        t->end[t->n_end++] = id;
}

/* Control (or user-defined) token with this text, -1: none. */
static int32_t control_token(const struct tokenizer *t, const char *text)
{
    uint32_t id = symtab_find(&t->symbols, text, strlen(text));
    return id < t->n_vocab &&
                   (t->type[id] == TOKEN_CONTROL || t->type[id] == TOKEN_USER_DEFINED)
               ? (int32_t)id
               : -1;
}

static int load_ids(struct tokenizer *t, const struct gguf *g, struct error *err)
{
    /* The model libraries' defaults. */
    static const int32_t bos[] = { [TOKENIZER_SPM] = 1, [TOKENIZER_BPE] = -1, [TOKENIZER_UNIGRAM] = -1 };
    static const int32_t eos[] = { [TOKENIZER_SPM] = 2, [TOKENIZER_BPE] = -1, [TOKENIZER_UNIGRAM] = 1 };
    static const int32_t unk[] = { [TOKENIZER_SPM] = 0, [TOKENIZER_BPE] = -1, [TOKENIZER_UNIGRAM] = 2 };
    int32_t eot, eom;
    if (load_id(t, g, KEY("bos_token_id"), bos[t->kind], &t->bos, err) != 0 ||
        load_id(t, g, KEY("eos_token_id"), eos[t->kind], &t->eos, err) != 0 ||
        load_id(t, g, KEY("unknown_token_id"), unk[t->kind], &t->unk, err) != 0 ||
        load_id(t, g, KEY("eot_token_id"), -1, &eot, err) != 0 ||
        load_id(t, g, KEY("eom_token_id"), -1, &eom, err) != 0)
        return -1;
    add_end(t, t->eos);
    add_end(t, eot);
    add_end(t, eom);
    for (size_t i = 0; i < ARRAY_LEN(end_texts); i++) {
        if (strcmp(end_texts[i], "<|end|>") == 0 && control_token(t, "<|return|>") >= 0)
            continue;
        add_end(t, control_token(t, end_texts[i]));
    }
    if (gguf_opt_bool(g, KEY("add_bos_token"), &t->add_bos, err) != 0 ||
        gguf_opt_bool(g, KEY("add_space_prefix"), &t->add_space_prefix, err) != 0)
        return -1;
    if (t->add_bos && t->bos < 0 && gguf_has(g, KEY("add_bos_token")))
        return error_set(
            err, ERROR_INPUT,
            "%s: " KEY("add_bos_token") " is true, but there is no " KEY("bos_token_id"),
            t->file);
    t->add_bos = t->add_bos && t->bos >= 0;
    return 0;
}

static int load(struct tokenizer *t, const struct gguf *g, struct error *err)
{
    struct gguf_str model;
    char found[41];
    t->file = gguf_path(g);
    if (gguf_get_str(g, KEY("model"), &model, err) != 0)
        return -1;
    if (model.len == 5 && memcmp(model.s, "llama", 5) == 0)
        t->kind = TOKENIZER_SPM;
    else if (model.len == 4 && memcmp(model.s, "gpt2", 4) == 0)
        t->kind = TOKENIZER_BPE;
    else if (model.len == 2 && memcmp(model.s, "t5", 2) == 0)
        t->kind = TOKENIZER_UNIGRAM;
    else
        return error_set(
            err, ERROR_INPUT,
            "%s: tokenizer model \"%s\" is not supported; known: llama (SentencePiece BPE), "
            "t5 (SentencePiece unigram), gpt2 (byte-level BPE)",
            t->file, model_printable(found, sizeof found, model.s, model.len));
    t->add_bos = t->kind == TOKENIZER_SPM;
    t->add_space_prefix = t->kind != TOKENIZER_BPE;
    if (load_tokens(t, g, err) != 0 || load_attributes(t, g, err) != 0)
        return -1;
    if (t->kind == TOKENIZER_BPE && load_bpe(t, g, err) != 0)
        return -1;
    if (t->kind == TOKENIZER_UNIGRAM && load_unigram(t, g, err) != 0)
        return -1;
    load_byte_tokens(t);
    if (load_specials(t, g, err) != 0)
        return -1;
    return load_ids(t, g, err);
}

struct tokenizer *tokenizer_new(const struct gguf *g, struct error *err)
{
    struct tokenizer *t = calloc(1, sizeof *t);
    if (!t) {
        error_oom(err, sizeof *t, "the tokenizer");
        return NULL;
    }
    if (load(t, g, err) != 0) {
        tokenizer_free(t);
        return NULL;
    }
    return t;
}

void tokenizer_free(struct tokenizer *t)
{
    if (!t)
        return;
    symtab_free(&t->symbols);
    pairmap_free(&t->merges);
    special_free(&t->special);
    special_free(&t->pieces);
    pre_free(t->pre);
    free(t->type);
    free(t->score);
    free(t);
}
