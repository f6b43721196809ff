/* Files of random weights: their shape, their distribution, and that nothing but shape, type and seed
 * decides their bytes. */
#include "base/environment.h"
#include "../test.h"
#include "model/op.h"
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>

static char dir[] = "/tmp/roofcast-synth-XXXXXX";

static int make_dir(void **state)
{
    (void)state;
    environment_set_dirs(data_dirs());
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return rmdir(dir);
}

static const char *file(char *buf, size_t n, const char *name)
{
    snprintf(buf, n, "%s/%s", dir, name);
    return buf;
}

/* No file and no temporary is left. */
static void assert_nothing_left(void)
{
    DIR *d = opendir(dir);
    assert_non_null(d);
    struct dirent *e;
    while ((e = readdir(d)))
        if (e->d_name[0] != '.')
            fail_msg("%s/%s was left behind", dir, e->d_name);
    closedir(d);
}

static struct hparams small(void)
{
    return (struct hparams){ .n_layer = 2, .n_embd = 256, .n_head = 8, .n_head_kv = 2, .head_dim = 32,
                             .n_ff = 512, .n_vocab = 1000, .n_ctx_train = 128, .n_rot = 32,
                             .rope_theta = 10000, .rms_eps = 1e-5 };
}

static void synth(const char *path, const struct hparams *hp, const char *type, uint64_t seed, int threads)
{
    struct model m;
    struct error err = { 0 };
    assert_ok(model_from_hparams(&m, "tiny", "llama", hp, type, &err), err);
    struct team *team = threads > 1 ? team_new(threads, NULL, &err) : NULL;
    struct synth_options o = { .seed = seed, .team = team };
    assert_ok(model_synth(&m, path, &o, &err), err);
    team_free(team);
    model_free(&m);
}

/* What was asked for is what model_load reads back, tensor by tensor. */
static void check_round_trip(const struct hparams *hp, const char *type)
{
    char path[128];
    struct model want, got;
    struct error err = { 0 };
    file(path, sizeof path, "round.gguf");
    synth(path, hp, type, 1, 2);
    assert_ok(model_from_hparams(&want, "tiny", "llama", hp, type, &err), err);
    assert_ok(model_load(&got, path, NULL, &err), err);
    assert_string_equal(got.type_name, want.type_name);
    assert_string_equal(got.name, "tiny");
    assert_int_equal(got.n_tensors, want.n_tensors);
    assert_int_equal(got.weight_bytes, want.weight_bytes);
    assert_int_equal(got.n_params, want.n_params);
    assert_int_equal(got.hp.n_layer, hp->n_layer);
    assert_int_equal(got.hp.n_embd, hp->n_embd);
    assert_int_equal(got.hp.n_ff, hp->n_ff);
    assert_int_equal(got.hp.n_head, hp->n_head);
    assert_int_equal(got.hp.n_head_kv, hp->n_head_kv);
    assert_int_equal(got.hp.head_dim, hp->head_dim);
    assert_int_equal(got.hp.n_rot, hp->n_rot);
    assert_int_equal(got.hp.n_vocab, hp->n_vocab);
    assert_int_equal(got.hp.n_ctx_train, hp->n_ctx_train);
    assert_int_equal(got.hp.tied, hp->tied);
    assert_int_equal(got.hp.rope_scaling, hp->rope_scaling);
    assert_true(got.hp.rope_theta == (float)hp->rope_theta && got.hp.rms_eps == (float)hp->rms_eps);
    for (size_t i = 0; i < want.n_tensors; i++) {
        const struct tensor *t = model_find(&got, want.tensors[i].name);
        assert_non_null(t);
        assert_int_equal(t->type, want.tensors[i].type);
        assert_int_equal(t->rows, want.tensors[i].rows);
        assert_int_equal(t->cols, want.tensors[i].cols);
        assert_int_equal(t->bytes, want.tensors[i].bytes);
        assert_non_null(t->data);
    }
    model_free(&want);
    model_free(&got);
    unlink(path);
}

