noinst_LIBRARIES += liblearn.a
liblearn_a_CFLAGS = $(AM_CFLAGS) $(CMINPACK_CFLAGS)
liblearn_a_SOURCES = \
  %D%/anchors.c \
  %D%/anchors.h \
  %D%/constants.c \
  %D%/constants.h \
  %D%/features.c \
  %D%/fitted.h \
  %D%/groups.c \
  %D%/held_out.c \
  %D%/training.c \
  %D%/model.c \
  %D%/half_width.c \
  %D%/half_width.h \
  %D%/lessons.c \
  %D%/lessons.h \
  %D%/reasons.c \
  %D%/score.c \
  %D%/score.h \
  %D%/software.c \
  %D%/software.h \
  %D%/spread.c \
  %D%/spread.h
