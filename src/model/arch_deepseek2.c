/*
 * DeepSeek-V2 and V3 (DeepSeek-AI 2024): multi-head latent attention, and experts after some leading dense layers.
 *
 * Keys and values are linear in a latent c of a few hundred numbers; the cache holds c and one rotary key shared by the heads:
 *   q = [q_nope, rope(q_rot)] per head;  [c, k_rot] = Wkv_a h;  c = rms_norm(c);  k_rot = rope(k_rot)
 *   expanded:  k = [Wk_b c, k_rot],  v = Wv_b c,  o = attention(q, k, v)
 *   absorbed:  q_nope . Wk_b c = (Wk_b^T q_nope) . c: attention over [c, k_rot] as one KV head with values c, then o = Wv_b of its output
 * Both are equal; methods.md (17) says which one a pass uses.
 */
#include "model/arch.h"
#include "model/internal.h"
#include <math.h>
#include <string.h>

struct dims {
    uint32_t n_head, rank, n_rot, key, nope, value; /* key = nope + n_rot */
};

static struct dims dims(const struct hparams *hp)
{
    return (struct dims){ hp->n_head, hp->n_lora_kv, hp->n_rot, hp->head_dim, hp->head_dim - hp->n_rot,
                          hp->head_dim_v };
}

/* Break-even of expansion: FLOP per head to expand a position over FLOP saved per query. */
static double form_tok(const struct dims *d)
{
    const double expand = 2.0 * d->rank * (d->nope + d->value);
    const double absorbed = 2.0 * (d->rank + d->n_rot) + 2.0 * d->rank, expanded = 2.0 * d->key + 2.0 * d->value;
    return absorbed > expanded ? expand / (absorbed - expanded) : INFINITY;
}

/* With an indexer only the absorbed form: each token selects other keys, so expansion does not pay. */
static void in_form(const struct builder *b, struct op *op, enum op_form form)
{
    const struct dims d = dims(b->hp);
    op->form = b->hp->n_index_top > 0 ? FORM_ALWAYS : form;
    op->form_tok = b->hp->n_index_top > 0 ? 0 : form_tok(&d);
}

static void rotate(struct builder *b, enum op_form form, enum op_buf dst, uint32_t dst_at, uint32_t dst_stride,
                   enum op_buf src, uint32_t src_at, uint32_t src_stride, uint32_t n_head)
{
    const struct dims d = dims(b->hp);
    struct op *op = build_op(b, OP_ROPE, ROLE_ATTN_ROPE, dst, src, n_head * dst_stride);
    op->dst_at = dst_at;
    op->dst_stride = dst_stride;
    op->src_at = src_at;
    op->src_stride = src_stride;
    op->n_head = n_head;
    op->head_dim = d.n_rot;
    op->n_rot = d.n_rot;
    in_form(b, op, form);
}

static void queries(struct builder *b)
{
    const struct hparams *hp = b->hp;
    const uint32_t q = hp->n_head * hp->head_dim;
    if (hp->n_lora_q > 0) {
        build_matmul(b, ROLE_ATTN_Q_A, BUF_Q_A, BUF_NORM, "attn_q_a", hp->n_lora_q, hp->n_embd, false);
        build_norm_at(b, ROLE_ATTN_Q_A_NORM, BUF_Q_A, 0, 1, hp->n_lora_q, "attn_q_a_norm");
        build_matmul(b, ROLE_ATTN_Q_B, BUF_Q, BUF_Q_A, "attn_q_b", q, hp->n_lora_q, false);
    } else {
        build_matmul(b, ROLE_ATTN_Q, BUF_Q, BUF_NORM, "attn_q", q, hp->n_embd, false);
    }
}

static void latents(struct builder *b)
{
    const struct dims d = dims(b->hp);
    build_matmul(b, ROLE_ATTN_KV_A, BUF_KV_A, BUF_NORM, "attn_kv_a_mqa", d.rank + d.n_rot, b->hp->n_embd, false);
    build_norm_at(b, ROLE_ATTN_KV_A_NORM, BUF_KV_A, 0, 1, d.rank, "attn_kv_a_norm");
    rotate(b, FORM_ALWAYS, BUF_KV_A, d.rank, d.rank + d.n_rot, BUF_KV_A, d.rank, d.rank + d.n_rot, 1);
    struct op *op = build_op(b, OP_KV_STORE, ROLE_KV_STORE, BUF_NONE, BUF_KV_A, d.rank + d.n_rot);
    op->n_head = op->n_head_kv = 1;
    op->head_dim = d.rank + d.n_rot;
}

