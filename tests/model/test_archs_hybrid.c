/* Hybrids and sparse attention: the parameters of the presets, the price of one layer of each kind by hand, what is refused.
 * methods.md (19), (18). */
#include "base/environment.h"
#include "tests/near.h"
#include "../test.h"
#include "base/json.h"
#include "cost/cost.h"

/* ---- parameters ---------------------------------------------------------------------------------- */

/* Summed outside this program, from the dimensions of config.json files; Falcon-H1's is the hub's count. */
static void parameters(void **state)
{
    (void)state;
    static const struct {
        const char *name, *arch;
        uint64_t n_params;
    } rows[] = {
        { "qwen3-next-80b-a3b", "qwen3next", 79674391296 },
        { "qwen3.5-27b", "qwen35", 26895998464 },
        { "qwen3.5-35b-a3b", "qwen35moe", 34660610688 },
        { "jamba-v0.1-52b", "jamba", 51570323328 },
        { "granite-4.0-h-tiny", "granitehybrid", 6939037248 },
        { "nemotron-3-nano-30b-a3b", "nemotron_h", 31577940288 },
        { "nemotron-3-super-120b-a12b", "nemotron_h", 120668707840 },
        { "lfm2-1.2b", "lfm2", 1170340608 },
        { "lfm2-8b-a1b", "lfm2moe", 8339930560 },
        { "falcon-h1-7b", "falcon-h1", 7585654880 },
        { "deepseek-v3.2", "deepseek32", 671877944064 },
        { "deepseek-v4-flash", "deepseek4", 284332240471 },
        { "glm-5", "deepseek32", 743911218432 },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct model m;
        struct error err = { 0 };
        assert_ok(model_load(&m, rows[i].name, NULL, &err), err);
        assert_int_equal(m.n_params, rows[i].n_params);
        assert_string_equal(model_arch_name(&m), rows[i].arch);
        assert_false(model_executable(&m));
        model_free(&m);
    }
}

/* ---- small models ---------------------------------------------------------------------------------- */

#define COMMON                                                                                             \
    "\"hidden_size\":64,\"num_attention_heads\":4,\"num_key_value_heads\":2,\"vocab_size\":300,"              \
    "\"intermediate_size\":96,"
#define MAMBA "\"mamba_n_heads\":4,\"mamba_d_head\":32,\"mamba_d_state\":16,\"mamba_n_groups\":2,\"mamba_d_conv\":4"

static const char granite[] = "{\"model_type\":\"granitemoehybrid\"," COMMON MAMBA
                              ",\"num_hidden_layers\":2,\"layer_types\":[\"mamba\",\"attention\"],"
                              "\"num_local_experts\":0,\"shared_intermediate_size\":96,\"position_embedding_type\":\"nope\"}";
static const char qwen[] = "{\"model_type\":\"qwen3_next\"," COMMON
                           "\"num_hidden_layers\":4,\"head_dim\":16,\"linear_num_key_heads\":2,\"linear_key_head_dim\":16,"
                           "\"linear_num_value_heads\":4,\"linear_value_head_dim\":32,\"linear_conv_kernel_dim\":3,"
                           "\"num_experts\":4,\"num_experts_per_tok\":2,\"moe_intermediate_size\":32,"
                           "\"shared_expert_intermediate_size\":48}";
static const char dense[] = "{\"model_type\":\"qwen3_5\"," COMMON
                            "\"num_hidden_layers\":4,\"head_dim\":16,\"linear_num_key_heads\":2,\"linear_key_head_dim\":16,"
                            "\"linear_num_value_heads\":4,\"linear_value_head_dim\":32,\"linear_conv_kernel_dim\":3}";
static const char jamba[] = "{\"model_type\":\"jamba\"," COMMON
                            "\"num_hidden_layers\":8,\"num_experts\":4,\"num_experts_per_tok\":2,\"mamba_d_state\":8,"
                            "\"mamba_d_conv\":4,\"mamba_dt_rank\":\"auto\"}";
static const char nemotron[] = "{\"model_type\":\"nemotron_h\"," COMMON
                               "\"num_hidden_layers\":4,\"hybrid_override_pattern\":\"ME*-\",\"mamba_num_heads\":4,"
                               "\"mamba_head_dim\":32,\"ssm_state_size\":16,\"n_groups\":2,\"conv_kernel\":4,"
                               "\"n_routed_experts\":4,\"num_experts_per_tok\":2,\"n_shared_experts\":1,"
                               "\"moe_intermediate_size\":32,\"moe_shared_expert_intermediate_size\":48}";
static const char wide[] = "{\"model_type\":\"nemotron_h\"," COMMON
                           "\"num_hidden_layers\":1,\"hybrid_override_pattern\":\"M\",\"mamba_num_heads\":512,"
                           "\"mamba_head_dim\":4096,\"ssm_state_size\":16,\"n_groups\":512,\"conv_kernel\":4}";
