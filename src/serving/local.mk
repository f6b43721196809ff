noinst_LIBRARIES += libserving.a
libserving_a_SOURCES = \
  %D%/arrivals.c \
  %D%/arrivals.h \
  %D%/blocks.c \
  %D%/blocks.h \
  %D%/deployment.c \
  %D%/deployment.h \
  %D%/draw.h \
  %D%/fast.c \
  %D%/histogram.c \
  %D%/histogram.h \
  %D%/model_clock.c \
  %D%/model_clock.h \
  %D%/internal.h \
  %D%/policy.c \
  %D%/policy.h \
  %D%/scheduler.c \
  %D%/scheduler.h \
  %D%/simulate.c \
  %D%/simulate.h \
  %D%/slots.c \
  %D%/step_price.c \
  %D%/step_price.h \
  %D%/workload.c \
  %D%/workload.h
