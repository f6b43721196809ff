/* Checkpoints that are not a GGUF: their bytes, worked out by hand, and what a quantization_config says. methods.md (4) */
#include "base/environment.h"
#include "../test.h"
#include "model/checkpoint.h"

static int set_dirs(void **state)
{
    (void)state;
    environment_set_dirs(data_dirs());
    return 0;
}

static uint64_t bytes_of(const char *name, uint64_t rows, uint64_t cols)
{
    const struct checkpoint *c = checkpoint_find(name);
    assert_non_null(c);
    return checkpoint_matrix_bytes(c, rows, cols);
}

/* A matrix of 130 rows (outputs) and 200 columns, which no block divides. */
static void test_matrix(void **state)
{
    (void)state;
    assert_int_equal(bytes_of("fp8", 130, 200), 26000 + 4);
    assert_int_equal(bytes_of("FP8_dynamic", 130, 200), 26000 + 4 * 130);
    assert_int_equal(bytes_of("FP8_BLOCK", 130, 200), 26000 + 4 * 2 * 2); /* 128 + 2 rows, 128 + 72 columns */
    assert_int_equal(bytes_of("FP8_BLOCK", 128, 256), 32768 + 4 * 1 * 2);
    assert_int_equal(bytes_of("W8A8", 130, 200), 26000 + 4 * 130);
    assert_int_equal(bytes_of("W8A16", 130, 200), 26000 + 4 * 130);
    /* AWQ: words of 8 outputs, 17 of them a column; 2 groups; F16 scales; zeros in words of 8 outputs. */
    assert_int_equal(bytes_of("AWQ", 130, 200), 17 * 200 * 4 + 2 * 130 * 2 + 17 * 2 * 4);
    /* GPTQ: words of 8 columns, 25 a row; and the group of every column. */
    assert_int_equal(bytes_of("GPTQ", 130, 200), 25 * 130 * 4 + 2 * 130 * 2 + 17 * 2 * 4 + 200 * 4);
    assert_int_equal(bytes_of("GPTQ", 130, 201), 26 * 130 * 4 + 2 * 130 * 2 + 17 * 2 * 4 + 201 * 4);
    assert_int_equal(bytes_of("W4A16", 130, 200), 25 * 130 * 4 + 2 * 130 * 2 + 16); /* the shape: two int64 */
    assert_int_equal(bytes_of("NVFP4", 130, 200), 130 * 100 + 130 * 13 + 4);        /* 12.5 groups of 16 are 13 */
    assert_int_equal(bytes_of("NVFP4", 130, 201), 130 * 101 + 130 * 13 + 4);
    assert_int_equal(bytes_of("MXFP4_EXPERTS", 130, 192), 130 * (96 + 6));
    assert_true(bytes_of("FP8", UINT64_MAX / 2, 3) == UINT64_MAX);
    assert_null(checkpoint_find("FP9"));
}

static void check_total(const char *model, const char *type, uint64_t expect)
{
    struct model m;
    struct error err = { 0 };
    uint64_t sum = 0;
    assert_ok(model_load(&m, model, type, &err), err);
    for (size_t i = 0; i < m.n_tensors; i++)
        sum += m.tensors[i].bytes;
    if (m.weight_bytes != expect || sum != expect)
        fail_msg("%s %s: %llu bytes, of tensors %llu, expected %llu", model, type, (unsigned long long)m.weight_bytes,
                 (unsigned long long)sum, (unsigned long long)expect);
    model_free(&m);
}

/*
 * Llama-3-8B, a layer: q, o 4096 x 4096, k, v 1024 x 4096, gate, up 14336 x 4096, down 4096 x 14336: 218,103,808 elements,
 * 43,008 rows, 38,912 columns; 32 layers: 6,979,321,856 elements in 224 matrices. 16 bits: embedding and LM head 2 x 128256 x
 * 4096, 65 norms of 4096: 2,101,878,784 bytes.
 */
