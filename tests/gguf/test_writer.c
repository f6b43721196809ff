/* test_writer.c: what the writer writes reads back; what a reader would refuse is not written. */
#include "test_gguf.h"
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

/* An empty directory for one test, and its removal, which fails when something was left. */
static char dir[64], path[80];

static void dir_enter(void)
{
    snprintf(dir, sizeof dir, "gguf-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/w.gguf", dir);
}

static void dir_leave(void)
{
    if (rmdir(dir) != 0)
        fail_msg("%s: files were left behind", dir);
}

static struct gguf_writer *writer(void)
{
    struct error err = { 0 };
    struct gguf_writer *w = gguf_writer_new(path, &err);
    if (!w)
        fail_msg("%s", err.msg);
    return w;
}

static struct gguf *reopen(void)
{
    struct error err = { 0 };
    struct gguf *g = gguf_open(path, &err);
    if (!g)
        fail_msg("%s", err.msg);
    return g;
}

static void check_metadata(const struct gguf *g)
{
    struct error err = { 0 };
    uint64_t u = 0, n = 0;
    double f = 0;
    bool t = false;
    struct gguf_str s;
    enum gguf_type elem;
    int64_t i;
    assert_ok(gguf_get_u64(g, "a.u32", &u, &err), err);
    assert_int_equal(u, 4000000000u);
    assert_ok(gguf_get_f64(g, "a.f32", &f, &err), err);
    assert_true(f == (double)1e-5f);
    assert_ok(gguf_opt_bool(g, "a.bool", &t, &err), err);
    assert_true(t);
    assert_ok(gguf_get_str(g, "general.architecture", &s, &err), err);
    assert_str(s, "llama");
    assert_ok(gguf_get_arr(g, "words", &elem, &n, &err), err);
    assert_int_equal(elem, GGUF_STRING);
    assert_int_equal(n, 3);
    assert_ok(gguf_arr_str(g, "words", 1, &s, &err), err);
    assert_int_equal(s.len, 3);
    assert_memory_equal(s.s, "b\0c", 3);
    assert_ok(gguf_arr_str(g, "more", 1, &s, &err), err);
    assert_str(s, "world");
    assert_ok(gguf_arr_f64(g, "scores", 1, &f, &err), err);
    assert_true(f == -0.5);
    assert_ok(gguf_arr_i64(g, "kinds", 2, &i, &err), err);
    assert_int_equal(i, -7);
}

void writer_round_trip(void **state)
{
    (void)state;
    struct error err = { 0 };
    unsigned char data[3 * 34 * 2];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 7 + 1);
    dir_enter();
    struct gguf_writer *w = writer();
    gguf_writer_kv_str(w, "general.architecture", "llama");
    gguf_writer_kv_u32(w, "general.alignment", 64);
    gguf_writer_kv_u32(w, "a.u32", 4000000000u);
    gguf_writer_kv_f32(w, "a.f32", 1e-5f);
    gguf_writer_kv_bool(w, "a.bool", true);
    gguf_writer_kv_arr_str(w, "words", (const char *const[]){ "a", "b\0c", "" },
                           (const size_t[]){ 1, 3, 0 }, 3);
    gguf_writer_kv_arr_str(w, "more", (const char *const[]){ "hello", "world" }, NULL, 2);
    gguf_writer_kv_arr_f32(w, "scores", (const float[]){ 1, -0.5f }, 2);
    gguf_writer_kv_arr_i32(w, "kinds", (const int32_t[]){ 1, 6, -7 }, 3);
    assert_ok(gguf_writer_tensor(w, "x", 2, (const uint64_t[]){ 64, 3 }, DTYPE_Q8_0, &err), err);
    assert_ok(gguf_writer_tensor(w, "norm", 1, (const uint64_t[]){ 3 }, DTYPE_F32, &err), err);
    assert_ok(gguf_writer_tensor(w, "y", 4, (const uint64_t[]){ 2, 1, 3, 1 }, DTYPE_F16, &err), err);
    assert_ok(gguf_writer_begin_data(w, &err), err);
    assert_ok(gguf_writer_data(w, data, 100, &err), err); /* in pieces */
    assert_ok(gguf_writer_data(w, data + 100, 0, &err), err);
    assert_ok(gguf_writer_data(w, data + 100, 104, &err), err);
    assert_ok(gguf_writer_data(w, data, 12, &err), err);
    assert_ok(gguf_writer_data(w, data + 12, 12, &err), err);
    assert_false(file_exists(path)); /* nothing to see before it is complete */
    assert_ok(gguf_writer_finish(w, &err), err);

    struct gguf *g = reopen();
    assert_int_equal(gguf_n_kv(g), 9);
    check_metadata(g);
    assert_int_equal(gguf_n_tensors(g), 3);
    const struct gguf_tensor *x = gguf_tensor_find(g, "x"), *y = gguf_tensor_find(g, "y");
    assert_memory_equal(x->data, data, sizeof data);
    assert_memory_equal(gguf_tensor_find(g, "norm")->data, data, 12);
    assert_memory_equal(y->data, data + 12, 12);
    assert_int_equal(x->offset % 64, 0);
    assert_int_equal(y->offset, x->offset + 256 + 64);
    assert_int_equal(y->n_dims, 4);
    assert_int_equal(y->dims[2], 3);
    assert_int_equal(gguf_file_bytes(g), y->offset + 64); /* the last one is padded too */
    gguf_close(g);
    unlink(path);
    dir_leave();
}

