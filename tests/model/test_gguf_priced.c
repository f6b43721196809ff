/* GGUF files of architectures that are priced and not run: their metadata say what a config.json says, and their tensors' types count. */
#include "../test.h"
#include "gguf/gguf.h"
#include "model/model.h"
#include <math.h>
#include <unistd.h>

static char dir[] = "/tmp/roofcast-priced-XXXXXX";
static char path[128];

static int make_dir(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/m.gguf", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    remove(path);
    return rmdir(dir);
}

/* A key of the architecture: one number, or one a layer. */
struct key {
    const char *name;
    double v;
    const int32_t *list;
};

#define COMMON(layers, embd, ff, heads, kv) \
    { "block_count", layers, NULL }, { "embedding_length", embd, NULL }, { "feed_forward_length", ff, NULL }, { "attention.head_count", heads, NULL }, \
    { "context_length", 512, NULL }, { "attention.layer_norm_rms_epsilon", 1e-6, NULL }

struct sample {
    const char *arch, *config;
    int n_layer;
    const struct key *key;
    size_t n_key;
    const char *renamed[2]; /* a role by another name in the file */
};

/* The tensors of the config.json's model, F16, F32 where they have one dimension, as a GGUF with these metadata. */
static void write_sample(const struct sample *s, struct model *from)
{
    struct hparams hp;
    struct error err = { 0 };
    const char *arch;
    char key[128];
    assert_ok(model_parse_config("t.json", s->config, strlen(s->config), &hp, &arch, &err), err);
    assert_ok(model_from_hparams(from, "t", arch, &hp, "F16", &err), err);
    struct gguf_writer *w = gguf_writer_new(path, &err);
    assert_non_null(w);
    gguf_writer_kv_str(w, "general.architecture", s->arch);
    for (size_t i = 0; i < s->n_key; i++) {
        snprintf(key, sizeof key, "%s.%s", s->arch, s->key[i].name);
        if (s->key[i].list)
            gguf_writer_kv_arr_i32(w, key, s->key[i].list, (size_t)s->n_layer);
        else if (s->key[i].v == floor(s->key[i].v))
            gguf_writer_kv_u32(w, key, (uint32_t)s->key[i].v);
        else
            gguf_writer_kv_f32(w, key, (float)s->key[i].v);
    }
    for (size_t i = 0; i < from->n_tensors; i++) {
        const struct tensor *t = &from->tensors[i];
        const uint64_t dims[3] = { t->cols, t->rows / t->n_mat, t->n_mat };
        char name[64];
        snprintf(name, sizeof name, "%s", t->name);
        char *at = s->renamed[0] ? strstr(name, s->renamed[0]) : NULL;
        if (at)
            snprintf(at, sizeof name - (size_t)(at - name), "%s", s->renamed[1]);
        assert_ok(gguf_writer_tensor(w, name, t->n_mat > 1 ? 3 : t->rows > 1 ? 2 : 1, dims, t->type, &err), err);
    }
    assert_ok(gguf_writer_begin_data(w, &err), err);
    for (size_t i = 0; i < from->n_tensors; i++) {
        void *zeros = calloc(1, from->tensors[i].bytes);
        assert_ok(gguf_writer_data(w, zeros, from->tensors[i].bytes, &err), err);
        free(zeros);
    }
    assert_ok(gguf_writer_finish(w, &err), err);
}

static const int32_t gemma_kv[] = { 4, 4, 2, 4, 4, 2 }, gemma_windows[] = { 1, 1, 0, 1, 1, 0 };
static const int32_t nemotron_kv[] = { 0, 0, 2, 0 }, nemotron_ff[] = { 0, 32, 0, 32 };
static const struct key gemma4[] = { COMMON(6, 64, 96, 4, 4), { "attention.head_count_kv", 0, gemma_kv }, { "attention.sliding_window_pattern", 0, gemma_windows },
                                     { "attention.key_length", 32, NULL }, { "attention.key_length_swa", 16, NULL }, { "attention.sliding_window", 64, NULL },
                                     { "expert_count", 8, NULL }, { "expert_used_count", 2, NULL }, { "expert_feed_forward_length", 32, NULL },
                                     { "final_logit_softcapping", 30, NULL }, { "rope.freq_base", 1e6, NULL } };
static const struct key qwen35moe[] = { COMMON(4, 64, 96, 4, 2), { "attention.head_count_kv", 2, NULL }, { "attention.key_length", 16, NULL },
                                        { "rope.dimension_count", 4, NULL }, { "expert_count", 8, NULL }, { "expert_used_count", 2, NULL },
                                        { "expert_feed_forward_length", 32, NULL }, { "expert_shared_feed_forward_length", 48, NULL }, { "ssm.conv_kernel", 4, NULL },
                                        { "ssm.state_size", 16, NULL }, { "ssm.group_count", 2, NULL }, { "ssm.time_step_rank", 4, NULL }, { "ssm.inner_size", 64, NULL },
                                        { "full_attention_interval", 4, NULL }, { "odd_gate", 3, NULL } };
