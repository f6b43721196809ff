noinst_LIBRARIES += librun.a
librun_a_SOURCES = \
  %D%/run.h \
  %D%/run.c \
  %D%/json.c
