noinst_LIBRARIES += libdataset.a
libdataset_a_SOURCES = \
  %D%/batched_bench.c \
  %D%/class.c \
  %D%/clients.c \
  %D%/csv.c \
  %D%/csv.h \
  %D%/dates.c \
  %D%/gpu_kernels.c \
  %D%/hardware.c \
  %D%/internal.h \
  %D%/json_position.c \
  %D%/llama_bench.c \
  %D%/llama_bench.h \
  %D%/llama_bench_text.c \
  %D%/machine.c \
  %D%/machine.h \
  %D%/measure.c \
  %D%/measure.h \
  %D%/names.c \
  %D%/ops.c \
  %D%/others.c \
  %D%/preset.c \
  %D%/roof_violation.c \
  %D%/roofs.c \
  %D%/row_model.c \
  %D%/row_passes.c \
  %D%/serving.c \
  %D%/small_kernels.c \
  %D%/stacks.c \
  %D%/stacks.h \
  %D%/steps.c \
  %D%/throughput.c \
  %D%/work.c \
  %D%/workload.c \
  %D%/workload.h \
  %D%/workload_internal.h
