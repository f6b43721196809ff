/* GGUF files whose parts do not fit together: each fault is named. */
#include "../test.h"
#include "model/model.h"
#include "model/nextn.h"
#include <math.h>
#include <unistd.h>

static char dir[] = "/tmp/roofcast-model-XXXXXX";
static char good[128], bad[128];

static struct hparams small(void)
{
    return (struct hparams){ .n_layer = 2, .n_embd = 64, .n_head = 4, .n_head_kv = 2, .head_dim = 16, .n_ff = 96,
                             .n_vocab = 300, .n_ctx_train = 64, .n_rot = 16, .rope_theta = 1e4, .rms_eps = 1e-5 };
}

/* The file that the changes below vary. */
static int write_good(const char *arch, const struct hparams *hp)
{
    struct model m;
    struct error err = { 0 };
    const struct synth_options o = { .seed = 1 };
    int rc = model_from_hparams(&m, "tiny", arch, hp, "F16", &err);
    if (rc == 0) {
        rc = hp->n_layer_nextn > 0 ? nextn_add_tensors(&m, hp->n_layer_nextn, &err) : 0;
        rc = rc == 0 ? model_synth(&m, good, &o, &err) : rc;
        model_free(&m);
    }
    if (rc != 0)
        print_error("%s\n", err.msg);
    return rc;
}

static int make_dir(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    snprintf(good, sizeof good, "%s/good.gguf", dir);
    snprintf(bad, sizeof bad, "%s/bad.gguf", dir);
    return 0;
}

static int make_good(void **state)
{
    (void)state;
    const struct hparams hp = small();
    return write_good("llama", &hp);
}

static int remove_dir(void **state)
{
    (void)state;
    unlink(good);
    return rmdir(dir);
}

/* How `bad` differs from `good`. */
struct change {
    const char *key;    /* left out, and replaced by: */
    enum { DROP, PUT_U32, PUT_F32, PUT_STR, PUT_ARR, PUT_ARR_MIXED, PUT_FLAGS } put; /* PUT_FLAGS: str is "0110" */
    uint32_t u32;
    float f32;
    const char *str;
    const char *tensor; /* NULL; left out, or with these rows: */
    uint64_t rows;
    uint64_t mats;      /* and so many stacked matrices; 0: as many as there are */
    const char *extra;  /* a tensor added */
    const char *half;   /* a vector turned into F16 */
    bool zeros;         /* vectors of zeros instead of ones */
};

static bool is(struct gguf_str s, const char *text)
{
    return text && s.len == strlen(text) && memcmp(s.s, text, s.len) == 0;
}

static void put_key(struct gguf_writer *w, const struct change *c)
{
    const int32_t same[2] = { (int32_t)c->u32, (int32_t)c->u32 }, mixed[2] = { 2, 1 };
    int32_t flags[16];
    size_t n;
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
    case PUT_FLAGS:
        for (n = 0; c->str[n]; n++)
            flags[n] = c->str[n] - '0';
        gguf_writer_kv_arr_i32(w, c->key, flags, n);
        return;
    }
}

