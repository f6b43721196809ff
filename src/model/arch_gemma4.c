/*
 * Gemma 4 (Gemma Team 2026): Gemma 3's block. Full-attention layers have heads twice as wide, fewer key heads, and keys as values. The
 * MoE model has a dense FFN parallel to the experts of every layer, here the shared expert; both have norms before and after. Shapes:
 * transformers, models/gemma4; MaxText, configs/models/gemma4-*.yml. E2B, E4B: the last layers read the KV cache of the last earlier
 * layer of their kind, and every layer adds a per-layer token embedding: x += norm(W (gelu(W' x) * e)), e = (table row + W'' x0) /
 * sqrt(2). Files contain unused k and v weights of those layers.
 */
#include "model/arch.h"
#include <math.h>

static bool shares_kv(const struct hparams *hp, int layer)
{
    return layer >= 0 && (uint32_t)layer >= hp->n_layer - hp->n_layer_kv_shared;
}

static void attention(struct builder *b)
{
    const struct hparams *const own = b->hp;
    struct hparams full = *own;
    struct attention_spec s = { .rope = 1, .neox = true, .head_norms = true };
    s.borrowed_kv = shares_kv(own, b->layer);
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

/* Norms are counted, not placed: experts and FFN have separate input norms. */
static void experts(struct builder *b)
{
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_NORM, "pre_ffw_norm_2");
    build_experts(b, BUF_NORM, &(struct experts_spec){ .glu = GLU_GELU, .route = { .gate = ROUTE_SOFTMAX, .norm = true } });
    build_norm(b, ROLE_FFN_POST_NORM, BUF_OUT, BUF_OUT, "post_ffw_norm_1");
    build_norm(b, ROLE_FFN_POST_NORM, BUF_OUT, BUF_OUT, "post_ffw_norm_2");
}

static void network(struct builder *b)
{
    const struct hparams *const own = b->hp;
    struct hparams wide = *own;
    wide.n_ff *= own->kv_shared_wide && shares_kv(own, b->layer) ? 2 : 1;
    b->hp = &wide;
    build_ffn(b, BUF_NORM, GLU_GELU, false);
    b->hp = own;
}

/* Per-layer embeddings of all layers: table rows, and a projection of the token embedding. */
static void layer_embeddings(struct builder *b)
{
    const struct hparams *hp = b->hp;
    const uint32_t width = hp->n_layer * hp->n_embd_layer;
    const struct tensor *table = build_weight(b, "per_layer_token_embd", hp->n_vocab, width, 1);
    build_op(b, OP_EMBED, ROLE_LAYER_EMBED, BUF_POS, BUF_NONE, width)->w = table;
    build_matmul(b, ROLE_LAYER_EMBED, BUF_EMBED, BUF_X, "per_layer_model_proj", width, hp->n_embd, false);
    build_norm_at(b, ROLE_LAYER_EMBED, BUF_EMBED, 0, hp->n_layer, hp->n_embd_layer, "per_layer_proj_norm");
    build_op(b, OP_ADD, ROLE_LAYER_EMBED, BUF_EMBED, BUF_POS, width);
}

static void add_layer_embedding(struct builder *b)
{
    const uint32_t n = b->hp->n_embd_layer;
    build_matmul(b, ROLE_LAYER_EMBED, BUF_GATE, BUF_X, "inp_gate", n, b->hp->n_embd, false);
    struct op *op = build_op(b, OP_GLU, ROLE_LAYER_EMBED, BUF_GATE, BUF_GATE, n);
    op->src2 = BUF_EMBED;
    op->src2_at = (uint32_t)b->layer * n;
    op->glu = GLU_GELU;
    build_matmul(b, ROLE_LAYER_EMBED, BUF_OUT, BUF_GATE, "proj", b->hp->n_embd, n, false);
    build_norm(b, ROLE_LAYER_EMBED, BUF_OUT, BUF_OUT, "post_norm");
    build_add(b, ROLE_LAYER_EMBED, BUF_X, BUF_OUT);
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
        network(b);
    build_norm(b, ROLE_FFN_POST_NORM, BUF_OUT, BUF_OUT, "post_ffw_norm");
    build_add(b, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT);
    if (b->hp->n_embd_layer > 0)
        add_layer_embedding(b);
}

