/* Names beyond those of presets: with a type at their end, and as llama-bench prints a model. */
#include "base/environment.h"
#include "../test.h"
#include "model/internal.h"
#include "model/model.h"

static int set_dirs(void **state)
{
    (void)state;
    environment_set_dirs(data_dirs());
    return 0;
}

static void test_type_at_the_end(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        size_t len;
        const char *type;
    } cases[] = {
        { "llama 8B Q4_K - Medium", 8, "Q4_K_M" },
        { "llama 8B Q3_K - Large", 8, "Q3_K_L" },
        { "llama 8B Q5_K - Small", 8, "Q5_K_S" },
        { "gpt-oss 20B MXFP4 MoE", 11, "MXFP4_MOE" },
        { "llama 8B IQ4_XS - 4.25 bpw", 8, "IQ4_XS" },
        { "llama 8B TQ1_0 - 1.69 bpw ternary", 8, "TQ1_0" },
        { "llama 1B all F32", 8, "F32" },
        { "llama 1B Q4_0 (guessed)", 8, "Q4_0" },
        { "Llama-3.1-8B-Instruct-Q4_K_M", 21, "Q4_K_M" },
        { "Qwen3-8B.Q8_0", 8, "Q8_0" },
        { "qwen3-8b:q4_k_m", 8, "q4_k_m" },
        { "Qwen3-8B-IQ2_XXS", 8, "IQ2_XXS" },
        { "Qwen3-8B-BF16", 8, "BF16" },
        { "Qwen3-8B-AWQ", 8, "AWQ" },
        { "Llama-3.1-8B-Instruct-FP8", 21, "FP8" },
        { "Qwen3-8B-GPTQ", 8, "GPTQ" },
        { "Qwen3-8B-GGUF", 13, "none" },
        { "llama 8B", 8, "none" },
        { "Q4_0", 4, "none" },       /* the type alone is no model's name */
        { "-Q4_0", 5, "none" },
        { "llama-Q4", 8, "none" },
        { "llama-Q4_", 9, "none" },
        { "Qwen2.5-7B-Instruct-GPTQ-Int4", 19, "GPTQ-Int4" },
        { "Llama-3.3-70B-Instruct-FP8-dynamic", 22, "FP8-dynamic" },
        { "Llama-3.3-70B-Instruct-quantized.w8a8", 22, "quantized.w8a8" },
        { "llama3.1:8b-instruct-q4_K_M", 20, "q4_K_M" },
        { "llama 8B Q4_K - Medium or so", 28, "none" },
        { "", 0, "none" },
        { " ", 1, "none" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char type[32] = "none";
        const size_t len = alias_type(cases[i].spec, type, sizeof type);
        if (len != cases[i].len || strcmp(type, cases[i].type) != 0)
            fail_msg("\"%s\": %zu, %s", cases[i].spec, len, type);
    }
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *asked, *name, *type;
    } cases[] = {
        { "llama 8B Q4_K - Medium", NULL, "llama-3.1-8b", "Q4_K_M" },
        { "qwen3moe 30B.A3B Q4_K - Medium", NULL, "qwen3-30b-a3b", "Q4_K_M" },
        { "gpt-oss 20B MXFP4 MoE", NULL, "gpt-oss-20b", "MXFP4_MOE" },
        { "gemma3 27B Q8_0", NULL, "gemma-3-27b", "Q8_0" },
        { "llama 1B Q4_0", NULL, "llama-3.2-1b", "Q4_0" },
        { "llama4 17Bx16E (Scout) Q4_0", NULL, "llama-4-scout-17b-16e", "Q4_0" },
        { "LLAMA 8b q4_0", NULL, "llama-3.1-8b", "Q4_0" },
        { "llama 8B", NULL, "llama-3.1-8b", "F16" },
        { "llama-8b", NULL, "llama-3.1-8b", "F16" },
        /* what the caller says goes before what the name does */
        { "llama 8B Q4_K - Medium", "Q8_0", "llama-3.1-8b", "Q8_0" },
        { "unsloth/Qwen3-8B-Q6_K", NULL, "qwen3-8b", "Q6_K" },
        { "meta-llama/Llama-3.1-8B-Instruct", NULL, "llama-3.1-8b", "F16" },
        { "Llama-3-8B", NULL, "llama-3-8b", "F16" },
        /* ollama's way; kinds of checkpoints and of files at the end */
        { "llama3.1:8b", NULL, "llama-3.1-8b", "F16" },
        { "qwen3:8b", "Q8_0", "qwen3-8b", "Q8_0" },
        { "qwen3:30b-a3b-q4_K_M", NULL, "qwen3-30b-a3b", "Q4_K_M" },
        { "Qwen/Qwen3-8B-AWQ", NULL, "qwen3-8b", "AWQ" },
        { "Qwen3-8B-GPTQ", NULL, "qwen3-8b", "GPTQ" },
        { "Llama-3.1-8B-Instruct-FP8", NULL, "llama-3.1-8b", "FP8" },
        { "Qwen3-8B-FP8", "AWQ", "qwen3-8b", "AWQ" },
        { "Qwen/Qwen3-8B-GGUF", NULL, "qwen3-8b", "F16" },
        { "Qwen3-8B-GGUF:Q4_K_M", NULL, "qwen3-8b", "Q4_K_M" },
        { "llama_3_8b", NULL, "llama-3-8b", "F16" },
        { "llama3.1:8b-instruct-q4_K_M", NULL, "llama-3.1-8b", "Q4_K_M" },
        { "llama3.1", NULL, "llama-3.1-8b", "F16" },
        { "llama3.1:latest", NULL, "llama-3.1-8b", "F16" },
        { "llama3.1:70b", NULL, "llama-3.1-70b", "F16" },
        { "qwen3-next", NULL, "qwen3-next-80b-a3b", "F16" },
        { "qwen3-coder:30b", NULL, "qwen3-30b-a3b", "F16" },
        { "gpt-oss:20b", NULL, "gpt-oss-20b", "F16" },
        { "gemma3:27b-it-qat", NULL, "gemma-3-27b", "F16" },
        { "deepseek-r1:14b", NULL, "qwen2.5-14b", "F16" },
        { "deepseek-r1:671b", NULL, "deepseek-v3", "F16" },
        /* owners, trainings, dates, packages, makers of mixtures; the same shape under another name */
        { "Qwen/Qwen3-30B-A3B-Instruct-2507-FP8", NULL, "qwen3-30b-a3b", "FP8" },
        { "Qwen3-4B-Thinking-2507", NULL, "qwen3-4b", "F16" },
        { "Qwen/Qwen3-Coder-30B-A3B-Instruct", NULL, "qwen3-30b-a3b", "F16" },
        { "unsloth/Qwen3-30B-A3B-GGUF:UD-Q4_K_XL", NULL, "qwen3-30b-a3b", "Q4_K_M" },
        { "bartowski/google_gemma-3-27b-it-GGUF", NULL, "gemma-3-27b", "F16" },
        { "google/gemma-3-27b-it-qat-q4_0-gguf", NULL, "gemma-3-27b", "Q4_0" },
        { "Meta-Llama-3-8B-Instruct.Q6_K", NULL, "llama-3-8b", "Q6_K" },
        { "llama-3.3-70b-instruct-q4_k_m-00001-of-00002", NULL, "llama-3.3-70b", "Q4_K_M" },
        { "RedHatAI/Llama-3.3-70B-Instruct-quantized.w8a8", NULL, "llama-3.3-70b", "INT8" },
        { "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", NULL, "llama-3.3-70b", "FP8_CHANNEL" },
        { "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", NULL, "qwen2.5-7b", "GPTQ" },
        { "Qwen/Qwen3-8B-IQ2_XXS", NULL, "qwen3-8b", "IQ2_XXS" },
        { "mistralai/Mistral-Small-24B-Instruct-2501", NULL, "mistral-small-24b", "F16" },
        { "mistralai/Mistral-Small-Instruct-2409", NULL, "mistral-small-22b", "F16" },
        { "mistralai/Mistral-7B-Instruct-v0.2", NULL, "mistral-7b", "F16" },
        { "mistralai/Mistral-7B-Instruct-v0.1", NULL, "mistral-7b-v0.1", "F16" },
        { "mistralai/Mixtral-8x22B-Instruct-v0.1", NULL, "mixtral-8x22b", "F16" },
        { "deepseek-ai/DeepSeek-R1-Distill-Qwen-14B", NULL, "qwen2.5-14b", "F16" },
        { "DeepSeek-R1-Distill-Llama-70B", NULL, "llama-3.3-70b", "F16" },
        { "Qwen/Qwen3.6-27B", NULL, "qwen3.5-27b", "F16" },
        { "LLaMA v2 13B mostly Q4_0", NULL, "llama-2-13b", "Q4_0" },
        { "QwQ 32B", NULL, "qwen2.5-32b", "F16" },
        { "Llama-3.1-8B-Uncensored-Q4_K_M", NULL, "llama-3.1-8b", "Q4_K_M" },
        /* llama-bench's label, and a repository of that name */
        { "llama 7B Q4_0", NULL, "llama-2-7b", "Q4_0" },
        { "huggyllama/llama-7b", NULL, "llama-1-7b", "F16" },
        { "huggyllama/llama-7b-Q4_0", NULL, "llama-1-7b", "Q4_0" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct model m;
        struct error err = { 0 };
        assert_ok(model_load(&m, cases[i].spec, cases[i].asked, &err), err);
        if (strcmp(m.name, cases[i].name) != 0 || strcmp(m.type_name, cases[i].type) != 0)
            fail_msg("\"%s\": %s in %s", cases[i].spec, m.name, m.type_name);
        model_free(&m);
    }
}

