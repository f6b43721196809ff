noinst_LIBRARIES += libdtype.a
libdtype_a_SOURCES = \
  %D%/dtype.h \
  %D%/internal.h \
  %D%/dtype.c \
  %D%/half.c \
  %D%/blocks.c \
  %D%/fit.c \
  %D%/iq4.c \
  %D%/k_scales.c \
  %D%/floats.c \
  %D%/q8_0.c \
  %D%/q4_0.c \
  %D%/q4_1.c \
  %D%/q5_0.c \
  %D%/q5_1.c \
  %D%/q2_k.c \
  %D%/q3_k.c \
  %D%/q4_k.c \
  %D%/q5_k.c \
  %D%/q6_k.c \
  %D%/iq4_nl.c \
  %D%/iq4_xs.c \
  %D%/mxfp4.c
