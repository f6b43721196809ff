/*
 * Gemma 4 (Gemma Team 2026): Gemma 3's block. Layers that see all have heads of their own, twice as wide, fewer of keys, and
 * take their keys as values. The mixture has a feed-forward network beside the experts of every layer, here as their shared
 * one; each of the two is normed before and behind. Shapes: transformers, models/gemma4; MaxText, configs/models/gemma4-*.yml.
 * The small members (layers that share keys, embeddings a layer) are not described.
 */
#include "model/arch.h"
#include <math.h>

static void attention(struct builder *b)
{
    const struct hparams *const own = b->hp;
    struct hparams full = *own;
    struct attention_spec s = { .rope = 1, .neox = true, .head_norms = true };
    if (!hparams_windowed(own, (uint32_t)b->layer)) {
        s.rope = 0;
        s.shared_kv = own->shared_kv_full;
        full.head_dim = full.head_dim_v = own->head_dim_full;
        full.n_head_kv = own->n_head_kv_full;
        b->hp = &full;
    }
    build_attention(b, BUF_NORM, &s);
    b->hp = own;
}

/* Norms are counted, not placed: the experts' input is normed apart from the network's. */
static void experts(struct builder *b)
{
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_NORM, "pre_ffw_norm_2");
    build_experts(b, BUF_NORM, &(struct experts_spec){ .glu = GLU_GELU, .route = { .gate = ROUTE_SOFTMAX, .norm = true } });
    build_norm(b, ROLE_FFN_POST_NORM, BUF_OUT, BUF_OUT, "post_ffw_norm_1");
    build_norm(b, ROLE_FFN_POST_NORM, BUF_OUT, BUF_OUT, "post_ffw_norm_2");
}

static void block(struct builder *b)
{
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    attention(b);
    build_norm(b, ROLE_ATTN_POST_NORM, BUF_OUT, BUF_OUT, "post_attention_norm");
    build_add(b, ROLE_ATTN_RESIDUAL, BUF_X, BUF_OUT);
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "ffn_norm");
    if (b->hp->n_expert > 0)
        experts(b);
    else
        build_ffn(b, BUF_NORM, GLU_GELU, false);
    build_norm(b, ROLE_FFN_POST_NORM, BUF_OUT, BUF_OUT, "post_ffw_norm");
    build_add(b, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT);
}

static void build(struct builder *b)
{
    build_model(b, sqrt((double)b->hp->n_embd), block);
    build_rope_table(b, b->hp->rope_theta_swa, false); /* table 1, which windowed layers name */
}

static void defaults(struct hparams *hp)
{
    hp->head_dim = 256;
    hp->tied = true;
    hp->n_vocab = 262144;
    hp->n_ctx_train = 131072;
    hp->window = 512;
    hp->window_period = 6;
    hp->attn_scale = 1;
    hp->final_softcap = 30;
    hp->rope_theta = 1e6;
    hp->rope_theta_swa = 1e4;
    hp->head_dim_full = 512;
}

/* What the small members have. */
static int refuse_small(const json_t *j, const char *what, struct error *err)
{
    static const char *const fields[] = { "hidden_size_per_layer_input", "num_kv_shared_layers" };
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        int64_t n = 0;
        if (json_get_int_opt(j, what, fields[i], 0, UINT32_MAX, &n, err) != 0)
            return -1;
        if (n > 0)
            return error_set(err, ERROR_INPUT, "%s: %s is %lld, expected 0: Gemma 4's small members are not supported yet", what,
                             fields[i], (long long)n);
    }
    return 0;
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    hp->n_head_kv_full = hp->n_head_kv;
    if (refuse_small(j, what, err) != 0 ||
        json_get_num_opt(j, what, "final_logit_softcapping", &hp->final_softcap, err) != 0 ||
        config_opt_count(j, what, "global_head_dim", 1, &hp->head_dim_full, err) != 0 ||
        config_opt_count(j, what, "num_global_key_value_heads", 1, &hp->n_head_kv_full, err) != 0 ||
        json_get_bool_opt(j, what, "attention_k_eq_v", &hp->shared_kv_full, err) != 0)
        return -1;
    if (hp->head_dim_full > 8192 || hp->n_head % hp->n_head_kv_full != 0)
        return error_set(err, ERROR_INPUT, "%s: global_head_dim %u and num_global_key_value_heads %u: expected heads of at most 8192 "
                         "elements, and a divisor of the %u heads", what, hp->head_dim_full, hp->n_head_kv_full, hp->n_head);
    hp->n_ff_shexp = hp->n_ff;
    hp->n_expert_shared = hp->expert_packed = hp->n_expert > 0;
    return 0;
}

const struct arch arch_gemma4 = {
    .name = "gemma4",
    .hf = { { "gemma4_text", "Gemma4ForCausalLM" }, { "gemma4", "Gemma4ForConditionalGeneration" } },
    .has = ARCH_WINDOW | ARCH_EXPERTS | ARCH_PRICED_ONLY,
    .activations = "gelu_pytorch_tanh",
    .defaults = defaults,
    .config = config,
    .build = build,
};
