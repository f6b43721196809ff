# tests of gguf
if CMOCKA
check_PROGRAMS += %D%/test_gguf
%C%_test_gguf_SOURCES = \
  %D%/test_gguf.c \
  %D%/test_hostile.c \
  %D%/test_writer.c \
  %D%/test_files.c \
  %D%/test_split.c \
  %D%/test_gguf.h \
  %D%/build.h \
  tests/test.h
%C%_test_gguf_LDADD   = libgguf.a libdtype.a $(TEST_LIBS)
TESTS += %D%/test_gguf
endif
