noinst_LIBRARIES += libceilings.a
libceilings_a_SOURCES = \
  %D%/ceilings.h \
  %D%/ceilings.c
