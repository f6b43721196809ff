noinst_LIBRARIES += libmeasure.a
libmeasure_a_SOURCES = \
  %D%/measure.h \
  %D%/internal.h \
  %D%/csv.h \
  %D%/csv.c \
  %D%/measure.c \
  %D%/throughput.c \
  %D%/dates.c \
  %D%/ops.c \
  %D%/gpu_kernels.c \
  %D%/serving.c \
  %D%/hardware.c \
  %D%/llama_bench.h \
  %D%/llama_bench.c \
  %D%/llama_bench_text.c \
  %D%/place.c \
  %D%/batched_bench.c \
  %D%/others.c \
  %D%/clients.c \
  %D%/names.c
