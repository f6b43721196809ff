noinst_LIBRARIES += libgguf.a
libgguf_a_SOURCES = \
  %D%/gguf.h \
  %D%/internal.h \
  %D%/reader.c \
  %D%/split.c \
  %D%/kv.c \
  %D%/values.c \
  %D%/tensors.c \
  %D%/writer.c