static const char falcon[] = "{\"model_type\":\"falcon_h1\"," COMMON MAMBA ",\"num_hidden_layers\":2,\"mamba_d_ssm\":128}";
#define LFM2_LAYERS "\"num_hidden_layers\":3,\"layer_types\":[\"conv\",\"full_attention\",\"conv\"],\"conv_L_cache\":3,"
static const char lfm2[] = "{\"model_type\":\"lfm2\"," COMMON LFM2_LAYERS "\"conv_bias\":false}";
static const char lfm2_moe[] = "{\"model_type\":\"lfm2_moe\"," COMMON LFM2_LAYERS
                               "\"num_experts\":4,\"num_experts_per_tok\":2,\"moe_intermediate_size\":32,\"num_dense_layers\":1}";
/* As many dense layers as there are: the experts it must have cost nothing. */
#define DENSE_EXPERTS                                                                                              \
    "\"first_k_dense_replace\":2,\"n_routed_experts\":4,\"num_experts_per_tok\":2,\"moe_intermediate_size\":32,"  \
    "\"n_shared_experts\":1"
static const char deepseek[] = "{\"model_type\":\"deepseek_v32\"," COMMON
                               "\"num_hidden_layers\":2,\"q_lora_rank\":32,\"kv_lora_rank\":16,\"qk_nope_head_dim\":16,"
                               "\"qk_rope_head_dim\":8,\"v_head_dim\":16,\"index_n_heads\":2,\"index_head_dim\":16,"
                               "\"index_topk\":100," DENSE_EXPERTS "}";

static const char deepseek4[] = "{\"model_type\":\"deepseek_v4\",\"hidden_size\":64,\"num_attention_heads\":4,\"num_key_value_heads\":1,"
                                "\"vocab_size\":300,\"num_hidden_layers\":3,\"head_dim\":16,\"compress_ratios\":[0,4,128],\"sliding_window\":32,"
                                "\"q_lora_rank\":32,\"qk_rope_head_dim\":8,\"o_groups\":2,\"o_lora_rank\":8,\"index_n_heads\":2,"
                                "\"index_head_dim\":8,\"index_topk\":10,\"hc_mult\":2,\"num_hash_layers\":1,\"n_routed_experts\":4,"
                                "\"num_experts_per_tok\":2,\"n_shared_experts\":1,\"moe_intermediate_size\":32}";

static const struct cost_options floats = { .act_elem_bytes = 4, .type_k = DTYPE_F16, .type_v = DTYPE_F16 };

struct fixture {
    struct model m;
    struct op_list l;
};

static void open_model(struct fixture *f, const char *text)
{
    struct hparams hp;
    const char *arch;
    struct error err = { 0 };
    assert_ok(model_parse_config("t.json", text, strlen(text), &hp, &arch, &err), err);
    assert_ok(model_from_hparams(&f->m, "t", arch, &hp, "F32", &err), err);
    assert_ok(op_list_build(&f->l, &f->m, &err), err);
}

static void close_model(struct fixture *f)
{
    op_list_free(&f->l);
    model_free(&f->m);
}

/* Of the ops with these roles in layer 0. */
static struct cost layer_cost(const struct fixture *f, enum op_role from, enum op_role to, uint32_t n_tok, uint32_t n_past)
{
    const struct pass p = { .n_tok = n_tok, .n_past = n_past, .n_seq = 1, .n_out = 1 };
    struct cost sum = { 0 };
    for (size_t i = 0; i < f->l.n; i++)
        if (f->l.ops[i].layer == 0 && f->l.ops[i].role >= from && f->l.ops[i].role <= to)
            sum = cost_add(sum, cost_op(&f->l.ops[i], &p, &floats));
    return sum;
}

static void is(struct cost c, double weight, double act, double kv, double flop)
{
    assert_near(c.weight_bytes, weight, 0);
    assert_near(c.act_bytes, act, 0);
    assert_near(c.kv_bytes, kv, 0);
    assert_near(c.flop, flop, 0);
}

static void shape(const struct fixture *f, const char *name, uint64_t rows, uint64_t cols)
{
    const struct tensor *t = model_find(&f->m, name);
    if (!t)
        fail_msg("no tensor %s", name);
    assert_int_equal(t->rows, rows);
    assert_int_equal(t->cols, cols);
}

static uint32_t n_ops(const struct fixture *f, enum op_kind kind, int layer)
{
    uint32_t n = 0;
    for (size_t i = 0; i < f->l.n; i++)
        n += f->l.ops[i].kind == kind && f->l.ops[i].layer == layer;
    return n;
}

/*
 * Mamba-2: 4 heads of 32, 16 states, 2 groups, convolution over 4; width 128, B and C 2 * 2 * 16 = 64.
 *   tensor         elements                        FLOP a token                      activations a token
 *   in             324 x 64      20,736            2 * 324 * 64            41,472    64 + 324           388
 *   conv, bias     192 x 4, 192     960            2 * 192 * 4 + 192        1,728    2 * 192            384
 *   silu                                           4 * 192                    768    2 * 192            384
 *   steps          4                  4            (3 + 1) * 4                 16    2 * 4                8
 *   scan: A, D     4, 4               8            5*128*16 + 3*128 + 2*4  10,632    128 + 64 + 4 + 128 324
 *   gate                                           5 * 128                    640    3 * 128            384
 *   norm           128              128            4 * 128                    512    2 * 128            256
 *   out            64 x 128       8,192            2 * 64 * 128            16,384    128 + 64           192
 *   sum                          30,028                                    72,152                     2,320
 * State: 192 * 3 + 128 * 16 = 2624 elements of 4 B = 10,496 B, read and written by a token as by 512.
 * The other layer caches 2 heads of 16, keys and values, F16: 128 B a token.
 */
