/* Every byte of a model accounted for: the sum of the ops' weight bytes against the sum of
 * the tensors', for the presets and for real files; KV bytes a token; rows by op, layer and
 * role. */
#include "base/environment.h"
#include "../test.h"
#include "tests/config.h"
#include "cost/analysis.h"
#include "tests/near.h"
#include <dirent.h>

static struct model load(const char *spec, const char *type)
{
    struct model m;
    struct error err = { 0 };
    assert_ok(model_load(&m, spec, type, &err), err);
    return m;
}

/* Weight bytes of one pass of n_tok tokens, op by op. */
static double sum_of_ops(const struct op_list *l, uint32_t n_tok)
{
    const struct pass p = { .n_tok = n_tok, .n_seq = 1, .n_out = 1 };
    const struct cost_options o = { .act_elem_bytes = 4, .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
    double sum = 0;
    for (size_t i = 0; i < l->n; i++)
        sum += cost_op(&l->ops[i], &p, &o).weight_bytes;
    return sum;
}

/* Keys and values of a layer that reads those of an earlier one: the file has them, nothing reads them. */
static bool unused(const struct model *m, const struct tensor *t)
{
    unsigned layer;
    char name[64];
    return m->hp.n_layer_kv_shared > 0 && sscanf(t->name, "blk.%u.%63s", &layer, name) == 2 &&
           layer >= m->hp.n_layer - m->hp.n_layer_kv_shared &&
           (strncmp(name, "attn_k", 6) == 0 || strncmp(name, "attn_v", 6) == 0);
}

/*
 * Derived here from the tensor names alone, without the op list: everything but tables,
 * minus the rows of token_embd, of position_embd and of every layer's embeddings that no token looks up. Tied (no output.weight): the whole
 * table is read as LM head, plus the rows looked up. Of stacked experts N (1 - (1 - k/N)^n_tok).
 */
static double expected_bytes(const struct model *m, uint32_t n_tok)
{
    const double n = m->hp.n_expert, visited = n > 0 ? 1 - pow(1 - m->hp.n_expert_used / n, n_tok) : 0;
    double sum = 0, row = 0, table = 0;
    bool tied = true;
    for (size_t i = 0; i < m->n_tensors; i++) {
        const struct tensor *t = &m->tensors[i];
        if (strncmp(t->name, "rope_", 5) == 0 || unused(m, t))
            continue;
        if (strcmp(t->name, "position_embd.weight") == 0 || strcmp(t->name, "per_layer_token_embd.weight") == 0) {
            sum += (double)t->bytes / (double)t->rows * n_tok;
            continue;
        }
        sum += (double)t->bytes * (strstr(t->name, "_exps.") ? visited : 1);
        tied = tied && strcmp(t->name, "output.weight") != 0;
        if (strcmp(t->name, "token_embd.weight") == 0) {
            table = (double)t->bytes;
            row = table / (double)t->rows;
        }
    }
    return tied ? sum + n_tok * row : sum - table + n_tok * row;
}

/* A rounding error of the mean over experts, relative to all bytes. */
static double all_bytes(const struct model *m)
{
    return (double)m->weight_bytes;
}

static void check_model(const struct model *m)
{
    struct op_list l;
    struct error err = { 0 };
    struct weight_account a;
    assert_ok(op_list_build(&l, m, &err), err);
    const double rounding = m->hp.n_expert > 0 ? 1e-12 * all_bytes(m) : 0;
    assert_near(sum_of_ops(&l, 1), expected_bytes(m, 1), rounding);
    assert_near(sum_of_ops(&l, 6), expected_bytes(m, 6), rounding);
    account_weights(&a, m, &l, 1, NULL);
    assert_near(a.read_bytes, sum_of_ops(&l, 1), 0);
    assert_near(a.total_bytes, (double)m->weight_bytes, 0);
    assert_near(a.total_bytes,
                a.read_bytes - a.embed_again_bytes + a.embed_unread_bytes + a.expert_unread_bytes + a.apart_bytes,
                0);
    assert_true((a.expert_unread_bytes > 0) == (m->hp.n_expert > 0));
    assert_true(m->hp.tied ? a.embed_again_bytes > 0 && (a.embed_unread_bytes > 0) == (m->hp.n_pos > 0 || m->hp.n_embd_layer > 0)
                           : a.embed_again_bytes == 0 && a.embed_unread_bytes > 0);
    op_list_free(&l);
}

static void sum_rule_of_presets(void **state)
{
    (void)state;
    static const char *const types[] = { "F16", "Q8_0", "Q4_K_M" };
    char **names;
    size_t n;
    struct error err = { 0 };
    environment_set_dirs(data_dirs());
    assert_ok(model_list(&names, &n, &err), err);
    assert_true(n > 10);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < ARRAY_LEN(types); k++) {
            struct model m = load(names[i], types[k]);
            check_model(&m);
            model_free(&m);
        }
        free(names[i]);
    }
    free(names);
}

