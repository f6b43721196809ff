/* Validation of hyper-parameters: afterwards products do not overflow and the engine needs no special cases. */
#include "model/arch.h"
#include "model/internal.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

/* A member of type uint32_t. */
struct dimension {
    const char *plain, *key, *config; /* key: GGUF key without "{arch}." */
    size_t offset;
    uint32_t lo, hi;
};

/* Upper bounds: ten times the largest published model, and n_layer * (a few n_ff x n_embd matrices of doubles) < 2^63. */
static const struct dimension dims[] = {
    { "n_layer", "block_count", "num_hidden_layers", offsetof(struct hparams, n_layer), 1, HPARAMS_MAX_LAYER },
    { "n_embd", "embedding_length", "hidden_size", offsetof(struct hparams, n_embd), 2, HPARAMS_MAX_EMBD },
    { "n_head", "attention.head_count", "num_attention_heads", offsetof(struct hparams, n_head), 1, 65536 },
    { "n_head_kv", "attention.head_count_kv", "num_key_value_heads", offsetof(struct hparams, n_head_kv), 1, 65536 },
    { "head_dim", "attention.key_length", "head_dim", offsetof(struct hparams, head_dim), 2, 65536 },
    { "head_dim_v", "attention.value_length", "v_head_dim", offsetof(struct hparams, head_dim_v), 1, 65536 },
    { "n_ff", "feed_forward_length", "intermediate_size", offsetof(struct hparams, n_ff), 1, 1 << 22 },
    { "n_vocab", "vocab_size", "vocab_size", offsetof(struct hparams, n_vocab), 2, HPARAMS_MAX_VOCAB },
    { "n_ctx", "context_length", "max_position_embeddings", offsetof(struct hparams, n_ctx_train), 1, 1 << 30 },
    { "n_rot", "rope.dimension_count", "head_dim", offsetof(struct hparams, n_rot), 2, 65536 },
    /* optional, may be 0 */
    { "window", "attention.sliding_window", "sliding_window", offsetof(struct hparams, window), 0, 1 << 30 },
    { "n_expert", "expert_count", "num_experts", offsetof(struct hparams, n_expert), 0, 65536 },
    { "n_expert_used", "expert_used_count", "num_experts_per_tok", offsetof(struct hparams, n_expert_used), 0, 1024 },
    { "n_ff_exp", "expert_feed_forward_length", "moe_intermediate_size", offsetof(struct hparams, n_ff_exp), 0, 1 << 22 },
    { "n_ff_shexp", "expert_shared_feed_forward_length", "n_shared_experts", offsetof(struct hparams, n_ff_shexp), 0, 1 << 22 },
    { "n_lora_q", "attention.q_lora_rank", "q_lora_rank", offsetof(struct hparams, n_lora_q), 0, 1 << 20 },
    { "n_lora_kv", "attention.kv_lora_rank", "kv_lora_rank", offsetof(struct hparams, n_lora_kv), 0, 1 << 20 },
    { "n_embd_in", "embedding_length", "word_embed_proj_dim", offsetof(struct hparams, n_embd_in), 0, HPARAMS_MAX_EMBD },
    { "n_embd_exp", "moe_latent_size", "moe_latent_size", offsetof(struct hparams, n_embd_exp), 0, HPARAMS_MAX_EMBD },
    { "n_pos", "context_length", "max_position_embeddings", offsetof(struct hparams, n_pos), 0, 1 << 30 },
};

/* The dimension `plain` for messages: "llama.embedding_length", "hidden_size" or "n_embd". */
static const char *label(char *buf, size_t n, const char *plain, enum hparams_names names, const char *arch)
{
    const struct dimension *d = dims;
    while (strcmp(d->plain, plain) != 0)
        d++;
    switch (names) {
    case HPARAMS_GGUF:
        snprintf(buf, n, "%s.%s", arch, d->key);
        break;
    case HPARAMS_CONFIG:
        snprintf(buf, n, "%s", config_field(arch_find(arch, strlen(arch)), d->config));
        break;
    case HPARAMS_PLAIN:
        snprintf(buf, n, "%s", d->plain);
        break;
    }
    return buf;
}

