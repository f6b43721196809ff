/* Tests of gguf: what is written reads back, what is wrong is refused with a reason. */
#include "test_gguf.h"

/* ---- header --------------------------------------------------------------------------------- */
static void header(void **state)
{
    (void)state;
    struct strbuf b = { 0 };
    put_head(&b, 3, 0, 0);
    for (size_t n = 0; n < b.len; n++) { /* every length too short */
        struct error err = { 0 };
        assert_null(gguf_parse("mem.gguf", b.s, n, &err));
        assert_non_null(strstr(err.msg, "truncated"));
    }
    struct gguf *g = accepted(&b);
    assert_int_equal(gguf_n_kv(g), 0);
    assert_int_equal(gguf_n_tensors(g), 0);
    assert_int_equal(gguf_file_bytes(g), 24);
    assert_string_equal(gguf_path(g), "mem.gguf");
    assert_null(gguf_tensor_find(g, "x"));
    assert_null(gguf_tensor_at(g, 0));
    assert_false(gguf_has(g, "x"));
    gguf_close(g);
    strbuf_free(&b);

    put_head(&b, 2, 0, 0);
    gguf_close(accepted(&b));
    strbuf_free(&b);
    put_head(&b, 1, 0, 0);
    refused(&b, "version 1", "2 or 3");
    put_head(&b, 4, 0, 0);
    refused(&b, "version 4", "2 or 3");
    put_head(&b, 0, 0, 0);
    refused(&b, "version 0", "2 or 3");
    put_head(&b, 0x03000000, 0, 0);
    refused(&b, "big-endian", "only little-endian");
    strbuf_add(&b, "ggml and more to come....", 24);
    refused(&b, "not a GGUF file", "67 67 6d 6c");
}

/* ---- metadata -------------------------------------------------------------------------------- */
static void scalars(void **state)
{
    (void)state;
    struct strbuf b = { 0 };
    struct error err = { 0 };
    uint64_t u = 77;
    double f = 77;
    bool t = false;
    struct gguf_str s = { 0 };
    enum gguf_type type = GGUF_ARRAY;
    put_head(&b, 3, 0, 12);
    put_kv(&b, "u8", GGUF_U8, 200, 1);
    put_kv(&b, "i8", GGUF_I8, 0x80, 1);
    put_kv(&b, "u16", GGUF_U16, 60000, 2);
    put_kv(&b, "i16", GGUF_I16, 5, 2);
    put_kv(&b, "u32", GGUF_U32, 4000000000u, 4);
    put_kv(&b, "i32", GGUF_I32, 0xffffffff, 4);
    put_kv(&b, "f32", GGUF_F32, 0xc0490000, 4); /* -3.140625 */
    put_kv(&b, "bool", GGUF_BOOL, 1, 1);
    put_kv_text(&b, "str", "text");
    put_kv(&b, "u64", GGUF_U64, UINT64_MAX, 8);
    put_kv(&b, "i64", GGUF_I64, (uint64_t)INT64_MIN, 8);
    put_kv(&b, "f64", GGUF_F64, 0x3fe0000000000000, 8); /* 0.5 */
    struct gguf *g = accepted(&b);
    assert_int_equal(gguf_n_kv(g), 12);
    assert_str(gguf_kv_at(g, 2, &type), "u16"); /* in file order */
    assert_int_equal(type, GGUF_U16);

    static const struct { const char *key; uint64_t v; } unsigned_ok[] = {
        { "u8", 200 }, { "u16", 60000 }, { "i16", 5 }, { "u32", 4000000000u }, { "u64", UINT64_MAX },
    };
    for (size_t i = 0; i < ARRAY_LEN(unsigned_ok); i++) {
        assert_ok(gguf_get_u64(g, unsigned_ok[i].key, &u, &err), err);
        assert_true(u == unsigned_ok[i].v);
    }
    u = 77;
    assert_fails(gguf_get_u64(g, "i8", &u, &err), err, "key \"i8\": found -128");
    assert_fails(gguf_get_u64(g, "i32", &u, &err), err, "key \"i32\": found -1");
    assert_fails(gguf_get_u64(g, "f32", &u, &err), err, "found f32, expected an integer");
    assert_fails(gguf_get_u64(g, "bool", &u, &err), err, "found bool, expected an integer");
    assert_fails(gguf_get_u64(g, "str", &u, &err), err, "found string, expected an integer");
    assert_fails(gguf_get_u64(g, "nope", &u, &err), err, "key \"nope\" is missing");
    assert_fails(gguf_opt_u64(g, "f64", &u, &err), err, "found f64");
    assert_ok(gguf_opt_u64(g, "nope", &u, &err), err);
    assert_int_equal(u, 77);

    static const struct { const char *key; double v; } number_ok[] = {
        { "f32", -3.140625 }, { "f64", 0.5 }, { "i8", -128 }, { "i32", -1 },
        { "i64", -0x1p63 }, { "u64", 0x1p64 },
    };
    for (size_t i = 0; i < ARRAY_LEN(number_ok); i++) {
        assert_ok(gguf_get_f64(g, number_ok[i].key, &f, &err), err);
        assert_true(f == number_ok[i].v);
    }
    assert_fails(gguf_get_f64(g, "str", &f, &err), err, "found string, expected a number");
    assert_fails(gguf_get_f64(g, "nope", &f, &err), err, "missing");
    f = 77;
    assert_ok(gguf_opt_f64(g, "nope", &f, &err), err);
    assert_true(f == 77);

    assert_ok(gguf_opt_bool(g, "bool", &t, &err), err);
    assert_true(t);
    assert_fails(gguf_opt_bool(g, "u8", &t, &err), err, "found u8, expected bool");
    assert_ok(gguf_get_str(g, "str", &s, &err), err);
    assert_str(s, "text");
    assert_fails(gguf_get_str(g, "u8", &s, &err), err, "found u8, expected string");
    assert_fails(gguf_get_str(g, "nope", &s, &err), err, "missing");
    assert_ok(gguf_opt_str(g, "nope", &s, &err), err);
    gguf_close(g);
    strbuf_free(&b);
}

