/*
 * tokenizer: text <-> token ids from a GGUF's tokenizer.ggml.* metadata: SentencePiece-style
 * ("llama": merges by score, byte fallback), SentencePiece unigram ("t5": highest sum of
 * scores) and byte-level BPE ("gpt2": merge ranks, pre-tokenizer regexes by
 * tokenizer.ggml.pre, on PCRE2 with Unicode properties).
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

/* Keeps pointers into g, which must outlive it. Unknown models and pre-tokenizers are refused by
 * name with the list of what is known; every id and length in the metadata is checked. */
struct tokenizer *tokenizer_new(const struct gguf *g, struct error *err);
void tokenizer_free(struct tokenizer *t);

/* Append the ids of text. add_bos: prepend BOS when the file asks for it (add_bos_token).
 * parse_special: control tokens written out in the text ("</s>") become their ids. Text need not be valid
 * UTF-8 (bad bytes go through byte fallback / byte-level symbols); a byte that the vocabulary cannot express
 * becomes the unknown token, and nothing where there is none. On an error *out is as it was. */
int tokenizer_encode(const struct tokenizer *t, const char *text, size_t len, bool add_bos,
                     bool parse_special, struct token_list *out, struct error *err);
/* The same, with control tokens recognised except where they touch one of the n spans (ascending, apart, within the
 * text): what a user wrote stays text. Merges and pieces go across a span's ends as if it was not there. */
struct text_span {
    size_t start, end;
};
int tokenizer_encode_spans(const struct tokenizer *t, const char *text, size_t len, bool add_bos,
                           const struct text_span *plain, size_t n_plain, struct token_list *out,
                           struct error *err);
/* Append the bytes of one token (control tokens: nothing unless special). For streaming: bytes may
 * be a part of a UTF-8 character. first: the token opens the text (SentencePiece drops the leading space). */
int tokenizer_decode(const struct tokenizer *t, int32_t id, bool first, bool special, struct strbuf *out,
                     struct error *err);

int32_t tokenizer_bos(const struct tokenizer *t); /* -1: none */
int32_t tokenizer_eos(const struct tokenizer *t);
/* eos, eot, eom: generation stops here. */
bool tokenizer_is_end(const struct tokenizer *t, int32_t id);
/* Control, user-defined and unknown tokens: SentencePiece puts its space in front of the text after one. */
bool tokenizer_is_special(const struct tokenizer *t, int32_t id);
uint32_t tokenizer_n_vocab(const struct tokenizer *t);
/* Length of the longest prefix of buf that is complete UTF-8 (invalid bytes count as complete). */
size_t utf8_complete(const char *buf, size_t n);

#endif
