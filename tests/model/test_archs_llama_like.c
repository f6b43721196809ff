/* Architectures kin to Llama that are priced and not executed: tiny models of each, their op lists and parameters against what
 * the papers and the models' own code say, derived by hand in the comments. */
#include "../test.h"
#include "model/model.h"
#include "model/op.h"
#include <math.h>

/* Every tiny model: 64 wide, 4 layers, 4 heads of 16 with 2 of keys, 128 in the feed-forward part, 300 tokens. */
#define LLAMA_FIELDS                                                                                                   \
    "\"hidden_size\":64,\"num_hidden_layers\":4,\"num_attention_heads\":4,\"num_key_value_heads\":2,\"head_dim\":16,"  \
    "\"intermediate_size\":128,\"vocab_size\":300,\"max_position_embeddings\":512"

struct listed {
    struct model m;
    struct op_list l;
};

static void open_model(struct listed *x, const char *config)
{
    struct hparams hp;
    struct error err = { 0 };
    const char *arch;
    char text[2048];
    snprintf(text, sizeof text, "{%s}", config);
    assert_ok(model_parse_config("t.json", text, strlen(text), &hp, &arch, &err), err);
    assert_ok(model_from_hparams(&x->m, "tiny", arch, &hp, "F16", &err), err);
    assert_false(model_executable(&x->m));
    assert_ok(op_list_build(&x->l, &x->m, &err), err);
}

static void close_model(struct listed *x)
{
    op_list_free(&x->l);
    model_free(&x->m);
}

/* The first op of the kind and role in a layer, or NULL. */
static const struct op *find(const struct listed *x, enum op_kind k, enum op_role r, int layer)
{
    for (size_t i = 0; i < x->l.n; i++)
        if (x->l.ops[i].kind == k && x->l.ops[i].role == r && x->l.ops[i].layer == layer)
            return &x->l.ops[i];
    return NULL;
}

static size_t count(const struct listed *x, enum op_kind k, enum op_role r)
{
    size_t n = 0;
    for (size_t i = 0; i < x->l.n; i++)
        n += x->l.ops[i].kind == k && x->l.ops[i].role == r;
    return n;
}

/* Of a layer: two norms of 64, q and output of 64 x 64, k and v of 32 x 64: 128 + 8192 + 4096. */
enum { ATTENTION = 128 + 2 * 64 * 64 + 2 * 32 * 64, FFN = 3 * 128 * 64, TABLE = 300 * 64, LAST_NORM = 64 };

/* Embeddings times sqrt(64) = 8, GELU, no norms behind the parts, the embedding table as LM head. */
static void test_gemma(void **state)
{
    (void)state;
    struct listed x;
    open_model(&x, "\"model_type\":\"gemma\"," LLAMA_FIELDS ",\"hidden_act\":\"gelu\"");
    assert_int_equal(x.m.n_params, TABLE + 4 * (ATTENTION + FFN) + LAST_NORM);
    assert_true(find(&x, OP_EMBED, ROLE_EMBED, -1)->scale == 8);
    assert_int_equal(find(&x, OP_GLU, ROLE_FFN_ACT, 3)->glu, GLU_GELU);
    assert_int_equal(count(&x, OP_RMS_NORM, ROLE_ATTN_POST_NORM), 0);
    assert_ptr_equal(find(&x, OP_MATMUL, ROLE_LM_HEAD, -1)->w, model_find(&x.m, "token_embd.weight"));
    close_model(&x);
}

#define GEMMA4 "\"model_type\":\"gemma4_text\"," LLAMA_FIELDS ",\"sliding_window\":32,\"sliding_window_pattern\":4," \
    "\"global_head_dim\":32,\"num_global_key_value_heads\":1,\"attention_k_eq_v\":true"

/* Three layers see 32 keys with 2 key heads of 16, the fourth all with one of 32, which is its values too: its q and output are
 * 64 x 128, its keys 32 x 64. Four norms of 64 a layer, and of a query and a key head. */
