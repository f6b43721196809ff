noinst_LIBRARIES += libmodel.a
libmodel_a_SOURCES = \
  %D%/model.h \
  %D%/op.h \
  %D%/tokenizer.h \
  %D%/chat.h \
  %D%/internal.h \
  %D%/model.c \
  %D%/from_gguf.c \
  %D%/hparams.c \
  %D%/config.c \
  %D%/checkpoint.h \
  %D%/checkpoint.c \
  %D%/quant_config.c \
  %D%/module_name.c \
  %D%/preset.c \
  %D%/mixture.h \
  %D%/mixture.c \
  %D%/quantize.h \
  %D%/quantize_plan.c \
  %D%/quantize.c \
  %D%/synth.c \
  %D%/synth_vocab.c \
  %D%/chat.c \
  %D%/op.c \
  %D%/rope.c \
  %D%/arch.h \
  %D%/archs.c \
  %D%/builder.c \
  %D%/arch_llama.c \
  %D%/arch_smollm3.c \
  %D%/arch_qwen2.c \
  %D%/arch_qwen3.c \
  %D%/arch_qwen3moe.c \
  %D%/arch_gemma2.c \
  %D%/arch_gemma3.c \
  %D%/arch_phi3.c \
  %D%/arch_olmo2.c \
  %D%/arch_gpt_oss.c \
  %D%/arch_deepseek2.c
libmodel_a_SOURCES += \
  %D%/tokenizer/internal.h \
  %D%/tokenizer/load.c \
  %D%/tokenizer/tokenizer.c \
  %D%/tokenizer/symbols.c \
  %D%/tokenizer/heap.c \
  %D%/tokenizer/special.c \
  %D%/tokenizer/spm.c \
  %D%/tokenizer/unigram.c \
  %D%/tokenizer/bpe.c \
  %D%/tokenizer/pre.c \
  %D%/tokenizer/utf8.c