/* Every type of value goes from file to file unchanged. */
void writer_copies_metadata(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct strbuf b = { 0 };
    put_head(&b, 2, 0, 16);
    static const int bytes[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };
    for (uint32_t t = GGUF_U8; t <= GGUF_F64; t++) {
        char key[16];
        snprintf(key, sizeof key, "key.%u", t);
        if (t == GGUF_STRING)
            put_kv_text(&b, key, "text");
        else if (t != GGUF_ARRAY)
            put_kv(&b, key, t, t == GGUF_BOOL ? 1 : 0x8182838485868788, bytes[t]);
    }
    put_kv(&b, "general.alignment", GGUF_U16, 128, 2);
    put_kv_array(&b, "words", GGUF_STRING, 2);
    put_text(&b, "one");
    put_text(&b, "two");
    put_kv_array(&b, "numbers", GGUF_F64, 1);
    put(&b, 0x3ff8000000000000, 8);
    put_kv_array(&b, "nothing", GGUF_U8, 0);
    struct gguf *from = gguf_parse("from", b.s, b.len, &err);
    assert_non_null(from);

    dir_enter();
    struct gguf_writer *w = writer();
    for (size_t i = 0; i < gguf_n_kv(from); i++)
        gguf_writer_kv_copy(w, from, i);
    assert_ok(gguf_writer_tensor(w, "t", 1, (const uint64_t[]){ 1 }, DTYPE_F32, &err), err);
    assert_ok(gguf_writer_begin_data(w, &err), err);
    assert_ok(gguf_writer_data(w, "1234", 4, &err), err);
    assert_ok(gguf_writer_finish(w, &err), err);
    FILE *f = fopen(path, "rb");
    char raw[2048];
    size_t n = fread(raw, 1, sizeof raw, f);
    fclose(f);
    assert_true(n > b.len);
    assert_memory_equal(raw + 24, b.s + 24, b.len - 24); /* the same entries, byte for byte */
    assert_int_equal(raw[4], 3);
    struct gguf *g = reopen();
    assert_int_equal(gguf_tensor_at(g, 0)->offset % 128, 0);
    gguf_close(g);
    gguf_close(from);
    strbuf_free(&b);
    unlink(path);
    dir_leave();
}

/* A writer given something wrong says so, at begin_data at the latest, and makes no file. */
static void begin_fails(struct gguf_writer *w, const char *text)
{
    struct error err = { 0 };
    assert_fails(gguf_writer_begin_data(w, &err), err, text);
    assert_non_null(strstr(err.msg, path));
    assert_true(gguf_writer_finish(w, &err) != 0);
}