static void test_gemma4(void **state)
{
    (void)state;
    struct listed x;
    open_model(&x, GEMMA4);
    const uint64_t windowed = 2 * 64 * 64 + 2 * 32 * 64 + 2 * 16, full = 2 * 128 * 64 + 32 * 64 + 2 * 32;
    assert_int_equal(x.m.n_params, TABLE + LAST_NORM + 3 * windowed + full + 4 * (4 * 64 + FFN));
    assert_null(model_find(&x.m, "blk.3.attn_v.weight"));
    assert_non_null(model_find(&x.m, "blk.2.attn_v.weight"));
    const struct op *near = find(&x, OP_ATTENTION, ROLE_ATTN_CORE, 2), *far = find(&x, OP_ATTENTION, ROLE_ATTN_CORE, 3);
    assert_true(near->window == 32 && near->head_dim == 16 && near->n_head_kv == 2);
    assert_true(far->window == 0 && far->head_dim == 32 && far->head_dim_v == 32 && far->n_head_kv == 1 && far->n_head == 4);
    assert_true(far->scale == 1);
    assert_int_equal(find(&x, OP_KV_STORE, ROLE_KV_STORE, 3)->n_head_kv, 1);
    close_model(&x);
    /* 8 experts of 32, gate and up one matrix, beside the network of 128; a router; three more norms. */
    open_model(&x, GEMMA4 ",\"num_experts\":8,\"num_experts_per_tok\":2,\"moe_intermediate_size\":32");
    assert_int_equal(x.m.n_params, TABLE + LAST_NORM + 3 * windowed + full + 4 * (7 * 64 + FFN + 8 * 3 * 32 * 64 + 8 * 64));
    assert_int_equal(find(&x, OP_EXPERT_MATMUL, ROLE_EXPERT_UP, 0)->rows, 64);
    assert_int_equal(count(&x, OP_EXPERT_MATMUL, ROLE_EXPERT_GATE), 0);
    close_model(&x);
}

#define GEMMA4_SMALL "\"model_type\":\"gemma4_text\"," LLAMA_FIELDS ",\"sliding_window\":32,\"sliding_window_pattern\":2," \
    "\"global_head_dim\":32,\"num_kv_shared_layers\":2,\"use_double_wide_mlp\":true,\"hidden_size_per_layer_input\":8"

/* E2B: the last two layers read what the first two keep, their networks are twice as wide; the file has their keys and values,
 * which nothing reads. Every layer has an embedding of 8 of its own: a table of 32 a token, a product of 32 x 64 and its norm,
 * and 8 x 64 and back with a norm in every layer. */
static void test_gemma4_small(void **state)
{
    (void)state;
    struct listed x;
    open_model(&x, GEMMA4_SMALL);
    const uint64_t windowed = 2 * 64 * 64 + 2 * 32 * 64 + 2 * 16, full = 2 * 128 * 64 + 2 * 64 * 64 + 2 * 32;
    const uint64_t embeddings = 300 * 32 + 32 * 64 + 8 + 4 * (2 * 8 * 64 + 64);
    assert_int_equal(x.m.n_params, TABLE + LAST_NORM + 2 * (windowed + full) + 4 * 4 * 64 + 6 * FFN + embeddings);
    assert_int_equal(count(&x, OP_KV_STORE, ROLE_KV_STORE), 2);
    assert_int_equal(count(&x, OP_ATTENTION, ROLE_ATTN_CORE), 4);
    assert_int_equal(count(&x, OP_MATMUL, ROLE_ATTN_K), 2);
    assert_null(find(&x, OP_MATMUL, ROLE_ATTN_V, 2));
    assert_null(find(&x, OP_RMS_NORM, ROLE_ATTN_K_NORM, 3));
    assert_non_null(model_find(&x.m, "blk.3.attn_v.weight"));
    assert_true(find(&x, OP_ATTENTION, ROLE_ATTN_CORE, 2)->window == 32 && find(&x, OP_ATTENTION, ROLE_ATTN_CORE, 3)->head_dim == 32);
    assert_true(find(&x, OP_MATMUL, ROLE_FFN_UP, 1)->rows == 128 && find(&x, OP_MATMUL, ROLE_FFN_UP, 2)->rows == 256);
    assert_true(find(&x, OP_EMBED, ROLE_LAYER_EMBED, -1)->cols == 32 && find(&x, OP_GLU, ROLE_LAYER_EMBED, 3)->src2_at == 24);
    close_model(&x);
}

/* Biases of q, k and v; the shared expert of 96 is weighted by one row of 64. 8 experts of 32, 2 a token. */
static void test_qwen2moe(void **state)
{
    (void)state;
    struct listed x;
    open_model(&x, "\"model_type\":\"qwen2_moe\"," LLAMA_FIELDS ",\"num_experts\":8,\"num_experts_per_tok\":2,"
                   "\"moe_intermediate_size\":32,\"shared_expert_intermediate_size\":96");
    const uint64_t experts = 8 * 64 + 8 * 3 * 32 * 64, shared = 3 * 96 * 64 + 64;
    assert_int_equal(x.m.n_params, 2 * TABLE + 4 * (ATTENTION + 64 + 32 + 32 + experts + shared) + LAST_NORM);
    const struct op *op = find(&x, OP_MATMUL, ROLE_SHARED_ROUTER, 0);
    assert_true(op->rows == 1 && op->cols == 64);
    op = find(&x, OP_ACT, ROLE_SHARED_ROUTER, 0);
    assert_true(op->glu == GLU_SIGMOID && op->cols == 1);
    op = find(&x, OP_SCALE, ROLE_SHARED_ROUTER, 0);
    assert_true(op->dst == BUF_SHARED && op->cols == 64);
    assert_false(find(&x, OP_ROUTE, ROLE_FFN_ROUTE, 0)->route.norm);
    close_model(&x);
}

