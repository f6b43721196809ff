/*
 * roofcast/engine.h: the forward pass with real weights on this CPU, and the tokenizer of a GGUF.
 *
 * Threads  an engine has a team of threads of its own, pinned, of which the calling thread is the first: it is created and used by
 *          one thread at a time. Several engines may share a model. A tokenizer is used by one thread at a time.
 */
#ifndef ROOFCAST_ENGINE_H
#define ROOFCAST_ENGINE_H

#include <roofcast/cost.h>

#ifdef __cplusplus
extern "C" {
#endif

struct roofcast_engine_options {
    size_t size;         /* of the struct, set by init */
    uint32_t n_ctx;      /* positions of the KV cache: 512 */
    uint32_t n_ubatch;   /* most tokens of a pass: 512 */
    uint32_t n_threads;  /* 0 (default): one a core, or what the control group's CPU quota keeps running */
    const char *isa;     /* kernels: "avx2", "avx512vnni", ...; NULL (default): the best of this CPU */
    const char *cpus;    /* CPUs to pin to, "0-3,8"; NULL (default): one hardware thread of each core first */
    const char *type_k, *type_v; /* of the KV cache; NULL (default): "F16" */
    int no_repack;       /* 1: weights are read where the file has them: loads at once and takes no second copy, but is slower */
};
ROOFCAST_API void roofcast_engine_options_init(struct roofcast_engine_options *o, size_t size);

struct roofcast_engine;

/*
 * m        a GGUF of an executable architecture; it must outlive the engine
 * o        NULL: defaults
 * errors   ROOFCAST_ERROR_USAGE   a model without weights, impossible options
 *          ROOFCAST_ERROR_INPUT   an architecture or tensor type that is priced only
 *          ROOFCAST_ERROR_UNAVAILABLE  this CPU lacks instructions of isa
 *          ROOFCAST_ERROR_SYSTEM  not enough memory
 * cost     reads all weights and packs a copy of them for the kernels, at memory speed
 */
ROOFCAST_API struct roofcast_engine *roofcast_engine_new(const struct roofcast_model *m, const struct roofcast_engine_options *o,
                                                         struct roofcast_error *err);
ROOFCAST_API void roofcast_engine_free(struct roofcast_engine *e);

struct roofcast_engine_info {
    uint32_t n_threads, n_ctx, n_ubatch, n_vocab;
    const char *isa;      /* of the kernels that run */
    uint64_t packed_bytes; /* of the copy of the weights; 0: none */
    uint64_t kv_bytes;    /* of the KV cache */
};
ROOFCAST_API const struct roofcast_engine_info *roofcast_engine_info(const struct roofcast_engine *e);

/*
 * Run tokens behind those already in the cache.
 *
 * tokens   [n] ids below n_vocab
 * n        1 to n_ctx - n_past; split into passes of n_ubatch
 * n_past   tokens of the cache that are kept, at most those it has: 0 starts anew. A model with windows cannot go back further than n_ubatch
 * logits   NULL, or set to [n_vocab] of the last token, valid until the next call; may hold NaN where weights are damaged
 * errors   ROOFCAST_ERROR_USAGE  positions out of range
 *          ROOFCAST_ERROR_INPUT  an id out of range
 */
ROOFCAST_API int roofcast_engine_eval(struct roofcast_engine *e, const int32_t *tokens, uint32_t n, uint32_t n_past,
                                      const float **logits, struct roofcast_error *err);

/* Index of the largest of n >= 1 logits, the first of equal ones: greedy decoding. */
ROOFCAST_API int32_t roofcast_argmax(const float *logits, uint32_t n);

/* What one op did since the last reset. Owned by the caller; this layout does not change. */
struct roofcast_op_sample {
    uint64_t n_pass;
    double seconds;            /* of all passes, barrier to barrier */
    struct roofcast_cost cost; /* counted in the kernels' loops; link_bytes 0 */
};

/* on: every op of a pass is timed, which costs two clock reads an op and leaves ops unfused; resets the samples. */
ROOFCAST_API void roofcast_engine_profile(struct roofcast_engine *e, int on);

/*
 * op       index of roofcast_model_op()
 * errors   ROOFCAST_ERROR_USAGE  op past the end
 */
ROOFCAST_API int roofcast_engine_sample(const struct roofcast_engine *e, size_t op, struct roofcast_op_sample *out,
                                        struct roofcast_error *err);

/* ---- tokenizer ------------------------------------------------------------------------------------------------------------- */

struct roofcast_tokenizer;

/*
 * m        a GGUF with a vocabulary; it must outlive the tokenizer
 * errors   ROOFCAST_ERROR_USAGE  a model without weights
 *          ROOFCAST_ERROR_INPUT  an unknown tokenizer or pre-tokenizer: the message has its name and the list
 */
ROOFCAST_API struct roofcast_tokenizer *roofcast_tokenizer_new(const struct roofcast_model *m, struct roofcast_error *err);
ROOFCAST_API void roofcast_tokenizer_free(struct roofcast_tokenizer *t);

/*
 * text     [len] bytes, any: what is not UTF-8 becomes byte tokens
 * special  control tokens written out in the text ("</s>") become their ids. The beginning-of-sequence token goes first where the file
 *          asks for it
 * n        set to the number of ids
 * return   [*n] ids, valid until the next call with t
 */
ROOFCAST_API const int32_t *roofcast_tokenizer_encode(struct roofcast_tokenizer *t, const char *text, size_t len, int special,
                                                      size_t *n, struct roofcast_error *err);

/*
 * len      NULL, or set to the number of bytes
 * return   bytes of one token, NUL-terminated, valid until the next call with t; they may be a part of a UTF-8 character. Control tokens
 *          are "". NULL: an id out of range (ROOFCAST_ERROR_INPUT), out of memory
 */
ROOFCAST_API const char *roofcast_tokenizer_decode(struct roofcast_tokenizer *t, int32_t id, size_t *len, struct roofcast_error *err);

/* 1: generation ends with this token. */
ROOFCAST_API int roofcast_tokenizer_is_end(const struct roofcast_tokenizer *t, int32_t id);

#ifdef __cplusplus
}
#endif
#endif
