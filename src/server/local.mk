noinst_LIBRARIES += libserver.a
libserver_a_SOURCES = \
  %D%/draft.c \
  %D%/draft.h \
  %D%/loop.c \
  %D%/loop.h \
  %D%/loop_internal.h \
  %D%/loop_pass.c \
  %D%/loop_stats.c \
  %D%/loop_token.c \
  %D%/replay.c \
  %D%/replay.h