/* Files written by another program. */
static void sum_rule_of_files(void **state)
{
    (void)state;
    const char *shared = shared_dir();
    char path[4500];
    if (!shared) {
        print_message("no shared data (ROOFCAST_SHARED): skipped\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/data/oracle", shared);
    DIR *d = opendir(path);
    assert_non_null(d);
    size_t n = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        struct model m;
        struct error err = { 0 };
        if (!strstr(e->d_name, ".gguf"))
            continue;
        snprintf(path, sizeof path, "%s/data/oracle/%s", shared, e->d_name);
        assert_ok(model_load(&m, path, NULL, &err), err);
        double file = 0; /* straight from the file's tensor table */
        for (size_t i = 0; i < gguf_n_tensors(m.gguf); i++)
            file += (double)gguf_tensor_at(m.gguf, i)->bytes;
        assert_near((double)m.weight_bytes, file, 0);
        check_model(&m);
        model_free(&m);
        n++;
    }
    closedir(d);
    assert_true(n >= 14);
}

/* One small config of each kind: experts, a shared one, biases of experts, sinks, latents, windows, a scaled table. */
static const char *const configs[] = {
    "{\"model_type\": \"mixtral\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
    "\"num_key_value_heads\": 2, \"intermediate_size\": 96, \"vocab_size\": 300, \"num_local_experts\": 8, "
    "\"num_experts_per_tok\": 2, \"hidden_act\": \"silu\"}",
    "{\"model_type\": \"qwen3_moe\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
    "\"num_key_value_heads\": 2, \"head_dim\": 32, \"intermediate_size\": 96, \"moe_intermediate_size\": 32, "
    "\"vocab_size\": 300, \"num_experts\": 16, \"num_experts_per_tok\": 4, \"norm_topk_prob\": true, "
    "\"hidden_act\": \"silu\"}",
    "{\"model_type\": \"gpt_oss\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
    "\"num_key_value_heads\": 2, \"head_dim\": 32, \"intermediate_size\": 96, \"vocab_size\": 300, "
    "\"num_local_experts\": 8, \"num_experts_per_tok\": 2, \"sliding_window\": 128, \"attention_bias\": true, "
    "\"hidden_act\": \"silu\"}",
    "{\"model_type\": \"deepseek_v3\", \"hidden_size\": 64, \"num_hidden_layers\": 3, \"num_attention_heads\": 4, "
    "\"num_key_value_heads\": 4, \"q_lora_rank\": 48, \"kv_lora_rank\": 64, \"qk_nope_head_dim\": 16, "
    "\"qk_rope_head_dim\": 8, \"v_head_dim\": 16, \"intermediate_size\": 96, \"moe_intermediate_size\": 32, "
    "\"n_routed_experts\": 8, \"num_experts_per_tok\": 2, \"n_shared_experts\": 1, \"first_k_dense_replace\": 1, "
    "\"n_group\": 2, \"topk_group\": 1, \"topk_method\": \"noaux_tc\", \"scoring_func\": \"sigmoid\", "
    "\"norm_topk_prob\": true, \"routed_scaling_factor\": 2.5, \"vocab_size\": 300, \"hidden_act\": \"silu\"}",
    "{\"model_type\": \"gemma3_text\", \"hidden_size\": 64, \"num_hidden_layers\": 6, \"num_attention_heads\": 4, "
    "\"num_key_value_heads\": 1, \"head_dim\": 32, \"intermediate_size\": 96, \"vocab_size\": 300, "
    "\"sliding_window\": 32, \"sliding_window_pattern\": 6, \"hidden_activation\": \"gelu_pytorch_tanh\"}",
};

