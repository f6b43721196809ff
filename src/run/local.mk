noinst_LIBRARIES += librun.a
librun_a_SOURCES = \
  %D%/run.h \
  %D%/internal.h \
  %D%/columns.c \
  %D%/routing.c \
  %D%/run.c \
  %D%/json.c