/* Wk_b and Wv_b of all heads: two tensors, or parts of one with the key part transposed. */
struct up {
    const struct tensor *k, *v;
    uint32_t stride_k, stride_v, row_v;
    bool transposed_k;
};

static struct up up(struct builder *b)
{
    const struct dims d = dims(b->hp);
    if (b->hp->mla_split)
        return (struct up){ build_weight(b, "attn_k_b", d.rank, d.nope, d.n_head),
                            build_weight(b, "attn_v_b", d.value, d.rank, d.n_head), d.rank, d.value, 0, false };
    const struct tensor *both = build_weight(b, "attn_kv_b", (uint64_t)d.n_head * (d.nope + d.value), d.rank, 1);
    return (struct up){ both, both, d.nope + d.value, d.nope + d.value, d.nope, true };
}

static struct op *attend(struct builder *b, enum op_form form, enum op_buf dst, enum op_buf src, uint32_t n_head_kv,
                         uint32_t key, uint32_t value)
{
    const struct dims d = dims(b->hp);
    struct op *op = build_op(b, OP_ATTENTION, ROLE_ATTN_CORE, dst, src, d.n_head * value);
    op->n_head = d.n_head;
    op->n_head_kv = n_head_kv;
    op->head_dim = op->src_stride = key;
    op->head_dim_v = value;
    op->scale = (float)b->hp->attn_scale;
    op->n_top = b->hp->n_index_top;
    in_form(b, op, form);
    return op;
}

static struct op *head_matmul(struct builder *b, enum op_role r, enum op_buf dst, uint32_t dst_stride,
                              enum op_buf src, uint32_t src_stride, uint32_t rows, uint32_t cols)
{
    const struct dims d = dims(b->hp);
    struct op *op = build_op(b, OP_HEAD_MATMUL, r, dst, src, d.n_head * dst_stride);
    op->dst_stride = dst_stride;
    op->src_stride = src_stride;
    op->n_head = d.n_head;
    op->rows = rows;
    op->cols = cols;
    in_form(b, op, FORM_ABSORBED);
    return op;
}

static void absorbed(struct builder *b, const struct up *w)
{
    const struct dims d = dims(b->hp);
    const uint32_t row = d.rank + d.n_rot;
    struct op *op = head_matmul(b, ROLE_ATTN_K_B, BUF_Q_LATENT, row, BUF_Q, d.key, d.rank, d.nope);
    op->w = w->k;
    op->w_stride = w->stride_k;
    op->transposed = w->transposed_k;
    rotate(b, FORM_ABSORBED, BUF_Q_LATENT, d.rank, row, BUF_Q, d.nope, d.key, d.n_head);
    attend(b, FORM_ABSORBED, BUF_ATTN_LATENT, BUF_Q_LATENT, 1, row, d.rank)->v_in_k = true;
    op = head_matmul(b, ROLE_ATTN_V_B, BUF_ATTN, d.value, BUF_ATTN_LATENT, d.rank, d.value, d.rank);
    op->w = w->v;
    op->w_stride = w->stride_v;
    op->w_row = w->row_v;
}

static void expanded(struct builder *b, const struct up *w)
{
    const struct dims d = dims(b->hp);
    rotate(b, FORM_EXPANDED, BUF_Q, d.nope, d.key, BUF_Q, d.nope, d.key, d.n_head);
    struct op *op = build_op(b, OP_KV_EXPAND, ROLE_ATTN_KV_B, BUF_NONE, BUF_NONE, d.rank + d.n_rot);
    op->w = w->k;
    op->bias = w->v == w->k ? NULL : w->v;
    op->w_stride = w->stride_k;
    op->transposed = w->transposed_k;
    op->w_row = w->row_v;
    op->n_head = d.n_head;
    op->head_dim = d.key;
    op->head_dim_v = d.value;
    op->n_rot = d.n_rot;
    in_form(b, op, FORM_EXPANDED);
    if (b->l)
        b->l->width_expanded = d.n_head * (d.key + d.value);
    attend(b, FORM_EXPANDED, BUF_ATTN, BUF_Q, d.n_head, d.key, d.value);
}

