# An ISA's files are compiled into an archive of their own, so that each gets exactly its own -m
# flags; libceilings.a then takes their objects in, so that a program links one archive.
noinst_LIBRARIES += libceilings.a
libceilings_a_SOURCES = \
  %D%/ceilings.h \
  %D%/internal.h \
  %D%/job.h \
  %D%/ceilings.c \
  %D%/driver.c \
  %D%/compute.c \
  %D%/memory.c \
  %D%/prober.c \
  %D%/kernel_bench.h \
  %D%/kernel_jobs.c \
  %D%/kernel_product.c \
  %D%/kernel_vector.c \
  %D%/footprint.c \
  %D%/meter.c \
  %D%/clock.c \
  %D%/ref/peak.c \
  %D%/ref/read.c
libceilings_a_LIBADD =
EXTRA_libceilings_a_DEPENDENCIES =

if ISA_AVX2
noinst_LIBRARIES += libceilings_avx2.a
libceilings_avx2_a_SOURCES = %D%/avx2/peak.c %D%/avx2/read.c
libceilings_avx2_a_CFLAGS  = $(AM_CFLAGS) $(ISA_AVX2_CFLAGS)
libceilings_a_LIBADD += $(libceilings_avx2_a_OBJECTS)
EXTRA_libceilings_a_DEPENDENCIES += libceilings_avx2.a
endif
if ISA_AVX512
noinst_LIBRARIES += libceilings_avx512.a
libceilings_avx512_a_SOURCES = %D%/avx512/peak.c %D%/avx512/read.c
libceilings_avx512_a_CFLAGS  = $(AM_CFLAGS) $(ISA_AVX512_CFLAGS)
libceilings_a_LIBADD += $(libceilings_avx512_a_OBJECTS)
EXTRA_libceilings_a_DEPENDENCIES += libceilings_avx512.a
endif
if ISA_AVX512VNNI
noinst_LIBRARIES += libceilings_avx512vnni.a
libceilings_avx512vnni_a_SOURCES = %D%/avx512vnni/peak.c
libceilings_avx512vnni_a_CFLAGS  = $(AM_CFLAGS) $(ISA_AVX512VNNI_CFLAGS)
libceilings_a_LIBADD += $(libceilings_avx512vnni_a_OBJECTS)
EXTRA_libceilings_a_DEPENDENCIES += libceilings_avx512vnni.a
endif
if ISA_AVX512BF16
noinst_LIBRARIES += libceilings_avx512bf16.a
libceilings_avx512bf16_a_SOURCES = %D%/avx512bf16/peak.c
libceilings_avx512bf16_a_CFLAGS  = $(AM_CFLAGS) $(ISA_AVX512BF16_CFLAGS)
libceilings_a_LIBADD += $(libceilings_avx512bf16_a_OBJECTS)
EXTRA_libceilings_a_DEPENDENCIES += libceilings_avx512bf16.a
endif
