noinst_LIBRARIES += liblearn.a
liblearn_a_CFLAGS = $(AM_CFLAGS) $(CMINPACK_CFLAGS)
liblearn_a_SOURCES = \
  %D%/ahead.c \
  %D%/ahead.h \
  %D%/anchors.c \
  %D%/anchors.h \
  %D%/closed_loop.c \
  %D%/closed_loop.h \
  %D%/constants.c \
  %D%/constants.h \
  %D%/families.c \
  %D%/families.h \
  %D%/families_interval.c \
  %D%/families_interval.h \
  %D%/features.c \
  %D%/fitted.h \
  %D%/groups.c \
  %D%/held_out.c \
  %D%/interval.c \
  %D%/interval.h \
  %D%/model.c \
  %D%/lessons.c \
  %D%/loop_price.c \
  %D%/loop_price.h \
  %D%/lessons.h \
  %D%/reasons.c \
  %D%/score.c \
  %D%/score.h \
  %D%/simulated.c \
  %D%/software.c \
  %D%/software.h \
  %D%/training.c \
  %D%/training.h
