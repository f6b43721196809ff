/* Sanity of hyper-parameters, whatever they came from: what passes here can be multiplied without
 * overflow and executed without a special case. */
#include "model/internal.h"
#include <math.h>

/* key: below "{arch}." in a GGUF; NULL where the value comes from a tensor's shape. */
struct dimension {
    const char *plain, *key, *config;
    uint32_t lo, hi;
};

enum dim { D_LAYER, D_EMBD, D_HEAD, D_HEAD_KV, D_HEAD_DIM, D_FF, D_VOCAB, D_CTX, D_ROT, D_COUNT };

/* Upper bounds: an order of magnitude above any model published, and small enough that
 * n_layer * (a few matrices of n_ff x n_embd doubles) stays below 2^63. */
static const struct dimension dims[D_COUNT] = {
    [D_LAYER] = { "n_layer", "block_count", "num_hidden_layers", 1, HPARAMS_MAX_LAYER },
    [D_EMBD] = { "n_embd", "embedding_length", "hidden_size", 2, HPARAMS_MAX_EMBD },
    [D_HEAD] = { "n_head", "attention.head_count", "num_attention_heads", 1, 65536 },
    [D_HEAD_KV] = { "n_head_kv", "attention.head_count_kv", "num_key_value_heads", 1, 65536 },
    [D_HEAD_DIM] = { "head_dim", "attention.key_length", "head_dim", 2, 65536 },
    [D_FF] = { "n_ff", "feed_forward_length", "intermediate_size", 1, 1 << 22 },
    [D_VOCAB] = { "n_vocab", "vocab_size", "vocab_size", 2, HPARAMS_MAX_VOCAB },
    [D_CTX] = { "n_ctx", "context_length", "max_position_embeddings", 1, 1 << 30 },
    [D_ROT] = { "n_rot", "rope.dimension_count", "head_dim", 2, 65536 },
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
    case D_FF:
        return hp->n_ff;
    case D_VOCAB:
        return hp->n_vocab;
    case D_CTX:
        return hp->n_ctx_train;
    case D_ROT:
        return hp->n_rot;
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
        snprintf(buf, n, "%s", dims[d].config);
        break;
    case HPARAMS_PLAIN:
        snprintf(buf, n, "%s", dims[d].plain);
        break;
    }
    return buf;
}

/* Relations between the dimensions; each alone is in its range. */
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
    if ((uint64_t)hp->n_head * hp->head_dim > 1 << 24)
        return error_set(err, ERROR_INPUT, "%s: %s x head dimension is %u x %u, expected at most %d", what,
                         label(a, sizeof a, D_HEAD, names, arch), hp->n_head, hp->head_dim, 1 << 24);
    return 0;
}

static int check_number(double v, double lo, double hi, const char *what, const char *name,
                        struct error *err)
{
    if (!isfinite(v) || v < lo || v > hi)
        return error_set(err, ERROR_INPUT, "%s: %s is %g, expected a number from %g to %g", what, name, v,
                         lo, hi);
    return 0;
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
    if (check_heads(hp, names, what, arch, err) != 0 ||
        check_number(hp->rope_theta, 1, 1e12, what, "the RoPE base (theta)", err) != 0 ||
        check_number(hp->rms_eps, 0, 1, what, "the RMSNorm epsilon", err) != 0)
        return -1;
    switch (hp->rope_scaling) {
    case ROPE_SCALING_NONE:
    case ROPE_SCALING_LLAMA3: /* factors from a tensor, or from parameters config.c has checked */
        return 0;
    case ROPE_SCALING_LINEAR:
        return check_number(hp->rope_factor, 1e-3, 1e6, what, "the RoPE scaling factor", err);
    }
    return error_set(err, ERROR_INPUT, "%s: RoPE scaling of unknown kind", what);
}
