/*
 * DeepSeek-V3.2 (DeepSeek-AI 2025) and GLM-5: V3's layers (arch_deepseek2.c) with sparse attention over the keys that an indexer scores
 * highest: I(t,s) = sum over its heads j of w(t,j) relu(q(t,j) . k(s)), one cached key per position.
 *   q = rope(W q_latent), k = rope(layer_norm(W' h)), w = W'' h
 * Attention is absorbed MLA over the selected latents. Cost: methods.md (18). Tensor shapes: the model's inference code; transformers,
 * models/glm_moe_dsa.
 */
#include "model/arch.h"
#include <string.h>

static void key_norm(struct builder *b, uint32_t dim)
{
    const struct tensor *w = build_weight(b, "indexer.k_norm", 1, dim, 1), *bias = build_bias(b, "indexer.k_norm", 1, dim);
    struct op *op = build_op(b, OP_LAYER_NORM, ROLE_INDEX_NORM, BUF_INDEX_K, BUF_INDEX_K, dim);
    op->w = w;
    op->bias = bias;
}

static void rotate(struct builder *b, enum op_buf buf, uint32_t n_head)
{
    const struct hparams *hp = b->hp;
    struct op *op = build_op(b, OP_ROPE, ROLE_INDEX_ROPE, buf, buf, n_head * hp->index_dim);
    op->n_head = n_head;
    op->head_dim = op->src_stride = op->dst_stride = hp->index_dim;
    op->n_rot = hp->n_rot;
}

void build_indexer(struct builder *b)
{
    const struct hparams *hp = b->hp;
    const uint32_t n = hp->n_index_head, dim = hp->index_dim;
    build_matmul(b, ROLE_INDEX_Q, BUF_INDEX_Q, BUF_Q_A, "indexer.attn_q_b", n * dim, hp->n_lora_q, false);
    build_matmul(b, ROLE_INDEX_K, BUF_INDEX_K, BUF_NORM, "indexer.attn_k", dim, hp->n_embd, false);
    key_norm(b, dim);
    rotate(b, BUF_INDEX_Q, n);
    rotate(b, BUF_INDEX_K, 1);
    struct op *op = build_op(b, OP_KV_STORE, ROLE_INDEX_STORE, BUF_NONE, BUF_INDEX_K, dim);
    op->n_head = op->n_head_kv = 1;
    op->head_dim = dim;
    build_matmul(b, ROLE_INDEX_WEIGHTS, BUF_INDEX_WEIGHTS, BUF_NORM, "indexer.proj", n, hp->n_embd, false);
    op = build_op(b, OP_INDEX, ROLE_INDEX, BUF_INDEX, BUF_INDEX_Q, hp->n_index_top);
    op->src2 = BUF_INDEX_WEIGHTS;
    op->n_head = n;
    op->n_head_kv = 1;
    op->head_dim = dim;
    op->n_top = hp->n_index_top;
}

/* Indexers shared between layers are not supported. */
static int own_indexers(const json_t *j, const char *what, struct error *err)
{
    const json_t *list = json_object_get(j, "indexer_types"), *v;
    int64_t every = 1;
    size_t i;
    if (json_get_int_opt(j, what, "index_topk_freq", 1, UINT32_MAX, &every, err) != 0)
        return -1;
    if (every != 1)
        return error_set(err, ERROR_INPUT, "%s: index_topk_freq is %lld: only an indexer in every layer (1) is supported", what,
                         (long long)every);
    json_array_foreach(list, i, v)
    {
        const char *s = json_string_value(v);
        if (!s || strcmp(s, "full") != 0)
            return error_set(err, ERROR_INPUT, "%s: indexer_types[%zu]: only \"full\" is supported", what, i);
    }
    return 0;
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    if (mla_config(j, what, hp, err) != 0 || own_indexers(j, what, err) != 0 ||
        config_count(j, what, "index_n_heads", 1, 4096, &hp->n_index_head, err) != 0 ||
        config_count(j, what, "index_head_dim", 1, 4096, &hp->index_dim, err) != 0 ||
        config_count(j, what, "index_topk", 1, 1 << 24, &hp->n_index_top, err) != 0)
        return -1;
    if (hp->n_lora_q == 0)
        return error_set(err, ERROR_INPUT, "%s: q_lora_rank is missing: the indexer's queries come from that latent", what);
    if (hp->n_rot > hp->index_dim)
        return error_set(err, ERROR_INPUT, "%s: index_head_dim is %u, expected at least qk_rope_head_dim, which is %u", what,
                         hp->index_dim, hp->n_rot);
    return 0;
}

const struct arch arch_deepseek32 = {
    .name = "deepseek32",
    .hf = { { "deepseek_v32", "DeepseekV32ForCausalLM" }, { "glm_moe_dsa", "GlmMoeDsaForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_YARN | ARCH_VALUE_DIM | ARCH_PREDICT_ONLY,
    .n_expert = "n_routed_experts",
    .needs = MLA_NEEDS,
    .says = "q_lora_rank n_shared_experts", /* null: none */
    .activations = "silu",
    .defaults = &(const struct hparams){ .expert_gate = EXPERT_GATE_SOFTMAX, .expert_scale = 1 },
    .config = config,
    .block = mla_block,
};