static void write_bad(const struct change *c)
{
    struct error err = { 0 };
    static const unsigned char zeros[65536];
    float ones[1024];
    for (size_t i = 0; i < ARRAY_LEN(ones); i++)
        ones[i] = c->zeros ? 0 : 1;
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
            if (is(t.name, c->tensor)) {
                t.dims[1] = c->rows;
                t.dims[2] = c->mats ? c->mats : t.dims[2];
                t.n_dims = c->mats == 1 ? 2 : t.n_dims;
                t.bytes = dtype_row_bytes(t.type, t.dims[0]) * t.dims[1] * t.dims[2];
            }
            if (is(t.name, c->half))
                t.type = DTYPE_F16, t.bytes = 2 * t.dims[0];
            if (data)
                assert_ok(gguf_writer_data(w, t.type == DTYPE_F32 && t.bytes <= sizeof ones ? (const void *)ones : zeros,
                                           t.bytes, &err),
                          err);
            else
                assert_ok(gguf_writer_tensor(w, name, t.n_dims, t.dims, t.type, &err), err);
        }
        const uint64_t dims[1] = { 8 };
        if (c->extra && data)
            assert_ok(gguf_writer_data(w, ones, 32, &err), err);
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
        { "llama.attention.value_length", 8, "values of another width than keys: not supported by architecture llama" },
        { "llama.attention.kv_lora_rank", 8, "latent attention: not supported by architecture llama" },
        { "llama.rope.dimension_count", 15, "llama.rope.dimension_count is 15" },
        { "llama.rope.dimension_count", 32, "llama.rope.dimension_count is 32" },
        { "llama.rope.freq_base", 0, "RoPE base" },
        { "llama.vocab_size", 301, "llama.vocab_size is 301, but token_embd.weight has 300 rows" },
        { "llama.expert_count", 8, "0 of 8 experts used a token, expected 1 to 8" },
        { "llama.expert_count", 4294967295u, "llama.expert_count is 4294967295" },
        { "llama.attention.sliding_window", 4294967295u, "llama.attention.sliding_window is 4294967295" },
        { "llama.expert_gating_func", 3, "llama.expert_gating_func is 3, expected 1 (softmax) or 2 (sigmoid)" },
        { "llama.nextn_predict_layers", 2, "llama.nextn_predict_layers is 2 of 2 layers" },
        { "llama.block_count", 1, "tensor blk.1." },
        { "llama.nextn_predict_layers", 4294967295u, "llama.nextn_predict_layers is 4294967295 of 2 layers" },
    };
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        expect_refused((struct change){ .key = numbers[i].key, .put = PUT_U32, .u32 = numbers[i].value },
                       numbers[i].expect);
    expect_refused((struct change){ .key = "general.architecture", .put = PUT_STR, .str = "mamba" },
                   "architecture \"mamba\" is not supported yet (known: llama, smollm3");
    /* what a terminal would act on is not printed */
    expect_refused((struct change){ .key = "general.architecture", .put = PUT_STR, .str = "a\33[2Jb\n\302\2331m" },
                   "architecture \"a?[2Jb???1m\"");
    expect_refused((struct change){ .key = "llama.rope.scaling.type", .put = PUT_STR, .str = "\ayarn\177" },
                   "\"?yarn?\"");
    expect_refused((struct change){ .key = "llama.rope.scaling.type", .put = PUT_STR, .str = "longrope" },
                   "LongRoPE: not supported by architecture llama");
    expect_refused((struct change){ .key = "llama.rope.scaling.factor", .put = PUT_STR, .str = "4" },
                   "llama.rope.scaling.factor");
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
    expect_refused((struct change){ .extra = "blk.0.attn_q.bias" }, "blk.0.attn_q.bias has shape [8], expected [64]");
    expect_refused((struct change){ .extra = "blk.0.attn_output.bias" }, "blk.0.attn_output.bias has shape [8]");
    expect_refused((struct change){ .extra = "blk.1.attn_q.bias" }, "blk.1.attn_q.bias: architecture llama does not use it");
    expect_refused((struct change){ .extra = "output.bias" }, "output.bias: architecture llama does not use it");
    expect_refused((struct change){ .extra = "blk.0.attn_q_norm.weight" }, "blk.0.attn_q_norm.weight");
    expect_refused((struct change){ .extra = "blk.1.ffn_gate_shexp.weight" }, "leaving it out would give wrong results");
    expect_refused((struct change){ .extra = "rope_factors_short.weight" }, "rope_factors_long.weight is missing");
    expect_refused((struct change){ .extra = "rope_freqs.weight", .zeros = true },
                   "rope_freqs.weight: element 0 is 0, expected more than 0");
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
    expect_loaded((struct change){ .key = "llama.attention.sliding_window", .put = PUT_U32, .u32 = 16 }, &m);
    assert_true(m.hp.window == 16 && hparams_windowed(&m.hp, 0) && hparams_windowed(&m.hp, 1));
    model_free(&m);
    expect_loaded((struct change){ .key = "llama.rope.scaling.type", .put = PUT_STR, .str = "yarn" }, &m);
    assert_true(m.hp.rope_scaling == ROPE_SCALING_YARN && m.hp.rope_factor == 1 && m.hp.rope_ctx_orig == 64);
    model_free(&m);
    expect_loaded((struct change){ .extra = "something.else" }, &m);
    assert_int_equal(m.weight_bytes, bytes + 32);
    model_free(&m);
    expect_loaded((struct change){ .extra = "rope_freqs.weight" }, &m);
    assert_int_equal(m.hp.rope_scaling, ROPE_SCALING_LLAMA3);
    assert_non_null(model_find(&m, "rope_freqs.weight"));
    model_free(&m);
}

