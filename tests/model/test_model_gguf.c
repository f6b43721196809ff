/* GGUF files whose parts do not fit together: each fault is named. */
#include "../test.h"
#include "model/model.h"
#include <unistd.h>

static char dir[] = "/tmp/roofcast-model-XXXXXX";
static char good[128], bad[128];

/* A small model every test varies. */
static int make_good(void **state)
{
    (void)state;
    struct hparams hp = { .n_layer = 2, .n_embd = 64, .n_head = 4, .n_head_kv = 2, .head_dim = 16, .n_ff = 96,
                          .n_vocab = 300, .n_ctx_train = 64, .n_rot = 16, .rope_theta = 1e4, .rms_eps = 1e-5 };
    struct model m;
    struct error err = { 0 };
    const struct synth_options o = { .seed = 1 };
    if (!mkdtemp(dir))
        return -1;
    snprintf(good, sizeof good, "%s/good.gguf", dir);
    snprintf(bad, sizeof bad, "%s/bad.gguf", dir);
    if (model_from_hparams(&m, "tiny", "llama", &hp, "F16", &err) != 0)
        return -1;
    int rc = model_synth(&m, good, &o, &err);
    model_free(&m);
    return rc;
}

static int remove_good(void **state)
{
    (void)state;
    unlink(good);
    return rmdir(dir);
}

/* How `bad` differs from `good`. */
struct change {
    const char *key;    /* left out, and replaced by: */
    enum { DROP, PUT_U32, PUT_F32, PUT_STR, PUT_ARR, PUT_ARR_MIXED } put;
    uint32_t u32;
    float f32;
    const char *str;
    const char *tensor; /* NULL; left out, or with these rows: */
    uint64_t rows;
    const char *extra;  /* a tensor added */
    const char *half;   /* a vector turned into F16 */
};

static bool is(struct gguf_str s, const char *text)
{
    return text && s.len == strlen(text) && memcmp(s.s, text, s.len) == 0;
}

static void put_key(struct gguf_writer *w, const struct change *c)
{
    const int32_t same[2] = { (int32_t)c->u32, (int32_t)c->u32 }, mixed[2] = { 2, 1 };
    if (!c->key)
        return;
    switch (c->put) {
    case DROP:
        return;
    case PUT_U32:
        gguf_writer_kv_u32(w, c->key, c->u32);
        return;
    case PUT_F32:
        gguf_writer_kv_f32(w, c->key, c->f32);
        return;
    case PUT_STR:
        gguf_writer_kv_str(w, c->key, c->str);
        return;
    case PUT_ARR:
        gguf_writer_kv_arr_i32(w, c->key, same, 2);
        return;
    case PUT_ARR_MIXED:
        gguf_writer_kv_arr_i32(w, c->key, mixed, 2);
        return;
    }
}

static void write_bad(const struct change *c)
{
    struct error err = { 0 };
    static const unsigned char zeros[65536];
    struct gguf *g = gguf_open(good, &err);
    assert_non_null(g);
    struct gguf_writer *w = gguf_writer_new(bad, &err);
    assert_non_null(w);
    for (size_t i = 0; i < gguf_n_kv(g); i++) {
        enum gguf_type type;
        if (!is(gguf_kv_at(g, i, &type), c->key))
            gguf_writer_kv_copy(w, g, i);
    }
    put_key(w, c);
    for (int data = 0; data < 2; data++) {
        for (size_t i = 0; i < gguf_n_tensors(g); i++) {
            struct gguf_tensor t = *gguf_tensor_at(g, i);
            char name[64];
            snprintf(name, sizeof name, "%.*s", (int)t.name.len, t.name.s);
            if (is(t.name, c->tensor) && c->rows == 0)
                continue;
            if (is(t.name, c->tensor))
                t.dims[1] = c->rows, t.bytes = dtype_row_bytes(t.type, t.dims[0]) * c->rows;
            if (is(t.name, c->half))
                t.type = DTYPE_F16, t.bytes = 2 * t.dims[0];
            if (data)
                assert_ok(gguf_writer_data(w, zeros, t.bytes, &err), err);
            else
                assert_ok(gguf_writer_tensor(w, name, t.n_dims, t.dims, t.type, &err), err);
        }
        const uint64_t dims[1] = { 8 };
        if (c->extra && data)
            assert_ok(gguf_writer_data(w, zeros, 32, &err), err);
        else if (c->extra)
            assert_ok(gguf_writer_tensor(w, c->extra, 1, dims, DTYPE_F32, &err), err);
        if (!data)
            assert_ok(gguf_writer_begin_data(w, &err), err);
    }
    assert_ok(gguf_writer_finish(w, &err), err);
    gguf_close(g);
}

static void expect_refused(struct change c, const char *text)
{
    struct model m;
    struct error err = { 0 };
    write_bad(&c);
    assert_fails(model_load(&m, bad, NULL, &err), err, text);
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_non_null(strstr(err.msg, bad));
    unlink(bad);
}