static void arrays(void **state)
{
    (void)state;
    struct strbuf b = { 0 };
    struct error err = { 0 };
    enum gguf_type elem;
    uint64_t n;
    struct gguf_str s;
    int64_t i;
    double f;
    put_head(&b, 3, 0, 7);
    put_kv_array(&b, "words", GGUF_STRING, 3);
    put_text(&b, "one");
    put_text(&b, "");
    put_text(&b, "three");
    put_kv_array(&b, "i16", GGUF_I16, 2);
    put(&b, 0xfffe, 2);
    put(&b, 3, 2);
    put_kv_array(&b, "f32", GGUF_F32, 1);
    put(&b, 0x3f000000, 4);
    put_kv_array(&b, "bools", GGUF_BOOL, 3);
    put(&b, 0x010001, 3);
    put_kv_array(&b, "u64", GGUF_U64, 1);
    put(&b, UINT64_MAX, 8);
    put_kv_array(&b, "none", GGUF_STRING, 0);
    put_kv(&b, "one", GGUF_U8, 1, 1);
    struct gguf *g = accepted(&b);
    assert_ok(gguf_get_arr(g, "words", &elem, &n, &err), err);
    assert_int_equal(elem, GGUF_STRING);
    assert_int_equal(n, 3);
    assert_ok(gguf_arr_str(g, "words", 0, &s, &err), err);
    assert_str(s, "one");
    assert_ok(gguf_arr_str(g, "words", 1, &s, &err), err);
    assert_str(s, "");
    assert_ok(gguf_arr_str(g, "words", 2, &s, &err), err);
    assert_str(s, "three");
    assert_fails(gguf_arr_str(g, "words", 3, &s, &err), err, "element 3 of an array of 3");
    assert_fails(gguf_arr_str(g, "words", UINT64_MAX, &s, &err), err, "of an array of 3");
    assert_fails(gguf_arr_str(g, "i16", 0, &s, &err), err, "array of i16, expected string");
    assert_fails(gguf_arr_i64(g, "words", 0, &i, &err), err, "array of string, expected numbers");
    assert_ok(gguf_arr_i64(g, "i16", 0, &i, &err), err);
    assert_int_equal(i, -2);
    assert_ok(gguf_arr_f64(g, "i16", 1, &f, &err), err);
    assert_true(f == 3);
    assert_ok(gguf_arr_f64(g, "f32", 0, &f, &err), err);
    assert_true(f == 0.5);
    assert_fails(gguf_arr_i64(g, "f32", 0, &i, &err), err, "expected integers");
    assert_ok(gguf_arr_i64(g, "bools", 1, &i, &err), err);
    assert_int_equal(i, 0);
    assert_ok(gguf_arr_i64(g, "bools", 2, &i, &err), err);
    assert_int_equal(i, 1);
    assert_fails(gguf_arr_i64(g, "u64", 0, &i, &err), err, "too large");
    assert_ok(gguf_arr_f64(g, "u64", 0, &f, &err), err);
    assert_fails(gguf_arr_f64(g, "none", 0, &f, &err), err, "element 0 of an array of 0");
    assert_fails(gguf_arr_f64(g, "one", 0, &f, &err), err, "found u8, expected array");
    assert_fails(gguf_arr_f64(g, "nope", 0, &f, &err), err, "missing");
    assert_fails(gguf_get_arr(g, "one", &elem, &n, &err), err, "found u8, expected array");
    assert_fails(gguf_get_arr(g, "nope", &elem, &n, &err), err, "missing");
    gguf_close(g);
    strbuf_free(&b);
}