static void test_round_trip(void **state)
{
    (void)state;
    static const char *const types[] = { "F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q2_K",
                                        "Q3_K_M", "Q4_K_M", "Q5_K_M", "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4_MOE" };
    struct hparams hp = small();
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        check_round_trip(&hp, types[i]);
    hp.tied = true;
    check_round_trip(&hp, "Q4_K_M");
    hp.head_dim = hp.n_rot = 64; /* n_head * head_dim != n_embd */
    check_round_trip(&hp, "Q8_0");
    hp.rope_scaling = ROPE_SCALING_LINEAR;
    hp.rope_factor = 4;
    check_round_trip(&hp, "F16");
    hp.n_embd = 288, hp.n_head = hp.n_head_kv = 6, hp.head_dim = hp.n_rot = 48, hp.n_ff = 100;
    hp.n_vocab = 259;
    check_round_trip(&hp, "Q4_K_M"); /* falls back; rows of 100 become F16 */
}

/* ---- every family ---------------------------------------------------------------------------- */

/* The preset's dimensions made small; what makes the family what it is stays. */
static void shrink(struct hparams *hp)
{
    hp->n_layer = 4, hp->n_embd = 64, hp->n_ff = 96, hp->n_head = 4, hp->n_vocab = 300, hp->n_ctx_train = 64;
    if (hp->window > 0)
        hp->window = 16;
    if (hp->n_lora_kv > 0) {
        hp->n_lora_kv = 32, hp->head_dim = 24, hp->head_dim_v = 16, hp->n_rot = 8;
        hp->n_lora_q = hp->n_lora_q ? 48 : 0;
    } else {
        hp->n_head_kv = 2, hp->n_rot = hp->n_rot < hp->head_dim ? 24 : 32, hp->head_dim = hp->head_dim_v = 32;
    }
    if (hp->n_expert == 0)
        return;
    hp->n_expert = 16, hp->n_expert_used = 3, hp->n_ff_exp = 32;
    hp->n_ff_shexp = 32 * hp->n_expert_shared;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b);
}

static void assert_same_hparams(const struct hparams *got, const struct hparams *want)
{
#define SAME(field) assert_int_equal(got->field, want->field)
#define NEAR(field) assert_true(near(got->field, want->field))
    SAME(n_layer), SAME(n_embd), SAME(n_head), SAME(n_head_kv), SAME(n_ff), SAME(n_vocab), SAME(n_ctx_train);
    SAME(head_dim), SAME(head_dim_v), SAME(n_rot), SAME(tied), SAME(attn_bias), SAME(attn_output_bias);
    SAME(window), SAME(no_rope_period), SAME(rope_scaling);
    for (uint32_t i = 0; i < want->n_layer; i++)
        assert_int_equal(hparams_windowed(got, i), hparams_windowed(want, i));
    SAME(n_expert), SAME(n_expert_used), SAME(n_ff_exp), SAME(n_expert_shared), SAME(n_ff_shexp), SAME(n_layer_dense);
    SAME(n_expert_group), SAME(n_expert_group_used), SAME(expert_gate), SAME(expert_norm), SAME(expert_bias);
    SAME(n_lora_q), SAME(n_lora_kv), SAME(mla_split);
    NEAR(rms_eps), NEAR(attn_softcap), NEAR(final_softcap), NEAR(rope_theta), NEAR(rope_theta_swa), NEAR(expert_scale);
    NEAR(attn_scale), NEAR(rope_attn_factor);
    if (want->rope_scaling == ROPE_SCALING_LINEAR || want->rope_scaling == ROPE_SCALING_YARN)
        NEAR(rope_factor);
    if (want->rope_scaling != ROPE_SCALING_NONE && want->rope_scaling != ROPE_SCALING_LINEAR)
        NEAR(rope_ctx_orig);
    if (want->rope_scaling == ROPE_SCALING_YARN)
        NEAR(yarn_log_mul), NEAR(yarn_beta_fast), NEAR(yarn_beta_slow);
#undef SAME
#undef NEAR
}

