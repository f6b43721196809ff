/* test_files.c: real files: every one of the shared data opens, and what others quantized is
 * understood. */
#include "test_gguf.h"
#include <dirent.h>
#include <math.h>
#include <unistd.h>

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static struct gguf *open_shared(const char *dir, const char *name)
{
    struct error err = { 0 };
    char path[4400];
    snprintf(path, sizeof path, "%s/data/%s/%s", shared_dir(), dir, name);
    struct gguf *g = gguf_open(path, &err);
    if (!g)
        fail_msg("%s", err.msg);
    return g;
}

static int open_all(const char *dir)
{
    char path[4200];
    int n = 0;
    snprintf(path, sizeof path, "%s/data/%s", shared_dir(), dir);
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        if (!ends_with(e->d_name, ".gguf"))
            continue;
        struct gguf *g = open_shared(dir, e->d_name);
        assert_true(gguf_has(g, "general.architecture"));
        for (size_t i = 0; i < gguf_n_tensors(g); i++) {
            const struct gguf_tensor *t = gguf_tensor_at(g, i);
            char name[80];
            snprintf(name, sizeof name, "%.*s", (int)t->name.len, t->name.s);
            assert_ptr_equal(gguf_tensor_find(g, name), t);
            assert_true(t->offset + t->bytes <= gguf_file_bytes(g));
        }
        gguf_close(g);
        n++;
    }
    closedir(d);
    return n;
}

static bool no_shared(void)
{
    if (shared_dir())
        return false;
    print_message("# ../shared is not here (ROOFCAST_SHARED): skipped\n");
    return true;
}

void files_open(void **state)
{
    (void)state;
    if (no_shared())
        skip();
    assert_true(open_all("oracle") > 0);
    assert_true(open_all("tokenizer") > 0);
}

/* The seeds of the fuzzer are what their names say, so each exercises the path it is there for. */
void files_corpus(void **state)
{
    (void)state;
    const char *tree = getenv("ROOFCAST_DATA");
    char path[4400];
    int good = 0, bad = 0;
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/gguf", tree ? tree : ".");
    DIR *d = opendir(path);
    if (!d)
        fail_msg("%s: cannot be opened (ROOFCAST_DATA)", path);
    size_t n = strlen(path);
    for (struct dirent *e; (e = readdir(d));) {
        struct error err = { 0 };
        bool expected = strncmp(e->d_name, "good-", 5) == 0;
        if (!expected && strncmp(e->d_name, "bad-", 4) != 0)
            continue;
        snprintf(path + n, sizeof path - n, "/%s", e->d_name);
        struct gguf *g = gguf_open(path, &err);
        if ((g != NULL) != expected)
            fail_msg("%s: %s", e->d_name, g ? "was accepted" : err.msg);
        *(expected ? &good : &bad) += 1;
        gguf_close(g);
    }
    closedir(d);
    assert_true(good >= 4 && bad >= 20);
}

void files_missing(void **state)
{
    (void)state;
    struct error err = { 0 };
    assert_null(gguf_open("no/such/file.gguf", &err));
    assert_non_null(strstr(err.msg, "no/such/file.gguf"));
    assert_null(gguf_open(".", &err));
    assert_non_null(strstr(err.msg, "directory"));
    char path[] = "gguf-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_null(gguf_open(path, &err));
    assert_non_null(strstr(err.msg, "truncated"));
    assert_int_equal(err.kind, ERROR_INPUT);
    unlink(path);
}

void files_vocabulary(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct gguf_str s;
    enum gguf_type elem;
    uint64_t n;
    double score;
    if (no_shared())
        skip();
    struct gguf *g = open_shared("tokenizer", "ggml-vocab-llama-spm.gguf");
    assert_int_equal(gguf_n_tensors(g), 0);
    assert_ok(gguf_get_arr(g, "tokenizer.ggml.tokens", &elem, &n, &err), err);
    assert_int_equal(elem, GGUF_STRING);
    assert_int_equal(n, 32000);
    assert_ok(gguf_arr_str(g, "tokenizer.ggml.tokens", 1, &s, &err), err);
    assert_str(s, "<s>");
    assert_ok(gguf_arr_str(g, "tokenizer.ggml.tokens", 3 + 0x41, &s, &err), err);
    assert_str(s, "<0x41>");
    assert_ok(gguf_arr_f64(g, "tokenizer.ggml.scores", 259, &score, &err), err);
    assert_true(score <= 0);
    gguf_close(g);
}

static double relative_error(const float *x, const float *y, size_t n)
{
    double e = 0, s = 0;
    for (size_t i = 0; i < n; i++) {
        e += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
        s += (double)x[i] * (double)x[i];
    }
    return sqrt(e / s);
}

static size_t n_elems(const struct gguf_tensor *t)
{
    return (size_t)(t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3]);
}

/*
 * Each tensor of a file that another program quantized, against the same tensor in F32: their
 * rounding error is as small as the format allows only if every bit is read from its place. Ours
 * may be at most 3 % larger.
 */
static void compare_quantized(const char *name, double bound)
{
    struct gguf *exact = open_shared("oracle", "llama-gqa-F32.gguf");
    struct gguf *g = open_shared("oracle", name);
    assert_int_equal(gguf_n_tensors(g), gguf_n_tensors(exact));
    for (size_t i = 0; i < gguf_n_tensors(g); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, i);
        char key[80];
        snprintf(key, sizeof key, "%.*s", (int)t->name.len, t->name.s);
        const struct gguf_tensor *f32 = gguf_tensor_find(exact, key);
        const struct dtype_info *d = dtype_find((int64_t)t->type);
        size_t n = n_elems(t);
        assert_non_null(f32);
        assert_int_equal(f32->type, DTYPE_F32);
        assert_int_equal(n_elems(f32), n);
        float *x = malloc(n * sizeof *x), *theirs = malloc(n * sizeof *x), *ours = malloc(n * sizeof *x);
        void *raw = malloc((size_t)t->bytes);
        dtype_find(DTYPE_F32)->dequantize(f32->data, x, n);
        d->dequantize(t->data, theirs, n);
        d->quantize(x, raw, n);
        d->dequantize(raw, ours, n);
        double e_theirs = relative_error(x, theirs, n), e_ours = relative_error(x, ours, n);
        if (!(e_theirs < bound))
            fail_msg("%s: %s (%s) differs from F32 by %.5f", name, key, d->name, e_theirs);
        if (!(e_ours <= 1.03 * e_theirs))
            fail_msg("%s: %s (%s): error %.5f, theirs %.5f", name, key, d->name, e_ours, e_theirs);
        if (getenv("ROOFCAST_TEST_VERBOSE"))
            print_message("# %s %s %s ours %.5f theirs %.5f\n", name, key, d->name, e_ours, e_theirs);
        free(x);
        free(theirs);
        free(ours);
        free(raw);
    }
    gguf_close(g);
    gguf_close(exact);
}

void files_quantized(void **state)
{
    (void)state;
    if (no_shared())
        skip();
    compare_quantized("llama-gqa-f16.gguf", 0.0005);
    compare_quantized("llama-gqa-BF16.gguf", 0.003);
    compare_quantized("llama-gqa-Q8_0.gguf", 0.01);
    compare_quantized("llama-gqa-Q6_K.gguf", 0.025);
    compare_quantized("llama-gqa-Q5_K_S.gguf", 0.05);
    compare_quantized("llama-gqa-Q4_K_S.gguf", 0.1);
    compare_quantized("llama-gqa-Q4_K_M.gguf", 0.1);
    compare_quantized("llama-gqa-Q4_0.gguf", 0.1);
}