static void alignment(void **state)
{
    (void)state;
    struct strbuf b = { 0 };
    static const uint64_t bad[] = { 0, 1, 4, 12, 24, 33, 0xffffffff };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        put_head(&b, 3, 0, 1);
        put_kv(&b, "general.alignment", GGUF_U32, bad[i], 4);
        refused(&b, "general.alignment", "power of two that is at least 8");
    }
    put_head(&b, 3, 0, 1);
    put_kv_text(&b, "general.alignment", "32");
    refused(&b, "general.alignment", "found string");
    put_head(&b, 3, 1, 1);
    put_kv(&b, "general.alignment", GGUF_U64, 1ull << 63, 8);
    put_info(&b, "a", 8, 1, DTYPE_F32, 0);
    refused(&b, "truncated", "9223372036854775840"); /* 2^63 + 32 */
    put_head(&b, 3, 1, 1);
    put_kv(&b, "general.alignment", GGUF_U64, 1ull << 63, 8);
    put_info(&b, "a", 8, 1, DTYPE_F32, 1ull << 63);
    refused(&b, "tensor \"a\"", "offset overflows");

    put_head(&b, 3, 2, 1);
    put_kv(&b, "general.alignment", GGUF_U32, 8, 4);
    put_info(&b, "a", 2, 1, DTYPE_F32, 0);
    put_info(&b, "b", 2, 1, DTYPE_F32, 8);
    put_pad(&b, 8);
    size_t start = b.len;
    put(&b, 0x3f800000, 4);
    put_zeros(&b, 12);
    struct gguf *g = accepted(&b);
    assert_int_equal(gguf_tensor_at(g, 0)->offset, start);
    assert_int_equal(gguf_tensor_at(g, 1)->offset, start + 8);
    gguf_close(g);
    strbuf_free(&b);
}

/* ---- tensors ---------------------------------------------------------------------------------- */
static void tensors(void **state)
{
    (void)state;
    struct strbuf b = { 0 };
    put_head(&b, 3, 3, 0); /* in no order of name, with a gap, listed out of order */
    put_info(&b, "z", 64, 3, DTYPE_Q4_0, 128);
    put_info(&b, "m", 16, 2, DTYPE_F16, 0);
    put_text(&b, "a");
    put(&b, 1, 4);
    put(&b, 5, 8);
    put(&b, DTYPE_I8, 4);
    put(&b, 64, 8);
    put_pad(&b, 32);
    size_t start = b.len;
    put_zeros(&b, 128);
    put(&b, 0xab, 1);
    put_zeros(&b, 107);
    struct gguf *g = accepted(&b);
    assert_int_equal(gguf_n_tensors(g), 3);
    const struct gguf_tensor *z = gguf_tensor_find(g, "z"), *a = gguf_tensor_find(g, "a");
    assert_ptr_equal(z, gguf_tensor_at(g, 0));
    assert_str(z->name, "z");
    assert_int_equal(z->n_dims, 2);
    assert_int_equal(z->dims[0], 64);
    assert_int_equal(z->dims[1], 3);
    assert_int_equal(z->dims[2], 1);
    assert_int_equal(z->type, DTYPE_Q4_0);
    assert_int_equal(z->bytes, 6 * 18);
    assert_int_equal(z->offset, start + 128);
    assert_int_equal(*(const unsigned char *)z->data, 0xab);
    assert_int_equal(a->n_dims, 1);
    assert_int_equal(a->bytes, 5);
    assert_int_equal(a->dims[1], 1);
    assert_non_null(gguf_tensor_find(g, "m"));
    assert_null(gguf_tensor_find(g, "mm"));
    assert_null(gguf_tensor_find(g, ""));
    assert_null(gguf_tensor_at(g, 3));
    gguf_close(g);
    b.len--;
    refused(&b, "truncated: tensor \"z\"", ": 1 bytes are missing");
}

