noinst_LIBRARIES += libcounters.a
libcounters_a_SOURCES = \
  %D%/counters.h \
  %D%/internal.h \
  %D%/counters.c \
  %D%/sample.c \
  %D%/calibrate.c \
  %D%/certificate.c \
  %D%/null.c
if PAPI
libcounters_a_SOURCES += %D%/papi.c
endif
libcounters_a_CFLAGS = $(AM_CFLAGS) $(PAPI_CFLAGS)
