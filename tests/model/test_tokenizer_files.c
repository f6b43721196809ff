/* The vocabularies of published models: every case of the .inp files gives the ids of its
 * .out file. */
#include "../test.h"
#include "model/tokenizer.h"

#define CASE_END "\n__ggml_vocab_test__\n"

struct files {
    struct gguf *g;
    struct tokenizer *t;
    struct filemap inp, out;
};

static void files_open(struct files *f, const char *name)
{
    const char *dir = shared_dir();
    struct error err = { 0 };
    char path[4300];
    *f = (struct files){ 0 };
    if (!dir) {
        print_message("# skipped: no shared test data; set ROOFCAST_SHARED\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/data/tokenizer/ggml-vocab-%s.gguf", dir, name);
    if (!(f->g = gguf_open(path, &err)) || !(f->t = tokenizer_new(f->g, &err)))
        fail_msg("%s", err.msg);
    snprintf(path, sizeof path, "%s/data/tokenizer/ggml-vocab-%s.gguf.inp", dir, name);
    assert_ok(filemap_open(&f->inp, path, &err), err);
    snprintf(path, sizeof path, "%s/data/tokenizer/ggml-vocab-%s.gguf.out", dir, name);
    assert_ok(filemap_open(&f->out, path, &err), err);
}

static void files_close(struct files *f)
{
    filemap_close(&f->inp);
    filemap_close(&f->out);
    tokenizer_free(f->t);
    gguf_close(f->g);
}

static void expect_line(const struct token_list *l, const char *line, const char *end,
                        size_t n_case)
{
    size_t i = 0;
    for (const char *p = line; p < end;) {
        char *after;
        while (p < end && *p == ' ')
            p++;
        if (p == end)
            break;
        long want = strtol(p, &after, 10);
        if (i >= l->n || l->id[i] != want)
            fail_msg("case %zu, token %zu: expected %ld, found %d", n_case, i, want,
                     i < l->n ? l->id[i] : -1);
        i++;
        p = after;
    }
    assert_int_equal(l->n, i);
}

static void cases(const char *name)
{
    struct files f;
    struct error err = { 0 };
    files_open(&f, name);
    const char *p = (const char *)f.inp.data, *end = p + f.inp.size;
    const char *w = (const char *)f.out.data, *w_end = w + f.out.size;
    size_t n = 0;
    while (p < end) {
        const char *stop = memmem(p, (size_t)(end - p), CASE_END, strlen(CASE_END));
        const char *line_end = w < w_end ? memchr(w, '\n', (size_t)(w_end - w)) : NULL;
        assert_non_null(stop);
        assert_non_null(line_end);
        struct token_list l = { 0 };
        assert_ok(tokenizer_encode(f.t, p, (size_t)(stop - p), false, false, &l, &err),
                  err);
        expect_line(&l, w, line_end, ++n);
        token_list_free(&l);
        p = stop + strlen(CASE_END);
        w = line_end + 1;
    }
    assert_int_equal(n, 46);
    assert_ptr_equal(w, w_end);
    files_close(&f);
}

static void llama_spm(void **state)
{
    (void)state;
    cases("llama-spm");
}

static void phi_3(void **state)
{
    (void)state;
    cases("phi-3");
}

static void gpt_2(void **state)
{
    (void)state;
    cases("gpt-2");
}

static void deepseek_llm(void **state)
{
    (void)state;
    cases("deepseek-llm");
}

/* Special tokens of a real vocabulary, and Phi-3's habit of swallowing the white space
 * after them. */
static void special_tokens(void **state)
{
    (void)state;
    static const char text[] = "<|user|>\n Hi<|end|> \n<s> x";
    static const int32_t want[] = { 32010, 6324, 32007, 1, 29871, 921 };
    struct files f;
    struct error err = { 0 };
    struct token_list l = { 0 };
    files_open(&f, "phi-3");
    assert_ok(tokenizer_encode(f.t, text, strlen(text), false, true, &l, &err), err);
    assert_int_equal(l.n, ARRAY_LEN(want));
    assert_memory_equal(l.id, want, sizeof want);
    assert_true(tokenizer_is_end(f.t, 32000));
    assert_true(tokenizer_is_end(f.t, 32007));
    assert_false(tokenizer_is_end(f.t, 32010));
    token_list_free(&l);
    files_close(&f);
}

static void round_trip(const char *name)
{
    struct files f;
    struct error err = { 0 };
    struct token_list l = { 0 };
    struct strbuf b = { 0 };
    files_open(&f, name);
    size_t n = f.inp.size; /* all the cases as one text */
    assert_ok(tokenizer_encode(f.t, (const char *)f.inp.data, n, false, false, &l, &err),
              err);
    for (size_t i = 0; i < l.n; i++)
        assert_ok(tokenizer_decode(f.t, l.id[i], i == 0, false, &b, &err), err);
    assert_int_equal(b.len, n);
    assert_memory_equal(b.s, f.inp.data, n);
    strbuf_free(&b);
    token_list_free(&l);
    files_close(&f);
}

static void round_trips(void **state)
{
    (void)state;
    round_trip("llama-spm");
    round_trip("phi-3");
    round_trip("gpt-2");
    round_trip("deepseek-llm");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(llama_spm),      cmocka_unit_test(phi_3),
        cmocka_unit_test(gpt_2),          cmocka_unit_test(deepseek_llm),
        cmocka_unit_test(special_tokens), cmocka_unit_test(round_trips),
    };
    return cmocka_run_group_tests_name("tokenizer_files", tests, NULL, NULL);
}
