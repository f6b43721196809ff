noinst_LIBRARIES += libmodel.a
libmodel_a_SOURCES = \
  %D%/model.h \
  %D%/op.h \
  %D%/tokenizer.h \
  %D%/internal.h \
  %D%/model.c \
  %D%/from_gguf.c \
  %D%/hparams.c \
  %D%/config.c \
  %D%/preset.c \
  %D%/mixture.c \
  %D%/synth.c \
  %D%/synth_vocab.c \
  %D%/op.c \
  %D%/archs.c \
  %D%/arch_llama.c
libmodel_a_SOURCES += \
  %D%/tokenizer/internal.h \
  %D%/tokenizer/load.c \
  %D%/tokenizer/tokenizer.c \
  %D%/tokenizer/symbols.c \
  %D%/tokenizer/heap.c \
  %D%/tokenizer/special.c \
  %D%/tokenizer/spm.c \
  %D%/tokenizer/bpe.c \
  %D%/tokenizer/pre.c \
  %D%/tokenizer/utf8.c