static void sum_rule_of_configs(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(configs); i++) {
        struct model m = from_config(configs[i], "F16");
        check_model(&m);
        model_free(&m);
    }
}

/*
 * DeepSeek-V3. A step absorbs, a prompt expands; both read all of attn_k_b and attn_v_b: [128 * 512, 128] and
 * [128 * 128, 512], 2 B each, in 61 layers. 58 layers have 256 experts of 3 * 2048 * 7168 weights, 8 of them read.
 */
static void latents_and_experts_of_deepseek(void **state)
{
    (void)state;
    struct model m = from_config(
        "{\"model_type\": \"deepseek_v3\", \"hidden_size\": 7168, \"num_hidden_layers\": 61, \"num_attention_heads\": 128, "
        "\"num_key_value_heads\": 128, \"q_lora_rank\": 1536, \"kv_lora_rank\": 512, \"qk_nope_head_dim\": 128, "
        "\"qk_rope_head_dim\": 64, \"v_head_dim\": 128, \"intermediate_size\": 18432, \"moe_intermediate_size\": 2048, "
        "\"n_routed_experts\": 256, \"num_experts_per_tok\": 8, \"n_shared_experts\": 1, \"first_k_dense_replace\": 3, "
        "\"n_group\": 8, \"topk_group\": 4, \"topk_method\": \"noaux_tc\", \"scoring_func\": \"sigmoid\", "
        "\"norm_topk_prob\": true, \"routed_scaling_factor\": 2.5, \"vocab_size\": 129280, "
        "\"max_position_embeddings\": 163840, \"hidden_act\": \"silu\"}",
        "F16");
    const struct analysis_options o = { .n_prompt = 512, .n_gen = 3, .n_batch = 1, .n_ubatch = 512, .by = ANALYSIS_BY_ROLE,
                                        .cost = { .act_elem_bytes = 4, .type_k = DTYPE_BF16, .type_v = DTYPE_F32 } };
    struct analysis a;
    struct error err = { 0 };
    assert_ok(analysis_init(&a, &m, &o, &err), err);
    assert_near(cost_kv_bytes_token(&a.ops, &o.cost), 70272, 0);
    assert_near(a.weights.expert_unread_bytes, 58.0 * 248 * 3 * 2048 * 7168 * 2, 0);
    double absorbed = 0, expanded = 0;
    for (size_t i = 0; i < a.n_row; i++) {
        const struct analysis_row *r = &a.row[i];
        if (r->first->role == ROLE_ATTN_CORE) { /* one form or the other */
            assert_int_equal(r->n_tok[PHASE_PREFILL], 512);
            assert_int_equal(r->n_tok[PHASE_DECODE], 1);
            assert_string_equal(analysis_type(&a, r), "mixed"); /* latents of BF16, a workspace of F16 */
            assert_near(r->cost[PHASE_DECODE].kv_bytes, 61 * 2 * 1152, 0); /* 1, 2 and 3 positions */
        }
        if (r->first->role == ROLE_KV_STORE) /* no values: their type plays no part */
            assert_string_equal(analysis_type(&a, r), "BF16");
        if (r->first->kind == OP_HEAD_MATMUL) {
            absorbed += r->cost[PHASE_DECODE].weight_bytes;
            assert_near(r->cost[PHASE_PREFILL].weight_bytes, 0, 0);
        }
        if (r->first->kind == OP_KV_EXPAND) {
            expanded += r->cost[PHASE_PREFILL].weight_bytes;
            assert_near(r->cost[PHASE_DECODE].weight_bytes, 0, 0);
            assert_near(r->cost[PHASE_PREFILL].kv_bytes, 61 * 512.0 * 1152, 0);
        }
    }
    assert_near(absorbed, 61 * 2.0 * 2 * 128 * 128 * 512, 0);
    assert_near(expanded, absorbed, 0);
    analysis_free(&a);
    model_free(&m);
}

