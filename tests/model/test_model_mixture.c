/* Mixtures: which tensor has which type. The sizes are those that llama.cpp prints. */
#include "base/environment.h"
#include "../test.h"
#include "model/model.h"

static int set_dirs(void **state)
{
    (void)state;
    environment_set_dirs(data_dirs());
    return 0;
}

/* The table at the end of section 3 of ../shared/docs/quant.md: bits a weight of Llama 2 7B, GiB and bits
 * a weight of Llama 3 8B, bits a weight of Llama 2 70B, to the digits printed there. */
static const struct {
    const char *type, *l2_7b, *l3_8b_gib, *l3_8b, *l2_70b;
} sizes[] = {
    { "Q2_K", "3.006", "2.953", "3.159", "2.953" },    { "Q3_K_S", "3.499", "3.406", "3.643", "3.470" },
    { "Q3_K_M", "3.915", "3.736", "3.996", "3.859" },  { "Q3_K_L", "4.270", "4.018", "4.298", "4.192" },
    { "Q4_0", "4.541", "4.334", "4.636", "4.508" },    { "Q4_K_S", "4.578", "4.363", "4.667", "4.552" },
    { "Q4_K_M", "4.844", "4.575", "4.894", "4.804" },  { "Q5_K_S", "5.522", "5.207", "5.570", "5.505" },
    { "Q5_K_M", "5.678", "5.332", "5.704", "5.654" },  { "Q6_K", "6.564", "6.136", "6.563", "6.563" },
    { "Q8_0", "8.501", "7.947", "8.501", "8.500" },    { "F16", "16.001", "14.958", "16.001", "16.000" },
};

static void check_size(const char *model, const char *type, bool gib, const char *expect)
{
    struct model m;
    struct error err = { 0 };
    char got[32];
    assert_ok(model_load(&m, model, type, &err), err);
    double v = gib ? (double)m.weight_bytes / 1073741824.0
                   : 8.0 * (double)m.weight_bytes / (double)m.n_params;
    snprintf(got, sizeof got, "%.3f", v);
    if (strcmp(got, expect) != 0)
        fail_msg("%s %s: %s, expected %s", model, type, got, expect);
    model_free(&m);
}

static void test_sizes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        check_size("llama-2-7b", sizes[i].type, false, sizes[i].l2_7b);
        check_size("llama-3-8b", sizes[i].type, true, sizes[i].l3_8b_gib);
        check_size("llama-3-8b", sizes[i].type, false, sizes[i].l3_8b);
        check_size("llama-2-70b", sizes[i].type, false, sizes[i].l2_70b);
    }
}

/* Types of few bits, of Llama 3.1 8B, as llama.cpp's tools/quantize/README.md has them: bits a weight. */
static void test_low_bits(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        double bits;
    } low[] = { { "IQ1_S", 2.0042 },  { "IQ1_M", 2.1460 },   { "IQ2_XXS", 2.3824 }, { "IQ2_XS", 2.5882 }, { "IQ2_S", 2.7403 },
                { "IQ2_M", 2.9294 },  { "IQ3_XXS", 3.2548 }, { "IQ3_XS", 3.4977 },  { "IQ3_S", 3.6606 },  { "IQ3_M", 3.7628 } };
    for (size_t i = 0; i < ARRAY_LEN(low); i++) {
        struct model m;
        struct error err = { 0 };
        assert_ok(model_load(&m, "llama-3.1-8b", low[i].type, &err), err);
        const double bits = 8.0 * (double)m.weight_bytes / (double)m.n_params;
        if (!(bits / low[i].bits > 0.999 && bits / low[i].bits < 1.001))
            fail_msg("%s: %.4f, expected %.4f", low[i].type, bits, low[i].bits);
        model_free(&m);
    }
}

static enum dtype type_of(const char *type, const struct hparams *hp, const char *name, uint64_t cols)
{
    enum dtype t = DTYPE_COUNT;
    struct error err = { 0 };
    assert_ok(model_tensor_type(type, hp, name, cols, &t, &err), err);
    return t;
}