/* Queries and keys normed as rows of 64 and 32; intermediate_size is an expert's width. */
static void test_olmoe(void **state)
{
    (void)state;
    struct listed x;
    open_model(&x, "\"model_type\":\"olmoe\"," LLAMA_FIELDS ",\"num_experts\":8,\"num_experts_per_tok\":2");
    assert_int_equal(x.m.n_params, 2 * TABLE + 4 * (ATTENTION + 64 + 32 + 8 * 64 + 8 * FFN) + LAST_NORM);
    assert_int_equal(find(&x, OP_RMS_NORM, ROLE_ATTN_K_NORM, 0)->cols, 32);
    close_model(&x);
}

static void test_internlm2(void **state)
{
    (void)state;
    struct listed x;
    open_model(&x, "\"model_type\":\"internlm2\"," LLAMA_FIELDS ",\"bias\":false,\"rope_scaling\":{\"type\":\"dynamic\",\"factor\":2}");
    assert_int_equal(x.m.n_params, 2 * TABLE + 4 * (ATTENTION + FFN) + LAST_NORM);
    assert_int_equal(x.m.hp.rope_scaling, ROPE_SCALING_NONE);
    close_model(&x);
}

/* ChatGLM's own names: q, k and v are one matrix of 64 + 2 * 32 rows with as many biases, gate and up one of 256; half of a
 * head of 16 rotates; the base is 10000 * 50. */
static void test_chatglm(void **state)
{
    (void)state;
    struct listed x;
    open_model(&x, "\"model_type\":\"chatglm\",\"architectures\":[\"ChatGLMModel\"],\"hidden_size\":64,\"num_layers\":4,"
                   "\"num_attention_heads\":4,\"multi_query_attention\":true,\"multi_query_group_num\":2,\"kv_channels\":16,"
                   "\"ffn_hidden_size\":128,\"padded_vocab_size\":300,\"seq_length\":512,\"rope_ratio\":50,\"add_qkv_bias\":true");
    assert_int_equal(x.m.n_params, 2 * TABLE + 4 * (ATTENTION + 128 + FFN) + LAST_NORM);
    const struct op *op = find(&x, OP_MATMUL, ROLE_ATTN_QKV, 0);
    assert_true(op->rows == 128 && op->bias);
    assert_int_equal(find(&x, OP_MATMUL, ROLE_FFN_GATE_UP, 0)->rows, 256);
    assert_int_equal(find(&x, OP_ROPE, ROLE_ATTN_ROPE, 0)->n_rot, 8);
    assert_true(x.l.rope[0].theta == 500000 && x.m.hp.n_ctx_train == 512);
    close_model(&x);
}

/* Four norms a layer, gate and up in one matrix, half a head rotated unless the file says otherwise, q, k and v with biases. */
static void test_glm4(void **state)
{
    (void)state;
    struct listed x;
    open_model(&x, "\"model_type\":\"glm4\"," LLAMA_FIELDS ",\"attention_bias\":true");
    assert_int_equal(x.m.n_params, 2 * TABLE + 4 * (ATTENTION + 64 + 32 + 32 + FFN + 2 * 64) + LAST_NORM);
    assert_int_equal(find(&x, OP_ROPE, ROLE_ATTN_ROPE, 0)->n_rot, 8);
    assert_non_null(find(&x, OP_RMS_NORM, ROLE_FFN_POST_NORM, 3));
    assert_non_null(find(&x, OP_MATMUL, ROLE_FFN_GATE_UP, 0));
    assert_true(find(&x, OP_MATMUL, ROLE_ATTN_Q, 0)->bias && !find(&x, OP_MATMUL, ROLE_ATTN_OUTPUT, 0)->bias);
    close_model(&x);
}