/* Relations between dimensions. */
static int check_heads(const struct hparams *hp, enum hparams_names names, const char *what,
                       const char *arch, struct error *err)
{
    char a[128], b[128];
    if (hp->n_head % hp->n_head_kv != 0)
        return error_set(err, ERROR_INPUT, "%s: %s is %u, expected a multiple of %s, which is %u", what,
                         label(a, sizeof a, "n_head", names, arch), hp->n_head,
                         label(b, sizeof b, "n_head_kv", names, arch), hp->n_head_kv);
    if (hp->n_rot > hp->head_dim || hp->n_rot % 2 != 0)
        return error_set(err, ERROR_INPUT,
                         "%s: %s is %u, expected an even number of at most the head dimension, %u", what,
                         label(a, sizeof a, "n_rot", names, arch), hp->n_rot, hp->head_dim);
    const uint32_t latent = hp->n_lora_kv > 0 ? hp->n_lora_kv + hp->n_rot : 0;
    const uint32_t widths[] = { hp->head_dim, hp->head_dim_v, latent };
    for (size_t i = 0; i < ARRAY_LEN(widths); i++)
        if ((uint64_t)hp->n_head * widths[i] > 1 << 24)
            return error_set(err, ERROR_INPUT, "%s: %s x head dimension is %u x %u, expected at most %d", what,
                             label(a, sizeof a, "n_head", names, arch), hp->n_head, widths[i], 1 << 24);
    return 0;
}

/* Expert counts, width and groups. */
static int check_experts(const struct hparams *hp, const char *what, struct error *err)
{
    if (hp->n_expert == 0)
        return 0;
    if (hp->n_expert_used < 1 || hp->n_expert_used > hp->n_expert)
        return error_set(err, ERROR_INPUT, "%s: %u of %u experts used a token, expected 1 to %u", what,
                         hp->n_expert_used, hp->n_expert, hp->n_expert);
    if (hp->n_ff_exp < 1)
        return error_set(err, ERROR_INPUT, "%s: the width of an expert is missing or 0", what);
    if (hp->n_expert_shared > 0 && hp->n_ff_shexp < 1)
        return error_set(err, ERROR_INPUT, "%s: %u shared experts of width 0", what, hp->n_expert_shared);
    if ((uint64_t)hp->n_expert_used * u64_max(hp->n_ff_exp, hp->n_embd) > 1 << 24)
        return error_set(err, ERROR_INPUT, "%s: %u experts of width %u a token: expected a product of at most %d", what,
                         hp->n_expert_used, hp->n_ff_exp, 1 << 24);
    if ((uint64_t)hp->n_expert * hp->n_ff_exp > 1 << 26)
        return error_set(err, ERROR_INPUT, "%s: %u experts of width %u: expected a product of at most %d", what, hp->n_expert,
                         hp->n_ff_exp, 1 << 26);
    const uint32_t n = hp->n_expert_group;
    if (n > 1 && (hp->n_expert % n != 0 || hp->n_expert_group_used < 1 || hp->n_expert_group_used > n ||
                  hp->n_expert / n * hp->n_expert_group_used < hp->n_expert_used))
        return error_set(err, ERROR_INPUT,
                         "%s: %u experts in %u groups, %u of them used for %u experts: expected equal groups, enough of "
                         "them",
                         what, hp->n_expert, n, hp->n_expert_group_used, hp->n_expert_used);
    return 0;
}

bool hparams_windowed(const struct hparams *hp, uint32_t layer)
{
    const uint32_t period = hp->window_period;
    return hp->window > 0 && (period == 0 || layer % period != period - 1);
}

bool hparams_expert_layer(const struct hparams *hp, uint32_t layer)
{
    const uint32_t period = hp->expert_period;
    return hp->n_expert > 0 && layer >= hp->n_layer_dense && (period == 0 || layer % period == period - 1);
}

static int check_number(double v, double lo, double hi, const char *what, const char *name,
                        struct error *err)
{
    if (!isfinite(v) || v < lo || v > hi)
        return error_set(err, ERROR_INPUT, "%s: %s is %g, expected a number from %g to %g", what, name, v,
                         lo, hi);
    return 0;
}

static int check_yarn(const struct hparams *hp, const char *what, struct error *err)
{
    if (check_number(hp->rope_factor, 1, 1e6, what, "the YaRN factor", err) != 0 ||
        check_number(hp->rope_ctx_orig, 1, 1 << 30, what, "YaRN's original context length", err) != 0 ||
        check_number(hp->yarn_log_mul, 0, 10, what, "YaRN's log multiplier", err) != 0 ||
        check_number(hp->yarn_beta_slow, 1e-3, 1e3, what, "YaRN's beta_slow", err) != 0)
        return -1;
    return check_number(hp->yarn_beta_fast, hp->yarn_beta_slow, 1e4, what, "YaRN's beta_fast", err);
}

