/* tiny_model.h: a served model of tests/model/tiny_vocab.h: token 3 + b is byte b, 1 is BOS, 2 ends. Chats are ChatML. */
#ifndef TESTS_TINY_MODEL_H
#define TESTS_TINY_MODEL_H
#include "server/prompt.h"
#include "tests/model/tiny_vocab.h"

struct tiny_model {
    struct tiny bytes;
    struct gguf *gguf;
    struct tokenizer *tokenizer;
    struct served_model m;
};

static inline int tiny_model_open(struct tiny_model *t, uint32_t max_model_len, struct error *err)
{
    tiny_spm(&t->bytes);
    t->gguf = gguf_parse("tiny", t->bytes.b.s, t->bytes.b.len, err);
    t->tokenizer = t->gguf ? tokenizer_new(t->gguf, err) : NULL;
    if (!t->tokenizer)
        return -1;
    t->m = (struct served_model){ .name = "tiny", .root = "/models/tiny.gguf", .tokenizer = t->tokenizer, .chat = chat_template_find("chatml", err),
                                  .max_model_len = max_model_len, .block_size = 16, .n_ctx_train = 4096, .n_embd = 8, .n_params = 1000,
                                  .size_bytes = 2000 };
    return t->m.chat ? model_end_tokens(&t->m.end, t->tokenizer, err) : -1;
}

static inline void tiny_model_close(struct tiny_model *t)
{
    token_list_free(&t->m.end);
    tokenizer_free(t->tokenizer);
    gguf_close(t->gguf);
    strbuf_free(&t->bytes.b);
}

static inline struct loop_options tiny_loop_options(uint32_t n_block)
{
    return (struct loop_options){ .policy = { .name = "vllm", .block_size = 16, .max_num_seqs = 256 }, .n_block = n_block };
}
#endif
