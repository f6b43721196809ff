noinst_LIBRARIES += libcalibrate.a
libcalibrate_a_CFLAGS = $(AM_CFLAGS) $(CMINPACK_CFLAGS)
libcalibrate_a_SOURCES = \
  %D%/fit.h \
  %D%/fit.c \
  %D%/least.h \
  %D%/least.c \
  %D%/calibrate.h \
  %D%/effects.h \
  %D%/effects.c \
  %D%/features.c \
  %D%/pipeline.c \
  %D%/serving.c \
  %D%/cross.h \
  %D%/cross.c \
  %D%/quantile.h \
  %D%/quantile.c \
  %D%/reach.h \
  %D%/reach.c \
  %D%/spread.h \
  %D%/spread.c \
  %D%/known.c \
  %D%/held_out.c \
  %D%/priors.h \
  %D%/priors.c \
  %D%/facts.h \
  %D%/facts.c \
  %D%/attend.h \
  %D%/attend.c \
  %D%/units.h \
  %D%/cpus.h \
  %D%/cpus.c \
  %D%/units.c \
  %D%/decode.h \
  %D%/decode.c \
  %D%/model.c \
  %D%/software.h \
  %D%/software.c \
  %D%/constants.h \
  %D%/constants.c
