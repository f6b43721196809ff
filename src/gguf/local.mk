noinst_LIBRARIES += libgguf.a
libgguf_a_SOURCES = \
  %D%/gguf.h \
  %D%/reader.c \
  %D%/writer.c