static const struct key glm4moe[] = { COMMON(3, 64, 96, 4, 2), { "attention.head_count_kv", 2, NULL }, { "attention.key_length", 16, NULL }, { "expert_count", 8, NULL },
                                      { "rope.dimension_count", 8, NULL }, { "expert_used_count", 2, NULL }, { "expert_feed_forward_length", 32, NULL },
                                      { "expert_shared_count", 1, NULL }, { "leading_dense_block_count", 1, NULL }, { "expert_weights_norm", 1, NULL } };
static const struct key nemotron[] = { { "block_count", 4, NULL }, { "embedding_length", 64, NULL }, { "feed_forward_length", 0, nemotron_ff },
                                       { "attention.head_count", 4, NULL }, { "attention.head_count_kv", 0, nemotron_kv }, { "context_length", 512, NULL },
                                       { "attention.layer_norm_rms_epsilon", 1e-5, NULL }, { "attention.key_length", 16, NULL }, { "ssm.conv_kernel", 4, NULL },
                                       { "ssm.state_size", 16, NULL }, { "ssm.group_count", 2, NULL }, { "ssm.time_step_rank", 4, NULL }, { "ssm.inner_size", 64, NULL },
                                       { "expert_count", 8, NULL }, { "expert_used_count", 2, NULL }, { "expert_feed_forward_length", 32, NULL },
                                       { "expert_shared_count", 1, NULL }, { "expert_shared_feed_forward_length", 48, NULL } };
static const struct key qwen3vl[] = { COMMON(2, 64, 96, 4, 2), { "attention.head_count_kv", 2, NULL }, { "attention.key_length", 16, NULL }, { "rope.dimension_sections", 8, NULL } };

static const int32_t small_kv[] = { 2, 2, 2, 2, 2, 2 }, small_ff[] = { 96, 96, 96, 192, 192, 192 }, lfm2_kv[] = { 0, 0, 2, 0 };
static const struct key small[] = { { "block_count", 6, NULL }, { "embedding_length", 64, NULL }, { "feed_forward_length", 0, small_ff }, { "attention.head_count", 4, NULL },
                                    { "context_length", 512, NULL }, { "attention.layer_norm_rms_epsilon", 1e-6, NULL }, { "attention.head_count_kv", 0, small_kv },
                                    { "attention.sliding_window_pattern", 0, gemma_windows }, { "attention.key_length", 32, NULL }, { "attention.key_length_swa", 16, NULL },
                                    { "attention.sliding_window", 64, NULL }, { "embedding_length_per_layer_input", 16, NULL }, { "attention.shared_kv_layers", 3, NULL } };
static const struct key lfm2[] = { COMMON(4, 64, 96, 4, 2), { "attention.head_count_kv", 0, lfm2_kv }, { "shortconv.l_cache", 3, NULL } };

