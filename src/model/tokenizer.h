/*
 * tokenizer: text to token ids and back, from a GGUF's tokenizer.ggml.* metadata: SentencePiece BPE ("llama": merges by score, byte
 * fallback), SentencePiece unigram ("t5": highest score sum), byte-level BPE ("gpt2": merge ranks, pre-tokenizer regexes by
 * tokenizer.ggml.pre, PCRE2 with Unicode properties).
 */
#ifndef MODEL_TOKENIZER_H
#define MODEL_TOKENIZER_H

#include "base/base.h"
#include "gguf/gguf.h"

struct tokenizer;

struct token_list {
    int32_t *id;
    size_t n, cap;
};
void token_list_free(struct token_list *l);
int token_list_push(struct token_list *l, int32_t id, struct error *err);

/* Borrows from g, which must outlive it. Unknown models and pre-tokenizers are errors that list the known ones; ids and lengths are
 * checked. */
struct tokenizer *tokenizer_new(const struct gguf *g, struct error *err);
void tokenizer_free(struct tokenizer *t);

/* Appends the ids of text. add_bos: prepend BOS if the file asks for it (add_bos_token). parse_special: control tokens in the text
 * ("</s>") become ids. Invalid UTF-8 goes through byte tokens; a byte without one becomes the unknown token, or nothing. On error
 * *out is unchanged. */
int tokenizer_encode(const struct tokenizer *t, const char *text, size_t len, bool add_bos,
                     bool parse_special, struct token_list *out, struct error *err);
/* The same, recognising control tokens except where they overlap one of n spans (ascending, disjoint): user text stays text. Merges
 * cross span boundaries. */
struct text_span {
    size_t start, end;
};
int tokenizer_encode_spans(const struct tokenizer *t, const char *text, size_t len, bool add_bos,
                           const struct text_span *plain, size_t n_plain, struct token_list *out,
                           struct error *err);
/* Appends the bytes of one token (control tokens only if special); may be part of a UTF-8 character. first: start of the text
 * (SentencePiece drops the leading space). */
int tokenizer_decode(const struct tokenizer *t, int32_t id, bool first, bool special, struct strbuf *out,
                     struct error *err);

int32_t tokenizer_bos(const struct tokenizer *t); /* -1: none */
int32_t tokenizer_eos(const struct tokenizer *t);
/* eos, eot or eom: ends generation. */
bool tokenizer_is_end(const struct tokenizer *t, int32_t id);
/* Control, user-defined and unknown tokens: SentencePiece prefixes the text after one with a space. */
bool tokenizer_is_special(const struct tokenizer *t, int32_t id);
uint32_t tokenizer_n_vocab(const struct tokenizer *t);
/* Longest prefix of complete UTF-8 (invalid bytes count as complete). */
size_t utf8_complete(const char *buf, size_t n);

#endif
