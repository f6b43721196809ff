# An ISA's files are compiled into an archive of their own, so that each gets exactly its own -m
# flags; libceilings.a then takes their objects in, so that a program links one archive.
noinst_LIBRARIES += libceilings.a
libceilings_a_SOURCES = \
  %D%/ceilings.h \
  %D%/internal.h \
  %D%/benchmark.h \
  %D%/ceilings.c \
  %D%/driver.c \
  %D%/compute.c \
  %D%/core.c \
  %D%/check.c \
  %D%/likwid.h \
  %D%/likwid_parse.c \
  %D%/likwid_run.c \
  %D%/mix.h \
  %D%/gather_loops.h \
  %D%/avx512/zmm.h \
  %D%/amx/tile.h \
  %D%/neon/vreg.h \
  %D%/memory.c \
  %D%/memory.h \
  %D%/streams.c \
  %D%/curves.c \
  %D%/plateaus.c \
  %D%/pages.c \
  %D%/chase.c \
  %D%/latency.c \
  %D%/gather.c \
  %D%/nodes.c \
  %D%/prober.c \
  %D%/kernel_bench.h \
  %D%/kernel_benchmarks.c \
  %D%/kernel_product.c \
  %D%/kernel_vector.c \
  %D%/core_probe.c \
  %D%/coherence.c \
  %D%/footprint.c \
  %D%/harness.c \
  %D%/clock.c \
  %D%/ref/peak.c \
  %D%/ref/read.c \
  %D%/ref/stream.c
libceilings_a_LIBADD =
EXTRA_libceilings_a_DEPENDENCIES =

if ISA_AVX2
noinst_LIBRARIES += libceilings_avx2.a
libceilings_avx2_a_SOURCES = %D%/avx2/peak.c %D%/avx2/read.c %D%/avx2/stream.c
libceilings_avx2_a_CFLAGS  = $(AM_CFLAGS) $(ISA_AVX2_CFLAGS)
libceilings_a_LIBADD += $(libceilings_avx2_a_OBJECTS)
EXTRA_libceilings_a_DEPENDENCIES += libceilings_avx2.a
endif
if ISA_AVX512
noinst_LIBRARIES += libceilings_avx512.a
libceilings_avx512_a_SOURCES = %D%/avx512/peak.c %D%/avx512/read.c %D%/avx512/stream.c
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
if ISA_SSE42
noinst_LIBRARIES += libceilings_sse.a
libceilings_sse_a_SOURCES = %D%/sse/peak.c
libceilings_sse_a_CFLAGS  = $(AM_CFLAGS) $(ISA_SSE42_CFLAGS)
libceilings_a_LIBADD += $(libceilings_sse_a_OBJECTS)
EXTRA_libceilings_a_DEPENDENCIES += libceilings_sse.a
endif
if ISA_AVXVNNI
noinst_LIBRARIES += libceilings_avxvnni.a
libceilings_avxvnni_a_SOURCES = %D%/avxvnni/peak.c
libceilings_avxvnni_a_CFLAGS  = $(AM_CFLAGS) $(ISA_AVXVNNI_CFLAGS)
libceilings_a_LIBADD += $(libceilings_avxvnni_a_OBJECTS)
EXTRA_libceilings_a_DEPENDENCIES += libceilings_avxvnni.a
endif
if ISA_AVX512FP16
noinst_LIBRARIES += libceilings_avx512fp16.a
libceilings_avx512fp16_a_SOURCES = %D%/avx512fp16/peak.c
libceilings_avx512fp16_a_CFLAGS  = $(AM_CFLAGS) $(ISA_AVX512FP16_CFLAGS)
libceilings_a_LIBADD += $(libceilings_avx512fp16_a_OBJECTS)
EXTRA_libceilings_a_DEPENDENCIES += libceilings_avx512fp16.a
endif
if ISA_AMX
noinst_LIBRARIES += libceilings_amx.a
libceilings_amx_a_SOURCES = %D%/amx/peak.c
libceilings_amx_a_CFLAGS  = $(AM_CFLAGS) $(ISA_AMX_CFLAGS)
libceilings_a_LIBADD += $(libceilings_amx_a_OBJECTS)
EXTRA_libceilings_a_DEPENDENCIES += libceilings_amx.a
endif
if ISA_AMXFP16
noinst_LIBRARIES += libceilings_amxfp16.a
libceilings_amxfp16_a_SOURCES = %D%/amxfp16/peak.c
libceilings_amxfp16_a_CFLAGS  = $(AM_CFLAGS) $(ISA_AMXFP16_CFLAGS)
libceilings_a_LIBADD += $(libceilings_amxfp16_a_OBJECTS)
EXTRA_libceilings_a_DEPENDENCIES += libceilings_amxfp16.a
endif
if ISA_NEON
noinst_LIBRARIES += libceilings_neon.a
libceilings_neon_a_SOURCES = %D%/neon/peak.c %D%/neon/stream.c
libceilings_neon_a_CFLAGS  = $(AM_CFLAGS) $(ISA_NEON_CFLAGS)
libceilings_a_LIBADD += $(libceilings_neon_a_OBJECTS)
EXTRA_libceilings_a_DEPENDENCIES += libceilings_neon.a
endif
if ISA_DOTPROD
noinst_LIBRARIES += libceilings_dotprod.a
libceilings_dotprod_a_SOURCES = %D%/dotprod/peak.c
libceilings_dotprod_a_CFLAGS  = $(AM_CFLAGS) $(ISA_DOTPROD_CFLAGS)
libceilings_a_LIBADD += $(libceilings_dotprod_a_OBJECTS)
EXTRA_libceilings_a_DEPENDENCIES += libceilings_dotprod.a
endif
if ISA_I8MM
noinst_LIBRARIES += libceilings_i8mm.a
libceilings_i8mm_a_SOURCES = %D%/i8mm/peak.c
libceilings_i8mm_a_CFLAGS  = $(AM_CFLAGS) $(ISA_I8MM_CFLAGS)
libceilings_a_LIBADD += $(libceilings_i8mm_a_OBJECTS)
EXTRA_libceilings_a_DEPENDENCIES += libceilings_i8mm.a
endif
if ISA_ARMFP16
noinst_LIBRARIES += libceilings_armfp16.a
libceilings_armfp16_a_SOURCES = %D%/armfp16/peak.c
libceilings_armfp16_a_CFLAGS  = $(AM_CFLAGS) $(ISA_ARMFP16_CFLAGS)
libceilings_a_LIBADD += $(libceilings_armfp16_a_OBJECTS)
EXTRA_libceilings_a_DEPENDENCIES += libceilings_armfp16.a
endif
if ISA_ARMBF16
noinst_LIBRARIES += libceilings_armbf16.a
libceilings_armbf16_a_SOURCES = %D%/armbf16/peak.c
libceilings_armbf16_a_CFLAGS  = $(AM_CFLAGS) $(ISA_ARMBF16_CFLAGS)
libceilings_a_LIBADD += $(libceilings_armbf16_a_OBJECTS)
EXTRA_libceilings_a_DEPENDENCIES += libceilings_armbf16.a
endif
