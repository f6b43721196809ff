noinst_LIBRARIES += libfit.a
libfit_a_CFLAGS = $(AM_CFLAGS) $(CMINPACK_CFLAGS)
libfit_a_SOURCES = \
  %D%/cross.c \
  %D%/cross.h \
  %D%/fit.c \
  %D%/fit.h \
  %D%/least.c \
  %D%/least.h