/*
 * 2 (K and V) * layers * KV heads * head_dim * 2 bytes.
 * Llama-2-7B: 2 * 32 * 32 * 128 * 2 = 524,288. Llama-3.1-8B: 2 * 32 * 8 * 128 * 2 =
 * 131,072.
 */
static void kv_bytes_a_token(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double bytes;
    } rows[] = {
        {"llama-2-7b",      524288},
        { "llama-3.1-8b",   131072},
        { "llama-3.1-70b",  327680},
        { "mistral-7b",     131072},
        { "tinyllama-1.1b", 22528 }
    };
    environment_set_dirs(data_dirs());
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct model m = load(rows[i].name, NULL);
        struct op_list l;
        struct error err = { 0 };
        assert_ok(op_list_build(&l, &m, &err), err);
        const struct cost_options f16 = { .act_elem_bytes = 4, .type_k = DTYPE_F16, .type_v = DTYPE_F16 },
                                  q8 = { .act_elem_bytes = 4, .type_k = DTYPE_Q8_0, .type_v = DTYPE_Q8_0 };
        assert_near(cost_kv_bytes_token(&l, &f16), rows[i].bytes, 0);
        assert_near(cost_kv_bytes_token(&l, &q8), rows[i].bytes * 34 / 64, 0);
        op_list_free(&l);
        model_free(&m);
    }
}