static void check_family(const char *arch, const struct hparams *hp, const char *type)
{
    char path[128];
    struct model want, got;
    struct op_list a, b;
    struct error err = { 0 };
    const struct synth_options o = { .seed = 1 };
    file(path, sizeof path, "family.gguf");
    assert_ok(model_from_hparams(&want, "tiny", arch, hp, type, &err), err);
    assert_ok(model_synth(&want, path, &o, &err), err);
    assert_ok(model_load(&got, path, NULL, &err), err);
    assert_string_equal(model_arch_name(&got), arch);
    assert_string_equal(got.type_name, want.type_name);
    assert_same_hparams(&got.hp, &want.hp);
    assert_int_equal(got.n_tensors, want.n_tensors);
    assert_int_equal(got.weight_bytes, want.weight_bytes);
    for (size_t i = 0; i < want.n_tensors; i++) {
        const struct tensor *t = model_find(&got, want.tensors[i].name);
        assert_non_null(t);
        assert_int_equal(t->type, want.tensors[i].type);
        assert_int_equal(t->rows, want.tensors[i].rows);
        assert_int_equal(t->cols, want.tensors[i].cols);
        assert_int_equal(t->n_mat, want.tensors[i].n_mat);
    }
    assert_ok(op_list_build(&a, &want, &err), err);
    assert_ok(op_list_build(&b, &got, &err), err);
    assert_int_equal(a.n, b.n);
    for (size_t i = 0; i < a.n; i++)
        assert_true(a.ops[i].role == b.ops[i].role && a.ops[i].window == b.ops[i].window &&
                    near(a.ops[i].scale, b.ops[i].scale));
    op_list_free(&a);
    op_list_free(&b);
    model_free(&want);
    model_free(&got);
    unlink(path);
}

static void test_families(void **state)
{
    (void)state;
    static const struct {
        const char *preset, *type;
    } families[] = {
        { "llama-3.1-8b", "Q4_K_M" },    { "mistral-7b", "F16" },       { "smollm3-3b", "Q8_0" },
        { "qwen2.5-7b", "Q4_K_M" },      { "qwen3-8b", "Q4_0" },        { "olmo-2-7b", "F16" },
        { "gemma-2-9b", "Q4_K_M" },      { "gemma-2-27b", "F16" },      { "gemma-3-27b", "Q4_0" },
        { "phi-3-mini-4k", "Q4_K_M" },   { "phi-3-mini-128k", "F16" },  { "phi-4-mini", "Q8_0" },
        { "mixtral-8x7b", "Q4_K_M" },    { "qwen3-30b-a3b", "Q4_K_M" }, { "gpt-oss-20b", "MXFP4" },
        { "gpt-oss-120b", "F16" },       { "deepseek-v2-lite", "F16" }, { "deepseek-v2", "Q4_K_M" },
        { "deepseek-v3", "Q4_K_M" },     { "kimi-k2", "Q8_0" },
    };
    for (size_t i = 0; i < ARRAY_LEN(families); i++) {
        struct model m;
        struct error err = { 0 };
        char arch[32];
        assert_ok(model_load(&m, families[i].preset, NULL, &err), err);
        struct hparams hp = m.hp;
        snprintf(arch, sizeof arch, "%s", model_arch_name(&m));
        model_free(&m);
        shrink(&hp);
        if (hp.n_lora_kv > 0) /* follows from the width of keys in every file */
            hp.attn_scale *= sqrt(192) / sqrt(hp.head_dim);
        check_family(arch, &hp, families[i].type);
    }
}