static int check_rope(const struct hparams *hp, const char *what, struct error *err)
{
    if (check_number(hp->rope_theta, 1, 1e12, what, "the RoPE base (theta)", err) != 0 ||
        (hp->rope_theta_swa != 0 &&
         check_number(hp->rope_theta_swa, 1, 1e12, what, "the RoPE base of windowed layers", err) != 0))
        return -1;
    switch (hp->rope_scaling) {
    case ROPE_SCALING_NONE:
    case ROPE_SCALING_LLAMA3: /* factors from a tensor, or parameters checked by config.c */
        return 0;
    case ROPE_SCALING_LINEAR:
        return check_number(hp->rope_factor, 1e-3, 1e6, what, "the RoPE scaling factor", err);
    case ROPE_SCALING_YARN:
        return check_yarn(hp, what, err);
    case ROPE_SCALING_LONGROPE:
        return check_number(hp->rope_ctx_orig, 1, 1 << 30, what, "the original context length", err);
    }
    return error_set(err, ERROR_INPUT, "%s: RoPE scaling of unknown kind", what);
}

int hparams_check(const struct hparams *hp, enum hparams_names names, const char *what,
                  const char *arch, struct error *err)
{
    char buf[128];
    for (size_t i = 0; i < ARRAY_LEN(dims); i++) {
        const uint32_t v = *(const uint32_t *)((const char *)hp + dims[i].offset);
        if (v < dims[i].lo || v > dims[i].hi)
            return error_set(err, ERROR_INPUT, "%s: %s is %u, expected %u to %u", what,
                             label(buf, sizeof buf, dims[i].plain, names, arch), v, dims[i].lo, dims[i].hi);
    }
    if (check_heads(hp, names, what, arch, err) != 0 || check_experts(hp, what, err) != 0 || check_rope(hp, what, err) != 0)
        return -1;
    const struct {
        double v, hi;
        const char *name;
    } numbers[] = {
        { hp->rms_eps, 1, hp->norm == NORM_RMS ? "the RMSNorm epsilon" : "the LayerNorm epsilon" },
        { hp->attn_scale, 1e6, "the scale of attention scores" },
        { hp->embed_scale, 1e6, "the scale of embeddings" },
        { hp->residual_scale, 1e6, "the scale of what a part adds" },
        { hp->logit_scale, 1e6, "the scale of logits" },
        { hp->attn_softcap, 1e6, "the soft cap of attention scores" },
        { hp->final_softcap, 1e6, "the soft cap of logits" },
        { hp->expert_scale, 1e6, "the scale of expert weights" },
        { hp->rope_attn_factor, 1e3, "the RoPE amplitude (attn_factor)" },
    };
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (check_number(numbers[i].v, 0, numbers[i].hi, what, numbers[i].name, err) != 0)
            return -1;
    return 0;
}

int hparams_supported(const struct arch *a, const struct hparams *hp, const char *what, struct error *err)
{
    const struct {
        unsigned needs;
        bool asked;
        const char *of;
    } features[] = {
        { ARCH_EXPERTS, hp->n_expert > 0, "mixtures of experts" },
        /* a window of the whole context is none */
        { ARCH_WINDOW, hp->window > 0 && hp->window < hp->n_ctx_train, "sliding-window attention" },
        { ARCH_ATTN_BIAS, hp->attn_bias, "biases of q, k and v" },
        { ARCH_ATTN_OUTPUT_BIAS, hp->attn_output_bias, "a bias of the attention's output" },
        { ARCH_HEAD_BIAS, hp->head_bias, "a bias of the LM head" },
        { ARCH_YARN, hp->rope_scaling == ROPE_SCALING_YARN, "YaRN" },
        { ARCH_LONGROPE, hp->rope_scaling == ROPE_SCALING_LONGROPE, "LongRoPE" },
        { ARCH_VALUE_DIM, hp->head_dim_v != hp->head_dim, "values of another width than keys" },
        { ARCH_VALUE_DIM, hp->n_lora_kv > 0, "latent attention" },
    };
    for (size_t i = 0; i < ARRAY_LEN(features); i++)
        if (features[i].asked && !(a->has & features[i].needs))
            return error_set(err, ERROR_INPUT, "%s: %s: not supported by architecture %s", what, features[i].of,
                             a->name);
    return 0;
}
