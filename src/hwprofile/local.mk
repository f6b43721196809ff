noinst_LIBRARIES += libhwprofile.a
libhwprofile_a_SOURCES = \
  %D%/hwprofile.h \
  %D%/internal.h \
  %D%/hwprofile.c \
  %D%/names.c \
  %D%/parse.c \
  %D%/parse_ceiling.c \
  %D%/parse_spec.c \
  %D%/parse_value.c \
  %D%/save.c \
  %D%/host.c
