/*
 * tokenizer/internal.h: shared by the tokenizer. Text becomes symbols (numbered strings: tokens first, then strings that occur in
 * merges only), looked up in two hash maps: by text and by pair.
 */
#ifndef MODEL_TOKENIZER_INTERNAL_H
#define MODEL_TOKENIZER_INTERNAL_H

#include "model/tokenizer.h"

#define SYM_NONE UINT32_MAX
/* U+2581, SentencePiece's space */
#define SPACE_MARK     "\xE2\x96\x81"
#define SPACE_MARK_LEN 3
/* Longest token and longest special token allowed: far above real ones, and small enough that matching at every byte stays cheap. */
#define TOKEN_MAX_BYTES   65536
#define SPECIAL_MAX_BYTES 512

/* tokenizer.ggml.token_type */
enum token_type {
    TOKEN_UNDEFINED,
    TOKEN_NORMAL,
    TOKEN_UNKNOWN,
    TOKEN_CONTROL,
    TOKEN_USER_DEFINED,
    TOKEN_UNUSED,
    TOKEN_BYTE,
};

enum tokenizer_kind { TOKENIZER_SPM, TOKENIZER_BPE, TOKENIZER_UNIGRAM };

/* ---- symbols.c -------------------------------------------------------------- */
struct symbol {
    const char *s; /* in the GGUF or symtab.arena */
    uint32_t len, hash;
};

/* Numbered strings; duplicates keep the first number. */
struct symtab {
    struct symbol *sym;
    uint32_t n, cap;
    uint32_t *slot; /* open addressing; number + 1, 0: free */
    uint32_t n_slots;
    char **arena; /* strings not in the file */
    size_t n_arena, cap_arena;
};
int symtab_init(struct symtab *t, size_t expected, struct error *err);
void symtab_free(struct symtab *t);
uint32_t symtab_find(const struct symtab *t, const char *s, size_t len); /* or SYM_NONE */
/* Adds the string under the next number, even if present (find returns the older one). */
int symtab_append(struct symtab *t, const char *s, size_t len, struct error *err);
/* Find, else append; copy: the bytes are temporary. */
int symtab_intern(struct symtab *t, const char *s, size_t len, bool copy, uint32_t *out,
                  struct error *err);

/* Map (a, b) to two numbers; the first entry wins. */
struct pair {
    uint32_t a, b, rank, value;
};
struct pairmap {
    struct pair *slot; /* a == SYM_NONE: free */
    size_t n, n_slots;
};
int pairmap_init(struct pairmap *m, size_t expected, struct error *err);
void pairmap_free(struct pairmap *m);
int pairmap_put(struct pairmap *m, struct pair p, struct error *err);
const struct pair *pairmap_find(const struct pairmap *m, uint32_t a,
                                uint32_t b); /* or NULL */

/* ---- heap.c: merge candidates ---- */
/* order: priority in the high half, left neighbour in the low half (leftmost first); the rest detects stale candidates. */
struct candidate {
    uint64_t order;
    uint32_t left_was, right_was, merged;
};
struct heap {
    struct candidate *at;
    size_t n, cap;
};
int heap_push(struct heap *h, struct candidate c, struct error *err);
struct candidate heap_pop(struct heap *h); /* n > 0 */

/* ---- special.c: special tokens in text ---- */
struct special {
    struct pairmap edge; /* (node, byte) -> node: a trie */
    int32_t *id;         /* node -> token, -1: none */
    uint32_t n_nodes, cap;
    bool opens[256]; /* some token starts with this byte */
};
int special_init(struct special *sp, struct error *err);
void special_free(struct special *sp);
int special_add(struct special *sp, const char *s, size_t len, int32_t id,
                struct error *err);

/* ---- pre.c: pre-tokenizers (BPE) -------------------------------------------------- */
struct pre;
/* name as in tokenizer.ggml.pre. */
struct pre *pre_new(const char *name, size_t len, struct error *err);
void pre_free(struct pre *p);
bool pre_ignores_merges(const struct pre *p); /* a piece that is a token is taken whole */
bool pre_adds_bos(const struct pre *p);       /* default if the file has no add_bos_token */
typedef int piece_fn(void *ctx, const char *s, size_t len, struct error *err);
/* Calls fn for every piece in order, without gaps. */
int pre_split(const struct pre *p, const char *text, size_t len, piece_fn *fn, void *ctx,
              struct error *err);

/* ---- the tokenizer ------------------------------------------------------------------ */
struct tokenizer {
    enum tokenizer_kind kind;
    const char *file; /* for messages */
    uint32_t n_vocab;
    struct symtab symbols; /* the first n_vocab are tokens */
    uint8_t *type;         /* enum token_type */
    float *score;          /* SPM, unigram */
    size_t max_token_bytes;
    struct special special;
    bool strips_right; /* Phi-3: special tokens absorb following white space */

    /* token of a single byte, or -1 */
    int32_t byte_token[256];
    /* BPE: byte alphabet (below U+0144), its UTF-8 and symbols */
    int16_t alphabet_byte[0x144];
    char alphabet_text[256][2];
    uint8_t alphabet_len[256];
    uint32_t alphabet_sym[256];
    struct pairmap merges; /* (left, right) -> rank, merged symbol */
    struct pre *pre;
    bool ignore_merges;
    /* Unigram: text tokens, and the score of an unknown character */
    struct special pieces;
    float unknown_score;
    bool merge_spaces; /* collapse runs of spaces, trim the ends */

    int32_t bos, eos, unk;
    int32_t end[40]; /* end-of-generation tokens */
    size_t n_end;
    bool add_bos, add_space_prefix;
};

/* Byte token, else unknown token, else nothing. */
int encode_byte(const struct tokenizer *t, unsigned char byte, struct token_list *out,
                struct error *err);
/* Text without special tokens. open: at the start or after a special token. */
int spm_encode(const struct tokenizer *t, const char *text, size_t len, bool open,
               struct token_list *out, struct error *err);
int unigram_encode(const struct tokenizer *t, const char *text, size_t len, bool open,
                   struct token_list *out, struct error *err);
/* Trie of pieces and unknown score. */
int unigram_init(struct tokenizer *t, struct error *err);
int bpe_encode(const struct tokenizer *t, const char *text, size_t len,
               struct token_list *out, struct error *err);
/* Spaces to U+2581, one in front if `open` (spm.c); to be freed. NULL with *err. */
char *mark_spaces(const char *text, size_t len, bool open, size_t *n, struct error *err);
/* Fill the byte alphabet (bpe.c). */
void bpe_alphabet_init(struct tokenizer *t);
/* Byte of the character at s (n >= 1) and its length; outside the alphabet the first byte and 1. */
size_t alphabet_char(const struct tokenizer *t, const char *s, size_t n,
                     unsigned char *byte);
/* Text with spans in which control tokens are not recognised. */
struct marked_text {
    const char *s;
    size_t len;
    const struct text_span *plain;
    size_t n_plain;
};
/* Leftmost-longest special token at or after `from`: id, length, *start; -1: none. */
int32_t special_next(const struct tokenizer *t, const struct marked_text *text, size_t from,
                     size_t *start, size_t *match_len);

/* Length of the UTF-8 character at s (n >= 1), 0: invalid. */
size_t utf8_char_len(const char *s, size_t n);

#endif
