noinst_LIBRARIES += libhwprofile.a
libhwprofile_a_SOURCES = \
  %D%/hwprofile.h \
  %D%/internal.h \
  %D%/hwprofile.c \
  %D%/this.c \
  %D%/names.c \
  %D%/noise.c \
  %D%/prices.c \
  %D%/prices.h \
  %D%/fields.c \
  %D%/parse.c \
  %D%/parse_ceiling.c \
  %D%/parse_spec.c \
  %D%/parse_value.c \
  %D%/import.h \
  %D%/import_internal.h \
  %D%/import.c \
  %D%/import_ert.c \
  %D%/import_likwid.c \
  %D%/import_clpeak.c \
  %D%/host.c
