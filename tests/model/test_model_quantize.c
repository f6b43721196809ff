/* Quantizing files: types, metadata, errors by an independent sum, splits, and what must be refused. */
#include "../test.h"
#include "../gguf/build.h"
#include "model/quantize.h"
#include <math.h>
#include <unistd.h>

static char dir[] = "quantize-test-XXXXXX";
static const char *const out = "out.gguf";

static int enter(void **state)
{
    (void)state;
    return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    return chdir("..") == 0 && rmdir(dir) == 0 ? 0 : -1;
}

static struct gguf *open_ok(const char *path)
{
    struct error err = { 0 };
    struct gguf *g = gguf_open(path, &err);
    if (!g)
        fail_msg("%s", err.msg);
    return g;
}

/* ---- a file of an architecture that nobody knows -------------------------------------------------- */

struct shape {
    const char *name;
    uint32_t n_dims;
    uint64_t dims[3];
    enum dtype type;
};

/* A value of element i: small, both signs, different rows. */
static float value(size_t i)
{
    return (float)((int)(i * 2654435761u >> 20 & 0xfff) - 2048) / 30000.0f;
}

/* kvs: metadata beside the architecture's; poke: put into the first tensor at element 5. */
static void write_model(const char *path, const struct shape *shape, size_t n, void (*kvs)(struct gguf_writer *w),
                        float poke)
{
    struct error err = { 0 };
    struct gguf_writer *w = gguf_writer_new(path, &err);
    assert_non_null(w);
    gguf_writer_kv_str(w, "general.architecture", "quux");
    if (kvs)
        kvs(w);
    for (size_t i = 0; i < n; i++)
        assert_ok(gguf_writer_tensor(w, shape[i].name, shape[i].n_dims, shape[i].dims, shape[i].type, &err), err);
    assert_ok(gguf_writer_begin_data(w, &err), err);
    for (size_t i = 0; i < n; i++) {
        size_t elems = 1;
        for (uint32_t k = 0; k < shape[i].n_dims; k++)
            elems *= shape[i].dims[k];
        const struct dtype_info *d = dtype_find((int64_t)shape[i].type);
        const size_t bytes = elems / d->block_elems * d->block_bytes;
        float *x = malloc(elems * sizeof *x);
        void *raw = calloc(1, bytes);
        for (size_t k = 0; k < elems; k++)
            x[k] = value(k + 77 * i);
        if (poke != 0 && i == 0)
            x[5] = poke;
        if (d->quantize)
            d->quantize(x, raw, elems);
        assert_ok(gguf_writer_data(w, raw, bytes, &err), err);
        free(x);
        free(raw);
    }
    assert_ok(gguf_writer_finish(w, &err), err);
}

static int quantize_file(const char *path, const struct quantize_options *o, struct quantized *q, struct error *err)
{
    struct gguf *g = open_ok(path);
    int rc = model_quantize(g, out, o, q, err);
    gguf_close(g);
    return rc;
}

