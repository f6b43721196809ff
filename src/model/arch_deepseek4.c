/*
 * DeepSeek-V4 (DeepSeek-AI 2026): experts in every layer; hyper-connections: n_stream residual streams, of which a layer reads a
 * mixture and writes to all; attention of many query heads on one key of head_dim, which is also the value, over the last
 * `sliding_window` positions and over compressed keys, weighted means of compress_ratios[i] positions (overlapping, twice as many, for
 * ratio 4): all of them, or (ratio 4) those that an indexer scores highest (arch_deepseek32.c), whose keys are compressed too. The
 * output projection is low-rank in groups of heads.
 *   q = norm(Wq_b norm(Wq_a h)) per head;  k = norm(Wkv h);  c = norm(sum of softmax(Wg h + p) (Wc h))
 *   out = Wo_b (Wo_a,g o_g);  x' = B x + a layer(sum of a' x),  a, a', B = mix(W x)
 * Tensor shapes: NVIDIA-NeMo/Megatron-Bridge, models/deepseek; MaxText, layers/attention_compressed.py. Not counted: the hash table of
 * experts in the first layers, and rows pending compression.
 */
#include "model/arch.h"
#include "model/internal.h"

/* ---- hyper-connections ------------------------------------------------------------------ */

static uint32_t streams(const struct builder *b)
{
    return b->hp->n_stream * b->hp->n_embd;
}

/* Mixture of the streams in BUF_OUT: n weights for reading and, if wanted, for writing and between streams; one scale per kind. */
static void mix_streams(struct builder *b, const char *name, uint32_t n)
{
    char base[40], scale[40];
    snprintf(base, sizeof base, "%s_base", name);
    snprintf(scale, sizeof scale, "%s_scale", name);
    struct op *op = build_matmul(b, ROLE_HYPER, BUF_ROUTER, BUF_X, name, n, streams(b), false);
    op->bias = build_weight(b, base, 1, n, 1);
    const struct tensor *scales = build_weight(b, scale, 1, n > b->hp->n_stream ? 3 : 1, 1);
    build_op(b, OP_SCALE, ROLE_HYPER, BUF_OUT, BUF_X, streams(b))->bias = scales;
}

static void read_streams(struct builder *b, const char *name)
{
    mix_streams(b, name, (2 + b->hp->n_stream) * b->hp->n_stream);
}

static void write_streams(struct builder *b)
{
    build_op(b, OP_ADD, ROLE_HYPER, BUF_X, BUF_OUT, streams(b));
}

/* ---- attention ----------------------------------------------------------------------------- */

static struct op *one_key(struct op *op, const struct builder *b, uint32_t dim)
{
    op->n_head = op->n_head_kv = 1;
    op->head_dim = dim;
    op->window = b->hp->window;
    return op;
}

static void rotate(struct builder *b, enum op_role r, enum op_buf buf, uint32_t n_head, uint32_t dim)
{
    struct op *op = build_op(b, OP_ROPE, r, buf, buf, n_head * dim);
    op->n_head = n_head;
    op->head_dim = op->src_stride = op->dst_stride = dim;
    op->n_rot = b->hp->n_rot;
}

static void queries(struct builder *b)
{
    const struct hparams *hp = b->hp;
    build_matmul(b, ROLE_ATTN_Q_A, BUF_Q_A, BUF_NORM, "attn_q_a", hp->n_lora_q, hp->n_embd, false);
    build_norm_at(b, ROLE_ATTN_Q_A_NORM, BUF_Q_A, 0, 1, hp->n_lora_q, "attn_q_a_norm");
    build_matmul(b, ROLE_ATTN_Q_B, BUF_Q, BUF_Q_A, "attn_q_b", hp->n_head * hp->head_dim, hp->n_lora_q, false);
    struct op *op = build_op(b, OP_RMS_NORM, ROLE_ATTN_Q_NORM, BUF_Q, BUF_Q, hp->head_dim); /* no weights */
    op->n_head = hp->n_head;
    op->src_stride = op->dst_stride = hp->head_dim;
    rotate(b, ROLE_ATTN_ROPE, BUF_Q, hp->n_head, hp->head_dim);
}

