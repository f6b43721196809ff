/* test_split.c: models in several files: read as the one they were, and refused where the files do not fit. */
#include "test_gguf.h"
#include <dirent.h>
#include <unistd.h>

enum { N_FILES = 3 };

struct folder {
    char dir[64];
    char path[128]; /* of the last file asked for */
};

static void folder_new(struct folder *d)
{
    snprintf(d->dir, sizeof d->dir, "gguf-split-XXXXXX");
    assert_non_null(mkdtemp(d->dir));
}

static void folder_free(const struct folder *d)
{
    DIR *dir = opendir(d->dir);
    char path[400];
    for (struct dirent *e; (e = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%s", d->dir, e->d_name);
        if (e->d_name[0] != '.')
            unlink(path);
    }
    closedir(dir);
    assert_int_equal(rmdir(d->dir), 0);
}

/* "DIR/m-00001-of-00003.gguf" for no = 1, n = 3. */
static const char *file(struct folder *d, unsigned no, unsigned n)
{
    snprintf(d->path, sizeof d->path, "%s/m-%05u-of-%05u.gguf", d->dir, no, n);
    return d->path;
}

static struct gguf *open_ok(const char *path)
{
    struct error err = { 0 };
    struct gguf *g = gguf_open(path, &err);
    if (!g)
        fail_msg("%s", err.msg);
    return g;
}

/* ---- a real file, split by the writer ----------------------------------------------------------- */

static struct gguf *open_fixture(void)
{
    const char *tree = getenv("ROOFCAST_DATA");
    char path[4300];
    snprintf(path, sizeof path, "%s/tests/fixtures/llama-2l.gguf", tree ? tree : ".");
    return open_ok(path);
}

static void write_part(const struct gguf *g, const char *path, unsigned no, size_t from, size_t to)
{
    struct error err = { 0 };
    struct gguf_writer *w = gguf_writer_new(path, &err);
    assert_non_null(w);
    for (size_t i = 0; no == 0 && i < gguf_n_kv(g); i++)
        gguf_writer_kv_copy(w, g, i);
    gguf_writer_kv_u32(w, "split.no", no);
    gguf_writer_kv_u32(w, "split.count", N_FILES);
    gguf_writer_kv_u32(w, "split.tensors.count", (uint32_t)gguf_n_tensors(g));
    for (size_t i = from; i < to; i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, i);
        char name[80];
        snprintf(name, sizeof name, "%.*s", (int)t->name.len, t->name.s);
        assert_ok(gguf_writer_tensor(w, name, t->n_dims, t->dims, t->type, &err), err);
    }
    assert_ok(gguf_writer_begin_data(w, &err), err);
    for (size_t i = from; i < to; i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, i);
        assert_ok(gguf_writer_data(w, t->data, (size_t)t->bytes, &err), err);
    }
    assert_ok(gguf_writer_finish(w, &err), err);
}

/* The first file has only metadata, as some splitters write it. */
static void split_fixture(struct folder *d, const struct gguf *g)
{
    const size_t n = gguf_n_tensors(g), at[N_FILES + 1] = { 0, 0, n / 3, n };
    for (unsigned i = 0; i < N_FILES; i++)
        write_part(g, file(d, i + 1, N_FILES), i, at[i], at[i + 1]);
}

static void compare(const struct gguf *g, const struct gguf *whole)
{
    assert_int_equal(gguf_n_tensors(g), gguf_n_tensors(whole));
    for (size_t i = 0; i < gguf_n_tensors(g); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, i), *u = gguf_tensor_at(whole, i);
        char name[80];
        snprintf(name, sizeof name, "%.*s", (int)u->name.len, u->name.s);
        assert_str(t->name, name);
        assert_ptr_equal(gguf_tensor_find(g, name), t);
        assert_int_equal(t->type, u->type);
        assert_int_equal(t->n_dims, u->n_dims);
        assert_memory_equal(t->dims, u->dims, sizeof t->dims);
        assert_int_equal(t->bytes, u->bytes);
        assert_memory_equal(t->data, u->data, t->bytes);
        assert_int_equal(t->file, i < gguf_n_tensors(g) / 3 ? 1 : 2);
    }
    for (size_t i = 0; i < gguf_n_kv(whole); i++) {
        enum gguf_type a, b;
        struct gguf_str key = gguf_kv_at(whole, i, &a), same = gguf_kv_at(g, i, &b);
        assert_int_equal(a, b);
        assert_int_equal(key.len, same.len);
        assert_memory_equal(key.s, same.s, key.len);
    }
}