static void test_llama(void **state)
{
    (void)state;
    const uint64_t n = 6979321856, kept = 2101878784;
    check_total("llama-3-8b", "FP8", n + 4 * 224 + kept); /* 9.08 GB */
    check_total("llama-3-8b", "FP8_CHANNEL", n + 4 * 32 * 43008 + kept);
    check_total("llama-3-8b", "FP8_BLOCK", n + n / 16384 * 4 + kept); /* 128 divides all sides */
    check_total("llama-3-8b", "INT8", n + 4 * 32 * 43008 + kept);
    check_total("llama-3-8b", "AWQ", n / 2 + n / 128 * 2 + n / 128 / 2 + kept); /* 5.73 GB, as published files have */
    check_total("llama-3-8b", "GPTQ", n / 2 + n / 128 * 2 + n / 128 / 2 + 4 * 32 * 38912 + kept);
    check_total("llama-3-8b", "W4A16", n / 2 + n / 128 * 2 + 16 * 224 + kept);
    check_total("llama-3-8b", "NVFP4", n / 2 + n / 16 + 4 * 224 + kept);
    /* A tied table stays at 16 bits: Llama-3.2-1B has 16 layers of q, o 2048 x 2048, k, v 512 x 2048, three of 8192 x 2048; and
     * 32 factors of the rotation in F32, which a list of tensors has here though files leave them to config.json. */
    check_total("llama-3.2-1b", "FP8", 16 * (2 * 4194304ull + 2 * 1048576 + 3 * 16777216 + 7 * 4) +
                                           2 * (128256 * 2048ull + 33 * 2048) + 4 * 32);
}

/*
 * DeepSeek-V3 without the layer that predicts a second token.
 *   attention, a layer   1536 x 7168, 24576 x 1536, 576 x 7168 (rows are 4.5 blocks: 5), 32768 x 512, 7168 x 16384:
 *                        187,105,280 elements; 672 + 2304 + 280 + 1024 + 7168 = 11,448 blocks; 61 of them
 *   3 dense layers       9 of 18432 x 7168 = 132,120,576 elements, 8,064 blocks
 *   58 with experts      58 x 257 x 3 = 44,718 of 2048 x 7168 = 14,680,064 elements, 896 blocks
 *   16 bits              embedding and LM head 2 x 129280 x 7168, routers 58 x 256 x 7168, norms 61 (2 x 7168 + 1536 + 512) + 7168
 *   F32                  58 x 256 of the router's bias
 * 673,150,611,808. The published files have 688.6 GB: with the 62nd layer (257 x 3 experts' matrices, an attention, a
 * matrix of 7168 x 14336, a table and a head of its own in 16 bits: 15.4 GB) it would be 688.6 too.
 */
static void test_deepseek(void **state)
{
    (void)state;
    const uint64_t elems = 61 * 187105280ull + 9 * 132120576ull + 44718 * 14680064ull;
    const uint64_t blocks = 61 * 11448 + 9 * 8064 + 44718 * 896;
    const uint64_t kept = 2 * 129280 * 7168ull + 58 * 256 * 7168 + 61 * (2 * 7168 + 1536 + 512) + 7168;
    assert_int_equal(elems + 4 * blocks + 2 * kept + 4 * 58 * 256, 673150611808);
    check_total("deepseek-v3", "FP8_BLOCK", 673150611808);
}

/*
 * gpt-oss-20b: 24 layers of 32 experts of 24,883,200 elements (gate and up 5760 x 2880, down 2880 x 2880), 17 bytes for 32;
 * 16 bits: embedding and LM head 2 x 201088 x 2880; a layer: q, o 4096 x 2880, k, v 512 x 2880, their biases 4096 + 2 x 512 +
 * 2880, 64 sinks, router 32 x 2880 + 32, two norms of 2880, the experts' biases 32 (5760 + 2880); a norm. 13,761,264,768:
 * the 13.76 GB of the published files. As MXFP4 of a GGUF, all else Q8_0, it is 12.10 GB.
 */