void mla_block(struct builder *b)
{
    const struct hparams *hp = b->hp;
    const enum route_gate gate = hp->expert_gate == EXPERT_GATE_SIGMOID ? ROUTE_SIGMOID : ROUTE_SOFTMAX;
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    queries(b);
    latents(b);
    const struct up w = up(b);
    if (hp->n_index_top > 0)
        build_indexer(b);
    absorbed(b, &w);
    if (hp->n_index_top == 0)
        expanded(b, &w);
    build_matmul(b, ROLE_ATTN_OUTPUT, BUF_OUT, BUF_ATTN, "attn_output", hp->n_embd, hp->n_head * hp->head_dim_v, false);
    build_add(b, ROLE_ATTN_RESIDUAL, BUF_X, BUF_OUT);
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "ffn_norm");
    if (!hparams_expert_layer(hp, (uint32_t)b->layer))
        build_ffn(b, BUF_NORM, GLU_SILU, false);
    else
        build_experts(b, BUF_NORM, &(struct experts_spec){ .glu = GLU_SILU, .route = model_route(hp, gate) });
    build_add(b, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT);
}

/* YaRN's amplitude applies to the scores (squared), not to the rotation. */
static void scale_scores(struct hparams *hp)
{
    double m = 1;
    if (hp->rope_scaling == ROPE_SCALING_YARN) {
        const double stretch = log(hp->rope_factor);
        m = 1 + hp->yarn_log_mul * stretch;
        hp->rope_attn_factor = 1 / (1 + 0.1 * stretch);
    }
    hp->attn_scale = m * m / sqrt((double)hp->head_dim);
}

static int check_dims(const char *what, const struct hparams *hp, struct error *err)
{
    if (hp->n_lora_kv == 0)
        return error_set(err, ERROR_INPUT, "%s: the rank of the latent (attention.kv_lora_rank) is missing or 0", what);
    if (hp->head_dim <= hp->n_rot)
        return error_set(err, ERROR_INPUT, "%s: keys of %u elements, expected more than the %u rotary ones", what,
                         hp->head_dim, hp->n_rot);
    return 0;
}

static int gguf(const struct gguf *g, struct hparams *hp, struct error *err)
{
    uint64_t key = hp->head_dim, value = hp->head_dim_v;
    if (gguf_opt_u64(g, "deepseek2.attention.key_length_mla", &key, err) != 0 ||
        gguf_opt_u64(g, "deepseek2.attention.value_length_mla", &value, err) != 0)
        return -1;
    hp->head_dim = (uint32_t)u64_min(key, UINT32_MAX);
    hp->head_dim_v = (uint32_t)u64_min(value, UINT32_MAX);
    hp->n_head_kv = 1; /* one latent per token; older files store n_head */
    hp->mla_split = gguf_tensor_find(g, "blk.0.attn_k_b.weight") != NULL;
    hp->expert_bias = false;
    char name[64];
    snprintf(name, sizeof name, "blk.%u.exp_probs_b.bias", hp->n_layer_dense);
    hp->expert_bias = gguf_tensor_find(g, name) != NULL;
    if (hp->n_ff_shexp == 0 && hp->n_expert_shared <= 1024)
        hp->n_ff_shexp = hp->n_expert_shared * hp->n_ff_exp;
    scale_scores(hp);
    return check_dims(gguf_path(g), hp, err);
}

static int config_unknown(const char *what, const char *field, const char *value, const char *known, struct error *err)
{
    char found[33];
    return error_set(err, ERROR_INPUT, "%s: %s is \"%s\", which is not supported (known: %s)", what, field,
                     model_printable(found, sizeof found, value, strlen(value)), known);
}

/* Fields that must have the one supported value. */
static int config_fixed(const json_t *j, const char *what, struct error *err)
{
    const json_t *s = json_object_get(j, "rope_scaling");
    int64_t freq = 1;
    double one = 0, all = 0;
    if (!json_is_object(s))
        s = json_object_get(j, "rope_parameters");
    if (json_get_int_opt(j, what, "moe_layer_freq", 0, UINT32_MAX, &freq, err) != 0 ||
        json_get_num_opt(s, what, "mscale", &one, err) != 0 ||
        json_get_num_opt(s, what, "mscale_all_dim", &all, err) != 0)
        return -1;
    if (freq != 1)
        return error_set(err, ERROR_INPUT, "%s: moe_layer_freq is %lld, and only 1, experts in every layer, is supported",
                         what, (long long)freq);
    if (one != all)
        return error_set(err, ERROR_INPUT, "%s: mscale is %g and mscale_all_dim %g: only equal ones are supported", what, one,
                         all);
    return 0;
}

