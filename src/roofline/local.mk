noinst_LIBRARIES += libroofline.a
libroofline_a_SOURCES = \
  %D%/roofline.h \
  %D%/internal.h \
  %D%/step.h \
  %D%/timing.h \
  %D%/timing.c \
  %D%/speculate.h \
  %D%/speculate.c \
  %D%/memory.h \
  %D%/levels.h \
  %D%/levels.c \
  %D%/cost.c \
  %D%/classes.c \
  %D%/layout.c \
  %D%/step.c \
  %D%/experts.c \
  %D%/kv.c \
  %D%/passes.c \
  %D%/account.c \
  %D%/analysis.c \
  %D%/attainable.c %D%/bound.c \
  %D%/last_cache.c \
  %D%/kernel_roofs.c \
  %D%/attention_roofs.c \
  %D%/finding.h \
  %D%/finding.c \
  %D%/stage.c \
  %D%/memory.c \
  %D%/server.c \
  %D%/predict.c \
  %D%/ask.h \
  %D%/request.c \
  %D%/explain.c \
  %D%/limit.c %D%/together.c \
  %D%/whatif.c \
  %D%/beside.c \
  %D%/solve.c