static void mamba2_layer(void **state)
{
    (void)state;
    struct fixture f;
    open_model(&f, granite);
    shape(&f, "blk.0.ssm_in.weight", 324, 64);
    shape(&f, "blk.0.ssm_conv1d.weight", 192, 4);
    shape(&f, "blk.0.ssm_conv1d.bias", 1, 192);
    is(layer_cost(&f, ROLE_SSM_IN, ROLE_SSM_OUT, 1, 0), 4 * 30028, 4 * 2320, 2 * 10496, 72152);
    is(layer_cost(&f, ROLE_SSM_IN, ROLE_SSM_OUT, 1, 9999), 4 * 30028, 4 * 2320, 2 * 10496, 72152);
    is(layer_cost(&f, ROLE_SSM_IN, ROLE_SSM_OUT, 512, 0), 4 * 30028, 512 * 4 * 2320, 2 * 10496, 512 * 72152);
    assert_near(cost_kv_bytes_token(&f.l, &floats), 128, 0);
    assert_near(cost_state_bytes_sequence(&f.l), 10496, 0);
    assert_near(cost_kv_bytes(&f.l, &floats, 1000, 512), 1000 * 128 + 10496, 0);
    assert_int_equal(n_ops(&f, OP_KV_STORE, 0), 0);
    assert_int_equal(n_ops(&f, OP_KV_STORE, 1), 1);
    assert_int_equal(n_ops(&f, OP_ROPE, 1), 0);
    /* Three sequences have three states. */
    const struct pass three = { .n_tok = 3, .n_seq = 3, .n_out = 3 };
    for (size_t i = 0; i < f.l.n; i++)
        if (f.l.ops[i].kind == OP_SSM_SCAN)
            assert_near(cost_op(&f.l.ops[i], &three, &floats).kv_bytes, 3 * 2 * 4 * 128 * 16, 0);
    close_model(&f);
}

/*
 * Gated DeltaNet: 2 heads of keys of 16, 4 of values of 32, convolution over 3; q and k 32 each, v and z 128 each.
 *   in             320 x 64      20,480            2 * 320 * 64            40,960    64 + 320           384
 *   b, a             8 x 64         512            2 * 8 * 64               1,024    64 + 8              72
 *   conv           192 x 3          576            2 * 192 * 3              1,152    2 * 192            384
 *   silu                                           4 * 192                    768    2 * 192            384
 *   lengths of q, k                                4 * 2 * 2 * 16             256    2 * 64             128
 *   sigmoid                                        4 * 4                       16    2 * 4                8
 *   steps          4                  4            (3 + 1) * 4                 16    2 * 4                8
 *   rule: A        4                  4            7*4*16*32 + 2*128 + 2*4 14,600    128+64+8 + 128     328
 *   norm           32                32            4 * 128                    512    2 * 128            256
 *   gate                                           5 * 128                    640    3 * 128            384
 *   out            64 x 128       8,192            2 * 64 * 128            16,384    128 + 64           192
 *   sum                          29,800                                    76,328                     2,528
 * State: 192 * 2 + 4 * 16 * 32 = 2432 elements, 9728 B. Three such layers, then one of attention whose query matrix makes
 * gates too: 2 * 4 * 16 rows.
 */
static void delta_net_layer(void **state)
{
    (void)state;
    struct fixture f;
    open_model(&f, qwen);
    is(layer_cost(&f, ROLE_SSM_IN, ROLE_SSM_OUT, 1, 77), 4 * 29800, 4 * 2528, 2 * 9728, 76328);
    is(layer_cost(&f, ROLE_SSM_IN, ROLE_SSM_OUT, 512, 0), 4 * 29800, 512 * 4 * 2528, 2 * 9728, 512 * 76328);
    assert_near(cost_state_bytes_sequence(&f.l), 3 * 9728, 0);
    assert_near(cost_kv_bytes_token(&f.l, &floats), 2 * 2 * 16 * 2, 0);
    shape(&f, "blk.0.ssm_in.weight", 320, 64);
    shape(&f, "blk.0.ssm_ba.weight", 8, 64);
    shape(&f, "blk.3.attn_q.weight", 2 * 4 * 16, 64);
    shape(&f, "blk.3.ffn_gate_inp_shexp.weight", 1, 64);
    assert_null(model_find(&f.m, "blk.0.ssm_conv1d.bias"));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(n_ops(&f, OP_DELTA_RULE, i), i < 3);
        assert_int_equal(n_ops(&f, OP_ATTENTION, i), i == 3);
        assert_int_equal(n_ops(&f, OP_ROUTE, i), 1);
    }
    close_model(&f);
    /* Qwen3.5: the same weights in four matrices */
    open_model(&f, dense);
    assert_near(layer_cost(&f, ROLE_SSM_IN, ROLE_SSM_OUT, 1, 77).weight_bytes, 4 * 29800, 0);
    assert_near(layer_cost(&f, ROLE_SSM_IN, ROLE_SSM_OUT, 1, 77).flop, 76328, 0);
    shape(&f, "blk.0.ssm_qkv.weight", 192, 64);
    shape(&f, "blk.0.ssm_z.weight", 128, 64);
    assert_int_equal(f.l.width[BUF_SSM_IN], 320);
    close_model(&f);
}