/* Experts stand in one tensor, one matrix behind the other. */
static void test_experts(void **state)
{
    (void)state;
    struct hparams hp = small();
    struct model m;
    hp.n_expert = 4, hp.n_expert_used = 2, hp.n_ff_exp = hp.n_ff;
    assert_int_equal(write_good("llama", &hp), 0);
    expect_loaded((struct change){ .key = "llama.expert_feed_forward_length" }, &m);
    assert_int_equal(m.hp.n_ff_exp, 96); /* as wide as feed_forward_length says */
    assert_int_equal(model_find(&m, "blk.1.ffn_down_exps.weight")->n_mat, 4);
    model_free(&m);
    static const char down[] = "blk.1.ffn_down_exps.weight";
    expect_refused((struct change){ .tensor = down }, "blk.1.ffn_down_exps.weight is missing");
    expect_refused((struct change){ .tensor = down, .rows = 63, .mats = 4 },
                   "blk.1.ffn_down_exps.weight has shape [4, 63, 96], expected [4, 64, 96]");
    expect_refused((struct change){ .tensor = down, .rows = 64, .mats = 3 }, "has shape [3, 64, 96], expected [4, 64, 96]");
    expect_refused((struct change){ .tensor = down, .rows = 128, .mats = 2 }, "has shape [2, 128, 96], expected [4, 64, 96]");
    expect_refused((struct change){ .tensor = down, .rows = 256, .mats = 1 }, "has shape [256, 96], expected [4, 64, 96]");
    expect_refused((struct change){ .tensor = "blk.0.ffn_gate_inp.weight", .rows = 8 },
                   "blk.0.ffn_gate_inp.weight has shape [8, 64], expected [4, 64]");
    static const struct {
        const char *key;
        uint32_t value;
        const char *expect;
    } numbers[] = {
        { "llama.expert_count", 0, "blk.0.ffn_gate.weight is missing" },
        { "llama.expert_count", 8, "blk.0.ffn_gate_inp.weight has shape [4, 64], expected [8, 64]" },
        { "llama.expert_used_count", 0, "0 of 4 experts used a token" },
        { "llama.expert_used_count", 5, "5 of 4 experts used a token, expected 1 to 4" },
        { "llama.expert_feed_forward_length", 48, "blk.0.ffn_gate_exps.weight has shape [4, 96, 64], expected [4, 48, 64]" },
        { "llama.expert_shared_count", 1, "1 shared experts of width 0" },
        { "llama.expert_shared_count", 70000, "70000 shared experts of width 0" },
        { "llama.expert_group_count", 3, "4 experts in 3 groups" },
    };
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        expect_refused((struct change){ .key = numbers[i].key, .put = PUT_U32, .u32 = numbers[i].value },
                       numbers[i].expect);
    expect_refused((struct change){ .key = "llama.expert_count", .put = PUT_ARR_MIXED }, "layers differ");
    hp.n_ff_exp = 32;
    assert_int_equal(write_good("qwen3moe", &hp), 0);
    expect_refused((struct change){ .key = "qwen3moe.expert_count" }, "qwen3moe.expert_count is missing or 0");
    expect_refused((struct change){ .key = "qwen3moe.expert_feed_forward_length" }, "the width of an expert is missing");
    expect_loaded((struct change){ .key = "qwen3moe.expert_weights_norm" }, &m);
    assert_true(m.hp.expert_norm);
    model_free(&m);
    hp.attn_bias = hp.attn_output_bias = true;
    hp.window_period = 2;
    assert_int_equal(write_good("gpt-oss", &hp), 0);
    expect_refused((struct change){ .key = "gpt-oss.expert_count" }, "gpt-oss.expert_count is missing or 0");
    expect_refused((struct change){ .tensor = "blk.1.attn_sinks.weight" }, "blk.1.attn_sinks.weight is missing");
    expect_refused((struct change){ .half = "blk.1.attn_sinks.weight" }, "blk.1.attn_sinks.weight is F16, expected F32");
    expect_refused((struct change){ .tensor = "blk.1.ffn_up_exps.bias", .rows = 3 },
                   "blk.1.ffn_up_exps.bias has shape [3, 32], expected [4, 32]");
    expect_refused((struct change){ .tensor = "blk.0.ffn_gate_inp.bias" }, "blk.0.ffn_gate_inp.bias is missing");
}