static void test_gpt_oss(void **state)
{
    (void)state;
    const uint64_t layer = 2 * 4096 * 2880 + 2 * 512 * 2880 + 8000 + 64 + 32 * 2880 + 32 + 2 * 2880 + 32 * 8640;
    const uint64_t total = 24 * 32 * 24883200ull / 32 * 17 + 2 * (2 * 201088 * 2880ull + 24 * layer + 2880);
    assert_int_equal(total, 13761264768);
    check_total("gpt-oss-20b", "MXFP4_EXPERTS", total);
}

/*
 * gpt-oss-20b with its feed-forward layers in NVFP4 and attention as it is: an expert's matrices are 5760 x 2880 and 2880 x 2880,
 * rows of 180 groups of 16: 1440 + 180 bytes a row, 4 bytes a matrix; gate and up are two. All else as above.
 */
static void test_ffn_only(void **state)
{
    (void)state;
    const uint64_t layer = 2 * 4096 * 2880 + 2 * 512 * 2880 + 8000 + 64 + 32 * 2880 + 32 + 2 * 2880 + 32 * 8640;
    check_total("gpt-oss-20b", "NVFP4_FFN", 24 * 32 * (8640 * 1620ull + 3 * 4) + 2 * (2 * 201088 * 2880ull + 24 * layer + 2880));
}

/* ---- quantization_config ---------------------------------------------------------------------------- */

static const char tiny[] = "{\"model_type\":\"llama\",\"hidden_size\":256,\"intermediate_size\":512,\"num_attention_heads\":4,"
                           "\"num_hidden_layers\":2,\"vocab_size\":1000,\"torch_dtype\":\"%s\",\"quantization_config\":%s}";

static int load(struct model *m, const char *dtype, const char *quant, struct error *err)
{
    char text[4096];
    struct hparams hp;
    const char *arch;
    *m = (struct model){ 0 };
    snprintf(text, sizeof text, tiny, dtype, quant);
    json_t *j = json_load_mem("t.json", text, strlen(text), err);
    assert_non_null(j);
    int rc = config_parse(j, "t.json", &hp, &arch, err);
    if (rc == 0)
        rc = model_from_config(m, "t", j, "t.json", arch, &hp, NULL, err);
    json_decref(j);
    return rc;
}

static struct tensor tensor_of(const char *quant, const char *name, char type_name[32])
{
    struct model m;
    struct error err = { 0 };
    assert_ok(load(&m, "bfloat16", quant, &err), err);
    const struct tensor *t = model_find(&m, name);
    assert_non_null(t);
    const struct tensor copy = *t;
    snprintf(type_name, 32, "%s", m.type_name);
    model_free(&m);
    return copy;
}

#define GROUP(weights, act) "\"config_groups\":{\"group_0\":{\"targets\":[\"Linear\"],\"weights\":{" weights "},\"input_activations\":" act "}}"
#define CT(format, weights, act) "{\"quant_method\":\"compressed-tensors\",\"format\":\"" format "\",\"ignore\":[\"lm_head\"]," GROUP(weights, act) "}"
#define ACT8 "{\"num_bits\":8,\"type\":\"float\",\"strategy\":\"token\",\"dynamic\":true}"

/* compressed-tensors wrote its object by another name before. */
static void test_older_name(void **state)
{
    (void)state;
    static const char pair[] = "null,\"compression_config\":";
    char quant[2048], name[32], older[32];
    snprintf(quant, sizeof quant, "%s%s", pair, CT("float-quantized", "\"num_bits\":8,\"type\":\"float\",\"strategy\":\"channel\"", ACT8));
    const struct tensor now = tensor_of(quant + strlen(pair), "blk.0.ffn_up.weight", name), old = tensor_of(quant, "blk.0.ffn_up.weight", older);
    assert_int_equal(old.bytes, now.bytes);
    assert_string_equal(older, name);
    assert_true(old.bytes < 2 * 512 * 256);
}

