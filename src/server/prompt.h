/* prompt.h: the model behind the API, and the tokens of its prompts. Read-only after the start: any thread. */
#ifndef SERVER_PROMPT_H
#define SERVER_PROMPT_H

#include "server/api_request.h"

/* What is served. */
struct served_model {
    const char *name;                 /* id of /v1/models */
    const char *root;                 /* path of the file; "": name */
    const struct tokenizer *tokenizer;
    const struct chat_template *chat; /* NULL: chats are refused */
    bool chat_writes_bos;             /* chat_template_detect() */
    uint32_t max_model_len;           /* positions of a sequence; no more than the KV pool holds */
    uint32_t block_size;              /* positions of a KV block */
    uint32_t n_ctx_train, n_embd;
    uint64_t n_params, size_bytes;    /* weights */
    struct token_list end;            /* end tokens: model_end_tokens() */
};

/* Every end token of the vocabulary. */
int model_end_tokens(struct token_list *out, const struct tokenizer *t, struct error *err);

/* Tokens of r's prompt; none: an empty text without BOS. parse_special: control tokens in a text of the prompt become ids; those in messages never do. errors: *e, 400 */
int prompt_encode(struct token_list *out, const struct served_model *m, const struct api_request *r, bool parse_special, struct api_error *e);

/*
 * End tokens of a request: the model's unless ignore_eos, stop_token_ids, and stop texts that are one control token, which no text has.
 * errors: *e, 500
 */
int prompt_end_tokens(struct token_list *out, const struct served_model *m, const struct api_request *r, struct api_error *e);

#endif
