noinst_LIBRARIES += libcounters.a
libcounters_a_SOURCES = \
  %D%/counters.h \
  %D%/counters.c