static void test_rules(void **state)
{
    (void)state;
    struct hparams hp = { .n_layer = 32, .n_head = 32, .n_head_kv = 8 };
    /* more(i) for 32 layers: 0-3, 28-31, and 6, 9, ..., 27 */
    for (unsigned i = 0; i < 32; i++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%u.attn_v.weight", i);
        bool more = i < 4 || i >= 28 || (i >= 6 && i % 3 == 0);
        assert_int_equal(type_of("Q4_K_M", &hp, name, 4096), more ? DTYPE_Q6_K : DTYPE_Q4_K);
    }
    assert_int_equal(type_of("q4_k", &hp, "blk.0.ffn_down.weight", 4096), DTYPE_Q6_K);
    assert_int_equal(type_of("Q4_K_M", &hp, "blk.0.ffn_up.weight", 4096), DTYPE_Q4_K);
    assert_int_equal(type_of("Q4_K_M", &hp, "output.weight", 4096), DTYPE_Q6_K);
    assert_int_equal(type_of("Q4_K_M", &hp, "token_embd.weight", 4096), DTYPE_Q4_K);
    assert_int_equal(type_of("Q4_0", &hp, "output.weight", 4096), DTYPE_Q6_K);
    assert_int_equal(type_of("Q8_0", &hp, "output.weight", 4096), DTYPE_Q8_0);
    assert_int_equal(type_of("BF16", &hp, "output.weight", 4096), DTYPE_BF16);
    assert_int_equal(type_of("Q4_K_M", &hp, "blk.0.attn_norm.weight", 4096), DTYPE_F32);
    assert_int_equal(type_of("Q4_K_M", &hp, "rope_freqs.weight", 64), DTYPE_F32);
    assert_int_equal(type_of("Q4_K_M", &hp, "blk.0.attn_qkv.weight", 4096), DTYPE_Q5_K);
    hp.tied = true;
    assert_int_equal(type_of("Q4_K_M", &hp, "token_embd.weight", 4096), DTYPE_Q6_K);
    enum dtype t;
    struct error err = { 0 };
    assert_fails(model_tensor_type("Q4_K_X", &hp, "output.weight", 256, &t, &err), err, "Q4_K_S");
}

/* Mixtures of experts: with 8 of them attention gets more; experts are what they are in a dense model. */
static void test_experts(void **state)
{
    (void)state;
    struct hparams hp = { .n_layer = 32, .n_head = 32, .n_head_kv = 8, .n_expert = 8 };
    static const char *const types[] = { "Q4_0", "Q8_0", "Q2_K", "Q3_K_S", "Q3_K_L", "Q4_K_S", "Q4_K_M", "Q5_K_M", "IQ4_XS" };
    static const bool output_q5[] = { false, false, true, true, false, true, true, false, true };
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        assert_int_equal(type_of(types[i], &hp, "blk.5.attn_v.weight", 4096), DTYPE_Q8_0);
        assert_int_equal(type_of(types[i], &hp, "blk.5.attn_k.weight", 4096), DTYPE_Q8_0);
        const enum dtype base = type_of(types[i], &hp, "blk.5.attn_q.weight", 4096);
        assert_int_equal(type_of(types[i], &hp, "blk.5.attn_output.weight", 4096), output_q5[i] ? DTYPE_Q5_K : base);
        assert_int_equal(type_of(types[i], &hp, "blk.5.ffn_up_exps.weight", 4096), base);
        assert_int_equal(type_of(types[i], &hp, "blk.5.ffn_gate_inp.weight", 4096), DTYPE_F32);
    }
    hp.n_expert = 64;
    assert_int_equal(type_of("Q4_K_M", &hp, "blk.5.attn_k.weight", 4096), DTYPE_Q4_K);
    assert_int_equal(type_of("Q4_K_M", &hp, "blk.0.attn_v.weight", 4096), DTYPE_Q6_K);
    assert_int_equal(type_of("Q4_K_M", &hp, "blk.0.ffn_down_exps.weight", 4096), DTYPE_Q6_K);
    assert_int_equal(type_of("Q4_K_M", &hp, "blk.0.ffn_down_shexp.weight", 4096), DTYPE_Q6_K);
    assert_int_equal(type_of("Q4_K_M", &hp, "blk.4.ffn_down_exps.weight", 4096), DTYPE_Q4_K);
    assert_int_equal(type_of("Q4_K_M", &hp, "blk.0.attn_kv_b.weight", 512), DTYPE_Q4_K);
    assert_int_equal(type_of("mxfp4", &hp, "blk.0.ffn_up_exps.weight", 2880), DTYPE_MXFP4);
    assert_int_equal(type_of("MXFP4_MOE", &hp, "blk.0.attn_q.weight", 2880), DTYPE_Q8_0);
    assert_int_equal(type_of("MXFP4_MOE", &hp, "blk.0.ffn_up_shexp.weight", 2880), DTYPE_Q8_0);
    assert_int_equal(type_of("MXFP4_MOE", &hp, "output.weight", 2880), DTYPE_Q8_0);
}