/*
 * Mamba-1: width 128, 8 states, convolution over 4, steps of rank 64 / 16 = 4.
 *   in             256 x 64      16,384            2 * 256 * 64            32,768
 *   conv, bias     128 x 4, 128     640            2 * 128 * 4 + 128        1,152
 *   silu                                           4 * 128                    512
 *   x              20 x 128       2,560            2 * 20 * 128             5,120
 *   norms          4 + 8 + 8         20            4 * 20                      80
 *   dt, bias       128 x 4, 128     640            2 * 128 * 4 + 128        1,152
 *   softplus                                       3 * 128                    384
 *   scan: A, D     128 x 8, 128   1,152            7 * 128 * 8 + 3 * 128    7,552   a decay for every state
 *   gate                                           5 * 128                    640
 *   out            64 x 128       8,192            2 * 64 * 128            16,384
 *   sum                          29,588                                    65,744
 * State: 128 * 3 + 128 * 8 = 1408 elements, 5632 B. Of 8 layers the fifth is attention, the odd ones have experts.
 */
static void mamba1_layer(void **state)
{
    (void)state;
    struct fixture f;
    open_model(&f, jamba);
    const struct cost c = layer_cost(&f, ROLE_SSM_IN, ROLE_SSM_OUT, 1, 5);
    assert_near(c.weight_bytes, 4 * 29588, 0);
    assert_near(c.kv_bytes, 2 * 5632, 0);
    assert_near(c.flop, 65744, 0);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(n_ops(&f, OP_SSM_SCAN, i), i != 4);
        assert_int_equal(n_ops(&f, OP_KV_STORE, i), i == 4);
        assert_int_equal(n_ops(&f, OP_ROUTE, i), i % 2);
    }
    close_model(&f);
}

/*
 * Indexer: 2 heads of 16, 100 keys chosen; q from a latent of 32.
 *   q              32 x 32        1,024            2 * 32 * 32              2,048    32 + 32             64
 *   k              16 x 64        1,024            2 * 16 * 64              2,048    64 + 16             80
 *   norm, bias     16, 16            32            7 * 16                     112    2 * 16              32
 *   rotations                                      3 * 8 * (2 + 1)             72    2 * 8 * 3           48
 *   store                                                                            16                  16
 *   weights        2 x 64           128            2 * 2 * 64                 256    64 + 2              66
 *   index                                          2*2*16 + 3*2 = 70 a pair          2 * 17 + 100       134
 *   sum                           2,208                                     4,536                       440
 * The 512th token scores 512 keys of 32 B and stores one: 4,536 + 35,840 FLOP, 16,384 + 32 B. 512 tokens at once score
 * 512 * 513 / 2 = 131,328 pairs. Attention behind it, absorbed: 4 heads of 24 and 16, 2 * 4 * 40 = 320 FLOP a pair; 100 keys
 * of 48 B for one token; of 512 tokens, the first 100 see 5,050 and the others 41,200, and together all 512 rows.
 */
static void indexer_layer(void **state)
{
    (void)state;
    struct fixture f;
    open_model(&f, deepseek);
    is(layer_cost(&f, ROLE_INDEX_Q, ROLE_INDEX, 1, 511), 4 * 2208, 4 * 440, 512 * 32 + 32, 4536 + 512 * 70);
    is(layer_cost(&f, ROLE_INDEX_Q, ROLE_INDEX, 512, 0), 4 * 2208, 512 * 4 * 440, 512 * 32 + 512 * 32,
       512 * 4536 + 131328.0 * 70);
    struct cost c = layer_cost(&f, ROLE_ATTN_CORE, ROLE_ATTN_CORE, 1, 511);
    assert_near(c.kv_bytes, 100 * 48, 0);
    assert_near(c.flop, 100 * 320, 0);
    c = layer_cost(&f, ROLE_ATTN_CORE, ROLE_ATTN_CORE, 1, 49); /* fewer than it may choose */
    assert_near(c.kv_bytes, 50 * 48, 0);
    c = layer_cost(&f, ROLE_ATTN_CORE, ROLE_ATTN_CORE, 512, 0);
    assert_near(c.kv_bytes, 512 * 48, 0);
    assert_near(c.flop, (5050 + 41200) * 320.0, 0);
    assert_near(cost_kv_bytes_token(&f.l, &floats), 2 * (24 + 16) * 2, 0);
    assert_near(cost_state_bytes_sequence(&f.l), 0, 0);
    assert_int_equal(n_ops(&f, OP_KV_EXPAND, 0), 0);
    close_model(&f);
}