static void build(struct builder *b)
{
    build_rope_table(b, b->hp->rope_theta, true);
    build_embed(b, sqrt((double)b->hp->n_embd));
    if (b->hp->n_embd_layer > 0)
        layer_embeddings(b);
    build_blocks(b, block);
    build_norm(b, ROLE_OUTPUT_NORM, BUF_NORM, BUF_X, "output_norm");
    build_lm_head(b, BUF_NORM, b->hp->n_embd);
    build_rope_table(b, b->hp->rope_theta_swa, false); /* table 1: windowed layers */
}

/* E2B, E4B: shared KV layers and per-layer embeddings. */
static int small(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    uint32_t n_vocab = hp->n_vocab;
    if (config_opt_count(j, what, "hidden_size_per_layer_input", 0, &hp->n_embd_layer, err) != 0 ||
        config_opt_count(j, what, "vocab_size_per_layer_input", 1, &n_vocab, err) != 0 ||
        config_opt_count(j, what, "num_kv_shared_layers", 0, &hp->n_layer_kv_shared, err) != 0 ||
        json_get_bool_opt(j, what, "use_double_wide_mlp", &hp->kv_shared_wide, err) != 0)
        return -1;
    if (hp->n_embd_layer > 0 && (n_vocab != hp->n_vocab || (uint64_t)hp->n_embd_layer * hp->n_layer > 1 << 24))
        return error_set(err, ERROR_INPUT, "%s: hidden_size_per_layer_input is %u of %u layers and vocab_size_per_layer_input %u: "
                         "expected a product of at most %d, and vocab_size, which is %u", what, hp->n_embd_layer, hp->n_layer,
                         n_vocab, 1 << 24, hp->n_vocab);
    const uint32_t period = hp->window > 0 ? hp->window_period : 1;
    if (hp->n_layer_kv_shared > 0 && (uint64_t)hp->n_layer_kv_shared + period > hp->n_layer)
        return error_set(err, ERROR_INPUT, "%s: num_kv_shared_layers is %u of %u layers: expected a whole period of %u before them",
                         what, hp->n_layer_kv_shared, hp->n_layer, period);
    return 0;
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    bool experts = hp->n_expert > 0;
    if (json_get_bool_opt(j, what, "enable_moe_block", &experts, err) != 0)
        return -1;
    if (experts && hp->n_expert == 0)
        return error_set(err, ERROR_INPUT, "%s: enable_moe_block is true and num_experts is missing or 0", what);
    hp->n_expert = experts ? hp->n_expert : 0;
    hp->n_head_kv_full = hp->n_head_kv;
    if (small(j, what, hp, err) != 0 ||
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
    .hf = { { "gemma4_text", "Gemma4ForCausalLM" }, { "gemma4", "Gemma4ForConditionalGeneration" },
            { "gemma4_unified", "Gemma4UnifiedForConditionalGeneration" } },
    .has = ARCH_WINDOW | ARCH_EXPERTS | ARCH_PREDICT_ONLY,
    .names = (const struct config_name[]){ { "num_experts_per_tok", "top_k_experts", "num_experts_per_tok" }, { 0 } },
    .activations = "gelu_pytorch_tanh",
    .defaults = &(const struct hparams){
        .head_dim = 256, .tied = true, .n_vocab = 262144, .n_ctx_train = 131072, .window = 512, .window_period = 6,
        .attn_scale = 1, .final_softcap = 30, .rope_theta = 1e6, .rope_theta_swa = 1e4, .head_dim_full = 512,
    },
    .config = config,
    .build = build,
};
