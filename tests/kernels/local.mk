# tests of kernels
if CMOCKA
check_PROGRAMS += %D%/checkkernel
%C%_checkkernel_SOURCES = \
  %D%/check.h \
  %D%/checkkernel.c \
  %D%/check.c \
  %D%/check_pack.c \
  %D%/check_unpack.c \
  %D%/check_matmul.c \
  %D%/check_isa.c \
  %D%/check_finite.c \
  %D%/check_share.c \
  %D%/check_vector.c \
  %D%/check_attention.c \
  %D%/bench.h \
  %D%/bench.c \
  %D%/bench_table.c \
  tests/test.h
%C%_checkkernel_LDADD = $(KERNEL_LIBS) libdtype.a $(TEST_LIBS) -lm
endif