/* What differs from an architecture's defaults is said, zeros included; what a file cannot say is refused. */
static void test_not_the_defaults(void **state)
{
    (void)state;
    struct model m;
    struct error err = { 0 };
    const struct synth_options o = { .seed = 1 };
    char path[128];
    assert_ok(model_load(&m, "gemma-2-9b", NULL, &err), err);
    struct hparams hp = m.hp;
    model_free(&m);
    shrink(&hp);
    hp.window = 0;
    hp.attn_softcap = hp.final_softcap = 0;
    check_family("gemma2", &hp, "F16");
    hp.window = 8, hp.window_period = 0;
    check_family("gemma2", &hp, "F16");
    assert_ok(model_load(&m, "qwen3-30b-a3b", NULL, &err), err);
    hp = m.hp;
    model_free(&m);
    shrink(&hp);
    hp.expert_norm = false;
    check_family("qwen3moe", &hp, "F16");
    hp = small();
    hp.n_expert = 4, hp.n_expert_used = 2, hp.n_ff_exp = 128;
    hp.attn_bias = true, hp.window = 32, hp.window_period = 3;
    hp.rope_scaling = ROPE_SCALING_YARN, hp.rope_factor = 4, hp.rope_ctx_orig = 32, hp.rope_attn_factor = 0.5;
    hp.yarn_beta_fast = 16, hp.yarn_beta_slow = 2;
    check_family("llama", &hp, "Q4_K_M");
    hp = small();
    hp.no_rope_period = 3;
    assert_ok(model_from_hparams(&m, "tiny", "smollm3", &hp, "F16", &err), err);
    assert_fails(model_synth(&m, file(path, sizeof path, "no.gguf"), &o, &err), err, "no_rope_layer_interval is 3");
    model_free(&m);
    hp = small();
    hp.window = 16;
    assert_fails(model_from_hparams(&m, "tiny", "qwen2", &hp, "F16", &err), err, "sliding-window attention: not supported");
    assert_nothing_left();
}

static bool same_bytes(const char *a, const char *b)
{
    struct filemap x, y;
    struct error err = { 0 };
    assert_ok(filemap_open(&x, a, &err), err);
    assert_ok(filemap_open(&y, b, &err), err);
    bool same = x.size == y.size && memcmp(x.data, y.data, x.size) == 0;
    filemap_close(&x);
    filemap_close(&y);
    return same;
}

static void test_deterministic(void **state)
{
    (void)state;
    char a[128], b[128], c[128];
    struct hparams hp = small();
    synth(file(a, sizeof a, "a.gguf"), &hp, "Q4_K_M", 7, 1);
    synth(file(b, sizeof b, "b.gguf"), &hp, "Q4_K_M", 7, 2);
    synth(file(c, sizeof c, "c.gguf"), &hp, "Q4_K_M", 8, 1);
    assert_true(same_bytes(a, b));
    assert_false(same_bytes(a, c));
    unlink(a);
    unlink(b);
    unlink(c);
}

/* Mean 0 and sd 1/sqrt(cols) within 5 standard errors, a normal's share beyond 1 and 2 sd, and rows that
 * are not each other's copies. doc/notes/quantization.md */
static void test_distribution(void **state)
{
    (void)state;
    char path[128];
    struct hparams hp = small();
    struct model m;
    struct error err = { 0 };
    synth(file(path, sizeof path, "f32.gguf"), &hp, "F32", 3, 1);
    assert_ok(model_load(&m, path, NULL, &err), err);
    const struct tensor *t = model_find(&m, "blk.1.ffn_down.weight");
    assert_non_null(t);
    const float *w = t->data;
    const size_t n = t->rows * t->cols;
    const double sd = 1 / sqrt((double)t->cols), root = sqrt((double)n);
    double sum = 0, squares = 0, beyond1 = 0, beyond2 = 0, dot = 0;
    for (size_t i = 0; i < n; i++) {
        double z = w[i] / sd;
        sum += z;
        squares += z * z;
        beyond1 += fabs(z) > 1;
        beyond2 += fabs(z) > 2;
        if (i >= t->cols)
            dot += z * w[i - t->cols] / sd;
    }
    assert_true(fabs(sum / (double)n) < 5 / root);
    assert_true(fabs(squares / (double)n - 1) < 5 * sqrt(2) / root);
    assert_true(fabs(beyond1 / (double)n - 0.3173) < 5 * 0.4655 / root);
    assert_true(fabs(beyond2 / (double)n - 0.0455) < 5 * 0.2084 / root);
    assert_true(fabs(dot / (double)n) < 5 / root);
    /* the same weights in every layer would make layers copies */
    const struct tensor *u = model_find(&m, "blk.0.ffn_down.weight");
    assert_memory_not_equal(t->data, u->data, 64);
    const struct tensor *norm = model_find(&m, "blk.0.ffn_norm.weight");
    double mean = 0;
    for (size_t i = 0; i < norm->cols; i++)
        mean += ((const float *)norm->data)[i] / (double)norm->cols;
    assert_true(fabs(mean - 1) < 0.05);
    model_free(&m);
    unlink(path);
}

