/* Models from names, config.json texts and GGUF files: what is read and what is refused. */
#include "../test.h"
#include "base/json.h"
#include "model/model.h"
#include "model/op.h"

static int set_dirs(void **state)
{
    (void)state;
    model_set_dirs(data_dirs());
    return 0;
}

/* ---- presets ----------------------------------------------------------------------------- */

/* Column params_computed of ../shared/data/facts/models.csv; the stories by the same sum:
 * n_vocab * n_embd + n_embd + n_layer * (4 * n_embd^2 + 3 * n_embd * n_ff + 2 * n_embd). */
static const struct {
    const char *name;
    uint64_t n_params;
} presets[] = {
    { "llama-2-7b", 6738415616 },     { "llama-2-13b", 13015864320 },  { "llama-2-70b", 68976648192 },
    { "llama-3-8b", 8030261248 },     { "llama-3-70b", 70553706496 },  { "llama-3.1-8b", 8030261248 },
    { "llama-3.1-70b", 70553706496 }, { "llama-3.2-1b", 1235814400 },  { "llama-3.2-3b", 3212749824 },
    { "llama-3.3-70b", 70553706496 }, { "tinyllama-1.1b", 1100048384 }, { "smollm2-135m", 134515008 },
    { "smollm2-360m", 361821120 },    { "smollm2-1.7b", 1711376384 },  { "mistral-7b", 7248023552 },
    { "stories15m", 15191712 },       { "stories42m", 41689600 },      { "stories110m", 109529856 },
};

static void test_preset_parameters(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(presets); i++) {
        struct model m;
        struct error err = { 0 };
        assert_ok(model_load(&m, presets[i].name, NULL, &err), err);
        /* RoPE factors are a table, not parameters of the model. */
        const struct tensor *f = model_find(&m, "rope_freqs.weight");
        uint64_t n = m.n_params - (f ? f->cols : 0);
        if (n != presets[i].n_params)
            fail_msg("%s: %llu parameters, expected %llu", presets[i].name, (unsigned long long)n,
                     (unsigned long long)presets[i].n_params);
        assert_string_equal(m.name, presets[i].name);
        assert_string_equal(m.type_name, "F16");
        assert_null(m.gguf);
        assert_null(m.tensors[0].data);
        uint64_t bytes = 0;
        for (size_t k = 0; k < m.n_tensors; k++)
            bytes += m.tensors[k].bytes;
        assert_int_equal(bytes, m.weight_bytes);
        model_free(&m);
    }
}

/* Every file in models/ is one of the table above: none is left unchecked. */
static void test_preset_list(void **state)
{
    (void)state;
    char **names;
    size_t n;
    struct error err = { 0 };
    assert_ok(model_list(&names, &n, &err), err);
    assert_int_equal(n, ARRAY_LEN(presets));
    for (size_t i = 0; i < n; i++) {
        bool known = false;
        for (size_t k = 0; k < ARRAY_LEN(presets); k++)
            known |= strcmp(names[i], presets[k].name) == 0;
        if (!known)
            fail_msg("%s is not in the test's table", names[i]);
        if (i > 0)
            assert_true(strcmp(names[i - 1], names[i]) < 0);
    }
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

static void test_preset_names(void **state)
{
    (void)state;
    static const struct {
        const char *asked, *got;
    } pairs[] = {
        { "Llama-3-8B", "llama-3-8b" },
        { "meta-llama/Llama-3.1-8B", "llama-3.1-8b" },
        { "meta-llama/Meta-Llama-3-8B", "llama-3-8b" },
        { "llama3.1-8b", "llama-3.1-8b" },
        { "Llama 3.2 1B", "llama-3.2-1b" },
        { "SmolLM2-360M", "smollm2-360m" },
        { "HuggingFaceTB/SmolLM2-360M-Instruct", "smollm2-360m" },
        { "tinyllama", "tinyllama-1.1b" },
        { "mistralai/Mistral-7B-v0.3", "mistral-7b" },
        { "STORIES15M", "stories15m" },
    };
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        struct model m;
        struct error err = { 0 };
        assert_ok(model_load(&m, pairs[i].asked, "q8_0", &err), err);
        assert_string_equal(m.name, pairs[i].got);
        assert_string_equal(m.type_name, "Q8_0");
        model_free(&m);
    }
}

