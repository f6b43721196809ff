noinst_LIBRARIES += libengine.a
libengine_a_SOURCES = \
  %D%/engine.h \
  %D%/engine.c \
  %D%/pass.c \
  %D%/exec.c \
  %D%/exec_dense.c \
  %D%/exec_attention.c \
  %D%/exec_mla.c \
  %D%/exec_experts.c \
  %D%/kv.c \
  %D%/sampler.c \
  %D%/quality.h \
  %D%/quality.c \
  %D%/internal.h \
  %D%/plan.c \
  %D%/repack.c \
  %D%/regions.c