/* One dense layer, then 8 experts of 32 chosen by sigmoids with 8 biases, and a shared one; norms of heads on request. */
static void test_glm4moe(void **state)
{
    (void)state;
    struct listed x;
    open_model(&x, "\"model_type\":\"glm4_moe\"," LLAMA_FIELDS ",\"attention_bias\":true,\"use_qk_norm\":true,"
                   "\"partial_rotary_factor\":0.5,\"n_routed_experts\":8,\"num_experts_per_tok\":2,\"n_shared_experts\":1,"
                   "\"moe_intermediate_size\":32,\"first_k_dense_replace\":1,\"routed_scaling_factor\":2.5");
    const uint64_t attention = ATTENTION + 64 + 32 + 32 + 2 * 16, experts = 8 * 64 + 8 + (8 + 1) * 3 * 32 * 64;
    assert_int_equal(x.m.n_params, 2 * TABLE + 4 * attention + FFN + 3 * experts + LAST_NORM);
    assert_non_null(model_find(&x.m, "blk.0.post_attention_norm.weight"));
    assert_null(find(&x, OP_ROUTE, ROLE_FFN_ROUTE, 0));
    const struct op *op = find(&x, OP_ROUTE, ROLE_FFN_ROUTE, 1);
    assert_true(op->w && op->route.gate == ROUTE_SIGMOID && op->route.norm && op->route.scale == 2.5f);
    assert_int_equal(find(&x, OP_ROPE, ROLE_ATTN_ROPE, 0)->n_rot, 8);
    assert_null(find(&x, OP_MATMUL, ROLE_ATTN_OUTPUT, 0)->bias);
    close_model(&x);
}

/* Two shared experts of 32 are one of 64. */
static void test_deepseek(void **state)
{
    (void)state;
    struct listed x;
    open_model(&x, "\"model_type\":\"deepseek\"," LLAMA_FIELDS ",\"n_routed_experts\":8,\"num_experts_per_tok\":2,"
                   "\"n_shared_experts\":2,\"moe_intermediate_size\":32,\"first_k_dense_replace\":1,\"moe_layer_freq\":1");
    const uint64_t experts = 8 * 64 + (8 + 2) * 3 * 32 * 64;
    assert_int_equal(x.m.n_params, 2 * TABLE + 4 * ATTENTION + FFN + 3 * experts + LAST_NORM);
    assert_int_equal(find(&x, OP_MATMUL, ROLE_SHARED_UP, 1)->rows, 64);
    assert_null(find(&x, OP_MATMUL, ROLE_SHARED_UP, 0));
    close_model(&x);
}

static void test_minimax(void **state)
{
    (void)state;
    struct listed x;
    open_model(&x, "\"model_type\":\"minimax_m2\"," LLAMA_FIELDS ",\"num_local_experts\":8,\"num_experts_per_tok\":2,"
                   "\"rotary_dim\":8");
    assert_int_equal(x.m.n_params, 2 * TABLE + 4 * (ATTENTION + 64 + 32 + 8 * 64 + 8 + 8 * FFN) + LAST_NORM);
    assert_int_equal(find(&x, OP_ROPE, ROLE_ATTN_ROPE, 0)->n_rot, 8);
    assert_int_equal(find(&x, OP_ROUTE, ROLE_FFN_ROUTE, 0)->route.gate, ROUTE_SIGMOID);
    close_model(&x);
}

/* The four multipliers; what is 1 costs nothing. */
static void test_granite(void **state)
{
    (void)state;
    struct listed x;
    open_model(&x, "\"model_type\":\"granite\"," LLAMA_FIELDS ",\"embedding_multiplier\":12,\"residual_multiplier\":0.22,"
                   "\"attention_multiplier\":0.015625,\"logits_scaling\":8,\"tie_word_embeddings\":true");
    assert_int_equal(x.m.n_params, TABLE + 4 * (ATTENTION + FFN) + LAST_NORM);
    assert_true(find(&x, OP_EMBED, ROLE_EMBED, -1)->scale == 12);
    assert_true(find(&x, OP_ATTENTION, ROLE_ATTN_CORE, 0)->scale == 0.015625f);
    const struct op *op = find(&x, OP_SCALE, ROLE_ATTN_RESIDUAL, 2);
    assert_true(op->scale == 0.22f && op->cols == 64 && op->dst == BUF_OUT && op[1].kind == OP_ADD);
    assert_int_equal(count(&x, OP_SCALE, ROLE_FFN_RESIDUAL), 4);
    op = find(&x, OP_SCALE, ROLE_LOGIT_SCALE, -1);
    assert_true(op->scale == 0.125f && op->cols == 300 && op->out_rows);
    close_model(&x);
    open_model(&x, "\"model_type\":\"granite\"," LLAMA_FIELDS ",\"embedding_multiplier\":1,\"residual_multiplier\":1");
    assert_true(find(&x, OP_EMBED, ROLE_EMBED, -1)->scale == 0);
    assert_int_equal(count(&x, OP_SCALE, ROLE_FFN_RESIDUAL) + count(&x, OP_SCALE, ROLE_LOGIT_SCALE), 0);
    close_model(&x);
    open_model(&x, "\"model_type\":\"granitemoe\"," LLAMA_FIELDS ",\"num_local_experts\":8,\"num_experts_per_tok\":2");
    assert_int_equal(x.m.n_params, 2 * TABLE + 4 * (ATTENTION + 8 * 64 + 8 * FFN) + LAST_NORM);
    close_model(&x);
}