/* Of the one op of that kind and layer whose keys are compressed. */
static struct cost compressed_cost(const struct fixture *f, enum op_kind kind, int layer, uint32_t n_past)
{
    const struct pass p = { .n_tok = 1, .n_past = n_past, .n_seq = 1, .n_out = 1 };
    for (size_t i = 0; i < f->l.n; i++)
        if (f->l.ops[i].kind == kind && f->l.ops[i].layer == layer && f->l.ops[i].per_row > 0)
            return cost_op(&f->l.ops[i], &p, &floats);
    fail_msg("layer %d has no such op", layer);
    return (struct cost){ 0 };
}

/* Two streams of 64; the window of 32 in every layer; keys of 4 positions, 10 of them chosen, in the second, of 128 in the third. */
static void compressed_keys(void **state)
{
    (void)state;
    struct fixture f;
    open_model(&f, deepseek4);
    shape(&f, "blk.0.hc_attn.weight", 8, 128);
    shape(&f, "hc_head.weight", 2, 128);
    shape(&f, "blk.0.attn_output_a.weight", 2 * 8, 2 * 16);
    shape(&f, "blk.1.attn_compressor_kv.weight", 32, 64);
    shape(&f, "blk.1.indexer.compressor_gate.weight", 16, 64);
    shape(&f, "blk.2.attn_compressor_ape.weight", 128, 16);
    assert_null(model_find(&f.m, "blk.0.exp_probs_b.bias"));
    shape(&f, "blk.1.exp_probs_b.bias", 1, 4);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(n_ops(&f, OP_ATTENTION, i), i == 0 ? 1 : 2);
        assert_int_equal(n_ops(&f, OP_INDEX, i), i == 1);
        assert_int_equal(n_ops(&f, OP_KV_STORE, i), i == 0 ? 1 : 4 - i);
    }
    /* 16 elements a position and layer; of 4 one more, and 8 of the indexer; of 128 one more */
    assert_near(cost_kv_bytes_token(&f.l, &floats), 3 * 32 + 32 / 4.0 + 16 / 4.0 + 32 / 128.0, 1e-9);
    /* windows stop growing at 32 and a pass of 1, compressed keys do not */
    assert_near(cost_kv_bytes(&f.l, &floats, 4096, 1), 3 * 33 * 32 + 4096 * (32 / 4.0 + 16 / 4.0 + 32 / 128.0), 1e-6);
    struct cost c = compressed_cost(&f, OP_ATTENTION, 1, 999);
    assert_near(c.kv_bytes, 10 * 32, 1e-9);
    assert_near(c.flop, 10 * 2 * (64 + 64), 1e-9);
    c = compressed_cost(&f, OP_ATTENTION, 2, 1279);
    assert_near(c.kv_bytes, 10 * 32, 1e-9);
    c = compressed_cost(&f, OP_INDEX, 1, 999);
    assert_near(c.kv_bytes, 250 * 16, 1e-9);
    assert_near(c.flop, 250 * (2 * 2 * 8 + 3 * 2), 1e-9);
    close_model(&f);
}

/* One mixer a layer: M, E, *, -, each behind one norm; experts and networks have two matrices. */
static void nemotron_layers(void **state)
{
    (void)state;
    struct fixture f;
    open_model(&f, nemotron);
    static const struct {
        enum op_kind kind;
        int layer;
    } only[] = { { OP_SSM_SCAN, 0 }, { OP_ROUTE, 1 }, { OP_ATTENTION, 2 } };
    for (size_t k = 0; k < ARRAY_LEN(only); k++)
        for (int i = 0; i < 4; i++)
            assert_int_equal(n_ops(&f, only[k].kind, i), i == only[k].layer);
    for (int i = 1; i < 4; i++)
        assert_int_equal(n_ops(&f, OP_RMS_NORM, i), 1);
    assert_int_equal(n_ops(&f, OP_EXPERT_MATMUL, 1), 2);
    assert_int_equal(n_ops(&f, OP_GLU, 1), 0);
    assert_int_equal(n_ops(&f, OP_MATMUL, 3), 2);
    assert_null(model_find(&f.m, "blk.1.ffn_gate_exps.weight"));
    shape(&f, "blk.1.exp_probs_b.bias", 1, 4);
    shape(&f, "blk.1.ffn_up_shexp.weight", 48, 64);
    shape(&f, "blk.3.ffn_up.weight", 96, 64);
    close_model(&f);
}

/* Routed experts between two projections; the router and the shared expert see the whole width. */
static void latent_experts(void **state)
{
    (void)state;
    struct fixture f;
    char text[sizeof nemotron + 32];
    snprintf(text, sizeof text, "%.*s,\"moe_latent_size\":16}", (int)(sizeof nemotron - 2), nemotron);
    open_model(&f, text);
    shape(&f, "blk.1.ffn_gate_inp.weight", 4, 64);
    shape(&f, "blk.1.ffn_latent_down.weight", 16, 64);
    shape(&f, "blk.1.ffn_up_exps.weight", 4 * 32, 16);
    shape(&f, "blk.1.ffn_down_exps.weight", 4 * 16, 32);
    shape(&f, "blk.1.ffn_latent_up.weight", 64, 16);
    shape(&f, "blk.1.ffn_up_shexp.weight", 48, 64);
    assert_int_equal(n_ops(&f, OP_EXPERT_MATMUL, 1), 2);
    assert_int_equal(n_ops(&f, OP_MATMUL, 1), 5);
    assert_int_equal(f.l.width[BUF_EMBED], 16);
    close_model(&f);
}

