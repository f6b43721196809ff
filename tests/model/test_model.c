/* Models from names and from dimensions: what is found and what is refused. */
#include "base/environment.h"
#include "../test.h"
#include "model/arch.h"
#include "model/model.h"
#include <math.h>

static int set_dirs(void **state)
{
    (void)state;
    environment_set_dirs(data_dirs());
    return 0;
}

/* ---- presets ----------------------------------------------------------------------------- */

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

/* ---- dimensions ---------------------------------------------------------------------------- */

static void test_hparams_direct(void **state)
{
    (void)state;
    struct hparams hp = { .n_layer = 1, .n_embd = 64, .n_head = 4, .n_head_kv = 4, .head_dim = 16, .n_ff = 96,
                          .n_vocab = 300, .n_ctx_train = 64, .n_rot = 16, .rope_theta = 1e4, .rms_eps = 1e-5 };
    struct model m;
    struct error err = { 0 };
    assert_fails(model_from_hparams(&m, "x", "mamba", &hp, NULL, &err), err, "known: llama, smollm3, qwen2");
    hp.n_rot = 18;
    assert_fails(model_from_hparams(&m, "x", "llama", &hp, NULL, &err), err, "n_rot is 18");
    hp.n_rot = 16;
    hp.n_layer = 0;
    assert_fails(model_from_hparams(&m, "x", "llama", &hp, NULL, &err), err, "n_layer is 0");
}

static struct hparams small(void)
{
    return (struct hparams){ .n_layer = 1, .n_embd = 64, .n_head = 4, .n_head_kv = 4, .head_dim = 16, .n_ff = 96,
                             .n_vocab = 300, .n_ctx_train = 64, .n_rot = 16, .rope_theta = 1e4, .rms_eps = 1e-5 };
}

