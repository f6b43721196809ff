noinst_LIBRARIES += libcost.a
libcost_a_SOURCES = \
  %D%/account.c \
  %D%/analysis.c \
  %D%/analysis.h \
  %D%/classes.c \
  %D%/classes.h \
  %D%/cost.c \
  %D%/cost.h \
  %D%/experts.c \
  %D%/internal.h \
  %D%/kv.c \
  %D%/layout.c \
  %D%/memory.c \
  %D%/memory.h \
  %D%/offload.c \
  %D%/offload.h \
  %D%/passes.c \
  %D%/server.c \
  %D%/stage.c \
  %D%/step.h
