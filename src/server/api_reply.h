/*
 * api_reply.h: answers as JSON: one object, or chunks of a stream (server-sent events), one a step. The role is part of the first chunk that has
 * text, finish_reason of the last: a client that takes the first and every later chunk as a token measures TTFT and ITL (vLLM's benchmark does).
 */
#ifndef SERVER_API_REPLY_H
#define SERVER_API_REPLY_H

#include "model/tokenizer.h"
#include "server/api_request.h"

/* What all chunks of an answer have in common. */
struct api_head {
    enum api_kind kind;
    const char *id;    /* "chatcmpl-..." */
    const char *model;
    int64_t created;   /* seconds since 1970 */
};

struct api_usage {
    uint32_t n_in, n_out; /* tokens; n_out with the end token */
    uint32_t n_hit;       /* prompt tokens found in the prefix cache */
    double start_s, first_s, last_s; /* scheduled; first and last token ready */
};

/* Log probabilities of some tokens, as JSON. */
struct api_logprobs {
    enum api_kind kind;
    size_t n, offset;      /* tokens; characters of text before the next */
    struct strbuf part[4]; /* of chats the first: content; of completions: tokens, token_logprobs, top_logprobs, text_offset */
};
/* Adds one token, its likeliest alternatives [n_top]. errors: out of memory, a token outside of the vocabulary */
int api_logprobs_add(struct api_logprobs *l, const struct tokenizer *t, const struct loop_logprob *chosen, const struct loop_logprob *top,
                     uint32_t n_top, struct error *err);
/* Forgets the tokens, not the offset. */
void api_logprobs_clear(struct api_logprobs *l);
void api_logprobs_free(struct api_logprobs *l);

/* Text of a step, or of the whole answer. */
struct api_piece {
    const char *text;
    size_t len;
    bool first;                         /* with the role */
    const char *finish;                 /* "length", "stop"; NULL: more follows */
    const char *stop_text;              /* the stop text found; NULL: none */
    const struct api_logprobs *logprobs; /* NULL: not asked */
    const struct strbuf *ids;           /* token ids with commas between them; NULL: not asked */
};
/* A chunk. timings: of the last one, else NULL. */
void api_chunk_write(struct strbuf *b, const struct api_head *h, const struct api_piece *p, const struct api_usage *timings);
/* The chunk without choices that has the usage, and the timings. */
void api_usage_chunk_write(struct strbuf *b, const struct api_head *h, const struct api_usage *u);
/* An error within a stream. */
void api_error_chunk_write(struct strbuf *b, const struct api_error *e);
void api_done_write(struct strbuf *b);
/* The whole answer. */
void api_answer_write(struct strbuf *b, const struct api_head *h, const struct api_piece *p, const struct api_usage *u);

#endif