/* blk.0.ffn_up.weight is 512 x 256. */
static void test_configs(void **state)
{
    static const struct {
        const char *quant, *type_name;
        enum scheme scheme;
        uint64_t bytes;
    } cases[] = {
        { "{\"quant_method\":\"fp8\",\"activation_scheme\":\"static\"}", "FP8", SCHEME_FP8, 131072 + 4 },
        { "{\"quant_method\":\"fp8\",\"fmt\":\"e4m3\",\"activation_scheme\":\"dynamic\",\"weight_block_size\":[128,128]}",
          "FP8_BLOCK", SCHEME_FP8, 131072 + 4 * 8 },
        { "{\"quant_method\":\"fp8\",\"weight_block_size\":[1,100]}", "FP8_BLOCK 1x100", SCHEME_FP8, 131072 + 4 * 512 * 3 },
        { "{\"quant_method\":\"awq\",\"bits\":4,\"group_size\":128,\"zero_point\":true,\"version\":\"gemm\"}", "AWQ",
          SCHEME_BF16, 65536 + 512 * 2 * 2 + 64 * 2 * 4 },
        { "{\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":64,\"desc_act\":true}", "GPTQ g64", SCHEME_BF16,
          65536 + 512 * 4 * 2 + 64 * 4 * 4 + 1024 },
        { "{\"quant_method\":\"gptq\",\"bits\":8,\"group_size\":-1}", "GPTQ INT8", SCHEME_BF16,
          131072 + 512 * 2 + 128 * 4 + 1024 },
        { CT("float-quantized", "\"num_bits\":8,\"type\":\"float\",\"strategy\":\"channel\"", ACT8), "FP8_CHANNEL", SCHEME_FP8,
          131072 + 4 * 512 },
        { CT("float-quantized", "\"num_bits\":8,\"type\":\"float\",\"strategy\":\"tensor\"", ACT8), "FP8_CHANNEL", SCHEME_FP8,
          131072 + 4 },
        { CT("int-quantized", "\"num_bits\":8,\"type\":\"int\",\"strategy\":\"channel\"", "{\"num_bits\":8,\"type\":\"int\"}"),
          "INT8", SCHEME_INT8, 131072 + 4 * 512 },
        { CT("pack-quantized", "\"num_bits\":4,\"type\":\"int\",\"strategy\":\"group\",\"group_size\":32", "null"), "W4A16 g32",
          SCHEME_BF16, 65536 + 512 * 8 * 2 + 16 },
        { CT("pack-quantized", "\"num_bits\":4,\"symmetric\":false,\"strategy\":\"group\",\"group_size\":128", "null"), "W4A16",
          SCHEME_BF16, 65536 + 512 * 2 * 2 + 64 * 2 * 4 + 16 },
        { CT("nvfp4-pack-quantized", "\"num_bits\":4,\"type\":\"float\",\"strategy\":\"tensor_group\",\"group_size\":16",
             "{\"num_bits\":4,\"type\":\"float\"}"),
          "NVFP4", SCHEME_FP4, 65536 + 512 * 16 + 4 },
        { CT("nvfp4-pack-quantized", "\"num_bits\":4,\"type\":\"float\",\"strategy\":\"tensor_group\",\"group_size\":16", "null"),
          "NVFP4A16", SCHEME_BF16, 65536 + 512 * 16 + 4 },
        { "{\"quant_method\":\"modelopt\",\"quant_algo\":\"FP8\",\"kv_cache_quant_algo\":\"FP8\"}", "FP8", SCHEME_FP8, 131072 + 4 },
        { "{\"quant_method\":\"modelopt\",\"quant_algo\":\"NVFP4\",\"group_size\":16,\"exclude_modules\":[\"lm_head\"]}", "NVFP4",
          SCHEME_FP4, 65536 + 512 * 16 + 4 },
        { "{\"quant_method\":\"mxfp4\"}", "MXFP4_EXPERTS", SCHEME_BY_TYPE, 262144 }, /* no experts: 16 bits */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char name[32];
        const struct tensor t = tensor_of(cases[i].quant, "blk.0.ffn_up.weight", name);
        if (t.bytes != cases[i].bytes || t.scheme != cases[i].scheme || strcmp(name, cases[i].type_name) != 0)
            fail_msg("%s: %s, %llu bytes, scheme %d", cases[i].quant, name, (unsigned long long)t.bytes, (int)t.scheme);
        const struct tensor head = tensor_of(cases[i].quant, "output.weight", name);
        assert_true(head.type == DTYPE_BF16 && head.scheme == SCHEME_BY_TYPE && head.bytes == 2 * 256 * 1000);
        assert_int_equal(tensor_of(cases[i].quant, "output_norm.weight", name).bytes, 2 * 256);
    }
}