static const struct quantized_tensor *find(const struct quantized *q, const char *name)
{
    for (size_t i = 0; i < q->n_tensors; i++)
        if (strcmp(q->tensor[i].name, name) == 0)
            return &q->tensor[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

static void assert_type(const struct quantized *q, const char *name, enum dtype t)
{
    if (find(q, name)->to != t)
        fail_msg("%s is %s, expected %s", name, dtype_name(find(q, name)->to), dtype_name(t));
}

static const struct shape moe[] = {
    { "token_embd.weight", 2, { 256, 40 }, DTYPE_F16 },
    { "blk.0.attn_norm.weight", 1, { 256 }, DTYPE_F32 },
    { "blk.0.attn_q.weight", 2, { 256, 256 }, DTYPE_F16 },
    { "blk.0.attn_k.weight", 2, { 256, 64 }, DTYPE_BF16 },
    { "blk.0.attn_v.weight", 2, { 256, 64 }, DTYPE_F32 },
    { "blk.0.attn_output.weight", 2, { 256, 256 }, DTYPE_F16 },
    { "blk.0.attn_q.bias", 2, { 256, 2 }, DTYPE_F32 }, /* not "weight": stays whatever its shape */
    { "blk.0.ffn_gate_inp.weight", 2, { 256, 8 }, DTYPE_F32 },
    { "blk.0.ffn_gate_exps.weight", 3, { 256, 96, 8 }, DTYPE_F16 },
    { "blk.0.ffn_down_exps.weight", 3, { 96, 256, 8 }, DTYPE_F16 },
    { "blk.0.ffn_down_shexp.weight", 2, { 512, 256 }, DTYPE_F16 },
    { "blk.0.odd.weight", 2, { 40, 3 }, DTYPE_F16 },
    { "blk.0.table", 2, { 8, 2 }, DTYPE_I32 },
    { "output.weight", 2, { 256, 40 }, DTYPE_F16 },
};

static void moe_kvs(struct gguf_writer *w)
{
    gguf_writer_kv_u32(w, "general.file_type", 1);
    gguf_writer_kv_u32(w, "general.quantization_version", 1);
    gguf_writer_kv_u32(w, "quux.block_count", 1);
    gguf_writer_kv_arr_i32(w, "quux.attention.head_count", (const int32_t[]){ 8, 4 }, 2);
    gguf_writer_kv_u32(w, "quux.attention.head_count_kv", 2);
    gguf_writer_kv_u32(w, "quux.expert_count", 8);
    gguf_writer_kv_u32(w, "split.no", 0);
    gguf_writer_kv_u32(w, "split.count", 0);
    gguf_writer_kv_str(w, "quux.last", "kept");
}

/* Sums of squares over the values of two files, by nothing that the program shares. */
static void check_errors(const struct quantized_tensor *t, const struct gguf *a, const struct gguf *b)
{
    const struct gguf_tensor *x = gguf_tensor_find(a, t->name), *y = gguf_tensor_find(b, t->name);
    double sum = 0, err = 0, max = 0;
    assert_int_equal(x->type, t->from);
    assert_int_equal(y->type, t->to);
    assert_int_equal(x->bytes, t->in_bytes);
    assert_int_equal(y->bytes, t->out_bytes);
    assert_int_equal(x->n_dims, y->n_dims);
    assert_memory_equal(x->dims, y->dims, sizeof x->dims);
    if (t->from == t->to)
        assert_memory_equal(x->data, y->data, x->bytes);
    if (!t->matrix)
        return;
    float *p = malloc(t->n_elems * sizeof *p), *r = malloc(t->n_elems * sizeof *r);
    dtype_find((int64_t)t->from)->dequantize(x->data, p, t->n_elems);
    dtype_find((int64_t)t->to)->dequantize(y->data, r, t->n_elems);
    for (size_t i = t->n_elems; i-- > 0;) { /* another order */
        const double e = fabs((double)r[i] - (double)p[i]);
        sum += (double)p[i] * (double)p[i];
        err += e * e;
        max = e > max ? e : max;
    }
    free(p);
    free(r);
    assert_true(fabs(t->sum_sq - sum) <= 1e-12 * sum);
    assert_true(fabs(t->err_sq - err) <= 1e-12 * sum);
    assert_true(t->max_err == max);
}

static void check_metadata(const struct gguf *g)
{
    static const char *const keys[] = {
        "general.architecture", "general.file_type", "general.quantization_version", "quux.block_count",
        "quux.attention.head_count", "quux.attention.head_count_kv", "quux.expert_count", "quux.last",
    };
    uint64_t v;
    struct error err = { 0 };
    assert_int_equal(gguf_n_kv(g), ARRAY_LEN(keys));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        enum gguf_type t;
        const struct gguf_str s = gguf_kv_at(g, i, &t);
        assert_int_equal(s.len, strlen(keys[i]));
        assert_memory_equal(s.s, keys[i], s.len);
    }
    assert_ok(gguf_get_u64(g, "general.file_type", &v, &err), err);
    assert_int_equal(v, 15);
    assert_ok(gguf_get_u64(g, "general.quantization_version", &v, &err), err);
    assert_int_equal(v, 2);
}

static void test_experts(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct quantized q;
    write_model("in.gguf", moe, ARRAY_LEN(moe), moe_kvs, 0);
    struct quantize_options o = { .type = "Q4_K_M" };
    assert_ok(quantize_file("in.gguf", &o, &q, &err), err);
    assert_int_equal(q.n_tensors, ARRAY_LEN(moe));
    assert_type(&q, "token_embd.weight", DTYPE_Q4_K);
    assert_type(&q, "output.weight", DTYPE_Q6_K);
    assert_type(&q, "blk.0.attn_norm.weight", DTYPE_F32);
    assert_type(&q, "blk.0.attn_q.weight", DTYPE_Q4_K);
    assert_type(&q, "blk.0.attn_k.weight", DTYPE_Q8_0);
    assert_type(&q, "blk.0.attn_v.weight", DTYPE_Q8_0);
    assert_type(&q, "blk.0.attn_output.weight", DTYPE_Q5_K);
    assert_type(&q, "blk.0.attn_q.bias", DTYPE_F32);
    assert_type(&q, "blk.0.ffn_gate_inp.weight", DTYPE_F32);
    assert_type(&q, "blk.0.ffn_gate_exps.weight", DTYPE_Q4_K);
    assert_type(&q, "blk.0.ffn_down_exps.weight", DTYPE_Q8_0); /* Q6_K, but rows of 96 */
    assert_type(&q, "blk.0.ffn_down_shexp.weight", DTYPE_Q6_K);
    assert_type(&q, "blk.0.odd.weight", DTYPE_F16);
    assert_type(&q, "blk.0.table", DTYPE_I32);
    struct gguf *in = open_ok("in.gguf"), *g = open_ok(out);
    for (size_t i = 0; i < q.n_tensors; i++)
        check_errors(&q.tensor[i], in, g);
    check_metadata(g);
    const struct quantized_tensor *t = find(&q, "blk.0.attn_k.weight");
    const double rmse = quantize_rmse(t->err_sq, t->sum_sq);
    assert_true(rmse > 0.001 && rmse < 0.01);
    assert_true(fabs(quantize_snr_db(t->err_sq, t->sum_sq) + 20 * log10(rmse)) < 1e-9);
    assert_true(isnan(quantize_snr_db(0, 1)) && quantize_rmse(0, 0) == 0);
    gguf_close(in);
    gguf_close(g);
    quantized_free(&q);
    unlink(out);
    unlink("in.gguf");
}

static void test_options(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct quantized q;
    const struct quantize_override by[] = {
        { "attn_(q|k)\\.", dtype_find(DTYPE_Q5_0) },
        { "attn_q|output", dtype_find(DTYPE_F16) },
    };
    write_model("in.gguf", moe, ARRAY_LEN(moe), moe_kvs, 0);
    struct quantize_options o = { .type = "q8_0", .override = by, .n_override = 2 };
    o.embd_type = dtype_find(DTYPE_Q4_0);
    o.output_type = dtype_find(DTYPE_BF16);
    assert_ok(quantize_file("in.gguf", &o, &q, &err), err);
    assert_type(&q, "token_embd.weight", DTYPE_Q4_0);
    assert_type(&q, "output.weight", DTYPE_BF16);
    assert_type(&q, "blk.0.attn_q.weight", DTYPE_Q5_0);
    assert_type(&q, "blk.0.attn_k.weight", DTYPE_Q5_0);
    assert_type(&q, "blk.0.attn_output.weight", DTYPE_F16);
    assert_type(&q, "blk.0.attn_v.weight", DTYPE_Q8_0);
    quantized_free(&q);
    o = (struct quantize_options){ .type = "Q4_K_M", .pure = true };
    assert_ok(quantize_file("in.gguf", &o, &q, &err), err);
    assert_type(&q, "output.weight", DTYPE_Q4_K);
    assert_type(&q, "blk.0.attn_v.weight", DTYPE_Q4_K);
    assert_type(&q, "blk.0.ffn_down_exps.weight", DTYPE_Q5_0);
    quantized_free(&q);
    const struct quantize_override typo = { "atn", by[0].type }, broken = { "a(", by[0].type };
    o = (struct quantize_options){ .type = "Q8_0", .override = &typo, .n_override = 1 };
    assert_fails(quantize_file("in.gguf", &o, &q, &err), err, "no matrix has \"atn\" in its name");
    o.override = &broken;
    assert_fails(quantize_file("in.gguf", &o, &q, &err), err, "pattern \"a(\"");
    o = (struct quantize_options){ .type = "Q8_0", .output_type = dtype_find(DTYPE_Q2_0) };
    assert_fails(quantize_file("in.gguf", &o, &q, &err), err, "output.weight would be Q2_0");
    o = (struct quantize_options){ .type = "Q9" };
    assert_fails(quantize_file("in.gguf", &o, &q, &err), err, "Q4_K_M");
    unlink(out);
    unlink("in.gguf");
}

/* Of 16 layers four have attn_v. Among four, the last eighth is the last one and every third after none is the third:
 * by their own numbers, 6 and 10 would be the ones. */
static void hybrid_kvs(struct gguf_writer *w)
{
    gguf_writer_kv_u32(w, "quux.block_count", 16);
}

static void test_hybrid(void **state)
{
    (void)state;
    static const struct shape shape[] = {
        { "blk.9.attn_v.weight", 2, { 256, 4 }, DTYPE_F32 },
        { "blk.4.attn_v.weight", 2, { 256, 4 }, DTYPE_F32 },
        { "blk.6.attn_v.weight", 2, { 256, 4 }, DTYPE_F32 },
        { "blk.10.attn_v.weight", 2, { 256, 4 }, DTYPE_F32 },
        { "blk.0.ssm_conv1d.weight", 2, { 4, 256 }, DTYPE_F32 },
        { "token_embd.weight", 2, { 256, 4 }, DTYPE_F32 },
    };
    struct error err = { 0 };
    struct quantized q;
    const struct quantize_options o = { .type = "Q4_K_M" };
    write_model("in.gguf", shape, ARRAY_LEN(shape), hybrid_kvs, 0);
    assert_ok(quantize_file("in.gguf", &o, &q, &err), err);
    assert_type(&q, "blk.4.attn_v.weight", DTYPE_Q4_K);
    assert_type(&q, "blk.6.attn_v.weight", DTYPE_Q4_K);
    assert_type(&q, "blk.9.attn_v.weight", DTYPE_Q6_K);
    assert_type(&q, "blk.10.attn_v.weight", DTYPE_Q6_K);
    assert_type(&q, "blk.0.ssm_conv1d.weight", DTYPE_F32);
    assert_type(&q, "token_embd.weight", DTYPE_Q6_K); /* no output.weight: the LM head too */
    quantized_free(&q);
    write_model("in.gguf", shape, ARRAY_LEN(shape), NULL, 0); /* nor a count of layers */
    assert_ok(quantize_file("in.gguf", &o, &q, &err), err);
    quantized_free(&q);
    uint64_t v = 0;
    struct gguf *g = open_ok(out);
    assert_ok(gguf_get_u64(g, "general.quantization_version", &v, &err), err);
    assert_int_equal(v, 2);
    assert_ok(gguf_get_u64(g, "general.file_type", &v, &err), err);
    assert_int_equal(v, 15);
    gguf_close(g);
    unlink(out);
    unlink("in.gguf");
}

/* ---- refused, and nothing left ------------------------------------------------------------------------ */

static void refused(const struct shape *shape, size_t n, float poke, const struct quantize_options *o, const char *text)
{
    struct error err = { 0 };
    struct quantized q;
    write_model("in.gguf", shape, n, NULL, poke);
    assert_fails(quantize_file("in.gguf", o, &q, &err), err, text);
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_non_null(strstr(err.msg, "in.gguf"));
    assert_null(q.tensor);
    unlink("in.gguf");
    assert_int_equal(access(out, F_OK), -1);
}

static void test_refused(void **state)
{
    (void)state;
    const struct shape f32 = { "blk.0.attn_q.weight", 2, { 256, 70 }, DTYPE_F32 };
    const struct shape q8 = { "blk.0.attn_q.weight", 2, { 256, 70 }, DTYPE_Q8_0 };
    const struct shape iq = { "blk.0.attn_q.weight", 2, { 256, 70 }, DTYPE_IQ1_S };
    const struct quantize_options o = { .type = "Q8_0" }, f16 = { .type = "F16" };
    const struct quantize_options q6 = { .type = "Q6_K" };
    refused(&f32, 1, NAN, &o, "blk.0.attn_q.weight has weights that are not finite");
    refused(&f32, 1, -INFINITY, &o, "not finite");
    refused(&f32, 1, 1e6f, &f16, "too large for F16");
    refused(&q8, 1, 0, &q6, "quantized already, to Q8_0");
    refused(&iq, 1, 0, &o, "IQ1_S, whose values roofcast cannot read");

    struct error err = { 0 };
    struct quantized q;
    write_model("in.gguf", &q8, 1, NULL, 0);
    struct quantize_options again = { .type = "Q4_K_M", .allow_requantize = true };
    assert_ok(quantize_file("in.gguf", &again, &q, &err), err);
    assert_type(&q, q8.name, DTYPE_Q4_K);
    quantized_free(&q);
    assert_ok(quantize_file("in.gguf", &o, &q, &err), err); /* the same type: copied */
    assert_true(q.tensor[0].err_sq == 0 && q.tensor[0].sum_sq > 0);
    quantized_free(&q);
    unlink("in.gguf");
    unlink(out);
}

/* ---- the same bytes ------------------------------------------------------------------------------------- */

static void same_files(const char *a, const char *b)
{
    struct filemap x, y;
    struct error err = { 0 };
    assert_ok(filemap_open(&x, a, &err), err);
    assert_ok(filemap_open(&y, b, &err), err);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    filemap_close(&x);
    filemap_close(&y);
}

/* A tensor of several chunks and an odd last piece, by one thread and by two. */
static void test_threads(void **state)
{
    (void)state;
    const struct shape big = { "blk.0.ffn_up.weight", 2, { 1 << 14, 521 }, DTYPE_F16 };
    struct error err = { 0 };
    struct quantized a, b;
    struct quantize_options o = { .type = "Q4_0" };
    write_model("in.gguf", &big, 1, NULL, 0);
    assert_ok(quantize_file("in.gguf", &o, &a, &err), err);
    struct gguf *in = open_ok("in.gguf"), *g = open_ok(out);
    check_errors(&a.tensor[0], in, g);
    gguf_close(in);
    gguf_close(g);
    assert_int_equal(rename(out, "one.gguf"), 0);
    o.team = team_new(2, NULL, NULL);
    if (o.team) { /* where there are two CPUs */
        assert_ok(quantize_file("in.gguf", &o, &b, &err), err);
        same_files("one.gguf", out);
        assert_memory_equal(&a.tensor[0].sum_sq, &b.tensor[0].sum_sq, 3 * sizeof(double));
        quantized_free(&b);
        team_free(o.team);
        unlink(out);
    }
    quantized_free(&a);
    unlink("one.gguf");
    unlink("in.gguf");
}

static void part_kvs(struct gguf_writer *w, unsigned no)
{
    gguf_writer_kv_u32(w, "split.no", no);
    gguf_writer_kv_u32(w, "split.count", 2);
    gguf_writer_kv_u32(w, "split.tensors.count", 2);
}
static void first_kvs(struct gguf_writer *w)
{
    part_kvs(w, 0);
}
static void second_kvs(struct gguf_writer *w)
{
    part_kvs(w, 1);
}

/* A model in two files becomes one file. */
static void test_split(void **state)
{
    (void)state;
    const struct shape two[] = {
        { "blk.0.ffn_up.weight", 2, { 256, 5 }, DTYPE_F32 },
        { "blk.0.ffn_down.weight", 2, { 256, 5 }, DTYPE_F32 },
    };
    struct error err = { 0 };
    struct quantized q;
    const struct quantize_options o = { .type = "Q5_0" };
    write_model("in-00001-of-00002.gguf", &two[0], 1, first_kvs, 0);
    write_model("in-00002-of-00002.gguf", &two[1], 1, second_kvs, 0);
    struct gguf *g = open_ok("in-00002-of-00002.gguf");
    assert_ok(model_quantize(g, out, &o, &q, &err), err);
    assert_int_equal(q.n_tensors, 2);
    struct gguf *w = open_ok(out), *one = open_ok("in-00001-of-00002.gguf");
    assert_int_equal(gguf_n_files(w), 1);
    assert_false(gguf_has(w, "split.count"));
    check_errors(&q.tensor[0], one, w);
    check_errors(&q.tensor[1], g, w);
    gguf_close(w);
    gguf_close(one);
    gguf_close(g);
    quantized_free(&q);
    unlink("in-00001-of-00002.gguf");
    unlink("in-00002-of-00002.gguf");
    unlink(out);
}

static void test_roles(void **state)
{
    (void)state;
    char s[64];
    assert_string_equal(quantize_role(s, sizeof s, "blk.12.ffn_gate_exps.weight"), "ffn_gate_exps");
    assert_string_equal(quantize_role(s, sizeof s, "output.weight"), "output");
    assert_string_equal(quantize_role(s, sizeof s, "blk.0.attn_q.bias"), "attn_q.bias");
    assert_string_equal(quantize_role(s, sizeof s, ".weight"), ".weight");
    assert_string_equal(quantize_role(s, sizeof s, "blk.x.y"), "blk.x.y");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_experts), cmocka_unit_test(test_options), cmocka_unit_test(test_hybrid),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_threads), cmocka_unit_test(test_split),
        cmocka_unit_test(test_roles),
    };
    return cmocka_run_group_tests_name("model_quantize", tests, enter, leave);
}