static void test_unknown(void **state)
{
    (void)state;
    struct model m;
    struct error err = { 0 };
    assert_fails(model_load(&m, "lama-3.1-8b-q4_0", NULL, &err), err, "no model called \"lama-3.1-8b-q4_0\"; did you mean llama-3.1-8b?");
    assert_fails(model_load(&m, "Q4_0", NULL, &err), err, "no model called \"Q4_0\"");
    assert_fails(model_load(&m, "unsloth/Qwen3-8B-bnb-4bit", NULL, &err), err,
                 "\"Qwen3-8B-bnb-4bit\": the 4-bit types of bitsandbytes (bnb) are not supported");
    assert_fails(model_load(&m, "lama-GGUF", NULL, &err), err, "no model called \"lama-GGUF\"");
    assert_fails(model_load(&m, "Qwen3-8B-IQ5_XXS", NULL, &err), err, "type \"IQ5_XXS\" is unknown");
    assert_fails(model_load(&m, "Qwen3-8B-int4", NULL, &err), err, "\"Qwen3-8B-int4\": int4 says 4.5 bits per weight");
    assert_fails(model_load(&m, "Qwen3-8B Q4_K - Huge", NULL, &err), err, "no model called");
    char longer[400];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    memcpy(longer + 200, " Q4_0", 5);
    assert_fails(model_load(&m, longer, NULL, &err), err, "no model called");
}