static const struct sample samples[] = {
    { "gemma4",
      "{\"model_type\":\"gemma4_text\",\"hidden_size\":64,\"num_hidden_layers\":6,\"num_attention_heads\":4,\"num_key_value_heads\":4,\"num_global_key_value_heads\":2,"
      "\"head_dim\":16,\"global_head_dim\":32,\"intermediate_size\":96,\"vocab_size\":300,\"sliding_window\":64,\"num_experts\":8,\"top_k_experts\":2,"
      "\"moe_intermediate_size\":32,\"attention_k_eq_v\":true,\"max_position_embeddings\":512,\"layer_types\":[\"sliding_attention\",\"sliding_attention\","
      "\"full_attention\",\"sliding_attention\",\"sliding_attention\",\"full_attention\"]}",
      6, gemma4, ARRAY_LEN(gemma4), { NULL, NULL } },
    { "qwen35moe",
      "{\"model_type\":\"qwen3_5_moe_text\",\"hidden_size\":64,\"num_hidden_layers\":4,\"num_attention_heads\":4,\"num_key_value_heads\":2,\"head_dim\":16,"
      "\"vocab_size\":300,\"num_experts\":8,\"num_experts_per_tok\":2,\"moe_intermediate_size\":32,\"shared_expert_intermediate_size\":48,\"linear_conv_kernel_dim\":4,"
      "\"linear_key_head_dim\":16,\"linear_value_head_dim\":16,\"linear_num_key_heads\":2,\"linear_num_value_heads\":4,\"partial_rotary_factor\":0.25,\"max_position_embeddings\":512}",
      4, qwen35moe, ARRAY_LEN(qwen35moe), { "ssm_out", "linear_out" } },
    { "glm4moe",
      "{\"model_type\":\"glm4_moe\",\"hidden_size\":64,\"num_hidden_layers\":3,\"num_attention_heads\":4,\"num_key_value_heads\":2,\"head_dim\":16,\"vocab_size\":300,"
      "\"n_routed_experts\":8,\"num_experts_per_tok\":2,\"moe_intermediate_size\":32,\"n_shared_experts\":1,\"first_k_dense_replace\":1,\"intermediate_size\":96,"
      "\"attention_bias\":true,\"norm_topk_prob\":true,\"partial_rotary_factor\":0.5,\"max_position_embeddings\":512}",
      3, glm4moe, ARRAY_LEN(glm4moe), { NULL, NULL } },
    { "nemotron_h_moe",
      "{\"model_type\":\"nemotron_h\",\"hidden_size\":64,\"num_hidden_layers\":4,\"hybrid_override_pattern\":\"ME*E\",\"num_attention_heads\":4,"
      "\"num_key_value_heads\":2,\"head_dim\":16,\"intermediate_size\":32,\"vocab_size\":300,\"mamba_num_heads\":4,\"mamba_head_dim\":16,\"ssm_state_size\":16,"
      "\"n_groups\":2,\"conv_kernel\":4,\"n_routed_experts\":8,\"num_experts_per_tok\":2,\"n_shared_experts\":1,\"moe_intermediate_size\":32,"
      "\"moe_shared_expert_intermediate_size\":48,\"max_position_embeddings\":512}",
      4, nemotron, ARRAY_LEN(nemotron), { NULL, NULL } },
    { "qwen3vl",
      "{\"model_type\":\"qwen3\",\"hidden_size\":64,\"num_hidden_layers\":2,\"num_attention_heads\":4,\"num_key_value_heads\":2,\"head_dim\":16,\"vocab_size\":300,"
      "\"intermediate_size\":96,\"max_position_embeddings\":512}",
      2, qwen3vl, ARRAY_LEN(qwen3vl), { NULL, NULL } },
    { "gemma4",
      "{\"model_type\":\"gemma4_text\",\"hidden_size\":64,\"num_hidden_layers\":6,\"num_attention_heads\":4,\"num_key_value_heads\":2,\"head_dim\":16,"
      "\"global_head_dim\":32,\"intermediate_size\":96,\"vocab_size\":300,\"vocab_size_per_layer_input\":300,\"sliding_window\":64,"
      "\"hidden_size_per_layer_input\":16,\"num_kv_shared_layers\":3,\"use_double_wide_mlp\":true,\"max_position_embeddings\":512,\"layer_types\":["
      "\"sliding_attention\",\"sliding_attention\",\"full_attention\",\"sliding_attention\",\"sliding_attention\",\"full_attention\"]}",
      6, small, ARRAY_LEN(small), { NULL, NULL } },
    { "lfm2",
      "{\"model_type\":\"lfm2\",\"hidden_size\":64,\"num_hidden_layers\":4,\"num_attention_heads\":4,\"num_key_value_heads\":2,\"block_ff_dim\":96,"
      "\"block_auto_adjust_ff_dim\":false,\"conv_L_cache\":3,\"vocab_size\":300,\"max_position_embeddings\":512,\"tie_word_embeddings\":true,"
      "\"layer_types\":[\"conv\",\"conv\",\"full_attention\",\"conv\"]}",
      4, lfm2, ARRAY_LEN(lfm2), { NULL, NULL } },
};

static void test_samples(void **state)
{
    (void)state;
    struct error err = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
        struct model from, m;
        write_sample(&samples[i], &from);
        if (model_load(&m, path, NULL, &err) != 0)
            fail_msg("%s: %s", samples[i].arch, err.msg);
        if (m.n_params != from.n_params || m.weight_bytes != from.weight_bytes || m.n_tensors != from.n_tensors || strcmp(m.type_name, "F16") != 0)
            fail_msg("%s: %llu parameters, expected %llu", samples[i].arch, (unsigned long long)m.n_params, (unsigned long long)from.n_params);
        for (size_t k = 0; k < m.n_tensors; k++)
            if (m.tensors[k].bytes != from.tensors[k].bytes || strcmp(m.tensors[k].name, from.tensors[k].name) != 0)
                fail_msg("%s: %s", samples[i].arch, from.tensors[k].name);
        assert_true(m.hp.n_ctx_train == 512 && m.hp.n_rot == from.hp.n_rot && m.hp.n_expert_used == from.hp.n_expert_used && m.hp.window == from.hp.window);
        assert_int_equal(strstr(m.note, "odd_gate") != NULL, i == 1);
        assert_int_equal(strstr(m.note, "ignored unknown") != NULL, i == 1);
        assert_null(m.gguf);
        model_free(&m);
        model_free(&from);
    }
}

/* Metadata that are not of the tensors are no model. */
static void test_refused(void **state)
{
    (void)state;
    struct model from, m;
    struct error err = { 0 };
    struct key keys[ARRAY_LEN(glm4moe)];
    memcpy(keys, glm4moe, sizeof keys);
    struct sample s = samples[2];
    s.key = keys;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (strcmp(keys[i].name, "expert_feed_forward_length") == 0)
            keys[i].v = 64;
    write_sample(&s, &from);
    model_free(&from);
    assert_fails(model_load(&m, path, NULL, &err), err, "its tensors have");
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (strcmp(keys[i].name, "expert_feed_forward_length") == 0)
            keys[i].name = "odd";
    write_sample(&s, &from);
    model_free(&from);
    assert_fails(model_load(&m, path, NULL, &err), err, "\"moe_intermediate_size\" is missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_samples), cmocka_unit_test(test_refused) };
    return cmocka_run_group_tests_name("gguf_predict_only", tests, make_dir, remove_dir);
}
