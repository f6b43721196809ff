/* What the files of the program test_gguf share; its main is in test_gguf.c. */
#ifndef TESTS_GGUF_TEST_GGUF_H
#define TESTS_GGUF_TEST_GGUF_H
#include "../test.h"
#include "build.h"
#include "gguf/gguf.h"

static inline void assert_str(struct gguf_str s, const char *expected)
{
    if (s.len != strlen(expected) || memcmp(s.s, expected, s.len) != 0)
        fail_msg("\"%.*s\" is not \"%s\"", (int)s.len, s.s, expected);
}

static inline struct gguf *parse(const struct strbuf *b, struct error *err)
{
    *err = (struct error){ 0 };
    assert_false(b->oom);
    return gguf_parse("mem.gguf", b->s, b->len, err);
}

/* The bytes must be refused, with every one of the texts in the message; frees b. */
#define refused(b, ...) check_refused(__LINE__, b, (const char *const[]){ __VA_ARGS__, NULL })
static inline void check_refused(int line, struct strbuf *b, const char *const *texts)
{
    struct error err;
    struct gguf *g = parse(b, &err);
    if (g) {
        gguf_close(g);
        fail_msg("line %d: was accepted", line);
    }
    assert_int_equal(err.kind, ERROR_INPUT);
    for (; *texts; texts++)
        if (!strstr(err.msg, *texts))
            fail_msg("line %d: message \"%s\" lacks \"%s\"", line, err.msg, *texts);
    if (strncmp(err.msg, "mem.gguf: ", 10) != 0)
        fail_msg("line %d: message \"%s\" does not start with the file", line, err.msg);
    strbuf_free(b);
}

static inline struct gguf *accepted(struct strbuf *b)
{
    struct error err;
    struct gguf *g = parse(b, &err);
    if (!g)
        fail_msg("%s", err.msg);
    return g;
}

/* test_hostile.c */
void hostile_counts(void **state);
void hostile_metadata(void **state);
void hostile_arrays(void **state);
void hostile_tensors(void **state);
void hostile_tensor_names(void **state);
void hostile_damage(void **state);
/* test_writer.c */
void writer_round_trip(void **state);
void writer_copies_metadata(void **state);
void writer_refuses(void **state);
void writer_data_errors(void **state);
void writer_leaves_nothing(void **state);
/* test_files.c */
void files_open(void **state);
void files_corpus(void **state);
void files_missing(void **state);
void files_vocabulary(void **state);
void files_quantized(void **state);
/* test_split.c */
void split_is_the_whole(void **state);
void split_hints(void **state);
void split_links(void **state);
void split_mismatch(void **state);
void split_alone(void **state);
void split_truncated(void **state);
void split_bytes(void **state);
#endif