static void test_preset_unknown(void **state)
{
    (void)state;
    struct model m;
    struct error err = { 0 };
    assert_fails(model_load(&m, "llama-3-9b", NULL, &err), err, "did you mean llama-3-8b?");
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_fails(model_load(&m, "smolm2-360m", NULL, &err), err, "did you mean smollm2-360m?");
    assert_fails(model_load(&m, "xyzzy", NULL, &err), err, "roofcast list models");
    assert_null(strstr(err.msg, "did you mean"));
    assert_fails(model_load(&m, "", NULL, &err), err, "empty");
    assert_fails(model_load(&m, "no/such/file.gguf", NULL, &err), err, "no such file");
    assert_fails(model_load(&m, "llama-3-8b", "Q9_9", &err), err, "Q4_K_M");
    assert_int_equal(err.kind, ERROR_USAGE);
    char huge[8192];
    memset(huge, 'a', sizeof huge - 1);
    huge[sizeof huge - 1] = 0;
    assert_fails(model_load(&m, huge, NULL, &err), err, "bytes long");
    huge[300] = 0;
    assert_fails(model_load(&m, huge, NULL, &err), err, "no model called");
}

/* Worked by hand: KV bytes follow from these dimensions. */
static void test_preset_dimensions(void **state)
{
    (void)state;
    struct model m;
    struct error err = { 0 };
    assert_ok(model_load(&m, "llama-3.1-8b", "Q4_K_M", &err), err);
    assert_int_equal(m.hp.n_layer, 32);
    assert_int_equal(m.hp.n_head_kv * m.hp.head_dim, 1024);
    assert_int_equal(m.hp.n_ctx_train, 131072);
    assert_int_equal(m.hp.rope_scaling, ROPE_SCALING_LLAMA3);
    assert_true(m.hp.rope_theta == 500000 && m.hp.rope_factor == 8 && m.hp.rope_ctx_orig == 8192);
    const struct tensor *t = model_get(&m, &err, "blk.%d.ffn_down.weight", 5);
    assert_non_null(t);
    assert_int_equal(t->rows, 4096);
    assert_int_equal(t->cols, 14336);
    assert_null(model_get(&m, &err, "blk.%d.ffn_down.weight", 32));
    assert_non_null(strstr(err.msg, "blk.32.ffn_down.weight"));
    model_free(&m);
}

/* ---- config.json --------------------------------------------------------------------------- */

static const char good[] =
    "{\"model_type\":\"llama\",\"hidden_size\":64,\"num_hidden_layers\":2,\"num_attention_heads\":4,"
    "\"num_key_value_heads\":2,\"intermediate_size\":128,\"vocab_size\":300";

static int parse_with(const char *more, struct hparams *hp, struct error *err)
{
    char text[2048];
    const char *arch;
    snprintf(text, sizeof text, "%s%s%s}", good, *more ? "," : "", more);
    /* Exactly its bytes, so that a read past the end is seen. */
    size_t n = strlen(text);
    char *copy = malloc(n);
    memcpy(copy, text, n);
    int rc = model_parse_config("t.json", copy, n, hp, &arch, err);
    free(copy);
    return rc;
}