/* Files of two types hold the same weights: F16's differ from F32's by half a unit in the last place. */
static void test_same_weights(void **state)
{
    (void)state;
    char a[128], b[128];
    struct hparams hp = small();
    struct model x, y;
    struct error err = { 0 };
    synth(file(a, sizeof a, "a.gguf"), &hp, "F32", 3, 1);
    synth(file(b, sizeof b, "b.gguf"), &hp, "F16", 3, 1);
    assert_ok(model_load(&x, a, NULL, &err), err);
    assert_ok(model_load(&y, b, NULL, &err), err);
    const float *w = model_find(&x, "token_embd.weight")->data;
    const uint16_t *h = model_find(&y, "token_embd.weight")->data;
    for (size_t i = 0; i < 4096; i++)
        assert_true(fabsf(f16_to_f32(h[i]) - w[i]) <= fabsf(w[i]) * 0x1p-11f + 0x1p-25f);
    model_free(&x);
    model_free(&y);
    unlink(a);
    unlink(b);
}

/* Factors of Llama 3.1's scaling: 1 for the fastest rotation, 8 for the slowest, rising between. */
static void test_rope_factors(void **state)
{
    (void)state;
    char path[128];
    struct hparams hp = small();
    hp.head_dim = hp.n_rot = 128;
    hp.rope_theta = 500000;
    hp.rope_scaling = ROPE_SCALING_LLAMA3;
    hp.rope_factor = 8, hp.rope_low = 1, hp.rope_high = 4, hp.rope_ctx_orig = 8192;
    check_round_trip(&hp, "F16");
    synth(file(path, sizeof path, "rope.gguf"), &hp, "F16", 1, 1);
    struct model m;
    struct error err = { 0 };
    assert_ok(model_load(&m, path, NULL, &err), err);
    const struct tensor *t = model_find(&m, "rope_freqs.weight");
    assert_int_equal(t->cols, 64);
    const float *f = t->data;
    /* wavelength 2 pi theta^(2i/128): below 8192/4 up to i = 28, above 8192 from i = 35 */
    for (int i = 0; i <= 28; i++)
        assert_true(f[i] == 1);
    for (int i = 29; i < 35; i++)
        assert_true(f[i] > f[i - 1] && f[i] < 8);
    for (int i = 35; i < 64; i++)
        assert_true(f[i] == 8);
    /* i = 32 by hand: wavelength 2 pi sqrt(500000) = 4442.88, turns 1.84385, smooth 0.281282,
     * factor 1 / (0.718718 / 8 + 0.281282) = 2.69453 */
    assert_true(fabsf(f[32] - 2.69453f) < 1e-4f);
    model_free(&m);
    unlink(path);
}