static void test_iq4_and_q2(void **state)
{
    (void)state;
    static const char *const types[] = { "IQ4_NL", "IQ4_XS" };
    static const enum dtype base[] = { DTYPE_IQ4_NL, DTYPE_IQ4_XS };
    struct hparams hp = { .n_layer = 32, .n_head = 32, .n_head_kv = 8 };
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        hp.n_head_kv = 8;
        assert_int_equal(type_of(types[i], &hp, "blk.9.attn_v.weight", 4096), DTYPE_Q5_K);
        assert_int_equal(type_of(types[i], &hp, "blk.3.ffn_down.weight", 4096), DTYPE_Q5_K);
        assert_int_equal(type_of(types[i], &hp, "blk.4.ffn_down.weight", 4096), base[i]);
        assert_int_equal(type_of(types[i], &hp, "output.weight", 4096), DTYPE_Q6_K);
        assert_int_equal(type_of(types[i], &hp, "blk.4.attn_q.weight", 960), DTYPE_IQ4_NL);
        hp.n_head_kv = 32;
        assert_int_equal(type_of(types[i], &hp, "blk.9.attn_v.weight", 4096), base[i]);
    }
    assert_int_equal(type_of("Q2_K_S", &hp, "blk.9.attn_v.weight", 4096), DTYPE_Q2_K);
    assert_int_equal(type_of("Q2_K_S", &hp, "blk.3.ffn_down.weight", 4096), DTYPE_Q4_K);
    assert_int_equal(type_of("Q2_K_S", &hp, "blk.4.ffn_down.weight", 4096), DTYPE_Q2_K);
    hp.n_head_kv = 8;
    assert_int_equal(type_of("Q2_K_S", &hp, "blk.9.attn_v.weight", 4096), DTYPE_Q4_K);
    hp.n_head_kv = 0; /* a layer without keys: no division */
    assert_int_equal(type_of("Q2_K", &hp, "blk.9.attn_v.weight", 4096), DTYPE_Q3_K);
}

/* Rows that blocks of 256 do not divide (SmolLM2-360M: 960), and rows nothing divides. */
static void test_fallbacks(void **state)
{
    (void)state;
    const struct hparams hp = { .n_layer = 32, .n_head = 15, .n_head_kv = 5 };
    assert_int_equal(type_of("Q4_K_M", &hp, "blk.4.attn_q.weight", 960), DTYPE_Q5_0);
    assert_int_equal(type_of("Q5_K_M", &hp, "blk.4.attn_q.weight", 960), DTYPE_Q5_1);
    assert_int_equal(type_of("Q4_K_M", &hp, "blk.0.attn_v.weight", 960), DTYPE_Q8_0);
    assert_int_equal(type_of("Q6_K", &hp, "blk.4.attn_q.weight", 960), DTYPE_Q8_0);
    assert_int_equal(type_of("Q2_K", &hp, "blk.4.attn_q.weight", 960), DTYPE_IQ4_NL);
    assert_int_equal(type_of("Q3_K_S", &hp, "blk.4.attn_q.weight", 960), DTYPE_IQ4_NL);
    assert_int_equal(type_of("Q4_K_M", &hp, "output.weight", 960), DTYPE_Q8_0);
    assert_int_equal(type_of("Q4_K_M", &hp, "blk.4.ffn_down.weight", 2560), DTYPE_Q4_K);
    assert_int_equal(type_of("Q4_K_M", &hp, "blk.4.attn_q.weight", 100), DTYPE_F16);
    assert_int_equal(type_of("Q8_0", &hp, "blk.4.attn_q.weight", 100), DTYPE_F16);
    assert_int_equal(type_of("F32", &hp, "blk.4.attn_q.weight", 100), DTYPE_F32);
}

/* Files another program quantized: every tensor has the type these rules give it. (Its Q4_0, Q4_K_S and
 * Q5_K_S files are not among them: they were written "pure", one type for all.) */
static void test_oracle_files(void **state)
{
    (void)state;
    static const char *const files[] = { "F32", "f16", "BF16", "Q8_0", "Q4_K_M", "Q6_K" };
    const char *shared = shared_dir();
    if (!shared) {
        print_message("# ../shared is absent: types of the oracle files not compared\n");
        skip();
    }
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char path[4300];
        struct model m;
        struct error err = { 0 };
        snprintf(path, sizeof path, "%s/data/oracle/llama-gqa-%s.gguf", shared, files[i]);
        assert_ok(model_load(&m, path, NULL, &err), err);
        for (size_t k = 0; k < m.n_tensors; k++) {
            const struct tensor *t = &m.tensors[k];
            if (t->rows == 1)
                continue;
            enum dtype want = type_of(files[i], &m.hp, t->name, t->cols);
            if (t->type != want)
                fail_msg("%s: %s is %s, expected %s", path, t->name, dtype_name(t->type), dtype_name(want));
        }
        model_free(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_low_bits),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_iq4_and_q2),
        cmocka_unit_test(test_fallbacks),
        cmocka_unit_test(test_oracle_files),
    };
    return cmocka_run_group_tests_name("model_mixture", tests, set_dirs, NULL);
}