static void test_config(void **state)
{
    (void)state;
    struct hparams hp;
    struct error err = { 0 };
    assert_ok(parse_with("", &hp, &err), err);
    assert_int_equal(hp.head_dim, 16);
    assert_int_equal(hp.n_rot, 16);
    assert_int_equal(hp.n_ctx_train, 2048);
    assert_false(hp.tied);
    assert_true(hp.rope_theta == 10000);
    assert_ok(parse_with("\"head_dim\":32,\"tie_word_embeddings\":true,\"sliding_window\":null,"
                         "\"rope_scaling\":{\"type\":\"linear\",\"factor\":4}",
                         &hp, &err),
              err);
    assert_int_equal(hp.head_dim, 32);
    assert_true(hp.tied);
    assert_int_equal(hp.rope_scaling, ROPE_SCALING_LINEAR);
    assert_true(hp.rope_factor == 4);
    assert_ok(parse_with("\"rope_parameters\":{\"rope_type\":\"llama3\",\"rope_theta\":5e5,\"factor\":8,"
                         "\"low_freq_factor\":1,\"high_freq_factor\":4,"
                         "\"original_max_position_embeddings\":8192}",
                         &hp, &err),
              err);
    assert_int_equal(hp.rope_scaling, ROPE_SCALING_LLAMA3);
    assert_true(hp.rope_theta == 5e5 && hp.rope_high == 4);
    assert_ok(parse_with("\"architectures\":[\"LlamaForCausalLM\"]", &hp, &err), err);
    assert_ok(parse_with("\"architectures\":null", &hp, &err), err);
    const char *arch;
    static const char mistral[] =
        "{\"architectures\":[\"MistralForCausalLM\"],\"hidden_size\":64,\"num_hidden_layers\":2,"
        "\"num_attention_heads\":4,\"intermediate_size\":128,\"vocab_size\":300,"
        "\"max_position_embeddings\":4096,\"sliding_window\":4096}";
    assert_ok(model_parse_config("m.json", mistral, sizeof mistral - 1, &hp, &arch, &err), err);
    assert_string_equal(arch, "llama");
    assert_int_equal(hp.n_head_kv, 4);
}