static struct hparams latent(void)
{
    struct hparams hp = small();
    hp.n_head_kv = 1, hp.head_dim = 24, hp.head_dim_v = 16, hp.n_rot = 8, hp.n_lora_kv = 32, hp.n_lora_q = 16;
    hp.mla_split = hp.expert_bias = true;
    hp.n_expert = 4, hp.n_expert_used = 2, hp.n_ff_exp = 32, hp.n_layer_dense = 1, hp.n_expert_shared = 2, hp.n_ff_shexp = 64;
    hp.expert_gate = EXPERT_GATE_SIGMOID, hp.expert_scale = 2.5;
    return hp;
}

static void test_latent(void **state)
{
    (void)state;
    const struct hparams hp = latent();
    struct model m;
    assert_int_equal(write_good("deepseek2", &hp), 0);
    expect_loaded((struct change){ .key = "deepseek2.expert_shared_feed_forward_length" }, &m);
    assert_int_equal(m.hp.n_ff_shexp, 64);
    assert_true(m.hp.expert_bias && m.hp.mla_split && m.hp.n_head_kv == 1 && m.hp.head_dim == 24);
    model_free(&m);
    expect_loaded((struct change){ .key = "deepseek2.attention.head_count_kv", .put = PUT_U32, .u32 = 4 }, &m);
    assert_int_equal(m.hp.n_head_kv, 1); /* older files */
    model_free(&m);
    static const struct {
        const char *key;
        uint32_t value;
        const char *expect;
    } numbers[] = {
        { "deepseek2.attention.kv_lora_rank", 0, "the rank of the latent (attention.kv_lora_rank) is missing or 0" },
        { "deepseek2.attention.kv_lora_rank", 31, "blk.0.attn_kv_a_mqa.weight has shape [40, 64], expected [39, 64]" },
        { "deepseek2.attention.kv_lora_rank", 4294967295u, "deepseek2.attention.kv_lora_rank is 4294967295" },
        { "deepseek2.attention.q_lora_rank", 0, "tensor blk.0.attn_q.weight is missing" },
        { "deepseek2.attention.q_lora_rank", 17, "blk.0.attn_q_a.weight has shape [16, 64], expected [17, 64]" },
        { "deepseek2.attention.key_length_mla", 8, "keys of 8 elements, expected more than the 8 rotary ones" },
        { "deepseek2.attention.key_length_mla", 32, "blk.0.attn_q_b.weight has shape [96, 16], expected [128, 16]" },
        { "deepseek2.attention.key_length_mla", 4294967295u, "deepseek2.attention.key_length is 4294967295" },
        { "deepseek2.attention.value_length_mla", 0, "deepseek2.attention.value_length is 0" },
        { "deepseek2.attention.value_length_mla", 8, "blk.0.attn_v_b.weight has shape [4, 16, 32], expected [4, 8, 32]" },
        { "deepseek2.rope.dimension_count", 0, "deepseek2.rope.dimension_count is 0" },
        { "deepseek2.rope.dimension_count", 10, "blk.0.attn_kv_a_mqa.weight has shape [40, 64], expected [42, 64]" },
        { "deepseek2.leading_dense_block_count", 2, "blk.1.ffn_gate.weight is missing" },
        { "deepseek2.leading_dense_block_count", 0, "blk.0.ffn_gate_inp.weight is missing" },
        { "deepseek2.nextn_predict_layers", 2, "deepseek2.nextn_predict_layers is 2 of 2 layers" },
        { "deepseek2.expert_shared_count", 0, "blk.1.ffn_down_shexp.weight: architecture deepseek2 does not use it" },
    };
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        expect_refused((struct change){ .key = numbers[i].key, .put = PUT_U32, .u32 = numbers[i].value },
                       numbers[i].expect);
    expect_refused((struct change){ .key = "deepseek2.attention.kv_lora_rank" }, "attention.kv_lora_rank) is missing or 0");
    expect_refused((struct change){ .tensor = "blk.1.attn_k_b.weight" }, "blk.1.attn_k_b.weight is missing");
    expect_refused((struct change){ .tensor = "blk.1.attn_k_b.weight", .rows = 128, .mats = 1 },
                   "blk.1.attn_k_b.weight has shape [128, 16], expected [4, 32, 16]");
    /* without the bias the choice is by the scores alone */
    expect_loaded((struct change){ .tensor = "blk.1.exp_probs_b.bias" }, &m);
    assert_false(m.hp.expert_bias);
    model_free(&m);
    /* a layer that predicts a second token is left out, whatever its tensors */
    expect_loaded((struct change){ .key = "deepseek2.nextn_predict_layers", .put = PUT_U32, .u32 = 1 }, &m);
    assert_int_equal(m.hp.n_layer, 1);
    model_free(&m);
}