/* Chunks of 32 and rotation in layers 0 to 2, neither in layer 3; one of 8 experts of 128 and a shared one in layers 1 and 3, the
 * others dense and 192 wide. */
static void test_llama4(void **state)
{
    (void)state;
    struct listed x;
    open_model(&x, "\"model_type\":\"llama4\",\"architectures\":[\"Llama4ForConditionalGeneration\"],\"text_config\":{" LLAMA_FIELDS
                   ",\"intermediate_size_mlp\":192,\"num_local_experts\":8,\"num_experts_per_tok\":1,"
                   "\"interleave_moe_layer_step\":2,\"moe_layers\":[1,3],\"no_rope_layers\":[1,1,1,0],"
                   "\"attention_chunk_size\":32,\"use_qk_norm\":true,\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":16,"
                   "\"low_freq_factor\":1,\"high_freq_factor\":1,\"original_max_position_embeddings\":256}}");
    /* 8 factors of the rotation are a table */
    assert_int_equal(x.m.n_params - 8, 2 * TABLE + 4 * ATTENTION + 2 * 3 * 192 * 64 + 2 * (8 * 64 + 9 * FFN) + LAST_NORM);
    for (int i = 0; i < 4; i++) {
        const struct op *op = find(&x, OP_ATTENTION, ROLE_ATTN_CORE, i), *kv = find(&x, OP_KV_STORE, ROLE_KV_STORE, i);
        assert_int_equal(op->window, i == 3 ? 0 : 32);
        assert_int_equal(kv->window, op->window);
        assert_true(op->chunked == (i != 3) && kv->chunked == op->chunked);
        assert_true((find(&x, OP_ROPE, ROLE_ATTN_ROPE, i) != NULL) == (i != 3));
        op = find(&x, OP_RMS_NORM, ROLE_ATTN_Q_NORM, i);
        assert_true((op != NULL) == (i != 3));
        assert_true(i == 3 || (!op->w && op->n_head == 4 && op->cols == 16));
        assert_true((find(&x, OP_ROUTE, ROLE_FFN_ROUTE, i) != NULL) == (i % 2 == 1));
        assert_true((find(&x, OP_MATMUL, ROLE_SHARED_UP, i) != NULL) == (i % 2 == 1));
    }
    close_model(&x);
}

/* Four norms a layer, GELU experts, scores under a cap of 30, logits times 0.577. */
static void test_grok(void **state)
{
    (void)state;
    struct listed x;
    open_model(&x, "\"model_type\":\"grok-1\"," LLAMA_FIELDS ",\"num_experts\":8,\"num_experts_per_tok\":2");
    assert_int_equal(x.m.n_params, TABLE + 4 * (ATTENTION + 2 * 64 + 8 * 64 + 8 * FFN) + LAST_NORM);
    assert_true(find(&x, OP_ATTENTION, ROLE_ATTN_CORE, 0)->softcap == 30);
    assert_int_equal(find(&x, OP_GLU, ROLE_EXPERT_ACT, 0)->glu, GLU_GELU);
    assert_int_equal(count(&x, OP_RMS_NORM, ROLE_FFN_POST_NORM), 4);
    assert_true(fabs((double)find(&x, OP_SCALE, ROLE_LOGIT_SCALE, -1)->scale - 1 / sqrt(3)) < 1e-6);
    assert_true(fabs((double)find(&x, OP_EMBED, ROLE_EMBED, -1)->scale - sqrt(6144)) < 1e-5);
    close_model(&x);
}

