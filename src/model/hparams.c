/* Validation of hyper-parameters: afterwards products do not overflow and the engine needs no special cases. */
#include "model/arch.h"
#include "model/internal.h"
#include <math.h>
#include <string.h>

/* key: GGUF key without "{arch}."; NULL: from a tensor's shape */
struct dimension {
    const char *plain, *key, *config;
    uint32_t lo, hi;
};

enum dim {
    D_LAYER,
    D_EMBD,
    D_HEAD,
    D_HEAD_KV,
    D_HEAD_DIM,
    D_HEAD_DIM_V,
    D_FF,
    D_VOCAB,
    D_CTX,
    D_ROT,
    /* optional, may be 0 */
    D_WINDOW,
    D_EXPERT,
    D_EXPERT_USED,
    D_FF_EXP,
    D_FF_SHEXP,
    D_LORA_Q,
    D_LORA_KV,
    D_EMBD_IN,
    D_EMBD_EXP,
    D_POS,
    D_COUNT
};

/* Upper bounds: ten times the largest published model, and n_layer * (a few n_ff x n_embd matrices of doubles) < 2^63. */
static const struct dimension dims[D_COUNT] = {
    [D_LAYER] = { "n_layer", "block_count", "num_hidden_layers", 1, HPARAMS_MAX_LAYER },
    [D_EMBD] = { "n_embd", "embedding_length", "hidden_size", 2, HPARAMS_MAX_EMBD },
    [D_HEAD] = { "n_head", "attention.head_count", "num_attention_heads", 1, 65536 },
    [D_HEAD_KV] = { "n_head_kv", "attention.head_count_kv", "num_key_value_heads", 1, 65536 },
    [D_HEAD_DIM] = { "head_dim", "attention.key_length", "head_dim", 2, 65536 },
    [D_HEAD_DIM_V] = { "head_dim_v", "attention.value_length", "v_head_dim", 1, 65536 },
    [D_FF] = { "n_ff", "feed_forward_length", "intermediate_size", 1, 1 << 22 },
    [D_VOCAB] = { "n_vocab", "vocab_size", "vocab_size", 2, HPARAMS_MAX_VOCAB },
    [D_CTX] = { "n_ctx", "context_length", "max_position_embeddings", 1, 1 << 30 },
    [D_ROT] = { "n_rot", "rope.dimension_count", "head_dim", 2, 65536 },
    [D_WINDOW] = { "window", "attention.sliding_window", "sliding_window", 0, 1 << 30 },
    [D_EXPERT] = { "n_expert", "expert_count", "num_experts", 0, 65536 },
    [D_EXPERT_USED] = { "n_expert_used", "expert_used_count", "num_experts_per_tok", 0, 1024 },
    [D_FF_EXP] = { "n_ff_exp", "expert_feed_forward_length", "moe_intermediate_size", 0, 1 << 22 },
    [D_FF_SHEXP] = { "n_ff_shexp", "expert_shared_feed_forward_length", "n_shared_experts", 0, 1 << 22 },
    [D_LORA_Q] = { "n_lora_q", "attention.q_lora_rank", "q_lora_rank", 0, 1 << 20 },
    [D_LORA_KV] = { "n_lora_kv", "attention.kv_lora_rank", "kv_lora_rank", 0, 1 << 20 },
    [D_EMBD_IN] = { "n_embd_in", "embedding_length", "word_embed_proj_dim", 0, HPARAMS_MAX_EMBD },
    [D_EMBD_EXP] = { "n_embd_exp", "moe_latent_size", "moe_latent_size", 0, HPARAMS_MAX_EMBD },
    [D_POS] = { "n_pos", "context_length", "max_position_embeddings", 0, 1 << 30 },
};