/* A short convolution of 64 channels over 3 positions: three of its width in, two gates, one out; two positions are kept. */
static void short_convolution(void **state)
{
    (void)state;
    struct fixture f;
    open_model(&f, lfm2);
    shape(&f, "blk.0.shortconv.in_proj.weight", 192, 64);
    shape(&f, "blk.0.shortconv.conv.weight", 64, 3);
    shape(&f, "blk.0.shortconv.out_proj.weight", 64, 64);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(n_ops(&f, OP_CONV1D, i), i != 1);
        assert_int_equal(n_ops(&f, OP_MUL, i), i != 1 ? 2 : 0);
        assert_int_equal(n_ops(&f, OP_ATTENTION, i), i == 1);
        assert_int_equal(n_ops(&f, OP_RMS_NORM, i), i == 1 ? 4 : 2);
        assert_int_equal(n_ops(&f, OP_GLU, i), 1);
    }
    assert_near(cost_state_bytes_sequence(&f.l), 2 * 2 * 64 * 4, 0);
    assert_near(cost_kv_bytes_token(&f.l, &floats), 2 * 2 * 16 * 2, 0);
    assert_true(f.m.hp.tied && f.m.hp.rope_theta == 1e6);
    close_model(&f);
    open_model(&f, lfm2_moe);
    assert_int_equal(n_ops(&f, OP_ROUTE, 0), 0);
    assert_int_equal(n_ops(&f, OP_ROUTE, 1), 1);
    assert_int_equal(n_ops(&f, OP_EXPERT_MATMUL, 2), 3);
    shape(&f, "blk.1.exp_probs_b.bias", 1, 4);
    close_model(&f);
}

/* Older files: the width of a network without a gate, and the numbers of the layers that attend. */
static void older_lfm2(void **state)
{
    (void)state;
    static const char text[] = "{\"model_type\":\"lfm2\"," COMMON "\"num_hidden_layers\":3,\"full_attn_idxs\":[2],\"conv_L_cache\":3,"
                               "\"block_ff_dim\":1000,\"block_auto_adjust_ff_dim\":true,\"block_multiple_of\":64}";
    struct fixture f;
    open_model(&f, text);
    assert_int_equal(f.m.hp.n_ff, 704); /* 666, up to a multiple of 64 */
    assert_true(n_ops(&f, OP_CONV1D, 1) == 1 && n_ops(&f, OP_ATTENTION, 2) == 1);
    close_model(&f);
}

/* Attention and Mamba-2 in each layer; without mamba_rms_norm there is no norm behind the recurrence. */
static void falcon_layers(void **state)
{
    (void)state;
    struct fixture f;
    open_model(&f, falcon);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(n_ops(&f, OP_SSM_SCAN, i), 1);
        assert_int_equal(n_ops(&f, OP_ATTENTION, i), 1);
        assert_int_equal(n_ops(&f, OP_RMS_NORM, i), 2);
    }
    assert_near(cost_state_bytes_sequence(&f.l), 2 * 10496, 0);
    assert_near(cost_kv_bytes_token(&f.l, &floats), 2 * 128, 0);
    close_model(&f);
}

/* ---- what is refused --------------------------------------------------------------------------------- */

/* The text with one field set to a JSON value; NULL: without it. */
static void refuse(const char *base, const char *field, const char *value, const char *expect)
{
    json_t *j = json_loads(base, 0, NULL), *v = value ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
    if (value)
        json_object_set_new(j, field, v);
    else
        json_object_del(j, field);
    char *text = json_dumps(j, 0);
    struct hparams hp;
    const char *arch;
    struct error err = { 0 };
    if (model_parse_config("t.json", text, strlen(text), &hp, &arch, &err) == 0)
        fail_msg("%s is accepted in %s", field, text);
    assert_fails(model_parse_config("t.json", text, strlen(text), &hp, &arch, &err), err, expect);
    assert_int_equal(err.kind, ERROR_INPUT);
    free(text);
    json_decref(j);
}

