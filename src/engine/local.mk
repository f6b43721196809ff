noinst_LIBRARIES += libengine.a
libengine_a_SOURCES = \
  %D%/engine.h \
  %D%/engine.c \
  %D%/exec.c \
  %D%/sampler.c \
  %D%/internal.h \
  %D%/plan.c