static void keys(struct builder *b)
{
    const struct hparams *hp = b->hp;
    build_matmul(b, ROLE_ATTN_KV_A, BUF_KV_A, BUF_NORM, "attn_kv", hp->head_dim, hp->n_embd, false);
    build_norm_at(b, ROLE_ATTN_KV_A_NORM, BUF_KV_A, 0, 1, hp->head_dim, "attn_kv_norm");
    rotate(b, ROLE_ATTN_ROPE, BUF_KV_A, 1, hp->head_dim);
    one_key(build_op(b, OP_KV_STORE, ROLE_KV_STORE, BUF_NONE, BUF_KV_A, hp->head_dim), b, hp->head_dim);
}

/* A compressed key of dim elements per `ratio` positions: two projections per token, mean weighted by the softmax of one. */
static void compress(struct builder *b, const char *prefix, enum op_role store, uint32_t ratio, uint32_t dim)
{
    const uint32_t width = ratio == 4 ? 2 * dim : dim; /* ratio 4: overlapping groups */
    char kv[48], gate[48], position[48], norm[48];
    snprintf(kv, sizeof kv, "%s_kv", prefix);
    snprintf(gate, sizeof gate, "%s_gate", prefix);
    snprintf(position, sizeof position, "%s_ape", prefix);
    snprintf(norm, sizeof norm, "%s_norm", prefix);
    build_matmul(b, ROLE_COMPRESS, BUF_K, BUF_NORM, kv, width, b->hp->n_embd, false);
    build_matmul(b, ROLE_COMPRESS, BUF_V, BUF_NORM, gate, width, b->hp->n_embd, false);
    const struct tensor *added = build_weight(b, position, ratio, width, 1);
    struct op *op = build_op(b, OP_MUL, ROLE_COMPRESS, BUF_K, BUF_K, width);
    op->src2 = BUF_V;
    op->bias = added;
    build_norm_at(b, ROLE_COMPRESS, BUF_K, 0, 1, dim, norm);
    op = one_key(build_op(b, OP_KV_STORE, store, BUF_NONE, BUF_K, dim), b, dim);
    op->window = 0;
    op->per_row = ratio;
}

static void index_keys(struct builder *b, uint32_t ratio)
{
    const struct hparams *hp = b->hp;
    const uint32_t n = hp->n_index_head, dim = hp->index_dim;
    build_matmul(b, ROLE_INDEX_Q, BUF_INDEX_Q, BUF_Q_A, "indexer.attn_q_b", n * dim, hp->n_lora_q, false);
    rotate(b, ROLE_INDEX_ROPE, BUF_INDEX_Q, n, dim);
    compress(b, "indexer.compressor", ROLE_INDEX_STORE, ratio, dim);
    build_matmul(b, ROLE_INDEX_WEIGHTS, BUF_INDEX_WEIGHTS, BUF_NORM, "indexer.proj", n, hp->n_embd, false);
    struct op *op = build_op(b, OP_INDEX, ROLE_INDEX, BUF_INDEX, BUF_INDEX_Q, hp->n_index_top);
    op->src2 = BUF_INDEX_WEIGHTS;
    op->n_head = n;
    op->n_head_kv = 1;
    op->head_dim = dim;
    op->n_top = hp->n_index_top;
    op->per_row = ratio;
}

/* per_row 0: sliding window; else compressed keys, at most n_top. */
static void attend(struct builder *b, const struct tensor *sinks, uint32_t per_row, uint32_t n_top)
{
    const struct hparams *hp = b->hp;
    struct op *op = build_op(b, OP_ATTENTION, ROLE_ATTN_CORE, BUF_ATTN, BUF_Q, hp->n_head * hp->head_dim);
    op->n_head = hp->n_head;
    op->n_head_kv = 1;
    op->head_dim = op->head_dim_v = op->src_stride = hp->head_dim;
    op->v_in_k = true;
    op->w = sinks;
    op->window = per_row > 0 ? 0 : hp->window;
    op->per_row = per_row;
    op->n_top = n_top;
}

