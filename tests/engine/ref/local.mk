# The references as an archive, for every test that compares with them: LDADD tests/engine/ref/libref.a libgguf.a libdtype.a.
check_LIBRARIES = %D%/libref.a
%C%_libref_a_SOURCES = %D%/ref.h %D%/core.h %D%/core.c %D%/attend.c %D%/mixtral.c %D%/qwen2.c %D%/qwen3.c %D%/qwen3moe.c \
  %D%/gemma2.c %D%/gemma3.c %D%/phi3.c %D%/olmo2.c %D%/smollm3.c %D%/gpt_oss.c %D%/deepseek2.c \
  %D%/make_random.h %D%/make_random.c %D%/random_specs.c
if CMOCKA
check_PROGRAMS += %D%/test_ref
%C%_test_ref_SOURCES = %D%/test_ref.c %D%/golden.h tests/test.h
%C%_test_ref_LDADD   = %D%/libref.a libgguf.a libdtype.a $(TEST_LIBS)
TESTS += %D%/test_ref
endif
EXTRA_PROGRAMS += %D%/write_random
%C%_write_random_SOURCES = %D%/write_random.c
%C%_write_random_LDADD   = %D%/libref.a libgguf.a libdtype.a $(BASE_LIBS)
EXTRA_DIST += %D%/golden.py
