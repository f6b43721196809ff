/*
 * Small models of random weights, with the keys, tensor names and shapes that llama.cpp's converter writes for a
 * checkpoint of the family. Activations stay of order 1, attention and routing are neither uniform nor one-hot, norms,
 * biases and sinks are not trivial.
 *
 * Every tensor is drawn from the seed and its name, in the checkpoint's own layout, then laid out as the family's file
 * has it (rows of Q and K reordered, matrices fused, split or transposed). So two specs that differ in one thing share
 * all else, and a phi3 has the weights of the qwen2 of the same seed and sizes.
 */
#ifndef TESTS_ENGINE_REF_MAKE_RANDOM_H
#define TESTS_ENGINE_REF_MAKE_RANDOM_H

#include "dtype/dtype.h"

enum random_scaling { RANDOM_NONE, RANDOM_LINEAR, RANDOM_YARN, RANDOM_LLAMA3, RANDOM_LONGROPE };

/* 0 where a family has no such thing. */
struct random_spec {
    const char *family; /* llama mixtral qwen2 qwen3 qwen3moe gemma2 gemma3 phi3 olmo2 smollm3 gpt-oss deepseek2 */
    uint64_t seed;
    int n_layer, n_embd, n_head, n_head_kv, n_ff, n_vocab, n_ctx;
    int head_dim; /* other than n_embd / n_head only where files say it: qwen3, qwen3moe, gemma*, gpt-oss, deepseek2 */
    int n_rot; /* rope.dimension_count: phi3 (<= head_dim), deepseek2 (the rotated part of head_dim); else head_dim */
    int n_expert, n_expert_used, n_ff_exp;
    int window;       /* gemma2, gemma3, gpt-oss, phi3 (0: none) */
    bool tied;        /* no output.weight; gemma* always */
    bool no_bias;     /* qwen2 without its biases */
    bool same_expert; /* all experts are ffn_gate, ffn_up, ffn_down of a dense model with n_ff = n_ff_exp */
    enum random_scaling scaling;
    double scaling_factor, rope_base;
    int n_ctx_orig;              /* rope.scaling.original_context_length */
    double attn_cap, final_cap;  /* gemma2 */
    double gain_q, gain_o, sink; /* factors on W_q and W_o; a number added to the sinks */
    double outliers;             /* a factor on four elements of the norms before attention and before the feed-forward layer; 0: 1 */
    int n_mute;                  /* that many layers at the end add nothing: W_o and W_down of a dense layer are 0 */
    /* deepseek2 */
    int rank, q_rank, v_dim, n_dense, n_shared, n_group, n_group_used;
    bool absorbed; /* the new layout: attn_k_b, attn_v_b, head_count_kv 1 */
    bool sigmoid, choice_bias, renormalize;
    double expert_scale, mscale_all_dim; /* 0: no yarn_log_multiplier */
    int n_nextn;                         /* layers of multi-token prediction after n_layer */
    bool nextn_own;                      /* with tables and a norm of their own */
    bool nextn_embed;                    /* they take the embedding alone: of a model whose n_mute are all they predict what it does */
    enum dtype weights;                  /* of matrices: F32, F16, or a type with quantize */
    enum dtype experts;                  /* of stacked experts; MXFP4 is drawn as blocks */
};

/* The families, NULL-terminated. */
extern const char *const random_families[];
/* How many shapes random_spec_at has for a family. */
int random_spec_count(const char *family);
/*
 * Shape i of a family, every field filled. Among them: one KV head, heads wider or narrower than n_embd / n_head,
 * widths that are no multiple of 32, one expert a token, a window of a few tokens, tied and not, every scaling the
 * family knows, both layouts and both gatings of deepseek2, MXFP4 experts, gemma2's 46 layers. 28 tokens exceed most
 * windows and original contexts.
 */
void random_spec_at(struct random_spec *s, const char *family, int i);
int random_write(const char *path, const struct random_spec *s, struct error *err);
/* Tokens to feed: [n], in the vocabulary. */
void random_tokens(const struct random_spec *s, int32_t *tok, int n);

#endif
