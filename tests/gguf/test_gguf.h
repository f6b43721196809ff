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
#endif