static uint32_t dim_value(const struct hparams *hp, enum dim d)
{
    switch (d) {
    case D_LAYER:
        return hp->n_layer;
    case D_EMBD:
        return hp->n_embd;
    case D_HEAD:
        return hp->n_head;
    case D_HEAD_KV:
        return hp->n_head_kv;
    case D_HEAD_DIM:
        return hp->head_dim;
    case D_HEAD_DIM_V:
        return hp->head_dim_v;
    case D_FF:
        return hp->n_ff;
    case D_VOCAB:
        return hp->n_vocab;
    case D_CTX:
        return hp->n_ctx_train;
    case D_ROT:
        return hp->n_rot;
    case D_WINDOW:
        return hp->window;
    case D_EXPERT:
        return hp->n_expert;
    case D_EXPERT_USED:
        return hp->n_expert_used;
    case D_FF_EXP:
        return hp->n_ff_exp;
    case D_FF_SHEXP:
        return hp->n_ff_shexp;
    case D_LORA_Q:
        return hp->n_lora_q;
    case D_LORA_KV:
        return hp->n_lora_kv;
    case D_EMBD_IN:
        return hp->n_embd_in;
    case D_EMBD_EXP:
        return hp->n_embd_exp;
    case D_POS:
        return hp->n_pos;
    case D_COUNT:
        break;
    }
    return 0;
}

/* "llama.embedding_length", "hidden_size" or "n_embd". */
static const char *label(char *buf, size_t n, enum dim d, enum hparams_names names, const char *arch)
{
    switch (names) {
    case HPARAMS_GGUF:
        snprintf(buf, n, "%s.%s", arch, dims[d].key);
        break;
    case HPARAMS_CONFIG:
        snprintf(buf, n, "%s", config_field(arch_find(arch, strlen(arch)), dims[d].config));
        break;
    case HPARAMS_PLAIN:
        snprintf(buf, n, "%s", dims[d].plain);
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
                         label(a, sizeof a, D_HEAD, names, arch), hp->n_head,
                         label(b, sizeof b, D_HEAD_KV, names, arch), hp->n_head_kv);
    if (hp->n_rot > hp->head_dim || hp->n_rot % 2 != 0)
        return error_set(err, ERROR_INPUT,
                         "%s: %s is %u, expected an even number of at most the head dimension, %u", what,
                         label(a, sizeof a, D_ROT, names, arch), hp->n_rot, hp->head_dim);
    const uint32_t latent = hp->n_lora_kv > 0 ? hp->n_lora_kv + hp->n_rot : 0;
    const uint32_t widths[] = { hp->head_dim, hp->head_dim_v, latent };
    for (size_t i = 0; i < ARRAY_LEN(widths); i++)
        if ((uint64_t)hp->n_head * widths[i] > 1 << 24)
            return error_set(err, ERROR_INPUT, "%s: %s x head dimension is %u x %u, expected at most %d", what,
                             label(a, sizeof a, D_HEAD, names, arch), hp->n_head, widths[i], 1 << 24);
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
    for (int d = 0; d < D_COUNT; d++) {
        uint32_t v = dim_value(hp, (enum dim)d);
        if (v < dims[d].lo || v > dims[d].hi)
            return error_set(err, ERROR_INPUT, "%s: %s is %u, expected %u to %u", what,
                             label(buf, sizeof buf, (enum dim)d, names, arch), v, dims[d].lo, dims[d].hi);
    }
    if (check_heads(hp, names, what, arch, err) != 0 || check_experts(hp, what, err) != 0 ||
        check_rope(hp, what, err) != 0 ||
        check_number(hp->rms_eps, 0, 1, what, hp->norm == NORM_RMS ? "the RMSNorm epsilon" : "the LayerNorm epsilon", err) != 0 ||
        check_number(hp->attn_scale, 0, 1e6, what, "the scale of attention scores", err) != 0 ||
        check_number(hp->embed_scale, 0, 1e6, what, "the scale of embeddings", err) != 0 ||
        check_number(hp->residual_scale, 0, 1e6, what, "the scale of what a part adds", err) != 0 ||
        check_number(hp->logit_scale, 0, 1e6, what, "the scale of logits", err) != 0 ||
        check_number(hp->attn_softcap, 0, 1e6, what, "the soft cap of attention scores", err) != 0 ||
        check_number(hp->final_softcap, 0, 1e6, what, "the soft cap of logits", err) != 0 ||
        check_number(hp->embed_scale, 0, 1e6, what, "the scale of embeddings", err) != 0 ||
        check_number(hp->residual_scale, 0, 1e6, what, "the scale of what a part adds", err) != 0 ||
        check_number(hp->logit_scale, 0, 1e6, what, "the scale of logits", err) != 0 ||
        check_number(hp->expert_scale, 0, 1e6, what, "the scale of expert weights", err) != 0 ||
        check_number(hp->rope_attn_factor, 0, 1e3, what, "the RoPE amplitude (attn_factor)", err) != 0)
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