/* LayerNorm without biases, the objects attn_config and ffn_config, q, k and v in one matrix. */
static void test_dbrx(void **state)
{
    (void)state;
    struct listed x;
    open_model(&x, "\"model_type\":\"dbrx\",\"d_model\":64,\"n_layers\":4,\"n_heads\":4,\"vocab_size\":300,\"max_seq_len\":512,"
                   "\"attn_config\":{\"kv_n_heads\":2,\"rope_theta\":5e5,\"clip_qkv\":8},"
                   "\"ffn_config\":{\"ffn_hidden_size\":128,\"moe_num_experts\":8,\"moe_top_k\":2}");
    assert_int_equal(x.m.n_params, 2 * TABLE + 4 * (ATTENTION + 8 * 64 + 8 * FFN) + LAST_NORM);
    const struct op *op = find(&x, OP_LAYER_NORM, ROLE_FFN_NORM, 0);
    assert_true(op->w && !op->bias && x.l.rope[0].theta == 5e5 && x.m.hp.n_ctx_train == 512);
    assert_int_equal(count(&x, OP_RMS_NORM, ROLE_ATTN_NORM), 0);
    assert_non_null(find(&x, OP_LAYER_NORM, ROLE_OUTPUT_NORM, -1));
    close_model(&x);
}

/* LayerNorm with biases; biases of q, k, v, output and LM head. */
static void test_phimoe(void **state)
{
    (void)state;
    struct listed x;
    open_model(&x, "\"model_type\":\"phimoe\"," LLAMA_FIELDS ",\"num_local_experts\":8,\"num_experts_per_tok\":2,"
                   "\"attention_bias\":true,\"lm_head_bias\":true,\"rope_scaling\":{\"type\":\"longrope\"},"
                   "\"original_max_position_embeddings\":64");
    const uint64_t biases = 2 * 64 + 64 + 32 + 32 + 64; /* norms, q, k, v, output */
    /* two tables of 8 factors */
    assert_int_equal(x.m.n_params - 16,
                     2 * TABLE + 300 + 4 * (ATTENTION + biases + 8 * 64 + 8 * FFN) + 2 * LAST_NORM);
    assert_non_null(find(&x, OP_LAYER_NORM, ROLE_ATTN_NORM, 0)->bias);
    assert_non_null(find(&x, OP_MATMUL, ROLE_LM_HEAD, -1)->bias);
    close_model(&x);
    /* a tied head has its own bias */
    open_model(&x, "\"model_type\":\"phimoe\"," LLAMA_FIELDS ",\"num_local_experts\":8,\"num_experts_per_tok\":2,"
                   "\"lm_head_bias\":true,\"tie_word_embeddings\":true");
    assert_int_equal(x.m.n_params, TABLE + 300 + 4 * (ATTENTION + 2 * 64 + 8 * 64 + 8 * FFN) + 2 * LAST_NORM);
    const struct op *head = find(&x, OP_MATMUL, ROLE_LM_HEAD, -1);
    assert_ptr_equal(head->w, model_find(&x.m, "token_embd.weight"));
    assert_ptr_equal(head->bias, model_find(&x.m, "output.bias"));
    close_model(&x);
}

