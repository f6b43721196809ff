noinst_LIBRARIES += libmodel.a
libmodel_a_SOURCES = \
  %D%/model.h \
  %D%/op.h \
  %D%/tokenizer.h \
  %D%/model.c \
  %D%/op.c \
  %D%/archs.c \
  %D%/arch_llama.c