static void expect_loaded(struct change c, struct model *m)
{
    struct error err = { 0 };
    write_bad(&c);
    assert_ok(model_load(m, bad, NULL, &err), err);
    unlink(bad);
}

static void test_good(void **state)
{
    (void)state;
    struct model m;
    struct error err = { 0 };
    assert_ok(model_load(&m, good, NULL, &err), err);
    assert_int_equal(m.n_tensors, 3 + 2 * 9);
    assert_string_equal(m.path, good);
    assert_string_equal(m.type_name, "F16");
    model_free(&m);
    assert_fails(model_load(&m, good, "Q8_0", &err), err, "-q Q8_0");
    assert_int_equal(err.kind, ERROR_USAGE);
    /* a GGUF is one by its first bytes, whatever it is called */
    char other[160];
    snprintf(other, sizeof other, "%s/model.bin", dir);
    assert_int_equal(rename(good, other), 0);
    assert_ok(model_load(&m, other, NULL, &err), err);
    model_free(&m);
    assert_int_equal(rename(other, good), 0);
}

static void test_metadata(void **state)
{
    (void)state;
    static const char *const needed[] = { "general.architecture", "llama.block_count", "llama.embedding_length",
                                          "llama.feed_forward_length", "llama.context_length",
                                          "llama.attention.head_count",
                                          "llama.attention.layer_norm_rms_epsilon" };
    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        expect_refused((struct change){ .key = needed[i] }, needed[i]);
    static const struct {
        const char *key;
        uint32_t value;
        const char *expect;
    } numbers[] = {
        { "llama.block_count", 0, "llama.block_count is 0" },
        { "llama.block_count", 4000000000u, "llama.block_count is 4000000000" },
        { "llama.block_count", 3, "tensor blk.2.attn_norm.weight is missing" },
        { "llama.embedding_length", 0, "llama.embedding_length is 0" },
        { "llama.embedding_length", 68, "token_embd.weight has shape [300, 64], expected [300, 68]" },
        { "llama.embedding_length", 66, "multiple of llama.attention.head_count" },
        { "llama.feed_forward_length", 128, "blk.0.ffn_gate.weight has shape [96, 64], expected [128, 64]" },
        { "llama.context_length", 0, "llama.context_length is 0" },
        { "llama.attention.head_count", 0, "llama.attention.head_count" },
        { "llama.attention.head_count_kv", 0, "llama.attention.head_count_kv is 0" },
        { "llama.attention.head_count_kv", 3, "multiple of llama.attention.head_count_kv" },
        { "llama.attention.head_count_kv", 4, "blk.0.attn_k.weight has shape [32, 64], expected [64, 64]" },
        { "llama.attention.key_length", 32, "blk.0.attn_q.weight" },
        { "llama.attention.key_length", 4294967295u, "llama.attention.key_length is 4294967295" },
        { "llama.attention.value_length", 8, "llama.attention.value_length is 8" },
        { "llama.rope.dimension_count", 15, "llama.rope.dimension_count is 15" },
        { "llama.rope.dimension_count", 32, "llama.rope.dimension_count is 32" },
        { "llama.rope.freq_base", 0, "RoPE base" },
        { "llama.vocab_size", 301, "llama.vocab_size is 301, but token_embd.weight has 300 rows" },
        { "llama.expert_count", 8, "mixtures of experts" },
        { "llama.attention.sliding_window", 16, "llama.attention.sliding_window is 16 of" },
    };
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        expect_refused((struct change){ .key = numbers[i].key, .put = PUT_U32, .u32 = numbers[i].value },
                       numbers[i].expect);
    expect_refused((struct change){ .key = "general.architecture", .put = PUT_STR, .str = "mamba" },
                   "architecture \"mamba\" is not supported yet (known: llama)");
    /* what a terminal would act on is not printed */
    expect_refused((struct change){ .key = "general.architecture", .put = PUT_STR, .str = "a\33[2Jb\n\302\2331m" },
                   "architecture \"a?[2Jb???1m\"");
    expect_refused((struct change){ .key = "llama.rope.scaling.type", .put = PUT_STR, .str = "\ayarn\177" },
                   "\"?yarn?\"");
    expect_refused((struct change){ .key = "llama.rope.scaling.type", .put = PUT_STR, .str = "yarn" },
                   "\"yarn\"");
    expect_refused((struct change){ .key = "llama.block_count", .put = PUT_STR, .str = "2" },
                   "llama.block_count");
    expect_refused((struct change){ .key = "llama.rope.freq_base", .put = PUT_F32, .f32 = -1 }, "RoPE base");
    expect_refused((struct change){ .key = "llama.attention.head_count_kv", .put = PUT_ARR_MIXED },
                   "layers differ");
    /* absent: as many as query heads, which this file's tensors are not made for */
    expect_refused((struct change){ .key = "llama.attention.head_count_kv" },
                   "blk.0.attn_k.weight has shape [32, 64], expected [64, 64]");
}