/* MLX quantizes the embedding and the LM head too: 16 bits of scale and 16 of bias for a group, or 8 of scale. */
static void test_mlx(void **state)
{
    static const struct {
        const char *quant, *type_name, *tensor;
        uint64_t bytes;
    } cases[] = {
        { "{\"group_size\":64,\"bits\":4}", "MLX_4BIT", "blk.0.ffn_up.weight", 65536 + 512 * 4 * 4 },
        { "{\"group_size\":64,\"bits\":4,\"mode\":\"affine\"}", "MLX_4BIT", "output.weight", 1000 * (128 + 4 * 4) },
        { "{\"group_size\":64,\"bits\":4}", "MLX_4BIT", "token_embd.weight", 1000 * (128 + 4 * 4) },
        { "{\"group_size\":64,\"bits\":4}", "MLX_4BIT", "output_norm.weight", 512 },
        { "{\"group_size\":32,\"bits\":4}", "MLX_4BIT g32", "blk.0.ffn_up.weight", 65536 + 512 * 8 * 4 },
        { "{\"group_size\":64,\"bits\":8}", "MLX_8BIT", "blk.0.ffn_up.weight", 131072 + 512 * 4 * 4 },
        { "{\"group_size\":64,\"bits\":3}", "MLX affine 3bit g64", "blk.0.ffn_up.weight", 49152 + 512 * 4 * 4 },
        { "{\"group_size\":64,\"bits\":6}", "MLX affine 6bit g64", "blk.0.ffn_up.weight", 98304 + 512 * 4 * 4 },
        { "{\"mode\":\"mxfp4\",\"bits\":4,\"group_size\":32}", "MLX MX 4bit g32", "blk.0.ffn_up.weight", 65536 + 512 * 8 },
        { "{\"group_size\":64,\"bits\":4,\"model.layers.0.mlp.up_proj\":{\"bits\":8,\"group_size\":32}}", "MLX_4BIT", "blk.0.ffn_up.weight",
          131072 + 512 * 8 * 4 },
        { "{\"group_size\":64,\"bits\":4,\"model.layers.0.mlp.up_proj\":{\"bits\":8}}", "MLX_4BIT", "blk.1.ffn_up.weight", 65536 + 512 * 4 * 4 },
        { "{\"group_size\":64,\"bits\":4,\"language_model.model.embed_tokens\":false}", "MLX_4BIT", "token_embd.weight", 1000 * 512 },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char name[32];
        const struct tensor t = tensor_of(cases[i].quant, cases[i].tensor, name);
        if (t.bytes != cases[i].bytes || strcmp(name, cases[i].type_name) != 0)
            fail_msg("%s: %s, %s: %llu bytes", cases[i].quant, cases[i].tensor, name, (unsigned long long)t.bytes);
    }
    struct model m;
    struct error err = { 0 };
    assert_ok(load(&m, "bfloat16\",\"quantization\":{\"bits\":4,\"group_size\":64},\"x\":\"", "null", &err), err); /* older files: only so */
    assert_string_equal(m.type_name, "MLX_4BIT");
    model_free(&m);
    assert_fails(load(&m, "bfloat16\",\"quantization\":{\"bits\":4},\"x\":\"", "{\"quant_method\":\"fp8\"}", &err), err, "quantization and quantization_config differ");
    assert_fails(load(&m, "bfloat16\",\"quantization\":\"int4\",\"x\":\"", "null", &err), err, "quantization: expected MLX's object");
    assert_fails(load(&m, "bfloat16", "{\"bits\":7,\"group_size\":64}", &err), err, "bits is 7, expected 2, 3, 4, 5, 6 or 8");
    assert_fails(load(&m, "bfloat16", "{\"bits\":4,\"group_size\":48}", &err), err, "group_size is 48, expected 16, 32, 64 or 128");
    assert_fails(load(&m, "bfloat16", "{\"bits\":4,\"mode\":\"dwq\"}", &err), err, "mode is \"dwq\"");
    assert_fails(load(&m, "bfloat16", "{\"bits\":4,\"model.layers.0.mlp.up_proj\":4}", &err), err, "model.layers.0.mlp.up_proj: expected an object");
    assert_ok(load(&m, "bfloat16", "{\"bits\":4,\"model.layers.0.strange\":{\"bits\":8}}", &err), err);
    assert_non_null(strstr(m.note, "model.layers.0.strange"));
    model_free(&m);
}

