noinst_LIBRARIES += libscore.a
libscore_a_SOURCES = \
  %D%/score.h \
  %D%/internal.h \
  %D%/class.c \
  %D%/machine.c \
  %D%/preset.c \
  %D%/subject.c \
  %D%/work.c \
  %D%/price.c \
  %D%/kernels.c \
  %D%/possible.c \
  %D%/steps.c \
  %D%/pricer.c \
  %D%/roofs.c \
  %D%/features.c \
  %D%/groups.c \
  %D%/reasons.c \
  %D%/model_roofs.c \
  %D%/score.c