/* A field of the good text with another value: what the message must name. */
static void test_config_hostile(void **state)
{
    (void)state;
    static const struct {
        const char *field, *value, *expect;
    } cases[] = {
        { "hidden_size", NULL, "\"hidden_size\" is missing" },
        { "num_hidden_layers", NULL, "\"num_hidden_layers\" is missing" },
        { "num_attention_heads", NULL, "\"num_attention_heads\" is missing" },
        { "intermediate_size", NULL, "\"intermediate_size\" is missing" },
        { "vocab_size", NULL, "\"vocab_size\" is missing" },
        { "model_type", NULL, "\"model_type\" is missing" },
        { "hidden_size", "\"64\"", "\"hidden_size\": expected a whole number, found a string" },
        { "hidden_size", "-64", "hidden_size" },
        { "hidden_size", "1e30", "hidden_size" },
        { "hidden_size", "64.5", "\"hidden_size\": expected a whole number, found 64.5" },
        { "hidden_size", "[]", "hidden_size" },
        { "hidden_size", "4294967296", "hidden_size" },
        { "hidden_size", "4294967295", "hidden_size is 4294967295" },
        { "hidden_size", "99999999999999999999999", "t.json" },
        { "hidden_size", "0", "hidden_size" },
        { "hidden_size", "66", "multiple of num_attention_heads" },
        { "num_hidden_layers", "4000000000", "num_hidden_layers is 4000000000, expected 1 to" },
        { "num_key_value_heads", "3", "num_attention_heads is 4, expected a multiple of num_key_value_heads" },
        { "num_key_value_heads", "0", "num_key_value_heads" },
        { "num_attention_heads", "64", "head_dim is 1" },
        { "vocab_size", "1000000000", "vocab_size is 1000000000" },
        { "intermediate_size", "2147483648", "intermediate_size" },
        { "model_type", "\"gpt2\"", "model_type \"gpt2\" is not supported yet (known: llama, mistral)" },
        { "model_type", "7", "\"model_type\"" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *j = json_loads("{\"model_type\":\"llama\",\"hidden_size\":64,\"num_hidden_layers\":2,"
                               "\"num_attention_heads\":4,\"num_key_value_heads\":2,"
                               "\"intermediate_size\":128,\"vocab_size\":300}",
                               0, NULL);
        json_object_del(j, cases[i].field);
        char *text = json_dumps(j, 0), full[1024];
        json_decref(j);
        if (cases[i].value)
            snprintf(full, sizeof full, "%.*s,\"%s\":%s}", (int)strlen(text) - 1, text, cases[i].field,
                     cases[i].value);
        else
            snprintf(full, sizeof full, "%s", text);
        free(text);
        struct hparams hp;
        const char *arch;
        struct error err = { 0 };
        assert_fails(model_parse_config("t.json", full, strlen(full), &hp, &arch, &err), err,
                     cases[i].expect);
        assert_int_equal(err.kind, ERROR_INPUT);
    }
}

static void test_config_refused(void **state)
{
    (void)state;
    static const struct {
        const char *more, *expect;
    } cases[] = {
        { "\"attention_bias\":true", "attention_bias" },
        { "\"mlp_bias\":true", "mlp_bias" },
        { "\"num_local_experts\":8", "mixtures of experts are not supported by architecture llama" },
        { "\"hidden_act\":\"gelu\"", "hidden_act" },
        { "\"architectures\":[\"GPT2LMHeadModel\"]", "architectures[0] is \"GPT2LMHeadModel\"" },
        { "\"architectures\":[\"LlamaForCausalLM\",\"X\\u001b[2J\"]", "architectures[1] is \"X?[2J\"" },
        { "\"architectures\":\"LlamaForCausalLM\"", "\"architectures\": expected an array of strings, found a string" },
        { "\"architectures\":[3]", "architectures[0]: expected a string" },
        { "\"schema\":\"roofcast.run\"", "this is a roofcast.run document, a model is expected" },
        { "\"partial_rotary_factor\":0.5", "partial_rotary_factor" },
        { "\"sliding_window\":1024", "sliding_window is 1024 of 2048" },
        { "\"head_dim\":33", "head_dim" },
        { "\"head_dim\":0", "head_dim" },
        { "\"rope_theta\":0", "RoPE base" },
        { "\"rope_theta\":\"x\"", "rope_theta" },
        { "\"rms_norm_eps\":-1", "epsilon" },
        { "\"tie_word_embeddings\":1", "tie_word_embeddings" },
        { "\"max_position_embeddings\":0", "max_position_embeddings" },
        { "\"rope_scaling\":3", "rope_scaling" },
        { "\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4}", "\"yarn\" is not supported yet" },
        { "\"rope_scaling\":{\"type\":\"linear\"}", "factor" },
        { "\"rope_scaling\":{\"type\":\"linear\",\"factor\":-1}", "factor" },
        { "\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8}", "low_freq_factor" },
        { "\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":4,"
          "\"high_freq_factor\":1,\"original_max_position_embeddings\":8192}",
          "0 < low < high" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hparams hp;
        struct error err = { 0 };
        assert_fails(parse_with(cases[i].more, &hp, &err), err, cases[i].expect);
    }
    struct hparams hp;
    const char *arch;
    struct error err = { 0 };
    static const char *const texts[] = { "", "[]", "null", "{", "{}", "\"llama\"", "{\"a\":1,\"a\":2}" };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_fails(model_parse_config("t.json", texts[i], strlen(texts[i]), &hp, &arch, &err), err,
                     "t.json");
}

static void test_hparams_direct(void **state)
{
    (void)state;
    struct hparams hp = { .n_layer = 1, .n_embd = 64, .n_head = 4, .n_head_kv = 4, .head_dim = 16, .n_ff = 96,
                          .n_vocab = 300, .n_ctx_train = 64, .n_rot = 16, .rope_theta = 1e4, .rms_eps = 1e-5 };
    struct model m;
    struct error err = { 0 };
    assert_fails(model_from_hparams(&m, "x", "mamba", &hp, NULL, &err), err, "known: llama");
    hp.n_rot = 18;
    assert_fails(model_from_hparams(&m, "x", "llama", &hp, NULL, &err), err, "n_rot is 18");
    hp.n_rot = 16;
    hp.n_layer = 0;
    assert_fails(model_from_hparams(&m, "x", "llama", &hp, NULL, &err), err, "n_layer is 0");
}

static void test_arch_names(void **state)
{
    (void)state;
    char names[256];
    snprintf(names, sizeof names, "%s", arch_names());
    for (char *s = strtok(names, ", "); s; s = strtok(NULL, ", "))
        assert_non_null(arch_find(s, strlen(s)));
    assert_null(arch_find("llam", 4));
    assert_null(arch_find("llama4", 6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_preset_parameters), cmocka_unit_test(test_preset_list),
        cmocka_unit_test(test_preset_names),      cmocka_unit_test(test_preset_unknown),
        cmocka_unit_test(test_preset_dimensions), cmocka_unit_test(test_config),
        cmocka_unit_test(test_config_hostile),    cmocka_unit_test(test_config_refused),
        cmocka_unit_test(test_hparams_direct),    cmocka_unit_test(test_arch_names),
    };
    return cmocka_run_group_tests_name("model", tests, set_dirs, NULL);
}