/* Layers of multi-token prediction: of no use to the model, and checked where they are used. */
static void test_nextn(void **state)
{
    (void)state;
    struct hparams hp = latent();
    struct model m;
    struct nextn x;
    struct error err = { 0 };
    hp.n_layer_nextn = 2;
    assert_int_equal(write_good("deepseek2", &hp), 0);
    static const struct {
        struct change change;
        const char *expect;
    } cases[] = {
        { { .key = "deepseek2.nextn_predict_layers", .put = PUT_U32, .u32 = 3 }, "tensor blk.1.nextn.eh_proj.weight is missing" }, /* the layer is another one */
        { { .tensor = "blk.2.nextn.eh_proj.weight" }, "tensor blk.2.nextn.eh_proj.weight is missing" },
        { { .tensor = "blk.2.nextn.eh_proj.weight", .rows = 63 }, "blk.2.nextn.eh_proj.weight has shape [63, 128], expected [64, 128]" },
        { { .half = "blk.2.nextn.enorm.weight" }, "blk.2.nextn.enorm.weight is F16, expected F32" },
        { { .half = "blk.2.nextn.shared_head_norm.weight" }, "blk.2.nextn.shared_head_norm.weight is F16, expected F32" },
        { { .tensor = "blk.2.attn_kv_a_mqa.weight", .rows = 41 }, "blk.2.attn_kv_a_mqa.weight has shape [41, 64], expected [40, 64]" },
        { { .tensor = "blk.2.ffn_up_exps.weight" }, "tensor blk.2.ffn_up_exps.weight is missing" },
        { { .tensor = "blk.2.nextn.shared_head_norm.weight" }, NULL }, /* the model's */
        { { .tensor = "blk.3.nextn.eh_proj.weight" }, NULL },          /* of a layer that drafts nothing */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        expect_loaded(cases[i].change, &m);
        if (cases[i].expect)
            assert_fails(nextn_check(&m, &err), err, cases[i].expect);
        else
            assert_ok(nextn_check(&m, &err), err);
        model_free(&m);
    }
    expect_loaded((struct change){ .key = NULL }, &m);
    assert_int_equal(m.hp.n_layer, 2);
    assert_int_equal(m.hp.n_layer_nextn, 2);
    assert_int_equal(nextn_n_layer(&m), 2);
    assert_ok(nextn_init(&x, &m, &err), err);
    assert_true(x.own);
    for (size_t i = 0; i < x.ops.n; i++)
        assert_true(x.ops.ops[i].layer == 2 || x.ops.ops[i].layer == -1);
    nextn_free(&x);
    model_free(&m);
    /* not of every architecture */
    hp = small();
    assert_int_equal(write_good("llama", &hp), 0);
    expect_loaded((struct change){ .key = NULL }, &m);
    assert_fails(nextn_check(&m, &err), err, "llama.nextn_predict_layers is missing or 0");
    assert_int_equal(err.kind, ERROR_INPUT);
    m.hp.n_layer_nextn = 1;
    assert_fails(nextn_check(&m, &err), err, "multi-token prediction layers of architecture llama are predicted, not executed (executed: deepseek2)");
    assert_int_equal(err.kind, ERROR_UNAVAILABLE);
    assert_fails(nextn_add_tensors(&m, 1, &err), err, "architecture llama");
    model_free(&m);
}