/* The cache type that engines choose by default. */
static void test_kv_cache(void **state)
{
    static const struct {
        const char *quant;
        bool said;
        const char *note;
    } cases[] = {
        { "{\"quant_method\":\"modelopt\",\"quant_algo\":\"FP8\",\"kv_cache_quant_algo\":\"FP8\"}", true, "" },
        { "{\"quant_method\":\"modelopt_fp4\",\"quant_algo\":\"NVFP4\",\"kv_cache_scheme\":{\"dynamic\":false,\"num_bits\":8,\"type\":\"float\"}}", true, "" },
        { "{\"quant_method\":\"modelopt\",\"quant_algo\":\"FP8\",\"kv_cache_quant_algo\":null}", false, "" },
        { "{\"quant_method\":\"modelopt\",\"quant_algo\":\"NVFP4\",\"kv_cache_quant_algo\":\"NVFP4\"}", true, "" },
        { "{\"quant_method\":\"modelopt\",\"quant_algo\":\"FP8\",\"kv_cache_quant_algo\":\"INT8\"}", false, "kv_cache_quant_algo (INT8) is not supported" },
        { "{\"quant_method\":\"modelopt\",\"quant_algo\":\"NVFP4\",\"kv_cache_scheme\":{\"num_bits\":4,\"type\":\"float\"}}", true, "" },
        { "{\"quant_method\":\"compressed-tensors\",\"format\":\"float-quantized\",\"kv_cache_scheme\":{\"num_bits\":8,\"type\":\"float\"},"
          GROUP("\"num_bits\":8,\"type\":\"float\",\"strategy\":\"channel\"", ACT8) "}", true, "" },
        { "{\"quant_method\":\"fp8\",\"kv_cache_scheme\":\"static\"}", false, "kv_cache_scheme: vLLM uses an FP8 cache" },
        { "{\"quant_method\":\"fp8\",\"dequantize\":false,\"odd\":null}", false, "" },
    };
    (void)state;
    struct error err = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct model m;
        assert_ok(load(&m, "bfloat16", cases[i].quant, &err), err);
        if (m.kv_type_given != cases[i].said || (m.kv_type_given && m.kv_type != (strstr(cases[i].quant, "algo\":\"NVFP4\"}") || strstr(cases[i].quant, "\"num_bits\":4") ? DTYPE_NVFP4 : DTYPE_FP8)) || !strstr(m.note, cases[i].note) || (!*cases[i].note && *m.note))
            fail_msg("%s: %d %d \"%s\"", cases[i].quant, m.kv_type_given, (int)m.kv_type, m.note);
        model_free(&m);
    }
}