/* Key width: non-rotary plus rotary part. */
static int key_width(const char *what, uint32_t nope, struct hparams *hp, struct error *err)
{
    if (nope > 65536)
        return error_set(err, ERROR_INPUT, "%s: qk_nope_head_dim is %u, expected 1 to 65536", what, nope);
    if (hp->n_rot < 2 || hp->n_rot > 65536 || hp->n_rot % 2 != 0)
        return error_set(err, ERROR_INPUT, "%s: qk_rope_head_dim is %u, expected an even number from 2 to 65536", what,
                         hp->n_rot);
    hp->head_dim = nope + hp->n_rot;
    if (hp->head_dim > 65536)
        return error_set(err, ERROR_INPUT, "%s: qk_nope_head_dim + qk_rope_head_dim is %u, expected at most 65536", what,
                         hp->head_dim);
    return 0;
}

int mla_config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    uint32_t nope = 0;
    const char *scoring = "softmax", *method = "";
    hp->n_rot = 0;
    if (config_opt_count(j, what, "kv_lora_rank", 1, &hp->n_lora_kv, err) != 0 ||
        config_opt_count(j, what, "q_lora_rank", 1, &hp->n_lora_q, err) != 0 ||
        config_opt_count(j, what, "qk_nope_head_dim", 1, &nope, err) != 0 ||
        config_opt_count(j, what, "qk_rope_head_dim", 1, &hp->n_rot, err) != 0 ||
        config_opt_count(j, what, "v_head_dim", 1, &hp->head_dim_v, err) != 0 ||
        config_opt_count(j, what, "n_shared_experts", 0, &hp->n_expert_shared, err) != 0 ||
        config_opt_count(j, what, "first_k_dense_replace", 0, &hp->n_layer_dense, err) != 0 ||
        config_opt_count(j, what, "n_group", 0, &hp->n_expert_group, err) != 0 ||
        config_opt_count(j, what, "topk_group", 0, &hp->n_expert_group_used, err) != 0 ||
        json_get_bool_opt(j, what, "norm_topk_prob", &hp->expert_norm, err) != 0 ||
        json_get_num_opt(j, what, "routed_scaling_factor", &hp->expert_scale, err) != 0 ||
        json_get_str_opt(j, what, "scoring_func", &scoring, err) != 0 ||
        json_get_str_opt(j, what, "topk_method", &method, err) != 0 || config_fixed(j, what, err) != 0)
        return -1;
    if (strcmp(scoring, "softmax") != 0 && strcmp(scoring, "sigmoid") != 0)
        return config_unknown(what, "scoring_func", scoring, "softmax, sigmoid", err);
    if (*method && strcmp(method, "greedy") != 0 && strcmp(method, "group_limited_greedy") != 0 &&
        strcmp(method, "noaux_tc") != 0)
        return config_unknown(what, "topk_method", method, "greedy, group_limited_greedy, noaux_tc", err);
    if (strcmp(method, "greedy") == 0)
        hp->n_expert_group = hp->n_expert_group_used = 0;
    hp->expert_gate = strcmp(scoring, "sigmoid") == 0 ? EXPERT_GATE_SIGMOID : EXPERT_GATE_SOFTMAX;
    hp->expert_bias = strcmp(method, "noaux_tc") == 0;
    if (key_width(what, nope, hp, err) != 0 || config_shared_width(what, hp, err) != 0)
        return -1;
    hp->n_head_kv = 1;
    hp->mla_split = true;
    scale_scores(hp);
    return check_dims(what, hp, err);
}

const struct arch arch_deepseek2 = {
    .name = "deepseek2",
    .hf = { { "deepseek_v2", "DeepseekV2ForCausalLM" },
            { "deepseek_v3", "DeepseekV3ForCausalLM" },
            { "kimi_k2", "DeepseekV3ForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_YARN | ARCH_VALUE_DIM | ARCH_NEXTN,
    .n_expert = "n_routed_experts",
    .needs = MLA_NEEDS,
    .says = "q_lora_rank n_shared_experts", /* null: none */
    .activations = "silu",
    .defaults = &(const struct hparams){ .expert_gate = EXPERT_GATE_SOFTMAX, .expert_scale = 1 },
    .gguf = gguf,
    .config = mla_config,
    .block = mla_block,
};