static void test_tensors(void **state)
{
    (void)state;
    expect_refused((struct change){ .tensor = "token_embd.weight" }, "token_embd.weight is missing");
    expect_refused((struct change){ .tensor = "blk.1.ffn_up.weight" }, "tensor blk.1.ffn_up.weight is missing");
    expect_refused((struct change){ .tensor = "output_norm.weight" }, "tensor output_norm.weight is missing");
    expect_refused((struct change){ .tensor = "blk.1.attn_v.weight", .rows = 31 },
                   "blk.1.attn_v.weight has shape [31, 64], expected [32, 64]");
    expect_refused((struct change){ .tensor = "output.weight", .rows = 200 },
                   "output.weight has shape [200, 64], expected [300, 64]");
    expect_refused((struct change){ .half = "blk.1.ffn_norm.weight" }, "blk.1.ffn_norm.weight is F16, expected F32");
    expect_refused((struct change){ .extra = "blk.0.attn_q.bias" }, "blk.0.attn_q.bias");
    expect_refused((struct change){ .extra = "blk.0.attn_q_norm.weight" }, "blk.0.attn_q_norm.weight");
}

/* Absent keys have their defaults; tensors nobody uses are counted; no output.weight: tied. */
static void test_defaults(void **state)
{
    (void)state;
    struct model m;
    expect_loaded((struct change){ .tensor = "output.weight" }, &m);
    assert_true(m.hp.tied);
    model_free(&m);
    expect_loaded((struct change){ .key = "llama.rope.dimension_count" }, &m);
    assert_int_equal(m.hp.n_rot, 16);
    model_free(&m);
    expect_loaded((struct change){ .key = "llama.rope.freq_base" }, &m);
    assert_true(m.hp.rope_theta == 10000);
    model_free(&m);
    expect_loaded((struct change){ .key = "general.file_type" }, &m);
    assert_string_equal(m.type_name, "F16"); /* what most matrices are */
    model_free(&m);
    expect_loaded((struct change){ .key = "general.name" }, &m);
    assert_string_equal(m.name, "bad"); /* the file's */
    model_free(&m);
    expect_loaded((struct change){ .key = "llama.attention.head_count_kv", .put = PUT_ARR, .u32 = 2 }, &m);
    assert_int_equal(m.hp.n_head_kv, 2);
    const uint64_t bytes = m.weight_bytes;
    model_free(&m);
    expect_loaded((struct change){ .key = "llama.attention.sliding_window", .put = PUT_U32, .u32 = 0 }, &m);
    model_free(&m);
    expect_loaded((struct change){ .key = "llama.attention.sliding_window", .put = PUT_U32, .u32 = 1 << 20 }, &m);
    model_free(&m); /* all of the context is within the window */
    expect_loaded((struct change){ .extra = "something.else" }, &m);
    assert_int_equal(m.weight_bytes, bytes + 32);
    model_free(&m);
    expect_loaded((struct change){ .extra = "rope_freqs.weight" }, &m);
    assert_int_equal(m.hp.rope_scaling, ROPE_SCALING_LLAMA3);
    assert_non_null(model_find(&m, "rope_freqs.weight"));
    model_free(&m);
}

/* Every llama file of the oracle loads and its bytes add up; other architectures are refused. */
static void test_oracle(void **state)
{
    (void)state;
    const char *shared = shared_dir();
    if (!shared) {
        print_message("# ../shared is absent: oracle files not loaded\n");
        skip();
    }
    static const struct {
        const char *file, *refused;
    } files[] = {
        { "llama-gqa-Q4_K_M", NULL },          { "llama-mqa-f16", NULL },
        { "llama-tied-f16", NULL },            { "mixtral-f16", "mixtures of experts" },
        { "qwen2-f16", "\"qwen2\" is not" },   { "gemma3-f16", "\"gemma3\" is not" },
    };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char path[4300];
        struct model m;
        struct error err = { 0 };
        snprintf(path, sizeof path, "%s/data/oracle/%s.gguf", shared, files[i].file);
        if (files[i].refused) {
            assert_fails(model_load(&m, path, NULL, &err), err, files[i].refused);
            continue;
        }
        assert_ok(model_load(&m, path, NULL, &err), err);
        uint64_t bytes = 0;
        for (size_t k = 0; k < gguf_n_tensors(m.gguf); k++)
            bytes += gguf_tensor_at(m.gguf, k)->bytes;
        assert_int_equal(m.weight_bytes, bytes);
        assert_int_equal(m.hp.tied, strstr(path, "tied") != NULL);
        model_free(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),    cmocka_unit_test(test_metadata), cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_oracle),
    };
    return cmocka_run_group_tests_name("model_gguf", tests, make_good, remove_good);
}