/* The ops agree: what a token stores, and what a step reads of n_past + 1 positions. */
static void kv_bytes_of_the_ops(void **state)
{
    (void)state;
    environment_set_dirs(data_dirs());
    struct model m = load("llama-3.1-8b", NULL);
    struct op_list l;
    struct error err = { 0 };
    assert_ok(op_list_build(&l, &m, &err), err);
    const struct pass p = { .n_tok = 1, .n_past = 999, .n_seq = 1, .n_out = 1 };
    const struct cost_options o = { .act_elem_bytes = 4, .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
    double stored = 0, read = 0;
    for (size_t i = 0; i < l.n; i++) {
        const double b = cost_op(&l.ops[i], &p, &o).kv_bytes;
        stored += l.ops[i].kind == OP_KV_STORE ? b : 0;
        read += l.ops[i].kind == OP_ATTENTION ? b : 0;
    }
    assert_near(stored, 131072, 0);
    assert_near(read, 1000.0 * 131072, 0);
    op_list_free(&l);
    model_free(&m);
}

/* Llama-3-8B in decode at depth 0, by hand in millions of FLOP a token: 2 * (d*d + 2*d*1024
 * + d*d + 3*d*14336) * 32 layers + 2 * d * 128256 for the head, d = 4096. */
static void flop_of_a_step(void **state)
{
    (void)state;
    environment_set_dirs(data_dirs());
    struct model m = load("llama-3-8b", NULL);
    const struct analysis_options o = {
        .n_gen = 1,
        .n_batch = 1,
        .n_ubatch = 512,
        .by = ANALYSIS_BY_ROLE,
        .cost = {.act_elem_bytes = 4, .type_k = DTYPE_F16, .type_v = DTYPE_F16}
    };
    struct analysis a;
    struct error err = { 0 };
    assert_ok(analysis_init(&a, &m, &o, &err), err);
    assert_false(analysis_has(&a, PHASE_PREFILL));
    double products = 0;
    for (size_t i = 0; i < a.n_row; i++)
        if (a.row[i].first->kind == OP_MATMUL)
            products += a.row[i].cost[PHASE_DECODE].flop;
    const double d = 4096;
    assert_near(products,
                32 * 2 * (2 * d * d + 2 * d * 1024 + 3 * d * 14336) + 2 * d * 128256, 0);
    analysis_free(&a);
    model_free(&m);
}

static struct analysis analyse(const struct model *m, enum analysis_by by)
{
    const struct analysis_options o = {
        .n_prompt = 700,
        .n_gen = 1,
        .n_depth = 5,
        .n_batch = 2,
        .n_ubatch = 512,
        .by = by,
        .cost = {.act_elem_bytes = 4, .type_k = DTYPE_F16, .type_v = DTYPE_F16}
    };
    struct analysis a;
    struct error err = { 0 };
    assert_ok(analysis_init(&a, m, &o, &err), err);
    return a;
}

/* However the rows are cut, they add up to the same totals. */
static void rows_add_up(void **state)
{
    (void)state;
    environment_set_dirs(data_dirs());
    struct model m = load("llama-3.2-1b", "Q4_K_M");
    struct analysis op = analyse(&m, ANALYSIS_BY_OP),
                    layer = analyse(&m, ANALYSIS_BY_LAYER),
                    role = analyse(&m, ANALYSIS_BY_ROLE);
    struct analysis *all[] = { &op, &layer, &role };
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        for (int p = 0; p < PHASE_COUNT; p++) {
            struct cost sum = { 0 };
            for (size_t r = 0; r < all[i]->n_row; r++)
                sum = cost_add(sum, all[i]->row[r].cost[p]);
            assert_near(sum.weight_bytes, op.total[p].weight_bytes, 0);
            assert_near(sum.act_bytes, op.total[p].act_bytes, 0);
            assert_near(sum.kv_bytes, op.total[p].kv_bytes, 0);
            assert_near(sum.flop, op.total[p].flop, 0);
        }
    assert_int_equal(op.n_row, op.ops.n);
    assert_int_equal(layer.n_row,
                     m.hp.n_layer + 3); /* embedding, blocks, last norm, LM head */
    for (size_t r = 1; r + 2 < layer.n_row; r++)
        assert_int_equal(layer.row[r].first->layer, (int)r - 1);
    assert_true(role.n_row <= ROLE_COUNT);
    for (size_t r = 0; r < role.n_row; r++) {
        if (role.row[r].first->role ==
            ROLE_FFN_DOWN) { /* Q6_K in some layers, Q4_K in others */
            assert_int_equal(role.row[r].n_ops, m.hp.n_layer);
            assert_string_equal(analysis_type(&role, &role.row[r]), "mixed");
            assert_int_equal(role.row[r].n_tok[PHASE_PREFILL], 1400);
        }
        if (role.row[r].first->role == ROLE_FFN_UP)
            assert_string_equal(analysis_type(&role, &role.row[r]), "Q4_K");
        if (role.row[r].first->role == ROLE_ATTN_RESIDUAL)
            assert_null(analysis_type(&role, &role.row[r]));
    }
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        analysis_free(all[i]);
    model_free(&m);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    environment_set_dirs(data_dirs());
    struct model m = load("stories15m", NULL);
    struct analysis a;
    struct error err = { 0 };
    struct analysis_options o = {
        .n_batch = 1, .n_ubatch = 512, .cost = {.act_elem_bytes = 4, .type_k = DTYPE_F16, .type_v = DTYPE_F16}
    };
    assert_fails(analysis_init(&a, &m, &o, &err), err, "-p 0 and -n 0");
    assert_int_equal(err.kind, ERROR_USAGE);
    o.n_prompt = 1;
    o.n_batch = 0;
    assert_fails(analysis_init(&a, &m, &o, &err), err, "at least 1");
    o.n_batch = 1;
    o.n_depth = UINT32_MAX;
    assert_fails(analysis_init(&a, &m, &o, &err), err, "a context of 4294967296 tokens");
    o.n_depth = 0;
    o.n_prompt = 1u << 30;
    o.n_ubatch = 1;
    assert_fails(analysis_init(&a, &m, &o, &err), err, "1073741824 passes");
    model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sum_rule_of_presets), cmocka_unit_test(sum_rule_of_files),
        cmocka_unit_test(sum_rule_of_configs), cmocka_unit_test(latents_and_experts_of_deepseek),
        cmocka_unit_test(kv_bytes_a_token),    cmocka_unit_test(kv_bytes_of_the_ops),
        cmocka_unit_test(flop_of_a_step),      cmocka_unit_test(rows_add_up),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests_name("roofline account", tests, NULL, NULL);
}