void split_is_the_whole(void **state)
{
    (void)state;
    struct folder d;
    struct gguf *whole = open_fixture();
    folder_new(&d);
    split_fixture(&d, whole);
    for (unsigned no = 1; no <= N_FILES; no++) { /* whichever is named */
        struct gguf *g = open_ok(file(&d, no, N_FILES));
        compare(g, whole);
        assert_int_equal(gguf_n_files(g), N_FILES);
        assert_string_equal(gguf_path(g), file(&d, 1, N_FILES));
        assert_string_equal(gguf_file_path(g, 2), file(&d, 3, N_FILES));
        assert_null(gguf_file_path(g, N_FILES));
        assert_true(gguf_file_bytes(g) > gguf_file_bytes(whole));
        gguf_close(g);
    }
    assert_int_equal(gguf_n_files(whole), 1);
    assert_null(gguf_file_path(whole, 1));
    gguf_close(whole);
    folder_free(&d);
}

/* Reading ahead and letting go change nothing, within a mapping and in the caller's own bytes. */
void split_hints(void **state)
{
    (void)state;
    struct folder d;
    struct gguf *whole = open_fixture();
    folder_new(&d);
    split_fixture(&d, whole);
    struct gguf *g = open_ok(file(&d, 1, N_FILES));
    for (size_t i = 0; i < gguf_n_tensors(g); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, i);
        gguf_will_read(g, t, 0, t->bytes);
        gguf_was_read(g, t, 0, t->bytes);
    }
    compare(g, whole);
    gguf_close(g);
    gguf_close(whole);
    folder_free(&d);

    enum { BYTES = 1 << 18, PAGE = 1 << 16 };
    struct strbuf b = { 0 };
    struct error err = { 0 };
    void *own;
    put_head(&b, 3, 1, 0);
    put_info(&b, "w", BYTES / 4, 1, DTYPE_F32, 0);
    put_pad(&b, 32);
    const size_t head = b.len;
    for (int i = 0; i < BYTES; i++)
        put(&b, 7, 1);
    assert_int_equal(posix_memalign(&own, PAGE, b.len), 0);
    memcpy(own, b.s, b.len);
    g = gguf_parse("own", own, b.len, &err);
    assert_non_null(g);
    gguf_was_read(g, gguf_tensor_at(g, 0), 0, BYTES);
    assert_memory_equal((char *)own + head, b.s + head, BYTES);
    gguf_close(g);
    free(own);
    strbuf_free(&b);
}

/* A download keeps the names as links to files of other names; a link of another name leads to the right one. */
void split_links(void **state)
{
    (void)state;
    struct folder d, blobs;
    struct gguf *whole = open_fixture(), *g;
    char link[128], target[256], cwd[3000];
    folder_new(&d);
    folder_new(&blobs);
    split_fixture(&blobs, whole);
    assert_non_null(getcwd(cwd, sizeof cwd));
    for (unsigned no = 1; no <= N_FILES; no++) {
        snprintf(target, sizeof target, "../%s/blob%u", blobs.dir, no);
        assert_int_equal(rename(file(&blobs, no, N_FILES), target + 3), 0);
        assert_int_equal(symlink(target, file(&d, no, N_FILES)), 0);
    }
    g = open_ok(file(&d, 2, N_FILES));
    compare(g, whole);
    gguf_close(g);

    for (unsigned no = 1; no <= N_FILES; no++) {
        snprintf(target, sizeof target, "%s/blob%u", blobs.dir, no);
        unlink(file(&d, no, N_FILES));
        assert_int_equal(rename(target, file(&d, no, N_FILES)), 0);
    }
    snprintf(link, sizeof link, "%s/any.gguf", d.dir);
    snprintf(target, sizeof target, "m-%05d-of-%05d.gguf", 1, N_FILES);
    assert_int_equal(symlink(target, link), 0);
    g = open_ok(link);
    compare(g, whole);
    gguf_close(g);
    gguf_close(whole);
    folder_free(&d);
    folder_free(&blobs);
}