static void hostile(void **state)
{
    (void)state;
    static const struct {
        const char *base, *field, *value, *expect;
    } cases[] = {
        { nemotron, "hybrid_override_pattern", "\"ME*\"", "hybrid_override_pattern has 3 entries for 4 layers" },
        { nemotron, "hybrid_override_pattern", "\"MEX*\"", "hybrid_override_pattern[2] is \"X\", expected one of: M, *, E, -" },
        { nemotron, "hybrid_override_pattern", NULL, "field \"hybrid_override_pattern\" is missing" },
        { nemotron, "hybrid_override_pattern", "7", "\"hybrid_override_pattern\" is neither a list nor a string" },
        { nemotron, "layers_block_type", "[\"mamba\",\"moe\",\"attention\",\"sparse\"]", "layers_block_type[3] is \"sparse\"" },
        { nemotron, "n_groups", "3", "mamba_num_heads is 4, expected a multiple of n_groups, which is 3" },
        { nemotron, "n_groups", "0", "n_groups" },
        { nemotron, "ssm_state_size", NULL, "\"ssm_state_size\" is missing" },
        { nemotron, "ssm_state_size", "-1", "ssm_state_size" },
        { nemotron, "ssm_state_size", "1e30", "ssm_state_size" },
        { nemotron, "ssm_state_size", "4294967297", "ssm_state_size" },
        { wide, "mamba_num_heads", "65536", "mamba_num_heads x mamba_head_dim is 65536 x 4096, expected at most 16777216" },
        { wide, "ssm_state_size", "65536", "n_groups x ssm_state_size is 512 x 65536, expected at most 16777216" },
        { nemotron, "conv_kernel", "1", "conv_kernel" },
        { nemotron, "num_hidden_layers", "513", "num_hidden_layers is 513, expected at most 512 in a hybrid" },
        { nemotron, "num_hidden_layers", "4294967295", "num_hidden_layers is 4294967295" },
        { nemotron, "n_routed_experts", "0", "there are layers of experts" },
        { nemotron, "mlp_hidden_act", "\"silu\"", "mlp_hidden_act" },
        { nemotron, "use_bias", "true", "use_bias is true" },
        { nemotron, "use_conv_bias", "false", "use_conv_bias is false" },
        { nemotron, "moe_latent_size", "0", "moe_latent_size" },
        { nemotron, "moe_latent_size", "4294967295", "moe_latent_size is 4294967295" },
        { nemotron, "sliding_window", "128", "sliding_window is 128" },
        { deepseek4, "compress_ratios", "[0,4]", "compress_ratios has 2 entries for 3 layers" },
        { deepseek4, "compress_ratios", "[0,4,8]", "compress_ratios[2]: expected 0, 4 or 128" },
        { deepseek4, "compress_ratios", "[0,4,\"4\"]", "compress_ratios[2]" },
        { deepseek4, "compress_ratios", NULL, "compress_ratios" },
        { deepseek4, "num_hidden_layers", "513", "num_hidden_layers is 513, expected at most 512" },
        { deepseek4, "num_key_value_heads", "2", "num_key_value_heads is 2, expected 1" },
        { deepseek4, "o_groups", "3", "o_groups is 3" },
        { deepseek4, "o_lora_rank", NULL, "\"o_lora_rank\" is missing" },
        { deepseek4, "hc_mult", "65", "hc_mult" },
        { deepseek4, "qk_rope_head_dim", "10", "expected at least qk_rope_head_dim" },
        { deepseek4, "num_hash_layers", "4", "num_hash_layers is 4 of 3 layers" },
        { deepseek4, "n_routed_experts", "0", "n_routed_experts" },
        { deepseek4, "first_k_dense_replace", "1", "first_k_dense_replace is 1, expected 0" },
        { lfm2, "conv_bias", "true", "conv_bias is true" },
        { lfm2, "conv_L_cache", "0", "conv_L_cache" },
        { lfm2, "layer_types", "[\"conv\",\"mamba\",\"conv\"]", "layer_types[1] is \"mamba\", expected one of: conv, full_attention" },
        { lfm2, "layer_types", NULL, "field \"layer_types\" is missing" },
        { lfm2, "intermediate_size", NULL, "intermediate_size is missing" },
        { lfm2_moe, "num_experts", "0", "num_experts is missing or 0" },
        { lfm2_moe, "moe_intermediate_size", NULL, "field \"moe_intermediate_size\" is missing" },
        { lfm2_moe, "block_multiple_of", "4294967295", "block_multiple_of" },
        { granite, "layer_types", "[\"mamba\"]", "layer_types has 1 entries for 2 layers" },
        { granite, "layer_types", "[\"mamba\",\"linear\"]", "layer_types[1] is \"linear\", expected one of: mamba, attention" },
        { granite, "layer_types", "[1,\"mamba\"]", "layer_types[0]: expected a string, found" },
        { granite, "layer_types", "null", "\"layer_types\" is neither" },
        { granite, "mamba_d_head", "16", "mamba_n_heads x mamba_d_head is 4 x 16" },
        { granite, "mamba_n_groups", "3", "expected a multiple of mamba_n_groups" },
        { granite, "shared_intermediate_size", NULL, "shared_intermediate_size is missing" },
        { granite, "position_embedding_type", "\"alibi\"", "position_embedding_type" },
        { granite, "mamba_proj_bias", "true", "mamba_proj_bias is true" },
        { qwen, "attn_output_gate", "false", "attn_output_gate is false" },
        { qwen, "linear_num_key_heads", "3", "linear_num_value_heads is 4, expected a multiple of linear_num_key_heads" },
        { qwen, "linear_key_head_dim", "65537", "linear_key_head_dim" },
        { qwen, "full_attention_interval", "0", "full_attention_interval" },
        { qwen, "layer_types", "[\"sliding_attention\",\"full_attention\",\"full_attention\",\"full_attention\"]",
          "layer_types[0] is \"sliding_attention\"" },
        { qwen, "mlp_only_layers", "[0]", "mlp_only_layers" },
        { dense, "intermediate_size", NULL, "intermediate_size is missing, and there are layers without experts" },
        { dense, "num_experts", "4", "num_experts_per_tok" },
        { jamba, "attn_layer_offset", "8", "attn_layer_offset is 8, expected less than attn_layer_period, which is 8" },
        { jamba, "expert_layer_period", "0", "expert_layer_period" },
        { jamba, "mamba_dt_rank", "\"wide\"", "mamba_dt_rank" },
        { jamba, "mamba_dt_rank", "99999999", "mamba_dt_rank" },
        { jamba, "hidden_size", "4294967292", "hidden_size is 4294967292" },
        { jamba, "hidden_size", "1048576", "head_dim is 262144" },
        { falcon, "attn_layer_indices", "[0]", "attn_layer_indices" },
        { falcon, "mamba_d_ssm", "100", "width of the recurrence (mamba_d_ssm), which is 100" },
        { falcon, "projectors_bias", "true", "projectors_bias" },
        { deepseek, "index_topk", NULL, "\"index_topk\" is missing" },
        { deepseek, "index_topk", "0", "index_topk" },
        { deepseek, "index_n_heads", "1000000", "index_n_heads" },
        { deepseek, "index_head_dim", "4", "index_head_dim is 4, expected at least qk_rope_head_dim, which is 8" },
        { deepseek, "index_topk_freq", "4", "index_topk_freq is 4" },
        { deepseek, "indexer_types", "[\"full\",\"shared\"]", "indexer_types[1]" },
        { deepseek, "q_lora_rank", "null", "q_lora_rank is missing" },
        { deepseek, "q_lora_rank", NULL, "field \"q_lora_rank\" is missing (null means none)" },
        { deepseek, "n_routed_experts", NULL, "t.json: num_experts (n_routed_experts) is missing or 0: deepseek_v32 has experts" },
        { deepseek, "first_k_dense_replace", "3", "first_k_dense_replace is 3, expected at most num_hidden_layers, which is 2" },
        { qwen, "num_experts", NULL, "num_experts is missing or 0: qwen3_next has experts" },
        { qwen, "num_experts", "0", "num_experts is missing or 0: qwen3_next has experts" },
        { qwen, "moe_intermediate_size", NULL, "field \"moe_intermediate_size\" is missing" },
        { qwen, "head_dim", NULL, "field \"head_dim\" is missing" },
        { dense, "head_dim", NULL, "field \"head_dim\" is missing" },
        { jamba, "num_experts", NULL, "num_experts is missing or 0: jamba has experts" },
        { jamba, "num_experts", "null", "num_experts is missing or 0: jamba has experts" },
        { granite, "num_local_experts", NULL, "num_experts (num_local_experts) is missing or 0: granitemoehybrid has experts" },
        { granite, "residual_multiplier", "-1", "residual_multiplier is -1, expected a number from 0 to 1e+06" },
        { nemotron, "moe_intermediate_size", NULL, "field \"moe_intermediate_size\" is missing" },
        { nemotron, "num_experts_per_tok", "5", "num_experts_per_tok is 5, expected 1 to n_routed_experts, which is 4" },
        { nemotron, "layer_norm_epsilon", "2", "layer_norm_epsilon is 2, expected a number from 0 to 1 (the epsilon of RMSNorm)" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        refuse(cases[i].base, cases[i].field, cases[i].value, cases[i].expect);
}

/* Dense members of a family with experts say 0 or 1: 8 layers of a network instead of four with 4 experts each, that is 4 * 3
 * experts of 3 * 96 * 64 and 4 routers of 4 * 64 fewer than the mixture. */
static void test_dense_members(void **state)
{
    (void)state;
    struct fixture f;
    char text[1024];
    open_model(&f, jamba);
    const uint64_t mixture = f.m.n_params;
    close_model(&f);
    for (int n = 0; n < 2; n++) {
        snprintf(text, sizeof text, "%s", jamba);
        *(strstr(text, "\"num_experts\":4") + strlen("\"num_experts\":")) = (char)('0' + n);
        open_model(&f, text);
        assert_int_equal(mixture - f.m.n_params, 4 * 3 * 3 * 96 * 64 + 4 * 4 * 64);
        close_model(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense_members),
        cmocka_unit_test(parameters),      cmocka_unit_test(mamba2_layer),  cmocka_unit_test(delta_net_layer),
        cmocka_unit_test(mamba1_layer),    cmocka_unit_test(indexer_layer), cmocka_unit_test(nemotron_layers),
        cmocka_unit_test(latent_experts),    cmocka_unit_test(compressed_keys),    cmocka_unit_test(short_convolution), cmocka_unit_test(older_lfm2),
        cmocka_unit_test(falcon_layers),   cmocka_unit_test(hostile),
    };
    environment_set_dirs(data_dirs());
    return cmocka_run_group_tests_name("archs_hybrid", tests, NULL, NULL);
}