/* The model's own 16 bits: of what is kept, and of what weights are widened to. */
static void test_dtype(void **state)
{
    (void)state;
    struct model m;
    struct error err = { 0 };
    assert_ok(load(&m, "float16", "{\"quant_method\":\"awq\",\"bits\":4,\"group_size\":128}", &err), err);
    assert_int_equal(model_find(&m, "token_embd.weight")->type, DTYPE_F16);
    assert_int_equal(model_find(&m, "blk.1.attn_q.weight")->scheme, SCHEME_FP16);
    model_free(&m);
    assert_fails(load(&m, "float32", "{\"quant_method\":\"fp8\"}", &err), err,
                 "t.json: torch_dtype is \"float32\", expected \"bfloat16\" or \"float16\"");
    assert_fails(load(&m, "", "{\"quant_method\":\"fp8\"}", &err), err, "t.json: torch_dtype is \"\"");
    assert_fails(load(&m, "float16\",\"dtype\":\"half", "{\"quant_method\":\"fp8\"}", &err), err, "t.json: dtype is \"half\"");
    assert_fails(load(&m, "float16\",\"dtype\":16,\"a\":\"b", "{\"quant_method\":\"fp8\"}", &err), err, "\"dtype\"");
}

/* Lists of modules that stay as they are. */
static void test_ignored(void **state)
{
    static const struct {
        const char *list, *tensor;
        bool listed;
    } cases[] = {
        { "[]", "blk.0.attn_q.weight", false },
        { "[\"lm_head\",\"model.layers.1.mlp\"]", "blk.1.ffn_up.weight", true },
        { "[\"model.layers.1.mlp\"]", "blk.0.ffn_up.weight", false },
        { "[\"model.layers.1\"]", "blk.11.ffn_up.weight", false }, /* whole parts between dots */
        { "[\"self_attn\"]", "blk.7.attn_output.weight", true },
        { "[\"self_att\"]", "blk.7.attn_output.weight", false },
        { "[\"model.layers.*.self_attn\"]", "blk.3.attn_k.weight", true },
        { "[\"*down_proj\"]", "blk.3.ffn_down.weight", true },
        { "[\"*down_pro\"]", "blk.3.ffn_down.weight", false },
        { "[\"re:.*kv_a_proj.*\"]", "blk.3.attn_kv_a_mqa.weight", true },
        { "[\"re:layers\"]", "blk.3.attn_q.weight", false }, /* from the beginning */
        { "[\"re:model\\\\.layers\\\\.\\\\d+\\\\.mlp\"]", "blk.12.ffn_gate.weight", true },
        { "[\"mlp.shared_experts\"]", "blk.3.ffn_up_shexp.weight", true },
        { "[\"block_sparse_moe\"]", "blk.3.ffn_up_exps.weight", true },
        { "[\"\"]", "blk.3.attn_q.weight", false },
    };
    (void)state;
    struct error err = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *list = json_loads(cases[i].list, 0, NULL);
        assert_non_null(list);
        if (module_listed(list, "t", cases[i].tensor, &err) != cases[i].listed)
            fail_msg("%s, %s: expected %d %s", cases[i].list, cases[i].tensor, cases[i].listed, err.msg);
        json_decref(list);
    }
    char name[32];
    static const char quant[] = "{\"quant_method\":\"fp8\",\"modules_to_not_convert\":[\"model.layers.0.mlp\"]}";
    assert_int_equal(tensor_of(quant, "blk.0.ffn_up.weight", name).type, DTYPE_BF16);
    assert_int_equal(tensor_of(quant, "blk.1.ffn_up.weight", name).type, DTYPE_FP8);
}