/* Many of everything stays quick: names found by bisection, strings by index. */
static void many(void **state)
{
    (void)state;
    enum { N_TENSORS = 20000, N_KV = 20000, N_TOKENS = 200000 };
    struct strbuf b = { 0 };
    struct error err = { 0 };
    struct gguf_str s;
    char text[40];
    uint64_t u;
    put_head(&b, 3, N_TENSORS, N_KV + 1);
    put_kv_array(&b, "tokens", GGUF_STRING, N_TOKENS);
    for (int i = 0; i < N_TOKENS; i++) {
        snprintf(text, sizeof text, "t%d", i);
        put_text(&b, text);
    }
    for (int i = 0; i < N_KV; i++) {
        snprintf(text, sizeof text, "some.key.%d", i);
        put_kv(&b, text, GGUF_U32, (uint64_t)i, 4);
    }
    for (int i = 0; i < N_TENSORS; i++) {
        snprintf(text, sizeof text, "blk.%d.weight", i);
        put_info(&b, text, 4, 2, DTYPE_F32, (uint64_t)i * 32);
    }
    put_pad(&b, 32);
    put_zeros(&b, N_TENSORS * 32);
    struct gguf *g = accepted(&b);
    for (int i = N_KV - 1; i >= 0; i--) {
        snprintf(text, sizeof text, "some.key.%d", i);
        assert_ok(gguf_get_u64(g, text, &u, &err), err);
        assert_int_equal(u, i);
        snprintf(text, sizeof text, "blk.%d.weight", i);
        assert_ptr_equal(gguf_tensor_find(g, text), gguf_tensor_at(g, (size_t)i));
    }
    for (int i = N_TOKENS - 1; i >= 0; i--) {
        snprintf(text, sizeof text, "t%d", i);
        assert_ok(gguf_arr_str(g, "tokens", (uint64_t)i, &s, &err), err);
        assert_str(s, text);
    }
    gguf_close(g);
    strbuf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header),
        cmocka_unit_test(hostile_counts),
        cmocka_unit_test(scalars),
        cmocka_unit_test(arrays),
        cmocka_unit_test(hostile_metadata),
        cmocka_unit_test(hostile_arrays),
        cmocka_unit_test(alignment),
        cmocka_unit_test(tensors),
        cmocka_unit_test(hostile_tensors),
        cmocka_unit_test(hostile_tensor_names),
        cmocka_unit_test(hostile_damage),
        cmocka_unit_test(many),
        cmocka_unit_test(writer_round_trip),
        cmocka_unit_test(writer_copies_metadata),
        cmocka_unit_test(writer_refuses),
        cmocka_unit_test(writer_data_errors),
        cmocka_unit_test(writer_leaves_nothing),
        cmocka_unit_test(files_open),
        cmocka_unit_test(files_corpus),
        cmocka_unit_test(files_missing),
        cmocka_unit_test(files_vocabulary),
        cmocka_unit_test(files_quantized),
        cmocka_unit_test(split_is_the_whole),
        cmocka_unit_test(split_hints),
        cmocka_unit_test(split_links),
        cmocka_unit_test(split_mismatch),
        cmocka_unit_test(split_alone),
        cmocka_unit_test(split_truncated),
        cmocka_unit_test(split_bytes),
    };
    return cmocka_run_group_tests_name("gguf", tests, NULL, NULL);
}