/* ---- files that do not belong together ------------------------------------------------------------ */

/* What a file of one tensor says of itself. */
struct part {
    unsigned no;
    uint64_t count, n_tensors;
    const char *tensor, *arch; /* arch NULL: not said */
};

/* split.no and split.count have the types that llama.cpp demands: u16, and i32 for the tensors. */
static void put_part(const struct part *p, const char *path)
{
    struct strbuf b = { 0 };
    put_head(&b, 3, 1, p->arch ? 4 : 3);
    if (p->arch)
        put_kv_text(&b, "general.architecture", p->arch);
    put_kv(&b, "split.no", GGUF_U16, p->no, 2);
    put_kv(&b, "split.count", p->count > UINT16_MAX ? GGUF_U32 : GGUF_U16, p->count, p->count > UINT16_MAX ? 4 : 2);
    put_kv(&b, "split.tensors.count", GGUF_I32, p->n_tensors, 4);
    put_info(&b, p->tensor, 8, 1, DTYPE_F32, 0);
    put_pad(&b, 32);
    put_zeros(&b, 32);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b.s, 1, b.len, f), b.len);
    assert_int_equal(fclose(f), 0);
    strbuf_free(&b);
}

/* Two files, the second as given, opened by the name of file `no`; the message has all of the texts. */
#define two_refused(no, second, ...) check_two(__LINE__, no, second, (const char *const[]){ __VA_ARGS__, NULL })
static void check_two(int line, unsigned no, const struct part *second, const char *const *texts)
{
    struct folder d;
    struct error err = { 0 };
    folder_new(&d);
    put_part(&(struct part){ 0, 2, 2, "a", "llama" }, file(&d, 1, 2));
    if (second)
        put_part(second, file(&d, 2, 2));
    struct gguf *g = gguf_open(file(&d, no, 2), &err);
    if ((g != NULL) != (*texts == NULL))
        fail_msg("line %d: %s", line, g ? "was accepted" : err.msg);
    if (!g)
        assert_int_equal(err.kind, ERROR_INPUT);
    for (; *texts; texts++)
        if (!strstr(err.msg, *texts))
            fail_msg("line %d: message \"%s\" lacks \"%s\"", line, err.msg, *texts);
    gguf_close(g);
    folder_free(&d);
}

void split_mismatch(void **state)
{
    (void)state;
    const struct part good = { 1, 2, 2, "b", NULL };
    struct part p = good;
    check_two(__LINE__, 1, &good, (const char *const[]){ NULL });
    two_refused(1, NULL, "m-00002-of-00002.gguf", "No such file", "file 2 of the 2");
    p.no = 0;
    two_refused(1, &p, "m-00002-of-00002.gguf", "split.no is 0, expected 1");
    p.no = 2;
    two_refused(1, &p, "m-00002-of-00002.gguf", "split.no is 2, expected 0 to 1");
    p = good;
    p.count = 3;
    two_refused(1, &p, "m-00002-of-00002.gguf", "split.count is 3, expected 2");
    two_refused(2, &p, "m-00002-of-00002.gguf", "expected a name ending in \"-00002-of-00003.gguf\"");
    p.count = 0;
    two_refused(1, &p, "m-00002-of-00002.gguf", "split.count is 1, expected 2");
    p = good;
    p.n_tensors = 9;
    two_refused(1, &p, "m-00002-of-00002.gguf", "split.tensors.count is 9, expected 2");
    p = good;
    p.tensor = "a";
    two_refused(1, &p, "tensor \"a\" appears twice", "m-00001-of-00002.gguf", "m-00002-of-00002.gguf");
    p = good;
    p.arch = "qwen2";
    two_refused(2, &p, "m-00002-of-00002.gguf", "another model", "\"qwen2\"", "\"llama\"", "m-00001-of-00002.gguf");
    p.arch = "llama";
    check_two(__LINE__, 2, &p, (const char *const[]){ NULL });
}

