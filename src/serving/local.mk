noinst_LIBRARIES += libserving.a
libserving_a_SOURCES = \
  %D%/arrivals.c \
  %D%/arrivals.h \
  %D%/blocks.c \
  %D%/blocks.h \
  %D%/draw.h \
  %D%/fast.c \
  %D%/histogram.c \
  %D%/histogram.h \
  %D%/hit_bound.c \
  %D%/internal.h \
  %D%/metrics.c \
  %D%/metrics.h \
  %D%/metrics_internal.h \
  %D%/policy.c \
  %D%/policy.h \
  %D%/rates.c \
  %D%/scheduler.c \
  %D%/scheduler.h \
  %D%/series.c \
  %D%/series.h \
  %D%/simulate.c \
  %D%/simulate.h \
  %D%/slo.c \
  %D%/slo.h \
  %D%/stability.c \
  %D%/step_price.c \
  %D%/step_price.h \
  %D%/study.c \
  %D%/timeline.c \
  %D%/timeline.h \
  %D%/workload.c \
  %D%/workload.h
