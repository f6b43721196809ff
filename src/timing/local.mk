noinst_LIBRARIES += libtiming.a
libtiming_a_SOURCES = \
  %D%/attainable.c \
  %D%/attention_roofs.c \
  %D%/bound.c \
  %D%/internal.h \
  %D%/kernel_roofs.c \
  %D%/last_cache.c \
  %D%/levels.c \
  %D%/levels.h \
  %D%/rescale.c \
  %D%/rescale.h \
  %D%/roofs.h \
  %D%/step.c \
  %D%/step.h \
  %D%/timing.c \
  %D%/timing.h