/* One file, of whatever it says, by a name that fits or not. */
static void one_refused(const struct part *p, const char *name, const char *text)
{
    struct folder d;
    struct error err = { 0 };
    folder_new(&d);
    snprintf(d.path, sizeof d.path, "%s/%s", d.dir, name);
    put_part(p, d.path);
    struct gguf *g = gguf_open(d.path, &err);
    if (text && (g || !strstr(err.msg, text) || !strstr(err.msg, d.dir)))
        fail_msg("%s: %s, expected \"%s\"", name, g ? "was accepted" : err.msg, text);
    if (!text && !g)
        fail_msg("%s", err.msg);
    gguf_close(g);
    folder_free(&d);
}

void split_alone(void **state)
{
    (void)state;
    struct part p = { 1, 2, 2, "a", NULL };
    one_refused(&p, "m-00002-of-00002.gguf", "m-00001-of-00002.gguf: No such file");
    p = (struct part){ 0, 65535, 65535, "a", "llama" };
    one_refused(&p, "m-00001-of-65535.gguf", "m-00002-of-65535.gguf: No such file");
    one_refused(&p, "m.gguf", "expected a name ending in \"-00001-of-65535.gguf\"");
    p.count = 65536;
    one_refused(&p, "m-00001-of-65536.gguf", "split.count is 65536, expected at most 65535");
    p = (struct part){ 0, 3, 1, "a", "llama" };
    one_refused(&p, "m-00001-of-00002.gguf", "-00001-of-00003.gguf");
    p.count = 1;
    one_refused(&p, "m-00001-of-00001.gguf", NULL);
    p.count = 0; /* merged from a split */
    p.n_tensors = 77;
    one_refused(&p, "m.gguf", NULL);
}

void split_truncated(void **state)
{
    (void)state;
    struct folder d;
    struct error err = { 0 };
    struct gguf *whole = open_fixture();
    folder_new(&d);
    split_fixture(&d, whole);
    gguf_close(whole);
    assert_int_equal(truncate(file(&d, 3, N_FILES), 5000), 0);
    assert_null(gguf_open(file(&d, 1, N_FILES), &err));
    assert_non_null(strstr(err.msg, "m-00003-of-00003.gguf: truncated"));
    assert_non_null(strstr(err.msg, "file 3 of the 3"));
    unlink(file(&d, 3, N_FILES)); /* and a tensor count that the files do not add up to */
    put_part(&(struct part){ 2, 3, 21, "a", NULL }, file(&d, 3, N_FILES));
    assert_null(gguf_open(file(&d, 3, N_FILES), &err));
    assert_non_null(strstr(err.msg, "split.tensors.count is 21, found 8 tensors"));
    folder_free(&d);
}

/* Bytes alone have no neighbours. */
void split_bytes(void **state)
{
    (void)state;
    struct strbuf b = { 0 };
    put_head(&b, 3, 0, 3);
    put_kv(&b, "split.no", GGUF_U16, 0, 2);
    put_kv(&b, "split.count", GGUF_U16, 2, 2);
    put_kv(&b, "split.tensors.count", GGUF_I32, 0, 4);
    refused(&b, "is file 1 of a model in 2");
    put_head(&b, 3, 0, 1);
    put_kv(&b, "split.count", GGUF_I16, 0xffff, 2);
    refused(&b, "split.count", "-1");
    put_head(&b, 3, 0, 2);
    put_kv(&b, "split.count", GGUF_U16, 2, 2);
    put_kv(&b, "split.no", GGUF_U16, 0, 2);
    refused(&b, "split.tensors.count");
    put_head(&b, 3, 0, 1);
    put_kv(&b, "split.count", GGUF_U16, 0, 2);
    gguf_close(accepted(&b));
    strbuf_free(&b);
}