/* A wrong model is worse than none. */
static void test_near_misses(void **state)
{
    (void)state;
    static const char *const names[] = {
        "Llama-27B", "Llama 2 70", "llama-31-8b", "Llama 3.1", "Llama-3.1", "Llama-3.1-9B", "Qwen-34B", "Qwen3-3-0B", "Qwen3-40B-A3B", "Qwen3-30B-A6B",
        "gemma-3n-E4B-it", "gemma-32-7b", "Mistral-Small", "Mistral-Small-2603", "Mistral-Large-2512", "Kimi-K2.7", "DeepSeek-R1-Distill-Qwen-72B", "deepseek-r1:9b",
        "phi-3", "Phi-3-mini-2509", "gpt-oss-21b", "GPT-OSS", "Qwen3-Next-8B", "QWEN3", "llama3.1:9b", "llama-bench", "EAGLE3-LLaMA3.1-Instruct-8B",
        "Llama-3.1-8B-EAGLE", "Qwen3-8B-draft", "Qwen3-Embedding-8B", "Qwen3-8B-pruned", "Llama-3.1-Minitron-4B", "Instruct", "-it", "q4_0", "2507", "GGUF", "/", "_", " ",
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct model m;
        struct error err = { 0 };
        bool found = true;
        assert_ok(model_load_preset(&m, names[i], NULL, &found, &err), err);
        if (found)
            fail_msg("\"%s\" is taken for %s", names[i], m.name);
    }
}

