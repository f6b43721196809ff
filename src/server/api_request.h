/*
 * api_request.h: bodies of POST /v1/completions and /v1/chat/completions as a struct. Fields, defaults and ranges: OpenAI's API reference and
 * vLLM's additions (vllm/entrypoints/openai); doc/formats.md "HTTP API" lists them. A pure function of its arguments.
 */
#ifndef SERVER_API_REQUEST_H
#define SERVER_API_REQUEST_H

#include "engine/engine.h"
#include "model/chat.h"
#include "model/text_stream.h"
#include "server/api_error.h"
#include "server/loop.h"

enum api_kind { API_COMPLETION, API_CHAT };
enum { API_MAX_STOP = 64, API_MAX_STOP_BYTES = 4096, API_MAX_BIAS = 1024, API_MAX_MESSAGES = 4096 };

/* What a request may ask of the model that is served. */
struct api_limits {
    uint32_t n_vocab;
    uint32_t max_model_len;
};

struct api_request {
    enum api_kind kind;
    char *model;                   /* NULL: not given */
    /* The prompt: of a chat the messages, else token ids, else a text. */
    struct chat_message *message;  /* [n_message]; texts belong to text_of */
    size_t n_message;
    char **text_of;                /* [n_message] */
    int32_t *id;                   /* [n_id] */
    size_t n_id;
    char *text;                    /* [text_len], NUL-terminated */
    size_t text_len;
    bool add_special_tokens;       /* BOS, where the model asks for it; of a chat its template decides */
    int64_t max_tokens;            /* 0: as many as the context has room for */
    int64_t min_tokens;
    struct sampler_options sampler;
    bool has_seed;                 /* else the caller chooses sampler.seed */
    double presence_penalty, frequency_penalty;
    struct loop_logprob *bias;     /* [n_bias] */
    size_t n_bias;
    struct stop_list stops;        /* texts of stop_of */
    char **stop_of;                /* [stops.n] */
    int32_t *stop_id;              /* [n_stop_id] stop_token_ids */
    size_t n_stop_id;
    bool ignore_eos, skip_special_tokens;
    bool logprobs;
    uint32_t n_top;                /* <= LOOP_MAX_TOP */
    bool stream, include_usage;
    bool token_ids;                /* return_token_ids */
    int32_t priority;
    uint64_t salt;                 /* of cache_salt; 0: none */
};

/*
 * Parses a body of `size` bytes. On success 0: api_request_free(). Else -1 and *e; r holds nothing.
 *
 * errors   400 names the field: not JSON, a type or range, a request for what this server does not do (tools, images, n > 1, ...)
 */
int api_request_parse(struct api_request *r, enum api_kind kind, const char *body, size_t size, const struct api_limits *l, struct api_error *e);
void api_request_free(struct api_request *r);

/* The body of POST /tokenize: "prompt" (vLLM), "content" (llama-server) or "messages"; of /detokenize: "tokens" as r->id. */
struct api_tokenize {
    struct api_request prompt;
    bool parse_special, with_texts; /* control tokens in the text; texts of tokens wanted */
};
int api_tokenize_parse(struct api_tokenize *t, const char *body, size_t size, const struct api_limits *l, struct api_error *e);
int api_detokenize_parse(struct api_request *r, const char *body, size_t size, const struct api_limits *l, struct api_error *e);

#endif
