# One archive per ISA so that each gets exactly its own -m flags.
noinst_LIBRARIES += libkernels.a
libkernels_a_SOURCES = \
  %D%/kernels.h \
  %D%/internal.h \
  %D%/kernels.c
KERNEL_LIBS = libkernels.a