/* What is not loaded, under whatever name, is suggested. */
static void test_suggested(void **state)
{
    (void)state;
    static const char *const t[][2] = {
        { "Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b" },
        { "nvidia/Llama-3.1-70B-Instruct-FP8", "llama-3.1-70b" },
        { "llama-3-8c", "llama-3-8b" },
        { "Llama-3.1-8B-Uncensored-Q4_K_M", "llama-3.1-8b" },
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        struct model m;
        struct error err = { 0 };
        char says[64];
        snprintf(says, sizeof says, "did you mean %s?", t[i][1]);
        if (model_load(&m, t[i][0], NULL, &err) == 0) {
            assert_string_equal(m.name, t[i][1]);
            model_free(&m);
        } else if (!strstr(err.msg, says)) {
            fail_msg("\"%s\": %s; expected %s", t[i][0], err.msg, says);
        }
    }
    struct model m;
    struct error err = { 0 };
    assert_fails(model_load(&m, "zzz-unheard-of-900b", NULL, &err), err, "no model called");
    assert_null(strstr(err.msg, "did you mean"));
    /* Without its point it looks alike, and is not taken for it. */
    assert_fails(model_load(&m, "llama-31-8b", NULL, &err), err, "did you mean llama-3.1-8b?");
}

/* Every line has a label of its own; every model it names that there is a preset of is found by the label. */
static void test_table(void **state)
{
    (void)state;
    char path[4300], line[512], label[128], other[128], spec[600], **names, *labels[128];
    size_t n = 0, found = 0, n_names;
    struct error err = { 0 };
    assert_ok(model_list(&names, &n_names, &err), err);
    snprintf(path, sizeof path, "%s/models/llama-bench.tsv", data_dirs()[0]);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (line[0] == '#')
            continue;
        char *tab = strchr(line, '\t');
        assert_non_null(tab);
        *tab++ = 0;
        tab[strcspn(tab, "\t\n")] = 0;
        alias_fold(label, sizeof label, line);
        for (size_t i = 0; i < n; i++) {
            alias_fold(other, sizeof other, labels[i]);
            if (strcmp(label, other) == 0)
                fail_msg("%s: twice", line);
        }
        assert_true(n < ARRAY_LEN(labels) && strchr(line, ' '));
        labels[n++] = strdup(line);
        for (size_t i = 0; i < n_names; i++) {
            struct model m;
            if (strcmp(names[i], tab) != 0)
                continue;
            snprintf(spec, sizeof spec, "%s Q8_0", line);
            assert_ok(model_load(&m, spec, NULL, &err), err);
            assert_string_equal(m.name, tab);
            assert_string_equal(m.type_name, "Q8_0");
            model_free(&m);
            found++;
        }
    }
    fclose(f);
    for (size_t i = 0; i < n; i++)
        free(labels[i]);
    name_list_free(names, n_names);
    assert_true(found >= 45);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_type_at_the_end),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_near_misses),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_suggested),
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests_name("alias", tests, set_dirs, NULL);
}