static void test_hparams_experts(void **state)
{
    (void)state;
    static const struct {
        uint32_t n_expert, used, width, shared, shexp, group, group_used;
        const char *expect; /* NULL: good */
    } cases[] = {
        { 8, 2, 96, 0, 0, 0, 0, NULL },
        { 8, 8, 96, 0, 0, 0, 0, NULL },
        { 1, 1, 96, 0, 0, 1, 0, NULL },
        { 8, 3, 96, 0, 0, 4, 2, NULL },
        { 8, 0, 96, 0, 0, 0, 0, "0 of 8 experts used" },
        { 8, 9, 96, 0, 0, 0, 0, "9 of 8 experts used a token, expected 1 to 8" },
        { 8, 2, 0, 0, 0, 0, 0, "the width of an expert is missing or 0" },
        { 8, 2, 96, 2, 0, 0, 0, "2 shared experts of width 0" },
        { 8, 2, 1 << 22, 0, 0, 0, 0, NULL },
        { 16, 2, (1 << 22) + 1, 0, 0, 0, 0, "n_ff_exp is 4194305" },
        { 1024, 2, 65537, 0, 0, 0, 0, "1024 experts of width 65537" },
        { 1024, 1024, 16385, 0, 0, 0, 0, "1024 experts of width 16385 a token" },
        { 65537, 2, 8, 0, 0, 0, 0, "n_expert is 65537" },
        { 8, 2, 96, 0, 0, 3, 1, "8 experts in 3 groups" },
        { 8, 2, 96, 0, 0, 4, 5, "8 experts in 4 groups, 5 of them used" },
        { 8, 3, 96, 0, 0, 4, 1, "1 of them used for 3 experts" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hparams hp = small();
        struct model m;
        struct error err = { 0 };
        hp.n_expert = cases[i].n_expert;
        hp.n_expert_used = cases[i].used;
        hp.n_ff_exp = cases[i].width;
        hp.n_expert_shared = cases[i].shared;
        hp.n_ff_shexp = cases[i].shexp;
        hp.n_expert_group = cases[i].group;
        hp.n_expert_group_used = cases[i].group_used;
        if (cases[i].expect) {
            assert_fails(model_from_hparams(&m, "x", "llama", &hp, NULL, &err), err, cases[i].expect);
            continue;
        }
        assert_ok(model_from_hparams(&m, "x", "llama", &hp, NULL, &err), err);
        const struct tensor *t = model_find(&m, "blk.0.ffn_down_exps.weight");
        assert_int_equal(t->n_mat, hp.n_expert);
        assert_int_equal(t->rows, (uint64_t)hp.n_expert * hp.n_embd);
        assert_int_equal(t->cols, hp.n_ff_exp);
        model_free(&m);
    }
}

/* What passes here is divided by and multiplied with: no zero, infinity or NaN where one hurts. */
static void test_hparams_numbers(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        double value;
        const char *expect;
    } cases[] = {
        { offsetof(struct hparams, rope_theta), NAN, "the RoPE base" },
        { offsetof(struct hparams, rope_theta), 0.5, "the RoPE base" },
        { offsetof(struct hparams, rope_theta_swa), 0.5, "the RoPE base of windowed layers" },
        { offsetof(struct hparams, rope_theta_swa), -1, "the RoPE base of windowed layers" },
        { offsetof(struct hparams, rms_eps), INFINITY, "epsilon" },
        { offsetof(struct hparams, attn_scale), -1, "the scale of attention scores" },
        { offsetof(struct hparams, attn_softcap), NAN, "the soft cap of attention scores" },
        { offsetof(struct hparams, final_softcap), -30, "the soft cap of logits" },
        { offsetof(struct hparams, expert_scale), INFINITY, "the scale of expert weights" },
        { offsetof(struct hparams, rope_attn_factor), NAN, "attn_factor" },
        { offsetof(struct hparams, rope_factor), 0.5, "the YaRN factor" },
        { offsetof(struct hparams, rope_ctx_orig), 0, "YaRN's original context length" },
        { offsetof(struct hparams, yarn_log_mul), -1, "YaRN's log multiplier" },
        { offsetof(struct hparams, yarn_beta_slow), 0, "YaRN's beta_slow" },
        { offsetof(struct hparams, yarn_beta_fast), 0.5, "YaRN's beta_fast is 0.5, expected a number from 1" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hparams hp = small();
        struct model m;
        struct error err = { 0 };
        hp.rope_scaling = ROPE_SCALING_YARN;
        hp.rope_factor = 4, hp.rope_ctx_orig = 64, hp.yarn_beta_fast = 32, hp.yarn_beta_slow = 1;
        assert_ok(model_from_hparams(&m, "x", "llama", &hp, NULL, &err), err);
        model_free(&m);
        memcpy((char *)&hp + cases[i].at, &cases[i].value, sizeof(double));
        assert_fails(model_from_hparams(&m, "x", "llama", &hp, NULL, &err), err, cases[i].expect);
    }
    struct hparams hp = small();
    struct model m;
    struct error err = { 0 };
    hp.head_dim_v = 65536, hp.n_head = hp.n_head_kv = 65536;
    hp.head_dim = hp.n_rot = 2;
    assert_fails(model_from_hparams(&m, "x", "llama", &hp, NULL, &err), err, "n_head x head dimension is 65536 x 65536");
    hp = small();
    hp.n_lora_kv = 1 << 20, hp.n_head = 64;
    assert_fails(model_from_hparams(&m, "x", "deepseek2", &hp, NULL, &err), err, "n_head x head dimension is 64 x 1048592");
}

static void test_arch_names(void **state)
{
    (void)state;
    char names[2048];
    size_t n = 0;
    arch_names(names, sizeof names);
    for (char *s = strtok(names, ", "); s; s = strtok(NULL, ", ")) {
        assert_non_null(arch_at(n));
        assert_ptr_equal(arch_find(s, strlen(s)), arch_at(n++));
    }
    assert_null(arch_at(n));
    assert_true(n >= 25);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < ARRAY_LEN(arch_at(i)->hf) && arch_at(i)->hf[k].model_type; k++) {
            assert_ptr_equal(arch_find_hf(arch_at(i)->hf[k].model_type, NULL), arch_at(i));
            assert_ptr_equal(arch_find_hf(NULL, arch_at(i)->hf[k].class_name), arch_at(i));
        }
    assert_null(arch_find("llam", 4));
    assert_null(arch_find("llama44", 7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_preset_names),
        cmocka_unit_test(test_preset_unknown),
        cmocka_unit_test(test_preset_dimensions),
        cmocka_unit_test(test_hparams_direct),
        cmocka_unit_test(test_hparams_experts),
        cmocka_unit_test(test_hparams_numbers),
        cmocka_unit_test(test_arch_names),
    };
    return cmocka_run_group_tests_name("model", tests, set_dirs, NULL);
}
