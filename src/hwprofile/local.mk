noinst_LIBRARIES += libhwprofile.a
libhwprofile_a_SOURCES = \
  %D%/hwprofile.h \
  %D%/hwprofile.c \
  %D%/host.c
