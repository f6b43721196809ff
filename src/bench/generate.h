/* generate.h: the generation loop of `run`: tokens from engine and sampler, their text, and the stop reason. */
#ifndef BENCH_GENERATE_H
#define BENCH_GENERATE_H

#include "bench/setup.h"
#include "model/text_stream.h"
#include "model/tokenizer.h"

enum finish {
    FINISH_LENGTH, /* -n tokens */
    FINISH_STOP,   /* --stop text found */
    FINISH_EOS,    /* end-of-sequence or end-of-turn token */
};
const char *finish_name(enum finish f); /* "length", "stop", "eos" */

struct generate_options {
    int64_t n_gen;
    bool no_kv_cache, ignore_eos;
    struct sampler_options sampler;
    struct token_list stop_ids; /* stop tokens: control tokens given as stop texts */
};

/* Result of a generation, and its latencies. */
struct generation {
    struct token_list ids; /* prompt, then generated tokens */
    size_t n_prompt;
    double ttft_s, total_s, *itl_s; /* itl_s: [n_generated - 1] */
    struct text_stream text;
    enum finish finish;
};
/* Generates into g, whose ids hold the prompt and whose text has stops and sink. errors: engine, interrupt, out of memory */
int generate(struct generation *g, struct engine *e, const struct tokenizer *t, const struct generate_options *o,
             uint32_t n_vocab, struct error *err);
void generation_free(struct generation *g);

#endif
