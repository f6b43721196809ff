/*
 * generate: the loop behind `run`: tokens from the engine and the sampler, their text as it becomes certain, and why
 * it ended.
 */
#ifndef BENCH_GENERATE_H
#define BENCH_GENERATE_H

#include "bench/setup.h"
#include "model/tokenizer.h"
#include "report/output.h"

enum finish {
    FINISH_LENGTH, /* -n tokens */
    FINISH_STOP,   /* a --stop text */
    FINISH_EOS,    /* a token that ends the sequence or the turn */
};
const char *finish_name(enum finish f); /* "length", "stop", "eos" */

/* Texts at which generation ends. */
struct stop_list {
    const char **text;
    size_t n, cap;
};
int stop_list_add(struct stop_list *l, const char *text, struct error *err);
void stop_list_free(struct stop_list *l);

/*
 * Text that comes in pieces and goes out when it is certain: no unfinished UTF-8 character, nothing that may be the
 * beginning of a stop text. All zero but for `stops` and `sink` at first.
 */
struct text_stream {
    const struct stop_list *stops;
    FILE *sink;              /* NULL: only kept */
    struct strbuf out, held; /* what went out; what is held back */
    const char *stopped_by;  /* the stop text found, which is in neither */
    int failed;              /* errno of the first write to sink that failed; nothing more is written */
};
void text_stream_add(struct text_stream *t, const char *s, size_t n);
/* The end: what was held back goes out, but for the bytes of a character that was never finished. */
void text_stream_end(struct text_stream *t);
void text_stream_free(struct text_stream *t);

struct generate_options {
    int64_t n_gen;
    bool no_kv_cache, ignore_eos;
    struct sampler_options sampler;
    struct token_list stop_ids; /* stop texts that are control tokens, which have no text in the output */
};

/* One generation: what it made and how long each step took. */
struct generation {
    struct token_list ids; /* the prompt; generated tokens are appended */
    size_t n_prompt;
    double ttft_s, total_s, *itl_s; /* n_generated - 1 of them */
    struct text_stream text;
    enum finish finish;
};
/* g->ids holds the prompt, g->text its stops and sink. */
int generate(struct generation *g, struct engine *e, const struct tokenizer *t, const struct generate_options *o,
             uint32_t n_vocab, struct error *err);
void generation_free(struct generation *g);

#endif
