noinst_LIBRARIES += libstacks.a
libstacks_a_SOURCES = \
  %D%/attend.c \
  %D%/attend.h \
  %D%/cpus.c \
  %D%/cpus.h \
  %D%/decode.c \
  %D%/decode.h \
  %D%/effects.c \
  %D%/effects.h \
  %D%/stack_traits.c \
  %D%/stack_traits.h \
  %D%/family.c \
  %D%/family.h \
  %D%/collective_price.c \
  %D%/collective_price.h \
  %D%/family_constants.c \
  %D%/family_constants.h \
  %D%/family_attention.c \
  %D%/family_attention.h \
  %D%/family_collective.c \
  %D%/family_collective.h \
  %D%/family_decode.c \
  %D%/family_experts.c \
  %D%/family_experts.h \
  %D%/family_gemm.c \
  %D%/family_gemm.h \
  %D%/family_prompt.c \
  %D%/features.c \
  %D%/priors.c \
  %D%/priors.h \
  %D%/serving.c \
  %D%/units.c \
  %D%/units.h
