noinst_LIBRARIES += libdtype.a
libdtype_a_SOURCES = \
  %D%/dtype.h \
  %D%/dtype.c \
  %D%/half.c