static void test_windows(void **state)
{
    (void)state;
    struct hparams hp = small();
    struct model m;
    hp.n_layer = 4, hp.window = 16, hp.window_period = 6, hp.tied = true, hp.rope_theta_swa = 1e4;
    assert_int_equal(write_good("gemma3", &hp), 0);
    static const char key[] = "gemma3.attention.sliding_window_pattern";
    static const struct {
        const char *flags;
        uint32_t period;
        const char *expect;
    } cases[] = {
        { "1111", 0, NULL },
        { "1010", 2, NULL },
        { "1101", 3, NULL },
        { "0000", 1, NULL },
        { "1110", 4, NULL },
        { "11011", 3, NULL }, /* layers the file does not have */
        { "0111", 0, "gemma3.attention.sliding_window_pattern[1]: windows do not repeat every 1 layers" },
        { "1001", 0, "gemma3.attention.sliding_window_pattern[2]: windows do not repeat every 2 layers" },
        { "111", 0, "gemma3.attention.sliding_window_pattern has 3 entries for 4 layers" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct change c = { .key = key, .put = PUT_FLAGS, .str = cases[i].flags };
        if (cases[i].expect) {
            expect_refused(c, cases[i].expect);
            continue;
        }
        expect_loaded(c, &m);
        assert_int_equal(m.hp.window_period, cases[i].period);
        for (uint32_t layer = 0; layer < 4; layer++)
            assert_int_equal(hparams_windowed(&m.hp, layer), cases[i].flags[layer] == '1');
        model_free(&m);
    }
    expect_loaded((struct change){ .key = key, .put = PUT_U32, .u32 = 2 }, &m);
    assert_int_equal(m.hp.window_period, 2);
    model_free(&m);
    expect_loaded((struct change){ .key = key }, &m); /* Gemma 3's own */
    assert_int_equal(m.hp.window_period, 6);
    model_free(&m);
    expect_refused((struct change){ .key = key, .put = PUT_STR, .str = "LLLG" }, key);
    expect_refused((struct change){ .key = "gemma3.rope.freq_base_swa", .put = PUT_F32, .f32 = 0.5F }, "windowed layers");
    expect_refused((struct change){ .key = "gemma3.rope.freq_base_swa", .put = PUT_F32, .f32 = NAN }, "windowed layers");
    expect_refused((struct change){ .key = "gemma3.attn_logit_softcapping", .put = PUT_F32, .f32 = -1 }, "soft cap");
    expect_refused((struct change){ .key = "gemma3.attention.scale", .put = PUT_F32, .f32 = INFINITY }, "scale of attention");
    expect_refused((struct change){ .tensor = "blk.3.post_ffw_norm.weight" }, "blk.3.post_ffw_norm.weight is missing");
    hp.window = 0, hp.window_period = 0, hp.rope_theta_swa = 0, hp.tied = false;
    assert_int_equal(write_good("qwen3", &hp), 0);
    expect_refused((struct change){ .key = "qwen3.attention.sliding_window", .put = PUT_U32, .u32 = 16 },
                   "sliding-window attention: not supported by architecture qwen3");
    expect_refused((struct change){ .half = "blk.0.attn_q_norm.weight" }, "is F16, expected F32");
    expect_refused((struct change){ .key = "qwen3.expert_count", .put = PUT_U32, .u32 = 4 },
                   "mixtures of experts: not supported by architecture qwen3");
    assert_int_equal(write_good("olmo2", &hp), 0);
    expect_refused((struct change){ .extra = "blk.0.attn_norm.weight" }, "blk.0.attn_norm.weight: architecture olmo2");
}

static void test_scaling(void **state)
{
    (void)state;
    struct hparams hp = small();
    struct model m;
    hp.n_rot = 8;
    hp.rope_scaling = ROPE_SCALING_LONGROPE, hp.rope_ctx_orig = 32, hp.rope_attn_factor = 1.2;
    assert_int_equal(write_good("phi3", &hp), 0);
    expect_loaded((struct change){ .key = "phi3.rope.scaling.attn_factor" }, &m);
    assert_true(m.hp.rope_attn_factor == 0 && m.hp.rope_scaling == ROPE_SCALING_LONGROPE && m.hp.rope_ctx_orig == 32);
    model_free(&m);
    expect_loaded((struct change){ .key = "phi3.rope.scaling.original_context_length" }, &m);
    assert_true(m.hp.rope_ctx_orig == 64);
    model_free(&m);
    expect_refused((struct change){ .tensor = "rope_factors_short.weight" }, "rope_factors_short.weight is missing");
    expect_refused((struct change){ .key = "phi3.rope.dimension_count", .put = PUT_U32, .u32 = 16 },
                   "rope_factors_long.weight has shape [4], expected [8]");
    expect_refused((struct change){ .half = "rope_factors_long.weight" }, "rope_factors_long.weight is F16, expected F32");
    expect_refused((struct change){ .zeros = true }, "rope_factors_long.weight: element 0 is 0, expected more than 0");
    expect_refused((struct change){ .extra = "rope_freqs.weight" }, "both phi3.rope.scaling.type and rope_freqs.weight");
    expect_refused((struct change){ .key = "phi3.rope.scaling.original_context_length", .put = PUT_F32, .f32 = -1 },
                   "the original context length is -1");
    hp = small();
    hp.rope_scaling = ROPE_SCALING_YARN, hp.rope_factor = 4, hp.rope_ctx_orig = 32;
    hp.yarn_beta_fast = 32, hp.yarn_beta_slow = 1;
    assert_int_equal(write_good("llama", &hp), 0);
    expect_refused((struct change){ .key = "llama.rope.scaling.factor", .put = PUT_F32, .f32 = 0 }, "the YaRN factor is 0");
    expect_refused((struct change){ .key = "llama.rope.scaling.factor", .put = PUT_F32, .f32 = NAN }, "the YaRN factor is nan");
    expect_refused((struct change){ .key = "llama.rope.scaling.yarn_beta_fast", .put = PUT_F32, .f32 = 0.5F }, "beta_fast");
    expect_loaded((struct change){ .key = "llama.rope.scaling.yarn_beta_fast" }, &m);
    assert_true(m.hp.yarn_beta_fast == 32 && m.hp.rope_factor == 4 && m.hp.rope_ctx_orig == 32);
    model_free(&m);
}

/* Every file of the oracle loads and its bytes add up. */
static void test_oracle(void **state)
{
    (void)state;
    const char *shared = shared_dir();
    if (!shared) {
        print_message("# ../shared is absent: oracle files not loaded\n");
        skip();
    }
    static const struct {
        const char *file, *arch;
    } files[] = {
        { "llama-gqa-Q4_K_M", "llama" }, { "llama-mqa-f16", "llama" }, { "llama-tied-f16", "llama" },
        { "mixtral-f16", "llama" },      { "qwen2-f16", "qwen2" },     { "qwen3-f16", "qwen3" },
        { "gemma3-f16", "gemma3" },      { "phi3-f16", "phi3" },
    };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char path[4300];
        struct model m;
        struct error err = { 0 };
        snprintf(path, sizeof path, "%s/data/oracle/%s.gguf", shared, files[i].file);
        assert_ok(model_load(&m, path, NULL, &err), err);
        assert_string_equal(model_arch_name(&m), files[i].arch);
        uint64_t bytes = 0;
        for (size_t k = 0; k < gguf_n_tensors(m.gguf); k++)
            bytes += gguf_tensor_at(m.gguf, k)->bytes;
        assert_int_equal(m.weight_bytes, bytes);
        assert_int_equal(m.hp.tied, gguf_tensor_find(m.gguf, "output.weight") == NULL);
        if (strcmp(files[i].arch, "llama") == 0)
            assert_int_equal(m.hp.tied, strstr(path, "tied") != NULL);
        model_free(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_good, make_good),     cmocka_unit_test_setup(test_metadata, make_good),
        cmocka_unit_test_setup(test_tensors, make_good),  cmocka_unit_test_setup(test_defaults, make_good),
        cmocka_unit_test(test_experts),                   cmocka_unit_test(test_latent), cmocka_unit_test(test_nextn),
        cmocka_unit_test(test_windows),                   cmocka_unit_test(test_scaling),
        cmocka_unit_test(test_oracle),
    };
    return cmocka_run_group_tests_name("model_gguf", tests, make_dir, remove_dir);
}