/* What files must not say, by name. */
static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *config, *expect;
    } cases[] = {
        { "\"model_type\":\"qwen2_moe\"," LLAMA_FIELDS, "num_experts is missing or 0: qwen2_moe has experts" },
        { "\"model_type\":\"qwen2_moe\"," LLAMA_FIELDS ",\"num_experts\":8,\"num_experts_per_tok\":2,"
          "\"moe_intermediate_size\":32,\"decoder_sparse_step\":2", "decoder_sparse_step is 2" },
        { "\"model_type\":\"olmoe\"," LLAMA_FIELDS, "num_experts is missing or 0: olmoe has experts" },
        { GEMMA4 ",\"num_kv_shared_layers\":1", "num_kv_shared_layers is 1 of 4 layers: expected a whole period of 4" },
        { GEMMA4 ",\"num_kv_shared_layers\":4294967295", "num_kv_shared_layers is 4294967295 of 4" },
        { GEMMA4_SMALL ",\"vocab_size_per_layer_input\":299", "vocab_size_per_layer_input 299: expected" },
        { "\"model_type\":\"gemma4_text\"," LLAMA_FIELDS ",\"hidden_size_per_layer_input\":4194305", "hidden_size_per_layer_input is 4194305" },
        { "\"model_type\":\"gemma4_text\"," LLAMA_FIELDS ",\"num_global_key_value_heads\":3", "a divisor of the 4 heads" },
        { "\"model_type\":\"gemma\"," LLAMA_FIELDS ",\"num_experts\":8,\"num_experts_per_tok\":2", "mixtures of experts" },
        { "\"model_type\":\"chatglm\",\"hidden_size\":64,\"num_layers\":4,\"num_attention_heads\":4,\"ffn_hidden_size\":128",
          "\"padded_vocab_size\" is missing" },
        { "\"model_type\":\"chatglm\",\"hidden_size\":64,\"num_layers\":5000,\"num_attention_heads\":4,\"ffn_hidden_size\":128,"
          "\"padded_vocab_size\":300", "num_layers is 5000" },
        { "\"model_type\":\"chatglm\",\"hidden_size\":66,\"num_layers\":4,\"num_attention_heads\":4,\"ffn_hidden_size\":128,"
          "\"padded_vocab_size\":300", "a field \"kv_channels\"" },
        { "\"model_type\":\"chatglm\",\"hidden_size\":64,\"num_layers\":4,\"num_attention_heads\":4,\"ffn_hidden_size\":128,"
          "\"padded_vocab_size\":300,\"add_bias_linear\":true", "add_bias_linear is true" },
        { "\"model_type\":\"chatglm\",\"hidden_size\":64,\"num_layers\":4,\"num_attention_heads\":4,\"ffn_hidden_size\":128,"
          "\"padded_vocab_size\":300,\"rmsnorm\":false", "rmsnorm is false" },
        { "\"model_type\":\"deepseek\"," LLAMA_FIELDS ",\"n_routed_experts\":8,\"num_experts_per_tok\":2,"
          "\"moe_intermediate_size\":32,\"first_k_dense_replace\":1,\"n_shared_experts\":1,\"moe_layer_freq\":2", "moe_layer_freq is 2" },
        { "\"model_type\":\"deepseek\"," LLAMA_FIELDS ",\"n_routed_experts\":8,\"num_experts_per_tok\":2",
          "\"moe_intermediate_size\" is missing" },
        { "\"model_type\":\"deepseek\"," LLAMA_FIELDS ",\"n_routed_experts\":8,\"num_experts_per_tok\":2,"
          "\"moe_intermediate_size\":32,\"first_k_dense_replace\":1,\"n_shared_experts\":4000000000", "n_shared_experts is 4000000000" },
        { "\"model_type\":\"minimax_m2\"," LLAMA_FIELDS ",\"num_local_experts\":8,\"num_experts_per_tok\":2,"
          "\"qk_norm_type\":\"per_head\"", "qk_norm_type is \"per_head\"" },
        { "\"model_type\":\"minimax_m2\"," LLAMA_FIELDS ",\"num_local_experts\":8,\"num_experts_per_tok\":2,"
          "\"rotary_dim\":18", "18" },
        { "\"model_type\":\"llama4_text\"," LLAMA_FIELDS ",\"num_local_experts\":8,\"num_experts_per_tok\":1",
          "field \"intermediate_size_mlp\" is missing" },
        { "\"model_type\":\"llama4_text\",\"hidden_size\":64,\"num_hidden_layers\":4", "field \"intermediate_size\" is missing" },
        { "\"model_type\":\"deepseek\"," LLAMA_FIELDS, "num_experts (n_routed_experts) is missing or 0: deepseek has experts" },
        { "\"model_type\":\"glm4_moe\"," LLAMA_FIELDS ",\"n_routed_experts\":null",
          "num_experts (n_routed_experts) is missing or 0: glm4_moe has experts" },
        { "\"model_type\":\"glm4_moe\"," LLAMA_FIELDS ",\"n_routed_experts\":8,\"num_experts_per_tok\":2,"
          "\"moe_intermediate_size\":32,\"first_k_dense_replace\":1", "field \"n_shared_experts\" is missing" },
        { "\"model_type\":\"glm4_moe\"," LLAMA_FIELDS ",\"n_routed_experts\":8,\"num_experts_per_tok\":2,"
          "\"moe_intermediate_size\":32,\"first_k_dense_replace\":5,\"n_shared_experts\":1",
          "first_k_dense_replace is 5, expected at most num_hidden_layers, which is 4" },
        /* 1024 of 8192 are twice the widest, 2^22 */
        { "\"model_type\":\"deepseek\"," LLAMA_FIELDS ",\"n_routed_experts\":8,\"num_experts_per_tok\":2,"
          "\"moe_intermediate_size\":8192,\"first_k_dense_replace\":1,\"n_shared_experts\":1024",
          "n_shared_experts x moe_intermediate_size is 1024 x 8192, expected at most 4194304" },
        { "\"model_type\":\"phimoe\"," LLAMA_FIELDS ",\"rms_norm_eps\":2",
          "rms_norm_eps is 2, expected a number from 0 to 1 (the epsilon of LayerNorm)" },
        { "\"model_type\":\"gpt2\"," LLAMA_FIELDS ",\"layer_norm_epsilon\":-1",
          "layer_norm_epsilon is -1, expected a number from 0 to 1 (the epsilon of LayerNorm)" },
        { "\"model_type\":\"granite\"," LLAMA_FIELDS ",\"logits_scaling\":0", "logits_scaling is 0" },
        { "\"model_type\":\"granite\"," LLAMA_FIELDS ",\"residual_multiplier\":-1", "residual_multiplier is -1" },
        { "\"model_type\":\"llama4_text\"," LLAMA_FIELDS, "num_experts (num_local_experts) is missing or 0: llama4_text has experts" },
        { "\"model_type\":\"llama4_text\"," LLAMA_FIELDS ",\"intermediate_size_mlp\":192,\"num_local_experts\":8,\"num_experts_per_tok\":1,"
          "\"interleave_moe_layer_step\":2,\"moe_layers\":[0,2]", "moe_layers[0]" },
        { "\"model_type\":\"llama4_text\"," LLAMA_FIELDS ",\"intermediate_size_mlp\":192,\"num_local_experts\":8,\"num_experts_per_tok\":1,"
          "\"interleave_moe_layer_step\":2,\"moe_layers\":[1]", "moe_layers has 1 entries, expected 2" },
        { "\"model_type\":\"llama4_text\"," LLAMA_FIELDS ",\"intermediate_size_mlp\":192,\"num_local_experts\":8,\"num_experts_per_tok\":1,"
          "\"no_rope_layers\":[1,0,1,0]", "no_rope_layers[1]" },
        { "\"model_type\":\"llama4_text\"," LLAMA_FIELDS ",\"intermediate_size_mlp\":192,\"num_local_experts\":8,\"num_experts_per_tok\":1,"
          "\"no_rope_layers\":[1,0]", "no_rope_layers has 2 entries" },
        { "\"model_type\":\"dbrx\",\"d_model\":64,\"n_layers\":4,\"n_heads\":4,\"vocab_size\":300",
          "attn_config: expected an object" },
        { "\"model_type\":\"dbrx\",\"d_model\":64,\"n_layers\":4,\"n_heads\":4,\"vocab_size\":300,\"attn_config\":{},"
          "\"ffn_config\":{}", "ffn_config: field \"ffn_hidden_size\" is missing" },
        { "\"model_type\":\"dbrx\",\"d_model\":64,\"n_layers\":4,\"n_heads\":4,\"vocab_size\":300,\"attn_config\":{},"
          "\"ffn_config\":{\"ffn_hidden_size\":128,\"moe_num_experts\":8,\"moe_top_k\":9}",
          "moe_top_k is 9, expected 1 to moe_num_experts, which is 8" },
        { "\"model_type\":\"dbrx\",\"n_layers\":4,\"n_heads\":4,\"vocab_size\":300", "\"d_model\" is missing" },
        { "\"model_type\":\"phimoe\"," LLAMA_FIELDS ",\"num_local_experts\":8,\"num_experts_per_tok\":2,\"mlp_bias\":true",
          "mlp_bias is true" },
        { "\"model_type\":\"grok-1\"," LLAMA_FIELDS ",\"num_experts\":8,\"num_experts_per_tok\":9", "num_experts_per_tok is 9, expected 1 to num_experts, which is 8" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hparams hp;
        struct error err = { 0 };
        const char *arch;
        char text[2048];
        snprintf(text, sizeof text, "{%s}", cases[i].config);
        assert_fails(model_parse_config("t.json", text, strlen(text), &hp, &arch, &err), err, cases[i].expect);
        assert_int_equal(err.kind, ERROR_INPUT);
    }
}