static void test_refused(void **state)
{
    static const struct {
        const char *quant, *expect;
    } cases[] = {
        { "{}", "t.json: quantization_config: quant_method is missing, expected fp8, awq, gptq" },
        { "{\"quant_method\":\"bitsandbytes\",\"load_in_4bit\":true}", "quant_method is \"bitsandbytes\", expected fp8" },
        { "{\"quant_method\":\"fp8\",\"fmt\":\"e5m2\"}", "fmt is \"e5m2\", expected \"e4m3\"" },
        { "{\"quant_method\":\"fp8\",\"weight_block_size\":[128]}", "weight_block_size: expected two integers" },
        { "{\"quant_method\":\"fp8\",\"weight_block_size\":[0,128]}", "weight_block_size: expected two integers" },
        { "{\"quant_method\":\"fp8\",\"surprise\":1}", "field \"surprise\" is not understood" },
        { "{\"quant_method\":\"fp8\",\"ignored_layers\":\"lm_head\"}", "\"ignored_layers\": expected an array" },
        { "{\"quant_method\":\"fp8\",\"ignored_layers\":[3]}", "entry 0: expected a string" },
        { "{\"quant_method\":\"fp8\",\"ignored_layers\":[\"re:(\"]}", "\"re:(\": not a regular expression" },
        { "{\"quant_method\":\"fp8\",\"ignored_layers\":[\"re:(.*)*(.*)*(.*)*(.*)*[XYZ]\"]}", "too many steps" },
        { "{\"quant_method\":\"fp8\",\"ignored_layers\":[\"model.layers.0.mlp.experts.3\"]}", "not of one expert" },
        { "{\"quant_method\":\"awq\"}", "bits" },
        { "{\"quant_method\":\"awq\",\"bits\":3}", "bits is 3, expected 4" },
        { "{\"quant_method\":\"awq\",\"bits\":4,\"version\":\"marlin\"}", "version is \"marlin\"" },
        { "{\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":0}", "group_size is 0, expected -1 or" },
        { "{\"quant_method\":\"gptq\",\"bits\":4,\"lm_head\":true}", "lm_head: expected null, false" },
        { "{\"quant_method\":\"gptq\",\"bits\":2}", "bits is 2, expected 4 or 8" },
        { "{\"quant_method\":\"compressed-tensors\"}", "config_groups: expected an object with one group" },
        { CT("marlin-24", "\"num_bits\":4", "null"), "format is \"marlin-24\"" },
        { CT("pack-quantized", "\"num_bits\":3", "null"), "weights of 3 bits (int) and activations of 16 (float)" },
        { CT("float-quantized", "\"num_bits\":8,\"type\":\"float\",\"strategy\":\"attn\"", ACT8), "strategy is \"attn\"" },
        { CT("int-quantized", "\"num_bits\":8,\"symmetric\":false,\"strategy\":\"channel\"", "null"), "symmetric is false" },
        { "{\"quant_method\":\"modelopt\",\"quant_algo\":\"W4A16_AWQ\"}", "quant_algo is \"W4A16_AWQ\", expected \"FP8\"" },
        { "{\"quant_method\":\"modelopt\",\"quant_algo\":\"NVFP4\",\"group_size\":32}", "group_size is 32, expected 16" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct model m;
        struct error err = { 0 };
        if (load(&m, "bfloat16", cases[i].quant, &err) == 0 || !strstr(err.msg, cases[i].expect))
            fail_msg("%s: \"%s\", expected \"%s\"", cases[i].quant, err.msg, cases[i].expect);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrix),  cmocka_unit_test(test_llama), cmocka_unit_test(test_deepseek),
        cmocka_unit_test(test_gpt_oss), cmocka_unit_test(test_ffn_only), cmocka_unit_test(test_configs),
        cmocka_unit_test(test_older_name), cmocka_unit_test(test_dtype), cmocka_unit_test(test_mlx), cmocka_unit_test(test_kv_cache),
        cmocka_unit_test(test_ignored), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("checkpoint", tests, set_dirs, NULL);
}
