noinst_LIBRARIES += libpredict.a
libpredict_a_SOURCES = \
  %D%/errors.c \
  %D%/errors.h \
  %D%/estimator.h \
  %D%/explain.c \
  %D%/explain.h \
  %D%/finding.c \
  %D%/finding.h \
  %D%/internal.h \
  %D%/limit.c \
  %D%/limits.h \
  %D%/memory_fit.c \
  %D%/offload.c \
  %D%/offload.h \
  %D%/offload_bus.c \
  %D%/offload_internal.h \
  %D%/offload_memory.c \
  %D%/options.c \
  %D%/options.h \
  %D%/predict.c \
  %D%/predict.h \
  %D%/request.c \
  %D%/request.h \
  %D%/solve.c \
  %D%/solve.h \
  %D%/speculate.c \
  %D%/speculate.h \
  %D%/whatif.c \
  %D%/whatif.h