/* A file of random weights would be one that nothing here reads. */
static void test_no_synth(void **state)
{
    (void)state;
    struct listed x;
    struct error err = { 0 };
    const struct synth_options o = { .seed = 1 };
    open_model(&x, "\"model_type\":\"gemma\"," LLAMA_FIELDS);
    assert_fails(model_synth(&x.m, "unwritten.gguf", &o, &err), err, "architecture gemma is predicted");
    close_model(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemma),    cmocka_unit_test(test_gemma4), cmocka_unit_test(test_gemma4_small), cmocka_unit_test(test_qwen2moe), cmocka_unit_test(test_olmoe),
        cmocka_unit_test(test_internlm2), cmocka_unit_test(test_chatglm), cmocka_unit_test(test_glm4moe), cmocka_unit_test(test_glm4),
        cmocka_unit_test(test_deepseek), cmocka_unit_test(test_minimax),  cmocka_unit_test(test_granite),
        cmocka_unit_test(test_llama4),   cmocka_unit_test(test_grok),     cmocka_unit_test(test_dbrx),
        cmocka_unit_test(test_phimoe),   cmocka_unit_test(test_refused),  cmocka_unit_test(test_no_synth),
    };
    return cmocka_run_group_tests_name("archs_llama_like", tests, NULL, NULL);
}