/* Low-rank projection per group of heads, then to n_embd. */
static void output(struct builder *b)
{
    const struct hparams *hp = b->hp;
    const uint32_t cols = hp->n_head / hp->n_out_group * hp->head_dim;
    const struct tensor *w = build_weight(b, "attn_output_a", hp->n_lora_out, cols, hp->n_out_group);
    rotate(b, ROLE_ATTN_ROPE, BUF_ATTN, hp->n_head, hp->head_dim); /* inverse rotation: values were rotated as keys */
    struct op *op = build_op(b, OP_HEAD_MATMUL, ROLE_ATTN_V_B, BUF_ATTN_LATENT, BUF_ATTN, hp->n_out_group * hp->n_lora_out);
    op->w = w;
    op->n_head = hp->n_out_group;
    op->rows = op->dst_stride = op->w_stride = hp->n_lora_out;
    op->cols = op->src_stride = cols;
    build_matmul(b, ROLE_ATTN_OUTPUT, BUF_OUT, BUF_ATTN_LATENT, "attn_output_b", hp->n_embd, hp->n_out_group * hp->n_lora_out, false);
}

static void attention(struct builder *b)
{
    const struct hparams *hp = b->hp;
    const uint32_t ratio = b->layer >= 0 && hp->compress_log2[b->layer] > 0 ? 1u << hp->compress_log2[b->layer] : 0;
    const bool chosen = ratio == 4; /* other ratios have few keys */
    queries(b);
    keys(b);
    if (ratio > 0)
        compress(b, "attn_compressor", ROLE_KV_STORE, ratio, hp->head_dim);
    if (chosen)
        index_keys(b, ratio);
    attend(b, build_weight(b, "attn_sinks", 1, hp->n_head, 1), 0, 0);
    if (ratio > 0)
        attend(b, NULL, ratio, chosen ? hp->n_index_top * ratio : 0);
    output(b);
}

/* ---- the model ---------------------------------------------------------------------------- */

static void experts(struct builder *b)
{
    const struct hparams *const own = b->hp;
    struct hparams hp = *own;
    hp.expert_bias = b->layer >= (int)own->n_layer_hash;
    b->hp = &hp;
    build_experts(b, BUF_NORM,
                  &(struct experts_spec){ .glu = GLU_SILU,
                                          .route = { .gate = ROUTE_SIGMOID, .norm = hp.expert_norm, .scale = (float)hp.expert_scale } });
    b->hp = own;
}

static void block(struct builder *b)
{
    read_streams(b, "hc_attn");
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_OUT, "attn_norm");
    attention(b);
    write_streams(b);
    read_streams(b, "hc_ffn");
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_OUT, "ffn_norm");
    experts(b);
    write_streams(b);
}

static void build(struct builder *b)
{
    build_rope_table(b, b->hp->rope_theta, true);
    build_embed(b, 0);
    build_blocks(b, block);
    mix_streams(b, "hc_head", b->hp->n_stream);
    build_norm(b, ROLE_OUTPUT_NORM, BUF_NORM, BUF_OUT, "output_norm");
    build_lm_head(b, BUF_NORM, b->hp->n_embd);
}

/* ---- config.json ---------------------------------------------------------------------------- */