void writer_refuses(void **state)
{
    (void)state;
    struct error err = { 0 };
    static const uint64_t d[] = { 32, 2 };
    char name[65];
    memset(name, 'n', 64);
    name[64] = 0;
    dir_enter();
    struct gguf_writer *w = writer();
    gguf_writer_kv_u32(w, "twice", 1);
    gguf_writer_kv_str(w, "twice", "x");
    begin_fails(w, "key \"twice\" appears twice");
    w = writer();
    gguf_writer_kv_u32(w, "", 1);
    begin_fails(w, "a metadata key of 0 bytes");
    w = writer(); /* 36 PB */
    assert_ok(gguf_writer_tensor(w, "t", 2, (const uint64_t[]){ 1ull << 43, 1 << 10 }, DTYPE_F32, &err), err);
    begin_fails(w, "the file needs 36.0 PB, and its disk has");
    w = writer();
    gguf_writer_kv_u32(w, "general.alignment", 48);
    begin_fails(w, "general.alignment 48");
    w = writer();
    assert_ok(gguf_writer_tensor(w, "t", 2, d, DTYPE_F32, &err), err);
    assert_ok(gguf_writer_tensor(w, "t", 2, d, DTYPE_F16, &err), err);
    begin_fails(w, "tensor \"t\" appears twice");

    w = writer();
    assert_fails(gguf_writer_tensor(w, "", 2, d, DTYPE_F32, &err), err, "0 bytes, expected 1 to 63");
    assert_fails(gguf_writer_tensor(w, name, 2, d, DTYPE_F32, &err), err, "64 bytes, expected 1");
    assert_fails(gguf_writer_tensor(w, "t", 0, d, DTYPE_F32, &err), err, "0 dimensions");
    assert_fails(gguf_writer_tensor(w, "t", 5, (const uint64_t[]){ 1, 1, 1, 1, 1 }, DTYPE_F32, &err),
                 err, "5 dimensions");
    assert_fails(gguf_writer_tensor(w, "t", 2, d, DTYPE_Q4_K, &err), err, "multiple of 256");
    assert_fails(gguf_writer_tensor(w, "t", 1, (const uint64_t[]){ 0 }, DTYPE_F32, &err), err, "zero");
    assert_fails(gguf_writer_tensor(w, "t", 1, d, (enum dtype)5, &err), err, "unknown type 5");
    assert_ok(gguf_writer_tensor(w, name + 1, 2, d, DTYPE_F32, &err), err);
    gguf_writer_abort(w);
    gguf_writer_abort(NULL);
    dir_leave();
}

void writer_data_errors(void **state)
{
    (void)state;
    struct error err = { 0 };
    static const uint64_t d[] = { 8 };
    static const char zeros[64];
    dir_enter();
    struct gguf_writer *w = writer();
    assert_ok(gguf_writer_tensor(w, "t", 1, d, DTYPE_F32, &err), err);
    assert_fails(gguf_writer_data(w, zeros, 8, &err), err, "the data was not begun");
    assert_ok(gguf_writer_begin_data(w, &err), err);
    assert_fails(gguf_writer_begin_data(w, &err), err, "begun twice");
    assert_fails(gguf_writer_tensor(w, "u", 1, d, DTYPE_F32, &err), err, "after the data began");
    assert_fails(gguf_writer_data(w, zeros, 33, &err), err, "33 bytes of data, 32 of 32 are missing");
    assert_ok(gguf_writer_data(w, zeros, 30, &err), err);
    assert_fails(gguf_writer_data(w, zeros, 3, &err), err, "3 bytes of data, 2 of 32 are missing");
    assert_fails(gguf_writer_finish(w, &err), err, "tensor \"t\" is incomplete: 30 of 32");
    dir_leave();

    dir_enter();
    w = writer();
    assert_ok(gguf_writer_tensor(w, "t", 1, d, DTYPE_F32, &err), err);
    assert_ok(gguf_writer_begin_data(w, &err), err);
    assert_ok(gguf_writer_data(w, zeros, 32, &err), err);
    assert_fails(gguf_writer_data(w, zeros, 1, &err), err, "every tensor is complete");
    gguf_writer_kv_u32(w, "late", 1);
    assert_fails(gguf_writer_finish(w, &err), err, "key \"late\" after the data began");
    w = writer();
    assert_fails(gguf_writer_finish(w, &err), err, "before the data was begun");
    dir_leave();
}

void writer_leaves_nothing(void **state)
{
    (void)state;
    struct error err = { 0 };
    static const uint64_t d[] = { 1 << 20 };
    static char zeros[1 << 20];
    assert_null(gguf_writer_new("no/such/dir/w.gguf", &err));
    assert_int_equal(err.kind, ERROR_SYSTEM);
    dir_enter();
    struct gguf_writer *w = writer();
    assert_ok(gguf_writer_tensor(w, "t", 1, d, DTYPE_F32, &err), err);
    assert_ok(gguf_writer_begin_data(w, &err), err);
    gguf_writer_abort(w);
    dir_leave();
    struct stat st;
    if (stat("/dev/full", &st) != 0 || !S_ISCHR(st.st_mode))
        return;
    w = gguf_writer_new("/dev/full", &err); /* a full disk is noticed and named */
    assert_non_null(w);
    assert_ok(gguf_writer_tensor(w, "t", 1, d, DTYPE_F32, &err), err);
    assert_ok(gguf_writer_begin_data(w, &err), err);
    assert_fails(gguf_writer_data(w, zeros, sizeof zeros, &err), err, "/dev/full: cannot write");
    assert_true(gguf_writer_finish(w, &err) != 0);
}