/* A tokenizer of exactly n_vocab different tokens. */
static void check_vocab(uint32_t n_vocab)
{
    char path[128];
    struct hparams hp = small();
    struct error err = { 0 };
    hp.n_vocab = n_vocab;
    hp.n_layer = 1;
    synth(file(path, sizeof path, "vocab.gguf"), &hp, "Q8_0", 1, 1);
    struct gguf *g = gguf_open(path, &err);
    assert_non_null(g);
    static const char *const arrays[] = { "tokenizer.ggml.tokens", "tokenizer.ggml.scores", "tokenizer.ggml.token_type" };
    for (size_t i = 0; i < ARRAY_LEN(arrays); i++) {
        enum gguf_type elem;
        uint64_t n = 0;
        assert_ok(gguf_get_arr(g, arrays[i], &elem, &n, &err), err);
        assert_int_equal(n, n_vocab);
    }
    /* all different: an open-addressed set of hashes, then a comparison */
    size_t cap = 4 * (size_t)n_vocab;
    struct gguf_str *set = calloc(cap, sizeof *set);
    for (uint64_t i = 0; i < n_vocab; i++) {
        struct gguf_str s;
        assert_ok(gguf_arr_str(g, arrays[0], i, &s, &err), err);
        assert_true(s.len > 0);
        uint64_t h = 5381;
        for (size_t k = 0; k < s.len; k++)
            h = h * 33 + (unsigned char)s.s[k];
        for (h %= cap; set[h].s; h = (h + 1) % cap)
            if (set[h].len == s.len && memcmp(set[h].s, s.s, s.len) == 0)
                fail_msg("token %llu \"%.*s\" occurs twice", (unsigned long long)i, (int)s.len, s.s);
        set[h] = s;
    }
    free(set);
    gguf_close(g);
    unlink(path);
}

static void test_vocab(void **state)
{
    (void)state;
    static const uint32_t sizes[] = { 259, 260, 300, 1000, 32000, 128256 };
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
        check_vocab(sizes[i]);
}

static void test_refused(void **state)
{
    (void)state;
    char path[128];
    struct hparams hp = small();
    struct model m;
    struct error err = { 0 };
    const struct synth_options o = { .seed = 1 };
    file(path, sizeof path, "no.gguf");
    hp.n_vocab = 258;
    assert_ok(model_from_hparams(&m, "tiny", "llama", &hp, "F16", &err), err);
    assert_fails(model_synth(&m, path, &o, &err), err, "at least 259");
    model_free(&m);
    hp.n_vocab = 1000;
    assert_ok(model_from_hparams(&m, "tiny", "llama", &hp, "Q2_K", &err), err);
    m.tensors[3].type = DTYPE_TQ1_0; /* no mixture has such a type */
    assert_fails(model_synth(&m, path, &o, &err), err, "cannot write");
    model_free(&m);
    assert_ok(model_from_hparams(&m, "tiny", "llama", &hp, "F16", &err), err);
    assert_fails(model_synth(&m, "/no/such/dir/x.gguf", &o, &err), err, "/no/such/dir/x.gguf");
    assert_fails(model_synth(&m, "/dev/full", &o, &err), err, "/dev/full");
    assert_int_equal(err.kind, ERROR_SYSTEM);
    model_free(&m);
    /* far more than any disk has */
    hp.n_layer = 4096, hp.n_ff = 1 << 22, hp.n_embd = 1 << 19, hp.head_dim = hp.n_rot = 64;
    assert_ok(model_from_hparams(&m, "huge", "llama", &hp, "F32", &err), err);
    assert_fails(model_synth(&m, path, &o, &err), err, "free");
    model_free(&m);
    assert_nothing_left();
}

static void interrupt_now(void *ctx, const char *what, double fraction)
{
    (void)ctx, (void)what, (void)fraction;
    raise(SIGINT);
}

/* Last: the flag stays set. */
static void test_interrupted(void **state)
{
    (void)state;
    char path[128];
    struct hparams hp = small();
    struct model m;
    struct error err = { 0 };
    const struct synth_options o = { .seed = 1, .progress = interrupt_now };
    interrupt_install();
    file(path, sizeof path, "half.gguf");
    assert_ok(model_from_hparams(&m, "tiny", "llama", &hp, "F16", &err), err);
    assert_int_equal(model_synth(&m, path, &o, &err), -1);
    assert_int_equal(err.kind, ERROR_INTERRUPTED);
    assert_nothing_left();
    model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_deterministic),
        cmocka_unit_test(test_families),     cmocka_unit_test(test_not_the_defaults),
        cmocka_unit_test(test_distribution), cmocka_unit_test(test_same_weights),
        cmocka_unit_test(test_rope_factors), cmocka_unit_test(test_vocab),
        cmocka_unit_test(test_refused),      cmocka_unit_test(test_interrupted),
    };
    return cmocka_run_group_tests_name("model_synth", tests, make_dir, remove_dir);
}