/* Ratio per layer (0, 4 or 128), multi-token prediction layers included. */
static int ratios(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    const json_t *list = json_object_get(j, "compress_ratios"), *v;
    const size_t n = json_array_size(list);
    size_t i;
    if (hp->n_layer > HYBRID_MAX_LAYER)
        return error_set(err, ERROR_INPUT, "%s: num_hidden_layers is %u, expected at most %d with compress_ratios", what, hp->n_layer,
                         HYBRID_MAX_LAYER);
    if (n != hp->n_layer && n != (size_t)hp->n_layer + hp->n_layer_nextn)
        return error_set(err, ERROR_INPUT, "%s: compress_ratios has %zu entries for %u layers", what, n, hp->n_layer);
    json_array_foreach(list, i, v)
    {
        const json_int_t r = json_is_integer(v) ? json_integer_value(v) : -1;
        if (r != 0 && r != 4 && r != 128)
            return error_set(err, ERROR_INPUT, "%s: compress_ratios[%zu]: expected 0, 4 or 128", what, i);
        if (i < hp->n_layer)
            hp->compress_log2[i] = r == 4 ? 2 : r == 128 ? 7 : 0;
    }
    return 0;
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    hp->n_rot = 0; /* mandatory */
    if (config_count(j, what, "q_lora_rank", 1, 1 << 20, &hp->n_lora_q, err) != 0 ||
        config_count(j, what, "qk_rope_head_dim", 1, 65536, &hp->n_rot, err) != 0 || config_count(j, what, "hc_mult", 1, 64, &hp->n_stream, err) != 0 ||
        config_count(j, what, "o_groups", 1, 65536, &hp->n_out_group, err) != 0 ||
        config_count(j, what, "o_lora_rank", 1, 1 << 16, &hp->n_lora_out, err) != 0 ||
        config_count(j, what, "index_n_heads", 1, 4096, &hp->n_index_head, err) != 0 ||
        config_count(j, what, "index_head_dim", 1, 4096, &hp->index_dim, err) != 0 ||
        config_count(j, what, "index_topk", 1, 1 << 22, &hp->n_index_top, err) != 0 ||
        config_opt_count(j, what, "num_hash_layers", 0, &hp->n_layer_hash, err) != 0 || ratios(j, what, hp, err) != 0 ||
        config_shared_experts(j, what, hp, err) != 0)
        return -1;
    if (hp->n_layer_hash > hp->n_layer)
        return error_set(err, ERROR_INPUT, "%s: num_hash_layers is %u of %u layers", what, hp->n_layer_hash, hp->n_layer);
    if (hp->n_head_kv != 1)
        return error_set(err, ERROR_INPUT, "%s: num_key_value_heads is %u, expected 1", what, hp->n_head_kv);
    if (hp->n_head % hp->n_out_group != 0 || (uint64_t)hp->n_out_group * hp->n_lora_out > 1 << 24)
        return error_set(err, ERROR_INPUT, "%s: o_groups is %u and o_lora_rank %u: expected a divisor of the %u heads, and a product of "
                         "at most %d", what, hp->n_out_group, hp->n_lora_out, hp->n_head, 1 << 24);
    if (hp->n_rot > hp->index_dim || hp->n_rot > hp->head_dim)
        return error_set(err, ERROR_INPUT, "%s: index_head_dim is %u and head_dim %u, expected at least qk_rope_head_dim, which is %u",
                         what, hp->index_dim, hp->head_dim, hp->n_rot);
    if (hp->n_layer_dense > 0)
        return error_set(err, ERROR_INPUT, "%s: first_k_dense_replace is %u, expected 0", what, hp->n_layer_dense);
    hp->n_ff = hp->n_ff_exp;
    return 0;
}

const struct arch arch_deepseek4 = {
    .name = "deepseek4",
    .hf = { { "deepseek_v4", "DeepseekV4ForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_YARN | ARCH_WINDOW | ARCH_PREDICT_ONLY,
    .n_expert = "n_routed_experts",
    .needs = "head_dim moe_intermediate_size compress_ratios",
    .says = "n_shared_experts",
    .activations = "silu",
    .defaults = &(const struct hparams){
        .n_ff = 1, /* no dense layers */
        .expert_scale = 1, .expert_norm = true,
    },
    .config = config,
    .build = build,
};
